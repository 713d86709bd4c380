"""What a user is promised, over real sockets."""

from __future__ import annotations

import asyncio
import io
import pickle
import socket
import threading
import time
from typing import Any

import httpx
import httpx2
import pytest
import requests
import respx
import tenacity
import trio

from httpx_recover import (
    FailureClass,
    Key,
    Policy,
    RecoverTransport,
    Rule,
    UnknownOutcome,
    Verdict,
    _drive,
    call,
    outcome,
    task,
    verify,
)
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from tests.drivers import DRIVERS, POLICY, run_calls
from tests.faulty import FaultServer, Seen, respond

FOUND = verify.found("?ref={json.ref}")


def client_of(*rules: Rule, policy: Policy = POLICY, **settings: Any) -> httpx.Client:
    mount = RecoverTransport(policy=policy, rules=rules, **settings)
    return httpx.Client(transport=mount, timeout=0.2)


# ------------------------------------------------------------------ unknown outcome


def test_a_cut_post_is_sent_once_and_unknown(server: FaultServer) -> None:
    with task("charge") as t, client_of() as client, pytest.raises(UnknownOutcome) as raised:
        client.post(f"{server.url}/cut_after/a?token=s3cret", json={"ref": "a"})
    assert isinstance(raised.value, httpx.RemoteProtocolError)
    assert raised.value.request.method == "POST"
    assert server.count("/cut_after/a") == 1
    report = t.report()
    assert report.status == "unknown"
    assert report.next.startswith("read the state of 127.0.0.1")
    assert "s3cret" not in f"{report}{raised.value}{outcome(raised.value)}"
    copy = pickle.loads(pickle.dumps(raised.value))
    assert isinstance(copy, httpx.RemoteProtocolError)
    assert copy.url == f"{server.url}/cut_after/a"
    assert copy.outcome.stopped_by == "no_evidence"


def test_a_verifier_finds_what_landed(server: FaultServer) -> None:
    rule = Rule("POST /cut_after/*", verify=FOUND)
    with task("book") as t, client_of(rule) as client:
        answer = client.post(f"{server.url}/cut_after/a", json={"ref": "a"})
    assert answer.json() == {"data": [{"ref": "a"}]}
    assert answer.request.method == "POST"
    assert server.count("/cut_after/a", "POST") == 1
    found = outcome(answer)
    assert found is not None
    assert found.verified_by == f"read GET 127.0.0.1:{server.port}/cut_after/a"
    assert t.report().status == "done"


def test_absence_after_two_looks_buys_a_resend(server: FaultServer) -> None:
    rule = Rule("POST /cut_before/*", verify=FOUND)
    with task("book") as t, client_of(rule) as client:
        answer = client.post(f"{server.url}/cut_before/a", json={"ref": "a"})
    assert answer.status_code == 201
    assert server.count("/cut_before/a", "POST") == 2
    assert server.count("/cut_before/a", "GET") == 3  # two looks, and one count at the end
    assert server.book["/cut_before/a"] == ["a"]
    assert "after 2 sends" in t.report().done[0]


