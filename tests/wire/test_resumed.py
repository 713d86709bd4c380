"""A download that is cut goes on where it was cut, and two versions are never mixed."""

from __future__ import annotations

import asyncio
import gzip
import random
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import httpx
import pytest
import requests
import trio

from httpx_recover import FailureClass, Policy, Rule, outcome, task
from httpx_recover.requests import RecoverAdapter, recover
from tests.drivers import DRIVERS, LIBRARIES, Session
from tests.faulty import FaultServer, Seen

RESUMING = Policy(backoff=(0.01,), jitter=0, resume_reads=True)
WHOLE = random.Random(7).randbytes(800_000)
Change = Callable[["Store"], None]


@dataclass
class Store:
    """A server of one document, which cuts it off so many bytes into each answer."""

    server: FaultServer
    content: bytes = WHOLE
    tag: str | None = '"v1"'
    cuts: list[int] = field(default_factory=list)
    chunked: bool = False
    coding: str = ""
    ranges: bool = True
    on_range: Change = lambda store: None
    part: dict[str, str] = field(default_factory=dict)  # headers of a part that are not as usual

    def __post_init__(self) -> None:
        self.server._answer = self.answer  # type: ignore[method-assign]
        self.url = f"{self.server.url}/doc"

    @property
    def asked(self) -> list[str | None]:
        """The Range of each request."""
        return [each.headers.get("range") for each in self.server.seen]

    def answer(self, connection: socket.socket, seen: Seen) -> bool:
        start = 0
        wanted = re.fullmatch(r"bytes=(\d+)-", seen.headers.get("range", ""))
        if wanted is not None:
            assert seen.headers["if-range"] == '"v1"'
            self.on_range(self)
            if self.ranges and seen.headers["if-range"] == self.tag:
                start = int(wanted[1])
        self.send(connection, start, part=start > 0)
        return False

    def send(self, connection: socket.socket, start: int, *, part: bool) -> None:
        body = self.content[start:]
        headers = {} if self.tag is None else {"ETag": self.tag}
        headers |= {"Content-Encoding": self.coding} if self.coding else {}
        if part:
            last, length = len(self.content) - 1, len(self.content)
            headers |= {"Content-Range": f"bytes {start}-{last}/{length}"} | self.part
        if self.chunked:
            headers["Transfer-Encoding"] = "chunked"
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        else:
            headers["Content-Length"] = str(len(body))
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        sent = body[: self.cuts.pop(0)] if self.cuts else body
        connection.sendall(f"HTTP/1.1 {206 if part else 200} X\r\n{head}\r\n".encode() + sent)


@pytest.fixture
def store(server: FaultServer) -> Store:
    return Store(server)


def download(driver: str, url: str, policy: Policy = RESUMING, **rule: Any) -> Any:
    """The whole of a streamed download, as the client gives it, or what it raises."""
    name, _, colour = driver.partition(" ")
    rules = [Rule("GET /**", **rule)] if rule else []
    if name == "requests":
        return on_requests(url, RecoverAdapter(policy=policy, rules=rules))
    library, mounts = LIBRARIES[name]
    settings: dict[str, Any] = {"timeout": 2, "trust_env": False}
    if colour == "sync":
        mount = mounts.RecoverTransport(policy=policy, rules=rules)
        with library.Client(transport=mount, **settings) as client:
            try:
                with client.stream("GET", url) as response:
                    body = b"".join(response.iter_bytes())
                return body, outcome(response)
            except library.HTTPError as exc:
                return exc

    async def main() -> Any:
        mount = mounts.AsyncRecoverTransport(policy=policy, rules=rules)
        async with library.AsyncClient(transport=mount, **settings) as client:
            try:
                async with client.stream("GET", url) as response:
                    body = b"".join([chunk async for chunk in response.aiter_bytes()])
                return body, outcome(response)
            except library.HTTPError as exc:
                return exc

    return trio.run(main) if colour == "trio" else asyncio.run(main())


def on_requests(url: str, adapter: Any) -> Any:
    with Session(2) as session:
        session.mount("http://", adapter)
        with session.get(url, stream=True) as response:
            try:
                body = b"".join(response.iter_content(50_000))
            except OSError as exc:
                return exc
            return body, outcome(response)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("coding", ["", "gzip"])
