"""Idempotency keys: where a key goes on the wire, and how long it can be trusted.

A key is a lease, not a property. The server remembers it for a window that starts when it
first sees it, so a resend must begin before `first sent + window`. Attaching a key costs nothing
and promises nothing: only a rule that says `dedupes=True` makes it evidence.

The header's value is a bare token. The IETF draft (draft-ietf-httpapi-idempotency-key-header-07)
asks for a quoted structured-field string, while nearly every vendor takes the bare value, so
quoting is a switch and off by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class Key:
    """Where an idempotency key goes. Make one with `Key.header(...)` or `Key.none()`."""

    name: str | None
    quoted: bool = False

    @classmethod
    def header(cls, name: str = "Idempotency-Key", *, quoted: bool = False) -> Key:
        """A request header called `name`; `quoted=True` sends it as `"..."`.

        Raises:
            ValueError: `name` is not a header name.
        """
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(
                f"Key.header(name={name!r}): not a header name; use letters, digits and '-', "
                f"such as 'Idempotency-Key'"
            )
        return cls(name, bool(quoted))

    @classmethod
    def none(cls) -> Key:
        """No key: nothing is attached, and a key of the caller's own is only passed on."""
        return cls(None)

    def written(self, value: str) -> str:
        """The header's value for the key `value`."""
        return f'"{value}"' if self.quoted else value

    def value(self, written: str) -> str:
        """The key that stands in a header's value."""
        if len(written) > 1 and written[0] == written[-1] == '"':
            return written[1:-1]
        return written


def outlasts(first_sent: float | None, window: float | None, at: float) -> bool:
    """Is a key, first sent at `first_sent`, still remembered by the server at `at`?

    Arguments are seconds of one monotonic clock; `window=None` means for the whole task.
    """
    return window is None or first_sent is None or at < first_sent + window
