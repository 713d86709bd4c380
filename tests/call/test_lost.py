"""No answer at all: never sent, taken back, or lost on the way."""

from __future__ import annotations

import pytest

from httpx_recover import Rule, Verdict
from httpx_recover._evidence import Evidence
from httpx_recover._words import Applied, FailureClass
from tests.call.record import (
    BAD,
    BUG,
    LOST,
    NOT_SENT,
    PLACE,
    READ,
    READ_LOST,
    REFUSED,
    UNSENT_BUG,
    VERIFYING,
    End,
    Play,
    again,
    found,
)

LANDED, ABSENT = Verdict.LANDED, Verdict.ABSENT
CERTIFICATE = Evidence(FailureClass.AUTH, Applied.NO, "not_sent", "ConnectError")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize(("how", "word"), [(NOT_SENT, "not sent"), (REFUSED, "refused")])
def test_what_was_never_processed_is_sent_again(method: str, how: Evidence, word: str) -> None:
    play = Play(method).lose(how).sleep().lose(how).sleep().answer(201)
    assert play.story == "send, wait 1, send, wait 2, send, give response"
    assert play.end == End("done", "ok", "yes", 3, sign="answer 201")
    assert play.action.trail[1].evidence == word
    spent = Play(method).lose(how).sleep().lose(how).sleep().lose(how)
    assert spent.story == "send, wait 1, send, wait 2, send, give error"
    assert spent.end == End("failed", "transient", "no", 3, "attempts")


def test_a_read_that_is_lost_is_sent_again() -> None:
    play = Play("GET").lose(READ_LOST).sleep().lose(READ_LOST).sleep().lose(READ_LOST)
    assert play.story == "send, wait 1, send, wait 2, send, give error"
    assert play.end == End("failed", "transient", "no", 3, "attempts")


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_write_that_is_lost_is_not_sent_again(method: str) -> None:
    play = Play(method).lose()
    assert play.story == "send, note, give unknown"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")
    assert play.action.lost_end == (100.0, 100.1)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_an_idempotent_write_is_sent_again_and_says_so(method: str) -> None:
    play = Play(method).lose().sleep().lose().sleep().lose()
    assert play.story == "send, note, wait 1, send, note, wait 2, send, note, give unknown"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 3, "attempts")
    assert [each.evidence for each in play.action.trail[1:]] == ["idempotent"] * 2


def test_idempotence_is_given_and_taken_by_a_rule() -> None:
    assert Play("PUT", Rule(idempotent=False)).lose().story == "send, note, give unknown"
    assert Play("POST", Rule(idempotent=True)).lose().told[-1] == "wait 1"


def test_a_precondition_is_evidence_only_where_a_rule_says_so() -> None:
    play = Play("PATCH", Rule(conditional=True)).lose().sleep().answer(200)
    assert play.story == "send, note, wait 1, send, give response"
    assert play.end == End("done", "ok", "yes", 2, sign="answer 200")
    assert Play("PATCH", Rule(conditional=False)).lose().story == "send, note, give unknown"


def test_a_write_declared_safe_is_a_read() -> None:
    play = Play("POST", Rule(safe=True)).lose(READ_LOST).sleep().answer(200)
    assert play.story == "send, wait 1, send, give response"


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("how", "failure"), [(BAD, "bad_input"), (CERTIFICATE, "auth")])
def test_what_failed_on_our_side_stops(method: str, how: Evidence, failure: str) -> None:
    play = Play(method).lose(how)
    assert play.story == "send, give error"
    assert play.end == End("failed", failure, "no", 1, "final")
    assert play.call.budget.first_failure is None


def test_a_bug_below_is_raised_never_repeated_and_remembered() -> None:
    play = Play("PUT").lose(BUG)
    assert play.story == "send, give error"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "final")
    assert again(play).story == "send"  # a repeat of a PUT carries its own evidence
    assert again(Play("POST").lose(BUG)).story == "give refused"
    unsent = Play("PUT").lose(UNSENT_BUG)
    assert unsent.story == "send, give error"
    assert unsent.end == End("failed", "transient", "no", 1, "final")
    assert Play("GET").lose(BUG).story == "send, give error"


@pytest.mark.parametrize("how", [NOT_SENT, REFUSED])
def test_a_resend_that_never_left_leaves_the_earlier_end(how: Evidence) -> None:
    play = Play("PUT").lose().sleep().lose(how).sleep().lose(how)
    assert play.story == "send, note, wait 1, send, wait 2, send, give earlier"
    note = f"the last send ended with {how.cause}"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 3, "attempts", note=note)


@pytest.mark.parametrize("how", [BAD, CERTIFICATE])
def test_a_resend_that_cannot_leave_leaves_the_earlier_end(how: Evidence) -> None:
    play = Play("PUT").answer(503).sleep().lose(how)
    assert play.story == "send, note, wait 1, send, give earlier"
    note = f"the last send ended with {how.cause}"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "final", note=note)


def test_the_verifier_has_the_last_word_over_a_resend_that_never_left() -> None:
    play = Play("PUT", VERIFYING).lose(LOST).sleep(luck=0)
    play.lose(NOT_SENT).sleep(luck=0).lose(NOT_SENT)
    landed = play.look(LANDED)
    assert landed.story == ("send, note, wait 1, send, wait 2, send, ask verify, give read")
    assert landed.end == End("done", "ok", "yes", 3, sign=READ)


def test_a_refusal_of_a_resend_whose_first_copy_is_absent_has_failed() -> None:
    play = Play("PUT", VERIFYING).lose().sleep(luck=0).answer(422).look(ABSENT).look(ABSENT)
    assert play.told[-1] == "give response"
    assert play.end == End("failed", "bad_input", "no", 2, "final", absent_by=PLACE)


def test_a_server_that_asks_for_a_wait_is_left_alone_for_so_long() -> None:
    """Neither a read nor a resend goes out before the time the last answer named."""
    far = Play("PUT", VERIFYING).lose().sleep(luck=0).answer(429, 3600.0)
    assert far.story == "send, note, wait 1, send, give earlier"
    note = "the last send ended with 429"
    assert far.end == End("unknown", "unknown_outcome", "unknown", 2, "wait_too_long", note=note)
    near = Play("PUT", Rule(verify=found, attempts=2)).lose().sleep(luck=0).answer(429, 30.0)
    assert near.look(LANDED).story == "send, note, wait 1, send, wait 30, ask verify, give read"
