"""The port of one call under requests: the operations that touch its sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from httpx_recover import _requests_wire
from httpx_recover._blocking import BlockingPort
from httpx_recover._evidence import Phase
from httpx_recover._ledger import DONE
from httpx_recover._plan import Plan
from httpx_recover._requests_io import is_small, read_body, shelve
from httpx_recover._requests_wire import Sending, cut_timeout, read_timeout
from httpx_recover._task import Scope
from httpx_recover._words import Verdict


class RequestsPort(BlockingPort):
    """One call under requests, with the arguments its session gave to the adapter."""

    wire = _requests_wire

    def __init__(
        self, mount: Any, request: Any, plan: Plan, scope: Scope | None, sending: Sending
    ) -> None:
        super().__init__(mount, request, plan, scope)
        self.sending = sending

    def beside(self, request: Any) -> RequestsPort:
        """A port for another request of the same call."""
        return RequestsPort(self.mount, request, self.plan, self.scope, self.sending)

    def renew(self, make: Callable[[], Any]) -> None:
        """Give the request the body that `make` makes."""
        body = make()
        if body is None or isinstance(body, Mapping):  # nothing, or the names of it, would be sent
            raise TypeError(f"body= gave a {type(body).__name__}, which is no body")
        self.request.body = body

    def own_read_timeout(self) -> float | None:
        """The call's own read timeout in seconds."""
        return read_timeout(self.sending.timeout)

    def attempt(self, left: float | None) -> tuple[Any, BaseException | None]:
        """Hand the request down once, and read the body unless the caller streams it."""
        self.phase = Phase()
        sending = self.sending
        if left is not None and (sending.timeout is not None or not self.mount.has_own_timeout):
            sending = sending._replace(timeout=cut_timeout(sending.timeout, left))
        self.response = self.mount.below(self.request, sending, self.phase)
        return self.response, None if sending.stream else read_body(self.response, self.ends)

    def shelve(self) -> None:
        """Close the failed response that must not hold its connection while we wait or ask."""
        shelve(self._spare(), self.recovery_ends)

    def drop(self) -> None:
        """Close an answer that its caller, who has gone, will not get."""
        if self.response is not None:
            self.response.close()

    def load(self, response: Any) -> None:
        """A read of ours is never streamed: its body is there, or was cut, which shows now."""
        response.content  # noqa: B018 # the property reads

    def child(self, request: Any) -> RequestsPort:
        """The port of a recovery read: with the call's own timeout, verify, cert and proxies."""
        mount, sending = self.mount, self.sending._replace(stream=False)
        if _requests_wire.origin_of(request.url) != _requests_wire.origin_of(self.request.url):
            mount = mount.mount_for(request.url)
        return RequestsPort(mount, request, mount.read_plan(), self.scope, sending)

    def ask(self, question: str) -> Any:
        """Run the verifier, or make the confirming read; a streamed answer must not be in its way.

        A pool of one connection that waits for a free one would wait for itself.
        """
        response = self.response
        if self.action.state == DONE and self.sending.stream and response is not None:
            if is_small(response):
                shelve(response, inf)  # all of it is kept
            elif getattr(self.mount.adapter, "_pool_block", False):
                self.remark = "its answer is streamed and holds the connection"
                return Verdict.UNCLEAR
        return super().ask(question)

    def signed_send(self, request: Any) -> Any:
        """Through the session itself, which signs: these credentials are good for one request."""
        session = self.signing_client(request)
        del request.headers["Authorization"]
        wanted = _requests_wire.unprepared(request)
        signed = session.prepare_request(wanted)
        self.wire.extensions_of(signed)["recover"] = False
        sending = self.sending._replace(stream=False)
        # The caller follows redirects, as far as the origin goes.
        return session.send(signed, allow_redirects=False, **sending._asdict())

    def _marked(self, response: Any) -> Any:
        if response.request is not self.request:  # a read stands in for the lost answer
            response.request, response.url = self.request, self.request.url
        response.connection = self.mount
        return super()._marked(response)
