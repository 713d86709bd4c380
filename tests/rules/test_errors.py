"""Our errors are the client's too, and travel without its requests."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import httpx
import httpx2
import pytest

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


def test_an_error_can_be_read_where_the_client_is_not_installed() -> None:
    packed = pickle.dumps(as_client_error(UnknownOutcome, httpx.ReadTimeout, "lost"))
    code = (
        "import sys, pickle\nsys.modules['httpx'] = None\n"
        f"error = pickle.loads({packed!r})\nprint(type(error).__mro__[1].__name__, error)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert told.split() == ["RecoverError", "lost"]


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
