"""One text, one unit: seconds to wait, or no wait told."""

from __future__ import annotations

from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpx_recover.dialects import _times

NOW = 1767225600.0  # Thu, 01 Jan 2026 00:00:00 GMT
HUGE = "1" + "0" * 400

ROWS = [
    ("s", "7", 7),
    ("s", " 2.0\t", 2),
    ("s", "0.5", 0.5),
    ("s", "0", None),
    ("s", "0.0", None),
    ("s", "-5", None),
    ("s", "+5", None),
    ("s", "1e3", None),
    ("s", "nan", None),
    ("s", "inf", None),
    ("s", "", None),
    ("s", "7s", None),
    ("s", "1_000", None),
    ("s", "٣", None),
    ("s", HUGE, None),
    ("s", "9" * 129, None),
    ("s", "9" * 20, 1e20),
    ("ms", "1500", 1.5),
    ("ms", "1", 0.001),
    ("ms", "0", None),
    ("ms", "1.5s", None),
    ("min", "5", 300),
    ("min", "0.5", 30),
    ("min", "x", None),
    ("epoch", "1767225612", 12),
    ("epoch", "1767225612.5", 12.5),
    ("epoch", "1767225600", None),
    ("epoch", "1767225599", None),
    ("epoch", "60", None),
    ("epoch", "soon", None),
    ("epoch-ms", "1767225612500", 12.5),
    ("epoch-ms", "1767225600000", None),
    ("epoch-ms", "1767225612", None),
    ("date", "Thu, 01 Jan 2026 00:00:20 GMT", 20),
    ("date", "Thursday, 01-Jan-26 00:00:20 GMT", 20),
    ("date", "Thu Jan  1 00:00:20 2026", 20),
    ("date", "Thu, 01 Jan 2026 00:00:00 GMT", None),
    ("date", "Wed, 31 Dec 2025 23:59:59 GMT", None),
    ("date", "20", None),
    ("date", "2026-01-01T00:00:20Z", None),
    ("iso", "2026-01-01T00:00:12Z", 12),
    ("iso", "2026-01-01t00:00:12.25z", 12.25),
    ("iso", "2026-01-01 02:00:12+02:00", 12),
    ("iso", "2025-12-31T19:00:12-0500", 12),
    ("iso", "2026-01-01T00:01Z", 60),
    ("iso", "2026-01-01T00:00:60Z", 60),
    ("iso", "2026-01-01T00:00:12", None),
    ("iso", "2026-01-01", None),
    ("iso", "2025-12-31T23:59:59Z", None),
    ("iso", "2026-02-31T00:00:00Z", None),
    ("iso", "2026-01-01T25:00:00Z", None),
    ("iso", "0000-01-01T00:00:00Z", None),
    ("iso", "2026-01-01T00:00:12+99:00", None),
    ("iso", "2026-01-01T00:00:12." + "1" * 200 + "Z", None),
    ("duration", "6m0s", 360),
    ("duration", "1s", 1),
    ("duration", "120ms", 0.12),
    ("duration", "2m59.56s", 179.56),
    ("duration", "1h2m3s", 3723),
    ("duration", "3.700s", 3.7),
    ("duration", "45.25s", 45.25),
    ("duration", ".5s", 0.5),
    ("duration", "+1s", 1),
    ("duration", "500us", 0.0005),
    ("duration", "500µs", 0.0005),
    ("duration", "500μs", 0.0005),
    ("duration", "2000000000ns", 2),
    ("duration", "0s", None),
    ("duration", "-1s", None),
    ("duration", "1d", None),
    ("duration", "5", None),
    ("duration", "1 s", None),
    ("duration", "", None),
    ("duration", "9" * 126 + "h", float("9" * 126) * 3600),
    ("duration", "1s" * 65, None),
    ("retry-after", "30", 30),
    ("retry-after", "2.0", 2),
    ("retry-after", "Thu, 01 Jan 2026 00:00:20 GMT", 20),
    ("retry-after", "0", None),
    ("retry-after", "30, 60", None),
    ("guess", "240", 240),
    ("guess", "1000000000", 1e9),
    ("guess", "1000000001", None),
    ("guess", "1767225612", 12),
    ("guess", "1000000000000", 1e12 - NOW),
    ("guess", "1767225612500", 12.5),
    ("guess", "Thu, 01 Jan 2026 00:00:20 GMT", 20),
    ("guess", "2026-01-01T00:00:12Z", 12),
    ("guess", "6m0s", 360),
    ("guess", "0", None),
    ("guess", "tomorrow", None),
    ("guess", HUGE, None),
]


@pytest.mark.parametrize(("unit", "text", "wait"), ROWS)
def test_a_text_is_read_by_its_unit(unit: str, text: str, wait: float | None) -> None:
    assert _times.READERS[unit](text, NOW) == (wait and pytest.approx(wait))


@pytest.mark.parametrize(
    ("sentence", "wait"),
    [
        ("you are doing that too much. try again in 9 minutes.", 540),
        ("try again in 1 minute", 60),
        ("Take a break for 12 seconds before trying again.", 12),
        ("retry in 1.5s", 1.5),
        ("wait 250 milliseconds", 0.25),
        ("wait 250ms", 0.25),
        ("in 2 hours", 7200),
        ("in 3 hrs or 5 mins", 10_800),
        ("in 5 sec", 5),
        ("in 10 min", 600),
        ("in 0 seconds", None),
        ("error v1.2s", None),
        ("try again later", None),
        ("5 monkeys", None),
        ("", None),
    ],
)
def test_words_name_a_time(sentence: str, wait: float | None) -> None:
    assert _times.words(sentence, NOW) == wait


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[0-9.:,TZ+ hmsun-]{0,200}"), st.floats(-1e12, 1e12))
def test_no_text_raises_and_every_wait_is_finite_and_above_zero(text: str, now: float) -> None:
    for reader in (*_times.READERS.values(), _times.words, _times.stated):
        wait = reader(text, now)
        assert wait is None or (isfinite(wait) and wait > 0)
