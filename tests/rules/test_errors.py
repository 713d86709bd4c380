"""Our errors are the client's too, and travel without its requests."""

from __future__ import annotations

import copy
import importlib.util
import pickle
import ssl
import sys
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest

import httpx_recover
from httpx_recover import RecoverError, UnknownOutcome
from httpx_recover._errors import as_client_error


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_an_error_is_of_both_kinds(library: Any) -> None:
    error = as_client_error(UnknownOutcome, library.ReadTimeout, "lost", method="POST", url="u")
    assert isinstance(error, UnknownOutcome)
    assert isinstance(error, library.ReadTimeout)
    again = as_client_error(UnknownOutcome, library.ReadTimeout, "lost")
    assert type(again) is type(error)
    error.request = library.Request("POST", "http://h/", headers={"Authorization": "s3cret"})
    packed = pickle.dumps(error)
    assert b"s3cret" not in packed
    read = pickle.loads(packed)
    assert type(read) is type(error)
    assert (str(read), read.method, read.url, read.recovery) == ("lost", "POST", "u", None)
    with pytest.raises(RuntimeError):
        read.request  # noqa: B018 - httpx raises when there is none


def test_an_error_that_shows_itself_in_its_own_way_shows_our_text() -> None:
    """asyncio lets errors of TLS pass as they are."""
    error = as_client_error(UnknownOutcome, ssl.SSLError, "lost")
    assert isinstance(error, ssl.SSLError)
    assert (str(error), str(pickle.loads(pickle.dumps(error)))) == ("lost", "lost")


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize("name", ["ReadTimeout", "WriteError", "TransportError"])
def test_who_catches_the_clients_error_catches_ours(library: Any, name: str) -> None:
    base = getattr(library, name)
    for wide in (base, library.TransportError, library.HTTPError, UnknownOutcome, RecoverError):
        with pytest.raises(wide, match=r"^lost$"):
            raise as_client_error(UnknownOutcome, base, "lost")


def test_there_is_one_class_for_each_pair() -> None:
    made = {
        (kind, base): type(as_client_error(kind, base, "x"))
        for kind in (RecoverError, UnknownOutcome)
        for base in (httpx.ReadTimeout, httpx.ReadError, httpx2.ReadTimeout)
    }
    assert len(set(made.values())) == 6
    assert {pair: type(as_client_error(*pair, "y")) for pair in made} == made
    lost = made[UnknownOutcome, httpx.ReadTimeout]
    assert (lost.__name__, lost.__module__) == ("UnknownOutcome", UnknownOutcome.__module__)
    assert lost.__doc__ == UnknownOutcome.__doc__


def test_what_travels_is_message_method_url_and_outcome() -> None:
    facts: dict[str, Any] = {"outcome": ("any", "value"), "method": "POST", "url": "https://h/a"}
    for error in (
        UnknownOutcome("lost", **facts),
        as_client_error(UnknownOutcome, httpx.ReadTimeout, "lost", **facts),
    ):
        for read in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(read) is type(error)
            assert {name: getattr(read, name) for name in facts} == facts
            assert (str(read), read.recovery) == ("lost", ("any", "value"))


def test_an_error_of_somebodys_own_kind_travels_too() -> None:
    error = Refined("lost", method="PUT")
    read = pickle.loads(pickle.dumps(error))
    assert (type(read), str(read), read.method, read.url) == (Refined, "lost", "PUT", None)


class Refined(UnknownOutcome):
    """A caller's own."""


def test_an_error_of_ours_stays_one() -> None:
    error = as_client_error(UnknownOutcome, UnknownOutcome, "lost", outcome="o")
    assert type(error) is UnknownOutcome
    read = pickle.loads(pickle.dumps(error))
    assert (type(read), read.outcome) == (UnknownOutcome, "o")
    assert isinstance(read, RecoverError)


def test_an_error_of_a_mount_below_gives_the_clients_type() -> None:
    below = as_client_error(UnknownOutcome, httpx.ReadTimeout, "lost")
    error = as_client_error(UnknownOutcome, type(below), "lost", url="u")
    assert isinstance(error, httpx.ReadTimeout)
    assert (type(pickle.loads(pickle.dumps(error))), error.url) == (type(error), "u")


class NeedsMore(httpx.ReadError):
    """A transport's own, which a message alone does not make."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def test_a_type_that_a_message_does_not_make_gives_way_to_its_base() -> None:
    error = as_client_error(UnknownOutcome, NeedsMore, "lost", method="POST")
    assert isinstance(error, httpx.ReadError)
    assert not isinstance(error, NeedsMore)
    assert (str(error), error.method) == ("lost", "POST")


@pytest.mark.parametrize("base", [Exception, KeyboardInterrupt, RecoverError])
def test_what_is_no_clients_type_adds_nothing(base: type[BaseException]) -> None:
    assert type(as_client_error(UnknownOutcome, base, "lost")) is UnknownOutcome


def test_the_outcome_can_be_hung_on_under_either_name() -> None:
    error: Any = UnknownOutcome("lost")
    error.recovery = "later"
    assert (error.outcome, error.recovery) == ("later", "later")


def test_an_error_can_be_read_where_the_client_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = pickle.dumps(as_client_error(UnknownOutcome, httpx.ReadTimeout, "lost"))
    monkeypatch.setitem(sys.modules, "httpx", None)
    error = pickle.loads(packed)
    assert (type(error), str(error)) == (UnknownOutcome, "lost")


def test_an_error_can_be_read_where_the_clients_type_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = pickle.dumps(as_client_error(UnknownOutcome, httpx.ReadTimeout, "lost", url="u"))
    monkeypatch.delattr(httpx, "ReadTimeout")
    error = pickle.loads(packed)
    assert (type(error), str(error), error.url) == (UnknownOutcome, "lost", "u")


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_a_missing_library_is_named_with_its_extra(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(httpx_recover.__file__).with_name(f"{library}.py")
    spec = importlib.util.spec_from_file_location("probe", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"httpx-recover\[{library}\]"):
        spec.loader.exec_module(module)
