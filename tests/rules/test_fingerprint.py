"""Which requests are the same request."""

from __future__ import annotations

import pytest

from httpx_recover._fingerprint import fingerprint, identity

URL = "https://h.example/a?x=1&y=2"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "one", "other"),
    [
        (JSON, b'{"a": 1, "b": [2]}', b'{"b":[2],"a":1}'),
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
    ],
)
def test_what_matters(other: tuple[str, str, str, bytes | None]) -> None:
    assert fingerprint(*other) != fingerprint("POST", URL, JSON, b"{}")


def test_what_cannot_be_read_is_known_by_its_length() -> None:
    assert fingerprint("POST", URL, "", None, "5") == fingerprint("POST", URL, "", None, "5")
    assert fingerprint("POST", URL, "", None, "5") != fingerprint("POST", URL, "", None, "6")


def test_broken_and_bottomless_json_is_taken_as_bytes() -> None:
    deep = b"[" * 100_000
    assert fingerprint("POST", URL, JSON, deep) == fingerprint("POST", URL, JSON, deep)
    assert fingerprint("POST", URL, JSON, b"\xff") != fingerprint("POST", URL, JSON, b"\xfe")


def test_credentials_tell_users_apart() -> None:
    assert identity(["a", None]) == identity(["a", None])
    assert identity(["a", None]) != identity([None, "a"])
