"""The `RateLimit` field: which quotas are used up, and when they are free again.

`RateLimit: "default";r=0;t=30, "daily";r=12;t=3600` of draft-ietf-httpapi-ratelimit-headers, and
the older `limit=100, remaining=0, reset=50`. A strict parser of structured fields would throw away
what Hugging Face and others send (`"fixed window";"api";q=500;w=300`), and the draft asks that
what is malformed is ignored, so each member is read as far as it makes sense. Nothing here raises.
"""

from __future__ import annotations

import re
from typing import Final

from httpx_recover.dialects import _times

LONGEST: Final = 4096  # characters of a field that are read
MEMBERS: Final = 64  # quotas of one field
DAY: Final = 86_400

# A quoted string, with no way to read it twice, or a run of anything but the separators.
_PIECE: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[^",;]+|[,;"]')


def members(field: str) -> list[tuple[str, dict[str, str]]]:
    """The members of a field: each its name and its parameters, in order."""
    found: list[tuple[str, dict[str, str]]] = []
    for member in _split(_PIECE.findall(field[:LONGEST]))[:MEMBERS]:
        name, values = "", {}
        for piece in member:
            key, equals, value = piece.partition("=")
            if equals and not piece.startswith('"'):
                values[key.strip().lower()] = value.strip().strip('"')
            else:
                name = name or piece.strip().strip('"')
        found.append((name, values))
    return found


def used_up(field: str) -> float | None:
    """The longest time until a quota that has nothing left is full again, in seconds."""
    every = members(field)
    waits = [
        _times.seconds(values.get("t", ""), 0.0)
        for _, values in every
        if _nothing_left(values.get("r"))
    ]
    older = {key: value for name, values in every if not name for key, value in values.items()}
    if _nothing_left(older.get("remaining")):
        waits.append(_times.seconds(older.get("reset", ""), 0.0))
    return max((wait for wait in waits if wait is not None), default=None)


def long_policies(field: str) -> frozenset[str]:
    """The names of the policies whose window is a day or more: minutes do not lift them."""
    return frozenset(
        name
        for name, values in members(field)
        if (_times.seconds(values.get("w", ""), 0.0) or 0) >= DAY
    )


def _nothing_left(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"0+(?:\.0+)?|-[0-9.]+", text) is not None


def _split(pieces: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for piece in pieces:
        if piece == ",":
            found.append([])
        elif piece not in (";", '"'):
            found[-1].append(piece)
    return [member for member in found if member]
