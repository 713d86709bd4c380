"""An answer that its caller does not get, or has enough of, holds no connection.

Each pool has room for one: a connection that is not given back makes the next call wait for it.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import requests

from httpx_recover import (
    AsyncRecoverTransport,
    Policy,
    RecoverTransport,
    Rule,
    Verdict,
    outcome,
    task,
    verify,
)
from httpx_recover.requests import RecoverAdapter
from tests.drivers import POLICY
from tests.faulty import FaultServer, Seen, respond

ONE = httpx.Limits(max_connections=1)
PATIENT = httpx.Timeout(2, pool=0.2)
KEYED = Rule("POST /**", dedupes=True)
CONFIRMED = Rule("POST /**", verify=verify.found("?ref={json.ref}"), confirm=True)
Answer = Callable[[socket.socket, Seen], bool]


def stream(connection: socket.socket, status: int, body: bytes = b'{"error": 1}') -> bool:
    """An answer that does not tell its length, so that nobody reads it before its caller."""
    head = f"HTTP/1.1 {status} X\r\nTransfer-Encoding: chunked\r\n\r\n"
    connection.sendall(head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    return True


@contextmanager
def session_of(policy: Policy, *rules: Rule, blocks: bool = True) -> Iterator[requests.Session]:
    adapter = RecoverAdapter(policy=policy, rules=rules, pool_maxsize=1, pool_block=blocks)
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", adapter)
        yield session


def client_of(*rules: Rule, timeout: Any = PATIENT) -> httpx.Client:
    mount = RecoverTransport(policy=POLICY, rules=rules, limits=ONE)
    return httpx.Client(transport=mount, timeout=timeout, trust_env=False)


def async_client_of(*rules: Rule) -> httpx.AsyncClient:
    mount = AsyncRecoverTransport(policy=POLICY, rules=rules, limits=ONE)
    return httpx.AsyncClient(transport=mount, timeout=PATIENT, trust_env=False)


def first_then(server: FaultServer, first: Answer, then: Answer) -> None:
    """The first request to `/x` meets `first`, the later ones `then`."""

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if seen.path != "/x":
            return respond(connection, 200, {})
        return (first if server.count("/x") == 1 else then)(connection, seen)

    server._answer = answer  # type: ignore[method-assign]


@pytest.fixture
def refusing(server: FaultServer) -> FaultServer:
    """Loses the first write, and refuses its resend in an answer without a length."""
    first_then(server, lambda c, s: respond(c, 503, {}), lambda c, s: stream(c, 422))
    return server


def test_a_refusal_that_is_not_handed_over(refusing: FaultServer) -> None:
    with client_of(KEYED) as client:
        assert client.post(f"{refusing.url}/x").status_code == 503
        assert client.get(f"{refusing.url}/well").status_code == 200


async def _refused(url: str) -> None:
    async with async_client_of(KEYED) as client:
        assert (await client.post(f"{url}/x")).status_code == 503
        assert (await client.get(f"{url}/well")).status_code == 200


def test_the_same_under_asyncio(refusing: FaultServer) -> None:
    asyncio.run(_refused(refusing.url))


def test_the_same_under_requests(refusing: FaultServer) -> None:
    with session_of(POLICY, KEYED) as session:
        lost = session.post(f"{refusing.url}/x", stream=True, timeout=2)
        assert lost.status_code == 503
        assert in_time(lambda: session.get(f"{refusing.url}/well").status_code) == 200


def in_time(call: Callable[[], Any]) -> Any:
    """What the call gives; a test that would hang fails."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(call()), daemon=True)
    thread.start()
    thread.join(20)
    assert found, "it hangs"
    return found[0]


def test_a_refusal_after_an_answer_that_was_lost(server: FaultServer) -> None:
    def torn(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(b"HTTP/1.1 201 X\r\nContent-Length: 90\r\n\r\nhalf")
        return False

    first_then(server, torn, lambda c, s: stream(c, 422))
    with client_of(KEYED) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(f"{server.url}/x")
        assert client.get(f"{server.url}/well").status_code == 200


def test_a_confirming_read_that_fails(server: FaultServer) -> None:
    first_then(server, lambda c, s: respond(c, 404, {}), lambda c, s: stream(c, 503))
    with task("t"), client_of() as client:
        assert client.get(f"{server.url}/x").status_code == 404
        assert client.get(f"{server.url}/well").status_code == 200


def test_a_verifying_read_does_not_wait_for_ever_for_the_connection_of_the_answer(
    server: FaultServer,
) -> None:
    server._answer = lambda c, s: stream(c, 201, b'{"ref": "a"}')  # type: ignore[method-assign]
    with client_of(CONFIRMED, timeout=None) as client:
        answer = in_time(lambda: client.post(f"{server.url}/x", json={"ref": "a"}))
        assert answer.json() == {"ref": "a"}


def test_the_answer_of_a_caller_who_goes_while_it_is_confirmed(server: FaultServer) -> None:
    asked = threading.Event()

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "POST":
            return stream(connection, 201)
        if seen.path == "/x":
            asked.set()
            threading.Event().wait(0.5)
            return False
        return stream(connection, 200)

    server._answer = answer  # type: ignore[method-assign]

    async def main() -> None:
        mount = AsyncRecoverTransport(
            policy=POLICY, rules=[CONFIRMED], limits=httpx.Limits(max_connections=2)
        )
        async with httpx.AsyncClient(transport=mount, timeout=PATIENT) as client:
            sent = asyncio.create_task(client.post(f"{server.url}/x", json={"ref": "a"}))
            await asyncio.to_thread(asked.wait, 20)
            sent.cancel()
            await asyncio.wait([sent])
            both = client.stream("GET", f"{server.url}/1"), client.stream("GET", f"{server.url}/2")
            async with both[0] as one, both[1] as two:  # which takes both connections
                assert (one.status_code, two.status_code) == (200, 200)

    asyncio.run(main())


def stopped(read: Any, call: Any) -> Verdict:
    raise KeyboardInterrupt


STOPPED = Rule("POST /**", verify=stopped, confirm=True)


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("make", [client_of, lambda rule: session_of(POLICY, rule, blocks=False)])
def test_the_answer_of_a_program_that_is_stopped_while_it_is_confirmed(
    server: FaultServer, make: Any, lost: bool
) -> None:
    first_then(server, lambda c, s: not lost and stream(c, 201), lambda c, s: False)
    with make(STOPPED) as client:
        settings: dict[str, Any] = {"stream": True} if make is not client_of else {}
        with pytest.raises(KeyboardInterrupt):
            client.post(f"{server.url}/x", **settings)
        assert in_time(lambda: client.get(f"{server.url}/well").status_code) == 200


@pytest.mark.parametrize("resumes", [False, True])
def test_a_download_that_is_left_half_way(server: FaultServer, resumes: bool) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        head = b'HTTP/1.1 200 X\r\nETag: "v"\r\nContent-Length: 900000\r\n\r\n'
        connection.sendall(head + bytes(900_000))
        return True

    server._answer = answer  # type: ignore[method-assign]
    with session_of(Policy(resume_reads=resumes)) as session:
        for _ in range(2):
            with in_time(lambda: session.get(f"{server.url}/x", stream=True)) as response:
                assert len(next(response.iter_content(1000))) == 1000
            assert outcome(response) is not None
