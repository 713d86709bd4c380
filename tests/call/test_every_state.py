"""All states that a call can be in, walked breadth first, with what must hold in each of them.

What holds is worked out here from what has happened, never from what the record says of itself.
And a model: a server that knows the truth, random faults, and no claim that differs from it.
"""

from __future__ import annotations

import copy
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from operator import methodcaller
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpx_recover import Applied, FailureClass, Policy, Rule, Verdict
from httpx_recover._words import Ask, Send, Stop, Wait
from tests.call.record import (
    BUG,
    LOST,
    NOT_SENT,
    READ_LOST,
    REFUSED,
    Based,
    Counting,
    Play,
    again,
    found,
)

STATUSES = (200, 201, 202, 207, 307, 404, 409, 412, 422, 429, 503)
VERDICTS = {
    "LANDED": Verdict("LANDED", count=1),
    "ABSENT": Verdict("ABSENT", count=0),
    "UNCLEAR": Verdict.UNCLEAR,
    "again": Verdict("UNCLEAR", again=True),
    "PARTIAL": Verdict.PARTIAL(["a"], ["b"]),
    "whole": Verdict.PARTIAL(["a"], []),
    "twice": Verdict("LANDED", count=2),
}
Move = Callable[[Play], Play]


class Kind(NamedTuple):
    """A kind of call, and what was declared about it."""

    method: str
    rule: Rule = Rule()
    policy: Policy = Policy()
    facts: dict[str, Any] = {}  # noqa: RUF012 # read only
    repeats: bool = False  # starts as the repeat of an action that is unknown


RUNNING = {409: FailureClass.IN_PROGRESS}
TIGHT = Policy(deadline=6.0, recovery_calls=2)
KINDS = {
    "read": Kind("GET"),
    "read in a task": Kind("GET", facts={"named": True}),
    "PUT": Kind("PUT"),
    "PUT in a task": Kind("PUT", facts={"named": True}),
    "PUT verified": Kind("PUT", Rule(verify=found)),
    "DELETE": Kind("DELETE", facts={"named": True}),
    "DELETE verified": Kind("DELETE", Rule(verify=found)),
    "POST": Kind("POST", facts={"named": True}),
    "POST once": Kind("POST", facts={"replayable": False}),
    "GET that writes": Kind("GET", Rule(safe=False), facts={"named": True}),
    "keyed": Kind("POST", Rule(dedupes=True)),
    "keyed for 2 s": Kind("POST", Rule(dedupes=True, window=2.0, verify=found)),
    "keyed and running": Kind("POST", Rule(dedupes=True, classes=RUNNING)),
    "keyed and verified": Kind("POST", Rule(dedupes=True, verify=found)),
    "verified": Kind("POST", Rule(verify=Counting())),
    "verified for sure": Kind("POST", Rule(verify=Counting(), confirm=True)),
    "verified at once": Kind("POST", Rule(verify=found, settle=0)),
    "verified never": Kind("POST", Rule(verify=found, settle=None)),
    "verified from a count": Kind("POST", Rule(verify=Based())),
    "verified in haste": Kind("POST", Rule(verify=Counting()), TIGHT),
    "verified, signed": Kind("POST", Rule(verify=found), facts={"bound": True}),
    "conditional": Kind("PATCH", Rule(conditional=True)),
    "conditional, verified": Kind("PATCH", Rule(conditional=True, verify=found)),
    "PUT in haste": Kind("PUT", policy=TIGHT),
    "POST again": Kind("POST", repeats=True),
    "PUT again": Kind("PUT", repeats=True),
    "DELETE again": Kind("DELETE", repeats=True),
    "keyed again": Kind("POST", Rule(dedupes=True), repeats=True),
    "verified again": Kind("POST", Rule(verify=Counting()), repeats=True),
}


