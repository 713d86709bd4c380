"""What httpx and httpx2 put on the wire and take from it, seen from a transport.

Imports neither: `lib` is whichever of the two a mount was made for. The caller's own request is
passed on untouched but for headers of ours and, for the time of one attempt, its trace callback
and its timeouts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import lru_cache
from typing import Any

from httpx_recover._bodies import Unchanged, content_of, rewind_of
from httpx_recover._evidence import Phase
from httpx_recover._fingerprint import fingerprint
from httpx_recover._view import MARK, REDIRECTS, SMALL, is_kept

_PORTS = {"http": 80, "https": 443}
_CODING = ("content-encoding", "content-length", "transfer-encoding")
_TIMEOUTS = ("connect", "read", "write", "pool")


# ---------------------------------------------------------------------- requests


def mark_of(request: Any, name: str | None) -> Any:
    """What is remembered of the request; httpx hands it on to the hops of a redirect."""
    return request.extensions.get(MARK)


def set_mark(request: Any, name: str | None, mark: Any) -> None:
    """Remember something of the request."""
    request.extensions[MARK] = mark


def write_key(request: Any, name: str, written: str) -> None:
    """Put our key into the header `name`."""
    request.headers[name] = written


def drop_key(request: Any) -> None:
    """A hop of a redirect that became a read takes no key of ours along."""
    value = request.extensions[MARK].key
    for name in [each for each, written in request.headers.items() if written.strip('"') == value]:
        del request.headers[name]


def said_on(request: Any) -> Any:
    """What `extensions={"recover": ...}` says about this one request."""
    return request.extensions.get("recover")


def header(request: Any, name: str) -> str | None:
    """The value of a header, None when it is not there."""
    value: str | None = request.headers.get(name)
    return value


def rewinder(request: Any) -> Callable[[], None] | None:
    """How to make the request's body ready for another send; None when it can be sent once.

    Decided before the first send, while a file still stands where the caller left it.
    """
    stream = request.stream
    kind = type(stream).__name__
    if kind == "ByteStream":
        return _nothing
    if kind == "IteratorByteStream":
        return _source_rewinder(stream._stream)
    if kind == "MultipartStream" and all(_field_repeats(field) for field in stream.fields):
        files = [getattr(field, "file", b"") for field in stream.fields]
        return Unchanged(file for file in files if not isinstance(file, bytes | str))
    return None


def _nothing() -> None:
    """A body of bytes is always ready."""


def _source_rewinder(source: Any) -> Callable[[], None] | None:
    if isinstance(source, list | tuple):
        return _nothing
    return rewind_of(source)


def _field_repeats(field: Any) -> bool:
    file = getattr(field, "file", b"")
    if isinstance(file, bytes | str):
        return True
    try:  # httpx winds a file of a form back to its start by itself, if it can
        return bool(file.seekable())
    except Exception:
        return False


def body_of(request: Any) -> bytes | None:
    """The request's body when it is in memory."""
    stream = request.stream
    if type(stream).__name__ == "ByteStream":
        body: bytes = stream._stream
        return body
    if type(stream).__name__ == "MultipartStream" and all(
        isinstance(getattr(field, "file", b""), bytes | str) for field in stream.fields
    ):
        return b"".join(stream)
    return None


def print_of(request: Any, rewind: Any = None) -> str:
    """The fingerprint of the request."""
    headers = request.headers
    return fingerprint(
        request.method,
        str(request.url),
        headers.get("content-type", ""),
        content_of(body_of(request), rewind),
        headers.get("content-length", ""),
    )


def origin_of(url: Any) -> str:
    """`scheme://host:port` of a URL, with the port written out."""
    return f"{url.scheme}://{url.host.lower()}:{url.port or _PORTS.get(url.scheme, 0)}"


def place_of(url: Any) -> str:
    """The URL without fragment: what two requests for the same thing have in common."""
    return str(url.copy_with(fragment=None))


def bare(url: Any) -> str:
    """The URL as an error may show it."""
    return str(url.copy_with(query=None, fragment=None, username=None, password=None))


def path_of(url: Any) -> str:
    """The encoded path without query."""
    raw: bytes = url.raw_path
    return raw.partition(b"?")[0].decode("ascii", "replace")


class Cut:
    """Cuts the request's timeouts for one attempt, and puts the caller's own back.

    A new dictionary each time: httpx shares the inner one with the hops of a redirect.
    """

    __slots__ = ("extensions", "own")

    def __init__(self, request: Any, left: float | None) -> None:
        self.extensions: dict[str, Any] | None = None
        if left is None:
            return
        self.extensions = request.extensions
        self.own = self.extensions.get("timeout")
        asked = self.own or {}
        self.extensions["timeout"] = {name: _least(asked.get(name), left) for name in _TIMEOUTS}

    def restore(self) -> None:
        """Put the caller's timeouts back."""
        if self.extensions is None:
            return
        if self.own is None:
            del self.extensions["timeout"]
        else:
            self.extensions["timeout"] = self.own


