"""What a verifying read shows, and what that buys."""

from __future__ import annotations

import pytest

from httpx_recover import Policy, Rule, Verdict
from tests.call.record import PLACE, READ, VERIFYING, Based, Counting, End, Play, found

LANDED, ABSENT, UNCLEAR = Verdict.LANDED, Verdict.ABSENT, Verdict.UNCLEAR
AGAIN = Verdict("UNCLEAR", again=True, why="equal calls are still in flight")


def test_landed_is_done_and_sent_once() -> None:
    play = Play("POST", VERIFYING).lose().sleep(1.0).tell(LANDED)
    assert play.story == "send, note, wait 1, ask verify, give read"
    assert play.end == End("done", "ok", "yes", 1, sign=READ)
    assert play.action.lost_end is None


def test_absence_is_believed_after_two_looks_two_seconds_apart_from_the_end() -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).look(ABSENT).answer(201)
    assert play.story == ("send, note, wait 1, ask verify, wait 1, ask verify, send, give response")
    assert play.end == End("done", "ok", "yes", 2, sign="answer 201")
    assert play.action.trail[1].evidence == f"absent by {READ}"


@pytest.mark.parametrize("how", ["lost", "503", "408"])
def test_absence_takes_two_looks_whatever_the_failure_was(how: str) -> None:
    play = Play("POST", VERIFYING)
    play = play.lose() if how == "lost" else play.answer(int(how))
    assert play.look(ABSENT).told[-2:] == ["ask verify", "wait 1"]


def test_the_second_look_comes_as_late_as_the_lost_attempt_was_slow() -> None:
    slow = Play("POST", VERIFYING).lose(took=9.0).look(ABSENT)
    assert slow.told[-1] == "wait 8"  # 9 s after the end, 1 of them slept
    soon = Play("POST", VERIFYING, policy=Policy(deadline=8.0)).lose(took=9.0).look(ABSENT)
    assert soon.told[-1] == "wait 1"  # where the deadline forbids that: 2 s after the end


def test_the_settle_of_a_rule_takes_the_place_of_the_policy_s() -> None:
    assert Play("POST", Rule(verify=found, settle=7.0)).lose().look(ABSENT).told[-1] == "wait 6"
    at_once = Play("POST", Rule(verify=found, settle=0)).lose().look(ABSENT).look(ABSENT)
    assert at_once.story == "send, note, wait 1, ask verify, ask verify, send"


def test_absence_is_never_proof_where_reads_are_stale() -> None:
    play = Play("POST", Rule(verify=found, settle=None)).lose().look(ABSENT).look(ABSENT)
    assert play.story == ("send, note, wait 1, ask verify, wait 1, ask verify, give unknown")
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "no_evidence")
    seen = Play("POST", Rule(verify=found, settle=None)).lose().look(ABSENT).look(LANDED)
    assert seen.end == End("done", "ok", "yes", 1, sign=READ)


def test_the_second_look_may_find_what_landed_late() -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).look(LANDED)
    assert play.told[-2:] == ["ask verify", "give read"]
    assert play.end == End("done", "ok", "yes", 1, sign=READ)


def test_each_absence_buys_one_resend() -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).look(ABSENT).lose()
    assert play.told[-3:] == ["send", "note", "wait 2"]
    play.look(ABSENT)
    assert play.told[-2:] == ["ask verify", "ask verify"]  # settled while it waited
    assert play.look(ABSENT).told[-1] == "send"
    assert play.end.sends == 3


def test_absence_after_the_last_attempt_means_failed() -> None:
    play = Play("POST", Rule(verify=found, attempts=1)).answer(503).look(ABSENT).look(ABSENT)
    assert play.told[-1] == "give response"
    assert play.end == End("failed", "unknown_outcome", "no", 1, "attempts", absent_by=PLACE)
    error = Play("POST", Rule(verify=found, attempts=1)).lose().look(ABSENT).look(ABSENT)
    assert error.told[-1] == "give error"


@pytest.mark.parametrize("how", ["lost", "503"])
def test_unclear_stops(how: str) -> None:
    play = Play("POST", VERIFYING)
    play = play.lose() if how == "lost" else play.answer(503)
    play.look(Verdict("UNCLEAR", why="no list"))
    give = "unknown" if how == "lost" else "response"
    assert play.story == f"send, note, wait 1, ask verify, give {give}"
    note = "no list"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, "unclear", note=note)


