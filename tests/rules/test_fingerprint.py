"""Which requests are the same request."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpx_recover._fingerprint import fingerprint, identity, normal_body

URL = "https://h.example/a?x=1&y=2"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (JSON, b'{"a": 1, "b": [2]}', b'{"b":[2],"a":1}'),
        (JSON, b'{"a": {"c": 1, "b": "\\u00fc"}}', '{"a":{"b":"\u00fc","c":1}}'.encode()),
        ("Application/Problem+JSON; charset=utf-8", b"[ 1 ]", b"[1]"),
        (FORM + "; charset=utf-8", b"a=1+2&b=", b"b=&a=1%202"),
        (FORM, b"a=%c3%bc", "a=\u00fc".encode()),
        (FORM, b"a=1&b=2", b"b=2&a=1"),
        ("multipart/form-data; boundary=aa", b"--aa\r\nx\r\n--aa--", b"--aa\r\nx\r\n--aa--"),
    ],
)
def test_the_form_of_a_body_does_not_matter(kind: str, one: bytes, other: bytes) -> None:
    assert fingerprint("POST", URL, kind, one) == fingerprint("POST", URL, kind, other)


def test_a_random_boundary_does_not_matter() -> None:
    one = fingerprint("POST", URL, 'multipart/form-data; boundary="aa"', b"--aa\r\nx\r\n--aa--")
    two = fingerprint("POST", URL, "multipart/form-data; boundary=bb", b"--bb\r\nx\r\n--bb--")
    assert one == two
    assert fingerprint("POST", URL, "multipart/form-data", b"x")


def test_the_order_of_the_query_does_not_matter() -> None:
    same = fingerprint("GET", "https://h.example/a?y=2&x=1", "", b"")
    assert same == fingerprint("GET", URL, "", b"")


@pytest.mark.parametrize(
    "other",
    [
        ("PUT", URL, JSON, b"{}"),
        ("POST", URL + "&z=1", JSON, b"{}"),
        ("POST", URL.replace("https", "http"), JSON, b"{}"),
        ("POST", URL, JSON, b'{"a": 1}'),
        ("POST", URL, JSON, b"{"),
        ("POST", URL, "text/plain", b"{ }"),
        ("POST", URL, JSON, None),
        ("POST", URL.replace("h.example", "g.example"), JSON, b"{}"),
        ("POST", URL.replace("h.example", "h.example:8443"), JSON, b"{}"),
        ("POST", URL.replace("/a", "/b"), JSON, b"{}"),
        ("POST", URL.replace("x=1", "x=2"), JSON, b"{}"),
        ("POST", URL.replace("x=1", "x=1&x=1"), JSON, b"{}"),
        ("POST", URL + "&blank=", JSON, b"{}"),
    ],
)
def test_what_matters(other: tuple[str, str, str, bytes | None]) -> None:
    assert fingerprint(*other) != fingerprint("POST", URL, JSON, b"{}")


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (JSON, b"[1, 2]", b"[2, 1]"),
        (JSON, b'{"a": 1}', b'{"a": "1"}'),
        (JSON, b'{"a": 1}', b'{"a": true}'),
        (JSON, b'{"a": null}', b"{}"),
        (FORM, b"a=1", b"a=1&a=1"),
        (FORM, b"a=", b""),
        (FORM, b"a=%ff", b"a=%fe"),
        (FORM, b"a=\xff", b"a=\xfe"),
        (FORM, b"a=\xff", b"a=%c3%bf"),
        ("text/plain", b"a=1&b=2", b"b=2&a=1"),
        ("multipart/form-data; boundary=aa", b"--aa\r\nx\r\n--aa--", b"--aa\r\ny\r\n--aa--"),
    ],
)
def test_bodies_that_say_something_else_are_kept_apart(kind: str, one: bytes, other: bytes) -> None:
    assert fingerprint("POST", URL, kind, one) != fingerprint("POST", URL, kind, other)


def test_bytes_of_a_query_that_are_no_text_are_kept_apart() -> None:
    one, two = (
        fingerprint("GET", f"https://h.example/?x={each}", "", b"") for each in ("%ff", "%fe")
    )
    assert one != two


def test_a_body_that_cannot_be_read_is_not_an_empty_one() -> None:
    assert fingerprint("POST", URL, JSON, None) != fingerprint("POST", URL, JSON, b"")


def test_method_url_and_body_do_not_run_into_each_other() -> None:
    one = fingerprint("POST", "https://h.example/a", "text/plain", b"b")
    assert one != fingerprint("POST", "https://h.example/", "text/plain", b"ab")
    assert identity(["ab", "c"]) != identity(["a", "bc"])


KINDS = st.sampled_from([JSON, FORM, "multipart/form-data; boundary=aa", "text/plain", ""])


@given(KINDS | st.text(), st.binary() | st.text().map(lambda text: text.encode()))
def test_no_body_raises(kind: str, body: bytes) -> None:
    assert normal_body(kind, body) == normal_body(kind, body)


def test_what_cannot_be_read_is_known_by_its_length() -> None:
    assert fingerprint("POST", URL, "", None, "5") == fingerprint("POST", URL, "", None, "5")
    assert fingerprint("POST", URL, "", None, "5") != fingerprint("POST", URL, "", None, "6")


def test_broken_and_bottomless_json_is_taken_as_bytes() -> None:
    deep = b"[" * 100_000
    assert normal_body(JSON, deep) == deep
    assert normal_body(JSON, b"[" + b"9" * 5000 + b" ]") == b"[" + b"9" * 5000 + b" ]"
    assert fingerprint("POST", URL, JSON, b"\xff") != fingerprint("POST", URL, JSON, b"\xfe")


def test_credentials_tell_users_apart() -> None:
    assert identity(["a", None]) == identity(["a", None])
    assert identity(["a", None]) != identity([None, "a"])
    assert identity(["None"]) != identity([None])
    assert identity(["\ud800"]) != identity(["\ud801"])


@pytest.mark.parametrize(
    ("one", "other"),
    [(b"1e400", b"1e500"), (b'{"a": 1, "a": 2}', b'{"a": 3, "a": 2}'), (b"1.5", b'"1.5"')],
)
def test_what_a_float_or_a_dictionary_would_make_equal_is_not(one: bytes, other: bytes) -> None:
    assert fingerprint("POST", URL, JSON, one) != fingerprint("POST", URL, JSON, other)


def test_a_body_that_says_how_long_it_is_is_not_its_length() -> None:
    assert fingerprint("POST", URL, "", b"length 5") != fingerprint("POST", URL, "", None, "5")
