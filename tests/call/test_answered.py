"""What an answer means: each row of the contract's table of classes, for a read and a write."""

from __future__ import annotations

import pytest

from httpx_recover import FailureClass, Policy, Rule, Verdict
from tests.call.record import (
    LOST,
    NOT_SENT,
    PLACE,
    READ,
    READ_LOST,
    VERIFYING,
    Counting,
    End,
    Play,
    again,
    found,
)

KEYED = Rule(dedupes=True)
RUNNING = Rule(dedupes=True, classes={409: FailureClass.IN_PROGRESS})
LANDED, ABSENT, UNCLEAR = Verdict.LANDED, Verdict.ABSENT, Verdict.UNCLEAR
TWO_WAITS = "send, wait 1, send, wait 2, send"


# ------------------------------------------------------------------ the rows


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize("status", [421, 425])
def test_what_the_server_sent_back_unprocessed_is_sent_again(method: str, status: int) -> None:
    play = Play(method).answer(status).sleep().answer(status).sleep().answer(status)
    assert play.story == f"{TWO_WAITS}, give response"
    assert play.end == End("failed", "transient", "no", 3, "attempts")


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 520, 524, 599])
def test_a_lost_answer_to_a_read_is_asked_for_again(status: int) -> None:
    play = Play("GET").answer(status).sleep().answer(status).sleep().answer(status)
    assert play.story == f"{TWO_WAITS}, give response"
    assert play.end == End("failed", "transient", "no", 3, "attempts")


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504, 520, 524, 599])
def test_a_lost_answer_to_a_write_is_an_unknown_outcome(status: int) -> None:
    play = Play("POST").answer(status)
    assert play.story == "send, note, give response"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")
    assert play.action.lost_end is not None  # a repeat of it is held back


def test_a_read_cut_in_its_body_is_asked_for_again() -> None:
    play = Play("GET").cut(200).sleep().cut(200).sleep().answer(200)
    assert play.story == f"{TWO_WAITS}, give response"
    assert play.end == End("done", "ok", "yes", 3, sign="answer 200")


@pytest.mark.parametrize("status", [200, 202, 207])
def test_half_an_answer_to_a_read_is_none(status: int) -> None:
    play = Play("GET").cut(status).sleep().cut(status).sleep().cut(status)
    assert play.story == f"{TWO_WAITS}, give response"  # which raises where it was cut
    assert play.end == End("failed", "transient", "no", 3, "attempts")


def test_a_write_cut_in_its_answer_is_applied() -> None:
    play = Play("POST").cut(201)
    assert play.story == "send, give error"
    note = "the body of the answer was lost"
    assert play.end == End("done", "ok", "yes", 1, sign="answer 201", note=note)
    assert (play.action.lost_answer, play.action.trail[0].phase) == (True, "body cut")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_no_method_is_evidence_that_may_fetch_a_lost_answer(method: str) -> None:
    assert Play(method, VERIFYING).cut(200).story == "send, give error"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_rate_limit_waits_as_told_else_the_backoff(method: str) -> None:
    play = Play(method).answer(429, 7.0).sleep().answer(429).sleep().answer(201)
    assert play.story == "send, wait 7, send, wait 2, send, give response"
    assert play.end == End("done", "ok", "yes", 3, sign="answer 201")
    spent = Play(method).answer(429).sleep().answer(429).sleep().answer(429)
    assert spent.end == End("failed", "rate_limit", "no", 3, "attempts")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [402, 507])
def test_a_quota_stops(method: str, status: int) -> None:
    play = Play(method).answer(status)
    assert play.story == "send, give response"
    assert play.end == End("failed", "quota", "no", 1, "final")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize(
    "status", [400, 405, 406, 411, 413, 414, 415, 416, 417, 422, 426, 428, 431, 501, 505]
)
def test_bad_input_stops_and_starts_no_clock(method: str, status: int) -> None:
    play = Play(method).answer(status)
    assert play.story == "send, give response"
    assert play.end == End("failed", "bad_input", "no", 1, "final")
    assert play.call.budget.first_failure is None


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("status", [401, 403, 407, 451, 511])
def test_credentials_stop_and_start_no_clock(method: str, status: int) -> None:
    play = Play(method).answer(status)
    assert play.story == "send, give response"
    assert play.end == End("failed", "auth", "no", 1, "final")
    assert play.call.budget.first_failure is None


