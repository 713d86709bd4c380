"""The examples of httpx's "Clients", "Event Hooks", "Text Encodings" and "Async Support"."""

from __future__ import annotations

import asyncio
import io
import tempfile
from base64 import b64decode
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import trio

from httpx_recover import AsyncRecoverTransport
from tests.clients import Dialect
from tests.conftest import FakeClock
from tests.httpbin import Httpbin

pytestmark = pytest.mark.anyio


# Usage


async def test_a_client_can_be_closed_by_hand(dialect: Dialect, httpbin: Httpbin) -> None:
    client = dialect.client()
    try:
        assert (await client.get(f"{httpbin.url}/get")).status_code == 200
    finally:
        await client.aclose()
    assert client.is_closed
    with pytest.raises(RuntimeError, match="closed"):
        await client.get(f"{httpbin.url}/get")


async def test_one_connection_for_many_requests(client: Any, httpbin: Httpbin) -> None:
    for verb in ("GET", "POST", "PUT", "HEAD", "GET"):
        await client.request(verb, f"{httpbin.url}/anything")
    for path in ("stream/3", "status/404", "gzip", "bytes/300000"):
        await client.get(f"{httpbin.url}/{path}")
    assert (httpbin.connections, len(httpbin.seen)) == (1, 9)


# Sharing and merging configuration


