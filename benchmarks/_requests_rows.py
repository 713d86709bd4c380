"""The rows of requests in `hot_path.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Retry

from httpx_recover import Policy
from httpx_recover.requests import recover

Row = tuple[str, str, str]


class Memory(HTTPAdapter):
    """Answers from memory."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> Any:
        response = requests.Response()
        response.status_code = 200
        response._content = b"{}"
        response.request = request
        response.url = request.url or ""
        return response


def fresh(method: str, url: str, body: dict[str, Any], count: int) -> list[Any]:
    """Requests that were never sent."""
    prepared = requests.Request(method, url, **body).prepare()
    return [prepared.copy() for _ in range(count)]


def session_over(adapter: HTTPAdapter | None = None) -> requests.Session:
    """A session that does not look at the environment."""
    session = requests.Session()
    session.trust_env = False
    if adapter is not None:
        session.mount("http://", adapter)
    return session


def rows_in_memory(policies: dict[str, Policy | None]) -> dict[Row, Any]:
    """The adapter alone is called."""
    rows: dict[Row, Any] = {}
    for case, policy in policies.items():
        session = recover(session_over(Memory()), policy=policy)
        rows["requests", case, "bare"] = Memory().send
        rows["requests", case, "httpx_recover"] = session.get_adapter("http://h.example/").send
    for who in ("bare", "httpx_recover"):
        rows["requests", "GET in a named task", who] = rows["requests", "GET", who]
    return rows


def rows_on_loopback(
    policies: dict[str, Policy | None], keep: Callable[[requests.Session], None]
) -> dict[Row, Any]:
    """A whole `session.send` over a real connection; `keep` is given each session to close."""
    rows: dict[Row, Any] = {}

    def add(case: str, who: str, session: requests.Session) -> None:
        keep(session)
        rows["requests", case, who] = session.send

    for case, policy in policies.items():
        add(case, "bare", session_over())
        add(case, "httpx_recover", recover(session_over(), policy=policy))
        if case in ("GET", "POST without key"):
            add(case, "urllib3 Retry", session_over(HTTPAdapter(max_retries=Retry(total=3))))
    return rows
