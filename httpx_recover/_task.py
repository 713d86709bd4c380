"""`with task("name"):` and the one context variable behind it and behind `call(...)`.

The variable holds a pair: the innermost task and the innermost block. It is restored by value and
never by token, since a task may be left in another context than it was entered in, and leaving one
must not raise.
"""

from __future__ import annotations

import logging
import threading
from contextvars import ContextVar
from typing import Any, NamedTuple, Self

from httpx_recover import _drive
from httpx_recover._budget import Budget
from httpx_recover._ledger import DONE, Action, at_once
from httpx_recover._memory import MEMORY, is_open
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
    """Facts for the calls inside; made by `call(...)`."""

    def __init__(self, said: dict[str, Any], value: str | None, label: str | None) -> None:
        self.said = said
        self.value = value
        self.label = label
        self.used: str | None = None  # fingerprint of the action that carries `value`
        self._before: Scope | None = None

    def __enter__(self) -> Self:
        self._before = SCOPE.get()
        SCOPE.set((self._before or NOWHERE)._replace(block=self))
        return self

    def __exit__(self, *exc: object) -> None:
        SCOPE.set(self._before)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, *exc: object) -> None:
        self.__exit__(*exc)


SCOPE: ContextVar[Scope | None] = ContextVar("httpx_recover.scope", default=None)
NOWHERE = Scope(None, None)


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
        self.unknown: dict[str, Action] = {}
        self.troubled: dict[tuple[str, str], list[Action]] = {}
        self.mounts: dict[int, Any] = {}
        self._policy = policy
        self._limits = limits
        self._policies: dict[Policy, Policy] = {}
        self._before: Scope | None = None
        self._entered: float | None = None
        self._left: float | None = None
        self._aborted: str | None = None

    def __enter__(self) -> Self:
        if self._entered is not None:
            raise RuntimeError(f"task {self.name!r} was entered before; make a new one")
        self._before = SCOPE.get()
        self.parent = self._before.task if self._before else None
        self._entered = _drive.clock.now()
        SCOPE.set(Scope(self, None))
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: Any, trace: Any) -> None:
        self._left = _drive.clock.now()
        SCOPE.set(self._before)
        if exc is not None:
            self._aborted = self._abort(exc)
        for action in list(self.unknown.values()):
            if is_open(action):
                self._hand_over(action)
        for mount in self.mounts.values():
            mount.log_unmatched()
        report = self.report()
        level = logging.INFO if report.status == DONE else logging.WARNING
        logger.log(level, "%s", report)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, exc: Any, trace: Any) -> None:
        self.__exit__(kind, exc, trace)

    def _abort(self, exc: BaseException) -> str | None:
        """An exception that is one of our actions' own end is in the report already."""
        seen: BaseException | None = exc
        while seen is not None:
            if find_outcome(seen) is not None:
                return None
            seen = seen.__cause__
        return type(exc).__name__

    def _hand_over(self, action: Action) -> None:
        if self.parent is not None and action.fingerprint is not None:
            self.parent.unknown[action.fingerprint] = action
        policy = self._policy or Policy()
        deadline = self._limits.get("deadline", policy.deadline)
        MEMORY.keep(action, _drive.clock.now(), deadline)

    def policy(self, mount: Policy) -> Policy:
        """The limits in force for a call that goes through a mount with the policy `mount`."""
        found = self._policies.get(mount)
        if found is None:
            base = self._policy or mount
            found = self._policies[mount] = base.with_limits(self._limits)
        return found

    def add(self, action: Action | Success) -> None:
        """Put an action into this task's list and into those of the tasks around it."""
        each: Task | None = self
        while each is not None:
            each.actions.append(action)
            each = each.parent

    def adopt(self, action: Action) -> bool:
        """Put an action into the list unless it is there; True when it is new in this task."""
        if action.trail and any(each is action for each in self.actions):
            return False
        self.add(action)
        return True

    def has_unknown(self) -> bool:
        """Is any action unresolved, here or in a task around?"""
        return bool(self.unknown) or (self.parent is not None and self.parent.has_unknown())

    def mend(self, action: Action | Success, fingerprint: Any) -> None:
        """A success takes the place of an earlier failure of the same request.

        After bad input the corrected request is another one: there the latest failure with the
        same method and path is taken for it. `fingerprint()` is asked only where one is needed.
        """
        each: Task | None = self
        while each is not None:
            if each.troubled:
                each._mend(action, fingerprint)
            each = each.parent

    def _mend(self, action: Action | Success, fingerprint: Any) -> None:
        failed = self.troubled.get((action.method, target(str(action.url))), [])
        for old in reversed(failed):
            corrected = old.failure is FailureClass.BAD_INPUT and old is failed[-1]
            if corrected or old.fingerprint == fingerprint():
                failed.remove(old)
                old.superseded = action
                return

    def find(self, fingerprint: str) -> Action | None:
        """The unresolved action with this fingerprint, here or in a task around."""
        each: Task | None = self
        while each is not None:
            found = each.unknown.get(fingerprint)
            if found is not None and is_open(found):
                return found
            each = each.parent
        return None

    def forget(self, action: Action) -> None:
        """An action is resolved."""
        each: Task | None = self
        while each is not None:
            if action.fingerprint is not None and each.unknown.get(action.fingerprint) is action:
                del each.unknown[action.fingerprint]
            each = each.parent

    def remember_failure(self, action: Action) -> None:
        """A later success of the same request, or a corrected one, takes its place."""
        each: Task | None = self
        while each is not None:
            each.troubled.setdefault((action.method, action.target), []).append(action)
            each = each.parent

    def report(self) -> Report:
        """The report of this task; before its end, a snapshot."""
        root = self
        while root.parent is not None:
            root = root.parent
        numbers = {id(each): n for n, each in enumerate(list(root.actions), 1)}
        facts = [_facts(each, numbers, self.name) for each in list(self.actions)]
        now = _drive.clock.now() if self._left is None else self._left
        elapsed = 0.0 if self._entered is None else now - self._entered
        return Report.from_actions(self.name, facts, elapsed=elapsed, aborted=self._aborted)

    def resolve(self, x: Any, verdict: Verdict) -> None:
        """Record what the caller saw for itself; see `httpx_recover.resolve`."""
        resolve(x, verdict)

    def __repr__(self) -> str:
        return f"<Task {self.name!r} {len(self.actions)} actions>"


def _facts(each: Action | Success, numbers: dict[int, int], task: str) -> dict[str, Any]:
    number = numbers.get(id(each), 0)
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
    scope = SCOPE.get()
    return None if scope is None else scope.task
