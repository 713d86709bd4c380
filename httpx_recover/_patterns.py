"""The pattern of a rule: `"METHOD pattern"`, matched against a request's method and URL.

The method is a name in capitals or `*`. The pattern is a full URL path (`/v2/orders/*`, with the
path of a `base_url`) or a URL (`https://api.example.com/orders/*`). `*` is one path segment, `**`
any number of them, none included. The query never takes part. `"*"` alone matches every request.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, urlsplit

_METHOD = re.compile(r"\*|[A-Z][A-Z-]*")
_PORTS = {"http": 80, "https": 443}
_PATH_SAFE = "/%:@!$&'()*+,;=-._~"


class Pattern(NamedTuple):
    """A compiled pattern; None stands for anything."""

    method: str | None
    origin: re.Pattern[str] | None
    path: re.Pattern[str] | None

    def matches(self, method: str, origin: str, path: str) -> bool:
        """Does a request match? `origin` is `scheme://host:port`, `path` has no query."""
        return (
            (self.method is None or self.method == method)
            and (self.path is None or self.path.fullmatch(path) is not None)
            and (self.origin is None or self.origin.fullmatch(origin) is not None)
        )


def compile_pattern(match: str) -> Pattern:
    """Read a rule's `match`.

    Raises:
        ValueError: `match` has no method, or its pattern is neither a path nor a URL.
    """
    if not isinstance(match, str):
        raise ValueError(f"match={match!r}: must be text such as 'POST /orders'")
    if match.strip() == "*":
        return Pattern(None, None, None)
    method, space, pattern = match.strip().partition(" ")
    pattern = pattern.strip()
    if not space or not _METHOD.fullmatch(method):
        raise ValueError(
            f"match={match!r} has no method: write '* {match.strip()}' for every method, or one "
            f"in capitals, such as 'POST /orders'"
        )
    origin, path = _place(match, pattern)
    return Pattern(None if method == "*" else method, origin, path)


def _place(match: str, pattern: str) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    if pattern in ("*", "**"):
        return None, None
    if "?" in pattern or "#" in pattern or " " in pattern:
        raise ValueError(f"match={match!r}: a pattern has no query, fragment or space; name a path")
    if pattern.startswith("/"):
        return None, _path(pattern)
    try:
        parts = urlsplit(pattern)
    except ValueError as wrong:  # a bracket that is not closed
        raise ValueError(f"match={match!r}: {wrong}; write a host such as [::1]") from None
    if parts.scheme not in _PORTS or not parts.netloc:
        raise ValueError(
            f"match={match!r}: the pattern must be a path that starts with '/' or a URL that "
            f"starts with 'http://' or 'https://'"
        )
    host, colon, port = parts.netloc.lower().rpartition(":")
    if not colon or not port.isdigit():
        host, port = parts.netloc.lower(), str(_PORTS[parts.scheme])
    host = host.strip("[]")  # clients give the address of IPv6 bare
    host = re.escape(host).replace(r"\*", "[^./:]+")
    return re.compile(f"{parts.scheme}://{host}:{port}"), _path(parts.path or "/")


def _path(pattern: str) -> re.Pattern[str]:
    if not pattern.isascii():
        pattern = quote(pattern, safe=_PATH_SAFE)
    text = re.escape(pattern)
    text = text.replace(r"/\*\*", "(?:/.*)?").replace(r"\*\*", ".*").replace(r"\*", "[^/]+")
    return re.compile(text)
