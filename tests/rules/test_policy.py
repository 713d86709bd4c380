"""Settings are checked when they are made, and the error names the field."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest

from httpx_recover import FailureClass, Key, Policy, Rule, verify
from httpx_recover._policy import check_colour, is_async


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attempts", 0),
        ("attempts", 1.5),
        ("attempts", True),
        ("recovery_calls", -1),
        ("deadline", 0),
        ("deadline", float("inf")),
        ("deadline", "60"),
        ("jitter", -0.1),
        ("jitter", float("nan")),
        ("settle", -1),
        ("settle", "2"),
        ("backoff", 1.0),
        ("backoff", "12"),
        ("backoff", ()),
        ("backoff", (1.0, -2.0)),
        ("confirm_missing", 1),
        ("key", "Idempotency-Key"),
        ("key", None),
        ("attempts", "3"),
        ("attempts", None),
        ("recovery_calls", 2.0),
        ("deadline", -1),
        ("deadline", None),
        ("deadline", True),
        ("settle", float("inf")),
        ("backoff", ("1",)),
        ("backoff", (float("inf"),)),
        ("confirm_missing", None),
    ],
)
def test_a_bad_limit_names_itself(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Policy(**{name: value})
    with pytest.raises(ValueError, match=name):
        Policy().with_limits({name: value})


def test_the_limits_nobody_set_are_the_contracts() -> None:
    assert Policy() == Policy(
        attempts=3,
        recovery_calls=10,
        deadline=120.0,
        backoff=(1.0, 2.0),
        jitter=0.5,
        settle=2.0,
        confirm_missing=True,
        key=Key.header("Idempotency-Key"),
    )


def test_a_limit_at_its_edge_is_one() -> None:
    policy = Policy(attempts=1, recovery_calls=0, deadline=0.001, jitter=0, settle=0, backoff=(0,))
    assert [policy.pause(retry) for retry in (1, 9)] == [0, 0]


def test_a_single_limit_replaces_one_field_of_a_copy() -> None:
    policy = Policy(attempts=5)
    assert policy.with_limits({}) == policy
    assert policy.with_limits({"deadline": 30, "settle": None}) == Policy(
        attempts=5, deadline=30, settle=None
    )
    assert policy.deadline == 120.0


def test_a_policy_is_plain_data() -> None:
    policy = Policy(backoff=[1, 2], settle=None)  # type: ignore[arg-type] # a list is as good
    assert policy.backoff == (1, 2)
    assert [policy.pause(retry) for retry in (1, 2, 3)] == [1, 2, 2]
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert hash(policy) == hash(Policy(backoff=(1, 2), settle=None))
    with pytest.raises(ValueError, match="'patience' is not a limit; the limits are attempts"):
        policy.with_limits({"patience": 3})
    assert policy.with_limits({"deadline": 30}).deadline == 30


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("match", "/x", "no method"),
        ("safe", "yes", "safe"),
        ("idempotent", 3, "idempotent"),
        ("conditional", "x", "conditional"),
        ("key", "k", "key="),
        ("window", 0, "window"),
        ("verify", "GET /x", "verify="),
        ("confirm", True, "needs a verifier"),
        ("expect", (42,), "expect: 42 is not a status"),
        ("expect", ("404",), "is not a status"),
        ("classes", [409], "classes"),
        ("classes", {42: FailureClass.OK}, "classes: 42"),
        ("classes", {409: "sleepy"}, "FailureClass"),
        ("attempts", 0, "attempts"),
        ("prepare", "sign", "prepare"),
        ("identity", ("",), "identity"),
        ("settle", -1, "settle"),
        ("match", None, "match=None"),
        ("key", Key, "key="),
        ("dedupes", "no", "dedupes='no': must be True or False"),
        ("dedupes", None, "dedupes=None"),
        ("confirm", "x", "confirm='x': must be True or False"),
        ("window", "60", "window='60'"),
        ("window", float("nan"), "window"),
        ("verify", 3, "verify=3"),
        ("expect", None, "expect=None: must be statuses"),
        ("expect", 42, "expect: 42"),
        ("expect", "404", "expect: '.' is not a status"),
        ("expect", (600,), "expect: 600"),
        ("classes", {"409": FailureClass.OK}, "classes: '409' is not a status"),
        ("classes", None, "classes=None"),
        ("attempts", 1.0, "attempts=1.0"),
        ("identity", None, "identity=None: must be header names"),
        ("identity", (b"X-Org",), "identity: b'X-Org' is not a header name"),
        ("settle", "2", "settle='2'"),
        ("settle", True, "settle=True"),
    ],
)
def test_a_bad_fact_names_itself(name: str, value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Rule(**{name: value})


def test_trust_needs_a_key() -> None:
    with pytest.raises(ValueError, match="dedupes=True needs a key"):
        Rule(dedupes=True, key=Key.none())


def test_a_rule_says_only_what_it_says() -> None:
    assert Rule("POST /x").said() == {}
    said = Rule(safe=False, settle=0, expect=404, classes={409: "in_progress"}, identity="X-Org")
    assert said.said() == {  # type: ignore[comparison-overlap]
        "safe": False,
        "settle": 0,
        "expect": frozenset({404}),
        "classes": {409: FailureClass.IN_PROGRESS},
        "identity": ("X-Org",),
    }
    assert Rule(settle=None).said() == {"settle": None}
    assert Rule(safe=None, settle=..., classes={}, expect=(), identity=()).said() == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("safe", False),
        ("idempotent", False),
        ("conditional", False),
        ("settle", 0),
        ("settle", None),
        ("key", Key.none()),
        ("dedupes", True),
        ("window", 60),
        ("attempts", 1),
        ("verify", verify.gone()),
        ("prepare", print),
    ],
)
def test_what_is_said_is_kept_even_when_it_is_false_or_nothing(name: str, value: Any) -> None:
    assert Rule(**{name: value}).said() == {name: value}


def test_a_rule_keeps_its_collections_from_later_changes() -> None:
    expect, classes, identity = {404}, {409: FailureClass.IN_PROGRESS}, ["X-Org"]
    rule = Rule(expect=expect, classes=classes, identity=identity)
    expect.add(500)
    classes.clear()
    identity.clear()
    assert (rule.expect, rule.identity) == (frozenset({404}), ("X-Org",))
    assert rule.classes == {409: FailureClass.IN_PROGRESS}


def test_a_verifier_is_a_function_or_one_of_ours() -> None:
    class Ready:
        steps = ()

    for each in (print, verify.same(), Ready()):
        assert Rule(verify=each, confirm=True).verify is each


def test_coroutine_functions_are_recognised_in_every_dress() -> None:
    async def verifier(read: Any, call: Any) -> Any: ...

    class Object:
        async def __call__(self, read: Any, call: Any) -> Any: ...

    for each in (verifier, partial(verifier, read=None), Object()):
        assert is_async(each)
        with pytest.raises(ValueError, match="coroutine function"):
            check_colour(each)
    check_colour(lambda read, call: None)
    check_colour(verify.gone())
    check_colour(None)
