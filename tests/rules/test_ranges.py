"""Which download can go on where it was cut, and what counts as the rest of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpx_recover._ranges import Version, version_of

ANSWER = {"etag": '"v1"', "content-length": "100"}
PART = {"etag": '"v1"', "content-range": "bytes 40-99/100"}
FIRST = Version('"v1"', "", 100)


def version(status: int = 200, **changed: str) -> Version | None:
    headers = ANSWER | {name.replace("_", "-"): value for name, value in changed.items()}
    return version_of(status, headers.get)


def test_a_strong_tag_makes_a_version() -> None:
    assert version() == FIRST
    assert version(etag='""') == Version('""', "", 100)
    assert version(content_encoding="GZip") == Version('"v1"', "gzip", 100)
    assert version_of(200, {"etag": '"v1"'}.get) == Version('"v1"', "", None)


@pytest.mark.parametrize("tag", ['W/"v1"', "v1", '"v1', "", '"a"b"', '"a b"', '"v1", "v2"'])
def test_anything_else_makes_none(tag: str) -> None:
    assert version(etag=tag) is None


def test_nor_does_an_answer_that_cannot_be_gone_on_with() -> None:
    assert version(206) is None
    assert version(203) is None
    assert version(accept_ranges=" None ") is None
    assert version(accept_ranges="bytes") == FIRST
    assert version_of(200, {}.get) is None


@pytest.mark.parametrize("length", ["", "-1", "1e3", "१००", "1" * 19])
def test_a_length_that_is_none_is_not_known(length: str) -> None:
    assert version(content_length=length) == Version('"v1"', "", None)


def test_with_a_transfer_coding_the_length_says_nothing() -> None:
    assert version(transfer_encoding="chunked") == Version('"v1"', "", None)


def test_the_rest_is_asked_for_of_the_same_version_only() -> None:
    assert FIRST.rest(40) == {"Range": "bytes=40-", "If-Range": '"v1"'}


def is_rest(of: Version = FIRST, status: int = 206, start: int = 40, **changed: str) -> bool:
    headers = PART | {name.replace("_", "-"): value for name, value in changed.items()}
    return of.is_continued(status, headers.get, start)


def test_the_rest_of_the_same_version_goes_on() -> None:
    assert is_rest()
    assert is_rest(content_range=" bytes 40-99/* ")
    unknown = FIRST._replace(length=None)
    assert is_rest(unknown)
    assert is_rest(unknown, content_range="bytes 40-50/*")
    assert is_rest(FIRST._replace(coding="gzip"), content_encoding=" Gzip")


@pytest.mark.parametrize(
    "changed",
    [
        {"etag": '"v2"'},
        {"etag": 'W/"v1"'},
        {"content_encoding": "gzip"},
        {"content_range": "bytes 41-99/100"},
        {"content_range": "bytes 39-99/100"},
        {"content_range": "bytes 40-98/100"},
        {"content_range": "bytes 40-99/101"},
        {"content_range": "bytes 40-100/101"},
        {"content_range": "bytes 40-39/100"},
        {"content_range": "bytes */100"},
        {"content_range": "items 40-99/100"},
        {"content_range": "bytes 40-99/100, bytes 1-2/100"},
        {"content_range": "bytes 4٠-99/100"},
        {"content_range": ""},
    ],
)
def test_what_does_not_say_clearly_that_it_is_the_rest_is_not(changed: dict[str, str]) -> None:
    assert not is_rest(**changed)


@pytest.mark.parametrize("status", [200, 203, 416, 404, 503])
def test_only_a_206_goes_on(status: int) -> None:
    assert not is_rest(status=status)


def test_nor_is_a_part_that_does_not_say_of_which_version_it_is() -> None:
    """There are servers that ignore If-Range and send a part of whatever they have now."""
    assert not FIRST.is_continued(206, {"content-range": "bytes 40-99/100"}.get, 40)


def test_a_rest_that_ends_early_is_none_when_the_length_is_told_late() -> None:
    unknown = FIRST._replace(length=None)
    assert not is_rest(unknown, content_range="bytes 40-98/100")
    assert not is_rest(unknown, content_range="bytes 40-39/*")


def test_a_part_may_tell_the_length_of_the_whole() -> None:
    assert FIRST.length_told(PART.get) == 100
    assert FIRST.length_told({"content-range": "bytes 40-99/*"}.get) is None
    assert FIRST.length_told({}.get) is None


@given(st.text(), st.text(), st.text(), st.integers(0, 999))
def test_nothing_that_a_server_sends_raises(a: str, b: str, c: str, start: int) -> None:
    headers = {"etag": a, "content-range": b, "content-length": c, "content-encoding": a}
    found = version_of(200, headers.get)
    assert found is None or found.rest(start)["If-Range"] == a
    assert FIRST.is_continued(206, headers.get, start) in (True, False)
