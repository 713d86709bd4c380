"""What a task may still spend on recovery: recovery calls, and time since its first failure.

Limits are not kept here: a task may set them, else the mount that carries the call does, so
they come with each question. The counters are shared by every call of the task.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any

CONFIRMS = 3  # of a task's recovery calls, so that a task of 404s keeps some for real failures


_NO_LOCK = nullcontext()


class Budget:
    """Counters of one task. `lock` makes them exact when threads share the task."""

    __slots__ = ("confirms", "first_failure", "lock", "used")

    def __init__(self, lock: AbstractContextManager[Any] | None = None) -> None:
        self.lock = _NO_LOCK if lock is None else lock
        self.used = 0
        self.confirms = 0
        self.first_failure: float | None = None

    def start(self, now: float) -> None:
        """Start the clock of the deadline, once."""
        if self.first_failure is None:
            self.first_failure = now

    def ends(self, deadline: float) -> float:
        """When recovery ends, on the clock of `start`; infinity before the first failure."""
        return inf if self.first_failure is None else self.first_failure + deadline

    def spend(self, limit: int) -> bool:
        """Take one recovery call, or say that none of `limit` is left."""
        with self.lock:
            if self.used >= limit:
                return False
            self.used += 1
            return True

    def may_confirm(self) -> bool:
        """Take one of the confirming reads, or say that none is left."""
        with self.lock:
            if self.confirms >= CONFIRMS:
                return False
            self.confirms += 1
            return True

    def __getstate__(self) -> tuple[int, int, float | None]:
        return self.used, self.confirms, self.first_failure

    def __setstate__(self, state: tuple[int, int, float | None]) -> None:
        self.lock = nullcontext()
        self.used, self.confirms, self.first_failure = state
