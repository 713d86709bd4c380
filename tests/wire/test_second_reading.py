"""Promises that a second reading of the code found broken."""

from __future__ import annotations

import socket
import time
from contextvars import Context, copy_context
from typing import Any

import httpx
import pytest
import respx

from httpx_recover import (
    Policy,
    RecoverTransport,
    Rule,
    UnknownOutcome,
    Verdict,
    call,
    outcome,
    resolve,
    task,
    verify,
)
from httpx_recover._memory import MEMORY
from tests.drivers import POLICY
from tests.faulty import FaultServer, Seen, respond

COUNTING = verify.found("?ref={json.ref}", where={"ref": "{json.ref}"})


def client_of(*rules: Rule, policy: Policy = POLICY, **settings: Any) -> httpx.Client:
    return httpx.Client(
        transport=RecoverTransport(policy=policy, rules=rules), timeout=0.3, **settings
    )


@pytest.mark.parametrize("status", [301, 302, 307])
def test_a_redirect_that_was_cut_is_not_done(server: FaultServer, status: int) -> None:
    def torn(connection: socket.socket, seen: Seen) -> bool:
        head = f"HTTP/1.1 {status} X\r\nLocation: /fine/b\r\nContent-Length: 50\r\n\r\npart"
        connection.sendall(head.encode())
        return False

    server._answer = torn  # type: ignore[method-assign]
    with task("t") as t, client_of() as client, pytest.raises(httpx.RemoteProtocolError):
        client.post(f"{server.url}/a", json={})
    assert t.report().status == "unknown"
    assert t.report().done == ()


def test_a_request_redirected_to_itself_and_lost_is_not_sent_again(server: FaultServer) -> None:
    """As a server does that sets a cookie first."""

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if len(server.seen) == 1:
            return respond(connection, 307, {}, f"Location: {server.url}/a")
        server.apply(seen)
        return False

    server._answer = answer  # type: ignore[method-assign]
    with client_of(follow_redirects=True) as client:
        request = client.build_request("POST", f"{server.url}/a", json={"ref": "a"})
        for _ in range(3):
            with pytest.raises(UnknownOutcome):
                client.send(request)
    assert server.book["/a"] == ["a"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('Digest username="u", nonce="1", nc=1', 'Digest username="u", nonce="2", nc=2', True),
        ('Digest username="u", nonce="1"', 'Digest username="v", nonce="1"', False),
        (
            "AWS4-HMAC-SHA256 Credential=AK1/20261201/eu/s3/aws4_request, Signature=aa",
            "AWS4-HMAC-SHA256 Credential=AK1/20261202/eu/s3/aws4_request, Signature=bb",
            True,
        ),
        ("AWS4-HMAC-SHA256 Credential=AK1/x", "AWS4-HMAC-SHA256 Credential=AK2/x", False),
        ('OAuth oauth_token="t", oauth_nonce="1"', 'OAuth oauth_token="t", oauth_nonce="2"', True),
        ("Hawk opaque-1", "Hawk opaque-2", False),
        ("Bearer one", "Bearer two", False),
    ],
)
def test_credentials_made_for_one_request_do_not_hide_a_repeat(
    server: FaultServer, one: str, other: str, same: bool
) -> None:
    with client_of() as client:
        for number, credentials in enumerate((one, other)):
            headers = {"Authorization": credentials}
            if number == 0 or same:
                with pytest.raises(UnknownOutcome):
                    client.post(f"{server.url}/cut_after/a", json={}, headers=headers)
            else:
                assert client.post(f"{server.url}/cut_after/a", json={}, headers=headers)
    assert server.count("/cut_after/a") == (1 if same else 2)


def test_a_cut_answer_is_found_again_by_the_verifier(server: FaultServer) -> None:
    with client_of(Rule("POST /**", verify=COUNTING)) as client:
        with pytest.raises(httpx.TransportError):
            client.post(f"{server.url}/half/a", json={"ref": "a"})
        again = client.post(f"{server.url}/half/a", json={"ref": "a"})
    assert again.json() == {"data": [{"ref": "a"}]}
    assert server.book["/half/a"] == ["a"]


def lost_then_new(server: FaultServer, client: httpx.Client, path: str) -> Any:
    """A deliberate equal order after earlier ones, lost before it was booked."""
    plain = server._answer

    def answer(connection: socket.socket, seen: Seen) -> bool:
        return (
            False
            if seen.method == "POST" and server.count(path, "POST") == first
            else (plain(connection, seen))
        )

    first = server.count(path, "POST") + 1
    server._answer = answer  # type: ignore[method-assign]
    return client.post(server.url + path, json={"ref": "a"})


def test_a_copy_that_was_counted_by_key_and_by_answer_is_one(server: FaultServer) -> None:
    both = Rule("POST /**", verify=COUNTING, dedupes=True)
    with client_of(both) as client:
        client.post(f"{server.url}/half/a", json={"ref": "a"})  # cut, then fetched by its key
    copies = len(server.book["/half/a"])  # this server does not dedupe: two
    [known] = MEMORY._known.values()
    assert (known, copies) == (1, 2)


