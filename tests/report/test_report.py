"""A report says what is done and how that was seen, what failed, what is unknown, what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpx_recover._report import Report
from httpx_recover._words import FailureClass

CLASSES = [str(each) for each in FailureClass]
LOOPS = ["repeated_call", "repeated_error", "unchanged_state", "undo", "corrections"]


def action(n: int, name: str = "POST h.example/a", **facts: Any) -> dict[str, Any]:
    """The facts of one action: done by an answer unless said otherwise."""
    method, _, place = name.partition(" ")
    sends = facts.get("sends", 1)
    return {
        "n": n,
        "kind": "read" if method == "GET" else "write",
        "method": None if method == "tool" else method,
        "target": place,
        "label": None,
        "task": "t",
        "state": "done",
        "class": "ok",
        "cause": None,
        "code": None,
        "sign": "answer 201",
        "stop": None,
        "note": None,
        "absent_by": None,
        "sends": sends,
        "wait": None,
        "retry_at": None,
        "key": None,
        "superseded_by": None,
        "items": None,
        "attempts": [{"kind": "send"}] * sends,
    } | facts


def lost(n: int, name: str, failure: str, cause: str | None, **facts: Any) -> dict[str, Any]:
    """The facts of one action that failed, unless its state says otherwise."""
    fixed = {"class": failure, "cause": cause, "sign": None}
    return action(n, name, **{"state": "failed", **fixed, **facts})


def item(ident: Any, failure: str = "ok", cause: str | None = None, **facts: Any) -> dict[str, Any]:
    state = "done" if failure == "ok" else "failed"
    return {
        "id": ident,
        "state": state,
        "class": failure,
        "cause": cause,
        "code": None,
        "sends": 1,
        "stop": None,
        "wait": None,
        "retry_at": None,
    } | facts


def batch(n: int, *items: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    return action(
        n, "POST h.example/b", **{"class": "partial", "sign": "answer 207", "items": items, **facts}
    )


def report(*actions: Mapping[str, Any], name: str = "t", aborted: str | None = None) -> Report:
    return Report.from_actions(name, actions, elapsed=1.0, aborted=aborted)


def step(*actions: Mapping[str, Any]) -> str:
    return report(*actions).next


def check(text: str, name: str, actions: Sequence[Mapping[str, Any]], elapsed: float) -> None:
    made = Report.from_actions(name, actions, elapsed=elapsed)
    assert str(made) == text
    assert str(Report.parse(text)) == text
    assert Report.from_dict(json.loads(json.dumps(made.to_dict()))) == made


# The examples of the report's definition.


def test_example_1_a_write_by_its_answer_and_two_reads() -> None:
    text = """\
RECOVERY v1 task import invoices status done calls 3 elapsed 0.4s
RECOVERY v1 done: POST api.example.com/invoices #2 (inv-7) verified by answer 201; 2 reads ok
RECOVERY v1 failed: none
RECOVERY v1 unknown: none
RECOVERY v1 next: none"""
    facts = [
        action(1, "GET api.example.com/invoices", sign="answer 200"),
        action(2, "POST api.example.com/invoices", label="inv-7"),
        action(3, "GET api.example.com/invoices/7", sign="answer 200"),
    ]
    check(text, "import invoices", [each | {"task": "import invoices"} for each in facts], 0.4)


def test_example_2_a_lost_answer_found_by_a_read() -> None:
    text = """\
RECOVERY v1 task book order status done calls 2 elapsed 6.3s
RECOVERY v1 done: POST api.example.com/orders #1 verified by read GET api.example.com/orders
RECOVERY v1 failed: none
RECOVERY v1 unknown: none
RECOVERY v1 next: none"""
    found = action(
        1,
        "POST api.example.com/orders",
        task="book order",
        sign="read GET api.example.com/orders",
        attempts=[{"kind": "send"}, {"kind": "verify"}],
    )
    check(text, "book order", [found], 6.3)


def test_example_3_a_batch_item_by_item() -> None:
    text = """\
