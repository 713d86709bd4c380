"""The command line: what it prints, and its exit codes."""

from __future__ import annotations

import runpy
import sys

import pytest

from httpx_recover import __version__, _demo
from httpx_recover._cli import main


def test_without_arguments_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out.startswith("usage: httpx-recover")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"httpx-recover {__version__}\n"


@pytest.mark.parametrize(
    "argv",
    [["demo", "--orders", "0"], ["demo", "--orders", "-3"], ["demo", "--orders", "x"], ["dome"]],
)
def test_what_it_does_not_understand_is_2(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert "usage: httpx-recover" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        (["httpx"], "httpx"),
        (["tenacity"], "tenacity"),
        (["httpx", "tenacity"], "httpx and tenacity"),
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(
    missing: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo"]) == 2
    assert capsys.readouterr() == (
        "",
        f'The demo needs {named}: pip install "httpx-recover[cli]"\n',
    )


def test_the_demo_counts_what_the_server_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--orders", "3", "--plain"]) == 0
    out = capsys.readouterr().out
    rows = [line.rsplit(maxsplit=5) for line in out.splitlines() if line[-1:] == "0"]
    assert rows == [
        ["bare httpx", "2", "0", "1", "1", "0"],
        ["blind retry", "2", "1", "0", "1", "0"],
        ["httpx_recover", "3", "0", "0", "0", "0"],
    ]
    assert "fails 2 on purpose" in out
    assert "RECOVERY v1 task book 3 orders status done calls " in out


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(count: int, *, plain: bool) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo, "run", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "stopped\n"


def test_the_module_runs_as_a_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["httpx-recover", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("httpx_recover", run_name="__main__")
    assert ended.value.code in (0, None)
    assert __version__ in capsys.readouterr().out
