"""What a status alone means. The tables are the rules; adding a row is how a rule is added.

The order in which `classify` decides:

1. A status that means something else beside a `Retry-After` (413), when there is one.
2. The row of the status.
3. The row of its hundred, for a status that no row names (RFC 9110 section 15: a client
   treats an unknown status as the x00 of its class).
4. The row of 500, for a number outside 100 to 599 (RFC 9110 section 15: such an answer is
   to be handled as if it were a 5xx).

A row has two ends: what the status means on a read and what it means on a write. The body,
the server's own headers and the engine's memory may say more than the status; they are read
elsewhere, and before this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from httpx_recover._words import Applied, FailureClass

End: TypeAlias = tuple[FailureClass, Applied]
Row: TypeAlias = tuple[End, End]  # on a read, on a write


def _both(failure: FailureClass, applied: Applied) -> Row:
    return (failure, applied), (failure, applied)


_OK: Final = _both(FailureClass.OK, Applied.YES)
_ACCEPTED: Final = _both(FailureClass.ACCEPTED, Applied.UNKNOWN)
_PARTIAL: Final = _both(FailureClass.PARTIAL, Applied.UNKNOWN)
_BAD_INPUT: Final = _both(FailureClass.BAD_INPUT, Applied.NO)
_AUTH: Final = _both(FailureClass.AUTH, Applied.NO)
_QUOTA: Final = _both(FailureClass.QUOTA, Applied.NO)
_NOT_FOUND: Final = _both(FailureClass.NOT_FOUND, Applied.NO)
_RATE_LIMIT: Final = _both(FailureClass.RATE_LIMIT, Applied.NO)
_REFUSED: Final = _both(FailureClass.TRANSIENT, Applied.NO)
_CONFLICT: Final = _both(FailureClass.CONFLICT, Applied.UNKNOWN)
_NOT_THIS_TIME: Final = _both(FailureClass.CONFLICT, Applied.NO)
_LOST: Final[Row] = (
    (FailureClass.TRANSIENT, Applied.UNKNOWN),
    (FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN),
)
_NOT_MODIFIED: Final[Row] = (
    (FailureClass.OK, Applied.YES),
    (FailureClass.BAD_INPUT, Applied.NO),  # only a conditional read may be answered so
)

EARLY: Final = frozenset(range(100, 200)) - {101}
"""Statuses that announce an answer and are none (RFC 9110 section 15.2). http.client shows some of
them as if they were: then the answer was lost, whatever the row says."""

ELSEWHERE: Final = frozenset({301, 302, 307, 308})
"""Statuses that ask for a write itself to be sent elsewhere (RFC 9110 section 15.4): it is not done
yet. A 303 only says where its answer is."""

ROWS: Final[Mapping[int, Row]] = {
    100: _OK,  # RFC 9110 15.2; not final: see EARLY
    200: _OK,  # RFC 9110 15.3
    202: _ACCEPTED,  # RFC 9110 15.3.3: "might or might not eventually be acted upon"
    207: _PARTIAL,  # RFC 4918 11.1: each item has a status of its own
    208: _PARTIAL,  # RFC 5842 7.1: stands inside a 207
    300: _OK,  # RFC 9110 15.4; where to go next is the client's business
    304: _NOT_MODIFIED,  # RFC 9110 15.4.5
    400: _BAD_INPUT,  # RFC 9110 15.5.1
    401: _AUTH,  # RFC 9110 15.5.2
    402: _QUOTA,  # RFC 9110 15.5.3: reserved there, used for unpaid bills
    403: _AUTH,  # RFC 9110 15.5.4
    404: _NOT_FOUND,  # RFC 9110 15.5.5
    405: _BAD_INPUT,  # RFC 9110 15.5.6
    406: _BAD_INPUT,  # RFC 9110 15.5.7
    407: _AUTH,  # RFC 9110 15.5.8: the proxy's word, the origin saw nothing
    408: _LOST,  # RFC 9110 15.5.9: not received by the text, but gateways send it too
    409: _CONFLICT,  # RFC 9110 15.5.10: an earlier request may have won
    410: _NOT_FOUND,  # RFC 9110 15.5.11
    411: _BAD_INPUT,  # RFC 9110 15.5.12
    412: _NOT_THIS_TIME,  # RFC 9110 15.5.13: the method was not applied
    413: _BAD_INPUT,  # RFC 9110 15.5.14
    414: _BAD_INPUT,  # RFC 9110 15.5.15
    415: _BAD_INPUT,  # RFC 9110 15.5.16
    416: _BAD_INPUT,  # RFC 9110 15.5.17
    417: _BAD_INPUT,  # RFC 9110 15.5.18
    418: _BAD_INPUT,  # RFC 9110 15.5.19: unused
    421: _REFUSED,  # RFC 9110 15.5.20: may be repeated, whatever the method
    422: _BAD_INPUT,  # RFC 9110 15.5.21
    423: _NOT_THIS_TIME,  # RFC 4918 11.3
    424: _BAD_INPUT,  # RFC 4918 11.4
    425: _REFUSED,  # RFC 8470 5.2: not processed
    426: _BAD_INPUT,  # RFC 9110 15.5.22
    428: _BAD_INPUT,  # RFC 6585 3
    429: _RATE_LIMIT,  # RFC 6585 4
    431: _BAD_INPUT,  # RFC 6585 5
    451: _AUTH,  # RFC 7725 3
    500: _LOST,  # RFC 9110 15.6.1
    501: _BAD_INPUT,  # RFC 9110 15.6.2
    502: _LOST,  # RFC 9110 15.6.3: the origin may well have acted
    503: _LOST,  # RFC 9110 15.6.4
    504: _LOST,  # RFC 9110 15.6.5
    505: _BAD_INPUT,  # RFC 9110 15.6.6
    506: _BAD_INPUT,  # RFC 2295 8.1
    507: _QUOTA,  # RFC 4918 11.5
    508: _BAD_INPUT,  # RFC 5842 7.2
    510: _BAD_INPUT,  # RFC 2774 7
    511: _AUTH,  # RFC 6585 6: a captive network, the origin saw nothing
}

WITH_RETRY_AFTER: Final[Mapping[int, Row]] = {
    413: _RATE_LIMIT,  # RFC 9110 15.5.14: too large for now, and the server says until when
}


def classify(status: int, *, safe: bool, retry_after: bool = False) -> End:
    """What a status means by itself, and whether the server acted on the request.

    `status` is the number as received, also one outside 100 to 599; `safe` says that the call
    is a read; `retry_after` that the response has a `Retry-After`. Returns the class and
    applied. Raises nothing. Sources: RFC 9110 section 15 and the RFC beside each row.
    """
    row = WITH_RETRY_AFTER.get(status) if retry_after else None
    if row is None:
        row = ROWS.get(status)
    if row is None:
        row = ROWS.get(status // 100 * 100, _LOST)
    return row[0] if safe else row[1]
