"""The caller goes away, at every step: what is known stays known, and no more is claimed."""

from __future__ import annotations

import pickle

import pytest

from httpx_recover import Rule, Verdict
from tests.call.record import (
    LOST,
    NOT_SENT,
    VERIFYING,
    Based,
    Counting,
    End,
    Play,
    again,
    found,
)

ABSENT = Verdict.ABSENT


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_write_in_flight_is_unknown_and_its_repeat_meets_it(method: str) -> None:
    play = Play(method)
    play.now += 3
    play.cancel()
    assert play.story == "send"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "cancelled")
    assert play.action.lost_end == (100.0, 103.0)
    assert play.action.cause == "CancelledError"
    assert again(play).story == ("give refused" if method == "POST" else "send")


def test_a_write_that_never_left_has_failed() -> None:
    play = Play("POST").cancel(sent=False)
    assert play.end == End("failed", "transient", "no", 1, "cancelled")
    assert play.action.lost_end is None


@pytest.mark.parametrize("sent", [True, False])
def test_a_read_in_flight_has_failed(sent: bool) -> None:
    play = Play("GET").cancel(sent=sent)
    assert play.end == End("failed", "transient", "no", 1, "cancelled")


def test_a_wait_after_a_refusal_leaves_a_failure() -> None:
    limited = Play("POST").answer(429, 7.0).cancel()
    assert limited.story == "send, wait 7"
    assert limited.end == End("failed", "rate_limit", "no", 1, "cancelled")
    assert limited.action.wait == 7.0
    unsent = Play("POST").lose(NOT_SENT).cancel()
    assert unsent.end == End("failed", "transient", "no", 1, "cancelled")


def test_a_wait_after_a_lost_write_leaves_it_unknown() -> None:
    play = Play("PUT").lose(LOST).cancel()
    assert play.story == "send, note, wait 1"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "cancelled")
    assert play.action.cause == "ReadTimeout"


def test_a_note_that_nobody_waits_for_leaves_it_unknown() -> None:
    play = Play("POST", VERIFYING)
    play.call.lost(play.now, LOST)
    play.cancel()
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "cancelled")


def test_a_resend_that_never_left_leaves_the_earlier_unknown() -> None:
    play = Play("PUT").lose().sleep().cancel(sent=False)
    note = "the last send ended with CancelledError"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "cancelled", note=note)


def test_a_resend_in_flight_is_unknown_from_its_own_end() -> None:
    play = Play("PUT").lose().sleep(luck=0)
    play.now += 4
    play.cancel()
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "cancelled")
    assert play.action.lost_end == (101.1, 105.1)


def test_a_resend_that_followed_absence_is_unknown_when_it_was_sent() -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).look(ABSENT)
    assert play.told[-1] == "send"
    unsent = pickle.loads(pickle.dumps(play)).cancel(sent=False)
    assert unsent.end == End("failed", "transient", "no", 2, "cancelled")
    assert play.cancel().end == End("unknown", "unknown_outcome", "unknown", 2, "cancelled")


@pytest.mark.parametrize("looked", [0, 1])
def test_a_look_under_way_leaves_it_unknown(looked: int) -> None:
    play = Play("POST", VERIFYING).lose()
    for _ in range(looked):
        play.look(ABSENT)
    play.sleep().cancel()
    assert play.told[-1] == "ask verify"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "cancelled")


def test_a_look_at_an_accepted_write_leaves_it_unknown() -> None:
    play = Play("POST", VERIFYING).answer(202).cancel()
    assert play.story == "send, ask settle"
    assert play.end == End("unknown", "accepted", "unknown", 1, "cancelled")


def test_a_look_at_a_conflict_leaves_it_unknown() -> None:
    play = Play("POST", VERIFYING).answer(409).cancel()
    assert play.end == End("unknown", "conflict", "unknown", 1, "cancelled")


