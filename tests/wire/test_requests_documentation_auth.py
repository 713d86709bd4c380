"""The examples of requests' "Advanced Usage" on event hooks and authentication."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.auth import AuthBase, HTTPBasicAuth, HTTPDigestAuth

from tests.httpbin import Httpbin
from tests.sessions import without_key

# Event hooks


def test_a_hook_of_one_request(session: requests.Session, httpbin: Httpbin) -> None:
    seen = []

    def print_url(r: requests.Response, *args: Any, **kwargs: Any) -> None:
        seen.append(r.url)

    session.get(f"{httpbin.url}/get", hooks={"response": print_url})
    session.get(f"{httpbin.url}/get")
    assert seen == [f"{httpbin.url}/get"]


def test_many_hooks_in_their_order(session: requests.Session, httpbin: Httpbin) -> None:
    def record(r: requests.Response, *args: Any, **kwargs: Any) -> requests.Response:
        r.hook_called = True
        return r

    told = []
    hooks = {"response": [record, lambda r, **_: told.append(r.hook_called)]}
    assert session.get(f"{httpbin.url}/get", hooks=hooks).hook_called
    assert told == [True]


def test_a_hook_of_the_session(session: requests.Session, httpbin: Httpbin) -> None:
    seen = []
    session.hooks["response"].append(lambda r, **_: seen.append(r.status_code))
    session.get(f"{httpbin.url}/get")
    session.post(f"{httpbin.url}/post")
    assert seen == [200, 200]


def test_a_hook_is_called_for_every_hop(session: requests.Session, httpbin: Httpbin) -> None:
    seen = []
    session.hooks["response"].append(lambda r, **_: seen.append(r.status_code))
    session.get(f"{httpbin.url}/redirect/2")
    assert sorted(seen) == [200, 302, 302]


@pytest.mark.usefixtures("clock")
def test_a_hook_is_called_once_for_a_failure(session: requests.Session, httpbin: Httpbin) -> None:
    seen = []
    session.hooks["response"].append(lambda r, **_: seen.append(r.status_code))
    session.get(f"{httpbin.url}/status/503")
    assert seen == [503]


def test_a_hook_replaces_the_answer(session: requests.Session, httpbin: Httpbin) -> None:
    other = requests.Response()
    other.status_code, other._content = 299, b"other"
    r = session.get(f"{httpbin.url}/get", hooks={"response": lambda r, **_: other})
    assert (r.status_code, r.content) == (299, b"other")


def test_what_a_hook_is_told(session: requests.Session, httpbin: Httpbin) -> None:
    told: list[dict[str, Any]] = []
    hooks = {"response": lambda r, *args, **kwargs: told.append({**kwargs, "args": args})}
    session.get(f"{httpbin.url}/get", hooks=hooks, timeout=(3, 5), verify=False)
    assert [(name, told[0][name]) for name in ("args", "timeout", "verify", "stream", "cert")] == [
        ("args", ()),
        ("timeout", (3, 5)),
        ("verify", False),
        ("stream", False),
        ("cert", None),
    ]
    assert not told[0]["proxies"]


def test_a_hook_that_raises(session: requests.Session, httpbin: Httpbin) -> None:
    def check(r: requests.Response, *args: Any, **kwargs: Any) -> None:
        r.raise_for_status()

    session.hooks["response"].append(check)
    assert session.get(f"{httpbin.url}/get").ok
    with pytest.raises(requests.HTTPError, match="404"):
        session.get(f"{httpbin.url}/status/404")


def test_a_hook_that_asks_again(session: requests.Session, httpbin: Httpbin) -> None:
    def renew(r: requests.Response, *args: Any, **kwargs: Any) -> requests.Response | None:
        if r.status_code != 401:
            return None
        r.request.headers["Authorization"] = "Basic dXNlcjpwYXNz"
        return session.send(r.request, **kwargs)

    session.hooks["response"].append(renew)
    assert session.post(f"{httpbin.url}/basic-auth/user/pass", data="x").json()["data"] == "x"
    assert len(httpbin.seen) == 2


# Authentication


class PizzaAuth(AuthBase):
    """Attaches a header to the request."""

    def __init__(self, username: str) -> None:
        self.username = username

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        r.headers["X-Pizza"] = self.username
        return r


def test_authentication_of_ones_own(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/headers", auth=PizzaAuth("kenneth"))
    assert r.json()["headers"]["X-Pizza"] == "kenneth"
    session.auth = PizzaAuth("of the session")
    r = session.post(f"{httpbin.url}/post", data={"a": "b"})
    assert r.json()["headers"]["X-Pizza"] == "of the session"


class BodyAuth(AuthBase):
    """Signs by changing the body."""

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        r.body = f"{r.body}&signed=1"
        return r


def test_authentication_that_changes_the_body(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.post(f"{httpbin.url}/post", data={"a": "b"}, auth=BodyAuth())
    assert r.json()["form"] == {"a": "b", "signed": "1"}


@pytest.mark.parametrize("auth", [("user", "pass"), HTTPBasicAuth("user", "pass")])
def test_basic_authentication(session: requests.Session, httpbin: Httpbin, auth: Any) -> None:
    url = f"{httpbin.url}/basic-auth/user/pass"
    assert session.get(url, auth=auth).json()["authenticated"]
    assert session.post(url, auth=auth, json={"a": 1}).json()["json"] == {"a": 1}
    session.auth = auth
    assert session.get(url).json()["authenticated"]


def test_credentials_in_the_url(session: requests.Session, httpbin: Httpbin) -> None:
    url = httpbin.url.replace("//", "//user:pass@") + "/basic-auth/user/pass"
    assert session.get(url).status_code == 200
    assert httpbin.seen[0].target == "/basic-auth/user/pass"


def test_a_wrong_password(session: requests.Session, httpbin: Httpbin) -> None:
    r = session.get(f"{httpbin.url}/basic-auth/user/pass", auth=("user", "wrong"))
    assert (r.status_code, r.reason) == (requests.codes.unauthorized, "Unauthorized")
    assert (r.headers["WWW-Authenticate"], len(httpbin.seen)) == ('Basic realm="fake"', 1)


@pytest.fixture
def netrc(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a password, after `way` has pointed to none."""
    path = tmp_path / "netrc"
    path.write_text("machine 127.0.0.1 login user password pass\n")
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))
    return path


