"""Attempts, recovery calls, the deadline, and waits: nothing is sent or slept past them."""

from __future__ import annotations

from math import inf

import pytest

from httpx_recover import Policy, Rule, Verdict
from httpx_recover._budget import Budget
from httpx_recover._words import Send, Stop, Wait
from tests.call.record import (
    LOST,
    NOT_SENT,
    PLACE,
    READ_LOST,
    REFUSED,
    VERIFYING,
    Counting,
    End,
    Play,
    found,
)

ABSENT, LANDED = Verdict.ABSENT, Verdict.LANDED


# ------------------------------------------------------------------ waits


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("wait", [None, 0.0])
def test_no_wait_and_a_zero_wait_are_our_backoff(method: str, wait: float | None) -> None:
    play = Play(method).answer(503, wait)
    assert play.step == Wait(1.0, 0.5)
    assert play.sleep().answer(503, wait).step == Wait(2.0, 0.5)


def test_the_last_backoff_repeats() -> None:
    play = Play("GET", Rule(attempts=5), policy=Policy(backoff=(1.0, 3.0)))
    for _ in range(4):
        play.answer(503).sleep()
    assert play.answer(503).story == (
        "send, wait 1, send, wait 3, send, wait 3, send, wait 3, send, give response"
    )


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_servers_wait_takes_the_place_of_ours(method: str) -> None:
    assert Play(method).answer(429, 30.0).step == Wait(30.0, 0.5)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("wait", [3600.0, 120.0, inf])
def test_a_wait_that_does_not_end_before_the_deadline_is_not_begun(
    method: str, wait: float
) -> None:
    play = Play(method).answer(429, wait)
    assert play.story == "send, give response"
    assert play.end == End("failed", "rate_limit", "no", 1, "wait_too_long")
    assert play.action.wait == wait


def test_a_wait_that_is_too_long_leaves_a_lost_write_unknown_and_unread() -> None:
    for rule in (Rule(idempotent=True), Rule(dedupes=True), VERIFYING):
        play = Play("POST", rule).answer(503, 3600.0)
        assert play.story == "send, note, give response"
        assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "wait_too_long")
        assert play.action.wait == 3600.0


def test_chance_never_passes_the_deadline() -> None:
    play = Play("GET").answer(503, 119.75)
    assert play.step == Wait(119.75, 0.25)
    assert play.sleep(luck=0.99).told[-1] == "send"
    look = Play("POST", VERIFYING, policy=Policy(deadline=1.25)).lose()
    assert look.step == Wait(1.0, 0.25)


def test_chance_never_takes_the_time_that_a_write_needs() -> None:
    play = Play("PUT", policy=Policy(deadline=2.25)).answer(503)
    assert play.step == Wait(1.0, 0.25)
    assert play.sleep(luck=0.99).told[-1] == "send"
    short = Play("PUT", policy=Policy(deadline=2.25), read_timeout=0.5).answer(503)
    assert short.step == Wait(1.0, 0.5)


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_a_machine_that_overslept_sends_no_more(method: str) -> None:
    play = Play(method).answer(429)
    play.now += 500
    assert play.sleep().story == "send, wait 1, give response"
    assert play.end == End("failed", "rate_limit", "no", 1, "deadline")


def test_no_look_is_waited_for_that_cannot_be_paid() -> None:
    broke = Policy(recovery_calls=0)
    play = Play("POST", VERIFYING, policy=broke).lose()
    assert play.story == "send, note, give unknown"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "recovery_calls")
    one = Play("POST", VERIFYING).lose().sleep()
    one.call.budget.used = 10
    assert one.tell(ABSENT).story == "send, note, wait 1, ask verify, give unknown"


# ------------------------------------------------------------------ a body, and credentials


@pytest.mark.parametrize("rule", [Rule(idempotent=True), Rule(dedupes=True)])
def test_a_body_that_can_be_read_once_is_sent_once(rule: Rule) -> None:
    play = Play("POST", rule, replayable=False).answer(503)
    assert play.story == "send, note, give response"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "body")


def test_the_first_failure_is_kept_when_the_body_is_spent() -> None:
    unsent = Play("POST", replayable=False).lose(NOT_SENT)
    assert unsent.story == "send, give error"
    assert unsent.end == End("failed", "transient", "no", 1, "body")
    missing = Play("GET", named=True, replayable=False).answer(404)
    assert missing.story == "send, give response"
    absent = Play("POST", VERIFYING, replayable=False).lose().look(ABSENT).look(ABSENT)
    assert absent.told[-1] == "give error"
    assert absent.end == End("failed", "unknown_outcome", "no", 1, "body", absent_by=PLACE)


def test_bound_credentials_go_out_again_only_if_they_never_left() -> None:
    assert Play("POST", bound=True).lose(NOT_SENT).told[-1] == "wait 1"
    for play in (
        Play("GET", bound=True).lose(READ_LOST),
        Play("POST", bound=True).lose(REFUSED),
        Play("POST", bound=True).answer(429),
    ):
        assert play.told[-1].startswith("give")
        assert play.end.stop == "no_evidence"
    play = Play("PUT", bound=True).lose(LOST)
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")
    absent = Play("POST", VERIFYING, bound=True).lose().look(ABSENT).look(ABSENT)
    assert absent.end == End("failed", "unknown_outcome", "no", 1, "no_evidence", absent_by=PLACE)
    assert Play("GET", bound=True, named=True).answer(404).story == "send, give response"


