"""What a caller declares: the limits (`Policy`) and what is known about a route (`Rule`).

Both are frozen and checked when they are made, so that a typo is an error on the line that holds
it and not at the first failure, months later.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from math import isfinite
from typing import Any

from httpx_recover._keys import Key
from httpx_recover._patterns import compile_pattern
from httpx_recover._words import FailureClass


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The limits of recovery. All times are seconds.

    Args:
        attempts: sends per call, the first included.
        recovery_calls: resends and recovery reads per task.
        deadline: time for recovery, from a task's first failure.
        backoff: wait before each retry; the last value repeats.
        jitter: up to this much is added to each wait, at random.
        settle: time after a lost attempt before a second look may prove absence; 0 when the
            server reads its own writes at once, None when absence is never proof.
        confirm_missing: confirm a 404 or 410 by one fresh read in a named task.
        key: where an idempotency key goes on POST and PATCH.
        resume_reads: go on with a download that is cut where it was cut, when its entity tag shows
            that it is the same version still (RFC 9110 sections 13.1.5 and 14). Each time is a send
            of the read, and counts as one.
        allow_inner_retries: let a layer below send again by itself. What it sends is not seen, and
            its resends of writes have no evidence.

    Raises:
        ValueError: a value is out of range; the text names the field.
    """

    attempts: int = 3
    recovery_calls: int = 10
    deadline: float = 120.0
    backoff: tuple[float, ...] = (1.0, 2.0)
    jitter: float = 0.5
    settle: float | None = 2.0
    confirm_missing: bool = True
    key: Key = field(default_factory=Key.header)
    resume_reads: bool = False
    allow_inner_retries: bool = False

    def __post_init__(self) -> None:
        _whole("attempts", self.attempts, least=1)
        _whole("recovery_calls", self.recovery_calls, least=0)
        _seconds("deadline", self.deadline, above=0)
        _seconds("jitter", self.jitter)
        if self.settle is not None:
            _seconds("settle", self.settle)
        if isinstance(self.backoff, str) or not isinstance(self.backoff, Iterable):
            raise ValueError(f"backoff={self.backoff!r}: must be seconds such as (1.0, 2.0)")
        object.__setattr__(self, "backoff", tuple(self.backoff))
        if not self.backoff:
            raise ValueError("backoff=(): must hold at least one wait, such as (1.0,)")
        for wait in self.backoff:
            _seconds("backoff", wait)
        for name in ("confirm_missing", "resume_reads", "allow_inner_retries"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be True or False")
        if not isinstance(self.key, Key):
            raise ValueError(f"key={self.key!r}: must be Key.header(...) or Key.none()")

    def with_limits(self, limits: Mapping[str, Any]) -> Policy:
        """A copy with single limits replaced.

        Raises:
            ValueError: a name is not a field of `Policy`, or a value is out of range.
        """
        known = [each.name for each in fields(self)]
        for name in limits:
            if name not in known:
                raise ValueError(f"{name!r} is not a limit; the limits are {', '.join(known)}")
        return replace(self, **limits)

    def pause(self, retry: int) -> float:
        """The wait before retry number `retry`, which counts from 1."""
        return self.backoff[min(retry, len(self.backoff)) - 1]


@dataclass(frozen=True)
class Rule:
    """What the caller knows about the requests that match.

    Args:
        match: `"METHOD pattern"`, see `httpx_recover._patterns`; `"*"` is every request.
        safe: True: a read, whatever its method. False: a write, also under GET.
        idempotent: True: repeating is harmless. False: it is not, also under PUT and DELETE.
        conditional: a precondition sent with POST or PATCH is honoured by the server.
        key: where an idempotency key goes.
        dedupes: the server runs a repeated key once. This is what makes a key evidence.
        window: seconds for which the server remembers a key; None: for the whole task.
        verify: a verifier, `verify(read, call) -> Verdict`, or one of `httpx_recover.verify`.
        confirm: run the verifier after a success too.
        expect: statuses that are an answer and not a failure.
        classes: status to `FailureClass`, where this server means something else.
        attempts: sends per call on this route; 1 without a verifier switches recovery off.
        prepare: called with the request before each resend, to sign it again.
        identity: headers that tell users apart, besides Authorization and Cookie.
        settle: as `Policy.settle`, for this route.

    Raises:
        ValueError: a value cannot be meant; the text names the field and the fix.
    """

    match: str = "*"
    _: KW_ONLY
    safe: bool | None = None
    idempotent: bool | None = None
    conditional: bool | None = None
    key: Key | None = None
    dedupes: bool = False
    window: float | None = None
    verify: Any = None
    confirm: bool = False
    expect: Iterable[int] = ()
    classes: Mapping[int, FailureClass] = field(default_factory=dict)
    attempts: int | None = None
    prepare: Callable[[Any], Any] | None = None
    identity: Iterable[str] = ()
    settle: Any = ...

    def __post_init__(self) -> None:
        compile_pattern(self.match)
        for name in ("safe", "idempotent", "conditional"):
            if getattr(self, name) not in (None, True, False):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be True, False or None")
        for name in ("dedupes", "confirm"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name}={getattr(self, name)!r}: must be True or False")
        if self.key is not None and not isinstance(self.key, Key):
            raise ValueError(f"key={self.key!r}: must be Key.header(...) or Key.none()")
        if self.dedupes and self.key is not None and self.key.name is None:
            raise ValueError("dedupes=True needs a key: leave key= out or give Key.header(...)")
        if self.window is not None:
            _seconds("window", self.window, above=0)
        if self.attempts is not None:
            _whole("attempts", self.attempts, least=1)
        if self.settle is not ... and self.settle is not None:
            _seconds("settle", self.settle)
        self._check_verify()
        object.__setattr__(self, "expect", statuses("expect", self.expect))
        object.__setattr__(self, "classes", _classes(self.classes))
        object.__setattr__(self, "identity", _names("identity", self.identity))

    def _check_verify(self) -> None:
        check_verifier(self.verify)
        if self.confirm and self.verify is None:
            raise ValueError("confirm=True needs a verifier: give verify= as well")
        if self.prepare is not None and not callable(self.prepare):
            raise ValueError(f"prepare={self.prepare!r}: must be a function of the request")

    def said(self) -> dict[str, Any]:
        """The facts that differ from saying nothing, by name."""
        facts = {each.name: getattr(self, each.name) for each in fields(self)}
        del facts["match"]
        return {name: fact for name, fact in facts.items() if fact != getattr(_PLAIN, name)}


def check_verifier(verify: Any) -> None:
    """Refuse what cannot be a verifier."""
    if verify is not None and not callable(verify) and not hasattr(verify, "steps"):
        raise ValueError(
            f"verify={verify!r}: must be a function verify(read, call) -> Verdict, or one of "
            f"verify.found, verify.same, verify.gone"
        )


def check_colour(verify: Any) -> None:
    """Refuse a coroutine function as verifier of a sync client, which cannot await it."""
    if is_async(verify):
        raise ValueError(
            f"verify={verify!r} is a coroutine function: a sync client needs a plain function"
        )


def is_async(function: Any) -> bool:
    """Is this, or does calling this run, a coroutine function?"""
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


def statuses(name: str, values: Iterable[int]) -> frozenset[int]:
    """Check a set of statuses; `name` is the field that holds it."""
    values = (values,) if isinstance(values, int) else values
    if not isinstance(values, Iterable):
        raise ValueError(f"{name}={values!r}: must be statuses such as {{404}}")
    found = frozenset(values)
    for status in found:
        if not isinstance(status, int) or not 100 <= status <= 599:
            raise ValueError(f"{name}: {status!r} is not a status; use numbers such as {{404}}")
    return found


def _classes(classes: Mapping[int, FailureClass]) -> dict[int, FailureClass]:
    if not isinstance(classes, Mapping):
        raise ValueError(f"classes={classes!r}: must map statuses to FailureClass")
    statuses("classes", classes)
    try:
        return {status: FailureClass(named) for status, named in classes.items()}
    except ValueError as wrong:
        raise ValueError(f"classes={classes!r}: {wrong}; use FailureClass members") from None


def _names(field_name: str, names: Iterable[str]) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else names
    if not isinstance(names, Iterable):
        raise ValueError(f"{field_name}={names!r}: must be header names")
    found = tuple(names)
    for name in found:
        if not isinstance(name, str) or not name:
            raise ValueError(f"{field_name}: {name!r} is not a header name")
    return found


def _whole(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r}: must be a whole number, {least} or more")


def _seconds(name: str, value: Any, *, above: float | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"{name}={value!r}: must be a number of seconds")
    if value < 0 or (above is not None and value <= above):
        least = "0 or more" if above is None else f"more than {above}"
        raise ValueError(f"{name}={value!r}: must be {least} seconds")


_PLAIN = Rule()
