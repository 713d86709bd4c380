"""Three ways to book the same orders, and what each client believes afterwards.

A belief is the client's own: no way asks the server's book for it. `bare` and `blind` can only
believe what their code can tell, an answer or an error. `recovering` takes the word of the
report, which may also be that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

import httpx
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from httpx_recover import Policy, RecoverTransport, Rule, task, verify
from httpx_recover._demo._server import READ_TIMEOUT, Order

# `settle` outlasts the server's late bookings (0.25 s after a failure) by half a second, which
# is what makes an absence seen after it a proof. A real API needs a figure of its own here.
POLICY = Policy(backoff=(0.1, 0.2), jitter=0.05, settle=0.75)
RULE = Rule("POST /recover/orders", verify=verify.found("?ref={json.ref}"))

_TIMEOUT = httpx.Timeout(5.0, read=READ_TIMEOUT)


class Belief(StrEnum):
    """What a client holds for true about one order."""

    BOOKED = "booked"
    FAILED = "not booked"
    UNKNOWN = "does not know"


class Run(NamedTuple):
    """How one way went: what it believes of each ref, and its report if it writes one."""

    beliefs: dict[str, Belief]
    report: str = ""


class Way(NamedTuple):
    """One way to book: its name, its book on the server, what it does, and the doing."""

    name: str
    path: str
    what: str
    book: Callable[[str, Sequence[Order], Callable[[], None]], Run]


def orders(count: int) -> list[Order]:
    """Return `count` orders, numbered from 1."""
    return [{"ref": f"order-{n:03}", "item": "book", "copies": 1} for n in range(1, count + 1)]


def bare(url: str, wanted: Sequence[Order], tick: Callable[[], None]) -> Run:
    """Post each order once: an exception or an error status is a failure."""
    with httpx.Client(base_url=url, timeout=_TIMEOUT, trust_env=False) as client:

        def book(order: Order) -> None:
            client.post("/bare/orders", json=order).raise_for_status()

        return _believing(book, wanted, tick)


def blind(url: str, wanted: Sequence[Order], tick: Callable[[], None]) -> Run:
    """Post each order up to three times, as tenacity is mostly used."""
    with httpx.Client(base_url=url, timeout=_TIMEOUT, trust_env=False) as client:

        @retry(
            stop=stop_after_attempt(3),
            wait=wait_exponential(multiplier=0.1),
            retry=retry_if_exception_type((httpx.HTTPError,)),
            reraise=True,
        )
        def book(order: Order) -> None:
            client.post("/blind/orders", json=order).raise_for_status()

        return _believing(book, wanted, tick)


def _believing(
    book: Callable[[Order], None], wanted: Sequence[Order], tick: Callable[[], None]
) -> Run:
    beliefs = {}
    for order in wanted:
        try:
            book(order)
            beliefs[order["ref"]] = Belief.BOOKED
        except httpx.HTTPError:
            beliefs[order["ref"]] = Belief.FAILED
        tick()
    return Run(beliefs)


def recovering(url: str, wanted: Sequence[Order], tick: Callable[[], None]) -> Run:
    """Post each order in a task of its own, over the recovering transport."""
    beliefs = {}
    transport = RecoverTransport(policy=POLICY, rules=[RULE], trust_env=False)
    with (
        httpx.Client(base_url=url, transport=transport, timeout=_TIMEOUT) as client,
        task(f"book {len(wanted)} orders") as whole,
    ):
        for order in wanted:
            with task(order["ref"]) as one, suppress(httpx.HTTPError):
                client.post("/recover/orders", json=order)
            beliefs[order["ref"]] = belief(one.report().status)
            tick()
    return Run(beliefs, str(whole.report()))


def belief(status: str) -> Belief:
    """Read the status of a report about one order."""
    return {"done": Belief.BOOKED, "failed": Belief.FAILED}.get(status, Belief.UNKNOWN)


WAYS = (
    Way("bare httpx", "bare", "one post; an exception or an error status counts as failed", bare),
    Way("blind retry", "blind", "tenacity, three attempts, sent again after every error", blind),
    Way(
        "httpx_recover",
        "recover",
        "reads the order back before it sends again, and believes its own report",
        recovering,
    ),
)
