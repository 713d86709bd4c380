"""Every block of Python in the README runs, and prints what stands below it.

A `##` section is one program: its blocks share their names. They talk to an order book on
loopback, and a sleep of the library only moves its clock. What must not run is marked `text` or
`console`; a `text` block that begins with a report must be what its section prints.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import requests

from httpx_recover import _drive
from httpx_recover._memory import MEMORY
from tests.faulty import FaultServer, Seen, respond

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BASE = "https://api.example.com"
# A section that goes on from the task of an earlier one.
BEFORE = {
    "Reading a report": "from httpx_recover import task\nwith task('x') as t:\n    pass\n",
}


def readme() -> str:
    """The README, or nothing while there is none: then one test says so."""
    return README.read_text() if README.exists() else ""


def sections(text: str) -> dict[str, list[tuple[str, str]]]:
    """The fenced blocks of each `##` section in order, each with the word after its fence."""
    found: dict[str, list[tuple[str, str]]] = {}
    title, word = "", None
    lines: list[str] = []
    for line in text.splitlines():
        if word is None and line.startswith("## "):
            title = line[3:].strip()
        elif word is None and line.startswith("```"):
            word, lines = line[3:].strip(), []
        elif word is not None and line == "```":
            found.setdefault(title, []).append((word, "\n".join(lines)))
            word = None
        elif word is not None:
            lines.append(line)
    assert word is None, f"a block of {title!r} has no end"
    return found


def program(blocks: list[tuple[str, str]]) -> str:
    """The Python of a section."""
    return "\n\n".join(code for word, code in blocks if word == "python")


def shown(blocks: list[tuple[str, str]]) -> list[str]:
    """The reports that a section shows."""
    return [text for word, text in blocks if word == "text" and text.startswith("RECOVERY")]


def timeless(text: str) -> str:
    return re.sub(r"elapsed [\d.]+s", "elapsed ?", text)


RUNNING = {title: blocks for title, blocks in sections(readme()).items() if program(blocks)}


class OrderBook(FaultServer):
    """Keeps orders, invoices and charges; `/flaky` fails at first, `/cut` books and hangs up.

    `/export` is a download that is cut.
    """

    def __post_init__(self) -> None:
        self.orders: dict[str, dict[str, Any]] = {}  # by path
        super().__post_init__()

    def _answer(self, connection: socket.socket, seen: Seen) -> bool:
        if seen.path == "/flaky" and self.count("/flaky") % 2:
            return respond(connection, 503, {"error": "busy"})
        if seen.path in ("/flaky", "/health"):
            return respond(connection, 200, {"ok": True})
        if seen.path == "/export":
            return export(connection, seen)
        answer = getattr(self, f"_{seen.method.lower()}")
        return bool(answer(connection, seen))

    def _post(self, connection: socket.socket, seen: Seen) -> bool:
        number = len(self.orders) + 1
        cut = seen.path == "/cut"
        place = f"{'/orders' if cut else seen.path}/{number}"
        self.orders[place] = json.loads(seen.body) | {"id": number}
        return not cut and respond(connection, 201, self.orders[place], f"Location: {place}")

    def _get(self, connection: socket.socket, seen: Seen) -> bool:
        if seen.path in self.orders:
            return respond(connection, 200, self.orders[seen.path])
        if seen.path.count("/") > 1:
            return respond(connection, 404, {"error": "no such thing"})
        wanted = parse_qs(urlsplit(seen.target).query).get("ref")
        found = [
            order
            for place, order in self.orders.items()
            if place.startswith(f"{seen.path}/") and wanted in (None, [order.get("ref")])
        ]
        return respond(connection, 200, {"data": found})

    def _put(self, connection: socket.socket, seen: Seen) -> bool:
        self.orders[seen.path] = json.loads(seen.body)
        return respond(connection, 200, self.orders[seen.path])

    def _delete(self, connection: socket.socket, seen: Seen) -> bool:
        known = self.orders.pop(seen.path, None) is not None
        return respond(connection, 200 if known else 404, {"deleted": known})


def export(connection: socket.socket, seen: Seen) -> bool:
    """A million bytes, of which the first answer holds half; a range of them is the rest."""
    wanted = re.fullmatch(r"bytes=(\d+)-", seen.headers.get("range", ""))
    start = int(wanted[1]) if wanted else 0
    head = f'ETag: "e-1"\r\nContent-Length: {1_000_000 - start}\r\n'
    if wanted:
        head += f"Content-Range: bytes {start}-999999/1000000\r\n"
    sent = 1_000_000 - start if wanted else 500_000
    connection.sendall(f"HTTP/1.1 {206 if wanted else 200} X\r\n{head}\r\n".encode())
    connection.sendall(b"x" * sent)
    return False


class FastClock(_drive.Clock):
    """Sleeping only moves the clock."""

    offset = 0.0

    def now(self) -> float:
        return time.monotonic() + self.offset

    def wall(self) -> float:
        return time.time() + self.offset

    def sleep(self, seconds: float) -> None:
        self.offset += seconds

    async def asleep(self, seconds: float) -> None:
        self.offset += seconds


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> Iterator[OrderBook]:
    monkeypatch.setattr(_drive, "clock", FastClock())
    MEMORY.clear()
    server = OrderBook()
    yield server
    server.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An example does not close its client; an open connection would be a warning."""
    clients: list[Any] = []
    for kind in (httpx.Client, requests.Session):

        def opening(client: Any, *args: Any, plain: Any = kind.__init__, **kwargs: Any) -> None:
            plain(client, *args, **kwargs)
            clients.append(client)

        monkeypatch.setattr(kind, "__init__", opening)
    yield
    for client in clients:
        client.close()


