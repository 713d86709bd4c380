"""`same` proves that what was PUT is shown, `gone` that what was deleted is not."""

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

URL = "https://api.example.com/orders/7?v=2"
UNSURE = "not every member that was sent is shown as it was sent"


@dataclass
class Call:
    method: str = "PUT"
    url: str = URL
    headers: Mapping[str, str] = field(default_factory=dict)
    json: Any = None
    form: dict[str, str] | None = None
    content: bytes | None = None
    key: str | None = None
    attempts: int = 1
    known: int = 0
    pending: int = 0
    baseline: int | None = None


def drive(verifier: Any, call: Call, answer: Any) -> tuple[Verdict, str]:
    """Play the server: the verdict, and the URL that was read."""
    steps = verifier.steps(call)
    read = next(steps)
    assert read.params is None
    with pytest.raises(StopIteration) as end:
        steps.send(answer)
    return end.value.value, read.url


def put(sent: Any, shown: Any) -> Verdict:
    """The verdict of `same` on a JSON body and the JSON that is shown for it."""
    call = Call(json=sent, content=jsonlib.dumps(sent).encode() + b" ")
    return drive(verify.same(), call, httpx.Response(200, json=shown))[0]


def put_bytes(sent: bytes, answer: httpx.Response, kind: str = "") -> Verdict:
    call = Call(content=sent, headers=httpx.Headers({"Content-Type": kind} if kind else {}))
    return drive(verify.same(), call, answer)[0]


def unread(verifier: Any, call: Call) -> Verdict:
    """The verdict of a verifier that makes no read."""
    with pytest.raises(StopIteration) as end:
        next(verifier.steps(call))
    verdict: Verdict = end.value.value
    return verdict


# Which URL


@pytest.mark.parametrize("make", [verify.same, verify.gone])
@pytest.mark.parametrize(
    ("url", "read"),
    [
        (None, URL),
        ("/state", "https://api.example.com/state"),
        ("{path}/{json.a}", "https://api.example.com/orders/7/1"),
        ("?v={query.v}&k={key}", "https://api.example.com/orders/7?v=2&k=k-1"),
    ],
)
def test_the_calls_own_url_or_the_template_is_read(make: Any, url: str | None, read: str) -> None:
    call = Call(json={"a": 1}, key="k-1")
    assert drive(make(url), call, httpx.Response(500))[1] == read


@pytest.mark.parametrize("make", [verify.same, verify.gone])
def test_without_the_value_no_read_is_made(make: Any) -> None:
    verdict = unread(make("/o/{key}"), Call(content=b"x"))
    assert (verdict.name, verdict.why) == ("UNCLEAR", "no usable value for {key}")


@pytest.mark.parametrize("make", [verify.same, verify.gone])
@pytest.mark.parametrize("url", ["", "orders", "/{x}", "/{match.id}", 7])
def test_a_bad_url_is_refused_when_made(make: Any, url: Any) -> None:
    with pytest.raises(ValueError, match=r"^url: "):
        make(url)


@pytest.mark.parametrize("make", [verify.same, verify.gone])
def test_it_is_plain_data_that_counts_nothing(make: Any) -> None:
    name = make.__name__
    assert repr(make()) == f"verify.{name}()"
    assert repr(make("/o/{key}")) == f"verify.{name}('/o/{{key}}')"
    assert pickle.loads(pickle.dumps(make("/o/{key}"))) == make("/o/{key}")
    assert len({make(), make(), make("/o"), make("/p")}) == 3
    assert (make().counts, make().baseline) == (False, False)
    assert make().shown(URL) == "GET api.example.com/orders/7"
    assert make("/o/{key}?a=1").shown(URL) == "GET api.example.com/o/{key}"
    with pytest.raises(AttributeError):
        make().url = None


def test_the_two_are_never_equal() -> None:
    assert len({verify.same("/o"), verify.gone("/o")}) == 2


