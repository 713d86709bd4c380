"""From the tables of a TOML file to records; what cannot be meant is refused.

One table is one API. Its rows are lists of tables: `wait`, `class`, `look`, `key`, `sign`, `hint`,
`partial`, `code`, `mask`. Every row names its source, an entry of the API's `sources`. An error
says the file, the table, the row and the field, and what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from datetime import date
from difflib import get_close_matches
from math import isnan
from typing import Any, Final, TypeAlias

from httpx_recover._patterns import Pattern, compile_pattern
from httpx_recover._words import Applied, FailureClass
from httpx_recover.dialects import _records as records
from httpx_recover.dialects._codes import plain
from httpx_recover.dialects._times import READERS

Check: TypeAlias = Callable[
    [Any], Any
]  # gives the value to keep, or raises ValueError: what is due

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST: Final = re.compile(r"(?:\*|[a-z0-9-]+)(?:\.(?:\*|[a-z0-9-]+))*")
_PLACES: Final = ("header", "json", "query", "directive", "repeatability", "none")


def dialects_of(tables: Mapping[str, Any], file: str) -> list[records.Dialect]:
    """The records of a file's tables.

    Args:
        tables: what a TOML parser gave.
        file: the file's name, for errors and for `Dialect.file`.

    Raises:
        ValueError: a table, row or field that cannot be meant; the text names it and the fix.
    """
    return [_dialect(name, table, file) for name, table in tables.items()]


# ------------------------------------------------------------------ values


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _seconds(value: Any) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or isnan(value) or value <= 0:
        raise ValueError("must be a number above 0")
    return float(value)


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a whole number above 0")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    """One scalar or a list of them, as texts to compare with."""
    many = value if isinstance(value, list) else [value]
    if not many or not all(isinstance(each, (str, int, float)) for each in many):
        raise ValueError("must be a value or a list of values")
    return tuple(str(each).lower() if isinstance(each, bool) else str(each) for each in many)


def _codes(value: Any) -> frozenset[str]:
    return frozenset(plain(each) for each in _texts(value))


def _statuses(value: Any) -> frozenset[int]:
    many = value if isinstance(value, list) else [value]
    fit = [each for each in many if isinstance(each, int) and 100 <= each <= 599]
    if not many or len(fit) < len(many):
        raise ValueError("must be a status from 100 to 599 or a list of them")
    return frozenset(fit)


def _class(value: Any) -> FailureClass:
    try:
        return FailureClass(value)
    except ValueError:
        raise ValueError(f"must be one of {', '.join(FailureClass)}") from None


def _applied(value: Any) -> Applied:
    if value not in ("no", "unknown"):
        raise ValueError('must be "no" (the vendor promises that it did not act) or "unknown"')
    return Applied(value)


def _header(value: Any) -> str:
    if not _TOKEN.fullmatch(_text(value)):
        raise ValueError("must be the name of a header")
    return str(value).lower()


def _header_value(value: Any) -> str:
    name, colon, wanted = _text(value).partition(":")
    return f"{_header(name)}: {wanted.strip().lower()}" if colon else _header(name)


def _patterns(value: Any) -> tuple[Pattern, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError('must be a list such as ["POST /v1/**"]')
    return tuple(compile_pattern(each) for each in value)


def _paths(value: Any) -> tuple[Pattern, ...]:
    return _patterns([f"* {each}" for each in value] if isinstance(value, list) else value)


def _hosts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(each, str) and _HOST.fullmatch(each) for each in value
    ):
        raise ValueError('must be a list of hosts in lower case, such as ["api.example.com"]')
    return tuple(value)


def _one_of(*allowed: str) -> Check:
    def check(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}")
        return str(value)

    return check


def _masked(value: Any) -> str:
    if _text(value).count("{secret}") != 1 or not value.startswith("/"):
        raise ValueError("must be a path that holds {secret} once, such as '/bot{secret}/**'")
    return str(value)


def _secret(path: str) -> re.Pattern[str]:
    text = re.escape(path).replace(re.escape("{secret}"), "(?P<secret>[^/]+)")
    return re.compile(text.replace(r"/\*\*", "(?:/.*)?").replace(r"\*", "[^/]+"))


def _beside(value: Any) -> tuple[tuple[str, Any], ...]:
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a table such as { enforce_nonce = true }")
    return tuple(value.items())


# ------------------------------------------------------------------ rows

_KEYWORDS: Final = {"is": "is_", "with": "with_"}  # words of Python
_SIGNS: Final = _one_of("conflict", "twin", "withdrawn")
_MEANS: Final = _one_of("replay", "deduped", "withdrawn")
# Each kind of row: its record, the field of `Dialect`, and a check for each of its fields.
_KINDS: Final[Mapping[str, tuple[type[records.Fact], str, Mapping[str, Check]]]] = {
    "wait": (
        records.WaitFact,
        "waits",
        {
            **{"header": _header, "path": _text, "unit": _one_of(*READERS), "remaining": _header},
            **{"words": _flag, "cost": _flag, "fixed": _seconds, "status": _statuses},
        },
    ),
    "class": (
        records.ClassFact,
        "classes",
        {
            **{"is": _class, "status": _statuses, "code": _codes, "header": _header_value},
            **{"without": _header, "text": _text, "path": _text, "equals": _texts},
            **{"applied": _applied, "sign": _SIGNS},
        },
    ),
    "look": (
        records.LookFact,
        "looks",
        {
            "path": _text,
            "equals": _texts,
            "beside": _text,
            "otherwise": _class,
            "applied": _applied,
        },
    ),
    "key": (
        records.KeyFact,
        "keys",
        {
            **{"place": _one_of(*_PLACES), "name": _text, "quoted": _flag, "on": _patterns},
            **{"window": _seconds, "dedupes": _flag, "longest": _count},
            **{"target": _text, "with": _beside},
            "replays": _one_of("all", "success", "final", "current"),
        },
    ),
    "sign": (
        records.SignFact,
        "signs",
        {"header": _header_value, "status": _statuses, "means": _MEANS},
    ),
    "hint": (records.HintFact, "hints", {"header": _header}),
    "partial": (
        records.PartialFact,
        "partials",
        {
            **{"items": _text, "failed": _text, "equals": _texts, "least": _seconds},
            **{"ident": _text, "redo": _text, "redo_equals": _texts, "redo_all": _flag},
        },
    ),
    "code": (records.CodeFact, "codes", {"path": _text}),
    "mask": (records.MaskFact, "masks", {"path": _masked}),
}
_TABLE: Final[Mapping[str, Check]] = {
    **{
        "title": _text,
        "hosts": _hosts,
        "also": _texts,
        "paths": _paths,
        "via": _header_value,
        "like": _text,
    }
}


def _dialect(name: str, table: Any, file: str) -> records.Dialect:
    where = f"{file}: [{name}]"
    if not isinstance(table, Mapping):
        raise ValueError(f"{where}: must be a table: one API with its rows")
    _known(where, table, [*_TABLE, "sources", *_KINDS])
    said: dict[str, Any] = {
        field: _checked(f"{where} {field}", check, table[field])
        for field, check in _TABLE.items()
        if field in table
    }
    sources = _sources(where, table.get("sources", {}))
    for kind, (_, field, _checks) in _KINDS.items():
        said[field] = _rows(where, kind, table.get(kind, []), sources)
    said.setdefault("title", name)
    return records.Dialect(name=name, file=file, **said)


def _sources(where: str, table: Any) -> dict[str, records.Source]:
    if not isinstance(table, Mapping):
        raise ValueError(
            f'{where} sources: must be a table of {{ at = "...", read = ..., mark = "P" }}'
        )
    return {name: _source(f"{where} sources.{name}", said) for name, said in table.items()}


def _source(where: str, said: Any) -> records.Source:
    if not isinstance(said, Mapping):
        raise ValueError(
            f'{where}: must be a table {{ at = "...", read = 2026-12-01, mark = "P" }}'
        )
    _known(where, said, ["at", "read", "mark"])
    for name in ("at", "read", "mark"):
        if name not in said:
            raise ValueError(f"{where}: has no {name!r}; say where it was read, when, and how well")
    read = said["read"]
    if type(read) is not date:
        raise ValueError(
            f"{where} read={read!r}: must be a date such as 2026-12-01, without quotes"
        )
    mark = _checked(f"{where} mark", _one_of("P", "S"), said["mark"])
    return records.Source(_checked(f"{where} at", _text, said["at"]), read.isoformat(), mark)


def _rows(
    where: str, kind: str, rows: Any, sources: Mapping[str, records.Source]
) -> tuple[records.Fact, ...]:
    if not isinstance(rows, list):
        raise ValueError(
            f"{where} {kind}: must be a list of rows, [[name.{kind}]] or {kind} = [...]"
        )
    return tuple(
        _row(f"{where} {kind}[{number}]", kind, row, sources) for number, row in enumerate(rows)
    )


def _row(where: str, kind: str, row: Any, sources: Mapping[str, records.Source]) -> records.Fact:
    if not isinstance(row, Mapping):
        raise ValueError(f"{where}: must be a table")
    record, _, checks = _KINDS[kind]
    _known(where, row, [*checks, "source", "note"])
    said: dict[str, Any] = {"source": _named_source(where, row, sources)}
    for field, value in row.items():
        if field != "source":
            check = checks.get(field, _text)
            said[str(_KEYWORDS.get(field, field))] = _checked(f"{where} {field}", check, value)
    for due in fields(record):
        if _due(due) and due.name not in said and due.name != "pattern":
            raise ValueError(f"{where}: has no {due.name.rstrip('_')!r}")
    if kind == "key":
        said["operations"] = tuple(row.get("on", ()))
    if kind == "mask":
        said["pattern"] = _secret(said["path"])
    _sensible(where, kind, row, said)
    return record(**said)


def _named_source(
    where: str, row: Mapping[str, Any], sources: Mapping[str, records.Source]
) -> records.Source:
    name = row.get("source")
    if name is None:
        raise ValueError(f'{where}: has no source; add source = "..." with a name of [.sources]')
    if not isinstance(name, str) or name not in sources:
        known = ", ".join(sources) or "none yet"
        raise ValueError(f"{where} source={name!r}: must be an entry of sources ({known})")
    return sources[name]


def _sensible(where: str, kind: str, row: Mapping[str, Any], said: Mapping[str, Any]) -> None:
    """What no single field can tell."""
    conditions = set(row) - {"is", "applied", "sign", "source", "note", "equals"}
    if kind == "class" and not conditions:
        raise ValueError(f"{where}: has no condition; name a status, code, header, text or path")
    if "equals" in row and not {"path", "failed"} & set(row):
        raise ValueError(f"{where} equals: needs the path of what it is compared with")
    if said.get("applied") is Applied.NO and said["source"].mark != "P":
        raise ValueError(f"{where} applied: a promise needs a source marked P")
    if kind == "wait" and not {"header", "path", "words", "cost", "fixed"} & set(row):
        raise ValueError(f"{where}: names no place; add header, path, words, cost or fixed")
    if kind == "sign" and not {"header", "status"} & set(row):
        raise ValueError(f"{where}: names no sign; add header or status")
    if kind == "key" and said["place"] in ("header", "json", "query") and "name" not in row:
        raise ValueError(f"{where}: has no 'name' for its {said['place']}")
    if kind == "key" and "on" not in row:
        raise ValueError(f"{where}: has no 'on': the operations, such as [\"POST /v1/**\"]")


def _due(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _known(where: str, said: Mapping[str, Any], known: list[str]) -> None:
    for name in said:
        if name not in known:
            near = get_close_matches(name, known, 1)
            fix = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ValueError(f"{where}: {name!r} is unknown; {fix}")


def _checked(where: str, check: Check, value: Any) -> Any:
    try:
        return check(value)
    except ValueError as wrong:
        raise ValueError(f"{where}={value!r}: {wrong}") from None
