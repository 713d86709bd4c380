"""`with call(...):` states facts about the calls inside, stronger than any rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from httpx_recover._keys import Key
from httpx_recover._policy import Rule
from httpx_recover._targets import clean_label
from httpx_recover._task import Block


def call(
    *,
    safe: bool | None = None,
    idempotent: bool | None = None,
    key: str | Key | None = None,
    dedupes: bool | None = None,
    verify: Any = None,
    expect: Iterable[int] | None = None,
    label: str | None = None,
) -> Block:
    """Facts for the calls inside: `with call(key="charge-7", dedupes=True):`.

    Args:
        safe, idempotent, dedupes, verify, expect: as in `Rule`, and stronger than one.
        key: a string is the value of the idempotency key of the one action inside; a `Key` says
            where a made key goes.
        label: how the report calls the action, at most 40 characters.

    Raises:
        ValueError: a value cannot be meant; the text names it.
    """
    given = {"safe": safe, "idempotent": idempotent, "verify": verify, "expect": expect}
    said = {name: fact for name, fact in given.items() if fact is not None}
    if isinstance(key, Key):
        said["key"] = key
    elif key is not None and (not isinstance(key, str) or not key.isascii() or not key.strip()):
        raise ValueError(f"key={key!r}: must be text in ASCII, not empty, or a Key")
    if dedupes:
        said["dedupes"] = True
    said = Rule(**said).said()
    if dedupes is False:
        said["dedupes"] = False
    return Block(said, key if isinstance(key, str) else None, clean_label(label))
