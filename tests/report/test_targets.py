"""What comes from outside is one short, printable line when a report shows it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpx_recover._targets import (
    clean_code,
    clean_label,
    clean_name,
    clean_note,
    clean_word,
    target,
)

UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.example.com/orders", "api.example.com/orders"),
        ("https://api.example.com", "api.example.com/"),
        ("https://api.example.com?key=s3cret", "api.example.com/"),
        ("https://api.example.com/a?key=s3cret#part", "api.example.com/a"),
        ("https://api.example.com/a#part?x=1", "api.example.com/a"),
        ("https://me:s3cret@api.example.com/a", "api.example.com/a"),
        ("https://me:s3@cret@api.example.com/a", "api.example.com/a"),
        ("https://API.Example.com/Orders", "api.example.com/Orders"),
        ("//api.example.com/a", "api.example.com/a"),
        ("/orders/7", "/orders/7"),
        ("", "/"),
    ],
)
def test_a_target_is_host_and_path_without_what_may_be_secret(url: str, shown: str) -> None:
    assert target(url) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h.example:80/a", "h.example/a"),
        ("https://h.example:443/a", "h.example/a"),
        ("HTTPS://h.example:443/a", "h.example/a"),
        ("http://h.example:443/a", "h.example:443/a"),
        ("https://h.example:80/a", "h.example:80/a"),
        ("http://h.example:8080/a", "h.example:8080/a"),
        ("http://h.example:8080", "h.example:8080/"),
        ("http://h.example:/a", "h.example/a"),
        ("ws://h.example:80/a", "h.example:80/a"),
        ("http://[2001:db8::1]:80/a", "[2001:db8::1]/a"),
        ("http://[2001:db8::1]:8080/a", "[2001:db8::1]:8080/a"),
        ("https://me:pw@[::1]/", "[::1]/"),
    ],
)
def test_only_the_ports_that_a_scheme_does_not_imply_are_shown(url: str, shown: str) -> None:
    assert target(url) == shown


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/a%2Fb%20c", "/a%2Fb%20c"),
        ("/a%zz%", "/a%zz%"),
        ("/a b", "/a%20b"),
        ("/a;v=1", "/a%3Bv=1"),
        ('/"<>\\^`', "/%22%3C%3E%5C%5E%60"),
        ("/ü", "/%C3%BC"),
        ("/\n\t\x00\x7f", "/%0A%09%00%7F"),
        ("/a\u202eb\u2028c", "/a%E2%80%AEb%E2%80%A8c"),
        ("/\ud800", "/%ED%A0%80"),
        ("/orders/{match.id}", "/orders/{match.id}"),
        ("/!$&'()*+,:=@[]|~-._", "/!$&'()*+,:=@[]|~-._"),
    ],
)
def test_a_path_keeps_its_encoding_and_gets_what_it_lacks(path: str, shown: str) -> None:
    assert target(f"https://h.example{path}") == f"h.example{shown}"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("me:s3cret@h.example/a", "h.example/a"),
        ("https:me:s3cret@h.example/a", "h.example/a"),
        ("h.example:8080/a", "h.example:8080/a"),
        ("http://[::1/a", "[::1/a"),
        ("http://h.example:port/a", "h.example:port/a"),
        ("http:///a", "/a"),
        ("not a url", "not%20a%20url/"),
        ("\n", "%0A/"),
    ],
)
def test_a_broken_url_gives_something_printable_and_no_secret(url: str, shown: str) -> None:
    assert target(url) == shown


def test_a_target_is_cut_at_120_characters() -> None:
    assert target("https://h.example/" + "a" * 110) == "h.example/" + "a" * 110
    assert target("https://h.example/" + "a" * 111) == "h.example/" + "a" * 110


@given(st.text() | st.text().map("https://h.example/".__add__))
def test_no_text_at_all_breaks_a_target(url: str) -> None:
    shown = target(url)
    assert 1 <= len(shown) <= 120
    assert all("!" <= sign <= "~" and sign not in '";<>\\^`' for sign in shown)
    assert clean_word(shown, 120) == shown


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("inv-4", "inv-4"),
        ("a b;c", "a%20b%3Bc"),
        ("", "-"),
        ("x" * 41, "x" * 40),
    ],
)
def test_a_word_has_no_spaces(text: str, word: str) -> None:
    assert clean_word(text) == word


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import invoices", "import invoices"),
        ("  a \t\r\n b\u00a0\u3000c ", "a b c"),
        ("a\x00\x1b[31mb", "a [31mb"),
        ("a\u202eb\u200bc\u2028d\u2029e\u0085f", "a b c d e f"),
        ("a\ud800b", "a b"),
        ("x" * 81, "x" * 80),
        ("x" * 79 + " y", "x" * 79),
        ("\n\u202e ", "-"),
        ("", "-"),
    ],
)
def test_a_name_is_one_line_of_at_most_80_characters(text: str, name: str) -> None:
    assert clean_name(text) == name


@given(st.text(), st.integers(1, 90))
def test_a_clean_name_is_clean_and_stays_as_it_is(text: str, limit: int) -> None:
    name = clean_name(text, limit)
    assert 1 <= len(name) <= limit
    assert not UNSEEN & {unicodedata.category(sign) for sign in name}
    assert name == " ".join(name.split()) == clean_name(name, limit)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("inv-7", "inv-7"),
        ("a; (b)\nc", "a b c"),
        ("X;Y", "XY"),
        ("x" * 41, "x" * 40),
        (";()", None),
        (" \n", None),
        ("", None),
        (None, None),
    ],
)
def test_a_label_has_no_separators_and_may_be_nothing(text: str | None, label: str | None) -> None:
    assert clean_label(text) == label


def test_a_note_is_one_line_without_semicolons() -> None:
    assert clean_note("gone now;\nnot proven") == "gone now, not proven"
    assert clean_note("x" * 161) == "x" * 160


@pytest.mark.parametrize("code", ["INVALID_DATE", "a.b-c_9", "x" * 40])
def test_a_code_is_handed_on_as_it_is(code: str) -> None:
    assert clean_code(code) == code


@pytest.mark.parametrize("text", [None, "", "x" * 41, "two words", "A;B", "A\n", "é", "A/B"])
def test_what_is_no_code_is_left_out(text: str | None) -> None:
    assert clean_code(text) is None
