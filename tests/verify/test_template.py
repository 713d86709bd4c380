"""A template names a URL, or a value, by what the call carried; it is never filled in by halves."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from httpx_recover._template import (
    MISSING,
    Address,
    DoubtError,
    Field,
    alike,
    as_written,
    canonical,
    dig,
    dotted,
    fields,
    parse,
    said,
    written,
)

HUGE = pytest.param(10**5000, id="huge")  # no text: Python refuses to write it
URL = "https://api.example.com/v2/orders?page=3&tag=a&tag=b"


@dataclass
class Call:
    url: str = URL
    json: Any = None
    form: dict[str, str] | None = field(default_factory=lambda: {"ref": "f 7", "a.b": "dot"})
    key: str | None = "k-1"


CALL = Call(json={"ref": "inv-7", "n": 7, "deep": {"er": "x"}, "none": None, "": 1})


def filled(template: str, call: Call = CALL, found: Any = None) -> str:
    return Address.of("template", template, match=True).fill(call, found)


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("?ref={json.ref}", "https://api.example.com/v2/orders?ref=inv-7"),
        ("?", "https://api.example.com/v2/orders"),
        ("/orders?ref={json.ref}", "https://api.example.com/orders?ref=inv-7"),
        ("/orders/{json.ref}", "https://api.example.com/orders/inv-7"),
        ("/", "https://api.example.com/"),
        ("{path}/{json.ref}", "https://api.example.com/v2/orders/inv-7"),
        ("{path}?ref={json.ref}&limit=5", "https://api.example.com/v2/orders?ref=inv-7&limit=5"),
        ("/copy/{path}", "https://api.example.com/copy/v2/orders"),
        ("https://other.example/x/{key}", "https://other.example/x/k-1"),
        ("HTTP://other.example:8080?k={key}", "HTTP://other.example:8080/?k=k-1"),
        ("https://other.example", "https://other.example/"),
        ("https://other.example{path}", "https://other.example/v2/orders"),
        ("https://[::1]:81/{key}", "https://[::1]:81/k-1"),
        ("/a?flag&x=1&&y={json.n}", "https://api.example.com/a?flag=&x=1&y=7"),
        ("/a?x=n-{json.n}-{key}", "https://api.example.com/a?x=n-7-k-1"),
        ("/a?x=a%26b+c", "https://api.example.com/a?x=a%26b+c"),
        ("/{json.deep.er}", "https://api.example.com/x"),
        ("/{form.ref}", "https://api.example.com/f%207"),
        ("/{form.a.b}", "https://api.example.com/dot"),
        ("/{query.page}", "https://api.example.com/3"),
        ("/a?p={path}", "https://api.example.com/a?p=%2Fv2%2Forders"),
        ("/a/ref-{json.ref}.json", "https://api.example.com/a/ref-inv-7.json"),
        ("/{json.ref}/{json.n}", "https://api.example.com/inv-7/7"),
    ],
)
def test_a_template_becomes_an_absolute_url(template: str, url: str) -> None:
    assert filled(template) == url


def test_a_found_item_can_name_the_next_read() -> None:
    assert filled("/o/{match.a.id}?k={match.k}", found={"a": {"id": 5}, "k": "é"}) == (
        "https://api.example.com/o/5?k=%C3%A9"
    )


def test_names_of_forms_and_queries_may_hold_dots() -> None:
    call = Call("https://h.example/?a.b=1&a=2", form={"a.b": "3", "a": "4"})
    assert filled("/{query.a.b}/{form.a.b}", call) == "https://h.example/1/3"


def test_a_call_without_a_path_is_at_the_root() -> None:
    assert filled("?k={key}", Call("https://h.example")) == "https://h.example/?k=k-1"
    assert filled("{path}/{key}", Call("https://h.example")) == "https://h.example/k-1"


@pytest.mark.parametrize("template", ["{path}/{key}/", "{path}{key}/"])
def test_a_trailing_slash_of_the_call_is_not_doubled(template: str) -> None:
    assert filled(template, Call("https://h.example/a%20b/")) == "https://h.example/a%20b/k-1/"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a/b?c#d&e=f", "a%2Fb%3Fc%23d%26e%3Df"),
        ("../x", "..%2Fx"),
        ("%2e%2e", "%252e%252e"),
        ("ü ", "%C3%BC%20"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-7, "-7"),
        (1.0, "1.0"),
        (2.5, "2.5"),
        (1e22, "1e%2B22"),
    ],
)
def test_values_are_percent_encoded_in_full_and_written_as_in_json(value: Any, text: str) -> None:
    call = Call(json={"v": value})
    assert filled("/o/{json.v}", call) == f"https://api.example.com/o/{text}"
    assert filled("?v={json.v}", call) == f"https://api.example.com/v2/orders?v={text}"


@pytest.mark.parametrize(
    "value",
    [None, "", [], ["x"], {}, {"a": 1}, float("nan"), float("inf"), float("-inf"), HUGE],
)
@pytest.mark.parametrize("template", ["/o/{json.v}", "?v={json.v}", "?v=a{json.v}b"])
def test_what_has_no_text_is_never_filled_in(template: str, value: Any) -> None:
    with pytest.raises(DoubtError) as doubt:
        filled(template, Call(json={"v": value}))
    assert str(doubt.value) == "no usable value for {json.v}"


@pytest.mark.parametrize(
    ("template", "call"),
    [
        ("?v={json.ref}", Call()),
        ("?v={json.ref}", Call(json=[1])),
        ("?v={json.ref.x}", CALL),
        ("?v={json.other}", CALL),
        ("?v={form.other}", CALL),
        ("?v={form.ref}", Call(form=None)),
        ("?v={query.other}", CALL),
        ("?v={query.tag}", CALL),  # twice in the URL: which of the two?
        ("?v={query.x}", Call("https://h.example/?x=&x=1")),
        ("?v={key}", Call(key=None)),
        ("?v={match.id}", CALL),
    ],
)
def test_a_missing_value_is_named(template: str, call: Call) -> None:
    with pytest.raises(DoubtError) as doubt:
        filled(template, call)
    assert str(doubt.value) == f"no usable value for {template[3:]}"


def test_half_a_surrogate_pair_cannot_be_written_in_a_url() -> None:
    with pytest.raises(DoubtError, match=r"^the value of \{json.v\} cannot be written in a URL$"):
        filled("/{json.v}", Call(json={"v": "\ud800"}))


@pytest.mark.parametrize("value", [".", ".."])
@pytest.mark.parametrize("template", ["/o/{json.v}", "/o/{json.v}/lines", "{path}/{json.v}"])
def test_a_value_never_climbs_to_another_path(template: str, value: str) -> None:
    with pytest.raises(DoubtError, match=r"^a \. or \.\. in the path would lead to another path$"):
        filled(template, Call(json={"v": value}))


def test_two_dots_are_harmless_beside_other_text_and_in_a_query() -> None:
    call = Call(json={"v": ".."})
    assert filled("/o/a{json.v}", call).endswith("/o/a..")
    assert filled("/o?v={json.v}", call).endswith("/o?v=..")


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("", "not a template"),
        (None, "not a template"),
        (7, "not a template"),
        ("?ref={jsn.ref}", "unknown field {jsn.ref}"),
        ("?ref={json}", "unknown field {json}"),
        ("?ref={json.}", "unknown field {json.}"),
        ("?ref={json..a}", "unknown field {json..a}"),
        ("?ref={json.a.}", "unknown field {json.a.}"),
        ("?ref={path.x}", "unknown field {path.x}"),
        ("?ref={}", "unknown field {}"),
        ("?ref={json.a;b}", "unknown field {json.a;b}"),
        ("?ref={json.a?b}", "unknown field {json.a?b}"),
        ("?ref={match.id}", "unknown field {match.id}"),
        ("?ref={json.ref", "the braces in '?ref={json.ref' do not pair; a literal"),
        ("?ref=json.ref}", "do not pair"),
        ("?ref={{json.ref}}", "do not pair"),
        ("?{json.ref}", "'{json.ref}' has a field in a parameter's name"),
        ("?a{json.ref}=1", "parameter's name"),
        ("orders", "must start with"),
        ("//other.example/x", "must start with"),
        ("ftp://other.example/x", "must start with"),
        ("{json.ref}", "must start with"),
        ("https://{json.ref}/x", "must start with"),
        ("https://h{json.ref}/x", "must start with"),
        ("https:///x", "must start with"),
        ("https://h:x/", "'https://h:x' is not an origin: Port"),
        ("https://[::1/", "not an origin"),
        ("/a#b", "'/a#b' has a fragment or a control"),
        ("/a\nb", "control character"),
    ],
)
def test_a_template_that_can_never_work_is_refused_when_made(template: Any, words: str) -> None:
    with pytest.raises(ValueError, match=r"^thing: ") as error:
        Address.of("thing", template)
    assert words in str(error.value)


def test_the_refusal_lists_the_fields_that_are_allowed_there() -> None:
    plain = "the fields are {json.x}, {form.x}, {query.x}, {path}, {key}"
    with pytest.raises(ValueError, match="unknown") as error:
        parse("thing", "{x}")
    assert str(error.value).endswith(plain)
    with pytest.raises(ValueError, match="unknown") as error:
        parse("thing", "{x}", match=True)
    assert str(error.value).endswith(plain + ", {match.x}")


def test_a_template_is_shown_as_written_without_its_query() -> None:
    def shown(template: str) -> str:
        return Address.of("template", template).shown(URL)

    assert shown("?ref={json.ref}") == "https://api.example.com/v2/orders"
    assert shown("/o/{json.a.b}?x={key}") == "https://api.example.com/o/{json.a.b}"
    assert shown("{path}/{key}") == "https://api.example.com/v2/orders/{key}"
    assert shown("https://h.example:8/x") == "https://h.example:8/x"


def test_the_values_of_path_and_query_are_told_apart() -> None:
    address = Address.of("t", "{path}/{json.a}/x{key}?b={form.b}&c=1&d={path}")
    assert address.path_fields == [Field("json", ("a",)), Field("key")]
    assert address.query_fields == [Field("form", ("b",)), Field("path")]
    own = Address.of("t", "?b={form.b}")
    assert (own.path_fields, own.query_fields) == ([], [Field("form", ("b",))])


def test_parameters_with_a_value_are_named_decoded_and_keep_their_type() -> None:
    address = Address.of("t", "?n={json.n}&limit=5&a%5Bb%5D=x+{json.ref}%21&p={path}")
    assert address.named(Call(URL.replace("orders", "o%20s"), json=CALL.json)) == [
        (("n",), 7),
        (("a[b]",), "x inv-7!"),
        (("p",), "/v2/o s"),
    ]


def test_a_value_template_keeps_the_type_of_one_lone_field() -> None:
    assert said(parse("t", "{json.n}"), CALL) == 7
    assert said(parse("t", "no {json.n}%20"), CALL) == "no 7%20"
    assert said(parse("t", "{json.n}{json.n}"), CALL) == "77"
    assert said(parse("t", "plain"), CALL) == "plain"


@given(st.lists(st.sampled_from(["{json.a.b}", "{key}", "{path}", "{form.a b}", "x", "/", "%7B"])))
def test_a_parsed_template_can_be_written_again(pieces: list[str]) -> None:
    text = "".join(pieces) or "x"
    parts = parse("t", text)
    assert as_written(parts) == text
    assert len(fields(parts)) == text.count("{")


@given(st.text(min_size=1))
def test_any_text_survives_the_way_through_a_url(value: str) -> None:
    assume(value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))
    call = Call(json={"v": value})
    query = httpx.URL(filled("?v={json.v}", call))
    assert parse_qs(urlsplit(str(query)).query, keep_blank_values=True) == {"v": [value]}
    if value not in (".", ".."):
        url = filled("/o/{json.v}", call)
        assert unquote(urlsplit(url).path) == f"/o/{value}"
        assert url.count("/") == 4


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", "a{b", "a}b", None, 3, ["a"]])
def test_a_malformed_dotted_path_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match=r"^items: .*dotted path"):
        dotted("items", text)


def test_a_dotted_path_leads_through_objects_only() -> None:
    value = {"a": {"b": [1], "c": None}}
    assert dig(value, dotted("t", "a.b")) == [1]
    assert dig(value, ("a", "c")) is None
    assert dig(value, ()) is value
    assert dig(value, ("a", "x")) is MISSING
    assert dig(value, ("a", "b", "0")) is MISSING
    assert dig([value], ("a",)) is MISSING


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), (1, 1.0), (True, "true"), (False, "false"), (2.5, "2.5"), (-0.0, 0), ("a", "a")],
)
def test_scalars_with_one_text_are_the_same(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other) is not None


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), ("1", "1.0"), ("a", "A"), ("7", "007"), ("", "null"), (1, 1.5)]
)
def test_scalars_with_two_texts_are_not(one: Any, other: Any) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("value", [None, [], {}, [1], {"a": 1}, b"x", float("nan"), HUGE])
def test_what_is_no_scalar_has_no_text(value: Any) -> None:
    assert written(value) is None
    assert canonical(value) is None


@pytest.mark.parametrize(
    ("have", "want"),
    [
        ("bob@x.example", "Bob@X.example"),
        (" a  b ", "a b"),
        ("\uff21", "a"),  # a full-width A
        ("20.00", 20),
        ("20.50", "20.5"),
        ("0012", "12"),
        ("1e3", 1000),
        (12345678901234567000, 12345678901234567890),
        ("12345678901234567000", 12345678901234567890),
        (12345678901234567000, "12345678901234567890"),
        (0.1 + 0.2, 0.3000000000000000444),
        ("a", "a"),
    ],
)
def test_another_spelling_is_alike(have: Any, want: Any) -> None:
    assert alike(have, want)


@pytest.mark.parametrize(
    ("have", "want"),
    [
        ("a", "b"),
        (1, 2),
        ("1", "one"),
        (None, "null"),
        ([1], "1"),
        ("x", float("nan")),
        ("20260101000000000123", "20260101000000000124"),  # text is exact, however long
        ("nan", 1),
        ("sNaN", 1),
        ("inf", 1e300),
        ("\ud800", 1),
        ("1e99999999999999999999", 1),
        (1, True),
    ],
)
def test_another_value_is_not_alike(have: Any, want: Any) -> None:
    assert not alike(have, want)


@given(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just([]),
    st.booleans() | st.integers() | st.floats() | st.text(),
)
def test_comparing_never_raises_and_the_same_is_alike(have: Any, want: Any) -> None:
    if canonical(have) is not None and canonical(have) == canonical(want):
        assert alike(have, want)
    else:
        assert alike(have, want) in (True, False)


def test_an_address_is_plain_data() -> None:
    address = Address.of("t", "/o/{json.a}?b={key}")
    assert pickle.loads(pickle.dumps(address)) == address
    assert hash(address) == hash(Address.of("t", "/o/{json.a}?b={key}"))
    assert address != Address.of("t", "/o/{json.a}?b={path}")
