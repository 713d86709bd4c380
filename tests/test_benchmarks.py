"""The benchmarks run and write what they measured. No timing is judged here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_hot_path_is_measured(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    subprocess.run(
        [sys.executable, ROOT / "benchmarks/hot_path.py", "--quick", "--json", target],
        check=True,
        capture_output=True,
        env=env,
        timeout=50,
    )
    told = json.loads(target.read_text())
    assert told["machine"]["versions"]["httpx"]
    rows = {(row["kind"], row["library"], row["case"], row["who"]) for row in told["rows"]}
    for colour in ("sync", "async"):
        for place in ("in memory", "loopback"):
            for case in ("GET", "PUT", "POST without key", "POST with key"):
                for who in ("bare", "httpx_recover"):
                    assert (f"{colour}, {place}", "httpx", case, who) in rows
        assert (f"{colour}, in memory", "httpx2", "GET", "httpx_recover") in rows
        assert (f"{colour}, in memory", "httpx", "GET in a named task", "httpx_recover") in rows
