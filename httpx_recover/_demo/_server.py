"""The demo's order book: a real HTTP/1.1 server that fails on purpose.

What happens to an order is decided by the number at the end of its ref (`fault_of`), so every
client meets the same failures. Only the first request for a ref fails; the next ones are booked
and answered as if nothing had been. Two kinds go on longer: `BUSY` refuses until its wait is
over, and `UNIQUE` answers 409 once the order is in the book. All other orders are booked again
by every request that comes in, which is what most servers do.

A run whose name starts with `keyed` dedupes: an `Idempotency-Key` is booked once, whenever its
bookings come in, and every later request with it is answered with that booking.

Each client has a book of its own, named by the first part of the path:

- `POST /{run}/orders` books,
- `GET /{run}/orders?ref=...` is what a client may read,
- `GET /{run}/settled` answers when no late booking is outstanding,
- `GET /{run}/book` is the truth: how often each order was booked.

Run as a process it prints its port as the first line, and ends when its standard input closes,
so that it cannot outlive the program that started it.
"""

from __future__ import annotations

import argparse
import json
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.utils import formatdate
from enum import StrEnum
from http import HTTPStatus
from http.client import parse_headers
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qs, urlsplit

READ_TIMEOUT = 0.4  # seconds the demo's clients wait for an answer
ANSWER_AFTER = 0.6  # seconds until a slow answer comes, which is too late for them
LATE_BY = 0.25  # seconds from a client's failure to a late booking
RETRY_AFTER = 1  # seconds asked for by 429 and 503; the header knows whole seconds only

Order = dict[str, Any]


class Fault(StrEnum):
    """What the server does to an order."""

    NONE = "booked and answered"
    DOWN = "503 with Retry-After, nothing booked"
    CUT_AFTER = "booked, then the connection is closed without an answer"
    CUT_BEFORE = "the connection is reset, nothing booked"
    SLOW = "booked, but the answer comes after the client's timeout"
    BUSY = "429 with Retry-After until the wait is over"
    HALF = "booked, and the 201 breaks off in its body"
    UNIQUE = "booked, then cut, and 409 to the same ref from then on"
    LATE_SILENT = "no answer, and booked after the client's timeout"
    LATE_502 = "502 at once, and booked a moment later"


_FAILING = tuple(fault for fault in Fault if fault is not Fault.NONE)
_CYCLE = (*(kind for fault in _FAILING for kind in (Fault.NONE, fault)), Fault.NONE, Fault.NONE)


def fault_of(ref: str) -> Fault:
    """What happens to the order `ref`: every second one fails, each kind once in twenty."""
    digits = ref.rpartition("-")[2]
    return _CYCLE[int(digits) % len(_CYCLE)] if digits.isdecimal() else Fault.NONE


class Request(NamedTuple):
    """What a client sent."""

    method: str
    path: str
    ref: str | None
    key: str | None
    body: bytes


class Wire:
    """One connection, spoken to in bytes so that it can be cut wherever a fault wants it."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._input = connection.makefile("rb")

    def read(self) -> Request | None:
        """Return the next request, None when there is none: hung up, cut off, or not HTTP."""
        with suppress(OSError, ValueError):  # ValueError: not HTTP, or closed by a fault of ours
            method, target, _ = self._input.readline(65536).decode("latin-1").split()
            headers = parse_headers(self._input)
            length = int(headers.get("Content-Length", 0))
            body = self._input.read(length)
            url = urlsplit(target)
            if len(body) == length:
                ref = parse_qs(url.query).get("ref", [None])[0]
                return Request(method, url.path, ref, headers.get("Idempotency-Key"), body)
        return None

    def answer(self, status: int, content: object, *headers: str, half: bool = False) -> None:
        """Send a JSON answer; with `half` the connection is closed in the middle of its body."""
        body = json.dumps(content).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
            f"Date: {formatdate(usegmt=True)}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            *headers,
        )
        sent = body[: len(body) // 2] if half else body
        with suppress(OSError):  # the client has hung up: nobody is there to be told
            self._socket.sendall("\r\n".join((*head, "", "")).encode("latin-1") + sent)
        if half:
            self.cut()

    def cut(self, *, reset: bool = False) -> None:
        """Close the connection, with `reset` by RST, so that the client's read fails."""
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._input.close()
        self._socket.close()


