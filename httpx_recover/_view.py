"""What a verifier sees of a call, and what its reads take along of the call's request."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from httpx_recover._ledger import Action
from httpx_recover._memory import MEMORY

MARK = "httpx_recover.mark"  # in what travels with a request, redirect hops included
SMALL = 256 * 1024  # bytes of a body that are read inside the attempt, or kept of a failed one
HOPS = 5  # redirects that a read follows, within its origin
REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Of the call's headers a read takes all but those that speak of its body, its place or its state.
_LEFT_OUT = frozenset({"host", "transfer-encoding", "expect", "range", "connection"})
_LEFT_OUT_STARTS = ("content-", "if-")


class CallView:
    """The call, as its verifier sees it.

    Attributes:
        method, url, headers: of the request.
        content: the body's bytes, or None when it cannot be read again.
        key: the idempotency key, or None.
        attempts: how often the request has been sent.
    """

    def __init__(self, request: Any, action: Action, wire: Any) -> None:
        self._request = request
        self._action = action
        self._wire = wire

    @property
    def method(self) -> str:
        return str(self._request.method)

    @property
    def url(self) -> str:
        return str(self._request.url)

    @property
    def headers(self) -> Any:
        return self._request.headers

    @property
    def content(self) -> bytes | None:
        found: bytes | None = self._wire.body_of(self._request)
        return found

    @property
    def json(self) -> Any:
        """The body as JSON, None when it is not."""
        try:
            return json.loads(self.content or b"")
        except (ValueError, RecursionError):
            return None

    @property
    def form(self) -> dict[str, str] | None:
        """The fields of a form body, None when it is not one."""
        kind = (self._wire.header(self._request, "content-type") or "").lower()
        if self.content is None or not kind.startswith("application/x-www-form-urlencoded"):
            return None
        return dict(parse_qsl(self.content.decode("latin-1"), keep_blank_values=True))

    @property
    def key(self) -> str | None:
        return self._action.key

    @property
    def attempts(self) -> int:
        return self._action.sends

    # For the ready-made verifiers: read anew each time, since equal calls go on meanwhile.

    @property
    def known(self) -> int:
        return MEMORY.counts(self._action)[0]

    @property
    def pending(self) -> int:
        return MEMORY.counts(self._action)[1] + self._action.unsure

    @property
    def baseline(self) -> int | None:
        return self._action.baseline


def is_kept(name: str, value: str, key: str | None) -> bool:
    """Does a read take this header of the call along?"""
    lower = name.lower()
    if lower in _LEFT_OUT or lower.startswith(_LEFT_OUT_STARTS):
        return False
    return key is None or value.strip('"') != key