class Watch:
    """What has happened, as somebody sees it who stands beside the record."""

    def __init__(self, kind: Kind) -> None:
        self.doubt = kind.repeats  # a write may have been applied, and nothing has shown
        self.doubt_end = 100.0  # when the last such send ended
        self.landed = False  # a 2xx has come for it
        self.shown = False  # positive evidence of some sort
        self.absent: list[float] = []  # looks that saw nothing since the last doubtful end
        self.refused_last = False  # the last send did nothing
        self.copies = 0
        self.rebuilt = False

    def key(self, settle: float) -> tuple[Any, ...]:
        late = [at >= self.doubt_end + settle - 1e-6 for at in self.absent]
        return self.doubt, self.landed, self.shown, self.refused_last, self.rebuilt, *late[-2:]

    def ended(self, play: Play, what: str, kind: str, now: float) -> None:
        """A send has ended."""
        rights = play.call.rights
        if kind == "confirm":
            self.shown = what in ("200", "201", "202", "207", "307")
            return
        self.refused_last = what in ("404", "412", "422", "429", "429 later", "not sent", "refused")
        if what in ("200", "201") or (rights.safe and what in ("202", "207", "307")):
            self.shown, self.landed, self.doubt = True, True, False
        elif what == "cut" and not rights.safe:
            self.shown = self.landed = True
            self.doubt = False
        elif what == "404" and self.doubt and play.action.method == "DELETE":
            self.shown, self.doubt = True, False
        elif not rights.safe and what in ("503", "503 later", "lost", "bug"):
            self.doubt, self.doubt_end, self.absent = not self.landed, now, []
        elif what == "409" and self.doubt:  # the earlier one may be at work still
            self.doubt_end, self.absent = now, []

    def saw(self, what: str, question: str, now: float) -> None:
        """A read has shown something."""
        if question in ("verify", "settle"):
            if what in ("LANDED", "twice", "whole"):
                self.shown, self.doubt = True, False
            if what == "PARTIAL":
                self.doubt = False
        if what in ("ABSENT", "again") and question == "verify":
            self.absent.append(now if what == "ABSENT" else float("-inf"))
        if what == "twice" and question in ("verify", "count", "settle"):
            self.copies = 2

    def proven_absent(self, settle: float | None) -> bool:
        """Two looks, the last late enough."""
        return (
            settle is not None
            and len(self.absent) >= 2
            and min(self.absent[-2:]) >= self.doubt_end
            and self.absent[-1] >= self.doubt_end + settle - 1e-6
        )


class State(NamedTuple):
    play: Play
    watch: Watch
    path: tuple[str, ...]


def moves(play: Play) -> Iterator[tuple[str, Move]]:
    """Everything that can happen next."""
    step = play.step
    if type(step) is Wait:
        yield "slept", methodcaller("sleep", luck=0.5)
    elif type(step) is Send:
        for status in STATUSES:
            yield str(status), methodcaller("answer", status)
        yield "429 later", methodcaller("answer", 429, 3600.0)
        yield "503 later", methodcaller("answer", 503, 5.0)
        yield "cut", methodcaller("cut", 200)
        lost = READ_LOST if play.call.rights.safe else LOST
        ways = {"not sent": NOT_SENT, "refused": REFUSED, "lost": lost, "bug": BUG}
        for name, evidence in ways.items():
            yield name, methodcaller("lose", evidence)
    else:
        assert type(step) is Ask
        for name, verdict in VERDICTS.items():
            yield name, methodcaller("tell", verdict, question=step.question)
        yield "spent", methodcaller("tell", Verdict.UNCLEAR, "recovery_calls", step.question)


def go(state: State, name: str, move: Move) -> State:
    """Let it happen, to a copy; a copy by pickle goes on in the same way."""
    play, watch = copy.deepcopy((state.play, state.watch))
    step = play.step
    kind = play.call.last.kind if play.call.last else "send"
    move(play)
    stored = move(pickle.loads(pickle.dumps(state.play)))
    assert (stored.steps, stored.end) == (play.steps, play.end), state.path
    path = (*state.path, name)
    if type(step) is Send:
        watch.ended(play, name, kind, play.now)
    elif type(step) is Ask:
        watch.saw(name, step.question, play.now)
    else:
        assert type(play.step) in (Send, Ask), ("slept for nothing", path)
    return State(play, watch, path)


def key_of(state: State) -> tuple[Any, ...]:
    """What tells two states apart; clocks and words aside."""
    play, watch = state.play, state.watch
    call, action, last = play.call, play.action, play.call.last
    return (
        type(play.step),
        play.step if type(play.step) in (Ask, Stop) else None,
        (call.sends, call.unresolved, call.rebuilt, min(call.looks, 2), call.next, call.asking),
        (call.budget.used, call.budget.confirms, call.budget.first_failure is None),
        (action.state, action.failure, action.applied, action.stop, action.absent_by is None),
        (action.lost_answer, action.lost_end is None, action.items),
        last and (last.kind, last.failure, last.applied, last.status is None, last.ended is None),
        sum(str(each.failure) == "conflict" for each in action.trail),
        watch.key(call.rights.settle or 0.0),
    )


