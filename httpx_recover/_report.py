"""The honest report of a task: which list, which status, and the one step to take next.

Which list. The ledger says of each action, or of each item of a batch, whether it is done,
failed (known not to have happened) or unknown. Two things are settled here:
- An action that failed and whose later equal call succeeded stands in no list. Its attempts
  count, and `to_dict()` keeps it.
- Nothing is done without a sign. What claims to be done and cannot say how that was seen is
  unknown, except a read: its answer was handed over.
A report lists writes by ordinal, then items of batches in the caller's order, then reads that
needed recovery, then the number of the reads that ended well at once. The landed items of a
batch are one entry, `7/10 items of`, in the place of their write.

Status. Anything unknown: unknown. Nothing failed: done; but a block left by an exception is
partial when something was done in it, else failed. Something failed: the writes decide if there
are any, else the reads: one of them done is partial, none is failed.

Next. One step, for the first of these that is found: unknown, auth, rate limit, quota, bad input,
not found, conflict, missing items, transient, loop, an aborted block. It names the first entry of
its kind, and with an item all items of the same batch that the same step mends. A task that has
written something is not told to run again for a transient failure: one resend mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from httpx_recover._grammar import (
    MISSING,
    Facts,
    Subject,
    aborted_entry,
    cause,
    done_ending,
    failed_ending,
    grouped,
    head_line,
    list_line,
    listing,
    next_line,
    one_item,
    read_report,
    reads_entry,
    subject,
)
from httpx_recover._targets import clean_name, clean_word

DONE, FAILED, UNKNOWN = "done", "failed", "unknown"

_PARTS = ("name", "status", "calls", "elapsed", "aborted", "done", "failed", "unknown", "next")
_LOOPS = frozenset({"repeated_call", "repeated_error", "unchanged_state", "undo", "corrections"})
_REDONE = frozenset({MISSING, "rate_limit", "transient"})
_ABORTED = aborted_entry("")


class Report:
    """What a task did, what failed, what is unknown, and what to do next.

    Attributes:
        name: the task's name.
        status: `done`, `partial`, `failed` or `unknown`.
        calls: every attempt handed down, recovery included.
        elapsed: seconds since the block was entered.
        aborted: the name of the exception that left the block, or None.
        done, failed, unknown: the entries of the three lines, never cut.
        next: the one step a human or a later run should take, or `none`.
    """

    __slots__ = ("_actions", *_PARTS)

    def __init__(
        self,
        *,
        name: str,
        status: str,
        calls: int,
        elapsed: float,
        done: Iterable[str],
        failed: Iterable[str],
        unknown: Iterable[str],
        next: str,
        aborted: str | None = None,
        actions: Iterable[Facts] = (),
    ) -> None:
        self.name = name
        self.status = status
        self.calls = calls
        self.elapsed = elapsed
        self.aborted = aborted
        self.done = tuple(done)
        self.failed = tuple(failed)
        self.unknown = tuple(unknown)
        self.next = next
        self._actions = tuple(actions)

    @classmethod
    def from_actions(
        cls,
        name: str,
        actions: Sequence[Mapping[str, Any]],
        *,
        elapsed: float,
        aborted: str | None = None,
    ) -> Self:
        """Make the report of a task from what its ledger knows.

        Args:
            name: the task's name; `-` for a lone call.
            actions: plain facts about each action. They are kept as they are, not copied.
            elapsed: seconds since the block was entered.
            aborted: the name of the exception that left the block and is no action's own.

        Returns:
            The report; asked for before the end it is a snapshot.
        """
        name = clean_name(name)
        aborted = None if aborted is None else clean_word(aborted, 80)
        rows = _rows(actions, name)
        return cls(
            name=name,
            status=_status(rows, aborted),
            calls=sum(len(action["attempts"]) for action in actions),
            elapsed=max(elapsed, 0.0),
            done=_done(rows),
            failed=_lost(rows, FAILED) + ([aborted_entry(aborted)] if aborted else []),
            unknown=_lost(rows, UNKNOWN),
            next=_next(rows, aborted),
            aborted=aborted,
            actions=actions,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read `to_dict()` back, as it is or after JSON.

        Raises:
            KeyError: a part is missing.
        """
        parts = {part: data[part] for part in _PARTS}
        return cls(**parts, actions=data["actions"])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the five lines back.

        Args:
            text: what `str(report)` gave.

        Returns:
            A report whose text is `text`. Its actions are not known, and where a line was cut
            its last entry says how many more there were.

        Raises:
            ValueError: it is not such a report; the message names the line.
        """
        parts = read_report(text)
        left = [entry for entry in parts["failed"] if entry.startswith(_ABORTED)]
        return cls(**parts, aborted=left[0].removeprefix(_ABORTED) if left else None)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON, with every action and attempt."""
        parts = {part: getattr(self, part) for part in _PARTS}
        for part in (DONE, FAILED, UNKNOWN):
            parts[part] = list(parts[part])
        return {**parts, "actions": [dict(action) for action in self._actions]}

    def __str__(self) -> str:
        lines = (
            head_line(self.name, self.status, self.calls, self.elapsed),
            list_line(DONE, self.done),
            list_line(FAILED, self.failed),
            list_line(UNKNOWN, self.unknown),
            next_line(self.next),
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Report {self.name!r} {self.status}, calls {self.calls}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Report):
            return NotImplemented
        return self.to_dict() == other.to_dict()


