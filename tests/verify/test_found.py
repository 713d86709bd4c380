"""`found` proves that a copy is there, or that none is, or says why it proves neither."""

from __future__ import annotations

import json as jsonlib
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpx_recover import verify
from httpx_recover._words import Verdict

ORDERS = "https://api.example.com/v2/orders"
QUERY = "?ref={json.ref}"
PATH = "/orders/{json.ref}"
WHERE = {"ref": "{json.ref}"}
MATCH = {"id": 5, "ref": "inv-7"}
OTHER = {"id": 6, "ref": "inv-8"}


@dataclass
class Call:
    method: str = "POST"
    url: str = ORDERS + "?draft=1"
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = field(default_factory=lambda: {"ref": "inv-7", "n": 7})
    form: dict[str, str] | None = None
    content: bytes | None = None
    key: str | None = None
    attempts: int = 1
    known: int = 0
    pending: int = 0
    baseline: int | None = None


class Broken:
    """A response whose body no parser likes."""

    status_code = 200
    headers = httpx.Headers()
    content = b""

    def __init__(self, failure: Any) -> None:
        self.failure = failure

    def json(self) -> Any:
        if isinstance(self.failure, BaseException):
            raise self.failure
        return self.failure


def drive(verifier: Any, *answers: Any, call: Call | None = None) -> tuple[Verdict, list[str]]:
    """Play the server: the verdict, and the URLs that were read."""
    steps = verifier.steps(call or Call())
    reads = []
    try:
        read = next(steps)
        for answer in answers:
            assert read.params is None
            reads.append(read.url)
            read = steps.send(answer)
    except StopIteration as end:
        return end.value, reads
    raise AssertionError(f"an answer is missing for {read}")


def look(answer: Any, template: str = QUERY, *, call: Call | None = None, **given: Any) -> Verdict:
    """The verdict on one answer: a response, or a body that a 200 carries."""
    ready = isinstance(answer, httpx.Response | Broken)
    response = answer if ready else httpx.Response(200, json=answer)
    return drive(verify.found(template, **given), response, call=call)[0]


def facts(verdict: Verdict) -> tuple[str, int | None]:
    return verdict.name, verdict.count


MANY = [{"id": n, "ref": f"x-{n}"} for n in range(3)]


def test_only_the_verifiers_are_for_everyone() -> None:
    assert sorted(verify.__all__) == ["found", "gone", "same"]


# What is read


def test_the_read_is_a_get_of_the_filled_template() -> None:
    _, reads = drive(verify.found(QUERY), httpx.Response(200, json=[]))
    assert reads == [ORDERS + "?ref=inv-7"]


@pytest.mark.parametrize(
    ("template", "given", "why"),
    [
        ("?ref={json.other}", {}, "no usable value for {json.other}"),
        ("/o/{json.other}", {}, "no usable value for {json.other}"),
        ("?ref={json.ref}", {"where": {"a": "{form.a}"}}, "no usable value for {form.a}"),
        ("?k={key}", {"where": WHERE}, "no usable value for {key}"),
        ("/orders", {}, "the template has no field to look for"),
        ("{path}?limit=5", {}, "the template has no field to look for"),
    ],
)
def test_without_a_value_to_look_for_no_read_is_made(
    template: str, given: dict[str, Any], why: str
) -> None:
    verdict, reads = drive(verify.found(template, **given))
    assert (verdict.name, verdict.why, verdict.count, reads) == ("UNCLEAR", why, None, [])


# Values in the query: what is the list


@pytest.mark.parametrize(
    "body",
    [
        [MATCH],
        [OTHER, MATCH],
        {"data": [MATCH]},
        {"data": [OTHER, MATCH], "total": 2, "page": {"n": 1}},
        MATCH,
        {**MATCH, "nested": {"lines": [1, 2], "more": [3]}},
    ],
)
def test_a_matching_item_of_the_list_has_landed(body: Any) -> None:
    assert facts(look(body)) == ("LANDED", 1)


def test_every_matching_item_is_counted() -> None:
    assert facts(look([MATCH, OTHER, MATCH])) == ("LANDED", 2)


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ({"data": [MATCH], "included": []}, "data"),
        ({"data": {"rows": [MATCH]}}, "data.rows"),
        ({"data": MATCH}, "data"),
        ({"data": {**MATCH, "lines": [{"n": 1}]}}, "data"),
    ],
)
def test_items_names_the_list(body: Any, items: str) -> None:
    assert facts(look(body, items=items)) == ("LANDED", 1)


@pytest.mark.parametrize(
    ("body", "items"),
    [
        ({"data": [MATCH]}, "rows"),
        ({"data": {"rows": 3}}, "data.rows"),
        ({"data": None}, "data"),
        ([MATCH], "data"),
        ("text", None),
        (7, None),
        (None, None),
        (True, None),
    ],
)
def test_no_list_where_one_is_looked_for_is_unclear(body: Any, items: str | None) -> None:
    verdict = look(httpx.Response(200, content=jsonlib.dumps(body)), items=items)
    assert facts(verdict) == ("UNCLEAR", None)
    assert verdict.why == "the answer holds no list and no object where one is looked for"


