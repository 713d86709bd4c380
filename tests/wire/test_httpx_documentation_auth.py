"""The examples of httpx's "Authentication", with us underneath and without."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest

from httpx_recover import Policy, Rule, outcome, task
from tests.clients import Dialect
from tests.httpbin import Httpbin

pytestmark = pytest.mark.anyio

VERBS = ("GET", "POST", "PUT")


def auth_of(dialect: Dialect, *bases: type, **members: Any) -> Any:
    """An instance of a subclass of the library's Auth; the members are what a test writes."""
    return type("MyCustomAuth", (*bases, dialect.lib.Auth), members)()


# Basic authentication


async def test_basic_auth_of_a_client_and_of_a_request(dialect: Dialect, httpbin: Httpbin) -> None:
    auth = dialect.lib.BasicAuth(username="finley", password="secret")
    url = f"{httpbin.url}/basic-auth/finley/secret"
    async with dialect.client(auth=auth) as client:
        assert (await client.get(url)).json()["user"] == "finley"
    async with dialect.client() as client:
        assert (await client.post(url, auth=auth)).json()["user"] == "finley"
        assert (await client.get(url)).status_code == 401
    assert len(httpbin.seen) == 3


async def test_credentials_in_the_url(client: Any, httpbin: Httpbin) -> None:
    url = httpbin.url.replace("://", "://user:p%40ss@")
    for verb in VERBS:
        r = await client.request(verb, f"{url}/basic-auth/user/p%40ss")
        assert r.json()["user"] == "user"


# Digest authentication


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256", "SHA-512"])
async def test_digest_auth(dialect: Dialect, httpbin: Httpbin, verb: str, algorithm: str) -> None:
    auth = dialect.lib.DigestAuth(username="olivia", password="secret")
    async with dialect.client(auth=auth) as client:
        url = f"{httpbin.url}/digest-auth/olivia/secret/{algorithm}"
        r = await client.request(verb, url, content=b"words")
        assert (r.status_code, r.json()["data"]) == (200, "words")
        assert [each.status_code for each in r.history] == [401]
        again = await client.request(verb, url, content=b"more")
        assert (again.status_code, again.history, again.json()["data"]) == (200, [], "more")
    assert [each.body for each in httpbin.seen] == [b"words", b"words", b"more"]


async def test_a_wrong_password_is_asked_for_once(dialect: Dialect, httpbin: Httpbin) -> None:
    auth = dialect.lib.DigestAuth("olivia", "wrong")
    async with dialect.client(auth=auth) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/digest-auth/olivia/secret")
            assert (r.status_code, r.content) == (401, b"please")
    assert len(httpbin.seen) == 6


@pytest.mark.parametrize("status", ["302", "307"])
async def test_credentials_over_a_redirect(dialect: Dialect, httpbin: Httpbin, status: str) -> None:
    async with dialect.client(auth=("olivia", "secret"), follow_redirects=True) as client:
        query = {"url": "/basic-auth/olivia/secret", "status": status}
        r = await client.post(f"{httpbin.url}/redirect-to", params=query, content=b"words")
    sent = "words" if status == "307" else ""
    assert (r.status_code, r.json()["data"]) == (200, sent)


async def test_a_digest_in_a_named_task_is_no_loop(dialect: Dialect, httpbin: Httpbin) -> None:
    auth = dialect.lib.DigestAuth("olivia", "secret")
    url = f"{httpbin.url}/digest-auth/olivia/secret"
    with task("sign in") as t:
        for number in range(4):
            async with dialect.client(auth=auth) as client:
                r = await client.post(url, json={"n": number})
                assert r.status_code == 200
    if dialect.way != "bare":
        assert (t.report().status, t.report().failed, t.report().unknown) == ("done", (), ())


# NetRC authentication


