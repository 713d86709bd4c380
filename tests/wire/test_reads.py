"""The reads of verifiers: where they go, what they carry, and what they cost."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import httpx
import pytest

from httpx_recover import (
    Policy,
    RecoverTransport,
    Rule,
    UnknownOutcome,
    Verdict,
    outcome,
    recover,
    task,
    verify,
)
from httpx_recover import httpx as on_httpx
from tests.drivers import POLICY, run_calls
from tests.faulty import FaultServer, Seen, respond

BOTH = pytest.mark.parametrize("driver", ["httpx sync", "httpx asyncio", "httpx2 trio"])


def ready(name: str, *steps: Any) -> Any:
    """A verifier of no colour: makes these reads and says LANDED if the last one is a 200."""

    class Steps:
        counts = baseline = False

        def shown(self, url: str) -> str:
            return f"GET {name}"

        def steps(self, call: Any) -> Any:
            answer = None
            for url in steps:
                answer = yield verify.Read(url)
            return Verdict.LANDED if answer.status_code == 200 else Verdict.UNCLEAR

    return Steps()


def redirect(server: FaultServer, name: str, status: int, location: str) -> None:
    def play(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, status, {}, f"Location: {location}")

    setattr(server, f"_play_{name}", play)


@BOTH
def test_a_read_follows_redirects_of_its_origin(server: FaultServer, driver: str) -> None:
    redirect(server, "old", 302, "/new/place")
    rule = Rule("POST /**", verify=ready("x", "/old/place"))
    call = ("POST", f"{server.url}/cut_after/a", {"json": {}})
    [end] = run_calls(driver, [call], rules=[rule])
    assert end.status_code == 200
    assert server.count("/new/place", "GET") == 1
    found = outcome(end)
    assert found is not None
    assert found.verified_by == "read GET x"
    assert [each["kind"] for each in found.facts["attempts"]] == ["send", "verify", "verify"]


@BOTH
@pytest.mark.parametrize("location", ["http://localhost:1/", "http://[bad", "/again/"])
def test_a_read_stays_in_its_origin_and_ends(
    server: FaultServer, driver: str, location: str
) -> None:
    def play(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 302, {}, f"Location: {location}{len(server.seen)}")

    server._play_again = play  # type: ignore[attr-defined]
    rule = Rule("POST /**", verify=ready("x", "/again/0"))
    call = ("POST", f"{server.url}/cut_after/a", {"json": {}})
    [end] = run_calls(driver, [call], rules=[rule], policy=POLICY)
    assert isinstance(end, Exception)
    assert len(server.seen) == (7 if location == "/again/" else 2)


def test_a_read_carries_the_calls_headers_to_its_own_origin_only(server: FaultServer) -> None:
    other = FaultServer()
    try:
        rule = Rule("POST /**", verify=ready("x", f"{other.url}/b", "/c"))
        mount = RecoverTransport(policy=POLICY, rules=[rule])
        headers = {"Authorization": "Bearer t", "X-Tenant": "7", "If-Match": '"v"', "Range": "b"}
        with httpx.Client(transport=mount, timeout=0.2, headers=headers) as client:
            client.post(f"{server.url}/cut_after/a", json={})
        away, home = other.seen[0].headers, server.seen[-1].headers
    finally:
        other.close()
    assert home["authorization"] == "Bearer t"
    assert home["x-tenant"] == "7"
    assert home["cache-control"] == away["cache-control"] == "no-cache"
    for name in ("if-match", "range", "content-type", "content-length", "idempotency-key"):
        assert name not in home
    for name in ("authorization", "x-tenant", "idempotency-key"):
        assert name not in away


def test_a_read_takes_params_and_headers_and_is_the_clients_own_response(
    server: FaultServer,
) -> None:
    kept: list[Any] = []

    def look(read: Any, sent: Any) -> Verdict:
        answer = read("", params={"ref": "a"}, headers={"X-Look": "1"})
        answer.raise_for_status()
        kept.extend([answer, sent])
        return Verdict.LANDED if answer.json()["data"] else Verdict.ABSENT

    mount = RecoverTransport(policy=POLICY, rules=[Rule("POST /**", verify=look)])
    with httpx.Client(transport=mount, timeout=0.2) as client:
        answer = client.post(f"{server.url}/cut_after/a?x=1", data={"ref": "a"})
    assert answer.status_code == 201 or answer.json() == {"data": []}
    read, sent = kept[0], kept[1]
    assert isinstance(read, httpx.Response)
    assert server.seen[1].headers["x-look"] == "1"
    assert (sent.method, sent.form, sent.json, sent.attempts) == ("POST", {"ref": "a"}, None, 2)
    assert sent.content == b"ref=a"
    assert sent.url.endswith("/cut_after/a?x=1")
    assert sent.key == server.seen[0].headers["idempotency-key"]
    assert sent.headers["content-type"].startswith("application/x-www-form-urlencoded")


@BOTH
def test_a_read_is_itself_recovered_and_charged(server: FaultServer, driver: str) -> None:
    rule = Rule("POST /**", verify=ready("x", "/503/look"))
    calls = [("POST", f"{server.url}/cut_after/a", {"json": {}})]
    [end] = run_calls(driver, calls, rules=[rule])
    assert end.status_code == 200
    assert server.count("/503/look", "GET") == 2


@BOTH
def test_no_read_is_made_past_the_limits(server: FaultServer, driver: str) -> None:
    rule = Rule("POST /**", verify=ready("x", "/a", "/b", "/c"))
    calls = [("POST", f"{server.url}/cut_after/a", {"json": {}})]
    policy = Policy(backoff=(0.01,), jitter=0, recovery_calls=2)
    [end] = run_calls(driver, calls, rules=[rule], policy=policy)
    found = outcome(end)
    assert found is not None
    assert found.stopped_by == "recovery_calls"
    assert len(server.seen) == 3


def test_no_read_is_made_after_the_deadline(server: FaultServer) -> None:
    import time

    def slow(read: Any, sent: Any) -> Verdict:
        time.sleep(0.5)
        read("/late")
        return Verdict.LANDED

    policy = Policy(backoff=(0.01,), jitter=0, deadline=0.4)
    rule = Rule("POST /**", verify=slow)
    [end] = run_calls(
        "httpx sync", [("POST", f"{server.url}/cut_after/a", {})], rules=[rule], policy=policy
    )
    found = outcome(end)
    assert found is not None
    assert found.stopped_by == "deadline"
    assert server.count("/late") == 0


def test_a_read_that_spends_the_last_recovery_call_says_so(server: FaultServer) -> None:
    server._play_busy = lambda connection, seen: respond(connection, 503, {})  # type: ignore[attr-defined]
    plain = server._answer

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "GET":
            return respond(connection, 503, {})
        return plain(connection, seen)

    server._answer = answer  # type: ignore[method-assign]
    policy = Policy(backoff=(0.01,), jitter=0, recovery_calls=2)
    rule = Rule("POST /**", verify=verify.found("?ref={json.ref}"))
    [end] = run_calls(
        "httpx asyncio",
        [("POST", f"{server.url}/cut_after/a", {"json": {"ref": "a"}})],
        rules=[rule],
        policy=policy,
    )
    found = outcome(end)
    assert found is not None
    assert found.stopped_by == "recovery_calls"


BOUND = {"Authorization": "Digest username=x"}


def sign_anew(request: Any) -> Any:
    """An auth of a client, for the user of `BOUND`."""
    request.headers["Authorization"] = "Digest nonce=2, username=x"
    return request


def sign_as_another(request: Any) -> Any:
    request.headers["Authorization"] = "Digest username=y"
    return request


@pytest.mark.parametrize("auth", [sign_as_another, None, ("x", "s3cret")])
@pytest.mark.parametrize("colour", ["sync", "async"])
def test_a_read_that_is_signed_for_another_shows_nothing(
    server: FaultServer, auth: Any, colour: str
) -> None:
    rule = Rule("POST /**", verify=verify.found("?ref={json.ref}"))
    arguments = {"json": {"ref": "a"}, "headers": BOUND, "auth": None}
    server._listing = lambda connection, *_: respond(connection, 200, [])  # type: ignore[assignment]

    async def main() -> None:
        client = httpx.AsyncClient(timeout=0.2, auth=auth)
        async with on_httpx.recover(client, policy=POLICY, rules=[rule]):
            await client.post(f"{server.url}/cut_after/a", **arguments)

    with task("t") as t, pytest.raises(UnknownOutcome) as raised:
        if colour == "async":
            asyncio.run(main())
        with recover(httpx.Client(timeout=0.2, auth=auth), policy=POLICY, rules=[rule]) as client:
            client.post(f"{server.url}/cut_after/a", **arguments)
    assert "credentials are good for one request" in outcome(raised.value).facts["note"]  # type: ignore[union-attr]
    assert t.report().status == "unknown"
    assert server.count("/cut_after/a", "POST") == 1


def test_bound_credentials_go_through_the_client_that_signs(server: FaultServer) -> None:
    rule = Rule("POST /**", verify=verify.found("?ref={json.ref}"))
    body = {"ref": "a"}
    client = httpx.Client(timeout=0.2, auth=sign_anew)
    with recover(client, policy=POLICY, rules=[rule]):
        answer = client.post(f"{server.url}/cut_after/a", json=body, headers=BOUND, auth=None)
    assert answer.json() == {"data": [{"ref": "a"}]}
    assert server.seen[1].headers["authorization"] == "Digest nonce=2, username=x"

    async def main() -> Any:
        client = httpx.AsyncClient(timeout=0.2, auth=sign_anew)
        async with on_httpx.recover(client, policy=POLICY, rules=[rule]):
            url = f"{server.url}/cut_after/b"
            return await client.post(url, json=body, headers=BOUND, auth=None)

    server.book["/cut_after/b"] = []
    assert asyncio.run(main()).json() == {"data": [{"ref": "a"}]}


@BOTH
def test_bound_credentials_without_a_client_leave_it_unknown(
    server: FaultServer, driver: str
) -> None:
    rule = Rule("POST /**", verify=verify.found("?ref={json.ref}"))
    arguments = {"json": {"ref": "a"}, "headers": BOUND}
    with task("t") as t:
        [end] = run_calls(driver, [("POST", f"{server.url}/cut_after/a", arguments)], rules=[rule])
    found = outcome(end)
    assert found is not None
    assert found.stopped_by == "unclear"
    assert "credentials are good for one request" in found.facts["note"]
    assert len(server.seen) == 1
    assert t.report().status in ("unknown", "done")


def test_bound_requests_are_resent_only_when_signed_again(server: FaultServer) -> None:
    signed: list[str] = []

    def sign(request: httpx.Request) -> None:
        signed.append(str(request.url))
        request.headers["Authorization"] = "Digest again"

    with httpx.Client(transport=RecoverTransport(policy=POLICY), headers=BOUND) as client:
        assert client.get(f"{server.url}/503/a").status_code == 503
    rule = Rule("*", prepare=sign)
    mount = RecoverTransport(policy=POLICY, rules=[rule])
    with httpx.Client(transport=mount, headers=BOUND) as client:
        assert client.get(f"{server.url}/503/b").status_code == 200
    assert len(signed) == 1
    assert server.seen[-1].headers["authorization"] == "Digest again"


# ------------------------------------------------------------------ confirming a 404


@pytest.mark.parametrize("driver", ["sync", "async"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "POST"])
def test_a_404_in_a_task_is_confirmed_by_one_read(
    server: FaultServer, driver: str, method: str
) -> None:
    server._answer = lambda connection, seen: respond(connection, 404, {})  # type: ignore[method-assign]
    url = f"{server.url}/a"

    async def main() -> None:
        async with httpx.AsyncClient(transport=on_httpx.AsyncRecoverTransport()) as client:
            await client.request(method, url)

    with task("t") as t:
        if driver == "async":
            asyncio.run(main())
        else:
            with httpx.Client(transport=RecoverTransport()) as client:
                client.request(method, url)
    assert t.report().status == "failed"
    asked = [each.method for each in server.seen]
    assert asked == {"POST": ["POST"]}.get(method, [method, "GET"])


@pytest.mark.parametrize(
    ("statuses", "end"), [([404, 200], 200), ([404, 503], 404), ([404, 404], 404)]
)
def test_what_the_confirming_get_answers_is_handed_over(
    server: FaultServer, statuses: list[int], end: int
) -> None:
    left = list(statuses)
    server._answer = lambda connection, seen: respond(connection, left.pop(0), {})  # type: ignore[method-assign]
    with task("t") as t, httpx.Client(transport=RecoverTransport()) as client:
        assert client.get(f"{server.url}/a").status_code == end
    assert t.report().status == ("done" if end == 200 else "failed")


@pytest.mark.parametrize(
    ("status", "said"), [(200, "disagreed"), (410, "agreed"), (500, "not tell")]
)
def test_a_confirming_read_is_for_the_report_only(
    server: FaultServer, status: int, said: str
) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, status if seen.method == "GET" else 404, {})

    server._answer = answer  # type: ignore[method-assign]
    policy = Policy(backoff=(0.01,), jitter=0)
    with task("t") as t, httpx.Client(transport=RecoverTransport(policy=policy)) as client:
        assert client.delete(f"{server.url}/a").status_code == 404
    assert said in t.report().failed[0]
