"""A body that is cut while its caller reads it: what seemed to have succeeded is told as it was."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from threading import Event
from typing import Any

import httpx
import pytest
import requests
import trio

from httpx_recover import Policy, Rule, UnknownOutcome, outcome, task
from httpx_recover import httpx as on_httpx
from httpx_recover.requests import RecoverAdapter
from tests.drivers import DRIVERS, POLICY, Session, run_calls
from tests.faulty import FaultServer, Seen, respond

HEAD = "HTTP/1.1 {} X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"
LOST = "the body of the answer was lost"
ONCE = Policy(attempts=1)


@pytest.fixture
def torn(server: FaultServer) -> FaultServer:
    """Answers without a length, and breaks off after the first piece of each first answer."""

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if server.count(seen.path) > 1:
            return respond(connection, 200, {})
        status = int(seen.path.rpartition("/")[2])
        connection.sendall(HEAD.format(status).encode())
        return False

    server._answer = answer  # type: ignore[method-assign]
    return server


@contextmanager
def session_of(**settings: Any) -> Iterator[Session]:
    with Session(2) as session:
        session.mount("http://", RecoverAdapter(**{"policy": POLICY} | settings))
        yield session


@contextmanager
def client_of(**settings: Any) -> Iterator[httpx.Client]:
    mount = on_httpx.RecoverTransport(**{"policy": POLICY} | settings)
    with httpx.Client(transport=mount, timeout=2, trust_env=False) as client:
        yield client


def streamed(driver: str, method: str, url: str, **settings: Any) -> Any:
    """The error of a call whose body is read as a stream; `driver` as in `tests.drivers`."""
    if driver != "requests sync":
        return run_calls(driver, [(method, url, {})], **settings)[0]
    with session_of(**settings) as session:
        response = session.request(method, url, stream=True)
        with pytest.raises(requests.exceptions.ChunkedEncodingError) as raised:
            list(response.iter_content(100))
        told = outcome(response)
        assert told is not None
        assert told.facts == outcome(raised.value).facts  # type: ignore[union-attr]
        return raised.value


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_read_whose_stream_is_cut_has_failed(torn: FaultServer, driver: str) -> None:
    with task("t") as t:
        raised = streamed(driver, "GET", f"{torn.url}/a/200")
    told = outcome(raised)
    assert told is not None
    assert (told.failure, told.stopped_by) == ("transient", "final")
    assert told.attempts[0]["phase"] == "body cut"
    lines = f"{t.report()}".splitlines()
    assert lines[0].startswith("RECOVERY v1 task t status failed calls 1 ")
    assert lines[1].endswith("done: none")
    assert lines[2].endswith("/a/200 #1 transient 200 after 1 send stopped by final")


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_later_success_of_it_takes_its_place(torn: FaultServer, driver: str) -> None:
    with task("around") as around, task("t") as t:
        streamed(driver, "GET", f"{torn.url}/a/200")
        [again] = run_calls(driver, [("GET", f"{torn.url}/a/200", {})])
    assert again.status_code == 200
    for report in (t.report(), around.report()):
        assert report.status == "done"
        assert f"{report}".splitlines()[2].endswith("failed: none")


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("inside", [True, False])
def test_a_write_whose_answer_is_cut_is_done_and_not_sent_again(
    torn: FaultServer, driver: str, inside: bool
) -> None:
    with task("t") if inside else nullcontext() as t:
        raised = streamed(driver, "POST", f"{torn.url}/a/201")
        told = outcome(raised)
        [again] = run_calls(driver, [("POST", f"{torn.url}/a/201", {})])
    assert told is not None
    assert (told.facts["state"], told.applied, told.facts["note"]) == ("done", "yes", LOST)
    assert isinstance(again, UnknownOutcome)
    assert "its answer was lost" in str(again)
    assert torn.count("/a/201") == 1
    if t is not None:
        assert t.report().status == "done"
        assert LOST in t.report().done[0]


def test_a_trusted_key_fetches_the_answer_of_a_repeat(torn: FaultServer) -> None:
    with client_of(rules=[Rule("POST /**", dedupes=True)]) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(f"{torn.url}/a/201")
        assert client.post(f"{torn.url}/a/201").status_code == 200
    keys = {each.headers["idempotency-key"] for each in torn.seen}
    assert (len(torn.seen), len(keys)) == (2, 1)


@pytest.mark.parametrize(
    ("status", "state", "failure"),
    [(202, "unknown", "accepted"), (422, "failed", "bad_input"), (503, "unknown", None)],
)
@pytest.mark.parametrize("driver", ["httpx sync", "requests sync"])
def test_what_was_not_a_success_stays_what_it_was(
    torn: FaultServer, driver: str, status: int, state: str, failure: str | None
) -> None:
    with task("t"):
        raised = streamed(driver, "POST", f"{torn.url}/a/{status}", policy=ONCE)
    told = outcome(raised)
    assert told is not None
    assert told.facts["state"] == state
    assert told.failure == (failure or "unknown_outcome")
    assert told.facts["note"] is None


def test_a_caller_who_has_enough_leaves_no_failure(torn: FaultServer) -> None:
    with task("t") as t:
        with client_of() as client, client.stream("GET", f"{torn.url}/a/200") as response:
            for chunk in response.iter_raw():
                assert chunk == b"first"
                break
        with session_of() as session:
            answer = session.get(f"{torn.url}/b/200", stream=True)
            pieces = answer.iter_content(5)
            assert next(pieces) == b"first"
            pieces.close()
            answer.close()
    assert f"{t.report()}".splitlines()[1].endswith("done: 2 reads ok")


def test_a_body_that_cannot_be_decoded_is_told_under_requests(server: FaultServer) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nwords"
        )
        return True

    server._answer = answer  # type: ignore[method-assign]
    with task("t") as t, session_of() as session:
        with pytest.raises(requests.exceptions.ContentDecodingError) as raised:
            _ = session.get(f"{server.url}/a", stream=True).content
    assert outcome(raised.value) is not None
    assert t.report().status == "failed"


class Stopped(BaseException):
    """As a signal stops a program."""


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_caller_who_is_stopped_while_reading(
    torn: FaultServer, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with task("t") as t:
        with client_of() as client, client.stream(method, f"{torn.url}/a/200") as response:
            below = response.stream._stream.stream  # type: ignore[attr-defined]
            monkeypatch.setattr(type(below), "__iter__", stopping)
            with pytest.raises(Stopped):
                response.read()
        with session_of() as session:
            with session.request(method, f"{torn.url}/b/200", stream=True) as answer:
                monkeypatch.setattr(type(answer.raw), "stream", stopping)
                with pytest.raises(Stopped):
                    answer.json()
    if method == "GET":
        assert [each.rpartition(" stopped by ")[2] for each in t.report().failed] == [
            "cancelled"
        ] * 2
    else:
        assert [LOST in each for each in t.report().done] == [True] * 2


class Clinging(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that comes whole, and whose connection cannot be given back."""

    def __init__(self, exc: BaseException) -> None:
        self.exc = exc

    def __iter__(self) -> Iterator[bytes]:
        yield b"all"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"all"

    def close(self) -> None:
        raise self.exc

    async def aclose(self) -> None:
        raise self.exc


