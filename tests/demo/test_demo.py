"""The demo's three ways against its real server process, and how it counts what they did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO

import httpx
import pytest
from rich.console import Console

from httpx_recover import _demo
from httpx_recover._demo import bookings, order_server, verdict
from httpx_recover._demo._book import WAYS, Belief, Way, belief, orders
from httpx_recover._demo._server import Fault, fault_of
from httpx_recover._demo._show import (
    HEADINGS,
    Plain,
    Rich,
    Tally,
    choose,
    is_wrong,
    notes,
    row,
    tally,
)

BARE, BLIND, RECOVERING = WAYS
BOOKED, FAILED, UNKNOWN = Belief.BOOKED, Belief.FAILED, Belief.UNKNOWN


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with order_server() as url:
        yield url


# What one request, and three blind ones, come to: the belief, and the bookings.
ONE_POST = {
    Fault.NONE: (BOOKED, 1),
    Fault.DOWN: (FAILED, 0),
    Fault.CUT_AFTER: (FAILED, 1),
    Fault.CUT_BEFORE: (FAILED, 0),
    Fault.SLOW: (FAILED, 1),
    Fault.BUSY: (FAILED, 0),
    Fault.HALF: (FAILED, 1),
    Fault.UNIQUE: (FAILED, 1),
    Fault.LATE_SILENT: (FAILED, 1),
    Fault.LATE_502: (FAILED, 1),
}
BLIND_RETRY = {
    Fault.NONE: (BOOKED, 1),
    Fault.DOWN: (BOOKED, 1),
    Fault.CUT_AFTER: (BOOKED, 2),
    Fault.CUT_BEFORE: (BOOKED, 1),
    Fault.SLOW: (BOOKED, 2),
    Fault.BUSY: (FAILED, 0),
    Fault.HALF: (BOOKED, 2),
    Fault.UNIQUE: (FAILED, 1),
    Fault.LATE_SILENT: (BOOKED, 2),
    Fault.LATE_502: (BOOKED, 2),
}
RIGHT = dict.fromkeys(Fault, (BOOKED, 1))


@pytest.mark.parametrize(
    ("way", "expected"),
    [(BARE, ONE_POST), (BLIND, BLIND_RETRY), (RECOVERING, RIGHT)],
    ids=["bare", "blind", "recovering"],
)
def test_each_way_meets_each_failure(
    url: str, way: Way, expected: dict[Fault, tuple[Belief, int]]
) -> None:
    ticks: list[None] = []
    run = way.book(url, orders(20), lambda: ticks.append(None))
    truth = bookings(url, way.path)
    seen = {fault_of(ref): (run.beliefs[ref], truth.get(ref, 0)) for ref in run.beliefs}
    assert seen == expected
    assert len(ticks) == 20


def test_the_recovering_way_reports_all_its_orders_in_five_lines() -> None:
    with order_server() as url:
        report = RECOVERING.book(url, orders(3), lambda: None).report.splitlines()
    assert report[0].startswith("RECOVERY v1 task book 3 orders status done calls ")
    assert report[1].count("POST ") == 3
    assert report[2:] == [
        "RECOVERY v1 failed: none",
        "RECOVERY v1 unknown: none",
        "RECOVERY v1 next: none",
    ]


def test_only_the_recovering_way_writes_a_report(url: str) -> None:
    assert BARE.book(url, orders(0), lambda: None).report == ""


def test_orders_have_refs_of_their_own() -> None:
    refs = [order["ref"] for order in orders(40)]
    assert (refs[0], refs[-1], len(set(refs))) == ("order-001", "order-040", 40)


@pytest.mark.parametrize(
    ("status", "believed"),
    [("done", BOOKED), ("failed", FAILED), ("unknown", UNKNOWN), ("partial", UNKNOWN)],
)
def test_a_belief_is_the_word_of_the_report(status: str, believed: Belief) -> None:
    assert belief(status) is believed


@pytest.mark.parametrize(
    ("believed", "count", "wrong"),
    [
        (BOOKED, 0, True),
        (BOOKED, 1, False),
        (BOOKED, 2, True),
        (FAILED, 0, False),
        (FAILED, 1, True),
        (FAILED, 2, True),
        (UNKNOWN, 0, False),
        (UNKNOWN, 1, False),
        (UNKNOWN, 2, False),
    ],
)
def test_who_is_wrong(believed: Belief, count: int, wrong: bool) -> None:
    assert is_wrong(believed, count) is wrong


def test_every_order_is_counted_once_by_its_bookings_and_again_by_what_was_said_of_it() -> None:
    beliefs = {"a": BOOKED, "b": BOOKED, "c": FAILED, "d": FAILED, "e": UNKNOWN, "f": UNKNOWN}
    counted = tally(beliefs, {"a": 1, "b": 2, "c": 1, "e": 3})
    assert counted == Tally(
        once=("a", "c"), twice=("b", "e"), lost=("d", "f"), wrong=("b", "c"), unknown=("e", "f")
    )
    assert row("some way", counted) == ("some way", "2", "2", "2", "2", "2")


@pytest.mark.parametrize(
    ("believed", "count", "complaint"),
    [
        (BOOKED, 1, ""),
        (FAILED, 0, ""),
        (UNKNOWN, 0, ""),
        (UNKNOWN, 1, ""),
        (UNKNOWN, 2, "booked twice: order-7"),
        (BOOKED, 0, "a false claim: order-7"),
        (FAILED, 1, "a false claim: order-7"),
        (BOOKED, 2, "booked twice: order-7; a false claim: order-7"),
    ],
)
def test_a_duplicate_or_a_false_claim_fails_the_demo_and_names_the_order(
    believed: Belief, count: int, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = verdict(tally({"order-7": believed}, {"order-7": count}).complaint())
    assert code == (1 if complaint else 0)
    line = f"httpx_recover went wrong, {complaint}\n" if complaint else ""
    assert capsys.readouterr().err == line


def test_a_complaint_names_every_order() -> None:
    counted = tally({"a": BOOKED, "b": BOOKED}, {"a": 2, "b": 3})
    assert counted.complaint() == "booked twice: a, b; a false claim: a, b"


def test_notes_explain_each_row_and_what_wrong_means() -> None:
    lines = notes({"one": "posts", "three": "reads"})
    assert lines[:2] == ["one:   posts", "three: reads"]
    assert lines[2].startswith("client was wrong: ")


def test_plain_text_lines_up_under_its_headings() -> None:
    out = StringIO()
    Plain(out).table([("bare", "10", "0", "3", "7", "0"), ("longer name", "9", "1", "0", "0", "2")])
    assert out.getvalue().splitlines() == [
        "             booked once  booked twice  lost  client was wrong  said unknown",
        "bare                  10             0     3                 7             0",
        "longer name            9             1     0                 0             2",
    ]


def test_plain_progress_is_a_line_at_the_start_and_one_at_the_end() -> None:
    out = StringIO()
    with Plain(out).way("bare", 40) as tick:
        tick()
        assert out.getvalue() == "bare: booking 40 orders\n"
    assert out.getvalue().splitlines()[1] == "bare: finished after 0.0 s"


def test_on_a_terminal_a_bar_counts_the_orders_and_the_table_is_drawn() -> None:
    out = StringIO()
    show = Rich(Console(file=out, force_terminal=True, width=100, color_system=None))
    with show.way("bare", 3) as tick:
        tick()
        tick()
    assert "2/3" in out.getvalue()
    show.table([("bare", "10", "0", "3", "7", "0")])
    assert all(heading in out.getvalue() for heading in HEADINGS)
    assert "│ bare │" in out.getvalue()


def test_text_is_shown_as_it_is_on_a_terminal() -> None:
    out = StringIO()
    text = "a long line [bold]that is not markup[/bold] " + "x" * 100
    Rich(Console(file=out, force_terminal=True, width=40)).say(text)
    assert out.getvalue() == text + "\n"


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_rich_is_used_only_where_it_can_be_and_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(choose(False, Terminal()), Rich)
    assert isinstance(choose(True, Terminal()), Plain)
    assert isinstance(choose(False, StringIO()), Plain)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert isinstance(choose(False, Terminal()), Plain)


def test_the_server_is_gone_when_its_block_is_left_by_an_error() -> None:
    with pytest.raises(ZeroDivisionError), order_server() as url:
        assert httpx.get(f"{url}/x/book", trust_env=False).is_success
        raise ZeroDivisionError
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/x/book", trust_env=False)


def test_a_server_that_does_not_start_is_said_to_have_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_demo, "_SERVER", (sys.executable, "-c", ""))
    with pytest.raises(RuntimeError, match="did not start"), order_server():
        pass


# SIGINT may be ignored where the tests run in the background, and a child would inherit that.
WHOLE = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from httpx_recover._cli import main
code = main(["demo", "--plain", "--orders", sys.argv[1]])
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child left")
sys.exit(code)
"""


