"""The examples of httpx's "Transports": its own, those of others, and which one a URL goes to."""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.breaking import BreakingServer
from tests.clients import Dialect
from tests.conftest import FakeClock
from tests.httpbin import Httpbin
from tests.proxies import Proxy
from tests.wire.stage import Stage

pytestmark = pytest.mark.anyio

VERBS = ("GET", "POST", "PUT")
Answer = Callable[[Any], Any]


def custom(dialect: Dialect, answer: Answer, **members: Any) -> Any:
    """A transport of one's own, in the colour of the dialect."""
    bases = (dialect.lib.BaseTransport, dialect.lib.AsyncBaseTransport)
    kind = bases[0 if dialect.blocking else 1]

    def handle_request(self: Any, request: Any) -> Any:
        return answer(request)

    async def handle_async_request(self: Any, request: Any) -> Any:
        return answer(request)

    handlers = {"handle_request": handle_request, "handle_async_request": handle_async_request}
    return type("Custom", (kind,), handlers | members)()


# HTTP transports


async def test_a_local_address(dialect: Dialect, httpbin: Httpbin) -> None:
    transport = dialect.own(local_address="0.0.0.0")
    async with dialect.client(transport=transport) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/anything")
            assert r.json()["method"] == verb


async def test_retries_of_the_connection(dialect: Dialect, stage: Stage, clock: FakeClock) -> None:
    server = stage.server(None)
    async with dialect.client(transport=dialect.own(retries=1)) as client:
        for verb in VERBS:
            assert (await client.request(verb, server.url)).is_success
    assert clock.slept == []


async def test_options_of_the_socket(dialect: Dialect, httpbin: Httpbin) -> None:
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    async with dialect.client(transport=dialect.own(socket_options=options)) as client:
        async with client.stream("GET", f"{httpbin.url}/stream/1") as r:
            found = r.extensions["network_stream"].get_extra_info("socket")
            assert found.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            await r.aread()


class OnFile(BreakingServer):
    """A server on a Unix domain socket."""

    def __init__(self, path: Path) -> None:
        super().__init__(state="down")
        self.socket.close()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.mend()


@pytest.fixture
def on_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OnFile]:
    monkeypatch.chdir(tmp_path)  # the name of such a socket must be short
    server = OnFile(Path("docker.sock"))
    yield server
    server.close()


async def test_a_unix_domain_socket(dialect: Dialect, on_file: OnFile) -> None:
    async with dialect.client(transport=dialect.own(uds="docker.sock")) as client:
        for verb in VERBS:
            r = await client.request(verb, "http://docker/info", content=b"words")
            assert r.json() == {"got": 5}
    assert [(each.method, each.headers["host"]) for each in on_file.read] == [
        (verb, "docker") for verb in VERBS
    ]


# Applications that are called directly


def wsgi(environ: Any, start_response: Any) -> list[bytes]:
    if environ["PATH_INFO"] == "/boom":
        try:
            raise RuntimeError("a bug of the application")
        except RuntimeError:
            start_response("500 Internal Server Error", [], sys.exc_info())
            return [b"sorry"]
    start_response("200 OK", [("Content-Type", "text/plain")])
    body = environ["wsgi.input"].read()
    told = f"Hello {environ['REMOTE_ADDR']} {environ['SCRIPT_NAME']} {body.decode()}"
    return [told.encode()]


