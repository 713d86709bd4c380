"""What is remembered of an action, and what of it is shown."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

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
