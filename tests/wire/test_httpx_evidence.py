"""What each error of httpx and httpx2 proves, over real sockets, TLS and proxies.

Every fault is met twice: by the client alone, which proves that it is the fault it should be, and
with us. The same types are raised before and after a request has left; the phase tells them apart.
"""

from __future__ import annotations

import errno
import gc
import socket
import ssl
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from httpx_recover import Applied, FailureClass, Key, Policy, Rule, UnknownOutcome, task
from tests import breaking as b
from tests.breaking_proxies import socks_refuses
from tests.drivers import LIBRARIES
from tests.wire import scenes as at
from tests.wire.clients import ALL_COLOURS, COLOURS, SHORT, make, patience, trusting, types
from tests.wire.scenes import ALWAYS, Make
from tests.wire.stage import POLICY, Scene, Stage, mend_while_waiting, told

TWO = ["httpx sync", "httpx2 asyncio"]  # where a row is dear, once per library and per colour
FIVE = [*COLOURS, "httpx2 trio"]  # httpx leaves the iterator of a body half read under trio
NOTHING = FailureClass.TRANSIENT, Applied.NO
LOST = FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN


def go(stage: Stage, driver: str, scene: Scene, method: str = "POST", **settings: Any) -> Any:
    """Make one call; a response or an exception."""
    library = LIBRARIES[driver.split()[0]][0]
    trust = trusting(stage.authority.bundle, scene.cert)
    below = {"verify": trust}
    if scene.proxy is not None:
        secure = trust if scene.proxy.url.startswith("https") else None
        below["proxy"] = library.Proxy(scene.proxy.url, ssl_context=secure)
    arguments = settings.pop("arguments", {})
    content = {} if method == "GET" else {"content": scene.body}
    (result,) = make(driver, [(method, scene.url, content | arguments)], **(below | settings))
    return result


def alone(stage: Stage, driver: str, scene: Scene, method: str = "POST", **settings: Any) -> Any:
    """What the client makes of it without us."""
    return go(stage, driver, scene, method, ours=False, **settings)


def phases(result: Any) -> list[str]:
    return [each["phase"] for each in told(result).attempts]


@pytest.fixture(autouse=True)
def sockets_of_socks(request: pytest.FixtureRequest) -> Iterator[None]:
    """httpcore leaves the socket of a refused SOCKS connection to the garbage collector."""
    yield
    if "SOCKS" in request.node.name:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


# ------------------------------------------------------------------ not sent

NOT_SENT: dict[str, tuple[Make, str]] = {
    "refused": (at.server_is("down"), "ConnectError"),
    "connect timeout": (at.server_is("full"), "ConnectTimeout"),
    "handshake silent": (at.greeted(b.silent), "ConnectTimeout"),
    "handshake reset": (at.greeted(b.reset_at_once), "ConnectError"),
    "handshake closed": (at.greeted(b.close_at_once), "ConnectError"),
    "handshake garbage": (at.greeted(b.plain_http), "ConnectError"),
    "handshake alert": (at.greeted(b.alert), "ConnectError"),
    "CONNECT 502": (at.tunnelled(b.status(502)), "ProxyError"),
    "CONNECT closed": (at.tunnelled(b.close), "RemoteProtocolError"),
    "CONNECT reset": (at.tunnelled(b.reset), "ReadError"),
    "CONNECT garbage": (at.tunnelled(b.no_status_line), "RemoteProtocolError"),
    "CONNECT silent": (at.tunnelled(b.silent), "ReadTimeout"),
    "tunnel silent": (at.greeted_in_a_tunnel(b.silent), "ConnectTimeout"),
    "tunnel cut": (at.greeted_in_a_tunnel(b.reset_at_once), "ConnectError"),
    "proxy refused": (at.proxy_is("down"), "ConnectError"),
    "proxy timeout": (at.proxy_is("full"), "ConnectTimeout"),
    "plain proxy refused": (at.proxy_is("down", None), "ConnectError"),
    "TLS proxy silent": (at.greeted_by_the_proxy(b.silent), "ConnectTimeout"),
    "TLS proxy reset": (at.greeted_by_the_proxy(b.reset_at_once), "ConnectError"),
    "TLS proxy garbage": (at.greeted_by_the_proxy(b.plain_http), "ConnectError"),
    "SOCKS refuses": (at.by_socks(socks_refuses), "ProxyError"),
    "SOCKS closes": (at.by_socks(b.close), "ProtocolError"),  # of socksio
    "SOCKS down": (at.socks_is_down, "ConnectError"),
}
SOCKETS = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
ROWS = [pytest.param(name, marks=[SOCKETS] if "SOCKS" in name else []) for name in NOT_SENT]