def test_413_with_a_wait_is_a_rate_limit_and_304_to_a_write_is_not_an_answer() -> None:
    assert Play("POST").answer(413, 3.0).sleep().answer(201).story == (
        "send, wait 3, send, give response"
    )
    assert Play("PUT").answer(304).end == End("failed", "bad_input", "no", 1, "final")
    assert Play("GET").answer(304).end == End("done", "ok", "yes", 1, sign="answer 304")


@pytest.mark.parametrize("status", [409, 412, 423])
def test_a_conflict_ends_a_read(status: int) -> None:
    play = Play("GET").answer(status)
    assert play.story == "send, give response"
    assert play.end == End("failed", "conflict", "no", 1, "final")


@pytest.mark.parametrize("status", [412, 423])
def test_412_and_423_to_a_first_attempt_did_nothing(status: int) -> None:
    play = Play("PUT").answer(status)
    assert play.story == "send, give response"
    assert play.end == End("failed", "conflict", "no", 1, "final")


def test_409_to_a_first_attempt_is_unknown_but_an_answer() -> None:
    play = Play("PUT").answer(409)
    assert play.story == "send, give response"
    assert play.end == End("unknown", "conflict", "unknown", 1, "final")
    assert play.action.lost_end is None  # a repeat of it is a new action


@pytest.mark.parametrize("status", [409, 412, 423])
def test_a_conflict_is_asked_about_once_where_there_is_a_verifier(status: int) -> None:
    won = Play("POST", VERIFYING).answer(status).tell(LANDED)
    assert won.story == "send, ask verify, give read"
    assert won.end == End("done", "already_done", "yes", 1, sign=READ)
    lost = Play("POST", VERIFYING).answer(status).tell(ABSENT)
    assert lost.story == "send, ask verify, give response"
    state = ("unknown", "unknown") if status == 409 else ("failed", "no")
    assert lost.end == End(state[0], "conflict", state[1], 1, "final")


@pytest.mark.parametrize(
    ("status", "failure"), [(202, "accepted"), (207, "partial"), (208, "partial")]
)
def test_accepted_is_an_answer_to_a_read_and_no_proof_of_a_write(status: int, failure: str) -> None:
    read = Play("GET").answer(status)
    assert read.story == "send, give response"
    assert read.end == End("done", failure, "yes", 1, sign=f"answer {status}")
    bare = Play("PUT").answer(status)
    assert bare.story == "send, give response"
    assert bare.end == End("unknown", failure, "unknown", 1)
    assert bare.action.lost_end is None


@pytest.mark.parametrize("status", [202, 207])
def test_accepted_is_settled_by_a_verifier_with_one_read(status: int) -> None:
    failure = "accepted" if status == 202 else "partial"
    landed = Play("POST", VERIFYING).answer(status).tell(LANDED, question="settle")
    assert landed.story == "send, ask settle, give response"
    assert landed.end == End("done", "ok", "yes", 1, sign=READ)
    for verdict in (ABSENT, UNCLEAR):
        play = Play("POST", VERIFYING).answer(status).tell(verdict, question="settle")
        assert play.story == "send, ask settle, give response"
        assert play.end == End("unknown", failure, "unknown", 1)
    part = Play("POST", VERIFYING).answer(status)
    part.tell(Verdict.PARTIAL(["a"], ["b"]), question="settle")
    assert part.end == End("failed", "partial", "unknown", 1, "unclear", sign=READ)


# ------------------------------------------------------------------ what a rule says


def test_an_expected_status_is_an_answer() -> None:
    play = Play("GET", Rule(expect={404}), named=True).answer(404)
    assert play.story == "send, give response"
    assert play.end == End("done", "ok", "yes", 1, sign="answer 404")
    assert play.call.budget.first_failure is None


def test_already_done_is_done() -> None:
    play = Play("POST", Rule(classes={409: FailureClass.ALREADY_DONE})).lose(NOT_SENT)
    play.sleep().answer(409)
    assert play.story == "send, wait 1, send, give response"
    assert play.end == End("done", "already_done", "yes", 2, sign="answer 409")