def run(title: str, blocks: list[tuple[str, str]], url: str) -> None:
    """Run the blocks of a section against the book at `url`."""
    code = (BEFORE.get(title, "") + program(blocks)).replace(BASE, url)
    exec(compile(code, f"README: {title}", "exec"), {"__name__": "readme"})


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize("title", RUNNING)
def test_a_section_runs(book: OrderBook, title: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = RUNNING[title]
    run(title, blocks, book.url)
    assert bool(book.seen) == (BASE in program(blocks))
    printed = capsys.readouterr().out.replace(urlsplit(book.url).netloc, urlsplit(BASE).netloc)
    for report in shown(blocks):
        assert timeless(report) in timeless(printed)


def test_there_is_something_to_run() -> None:
    assert README.exists(), "README.md is missing"
    assert len(RUNNING) >= 5
    assert any(shown(blocks) for blocks in RUNNING.values())
    assert set(BEFORE) <= set(RUNNING)


SAMPLE = f"""# A title

```console
rm -rf everything
```

## One

```python
import httpx
answer = httpx.post("{BASE}/orders", json={{"ref": "a"}})
```

```text
## no heading
raise SystemExit
```

```python
place = answer.headers["location"]
print(httpx.get("{BASE}" + place).json()["ref"])
```

## Two

Only words.
"""


def test_blocks_are_found_by_section() -> None:
    found = sections(SAMPLE)
    assert list(found) == ["", "One"]
    assert [word for word, _ in found["One"]] == ["python", "text", "python"]
    assert program(found[""]) == ""
    assert "raise" not in program(found["One"])
    with pytest.raises(AssertionError, match="has no end"):
        sections("## One\n```python\nx = 1\n")


def test_a_sample_runs_in_one_namespace(
    book: OrderBook, capsys: pytest.CaptureFixture[str]
) -> None:
    run("One", sections(SAMPLE)["One"], book.url)
    assert capsys.readouterr().out == "a\n"
    assert [each.path for each in book.seen] == ["/orders", "/orders/1"]
    with pytest.raises(NameError):
        run("Two", [("python", "answer")], book.url)


def test_the_order_book(book: OrderBook) -> None:
    with httpx.Client(base_url=book.url) as client:
        assert [client.get("/flaky").status_code for _ in "ab"] == [503, 200]
        assert client.get("/health").status_code == 200
        made = client.post("/orders", json={"ref": "a", "n": 2})
        assert (made.status_code, made.headers["location"]) == (201, "/orders/1")
        assert made.json() == {"ref": "a", "n": 2, "id": 1}
        with pytest.raises(httpx.RemoteProtocolError):
            client.post("/cut", json={"ref": "b"})
        assert client.get("/orders?ref=b").json() == {"data": [{"ref": "b", "id": 2}]}
        assert client.get("/orders?ref=c").json() == {"data": []}
        assert len(client.get("/orders").json()["data"]) == 2
        assert client.put("/orders/1", json={"ref": "d"}).json() == {"ref": "d"}
        assert client.get("/orders/1").json() == {"ref": "d"}
        assert client.get("/orders/9").status_code == 404
        assert [client.delete("/orders/1").status_code for _ in "ab"] == [200, 404]


def test_every_make_target_exists() -> None:
    asked = set(re.findall(r"(?:^|`)make ([a-z-]+)", readme(), flags=re.MULTILINE))
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert {"demo", "test"} <= asked <= made
