"""Bodies in: small ones of known length are read at once, streams pass as the server sends them."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests

from httpx_recover import AsyncRecoverTransport, RecoverTransport, outcome, task
from tests.clients import Dialect
from tests.drivers import DRIVERS, POLICY, run_calls
from tests.httpbin import Httpbin

pytestmark = pytest.mark.anyio

FRAMES = ("chunked", "length", "close")
EVENTS = b"data: one\n\ndata: two\n\n"
MOST = 20 * 1024 * 1024  # bytes by which a process may grow, however long the download

# Streams pass untouched and unbuffered


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
async def test_the_first_event_is_there_while_the_second_is_held_back(
    client: Any, httpbin: Httpbin, frame: str, verb: str
) -> None:
    async with client.stream(verb, f"{httpbin.url}/held/{frame}") as r:
        async with aclosing(r.aiter_raw()) as chunks:
            first = await anext(chunks)
            assert (first, httpbin.waited) == (b"data: one\n\n", [])
            httpbin.go.set()
            rest = b"".join([chunk async for chunk in chunks])
    assert (first + rest).rstrip() + b"\n\n" == EVENTS
    assert (httpbin.waited, len(httpbin.seen)) == ([True], 1)


async def test_events_are_read_line_by_line(client: Any, httpbin: Httpbin) -> None:
    lines = []
    async with client.stream("GET", f"{httpbin.url}/held/chunked") as r:
        assert r.headers["content-type"] == "text/event-stream"
        async for line in r.aiter_lines():
            lines.append((line, bool(httpbin.waited)))
            httpbin.go.set()
    assert [line for line, _ in lines if line] == ["data: one", "data: two"]
    assert lines[0] == ("data: one", False)


async def test_events_in_a_named_task(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    with task("listen") as t:
        async with client.stream("GET", f"{httpbin.url}/held/chunked") as r:
            async with aclosing(r.aiter_text()) as texts:
                assert await anext(texts) == "data: one\n\n"
                httpbin.go.set()
                assert [text async for text in texts] == ["data: two\n\n"]
    told = ("done", 0) if dialect.way == "bare" else ("done", 1)
    assert (t.report().status, t.report().calls) == told


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
def test_the_first_event_is_there_under_requests(
    session: requests.Session, httpbin: Httpbin, frame: str, verb: str
) -> None:
    with session.request(verb, f"{httpbin.url}/held/{frame}", stream=True) as r:
        chunks = r.iter_content(len(b"data: one\n\n"))
        first = next(chunks)
        assert (first, httpbin.waited) == (b"data: one\n\n", [])
        httpbin.go.set()
        assert (first + b"".join(chunks)).rstrip() + b"\n\n" == EVENTS
    assert (httpbin.waited, len(httpbin.seen)) == ([True], 1)


async def test_a_stream_without_end_can_be_left(
    dialect: Dialect, client: Any, httpbin: Httpbin
) -> None:
    async with client.stream("GET", f"{httpbin.url}/flood/100000/chunked") as r:
        if dialect.colour != "trio":  # which complains of what the library leaves open inside
            async with aclosing(r.aiter_bytes()) as chunks:
                assert (await anext(chunks)).startswith(bytes(range(256)))
    assert r.is_closed
    assert (await client.get(f"{httpbin.url}/get")).status_code == 200


def test_a_stream_without_end_can_be_left_under_requests(
    session: requests.Session, httpbin: Httpbin
) -> None:
    with session.get(f"{httpbin.url}/flood/100000/chunked", stream=True) as r:
        assert next(r.iter_content(256)) == bytes(range(256))
    assert session.get(f"{httpbin.url}/get").status_code == 200


async def test_a_stream_holds_its_connection_and_a_small_body_does_not(
    dialect: Dialect, client: Any, httpbin: Httpbin
) -> None:
    """A known small body is read inside the attempt, so that a cut one is part of it."""
    async with client.stream("GET", f"{httpbin.url}/stream/3") as r:
        assert (await client.get(f"{httpbin.url}/get")).status_code == 200
        assert httpbin.connections == 2
        assert len(await r.aread()) == 30
    httpbin.fresh()
    async with client.stream("GET", f"{httpbin.url}/bytes/1000") as r:
        for _ in range(2):
            assert (await client.get(f"{httpbin.url}/get")).status_code == 200
        assert await r.aread() == bytes(n % 256 for n in range(1000))
    assert httpbin.connections == 0  # those from before were free, or freed


async def test_a_pool_of_one_is_free_beside_an_open_small_answer(
    dialect: Dialect, httpbin: Httpbin
) -> None:
    limits = dialect.lib.Limits(max_connections=1)
    timeout = dialect.lib.Timeout(5, pool=0.05)
    async with dialect.client(limits=limits, timeout=timeout) as client:
        async with client.stream("GET", f"{httpbin.url}/bytes/262144") as r:
            if dialect.way == "bare":
                with pytest.raises(dialect.lib.PoolTimeout):
                    await client.get(f"{httpbin.url}/get")
            else:
                assert (await client.get(f"{httpbin.url}/get")).status_code == 200
            assert len(await r.aread()) == 262144


# Coded bytes


@pytest.mark.parametrize("path", ["gzip", "gzip-stream"])
async def test_raw_bytes_are_the_coded_ones(client: Any, httpbin: Httpbin, path: str) -> None:
    async with client.stream("GET", f"{httpbin.url}/{path}") as r:
        raw = b"".join([chunk async for chunk in r.aiter_raw()])
    assert raw[:2] == b"\x1f\x8b"
    assert json.loads(gzip.decompress(raw)) == {"gzipped": True}
    assert r.num_bytes_downloaded == len(raw)


@pytest.mark.parametrize("path", ["gzip", "gzip-stream"])
async def test_bytes_and_text_are_decoded(client: Any, httpbin: Httpbin, path: str) -> None:
    async with client.stream("GET", f"{httpbin.url}/{path}") as r:
        decoded = b"".join([chunk async for chunk in r.aiter_bytes()])
    async with client.stream("GET", f"{httpbin.url}/{path}") as r:
        text = "".join([chunk async for chunk in r.aiter_text()])
    assert json.loads(decoded) == json.loads(text) == {"gzipped": True}


@pytest.mark.parametrize("path", ["gzip", "gzip-stream"])
def test_raw_bytes_are_the_coded_ones_under_requests(
    session: requests.Session, httpbin: Httpbin, path: str
) -> None:
    with session.get(f"{httpbin.url}/{path}", stream=True) as r:
        raw = b"".join(r.raw.stream(7, decode_content=False))
    assert json.loads(gzip.decompress(raw)) == {"gzipped": True}
    with session.get(f"{httpbin.url}/{path}", stream=True) as r:
        assert json.loads(b"".join(r.iter_content(7))) == {"gzipped": True}


async def test_a_stream_is_read_once(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    async with client.stream("GET", f"{httpbin.url}/bytes/10") as r:
        assert b"".join([chunk async for chunk in r.aiter_raw(3)]) == bytes(range(10))
        with pytest.raises(dialect.lib.StreamConsumed):
            await r.aread()
    with pytest.raises(dialect.lib.ResponseNotRead):
        _ = r.content


async def test_a_closed_stream_is_gone(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    async with client.stream("GET", f"{httpbin.url}/bytes/10") as r:
        pass
    with pytest.raises(dialect.lib.StreamClosed):
        await r.aread()


# Bodies that are none, and bodies without a length


async def test_a_body_without_a_length_ends_with_its_connection(
    client: Any, httpbin: Httpbin
) -> None:
    r = await client.get(f"{httpbin.url}/old")
    assert (r.text, r.http_version) == ("old", "HTTP/1.0")
    async with client.stream("POST", f"{httpbin.url}/old") as r:
        assert "content-length" not in r.headers
        assert await r.aread() == b"old"


def test_a_body_without_a_length_under_requests(
    session: requests.Session, httpbin: Httpbin
) -> None:
    assert session.post(f"{httpbin.url}/old").text == "old"
    with session.get(f"{httpbin.url}/old", stream=True) as r:
        assert r.raw.read() == b"old"


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("GET", "/status/204", 204),
        ("DELETE", "/status/204", 204),
        ("POST", "/status/204", 204),
        ("GET", "/status/304", 304),
        ("HEAD", "/bytes/1000", 200),
        ("HEAD", "/flood/200/length", 200),
        ("HEAD", "/status/404", 404),
        ("GET", "/bytes/0", 200),
        ("PUT", "/bytes/0", 200),
    ],
)
async def test_an_answer_without_a_body_gives_its_connection_back(
    client: Any, httpbin: Httpbin, verb: str, path: str, status: int
) -> None:
    r = await client.request(verb, f"{httpbin.url}{path}")
    assert (r.status_code, r.content) == (status, b"")
    async with client.stream(verb, f"{httpbin.url}{path}") as r:
        assert await r.aread() == b""
    assert (await client.get(f"{httpbin.url}/get")).status_code == 200
    assert (httpbin.connections, len(httpbin.seen)) == (1, 3)


async def test_a_head_keeps_the_length_it_was_told(client: Any, httpbin: Httpbin) -> None:
    r = await client.head(f"{httpbin.url}/flood/200/length")
    assert r.headers["content-length"] == str(200 * 1024 * 1024)


# A stream that is cut


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_cut_stream_fails_where_it_is_read(
    dialect: Dialect, client: Any, httpbin: Httpbin, verb: str
) -> None:
    got = []
    async with client.stream(verb, f"{httpbin.url}/chunks-cut") as r:
        with pytest.raises(dialect.lib.RemoteProtocolError, match="peer closed connection"):
            async for chunk in r.aiter_bytes():
                got.append(chunk)
    assert (b"".join(got), len(httpbin.seen)) == (b"some of it", 1)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_known_small_body_that_is_cut_is_read_again(httpbin: Httpbin, driver: str) -> None:
    [end] = run_calls(driver, [("GET", f"{httpbin.url}/half-once", {})], timeout=2)
    assert (end.status_code, end.content) == (200, b"whole")
    found = outcome(end)
    assert found is not None
    assert [each["phase"] for each in found.attempts] == ["body cut", "answered"]


def test_a_small_body_that_is_streamed_and_cut_is_read_again(httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/half-once"
    with httpx.Client(transport=RecoverTransport(policy=POLICY)) as client:
        with client.stream("GET", url) as r:
            assert b"".join(r.iter_raw(2)) == b"whole"

    async def main() -> bytes:
        mount = AsyncRecoverTransport(policy=POLICY)
        async with httpx.AsyncClient(transport=mount) as client:
            async with client.stream("GET", f"{url}/again") as r:
                return b"".join([chunk async for chunk in r.aiter_raw(2)])

    assert asyncio.run(main()) == b"whole"
    assert len(httpbin.seen) == 4


# A long download


def download(client: str, url: str) -> dict[str, Any]:
    """Download in a process of its own, and say by how much it grew."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.downloading", client, url],
        cwd=Path(__file__).parent.parent.parent,
        check=False,
        capture_output=True,
        text=True,
        env=env | {"NO_PROXY": "*"},
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("frame", ["length", "chunked"])
@pytest.mark.parametrize("client", ["httpx sync", "httpx asyncio", "requests"])
def test_a_download_of_200_megabytes_passes_through(
    httpbin: Httpbin, client: str, frame: str
) -> None:
    told = download(client, f"{httpbin.url}/flood/200/{frame}")
    assert told["bytes"] == 200 * 1024 * 1024
    assert told["outcome"] == "OK"
    assert told["grown"] < MOST


def test_a_download_that_is_kept_in_memory_is_noticed(httpbin: Httpbin) -> None:
    assert download("kept", f"{httpbin.url}/flood/40/length")["grown"] > MOST
