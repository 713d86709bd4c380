"""Settings are checked when they are made, and the error names the field."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import pytest

from httpx_recover import FailureClass, Key, Policy, Rule, verify
from httpx_recover._plan import make_plan, make_routes
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
    ],
)
def test_a_bad_limit_names_itself(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name):
        Policy(**{name: value})
    with pytest.raises(ValueError, match=name):
        Policy().with_limits({name: value})


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


# ------------------------------------------------------------------ plans


def plan(method: str, *layers: Rule, policy: Policy | None = None) -> Any:
    return make_plan(method, policy or Policy(), *(each.said() for each in layers))


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"])
def test_safe_methods_are_reads(method: str) -> None:
    found = plan(method)
    assert found.rights.safe
    assert found.light
    assert found.key.name is None


def test_writes_by_method() -> None:
    put, post = plan("PUT"), plan("POST")
    assert (put.rights.idempotent, put.traced, put.light, put.key.name) == (True, False, True, None)
    assert (post.rights.idempotent, post.traced, post.light) == (False, True, False)
    assert post.key.name == "Idempotency-Key"
    assert not plan("LOCK").rights.idempotent


def test_a_get_declared_a_write_loses_the_promise_of_its_method() -> None:
    found = plan("GET", Rule(safe=False))
    assert not found.rights.idempotent
    assert found.traced
    assert plan("PUT", Rule(safe=False)).rights.idempotent
    assert plan("PUT", Rule(idempotent=False)).traced


def test_a_post_declared_a_read_is_one() -> None:
    found = plan("POST", Rule(safe=True, dedupes=True))
    assert found.rights.safe
    assert found.key.name is None
    assert not found.rights.dedupes


def test_later_layers_are_stronger_and_the_rest_shines_through() -> None:
    found = plan("POST", Rule(attempts=5, settle=1), Rule(attempts=2, key=Key.header("X")))
    assert (found.rights.attempts, found.rights.settle, found.key.name) == (2, 1, "X")
    assert plan("DELETE", Rule(dedupes=True)).key.name == "Idempotency-Key"
    assert plan("POST", policy=Policy(key=Key.none())).key.name is None
    assert plan("POST", Rule(settle=None)).rights.settle is None


def test_routes_are_rules() -> None:
    rule = Rule("POST /x")
    assert make_routes(rule)[0].rule is rule
    assert make_routes([rule, rule])[1].pattern.method == "POST"
    with pytest.raises(ValueError, match="is not a Rule"):
        make_routes(["POST /x"])  # type: ignore[list-item]
