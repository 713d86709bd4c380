"""What each error of requests proves, over real sockets and TLS.

Every fault is met twice: by requests alone, which proves that it is the fault it should be, and
with our adapter. The same types are raised before and after a request has left; only how far it got
tells them apart.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connectionpool import HTTPSConnectionPool

from httpx_recover import Applied, FailureClass, Policy, Rule, UnknownOutcome, task
from httpx_recover.requests import RecoverAdapter, recover
from tests import breaking as b
from tests.breaking_proxies import socks_refuses
from tests.wire.scenes import (
    ALWAYS,
    Make,
    answered,
    answered_by_socks,
    answered_in_a_tunnel,
    asking,
    by_socks,
    forwarded,
    greeted,
    greeted_by_the_proxy,
    greeted_in_a_tunnel,
    proxy_is,
    server_is,
    shown,
    shown_by_the_proxy,
    shown_in_a_tunnel,
    socks_is_down,
    tunnelled,
)
from tests.wire.stage import (
    POLICY,
    TIMEOUT,
    Scene,
    Stage,
    inner,
    mend_while_waiting,
    one,
    told,
)

RETRIED = "MaxRetryError"
ABORTED = "ConnectionError ProtocolError"
IN_TLS = f"SSLError {RETRIED} SSLError"
IN_PROXY = f"ProxyError {RETRIED} ProxyError"

NOT_SENT: dict[str, tuple[Make, str]] = {
    "refused": (server_is("down"), f"ConnectionError {RETRIED} NewConnectionError"),
    "connect timeout": (server_is("full"), f"ConnectTimeout {RETRIED} ConnectTimeoutError"),
    "handshake silent": (greeted(b.silent), "ReadTimeout ReadTimeoutError"),
    "handshake reset": (greeted(b.reset_at_once), f"{ABORTED} ConnectionResetError"),
    "handshake closed": (greeted(b.close_at_once), f"{IN_TLS} SSLEOFError"),
    "handshake garbage": (greeted(b.plain_http), f"{IN_TLS} SSLError"),
    "handshake alert": (greeted(b.alert), f"{IN_TLS} SSLError"),
    "CONNECT 502": (tunnelled(b.status(502)), f"{IN_PROXY} OSError"),
    "CONNECT closed": (tunnelled(b.close), f"{ABORTED} RemoteDisconnected"),
    "CONNECT reset": (tunnelled(b.reset), f"{ABORTED} ConnectionResetError"),
    "CONNECT garbage": (tunnelled(b.no_status_line), f"{ABORTED} BadStatusLine"),
    "CONNECT silent": (tunnelled(b.silent), "ReadTimeout ReadTimeoutError"),
    "tunnel silent": (greeted_in_a_tunnel(b.silent), "ReadTimeout ReadTimeoutError"),
    "tunnel cut": (greeted_in_a_tunnel(b.reset_at_once), f"{IN_TLS} SSLEOFError"),
    "proxy refused": (proxy_is("down"), f"{IN_PROXY} NewConnectionError"),
    "proxy timeout": (proxy_is("full"), f"{IN_PROXY} ConnectTimeoutError"),
    "plain proxy refused": (proxy_is("down", None), f"{IN_PROXY} NewConnectionError"),
    "TLS proxy silent": (greeted_by_the_proxy(b.silent), f"{IN_PROXY} ReadTimeoutError"),
    "TLS proxy reset": (greeted_by_the_proxy(b.reset_at_once), f"{IN_PROXY} ConnectionResetError"),
    "TLS proxy garbage": (greeted_by_the_proxy(b.plain_http), f"{IN_PROXY} SSLError SSLError"),
    "SOCKS refuses": (by_socks(socks_refuses), f"ConnectionError {RETRIED} NewConnectionError"),
    "SOCKS closes": (by_socks(b.close), f"ConnectionError {RETRIED} NewConnectionError"),
    "SOCKS silent": (by_socks(b.silent), f"ConnectTimeout {RETRIED} ConnectTimeoutError"),
    "SOCKS down": (socks_is_down, f"ConnectionError {RETRIED} NewConnectionError"),
}


@pytest.mark.parametrize("name", NOT_SENT)
def test_not_sent_alone(name: str, stage: Stage) -> None:
    make, error = NOT_SENT[name]
    scene = make(stage, ALWAYS)
    assert inner(stage.bare(scene)) == error
    assert scene.delivered() == 0


@pytest.mark.parametrize("name", NOT_SENT)
def test_not_sent_is_sent_again(name: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = NOT_SENT[name][0](stage, 1)
    mend_while_waiting(monkeypatch, scene.mend)
    answer = stage.ours(scene)
    assert getattr(answer, "status_code", answer) == 201
    assert scene.server.count("POST") == 1
    first, second = told(answer).attempts
    assert (first["class"], first["applied"]) == (FailureClass.TRANSIENT, Applied.NO)
    assert (first["phase"], second["phase"]) == ("not_sent", "answered")


@pytest.mark.parametrize("name", NOT_SENT)
def test_never_sent_is_failed_and_not_unknown(name: str, stage: Stage) -> None:
    make, error = NOT_SENT[name]
    scene = make(stage, ALWAYS)
    with task("t") as t:
        raised = stage.ours(scene)
    assert inner(raised) == error
    assert not isinstance(raised, UnknownOutcome)
    found = told(raised)
    assert (found.failure, found.applied) == (FailureClass.TRANSIENT, Applied.NO)
    assert [each["phase"] for each in found.attempts] == ["not_sent"] * 3
    assert (t.report().status, t.report().unknown) == ("failed", ())
    assert scene.delivered() == 0


def test_a_name_that_does_not_resolve(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real, lost = socket.getaddrinfo, ["once", "once more"]

    def lookup(host: Any, *args: Any, **settings: Any) -> Any:
        if host == "localhost" and lost:
            lost.pop()
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real("127.0.0.1", *args, **settings)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    server = stage.server()
    scene = Scene(server, url=f"https://localhost:{server.port}/orders")
    assert inner(stage.bare(scene)) == f"ConnectionError {RETRIED} NameResolutionError"
    answer = stage.ours(scene)
    assert answer.status_code == 201
    assert [each["phase"] for each in told(answer).attempts] == ["not_sent", "answered"]


# ------------------------------------------------------------------ credentials


CREDENTIALS: dict[str, tuple[Make, str]] = {
    "untrusted": (shown("untrusted"), f"{IN_TLS} SSLCertVerificationError"),
    "wrong host": (shown("wrong_host"), f"{IN_TLS} SSLCertVerificationError"),
    "expired": (shown("expired"), f"{IN_TLS} SSLCertVerificationError"),
    "untrusted in a tunnel": (shown_in_a_tunnel, f"{IN_TLS} SSLCertVerificationError"),
    "untrusted proxy": (shown_by_the_proxy, f"{IN_PROXY} SSLError SSLCertVerificationError"),
    "client certificate": (asking, f"{IN_TLS} SSLError"),
    "CONNECT 407": (tunnelled(b.status(407)), f"{IN_PROXY} OSError"),
}


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials_stop_at_once(name: str, method: str, stage: Stage) -> None:
    make, error = CREDENTIALS[name]
    assert inner(stage.bare(make(stage, ALWAYS), method)) == error
    scene = make(stage, ALWAYS)
    raised = stage.ours(scene, method)
    assert inner(raised) == error
    found = told(raised)
    assert (found.failure, found.applied) == (FailureClass.AUTH, Applied.NO)
    assert len(found.attempts) == 1
    assert scene.delivered(method) == 0


def test_the_alert_for_a_missing_certificate_comes_after_sending(stage: Stage) -> None:
    raised = stage.bare(asking(stage, 1))
    assert "TLSV13_ALERT_CERTIFICATE_REQUIRED" in str(raised)


def test_with_its_certificate_the_client_is_let_in(stage: Stage) -> None:
    scene = asking(stage, 1)
    scene.cert = stage.authority.client
    assert stage.ours(scene).status_code == 201


def test_under_tls_1_2_a_missing_certificate_is_only_a_failed_handshake(stage: Stage) -> None:
    """The server's alert does not say why: it is not sent, and no matter of credentials."""
    scene = Scene(stage.server(stage.authority.asking(ssl.TLSVersion.TLSv1_2)))
    bare, ours = stage.bare(scene), stage.ours(scene)
    assert "HANDSHAKE_FAILURE" in str(bare)
    assert inner(ours) == inner(bare) == f"{IN_TLS} SSLError"
    assert told(ours).applied == Applied.NO
    assert told(ours).attempts[-1]["phase"] == "not_sent"