@pytest.mark.parametrize("named", ["BAD_INPUT", "AUTH", "CONFLICT", "NOT_FOUND", "ACCEPTED"])
def test_a_class_for_a_5xx_leaves_a_write_unknown_and_its_repeat_held_back(named: str) -> None:
    play = Play("POST", Rule(classes={503: FailureClass[named]})).answer(503)
    assert play.story == "send, give response"
    assert (play.end.state, play.end.applied) == ("unknown", "unknown")
    assert again(play).story == "give refused"


@pytest.mark.parametrize("status", [200, 503])
def test_a_rate_limit_in_a_status_that_proves_nothing_is_not_a_refusal(status: int) -> None:
    play = Play("POST", Rule(classes={status: FailureClass.RATE_LIMIT})).answer(status)
    assert play.story == "send, note, give response"
    assert play.end == End("unknown", "rate_limit", "unknown", 1, "no_evidence")


def test_a_read_in_progress_is_waited_for() -> None:
    play = Play("GET", Rule(classes={409: FailureClass.IN_PROGRESS})).answer(409, 4.0)
    assert play.sleep().answer(200).story == "send, wait 4, send, give response"


# ------------------------------------------------------------------ a trusted key


def test_a_trusted_key_resends_within_the_attempts() -> None:
    play = Play("POST", KEYED).answer(503).sleep().lose().sleep().answer(500)
    assert play.story == "send, note, wait 1, send, note, wait 2, send, note, give response"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 3, "attempts")
    assert [each.evidence for each in play.action.trail[1:]] == ["trusted key"] * 2


def test_a_verifier_has_the_last_word_when_a_key_is_out_of_attempts() -> None:
    play = Play("POST", Rule(dedupes=True, verify=found))
    play.lose().sleep(luck=0).lose().sleep(luck=0).lose().look(ABSENT).look(ABSENT)
    assert play.story == (
        "send, note, wait 1, send, note, wait 2, send, note, wait 2, ask verify, ask verify, "
        "give error"
    )
    assert play.end == End("failed", "unknown_outcome", "no", 3, "attempts", absent_by=PLACE)


def test_a_key_is_a_lease_from_the_first_send() -> None:
    late = Play("POST", Rule(dedupes=True, window=1.0)).lose()
    assert late.story == "send, note, give unknown"
    assert late.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")
    tight = Play("POST", Rule(dedupes=True, window=1.3)).lose()
    assert tight.step.spread == pytest.approx(0.2)  # chance never outlives the key
    assert tight.sleep(luck=0.9).told[-1] == "send"
    slept = Play("POST", Rule(dedupes=True, window=1.3)).lose()
    slept.now += 5  # the machine was busy
    assert slept.sleep().end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")


def test_a_verifier_has_the_last_word_when_a_key_is_out_of_its_window() -> None:
    both = Rule(dedupes=True, verify=found, window=1.3)
    slept = Play("POST", both).lose()
    slept.now += 5
    assert slept.sleep().tell(LANDED).end == End("done", "ok", "yes", 1, sign=READ)
    never = Play("POST", Rule(dedupes=True, verify=found, window=0.5)).lose().look(LANDED)
    assert never.story == "send, note, wait 1, ask verify, give read"


def test_an_unexplained_409_is_sent_again_once_under_a_key() -> None:
    play = Play("POST", KEYED).answer(409).sleep().answer(409)
    assert play.story == "send, wait 1, send, give response"
    assert play.end == End("unknown", "conflict", "unknown", 2, "final")
    fine = Play("POST", KEYED).answer(409).sleep().answer(201)
    assert fine.end == End("done", "ok", "yes", 2, sign="answer 201")
    refused = Play("POST", KEYED).answer(412)
    assert refused.story == "send, give response"


def test_in_progress_waits_under_a_key() -> None:
    play = Play("POST", RUNNING).answer(409, 5.0).sleep().answer(409).sleep().answer(201)
    assert play.story == "send, wait 5, send, wait 2, send, give response"
    assert play.end == End("done", "ok", "yes", 3, sign="answer 201")
    far = Play("POST", RUNNING).answer(409, 3600.0)
    assert far.story == "send, give response"
    assert far.end == End("unknown", "in_progress", "unknown", 1, "wait_too_long")
    assert far.action.wait == 3600.0


