"""A server over TCP or TLS that breaks by script, and counts the requests it has read whole.

`greet` holds what becomes of each connection before TLS, `meet` what becomes of it after, before
a request is read, `answer` what becomes of each request that was read whole. Each entry is used
once; when a list is used up the server is well.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Literal

from tests.faulty import Seen, _request, respond

BUFFER = 64 * 1024  # bytes the system takes in for a server that does not read
BIG = b"x" * 12_000_000  # more than both ends of a connection hold between them
PATIENCE = 5.0  # seconds after which a thread of a test is lost

State = Literal["well", "down", "full"]
Break = Callable[["Wire"], bool]  # does the connection go on?


class Wire:
    """One connection, seen from the server."""

    def __init__(self, server: Any, raw: socket.socket) -> None:
        self.server = server
        self.socket = raw
        self.seen: Seen | None = None

    def send(self, data: bytes) -> bool:
        """Send, inside TLS if there is any; the connection goes on."""
        self.socket.sendall(data)
        return True

    def send_below(self, data: bytes) -> None:
        """Send on the TCP connection, past TLS."""
        socket.socket.sendall(self.socket, data)

    def hold(self) -> bool:
        """Say nothing more until the server is closed."""
        self.server.over.wait(PATIENCE)
        return False

    def reset(self) -> bool:
        """Have the connection reset when it is closed."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def drain(self) -> None:
        """Let the client finish, so that what it is told reaches it before the end."""
        with suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_WR)
            self.socket.settimeout(0.3)
            while socket.socket.recv(self.socket, 65536):
                pass


