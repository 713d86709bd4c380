"""The port of httpx and httpx2 under a sync client: the operations that touch its sockets."""

from __future__ import annotations

from typing import Any

from httpx_recover._blocking import BlockingPort
from httpx_recover._evidence import Phase
from httpx_recover._httpx_io import read_body, shelve
from httpx_recover._httpx_port import HttpxPort
from httpx_recover._httpx_wire import Cut, is_small, tracer, untrace


class SyncPort(BlockingPort, HttpxPort):
    """One call under a sync client."""

    def attempt(self, left: float | None) -> tuple[Any, BaseException | None]:
        """Hand the request down once, traced, and read a small body of the answer."""
        extensions = self.request.extensions
        own = extensions.get("trace")
        if self.plan.traced:
            self.phase = Phase()
            extensions["trace"] = tracer(self.phase, own)
        cut = Cut(self.request, left)
        try:
            return self.within(left)
        finally:
            cut.restore()
            untrace(self.request, self.plan, own)

    def within(self, left: float | None) -> tuple[Any, BaseException | None]:
        """One attempt with its body; its socket timeouts are cut already."""
        self.response = self.mount.inner.handle_request(self.request)
        return self.response, self.look(self.response)

    def look(self, response: Any) -> BaseException | None:
        """Read a small body now, so that a cut one is part of the attempt."""
        if self.whole or is_small(response, self.request.method):
            return read_body(response, self.lib, self.ends)
        return None

    def shelve(self) -> None:
        """Close the failed response that must not hold its connection while we wait or ask."""
        shelve(self._spare(), self.lib, self.recovery_ends)

    def drop(self) -> None:
        """Close an answer that its caller, who has gone, will not get."""
        if self.response is not None:
            self.response.stream.close()

    def load(self, response: Any) -> None:
        """Read a whole body."""
        response.read()

    def child(self, request: Any) -> SyncPort:
        """The port of a recovery read."""
        self.hurry(request)
        return SyncPort(self.mount, request, self.mount.read_plan(), self.scope)

    def signed_send(self, request: Any) -> Any:
        """Through the client itself, which signs: these credentials are good for one request."""
        return self.unsigned(request).send(request, follow_redirects=False)
