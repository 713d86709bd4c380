"""The bodies of requests' responses: read inside the attempt, kept of a failed one, copied."""

from __future__ import annotations

from collections.abc import Generator
from io import BytesIO
from math import inf
from typing import Any

import requests
from urllib3.response import HTTPResponse

from httpx_recover import _drive
from httpx_recover._view import SMALL

_CODING = ("content-encoding", "content-length", "transfer-encoding")


class KeptRaw(HTTPResponse):
    """A raw response of which only this was kept: gives it, then fails as a cut body fails."""

    failure: BaseException | None = None
    told = False

    def stream(self, *args: Any, **kwargs: Any) -> Generator[bytes, None, None]:
        yield from super().stream(*args, **kwargs)
        if self.failure is not None:
            self.told = True
            raise self.failure

    def read(self, *args: Any, **kwargs: Any) -> bytes:
        data = super().read(*args, **kwargs)
        if self.failure is not None and not data and not self.told:
            self.told = True  # once: who reads on after it wants the rest, such as a session that
            raise self.failure  # follows a redirect
        return data


def keep(
    response: Any, body: bytes, failure: BaseException | None = None, *, plain: bool = False
) -> None:
    """Give the response a body again: all of it, or what there was and then `failure`.

    `plain` says that it is decoded already.
    """
    raw, headers = response.raw, response.headers.items()
    kept = KeptRaw(
        body=BytesIO(body),
        headers={k: v for k, v in headers if not (plain and k.lower() in _CODING)},
        status=response.status_code,
        version=getattr(raw, "version", 0) or 0,
        reason=response.reason,
        preload_content=False,
        decode_content=False,
        enforce_content_length=False,
        # The session looks for cookies in it.
        original_response=getattr(raw, "_original_response", None),
    )
    kept.failure = failure
    response.raw = kept


def read_body(response: Any, ends: float = inf) -> BaseException | None:
    """Read a body, as requests will do at once; the error when it was cut.

    One that came whole and cannot be decoded is not cut, and of a redirect nobody needs it:
    requests finds out by itself, once more.

    Args:
        response: as the adapter gave it.
        ends: time of `_drive.clock` after which a body that still comes is cut.
    """
    try:
        if ends < inf and _tells_what_has_come(response.raw):
            keep(response, *_fetch(response, inf, ends))
        response.content  # noqa: B018 # the property reads
    except Exception as exc:
        response.close()
        keep(response, b"", exc)
        whole = isinstance(exc, requests.exceptions.ContentDecodingError) or response.is_redirect
        return None if whole else exc
    return None


def shelve(response: Any, ends: float) -> None:
    """Close a failed response before waiting, keeping the beginning of its body.

    A pool of one connection would otherwise wait for itself.
    """
    if response is None or response._content_consumed or isinstance(response.raw, KeptRaw):
        return
    keep(response, *_fetch(response, SMALL, ends))


def is_small(response: Any) -> bool:
    """Is its body of known and small length?"""
    length = response.headers.get("content-length", "")
    return length.isascii() and length.isdigit() and len(length) < 16 and int(length) <= SMALL


def _fetch(response: Any, most: float, ends: float) -> tuple[bytes, BaseException | None]:
    """Read a body as it is on the wire, so much and so long at most, and close the response."""
    chunks: list[bytes] = []
    size = 0
    failure: BaseException | None = None
    try:
        while failure is None and (chunk := _chunk(response.raw)):
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                failure = requests.exceptions.ChunkedEncodingError(
                    f"only the first {most} bytes of this failed response were kept"
                )
            elif _drive.clock.now() > ends:
                failure = requests.exceptions.ReadTimeout("the deadline of the task has passed")
    except Exception as exc:
        failure = exc
    response.close()
    body = b"".join(chunks)
    return (body if size <= most else body[:SMALL]), failure


def _tells_what_has_come(raw: Any) -> bool:
    """Is it a response of urllib3's, from 2.2 on? A file has a `read1` too, of another kind."""
    return hasattr(raw, "stream") and hasattr(raw, "read1")


def _chunk(raw: Any) -> bytes:
    """What has come, without waiting for more; of what is no response of urllib3's, some."""
    data: bytes
    if _tells_what_has_come(raw):
        data = raw.read1(SMALL // 16, decode_content=False)
    else:
        data = raw.read(SMALL // 16)
    return data


def fresh_copy(response: Any, lib: Any) -> Any:
    """An unread copy of a response that has been read."""
    copy = requests.Response()
    copy.__setstate__(response.__getstate__())
    copy.raw = response.raw
    keep(copy, response.content, plain=True)
    return copy