# ------------------------------------------------------------------ never passed the adapter


class Unrewindable:
    """A body that cannot tell where it stands."""

    def __init__(self) -> None:
        self.left = [b"once"]

    def __iter__(self) -> Iterator[bytes]:
        while self.left:
            yield self.left.pop()

    def tell(self) -> int:
        raise OSError("a pipe has no place")


def test_what_is_wrong_with_the_request_is_told_as_without_us(stage: Stage) -> None:
    server = stage.server()
    scene = Scene(server)
    far = f"https://{'a' * 64}.example/"  # a label of a name has at most 63
    cases: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("/orders", {}, requests.exceptions.MissingSchema),
        ("ftp://127.0.0.1/orders", {}, requests.exceptions.InvalidSchema),
        ("http://", {}, requests.exceptions.InvalidURL),
        ("http://*.example/", {}, requests.exceptions.InvalidURL),
        (scene.url, {"headers": {"X": "a\nb"}}, requests.exceptions.InvalidHeader),
        (scene.url, {"proxies": {"https": "http:///x"}}, requests.exceptions.InvalidProxyURL),
        (far, {}, urllib3.exceptions.LocationParseError),
    ]
    for url, settings, error in cases:
        scene.url = url
        for result in (stage.bare(scene, **settings), stage.ours(scene, **settings)):
            assert type(result) is error, url
    assert server.connections == 0


