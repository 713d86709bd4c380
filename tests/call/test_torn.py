"""The body of an answer that was handed over is cut: what was said of the call is set right."""

from __future__ import annotations

import pytest

from httpx_recover import Policy, Rule, Verdict
from httpx_recover._words import Stop, Wait
from tests.call.record import NOT_SENT, VERIFYING, End, Play, again

LOST = "the body of the answer was lost"


def tear(play: Play, stop: str = "final", *, resumable: bool = False) -> Play:
    """The caller reads, and the body breaks off."""
    return play._take(play.call.torn(play.now, stop, resumable=resumable))


def test_a_read_has_failed() -> None:
    play = tear(Play("GET").answer(200))
    assert play.story == "send, give response, give response"
    assert play.end == End("failed", "transient", "no", 1, "final")
    assert play.action.trail[0].phase == "body cut"
    assert play.action.cause == "200"


def test_a_read_whose_caller_was_stopped_is_cancelled() -> None:
    assert tear(Play("GET").answer(200), "cancelled").end.stop == "cancelled"


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_a_write_is_done_and_has_lost_its_answer(status: int) -> None:
    play = tear(Play("POST").answer(status))
    assert play.step == Stop("error")
    assert play.end == End("done", "ok", "yes", 1, sign=f"answer {status}", note=LOST)
    assert again(play).story == "give refused"
    assert again(play, rule=Rule(dedupes=True)).story == "send"


def test_of_an_expected_status_no_more_is_known_than_before() -> None:
    play = tear(Play("DELETE", Rule(expect={404})).answer(404))
    assert play.end == End("done", "ok", "yes", 1, sign="answer 404")
    assert not play.action.lost_answer


@pytest.mark.parametrize(("method", "status"), [("GET", 422), ("POST", 422), ("POST", 202)])
def test_nothing_is_taken_back_of_what_was_no_success(method: str, status: int) -> None:
    play = Play(method).answer(status)
    before = play.end
    assert tear(play).end == before
    assert play.action.trail[0].phase == "answered"


def test_a_write_that_a_read_has_shown_stays_done() -> None:
    play = Play("POST", VERIFYING).lose()
    play.look(Verdict.LANDED)
    before = play.end
    assert before.state == "done"
    assert tear(play).end == before


def test_the_rest_of_a_download_is_a_resend_of_the_read() -> None:
    play = tear(Play("GET").answer(200), resumable=True)
    assert play.step == Wait(1.0, 0.5)
    assert play.action.state == "open"
    play.sleep().answer(206)
    assert play.story == "send, give response, wait 1, send, give response"
    assert play.end == End("done", "ok", "yes", 2, sign="answer 206")
    assert play.action.trail[1].evidence == "the rest of it"


def test_it_ends_as_reads_end() -> None:
    play = tear(Play("GET").answer(200), resumable=True)
    play.sleep().lose(NOT_SENT).sleep().lose(NOT_SENT)
    assert play.end == End("failed", "transient", "no", 3, "attempts")


@pytest.mark.parametrize(
    ("policy", "stop"),
    [
        (Policy(attempts=1), "attempts"),
        (Policy(recovery_calls=0), "recovery_calls"),
        (Policy(deadline=0.5), "deadline"),
    ],
)
def test_a_limit_forbids_the_rest(policy: Policy, stop: str) -> None:
    play = tear(Play("GET", policy=policy).answer(200), resumable=True)
    assert play.step == Stop("response")
    assert play.end == End("failed", "transient", "no", 1, stop)


def test_the_rest_that_is_waited_for_can_be_cancelled() -> None:
    play = tear(Play("GET").answer(200), resumable=True).cancel()
    assert play.end == End("failed", "transient", "no", 1, "cancelled")


def test_a_rest_that_was_none_has_failed_too() -> None:
    play = tear(tear(Play("GET").answer(200), resumable=True).sleep().answer(200))
    assert play.end == End("failed", "transient", "no", 2, "final")
