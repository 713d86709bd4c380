"""The examples of httpx's "Extensions": what a request and a response carry beside HTTP."""

from __future__ import annotations

import inspect
import ssl
from typing import Any
from uuid import uuid4

import pytest

from tests.breaking import Break, Wire
from tests.clients import Dialect
from tests.conftest import FakeClock
from tests.http2 import Http2
from tests.httpbin import Httpbin
from tests.proxies import Proxy
from tests.tls import NAMES, Authority, server_context
from tests.wire.stage import Stage

pytestmark = pytest.mark.anyio

VERBS = ("GET", "POST", "PUT")
EXCHANGE = (
    "http11.send_request_headers",
    "http11.send_request_body",
    "http11.receive_response_headers",
    "http11.receive_response_body",
    "http11.response_closed",
)


class Log:
    """A trace callback of the caller's own, in the colour of the client."""

    def __init__(self, dialect: Dialect) -> None:
        self.told: list[tuple[str, Any]] = []
        self.callback = dialect.coloured(lambda name, info: self.told.append((name, info)))

    def names(self) -> list[str]:
        return [name for name, _ in self.told]

    def took(self) -> list[str]:
        """The steps that began, each without its end."""
        ended = [name for name in self.names() if not name.endswith(".started")]
        assert all(name.endswith(".complete") for name in ended)
        return [name.removesuffix(".complete") for name in ended]


async def waited(value: Any) -> Any:
    """The result of a call that only some colours await."""
    return await value if inspect.isawaitable(value) else value


# The trace of a request


@pytest.mark.parametrize("verb", VERBS)
async def test_a_trace_sees_everything(
    dialect: Dialect, client: Any, httpbin: Httpbin, verb: str
) -> None:
    first, second = Log(dialect), Log(dialect)
    for log in (first, second):
        extensions = {"trace": log.callback}
        r = await client.request(verb, f"{httpbin.url}/anything", extensions=extensions)
        assert r.request.extensions["trace"] is log.callback
    assert first.took() == ["connection.connect_tcp", *EXCHANGE]
    assert second.took() == list(EXCHANGE)
    assert first.told[0][1]["host"] == "127.0.0.1"
    sent = dict(second.told)["http11.send_request_headers.started"]["request"]
    assert sent.method == verb.encode()
    answer = dict(second.told)["http11.receive_response_headers.complete"]["return_value"]
    assert answer[1:3] == (200, b"OK")


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_trace_of_a_stream_tells_when_its_body_ends(
    dialect: Dialect, client: Any, httpbin: Httpbin, verb: str
) -> None:
    log = Log(dialect)
    extensions = {"trace": log.callback}
    async with client.stream(verb, f"{httpbin.url}/stream/2", extensions=extensions) as r:
        assert log.took() == ["connection.connect_tcp", *EXCHANGE[:3]]
        await r.aread()
    assert log.took()[-2:] == list(EXCHANGE[3:])


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_trace_over_tls_and_a_tunnel(
    dialect: Dialect, secure: Httpbin, trusted: str, verb: str
) -> None:
    proxy, log = Proxy(), Log(dialect)
    context = ssl.create_default_context(cafile=trusted)
    async with dialect.client(proxy=proxy.url, verify=context) as client:
        extensions = {"trace": log.callback}
        await client.request(verb, f"{secure.url}/anything", extensions=extensions)
    proxy.close()
    took = log.took()
    assert took[0] == "connection.connect_tcp"
    assert took.count("http11.send_request_headers") == 2  # CONNECT is the first
    assert took[-5:] == list(EXCHANGE)
    assert any(name.endswith("start_tls") for name in took)


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_trace_of_the_second_version(
    dialect: Dialect, authority: Authority, trusted: str, verb: str
) -> None:
    server, log = Http2(server_context(authority.root.issue_cert(*NAMES))), Log(dialect)
    context = ssl.create_default_context(cafile=trusted)
    async with dialect.client(http2=True, verify=context) as client:
        await client.request(verb, server.url, extensions={"trace": log.callback})
    server.close()
    assert log.took().count("http2.send_request_headers") == 1
    assert dict(log.told)["http2.send_request_headers.started"]["stream_id"] == 1
    assert log.took()[-2:] == ["http2.receive_response_body", "http2.response_closed"]


