"""What happens to an answer after it was handed over: its body is still on its way.

Nothing is made of it while all goes well. A cut is put down in the ledger: a read that seemed to
have succeeded has failed, a write that landed has lost its answer, so that a repeat does not send
it again. With `Policy(resume_reads=True)` a download goes on where it was cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from httpx_recover import _drive
from httpx_recover._ranges import version_of
from httpx_recover._words import Step, Stop


class Flow:
    """One answer whose body the caller reads.

    Args:
        make_port: gives the port of the call; asked once, and only when something happens.
        response: what the caller was given.
        resumes: may it be gone on with.
    """

    def __init__(self, make_port: Callable[[], Any], response: Any, *, resumes: bool) -> None:
        self._make_port = make_port
        self._port: Any = None
        self.response = response
        self.version = None
        self.whole: int | None = None  # bytes that there must be at the end of a resumed one
        if resumes:
            self.version = version_of(response.status_code, response.headers.get)

    @property
    def port(self) -> Any:
        """The port of the call."""
        if self._port is None:
            self._port = self._make_port()
        return self._port

    def go_on(self, exc: Exception, taken: int) -> Any:
        """The answer that goes on from byte `taken`; raises `exc` again when there is none."""
        part, step = self.ask(taken)
        if part is None or type(step) is Stop:
            raise self.port.blamed(exc)
        try:
            response = _drive.run(part, step)
        except Exception as later:
            raise self.broken(exc, type(later).__name__) from later
        if not self.fits(response, taken):
            response.close()
            raise self.broken(exc, f"answer {response.status_code} is not the rest of it")
        return response

    async def ago_on(self, exc: Exception, taken: int) -> Any:
        """The answer that goes on from byte `taken`; raises `exc` again when there is none."""
        part, step = self.ask(taken)
        if part is None or type(step) is Stop:
            raise self.port.blamed(exc)
        try:
            response = await _drive.arun(part, step)
        except Exception as later:
            raise self.broken(exc, type(later).__name__) from later
        if not self.fits(response, taken):
            await response.aclose()
            raise self.broken(exc, f"answer {response.status_code} is not the rest of it")
        return response

    def ask(self, taken: int) -> tuple[Any, Step]:
        """What to do about a cut: the port that asks for the rest, if any, and its first step."""
        part = None if self.version is None else self.port.part(self.version.rest(taken))
        return part, self.tell("final", resumable=part is not None)

    def cut(self, exc: Exception) -> BaseException:
        """The same error, for a body that cannot be gone on with, or no longer."""
        self.tell("final")
        error: BaseException = self.port.blamed(exc)
        return error

    def leave(self) -> None:
        """The caller has been stopped while reading."""
        self.tell("cancelled")

    def tell(self, stop: str, *, resumable: bool = False) -> Step:
        """Tell the call that its answer was cut, and the ledger what that means."""
        port = self.port
        step: Step = port.torn(stop, resumable=resumable)
        port.wire.attach(self.response, port.told)
        return step

    def fits(self, response: Any, taken: int) -> bool:
        """Is this the rest of the same version?"""
        version, header = self.version, response.headers.get
        assert version is not None, "a rest without a beginning"
        self.whole = version.length
        if self.whole is None:
            self.whole = version.length_told(header)
        return version.is_continued(response.status_code, header, taken)

    def ended(self, taken: int) -> None:
        """All has come, as the client sees it. Do the parts make up the whole?"""
        if self.whole not in (None, taken):
            text = f"{taken} bytes came of a download that has {self.whole}"
            raise self.broken(self.port.cut_error(text), "its parts do not make up the whole")

    def broken(self, exc: Exception, why: str) -> BaseException:
        """The error for the caller, whose download ends here."""
        exc.add_note(f"the download could not go on: {why}")
        return self.cut(exc)
