"""What is remembered of an action: facts as they happened, never conclusions drawn twice.

An `Action` is one thing the program does; a repeat of it while it is unknown belongs to the same
action. Its trail holds every request that was handed down for it, recovery reads included, so the
wire can be rebuilt from the trail alone. `Outcome` is the caller's view of it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from httpx_recover._report import Report
from httpx_recover._targets import target
from httpx_recover._words import Applied, FailureClass

DONE, FAILED, UNKNOWN, OPEN = "done", "failed", "unknown", "open"


class Attempt:
    """One request handed down: a send of the call, or a recovery read made for it."""

    __slots__ = (
        "applied",
        "cause",
        "ended",
        "evidence",
        "failure",
        "kind",
        "number",
        "phase",
        "started",
        "status",
        "target",
        "wait",
    )

    def __init__(
        self, kind: str, number: int, started: float, evidence: str, place: str | None = None
    ) -> None:
        self.kind = kind  # send, verify, confirm, count or baseline
        self.number = number
        self.started = started
        self.evidence = evidence  # what allowed it
        self.target = place  # None: the call's own
        self.ended: float | None = None
        self.status: int | None = None
        self.cause: str | None = None
        self.failure: FailureClass | None = None
        self.applied: Applied | None = None
        self.phase = "in flight"
        self.wait: float | None = None

    def facts(self, own: str) -> dict[str, Any]:
        """The attempt as plain data; times are seconds. `own` is the call's target."""
        return {
            "kind": self.kind,
            "number": self.number,
            "target": self.target or own,
            "evidence": self.evidence,
            "status": self.status,
            "cause": self.cause,
            "class": self.failure,
            "applied": self.applied,
            "phase": self.phase,
            "wait": self.wait,
            "took": None if self.ended is None else round(self.ended - self.started, 6),
        }

    def __repr__(self) -> str:
        seen = self.cause or self.phase
        return f"<Attempt {self.kind} {self.number}: {seen}>"


class Action:
    """One thing the program does, and everything known about it."""

    __slots__ = (
        "absent_by",
        "applied",
        "baseline",
        "busy",
        "cause",
        "counted",
        "failure",
        "fingerprint",
        "first_sent",
        "identity",
        "items",
        "key",
        "label",
        "lost_answer",
        "lost_end",
        "method",
        "note",
        "permit",
        "retry_at",
        "safe",
        "sign",
        "state",
        "stop",
        "superseded",
        "task",
        "trail",
        "unsure",
        "url",
        "wait",
    )

    def __init__(self, method: str, url: Any, *, safe: bool) -> None:
        self.method = method
        self.url = url  # anything whose str() is the URL: making text is left for later
        self.safe = safe
        self.task = ""
        self.label: str | None = None
        self.key: str | None = None
        self.fingerprint: str | None = None
        self.identity: str | None = None
        self.state = OPEN
        self.failure: FailureClass | None = None
        self.applied: Applied | None = None
        self.cause: str | None = None
        self.sign: str | None = None
        self.stop: str | None = None
        self.note: str | None = None
        self.absent_by: str | None = None
        self.wait: float | None = None
        self.retry_at: float | None = None  # epoch seconds
        self.first_sent: float | None = None
        self.lost_end: tuple[float, float] | None = None  # start and end of the lost attempt
        self.lost_answer = False  # applied, but the caller never got the answer
        self.baseline: int | None = None  # copies that a verifier counted before the first send
        self.unsure = 0  # of those, how many may have been equal calls still in flight
        self.permit = False  # the caller saw for itself that it is absent: one more send
        self.counted = False  # its copy is among those known to be there
        self.busy = False  # a call is at work on it
        self.items: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # landed, missing
        self.superseded: Any = None  # the later success that took its place
        self.trail: list[Attempt] = []

    @property
    def target(self) -> str:
        """`host[:port]path`, as the report shows it."""
        return target(str(self.url))

    @property
    def name(self) -> str:
        """Method and target."""
        return f"{self.method} {self.target}"

    @property
    def twin(self) -> str:
        """What equal actions of one user have in common."""
        return f"{self.fingerprint} {self.identity}"

    @property
    def sends(self) -> int:
        """How often the request itself was handed down."""
        return sum(attempt.kind == "send" for attempt in self.trail)

    def done(self, sign: str, failure: FailureClass = FailureClass.OK) -> None:
        """It is done, and `sign` is how that was seen."""
        self.state, self.sign, self.failure, self.applied = DONE, sign, failure, Applied.YES
        self.stop = self.absent_by = self.wait = self.retry_at = None

    def ended(
        self, state: str, failure: FailureClass, applied: Applied, cause: str, stop: str | None
    ) -> None:
        """Recovery is over without success."""
        self.state, self.failure, self.applied, self.stop = state, failure, applied, stop
        self.cause, self.sign = cause, None

    def facts(self, number: int, superseded_by: int | None = None) -> dict[str, Any]:
        """The action as plain data, as `Report` reads it."""
        in_flight = self.state == OPEN
        # What is still in flight is not known yet, whatever an earlier attempt has shown.
        failure = self.failure or (FailureClass.UNKNOWN_OUTCOME if in_flight else FailureClass.OK)
        return {
            "n": number,
            "kind": "read" if self.safe else "write",
            "method": self.method,
            "target": self.target,
            "label": self.label,
            "task": self.task,
            "state": UNKNOWN if in_flight else self.state,
            "class": str(failure),
            "applied": str(self.applied or Applied.UNKNOWN),
            "cause": self.cause,
            "code": None,
            "sign": self.sign,
            "stop": self.stop,
            "note": self.note,
            "absent_by": self.absent_by,
            "sends": self.sends,
            "wait": self.wait,
            "retry_at": None if self.wait is None or self.retry_at is None else _utc(self.retry_at),
            "key": self.key,
            "superseded_by": superseded_by,
            "items": None if self.items is None else _items(*self.items),
            "attempts": [attempt.facts(self.name) for attempt in self.trail],
        }

    def __repr__(self) -> str:
        return f"<Action {self.name} {self.state}>"


