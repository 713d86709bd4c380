"""What a streamed download pays: time to its first byte, and how fast the rest comes.

Bare clients and ours take turns, round by round in one process; the server, a process of its own,
makes the bytes as it sends them. A round of a row is one long download, timed at its first chunk
and at its end, and some short ones, timed at their first chunk. Read the differences and ratios;
the digits belong to the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import socketserver
import statistics
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import httpx2
from _machine import machine

from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2

BAR_MS = 5.0  # by which the first byte may come later than without us
BLOCK = bytes(range(256)) * 1024
SHORT = 4  # blocks of a download that is made for its first byte only
RESULTS = Path(__file__).parent / "results"
LIBRARIES: dict[str, Any] = {"httpx": (httpx, on_httpx), "httpx2": (httpx2, on_httpx2)}
WAYS = ("bare", "httpx_recover")


class Row(NamedTuple):
    """Who downloads."""

    library: str
    colour: str
    way: str


class Took(NamedTuple):
    """One download, in seconds and bytes."""

    first: float
    whole: float
    size: int


class Flood(BaseHTTPRequestHandler):
    """`/n` is answered by n blocks, without a length."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        chunk = b"%x\r\n%s\r\n" % (len(BLOCK), BLOCK)
        self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(int(self.path[1:])):
            self.wfile.write(chunk)
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve(port: Any) -> None:
    """The other process."""
    with Server(("127.0.0.1", 0), Flood) as server:
        port.send(server.server_address[1])
        server.serve_forever()


class Clock:
    """Times one download, chunk by chunk."""

    def __init__(self) -> None:
        self.begin = time.perf_counter()
        self.first = 0.0
        self.size = 0

    def chunk(self, data: bytes) -> None:
        """A part of it has come."""
        if not self.size:
            self.first = time.perf_counter() - self.begin
        self.size += len(data)

    def took(self) -> Took:
        """It has ended."""
        return Took(self.first, time.perf_counter() - self.begin, self.size)


def client_of(row: Row) -> Any:
    """A client of its own for a row."""
    if row.library == "requests":
        import requests

        from httpx_recover.requests import recover

        session = requests.Session()
        session.trust_env = False
        return recover(session) if row.way != "bare" else session
    library, mounts = LIBRARIES[row.library]
    client = (library.Client if row.colour == "sync" else library.AsyncClient)(trust_env=False)
    return mounts.recover(client) if row.way != "bare" else client


def with_session(session: Any, url: str) -> Took:
    """One download with requests."""
    clock = Clock()
    with session.get(url, stream=True) as response:
        for chunk in response.iter_content(65536):
            clock.chunk(chunk)
    return clock.took()


def with_client(client: Any, url: str) -> Took:
    """One download with a sync client."""
    clock = Clock()
    with client.stream("GET", url) as response:
        for chunk in response.iter_raw():
            clock.chunk(chunk)
    return clock.took()


async def with_async_client(client: Any, url: str) -> Took:
    """One download with an async client."""
    clock = Clock()
    async with client.stream("GET", url) as response:
        async for chunk in response.aiter_raw():
            clock.chunk(chunk)
    return clock.took()


def download_of(row: Row, client: Any, runner: asyncio.Runner) -> Callable[[str], Took]:
    """How a row downloads."""
    if row.library == "requests":
        return lambda url: with_session(client, url)
    if row.colour == "sync":
        return lambda url: with_client(client, url)
    return lambda url: runner.run(with_async_client(client, url))


def rows() -> list[Row]:
    """Who takes part, as far as installed; bare and ours stand beside each other."""
    kinds = [(name, colour) for name in LIBRARIES for colour in ("sync", "async")]
    if find_spec("requests"):
        kinds.append(("requests", "sync"))
    else:
        print("requests is not installed: no row")
    return [Row(*kind, way) for kind in kinds for way in WAYS]


def measure(
    downloads: dict[Row, Callable[[str], Took]], url: str, rounds: int, blocks: int, short: int
) -> dict[Row, tuple[list[float], list[float]]]:
    """For each row the times to the first byte, and the bytes per second of long downloads."""
    found: dict[Row, tuple[list[float], list[float]]] = {row: ([], []) for row in downloads}
    for download in downloads.values():
        download(f"{url}{SHORT}")  # opens its connection
    for _ in range(rounds):
        for row, download in downloads.items():
            firsts, speeds = found[row]
            firsts += [download(f"{url}{SHORT}").first for _ in range(short)]
            took = download(f"{url}{blocks}")
            assert took.size == blocks * len(BLOCK), "the download was cut"
            firsts.append(took.first)
            speeds.append(took.size / took.whole)
    return found


def table(found: dict[Row, tuple[list[float], list[float]]]) -> list[dict[str, Any]]:
    """The figures, printed and as data."""
    told = []
    print("first byte in ms (median), added over bare; throughput in MB/s (best), ratio to bare")
    for row, (firsts, speeds) in found.items():
        bare_firsts, bare_speeds = found[row._replace(way="bare")]
        added = round(1000 * (statistics.median(firsts) - statistics.median(bare_firsts)), 3)
        figures = {
            **row._asdict(),
            "first_byte_best_ms": round(1000 * min(firsts), 3),
            "first_byte_median_ms": round(1000 * statistics.median(firsts), 3),
            "first_byte_added_ms": added,
            "within_bar": added <= BAR_MS,
            "megabytes_per_second": round(max(speeds) / 1e6),
            "throughput_ratio": round(max(speeds) / max(bare_speeds), 3),
            "throughput_median_ratio": round(
                statistics.median(speeds) / statistics.median(bare_speeds), 3
            ),
        }
        told.append(figures)
        print(
            f"  {row.library:8} {row.colour:5} {row.way:14} "
            f"{figures['first_byte_median_ms']:>8.3f} {added:>+7.3f}  "
            f"{figures['megabytes_per_second']:>6} x{figures['throughput_ratio']:.2f}"
        )
    return told


def run(url: str, rounds: int, blocks: int, short: int) -> list[dict[str, Any]]:
    """Open the clients, measure, and close them."""
    with asyncio.Runner() as runner:
        clients = {row: client_of(row) for row in rows()}
        try:
            downloads = {row: download_of(row, each, runner) for row, each in clients.items()}
            return table(measure(downloads, url, rounds, blocks, short))
        finally:
            for row, client in clients.items():
                client.close() if row.colour == "sync" else runner.run(client.aclose())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--megabytes", type=int, default=200, help="of a long download")
    parser.add_argument("--short", type=int, default=20, help="short downloads in each round")
    parser.add_argument("--quick", action="store_true", help="a few small ones, to see it run")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    asked = parser.parse_args()
    rounds, megabytes, short = asked.rounds, asked.megabytes, asked.short
    if asked.quick:
        rounds, megabytes, short = 2, 2, 2
    ours_end, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs,), daemon=True
    )
    process.start()
    try:
        url = f"http://127.0.0.1:{ours_end.recv()}/"
        told = run(url, rounds, megabytes * 1_000_000 // len(BLOCK), short)
    finally:
        process.terminate()
        process.join()
    named = f"first_byte-{sys.version_info.major}.{sys.version_info.minor}.json"
    path = asked.json or RESULTS / named
    path.parent.mkdir(exist_ok=True)
    facts = {"machine": machine(), "megabytes": megabytes, "bar_ms": BAR_MS, "rows": told}
    path.write_text(json.dumps(facts, indent=1) + "\n")
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    main()