RECOVERY v1 task nightly batch status partial calls 5 elapsed 1.2s
RECOVERY v1 done: 7/10 items of POST api.example.com/orders/batch #1 verified by read \
GET api.example.com/orders
RECOVERY v1 failed: item inv-4 of POST api.example.com/orders/batch #1 bad_input \
422/INVALID_DATE after 1 send stopped by final; \
item inv-8 of POST api.example.com/orders/batch #1 rate_limit 429 after 1 send \
stopped by wait_too_long; item inv-9 of POST api.example.com/orders/batch #1 missing
RECOVERY v1 unknown: none
RECOVERY v1 next: wait until 2026-12-01T06:10:00Z, then redo items inv-8 and inv-9 of \
POST api.example.com/orders/batch #1"""
    items = [item(f"inv-{number}") for number in range(10)]
    items[4] = item("inv-4", "bad_input", "422", code="INVALID_DATE", stop="final")
    items[8] = item(
        "inv-8", "rate_limit", "429", stop="wait_too_long", retry_at="2026-12-01T06:10:00Z"
    )
    items[9] = item("inv-9", "missing", sends=0)
    facts = action(
        1,
        "POST api.example.com/orders/batch",
        **{"class": "partial", "task": "nightly batch", "items": items},
        sign="read GET api.example.com/orders",
        attempts=[{"kind": "send"}] * 4 + [{"kind": "verify"}],
    )
    check(text, "nightly batch", [facts], 1.2)


def test_example_4_an_expired_credential() -> None:
    text = """\
RECOVERY v1 task sync customers status failed calls 1 elapsed 0.2s
RECOVERY v1 done: none
RECOVERY v1 failed: GET api.example.com/customers #1 auth 401/KEY_EXPIRED after 1 send \
stopped by final
RECOVERY v1 unknown: none
RECOVERY v1 next: renew the credential for api.example.com, then run the task again"""
    place = "GET api.example.com/customers"
    facts = lost(1, place, "auth", "401", code="KEY_EXPIRED", stop="final", task="sync customers")
    check(text, "sync customers", [facts], 0.2)


def test_example_5_a_charge_that_nothing_proves() -> None:
    text = """\
RECOVERY v1 task charge card status unknown calls 1 elapsed 5.0s
RECOVERY v1 done: none
RECOVERY v1 failed: none
RECOVERY v1 unknown: POST api.example.com/charges #1 unknown_outcome ReadTimeout after 1 send \
stopped by no_evidence
RECOVERY v1 next: read the state of api.example.com/charges and send #1 again only if it is \
not there"""
    facts = lost(
        1,
        "POST api.example.com/charges",
        "unknown_outcome",
        "ReadTimeout",
        state="unknown",
        stop="no_evidence",
        task="charge card",
    )
    check(text, "charge card", [facts], 5.0)


def test_example_6_the_same_error_twice() -> None:
    text = """\
RECOVERY v1 task agent turn 12 status failed calls 2 elapsed 3.1s
RECOVERY v1 done: none
RECOVERY v1 failed: POST api.example.com/moves #1 bad_input 422/ILLEGAL_MOVE after 2 sends \
stopped by repeated_error
RECOVERY v1 unknown: none
RECOVERY v1 next: change the arguments of POST api.example.com/moves #1, the same call failed \
twice with ILLEGAL_MOVE"""
    facts = lost(
        1,
        "POST api.example.com/moves",
        "bad_input",
        "422",
        code="ILLEGAL_MOVE",
        stop="repeated_error",
        sends=2,
        task="agent turn 12",
    )
    check(text, "agent turn 12", [facts], 3.1)


def match() -> list[dict[str, Any]]:
    tools = [
        action(2, "tool arena_act", sign="duplicate", sends=2),
        action(3, "tool arena_lobby_say", sign="read tool arena_lobby_read"),
    ]
    orders = [action(n, "POST h.example:8080/orders") for n in range(4, 41)]
    gone = "gone now but not proven to be ours"
    delete = action(41, "DELETE h.example/orders/7", sign="answer 404", sends=2, note=gone)
    failed = [
        lost(44, "POST h.example/x", "transient", "ConnectError", sends=3, stop="attempts"),
        lost(
            45,
            "POST h.example/x",
            "unknown_outcome",
            "503",
            sends=3,
            absent_by="GET h.example/x",
            stop="attempts",
        ),
    ]
    mail = lost(46, "POST mail.example/send", "accepted", "202", state="unknown")
    reads = [action(n, "GET h.example/x", sign="answer 200") for n in range(47, 889)]
    return [*tools, *orders, delete, *failed, mail, *reads]


