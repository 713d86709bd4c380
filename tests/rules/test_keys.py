"""Keys on the wire, and how long they can be trusted."""

from __future__ import annotations

import pickle

import pytest

from httpx_recover import Key
from httpx_recover._keys import outlasts


def test_a_key_is_bare_or_quoted() -> None:
    assert Key.header().written("k1") == "k1"
    assert Key.header("X-Key", quoted=True).written("k1") == '"k1"'
    assert Key.header().value('"k1"') == "k1"
    assert Key.header().value("k1") == "k1"
    assert Key.header().value('"') == '"'
    assert Key.none().name is None


@pytest.mark.parametrize("name", ["", "two words", "colon:", "ümlaut", "new\nline", 3])
def test_what_is_no_header_name(name: str) -> None:
    with pytest.raises(ValueError, match="not a header name"):
        Key.header(name)


def test_attaching_a_key_is_the_default_and_quoting_is_not() -> None:
    assert Key.header() == Key.header("Idempotency-Key", quoted=False)
    assert len({Key.header("A"), Key.header("A", quoted=True), Key.header("B"), Key.none()}) == 4


@pytest.mark.parametrize("key", [Key.header("X-Key", quoted=True), Key.header(), Key.none()])
def test_a_key_is_a_value_that_travels(key: Key) -> None:
    assert pickle.loads(pickle.dumps(key)) == key
    with pytest.raises(AttributeError):
        key.name = "Other"  # type: ignore[misc] # frozen, which is what is tested


@pytest.mark.parametrize("value", ["k1", "", "a b", 'in"side', "0f1c-22"])
def test_what_is_written_can_be_read_back(value: str) -> None:
    for key in (Key.header(), Key.header(quoted=True)):
        assert key.value(key.written(value)) == value


def test_a_key_is_a_lease_from_the_first_send() -> None:
    assert outlasts(10.0, 5.0, 14.9)
    assert not outlasts(10.0, 5.0, 15.0)
    assert outlasts(10.0, None, 1e9)
    assert outlasts(None, 5.0, 1e9)