def test_copies_of_a_duplicate_are_not_taken_for_a_later_order(server: FaultServer) -> None:
    """The resend landed beside a late first copy; both are known from then on."""
    rule = Rule("POST /**", verify=COUNTING)
    plain = server._answer

    def late(connection: socket.socket, seen: Seen) -> bool:
        posts = server.count("/a", "POST")
        if seen.method == "POST" and posts == 1:
            server.apply_later(seen, 0.65)
            return False
        if seen.method == "POST" and posts == 2:
            time.sleep(0.5)
        if seen.method == "POST" and posts == 3:
            return False
        return plain(connection, seen)

    server._answer = late  # type: ignore[method-assign]
    with client_of(rule) as client, task("t") as t:
        client.post(f"{server.url}/a", json={"ref": "a"}, timeout=2)
        assert "2 copies landed" in t.report().unknown[0]
        answer = client.post(f"{server.url}/a", json={"ref": "a"}, timeout=2)
    found = outcome(answer)
    assert found is not None
    assert found.verified_by == "answer 201"  # absent, so sent again; never one of the two
    assert server.book["/a"] == ["a", "a", "a"]


def test_a_copy_that_the_caller_saw_is_not_taken_for_another(server: FaultServer) -> None:
    def unclear(read: Any, sent: Any) -> Verdict:
        return Verdict.UNCLEAR

    with (
        client_of(Rule("POST /**", verify=unclear)) as client,
        pytest.raises(UnknownOutcome) as raised,
    ):
        client.post(f"{server.url}/cut_after/a", json={"ref": "a"})
    resolve(raised.value, Verdict.LANDED)
    with client_of(Rule("POST /**", verify=COUNTING)) as client:
        answer = lost_then_new(server, client, "/cut_after/a")
    found = outcome(answer)
    assert found is not None
    assert found.verified_by == "answer 201"  # absent, so sent again
    assert server.book["/cut_after/a"] == ["a", "a"]


def test_a_stale_date_does_not_outlive_its_wait(server: FaultServer) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        if len(server.seen) == 1:
            return respond(connection, 503, {}, "Retry-After: 0.05")
        return False

    server._answer = answer  # type: ignore[method-assign]
    with client_of() as client, pytest.raises(httpx.RemoteProtocolError) as raised:
        client.get(f"{server.url}/a")
    found = outcome(raised.value)
    assert found is not None
    assert (found.wait, found.retry_at) == (None, None)


def test_a_read_that_failed_and_then_succeeded_at_its_second_try_is_done(
    server: FaultServer,
) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 503 if len(server.seen) <= POLICY.attempts + 1 else 200, {})

    server._answer = answer  # type: ignore[method-assign]
    with task("t") as t, client_of() as client:
        assert client.get(f"{server.url}/a").status_code == 503
        assert client.get(f"{server.url}/a").status_code == 200
    assert t.report().status == "done"
    assert t.report().failed == ()


@respx.mock
def test_a_timeout_that_a_test_tool_plays_is_no_proof_that_nothing_was_sent() -> None:
    route = respx.post("http://a.test/x").mock(side_effect=httpx.ReadTimeout)
    with client_of() as client, pytest.raises(UnknownOutcome):
        client.post("http://a.test/x")
    assert route.call_count == 1


def test_tasks_with_a_deadline_each_of_their_own_leave_nothing_behind() -> None:
    mount = RecoverTransport(httpx.MockTransport(lambda request: httpx.Response(200)))
    with httpx.Client(transport=mount) as client:
        for number in range(1000):
            with task("t", deadline=10 + number / 7):
                client.get("http://a.test/")
    assert len(mount._plans) < 500


class Later:
    """Makes its calls in a context that was copied inside a task, when that has been left."""

    def __init__(self, server: FaultServer) -> None:
        self.server = server
        with task("left") as self.left:
            self.context = copy_context()
            with call(key="charge-7"):
                self.in_block = copy_context()

    def run(self, context: Context) -> httpx.Response:
        with client_of() as client:
            return context.copy().run(client.post, f"{self.server.url}/a", json={"ref": "a"})


def test_a_call_after_its_task_was_left_is_none_of_that_task(server: FaultServer) -> None:
    later = Later(server)
    assert later.run(later.context).status_code == 201
    assert later.left.report().calls == 0


def test_but_what_a_block_says_of_it_still_holds(server: FaultServer) -> None:
    later = Later(server)
    assert later.run(later.in_block).status_code == 201
    assert server.seen[-1].headers["idempotency-key"] == "charge-7"
    assert later.left.report().calls == 0


def test_such_a_call_belongs_to_the_task_around_if_that_is_open(server: FaultServer) -> None:
    with task("around") as around:
        later = Later(server)
        assert later.run(later.context).status_code == 201
    assert (around.report().calls, later.left.report().calls) == (1, 0)