def test_two_lists_and_no_items_are_unclear() -> None:
    verdict = look({"data": [MATCH], "included": []})
    assert facts(verdict) == ("UNCLEAR", None)
    assert verdict.why == "the answer holds more than one list: name one with items="


# Values in the query: what matches


@pytest.mark.parametrize(
    ("sent", "shown"),
    [(1, "1"), ("1", 1), (1, 1.0), (2.0, 2), (True, "true"), ("false", False), (2.5, "2.5")],
)
def test_scalars_are_compared_as_text(sent: Any, shown: Any) -> None:
    assert facts(look([{"ref": shown}], call=Call(json={"ref": sent}))) == ("LANDED", 1)


@pytest.mark.parametrize("shown", ["inv-70", None, ["inv-7"], {"a": "inv-7"}, "INV-7"])
def test_another_value_is_no_match(shown: Any) -> None:
    assert facts(look([{"ref": shown}])) == ("UNCLEAR", 0)


def test_a_value_under_another_name_is_no_match() -> None:
    assert facts(look([{"id": "inv-7"}, "inv-7", ["inv-7"], None])) == ("UNCLEAR", 0)


def test_every_value_must_be_held_by_one_item() -> None:
    template = "?ref={json.ref}&n={json.n}&limit=9"
    assert facts(look([{"ref": "inv-7", "n": "7"}], template)) == ("LANDED", 1)
    assert facts(look([{"ref": "inv-7"}, {"n": 7}], template)) == ("UNCLEAR", 0)


def test_a_parameters_name_is_decoded_and_its_text_is_the_value() -> None:
    template = "?a%5Bb%5D=n-{json.n}"
    assert facts(look([{"a[b]": "n-7"}], template)) == ("LANDED", 1)
    assert facts(look([{"a[b]": 7}], template)) == ("UNCLEAR", 0)


def test_where_replaces_the_parameters_names() -> None:
    where = {"meta.title": "No {json.n}", "meta.n": "{json.n}"}
    hit = {"meta": {"title": "No 7", "n": 7}}
    assert facts(look([hit], "?q={json.ref}", where=where)) == ("LANDED", 1)
    assert facts(look([{"q": "inv-7"}], "?q={json.ref}", where=where)) == ("UNCLEAR", 0)
    assert facts(look([{"meta": {"title": "No 7", "n": 8}}], "?", where=where)) == ("ABSENT", 0)


def test_where_alone_gives_the_values_to_a_template_without_a_field() -> None:
    verdict, reads = drive(
        verify.found("/all", where=WHERE), httpx.Response(200, json=[OTHER, MATCH])
    )
    assert (facts(verdict), reads) == (("LANDED", 1), ["https://api.example.com/all"])


# Values in the query: when nothing there is proof


@pytest.mark.parametrize("body", [[], {}, {"data": []}, {"data": [], "total": 0, "next": None}])
def test_an_empty_list_or_object_is_absent(body: Any) -> None:
    assert facts(look(body)) == ("ABSENT", 0)
    assert facts(look(body, where=WHERE)) == ("ABSENT", 0)


@pytest.mark.parametrize("body", [{}, {"data": []}, {"data": {}}])
def test_an_empty_list_at_items_is_absent(body: Any) -> None:
    assert facts(look(body, items="data")) == ("ABSENT", 0)


@pytest.mark.parametrize("body", [[OTHER], {"data": MANY}, OTHER])
def test_items_without_a_match_are_absence_only_with_where(body: Any) -> None:
    verdict = look(body)
    assert facts(verdict) == ("UNCLEAR", 0)
    assert verdict.why == "items without a match: the server may have ignored the filter"
    assert facts(look(body, where=WHERE)) == ("ABSENT", 0)


@pytest.mark.parametrize(
    "body", [[{"id": 1}, {"id": 2}], {"message": "back soon"}, ["a", "b"], [None]]
)
def test_items_that_lack_what_where_names_prove_nothing(body: Any) -> None:
    verdict = look(body, where=WHERE)
    assert facts(verdict) == ("UNCLEAR", 0)
    assert verdict.why == "no item has a member that where= names"


def test_one_item_that_has_the_member_shows_the_shape() -> None:
    assert facts(look([{"id": 1}, {"id": 2, "ref": None}], where=WHERE)) == ("ABSENT", 0)
    both = {"ref": "{json.ref}", "n": "{json.n}"}
    assert facts(look([{"ref": "x"}, {"n": 1}], where=both)) == ("ABSENT", 0)
    assert facts(look([{"ref": "x"}, {"m": 1}], where=both)) == ("UNCLEAR", 0)


@pytest.mark.parametrize("shown", ["INV-7", " inv-7 ", "\uff49nv-7"])
def test_an_item_that_nearly_matches_is_not_absence(shown: str) -> None:
    verdict = look([OTHER, {"ref": shown}], where=WHERE)
    assert facts(verdict) == ("UNCLEAR", 0)
    assert verdict.why == "an item nearly holds the values sought"


