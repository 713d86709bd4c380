"""Fixtures of the tests over real sockets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from ssl import CERT_OPTIONAL, PROTOCOL_TLS_SERVER, SSLContext

import pytest
import requests
import trustme

from httpx_recover._memory import MEMORY
from tests.faulty import FaultServer
from tests.httpbin import Httpbin
from tests.sessions import WAYS, dressed


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
def authority() -> trustme.CA:
    """Who signs the certificates of the tests."""
    return trustme.CA()


@pytest.fixture(scope="session")
def trusted(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of that authority's certificate."""
    path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture(scope="session")
def identity(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a client's certificate and key."""
    path = tmp_path_factory.mktemp("identity") / "client.pem"
    authority.issue_cert(
        "client", common_name="client"
    ).private_key_and_cert_chain_pem.write_to_path(str(path))
    return path


@pytest.fixture(scope="session")
def one_secure(authority: trustme.CA) -> Iterator[Httpbin]:
    context = SSLContext(PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = CERT_OPTIONAL
    server = Httpbin(context)
    yield server
    server.close()


@pytest.fixture
def secure(one_secure: Httpbin) -> Httpbin:
    """The server over TLS."""
    one_secure.fresh()
    return one_secure
