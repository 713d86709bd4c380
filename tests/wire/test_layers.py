"""Layers below a mount: what sends again by itself is refused by name, the rest is let be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import httpx2
import httpx_retries
import pytest
import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from httpx_recover import Policy, RecoverAdapter, RecoverTransport, UnknownOutcome, recover
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from tests.drivers import POLICY
from tests.faulty import FaultServer

ALLOWED = replace(POLICY, allow_inner_retries=True)


class Cache(httpx.BaseTransport):
    """A transport over another, as a cache is."""

    def __init__(self, inner: Any) -> None:
        self._next = {"kept": inner}
        self.transport = inner
        self.again = self  # a ring does no harm

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response: httpx.Response = self.transport.handle_request(request)
        return response


class TenacityTransport(httpx2.AsyncBaseTransport):
    """Named as pydantic-ai names its own."""


class HedgedAdapter(HTTPAdapter):
    """Sends twice and takes the first answer."""


RETRYING = {
    "httpx-retries": (httpx_retries.RetryTransport, "httpx_retries.transport.RetryTransport"),
    "below a cache": (
        lambda: Cache(httpx_retries.RetryTransport()),
        "httpx_retries.transport.RetryTransport",
    ),
    "a mount": (RecoverTransport, "httpx_recover.httpx.RecoverTransport"),
    "a mount below a cache": (
        lambda: Cache(RecoverTransport()),
        "httpx_recover.httpx.RecoverTransport",
    ),
}


@pytest.mark.parametrize("kind", RETRYING)
def test_a_layer_that_sends_again_by_itself_is_refused_by_name(kind: str) -> None:
    make, name = RETRYING[kind]
    with pytest.raises(ValueError, match="allow_inner_retries=True") as raised:
        RecoverTransport(make())
    assert name in str(raised.value)
    assert RecoverTransport(make(), policy=ALLOWED).policy is ALLOWED


def test_an_async_one_is_refused_too() -> None:
    with pytest.raises(ValueError, match=r"TenacityTransport sends again"):
        on_httpx2.AsyncRecoverTransport(TenacityTransport())
    with pytest.raises(ValueError, match=r"RetryTransport sends again"):
        on_httpx.AsyncRecoverTransport(httpx_retries.RetryTransport())


def test_a_client_that_is_refused_stays_as_it_was() -> None:
    mounts = {"all://": httpx.HTTPTransport(), "http://h.example": httpx_retries.RetryTransport()}
    with httpx.Client(mounts=mounts) as client:
        before = client._transport, dict(client._mounts)
        with pytest.raises(ValueError, match="RetryTransport sends again"):
            recover(client)
        assert (client._transport, dict(client._mounts)) == before


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_connect_retries_of_the_transport_itself_are_let_be(library: Any) -> None:
    mounts = on_httpx if library is httpx else on_httpx2
    assert mounts.RecoverTransport(library.HTTPTransport(retries=3))
    assert mounts.AsyncRecoverTransport(library.AsyncHTTPTransport(retries=3))
    assert mounts.RecoverTransport(retries=3)


def test_a_layer_that_is_allowed_sends_what_it_likes(server: FaultServer) -> None:
    below = httpx_retries.RetryTransport(retry=httpx_retries.Retry(total=2, backoff_factor=0.01))
    with httpx.Client(transport=RecoverTransport(below, policy=ALLOWED)) as client:
        assert client.put(f"{server.url}/503/a", json={"ref": "a"}).status_code == 200
    assert server.count("/503/a") == 2


def test_urllib3s_retry_is_switched_off_unless_it_is_allowed() -> None:
    retry = Retry(total=3)
    assert RecoverAdapter(max_retries=retry).max_retries is not retry
    assert RecoverAdapter(max_retries=retry, policy=ALLOWED).max_retries is retry
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=retry))
        recover(session, policy=ALLOWED)
        assert session.get_adapter("https://h.example").max_retries is retry  # type: ignore[attr-defined]


def test_an_adapter_that_sends_again_by_itself_is_refused() -> None:
    with requests.Session() as session:
        session.mount("https://", HedgedAdapter(max_retries=2))
        before = dict(session.adapters)
        with pytest.raises(ValueError, match=r"adapter=HedgedAdapter: .*HedgedAdapter sends again"):
            recover(session)
        assert dict(session.adapters) == before
        assert session.adapters["https://"].max_retries.total == 2  # type: ignore[attr-defined]
        recover(session, policy=ALLOWED)


def test_a_setting_that_is_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="allow_inner_retries='no': must be True or False"):
        Policy(allow_inner_retries="no")  # type: ignore[arg-type]


def test_a_client_with_our_transport_and_mounts_of_its_own_is_mended(server: FaultServer) -> None:
    """`transport=` with `mounts=` or `proxy=` sends past us until `recover` has seen the client."""
    mounts = {"http://": httpx.HTTPTransport(), "http://none.example": None}
    ours = RecoverTransport(policy=POLICY)
    with httpx.Client(transport=ours, mounts=mounts, timeout=0.2) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(f"{server.url}/cut_after/a")
        assert recover(client, policy=POLICY) is client
        held = list(client._mounts.values())
        assert client._transport is ours
        assert client.get(f"{server.url}/cut_after/b").status_code == 200
        with pytest.raises(UnknownOutcome):
            client.post(f"{server.url}/cut_after/c", json={})
        assert recover(client, policy=POLICY) is client
        assert list(client._mounts.values()) == held
        with pytest.raises(ValueError, match="other settings"):
            recover(client, policy=replace(POLICY, attempts=2))
