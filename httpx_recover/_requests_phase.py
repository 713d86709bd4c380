"""How far a request got, told by urllib3's own connections.

requests has no hook that tells it, and by their types five failures before the request left look
like failures after it. So the pools of an adapter get connections that note, for the request which
their thread is sending, that they are at work and when the first byte may leave. What goes over
the socket while `connect` runs, TLS and CONNECT, is not the request.

They also tell an answer whose head was cut from a whole one: http.client takes the end of the
connection for the end of the head, so half a head is a success without a body to it.

A connection that is not ours, of a pool made before or of a test tool that put its own in place,
tells nothing: then the request counts as sent. So does one that sends in a way of its own.
"""

from __future__ import annotations

import threading
from functools import wraps
from http.client import HTTPResponse, RemoteDisconnected
from typing import Any

from urllib3.connection import HTTPConnection

from httpx_recover._evidence import Phase


class _Here(threading.local):
    phase: Phase | None = None


_here = _Here()
_made: dict[type, type] = {}
_watching = threading.Lock()
# How a request leaves, and how its answer is read: a class that does it otherwise tells nothing.
_WAYS = ("request", "putrequest", "endheaders", "send", "getresponse")


def begin(phase: Phase) -> Phase | None:
    """From now on what this thread sends is noted in `phase`; returns what `end` wants."""
    before, _here.phase = _here.phase, phase  # an adapter may make a request of its own
    return before


def end(before: Phase | None) -> None:
    """What this thread sends is noted where it was before."""
    _here.phase = before


class _Lines:
    """A file of which the last line is remembered."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.last: bytes | None = None

    def readline(self, size: int) -> bytes:
        line: bytes = self.file.readline(size)
        self.last = line
        return line

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class WholeHead(HTTPResponse):
    """A response without its empty line is incomplete (RFC 9112 section 8)."""

    def begin(self) -> None:
        file = self.fp
        lines: Any = _Lines(file)
        self.fp = lines
        super().begin()
        self.fp = file
        if lines.last == b"":
            raise RemoteDisconnected("Remote end closed connection in the head of its response")


class WatchedConnection:
    """A connection that notes when a request leaves on it."""

    _connecting = False

    def __init_subclass__(cls) -> None:
        if cls.response_class is HTTPResponse:  # type: ignore[attr-defined] # of the one below
            cls.response_class = WholeHead  # type: ignore[attr-defined] # of the one below

    def connect(self) -> None:
        self._connecting = True
        try:
            super().connect()  # type: ignore[misc] # of the connection below
        finally:
            self._connecting = False

    def endheaders(self, *args: Any, **kwargs: Any) -> Any:
        self._leave()
        return super().endheaders(*args, **kwargs)  # type: ignore[misc] # of the connection below

    def send(self, data: Any) -> Any:
        self._leave()
        return super().send(data)  # type: ignore[misc] # of the connection below

    def _leave(self: Any) -> None:
        if self._connecting:
            return
        if self.sock is None and self.auto_open:
            self.connect()  # http.client would do so within its `send`, too late for us
        phase = _here.phase
        if phase is not None and self.sock is not None:
            phase.sent = True


class WatchedPool:
    """A pool whose connections note what they do."""

    _connection_cls: Any = None

    @property
    def ConnectionCls(self) -> Any:  # urllib3's own name; asked each time, since tools replace it
        return watched(self._connection_cls or super().ConnectionCls)  # type: ignore[misc] # below

    @ConnectionCls.setter
    def ConnectionCls(self, value: Any) -> None:
        self._connection_cls = value

    def _get_conn(self, *args: Any, **kwargs: Any) -> Any:
        connection = super()._get_conn(*args, **kwargs)  # type: ignore[misc] # of the pool below
        phase = _here.phase
        if phase is not None:
            ours = isinstance(connection, WatchedConnection)
            phase.tries += 1
            phase.connected, phase.sent = ours, phase.sent or not ours
        return connection


class WatchedClasses(dict[str, Any]):
    """The pool classes of a manager, each one watched."""

    ready = False


def watch(manager: Any) -> None:
    """Let a pool manager, or a proxy manager, make watched pools from now on."""
    classes = getattr(manager, "pool_classes_by_scheme", None)
    if classes is None or getattr(classes, "ready", False):
        return
    with _watching:
        if type(manager.pool_classes_by_scheme) is not WatchedClasses:
            pools = {scheme: _subclass(WatchedPool, pool) for scheme, pool in classes.items()}
            manager.pool_classes_by_scheme = WatchedClasses(pools)
            manager.clear()  # what is in flight goes on; its connections are not used again
            manager.pool_classes_by_scheme.ready = True


def watched(connection: Any) -> Any:
    """The class of watched connections over a class of urllib3's; others stay as they are."""
    if not (isinstance(connection, type) and issubclass(connection, HTTPConnection)):
        return connection
    if any(getattr(connection, way) is not getattr(HTTPConnection, way) for way in _WAYS):
        return connection
    return _subclass(WatchedConnection, connection)


def watch_proxies(adapter: Any) -> None:
    """Let an adapter's managers for proxies be watched from their beginning."""
    make = adapter.proxy_manager_for

    @wraps(make)
    def proxy_manager_for(*args: Any, **kwargs: Any) -> Any:
        manager = make(*args, **kwargs)
        watch(manager)
        return manager

    adapter.proxy_manager_for = proxy_manager_for


def _subclass(mixin: type, base: type) -> type:
    found = _made.get(base)
    if found is None:
        # The same name, since urllib3 shows it in its errors.
        names = {"__module__": base.__module__, "__qualname__": base.__qualname__}
        found = _made[base] = type(base.__name__, (mixin, base), names)
    return found
