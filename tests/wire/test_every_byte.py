"""Every kind of call, ended in every way at every byte of its exchange.

GET, PUT, DELETE, POST, POST with a key that the server dedupes, and POST with a verifier; over a
connection that is closed, reset or goes silent, and with a server that goes away; after each byte
of the request and of the answer. Judged by the server's own book: nothing is applied twice, nothing
is called done or failed that is not so, and nothing is unknown that could have been found out.

`--every-driver` runs all seven drivers, and leaves no byte out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from httpx_recover import Rule, Verdict, _drive
from tests.drivers import DRIVERS
from tests.tls import Authority
from tests.wire.cells import ALWAYS, ANSWER, CONTENT, HEAD, KINDS, RAN, Cell, Column, columns
from tests.wire.grid import Moments, play

# httpx and httpx2 leave the body of a request that could not be sent whole, and trio says so.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'httpx:ResourceWarning")

README = Path(__file__).parent.parent.parent / "README.md"
LEFT: set[Column] = set()  # columns of this run that are still to come


def is_full(config: pytest.Config) -> bool:
    return bool(config.getoption("--every-driver"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "column" in metafunc.fixturenames:
        full = is_full(metafunc.config)
        found = [each for driver in DRIVERS for each in columns(driver, full=full)]
        LEFT.update(found)
        metafunc.parametrize("column", found, ids=str)


@pytest.fixture(autouse=True)
def moments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpx_recover._drive.clock", Moments())


def test_every_byte(column: Column, authority: Authority) -> None:
    tls = {"tls": authority.good, "trusted": authority.bundle} if column.tls else {}
    played = play(column.driver, column.cells(), **tls)  # type: ignore[arg-type] # by their names
    assert played.broken == []
    assert sorted(played.cells) == sorted(column.cells())
    RAN[column.driver] += len(played.cells)
    LEFT.discard(column)


# ---------------------------------------------------------------------- is it so that this can fail


def lies(verdict: Verdict) -> Any:
    return lambda read, call: verdict


@pytest.mark.parametrize(
    ("kind", "rule", "broken"),
    [
        ("POST", Rule(idempotent=True), "booked 2 times"),
        ("verified", Rule(verify=lies(Verdict.ABSENT)), "booked 2 times"),
        ("verified", Rule(verify=lies(Verdict.LANDED)), "a false done"),
        ("verified", Rule(attempts=1), "unknown, not {'done'}"),
        ("keyed", Rule(), "unknown, not {'done'}"),
        ("GET", Rule(attempts=1), "failed, not {'done'}"),
        ("PUT", Rule(idempotent=False), "unknown, not {'done'}"),
    ],
)
@pytest.mark.parametrize("driver", ALWAYS)
def test_a_promise_that_is_broken_is_seen(driver: str, kind: str, rule: Rule, broken: str) -> None:
    """With a rule that lies, or without the evidence, the same cells fail."""
    cells = [Cell(kind, "cut", HEAD, 20), Cell(kind, "cut", ANSWER, 0)]
    played = play(driver, cells, rules={kind: [rule]})
    assert broken in [each for _, said in played.broken for each in said]


def test_a_call_that_nothing_happens_to_breaks_nothing() -> None:
    for kind in KINDS:
        whole = Column(ALWAYS[0], "cut", kind, "once", 1).cells()[-1]
        assert whole.stage == CONTENT
        assert play(ALWAYS[0], [whole]).broken == []


# ---------------------------------------------------------------------- how many there are


def told() -> dict[str, list[str]]:
    """The rows of README's table."""
    section = README.read_text().partition("## How it is tested")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", section, flags=re.MULTILINE)
    return {driver: counts for driver, *counts in rows if driver in DRIVERS}


def in_words(driver: str, *, full: bool) -> str:
    count = sum(len(each.cells()) for each in columns(driver, full=full))
    return f"{count:,}" if count else "-"


def test_the_readme_says_how_many_cells_there_are() -> None:
    counted = {
        driver: [in_words(driver, full=full) for full in (False, True)] for driver in DRIVERS
    }
    assert told() == counted


def test_as_many_cells_ran_as_the_readme_says(request: pytest.FixtureRequest) -> None:
    full = is_full(request.config)
    for driver in DRIVERS:
        if driver not in {column.driver for column in LEFT} and columns(driver, full=full):
            assert f"{RAN[driver]:,}" == told()[driver][full]


def test_the_clock_of_the_grid_is_the_library_s(moments: None) -> None:
    assert isinstance(_drive.clock, Moments)
