"""Which download can go on where it was cut, and whether what then comes is the rest of it.

A range goes on only with the same version of the representation: the first answer must have a
strong entity tag, which is sent back in If-Range, so that a server whose version has changed sends
the whole new one instead (RFC 9110 sections 8.8.1, 13.1.5 and 14). Whatever does not say clearly
that it is the rest of the same version is not mixed with what the caller already has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Header = Callable[[str], str | None]

_STRONG = re.compile(r'"[\x21\x23-\x7e\x80-\xff]*"')  # RFC 9110 section 8.8.3; a weak one has W/
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)")


class Version(NamedTuple):
    """One version of a representation, as it was sent."""

    tag: str
    coding: str  # a range is one of the coded bytes
    length: int | None  # bytes in all, None when the first answer did not say

    def rest(self, start: int) -> dict[str, str]:
        """The headers that ask for all from byte `start` on, of this version only."""
        return {"Range": f"bytes={start}-", "If-Range": self.tag}

    def is_continued(self, status: int, header: Header, start: int) -> bool:
        """Is this answer the rest of it, all from byte `start` on?"""
        found = _content_range(header)
        if status != 206 or found is None:
            return False
        first, last, told = found
        length = told if self.length is None else self.length
        return (
            first == start
            and first <= last
            and told in (None, length)
            and (length is None or last == length - 1)
            and header("etag") == self.tag  # RFC 9110 section 15.3.7: a 206 has it too
            and _coding(header) == self.coding
        )

    def length_told(self, header: Header) -> int | None:
        """Its length, as the answer with a part of it says."""
        found = _content_range(header)
        return None if found is None else found[2]


def _content_range(header: Header) -> tuple[int, int, int | None] | None:
    """First byte, last byte and length of the whole."""
    found = _CONTENT_RANGE.fullmatch((header("content-range") or "").strip())
    if found is None:
        return None
    return int(found[1]), int(found[2]), None if found[3] == "*" else int(found[3])


def _coding(header: Header) -> str:
    return (header("content-encoding") or "").strip().lower()


def version_of(status: int, header: Header) -> Version | None:
    """The version that an answer to a GET shows; None when it cannot be gone on with."""
    tag = header("etag") or ""
    if status != 200 or _STRONG.fullmatch(tag) is None:
        return None
    if (header("accept-ranges") or "").strip().lower() == "none":
        return None
    length = header("content-length") or ""
    known = length.isascii() and length.isdigit() and len(length) < 19
    if known and header("transfer-encoding"):
        known = False  # RFC 9112 section 6.3: then the length says nothing
    return Version(tag, _coding(header), int(length) if known else None)
