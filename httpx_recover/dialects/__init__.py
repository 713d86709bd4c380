"""The dialects of servers, as pure rules: what an answer says, in whatever words it says it.

`read(answer, safe=, now=, dialects=)` gives a `Reading`: class, applied, wait, code, hint, sign of
the key, failed items, and which fact decided. `wants_body(status, dialects)` says whether the start
of the body is needed for it. `dialects_of(tables, file)` turns the tables of a TOML file into
records. The data stands in `apis/*.toml`; reading files is another floor's work.
"""

from __future__ import annotations

from httpx_recover.dialects._partial import Items
from httpx_recover.dialects._read import Answer, Reading, read, wants_body
from httpx_recover.dialects._records import Dialect, KeyFact, Source
from httpx_recover.dialects._schema import dialects_of

__all__ = [
    "Answer",
    "Dialect",
    "Items",
    "KeyFact",
    "Reading",
    "Source",
    "dialects_of",
    "read",
    "wants_body",
]
