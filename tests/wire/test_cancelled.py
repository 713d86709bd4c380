"""A call that is cancelled, at its first await, its second, and so on until none is left.

Each time the ledger, the report and the pool are looked at, and the server's book decides: what is
called done is there once, what is called failed is not there, and nothing is sent after its caller
has gone. Then the program sends the same request again, which must not be a second blind send.
"""

from __future__ import annotations

import gc
import json
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from httpx_recover import Policy, Rule, UnknownOutcome, task, verify
from httpx_recover._memory import MEMORY
from tests.drivers import LIBRARIES
from tests.stopping import WAYS, End, OpenBook, Stop

# httpx leaves the body of a request half-way when it is stopped while sending it, as without us.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Async generator 'httpx2?\._content:ResourceWarning"
)
POLICY = Policy(backoff=(0.01,), jitter=0.0, settle=0.02)
KEYED = Rule("* /**", dedupes=True)
VERIFIED = Rule("POST /**", verify=verify.found("?ref={json.ref}"))
CONFIRMED = Rule("POST /**", verify=verify.found("?ref={json.ref}"), confirm=True)
LOST = "the body of the answer was lost"
MOST = 200  # suspensions of one call


@dataclass(frozen=True)
class Case:
    """A call that recovers, and what allows it to."""

    method: str
    path: str
    rule: Rule | None = None

    @property
    def safe(self) -> bool:
        return self.method == "GET"


CASES = {
    "a write whose answer is lost": Case("POST", "/cut_after/a"),
    "a write that is reset": Case("POST", "/cut_before/a"),
    "a keyed write that is sent again": Case("POST", "/503/keyed/a", KEYED),
    "a keyed write that had landed": Case("POST", "/cut_after/keyed/a", KEYED),
    "a keyed write whose body is cut": Case("POST", "/half/keyed/a", KEYED),
    "a verified write that had landed": Case("POST", "/cut_after/a", VERIFIED),
    "a verified write that had not": Case("POST", "/cut_before/a", VERIFIED),
    "a confirmed write": Case("POST", "/pieces/a", CONFIRMED),
    "an idempotent write": Case("PUT", "/chunked503/a"),
    "a write that has to wait": Case("POST", "/429/a"),
    "a write with a slow answer": Case("POST", "/pieces/a"),
    "a write with a slow answer of unknown length": Case("POST", "/chunks/a"),
    "a write that is redirected": Case("POST", "/moved/a"),
    "a read that is repeated": Case("GET", "/chunked503/a"),
    "a read that is confirmed": Case("GET", "/404/a"),
}
MEANS = ["httpx asyncio", "httpx asyncio again", "httpx anyio", "httpx trio"]
MEANS += ["httpx2 asyncio", "httpx2 trio"]


@dataclass
class Run:
    """One call of one case, and what it left behind."""

    case: Case
    means: str
    server: OpenBook
    stop: Stop
    end: End = field(default_factory=End)
    events: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    held: str = ""  # what the pool still holds

    @property
    def left(self) -> bool:
        """Had anything been sent, as the client's own events tell it?"""
        return any(".send_request_headers.started" in each for each in self.events)

    def go(self, stop: Stop | None = None) -> End:
        """Make the call through a client of its own, whose pool has one connection."""
        name, way, *_ = self.means.split()
        library, mounts = LIBRARIES[name]
        run, by = WAYS[way]
        rules = () if self.case.rule is None else (self.case.rule,)
        limits = library.Limits(max_connections=1)
        inner = library.AsyncHTTPTransport(limits=limits, verify=False)  # no certificates to load
        mount = mounts.AsyncRecoverTransport(inner, policy=POLICY, rules=rules)

        async def trace(event: str, info: Any) -> None:
            self.events.append(event)

        async def main() -> End:
            arguments: dict[str, Any] = {} if self.case.safe else {"json": {"ref": "a"}}
            arguments["extensions"] = {"trace": trace}
            settings: dict[str, Any] = {"transport": mount, "timeout": 5, "trust_env": False}
            settings["verify"] = False
            async with library.AsyncClient(follow_redirects=True, **settings) as client:
                url = self.server.url + self.case.path
                work = client.request(self.case.method, url, **arguments)
                end: End = await by(work, stop or Stop())
                self.held = held_by(mount.inner._pool)
                if not self.held:
                    ours = {"recover": False, "timeout": {"pool": 5, "connect": 5}}
                    next_one = await client.get(self.server.url + "/fine/b", extensions=ours)
                    assert next_one.status_code == 200
                return end

        ended: End = run(main) if way == "trio" else run(main())
        self.server.rest()
        return ended

    def again(self) -> End:
        """The program sends the same request once more."""
        before = self.server.sent("a")
        end = self.go()
        if isinstance(end.error, UnknownOutcome) and "not sent" in str(end.error):
            assert self.server.sent("a") == before
        return end


