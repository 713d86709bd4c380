"""What every test begins with: a process that remembers nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from httpx_recover._memory import MEMORY


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    MEMORY.clear()
    yield
    MEMORY.clear()