def test_example_7_tools_groups_and_an_unverified_202() -> None:
    text = """\
RECOVERY v1 task match 7 status unknown calls 891 elapsed 31.0s
RECOVERY v1 done: tool arena_act #2 verified by duplicate after 2 sends; \
tool arena_lobby_say #3 verified by read tool arena_lobby_read; \
POST h.example:8080/orders x37 verified by answer 201; \
DELETE h.example/orders/7 #41 verified by answer 404 after 2 sends, \
gone now but not proven to be ours; 842 reads ok
RECOVERY v1 failed: POST h.example/x #44 transient ConnectError after 3 sends stopped by attempts; \
POST h.example/x #45 unknown_outcome 503 after 3 sends absent by read GET h.example/x \
stopped by attempts
RECOVERY v1 unknown: POST mail.example/send #46 accepted 202 after 1 send
RECOVERY v1 next: read the state of mail.example/send and send #46 again only if it is not there"""
    check(text, "match 7", [each | {"task": "match 7"} for each in match()], 31.0)


# Which list.


def test_a_failure_that_a_later_equal_call_made_good_counts_but_is_not_listed() -> None:
    first = lost(1, "POST h.example/a", "bad_input", "422", superseded_by=2)
    made = report(first, action(2))
    assert (made.status, made.calls, made.failed) == ("done", 2, ())
    assert made.done == ("POST h.example/a #2 verified by answer 201",)
    assert made.to_dict()["actions"] == [first, action(2)]


def test_a_write_that_claims_to_be_done_without_a_sign_is_unknown() -> None:
    made = report(action(1, sign=None))
    assert made.status == "unknown"
    assert made.unknown == ("POST h.example/a #1 ok after 1 send",)


def test_items_that_claim_to_be_done_without_a_sign_are_unknown() -> None:
    made = report(batch(1, item("a"), item("b", "missing"), sign=None))
    assert made.done == ()
    assert made.unknown == ("item a of POST h.example/b #1 ok after 1 send",)
    assert made.failed == ("item b of POST h.example/b #1 missing",)


def test_a_read_that_needed_recovery_is_an_entry_of_its_own() -> None:
    made = report(
        action(1, "GET h.example/a", sign="answer 200"),
        action(2, "GET h.example/a", sign="answer 200", sends=2),
        action(3, "GET h.example/a", sign=None, sends=2),
    )
    assert made.done == (
        "GET h.example/a #2 verified by answer 200 after 2 sends",
        "2 reads ok",
    )


def test_one_read_is_a_read() -> None:
    assert report(action(1, "GET h.example/a", sign="answer 200")).done == ("1 read ok",)


def test_writes_come_first_then_items_then_reads() -> None:
    made = report(
        lost(1, "GET h.example/a", "transient", "503"),
        batch(2, item("z", "missing"), item("y", "transient", "503"), item("x")),
        lost(4, "POST h.example/a", "transient", "ConnectError"),
        action(3, "GET h.example/a", sends=2, sign="answer 200"),
        action(5),
        batch(6, item("w", "missing"), item("v")),
    )
    assert [re.sub("^item ", "", entry)[:6] for entry in made.failed] == [
        "POST h",
        "z of P",
        "y of P",
        "w of P",
        "GET h.",
    ]
    assert made.done == (
        "1/3 items of POST h.example/b #2 verified by answer 207",
        "POST h.example/a #5 verified by answer 201",
        "1/2 items of POST h.example/b #6 verified by answer 207",
        "GET h.example/a #3 verified by answer 200 after 2 sends",
    )


def test_a_batch_of_reads_is_listed_with_the_reads() -> None:
    many = action(1, "GET h.example/b", sign="answer 200", items=[item("a"), item("b")])
    assert report(many, action(2)).done == (
        "POST h.example/a #2 verified by answer 201",
        "2/2 items of GET h.example/b #1 verified by answer 200",
    )


def test_items_need_no_more_facts_than_their_end() -> None:
    short = {"id": 7, "state": "failed", "class": "missing"}
    plain = {"id": 8, "state": "failed", "class": "transient"}
    made = report(batch(1, short, plain))
    assert made.failed == (
        "item 7 of POST h.example/b #1 missing",
        "item 8 of POST h.example/b #1 transient after 0 sends",
    )


def test_an_action_with_an_empty_list_of_items_is_a_plain_action() -> None:
    assert report(batch(1)).done == ("POST h.example/b #1 verified by answer 207",)


# Labels.


def test_the_name_of_an_inner_task_labels_what_has_no_label() -> None:
    inner = action(1, task="inv-7")
    assert report(inner, name="import").done[0].startswith("POST h.example/a #1 (inv-7) verified")
    own = action(1, task="inv-7", label="mine")
    assert report(own, name="import").done[0].startswith("POST h.example/a #1 (mine) verified")