def test_nearly_means_every_value() -> None:
    both = {"ref": "{json.ref}", "n": "{json.n}"}
    assert facts(look([{"ref": "INV-7", "n": 8}], where=both)) == ("ABSENT", 0)
    assert facts(look([{"ref": "INV-7", "n": "7.0"}], where=both)) == ("UNCLEAR", 0)


@pytest.mark.parametrize(
    "body",
    [
        {"ref": "inv-7", "lines": []},
        {"reference": "inv-7", "lines": []},
        {"id": 5, "tags": []},
        {"_id": "5", "tags": []},
        {"uuid": "5", "tags": [1]},
    ],
)
@pytest.mark.parametrize("where", [None, WHERE])
def test_a_list_inside_the_item_is_not_the_list(body: Any, where: Any) -> None:
    verdict = look(body, where=where)
    assert facts(verdict) == ("UNCLEAR", 0)
    assert verdict.why == "the list may be a part of the item: name the list with items="


def test_items_settles_which_list_it_is() -> None:
    assert facts(look({"id": 5, "rows": []}, items="rows")) == ("ABSENT", 0)
    # A page number that happens to equal the value does not make an envelope an item.
    assert facts(look({"page": 7, "rows": []}, "?n={json.n}")) == ("ABSENT", 0)


@pytest.mark.parametrize(
    "mark",
    [
        {"error": "x"},
        {"errors": {"code": 1}},
        {"ok": False},
        {"success": False},
        {"found": False},
        {"exists": False},
    ],
)
def test_an_answer_that_reports_an_error_proves_no_absence(mark: dict[str, Any]) -> None:
    verdict = look({**mark, "data": []}, items="data")
    assert (facts(verdict), verdict.why) == (("UNCLEAR", 0), "the answer reports an error")
    verdict = look({**mark, "ref": "inv-7"})
    assert (facts(verdict), verdict.why) == (("UNCLEAR", None), "the answer reports an error")
    assert facts(look({**mark, "data": {"ref": "inv-7"}}, items="data")) == ("UNCLEAR", None)
    assert facts(look({"data": {**mark, "ref": "inv-7"}}, items="data")) == ("UNCLEAR", None)


def test_an_item_in_a_list_is_there_whatever_else_went_wrong() -> None:
    assert facts(look({"error": "shard 3 is down", "data": [MATCH]})) == ("LANDED", 1)
    assert facts(look({"error": None, "ok": True, "data": []})) == ("ABSENT", 0)


# Signs of more pages


MORE_MEMBERS: list[dict[str, Any]] = [
    {"has_more": True},
    {"hasMore": True},
    {"has_next": True},
    {"hasNextPage": True},
    {"more": True},
    {"next": "https://api.example.com/v2/orders?page=2"},
    {"next_page": 2},
    {"next_page_token": "t"},
    {"nextPageToken": "t"},
    {"next_cursor": "t"},
    {"nextToken": "t"},
    {"nextRecordsUrl": "/q"},
    {"@odata.nextLink": "/q"},
    {"cursor": "t"},
    {"LastEvaluatedKey": {"id": 1}},
    {"IsTruncated": True},
    {"incomplete_results": True},
    {"isLast": False},
    {"last": False},
    {"total": 4},
    {"total_count": "4"},
    {"totalElements": 4},
    {"count": 4},
    {"total_pages": 2},
    {"last_page": 2},
    {"limit": 3},
    {"per_page": 2},
    {"page_size": "3"},
]
LESS_MEMBERS: list[dict[str, Any]] = [
    {"has_more": False},
    {"next": None, "cursor": "", "next_page_token": ""},
    {"is_last": True},
    {"total": 3, "count": 3},
    {"total": True},
    {"total": "many"},
    {"total": -4},
    {"total_pages": 1},
    {"limit": 4, "per_page": 99},
    {"nexttime": "x", "ahas_more": True},
]


@pytest.mark.parametrize("mark", MORE_MEMBERS, ids=str)
@pytest.mark.parametrize("under", [None, "meta", "pagination", "paging", "links", "_links"])
def test_a_member_that_tells_of_more_pages_keeps_absence_unclear(
    mark: dict[str, Any], under: str | None
) -> None:
    verdict = look({"data": MANY, **({under: mark} if under else mark)}, where=WHERE)
    assert facts(verdict) == ("UNCLEAR", 0)
    assert verdict.why == "there may be more pages"


def test_a_mark_is_seen_deeper_down_but_not_in_the_items() -> None:
    deep = {"data": MANY, "meta": {"a": {"response_metadata": {"next_cursor": "t"}}}}
    assert facts(look(deep, where=WHERE)) == ("UNCLEAR", 0)
    assert facts(look({"data": [{**OTHER, "next": "x"}]}, where=WHERE)) == ("ABSENT", 0)


@pytest.mark.parametrize("mark", LESS_MEMBERS, ids=str)
def test_a_member_that_tells_of_the_end_lets_absence_stand(mark: dict[str, Any]) -> None:
    assert facts(look({"data": MANY, "meta": mark}, where=WHERE)) == ("ABSENT", 0)


