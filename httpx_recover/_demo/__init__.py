"""The demo: one failing server, three ways to book the same orders, and the server's own count.

The server is a process of its own. It is stopped when the demo ends, however it ends, and stops
by itself when the demo is killed.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

_SERVER = (sys.executable, "-m", "httpx_recover._demo._server")
_PATIENCE = 30.0  # seconds for the server to settle and count


@contextmanager
def order_server() -> Iterator[str]:
    """Run the order book server and give its URL; it is gone when the block is left."""
    with subprocess.Popen(
        _SERVER,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C is for the demo, which then stops the server
    ) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{_port(process.stdout)}"
        finally:
            process.terminate()
            process.wait()


def _port(stdout: IO[bytes]) -> int:
    line = stdout.readline()
    if not line.strip().isdigit():
        raise RuntimeError("the order book server did not start")
    return int(line)


def bookings(url: str, path: str) -> dict[str, int]:
    """Ask the server at `url` for the truth about one run, once nothing is outstanding."""
    import httpx

    with httpx.Client(base_url=url, timeout=_PATIENCE, trust_env=False) as client:
        client.get(f"/{path}/settled").raise_for_status()
        truth: dict[str, Any] = client.get(f"/{path}/book").raise_for_status().json()
    return dict(truth["bookings"])


def run(count: int, *, plain: bool = False) -> int:
    """Book `count` orders three ways and show what became of them.

    Returns 1 if the recovering way booked an order twice or claimed something false, else 0.
    Needs httpx and tenacity.
    """
    from httpx_recover._demo._book import WAYS, orders
    from httpx_recover._demo._server import Fault, fault_of
    from httpx_recover._demo._show import choose, notes, row, tally

    show, wanted = choose(plain, sys.stdout), orders(count)
    failing = sum(fault_of(order["ref"]) is not Fault.NONE for order in wanted)
    show.say(f"{count} orders, booked three ways at a server that fails {failing} on purpose.\n")
    tallies, report = {}, ""
    with order_server() as url:
        for way in WAYS:
            with show.way(way.name, count) as tick:
                beliefs, report = way.book(url, wanted, tick)
            tallies[way.name] = tally(beliefs, bookings(url, way.path))
    show.say("\nWhat the server's own book says:\n")
    show.table([row(name, counted) for name, counted in tallies.items()])
    show.say("\n".join(("", *notes({way.name: way.what for way in WAYS}), "", report)))
    return verdict(tallies[WAYS[-1].name].complaint())


def verdict(complaint: str) -> int:
    """Print the complaint about the recovering way, if any, and return the exit code."""
    if complaint:
        print(f"httpx_recover went wrong, {complaint}", file=sys.stderr)
    return 1 if complaint else 0
