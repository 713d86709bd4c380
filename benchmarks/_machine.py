"""Where and with what a benchmark was run."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

NAMES = (
    "httpx",
    "httpx2",
    "requests",
    "urllib3",
    "httpx-retries",
    "pydantic-ai-slim",
    "retryhttp",
    "stamina",
    "tenacity",
)


def cpu() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def installed(name: str) -> str | None:
    """The version of a library, None where it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, Any]:
    """The machine, the versions and the date, for the file of results."""
    return {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
        "versions": {name: installed(name) for name in NAMES},
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }
