"""Stops an async call at its first, second, ... suspension, and a server that shows what it did.

`stopped` drives the call's coroutine by hand, so that each suspension is counted; at the one that
is asked for it has the call cancelled in one of the ways in which programs do that.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
import types
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import trio

from tests.faulty import FaultServer, Seen, ref_of, respond

PATIENCE = 5.0  # seconds after which a test is lost
PAUSE = 0.003  # seconds between two pieces of a slow answer


@dataclass
class Stop:
    """At which suspension a call is cancelled, and is it cancelled again at each later one."""

    at: int = 0  # never
    again: bool = False
    seen: int = 0

    @property
    def done(self) -> bool:
        """Has it been cancelled?"""
        return 0 < self.at <= self.seen

    def due(self) -> bool:
        """Count one suspension: is the call cancelled at it?"""
        self.seen += 1
        return self.seen == self.at or (self.again and self.done)


@dataclass
class End:
    """How a call ended for its caller."""

    result: Any = None
    error: BaseException | None = None
    cancelled: bool = False


@types.coroutine
def counted(
    work: Coroutine[Any, Any, Any], stop: Stop, cancel: Callable[[], Any]
) -> Generator[Any, Any, Any]:
    """Await `work`, and call `cancel` where it is due."""
    step: Callable[[], Any] = lambda: work.send(None)  # noqa: E731 - it changes as we go
    while True:
        try:
            wanted = step()
        except StopIteration as end:
            return end.value
        if stop.due():
            cancel()
        try:
            value = yield wanted
            step = lambda value=value: work.send(value)  # noqa: E731
        except BaseException as exc:
            step = lambda exc=exc: work.throw(exc)  # noqa: E731


async def by_task(work: Coroutine[Any, Any, Any], stop: Stop) -> End:
    """Under asyncio, by `Task.cancel`, which no shield of a scope holds back."""

    end = End()

    async def main() -> None:
        mine = asyncio.current_task()
        assert mine is not None
        try:
            end.result = await counted(work, stop, mine.cancel)
        except asyncio.CancelledError as exc:
            end.error = exc
            raise
        except Exception as exc:
            end.error = exc

    task = asyncio.create_task(main())
    await asyncio.wait([task])
    end.cancelled = task.cancelled()
    return end


async def by_scope(kind: Any, work: Coroutine[Any, Any, Any], stop: Stop) -> End:
    """By a cancel scope of anyio or trio."""
    end = End()
    with kind() as scope:
        try:
            end.result = await counted(work, stop, scope.cancel)
        except BaseException as exc:
            end.error = exc
            if not isinstance(exc, Exception):
                raise
    end.cancelled = scope.cancelled_caught
    return end


Way = tuple[Callable[..., Any], Callable[..., Coroutine[Any, Any, End]]]
WAYS: dict[str, Way] = {
    "asyncio": (asyncio.run, by_task),
    "anyio": (asyncio.run, partial(by_scope, anyio.CancelScope)),
    "trio": (trio.run, partial(by_scope, trio.CancelScope)),
}


@dataclass
class OpenBook(FaultServer):
    """Honours keys, answers in pieces, and can wait until nothing is on its way any more."""

    keys: set[str] = field(default_factory=set)
    threads: list[threading.Thread] = field(default_factory=list)

    def _serve(self, connection: socket.socket) -> None:
        self.threads.append(threading.current_thread())
        super()._serve(connection)

    def rest(self) -> None:
        """Wait until all that was sent before has been read and acted on.

        Connections are taken in their order, so those before this one have been taken too. The
        clients must have let go of theirs.
        """
        with socket.create_connection(("127.0.0.1", self.port), PATIENCE) as last:
            last.sendall(b"GET /fine/rest HTTP/1.1\r\nConnection: close\r\n\r\n")
            last.recv(1000)
        for thread in list(self.threads):
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a client holds a connection"

    def booked(self, ref: str) -> int:
        """How often this is in the book, wherever."""
        with self.lock:
            return sum(each == ref for entries in self.book.values() for each in entries)

    def sent(self, ref: str) -> int:
        """How many writes of this were read whole, wherever."""
        with self.lock:
            return sum(each.method != "GET" and ref_of(each) == ref for each in self.seen)

    def apply(self, seen: Seen) -> None:
        key = seen.headers.get("idempotency-key") if "/keyed/" in seen.path else None
        with self.lock:
            again = key in self.keys or (seen.method == "PUT" and self.book[seen.path])
            if key is not None:
                self.keys.add(key)
        if not again:
            super().apply(seen)

    def _answer(self, connection: socket.socket, seen: Seen) -> bool:
        if len(seen.body) < int(seen.headers.get("content-length", 0)):
            self.seen.remove(seen)  # its sender has gone half-way
            return False
        return super()._answer(connection, seen)

    def _play_moved(self, connection: socket.socket, seen: Seen) -> bool:
        place = f"Location: /pieces{seen.path.removeprefix('/moved')}"
        return respond(connection, 307, {"see": "there"}, place)

    def _play_404(self, connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 404, {"error": "nothing here"})

    def _play_pieces(self, connection: socket.socket, seen: Seen) -> bool:
        """A good answer of known length, in pieces."""
        self.apply(seen)
        head = b"HTTP/1.1 201 X\r\nContent-Length: 9\r\n\r\n"
        return in_pieces(connection, head, b"one", b"two", b"end")

    def _play_chunks(self, connection: socket.socket, seen: Seen) -> bool:
        """A good answer that does not say its length, in pieces."""
        self.apply(seen)
        return in_pieces(connection, *chunked(201))

    def _play_chunked503(self, connection: socket.socket, seen: Seen) -> bool:
        return in_pieces(connection, *chunked(503))


def chunked(status: int) -> list[bytes]:
    """The pieces of an answer that does not say its length."""
    head = b"HTTP/1.1 %d X\r\nTransfer-Encoding: chunked\r\n\r\n" % status
    return [head, b"3\r\none\r\n", b"3\r\nend\r\n", b"0\r\n\r\n"]


def in_pieces(connection: socket.socket, *pieces: bytes) -> bool:
    """Send one after the other, with a pause."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for piece in pieces:
        connection.sendall(piece)
        time.sleep(PAUSE)
    return True
