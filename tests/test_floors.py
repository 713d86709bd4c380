"""The house has floors: a module imports from below, never from above."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path

import pytest

import httpx_recover

PACKAGE = Path(httpx_recover.__file__).parent
FLOORS = {
    0: "_words _errors",
    1: "_table _waits _evidence _keys _budget _fingerprint _patterns _targets _template "
    "_grammar _credentials _ranges dialects dialects._times dialects._ratelimit dialects._paths "
    "dialects._body dialects._codes dialects._records dialects._schema dialects._statements "
    "dialects._partial dialects._read",
    2: "_policy _plan _ledger _call _report verify",
    3: "_memory _outcome _task _block _drive _presets _explain",
    4: "_layers _fork _flow _bodies _view _port _lean _blocking _mount "
    "_httpx_wire _httpx_io _httpx_stream _httpx_port _httpx_sync _httpx_async _httpx_mount "
    "httpx httpx2 _requests_wire _requests_io _requests_stream _requests_phase _requests_port "
    "_requests_mount requests",
    5: "_cli _cli_explain _demo _demo._server _demo._book _demo._show __main__",
    6: "__init__",  # the roof: only extras may stand on it
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names.split()}
EXTRAS, ROOF = 5, "__init__"
# Which modules may import what is not in the standard library.
OUTSIDE = {
    "_drive": {"anyio"},
    "_httpx_async": {"anyio"},
    "httpx": {"httpx"},
    "httpx2": {"httpx2"},
    **{
        f"_requests_{name}": {"requests", "urllib3"}
        for name in ("wire", "io", "stream", "mount", "phase")
    },
    "requests": {"requests", "urllib3"},
    "_demo": {"httpx"},
    "_demo._book": {"httpx", "tenacity"},
    "_demo._show": {"rich"},
}
# Clocks, chance, input and output: none of them below floor 3.
IMPURE = {
    *("asyncio", "concurrent", "contextvars", "multiprocessing", "threading", "time"),
    *("io", "os", "pathlib", "shutil", "signal", "subprocess", "tempfile"),
    *("random", "secrets", "select", "selectors", "socket", "sqlite3", "ssl", "uuid"),
}
CLOCKS = {"now", "utcnow", "today"}
DOORS = {"open", "print", "input"}
# `_errors` finds a client's own error by name when it is unpickled, the roof what needs a client.
DYNAMIC = {"_errors", ROOF}


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its name below `httpx_recover`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text())
    return found


def imports(name: str, tree: ast.Module) -> set[str]:
    """Full names of what a module imports at run time, at its top or inside a function."""
    inner = any(each.startswith(f"{name}.") for each in FLOOR)
    package = "httpx_recover" if name == ROOF else f"httpx_recover.{name}"
    package = package if inner or name == ROOF else package.rpartition(".")[0]
    typing_only = {
        each
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for each in ast.walk(statement)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        if node in typing_only:
            continue
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            found.update(f"{source}.{each.name}" for each in node.names)
    return found


def own(said: set[str]) -> set[str]:
    """The modules of this package among what is imported; a name of the package is the roof's."""
    found = set()
    for each in said:
        top, _, rest = each.partition(".")
        if top == "httpx_recover":
            names = (rest, rest.rpartition(".")[0])
            found.add(next((name for name in names if name in FLOOR), ROOF))
    return found


def faults_of(name: str, tree: ast.Module) -> list[str]:
    """What a module does that its floor forbids."""
    floor, said = FLOOR[name], imports(name, tree)
    faults = [f"imports {each}" for each in own(said) if floor < EXTRAS and FLOOR[each] > floor]
    tops = {each.partition(".")[0] for each in said} - {"httpx_recover"}
    allowed = sys.stdlib_module_names | OUTSIDE.get(name, set())
    faults += [f"imports {each}" for each in tops - allowed]
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if name not in DYNAMIC:
        faults += [f"calls {each}" for each in called if "import_" in each]
    if floor <= 2:
        faults += [f"imports {each}" for each in tops & IMPURE]
        faults += [f"calls {each}" for each in called & DOORS]
        faults += [
            f"reads {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr in CLOCKS
        ]
    return faults


def test_the_table_names_every_module_and_no_other() -> None:
    assert set(modules()) == set(FLOOR)


@pytest.mark.parametrize("name", sorted(modules()))
def test_a_module_keeps_to_its_floor(name: str) -> None:
    assert name in FLOOR, f"{name} stands on no floor: add it to the table"
    assert faults_of(name, modules()[name]) == []


@pytest.mark.parametrize(
    ("name", "code", "fault"),
    [
        ("_table", "from httpx_recover import _task", "imports _task"),
        ("_table", "from httpx_recover._task import SCOPE", "imports _task"),
        ("_table", "import httpx_recover._task", "imports _task"),
        ("_table", "from . import _task", "imports _task"),
        ("_table", "from ._task import SCOPE", "imports _task"),
        ("_table", "def late():\n    import httpx_recover._call", "imports _call"),
        ("_httpx_port", "from httpx_recover import task", "imports __init__"),
        ("_httpx_port", "import httpx_recover", "imports __init__"),
        ("_httpx_port", "from . import *", "imports __init__"),
        ("_httpx_port", "from ._demo._book import bare", "imports _demo._book"),
        ("_table", "import time", "imports time"),
        ("_call", "from os import path", "imports os"),
        ("_call", "if TYPE_CHECKING:\n    pass\nelse:\n    import uuid", "imports uuid"),
        ("_call", "import datetime\ndatetime.datetime.now(None)", "reads datetime.datetime.now"),
        ("_call", "from datetime import date\nday = date.today", "reads date.today"),
        ("_report", "print(1)", "calls print"),
        ("_call", "import httpx", "imports httpx"),
        ("_call", "import anyio", "imports anyio"),
        ("_drive", "import httpx", "imports httpx"),
        ("_task", "import anyio.abc", "imports anyio"),
        ("_httpx_wire", "import httpx2", "imports httpx2"),
        ("httpx", "import httpx2", "imports httpx2"),
        ("_task", "import importlib\nimportlib.import_module(x)", "calls importlib.import_module"),
        ("_task", "__import__('httpx')", "calls __import__"),
    ],
)
def test_the_check_can_fail(name: str, code: str, fault: str) -> None:
    assert faults_of(name, ast.parse(code)) == [fault]


def test_the_check_lets_pass_what_is_allowed() -> None:
    typed = "if TYPE_CHECKING:\n    from httpx_recover import _task\n    import httpx"
    assert faults_of("_table", ast.parse(typed)) == []
    assert faults_of("_table", ast.parse("from ._words import Applied\nimport re")) == []
    assert faults_of("_demo._book", ast.parse("from httpx_recover import task")) == []
    assert faults_of("_demo", ast.parse("from ._book import bare")) == []
    assert faults_of("_drive", ast.parse("import time\nimport anyio")) == []


def cycle_in(graph: dict[str, set[str]]) -> set[str]:
    """The modules that are left when all that lean on nothing unread have been taken away."""
    while graph:
        free = {name for name, needs in graph.items() if not needs & set(graph) - {name}}
        if not free:
            break
        graph = {name: needs for name, needs in graph.items() if name not in free}
    return set(graph)


def test_the_import_graph_has_no_cycle() -> None:
    assert cycle_in({name: own(imports(name, tree)) for name, tree in modules().items()}) == set()
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"a", "b", "c"}


def test_there_is_one_context_variable() -> None:
    made = [
        name
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "ContextVar" in ast.unparse(node.func)
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
