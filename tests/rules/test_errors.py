"""Our errors are the client's too, and travel without its requests."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest

import httpx_recover
from httpx_recover import RecoverError, UnknownOutcome, Verdict
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
    copy = pickle.loads(packed)
    assert type(copy) is type(error)
    assert (str(copy), copy.method, copy.url, copy.recovery) == ("lost", "POST", "u", None)


def test_an_error_of_ours_stays_one() -> None:
    error = as_client_error(UnknownOutcome, UnknownOutcome, "lost", outcome="o")
    assert type(error) is UnknownOutcome
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.outcome) == (UnknownOutcome, "o")
    assert isinstance(copy, RecoverError)


def test_an_error_can_be_read_where_the_client_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed = pickle.dumps(as_client_error(UnknownOutcome, httpx.ReadTimeout, "lost"))
    monkeypatch.setitem(sys.modules, "httpx", None)
    error = pickle.loads(packed)
    assert (type(error), str(error)) == (UnknownOutcome, "lost")


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


def test_verdicts_are_values() -> None:
    part = Verdict.PARTIAL(["a", 1], ["b"])
    assert (part.landed, part.missing) == (("a", "1"), ("b",))
    assert part == Verdict.PARTIAL(("a", "1"), ("b",))
    assert len({part, Verdict.PARTIAL(["a", "1"], ["b"]), Verdict.LANDED}) == 2
    assert pickle.loads(pickle.dumps(Verdict.LANDED)) == Verdict.LANDED
    assert Verdict.LANDED != Verdict.ABSENT
    assert Verdict.LANDED != "LANDED"
    assert repr(Verdict.UNCLEAR) == "Verdict.UNCLEAR"
    assert repr(part) == "Verdict.PARTIAL(('a', '1'), ('b',))"
