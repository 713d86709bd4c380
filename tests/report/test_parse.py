"""A report is read back from its five lines, and what is no report is refused by line."""

from __future__ import annotations

import json

import pytest

from httpx_recover._report import Report
from httpx_recover._words import FailureClass

MATCH = """\
RECOVERY v1 task match 7 status unknown calls 9 elapsed 31.0s
RECOVERY v1 done: tool arena_act #2 verified by duplicate after 2 sends; \
tool arena_lobby_say #3 verified by read tool arena_lobby_read; \
POST h.example:8080/orders x37 verified by answer 201; \
DELETE h.example/orders/7 #41 verified by answer 404 after 2 sends, \
gone now but not proven to be ours; 842 reads ok
RECOVERY v1 failed: POST h.example/x #44 transient ConnectError after 3 sends stopped by attempts; \
POST h.example/x #45 unknown_outcome 503 after 3 sends absent by read GET h.example/x \
stopped by attempts; and 4 more
RECOVERY v1 unknown: POST mail.example/send #46 accepted 202 after 1 send
RECOVERY v1 next: read the state of mail.example/send and send #46 again only if it is not there"""

QUIET = """\
RECOVERY v1 task a status done calls 0 elapsed 0.0s
RECOVERY v1 done: none
RECOVERY v1 failed: none
RECOVERY v1 unknown: none
RECOVERY v1 next: none"""


def changed(number: int, line: str) -> str:
    lines = QUIET.split("\n")
    lines[number - 1] = line
    return "\n".join(lines)


def test_every_part_is_read() -> None:
    report = Report.parse(MATCH)
    assert (report.name, report.status, report.calls) == ("match 7", "unknown", 9)
    assert report.elapsed == 31.0
    assert len(report.done) == 5
    assert report.done[2] == "POST h.example:8080/orders x37 verified by answer 201"
    assert report.done[-1] == "842 reads ok"
    assert report.unknown == ("POST mail.example/send #46 accepted 202 after 1 send",)
    assert report.next.startswith("read the state of mail.example/send and send #46 again")
    assert report.aborted is None


def test_the_number_of_those_left_out_stays_the_last_entry() -> None:
    report = Report.parse(MATCH)
    assert len(report.failed) == 3
    assert report.failed[-1] == "and 4 more"
    assert str(report) == MATCH


def test_a_quiet_report_has_empty_lists() -> None:
    report = Report.parse(QUIET)
    assert (report.done, report.failed, report.unknown, report.next) == ((), (), (), "none")
    assert str(report) == QUIET


def test_one_line_end_after_the_last_line_is_let_pass() -> None:
    assert str(Report.parse(QUIET + "\n")) == QUIET


def test_a_report_that_was_read_knows_no_actions_and_travels_as_json() -> None:
    report = Report.parse(MATCH)
    assert report.to_dict()["actions"] == []
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


@pytest.mark.parametrize(
    "name",
    [
        "x status done calls 1",
        "x status done calls 1 elapsed 0.1s",
        "status failed",
        "RECOVERY v1 done: none",
        "a; b",
    ],
)
def test_the_head_is_read_from_its_right_end(name: str) -> None:
    text = changed(1, f"RECOVERY v1 task {name} status partial calls 12 elapsed 3.4s")
    report = Report.parse(text)
    assert (report.name, report.status, report.calls) == (name, "partial", 12)
    assert str(report) == text


def test_the_exception_that_left_the_block_is_read() -> None:
    failed = "GET h.example/a #1 not_found 404 after 1 send; task block aborted ValueError"
    report = Report.parse(changed(3, f"RECOVERY v1 failed: {failed}"))
    assert report.aborted == "ValueError"
    assert report.failed[-1] == "task block aborted ValueError"


@pytest.mark.parametrize(
    "entry",
    [
        "POST h.example/a #1 verified by answer 201",
        "POST h.example/a #1 (inv 7) verified by journal",
        "POST h.example/a #1 #2 verified by replay 201 after 2 sends, a note",
        "7/10 items of POST h.example/a #1 verified by poll GET h.example/jobs/1",
        "1 read ok",
    ],
)
def test_the_forms_of_a_done_entry(entry: str) -> None:
    assert Report.parse(changed(2, f"RECOVERY v1 done: {entry}")).done == (entry,)


@pytest.mark.parametrize(
    "entry",
    [
        "item a of POST h.example/a #1 (inv 7) missing",
        "tool act #2 bad_input isError/ILLEGAL_MOVE after 1 send stopped by final",
        "GET h.example/a #1 transient after 0 sends",
        "GET h.example/a #1 transient, a note",
    ],
)
def test_the_forms_of_a_failed_entry(entry: str) -> None:
    assert Report.parse(changed(3, f"RECOVERY v1 failed: {entry}")).failed == (entry,)
    assert Report.parse(changed(4, f"RECOVERY v1 unknown: {entry}")).unknown == (entry,)


