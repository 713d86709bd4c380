"""Items that failed inside an answer: which, and which of them can be done again.

APIs that take a batch answer 200 or 207 and put the failures of single items into the body. What
counts is the item's own error, not its status: Elasticsearch answers 404 to the delete of a
document that is not there, and that is no failure.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from httpx_recover.dialects._paths import places_at, values_at
from httpx_recover.dialects._records import Dialect, PartialFact

_NAMED: Final = 200  # characters of an item's name


class Items(NamedTuple):
    """The failed items by name, those of them that can be done again, and how many were seen."""

    failed: tuple[str, ...]
    redo: tuple[str, ...]
    seen: int
    source: str


def failed_items(document: Any, dialect: Dialect) -> Items | None:
    """The items that failed in an answer, None when none did or the API says nothing of items."""
    found = (_failed(document, fact) for fact in dialect.partials)
    return next((items for items in found if items), None)


def _failed(document: Any, fact: PartialFact) -> Items | None:
    every = places_at(document, fact.items)
    failed = [(place, item) for place, item in every if _has_failed(item, fact)]
    if not failed:
        return None
    names = [(_name(place, item, fact), _again(item, fact)) for place, item in failed]
    return Items(
        tuple(name for name, _ in names),
        tuple(name for name, again in names if again),
        len(every),
        str(fact.source),
    )


def _has_failed(item: Any, fact: PartialFact) -> bool:
    if fact.failed is None:
        return True
    values = values_at(item, fact.failed)
    if fact.least is not None:
        return any(_number(each) >= fact.least for each in values)
    if fact.equals:
        return any(said(each) in fact.equals for each in values)
    return any(each not in ("", [], {}) for each in values)


def _again(item: Any, fact: PartialFact) -> bool:
    if fact.redo is None:
        return fact.redo_all
    return any(said(each) in fact.redo_equals for each in values_at(item, fact.redo))


def _name(place: str, item: Any, fact: PartialFact) -> str:
    values = values_at(item, fact.ident) if fact.ident else []
    scalar = next((each for each in values if isinstance(each, (str, int))), None)
    return (place if scalar is None else str(scalar))[:_NAMED]


def said(value: Any) -> str:
    """A value as presets write it: `true`, `429`, `gateway_rejected`."""
    return str(value).lower() if isinstance(value, bool) else str(value)[:_NAMED]


def _number(value: Any) -> float:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return float(value)
    return float(value) if isinstance(value, (int, float)) else 0.0