async def test_headers_of_the_client(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(headers={"user-agent": "my-app/0.0.1"}) as client:
        r = await client.get(f"{httpbin.url}/headers")
    assert r.json()["headers"]["user-agent"] == "my-app/0.0.1"


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_headers_and_parameters_are_merged(
    dialect: Dialect, httpbin: Httpbin, verb: str
) -> None:
    settings: dict[str, Any] = {"headers": {"X-Auth": "from-client"}, "params": {"client_id": "1"}}
    async with dialect.client(**settings) as client:
        more: dict[str, Any] = {"headers": {"X-Custom": "from-request"}, "params": {"id": "2"}}
        r = await client.request(verb, f"{httpbin.url}/anything", **more)
    assert r.json()["args"] == {"client_id": "1", "id": "2"}
    assert r.request.headers["X-Auth"] == r.json()["headers"]["X-Auth"] == "from-client"
    assert r.json()["headers"]["X-Custom"] == "from-request"


async def test_auth_of_a_request_is_stronger(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(auth=("tom", "mot123")) as client:
        r = await client.get(f"{httpbin.url}/headers", auth=("alice", "ecila123"))
        _, _, auth = r.request.headers["Authorization"].partition(" ")
        assert b64decode(auth) == b"alice:ecila123"
        r = await client.get(f"{httpbin.url}/headers", auth=None)
        assert "Authorization" not in r.json()["headers"]


async def test_a_base_url(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(base_url=f"{httpbin.url}/anything/v1") as client:
        r = await client.get("/headers", params={"a": "1"})
        assert str(r.request.url) == f"{httpbin.url}/anything/v1/headers?a=1"
        assert (await client.post("other")).json()["target"] == "/anything/v1/other"
        assert (await client.get(f"{httpbin.url}/get")).json()["target"] == "/get"


async def test_settings_can_be_changed(client: Any, httpbin: Httpbin) -> None:
    client.headers["X-Later"] = "1"
    client.base_url = httpbin.url
    client.auth = ("user", "pass")
    client.timeout = 7.0
    r = await client.post("/post")
    assert r.json()["headers"]["X-Later"] == "1"
    assert r.json()["headers"]["Authorization"] == "Basic dXNlcjpwYXNz"
    assert r.request.extensions["timeout"]["read"] == 7.0


# Request instances


async def test_a_request_of_ones_own(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    for verb in ("GET", "POST"):
        request = dialect.lib.Request(verb, f"{httpbin.url}/anything", json={"a": 1})
        r = await client.send(request)
        assert r.request is request
        assert (r.json()["method"], r.json()["json"]) == (verb, {"a": 1})


async def test_a_request_may_be_changed_before_it_is_sent(
    dialect: Dialect, httpbin: Httpbin
) -> None:
    headers = {"X-Api-Key": "...", "X-Client-ID": "ABC123"}
    async with dialect.client(headers=headers) as client:
        for verb in ("GET", "POST"):
            request = client.build_request(verb, f"{httpbin.url}/anything")
            assert request.headers["X-Client-ID"] == "ABC123"
            del request.headers["X-Api-Key"]
            told = (await client.send(request)).json()["headers"]
            assert ("X-Api-Key" in told, told["X-Client-ID"]) == (False, "ABC123")


@pytest.mark.parametrize("verb", ["GET", "PUT", "POST"])
async def test_a_request_is_sent_twice(client: Any, httpbin: Httpbin, verb: str) -> None:
    request = client.build_request(verb, f"{httpbin.url}/anything", json={"a": 1})
    answers = [(await client.send(request)).json() for _ in range(2)]
    assert [each["json"] for each in answers] == [{"a": 1}] * 2


async def test_manual_streaming(client: Any, httpbin: Httpbin) -> None:
    for verb in ("GET", "POST"):
        request = client.build_request(verb, f"{httpbin.url}/stream/3")
        r = await client.send(request, stream=True)
        assert not r.is_closed
        assert len([line async for line in r.aiter_lines()]) == 3
        await r.aclose()
        assert r.is_closed
    assert httpbin.connections == 1


# Monitoring progress


@pytest.mark.parametrize("path", ["bytes/300000", "bytes/1000", "gzip"])
async def test_progress_of_a_download(client: Any, httpbin: Httpbin, path: str) -> None:
    steps = [0]
    with tempfile.TemporaryFile() as file:
        async with client.stream("GET", f"{httpbin.url}/{path}") as r:
            total = int(r.headers["Content-Length"])
            assert r.num_bytes_downloaded == 0
            async for chunk in r.aiter_bytes():
                file.write(chunk)
                steps.append(r.num_bytes_downloaded)
    assert steps == sorted(steps)
    assert (steps[-1], r.num_bytes_downloaded) == (total, total)


async def test_progress_of_an_upload(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    sent = []

    def told(data: bytes) -> bytes:
        sent.append(len(data))
        return data

    def gen() -> Iterator[bytes]:
        with io.BytesIO(bytes(300_000)) as file:
            while data := file.read(65536):
                yield told(data)

    async def agen() -> AsyncIterator[bytes]:
        for data in gen():
            yield data

    r = await client.post(f"{httpbin.url}/post", content=gen() if dialect.blocking else agen())
    assert (r.status_code, sum(sent), len(sent)) == (200, 300_000, 5)
    assert len(httpbin.seen[0].body) == 300_000


# Multipart file encoding


async def test_names_and_types_of_files(client: Any, httpbin: Httpbin, tmp_path: Path) -> None:
    (tmp_path / "report.xls").write_text("cells")
    with open(tmp_path / "report.xls", "rb") as file:
        files: dict[str, Any] = {
            "by-itself": file,
            "named": ("other.bin", b"bytes"),
            "typed": ("data", "words", "text/csv"),
            "nameless": (None, "text content"),
        }
        r = await client.post(f"{httpbin.url}/post", files=files)
    parts = {each["name"]: each for each in r.json()["files"]}
    assert parts["by-itself"]["filename"] == "report.xls"
    assert parts["by-itself"]["content"] == "cells"
    assert parts["named"]["type"] == "application/octet-stream"
    assert (parts["typed"]["type"], parts["typed"]["content"]) == ("text/csv", "words")
    assert r.json()["form"] == {"nameless": "text content"}


async def test_many_files_for_one_field(client: Any, httpbin: Httpbin) -> None:
    files = [
        ("images", ("foo.png", io.BytesIO(b"foo"), "image/png")),
        ("images", ("bar.png", io.BytesIO(b"bar"), "image/png")),
    ]
    parts = (await client.post(f"{httpbin.url}/post", files=files)).json()["files"]
    assert [(p["name"], p["filename"], p["content"]) for p in parts] == [
        ("images", "foo.png", "foo"),
        ("images", "bar.png", "bar"),
    ]


async def test_a_large_file_is_streamed(client: Any, httpbin: Httpbin, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"m" * 1_000_000)
    with open(tmp_path / "large", "rb") as file:
        r = await client.put(f"{httpbin.url}/put", files={"file": file})
    assert r.json()["files"][0]["content"] == "m" * 1_000_000
    assert int(r.json()["headers"]["Content-Length"]) > 1_000_000


# Event hooks


async def test_hooks_of_request_and_response(dialect: Dialect, httpbin: Httpbin) -> None:
    told: list[Any] = []
    asked = dialect.coloured(lambda request: told.append((request.method, str(request.url))))
    heard = dialect.coloured(lambda response: told.append((response.status_code, response.request)))
    hooks = {"request": [asked], "response": [heard]}
    async with dialect.client(event_hooks=hooks) as client:
        for verb in ("GET", "POST"):
            told.clear()
            url = f"{httpbin.url}/anything"
            r = await client.request(verb, url)
            assert told == [(verb, url), (200, r.request)]


async def test_a_hook_is_called_once_for_each_hop(dialect: Dialect, httpbin: Httpbin) -> None:
    told: list[int] = []
    heard = dialect.coloured(lambda response: told.append(response.status_code))
    async with dialect.client(event_hooks={"response": [heard]}) as client:
        await client.get(f"{httpbin.url}/redirect/2", follow_redirects=True)
    assert told == [302, 302, 200]


async def test_a_hook_is_called_once_for_a_failure(
    dialect: Dialect, httpbin: Httpbin, clock: FakeClock
) -> None:
    told: list[Any] = []
    asked = dialect.coloured(lambda request: told.append(request.method))
    heard = dialect.coloured(lambda response: told.append(response.status_code))
    hooks = {"request": [asked], "response": [heard]}
    async with dialect.client(event_hooks=hooks) as client:
        await client.get(f"{httpbin.url}/status/503")
    assert told == ["GET", 503]


async def test_a_hook_that_raises_on_errors(dialect: Dialect, httpbin: Httpbin) -> None:
    check = dialect.coloured(lambda response: response.raise_for_status())
    async with dialect.client(event_hooks={"response": [check]}) as client:
        for verb in ("GET", "POST"):
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200
            with pytest.raises(dialect.lib.HTTPStatusError, match="404"):
                await client.request(verb, f"{httpbin.url}/status/404")
            r = await client.request(verb, f"{httpbin.url}/anything")
            assert r.json()["method"] == verb
    assert httpbin.connections <= 3  # an answer that a hook refuses is closed


async def test_a_hook_that_raises_before_anything_is_sent(
    dialect: Dialect, httpbin: Httpbin
) -> None:
    def refuse(request: Any) -> None:
        raise PermissionError("not on a Friday")

    hooks = {"request": [dialect.coloured(refuse)]}
    async with dialect.client(event_hooks=hooks) as client:
        for verb in ("GET", "POST"):
            with pytest.raises(PermissionError, match="not on a Friday"):
                await client.request(verb, f"{httpbin.url}/anything")
    assert httpbin.seen == []


async def test_a_hook_that_changes_the_request(dialect: Dialect, httpbin: Httpbin) -> None:
    stamp = dialect.coloured(lambda request: request.headers.update({"x-stamp": "now"}))
    async with dialect.client(event_hooks={"request": [stamp]}) as client:
        for verb in ("GET", "POST"):
            r = await client.request(verb, f"{httpbin.url}/anything")
            assert r.json()["headers"]["x-stamp"] == "now"


async def test_a_hook_that_reads_the_answer(dialect: Dialect, httpbin: Httpbin) -> None:
    told: list[bytes] = []

    def read(response: Any) -> None:
        told.append(response.read())

    async def aread(response: Any) -> None:
        told.append(await response.aread())

    hooks = {"response": [read if dialect.blocking else aread]}
    async with dialect.client(event_hooks=hooks) as client:
        for path in ("bytes/9", "stream/1"):
            r = await client.get(f"{httpbin.url}/{path}")
            assert told.pop() == r.content
        async with client.stream("GET", f"{httpbin.url}/stream/1") as r:
            assert told == [b'{"id": 0}\n']
            assert r.text == '{"id": 0}\n'


async def test_a_hook_that_makes_a_call_of_its_own(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client() as client:

        def call(response: Any) -> None:
            if response.request.url.path == "/post":
                told.append(client.client.get(f"{httpbin.url}/get"))

        async def acall(response: Any) -> None:
            if response.request.url.path == "/post":
                told.append(await client.get(f"{httpbin.url}/get"))

        told: list[Any] = []
        hooks = client.event_hooks
        client.event_hooks = hooks | {"response": [call if dialect.blocking else acall]}
        assert (await client.post(f"{httpbin.url}/post", json={"a": 1})).json()["json"] == {"a": 1}
    assert [each.json()["method"] for each in told] == ["GET"]


async def test_hooks_can_be_set_later(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    told: list[str] = []
    client.event_hooks["request"] = [dialect.coloured(lambda request: told.append("asked"))]
    assert client.event_hooks["response"] == []
    await client.get(f"{httpbin.url}/get")
    assert told == ["asked"]


# Text encodings


async def test_an_encoding_of_the_client(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(default_encoding="shift-jis") as client:
        for path in ("sjis", "sjis-stream"):
            r = await client.get(f"{httpbin.url}/{path}")
            assert (r.encoding, r.text) == ("shift-jis", "テスト")
        words = {"body": "é", "type": "text/plain; charset=utf-8"}
        r = await client.get(f"{httpbin.url}/text", params=words)
        assert (r.encoding, r.text) == ("utf-8", "é")


async def test_an_encoding_that_is_detected(dialect: Dialect, httpbin: Httpbin) -> None:
    seen = []

    def autodetect(content: bytes) -> str:
        seen.append(content)
        return "shift-jis"

    async with dialect.client(default_encoding=autodetect) as client:
        r = await client.get(f"{httpbin.url}/sjis")
        assert (r.text, seen[-1]) == ("テスト", r.content)
        async with client.stream("GET", f"{httpbin.url}/sjis") as r:
            assert [line async for line in r.aiter_lines()]


# Async support


def mounted() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=AsyncRecoverTransport(), trust_env=False)


async def fetched(url: str) -> list[str]:
    """One client, used in every way that the documentation shows."""
    found = []

    async def upload_bytes() -> AsyncIterator[bytes]:
        yield b"some"
        yield b"bytes"

    async with mounted() as client:
        found.append((await client.get(f"{url}/get")).json()["method"])
        async with client.stream("GET", f"{url}/stream/1") as r:
            found += [chunk async for chunk in r.aiter_text()]
        found.append((await client.post(f"{url}/post", content=upload_bytes())).json()["data"])
    return found


@pytest.mark.parametrize(
    "run",
    [
        lambda url: asyncio.run(fetched(url)),
        lambda url: trio.run(fetched, url),
        lambda url: anyio.run(fetched, url, backend="asyncio"),
        lambda url: anyio.run(fetched, url, backend="trio"),
    ],
    ids=["asyncio", "trio", "anyio on asyncio", "anyio on trio"],
)
def test_what_runs_an_async_client(httpbin: Httpbin, run: Any) -> None:
    assert run(httpbin.url) == ["GET", '{"id": 0}\n', "somebytes"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_many_calls_at_once(httpbin: Httpbin, backend: str) -> None:
    async def main() -> list[str]:
        found = []
        async with mounted() as client:

            async def one(verb: str) -> None:
                found.append((await client.request(verb, f"{httpbin.url}/anything")).json())

            async with anyio.create_task_group() as group:
                for verb in ("GET", "POST", "PUT", "DELETE") * 5:
                    group.start_soon(one, verb)
        return [each["method"] for each in found]

    found = anyio.run(main, backend=backend)
    assert sorted(found) == sorted(("GET", "POST", "PUT", "DELETE") * 5)
    assert len(httpbin.seen) == 20
