"""The body of an answer that a caller of requests streams: told of when cut, and gone on with.

`iter_content` is what everything in requests reads by, so that is where a cut is seen. Only a
download that may be resumed gets a raw response of ours, over one that can be exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from urllib3.response import HTTPResponse

_PIECE = 64 * 1024


class Spliced:
    """A file of coded bytes that goes on with another answer when its own is cut."""

    closed = False

    def __init__(self, raw: Any, flow: Any) -> None:
        self.raw = raw
        self.flow = flow
        self.taken = 0

    def read(self, amount: int | None = None) -> bytes:
        """So many bytes, fewer at the end; all of them without a number."""
        if amount is None:
            return b"".join(iter(lambda: self.read(_PIECE), b""))
        return self._take("read", amount)

    def read1(self, amount: int = -1) -> bytes:
        """What has come of it."""
        return self._take("read1", _PIECE if amount < 0 else amount)

    def _take(self, way: str, amount: int) -> bytes:
        while True:
            try:
                data: bytes = getattr(self.raw, way)(amount, decode_content=False)
            except Exception as exc:
                _let_go(self.raw)
                self.raw = self.flow.go_on(exc, self.taken).raw
            except BaseException:
                self.flow.leave()
                raise
            else:
                self.taken += len(data)
                if amount and not data:
                    self.closed = True
                    self.flow.ended(self.taken)
                return data

    def close(self) -> None:
        """Close the answer that is read from."""
        self.closed = True
        _let_go(self.raw)


def _let_go(raw: Any) -> None:
    """Close it and give its place in the pool back, as requests does with a raw response."""
    raw.close()
    raw.release_conn()


def splice(response: Any, flow: Any) -> None:
    """Let the response's body go on where it is cut."""
    raw = response.raw
    response.raw = HTTPResponse(
        body=Spliced(raw, flow),  # type: ignore[arg-type] # it has what is asked of a file
        headers=raw.headers,
        status=raw.status,
        version=raw.version,
        reason=raw.reason,
        preload_content=False,
        enforce_content_length=False,  # the parts are counted by `flow`
        original_response=raw._original_response,  # the session looks for cookies in it
        request_url=raw.geturl(),
    )


def watch_content(response: Any, flow: Any) -> None:
    """Tell `flow` when the body is cut."""
    inner = response.iter_content

    def iter_content(chunk_size: Any = 1, decode_unicode: bool = False) -> Any:
        return _told(inner(chunk_size, decode_unicode), flow)

    response.iter_content = iter_content


def _told(pieces: Any, flow: Any) -> Iterator[Any]:
    try:
        yield from pieces
    except GeneratorExit:  # the caller has enough
        raise
    except Exception as exc:
        raise flow.cut(exc) from exc.__cause__
    except BaseException:
        flow.leave()
        raise
