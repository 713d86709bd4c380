"""What requests puts on the wire and takes from it, seen from an adapter.

The caller's own request is passed on untouched but for headers of ours, and for its `hooks`, a
dictionary that requests itself shares with the copies it makes for redirects and for auth: an equal
one takes its place, which carries what we remember of the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urldefrag, urlencode, urljoin, urlsplit, urlunsplit

import requests
from requests.utils import requote_uri
from urllib3.util import Timeout

from httpx_recover._bodies import content_of, rewind_of
from httpx_recover._fingerprint import fingerprint
from httpx_recover._requests_io import fresh_copy
from httpx_recover._view import MARK, REDIRECTS, is_kept

__all__ = ["fresh_copy"]

_PORTS = {"http": 80, "https": 443}


class Sending(NamedTuple):
    """The arguments of `adapter.send` beside the request."""

    stream: bool = False
    timeout: Any = None
    verify: Any = True
    cert: Any = None
    proxies: Any = None


# ---------------------------------------------------------------------- requests


class Hooks(dict[str, Any]):
    """A request's hooks, and beside them what travels with the request and its copies."""

    extensions: dict[str, Any]

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)  # what is remembered belongs to this process


class OurKey(str):
    """A key that we attached, known for ours wherever its header is copied to."""

    mark: Any

    def __copy__(self) -> OurKey:
        return self

    def __deepcopy__(self, memo: Any) -> OurKey:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


def extensions_of(request: Any) -> dict[str, Any]:
    """What travels with a request, its copies included."""
    hooks = request.hooks
    if type(hooks) is not Hooks:
        hooks = Hooks(hooks or {})
        hooks.extensions = {}
        request.hooks = hooks
    found: dict[str, Any] = hooks.extensions
    return found


def mark_of(request: Any, name: str | None) -> Any:
    """What is remembered of the request: by its key, else by what its copies share."""
    key = None if name is None else request.headers.get(name)
    if type(key) is OurKey:
        return key.mark
    return request.hooks.extensions.get(MARK) if type(request.hooks) is Hooks else None


def set_mark(request: Any, name: str | None, mark: Any) -> None:
    """Remember something of the request."""
    extensions_of(request)[MARK] = mark
    key = None if name is None else request.headers.get(name)
    if type(key) is OurKey:
        key.mark = mark


def write_key(request: Any, name: str, written: str) -> None:
    """Put our key into the header `name`."""
    request.headers[name] = OurKey(written)


def drop_key(request: Any) -> None:
    """A hop of a redirect that became a read takes no key of ours along."""
    for name in [each for each, value in request.headers.items() if type(value) is OurKey]:
        del request.headers[name]


def said_on(request: Any) -> Any:
    """False on a request that we make through the session itself."""
    return request.hooks.extensions.get("recover") if type(request.hooks) is Hooks else None


def header(request: Any, name: str) -> str | None:
    """The value of a header as text, None when it is not there."""
    value = request.headers.get(name)
    if value is None:
        return None
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def rewinder(request: Any) -> Callable[[], None] | None:
    """How to make the request's body ready for another send; None when it can be sent once.

    Decided before the first send, while a file still stands where the caller left it.
    """
    body = request.body
    if body is None or isinstance(body, str | bytes | bytearray | memoryview):
        return _nothing
    return rewind_of(body)


def _nothing() -> None:
    """A body in memory is always ready."""


def in_memory(body: Any) -> bool:
    """Is there nothing to wind back?"""
    return body is None or isinstance(body, bytes | str)


def body_of(request: Any) -> bytes | None:
    """The request's body when it is in memory."""
    body = request.body
    if isinstance(body, str):
        return body.encode()
    if body is None:
        return b""
    return bytes(body) if isinstance(body, bytes | bytearray | memoryview) else None


def print_of(request: Any, rewind: Any = None) -> str:
    """The fingerprint of the request."""
    return fingerprint(
        request.method,
        request.url,
        header(request, "content-type") or "",
        content_of(body_of(request), rewind),
        header(request, "content-length") or "",
    )


def origin_of(url: str) -> str:
    """`scheme://host:port` of a URL, with the port written out."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 0)}"


def path_of(url: str) -> str:
    """The encoded path without query."""
    return urlsplit(url).path or "/"


def place_of(url: str) -> str:
    """The URL without fragment: what two requests for the same thing have in common."""
    return urldefrag(url)[0]


def bare(url: str) -> str:
    """The URL as an error may show it."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


