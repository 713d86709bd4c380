"""How the five lines of a report are spelled, and how they are read back.

An entry is a subject and an ending: `POST host/path #1 (label)` and ` verified by answer 201`.
Each part is bounded and holds no `;`, so the first entry always fits into a line of 1,000
characters, and a line is taken apart at each `; `.

Spelling, in the order it is decided:
- In `done:` more than three entries that differ only in ordinal and label become one, `x37`.
- Whole entries are kept up to 1,000 characters a line, the words `; and N more` included.
- Sends are told always in `failed:` and `unknown:`, in `done:` only above one.
- A missing item is just `missing`: nothing was seen of it, so nothing is said of it.

Reading: the head from its right end, since a name may hold ` status done calls 1`. The words
`and N more` stay the last entry of their line, so a report that was read is written alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from httpx_recover._targets import (
    WIDTH,
    clean_code,
    clean_label,
    clean_name,
    clean_note,
    clean_word,
)
from httpx_recover._words import FailureClass

LINE = 1000
"""Longest line, in characters."""

MISSING = "missing"
STATUSES = ("done", "partial", "failed", "unknown")
VERBS = ("read", "resend", "redo", "wait", "renew", "fix", "change", "poll", "raise", "rerun")

Facts = Mapping[str, Any]
"""Plain data about an action, or about one item of a batch."""

_MARK = "RECOVERY v1 "
_ALIKE = 3  # as many equal entries stand one by one

_SUBJECT = r"(?:\d+/\d+ items of |item \S+ of )?\S+ \S+(?: x\d+)?(?: #\d+)*(?: \([^;()]+\))?"
_CLASSES = "|".join([*FailureClass, MISSING])
_HEAD = re.compile(
    rf"{_MARK}task (.+) status ({'|'.join(STATUSES)}) calls (\d+) elapsed (\d+\.\d)s", re.ASCII
)
_DONE = re.compile(rf"{_SUBJECT} verified by [^;]+|\d+ reads? ok", re.ASCII)
_FAILED = re.compile(rf"{_SUBJECT} (?:{_CLASSES})(?:,? [^;]+)?|task block aborted [^ ;]+", re.ASCII)
_MORE = re.compile(r"and \d+ more", re.ASCII)
_NEXT = re.compile(rf"{_MARK}next: (none|(?:{'|'.join(VERBS)}) .+)")
_LISTS = {"done": _DONE, "failed": _FAILED, "unknown": _FAILED}


class Subject(NamedTuple):
    """What an entry is about. `target` is `POST host/path` or `tool name`."""

    target: str
    number: int
    label: str | None = None
    part: str = ""  # "item inv-4 of ", "7/10 items of "

    @property
    def name(self) -> str:
        """The subject without its label, for use inside a sentence."""
        return f"{self.part}{self.target} #{self.number}"

    def __str__(self) -> str:
        return self.name if self.label is None else f"{self.name} ({self.label})"


def subject(action: Facts, report: str) -> Subject:
    """What an action's entry is about.

    Args:
        action: the facts; `method` is None for a tool.
        report: the report's name. An inner task's name labels what has no label of its own;
            `-` is the report of a lone call, which has no inner tasks.
    """
    verb = clean_word(action["method"], 20) if action["method"] else "tool"
    inner = None if report in ("-", clean_name(action["task"] or "")) else action["task"]
    label = clean_label(action["label"]) or clean_label(inner)
    return Subject(f"{verb} {clean_word(action['target'], WIDTH)}", action["n"], label)


def one_item(whole: Subject, item: Facts) -> Subject:
    """One item of a batch as a subject of its own."""
    return whole._replace(part=f"item {clean_word(str(item['id']))} of ")


def done_ending(action: Facts) -> str:
    """What follows a subject in `done:`."""
    after = f" after {action['sends']} sends" if action["sends"] > 1 else ""
    return f" verified by {clean_note(action['sign'])}{after}{_note(action)}"


def failed_ending(facts: Facts) -> str:
    """What follows a subject in `failed:` and `unknown:`."""
    if facts["class"] == MISSING:
        return f" {MISSING}"
    sends = facts.get("sends") or 0
    said = f" {facts['class']}"
    if reason := cause(facts):
        said += f" {reason}"
    said += f" after {sends} send{'' if sends == 1 else 's'}"
    if read := facts.get("absent_by"):
        said += f" absent by read {clean_note(read)}"
    if stop := facts.get("stop"):
        said += f" stopped by {clean_word(stop)}"
    return said + _note(facts)


def cause(facts: Facts) -> str:
    """What was seen, as `422/INVALID_DATE`: status or exception, then the API's own code."""
    code = clean_code(facts.get("code"))
    seen = [clean_word(facts["cause"])] if facts.get("cause") else []
    return "/".join([*seen, code] if code and seen else seen)


