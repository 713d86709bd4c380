"""The bodies of requests' responses: read inside the attempt, kept of a failed one, copied."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from io import BytesIO
from typing import Any

import requests
from urllib3.response import HTTPResponse

from httpx_recover._view import SMALL

_CODING = ("content-encoding", "content-length", "transfer-encoding")


class KeptRaw(HTTPResponse):
    """A raw response of which only this was kept: gives it, then fails as a cut body fails."""

    failure: BaseException | None = None

    def stream(self, *args: Any, **kwargs: Any) -> Generator[bytes, None, None]:
        yield from super().stream(*args, **kwargs)
        if self.failure is not None:
            raise self.failure

    def read(self, *args: Any, **kwargs: Any) -> bytes:
        data = super().read(*args, **kwargs)
        if self.failure is not None and not data:
            raise self.failure
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


def read_body(response: Any) -> BaseException | None:
    """Read a body, as requests will do at once; the error when it was cut.

    A body that came whole and cannot be decoded is not cut: requests finds out by itself, once
    more.
    """
    try:
        response.content  # noqa: B018 # the property reads
    except Exception as exc:
        response.close()
        keep(response, b"", exc)
        return None if isinstance(exc, requests.exceptions.ContentDecodingError) else exc
    return None


def shelve(response: Any) -> None:
    """Close a failed response before waiting, keeping the beginning of its body.

    A pool of one connection would otherwise wait for itself.
    """
    if response is None or response._content_consumed or isinstance(response.raw, KeptRaw):
        return
    chunks: list[bytes] = []
    size = 0
    failure: BaseException | None = None
    try:
        for chunk in _raw_chunks(response.raw):
            chunks.append(chunk)
            size += len(chunk)
            if size > SMALL:
                failure = requests.exceptions.ChunkedEncodingError(
                    f"only the first {SMALL} bytes of this failed response were kept"
                )
                break
    except Exception as exc:
        failure = exc
    response.close()
    keep(response, b"".join(chunks)[:SMALL], failure)


def _raw_chunks(raw: Any) -> Iterator[bytes]:
    """The body as it is on the wire, without chunks but with its coding."""
    if hasattr(raw, "stream"):
        yield from raw.stream(SMALL // 16, decode_content=False)
        return
    while chunk := raw.read(SMALL // 16):
        yield chunk


def fresh_copy(response: Any, lib: Any) -> Any:
    """An unread copy of a response that has been read."""
    copy = requests.Response()
    copy.__setstate__(response.__getstate__())  # type: ignore[attr-defined] # untyped there
    copy.raw = response.raw
    keep(copy, response.content, plain=True)
    return copy
