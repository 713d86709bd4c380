"""Answers of real APIs: the class, and the wait that the server asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from httpx_recover import Applied, FailureClass, explain

SAMPLES = json.loads(Path(__file__).with_name("samples.json").read_text())
CLASSES = {"unknown": FailureClass.UNKNOWN_OUTCOME}
DONE = {FailureClass.OK, FailureClass.ALREADY_DONE}
REFUSED = {FailureClass.RATE_LIMIT, FailureClass.QUOTA, FailureClass.BAD_INPUT, FailureClass.AUTH}


def named(sample: dict[str, Any]) -> str:
    return f"{sample['api']}-{sample['method']}-{sample['status']}-{sample['expect_class']}"


def bytes_of(body: Any) -> bytes:
    return (body if isinstance(body, str) else json.dumps(body)).encode()


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_a_sample_is_read_as_its_source_says(sample: dict[str, Any]) -> None:
    wanted = sample["expect_class"]
    said = explain(
        sample["status"],
        sample["headers"],
        bytes_of(sample["body"]),
        method=sample["method"],
        api=sample["api"],
        now=sample.get("now"),
    )
    assert said.failure == CLASSES.get(wanted, wanted), said.why
    assert said.wait == pytest.approx(sample["expect_wait_s"]), said.why


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_parsed_json_is_read_like_its_bytes(sample: dict[str, Any]) -> None:
    rest = {"method": sample["method"], "api": sample["api"], "now": 1767225600.0}
    told = [
        explain(sample["status"], sample["headers"], body, **rest)
        for body in (sample["body"], bytes_of(sample["body"]))
    ]
    assert told[0] == told[1]


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_a_write_is_never_said_to_have_failed_where_that_is_not_known(
    sample: dict[str, Any],
) -> None:
    body = bytes_of(sample["body"])
    said = explain(
        sample["status"], sample["headers"], body, method="POST", api=sample["api"], now=0.0
    )
    if sample["status"] >= 500 and sample["status"] != 511:
        assert said.applied is Applied.UNKNOWN
    if said.applied is Applied.YES:
        assert said.failure in DONE
    if said.failure in REFUSED and sample["status"] < 500:
        assert said.applied is Applied.NO


def test_there_are_samples_of_every_class() -> None:
    seen = {CLASSES.get(each["expect_class"], each["expect_class"]) for each in SAMPLES}
    assert len(SAMPLES) == 59 and seen == set(FailureClass)
