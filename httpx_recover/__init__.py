"""Calls that fail half-way recover cleanly, no write is sent twice by accident, and every task
ends with an honest report."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from httpx_recover import verify
from httpx_recover._block import call
from httpx_recover._errors import RecoverError, UnknownOutcome
from httpx_recover._keys import Key
from httpx_recover._ledger import Outcome
from httpx_recover._outcome import outcome, resolve
from httpx_recover._policy import Policy, Rule
from httpx_recover._report import Report
from httpx_recover._task import Task, current_task, task
from httpx_recover._words import Applied, FailureClass, Verdict

if TYPE_CHECKING:
    from httpx_recover._explain import Explanation, explain
    from httpx_recover.httpx import AsyncRecoverTransport, RecoverTransport
    from httpx_recover.requests import RecoverAdapter

__version__ = "0.1.0"

__all__ = [
    "Applied",
    "AsyncRecoverTransport",
    "Explanation",
    "FailureClass",
    "Key",
    "Outcome",
    "Policy",
    "RecoverAdapter",
    "RecoverError",
    "RecoverTransport",
    "Report",
    "Rule",
    "Task",
    "UnknownOutcome",
    "Verdict",
    "call",
    "current_task",
    "explain",
    "outcome",
    "recover",
    "resolve",
    "task",
    "verify",
]

_CLIENTS = ("httpx", "httpx2", "requests")
_LATER = {
    "Explanation": "httpx_recover._explain",
    "explain": "httpx_recover._explain",
    "RecoverTransport": "httpx_recover.httpx",
    "AsyncRecoverTransport": "httpx_recover.httpx",
    "RecoverAdapter": "httpx_recover.requests",
}


def __getattr__(name: str) -> Any:
    """What needs a client library, or the presets, is loaded when first asked for (PEP 562)."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def recover(client: Any, *, policy: Policy | None = None, rules: Any = ()) -> Any:
    """Wrap a client of httpx, httpx2 or requests in place, proxies and mounts included; return it.

    Args:
        client: an `httpx.Client`, an `httpx.AsyncClient`, one of httpx2, or a `requests.Session`.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.

    Raises:
        ValueError: it is no such client, or was recovered before with other settings.
    """
    for base in type(client).__mro__:
        library = base.__module__.partition(".")[0]
        if library in _CLIENTS:
            return import_module(f"httpx_recover.{library}").recover(
                client, policy=policy, rules=rules
            )
    raise ValueError(f"client={client!r}: must be a client of httpx, httpx2 or requests")
