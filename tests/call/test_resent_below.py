"""The client below sends by itself again: counted as sends, and not as attempts of ours."""

from __future__ import annotations

from httpx_recover import Applied, FailureClass
from tests.call.record import LOST, REFUSED, End, Play


def sent_again(times: int = 1) -> Play:
    play = Play("POST")
    play.now += 1.0
    play.call.resent_below(times)
    return play


def test_each_send_below_is_an_attempt_that_was_refused() -> None:
    play = sent_again(2).answer(201)
    assert play.end == End("done", "ok", "yes", 3, sign="answer 201")
    assert [(each.phase, each.evidence) for each in play.action.trail] == [
        ("refused", "first try"),
        ("refused", "by the client after GOAWAY"),
        ("answered", "by the client after GOAWAY"),
    ]
    assert [each.number for each in play.action.trail] == [1, 2, 3]
    first = play.action.trail[0]
    assert (first.failure, first.applied) == (FailureClass.TRANSIENT, Applied.NO)
    assert (first.cause, first.status) == ("GOAWAY", None)


def test_no_attempt_of_ours_is_spent() -> None:
    play = sent_again(5)
    play.lose(REFUSED).sleep().lose(REFUSED).sleep().lose(REFUSED)
    play.ends("error", "failed", "attempts")
    assert (play.action.sends, play.call.sends, play.call.budget.used) == (8, 3, 2)


def test_the_last_send_is_the_one_that_is_unknown_and_as_long_as_the_whole() -> None:
    play = sent_again().lose(LOST)
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "no_evidence")
    assert play.action.lost_end == (100.0, 101.1)


def test_what_was_counted_is_not_counted_again() -> None:
    play = sent_again().lose(REFUSED)
    play.call.resent_below(1)
    assert (play.action.sends, play.story) == (2, "send, wait 1")


def test_a_caller_that_goes_away_leaves_the_last_send_unknown() -> None:
    play = sent_again().cancel()
    assert play.end == End("unknown", "unknown_outcome", "unknown", 2, "cancelled")
    assert [each.applied for each in play.action.trail] == [Applied.NO, Applied.UNKNOWN]