class Listener:
    """Takes connections, each in a thread of its own, until closed.

    It can be down at first (connections are refused), or full (they are not taken: a connect runs
    into its timeout), until `mend` is called.
    """

    def __init__(self, tls: ssl.SSLContext | None = None, state: State = "well") -> None:
        self.tls = tls
        self.state = state
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.wires: list[Wire] = []
        self.threads: list[threading.Thread] = []
        self.crowd: list[socket.socket] = []
        self.socket = self.bound()
        self.port = self.socket.getsockname()[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        if state == "well":
            self.mend()
        elif state == "full":
            self._fill()

    def bound(self) -> socket.socket:
        """A socket at a port of its own."""
        made = socket.socket()
        # Small, and inherited by each connection: a deaf server is full soon.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        made.bind(("127.0.0.1", 0))
        return made

    @property
    def connections(self) -> int:
        """How many clients were taken."""
        return len(self.wires)

    def mend(self) -> None:
        """Begin to take connections, if it does not do so already."""
        if self.threads:
            return
        self._disperse()
        self.socket.listen(32)
        self._start(self._accept)

    def stop(self) -> None:
        """Take no more connections: from now on they are refused."""
        with suppress(OSError):  # it never listened, or no longer
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()

    def close(self) -> None:
        self.over.set()
        self.stop()
        self._disperse()
        for wire in list(self.wires):
            with suppress(OSError):
                socket.socket.shutdown(wire.socket, socket.SHUT_RDWR)
        for thread in list(self.threads):
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _fill(self) -> None:
        """Fill the queue of those who wait to be taken."""
        self.socket.listen(0)
        for _ in range(3):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(self.socket.getsockname())
            self.crowd.append(waiting)

    def _disperse(self) -> None:
        while self.crowd:
            self.crowd.pop().close()

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                raw, _ = self.socket.accept()
            except OSError:
                return
            wire = Wire(self, raw)
            self.wires.append(wire)
            self._start(self._guard, wire)

    def _guard(self, wire: Wire) -> None:
        try:
            self.serve(wire)
        except (OSError, ValueError):  # the client has gone, or speaks another language
            pass
        finally:
            wire.socket.close()

    def serve(self, wire: Wire) -> None:
        """Serve one connection."""
        raise NotImplementedError

    def shake(self, wire: Wire) -> bool:
        """Put TLS over the connection, if this server speaks it; False when that failed."""
        if self.tls is None:
            return True
        wire.socket = self.tls.wrap_socket(
            wire.socket, server_side=True, do_handshake_on_connect=False
        )
        try:
            wire.socket.do_handshake()  # type: ignore[attr-defined] # it is an SSLSocket now
        except OSError:
            wire.drain()
            return False
        return True


class BreakingServer(Listener):
    """Breaks by script; see the module."""

    def __init__(
        self,
        tls: ssl.SSLContext | None = None,
        *,
        greet: Iterable[Break] = (),
        meet: Iterable[Break] = (),
        answer: Iterable[Break] = (),
        state: State = "well",
    ) -> None:
        self.greet, self.meet, self.answer = deque(greet), deque(meet), deque(answer)
        self.read: list[Seen] = []
        super().__init__(tls, state)

    def count(self, method: str) -> int:
        """How many requests of this method were read whole."""
        return sum(each.method == method for each in list(self.read))

    def serve(self, wire: Wire) -> None:
        if self.greet and not self.greet.popleft()(wire):
            return
        if not self.shake(wire):
            return
        if self.meet and not self.meet.popleft()(wire):
            return
        with wire.socket.makefile("rb") as stream:
            while self._one(wire, stream):
                pass

    def _one(self, wire: Wire, stream: Any) -> bool:
        seen = _request(stream)
        if seen is None or len(seen.body) < int(seen.headers.get("content-length", 0)):
            return False
        wire.seen = seen
        with self.lock:
            self.read.append(seen)
            play = self.answer.popleft() if self.answer else well
        return play(wire)


# ------------------------------------------------------------------ well


def well(wire: Wire) -> bool:
    """Answer as one should."""
    seen = wire.seen
    assert seen is not None
    return respond(wire.socket, 201 if seen.method == "POST" else 200, {"got": len(seen.body)})


def status(code: int, *headers: str) -> Break:
    """Answer with this status."""
    return lambda wire: respond(wire.socket, code, {"error": code}, *headers)


# ------------------------------------------------------------------ at the handshake


def silent(wire: Wire) -> bool:
    """Never answer."""
    return wire.hold()


def reset_at_once(wire: Wire) -> bool:
    """Read the greeting, and reset."""
    wire.socket.recv(65536)
    return wire.reset()


def close_at_once(wire: Wire) -> bool:
    """Read the greeting, and close."""
    wire.socket.recv(65536)
    return False


def plain_http(wire: Wire) -> bool:
    """Answer the greeting of TLS as a plain server does."""
    wire.socket.recv(65536)
    wire.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    return False


def alert(wire: Wire) -> bool:
    """A fatal alert: handshake_failure (RFC 8446 section 6.2)."""
    wire.socket.recv(65536)
    wire.send(b"\x15\x03\x03\x00\x02\x02\x28")
    return False


# ------------------------------------------------------------------ before a request is read


def deaf(wire: Wire) -> bool:
    """Never read."""
    return wire.hold()


def first_chunk(wire: Wire) -> bool:
    """Act on what has come of a body in chunks, and close while the rest is on its way."""
    with wire.socket.makefile("rb") as stream:
        head = stream.readline().decode().split()
        while stream.readline() not in (b"\r\n", b""):
            pass
        body = stream.read(int(stream.readline(), 16))
    wire.server.read.append(Seen(head[0], head[1], {}, body))
    return False


# ------------------------------------------------------------------ after delivery


def garbage(wire: Wire) -> bool:
    """Bytes that are no TLS, on the connection below it."""
    wire.send_below(b"HTTP/1.1 502 Bad Gateway\r\n\r\n" * 4)
    wire.drain()
    return False


def close(wire: Wire) -> bool:
    """Close without a word, without close_notify too."""
    return False


def reset(wire: Wire) -> bool:
    """Reset the connection, a little later: what was sent before has arrived."""
    wire.server.over.wait(0.05)
    return wire.reset()


def no_status_line(wire: Wire) -> bool:
    """Something that is not HTTP."""
    wire.send(b"220 mail.example ESMTP\r\n\r\n")
    return False


def two_lengths(wire: Wire) -> bool:
    """A head that contradicts itself."""
    wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok")
    return False


def well_until_next(wire: Wire) -> bool:
    """Answer, and reset just as the next request comes: nobody reads that one."""
    well(wire)
    socket.socket.recv(wire.socket, 1)
    return wire.reset()


def well_then_close(wire: Wire) -> bool:
    """Answer, and close without saying so."""
    well(wire)
    return False


# ------------------------------------------------------------------ in the body


def cut(code: int, *headers: str, body: bytes, then: Break = close) -> Break:
    """Answer with a head and a part of the body."""

    def play(wire: Wire) -> bool:
        lines = [f"HTTP/1.1 {code} X", *headers]
        wire.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return then(wire)

    return play


def short(code: int, then: Break = close) -> Break:
    """Less than Content-Length says."""
    return cut(code, "Content-Length: 100", body=b"only this", then=then)


def in_a_chunk(code: int) -> Break:
    """The end comes within a chunk."""
    return cut(code, "Transfer-Encoding: chunked", body=b"20\r\nonly this")


def between_chunks(code: int) -> Break:
    """The end comes where the next chunk should begin."""
    return cut(code, "Transfer-Encoding: chunked", body=b"4\r\nonly\r\n")


def bad_chunk(code: int) -> Break:
    """The length of a chunk is no number."""
    return cut(code, "Transfer-Encoding: chunked", body=b"4\r\nonly\r\nthis\r\n")


def bad_gzip(code: int) -> Break:
    """A body that is whole, but not what it is said to be."""
    return cut(code, "Content-Encoding: gzip", "Content-Length: 9", body=b"not gzip!", then=on)


def on(wire: Wire) -> bool:
    """The connection goes on."""
    return True


# ------------------------------------------------------------------ before the request is whole


def early(code: int, then: Break) -> Break:
    """Answer when the head of the request is there, and most of its body is still to come."""

    def play(wire: Wire) -> bool:
        head = b""
        while b"\r\n\r\n" not in head:
            head += wire.socket.recv(4096)
        status(code, "Connection: close")(wire)
        return then(wire)

    return play


def hears_out(wire: Wire) -> bool:
    """Read what comes, and close in good order."""
    wire.drain()
    return False


def interim(*codes: int, then: Break = well) -> Break:
    """Say that an answer will come, so many times (RFC 9110 section 15.2)."""

    def play(wire: Wire) -> bool:
        for code in codes:
            wire.send(f"HTTP/1.1 {code} X\r\n\r\n".encode())
        return then(wire)

    return play
