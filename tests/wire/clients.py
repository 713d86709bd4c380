"""Calls of each client in each colour, with us and without, over one client."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from requests.adapters import HTTPAdapter

from httpx_recover import Policy
from httpx_recover.requests import RecoverAdapter
from tests.drivers import LIBRARIES, Session, _named
from tests.wire.stage import POLICY

TIMEOUT = 5.0  # nobody runs into it by accident
SHORT = 0.3  # for those who are to run into it
BOTH = ("sync", "asyncio")
COLOURS = [f"{name} {colour}" for name in LIBRARIES for colour in BOTH]
ALL_COLOURS = [f"{name} {colour}" for name in LIBRARIES for colour in (*BOTH, "trio")]

Call = tuple[str, str, dict[str, Any]]  # method, URL, arguments of `client.request`
Begin = Callable[[int], bool]  # may the call of this number be made now?


def trusting(bundle: str, cert: str | None = None) -> ssl.SSLContext:
    """What a client trusts, and what it shows."""
    context = ssl.create_default_context(cafile=bundle)
    if cert is not None:
        context.load_cert_chain(cert)
    return context


def make(
    driver: str,
    calls: Sequence[Call],
    *,
    ours: bool = True,
    begin: Begin | None = None,
    between: Callable[[], None] = lambda: None,
    policy: Policy = POLICY,
    rules: Sequence[Any] = (),
    timeout: Any = TIMEOUT,
    **below: Any,
) -> list[Any]:
    """Make the calls on one client: a response or an exception for each, in order.

    One after the other, with `between` in between; or at the same time, each as soon as `begin`
    says so. `below` holds arguments of the library's own transport, and `bundle`, whom it trusts.
    """
    name, _, colour = driver.partition(" ")
    if name == "requests":
        adapter = RecoverAdapter(policy=policy, rules=rules) if ours else HTTPAdapter()
        with Session(timeout) as session:
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            session.verify = below.get("bundle", True)
            named = [(method, url, _named(arguments)) for method, url, arguments in calls]
            return _make(session, named, begin, between)
    if "bundle" in below:
        below["verify"] = trusting(below.pop("bundle"))
    library, mounts = LIBRARIES[name]
    blocking = colour == "sync"
    if ours:
        kind = mounts.RecoverTransport if blocking else mounts.AsyncRecoverTransport
        transport = kind(policy=policy, rules=rules, **below)
    else:
        kind = library.HTTPTransport if blocking else library.AsyncHTTPTransport
        transport = kind(**below)
    settings = {"transport": transport, "timeout": timeout, "trust_env": False}
    if blocking:
        with library.Client(**settings) as client:
            return _make(client, calls, begin, between)

    async def main() -> list[Any]:
        async with library.AsyncClient(**settings) as client:
            return await _amake(client, calls, begin, between)

    return anyio.run(main, backend=colour)


def _make(client: Any, calls: Sequence[Call], begin: Begin | None, between: Any) -> list[Any]:
    results: list[Any] = []
    if begin is None:
        for call in calls:
            if results:
                between()
            results.append(_one(client, call))
        return results
    with ThreadPoolExecutor(len(calls)) as pool:
        waiting = []
        for number, call in enumerate(calls):
            until(lambda number=number: begin(number))
            waiting.append(pool.submit(_one, client, call))
        return [each.result() for each in waiting]


async def _amake(
    client: Any, calls: Sequence[Call], begin: Begin | None, between: Any
) -> list[Any]:
    results: dict[int, Any] = {}

    async def one(number: int) -> None:
        results[number] = await _aone(client, calls[number])

    async with anyio.create_task_group() as group:
        for number in range(len(calls)):
            if begin is None:
                if number:
                    await anyio.to_thread.run_sync(between)
                await one(number)
            else:
                while not begin(number):
                    await anyio.sleep(0.002)
                group.start_soon(one, number)
    return [results[number] for number in range(len(calls))]


def _one(client: Any, call: Call) -> Any:
    method, url, arguments = call
    try:
        return client.request(method, url, **_fresh(arguments))
    except Exception as exc:
        return exc


async def _aone(client: Any, call: Call) -> Any:
    method, url, arguments = call
    try:
        return await client.request(method, url, **_fresh(arguments))
    except Exception as exc:
        return exc


def _fresh(arguments: dict[str, Any]) -> dict[str, Any]:
    """A body that can be read once is made anew for each call."""
    content = arguments.get("content")
    return arguments | {"content": content()} if callable(content) else arguments


def until(true: Callable[[], bool], patience: float = 5.0) -> None:
    """Wait for something that is about to become true."""
    end = time.monotonic() + patience
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)


def patience(name: str) -> float:
    """The timeout for a row that is named for what is wrong in it."""
    slow = ("silent", "timeout", "stall")
    return SHORT if any(each in name for each in slow) else TIMEOUT


def types(exc: Any) -> str:
    """The type of an error and of those it was made from, outermost first."""
    names: list[str] = []
    while isinstance(exc, BaseException) and len(names) < 8:
        names.append(type(exc).__name__)
        exc = exc.__cause__
    return " ".join(names)