@pytest.mark.parametrize("mark", [{"has_more": True}, {"next": "x"}, {"total": 1}], ids=str)
def test_an_empty_list_with_a_sign_of_more_pages_is_unclear(mark: dict[str, Any]) -> None:
    assert facts(look({"data": [], **mark})) == ("UNCLEAR", 0)
    assert facts(look({"data": [], "limit": 0})) == ("ABSENT", 0)


@pytest.mark.parametrize(
    "headers",
    [
        {"Link": '</o?page=2>; rel="next"'},
        {"link": "</o?page=1>; rel=prev, </o?page=3>; REL = next; title=x"},
        {"link": "</o?page=3>; rel='last next'"},
        {"link": '</o?page=3>; rel="next last"'},
        {"Content-Range": "items 0-2/4"},
        {"X-Next-Page": "2"},
        {"X-Next-Cursor": "t"},
        {"X-Total": "4"},
        {"X-Total-Count": "4"},
        {"X-Total-Pages": "2"},
    ],
    ids=str,
)
def test_a_header_that_tells_of_more_pages_keeps_absence_unclear(headers: dict[str, str]) -> None:
    assert facts(look(httpx.Response(200, json=MANY, headers=headers), where=WHERE)) == (
        "UNCLEAR",
        0,
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"Link": '</o?page=1>; rel="prev"'},
        {"Link": '</next>; rel="self"'},
        {"Content-Range": "items 0-2/3"},
        {"Content-Range": "items 0-2/*"},
        {"X-Next-Page": "", "X-Total": "3", "X-Total-Pages": "1"},
    ],
    ids=str,
)
def test_a_header_that_tells_of_the_end_lets_absence_stand(headers: dict[str, str]) -> None:
    response = httpx.Response(200, json=MANY, headers=headers)
    assert facts(look(response, where=WHERE)) == ("ABSENT", 0)


def test_a_partial_answer_is_a_sign_of_more_and_no_hindrance_to_a_match() -> None:
    assert facts(look(httpx.Response(206, json=MANY), where=WHERE)) == ("UNCLEAR", 0)
    assert facts(look(httpx.Response(206, json=[MATCH]))) == ("LANDED", 1)


@pytest.mark.parametrize(
    "name",
    ["limit", "per_page", "page_size", "pageSize", "first", "count", "max_results", "size"]
    + ["page%5Bsize%5D", "$top", "take", "maxItems", "pageLimit"],
)
def test_as_many_items_as_the_limit_asked_for_may_be_one_page(name: str) -> None:
    for limit, outcome in ((2, "UNCLEAR"), (3, "UNCLEAR"), (4, "ABSENT")):
        assert facts(look(MANY, f"?{name}={limit}", where=WHERE)) == (outcome, 0)


def test_a_limit_can_come_from_the_call_and_must_be_a_number() -> None:
    call = Call(json={"ref": "inv-7", "n": 3})
    assert facts(look(MANY, "?limit={json.n}", where=WHERE, call=call)) == ("UNCLEAR", 0)
    assert facts(look(MANY, "?limit=all&page=1", where=WHERE)) == ("ABSENT", 0)


@pytest.mark.parametrize("count", [10, 20, 25, 30, 50, 100, 200, 250, 500, 1000])
def test_a_round_number_of_items_may_be_one_page(count: int) -> None:
    items = [{"ref": n} for n in range(1000, 1000 + count)]
    assert facts(look(items, where=WHERE)) == ("UNCLEAR", 0)
    assert facts(look(items[1:], where=WHERE)) == ("ABSENT", 0)
    assert facts(look([*items[1:], MATCH])) == ("LANDED", 1)


@pytest.mark.parametrize("mark", MORE_MEMBERS, ids=str)
def test_a_match_has_landed_however_many_pages_there_are(mark: dict[str, Any]) -> None:
    assert facts(look({"data": [MATCH, *MANY], **mark})) == ("LANDED", 1)


# Values in the path


@pytest.mark.parametrize(
    "body",
    [
        {"ref": "inv-7"},
        {"any": {"where": {"inside": "inv-7"}}, "lines": []},
        {"error": None, "errors": [], "ok": True, "x": "inv-7"},
    ],
)
def test_an_object_that_holds_the_value_has_landed(body: Any) -> None:
    assert facts(look(body, PATH)) == ("LANDED", 1)


def test_an_object_holds_a_number_as_text_too() -> None:
    assert facts(look({"id": "7"}, "/orders/{json.n}")) == ("LANDED", 1)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ref": "inv-8"},
        {"ref": "INV-7"},
        {"ref": ["inv-7"]},
        {"rows": [{"ref": "inv-7"}]},
        {"inv-7": 1},
        [{"ref": "inv-7"}],
        [],
        "inv-7",
        {"error": {"message": "no such order", "ref": "inv-7"}},
        {"found": False, "ref": "inv-7"},
    ],
)
def test_any_other_answer_is_unclear(body: Any) -> None:
    verdict = look(httpx.Response(200, content=jsonlib.dumps(body)), PATH)
    assert facts(verdict) == ("UNCLEAR", None)
    assert verdict.why in (
        "the answer is not the object asked for",
        "the object does not hold the values sought",
    )


