"""The clock of these tests."""

from __future__ import annotations

import pytest

from httpx_recover import _drive
from tests.task.mocked import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_drive, "clock", clock)
    return clock