@pytest.mark.parametrize("colour", ["sync", "async"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("exc", [Stopped(), RuntimeError()], ids=["stop", "error"])
def test_a_body_is_told_of_when_its_caller_is_stopped_at_the_very_end(
    exc: BaseException, method: str, colour: str
) -> None:
    """A client that reads bodies itself does not hand on what it has not closed."""

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Clinging(exc))

    inner = httpx.MockTransport(answer)

    async def asked() -> None:
        async with httpx.AsyncClient(transport=on_httpx.AsyncRecoverTransport(inner)) as client:
            await client.request(method, "http://h.example/a")

    with task("t") as t, pytest.raises(type(exc)):
        if colour == "async":
            asyncio.run(asked())
        else:
            with httpx.Client(transport=on_httpx.RecoverTransport(inner)) as client:
                client.request(method, "http://h.example/a")
    report = t.report()
    if isinstance(exc, RuntimeError):
        assert report.status == "done"
        assert LOST not in str(report)
    elif method == "GET":
        assert report.failed[0].endswith(" transient 200 after 1 send stopped by cancelled")
    else:
        assert report.done[0].endswith(LOST)


def test_who_reads_the_chunks_one_by_one_gets_them_so(torn: FaultServer) -> None:
    with task("t"), client_of() as client, client.stream("GET", f"{torn.url}/a/200") as response:
        pieces = iter(response.stream._stream)  # type: ignore[attr-defined]
        assert iter(pieces) is pieces
        assert next(pieces) == b"first"


def stopping(*args: object, **kwargs: object) -> Iterator[bytes]:
    yield b"a"
    raise Stopped


@pytest.mark.parametrize("colour", ["asyncio", "trio"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_task_that_is_cancelled_while_reading(
    server: FaultServer, colour: str, method: str
) -> None:
    over = Event()

    def answer(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(HEAD.format(200).encode())
        over.wait(10)
        return False

    server._answer = answer  # type: ignore[method-assign]

    async def read() -> None:
        mount = on_httpx.AsyncRecoverTransport(policy=POLICY)
        async with httpx.AsyncClient(transport=mount, timeout=20, trust_env=False) as client:
            async with client.stream(method, f"{server.url}/a") as response:
                async for _ in response.aiter_raw():
                    pass

    async def on_asyncio() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await read()

    async def on_trio() -> None:
        with trio.move_on_after(0.3) as scope:
            await read()
        assert scope.cancelled_caught

    begun = time.monotonic()
    with task("t") as t:
        if colour == "trio":
            trio.run(on_trio)
        else:
            asyncio.run(on_asyncio())
    over.set()
    assert time.monotonic() - begun < 8
    if method == "GET":
        assert t.report().failed[0].endswith(" transient 200 after 1 send stopped by cancelled")
    else:
        assert t.report().done[0].endswith(LOST)


def test_a_read_that_was_cut_keeps_its_number(torn: FaultServer) -> None:
    with task("around") as around, task("t") as t, client_of() as client:
        with client.stream("GET", f"{torn.url}/a/200") as response:
            assert client.post(f"{torn.url}/a/200", json={}).status_code == 200  # the second there
            with pytest.raises(httpx.RemoteProtocolError):
                response.read()
    for report in (t.report(), around.report()):
        assert [each["method"] for each in report.to_dict()["actions"]] == ["GET", "POST"]
        assert " #1 " in report.failed[0]


def test_what_a_read_had_mended_has_failed_still_when_it_is_cut(server: FaultServer) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        if len(server.seen) == 1:
            return respond(connection, 503, {})
        connection.sendall(HEAD.format(200).encode())
        connection.sendall(b"0\r\n\r\n" if len(server.seen) > 2 else b"")
        return len(server.seen) > 2

    server._answer = answer  # type: ignore[method-assign]
    url = f"{server.url}/a"
    with task("around") as around, task("t") as t, client_of(policy=ONCE) as client:
        assert client.get(url).status_code == 503
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(url)
        assert len(t.report().failed) == len(around.report().failed) == 2
        assert client.get(url).status_code == 200
    assert t.report().status == around.report().status == "done"