class _Row(NamedTuple):
    """One thing that a list can hold: an action, or one item of a batch."""

    action: Facts
    facts: Facts  # of the action, or of the item
    whole: Subject  # the action
    who: Subject  # the action, or the item
    state: str

    @property
    def is_item(self) -> bool:
        return self.facts is not self.action

    @property
    def reads(self) -> bool:
        return bool(self.action["kind"] == "read")

    @property
    def place(self) -> str:
        """Where its state can be read: the target without the method."""
        target = self.whole.target
        return target if self.action["method"] is None else target.partition(" ")[2]

    @property
    def host(self) -> str:
        return self.place if self.action["method"] is None else self.place.partition("/")[0]

    @property
    def reason(self) -> str:
        return cause(self.facts) or str(self.facts["class"])


def _rows(actions: Sequence[Facts], report: str) -> list[_Row]:
    listed = [action for action in actions if action["superseded_by"] is None]
    rows = []
    for action in sorted(listed, key=lambda action: action["n"]):
        whole = subject(action, report)
        for facts in action["items"] or [action]:
            who = whole if facts is action else one_item(whole, facts)
            rows.append(_Row(action, facts, whole, who, _state(action, facts)))
    return sorted(rows, key=lambda row: (row.reads and not row.is_item, row.is_item))


def _state(action: Facts, facts: Facts) -> str:
    answered = action["kind"] == "read" and facts is action
    seen = bool(action["sign"]) or answered
    return str(facts["state"]) if seen or facts["state"] != DONE else UNKNOWN


def _lost(rows: Sequence[_Row], state: str) -> list[str]:
    return [f"{row.who}{failed_ending(row.facts)}" for row in rows if row.state == state]


def _done(rows: Sequence[_Row]) -> list[str]:
    landed = [row for row in rows if row.state == DONE]
    quiet = [row for row in landed if _quiet(row)]
    spoken = {id(row.action): row for row in landed if not _quiet(row)}  # a batch is one entry
    entries = [
        (row.reads, _landed(row), done_ending(row.action))
        for row in sorted(spoken.values(), key=lambda row: (row.reads, row.whole.number))
    ]
    writes = grouped((who, ending) for reads, who, ending in entries if not reads)
    reads = [f"{who}{ending}" for reads, who, ending in entries if reads]
    return writes + reads + ([reads_entry(len(quiet))] if quiet else [])


def _quiet(row: _Row) -> bool:
    needed_none = row.action["sends"] <= 1 or not row.action["sign"]
    return row.reads and not row.is_item and needed_none


def _landed(row: _Row) -> Subject:
    if not row.is_item:
        return row.who
    states = [_state(row.action, item) for item in row.action["items"]]
    return row.whole._replace(part=f"{states.count(DONE)}/{len(states)} items of ")


def _status(rows: Sequence[_Row], aborted: str | None) -> str:
    states = {row.state for row in rows}
    if UNKNOWN in states:
        return UNKNOWN
    if FAILED not in states:
        return DONE if aborted is None else "partial" if DONE in states else FAILED
    deciding = [row for row in rows if not row.reads] or rows
    return "partial" if any(row.state == DONE for row in deciding) else FAILED


def _next(rows: Sequence[_Row], aborted: str | None) -> str:
    unknown = [row for row in rows if row.state == UNKNOWN]
    if unknown:
        return _settle(unknown[0], rows)
    first: dict[str, _Row] = {}
    for row in rows:
        if row.state == FAILED:
            first.setdefault(_kind(row.facts), row)
    for kind, step in _STEPS.items():
        if kind in first:
            return step(first[kind], rows)
    return "none" if aborted is None else f"rerun the task after mending {aborted}"


