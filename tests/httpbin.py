"""A small httpbin on loopback: what the examples of a client's documentation talk to.

It echoes, redirects, sets cookies, streams, and asks for basic and digest credentials as a real
server does: a nonce is its own, and no nonce count is taken twice.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import secrets
import ssl
import threading
import time
from base64 import b64decode
from dataclasses import dataclass
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR, socket
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

PATIENCE = 5.0  # seconds after which a test that lets nothing go has failed
MEGABYTE = bytes(range(256)) * 4096
DIGESTS = {"MD5": hashlib.md5, "SHA-256": hashlib.sha256, "SHA-512": hashlib.sha512}


@dataclass
class Seen:
    """One request as it came in."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class Loopback(ThreadingHTTPServer):
    """Serves on a port of its own until closed, and counts its connections."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.port = self.server_address[1]
        self.seen: list[Any] = []
        self.connections = 0
        self.open: set[socket] = set()
        self.go = threading.Event()  # what is held back goes out when it is set
        self.waited: list[bool] = []  # was it set, or did we lose patience
        self.thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def fresh(self) -> None:
        """Forget what was seen so far."""
        self.seen.clear()
        self.go.clear()
        self.waited.clear()
        self.connections = 0

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        self.connections += 1
        self.open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or that does not trust us, is part of the tests."""

    def close(self) -> None:
        self.shutdown()
        self.server_close()
        self.thread.join(5)
        for connection in list(self.open):
            try:
                connection.shutdown(SHUT_RDWR)
            except OSError:  # it is closed already
                continue


