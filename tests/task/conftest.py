"""No test of tasks waits."""

from __future__ import annotations

import pytest

from tests.conftest import FakeClock


@pytest.fixture(autouse=True)
def _no_waiting(clock: FakeClock) -> None:
    """The clock of every test here."""
