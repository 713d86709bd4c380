"""The reads of verifiers under requests: who signs them, where they go, and how long they take."""

from __future__ import annotations

import copy
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from requests.auth import AuthBase, HTTPDigestAuth

from httpx_recover import Policy, Rule, UnknownOutcome, verify
from httpx_recover.requests import RecoverAdapter, recover
from tests import breaking as b
from tests.faulty import respond
from tests.wire.stage import POLICY, Scene, Stage, one, told

ALWAYS = 30
FOUND = Rule("POST /orders", verify=verify.found("?ref={json.ref}"))
DIGEST = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"'
JSON: dict[str, Any] = {"json": {"ref": "a"}, "data": None}


class Book:
    """Takes each signed order and says nothing; shows everybody only the orders of his own."""

    def __init__(self, stage: Stage, *, digest: bool = False) -> None:
        self.orders: Counter[str] = Counter()
        self.digest = digest
        self.readers: list[str] = []
        self.scene = Scene(stage.server(None, answer=[self.answer] * ALWAYS))

    def answer(self, wire: b.Wire) -> bool:
        assert wire.seen is not None
        who = user(wire.seen.headers.get("authorization", ""))
        if wire.seen.method != "POST":
            self.readers.append(who)
            return respond(wire.socket, 200, {"data": [{"ref": "a"}] * self.orders[who]})
        if self.digest and not who:
            return respond(wire.socket, 401, {}, DIGEST)
        self.orders[who] += 1
        return False


def user(credentials: str) -> str:
    """Whose credentials they are; nobody's if there are none."""
    return next((name for name in ("me", "you") if f'"{name}"' in credentials), "")


class OAuth(AuthBase):
    """Credentials that are good for one request."""

    def __init__(self, who: str) -> None:
        self.who = who

    def __call__(self, r: requests.PreparedRequest) -> requests.PreparedRequest:
        nonce = time.monotonic_ns()
        r.headers["Authorization"] = f'OAuth oauth_token="{self.who}", oauth_nonce="{nonce}"'
        return r


@contextmanager
def signing(stage: Stage, auth: Any, adapter: Any = None) -> Iterator[requests.Session]:
    """A recovered session that signs."""
    with stage.session(adapter or HTTPAdapter()) as session:
        session.auth = auth
        yield recover(session, policy=POLICY, rules=[FOUND])


def assert_unknown(raised: Any, book: Book, who: str) -> None:
    """It landed once, and nobody could see that."""
    assert book.orders == {who: 1}
    assert isinstance(raised, UnknownOutcome)
    assert told(raised).facts["state"] == "unknown"


# ------------------------------------------------------------------ who signs


@pytest.mark.parametrize("kind", ["OAuth", "Digest"])
def test_a_call_that_was_signed_by_itself_is_not_looked_for_unsigned(
    kind: str, stage: Stage
) -> None:
    book = Book(stage, digest=kind == "Digest")
    auth = HTTPDigestAuth("me", "p") if kind == "Digest" else OAuth("me")
    with signing(stage, None) as session:
        raised = one(session, "POST", book.scene, auth=auth, **JSON)
    assert_unknown(raised, book, "me")
    assert "cannot sign a read" in told(raised).facts["note"]


@pytest.mark.parametrize("kind", ["OAuth", "Digest"])
def test_a_session_that_signs_signs_its_reads_too(kind: str, stage: Stage) -> None:
    book = Book(stage, digest=kind == "Digest")
    auth = HTTPDigestAuth("me", "p") if kind == "Digest" else OAuth("me")
    with signing(stage, auth) as session:
        answer = one(session, "POST", book.scene, **JSON)
    assert getattr(answer, "status_code", answer) == 200
    assert answer.json() == {"data": [{"ref": "a"}]}
    assert told(answer).facts["state"] == "done"
    assert (book.orders, set(book.readers)) == ({"me": 1}, {"me"})


def test_an_adapter_of_two_sessions_does_not_look_with_the_eyes_of_the_other(
    stage: Stage,
) -> None:
    book = Book(stage)
    adapter = RecoverAdapter(policy=POLICY, rules=[FOUND])
    with signing(stage, OAuth("me"), adapter) as session, signing(stage, OAuth("you"), adapter):
        raised = one(session, "POST", book.scene, **JSON)
    assert_unknown(raised, book, "me")


