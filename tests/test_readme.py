"""Every block of Python in the README runs, against an order book on loopback."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from httpx_recover import _drive
from httpx_recover._memory import MEMORY
from tests.faulty import FaultServer, Seen, ref_of, respond

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BASE = "https://api.example.com"


def sections(text: str) -> dict[str, str]:
    """The Python of each `##` section, its blocks one after another."""
    found: dict[str, str] = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = part.partition("\n")
        blocks = re.findall(r"^```python\n(.*?)^```", body, flags=re.MULTILINE | re.DOTALL)
        if blocks:
            found[title] = "\n".join(blocks)
    return found


class OrderBook(FaultServer):
    """Books what is posted, finds it by ref, and fails at two addresses."""

    def _answer(self, connection: socket.socket, seen: Seen) -> bool:
        if seen.method == "POST":
            self.book["/"].append(ref_of(seen))
            if seen.path == "/cut":
                return False
            place = f"Location: {seen.path}/{len(self.seen)}"
            return respond(connection, 201, {"id": len(self.seen), "ref": ref_of(seen)}, place)
        if seen.path == "/flaky" and self.count("/flaky") % 2:
            return respond(connection, 503, {"error": "busy"})
        if seen.path == "/orders":
            ref = seen.target.partition("ref=")[2]
            found = [{"ref": each} for each in self.book["/"] if each == ref]
            return respond(connection, 200, {"data": found})
        return respond(connection, 200, {"ok": True})


class FastClock(_drive.Clock):
    """Sleeping only moves the clock."""

    offset = 0.0

    def now(self) -> float:
        return time.monotonic() + self.offset

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


@pytest.mark.parametrize("title", sections(README.read_text()))
def test_a_section_runs(book: OrderBook, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = sections(README.read_text())[title].replace(BASE, book.url)
    names: dict[str, Any] = {"__name__": "readme"}
    opened: list[httpx.Client] = []
    plain = httpx.Client.__init__

    def opening(client: httpx.Client, *args: Any, **kwargs: Any) -> None:
        plain(client, *args, **kwargs)
        opened.append(client)

    monkeypatch.setattr(httpx.Client, "__init__", opening)
    if title == "Reading a report":
        code = f"from httpx_recover import task\nwith task('x') as t:\n    pass\n{code}"
    exec(compile(code, f"README: {title}", "exec"), names)
    for client in opened:
        client.close()
    assert book.seen or title == "Reading a report"


def test_there_is_something_to_run() -> None:
    assert len(sections(README.read_text())) >= 5
    assert sections("## A\n```python\nx = 1\n```\n```text\nno\n```\n```python\ny = 2\n```\n") == {
        "A": "x = 1\n\ny = 2\n"
    }


def test_every_make_target_exists() -> None:
    asked = set(re.findall(r"^make ([a-z-]+)", README.read_text(), flags=re.MULTILINE))
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert asked
    assert asked <= made
