"""`call(body=...)`: a body that can be read once is made anew for each send after the first."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from io import BytesIO
from typing import Any

import httpx
import pytest

from httpx_recover import Rule, UnknownOutcome, call, outcome
from httpx_recover import httpx as on_httpx
from tests.drivers import DRIVERS, POLICY, run_calls
from tests.faulty import FaultServer, Seen, respond
from tests.httpbin import Httpbin

KEYED = Rule("POST /**", dedupes=True)
ROWS = b'{"ref": "a"}'


def rows() -> Iterator[bytes]:
    yield ROWS[:5]
    yield ROWS[5:]


async def arows() -> AsyncIterator[bytes]:
    for piece in rows():
        yield piece


def source(driver: str) -> Callable[[], Any]:
    return rows if driver.endswith("sync") else arows


def bodies(server: FaultServer) -> list[bytes]:
    return [each.body for each in server.seen]


MADE = {"rows": None, "bytes": lambda: ROWS, "text": ROWS.decode, "file": lambda: BytesIO(ROWS)}


WAYS = [(driver, kind) for driver in DRIVERS for kind in MADE]
SENDABLE = [(driver, kind) for driver, kind in WAYS if kind != "file" or "sync" in driver.split()]


@pytest.mark.parametrize(("driver", "kind"), SENDABLE)
def test_a_body_that_can_be_read_once_is_sent_again(
    server: FaultServer, driver: str, kind: str
) -> None:
    make = MADE[kind] or source(driver)
    sent = {"content": source(driver)()}
    [end] = run_calls(
        driver,
        [("POST", f"{server.url}/cut_after/a", sent)],
        rules=[KEYED],
        around=partial(call, body=make),
    )
    assert end.status_code == 201
    assert bodies(server) == [ROWS, ROWS]


@pytest.mark.parametrize("driver", DRIVERS)
def test_without_it_the_first_end_is_what_the_caller_gets(server: FaultServer, driver: str) -> None:
    sent = {"content": source(driver)()}
    [end] = run_calls(driver, [("POST", f"{server.url}/503/a", sent)], rules=[KEYED])
    assert end.status_code == 503
    assert bodies(server) == [ROWS]


def test_it_is_no_evidence(server: FaultServer) -> None:
    calls = [("POST", f"{server.url}/cut_after/a", {"content": rows()})]
    [end] = run_calls("httpx sync", calls, around=partial(call, body=rows))
    assert isinstance(end, UnknownOutcome)
    assert len(server.seen) == 1


def test_a_function_that_fails_leaves_the_first_end(server: FaultServer) -> None:
    def fail() -> bytes:
        raise LookupError("the rows are gone")

    for driver in ("httpx sync", "requests sync"):
        sent = {"content": rows()}
        [end] = run_calls(
            driver, [("POST", f"{server.url}/429/{driver}", sent)], around=partial(call, body=fail)
        )
        assert end.status_code == 429
        told = outcome(end)
        assert told is not None
        assert told.facts["note"] == "a resend could not be prepared (LookupError)"


@pytest.mark.parametrize(
    ("driver", "make"), [("httpx sync", arows), ("httpx2 asyncio", rows), ("httpx trio", dict)]
)
def test_a_body_that_the_client_cannot_send_leaves_the_first_end(
    server: FaultServer, driver: str, make: Any
) -> None:
    sent = {"content": source(driver)()}
    calls = [("POST", f"{server.url}/429/a", sent)]
    [end] = run_calls(driver, calls, around=partial(call, body=make))
    assert end.status_code == 429
    assert len(server.seen) == 1


def test_it_is_for_one_action_and_not_for_bodies_in_memory(server: FaultServer) -> None:
    mount = on_httpx.RecoverTransport(policy=POLICY)
    with httpx.Client(transport=mount, timeout=2) as client, call(body=rows):
        client.post(f"{server.url}/fine/a", content=ROWS)
        client.post(f"{server.url}/fine/b", content=rows())
        client.post(f"{server.url}/fine/c", content=ROWS)
        with pytest.raises(ValueError, match="a second action in the block"):
            client.post(f"{server.url}/fine/d", content=rows())
    assert [each.path for each in server.seen] == ["/fine/a", "/fine/b", "/fine/c"]


def test_a_redirect_and_an_auth_flow_send_it_anew(
    server: FaultServer, httpbin: Httpbin, caplog: pytest.LogCaptureFixture
) -> None:
    def elsewhere(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 307, {}, "Location: /fine/there")

    server._play_307 = elsewhere  # type: ignore[attr-defined]
    mount = on_httpx.RecoverTransport(policy=POLICY)
    with httpx.Client(transport=mount, timeout=2, follow_redirects=True) as client:
        with call(body=rows):
            assert client.post(f"{server.url}/307/a", content=rows()).status_code == 201
        assert caplog.text == ""  # a redirect that is followed is no bad end
        with call(body=rows):
            url, auth = f"{httpbin.url}/digest-auth/user/pass", httpx.DigestAuth("user", "pass")
            assert client.post(url, content=rows(), auth=auth).status_code == 200
    assert bodies(server) == [ROWS, ROWS]


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ValueError, match="body=b'a': must be a function without arguments"):
        call(body=b"a")  # type: ignore[arg-type]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("made", [None, {"ref": "a"}])
def test_what_is_no_body_is_not_sent(server: FaultServer, driver: str, made: Any) -> None:
    """Nothing at all, or the names of a dictionary, would be another order under the same key."""
    sent = {"content": source(driver)()}
    [end] = run_calls(
        driver,
        [("POST", f"{server.url}/cut_after/a", sent)],
        rules=[KEYED],
        around=partial(call, body=lambda: made),
    )
    assert isinstance(end, UnknownOutcome)
    assert bodies(server) == [ROWS]
    told = outcome(end)
    assert told is not None
    assert told.facts["note"] == "a resend could not be prepared (TypeError)"
    assert told.facts["sends"] == len(told.facts["attempts"]) == 1
