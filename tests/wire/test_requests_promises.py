"""Hard cases of requests: connections that nobody watches, retries, keys, bodies, redirects."""

from __future__ import annotations

import copy
import functools
import io
import logging
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3 import HTTPConnectionPool, PoolManager, Retry, Timeout
from urllib3.connection import HTTPConnection, _ResponseOptions

from httpx_recover import Applied, FailureClass, Policy, Rule, UnknownOutcome
from httpx_recover.requests import RecoverAdapter, recover
from tests import breaking as b
from tests.wire.stage import POLICY, TIMEOUT, Scene, Stage, one, told

ALWAYS = 9
LOST = {"closed": b.close, "silent": b.silent}
KEYED = Policy(backoff=(0.02,), jitter=0.0, settle=0.2)
ONCE = Policy(attempts=1, backoff=(0.02,), jitter=0.0, settle=0.2)
DEDUPES = Rule("POST /**", dedupes=True)


def lost(stage: Stage, play: b.Break = b.close) -> Scene:
    """Each request is read whole, and none is answered."""
    return Scene(stage.server(None, answer=[play] * ALWAYS))


def assert_unknown(raised: Any, scene: Scene) -> None:
    """It was delivered once, and nobody says what became of it."""
    assert scene.delivered() == 1
    assert isinstance(raised, UnknownOutcome)
    assert isinstance(raised, requests.exceptions.RequestException)
    found = told(raised)
    assert (found.failure, found.applied) == (FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN)


def test_a_tunnel_that_is_reset_after_delivery_leaves_it_unknown(stage: Stage) -> None:
    scene = Scene(stage.server(answer=[b.reset] * ALWAYS), stage.proxy())
    raised = stage.ours(scene)
    assert_unknown(raised, scene)
    assert isinstance(raised, requests.exceptions.ConnectionError)


# ------------------------------------------------------------------ silence is no proof


class OwnPools(PoolManager):
    """Makes its pools by itself, whatever its classes are."""

    def _new_pool(self, scheme: str, host: str, port: int, request_context: Any = None) -> Any:
        return HTTPConnectionPool(host, port)


