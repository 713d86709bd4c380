"""The command line: `httpx-recover demo`, `explain`, `apis`, `--version`.

Exit codes: 0 all is well, 1 the demo found the library at fault, 2 the command was not
understood or something it needs is not installed, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from httpx_recover._cli_explain import add_commands, run_apis, run_explain

_DEMO_NEEDS = ("httpx", "tenacity")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command in `argv` (default: the process's own) and return its exit code."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help()
        return 0
    if args.command == "explain":
        return run_explain(args)
    if args.command == "apis":
        return run_apis(args)
    try:
        return _demo(args.orders, args.plain)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    from httpx_recover import __version__

    parser = argparse.ArgumentParser(
        prog="httpx-recover", description="Calls that recover cleanly, and say what became of them."
    )
    parser.add_argument("--version", action="version", version=f"httpx-recover {__version__}")
    commands = parser.add_subparsers(dest="command", title="commands")
    demo = commands.add_parser(
        "demo", help="book orders three ways at a server that fails on purpose"
    )
    demo.add_argument("--orders", type=_count, default=40, metavar="N", help="default: 40")
    demo.add_argument("--plain", action="store_true", help="text only, also on a terminal")
    add_commands(commands)
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def _demo(orders: int, plain: bool) -> int:
    missing = [name for name in _DEMO_NEEDS if find_spec(name) is None]
    if missing:
        print(
            f'The demo needs {" and ".join(missing)}: pip install "httpx-recover[cli]"',
            file=sys.stderr,
        )
        return 2
    from httpx_recover._demo import run

    return run(orders, plain=plain)