@pytest.mark.parametrize("task", ["import\nall", "", None])
def test_what_belongs_to_the_task_itself_has_no_label(task: str | None) -> None:
    made = report(action(1, task=task), name="import all")
    assert made.done == ("POST h.example/a #1 verified by answer 201",)


def test_the_report_of_a_lone_call_has_no_label() -> None:
    made = report(action(1, task="import"), name="-")
    assert made.done == ("POST h.example/a #1 verified by answer 201",)


# Grouping.


def test_three_alike_stand_one_by_one_and_four_are_a_group() -> None:
    three = [action(n, label=f"inv-{n}") for n in (1, 2, 3)]
    assert len(report(*three).done) == 3
    made = report(*three, action(4))
    assert made.done == ("POST h.example/a x4 verified by answer 201",)


def test_a_group_stands_where_its_first_stood_and_holds_only_what_is_alike() -> None:
    same = [action(n) for n in (2, 4, 6, 8)]
    made = report(
        action(1, "PUT h.example/a"),
        *same,
        action(3, sends=2),
        action(5, sign="replay 201"),
        action(7, note="the body of the answer was lost"),
    )
    assert made.done == (
        "PUT h.example/a #1 verified by answer 201",
        "POST h.example/a x4 verified by answer 201",
        "POST h.example/a #3 verified by answer 201 after 2 sends",
        "POST h.example/a #5 verified by replay 201",
        "POST h.example/a #7 verified by answer 201, the body of the answer was lost",
    )


def test_reads_and_failures_are_never_grouped() -> None:
    reads = [action(n, "GET h.example/a", sign="answer 200", sends=2) for n in range(1, 6)]
    writes = [lost(n, "POST h.example/a", "transient", "ConnectError") for n in range(6, 11)]
    made = report(*reads, *writes)
    assert len(made.done) == len(made.failed) == 5


# Cutting.


def line(made: Report, title: str) -> str:
    start = f"RECOVERY v1 {title}: "
    return next(each for each in str(made).split("\n") if each.startswith(start))


@given(st.integers(1, 400), st.integers(0, 110))
def test_a_line_is_cut_to_whole_entries_and_no_more_than_needed(count: int, longer: int) -> None:
    name = "POST h.example/" + "a" * longer
    made = report(*(lost(n, name, "transient", "ConnectError") for n in range(1, count + 1)))
    shown = line(made, "failed").removeprefix("RECOVERY v1 failed: ").split("; ")
    whole = len("RECOVERY v1 failed: " + "; ".join(made.failed))
    assert len(made.failed) == count
    if whole <= 1000:
        assert tuple(shown) == made.failed
        return
    assert tuple(shown[:-1]) == made.failed[: len(shown) - 1]
    assert shown[-1] == f"and {count - len(shown) + 1} more"
    wider = [*made.failed[: len(shown)], f"and {count - len(shown)} more"]
    assert len(line(made, "failed")) <= 1000 < len("RECOVERY v1 failed: " + "; ".join(wider))


def test_a_line_of_exactly_1000_characters_is_not_cut() -> None:
    fixed: dict[str, Any] = {
        "status": "failed",
        "calls": 2,
        "elapsed": 0.0,
        "done": (),
        "unknown": (),
    }
    room = 1000 - len("RECOVERY v1 failed: ") - len("; ")
    entries = ["a" * 500, "b" * (room - 500)]
    full = Report(name="t", failed=entries, next="none", **fixed)
    assert len(line(full, "failed")) == 1000
    assert line(full, "failed").endswith("b")
    over = Report(name="t", failed=[entries[0], entries[1] + "b"], next="none", **fixed)
    assert line(over, "failed").endswith("a; and 1 more")


def test_a_cut_line_may_have_exactly_1000_characters() -> None:
    fixed: dict[str, Any] = {"status": "failed", "calls": 9, "elapsed": 0.0, "done": ()}
    room = 1000 - len("RECOVERY v1 failed: ") - len("; and 9 more")
    entries = ["a" * 400, "b" * (room - 402), *("c" * 90,) * 9]
    cut = Report(name="t", failed=entries, unknown=(), next="none", **fixed)
    assert len(line(cut, "failed")) == 1000
    assert line(cut, "failed").endswith("b; and 9 more")


