"""What is remembered of an action, and what of it is shown."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from types import SimpleNamespace

from httpx_recover import Verdict
from httpx_recover._ledger import Outcome, at_once
from tests.call.record import VERIFYING, Play


def test_actions_and_attempts_show_themselves() -> None:
    play = Play("POST")
    assert repr(play.action) == "<Action POST h.example/x open>"
    assert repr(play.action.trail[0]) == "<Attempt send 1: in flight>"
    play.answer(503)
    assert repr(play.action.trail[0]) == "<Attempt send 1: 503>"
    assert play.action.facts(1)["attempts"][0]["took"] == 0.1


def test_what_is_in_flight_is_unknown() -> None:
    facts = Play("POST").action.facts(1)
    assert (facts["state"], facts["class"], facts["applied"]) == (
        "unknown",
        "unknown_outcome",
        "unknown",
    )


def test_items_are_listed_one_by_one() -> None:
    play = Play("POST", VERIFYING).lose().sleep().tell(Verdict.PARTIAL(["a"], ["b"]))
    outcome = Outcome(play.action)
    assert [each["state"] for each in outcome.facts["items"]] == ["done", "failed"]
    assert "item b of POST h.example/x #1 missing" in str(outcome.report)


def test_a_date_no_calendar_holds_is_the_last_one_there_is() -> None:
    play = Play("POST").answer(429, 3600.0)
    play.action.retry_at = 1e30
    found = Outcome(play.action)
    assert found.retry_at == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert str(found).endswith("stopped by wait_too_long, the server asked for 3600 s")
    play.action.retry_at = None
    assert found.retry_at is None


def test_an_outcome_travels_as_what_was_known() -> None:
    found = Outcome(at_once("GET", "http://h.example/x", 200, safe=True))
    copy = pickle.loads(pickle.dumps(found))
    assert (str(copy), copy.action) == (str(found), None)
    assert repr(copy) == f"<Outcome {found}>"
    assert copy.report.status == "done"
    bare = Play("POST").action
    assert str(Outcome(bare)).startswith("POST h.example/x: unknown, unknown_outcome, applied")


def test_an_outcome_says_how_a_call_ended() -> None:
    play = Play("POST", VERIFYING).lose().sleep().tell(Verdict.LANDED)
    play.action.key = "key-1"
    done = Outcome(play.action)
    assert done.action is play.action
    assert (done.failure, done.applied, done.stopped_by, done.wait) == ("ok", "yes", None, None)
    assert (done.verified_by, done.evidence, done.key) == (
        "read GET h.example/x",
        "first try",
        "key-1",
    )
    assert [each["cause"] for each in done.attempts] == ["ReadTimeout"]
    assert "verified by read GET h.example/x" in str(done)
    limited = Outcome(Play("POST").answer(429, 3600.0).action)
    assert (limited.failure, limited.applied, limited.stopped_by, limited.wait) == (
        "rate_limit",
        "no",
        "wait_too_long",
        3600.0,
    )


def test_the_outcome_of_a_call_that_succeeded_at_once_is_made_when_asked_for() -> None:
    request = SimpleNamespace(method="GET", url="http://h.example/x")
    lazy = Outcome(request, 204)
    assert (lazy.action, lazy.failure, lazy.applied) == (None, "ok", "yes")
    assert (lazy.verified_by, lazy.evidence) == ("answer 204", "first try")
