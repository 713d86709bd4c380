"""Bodies out: a resend is byte-equal to the first send, and what can be read once is sent once."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from functools import partial
from hashlib import blake2b
from pathlib import Path
from socket import MSG_PEEK
from typing import Any

import httpx
import httpx2
import pytest
import requests
from requests.adapters import HTTPAdapter

from httpx_recover import Rule, UnknownOutcome, outcome
from httpx_recover._memory import MEMORY
from httpx_recover.requests import RecoverAdapter
from tests import breaking as b
from tests.clients import Dialect
from tests.drivers import DRIVERS, POLICY, run_calls
from tests.faulty import FaultServer
from tests.httpbin import Httpbin
from tests.wire.stage import Stage

SYNC = [each for each in DRIVERS if each.endswith("sync") and "asyncio" not in each]
KEYED = [Rule("POST /**", dedupes=True)]
Body = dict[str, Any]  # arguments of `client.request`
made = partial(run_calls, timeout=5.0)


def digests(server: Any, path: str | None = None) -> list[bytes]:
    """What the server got, each body as its digest."""
    seen = server.read if hasattr(server, "read") else server.seen
    return [blake2b(each.body).digest() for each in seen if path in (None, each.path)]


def error_of(driver: str, name: str) -> type[BaseException]:
    """An error of httpx, or what requests has for it."""
    if driver.startswith("requests"):
        return requests.ConnectionError
    library = {"httpx": httpx, "httpx2": httpx2}[driver.split()[0]]
    found: type[BaseException] = getattr(library, name)
    return found


# ---------------------------------------------------------------------- bodies that repeat


class Shelf:
    """Makes files, and closes them at the end of a test."""

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self.folder, self.ends = folder, ends

    def file(self, data: bytes = b"of a file " * 900, at: int = 0, mode: str = "rb") -> Any:
        path = self.folder / "file.bin"
        path.write_bytes(data)
        file = self.ends.enter_context(open(path, mode))  # noqa: SIM115 - closed at the end
        file.seek(at)
        return file

    def middle(self) -> Body:
        """httpx counts the whole file, so what is left of it is told by hand."""
        file = self.file(b"0123456789 kept", at=11)
        return {"content": file, "headers": {"Content-Length": "4"}}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    with ExitStack() as ends:
        yield Shelf(tmp_path, ends)


IN_MEMORY: dict[str, Callable[[Shelf], Body]] = {
    "nothing": lambda _: {},
    "no bytes": lambda _: {"content": b""},
    "bytes": lambda _: {"content": bytes(range(256)) * 40},
    "text": lambda _: {"content": "wörds ✓"},
    "json": lambda _: {"json": {"n": 1.50, "list": ["é", None, True]}},
    "a form": lambda _: {"data": {"a": ["1", "2"], "b": "ü &="}},
    "parts of bytes": lambda _: {"files": {"f": ("name.bin", b"\r\n--bytes" * 99)}},
    "parts and a form": lambda _: {"files": {"f": ("n", b"x")}, "data": {"a": "b"}},
    "a file in a part": lambda shelf: {"files": {"f": shelf.file()}},
    "files in parts": lambda shelf: {
        "files": [("f", ("1", shelf.file())), ("f", ("2", io.BytesIO(b"in memory")))]
    },
}
OF_FILES: dict[str, Callable[[Shelf], Body]] = {
    "a file": lambda shelf: {"content": shelf.file()},
    "an empty file": lambda shelf: {"content": shelf.file(b"")},
    "a file that stands in the middle": Shelf.middle,
    "a file in memory": lambda _: {"content": io.BytesIO(b"memory" * 99)},
}
REPEATING = [(driver, name, IN_MEMORY[name]) for driver in DRIVERS for name in IN_MEMORY]
REPEATING += [(driver, name, OF_FILES[name]) for driver in SYNC for name in OF_FILES]
EACH = pytest.mark.parametrize(
    ("driver", "make"),
    [pytest.param(driver, make, id=f"{driver}, {name}") for driver, name, make in REPEATING],
)


@EACH
def test_a_resend_is_byte_equal_to_the_first(
    server: FaultServer, shelf: Shelf, driver: str, make: Callable[[Shelf], Body]
) -> None:
    places = [("POST", "/429/a"), ("PUT", "/503/b"), ("POST", "/cut_after/c")]
    calls = [(method, server.url + path, make(shelf)) for method, path in places]
    ends = made(driver, calls, rules=KEYED)
    assert [end.status_code for end in ends] == [201, 200, 201]
    for _, path in places:
        first, second = (each for each in server.seen if each.path == path)
        assert first.headers == second.headers
        assert len(set(digests(server, path))) == 1


@EACH
def test_what_is_sent_is_what_the_client_sends_alone(
    server: FaultServer, shelf: Shelf, driver: str, make: Callable[[Shelf], Body]
) -> None:
    off = [Rule("PUT /alone/**", attempts=1)]
    boundary = {"Content-Type": "multipart/form-data; boundary=between"}
    bodies = [make(shelf), make(shelf)]
    for body in bodies:
        if "files" in body and not driver.startswith("requests"):
            body["headers"] = boundary
    places = ("/alone/a", "/429/a")
    calls = [("PUT", server.url + path, body) for path, body in zip(places, bodies, strict=True)]
    assert [end.status_code for end in made(driver, calls, rules=off)] == [200, 200]
    if not (driver.startswith("requests") and "files" in body):  # its boundary is random
        assert len(set(digests(server))) == 1
    assert len(server.seen) == 3


# ---------------------------------------------------------------------- bodies that do not


class Pipe(io.RawIOBase):
    """A file that cannot be wound back."""

    def __init__(self, data: bytes) -> None:
        self.held = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return self.held.read(size)


class Once:
    """A generator of the driver's colour, which tells how far it was read."""

    def __init__(self, driver: str, *chunks: bytes) -> None:
        self.read: list[bytes] = []
        self.body: Any = self.chunks(chunks) if driver in SYNC else self.achunks(chunks)

    def chunks(self, chunks: tuple[bytes, ...]) -> Iterator[bytes]:
        for chunk in chunks:
            self.read.append(chunk)
            yield chunk

    async def achunks(self, chunks: tuple[bytes, ...]) -> AsyncIterator[bytes]:
        for chunk in self.chunks(chunks):
            yield chunk


