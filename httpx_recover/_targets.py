"""The words of a report that come from outside: cut to one line, and free of its separators.

An address, a label or a tool's name may hold anything, and a report is read by machines and
shown to models. So nothing from outside may bring a line break, a `;` or a sign that turns the
direction of the text. An address loses what may be secret (user information, query, fragment)
and keeps its spelling: what is percent-encoded stays so, and what needs it becomes so. Nothing
here raises, whatever it is given.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

WIDTH = 120
"""Longest target, in characters."""

# RFC 3986 appendix B, except that `//` makes the scheme: in `user:secret@host/x` and in
# `host:8080/x` the first part is no scheme, and a secret in it must go with the user information.
_URL = re.compile(r"(?:(?:([^:/?#]*):)?//)?([^/?#]*)([^?#]*)")
_DEFAULT_PORT = {"http": ":80", "https": ":443"}
# Printable ASCII without space " ; < > \ ^ ` (quote() itself keeps letters, digits and _.-~).
_KEPT = "!#$%&'()*+,/:=?@[]{|}"
# Controls, format signs (they can reverse the text), lone surrogates. Line and paragraph
# separators (Zl, Zp) are white space.
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def target(url: str) -> str:
    """The address as a report shows it: `host[:port]path`.

    Args:
        url: an absolute URL; anything else gives something printable.

    Returns:
        At most 120 characters of printable ASCII without spaces and `;`. User information,
        query, fragment and the scheme's own port are left out, an empty path is `/`.
    """
    parts = _URL.match(url)
    assert parts is not None, "every part of the pattern may be empty"
    scheme, authority, path = parts.groups()
    host = authority.rpartition("@")[2].lower()
    host = host.removesuffix(_DEFAULT_PORT.get((scheme or "").lower(), "")).removesuffix(":")
    return clean_word(host + (path or "/"), WIDTH)


def clean_word(text: str, limit: int = 40) -> str:
    """One word without spaces and `;`: percent-encoded where needed, cut; empty is `-`."""
    return quote(text, safe=_KEPT, errors="surrogatepass")[:limit] or "-"


def clean_name(text: str, limit: int = 80) -> str:
    """One line: control characters and runs of white space become one space; empty is `-`."""
    seen = "".join(" " if unicodedata.category(sign) in _UNSEEN else sign for sign in text)
    return " ".join(seen.split())[:limit].rstrip() or "-"


def clean_label(text: str | None) -> str | None:
    """A label of at most 40 characters without `;()`; None when nothing is left."""
    kept = clean_name((text or "").translate({ord(sign): None for sign in ";()"}), 40)
    return None if kept == "-" else kept


def clean_note(text: str) -> str:
    """A note of ours: one line of at most 160 characters, each `;` a comma."""
    return clean_name(text.replace(";", ","), 160)


def clean_code(text: str | None) -> str | None:
    """An API's error code if it is one, `[A-Za-z0-9_.-]{1,40}`; else None, since text may lie."""
    return text if text and _CODE.fullmatch(text) else None
