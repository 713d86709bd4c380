"""The shared words: values that can be compared, printed and sent elsewhere."""

from __future__ import annotations

import pickle

import pytest

from httpx_recover import Applied, FailureClass, Verdict
from httpx_recover._words import Ask, Note, Send, Stop, Wait

CLASSES = (
    "ok accepted transient unknown_outcome rate_limit quota bad_input auth not_found conflict "
    "in_progress already_done partial"
)


def test_the_classes_are_the_contracts_and_print_as_reports_write_them() -> None:
    assert [str(each) for each in FailureClass] == CLASSES.split()
    assert [each.name for each in FailureClass] == CLASSES.upper().split()


def test_applied_has_three_answers() -> None:
    assert {each.name: str(each) for each in Applied} == {
        "YES": "yes",
        "NO": "no",
        "UNKNOWN": "unknown",
    }


def test_a_partial_verdict_names_its_items_as_text() -> None:
    part = Verdict.PARTIAL(["a", 1], (each for each in ["b"]))
    assert (part.name, part.landed, part.missing) == ("PARTIAL", ("a", "1"), ("b",))


def test_verdicts_are_equal_when_they_show_the_same() -> None:
    part = Verdict.PARTIAL(["a", 1], ["b"])
    assert part == Verdict.PARTIAL(("a", "1"), ("b",))
    assert len({part, Verdict.PARTIAL(["a", "1"], ["b"]), Verdict.LANDED}) == 2
    assert part != Verdict.PARTIAL(["a"], ["1", "b"])
    assert part != Verdict.PARTIAL(["a", "1"], [])
    assert len({Verdict.LANDED, Verdict.ABSENT, Verdict.UNCLEAR}) == 3
    assert Verdict("LANDED", count=2, why="seen twice", again=True) == Verdict.LANDED


def test_a_verdict_is_no_text() -> None:
    assert Verdict.LANDED != "LANDED"
    assert Verdict.LANDED.__eq__("LANDED") is NotImplemented


def test_a_verdict_prints_as_it_is_written() -> None:
    verdicts = (Verdict.LANDED, Verdict.ABSENT, Verdict.UNCLEAR, Verdict.PARTIAL([], ["b"]))
    for verdict in verdicts:
        assert eval(repr(verdict), {"Verdict": Verdict}) == verdict
    assert repr(Verdict.UNCLEAR) == "Verdict.UNCLEAR"
    assert repr(Verdict.PARTIAL(["a", 1], ["b"])) == "Verdict.PARTIAL(('a', '1'), ('b',))"


@pytest.mark.parametrize(
    "verdict",
    [Verdict.LANDED, Verdict.PARTIAL(["a"], ["b"]), Verdict("UNCLEAR", why="no read", again=True)],
    ids=repr,
)
def test_a_verdict_travels_with_all_it_says(verdict: Verdict) -> None:
    copy = pickle.loads(pickle.dumps(verdict))
    assert copy == verdict
    for name in Verdict.__slots__:
        assert getattr(copy, name) == getattr(verdict, name)


@pytest.mark.parametrize(
    "step", [Send(2, 1.5), Wait(1.0, 0.5), Ask("verify"), Note("unknown"), Stop("response")]
)
def test_a_step_is_plain_data(step: Send | Wait | Ask | Note | Stop) -> None:
    copy = pickle.loads(pickle.dumps(step))
    assert (type(copy), copy) == (type(step), step)
    assert repr(step).startswith(type(step).__name__)


def test_a_first_send_keeps_its_timeouts_and_a_plain_wait_has_no_chance() -> None:
    assert Send(1).timeout is None
    assert Wait(3.0).spread == 0.0
