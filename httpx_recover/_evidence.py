"""What an exception proves about the request: was it sent, and may the server have acted on it?

1. The phase beats the type. httpx's `trace` tells when the headers of the request itself (not those
   of a CONNECT) begin to leave. When they never did, nothing was sent.
2. HTTP/2 can take a request back: REFUSED_STREAM, and a GOAWAY whose last stream is below ours,
   mean that it was not processed (RFC 9113 sections 6.8 and 8.7).
3. A certificate that fails, or that the server asks for in vain, is a matter of credentials: no
   wait mends it. Under TLS 1.3 the server's alert arrives as a read error after our side has
   finished, but the server never took the request.
4. Without a phase the type decides. Pool, DNS, connect and proxy failures are not sent; what cannot
   be told is unknown.

Exceptions are known by the names of their classes, so one table serves httpx, httpx2 and requests,
which says most in the urllib3 errors that its own were made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from httpx_recover._words import Applied, FailureClass

REFUSED_STREAM = 7  # RFC 9113 section 7

# socksio's own errors pass through httpcore as they are.
_BEFORE = frozenset({"PoolTimeout", "ConnectError", "ConnectTimeout", "ProxyError", "SOCKSError"})
_URLLIB3_BEFORE = frozenset(
    {"NewConnectionError", "ConnectTimeoutError", "ClosedPoolError", "EmptyPoolError"}
)
_PLAYED = frozenset(
    {"ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "RemoteProtocolError"}
)
_LOCAL = frozenset(
    {
        *("UnsupportedProtocol", "InvalidURL"),
        *("InvalidHeader", "InvalidSchema", "MissingSchema", "InvalidProxyURL"),
        *("LocationValueError", "UnrewindableBodyError"),
    }
)
_OURS = frozenset(
    {
        *("TransportError", "InvalidURL", "OSError", "SOCKSError"),
        *("PoolError", "LocationValueError"),
    }
)
_CERTIFICATES = frozenset({"SSLCertVerificationError", "CertificateError"})
_NO_TUNNEL = "Tunnel connection failed: 407"  # http.client's words
_ALERTS = ("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNKNOWN_CA")
_SENDING = ("http11.send_request_headers.", "http2.send_request_headers.")
_CONNECTING = ("connection.", "proxy.", "socks")
_UNANSWERED = "http2.receive_response_headers.failed"


class Phase:
    """How far the request got, as the client's trace events tell it."""

    __slots__ = (
        *("connected", "headers_failed_locally", "returned"),
        *("sends", "sent", "stream_id", "tries"),
    )

    def __init__(self) -> None:
        self.sent = False
        self.connected = False  # then the absence of a sending event is proof
        self.headers_failed_locally = False
        self.stream_id: int | None = None
        self.sends = 0  # httpcore may send by itself again after a GOAWAY
        self.returned = 0  # of those, how many such a GOAWAY has proven not processed
        self.tries = 0  # connections taken from a pool, where that is told

    def event(self, name: str, info: Mapping[str, Any]) -> None:
        """Take one trace event."""
        if name.startswith(_SENDING):
            self._sending(name, info)
        elif name.startswith(_CONNECTING):
            self.connected = True
        elif name == _UNANSWERED and "ConnectionNotAvailable" in _names(info.get("exception")):
            self.returned += 1
            self.sent = self.sends > self.returned

    @property
    def resent(self) -> int:
        """How often the client has sent by itself again, after a GOAWAY below our stream."""
        return min(self.returned, self.sends - 1)

    @property
    def alone(self) -> bool:
        """Is what became of the last send all there is to ask?"""
        return self.sends - self.returned <= 1

    def _sending(self, name: str, info: Mapping[str, Any]) -> None:
        if name.endswith(".started"):
            if getattr(info.get("request"), "method", b"") in (b"CONNECT", "CONNECT"):
                return
            self.sent = True
            self.sends += 1
            self.stream_id = info.get("stream_id")
            # A second send by the client itself begins anew.
            self.headers_failed_locally = False
        elif name.endswith(".failed"):
            failed = "LocalProtocolError" in _names(info.get("exception"))
            self.headers_failed_locally = failed and name.startswith("http11.")


class Evidence(NamedTuple):
    """What an exception proves."""

    failure: FailureClass
    applied: Applied
    phase: str  # not_sent, refused, sent or unknown
    cause: str  # the exception's name, as the report shows it
    recoverable: bool = True  # is it a failure of the transport at all


