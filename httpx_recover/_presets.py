"""The presets: TOML files read when first needed, and found by host or by name.

A lookup costs one dictionary access per origin once the origin is known; a host that no preset
knows costs the same. Found by its host, an API speaks only in facts marked P. Named, it speaks in
all of them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from httpx_recover.dialects import Dialect, dialects_of

Chosen: TypeAlias = "bool | Sequence[str | PathLike[str]]"

_REMEMBERED = 1024  # hosts


@dataclass(frozen=True, slots=True)
class Spoken:
    """What acts on the answers of one host, and what that asks of a mount.

    Args:
        dialects: the nearest first.
        scoped: some of them hold for some paths only.
        looks: a 2xx may hide a failure in its body.
        signs: headers of a 2xx may say something about its key.
        keys: operations are known that take a key.
        masks: paths may hold secrets.
    """

    dialects: tuple[Dialect, ...]
    scoped: bool
    looks: bool
    signs: bool
    keys: bool
    masks: bool

    def at(self, path: str) -> tuple[Dialect, ...]:
        """What acts at a path, which has no query."""
        if not self.scoped:
            return self.dialects
        return tuple(each for each in self.dialects if each.speaks(path))


class Presets:
    """Dialects by host and by name.

    Args:
        dialects: the nearest first; a later one with the name of an earlier is left out.
        named: names of those whose facts marked S act on their hosts too.
    """

    def __init__(self, dialects: Iterable[Dialect], named: Iterable[str] = ()) -> None:
        self._by_name: dict[str, Dialect] = {}
        for each in dialects:
            self._by_name.setdefault(each.name, each)
        every = list(self._by_name.values())
        self._also = {_bare(name): each for each in reversed(every) for name in each.also}
        self._also |= {_bare(each.name): each for each in every}
        trusted = {self.named(name).name for name in named}
        acting = [
            each if each.name in trusted else each.proven() for each in self._by_name.values()
        ]
        self._edges = tuple(each for each in acting if each.via)
        self._hosts = sorted(
            ((host, each) for each in acting for host in each.hosts),
            key=lambda pair: ("*" in pair[0], -len(pair[0])),
        )
        self._seen: dict[str, Spoken] = {}

    def __iter__(self) -> Iterator[Dialect]:
        """Every dialect, with all its facts."""
        return iter(self._by_name.values())

    def of(self, host: str) -> Spoken:
        """What acts on answers of a host, in lower case and without a port. One lookup."""
        found = self._seen.get(host)
        return self._find(host) if found is None else found

    def at(self, host: str, path: str = "/") -> tuple[Dialect, ...]:
        """What acts on answers of a host at a path, the nearest first."""
        return self.of(host).at(path)

    def named(self, name: str) -> Dialect:
        """The dialect of a name, with all its facts.

        Raises:
            ValueError: there is none; the text names the nearest.
        """
        found = self._also.get(_bare(name))
        if found is None:
            near = get_close_matches(name, self._by_name, 1)
            fix = f"did you mean {near[0]!r}?" if near else "`httpx-recover apis` lists them"
            raise ValueError(f"api={name!r}: there is no such preset; {fix}")
        return found.named()

    def speaking(self, name: str) -> tuple[Dialect, ...]:
        """What acts on answers of a named API: it, the one it is like, and the edges before it."""
        found = [self.named(name)]
        while found[-1].like is not None:
            found.append(self.named(found[-1].like))
        near = {each.name for each in found}
        return (*found, *(each for each in self._edges if each.name not in near))

    def _find(self, host: str) -> Spoken:
        kept: dict[str, Dialect] = {}
        for pattern, each in self._hosts:
            if pattern == host or ("*" in pattern and _wild(pattern).fullmatch(host)):
                kept.setdefault(each.name, each)
        if len(self._seen) >= _REMEMBERED:
            self._seen.clear()
        every = (*kept.values(), *self._edges)
        found = self._seen[host] = Spoken(
            every,
            scoped=any(each.paths for each in every),
            looks=any(each.looks_into_success for each in every),
            signs=any(each.success_headers for each in every),
            keys=any(each.keys for each in every),
            masks=any(each.masks for each in every),
        )
        return found


def presets_of(chosen: Chosen = True) -> Presets:
    """The presets that a caller has chosen.

    Args:
        chosen: True: those of the package. False: none. A sequence: those of the package, and
            first the user's own files (paths that end in `.toml`); a name in it switches on what
            is marked S for that API.

    Raises:
        ValueError: a file is not readable or says what cannot be meant, or a name is unknown.
    """
    if isinstance(chosen, bool):
        return _of_the_package() if chosen else _NONE
    if isinstance(chosen, (str, PathLike)):
        raise ValueError(f"presets={chosen!r}: must be True, False or a list of names and paths")
    paths = [each for each in chosen if not isinstance(each, str) or each.endswith(".toml")]
    names = [each for each in chosen if isinstance(each, str) and not each.endswith(".toml")]
    own = [each for path in paths for each in _read(Path(fspath(path)))]
    return Presets([*own, *_of_the_package()], names) if own or names else _of_the_package()


@cache
def _of_the_package() -> Presets:
    folder = files("httpx_recover.dialects") / "apis"
    found = sorted((each for each in folder.iterdir()), key=lambda each: each.name)
    return Presets(
        dialect
        for each in found
        for dialect in dialects_of(tomllib.loads(each.read_text("utf-8")), each.name)
    )


def _read(path: Path) -> list[Dialect]:
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except OSError as wrong:
        raise ValueError(f"presets: {path.name} cannot be read: {wrong.strerror}") from wrong
    except ValueError as wrong:  # bad TOML or bad UTF-8
        raise ValueError(f"presets: {path.name} is no TOML: {wrong}") from wrong
    return dialects_of(tables, path.name)


@cache
def _wild(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", r"[^.]+(?:\.[^.]+)*"))


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


_NONE = Presets(())
