"""What a mount does to a client, its requests and its responses."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from httpx_recover import Key, Policy, RecoverTransport, Rule, call, outcome, task
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from httpx_recover._httpx_io import aread_body
from tests.conftest import FakeClock
from tests.drivers import DRIVERS, POLICY, run_calls
from tests.faulty import FaultServer, Seen, respond


def client_of(*rules: Rule, policy: Policy = POLICY, **settings: Any) -> httpx.Client:
    mount = RecoverTransport(policy=policy, rules=rules)
    return httpx.Client(transport=mount, timeout=0.3, **settings)


def test_one_request_can_have_a_rule_of_its_own_or_none(server: FaultServer) -> None:
    with client_of(Rule("POST /**", dedupes=True)) as client:
        url = f"{server.url}/503/a"
        answer = client.post(url, json={}, extensions={"recover": False})
        assert answer.status_code == 503
        assert outcome(answer) is None
        assert "idempotency-key" not in server.seen[0].headers
        own = Rule(safe=True)
        answer = client.post(f"{server.url}/503/b", json={}, extensions={"recover": own})
        assert answer.status_code == 201
        assert "idempotency-key" not in server.seen[-1].headers


@pytest.mark.parametrize("driver", [each for each in DRIVERS if "httpx" in each])
def test_switched_off_for_one_request_in_every_driver(server: FaultServer, driver: str) -> None:
    off = {"extensions": {"recover": False}}
    [end] = run_calls(driver, [("GET", f"{server.url}/503/a", off)])
    assert end.status_code == 503


def test_each_action_has_a_key_and_the_callers_own_is_kept(server: FaultServer) -> None:
    quoted = Rule("PATCH /**", key=Key.header("X-Key", quoted=True))
    with client_of(quoted) as client:
        client.post(f"{server.url}/429/a", json={})
        client.post(f"{server.url}/fine/b", json={}, headers={"Idempotency-Key": "mine"})
        client.patch(f"{server.url}/fine/c", json={})
        client.put(f"{server.url}/fine/d", json={})
        request = client.build_request("POST", f"{server.url}/fine/e", json={})
        client.send(request)
        client.send(request)
    keys = [each.headers.get("idempotency-key") for each in server.seen]
    assert keys[0] == keys[1]
    assert keys[2] == "mine"
    assert keys[3] is None
    assert server.seen[3].headers["x-key"].startswith('"')
    assert keys[4] is None
    assert keys[5] != keys[6]  # the same request object again, after a known end


def test_a_key_of_the_block_is_for_one_action(server: FaultServer) -> None:
    with client_of() as client, call(key="charge-7", label="charge"):
        client.get(f"{server.url}/fine/look")
        client.post(f"{server.url}/fine/a", json={})
        with pytest.raises(ValueError, match="second action"):
            client.post(f"{server.url}/fine/b", json={})
    assert server.seen[1].headers["idempotency-key"] == "charge-7"
    assert server.count("/fine/b") == 0


def test_a_hop_that_became_a_read_drops_our_key(server: FaultServer) -> None:
    def see_other(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 303, {}, "Location: /fine/there")

    server._play_303 = see_other  # type: ignore[attr-defined]
    with task("t") as t, client_of(follow_redirects=True) as client:
        assert client.post(f"{server.url}/303/a", json={}).status_code == 200
    assert "idempotency-key" in server.seen[0].headers
    assert "idempotency-key" not in server.seen[1].headers
    assert t.report().done[0].startswith("POST ")
    assert t.report().done[1] == "1 read ok"

    async def main() -> None:
        mount = on_httpx.AsyncRecoverTransport(policy=POLICY)
        async with httpx.AsyncClient(transport=mount, follow_redirects=True) as client:
            await client.post(f"{server.url}/303/b", json={})

    asyncio.run(main())
    assert "idempotency-key" not in server.seen[-1].headers


def test_a_hop_that_is_still_a_write_is_the_same_action(server: FaultServer) -> None:
    def moved(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 307, {}, "Location: /fine/there")

    server._play_307 = moved  # type: ignore[attr-defined]
    with task("t") as t, client_of(follow_redirects=True) as client:
        assert client.post(f"{server.url}/307/a", json={}).status_code == 201
    first, second = server.seen
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    [done] = t.report().done
    assert "verified by answer 201 after 2 sends" in done
    server._play_lostway = lambda connection, seen: respond(connection, 307, {})  # type: ignore[attr-defined]
    with task("t") as t, client_of() as client:
        assert client.post(f"{server.url}/307/b", json={}).status_code == 307
        assert client.post(f"{server.url}/lostway/b", json={}).status_code == 307
    assert t.report().status == "unknown"  # nobody went where the server pointed


@pytest.mark.parametrize("inside", [False, True])
def test_a_hop_that_is_lost_is_not_sent_again_by_a_repeat(
    server: FaultServer, inside: bool
) -> None:
    other = FaultServer()

    def answer(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 307, {}, f"Location: {other.url}/cut_after/x")

    server._answer = answer  # type: ignore[method-assign]
    try:
        with client_of(follow_redirects=True, auth=("me", "s3cret")) as client:
            with task("t") if inside else call(label="x"):
                for _ in range(3):
                    with pytest.raises(httpx.TransportError):
                        client.post(f"{server.url}/a", json={"ref": "a"})
        assert other.book["/cut_after/x"] == ["a"]
    finally:
        other.close()


def test_rules_see_the_whole_path_and_the_host(server: FaultServer) -> None:
    rules = [Rule(f"GET {server.url}/v1/*", attempts=1), Rule("GET /v1/*/x", attempts=2)]
    server._answer = lambda connection, seen: respond(connection, 503, {})  # type: ignore[method-assign]
    with client_of(*rules, base_url=f"{server.url}/v1") as client:
        client.get("/a")
        client.get("/a/x")
        client.get("/a/y")
    assert [server.count(f"/v1/{path}") for path in ("a", "a/x", "a/y")] == [1, 2, 3]


def test_a_rule_that_never_matched_is_logged_once(
    server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    with client_of(Rule("POST /typo"), Rule("GET /**")) as client:
        for _ in range(2):
            with task("t"):
                client.get(f"{server.url}/fine/a")
    told = [each.getMessage() for each in caplog.records if "matched no request" in each.msg]
    assert len(told) == 1
    assert "'POST /typo'" in told[0]


SHORT = Policy(backoff=(0.05,), jitter=0, deadline=0.4)


def drip(connection: socket.socket, head: str, piece: bytes) -> bool:
    """An answer that comes in small pieces for ten seconds: it outlives every socket timeout."""
    connection.sendall(f"HTTP/1.1 {head}\r\n\r\n".encode())
    for _ in range(200):
        connection.sendall(piece)
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("driver", DRIVERS)
def test_resends_are_bounded_with_their_bodies(server: FaultServer, driver: str) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        if len(server.seen) % 2:
            return respond(connection, 503, {})
        return drip(connection, "200 OK\r\nContent-Length: 200", b"x")

    server._answer = answer  # type: ignore[method-assign]
    begun = time.monotonic()
    [ended] = run_calls(driver, [("GET", f"{server.url}/a", {})], policy=SHORT, timeout=5)
    assert time.monotonic() - begun < 5
    assert type(ended).__name__ in ("ReadTimeout", "ConnectionError")
    assert "the deadline of the task has passed" in str(ended)
    found = outcome(ended)
    assert found is not None
    assert (found.stopped_by, found.facts["cause"]) == ("deadline", "200")


@pytest.mark.parametrize("driver", DRIVERS[:-1])
def test_a_failed_body_that_drips_does_not_hold_recovery_up(
    server: FaultServer, driver: str
) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        return drip(connection, "503 Busy\r\nTransfer-Encoding: chunked", b"1\r\nx\r\n")

    server._answer = answer  # type: ignore[method-assign]
    begun = time.monotonic()
    [ended] = run_calls(driver, [("GET", f"{server.url}/a", {})], policy=SHORT, timeout=5)
    assert time.monotonic() - begun < 5
    assert "the deadline of the task has passed" in str(ended)
    found = outcome(ended)
    assert found is not None
    assert (found.stopped_by, found.facts["cause"]) == ("deadline", "503")


def test_a_body_that_comes_too_late_is_cut_and_closed(clock: FakeClock) -> None:
    """The whole of an async attempt is bounded already; what reads it keeps to the time as well."""

    class Stream(httpx.AsyncByteStream):
        closed = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"first"
            yield b"second"

        async def aclose(self) -> None:
            self.closed += 1

    async def main() -> None:
        stream = Stream()
        response = httpx.Response(200, stream=stream)
        error = await aread_body(response, httpx, clock.now() - 1)
        assert isinstance(error, httpx.ReadTimeout)
        assert stream.closed == 2
        with pytest.raises(httpx.ReadTimeout, match="deadline"):
            await response.aread()

    asyncio.run(main())


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_failed_body_of_any_length_is_kept_to_a_bound(server: FaultServer, driver: str) -> None:
    def endless(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(8):
            connection.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        connection.sendall(b"0\r\n\r\n")
        return True

    def torn(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        return False

    server._play_endless, server._play_torn = endless, torn  # type: ignore[attr-defined]
    calls: Any = [("GET", f"{server.url}/{name}/a", {}) for name in ("endless", "torn")]
    assert [end.status_code for end in run_calls(driver, calls, timeout=2)] == [200, 200]
    # A later refusal hands the earlier, unknown end over: its body is what was kept of it.
    plain = server._answer

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if server.count(seen.path) > 1:
            return respond(connection, 422, {})
        return plain(connection, seen)

    server._answer = answer  # type: ignore[method-assign]
    name, _, colour = driver.partition(" ")
    if colour == "sync":
        library = httpx if name == "httpx" else __import__("httpx2")
        mounts = on_httpx if name == "httpx" else on_httpx2
        mount = mounts.RecoverTransport(policy=POLICY)
        with library.Client(transport=mount, timeout=2) as client:
            with client.stream("PUT", f"{server.url}/endless/b") as ended:
                assert ended.status_code == 503
                with pytest.raises(library.ReadError, match="were kept"):
                    ended.read()
    else:
        [ended] = run_calls(driver, [("PUT", f"{server.url}/endless/b", {})], timeout=2)
        assert type(ended).__name__ == "ReadError"
    assert server.count("/endless/b") == 2


def test_transports_forward_opening_and_closing() -> None:
    told: list[str] = []

    class Below(httpx.MockTransport):
        def __enter__(self) -> Any:
            told.append("enter")
            return self

        def __exit__(self, *exc: Any) -> None:
            told.append("exit")

        def close(self) -> None:
            told.append("close")

        async def aclose(self) -> None:
            told.append("aclose")

        async def __aenter__(self) -> Any:
            told.append("aenter")
            return self

        async def __aexit__(self, *exc: Any) -> None:
            told.append("aexit")

    below = Below(lambda request: httpx.Response(200))
    mount = RecoverTransport(below)
    with mount as same:
        assert same is mount
    mount.close()

    async def main() -> None:
        mount = on_httpx.AsyncRecoverTransport(below)
        async with mount as same:
            assert same is mount
        await mount.aclose()

    asyncio.run(main())
    assert told == ["enter", "exit", "close", "aenter", "aexit", "aclose"]


def test_cancelled_reads_and_writes_of_async_clients_are_written_down() -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        return httpx.Response(200)

    async def main() -> Any:
        mount = on_httpx.AsyncRecoverTransport(httpx.MockTransport(hang))
        async with httpx.AsyncClient(transport=mount) as client:
            with task("t") as t:
                for method in ("GET", "PUT"):
                    with pytest.raises(asyncio.TimeoutError):
                        await asyncio.wait_for(client.request(method, "http://h.example/"), 0.05)
        return t.report()

    report = asyncio.run(main())

    async def outside() -> None:
        mount = on_httpx.AsyncRecoverTransport(httpx.MockTransport(hang))
        async with httpx.AsyncClient(transport=mount) as client:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.get("http://h.example/"), 0.05)

    asyncio.run(outside())
    assert "CancelledError after 1 send stopped by cancelled" in report.failed[0]
    assert "CancelledError after 1 send stopped by cancelled" in report.unknown[0]


def test_a_bug_below_is_raised_as_it_is_and_never_repeated() -> None:
    calls: list[str] = []

    def broken(request: httpx.Request) -> httpx.Response:
        calls.append(request.method)
        raise RuntimeError("a bug")

    with httpx.Client(transport=RecoverTransport(httpx.MockTransport(broken))) as client:
        for method in ("GET", "POST"):
            with task("t") as t, pytest.raises(RuntimeError, match="a bug"):
                client.request(method, "http://h.example/")
            assert t.report().status == ("failed" if method == "GET" else "unknown")
    assert calls == ["GET", "POST"]


def test_a_key_that_is_named_is_sent_with_any_write(server: FaultServer) -> None:
    with client_of() as client, call(key="charge-7"):
        client.put(f"{server.url}/fine/a")
    with client_of() as client, call(key="charge-8"):
        client.delete(f"{server.url}/fine/a")
    assert [each.headers["idempotency-key"] for each in server.seen] == ["charge-7", "charge-8"]


def test_a_key_without_a_place_is_an_error() -> None:
    client = client_of(policy=Policy(key=Key.none()))
    with client, call(key="charge-7"), pytest.raises(ValueError, match=r"says Key.none\(\)"):
        client.post("http://h.example/")


def test_a_write_lost_after_its_task_was_left_is_not_sent_again(server: FaultServer) -> None:
    async def main() -> None:
        mount = on_httpx.AsyncRecoverTransport(policy=POLICY)
        async with httpx.AsyncClient(transport=mount, timeout=0.2) as client:
            url = f"{server.url}/timeout/a"
            async with task("t"):
                late = asyncio.create_task(client.post(url, json={}))
                await asyncio.sleep(0.05)
            with pytest.raises(httpx.ReadTimeout):
                await late
            with pytest.raises(httpx.TransportError):
                await client.post(url, json={})

    asyncio.run(main())
    assert server.count("/timeout/a") == 1
