"""Templates: how a verifier names a URL, or a value, by what the call carried.

1. `{json.a.b}`, `{form.x}`, `{query.x}` and `{key}` are values of the call, `{path}` is its path,
   and `{match.id}`, where the caller of `parse` allows it, is a member of the item that was found.
   Anything else in braces is refused when the template is made. There is no escape for a literal
   brace: write %7B and %7D.
2. A value is a scalar with a text: a string that is not empty, true, false, or a finite number.
   Anything else (no such member, null, a list, an object, "") has no place in a URL: an empty
   value in a path would ask for the collection instead of the thing.
3. A URL starts with `?` (the call's own path, its query dropped), `/` (the root of the call's
   host), `{path}` or `https://`. Its host is never filled in. `{path}` in the path is an address,
   not a value: it is put in as it was sent. All else is percent-encoded in full, and a value
   that would make `.` or `..` of a path segment is refused.
4. Two scalars are the same when their texts are: 1 and "1", true and "true", 1.0 and 1 (many
   servers write a whole number without its point). They are alike when only letter case, white
   space or the spelling of a number tells them apart: too near for a difference to prove anything.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlsplit

Scalar = str | int | float

MISSING: Any = object()  # unlike None, which JSON can hold

_FIELD = re.compile(r"\{([^{}]*)\}")
# Characters that part a URL are kept out of names, so that a template can be cut at them.
_NAME = re.compile(r"(json|match|form|query)\.([^{}?#&=/;\x00-\x1f\x7f]+)|(path|key)")
_START = re.compile(r"(https?://[^/?#{}\s]+)?(?=/|\?|\{path\}|$)", re.IGNORECASE)


class DoubtError(Exception):
    """Nothing can be concluded. The text is the reason in our own words, fit for a report."""


class Source(Protocol):
    """What a template may take from the call."""

    @property
    def url(self) -> str: ...
    @property
    def json(self) -> Any: ...
    @property
    def form(self) -> Mapping[str, str] | None: ...
    @property
    def key(self) -> str | None: ...


class Field(NamedTuple):
    """One `{...}` of a template."""

    root: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "{" + ".".join((self.root, *self.path)) + "}"

    def value(self, call: Source, found: Any = None) -> Scalar:
        """The scalar that stands for this field; DoubtError when the call has none.

        `found` is the item that `{match.x}` is taken from.
        """
        value: Any = self._look(call, found)
        if not written(value):
            raise DoubtError(f"no usable value for {self}")
        scalar: Scalar = value
        return scalar

    def _look(self, call: Source, found: Any) -> Any:
        match self.root:
            case "json":
                return dig(call.json, self.path)
            case "match":
                return dig(found, self.path)
            case "form":
                return (call.form or {}).get(self.path[0])
            case "query":
                return _parameter(call.url, self.path[0])
            case "path":
                return unquote(_own_path(call.url))
        return call.key


Parts = tuple[str | Field, ...]


def dig(value: Any, path: tuple[str, ...]) -> Any:
    """The member of nested objects at `path`, or MISSING."""
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return MISSING
        value = value[name]
    return value


def _parameter(url: str, name: str) -> str | None:
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    values = [value for other, value in pairs if other == name]
    return values[0] if len(values) == 1 else None


def written(value: object) -> str | None:
    """The text of a scalar as JSON writes it (a string without quotes), None for all else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else None
    if isinstance(value, int):
        try:
            return str(value)
        except ValueError:  # Python writes no integer of more than 4,300 digits
            return None
    return None


def canonical(value: object) -> str | None:
    """The text by which two scalars are compared (rule 4)."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return written(value)


def alike(have: object, want: object) -> bool:
    """Could a server have written `want` as `have`?"""
    text, wanted = canonical(have), canonical(want)
    if text is None or wanted is None:
        return False
    left, right = _number(text), _number(wanted)
    if left is not None and right is not None:
        exact = isinstance(have, str) and isinstance(want, str)
        # JavaScript keeps 53 bits of a number: a long one comes back a little off.
        return left == right or (not exact and float(left) == float(right))
    return _folded(text) == _folded(wanted)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def dotted(argument: str, text: object) -> tuple[str, ...]:
    """The names of a dotted path such as `data.items`; ValueError naming `argument`."""
    if not isinstance(text, str) or not all(text.split(".")) or "{" in text or "}" in text:
        raise ValueError(f'{argument}: {text!r} is not a dotted path such as "data.items"')
    return tuple(text.split("."))


def parse(argument: str, text: object, *, match: bool = False) -> Parts:
    """Cut a template into literals and fields; ValueError naming `argument` if it is malformed."""
    if not isinstance(text, str) or not text:
        raise ValueError(f"{argument}: {text!r} is not a template; give a string that is not empty")
    return _cut(argument, text, match)


def _cut(argument: str, text: str, match: bool) -> Parts:
    parts: list[str | Field] = []
    for index, piece in enumerate(_FIELD.split(text)):  # literal, name, literal, name, ...
        if index % 2:
            parts.append(_field(argument, piece, match))
        elif "{" in piece or "}" in piece:
            raise ValueError(
                f"{argument}: the braces in {text!r} do not pair; a literal brace is %7B or %7D"
            )
        elif piece:
            parts.append(piece)
    return tuple(parts)


def _field(argument: str, name: str, match: bool) -> Field:
    known = _NAME.fullmatch(name)
    if known and not (known[1] == "match" and not match):
        if known[3]:
            return Field(known[3])
        path = (known[2],) if known[1] in ("form", "query") else tuple(known[2].split("."))
        if all(path):
            return Field(known[1], path)
    names = "{json.x}, {form.x}, {query.x}, {path}, {key}" + (", {match.x}" if match else "")
    raise ValueError(f"{argument}: unknown field {{{name}}}; the fields are {names}")


def fields(parts: Parts) -> list[Field]:
    """The fields among the parts."""
    return [part for part in parts if isinstance(part, Field)]


def as_written(parts: Parts) -> str:
    """The template's text again."""
    return "".join(str(part) for part in parts)


