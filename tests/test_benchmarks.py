"""The benchmarks run and write what they measured. No timing is judged here, but what becomes of
orders is."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
COLUMNS = ("once", "twice_or_more", "lost", "false_claims", "said_unknown")


def run(name: str, *args: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a benchmark quickly."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / name, "--quick", *args],
        check=False,
        capture_output=True,
        text=True,
        env=env,
        timeout=50,
    )


def test_the_hot_path_is_measured(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    done = run("hot_path.py", "--json", target)
    assert done.returncode == 0, done.stderr
    told = json.loads(target.read_text())
    assert told["machine"]["versions"]["httpx"]
    rows = {(row["kind"], row["library"], row["case"], row["who"]) for row in told["rows"]}
    for colour, library in (("sync", "httpx"), ("async", "httpx"), ("sync", "requests")):
        for place in ("in memory", "loopback"):
            for case in ("GET", "PUT", "POST without key", "POST with key"):
                for who in ("bare", "httpx_recover"):
                    assert (f"{colour}, {place}", library, case, who) in rows
        assert (f"{colour}, in memory", library, "GET in a named task", "httpx_recover") in rows
    for colour in ("sync", "async"):
        assert (f"{colour}, in memory", "httpx2", "GET", "httpx_recover") in rows
    assert ("sync, loopback", "requests", "GET", "urllib3 Retry") in rows


def test_the_first_byte_is_measured(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    done = run("first_byte.py", "--json", target)
    assert done.returncode == 0, done.stderr
    told = json.loads(target.read_text())
    assert (told["bar_ms"], told["megabytes"]) == (5.0, 2)
    rows = {(row["library"], row["colour"], row["way"]): row for row in told["rows"]}
    kinds = [("requests", "sync")]
    kinds += [(name, colour) for name in ("httpx", "httpx2") for colour in ("sync", "async")]
    assert set(rows) == {(*kind, way) for kind in kinds for way in ("bare", "httpx_recover")}
    for row in rows.values():
        assert 0 < row["first_byte_best_ms"] <= row["first_byte_median_ms"]
        assert row["within_bar"] is (row["first_byte_added_ms"] <= told["bar_ms"])
        assert row["megabytes_per_second"] > 0
        if row["way"] == "bare":
            assert (row["first_byte_added_ms"], row["throughput_ratio"]) == (0, 1)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The rows of a quick run, by their names; its plot is drawn where it can be."""
    folder = tmp_path_factory.mktemp("duplicates")
    done = run("duplicates.py", "--json", folder / "out.json", "--plot", folder / "out.svg")
    assert done.returncode in (0, 1), done.stderr  # 1 is for the rows to explain
    told = json.loads((folder / "out.json").read_text())
    assert told["machine"]["versions"]["requests"]
    if find_spec("matplotlib"):
        assert "tenacity" in (folder / "out.svg").read_text()
    else:
        assert "matplotlib is not installed: no plot" in done.stdout
    rows = {row["way"]: row for row in told["rows"]}
    assert done.returncode == any(row["wrong"] for row in rows.values() if row["ours"])
    return rows


def figures(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[column] for column in COLUMNS)


def test_every_order_is_counted_once(counted: dict[str, dict[str, Any]]) -> None:
    for row in counted.values():
        assert row["once"] + row["twice_or_more"] + row["lost"] == row["orders"] == 20


@pytest.mark.parametrize("library", ["httpx", "requests"])
def test_ours_books_nothing_twice_and_claims_nothing_false(
    counted: dict[str, dict[str, Any]], library: str
) -> None:
    ours = f"httpx_recover, {library}"
    assert figures(counted[f"{ours}, trusted key"]) == (20, 0, 0, 0, 0)
    assert figures(counted[f"{ours}, verifier"]) == (20, 0, 0, 0, 0)
    assert figures(counted[f"{ours}, no evidence"]) == (18, 0, 2, 0, 7)


def test_the_others_show_that_the_counting_can_fail(counted: dict[str, dict[str, Any]]) -> None:
    for bare in ("bare httpx", "bare requests", "urllib3 Retry(3)"):
        assert figures(counted[bare]) == (17, 0, 3, 6, 0)
    for blind in ("tenacity", "urllib3 Retry(3), all methods"):
        assert counted[blind]["twice_or_more"] > 0


def test_a_wrong_row_of_ours_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    complain = importlib.import_module("duplicates").complain
    row = {"way": "a way", "ours": True, "wrong": {"CUT_AFTER": 1}}
    assert complain([row]) == 1
    assert "a way went wrong: {'CUT_AFTER': 1}" in capsys.readouterr().err
    assert complain([row | {"ours": False}, row | {"wrong": {}}]) == 0


@pytest.mark.parametrize(
    ("belief", "copies", "false"),
    [
        ("done", 0, True),
        ("done", 1, False),
        ("done", 2, False),
        ("failed", 0, False),
        ("failed", 1, True),
        ("unknown", 0, False),
        ("unknown", 1, False),
    ],
)
def test_what_a_false_claim_is(
    monkeypatch: pytest.MonkeyPatch, belief: str, copies: int, false: bool
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    assert importlib.import_module("duplicates").is_false(belief, copies) is false