@pytest.mark.parametrize("driver", TWO)
@pytest.mark.parametrize("name", ROWS)
def test_not_sent_alone(name: str, driver: str, stage: Stage) -> None:
    fault, error = NOT_SENT[name]
    scene = fault(stage, ALWAYS)
    assert types(alone(stage, driver, scene, timeout=patience(name))).split()[0] == error
    assert scene.delivered() == 0


@pytest.mark.parametrize("driver", FIVE)
@pytest.mark.parametrize("name", ROWS)
def test_not_sent_is_sent_again(
    name: str, driver: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = NOT_SENT[name][0](stage, 1)
    mend_while_waiting(monkeypatch, scene.mend)
    answer = go(stage, driver, scene, timeout=patience(name))
    assert getattr(answer, "status_code", answer) == 201
    assert scene.server.count("POST") == 1
    first, second = told(answer).attempts
    assert (first["class"], first["applied"]) == NOTHING
    assert (first["phase"], second["phase"]) == ("not_sent", "answered")


@pytest.mark.parametrize("driver", TWO)
@pytest.mark.parametrize("name", ROWS)
def test_never_sent_is_failed_and_not_unknown(name: str, driver: str, stage: Stage) -> None:
    fault, error = NOT_SENT[name]
    scene = fault(stage, ALWAYS)
    with task("t") as t:
        raised = go(stage, driver, scene, timeout=patience(name))
    assert types(raised).split()[0] == error
    assert not isinstance(raised, UnknownOutcome)
    assert (told(raised).failure, told(raised).applied) == NOTHING
    assert phases(raised) == ["not_sent"] * 3
    assert (t.report().status, t.report().unknown) == ("failed", ())
    assert scene.delivered() == 0


@SOCKETS
@pytest.mark.parametrize("driver", ["httpx2 sync", "httpx2 asyncio", "httpx2 trio"])
def test_a_silent_SOCKS_proxy(driver: str, stage: Stage) -> None:
    """httpx itself would wait for it without end."""
    scene = at.by_socks(b.silent)(stage, 1)
    assert go(stage, driver, scene, timeout=SHORT).status_code == 201
    assert scene.server.count("POST") == 1


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_a_name_that_does_not_resolve(
    driver: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[str] = []
    real = socket.getaddrinfo

    def lookup(host: Any, *args: Any, **settings: Any) -> Any:
        if host in ("shop.invalid", b"shop.invalid"):
            if not known:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            host = "127.0.0.1"
        return real(host, *args, **settings)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    mend_while_waiting(monkeypatch, lambda: known.append("now"))
    server = stage.server(None)
    scene = Scene(server, url=f"http://shop.invalid:{server.port}/orders")
    assert types(alone(stage, driver, scene)).split()[0] == "ConnectError"
    answer = go(stage, driver, scene)
    assert getattr(answer, "status_code", answer) == 201
    assert (phases(answer), server.count("POST")) == (["not_sent", "answered"], 1)


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("code", [errno.ENETUNREACH, errno.EHOSTUNREACH])
def test_a_network_that_is_unreachable(
    code: int, driver: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = stage.server(None)
    real, lost = socket.socket.connect, ["once", "once more"]

    def connect(self: Any, address: Any) -> Any:
        if lost and address[1] == server.port:
            lost.pop()
            raise OSError(code, "no way there")
        return real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    assert types(alone(stage, driver, Scene(server))).split()[0] == "ConnectError"
    answer = go(stage, driver, Scene(server))
    assert getattr(answer, "status_code", answer) == 201
    assert (phases(answer), server.count("POST")) == (["not_sent", "answered"], 1)


# ------------------------------------------------------------------ credentials

CREDENTIALS: dict[str, tuple[Make, str]] = {
    "untrusted": (at.shown("untrusted"), "ConnectError"),
    "wrong host": (at.shown("wrong_host"), "ConnectError"),
    "expired": (at.shown("expired"), "ConnectError"),
    "untrusted in a tunnel": (at.shown_in_a_tunnel, "ConnectError"),
    "untrusted proxy": (at.shown_by_the_proxy, "ConnectError"),
    "client certificate": (at.asking, "ReadError SSLError"),  # asyncio shows what ssl has raised
    "CONNECT 407": (at.tunnelled(b.status(407)), "ProxyError"),
}


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("name", CREDENTIALS)
def test_credentials_stop_at_once(name: str, driver: str, method: str, stage: Stage) -> None:
    fault, errors = CREDENTIALS[name]
    assert types(alone(stage, driver, fault(stage, ALWAYS), method)).split()[0] in errors
    scene = fault(stage, ALWAYS)
    raised = go(stage, driver, scene, method)
    assert types(raised).split()[0] in errors
    assert (told(raised).failure, told(raised).applied) == (FailureClass.AUTH, Applied.NO)
    assert len(told(raised).attempts) == 1
    assert (scene.proxy or scene.server).connections == 1
    assert scene.delivered(method) == 0


@pytest.mark.parametrize("driver", COLOURS)
def test_with_its_certificate_the_client_is_let_in(driver: str, stage: Stage) -> None:
    scene = at.asking(stage, 1)
    scene.cert = stage.authority.client
    assert go(stage, driver, scene).status_code == 201


@pytest.mark.parametrize("driver", COLOURS)
def test_under_tls_1_2_a_missing_certificate_is_only_a_failed_handshake(
    driver: str, stage: Stage
) -> None:
    scene = Scene(stage.server(stage.authority.asking(ssl.TLSVersion.TLSv1_2)))
    raised = go(stage, driver, scene)
    assert type(raised).__name__ == "ConnectError"
    assert (told(raised).applied, phases(raised)[-1]) == (Applied.NO, "not_sent")
    assert scene.delivered() == 0


# ------------------------------------------------------------------ wrong before it is sent


@pytest.mark.parametrize("method", ["POST", "PUT", "GET"])
@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_what_is_wrong_with_the_request_is_told_as_without_us(
    driver: str, method: str, stage: Stage
) -> None:
    scene = Scene(stage.server(None))
    bad: list[tuple[str, dict[str, Any], str]] = [
        (scene.url, {"headers": {"X": "a\nb"}}, "LocalProtocolError"),
        ("ftp://127.0.0.1/orders", {}, "UnsupportedProtocol"),
    ]
    for url, arguments, error in bad:
        scene.url = url
        assert type(alone(stage, driver, scene, method, arguments=arguments)).__name__ == error
        raised = go(stage, driver, scene, method, arguments=arguments)
        assert type(raised).__name__ == error
        assert (told(raised).failure, told(raised).applied) == (
            FailureClass.BAD_INPUT,
            Applied.NO,
        )
        assert len(told(raised).attempts) == 1
    assert scene.delivered(method) == 0


@pytest.mark.parametrize("driver", COLOURS)
def test_a_body_that_is_shorter_than_it_says_has_left_in_part(driver: str, stage: Stage) -> None:
    """The client's own error again, and yet a server may have acted on what came."""
    arguments = {"headers": {"Content-Length": "100"}}
    for ours in (False, True):
        scene = Scene(stage.server(None))
        raised = go(stage, driver, scene, arguments=arguments, ours=ours)
        assert type(raised).__name__ == "LocalProtocolError"
        assert scene.delivered() == 0
    assert told(raised).applied is Applied.UNKNOWN
    assert len(told(raised).attempts) == 1


# ------------------------------------------------------------------ sent, and no answer

TLS_ERROR = "ReadError SSLError"  # asyncio shows what ssl has raised
CUT_TUNNEL = "ReadError SSLError RemoteProtocolError"  # with or without the end of TLS

SENT: dict[str, tuple[Make, str]] = {
    "closed": (at.answered(b.close, None), "RemoteProtocolError"),
    "reset": (at.answered(b.reset, None), "ReadError"),
    "silent": (at.answered(b.silent, None), "ReadTimeout"),
    "no status line": (at.answered(b.no_status_line, None), "RemoteProtocolError"),
    "two lengths": (at.answered(b.two_lengths, None), "RemoteProtocolError"),
    "interim, then closed": (
        at.answered(b.interim(100, then=b.close), None),
        "RemoteProtocolError",
    ),
    "interim, then silent": (at.answered(b.interim(103, then=b.silent), None), "ReadTimeout"),
    "TLS closed": (at.answered(b.close), "RemoteProtocolError"),
    "TLS silent": (at.answered(b.silent), "ReadTimeout"),
    "TLS garbage": (at.answered(b.garbage), TLS_ERROR),
    "tunnel closed": (at.answered_in_a_tunnel(b.close), "RemoteProtocolError"),
    "tunnel silent": (at.answered_in_a_tunnel(b.silent), "ReadTimeout"),
    "tunnel garbage": (at.answered_in_a_tunnel(b.garbage), TLS_ERROR),
    "TLS tunnel closed": (at.answered_in_a_tunnel(b.close, "TLS"), CUT_TUNNEL),
    "SOCKS closed": (at.answered_by_socks, "RemoteProtocolError"),
    "proxy closed": (at.forwarded(b.close), "RemoteProtocolError"),
    "proxy reset": (at.forwarded(b.reset), "ReadError"),
    "proxy silent": (at.forwarded(b.silent), "ReadTimeout"),
}


@pytest.mark.parametrize("driver", FIVE)
@pytest.mark.parametrize("name", SENT)
def test_a_post_that_was_sent_is_unknown_and_sent_once(
    name: str, driver: str, stage: Stage
) -> None:
    fault, errors = SENT[name]
    bare = fault(stage, ALWAYS)
    error = alone(stage, driver, bare, timeout=patience(name))
    assert types(error).split()[0] in errors
    scene = fault(stage, ALWAYS)
    with task("t") as t:
        raised = go(stage, driver, scene, timeout=patience(name))
    assert isinstance(raised, UnknownOutcome)
    assert types(raised.__cause__).split()[0] in errors
    assert isinstance(raised, type(raised.__cause__))
    assert str(raised).startswith("POST ")
    assert (told(raised).failure, told(raised).applied) == LOST
    assert phases(raised) == ["sent"]
    assert t.report().status == "unknown"
    assert (bare.delivered(), scene.delivered()) == (1, 1)


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize("driver", TWO)
@pytest.mark.parametrize("name", SENT)
def test_what_may_be_repeated_is_recovered(
    name: str, driver: str, method: str, stage: Stage
) -> None:
    scene = SENT[name][0](stage, 1)
    answer = go(stage, driver, scene, method, timeout=patience(name))
    assert getattr(answer, "status_code", answer) == 200
    assert scene.delivered(method) == 2


@pytest.mark.parametrize("driver", FIVE)
@pytest.mark.parametrize("tls", ["good", None])
def test_a_write_timeout_is_unknown_though_the_server_has_not_read(
    tls: Any, driver: str, stage: Stage
) -> None:
    def scene() -> Scene:
        return Scene(stage.server(tls, meet=[b.deaf]), body=b.BIG)

    assert type(alone(stage, driver, scene(), timeout=SHORT)).__name__ == "WriteTimeout"
    ours = scene()
    raised = go(stage, driver, ours, timeout=SHORT)
    assert isinstance(raised, UnknownOutcome)
    assert type(raised.__cause__).__name__ == "WriteTimeout"
    assert (phases(raised), ours.delivered(), ours.server.connections) == (["sent"], 0, 1)


@pytest.mark.parametrize("driver", COLOURS)
def test_a_proxy_that_answers_for_the_server_is_an_answer(driver: str, stage: Stage) -> None:
    scene = at.forwarded(b.status(502))(stage, 1)
    answer = go(stage, driver, scene)
    assert (answer.status_code, scene.delivered()) == (502, 1)
    assert told(answer).failure is FailureClass.UNKNOWN_OUTCOME
    refused = go(stage, driver, at.forwarded(b.status(407))(stage, 1))
    assert (refused.status_code, told(refused).failure) == (407, FailureClass.AUTH)


# ------------------------------------------------------------------ answers that come early


@pytest.mark.parametrize(
    ("code", "failure"), [(413, FailureClass.BAD_INPUT), (401, FailureClass.AUTH)]
)
@pytest.mark.parametrize("then", [b.hears_out, b.close, b.reset])
@pytest.mark.parametrize("driver", FIVE)
def test_an_answer_while_the_body_is_on_its_way_is_the_answer(
    driver: str, then: b.Break, code: int, failure: FailureClass, stage: Stage
) -> None:
    def scene() -> Scene:
        return Scene(stage.server(None, meet=[b.early(code, then)] * ALWAYS), body=b.BIG)

    bare, ours = alone(stage, driver, scene()), scene()
    result = go(stage, driver, ours)
    assert ours.server.connections == 1
    if isinstance(bare, Exception) or isinstance(result, Exception):
        # What the server said is lost when its end overtakes it; then nobody knows.
        assert then is not b.hears_out
        if isinstance(result, Exception):
            assert isinstance(result, UnknownOutcome)
            return
    assert (result.status_code, told(result).failure) == (code, failure)
    assert told(result).applied is Applied.NO


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_expect_continue_and_other_interim_answers_are_waited_out(
    driver: str, stage: Stage
) -> None:
    for codes in ((100,), (103,), (100, 102, 103)):
        scene = Scene(stage.server(None, answer=[b.interim(*codes)]))
        answer = go(stage, driver, scene, arguments={"headers": {"Expect": "100-continue"}})
        assert (answer.status_code, scene.delivered()) == (201, 1)
        assert len(told(answer).attempts) == 1


@pytest.mark.parametrize("driver", COLOURS)
def test_an_expectation_that_is_not_met_is_an_answer(driver: str, stage: Stage) -> None:
    scene = Scene(stage.server(None, answer=[b.status(417)]))
    answer = go(stage, driver, scene, arguments={"headers": {"Expect": "100-continue"}})
    assert (answer.status_code, told(answer).failure) == (417, FailureClass.BAD_INPUT)
    assert scene.delivered() == 1


# ------------------------------------------------------------------ the body of the answer

CUT: dict[str, tuple[Callable[[int], b.Break], str]] = {
    "short": (b.short, "RemoteProtocolError"),
    "in a chunk": (b.in_a_chunk, "RemoteProtocolError"),
    "between chunks": (b.between_chunks, "RemoteProtocolError"),
    "bad chunk": (b.bad_chunk, "RemoteProtocolError"),
    "reset": (lambda code: b.short(code, b.reset), "ReadError"),
    "stall": (lambda code: b.short(code, b.silent), "ReadTimeout"),
}
KNOWN_LENGTH = ["short", "reset", "stall"]  # of others the client reads the body itself


def cut(stage: Stage, name: str, code: int) -> Scene:
    return Scene(stage.server(None, answer=[CUT[name][0](code)]))


@pytest.mark.parametrize("driver", TWO)
@pytest.mark.parametrize("name", CUT)
def test_a_cut_body_alone(name: str, driver: str, stage: Stage) -> None:
    assert (
        type(alone(stage, driver, cut(stage, name, 200), "GET", timeout=patience(name))).__name__
        == CUT[name][1]
    )


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("name", KNOWN_LENGTH)
def test_a_read_with_a_cut_body_is_read_again(name: str, driver: str, stage: Stage) -> None:
    scene = cut(stage, name, 200)
    assert go(stage, driver, scene, "GET", timeout=patience(name)).status_code == 200
    assert scene.delivered("GET") == 2


@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("driver", FIVE)
@pytest.mark.parametrize("name", CUT)
def test_a_write_with_a_cut_answer_was_applied(
    name: str, driver: str, method: str, stage: Stage
) -> None:
    scene = cut(stage, name, 201)
    with task("t") as t:
        raised = go(stage, driver, scene, method, timeout=patience(name))
    assert type(raised).__name__ == CUT[name][1]
    assert scene.delivered(method) == 1
    assert t.report().status == "done"
    if name in KNOWN_LENGTH:
        assert (told(raised).failure, told(raised).applied) == (FailureClass.OK, Applied.YES)


@pytest.mark.parametrize("driver", COLOURS)
@pytest.mark.parametrize(
    ("code", "failure"),
    [(422, FailureClass.BAD_INPUT), (401, FailureClass.AUTH), (500, FailureClass.UNKNOWN_OUTCOME)],
)
def test_a_cut_refusal_has_the_class_of_its_status(
    code: int, failure: FailureClass, driver: str, stage: Stage
) -> None:
    for name in KNOWN_LENGTH:
        scene = cut(stage, name, code)
        with task("t") as t:
            raised = go(stage, driver, scene, timeout=patience(name))
        assert type(raised).__name__ == CUT[name][1]
        assert (t.report().status, scene.delivered()) == (
            "unknown" if code == 500 else "failed",
            1,
        )
        assert told(raised).failure == failure


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_under_a_trusted_key_a_lost_answer_is_fetched_again(driver: str, stage: Stage) -> None:
    scene = cut(stage, "short", 201)
    policy = Policy(backoff=(0.02, 0.03), jitter=0.0, settle=0.2, key=Key.header("Idempotency-Key"))
    rules = [Rule("POST /orders", dedupes=True)]
    assert go(stage, driver, scene, policy=policy, rules=rules).status_code == 201
    assert len({each.headers["idempotency-key"] for each in scene.server.read}) == 1
    assert scene.delivered() == 2


# ------------------------------------------------------------------ the pool

begun = b.cut(200, "Content-Length: 600000", body=b"the beginning", then=b.silent)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_connection_that_is_held_is_waited_for(
    library: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    client_library, mounts = LIBRARIES[library]
    scene = Scene(stage.server(None, answer=[begun]))
    limits = client_library.Limits(max_connections=1)
    mount = mounts.RecoverTransport(policy=POLICY, limits=limits)
    with client_library.Client(transport=mount, timeout=0.2, trust_env=False) as client:
        with client.stream("GET", scene.url) as held:
            mend_while_waiting(monkeypatch, held.close)
            answer = client.post(scene.url, content=b"x")
    assert (answer.status_code, scene.delivered()) == (201, 1)
    assert phases(answer) == ["not_sent", "answered"]
    assert told(answer).attempts[0]["cause"] == "PoolTimeout"


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("ours", [True, False])
def test_a_connection_that_stays_held_is_not_sent(ours: bool, library: str, stage: Stage) -> None:
    client_library, mounts = LIBRARIES[library]
    scene = Scene(stage.server(None, answer=[begun]))
    transport = client_library.HTTPTransport(limits=client_library.Limits(max_connections=1))
    if ours:
        transport = mounts.RecoverTransport(transport, policy=POLICY)
    with client_library.Client(transport=transport, timeout=0.1, trust_env=False) as client:
        with client.stream("GET", scene.url):
            with pytest.raises(client_library.PoolTimeout) as raised:
                client.post(scene.url, content=b"x")
    assert scene.delivered() == 0
    if ours:
        assert (told(raised.value).failure, told(raised.value).applied) == NOTHING
        assert phases(raised.value) == ["not_sent"] * 3