def aborted_entry(exception: str) -> str:
    """The entry of a task block that was left by an exception."""
    return f"task block aborted {exception}"


def reads_entry(count: int) -> str:
    """The entry of the reads that ended well at once."""
    return f"{count} read{'' if count == 1 else 's'} ok"


def grouped(entries: Iterable[tuple[Subject, str]]) -> list[str]:
    """Spell entries, each a subject and its ending; more than three alike become one."""
    known = [(who.part + who.target, ending, who) for who, ending in entries]
    alike = Counter((bare, ending) for bare, ending, _ in known)
    texts = (
        f"{bare} x{count}{ending}" if (count := alike[bare, ending]) > _ALIKE else f"{who}{ending}"
        for bare, ending, who in known
    )
    return list(dict.fromkeys(texts))


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; above twelve the rest is a number."""
    shown = list(words)
    if len(shown) > 12:
        shown[11:] = [f"{len(shown) - 11} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)


def head_line(name: str, status: str, calls: int, elapsed: float) -> str:
    """The first line; `elapsed` is seconds."""
    return f"{_MARK}task {name} status {status} calls {calls} elapsed {elapsed:.1f}s"


def list_line(title: str, entries: Sequence[str]) -> str:
    """The line `title`, cut to whole entries."""
    whole = f"{_MARK}{title}: {'; '.join(entries) or 'none'}"
    if len(whole) <= LINE:
        return whole
    kept = 1
    while len(_cut(title, entries, kept + 1)) <= LINE:
        kept += 1
    return _cut(title, entries, kept)


def next_line(step: str) -> str:
    """The last line."""
    return f"{_MARK}next: {step}"


def read_report(text: str) -> dict[str, Any]:
    """Take a report's text apart.

    Args:
        text: the five lines; one line end after the last is let pass, as `print` leaves it.

    Returns:
        name, status, calls, elapsed (seconds), done, failed, unknown (tuples) and next.

    Raises:
        ValueError: it is not such a report; the message names the line.
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) != 5:
        raise ValueError(f"a report has five lines, this text has {len(lines)}")
    for number, line in enumerate(lines, 1):
        if len(line) > LINE:
            raise ValueError(f"line {number} is longer than {LINE:,} characters")
    head = _HEAD.fullmatch(lines[0])
    if head is None:
        raise ValueError(f"line 1 is not the head of a report: {lines[0]!r}")
    lists = {
        title: _read_list(number, title, lines[number - 1])
        for number, title in enumerate(_LISTS, 2)
    }
    step = _NEXT.fullmatch(lines[4])
    if step is None:
        raise ValueError(f"line 5 is not the next step: {lines[4]!r}")
    name, status, calls, elapsed = head.groups()
    told = {"name": name, "status": status, "calls": int(calls), "elapsed": float(elapsed)}
    return {**told, **lists, "next": step[1]}


def _read_list(number: int, title: str, line: str) -> tuple[str, ...]:
    start = f"{_MARK}{title}: "
    if not line.startswith(start):
        raise ValueError(f"line {number} does not begin with {start!r}: {line!r}")
    entries = tuple(line.removeprefix(start).split("; "))
    if entries == ("none",):
        return ()
    # The number of those left out stands last, and never alone.
    known = entries[:-1] if len(entries) > 1 and _MORE.fullmatch(entries[-1]) else entries
    for entry in known:
        if not _LISTS[title].fullmatch(entry):
            raise ValueError(f"line {number} ({title}) has an entry of no known form: {entry!r}")
    return entries


def _cut(title: str, entries: Sequence[str], kept: int) -> str:
    return f"{_MARK}{title}: {'; '.join(entries[:kept])}; and {len(entries) - kept} more"


def _note(facts: Facts) -> str:
    return f", {clean_note(facts['note'])}" if facts.get("note") else ""
