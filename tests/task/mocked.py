"""A client over a mocked transport that fails by script, and a clock that never waits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import httpx

from httpx_recover import Policy, RecoverTransport, Rule, _drive

POST = "http://h.example/orders"
LOST = httpx.ReadTimeout("no answer")


class Clock(_drive.Clock):
    """Sleeping moves the clock and is written down."""

    def __init__(self) -> None:
        self.offset = 0.0
        self.slept: list[float] = []

    def now(self) -> float:
        return time.monotonic() + self.offset

    def chance(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.offset += seconds


class Script:
    """Answers in order; the last one repeats. Numbers are statuses, exceptions are raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers) or [200]
        self.requests: list[httpx.Request] = []
        self.keys: list[str | None] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.keys.append(request.headers.get("idempotency-key"))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(answer, json={})

    def client(self, *rules: Rule, policy: Policy | None = None) -> httpx.Client:
        below = httpx.MockTransport(self)
        return httpx.Client(transport=RecoverTransport(below, policy=policy, rules=rules))


def script(*answers: Any, rules: Sequence[Rule] = (), policy: Policy | None = None) -> Any:
    """A script and its client."""
    made = Script(*answers)
    return made, made.client(*rules, policy=policy)