def test_in_progress_without_a_key_is_not_sent_again() -> None:
    rule = Rule(idempotent=True, classes={409: FailureClass.IN_PROGRESS})
    play = Play("POST", rule).answer(409)
    assert play.story == "send, give response"
    assert play.end == End("unknown", "in_progress", "unknown", 1, "final")


def test_a_lost_answer_is_fetched_again_under_a_key() -> None:
    note = "the body of the answer was lost"
    play = Play("POST", KEYED).cut().sleep().answer(201)
    assert play.story == "send, wait 1, send, give response"
    assert play.end == End("done", "ok", "yes", 2, sign="answer 201", note=note)


@pytest.mark.parametrize("after", [503, 429, 422, 404, 202, 307])
def test_what_landed_stays_landed_whatever_the_fetching_of_its_answer_meets(after: int) -> None:
    play = Play("POST", KEYED).cut().sleep().answer(after)
    while play.told[-1].startswith("wait"):
        play.sleep().answer(after)
    assert play.told[-1] == ("give response" if after == 307 else "give earlier")
    assert (play.end.state, play.end.failure, play.end.applied) == ("done", "ok", "yes")


# ------------------------------------------------------------------ confirming a 404


def test_a_404_of_a_read_is_confirmed_at_once_by_the_same_read() -> None:
    play = Play("GET", named=True).answer(404).answer(200)
    assert play.story == "send, confirm, give response"
    assert play.end == End("done", "ok", "yes", 1, sign="answer 200")
    gone = Play("HEAD", named=True).answer(410).answer(404)
    assert gone.story == "send, confirm, give response"
    assert gone.end == End("failed", "not_found", "no", 1, "final")
    assert gone.call.budget.first_failure is None


@pytest.mark.parametrize(("status", "failure"), [(202, "accepted"), (207, "partial")])
def test_what_the_confirming_read_answers_is_handed_over(status: int, failure: str) -> None:
    play = Play("GET", named=True).answer(404).answer(status)
    assert play.story == "send, confirm, give response"
    assert play.end == End("done", failure, "yes", 1, sign=f"answer {status}")
    barred = Play("GET", named=True).answer(404).answer(401)
    assert barred.end == End("failed", "auth", "no", 1, "final")


@pytest.mark.parametrize("how", ["503", "429", "lost", "not sent", "cut"])
def test_a_confirming_read_that_fails_hands_over_the_404(how: str) -> None:
    play = Play("GET", named=True).answer(404)
    if how.isdigit():
        play.answer(int(how))
    elif how == "cut":
        play.cut(200)
    else:
        play.lose(READ_LOST if how == "lost" else NOT_SENT)
    assert play.story == "send, confirm, give earlier"
    note = "a fresh read could not tell"
    assert play.end == End("failed", "not_found", "no", 1, "final", note=note)
    assert play.action.cause == "404"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("verdict", "note"),
    [
        (ABSENT, "a fresh read agreed"),
        (LANDED, "a fresh read disagreed"),
        (UNCLEAR, "a fresh read could not tell"),
    ],
)
def test_a_404_of_a_write_is_confirmed_for_the_report_only(
    method: str, verdict: Verdict, note: str
) -> None:
    play = Play(method, named=True).answer(404).tell(verdict, question="confirm")
    assert play.story == "send, ask confirm, give response"
    assert play.end == End("failed", "not_found", "no", 1, "final", note=note)


def test_no_404_is_confirmed_by_sending_a_write_again() -> None:
    for play in (Play("POST", named=True), Play("GET", Rule(safe=False), named=True)):
        assert play.answer(404).story == "send, give response"
        assert play.end == End("failed", "not_found", "no", 1, "final")


def test_a_404_outside_a_named_task_is_final() -> None:
    assert Play("GET").answer(404).story == "send, give response"
    off = Play("GET", named=True, policy=Policy(confirm_missing=False))
    assert off.answer(404).story == "send, give response"


# ------------------------------------------------------------------ after our own unknown attempt


