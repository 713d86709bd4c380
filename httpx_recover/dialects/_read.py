"""The reading of an answer: its class, did the server act, how long to wait, and why.

The order: what the API's preset says about this answer, then the standards and the codes that
everybody understands, then the status. A preset may know that a 200 hides a failure; a stranger's
200 is never looked into, since a key called `error` there is data.

Below 500 a refusal means what its class means. From 500 up a body may name the class, and a write
still stays UNKNOWN, unless the vendor promises in a fact marked P that it did not act. `hint` is
the server's word on sending again (`*-should-retry`, `transient-error`, `retryable`). It says
*may I*, never *was it applied*: use it for reads and keyed writes, never as evidence for another.

Pure, and it raises nothing, whatever the server sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from httpx_recover._table import classify
from httpx_recover._targets import clean_code
from httpx_recover._words import Applied, FailureClass
from httpx_recover.dialects import _statements
from httpx_recover.dialects._body import Found, code_of, look
from httpx_recover.dialects._codes import plain, standard
from httpx_recover.dialects._partial import Items, failed_items, said
from httpx_recover.dialects._paths import values_at
from httpx_recover.dialects._ratelimit import long_policies
from httpx_recover.dialects._records import ClassFact, Dialect, HintFact, LookFact

_REFUSED: Final = frozenset(
    {FailureClass.RATE_LIMIT, FailureClass.QUOTA, FailureClass.BAD_INPUT}
    | {FailureClass.AUTH, FailureClass.NOT_FOUND}
)
_HINTS: Final = ("x-should-retry", "stripe-should-retry", "should-retry", "transient-error")
_CODE_HEADERS: Final = ("x-amzn-errortype", "x-ms-error-code", "x-error-code")
_NO_CODE: Final = frozenset(
    {"ERROR", "ERRORS", "FAIL", "FAILED", "FAILURE", "ABOUT", "FALSE", "TEXT"}
)


class Answer(NamedTuple):
    """What came back. `get` looks a header up by its lower-case name; `body` may be its start."""

    status: int
    get: Callable[[str], str | None]
    body: bytes | str = b""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer means.

    Args:
        failure: the class.
        applied: did the server act.
        wait: seconds that the server asks for; None: it says none, our own backoff holds.
        code: the API's code, `[A-Za-z0-9_.-]{1,40}`, or None.
        hint: the server's word on sending again, None when it says nothing.
        sign: what it says about the key: replay, deduped, withdrawn, conflict, twin, or None.
        items: what failed inside a success.
        fact: what decided, in a few words, and its `source`.
        waited: where the wait stands and the source that tells its unit.
    """

    failure: FailureClass
    applied: Applied
    wait: float | None
    code: str | None
    hint: bool | None
    sign: str | None
    items: Items | None
    fact: str
    source: str
    waited: str


class _Decided(NamedTuple):
    failure: FailureClass
    fact: str
    source: str
    code: str = ""
    sign: str | None = None
    applied: Applied | None = None
    items: Items | None = None


def wants_body(status: int, dialects: Sequence[Dialect]) -> bool:
    """Must the start of the body be at hand for `read`? Always for an error, seldom else."""
    return status >= 400 or any(each.looks_into_success for each in dialects)


def read(answer: Answer, *, safe: bool, now: float, dialects: Sequence[Dialect] = ()) -> Reading:
    """Read an answer.

    Args:
        answer: status, headers, and the start of the body.
        safe: the call is a read.
        now: our clock in epoch seconds, for dates when the response has none of its own.
        dialects: what is known about the API, the nearest first; only facts that may act.
    """
    status, get = answer.status, answer.get
    dialects = [each for each in dialects if each.via is None or _holds(each.via, get)]
    found = _found(answer, dialects)
    now = _statements.clock(get, now)
    waits = _statements.told(get, found, now)
    codes = _codes(found, get, dialects)
    row, row_applied = classify(status, safe=safe, retry_after=bool(waits))
    decided = _decide(answer, found, codes, dialects, told=bool(waits))
    if decided is None:
        failure, applied = row, row_applied
    else:
        failure, applied = decided.failure, _applied(decided, status, row_applied)
    if safe and failure is FailureClass.UNKNOWN_OUTCOME:
        failure = FailureClass.TRANSIENT
    wait = _statements.wait_of(get, found, now, status, failure, dialects, waits)
    return Reading(
        failure,
        applied,
        None if wait is None or failure is FailureClass.OK else wait.seconds,
        _code(decided, codes, status),
        _hint(found, get, dialects),
        (decided and decided.sign) or _sign(status, get, dialects),
        decided.items if decided else None,
        decided.fact if decided else f"status {status}",
        decided.source if decided else "RFC 9110 and the registry of statuses",
        "" if wait is None or failure is FailureClass.OK else f"{wait.where} ({wait.source})",
    )


def _found(answer: Answer, dialects: Sequence[Dialect]) -> Found:
    if not answer.body or not wants_body(answer.status, dialects):
        return Found()
    return look(answer.body, (answer.get("content-type") or "")[:200].lower())


