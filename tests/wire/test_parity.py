"""One script of faults gives the same actions through every driver, and never a false claim.

Each fault of the demo on GET, PUT, DELETE, POST, keyed POST and verified POST.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from httpx_recover import Rule, outcome, verify
from httpx_recover._memory import MEMORY
from tests.drivers import DRIVERS, POLICY, run_calls
from tests.faulty import FAULTS, SLOW, FaultServer

KINDS = ("GET", "PUT", "DELETE", "POST", "keyed", "verified")
RULES = [
    Rule("POST /*/keyed", dedupes=True),
    Rule("POST /*/verified", verify=verify.found("?ref={json.ref}")),
]
# A slow machine must not see with its first look what comes before the second.
LATE = 0.9
PATIENT = replace(POLICY, settle=1.3)
CELLS = [(fault, kind) for fault in FAULTS for kind in KINDS]


@pytest.fixture
def server() -> Iterator[FaultServer]:
    server = FaultServer()
    yield server
    server.close()


def call_of(server: FaultServer, fault: str, kind: str) -> tuple[str, str, dict[str, Any]]:
    method = "POST" if kind in ("keyed", "verified") else kind
    body = {} if method in ("GET", "DELETE") else {"json": {"ref": f"{fault}-{kind}"}}
    return method, f"{server.url}/{fault}/{kind}", body


def actions_of(x: Any) -> tuple[Any, ...]:
    """What was done and how it ended, without ports, times and keys."""
    found = outcome(x)
    assert found is not None
    facts = found.facts
    trail = [(a["kind"], a["evidence"].split(":")[0], a["status"]) for a in facts["attempts"]]
    sign = (facts["sign"] or "").split(":")[0]
    status = getattr(x, "status_code", None)
    return trail, facts["state"], facts["class"], sign, facts["stop"], status


def play(driver: str) -> tuple[dict[tuple[str, str], tuple[Any, ...]], dict[Any, tuple[int, int]]]:
    MEMORY.clear()
    server = FaultServer(late=LATE)
    try:
        calls = [call_of(server, *cell) for cell in CELLS]
        ends = run_calls(driver, calls, rules=RULES, policy=PATIENT, timeout=0.3)
        time.sleep(SLOW + LATE)  # every late booking has happened
        counts = {}
        for fault, kind in CELLS:
            path = f"/{fault}/{kind}"
            method = "POST" if kind in ("keyed", "verified") else kind
            counts[fault, kind] = (server.count(path, method), len(server.book[path]))
    finally:
        server.close()
    return {cell: actions_of(end) for cell, end in zip(CELLS, ends, strict=True)}, counts


@pytest.fixture(scope="module")
def reference() -> Any:
    return play(DRIVERS[0])


@pytest.mark.parametrize("driver", DRIVERS[1:])
def test_every_driver_takes_the_same_actions(driver: str, reference: Any) -> None:
    actions, counts = play(driver)
    for cell in CELLS:
        assert actions[cell] == reference[0][cell], cell
        assert counts[cell] == reference[1][cell], cell


@pytest.mark.parametrize(("fault", "kind"), CELLS)
def test_no_cell_duplicates_or_claims_what_is_not_so(reference: Any, fault: str, kind: str) -> None:
    _trail, state, _class, _sign, _stop, _status = reference[0][fault, kind]
    sends, effects = reference[1][fault, kind]
    assert 1 <= sends <= 3
    if kind in ("POST", "verified"):
        assert effects <= 1, "booked twice"
    if kind in ("POST", "verified", "keyed"):
        assert not (state == "done" and effects == 0), "a false done"
        assert not (state == "failed" and effects > 0), "a false failed"
    if kind == "verified" and fault != "conflict":
        assert state == "done"
        assert effects == 1
    if kind in ("GET", "PUT") and fault != "conflict":
        assert state == "done"


def test_a_write_of_unknown_outcome_is_sent_once_without_evidence(reference: Any) -> None:
    for fault in ("503", "cut_after", "cut_before", "timeout", "late", "502late"):
        _trail, state, failure, _sign, stop, _status = reference[0][fault, "POST"]
        assert (state, failure, stop) == ("unknown", "unknown_outcome", "no_evidence"), fault
        assert reference[1][fault, "POST"][0] == 1
        assert reference[1][fault, "keyed"][0] == 2


def test_what_was_refused_is_sent_again_without_evidence(reference: Any) -> None:
    for kind in KINDS:
        assert reference[0]["429", kind][1] == "done"
        assert reference[1]["429", kind][0] == 2
