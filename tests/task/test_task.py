"""Tasks: their reports, their limits, and what they remember."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from httpx_recover import (
    Policy,
    Rule,
    Task,
    UnknownOutcome,
    Verdict,
    call,
    current_task,
    task,
    verify,
)
from httpx_recover._memory import MEMORY
from tests.task.mocked import LOST, POST, Clock, script


def test_a_task_reports_what_it_did() -> None:
    server, client = script(200, 201, 200)
    with task("import invoices") as t:
        client.get("http://h.example/a?secret=1")
        with call(label="inv-7"):
            client.post(POST, json={})
        client.get("http://h.example/a")
    lines = str(t.report()).splitlines()
    assert lines[0].startswith("RECOVERY v1 task import invoices status done calls 3 elapsed ")
    assert lines[1] == (
        "RECOVERY v1 done: POST h.example/orders #2 (inv-7) verified by answer 201; 2 reads ok"
    )
    facts = t.report().to_dict()["actions"]
    assert [each["method"] for each in facts] == ["GET", "POST", "GET"]
    assert facts[1]["key"] == server.keys[1]
    assert "secret" not in str(facts)


def test_the_report_of_a_nested_task_is_part_of_the_outer_one() -> None:
    _, client = script(201)
    with task("outer") as outer:
        client.post(POST, json={"n": 0})
        with task("inv-8") as inner:
            client.post(POST, json={"n": 1})
            assert current_task() is inner
        assert current_task() is outer
    assert current_task() is None
    assert "#2 (inv-8)" in outer.report().done[1]
    assert "#2 (inv-8)" in inner.report().done[0]
    assert len(inner.report().done) == 1


def test_a_report_before_the_end_is_a_snapshot() -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(t.report())
        return httpx.Response(201)

    from httpx_recover import RecoverTransport

    with httpx.Client(transport=RecoverTransport(httpx.MockTransport(answer))) as client:
        with task("t") as t:
            client.post(POST)
            seen.append(t.report())
    assert [each.status for each in seen] == ["unknown", "done"]
    assert task("never entered").report().elapsed == 0.0


def test_the_end_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "httpx_recover")
    _, client = script(200)
    with task("good"):
        client.get(POST)
    _, client = script(422)
    with task("bad"):
        client.post(POST)
    levels = [
        (each.levelname, each.getMessage().split()[3])
        for each in caplog.records
        if each.name == "httpx_recover"
    ]
    assert levels == [("INFO", "good"), ("WARNING", "bad")]


def test_outside_any_task_only_a_bad_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    _, client = script(200, 503)
    client.get(POST)
    client.post(POST)
    told = [each.getMessage() for each in caplog.records if each.name == "httpx_recover"]
    assert len(told) == 1
    assert told[0].startswith("POST h.example/orders: unknown, unknown_outcome 503")


def test_an_error_of_the_block_is_in_the_report() -> None:
    _, client = script(201)
    with pytest.raises(ZeroDivisionError), task("t") as t:
        client.post(POST)
        raise ZeroDivisionError
    assert t.report().status == "partial"
    assert t.report().failed == ("task block aborted ZeroDivisionError",)


def test_the_end_of_an_action_is_no_abort() -> None:
    _, client = script(LOST)
    with pytest.raises(UnknownOutcome), task("t") as t:
        client.post(POST)
    assert t.report().failed == ()
    _, client = script(422)
    with pytest.raises(RuntimeError), task("t") as t:
        try:
            client.post(POST, json=1).raise_for_status()
        except httpx.HTTPStatusError as error:
            raise RuntimeError("wrapped") from error
    assert [each.split()[0] for each in t.report().failed] == ["POST"]


def test_a_task_can_be_left_in_another_context() -> None:
    async def stream() -> AsyncIterator[int]:
        async with task("generator"):
            yield 1

    async def main() -> None:
        generator = stream()
        assert await anext(generator) == 1
        await asyncio.create_task(generator.aclose())  # type: ignore[attr-defined]

    asyncio.run(main())
    other = contextvars.copy_context()
    t = task("t")
    other.run(t.__enter__)
    t.__exit__(None, None, None)


def test_a_task_is_entered_once() -> None:
    t = task("t")
    with t:
        pass
    with pytest.raises(RuntimeError, match="was entered before"):
        t.__enter__()
    assert repr(t) == "<Task 't' 0 actions>"
    assert isinstance(t, Task)


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        (7, {}, "name=7"),
        ("t", {"policy": 3}, "policy=3"),
        ("t", {"patience": 3}, "'patience' is not a limit"),
        ("t", {"deadline": -1}, "deadline"),
    ],
)
def test_bad_settings_are_named(name: Any, settings: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        task(name, **settings)


def test_a_limit_of_the_task_wins(clock: Clock) -> None:
    server, client = script(503, policy=Policy(attempts=2))
    with task("t", backoff=(7.0,)):
        client.get(POST)
        client.get(POST)
    assert clock.slept == [7.0, 7.0]
    with task("t", policy=Policy(attempts=1)):
        client.get(POST)
    assert len(server.requests) == 5


# ------------------------------------------------------------------ corrections


def test_a_corrected_request_is_done() -> None:
    _, client = script(422, 201)
    with task("outer") as outer, task("inner") as t:
        client.post(POST, json={"date": "x"})
        client.post(POST, json={"date": "2026-12-01"})
    assert t.report().status == outer.report().status == "done"
    assert outer.report().to_dict()["actions"][0]["superseded_by"] == 2
    _, client = script(404, 404, 200)
    with task("t") as t:
        client.get(POST)
        client.get(POST)
    assert (t.report().status, len(t.report().failed)) == ("done", 0)


def test_another_request_takes_no_ones_place() -> None:
    _, client = script(404, 200)
    with task("t", confirm_missing=False) as t:
        client.delete(POST + "?a=1")
        client.delete(POST + "?a=2")
    assert t.report().status == "partial"


def test_a_failed_write_that_succeeds_later_counts_once() -> None:
    _, client = script(429, 201, policy=Policy(attempts=1))
    with task("t") as t:
        client.post(POST, json={"a": 1, "b": 2})
        client.post(POST, content=b'{"b": 2, "a": 1}', headers={"content-type": "application/json"})
    assert t.report().status == "done"


# ------------------------------------------------------------------ unknown writes


def test_a_repeat_is_refused_while_it_is_unknown() -> None:
    server, client = script(LOST, 201)
    with task("t") as t:
        for _ in range(3):
            with pytest.raises(UnknownOutcome) as raised:
                client.post(POST, json={"a": 1})
        assert isinstance(raised.value, httpx.TransportError)
        assert client.post(POST, json={"a": 2}).status_code == 201
    assert len(server.requests) == 2
    assert len(t.report().unknown) == 1


def test_an_unknown_write_outlives_its_task_and_its_client(clock: Clock) -> None:
    _, client = script(LOST)
    with task("outer"):
        with pytest.raises(UnknownOutcome), task("inner"):
            client.post(POST)
        again, other = script(201)
        with pytest.raises(UnknownOutcome):
            other.post(POST)
    with pytest.raises(UnknownOutcome):
        other.post(POST)
    with task("new") as t, pytest.raises(UnknownOutcome):
        other.post(POST)
    assert t.report().status == "unknown"
    assert again.requests == []
    clock.offset += 200
    assert other.post(POST).status_code == 201


def test_a_task_with_a_policy_of_its_own_hands_over_for_its_deadline(clock: Clock) -> None:
    _, client = script(LOST)
    with pytest.raises(UnknownOutcome), task("t", policy=Policy(deadline=500)):
        client.post(POST)
    clock.offset += 400
    assert MEMORY
    with pytest.raises(UnknownOutcome):
        client.post(POST)


def test_credentials_matter_outside_a_named_task_only() -> None:
    server, client = script(LOST, 201)
    one, two = {"Authorization": "one"}, {"Authorization": "two"}
    with task("t"):
        for headers in (one, two):
            with pytest.raises(UnknownOutcome):
                client.post(POST, headers=headers)
    assert len(server.requests) == 1
    assert client.post(POST, headers=two).status_code == 201


def test_headers_of_a_rule_tell_users_apart() -> None:
    server, client = script(LOST, 201, rules=[Rule("POST /**", identity=("X-Org",))])
    with pytest.raises(UnknownOutcome):
        client.post(POST, headers={"X-Org": "1"})
    assert client.post(POST, headers={"X-Org": "2"}).status_code == 201
    with pytest.raises(UnknownOutcome):
        client.post(POST, headers={"X-Org": "1"})
    assert len(server.requests) == 2


def test_a_repeat_joins_under_a_trusted_key_or_a_verifier() -> None:
    server, client = script(LOST, 201, policy=Policy(attempts=1), rules=[Rule(dedupes=True)])
    with pytest.raises(UnknownOutcome):
        client.post(POST)
    assert client.post(POST).status_code == 201
    assert server.keys[0] == server.keys[1] is not None
    client.post(POST)
    assert server.keys[2] != server.keys[0]  # after a known end it is a new action

    plain, client = script(LOST, httpx.Response(200, json={"ref": "a"}))
    with pytest.raises(UnknownOutcome):
        client.post(POST + "2", json={"ref": "a"})
    with call(verify=verify.found("/orders/{json.ref}")):
        answer = client.post(POST + "2", json={"ref": "a"})
    assert answer.request.method == "POST"
    assert [each.method for each in plain.requests][:2] == ["POST", "GET"]


def test_the_caller_can_say_what_it_saw() -> None:
    server, client = script(LOST)
    with task("t") as t:
        for verdict in (Verdict.ABSENT, Verdict.LANDED):
            with pytest.raises(UnknownOutcome) as raised:
                client.post(POST)
            t.resolve(raised.value, verdict)
            assert t.report().status == ("failed" if verdict == Verdict.ABSENT else "done")
    assert len(server.requests) == 2
    assert t.report().done[0].endswith("verified by caller after 2 sends")


def test_a_landed_action_found_by_a_verifier_that_read_nothing(clock: Clock) -> None:
    def seen(read: Any, sent: Any) -> Verdict:
        return Verdict.LANDED

    _, client = script(LOST)
    with pytest.raises(UnknownOutcome):
        client.post(POST)
    with task("t") as t, call(verify=seen), pytest.raises(httpx.ReadTimeout, match="it is done"):
        client.post(POST)
    assert t.report().done[0].endswith("verified by caller")
    _, client = script(503)
    with call(verify=seen):
        assert client.post(POST).status_code == 503


def test_a_verifier_must_give_a_verdict() -> None:
    _, client = script(LOST)
    with task("t") as t, call(verify=lambda read, sent: True), pytest.raises(UnknownOutcome):
        client.post(POST)
    assert "the verifier gave no Verdict" in t.report().unknown[0]


def test_a_repeat_while_the_first_is_being_resolved_is_refused() -> None:
    def repeat(read: Any, sent: Any) -> Verdict:
        with pytest.raises(UnknownOutcome, match="This repeat was not sent"):
            client.post(POST)
        return Verdict.LANDED

    server, client = script(LOST)
    with call(verify=repeat), pytest.raises(httpx.ReadTimeout):
        client.post(POST)
    assert len(server.requests) == 1