def test_a_cut_download_goes_on_where_it_was_cut(store: Store, driver: str, coding: str) -> None:
    store.coding = coding
    store.content = gzip.compress(WHOLE) if coding else WHOLE
    store.cuts = [200_000, 300_001]
    with task("t") as t:
        body, told = download(driver, store.url)
    assert body == WHOLE
    starts = [int((each or "bytes=0-")[6:-1]) for each in store.asked]
    assert starts[0] == 0 < starts[1] <= 200_000 < starts[2] <= 500_001
    assert told.attempts[-1]["evidence"] == "the rest of it"
    assert told.verified_by == "answer 206"
    report = t.report()
    assert report.status == "done"
    assert f"{report}".splitlines()[1].endswith("/doc #1 verified by answer 206 after 3 sends")


@pytest.mark.parametrize("driver", DRIVERS[:-1])
def test_also_without_a_length(store: Store, driver: str) -> None:
    store.chunked, store.cuts = True, [300_000]
    body, told = download(driver, store.url)
    assert body == WHOLE
    assert len(told.attempts) == 2


def changed(store: Store) -> None:
    store.content, store.tag = WHOLE[::-1], '"v2"'


def gone(store: Store) -> None:
    store.ranges = False


NOT_THE_REST: dict[str, Change] = {
    "it has changed": changed,
    "no ranges": gone,
    "another tag": lambda store: store.part.update({"ETag": '"v2"'}),
    "another part": lambda store: store.part.update({"Content-Range": "bytes 1-799999/800000"}),
    "no part": lambda store: store.part.update({"Content-Range": ""}),
    "another length": lambda store: store.part.update({"Content-Range": "bytes 9-799999/900000"}),
    "another coding": lambda store: setattr(store, "coding", "gzip"),
}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("why", NOT_THE_REST)
def test_what_is_not_clearly_the_rest_of_it_is_not_mixed_in(
    store: Store, driver: str, why: str
) -> None:
    store.cuts, store.on_range = [300_000], NOT_THE_REST[why]
    with task("t") as t:
        raised = download(driver, store.url)
    assert isinstance(raised, Exception)
    assert len(store.asked) == 2
    assert "is not the rest of it" in " ".join(told_of(raised))
    told = outcome(raised)
    assert told is not None
    assert told.failure == FailureClass.TRANSIENT
    assert t.report().status == "failed"


def told_of(exc: BaseException | None) -> Iterator[str]:
    """The notes of an error and of those that it was made from."""
    while exc is not None:
        yield from getattr(exc, "__notes__", ())
        held = [exc.__cause__, *exc.args]
        exc = next((each for each in held if isinstance(each, Exception)), None)


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_limits_of_recovery_hold(store: Store, driver: str) -> None:
    store.cuts = [10_000] * 9
    raised = download(driver, store.url)
    assert isinstance(raised, Exception)
    assert len(store.asked) == RESUMING.attempts
    told = outcome(raised)
    assert told is not None
    assert told.stopped_by == "attempts"
    assert download(driver, store.url, attempts=9)[0] == WHOLE


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_rest_that_cannot_be_fetched_leaves_the_first_error(store: Store, driver: str) -> None:
    def fail(store: Store) -> None:
        raise OSError("and no answer")

    store.cuts, store.on_range = [10_000], fail
    raised = download(driver, store.url)
    assert "the download could not go on: " in " ".join(told_of(raised))
    assert "of a download" not in str(raised)
    assert len(store.asked) == RESUMING.attempts


def without(store: Store) -> Policy:
    return replace(RESUMING, resume_reads=False)


def weak(store: Store) -> Policy:
    store.tag = 'W/"v1"'
    return RESUMING


def untagged(store: Store) -> Policy:
    store.tag = None
    return RESUMING


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("why", [without, weak, untagged])
def test_nothing_is_asked_for_that_may_not_be(
    store: Store, driver: str, why: Callable[[Store], Policy]
) -> None:
    store.cuts = [300_000]
    with task("t") as t:
        raised = download(driver, store.url, why(store))
    assert isinstance(raised, Exception)
    assert store.asked == [None]
    assert f"{t.report()}".splitlines()[2].endswith(
        "/doc #1 transient 200 after 1 send stopped by final"
    )


def test_a_get_with_a_body_is_not_resumed(store: Store) -> None:
    store.cuts = [300_000, 300_000]
    with client_of(RESUMING) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.request("GET", store.url, content=b"a")
    with Session(2) as session:
        session.mount("http://", RecoverAdapter(policy=RESUMING))
        response = session.request("GET", store.url, data=b"a", stream=True)
        with pytest.raises(requests.RequestException):
            _ = response.content
    assert store.asked == [None, None]


