"""All states that a call can be in, walked, with what must hold in each of them.

And a model: a server that knows the truth, random faults, and no claim that differs from it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpx_recover import Applied, Policy, Rule, Verdict
from httpx_recover._words import Ask, Send, Stop, Wait
from tests.call.record import LOST, NOT_SENT, READ_LOST, Counting, Play, found

Move = Callable[[Play], Play]
STATUSES = (200, 202, 207, 307, 404, 409, 412, 422, 429, 503)
KINDS: dict[str, tuple[str, Rule]] = {
    "read": ("GET", Rule()),
    "PUT": ("PUT", Rule()),
    "DELETE": ("DELETE", Rule()),
    "POST": ("POST", Rule()),
    "keyed": ("POST", Rule(dedupes=True)),
    "verified": ("POST", Rule(verify=Counting())),
    "keyed and verified": ("POST", Rule(dedupes=True, verify=found)),
    "conditional": ("PATCH", Rule(conditional=True, verify=found)),
}


def moves(play: Play) -> list[tuple[str, Move]]:
    """Everything that can happen next."""
    step = play.step
    if type(step) is Wait:
        return [("slept", lambda p: p.sleep())]
    if type(step) is Send:
        found: list[tuple[str, Move]] = [
            (str(status), lambda p, s=status: p.answer(s)) for status in STATUSES
        ]
        lost = READ_LOST if play.call.rights.safe else LOST
        found.append(("not sent", lambda p: p.lose(NOT_SENT)))
        found.append(("lost", lambda p: p.lose(lost)))
        found.append(("cut", lambda p: p.cut(200)))
        return found
    assert type(step) is Ask
    verdicts = [Verdict.LANDED, Verdict.ABSENT, Verdict.UNCLEAR, Verdict.PARTIAL(["a"], ["b"])]
    if step.question == "count":
        verdicts = [Verdict("LANDED", count=2), Verdict("LANDED", count=1), Verdict.UNCLEAR]
    return [(v.name, lambda p, v=v: p.tell(v, question=step.question)) for v in verdicts]


def key_of(play: Play) -> tuple[Any, ...]:
    """What tells two states apart; clocks and words aside."""
    call, action = play.call, play.action
    last = call.last
    return (
        play.step[:1] if type(play.step) is not Wait else "wait",
        type(play.step).__name__,
        call.sends,
        call.unresolved,
        call.rebuilt,
        call.looks,
        call.next,
        call.asking,
        call.budget.used,
        action.state,
        action.lost_answer,
        action.lost_end is None,
        None if last is None else (last.kind, last.failure, last.applied, last.ended is None),
        sum(str(each.failure) == "conflict" for each in action.trail),
    )


def check(play: Play, path: tuple[str, ...]) -> None:
    """What holds in every state."""
    call, action, trail = play.call, play.action, play.action.trail
    sends = [each for each in trail if each.kind == "send"]
    assert len(sends) <= 3, path
    for earlier, later in pairwise(sends):
        if earlier.applied is Applied.UNKNOWN and not call.rights.safe:
            evidence = later.evidence
            allowed = {"trusted key", "idempotent"} | (
                {evidence} if "absent" in evidence else set()
            )
            assert evidence in allowed, (path, evidence)
            if "absent" in evidence:
                assert call.rights.verifies
    if type(play.step) is not Stop:
        return
    assert action.state in ("done", "failed", "unknown"), path
    if action.state == "done":
        assert action.sign or action.items, path
    if action.state == "failed" and not call.rights.safe and not action.items:
        assert not call.unresolved, path
        assert action.applied is Applied.NO, path
    if play.step.give in ("response", "earlier", "error", "unknown"):
        assert sends, path


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_state_keeps_the_promises(kind: str, named: bool) -> None:
    method, rule = KINDS[kind]
    first = Play(method, rule, named=named)
    seen = {key_of(first)}
    edge: list[tuple[Play, tuple[str, ...]]] = [(first, ())]
    while edge:
        play, path = edge.pop()
        check(play, path)
        if type(play.step) is Stop:
            continue
        for name, move in moves(play):
            after = move(copy.deepcopy(play))
            if key_of(after) not in seen:
                seen.add(key_of(after))
                edge.append((after, (*path, name)))
        stopped = copy.deepcopy(play)
        stopped.call.abandoned(stopped.now, "CancelledError", sent=True)
        assert stopped.action.state in ("done", "failed", "unknown"), path
    assert len(seen) > 20


class Model:
    """A server that knows the truth: how often it applied the write, and when it will."""

    def __init__(self) -> None:
        self.applied = 0
        self.late: list[float] = []

    def copies(self, now: float) -> int:
        self.applied += sum(at <= now for at in self.late)
        self.late = [at for at in self.late if at > now]
        return self.applied

    def truth(self) -> int:
        return self.copies(float("inf"))


FAULTS = ("ok", "503 before", "503 after", "lost before", "lost after", "late", "429", "not sent")


@settings(max_examples=600, deadline=None)
@given(
    kind=st.sampled_from(["POST", "keyed", "verified", "keyed and verified"]),
    faults=st.lists(st.sampled_from(FAULTS), min_size=3, max_size=3),
    clear=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_no_claim_differs_from_the_truth(kind: str, faults: list[str], clear: list[bool]) -> None:
    method, rule = KINDS[kind]
    play, server, left, looks = Play(method, rule, policy=Policy()), Model(), faults, iter(clear)
    while type(play.step) is not Stop:
        if type(play.step) is Wait:
            play.sleep()
        elif type(play.step) is Send:
            fault = left[len([e for e in play.action.trail if e.kind == "send"]) - 1]
            seen = server.applied or server.late  # a key is remembered from when it came in
            if kind.startswith("keyed") and seen and fault != "not sent":
                fault = "replay" if fault in ("ok", "late") else fault.replace("after", "before")
            _send(play, server, fault)
        elif next(looks, False):
            copies = server.copies(play.now)
            verdict = Verdict("LANDED", count=copies) if copies else Verdict.ABSENT
            play.tell(verdict, question=play.step.question)
        else:
            play.tell(Verdict.UNCLEAR, question=play.step.question)
    truth, state = server.truth(), play.action.state
    assert truth <= 1, "applied twice"
    assert not (state == "done" and truth != 1), "a false done"
    assert not (state == "failed" and truth != 0), "a false failed"


def _send(play: Play, server: Model, fault: str) -> None:
    server.copies(play.now)
    if fault in ("ok", "503 after", "lost after"):
        server.applied += 1
    if fault == "late":  # within the time that settle grants
        server.late.append(play.now + 1.5)
    answers = {"ok": 201, "replay": 201, "503 before": 503, "503 after": 503, "429": 429}
    if fault in answers:
        play.answer(answers[fault])
    else:
        play.lose(NOT_SENT if fault == "not sent" else LOST)