@pytest.mark.parametrize("last", [400, 401, 402, 404, 409, 412, 422])
def test_a_later_refusal_never_overwrites_an_earlier_unknown(last: int) -> None:
    for first in ("503", "lost"):
        play = Play("PUT")
        play = play.answer(503) if first == "503" else play.lose(LOST)
        play.sleep().answer(last)
        assert play.story == "send, note, wait 1, send, give earlier"
        note = f"the last send ended with {last}"
        assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "final", note=note)


def test_a_412_after_our_own_unknown_attempt_is_read_before_it_is_judged() -> None:
    rule = Rule(conditional=True, verify=found)
    won = Play("PATCH", rule).lose().sleep().answer(412).tell(LANDED)
    assert won.story == "send, note, wait 1, send, ask verify, give read"
    assert won.end == End("done", "already_done", "yes", 2, sign=READ)
    lost = Play("PATCH", rule).lose().sleep(luck=0).answer(412).tell(ABSENT).look(ABSENT)
    assert lost.story == (
        "send, note, wait 1, send, ask verify, wait 0.9, ask verify, give response"
    )
    assert lost.end == End("failed", "conflict", "no", 2, "final", absent_by=PLACE)


def test_a_409_after_our_own_unknown_attempt_settles_from_its_own_end() -> None:
    """What answers 409 may be the first copy, still at work."""
    play = Play("PUT", VERIFYING).lose().sleep(luck=0).answer(409).tell(ABSENT)
    assert play.told[-1] == "wait 2"
    assert play.look(ABSENT).end == End("failed", "conflict", "no", 2, "final", absent_by=PLACE)


def test_a_404_to_a_delete_after_our_own_unknown_attempt_is_already_done() -> None:
    for status in (404, 410):
        play = Play("DELETE", named=True).lose().sleep().answer(status)
        assert play.story == "send, note, wait 1, send, give response"
        note = "gone now but not proven to be ours"
        assert play.end == End("done", "already_done", "yes", 2, sign=f"answer {status}", note=note)


def test_accepted_after_our_own_unknown_attempt_stays_unknown() -> None:
    play = Play("PUT").lose().sleep().answer(202)
    assert play.story == "send, note, wait 1, send, give response"
    assert play.end == End("unknown", "accepted", "unknown", 2)


# ------------------------------------------------------------------ after a success


def test_confirm_runs_the_verifier_after_a_success() -> None:
    sure = Rule(verify=found, confirm=True)
    seen = Play("POST", sure).answer(201).tell(LANDED, question="assure")
    assert seen.story == "send, ask assure, give response"
    assert seen.end == End("done", "ok", "yes", 1, sign=READ)
    unseen = Play("POST", sure).answer(201).tell(ABSENT, question="assure")
    note = "the answer said done, a read did not show it"
    assert unseen.end == End("unknown", "unknown_outcome", "unknown", 1, "unclear", note=note)


def test_a_resend_that_followed_absence_is_counted() -> None:
    counted = Rule(verify=Counting())
    for copies in (1, 2):
        play = Play("POST", counted).lose().look(ABSENT).look(ABSENT).answer(201)
        play.tell(Verdict("LANDED", count=copies), question="count")
        assert play.story == (
            "send, note, wait 1, ask verify, wait 1, ask verify, send, ask count, give response"
        )
        note = "2 copies landed"
        double = End("unknown", "conflict", "yes", 2, "final", note=note)
        once = End("done", "ok", "yes", 2, sign="answer 201")
        assert play.end == (once if copies == 1 else double)


def test_a_resend_whose_answer_was_cut_is_counted_too() -> None:
    play = Play("POST", Rule(verify=Counting())).lose().look(ABSENT).look(ABSENT).cut()
    play.tell(Verdict("LANDED", count=2), question="count")
    assert play.told[-2:] == ["ask count", "give error"]
    assert (play.end.state, play.end.failure, play.end.note) == (
        "unknown",
        "conflict",
        "2 copies landed",
    )


def test_a_count_serves_as_the_look_that_confirm_asks_for() -> None:
    sure = Rule(verify=Counting(), confirm=True)
    for verdict, state in ((ABSENT, "unknown"), (Verdict("LANDED", count=1), "done")):
        play = Play("POST", sure).lose().look(ABSENT).look(ABSENT).answer(201)
        play.tell(verdict, question="count")
        assert play.told[-2:] == ["ask count", "give response"]
        assert play.end.state == state