@pytest.mark.parametrize(
    ("url", "proxies"),
    [("https://h.example/", {"https": "http:///x"}), (f"https://{'a' * 64}.example/", {})],
)
def test_a_wrong_address_that_passes_the_adapter_is_not_sent_again(
    url: str, proxies: dict[str, str], stage: Stage
) -> None:
    with stage.session() as session, pytest.raises(Exception, match=r"proxy|label") as raised:
        session.post(url, proxies=proxies, timeout=TIMEOUT)
    found = told(raised.value)
    assert (found.failure, found.applied) == (FailureClass.BAD_INPUT, Applied.NO)
    assert len(found.attempts) == 1


def test_a_body_that_cannot_be_wound_back_for_a_redirect(stage: Stage) -> None:
    server = stage.server(answer=[b.status(307, "Location: /else")] * 2)
    scene = Scene(server, body=Unrewindable)
    for result in (stage.bare(scene), stage.ours(scene)):
        assert type(result) is requests.exceptions.UnrewindableBodyError
    assert [each.path for each in server.read] == ["/orders", "/orders"]


# ------------------------------------------------------------------ sent, and no answer


SENT: dict[str, tuple[Make, str]] = {
    "closed": (answered(b.close, None), f"{ABORTED} RemoteDisconnected"),
    "reset": (answered(b.reset, None), f"{ABORTED} ConnectionResetError"),
    "silent": (answered(b.silent, None), "ReadTimeout ReadTimeoutError"),
    "no status line": (answered(b.no_status_line, None), f"{ABORTED} BadStatusLine"),
    "two lengths": (answered(b.two_lengths, None), "InvalidHeader InvalidHeader"),
    "TLS closed": (answered(b.close), f"{ABORTED} RemoteDisconnected"),
    "TLS silent": (answered(b.silent), "ReadTimeout ReadTimeoutError"),
    "TLS garbage": (answered(b.garbage), f"{IN_TLS} SSLError"),
    "tunnel closed": (answered_in_a_tunnel(b.close), f"{IN_PROXY} RemoteDisconnected"),
    "tunnel silent": (answered_in_a_tunnel(b.silent), "ReadTimeout ReadTimeoutError"),
    "tunnel garbage": (answered_in_a_tunnel(b.garbage), f"{IN_TLS} SSLError"),
    "TLS tunnel closed": (
        answered_in_a_tunnel(b.close, "TLS"),
        f"{IN_PROXY} RemoteDisconnected",
    ),
    "SOCKS closed": (answered_by_socks, f"{ABORTED} RemoteDisconnected"),
    "proxy closed": (forwarded(b.close), f"{IN_PROXY} RemoteDisconnected"),
    "proxy reset": (forwarded(b.reset), f"{IN_PROXY} ConnectionResetError"),
    "proxy silent": (forwarded(b.silent), "ReadTimeout ReadTimeoutError"),
}


