"""`httpx-recover explain` and `httpx-recover apis`: what an answer means, and what is known.

`explain` takes the answer apart as options, or whole from standard input as `curl -i` prints it:

    curl -si https://api.example.com/orders | httpx-recover explain --api stripe
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import NamedTuple

_STATUS_LINE = re.compile(r"HTTP/[0-9.]+ +([0-9]{3})(?: .*)?")
_READ = 64 * 1024 + 1024 * 1024  # bytes of standard input: the body's look, and many headers


class Saved(NamedTuple):
    """An answer as it was saved."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Unreadable(Exception):
    """What was given cannot be read; its text says why, and what would do."""


def add_commands(commands: object) -> None:
    """Add both commands to the subparsers of the command line."""
    parser: ArgumentParser = commands.add_parser(  # type: ignore[attr-defined] # private type
        "explain", help="what an answer means, and what would be done next"
    )
    parser.add_argument("--status", type=_status, metavar="N", help="without it: standard input")
    parser.add_argument(
        "--header", action="append", default=[], type=_header, metavar="'NAME: VALUE'"
    )
    parser.add_argument("--body", metavar="TEXT", help="the body, or @FILE that holds it")
    parser.add_argument("--api", metavar="NAME", help="a preset; `apis` lists them")
    parser.add_argument("--url", metavar="URL", help="the request's URL: its host's preset acts")
    parser.add_argument("--method", metavar="METHOD", help="only for this one (else GET and POST)")
    parser.add_argument("--presets", action="append", default=[], metavar="FILE.toml")
    parser.add_argument("--now", type=float, metavar="SECONDS", help="the time, as an epoch")
    listed: ArgumentParser = commands.add_parser(  # type: ignore[attr-defined] # private type
        "apis", help="the APIs that are known, and what is known of them"
    )
    listed.add_argument("--presets", action="append", default=[], metavar="FILE.toml")


def run_explain(args: Namespace) -> int:
    """Explain an answer; 0, or 2 when what was given cannot be read."""
    from httpx_recover._explain import explain
    from httpx_recover._presets import presets_of

    try:
        saved = _answer(args)
        if args.api is not None:
            presets_of(args.presets or True).named(args.api)
        methods = [args.method.upper()] if args.method else ["GET", "POST"]
        told = [
            explain(
                saved.status,
                saved.headers,
                saved.body,
                method=method,
                url=args.url,
                api=args.api,
                now=args.now,
                presets=args.presets or True,
            )
            for method in methods
        ]
    except (Unreadable, ValueError) as wrong:
        print(f"httpx-recover explain: {wrong}", file=sys.stderr)
        return 2
    for method, each in zip(methods, told, strict=True):
        print(f"{method} {saved.status}")
        print(f"  class    {each.failure}{f' ({each.code})' if each.code else ''}")
        print(f"  applied  {each.applied}")
        print(f"  wait     {'none told' if each.wait is None else f'{each.wait:g} s'}")
        print(f"  next     {each.next}")
        for reason in each.why.split("; "):
            print(f"  why      {reason}")
    return 0


def run_apis(args: Namespace) -> int:
    """List the presets; 0, or 2 when a file of the user's own cannot be read."""
    from httpx_recover._presets import presets_of

    try:
        known = sorted(presets_of(args.presets or True), key=lambda each: (each.file, each.name))
    except ValueError as wrong:
        print(f"httpx-recover apis: {wrong}", file=sys.stderr)
        return 2
    for each in known:
        marks = [fact.source.mark for fact in each.facts()]
        hosts = ", ".join(each.hosts) or (f"any, by {each.via}" if each.via else "named only")
        print(f"{each.name:20} {marks.count('P'):2} P {marks.count('S'):2} S  {hosts}")
    print(f"{len(known)} APIs. P acts by itself on these hosts, S once the API is named.")
    return 0


def read_saved(raw: bytes) -> Saved:
    """An answer as `curl -i` prints it; of several (redirects, 100 Continue) the last.

    Raises:
        Unreadable: it does not begin with a status line.
    """
    saved = None
    while match := _STATUS_LINE.fullmatch(_first_line(raw)):
        head, _, raw = _halves(raw)
        pairs = (line.partition(":") for line in head.splitlines()[1:])
        headers = [(name.strip(), value.strip()) for name, colon, value in pairs if colon]
        saved = Saved(int(match[1]), headers, raw)
    if saved is None:
        raise Unreadable("standard input has no status line; save it with `curl -i`, or --status")
    return saved


def _halves(raw: bytes) -> tuple[str, bytes, bytes]:
    ends = [(at, end) for end in (b"\r\n\r\n", b"\n\n") if (at := raw.find(end)) >= 0]
    at, end = min(ends, default=(len(raw), b""))
    return raw[:at].decode("latin-1"), end, raw[at + len(end) :]


def _first_line(raw: bytes) -> str:
    return raw[:8192].partition(b"\n")[0].rstrip(b"\r").decode("latin-1")


def _answer(args: Namespace) -> Saved:
    if args.status is None:
        if args.header or args.body is not None:
            raise Unreadable("--header and --body need --status too")
        return read_saved(sys.stdin.buffer.read(_READ))
    return Saved(args.status, args.header, _body(args.body))


def _body(said: str | None) -> bytes:
    if said is None or not said.startswith("@"):
        return (said or "").encode("utf-8", "surrogateescape")
    try:
        with Path(said[1:]).open("rb") as file:
            return file.read(_READ)
    except OSError as wrong:
        raise Unreadable(f"--body {said}: {wrong.strerror}") from None


def _status(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{2}", text):
        raise ArgumentTypeError(f"{text!r} is not a status such as 429")
    return int(text)


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ArgumentTypeError(f"{text!r} is not a header such as 'Retry-After: 3'")
    return name.strip(), value.strip()
