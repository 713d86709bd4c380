"""Fixtures of the tests over real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from ssl import CERT_OPTIONAL
from typing import Any

import pytest
import requests

from httpx_recover._memory import MEMORY
from tests.clients import DIALECTS, Dialect
from tests.faulty import FaultServer
from tests.httpbin import Httpbin
from tests.sessions import WAYS, dressed
from tests.tls import NAMES, Authority, server_context
from tests.wire.stage import Stage


@pytest.fixture
def server() -> Iterator[FaultServer]:
    MEMORY.clear()
    server = FaultServer()
    yield server
    server.close()
    MEMORY.clear()


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How a session is made, in an environment that says nothing of proxies and passwords."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", "no-such-file")
    return str(request.param)


@pytest.fixture
def session(way: str) -> Iterator[requests.Session]:
    with dressed(way, requests.Session()) as session:
        yield session


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest, way: str) -> Dialect:
    """How a client of httpx or httpx2 is made."""
    return Dialect(request.param, way)


@pytest.fixture
def anyio_backend(dialect: Dialect) -> str:
    """What runs a test that is written for every dialect."""
    return "trio" if dialect.colour == "trio" else "asyncio"


@pytest.fixture
async def client(dialect: Dialect) -> AsyncIterator[Any]:
    """A client without settings of its own."""
    async with dialect.client() as client:
        yield client


@pytest.fixture(scope="session")
def one_httpbin() -> Iterator[Httpbin]:
    server = Httpbin()
    yield server
    server.close()


@pytest.fixture
def httpbin(one_httpbin: Httpbin) -> Httpbin:
    one_httpbin.fresh()
    return one_httpbin


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Who signs the certificates of the tests."""
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def stage(authority: Authority) -> Iterator[Stage]:
    """Makes servers and proxies that break by script."""
    stage = Stage(authority)
    with stage.ends:
        yield stage


@pytest.fixture(scope="session")
def trusted(authority: Authority) -> str:
    """The file of that authority's certificate."""
    return authority.bundle


@pytest.fixture(scope="session")
def identity(authority: Authority) -> Path:
    """The file of a client's certificate and key."""
    return Path(authority.client)


@pytest.fixture(scope="session")
def one_secure(authority: Authority) -> Iterator[Httpbin]:
    context = server_context(authority.root.issue_cert(*NAMES))
    authority.root.configure_trust(context)
    context.verify_mode = CERT_OPTIONAL
    server = Httpbin(context)
    yield server
    server.close()


@pytest.fixture
def secure(one_secure: Httpbin) -> Httpbin:
    """The server over TLS."""
    one_secure.fresh()
    return one_secure
