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


def test_a_date_is_measured_against_the_responses_own_date() -> None:
    later = "Sun, 06 Nov 1994 08:50:37 GMT"
    assert wait(later) == 60  # by our clock
    assert wait(later, date="Sun, 06 Nov 1994 08:50:07 GMT") == 30
    assert wait(later, date="Sunday, 06-Nov-94 08:50:07 GMT") == 30
    assert wait(later, date="Sun Nov  6 08:50:07 1994") == 30
    assert wait(later, date="Sun, 06 Nov 1994 09:00:00 GMT") == 0
    assert wait(later, date="2026-12-01T06:00:00Z") == 60
    assert wait("7", date="Sun, 06 Nov 1994 09:00:00 GMT") == 7  # a number needs no clock


def test_the_largest_number_and_the_first_that_is_none() -> None:
    assert wait("9" * 308) == float("9" * 308)
    assert wait("9" * 309) is None
    assert wait("Fri, 31 Dec 9999 23:59:59 GMT") == 253402300799 - NOW


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Sun, 06 Nov 1994 08:49:60 GMT", 23),
        ("Sunday, 06-Nov-94 08:49:60 GMT", 23),
        ("Sun Nov  6 23:59:60 1994", 54623),  # the first moment of the next day
        ("Sun, 06 Nov 1994 08:49:61 GMT", None),
        ("Sun, 06 Nov 1994 08:60:00 GMT", None),
    ],
)
def test_a_leap_second_is_the_moment_after(text: str, seconds: float | None) -> None:
    assert wait(text) == seconds


@pytest.mark.parametrize("space", [" ", "\t", "  \t ", "\r\n"])
def test_white_space_of_http_around_a_value_is_none_of_it(space: str) -> None:
    for text, seconds in (("7", 7), ("Sun, 06 Nov 1994 08:50:07 GMT", 30)):
        assert wait(space + text + space) == seconds
    assert wait(None, retry_after_ms=f"{space}1500{space}") == 1.5
    assert wait(space) is None


@pytest.mark.parametrize("field", ["retry_after_ms", "x_ms_retry_after_ms"])
@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1500", 1.5), ("0", 0), ("0.5", 0.0005), ("-5", None), ("inf", None), (DATE, None)],
)
def test_milliseconds_are_a_plain_number(field: str, text: str, seconds: float | None) -> None:
    assert wait(None, **{field: text}) == seconds


def test_milliseconds_and_the_longest_statement() -> None:
    assert wait("0", retry_after_ms="0") == 0
    assert wait("garbage", retry_after_ms="1500", x_ms_retry_after_ms="3000") == 3
    assert wait("garbage", retry_after_ms="garbage") is None
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


@pytest.mark.parametrize("now", [-1e11, 253402300800.0, 1e300, float("inf"), float("nan")])
def test_a_clock_of_ours_that_is_out_of_bounds_places_no_short_year(now: float) -> None:
    assert http_date("Sunday, 06-Nov-94 08:49:37 GMT", now) is None
    assert http_date(DATE, now) == NOW


NUMBERS = st.from_regex(r"[-+]?[0-9]{0,400}(\.[0-9]{0,3})?(e[0-9]{1,3})?", fullmatch=True)
NEARLY_DATES = st.from_regex(
    r"(Sun, [0-9]{2} (Nov|Feb|Foo) [0-9]{4,5} [0-9]{2}:[0-9]{2}:[0-6][0-9] GMT"
    r"|Sunday, [0-9]{2}-(Nov|Feb)-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-6][0-9] GMT"
    r"|Sun (Nov|Feb) [ 0-9][0-9] [0-9]{2}:[0-9]{2}:[0-6][0-9] [0-9]{4})",
    fullmatch=True,
)
SAID = st.text() | st.from_regex(r"[ -~]{1,40}") | NUMBERS | NEARLY_DATES


@given(SAID, SAID, SAID, SAID, st.floats(-1e12, 1e12))
def test_nothing_a_server_says_raises(
    text: str, date: str, first: str, second: str, now: float
) -> None:
    found = wait(text, now=now, date=date, retry_after_ms=first, x_ms_retry_after_ms=second)
    assert found is None or (isfinite(found) and found >= 0)
