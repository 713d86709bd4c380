"""How long the server asks us to wait, from the headers that every server may send.

The order in which `server_wait` decides:

1. `Retry-After` is a plain number of seconds, or one of the three dates of HTTP.
2. A date is measured against the response's own `Date`, so that a wrong clock on either side
   does no harm; only without a readable `Date` against ours.
3. `retry-after-ms` and `x-ms-retry-after-ms` are a plain number of milliseconds.
4. The longest of these statements wins. Zero, or a moment that has passed, is 0.0.
5. What is none of these is no statement: signs, exponents, `nan`, `inf`, digits of other
   scripts, a number that no float can hold, ISO 8601, two values in one field, anything else.

Only whole grammars are accepted. `email.utils` reads "30" and "Mon 5" as dates; a guess here
would become a sleep. A very long wait is returned as it is: whether to sleep it or to stop is
the engine's decision. Headers that only some vendors send are read elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Final

_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_PIVOT_YEARS: Final = 50

_SHORT_DAY: Final = "(?:mon|tue|wed|thu|fri|sat|sun)"
_LONG_DAY: Final = "(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_MONTH: Final = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME: Final = "(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
_DATES: Final = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)  # ASCII: a long s is not an s
    for form in (
        f"{_SHORT_DAY}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT",
        f"{_LONG_DAY}, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT",
        f"{_SHORT_DAY} {_MONTH} (?P<day>[0-9]{{2}}| [0-9]) {_TIME} (?P<year>[0-9]{{4}})",
    )
)


def server_wait(get: Callable[[str], str | None], now: float) -> float | None:
    """The seconds that a response asks its client to wait.

    `get` looks up a response header by its lower-case name; `now` is our clock in epoch
    seconds, used only when the response has no readable `Date`. Returns a finite number, 0.0
    for "at once" and for a moment that has passed, None when nothing readable is said. Raises
    nothing, whatever the headers hold. Sources: RFC 9110 sections 10.2.3 and 5.6.7; the
    millisecond fields as the Azure and OpenAI clients read them.
    """
    statements = (
        _retry_after(get, now),
        _number(get("retry-after-ms"), 1000.0),
        _number(get("x-ms-retry-after-ms"), 1000.0),
    )
    return max((wait for wait in statements if wait is not None), default=None)


def http_date(text: str, now: float) -> float | None:
    """The epoch seconds of an HTTP date in any of its three forms.

    `now`, in epoch seconds, places a year of two digits: more than 50 years ahead means the
    century before. A second of 60 is the moment after. Returns None for anything else. Raises
    nothing for any text. Source: RFC 9110 section 5.6.7.
    """
    text = _strip(text)
    for form in _DATES:
        if match := form.fullmatch(text):
            return _moment(match, now)
    return None


def _retry_after(get: Callable[[str], str | None], now: float) -> float | None:
    text = get("retry-after")
    seconds = _number(text, 1.0)
    if text is None or seconds is not None:
        return seconds
    until = http_date(text, now)
    if until is None:
        return None
    sent = http_date(get("date") or "", now)
    return max(0.0, until - (now if sent is None else sent))


def _number(text: str | None, per_second: float) -> float | None:
    if text is None or not _NUMBER.fullmatch(text := _strip(text)):
        return None
    value = float(text) / per_second
    return value if isfinite(value) else None


def _strip(text: str) -> str:
    # Not every white space of Unicode: a no-break space around a number is garbage.
    return text.strip(" \t\r\n")


def _moment(match: re.Match[str], now: float) -> float | None:
    year, month = match["year"], _MONTHS.index(match["month"].lower()) + 1
    clock = [int(match[part]) for part in ("day", "hour", "minute", "second")]
    leap = clock[3] == 60  # datetime knows no such second
    if leap:
        clock[3] = 59
    try:
        full = int(year) if len(year) == 4 else _full_year(int(year), (month, *clock), now)
        day, hour, minute, second = clock
        moment = datetime(full, month, day, hour, minute, second, tzinfo=UTC)
    except (ValueError, OverflowError):  # 31 February, 25 o'clock, the year 0
        return None
    return moment.timestamp() + leap


def _full_year(short: int, rest: tuple[int, ...], now: float) -> int:
    today = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=now)
    last = today.year + _PIVOT_YEARS
    year = last - (last - short) % 100
    # In the last year of the window only what lies before today's date is within 50 years.
    passed = (year, *rest) > (last, *today.timetuple()[1:6])
    return year - 100 if passed else year
