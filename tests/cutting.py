"""A server that ends one exchange at a given byte, and keeps a book of what it applied.

A `Fault` says how the exchange ends and where: when so many bytes of the request have been read,
or when so many bytes of the answer have been sent. A request that was read whole is applied at
once and answered then: a fault while the request is read, its last byte included, leaves nothing
in the book, and a fault in the answer, its first byte not yet sent, comes when all is done. The
faults it is given meet the next exchanges, one each; with no fault left the server is well.

`/keyed/...` is deduped by `Idempotency-Key`. `GET ...?ref=x` lists the bookings of x at that path.
What stands at a path can be PUT, and deleted once.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.breaking import PATIENCE, Listener, Wire
from tests.faulty import Seen, ref_of

HOWS = ("cut", "reset", "stall", "stop")
END = b"\r\n\r\n"
REASONS = {200: "OK", 201: "Created", 404: "Not Found"}


class Fault(NamedTuple):
    """How an exchange ends, and where.

    Attributes:
        how: `cut` closes in an orderly way, `reset` does not; after `stall` nothing more happens;
            `stop` ends the listener too, as when a process dies.
        read: bytes of the request that are read before; 0: the connection was taken, no more;
            None: all of them.
        sent: bytes of the answer that are sent before, once the request was read whole.
        shaken: False to end it in the middle of the TLS handshake.
        sleeps: how often the client sleeps until a server that stopped is back.
        method: the first letter of the requests it meets; of any when empty.
    """

    how: str
    read: int | None = None
    sent: int = 0
    shaken: bool = True
    sleeps: int = 1
    method: bytes = b""


class Struck(Exception):
    """The fault has come: the connection is over."""


class CuttingServer(Listener):
    """Ends the exchanges that it is told to end; see the module.

    Attributes:
        met: how many exchanges have begun since it was told.
        struck: how many of them it has ended.
        sizes: what was read of the last request and what its answer is, by path.
        book: what was booked, by path.
        things: what stands at a path.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.faults: list[Fault] = []
        self.met = self.struck = self.sleeps = 0
        self.sizes: dict[str, tuple[bytes, bytes]] = {}
        self.book: dict[str, list[Any]] = defaultdict(list)
        self.things: dict[str, Any] = {}
        self.answers: dict[tuple[str, str], bytes] = {}  # by path and key
        self.live: set[Wire] = set()
        self.idle: set[Wire] = set()
        self.listening = True
        super().__init__(tls)
        self.place = self.bound(self.port)  # nobody else gets the port while we are away

    def bound(self, port: int = 0) -> socket.socket:
        """A socket at the port, which it may share with others of ours."""
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(("127.0.0.1", port))
        made.setblocking(False)  # who is told of a connection may find it gone
        return made

    def close(self) -> None:
        super().close()
        self.place.close()

    # ------------------------------------------------------------------ what a test tells it

    def strike_next(self, faults: Sequence[Fault]) -> None:
        """Let these meet the next exchanges."""
        self.come_back()
        with self.lock:
            self.faults, self.met, self.struck = list(faults), 0, 0

    def go_away(self, sleeps: int) -> None:
        """Refuse connections until the client has slept so often."""
        with self.lock:
            self.listening, self.sleeps = False, sleeps
            self.stop()

    def come_back(self) -> None:
        """Take connections again, at the same port."""
        with self.lock:
            if self.listening:
                return
            self.listening = True
            self.socket = self.bound(self.port)
            self.socket.listen(32)
        self._start(self._accept)

    def slept(self) -> None:
        """The client has slept."""
        self.be_quiet()
        self.sleeps -= 1
        if self.sleeps <= 0:
            self.come_back()

    # ------------------------------------------------------------------ is anything on its way

    def be_quiet(self) -> None:
        """Wait until all that has reached the server is dealt with.

        A sleep of these tests takes no time. On a busy machine a request could else be applied
        long after it, which no server does that the client has waited for.
        """
        ends = time.monotonic() + PATIENCE
        while not self._is_quiet():
            assert time.monotonic() < ends, "the server of the test hangs"
            time.sleep(0.0002)

    def _is_quiet(self) -> bool:
        with self.lock:
            if self.listening and _readable(self.socket):
                return False
            return self.live == self.idle and not any(map(_readable_wire, self.idle))

    # ------------------------------------------------------------------ connections

    def _accept(self) -> None:
        listener = self.socket
        while self.listening and not self.over.is_set():
            try:
                select.select([listener], [], [], 0.1)
                with self.lock:  # a connection is still to be taken, or known
                    raw, _ = listener.accept()
                    raw.setblocking(True)
                    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    wire = Wire(self, raw)
                    self.live.add(wire)
            except BlockingIOError:
                continue
            except (OSError, ValueError):  # closed
                return
            self.wires.append(wire)
            self._start(self._guard, wire)

    def serve(self, wire: Wire) -> None:
        try:
            self._greet(wire)
            while self._exchange(wire):
                pass
        except Struck:
            pass
        finally:
            with self.lock:
                self.live.discard(wire)
                self.idle.discard(wire)

    def _greet(self, wire: Wire) -> None:
        """Agree on TLS; a fault before the first byte comes here."""
        fault = self._fault(lambda fault: fault.read == 0)
        if fault is not None and not fault.shaken:
            wire.socket.recv(65536)
        elif not self.shake(wire):
            raise Struck
        if fault is not None:
            self._strike(wire, fault)

    def _fault(self, meets: Callable[[Fault], bool]) -> Fault | None:
        """The next fault, if this exchange is the one it meets."""
        with self.lock:
            if not self.faults or not meets(self.faults[0]):
                return None
            self.met += self.faults[0].read == 0
            return self.faults.pop(0)

    def _strike(self, wire: Wire, fault: Fault) -> None:
        with self.lock:
            self.struck += 1
            self.live.discard(wire)
        if fault.how == "stop":
            self.go_away(fault.sleeps)
        elif fault.how == "reset":
            wire.reset()
        else:
            if fault.how == "cut":
                socket.socket.shutdown(wire.socket, socket.SHUT_WR)
            while socket.socket.recv(wire.socket, 65536):
                pass  # until the client closes: what is left unread makes a reset of a close
        raise Struck

    # ------------------------------------------------------------------ exchanges

    def _exchange(self, wire: Wire) -> bool:
        """Read one request, apply and answer it; False when no more comes."""
        first = self._first_byte(wire)
        if not first:
            return False
        fault = self._fault(lambda fault: fault.read != 0 and first.startswith(fault.method))
        limit = None if fault is None else fault.read
        data = _request_bytes(wire.socket, first, limit)
        if fault is not None and limit is not None:
            self._strike(wire, fault)
        answer = self._apply(_seen(data))
        self.sizes[data.split()[1].decode()] = data, answer
        if fault is not None:
            wire.send(answer[: fault.sent])
            self._strike(wire, fault)
        return wire.send(answer)

    def _first_byte(self, wire: Wire) -> bytes:
        """Wait for a request: until its first byte is there the connection is idle."""
        with self.lock:
            self.idle.add(wire)
        while not _readable_wire(wire):
            select.select([wire.socket], [], [])
        with self.lock:
            self.idle.discard(wire)
        first = wire.socket.recv(1)
        self.met += bool(first)
        return first

    def _apply(self, seen: Seen) -> bytes:
        """The effect of a request, and the answer to it."""
        with self.lock:
            if seen.method == "POST":
                return self._book(seen)
            if seen.method == "PUT":
                self.things[seen.path] = ref_of(seen)
            elif seen.method == "DELETE":
                known = self.things.pop(seen.path, None)
                return answer(200 if known else 404, {"gone": bool(known)})
        asked = parse_qs(urlsplit(seen.target).query).get("ref")
        if asked is None:
            return answer(200, {"ref": self.things.get(seen.path)})
        found = [{"ref": each} for each in self.book[seen.path] if each == asked[0]]
        return answer(200, {"data": found})

    def _book(self, seen: Seen) -> bytes:
        key = seen.headers.get("idempotency-key", "")
        deduped = seen.path.startswith("/keyed/")
        if deduped and (seen.path, key) in self.answers:
            return self.answers[seen.path, key]
        self.book[seen.path].append(ref_of(seen))
        told = self.answers[seen.path, key] = answer(201, {"ref": ref_of(seen)})
        return told


def answer(status: int, content: Any) -> bytes:
    """An answer as bytes, always as long for the same content."""
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Length: {len(body)}"
    return head.encode() + END + body


def _readable(each: socket.socket) -> bool:
    return each.fileno() >= 0 and bool(select.select([each], [], [], 0)[0])


def _readable_wire(wire: Wire) -> bool:
    pending = getattr(wire.socket, "pending", None)
    return bool(pending is not None and pending()) or _readable(wire.socket)


def _request_bytes(connection: socket.socket, first: bytes, limit: int | None) -> bytes:
    """A request, or so many bytes of it."""
    data = first
    while (limit is None or len(data) < limit) and not _is_whole(data):
        more = connection.recv(65536 if limit is None else limit - len(data))
        if not more:
            raise Struck  # the client has gone
        data += more
    return data


def _is_whole(data: bytes) -> bool:
    head, end, body = data.partition(END)
    length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
    return bool(end) and len(body) >= int(length or 0)


def _seen(data: bytes) -> Seen:
    head, _, body = data.partition(END)
    line, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = line.split()
    pairs = (each.partition(":") for each in lines)
    return Seen(method, target, {name.lower(): value.strip() for name, _, value in pairs}, body)