def test_a_copied_session_does_not_look_with_the_eyes_of_the_first(stage: Stage) -> None:
    book = Book(stage)
    with signing(stage, OAuth("me")) as session:
        copied = copy.copy(session)
        copied.auth = OAuth("you")
        raised = one(copied, "POST", book.scene, **JSON)
    assert_unknown(raised, book, "you")


# ------------------------------------------------------------------ where they go


def elsewhere(stage: Stage) -> Scene:
    """Another origin, where everything is to be found."""
    play = [lambda wire: respond(wire.socket, 200, {"data": [{"ref": "a"}]})] * ALWAYS
    return Scene(stage.server(None, answer=play))


def test_a_signed_read_is_not_led_to_another_origin(stage: Stage) -> None:
    other = elsewhere(stage)
    away = b.status(302, f"Location: {other.url}?ref=a")
    scene = Scene(stage.server(None, answer=[b.close] + [away] * ALWAYS))
    with signing(stage, OAuth("me")) as session:
        session.headers["X-Api-Key"] = "secret"
        raised = one(session, "POST", scene, **JSON)
    assert other.server.connections == 0
    assert isinstance(raised, UnknownOutcome)
    assert scene.delivered() == 1


class Secret(HTTPAdapter):
    """An adapter for one origin, which gives it what others must not see."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str | None] = []

    def add_headers(self, request: requests.PreparedRequest, **_: Any) -> None:
        self.sent.append(request.method)
        request.headers["X-Token"] = "secret"


def test_a_read_elsewhere_does_not_go_through_the_adapter_of_an_origin(stage: Stage) -> None:
    other, scene = elsewhere(stage), Scene(stage.server(None, answer=[b.close] * ALWAYS))
    rule = Rule("POST /orders", verify=verify.found(f"{other.url}?ref={{json.ref}}"))
    adapter = Secret()
    with stage.session(HTTPAdapter()) as session:
        session.mount(scene.server.url, adapter)
        recover(session, policy=POLICY, rules=[rule])
        one(session, "POST", scene, **JSON)
    assert adapter.sent == ["POST"]
    assert [each.headers.get("x-token") for each in scene.server.read] == ["secret"]
    assert all("x-token" not in each.headers for each in other.server.read)


# ------------------------------------------------------------------ how long they take


def made(wire: b.Wire) -> bool:
    """Take orders with a long answer, and show them."""
    assert wire.seen is not None
    if wire.seen.method == "POST":
        return respond(wire.socket, 201, "y" * 100_000)
    return respond(wire.socket, 200, {"data": [{"ref": "a"}]})


def test_a_confirming_read_does_not_wait_for_the_streamed_answer_it_confirms(
    stage: Stage,
) -> None:
    rule = Rule("POST /o", confirm=True, verify=verify.found("?ref={json.ref}"))
    server = stage.server(None, answer=[made] * ALWAYS)
    ends: list[Any] = []

    def call() -> None:
        ends.append(session.post(f"{server.url}/o", json={"ref": "a"}, stream=True, timeout=1))
        with ends[0]:
            ends.append(ends[0].json())

    with stage.session(RecoverAdapter(1, 1, 0, True, policy=POLICY, rules=[rule])) as session:
        thread = threading.Thread(target=call, daemon=True)
        thread.start()
        thread.join(3)
    assert not thread.is_alive()
    assert (ends[0].status_code, ends[1]) == (201, "y" * 100_000)
    assert server.count("GET") == 1


def drip(wire: b.Wire) -> bool:
    """An answer whose body comes slowly, and has no end that anybody would wait for."""
    wire.send(b"HTTP/1.1 200 X\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(80):
        wire.send(b"." * 10)
        if wire.server.over.wait(0.05):
            break
    return False


def test_a_dripping_read_ends_soon_after_the_deadline(stage: Stage) -> None:
    scene = Scene(stage.server(None, answer=[b.close] + [drip] * ALWAYS))
    hasty = Policy(backoff=(0.02,), jitter=0.0, deadline=1.0)
    with stage.session(policy=hasty, rules=[FOUND]) as session:
        begun = time.monotonic()
        raised = one(session, "POST", scene, **JSON)
    assert time.monotonic() - begun < 2.0
    assert isinstance(raised, UnknownOutcome)
    assert scene.delivered() == 1
