"""Whose request it is, and what its headers say about sending it again.

`get` is a function from a header's name to its value as text, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from httpx_recover._fingerprint import identity

Get = Callable[[str], str | None]

# Schemes whose credentials are good for one request: a copy of them is a replay.
_HOLDERS = re.compile(
    r"\b(username|credential|oauth_consumer_key|oauth_token|keyid|id)\s*=\s*\"?([^\",/\s]+)",
    re.IGNORECASE,
)
_BOUND = ("aws4-hmac-sha256", "digest", "oauth", "dpop", "hawk", "signature")


def identity_of(get: Get, names: tuple[str, ...]) -> str:
    """Digest of who sends it; `names` are further headers that tell users apart."""
    who = holder(get("authorization"))
    return identity([who, *(get(name) for name in ("cookie", *names))])


def holder(credentials: str | None) -> str | None:
    """Whose credentials they are. Some are made anew for each request: those are known by the
    name in them, else a repeat would never be seen as one."""
    scheme, _, rest = (credentials or "").partition(" ")
    named = _HOLDERS.findall(rest) if scheme.lower() in _BOUND else []
    return f"{scheme} {named}" if named else credentials


def asks_for_token(get: Get, body: bytes | None) -> bool:
    """Is it a request to a token endpoint (RFC 6749 section 4)? An auth flow makes it, not us."""
    kind = get("content-type") or ""
    return kind.startswith("application/x-www-form-urlencoded") and b"grant_type=" in (body or b"")


def is_bound(get: Get) -> bool:
    """Are its credentials good for this one request only?"""
    return (get("authorization") or "").partition(" ")[0].lower() in _BOUND


def precondition(get: Get) -> bool:
    """A precondition that lets only one of two equal writes win (RFC 9110 section 13.1)."""
    tag = (get("if-match") or "").strip()
    if tag and tag != "*" and not tag.startswith("W/"):
        return True
    return (get("if-none-match") or "").strip() == "*"
