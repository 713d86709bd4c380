"""What this process remembers between calls, so that a repeat is never a second blind send.

Two things. Writes whose outcome is unknown, for as long as a deadline lasts: an outer retry or a
new client that sends the same request again meets the action it belongs to. And, for routes that
verify, how many equal actions are known to be done or are still out: a copy that a read finds may
be theirs, and each copy is claimed once.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

from httpx_recover._ledger import OPEN, UNKNOWN, Action

UNRESOLVED = 256  # writes kept; the oldest goes first
COUNTED = 4096  # fingerprints counted


def is_open(action: Action) -> bool:
    """Must a repeat of this action still be held back? Also while a call is at work on it."""
    held = action.state == UNKNOWN or action.lost_answer or action.items is not None
    return held or action.permit or action.busy


def pick(actions: Iterable[Action]) -> Action | None:
    """Of equal actions the one that a repeat belongs to: one that nobody is at work on, if any."""
    held = [action for action in actions if is_open(action)]
    return next((action for action in held if not action.busy), held[0] if held else None)


class Memory:
    """Unresolved writes by fingerprint and identity, and counts of equal actions."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._writes: OrderedDict[int, tuple[Action, float]] = OrderedDict()  # by id
        self._known: OrderedDict[str, int] = OrderedDict()
        self._out: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._writes)

    def find(self, fingerprint: str, identity: str, now: float) -> Action | None:
        """The unresolved action of these two, or None."""
        with self._lock:
            # What is past would cost every write a fingerprint for nothing.
            for key, (action, until) in list(self._writes.items()):
                if now >= until or not is_open(action):
                    del self._writes[key]
            same = (fingerprint, identity)
            held = [action for action, _ in self._writes.values()]
            return pick(each for each in held if (each.fingerprint, each.identity) == same)

    def keep(self, action: Action, now: float, seconds: float) -> None:
        """Remember an unresolved action for so many seconds, or for longer if told so before."""
        assert action.fingerprint is not None and action.identity is not None
        with self._lock:
            _, until = self._writes.get(id(action), (action, now))
            self._writes[id(action)] = (action, max(until, now + seconds))
            self._writes.move_to_end(id(action))
            while len(self._writes) > UNRESOLVED:
                self._writes.popitem(last=False)

    def forget(self, action: Action) -> None:
        """The action is resolved."""
        with self._lock:
            self._writes.pop(id(action), None)

    def take(self, action: Action) -> bool:
        """Start work on an action, unless another call is at work on it or has just ended it."""
        with self._lock:
            if action.busy or not (action.state == OPEN or is_open(action)):
                return False
            action.busy = True
            return True

    def went_out(self, action: Action) -> None:
        """A call of this action is on its way."""
        with self._lock:
            self._out[action.twin] = self._out.get(action.twin, 0) + 1

    def came_back(self, action: Action, *, done: bool) -> None:
        """It has ended; `done` says that its copy is there."""
        with self._lock:
            left = self._out.pop(action.twin, 1) - 1
            if left > 0:
                self._out[action.twin] = left
            if done:
                self._account(action)

    def account(self, action: Action) -> None:
        """The copy of an action is there, however that was seen. Each is counted once."""
        with self._lock:
            self._account(action)

    def add_copies(self, action: Action, copies: int) -> None:
        """So many more copies are there than actions are done."""
        with self._lock:
            for _ in range(copies):
                self._count(action.twin)

    def counts(self, action: Action) -> tuple[int, int]:
        """How many copies of other, equal actions are known to be there, and how many are out."""
        with self._lock:
            known = self._known.get(action.twin, 0) - action.counted
            return known, self._out.get(action.twin, 0)

    def claim(self, action: Action, copies: int, others: int) -> bool:
        """Take one of `copies` found, of which `others` were there before us: is one free?"""
        with self._lock:
            if copies <= others + self._known.get(action.twin, 0) - action.counted:
                return False
            self._account(action)
            return True

    def clear(self) -> None:
        """Forget everything, as a new process has."""
        with self._lock:
            self._writes.clear()
            self._known.clear()
            self._out.clear()

    def after_fork(self) -> None:
        """In the child of a fork nobody holds the lock."""
        self._lock = Lock()

    def _account(self, action: Action) -> None:
        if action.fingerprint is not None and not action.counted:
            action.counted = True
            self._count(action.twin)

    def _count(self, twin: str) -> None:
        self._known[twin] = self._known.get(twin, 0) + 1
        self._known.move_to_end(twin)
        while len(self._known) > COUNTED:
            self._known.popitem(last=False)


MEMORY = Memory()
# A lock that another thread held at that moment would stay locked. Windows cannot fork.
getattr(os, "register_at_fork", dict)(after_in_child=MEMORY.after_fork)
