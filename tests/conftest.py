"""What every test begins with: a process that remembers nothing, and a clock for those who ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from httpx_recover import _drive
from httpx_recover._memory import MEMORY
from tests.wire.cells import RAN


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--every-driver",
        action="store_true",
        help="the grid of every byte with all seven drivers, and with no byte left out",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How large the grid of every byte was."""
    for driver, count in RAN.items():
        terminalreporter.write_line(f"every byte: {count:,} cells with {driver}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist tells its cells to the process that reports."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cells"] = dict(RAN)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    RAN.update(getattr(node, "workeroutput", {}).get("cells", {}))


class FakeClock(_drive.Clock):
    """Sleeping takes no time: it moves the clock and is written down."""

    def __init__(self) -> None:
        self.at = 1_000.0
        self.epoch = 1_800_000_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.at

    def wall(self) -> float:
        return self.epoch + self.at

    def chance(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock of the library, replaced."""
    clock = FakeClock()
    monkeypatch.setattr("httpx_recover._drive.clock", clock)
    return clock


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """What one test leaves unresolved must not hold back a call of the next."""
    MEMORY.clear()
    yield
    MEMORY.clear()