@pytest.mark.parametrize("limit", ["recovery_calls", "deadline"])
def test_a_look_that_a_limit_cut_short_names_the_limit(limit: str) -> None:
    play = Play("POST", VERIFYING).lose().sleep().tell(UNCLEAR, limit)
    assert play.told[-1] == "give unknown"
    assert play.end == End("unknown", "unknown_outcome", "unknown", 1, limit)


def test_items_are_never_resent() -> None:
    play = Play("POST", VERIFYING).answer(503).look(Verdict.PARTIAL(["a"], ["b", "c"]))
    assert play.story == "send, note, wait 1, ask verify, give response"
    assert play.end == End("failed", "partial", "unknown", 1, "unclear", sign=READ)
    assert play.action.items == (("a",), ("b", "c"))
    lost = Play("POST", VERIFYING).lose().look(Verdict.PARTIAL(["a"], ["b"]))
    assert lost.told[-1] == "give unknown"


def test_equal_calls_in_flight_are_looked_at_once_more() -> None:
    play = Play("POST", VERIFYING).lose().look(AGAIN).look(AGAIN)
    assert play.story == ("send, note, wait 1, ask verify, wait 1, ask verify, give unknown")
    end = End("unknown", "unknown_outcome", "unknown", 1, "unclear", note=AGAIN.why)
    assert play.end == end
    mine = Play("POST", VERIFYING).lose().look(AGAIN).look(LANDED)
    assert mine.end == End("done", "ok", "yes", 1, sign=READ)


def test_a_look_that_could_not_tell_is_none_of_the_two() -> None:
    for first, second in ((AGAIN, ABSENT), (ABSENT, AGAIN)):
        play = Play("POST", VERIFYING).lose().look(first).look(second)
        if second is AGAIN:
            assert play.end.stop == "unclear"
            continue
        assert play.told[-2:] == ["ask verify", "ask verify"]
        assert play.look(ABSENT).told[-1] == "send"


def test_landed_after_a_resend_that_followed_absence_is_counted() -> None:
    for copies in (1, 2, None):
        play = Play("POST", Rule(verify=Counting())).lose().look(ABSENT).look(ABSENT).lose()
        play.look(LANDED).tell(Verdict("LANDED", count=copies), question="count")
        assert play.told[-3:] == ["ask verify", "ask count", "give read"]
        once = End("done", "ok", "yes", 2, sign=READ)
        double = End("unknown", "conflict", "yes", 2, "final", note="2 copies landed")
        assert play.end == (double if copies == 2 else once)


def test_a_verifier_that_cannot_count_is_not_asked_to() -> None:
    play = Play("POST", VERIFYING).lose().look(ABSENT).look(ABSENT).lose().look(LANDED)
    assert play.told[-2:] == ["ask verify", "give read"]
    assert play.end == End("done", "ok", "yes", 2, sign=READ)


def test_nothing_is_counted_before_an_absence_was_believed() -> None:
    play = Play("POST", Rule(verify=Counting())).lose().look(LANDED)
    assert play.story == "send, note, wait 1, ask verify, give read"


def test_a_conflict_that_meets_the_late_first_copy_is_counted() -> None:
    play = Play("POST", Rule(verify=Counting())).lose().look(ABSENT).look(ABSENT).answer(409)
    play.tell(LANDED).tell(Verdict("LANDED", count=1), question="count")
    assert play.told[-3:] == ["ask verify", "ask count", "give read"]
    assert play.end == End("done", "already_done", "yes", 2, sign=READ)


def test_copies_of_before_that_were_not_counted_prove_nothing() -> None:
    blind = Play("POST", Rule(verify=Based())).tell(UNCLEAR, question="baseline")
    blind.lose().look(LANDED)
    note = "the copies of before could not be counted"
    assert blind.end == End("unknown", "unknown_outcome", "unknown", 1, "unclear", note=note)
    based = Play("POST", Rule(verify=Based()))
    based.tell(Verdict("LANDED", count=1), question="baseline").lose().look(LANDED)
    assert based.end == End("done", "ok", "yes", 1, sign=READ)
