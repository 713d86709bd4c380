"""The only loops, and the only clock.

`run` and `arun` carry out the steps that a call asks for, through a port that knows one client
library. A test strips the colour from one and compares it with the other, so the two never drift.
"""

from __future__ import annotations

import random
import time
from typing import Any, Protocol

from httpx_recover._words import Step, Stop


class Clock:
    """Time, chance and sleep, in one place so that a test can replace `_drive.clock`."""

    def now(self) -> float:
        """Seconds of a monotonic clock, for limits."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since the epoch, for dates."""
        return time.time()

    def chance(self) -> float:
        """A number from 0 to 1."""
        return random.random()

    def sleep(self, seconds: float) -> None:
        """Sleep on this thread."""
        time.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Sleep under whatever event loop is running."""
        import anyio  # the async clients bring it; a sync program never loads it

        await anyio.sleep(seconds)


clock = Clock()


class Port(Protocol):
    """Carries out steps through a client library."""

    def carry(self, step: Step) -> Step:
        """Do what `step` says and tell the call what came of it."""

    def finish(self, step: Stop) -> Any:
        """Hand the caller what recovery ended with, or raise it."""

    def abandon(self, exc: BaseException) -> None:
        """The caller has gone: write down what is known."""


class AsyncPort(Protocol):
    """The same with the other colour."""

    async def carry(self, step: Step) -> Step:
        """Do what `step` says and tell the call what came of it."""

    def finish(self, step: Stop) -> Any:
        """Hand the caller what recovery ended with, or raise it."""

    def abandon(self, exc: BaseException) -> None:
        """The caller has gone: write down what is known."""


def run(port: Port, step: Step) -> Any:
    """Carry out `step` and all that follows, and return or raise what it ends with."""
    try:
        while type(step) is not Stop:
            step = port.carry(step)
    except BaseException as exc:  # recorded and raised on: cancellation, Ctrl-C, a bug below
        port.abandon(exc)
        raise
    return port.finish(step)


async def arun(port: AsyncPort, step: Step) -> Any:
    """Carry out `step` and all that follows, and return or raise what it ends with."""
    try:
        while type(step) is not Stop:
            step = await port.carry(step)
    except BaseException as exc:  # recorded and raised on: cancellation, Ctrl-C, a bug below
        port.abandon(exc)
        raise
    return port.finish(step)
