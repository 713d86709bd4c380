"""A bounded look into an answer's body: codes, sentences, waits, and hints.

The caller hands over what it has read; at most 64 KiB of it are looked at. JSON is parsed, an
event stream gives its last event, XML its codes, everything else is text. Answers are hostile:
nesting without end, invalid UTF-8, numbers of a million digits, NaN. Nothing here raises, and the
work is bounded by the size of the look.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from math import isfinite
from typing import Any, Final

from httpx_recover.dialects._paths import values_at

LOOK: Final = 64 * 1024  # bytes of a body that are looked at
_NODES: Final = 400  # objects and lists of a body that are visited
_DEEPEST: Final = 6  # levels below the top
_EACH: Final = 32  # children of one object or list
_SENTENCE: Final = 500  # characters of a sentence that are kept
_TEXT: Final = 2000  # characters of a plain text that are read

# Where APIs put a code, the more telling first; and their sentences.
_CODE_KEYS: Final = (
    *("code", "Code", "error_code", "errorCode", "errorcode", "error_name", "issue", "reason"),
    *("__type", "type", "status", "error", "name", "slug", "category", "policyName"),
    *("errorType", "error_type", "quotaId", "error_subcode"),
)
_SENTENCE_KEYS: Final = (
    *("message", "Message", "detail", "title", "description", "error_description", "error"),
    *("errorMessage", "error_message", "msg", "text", "reason"),
)
WAIT_KEYS: Final = {
    "retry_after": "s",
    "retryAfter": "s",
    "retry-after": "s",
    "retry_after_s": "s",
    "retry_after_seconds": "s",
    "retryAfterSeconds": "s",
    "retryDelay": "duration",
    "retry_after_ms": "ms",
    "retryAfterMs": "ms",
}
_DUPLICATE: Final = (  # deeper it is a field of the caller's own
    *("duplicate", "error.duplicate", "data.duplicate"),
    *("result.duplicate", "result.structuredContent.duplicate"),
)
_PASSED: Final = frozenset(  # what is the caller's own data and not about the error
    {"data", "input", "request", "params", "arguments", "body", "payload", "results"}
)
_XML_CODE: Final = re.compile(
    r"<(?:[A-Za-z0-9]+:)?(?:Code|ErrorCode|faultcode)>\s*([^<>\s]{1,80})\s*<"
)
_XML_SENTENCE: Final = re.compile(r"<(?:[A-Za-z0-9]+:)?(?:Message|faultstring)>([^<>]{1,500})<")


@dataclass(slots=True)
class Found:
    """What a look has found. `document` is the parsed JSON, None when it is none."""

    document: Any = None
    kind: str = "text"  # json, xml, text
    codes: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    waits: list[tuple[str, str, str]] = field(default_factory=list)  # key, unit, text
    policies: list[str] = field(default_factory=list)
    hint: bool | None = None
    duplicate: bool = False

    def add_code(self, value: Any) -> None:
        """Keep a value as a code, if it can be one."""
        text = code_of(value)
        if text and text not in self.codes and len(self.codes) < 64:
            self.codes.append(text)


def look(body: bytes | str | None, content_type: str = "") -> Found:
    """Look into a body. `content_type` decides only what the bytes themselves leave open."""
    text = _text(body)
    if not text:
        return Found()
    if "event-stream" in content_type:
        text = _last_event(text)
    document = parse(text) if text[:1] in "{[" else None
    if document is not None:
        return look_into(document)
    if text[:1] == "<":
        return _markup(text)
    return Found(sentences=[text[:_TEXT]])


def look_into(document: Any) -> Found:
    """Look into a parsed JSON answer."""
    found = Found(document, "json")
    found.duplicate = any(True in values_at(document, path) for path in _DUPLICATE)
    for node in islice(_walk(document), _NODES):
        _gather(node, found)
    return found


def parse(text: str) -> Any:
    """The JSON in a text, None when it is none. Numbers too large for a float are None."""
    try:
        return json.loads(text, parse_int=_whole, parse_float=_real, parse_constant=_nothing)
    except (ValueError, RecursionError):
        return None


def code_of(value: Any) -> str:
    """A value as an API's code: a word, or a number; else nothing.

    `com.amazonaws.dynamodb#Throttled` and `https://example.com/problems/usage-capped` are known
    by their last part, `Throttled:http://...` by its first.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ""
    if isinstance(value, int):
        return str(value)
    text = value.strip()
    if "://" in text and not text.startswith("http"):
        text = text.partition(":")[0]
    text = re.split(r"[#/]", text.rstrip("/"))[-1].partition(":")[0]
    return text if 0 < len(text) <= 80 and text.isprintable() and " " not in text else ""


def _text(body: bytes | str | None) -> str:
    if isinstance(body, str):
        return body[:LOOK].lstrip("\ufeff \t\r\n").rstrip()
    return (body or b"")[:LOOK].decode("utf-8", "replace").lstrip("\ufeff \t\r\n").rstrip()


def _whole(text: str) -> int | float | None:
    return int(text) if len(text) < 18 else _real(text)


def _real(text: str) -> float | None:
    value = float(text)
    return value if isfinite(value) else None


def _nothing(_: str) -> None:
    return None


def _last_event(text: str) -> str:
    """The data of the last event that a stream holds; an error comes last."""
    data = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return next((each for each in reversed(data) if each[:1] == "{"), "")


def _walk(top: Any) -> Iterator[dict[str, Any]]:
    """The objects of an answer, the outer before the inner."""
    row = [(top, "")]
    for _ in range(_DEEPEST):
        below: list[tuple[Any, str]] = []
        for node, key in row:
            if isinstance(node, dict):
                yield node
                inner = (each for each in node if isinstance(node[each], (dict, list)))
                below += ((node[each], each) for each in islice(inner, _EACH) if _led(each, key))
            else:
                below += [(each, key) for each in node[:_EACH]]
        row = [(node, key) for node, key in below if isinstance(node, (dict, list))][:_NODES]


def _led(key: str, above: str) -> bool:
    # JSON-RPC keeps the words about an error in its `data`: there it is not the caller's.
    return key not in _PASSED or (key == "data" and above == "error")


def _gather(node: dict[str, Any], found: Found) -> None:
    for key in _CODE_KEYS:
        if key in node:
            found.add_code(node[key])
    for key in _SENTENCE_KEYS:
        value = node.get(key)
        if isinstance(value, str) and len(found.sentences) < 32:
            found.sentences.append(value[:_SENTENCE])
    for key, unit in WAIT_KEYS.items():
        value = node.get(key)
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            found.waits.append((key, unit, _plain(value)))
    _gather_flags(node, found)


def _gather_flags(node: dict[str, Any], found: Found) -> None:
    for key in ("retryable", "is_transient"):
        if isinstance(node.get(key), bool) and found.hint is None:
            found.hint = node[key]
    policies = node.get("violated-policies")
    if isinstance(policies, list):
        found.policies += [each[:80] for each in policies[:_EACH] if isinstance(each, str)]


def _plain(value: float | str) -> str:
    # Without an exponent, as the readers of times want it.
    return value if isinstance(value, str) else f"{value:.6f}"


def _markup(text: str) -> Found:
    found = Found(kind="xml", sentences=_XML_SENTENCE.findall(text)[:8])
    for code in _XML_CODE.findall(text)[:8]:
        found.add_code(code.rpartition(":")[2])
    if not found.codes:
        found.sentences.append(re.sub(r"<[^<>]*>", " ", text[:_TEXT]))
    return found