@pytest.mark.parametrize("name", SENT)
def test_sent_alone(name: str, stage: Stage) -> None:
    make, error = SENT[name]
    scene = make(stage, ALWAYS)
    assert inner(stage.bare(scene)) == error
    assert scene.delivered() == 1


@pytest.mark.parametrize("name", SENT)
def test_a_post_that_was_sent_is_unknown_and_sent_once(name: str, stage: Stage) -> None:
    make, error = SENT[name]
    scene = make(stage, 1)
    with task("t") as t:
        raised = stage.ours(scene)
    assert isinstance(raised, UnknownOutcome)
    assert isinstance(raised, getattr(requests.exceptions, error.split()[0]))
    found = told(raised)
    assert (found.failure, found.applied) == (FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN)
    assert [each["phase"] for each in found.attempts] == ["sent"]
    assert t.report().status == "unknown"
    assert scene.delivered() == 1


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("name", SENT)
def test_what_may_be_repeated_is_recovered(name: str, method: str, stage: Stage) -> None:
    scene = SENT[name][0](stage, 1)
    answer = stage.ours(scene, method)
    assert getattr(answer, "status_code", answer) == 200
    assert scene.delivered(method) == 2
    assert [each["phase"] for each in told(answer).attempts] == ["sent", "answered"]


@pytest.mark.parametrize("method", ["POST", "GET", "PUT"])
@pytest.mark.parametrize("tls", ["good", None])
def test_a_write_timeout(method: str, tls: Any, stage: Stage) -> None:
    def scene() -> Scene:
        return Scene(stage.server(tls, meet=[b.deaf]), body=b.BIG)

    assert inner(stage.bare(scene(), method)) == f"{ABORTED} TimeoutError"
    ours = scene()
    result = stage.ours(ours, method)
    if method == "POST":
        assert isinstance(result, UnknownOutcome)
        assert isinstance(result, requests.exceptions.ConnectionError)
        assert told(result).applied == Applied.UNKNOWN
    else:
        assert result.json() == {"got": len(b.BIG)}
    assert ours.server.count(method) == (0 if method == "POST" else 1)


def in_chunks() -> Iterator[bytes]:
    """A body that takes its time, so that the server has gone when the rest of it leaves."""
    yield b"first"
    for _ in range(3):
        time.sleep(0.08)
        yield b"more"


def test_an_end_of_tls_may_come_after_the_server_has_acted(stage: Stage) -> None:
    """The same words as of a handshake that was cut, and yet part of the request was read."""
    scenes = [Scene(stage.server(meet=[b.first_chunk]), body=in_chunks) for _ in range(2)]
    bare, ours = stage.bare(scenes[0]), stage.ours(scenes[1])
    as_python_tells = {  # from 3.13 on it is a BrokenPipeError, after which urllib3 reads on
        f"{IN_TLS} SSLEOFError": requests.exceptions.SSLError,
        f"{ABORTED} RemoteDisconnected": requests.exceptions.ConnectionError,
    }
    assert isinstance(ours, as_python_tells[inner(bare)])
    assert isinstance(ours, UnknownOutcome)
    assert [each.body for each in scenes[1].server.read] == [b"first"]


def test_a_body_that_fails_while_it_is_sent_raises_its_own_error(stage: Stage) -> None:
    def broken() -> Iterator[bytes]:
        yield b"first"
        raise LookupError("the source is gone")

    scene = Scene(stage.server(), body=broken)
    assert type(stage.bare(scene)) is LookupError
    raised = stage.ours(scene)
    assert type(raised) is LookupError
    assert told(raised).applied == Applied.UNKNOWN
    assert len(told(raised).attempts) == 1