@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_a_trace_sees_a_failure(
    dialect: Dialect, client: Any, httpbin: Httpbin, clock: FakeClock, verb: str
) -> None:
    log = Log(dialect)
    with pytest.raises(dialect.lib.RemoteProtocolError):
        extensions = {"trace": log.callback}
        await client.request(verb, f"{httpbin.url}/cut", extensions=extensions)
    failed = "http11.receive_response_headers.failed"
    assert log.names().count(failed) == (3 if verb == "GET" and dialect.way != "bare" else 1)
    assert "RemoteProtocolError" in type(dict(log.told)[failed]["exception"]).__name__


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "where", ["http11.send_request_headers.started", "http11.receive_response_headers.started"]
)
async def test_a_trace_that_raises_is_heard_and_nothing_is_sent_again(
    dialect: Dialect, client: Any, httpbin: Httpbin, clock: FakeClock, verb: str, where: str
) -> None:
    def trip(name: str, info: Any) -> None:
        if name == where:
            raise LookupError("a bug of the callback")

    path = f"/anything/{uuid4()}"  # the server may hear of it when the test is over
    with pytest.raises(LookupError, match="a bug of the callback"):
        extensions = {"trace": dialect.coloured(trip)}
        await client.request(verb, f"{httpbin.url}{path}", extensions=extensions)
    assert sum(each.target == path for each in httpbin.seen) <= 1
    assert clock.slept == []
    r = await client.get(f"{httpbin.url}/get")
    assert r.status_code == 200


# Other extensions of a request


@pytest.mark.parametrize("verb", VERBS)
async def test_another_name_for_tls(
    dialect: Dialect, stage: Stage, trusted: str, clock: FakeClock, verb: str
) -> None:
    server = stage.server(stage.authority.wrong_host)
    context = ssl.create_default_context(cafile=trusted)
    async with dialect.client(verify=context) as client:
        with pytest.raises(dialect.lib.ConnectError):
            await client.request(verb, server.url)
    async with dialect.client(verify=context) as client:
        headers = {"Host": "elsewhere.example"}
        extensions = {"sni_hostname": "elsewhere.example"}
        r = await client.request(verb, server.url, headers=headers, extensions=extensions)
        assert r.is_success
    assert [each.headers["host"] for each in server.read] == ["elsewhere.example"]


async def test_timeouts_as_an_extension(dialect: Dialect, client: Any, httpbin: Httpbin) -> None:
    timeout = {"connect": 5.0, "read": 0.02}
    with pytest.raises(dialect.lib.ReadTimeout):
        await client.post(f"{httpbin.url}/delay/0.3", extensions={"timeout": timeout})
    for verb in VERBS:
        extensions = {"timeout": {"connect": 5.0, "pool": 10.0}}
        request = dialect.lib.Request(verb, f"{httpbin.url}/anything", extensions=extensions)
        r = await client.send(request)
        assert r.request.extensions["timeout"] == {"connect": 5.0, "pool": 10.0}


async def test_a_target_of_ones_own(client: Any, httpbin: Httpbin) -> None:
    extensions = {"target": b"/anything/%7e?as=it+is"}
    for verb in VERBS:
        r = await client.request(verb, f"{httpbin.url}/replaced", extensions=extensions)
        assert r.json()["target"] == "/anything/%7e?as=it+is"


async def test_an_extension_that_nobody_knows(client: Any, httpbin: Httpbin) -> None:
    mine = object()
    for verb in VERBS:
        extensions = {"mine": mine}
        r = await client.request(verb, f"{httpbin.url}/anything", extensions=extensions)
        assert r.request.extensions["mine"] is mine
        assert extensions == {"mine": mine}


# Extensions of a response


def answering(*lines: str, body: bytes = b"") -> Break:
    """Answer with this very head."""

    def play(wire: Wire) -> bool:
        return wire.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    return play


