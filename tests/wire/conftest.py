"""Fixtures of the tests over real sockets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from httpx_recover._memory import MEMORY
from tests.faulty import FaultServer


@pytest.fixture
def server() -> Iterator[FaultServer]:
    MEMORY.clear()
    server = FaultServer()
    yield server
    server.close()
    MEMORY.clear()
