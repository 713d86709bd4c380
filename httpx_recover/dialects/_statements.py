"""How long an answer asks us to wait, and where it says so.

In this order, and within one step the longest of the server's own statements:

1. Statements for this request: `Retry-After` in all its forms, `retry-after-ms`,
   `x-ms-retry-after-ms`, `x-amz-retry-after` (milliseconds, whatever it is called), the waits in
   the body, the `RateLimit` field, and the places that the API's preset names. A time at which a
   quota is full again counts only when nothing is left of it.
2. Words ("try again in 9 minutes"), where the preset says that they can be trusted.
3. The fixed rule of an API that never says a time.
4. A guess at the headers that every vendor means otherwise, when no preset knows the API.

Dates are measured against the response's own `Date`, else against our clock. What is past, zero or
unreadable is no wait told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from httpx_recover._waits import http_date
from httpx_recover._words import FailureClass
from httpx_recover.dialects import _ratelimit, _times
from httpx_recover.dialects._body import Found, parse
from httpx_recover.dialects._paths import values_at
from httpx_recover.dialects._records import Dialect, WaitFact

Get: TypeAlias = Callable[[str], str | None]  # a response header by its lower-case name


class Wait(NamedTuple):
    """Seconds, the place where they stand, and the source that tells their unit."""

    seconds: float
    where: str
    source: str


_DIRECT: Final = (
    ("retry-after", _times.direct, "RFC 9110 section 10.2.3"),
    ("retry-after-ms", _times.milliseconds, "Azure and OpenAI clients, [P]"),
    ("x-ms-retry-after-ms", _times.milliseconds, "azure-core, [P]"),
    ("x-amz-retry-after", _times.milliseconds, "botocore, [P]"),
)
_GUESSED: Final = (
    ("x-ratelimit-reset-after", "x-ratelimit-remaining"),
    ("x-ratelimit-reset", "x-ratelimit-remaining"),
    ("x-rate-limit-reset", "x-rate-limit-remaining"),
    ("ratelimit-reset", "ratelimit-remaining"),
    ("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests"),
    ("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens"),
)
_LIMITED: Final = frozenset({FailureClass.RATE_LIMIT, FailureClass.QUOTA})
_BODY: Final = "field names met in the wild"


def clock(get: Get, now: float) -> float:
    """The time that a response's dates are measured against: its own `Date`, else `now`."""
    sent = get("date")
    read = None if sent is None else http_date(sent[: _times.LONGEST], now)
    return now if read is None else read


def told(get: Get, found: Found, now: float) -> list[Wait]:
    """The statements that every server may make about this request."""
    waits = []
    for name, reader, source in _DIRECT:
        text = get(name)
        seconds = None if text is None else reader(text, now)
        if seconds is not None:
            waits.append(Wait(seconds, f"header {name}", source))
    for key, unit, text in found.waits:
        reader = _times.milliseconds if unit == "ms" else _times.stated
        seconds = reader(text, now)
        if seconds is not None:
            waits.append(Wait(seconds, f"body {key}", _BODY))
    return waits


def wait_of(
    get: Get,
    found: Found,
    now: float,
    status: int,
    failure: FailureClass,
    dialects: Sequence[Dialect],
    waits: Iterable[Wait],
) -> Wait | None:
    """The wait that an answer asks for. `waits` are those that `told` gave."""
    limited = failure in _LIMITED
    facts = [
        fact
        for dialect in dialects
        for fact in dialect.waits
        if (status in fact.status if fact.status else limited)
    ]
    waits = [*waits, *(wait for fact in facts for wait in _stated(fact, get, found, now))]
    field = get("ratelimit") if limited or status == 503 else None
    full = None if field is None else _ratelimit.used_up(field)
    if full is not None:
        waits.append(Wait(full, "header ratelimit", "draft-ietf-httpapi-ratelimit-headers"))
    if waits:
        return max(waits, key=lambda wait: wait.seconds)
    fallen = next((wait for fact in facts for wait in _fallback(fact, found)), None)
    if fallen is None and limited and not any(dialect.waits for dialect in dialects):
        return _guessed(get, now)
    return fallen


def _stated(fact: WaitFact, get: Get, found: Found, now: float) -> Iterator[Wait]:
    """What a preset's row finds."""
    if fact.remaining is not None and _left(get(fact.remaining)):
        return
    for where, text in _texts(fact, get, found):
        seconds = _times.READERS[fact.unit](text, now)
        if seconds is not None:
            yield Wait(seconds, where, str(fact.source))
    cost = _cost(found) if fact.cost else None
    if cost is not None:
        yield Wait(cost, "body extensions.cost", str(fact.source))


def _texts(fact: WaitFact, get: Get, found: Found) -> list[tuple[str, str]]:
    if fact.header is None:
        values = values_at(found.document, fact.path) if fact.path and not fact.words else []
        return [(f"body {fact.path}", text) for text in map(_written, values) if text]
    text = get(fact.header)
    if text is None:
        return []
    if fact.path is None:
        return [(f"header {fact.header}", text)]
    values = values_at(parse(text[:16_384]), fact.path)
    return [(f"header {fact.header} {fact.path}", text) for text in map(_written, values) if text]


def _fallback(fact: WaitFact, found: Found) -> Iterator[Wait]:
    if fact.words:
        sentences = values_at(found.document, fact.path) if fact.path else found.sentences
        read = (_times.words(_written(sentence), 0.0) for sentence in sentences)
        seconds = max((each for each in read if each is not None), default=None)
        if seconds is not None:
            yield Wait(seconds, "words of the body", str(fact.source))
    if fact.fixed is not None:
        yield Wait(fact.fixed, "fixed rule", str(fact.source))


def _guessed(get: Get, now: float) -> Wait | None:
    waits = []
    for name, remaining in _GUESSED:
        text = get(name)
        seconds = None if text is None or _left(get(remaining)) else _times.guess(text, now)
        if seconds is not None:
            waits.append(Wait(seconds, f"header {name}, guessed", "no preset knows its unit"))
    return max(waits, key=lambda wait: wait.seconds, default=None)


def _left(text: str | None) -> bool:
    """Is something left of a quota? Without a word about it, no."""
    return text is not None and _times.seconds(text.partition(",")[0], 0.0) is not None


def _cost(found: Found) -> float | None:
    """Shopify: what the query costs, less what is there, at the rate at which it comes back."""
    names = (
        "requestedQueryCost",
        *(f"throttleStatus.{each}" for each in ("currentlyAvailable", "restoreRate")),
    )
    numbers = [values_at(found.document, f"extensions.cost.{name}") for name in names]
    if not all(each and isinstance(each[0], (int, float)) for each in numbers):
        return None
    asked, there, rate = (float(each[0]) for each in numbers)
    return (asked - there) / rate if rate > 0 and asked > there else None


def _written(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return ""
    return value if isinstance(value, str) else f"{value:.6f}"