@pytest.mark.usefixtures("netrc")
def test_netrc(session: requests.Session, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/basic-auth/user/pass"
    assert session.get(url).json()["authenticated"]
    assert session.get(url, headers={"Authorization": "mine"}).json()["authenticated"]
    assert session.get(url, auth=("user", "wrong")).status_code == 401
    session.trust_env = False
    assert session.get(url).status_code == 401


# Digest authentication

ALGORITHMS = ["MD5", "SHA-256", "SHA-512"]
BODIES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "form": (lambda: {"data": {"a": "b"}}, "a=b"),
    "json": (lambda: {"json": {"a": 1}}, '{"a": 1}'),
    "bytes": (lambda: {"data": b"bytes"}, "bytes"),
    "file": (lambda: {"data": io.BytesIO(b"file")}, "file"),
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_digest_authentication(session: requests.Session, httpbin: Httpbin, algorithm: str) -> None:
    url = f"{httpbin.url}/digest-auth/user/pass/{algorithm}?a=b"
    r = session.get(url, auth=HTTPDigestAuth("user", "pass"))
    assert r.json()["authenticated"]
    assert [each.status_code for each in r.history] == [401]
    assert (len(httpbin.seen), httpbin.connections) == (2, 1)


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH"])
@pytest.mark.parametrize("name", BODIES)
def test_a_body_under_digest_authentication(
    session: requests.Session, httpbin: Httpbin, verb: str, name: str
) -> None:
    body, words = BODIES[name]
    url = f"{httpbin.url}/digest-auth/user/pass"
    r = session.request(verb, url, auth=HTTPDigestAuth("user", "pass"), **body())
    assert r.json()["authenticated"]
    assert [each.body.decode() for each in httpbin.seen] == [words, words]
    assert r.request.headers["Authorization"].startswith("Digest ")


def test_digest_of_the_session_counts_its_nonce(
    session: requests.Session, httpbin: Httpbin
) -> None:
    session.auth = HTTPDigestAuth("user", "pass")
    url = f"{httpbin.url}/digest-auth/user/pass"
    assert [session.get(url).status_code for _ in range(3)] == [200] * 3
    assert session.post(url, data="x").json()["data"] == "x"
    counts = [(each.header("Authorization") or "").partition("nc=")[2][:8] for each in httpbin.seen]
    assert counts == ["", "00000001", "00000002", "00000003", "00000004"]


def test_digest_with_a_wrong_password(session: requests.Session, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/digest-auth/user/pass"
    for verb in ("GET", "POST"):
        r = session.request(verb, url, auth=HTTPDigestAuth("user", "wrong"), data="x")
        assert (r.status_code, r.content) == (401, b"please")
    assert len(httpbin.seen) == 4


def test_digest_through_a_redirect(session: requests.Session, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/redirect-to?url=/digest-auth/user/pass"
    r = session.get(url, auth=HTTPDigestAuth("user", "pass"))
    assert r.json()["authenticated"]


def test_digest_with_a_stream(session: requests.Session, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/digest-auth/user/pass"
    with session.get(url, auth=HTTPDigestAuth("user", "pass"), stream=True) as r:
        assert b"authenticated" in b"".join(r.iter_content(7))


def test_digest_keeps_the_headers(session: requests.Session, httpbin: Httpbin) -> None:
    url = f"{httpbin.url}/digest-auth/user/pass"
    session.post(url, auth=HTTPDigestAuth("user", "pass"), json={"a": 1}, headers={"X-A": "a"})
    one, two = (without_key(dict(each.headers)) for each in httpbin.seen)
    assert two.pop("Authorization")
    assert one == two


def test_a_generator_under_digest_authentication(
    session: requests.Session, httpbin: Httpbin
) -> None:
    def once() -> Iterator[bytes]:
        yield b"once"

    url = f"{httpbin.url}/digest-auth/user/pass"
    r = session.post(url, data=once(), auth=HTTPDigestAuth("user", "pass"))
    assert r.status_code == 200
    assert [each.body for each in httpbin.seen] == [b"once", b""]