def check(state: State, new: bool) -> None:
    """What holds in every state, `new` when a step has just led to it."""
    play, path = state.play, state.path
    call, action = play.call, play.action
    sends = [each for each in action.trail if each.kind == "send"]
    mine = len(sends) - (1 if play.told[0] == "again" else 0)
    assert mine <= call.rights.attempts, path
    assert call.budget.used <= call.policy.recovery_calls, path
    if type(play.step) is Send and new:
        check_send(state)
    if type(play.step) is Stop:
        check_stop(state)


def check_send(state: State) -> None:
    """A write that may have been applied is sent again with evidence only."""
    play, watch, path = state
    call, last = play.call, play.call.last
    assert last is not None
    if call.rights.safe or play.action.sends < 2:
        assert last.kind == "send" or call.rights.safe, path
        return
    assert last.kind == "send", path
    if watch.landed:
        assert call.keyed, path
    elif watch.doubt:
        if "absent" in last.evidence:
            assert watch.proven_absent(call.rights.settle), path
            watch.doubt, watch.absent, watch.rebuilt = False, [], True
        elif last.evidence == "trusted key":
            assert call.keyed, path
        else:
            allowed = call.rights.idempotent or call.rights.conditional
            resends = ("idempotent", "not processed", "not sent", "refused")
            assert allowed or call.keyed, (path, last.evidence)
            assert last.evidence in resends, (path, last.evidence)


def check_stop(state: State) -> None:
    """The end is one of three, and each says only what was seen."""
    play, watch, path = state
    call, action = play.call, play.action
    safe, last = call.rights.safe, call.last
    assert action.state in ("done", "failed", "unknown"), path
    if action.state == "done":
        assert watch.shown, path
        assert action.sign, path
        assert not (watch.copies > 1 and watch.rebuilt and call.rights.counts), path
    if action.state == "failed":
        assert action.failure not in (None, FailureClass.OK), path
    if action.state == "failed" and not safe and not action.items:
        assert not watch.doubt or watch.proven_absent(call.rights.settle), path
        assert not watch.landed, path
        assert action.applied is Applied.NO, path
    settled = not (watch.copies > 1 or call.rights.confirm or action.items)
    if watch.landed and not safe and settled:
        assert (action.state, action.applied) == ("done", Applied.YES), path
    if play.step.give == "response":
        assert last is not None, path
        assert last.status is not None, path
    if play.step.give == "earlier":
        assert len(action.trail) > 1, path
        assert action.lost_answer or watch.doubt or action.trail[-1].kind == "confirm", path
    if play.step.give == "refused":
        assert last is None, path
    if watch.doubt and watch.refused_last and last is not None and not watch.landed:
        by_absence = action.absent_by is not None
        assert by_absence or play.step.give == "earlier", path


def check_cancelled(state: State) -> None:
    """The caller may go at any step: what may have been applied is never called failed."""
    for sent in (False, True):
        play = copy.deepcopy(state.play).cancel(sent=sent)
        action, safe = play.action, play.call.rights.safe
        assert action.state in ("done", "failed", "unknown"), state.path
        out = type(state.play.step) is Send and sent
        if not safe and (out or state.watch.doubt) and not state.watch.landed:
            assert action.state == "unknown", state.path
        if action.state == "done":
            assert state.watch.shown, state.path
        if action.state == "failed":
            assert action.stop == "cancelled", state.path


def begin(kind: Kind) -> State:
    """The first step of a call."""
    facts: dict[str, Any] = dict(kind.facts)
    if kind.repeats:
        facts["action"] = Play(kind.method, now=99.9).lose().cancel().action
    play = Play(kind.method, kind.rule, policy=kind.policy, **facts)
    if kind.repeats:
        play.told.insert(0, "again")
    return State(play, Watch(kind), ())


@pytest.mark.parametrize("name", KINDS)
def test_every_state_keeps_the_promises(name: str) -> None:
    first = begin(KINDS[name])
    check(first, True)
    seen, edge = {key_of(first)}, deque([first])
    while edge:
        state = edge.popleft()
        if type(state.play.step) is Stop:
            continue
        check_cancelled(state)
        for what, move in moves(state.play):
            after = go(state, what, move)
            check(after, True)
            key = key_of(after)
            if key not in seen:
                seen.add(key)
                edge.append(after)
    least = 1 if name == "POST again" else 15
    assert len(seen) >= least