@pytest.mark.parametrize("failure", [*FailureClass, "missing"])
def test_every_class_is_known(failure: str) -> None:
    entry = f"POST h.example/a #1 {failure} 500 after 1 send"
    assert Report.parse(changed(3, f"RECOVERY v1 failed: {entry}")).failed == (entry,)


@pytest.mark.parametrize(
    "verb",
    ["read", "resend", "redo", "wait", "renew", "fix", "change", "poll", "raise", "rerun"],
)
def test_every_verb_is_known(verb: str) -> None:
    assert Report.parse(changed(5, f"RECOVERY v1 next: {verb} it")).next == f"{verb} it"


def test_one_entry_and_the_number_of_the_others_are_enough() -> None:
    entry = "POST h.example/a #1 auth 401 after 1 send"
    report = Report.parse(changed(3, f"RECOVERY v1 failed: {entry}; and 12 more"))
    assert report.failed == (entry, "and 12 more")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing of the kind",
        QUIET.rpartition("\n")[0],
        QUIET + "\nRECOVERY v1 next: none",
        QUIET + "\n\n",
        "\n" + QUIET,
    ],
)
def test_a_report_has_five_lines(text: str) -> None:
    lines = text.removesuffix("\n").count("\n") + 1
    with pytest.raises(ValueError, match=f"^a report has five lines, this text has {lines}$"):
        Report.parse(text)


@pytest.mark.parametrize(
    ("number", "line"),
    [
        (1, "RECOVERY v2 task a status done calls 0 elapsed 0.0s"),
        (1, "RECOVERY v1 task  status done calls 0 elapsed 0.0s"),
        (1, "RECOVERY v1 task a status great calls 0 elapsed 0.0s"),
        (1, "RECOVERY v1 task a status done calls -1 elapsed 0.0s"),
        (1, "RECOVERY v1 task a status done calls \u0663 elapsed 0.0s"),
        (1, "RECOVERY v1 task a status done calls 0 elapsed 0s"),
        (1, "RECOVERY v1 task a status done calls 0 elapsed 0.0s "),
        (2, "RECOVERY v1 failed: none"),
        (2, "RECOVERY v1 done: "),
        (2, "RECOVERY v1 done: POST h.example/a #1"),
        (2, "RECOVERY v1 done: POST h.example/a verified by "),
        (2, "RECOVERY v1 done: none; 1 read ok"),
        (2, "RECOVERY v1 done: and 4 more"),
        (2, "RECOVERY v1 done: and 4 more; 1 read ok"),
        (2, "RECOVERY v1 done: POST h.example/a #1 auth 401 after 1 send"),
        (2, "RECOVERY v1 done: 1 read ok; something; and 4 more"),
        (3, "RECOVERY v1 failed:none"),
        (3, "RECOVERY v1 failed: POST h.example/a #1 dreadful 500 after 1 send"),
        (3, "RECOVERY v1 failed: POST h.example/a #1 transience 500 after 1 send"),
        (3, "RECOVERY v1 failed: task block aborted"),
        (4, "RECOVERY v1 unknown: something"),
        (5, "RECOVERY v1 next: "),
        (5, "RECOVERY v1 next: ponder the matter"),
        (5, "RECOVERY v1 next: read"),
        (2, "RECOVERY v1 done: POST h.example/" + "a" * 1000 + " #1 verified by answer 201"),
        (5, "RECOVERY v1 next: read " + "a" * 1000),
        (1, "RECOVERY v1 task " + "a" * 1000 + " status done calls 0 elapsed 0.0s"),
    ],
)
def test_what_is_no_report_is_refused_and_the_line_is_named(number: int, line: str) -> None:
    with pytest.raises(ValueError, match=rf"line {number} "):
        Report.parse(changed(number, line))


def test_a_line_of_1000_characters_is_let_pass_and_one_more_is_not() -> None:
    line = "RECOVERY v1 next: read ".ljust(1000, "a")
    assert str(Report.parse(changed(5, line))).endswith(line)
    with pytest.raises(ValueError, match=r"^line 5 is longer than 1,000 characters$"):
        Report.parse(changed(5, line + "a"))


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (1, "line 1 is not the head of a report: 'none;'"),
        (2, "line 2 does not begin with 'RECOVERY v1 done: ': 'none;'"),
        (5, "line 5 is not the next step: 'none;'"),
    ],
)
def test_what_was_found_is_told(number: int, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Report.parse(changed(number, "none;"))


def test_the_entry_of_no_known_form_is_told() -> None:
    line = "RECOVERY v1 failed: GET h.example/a #1 auth after 1 send; why"
    with pytest.raises(ValueError, match=r"^line 3 \(failed\) has an entry of no .* form: 'why'$"):
        Report.parse(changed(3, line))
