"""Ready-made verifiers: which read to make after a lost answer, and what its answer proves.

A verifier makes no request of its own. `steps(call)` yields each `Read` that it wants, is sent the
answer, and returns a `Verdict`; the same object serves blocking and async clients. Nothing that
a server sends makes one raise: what cannot be read is UNCLEAR.

`found`, in the order in which it decides:

1. A value that the call does not have, or no field at all: UNCLEAR, and no read is made.
2. A status named in `absent`, and 404 or 410 where a value stands in the path, shows no copy. Any
   other status outside 2xx, 202, 204, 205, and what is not JSON: UNCLEAR.
3. A value in the path, and no `where`: an object that holds every value as a scalar, at its top or
   in objects inside it but never in a list, is one copy. Anything else is UNCLEAR.
4. Otherwise the copies are the matching items of a list: the top-level list, the value at `items`,
   the only list of a top-level object, or a lone object as a list of one. An item matches when
   it holds every value under its parameter's name, or, with `where`, under the paths given there.
5. An object that says of itself `error`, `ok: false` or the like proves nothing.
6. More copies than are known to be done (and were counted before the first send) is LANDED. If
   equal calls are still in flight, and could account for the surplus, UNCLEAR until they end.
   Fewer than known is a stale read: UNCLEAR. Without the count that `baseline` asks for, copies
   that are there prove nothing.
7. As many as known is ABSENT only when the list can be trusted to be all there is: no sign of more
   pages (rule 8), no item that nearly matches (letter case, white space, 1.50 for 1.5), and either
   no item at all, or `where` and items of the shape that `where` describes. Items without a match
   and without `where` may mean that the server ignored the filter.
8. Signs of more pages: a member such as `has_more`, `next` or `next_cursor` in the answer or in its
   `meta`, `links` or the like; a total above what is shown; status 206, `Link: rel=next` and other
   paging headers; as many items as the limit asked for, or a round number of them.

`same`: 404 and 410 are ABSENT. Every member that was sent is shown with its value (lists exactly):
LANDED. A value that differs: ABSENT. A member that is not shown at all, or is written another way,
is UNCLEAR: servers hide passwords and reformat numbers. Where no JSON was sent, the bytes decide,
unless the two media types differ.

`gone`: 404 and 410 are LANDED, 2xx is ABSENT unless the object is marked as deleted, else UNCLEAR.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from httpx_recover._targets import target
from httpx_recover._template import (
    MISSING,
    Address,
    DoubtError,
    Parts,
    Scalar,
    Source,
    alike,
    as_written,
    canonical,
    dig,
    dotted,
    fields,
    parse,
    said,
)
from httpx_recover._words import Verdict

__all__ = ["found", "gone", "same"]


class Read(NamedTuple):
    """A GET that a verifier asks for."""

    url: str
    params: Mapping[str, str] | None = None


class Answer(Protocol):
    """What a verifier looks at in a response of any client."""

    @property
    def status_code(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...
    def json(self) -> Any: ...


class Subject(Source, Protocol):
    """What a verifier sees of the call whose answer was lost."""

    @property
    def method(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes | None: ...
    @property
    def attempts(self) -> int: ...

    # Equal actions known to be done; with a baseline, those done since.
    @property
    def known(self) -> int: ...
    # Equal calls whose first answer is still out.
    @property
    def pending(self) -> int: ...
    # Copies counted before the first send, None if they were not.
    @property
    def baseline(self) -> int | None: ...


Steps = Generator[Read, Answer, Verdict]


def found(
    template: str,
    *,
    items: str | None = None,
    where: Mapping[str, str] | None = None,
    item: str | None = None,
    absent: Iterable[int] = (),
    baseline: bool = False,
) -> Found:
    """A verifier that looks for what the call would have created.

    `template` is the URL to read: `"?ref={json.ref}"` (the call's own path), `"/orders/{json.id}"`
    or an absolute URL, with the fields `{json.a.b}`, `{form.x}`, `{query.x}`, `{path}`, `{key}`.
    `items` is the dotted path of the list in the answer. `where` maps dotted paths in an item to
    templates of the values they must hold. `item` is the URL of the resource that is handed
    over as the result, with `{match.id}` for members of the match; it is read when exactly one
    item matches. `absent` are the statuses, 400 to 599, that mean "not there". `baseline` counts
    the copies before the first send.

    Raises ValueError, naming the argument, for what can never work.
    """
    if baseline is not True and baseline is not False:
        raise ValueError(f"baseline: {baseline!r} is neither True nor False")
    return Found(
        template=Address.of("template", template),
        items=None if items is None else dotted("items", items),
        where=() if where is None else _conditions(where),
        item=None if item is None else _item(item),
        absent=_statuses(absent),
        baseline=baseline,
    )


def same(url: str | None = None) -> Same:
    """A verifier for PUT: a GET of `url` (default: the call's own) shows the body that was sent.

    `url` may be a template, as in `found`. A PUT that only takes members away cannot be told from
    the state before it, since servers add members of their own. Raises ValueError for a bad `url`.
    """
    return Same(None if url is None else Address.of("url", url))


def gone(url: str | None = None) -> Gone:
    """A verifier for DELETE: a GET of `url` (default: the call's own) answers 404 or 410.

    `url` may be a template, as in `found`. Raises ValueError for a bad `url`.
    """
    return Gone(None if url is None else Address.of("url", url))


class Condition(NamedTuple):
    """One entry of `where`: the path in an item, and the value to hold there."""

    path: tuple[str, ...]
    value: Parts


Wanted = list[tuple[tuple[str, ...], Scalar]]


class Listing(NamedTuple):
    """The items of an answer, and why they may not be the list (empty if they are)."""

    items: list[Any]
    lone: bool = False
    doubt: str = ""


class Sight(NamedTuple):
    """The copies that are there, and why there may be more (empty if there are none)."""

    copies: list[Any]
    doubt: str = ""


@dataclass(frozen=True)
class Found:
    """What `found` returns."""

    template: Address
    items: tuple[str, ...] | None
    where: tuple[Condition, ...]
    item: Address | None
    absent: tuple[int, ...]
    baseline: bool

    @property
    def counts(self) -> bool:
        """Can it tell one copy from two? Only a list can."""
        return self._reads_list and bool(self.where or self.template.query_fields)

    def shown(self, url: str) -> str:
        """The read as a report shows it, for a call to `url`: never filled in, no query."""
        return _shown(self.template, url)

    def steps(self, call: Subject) -> Steps:
        """Ask for the reads, one by one, and return the verdict."""
        try:
            wanted = self._wanted(call)
            url = self.template.fill(call)
            sight = self._sight((yield Read(url)), wanted, url)
        except DoubtError as doubt:
            return _unclear(str(doubt))
        verdict = self._judge(call, sight)
        result = self._result(call, sight.copies) if verdict == Verdict.LANDED else None
        if result is not None:
            yield Read(result)
        return verdict

    @property
    def _reads_list(self) -> bool:
        return bool(self.where) or not self.template.path_fields

    def _wanted(self, call: Subject) -> Wanted:
        if self.where:
            return [(path, said(value, call)) for path, value in self.where]
        if self._reads_list:
            wanted = self.template.named(call)
            if not wanted:
                raise DoubtError("the template has no field to look for")
            return wanted
        both = self.template.path_fields + self.template.query_fields
        return [((), field.value(call)) for field in both]

    def _sight(self, answer: Answer, wanted: Wanted, url: str) -> Sight:
        status = answer.status_code
        if status in self.absent or (self.template.path_fields and status in _GONE):
            return Sight([])
        body = _body(answer)
        if not self._reads_list:
            return _one_object(body, self.items, wanted)
        listing = _listing(body, self.items)
        copies = [item for item in listing.items if _holds(item, wanted)]
        doubt = (
            _near(listing.items, wanted)
            or _more(answer, body, len(listing.items), url)
            or self._doubt(body, listing, len(copies), wanted)
        )
        return Sight(copies, doubt)

    def _doubt(self, body: Any, listing: Listing, copies: int, wanted: Wanted) -> str:
        items, lone, _ = listing
        inside = isinstance(body, dict) and not lone and not self.items
        doubts = {
            "the list may be a part of the item: name the list with items=": (
                inside and _is_item(body, wanted)
            ),
            "only copies that were known before are shown": copies and not self.where,
            "items without a match: the server may have ignored the filter": (
                items and not self.where
            ),
            "one object is shown where there may be others": (
                lone and (copies or self.template.path_fields)
            ),
            "no item has a member that where= names": items and not _shaped(items, wanted),
        }
        return listing.doubt or next((why for why, holds in doubts.items() if holds), "")

    def _judge(self, call: Subject, sight: Sight) -> Verdict:
        count = len(sight.copies)
        floor = (call.baseline or 0) + max(call.known, 0)
        if count and self.baseline and call.baseline is None:
            return _unclear("the copies before the first send were not counted", count)
        if count > floor + max(call.pending, 0):
            return Verdict("LANDED", count=count)
        if count > floor:
            return _unclear("equal calls are still in flight", count, again=True)
        if count < floor:
            return _unclear("fewer copies are shown than are known to be done", count)
        if sight.doubt:
            return _unclear(sight.doubt, count)
        return Verdict("ABSENT", count=count)

    def _result(self, call: Subject, copies: list[Any]) -> str | None:
        # With two copies one may be another action's, whose result is not this caller's.
        if self.item is None or len(copies) != 1:
            return None
        try:
            return self.item.fill(call, copies[0])
        except DoubtError:
            return None

    def __repr__(self) -> str:
        shown = {
            "items": self.items and ".".join(self.items),
            "where": {".".join(path): as_written(value) for path, value in self.where},
            "item": self.item and self.item.text,
            "absent": self.absent,
            "baseline": self.baseline,
        }
        given = "".join(f", {name}={value!r}" for name, value in shown.items() if value)
        return f"verify.found({self.template.text!r}{given})"


@dataclass(frozen=True)
class Same:
    """What `same` returns."""

    url: Address | None
    counts: ClassVar[bool] = False
    baseline: ClassVar[bool] = False

    def shown(self, url: str) -> str:
        """The read as a report shows it, for a call to `url`: never filled in, no query."""
        return _shown(self.url, url)

    def steps(self, call: Subject) -> Steps:
        """Ask for the read and return the verdict."""
        if call.json is None and call.content is None:
            return _unclear("the call has no body that can be read")
        try:
            return _sent_is_shown(call, (yield Read(_filled(self.url, call))))
        except DoubtError as doubt:
            return _unclear(str(doubt))

    def __repr__(self) -> str:
        return f"verify.same({repr(self.url.text) if self.url else ''})"


@dataclass(frozen=True)
class Gone:
    """What `gone` returns."""

    url: Address | None
    hands_over: ClassVar[tuple[int, ...]] = (404, 410)  # answers that show that it is done
    counts: ClassVar[bool] = False
    baseline: ClassVar[bool] = False

    def shown(self, url: str) -> str:
        """The read as a report shows it, for a call to `url`: never filled in, no query."""
        return _shown(self.url, url)

    def steps(self, call: Subject) -> Steps:
        """Ask for the read and return the verdict."""
        try:
            return _is_gone((yield Read(_filled(self.url, call))))
        except DoubtError as doubt:
            return _unclear(str(doubt))

    def __repr__(self) -> str:
        return f"verify.gone({repr(self.url.text) if self.url else ''})"


# Arguments


def _conditions(where: object) -> tuple[Condition, ...]:
    if not isinstance(where, Mapping) or not where:
        raise ValueError('where: give a mapping such as {"title": "{json.title}"}')
    conditions = [
        Condition(dotted("where", path), parse("where", value)) for path, value in where.items()
    ]
    if not any(fields(condition.value) for condition in conditions):
        raise ValueError('where: no value comes from the call; use a field such as "{json.title}"')
    return tuple(sorted(conditions, key=lambda condition: condition.path))


def _item(text: object) -> Address:
    address = Address.of("item", text, match=True)
    if not address.path_fields and not address.query_fields:
        raise ValueError(f'item: {text!r} has no field; use one such as "{{match.id}}"')
    return address


def _statuses(absent: object) -> tuple[int, ...]:
    statuses: list[Any] = list(absent) if isinstance(absent, Iterable) else [None]
    if not all(type(status) is int and 400 <= status <= 599 for status in statuses):
        raise ValueError(
            f"absent: {absent!r} is not a sequence of statuses from 400 to 599, such as (404,)"
        )
    return tuple(sorted(set(statuses)))


# What all three share

_GONE = frozenset({404, 410})
# 202 is not the thing yet; 204 and 205 have no content (RFC 9110, section 15.3).
_NOTHING_SHOWN = frozenset({202, 204, 205})
_PARTIAL_CONTENT = 206


def _unclear(why: str, count: int | None = None, *, again: bool = False) -> Verdict:
    return Verdict("UNCLEAR", why=why, count=count, again=again)


def _shown(address: Address | None, url: str) -> str:
    return f"GET {target(url if address is None else address.shown(url))}"


def _filled(address: Address | None, call: Subject) -> str:
    return call.url if address is None else address.fill(call)


def _must_show(answer: Answer) -> None:
    status = answer.status_code
    if not 200 <= status <= 299 or status in _NOTHING_SHOWN:
        raise DoubtError(f"the read was answered {status}")


def _json(answer: Answer) -> Any:
    with suppress(Exception):  # server input: whatever a parser throws, it shows nothing
        return answer.json()
    raise DoubtError("the answer to the read is not readable JSON")


def _body(answer: Answer) -> Any:
    _must_show(answer)
    return _json(answer)


# Copies in an answer

_IDS = frozenset({"id", "_id", "uuid"})


def _denies(body: dict[Any, Any]) -> bool:
    named = any(body.get(name) for name in ("error", "errors"))
    return named or any(body.get(name) is False for name in ("ok", "success", "found", "exists"))


def _one_object(body: Any, items: tuple[str, ...] | None, wanted: Wanted) -> Sight:
    thing = dig(body, items or ())
    if not isinstance(thing, dict) or _denies(thing) or _denies(body):
        raise DoubtError("the answer is not the object asked for")
    texts = {canonical(value) for _, value in _members(thing)}
    if not all(canonical(value) in texts for _, value in wanted):
        raise DoubtError("the object does not hold the values sought")
    return Sight([thing], "only a copy that was known before is shown")


def _members(thing: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Every member of an object and of the objects inside it. No recursion: depth is theirs."""
    open_objects = [thing]
    while open_objects:
        for name, value in open_objects.pop().items():
            yield str(name), value
            if isinstance(value, dict):
                open_objects.append(value)


def _listing(body: Any, items: tuple[str, ...] | None) -> Listing:
    denied = isinstance(body, dict) and _denies(body)
    doubt = "the answer reports an error" if denied else ""
    value = body if body == {} else dig(body, items or ())
    if isinstance(value, dict) and not items:
        lists = [member for member in value.values() if isinstance(member, list)]
        if len(lists) > 1:
            raise DoubtError("the answer holds more than one list: name one with items=")
        value = lists[0] if lists else value
    if isinstance(value, list):
        return Listing(value, doubt=doubt)
    if not isinstance(value, dict):
        raise DoubtError("the answer holds no list and no object where one is looked for")
    if denied or _denies(value):
        raise DoubtError("the answer reports an error")
    return Listing([value] if value else [], lone=True)


def _is_item(body: dict[Any, Any], wanted: Wanted) -> bool:
    """Is the object that holds the list the item itself, as an order with its lines?"""
    own = {value for value in body.values() if isinstance(value, str)}
    return not _IDS.isdisjoint(body) or any(canonical(value) in own for _, value in wanted)


def _shaped(items: list[Any], wanted: Wanted) -> bool:
    """Is each path to be seen in some item? A path that nobody has proves nothing."""
    return all(any(dig(item, path) is not MISSING for item in items) for path, _ in wanted)


def _holds(item: Any, wanted: Wanted) -> bool:
    return all(canonical(dig(item, path)) == canonical(value) for path, value in wanted)


def _near(items: list[Any], wanted: Wanted) -> str:
    for item in items:
        nearly = all(alike(dig(item, path), value) for path, value in wanted)
        if nearly and not _holds(item, wanted):
            return "an item nearly holds the values sought"
    return ""


# Signs of more pages. Names are compared without case and punctuation: has_more is hasMore.

_ROUND = frozenset({10, 20, 25, 30, 50, 100, 200, 250, 500, 1000})
_LIMITS = re.compile(
    "limit|perpage|page(size|limit)|first|count|max(results|items|keys)|size|top|take"
)
_LIMITS_ECHOED = re.compile("limit|perpage|pagesize|maxresults")
_TRUE_IF_MORE = re.compile(
    "has(more|next(page)?)|more(available)?|x?next(page|cursor)?|(odata)?nextlink"
    "|next(page)?token|next(url|marker|offset|recordsurl)|cursor|continuationtoken"
    "|lastevaluatedkey|(is)?truncated|incompleteresults"
)
_FALSE_IF_MORE = re.compile("(is)?last(page)?")
_TOTALS = re.compile("x?total(count)?|total(items|results|elements|hits)|count")
_PAGES = re.compile("x?totalpages|numpages|lastpage")
_REL_NEXT = re.compile(r"""\brel\s*=\s*("[^"]*\bnext\b|'[^']*\bnext\b|next\b)""", re.IGNORECASE)
_PAGING_HEADERS = ("x-next-page", "x-next-cursor", "x-total", "x-total-count", "x-total-pages")


def _more(answer: Answer, body: Any, shown: int, url: str) -> str:
    why = "there may be more pages"
    if answer.status_code == _PARTIAL_CONTENT or shown in _ROUND or _headers_say(answer, shown):
        return why
    query = parse_qsl(urlsplit(url).query)
    if any(_LIMITS.fullmatch(_plain(name)) and _at_most(value, shown) for name, value in query):
        return why
    members = _members(body) if isinstance(body, dict) else ()
    return why if any(_says_more(_plain(name), value, shown) for name, value in members) else ""


def _headers_say(answer: Answer, shown: int) -> bool:
    headers = answer.headers
    if _REL_NEXT.search(headers.get("link") or ""):
        return True
    _, _, total = (headers.get("content-range") or "").rpartition("/")
    paging = [(_plain(name), headers.get(name)) for name in _PAGING_HEADERS]
    return _above(total, shown) or any(_says_more(name, text, shown) for name, text in paging)


def _says_more(name: str, value: Any, shown: int) -> bool:
    signs = (
        _TRUE_IF_MORE.fullmatch(name) and value,
        _FALSE_IF_MORE.fullmatch(name) and value is False,
        _TOTALS.fullmatch(name) and _above(value, shown),
        _PAGES.fullmatch(name) and _above(value, 1),
        _LIMITS_ECHOED.fullmatch(name) and shown and _at_most(value, shown),
    )
    return any(signs)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _whole(value: Any) -> int | None:
    text = canonical(value)
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _above(value: Any, bound: int) -> bool:
    number = _whole(value)
    return number is not None and number > bound


def _at_most(value: Any, bound: int) -> bool:
    number = _whole(value)
    return number is not None and number <= bound


# The body that was sent


def _sent_is_shown(call: Subject, answer: Answer) -> Verdict:
    if answer.status_code in _GONE:
        return Verdict.ABSENT
    _must_show(answer)
    if answer.content == call.content:
        return Verdict.LANDED
    if answer.status_code == _PARTIAL_CONTENT:
        raise DoubtError("the read was answered in part")
    if call.json is not None:
        return _compared(call.json, _json(answer))
    sent, shown = _media_type(call.headers), _media_type(answer.headers)
    if sent and shown and sent != shown:
        raise DoubtError("the body is shown as another media type than was sent")
    return Verdict.ABSENT


def _media_type(headers: Mapping[str, str]) -> str:
    return (headers.get("content-type") or "").partition(";")[0].strip().lower()


def _compared(sent: Any, shown: Any) -> Verdict:
    """Compare member by member. No recursion: the depth of `shown` is the server's."""
    sure = True
    pairs = [(sent, shown, False)]
    while pairs:
        want, have, exact = pairs.pop()
        if isinstance(want, dict) and isinstance(have, dict):
            common = want.keys() & have.keys()
            sure = sure and len(common) == len(want)
            # Members of the server's own are fine, except where all there is was to be sent.
            sure = sure and not ((exact or not want) and len(have) > len(common))
            pairs += [(want[name], have[name], exact) for name in common]
        elif isinstance(want, list) and isinstance(have, list) and len(want) == len(have):
            pairs += [(one, other, True) for one, other in zip(want, have, strict=True)]
        elif not _equal(want, have):
            if not alike(have, want) and not _unreadable(have):
                return Verdict.ABSENT
            sure = False
    if sure:
        return Verdict.LANDED
    raise DoubtError("not every member that was sent is shown as it was sent")


def _equal(want: Any, have: Any) -> bool:
    # In Python True == 1, in JSON true is not 1.
    if isinstance(want, bool):
        return want is have
    return type(have) in (str, int, float, type(None)) and bool(want == have)


def _unreadable(value: Any) -> bool:
    """A number that is none (NaN), or that is too long to be written."""
    return isinstance(value, int | float) and canonical(value) is None


# The thing that was deleted


def _is_gone(answer: Answer) -> Verdict:
    if answer.status_code in _GONE:
        return Verdict.LANDED
    if not 200 <= answer.status_code <= 299:
        raise DoubtError(f"the read was answered {answer.status_code}")
    if _marked_deleted(answer):
        raise DoubtError("the object is still shown, marked as deleted")
    return Verdict.ABSENT


def _marked_deleted(answer: Answer) -> bool:
    try:
        body = _json(answer)
    except DoubtError:  # what is not JSON has no mark
        return False
    marks = {"deleted", "isdeleted", "deletedat"}
    return isinstance(body, dict) and any(
        _plain(str(name)) in marks and value for name, value in body.items()
    )
