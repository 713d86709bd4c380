"""What httpx2 documents beyond httpx: events, QUERY and its alias, with us and without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from httpx_recover import outcome
from tests.clients import Dialect
from tests.conftest import FakeClock
from tests.httpbin import Httpbin

OF_HTTPX2 = pytest.mark.parametrize("dialect", ["httpx2 sync", "httpx2 trio"], indirect=True)

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not hasattr(httpx2, "alias_httpx"), reason="an httpx2 without them"),
]


async def listened(dialect: Dialect, client: Any, httpbin: Httpbin, **settings: Any) -> list[str]:
    """What the events say; the second is let go when the first has come."""
    found = []
    url = f"{httpbin.url}/held/chunked"
    if dialect.blocking:
        with client.sse(url, **settings) as source:
            for event in source:
                found.append(f"{event.data} {httpbin.waited}")
                httpbin.go.set()
    else:
        async with client.sse(url, **settings) as source:
            async for event in source:
                found.append(f"{event.data} {httpbin.waited}")
                httpbin.go.set()
    return found


@OF_HTTPX2
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_events_come_as_they_are_sent(
    dialect: Dialect, client: Any, httpbin: Httpbin, method: str
) -> None:
    found = await listened(dialect, client, httpbin, method=method)
    assert found == ["one []", "two [True]"]
    assert httpbin.seen[0].header("Accept") == "text/event-stream"


@OF_HTTPX2
async def test_what_is_no_event_stream(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    with pytest.raises(httpx2.SSEError, match="text/event-stream"):
        if dialect.blocking:
            with client.sse(f"{httpbin.url}/get") as source:
                list(source)
        else:
            async with client.sse(f"{httpbin.url}/get") as source:
                [event async for event in source]
    assert len(httpbin.seen) == 1


@OF_HTTPX2
async def test_a_query_has_a_body_and_is_a_read(
    dialect: Dialect, client: Any, httpbin: Httpbin, clock: FakeClock
) -> None:
    r = await client.query(f"{httpbin.url}/anything", json={"select": "all"})
    assert (r.json()["method"], r.json()["json"]) == ("QUERY", {"select": "all"})
    assert httpbin.seen[0].header("Idempotency-Key") is None
    r = await client.query(f"{httpbin.url}/flaky/1", json={"select": "all"})
    if dialect.way == "bare":
        assert (r.status_code, outcome(r)) == (503, None)
    else:
        assert r.json()["json"] == {"select": "all"}
        assert [each.body for each in httpbin.seen[1:]] == [httpbin.seen[0].body] * 2


ALIASED = """
import asyncio, sys
import httpx2
httpx2.alias_httpx()
import httpx
from httpx_recover import AsyncRecoverTransport, RecoverTransport, outcome, recover
url = sys.argv[1]
for client in (httpx.Client(transport=RecoverTransport()), recover(httpx.Client())):
    with client:
        r = client.post(url, json={"a": 1})
        print(type(r).__module__, r.json()["json"], outcome(r))
async def main():
    async with httpx.AsyncClient(transport=AsyncRecoverTransport()) as client:
        r = await client.get(url)
        print(type(r).__module__, outcome(r))
asyncio.run(main())
"""


def test_the_alias_of_httpx(httpbin: Httpbin) -> None:
    """A program that calls httpx2 by the name of httpx is recovered as well."""
    done = subprocess.run(
        [sys.executable, "-c", ALIASED, f"{httpbin.url}/anything"],
        cwd=Path(__file__).parent.parent.parent,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_PROXY": "*"},
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    *posts, get = done.stdout.splitlines()
    for line in posts:
        assert line.startswith("httpx2 {'a': 1} POST ")
        assert "done, ok 200, applied yes" in line
    assert len(posts) == 2
    assert get.startswith("httpx2 GET ")
