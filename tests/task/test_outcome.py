"""The outcome on a response or an exception, and settling it by hand."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from httpx_recover import (
    Applied,
    FailureClass,
    Policy,
    Rule,
    UnknownOutcome,
    Verdict,
    call,
    outcome,
    resolve,
    task,
)
from httpx_recover._memory import MEMORY
from tests.conftest import FakeClock
from tests.task.script import Server, known


def lose(client: httpx.Client, path: str = "/a") -> UnknownOutcome:
    with pytest.raises(UnknownOutcome) as raised:
        client.post(path)
    return raised.value


# ------------------------------------------------------------------ finding it


def test_a_response_carries_its_outcome() -> None:
    with Server(200).client() as client:
        answer = client.get("/a?token=s3cret")
    found = known(answer)
    assert answer.extensions["recovery"] is found
    assert (found.failure, found.applied) == (FailureClass.OK, Applied.YES)
    assert (found.verified_by, found.stopped_by, found.evidence) == (
        "answer 200",
        None,
        "first try",
    )
    assert (found.wait, found.retry_at, found.key) == (None, None, None)
    assert len(found.attempts) == 1
    assert str(found) == (
        "GET api.example.com/a: done, ok 200, applied yes, after 1 send, verified by answer 200"
    )
    assert outcome(found) is found


def test_an_exception_carries_its_outcome(clock: FakeClock) -> None:
    with Server(httpx.ReadTimeout).client() as client:
        lost = lose(client)
        with pytest.raises(httpx.ConnectError) as raised:
            Server(httpx.ConnectError).client().get("/b")
    assert known(lost).failure is FailureClass.UNKNOWN_OUTCOME
    assert known(lost).applied is Applied.UNKNOWN
    assert known(lost).stopped_by == "no_evidence"
    assert known(raised.value).failure is FailureClass.TRANSIENT
    assert known(raised.value).stopped_by == "attempts"
    assert len(known(raised.value).attempts) == 3
    assert known(raised.value).evidence == "not sent"


def test_an_error_made_from_a_response_leads_to_it(clock: FakeClock) -> None:
    with Server(422).client() as client:
        answer = client.post("/a")
    with pytest.raises(httpx.HTTPStatusError) as raised:
        answer.raise_for_status()
    assert outcome(raised.value) is known(answer)
    assert known(raised.value).failure is FailureClass.BAD_INPUT


class Shy(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError("no response yet")


class Busy(Exception):
    recovery = "a word of somebody else"


@pytest.mark.parametrize(
    "thing",
    [None, 7, "text", ValueError("x"), httpx.Response(200), httpx.ReadTimeout("x"), Shy(), Busy()],
    ids=repr,
)
def test_what_never_passed_a_mount_has_none(thing: Any) -> None:
    assert outcome(thing) is None


def test_a_foreign_attribute_does_not_hide_it() -> None:
    with Server(200).client() as client:
        answer = client.get("/a")
    error = Busy()
    error.response = answer  # type: ignore[attr-defined]
    assert outcome(error) is known(answer)
    foreign = httpx.Response(200)
    foreign.extensions = None  # type: ignore[assignment]
    assert outcome(foreign) is None


def test_switched_off_means_no_outcome() -> None:
    with Server(200).client() as client:
        assert outcome(client.get("/a", extensions={"recover": False})) is None


# ------------------------------------------------------------------ what it says


def test_the_wait_of_the_server_is_handed_over(clock: FakeClock) -> None:
    def busy(request: httpx.Request) -> httpx.Response:
        return httpx.Response(429, headers={"Retry-After": "3600"})

    with Server(busy).client() as client:
        found = known(client.post("/a"))
    assert (found.failure, found.applied) == (FailureClass.RATE_LIMIT, Applied.NO)
    assert (found.wait, found.stopped_by) == (3600, "wait_too_long")
    assert found.retry_at == datetime.fromtimestamp(int(clock.wall() + 3600), UTC)
    assert clock.slept == []
    assert str(found).endswith("stopped by wait_too_long, the server asked for 3600 s")


def test_the_key_is_told_whole(clock: FakeClock) -> None:
    server = Server(201)
    with server.client() as client:
        answer = client.post("/a")
    assert known(answer).key == server.keys[0]


def test_one_line_without_secrets(clock: FakeClock) -> None:
    server = Server(503)
    with server.client() as client:
        answer = client.post(
            "https://user:s3cret@api.example.com/a?token=s3cret",
            json={"card": "s3cret"},
            headers={"Authorization": "Bearer s3cret", "Idempotency-Key": "s3cret"},
        )
    said = f"{known(answer)} {known(answer)!r} {known(answer).report}"
    assert "s3cret" not in said
    assert "\n" not in str(known(answer))
    assert str(known(answer)) == (
        "POST api.example.com/a: unknown, unknown_outcome 503, applied unknown, after 1 send, "
        "stopped by no_evidence"
    )


def test_the_report_of_a_lone_call(clock: FakeClock) -> None:
    with Server(503, 200).client() as client:
        report = known(client.get("/a")).report
    assert str(report).splitlines()[:2] == [
        "RECOVERY v1 task - status done calls 2 elapsed 0.0s",
        "RECOVERY v1 done: GET api.example.com/a #1 verified by answer 200 after 2 sends",
    ]


def test_it_pickles_without_the_ledger(clock: FakeClock) -> None:
    with Server(httpx.ReadTimeout).client() as client:
        error = lose(client)
        copy = pickle.loads(pickle.dumps(error))
    with Server(200).client() as client:
        at_once = known(client.get("/b"))
    assert isinstance(copy, httpx.ReadTimeout)
    assert str(known(copy)) == str(known(error))
    assert known(copy).report == known(error).report
    assert known(copy).action is None
    with pytest.raises(ValueError, match="no outcome of this process"):
        resolve(copy, Verdict.LANDED)
    assert str(pickle.loads(pickle.dumps(at_once))) == str(at_once)


# ------------------------------------------------------------------ settling it


def test_landed_is_done_and_verified_by_the_caller(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with task("t") as t, server.client() as client:
        error = lose(client)
        t.resolve(error, Verdict.LANDED)
        report = t.report()
        assert report.done == ("POST api.example.com/a #1 verified by caller",)
        assert report.status == "done"
        assert client.post("/a").status_code == 201
    assert known(error).verified_by == "caller"
    assert len(set(server.keys)) == 2, "after a known end it is a new action with a new key"


def test_landed_is_forgotten_by_the_process(clock: FakeClock) -> None:
    with Server(httpx.ReadTimeout).client() as client:
        resolve(lose(client), Verdict.LANDED)
    assert not MEMORY


def test_absent_buys_one_more_send(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout)
    with server.client() as client:
        error = lose(client)
        resolve(known(error), Verdict.ABSENT)
        assert known(error).applied is Applied.NO
        assert known(error).facts["note"] == "absent, seen by the caller"
        again = lose(client)
        assert known(again).evidence == "absent, seen by the caller"
        refused = lose(client)
        assert "not sent" in str(refused)
    assert len(server.seen) == 2
    assert len(set(server.keys)) == 1, "one action keeps one key"


def test_absent_in_a_task_is_failed_until_it_is_sent_again(clock: FakeClock) -> None:
    server = Server(503, 201)
    with task("t") as t, server.client() as client:
        answer = client.post("/a")
        t.resolve(answer, Verdict.ABSENT)
        assert t.report().failed == (
            "POST api.example.com/a #1 unknown_outcome 503 after 1 send stopped by no_evidence, "
            "absent, seen by the caller",
        )
        assert client.post("/a").status_code == 201
    assert t.report().status == "done"
    assert t.report().done[0].startswith("POST api.example.com/a #1 verified by answer 201 after 2")


def test_absent_of_a_lost_answer_takes_the_earlier_word_back(clock: FakeClock) -> None:
    class Torn(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            yield b"{"
            raise httpx.ReadError("cut")

    def torn(request: httpx.Request) -> httpx.Response:
        return httpx.Response(201, headers={"Content-Length": "9"}, stream=Torn())

    server = Server(torn, 422)
    with task("t") as t, server.client() as client:
        with pytest.raises(httpx.ReadError) as raised:
            client.post("/a")
        assert known(raised.value).applied is Applied.YES
        resolve(raised.value, Verdict.ABSENT)
        assert client.post("/a").status_code == 422
    assert t.report().status == "failed"
    assert "bad_input 422" in t.report().failed[0]


def test_an_accepted_write_sent_again_after_absent_is_an_answer(clock: FakeClock) -> None:
    server = Server(503, 202, 202)
    with server.client() as client:
        resolve(client.post("/a"), Verdict.ABSENT)
        assert client.post("/a").status_code == 202
        assert client.post("/a").status_code == 202
    assert len(set(server.keys)) == 2


@pytest.mark.parametrize(
    "verdict", [Verdict.UNCLEAR, Verdict.PARTIAL(["a"], ["b"]), "LANDED", None]
)
def test_only_two_verdicts_settle(clock: FakeClock, verdict: Any) -> None:
    with Server(httpx.ReadTimeout).client() as client:
        error = lose(client)
    with pytest.raises(ValueError, match=r"^verdict=.*Verdict\.LANDED or Verdict\.ABSENT"):
        resolve(error, verdict)
    assert known(error).applied is Applied.UNKNOWN


def test_a_foreign_thing_cannot_be_settled() -> None:
    with pytest.raises(ValueError, match=r"resolve\(KeyError\): it carries no outcome"):
        resolve(KeyError("x"), Verdict.LANDED)


def test_a_rule_may_expect_what_others_call_a_failure(clock: FakeClock) -> None:
    with Server(404).client(Rule("GET /a", expect={404})) as client, task("t") as t:
        answer = client.get("/a")
        with call(expect={409}):
            assert known(client.post("/b")).failure is FailureClass.NOT_FOUND
    assert known(answer).failure is FailureClass.OK
    assert t.report().status == "failed"


def test_recovery_switched_off_for_a_route(clock: FakeClock) -> None:
    server = Server(503)
    with server.client(policy=Policy(attempts=1)) as client:
        assert known(client.get("/a")).stopped_by == "attempts"
    assert len(server.seen) == 1