@contextmanager
def client_of(policy: Policy, **settings: Any) -> Iterator[httpx.Client]:
    mount = LIBRARIES["httpx"][1].RecoverTransport(policy=policy, **settings)
    with httpx.Client(transport=mount, timeout=2, trust_env=False) as client:
        yield client


def test_a_plain_get_of_something_large_goes_on_too(store: Store) -> None:
    """httpx reads it at once, and says nothing of that to its transport."""
    store.cuts = [300_000]
    with client_of(RESUMING) as client:
        assert client.get(store.url).content == WHOLE


def test_parts_that_do_not_make_up_the_whole_are_told_of(store: Store) -> None:
    """The length of the rest is its server's word: here it sends less than it has said."""

    def short(store: Store) -> None:
        store.chunked = True
        store.part["Content-Range"] = f"bytes {start()}-{len(WHOLE) - 1}/{len(WHOLE)}"
        store.content = store.content[:-1]

    def start() -> int:
        return int((store.asked[-1] or "")[6:-1])

    for driver in ("httpx sync", "requests sync"):
        store.cuts, store.on_range = [300_000], short
        with task("t") as t:
            raised = download(driver, store.url)
        assert "799999 bytes came of a download that has 800000" in str(raised)
        assert t.report().status == "failed"
        store.chunked, store.content = False, WHOLE


def test_raw_reads_of_requests_go_on(store: Store) -> None:
    store.cuts = [300_000]
    with Session(2) as session:
        session.mount("http://", RecoverAdapter(policy=RESUMING))
        response = session.get(store.url, stream=True)
        assert response.raw.read() == WHOLE
        assert response.raw.closed
        again = session.get(store.url, stream=True)
        assert again.raw.read(10) == WHOLE[:10]
        again.close()
        assert again.raw.closed


def test_a_callers_stop_while_reading_is_recorded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: Any, **kwargs: Any) -> bytes:
        raise KeyboardInterrupt

    with task("t") as t, Session(2) as session:
        session.mount("http://", RecoverAdapter(policy=RESUMING))
        with session.get(store.url, stream=True) as response:
            monkeypatch.setattr(response.raw._fp.raw, "read", stop)
            with pytest.raises(KeyboardInterrupt):
                response.raw.read(10)
    assert t.report().failed[0].endswith(" transient 200 after 1 send stopped by cancelled")


def test_a_callers_stop_while_waiting_for_the_rest_is_recorded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("httpx_recover._drive.clock.sleep", stop)
    store.cuts = [300_000, 300_000]
    with task("t") as t:
        with client_of(RESUMING) as client, pytest.raises(KeyboardInterrupt):
            client.get(store.url)
        with Session(2) as session, pytest.raises(KeyboardInterrupt):
            session.mount("http://", RecoverAdapter(policy=RESUMING))
            session.get(store.url, stream=True).raw.read()
    assert [each.split(" after ")[1] for each in t.report().failed] == [
        "1 send stopped by cancelled"
    ] * 2


@pytest.mark.parametrize("amount", [1000, None])
def test_a_raw_response_that_goes_on_gives_what_has_come(store: Store, amount: int | None) -> None:
    store.cuts = [200_000]
    with Session(2) as session:
        session.mount("http://", RecoverAdapter(policy=RESUMING))
        with session.get(store.url, stream=True) as response:
            assert response.raw.geturl() == "/doc"
            assert b"".join(iter(lambda: response.raw.read1(amount), b"")) == WHOLE
    assert len(store.asked) == 2


class Files(requests.adapters.BaseAdapter):
    """Its raw responses are plain files."""

    def send(self, request: Any, *args: Any, **kwargs: Any) -> requests.Response:
        response = requests.Response()
        response.status_code, response.raw, response.url = 200, BytesIO(b"abc"), request.url
        response.headers.update({"ETag": '"v1"', "Content-Length": "3"})
        return response

    def close(self) -> None:
        """Nothing is open."""


def test_the_answer_of_an_adapter_that_knows_no_urllib3_is_handed_over() -> None:
    with requests.Session() as session:
        session.adapters.clear()
        session.mount("file://", Files())
        recover(session, policy=RESUMING)
        assert session.get("file:///doc", stream=True).content == b"abc"
