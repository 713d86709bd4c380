"""What everything declared amounts to: method, then rule, then block, then the request's own."""

from __future__ import annotations

from typing import Any

import pytest

from httpx_recover import FailureClass, Key, Policy, Rule, verify
from httpx_recover._plan import Plan, Rights, make_plan, make_routes
from httpx_recover._table import EARLY

SAFE = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"]
NO_KEY = Policy(key=Key.none())


def plan(method: str, *layers: Rule, policy: Policy | None = None) -> Plan:
    return make_plan(method, policy or Policy(), *(each.said() for each in layers))


def look(read: Any, call: Any) -> Any:
    raise AssertionError("a plan asks nobody")


# ------------------------------------------------------------------ what the method means


@pytest.mark.parametrize("method", sorted(SAFE))
def test_safe_methods_are_reads(method: str) -> None:
    found = plan(method)
    assert (found.rights.safe, found.rights.idempotent) == (True, True)
    assert (found.key.name, found.traced, found.light) == (None, False, True)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_idempotent_writes_need_neither_key_nor_trace(method: str) -> None:
    found = plan(method)
    assert (found.rights.safe, found.rights.idempotent) == (False, True)
    assert (found.key.name, found.traced, found.light) == (None, False, True)


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_other_writes_get_a_key_that_nobody_trusts_yet(method: str) -> None:
    found = plan(method)
    assert (found.rights.safe, found.rights.idempotent) == (False, False)
    assert (found.key, found.rights.dedupes) == (Key.header("Idempotency-Key"), False)
    assert (found.traced, found.light) == (True, False)


@pytest.mark.parametrize("method", ["LOCK", "MKCOL", "get", "put"])
def test_a_method_nobody_knows_is_a_write_that_must_not_be_repeated(method: str) -> None:
    found = plan(method)  # methods are case-sensitive, RFC 9110 section 9.1
    assert (found.rights.safe, found.rights.idempotent) == (False, False)
    assert (found.key.name, found.traced, found.light) == (None, True, False)


def test_what_nobody_declared_is_the_policys() -> None:
    rights = plan("POST", policy=Policy(attempts=5, settle=None)).rights
    assert rights == Rights(
        safe=False,
        idempotent=False,
        conditional=False,
        dedupes=False,
        window=None,
        verifies=False,
        counts=False,
        baseline=False,
        confirm=False,
        expect=frozenset(),
        classes={},
        attempts=5,
        settle=None,
    )


# ------------------------------------------------------------------ what is declared


def test_a_get_declared_a_write_loses_the_promise_of_its_method() -> None:
    found = plan("GET", Rule(safe=False))
    assert (found.rights.safe, found.rights.idempotent, found.traced) == (False, False, True)
    assert plan("GET", Rule(safe=False, idempotent=True)).rights.idempotent
    assert plan("PUT", Rule(safe=False)).rights.idempotent


def test_a_post_declared_a_read_has_no_key_and_no_verifier() -> None:
    found = plan("POST", Rule(safe=True, dedupes=True, key=Key.header("X"), verify=look))
    assert (found.rights.safe, found.rights.idempotent, found.light) == (True, True, True)
    assert (found.key.name, found.traced) == (None, False)
    assert (found.rights.dedupes, found.rights.verifies) == (False, False)


def test_the_caller_gives_and_takes_permission_to_repeat() -> None:
    given, taken = plan("POST", Rule(idempotent=True)), plan("PUT", Rule(idempotent=False))
    assert (given.rights.idempotent, given.traced) == (True, True)
    assert (taken.rights.idempotent, taken.traced, taken.light) == (False, True, False)


def test_where_the_key_goes() -> None:
    assert plan("POST", policy=Policy(key=Key.header("X-Key"))).key.name == "X-Key"
    assert plan("POST", policy=NO_KEY).key.name is None
    assert plan("POST", Rule(key=Key.none())).key.name is None
    assert plan("POST", Rule(key=Key.header("X")), policy=NO_KEY).key.name == "X"
    assert plan("PUT", Rule(key=Key.header("X"))).key.name == "X"
    assert plan("DELETE", Rule(dedupes=True)).key.name == "Idempotency-Key"


@pytest.mark.parametrize(
    "rule",
    [Rule(verify=look), Rule(dedupes=True), Rule(key=Key.header("X"))],
    ids=["verify", "dedupes", "key"],
)
def test_a_write_with_something_to_prepare_is_not_light(rule: Rule) -> None:
    assert plan("PUT").light
    assert not plan("PUT", rule).light
    assert plan("GET", rule).light


