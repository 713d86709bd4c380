"""`with call(...):` states facts about the calls inside, stronger than any rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from httpx_recover._keys import Key
from httpx_recover._policy import Rule
from httpx_recover._targets import clean_label
from httpx_recover._task import Block


class Factory:
    """Makes the body of one action anew, each time it is called."""

    __slots__ = ("action", "make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.action: Any = None  # whose body it is


def call(
    *,
    safe: bool | None = None,
    idempotent: bool | None = None,
    key: str | Key | None = None,
    dedupes: bool | None = None,
    verify: Any = None,
    expect: Iterable[int] | None = None,
    body: Callable[[], Any] | None = None,
    label: str | None = None,
) -> Block:
    """Facts for the calls inside: `with call(key="charge-7", dedupes=True):`.

    Args:
        safe, idempotent, dedupes, verify, expect: as in `Rule`, and stronger than one.
        key: a string is the value of the idempotency key of the one action inside; a `Key` says
            where a made key goes.
        body: makes the body anew, for a resend of the one action inside whose body can be read
            only once: `call(body=lambda: rows())` around `client.post(url, content=rows())`.
        label: how the report calls the action, at most 40 characters.

    Raises:
        ValueError: a value cannot be meant; the text names it.
    """
    given = {"safe": safe, "idempotent": idempotent, "verify": verify, "expect": expect}
    given |= {"dedupes": dedupes, "key": key if isinstance(key, Key) else None}
    said = {name: fact for name, fact in given.items() if fact is not None}
    if key is not None and not isinstance(key, Key) and not _is_value(key):
        raise ValueError(f"key={key!r}: must be printable ASCII text, not empty, or a Key")
    if dedupes not in (None, True, False):
        raise ValueError(f"dedupes={dedupes!r}: must be True, False or None")
    if label is not None and not isinstance(label, str):
        raise ValueError(f"label={label!r}: must be text")
    if body is not None and not callable(body):
        raise ValueError(f"body={body!r}: must be a function without arguments that makes a body")
    rule = Rule(**said)
    said = {name: getattr(rule, name) for name in said}
    if body is not None:
        said["body"] = Factory(body)
    return Block(said, key if isinstance(key, str) else None, clean_label(label))


def _is_value(key: object) -> bool:
    """Can this stand in a header? White space around it would be lost on the way."""
    return (
        isinstance(key, str)
        and key.isascii()
        and key.isprintable()
        and key != ""
        and key == key.strip()
    )