def test_the_longest_entry_fits_into_its_line() -> None:
    long = "x" * 2000
    worst = lost(
        10**9,
        "POST h.example/" + long,
        "unknown_outcome",
        long,
        label=long,
        code="c" * 40,
        absent_by=long,
        stop=long,
        note=long,
        sends=1000,
        method=long,
        attempts=[],
    )
    made = report(worst, worst | {"n": 1}, worst | {"items": [item(long, "transient", long)]})
    assert line(made, "failed").endswith("; and 2 more")
    assert len(line(made, "failed")) <= 1000
    assert len(line(made, "next")) <= 1000
    assert str(Report.parse(str(made))) == str(made)


def test_names_from_outside_are_cut() -> None:
    assert report(action(1, method="M" * 21)).done[0].startswith("M" * 20 + " h.example/a #1")
    assert report(aborted="E" * 81).failed == ("task block aborted " + "E" * 80,)


# Sends, causes, codes.


@pytest.mark.parametrize(("sends", "told"), [(0, "0 sends"), (1, "1 send"), (3, "3 sends")])
def test_a_failure_always_tells_its_sends(sends: int, told: str) -> None:
    made = report(lost(1, "POST h.example/a", "transient", "ConnectError", sends=sends))
    assert made.failed == (f"POST h.example/a #1 transient ConnectError after {told}",)


@pytest.mark.parametrize(
    ("cause", "code", "told"),
    [
        ("422", None, "bad_input 422 after"),
        ("422", "INVALID", "bad_input 422/INVALID after"),
        ("422", "call me; now", "bad_input 422 after"),
        (None, "INVALID", "bad_input after"),
        ("", None, "bad_input after"),
        ("rpc-32602", None, "bad_input rpc-32602 after"),
    ],
)
def test_a_cause_is_told_with_the_code_of_the_api(
    cause: str | None, code: str | None, told: str
) -> None:
    made = report(lost(1, "POST h.example/a", "bad_input", cause, code=code))
    assert made.failed[0].startswith(f"POST h.example/a #1 {told}")


def test_text_from_outside_cannot_pass_for_an_entry() -> None:
    evil = "x; POST bank.example/pay #9 verified by answer 201\nRECOVERY v1 done: none"
    made = report(
        lost(1, f"tool {evil}", "bad_input", "isError", code=evil, label=evil),
        batch(2, item(evil, "missing")),
        name=evil,
    )
    assert len(made.failed) == 2
    again = Report.parse(str(made))
    assert (again.failed, again.done, again.name) == (made.failed, (), made.name)


# Status.

DONE_WRITE = action(1)
FAILED_WRITE = lost(2, "POST h.example/a", "transient", "ConnectError")
UNKNOWN_WRITE = lost(3, "POST h.example/a", "unknown_outcome", "503", state="unknown")
DONE_READ = action(4, "GET h.example/a", sign="answer 200")
FAILED_READ = lost(5, "GET h.example/a", "transient", "503")


@pytest.mark.parametrize(
    ("actions", "status", "aborted"),
    [
        ([], "done", "failed"),
        ([DONE_WRITE], "done", "partial"),
        ([DONE_READ], "done", "partial"),
        ([DONE_WRITE, DONE_READ], "done", "partial"),
        ([UNKNOWN_WRITE], "unknown", "unknown"),
        ([DONE_WRITE, FAILED_WRITE, UNKNOWN_WRITE], "unknown", "unknown"),
        ([DONE_WRITE, FAILED_WRITE], "partial", "partial"),
        ([DONE_WRITE, FAILED_READ], "partial", "partial"),
        ([FAILED_WRITE], "failed", "failed"),
        ([FAILED_WRITE, DONE_READ], "failed", "failed"),
        ([DONE_READ, FAILED_READ], "partial", "partial"),
        ([FAILED_READ], "failed", "failed"),
        ([batch(6, item("a"), item("b"))], "done", "partial"),
        ([batch(6, item("a"), item("b", "missing"))], "partial", "partial"),
        ([batch(6, item("b", "missing"))], "failed", "failed"),
        ([batch(6, item("a"), item("b", "transient", state="unknown"))], "unknown", "unknown"),
        ([DONE_WRITE | {"superseded_by": 9}], "done", "failed"),
    ],
)
def test_the_status_follows_from_the_lists(
    actions: list[dict[str, Any]], status: str, aborted: str
) -> None:
    assert report(*actions).status == status
    left = report(*actions, aborted="ValueError")
    assert left.status == aborted
    assert left.failed[-1] == "task block aborted ValueError"
    assert left.aborted == Report.parse(str(left)).aborted == "ValueError"


