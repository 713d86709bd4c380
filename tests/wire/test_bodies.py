"""Bodies in and out: which can be sent again, which are read at once, what is put back."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from httpx_recover import (
    AsyncRecoverTransport,
    Policy,
    RecoverTransport,
    Rule,
    UnknownOutcome,
    Verdict,
    _httpx_wire,
    outcome,
    task,
    verify,
)
from httpx_recover._credentials import precondition
from httpx_recover._httpx_wire import body_of, is_small, next_hop, print_of, rewinder
from httpx_recover._ledger import Action
from httpx_recover._memory import MEMORY
from httpx_recover._view import CallView
from tests.drivers import POLICY
from tests.faulty import FaultServer

URL = "http://h.example/x"


class Pipe(io.RawIOBase):
    """A file that cannot be wound back, or even asked."""

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        return b""


class Broken:
    """A file that raises when it is asked."""

    def read(self, size: int = -1) -> bytes:
        return b""

    def seekable(self) -> bool:
        raise OSError("gone")


def generated() -> Iterator[bytes]:
    yield b"once"


async def agenerated() -> AsyncIterator[bytes]:
    yield b"once"


class Own(httpx.SyncByteStream):
    def __iter__(self) -> Iterator[bytes]:
        yield b"x"


@pytest.mark.parametrize(
    ("arguments", "repeats"),
    [
        ({}, True),
        ({"content": b"x"}, True),
        ({"json": {}}, True),
        ({"data": {"a": "1"}}, True),
        ({"content": [b"a", b"b"]}, True),
        ({"content": io.BytesIO(b"x")}, True),
        ({"content": generated()}, False),
        ({"content": agenerated()}, False),
        ({"content": iter([b"x"])}, False),
        ({"stream": Own()}, False),
        ({"files": {"f": b"bytes"}}, True),
        ({"files": {"f": "text"}, "data": {"a": "b"}}, True),
        ({"files": {"f": io.BytesIO(b"x")}}, True),
        ({"files": {"f": Pipe()}}, False),
        ({"files": {"f": Broken()}}, False),
    ],
)
def test_which_bodies_can_be_sent_again(arguments: dict[str, Any], repeats: bool) -> None:
    found = rewinder(httpx.Request("POST", URL, **arguments))
    assert (found is not None) is repeats
    if found is not None:
        found()


def test_bodies_in_memory_can_be_compared() -> None:
    assert body_of(httpx.Request("POST", URL, content=b"x")) == b"x"
    one = httpx.Request("POST", URL, files={"f": b"bytes"}, data={"a": "b"})
    two = httpx.Request("POST", URL, files={"f": b"bytes"}, data={"a": "b"})
    assert b"bytes" in (body_of(one) or b"")
    assert print_of(one) == print_of(two)
    assert body_of(httpx.Request("POST", URL, files={"f": io.BytesIO(b"x")})) is None
    once = httpx.Request("POST", URL, content=generated())
    assert body_of(once) is None
    view = CallView(once, Action("POST", URL, safe=False), _httpx_wire)
    assert (view.form, view.json, view.content) == (None, None, None)


@pytest.mark.parametrize(
    ("headers", "holds"),
    [
        ({}, False),
        ({"If-Match": '"v1"'}, True),
        ({"If-Match": "*"}, False),
        ({"If-Match": 'W/"v1"'}, False),
        ({"If-None-Match": "*"}, True),
        ({"If-None-Match": '"v1"'}, False),
    ],
)
def test_which_preconditions_make_a_resend_harmless(headers: dict[str, str], holds: bool) -> None:
    assert precondition(httpx.Headers(headers).get) is holds


def test_a_precondition_counts_only_where_it_is_declared(server: FaultServer) -> None:
    tagged = {"If-None-Match": "*"}
    mount = RecoverTransport(policy=POLICY, rules=[Rule("PATCH /**", conditional=True)])
    with httpx.Client(transport=mount, timeout=0.3) as client:
        assert client.patch(f"{server.url}/cut_after/a", headers=tagged).status_code == 200
        with pytest.raises(UnknownOutcome):
            client.patch(f"{server.url}/cut_after/b")
        with pytest.raises(UnknownOutcome):
            client.post(f"{server.url}/cut_after/c", headers=tagged)


@pytest.mark.parametrize(
    ("method", "status", "headers", "small"),
    [
        ("GET", 200, {"content-length": "10"}, True),
        ("GET", 200, {"content-length": "262144"}, True),
        ("GET", 200, {"content-length": "262145"}, False),
        ("GET", 200, {"content-length": "9" * 40}, False),
        ("GET", 200, {"content-length": "-1"}, False),
        ("GET", 200, {"content-length": "ten"}, False),
        ("GET", 200, {}, False),
        ("HEAD", 200, {"content-length": "10"}, False),
        ("GET", 204, {"content-length": "10"}, False),
        ("GET", 304, {"content-length": "10"}, False),
        ("GET", 101, {"content-length": "0"}, False),
        ("CONNECT", 200, {"content-length": "0"}, False),
    ],
)
def test_which_answers_are_read_at_once(
    method: str, status: int, headers: dict[str, str], small: bool
) -> None:
    assert is_small(httpx.Response(status, headers=headers, stream=Own()), method) is small
    assert not is_small(httpx.Response(status, headers=headers, content=b"x" * 10), method)


def test_a_location_that_cannot_be_read_is_not_followed() -> None:
    answer = httpx.Response(302, headers={"location": "http://h.example:port/"})
    assert next_hop(httpx.Request("GET", URL), answer) is None
    assert next_hop(httpx.Request("GET", URL), httpx.Response(302)) is None


class Endless(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A stream that does not know that it was closed."""

    closed = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield b"x" * 65536

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65536

    def close(self) -> None:
        Endless.closed += 1

    async def aclose(self) -> None:
        Endless.closed += 1