def _kind(facts: Facts) -> str:
    kind = _KINDS.get(facts["class"], "transient")
    return "loop" if kind == "transient" and facts.get("stop") in _LOOPS else kind


def _siblings(row: _Row, rows: Sequence[_Row], classes: Iterable[str]) -> list[_Row]:
    """The items of the same batch that ended the same way, with one of `classes`."""
    return [
        each
        for each in rows
        if each.action is row.action and each.state == row.state and each.facts["class"] in classes
    ]


def _items(rows: Sequence[_Row]) -> str:
    """`item a of POST host/path #1`, `items a and b of POST host/path #1`."""
    words = [clean_word(str(row.facts["id"])) for row in rows]
    return f"item{'s' if words[1:] else ''} {listing(words)} of {rows[0].whole.name}"


def _settle(row: _Row, rows: Sequence[_Row]) -> str:
    if row.reads:
        return f"resend {row.who.name}, its end was not seen"
    look = f"read the state of {row.place}"
    if not row.is_item:
        return f"{look} and send #{row.whole.number} again only if it is not there"
    same = [each for each in rows if each.action is row.action and each.state == UNKNOWN]
    return f"{look} and redo {_items(same)} only if {'they are' if same[1:] else 'it is'} not there"


def _renew(row: _Row, rows: Sequence[_Row]) -> str:
    return f"renew the credential for {row.host}, then run the task again"


def _wait(row: _Row, rows: Sequence[_Row]) -> str:
    limited = _siblings(row, rows, {"rate_limit"})
    until = max(each.facts.get("retry_at") or "" for each in limited)
    first = f"wait until {clean_word(until)}" if until else "wait a while"
    if row.is_item:
        return f"{first}, then redo {_items(_siblings(row, rows, _REDONE))}"
    return f"{first}, then resend {row.who.name}"


def _raise(row: _Row, rows: Sequence[_Row]) -> str:
    return f"raise the quota of {row.host}, then run the task again"


def _fix(row: _Row, rows: Sequence[_Row]) -> str:
    stop = row.facts.get("stop")
    if stop == "repeated_error":
        seen = row.reason.rpartition("/")[2]
        return f"change the arguments of {row.who.name}, the same call failed twice with {seen}"
    what = row.who.name if row.is_item else f"the arguments of {row.who.name}"
    if stop == "corrections":
        return f"read the state of {row.place}, then fix {what} ({row.reason})"
    return f"fix {what} ({row.reason}), then send it again"


def _readdress(row: _Row, rows: Sequence[_Row]) -> str:
    if row.is_item or row.action["method"] is None:
        return _fix(row, rows)
    return f"fix the address of {row.who.name}, it answered {row.reason}"


def _decide(row: _Row, rows: Sequence[_Row]) -> str:
    look = f"read the state of {row.place} and decide"
    return f"{look}, {row.who.name} was refused with {row.reason}"


def _redo(row: _Row, rows: Sequence[_Row]) -> str:
    if row.facts["class"] == MISSING and row.is_item:
        return f"redo {_items(_siblings(row, rows, _REDONE))}"
    return f"read the state of {row.place} and redo what is missing of {row.who.name}"


def _rerun(row: _Row, rows: Sequence[_Row]) -> str:
    if row.is_item:
        return f"redo {_items(_siblings(row, rows, {row.facts['class']}))} later"
    why = f"failed with {row.reason}"
    if any(each.state == DONE and not each.reads for each in rows):
        return f"resend {row.who.name} later, it {why}"
    return f"rerun the task later, {row.who.name} {why}"


def _turn(row: _Row, rows: Sequence[_Row]) -> str:
    return f"change the course of the task, {row.who.name} was stopped by {row.facts['stop']}"


_KINDS = {
    "auth": "auth",
    "rate_limit": "rate_limit",
    "quota": "quota",
    "bad_input": "bad_input",
    "not_found": "not_found",
    "conflict": "conflict",
    "in_progress": "conflict",
    "already_done": "conflict",
    MISSING: MISSING,
    "partial": MISSING,
}
"""Which step a class asks for; every other class is transient."""

_STEPS: dict[str, Callable[[_Row, Sequence[_Row]], str]] = {
    "auth": _renew,
    "rate_limit": _wait,
    "quota": _raise,
    "bad_input": _fix,
    "not_found": _readdress,
    "conflict": _decide,
    MISSING: _redo,
    "transient": _rerun,
    "loop": _turn,
}
"""The steps in the order in which they are looked for."""
