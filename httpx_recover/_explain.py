"""`explain`: what the library makes of an answer, without sending anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from time import time
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from httpx_recover._plan import IDEMPOTENT, SAFE
from httpx_recover._policy import Policy
from httpx_recover._presets import Chosen, Presets, presets_of
from httpx_recover._table import classify
from httpx_recover._waits import server_wait
from httpx_recover._words import Applied, FailureClass
from httpx_recover.dialects import Answer, Dialect, Items, KeyFact, Reading, read

Headers: TypeAlias = "Mapping[str, str] | Iterable[tuple[str, str]] | None"

_AGAIN: Final = frozenset(
    {FailureClass.TRANSIENT, FailureClass.RATE_LIMIT, FailureClass.UNKNOWN_OUTCOME}
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an answer means, what the library would do next, and why.

    Args:
        failure: the class.
        applied: did the server act on the request.
        wait: seconds that the server asks for; None: it says none, our own backoff holds.
        next: what the library would do, or what is left to you.
        why: which fact decided, with its source, and where the wait was read.
        code: the API's own code.
        items: what failed inside a success, and what of it can be done again.
    """

    failure: FailureClass
    applied: Applied
    wait: float | None
    next: str
    why: str
    code: str | None = None
    items: Items | None = None

    def __str__(self) -> str:
        wait = "none told" if self.wait is None else f"{self.wait:g} s"
        return f"{self.failure}, applied {self.applied}, wait {wait}; next: {self.next}"


def explain(
    status: int,
    headers: Headers = None,
    body: Any = None,
    *,
    method: str = "GET",
    url: str | None = None,
    api: str | None = None,
    now: float | None = None,
    presets: Chosen = True,
) -> Explanation:
    """What an answer means.

    The mounts do not read bodies and presets yet: they go by the status and the usual headers.
    Where that makes a difference, `why` says so.

    Args:
        status: the status of the answer.
        headers: its headers: a mapping, or pairs.
        body: its body: bytes, text, or parsed JSON. Looked at up to 64 KiB.
        method: the method of the request.
        url: its URL; the presets of its host act, as far as they are marked P.
        api: the name of a preset, `"stripe"`: all that it knows acts. A name that no preset has
            is said in `why`, and the answer is read as a stranger's.
        now: the time in epoch seconds, for dates; default: the clock.
        presets: as in a mount: True, False, or names and paths of your own files.

    Raises:
        ValueError: an argument cannot be meant. Whatever the answer holds raises nothing.
    """
    if isinstance(status, bool) or not isinstance(status, int):
        raise ValueError(f"status={status!r}: must be a number such as 429")
    if not isinstance(method, str) or not method:
        raise ValueError(f"method={method!r}: must be a method such as 'POST'")
    known = presets_of(presets)
    dialects, notes = _dialects(known, url, api)
    answer = Answer(status, _getter(headers), _bytes(body))
    safe, at = method.upper() in SAFE, time() if now is None else now
    seen = read(answer, safe=safe, now=at, dialects=dialects)
    key = _key(dialects, method.upper(), url)
    if api is None and url is not None:
        notes += _off(answer, seen, safe, at, known, url)
    notes += _in_mounts(answer, seen, safe, at)
    return Explanation(
        seen.failure,
        seen.applied,
        seen.wait,
        next_step(seen, method.upper(), key, status),
        "; ".join(each.replace(";", ",") for each in (*_why(seen), *notes)),
        seen.code,
        seen.items,
    )


def next_step(seen: Reading, method: str, key: KeyFact | None = None, status: int = 0) -> str:
    """What the library would do after an answer, with its default limits."""
    safe, wait, failure = method in SAFE, seen.wait, seen.failure
    if failure not in _AGAIN and failure is not FailureClass.IN_PROGRESS:
        return _stop(seen, safe)
    if safe and seen.hint is False:
        return "rerun it later: the server says not to send it again"
    limit = Policy().deadline
    if wait is not None and wait >= limit:
        return (
            f"wait {wait:g} s yourself: it does not end before the deadline of {limit:g} s, "
            f"so recovery stops and the time is handed to you"
        )
    pause = (
        f"wait {wait:g} s" if wait is not None else f"wait our own backoff, {Policy().pause(1):g} s"
    )
    if failure is FailureClass.IN_PROGRESS:
        unkeyed = "without a trusted key read what became of it"
        return f"{pause}, then resend it with the same key; {unkeyed}"
    if safe or seen.applied is Applied.NO:
        return f"{pause}, then resend it"
    return _unknown(method, pause, key, status)


def _unknown(method: str, pause: str, key: KeyFact | None, status: int) -> str:
    if method in IDEMPOTENT:
        return f"{pause}, then resend it as idempotent"
    verify = "read whether it happened; without a verifier it stays unknown and is not sent again"
    if key is None or not key.dedupes or key.place == "none":
        return verify
    if key.replays == "all" and status >= 500:
        return f"{verify} (the same key would get the saved {status} again)"
    window = "" if key.window is None else f" within {key.window:g} s of the first send"
    return f"{pause}, then resend it with the same key{window}; sent without a key, {verify}"