class Httpbin(Loopback):
    """The server; with a TLS context it speaks https."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        self.nonces: dict[str, set[str]] = {}
        super().__init__(Routes)
        scheme = "https" if context else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.other = f"{scheme}://localhost:{self.port}"  # another host, to a client

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        if self.context is None:
            return connection, address
        self.open.discard(connection)
        secure = self.context.wrap_socket(  # the handshake happens in the thread that serves
            connection, server_side=True, do_handshake_on_connect=False
        )
        self.open.add(secure)
        return secure, address


class Routes(BaseHTTPRequestHandler):
    """`/{name}/{part}/...` is answered by `route_{name}(part, ...)`, whatever the method."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Httpbin

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self.answer
        raise AttributeError(name)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def answer(self) -> None:
        self.body = read_body(self.rfile, self.headers)
        seen = Seen(self.command, self.path, list(self.headers.items()), self.body)
        self.server.seen.append(seen)
        name, *parts = (unquote(part) for part in urlsplit(self.path).path[1:].split("/"))
        route = getattr(self, f"route_{name.replace('-', '_')}", None)
        if route is None:
            return self.send(404, {"error": "no such page"})
        return route(*parts)

    def send(self, status: int, content: Any, *headers: tuple[str, str]) -> None:
        """Answer with JSON, or with bytes as they are."""
        raw = isinstance(content, bytes)
        body = content if raw else json.dumps(content).encode()
        self.send_response(status)
        if not raw:
            self.send_header("Content-Type", "application/json")
        for name, value in headers:
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.path).query, keep_blank_values=True)

    @property
    def cookies(self) -> dict[str, str]:
        pairs = (each.split("=", 1) for each in self.headers.get("Cookie", "").split("; ") if each)
        return dict(pairs)

    def echo(self) -> dict[str, Any]:
        form, parts = {}, []
        kind = self.headers.get("Content-Type", "")
        if kind == "application/x-www-form-urlencoded":
            form = grouped(parse_qsl(self.body.decode()))
        elif kind.startswith("multipart/form-data"):
            parts = parts_of(kind, self.body)
        return {
            "method": self.command,
            "args": {name: one_or_all(values) for name, values in self.query.items()},
            "headers": dict(self.headers.items()),
            "data": "" if form or parts else self.body.decode("latin-1"),
            "form": form or {p["name"]: p["content"] for p in parts if p["filename"] is None},
            "files": [part for part in parts if part["filename"] is not None],
            "json": json.loads(self.body) if kind == "application/json" else None,
            "target": self.path,
        }

    def route_anything(self, *_: str) -> None:
        self.send(200, self.echo(), ("X-Twice", "1"), ("X-Twice", "2"))

    route_get = route_post = route_put = route_patch = route_delete = route_anything

    def route_headers(self) -> None:
        self.send(200, {"headers": dict(self.headers.items())})

    def route_status(self, code: str) -> None:
        self.send(int(code), b"" if code in ("204", "304") else {"code": code})

    def route_delay(self, seconds: str) -> None:
        time.sleep(float(seconds))
        self.route_anything()

    def route_cookies(self, *parts: str) -> None:
        if not parts:
            return self.send(200, {"cookies": self.cookies})
        pairs = [parts[1:]] if len(parts) > 2 else [(n, v[0]) for n, v in self.query.items()]
        past = "; Max-Age=0" if parts[0] == "delete" else ""
        sets = [("Set-Cookie", f"{name}={value}; Path=/{past}") for name, value in pairs]
        return self.send(302, b"", ("Location", "/cookies"), *sets)

    def route_redirect(self, times: str) -> None:
        left = int(times) - 1
        self.send(302, b"on", ("Location", f"/redirect/{left}" if left else "/get"))

    def route_redirect_to(self) -> None:
        """`?url=...&status=307`, and `&body=...` that a client has to skip."""
        status = int(self.query.get("status", ["302"])[0])
        body = self.query.get("body", [""])[0].encode()
        self.send(status, body, ("Location", self.query["url"][0]))

    def route_basic_auth(self, user: str, password: str) -> None:
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        if kind == "Basic" and b64decode(given).decode() == f"{user}:{password}":
            return self.send(200, {"authenticated": True, "user": user, **self.echo()})
        return self.send(401, b"", ("WWW-Authenticate", 'Basic realm="fake"'))

    def route_digest_auth(self, user: str, password: str, algorithm: str = "MD5") -> None:
        if self.digested(user, password, algorithm):
            return self.send(200, {"authenticated": True, "user": user, **self.echo()})
        nonce = secrets.token_hex(8)
        self.server.nonces[nonce] = set()
        asked = f'Digest realm="fake", qop="auth", nonce="{nonce}", opaque="o", algorithm='
        return self.send(401, b"please", ("WWW-Authenticate", asked + algorithm))

    def route_token(self, token: str) -> None:
        """For those who show this very token."""
        if self.headers.get("X-Authentication") == token:
            return self.route_anything()
        return self.send(401, {"error": "a token, please"})

    def digested(self, user: str, password: str, algorithm: str) -> bool:
        """RFC 7616 with qop=auth: the nonce is ours and its count is new."""
        kind, _, given = self.headers.get("Authorization", "").partition(" ")
        if kind != "Digest":
            return False
        told = parse_keqv_list(parse_http_list(given))
        counts = self.server.nonces.get(told["nonce"])
        if counts is None or told["nc"] in counts or told["qop"] != "auth":
            return False
        counts.add(told["nc"])

        def of(*words: str) -> str:
            return DIGESTS[algorithm](":".join(words).encode()).hexdigest()

        who, what = of(user, "fake", password), of(self.command, self.path)
        proof = of(who, told["nonce"], told["nc"], told["cnonce"], "auth", what)
        return told["uri"] == self.path and told["response"] == proof

    def route_stream(self, lines: str) -> None:
        """Chunked JSON lines."""
        self.chunked("application/json")
        for number in range(int(lines)):
            self.chunk(json.dumps({"id": number}).encode() + b"\n")
        self.chunk(b"")

    def route_chunks_cut(self) -> None:
        self.chunked("text/plain")
        self.chunk(b"some of it")
        self.close_connection = True

    def route_held(self, frame: str) -> None:
        """Two events; the second is held back until the test lets it go."""
        events = b"data: one\n\n", b"data: two\n\n"
        length = b"Content-Length: 300022\r\n" if frame == "length" else b""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + length)
        if frame == "chunked":
            self.wfile.write(b"Transfer-Encoding: chunked\r\n\r\n")
            self.chunk(events[0])
        else:
            self.wfile.write(b"\r\n" + events[0])
            self.wfile.flush()
        self.server.waited.append(self.server.go.wait(PATIENCE))
        if frame == "chunked":
            self.chunk(events[1])
            return self.chunk(b"")
        self.close_connection = frame != "length"
        self.wfile.write(events[1] + b" " * 300_000 * (frame == "length"))
        return None

    def route_flood(self, megabytes: str, frame: str) -> None:
        """So much, in blocks of a megabyte."""
        size, block = int(megabytes) * len(MEGABYTE), MEGABYTE
        if frame == "chunked":
            self.chunked("application/octet-stream")
            block = b"%x\r\n%s\r\n" % (len(block), block)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
        for _ in range(int(megabytes) if self.command != "HEAD" else 0):
            self.wfile.write(block)
        if frame == "chunked":
            self.chunk(b"")

    def chunked(self, kind: str, *headers: tuple[str, str]) -> None:
        self.send_response(200)
        for name, value in (("Content-Type", kind), *headers):
            self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def route_gzip(self) -> None:
        packed = gzip.compress(json.dumps({"gzipped": True}).encode())
        self.send(200, packed, ("Content-Encoding", "gzip"), ("Content-Type", "application/json"))

    def route_gzip_stream(self) -> None:
        """The same in chunks."""
        packed = gzip.compress(json.dumps({"gzipped": True}).encode())
        self.chunked("application/json", ("Content-Encoding", "gzip"))
        for start in range(0, len(packed), 10):
            self.chunk(packed[start : start + 10])
        self.chunk(b"")

    def route_not_gzip(self) -> None:
        self.send(200, b"this is not gzip", ("Content-Encoding", "gzip"))

    def route_bytes(self, size: str) -> None:
        self.send(200, bytes(n % 256 for n in range(int(size))))

    def route_text(self) -> None:
        """`?body=...&type=...`: these very words in this very type, in UTF-8."""
        kind = self.query.get("type", ["text/plain"])[0]
        self.send(200, self.query["body"][0].encode(), ("Content-Type", kind))

    def route_sjis(self) -> None:
        """Japanese, in a coding that nobody names."""
        self.send(200, "テスト".encode("shift-jis"), ("Content-Type", "text/plain"))

    def route_sjis_stream(self) -> None:
        """The same in chunks, each a part of a letter."""
        self.chunked("text/plain")
        for byte in "テスト".encode("shift-jis"):
            self.chunk(bytes([byte]))
        self.chunk(b"")

    def route_link(self) -> None:
        links = '</users?page=2>; rel="next", </users?page=6>; rel="last"'
        self.send(200, [], ("Link", links))

    def route_cut(self) -> None:
        self.close_connection = True

    def route_half(self) -> None:
        """Less than its length says."""
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True

    def route_half_once(self, *_: str) -> None:
        """Cut the first time."""
        if sum(each.target == self.path for each in self.server.seen) == 1:
            return self.route_half()
        return self.send(200, b"whole")

    def route_old(self) -> None:
        """An answer of HTTP/1.0, which ends with its connection."""
        self.protocol_version = "HTTP/1.0"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"old")
        self.close_connection = True

    def route_flaky(self, times: str) -> None:
        """503 so many times, then an echo."""
        met = sum(each.target == self.path for each in self.server.seen)
        self.route_status("503") if met <= int(times) else self.route_anything()

    def route_certificate(self) -> None:
        """The common name of the client's certificate."""
        subject = (self.connection.getpeercert() or {}).get("subject", ())
        told = dict(pair for pairs in subject for pair in pairs)
        self.send(200, {"name": told.get("commonName")})


def read_body(stream: Any, headers: Any) -> bytes:
    """The body of a request, with a length or in chunks."""
    if headers.get("Transfer-Encoding") != "chunked":
        return stream.read(int(headers.get("Content-Length") or 0))
    body = b""
    while size := int(stream.readline(), 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return body


def parts_of(kind: str, body: bytes) -> list[dict[str, Any]]:
    """The parts of a multipart body."""
    message = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    return [
        {
            "name": part.get_param("name", header="Content-Disposition"),
            "filename": part.get_filename(),
            "type": part.get("Content-Type"),
            "expires": part.get("Expires"),
            "content": part.get_payload(decode=True).decode(),
        }
        for part in message.get_payload()
    ]


def grouped(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """A name that stands once has its value, one that stands more often all of them."""
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: one_or_all(values) for name, values in found.items()}


def one_or_all(values: list[str]) -> Any:
    """The only value, or the list."""
    return values[0] if len(values) == 1 else values
