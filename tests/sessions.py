"""The ways to get a session of requests: without us, wrapped in place, and with our adapter.

What a test says holds for all of them: the first proves the test, the others that nothing changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from httpx_recover.requests import RecoverAdapter, recover

WAYS = ("bare", "recover", "mounted")


def dressed(way: str, session: requests.Session) -> requests.Session:
    """Put us under a session, in this way."""
    if way == "recover":
        return recover(session)
    if way == "mounted":
        session.mount("http://", RecoverAdapter())
        session.mount("https://", RecoverAdapter())
    return session


def adapter_class(way: str) -> Any:
    """What an adapter of one's own is derived from."""
    return RecoverAdapter if way == "mounted" else HTTPAdapter


def under(way: str, session: requests.Session) -> requests.Session:
    """Put us under a session whose adapters are its own."""
    return recover(session) if way == "recover" else session


def without_key(headers: Mapping[str, Any]) -> dict[str, Any]:
    """Headers without the one that we may add."""
    return {name: value for name, value in headers.items() if name.lower() != "idempotency-key"}
