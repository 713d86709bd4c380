"""What an exception proves: by its phase, by its type, and on real sockets."""

from __future__ import annotations

import datetime
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h2.errors
import h2.events
import httpx
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from httpx_recover import Applied, FailureClass
from httpx_recover._evidence import Phase, judge

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


@BOTH
@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize(
    ("name", "untraced"),
    [
        ("UnsupportedProtocol", F.BAD_INPUT),
        ("InvalidURL", F.BAD_INPUT),
        ("LocalProtocolError", F.BAD_INPUT),
        ("PoolTimeout", F.TRANSIENT),
        ("ConnectError", F.TRANSIENT),
        ("ConnectTimeout", F.TRANSIENT),
        ("ProxyError", F.TRANSIENT),
        ("ReadTimeout", None),
        ("WriteTimeout", None),
        ("ReadError", None),
        ("WriteError", None),
        ("CloseError", None),
        ("RemoteProtocolError", None),
    ],
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
    exc = httpx.ReadTimeout("x")
    assert judge(exc, silent, safe=False, real=True).applied is Applied.NO
    assert judge(exc, silent, safe=False, real=False).applied is Applied.UNKNOWN


def test_what_is_no_transport_failure_is_never_repeated() -> None:
    for exc in (RuntimeError("bug"), httpx.StreamConsumed(), httpx.DecodingError("x")):
        found = judge(exc, None, safe=True, real=True)
        assert not found.recoverable
        assert found.failure is F.TRANSIENT
    assert judge(ValueError(), phase(), safe=False, real=True)[:2] == (F.TRANSIENT, Applied.NO)
    assert judge(TimeoutError(), None, safe=False, real=True).recoverable


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
    assert judge(reset(8), ours, safe=False, real=True).applied is Applied.UNKNOWN
    assert judge(goaway(0), None, safe=False, real=True)[:3] == refused
    assert judge(goaway(3), ours, safe=False, real=True)[:3] == refused
    assert judge(goaway(5), ours, safe=False, real=True).applied is Applied.UNKNOWN
    assert judge(goaway(3), None, safe=False, real=True).applied is Applied.UNKNOWN


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


def attempt(library: Any, url: str, **settings: Any) -> Any:
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
    assert found[:3] == (F.TRANSIENT, Applied.NO, "not_sent")
    assert not seen.sent


@BOTH
def test_a_cut_after_the_request(library: Any) -> None:
    with serving(lambda connection: connection.recv(65536) and None) as port:
        found, seen = attempt(library, f"http://127.0.0.1:{port}/")
    assert found[:3] == (F.UNKNOWN_OUTCOME, Applied.UNKNOWN, "sent")
    assert (seen.sent, seen.sends) == (True, 1)


@BOTH
def test_a_handshake_against_a_plain_server(library: Any) -> None:
    with serving(lambda connection: connection.sendall(b"HTTP/1.1 400 X\r\n\r\n")) as port:
        found, _ = attempt(library, f"https://127.0.0.1:{port}/")
    assert found[:3] == (F.TRANSIENT, Applied.NO, "not_sent")


@BOTH
@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", F.AUTH),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", F.TRANSIENT),
        (b"", F.TRANSIENT),
    ],
)
def test_a_proxy_that_refuses_is_silent_or_closes(
    library: Any, answer: bytes, failure: FailureClass
) -> None:
    def proxy(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(answer)
        if not answer:
            connection.recv(65536)  # silent until the client gives up

    with serving(proxy) as port:
        found, seen = attempt(library, "https://api.example.com/", proxy=f"http://127.0.0.1:{port}")
    assert found[:3] == (failure, Applied.NO, "not_sent")
    assert not seen.sent


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
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                secure.recv(65536)
        except ssl.SSLError:
            connection.recv(65536)

    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    with serving(serve) as port:
        verify: Any = trusting if wanted else True
        found, _ = attempt(library, f"https://127.0.0.1:{port}/", verify=verify)
    assert found[:2] == (F.AUTH, Applied.NO)