def at_once(method: str, url: Any, status: int, *, safe: bool) -> Action:
    """The action of a call that succeeded at once, made when somebody asks for it."""
    action = Action(method, url, safe=safe)
    action.cause = str(status)
    attempt = Attempt("send", 1, 0.0, "first try")
    attempt.status, attempt.cause, attempt.phase = status, str(status), "answered"
    attempt.failure, attempt.applied = FailureClass.OK, Applied.YES
    action.trail.append(attempt)
    action.done(f"answer {status}")
    return action


class Outcome:
    """How one call ended, and what is known about its effect.

    Attributes:
        failure: the `FailureClass` of the end.
        applied: did the server act on it.
        attempts: each send of the request, oldest first.
        evidence: what allowed the last send, such as `trusted key`.
        verified_by: how success was seen, or None.
        stopped_by: why recovery stopped, in the words of the report, or None.
        wait: seconds that the server asked for, or None.
        retry_at: when that wait is over (UTC), or None.
        key: the idempotency key, or None.
        report: the `Report` of this call alone.
    """

    __slots__ = ("_key", "_safe", "_source", "_status")

    def __init__(
        self, source: Any, status: int = 0, safe: bool = True, key: str | None = None
    ) -> None:
        # An Action, plain facts, or, of a call that succeeded at once, just its request.
        self._source = source
        self._status = status
        self._safe = safe
        self._key = key

    @property
    def action(self) -> Action | None:
        """The ledger's own entry, None once the outcome has left its process."""
        return self._source if isinstance(self._source, Action) else None

    @property
    def facts(self) -> dict[str, Any]:
        """Everything as plain data."""
        source = self._source
        if isinstance(source, Action):
            return source.facts(1)
        if isinstance(source, dict):
            return source
        action = at_once(source.method, source.url, self._status, safe=self._safe)
        action.key = self._key
        return action.facts(1)

    @property
    def failure(self) -> FailureClass:
        return FailureClass(self.facts["class"])

    @property
    def applied(self) -> Applied:
        return Applied(self.facts["applied"])

    @property
    def attempts(self) -> tuple[dict[str, Any], ...]:
        return tuple(each for each in self.facts["attempts"] if each["kind"] == "send")

    @property
    def evidence(self) -> str | None:
        return self.attempts[-1]["evidence"] if self.attempts else None

    @property
    def verified_by(self) -> str | None:
        sign: str | None = self.facts["sign"]
        return sign

    @property
    def stopped_by(self) -> str | None:
        stop: str | None = self.facts["stop"]
        return stop

    @property
    def wait(self) -> float | None:
        wait: float | None = self.facts["wait"]
        return wait

    @property
    def retry_at(self) -> datetime | None:
        at = self.facts["retry_at"]
        return None if at is None else datetime.fromisoformat(at)

    @property
    def key(self) -> str | None:
        key: str | None = self.facts["key"]
        return key

    @property
    def report(self) -> Report:
        took = sum(each["took"] or 0.0 for each in self.facts["attempts"])
        return Report.from_actions("-", [self.facts], elapsed=took)

    def __str__(self) -> str:
        facts = self.facts
        sends = facts["sends"]
        said = [f"{facts['method']} {facts['target']}: {facts['state']}, {facts['class']}"]
        if facts["cause"]:
            said[0] += f" {facts['cause']}"
        said.append(f"applied {facts['applied']}")
        said.append(f"after {sends} send" + ("" if sends == 1 else "s"))
        if facts["sign"]:
            said.append(f"verified by {facts['sign']}")
        if facts["stop"]:
            said.append(f"stopped by {facts['stop']}")
        if facts["wait"]:
            said.append(f"the server asked for {facts['wait']:g} s")
        return ", ".join(said)

    def __repr__(self) -> str:
        return f"<Outcome {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The ledger belongs to its process: what travels is what was known.
        return Outcome, (self.facts,)


def _utc(epoch: float) -> str:
    try:
        return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):  # a server may ask for a year past 9999
        return "9999-12-31T23:59:59Z"


def _items(landed: tuple[str, ...], missing: tuple[str, ...]) -> list[dict[str, Any]]:
    done = [{"id": each, "state": DONE, "class": "ok"} for each in landed]
    lost = [{"id": each, "state": FAILED, "class": "missing"} for each in missing]
    return done + lost