# ---------------------------------------------------------------------- timeouts


def cut_timeout(timeout: Any, left: float) -> Any:
    """The call's timeout, cut to what the deadline leaves."""
    if isinstance(timeout, Timeout):
        cut = timeout.clone()
        cut.total = _least(timeout.total, left)
        return cut
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    return _least(connect, left), _least(read, left)


def _least(asked: Any, left: float) -> float:
    return min(asked, left) if isinstance(asked, int | float) else left


def read_timeout(timeout: Any) -> float | None:
    """The read timeout in seconds, None when there is none."""
    if isinstance(timeout, Timeout):
        started = timeout.clone()
        started.start_connect()  # else it refuses to tell
        timeout = started.read_timeout
    found = timeout[1] if isinstance(timeout, tuple) else timeout
    return float(found) if isinstance(found, int | float) else None


# ---------------------------------------------------------------------- reads of a verifier


def read_request(request: Any, key: str | None, url: Any, params: Any, headers: Any) -> Any:
    """The GET of a verifying read: joined to the call's URL, with the call's headers.

    Another origin gets none of them, since credentials belong to one. Caches are asked to stand
    aside (RFC 9111 section 5.2.1.4).
    """
    place = urljoin(request.url, str(url))
    if params is not None:
        place = _with_params(place, params)
    sent = {}
    if origin_of(place) == origin_of(request.url):
        values = {name: header(request, name) or "" for name in request.headers}
        sent = {name: value for name, value in values.items() if is_kept(name, value, key)}
    sent["Cache-Control"] = "no-cache"
    read = requests.Request("GET", place, headers=sent).prepare()
    read.headers.update(headers or {})
    return read


def unprepared(request: Any) -> Any:
    """The read as a request that a session may still sign."""
    return requests.Request("GET", request.url, headers=dict(request.headers))


def _with_params(place: str, params: Any) -> str:
    """The URL with these parameters in place of any of the same name."""
    pairs = [*(params.items() if hasattr(params, "items") else params)]
    named = {name for name, _ in pairs}
    parts = urlsplit(place)
    old = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([*(pair for pair in old if pair[0] not in named), *pairs], doseq=True)
    return urlunsplit(parts._replace(query=query))


def with_headers(request: Any, headers: dict[str, str]) -> Any:
    """The same GET with more headers; None when it has a body."""
    if request.body is not None:
        return None
    again = request.copy()
    again.headers.update(headers)
    return again


def location_of(request: Any, response: Any) -> str | None:
    """The URL that a redirect points to, as requests makes it, or None."""
    location = response.headers.get("location")
    if response.status_code not in REDIRECTS or not location:
        return None
    try:
        text = location.encode("latin-1").decode()
        place = requote_uri(urljoin(request.url, requote_uri(text)))
        return place if urlsplit(place).port != 0 else None  # a bad port raises
    except Exception:  # an unreadable Location, whatever requests calls that
        return None


def next_hop(request: Any, response: Any) -> Any:
    """The request that a redirect within the origin asks for, or None."""
    place = location_of(request, response)
    if place is None or origin_of(place) != origin_of(request.url):
        return None
    hop = request.copy()
    hop.url = place
    return hop


# ---------------------------------------------------------------------- responses


def attach(response: Any, outcome: Any) -> None:
    """Put the outcome where `outcome(response)` finds it."""
    response.recovery = outcome
    failure = getattr(response.raw, "failure", None)
    if failure is not None:  # raised when the body is read
        failure.recovery = outcome


def attach_request(error: BaseException, request: Any) -> None:
    """Put the request on an error of ours, as requests does on its own. It is not pickled."""
    error.request = request  # type: ignore[attr-defined] # of requests' exceptions


def common_error(lib: Any) -> type[BaseException]:
    """What all failures of the library have in common."""
    error: type[BaseException] = lib.RequestException
    return error


def cut_error(lib: Any, text: str, request: Any) -> BaseException:
    """The library's own error for a body that is not whole."""
    error: BaseException = lib.ChunkedEncodingError(text, request=request)
    return error