def said(parts: Parts, call: Source) -> Scalar:
    """What the parts say of this call: one lone field keeps its type, all else is text."""
    if len(parts) == 1 and isinstance(parts[0], Field):
        return parts[0].value(call)
    return "".join(p if isinstance(p, str) else str(written(p.value(call))) for p in parts)


def _own_path(url: str) -> str:
    return urlsplit(url).path or "/"


def _quoted(field: Field, call: Source, found: Any) -> str:
    try:
        return quote(str(written(field.value(call, found))), safe="")
    except UnicodeEncodeError:  # JSON can hold half a surrogate pair
        raise DoubtError(f"the value of {field} cannot be written in a URL") from None


def _path(parts: Parts, own: str, write: Callable[[Field], str]) -> str:
    path = ""
    for part in parts:
        if isinstance(part, Field) and part.root != "path":
            path += write(part)
            continue
        piece = own if isinstance(part, Field) else part
        # "/orders/" and "/7" are one path: "//7" would be another, and its 404 a false absence.
        path += piece.removeprefix("/") if path.endswith("/") else piece
    return path


@dataclass(frozen=True)
class Address:
    """A URL template, cut up."""

    text: str
    origin: str  # "" for the call's own
    path: Parts | None  # None for the call's own
    query: tuple[tuple[str, Parts], ...]  # names as they are sent

    @classmethod
    def of(cls, argument: str, text: object, *, match: bool = False) -> Address:
        """Read `text`; ValueError naming `argument` if it can never be a URL."""
        parse(argument, text, match=match)
        whole = str(text)
        start = _START.match(whole)
        if start is None or whole.startswith("//"):
            raise ValueError(
                f'{argument}: {whole!r} must start with "?", "/", "{{path}}" or "https://host/"'
            )
        if "#" in whole or not whole.isprintable():
            raise ValueError(f"{argument}: {whole!r} has a fragment or a control character")
        origin = _checked(argument, start[1] or "")
        path, _, query = whole[len(origin) :].partition("?")
        parts = _cut(argument, path or "/", match) if path or origin else None
        return cls(whole, origin, parts, _pairs(argument, query, match))

    @property
    def path_fields(self) -> list[Field]:
        """The values in the path; `{path}` is none, it is part of the address."""
        return [field for field in fields(self.path or ()) if field.root != "path"]

    @property
    def query_fields(self) -> list[Field]:
        """The values in the query."""
        return [field for _, parts in self.query for field in fields(parts)]

    def fill(self, call: Source, found: Any = None) -> str:
        """The absolute URL for this call; DoubtError when a value is missing or unfit."""
        path = _own_path(call.url)
        if self.path is not None:
            path = _path(self.path, path, lambda field: _quoted(field, call, found))
            if not {".", ".."}.isdisjoint(path.split("/")):
                raise DoubtError("a . or .. in the path would lead to another path")
        pairs = [_fill_pair(name, parts, call, found) for name, parts in self.query]
        return self._origin(call.url) + path + ("?" + "&".join(pairs) if pairs else "")

    def named(self, call: Source) -> list[tuple[tuple[str, ...], Scalar]]:
        """Each query parameter that holds a value: its name as a path, and the value."""
        return [
            ((unquote_plus(name),), said(_decoded(parts), call))
            for name, parts in self.query
            if fields(parts)
        ]

    def shown(self, url: str) -> str:
        """The URL for a report: fields as written, without a query."""
        own = _own_path(url)
        return self._origin(url) + (own if self.path is None else _path(self.path, own, str))

    def _origin(self, url: str) -> str:
        base = urlsplit(url)
        return self.origin or f"{base.scheme}://{base.netloc}"


def _checked(argument: str, origin: str) -> str:
    try:
        _ = urlsplit(origin).port  # reading it is what finds a bad host or port
    except ValueError as error:
        raise ValueError(f"{argument}: {origin!r} is not an origin: {error}") from None
    return origin


def _pairs(argument: str, query: str, match: bool) -> tuple[tuple[str, Parts], ...]:
    pairs = []
    for piece in filter(None, query.split("&")):
        name, _, value = piece.partition("=")
        if "{" in name:
            raise ValueError(f"{argument}: {piece!r} has a field in a parameter's name; use name=")
        pairs.append((name, _cut(argument, value, match)))
    return tuple(pairs)


def _fill_pair(name: str, parts: Parts, call: Source, found: Any) -> str:
    texts = (part if isinstance(part, str) else _quoted(part, call, found) for part in parts)
    return f"{name}={''.join(texts)}"


def _decoded(parts: Parts) -> Parts:
    return tuple(unquote_plus(part) if isinstance(part, str) else part for part in parts)
