"""Tasks: their reports, their limits, and what they remember."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import threading
from collections.abc import AsyncIterator, Iterator
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
    outcome,
    task,
    verify,
)
from httpx_recover._memory import MEMORY
from tests.conftest import FakeClock
from tests.task.script import LOST, POST, Server, script


def test_a_task_reports_what_it_did() -> None:
    server, client = script(200, 201, 200)
    with task("import invoices") as t:
        client.get("https://api.example.com/a?secret=1")
        with call(label="inv-7"):
            client.post(POST, json={})
        client.get("https://api.example.com/a")
    lines = str(t.report()).splitlines()
    assert lines[0].startswith("RECOVERY v1 task import invoices status done calls 3 elapsed ")
    assert lines[1] == (
        "RECOVERY v1 done: POST api.example.com/orders #2 (inv-7) verified by answer 201; "
        "2 reads ok"
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

    with task("t") as t, Server(answer).client() as client:
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
    assert told[0].startswith("POST api.example.com/orders: unknown, unknown_outcome 503")


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


def test_leaving_from_elsewhere_leaves_the_task_that_is_open_there() -> None:
    _, client = script(200)
    stray = task("stray")
    contextvars.copy_context().run(stray.__enter__)
    with task("here") as here:
        stray.__exit__(None, None, None)
        assert current_task() is here
        client.get(POST)
    assert here.report().calls == 1
    assert stray.report().calls == 0


def test_a_context_that_never_saw_its_task_leave_passes_over_it() -> None:
    _, client = script(201)

    def work() -> None:
        stale = task("stale").__enter__()
        client.post(POST, json=1)
        contextvars.copy_context().run(stale.__exit__, None, None, None)
        assert current_task() is None
        with task("next") as t, call(label="x"):
            client.post(POST, json=2)
        assert t.parent is None
        assert t.report().done == ("POST api.example.com/orders #1 (x) verified by answer 201",)
        assert current_task() is None

    contextvars.copy_context().run(work)


def test_tasks_left_in_the_wrong_order() -> None:
    def inner() -> Iterator[int]:
        with task("inner"):
            yield 1

    with task("outer"):
        generator = inner()
        assert next(generator) == 1
    generator.close()  # type: ignore[attr-defined] # a generator has it
    assert current_task() is None


def test_a_block_around_a_task_holds_in_it() -> None:
    server, client = script(503)
    with call(idempotent=False), task("t"):
        client.put(POST)
    assert len(server.seen) == 1


def test_a_task_works_under_asyncio_gather() -> None:
    server = Server(201)

    async def one(client: httpx.AsyncClient, number: int) -> None:
        async with task(f"item {number}"):
            await client.post("/orders", json={"n": number})

    async def main() -> Any:
        async with server.aclient() as client, task("all") as t:
            await asyncio.gather(*(one(client, number) for number in range(3)))
        return t.report()

    report = asyncio.run(main())
    assert [each.split(" (")[1].split(")")[0] for each in report.done] == [
        "item 0",
        "item 1",
        "item 2",
    ]


def test_ordinals_are_those_of_the_outermost_task_in_three_floors() -> None:
    _, client = script(201)
    with task("a") as a:
        client.post(POST, json=0)
        with task("b") as b:
            client.post(POST, json=1)
            with task("c") as c:
                client.post(POST, json=2)
    place = "POST api.example.com/orders"
    assert c.report().done == (f"{place} #3 (c) verified by answer 201",)
    assert b.report().done[1] == f"{place} #3 (c) verified by answer 201"
    assert a.report().done[0] == f"{place} #1 verified by answer 201"
    numbers = [each["n"] for each in c.report().to_dict()["actions"]]
    assert numbers == [3]


def test_a_report_while_others_write_numbers_every_action() -> None:
    _, client = script(201)
    with task("outer"), task("inner") as inner:
        context = contextvars.copy_context()

        def work() -> None:
            for number in range(200):
                client.post(POST, json=number)

        worker = threading.Thread(target=context.run, args=(work,))
        worker.start()
        while worker.is_alive():
            numbers = [each["n"] for each in inner.report().to_dict()["actions"]]
            assert numbers == list(range(1, len(numbers) + 1))
        worker.join()
    assert inner.report().calls == 200


def test_an_error_with_itself_as_cause_is_an_abort_like_any() -> None:
    with pytest.raises(ValueError, match="round"), task("t") as t:
        error = ValueError("round")
        raise error from error
    assert t.report().failed == ("task block aborted ValueError",)
    error.__cause__ = None
    gc.collect()


def test_a_group_of_our_ends_is_no_abort_and_a_mixed_one_is() -> None:
    _, client = script(LOST)

    def lose(number: int) -> Exception:
        with pytest.raises(UnknownOutcome) as raised:
            client.post(POST, json=number)
        return raised.value

    with pytest.raises(ExceptionGroup), task("ours") as ours:
        raise ExceptionGroup("all of them", [lose(1), lose(2)])
    with pytest.raises(ExceptionGroup), task("mixed") as mixed:
        raise ExceptionGroup("some of them", [lose(3), KeyError("x")])
    assert ours.report().failed == ()
    assert mixed.report().failed == ("task block aborted ExceptionGroup",)


def test_an_end_from_outside_the_task_is_an_abort() -> None:
    _, client = script(LOST, 201)
    with pytest.raises(UnknownOutcome) as raised:
        client.post(POST, json=1)
    with pytest.raises(UnknownOutcome), task("t") as t:
        client.post(POST, json=2)
        raise raised.value
    assert t.report().status == "partial"
    assert t.report().failed == ("task block aborted UnknownOutcome",)


def test_a_block_that_did_nothing_and_broke_is_failed(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError), task("t") as t:
        raise KeyError("x")
    assert t.report().status == "failed"
    [record] = caplog.records
    assert record.getMessage() == str(t.report())
    assert record.levelname == "WARNING"


def test_a_task_without_calls_is_done() -> None:
    with task("t") as t:
        pass
    assert str(t.report()).splitlines()[1] == "RECOVERY v1 done: none"
    assert t.report().status == "done"


def test_elapsed_is_from_entering_to_leaving(clock: FakeClock) -> None:
    with task("t") as t:
        clock.at += 2.0
        assert t.report().elapsed == 2.0
        clock.at += 1.0
    clock.at += 50.0
    assert t.report().elapsed == 3.0


def test_a_rule_that_never_matched_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    rules = [Rule("POST /orders"), Rule("POST /typo/*")]
    _, client = script(201, rules=rules)
    for _ in range(2):
        with task("t"):
            client.post(POST)
    told = [each.getMessage() for each in caplog.records if "matched" in each.getMessage()]
    assert told == ["the rule for 'POST /typo/*' has matched no request so far"]


def test_extensions_hold_for_one_request() -> None:
    server, client = script(503)
    with task("t") as t:
        client.put(POST, extensions={"recover": Rule(idempotent=False)})
        assert len(server.seen) == 1
        answer = client.put(POST + "/2", extensions={"recover": False})
        assert len(server.seen) == 2
    assert answer.status_code == 503
    assert len(t.report().to_dict()["actions"]) == 1
    with pytest.raises(ValueError, match=r"extensions\['recover'\]=3"):
        client.put(POST, extensions={"recover": 3})


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


def test_a_limit_of_the_task_wins(clock: FakeClock) -> None:
    server, client = script(503, policy=Policy(attempts=2))
    with task("t", backoff=(7.0,)):
        client.get(POST)
        client.get(POST)
    assert clock.slept == [7.0, 7.0]
    with task("t", policy=Policy(attempts=1)):
        client.get(POST)
    assert len(server.seen) == 5


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        ({"attempts": 0}, "attempts=0"),
        ({"recovery_calls": -1}, "recovery_calls=-1"),
        ({"deadline": "soon"}, "deadline='soon'"),
        ({"backoff": ()}, "backoff="),
        ({"jitter": -1}, "jitter=-1"),
        ({"settle": True}, "settle=True"),
        ({"key": "X-Key"}, "key='X-Key'"),
        ({"confirm_missing": 1}, "confirm_missing=1"),
    ],
)
def test_a_bad_limit_is_named_when_the_task_is_made(limits: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=f"^{field}"):
        task("t", **limits)


def test_the_deadline_of_the_task_wins_over_the_mount(clock: FakeClock) -> None:
    server, client = script(503, policy=Policy(attempts=99, deadline=1000, backoff=(10.0,)))
    with task("t", deadline=30) as t:
        answer = client.get(POST)
    assert answer.status_code == 503
    assert clock.slept == [10.0, 10.0]
    assert "after 3 sends stopped by deadline" in t.report().failed[0]
    assert len(server.seen) == 3


def test_the_calls_of_a_task_share_its_recovery_calls() -> None:
    server, client = script(503)
    with task("t", recovery_calls=3) as t:
        for number in range(3):
            client.get(f"{POST}/{number}")
    assert len(server.seen) == 6
    assert [each.rpartition("stopped by ")[2] for each in t.report().failed] == [
        "attempts",
        "recovery_calls",
        "recovery_calls",
    ]


def test_a_nested_task_has_limits_of_its_own() -> None:
    server, client = script(503)
    with task("outer", recovery_calls=0):
        client.get(POST)
        with task("inner"):
            client.get(POST)
    assert len(server.seen) == 4


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


def test_a_success_in_a_task_beside_corrects_nothing() -> None:
    _, client = script(422, 201)
    with task("batch") as t:
        for number in range(2):
            with task(f"item {number}"):
                client.post(POST, json=number)
    assert t.report().status == "partial"
    assert "#1 (item 0) bad_input 422" in t.report().failed[0]


def test_the_same_request_in_a_task_beside_counts_once() -> None:
    _, client = script(422, 201)
    with task("batch") as t:
        for number in range(2):
            with task(f"try {number}"):
                client.post(POST, json=7)
    assert t.report().status == "done"


def test_failing_again_and_again_and_then_succeeding_counts_once() -> None:
    _, client = script(422, 422, 422, 201)
    with task("t") as t:
        for _ in range(4):
            client.post(POST, json=1)
    assert t.report().status == "done"
    assert [each["superseded_by"] for each in t.report().to_dict()["actions"]] == [4, 4, 4, None]


def test_the_same_request_is_preferred_to_a_correction() -> None:
    _, client = script(401, 422, 201)
    with task("t") as t:
        client.post(POST, json="a")
        client.post(POST, json="b")
        client.post(POST, json="a")
    assert t.report().failed == (
        "POST api.example.com/orders #2 bad_input 422 after 1 send stopped by final",
    )


def test_a_call_made_at_the_same_time_mends_nothing(clock: FakeClock) -> None:
    first, second = threading.Event(), threading.Event()

    def refused(request: httpx.Request) -> httpx.Response:
        first.set()
        assert second.wait(10)
        clock.at += 1.0
        return httpx.Response(422)

    def taken(request: httpx.Request) -> httpx.Response:
        second.set()
        worker.join()  # so that the refusal is known before this success
        return httpx.Response(201)

    _, client = script(refused, taken)
    with task("t") as t:
        context = contextvars.copy_context()
        worker = threading.Thread(target=context.run, args=(client.post, POST))
        worker.start()
        assert first.wait(10)
        client.post(POST)
    assert t.report().status == "partial"


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
    assert len(server.seen) == 2
    assert len(t.report().unknown) == 1


def test_an_unknown_write_outlives_its_task_and_its_client(clock: FakeClock) -> None:
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
    assert again.seen == []
    clock.at += 200
    assert other.post(POST).status_code == 201


def test_a_task_with_a_policy_of_its_own_hands_over_for_its_deadline(clock: FakeClock) -> None:
    _, client = script(LOST)
    with pytest.raises(UnknownOutcome), task("t", policy=Policy(deadline=500)):
        client.post(POST)
    clock.at += 400
    assert MEMORY
    with pytest.raises(UnknownOutcome):
        client.post(POST)


def test_the_policy_of_the_mount_says_how_long_it_is_remembered(clock: FakeClock) -> None:
    server, client = script(LOST, 201, policy=Policy(deadline=500))
    with task("outer"):
        with task("inner"), pytest.raises(UnknownOutcome):
            client.post(POST)
        clock.at += 100
    clock.at += 350
    with pytest.raises(UnknownOutcome):
        client.post(POST)
    clock.at += 600
    assert client.post(POST).status_code == 201
    assert len(server.seen) == 2


def test_what_ends_after_its_task_was_left_is_remembered(clock: FakeClock) -> None:
    _, client = script(LOST, 201)
    with task("outer") as outer, task("t") as t:
        with pytest.raises(UnknownOutcome) as raised:
            client.post(POST)
        found = outcome(raised.value)
        assert found is not None
        assert found.action is not None
        outer.forget(found.action)
        t.forget(found.action)
        assert outer.find(found.action.fingerprint or "") is None
        assert not outer.has_unknown()
    MEMORY.clear()
    t.arm(found.action)
    assert outer.find(found.action.fingerprint or "") is found.action
    with pytest.raises(UnknownOutcome):
        client.post(POST)


def test_a_repeat_in_an_inner_task_is_listed_once_in_the_outer(clock: FakeClock) -> None:
    server, client = script(LOST, 201)
    with task("outer") as outer:
        with pytest.raises(UnknownOutcome):
            client.post(POST)
        with task("inner") as inner, pytest.raises(UnknownOutcome):
            client.post(POST)
    assert len(server.seen) == outer.report().calls == 1
    assert len(outer.report().unknown) == len(inner.report().unknown) == 1


def test_an_action_of_an_earlier_task_is_listed_in_each_task_around() -> None:
    _, client = script(LOST)
    with task("first"), pytest.raises(UnknownOutcome):
        client.post(POST)
    with task("outer") as outer, task("inner"), pytest.raises(UnknownOutcome):
        client.post(POST)
    assert len(outer.report().unknown) == 1


def test_what_was_resolved_in_the_task_is_not_handed_over() -> None:
    _, client = script(LOST, 201)
    with task("t") as t:
        with pytest.raises(UnknownOutcome) as raised:
            client.post(POST)
        t.resolve(raised.value, Verdict.LANDED)
    assert not MEMORY
    assert client.post(POST).status_code == 201


def test_credentials_matter_outside_a_named_task_only() -> None:
    server, client = script(LOST, 201)
    one, two = {"Authorization": "one"}, {"Authorization": "two"}
    with task("t"):
        for headers in (one, two):
            with pytest.raises(UnknownOutcome):
                client.post(POST, headers=headers)
    assert len(server.seen) == 1
    assert client.post(POST, headers=two).status_code == 201


def test_headers_of_a_rule_tell_users_apart() -> None:
    server, client = script(LOST, 201, rules=[Rule("POST /**", identity=("X-Org",))])
    with pytest.raises(UnknownOutcome):
        client.post(POST, headers={"X-Org": "1"})
    assert client.post(POST, headers={"X-Org": "2"}).status_code == 201
    with pytest.raises(UnknownOutcome):
        client.post(POST, headers={"X-Org": "1"})
    assert len(server.seen) == 2


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
    assert [each.method for each in plain.seen][:2] == ["POST", "GET"]


def test_the_caller_can_say_what_it_saw() -> None:
    server, client = script(LOST)
    with task("t") as t:
        for verdict in (Verdict.ABSENT, Verdict.LANDED):
            with pytest.raises(UnknownOutcome) as raised:
                client.post(POST)
            t.resolve(raised.value, verdict)
            assert t.report().status == ("failed" if verdict == Verdict.ABSENT else "done")
    assert len(server.seen) == 2
    assert t.report().done[0].endswith("verified by caller after 2 sends")


def test_a_landed_action_found_by_a_verifier_that_read_nothing(clock: FakeClock) -> None:
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
    assert len(server.seen) == 1
