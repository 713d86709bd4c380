"""Proxies for tests: they forward, they tunnel, they speak SOCKS5, or they fail by script."""

from __future__ import annotations

import select
import socket
import ssl
from collections import deque
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from tests.breaking import Break, Listener, State, Wire
from tests.faulty import Seen, _request


class Proxy(Listener):
    """An HTTP proxy, over TLS too.

    `script` holds what becomes of each request to it (a CONNECT is one), each entry used once;
    after that the proxy is well.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None = None,
        *,
        greet: Iterable[Break] = (),
        script: Iterable[Break] = (),
        state: State = "well",
    ) -> None:
        self.greet, self.script = deque(greet), deque(script)
        self.seen: list[Seen] = []
        super().__init__(tls, state)

    def count(self, method: str) -> int:
        """How many requests of this method it has read."""
        return sum(each.method == method for each in list(self.seen))

    def serve(self, wire: Wire) -> None:
        if self.greet and not self.greet.popleft()(wire):
            return
        if not self.shake(wire):
            return
        with wire.socket.makefile("rb") as stream:
            seen = _request(stream)
        if seen is None:
            return
        wire.seen = seen
        self.seen.append(seen)
        if self.script:
            self.script.popleft()(wire)
        elif seen.method == "CONNECT":
            tunnel(wire, seen)
        else:
            forward(wire, seen)


def tunnel(wire: Wire, seen: Seen) -> None:
    """Connect, and let pass what comes from either side."""
    host, _, port = seen.target.rpartition(":")
    with socket.create_connection((host, int(port)), 5) as target:
        wire.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        relay(wire.socket, target)


def forward(wire: Wire, seen: Seen) -> None:
    """Send the request on, and let the answer pass."""
    url = urlsplit(seen.target)
    headers = [f"{name}: {value}" for name, value in seen.headers.items() if name != "connection"]
    head = [f"{seen.method} {url.path or '/'} HTTP/1.1", *headers, "connection: close", "", ""]
    with socket.create_connection((url.hostname, url.port or 80), 5) as target:
        target.sendall("\r\n".join(head).encode("latin-1") + seen.body)
        relay(wire.socket, target)


def relay(one: Any, other: Any) -> None:
    """Copy between two sockets until either ends; TLS may hold bytes that select does not see."""
    while True:
        held = [each for each in (one, other) if isinstance(each, ssl.SSLSocket) and each.pending()]
        for each in held or select.select([one, other], [], [], 5)[0]:
            data = each.recv(65536)
            if not data:
                return
            (other if each is one else one).sendall(data)


class SocksProxy(Listener):
    """A SOCKS5 proxy (RFC 1928): refuses, is silent or closes for a while, then connects."""

    def __init__(self, *, script: Iterable[Break] = (), state: State = "well") -> None:
        self.script = deque(script)
        super().__init__(None, state)
        self.url = self.url.replace("http", "socks5")

    def serve(self, wire: Wire) -> None:
        wire.socket.recv(64)  # which ways to log in the client knows
        wire.send(b"\x05\x00")
        asked = wire.socket.recv(64)
        if self.script:
            self.script.popleft()(wire)
            return
        address = (socket.inet_ntoa(asked[4:8]), int.from_bytes(asked[8:10], "big"))
        with socket.create_connection(address, 5) as target:
            wire.send(b"\x05\x00\x00\x01" + asked[4:10])
            relay(wire.socket, target)


def socks_refuses(wire: Wire) -> bool:
    """Connection refused, in the words of SOCKS5."""
    wire.send(b"\x05\x05\x00\x01\x00\x00\x00\x00\x00\x00")
    return False