class Short(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"busy"


def test_an_endless_failure_does_not_hold_recovery_up() -> None:
    answers = [httpx.Response(503, stream=Endless()), httpx.Response(200)]
    below = httpx.MockTransport(lambda request: answers.pop(0))
    policy = Policy(backoff=(0.0,), jitter=0)
    with httpx.Client(transport=RecoverTransport(below, policy=policy)) as client:
        assert client.get(URL).status_code == 200

    async def main() -> int:
        mount = AsyncRecoverTransport(below, policy=policy)
        async with httpx.AsyncClient(transport=mount) as client, task("t") as t:
            status = (await client.get(URL)).status_code
            assert (await client.get(URL)).status_code == 200
            assert (await client.get(URL)).status_code == 200
        assert t.report().calls == 5
        return status

    answers += [
        httpx.Response(503, stream=Endless()),
        httpx.Response(200),
        httpx.Response(200),
        httpx.Response(503, stream=Short()),
        httpx.Response(200),
    ]
    assert asyncio.run(main()) == 200
    assert Endless.closed >= 4


def test_timeouts_are_put_back_also_where_there_were_none() -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(dict(request.extensions))
        return httpx.Response(503)

    mount = RecoverTransport(httpx.MockTransport(answer), policy=Policy(backoff=(0.0,), jitter=0))
    request = httpx.Request("PUT", URL, extensions={"kept": 1})
    mount.handle_request(request)
    assert request.extensions["kept"] == 1
    assert "timeout" not in request.extensions
    assert [("timeout" in each) for each in seen] == [False, True, True]


def test_an_async_trace_of_the_callers_own_is_awaited(server: FaultServer) -> None:
    events: list[str] = []

    async def own(name: str, info: Any) -> None:
        events.append(name)

    async def main() -> Any:
        async with httpx.AsyncClient(transport=AsyncRecoverTransport(policy=POLICY)) as client:
            url = f"{server.url}/429/a"
            return await client.post(url, json={}, extensions={"trace": own})

    answer = asyncio.run(main())
    assert answer.request.extensions["trace"] is own
    assert events.count("http11.send_request_headers.started") == 2


def test_a_read_with_a_body_to_stream_is_a_read(server: FaultServer) -> None:
    mount = RecoverTransport(policy=POLICY, rules=[Rule("POST /**", safe=True)])
    with httpx.Client(transport=mount, timeout=0.3) as client:
        answer = client.post(f"{server.url}/503/a", content=generated())
        assert answer.status_code == 503
        found = outcome(answer)
        assert found is not None
        assert found.stopped_by == "body"
        answer = client.post(f"{server.url}/503/b", content=[b"a", b"b"])
        assert answer.status_code == 201


def test_a_copy_that_an_equal_action_took_proves_nothing(server: FaultServer) -> None:
    """Between the look and its verdict another action claims the only copy."""
    looked: list[Verdict] = []

    class Racing:
        counts = baseline = False

        def shown(self, url: str) -> str:
            return "GET x"

        def steps(self, call: Any) -> Any:
            yield verify.Read("/fine/look")
            if not looked:
                equal = Action("POST", URL, safe=False)
                equal.fingerprint, equal.identity = call._action.fingerprint, call._action.identity
                MEMORY.claim(equal, 1, 0)
            looked.append(Verdict("LANDED", count=1))
            return looked[-1]

    mount = RecoverTransport(policy=POLICY, rules=[Rule("POST /**", verify=Racing())])
    with httpx.Client(transport=mount, timeout=0.3) as client:
        with pytest.raises(UnknownOutcome) as raised:
            client.post(f"{server.url}/cut_before/a", json={})
    found = outcome(raised.value)
    assert found is not None
    assert found.facts["note"] == "an equal action took the copy"
    assert len(looked) == 2


@pytest.mark.parametrize("baseline", [False, True])
def test_counts_that_cannot_be_made(server: FaultServer, baseline: bool) -> None:
    class Blind:
        counts = True

        def __init__(self) -> None:
            self.baseline = baseline

        def shown(self, url: str) -> str:
            return "GET x"

        def steps(self, call: Any) -> Any:
            yield verify.Read("/fine/look")
            return Verdict.ABSENT

    mount = RecoverTransport(policy=POLICY, rules=[Rule("POST /**", verify=Blind())])
    with httpx.Client(transport=mount, timeout=0.3) as client:
        answer = client.post(f"{server.url}/cut_before/a", json={})
    found = outcome(answer)
    assert found is not None
    assert found.verified_by == "answer 201"
    assert found.facts["attempts"][-1]["kind"] == "count"


def test_a_deadline_that_passes_before_any_answer(server: FaultServer) -> None:
    async def main() -> Any:
        mount = AsyncRecoverTransport(policy=Policy(backoff=(0.05,), jitter=0, deadline=0.3))
        async with httpx.AsyncClient(transport=mount, timeout=5) as client:
            hang = server._play_timeout
            server._answer = lambda connection, seen: (  # type: ignore[method-assign]
                server._play_hour(connection, seen) and False
                if seen.path == "/x"
                else hang(connection, seen)
            )
            try:
                return await client.get(f"{server.url}/cut_before/b")
            except httpx.TransportError as exc:
                return exc

    ended = asyncio.run(main())
    found = outcome(ended)
    assert found is not None
    assert found.stopped_by in ("deadline", "attempts")
