"""What a verifier sees of a call, and how its reads are made from the call's request."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from httpx_recover._httpx_wire import body_of, origin_of
from httpx_recover._ledger import Action
from httpx_recover._memory import MEMORY

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

    def __init__(self, request: Any, action: Action) -> None:
        self._request = request
        self._action = action

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
        return body_of(self._request)

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
        kind = self.headers.get("content-type", "").lower()
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


def read_request(request: Any, key: str | None, url: Any, params: Any, headers: Any) -> Any:
    """The GET of a verifying read: joined to the call's URL, with the call's headers.

    Another origin gets none of them, since credentials belong to one. Caches are asked to stand
    aside (RFC 9111 section 5.2.1.4).
    """
    place = request.url.join(url)
    if params is not None:
        place = place.copy_merge_params(params)
    sent = {}
    if origin_of(place) == origin_of(request.url):
        sent = {name: value for name, value in request.headers.items() if _kept(name, value, key)}
    sent["cache-control"] = "no-cache"
    extensions = {
        name: value
        for name, value in request.extensions.items()
        if name in ("timeout", "sni_hostname")
    }
    read = type(request)("GET", place, headers=sent, extensions=extensions)
    read.headers.update(headers or {})
    return read


def _kept(name: str, value: str, key: str | None) -> bool:
    lower = name.lower()
    if lower in _LEFT_OUT or lower.startswith(_LEFT_OUT_STARTS):
        return False
    return key is None or value.strip('"') != key


def location_of(request: Any, response: Any) -> Any:
    """The URL that a redirect points to, or None."""
    location = response.headers.get("location")
    if response.status_code not in REDIRECTS or not location:
        return None
    try:
        return request.url.join(location)
    except Exception:  # an unreadable Location, whatever the client calls that
        return None


def next_hop(request: Any, response: Any) -> Any:
    """The request that a redirect within the origin asks for, or None."""
    place = location_of(request, response)
    if place is None or origin_of(place) != origin_of(request.url):
        return None
    return type(request)("GET", place, headers=request.headers, extensions=dict(request.extensions))
