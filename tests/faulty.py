"""A loopback server for tests: keeps a book, fails by script, and knows what it applied.

A request to `/{fault}/...` meets that fault the first time; later requests to the same path are
answered well. `GET ...?ref=x` lists the bookings of x under that path's collection.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

FAULTS = ("503", "cut_after", "cut_before", "timeout", "429", "half", "conflict", "late", "502late")
SLOW = 0.6  # seconds a `timeout` answer takes: longer than the clients of the tests wait
BOOKED = 0.45  # seconds after which a `late` write is booked: after the client has given up
LATE = 0.25  # seconds after which a late booking happens


@dataclass
class Seen:
    """One request as it came in."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path


@dataclass
class FaultServer:
    """Serves on a port of its own until closed."""

    seen: list[Seen] = field(default_factory=list)
    book: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    late: float = LATE

    def __post_init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.lock = threading.Lock()
        self.connections: list[socket.socket] = []
        self.timers: list[threading.Timer] = []
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(5)
        for timer in self.timers:
            timer.cancel()
        for each in self.connections:
            each.close()

    def count(self, path: str, method: str | None = None) -> int:
        """How often `path` was requested."""
        with self.lock:
            return sum(
                each.path == path and method in (None, each.method) for each in list(self.seen)
            )

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        stream = connection.makefile("rb")
        try:
            while (seen := _request(stream)) is not None:
                with self.lock:
                    self.seen.append(seen)
                if not self._answer(connection, seen):
                    break
        except OSError:
            pass
        finally:
            stream.close()
            connection.close()

    def _answer(self, connection: socket.socket, seen: Seen) -> bool:
        """Answer, or fail; False when the connection is over."""
        query = parse_qs(urlsplit(seen.target).query)
        if "ref" in query:
            return self._listing(connection, seen, query["ref"][0])
        fault = seen.path.split("/")[1] if self.count(seen.path, seen.method) == 1 else ""
        play = getattr(self, f"_play_{fault}", None)
        if play is not None:
            return bool(play(connection, seen))
        self.apply(seen)
        return respond(connection, 201 if seen.method == "POST" else 200, {"ref": ref_of(seen)})

    def _listing(self, connection: socket.socket, seen: Seen, ref: str) -> bool:
        with self.lock:
            found = [{"ref": each} for each in self.book[seen.path] if each == ref]
        return respond(connection, 200, {"data": found})

    def apply(self, seen: Seen) -> None:
        """The effect of a write."""
        if seen.method in ("GET", "HEAD"):
            return
        with self.lock:
            self.book[seen.path].append(ref_of(seen))

    def apply_later(self, seen: Seen, seconds: float) -> None:
        timer = threading.Timer(seconds, self.apply, (seen,))
        self.timers.append(timer)
        timer.start()

    def _play_503(self, connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 503, {"error": "busy"}, "Retry-After: 0.03")

    def _play_429(self, connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 429, {"error": "slow down"}, "Retry-After: 0.03")

    def _play_cut_after(self, connection: socket.socket, seen: Seen) -> bool:
        self.apply(seen)
        return False

    def _play_cut_before(self, connection: socket.socket, seen: Seen) -> bool:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def _play_timeout(self, connection: socket.socket, seen: Seen) -> bool:
        self.apply(seen)
        time.sleep(SLOW)
        return False

    def _play_half(self, connection: socket.socket, seen: Seen) -> bool:
        self.apply(seen)
        connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\nonly this")
        return False

    def _play_conflict(self, connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 409, {"error": "there is one"})

    def _play_late(self, connection: socket.socket, seen: Seen) -> bool:
        time.sleep(BOOKED)
        self.apply(seen)
        return False

    def _play_502late(self, connection: socket.socket, seen: Seen) -> bool:
        self.apply_later(seen, self.late)
        return respond(connection, 502, {"error": "upstream"})

    def _play_big503(self, connection: socket.socket, seen: Seen) -> bool:
        head = b"HTTP/1.1 503 Busy\r\nRetry-After: 0.03\r\nContent-Length: 3000000\r\n\r\n"
        connection.sendall(head + b"x" * 3_000_000)
        return True

    def _play_hour(self, connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 503, {"error": "busy"}, "Retry-After: 3600")


def respond(connection: socket.socket, status: int, content: Any, *headers: str) -> bool:
    """Send a JSON answer."""
    body = json.dumps(content).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", *headers]
    lines.append("Content-Type: application/json")
    connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    return True


def ref_of(seen: Seen) -> Any:
    """What a write's body names."""
    try:
        return json.loads(seen.body)["ref"]
    except (ValueError, KeyError, TypeError):
        return None


def _request(stream: Any) -> Seen | None:
    line = stream.readline(65536)
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split()
    headers: dict[str, str] = {}
    while (line := stream.readline(65536)) not in (b"\r\n", b""):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    body = b""
    if headers.get("transfer-encoding") == "chunked":
        while (size := int(stream.readline(100), 16)) > 0:
            body += stream.read(size)
            stream.readline(10)
        stream.readline(10)
    elif "content-length" in headers:
        body = stream.read(int(headers["content-length"]))
    return Seen(method, target, headers, body)