def test_a_trusted_key_is_resent_unchanged(server: FaultServer) -> None:
    with client_of(Rule("POST /**", dedupes=True)) as client:
        answer = client.post(f"{server.url}/cut_after/a", json={"ref": "a"})
    first, second = server.seen
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert answer.status_code == 201


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_refused_connection_is_tried_again_without_key_or_verifier(driver: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    listener: list[socket.socket] = []

    def listen() -> None:
        time.sleep(0.15)
        listening = socket.create_server(("127.0.0.1", port))
        listener.append(listening)
        connection, _ = listening.accept()
        connection.recv(65536)
        respond(connection, 201, {})
        connection.close()

    thread = threading.Thread(target=listen)
    thread.start()
    policy = Policy(backoff=(0.1, 0.2), jitter=0, key=Key.none())
    url = f"http://127.0.0.1:{port}/x"
    [end] = run_calls(driver, [("POST", url, {"json": {}})], policy=policy)
    thread.join()
    listener[0].close()
    assert end.status_code == 201
    found = outcome(end)
    assert found is not None
    assert found.attempts[0]["phase"] == "not_sent"
    assert len(found.attempts) in (2, 3)


@pytest.mark.parametrize("status", [307, 401])
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_verifying_read_never_makes_the_client_send_again(
    server: FaultServer, driver: str, status: int
) -> None:
    def landed(read: Any, sent: Any) -> Verdict:
        return Verdict.LANDED if read("/moved").status_code == status else Verdict.UNCLEAR

    server._play_moved = lambda connection, seen: respond(  # type: ignore[attr-defined]
        connection, status, {}, f"Location: http://localhost:{server.port}/elsewhere"
    )
    [end] = run_calls(
        driver,
        [("POST", f"{server.url}/cut_after/a", {"json": {}, "follow_redirects": True})],
        rules=[Rule("POST /**", verify=landed)],
    )
    own = (httpx.RemoteProtocolError, httpx2.RemoteProtocolError, requests.ConnectionError)
    assert isinstance(end, own)
    found = outcome(end)
    assert found is not None
    assert found.applied == "yes"
    assert server.count("/cut_after/a", "POST") == 1
    assert sum(each.method == "POST" for each in server.seen) == 1


def test_async_verifiers_and_plain_ones_under_an_async_client(server: FaultServer) -> None:
    async def landed(read: Any, sent: Any) -> Verdict:
        answer = await read("", params={"ref": sent.json["ref"]})
        return Verdict.LANDED if answer.json()["data"] else Verdict.ABSENT

    def blocking(read: Any, sent: Any) -> Verdict:
        answer = read("", params={"ref": sent.json["ref"]})
        return Verdict.LANDED if answer.json()["data"] else Verdict.ABSENT

    for number, verifier in enumerate((landed, blocking)):
        for driver in ("httpx asyncio", "httpx2 trio"):
            ref = f"{number}-{driver[:6]}"
            [end] = run_calls(
                driver,
                [("POST", f"{server.url}/cut_after/{ref}", {"json": {"ref": ref}})],
                rules=[Rule("POST /**", verify=verifier)],
            )
            assert end.json() == {"data": [{"ref": ref}]}


def test_a_verifier_that_raises_leaves_the_failure_and_is_named(server: FaultServer) -> None:
    def broken(read: Any, sent: Any) -> Verdict:
        raise KeyError("s3cret")

    rule = Rule("POST /**", verify=broken)
    with task("book") as t, client_of(rule) as client, pytest.raises(httpx.RemoteProtocolError):
        client.post(f"{server.url}/cut_after/a", json={})
    assert "the verifier raised KeyError" in t.report().unknown[0]
    assert "s3cret" not in str(t.report())
    assert server.count("/cut_after/a") == 1


def test_an_equal_order_of_yesterday_is_not_counted(server: FaultServer) -> None:
    server.book["/cut_before/a"].append("a")
    counting = verify.found("?ref={json.ref}", where={"ref": "{json.ref}"}, baseline=True)
    with client_of(Rule("POST /**", verify=counting)) as client:
        client.post(f"{server.url}/cut_before/a", json={"ref": "a"})
    assert server.count("/cut_before/a", "POST") == 2
    assert server.book["/cut_before/a"] == ["a", "a"]


def test_a_resend_that_makes_a_second_copy_is_never_done(server: FaultServer) -> None:
    """A first copy that lands after both looks: the count finds two."""

    def too_late(connection: socket.socket, seen: Seen) -> bool:
        server.apply_later(seen, 0.65)
        return False

    server._play_slow = too_late  # type: ignore[attr-defined]
    plain = server._answer

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if server.count("/slow/a", "POST") == 2 and seen.method == "POST":
            time.sleep(0.5)
        return plain(connection, seen)

    server._answer = answer  # type: ignore[method-assign]
    with task("book") as t, client_of(Rule("POST /**", verify=FOUND)) as client:
        client.post(f"{server.url}/slow/a", json={"ref": "a"}, timeout=2)
    assert server.book["/slow/a"] == ["a", "a"]
    assert t.report().status == "unknown"
    assert "2 copies landed" in t.report().unknown[0]


# ------------------------------------------------------------------ repeats of others


def test_tenacity_around_a_cut_post_books_once(server: FaultServer) -> None:
    with client_of() as client:

        @tenacity.retry(stop=tenacity.stop_after_attempt(4), reraise=True)
        def book() -> httpx.Response:
            return client.post(f"{server.url}/cut_after/a", json={"ref": "a"})

        with pytest.raises(UnknownOutcome):
            book()
    assert server.book["/cut_after/a"] == ["a"]
    assert server.count("/cut_after/a") == 1


def test_a_cut_answer_is_not_booked_again_by_a_repeat(server: FaultServer) -> None:
    with client_of() as client:
        for _ in range(3):
            with pytest.raises(httpx.TransportError) as raised:
                client.post(f"{server.url}/half/a", json={"ref": "a"})
            found = outcome(raised.value)
            assert found is not None
            assert found.applied == "yes"
    assert server.count("/half/a") == 1


def test_two_tenants_never_share_an_action(server: FaultServer) -> None:
    with client_of() as client:
        url = f"{server.url}/cut_after/a"
        with pytest.raises(UnknownOutcome):
            client.post(url, json={}, headers={"Authorization": "Bearer one"})
        assert client.post(url, json={}, headers={"Authorization": "Bearer two"}).is_success
        with pytest.raises(UnknownOutcome):
            client.post(url, json={}, headers={"Authorization": "Bearer one"})
    assert server.count("/cut_after/a") == 2


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("fault", ["fine", "cut_after", "cut_before"])
def test_five_equal_posts_in_one_gather_are_five_orders(
    server: FaultServer, driver: str, fault: str
) -> None:
    counting = verify.found("?ref={json.ref}", where={"ref": "{json.ref}"})
    calls = [("POST", f"{server.url}/{fault}/a", {"json": {"ref": "a"}})] * 5
    ends = run_calls(driver, calls, rules=[Rule("POST /**", verify=counting)])
    # A thread that starts after another one's failure is a repeat, and shares its action.
    found = {id(each.action): each for each in map(outcome, ends) if each is not None}
    done = [each for each in found.values() if each.facts["state"] == "done"]
    assert len(server.book[f"/{fault}/a"]) <= 5
    assert len(done) <= len(server.book[f"/{fault}/a"])
    if fault == "fine":
        assert len(done) == 5


# ------------------------------------------------------------------ bodies


def test_an_iterator_body_is_not_sent_again(server: FaultServer) -> None:
    with task("put") as t, client_of() as client:
        answer = client.put(f"{server.url}/503/a", content=iter([b"one", b"two"]))
    assert answer.status_code == 503
    assert server.count("/503/a") == 1
    assert "stopped by body" in t.report().unknown[0]


def test_files_and_bytes_are_sent_again_whole(server: FaultServer) -> None:
    with client_of() as client:
        answer = client.put(f"{server.url}/503/file", content=io.BytesIO(b"kept"))
        assert answer.status_code == 200
        client.put(f"{server.url}/503/bytes", content=b"all of it")
        client.put(f"{server.url}/503/list", content=[b"in ", b"parts"])
        client.put(f"{server.url}/503/form", files={"f": io.BytesIO(b"in a form")})
    bodies = [each.body for each in server.seen]
    assert bodies[:6] == [b"kept"] * 2 + [b"all of it"] * 2 + [b"in parts"] * 2
    assert bodies[6] == bodies[7]
    assert b"in a form" in bodies[7]


def test_a_file_is_wound_back_to_where_it_stood(server: FaultServer) -> None:
    file = io.BytesIO(b"skipped-kept")
    file.seek(8)
    calls: Any = [("PUT", f"{server.url}/503/file", {"content": file})]
    [end] = run_calls("httpx2 sync", calls)  # httpx counts the whole file as its length
    assert end.status_code == 200
    assert [each.body for each in server.seen] == [b"kept", b"kept"]


def test_a_pool_of_one_and_a_big_503(server: FaultServer) -> None:
    limits = httpx.Limits(max_connections=1)
    with client_of(limits=limits) as client:
        answer = client.get(f"{server.url}/big503/a", timeout=2)
        assert answer.status_code == 200


def test_a_big_503_is_handed_over_whole_when_nothing_waits(server: FaultServer) -> None:
    with client_of(policy=Policy(attempts=1)) as client:
        answer = client.get(f"{server.url}/big503/b", timeout=5)
    assert len(answer.content) == 3_000_000


def test_elapsed_and_iter_raw_work_as_without_us(server: FaultServer) -> None:
    with client_of() as client:
        answer = client.get(f"{server.url}/fine/a")
        assert answer.elapsed.total_seconds() > 0
        with client.stream("GET", f"{server.url}/fine/a") as stream:
            assert b"".join(stream.iter_raw()) == answer.content
        with client.stream("GET", f"{server.url}/half/b") as stream:
            assert stream.status_code == 200
            stream.read()


def test_a_callers_own_trace_is_told_and_put_back(server: FaultServer) -> None:
    events: list[str] = []

    def own(name: str, info: Any) -> None:
        events.append(name)

    with client_of() as client:
        answer = client.post(f"{server.url}/429/a", json={}, extensions={"trace": own})
    assert answer.request.extensions["trace"] is own
    assert events.count("http11.send_request_headers.started") == 2


# ------------------------------------------------------------------ limits


class FakeClock(_drive.Clock):
    """Sleeping takes no time, and is written down."""

    def __init__(self) -> None:
        self.offset = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return time.monotonic() + self.offset

    def chance(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.offset += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    clock = FakeClock()
    monkeypatch.setattr(_drive, "clock", clock)
    return clock


def test_a_wait_past_the_deadline_is_handed_over(server: FaultServer, clock: FakeClock) -> None:
    with client_of(policy=Policy()) as client:
        answer = client.get(f"{server.url}/hour/a")
    found = outcome(answer)
    assert found is not None
    assert (answer.status_code, found.wait, found.stopped_by) == (503, 3600, "wait_too_long")
    assert found.retry_at is not None
    assert abs(found.retry_at.timestamp() - time.time() - 3600) < 10
    assert clock.slept == []
    assert server.count("/hour/a") == 1


def test_nothing_is_sent_again_after_the_deadline(server: FaultServer, clock: FakeClock) -> None:
    seen: list[Any] = []
    server._answer = lambda connection, got: respond(connection, 503, {})  # type: ignore[method-assign]

    class Watch(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            seen.append((request.url.path, request.extensions["timeout"]))
            return super().handle_request(request)

    policy = Policy(backoff=(3.0,), jitter=0, deadline=4.0)
    mount = RecoverTransport(Watch(), policy=policy)
    with task("t") as t, httpx.Client(transport=mount, timeout=30) as client:
        client.get(f"{server.url}/a")
        client.get(f"{server.url}/b")
    paths = [path for path, _ in seen]
    assert paths == ["/a", "/a", "/b"]
    assert seen[0][1]["read"] == 30
    assert seen[1][1]["read"] < 1.1  # what the deadline left
    assert seen[2][1]["read"] == 30
    assert all("stopped by deadline" in each for each in t.report().failed)


def test_ten_recovery_calls_and_no_more(server: FaultServer, clock: FakeClock) -> None:
    server._answer = lambda connection, got: respond(connection, 503, {})  # type: ignore[method-assign]
    with task("t") as t, client_of(policy=Policy()) as client:
        for number in range(8):
            client.get(f"{server.url}/{number}")
    assert len(server.seen) == 8 + 10
    assert "stopped by recovery_calls" in t.report().failed[-1]


# ------------------------------------------------------------------ cancellation


def test_a_cancelled_write_is_unknown_and_not_sent_again(server: FaultServer) -> None:
    async def main() -> Any:
        mount = on_httpx.AsyncRecoverTransport(policy=POLICY)
        async with httpx.AsyncClient(transport=mount) as client, task("t") as t:
            url = f"{server.url}/timeout/a"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.post(url, json={}), 0.1)
            with pytest.raises(UnknownOutcome):
                await client.post(url, json={})
        return t.report()

    report = asyncio.run(main())
    assert "stopped by cancelled" in report.unknown[0] or "no_evidence" in report.unknown[0]
    assert server.count("/timeout/a") == 1


def test_a_cancelled_wait_under_trio_ends_the_call(server: FaultServer) -> None:
    async def main() -> Any:
        mount = on_httpx2.AsyncRecoverTransport(policy=Policy(backoff=(30.0,)))
        async with httpx2.AsyncClient(transport=mount) as client, task("t") as t:
            with trio.move_on_after(0.3):
                await client.get(f"{server.url}/503/a", headers={"x": "y"})
            with trio.move_on_after(0.3):
                await client.put(f"{server.url}/cut_after/a")
        return t.report()

    report = trio.run(main)
    assert "stopped by cancelled" in report.unknown[0]


@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_an_interrupt_is_written_down_and_raised_on(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    with httpx.Client(transport=RecoverTransport(httpx.MockTransport(interrupted))) as client:
        with pytest.raises(KeyboardInterrupt), task("t") as t:
            client.request(method, "http://h.example/x")
        kind = t.report().failed if method == "GET" else t.report().unknown
        assert "KeyboardInterrupt after 1 send stopped by cancelled" in kind[0]
        with pytest.raises(KeyboardInterrupt):
            client.request(method, "http://h.example/outside")
    told = [each.getMessage() for each in caplog.records if "/outside" in each.getMessage()]
    assert len(told) == (0 if method == "GET" else 1)


# ------------------------------------------------------------------ mounting


def test_recover_covers_mounts_and_proxies(server: FaultServer) -> None:
    proxies = {"http://proxied.example": httpx.HTTPTransport(proxy=server.url), "http://no": None}
    client = httpx.Client(mounts=proxies, trust_env=False)
    assert on_httpx.recover(client, policy=POLICY) is client
    with client:
        assert client.get("http://proxied.example/503/a").status_code == 200
        assert client.get(f"{server.url}/503/b").status_code == 200
    assert [each.target for each in server.seen][:2] == ["http://proxied.example/503/a"] * 2
    assert on_httpx.recover(client, policy=POLICY) is client
    with pytest.raises(ValueError, match="other settings"):
        on_httpx.recover(client)


def test_recover_takes_async_clients_and_nothing_else(server: FaultServer) -> None:
    async def main(library: Any, mounts: Any) -> int:
        async with mounts.recover(library.AsyncClient(), policy=POLICY) as client:
            return int((await client.get(f"{server.url}/503/{library.__name__}")).status_code)

    assert asyncio.run(main(httpx, on_httpx)) == 200
    assert trio.run(main, httpx2, on_httpx2) == 200
    for mounts in (on_httpx, on_httpx2):
        with pytest.raises(ValueError, match="must be an httpx"):
            mounts.recover(object())


def test_a_mocked_transport_of_respx_below_us() -> None:
    with respx.mock:
        route = respx.get("https://api.example.com/a")
        route.side_effect = [httpx.Response(503), httpx.ConnectError("no"), httpx.Response(200)]
        with client_of() as client:
            assert client.get("https://api.example.com/a").status_code == 200
        assert route.call_count == 3


def test_wrong_settings_are_errors_when_mounted(caplog: pytest.LogCaptureFixture) -> None:
    async def late(read: Any, sent: Any) -> Verdict:
        return Verdict.UNCLEAR

    with pytest.raises(ValueError, match="coroutine function"):
        client_of(Rule("POST /x", verify=late))
    with pytest.raises(ValueError, match="policy="):
        RecoverTransport(policy=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is not a Rule"):
        RecoverTransport(rules=["POST /x"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="verify, http2"):
        RecoverTransport(httpx.HTTPTransport(), verify=False, http2=True)
    with pytest.raises(ValueError, match=r"must be a httpx\..*BaseTransport"):
        RecoverTransport(object())  # type: ignore[arg-type]
    with client_of() as client, call(verify=late), pytest.raises(ValueError, match="coroutine"):
        client.post("http://h.example/x")
    with client_of() as client, pytest.raises(ValueError, match="extensions"):
        client.get("http://h.example/x", extensions={"recover": 7})


def test_a_proxy_variable_is_warned_about_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from httpx_recover import _httpx_mount

    monkeypatch.setattr(_httpx_mount, "_warned_of_proxies", [])
    monkeypatch.setenv("HTTPS_PROXY", "http://user:s3cret@proxy.example")
    RecoverTransport()
    RecoverTransport()
    told = [each.getMessage() for each in caplog.records]
    assert len(told) == 1
    assert "HTTPS_PROXY" in told[0]
    assert "s3cret" not in told[0]


def test_classes_of_a_rule_and_expected_statuses(server: FaultServer) -> None:
    rules = [
        Rule("POST /conflict/*", classes={409: FailureClass.TRANSIENT}, dedupes=True),
        Rule("GET /conflict/*", expect={409}),
    ]
    with client_of(*rules) as client:
        assert client.post(f"{server.url}/conflict/a", json={}).status_code == 201
        answer = client.get(f"{server.url}/conflict/b")
    found = outcome(answer)
    assert found is not None
    assert (answer.status_code, found.failure) == (409, FailureClass.OK)