async def asgi(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/boom":
        raise RuntimeError("a bug of the application")
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    headers = [(b"content-type", b"text/plain")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    told = f"Hello {scope['client'][0]} {scope['root_path']} {body.decode()}"
    await send({"type": "http.response.body", "body": told.encode()})


def application(dialect: Dialect, **settings: Any) -> Any:
    """The transport that calls an application of the dialect's colour, which sees the settings."""
    if dialect.blocking:
        named = {"root": "script_name", "address": "remote_addr"}
        settings = {named.get(name, name): value for name, value in settings.items()}
        return dialect.lib.WSGITransport(app=wsgi, **settings)
    if "root" in settings:
        settings = settings | {"root_path": settings["root"], "client": (settings["address"], 123)}
    settings = {n: v for n, v in settings.items() if n not in ("root", "address")}
    return dialect.lib.ASGITransport(app=asgi, **settings)


async def test_an_application_is_called(dialect: Dialect) -> None:
    transport = application(dialect, root="/sub", address="1.2.3.4")
    async with dialect.client(transport=transport, base_url="http://testserver") as client:
        for verb in VERBS:
            r = await client.request(verb, "/", content=b"words")
            assert (r.status_code, r.text) == (200, "Hello 1.2.3.4 /sub words")
            body = dialect.body(b"more ", b"words")
            assert (await client.request(verb, "/", content=body)).text.endswith("more words")
        async with client.stream("GET", "/") as r:
            assert [line async for line in r.aiter_lines()] == ["Hello 1.2.3.4 /sub "]


async def test_a_bug_of_an_application_is_raised_once(dialect: Dialect, clock: FakeClock) -> None:
    async with dialect.client(transport=application(dialect)) as client:
        for verb in VERBS:
            with pytest.raises(RuntimeError, match="a bug of the application"):
                await client.request(verb, "http://testserver/boom")
    assert clock.slept == []


async def test_a_bug_of_an_application_can_be_an_answer(dialect: Dialect) -> None:
    transport = application(dialect, raise_app_exceptions=False)
    async with dialect.client(transport=transport) as client:
        assert (await client.post("http://testserver/boom")).status_code == 500


# Custom transports


async def test_a_transport_that_says_hello(dialect: Dialect) -> None:
    told = {"text": "Hello, world!"}
    transport = custom(dialect, lambda request: dialect.lib.Response(200, json=told))
    async with dialect.client(transport=transport) as client:
        for verb in VERBS:
            r = await client.request(verb, "https://example.org/")
            assert (r.json(), r.request.method) == (told, verb)
            async with client.stream(verb, "https://example.org/") as r:
                await r.aread()
                assert r.json() == told


async def test_a_transport_that_redirects(dialect: Dialect, httpbin: Httpbin) -> None:
    def to_loopback(request: Any) -> Any:
        url = f"{httpbin.url}{request.url.path}"
        return dialect.lib.Response(303, headers={"Location": url})

    mounts = {"http://": dialect.own(), "https://": custom(dialect, to_loopback)}
    async with dialect.client(mounts=mounts, follow_redirects=True) as client:
        for verb in VERBS:
            r = await client.request(verb, "https://example.org/get")
            assert (str(r.url), r.json()["method"]) == (f"{httpbin.url}/get", "GET")


async def test_a_transport_around_the_librarys_own(dialect: Dialect, httpbin: Httpbin) -> None:
    log: list[str] = []

    class Debugging(dialect.lib.BaseTransport):  # type: ignore[misc,name-defined] # of a library
        def __init__(self, **kwargs: Any) -> None:
            self._wrapper = dialect.lib.HTTPTransport(**kwargs)

        def handle_request(self, request: Any) -> Any:
            log.append(f">>> {request}")
            response = self._wrapper.handle_request(request)
            log.append(f"<<< {response}")
            return response

        def close(self) -> None:
            log.append("closed")
            self._wrapper.close()

    class AsyncDebugging(dialect.lib.AsyncBaseTransport):  # type: ignore[misc,name-defined] # same
        def __init__(self, **kwargs: Any) -> None:
            self._wrapper = dialect.lib.AsyncHTTPTransport(**kwargs)

        async def handle_async_request(self, request: Any) -> Any:
            log.append(f">>> {request}")
            response = await self._wrapper.handle_async_request(request)
            log.append(f"<<< {response}")
            return response

        async def aclose(self) -> None:
            log.append("closed")
            await self._wrapper.aclose()

    kind = Debugging if dialect.blocking else AsyncDebugging
    async with dialect.client(transport=kind(verify=False)) as client:
        for verb in VERBS:
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200
    each = [line for verb in VERBS for line in (f">>> <Request('{verb}', ", "<<< <Response [200")]
    assert [line[: len(start)] for line, start in zip(log, [*each, "closed"], strict=True)] == [
        *each,
        "closed",
    ]


async def test_one_proxy_after_the_other(dialect: Dialect, httpbin: Httpbin) -> None:
    proxies = [Proxy(), Proxy()]
    below = [dialect.own(proxy=dialect.lib.Proxy(each.url)) for each in proxies]
    turn = iter(below * 3)

    async def ahandle(self: Any, request: Any) -> Any:
        return await next(turn).handle_async_request(request)

    async def aclose(self: Any) -> None:
        for each in below:
            await each.aclose()

    def close(self: Any) -> None:
        for each in below:
            each.close()

    robin = custom(
        dialect,
        lambda request: next(turn).handle_request(request),
        close=close,
        aclose=aclose,
        **({} if dialect.blocking else {"handle_async_request": ahandle}),
    )
    async with dialect.client(transport=robin) as client:
        for verb in ("GET", "POST", "PUT", "GET"):
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200
    for each in proxies:
        each.close()
    assert [[seen.method for seen in each.seen] for each in proxies] == [
        ["GET", "PUT"],
        ["POST", "GET"],
    ]


# Mock transports


async def test_a_mock_transport(dialect: Dialect) -> None:
    def handler(request: Any) -> Any:
        if request.url.path == "/missing":
            return dialect.lib.Response(404, text="nothing here")
        told = {"method": request.method, "body": request.content.decode()}
        return dialect.lib.Response(200, json=told)

    async with dialect.client(transport=dialect.lib.MockTransport(handler)) as client:
        for verb in VERBS:
            r = await client.request(verb, "https://example.org/", json={"a": 1})
            assert r.json()["method"] == verb
            assert "a" in r.json()["body"]
            assert (await client.request(verb, "https://example.org/missing")).status_code == 404


async def test_a_mock_transport_that_raises(dialect: Dialect, clock: FakeClock) -> None:
    calls: list[str] = []

    def handler(request: Any) -> Any:
        calls.append(request.method)
        raise dialect.lib.ConnectTimeout("no route", request=request)

    async with dialect.client(transport=dialect.lib.MockTransport(handler)) as client:
        with pytest.raises(dialect.lib.ConnectTimeout, match="no route"):
            await client.get("https://example.org/")
    assert calls == ["GET"] * (1 if dialect.way == "bare" else 3)


# Mounting and routing


class Routes:
    """Transports that answer with their names."""

    def __init__(self, dialect: Dialect, *patterns: str, none: tuple[str, ...] = ()) -> None:
        self.dialect = dialect
        self.mounts: dict[str, Any] = {each: self.named(each) for each in patterns}
        self.mounts |= dict.fromkeys(none)

    def named(self, name: str) -> Any:
        lib = self.dialect.lib
        return lib.MockTransport(lambda request: lib.Response(200, text=name))

    async def taken(self, *urls: str) -> list[str]:
        """Which transport each URL is routed to, reading and writing."""
        found = []
        transport = self.named("the client's own")
        async with self.dialect.client(transport=transport, mounts=self.mounts) as client:
            for url in urls:
                r = await client.get(url)
                assert (await client.post(url, json={})).text == r.text
                found.append(r.text)
        return found


async def test_routes_by_scheme(dialect: Dialect) -> None:
    routes = Routes(dialect, "http://", "https://", "fake://")
    found = await routes.taken("http://example.com", "https://example.com", "fake://x/y")
    assert found == ["http://", "https://", "fake://"]


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("all://", ("http://a.example", "https://b.example:1"), ()),
        ("all://example.com", ("http://example.com", "https://example.com"), ("http://other.com",)),
        ("http://example.com", ("http://example.com",), ("https://example.com",)),
        ("all://*example.com", ("http://example.com", "http://www.example.com"), ("http://x.com",)),
        ("all://*.example.com", ("https://www.example.com",), ("https://example.com",)),
        ("https://example.com:1234", ("https://example.com:1234",), ("https://example.com",)),
        ("all://*:1234", ("http://a.com:1234", "https://b.com:1234"), ("http://a.com",)),
    ],
)
async def test_routes_by_host_and_port(
    dialect: Dialect, pattern: str, yes: tuple[str, ...], no: tuple[str, ...]
) -> None:
    found = await Routes(dialect, pattern).taken(*yes, *no)
    assert found == [pattern] * len(yes) + ["the client's own"] * len(no)


