"""Every form of Retry-After, and every form that is none."""

from __future__ import annotations

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpx_recover._waits import http_date, server_wait

NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


def wait(text: str | None, *, now: float = NOW, **headers: str) -> float | None:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    if text is not None:
        said["retry-after"] = text
    return server_wait(said.get, now)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7),
        (" 7\t", 7),
        ("1.5", 1.5),
        ("2.0", 2),
        ("0", 0),
        ("0.0", 0),
        ("99999", 99999),
        ("9999999999", 9999999999),
        ("Sun, 06 Nov 1994 08:50:07 GMT", 30),
        ("Sunday, 06-Nov-94 08:50:07 GMT", 30),
        ("Sun Nov  6 08:50:07 1994", 30),
        ("Sun Nov 16 08:49:37 1994", 864000),
        ("sun, 06 nov 1994 08:50:07 gmt", 30),
        ("Sun, 06 Nov 1994 08:49:60 GMT", 23),
        ("Sun, 06 Nov 1994 08:49:07 GMT", 0),
    ],
)
def test_what_can_be_read(text: str, seconds: float) -> None:
    assert wait(text) == seconds
    assert wait(text, date=DATE, now=NOW + 300) == seconds  # a wrong clock of ours does no harm
    assert wait(text, date="garbage") == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-5",
        "+5",
        "nan",
        "inf",
        "1e3",
        "0x10",
        "1_000",
        ".5",
        "5.",
        "1" * 400,
        "\uff13\uff10",
        "\u00b2",
        "\u0663",
        "1m0s",
        "5, 7",
        "2026-12-01T06:00:00Z",
        "Fri, 31 Dec 99999 23:59:59 GMT",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 CET",
        "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 25:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Mon 5",
        "soon",
        "\xa07",
    ],
)
def test_what_says_nothing(text: str) -> None:
    assert wait(text) is None


def test_nothing_said() -> None:
    assert wait(None) is None


def test_milliseconds_and_the_longest_statement() -> None:
    assert wait(None, retry_after_ms="1500") == 1.5
    assert wait("1", x_ms_retry_after_ms="2500.5") == 2.5005
    assert wait("9", retry_after_ms="1500") == 9
    assert wait("9", retry_after_ms="nan") == 9


@pytest.mark.parametrize(
    ("short", "year"), [("94", 1994), ("44", 2044), ("45", 1945), ("00", 2000)]
)
def test_a_year_of_two_digits_is_within_50_years(short: str, year: int) -> None:
    found = http_date(f"Sunday, 06-Nov-{short} 08:49:37 GMT", NOW)
    assert found == http_date(f"Sun, 06 Nov {year} 08:49:37 GMT", NOW)


def test_the_last_year_of_the_window_counts_to_the_day() -> None:
    after = http_date("Sunday, 07-Nov-44 08:49:37 GMT", NOW)
    assert after == http_date("Sun, 07 Nov 1944 08:49:37 GMT", NOW)


@given(st.text() | st.from_regex(r"[ -~]{1,40}"), st.text(), st.floats(0, 4e9))
def test_nothing_a_server_says_raises(text: str, date: str, now: float) -> None:
    found = wait(text, now=now, date=date, retry_after_ms=text)
    assert found is None or (isfinite(found) and found >= 0)
