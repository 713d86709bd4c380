"""Rules of the repository that a reader should be able to rely on."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

import httpx_recover

ROOT = Path(__file__).parent.parent
PACKAGE = Path(httpx_recover.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
# Written so that this file does not find itself.
PATHS = re.compile("|".join(["/ro" + "ot/", "/ho" + "me/[a-z]", "/wo" + "rk/", "/tmp/" + "w/"]))
HOSTS = re.compile("|".join(["py" + "pi\\.org", "pythonhost" + "ed", "registry\\.np" + "mjs"]))


def tracked() -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_file_holds_a_path_of_one_machine_or_a_registry() -> None:
    for path in tracked() or SOURCES:
        text = path.read_text(errors="replace")
        assert not PATHS.search(text), path
        assert not HOSTS.search(text), path


def test_the_version_is_in_the_changelog() -> None:
    assert f"## [{httpx_recover.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_module_says_what_it_is_and_stays_readable(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "no docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            assert not re.search("Manager|Helper|Util", node.name)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno <= 60, node.name


@pytest.mark.parametrize("name", httpx_recover.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    assert getattr(httpx_recover, name).__doc__