async def test_netrc(
    dialect: Dialect, httpbin: Httpbin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1\nlogin example-username\npassword example-password\n")
    auth = dialect.lib.NetRCAuth(file=str(file))
    url = f"{httpbin.url}/basic-auth/example-username/example-password"
    async with dialect.client(auth=auth) as client:
        for verb in VERBS:
            assert (await client.request(verb, url)).status_code == 200
        told = (await client.get(f"{httpbin.other}/headers")).json()["headers"]
        assert "Authorization" not in told  # another host
    monkeypatch.setenv("NETRC", str(file))
    async with dialect.client() as client:  # without NetRCAuth the variable says nothing
        assert (await client.get(url)).status_code == 401


# Custom authentication schemes


async def test_a_callable(dialect: Dialect, httpbin: Httpbin) -> None:
    def bearer(request: Any) -> Any:
        request.headers["Authorization"] = "Bearer token"
        return request

    async with dialect.client(auth=bearer) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/anything")
            assert r.json()["headers"]["Authorization"] == "Bearer token"


async def test_a_header_of_ones_own(dialect: Dialect, httpbin: Httpbin) -> None:
    def auth_flow(self: Any, request: Any) -> Iterator[Any]:
        request.headers["X-Authentication"] = "token"
        yield request

    async with dialect.client(auth=auth_of(dialect, auth_flow=auth_flow)) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/anything", content=b"words")
            assert r.json()["headers"]["X-Authentication"] == "token"
            assert r.json()["data"] == "words"


def on_401(self: Any, request: Any) -> Iterator[Any]:
    """The documentation's second example: credentials only when they are asked for."""
    response = yield request
    if response.status_code == 401:
        request.headers["X-Authentication"] = "token"
        yield request


@pytest.mark.parametrize("verb", VERBS)
async def test_credentials_only_after_a_401(dialect: Dialect, httpbin: Httpbin, verb: str) -> None:
    async with dialect.client(auth=auth_of(dialect, auth_flow=on_401)) as client:
        for _ in range(2):
            r = await client.request(verb, f"{httpbin.url}/token/token", content=b"words")
            assert (r.status_code, r.json()["data"]) == (200, "words")
            assert [each.status_code for each in r.history] == [401]
    assert [each.body for each in httpbin.seen] == [b"words"] * 4
    keys = [each.header("Idempotency-Key") for each in httpbin.seen]
    if verb == "POST" and dialect.way != "bare":
        assert keys[0] is not None and keys[2] is not None
        assert keys[0] != keys[2]  # two calls are two actions


async def test_a_signature_over_the_body(dialect: Dialect, httpbin: Httpbin) -> None:
    def auth_flow(self: Any, request: Any) -> Iterator[Any]:
        request.headers["X-Signature"] = sha256(request.content).hexdigest()
        yield request

    auth = auth_of(dialect, requires_request_body=True, auth_flow=auth_flow)
    async with dialect.client(auth=auth) as client:
        for verb in VERBS:
            body = dialect.body(b"some ", b"words")
            r = await client.request(verb, f"{httpbin.url}/anything", content=body)
            signature = sha256(b"some words").hexdigest()
            assert r.json()["headers"]["X-Signature"] == signature
            assert r.json()["data"] == "some words"
    assert [each.body for each in httpbin.seen] == [b"some words"] * 3


def refreshing(dialect: Dialect, httpbin: Httpbin) -> Any:
    """The documentation's fourth example: a token that is refreshed when it is refused."""

    def auth_flow(self: Any, request: Any) -> Iterator[Any]:
        request.headers["X-Authentication"] = self.access_token
        response = yield request
        if response.status_code == 401:
            assert response.json() == {"error": "a token, please"}
            refresh = dialect.lib.Request("POST", f"{httpbin.url}/post", data={"token": "fresh"})
            self.access_token = (yield refresh).json()["form"]["token"]
            request.headers["X-Authentication"] = self.access_token
            yield request

    return auth_of(dialect, requires_response_body=True, access_token="stale", auth_flow=auth_flow)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_token_is_refreshed(dialect: Dialect, httpbin: Httpbin, verb: str) -> None:
    async with dialect.client(auth=refreshing(dialect, httpbin)) as client:
        for number in range(2):
            r = await client.request(verb, f"{httpbin.url}/token/fresh", json={"n": number})
            assert (r.status_code, r.json()["json"]) == (200, {"n": number})
    paths = [each.target for each in httpbin.seen]
    assert paths == ["/token/fresh", "/post", "/token/fresh", "/token/fresh"]


async def test_a_token_refreshed_in_a_named_task_is_no_loop(
    dialect: Dialect, httpbin: Httpbin
) -> None:
    with task("refresh") as t:
        for _ in range(4):
            async with dialect.client(auth=refreshing(dialect, httpbin)) as client:
                r = await client.put(f"{httpbin.url}/token/fresh", json={})
                assert r.status_code == 200
    if dialect.way != "bare":
        assert (t.report().status, t.report().failed, t.report().unknown) == ("done", (), ())


async def test_flows_of_each_colour(dialect: Dialect, httpbin: Httpbin) -> None:
    told = []
    lock, alock = threading.RLock(), anyio.Lock()

    def sync_auth_flow(self: Any, request: Any) -> Iterator[Any]:
        with lock:
            request.headers["Authorization"] = "Token sync"
        told.append((yield request).status_code)

    async def async_auth_flow(self: Any, request: Any) -> AsyncIterator[Any]:
        async with alock:
            request.headers["Authorization"] = "Token async"
        told.append((yield request).status_code)  # type: ignore[misc] # what the client sends in

    auth = auth_of(dialect, sync_auth_flow=sync_auth_flow, async_auth_flow=async_auth_flow)
    async with dialect.client(auth=auth) as client:
        for verb in VERBS:
            r = await client.request(verb, f"{httpbin.url}/anything")
            colour = "sync" if dialect.blocking else "async"
            assert r.json()["headers"]["Authorization"] == f"Token {colour}"
    assert told == [200, 200, 200]


async def test_a_flow_that_raises(dialect: Dialect, httpbin: Httpbin) -> None:
    def auth_flow(self: Any, request: Any) -> Iterator[Any]:
        yield request
        raise RuntimeError("cannot use it here")

    async with dialect.client(auth=auth_of(dialect, auth_flow=auth_flow)) as client:
        for verb in VERBS:
            with pytest.raises(RuntimeError, match="cannot use it here"):
                await client.request(verb, f"{httpbin.url}/anything")
        assert (await client.get(f"{httpbin.url}/get", auth=None)).status_code == 200


async def test_a_flow_sees_the_last_answer_once(dialect: Dialect, httpbin: Httpbin) -> None:
    """What recovery does below is not shown to the flow: it sees how the call ended."""
    told = []

    def auth_flow(self: Any, request: Any) -> Iterator[Any]:
        told.append((yield request).status_code)

    recovery = {"policy": Policy(backoff=(0.0,), jitter=0.0)}
    auth = auth_of(dialect, auth_flow=auth_flow)
    async with dialect.client(auth=auth, recovery=recovery) as client:
        r = await client.get(f"{httpbin.url}/flaky/1")
    ours = dialect.way != "bare"
    assert (r.status_code, told) == ((200, [200]) if ours else (503, [503]))
    assert len(httpbin.seen) == (2 if ours else 1)


async def test_digest_requests_are_not_resent_unsigned(dialect: Dialect, httpbin: Httpbin) -> None:
    """A digest is good for one request: a POST that failed is handed over, not repeated."""
    auth = dialect.lib.DigestAuth("olivia", "secret")
    recovery = {
        "policy": Policy(backoff=(0.0,), jitter=0.0),
        "rules": [Rule("POST /**", dedupes=True)],
    }
    async with dialect.client(auth=auth, recovery=recovery) as client:
        await client.post(f"{httpbin.url}/digest-auth/olivia/secret")
        httpbin.fresh()
        r = await client.post(f"{httpbin.url}/status/503", content=json.dumps({}))
    assert (r.status_code, len(httpbin.seen)) == (503, 1)
    found = outcome(r)
    assert found is None or found.applied.name == "UNKNOWN"