ONE_SHOT: dict[str, Callable[[str], Body]] = {
    "generator": lambda driver: {"content": Once(driver, b"read ", b"once").body},
    "iterator": lambda _: {"content": iter([b"read ", b"once"])},
    "pipe": lambda _: {"content": Pipe(b"read once")},
    "pipe in a part": lambda _: {"files": {"f": ("name", Pipe(b"read once"))}},
}
ONCE = pytest.mark.parametrize(
    ("driver", "make"),
    [
        pytest.param(driver, make, id=f"{driver}, {name}")
        for driver in DRIVERS
        for name, make in ONE_SHOT.items()
        if name in ("generator", "pipe in a part") or driver in SYNC
        if not (driver.startswith("requests") and name == "pipe in a part")  # read in memory
    ],
)


@ONCE
@pytest.mark.parametrize("status", ["503", "429"])
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_an_answer_to_a_body_that_is_read_once_is_returned(
    server: FaultServer, driver: str, make: Callable[[str], Body], status: str, method: str
) -> None:
    calls = [(method, f"{server.url}/{status}/a", make(driver))]
    [end] = made(driver, calls, rules=KEYED)
    assert (end.status_code, end.json()["error"] in ("busy", "slow down")) == (int(status), True)
    assert b"read once" in server.seen[0].body
    assert len(server.seen) == 1
    found = outcome(end)
    assert found is not None
    assert (found.stopped_by, found.applied.name) == (
        "body",
        "UNKNOWN" if status == "503" else "NO",
    )


@ONCE
@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_failure_of_a_body_that_is_read_once_is_kept(
    server: FaultServer, driver: str, make: Callable[[str], Body], method: str
) -> None:
    calls = [(method, f"{server.url}/cut_after/a", make(driver))]
    [end] = made(driver, calls, rules=KEYED)
    assert isinstance(end, UnknownOutcome)
    assert isinstance(end, error_of(driver, "RemoteProtocolError"))
    assert type(end.__cause__) is error_of(driver, "RemoteProtocolError")
    assert (len(server.seen), len(server.book["/cut_after/a"])) == (1, 1)


