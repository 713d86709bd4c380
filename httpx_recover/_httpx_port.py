"""What the ports of both colours share under httpx or httpx2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from httpx_recover import _httpx_wire
from httpx_recover._ledger import DONE
from httpx_recover._port import BasePort

PATIENCE = 1.0  # seconds


class HttpxPort(BasePort):
    """One call under httpx or httpx2."""

    wire = _httpx_wire

    def own_read_timeout(self) -> float | None:
        """The call's own read timeout in seconds."""
        return _httpx_wire.read_timeout(self.request)

    def hurry(self, request: Any) -> None:
        """While the call's own answer is open a read must not wait for that very connection."""
        response = self.response
        if self.action.state == DONE and response is not None and self.mount.is_streaming(response):
            timeout = request.extensions.get("timeout") or {}
            pool = timeout.get("pool")
            pool = PATIENCE if pool is None else min(pool, PATIENCE)
            request.extensions["timeout"] = {**timeout, "pool": pool}

    def unsigned(self, request: Any) -> Any:
        """The client that is to sign the read, which loses the credentials of the call."""
        client = self.signing_client(request)
        del request.headers["authorization"]
        request.extensions["recover"] = False
        return client

    def beside(self, request: Any) -> Any:
        """A port for another request of the same call."""
        return type(self)(self.mount, request, self.plan, self.scope)

    def renew(self, make: Callable[[], Any]) -> None:
        """Give the request the body that `make` makes."""
        body = make()
        if body is None:  # most often a function that forgets to return it
            raise TypeError("body= gave None, which would be sent as no body at all")
        stream = type(self.request)("POST", self.request.url, content=body).stream
        if not isinstance(stream, self.mount.stream_kind):
            raise TypeError(f"body= gave a {type(body).__name__}, which this client cannot send")
        self.request.stream = stream
