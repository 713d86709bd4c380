"""The ways to get a client of httpx or httpx2: blocking and async, without us and with us.

A test is written once, as a coroutine. A blocking client is spoken to as if it were an async one;
each of its calls blocks, as it does in a program. What a test says holds for every dialect and for
every way: without us it proves the test, with us that nothing changes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

from tests.drivers import CONTEXT, LIBRARIES

DIALECTS = ("httpx sync", "httpx asyncio", "httpx2 sync", "httpx2 trio")
_CALLS = ("get", "options", "head", "post", "put", "patch", "delete", "query", "request", "send")
_OF_TRANSPORTS = ("verify", "cert", "http1", "http2", "limits", "proxy", "trust_env")


class Dialect:
    """A library and a colour, and the way in which we are put under its clients."""

    def __init__(self, name: str, way: str) -> None:
        library, _, self.colour = name.partition(" ")
        self.lib, self.mounts = LIBRARIES[library]
        self.way = way
        self.blocking = self.colour == "sync"

    def __repr__(self) -> str:
        return f"{self.lib.__name__} {self.colour}, {self.way}"

    def own(self, **settings: Any) -> Any:
        """The library's own transport."""
        kind = self.lib.HTTPTransport if self.blocking else self.lib.AsyncHTTPTransport
        return kind(**{"verify": CONTEXT} | settings)

    def over(self, transport: Any, **settings: Any) -> Any:
        """A transport, under a mount of ours where that is the way."""
        if self.way != "mounted" or transport is None:
            return transport
        mounts = self.mounts
        kind = mounts.RecoverTransport if self.blocking else mounts.AsyncRecoverTransport
        return kind(transport, **settings)

    def client(self, **settings: Any) -> Any:
        """A client with these settings; `recovery` holds settings of ours."""
        recovery = settings.pop("recovery", {})
        settings = {"verify": CONTEXT} | settings
        if "transport" in settings or self.way == "mounted":
            own = {name: settings[name] for name in _OF_TRANSPORTS if name in settings}
            settings.pop("proxy", None)  # the mount has it
            below = settings.get("transport") or self.own(**own)
            settings["transport"] = self.over(below, **recovery)
        if "mounts" in settings:
            each = settings["mounts"].items()
            settings["mounts"] = {where: self.over(to, **recovery) for where, to in each}
        client = (self.lib.Client if self.blocking else self.lib.AsyncClient)(**settings)
        if self.way == "recover":
            self.mounts.recover(client, **recovery)
        return Waited(client) if self.blocking else client

    def body(self, *chunks: bytes) -> Any:
        """A body that can be read once: a generator of the colour."""
        return _chunks(*chunks) if self.blocking else _achunks(*chunks)

    def coloured(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A callback in the colour of the client."""
        if self.blocking:
            return function

        @wraps(function)
        async def awaited(*args: Any) -> Any:
            return function(*args)

        return awaited


def _chunks(*chunks: bytes) -> Iterator[bytes]:
    yield from chunks


async def _achunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


class Waited:
    """A blocking client, spoken to as an async one."""

    def __init__(self, client: Any) -> None:
        object.__setattr__(self, "client", client)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)
        return _awaitable(found) if name in _CALLS else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.client, name, value)

    async def __aenter__(self) -> Waited:
        self.client.__enter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        self.client.__exit__(*exc)

    async def aclose(self) -> None:
        self.client.close()

    @asynccontextmanager
    async def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[WaitedResponse]:
        with self.client.stream(*args, **kwargs) as response:
            yield WaitedResponse(response)


class WaitedResponse:
    """A streamed response of a blocking client, spoken to as an async one."""

    def __init__(self, response: Any) -> None:
        self.response = response

    def __getattr__(self, name: str) -> Any:
        if name.startswith("aiter_"):
            return _aiter_of(getattr(self.response, name[1:]))
        if name in ("aread", "aclose"):
            return _awaitable(getattr(self.response, name[1:]))
        return getattr(self.response, name)


def _awaitable(function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        answer = function(*args, **kwargs)
        return WaitedResponse(answer) if kwargs.get("stream") is True else answer

    return call


def _aiter_of(function: Callable[..., Any]) -> Callable[..., Any]:
    async def iterate(*args: Any) -> AsyncIterator[Any]:
        for each in function(*args):
            yield each

    return iterate