# same: JSON


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ({"a": 1}, {"a": 1}),
        ({"a": 1}, {"id": 7, "a": 1, "links": []}),
        ({"a": {"b": "x"}}, {"a": {"b": "x", "c": 1}}),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": None}, {"a": None}),
        ({}, {}),
        ({"a": {}, "b": []}, {"a": {}, "b": []}),
        ([1, "x", None, True], [1, "x", None, True]),
        ("text", "text"),
        (0, 0),
        (False, False),
    ],
)
def test_every_sent_member_shown_with_its_value_has_landed(sent: Any, shown: Any) -> None:
    assert put(sent, shown) == Verdict.LANDED


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1, "b": 2}, {"a": 2, "b": 2}),
        ({"a": 1, "b": 2}, {"a": 2}),
        ({"a": 1}, {"a": None}),
        ({"a": None}, {"a": 0}),
        ({"a": "x"}, {"a": ["x"]}),
        ({"a": {"b": 1}}, {"a": {"b": 2}}),
        ({"a": {"b": 1}}, {"a": "b"}),
        ({"a": {"b": 1}}, {"a": [1]}),
        ({"a": [1]}, {"a": [1, 2]}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}),
        ({"a": []}, {"a": {}}),
        ({"a": True}, {"a": 1}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": True}, {"a": False}),
        ({"a": "x"}, ["a"]),
        ([1], {"a": 1}),
        (1, 2),
    ],
)
def test_a_value_that_differs_is_absent(sent: Any, shown: Any) -> None:
    assert put(sent, shown) == Verdict.ABSENT


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ({"a": 1, "secret": "x"}, {"a": 1}),
        ({"secret": "x", "a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, {"data": {"a": 1}}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({"a": {}}, {"a": {"b": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "id": 5}]}),
        ({"a": 20.5}, {"a": "20.50"}),
        ({"a": "Bob@x.example"}, {"a": "bob@x.example"}),
        ({"a": True}, {"a": "true"}),
        ({"a": "1"}, {"a": 1}),
    ],
)
def test_what_is_not_shown_or_shown_in_another_way_is_unclear(sent: Any, shown: Any) -> None:
    verdict = put(sent, shown)
    assert (verdict.name, verdict.why) == ("UNCLEAR", UNSURE)


def test_one_difference_outweighs_every_doubt() -> None:
    for sent in ({"a": 1, "b": 1, "c": "X"}, {"c": "X", "b": 1, "a": 1}):
        assert put(sent, {"a": 2, "c": "x"}) == Verdict.ABSENT


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_is_none_is_unclear(text: str) -> None:
    answer = httpx.Response(200, content=f'{{"a": {text}}}')
    verdict, _ = drive(verify.same(), Call(json={"a": 1}, content=b"{}"), answer)
    assert (verdict.name, verdict.why) == ("UNCLEAR", UNSURE)


@pytest.mark.parametrize("content", [b"", b"<html>", b"\xff", b"[" * 100_000])
def test_an_answer_that_is_not_json_is_unclear(content: bytes) -> None:
    answer = httpx.Response(200, content=content)
    verdict, _ = drive(verify.same(), Call(json={"a": 1}, content=b"x"), answer)
    assert verdict.name == "UNCLEAR"
    assert verdict.why == "the answer to the read is not readable JSON"


def test_a_deep_answer_is_compared_without_recursion() -> None:
    class Deep:
        status_code = 200
        headers: Mapping[str, str] = httpx.Headers()
        content = b""

        def __init__(self, leaf: int) -> None:
            self.leaf: Any = leaf

        def json(self) -> Any:
            value = self.leaf
            for _ in range(50_000):
                value = [{"a": value}]
            return value

    call = Call(json=Deep(1).json())
    assert drive(verify.same(), call, Deep(1))[0] == Verdict.LANDED
    assert drive(verify.same(), call, Deep(2))[0] == Verdict.ABSENT


# same: bytes


def test_equal_bytes_have_landed_and_others_are_absent() -> None:
    assert put_bytes(b"\x00a", httpx.Response(200, content=b"\x00a")) == Verdict.LANDED
    assert put_bytes(b"", httpx.Response(200, content=b"")) == Verdict.LANDED
    assert put_bytes(b"\x00a", httpx.Response(200, content=b"\x00b")) == Verdict.ABSENT


def test_equal_bytes_need_no_parser() -> None:
    text = b'{"a": NaN, "a": 1}'
    call = Call(json={"a": 1}, content=text)
    assert drive(verify.same(), call, httpx.Response(200, content=text))[0] == Verdict.LANDED


@pytest.mark.parametrize(
    ("sent", "shown", "outcome"),
    [
        ("text/plain", "text/plain", "ABSENT"),
        ("Text/Plain ; charset=utf-8", "text/plain; charset=latin-1", "ABSENT"),
        ("", "text/plain", "ABSENT"),
        ("text/plain", "", "ABSENT"),
        ("application/x-www-form-urlencoded", "application/json", "UNCLEAR"),
        ("image/png", "application/json", "UNCLEAR"),
    ],
)
def test_bytes_of_two_media_types_cannot_be_compared(sent: str, shown: str, outcome: str) -> None:
    headers = {"Content-Type": shown} if shown else {}
    verdict = put_bytes(b"a=1", httpx.Response(200, content=b"{}", headers=headers), sent)
    assert verdict.name == outcome
    why = "the body is shown as another media type than was sent"
    assert verdict.why == (why if outcome == "UNCLEAR" else "")


