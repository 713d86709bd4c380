"""What an exception proves: by its phase, by its type, and on real sockets."""

from __future__ import annotations

import asyncio
import datetime
import inspect
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import httpx
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from httpx_recover import Applied, FailureClass
from httpx_recover._evidence import Evidence, Phase, judge

F = FailureClass
LOST = {True: F.TRANSIENT, False: F.UNKNOWN_OUTCOME}
BOTH = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


def phase(*, sent: bool = False, connected: bool = True, stream: int | None = None) -> Phase:
    found = Phase()
    if connected:
        found.event("connection.connect_tcp.started", {})
    if sent:
        name = "http2" if stream else "http11"
        found.event(f"{name}.send_request_headers.started", {"stream_id": stream})
    return found


BY_TYPE = {
    "UnsupportedProtocol": F.BAD_INPUT,
    "InvalidURL": F.BAD_INPUT,
    "LocalProtocolError": F.BAD_INPUT,
    "PoolTimeout": F.TRANSIENT,
    "ConnectError": F.TRANSIENT,
    "ConnectTimeout": F.TRANSIENT,
    "ProxyError": F.TRANSIENT,
}
BY_PHASE = ("ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "CloseError") + (
    "RemoteProtocolError",
)


@BOTH
def test_the_two_lists_name_every_failure_of_the_transport(library: Any) -> None:
    kinds = [each for each in vars(library).values() if inspect.isclass(each)]
    failures = [each for each in kinds if issubclass(each, library.TransportError)]
    ends = {each.__name__ for each in failures if not set(each.__subclasses__()) & set(kinds)}
    ends -= {"SSEError"}  # raised by a reader of events, long after the transport
    assert ends | {"InvalidURL"} == {*BY_TYPE, *BY_PHASE}


@BOTH
@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize(
    ("name", "untraced"), [*BY_TYPE.items(), *((name, None) for name in BY_PHASE)]
)
def test_every_exception_of_the_clients(
    library: Any, name: str, untraced: FailureClass | None, safe: bool
) -> None:
    exc = getattr(library, name)("told")
    found = judge(exc, None, safe=safe, real=True)
    assert found.cause == name
    assert found.recoverable
    if untraced is not None:
        assert found[:3] == (untraced, Applied.NO, "not_sent")
        assert judge(exc, phase(), safe=safe, real=False) == found
        return
    assert found[:3] == (LOST[safe], Applied.UNKNOWN, "unknown")
    assert judge(exc, phase(), safe=safe, real=False)[:3] == (F.TRANSIENT, Applied.NO, "not_sent")
    assert judge(exc, phase(sent=True), safe=safe, real=True)[:3] == (
        LOST[safe],
        Applied.UNKNOWN,
        "sent",
    )


def test_silence_is_proof_only_from_the_librarys_own_transport() -> None:
    silent = phase(connected=False)
    exc = httpx.CloseError("x")
    assert judge(exc, silent, safe=False, real=True).applied is Applied.NO
    assert judge(exc, silent, safe=False, real=False).applied is Applied.UNKNOWN


