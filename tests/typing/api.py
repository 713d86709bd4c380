"""Never run: what a user writes must satisfy mypy --strict and pyright."""

from __future__ import annotations

from datetime import datetime
from typing import Any, assert_type

import httpx
import httpx2

from httpx_recover import (
    Applied,
    AsyncRecoverTransport,
    Explanation,
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
    explain,
    outcome,
    recover,
    resolve,
    task,
    verify,
)
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2

# ------------------------------------------------------------------ what is declared

policy = Policy(attempts=2, backoff=(1.0,), settle=None, key=Key.header("X-Key", quoted=True))
Policy(resume_reads=True, allow_inner_retries=True)
assert_type(policy.with_limits({"deadline": 30}), Policy)
assert_type(policy.settle, float | None)
assert_type(policy.key, Key)
assert_type(Key.none(), Key)


def by_hand(read: Any, sent: Any) -> Verdict:
    return Verdict.PARTIAL(["a"], ["b"]) if read("/x") else Verdict.ABSENT


async def by_hand_later(read: Any, sent: Any) -> Verdict:
    return Verdict.LANDED if await read("/x") else Verdict.UNCLEAR


def sign(request: httpx.Request) -> None:
    request.headers["Signature"] = "made"


rules = [
    Rule("POST /orders", verify=verify.found("?ref={json.ref}"), expect={404}, confirm=True),
    Rule("PUT /**", verify=verify.same(), classes={409: FailureClass.IN_PROGRESS}),
    Rule("DELETE /**", verify=verify.gone(), key=Key.none(), identity=("X-Org",)),
    Rule("PATCH /x", conditional=True, idempotent=False, safe=False, settle=0.0, prepare=sign),
    Rule("* https://h.example/**", key=Key.header(), dedupes=True, window=86_400, attempts=1),
]
assert_type(rules[0].match, str)
assert_type(rules[0].safe, bool | None)
assert_type(Verdict.LANDED, Verdict)
assert_type(Verdict.PARTIAL(["a"], ("b",)).missing, tuple[str, ...])

# ------------------------------------------------------------------ mounts

sync = httpx.Client(transport=RecoverTransport(policy=policy, rules=rules, http2=True))
other = httpx.AsyncClient(transport=AsyncRecoverTransport(httpx.AsyncHTTPTransport()))
named = httpx.Client(transport=on_httpx.RecoverTransport(httpx.HTTPTransport(), rules=rules))
later = httpx.AsyncClient(
    transport=on_httpx.AsyncRecoverTransport(rules=[Rule(verify=by_hand_later)])
)
second = httpx2.Client(transport=on_httpx2.RecoverTransport(rules=[Rule(verify=by_hand)]))
fourth = httpx2.AsyncClient(
    transport=on_httpx2.AsyncRecoverTransport(httpx2.AsyncHTTPTransport(), policy=policy)
)
assert_type(on_httpx.recover(sync), httpx.Client)
assert_type(on_httpx.recover(other, policy=policy), httpx.AsyncClient)
assert_type(on_httpx2.recover(second, rules=rules), httpx2.Client)
assert_type(on_httpx2.recover(fourth), httpx2.AsyncClient)
recover(sync, policy=policy, rules=rules)
base: httpx.BaseTransport = RecoverTransport()
abase: httpx.AsyncBaseTransport = AsyncRecoverTransport()
base2: httpx2.BaseTransport = on_httpx2.RecoverTransport()
abase2: httpx2.AsyncBaseTransport = on_httpx2.AsyncRecoverTransport()

# ------------------------------------------------------------------ tasks and blocks

with task("t", policy=policy, deadline=30) as t:
    assert_type(t, Task)
    assert_type(current_task(), Task | None)
    with call(key="k", label="x", verify=by_hand, dedupes=True, expect={404}):
        response = sync.post("/orders")
    with call(key=Key.header("X-Key"), safe=False, idempotent=True):
        sync.put("/orders/1", extensions={"recover": Rule(attempts=1)})
    with call(body=lambda: b"made anew"):
        sync.post("/orders", content=iter([b"once"]))
    t.resolve(response, Verdict.LANDED)
    resolve(response, Verdict.ABSENT)


async def main() -> None:
    async with task("t") as inside, call(safe=True):
        assert_type(inside, Task)
        assert_type(inside.report(), Report)


# ------------------------------------------------------------------ what is told

report = t.report()
assert_type(report, Report)
assert_type(Report.parse(str(report)), Report)
assert_type(Report.from_dict(report.to_dict()), Report)
assert_type(report.name, str)
assert_type(report.status, str)
assert_type(report.calls, int)
assert_type(report.elapsed, float)
assert_type(report.aborted, str | None)
assert_type(report.done, tuple[str, ...])
assert_type(report.failed, tuple[str, ...])
assert_type(report.unknown, tuple[str, ...])
assert_type(report.next, str)

found = outcome(response)
assert_type(found, Outcome | None)
if found is not None:
    assert_type(found.failure, FailureClass)
    assert_type(found.applied, Applied)
    assert_type(found.attempts, tuple[dict[str, Any], ...])
    assert_type(found.evidence, str | None)
    assert_type(found.verified_by, str | None)
    assert_type(found.stopped_by, str | None)
    assert_type(found.wait, float | None)
    assert_type(found.retry_at, datetime | None)
    assert_type(found.key, str | None)
    assert_type(found.report, Report)
    assert_type(str(found), str)

try:
    sync.post("/orders")
except UnknownOutcome as error:
    assert_type(error.method, str | None)
    assert_type(error.url, str | None)
    wide: RecoverError = error
except httpx.ReadTimeout as lost:
    assert_type(outcome(lost), Outcome | None)

# ------------------------------------------------------------------ what an answer means

meant = explain(429, {"Retry-After": "3"}, b"{}", method="POST", url="https://h.example/", now=0.0)
assert_type(meant, Explanation)
assert_type(
    explain(403, [("X-A", "1")], {"error": "x"}, api="github", presets=["mine.toml"]).why, str
)
assert_type(meant.failure, FailureClass)
assert_type(meant.applied, Applied)
assert_type(meant.wait, float | None)
assert_type(meant.next, str)