def test_a_body_that_cannot_be_read_makes_no_read() -> None:
    verdict = unread(verify.same(), Call())
    assert (verdict.name, verdict.why) == ("UNCLEAR", "the call has no body that can be read")


def test_a_json_body_alone_is_enough() -> None:
    call = Call(json={"a": 1})
    assert drive(verify.same(), call, httpx.Response(200, json={"a": 1}))[0] == Verdict.LANDED


# same: statuses


@pytest.mark.parametrize("status", [404, 410])
def test_same_is_absent_when_there_is_nothing(status: int) -> None:
    assert put_bytes(b"x", httpx.Response(status, content=b"x")) == Verdict.ABSENT


@pytest.mark.parametrize("status", [199, 202, 204, 205, 300, 304, 401, 403, 409, 429, 500, 503])
def test_same_is_unclear_when_nothing_is_shown(status: int) -> None:
    verdict = put_bytes(b"x", httpx.Response(status, content=b"x"))
    assert (verdict.name, verdict.why) == ("UNCLEAR", f"the read was answered {status}")


def test_a_part_of_the_body_proves_no_difference() -> None:
    verdict = put_bytes(b"xyz", httpx.Response(206, content=b"xy"))
    assert (verdict.name, verdict.why) == ("UNCLEAR", "the read was answered in part")
    assert put_bytes(b"xyz", httpx.Response(206, content=b"xyz")) == Verdict.LANDED


LEAVES = st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=3)
BODIES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=10,
)


def shows(sent: Any, shown: Any, *, exact: bool = False) -> bool:
    """The same promise, written the plain way."""
    if isinstance(sent, dict) and isinstance(shown, dict):
        names = sent.keys() == shown.keys() if exact or not sent else sent.keys() <= shown.keys()
        return names and all(shows(sent[name], shown[name], exact=exact) for name in sent)
    if isinstance(sent, list) and isinstance(shown, list):
        return len(sent) == len(shown) and all(
            shows(one, other, exact=True) for one, other in zip(sent, shown, strict=True)
        )
    return isinstance(sent, bool) == isinstance(shown, bool) and bool(sent == shown)


@given(BODIES.filter(lambda body: body is not None), BODIES)
def test_no_answer_raises_and_only_the_sent_body_has_landed(sent: Any, shown: Any) -> None:
    answer = httpx.Response(200, content=jsonlib.dumps(shown))
    verdict, _ = drive(verify.same(), Call(json=sent, content=b"-"), answer)
    assert (verdict == Verdict.LANDED) is shows(sent, shown)


# gone


@pytest.mark.parametrize("status", [404, 410])
def test_gone_has_landed_when_there_is_nothing(status: int) -> None:
    verdict, _ = drive(verify.gone(), Call("DELETE"), httpx.Response(status))
    assert verdict == Verdict.LANDED


@pytest.mark.parametrize("status", [200, 201, 202, 204, 206, 299])
@pytest.mark.parametrize("content", [b"", b"{}", b"text", b"[]", b'{"id": 7, "deleted": false}'])
def test_gone_is_absent_when_the_thing_is_there(status: int, content: bytes) -> None:
    answer = httpx.Response(status, content=content)
    assert drive(verify.gone(), Call("DELETE"), answer)[0] == Verdict.ABSENT


@pytest.mark.parametrize("status", [199, 300, 304, 400, 401, 403, 409, 429, 451, 500, 503])
def test_gone_is_unclear_otherwise(status: int) -> None:
    verdict, _ = drive(verify.gone(), Call("DELETE"), httpx.Response(status))
    assert (verdict.name, verdict.why) == ("UNCLEAR", f"the read was answered {status}")


@pytest.mark.parametrize(
    "mark", [{"deleted": True}, {"is_deleted": 1}, {"deletedAt": "2026-01-01"}, {"deleted_at": 1}]
)
def test_a_thing_marked_as_deleted_is_unclear(mark: dict[str, Any]) -> None:
    answer = httpx.Response(200, json={"id": "cus_1", **mark})
    verdict, _ = drive(verify.gone(), Call("DELETE"), answer)
    assert verdict.name == "UNCLEAR"
    assert verdict.why == "the object is still shown, marked as deleted"


@given(BODIES)
def test_no_answer_to_gone_raises_or_lands_with_a_2xx(shown: Any) -> None:
    answer = httpx.Response(200, content=jsonlib.dumps(shown))
    assert drive(verify.gone(), Call("DELETE"), answer)[0] == Verdict.ABSENT