def _decide(
    answer: Answer,
    found: Found,
    codes: dict[str, str],
    dialects: Sequence[Dialect],
    *,
    told: bool,
) -> _Decided | None:
    """What says more than the status; None when nothing does."""
    status, get = answer.status, answer.get
    hides = None
    if status < 400:
        hides = next(
            (fact for each in dialects for fact in each.looks if _fires(fact, found)), None
        )
        if hides is None:
            return _success(status, found, get, dialects)
        if hides.beside and any(_full(each) for each in values_at(found.document, hides.beside)):
            items = next(
                (each for d in dialects if (each := failed_items(found.document, d))), None
            )
            return _Decided(
                FailureClass.PARTIAL,
                f"{hides.path} beside {hides.beside}",
                str(hides.source),
                items=items,
            )
    for dialect in dialects:
        for fact in dialect.classes:
            code = _matches(fact, status, get, found, codes)
            if code is not None:
                return _Decided(
                    fact.is_, _words(fact, code), str(fact.source), code, fact.sign, fact.applied
                )
    policies = get("ratelimit-policy") or ""
    named = standard(found, codes.values(), status, told=told, long=long_policies(policies))
    if named is not None:
        return _Decided(named.failure, named.fact, named.source, named.code, named.sign)
    if hides is None:
        return None
    said_so = f"{hides.path} in a success"
    return _Decided(
        hides.otherwise, said_so, str(hides.source), applied=hides.applied or Applied.UNKNOWN
    )


def _success(
    status: int, found: Found, get: Callable[[str], str | None], dialects: Sequence[Dialect]
) -> _Decided | None:
    """A success that hides nothing may hold failed items, or be the answer of an earlier try."""
    for dialect in dialects:
        items = failed_items(found.document, dialect)
        if items is not None:
            fact = f"{len(items.failed)} of {items.seen} items failed"
            return _Decided(FailureClass.PARTIAL, fact, items.source, items=items)
    if 200 <= status < 300 and status not in (202, 207):
        for dialect in dialects:
            for sign in dialect.signs:
                if sign.means == "replay" and sign.header and _holds(sign.header, get):
                    done, fact = FailureClass.ALREADY_DONE, f"header {sign.header}"
                    return _Decided(
                        done, fact, str(sign.source), sign="replay", applied=Applied.YES
                    )
    return None


def _applied(decided: _Decided, status: int, row: Applied) -> Applied:
    if decided.applied is not None:
        return decided.applied
    if decided.fact == "duplicate: true" and status < 500:
        return Applied.YES
    if decided.failure in (FailureClass.OK, FailureClass.ALREADY_DONE) or decided.sign:
        return Applied.UNKNOWN  # a candidate: some request used the key, or made the thing
    if status < 400:
        return Applied.NO if decided.failure in _REFUSED else Applied.UNKNOWN
    if decided.failure in _REFUSED or decided.failure is FailureClass.TRANSIENT:
        return row
    # A conflict about the state, before the method was applied: 412 and 423.
    return (
        row
        if decided.failure is FailureClass.CONFLICT and status in (412, 423)
        else Applied.UNKNOWN
    )


def _matches(
    fact: ClassFact,
    status: int,
    get: Callable[[str], str | None],
    found: Found,
    codes: dict[str, str],
) -> str | None:
    """The code that a row is about, "" for a row without one; None when it does not fit."""
    if fact.status and status not in fact.status:
        return None
    code = next((kept for word, kept in codes.items() if word in fact.code), None)
    if fact.code and code is None:
        return None
    if fact.header and not _holds(fact.header, get):
        return None
    if fact.without and get(fact.without) is not None:
        return None
    if fact.text and not any(fact.text.lower() in each.lower() for each in found.sentences):
        return None
    if fact.path and not _stands(fact.path, fact.equals, found):
        return None
    return code or ""


def _fires(fact: LookFact, found: Found) -> bool:
    return found.document is not None and _stands(fact.path, fact.equals, found)


def _stands(path: str, equals: tuple[str, ...], found: Found) -> bool:
    values = values_at(found.document, path)
    return any(said(each) in equals if equals else _full(each) for each in values)


def _full(value: object) -> bool:
    return value not in ("", [], {}, False)


def _holds(wanted: str, get: Callable[[str], str | None]) -> bool:
    name, colon, value = wanted.partition(": ")
    text = get(name)
    return text is not None and (not colon or text.strip().lower() == value)


def _codes(
    found: Found, get: Callable[[str], str | None], dialects: Sequence[Dialect]
) -> dict[str, str]:
    """The codes of an answer by the word they are compared as, the more telling first."""
    every = [code_of(text[:200]) for name in _CODE_HEADERS if (text := get(name))]
    for dialect in dialects:
        for fact in dialect.codes:
            every += [code_of(value) for value in values_at(found.document, fact.path)]
    codes: dict[str, str] = {}
    for code in [*every, *found.codes]:
        if word := plain(code):
            codes.setdefault(word, code)
    return codes


def _code(decided: _Decided | None, codes: dict[str, str], status: int) -> str | None:
    if decided and decided.code:
        return clean_code(decided.code)
    if status < 400 and decided is None:
        return None
    fit = (code for word, code in codes.items() if word not in _NO_CODE and code != str(status))
    return next((code for code in fit if clean_code(code)), None)


def _hint(
    found: Found, get: Callable[[str], str | None], dialects: Sequence[Dialect]
) -> bool | None:
    facts: Iterator[HintFact] = (fact for each in dialects for fact in each.hints)
    for name in (*(fact.header for fact in facts), *_HINTS):
        text = (get(name) or "").strip().lower()
        if text in ("true", "false"):
            return text == "true"
    return found.hint


def _sign(status: int, get: Callable[[str], str | None], dialects: Sequence[Dialect]) -> str | None:
    for dialect in dialects:
        for fact in dialect.signs:
            fits = not fact.status or status in fact.status
            if fits and (fact.header is None or _holds(fact.header, get)):
                return fact.means
    return None


def _words(fact: ClassFact, code: str) -> str:
    parts = [f"status {'/'.join(map(str, sorted(fact.status)))}"] if fact.status else []
    parts += [f"code {code}"] if code else []
    parts += [f"header {fact.header}"] if fact.header else []
    parts += [f"no header {fact.without}"] if fact.without else []
    parts += [f'the words "{fact.text}"'] if fact.text else []
    parts += [f"{fact.path} in the body"] if fact.path else []
    return ", ".join(parts)
