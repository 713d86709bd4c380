"""Paths into an answer: `error.code`, `errors.*.extensions.code`, `items.*.*.error`.

A step is a key, the number of an item, `*` for every item of a list or value of an object, or `[*]`
for every item of a list. A path that leads nowhere gives nothing; what it gives is bounded, however
wide the answer is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

WIDEST: Final = 1000  # values that one path gives


def values_at(document: Any, path: str) -> list[Any]:
    """The values that a path leads to, in the order of the answer; a JSON null is none."""
    return [value for _, value in places_at(document, path)]


def places_at(document: Any, path: str) -> list[tuple[str, Any]]:
    """The values that a path leads to, each with the place where it stands."""
    found: list[tuple[str, Any]] = [("", document)]
    for step in path.split(".") if path else []:
        reached = (
            (f"{place}.{key}" if place else key, value)
            for place, each in found
            for key, value in _reach(each, step)
        )
        found = list(islice(reached, WIDEST))
    return [(place, value) for place, value in found if value is not None]


def _reach(value: Any, step: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        if step == "*":
            yield from ((str(key), each) for key, each in value.items())
        elif step in value:
            yield step, value[step]
    elif isinstance(value, list):
        if step in ("*", "[*]"):
            yield from ((str(number), each) for number, each in enumerate(value))
        elif step.isascii() and step.isdigit() and len(step) < 6 and int(step) < len(value):
            yield step, value[int(step)]
