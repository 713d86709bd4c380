"""What this process remembers between calls, so that a repeat is never a second blind send.

Two things. Writes whose outcome is unknown, for as long as a deadline lasts: an outer retry or a
new client that sends the same request again meets the action it belongs to. And, for routes that
verify, how many equal actions are known to be done or are still out: a copy that a read finds may
be theirs, and each copy is claimed once.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from httpx_recover._ledger import OPEN, UNKNOWN, Action

UNRESOLVED = 256  # writes kept; the oldest goes first
COUNTED = 4096  # fingerprints counted


def is_open(action: Action) -> bool:
    """Must a repeat of this action still be held back? Also while a call is at work on it."""
    return action.state == UNKNOWN or action.lost_answer or action.permit or action.busy


class Memory:
    """Unresolved writes by fingerprint and identity, and counts of equal actions."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._writes: OrderedDict[tuple[str, str], tuple[Action, float]] = OrderedDict()
        self._known: OrderedDict[str, int] = OrderedDict()
        self._out: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._writes)

    def find(self, fingerprint: str, identity: str, now: float) -> Action | None:
        """The unresolved action of these two, or None."""
        with self._lock:
            self._drop_old(now)
            action, until = self._writes.get((fingerprint, identity), (None, 0.0))
            if action is not None and (now >= until or not is_open(action)):
                del self._writes[fingerprint, identity]
                return None
            return action

    def _drop_old(self, now: float) -> None:
        """What is past costs every write a fingerprint for nothing: the oldest go first."""
        while self._writes:
            key, (action, until) = next(iter(self._writes.items()))
            if now < until and is_open(action):
                return
            del self._writes[key]

    def keep(self, action: Action, now: float, seconds: float) -> None:
        """Remember an unresolved action for so many seconds, or for longer if told so before."""
        assert action.fingerprint is not None and action.identity is not None
        with self._lock:
            key = (action.fingerprint, action.identity)
            held, until = self._writes.get(key, (action, now))
            until = max(until, now + seconds) if held is action else now + seconds
            self._writes[key] = (action, until)
            self._writes.move_to_end(key)
            while len(self._writes) > UNRESOLVED:
                self._writes.popitem(last=False)

    def forget(self, action: Action) -> None:
        """The action is resolved."""
        if action.fingerprint is None or action.identity is None:
            return
        with self._lock:
            key = (action.fingerprint, action.identity)
            if self._writes.get(key, (None, 0.0))[0] is action:
                del self._writes[key]

    def take(self, action: Action) -> bool:
        """Start work on an action, unless another call is at work on it or has just ended it."""
        with self._lock:
            if action.busy or not (action.state == OPEN or is_open(action)):
                return False
            action.busy = True
            return True

    def went_out(self, twin: str) -> None:
        """An equal call is on its way."""
        with self._lock:
            self._out[twin] = self._out.get(twin, 0) + 1

    def came_back(self, twin: str, *, done: bool) -> None:
        """It has ended; `done` says that its copy is accounted for."""
        with self._lock:
            left = self._out.pop(twin, 1) - 1
            if left > 0:
                self._out[twin] = left
            if done:
                self._count(twin)

    def counts(self, twin: str) -> tuple[int, int]:
        """How many equal actions are known done, and how many are out."""
        with self._lock:
            return self._known.get(twin, 0), self._out.get(twin, 0)

    def claim(self, twin: str, copies: int, others: int) -> bool:
        """Take one of `copies` found, of which `others` were there before us: is one free?"""
        with self._lock:
            if copies <= others + self._known.get(twin, 0):
                return False
            self._count(twin)
            return True

    def clear(self) -> None:
        """Forget everything, as a new process has."""
        with self._lock:
            self._writes.clear()
            self._known.clear()
            self._out.clear()

    def _count(self, twin: str) -> None:
        self._known[twin] = self._known.get(twin, 0) + 1
        self._known.move_to_end(twin)
        while len(self._known) > COUNTED:
            self._known.popitem(last=False)


MEMORY = Memory()