# ------------------------------------------------------------------ attempts and recovery calls


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_attempts_count_the_first_try(attempts: int) -> None:
    play = Play("GET", Rule(attempts=attempts))
    for _ in range(attempts - 1):
        play.answer(503).sleep()
    assert play.answer(503).told[-1] == "give response"
    assert play.end == End("failed", "transient", "no", attempts, "attempts")


def test_calls_of_one_task_share_its_recovery_calls() -> None:
    budget = Budget()
    for _ in range(5):
        Play("GET", budget=budget).answer(503).sleep().answer(503).sleep().answer(200)
    play = Play("GET", budget=budget).answer(503)
    assert (play.story, budget.used) == ("send, give response", 10)
    assert play.end == End("failed", "transient", "no", 1, "recovery_calls")
    raced = Play("GET").answer(503)
    raced.call.budget.used = 10  # another thread took the last one meanwhile
    assert raced.sleep().end == End("failed", "transient", "no", 1, "recovery_calls")


def test_a_resend_after_absence_is_paid_for() -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).look(ABSENT)
    assert (play.told[-1], play.call.budget.used) == ("send", 1)
    spent = Play("POST", VERIFYING).lose().look(ABSENT).sleep()
    spent.call.budget.used = 10
    assert spent.tell(ABSENT).end == End(
        "failed", "unknown_outcome", "no", 1, "recovery_calls", absent_by=PLACE
    )


def test_the_last_call_may_be_taken_by_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).sleep()
    read = Play("GET", named=True)
    monkeypatch.setattr(Budget, "spend", lambda self, limit: False)
    assert play.tell(ABSENT).end.stop == "recovery_calls"
    assert read.answer(404).story == "send, give response"


def test_at_most_three_404s_of_a_task_are_confirmed() -> None:
    budget = Budget()
    stories = [Play("GET", named=True, budget=budget).answer(404).story for _ in range(5)]
    assert stories == ["send, confirm"] * 3 + ["send, give response"] * 2
    spent = Budget()
    spent.used = 10
    assert Play("DELETE", named=True, budget=spent).answer(404).told[-1] == "give response"


def test_a_read_of_ours_is_never_confirmed_and_its_first_try_is_cut() -> None:
    budget = Budget()
    budget.start(90.0)
    play = Play("GET", named=True, charged=True, budget=budget)
    assert play.step == Send(1, 110.0)
    assert play.answer(404).story == "send, give response"


def test_no_count_and_no_look_after_success_when_nothing_is_left() -> None:
    sure = Play("POST", Rule(verify=found, confirm=True), policy=Policy(recovery_calls=0))
    assert sure.answer(201).story == "send, give response"
    play = Play("POST", Rule(verify=Counting())).lose().look(ABSENT).look(ABSENT)
    play.call.budget.used = 10
    assert play.answer(201).told[-1] == "give response"


# ------------------------------------------------------------------ the deadline


def test_the_clock_starts_with_the_first_failure_that_recovery_acts_on() -> None:
    play = Play("GET")
    play.answer(503, took=50.0)
    assert play.call.budget.first_failure == 150.0
    assert play.sleep(luck=0).step == Send(2, 119.0)  # of the 120 s


def test_nothing_is_sent_again_after_the_deadline_of_the_task() -> None:
    budget = Budget()
    budget.start(-50.0)
    play = Play("GET", budget=budget)
    assert play.step == Send(1, None)  # a first try goes out, with its own timeouts
    assert play.answer(503).story == "send, give response"
    assert play.end == End("failed", "transient", "no", 1, "deadline")
    conflict = Play("POST", VERIFYING, budget=budget).answer(409)
    assert conflict.story == "send, give response"


@pytest.mark.parametrize(("timeout", "goes"), [(None, False), (5.0, False), (0.5, True)])
def test_no_write_is_sent_with_too_little_time_left(timeout: float | None, goes: bool) -> None:
    policy = Policy(deadline=1.9)
    play = Play("PUT", policy=policy, read_timeout=timeout).answer(503)
    assert play.told[-1] == ("wait 1" if goes else "give response")
    if not goes:
        assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "deadline")
    assert Play("GET", policy=policy).answer(503).told[-1] == "wait 1"


def test_a_write_that_overslept_into_the_last_second_is_not_sent() -> None:
    play = Play("PUT", policy=Policy(deadline=3.0)).answer(503)
    play.now += 1.5
    assert play.sleep(luck=0).told[-1] == "give response"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "deadline")


def test_an_absence_seen_too_late_means_failed() -> None:
    play = Play("POST", VERIFYING, policy=Policy(deadline=2.5)).lose().look(ABSENT).look(ABSENT)
    assert play.told[-1] == "give error"
    assert play.end == End("failed", "unknown_outcome", "no", 1, "deadline", absent_by=PLACE)


def test_no_look_is_begun_after_the_deadline() -> None:
    soon = Play("POST", VERIFYING, policy=Policy(deadline=0.5)).lose()
    assert soon.story == "send, note, give unknown"
    assert soon.end == End("unknown", "unknown_outcome", "unknown", 1, "deadline")
    second = Play("POST", VERIFYING, policy=Policy(deadline=1.8)).lose().look(ABSENT)
    assert second.story == "send, note, wait 1, ask verify, give unknown"
    asleep = Play("POST", VERIFYING).lose()
    asleep.now += 500
    assert asleep.sleep().end.stop == "deadline"
    paid = Play("POST", VERIFYING).lose()
    paid.call.budget.used = 10
    assert paid.sleep().step == Stop("unknown")
    assert paid.end.stop == "recovery_calls"