@pytest.mark.parametrize(
    "name", ["ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "RemoteProtocolError"]
)
def test_a_failure_of_reading_or_writing_in_silence_is_played_by_a_test_tool(name: str) -> None:
    exc = getattr(httpx, name)("x")
    found = judge(exc, phase(connected=False), safe=False, real=True)
    assert (found.failure, found.applied) == (F.UNKNOWN_OUTCOME, Applied.UNKNOWN)
    assert judge(exc, phase(), safe=False, real=True).applied is Applied.NO


def test_what_is_no_transport_failure_is_never_repeated() -> None:
    for exc in (RuntimeError("bug"), httpx.StreamConsumed(), httpx.DecodingError("x")):
        found = judge(exc, None, safe=True, real=True)
        assert not found.recoverable
        assert found.failure is F.TRANSIENT
    assert judge(ValueError(), phase(), safe=False, real=True)[:2] == (F.TRANSIENT, Applied.NO)
    assert judge(TimeoutError(), None, safe=False, real=True).recoverable


@BOTH
@pytest.mark.parametrize("name", ["PoolTimeout", "ConnectError", "ConnectTimeout", "ProxyError"])
def test_these_types_are_raised_only_before_a_send_of_their_own(library: Any, name: str) -> None:
    # The client itself sent before, was refused by a GOAWAY, and could not connect again.
    found = judge(getattr(library, name)("x"), phase(sent=True), safe=False, real=True)
    assert found[:3] == (F.TRANSIENT, Applied.NO, "not_sent")


@pytest.mark.parametrize("exc", [KeyboardInterrupt(), asyncio.CancelledError(), MemoryError()])
def test_who_gives_up_is_told_what_may_have_been_sent(exc: BaseException) -> None:
    early = judge(exc, phase(), safe=False, real=True)
    assert (early.applied, early.phase, early.recoverable) == (Applied.NO, "not_sent", False)
    late = judge(exc, phase(sent=True), safe=False, real=True)
    assert (late.failure, late.applied) == (F.UNKNOWN_OUTCOME, Applied.UNKNOWN)
    assert (late.cause, late.recoverable) == (type(exc).__name__, False)


@BOTH
@pytest.mark.parametrize("name", ["TooManyRedirects", "DecodingError"])
def test_what_the_client_makes_of_an_answer_is_no_failure_of_the_transport(
    library: Any, name: str
) -> None:
    found = judge(getattr(library, name)("x"), phase(sent=True), safe=False, real=True)
    assert (found.applied, found.recoverable, found.cause) == (Applied.UNKNOWN, False, name)


def test_a_connect_to_a_proxy_is_not_the_request() -> None:
    for method in (b"CONNECT", "CONNECT"):
        seen = phase()
        tunnel = httpx.Request("GET", "http://h/")
        tunnel.method = method  # type: ignore[assignment] # httpcore gives bytes
        seen.event("http11.send_request_headers.started", {"request": tunnel})
        assert (seen.sent, seen.sends) == (False, 0)
        assert judge(httpx.ReadTimeout("x"), seen, safe=False, real=False).applied is Applied.NO
        seen.event("http11.send_request_headers.started", {"request": httpx.Request("GET", "/")})
        assert (seen.sent, seen.sends) == (True, 1)


@pytest.mark.parametrize("name", ["connection.connect_tcp", "proxy.start_tls", "socks5.connect"])
def test_a_connection_begun_makes_silence_a_proof(name: str) -> None:
    seen = Phase()
    seen.event(f"{name}.started", {})
    assert judge(httpx.ReadError("x"), seen, safe=False, real=False).applied is Applied.NO


def test_a_second_send_by_the_client_itself_begins_anew() -> None:
    exc, seen = httpx.LocalProtocolError("x"), phase(sent=True)
    seen.event("http11.send_request_headers.failed", {"exception": exc})
    assert seen.headers_failed_locally
    seen.event("http2.send_request_headers.started", {"stream_id": 3})
    assert (seen.sends, seen.stream_id, seen.headers_failed_locally) == (2, 3, False)
    assert judge(exc, seen, safe=False, real=True).applied is Applied.UNKNOWN


def test_under_http2_a_local_error_while_sending_proves_nothing() -> None:
    exc, seen = httpx.LocalProtocolError("x"), phase(sent=True, stream=1)
    seen.event("http2.send_request_headers.failed", {"exception": exc})
    assert judge(exc, seen, safe=False, real=True).applied is Applied.UNKNOWN
    assert judge(exc, phase(stream=1), safe=False, real=True).failure is F.BAD_INPUT


def test_a_rule_of_http_broken_before_or_after_the_headers() -> None:
    exc = httpx.LocalProtocolError("bad header")
    at_headers = phase(sent=True)
    at_headers.event("http11.send_request_headers.failed", {"exception": exc})
    assert judge(exc, at_headers, safe=False, real=True).failure is F.BAD_INPUT
    assert judge(exc, phase(sent=True), safe=False, real=True).applied is Applied.UNKNOWN
    assert judge(exc, phase(), safe=False, real=True).failure is F.BAD_INPUT
    other = phase(sent=True)
    other.event("http11.send_request_headers.failed", {"exception": httpx.WriteError("x")})
    assert judge(exc, other, safe=False, real=True).applied is Applied.UNKNOWN
    other.event("http11.send_request_headers.complete", {})
    other.event("http11.receive_response_headers.started", {})


@pytest.mark.parametrize(("text", "failure"), [("407 Auth", F.AUTH), ("502 Bad", F.TRANSIENT)])
def test_a_proxys_refusal_is_read_from_its_text(text: str, failure: FailureClass) -> None:
    found = judge(httpx.ProxyError(text), None, safe=False, real=True)
    assert found[:2] == (failure, Applied.NO)


class SOCKSError(Exception):
    """socksio's own, which httpcore lets pass."""


def test_a_socks_proxy_that_makes_no_sense_has_sent_nothing() -> None:
    for seen in (phase(), None):
        found = judge(SOCKSError("Malformed reply"), seen, safe=False, real=True)
        assert found == (F.TRANSIENT, Applied.NO, "not_sent", "SOCKSError", True)


def under(exc: BaseException, cause: BaseException) -> BaseException:
    exc.__cause__ = cause
    return exc


@BOTH
def test_http2_takes_requests_back(library: Any) -> None:
    def reset(code: int) -> Any:
        event = h2.events.StreamReset.__new__(h2.events.StreamReset)
        event.stream_id, event.error_code = 5, h2.errors.ErrorCodes(code)
        return under(library.RemoteProtocolError("x"), Exception(event))

    def goaway(last: int) -> Any:
        event = h2.events.ConnectionTerminated.__new__(h2.events.ConnectionTerminated)
        event.error_code, event.last_stream_id = h2.errors.ErrorCodes.REFUSED_STREAM, last
        event.additional_data = b"UNKNOWN_CA"  # a server's words prove nothing
        return under(library.RemoteProtocolError("x"), Exception(event))

    ours = phase(sent=True, stream=5)
    refused = (F.TRANSIENT, Applied.NO, "refused")
    assert judge(reset(7), ours, safe=False, real=True)[:3] == refused
    for code in (0, 2, 8, 11):
        assert judge(reset(code), ours, safe=False, real=True)[:3] == (
            *(F.UNKNOWN_OUTCOME, Applied.UNKNOWN, "sent"),
        )
    assert judge(reset(7), None, safe=True, real=False)[:3] == refused
    assert judge(goaway(7), ours, safe=False, real=True).applied is Applied.UNKNOWN
    assert judge(goaway(0), None, safe=False, real=True)[:3] == refused
    assert judge(goaway(3), ours, safe=False, real=True)[:3] == refused
    assert judge(goaway(5), ours, safe=False, real=True).applied is Applied.UNKNOWN
    assert judge(goaway(3), None, safe=False, real=True).applied is Applied.UNKNOWN


@BOTH
def test_an_answer_that_h2_cannot_read_is_no_bad_request(library: Any) -> None:
    """h2 uses one error for what we may not send and for what it may not receive."""
    made_by_h2 = Exception(h2.exceptions.ProtocolError("Invalid input RECV_HEADERS in CLOSED"))
    exc = under(library.LocalProtocolError("x"), made_by_h2)
    assert judge(exc, None, safe=True, real=True)[:2] == (F.TRANSIENT, Applied.UNKNOWN)
    assert judge(exc, None, safe=False, real=True)[:2] == (F.UNKNOWN_OUTCOME, Applied.UNKNOWN)
    unread = under(library.LocalProtocolError("x"), Exception(ValueError("a header")))
    assert judge(unread, None, safe=False, real=True)[:2] == (F.BAD_INPUT, Applied.NO)


class ConnectionNotAvailable(Exception):
    """httpcore's word to its own pool: GOAWAY named a stream below ours, send it elsewhere."""


def test_what_a_goaway_gave_back_to_the_client_is_out_no_more() -> None:
    seen, name = phase(sent=True, stream=3), "http2.receive_response_headers.failed"
    seen.event(name, {"exception": httpx.ReadError("x")})
    assert (seen.sent, seen.returned, seen.resent) == (True, 0, 0)
    seen.event(name, {"exception": ConnectionNotAvailable()})
    assert (seen.sent, seen.returned, seen.resent) == (False, 1, 0)
    assert judge(httpx.ReadTimeout("x"), seen, safe=False, real=True).applied is Applied.NO
    seen.event("http2.send_request_headers.started", {"stream_id": 1})
    assert (seen.sent, seen.sends, seen.resent) == (True, 2, 1)
    assert judge(httpx.ReadTimeout("x"), seen, safe=False, real=True).applied is Applied.UNKNOWN


@BOTH
def test_one_send_taken_back_says_nothing_of_another_before_it(library: Any) -> None:
    event = h2.events.StreamReset.__new__(h2.events.StreamReset)
    event.stream_id, event.error_code = 1, h2.errors.ErrorCodes.REFUSED_STREAM
    refused = under(library.RemoteProtocolError("x"), Exception(event))
    seen = phase(sent=True, stream=1)
    assert judge(refused, seen, safe=False, real=False).phase == "refused"
    seen.event("http2.send_request_headers.started", {"stream_id": 1})
    assert judge(refused, seen, safe=False, real=False)[1:3] == (Applied.UNKNOWN, "sent")
    name = "http2.receive_response_headers.failed"
    seen.event(name, {"exception": ConnectionNotAvailable()})
    assert seen.sent  # the first of the two, of which nobody has heard
    assert judge(httpx.ReadTimeout("x"), seen, safe=False, real=False).applied is Applied.UNKNOWN


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = httpx.ReadError("a"), httpx.ReadError("b")
    first.__cause__, second.__cause__ = second, first
    assert judge(first, None, safe=False, real=True).applied is Applied.UNKNOWN


def test_alerts_of_tls_are_a_matter_of_credentials() -> None:
    for alert in ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE"):
        exc = under(httpx.ReadError("x"), ssl.SSLError(1, f"[SSL: {alert}] alert"))
        assert judge(exc, phase(sent=True), safe=False, real=True)[:2] == (F.AUTH, Applied.NO)
    said_by_a_server = httpx.ReadError("x")
    said_by_a_server.__cause__ = ValueError("UNKNOWN_CA in a body")
    assert judge(said_by_a_server, None, safe=False, real=True).applied is Applied.UNKNOWN


# ------------------------------------------------------------------ real sockets


@contextmanager
def serving(play: Callable[[socket.socket], None]) -> Iterator[int]:
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            with suppress(OSError):
                play(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()
        thread.join(5)


def drain(connection: socket.socket) -> None:
    """Read, and say nothing, until the client gives up."""
    while connection.recv(65536):
        continue


def attempt(library: Any, url: str, **settings: Any) -> tuple[Evidence, Phase]:
    seen = Phase()
    with library.Client(timeout=0.5, trust_env=False, **settings) as client:
        try:
            client.post(url, json={}, extensions={"trace": seen.event})
        except library.TransportError as exc:
            return judge(exc, seen, safe=False, real=True), seen
    raise AssertionError("it was answered")


@BOTH
def test_a_refused_port(library: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found, seen = attempt(library, f"http://127.0.0.1:{port}/")
    assert found == (F.TRANSIENT, Applied.NO, "not_sent", "ConnectError", True)
    assert (seen.connected, seen.sent) == (True, False)


@BOTH
def test_a_cut_after_the_request(library: Any) -> None:
    with serving(lambda connection: connection.recv(65536) and None) as port:
        found, seen = attempt(library, f"http://127.0.0.1:{port}/")
    assert found[:3] == (F.UNKNOWN_OUTCOME, Applied.UNKNOWN, "sent")
    assert (seen.sent, seen.sends) == (True, 1)


@BOTH
def test_a_handshake_against_a_plain_server(library: Any) -> None:
    with serving(lambda connection: connection.sendall(b"HTTP/1.1 400 X\r\n\r\n")) as port:
        found, seen = attempt(library, f"https://127.0.0.1:{port}/")
    assert found == (F.TRANSIENT, Applied.NO, "not_sent", "ConnectError", True)
    assert not seen.sent


@BOTH
@pytest.mark.parametrize("sent", [False, True])
def test_a_silent_server(library: Any, sent: bool) -> None:
    with serving(drain) as port:
        # Silence in the handshake of TLS, and after the request.
        found, seen = attempt(library, f"http{'' if sent else 's'}://127.0.0.1:{port}/")
    assert seen.sent is sent
    if sent:
        assert found[:4] == (F.UNKNOWN_OUTCOME, Applied.UNKNOWN, "sent", "ReadTimeout")
    else:
        assert found[:4] == (F.TRANSIENT, Applied.NO, "not_sent", "ConnectTimeout")


@BOTH
@pytest.mark.parametrize(
    ("end", "applied", "known"),
    [
        ("REFUSED_STREAM", Applied.NO, "refused"),
        ("CANCEL", Applied.UNKNOWN, "sent"),
        ("GOAWAY 0", Applied.NO, "refused"),
        ("GOAWAY 1", Applied.UNKNOWN, "sent"),
    ],
)
def test_a_real_server_takes_a_request_back(
    library: Any, end: str, applied: Applied, known: str
) -> None:
    def serve(connection: socket.socket) -> None:
        speaker = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        speaker.initiate_connection()
        connection.sendall(speaker.data_to_send())
        while not any(
            isinstance(event, h2.events.RequestReceived)
            for event in speaker.receive_data(connection.recv(65536))
        ):
            continue
        if end.startswith("GOAWAY"):
            speaker.close_connection(last_stream_id=int(end[-1]))
        else:
            speaker.reset_stream(1, h2.errors.ErrorCodes[end])
        connection.sendall(speaker.data_to_send())
        drain(connection)

    with serving(serve) as port:
        url = f"http://127.0.0.1:{port}/"
        found, seen = attempt(library, url, http1=False, http2=True)
    assert found[1:4] == (applied, known, "RemoteProtocolError")
    assert (seen.sends, seen.stream_id) == (1, 1)


@BOTH
@pytest.mark.parametrize(
    ("answer", "failure", "cause"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", F.AUTH, "ProxyError"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", F.TRANSIENT, "ProxyError"),
        (b"silence", F.TRANSIENT, "ReadTimeout"),
        (b"", F.TRANSIENT, "RemoteProtocolError"),
    ],
    ids=["407", "502", "silent", "closes"],
)
def test_a_proxy_that_refuses_is_silent_or_closes(
    library: Any, answer: bytes, failure: FailureClass, cause: str
) -> None:
    def proxy(connection: socket.socket) -> None:
        connection.recv(65536)
        if answer == b"silence":
            drain(connection)
        elif answer:
            connection.sendall(answer)

    with serving(proxy) as port:
        found, seen = attempt(library, "https://api.example.com/", proxy=f"http://127.0.0.1:{port}")
    assert found == (failure, Applied.NO, "not_sent", cause, True)
    assert (seen.connected, seen.sent) == (True, False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(secret + made.public_bytes(pem))
    return path


@BOTH
@pytest.mark.parametrize("wanted", [False, True], ids=["self-signed", "client certificate"])
def test_certificates_are_a_matter_of_credentials(
    library: Any, certificate: Path, wanted: bool
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    if wanted:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificate)

    def serve(connection: socket.socket) -> None:
        # A second handle keeps the connection open when the handshake fails, so that the alert
        # is not overtaken by a reset.
        with connection.dup() as kept:
            with suppress(ssl.SSLError):
                context.wrap_socket(connection, server_side=True).close()
            drain(kept)

    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with serving(serve) as port:
        verify: Any = trusting if wanted else True
        found, seen = attempt(library, f"https://127.0.0.1:{port}/", verify=verify)
    # Under TLS 1.3 our side is done before the server asks: the alert comes after the request.
    cause = "ReadError" if wanted else "ConnectError"
    assert found[:4] == (F.AUTH, Applied.NO, "not_sent", cause)
    assert seen.sent is wanted
