"""`with task("name"):` and the one context variable behind it and behind `call(...)`.

The variable holds a pair: the innermost task and the innermost block. It is restored by value and
never by token, since a task may be left in another context than it was entered in, and leaving one
must not raise. It is restored only where it still holds our own pair: another context keeps its
own. A context that never saw its task leave passes over it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any, NamedTuple, Self

from httpx_recover import _drive
from httpx_recover._budget import Budget
from httpx_recover._ledger import DONE, Action, at_once
from httpx_recover._memory import MEMORY, is_open, pick
from httpx_recover._outcome import find_outcome, resolve
from httpx_recover._policy import Policy
from httpx_recover._report import Report
from httpx_recover._targets import clean_label, target
from httpx_recover._words import FailureClass, Verdict

logger = logging.getLogger("httpx_recover")


class Success(NamedTuple):
    """A read that succeeded at once in a named task: just enough to rebuild the wire."""

    method: str
    url: Any
    status: int

    def facts(self, number: int, task: str) -> dict[str, Any]:
        """The read as plain data, as an `Action` gives it."""
        action = at_once(self.method, self.url, self.status, safe=True)
        action.task = task
        return action.facts(number)


class Scope(NamedTuple):
    """Where a call is made: in which task, and in which `call(...)` block."""

    task: Task | None
    block: Block | None


class Block:
    """Facts for the calls inside; made by `call(...)`. An inner block adds to those around it."""

    def __init__(
        self,
        said: dict[str, Any],
        value: str | None,
        label: str | None,
        holder: Block | None = None,
    ) -> None:
        self.said = said
        self.label = label
        self._holder = holder or self  # the block whose `value` it is
        self._value = value
        self._used: str | None = None
        self._before: Scope | None = None
        self._scope: Scope | None = None

    @property
    def value(self) -> str | None:
        """The key of the one action inside, or None."""
        return self._holder._value

    @property
    def used(self) -> str | None:
        """Fingerprint of the action that carries `value`."""
        return self._holder._used

    @used.setter
    def used(self, fingerprint: str | None) -> None:
        self._holder._used = fingerprint

    def _within(self, around: Block | None) -> Block:
        if around is None:
            return self
        keyed = self._value is not None or "key" in self.said
        holder = self if keyed else around._holder
        return Block({**around.said, **self.said}, None, self.label or around.label, holder)

    def __enter__(self) -> Self:
        self._before = _live(SCOPE.get())
        task, around = self._before or NOWHERE
        self._scope = Scope(task, self._within(around))
        SCOPE.set(self._scope)
        return self

    def __exit__(self, *exc: object) -> None:
        _restore(self._scope, self._before)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *exc: object) -> None:
        self.__exit__(*exc)


SCOPE: ContextVar[Scope | None] = ContextVar("httpx_recover.scope", default=None)
NOWHERE = Scope(None, None)


def _live(scope: Scope | None) -> Scope | None:
    """The scope itself, or the one around it whose task has not been left."""
    while scope is not None and scope.task is not None and scope.task._left is not None:
        scope = scope.task._before
    return scope


def here() -> Scope | None:
    """Where a call is made now: of a task that has been left only the block inside it holds."""
    scope = SCOPE.get()
    if scope is None or scope.task is None or scope.task._left is None:
        return scope
    around, block = _live(scope), scope.block
    task = None if around is None else around.task
    return None if task is None and block is None else Scope(task, block)


def _restore(own: Scope | None, before: Scope | None) -> None:
    if SCOPE.get() is own:
        SCOPE.set(_live(before))


@contextmanager
def outside_block() -> Iterator[None]:
    """What a verifier does is no part of the `call(...)` block that it verifies for."""
    before = SCOPE.get()
    if before is not None:
        SCOPE.set(before._replace(block=None))
    try:
        yield
    finally:
        SCOPE.set(before)


class Task:
    """One unit of work: a budget for recovery, and the report at its end.

    Made by `task(name)`; used by `with` or `async with`.
    """

    def __init__(self, name: str, policy: Policy | None, limits: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise ValueError(f"name={name!r}: a task's name must be text")
        if policy is not None and not isinstance(policy, Policy):
            raise ValueError(f"policy={policy!r}: must be a Policy")
        Policy().with_limits(limits)  # a bad limit is an error here, not at the first failure
        self.name = name
        self.as_label = clean_label(name)
        self.parent: Task | None = None
        self.budget = Budget(threading.Lock())
        self.actions: list[Action | Success] = []
        self.unknown: dict[str, list[Action]] = {}  # equal writes may be unknown side by side
        self.troubled: dict[tuple[str, str], list[Action]] = {}
        self.mounts: dict[int, Any] = {}
        self._policy = policy
        self._limits = limits
        self._policies: dict[int, tuple[Policy, Policy]] = {}  # by id: hashing one is slow
        self._before: Scope | None = None
        self._scope: Scope | None = None
        self._entered: float | None = None
        self._left: float | None = None
        self._aborted: str | None = None

    def __enter__(self) -> Self:
        if self._entered is not None:
            raise RuntimeError(f"task {self.name!r} was entered before; make a new one")
        self._before = _live(SCOPE.get())
        self.parent, block = self._before or NOWHERE
        self._entered = _drive.clock.now()
        self._scope = Scope(self, block)
        SCOPE.set(self._scope)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: Any, trace: Any) -> None:
        self._left = _drive.clock.now()
        _restore(self._scope, self._before)
        if exc is not None and not self._is_ours(exc, frozenset()):
            self._aborted = type(exc).__name__
        for action in [each for equal in self.unknown.values() for each in equal]:
            if is_open(action):
                self._hand_over(action)
        for mount in list(self.mounts.values()):
            mount.log_unmatched()
        report = self.report()
        level = logging.INFO if report.status == DONE else logging.WARNING
        logger.log(level, "%s", report)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, exc: Any, trace: Any) -> None:
        self.__exit__(kind, exc, trace)

    def _is_ours(self, exc: BaseException, seen: frozenset[int]) -> bool:
        """An exception that is one of our actions' own end is in the report already."""
        each: BaseException | None = exc
        while each is not None and id(each) not in seen:
            seen |= {id(each)}
            found = find_outcome(each)
            if found is not None and any(found.action is action for action in self.actions):
                return True
            if isinstance(each, BaseExceptionGroup):
                return all(self._is_ours(inner, seen) for inner in each.exceptions)
            each = each.__cause__
        return False

    def arm(self, action: Action) -> None:
        """A repeat of this action must meet it, also when it ends after the task was left."""
        assert action.fingerprint is not None, "an unknown action is known by its fingerprint"
        equal = self.unknown.setdefault(action.fingerprint, [])
        if not any(each is action for each in equal):
            equal.append(action)
        if self._left is not None:
            self._hand_over(action)

    def _hand_over(self, action: Action) -> None:
        if self.parent is not None:
            self.parent.arm(action)
        policies = [held for _, held in self._policies.values()] or [self.policy(Policy())]
        deadline = max(policy.deadline for policy in policies)
        MEMORY.keep(action, _drive.clock.now(), deadline)

    def policy(self, mount: Policy) -> Policy:
        """The limits in force for a call that goes through a mount with the policy `mount`."""
        found = self._policies.get(id(mount))
        if found is None:
            base = self._policy or mount
            limited = base.with_limits(self._limits) if self._limits else base
            found = self._policies[id(mount)] = (mount, limited)
        return found[1]

    def add(self, action: Action | Success) -> None:
        """Put an action into this task's list and into those of the tasks around it."""
        if self.parent is not None:  # the outermost first: a report in between numbers by it
            self.parent.add(action)
        self.actions.append(action)

    def exchange(self, success: Success, action: Action) -> None:
        """What seemed to be a success was none: the action takes its place, and its number.

        And what it had mended is as it was before.
        """
        each: Task | None = self
        while each is not None:
            for place, other in enumerate(each.actions):
                if other is success:
                    each.actions[place] = action
                elif isinstance(other, Action) and other.superseded is success:
                    other.superseded = None
                    each.remember_failure(other)
            each = each.parent

    def adopt(self, action: Action) -> bool:
        """Put an action into each list that lacks it; True when it is new in this task."""
        if not action.trail:
            self.add(action)
            return True
        if self.parent is not None:
            self.parent.adopt(action)
        new = not any(each is action for each in self.actions)
        if new:
            self.actions.append(action)
        return new

    def has_unknown(self) -> bool:
        """Is any action unresolved, here or in a task around?"""
        return bool(self.unknown) or (self.parent is not None and self.parent.has_unknown())

    def mend(self, action: Action | Success, fingerprint: Any) -> None:
        """A success takes the place of an earlier failure of the same request.

        After bad input the corrected request is another one: there the latest failure with the
        same method and path is taken for it, but never one of a task beside this one, which is
        another unit of work. Nothing is mended by a call that began before it had failed: equal
        calls at the same time are several actions. `fingerprint()` is asked only where needed.
        """
        each: Task | None = self
        while each is not None:
            if each.troubled:
                each._mend(action, fingerprint, corrects=each is self)
            each = each.parent

    def _mend(self, action: Action | Success, fingerprint: Any, *, corrects: bool) -> None:
        failed = self.troubled.get((action.method, target(str(action.url))), [])
        failed[:] = [old for old in failed if old.superseded is None]
        if not failed:
            return
        begun, same = _begun(action), fingerprint()
        known = any(old.fingerprint == same for old in failed)
        if corrects and not known and failed[-1].failure is FailureClass.BAD_INPUT:
            same = failed[-1].fingerprint
        for old in reversed(failed):
            if old.fingerprint == same and _ended(old) <= begun:
                old.superseded = action
                begun = _begun(old)

    def find(self, fingerprint: str) -> Action | None:
        """The unresolved action with this fingerprint, here or in a task around."""
        each: Task | None = self
        while each is not None:
            found = pick(each.unknown.get(fingerprint, ()))
            if found is not None:
                return found
            each = each.parent
        return None

    def forget(self, action: Action) -> None:
        """An action is resolved."""
        each: Task | None = self
        while each is not None:
            equal = each.unknown.get(action.fingerprint or "", [])
            equal[:] = [other for other in equal if other is not action]
            if not equal:
                each.unknown.pop(action.fingerprint or "", None)
            each = each.parent

    def remember_failure(self, action: Action) -> None:
        """A later success of the same request, or a corrected one, takes its place."""
        each: Task | None = self
        while each is not None:
            each.troubled.setdefault((action.method, action.target), []).append(action)
            each = each.parent

    def report(self) -> Report:
        """The report of this task; before its end, a snapshot."""
        root, mine = self, list(self.actions)
        while root.parent is not None:
            root = root.parent
        numbers = {id(each): n for n, each in enumerate(list(root.actions), 1)}
        # Another thread may just have exchanged one for another.
        facts = [_facts(each, numbers, self.name) for each in mine if id(each) in numbers]
        now = _drive.clock.now() if self._left is None else self._left
        elapsed = 0.0 if self._entered is None else now - self._entered
        return Report.from_actions(self.name, facts, elapsed=elapsed, aborted=self._aborted)

    def resolve(self, x: Any, verdict: Verdict) -> None:
        """Record what the caller saw for itself; see `httpx_recover.resolve`."""
        resolve(x, verdict)

    def __repr__(self) -> str:
        return f"<Task {self.name!r} {len(self.actions)} actions>"


def _begun(action: Action | Success) -> float:
    return inf if isinstance(action, Success) else action.trail[0].started


def _ended(action: Action) -> float:
    return max((each.ended or each.started for each in action.trail), default=0.0)


def _facts(each: Action | Success, numbers: dict[int, int], task: str) -> dict[str, Any]:
    number = numbers[id(each)]
    if isinstance(each, Success):
        return each.facts(number, task)
    by = each.superseded
    return each.facts(number, None if by is None else numbers.get(id(by)))


def task(name: str, *, policy: Policy | None = None, **limits: Any) -> Task:
    """A task: `with task("import invoices") as t:` or `async with`.

    Args:
        name: how the report calls it.
        policy: limits for every call of the task, instead of the mount's.
        limits: single limits by the names of `Policy`, such as `deadline=30` (seconds).

    Raises:
        ValueError: a limit is unknown or out of range; the text names it.
    """
    return Task(name, policy, limits)


def current_task() -> Task | None:
    """The innermost task that is open here, or None."""
    scope = _live(SCOPE.get())
    return None if scope is None else scope.task