class Book:
    """The orders of one run, and the bookings still to come."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._orders: list[Order] = []
        self._first_seen: dict[str, float] = {}
        self._outstanding = 0

    def seen_before(self, ref: str) -> float | None:
        """Return the seconds since the first request for `ref`, None if this is the first."""
        with self._changed:
            now = time.monotonic()
            if ref in self._first_seen:
                return now - self._first_seen[ref]
            self._first_seen[ref] = now
            return None

    def add(self, order: Order) -> Order:
        """Book `order` and return the booking, which has a number of its own.

        An order with a key that is in the book already is that booking.
        """
        with self._changed:
            for booked in self._orders if "key" in order else ():
                if booked.get("key") == order["key"]:
                    return booked
            booking = {"id": len(self._orders) + 1, **order}
            self._orders.append(booking)
            return booking

    def add_later(self, order: Order, seconds: float) -> None:
        """Book `order` in `seconds`, whatever its client is told until then."""
        with self._changed:
            self._outstanding += 1
        timer = threading.Timer(seconds, self._add_now, (order,))
        timer.daemon = True
        timer.start()

    def _add_now(self, order: Order) -> None:
        self.add(order)
        with self._changed:
            self._outstanding -= 1
            self._changed.notify_all()

    def settle(self) -> None:
        """Return when no booking is outstanding."""
        with self._changed:
            self._changed.wait_for(lambda: not self._outstanding)

    def find(self, ref: str | None) -> list[Order]:
        """Return the bookings of `ref`, or all of them for None."""
        with self._changed:
            return [order for order in self._orders if ref is None or order["ref"] == ref]


def _down(wire: Wire, book: Book, order: Order) -> None:
    wire.answer(503, {"error": "down for a moment"}, f"Retry-After: {RETRY_AFTER}")


def _cut_after(wire: Wire, book: Book, order: Order) -> None:
    book.add(order)
    wire.cut()


def _cut_before(wire: Wire, book: Book, order: Order) -> None:
    wire.cut(reset=True)


def _slow(wire: Wire, book: Book, order: Order) -> None:
    booking = book.add(order)
    time.sleep(ANSWER_AFTER)
    wire.answer(201, booking)


def _busy(wire: Wire, book: Book, order: Order) -> None:
    wire.answer(429, {"error": "too many requests"}, f"Retry-After: {RETRY_AFTER}")


def _half(wire: Wire, book: Book, order: Order) -> None:
    wire.answer(201, book.add(order), half=True)


def _late_silent(wire: Wire, book: Book, order: Order) -> None:
    book.add_later(order, READ_TIMEOUT + LATE_BY)


def _late_502(wire: Wire, book: Book, order: Order) -> None:
    book.add_later(order, LATE_BY)
    wire.answer(502, {"error": "bad gateway"})


def _healthy(wire: Wire, book: Book, order: Order) -> None:
    wire.answer(201, book.add(order))


def _duplicate(wire: Wire, book: Book, order: Order) -> None:
    wire.answer(409, {"error": "duplicate ref"})


_Play = Callable[[Wire, Book, Order], None]

_FIRST: dict[Fault, _Play] = {
    Fault.NONE: _healthy,
    Fault.DOWN: _down,
    Fault.CUT_AFTER: _cut_after,
    Fault.CUT_BEFORE: _cut_before,
    Fault.SLOW: _slow,
    Fault.BUSY: _busy,
    Fault.HALF: _half,
    Fault.UNIQUE: _cut_after,
    Fault.LATE_SILENT: _late_silent,
    Fault.LATE_502: _late_502,
}


def _play(book: Book, order: Order) -> _Play:
    """Choose what becomes of a request for `order`."""
    ref = order["ref"]
    fault, seconds = fault_of(ref), book.seen_before(ref)
    if seconds is None:
        return _FIRST[fault]
    if fault is Fault.BUSY and seconds < RETRY_AFTER:
        return _busy
    return _duplicate if fault is Fault.UNIQUE and "key" not in order else _healthy


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        wire = Wire(self.request)
        while request := wire.read():
            cast("OrderServer", self.server).take(wire, request)


class OrderServer(socketserver.ThreadingTCPServer):
    """The server, on loopback. `port` 0 lets the system choose."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self._books: dict[str, Book] = {}

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def take(self, wire: Wire, request: Request) -> None:
        """Answer one request, or fail to, as its order wants it."""
        run, _, what = request.path.strip("/").partition("/")
        book = self._books.setdefault(run, Book())
        if (request.method, what) == ("POST", "orders"):
            order = json.loads(request.body)
            if run.startswith("keyed") and request.key:
                order["key"] = request.key
            _play(book, order)(wire, book, order)
        elif request.method == "GET" and what in _READS:
            wire.answer(200, _READS[what](book, request.ref))
        else:
            wire.answer(404, {"error": "not found"})


def _orders(book: Book, ref: str | None) -> object:
    return {"data": book.find(ref)}


def _settled(book: Book, ref: str | None) -> object:
    book.settle()
    return {"settled": True}


def _bookings(book: Book, ref: str | None) -> object:
    return {"bookings": Counter(order["ref"] for order in book.find(ref))}


_READS = {"orders": _orders, "settled": _settled, "book": _bookings}


def main(argv: Sequence[str] | None = None) -> None:
    """Serve on `--port` (default 0: any), print the port, end when standard input does."""
    parser = argparse.ArgumentParser(description="The order book server of httpx-recover demo.")
    parser.add_argument("--port", type=int, default=0)
    with OrderServer(parser.parse_args(argv).port) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        print(server.port, flush=True)
        sys.stdin.buffer.read()
        server.shutdown()


if __name__ == "__main__":
    main()
