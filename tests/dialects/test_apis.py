"""Each API in its own words: what a preset knows, and the guess when none does."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from httpx_recover import Applied, FailureClass, explain
from httpx_recover.dialects import Items

NOW = 1767225600.0  # 2026-01-01T00:00:00Z
JSON = {"content-type": "application/json"}
C, NO, YES, UNKNOWN = FailureClass, Applied.NO, Applied.YES, Applied.UNKNOWN


class Row(NamedTuple):
    api: str
    method: str
    status: int
    headers: dict[str, str]
    body: Any
    failure: FailureClass
    applied: Applied
    wait: float | None = None
    code: str | None = None


def google(code: int, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "status": status, "message": "x", "details": list(details)}}


def quota(name: str) -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": name}],
    }


def graphql(**extensions: str) -> dict[str, Any]:
    return {"errors": [{"message": "no", "extensions": extensions}]}


def shopify(**cost: Any) -> dict[str, Any]:
    return {
        "errors": [{"message": "Throttled", "extensions": {"code": "THROTTLED"}}],
        "extensions": {"cost": cost},
    }


THERE = {"maximumAvailable": 1000.0, "currentlyAvailable": 40, "restoreRate": 50.0}
USAGE = {
    "1": [{"type": "x", "estimated_time_to_regain_access": 5}, {"call_count": 9}],
    "2": [{"estimated_time_to_regain_access": 2}],
}
OPENAI = {
    "x-ratelimit-remaining-requests": "0",
    "x-ratelimit-reset-requests": "6m0s",
    "x-ratelimit-remaining-tokens": "0",
    "x-ratelimit-reset-tokens": "120ms",
}
TWIN = {"error": {"type": "x", "code": "idempotency_key_in_use"}}
REPEAT = {"repeatability-result": "rejected"}
ROWS = [
    # payments
    Row("stripe", "POST", 429, {}, {"error": {"code": "rate_limit"}}, C.RATE_LIMIT, NO),
    Row(
        "stripe",
        "POST",
        429,
        {"stripe-rate-limited-reason": "global-rate"},
        {"error": {"code": "lock_timeout"}},
        C.RATE_LIMIT,
        NO,
        None,
        "lock_timeout",
    ),
    Row("stripe", "POST", 503, {"stripe-should-retry": "true"}, "", C.TRANSIENT, UNKNOWN),
    Row("stripe", "POST", 402, {}, {"error": {"code": "card_declined"}}, C.BAD_INPUT, NO),
    Row("stripe", "POST", 409, {}, TWIN, C.IN_PROGRESS, UNKNOWN),
    Row("stripe", "POST", 500, {}, {"error": {"type": "api_error"}}, C.UNKNOWN_OUTCOME, UNKNOWN),
    Row(
        "paypal",
        "POST",
        422,
        {},
        {"name": "UNPROCESSABLE_ENTITY", "details": [{"issue": "PREVIOUS_REQUEST_IN_PROGRESS"}]},
        C.IN_PROGRESS,
        UNKNOWN,
        None,
        "PREVIOUS_REQUEST_IN_PROGRESS",
    ),
    Row("paypal", "POST", 429, {}, {"name": "RATE_LIMIT_REACHED"}, C.RATE_LIMIT, NO),
    Row("paypal", "POST", 422, {}, {"name": "INVALID_REQUEST"}, C.BAD_INPUT, NO),
    Row(
        "square",
        "POST",
        400,
        {},
        {"errors": [{"category": "INVALID_REQUEST_ERROR", "code": "IDEMPOTENCY_KEY_REUSED"}]},
        C.CONFLICT,
        UNKNOWN,
        None,
        "IDEMPOTENCY_KEY_REUSED",
    ),
    Row("square", "GET", 429, {}, {"errors": [{"code": "RATE_LIMITED"}]}, C.RATE_LIMIT, NO),
    Row("adyen", "POST", 409, {}, {"errorCode": "704"}, C.IN_PROGRESS, UNKNOWN),
    Row("adyen", "POST", 503, {"transient-error": "false"}, "", C.UNKNOWN_OUTCOME, UNKNOWN),
    Row(
        "braintree",
        "POST",
        200,
        JSON,
        {"data": {"charge": {"transaction": {"gatewayRejectionReason": "DUPLICATE"}}}},
        C.ALREADY_DONE,
        UNKNOWN,
    ),
    Row("braintree", "POST", 200, JSON, {"status": "gateway_rejected"}, C.BAD_INPUT, UNKNOWN),
    Row("ppro", "POST", 409, {}, "", C.IN_PROGRESS, UNKNOWN),
    Row("ppro", "POST", 200, {"request-idempotency": "true"}, "", C.ALREADY_DONE, YES),
    Row("epay", "POST", 201, {"idempotent-replayed": "true"}, "", C.ALREADY_DONE, YES),
    Row("method", "POST", 503, {}, {"error": "IDEMPOTENCY_UNAVAILABLE"}, C.TRANSIENT, UNKNOWN),
    # commerce
    Row("shopify", "POST", 200, JSON, {"data": {"a": {"userErrors": []}}}, C.OK, YES),
    Row(
        "shopify",
        "POST",
        200,
        JSON,
        shopify(requestedQueryCost=140, throttleStatus=THERE),
        C.RATE_LIMIT,
        NO,
        2.0,
        "THROTTLED",
    ),
    Row("shopify", "POST", 200, JSON, shopify(requestedQueryCost=9), C.RATE_LIMIT, NO),
    Row("shopify-rest", "GET", 430, {}, "", C.RATE_LIMIT, NO),
    Row("zendesk", "POST", 201, {"x-idempotency-lookup": "hit"}, "", C.ALREADY_DONE, YES),
    Row("zendesk", "POST", 201, {"x-idempotency-lookup": "miss"}, "", C.OK, YES),
    Row("hubspot", "GET", 429, {}, {"policyName": "SECONDLY"}, C.RATE_LIMIT, NO),
    Row("hubspot", "POST", 423, {}, "", C.TRANSIENT, NO, 2.0),
    Row("salesforce", "POST", 400, {}, [{"errorCode": "X_Y"}], C.BAD_INPUT, NO, None, "X_Y"),
    # messages
    Row("twilio", "POST", 500, {}, {"code": 20500}, C.UNKNOWN_OUTCOME, UNKNOWN, None, "20500"),
    Row("slack", "POST", 200, JSON, {"ok": True}, C.OK, YES),
    Row("slack", "POST", 200, JSON, {"ok": False, "error": "no_text"}, C.BAD_INPUT, NO),
    Row("slack", "POST", 200, JSON, {"ok": False, "error": "new_word"}, C.BAD_INPUT, UNKNOWN),
    Row("slack", "POST", 200, JSON, {"ok": False, "error": "ratelimited"}, C.RATE_LIMIT, NO),
    Row(
        "slack",
        "POST",
        200,
        JSON,
        {"ok": False, "error": "fatal_error"},
        C.UNKNOWN_OUTCOME,
        UNKNOWN,
    ),
    Row("discord", "POST", 429, {"retry-after": "3600"}, "<html>", C.QUOTA, NO, 3600.0),
    Row("discord", "GET", 403, {}, {"code": 50013}, C.AUTH, NO, None, "50013"),
    Row(
        "telegram",
        "POST",
        429,
        {},
        {"ok": False, "error_code": 429, "parameters": {"retry_after": 14}},
        C.RATE_LIMIT,
        NO,
        14.0,
    ),
    Row("telegram", "POST", 200, JSON, {"ok": False, "error_code": 400}, C.BAD_INPUT, UNKNOWN),
    Row(
        "whatsapp",
        "POST",
        400,
        {"x-business-use-case-usage": json.dumps(USAGE)},
        {"error": {"code": 130429, "type": "OAuthException"}},
        C.RATE_LIMIT,
        NO,
        300.0,
    ),
    Row("meta", "GET", 400, {}, {"error": {"code": 190}}, C.BAD_INPUT, NO, None, "190"),
    Row(
        "meta",
        "POST",
        500,
        {},
        {"error": {"code": 2, "is_transient": True}},
        C.TRANSIENT,
        UNKNOWN,
    ),
    Row("meta", "POST", 200, JSON, {"error": {"code": 4}}, C.RATE_LIMIT, NO),
    Row(
        "x",
        "GET",
        429,
        {"x-rate-limit-reset": str(int(NOW) + 90), "x-rate-limit-remaining": "0"},
        "",
        C.RATE_LIMIT,
        NO,
        90.0,
    ),
    Row(
        "x",
        "GET",
        429,
        {},
        {"type": "https://api.x.com/2/problems/usage-capped"},
        C.QUOTA,
        NO,
        None,
        "usage-capped",
    ),
    Row("x", "POST", 400, {}, {"errors": [{"code": "DUPLICATE_TWEET"}]}, C.ALREADY_DONE, UNKNOWN),
    Row(
        "x",
        "GET",
        200,
        JSON,
        {"errors": [{"type": "https://api.x.com/2/problems/resource-not-found"}]},
        C.NOT_FOUND,
        NO,
        None,
        "resource-not-found",
    ),
    Row(
        "reddit",
        "POST",
        200,
        JSON,
        {"json": {"errors": [["RATELIMIT", "try again in 9 minutes.", "ratelimit"]]}},
        C.RATE_LIMIT,
        NO,
        540.0,
        "RATELIMIT",
    ),
    Row(
        "reddit",
        "POST",
        200,
        JSON,
        {"json": {"errors": [["NO_TEXT", "a", "b"]]}},
        C.BAD_INPUT,
        UNKNOWN,
    ),
    Row("reddit", "POST", 200, JSON, {"json": {"errors": []}}, C.OK, YES),
    # code hosts and trackers
    Row("github", "GET", 403, {"x-ratelimit-remaining": "4999"}, {"message": "no"}, C.AUTH, NO),
    Row(
        "github",
        "POST",
        403,
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 1800)},
        {"message": "API rate limit exceeded for user"},
        C.RATE_LIMIT,
        NO,
        1800.0,
    ),
    Row("github", "GET", 429, {"retry-after": "90"}, "", C.RATE_LIMIT, NO, 90.0),
    Row(
        "gitlab",
        "GET",
        429,
        {"ratelimit-reset": str(int(NOW) + 30), "ratelimit-remaining": "0"},
        "Retry later\n",
        C.RATE_LIMIT,
        NO,
        30.0,
    ),
    Row("gitlab", "GET", 429, {}, "Retry later\n", C.RATE_LIMIT, NO),
    Row(
        "linear",
        "POST",
        400,
        {
            "x-ratelimit-requests-remaining": "0",
            "x-ratelimit-requests-reset": str(int(NOW) * 1000 + 45_500),
        },
        graphql(code="RATELIMITED"),
        C.RATE_LIMIT,
        NO,
        45.5,
        "RATELIMITED",
    ),
    Row("linear", "POST", 200, JSON, graphql(type="usage limit exceeded"), C.QUOTA, NO),
    Row("linear", "POST", 400, {}, graphql(type="lock timeout"), C.TRANSIENT, UNKNOWN),
    Row(
        "linear", "POST", 200, JSON, {"data": {"issue": {"id": 1}}, **graphql()}, C.PARTIAL, UNKNOWN
    ),
    # models
    Row("openai", "POST", 429, {}, {"error": {"code": "insufficient_quota"}}, C.QUOTA, NO),
    Row("openai", "POST", 429, OPENAI, {"error": {"code": "slow_down"}}, C.RATE_LIMIT, NO, 360.0),
    Row(
        "openai",
        "POST",
        503,
        {},
        {"error": {"code": "server_is_overloaded"}},
        C.TRANSIENT,
        UNKNOWN,
        None,
        "server_is_overloaded",
    ),
    Row("openai", "POST", 500, {"x-should-retry": "true"}, "", C.UNKNOWN_OUTCOME, UNKNOWN),
    Row("azure-openai", "POST", 429, {"retry-after-ms": "2500"}, "", C.RATE_LIMIT, NO, 2.5),
    Row(
        "anthropic",
        "POST",
        200,
        {"content-type": "text/event-stream"},
        'event: ping\ndata: {"type": "ping"}\n\nevent: error\n'
        'data: {"type": "error", "error": {"type": "overloaded_error"}}\n\n',
        C.TRANSIENT,
        UNKNOWN,
        None,
        "overloaded_error",
    ),
    Row(
        "anthropic",
        "POST",
        400,
        {},
        {"error": {"message": "You have reached your specified API usage limits."}},
        C.QUOTA,
        NO,
    ),
    Row(
        "gemini",
        "POST",
        429,
        {},
        google(429, "RESOURCE_EXHAUSTED", {"@type": "RetryInfo", "retryDelay": "34.07s"}),
        C.RATE_LIMIT,
        NO,
        34.07,
        "RESOURCE_EXHAUSTED",
    ),
    Row("hugging face", "GET", 429, {"ratelimit": '"api";r=0;t=55'}, "", C.RATE_LIMIT, NO, 55.0),
    Row("together", "POST", 429, {"x-ratelimit-reset": "4"}, "", C.RATE_LIMIT, NO, 4.0),
    # clouds
    Row("google", "POST", 409, {}, google(409, "ALREADY_EXISTS"), C.ALREADY_DONE, UNKNOWN),
    Row("google", "POST", 409, {}, google(409, "ABORTED"), C.CONFLICT, UNKNOWN),
    Row("google", "POST", 400, {}, google(400, "FAILED_PRECONDITION"), C.BAD_INPUT, NO),
    Row("google", "POST", 499, {}, google(499, "CANCELLED"), C.UNKNOWN_OUTCOME, UNKNOWN),
    Row("google", "GET", 499, {}, google(499, "CANCELLED"), C.TRANSIENT, UNKNOWN),
    Row("google", "POST", 503, {}, google(503, "UNAVAILABLE"), C.UNKNOWN_OUTCOME, UNKNOWN),
    Row(
        "google",
        "GET",
        403,
        {},
        {"error": {"errors": [{"reason": "dailyLimitExceeded"}]}},
        C.QUOTA,
        NO,
    ),
    Row(
        "google",
        "POST",
        429,
        {},
        google(429, "RESOURCE_EXHAUSTED", quota("WritesPerMinutePerProject")),
        C.RATE_LIMIT,
        NO,
    ),
    Row(
        "azure-arm",
        "POST",
        429,
        {"retry-after": "17"},
        {"error": {"code": "RetryableErrorDueToAnotherOperation"}},
        C.TRANSIENT,
        NO,
        17.0,
    ),
    Row(
        "azure-arm",
        "PUT",
        409,
        {},
        {"error": {"code": "AnotherOperationInProgress"}},
        C.IN_PROGRESS,
        UNKNOWN,
    ),
    Row("azure-communication", "POST", 400, REPEAT, "", C.CONFLICT, UNKNOWN),
    Row("azure-data", "POST", 501, REPEAT, "", C.BAD_INPUT, NO),
    Row(
        "aws",
        "POST",
        400,
        {"x-amzn-errortype": "ThrottlingException:http://internal.example/"},
        "",
        C.RATE_LIMIT,
        NO,
        None,
        "ThrottlingException",
    ),
    Row(
        "aws",
        "GET",
        503,
        {"content-type": "application/xml", "x-amz-retry-after": "1500"},
        '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce</Message></Error>',
        C.RATE_LIMIT,
        UNKNOWN,
        1.5,
        "SlowDown",
    ),
    Row("aws", "POST", 400, {}, {"__type": "RequestTimeoutException"}, C.TRANSIENT, UNKNOWN),
    Row("aws", "POST", 509, {}, "", C.RATE_LIMIT, UNKNOWN),
    Row(
        "dynamodb",
        "POST",
        400,
        {},
        {"__type": "a#TransactionInProgressException"},
        C.IN_PROGRESS,
        UNKNOWN,
    ),
    Row("dynamodb", "POST", 400, {}, {"__type": "a#TooManyRequestsException"}, C.RATE_LIMIT, NO),
    Row("dynamodb", "POST", 200, JSON, {"UnprocessedItems": {}}, C.OK, YES),
    Row("sqs", "POST", 200, JSON, {"Successful": [{"Id": "1"}], "Failed": []}, C.OK, YES),
    Row(
        "cloudflare-api",
        "GET",
        429,
        {"ratelimit": '"default";r=0;t=30', "ratelimit-policy": '"default";q=1200;w=300'},
        "",
        C.RATE_LIMIT,
        NO,
        30.0,
    ),
    Row("cloudflare-edge", "POST", 521, {}, "", C.TRANSIENT, UNKNOWN),
    Row("cloudflare-edge", "GET", 526, {}, "", C.AUTH, UNKNOWN),
    Row(
        "cloudflare-edge",
        "GET",
        429,
        {},
        {"error_code": 1015, "cloudflare_error": True, "retry_after": 30},
        C.RATE_LIMIT,
        NO,
        30.0,
        "1015",
    ),
    Row("cloudflare-edge", "GET", 530, {}, {"error_code": 1016}, C.TRANSIENT, UNKNOWN),
    Row("cloudflare-edge", "GET", 530, {}, "error code: 1015", C.RATE_LIMIT, UNKNOWN),
    Row("neon", "POST", 503, {}, "", C.TRANSIENT, NO),
    # data
    Row(
        "notion",
        "POST",
        529,
        {"retry-after": "3"},
        {"code": "service_overload"},
        C.TRANSIENT,
        UNKNOWN,
        3.0,
    ),
    Row("notion", "PATCH", 409, {}, {"code": "conflict_error"}, C.CONFLICT, UNKNOWN),
    Row(
        "notion", "POST", 200, JSON, {"request_status": {"type": "incomplete"}}, C.PARTIAL, UNKNOWN
    ),
    Row(
        "airtable",
        "GET",
        429,
        {},
        {"errors": [{"error": "RATE_LIMIT_REACHED"}]},
        C.RATE_LIMIT,
        NO,
        30.0,
    ),
    Row(
        "elasticsearch",
        "POST",
        429,
        {},
        {"error": {"type": "es_rejected_execution_exception"}},
        C.RATE_LIMIT,
        NO,
    ),
    Row("prisjakt", "GET", 429, {"x-rate-limit-reset": "600000"}, "", C.RATE_LIMIT, NO, 600.0),
    Row("supabase", "GET", 429, {"x-ratelimit-reset": "60"}, "", C.RATE_LIMIT, NO, 60.0),
    Row(
        "kong",
        "GET",
        429,
        {"ratelimit-remaining": "0", "ratelimit-reset": "47"},
        "",
        C.RATE_LIMIT,
        NO,
        47.0,
    ),
    # shapes that a rule names
    Row("graphql", "POST", 200, JSON, graphql(code="BAD_USER_INPUT"), C.BAD_INPUT, NO),
    Row(
        "graphql",
        "POST",
        200,
        JSON,
        graphql(code="INTERNAL_SERVER_ERROR"),
        C.UNKNOWN_OUTCOME,
        UNKNOWN,
    ),
    Row("graphql", "POST", 200, JSON, graphql(), C.UNKNOWN_OUTCOME, UNKNOWN),
    Row("graphql", "POST", 200, JSON, {"data": {"a": 1}}, C.OK, YES),
    Row(
        "jsonapi",
        "POST",
        200,
        JSON,
        {"errors": [{"status": "404", "code": "not_found"}]},
        C.NOT_FOUND,
        NO,
    ),
    Row(
        "jsonrpc", "POST", 200, JSON, {"jsonrpc": "2.0", "error": {"code": -32700}}, C.BAD_INPUT, NO
    ),
    Row(
        "jsonrpc",
        "GET",
        200,
        JSON,
        {"jsonrpc": "2.0", "error": {"code": -32603}},
        C.TRANSIENT,
        UNKNOWN,
    ),
    Row(
        "jsonrpc",
        "POST",
        200,
        JSON,
        {"jsonrpc": "2.0", "error": {"code": -32050}},
        C.UNKNOWN_OUTCOME,
        UNKNOWN,
    ),
    Row("jsonrpc", "POST", 200, JSON, {"jsonrpc": "2.0", "result": {"error": "mine"}}, C.OK, YES),
    Row(
        "mcp",
        "POST",
        200,
        JSON,
        {
            "jsonrpc": "2.0",
            "result": {
                "isError": True,
                "structuredContent": {"code": "SLOW_DOWN", "retry_after_ms": 1500},
            },
        },
        C.RATE_LIMIT,
        NO,
        1.5,
        "SLOW_DOWN",
    ),
    Row(
        "mcp",
        "POST",
        200,
        JSON,
        {"jsonrpc": "2.0", "result": {"isError": True, "structuredContent": {"duplicate": True}}},
        C.ALREADY_DONE,
        YES,
    ),
    Row(
        "mcp",
        "POST",
        200,
        JSON,
        {"jsonrpc": "2.0", "result": {"isError": True}},
        C.BAD_INPUT,
        UNKNOWN,
    ),
    Row("mcp", "POST", 200, JSON, {"jsonrpc": "2.0", "error": {"code": -32002}}, C.NOT_FOUND, NO),
]


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row.api}-{row.method}-{row.status}-{row.failure}"
)
def test_an_api_is_understood_in_its_own_words(row: Row) -> None:
    said = explain(row.status, row.headers, row.body, method=row.method, api=row.api, now=NOW)
    assert (said.failure, said.applied) == (row.failure, row.applied), said.why
    assert said.wait == pytest.approx(row.wait), said.why
    assert row.code is None or said.code == row.code


# ------------------------------------------------------------------ items


BULK = {
    "errors": True,
    "items": [
        {"index": {"_id": "1", "status": 201}},
        {"index": {"_id": "2", "status": 429, "error": {"type": "es_rejected_execution"}}},
        {"index": {"_id": "3", "status": 400, "error": {"type": "mapper_parsing"}}},
        {"delete": {"_id": "4", "status": 404}},
    ],
}
FAILED = [
    {"Id": "a", "Code": "InternalError", "SenderFault": False},
    {"Id": "b", "Code": "InvalidParameterValue", "SenderFault": True},
]
COMPOSITE = [
    {"httpStatusCode": 201, "referenceId": "ref1"},
    {"httpStatusCode": 400, "referenceId": "ref2", "body": [{"errorCode": "X"}]},
]
MULTI = {"results": [{}], "errors": [{"context": {"objectWriteTraceId": ["t1"]}}, {}]}


@pytest.mark.parametrize(
    ("api", "status", "body", "failed", "redo", "seen"),
    [
        ("elasticsearch", 200, BULK, ("2", "3"), ("2",), 4),
        ("sqs", 200, {"Failed": FAILED}, ("a", "b"), ("a",), 2),
        ("salesforce", 200, {"compositeResponse": COMPOSITE}, ("ref2",), (), 2),
        ("hubspot", 207, MULTI, ("t1", "errors.1"), (), 2),
        (
            "dynamodb",
            200,
            {"UnprocessedItems": {"T": [{"PutRequest": {}}, {"DeleteRequest": {}}]}},
            ("UnprocessedItems.T.0", "UnprocessedItems.T.1"),
            ("UnprocessedItems.T.0", "UnprocessedItems.T.1"),
            2,
        ),
        ("meta", 200, [{"code": 200}, {"code": "500"}, {"code": "x"}, None], ("1",), (), 3),
        ("x", 200, {"data": [1], "errors": [{"resource_id": "456"}]}, ("456",), (), 1),
    ],
)
def test_the_items_that_failed_are_named_and_those_that_can_be_done_again(
    api: str, status: int, body: Any, failed: tuple[str, ...], redo: tuple[str, ...], seen: int
) -> None:
    said = explain(status, JSON, body, method="POST", api=api)
    assert said.failure is C.PARTIAL and said.applied is UNKNOWN
    assert isinstance(said.items, Items)
    assert (said.items.failed, said.items.redo, said.items.seen) == (failed, redo, seen)
    assert failed[0] in said.next and said.items.source


# ------------------------------------------------------------------ strangers


@pytest.mark.parametrize(
    "body",
    [
        {"error": "mine"},
        {"errors": [{"code": "RATE_LIMITED"}]},
        {"ok": False, "error": "ratelimited"},
        {"jsonrpc": "2.0", "error": {"code": -32603}},
        {"duplicate": True},
    ],
    ids=json.dumps,
)
def test_the_success_of_a_stranger_is_not_looked_into(body: Any) -> None:
    said = explain(200, JSON, body, method="POST", url="https://api.example.com/x")
    assert (said.failure, said.applied) == (C.OK, YES)


@pytest.mark.parametrize(
    ("status", "body", "failure", "applied"),
    [
        (400, {"code": "SLOW_DOWN"}, C.RATE_LIMIT, NO),
        (400, {"error": "please slow down"}, C.RATE_LIMIT, NO),
        (422, {"error": {"code": "rate-limited"}}, C.RATE_LIMIT, NO),
        (500, {"code": "RATE_LIMITED"}, C.RATE_LIMIT, UNKNOWN),
        (500, {"code": "BAD_REQUEST"}, C.BAD_INPUT, UNKNOWN),
        (409, {"code": "VALIDATION_ERROR"}, C.BAD_INPUT, UNKNOWN),
        (401, {"code": "BAD_REQUEST"}, C.AUTH, NO),
        (429, {"code": "validation_error"}, C.RATE_LIMIT, NO),
        (400, {"code": "KEY_EXPIRED"}, C.AUTH, NO),
        (400, {"code": "MISSING_KEY"}, C.AUTH, NO),
        (400, {"code": "KEY_REVOKED"}, C.AUTH, NO),
        (422, {"message": "An order with this ref already exists"}, C.CONFLICT, UNKNOWN),
        (400, "this name already exists", C.CONFLICT, UNKNOWN),
        (500, {"message": "duplicate key: row already exists"}, C.UNKNOWN_OUTCOME, UNKNOWN),
        (409, {"duplicate": True, "id": 7}, C.ALREADY_DONE, YES),
        (503, {"duplicate": True}, C.ALREADY_DONE, UNKNOWN),
        (409, {"items": [{"duplicate": True}]}, C.CONFLICT, UNKNOWN),
        (412, {"code": "ALREADY_EXISTS"}, C.CONFLICT, NO),
        (403, {"error": {"code": "insufficient_quota"}}, C.QUOTA, NO),
        (400, {"error": {"code": "insufficient_quota"}}, C.BAD_INPUT, NO),
        (402, {"code": "daily_limit_exceeded"}, C.QUOTA, NO),
        (429, {"code": "daily_limit_exceeded", "retry_after": 20}, C.RATE_LIMIT, NO),
        (409, {"code": "idempotency_key_in_use"}, C.IN_PROGRESS, UNKNOWN),
        (400, {"data": {"code": "RATE_LIMITED"}}, C.BAD_INPUT, NO),
        (404, {"jsonrpc": "2.0", "error": {"code": -32601}}, C.BAD_INPUT, NO),
        (500, {"jsonrpc": "2.0", "error": {"code": -32603}}, C.UNKNOWN_OUTCOME, UNKNOWN),
        (400, {"jsonrpc": "2.0", "error": {"code": -32099}}, C.BAD_INPUT, NO),
        (
            400,
            {"jsonrpc": "2.0", "error": {"code": -32000, "data": {"code": "SLOW_DOWN"}}},
            C.RATE_LIMIT,
            NO,
        ),
        (400, {"jsonrpc": "2.0", "error": {"code": "text"}}, C.BAD_INPUT, NO),
        (409, google(409, "ALREADY_EXISTS"), C.CONFLICT, UNKNOWN),
        (429, google(429, "RESOURCE_EXHAUSTED", quota("RequestsPerDay")), C.QUOTA, NO),
        (429, {"error": {"status": "RESOURCE_EXHAUSTED"}}, C.RATE_LIMIT, NO),
        (404, {"error": {"status": "DATA_LOSS", "code": 404}}, C.NOT_FOUND, NO),
        (418, "short and stout", C.BAD_INPUT, NO),
    ],
)
def test_codes_that_everybody_understands(
    status: int, body: Any, failure: FailureClass, applied: Applied
) -> None:
    said = explain(status, {}, body, method="POST", url="https://api.example.com/x")
    assert (said.failure, said.applied) == (failure, applied), said.why


LIMITS = "https://iana.org/assignments/http-problem-types#"
KEYS = "https://developer.example.com/idempotency"


@pytest.mark.parametrize(
    ("status", "headers", "problem", "failure"),
    [
        (429, {}, {"type": f"{LIMITS}quota-exceeded"}, C.RATE_LIMIT),
        (429, {}, {"type": f"{LIMITS}quota-exceeded", "violated-policies": ["daily"]}, C.QUOTA),
        (
            429,
            {},
            {"type": f"{LIMITS}quota-exceeded", "violated-policies": ["burst"]},
            C.RATE_LIMIT,
        ),
        (
            429,
            {"ratelimit-policy": '"bulk";q=9;w=86400, "burst";q=1;w=60'},
            {"type": f"{LIMITS}quota-exceeded", "violated-policies": ["bulk", 7]},
            C.QUOTA,
        ),
        (429, {}, {"type": f"{LIMITS}abnormal-usage-detected"}, C.RATE_LIMIT),
        (503, {}, {"type": f"{LIMITS}temporary-reduced-capacity"}, C.UNKNOWN_OUTCOME),
        (
            409,
            {},
            {"type": KEYS, "title": "A request is outstanding for this Idempotency-Key"},
            C.IN_PROGRESS,
        ),
        (422, {}, {"type": KEYS, "title": "Idempotency-Key is already used"}, C.CONFLICT),
        (400, {}, {"type": KEYS, "title": "Idempotency-Key is missing"}, C.BAD_INPUT),
        (400, {}, {"type": 7, "title": None}, C.BAD_INPUT),
    ],
)
def test_problems_are_read_by_their_type(
    status: int, headers: dict[str, str], problem: Any, failure: FailureClass
) -> None:
    kind = {"content-type": "application/problem+json", **headers}
    assert explain(status, kind, problem, method="POST").failure is failure


@pytest.mark.parametrize("error", ["fatal_error", "internal_error", "word_of_tomorrow"])
def test_a_failure_hidden_in_a_success_is_no_refusal_unless_its_word_is_known(error: str) -> None:
    url = "https://slack.com/api/chat.postMessage"
    said = explain(200, JSON, {"ok": False, "error": error}, method="POST", url=url)
    assert said.failure is not C.OK and said.applied is UNKNOWN


@pytest.mark.parametrize("body", [{"code": 1015}, {"code": -1015}, {"error": {"code": "1015"}}])
def test_a_code_of_the_edge_is_not_found_in_what_the_origin_says(body: Any) -> None:
    said = explain(400, {"server": "cloudflare"}, body, url="https://api.example.com/")
    assert said.failure is C.BAD_INPUT


def test_a_number_is_not_the_same_below_zero() -> None:
    told = [explain(409, {}, {"errorCode": code}, api="adyen").failure for code in ("704", "-704")]
    assert told == [C.IN_PROGRESS, C.CONFLICT]


def test_only_a_list_is_a_batch() -> None:
    place = {"location": {"code": 1234}, "id": "1"}
    assert explain(200, JSON, place, api="meta").failure is C.OK


def test_an_edge_is_known_by_its_header_on_any_host() -> None:
    url = "https://shop.example.com/"
    assert explain(526, {"server": "cloudflare"}, url=url).failure is C.AUTH
    assert explain(526, {"server": "nginx"}, url=url).failure is C.TRANSIENT
    assert explain(526, {}, url=url).failure is C.TRANSIENT
