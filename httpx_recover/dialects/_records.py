"""What is known about one API: frozen records, each fact with its source.

A fact stands in a row of a TOML file; `_schema` turns rows into these records. A source says where
a fact was read, when, and how well: `P` in a primary source, `S` in somebody's notes about one.
Facts marked P act by themselves. Facts marked S are kept, shown and off until the API is named, by
a rule or by `explain(api=...)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Any

from httpx_recover._patterns import Pattern
from httpx_recover._words import Applied, FailureClass


@dataclass(frozen=True, slots=True)
class Source:
    """Where a fact was read, the day, and how: P (primary) or S (secondary)."""

    at: str
    read: str
    mark: str

    def __str__(self) -> str:
        return f"{self.at}, read {self.read}, [{self.mark}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What every fact has."""

    source: Source
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFact(Fact):
    """Where a wait stands, and its unit.

    Args:
        header: the response header; with `path` its value is JSON, and the wait stands there.
        path: the place in the body.
        unit: the name of a reader in `_times.READERS`.
        remaining: a header that must not be above 0, else the quota is not used up.
        words: read it from the sentences of the body, or from that at `path`. Used when nothing
            else is said.
        cost: read it from the cost that Shopify's GraphQL adds to an answer.
        fixed: this many seconds when nothing else is said.
        status: only on these statuses.
    """

    header: str | None = None
    path: str | None = None
    unit: str = "s"
    remaining: str | None = None
    words: bool = False
    cost: bool = False
    fixed: float | None = None
    status: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFact(Fact):
    """What an answer means. Every condition that is given must hold; the first row wins.

    Args:
        is_: the class.
        status: one of these statuses.
        code: one of these codes stands in the answer (compared without case and punctuation).
        header: a header is there, `name`, or has a value, `name: value`.
        without: a header is not there.
        text: these words stand in a sentence of the answer.
        path: something stands there in the body; with `equals`, one of these values.
        applied: `no`: the vendor promises that it did not act; `unknown`: nobody knows. Without
            it, what the class and the status say.
        sign: what it says about the key: `conflict` (used with other content), `twin` (the first
            one is still running), `withdrawn` (the server does not dedupe here).
    """

    is_: FailureClass
    status: frozenset[int] = frozenset()
    code: frozenset[str] = frozenset()
    header: str | None = None
    without: str | None = None
    text: str | None = None
    path: str | None = None
    equals: tuple[str, ...] = ()
    applied: Applied | None = None
    sign: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFact(Fact):
    """A success that may hide a failure: what in its body says so.

    Args:
        path: something that is not empty stands there; with `equals`, one of these values.
        beside: when something stands there too, the answer is PARTIAL.
        otherwise: the class when no code is understood.
        applied: `no` when the vendor promises that such an answer means that it did not act.
    """

    path: str
    equals: tuple[str, ...] = ()
    beside: str | None = None
    otherwise: FailureClass = FailureClass.BAD_INPUT
    applied: Applied | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFact(Fact):
    """Where the idempotency key goes, for which operations, and what it is worth.

    Args:
        place: `header`, `json`, `query`, `directive` (GraphQL), `repeatability` (the pair of OASIS
            headers, First-Sent kept from the first attempt), or `none`: the API has no key.
        name: the name of the header, field or parameter.
        quoted: the value is sent in quotes.
        on: the operations, as patterns of method and path.
        window: seconds for which the key is remembered; None: nobody says.
        dedupes: the server runs a repeated key once.
        replays: what a repeat gets: `all` (also a saved 500), `success`, `final` (not 5xx),
            `current` (the state of now), or None: nobody says.
        longest: characters that a key may have.
        target: the operation's name in `X-Amz-Target`, where the path does not tell.
        with_: fields that must stand in the body beside the key.
    """

    place: str
    name: str | None = None
    quoted: bool = False
    on: tuple[Pattern, ...] = ()
    operations: tuple[str, ...] = ()
    window: float | None = None
    dedupes: bool = True
    replays: str | None = None
    longest: int | None = None
    target: str | None = None
    with_: tuple[tuple[str, Any], ...] = ()

    def covers(self, method: str, path: str, target: str = "") -> bool:
        """Is this the key of an operation? `path` has no query."""
        if self.target is not None and target.rpartition(".")[2] != self.target:
            return False
        return any(each.matches(method, "", path) for each in self.on)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignFact(Fact):
    """A sign of dedupe that is seen at run time.

    Args:
        header: a header is there, `name`, or has a value, `name: value`.
        status: only on these statuses.
        means: `replay` (this is the stored answer), `deduped` (the key was honoured), `withdrawn`
            (it was not: trust ends).
    """

    header: str | None = None
    status: frozenset[int] = frozenset()
    means: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HintFact(Fact):
    """A header whose `true` or `false` says whether to send again. A hint, never evidence."""

    header: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialFact(Fact):
    """Items that failed inside an answer.

    Args:
        items: the path to every item.
        failed: a path inside the item. Something stands there: the item failed. With `equals` one
            of these values, with `least` a number from there on. Without it every item failed.
        ident: the item's name, a path inside it; else its place in the answer.
        redo: a path inside the item; one of the values in `redo_equals` allows to do it again.
            Without it, no failed item is safe to repeat as it is, unless `redo_all`.
    """

    items: str
    failed: str | None = None
    equals: tuple[str, ...] = ()
    least: float | None = None
    ident: str | None = None
    redo: str | None = None
    redo_equals: tuple[str, ...] = ()
    redo_all: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFact(Fact):
    """A place where this API puts a code, beside the usual ones."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskFact(Fact):
    """A secret in a path: `/bot{secret}/**`. A report shows `***` in its place."""

    path: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """All that is known about one API.

    Args:
        name: the name a rule gives, `stripe`; `also` are other names for it.
        hosts: `api.stripe.com`, or with `*` for one or more labels.
        paths: patterns of the paths it holds for; none: all.
        like: the name of a wider API whose facts hold here too, after its own.
        via: it is spoken by an intermediary, and known by this header on any host.
    """

    name: str
    title: str
    file: str
    also: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    paths: tuple[Pattern, ...] = ()
    like: str | None = None
    via: str | None = None
    waits: tuple[WaitFact, ...] = ()
    classes: tuple[ClassFact, ...] = ()
    looks: tuple[LookFact, ...] = ()
    keys: tuple[KeyFact, ...] = ()
    signs: tuple[SignFact, ...] = ()
    hints: tuple[HintFact, ...] = ()
    partials: tuple[PartialFact, ...] = ()
    codes: tuple[CodeFact, ...] = ()
    masks: tuple[MaskFact, ...] = ()

    def facts(self) -> tuple[Fact, ...]:
        """Every fact, in the order of the fields."""
        return tuple(each for name in FACTS for each in getattr(self, name))

    def proven(self) -> Dialect:
        """What acts without being named: the facts marked P. Masks only hide, so all of them."""
        kept: dict[str, Any] = {
            name: tuple(each for each in getattr(self, name) if each.source.mark == "P")
            for name in FACTS
            if name != "masks"
        }
        return replace(self, **kept)

    def named(self) -> Dialect:
        """What acts once the API is named: everything, on any host."""
        return replace(self, via=None)

    @property
    def looks_into_success(self) -> bool:
        """May a 2xx of this API hide a failure, so that its body has to be looked into?"""
        return bool(self.looks or self.partials)

    @property
    def success_headers(self) -> bool:
        """Do headers of a 2xx of this API say something about its key?"""
        return bool(self.signs)

    def speaks(self, path: str) -> bool:
        """Does it hold for this path?"""
        return not self.paths or any(each.matches("", "", path) for each in self.paths)

    def key_for(self, method: str, path: str, target: str = "") -> KeyFact | None:
        """The key of an operation, None when nothing is known; `target` is its X-Amz-Target."""
        return next((each for each in self.keys if each.covers(method, path, target)), None)

    def masked(self, path: str) -> str:
        """A path with `***` in the place of its secrets."""
        for each in self.masks:
            if match := each.pattern.fullmatch(path):
                start, end = match.span("secret")
                return f"{path[:start]}***{path[end:]}"
        return path


FACTS = tuple(
    each.name
    for each in fields(Dialect)
    if each.name not in {"name", "title", "file", "also", "hosts", "paths", "like", "via"}
)
"""The fields of a `Dialect` that hold facts."""
