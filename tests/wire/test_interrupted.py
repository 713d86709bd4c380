"""A sync call that is interrupted, at its first blocking operation, its second, and so on.

As in `test_cancelled`: each time the server's book decides what may be said, nothing is held, and
the same request once more is not a second order.
"""

from __future__ import annotations

import gc
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from httpx_recover import _drive, task
from httpx_recover._memory import MEMORY
from httpx_recover.requests import RecoverAdapter
from tests.drivers import LIBRARIES, Session
from tests.stopping import End, OpenBook, Stop
from tests.wire.test_cancelled import (
    CASES,
    MOST,
    POLICY,
    Run,
    check_book,
    check_repeat,
    held_by,
)

BLOCKING = ("connect", "send", "sendall", "recv", "recv_into")


@dataclass
class SyncRun(Run):
    """One call through a client that blocks."""

    watch: Callable[[Stop | None], None] = lambda stop: None

    @property
    def left(self) -> bool:
        """requests tells no events: there it may always have left."""
        return self.means == "requests" or super().left

    def go(self, stop: Stop | None = None) -> End:
        """Make the call, and interrupt it where `stop` says."""
        on = self.on_requests if self.means == "requests" else self.on_httpx
        ended = on(stop)
        gc.collect()  # urllib3 closes a pool when nobody knows it any more
        self.server.rest()
        if self.means == "requests":
            self.events = ["http11.send_request_headers.started"] * self.server.sent("a")
        return ended

    def call(self, send: Callable[[], Any], stop: Stop | None) -> End:
        end = End()
        self.watch(stop)
        try:
            send()  # what it gives would hold its pool
        except KeyboardInterrupt:
            end.cancelled = True
        except Exception as exc:
            end.error = exc.with_traceback(None)  # which holds it too
            exc.__cause__ = exc.__context__ = None
        finally:
            self.watch(None)
        return end

    @property
    def rules(self) -> tuple[Any, ...]:
        return () if self.case.rule is None else (self.case.rule,)

    @property
    def arguments(self) -> dict[str, Any]:
        return {} if self.case.safe else {"json": {"ref": "a"}}

    def on_httpx(self, stop: Stop | None) -> End:
        library, mounts = LIBRARIES[self.means]
        limits = library.Limits(max_connections=1)
        inner = library.HTTPTransport(limits=limits, verify=False)  # no certificates to load
        mount = mounts.RecoverTransport(inner, policy=POLICY, rules=self.rules)
        settings = {"transport": mount, "timeout": 5, "trust_env": False, "verify": False}
        extensions = {"trace": lambda event, info: self.events.append(event)}
        with library.Client(follow_redirects=True, **settings) as client:
            send = lambda: client.request(  # noqa: E731 - called by `call`
                self.case.method,
                self.server.url + self.case.path,
                **self.arguments,
                extensions=extensions,
            )
            end = self.call(send, stop)
            self.held = held_by(inner._pool)
            ours = {"recover": False, "timeout": {"pool": 5, "connect": 5}}
            assert client.get(self.server.url + "/fine/b", extensions=ours).status_code == 200
        return end

    def on_requests(self, stop: Stop | None) -> End:
        adapter = RecoverAdapter(pool_maxsize=1, pool_block=True, policy=POLICY, rules=self.rules)
        with Session(5) as session:
            session.mount("http://", adapter)
            url = self.server.url + self.case.path
            end = self.call(lambda: session.request(self.case.method, url, **self.arguments), stop)
            pools = adapter.poolmanager.pools
            taken = [key for key in pools.keys() if not pools[key].pool.full()]  # noqa: SIM118
            self.held = f"{taken}" if taken else ""
        return end


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Stop | None], None]:
    """Counts what blocks on this thread, and interrupts it where it is due."""
    here, held = threading.get_ident(), [None]

    def due() -> None:
        stop: Any = held[0]
        if stop is not None and threading.get_ident() == here and stop.due():
            raise KeyboardInterrupt

    def interruptible(plain: Any, *, closes: bool) -> Any:
        def call(mine: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                due()
            except KeyboardInterrupt:
                if closes:  # socket.create_connection leaves it open
                    mine.close()
                raise
            return plain(mine, *args, **kwargs)

        return call

    class Clock(_drive.Clock):
        def sleep(self, seconds: float) -> None:
            due()
            super().sleep(seconds)

    for name in BLOCKING:
        made = interruptible(getattr(socket.socket, name), closes=name == "connect")
        monkeypatch.setattr(socket.socket, name, made)
    monkeypatch.setattr("httpx_recover._drive.clock", Clock())

    def set_(stop: Any) -> None:
        held[0] = stop

    return set_


def each_stop(name: str, means: str, watch: Any) -> Iterator[SyncRun]:
    """A run for each blocking operation of the call, until it ends before it is interrupted."""
    for at in range(1, MOST):
        MEMORY.clear()
        server = OpenBook()
        try:
            run = SyncRun(CASES[name], means, server, Stop(at), watch=watch)
            yield run
        finally:
            server.close()
        if not run.stop.done:
            return
    raise AssertionError(f"still not over at {MOST}")


@pytest.mark.parametrize("means", [*LIBRARIES, "requests"])
@pytest.mark.parametrize("name", CASES)
def test_wherever_a_call_is_interrupted_its_task_tells_the_truth(
    watch: Any, name: str, means: str
) -> None:
    interrupted = 0
    for run in each_stop(name, means, watch):
        with task("t") as t:
            run.end = run.go(run.stop)
            told = t.report().to_dict()["actions"]
            run.facts = told[0]
            interrupted += run.end.cancelled
            assert run.end.cancelled == run.stop.done
            assert run.held == ""
            check_book(run)
            if run.end.cancelled:
                check_repeat(run, run.again())
    assert interrupted >= 3
