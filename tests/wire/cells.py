"""The cells of the grid: which calls there are, and where each of their exchanges may end.

The requests are the same bytes with every client, so that a byte is the same place everywhere;
each cell that is played checks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from tests.cutting import END, HOWS, Fault

KINDS = ("GET", "PUT", "DELETE", "POST", "keyed", "verified")
ALWAYS = ("httpx sync", "requests sync")
EVERY = 16  # where not every byte is tried, every 16th is; `columns` says where
SLOW = ("stall", "stop")
CONNECT, SHAKE, ACCEPT = "connect", "handshake", "accept"
RAN: Counter[str] = Counter()  # cells that were played in this run, by driver
HEAD, BODY, ANSWER, CONTENT = "request head", "request body", "answer head", "answer body"


class Cell(NamedTuple):
    """One call, and how and where it ends.

    Attributes:
        kind: which call.
        how: how the exchange ends; see `tests.cutting`.
        stage: in which part of the exchange.
        byte: after how many bytes of that part.
        mode: `once`, the fault meets the first exchange only; `twice`, the first two, whatever
            they are: a resend or a verifier's read; `resend`, the first two sends of the write.
    """

    kind: str
    how: str
    stage: str
    byte: int
    mode: str = "once"

    @property
    def method(self) -> str:
        return self.kind if self.kind in KINDS[:4] else "POST"

    def faults(self) -> list[Fault]:
        """What the server is told."""
        size = sizes(self.kind)
        if self.stage == CONNECT:
            return []
        fault = Fault(self.how, sleeps=2 if self.mode == "once" else 1)
        if self.stage in (SHAKE, ACCEPT):
            fault = fault._replace(read=0, shaken=self.stage == ACCEPT)
        elif self.stage in (HEAD, BODY):
            fault = fault._replace(read=self.byte + (self.stage == BODY) * size[HEAD])
        else:
            fault = fault._replace(sent=self.byte + (self.stage == CONTENT) * size[ANSWER])
        if self.mode == "resend":
            fault = fault._replace(method=self.method[:1].encode())
        return [fault] * (1 if self.mode == "once" else 2)


# ---------------------------------------------------------------------- what is sent

COMMON = {"User-Agent": "grid", "Accept-Encoding": "identity"}
KEY = "Idempotency-Key: 01234567-89ab-cdef-0123-456789abcdef"


def target(kind: str, number: int) -> str:
    """The path of a call; each cell has its own."""
    return f"/{kind}/{number:05}"


def request_of(kind: str, number: int) -> tuple[dict[str, str], bytes | None]:
    """The headers and the body of a call, of the same length for every number."""
    if kind == "GET":
        return {**COMMON, "Host": "grid.test"}, None
    if kind == "DELETE":
        return {**COMMON, "Host": "grid.test", "Content-Length": "0"}, None
    body = b'{"ref":"%05d"}' % number
    told = {"Host": "grid.test", "Content-Type": "application/json"}
    return {**COMMON, **told, "Content-Length": str(len(body))}, body


@cache
def sizes(kind: str) -> dict[str, int]:
    """The bytes of each part of the exchange, when nothing goes wrong."""
    headers, body = request_of(kind, 0)
    method = Cell(kind, "", "", 0).method
    lines = [f"{method} {target(kind, 0)} HTTP/1.1", *(f"{n}: {v}" for n, v in headers.items())]
    lines += [KEY] if method == "POST" else []
    content = {"DELETE": '{"gone": true}'}.get(kind, '{"ref": "00000"}')
    status = "201 Created" if method == "POST" else "200 OK"
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}"
    return {
        HEAD: len("\r\n".join(lines)) + len(END),
        BODY: len(body or b""),
        ANSWER: len(head) + len(END),
        CONTENT: len(content),
    }


# ---------------------------------------------------------------------- which cells there are


class Column(NamedTuple):
    """The cells of one kind of call that one driver meets in one way, at every `step`-th byte."""

    driver: str
    how: str
    kind: str
    mode: str
    step: int
    tls: bool = False

    def __str__(self) -> str:
        where = "over TLS" if self.tls else self.mode
        return f"{self.driver} {self.how} {where} {self.kind}"

    def cells(self) -> list[Cell]:
        """They, in the order of the exchange."""
        found = [
            Cell(self.kind, self.how, stage, byte, self.mode)
            for stage, byte in places(self.kind, self.step)
            # Before a byte is read nobody knows whether it is a resend.
            if self.mode != "resend" or stage != ACCEPT
        ]
        if self.tls:
            found.insert(0, Cell(self.kind, self.how, SHAKE, 0, self.mode))
        if self.how == "stop" and self.mode == "once":
            found.insert(0, Cell(self.kind, self.how, CONNECT, 0, self.mode))
        return found


def places(kind: str, step: int = 1) -> Iterator[tuple[str, int]]:
    """The places of an exchange: the first and last byte of each part, and every `step`-th.

    After 0 bytes of the answer the write was applied, and nothing was sent.
    """
    size = sizes(kind)
    yield ACCEPT, 0
    for stage, first in ((HEAD, 1), (BODY, 1), (ANSWER, 0), (CONTENT, 1)):
        for byte in range(first, size[stage] + 1):
            if byte in (first, size[stage]) or byte % step == 0:
                yield stage, byte


def columns(driver: str, *, full: bool) -> list[Column]:
    """What a run does with a driver; some drivers only in a full one."""
    if not (full or driver in ALWAYS):
        return []
    steps = {"once": 1, "twice": EVERY // 4 if full else EVERY, "tls": EVERY}
    slow = 1 if full else EVERY // 2
    found = []
    for how, kind in product(HOWS, KINDS):
        step = slow if how in SLOW else steps["once"]
        found.append(Column(driver, how, kind, "once", step))
        found.append(Column(driver, how, kind, "twice", steps["twice"]))
        if kind == "verified":
            found.append(Column(driver, how, kind, "resend", steps["twice"]))
        if driver in ALWAYS:
            found.append(Column(driver, how, kind, "once", steps["tls"], tls=True))
    return found
