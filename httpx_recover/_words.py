"""The words of the engine: classes, verdicts, and the five things it can ask a loop to do.

Nothing here decides anything. Every other file speaks in these words, so that a decision
can be printed, compared, pickled and enumerated.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar, NamedTuple


class FailureClass(StrEnum):
    """What a call's end means, whatever dress the server gave it."""

    OK = "ok"
    ACCEPTED = "accepted"
    TRANSIENT = "transient"
    UNKNOWN_OUTCOME = "unknown_outcome"
    RATE_LIMIT = "rate_limit"
    QUOTA = "quota"
    BAD_INPUT = "bad_input"
    AUTH = "auth"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    IN_PROGRESS = "in_progress"
    ALREADY_DONE = "already_done"
    PARTIAL = "partial"


class Applied(StrEnum):
    """Did the server act on the request?"""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Verdict:
    """What a verifying read shows.

    Use `Verdict.LANDED`, `Verdict.ABSENT`, `Verdict.UNCLEAR`, or
    `Verdict.PARTIAL(landed, missing)` with the names of the items.
    """

    __slots__ = ("again", "count", "landed", "missing", "name", "why")

    LANDED: ClassVar[Verdict]
    ABSENT: ClassVar[Verdict]
    UNCLEAR: ClassVar[Verdict]

    def __init__(
        self,
        name: str,
        landed: Iterable[object] = (),
        missing: Iterable[object] = (),
        *,
        count: int | None = None,
        why: str = "",
        again: bool = False,
    ) -> None:
        self.name = name
        self.landed = tuple(str(item) for item in landed)
        self.missing = tuple(str(item) for item in missing)
        self.count = count  # how many copies a counting verifier saw
        self.why = why  # our own words on an UNCLEAR, for the report
        self.again = again  # equal calls are still in flight: a later look can tell more

    @classmethod
    def PARTIAL(cls, landed: Iterable[object], missing: Iterable[object]) -> Verdict:
        """Some items landed and some did not: `landed` and `missing` are their names."""
        return cls("PARTIAL", landed, missing)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Verdict):
            return NotImplemented
        return (self.name, self.landed, self.missing) == (other.name, other.landed, other.missing)

    def __hash__(self) -> int:
        return hash((self.name, self.landed, self.missing))

    def __repr__(self) -> str:
        if self.name == "PARTIAL":
            return f"Verdict.PARTIAL({self.landed!r}, {self.missing!r})"
        return f"Verdict.{self.name}"


Verdict.LANDED = Verdict("LANDED")
Verdict.ABSENT = Verdict("ABSENT")
Verdict.UNCLEAR = Verdict("UNCLEAR")


class Send(NamedTuple):
    """Hand the request down. `timeout` cuts its socket timeouts (seconds), None leaves them."""

    number: int
    timeout: float | None = None


class Wait(NamedTuple):
    """Sleep `seconds`, plus a random part of `spread` that never passes the deadline."""

    seconds: float
    spread: float = 0.0


class Ask(NamedTuple):
    """Make a read: `verify`, `count`, `baseline` (the verifier) or `confirm` (a plain GET)."""

    question: str


class Note(NamedTuple):
    """Write a fact down before going on: `unknown` arms the memory of unresolved writes."""

    fact: str


class Stop(NamedTuple):
    """Recovery is over. `give` says what the caller receives.

    `response` the last response, `error` the last exception, `read` the verifying read's
    response, `earlier` the end of the attempt that is still unknown, `unknown` a raised
    `UnknownOutcome`, `refused` an `UnknownOutcome` for a request that was not sent.
    """

    give: str


Step = Send | Wait | Ask | Note | Stop
