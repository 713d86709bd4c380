"""Proxies on loopback: one that forwards and tunnels, and one that speaks SOCKS5."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
from base64 import b64decode
from http.server import BaseHTTPRequestHandler
from socketserver import StreamRequestHandler
from typing import Any
from urllib.parse import urlsplit

from tests.httpbin import Loopback, Seen, read_body

HOPS = ("connection", "proxy-authorization", "proxy-connection", "transfer-encoding")


class Proxy(Loopback):
    """Forwards absolute URLs and tunnels CONNECT; asks for credentials when it was given some."""

    def __init__(self, credentials: str | None = None) -> None:
        self.credentials = credentials
        super().__init__(Forward)
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}"


class Forward(BaseHTTPRequestHandler):
    """One connection to the proxy."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Proxy

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def let_in(self) -> bool:
        self.body = read_body(self.rfile, self.headers)
        seen = Seen(self.command, self.path, list(self.headers.items()), self.body)
        self.server.seen.append(seen)
        given = (seen.header("Proxy-Authorization") or "").removeprefix("Basic ")
        if self.server.credentials in (None, b64decode(given).decode()):
            return True
        self.reply(407, [("Proxy-Authenticate", 'Basic realm="proxy"')], b"")
        return False

    def reply(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in (*HOPS, "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def forward(self) -> None:
        if not self.let_in():
            return
        to = urlsplit(self.path)
        headers = {n: v for n, v in self.headers.items() if n.lower() not in HOPS}
        onward = http.client.HTTPConnection(to.hostname or "", to.port, timeout=5)
        target = f"{to.path}?{to.query}" if to.query else to.path
        onward.request(self.command, target, self.body, {**headers, "X-Forwarded-By": "proxy"})
        answer = onward.getresponse()
        body = answer.read()
        onward.close()
        self.reply(answer.status, answer.getheaders(), body)

    do_GET = do_POST = do_PUT = forward

    def do_CONNECT(self) -> None:
        if not self.let_in():
            return
        self.close_connection = True
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as onward:
            self.send_response_only(200)
            self.end_headers()
            self.wfile.flush()
            tunnel(self.connection, onward)


class Socks(Loopback):
    """SOCKS5 with a user name and a password."""

    def __init__(self) -> None:
        super().__init__(Socks5)  # type: ignore[arg-type] # any handler of a stream does
        self.address = f"127.0.0.1:{self.port}"


class Socks5(StreamRequestHandler):
    """RFC 1928 and 1929, as far as a client that connects needs them."""

    server: Socks

    def handle(self) -> None:
        _, count = self.rfile.read(2)
        self.rfile.read(count)
        self.wfile.write(b"\x05\x02")  # a user name and a password, please
        _, length = self.rfile.read(2)
        user = self.rfile.read(length)
        password = self.rfile.read(self.rfile.read(1)[0])
        self.wfile.write(b"\x01\x00")
        _, _, _, kind = self.rfile.read(4)
        if kind == 3:
            host = self.rfile.read(self.rfile.read(1)[0]).decode()
        else:
            host = socket.inet_ntoa(self.rfile.read(4))
        (port,) = struct.unpack(">H", self.rfile.read(2))
        self.server.seen.append((user, password, host, port))
        with socket.create_connection((host, port)) as onward:
            self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
            tunnel(self.connection, onward)


def tunnel(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until one side hangs up, each as soon as it comes."""
    for side in (one, other):
        side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    back = threading.Thread(target=carry, args=(other, one), daemon=True)
    back.start()
    carry(one, other)
    back.join(5)


def carry(source: socket.socket, sink: socket.socket) -> None:
    """Carry bytes one way."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