class Server:
    """A server that knows the truth: what it applied, and what it is still at work on."""

    def __init__(self, habit: str) -> None:
        self.habit = habit  # plain, keyed (dedupes), unique (409 to a second), same (PUT)
        self.applied = 0
        self.late: list[float] = []
        self.seen = False

    def copies(self, now: float) -> int:
        """How many a read shows."""
        for _ in [at for at in self.late if at <= now]:
            self._apply()
        self.late = [at for at in self.late if at > now]
        return self.applied

    def _apply(self) -> None:
        once = self.habit in ("unique", "same") and self.applied
        self.applied += not once

    def take(self, now: float, after: float | None) -> int:
        """A request has come in, to be applied `after` so many seconds, or at once."""
        copies = self.copies(now)
        if self.habit == "keyed" and self.seen:
            return 409 if self.late else 201
        if self.habit == "unique" and copies:
            return 409
        self.seen = True
        if after is None:
            self._apply()
        else:
            self.late.append(now + after)
        return 201


MODELS = {
    "plain": ("POST", Rule()),
    "plain, verified": ("POST", Rule(verify=Counting())),
    "plain, sure": ("POST", Rule(verify=Counting(), confirm=True)),
    "unique, verified": ("POST", Rule(verify=Counting())),
    "keyed": ("POST", Rule(dedupes=True)),
    "keyed, verified": ("POST", Rule(dedupes=True, verify=found)),
    "same": ("PUT", Rule()),
    "same, verified": ("PUT", Rule(verify=found)),
}
LATE = 1.9  # seconds after the end of its attempt: within what `settle` grants
FAULTS = (
    *("ok", "cut", "429", "429 later", "422", "not sent", "refused"),
    *("503 before", "503 after", "503 late", "lost before", "lost after", "lost late"),
    *("gone before", "gone after", "gone late"),
)


def send(play: Play, server: Server, fault: str, took: float) -> bool:
    """Hand the request down; True when the caller has gone meanwhile."""
    word, _, when = fault.partition(" ")
    status = 201
    if word in ("ok", "cut") or (when in ("after", "late") and word != "429"):
        status = server.take(play.now, took + LATE if when == "late" else None)
    if word == "gone":
        play.now += took
        play.cancel()
        return True
    if fault in ("not sent", "refused"):
        play.lose(NOT_SENT if fault == "not sent" else REFUSED, took=took)
    elif word == "lost":
        play.lose(took=took)
    elif word == "cut" and status == 201:
        play.cut()
    elif word in ("ok", "cut"):
        play.answer(status, took=took)
    else:
        play.answer(int(word), 3600.0 if when == "later" else None, took=took)
    return False


@settings(max_examples=600, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    faults=st.lists(st.sampled_from(FAULTS), min_size=6, max_size=6),
    clear=st.lists(st.booleans(), max_size=20),
    took=st.sampled_from([0.1, 5.0]),
    pause=st.sampled_from([0.0, 3.0, 60.0]),
)
def test_no_claim_differs_from_the_truth(
    name: str, faults: list[str], clear: list[bool], took: float, pause: float
) -> None:
    """A call and, while it is unknown, a repeat of it: never twice, never claimed wrongly."""
    method, rule = MODELS[name]
    server, ways, looks = Server(name.partition(",")[0]), iter(faults), iter(clear)
    play = Play(method, rule)
    drive(play, server, ways, looks, took)
    if play.action.lost_answer or (play.action.state == "unknown" and play.action.lost_end):
        play = again(play, rule=rule, now=play.now + pause)
        drive(play, server, ways, looks, took)
    truth, state = server.copies(float("inf")), play.action.state
    assert truth <= 1, "applied twice"
    assert not (state == "done" and truth != 1), "a false done"
    assert not (state == "failed" and truth != 0), "a false failed"
    assert play.end.sends <= 6


def drive(
    play: Play, server: Server, ways: Iterator[str], looks: Iterator[bool], took: float
) -> None:
    """To the end, or until the caller goes; `looks` says which reads can tell."""
    while type(play.step) is not Stop:
        if type(play.step) is Wait:
            play.sleep(luck=0.5)
        elif type(play.step) is Send:
            if send(play, server, next(ways), took):
                return
        elif next(looks, True):
            copies = server.copies(play.now)
            verdict = Verdict("LANDED", count=copies) if copies else VERDICTS["ABSENT"]
            play.tell(verdict, question=play.step.question)
        else:
            play.tell(Verdict.UNCLEAR, question=play.step.question)
