"""The house has floors: a module imports from below, never from above."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import httpx_recover

PACKAGE = Path(httpx_recover.__file__).parent
FLOORS = {
    0: "_words _errors",
    1: "_table _waits _evidence _keys _budget _fingerprint _patterns _targets _template _grammar",
    2: "_policy _plan _ledger _call _report verify",
    3: "_memory _outcome _task _block _drive",
    4: "_httpx_wire _httpx_io _httpx_view _httpx_port _httpx_sync _httpx_async _httpx_mount "
    "httpx httpx2",
    5: "_cli _demo _demo._server _demo._book _demo._show __main__",
    6: "__init__",
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names.split()}
PREFIX = "httpx_recover."
IMPURE = {"time", "random", "uuid", "socket", "threading", "asyncio", "contextvars", "os", "io"}
CLIENTS = {"httpx", "httpx2", "requests", "anyio", "trio"}
CLOCKS = {"now", "utcnow", "today", "monotonic", "perf_counter"}


def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if name != "__init__":
            name = name.removesuffix(".__init__")
        found[name] = ast.parse(path.read_text())
    return found


def imports(tree: ast.Module) -> set[str]:
    """Full names of what a module imports at run time."""
    found: set[str] = set()
    skipped = {
        each
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for each in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found.update(f"{node.module}.{each.name}" for each in node.names)
    return found


def faults_of(name: str, tree: ast.Module) -> list[str]:
    """What a module does that its floor forbids."""
    floor, said = FLOOR[name], imports(tree)
    own = {
        each.removeprefix("httpx_recover.") for each in said if each.startswith("httpx_recover.")
    }
    faults = [f"imports {each}" for each in own if FLOOR.get(each, -1) > floor]
    tops = {each.partition(".")[0] for each in said}
    if floor <= 2:
        faults += [f"imports {each}" for each in tops & IMPURE]
        faults += [
            f"calls .{node.func.attr}()"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CLOCKS
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id in ("datetime", "date", "time")
        ]
    if floor <= 3 and name != "_drive":
        faults += [f"imports {each}" for each in tops & CLIENTS]
    if name.startswith("_httpx_"):
        faults += [f"imports {each}" for each in tops & {"httpx", "httpx2"}]
    return faults


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_keeps_to_its_floor(name: str) -> None:
    assert name in FLOOR, f"{name} stands on no floor: add it to the table"
    assert faults_of(name, modules()[name]) == []


def test_the_check_can_fail() -> None:
    bad = "import time\nimport httpx\nfrom httpx_recover import _task\ntime.monotonic()"
    assert sorted(faults_of("_table", ast.parse(bad))) == [
        "calls .monotonic()",
        "imports _task",
        "imports httpx",
        "imports time",
    ]


def test_the_import_graph_has_no_cycle() -> None:
    graph = {
        name: {each.removeprefix(PREFIX) for each in imports(tree) if each.startswith(PREFIX)}
        & set(FLOOR) - {name}
        for name, tree in modules().items()
        if name != "__init__"
    }
    while graph:
        free = {name for name, needs in graph.items() if not needs & set(graph)}
        assert free, f"a cycle among {sorted(graph)}"
        graph = {name: needs for name, needs in graph.items() if name not in free}


def test_there_is_one_context_variable() -> None:
    made = [
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ContextVar"
    ]
    assert made == ["_task"]


def test_importing_the_package_loads_no_client() -> None:
    code = "import sys, httpx_recover; print(' '.join(sys.modules))"
    # A measurement of coverage would load what it needs into the child too.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env
    ).stdout.split()
    assert "httpx_recover._task" in loaded
    assert not {"httpx", "httpx2", "requests", "anyio", "asyncio", "sqlite3", "ssl"} & set(loaded)
