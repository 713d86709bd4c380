"""The rules of recovery, one promise a test, without a client."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from httpx_recover import Applied, FailureClass, Policy, Rule, Verdict
from httpx_recover._budget import Budget
from httpx_recover._ledger import OPEN, Action
from httpx_recover._words import Ask, Send, Stop, Wait
from tests.call.record import (
    BAD,
    BUG,
    LOST,
    NOT_SENT,
    READ_LOST,
    UNSENT_BUG,
    Counting,
    Play,
    found,
)

KEYED = Rule(dedupes=True)
VERIFIED = Rule(verify=found)
COUNTED = Rule(verify=Counting())
ABSENT, LANDED, UNCLEAR = Verdict.ABSENT, Verdict.LANDED, Verdict.UNCLEAR


def absent_twice(play: Play) -> Play:
    """Lost; the first look after the backoff, the second once the server had time."""
    for _ in range(2):
        if type(play.step) is Wait:
            play.sleep()
        play.tell(ABSENT)
    return play


# ------------------------------------------------------------------ the easy ends


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_success_is_done(method: str) -> None:
    action = Play(method).answer(201).ends("response", "done")
    assert (action.sign, action.failure, action.applied) == ("answer 201", "ok", "yes")


@pytest.mark.parametrize("status", [401, 403, 407, 400, 405, 422, 501, 402, 507, 511])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_what_waiting_cannot_mend_stops(method: str, status: int) -> None:
    action = Play(method).answer(status).ends("response", "failed", "final")
    assert action.applied is Applied.NO
    assert action.cause == str(status)


def test_local_errors_stop() -> None:
    assert Play("POST").lose(BAD).ends("error", "failed", "final").failure == "bad_input"


def test_a_bug_below_is_never_repeated() -> None:
    assert Play("GET").lose(BUG).ends("error", "failed", "final").sends == 1
    assert Play("POST").lose(UNSENT_BUG).ends("error", "failed", "final").sends == 1
    assert Play("POST", KEYED).lose(BUG).ends("error", "unknown", "final").lost_end


def test_an_expected_status_is_an_answer() -> None:
    play = Play("GET", Rule(expect={404}), named=True).answer(404)
    assert play.ends("response", "done").sign == "answer 404"
    assert play.call.budget.first_failure is None


@pytest.mark.parametrize(
    ("status", "named", "end"),
    [
        (409, FailureClass.TRANSIENT, "unknown"),
        (403, FailureClass.RATE_LIMIT, "wait"),
        (503, FailureClass.RATE_LIMIT, "unknown"),
        (200, FailureClass.RATE_LIMIT, "unknown"),
        (409, FailureClass.OK, "done"),
        (409, FailureClass.ALREADY_DONE, "done"),
        (409, FailureClass.CONFLICT, "unknown"),
        (503, FailureClass.BAD_INPUT, "unknown"),
    ],
)
def test_a_rule_names_the_class(status: int, named: FailureClass, end: str) -> None:
    play = Play("POST", Rule(classes={status: named})).answer(status)
    assert end in (play.action.state, type(play.step).__name__.lower())


def test_odd_answers_to_reads() -> None:
    assert Play("GET").answer(202).ends("response", "done").sign == "answer 202"
    assert Play("GET").answer(207).ends("response", "done")
    assert Play("GET").answer(409).ends("response", "failed", "final")
    rule = Rule(classes={409: FailureClass.IN_PROGRESS})
    assert Play("GET", rule).answer(409).sleep(1.0).answer(200).ends("response", "done")


def test_a_write_asked_for_elsewhere_is_not_done() -> None:
    assert Play("POST").answer(307).ends("response", "unknown").cause == "307"
    assert Play("GET").answer(307).ends("response", "done")
    assert Play("POST").answer(303).ends("response", "done")


# ------------------------------------------------------------------ waits and limits


def test_reads_are_sent_again_after_growing_waits() -> None:
    play = Play("GET").answer(503).sleep(1.0).lose(READ_LOST).sleep(2.0).answer(502)
    assert play.ends("response", "failed", "attempts").sends == 3
    assert [type(step) for step in play.steps] == [Send, Wait, Send, Wait, Send, Stop]


def test_a_servers_wait_takes_the_place_of_ours() -> None:
    play = Play("GET").answer(429, 7.0)
    assert play.step == Wait(7.0, 0.5)
    assert play.sleep().answer(429, 0.0).sleep(2.0).answer(200).ends("response", "done")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_wait_past_the_deadline_is_not_begun(method: str) -> None:
    action = Play(method).answer(429, 3600.0).ends("response", "failed", "wait_too_long")
    assert action.wait == 3600.0


def test_a_wait_that_ends_with_the_deadline_is_too_long() -> None:
    assert Play("GET").answer(503, 120.0).step == Stop("response")
    play = Play("GET").answer(503, 119.75)
    assert play.step == Wait(119.75, 0.25)  # jitter never passes the deadline
    assert play.sleep().ends("response", "failed", "deadline")


def test_no_wait_without_a_send() -> None:
    play = Play("GET", policy=Policy(deadline=0.5)).answer(503)
    assert play.ends("response", "failed", "deadline")
    play = Play("GET", policy=Policy(recovery_calls=0)).answer(503)
    assert play.ends("response", "failed", "recovery_calls")
    play = Play("GET", Rule(attempts=1)).answer(503)
    assert play.ends("response", "failed", "attempts")


def test_the_last_recovery_call_may_go_while_we_wait() -> None:
    budget = Budget()
    play = Play("GET", budget=budget).answer(503)
    budget.used = 10
    assert play.sleep().ends("response", "failed", "recovery_calls")


def test_nothing_is_begun_after_the_deadline_of_an_earlier_failure() -> None:
    budget = Budget()
    budget.start(0.0)
    play = Play("GET", policy=Policy(deadline=50), budget=budget).answer(503)
    assert play.ends("response", "failed", "deadline")


def test_timeouts_are_cut_for_resends_only() -> None:
    play = Play("GET", policy=Policy(deadline=30.0, jitter=0)).answer(503)
    assert play.steps[0] == Send(1, None)
    play.sleep()
    assert play.step.timeout == pytest.approx(29.0)


def test_no_write_is_sent_with_too_little_time_left() -> None:
    policy = Policy(deadline=1.9, jitter=0)
    assert Play("PUT", policy=policy).answer(503).ends("response", "unknown", "deadline")
    assert type(Play("GET", policy=policy).answer(503).step) is Wait
    short = Play("PUT", policy=policy, read_timeout=0.5).answer(503)
    assert type(short.step) is Wait  # its own timeout is shorter still


def test_a_body_that_can_be_read_once_is_sent_once() -> None:
    play = Play("PUT", replayable=False).answer(503)
    assert play.ends("response", "unknown", "body").sends == 1
    assert Play("POST", replayable=False).lose(NOT_SENT).ends("error", "failed", "body")


def test_bound_credentials_are_not_replayed() -> None:
    assert Play("GET", bound=True).answer(503).ends("response", "failed", "no_evidence")
    assert type(Play("POST", bound=True).lose(NOT_SENT).step) is Wait


# ------------------------------------------------------------------ never processed


def test_what_was_not_processed_needs_no_evidence() -> None:
    for failing in (lambda p: p.lose(NOT_SENT), lambda p: p.answer(425), lambda p: p.answer(429)):
        play = failing(Play("POST"))
        assert play.sleep().answer(201).ends("response", "done").sends == 2
    play = Play("POST").lose(NOT_SENT).sleep().lose(NOT_SENT).sleep().lose(NOT_SENT)
    action = play.ends("error", "failed", "attempts")
    assert (action.failure, action.applied) == ("transient", "no")


# ------------------------------------------------------------------ unknown, without evidence


def test_an_unknown_write_is_sent_once() -> None:
    action = Play("POST").lose().ends("unknown", "unknown", "no_evidence")
    assert (action.failure, action.applied, action.sends) == ("unknown_outcome", "unknown", 1)
    for status in (500, 502, 503, 504, 408, 599):
        assert Play("POST").answer(status).ends("response", "unknown", "no_evidence")


def test_a_later_refusal_never_overwrites_an_earlier_unknown() -> None:
    for last in (422, 401, 404, 412, 429):
        play = Play("PUT").lose().sleep().answer(last)
        if last == 429:
            play.sleep().answer(last)
        action = play.ends("earlier", "unknown", "attempts" if last == 429 else "final")
        assert action.failure == "unknown_outcome"
        assert action.note == f"the last send ended with {last}"
    play = Play("PUT").answer(503).sleep().lose(NOT_SENT).sleep().lose(NOT_SENT)
    assert play.ends("earlier", "unknown", "attempts")
    play = Play("PUT").lose().sleep().answer(409)
    assert play.ends("earlier", "unknown", "final")


def test_a_deleted_thing_is_gone_but_not_proven_to_be_ours() -> None:
    action = Play("DELETE").lose().sleep().answer(404).ends("response", "done")
    assert action.failure is FailureClass.ALREADY_DONE
    assert action.note == "gone now but not proven to be ours"
    assert Play("DELETE").answer(404).ends("response", "failed", "final")


def test_idempotence_can_be_taken_away_and_given() -> None:
    assert Play("PUT", Rule(idempotent=False)).lose().ends("unknown", "unknown", "no_evidence")
    play = Play("POST", Rule(idempotent=True)).lose().sleep().answer(201)
    assert play.ends("response", "done").trail[1].evidence == "idempotent"
    assert type(Play("PATCH", Rule(conditional=True)).lose().step) is Wait


# ------------------------------------------------------------------ a trusted key


def test_a_trusted_key_is_evidence_within_its_window() -> None:
    play = Play("POST", KEYED).lose().sleep(1.0).lose().sleep(2.0).lose()
    assert play.ends("unknown", "unknown", "attempts").sends == 3
    assert play.action.trail[2].evidence == "trusted key"
    short = Play("POST", Rule(dedupes=True, window=1.0)).lose()
    assert short.ends("unknown", "unknown", "no_evidence").sends == 1
    tight = Play("POST", Rule(dedupes=True, window=1.3)).lose()
    assert tight.sleep().ends("unknown", "unknown", "no_evidence")


def test_that_the_last_attempt_did_nothing_does_not_outlive_the_key() -> None:
    short = Rule(dedupes=True, window=6.0)
    play = Play("POST", short).lose().sleep(1.0).answer(429)
    assert play.sleep().answer(201).ends("response", "done")
    play = Play("POST", Rule(dedupes=True, window=3.0)).lose().sleep(1.0).answer(429)
    assert play.ends("earlier", "unknown", "no_evidence").sends == 2
    play = Play("POST", Rule(dedupes=True, window=3.0)).lose().sleep(1.0).lose(NOT_SENT)
    assert play.ends("earlier", "unknown", "no_evidence").sends == 2
    free = Play("POST", Rule(dedupes=True, window=1.0)).answer(429).sleep().answer(201)
    assert free.ends("response", "done")  # nothing is unknown: no key is needed


def test_an_unexplained_conflict_is_asked_again_once_under_the_key() -> None:
    play = Play("POST", KEYED).answer(409).sleep().answer(409)
    assert play.ends("response", "unknown", "final").sends == 2
    play = Play("POST", KEYED).lose().sleep().answer(409).sleep().answer(201)
    assert play.ends("response", "done").sends == 3
    spent = Play("POST", Rule(dedupes=True, attempts=1)).answer(409)
    assert spent.ends("response", "unknown", "final")


def test_a_twin_still_running_is_waited_for_under_the_key() -> None:
    twin = Rule(dedupes=True, classes={409: FailureClass.IN_PROGRESS})
    play = Play("POST", twin).lose().sleep().answer(409).sleep().answer(409)
    assert play.ends("earlier", "unknown", "final")
    bare = Rule(classes={409: FailureClass.IN_PROGRESS})
    assert Play("POST", bare).answer(409).ends("response", "unknown", "final")


def test_the_answer_of_a_landed_write_is_asked_for_again_only_under_a_key() -> None:
    action = Play("POST").cut().ends("error", "done")
    assert (action.applied, action.lost_answer) == ("yes", True)
    play = Play("POST", KEYED).cut()
    assert play.sleep().answer(201).ends("response", "done").note
    play = Play("POST", KEYED).cut().sleep().answer(409).sleep().answer(409)
    assert play.ends("earlier", "done").applied is Applied.YES
    play = Play("GET").cut(200).sleep().answer(200)
    assert play.ends("response", "done").sends == 2
    assert Play("POST").answer(422).ends("response", "failed", "final")


# ------------------------------------------------------------------ a verifier


def test_landed_is_done_and_sent_once() -> None:
    action = Play("POST", VERIFIED).lose().sleep(1.0).tell(LANDED).ends("read", "done")
    assert (action.sign, action.sends) == ("read GET h.example/x", 1)


def test_absence_needs_two_looks_and_time() -> None:
    play = Play("POST", VERIFIED).lose(took=0.1).sleep(1.0).tell(ABSENT)
    assert play.step.seconds == pytest.approx(0.5)  # 2 s after the end, less what was slept
    assert play.sleep().tell(ABSENT).step.number == 2
    assert play.answer(201).ends("response", "done").sends == 2


def test_a_slow_attempt_gets_a_second_look_as_late_as_it_was_slow() -> None:
    play = Play("POST", VERIFIED).lose(took=9.0).sleep(1.0).tell(ABSENT)
    assert play.step.seconds == pytest.approx(7.5)
    slow = Play("POST", VERIFIED, policy=Policy(deadline=8.0)).lose(took=9.0).sleep().tell(ABSENT)
    assert slow.step.seconds == pytest.approx(0.5)  # as long as it was slow would be too late


def test_absence_after_the_last_attempt_means_failed() -> None:
    play = Play("POST", VERIFIED)
    for _ in range(2):
        assert type(absent_twice(play.answer(503)).step) is Send
    action = absent_twice(play.answer(503)).ends("response", "failed", "attempts")
    assert (action.absent_by, action.applied, action.sends) == ("GET h.example/x", "no", 3)


@pytest.mark.parametrize("settle", [None, 0])
def test_settle_of_a_route(settle: float | None) -> None:
    play = Play("POST", Rule(verify=found, settle=settle)).lose(took=0).sleep().tell(ABSENT)
    if settle is None:
        assert play.sleep().tell(ABSENT).ends("unknown", "unknown", "no_evidence")
    else:
        assert play.tell(ABSENT).step.number == 2


def test_each_absence_buys_one_resend() -> None:
    play = absent_twice(Play("POST", VERIFIED).lose())
    play.lose()
    assert type(play.step) is Wait
    assert play.sleep().tell(LANDED).ends("read", "done").sends == 2


def test_unclear_is_unknown() -> None:
    why = Verdict("UNCLEAR", why="no list")
    action = Play("POST", VERIFIED).lose().sleep().tell(why).ends("unknown", "unknown", "unclear")
    assert action.note == "no list"
    assert (
        Play("POST", VERIFIED)
        .answer(502)
        .sleep()
        .tell(UNCLEAR)
        .ends("response", "unknown", "unclear")
    )
    play = Play("POST", VERIFIED).lose().sleep().tell(UNCLEAR, "recovery_calls")
    assert play.ends("unknown", "unknown", "recovery_calls")


def test_equal_calls_in_flight_are_looked_at_again() -> None:
    later = Verdict("UNCLEAR", again=True, why="equal calls are still in flight")
    play = Play("POST", VERIFIED).lose().sleep().tell(later).sleep().tell(later)
    assert play.ends("unknown", "unknown", "unclear").note == later.why


def test_items_are_reported_and_never_resent() -> None:
    part = Verdict.PARTIAL(["a"], ["b"])
    action = Play("POST", VERIFIED).lose().sleep().tell(part).ends("unknown", "failed", "unclear")
    assert (action.failure, action.items) == ("partial", (("a",), ("b",)))
    whole = Play("POST", VERIFIED).answer(503).sleep().tell(Verdict.PARTIAL(["a"], []))
    assert whole.ends("read", "done").applied is Applied.YES
    assert Play("POST", VERIFIED, action=action).step == Stop("refused")


def test_a_verifier_has_the_last_word_when_a_key_runs_out() -> None:
    both = Rule(dedupes=True, verify=found, attempts=1)
    assert Play("POST", both).lose().sleep().tell(LANDED).ends("read", "done")
    refused = Rule(dedupes=True, verify=found)
    play = Play("POST", refused).lose().sleep().answer(401)
    assert play.sleep(1.9) if play.step.seconds == 1.9 else play.sleep()
    assert play.tell(LANDED).ends("read", "done")


def test_a_refusal_after_an_unknown_attempt_that_is_absent_has_failed() -> None:
    play = Play("PUT", Rule(verify=found)).lose().sleep().answer(422)
    action = absent_twice(play).ends("response", "failed", "final")
    assert (action.cause, action.absent_by) == ("422", "GET h.example/x")


def test_a_conflict_is_a_question() -> None:
    assert Play("POST", VERIFIED).answer(409).tell(LANDED).ends("read", "done").failure == (
        "already_done"
    )
    assert Play("POST", VERIFIED).answer(409).tell(ABSENT).ends("response", "unknown", "final")
    assert Play("POST").answer(409).ends("response", "unknown", "final")
    assert Play("POST").answer(423).ends("response", "failed", "final")
    assert Play("POST", VERIFIED).answer(412).tell(ABSENT).ends("response", "failed", "final")


def test_a_412_after_our_own_unknown_attempt_is_a_question() -> None:
    tagged = Rule(verify=found)
    play = Play("PUT", tagged).lose().sleep().answer(412)
    assert play.step == Ask("verify")
    assert play.tell(LANDED).ends("read", "done").failure == "already_done"
    play = Play("PUT", tagged).lose().sleep().answer(412).tell(ABSENT)
    if type(play.step) is Wait:
        play.sleep()
    assert play.tell(ABSENT).ends("response", "failed", "final").failure == "conflict"
    assert Play("PUT").lose().sleep().answer(412).ends("earlier", "unknown", "final")


def test_a_late_copy_answers_409_to_the_resend() -> None:
    play = absent_twice(Play("POST", VERIFIED).lose()).answer(409)
    assert play.tell(LANDED).ends("read", "done").failure == "already_done"


def test_a_resend_after_absence_is_counted() -> None:
    play = absent_twice(Play("POST", COUNTED).lose()).answer(201)
    assert play.step == Ask("count")
    one = copy.deepcopy(play).tell(Verdict("LANDED", count=1), question="count")
    assert one.ends("response", "done").sign == "answer 201"
    two = copy.deepcopy(play).tell(Verdict("LANDED", count=2), question="count")
    action = two.ends("response", "unknown", "final")
    assert (action.note, action.failure) == ("2 copies landed", "conflict")
    unsure = copy.deepcopy(play).tell(UNCLEAR, question="count")
    assert unsure.ends("response", "done")


def test_confirm_runs_the_verifier_after_a_success() -> None:
    sure = Rule(verify=found, confirm=True)
    assert (
        Play("POST", sure).answer(201).tell(LANDED, question="assure").ends("response", "done").sign
        == "read GET h.example/x"
    )
    doubt = Play("POST", sure).answer(201).tell(ABSENT, question="assure")
    assert doubt.ends("response", "unknown", "unclear").note
    spent = Play("POST", sure, policy=Policy(recovery_calls=0)).answer(201)
    assert spent.ends("response", "done")


@pytest.mark.parametrize("status", [202, 207, 208])
def test_accepted_is_not_done(status: int) -> None:
    assert Play("POST").answer(status).ends("response", "unknown")
    asked = Play("POST", VERIFIED).answer(status)
    assert copy.deepcopy(asked).tell(LANDED, question="settle").ends("response", "done")
    assert copy.deepcopy(asked).tell(ABSENT, question="settle").ends("response", "unknown")
    part = asked.tell(Verdict.PARTIAL(["a"], ["b"]), question="settle")
    assert part.ends("response", "failed", "unclear").items


def test_a_count_before_the_first_send() -> None:
    class Based(Counting):
        baseline = True

    rule = Rule(verify=Based())
    play = Play("POST", rule).tell(Verdict("ABSENT", count=0), question="baseline")
    assert play.lose().sleep().tell(LANDED).ends("read", "done").baseline == 0
    blind = Play("POST", rule).tell(UNCLEAR, question="baseline").lose().sleep().tell(LANDED)
    assert blind.ends("unknown", "unknown", "unclear").note == (
        "the copies of before could not be counted"
    )


def test_no_look_past_the_limits() -> None:
    late = Play("POST", VERIFIED, policy=Policy(deadline=0.5)).lose()
    assert late.ends("unknown", "unknown", "deadline")
    far = Play("POST", VERIFIED).answer(503, 3600.0)
    assert far.ends("response", "unknown", "wait_too_long")
    spent = Play("POST", VERIFIED, policy=Policy(recovery_calls=0)).lose()
    assert spent.ends("unknown", "unknown", "recovery_calls")
    play = Play("POST", VERIFIED).lose()
    play.now += 500
    assert play.sleep().ends("unknown", "unknown", "deadline")
    play = Play("POST", VERIFIED, policy=Policy(deadline=1.8)).lose().sleep().tell(ABSENT)
    assert play.ends("unknown", "unknown", "deadline")


def test_no_resend_past_the_limits() -> None:
    play = Play("POST", VERIFIED, policy=Policy(deadline=3.0)).lose().sleep().tell(ABSENT).sleep()
    action = play.tell(ABSENT).ends("error", "failed", "deadline")
    assert (action.absent_by, action.applied) == ("GET h.example/x", "no")
    budget = Budget()
    play = Play("POST", VERIFIED, budget=budget).lose().sleep().tell(ABSENT).sleep()
    budget.used = 10
    assert play.tell(ABSENT).ends("error", "failed", "recovery_calls")
    play = Play("POST", VERIFIED, replayable=False).lose()
    assert absent_twice(play).ends("error", "failed", "body")


# ------------------------------------------------------------------ a 404 in a named task


def test_a_404_of_a_read_is_confirmed_by_the_same_read() -> None:
    play = Play("GET", named=True).answer(404)
    assert play.action.trail[-1].kind == "confirm"
    assert copy.deepcopy(play).answer(200).ends("response", "done")
    again = copy.deepcopy(play).answer(404).ends("response", "failed", "final")
    assert (again.sends, len(again.trail)) == (1, 2)
    assert copy.deepcopy(play).lose(READ_LOST).ends("earlier", "failed", "final").note
    action = play.answer(503).ends("earlier", "failed", "final")
    assert (action.failure, action.cause) == ("not_found", "404")
    assert play.call.budget.first_failure is None


def test_a_404_of_a_write_is_confirmed_for_the_report() -> None:
    for verdict, said in ((ABSENT, "agreed"), (LANDED, "disagreed"), (UNCLEAR, "not tell")):
        play = Play("DELETE", named=True).answer(404).tell(verdict, question="confirm")
        assert said in (play.ends("response", "failed", "final").note or "")
    assert Play("POST", named=True).answer(404).ends("response", "failed", "final")


def test_few_404s_are_confirmed() -> None:
    budget = Budget()
    steps = [Play("GET", named=True, budget=budget).answer(404).step for _ in range(5)]
    assert [type(step) for step in steps] == [Send] * 3 + [Stop] * 2
    assert Play("GET", named=True, policy=Policy(confirm_missing=False)).answer(404).step == Stop(
        "response"
    )
    assert Play("GET").answer(404).ends("response", "failed", "final")
    assert Play("GET", Rule(attempts=1), named=True).answer(404).step == Stop("response")


def test_threads_may_spend_the_last_call_between_two_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play = Play("POST", VERIFIED).lose().sleep().tell(ABSENT).sleep()
    monkeypatch.setattr(Budget, "spend", lambda self, limit: False)
    assert play.tell(ABSENT).ends("error", "failed", "recovery_calls")


def test_a_confirming_read_may_find_nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget()
    play = Play("GET", named=True, budget=budget)
    monkeypatch.setattr(Budget, "spend", lambda self, limit: False)
    assert play.answer(404).ends("response", "failed", "final")


# ------------------------------------------------------------------ repeats


def unknown(rule: Rule | None = None, method: str = "POST") -> Action:
    play = Play(method, rule).lose()
    if type(play.step) is not Stop:
        play.call.abandoned(play.now, "CancelledError", sent=True)
    assert play.action.state == "unknown"
    return play.action


def test_a_repeat_without_evidence_is_refused_unsent() -> None:
    action = Play("POST", action=unknown()).ends("refused", "unknown", "no_evidence")
    assert action.sends == 1


def test_a_repeat_goes_on_with_its_evidence() -> None:
    assert (
        Play("POST", KEYED, action=unknown(KEYED)).answer(201).ends("response", "done").sends == 2
    )
    assert Play("PUT", action=unknown(method="PUT")).answer(200).ends("response", "done")
    again = Play("POST", VERIFIED, action=unknown())
    assert again.step == Ask("verify") or again.sleep().step == Ask("verify")
    assert again.tell(LANDED).ends("read", "done").sends == 1
    expired, action = Rule(dedupes=True, window=0.05), unknown()
    action.first_sent = 0.0
    assert Play("POST", expired, action=action).step == Stop("refused")


def test_a_repeat_that_is_absent_is_sent() -> None:
    play = Play("POST", VERIFIED, action=unknown())
    if type(play.step) is Wait:
        play.sleep()
    play.tell(ABSENT)
    if type(play.step) is Wait:
        play.sleep()
    assert play.tell(ABSENT).answer(201).ends("response", "done").sends == 2
    broke = Play("POST", VERIFIED, action=unknown(), policy=Policy(recovery_calls=1))
    if type(broke.step) is Wait:
        broke.sleep()
    broke.tell(ABSENT)
    if type(broke.step) is Wait:
        broke.sleep()
    broke.call.budget.used = 1
    assert broke.tell(ABSENT).ends("refused", "unknown", "recovery_calls").absent_by is None


def test_a_caller_that_saw_it_absent_may_send_once_more() -> None:
    action = unknown()
    action.state, action.permit = "failed", True
    play = Play("POST", action=action)
    assert (action.permit, action.state) == (False, OPEN)
    assert play.lose().ends("unknown", "unknown", "no_evidence").sends == 2
    assert Play("POST", action=action).step == Stop("refused")


def test_a_lost_answer_is_never_sent_for_without_a_key() -> None:
    def landed() -> Action:
        return Play("POST").cut().action

    assert Play("POST", action=landed()).step == Stop("refused")
    play = Play("POST", VERIFIED, action=landed())
    while type(play.step) is not Stop:
        play = play.sleep() if type(play.step) is Wait else play.tell(ABSENT)
    assert (play.step, play.action.state) == (Stop("refused"), "done")
    found_it = Play("POST", VERIFIED, action=landed())
    if type(found_it.step) is Wait:
        found_it.sleep()
    assert found_it.tell(LANDED).ends("read", "done")
    assert Play("POST", KEYED, action=landed()).answer(201).ends("response", "done").sends == 2


# ------------------------------------------------------------------ the caller has gone


def test_a_write_in_flight_is_unknown_and_one_not_sent_is_not() -> None:
    play = Play("POST")
    play.call.abandoned(play.now, "CancelledError", sent=True)
    assert (play.action.state, play.action.stop) == ("unknown", "cancelled")
    assert play.action.lost_end
    play = Play("POST")
    play.call.abandoned(play.now, "CancelledError", sent=False)
    assert (play.action.state, play.action.applied) == ("failed", "no")
    play = Play("GET")
    play.call.abandoned(play.now, "KeyboardInterrupt", sent=True)
    assert (play.action.state, play.action.cause) == ("failed", "KeyboardInterrupt")


def test_what_was_done_stays_done() -> None:
    play = Play("POST", Rule(verify=found, confirm=True)).answer(201)
    play.call.abandoned(play.now, "CancelledError", sent=True)
    assert play.action.state == "done"
    waiting = Play("PUT").lose()
    waiting.call.abandoned(waiting.now, "CancelledError", sent=True)
    assert (waiting.action.state, waiting.action.stop) == ("unknown", "cancelled")
    looking = Play("POST", VERIFIED, action=unknown())
    looking.call.abandoned(looking.now, "CancelledError", sent=True)
    assert looking.action.state == "unknown"


def test_a_record_can_be_stored_and_goes_on() -> None:
    play = Play("POST", KEYED).lose()
    call = pickle.loads(pickle.dumps(play.call))
    step: Any = call.woke(play.now + 1)
    assert step == play.call.woke(play.now + 1)
    assert call.answered(play.now + 2, 201) == Stop("response")
    assert call.action.sign == "answer 201"


def test_a_broken_invariant_stops() -> None:
    play = Play("POST").answer(201)
    with pytest.raises(AssertionError, match="ended twice"):
        play.call.answered(play.now, 201)
    with pytest.raises(AssertionError, match="without a send"):
        Play("POST", action=unknown()).call.lost(0.0, LOST)