def test_every_value_of_path_and_query_must_be_held() -> None:
    template = "/orders/{json.ref}?n={json.n}&limit=1"
    assert facts(look({"ref": "inv-7", "of": {"n": 7}}, template)) == ("LANDED", 1)
    assert facts(look({"ref": "inv-7"}, template)) == ("UNCLEAR", None)
    assert facts(look({"n": 7}, template)) == ("UNCLEAR", None)


def test_items_leads_to_the_object() -> None:
    assert facts(look({"data": {"ref": "inv-7"}}, PATH, items="data")) == ("LANDED", 1)
    assert facts(look({"data": {}, "ref": "inv-7"}, PATH, items="data")) == ("UNCLEAR", None)
    assert facts(look({"ref": "inv-7"}, PATH, items="data")) == ("UNCLEAR", None)
    denied = {"ok": False, "data": {"ref": "inv-7"}}
    assert facts(look(denied, PATH, items="data")) == ("UNCLEAR", None)
    denied = {"data": {"ref": "inv-7", "ok": False}}
    assert facts(look(denied, PATH, items="data")) == ("UNCLEAR", None)


@pytest.mark.parametrize("status", [404, 410])
def test_404_and_410_are_absent_when_a_value_is_in_the_path(status: int) -> None:
    assert facts(look(httpx.Response(status, text="no"), PATH)) == ("ABSENT", 0)
    assert facts(look(httpx.Response(status), PATH, where=WHERE)) == ("ABSENT", 0)
    for template in (QUERY, "{path}?ref={json.ref}"):
        verdict = look(httpx.Response(status, json=[]), template)
        assert facts(verdict) == ("UNCLEAR", None)
        assert verdict.why == f"the read was answered {status}"


def test_where_reads_a_list_under_a_path_with_a_value() -> None:
    template = "/customers/{json.n}/orders"
    assert facts(look([OTHER, MATCH], template, where=WHERE)) == ("LANDED", 1)
    assert facts(look([OTHER], template, where=WHERE)) == ("ABSENT", 0)
    assert facts(look([], template, where=WHERE)) == ("ABSENT", 0)
    assert facts(look(MATCH, template, where=WHERE)) == ("LANDED", 1)
    # There is an object at the very address, so nothing there is absent.
    assert facts(look(OTHER, template, where=WHERE)) == ("UNCLEAR", 0)
    assert facts(look({}, template, where=WHERE)) == ("UNCLEAR", 0)


# Statuses


@pytest.mark.parametrize("status", [199, 202, 204, 205, 300, 400, 401, 403, 409, 429, 500, 503])
@pytest.mark.parametrize("template", [QUERY, PATH])
def test_an_answer_that_shows_nothing_is_unclear(status: int, template: str) -> None:
    verdict = look(httpx.Response(status, json={}), template)
    assert facts(verdict) == ("UNCLEAR", None)
    assert verdict.why == f"the read was answered {status}"


@pytest.mark.parametrize("status", [404, 403, 500])
@pytest.mark.parametrize("template", [QUERY, PATH])
def test_a_status_in_absent_is_absence(status: int, template: str) -> None:
    response = httpx.Response(status, text="nothing")
    assert facts(look(response, template, absent=(status,))) == ("ABSENT", 0)
    assert facts(look(httpx.Response(400), template, absent=[status])) == ("UNCLEAR", None)


@pytest.mark.parametrize("status", [200, 201, 203, 299])
def test_any_2xx_with_content_is_read(status: int) -> None:
    assert facts(look(httpx.Response(status, json=[MATCH]))) == ("LANDED", 1)


# Copies that were there before


@pytest.mark.parametrize("known", [0, 1, -1])
def test_more_copies_than_known_have_landed(known: int) -> None:
    assert facts(look([MATCH, MATCH], call=Call(known=known))) == ("LANDED", 2)


def test_as_many_copies_as_known_are_absence_only_with_where_and_the_whole_list() -> None:
    call = Call(known=1)
    verdict = look([MATCH], call=call)
    assert facts(verdict) == ("UNCLEAR", 1)
    assert verdict.why == "only copies that were known before are shown"
    assert facts(look([MATCH], where=WHERE, call=call)) == ("ABSENT", 1)
    assert facts(look({"data": [MATCH], "next": "x"}, where=WHERE, call=call)) == ("UNCLEAR", 1)


def test_one_object_cannot_show_a_second_copy() -> None:
    verdict = look(MATCH, where=WHERE, call=Call(known=1))
    assert facts(verdict) == ("UNCLEAR", 1)
    assert verdict.why == "one object is shown where there may be others"
    verdict = look(MATCH, PATH, call=Call(known=1))
    assert facts(verdict) == ("UNCLEAR", 1)
    assert verdict.why == "only a copy that was known before is shown"


@pytest.mark.parametrize("where", [None, WHERE])
def test_fewer_copies_than_known_are_a_stale_read(where: Any) -> None:
    answers: list[Any] = [[], [MATCH], {}, httpx.Response(404)]
    for answer in answers:
        verdict = look(answer, where=where, absent=(404,), call=Call(known=2))
        assert verdict.name == "UNCLEAR"
        assert verdict.why == "fewer copies are shown than are known to be done"
        assert verdict.count == (1 if answer == [MATCH] else 0)
    assert facts(look(httpx.Response(404), PATH, call=Call(known=1))) == ("UNCLEAR", 0)


