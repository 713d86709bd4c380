"""One text that stands for a time, read by its unit: seconds to wait, or None.

Vendors give one name many units: `x-ratelimit-reset` is an epoch, a delta, a date or
milliseconds, by vendor. So every reader here takes one unit and accepts its whole grammar only;
`guess` is for an answer whose vendor nobody named. What is zero, past, negative, not finite or not
readable is None: no wait was told, and our own backoff holds. Nothing here raises.

Sources: RFC 9110 sections 5.6.7 and 10.2.3; RFC 3339; the durations of Go (`6m0s`, `120ms`) and
of protobuf (`3.700s`); the units as `facts` met them at each vendor.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from math import isfinite
from types import MappingProxyType
from typing import Final, TypeAlias

from httpx_recover._waits import http_date

Reader: TypeAlias = Callable[[str, float], float | None]  # the text, and the time it is read at

LONGEST: Final = 128  # characters; a longer text is no time
MILLISECONDS_FROM: Final = 1e12  # a number above it is an epoch in milliseconds
SECONDS_FROM: Final = 1e9  # and one above this an epoch in seconds

_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(h|ms|us|µs|μs|ns|m|s)")
_DURATION: Final = re.compile(rf"\+?(?:{_PART.pattern})+")
_SCALE: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_MOMENT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(\.[0-9]+)?)?"
    r"(?:[Zz]|([+-])([0-9]{2}):?([0-9]{2}))"
)
_WORDS: Final = re.compile(
    r"(?<![\w.])([0-9]{1,6}(?:\.[0-9]{1,6})?) ?"
    r"(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|hours?|hrs?)\b",
    re.IGNORECASE,
)
_WORD_SCALE: Final = {"mi": 60.0, "mil": 1e-3, "ms": 1e-3, "s": 1.0, "h": 3600.0}


def seconds(text: str, now: float) -> float | None:
    """A plain number of seconds: `7`, `2.0`."""
    return _above_zero(_number(text))


def milliseconds(text: str, now: float) -> float | None:
    """A plain number of milliseconds: `1500`."""
    return _scaled(_number(text), 1e-3)


def minutes(text: str, now: float) -> float | None:
    """A plain number of minutes, as Meta counts them."""
    return _scaled(_number(text), 60.0)


def epoch(text: str, now: float) -> float | None:
    """The time until a moment in epoch seconds: `1470173023.123`."""
    return _until(_number(text), now)


def epoch_ms(text: str, now: float) -> float | None:
    """The time until a moment in epoch milliseconds."""
    return _until(_scaled(_number(text), 1e-3), now)


def date(text: str, now: float) -> float | None:
    """The time until an HTTP date, in any of its three forms."""
    return _until(http_date(text[:LONGEST], now), now)


def iso(text: str, now: float) -> float | None:
    """The time until a moment of RFC 3339 (`2025-10-08T15:00:00Z`); its zone must be said."""
    return _until(moment(text), now)


def duration(text: str, now: float) -> float | None:
    """A duration of Go or protobuf: `6m0s`, `2m59.56s`, `120ms`, `3.700s`."""
    text = text.strip(" \t")
    if len(text) > LONGEST or not _DURATION.fullmatch(text):
        return None
    parts = _PART.findall(text)
    total = sum(
        float(size) * _SCALE[unit.replace("µ", "u").replace("μ", "u")] for size, unit in parts
    )
    return _above_zero(total)


def guess(text: str, now: float) -> float | None:
    """What a text means when nobody named the vendor.

    A date is a date and a duration a duration; a number above 1e12 is an epoch in milliseconds,
    above 1e9 one in seconds, else it is seconds from now.
    """
    number = _number(text)
    if number is None:
        return next((wait for read in (date, iso, duration) if (wait := read(text, now))), None)
    if number > MILLISECONDS_FROM:
        return _until(number / 1000.0, now)
    return _until(number, now) if number > SECONDS_FROM else _above_zero(number)


def direct(text: str, now: float) -> float | None:
    """`Retry-After` as servers write it: seconds, decimals too, or a date."""
    return seconds(text, now) or date(text, now)


def stated(text: str, now: float) -> float | None:
    """What a body's `retry_after` may hold: seconds, a duration, or a moment."""
    return guess(text, now)


def words(text: str, now: float) -> float | None:
    """The longest time that a sentence names: "try again in 9 minutes"."""
    found = (float(size) * _word_scale(unit) for size, unit in _WORDS.findall(text[:2000]))
    return _above_zero(max(found, default=None))


def moment(text: str) -> float | None:
    """The epoch seconds of a moment of RFC 3339, or None."""
    match = _MOMENT.fullmatch(text.strip(" \t")) if len(text) <= LONGEST else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, sign, ahead, beyond = match.groups()[6:]
    leap = second == 60  # datetime knows no such second
    try:
        shift = timedelta(hours=int(ahead or 0), minutes=int(beyond or 0))
        zone = timezone(-shift if sign == "-" else shift) if sign else UTC
        stamp = datetime(year, month, day, hour, minute, second - leap, tzinfo=zone).timestamp()
    except (ValueError, OverflowError):  # 31 February, a zone of 99 hours, the year 0
        return None
    return stamp + leap + float(fraction or 0)


READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        "s": seconds,
        "ms": milliseconds,
        "min": minutes,
        "epoch": epoch,
        "epoch-ms": epoch_ms,
        "date": date,
        "iso": iso,
        "duration": duration,
        "retry-after": direct,
        "guess": guess,
    }
)
"""The units that a preset may name."""


def _number(text: str) -> float | None:
    text = text.strip(" \t")
    return float(text) if len(text) <= LONGEST and _NUMBER.fullmatch(text) else None


def _scaled(number: float | None, by: float) -> float | None:
    return None if number is None else _above_zero(number * by)


def _until(then: float | None, now: float) -> float | None:
    return None if then is None else _above_zero(then - now)


def _above_zero(wait: float | None) -> float | None:
    return wait if wait is not None and isfinite(wait) and wait > 0 else None


def _word_scale(unit: str) -> float:
    unit = unit.lower()
    return next(_WORD_SCALE[unit[:size]] for size in (3, 2, 1) if unit[:size] in _WORD_SCALE)
