"""What everything that was declared amounts to for one request.

In the order of strength: what the method means (RFC 9110 section 9.2), then the first rule that
matches, then a `call(...)` block, then the request's own `extensions={"recover": Rule(...)}`.
Each layer says only what it says; the rest shines through from below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from httpx_recover._keys import Key
from httpx_recover._patterns import Pattern, compile_pattern
from httpx_recover._policy import Policy, Rule
from httpx_recover._table import EARLY, ELSEWHERE
from httpx_recover._words import FailureClass

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})
IDEMPOTENT = SAFE | {"PUT", "DELETE"}  # RFC 9110 section 9.2.2
KEYED = frozenset({"POST", "PATCH"})


class Rights(NamedTuple):
    """What the engine may do with one call: plain facts, without a caller's functions."""

    safe: bool
    idempotent: bool
    conditional: bool
    dedupes: bool
    window: float | None
    verifies: bool
    counts: bool
    baseline: bool
    confirm: bool
    expect: frozenset[int]
    classes: Mapping[int, FailureClass]
    attempts: int
    settle: float | None


class Plan(NamedTuple):
    """Everything declared about one request, merged."""

    rights: Rights
    key: Key
    verify: Any
    prepare: Callable[[Any], Any] | None
    identity: tuple[str, ...]
    traced: bool  # is the phase worth its price: a resend would need proof
    light: bool  # nothing to prepare: a success needs no record
    lean: bool  # a key or a trace to prepare, but a success needs no record either
    resumes: bool  # may a download go on where it was cut
    body: Any  # what makes the body anew for a resend, None when nothing was said
    odd: frozenset[int]  # statuses below 400 that are not simply a success


def make_plan(method: str, policy: Policy, *layers: Mapping[str, Any]) -> Plan:
    """Merge what was said about a request; later layers are stronger."""
    said: dict[str, Any] = {}
    for layer in layers:
        said.update(layer)
    rights = _rights(method, policy, said)
    key = said.get("key")
    if key is None:
        key = policy.key if method in KEYED or rights.dedupes else Key.none()
    if rights.safe:
        key = Key.none()
    traced = not rights.safe and (method in KEYED or not rights.idempotent)
    light = rights.safe or not (traced or rights.verifies or rights.dedupes or key.name)
    lean = not light and not rights.verifies and "body" not in said
    odd = EARLY | frozenset(rights.classes) | {202, 207, 208}
    if not rights.safe:
        odd |= {304} | ELSEWHERE
    return Plan(
        rights,
        key,
        said.get("verify"),
        said.get("prepare"),
        said.get("identity", ()),
        traced,
        light,
        lean,
        policy.resume_reads and method == "GET" and rights.safe,
        said.get("body"),
        odd,
    )


def _rights(method: str, policy: Policy, said: Mapping[str, Any]) -> Rights:
    safe = said.get("safe", method in SAFE)
    # A GET that is declared a write has lost the promise that its method makes.
    repeatable = safe or (method in IDEMPOTENT and method not in SAFE)
    verify = said.get("verify")
    return Rights(
        safe=safe,
        idempotent=said.get("idempotent", repeatable),
        conditional=said.get("conditional", False),
        dedupes=said.get("dedupes", False) and not safe,
        window=said.get("window"),
        verifies=verify is not None and not safe,
        counts=getattr(verify, "counts", False) is True,
        baseline=getattr(verify, "baseline", False) is True,
        confirm=said.get("confirm", False),
        expect=said.get("expect", frozenset()),
        classes=said.get("classes", {}),
        attempts=said.get("attempts", policy.attempts),
        settle=said.get("settle", policy.settle),
    )


class Route(NamedTuple):
    """A rule, ready to be matched."""

    rule: Rule
    pattern: Pattern
    said: dict[str, Any]


def make_routes(rules: Iterable[Rule]) -> tuple[Route, ...]:
    """Check and compile rules, in their order.

    Raises:
        ValueError: an element is not a `Rule`.
    """
    routes = []
    for rule in (rules,) if isinstance(rules, Rule) else rules:
        if not isinstance(rule, Rule):
            raise ValueError(f"rules: {rule!r} is not a Rule; write Rule('POST /orders', ...)")
        routes.append(Route(rule, compile_pattern(rule.match), rule.said()))
    return tuple(routes)
