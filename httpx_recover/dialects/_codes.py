"""What codes and sentences mean, whoever sends them: the standards, and words without a doubt.

Read here are the shapes that many servers share: codes in any error body, problem+json (RFC
9457), google.rpc.Status, JSON-RPC 2.0. What one vendor alone means by a code stands in its preset
and is asked first. Codes are compared without case and punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from httpx_recover._words import FailureClass
from httpx_recover.dialects._body import Found
from httpx_recover.dialects._paths import values_at


class Named(NamedTuple):
    """A class that a body names: the code, in words which fact, and where that is written."""

    failure: FailureClass
    code: str
    fact: str
    source: str
    sign: str | None = None


_CONTRACT: Final = "codes understood everywhere"
_PROBLEM: Final = "RFC 9457"
_LIMITS: Final = "draft-ietf-httpapi-ratelimit-headers"
_KEYS: Final = "draft-ietf-httpapi-idempotency-key-header-07"
_GOOGLE: Final = "google/rpc/code.proto and error_details.proto"
_RPC: Final = "JSON-RPC 2.0"
_GRAPHQL: Final = "GraphQL over HTTP and the codes of its servers"

_C: Final = FailureClass
# Names without a doubt, in every vendor's dialect, as `plain` writes them.
_WORDS: Final[Mapping[FailureClass, str]] = {
    _C.RATE_LIMIT: """
        RATE_LIMITED RATE_LIMIT RATE_LIMIT_EXCEEDED RATE_LIMIT_ERROR RATE_LIMIT_REACHED RATELIMITED
        RATELIMIT RATELIMITEXCEEDED TOO_MANY_REQUESTS TOOMANYREQUESTS TOOMANYREQUESTSEXCEPTION
        THROTTLED THROTTLING THROTTLINGEXCEPTION SLOW_DOWN SLOWDOWN
    """,
    _C.BAD_INPUT: """
        BAD_REQUEST VALIDATION_ERROR VALIDATION_FAILED VALIDATIONERROR VALIDATIONEXCEPTION
        SCHEMA_ERROR INVALID_SCHEMA SCHEMA_VALIDATION_ERROR SCHEMA_VALIDATION_FAILED INVALID_INPUT
        INVALID_ARGUMENT GRAPHQL_VALIDATION_FAILED GRAPHQL_PARSE_FAILED BAD_USER_INPUT
    """,
    _C.AUTH: """
        MISSING_KEY KEY_EXPIRED KEY_REVOKED UNAUTHENTICATED UNAUTHORIZED INVALID_API_KEY
        INVALID_TOKEN EXPIRED_TOKEN PERMISSION_DENIED FORBIDDEN ACCESS_DENIED INVALID_AUTH
    """,
    _C.CONFLICT: "ALREADY_EXISTS RESOURCE_ALREADY_EXISTS",
}
_MEANS: Final = {word: named for named, words in _WORDS.items() for word in words.split()}
_KEY_USED: Final = frozenset(
    """
    IDEMPOTENCY_KEY_REUSED IDEMPOTENCY_KEY_PARAMETER_MISMATCH IDEMPOTENCY_KEY_MISMATCH
    IDEMPOTENCY_ERROR IDEMPOTENCY_CONFLICT IDEMPOTENTREQUESTERROR IDEMPOTENTPARAMETERMISMATCH
    IDEMPOTENTPARAMETERMISMATCHEXCEPTION
    """.split()  # noqa: SIM905 - a list to read, not to parse
)
_KEY_RUNS: Final = frozenset({"IDEMPOTENCY_KEY_IN_USE", "IDEMPOTENCY_CONCURRENT_REQUEST"})
# A limit that minutes do not lift; only where no wait was told, since a name may exaggerate.
_UNPAID: Final = frozenset(
    """
    INSUFFICIENT_QUOTA ENFORCED_SPEND_LIMIT_REACHED SPEND_LIMIT_REACHED USAGE_CAPPED DAILY
    REQUEST_LIMIT_EXCEEDED BILLING_HARD_LIMIT_REACHED BILLING_NOT_ACTIVE DAILY_LIMIT_EXCEEDED
    DAILYLIMITEXCEEDED MONTHLY_LIMIT_EXCEEDED
    """.split()  # noqa: SIM905 - a list to read, not to parse
)
_LIMITED: Final = frozenset({402, 403, 429})
_SURE: Final = frozenset({401, 403, 404, 407, 410, 429, 451, 511})  # they say it better themselves
_LONG: Final = re.compile(r"per_?(?:day|month)|daily|monthly", re.IGNORECASE)
_RPC_BAD: Final = frozenset({-32700, -32600, -32601, -32602, -32020, -32021, -32022})
_GOOGLE_STATUS: Final[Mapping[str, FailureClass]] = {
    "RESOURCE_EXHAUSTED": _C.RATE_LIMIT,
    "ABORTED": _C.CONFLICT,
    "ALREADY_EXISTS": _C.CONFLICT,
    "FAILED_PRECONDITION": _C.BAD_INPUT,
    "OUT_OF_RANGE": _C.BAD_INPUT,
    "INVALID_ARGUMENT": _C.BAD_INPUT,
    "UNIMPLEMENTED": _C.BAD_INPUT,
    "NOT_FOUND": _C.NOT_FOUND,
    "UNAUTHENTICATED": _C.AUTH,
    "PERMISSION_DENIED": _C.AUTH,
    "CANCELLED": _C.UNKNOWN_OUTCOME,  # 499: the server was still working
}
_HIDDEN: Final[Mapping[str, FailureClass]] = {  # only in a success, which has no status to say it
    "NOT_FOUND": _C.NOT_FOUND,
    "RESOURCE_NOT_FOUND": _C.NOT_FOUND,
    "INTERNAL_SERVER_ERROR": _C.UNKNOWN_OUTCOME,
    "INTERNAL_ERROR": _C.UNKNOWN_OUTCOME,
}


def plain(text: str) -> str:
    """A code as it is compared: `rate-limited`, `Rate Limited` and `RATE_LIMITED` are one.

    A number keeps its sign: -1015 and 1015 are codes of two vendors.
    """
    if re.fullmatch("-[0-9]{1,9}", text):
        return text
    return re.sub(r"[^A-Z0-9]+", "_", text[:200].upper()).strip("_")


def standard(
    found: Found, codes: Iterable[str], status: int, *, told: bool, long: frozenset[str]
) -> Named | None:
    """The class that a body names in the words of a standard or of everybody.

    Args:
        found: the look into the body.
        codes: its codes, those of headers first.
        status: the answer's status.
        told: a wait was told, so that a name alone does not make it a quota.
        long: policies whose window is a day or more.
    """
    codes = list(codes)
    return (
        _google(found.document)
        or _problem(found, long)
        or next((said for code in codes if (said := _coded(code, status, told))), None)
        or _json_rpc(found.document, status)
        or _sentence(found, status)
    )


def _coded(code: str, status: int, told: bool) -> Named | None:
    word = plain(code)
    if word in _UNPAID and status in _LIMITED and not told:
        return Named(_C.QUOTA, code, f"code {code} is no matter of minutes", _CONTRACT)
    if word in _KEY_USED:
        return Named(_C.CONFLICT, code, f"code {code}: the key was used", _CONTRACT, "conflict")
    if word in _KEY_RUNS:
        return Named(_C.IN_PROGRESS, code, f"code {code}: the first one runs", _CONTRACT, "twin")
    means = _MEANS.get(word)
    if means is None and status < 400:
        means = _HIDDEN.get(word)
    if means is None or (means is _C.BAD_INPUT and status in _SURE):
        return None
    source = _GRAPHQL if "GRAPHQL" in word or word == "BAD_USER_INPUT" else _CONTRACT
    return Named(means, code, f"code {code}", source)


def _google(document: Any) -> Named | None:
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("status"), str):
        return None
    if not isinstance(error.get("details"), list) and not isinstance(error.get("code"), int):
        return None
    status = error["status"]
    for quota in values_at(error, "details.*.violations.*.quotaId"):
        if isinstance(quota, str) and _LONG.search(quota):
            return Named(_C.QUOTA, status, f"QuotaFailure {quota[:80]}", _GOOGLE)
    means = _GOOGLE_STATUS.get(status)
    return Named(means, status, f"google.rpc.Status {status}", _GOOGLE) if means else None


def _problem(found: Found, long: frozenset[str]) -> Named | None:
    document = found.document
    kind = document.get("type") if isinstance(document, dict) else None
    title = document.get("title") if isinstance(document, dict) else None
    if isinstance(title, str) and "idempotency-key" in title.lower():
        if "outstanding" in title.lower():
            return Named(_C.IN_PROGRESS, "", "problem: the first one is running", _KEYS, "twin")
        if "already used" in title.lower():
            return Named(_C.CONFLICT, "", "problem: the key was used", _KEYS, "conflict")
    if not isinstance(kind, str) or not kind.endswith(
        ("#quota-exceeded", "#abnormal-usage-detected")
    ):
        return None
    tail = kind.rpartition("#")[2]
    slow = [each for each in found.policies if each in long or _LONG.search(each)]
    if slow and tail == "quota-exceeded":
        return Named(_C.QUOTA, tail, f"problem {tail}, policy {slow[0]}", _LIMITS)
    return Named(_C.RATE_LIMIT, tail, f"problem {tail}", _LIMITS)


def _json_rpc(document: Any, status: int) -> Named | None:
    if not isinstance(document, dict) or "jsonrpc" not in document:
        return None
    error = document.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    if not isinstance(code, int):
        return None
    fact = f"JSON-RPC error {code}"
    if code in _RPC_BAD:
        return Named(_C.BAD_INPUT, str(code), fact, _RPC)
    if code == -32002:
        return Named(_C.NOT_FOUND, str(code), fact, "MCP, older servers")
    return Named(_C.UNKNOWN_OUTCOME, str(code), fact, _RPC) if status < 400 else None


def _sentence(found: Found, status: int) -> Named | None:
    if found.duplicate:
        return Named(_C.ALREADY_DONE, "", "duplicate: true", _CONTRACT)
    for sentence in found.sentences:
        words = sentence.lower().replace("_", " ")
        if "slow down" in words:
            return Named(_C.RATE_LIMIT, "", 'the words "slow down"', _CONTRACT)
        if "already exists" in words and status < 500:
            return Named(_C.CONFLICT, "", 'the words "already exists"', _CONTRACT)
    return None
