"""How a call begins: a first try, a count before it, or the repeat of what is still unknown."""

from __future__ import annotations

import pytest

from httpx_recover import Rule, Verdict
from httpx_recover._ledger import OPEN
from httpx_recover._words import Send
from tests.call.record import READ, VERIFYING, Based, Counting, End, Play, again

KEYED = Rule(dedupes=True)
LANDED, ABSENT = Verdict.LANDED, Verdict.ABSENT


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST", "PATCH"])
def test_a_first_try_goes_out_as_it_is(method: str) -> None:
    play = Play(method)
    assert play.step == Send(1, None)  # its own timeouts, never cut
    assert play.call.budget.first_failure is None
    assert play.answer(200).story == "send, give response"
    assert play.end == End("done", "ok", "yes", 1, sign="answer 200")


def test_copies_are_counted_before_the_first_send_where_the_verifier_asks() -> None:
    play = Play("POST", Rule(verify=Based()))
    play.tell(Verdict("ABSENT", count=3), question="baseline").answer(201)
    assert play.story == "ask baseline, send, give response"
    assert (play.action.baseline, play.call.budget.used) == (3, 0)
    assert play.end == End("done", "ok", "yes", 1, sign="answer 201")


def test_a_repeat_of_an_unknown_write_without_evidence_is_refused_unsent() -> None:
    play = again(Play("POST").lose())
    assert play.story == "give refused"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")


def test_a_repeat_under_a_trusted_key_is_sent_under_the_same_key() -> None:
    play = again(Play("POST", KEYED).lose().cancel(), rule=KEYED)
    assert play.step == Send(1, None)
    assert play.action.trail[1].evidence == "trusted key"
    assert play.answer(201).story == "send, give response"
    assert play.end == End("done", "ok", "yes", 2, sign="answer 201")


def test_a_repeat_after_the_window_of_the_key_is_refused() -> None:
    short = Rule(dedupes=True, window=5.0)
    play = again(Play("POST", short).lose().cancel(), rule=short, now=105.0)
    assert play.story == "give refused"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")


def test_a_repeat_of_an_idempotent_write_is_sent() -> None:
    play = again(Play("PUT").lose().cancel())
    assert play.action.trail[1].evidence == "idempotent"
    assert play.answer(200).story == "send, give response"
    assert play.end == End("done", "ok", "yes", 2, sign="answer 200")


def test_a_repeat_that_is_refused_stays_as_unknown_as_it_was() -> None:
    play = again(Play("PUT").lose().cancel()).answer(422)
    assert play.story == "send, give earlier"
    note = "the last send ended with 422"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "final", note=note)


def test_a_repeat_of_a_delete_that_finds_nothing_is_already_done() -> None:
    play = again(Play("DELETE").lose().cancel()).answer(404)
    assert play.story == "send, give response"
    note = "gone now but not proven to be ours"
    assert play.end == End("done", "already_done", "yes", 2, sign="answer 404", note=note)


def test_a_repeat_is_looked_for_first_where_there_is_a_verifier() -> None:
    play = again(Play("POST", VERIFYING).lose().cancel(), rule=VERIFYING).sleep(1.0).tell(LANDED)
    assert play.story == "wait 1, ask verify, give read"
    assert play.end == End("done", "ok", "yes", 1, sign=READ)


def test_an_old_unknown_write_is_looked_for_at_once() -> None:
    left = Play("POST", VERIFYING).lose().cancel()
    play = again(left, rule=VERIFYING, now=left.now + 30).tell(ABSENT).tell(ABSENT).answer(201)
    assert play.story == "ask verify, ask verify, send, give response"
    assert play.action.trail[1].evidence == f"absent by {READ}"
    assert play.end == End("done", "ok", "yes", 2, sign="answer 201")


def test_a_repeat_of_items_is_reported_item_by_item() -> None:
    left = Play("POST", VERIFYING).lose().cancel()
    play = again(left, rule=VERIFYING, now=left.now + 30).tell(Verdict.PARTIAL(["a"], ["b"]))
    assert play.story == "ask verify, give unknown"
    assert (play.end.state, play.end.failure, play.action.items) == (
        "failed",
        "partial",
        (("a",), ("b",)),
    )