def judge(exc: BaseException, phase: Phase | None, *, safe: bool, real: bool) -> Evidence:
    """Read an exception.

    Args:
        exc: what the transport below raised.
        phase: what the trace told, None when the call was not traced.
        safe: the call is a read.
        real: the transport below is the library's own, whose silence is proof too.
    """
    names = _names(exc)
    cause = type(exc).__name__
    if not _OURS.intersection(names):
        untouched = _never_left(phase, real)
        applied = Applied.NO if untouched else Applied.UNKNOWN
        failure = _lost(safe) if not untouched else FailureClass.TRANSIENT
        return Evidence(failure, applied, "not_sent" if untouched else "unknown", cause, False)
    sent = phase is not None and phase.sent
    if not sent and _no_such_file(exc):
        return Evidence(FailureClass.BAD_INPUT, Applied.NO, "not_sent", cause, False)
    if (_LOCAL & names and not sent) or ("LocalProtocolError" in names and _local(exc, phase)):
        return Evidence(FailureClass.BAD_INPUT, Applied.NO, "not_sent", cause)
    # Once something has left, a type that is raised before proves it of another try: of one that
    # httpcore makes after a GOAWAY, else of a layer below, or of a request inside the body.
    early = real or not sent
    if (early and _lacks_credentials(exc, names)) or _alerted(exc, names, phase, early=early):
        return Evidence(FailureClass.AUTH, Applied.NO, "not_sent", cause)
    if (early and _fails_before(exc, names)) or _never_left(phase, real, names):
        return Evidence(FailureClass.TRANSIENT, Applied.NO, "not_sent", cause)
    if (phase is None or phase.alone) and _taken_back(exc, phase):
        return Evidence(FailureClass.TRANSIENT, Applied.NO, "refused", cause)
    known = "sent" if sent else "unknown"
    return Evidence(_lost(safe), Applied.UNKNOWN, known, cause)


def _lost(safe: bool) -> FailureClass:
    return FailureClass.TRANSIENT if safe else FailureClass.UNKNOWN_OUTCOME


def _never_left(phase: Phase | None, real: bool, names: frozenset[str] = frozenset()) -> bool:
    # Who reads or writes has told of it before: without a word it is a test tool that plays it.
    silent = real and not (_PLAYED & names)
    return phase is not None and not phase.sent and (phase.connected or silent)


def _local(exc: BaseException, phase: Phase | None) -> bool:
    """Did the request break a rule of HTTP before it left? In its body it breaks one later.

    h2 says the same of frames that come after a GOAWAY, the answer itself among them.
    """
    if phase is None:
        return not any("H2Error" in _names(each) for each in _chain(exc))
    return not phase.sent or phase.headers_failed_locally


def _fails_before(exc: BaseException, names: frozenset[str]) -> bool:
    """Do the types alone say that it failed before anything was sent?"""
    # requests calls it a ProxyError too when a server behind a tunnel closes after it has read.
    if _BEFORE & names and not {"ProxyError", "RequestException"} <= names:
        return True
    return any(_URLLIB3_BEFORE & _names(each) for each in _chain(exc))


def _no_such_file(exc: BaseException) -> bool:
    """Is it requests' complaint about a certificate file? It looks for one before it connects."""
    return type(exc) is OSError and str(exc).startswith("Could not find ")


def _lacks_credentials(exc: BaseException, names: frozenset[str]) -> bool:
    """A proxy or a certificate that refuses, before the request is sent."""
    if "ProxyError" in names and str(exc).startswith("407"):
        return True
    for each in _chain(exc):
        kinds = _names(each)
        if _CERTIFICATES & kinds or ("OSError" in kinds and str(each).startswith(_NO_TUNNEL)):
            return True
    return False


def _alerted(
    exc: BaseException, names: frozenset[str], phase: Phase | None, *, early: bool
) -> bool:
    """Did the server refuse our certificate? Its alert may come after our side has sent."""
    last = early or (phase is not None and 1 in (phase.tries, phase.sends) and not _BEFORE & names)
    if not last or ("RequestException" in names and "SSLError" not in names):
        return False
    # Only TLS itself is believed: other texts may quote what a server sent, or an address.
    return any(
        "SSLError" in _names(each)
        and "RequestException" not in _names(each)
        and any(alert in str(each) for alert in _ALERTS)
        for each in _chain(exc)
        if isinstance(each, OSError)
    )


def _taken_back(exc: BaseException, phase: Phase | None) -> bool:
    for each in _chain(exc):
        event = each.args[0] if each.args else None
        if getattr(event, "error_code", None) == REFUSED_STREAM and not hasattr(
            event, "last_stream_id"
        ):
            return True
        last = getattr(event, "last_stream_id", None)
        if last is not None:
            ours = None if phase is None else phase.stream_id
            return bool(last == 0 or (ours is not None and ours > last))
    return False


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """The error, and those it says it was made from.

    Not its `__context__`: a call that is made while its caller handles another error has that one
    there, and what it proves it proves of another call.
    """
    seen: set[int] = set()
    left: list[Any] = [exc]
    while left:
        each = left.pop(0)
        if isinstance(each, BaseException) and id(each) not in seen:
            seen.add(id(each))
            yield each
            left += [each.__cause__, getattr(each, "reason", None), *each.args]


def _names(exc: Any) -> frozenset[str]:
    return frozenset(each.__name__ for each in type(exc).__mro__)
