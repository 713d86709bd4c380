"""Downloads a URL through a mount and tells by how much the process grew, as JSON.

A program of its own, so that what the tests hold is not counted: `python -m tests.downloading
"httpx sync" URL`. Before the download it makes a short call, which loads what every call needs.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")


def peak() -> int:
    """The most memory that this process has had, in bytes."""
    if STATUS.exists():  # not ru_maxrss, which a process inherits from the one that started it
        line = next(each for each in STATUS.read_text().splitlines() if each.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def sized(response: Any, chunks: Iterator[bytes]) -> tuple[int, str]:
    """How much came, and what is known of the call."""
    from httpx_recover import outcome

    size = sum(len(chunk) for chunk in chunks)
    found = outcome(response)
    assert found is not None
    return size, found.failure.name


def with_httpx(url: str) -> tuple[int, str]:
    import httpx

    from httpx_recover import RecoverTransport

    with httpx.Client(transport=RecoverTransport()) as client:
        with client.stream("GET", url) as response:
            return sized(response, response.iter_bytes())


def with_async_httpx(url: str) -> tuple[int, str]:
    import httpx

    from httpx_recover import AsyncRecoverTransport

    async def main() -> tuple[int, str]:
        size = 0
        async with httpx.AsyncClient(transport=AsyncRecoverTransport()) as client:
            async with client.stream("GET", url) as response:
                async for chunk in response.aiter_bytes():
                    size += len(chunk)
            return size, sized(response, iter(()))[1]

    return asyncio.run(main())


def with_requests(url: str) -> tuple[int, str]:
    import requests

    from httpx_recover.requests import recover

    with recover(requests.Session()) as session:
        with session.get(url, stream=True) as response:
            return sized(response, response.iter_content(65536))


def kept(url: str) -> tuple[int, str]:
    """Not streamed: shows that growth is seen."""
    import httpx

    from httpx_recover import RecoverTransport

    with httpx.Client(transport=RecoverTransport()) as client:
        response = client.get(url)
        return sized(response, iter([response.content]))


CLIENTS: dict[str, Callable[[str], tuple[int, str]]] = {
    "httpx sync": with_httpx,
    "httpx asyncio": with_async_httpx,
    "requests": with_requests,
    "kept": kept,
}


def main() -> None:
    client, url = sys.argv[1:]
    CLIENTS[client](url.replace("/200/", "/1/").replace("/40/", "/1/"))
    before = peak()
    size, known = CLIENTS[client](url)
    print(json.dumps({"bytes": size, "outcome": known, "grown": peak() - before}))


if __name__ == "__main__":
    main()