def test_no_call_is_done_with_none() -> None:
    assert str(Report.from_actions("\n", [], elapsed=-0.1)) == (
        "RECOVERY v1 task - status done calls 0 elapsed 0.0s\n"
        "RECOVERY v1 done: none\n"
        "RECOVERY v1 failed: none\n"
        "RECOVERY v1 unknown: none\n"
        "RECOVERY v1 next: none"
    )


# The next step.


def test_the_next_step_is_the_first_that_applies() -> None:
    place = "POST h.example/a"
    order = [
        (UNKNOWN_WRITE, "read the state of h.example/a and send #3"),
        (lost(4, place, "auth", "401"), "renew "),
        (lost(5, place, "rate_limit", "429"), "wait "),
        (lost(6, place, "quota", "402"), "raise "),
        (lost(7, place, "bad_input", "422"), "fix the arguments"),
        (lost(8, place, "not_found", "404"), "fix the address"),
        (lost(9, place, "conflict", "409"), "read the state of h.example/a and decide"),
        (batch(10, item("a", "missing")), "redo item a"),
        (FAILED_WRITE, "rerun the task later"),
        (lost(11, place, "transient", "503", stop="repeated_call"), "change the course"),
    ]
    for number, (_, start) in enumerate(order):
        left = [facts for facts, _ in order[number:]]
        assert step(*left).startswith(start)
        assert step(*reversed(left)).startswith(start)


def test_an_aborted_block_is_the_last_thing_to_mend() -> None:
    assert report(DONE_WRITE, aborted="KeyError").next == "rerun the task after mending KeyError"
    assert report(FAILED_WRITE, aborted="KeyError").next.startswith("rerun the task later")


def test_an_unknown_tool_call_is_looked_at_by_its_name() -> None:
    facts = lost(2, "tool arena_act", "unknown_outcome", "ReadTimeout", state="unknown")
    assert step(facts) == (
        "read the state of tool arena_act and send #2 again only if it is not there"
    )


def test_unknown_items_are_redone_only_where_they_are_missing() -> None:
    gone = {"state": "unknown"}
    two = [item("a", "unknown_outcome", **gone), item("b"), item("c", "transient", **gone)]
    assert step(batch(1, *two)) == (
        "read the state of h.example/b and redo items a and c of POST h.example/b #1 "
        "only if they are not there"
    )
    assert step(batch(1, *two[:2])) == (
        "read the state of h.example/b and redo item a of POST h.example/b #1 "
        "only if it is not there"
    )


def test_a_read_in_flight_is_sent_again() -> None:
    facts = lost(3, "GET h.example/a", "unknown_outcome", None, state="unknown")
    assert step(facts) == "resend GET h.example/a #3, its end was not seen"


def test_a_credential_and_a_quota_belong_to_a_host_or_a_tool() -> None:
    place = "POST h.example:8080/a/b"
    assert step(lost(1, place, "auth", "401")) == (
        "renew the credential for h.example:8080, then run the task again"
    )
    assert step(lost(1, place, "quota", "402")) == (
        "raise the quota of h.example:8080, then run the task again"
    )
    assert step(lost(1, "tool act/x", "auth", "isError")) == (
        "renew the credential for tool act/x, then run the task again"
    )


def test_a_rate_limit_is_waited_for_as_long_as_the_server_asked() -> None:
    facts = lost(1, "POST h.example/a", "rate_limit", "429")
    assert step(facts) == "wait a while, then resend POST h.example/a #1"
    assert step(facts | {"retry_at": "2026-12-01T06:10:00Z"}) == (
        "wait until 2026-12-01T06:10:00Z, then resend POST h.example/a #1"
    )


def test_limited_items_wait_for_the_last_of_them() -> None:
    early, late = "2026-12-01T06:10:00Z", "2026-12-01T06:20:00Z"
    items = [
        item("a", "rate_limit", "429", retry_at=early),
        item("b", "bad_input", "422"),
        item("c", "rate_limit", "429", retry_at=late),
        item("d", "transient", "503"),
        item("e", "rate_limit", "429"),
    ]
    assert step(batch(1, *items), batch(2, item("x", "missing"))) == (
        f"wait until {late}, then redo items a, c, d and e of POST h.example/b #1"
    )


