"""What lies below a mount: transports in transports, and whether one of them sends again itself.

Such a layer hides from us what was sent and how it ended: it sends a write again that may have
been done, and makes nine attempts out of three. So it is refused, by name. The connect retries of
`HTTPTransport(retries=...)` are no such layer: they come before anything is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_KINDS = {"BaseTransport", "AsyncBaseTransport", "BaseAdapter"}
_AGAIN = re.compile(r"retr(y|ies)|tenacity|hedg|resilien", re.IGNORECASE)


def layers(transport: Any) -> Iterator[Any]:
    """The transport, and those that it holds: each once, whatever refers to whatever."""
    seen: set[int] = set()
    left = [transport]
    while left:
        each = left.pop()
        if id(each) not in seen and any(kind.__name__ in _KINDS for kind in type(each).__mro__):
            seen.add(id(each))
            yield each
            left += getattr(each, "__dict__", {}).values()


def sends_again(transport: Any) -> str | None:
    """The full name of the first layer that sends again by itself, None when there is none."""
    for each in layers(transport):
        for kind in type(each).__mro__:
            name = f"{kind.__module__}.{kind.__qualname__}"
            root = kind.__module__.partition(".")[0]
            if getattr(each, "recovers", False) or _AGAIN.search(f"{root}.{kind.__name__}"):
                return name
    return None


def refuse_retries(transport: Any, what: str) -> None:
    """Refuse what sends again by itself; `what` the library calls it.

    Raises:
        ValueError: with the name of that layer, and what to do.
    """
    name = sends_again(transport)
    if name is not None:
        raise ValueError(
            f"{what}={type(transport).__name__}: {name} sends again by itself, without evidence "
            f"and unseen by us; mount on the {what} inside it, or say "
            f"Policy(allow_inner_retries=True)"
        )
