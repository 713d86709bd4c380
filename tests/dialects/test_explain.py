"""`explain`: what the library would do next, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from httpx_recover import Applied, Explanation, FailureClass, explain

CHARGES = "https://api.stripe.com/v1/charges"


def after(status: int, headers: Any = None, body: Any = None, **more: Any) -> str:
    return explain(status, headers, body, now=0.0, **more).next


@pytest.mark.parametrize(
    ("status", "headers", "body", "method", "said"),
    [
        (200, {}, "", "GET", "none"),
        (202, {}, "", "POST", "poll until it has ended"),
        (207, {}, "", "POST", "redo only what is missing, item by item"),
        (400, {}, "", "POST", "fix the request"),
        (401, {}, "", "GET", "renew the credentials"),
        (402, {}, "", "GET", "raise the limit or wait for its renewal"),
        (404, {}, "", "GET", "read it once more in a named task"),
        (404, {}, "", "PUT", "fix the address"),
        (409, {}, "", "POST", "read the state of now"),
        (409, {}, {"code": "idempotency_key_reused"}, "POST", "no new key is made"),
        (409, {}, {"code": "idempotency_key_in_use"}, "POST", "resend it with the same key"),
        (409, {}, {"duplicate": True}, "POST", "none: an earlier request did it"),
        (503, {}, {"duplicate": True}, "POST", "read whether the earlier request was yours"),
        (429, {"retry-after": "3"}, "", "POST", "wait 3 s, then resend it"),
        (429, {}, "", "POST", "wait our own backoff, 1 s, then resend it"),
        (429, {"retry-after": "119"}, "", "GET", "wait 119 s, then resend it"),
        (429, {"retry-after": "120"}, "", "GET", "wait 120 s yourself"),
        (503, {"retry-after": "7"}, "", "GET", "wait 7 s, then resend it"),
        (503, {"x-should-retry": "false"}, "", "GET", "rerun it later"),
        (503, {"x-should-retry": "maybe"}, "", "GET", "then resend it"),
        (503, {}, "", "PUT", "resend it as idempotent"),
        (503, {}, "", "delete", "resend it as idempotent"),
        (503, {}, "", "POST", "read whether it happened"),
        (503, {"x-should-retry": "true"}, "", "POST", "read whether it happened"),
        (503, {}, {"retryable": False}, "GET", "rerun it later"),
        (421, {}, "", "POST", "then resend it"),
    ],
)
def test_the_next_step_is_named(
    status: int, headers: dict[str, str], body: Any, method: str, said: str
) -> None:
    assert said in after(status, headers, body, method=method)


def test_a_saved_500_is_not_asked_for_again() -> None:
    said = after(500, method="POST", url=CHARGES)
    assert "the same key would get the saved 500 again" in said


def test_a_trusted_key_is_sent_again_within_its_window() -> None:
    url = "https://api-m.paypal.com/v2/checkout/orders"
    said = after(503, {"retry-after": "2"}, method="POST", url=url)
    assert said.startswith("wait 2 s, then resend it with the same key within 21600 s")
    window = after(503, method="POST", url="https://api.stripe.com/v2/x")
    assert "resend it with the same key; sent without a key" in window


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/responses",
        "https://compute.googleapis.com/compute/v1/projects/p/zones/z/instances",
        "https://api.example.com/",
    ],
)
def test_a_key_that_nobody_dedupes_is_no_reason_to_send_again(url: str) -> None:
    assert after(503, method="POST", url=url).startswith("read whether it happened")


def test_what_can_be_done_again_is_named() -> None:
    failed = [{"Id": "a", "SenderFault": False}, {"Id": "b", "SenderFault": True}]
    assert after(200, {}, {"Failed": failed}, api="sqs") == (
        "redo only what is missing: a, b; can be done again: a"
    )
    assert after(200, {}, {"Failed": failed[1:]}, api="sqs") == "redo only what is missing: b"


def test_it_says_which_fact_decided_and_where_the_wait_was_read() -> None:
    said = explain(429, {"Retry-After": "3"}, {"code": 20429}, method="POST", api="twilio")
    assert said.why == (
        "class: status 429 (twilio.com/docs/api/errors/20429, read 2026-12-01, [P]); "
        "wait: header retry-after (RFC 9110 section 10.2.3)"
    )
    assert str(said) == "rate_limit, applied no, wait 3 s; next: wait 3 s, then resend it"
    assert "wait none told" in str(explain(404))
    hint = explain(500, {"x-should-retry": "true"}).why
    assert "hint: the server says it may be sent again, which proves nothing" in hint
    assert "should not" in explain(500, {"x-should-retry": "false"}).why


def test_a_name_that_no_preset_has_is_said_and_read_as_a_stranger() -> None:
    said = explain(429, {"retry-after": "3"}, api="strpie")
    assert said.failure is FailureClass.RATE_LIMIT and said.wait == 3
    assert "no such preset, did you mean 'stripe'?" in said.why


def test_the_named_api_is_asked_before_that_of_the_host() -> None:
    url = "https://api.cloudflare.com/x"
    said = explain(
        400, {}, {"errors": [{"extensions": {"type": "ratelimited"}}]}, url=url, api="linear"
    )
    assert said.failure is FailureClass.RATE_LIMIT


def pairs() -> Iterator[tuple[str, str]]:
    yield from [("RETRY-AFTER", " 3 "), ("x", "1"), ("X", "2")]


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "3"},
        [("Retry-After", "3")],
        [(b"Retry-After", b"3")],
        httpx.Headers({"Retry-After": "3"}),
        pairs(),
    ],
    ids=["dict", "list", "bytes", "httpx", "generator"],
)
def test_headers_come_in_many_forms(headers: Any) -> None:
    assert explain(429, headers).wait == 3


@pytest.mark.parametrize(
    "body",
    [
        b'{"retry_after": 3}',
        bytearray(b'{"retry_after": 3}'),
        '{"retry_after": 3}',
        {"retry_after": 3},
    ],
)
def test_a_body_comes_in_many_forms(body: Any) -> None:
    assert explain(429, None, body).wait == 3
    assert explain(429, None, memoryview(b"")).wait is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"status": "429"}, r"status='429': must be a number such as 429"),
        ({"status": True}, "status=True"),
        ({"method": ""}, r"method='': must be a method"),
        ({"method": 7}, "method=7"),
        ({"headers": 7}, "headers: must be a mapping"),
        ({"headers": [("a",)]}, "headers: must be a mapping"),
        ({"headers": {"a": 1}}, "headers: must be a mapping"),
        ({"body": object()}, "body: must be bytes, text, or what JSON can hold"),
        ({"url": "http://[::1/"}, "must be a URL such as"),
        ({"presets": "stripe"}, "presets='stripe'"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        explain(**{"status": 429, **wrong})


def test_a_body_that_holds_itself_is_refused() -> None:
    body: list[Any] = []
    body.append(body)
    with pytest.raises(ValueError, match="body"):
        explain(400, None, body)


@pytest.mark.parametrize("status", [0, 99, 100, 103, 304, 600, 999, 10**30, -1])
def test_a_status_may_be_any_number(status: int) -> None:
    for method in ("GET", "POST"):
        assert isinstance(explain(status, method=method), Explanation)


def test_without_a_time_the_clock_is_asked() -> None:
    assert explain(429, {"x-ratelimit-reset": "1470173023"}).wait is None
    far = explain(429, {"x-ratelimit-reset": "99999999999"}).wait
    assert far is not None and far > 1e9


def test_an_explanation_is_a_value() -> None:
    assert explain(404) == explain(404) and explain(404).applied is Applied.NO


def test_where_the_mounts_see_less_it_says_so() -> None:
    slack = explain(200, {}, {"ok": False, "error": "ratelimited"}, method="POST", api="slack")
    assert slack.failure == "rate_limit"
    assert (
        "not yet in the mounts: they go by the status and the usual headers, here ok" in slack.why
    )
    reset = explain(429, {"x-ratelimit-reset-after": "7"}, api="discord")
    assert reset.wait == 7
    assert "here rate_limit, wait none" in reset.why
    for headers in ({"retry-after": "3"}, {}, {"retry-after": "0"}):
        assert "mounts" not in explain(429, headers).why
    assert "mounts" not in explain(413, {"retry-after": "3"}).why
