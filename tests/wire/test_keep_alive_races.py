"""A server that closes a connection it had kept, before, during or after our next request.

The client looks at an idle connection before it uses it, and opens another when it finds it closed.
The race that no look can win is the one where the end is under way while the request leaves: then
a write may have been read, and the same error comes whether it was or not.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from typing import Any

import pytest

from httpx_recover import Applied, FailureClass, Key, Policy, Rule, UnknownOutcome, task
from tests import breaking as b
from tests import h2server as h
from tests.drivers import DRIVERS
from tests.wire.clients import make, until
from tests.wire.stage import Stage, told

POLICY = Policy(backoff=(0.02, 0.03), jitter=0.0, settle=0.2, key=Key.none())
# httpx itself leaves the iterator of a body half read, of which trio complains.
SIX = [each for each in DRIVERS if each != "httpx trio"]
RULES = [Rule("POST /keyed", key=Key.header("Idempotency-Key"), dedupes=True)]
BODY = b"x" * 5_000

Call = tuple[str, str, dict[str, Any]]


def warm(server: Any) -> Call:
    return ("GET", f"{server.url}/warm", {})


def write(server: Any, path: str = "orders", method: str = "POST") -> Call:
    return (method, f"{server.url}/{path}", {"content": BODY})


def read(server: Any) -> Call:
    return ("GET", f"{server.url}/orders", {})


def gone(server: Any) -> bool:
    """Has the server closed the first connection?"""
    return bool(server.wires[0].socket.fileno() < 0)


def after_a_read(driver: str, server: Any, call: Call) -> Any:
    """What becomes of the call on a connection that a read has opened."""
    first, second = make(driver, [warm(server), call], policy=POLICY, rules=RULES)
    assert first.status_code == 200
    return second


class Word:
    """The server keeps the connection until it is told, and the client has looked at it by then."""

    def __init__(self) -> None:
        self.said = threading.Event()

    def keep(self, end: b.Break) -> b.Break:
        def play(wire: b.Wire) -> bool:
            b.well(wire)
            self.said.wait(b.PATIENCE)
            return end(wire)

        return play

    def say(self, server: Any) -> None:
        self.said.set()
        until(lambda: gone(server))


def resets(wire: b.Wire) -> bool:
    return wire.reset()


# ------------------------------------------------------------------ before, and noticed


@pytest.mark.parametrize("driver", SIX)
@pytest.mark.parametrize("tls", ["good", None])
@pytest.mark.parametrize("end", [b.close, resets])
def test_a_connection_found_closed_is_opened_again_without_a_resend(
    end: b.Break, tls: Any, driver: str, stage: Stage
) -> None:
    word = Word()
    server = stage.server(tls, answer=[word.keep(end)])
    with task("t") as t:
        results = make(
            driver,
            [warm(server), write(server)],
            between=lambda: word.say(server),
            policy=POLICY,
            bundle=stage.authority.bundle,
        )
    assert [each.status_code for each in results] == [200, 201]
    assert len(told(results[1]).attempts) == 1
    assert (server.connections, server.count("POST")) == (2, 1)
    assert (t.report().status, t.report().calls) == ("done", 2)


@pytest.mark.parametrize("driver", SIX)
def test_a_server_that_has_gone_meanwhile_gets_nothing(driver: str, stage: Stage) -> None:
    word = Word()
    server = stage.server(None, answer=[word.keep(b.close)])

    def leave() -> None:
        word.say(server)
        server.stop()

    raised = make(driver, [warm(server), write(server)], between=leave, policy=POLICY)[1]
    assert isinstance(raised, Exception)
    assert not isinstance(raised, UnknownOutcome)
    assert (told(raised).failure, told(raised).applied) == (FailureClass.TRANSIENT, Applied.NO)
    assert {each["phase"] for each in told(raised).attempts} == {"not_sent"}
    assert (server.connections, server.count("POST")) == (1, 0)


# ------------------------------------------------------------------ before, and not noticed


def say_as_it_leaves(
    driver: str, word: Word, server: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Call], Call]:
    """Say the word when the client has chosen the connection and begins to send on it."""

    def trace(name: str, info: Any) -> None:
        if name == "http11.send_request_headers.started":
            word.say(server)

    async def atrace(name: str, info: Any) -> None:
        trace(name, info)

    def with_trace(call: Call) -> Call:
        method, url, arguments = call
        chosen = trace if driver.endswith(" sync") else atrace
        return (method, url, arguments | {"extensions": {"trace": chosen}})

    if not driver.startswith("requests"):
        return with_trace
    real = http.client.HTTPConnection._send_output  # type: ignore[attr-defined] # where it leaves

    def leaving(self: Any, *args: Any, **settings: Any) -> Any:
        if server.count("GET"):
            word.say(server)
        return real(self, *args, **settings)

    monkeypatch.setattr(http.client.HTTPConnection, "_send_output", leaving)
    return lambda call: call


@pytest.mark.parametrize("driver", SIX)
@pytest.mark.parametrize("end", [b.close, resets])
def test_a_write_that_crosses_the_end_is_unknown_though_nobody_read_it(
    end: b.Break, driver: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = Word()
    server = stage.server(None, answer=[word.keep(end)])
    leaving = say_as_it_leaves(driver, word, server, monkeypatch)
    raised = after_a_read(driver, server, leaving(write(server)))
    assert isinstance(raised, UnknownOutcome)
    assert [each["phase"] for each in told(raised).attempts] == ["sent"]
    assert (server.connections, server.count("POST")) == (1, 0)


@pytest.mark.parametrize("driver", SIX)
@pytest.mark.parametrize("end", [b.close, resets])
@pytest.mark.parametrize("which", ["GET", "PUT", "keyed POST"])
def test_what_crosses_the_end_and_may_be_repeated_is_recovered(
    which: str, end: b.Break, driver: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = Word()
    server = stage.server(None, answer=[word.keep(end)])
    leaving = say_as_it_leaves(driver, word, server, monkeypatch)
    answer = after_a_read(driver, server, leaving(KINDS[which](server)))
    assert getattr(answer, "status_code", answer) in (200, 201)
    assert len(told(answer).attempts) == 2
    assert server.connections == 2
    assert [each.path for each in server.read].count("/warm") == 1
    assert len(server.read) == 2


KINDS: dict[str, Callable[[Any], Call]] = {
    "GET": read,
    "PUT": lambda server: write(server, method="PUT"),
    "keyed POST": lambda server: write(server, "keyed"),
}


# ------------------------------------------------------------------ during, and after


def well_then_part(upto: bytes, more: int, end: b.Break) -> b.Break:
    """Answer; of the next request read as far as this and so many bytes more, and end."""

    def play(wire: b.Wire) -> bool:
        b.well(wire)
        seen = b""
        while upto not in seen:
            seen += wire.socket.recv(1)
        for _ in range(more):
            wire.socket.recv(1)
        return end(wire)

    return play


def hangs_up(wire: b.Wire) -> bool:
    """Say goodbye first, and take the rest of what comes: no reset."""
    wire.drain()
    return False


RACES: dict[str, Callable[[], list[b.Break]]] = {
    "first byte, reset": lambda: [well_then_part(b"", 1, resets)],
    "first byte, closed": lambda: [well_then_part(b"", 1, hangs_up)],
    "first line, reset": lambda: [well_then_part(b"\r\n", 0, resets)],
    "head, reset": lambda: [well_then_part(b"\r\n\r\n", 0, resets)],
    "head, closed": lambda: [well_then_part(b"\r\n\r\n", 0, hangs_up)],
    "whole, reset": lambda: [b.well, b.reset],
    "whole, closed": lambda: [b.well, b.close],
}
IN_THE_BODY: dict[str, Callable[[], list[b.Break]]] = {
    "half the body, reset": lambda: [well_then_part(b"\r\n\r\n", 2_500, resets)],
    "half the body, closed": lambda: [well_then_part(b"\r\n\r\n", 2_500, hangs_up)],
}
ALL_RACES = RACES | IN_THE_BODY


@pytest.mark.parametrize("driver", SIX)
@pytest.mark.parametrize("race", ALL_RACES)
def test_a_write_that_may_have_been_read_is_unknown_and_sent_once(
    race: str, driver: str, stage: Stage
) -> None:
    alone = stage.server(None, answer=ALL_RACES[race]())
    bare = make(driver, [warm(alone), write(alone)], ours=False)[1]
    assert isinstance(bare, Exception)

    server = stage.server(None, answer=ALL_RACES[race]())
    with task("t") as t:
        raised = after_a_read(driver, server, write(server))
    assert isinstance(raised, UnknownOutcome)
    found = told(raised)
    assert (found.failure, found.applied) == (FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN)
    assert [each["phase"] for each in found.attempts] == ["sent"]
    assert t.report().status == "unknown"
    whole = int(race.startswith("whole"))
    assert (alone.count("POST"), server.count("POST")) == (whole, whole)
    assert (alone.connections, server.connections) == (1, 1)


@pytest.mark.parametrize("driver", SIX)
@pytest.mark.parametrize("which", KINDS)
@pytest.mark.parametrize("race", RACES)
def test_what_may_be_repeated_is_recovered(
    race: str, which: str, driver: str, stage: Stage
) -> None:
    server = stage.server(None, answer=RACES[race]())
    answer = after_a_read(driver, server, KINDS[which](server))
    assert getattr(answer, "status_code", answer) in (200, 201)
    assert [each["phase"] for each in told(answer).attempts][-1] == "answered"
    assert (len(told(answer).attempts), server.connections) == (2, 2)
    keys = {each.headers.get("idempotency-key") for each in server.read if each.path == "/keyed"}
    assert len(keys) == (which == "keyed POST")
    assert len(server.read) == (3 if race.startswith("whole") else 2)


# ------------------------------------------------------------------ HTTP/2


@pytest.mark.parametrize("driver", SIX[:-1])
def test_under_http2_nobody_looks_at_an_idle_connection(driver: str, stage: Stage) -> None:
    """So a write on one that was closed long ago is unknown, though nobody can have read it."""
    server = stage.http2(h.drop_idle)
    found = make(
        driver,
        [warm(server), write(server)],
        between=lambda: until(lambda: gone(server)),
        policy=POLICY,
        http1=False,
        http2=True,
    )[1]
    assert isinstance(found, UnknownOutcome)
    assert (server.connections, server.count("POST")) == (1, 0)


@pytest.mark.parametrize("driver", SIX[:-1])
def test_under_http2_a_read_on_a_closed_connection_is_recovered(driver: str, stage: Stage) -> None:
    server = stage.http2(h.drop_idle)
    found = make(
        driver,
        [warm(server), read(server)],
        between=lambda: until(lambda: gone(server)),
        policy=POLICY,
        http1=False,
        http2=True,
    )[1]
    assert (found.status_code, server.connections) == (200, 2)