def _stop(seen: Reading, safe: bool) -> str:
    failure = seen.failure
    if failure is FailureClass.ALREADY_DONE and seen.applied is not Applied.YES:
        return "read whether the earlier request was yours before it is called done"
    if failure is FailureClass.PARTIAL and seen.items is not None:
        again = f"; can be done again: {', '.join(seen.items.redo[:10])}" if seen.items.redo else ""
        return f"redo only what is missing: {', '.join(seen.items.failed[:10])}{again}"
    if failure is FailureClass.CONFLICT and seen.sign == "conflict":
        return "read what the first request with this key did; no new key is made"
    if failure is FailureClass.NOT_FOUND and safe:
        return "read it once more in a named task, then stop"
    return _STOPS[failure]


_STOPS: Final = {
    FailureClass.OK: "none",
    FailureClass.ALREADY_DONE: "none: an earlier request did it",
    FailureClass.ACCEPTED: "poll until it has ended, or verify it by a read",
    FailureClass.PARTIAL: "redo only what is missing, item by item",
    FailureClass.QUOTA: "raise the limit or wait for its renewal: minutes do not lift it",
    FailureClass.BAD_INPUT: "fix the request: as it is it fails again",
    FailureClass.AUTH: "renew the credentials or the permission",
    FailureClass.NOT_FOUND: "fix the address, or make what is missing first",
    FailureClass.CONFLICT: "read the state of now before anything is sent again",
}


def _why(seen: Reading) -> list[str]:
    why = [f"class: {seen.fact} ({seen.source})"]
    if seen.waited:
        why.append(f"wait: {seen.waited}")
    if seen.hint is not None:
        again = "may" if seen.hint else "should not"
        why.append(f"hint: the server says it {again} be sent again, which proves nothing")
    if seen.sign is not None:
        why.append(f"key: {seen.sign}")
    return why


def _off(
    answer: Answer, seen: Reading, safe: bool, at: float, known: Presets, url: str
) -> list[str]:
    """What facts marked S would say, which are off until the API is named."""
    host, path = _place(url)
    for dialect in known.at(host, path):
        if dialect.via is None:
            named = read(answer, safe=safe, now=at, dialects=known.speaking(dialect.name))
            if named != seen:
                return [
                    f"off: facts marked S would say {named.failure}, wait "
                    f"{'none' if named.wait is None else f'{named.wait:g} s'}; "
                    f"name api={dialect.name!r} to use them"
                ]
    return []


def _in_mounts(answer: Answer, seen: Reading, safe: bool, at: float) -> list[str]:
    """What the mounts, which do not read bodies and presets yet, make of the answer."""
    wait = server_wait(answer.get, at) or None
    failure, _ = classify(answer.status, safe=safe, retry_after=wait is not None)
    if (failure, wait) == (seen.failure, seen.wait):
        return []
    return [
        f"not yet in the mounts: they go by the status and the usual headers, here {failure}, "
        f"wait {'none' if wait is None else f'{wait:g} s'}, and Rule(classes=...) tells them more"
    ]


def _dialects(
    known: Presets, url: str | None, api: str | None
) -> tuple[tuple[Dialect, ...], list[str]]:
    here = known.at(*_place(url)) if url is not None else known.at("")
    if api is None:
        return here, []
    try:
        named = known.speaking(api)
    except ValueError as unknown:
        return here, [str(unknown)]
    names = {each.name for each in named}
    return (*named, *(each for each in here if each.name not in names)), []


def _key(dialects: Iterable[Dialect], method: str, url: str | None) -> KeyFact | None:
    if url is None:
        return None
    _, path = _place(url)
    return next((key for each in dialects if (key := each.key_for(method, path))), None)


def _place(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), parts.path or "/"
    except ValueError:
        raise ValueError(
            f"url={url!r}: must be a URL such as 'https://api.example.com/x'"
        ) from None


def _getter(headers: Headers) -> Any:
    pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
    kept: dict[str, str] = {}
    try:
        for name, value in pairs:
            name, value = _line(name).strip().lower(), _line(value)
            kept[name] = f"{kept[name]}, {value}" if name in kept else value
    except (TypeError, ValueError):
        raise ValueError(
            "headers: must be a mapping of names to values, or pairs of them"
        ) from None
    return kept.get


def _line(text: Any) -> str:
    if isinstance(text, bytes):
        return text.decode("latin-1")
    if not isinstance(text, str):
        raise TypeError
    return text


def _bytes(body: Any) -> bytes | str:
    if body is None or isinstance(body, (bytes, str)):
        return body or b""
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    try:
        return json.dumps(body)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("body: must be bytes, text, or what JSON can hold") from None
