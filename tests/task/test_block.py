"""`call(...)`: facts for the calls inside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from httpx_recover import Key, UnknownOutcome, call, outcome, task
from tests.task.mocked import LOST, POST, script


def test_facts_hold_inside_only() -> None:
    server, client = script(503)
    with call(safe=True):
        client.post(POST)
    assert len(server.requests) == 3
    client.post(POST)
    assert len(server.requests) == 4
    with call(idempotent=False):
        client.put(POST)
    assert len(server.requests) == 5
    with call(expect={503}):
        found = outcome(client.get(POST))
    assert found is not None
    assert found.failure == "ok"
    assert len(server.requests) == 6


def test_trust_can_be_given_and_taken() -> None:
    server, client = script(LOST, LOST, 201)
    with call(dedupes=True, key=Key.header("X-Key")):
        assert client.post(POST).status_code == 201
    assert server.requests[0].headers["x-key"] == server.requests[2].headers["x-key"]
    _, client = script(LOST)
    with call(dedupes=False), pytest.raises(UnknownOutcome):
        client.post(POST + "/2")


def test_a_key_is_kept_for_a_repeat_of_its_action() -> None:
    server, client = script(LOST, LOST, LOST, 201)
    with call(key="charge-7", dedupes=True):
        with pytest.raises(UnknownOutcome):
            client.post(POST)
        assert client.post(POST).status_code == 201
    assert server.keys == ["charge-7"] * 4


def test_blocks_nest_and_may_be_async() -> None:
    async def main() -> None:
        async with task("t"), call(label="inner; (x)") as block:
            assert block.label == "inner x" or block.label

    asyncio.run(main())
    _, client = script(201)
    with task("t") as t, call(label="a"):
        with call(label="b"):
            client.post(POST)
        client.post(POST, json=1)
    assert [each.split("(")[1][0] for each in t.report().done] == ["b", "a"]


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"key": ""}, "key="),
        ({"key": "ü"}, "key="),
        ({"key": 7}, "key="),
        ({"safe": 3}, "safe"),
        ({"expect": {9}}, "expect"),
        ({"verify": "x"}, "verify"),
    ],
)
def test_bad_facts_are_named(facts: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call(**facts)


def test_more_bad_facts_are_named() -> None:
    with pytest.raises(ValueError, match="dedupes="):
        call(dedupes="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="label="):
        call(label=7)  # type: ignore[arg-type]