def test_a_verifier_says_what_it_can_do() -> None:
    found = plan("POST", Rule(verify=verify.found("?ref={json.ref}", baseline=True), confirm=True))
    rights = found.rights
    assert (rights.verifies, rights.counts, rights.baseline) == (True, True, True)
    assert rights.confirm
    assert found.verify is not None
    plain = plan("POST", Rule(verify=look))
    assert (plain.rights.counts, plain.rights.baseline, plain.verify) == (False, False, look)


def test_what_only_looks_like_a_promise_to_count_is_none() -> None:
    class Odd:
        counts = baseline = "yes"

        def __call__(self, read: Any, call: Any) -> Any: ...

    rights = plan("POST", Rule(verify=Odd())).rights
    assert (rights.verifies, rights.counts, rights.baseline) == (True, False, False)


def test_the_rest_is_handed_through() -> None:
    def sign(request: Any) -> None: ...

    found = plan("POST", Rule(prepare=sign, identity=("X-Org",), conditional=True, window=60.0))
    assert (found.prepare, found.identity) == (sign, ("X-Org",))
    assert (found.rights.conditional, found.rights.window) == (True, 60.0)
    assert (plan("POST").prepare, plan("POST").identity) == (None, ())


def test_statuses_below_400_that_are_not_simply_a_success() -> None:
    assert {100, 102, 103, 199} < EARLY  # they only announce an answer
    assert plan("GET").odd == EARLY | {202, 207, 208}
    # Only a read may be answered "not modified"; a write that is asked for elsewhere is not done.
    assert plan("PUT").odd == EARLY | {202, 207, 208, 301, 302, 304, 307, 308}
    found = plan("GET", Rule(classes={200: FailureClass.PARTIAL}, expect=(404,)))
    assert found.odd == EARLY | {200, 202, 207, 208}
    assert 101 not in EARLY
    assert found.rights.expect == {404}
    assert found.rights.classes == {200: FailureClass.PARTIAL}


# ------------------------------------------------------------------ layers


def test_later_layers_are_stronger_and_the_rest_shines_through() -> None:
    rule = Rule("POST /x", attempts=5, settle=1, dedupes=True)
    block = Rule(attempts=4, idempotent=True)
    own = Rule(attempts=2, key=Key.header("X"))
    found = plan("POST", rule, block, own)
    assert (found.rights.attempts, found.rights.settle) == (2, 1)
    assert (found.rights.dedupes, found.rights.idempotent, found.key.name) == (True, True, "X")
    assert plan("POST", rule, block).rights.attempts == 4


@pytest.mark.parametrize(
    ("below", "above", "name", "value"),
    [
        (Rule(settle=5), Rule(settle=0), "settle", 0),
        (Rule(settle=5), Rule(settle=None), "settle", None),
        (Rule(safe=True), Rule(safe=False), "safe", False),
        (Rule(idempotent=True), Rule(idempotent=False), "idempotent", False),
        (Rule(conditional=True), Rule(conditional=False), "conditional", False),
    ],
)
def test_zero_none_and_false_are_statements(
    below: Rule, above: Rule, name: str, value: object
) -> None:
    assert getattr(plan("POST", below).rights, name) != value
    assert getattr(plan("POST", below, above).rights, name) == value
    assert getattr(plan("POST", below, Rule()).rights, name) != value  # silence is none


# ------------------------------------------------------------------ routes


def test_routes_keep_the_order_of_their_rules() -> None:
    rules = [Rule("POST /x", attempts=1), Rule("* /**")]
    routes = make_routes(each for each in rules)
    assert [route.rule for route in routes] == rules
    assert (routes[0].said, routes[1].said) == ({"attempts": 1}, {})
    assert [route.pattern.method for route in routes] == ["POST", None]


def test_one_rule_is_as_good_as_a_list_of_one() -> None:
    rule = Rule("POST /x")
    assert make_routes(rule) == make_routes([rule])
    assert make_routes(()) == ()


@pytest.mark.parametrize("rules", ["POST /x", ["POST /x"], [None], [Rule]])
def test_what_is_no_rule_says_how_to_write_one(rules: Any) -> None:
    with pytest.raises(ValueError, match=r"is not a Rule; write Rule\('POST /orders', \.\.\.\)"):
        make_routes(rules)
