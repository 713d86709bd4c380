"""A server that answers by script, below a mount."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from httpx_recover import AsyncRecoverTransport, Outcome, RecoverTransport, outcome

URL = "https://api.example.com"

POST = f"{URL}/orders"
LOST = httpx.ReadTimeout

Answer = int | httpx.Response | type[BaseException] | Callable[[httpx.Request], httpx.Response]


class Server:
    """Gives the answers in their order, the last one again and again, and keeps what came in.

    An answer is a status, a response, an exception to raise, or a function of the request.
    """

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers) or [200]
        self.seen: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, int):
            return httpx.Response(answer, json={})
        if isinstance(answer, httpx.Response):
            return answer
        if isinstance(answer, type):
            raise answer("as scripted")
        return answer(request)

    def client(self, *rules: Any, **settings: Any) -> httpx.Client:
        mount = RecoverTransport(httpx.MockTransport(self), rules=rules, **settings)
        return httpx.Client(transport=mount, base_url=URL)

    def aclient(self, *rules: Any, **settings: Any) -> httpx.AsyncClient:
        mount = AsyncRecoverTransport(httpx.MockTransport(self), rules=rules, **settings)
        return httpx.AsyncClient(transport=mount, base_url=URL)

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.seen]


def script(*answers: Answer, rules: Any = (), policy: Any = None) -> tuple[Server, httpx.Client]:
    """A server and its client."""
    server = Server(*answers)
    return server, server.client(*rules, policy=policy)


def known(x: Any) -> Outcome:
    """The outcome of what passed a mount."""
    found = outcome(x)
    assert found is not None
    return found
