"""What the demo shows: its progress, and a table of beliefs against the truth.

How an order is counted, given what its client believes and how often the server booked it:

1. never booked is *lost*, one booking is *booked once*, more are *booked twice*,
2. a client that believes it booked is wrong unless there is exactly one booking,
3. a client that believes it failed is wrong if there is any,
4. a client that does not know is never wrong; it is counted as having said so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from httpx_recover._demo._book import Belief

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("", "booked once", "booked twice", "lost", "client was wrong", "said unknown")
_WRONG = "client was wrong: said booked and it is not there once, or said failed and it is there"


class Tally(NamedTuple):
    """The refs of one run, by what became of them."""

    once: tuple[str, ...]
    twice: tuple[str, ...]
    lost: tuple[str, ...]
    wrong: tuple[str, ...]
    unknown: tuple[str, ...]

    def complaint(self) -> str:
        """Say which orders were duplicated or claimed falsely; empty if none were."""
        parts = [
            f"{what}: {', '.join(refs)}"
            for what, refs in (("booked twice", self.twice), ("a false claim", self.wrong))
            if refs
        ]
        return "; ".join(parts)


def is_wrong(belief: Belief, bookings: int) -> bool:
    """Does the client believe something that the server's book contradicts?"""
    if belief is Belief.BOOKED:
        return bookings != 1
    return belief is Belief.FAILED and bookings > 0


def tally(beliefs: Mapping[str, Belief], bookings: Mapping[str, int]) -> Tally:
    """Hold what a client believes of each ref against how often the server booked it."""

    def refs(chosen: Callable[[Belief, int], bool]) -> tuple[str, ...]:
        return tuple(ref for ref in beliefs if chosen(beliefs[ref], bookings.get(ref, 0)))

    return Tally(
        once=refs(lambda _, count: count == 1),
        twice=refs(lambda _, count: count > 1),
        lost=refs(lambda _, count: count == 0),
        wrong=refs(is_wrong),
        unknown=refs(lambda belief, _: belief is Belief.UNKNOWN),
    )


def row(name: str, counted: Tally) -> tuple[str, ...]:
    """One line of the table, in the order of `HEADINGS`."""
    return (name, *(str(len(refs)) for refs in counted))


def notes(whats: Mapping[str, str]) -> list[str]:
    """The lines under the table: what each row did, and what its hardest word means."""
    width = max(len(name) for name in whats) + 1
    return [*(f"{name + ':':{width}} {what}" for name, what in whats.items()), _WRONG]


class Show(Protocol):
    """Where the demo speaks."""

    def say(self, text: str) -> None:
        """Show text as it is."""

    def way(self, name: str, count: int) -> AbstractContextManager[Callable[[], None]]:
        """Show that a way is at work on `count` orders; call what it gives after each."""

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows under `HEADINGS`."""


class Plain:
    """Lines of text, for pipes, logs and machines without rich."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, text: str) -> None:
        """Show text as it is."""
        print(text, file=self._out, flush=True)

    @contextmanager
    def way(self, name: str, count: int) -> Iterator[Callable[[], None]]:
        """Say when the way starts and how long it took."""
        start = time.monotonic()
        self.say(f"{name}: booking {count} orders")
        yield lambda: None
        self.say(f"{name}: finished after {time.monotonic() - start:.1f} s")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Show rows in columns as wide as their headings."""
        first = max(len(cells[0]) for cells in rows)
        for cells in (HEADINGS, *rows):
            figures = (f"{cell:>{len(head)}}" for cell, head in zip(cells, HEADINGS, strict=True))
            self.say("  ".join((f"{cells[0]:<{first}}", *list(figures)[1:])))


class Rich:
    """Bars and a drawn table, for a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str) -> None:
        """Show text as it is: not coloured, not wrapped."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def way(self, name: str, count: int) -> Iterator[Callable[[], None]]:
        """Draw a bar that moves with each order."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

        columns = ("{task.description:<14}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._console) as progress:
            bar = progress.add_task(name, total=count)
            yield lambda: progress.advance(bar)

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Draw the rows under their headings."""
        from rich.table import Table

        drawn = Table()
        for heading in HEADINGS:
            drawn.add_column(heading, justify="right" if heading else "left")
        for cells in rows:
            drawn.add_row(*cells)
        self._console.print(drawn)


def choose(plain: bool, out: TextIO) -> Show:
    """Return `Rich` on a terminal that has it, `Plain` where asked for or anywhere else."""
    if plain or not out.isatty():
        return Plain(out)
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return Plain(out)
    return Rich(Console(file=out))