@ONCE
def test_a_body_that_is_read_once_is_sent_once_by_a_good_call(
    server: FaultServer, driver: str, make: Callable[[str], Body]
) -> None:
    [end] = made(driver, [("POST", f"{server.url}/fine/a", make(driver))])
    assert (end.status_code, len(server.seen)) == (201, 1)
    assert b"read once" in server.seen[0].body


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_refused_connection_hands_over_its_own_error(stage: Stage, driver: str) -> None:
    down = stage.server(None, state="down")
    once = Once(driver, b"never")
    [end] = made(driver, [("POST", down.url, {"content": once.body})])
    assert type(end) is error_of(driver, "ConnectError")
    found = outcome(end)
    assert found is not None
    assert (found.applied.name, found.stopped_by) == ("NO", "body")
    assert (once.read, len(found.attempts)) == ([], 1)


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_body_that_fails_while_it_is_read_raises_its_own_error(stage: Stage, driver: str) -> None:
    server = stage.server(None)

    def torn() -> Iterator[bytes]:
        yield b"a part"
        raise LookupError("the source is gone", 1)

    async def atorn() -> AsyncIterator[bytes]:
        for chunk in torn():
            yield chunk

    for method in ("POST", "PUT"):
        body = torn() if driver in SYNC else atorn()
        [end] = made(driver, [(method, server.url, {"content": body})])
        assert (type(end), end.args) == (LookupError, ("the source is gone", 1))
        MEMORY.clear()
    assert server.read == []


# ---------------------------------------------------------------------- files that change


