"""What becomes of orders when the server fails on purpose, by each way of making calls.

The server is the demo's: a real one, on loopback, that knows how often each order was booked. Every
way posts the same orders to a book of its own. A client that raises, or gets an error answer, is
taken to believe that the order is not booked, unless it says that it does not know; ours is taken
at the word of its report. Exit code 1: one of our rows has a duplicate or a false claim.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from _machine import machine
from _plot import plot
from _ways import WAYS, Client, Order, Way

from httpx_recover import task
from httpx_recover._demo import bookings, order_server
from httpx_recover._demo._server import fault_of

DONE, FAILED, UNKNOWN = "done", "failed", "unknown"
RESULTS = Path(__file__).parent / "results"
COLUMNS = ("once", "twice_or_more", "lost", "false_claims", "said_unknown")


def orders(count: int) -> list[Order]:
    """Orders numbered from 1; each kind of failure meets one in twenty."""
    return [{"ref": f"order-{n:04}", "item": "book", "copies": 1} for n in range(1, count + 1)]


def by_answer(client: Client, order: Order) -> str:
    """What a client without a report can tell: there was a good answer, or not."""
    try:
        client.post(order)
    except client.errors:
        return FAILED
    return DONE


def by_report(client: Client, order: Order) -> str:
    """What our report says of a task with this one order."""
    with task(order["ref"]) as one:
        by_answer(client, order)
    status = one.report().status
    return status if status in (DONE, FAILED) else UNKNOWN


def is_false(belief: str, copies: int) -> bool:
    """Does a client believe done what is not booked, or failed what is?"""
    return copies == 0 if belief == DONE else belief == FAILED and copies > 0


def count(beliefs: Mapping[str, str], copies: Mapping[str, int]) -> dict[str, list[str]]:
    """The refs of each column."""
    refs: dict[str, Callable[[str, int], bool]] = {
        "once": lambda _, n: n == 1,
        "twice_or_more": lambda _, n: n > 1,
        "lost": lambda _, n: n == 0,
        "false_claims": is_false,
        "said_unknown": lambda belief, _: belief == UNKNOWN,
    }
    return {
        column: [ref for ref, belief in beliefs.items() if holds(belief, copies.get(ref, 0))]
        for column, holds in refs.items()
    }


def go(way: Way, client: Client, url: str, wanted: Sequence[Order]) -> dict[str, Any]:
    """Post all orders one way and hold its beliefs against the server's book."""
    believe, start = by_report if way.ours else by_answer, time.monotonic()
    beliefs = {order["ref"]: believe(client, order) for order in wanted}
    seconds = round(time.monotonic() - start, 1)
    client.close()
    found = count(beliefs, bookings(url, way.path))
    wrong = {*found["twice_or_more"], *found["false_claims"]}
    figures = {column: len(found[column]) for column in COLUMNS}
    return {
        "way": way.name,
        "ours": way.ours,
        "server_dedupes": way.keyed,
        "orders": len(wanted),
        **figures,
        "seconds": seconds,
        "wrong": dict(sorted(Counter(fault_of(ref).name for ref in wrong).items())),
    }


def clients(url: str) -> dict[Way, Client]:
    """The ways whose library is here."""
    built = {}
    for way in WAYS:
        try:
            built[way] = way.build(f"{url}/{way.path}/orders")
        except ImportError as why:
            print(f"{way.name}: not installed: no row ({why})")
    return built


def measure(wanted: Sequence[Order]) -> list[dict[str, Any]]:
    """All ways at once, each on a thread of its own: nearly all of their time is waiting."""
    with order_server() as url, ThreadPoolExecutor(len(WAYS)) as pool:
        runs = [pool.submit(go, way, client, url, wanted) for way, client in clients(url).items()]
        return [run.result() for run in runs]


def table(rows: Sequence[dict[str, Any]]) -> None:
    """Print the rows."""
    heads = [column.replace("_", " ") for column in COLUMNS]
    width = max(len(row["way"]) for row in rows)
    print(f"\n{'':{width}}  {'  '.join(heads)}")
    for row in rows:
        cells = (f"{row[column]:>{len(head)}}" for column, head in zip(COLUMNS, heads, strict=True))
        print(f"{row['way']:{width}}  {'  '.join(cells)}")


def complain(rows: Sequence[dict[str, Any]]) -> int:
    """Say where one of our rows went wrong, and return the exit code."""
    wrong = [row for row in rows if row["ours"] and row["wrong"]]
    for row in wrong:
        print(f"{row['way']} went wrong: {row['wrong']}", file=sys.stderr)
    return 1 if wrong else 0


def arguments() -> argparse.Namespace:
    """What was asked for."""
    named = f"duplicates-{sys.version_info.major}.{sys.version_info.minor}.json"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="20 orders: each failure once")
    parser.add_argument("--json", type=Path, default=RESULTS / named, help="where figures go")
    parser.add_argument(
        "--plot", type=Path, default=RESULTS / "duplicates.svg", help="an SVG or PNG to draw"
    )
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    logging.disable(logging.WARNING)  # every failure is logged by somebody: hundreds of lines
    rows = measure(orders(20 if asked.quick else asked.orders))
    table(rows)
    for path in (asked.json, asked.plot):
        path.parent.mkdir(exist_ok=True)
    asked.json.write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    print(f"\nwritten to {asked.json}")
    print(plot(rows, asked.plot))
    return complain(rows)


if __name__ == "__main__":
    sys.exit(main())