def test_a_proxy_that_answers_for_the_server_is_an_answer(stage: Stage) -> None:
    scene = forwarded(b.status(502))(stage, 1)
    answer = stage.ours(scene)
    assert (answer.status_code, scene.delivered()) == (502, 1)
    assert told(answer).failure == FailureClass.UNKNOWN_OUTCOME
    refused = stage.ours(forwarded(b.status(407))(stage, 1))
    assert (refused.status_code, told(refused).failure) == (407, FailureClass.AUTH)


# ------------------------------------------------------------------ the body of the answer

CUT: dict[str, tuple[Callable[[int], b.Break], str]] = {
    "short": (b.short, "ChunkedEncodingError ProtocolError IncompleteRead"),
    "in a chunk": (b.in_a_chunk, "ChunkedEncodingError ProtocolError IncompleteRead"),
    "between chunks": (b.between_chunks, "ChunkedEncodingError ProtocolError"),
    "bad chunk": (b.bad_chunk, "ChunkedEncodingError ProtocolError InvalidChunkLength"),
    "reset": (
        lambda code: b.short(code, b.reset),
        "ChunkedEncodingError ProtocolError ConnectionResetError",
    ),
    "stall": (lambda code: b.short(code, b.silent), "ConnectionError ReadTimeoutError"),
}


def cut_scene(stage: Stage, name: str, code: int, times: int = 1) -> Scene:
    return Scene(stage.server(None, answer=[CUT[name][0](code)] * times))


@pytest.mark.parametrize("name", CUT)
def test_a_cut_body_alone(name: str, stage: Stage) -> None:
    assert inner(stage.bare(cut_scene(stage, name, 200), "GET")) == CUT[name][1]


@pytest.mark.parametrize("name", CUT)
def test_a_read_with_a_cut_body_is_read_again(name: str, stage: Stage) -> None:
    scene = cut_scene(stage, name, 200)
    answer = stage.ours(scene, "GET")
    assert answer.json() == {"got": len(scene.body)}
    assert scene.delivered("GET") == 2


@pytest.mark.parametrize("name", CUT)
def test_a_write_with_a_cut_answer_was_applied(name: str, stage: Stage) -> None:
    scene = cut_scene(stage, name, 201)
    with task("t") as t:
        raised = stage.ours(scene)
    assert inner(raised) == CUT[name][1]
    assert not isinstance(raised, UnknownOutcome)
    found = told(raised)
    assert (found.failure, found.applied) == (FailureClass.OK, Applied.YES)
    assert [each["status"] for each in found.attempts] == [201]
    assert t.report().status == "done"
    assert scene.delivered() == 1


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize(
    ("code", "failure"),
    [(422, FailureClass.BAD_INPUT), (401, FailureClass.AUTH), (500, FailureClass.UNKNOWN_OUTCOME)],
)
def test_a_cut_refusal_has_the_class_of_its_status(
    name: str, code: int, failure: FailureClass, stage: Stage
) -> None:
    scene = cut_scene(stage, name, code)
    raised = stage.ours(scene)
    assert isinstance(raised, requests.exceptions.RequestException)
    assert (told(raised).failure, scene.delivered()) == (failure, 1)


def test_under_a_trusted_key_a_lost_answer_is_fetched_again(stage: Stage) -> None:
    scene = cut_scene(stage, "short", 201)
    policy = Policy(backoff=(0.02, 0.03), jitter=0.0, settle=0.2)
    with stage.session(policy=policy, rules=[Rule("POST /orders", dedupes=True)]) as session:
        answer = one(session, "POST", scene)
    assert answer.json() == {"got": len(scene.body)}
    assert len({each.headers["idempotency-key"] for each in scene.server.read}) == 1
    assert scene.delivered() == 2


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_streamed_body_is_the_callers(method: str, stage: Stage) -> None:
    scene = cut_scene(stage, "short", 200)
    answer = stage.ours(scene, method, stream=True)
    assert answer.status_code == 200
    with answer, pytest.raises(requests.exceptions.ChunkedEncodingError):
        answer.content  # noqa: B018 - reading is the point
    assert scene.delivered(method) == 1