class Closing(io.BytesIO):
    """A file that its owner closes when it has been read."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if not data:
            self.close()
        return data


class Growing(io.BytesIO):
    """A file that its owner writes on when it has been read."""

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if not data:
            self.write(b" and more")
        return data


CHANGING = [(driver, False) for driver in SYNC]
CHANGING += [(driver, True) for driver in DRIVERS if not driver.startswith("requests")]


@pytest.mark.parametrize(("driver", "part"), CHANGING)
@pytest.mark.parametrize("kind", [Closing, Growing])
@pytest.mark.parametrize(("method", "status"), [("POST", 429), ("PUT", 503)])
def test_a_file_that_changed_meanwhile_is_not_sent_again(
    stage: Stage, driver: str, part: bool, kind: Any, method: str, status: int
) -> None:
    server = stage.server(None, answer=[b.status(status)])
    file = kind(b"all of it")
    body: Body = {"files": {"f": file}} if part else {"content": file}
    [end] = made(driver, [(method, f"{server.url}/a", body)], rules=KEYED)
    assert (end.status_code, end.json()) == (status, {"error": status})
    [seen] = server.read
    assert b"all of it" in seen.body
    assert b"and more" not in seen.body
    found = outcome(end)
    assert found is not None
    assert "a resend could not be prepared" in found.facts["note"]


class Packed:
    """A file that can be wound back, and knows its end when it gets there: as packed ones are."""

    def __init__(self, data: bytes) -> None:
        self.held = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self.held.read(size)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.held)

    def tell(self) -> int:
        return self.held.tell()

    def seek(self, place: int, whence: int = 0) -> int:
        if whence:
            raise io.UnsupportedOperation("seek from end not supported")
        return self.held.seek(place)


@pytest.mark.parametrize("driver", SYNC)
def test_a_file_that_does_not_tell_its_length_is_wound_back(
    server: FaultServer, driver: str
) -> None:
    body = {"content": Packed(b"all of it")}
    [end] = made(driver, [("PUT", f"{server.url}/503/a", body)])
    assert end.status_code == 200
    assert [each.body for each in server.seen] == [b"all of it"] * 2


@pytest.mark.filterwarnings("ignore::requests.exceptions.FileModeWarning")
@pytest.mark.parametrize("driver", SYNC)
def test_a_text_file_is_taken_as_the_client_takes_it(
    stage: Stage, shelf: Shelf, driver: str
) -> None:
    """httpx refuses what is not bytes, requests encodes it."""
    server = stage.server(None)
    ends = []
    for off in ({"recover": False}, {}):
        body: Body = {"content": shelf.file("wörds".encode(), mode="r")}
        if not driver.startswith("requests"):
            body["extensions"] = off
        [end] = made(driver, [("PUT", server.url, body)])
        ends.append(getattr(end, "status_code", type(end)))
    assert ends[0] == ends[1] == (200 if driver.startswith("requests") else TypeError)
    assert [each.body for each in server.read] == ["wörds".encode() for end in ends if end == 200]


# ---------------------------------------------------------------------- answers before the end


def refusing(code: int, *headers: str) -> b.Break:
    """Answer when the head of the request has come, and let the rest pass unread."""

    def play(wire: b.Wire) -> bool:
        while b"\r\n\r\n" not in wire.socket.recv(65536, MSG_PEEK):
            pass
        b.status(code, "Connection: close", *headers)(wire)
        wire.drain()
        return False

    return play


def continuing(then: b.Break) -> b.Break:
    """Say that the body is welcome, and answer."""
    return lambda wire: wire.send(b"HTTP/1.1 100 Continue\r\n\r\n") and then(wire)


LARGE: dict[str, Callable[[Dialect], Body]] = {
    "bytes": lambda _: {"content": b.BIG},
    "generator": lambda dialect: {"content": dialect.body(*[b.BIG[:1_000_000]] * 12)},
    "file in a part": lambda _: {"files": {"f": io.BytesIO(b.BIG)}},
}
SETTINGS = {"policy": POLICY}


@pytest.mark.anyio
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("status", [401, 413, 422])
async def test_an_early_refusal_reaches_the_caller(
    dialect: Dialect, stage: Stage, status: int, name: str
) -> None:
    for method in ("POST", "PUT"):
        server = stage.server(None, meet=[refusing(status)])
        async with dialect.client(recovery=SETTINGS) as client:
            r = await client.request(method, server.url, **LARGE[name](dialect))
            assert (r.status_code, r.json()) == (status, {"error": status})
        assert (server.connections, server.read) == (1, [])


@pytest.mark.parametrize("ours", [False, True], ids=["bare", "ours"])
@pytest.mark.parametrize("status", [401, 413, 422])
@pytest.mark.parametrize("body", [b.BIG, "generator"], ids=["bytes", "generator"])
def test_an_early_refusal_reaches_the_caller_of_requests(
    stage: Stage, status: int, body: Any, ours: bool
) -> None:
    for method in ("POST", "PUT"):
        server = stage.server(None, meet=[refusing(status)])
        with stage.session(RecoverAdapter(policy=POLICY) if ours else HTTPAdapter()) as session:
            data = iter([b.BIG[:1_000_000]] * 12) if body == "generator" else body
            r = session.request(method, server.url, data=data, timeout=5)
            assert (r.status_code, r.json()) == (status, {"error": status})
        assert (server.connections, server.read) == (1, [])


@pytest.mark.anyio
async def test_a_large_body_that_was_refused_early_is_sent_again_whole(
    dialect: Dialect, stage: Stage
) -> None:
    ours = dialect.way != "bare"
    for name, whole in (("bytes", True), ("generator", False)):
        server = stage.server(None, meet=[refusing(503, "Retry-After: 0.02")])
        async with dialect.client(recovery=SETTINGS) as client:
            r = await client.put(server.url, **LARGE[name](dialect))
        assert r.status_code == (200 if ours and whole else 503)
        kept = [blake2b(b.BIG).digest()] if ours and whole else []
        assert digests(server) == kept


@pytest.mark.anyio
async def test_a_body_that_waits_to_be_welcome(dialect: Dialect, stage: Stage) -> None:
    for name in LARGE:
        server = stage.server(None, answer=[continuing(b.status(429)), continuing(b.well)])
        async with dialect.client(recovery=SETTINGS) as client:
            headers = {"Expect": "100-continue"}
            r = await client.post(server.url, headers=headers, **LARGE[name](dialect))
        again = dialect.way != "bare" and name != "generator"
        assert r.status_code == (201 if again else 429)
        assert {each.headers["expect"] for each in server.read} == {"100-continue"}
        assert (len(server.read), len(set(digests(server)))) == (2 if again else 1, 1)


def test_a_body_that_waits_to_be_welcome_under_requests(stage: Stage) -> None:
    server = stage.server(None, answer=[continuing(b.status(429)), continuing(b.well)])
    with stage.session() as session:
        headers = {"Expect": "100-continue"}
        r = session.post(server.url, headers=headers, data=b.BIG, timeout=5)
    assert r.status_code == 201
    assert digests(server) == [blake2b(b.BIG).digest()] * 2


# ---------------------------------------------------------------------- redirects


@pytest.mark.anyio
@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_asks_for_the_body_again(
    dialect: Dialect, httpbin: Httpbin, status: int
) -> None:
    """What can be sent again follows, what is read once is refused by the client itself."""
    url = f"{httpbin.url}/redirect-to?url=/anything&status={status}"
    async with dialect.client(recovery=SETTINGS, follow_redirects=True) as client:
        r = await client.post(url, files={"f": ("name", io.BytesIO(b"in a part"))})
        assert r.json()["files"][0]["content"] == "in a part"
        one, two = httpbin.seen
        assert one.body == two.body
        httpbin.fresh()
        with pytest.raises(dialect.lib.StreamConsumed):
            await client.post(url, content=dialect.body(b"read ", b"once"))
    assert [(each.method, each.body) for each in httpbin.seen] == [("POST", b"read once")]