def test_a_copy_that_may_be_anothers_is_asked_for_again() -> None:
    for known, pending, copies in ((0, 1, 1), (0, 2, 2), (1, 1, 2), (1, 3, 2)):
        verdict = look([MATCH] * copies, call=Call(known=known, pending=pending))
        assert (facts(verdict), verdict.again) == (("UNCLEAR", copies), True)
        assert verdict.why == "equal calls are still in flight"
    verdict = look(MATCH, PATH, call=Call(pending=1))
    assert (facts(verdict), verdict.again) == (("UNCLEAR", 1), True)


def test_more_copies_than_all_others_can_account_for_have_landed() -> None:
    assert facts(look([MATCH] * 3, call=Call(known=1, pending=1))) == ("LANDED", 3)
    assert facts(look([MATCH], call=Call(pending=-1))) == ("LANDED", 1)
    verdict = look([], call=Call(pending=2))
    assert (facts(verdict), verdict.again) == (("ABSENT", 0), False)


# A baseline


def test_the_count_before_the_first_send_is_in_every_verdict_on_a_list() -> None:
    verdict = look([MATCH, MATCH], baseline=True)
    assert facts(verdict) == ("UNCLEAR", 2)
    assert verdict.why == "the copies before the first send were not counted"
    assert facts(look([], baseline=True)) == ("ABSENT", 0)
    assert facts(look([OTHER], baseline=True)) == ("UNCLEAR", 0)
    assert facts(look("x", baseline=True)) == ("UNCLEAR", None)


def test_copies_are_counted_from_the_baseline_on() -> None:
    def judged(copies: int, *, known: int = 0, pending: int = 0, where: Any = None) -> Any:
        call = Call(baseline=2, known=known, pending=pending)
        return facts(look([MATCH] * copies, baseline=True, where=where, call=call))

    assert judged(3) == ("LANDED", 3)
    assert judged(2) == ("UNCLEAR", 2)
    assert judged(2, where=WHERE) == ("ABSENT", 2)
    assert judged(1, where=WHERE) == ("UNCLEAR", 1)
    assert judged(3, known=1) == ("UNCLEAR", 3)
    assert judged(4, known=1) == ("LANDED", 4)
    assert judged(2, known=-1) == ("UNCLEAR", 2)
    assert judged(3, pending=1) == ("UNCLEAR", 3)
    assert judged(4, pending=1) == ("LANDED", 4)


def test_a_baseline_works_for_an_object_too() -> None:
    assert facts(look({"ref": "inv-7"}, PATH, baseline=True)) == ("UNCLEAR", 1)
    call = Call(baseline=1)
    assert facts(look({"ref": "inv-7"}, PATH, baseline=True, call=call)) == ("UNCLEAR", 1)
    call = Call(baseline=0)
    assert facts(look({"ref": "inv-7"}, PATH, baseline=True, call=call)) == ("LANDED", 1)


# The resource that is handed over


@pytest.mark.parametrize("status", [200, 404, 500])
def test_the_match_is_read_and_the_verdict_stands(status: int) -> None:
    verifier = verify.found(QUERY, item="/orders/{match.id}?by={json.ref}")
    answers = (httpx.Response(200, json=[OTHER, MATCH]), httpx.Response(status, text="?"))
    verdict, reads = drive(verifier, *answers)
    assert facts(verdict) == ("LANDED", 1)
    assert reads == [ORDERS + "?ref=inv-7", "https://api.example.com/orders/5?by=inv-7"]


def test_an_object_found_by_its_path_names_the_resource_too() -> None:
    verifier = verify.found("/lookup/{json.ref}", items="data", item="{path}/{match.id}")
    answers = (httpx.Response(200, json={"data": MATCH}), httpx.Response(200))
    assert drive(verifier, *answers)[1][1] == ORDERS + "/5"


@pytest.mark.parametrize(
    "body",
    [
        [MATCH, MATCH],  # which of the two is this call's?
        [{"ref": "inv-7"}],
        [{"ref": "inv-7", "id": None}],
        [{"ref": "inv-7", "id": {}}],
        [{"ref": "inv-7", "id": ".."}],
        [{"ref": "inv-7", "id": ""}],
    ],
)
def test_without_one_nameable_match_the_list_is_the_result(body: Any) -> None:
    verifier = verify.found(QUERY, item="/orders/{match.id}")
    verdict, reads = drive(verifier, httpx.Response(200, json=body))
    assert (facts(verdict), len(reads)) == (("LANDED", len(body)), 1)


@pytest.mark.parametrize("call", [Call(known=1), Call(pending=1)])
def test_the_resource_is_read_only_when_the_call_has_landed(call: Call) -> None:
    verifier = verify.found(QUERY, item="/orders/{match.id}")
    verdict, reads = drive(verifier, httpx.Response(200, json=[MATCH]), call=call)
    assert (verdict.name, len(reads)) == ("UNCLEAR", 1)


