"""What is written in two colours is one thing: without its colour, each twin equals the other."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

import httpx_recover

PACKAGE = Path(httpx_recover.__file__).parent
NAMES = {
    "arun": "run",
    "asleep": "sleep",
    "aread": "read",
    "aclose": "close",
    "aread_body": "read_body",
    "ashelve": "shelve",
    "atracer": "tracer",
    "AsyncPort": "SyncPort",
    "AsyncMount": "SyncMount",
    "handle_async_request": "handle_request",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
}
# `within`, `ask` and `consult` of the ports differ by design: only an async attempt is bounded as
# a whole, and only there a plain verifier needs a thread.
METHODS = ("carry", "send", "look", "walk", "read", "read_once", "signed_send")
MOUNTED = ("handle_request", "close", "__enter__", "__exit__")
PAIRS = [
    ("_drive", "run", "_drive", "arun"),
    ("_httpx_io", "read_body", "_httpx_io", "aread_body"),
    ("_httpx_io", "shelve", "_httpx_io", "ashelve"),
    *(("_httpx_sync", f"SyncPort.{m}", "_httpx_async", f"AsyncPort.{m}") for m in METHODS),
    *(
        ("_httpx_mount", f"SyncMount.{m}", "_httpx_mount", f"AsyncMount.{other}")
        for m in MOUNTED
        for other, plain in [*((k, v) for k, v in NAMES.items()), (m, m)]
        if plain == m and (other != m)
    ),
]


class Colourless(ast.NodeTransformer):
    """Turns async code into what it would be without waiting."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        plain = ast.FunctionDef(**{field: getattr(node, field, None) for field in node._fields})
        return self.visit_FunctionDef(plain)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.name = NAMES.get(node.name, node.name)
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_Await(self, node: ast.Await) -> Any:
        return self.visit(node.value)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        return self.generic_visit(ast.For(**dict(ast.iter_fields(node))))

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        return self.generic_visit(ast.With(**dict(ast.iter_fields(node))))

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = NAMES.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node.attr = NAMES.get(node.attr, node.attr)
        return self.generic_visit(node)


def plain(source: str, name: str) -> str:
    """The function `name` of a module's source, without colour."""
    body: list[Any] = ast.parse(source).body
    for part in name.split("."):
        [node] = [each for each in body if getattr(each, "name", None) == part]
        body = getattr(node, "body", [])
    for each in ast.walk(node):
        if isinstance(each, ast.arg) and each.annotation is not None:
            each.annotation = None  # the type of a port has a colour by its nature
    return ast.unparse(ast.fix_missing_locations(Colourless().visit(node)))


@pytest.mark.parametrize(("module", "name", "other", "twin"), PAIRS)
def test_twins_are_equal(module: str, name: str, other: str, twin: str) -> None:
    sync = (PACKAGE / f"{module}.py").read_text()
    coloured = (PACKAGE / f"{other}.py").read_text()
    assert plain(sync, name) == plain(coloured, twin).replace("-> AsyncMount", "-> SyncMount")


def test_the_comparison_can_fail() -> None:
    good = "async def arun(port):\n    async for x in port:\n        await port.aclose()"
    bad = good.replace("aclose()", "aclose(1)")
    sync = "def run(port):\n    for x in port:\n        port.close()"
    assert plain(good, "arun") == plain(sync, "run")
    assert plain(bad, "arun") != plain(sync, "run")


def test_every_pair_is_in_the_table() -> None:
    assert len(PAIRS) == 3 + len(METHODS) + len(MOUNTED)