def whole_demo(count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WHOLE, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


posix = pytest.mark.skipif(os.name != "posix", reason="waits for children as POSIX does")


@posix
def test_the_whole_demo_ends_well_and_leaves_no_process() -> None:
    out, err = whole_demo(6).communicate(timeout=60)
    lines = out.splitlines()
    assert err == ""
    assert lines[-1] == "no child left"
    assert [line.split() for line in lines if line.startswith("httpx_recover  ")] == [
        ["httpx_recover", "6", "0", "0", "0", "0"]
    ]
    assert [line.split(":")[0] for line in lines[-6:-1]][1:] == [
        "RECOVERY v1 done",
        "RECOVERY v1 failed",
        "RECOVERY v1 unknown",
        "RECOVERY v1 next",
    ]


@posix
def test_ctrl_c_stops_the_demo_and_leaves_no_process() -> None:
    with whole_demo(40) as process:
        assert process.stdout
        assert process.stderr
        while not process.stdout.readline().startswith("bare httpx: booking"):
            assert process.poll() is None
        assert interrupted(process) == 130
        assert process.stdout.read().splitlines()[-1] == "no child left"
        assert process.stderr.read().endswith("stopped\n")


def interrupted(process: subprocess.Popen[str]) -> int:
    """Press Ctrl-C, again if it got lost: Python drops one that arrives within a finalizer."""
    process.send_signal(signal.SIGINT)
    try:
        return process.wait(12)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.wait(12)
