"""What a call that succeeds pays, in nanoseconds, beside bare clients and other libraries.

All rows are measured in one process, round by round and interleaved, so that a noisy machine is
noisy for all of them alike. A row's figure is its best round less the best round of the bare
transport of the same kind. Read the ratios; the digits belong to the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
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
from typing import Any

import httpx
import httpx2
from _machine import machine

from httpx_recover import Key, Policy, task
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from httpx_recover._evidence import Phase
from httpx_recover._httpx_wire import atracer, tracer

on_requests: Any = None
if find_spec("requests"):
    import _requests_rows as on_requests

NO_KEY = Policy(key=Key.none())
CASES = ("GET", "PUT", "POST without key", "POST with key")
POLICIES = {case: NO_KEY if case == "POST without key" else None for case in CASES}
RESULTS = Path(__file__).parent / "results"
Send = Callable[[Any], Any]


class Memory(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Answers from memory."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"{}")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=b"{}")


class Memory2(httpx2.BaseTransport, httpx2.AsyncBaseTransport):
    """The same for httpx2."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=b"{}")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=b"{}")


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    do_PUT = do_POST = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True


def serve(port: Any) -> None:
    with Server(("127.0.0.1", 0), Answer) as server:
        port.send(server.server_address[1])
        server.serve_forever()


def ours(library: Any, below: Any, colour: str, case: str) -> Any:
    """Our mount over a transport."""
    mounts = on_httpx if library is httpx else on_httpx2
    kind = mounts.RecoverTransport if colour == "sync" else mounts.AsyncRecoverTransport
    return kind(below, policy=POLICIES[case])


def peers(below: Any, colour: str) -> dict[str, Any]:
    """Transports of other libraries over the same one, as far as they are installed."""
    found: dict[str, Any] = {}
    try:
        from httpx_retries import RetryTransport

        found["httpx-retries"] = RetryTransport(transport=below)
    except ImportError:
        print("httpx-retries is not installed: no row")
    return found


def peers2(below: Any, colour: str) -> dict[str, Any]:
    """The same over httpx2."""
    try:
        from pydantic_ai import retries
        from tenacity import stop_after_attempt

        sync = colour == "sync"
        kind = retries.HTTPX2TenacityTransport if sync else retries.AsyncHTTPX2TenacityTransport
        config = retries.RetryConfig(stop=stop_after_attempt(3), reraise=True)
        return {"pydantic-ai": kind(config, wrapped=below)}
    except (ImportError, AttributeError) as why:
        print(f"pydantic-ai: no row ({why})")
        return {}


def stamina_of(send: Send) -> Send | None:
    """stamina around a call; its decorator serves both colours."""
    try:
        import stamina
    except ImportError:
        print("stamina is not installed: no row")
        return None
    return stamina.retry(on=httpx.HTTPError, attempts=3)(send)


def traced(send: Send, colour: str) -> Send:
    """A client's own `send`, with the trace callback of a write."""

    def listen(request: Any) -> Any:
        phase = Phase()
        callback = tracer(phase, None) if colour == "sync" else atracer(phase, None)
        request.extensions["trace"] = callback
        return send(request)

    return listen


def timed(send: Send, requests: list[Any]) -> float:
    begin = time.perf_counter_ns()
    for request in requests:
        send(request)
    return (time.perf_counter_ns() - begin) / len(requests)


async def atimed(send: Send, requests: list[Any]) -> float:
    begin = time.perf_counter_ns()
    for request in requests:
        await send(request)
    return (time.perf_counter_ns() - begin) / len(requests)


def rows_in_memory(colour: str) -> dict[tuple[str, str, str], Any]:
    """Rows whose answer is in memory: the transport alone is called."""
    call = "handle_request" if colour == "sync" else "handle_async_request"
    rows: dict[tuple[str, str, str], Any] = {}
    for library, below, others in ((httpx, Memory(), peers), (httpx2, Memory2(), peers2)):
        name = library.__name__
        for case in CASES:
            rows[name, case, "bare"] = getattr(below, call)
            rows[name, case, "httpx_recover"] = getattr(ours(library, below, colour, case), call)
        for peer, transport in others(below, colour).items():
            for case in ("GET", "POST without key"):
                rows[name, case, peer] = getattr(transport, call)
    wrapped = stamina_of(getattr(Memory(), call))
    if wrapped is not None:
        rows["httpx", "GET", "stamina"] = wrapped
    rows["httpx", "GET in a named task", "bare"] = rows["httpx", "GET", "bare"]
    rows["httpx", "GET in a named task", "httpx_recover"] = rows["httpx", "GET", "httpx_recover"]
    if on_requests is not None and colour == "sync":
        rows |= on_requests.rows_in_memory(POLICIES)
    return rows


