"""The examples of httpx's "SSL", "Proxies", "Timeouts", "Resource Limits" and "HTTP/2"."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.breaking import BIG, deaf
from tests.clients import Dialect
from tests.conftest import FakeClock
from tests.http2 import Http2
from tests.httpbin import Httpbin
from tests.proxies import Proxy, Socks
from tests.tls import NAMES, Authority, server_context
from tests.wire.stage import Stage

pytestmark = pytest.mark.anyio

VERBS = ("GET", "POST", "PUT")


@pytest.fixture(scope="session")
def trusting(trusted: str) -> ssl.SSLContext:
    """A context of a client that trusts the authority of the tests."""
    return ssl.create_default_context(cafile=trusted)


# SSL


async def test_a_context_of_ones_own(
    dialect: Dialect, secure: Httpbin, trusting: ssl.SSLContext
) -> None:
    async with dialect.client(verify=trusting) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{secure.url}/anything", content=b"x")
            assert (r.json()["method"], r.json()["data"]) == (verb, "x")
    assert secure.connections == 1


async def test_an_authority_of_the_environment(
    dialect: Dialect, secure: Httpbin, trusted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", trusted)
    async with dialect.client(verify=True) as client:
        assert (await client.post(f"{secure.url}/post")).status_code == 200


@pytest.mark.parametrize("kind", ["untrusted", "wrong_host", "expired"])
async def test_a_certificate_that_fails(
    dialect: Dialect,
    stage: Stage,
    trusting: ssl.SSLContext,
    clock: FakeClock,
    kind: str,
) -> None:
    server = stage.server(getattr(stage.authority, kind))
    # trio's error says nothing of why
    words = None if dialect.colour == "trio" else "CERTIFICATE_VERIFY_FAILED"
    async with dialect.client(verify=trusting) as client:
        for verb in ("GET", "POST"):
            with pytest.raises(dialect.lib.ConnectError, match=words):
                await client.request(verb, server.url)
    assert (clock.slept, server.connections) == ([], 2)  # asking again does not mend it
    async with dialect.client(verify=False) as client:
        for verb in ("GET", "POST"):
            assert (await client.request(verb, server.url)).is_success


async def test_a_certificate_of_the_client(
    dialect: Dialect, secure: Httpbin, trusted: str, identity: Path
) -> None:
    context = ssl.create_default_context(cafile=trusted)
    async with dialect.client(verify=context) as client:
        assert (await client.get(f"{secure.url}/certificate")).json() == {"name": None}
    context.load_cert_chain(certfile=str(identity))
    async with dialect.client(verify=context) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{secure.url}/certificate")
            assert r.json() == {"name": "client"}


@pytest.mark.filterwarnings("ignore:.*is deprecated:DeprecationWarning")
async def test_a_certificate_by_its_file(
    dialect: Dialect, secure: Httpbin, trusted: str, identity: Path
) -> None:
    context = ssl.create_default_context(cafile=trusted)
    for cert in (str(identity), (str(identity), str(identity))):
        async with dialect.client(verify=context, cert=cert) as client:
            r = await client.post(f"{secure.url}/certificate")
            assert r.json() == {"name": "client"}


async def test_plain_http_to_a_secure_port(
    dialect: Dialect, client: Any, secure: Httpbin, clock: FakeClock
) -> None:
    with pytest.raises(dialect.lib.TransportError):
        await client.post(secure.url.replace("https", "http") + "/post")


# Proxies


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    proxy = Proxy()
    yield proxy
    proxy.close()


@pytest.fixture
def guarded() -> Iterator[Proxy]:
    proxy = Proxy("user:p@ss")
    yield proxy
    proxy.close()


@pytest.mark.parametrize("verb", VERBS)
async def test_a_proxy_that_forwards(
    dialect: Dialect, httpbin: Httpbin, proxy: Proxy, verb: str
) -> None:
    async with dialect.client(proxy=proxy.url) as client:
        r = await client.request(verb, f"{httpbin.url}/anything?a=b", data={"c": "d"})
    assert r.json()["headers"]["X-Forwarded-By"] == "proxy"
    assert r.json()["args"] == {"a": "b"}
    assert proxy.seen[0].target == f"{httpbin.url}/anything?a=b"


@pytest.mark.parametrize("verb", VERBS)
async def test_a_proxy_that_tunnels(
    dialect: Dialect, secure: Httpbin, proxy: Proxy, trusting: ssl.SSLContext, verb: str
) -> None:
    async with dialect.client(proxy=proxy.url, verify=trusting) as client:
        for _ in range(2):
            r = await client.request(verb, f"{secure.url}/anything", content=b"x")
            assert r.json()["data"] == "x"
    assert [(each.method, each.target) for each in proxy.seen] == [
        ("CONNECT", f"127.0.0.1:{secure.port}")
    ]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_proxy_with_a_password(
    dialect: Dialect,
    httpbin: Httpbin,
    secure: Httpbin,
    guarded: Proxy,
    trusting: ssl.SSLContext,
    verb: str,
) -> None:
    url = f"http://user:p%40ss@{guarded.address}"
    async with dialect.client(proxy=url, verify=trusting) as client:
        for server in (httpbin, secure):
            r = await client.request(verb, f"{server.url}/anything")
            assert r.json()["method"] == verb
            assert "Proxy-Authorization" not in r.json()["headers"]
    auth = dialect.lib.Proxy(guarded.url, auth=("user", "p@ss"))
    async with dialect.client(proxy=auth) as client:
        assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200


async def test_a_proxy_that_refuses(
    dialect: Dialect,
    httpbin: Httpbin,
    secure: Httpbin,
    guarded: Proxy,
    trusting: ssl.SSLContext,
    clock: FakeClock,
) -> None:
    async with dialect.client(proxy=guarded.url, verify=trusting) as client:
        for verb in ("GET", "POST"):
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 407
            with pytest.raises(dialect.lib.ProxyError, match="407"):
                await client.request(verb, f"{secure.url}/anything")
    assert (httpbin.seen, secure.seen, clock.slept) == ([], [], [])


async def test_a_proxy_over_tls(
    dialect: Dialect, httpbin: Httpbin, stage: Stage, trusting: ssl.SSLContext
) -> None:
    over_tls = stage.proxy(stage.authority.good)
    proxy = dialect.lib.Proxy(over_tls.url, ssl_context=trusting)
    async with dialect.client(proxy=proxy) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/anything", content=b"x")
            assert r.json()["data"] == "x"
    assert len(over_tls.seen) == 3


async def test_headers_for_the_proxy(dialect: Dialect, httpbin: Httpbin, proxy: Proxy) -> None:
    settings = dialect.lib.Proxy(proxy.url, headers={"X-For-The-Proxy": "1"})
    async with dialect.client(proxy=settings) as client:
        assert (await client.post(f"{httpbin.url}/post")).status_code == 200
    assert proxy.seen[0].header("X-For-The-Proxy") == "1"


async def test_a_proxy_for_each_scheme(
    dialect: Dialect,
    httpbin: Httpbin,
    secure: Httpbin,
    proxy: Proxy,
    guarded: Proxy,
    trusting: ssl.SSLContext,
) -> None:
    url = f"http://user:p%40ss@{guarded.address}"
    mounts = {
        "http://": dialect.own(proxy=proxy.url),
        "https://": dialect.own(proxy=url, verify=trusting),
    }
    async with dialect.client(mounts=mounts) as client:
        for verb in ("GET", "POST"):
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200
            assert (await client.request(verb, f"{secure.url}/anything")).status_code == 200
    assert [each.method for each in proxy.seen] == ["GET", "POST"]
    assert [each.method for each in guarded.seen] == ["CONNECT"]


async def test_socks(
    dialect: Dialect, httpbin: Httpbin, secure: Httpbin, trusting: ssl.SSLContext
) -> None:
    socks = Socks()
    settings = {"proxy": f"socks5://user:pass@{socks.address}", "verify": trusting}
    async with dialect.client(**settings) as client:
        for server in (httpbin, secure):
            for verb in VERBS:
                r = await client.request(verb, f"{server.url}/anything", content=b"x")
                assert (r.json()["method"], r.json()["data"]) == (verb, "x")
    socks.close()
    assert [each[:2] for each in socks.seen] == [(b"user", b"pass")] * 2


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_of_the_environment(
    dialect: Dialect, httpbin: Httpbin, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, proxy.url)
    kept = dialect.way != "mounted"  # a client with transport= takes no proxy from there
    async with dialect.client() as client:
        for verb in VERBS:
            told = (await client.request(verb, f"{httpbin.url}/anything")).json()["headers"]
            assert ("X-Forwarded-By" in told) is kept
    async with dialect.client(trust_env=False) as client:
        assert "X-Forwarded-By" not in (await client.get(f"{httpbin.url}/get")).json()["headers"]
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with dialect.client() as client:
        told = (await client.get(f"{httpbin.url}/get")).json()["headers"]
        assert "X-Forwarded-By" not in told
        told = (await client.get(f"{httpbin.other}/get")).json()["headers"]
        assert ("X-Forwarded-By" in told) is kept
    assert len(proxy.seen) == (4 if kept else 0)


async def test_a_tunnel_of_the_environment(
    dialect: Dialect,
    secure: Httpbin,
    proxy: Proxy,
    trusting: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    async with dialect.client(verify=trusting) as client:
        assert (await client.post(f"{secure.url}/post")).status_code == 200
    assert len(proxy.seen) == (0 if dialect.way == "mounted" else 1)


async def test_a_proxy_that_is_not_there(
    dialect: Dialect, httpbin: Httpbin, clock: FakeClock
) -> None:
    gone = Proxy()
    gone.close()
    async with dialect.client(proxy=gone.url) as client:
        for verb in ("GET", "POST"):
            with pytest.raises(dialect.lib.ConnectError):
                await client.request(verb, f"{httpbin.url}/anything")
    assert httpbin.seen == []


# Timeouts


async def test_a_timeout_of_the_client(dialect: Dialect, httpbin: Httpbin) -> None:
    async with dialect.client(timeout=0.1) as client:
        with pytest.raises(dialect.lib.ReadTimeout):
            await client.post(f"{httpbin.url}/delay/0.5")
        r = await client.post(f"{httpbin.url}/delay/0.05", timeout=None)
        assert r.status_code == 200


async def test_timeouts_are_told_by_phase(dialect: Dialect, httpbin: Httpbin) -> None:
    timeout = dialect.lib.Timeout(10.0, connect=60.0, pool=None)
    async with dialect.client(timeout=timeout) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/anything")
            told = {"connect": 60.0, "read": 10.0, "write": 10.0, "pool": None}
            assert r.request.extensions["timeout"] == told


async def test_a_connect_timeout(dialect: Dialect, stage: Stage, clock: FakeClock) -> None:
    full = stage.server(None, state="full")
    timeout = dialect.lib.Timeout(5.0, connect=0.03)
    async with dialect.client(timeout=timeout) as client:
        for verb in ("GET", "POST"):
            with pytest.raises(dialect.lib.ConnectTimeout) as caught:
                await client.request(verb, full.url)
            assert isinstance(caught.value, dialect.lib.TimeoutException)


async def test_a_write_timeout(dialect: Dialect, stage: Stage) -> None:
    server = stage.server(None, meet=[deaf])
    timeout = dialect.lib.Timeout(5.0, write=0.05)
    async with dialect.client(timeout=timeout) as client:
        with pytest.raises(dialect.lib.WriteTimeout):
            await client.post(server.url, content=BIG)
    assert server.connections == 1


async def test_a_pool_timeout(dialect: Dialect, httpbin: Httpbin, clock: FakeClock) -> None:
    limits = dialect.lib.Limits(max_connections=1)
    timeout = dialect.lib.Timeout(5.0, pool=0.02)
    async with dialect.client(limits=limits, timeout=timeout) as client:
        async with client.stream("GET", f"{httpbin.url}/stream/2") as r:
            for verb in ("GET", "POST"):
                with pytest.raises(dialect.lib.PoolTimeout):
                    await client.request(verb, f"{httpbin.url}/anything")
            await r.aread()
        assert (await client.post(f"{httpbin.url}/post")).status_code == 200
    assert (httpbin.connections, len(httpbin.seen)) == (1, 2)


# Resource limits


async def test_no_connection_is_kept(dialect: Dialect, httpbin: Httpbin) -> None:
    limits = dialect.lib.Limits(max_keepalive_connections=0)
    async with dialect.client(limits=limits) as client:
        for verb in VERBS:
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200
    assert httpbin.connections == 3


async def test_a_kept_connection_expires(dialect: Dialect, httpbin: Httpbin) -> None:
    limits = dialect.lib.Limits(keepalive_expiry=0.01)
    async with dialect.client(limits=limits) as client:
        for verb in ("GET", "POST"):
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200
            await anyio.sleep(0.05)
    assert httpbin.connections == 2


async def test_many_calls_share_few_connections(dialect: Dialect, httpbin: Httpbin) -> None:
    limits = dialect.lib.Limits(max_connections=2)
    async with dialect.client(limits=limits) as client:

        async def one(verb: str) -> None:
            assert (await client.request(verb, f"{httpbin.url}/anything")).status_code == 200

        async with anyio.create_task_group() as group:
            for verb in VERBS * 4:
                group.start_soon(one, verb)
    assert httpbin.connections <= 2
    assert len(httpbin.seen) == 12


# HTTP/2


@pytest.fixture(scope="session")
def one_http2(authority: Authority) -> Iterator[Http2]:
    server = Http2(server_context(authority.root.issue_cert(*NAMES)))
    yield server
    server.close()


@pytest.fixture
def http2(one_http2: Http2) -> Http2:
    one_http2.fresh()
    return one_http2


async def test_the_second_version(dialect: Dialect, http2: Http2, trusting: ssl.SSLContext) -> None:
    async with dialect.client(http2=True, verify=trusting) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{http2.url}/anything", content=b"x" * 100_000)
            assert (r.http_version, r.extensions["http_version"]) == ("HTTP/2", b"HTTP/2")
            assert r.json() == {"method": verb, "size": 100_000}
    assert (http2.connections, len(http2.seen)) == (1, 3)


async def test_streams_of_the_second_version(
    dialect: Dialect, http2: Http2, trusting: ssl.SSLContext
) -> None:
    found = []
    async with dialect.client(http2=True, http1=False, verify=trusting) as client:

        async def one(verb: str) -> None:
            async with client.stream(verb, f"{http2.url}/anything") as r:
                found.append(r.extensions["stream_id"])
                await r.aread()

        await one("GET")
        async with anyio.create_task_group() as group:
            for verb in VERBS * 3:
                group.start_soon(one, verb)
    assert sorted(found) == list(range(1, 21, 2))
    assert http2.connections == 1


async def test_the_second_version_through_a_tunnel(
    dialect: Dialect, http2: Http2, proxy: Proxy, trusting: ssl.SSLContext
) -> None:
    async with dialect.client(http2=True, proxy=proxy.url, verify=trusting) as client:
        for verb in ("GET", "POST"):
            assert (await client.request(verb, f"{http2.url}/x")).http_version == "HTTP/2"
    assert [each.method for each in proxy.seen] == ["CONNECT"]


async def test_who_does_not_ask_for_the_second_version(
    dialect: Dialect, secure: Httpbin, trusting: ssl.SSLContext
) -> None:
    for http2 in (False, True):
        async with dialect.client(http2=http2, verify=trusting) as client:
            assert (await client.post(f"{secure.url}/post")).http_version == "HTTP/1.1"
