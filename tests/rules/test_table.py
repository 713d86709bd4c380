"""The class of every status, for reads and for writes."""

from __future__ import annotations

import pytest

from httpx_recover import Applied, FailureClass
from httpx_recover._table import classify

BAD_INPUT = "400 405 406 411 413 414 415 416 417 422 426 428 431 501 505 418 424 506 508 510"
NAMED = {
    **dict.fromkeys(map(int, BAD_INPUT.split()), ("bad_input", "no")),
    **dict.fromkeys((401, 403, 407, 451, 511), ("auth", "no")),
    **dict.fromkeys((402, 507), ("quota", "no")),
    **dict.fromkeys((404, 410), ("not_found", "no")),
    **dict.fromkeys((412, 423), ("conflict", "no")),
    **dict.fromkeys((421, 425), ("transient", "no")),
    **dict.fromkeys((207, 208), ("partial", "unknown")),
    202: ("accepted", "unknown"),
    409: ("conflict", "unknown"),
    429: ("rate_limit", "no"),
}
LOST = {408, 500, 502, 503, 504}


def expected(status: int, safe: bool) -> tuple[str, str]:
    if status in NAMED:
        return NAMED[status]
    if status == 304:
        return ("ok", "yes") if safe else ("bad_input", "no")
    if status < 400:
        return "ok", "yes"
    if status in LOST or status >= 500:
        return "transient" if safe else "unknown_outcome", "unknown"
    return "bad_input", "no"  # an unregistered status counts as its hundred


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("status", range(100, 600))
def test_every_status_has_its_class(status: int, safe: bool) -> None:
    assert classify(status, safe=safe) == expected(status, safe)


@pytest.mark.parametrize("status", [0, 42, 600, 999])
def test_what_is_no_status_proves_nothing(status: int) -> None:
    assert classify(status, safe=False) == (FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN)


def test_too_large_for_now_is_a_rate_limit() -> None:
    assert classify(413, safe=False, retry_after=True)[0] is FailureClass.RATE_LIMIT
    assert classify(414, safe=False, retry_after=True)[0] is FailureClass.BAD_INPUT