def held_by(pool: Any) -> str:
    """What the pool holds that nobody uses any more; '' when all is free."""
    active = [each for each in pool.connections if not (each.is_idle() or each.is_closed())]
    return f"{active} {pool._requests}" if active or pool._requests else ""


def own_leak(exc: BaseException | None) -> bool:
    """Was httpcore stopped where it takes or gives back a connection?

    A task's own cancellation, which no scope holds back, makes it lose the connection there, with
    us or without.
    """
    frames = traceback.extract_tb(exc.__traceback__) if exc is not None else []
    return any(frame.name in ("acquire", "aclose") for frame in frames)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes runs, each against a server of its own and with nothing remembered."""

    def make(case: Case, means: str, at: int) -> Iterator[Run]:
        MEMORY.clear()
        server = OpenBook()
        try:
            yield Run(case, means, server, Stop(at, again=means.endswith("again")))
        finally:
            server.close()

    yield make
    gc.collect()  # what was left half-way warns now


def each_stop(runs: Any, name: str, means: str) -> Iterator[Run]:
    """A run for each suspension of the call, until it ends before it is cancelled."""
    for at in range(1, MOST):
        for run in runs(CASES[name], means, at):
            yield run
            if not run.stop.done:
                return
    raise AssertionError(f"still not over at {MOST}")


@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("name", CASES)
def test_wherever_a_call_is_cancelled_its_task_tells_the_truth(
    runs: Any, name: str, means: str
) -> None:
    cancelled = 0
    for run in each_stop(runs, name, means):
        with task("t") as t:
            run.end = run.go(run.stop)
            told = t.report().to_dict()["actions"]
            run.facts = told[0]
            cancelled += run.end.cancelled
            check_end(run)
            check_pool(run)
            check_book(run)
            assert len(told) == 1, told
            if not run.end.cancelled:
                continue
            assert "ExceptionGroup" not in str(t.report())  # which trio makes of it
            repeat = run.again()
            check_repeat(run, repeat)
        if run.facts["state"] != "failed" and isinstance(repeat.error, UnknownOutcome):
            check_repeat(run, run.again())  # also outside the task, which has handed it on
    assert cancelled >= 5


def check_end(run: Run) -> None:
    """The caller gets its own cancellation, or the end that the call has without one."""
    if " asyncio" in run.means:  # others can come too late, where the rest of the call is shielded
        assert run.end.cancelled == run.stop.done
    if not run.end.cancelled:
        assert run.facts["stop"] != "cancelled"


def check_pool(run: Run) -> None:
    own = run.means.startswith(("httpx asyncio", "httpx2 asyncio")) and own_leak(run.end.error)
    assert not run.held or own, run.held


def check_book(run: Run) -> None:
    """What the report says, against what the server has."""
    facts, booked = run.facts, run.server.booked("a")
    starts = sum(".send_request_headers.started" in each for each in run.events)
    assert run.server.sent("a") <= starts  # nothing was sent on after the caller had gone
    assert booked <= 1
    if run.end.cancelled:
        assert facts["stop"] == (None if facts["state"] == "done" else "cancelled"), facts
    if run.case.safe:
        assert not run.end.cancelled or facts["state"] == "failed"
    elif facts["state"] == "done":
        assert (facts["applied"], booked) == ("yes", 1)
        assert not run.end.cancelled or facts["note"] == LOST, facts
    elif facts["state"] == "failed":
        assert (facts["applied"], booked) == ("no", 0)
    else:
        assert facts["applied"] == "unknown"
    if run.case.method == "POST" and not run.left:
        assert facts["state"] == "failed"


def check_repeat(run: Run, end: End) -> None:
    """The same request once more is never a second order."""
    case, state = run.case, run.facts["state"]
    if case.safe:
        assert end.error is None
        return
    assert run.server.booked("a") <= 1
    keys = {each.headers.get("idempotency-key") for each in run.server.seen if case_of(each, case)}
    if state == "unknown" and case.method == "POST" and run.facts["cause"] != "307":
        assert len(keys) <= 1  # a redirect that was not followed is no end: what comes is new
    if state == "failed":
        return
    if run.facts["cause"] == "307":
        assert end.error is None
    elif case.rule is None and case.method == "POST":
        assert isinstance(end.error, UnknownOutcome)
        assert "This repeat was not sent" in str(end.error)
    elif state == "unknown":
        assert end.error is None
        assert run.server.booked("a") == 1


def case_of(seen: Any, case: Case) -> bool:
    return bool(seen.method == case.method and json.loads(seen.body or b"{}").get("ref") == "a")
