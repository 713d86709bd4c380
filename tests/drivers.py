"""The seven ways to make a call: requests, and httpx and httpx2 sync, under asyncio and trio."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import httpx
import httpx2
import requests
import trio

from httpx_recover import Policy, Rule
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from httpx_recover.requests import RecoverAdapter

TIMEOUT = 0.2
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one for all: to make one takes long
POLICY = Policy(backoff=(0.03, 0.05), jitter=0.0, settle=0.5)
LIBRARIES = {"httpx": (httpx, on_httpx), "httpx2": (httpx2, on_httpx2)}
DRIVERS = [f"{name} {colour}" for name in LIBRARIES for colour in ("sync", "asyncio", "trio")]
DRIVERS.append("requests sync")

Call = tuple[str, str, dict[str, Any]]  # method, URL, arguments of `client.request`


def settings(rules: Sequence[Rule], policy: Policy, timeout: float) -> dict[str, Any]:
    return {"rules": rules, "policy": policy, "timeout": timeout}


def run_calls(
    driver: str,
    calls: Sequence[Call],
    *,
    rules: Sequence[Rule] = (),
    policy: Policy = POLICY,
    timeout: float = TIMEOUT,
    around: Callable[[], Any] | None = None,
) -> list[Any]:
    """Make the calls at the same time; a response or an exception for each, in order."""
    name, _, colour = driver.partition(" ")
    if name == "requests":
        return _on_requests(calls, around, timeout, RecoverAdapter(policy=policy, rules=rules))
    library, mounts = LIBRARIES[name]
    if colour == "sync":
        mount = mounts.RecoverTransport(policy=policy, rules=rules, verify=CONTEXT)
        with library.Client(transport=mount, timeout=timeout, trust_env=False) as client:
            return _in_threads(client, calls, around)
    mount = mounts.AsyncRecoverTransport(policy=policy, rules=rules, verify=CONTEXT)

    async def main() -> list[Any]:
        async with library.AsyncClient(transport=mount, timeout=timeout, trust_env=False) as client:
            if colour == "asyncio":
                return await asyncio.gather(*(_aone(client, call, around) for call in calls))
            found: dict[int, Any] = {}

            async def one(place: int, call: Call) -> None:
                found[place] = await _aone(client, call, around)

            async with trio.open_nursery() as nursery:
                for place, call in enumerate(calls):
                    nursery.start_soon(one, place, call)
            return [found[place] for place in range(len(calls))]

    return trio.run(main) if colour == "trio" else asyncio.run(main())


class Session(requests.Session):
    """A session that makes each of its calls with one timeout, as the clients do."""

    def __init__(self, timeout: float) -> None:
        super().__init__()
        self.trust_env = False
        self.timeout = timeout

    def request(self, *args: Any, **kwargs: Any) -> Any:
        return super().request(*args, timeout=self.timeout, **kwargs)


def _on_requests(
    calls: Sequence[Call], around: Callable[[], Any] | None, timeout: float, mount: Any
) -> list[Any]:
    with Session(timeout) as session:
        calls = [(method, url, _named(arguments)) for method, url, arguments in calls]
        session.mount("http://", mount)
        return _in_threads(session, calls, around)


def _in_threads(client: Any, calls: Sequence[Call], around: Callable[[], Any] | None) -> list[Any]:
    """The calls side by side, each in a thread that is in the task its caller is in."""
    with ThreadPoolExecutor(len(calls)) as pool:
        made = [pool.submit(copy_context().run, _one, client, call, around) for call in calls]
        return [each.result() for each in made]


def _named(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments by the names that requests gives them, with httpx's defaults."""
    named = {"follow_redirects": "allow_redirects", "content": "data"}
    return {"allow_redirects": False} | {
        named.get(name, name): value for name, value in arguments.items()
    }


def _one(client: Any, call: Call, around: Callable[[], Any] | None) -> Any:
    method, url, arguments = call
    try:
        if around is None:
            return client.request(method, url, **arguments)
        with around():
            return client.request(method, url, **arguments)
    except Exception as exc:
        return exc


async def _aone(client: Any, call: Call, around: Callable[[], Any] | None) -> Any:
    method, url, arguments = call
    try:
        if around is None:
            return await client.request(method, url, **arguments)
        async with around():
            return await client.request(method, url, **arguments)
    except Exception as exc:
        return exc
