"""Reading and settling the outcome that every response and exception of a mount carries."""

from __future__ import annotations

from typing import Any

from httpx_recover._ledger import FAILED, Outcome
from httpx_recover._memory import MEMORY
from httpx_recover._words import Applied, FailureClass, Verdict


def find_outcome(x: Any) -> Outcome | None:
    """The outcome on a response or an exception, or on the exception's response."""
    for thing in (x, _held(x, "response")):
        extensions = _held(thing, "extensions")
        kept = extensions.get("recovery") if isinstance(extensions, dict) else None
        for found in (_held(thing, "recovery"), kept):
            if isinstance(found, Outcome):
                return found
    return None


def _held(x: Any, name: str) -> Any:
    try:
        return getattr(x, name, None)
    except Exception:  # a foreign exception may refuse to show its response
        return None


def outcome(x: Any) -> Outcome | None:
    """How a call ended: its class, its effect, its attempts.

    Args:
        x: a response, or an exception (one with a `.response` too).

    Returns:
        The `Outcome`; None only for what never passed a mount.
    """
    return x if isinstance(x, Outcome) else find_outcome(x)


def resolve(x: Any, verdict: Verdict) -> None:
    """Record what the caller saw for itself of a write with unknown outcome.

    Args:
        x: the response, the exception, or its `Outcome`.
        verdict: `Verdict.LANDED`: it is done. `Verdict.ABSENT`: it did not happen, and the same
            request may be sent once more.

    Raises:
        ValueError: `x` has no outcome of this process, or the verdict is another one.
    """
    found = outcome(x)
    action = None if found is None else found.action
    if action is None:
        raise ValueError(f"resolve({type(x).__name__}): it carries no outcome of this process")
    if verdict == Verdict.LANDED:
        action.done("caller")
        action.note = None
        MEMORY.account(action)
        MEMORY.forget(action)
    elif verdict == Verdict.ABSENT:
        failure = action.failure or FailureClass.UNKNOWN_OUTCOME
        action.ended(FAILED, failure, Applied.NO, action.cause or "", action.stop)
        action.note, action.permit = "absent, seen by the caller", True
    else:
        raise ValueError(f"verdict={verdict!r}: must be Verdict.LANDED or Verdict.ABSENT")
    action.lost_answer, action.lost_end, action.items = False, None, None
