"""What makes two requests the same request.

Method, URL with its query sorted, and the body in a normal form: JSON with sorted keys, forms
sorted, multipart without its random boundary, anything else byte for byte. A body that can be
read only once is known by its length alone: taking two for one and refusing the second is a
nuisance, taking one for two sends a write twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qsl, urlsplit

_BOUNDARY = re.compile(r'boundary="?([^";,]+)"?', re.IGNORECASE)


def fingerprint(
    method: str, url: str, content_type: str, body: bytes | None, length: str = ""
) -> str:
    """Digest of a request. `body=None` means that it cannot be read; then `length` counts."""
    parts = urlsplit(url)
    query = _pairs(parts.query)
    place = f"{method} {parts.scheme}://{parts.netloc}{parts.path} {query!r}"
    content = b"\0length " + length.encode() if body is None else normal_body(content_type, body)
    return _digest((place.encode("utf-8", "surrogatepass"), content))


def identity(values: Iterable[str | None]) -> str:
    """Digest of the credentials of a request, so that two users never share an action."""
    return _digest(repr(value).encode("utf-8", "surrogatepass") for value in values)


def normal_body(content_type: str, body: bytes) -> bytes:
    """The body in the form in which equal bodies are equal bytes. Never raises."""
    kind = content_type.lower()
    if "json" in kind:
        return _normal_json(body)
    if kind.startswith("application/x-www-form-urlencoded"):
        return repr(_pairs(body.decode("utf-8", "surrogateescape"))).encode()
    if kind.startswith("multipart/"):
        boundary = _BOUNDARY.search(content_type)
        if boundary is not None:
            return body.replace(boundary[1].encode("latin-1", "replace"), b"boundary")
    return body


def _pairs(text: str) -> list[tuple[str, str]]:
    # Bytes that are no UTF-8 stay apart: replaced, %FE and %FF would be one value.
    return sorted(parse_qsl(text, keep_blank_values=True, errors="surrogateescape"))


def _as_written(number: str) -> dict[str, str]:
    return {"number": number}


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {"object": sorted(pairs, key=lambda pair: pair[0])}


def _normal_json(body: bytes) -> bytes:
    try:
        # Numbers as they are written, and members that stand twice: what a float or a dictionary
        # would make equal may be two orders to the server.
        read = json.loads(body, parse_float=_as_written, object_pairs_hook=_members)
        return json.dumps(read, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        return body


def _digest(parts: Iterable[bytes]) -> str:
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()
