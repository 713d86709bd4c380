"""Where a write under requests could be sent twice, or be called what it is not."""

from __future__ import annotations

import copy
import functools
import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool
from urllib3.exceptions import NewConnectionError
from urllib3.poolmanager import PoolManager
from urllib3.util import Retry

from httpx_recover import Policy, Rule, UnknownOutcome, Verdict, outcome, task, verify
from httpx_recover._bodies import MOST, rewind_of
from httpx_recover._memory import MEMORY
from httpx_recover._requests_io import KeptRaw, keep
from httpx_recover._requests_phase import watch
from httpx_recover._requests_wire import (
    body_of,
    cut_timeout,
    location_of,
    next_hop,
    read_timeout,
)
from httpx_recover.requests import RecoverAdapter, recover
from tests.drivers import POLICY
from tests.faulty import FaultServer, Seen, respond

Answer = Callable[[socket.socket, Seen], bool]
FOUND = verify.found("?ref={json.ref}")
KEYED = Rule("POST /**", dedupes=True)


class Scripted(FaultServer):
    """Answers each request by a function of the test's own."""

    answer: Answer

    def _answer(self, connection: socket.socket, seen: Seen) -> bool:
        return self.answer(connection, seen)


@pytest.fixture
def scripted() -> Iterator[Scripted]:
    server = Scripted()
    server.answer = cut
    yield server
    server.close()


def cut(connection: socket.socket, seen: Seen) -> bool:
    """Take the request and hang up."""
    return False


def session_of(*rules: Rule, policy: Policy = POLICY) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    return recover(session, policy=policy, rules=rules)


def facts_of(x: Any) -> dict[str, Any]:
    found = outcome(x)
    assert found is not None
    return found.facts


def assert_unknown(session: requests.Session, server: FaultServer, **arguments: Any) -> Any:
    """A POST that was delivered stays unknown, and was delivered once."""
    with session, pytest.raises(UnknownOutcome) as raised:
        session.post(f"{server.url}/a", timeout=2, **{"json": {"a": 1}} | arguments)
    ends = time.monotonic() + 2
    while not server.seen and time.monotonic() < ends:
        time.sleep(0.01)
    assert [each.method for each in server.seen] == ["POST"]
    assert facts_of(raised.value)["state"] == "unknown"
    return raised.value


# ---------------------------------------------------------------------- silence is no proof


class OwnPools(PoolManager):
    """Makes its pools by itself."""

    def _new_pool(self, scheme: Any, host: Any, port: Any, request_context: Any = None) -> Any:
        return HTTPConnectionPool(host, port)


