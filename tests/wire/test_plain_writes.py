"""Writes outside a task, most of which succeed at once: little is made of them, nothing lost."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
import requests
import trio

from httpx_recover import Rule, UnknownOutcome, outcome
from httpx_recover import httpx as on_httpx
from httpx_recover.requests import RecoverAdapter
from tests.drivers import DRIVERS, POLICY, Session, run_calls
from tests.faulty import FaultServer, respond

KEYED_PUT = Rule("PUT /**", dedupes=True)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_success_tells_all_that_there_is(server: FaultServer, driver: str, method: str) -> None:
    call = (method, f"{server.url}/fine/a", {"json": {"ref": "a"}})
    [answer] = run_calls(driver, [call], rules=[KEYED_PUT])
    told = outcome(answer)
    assert told is not None
    assert (told.failure, told.applied, told.facts["sends"]) == ("ok", "yes", 1)
    assert told.key == server.seen[0].headers["idempotency-key"]
    assert told.verified_by == f"answer {answer.status_code}"


def test_the_callers_own_key_is_told_too(server: FaultServer) -> None:
    for driver in DRIVERS:
        own = {"headers": {"Idempotency-Key": '"mine"'}}
        [answer] = run_calls(driver, [("POST", f"{server.url}/fine/a", own)])
        told = outcome(answer)
        assert told is not None
        assert told.key == "mine"
    assert {each.headers["idempotency-key"] for each in server.seen} == {'"mine"'}


def test_a_callers_trace_hears_all_and_is_put_back(server: FaultServer) -> None:
    heard: list[str] = []

    def trace(name: str, info: Any) -> None:
        heard.append(name)

    with httpx.Client(transport=on_httpx.RecoverTransport(policy=POLICY)) as client:
        for fault in ("fine", "cut_after"):
            request = client.build_request(
                "POST", f"{server.url}/{fault}/a", json={}, extensions={"trace": trace}
            )
            try:
                client.send(request)
            except UnknownOutcome:
                assert fault == "cut_after"
            assert request.extensions["trace"] is trace
            assert "http11.send_request_headers.started" in heard
            heard.clear()
        request = client.build_request("POST", f"{server.url}/fine/b")
        client.send(request)
        assert "trace" not in request.extensions


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_redirect_that_nobody_follows_is_not_done(server: FaultServer, driver: str) -> None:
    server._play_307 = lambda connection, seen: respond(connection, 307, {}, "Location: /x")  # type: ignore[attr-defined]
    for method in ("POST", "PUT"):
        [answer] = run_calls(driver, [(method, f"{server.url}/307/{method}", {})])
        told = outcome(answer)
        assert told is not None
        assert (told.facts["state"], told.applied) == ("unknown", "unknown")


class Stopped(BaseException):
    """As a signal stops a program."""


def stop(*args: Any, **kwargs: Any) -> Any:
    raise Stopped


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_a_caller_who_is_stopped_leaves_it_unknown(
    server: FaultServer, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next to ask for it is told that it may have been done."""
    url = f"{server.url}/fine/a"
    if library == "httpx":
        monkeypatch.setattr(
            "httpcore._sync.http11.HTTP11Connection._receive_response_headers", stop
        )
        client: Any = httpx.Client(transport=on_httpx.RecoverTransport(policy=POLICY))
    else:
        monkeypatch.setattr("http.client.HTTPResponse.begin", stop)
        client = Session(2)
        client.mount("http://", RecoverAdapter(policy=POLICY))
    with client:
        with pytest.raises(Stopped):
            client.post(url, json={"ref": "a"})
        monkeypatch.undo()
        with pytest.raises(UnknownOutcome, match="may or may not have been done"):
            client.post(url, json={"ref": "a"})
    assert server.count("/fine/a") <= 1


@pytest.mark.parametrize("colour", ["asyncio", "trio"])
def test_a_task_that_is_cancelled_leaves_it_unknown(server: FaultServer, colour: str) -> None:
    url = f"{server.url}/timeout/a"

    async def main() -> None:
        mount = on_httpx.AsyncRecoverTransport(policy=POLICY)
        async with httpx.AsyncClient(transport=mount, timeout=20, trust_env=False) as client:
            if colour == "trio":
                with trio.move_on_after(0.2) as scope:
                    await client.post(url, json={"ref": "a"})
                assert scope.cancelled_caught
            else:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.2):
                        await client.post(url, json={"ref": "a"})
            with pytest.raises(UnknownOutcome):
                await client.post(url, json={"ref": "a"})

    trio.run(main) if colour == "trio" else asyncio.run(main())
    assert server.count("/timeout/a") == 1


def test_a_prepared_request_of_requests_keeps_its_key_and_gets_a_new_one(
    server: FaultServer,
) -> None:
    with Session(2) as session:
        session.mount("http://", RecoverAdapter(policy=POLICY))
        request = session.prepare_request(requests.Request("POST", f"{server.url}/fine/a"))
        for _ in "ab":
            assert session.send(request, timeout=2).ok
    first, second = (each.headers["idempotency-key"] for each in server.seen)
    assert first != second
