"""The grid: every kind of call, ended in every way at every byte, by every driver.

`play` makes the calls of some cells, and says of each which promises it broke, judged by what the
server itself applied. A sleep of the library takes no time, and lets the server finish what has
reached it.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

import requests
import trio

from httpx_recover import Policy, Report, Rule, UnknownOutcome, _drive, outcome, task, verify
from httpx_recover.requests import RecoverAdapter
from tests.conftest import FakeClock
from tests.cutting import END, CuttingServer
from tests.drivers import LIBRARIES
from tests.wire.cells import (
    ACCEPT,
    ANSWER,
    BODY,
    CONNECT,
    CONTENT,
    HEAD,
    SHAKE,
    Cell,
    request_of,
    sizes,
    target,
)

RULES = {
    "keyed": [Rule("POST /keyed/*", dedupes=True)],
    "verified": [Rule("POST /verified/*", verify=verify.found("?ref={json.ref}"))],
}
UNSENT = (CONNECT, SHAKE)
PATIENCE = {"stall": (0.06, 0.3, 1.5, 5.0)}  # seconds a client waits: in vain only after a stall
WELL = (20.0,)
WORKERS = 8  # calls that wait at the same time


# ---------------------------------------------------------------------- time


class Moment(FakeClock):
    """The time of one cell. A sleep lets its server finish what has reached it."""

    def __init__(self, server: CuttingServer) -> None:
        super().__init__()
        self.server = server

    def sleep(self, seconds: float) -> None:
        self.server.slept()
        super().sleep(seconds)


MOMENT: ContextVar[Moment] = ContextVar("tests.grid.moment")


class Moments(_drive.Clock):
    """The library's clock: each cell has its own time, whatever runs beside it."""

    def now(self) -> float:
        return MOMENT.get().now()

    def wall(self) -> float:
        return MOMENT.get().wall()

    def chance(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        MOMENT.get().sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        MOMENT.get().sleep(seconds)


# ---------------------------------------------------------------------- one cell


class Trial:
    """One cell at one server: what is sent, and what its end has broken.

    Attributes:
        wrong: promises that hold on every machine, however slow.
        odd: what is only so when nothing but the fault has gone wrong.
    """

    def __init__(self, cell: Cell, server: CuttingServer, number: int, patience: float) -> None:
        self.cell, self.server, self.patience = cell, server, patience
        self.path, self.ref = target(cell.kind, number), f"{number:05}"
        self.headers, self.body = request_of(cell.kind, number)
        self.task = task("cell")
        self.wrong: list[str] = []
        self.odd: list[str] = []

    @property
    def url(self) -> str:
        return self.server.url + self.path

    def begin(self) -> None:
        """Have the server ready."""
        MOMENT.set(Moment(self.server))
        if self.cell.kind in ("GET", "DELETE"):
            self.server.things[self.path] = self.ref
        self.server.strike_next(self.cell.faults())
        if self.cell.stage == CONNECT:
            self.server.go_away(1)

    def end(self, end: Any) -> None:
        """Judge what the caller got, and the report, by what the server knows."""
        self.server.be_quiet()
        found = outcome(end)
        if found is None:
            self.wrong.append("no outcome")
            return
        state = found.facts["state"]
        self._judge_bytes()
        self._judge_effect(state)
        self._judge_report(state)
        self._judge_state(state)
        self._judge_end(state, end)
        if self.wrong or self.odd:
            self.odd.append(f"{end!r} {self.task.report()}")

    def _check(self, holds: bool, broken: str) -> None:
        if not holds:
            self.wrong.append(broken)

    def _expect(self, holds: bool, broken: str) -> None:
        if not holds:
            self.odd.append(broken)

    def _judge_bytes(self) -> None:
        """The parts of the exchange are as long as the grid believes."""
        asked, told = self.server.sizes.get(self.path, (b"", b""))
        size = sizes(self.cell.kind)
        for data, head, body in ((asked, HEAD, BODY), (told, ANSWER, CONTENT)):
            if b" 404 " in data[:16] or not data:
                continue  # the second answer to a DELETE, or nothing came whole
            found = len(data.partition(END)[0]) + len(END), len(data.partition(END)[2])
            self._check(found == (size[head], size[body]), f"{data!r} is not as long as said")

    def _judge_effect(self, state: str) -> None:
        """Nothing twice, no false done, no false failed."""
        cell, server = self.cell, self.server
        if cell.kind == "GET":
            return
        if cell.method == "POST":
            copies = server.book[self.path]
            self._check(len(copies) <= 1, f"booked {len(copies)} times")
            applied = copies == [self.ref]
        else:
            wanted = self.ref if cell.kind == "PUT" else None
            applied = server.things.get(self.path) == wanted
        self._check(applied or state != "done", "a false done")
        self._check(not applied or state != "failed", "a false failed")

    def _judge_report(self, state: str) -> None:
        """The five lines say what the outcome says."""
        report = self.task.report()
        self._check(report.status == state, f"{state}, but the report says {report.status}")
        self._check(Report.parse(str(report)).status == state, "the text says something else")
        lists = {"done": report.done, "failed": report.failed, "unknown": report.unknown}
        named = [name for name, entries in lists.items() if entries]
        self._check(named == [state], f"{state}, but listed as {named}")
        if self.cell.how != "stop":  # nobody counts what is refused
            met = self.server.met
            self._expect(report.calls == met, f"{met} exchanges, but {report.calls} calls")

    def _judge_state(self, state: str) -> None:
        """Unknown only where nothing proves what became of it."""
        cell = self.cell
        self._expect(state in may_end(cell), f"{state}, not {may_end(cell)}")
        once = len(cell.faults()) == 1
        struck = self.server.struck
        self._expect(struck == 1 if once else struck <= 2, f"{struck} faults came")

    def _judge_end(self, state: str, end: Any) -> None:
        """The caller gets the answer, or the client's own error, and no more than is known."""
        answer_lost = loses_answer(self.cell)
        if not isinstance(end, Exception):
            self._check(state == "done", f"{state}, but the caller got an answer")
            self._expect(answer_lost is not True, "an answer that was cut")
            self._check(is_answer(self.cell, end, self.ref), f"a wrong answer {end.content!r}")
            return
        unknown = isinstance(end, UnknownOutcome)
        self._check(unknown == (state == "unknown"), f"{state}, but raised {end!r}")
        self._check(isinstance(end, CLIENT_ERRORS), f"{end!r} is not the client's own")
        self._expect(unknown or answer_lost is not False, "an error though it is done")


def passed(cell: Cell, stage: str) -> bool:
    """Had the whole of this part gone by when the fault came?"""
    order = (CONNECT, SHAKE, ACCEPT, HEAD, BODY, ANSWER, CONTENT)
    here = order.index(cell.stage), cell.byte
    return here >= (order.index(stage), sizes(cell.kind)[stage])


def may_end(cell: Cell) -> set[str]:
    """How a call may end. With evidence it is always done, since the server is well again."""
    if cell.kind != "POST" or cell.stage in UNSENT:
        return {"done"}
    if cell.stage == ACCEPT:  # the client may find out before it has sent a byte, or after
        return {"done", "unknown"}
    if not passed(cell, ANSWER):
        return {"unknown"}
    # Of what came before a reset the client need not have read all.
    return {"done", "unknown"} if cell.how == "reset" else {"done"}


def loses_answer(cell: Cell) -> bool | None:
    """Does the caller get an error though it is done? None: it may be, after a reset.

    A write that was answered, but whose answer was cut, is not sent again to see it whole.
    """
    fetched = cell.kind in ("GET", "keyed")
    if fetched or not passed(cell, ANSWER) or (passed(cell, CONTENT) and cell.how != "reset"):
        return False
    return None if cell.how == "reset" else True


def is_answer(cell: Cell, response: Any, ref: str) -> bool:
    """Is it an answer of the server to this call, or what a read of it has shown?"""
    told = response.status_code, json.loads(response.content or "null")
    if cell.kind == "DELETE":
        return told in ((200, {"gone": True}), (404, {"gone": False}))
    if cell.kind == "verified" and told == (200, {"data": [{"ref": ref}]}):
        return True
    return bool(told == (201 if cell.method == "POST" else 200, {"ref": ref}))


# ---------------------------------------------------------------------- all cells

CLIENT_ERRORS = (
    *(library.TransportError for library, _ in LIBRARIES.values()),
    requests.RequestException,
)


@cache
def trusting(bundle: str | None) -> ssl.SSLContext:
    """A context for the clients: made once, since reading certificates is slow."""
    return ssl.create_default_context(cafile=bundle)


class Client:
    """Makes the clients of a driver: one for each cell, so that no connection is an old one."""

    def __init__(self, driver: str, trusted: str | None, rules: Any) -> None:
        name, _, self.colour = driver.partition(" ")
        self.library, self.mounts = LIBRARIES.get(name, (None, None))
        self.trusted, self.rules = trusted, rules
        self.context = trusting(trusted)

    def __call__(self, trial: Trial) -> Any:
        settings: dict[str, Any] = {
            "policy": Policy(),
            "rules": self.rules.get(trial.cell.kind, ()),
        }
        if self.library is None:
            return self._session(RecoverAdapter(**settings))
        sync = self.colour == "sync"
        mount = self.mounts.RecoverTransport if sync else self.mounts.AsyncRecoverTransport
        made = self.library.Client if sync else self.library.AsyncClient
        transport = mount(verify=self.context, **settings)
        client = made(transport=transport, timeout=trial.patience, trust_env=False)
        for name in ("accept", "connection"):
            del client.headers[name]
        return client

    def _session(self, adapter: Any) -> Any:
        session = requests.Session()
        session.trust_env = False
        session.verify = self.trusted or True
        session.headers.clear()
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def arguments(self, trial: Trial) -> tuple[tuple[str, str], dict[str, Any]]:
        """What the client is called with."""
        arguments: dict[str, Any] = {"headers": trial.headers}
        if trial.body is not None:
            arguments["data" if self.library is None else "content"] = trial.body
        if self.library is None:
            arguments["timeout"] = trial.patience
        return (trial.cell.method, trial.url), arguments


class Played(NamedTuple):
    """How many cells were played, and those that broke a promise, each with what it broke."""

    cells: list[Cell]
    broken: list[tuple[Cell, list[str]]]


def trials(cells: Sequence[Cell], server: CuttingServer, played: Played) -> Iterator[Trial]:
    """A trial of each cell; another with more patience where more went wrong than the fault."""
    number = 0
    for cell in cells:
        faults: list[str] = []
        for patience in PATIENCE.get(cell.how, WELL):
            number += 1
            trial = Trial(cell, server, number, patience)
            yield trial
            faults = trial.wrong + trial.odd
            if trial.wrong or not trial.odd:
                break
        played.cells.append(cell)
        if faults:
            played.broken.append((cell, faults))


def play(
    driver: str,
    cells: Sequence[Cell],
    *,
    tls: ssl.SSLContext | None = None,
    trusted: str | None = None,
    rules: Any = RULES,
) -> Played:
    """Make the calls of all cells; where the client waits, of many at the same time."""
    client, played = Client(driver, trusted, rules), Played([], [])
    workers = WORKERS if any(cell.how == "stall" for cell in cells) else 1
    servers = [CuttingServer(tls) for _ in range(workers)]
    lines = [trials(cells[n::workers], each, played) for n, each in enumerate(servers)]
    try:
        if client.colour == "sync":
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(lambda line: _play(client, line), lines))
        elif client.colour == "asyncio":
            asyncio.run(_aplay_all(client, lines))
        else:
            trio.run(_tplay_all, client, lines)
    finally:
        for server in servers:
            server.close()
    return played


def _play(client: Client, line: Iterator[Trial]) -> None:
    for trial in line:
        call, arguments = client.arguments(trial)
        trial.begin()
        with client(trial) as made, trial.task:
            try:
                end = made.request(*call, **arguments)
            except Exception as exc:
                end = exc
        trial.end(end)


async def _aplay(client: Client, line: Iterator[Trial]) -> None:
    for trial in line:
        call, arguments = client.arguments(trial)
        trial.begin()
        async with client(trial) as made, trial.task:
            try:
                end = await made.request(*call, **arguments)
            except Exception as exc:
                end = exc
        trial.end(end)


async def _aplay_all(client: Client, lines: list[Iterator[Trial]]) -> None:
    await asyncio.gather(*(_aplay(client, line) for line in lines))


async def _tplay_all(client: Client, lines: list[Iterator[Trial]]) -> None:
    async with trio.open_nursery() as nursery:
        for line in lines:
            nursery.start_soon(_aplay, client, line)