def test_a_body_that_cannot_be_decoded_is_the_clients_own_error(stage: Stage) -> None:
    scenes = [Scene(stage.server(answer=[b.bad_gzip(201)])) for _ in range(2)]
    bare, ours = stage.bare(scenes[0]), stage.ours(scenes[1])
    assert type(bare) is type(ours) is requests.exceptions.ContentDecodingError
    found = told(ours)
    assert (found.failure, found.applied) == (FailureClass.OK, Applied.YES)
    assert scenes[1].delivered() == 1


# ------------------------------------------------------------------ the pool


class ImpatientPool(HTTPSConnectionPool):
    """requests gives no time for the wait for a connection: without one it waits for ever."""

    def _get_conn(self, timeout: float | None = None) -> Any:
        return super()._get_conn(0.1)


class Impatient(HTTPAdapter):
    """An adapter of a user's own, with one connection and little patience."""

    def init_poolmanager(self, *args: Any, **settings: Any) -> None:
        super().init_poolmanager(*args, **settings)
        self.poolmanager.pool_classes_by_scheme = {"https": ImpatientPool}


def test_a_connection_that_is_held_is_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(stage.server())
    held: list[requests.Response] = []
    mend_while_waiting(monkeypatch, lambda: held[0].close())
    with stage.session(Impatient(pool_maxsize=1, pool_block=True)) as session:
        recover(session, policy=POLICY)
        held.append(session.get(scene.url, stream=True, timeout=TIMEOUT))
        answer = one(session, "POST", scene)
    assert answer.status_code == 201
    assert [each["phase"] for each in told(answer).attempts] == ["not_sent", "answered"]
    assert scene.delivered() == 1


def test_a_connection_that_stays_held_is_not_sent(stage: Stage) -> None:
    """requests does not make its own error of this one."""
    scene = Scene(stage.server())
    with stage.session(Impatient(pool_maxsize=1, pool_block=True)) as session:
        with session.get(scene.url, stream=True, timeout=TIMEOUT):
            assert inner(one(session, "POST", scene)) == "EmptyPoolError"
    with stage.session(Impatient(pool_maxsize=1, pool_block=True)) as session:
        recover(session, policy=POLICY)
        with session.get(scene.url, stream=True, timeout=TIMEOUT):
            raised = one(session, "POST", scene)
    assert inner(raised) == "EmptyPoolError"
    assert (told(raised).failure, told(raised).applied) == (FailureClass.TRANSIENT, Applied.NO)
    assert scene.delivered() == 0


class Closing(HTTPAdapter):
    """Closed by somebody else just as a request has found its pool."""

    times = 1

    def cert_verify(self, conn: Any, *args: Any) -> None:
        super().cert_verify(conn, *args)
        if self.times > 0:
            self.times -= 1
            conn.close()
            self.close()


def test_a_pool_that_is_closed_meanwhile_has_sent_nothing(stage: Stage) -> None:
    scene = Scene(stage.server())
    with stage.session(Closing()) as session:
        assert inner(one(session, "POST", scene)) == "ConnectionError ClosedPoolError"
    with stage.session(Closing()) as session:
        answer = one(recover(session, policy=POLICY), "POST", scene)
    assert answer.status_code == 201
    assert [each["phase"] for each in told(answer).attempts] == ["not_sent", "answered"]
    assert scene.delivered() == 1


def test_a_session_that_is_closed_in_flight_does_not_lose_the_answer(stage: Stage) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def late(wire: b.Wire) -> bool:
        begun.set()
        go_on.wait(5)
        return b.well(wire)

    scene = Scene(stage.server(answer=[late]))
    found: list[Any] = []
    with stage.session() as session:
        thread = threading.Thread(target=lambda: found.append(one(session, "POST", scene)))
        thread.start()
        assert begun.wait(5)
        session.close()
        go_on.set()
        thread.join(5)
    assert found[0].status_code == 201
    assert scene.delivered() == 1


