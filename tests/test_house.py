"""Rules of the repository that a reader should be able to rely on."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import httpx_recover

ROOT = Path(__file__).parent.parent
PACKAGE = Path(httpx_recover.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
# Written so that this file does not find itself.
PATHS = re.compile("|".join(["/ro" + "ot/", "/ho" + "me/[a-z]", "/wo" + "rk/", "/tmp/" + r"w\b"]))
HOSTS = re.compile("|".join(["py" + r"pi\.org", "pythonhost" + "ed", r"registry\.np" + "mjs"]))
LONGEST = 60  # lines of a function


def tracked() -> list[Path]:
    """The files under version control; in an unpacked archive, those of the package."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()] or SOURCES


def faults_of(source: str) -> list[str]:
    """What a module says or does that a reader should not have to meet."""
    tree = ast.parse(source)
    faults = [] if ast.get_docstring(tree) else ["no docstring"]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and re.search("Manager|Helper|Util", node.name):
            faults.append(f"{node.name} says nothing")
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or 0) - node.lineno + 1
            faults += [f"{node.name} has {lines} lines"] if lines > LONGEST else []
    for line in source.splitlines():
        if re.search(r"#\s*pragma:", line):
            faults.append(f"not measured: {line.strip()}")
        if re.search(r"#\s*(type: ignore|noqa)", line) and not SWITCHED_OFF.search(line):
            faults.append(f"no reason: {line.strip()}")
    return faults


# What is silenced is named, and the reason stands beside it.
SWITCHED_OFF = re.compile(r"#\s*(type: ignore\[[\w, -]+\] +#|noqa: [A-Z0-9, ]+ [-#]) ?\w")


def documented(name: str, thing: Any) -> Iterator[tuple[str, bool]]:
    """A public name and its public methods, and whether its words or its class's tell of it."""
    made = f"{name}("  # what a dataclass writes when nobody else does
    yield name, bool(thing.__doc__) and not thing.__doc__.startswith(made)
    for each, value in vars(thing).items() if inspect.isclass(thing) else ():
        if not each.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            told = re.search(rf"\b{each}\b", thing.__doc__ or "")
            yield f"{name}.{each}", bool(inspect.getdoc(value) or told)


@pytest.mark.parametrize("path", tracked(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_holds_a_path_of_one_machine_or_a_registry(path: Path) -> None:
    text = path.read_text(errors="replace")
    assert not PATHS.search(text)
    assert not HOSTS.search(text)


def test_the_search_finds_what_it_looks_for() -> None:
    for found in ("/ro" + "ot/x", "/ho" + "me/someone", "/wo" + "rk/main", "/tmp/" + "w"):
        assert PATHS.search(f"see {found}")
    assert not PATHS.search("/orders/tmp/wide, /homes, a/workshop, homework/")
    for found in ("https://py" + "pi.org/simple", "files.pythonhost" + "ed.org"):
        assert HOSTS.search(found)


def test_the_version_is_in_the_changelog() -> None:
    heads = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert httpx_recover.__version__ in heads


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_says_what_it_is_and_stays_readable(path: Path) -> None:
    assert faults_of(path.read_text()) == []


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("x = 1", "no docstring"),
        ('"""A."""\nclass CallHelper: ...', "CallHelper says nothing"),
        ('"""A."""\ndef f():\n' + "    x = 1\n" * 60, "f has 61 lines"),
        (
            '"""A."""\nx = 1  # prag' + "ma: no cover",
            "not measured: x = 1  # prag" + "ma: no cover",
        ),
        ('"""A."""\nx = 1  # type: ignore[misc]', "no reason: x = 1  # type: ignore[misc]"),
        ('"""A."""\nx = 1  # noqa: E501', "no reason: x = 1  # noqa: E501"),
    ],
)
def test_the_check_of_a_module_can_fail(source: str, fault: str) -> None:
    assert faults_of(source) == [fault]


def test_a_function_of_the_greatest_length_and_a_reason_pass() -> None:
    assert faults_of('"""A."""\ndef f():\n' + "    x = 1\n" * 59) == []
    assert faults_of('"""A."""\nx = 1  # type: ignore[misc] # a value') == []


@pytest.mark.parametrize("name", httpx_recover.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    thing = getattr(httpx_recover, name)
    assert [each for each, said in documented(name, thing) if not said] == []