def _least(asked: float | None, left: float) -> float:
    return left if asked is None else min(asked, left)


def read_timeout(request: Any) -> float | None:
    """The request's own read timeout in seconds."""
    timeout = request.extensions.get("timeout") or {}
    found: float | None = timeout.get("read")
    return found


def tracer(phase: Phase, own: Any) -> Callable[[str, Any], None]:
    """A trace callback that tells `phase`, then the caller's own."""
    if own is None:
        return phase.event

    def trace(name: str, info: Any) -> None:
        phase.event(name, info)
        own(name, info)

    return trace


def atracer(phase: Phase, own: Any) -> Callable[[str, Any], Any]:
    """The same for an async transport, which awaits its callback."""

    async def trace(name: str, info: Any) -> None:
        phase.event(name, info)
        if own is not None:
            await own(name, info)

    return trace


def untrace(request: Any, plan: Any, own: Any) -> None:
    """Put the caller's trace callback back."""
    if not plan.traced:
        return
    if own is None:
        del request.extensions["trace"]
    else:
        request.extensions["trace"] = own


# ---------------------------------------------------------------------- reads of a verifier


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
        sent = {name: value for name, value in request.headers.items() if is_kept(name, value, key)}
    sent["cache-control"] = "no-cache"
    extensions = {
        name: value
        for name, value in request.extensions.items()
        if name in ("timeout", "sni_hostname")
    }
    read = type(request)("GET", place, headers=sent, extensions=extensions)
    read.headers.update(headers or {})
    return read


def with_headers(request: Any, headers: dict[str, str]) -> Any:
    """The same GET with more headers; None when it has a body."""
    if body_of(request) != b"":
        return None
    again = type(request)(
        "GET", request.url, headers=request.headers, extensions=dict(request.extensions)
    )
    again.headers.update(headers)
    return again


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


# ---------------------------------------------------------------------- responses


def attach(response: Any, outcome: Any) -> None:
    """Put the outcome where `outcome(response)` finds it."""
    response.extensions["recovery"] = outcome
    failure = getattr(response.stream, "error", None)
    if failure is not None:  # raised when the body is read
        failure.recovery = outcome


def is_small(response: Any, method: str, limit: int = SMALL) -> bool:
    """Has it a body of known and small length that is still on the network?

    HEAD, 204 and 304 have none; a stream, or a body without a length, passes untouched. After 101
    and CONNECT the connection is the caller's, whatever length is told.
    """
    if type(response.stream).__name__ == "ByteStream":
        return False
    if method in ("HEAD", "CONNECT") or response.status_code in (101, 204, 304):
        return False
    length = response.headers.get("content-length", "")
    return length.isascii() and length.isdigit() and len(length) < 16 and int(length) <= limit


@lru_cache
def kept_stream(lib: Any) -> Any:
    """The class of a body of which only the beginning was kept."""

    class KeptStream(lib.SyncByteStream, lib.AsyncByteStream):  # type: ignore[misc] # lib is a value
        """Gives what was kept, then fails as a cut body fails."""

        def __init__(self, kept: bytes, error: BaseException) -> None:
            self.kept = kept
            self.error = error

        def __iter__(self) -> Iterator[bytes]:
            yield self.kept
            raise self.error

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield self.kept
            raise self.error

    return KeptStream


def attach_request(error: BaseException, request: Any) -> None:
    """Nothing: the client puts its request on an error itself."""


def common_error(lib: Any) -> type[BaseException]:
    """What all failures of the library's transports have in common."""
    error: type[BaseException] = lib.TransportError
    return error


def too_long(lib: Any) -> BaseException:
    """The client's own error for reading past what was kept of a failed response."""
    error: BaseException = lib.ReadError(
        f"only the first {SMALL} bytes of this failed response were kept"
    )
    return error


def too_late(lib: Any) -> BaseException:
    """The client's own error for what still comes when recovery has to be over."""
    error: BaseException = lib.ReadTimeout("the deadline of the task has passed")
    return error


def cut_error(lib: Any, text: str, request: Any) -> BaseException:
    """The client's own error for a body that is not whole."""
    error: BaseException = lib.RemoteProtocolError(text, request=request)
    return error


def fresh_copy(response: Any, lib: Any) -> Any:
    """An unread copy of a response that has been read."""
    headers, raw = response.headers, getattr(response.stream, "_stream", None)
    if not isinstance(raw, bytes):  # read by the client, which has decoded it
        raw = response.content
        headers = {k: v for k, v in headers.multi_items() if k.lower() not in _CODING}
    return type(response)(
        response.status_code,
        headers=headers,
        stream=lib.ByteStream(raw),
        extensions=dict(response.extensions),
    )


def put_back(response: Any, lib: Any, raw: bytes, error: BaseException | None) -> None:
    """Give the response its body again: all of it, or what there was and then `error`."""
    response.stream = lib.ByteStream(raw) if error is None else kept_stream(lib)(raw, error)