@pytest.mark.parametrize("verb", VERBS)
async def test_the_version_and_the_reason(
    dialect: Dialect, client: Any, stage: Stage, verb: str
) -> None:
    teapot = answering("HTTP/1.0 299 Short And Stout", "Content-Length: 2", body=b"ok")
    server = stage.server(None, answer=[teapot])
    r = await client.request(verb, server.url)
    assert (r.extensions["http_version"], r.http_version) == (b"HTTP/1.0", "HTTP/1.0")
    assert (r.extensions["reason_phrase"], r.reason_phrase) == (
        b"Short And Stout",
        "Short And Stout",
    )
    assert r.text == "ok"


@pytest.mark.parametrize("verb", VERBS)
async def test_addresses_of_a_connection(client: Any, httpbin: Httpbin, verb: str) -> None:
    r = await client.request(verb, f"{httpbin.url}/anything")
    wire = r.extensions["network_stream"]
    assert wire.get_extra_info("server_addr")[:2] == ("127.0.0.1", httpbin.port)
    assert wire.get_extra_info("client_addr")[0] == "127.0.0.1"


@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize("path", ["stream/2", "anything"])
async def test_the_tls_of_a_connection(
    dialect: Dialect, secure: Httpbin, trusted: str, verb: str, path: str
) -> None:
    context = ssl.create_default_context(cafile=trusted)
    async with dialect.client(verify=context) as client:
        async with client.stream(verb, f"{secure.url}/{path}") as r:
            found = r.extensions["network_stream"].get_extra_info("ssl_object")
            assert found.version().startswith("TLSv1")
            await r.aread()


def switching(*headers: str) -> Break:
    """Change to another protocol, which says everything twice."""

    def play(wire: Wire) -> bool:
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: echo", "Connection: Upgrade"]
        answering(*lines, *headers)(wire)
        while data := wire.socket.recv(100):
            wire.send(data * 2)
        return False

    return play


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("length", [(), ("Content-Length: 0",)], ids=["no length", "length 0"])
async def test_an_upgrade_gives_the_connection_away(
    client: Any, stage: Stage, verb: str, length: tuple[str, ...]
) -> None:
    server = stage.server(None, answer=[switching(*length)])
    headers = {"Connection": "Upgrade", "Upgrade": "echo"}
    async with client.stream(verb, server.url, headers=headers) as r:
        assert (r.status_code, r.headers["upgrade"]) == (101, "echo")
        wire = r.extensions["network_stream"]
        for word in (b"ab", b"cd"):
            await waited(wire.write(word, timeout=5))
            assert await waited(wire.read(100, timeout=5)) == word * 2
    assert len(server.read) == 1


@pytest.mark.parametrize("length", [(), ("Content-Length: 0",)], ids=["no length", "length 0"])
async def test_a_tunnel_of_ones_own(
    client: Any, stage: Stage, secure: Httpbin, length: tuple[str, ...]
) -> None:
    """CONNECT by hand, and what is written to the tunnel."""

    def opened(wire: Wire) -> bool:
        answering("HTTP/1.1 200 Connection established", *length)(wire)
        while data := wire.socket.recv(100):
            wire.send(data.upper())
        return False

    server = stage.server(None, answer=[opened])
    extensions = {"target": f"127.0.0.1:{secure.port}".encode()}
    async with client.stream("CONNECT", server.url, extensions=extensions) as r:
        assert r.status_code == 200
        wire = r.extensions["network_stream"]
        await waited(wire.write(b"hello", timeout=5))
        assert await waited(wire.read(100, timeout=5)) == b"HELLO"
    assert [each.target for each in server.read] == [f"127.0.0.1:{secure.port}"]


async def test_tls_in_a_tunnel_of_ones_own(
    dialect: Dialect, client: Any, secure: Httpbin, trusted: str
) -> None:
    proxy = Proxy()
    context = ssl.create_default_context(cafile=trusted)
    extensions = {"target": f"127.0.0.1:{secure.port}".encode()}
    async with client.stream("CONNECT", proxy.url, extensions=extensions) as r:
        wire = await waited(
            r.extensions["network_stream"].start_tls(context, server_hostname="127.0.0.1")
        )
        await waited(wire.write(b"GET /get HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
        assert (await waited(wire.read(1000))).startswith(b"HTTP/1.1 200 OK")
        await waited(wire.close() if dialect.blocking else wire.aclose())
    proxy.close()
    assert [each.method for each in proxy.seen] == ["CONNECT"]