def with_own_pools(session: requests.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.get_adapter("http://").poolmanager = OwnPools()  # type: ignore[attr-defined]


def with_own_pool(session: requests.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def pool(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        place = urllib3.util.parse_url(request.url)
        return HTTPConnectionPool(place.host, place.port)

    monkeypatch.setattr(HTTPAdapter, "get_connection_with_tls_context", pool)


def with_traced_sending(session: requests.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = HTTPAdapter.send

    @functools.wraps(plain)
    def send(*args: Any, **kwargs: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:  # where nobody notes what is sent
            return pool.submit(plain, *args, **kwargs).result()

    monkeypatch.setattr(HTTPAdapter, "send", send)


class ByItself(HTTPConnection):
    """Writes to its socket past urllib3."""

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        self.connect()
        self.sock.sendall(f"{method} {url} HTTP/1.1\r\nContent-Length: 0\r\n\r\n".encode())


def with_own_connection(session: requests.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HTTPConnectionPool, "ConnectionCls", ByItself)


@pytest.mark.parametrize(
    "with_it", [with_own_pools, with_own_pool, with_traced_sending, with_own_connection]
)
def test_what_is_not_watched_counts_as_sent(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, with_it: Any
) -> None:
    session = session_of()
    with_it(session, monkeypatch)
    assert_unknown(session, scripted)


def test_a_manager_is_watched_only_when_its_old_pools_are_gone() -> None:
    class Slow(PoolManager):
        def clear(self) -> None:
            begun.set()
            assert go.wait(5)
            super().clear()

    begun, go = threading.Event(), threading.Event()
    manager, done = Slow(), threading.Event()
    old = manager.connection_from_url("http://h.example")
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(watch, manager)
        assert begun.wait(5)
        second = pool.submit(lambda: (watch(manager), done.set()))
        assert not done.wait(0.1)
        go.set()
        first.result()
        second.result()
    assert manager.connection_from_url("http://h.example") is not old


@pytest.mark.parametrize("kind", ["class", "instance"])
def test_connections_of_ones_own_kind_work(
    scripted: Scripted, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    scripted.answer = lambda connection, seen: respond(connection, 200, {})
    made = functools.partial(HTTPConnection, blocksize=4096)
    if kind == "class":
        monkeypatch.setattr(HTTPConnectionPool, "ConnectionCls", staticmethod(made))
    else:
        plain = HTTPConnectionPool.__init__

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            plain(self, *args, **kwargs)
            self.ConnectionCls = made

        monkeypatch.setattr(HTTPConnectionPool, "__init__", init)
    with session_of() as session:
        assert session.get(f"{scripted.url}/a").ok


def test_a_connection_that_is_used_without_an_adapter_is_only_itself(scripted: Scripted) -> None:
    scripted.answer = lambda connection, seen: respond(connection, 200, {})
    with session_of() as session:
        session.get(f"{scripted.url}/a")
        pool = session.get_adapter("http://").poolmanager.connection_from_url(scripted.url)  # type: ignore[attr-defined]
        assert pool.request("GET", "/b").status == 200


@pytest.mark.parametrize(
    "retries",
    [
        Retry(total=None, read=3, allowed_methods=None),
        Retry(total=None, other=3, allowed_methods=None),
        Retry(3, allowed_methods=None),
    ],
)
@pytest.mark.parametrize("later", [False, True])
def test_no_form_of_retry_sends_again(scripted: Scripted, retries: Retry, later: bool) -> None:
    session = requests.Session()
    below = HTTPAdapter(max_retries=0 if later else retries)
    session.mount("http://", below)
    recover(session, policy=POLICY)
    if later:
        session.get_adapter("http://").max_retries = retries  # type: ignore[attr-defined]
    assert_unknown(session, scripted)


def test_numbers_that_are_changed_later_change_nothing(scripted: Scripted) -> None:
    scripted.answer = lambda connection, seen: respond(connection, 503, {})
    with session_of() as session:
        adapter: Any = session.get_adapter("http://")
        adapter.max_retries.total, adapter.max_retries.status = None, 2
        adapter.max_retries.status_forcelist, adapter.max_retries.allowed_methods = {503}, None
        assert session.post(f"{scripted.url}/a").status_code == 503
    assert len(scripted.seen) == 1


# ---------------------------------------------------------------------- bodies that are sent


class Failing(io.BytesIO):
    """A file whose second part cannot be had, and says so in words of a connection."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise requests.ConnectionError(NewConnectionError(None, "no way to the file"))  # type: ignore[arg-type]
        return super().read(4)


def test_a_failure_inside_the_body_is_no_proof(scripted: Scripted) -> None:
    with session_of() as session, pytest.raises(requests.ConnectionError) as raised:
        session.post(f"{scripted.url}/a", data=Failing(b"12345678"), timeout=2)
    assert facts_of(raised.value)["state"] == "unknown"
    assert facts_of(raised.value)["sends"] == 1


def test_two_files_of_one_length_are_two_orders(scripted: Scripted, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"AAAA")
    with session_of(KEYED, policy=Policy(attempts=1)) as session:
        for body in (io.BytesIO(b"AAAA"), memoryview(b"BBBB"), bytearray(b"CCCC")):
            with pytest.raises(UnknownOutcome):
                session.post(f"{scripted.url}/a", data=body)
        scripted.answer = lambda connection, seen: respond(connection, 201, {})
        with (tmp_path / "a").open("rb") as same:
            session.post(f"{scripted.url}/a", data=same)
    keys = [each.headers["idempotency-key"] for each in scripted.seen]
    assert keys[3] == keys[0]  # the same content again, as long as nobody knows
    assert len(set(keys)) == 3


def test_what_cannot_be_read_again_takes_no_key_of_another(scripted: Scripted) -> None:
    with session_of(KEYED, policy=Policy(attempts=1)) as session:
        for _ in "ab":
            with pytest.raises(UnknownOutcome):
                session.post(f"{scripted.url}/a", data=iter([b"x"]))
    assert len(scripted.seen) == 1
    with session_of() as session:
        with pytest.raises(UnknownOutcome):
            session.put(f"{scripted.url}/b", data=iter([b"x"]))


def test_what_a_file_is_known_by() -> None:
    class Endless(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return b"x" * (MOST // 2)

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError("gone")

    file = io.BytesIO(b"0123456789")
    file.seek(4)
    rewind = rewind_of(file)
    assert rewind is not None
    file.seek(0, 2)
    assert rewind.digest() == rewind_of(io.BytesIO(b"456789")).digest()  # type: ignore[union-attr]
    assert rewind_of(io.StringIO("456789")).digest() == rewind.digest()  # type: ignore[union-attr]
    assert file.tell() == 10
    rewind()
    assert file.tell() == 4
    assert rewind_of(Endless()).digest() is None  # type: ignore[union-attr]
    assert rewind_of(Broken()).digest() is None  # type: ignore[union-attr]
    assert rewind_of(iter("a")) is None
    assert body_of(requests.Request("POST", "http://h/", data=file).prepare()) is None


# ---------------------------------------------------------------------- keys


class Till(Scripted):
    """Dedupes by key, and knows what it has applied."""

    def __post_init__(self) -> None:
        self.answer = self.take
        super().__post_init__()

    def take(self, connection: socket.socket, seen: Seen) -> bool:
        known = [each.headers["idempotency-key"] for each in self.seen[:-1]]
        self.book["keys"] += {seen.headers["idempotency-key"]} - {*known}
        return respond(connection, 201, {})


@pytest.fixture
def till() -> Iterator[Till]:
    server = Till()
    yield server
    server.close()


def sent_twice(session: requests.Session, request: Any) -> list[Any]:
    return [request, request]


def copies(session: requests.Session, request: Any) -> list[Any]:
    return [request, request.copy(), request.copy()]


def a_copy_between(session: requests.Session, request: Any) -> list[Any]:
    return [request, request.copy(), request]


@pytest.mark.parametrize("ways", [sent_twice, copies, a_copy_between])
def test_after_a_known_end_each_send_has_a_key_of_its_own(till: Till, ways: Any) -> None:
    with session_of(KEYED) as session:
        request = requests.Request("POST", f"{till.url}/a", json={"a": 1}).prepare()
        sends = ways(session, request)
        session.send(sends[0])
        copied = sends[1].copy() if ways is a_copy_between else sends[1]
        for each in [copied, *sends[2:]]:
            session.send(each)
    assert len(till.book["keys"]) == len(sends)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda request: request.copy()])
def test_a_copy_of_a_sent_request_is_a_new_order(till: Till, how: Any) -> None:
    with session_of(KEYED) as session:
        request = requests.Request("POST", f"{till.url}/a", json={"a": 1}).prepare()
        session.send(request)
        later = how(request)
        copied = copy.copy(request.headers["Idempotency-Key"])
        assert copied is request.headers["Idempotency-Key"]
        later.hooks = {"response": []}
        session.send(later)
    assert len(till.book["keys"]) == 2


def test_headers_that_are_used_again_bring_no_key_along(till: Till) -> None:
    with session_of(KEYED) as session:
        first = session.post(f"{till.url}/a", json={"a": 1})
        session.post(f"{till.url}/b", json={"b": 2}, headers=first.request.headers)
        own = {"Idempotency-Key": "mine"}
        session.post(f"{till.url}/c", json={"c": 3}, headers=own)
    assert till.book["keys"][2] == "mine"
    assert len(till.book["keys"]) == 3


def test_a_key_holds_while_nobody_knows_also_when_the_write_was_forgotten(
    scripted: Scripted,
) -> None:
    with session_of() as session:
        request = requests.Request("POST", f"{scripted.url}/a", json={"a": 1}).prepare()
        with pytest.raises(UnknownOutcome):
            session.send(request)
        MEMORY.clear()
        with pytest.raises(UnknownOutcome):
            session.send(request.copy())
    keys = {each.headers["idempotency-key"] for each in scripted.seen}
    assert (len(scripted.seen), len(keys)) == (2, 1)


# ---------------------------------------------------------------------- answers


@pytest.mark.parametrize(
    "timeout", [urllib3.Timeout(total=5), urllib3.Timeout(connect=1, read=2), (1, 2), 2, None]
)
def test_a_timeout_of_any_kind_hides_no_answer(server: FaultServer, timeout: Any) -> None:
    with session_of() as session:
        assert session.put(f"{server.url}/503/a", timeout=timeout).status_code == 200
        answer = session.post(f"{server.url}/503/a", timeout=timeout)
        assert answer.status_code == 503
    assert server.count("/503/a", "PUT") == 2


def test_a_timeout_is_cut_to_what_is_left() -> None:
    assert cut_timeout(urllib3.Timeout(total=50), 3).total == 3
    assert cut_timeout(urllib3.Timeout(connect=1), 3).total == 3
    assert cut_timeout((1, 50), 3) == (1, 3)
    assert cut_timeout(None, 3) == (3, 3)


def test_the_read_timeout_that_counts() -> None:
    assert read_timeout(urllib3.Timeout(total=5)) == pytest.approx(5, abs=0.1)
    assert read_timeout(urllib3.Timeout(connect=1, read=2)) == 2
    assert read_timeout(urllib3.Timeout(connect=1)) is None
    assert read_timeout((1, None)) is None


def test_an_answer_that_is_only_announced_is_none(scripted: Scripted) -> None:
    def announce(connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "GET":
            return respond(connection, 200, {"fresh": True})
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        time.sleep(0.1)
        return respond(connection, 500, {})

    scripted.answer = announce
    with session_of() as session:
        answer = session.post(f"{scripted.url}/a")
        assert answer.status_code == 103
        assert facts_of(answer)["state"] == "unknown"
        assert session.get(f"{scripted.url}/b").json() == {"fresh": True}


REDIRECT = "HTTP/1.1 {status} X\r\nLocation: /there\r\nContent-Length: {length}\r\n{more}\r\nabc"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(("length", "more"), [(100, ""), (3, "Content-Encoding: gzip\r\n")])
def test_of_a_redirect_nobody_needs_the_body(
    scripted: Scripted, status: int, method: str, length: int, more: str
) -> None:
    def redirect(connection: socket.socket, seen: Seen) -> bool:
        if seen.path == "/there":
            return respond(connection, 200, {})
        connection.sendall(REDIRECT.format(status=status, length=length, more=more).encode())
        return length == 3

    scripted.answer = redirect
    with session_of() as session:
        assert session.request(method, f"{scripted.url}/a").status_code == 200
    assert len(scripted.seen) == 2


def drip(connection: socket.socket, seen: Seen) -> bool:
    connection.sendall(b"HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(200):
        connection.sendall(b"1\r\nx\r\n")
        time.sleep(0.02)
    return False


def test_a_body_that_drips_is_cut_at_the_deadline(scripted: Scripted) -> None:
    scripted.answer = drip
    begun = time.monotonic()
    with session_of(policy=Policy(backoff=(0.01,), jitter=0, deadline=0.3)) as session:
        with session.get(f"{scripted.url}/a", stream=True, timeout=1) as answer:
            assert answer.status_code == 503
            with pytest.raises(requests.exceptions.ReadTimeout):
                answer.content  # noqa: B018 # the property reads
    assert time.monotonic() - begun < 3


def test_a_resend_is_read_within_the_deadline(scripted: Scripted) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        if len(scripted.seen) == 1:
            return respond(connection, 503, {})
        return drip(connection, seen)

    scripted.answer = answer
    begun = time.monotonic()
    with session_of(policy=Policy(backoff=(0.01,), jitter=0, deadline=0.5)) as session:
        with pytest.raises(requests.exceptions.ReadTimeout):
            session.get(f"{scripted.url}/a", timeout=1)
    assert time.monotonic() - begun < 3


def test_a_failed_stream_is_kept_in_part(server: FaultServer) -> None:
    rule = Rule("POST /**", verify=lambda read, sent: Verdict.UNCLEAR)
    with session_of(rule) as session:
        with session.post(f"{server.url}/big503/a", stream=True) as answer:
            assert len(answer.raw.read(300_000)) == 256 * 1024
            with pytest.raises(requests.exceptions.ChunkedEncodingError):
                answer.raw.read(1)
            assert answer.raw.read(1) == b""


def test_a_raw_response_of_another_kind_is_kept_too() -> None:
    class Plain(HTTPAdapter):
        def send(self, request: Any, **kwargs: Any) -> requests.Response:
            response = requests.Response()
            response.status_code, response.raw = 503, io.BytesIO(b"busy")
            response.headers["Content-Length"] = "x"
            return response

    with requests.Session() as session:
        session.mount("http://", Plain())
        recover(session, policy=POLICY)
        with session.get("http://h.example/", stream=True) as answer:
            assert answer.raw.read() == b"busy"
        assert session.get("http://h.example/").content == b"busy"


def test_what_was_kept_whole_ends_as_a_body_ends() -> None:
    response = requests.Response()
    response.status_code = 200
    keep(response, b"abc")
    assert isinstance(response.raw, KeptRaw)
    assert response.raw.read() == b"abc"
    assert response.raw.read() == b""


# ---------------------------------------------------------------------- verifying reads


class Signing(AuthBase):
    """Signs each request anew, as OAuth 1 does."""

    def __init__(self, who: str) -> None:
        self.who = who

    def __call__(self, request: Any) -> Any:
        request.headers["Authorization"] = (
            f'OAuth oauth_token="{self.who}", oauth_nonce="{time.time()}"'
        )
        return request


class Private(Scripted):
    """Shows to each user what is theirs, and to others nothing."""

    def __post_init__(self) -> None:
        self.answer = self.keep
        super().__post_init__()

    def keep(self, connection: socket.socket, seen: Seen) -> bool:
        who = seen.headers.get("authorization", "").partition(",")[0]
        if seen.method == "POST":
            self.book[who].append("a")
            return False
        return respond(connection, 200, {"data": [{"ref": "a"} for _ in self.book[who]]})


@pytest.fixture
def private() -> Iterator[Private]:
    server = Private()
    yield server
    server.close()


def book_at(server: Private, session: requests.Session, **arguments: Any) -> Any:
    try:
        return session.post(f"{server.url}/a", json={"ref": "a"}, timeout=2, **arguments)
    except requests.RequestException as exc:
        return exc


def test_a_session_signs_the_read_of_its_own_call(private: Private) -> None:
    with session_of(Rule("POST /a", verify=FOUND)) as session:
        session.auth = Signing("me")
        end = book_at(private, session)
    assert facts_of(end)["state"] == "done"
    assert end.json() == {"data": [{"ref": "a"}]}


@pytest.mark.parametrize("auth", [Signing("you"), None])
def test_another_or_nobody_may_not_look_for_it(private: Private, auth: Any) -> None:
    with session_of(Rule("POST /a", verify=FOUND)) as session:
        session.auth = auth
        end = book_at(private, session, auth=Signing("me"))
    assert facts_of(end)["state"] == "unknown"
    assert "credentials are good for one request" in facts_of(end)["note"]
    assert len(private.book['OAuth oauth_token="me"']) == 1


def test_one_adapter_in_two_sessions(private: Private) -> None:
    shared = RecoverAdapter(policy=POLICY, rules=[Rule("POST /a", verify=FOUND)])
    with requests.Session() as first, requests.Session() as second:
        for each, who in ((first, "me"), (second, "you")):
            each.mount("http://", shared)
            each.mount("https://", shared)
            each.auth = Signing(who)
            recover(each, policy=POLICY, rules=shared.rules)
        assert facts_of(book_at(private, first))["state"] == "unknown"


def test_a_signed_read_is_not_redirected_to_another_origin(
    scripted: Scripted, server: FaultServer
) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        elsewhere = f"Location: http://localhost:{server.port}/a"
        return seen.method == "GET" and respond(connection, 302, {}, elsewhere)

    scripted.answer = answer
    with session_of(Rule("POST /a", verify=FOUND)) as session:
        session.auth = Signing("me")
        session.headers["X-Api-Key"] = "hidden"
        with pytest.raises(UnknownOutcome):
            session.post(f"{scripted.url}/a", json={"ref": "a"})
    assert server.seen == []


class WithSecret(HTTPAdapter):
    """Adds what is for one origin only."""

    def add_headers(self, request: Any, **kwargs: Any) -> None:
        request.headers["X-Token"] = "secret"


def elsewhere(url: str) -> Rule:
    def look(read: Any, sent: Any) -> Verdict:
        return Verdict.LANDED if read(url).ok else Verdict.ABSENT

    return Rule("POST /a", verify=look)


def test_a_read_of_another_origin_goes_through_the_adapter_of_that_origin(
    scripted: Scripted, server: FaultServer
) -> None:
    with requests.Session() as session:
        session.mount(scripted.url, WithSecret())
        recover(session, policy=POLICY, rules=[elsewhere(f"{server.url}/fine/a")])
        answer = session.post(f"{scripted.url}/a", json={})
    assert facts_of(answer)["state"] == "done"
    assert scripted.seen[0].headers["x-token"] == "secret"
    assert "x-token" not in server.seen[0].headers


class Mine(RecoverAdapter):
    """May do anything."""


def test_an_adapter_of_a_session_that_has_gone_reads_elsewhere_if_it_is_plain(
    scripted: Scripted, server: FaultServer
) -> None:
    with requests.Session() as owner, requests.Session() as session:
        recover(owner, policy=POLICY, rules=[elsewhere(f"{server.url}/fine/a")])
        adapter: Any = owner.get_adapter("http://")
        adapter.client_ref = lambda: None
        session.mount("http://", adapter)
        assert facts_of(session.post(f"{scripted.url}/a", json={}))["state"] == "done"


@pytest.mark.parametrize(("kind", "state"), [(RecoverAdapter, "done"), (Mine, "unknown")])
def test_without_its_session_an_adapter_reads_elsewhere_only_if_it_is_plain(
    scripted: Scripted, server: FaultServer, kind: Any, state: str
) -> None:
    with requests.Session() as session, task("t") as t:
        session.mount("http://", kind(policy=POLICY, rules=[elsewhere(f"{server.url}/fine/a")]))
        url = f"{scripted.url}/a"
        if state == "done":
            found = facts_of(session.post(url, json={}))
        else:
            with pytest.raises(UnknownOutcome) as raised:
                session.post(url, json={})
            found = facts_of(raised.value)
            assert "no adapter of ours is known" in found["note"]
    assert (found["state"], t.report().status) == (state, state)


def test_reads_are_joined_and_follow_within_the_origin(scripted: Scripted) -> None:
    seen_by_verifier: list[Any] = []

    def answer(connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "POST":
            return False
        if seen.path == "/old":
            return respond(connection, 302, {}, "Location: /new?a=1")
        if seen.path == "/away":
            return respond(connection, 302, {}, "Location: http://other.invalid/")
        return respond(connection, 200, {"target": seen.target, "auth": seen.headers.get("x-auth")})

    def look(read: Any, sent: Any) -> Verdict:
        seen_by_verifier.append(read("/old").json())
        seen_by_verifier.append(read("/list?a=1&b=2", params={"a": "3"}).json())
        seen_by_verifier.append(read("?c=1", params=[("d", "4")], headers={"X-Own": "1"}).json())
        seen_by_verifier.append(read("/away").status_code)
        seen_by_verifier.append((sent.json, sent.form, sent.method))
        return Verdict.UNCLEAR

    scripted.answer = answer
    with session_of(Rule("POST /a", verify=look)) as session, pytest.raises(UnknownOutcome):
        session.post(f"{scripted.url}/a?x=y", json={"k": 1}, headers={"X-Auth": b"bytes"})
    targets = [each["target"] for each in seen_by_verifier[:3]]
    assert targets == ["/new?a=1", "/list?b=2&a=3", "/a?c=1&d=4"]
    assert seen_by_verifier[0]["auth"] == "bytes"
    assert seen_by_verifier[3:] == [302, ({"k": 1}, None, "POST")]


@pytest.mark.parametrize("location", ["http://h.example:99999/", "http://[", None])
def test_a_location_that_cannot_be_read_leads_nowhere(location: str | None) -> None:
    request = requests.Request("GET", "http://h.example/").prepare()
    response = requests.Response()
    response.status_code = 302
    if location:
        response.headers["Location"] = location
    assert location_of(request, response) is None
    assert next_hop(request, response) is None


@pytest.mark.parametrize(("length", "state"), [(20, None), (300_000, "counted")])
def test_a_pool_of_one_connection_does_not_wait_for_the_answer_it_holds(
    scripted: Scripted, length: int, state: str | None
) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "GET":
            return respond(connection, 200, {"data": [{"ref": "a"}]})
        connection.sendall(f"HTTP/1.1 201 X\r\nContent-Length: {length}\r\n\r\n".encode())
        connection.sendall(b"x" * length)
        return True

    scripted.answer = answer
    rule = Rule("POST /a", confirm=True, verify=FOUND)
    found: list[bytes] = []

    def book() -> None:
        with requests.Session() as session:
            session.mount("http://", RecoverAdapter(1, 1, 0, True, policy=POLICY, rules=[rule]))
            with session.post(f"{scripted.url}/a", json={"ref": "a"}, stream=True) as response:
                found.append(response.content)

    thread = threading.Thread(target=book, daemon=True)
    thread.start()
    thread.join(10)
    assert found == [b"x" * length]
    assert [each.method for each in scripted.seen] == (["POST"] if state else ["POST", "GET"])


def test_a_large_streamed_answer_is_left_alone_where_connections_are_free(
    scripted: Scripted,
) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "GET":
            return respond(connection, 200, {"data": [{"ref": "a"}]})
        connection.sendall(b"HTTP/1.1 201 X\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
        return True

    scripted.answer = answer
    with session_of(Rule("POST /a", confirm=True, verify=FOUND)) as session:
        with session.post(f"{scripted.url}/a", json={"ref": "a"}, stream=True) as response:
            assert len(response.content) == 300_000
    assert [each.method for each in scripted.seen] == ["POST", "GET"]


def test_a_header_that_is_no_text_is_as_without_us(scripted: Scripted) -> None:
    def answer(connection: socket.socket, seen: Seen) -> bool:
        return respond(connection, 303 if seen.method == "POST" else 200, {}, "Location: /b")

    scripted.answer = answer
    with session_of() as session:
        request = requests.Request("POST", f"{scripted.url}/a", json={}).prepare()
        request.headers["X-N"] = 5  # type: ignore[assignment]
        assert session.send(request).status_code == 200
    assert "idempotency-key" not in scripted.seen[1].headers