def test_bad_input_is_fixed_where_it_is() -> None:
    facts = lost(1, "POST h.example/a", "bad_input", "422", code="INVALID_DATE")
    assert step(facts) == (
        "fix the arguments of POST h.example/a #1 (422/INVALID_DATE), then send it again"
    )
    assert step(batch(1, item("a"), item("b", "bad_input", "422"))) == (
        "fix item b of POST h.example/b #1 (422), then send it again"
    )
    assert step(facts | {"cause": None, "code": None, "stop": "repeated_error"}) == (
        "change the arguments of POST h.example/a #1, the same call failed twice with bad_input"
    )
    tool = lost(4, "tool act", "bad_input", "isError", code="BAD", stop="corrections")
    assert step(tool) == (
        "read the state of tool act, then fix the arguments of tool act #4 (isError/BAD)"
    )


def test_what_was_not_found_has_a_wrong_address_unless_it_has_none() -> None:
    assert step(lost(1, "GET h.example/a", "not_found", "404")) == (
        "fix the address of GET h.example/a #1, it answered 404"
    )
    assert step(lost(1, "tool act", "not_found", "isError", code="MATCH_OVER")) == (
        "fix the arguments of tool act #1 (isError/MATCH_OVER), then send it again"
    )
    assert step(batch(1, item("a", "not_found", "404"))) == (
        "fix item a of POST h.example/b #1 (404), then send it again"
    )


@pytest.mark.parametrize("failure", ["conflict", "in_progress", "already_done"])
def test_a_conflict_is_looked_at(failure: str) -> None:
    assert step(lost(1, "PUT h.example/a/7", failure, "412")) == (
        "read the state of h.example/a/7 and decide, PUT h.example/a/7 #1 was refused with 412"
    )


def test_missing_items_are_redone_with_those_that_were_not_applied() -> None:
    items = [item("a"), item("b", "transient", "503"), item("c", "missing"), item("d", "missing")]
    assert step(batch(1, *items)) == "redo items b, c and d of POST h.example/b #1"
    assert step(batch(1, *items[:2])) == "redo item b of POST h.example/b #1 later"


def test_above_twelve_items_the_rest_is_a_number() -> None:
    twelve = [item(n, "missing") for n in range(12)]
    assert step(batch(1, *twelve)).startswith("redo items 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 11 ")
    assert step(batch(1, *twelve, item(12, "missing"))) == (
        "redo items 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more of POST h.example/b #1"
    )


def test_a_partial_failure_without_items_is_looked_at() -> None:
    assert step(lost(1, "POST h.example/b", "partial", "207")) == (
        "read the state of h.example/b and redo what is missing of POST h.example/b #1"
    )


def test_a_partial_item_is_looked_at_and_never_redone_whole() -> None:
    assert step(batch(1, item("a", "partial", "207"))) == (
        "read the state of h.example/b and redo what is missing of item a of POST h.example/b #1"
    )
    assert step(lost(1, "POST h.example/b", "missing", None)) == (
        "read the state of h.example/b and redo what is missing of POST h.example/b #1"
    )


def test_a_task_that_wrote_something_is_not_run_again_for_a_transient_failure() -> None:
    assert step(DONE_READ, FAILED_WRITE) == (
        "rerun the task later, POST h.example/a #2 failed with ConnectError"
    )
    assert step(DONE_WRITE, FAILED_WRITE) == (
        "resend POST h.example/a #2 later, it failed with ConnectError"
    )


@pytest.mark.parametrize("stop", LOOPS)
def test_a_loop_wants_another_course(stop: str) -> None:
    assert step(lost(4, "GET h.example/a", "ok", "200", stop=stop)) == (
        f"change the course of the task, GET h.example/a #4 was stopped by {stop}"
    )


# As data.


def test_everything_is_in_the_dictionary() -> None:
    actions = match()
    made = Report.from_actions("match 7", actions, elapsed=31.04, aborted="ValueError")
    data = made.to_dict()
    assert data["actions"] == actions
    assert data["elapsed"] == 31.04
    assert data["aborted"] == "ValueError"
    assert data["done"] == list(made.done)
    assert data["failed"] == list(made.failed)
    assert data["unknown"] == list(made.unknown)
    assert (data["name"], data["status"], data["next"]) == ("match 7", "unknown", made.next)
    assert data["calls"] == sum(len(each["attempts"]) for each in actions)


