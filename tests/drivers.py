"""The six ways to make a call: httpx and httpx2, each sync, under asyncio and under trio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import httpx2
import trio

from httpx_recover import Policy, Rule
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2

TIMEOUT = 0.2
POLICY = Policy(backoff=(0.03, 0.05), jitter=0.0, settle=0.5)
LIBRARIES = {"httpx": (httpx, on_httpx), "httpx2": (httpx2, on_httpx2)}
DRIVERS = [f"{name} {colour}" for name in LIBRARIES for colour in ("sync", "asyncio", "trio")]

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
    library, mounts = LIBRARIES[name]
    if colour == "sync":
        mount = mounts.RecoverTransport(policy=policy, rules=rules)
        with library.Client(transport=mount, timeout=timeout, trust_env=False) as client:
            with ThreadPoolExecutor(len(calls)) as pool:
                return list(pool.map(lambda call: _one(client, call, around), calls))
    mount = mounts.AsyncRecoverTransport(policy=policy, rules=rules)

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
