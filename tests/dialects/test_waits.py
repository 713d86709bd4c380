"""Where an answer says how long to wait: every place met in the wild, and which one wins."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpx_recover import FailureClass, explain
from httpx_recover.dialects import Answer, _ratelimit, read
from httpx_recover.dialects._body import LOOK, code_of, look, parse
from httpx_recover.dialects._paths import WIDEST, places_at, values_at

NOW = 1767225600.0
DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
LATER = "Thu, 01 Jan 2026 00:00:20 GMT"


def wait(headers: dict[str, str], body: Any = b"", status: int = 429, **more: Any) -> float | None:
    return explain(status, headers, body, method="GET", now=NOW, **more).wait


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3),
        ({"Retry-After": "2.0"}, 2),
        ({"Retry-After": "0"}, None),
        ({"Retry-After": "-1"}, None),
        ({"Retry-After": "1" + "0" * 400}, None),
        ({"Retry-After": LATER}, 20),
        ({"Retry-After": DATE}, None),
        ({"Retry-After": LATER, "Date": "Thu, 01 Jan 2026 00:00:15 GMT"}, 5),
        ({"Retry-After": LATER, "Date": "Thu, 01 Jan 2026 00:00:20 GMT"}, None),
        ({"Retry-After": LATER, "Date": "garbage"}, 20),
        ({"Retry-After": LATER, "Date": "x" * 9000}, 20),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"x-ms-retry-after-ms": "250"}, 0.25),
        ({"x-amz-retry-after": "4000"}, 4),
        ({"Retry-After": "1", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "2", "retry-after-ms": "1500"}, 2),
        ({"RateLimit": '"default";r=0;t=30'}, 30),
        ({"RateLimit": '"default";r=50;t=30'}, None),
        ({"RateLimit": '"a";r=0;t=30, "b";r=0;t=600, "c";r=1;t=900'}, 600),
        ({"RateLimit": '"a";r=0;t=30', "Retry-After": "10"}, 30),
        ({"RateLimit": "limit=100, remaining=0, reset=50"}, 50),
        ({"RateLimit": "limit=100, remaining=5, reset=50"}, None),
        ({"RateLimit-Limit": "9", "RateLimit-Remaining": "0", "RateLimit-Reset": "50"}, 50),
        ({"RateLimit-Remaining": "3", "RateLimit-Reset": "50"}, None),
        ({"RateLimit-Reset": str(int(NOW) + 40)}, 40),
        ({"X-RateLimit-Reset": "240"}, 240),
        ({"X-RateLimit-Reset": str(int(NOW) + 40)}, 40),
        ({"X-RateLimit-Reset": str(int(NOW) * 1000 + 40_000)}, 40),
        ({"X-RateLimit-Reset": LATER}, 20),
        ({"X-RateLimit-Reset": "2026-01-01T00:00:12Z"}, 12),
        ({"X-RateLimit-Reset": "2m59.56s"}, 179.56),
        ({"X-RateLimit-Reset": str(int(NOW) - 40)}, None),
        ({"X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "240"}, None),
        ({"X-RateLimit-Reset": str(int(NOW) + 40), "Date": LATER}, 20),
        ({"X-RateLimit-Reset": "3600", "Retry-After": "5"}, 5),
        ({"X-Rate-Limit-Reset": "17"}, 17),
        ({"X-RateLimit-Reset-After": "1.25"}, 1.25),
        ({"X-RateLimit-Reset": "8", "X-RateLimit-Reset-After": "9"}, 9),
    ],
)
def test_headers_tell_a_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert wait(headers) == (seconds and pytest.approx(seconds))


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"retry_after": 64.57}, 64.57),
        ({"retry_after": "30"}, 30),
        ({"retry_after": "30s"}, 30),
        ({"retry_after": LATER}, 20),
        ({"retry_after": "2026-01-01T00:00:12Z"}, 12),
        ({"retry_after": int(NOW) + 12}, 12),
        ({"retry_after": True}, None),
        ({"retry_after": None}, None),
        ({"retry_after": [3]}, None),
        ({"retry_after": -3}, None),
        ({"retry_after": 0}, None),
        ({"retry_after": 1e300}, None),
        ({"retry_after_s": 4}, 4),
        ({"retry_after_seconds": 4}, 4),
        ({"retryAfterSeconds": 4}, 4),
        ({"retry_after_ms": 1500}, 1.5),
        ({"retryAfter": 4}, 4),
        ({"retryAfterMs": 1500}, 1.5),
        ({"retry-after": 4}, 4),
        ({"retryDelay": "3.7s"}, 3.7),
        ({"parameters": {"retry_after": 14}}, 14),
        ({"error": {"details": [{"retryDelay": "34.07s"}]}}, 34.07),
        ({"error": {"data": {"retry_after_ms": 2000}}}, 2),
        ({"errors": [{"retry_after": 1}, {"retry_after": 9}]}, 9),
        ({"data": {"retry_after": 9}}, None),
        ({**{str(key): key for key in range(99)}, "error": {"retry_after": 9}}, 9),
        ("try again in 9 minutes", None),
        ({"message": "try again in 9 minutes"}, None),
        ('{"retry_after": 1' + "0" * 400 + "}", None),
        ('{"retry_after": 1' + "0" * 5000 + "}", None),
        ('{"retry_after": NaN, "retry_after_s": 5}', 5),
        ('{"retry_after": 1e999, "retry_after_s": 5}', 5),
        ('{"retry_after": 5', None),
    ],
)
def test_a_body_tells_a_wait(body: Any, seconds: float | None) -> None:
    assert wait({}, body) == (seconds and pytest.approx(seconds))


def test_the_longest_of_header_and_body_wins() -> None:
    assert wait({"Retry-After": "65"}, {"retry_after": 64.57}) == 65
    assert wait({"Retry-After": "64"}, {"retry_after": 64.57}) == pytest.approx(64.57)


@pytest.mark.parametrize(
    ("status", "seconds"), [(200, None), (404, None), (429, 30), (500, None), (503, 30)]
)
def test_a_full_quota_is_waited_for_only_where_it_is_the_matter(
    status: int, seconds: float | None
) -> None:
    assert wait({"RateLimit": '"default";r=0;t=30'}, status=status) == seconds


def test_a_job_says_when_to_ask_again() -> None:
    assert wait({"Retry-After": "5"}, status=202) == 5
    assert wait({"Retry-After": "5"}, status=200) is None


def test_too_large_until_a_time_is_a_limit() -> None:
    assert explain(413, {"Retry-After": "5"}).failure is FailureClass.RATE_LIMIT
    assert explain(413, {"Retry-After": "0"}).failure is FailureClass.BAD_INPUT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        (
            {
                "retry-after": "2",
                "x-ratelimit-reset-requests": "2m59.56s",
                "x-ratelimit-remaining-requests": "14370",
                "x-ratelimit-reset-tokens": "7.66s",
                "x-ratelimit-remaining-tokens": "0",
            },
            7.66,
        ),
        ({"x-ratelimit-reset-tokens": "1s"}, 1),
        ({"x-ratelimit-reset-tokens": "3"}, None),
        ({"x-ratelimit-reset": "3"}, None),  # not what this API says: no guess beside a preset
    ],
)
def test_a_preset_names_places_and_units(headers: dict[str, str], seconds: float | None) -> None:
    assert wait(headers, api="groq") == (seconds and pytest.approx(seconds))


@pytest.mark.parametrize(
    "usage", ["", "not json", "{}", "[1]", '{"1": [{"estimated_time_to_regain_access": true}]}']
)
def test_a_header_that_should_hold_json_may_hold_anything(usage: str) -> None:
    headers = {"x-business-use-case-usage": usage}
    assert wait(headers, {"error": {"code": 4}}, 400, api="meta") is None


@pytest.mark.parametrize(
    ("cost", "seconds"),
    [
        ((140, 40, 50.0), 2),
        ((40, 40, 50.0), None),
        ((140, 40, 0), None),
        (("x", 40, 50), None),
        ((140, None, 50), None),
    ],
)
def test_the_cost_of_a_query_tells_when_it_can_be_paid(
    cost: tuple[Any, Any, Any], seconds: float | None
) -> None:
    asked, there, rate = cost
    status = {"currentlyAvailable": there, "restoreRate": rate}
    body = {
        "errors": [{"extensions": {"code": "THROTTLED"}}],
        "extensions": {"cost": {"requestedQueryCost": asked, "throttleStatus": status}},
    }
    assert wait({}, body, 200, api="shopify") == seconds


# ------------------------------------------------------------------ RateLimit


@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        ('"fixed window";"api";r=0;t=55', 55),
        ('"a;b,c";r=0;t=5', 5),
        ('"a\\"b";r=0;t=5', 5),
        ("default;R=0;T=5", 5),
        ("default; r=0 ; t=5", 5),
        ('"a";r=-1;t=5', 5),
        ('"a";r=0.0;t=5', 5),
        ('"a";t=5', None),
        ('"a";r=0', None),
        ('"a";r=x;t=5', None),
        ('"a";r=0;t=-5', None),
        ('"a";r=0;t=1e9', None),
        ("", None),
        (";;,,;", None),
        ('"unclosed;r=0;t=5', 5),
        ('"a";r=0;t=9,' * 5000, 9),
    ],
)
def test_the_field_is_read_as_far_as_it_makes_sense(field: str, seconds: float | None) -> None:
    assert _ratelimit.used_up(field) == seconds


def test_a_policy_of_a_day_or_more_is_long() -> None:
    field = '"burst";q=100;w=60, "daily";q=1000;w=86400, "odd";w=x, "almost";w=86399'
    assert _ratelimit.long_policies(field) == {"daily"}


def test_a_flood_of_members_is_cut() -> None:
    assert len(_ratelimit.members("a;r=0," * 10_000)) == _ratelimit.MEMBERS


# ------------------------------------------------------------------ hostile bodies


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 20_000,
        b"[" * 30_000 + b"]" * 30_000,
        b'{"error":' * 500 + b"1" + b"}" * 500,
        b"\xff\xfe{",
        b"\x00" * 1000,
        b"{" + b"9" * 60_000 + b"}",
        b'{"code": ' + b"9" * 60_000 + b"}",
        b'{"code": "\\ud800"}',
        b"<" * 65_536,
        b"<a>" * 30_000,
        b"<Code>" * 10_000,
        b"data:" * 10_000,
        b'{"errors": [' + b'{"code": "x"},' * 4000 + b"{}]}",
        b"\xef\xbb\xbf" + b'{"code": "RATE_LIMITED"}',
    ],
    ids=lambda body: repr(body[:12]),
)
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/xml", ""])
def test_a_hostile_body_is_looked_at_and_let_go(body: bytes, kind: str) -> None:
    for api in (None, "reddit", "elasticsearch", "dynamodb", "mcp"):
        for status in (200, 400, 500):
            assert explain(status, {"content-type": kind}, body, api=api).failure


def test_no_more_than_the_look_is_looked_at() -> None:
    code = b'"code": "RATE_LIMITED"}'
    fits = b'{"pad": "' + b"x" * (LOOK - 11 - len(code)) + b'",' + code
    assert len(fits) == LOOK
    assert explain(400, {}, fits).failure is FailureClass.RATE_LIMIT
    assert explain(400, {}, b" " + fits).failure is FailureClass.BAD_INPUT
    assert explain(400, {}, fits + b" " * 10**6).failure is FailureClass.RATE_LIMIT


def test_a_wide_answer_gives_a_bounded_number_of_values() -> None:
    wide = {"a": [{"b": [1] * 100}] * 100}
    assert len(values_at(wide, "a.*.b.*")) == WIDEST
    assert places_at(wide, "a.99.b.0") == [("a.99.b.0", 1)]
    assert values_at(wide, "a.100.b") == values_at(wide, "a.x") == values_at(7, "a") == []
    assert values_at({"a": None}, "a") == [] and values_at(7, "") == [7]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("RATE_LIMITED", "RATE_LIMITED"),
        (20429, "20429"),
        (True, ""),
        (None, ""),
        (1.5, ""),
        ("two words", ""),
        ("com.amazonaws.dynamodb.v20120810#Throttled", "Throttled"),
        ("Throttled:http://internal.example/", "Throttled"),
        ("https://api.x.com/2/problems/usage-capped", "usage-capped"),
        ("https://example.com/problems#quota-exceeded", "quota-exceeded"),
        ("https://example.com/problems/", "problems"),
        ("about:blank", "about"),
        ("x" * 81, ""),
        ("a\x00b", ""),
        ("", ""),
    ],
)
def test_a_value_is_a_code_when_it_is_one_word(value: Any, code: str) -> None:
    assert code_of(value) == code


def test_markup_gives_its_codes_and_words() -> None:
    soap = "<soap:Fault><soap:faultcode>soap:Server</soap:faultcode></soap:Fault>"
    assert look(soap).codes == ["Server"]
    found = look(b"<html><title>Slow down</title></html>")
    assert found.codes == [] and "Slow down" in found.sentences[0]
    assert look(b" \n").sentences == look(None).sentences == []
    assert parse("{") is parse("[" * 100_000) is None


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["error", "errors", "code", "status", "details", "type", "retry_after"])
            | st.sampled_from(["message", "title", "violations", "quotaId", "jsonrpc", "result"])
            | st.sampled_from(["data", "items", "extensions", "violated-policies", "retryable"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)
NAMES = st.sampled_from(
    ["retry-after", "retry-after-ms", "ratelimit", "ratelimit-policy", "date", "content-type"]
    + ["x-ratelimit-reset", "x-ratelimit-remaining", "x-should-retry", "x-amzn-errortype"]
)
APIS = st.sampled_from([None, "stripe", "meta", "reddit", "elasticsearch", "mcp", "google", "x"])


@settings(deadline=None)
@given(
    status=st.integers(0, 999),
    headers=st.dictionaries(NAMES, st.text(max_size=60), max_size=6),
    body=st.binary(max_size=400) | st.text(max_size=400) | JSONS.map(json.dumps),
    method=st.sampled_from(["GET", "POST", "PUT"]),
    api=APIS,
)
def test_nothing_that_a_server_sends_raises(
    status: int, headers: dict[str, str], body: Any, method: str, api: str | None
) -> None:
    said = explain(status, headers, body, method=method, api=api, now=NOW)
    assert said.wait is None or (isfinite(said.wait) and said.wait > 0)
    assert said.next and said.why
    assert said.code is None or 1 <= len(said.code) <= 40


@settings(deadline=None)
@given(st.text(max_size=300) | st.from_regex(r'[a-z0-9",;=\\ ]{0,200}'))
def test_no_rate_limit_field_raises(field: str) -> None:
    used = _ratelimit.used_up(field)
    assert used is None or used > 0
    assert len(_ratelimit.members(field)) <= _ratelimit.MEMBERS


def test_headers_are_looked_up_by_name_and_never_walked() -> None:
    asked: list[str] = []

    def get(name: str) -> str | None:
        asked.append(name)
        return None

    read(Answer(429, get), safe=True, now=NOW)
    assert len(asked) < 40 and all(name == name.lower() for name in asked)