def test_a_part_that_is_missing_is_named() -> None:
    data = report().to_dict()
    del data["status"]
    with pytest.raises(KeyError, match="status"):
        Report.from_dict(data)


def test_reports_are_equal_by_content_and_show_themselves_briefly() -> None:
    assert report(DONE_WRITE) == report(DONE_WRITE)
    assert report(DONE_WRITE) != report(DONE_WRITE | {"key": "k"})
    assert report() != str(report())
    assert repr(report(DONE_WRITE)) == "<Report 't' done, calls 1>"


# Whatever happens.

texts = st.text(max_size=150)
maybe = st.none() | texts
states = st.sampled_from(["done", "failed", "unknown"])
causes = st.none() | st.sampled_from(["503", "ReadTimeout", "isError", "rpc-32603"]) | texts
stops = st.none() | st.sampled_from(["final", "attempts", *LOOPS])
times = st.none() | st.just("2026-12-01T06:10:00Z")
any_item = st.fixed_dictionaries(
    {
        "id": texts | st.integers(),
        "state": states,
        "class": st.sampled_from([*CLASSES, "missing"]),
        "cause": causes,
        "code": maybe,
        "sends": st.integers(0, 5),
        "stop": stops,
        "wait": st.none() | st.floats(0, 1e9),
        "retry_at": times,
    }
)
any_action = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["write", "read"]),
        "method": st.sampled_from([None, "POST", "GET", "PUT"]) | texts,
        "target": st.sampled_from(["h.example/a", "mail.example/send"]) | texts,
        "label": maybe,
        "task": maybe,
        "state": states,
        "class": st.sampled_from(CLASSES),
        "cause": causes,
        "code": maybe,
        "sign": st.sampled_from([None, "answer 201", "read GET h.example/a"]) | texts,
        "stop": stops,
        "note": maybe,
        "absent_by": maybe,
        "sends": st.integers(0, 5),
        "wait": st.none() | st.floats(0, 1e9),
        "retry_at": times,
        "key": maybe,
        "superseded_by": st.none() | st.none() | st.integers(1, 9),
        "items": st.none() | st.lists(any_item, max_size=15),
        "attempts": st.lists(st.just({"kind": "send"}), max_size=4),
    }
)
any_report = st.builds(
    lambda name, actions, elapsed, aborted: Report.from_actions(
        name,
        [{"n": n, **facts} for n, facts in enumerate(actions, 1)],
        elapsed=elapsed,
        aborted=aborted,
    ),
    texts | st.just("a status done calls 1 elapsed 0.0s"),
    st.lists(any_action, max_size=12),
    st.floats(0, 1e12),
    st.none() | st.none() | st.sampled_from(["ValueError", "Überlauf"]) | texts,
)


@settings(max_examples=200, deadline=None)
@given(any_report)
def test_any_report_is_five_bounded_lines_that_are_read_back_alike(made: Report) -> None:
    text = str(made)
    lines = text.split("\n")
    assert len(lines) == len(text.splitlines()) == 5
    assert all(each.startswith("RECOVERY v1 ") and len(each) <= 1000 for each in lines)
    again = Report.parse(text)
    assert str(again) == text
    assert (again.name, again.status, again.calls, again.next) == (
        made.name,
        made.status,
        made.calls,
        made.next,
    )
    assert Report.from_dict(again.to_dict()) == again


@settings(deadline=None)
@given(any_report)
def test_any_report_travels_as_json(made: Report) -> None:
    again = Report.from_dict(json.loads(json.dumps(made.to_dict())))
    assert again == made
    assert str(again) == str(made)


def landed(facts: Mapping[str, Any]) -> bool:
    ends = facts["items"] or [facts]
    listed = facts["superseded_by"] is None and bool(facts["sign"])
    return listed and any(end["state"] == "done" for end in ends)


@settings(deadline=None)
@given(any_report)
def test_the_status_of_any_report_agrees_with_its_lists(made: Report) -> None:
    assert (made.status == "unknown") == bool(made.unknown)
    if made.status == "done":
        assert not made.failed
    if made.status == "partial":
        assert made.done
        assert made.failed
    if made.status == "failed":
        assert made.failed
        writes = [each for each in made.to_dict()["actions"] if each["kind"] == "write"]
        assert not any(landed(each) for each in writes)
    assert (made.next == "none") == (not made.failed and not made.unknown)
    assert made.calls == sum(len(each["attempts"]) for each in made.to_dict()["actions"])