@pytest.mark.parametrize("question", ["assure", "count"])
def test_what_the_server_has_answered_stays_done(question: str) -> None:
    if question == "assure":
        play = Play("POST", Rule(verify=found, confirm=True)).answer(201)
    else:
        play = Play("POST", Rule(verify=Counting())).lose().look(ABSENT).look(ABSENT).answer(201)
    assert play.told[-1] == f"ask {question}"
    sends = play.action.sends
    note = "the body of the answer was lost"  # its caller never got the answer
    assert play.cancel().end == End("done", "ok", "yes", sends, sign="answer 201", note=note)
    assert play.action.lost_answer


def test_the_fetching_of_a_lost_answer_leaves_it_done() -> None:
    note = "the body of the answer was lost"
    waiting = Play("POST", Rule(dedupes=True)).cut().cancel()
    assert waiting.end == End("done", "ok", "yes", 1, sign="answer 201", note=note)
    sending = Play("POST", Rule(dedupes=True)).cut().sleep().cancel()
    assert sending.end == End("done", "ok", "yes", 2, sign="answer 201", note=note)
    assert sending.action.lost_answer


def test_a_read_that_has_succeeded_leaves_nothing_to_say() -> None:
    read = Play("GET").answer(200)
    ended = read.end
    assert read.cancel().end == ended == End("done", "ok", "yes", 1, sign="answer 200")


def test_a_confirming_read_leaves_the_failure() -> None:
    read = Play("GET", named=True).answer(404).cancel()
    assert read.story == "send, confirm"
    assert read.end == End("failed", "transient", "no", 1, "cancelled")
    write = Play("DELETE", named=True).answer(404).cancel()
    assert write.story == "send, ask confirm"
    assert write.end == End("failed", "not_found", "no", 1, "cancelled")


def test_a_count_before_the_first_send_says_why_it_ended() -> None:
    play = Play("POST", Rule(verify=Based())).cancel(sent=False)
    assert play.story == "ask baseline"
    assert play.end == End("failed", "transient", "no", 0, "cancelled")
    assert play.action.cause == "CancelledError"
    assert play.action.lost_end is None  # a repeat is a new action: nothing was sent


def test_a_repeat_that_was_not_sent_leaves_the_action_as_it_was() -> None:
    left = Play("POST", VERIFYING).lose().cancel()
    play = again(left, rule=VERIFYING).cancel(sent=False)
    assert play.story == "wait 1"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "cancelled")
    assert play.action.lost_end is not None


BODY_LOST = "the body of the answer was lost"


def test_a_write_whose_good_answer_was_on_its_way_is_done() -> None:
    play = Play("POST").cancel(status=201)
    assert play.end == End("done", "ok", "yes", 1, sign="answer 201", note=BODY_LOST)
    assert again(play).story == "give refused"
    assert again(play, rule=Rule(dedupes=True)).story == "send"


@pytest.mark.parametrize(
    ("status", "state", "failure", "applied", "armed"),
    [
        (202, "unknown", "accepted", "unknown", False),
        (207, "unknown", "partial", "unknown", False),
        (303, "unknown", "ok", "unknown", False),
        (400, "failed", "bad_input", "no", False),
        (409, "unknown", "conflict", "unknown", False),
        (429, "failed", "rate_limit", "no", False),
        (408, "unknown", "unknown_outcome", "unknown", True),
        (503, "unknown", "unknown_outcome", "unknown", True),
    ],
)
def test_an_answer_that_was_on_its_way_counts_by_its_status(
    status: int, state: str, failure: str, applied: str, armed: bool
) -> None:
    play = Play("POST").cancel(status=status)
    assert play.end == End(state, failure, applied, 1, "cancelled")
    assert play.action.cause == str(status)
    assert (play.action.lost_end is not None) is armed


def test_an_answer_on_its_way_takes_nothing_back_of_what_is_unknown() -> None:
    play = Play("PUT").lose().sleep().cancel(status=400)
    note = "the last send ended with 400"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "cancelled", note=note)
    fetched = Play("POST", Rule(dedupes=True)).cut().sleep().cancel(status=503)
    assert fetched.end == End("done", "ok", "yes", 2, sign="answer 201", note=BODY_LOST)


def test_a_read_whose_answer_was_on_its_way_has_failed() -> None:
    play = Play("GET").cancel(status=200)
    assert play.end == End("failed", "transient", "no", 1, "cancelled")
