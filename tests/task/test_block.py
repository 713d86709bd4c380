"""`call(...)`: facts for the calls inside."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from httpx_recover import Key, Rule, UnknownOutcome, Verdict, call, outcome, task
from tests.task.script import LOST, POST, Server, known, script


def test_facts_hold_inside_only() -> None:
    server, client = script(503)
    with call(safe=True):
        client.post(POST)
    assert len(server.seen) == 3
    client.post(POST)
    assert len(server.seen) == 4
    with call(idempotent=False):
        client.put(POST)
    assert len(server.seen) == 5
    with call(expect={503}):
        found = outcome(client.get(POST))
    assert found is not None
    assert found.failure == "ok"
    assert len(server.seen) == 6


def test_trust_can_be_given_and_taken() -> None:
    server, client = script(LOST, LOST, 201)
    with call(dedupes=True, key=Key.header("X-Key")):
        assert client.post(POST).status_code == 201
    assert server.seen[0].headers["x-key"] == server.seen[2].headers["x-key"]
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


def test_a_key_is_for_one_action() -> None:
    server, client = script(201)
    with call(key="charge-7"):
        client.post(POST, json=1)
        with pytest.raises(ValueError, match=r"call\(key='charge-7\.\.\.'\): a second action"):
            client.post(POST, json=2)
    assert server.keys == ["charge-7"]


def test_an_unknown_action_keeps_its_key_and_a_second_one_has_none() -> None:
    server, client = script(LOST, 201)
    with call(key="charge-7"), task("t"):
        with pytest.raises(UnknownOutcome) as first:
            client.post(POST, json=1)
        with pytest.raises(UnknownOutcome) as again:
            client.post(POST, json=1)
        with pytest.raises(ValueError, match="a second action"):
            client.post(POST, json=2)
    assert known(first.value).key == known(again.value).key == "charge-7"
    assert server.keys == ["charge-7"]


def test_a_key_on_the_request_is_kept() -> None:
    server, client = script(201)
    with call(key="charge-7"):
        client.post(POST, headers={"Idempotency-Key": "mine"})
        client.post(POST)
    assert server.keys == ["mine", "charge-7"]


def test_a_key_can_go_under_another_name() -> None:
    server, client = script(201)
    with call(key=Key.header("X-Request-Id", quoted=True)):
        answer = client.post(POST)
    assert server.keys == [None]
    assert server.seen[0].headers["x-request-id"] == f'"{known(answer).key}"'


def test_a_verifier_can_be_given() -> None:
    server, client = script(LOST)
    seen: list[Any] = []

    def landed(read: Any, sent: Any) -> Verdict:
        seen.append(sent.json)
        return Verdict.LANDED

    with task("t") as t, call(verify=landed), pytest.raises(httpx.ReadTimeout):
        client.post(POST, json={"ref": "a"})
    assert seen == [{"ref": "a"}]
    assert len(server.seen) == 1
    assert t.report().done == ("POST api.example.com/orders #1 verified by caller",)


def test_declared_idempotent_is_sent_again() -> None:
    server, client = script(LOST, 201)
    with task("t") as t, call(idempotent=True, key=Key.none()):
        assert client.post(POST).status_code == 201
    assert len(server.seen) == 2
    assert "after 2 sends" in t.report().done[0]


def test_declared_a_write_a_get_is_not_sent_again() -> None:
    server, client = script(503)
    with call(safe=False):
        client.get(POST)
    assert len(server.seen) == 1


def test_a_block_beats_the_rule_and_the_request_beats_the_block() -> None:
    rules = [Rule("GET /orders", expect={404})]
    _, client = script(404, rules=rules)
    assert known(client.get(POST)).failure == "ok"
    with call(expect=()):
        assert known(client.get(POST)).failure == "not_found"
        answer = client.get(POST, extensions={"recover": Rule(expect={404})})
        assert known(answer).failure == "ok"
    server, client = script(LOST, rules=[Rule("POST /**", dedupes=True)])
    with call(dedupes=False), pytest.raises(UnknownOutcome):
        client.post(POST)
    assert len(server.seen) == 1


def test_an_inner_block_adds_to_the_one_around() -> None:
    server, client = script(503)
    with task("t") as t, call(idempotent=False, label="outer"), call(expect={404}):
        client.put(POST)
    assert len(server.seen) == 1
    assert "#1 (outer)" in t.report().unknown[0]


def test_an_inner_block_shares_the_key_of_the_one_around() -> None:
    server, client = script(201)
    with call(key="charge-7") as outer:
        assert (outer.value, outer.used) == ("charge-7", None)
        with call(label="x"):
            client.post(POST, json=1)
        with pytest.raises(ValueError, match="a second action"):
            client.post(POST, json=2)
        with call(key="charge-8"):
            client.post(POST, json=3)
        with call(key=Key.header("X-Key")):
            client.post(POST, json=4)
    assert server.keys == ["charge-7", "charge-8", None]


def test_a_block_ends_where_an_error_leaves_it() -> None:
    server, client = script(503)
    with pytest.raises(KeyError), call(safe=True):
        raise KeyError
    client.post(POST)
    assert len(server.seen) == 1


def test_blocks_hold_under_an_async_client() -> None:
    server = Server(LOST, 201)

    async def main() -> httpx.Response:
        async with server.aclient() as client, call(key="charge-7", dedupes=True, label="x"):
            return await client.post("/orders")

    assert asyncio.run(main()).status_code == 201
    assert server.keys == ["charge-7", "charge-7"]


def test_blocks_nest_and_may_be_async() -> None:
    async def main() -> None:
        async with task("t"), call(label="inner; (x)") as block:
            assert block.label == "inner x"

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
        ({"key": "a\r\nX-Admin: 1"}, "key="),
        ({"key": " a"}, "key="),
        ({"dedupes": True, "key": Key.none()}, "dedupes=True needs a key"),
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
