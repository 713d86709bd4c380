"""The loops, the clock, and what is written down when a caller goes."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest
import trio

from httpx_recover import Applied, UnknownOutcome, _drive, outcome, task
from httpx_recover._words import Send, Step, Stop, Wait
from tests.conftest import FakeClock
from tests.task.script import Server


class Port:
    """Plays steps; an exception among them is raised."""

    def __init__(self, *steps: Any) -> None:
        self.steps = list(steps)
        self.carried: list[Step] = []
        self.gone: BaseException | None = None

    def carry(self, step: Step) -> Step:
        self.carried.append(step)
        after = self.steps.pop(0)
        if isinstance(after, BaseException):
            raise after
        return after  # type: ignore[no-any-return] # whatever the test gave

    def finish(self, step: Stop) -> Any:
        if step.give == "error":
            raise KeyError("the real failure")
        return step.give

    def abandon(self, exc: BaseException) -> None:
        self.gone = exc


class APort(Port):
    async def carry(self, step: Step) -> Step:  # type: ignore[override] # the other colour
        return super().carry(step)


def drive(colour: str, *steps: Any) -> tuple[Port, Any]:
    port: Any = Port(*steps[1:]) if colour == "sync" else APort(*steps[1:])
    if colour == "sync":
        return port, lambda: _drive.run(port, steps[0])
    return port, lambda: asyncio.run(_drive.arun(port, steps[0]))


COLOURS = pytest.mark.parametrize("colour", ["sync", "async"])


@COLOURS
def test_steps_are_carried_out_until_stop(colour: str) -> None:
    port, go = drive(colour, Send(1), Wait(1.0), Send(2), Stop("response"))
    assert go() == "response"
    assert port.carried == [Send(1), Wait(1.0), Send(2)]
    assert port.gone is None


@COLOURS
def test_a_call_that_is_over_carries_nothing(colour: str) -> None:
    port, go = drive(colour, Stop("refused"))
    assert go() == "refused"
    assert port.carried == []


@COLOURS
def test_the_end_raises_without_being_taken_for_a_caller_gone(colour: str) -> None:
    port, go = drive(colour, Send(1), Stop("error"))
    with pytest.raises(KeyError, match="the real failure"):
        go()
    assert port.gone is None


@COLOURS
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, AssertionError])
def test_what_breaks_the_loop_is_recorded_and_raised_on(
    colour: str, kind: type[BaseException]
) -> None:
    exc = kind("now")
    port, go = drive(colour, Send(1), exc)
    with pytest.raises(kind) as raised:
        go()
    assert raised.value is exc
    assert port.gone is exc


# ------------------------------------------------------------------ through a mount


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_an_interrupted_write_is_unknown(clock: FakeClock, method: str) -> None:
    server = Server(KeyboardInterrupt, 201)
    with task("t") as t, server.client() as client:
        with pytest.raises(KeyboardInterrupt):
            client.request(method, "/a")
        assert t.report().unknown == (
            f"{method} api.example.com/a #1 unknown_outcome KeyboardInterrupt after 1 send "
            f"stopped by cancelled",
        )


def test_a_repeat_of_an_interrupted_write_is_refused(clock: FakeClock) -> None:
    server = Server(KeyboardInterrupt, 201)
    with server.client() as client:
        with pytest.raises(KeyboardInterrupt):
            client.post("/a")
        with pytest.raises(UnknownOutcome):
            client.post("/a")
    assert len(server.seen) == 1


def test_an_interrupted_read_is_only_failed(clock: FakeClock) -> None:
    with task("t") as t, Server(KeyboardInterrupt).client() as client:
        with pytest.raises(KeyboardInterrupt):
            client.get("/a")
        assert t.report().status == "failed"


async def _hang(request: httpx.Request) -> httpx.Response:
    import anyio

    await anyio.sleep(60)
    raise AssertionError("nobody waits that long")


def _hanging() -> httpx.AsyncClient:
    from httpx_recover import AsyncRecoverTransport

    return httpx.AsyncClient(transport=AsyncRecoverTransport(httpx.MockTransport(_hang)))


def test_a_cancelled_write_is_unknown_under_asyncio() -> None:
    async def main() -> None:
        async with _hanging() as client:
            sending = asyncio.create_task(client.post("https://api.example.com/a"))
            await asyncio.sleep(0.02)
            assert t.report().unknown, "what is in flight is not known yet"
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending

    with task("t") as t:
        asyncio.run(main())
        assert "CancelledError after 1 send stopped by cancelled" in t.report().unknown[0]


def test_a_cancelled_write_is_unknown_under_trio() -> None:
    async def main() -> None:
        async with _hanging() as client:
            with trio.move_on_after(0.02):
                await client.post("https://api.example.com/a")

    with task("t") as t:
        trio.run(main)
        assert "Cancelled after 1 send stopped by cancelled" in t.report().unknown[0]


def test_a_call_cancelled_in_its_wait_says_how_the_last_send_ended(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(clock, "sleep", interrupted)
    with task("t") as t, Server(503).client() as client:
        with pytest.raises(KeyboardInterrupt):
            client.put("/a")
        [entry] = t.report().unknown
    assert "503 after 1 send stopped by cancelled" in entry


# ------------------------------------------------------------------ the clock


def test_the_clock_tells_time_and_chance() -> None:
    clock = _drive.Clock()
    before = time.monotonic(), time.time()
    assert before[0] <= clock.now() <= time.monotonic()
    assert before[1] <= clock.wall() <= time.time()
    assert len({clock.chance() for _ in range(10)}) > 1
    assert all(0 <= clock.chance() < 1 for _ in range(10))


def test_the_clock_sleeps_on_the_thread() -> None:
    start = time.monotonic()
    _drive.Clock().sleep(0.03)
    assert time.monotonic() - start >= 0.03


@pytest.mark.parametrize("run", [asyncio.run, lambda sleeping: trio.run(lambda: sleeping)])
def test_the_clock_sleeps_under_either_loop(run: Any) -> None:
    start = time.monotonic()
    run(_drive.Clock().asleep(0.03))
    assert time.monotonic() - start >= 0.03


def test_waits_are_the_backoff_and_then_the_end(clock: FakeClock) -> None:
    with Server(503, 503, 200).client() as client:
        found = outcome(client.get("/a"))
    assert clock.slept == [1.0, 2.0]
    assert found is not None
    assert found.applied is Applied.YES


def test_jitter_is_added_upward(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "chance", lambda: 1.0)
    with Server(503, 200).client() as client:
        client.get("/a")
    assert clock.slept == [1.5]