@pytest.mark.parametrize("stream", [True, False])
def test_a_pool_of_one_connection_does_not_lock_up(stream: bool, stage: Stage) -> None:
    scene = Scene(stage.server(answer=[b.status(503), b.close, b.status(503)]))
    with stage.session(RecoverAdapter(pool_maxsize=1, pool_block=True, policy=POLICY)) as session:
        answer = one(session, "GET", scene, stream=stream)
        assert (answer.status_code, scene.delivered("GET")) == (503, 3)
        answer.close()
        assert one(session, "GET", scene).status_code == 200


# ------------------------------------------------------------------ urllib3's own retries


def own_retries(**settings: Any) -> urllib3.Retry:
    return urllib3.Retry(total=3, **settings)


def test_urllib3_alone_repeats_a_post_that_was_delivered(stage: Stage) -> None:
    scene = answered(b.garbage)(stage, ALWAYS)
    with stage.session(HTTPAdapter(max_retries=own_retries())) as session:
        assert inner(one(session, "POST", scene)) == f"{IN_TLS} SSLError"
    assert scene.delivered() == 4


@pytest.mark.parametrize("name", ["TLS garbage", "tunnel closed", "proxy closed", "closed"])
@pytest.mark.parametrize("how", ["mounted below", "given to ours", "set later"])
def test_inner_retries_are_switched_off(
    how: str, name: str, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    scene = SENT[name][0](stage, ALWAYS)
    retries = own_retries(allowed_methods=None)
    ours = RecoverAdapter(policy=POLICY, max_retries=retries if how == "given to ours" else 0)
    adapter = HTTPAdapter(max_retries=retries) if how == "mounted below" else ours
    with caplog.at_level(logging.WARNING, "httpx_recover"), stage.session(adapter) as session:
        if how == "mounted below":
            recover(session, policy=POLICY)
        elif how == "set later":
            session.get_adapter(scene.url).max_retries = retries
        raised = one(session, "POST", scene)
        one(session, "GET", scene)
    assert isinstance(raised, UnknownOutcome)
    assert scene.delivered() == 1
    said = [each for each in caplog.messages if "max_retries" in each]
    assert len(said) == 1


def test_retries_that_gave_up_on_a_status_are_the_status(stage: Stage) -> None:
    scene = Scene(stage.server(answer=[b.status(503)] * ALWAYS))
    retries = own_retries(status_forcelist=[503], allowed_methods=None)
    with stage.session(HTTPAdapter(max_retries=retries)) as session:
        assert inner(one(session, "POST", scene)) == f"RetryError {RETRIED} ResponseError"
        assert scene.delivered() == 4
        answer = one(recover(session, policy=POLICY), "POST", scene)
    assert (answer.status_code, scene.delivered()) == (503, 5)
    assert told(answer).failure == FailureClass.UNKNOWN_OUTCOME


# ------------------------------------------------------------------ keep-alive


@pytest.mark.parametrize("tls", ["good", None])
def test_an_idle_connection_that_was_closed_is_opened_again(tls: Any, stage: Stage) -> None:
    scene = Scene(stage.server(tls, answer=[b.well_then_close]))
    with stage.session() as session:
        assert one(session, "GET", scene).status_code == 200
        time.sleep(0.1)
        answer = one(session, "POST", scene)
    assert answer.status_code == 201
    assert len(told(answer).attempts) == 1
    assert (scene.server.connections, scene.delivered()) == (2, 1)


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(("play", "tls"), [(b.close, None), (b.close, "good"), (b.garbage, "good")])
def test_a_reused_connection_that_ends_under_the_request(
    play: b.Break, method: str, tls: Any, stage: Stage
) -> None:
    scene = Scene(stage.server(tls, answer=[b.well, play]))
    with stage.session() as session:
        assert one(session, "PUT", scene).status_code == 200
        result = one(session, method, scene)
    if method == "POST":
        assert isinstance(result, UnknownOutcome)
        assert scene.delivered() == 1
    else:
        assert result.status_code == 200
        assert scene.delivered("GET") == 2
    assert told(result).attempts[0]["phase"] == "sent"
    assert scene.server.connections == (1 if method == "POST" else 2)


def test_a_reused_tunnel_that_ends_under_the_request(stage: Stage) -> None:
    scene = Scene(stage.server(answer=[b.well, b.close]), stage.proxy())
    with stage.session() as session:
        assert one(session, "GET", scene).status_code == 200
        raised = one(session, "POST", scene)
    assert isinstance(raised, UnknownOutcome)
    assert isinstance(raised, requests.exceptions.ProxyError)
    assert scene.delivered() == 1


def test_a_server_that_has_gone_since_the_last_request_gets_nothing(stage: Stage) -> None:
    scene = Scene(stage.server(answer=[b.well_then_close]))
    with stage.session() as session:
        assert one(session, "PUT", scene).status_code == 200
        scene.server.stop()
        time.sleep(0.1)
        raised = one(session, "POST", scene)
    assert inner(raised) == f"ConnectionError {RETRIED} NewConnectionError"
    assert (told(raised).failure, told(raised).applied) == (FailureClass.TRANSIENT, Applied.NO)


# What it is called depends on how much had left when the end came; over TLS it is one more.
CROSSED = ("RemoteDisconnected", "ConnectionResetError", "BrokenPipeError", "SSLEOFError")


@pytest.mark.parametrize("tls", ["good", None])
def test_a_request_that_crosses_the_close_is_unknown_though_nobody_read_it(
    tls: Any, stage: Stage
) -> None:
    scenes = [Scene(stage.server(tls, answer=[b.well_until_next])) for _ in range(2)]
    with stage.session(HTTPAdapter()) as session:
        one(session, "GET", scenes[0])
        bare = one(session, "POST", scenes[0])
    with stage.session() as session:
        one(session, "GET", scenes[1])
        ours = one(session, "POST", scenes[1])
        again = one(session, "GET", scenes[1])
    assert isinstance(bare, requests.exceptions.ConnectionError)
    assert inner(bare).split()[-1] in CROSSED
    assert isinstance(ours, UnknownOutcome)
    assert isinstance(ours, requests.exceptions.ConnectionError)
    assert (scenes[1].delivered(), again.status_code) == (0, 200)


# ------------------------------------------------------------------ who sent what


class Twice(HTTPAdapter):
    """An adapter of a user's own that tries again by itself."""

    def send(self, request: Any, *args: Any, **settings: Any) -> Any:
        try:
            return super().send(request, *args, **settings)
        except requests.exceptions.ConnectionError:
            return super().send(request, *args, **settings)


def goes_down(wire: b.Wire) -> bool:
    wire.server.stop()
    return False


def expires(wire: b.Wire) -> bool:
    wire.server.tls = wire.server.later
    return False


@pytest.mark.parametrize("play", [goes_down, expires])
def test_a_second_try_below_us_does_not_hide_what_the_first_has_sent(
    play: b.Break, stage: Stage
) -> None:
    scene = Scene(stage.server(answer=[play]))
    scene.server.later = stage.authority.expired
    with stage.session(Twice()) as session:
        raised = one(recover(session, policy=POLICY), "POST", scene)
    assert scene.delivered() == 1
    assert isinstance(raised, UnknownOutcome)
    assert told(raised).applied == Applied.UNKNOWN


def test_threads_of_one_session_do_not_mix_up_how_far_they_got(stage: Stage) -> None:
    early = Scene(stage.server(greet=[b.reset_at_once] * 60))
    late = Scene(stage.server(answer=[b.reset] * 20))
    with stage.session() as session, ThreadPoolExecutor(8) as pool:
        scenes = [early, late] * 20
        bodies = [f'{{"ref": "{number}"}}' for number in range(len(scenes))]
        calls = [
            pool.submit(one, session, "POST", scene, data=body)
            for scene, body in zip(scenes, bodies, strict=True)
        ]
        results = [each.result() for each in calls]
    assert {told(each).applied for each in results[::2]} == {Applied.NO}
    assert {told(each).applied for each in results[1::2]} == {Applied.UNKNOWN}
    assert (early.delivered(), late.delivered()) == (0, 20)
