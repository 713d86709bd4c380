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
    "ago_on": "go_on",
    "aiter": "iter",
    "anext": "next",
    "__anext__": "__next__",
    "StopAsyncIteration": "StopIteration",
    "AsyncPieces": "Pieces",
    "atracer": "tracer",
    "AsyncIterator": "Iterator",
    "AsyncPort": "SyncPort",
    "AsyncMount": "SyncMount",
    "handle_async_request": "handle_request",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
}
STEPS = ("carry", "send", "ask", "walk", "read", "read_once")
SOCKETS = ("attempt", "look", "shelve", "drop", "load", "signed_send")
TWINS = {
    "_drive:arun": "_drive:run",
    "_drive:AsyncPort.carry": "_drive:Port.carry",
    "_httpx_io:aread_body": "_httpx_io:read_body",
    "_httpx_io:ashelve": "_httpx_io:shelve",
    "_flow:Flow.ago_on": "_flow:Flow.go_on",
    "_httpx_stream:AsyncPieces.__anext__": "_httpx_stream:Pieces.__next__",
    "_httpx_stream:body_class.Body.aclose": "_httpx_stream:body_class.Body.close",
    "_httpx_wire:kept_stream.KeptStream.__aiter__": "_httpx_wire:kept_stream.KeptStream.__iter__",
    **{f"_httpx_async:AsyncPort.{name}": f"_blocking:BlockingPort.{name}" for name in STEPS},
    **{f"_httpx_async:AsyncPort.{name}": f"_httpx_sync:SyncPort.{name}" for name in SOCKETS},
    "_httpx_mount:AsyncMount.handle_async_request": "_httpx_mount:SyncMount.handle_request",
    "_httpx_mount:AsyncMount.send_write": "_httpx_mount:SyncMount.send_write",
    "_httpx_mount:AsyncMount.aclose": "_httpx_mount:SyncMount.close",
    "_httpx_mount:AsyncMount.__aenter__": "_httpx_mount:SyncMount.__enter__",
    "_httpx_mount:AsyncMount.__aexit__": "_httpx_mount:SyncMount.__exit__",
}
# What may differ, word for word: a plain verifier under an async client needs a thread.
SAME = {"self.consult(verify, view)": "verify(self.read, view)"}
# What waits and has no twin, and why.
ALONE = {
    "_drive:Clock.asleep": "each colour has its own way to sleep",
    "_httpx_async:AsyncPort.within": "only an async attempt can be bounded as a whole",
    "_httpx_async:AsyncPort.consult": "only there a plain verifier would block the loop",
    "_httpx_wire:atracer.trace": "a sync one without a callback of the caller's is no closure",
    "_task:Block.__aenter__": "is the sync one",
    "_task:Block.__aexit__": "is the sync one",
    "_task:Task.__aenter__": "is the sync one",
    "_task:Task.__aexit__": "is the sync one",
}


class Colourless(ast.NodeTransformer):
    """Turns async code into what it would be without waiting."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Any:
        return self.visit_FunctionDef(ast.FunctionDef(**dict(ast.iter_fields(node))))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.name = NAMES.get(node.name, node.name)
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> Any:
        if node.arg == "port":
            node.annotation = None  # the type of a port has a colour by its nature
        return self.generic_visit(node)

    def visit_Await(self, node: ast.Await) -> Any:
        return self.visit(node.value)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> Any:
        return self.generic_visit(ast.For(**dict(ast.iter_fields(node))))

    def visit_AsyncWith(self, node: ast.AsyncWith) -> Any:
        return self.generic_visit(ast.With(**dict(ast.iter_fields(node))))

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node.is_async = 0
        return self.generic_visit(node)

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
    text = ast.unparse(ast.fix_missing_locations(Colourless().visit(node)))
    for coloured, word in SAME.items():
        text = text.replace(coloured, word)
    return text


def read(place: str) -> str:
    """The same for a place in the package, `module:name`."""
    module, _, name = place.partition(":")
    return plain((PACKAGE / f"{module}.py").read_text(), name)


def waiting(node: ast.AST, path: str = "") -> list[str]:
    """The dotted names of all functions in `node` that are async."""
    found: list[str] = []
    for each in ast.iter_child_nodes(node):
        name = getattr(each, "name", None)
        here = f"{path}.{name}".lstrip(".") if isinstance(name, str) else path
        found += [here] if isinstance(each, ast.AsyncFunctionDef) else []
        found += waiting(each, here)
    return found


@pytest.mark.parametrize(("coloured", "sync"), TWINS.items())
def test_twins_are_equal(coloured: str, sync: str) -> None:
    assert read(coloured) == read(sync)


def test_whatever_waits_has_a_twin_or_a_reason() -> None:
    found = {
        f"{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}:{name}"
        for path in PACKAGE.rglob("*.py")
        for name in waiting(ast.parse(path.read_text()))
    }
    assert found == set(TWINS) | set(ALONE)
    assert not set(TWINS) & set(ALONE)


def test_a_port_has_the_same_methods_in_both_colours() -> None:
    sync = methods("_blocking", "BlockingPort") | methods("_httpx_sync", "SyncPort")
    assert methods("_httpx_async", "AsyncPort") - {"consult"} == sync


def methods(module: str, name: str) -> set[str]:
    """The names of the methods that a class defines itself."""
    [found] = [
        node
        for node in ast.parse((PACKAGE / f"{module}.py").read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    return {
        each.name
        for each in found.body
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


SYNC = '''
def run(port: Port, left: int) -> None:
    """One docstring."""
    for each in port:
        with each:
            port.close([x for x in each])
'''
COLOURED = '''
async def arun(port: AsyncPort, left: int) -> None:
    """Another docstring."""
    async for each in port:
        async with each:
            await port.aclose([x async for x in each])
'''


def test_the_comparison_sees_through_colour_alone() -> None:
    assert plain(COLOURED, "arun") == plain(SYNC, "run")


@pytest.mark.parametrize(
    ("word", "other"),
    [
        ("await port.aclose([", "await port.aclose(1, ["),
        ("await port.aclose(", "await port.close_all("),
        ("left: int", "left: float"),
        ("async with each", "async with port"),
        ("-> None", "-> int"),
        ('"""Another docstring."""', "pass"),
    ],
)
def test_the_comparison_can_fail(word: str, other: str) -> None:
    assert word in COLOURED
    assert plain(COLOURED.replace(word, other), "arun") != plain(SYNC, "run")


def test_a_forgotten_twin_is_seen() -> None:
    code = "class A:\n    def f(self):\n        async def g(): ...\n    async def h(self): ..."
    assert waiting(ast.parse(code)) == ["A.f.g", "A.h"]
