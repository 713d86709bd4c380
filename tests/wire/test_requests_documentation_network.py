"""The examples of requests' "Advanced Usage" on certificates, proxies and transport adapters."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool
from urllib3.exceptions import InsecureRequestWarning
from urllib3.poolmanager import PoolManager
from urllib3.util import Retry

from tests.conftest import FakeClock
from tests.httpbin import Httpbin
from tests.proxies import Proxy, Socks
from tests.sessions import adapter_class, under

# SSL certificates


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
def test_an_authority_of_ones_own(
    session: requests.Session, secure: Httpbin, trusted: str, verb: str
) -> None:
    r = session.request(verb, f"{secure.url}/anything", data="x", verify=trusted)
    assert (r.json()["method"], r.json()["data"]) == (verb, "x")


def test_an_authority_of_the_session(
    session: requests.Session, secure: Httpbin, trusted: str
) -> None:
    session.verify = trusted
    for _ in range(2):
        assert session.get(f"{secure.url}/redirect/1").status_code == 200
    assert secure.connections == 1


@pytest.mark.parametrize("name", ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_an_authority_of_the_environment(
    session: requests.Session,
    secure: Httpbin,
    trusted: str,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setenv(name, trusted)
    assert session.get(f"{secure.url}/get").status_code == 200
    session.trust_env = False
    with pytest.raises(requests.exceptions.SSLError):
        session.get(f"{secure.url}/get")


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_an_unknown_authority(session: requests.Session, secure: Httpbin, verb: str) -> None:
    with pytest.raises(requests.exceptions.SSLError, match="CERTIFICATE_VERIFY_FAILED") as caught:
        session.request(verb, f"{secure.url}/anything")
    assert isinstance(caught.value, requests.ConnectionError)
    assert (secure.connections, secure.seen) == (1, [])


def test_no_authority_at_all(session: requests.Session, secure: Httpbin) -> None:
    for verb in ("GET", "POST"):
        with pytest.warns(InsecureRequestWarning, match="Unverified HTTPS request"):
            assert session.request(verb, f"{secure.url}/anything", verify=False).ok


def test_a_bundle_that_is_not_there(
    session: requests.Session, secure: Httpbin, clock: FakeClock
) -> None:
    with pytest.raises(OSError, match="Could not find a suitable TLS CA certificate bundle"):
        session.get(f"{secure.url}/get", verify="no-such-file")
    with pytest.raises(OSError, match="Could not find the TLS certificate file"):
        session.get(f"{secure.url}/get", cert="no-such-file")
    assert clock.slept == []  # asking again does not bring the file


def test_a_certificate_of_the_client(
    session: requests.Session, secure: Httpbin, trusted: str, identity: Path
) -> None:
    session.verify = trusted
    url = f"{secure.url}/certificate"
    assert session.get(url).json() == {"name": None}
    assert session.get(url, cert=str(identity)).json() == {"name": "client"}
    assert session.post(url, cert=(str(identity), str(identity))).json() == {"name": "client"}
    session.cert = str(identity)
    assert session.get(url).json() == {"name": "client"}


def test_plain_http_to_a_secure_port(session: requests.Session, secure: Httpbin) -> None:
    with pytest.raises(requests.exceptions.ConnectionError):
        session.post(secure.url.replace("https", "http") + "/post", timeout=5)


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


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
def test_a_proxy_of_one_request(
    session: requests.Session, httpbin: Httpbin, proxy: Proxy, verb: str
) -> None:
    url = f"{httpbin.url}/anything?a=b"
    r = session.request(verb, url, proxies={"http": proxy.url}, data={"c": "d"})
    assert r.json()["headers"]["X-Forwarded-By"] == "proxy"
    assert (r.json()["form"], r.json()["args"]) == ({"c": "d"}, {"a": "b"})
    assert proxy.seen[0].target == url
    assert "X-Forwarded-By" not in session.get(url).json()["headers"]


def test_a_proxy_of_the_session(session: requests.Session, httpbin: Httpbin, proxy: Proxy) -> None:
    session.proxies.update({"http": proxy.url, "https": proxy.url})
    assert session.get(f"{httpbin.url}/redirect/1").json()["headers"]["X-Forwarded-By"]
    assert (len(proxy.seen), proxy.connections) == (2, 1)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment(
    session: requests.Session,
    httpbin: Httpbin,
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setenv(name, proxy.url)
    assert "X-Forwarded-By" in session.get(f"{httpbin.url}/get").json()["headers"]
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert "X-Forwarded-By" not in session.get(f"{httpbin.url}/get").json()["headers"]


def test_a_proxy_for_one_host(session: requests.Session, httpbin: Httpbin, proxy: Proxy) -> None:
    session.proxies = {"http://127.0.0.1": proxy.url}
    assert "X-Forwarded-By" in session.get(f"{httpbin.url}/get").json()["headers"]
    assert "X-Forwarded-By" not in session.get(f"{httpbin.other}/get").json()["headers"]


def test_a_proxy_with_a_password(
    session: requests.Session, httpbin: Httpbin, guarded: Proxy
) -> None:
    url = f"http://user:p%40ss@{guarded.address}/"
    r = session.get(f"{httpbin.url}/get", proxies={"http": url})
    assert r.json()["headers"]["X-Forwarded-By"] == "proxy"
    assert "Proxy-Authorization" not in r.json()["headers"]
    assert session.get(f"{httpbin.url}/get", proxies={"http": guarded.url}).status_code == 407


@pytest.mark.parametrize("verb", ["GET", "POST", "PUT"])
def test_https_through_a_tunnel(
    session: requests.Session, secure: Httpbin, proxy: Proxy, trusted: str, verb: str
) -> None:
    for _ in range(2):
        r = session.request(
            verb, f"{secure.url}/anything", data="x", proxies={"https": proxy.url}, verify=trusted
        )
        assert r.json()["data"] == "x"
    assert [(each.method, each.target) for each in proxy.seen] == [
        ("CONNECT", f"127.0.0.1:{secure.port}")
    ]


def test_a_tunnel_of_the_environment(
    session: requests.Session,
    secure: Httpbin,
    proxy: Proxy,
    trusted: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    assert session.get(f"{secure.url}/get", verify=trusted).status_code == 200
    assert len(proxy.seen) == 1


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_tunnel_with_a_password(
    session: requests.Session, secure: Httpbin, guarded: Proxy, trusted: str, verb: str
) -> None:
    session.verify = trusted
    url = f"http://user:p%40ss@{guarded.address}/"
    r = session.request(verb, f"{secure.url}/anything", proxies={"https": url})
    assert "Proxy-Authorization" not in r.json()["headers"]
    with pytest.raises(requests.exceptions.ProxyError, match="407"):
        session.request(verb, f"{secure.url}/anything", proxies={"https": guarded.url})
    assert len(secure.seen) == 1


@pytest.mark.usefixtures("clock")
def test_a_proxy_that_is_not_there(session: requests.Session, httpbin: Httpbin) -> None:
    gone = Proxy()
    gone.close()
    for verb in ("GET", "POST"):
        with pytest.raises(requests.exceptions.ProxyError, match="Unable to connect to proxy"):
            session.request(verb, f"{httpbin.url}/anything", proxies={"http": gone.url})


def test_what_is_no_proxy(session: requests.Session, httpbin: Httpbin) -> None:
    with pytest.raises(requests.exceptions.InvalidProxyURL):
        session.get(f"{httpbin.url}/get", proxies={"http": "http:///nothing"})


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_socks(
    session: requests.Session,
    httpbin: Httpbin,
    secure: Httpbin,
    trusted: str,
    scheme: str,
    verb: str,
) -> None:
    socks = Socks()
    url = f"{scheme}://user:pass@{socks.address}"
    proxies = {"http": url, "https": url}
    for server in (httpbin, secure):
        r = session.request(
            verb, f"{server.url}/anything", data="x", proxies=proxies, verify=trusted
        )
        assert r.json()["data"] == "x"
    assert [each[:2] for each in socks.seen] == [(b"user", b"pass")] * 2
    session.close()
    socks.close()


# Transport adapters of one's own


def opened(way: str, adapter: HTTPAdapter, prefix: str = "https://") -> requests.Session:
    session = requests.Session()
    session.mount(prefix, adapter)
    return under(way, session)


def test_a_context_of_ones_own(way: str, secure: Httpbin, trusted: str) -> None:
    class Private(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """Brings its own TLS context, which trusts the authority of the tests."""

        def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
            kwargs["ssl_context"] = ssl.create_default_context(cafile=trusted)
            super().init_poolmanager(*args, **kwargs)

    with opened(way, Private()) as session:
        for verb in ("GET", "POST"):
            assert session.request(verb, f"{secure.url}/anything").json()["method"] == verb


def test_a_pool_of_ones_own(way: str, secure: Httpbin, trusted: str) -> None:
    class Newest(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """The example of the documentation: a manager with a version of TLS."""

        def init_poolmanager(self, connections: int, maxsize: int, block: bool = False) -> None:
            self.poolmanager = PoolManager(
                num_pools=connections,
                maxsize=maxsize,
                block=block,
                ssl_minimum_version=ssl.TLSVersion.TLSv1_3,
            )

    with opened(way, Newest()) as session:
        r = session.post(f"{secure.url}/post", data={"a": "b"}, verify=trusted)
        assert r.json()["form"] == {"a": "b"}


def test_a_send_of_ones_own(way: str, httpbin: Httpbin) -> None:
    class Patient(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """Has a timeout where the caller gave none."""

        def send(self, request: Any, **kwargs: Any) -> requests.Response:
            kwargs["timeout"] = kwargs.get("timeout") or 0.05
            return super().send(request, **kwargs)

    with opened(way, Patient(), "http://") as session:
        assert session.get(f"{httpbin.url}/get").status_code == 200
        with pytest.raises(requests.exceptions.ReadTimeout):
            session.post(f"{httpbin.url}/delay/0.3")


def test_headers_of_ones_own(way: str, httpbin: Httpbin) -> None:
    class Signed(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """Adds a header to everything that is sent."""

        def add_headers(self, request: Any, **kwargs: Any) -> None:
            request.headers["X-Signed"] = "yes"

    with opened(way, Signed(), "http://") as session:
        for verb in ("GET", "POST"):
            answer = session.request(verb, f"{httpbin.url}/anything").json()
            assert answer["headers"]["X-Signed"] == "yes"


def test_an_answer_of_ones_own(way: str, httpbin: Httpbin) -> None:
    class Marked(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """Marks the answers that it builds."""

        def build_response(self, req: Any, resp: Any) -> requests.Response:
            response = super().build_response(req, resp)
            response.marked = True
            return response

    with opened(way, Marked(), "http://") as session:
        assert session.get(f"{httpbin.url}/get").marked
        assert session.put(f"{httpbin.url}/put").marked


def test_a_connection_of_ones_own(way: str, httpbin: Httpbin) -> None:
    class Always(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """Whatever the URL says, this server is asked."""

        def get_connection_with_tls_context(self, *args: Any, **kwargs: Any) -> Any:
            return pool

    with HTTPConnectionPool("127.0.0.1", httpbin.port) as pool:
        with opened(way, Always(), "http://") as session:
            for verb in ("GET", "POST"):
                answer = session.request(verb, "http://nobody.invalid/anything")
                assert answer.json()["method"] == verb


def test_methods_of_ones_own(way: str) -> None:
    class Polite(adapter_class(way)):  # type: ignore[misc] # one of two classes
        """Is asked by others."""

        def proxy_headers(self, proxy: str) -> dict[str, str]:
            return {"X-Polite": proxy}

    with opened(way, Polite()) as session:
        assert session.get_adapter("https://x/").proxy_headers("p") == {"X-Polite": "p"}


def test_a_pool_made_anew(way: str, secure: Httpbin, trusted: str) -> None:
    with opened(way, adapter_class(way)()) as session:
        context = ssl.create_default_context(cafile=trusted)
        session.get_adapter("https://").init_poolmanager(1, 1, ssl_context=context)
        assert session.get(f"{secure.url}/get").status_code == 200


def test_a_pool_of_one_connection(way: str, httpbin: Httpbin) -> None:
    adapter = adapter_class(way)(pool_connections=1, pool_maxsize=1, pool_block=True)
    with opened(way, adapter, "http://") as session:
        for verb in ("GET", "POST", "GET"):
            assert session.request(verb, f"{httpbin.url}/anything").status_code == 200
    assert httpbin.connections == 1


@pytest.mark.usefixtures("clock")
def test_retries_of_urllib3(way: str, httpbin: Httpbin) -> None:
    retries = Retry(total=2, backoff_factor=0.01, status_forcelist=[503])
    with opened(way, adapter_class(way)(max_retries=retries), "http://") as session:
        r = session.get(f"{httpbin.url}/flaky/2")
    assert (r.status_code, len(httpbin.seen)) == (200, 3)