def rows_on_loopback(colour: str, clients: list[Any]) -> dict[tuple[str, str, str], Any]:
    """Rows over a real connection: a whole `client.send`."""
    rows: dict[tuple[str, str, str], Any] = {}

    def client(transport: Any) -> Send:
        kind = httpx.Client if colour == "sync" else httpx.AsyncClient
        made = kind(transport=transport)
        clients.append(made)
        return made.send

    def below() -> Any:
        return httpx.HTTPTransport() if colour == "sync" else httpx.AsyncHTTPTransport()

    for case in CASES:
        rows["httpx", case, "bare"] = client(below())
        rows["httpx", case, "httpx_recover"] = client(ours(httpx, below(), colour, case))
    # What the phase trace costs by itself. Only writes are traced: the row of GET is what is saved.
    for case in ("GET", "POST without key"):
        rows["httpx", case, "phase trace"] = traced(client(below()), colour)
    for peer, transport in peers(below(), colour).items():
        rows["httpx", "GET", peer] = client(transport)
    wrapped = stamina_of(client(below()))
    if wrapped is not None:
        rows["httpx", "GET", "stamina"] = wrapped
    if on_requests is not None and colour == "sync":
        rows |= on_requests.rows_on_loopback(POLICIES, clients.append)
    return rows


def requests_of(library: str, case: str, url: str, count: int) -> list[Any]:
    """Fresh requests: one that was sent already keeps its key."""
    method = case.split()[0]
    body = {} if method == "GET" else {"json": {"a": 1}}
    if library == "requests":
        return on_requests.fresh(method, url, body, count)
    kind = {"httpx": httpx, "httpx2": httpx2}[library].Request
    return [kind(method, url, **body) for _ in range(count)]


def measure(
    rows: dict[tuple[str, str, str], Any], url: str, rounds: int, calls: int, runner: Any
) -> dict[tuple[str, str, str], list[float]]:
    """All rows once a round, `rounds` times."""
    found: dict[tuple[str, str, str], list[float]] = {row: [] for row in rows}
    gc.disable()
    for _ in range(rounds):
        for row, send in rows.items():
            requests = requests_of(row[0], row[1], url, calls)
            inside = row[1] == "GET in a named task" and row[2] != "bare"
            if inside:
                with task("bench"):
                    found[row].append(_once(send, requests, runner))
            else:
                found[row].append(_once(send, requests, runner))
            gc.collect()
    gc.enable()
    return found


def _once(send: Send, requests: list[Any], runner: Any) -> float:
    if runner is None:
        return timed(send, requests)
    return float(runner.run(atimed(send, requests)))


def table(kind: str, found: dict[tuple[str, str, str], list[float]]) -> list[dict[str, Any]]:
    """The figures of one kind of row, printed and as data."""
    told = []
    print(f"\n{kind}: nanoseconds per call (best round), and added over bare")
    for (library, case, who), values in found.items():
        bare = found[library, case, "bare"]
        added = min(values) - min(bare)
        row = {
            "kind": kind,
            "library": library,
            "case": case,
            "who": who,
            "best_ns": round(min(values)),
            "median_ns": round(statistics.median(values)),
            "added_ns": round(added),
            "added_median_ns": round(statistics.median(values) - statistics.median(bare)),
            "ratio_to_bare": round(min(values) / min(bare), 3),
        }
        told.append(row)
        print(
            f"  {library:8} {case:20} {who:14} {row['best_ns']:>9} "
            f"{row['added_ns']:>+8}  x{row['ratio_to_bare']:.2f}"
        )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="a few calls, to see that it runs")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    asked = parser.parse_args()
    rounds, calls = (2, 20) if asked.quick else (asked.rounds, asked.calls)
    ours_end, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs,), daemon=True
    )
    process.start()
    if on_requests is None:
        print("requests is not installed: no row")
    rows: list[dict[str, Any]] = []
    try:
        url = f"http://127.0.0.1:{ours_end.recv()}/"
        with asyncio.Runner() as runner:
            for colour, run in (("sync", None), ("async", runner)):
                found = measure(rows_in_memory(colour), "http://h.example/", rounds, calls, run)
                rows += table(f"{colour}, in memory", found)
                clients: list[Any] = []
                found = measure(
                    rows_on_loopback(colour, clients), url, rounds, max(calls // 20, 5), run
                )
                rows += table(f"{colour}, loopback", found)
                for client in clients:
                    client.close() if run is None else run.run(client.aclose())
    finally:
        process.terminate()
        process.join()
    named = f"hot_path-{sys.version_info.major}.{sys.version_info.minor}.json"
    path = asked.json or RESULTS / named
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    main()
