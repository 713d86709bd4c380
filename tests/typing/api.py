"""Never run: what a user writes must satisfy mypy --strict and pyright."""

from __future__ import annotations

from datetime import datetime
from typing import Any, assert_type

import httpx
import httpx2

from httpx_recover import (
    Applied,
    AsyncRecoverTransport,
    FailureClass,
    Key,
    Outcome,
    Policy,
    RecoverError,
    RecoverTransport,
    Report,
    Rule,
    Task,
    UnknownOutcome,
    Verdict,
    call,
    current_task,
    outcome,
    recover,
    resolve,
    task,
    verify,
)
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2

policy = Policy(attempts=2, backoff=(1.0,), settle=None, key=Key.header("X-Key", quoted=True))
rules = [
    Rule("POST /orders", verify=verify.found("?ref={json.ref}"), expect={404}),
    Rule("PUT /**", verify=verify.same(), classes={409: FailureClass.IN_PROGRESS}),
    Rule("DELETE /**", verify=verify.gone(), key=Key.none(), identity=("X-Org",)),
]


def by_hand(read: Any, sent: Any) -> Verdict:
    return Verdict.PARTIAL(["a"], ["b"]) if read("/x") else Verdict.ABSENT


sync = httpx.Client(transport=RecoverTransport(policy=policy, rules=rules, http2=True))
other = httpx.AsyncClient(transport=AsyncRecoverTransport(httpx.AsyncHTTPTransport()))
second = httpx2.Client(transport=on_httpx2.RecoverTransport(rules=[Rule(verify=by_hand)]))
assert_type(on_httpx.recover(sync), httpx.Client)
assert_type(on_httpx.recover(other, policy=policy), httpx.AsyncClient)
assert_type(on_httpx2.recover(second), httpx2.Client)
recover(sync, policy=policy, rules=rules)

with task("t", deadline=30) as t:
    assert_type(t, Task)
    assert_type(current_task(), Task | None)
    with call(key="k", label="x", verify=by_hand):
        response = sync.post("/orders")
    t.resolve(response, Verdict.LANDED)
    resolve(response, Verdict.ABSENT)

report = t.report()
assert_type(report, Report)
assert_type(Report.parse(str(report)), Report)
assert_type(Report.from_dict(report.to_dict()), Report)
assert_type(report.done, tuple[str, ...])


async def main() -> None:
    async with task("t") as inside, call(safe=True):
        assert_type(inside, Task)


found = outcome(response)
assert_type(found, Outcome | None)
if found is not None:
    assert_type(found.failure, FailureClass)
    assert_type(found.applied, Applied)
    assert_type(found.wait, float | None)
    assert_type(found.retry_at, datetime | None)
    assert_type(found.key, str | None)
    assert_type(found.report, Report)

try:
    pass
except UnknownOutcome as error:
    assert_type(error.url, str | None)
    wide: RecoverError = error