def test_a_servers_id_cannot_lead_to_another_host_or_path() -> None:
    verifier = verify.found(QUERY, item="/orders/{match.id}")
    body = [{"ref": "inv-7", "id": "//evil.example/../x?y#z"}]
    _, reads = drive(verifier, httpx.Response(200, json=body), httpx.Response(200))
    assert reads[1] == "https://api.example.com/orders/%2F%2Fevil.example%2F..%2Fx%3Fy%23z"


# What a server may send


@pytest.mark.parametrize(
    "failure",
    [
        ValueError("x"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "secret"),
        RecursionError(),
        TypeError("x"),
        LookupError("x"),
        MemoryError(),
        httpx.ResponseNotRead(),
    ],
)
@pytest.mark.parametrize("template", [QUERY, PATH])
def test_a_body_that_cannot_be_parsed_is_unclear(failure: Exception, template: str) -> None:
    verdict = look(Broken(failure), template)
    assert facts(verdict) == ("UNCLEAR", None)
    assert verdict.why == "the answer to the read is not readable JSON"


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), SystemExit()])
def test_what_is_meant_for_the_program_passes(signal: BaseException) -> None:
    with pytest.raises(type(signal)):
        look(Broken(signal))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>",
        b"[",
        b"\xff\xfe\x00",
        b'{"ref": "inv-7"',
        b"[" * 100_000,
        b'{"ref":' * 100_000,
        b'[{"ref": ' + b"7" * 5000 + b"}]",
    ],
    ids=lambda content: content[:8].hex(),
)
@pytest.mark.parametrize("template", [QUERY, PATH])
def test_bytes_that_are_no_json_are_unclear(content: bytes, template: str) -> None:
    verdict = look(httpx.Response(200, content=content), template)
    assert facts(verdict) == ("UNCLEAR", None)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999"])
def test_numbers_that_are_none_never_match(text: str) -> None:
    response = httpx.Response(200, content=f'[{{"ref": {text}}}]')
    assert facts(look(response)) == ("UNCLEAR", 0)


@pytest.mark.parametrize(
    "body", [object(), {1: 2}, {None: []}, [{1: "inv-7"}], {"ref": 10**5000}, [10**5000], b"x"]
)
@pytest.mark.parametrize("template", [QUERY, PATH])
def test_a_parser_of_strange_taste_does_no_harm(body: Any, template: str) -> None:
    assert look(Broken(body), template).name != "LANDED"


def test_a_deep_answer_is_walked_without_recursion() -> None:
    deep: Any = {"ref": "inv-7"}
    for _ in range(50_000):
        deep = {"in": deep}
    assert facts(look(Broken(deep), PATH)) == ("LANDED", 1)
    assert look(Broken(deep), where=WHERE).name == "UNCLEAR"


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["inv-7", "INV-7", "inv-8", 7, "7", 7.0])
)
NAMES = st.text(max_size=3) | st.sampled_from(
    ["ref", "n", "data", "id", "next", "has_more", "total", "limit", "meta", "error", "ok"]
)
BODIES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=25,
)
VERIFIERS = st.sampled_from(
    [
        verify.found(QUERY),
        verify.found(QUERY, where=WHERE),
        verify.found(QUERY, items="data"),
        verify.found("?limit=2", where={"data.ref": "{json.ref}", "n": "{json.n}"}),
        verify.found(PATH),
        verify.found(PATH, items="data"),
        verify.found(PATH, where=WHERE, absent=(404,)),
        verify.found(QUERY, baseline=True, item="/o/{match.id}"),
    ]
)


def holds(body: Any, text: str) -> bool:
    if isinstance(body, dict):
        return any(holds(value, text) for value in body.values())
    if isinstance(body, list):
        return any(holds(value, text) for value in body)
    return bool(body == text)