def test_a_repeat_of_a_resend_that_followed_absence_is_counted_too() -> None:
    counted = Rule(verify=Counting())
    left = Play("POST", counted).lose().look(ABSENT).look(ABSENT).lose().cancel()
    play = again(left, rule=counted, now=left.now + 30).tell(LANDED)
    play.tell(Verdict("LANDED", count=2), question="count")
    assert play.story == "ask verify, ask count, give read"
    note = "2 copies landed"
    assert play.end == End("unknown", "conflict", "yes", 2, "final", note=note)


def test_a_caller_that_saw_it_absent_may_send_it_once_more() -> None:
    action = Play("POST").lose().action
    action.state, action.permit, action.lost_end = "failed", True, None
    play = Play("POST", action=action)
    assert (action.permit, action.state) == (False, OPEN)
    assert action.trail[1].evidence == "absent, seen by the caller"
    assert play.answer(422).story == "send, give response"
    assert play.end == End("failed", "bad_input", "no", 2, "final")
    twice = again(play)
    assert twice.story == "send"  # after a known end it is not held back


def test_a_lost_answer_is_asked_for_under_a_key_and_else_refused() -> None:
    bare = again(Play("POST").cut())
    assert bare.story == "give refused"
    note = "the body of the answer was lost"
    assert bare.end == End("done", "ok", "yes", 1, sign="answer 201", note=note)
    keyed = again(Play("POST", KEYED).cut().cancel(), rule=KEYED).answer(201)
    assert keyed.story == "send, give response"
    assert keyed.end == End("done", "ok", "yes", 2, sign="answer 201", note=note)


def test_what_has_landed_is_never_sent_again_because_a_read_is_stale() -> None:
    left = Play("POST", VERIFYING).cut()
    play = again(left, rule=VERIFYING).look(ABSENT).look(ABSENT)
    assert play.story == "wait 1, ask verify, wait 1, ask verify, give refused"
    assert (play.end.state, play.end.applied, play.end.sends) == ("done", "yes", 1)


def test_a_hop_of_a_redirect_inherits_what_is_unknown() -> None:
    """A PUT was lost, its resend was redirected, and the new place refuses it."""
    first = Play("PUT").lose().sleep().answer(307)
    assert first.story == "send, note, wait 1, send, give response"
    assert first.end == End("unknown", "unknown_outcome", "unknown", 2, "no_evidence")
    first.action.state = OPEN
    hop = again(first).answer(422)
    note = "the last send ended with 422"
    assert hop.end == End("unknown", "unknown_outcome", "unknown", 3, "final", note=note)
    fine = Play("PUT").answer(307)
    fine.action.state = OPEN
    assert again(fine).answer(422).end == End("failed", "bad_input", "no", 2, "final")


def test_absence_that_cannot_be_acted_upon_leaves_a_repeat_unknown() -> None:
    left = Play("POST", VERIFYING).lose().cancel()
    spent = again(left, rule=VERIFYING, now=left.now + 30).tell(ABSENT)
    spent.call.budget.used = 10
    assert spent.tell(ABSENT).story == "ask verify, ask verify, give refused"
    assert spent.end == End("unknown", "unknown_outcome", "unknown", 1, "recovery_calls")


def test_a_body_that_can_be_sent_once_has_not_been_sent_by_a_repeat() -> None:
    left = Play("POST", VERIFYING).lose().cancel()
    play = again(left, rule=VERIFYING, now=left.now + 30, replayable=False)
    assert play.tell(ABSENT).tell(ABSENT).told[-1] == "send"


def test_a_hop_inherits_it_also_where_copies_are_counted_first() -> None:
    rule = Rule(verify=Based(), idempotent=True)
    first = Play("PUT", rule).tell(Verdict("ABSENT", count=0), question="baseline")
    first.lose().sleep().answer(308)
    first.action.state = OPEN
    hop = again(first, rule=rule).tell(Verdict("ABSENT", count=0), question="baseline")
    hop.answer(422).look(LANDED)
    assert hop.told[-2:] == ["ask verify", "give read"]
    assert hop.end == End("done", "ok", "yes", 3, sign=READ)


def test_credentials_of_a_repeat_are_its_own() -> None:
    left = Play("POST", VERIFYING).lose().cancel()
    play = again(left, rule=VERIFYING, now=left.now + 30, bound=True)
    assert play.tell(ABSENT).tell(ABSENT).told[-1] == "send"