async def test_a_route_that_is_none(dialect: Dialect) -> None:
    routes = Routes(dialect, "all://", none=("all://example.com",))
    found = await routes.taken("http://example.com", "http://other.com")
    assert found == ["the client's own", "all://"]


async def test_the_most_specific_route_wins(dialect: Dialect) -> None:
    patterns = ("all://", "all://*example.com", "http://internal.example.com:5550")
    found = await Routes(dialect, *patterns, none=("https://domain.io",)).taken(
        "http://elsewhere.org",
        "https://domain.io",
        "http://domain.io",
        "https://www.example.com",
        "http://internal.example.com:5550",
        "https://internal.example.com:5550",
    )
    assert found == [
        "all://",
        "the client's own",
        "all://",
        "all://*example.com",
        "http://internal.example.com:5550",
        "all://*example.com",
    ]


async def test_one_host_is_mocked(dialect: Dialect, httpbin: Httpbin) -> None:
    told = {"text": "Hello, World!"}
    mock = dialect.lib.MockTransport(lambda request: dialect.lib.Response(200, json=told))
    async with dialect.client(mounts={"all://example.org": mock}) as client:
        for verb in VERBS:
            assert (await client.request(verb, "https://example.org/")).json() == told
            r = await client.request(verb, f"{httpbin.url}/anything")
            assert r.json()["method"] == verb


async def test_a_scheme_of_ones_own(dialect: Dialect, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>page")

    def read(request: Any) -> Any:
        page = tmp_path / request.url.path.removeprefix("/")
        if not page.exists():
            return dialect.lib.Response(404)
        return dialect.lib.Response(200, content=page.read_bytes())

    async with dialect.client(mounts={"file://": custom(dialect, read)}) as client:
        assert (await client.get("file://localhost/index.html")).text == "<p>page"
        assert (await client.get("file://localhost/other.html")).status_code == 404


# Logging


async def test_the_librarys_own_log(
    dialect: Dialect, client: Any, httpbin: Httpbin, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger=dialect.lib.__name__):
        await client.post(f"{httpbin.url}/post", json={})
    told = [each.getMessage() for each in caplog.records if each.name == dialect.lib.__name__]
    assert told == [f'HTTP Request: POST {httpbin.url}/post "HTTP/1.1 200 OK"']
