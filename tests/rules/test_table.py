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


@pytest.mark.parametrize("status", [-200, -1, 0, 42, 99, 600, 999, 10**30])
def test_what_is_no_status_proves_nothing(status: int) -> None:
    assert classify(status, safe=False) == (FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN)
    assert classify(status, safe=True) == (FailureClass.TRANSIENT, Applied.UNKNOWN)


@pytest.mark.parametrize("safe", [True, False])
def test_too_large_for_now_is_a_rate_limit(safe: bool) -> None:
    assert classify(413, safe=safe, retry_after=True) == (FailureClass.RATE_LIMIT, Applied.NO)
    assert classify(413, safe=safe) == (FailureClass.BAD_INPUT, Applied.NO)


@pytest.mark.parametrize("safe", [True, False])
def test_a_wait_changes_the_meaning_of_no_other_status(safe: bool) -> None:
    changed = [
        status
        for status in range(100, 600)
        if classify(status, safe=safe, retry_after=True) != classify(status, safe=safe)
    ]
    assert changed == [413]