@given(
    VERIFIERS,
    BODIES,
    st.sampled_from([200, 201, 206, 404, 500]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.none() | st.integers(0, 2),
)
def test_no_answer_raises_and_none_lands_without_the_value(
    verifier: Any, body: Any, status: int, known: int, pending: int, baseline: int | None
) -> None:
    response = httpx.Response(status, content=jsonlib.dumps(body))
    call = Call(known=known, pending=pending, baseline=baseline)
    spare = httpx.Response(404)
    steps = verifier.steps(call)
    next(steps)
    with pytest.raises(StopIteration) as end:
        for answer in (response, spare):
            steps.send(answer)
    verdict = end.value.value
    assert verdict.name in ("LANDED", "ABSENT", "UNCLEAR")
    assert ";" not in verdict.why
    assert verdict.again is (verdict.why == "equal calls are still in flight")
    if verdict.name == "LANDED":
        assert holds(body, "inv-7")
        assert 200 <= status <= 299
        assert verdict.count > known
    if verdict.name == "ABSENT":
        assert verdict.count == known + (baseline or 0)
        assert verdict.count or status == 404 or not isinstance(body, str | int | float)


@given(st.lists(st.sampled_from([MATCH, OTHER, {"ref": "inv-9"}]), max_size=9), st.integers(0, 3))
def test_with_a_plain_list_the_count_decides(items: list[Any], known: int) -> None:
    copies = items.count(MATCH)
    verdict = look(items, where=WHERE, call=Call(known=known))
    outcome = "LANDED" if copies > known else "ABSENT" if copies == known else "UNCLEAR"
    assert facts(verdict) == (outcome, copies)


# The object itself


@pytest.mark.parametrize(
    ("template", "given", "counts"),
    [
        (QUERY, {}, True),
        ("{path}?ref={json.ref}", {}, True),
        ("/orders", {"where": WHERE}, True),
        ("/c/{json.n}/orders", {"where": WHERE}, True),
        (PATH, {}, False),
        ("/orders/{json.ref}?n={json.n}", {}, False),
        ("/orders", {}, False),
    ],
)
def test_only_a_list_can_be_counted(template: str, given: dict[str, Any], counts: bool) -> None:
    verifier = verify.found(template, **given)
    assert verifier.counts is counts
    assert verifier.baseline is False
    assert verify.found(template, baseline=True, **given).baseline is True


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        (QUERY, "GET api.example.com/v2/orders"),
        ("/orders/{json.ref}?x={key}", "GET api.example.com/orders/{json.ref}"),
        ("{path}/{key}", "GET api.example.com/v2/orders/{key}"),
        ("https://other.example:8443/a?b={key}", "GET other.example:8443/a"),
    ],
)
def test_the_report_shows_the_template_and_no_value(template: str, shown: str) -> None:
    assert verify.found(template).shown(ORDERS + "?token=secret") == shown


FULL: dict[str, Any] = {
    "items": "a.b",
    "where": {"b.c": "x{key}", "d": "{path}"},
    "item": "/o/{match.id}",
    "absent": (404, 410),
    "baseline": True,
}


@pytest.mark.parametrize("given", [{}, FULL], ids=["short", "full"])
def test_it_is_frozen_hashable_picklable_and_shown_as_written(given: dict[str, Any]) -> None:
    verifier = verify.found(QUERY, **given)
    rest = "".join(f", {name}={value!r}" for name, value in given.items())
    assert repr(verifier) == f"verify.found('?ref={{json.ref}}'{rest})"
    assert pickle.loads(pickle.dumps(verifier)) == verifier
    assert len({verifier, verify.found(QUERY, **given), verify.found("/else/{key}")}) == 2
    with pytest.raises(AttributeError):
        verifier.baseline = True  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize("name", FULL)
def test_every_argument_makes_another_verifier(name: str) -> None:
    assert verify.found(QUERY, **{name: FULL[name]}) != verify.found(QUERY)


def test_the_order_in_which_things_are_given_does_not_matter() -> None:
    one = verify.found(QUERY, where={"a": "{key}", "b": "1"}, absent=[410, 404, 404])
    other = verify.found(QUERY, where={"b": "1", "a": "{key}"}, absent={404, 410})
    assert one == other


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"template": "?ref={jsn.ref}"}, "template: unknown field {jsn.ref}"),
        ({"template": "?ref={json.ref"}, "template: the braces"),
        ({"template": ""}, "template: '' is not a template"),
        ({"template": "?ref={match.id}"}, "template: unknown field {match.id}"),
        ({"items": ""}, "items: '' is not a dotted path"),
        ({"items": 3}, "items: 3 is not a dotted path"),
        ({"where": {}}, "where: give a mapping"),
        ({"where": [("a", "{key}")]}, "where: give a mapping"),
        ({"where": "a"}, "where: give a mapping"),
        ({"where": {"a": 1}}, "where: 1 is not a template"),
        ({"where": {1: "{key}"}}, "where: 1 is not a dotted path"),
        ({"where": {"a..b": "{key}"}}, "where: 'a..b' is not a dotted path"),
        ({"where": {"a": "{match.id}"}}, "where: unknown field"),
        ({"where": {"a": "paid"}}, "where: no value comes from the call"),
        ({"item": "/orders"}, "item: '/orders' has no field"),
        ({"item": "{path}"}, "item: '{path}' has no field"),
        ({"item": "{match.url}"}, "item: '{match.url}' must start with"),
        ({"item": "/orders/{id}"}, "item: unknown field {id}"),
        ({"item": 7}, "item: 7 is not a template"),
        ({"absent": 404}, "absent: 404 is not a sequence"),
        ({"absent": (399,)}, "absent: (399,) is not"),
        ({"absent": (600,)}, "absent: (600,) is not"),
        ({"absent": (404, "410")}, "absent: (404, '410') is not"),
        ({"absent": (404.0,)}, "absent: (404.0,) is not"),
        ({"absent": None}, "absent: None is not"),
        ({"baseline": 1}, "baseline: 1 is neither"),
        ({"baseline": None}, "baseline: None is neither"),
    ],
)
def test_a_bad_argument_is_refused_when_made(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        verify.found(**{"template": QUERY, **given})
    assert str(error.value).startswith(words)


def test_the_edges_of_absent_are_accepted() -> None:
    assert verify.found(QUERY, absent=(400, 599)).absent == (400, 599)
    assert verify.found(QUERY, item="/o?i={match.id}").item is not None
