"""HTTP/2: what a server takes back, what it leaves open, and whom an error on a connection hits.

RFC 9113 sections 6.8 and 8.7: a refused stream, and a stream above the last one that GOAWAY names,
were not processed; of any other nothing is known. Each fate is met by the client alone, which
proves that it is the fate it should be, and with us.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from h2.errors import ErrorCodes

from httpx_recover import Applied, FailureClass, Key, Rule, UnknownOutcome, task
from httpx_recover import httpx as on_httpx
from tests import h2server as h
from tests.wire.clients import ALL_COLOURS, COLOURS, SHORT, TIMEOUT, make, patience, types
from tests.wire.stage import POLICY, Stage, told

PLAIN = {"http1": False, "http2": True}  # prior knowledge
CALM = ErrorCodes.ENHANCE_YOUR_CALM
BROKEN = "RemoteProtocolError RemoteProtocolError"
KNOWN = FailureClass.TRANSIENT, Applied.NO
LOST = FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN


def call(server: h.H2Server, method: str = "POST", name: str = "a") -> Any:
    body = {} if method == "GET" else {"content": f'{{"ref": "{name}"}}'.encode()}
    return (method, f"{server.url}/orders/{name}", body)


def one(driver: str, server: h.H2Server, method: str = "POST", **settings: Any) -> Any:
    (result,) = make(driver, [call(server, method)], **(PLAIN | settings))
    return result


def facts(result: Any, *names: str) -> list[Any]:
    """Of each send of an outcome what is asked for."""
    return [tuple(each[name] for name in names) for each in told(result).attempts]


# ------------------------------------------------------------------ taken back

TAKEN_BACK = {
    "REFUSED_STREAM": h.reset(ErrorCodes.REFUSED_STREAM),
    "GOAWAY 0": h.goaway(0),
    "GOAWAY 0, internal error": h.goaway(0, ErrorCodes.INTERNAL_ERROR),
    "GOAWAY 0, enhance your calm": h.goaway(0, CALM),
}


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("fate", TAKEN_BACK)
def test_what_was_taken_back_is_sent_again(fate: str, driver: str, stage: Stage) -> None:
    alone = stage.http2(TAKEN_BACK[fate])
    assert types(one(driver, alone, ours=False)) == BROKEN
    assert alone.count("POST") == 1

    server = stage.http2(TAKEN_BACK[fate])
    answer = one(driver, server)
    assert getattr(answer, "status_code", answer) == 201
    assert facts(answer, "class", "applied", "phase") == [
        (*KNOWN, "refused"),
        (FailureClass.OK, Applied.YES, "answered"),
    ]
    assert server.count("POST") == 2  # of which it has processed the second


@pytest.mark.parametrize("driver", COLOURS)
@pytest.mark.parametrize("fate", TAKEN_BACK)
def test_what_is_always_taken_back_is_failed_and_not_unknown(
    fate: str, driver: str, stage: Stage
) -> None:
    server = stage.http2(*[TAKEN_BACK[fate]] * 3)
    with task("t") as t:
        raised = one(driver, server)
    assert types(raised) == BROKEN
    assert (told(raised).failure, told(raised).applied) == KNOWN
    assert (t.report().status, t.report().unknown, t.report().calls) == ("failed", (), 3)
    assert server.count("POST") == 3


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_over_tls_it_is_the_same(driver: str, stage: Stage) -> None:
    way = {"http1": True, "bundle": stage.authority.bundle}
    server = stage.http2(h.reset(ErrorCodes.REFUSED_STREAM), h.goaway(0), tls=True)
    answer = one(driver, server, **way)
    assert answer.http_version == "HTTP/2"
    assert facts(answer, "phase") == [("refused",), ("refused",), ("answered",)]
    raised = one(driver, stage.http2(h.reset(ErrorCodes.CANCEL), tls=True), **way)
    assert isinstance(raised, UnknownOutcome)


# ------------------------------------------------------------------ left open

LEFT_OPEN = {
    "CANCEL": h.reset(ErrorCodes.CANCEL),
    "INTERNAL_ERROR": h.reset(ErrorCodes.INTERNAL_ERROR),
    "ENHANCE_YOUR_CALM": h.reset(CALM),  # how fast we are says nothing about what was done
    "GOAWAY at": h.goaway(h.at),
    "GOAWAY at, internal error": h.goaway(h.at, ErrorCodes.INTERNAL_ERROR),
    "GOAWAY above": h.goaway(h.above),
    "GOAWAY, the end is near": h.goaway(h.END),
    "closed": h.close,
    "reset": h.slam,
    "silent": h.silent,
    "no frames": h.not_http2,
}


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("fate", LEFT_OPEN)
def test_what_was_left_open_is_unknown_and_sent_once(fate: str, driver: str, stage: Stage) -> None:
    alone, server = stage.http2(LEFT_OPEN[fate]), stage.http2(LEFT_OPEN[fate])
    bare = one(driver, alone, ours=False, timeout=patience(fate))
    with task("t") as t:
        raised = one(driver, server, timeout=patience(fate))
    assert isinstance(bare, Exception)
    assert isinstance(raised, UnknownOutcome)
    assert facts(raised, "class", "applied", "phase") == [(*LOST, "sent")]
    assert t.report().status == "unknown"
    assert (alone.count("POST"), server.count("POST")) == (1, 1)


@pytest.mark.parametrize("method", ["GET", "PUT", "keyed POST"])
@pytest.mark.parametrize("driver", COLOURS)
@pytest.mark.parametrize("fate", [*LEFT_OPEN, *TAKEN_BACK])
def test_what_may_be_repeated_is_recovered(
    fate: str, driver: str, method: str, stage: Stage
) -> None:
    server = stage.http2((LEFT_OPEN | TAKEN_BACK)[fate])
    method = method.removeprefix("keyed ")
    rule = Rule("POST /**", dedupes=True, key=Key.header("Idempotency-Key"))
    answer = one(driver, server, method, rules=[rule], timeout=patience(fate))
    assert getattr(answer, "status_code", answer) == (201 if method == "POST" else 200)
    assert (server.count(method), len(told(answer).attempts)) == (2, 2)


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("fate", [h.close, h.reset(ErrorCodes.INTERNAL_ERROR)])
def test_an_answer_that_is_cut_was_given(fate: h.Break, driver: str, stage: Stage) -> None:
    server = stage.http2(h.cut(fate), h.cut(fate))
    raised = one(driver, server)
    assert isinstance(raised, Exception)
    assert not isinstance(raised, UnknownOutcome)
    assert (told(raised).failure, told(raised).applied) == (FailureClass.OK, Applied.YES)
    assert one(driver, server, "GET").status_code == 200
    assert (server.count("POST"), server.count("GET")) == (1, 2)


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_an_answer_that_comes_with_a_goodbye_is_not_taken_for_a_bad_request(
    method: str, driver: str, stage: Stage
) -> None:
    """The client cannot read it, and calls that an error of its own: but the server has acted."""
    alone, server = stage.http2(h.goodbye_and_answer), stage.http2(h.goodbye_and_answer)
    bare = one(driver, alone, method, ours=False)
    result = one(driver, server, method)
    assert types(bare).split()[0] in ("LocalProtocolError", "RemoteProtocolError")
    if method == "POST":
        assert isinstance(result, UnknownOutcome)
        assert facts(result, "class", "applied") == [LOST]
        assert server.count("POST") == 1
    else:
        assert getattr(result, "status_code", result) == 200
        assert server.count(method) == 2


@pytest.mark.parametrize("driver", COLOURS)
def test_a_goodbye_after_the_answer_costs_nothing(driver: str, stage: Stage) -> None:
    server = stage.http2(h.answer_and_goodbye)
    first, second = make(driver, [call(server), call(server, name="b")], **PLAIN)
    assert (first.status_code, second.status_code) == (201, 201)
    # Which the client hears of when it has sent the next one, or before.
    assert [each.connection for each in server.read if each.path == "/orders/b"][-1] == 2
    assert server.count("POST") == 2


# ------------------------------------------------------------------ sent again by the client


def warm(server: h.H2Server) -> Any:
    """A call that makes the next stream the second of its connection."""
    return call(server, "GET", "warm")


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_a_send_that_the_client_repeats_by_itself_is_counted(driver: str, stage: Stage) -> None:
    alone = stage.http2(h.well, h.goaway(h.below))
    bare = make(driver, [warm(alone), call(alone)], ours=False, **PLAIN)[-1]
    assert (bare.status_code, alone.count("POST")) == (201, 2)

    server = stage.http2(h.well, h.goaway(h.below))
    with task("t") as t:
        answer = make(driver, [warm(server), call(server)], **PLAIN)[-1]
    assert (answer.status_code, server.count("POST"), server.connections) == (201, 2, 2)
    assert facts(answer, "number", "phase", "cause", "applied", "evidence") == [
        (1, "refused", "GOAWAY", Applied.NO, "first try"),
        (2, "answered", "201", Applied.YES, "by the client after GOAWAY"),
    ]
    assert told(answer).facts["sends"] == 2
    report = t.report()
    assert (report.status, report.calls) == ("done", 3)
    assert "after 2 sends" in str(told(answer))


@pytest.mark.parametrize("driver", COLOURS)
def test_what_the_client_repeats_by_itself_is_none_of_our_attempts(
    driver: str, stage: Stage
) -> None:
    twice = [h.well, h.goaway(h.below)]  # the first of each connection is a call of its own
    server = stage.http2(*twice, h.reset(ErrorCodes.REFUSED_STREAM), h.goaway(h.below), h.busy)
    with task("t") as t:
        answer = make(driver, [warm(server), call(server)], **PLAIN)[-1]
    # Attempt 1 is two sends and refused; attempt 2 is two sends, and its 503 leaves it unknown.
    assert (answer.status_code, server.count("POST")) == (503, 4)
    assert facts(answer, "phase", "evidence") == [
        ("refused", "first try"),
        ("refused", "by the client after GOAWAY"),
        ("refused", "refused"),
        ("answered", "by the client after GOAWAY"),
    ]
    assert t.report().unknown
    assert told(answer).failure is FailureClass.UNKNOWN_OUTCOME


@pytest.mark.parametrize("driver", COLOURS)
def test_the_last_of_several_sends_decides(driver: str, stage: Stage) -> None:
    server = stage.http2(h.well, h.goaway(h.below), h.close)
    raised = make(driver, [warm(server), call(server)], **PLAIN)[-1]
    assert isinstance(raised, UnknownOutcome)
    assert "Sent 2 times" in str(raised)
    assert facts(raised, "phase", "applied") == [("refused", Applied.NO), ("sent", Applied.UNKNOWN)]


def then_down(talk: Any) -> bool:
    """The server has gone before the client can send again."""
    talk.server.stop()
    return h.goaway(h.below)(talk)


@pytest.mark.parametrize("driver", COLOURS)
def test_a_send_taken_back_and_no_way_to_send_again_is_failed(driver: str, stage: Stage) -> None:
    server = stage.http2(h.well, then_down)
    raised = make(driver, [warm(server), call(server)], **PLAIN)[-1]
    assert types(raised).split()[0] == "ConnectError"
    assert (told(raised).failure, told(raised).applied) == KNOWN
    assert server.count("POST") == 1


# ------------------------------------------------------------------ neighbours


def together(driver: str, server: h.H2Server, count: int = 3, **settings: Any) -> list[Any]:
    """So many POSTs on one connection, of which the server has read all before it does anything."""
    calls = [call(server, name="abc"[number]) for number in range(count)]
    # One after the other, so that the fates fall as written.
    return make(
        driver, calls, begin=lambda number: len(server.read) >= number, **(PLAIN | settings)
    )


def ends(results: list[Any]) -> list[Any]:
    """Of each call its status, or whether it is unknown or known to be failed."""
    return [
        getattr(each, "status_code", None) or str(told(each).applied) + f" {len(facts(each))}"
        for each in results
    ]


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        ([h.well, h.reset(ErrorCodes.REFUSED_STREAM), h.well], [201, 201, 201]),
        ([h.reset(ErrorCodes.CANCEL), h.well, h.well], ["unknown 1", 201, 201]),
        ([h.well, h.reset(CALM), h.reset(ErrorCodes.REFUSED_STREAM)], [201, "unknown 1", 201]),
    ],
)
def test_an_error_of_one_stream_is_that_streams(
    fates: list[h.Break], expected: list[Any], driver: str, stage: Stage
) -> None:
    server = stage.http2(*h.each_in_turn(*fates))
    results = together(driver, server)
    assert ends(results) == expected
    assert {each.connection for each in server.read} == {1}


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("last", [1, 3])
def test_a_goaway_parts_the_streams(last: int, driver: str, stage: Stage) -> None:
    """Those up to its last stream may have been processed; those above were not."""
    server = stage.http2(*h.each_in_turn(h.wait, h.wait, h.goaway(last, ErrorCodes.INTERNAL_ERROR)))
    results = together(driver, server)
    assert ends(results) == (["unknown 1", 201, 201] if last == 1 else ["unknown 1"] * 2 + [201])
    again = [each.path[-1] for each in server.read if each.connection > 1]
    assert sorted(again) == (["b", "c"] if last == 1 else ["c"])


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_a_goaway_of_all_streams_gives_each_its_resend(driver: str, stage: Stage) -> None:
    server = stage.http2(*h.each_in_turn(h.wait, h.wait, h.goaway(0, ErrorCodes.PROTOCOL_ERROR)))
    results = together(driver, server)
    assert ends(results) == [201, 201, 201]
    assert sorted(each.path[-1] for each in server.read if each.connection > 1) == ["a", "b", "c"]


@pytest.mark.parametrize("driver", ALL_COLOURS)
def test_what_was_answered_before_a_goaway_stays_answered(driver: str, stage: Stage) -> None:
    server = stage.http2(*h.each_in_turn(h.well, h.goaway(1)))
    results = together(driver, server, 2)
    assert ends(results) == [201, 201]
    assert [each.path[-1] for each in server.read if each.connection > 1] == ["b"]


@pytest.mark.parametrize("driver", ALL_COLOURS)
@pytest.mark.parametrize("fate", [h.close, h.slam, h.silent, h.not_http2])
def test_the_end_of_a_connection_is_everybodys(fate: h.Break, driver: str, stage: Stage) -> None:
    server = stage.http2(*h.each_in_turn(h.well, h.wait, fate))
    results = together(driver, server, timeout=SHORT if fate is h.silent else TIMEOUT)
    assert ends(results) == [201, "unknown 1", "unknown 1"]
    assert all(isinstance(each, UnknownOutcome) for each in results[1:])
    assert server.count("POST") == 3


# ------------------------------------------------------------------ layers below


class Twice(httpx.HTTPTransport):
    """A transport of a user's own that tries again by itself."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return super().handle_request(request)
        except httpx.TransportError:
            return super().handle_request(request)


@pytest.mark.parametrize("second", [h.reset(ErrorCodes.REFUSED_STREAM), h.goaway(0)])
def test_a_second_try_below_us_that_is_taken_back_does_not_hide_the_first(
    second: h.Break, stage: Stage
) -> None:
    server = stage.http2(h.reset(ErrorCodes.CANCEL), second)
    mount = on_httpx.RecoverTransport(Twice(http1=False, http2=True), policy=POLICY)
    with httpx.Client(transport=mount) as client:
        with pytest.raises(UnknownOutcome) as raised:
            client.post(f"{server.url}/orders", content=b"once")
    assert told(raised.value).applied is Applied.UNKNOWN
    assert server.count("POST") == 2