def own_pools(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    recover(session, policy=POLICY)
    session.adapters["http://"].poolmanager = OwnPools()  # type: ignore[attr-defined] # it has one


def own_pools_below(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    below = session.get_adapter(url)
    recover(session, policy=POLICY)
    below.poolmanager = OwnPools()  # type: ignore[attr-defined] # it has one


def pool_of_an_instance(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    pool, adapter = urllib3.connection_from_url(url), session.get_adapter(url)
    patch.setattr(adapter, "get_connection_with_tls_context", lambda *args, **settings: pool)
    recover(session, policy=POLICY)


def pool_of_the_class(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    pool = urllib3.connection_from_url(url)
    patch.setattr(HTTPAdapter, "get_connection_with_tls_context", lambda *args, **settings: pool)
    recover(session, policy=POLICY)


def send_of_an_instance(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    adapter = session.get_adapter(url)
    patch.setattr(adapter, "send", in_a_bare_session)
    recover(session, policy=POLICY)


def send_in_a_thread(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    adapter = session.get_adapter(url)
    patch.setattr(adapter, "send", functools.partial(in_a_thread, adapter.send))
    recover(session, policy=POLICY)


def wrapped_send(session: requests.Session, url: str, patch: pytest.MonkeyPatch) -> None:
    @functools.wraps(SEND)
    def send(self: Any, *args: Any, **settings: Any) -> Any:
        return in_a_thread(SEND, self, *args, **settings)

    patch.setattr(HTTPAdapter, "send", send)
    recover(session, policy=POLICY)


SEND = HTTPAdapter.send


def in_a_thread(send: Any, *args: Any, **settings: Any) -> Any:
    """Send for real, where nobody looks."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(send, *args, **settings).result()


def in_a_bare_session(request: Any, **settings: Any) -> Any:
    """Send for real, over connections of another session."""
    with requests.Session() as session:
        session.trust_env = False
        return session.send(request.copy(), timeout=settings["timeout"])


DISGUISES = {
    "own pools": own_pools,
    "own pools below": own_pools_below,
    "pool of an instance": pool_of_an_instance,
    "pool of the class": pool_of_the_class,
    "send of an instance": send_of_an_instance,
    "send in a thread": send_in_a_thread,
    "wrapped send": wrapped_send,
}


@pytest.mark.parametrize("play", LOST)
@pytest.mark.parametrize("disguise", DISGUISES)
def test_what_nobody_watched_is_unknown_and_sent_once(
    disguise: str, play: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = lost(stage, LOST[play])
    with stage.session(HTTPAdapter()) as session:
        DISGUISES[disguise](session, scene.server.url, monkeypatch)
        assert_unknown(one(session, "POST", scene), scene)


def slow_to_clear(manager: Any) -> tuple[threading.Event, threading.Event]:
    """Have a manager wait in `clear`: the events say that it does, and that it may go on."""
    begun, go_on, clear = threading.Event(), threading.Event(), manager.clear

    def wait_and_clear() -> None:
        begun.set()
        go_on.wait(b.PATIENCE)
        clear()

    manager.clear = wait_and_clear
    return begun, go_on


def test_a_second_thread_does_not_use_the_pools_that_the_first_is_about_to_clear(
    stage: Stage,
) -> None:
    scene = Scene(stage.server(None, answer=[b.well, *[b.close] * ALWAYS]))
    well = Scene(stage.server(None))
    with stage.session(HTTPAdapter()) as session, ThreadPoolExecutor(2) as threads:
        assert one(session, "GET", scene).status_code == 200  # over a pool that nobody watches
        begun, go_on = slow_to_clear(session.get_adapter(scene.url).poolmanager)  # type: ignore[attr-defined] # it has one
        recover(session, policy=POLICY)
        first = threads.submit(one, session, "GET", well)
        assert begun.wait(b.PATIENCE)
        second = threads.submit(one, session, "POST", scene)
        time.sleep(0.2)
        go_on.set()
        assert first.result().status_code == 200
        assert_unknown(second.result(), scene)


class Raw(HTTPConnection):
    """Writes a request to its socket by itself."""

    def request(self, method: str, url: str, body: Any = None, *_: Any, **settings: Any) -> None:
        self._response_options = _ResponseOptions(
            method, url, settings["preload_content"], settings["decode_content"], True
        )
        self._method, self._HTTPConnection__state = method, "Request-sent"
        self.connect()
        head = f"{method} {url} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
        self.sock.sendall(head.encode() + body)


def test_a_connection_that_writes_by_itself_leaves_it_unknown(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HTTPConnectionPool, "ConnectionCls", Raw)
    assert stage.bare(Scene(stage.server(None))).status_code == 201
    assert stage.ours(Scene(stage.server(None))).status_code == 201
    scene = lost(stage)
    assert_unknown(stage.ours(scene), scene)


def test_a_factory_of_connections_works_as_without_us(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    factory = functools.partial(HTTPConnection, blocksize=1 << 16)
    monkeypatch.setattr(HTTPConnectionPool, "ConnectionCls", staticmethod(factory))
    for made in (stage.bare, stage.ours):
        assert made(Scene(stage.server(None))).status_code == 201
    scene = lost(stage)
    assert_unknown(stage.ours(scene), scene)


class Choosy(HTTPConnectionPool):
    """A pool that chooses its connections when it is made."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.ConnectionCls = HTTPConnection


class WithChoosyPools(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **settings: Any) -> None:
        super().init_poolmanager(*args, **settings)
        self.poolmanager.pool_classes_by_scheme = {"http": Choosy}


def test_a_pool_that_chooses_its_connections_works_as_without_us(stage: Stage) -> None:
    well, scene = Scene(stage.server(None)), lost(stage)
    with stage.session(WithChoosyPools()) as session:
        assert one(session, "POST", well).status_code == 201
        recover(session, policy=POLICY)
        assert one(session, "POST", well).status_code == 201
        assert_unknown(one(session, "POST", scene), scene)


# ------------------------------------------------------------------ urllib3's own retries


def read_retries() -> Retry:
    return Retry(total=None, read=3, allowed_methods=None)


def status_retries() -> Retry:
    return Retry(total=None, status=3, status_forcelist=[503], allowed_methods=None)


def changed_in_place(adapter: Any) -> None:
    retries = adapter.max_retries
    retries.total, retries.read, retries.status = None, 2, 2
    retries.status_forcelist, retries.allowed_methods = {503}, None


RETRIES: dict[str, Callable[[], Retry]] = {"read": read_retries, "status": status_retries}


def retrying(how: str, make: Callable[[], Retry], session: requests.Session) -> None:
    """Put an adapter of ours under the session that is told to retry, in one of many ways."""
    if how == "below":
        session.mount("http://", HTTPAdapter(max_retries=make()))
        recover(session, policy=POLICY)
        return
    given = make() if how == "given" else 0
    session.mount("http://", RecoverAdapter(max_retries=given, policy=POLICY))
    adapter: Any = session.get_adapter("http://")
    if how == "set later":
        adapter.max_retries = make()
    elif how == "in place":
        changed_in_place(adapter)


@pytest.mark.parametrize("how", ["below", "given", "set later", "in place"])
@pytest.mark.parametrize("name", RETRIES)
def test_retries_without_a_total_send_no_write_again(name: str, how: str, stage: Stage) -> None:
    cut, busy = lost(stage), Scene(stage.server(None, answer=[b.status(503)] * ALWAYS))
    with stage.session() as session:
        retrying(how, RETRIES[name], session)
        assert_unknown(one(session, "POST", cut), cut)
        answer = one(session, "POST", busy)
    assert (answer.status_code, busy.delivered()) == (503, 1)


def test_retries_of_a_recovered_adapter_that_are_changed_in_place_send_no_write_again(
    stage: Stage,
) -> None:
    cut, busy = lost(stage), Scene(stage.server(None, answer=[b.status(503)] * ALWAYS))
    with stage.session(HTTPAdapter()) as session:
        recover(session, policy=POLICY)
        changed_in_place(session.adapters["http://"])
        assert_unknown(one(session, "POST", cut), cut)
        assert one(session, "POST", busy).status_code == 503
    assert busy.delivered() == 1


@pytest.mark.parametrize("retries", [Retry(False), Retry(0), 0, False], ids=repr)
def test_retries_that_never_retry_are_not_worth_a_word(
    retries: Any, stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(stage.server(None))
    with caplog.at_level(logging.DEBUG, "httpx_recover"):
        with stage.session(HTTPAdapter(max_retries=retries)) as session:
            assert one(recover(session, policy=POLICY), "POST", scene).status_code == 201
        with stage.session(RecoverAdapter(max_retries=retries)) as session:
            assert one(session, "POST", scene).status_code == 201
            session.get_adapter(scene.url).max_retries = retries  # type: ignore[attr-defined] # it has them
            assert one(session, "GET", scene).status_code == 200
    assert caplog.messages == []


def test_what_is_done_to_a_recovered_adapter_reaches_the_one_below(stage: Stage) -> None:
    scene = Scene(stage.server(None), proxy := stage.proxy())
    below = HTTPAdapter()
    with stage.session(below) as session:
        adapter: Any = recover(session, policy=POLICY).get_adapter(scene.url)
        before = below.poolmanager
        adapter.init_poolmanager(3, 3, block=True)
        adapter.proxy_headers = lambda url: {"X-Polite": "yes"}
        assert one(session, "POST", scene).status_code == 201
    assert below.poolmanager is not before
    assert proxy.seen[0].headers["x-polite"] == "yes"


# ------------------------------------------------------------------ keys


def keys(scene: Scene) -> list[str]:
    """The keys that came in, in order."""
    return [each.headers["idempotency-key"] for each in scene.server.read]


def prepared(session: requests.Session, scene: Scene) -> requests.PreparedRequest:
    return session.prepare_request(requests.Request("POST", scene.url, json={"a": 1}))


Sends = Callable[[requests.Session, requests.PreparedRequest], None]


def and_then_its_copies(session: requests.Session, request: requests.PreparedRequest) -> None:
    session.send(request)
    for _ in "ab":
        session.send(request.copy())


def before_and_after_its_copy(session: requests.Session, request: requests.PreparedRequest) -> None:
    session.send(request)
    copied = request.copy()
    session.send(copied)
    session.send(request)


def as_a_deep_copy(session: requests.Session, request: requests.PreparedRequest) -> None:
    session.send(request)
    session.send(copy.deepcopy(request))
    session.send(request)


def with_other_hooks(session: requests.Session, request: requests.PreparedRequest) -> None:
    session.send(request)
    for _ in "ab":
        request.hooks = {"response": []}
        session.send(request)


def by_its_headers(session: requests.Session, request: requests.PreparedRequest) -> None:
    answer = session.send(request)
    for number in range(2):
        answer = session.post(request.url, json={"b": number}, headers=answer.request.headers)


def unchanged(session: requests.Session, request: requests.PreparedRequest) -> None:
    for _ in "abc":
        session.send(request)


AGAIN: dict[str, Sends] = {
    "the same": unchanged,
    "its copies": and_then_its_copies,
    "before and after its copy": before_and_after_its_copy,
    "a deep copy": as_a_deep_copy,
    "other hooks": with_other_hooks,
    "its headers": by_its_headers,
}


@pytest.mark.parametrize("name", AGAIN)
def test_what_is_sent_again_after_it_was_done_has_a_key_of_its_own(name: str, stage: Stage) -> None:
    scene = Scene(stage.server(None))
    with stage.session(policy=KEYED, rules=[DEDUPES]) as session:
        AGAIN[name](session, prepared(session, scene))
    assert (scene.delivered(), len(set(keys(scene)))) == (3, 3)


@pytest.mark.parametrize("sent", [True, False])
def test_copies_in_threads_have_keys_of_their_own(sent: bool, stage: Stage) -> None:
    scene = Scene(stage.server(None))
    with stage.session(policy=KEYED, rules=[DEDUPES]) as session, ThreadPoolExecutor(6) as pool:
        request = prepared(session, scene)
        if sent:
            session.send(request)
        list(pool.map(session.send, [request.copy() for _ in range(6)]))
    assert len(set(keys(scene))) == scene.delivered() == 6 + sent


def test_a_copy_of_what_is_unknown_keeps_its_key(stage: Stage) -> None:
    scene = Scene(stage.server(None, answer=[b.close]))
    with stage.session(policy=ONCE, rules=[DEDUPES]) as session:
        request = prepared(session, scene)
        with pytest.raises(UnknownOutcome):
            session.send(request, timeout=TIMEOUT)
        assert session.send(request.copy(), timeout=TIMEOUT).status_code == 201
    assert (scene.delivered(), len(set(keys(scene)))) == (2, 1)


def test_a_key_of_the_callers_own_is_always_kept(stage: Stage) -> None:
    scene = Scene(stage.server(None))
    with stage.session(policy=KEYED, rules=[DEDUPES]) as session:
        request = prepared(session, scene)
        request.headers["Idempotency-Key"] = "mine"
        for each in (request, request.copy(), request, copy.deepcopy(request)):
            session.send(each)
        session.post(scene.url, json={"b": 1}, headers=request.headers)
    assert keys(scene) == ["mine"] * 5


def test_a_pickled_request_holds_its_key_as_text(stage: Stage) -> None:
    scene = Scene(stage.server(None))
    with stage.session(policy=KEYED, rules=[DEDUPES]) as session:
        request = prepared(session, scene)
        session.send(request)
        again = pickle.loads(pickle.dumps(request))
    assert type(again.headers["Idempotency-Key"]) is str
    assert [again.headers["Idempotency-Key"]] == keys(scene)


# ------------------------------------------------------------------ bodies


class Remote(io.RawIOBase):
    """A file whose bytes come from elsewhere, which fails once when half of it was read."""

    def __init__(self, error: Exception) -> None:
        self.errors = [error]
        self.place = 0

    def __len__(self) -> int:
        return 200_000

    def tell(self) -> int:
        return self.place

    def seek(self, place: int, whence: int = 0) -> int:
        self.place = place + {0: 0, 1: self.place, 2: len(self)}[whence]
        return self.place

    def read(self, size: int = -1) -> bytes:
        if self.place > 100_000 and self.errors:
            raise self.errors.pop()
        left = len(self) - self.place
        size = left if size < 0 else min(size, left)
        self.place += size
        return b"x" * size


def generated(error: Exception) -> Iterator[bytes]:
    yield b"first"
    raise error


SOURCES: dict[str, Callable[[Stage], Scene]] = {
    "refused": lambda stage: Scene(stage.server(state="down")),
    "connect timeout": lambda stage: Scene(stage.server(state="full")),
    "certificate": lambda stage: Scene(stage.server(stage.authority.untrusted)),
    "proxy": lambda stage: Scene(stage.server(None), stage.proxy(state="down")),
}


@pytest.mark.parametrize("body", [Remote, generated])
@pytest.mark.parametrize("name", SOURCES)
def test_a_body_whose_own_source_fails_does_not_count_as_unsent(
    name: str, body: Any, stage: Stage
) -> None:
    scene, source = Scene(stage.server(None)), stage.bare(SOURCES[name](stage), "GET")
    raised = stage.ours(scene, data=body(source))
    assert isinstance(raised, Exception)
    found = told(raised)
    assert (found.facts["state"], found.applied) == ("unknown", Applied.UNKNOWN)
    assert (len(found.attempts), scene.delivered()) == (1, 0)


def in_files(folder: Path) -> list[Any]:
    for name in ("AAAA", "BBBB"):
        (folder / name).write_text(name)
    return [(folder / name).open("rb") for name in ("AAAA", "BBBB")]


PAIRS: dict[str, Callable[[Path], list[Any]]] = {
    "BytesIO": lambda folder: [io.BytesIO(b"AAAA"), io.BytesIO(b"BBBB")],
    "memoryview": lambda folder: [memoryview(b"AAAA"), memoryview(b"BBBB")],
    "file": in_files,
}


def two_actions(stage: Stage, scene: Scene, bodies: list[Any]) -> list[Any]:
    with stage.session(policy=ONCE, rules=[DEDUPES]) as session:
        ends = [one(session, "POST", scene, data=body) for body in bodies]
    for body in bodies:
        if hasattr(body, "close"):
            body.close()
    return ends


@pytest.mark.parametrize("name", PAIRS)
def test_another_body_of_the_same_length_is_another_action(
    name: str, stage: Stage, tmp_path: Path
) -> None:
    scene = Scene(stage.server(None, answer=[b.close]))
    first, second = two_actions(stage, scene, PAIRS[name](tmp_path))
    assert isinstance(first, UnknownOutcome)
    assert second.status_code == 201
    assert [each.body for each in scene.server.read] == [b"AAAA", b"BBBB"]
    assert len(set(keys(scene))) == 2


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_body_again_is_the_same_action(name: str, stage: Stage, tmp_path: Path) -> None:
    scene = Scene(stage.server(None, answer=[b.close]))
    body, other = PAIRS[name](tmp_path)
    if hasattr(other, "close"):
        other.close()
    with stage.session(policy=ONCE, rules=[DEDUPES]) as session:
        assert isinstance(one(session, "POST", scene, data=body), UnknownOutcome)
        if hasattr(body, "seek"):
            body.seek(0)
        assert one(session, "POST", scene, data=body).status_code == 201
    if hasattr(body, "close"):
        body.close()
    assert [each.body for each in scene.server.read] == [b"AAAA"] * 2
    assert len(set(keys(scene))) == 1


def test_a_second_generator_is_never_sent_under_the_key_of_the_first(stage: Stage) -> None:
    scene = Scene(stage.server(None, answer=[b.close]))
    first, _ = two_actions(stage, scene, [iter([b"AAAA"]), iter([b"BBBB"])])
    assert isinstance(first, UnknownOutcome)
    assert len(set(keys(scene))) == scene.delivered()


# ------------------------------------------------------------------ timeouts


LONG = {"total": Timeout(total=5), "parts": Timeout(connect=1, read=1), "first": Timeout(1)}
SHORT = {"total": Timeout(total=0.2), "parts": Timeout(connect=1, read=0.2)}
ANSWERS = {"DELETE": 404, "POST": 422, "PUT": 503}


def end_of(stage: Stage, method: str, scene: Scene, timeout: Any) -> tuple[Any, ...]:
    """What one call comes to."""
    result = stage.ours(scene, method, timeout=timeout)
    found = told(result)
    said = (getattr(result, "status_code", type(result).__name__), found.failure, found.applied)
    return *said, found.facts["stop"], len(found.attempts), scene.delivered(method)


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("method", ANSWERS)
def test_a_timeout_of_urllib3_is_like_a_number(method: str, name: str, stage: Stage) -> None:
    play = [b.status(ANSWERS[method])] * ALWAYS
    scenes = [Scene(stage.server(None, answer=play)) for _ in range(2)]
    ends = [end_of(stage, method, *each) for each in zip(scenes, (1, LONG[name]), strict=True)]
    assert ends[0] == ends[1]
    assert ends[0][0] == ANSWERS[method]


@pytest.mark.parametrize("name", SHORT)
def test_a_read_timeout_of_urllib3_leaves_a_write_unknown(name: str, stage: Stage) -> None:
    scene = lost(stage, b.silent)
    raised = stage.ours(scene, timeout=SHORT[name])
    assert_unknown(raised, scene)
    assert isinstance(raised, requests.exceptions.ReadTimeout)


def drip(code: int) -> b.Break:
    """An answer whose body comes slowly, and has no end that anybody would wait for."""

    def play(wire: b.Wire) -> bool:
        wire.send(f"HTTP/1.1 {code} X\r\nContent-Length: 1000000\r\n\r\n".encode())
        for _ in range(80):
            wire.send(b"." * 10)
            if wire.server.over.wait(0.05):
                break
        return False

    return play


HASTY = Policy(backoff=(0.02,), jitter=0.0, deadline=1.0)


@pytest.mark.parametrize(
    ("script", "stream"),
    [([b.status(503), drip(200)], False), ([drip(503), b.well], True)],
    ids=["resend", "streamed 503"],
)
def test_a_dripping_answer_ends_soon_after_the_deadline(
    script: list[b.Break], stream: bool, stage: Stage
) -> None:
    scene = Scene(stage.server(None, answer=script))
    with stage.session(policy=HASTY) as session:
        begun = time.monotonic()
        result = one(session, "GET", scene, stream=stream)
        assert time.monotonic() - begun < 2.0
        if isinstance(result, requests.Response):
            result.close()


# ------------------------------------------------------------------ answers


class Files(BaseAdapter):
    """Answers from files, not over connections; it is busy at first."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = [503]

    def send(self, request: Any, *args: Any, **settings: Any) -> requests.Response:
        answer = requests.Response()
        answer.status_code = self.codes.pop() if self.codes else 200
        answer.raw, answer.request, answer.url = io.BytesIO(b"file"), request, request.url
        return answer

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("stream", [True, False])
def test_a_body_that_is_a_plain_file_is_read_after_a_resend(stream: bool) -> None:
    with requests.Session() as session:
        session.mount("file://", Files())
        recover(session, policy=POLICY)
        assert session.get("file:///x", stream=stream).text == "file"


def early_hints_and_500(wire: b.Wire) -> bool:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    return wire.send(early + b"HTTP/1.1 500 X\r\nContent-Length: 2\r\n\r\nno")


def test_early_hints_do_not_mean_done_and_what_follows_is_nobody_elses_answer(
    stage: Stage,
) -> None:
    scene = Scene(stage.server(None, answer=[early_hints_and_500]))
    with stage.session() as session:
        end = one(session, "POST", scene)
        assert told(end).facts["state"] == "unknown"
        assert told(end).applied == Applied.UNKNOWN
        after = one(session, "GET", scene)
    assert (after.status_code, after.json()) == (200, {"got": len(scene.body)})
    assert scene.delivered() == 1


TORN: dict[str, Callable[..., b.Break]] = {
    "cut": lambda code, *headers: b.cut(code, "Content-Length: 9", *headers, body=b"cut"),
    "bad gzip": lambda code, *headers: b.cut(
        code, "Content-Encoding: gzip", "Content-Length: 9", *headers, body=b"not gzip!", then=b.on
    ),
}


def followed(end: Any, scene: Scene) -> tuple[Any, ...]:
    return getattr(end, "status_code", end), [
        (each.method, each.path) for each in scene.server.read
    ]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("name", TORN)
def test_a_redirect_with_a_broken_body_is_followed_as_without_us(
    name: str, code: int, method: str, stage: Stage
) -> None:
    script = [TORN[name](code, "Location: /new")]
    scenes = [Scene(stage.server(None, answer=script)) for _ in range(2)]
    bare = followed(stage.bare(scenes[0], method), scenes[0])
    ours = followed(stage.ours(scenes[1], method), scenes[1])
    assert ours == bare
    assert [path for _, path in ours[1]] == ["/orders", "/new"]


def test_a_header_that_is_a_number_follows_a_redirect_as_without_us(stage: Stage) -> None:
    scene = Scene(stage.server(None, answer=[b.status(303, "Location: /new")]))
    with stage.session() as session:
        request = prepared(session, scene)
        request.headers["X-N"] = 5  # type: ignore[assignment] # it is sent as text
        assert session.send(request, timeout=TIMEOUT).status_code == 200
    assert [each.headers["x-n"] for each in scene.server.read] == ["5", "5"]


def test_an_address_that_names_an_alert_is_no_alert(stage: Stage) -> None:
    server = stage.server(answer=[b.garbage] * ALWAYS)
    scene = Scene(server, url=f"{server.url}/certificates/UNKNOWN_CA/report?why=BAD_CERTIFICATE")
    raised = stage.ours(scene)
    assert isinstance(raised, requests.exceptions.SSLError)
    assert_unknown(raised, scene)
