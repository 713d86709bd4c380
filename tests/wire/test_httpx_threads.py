"""One httpx client in many threads, and transports that are closed, shared, or recovered twice."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from typing import Any

import httpx
import httpx2
import pytest

from httpx_recover import Rule, UnknownOutcome, outcome, task, verify
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from tests.drivers import CONTEXT, POLICY
from tests.faulty import FAULTS, FaultServer

QUICK = [fault for fault in FAULTS if fault not in ("conflict", "timeout", "late", "half")]
VERIFIED = Rule("POST /*/verified/*", verify=verify.found("?ref={json.ref}"))
BOTH = [(httpx, on_httpx), (httpx2, on_httpx2)]


@pytest.fixture(params=BOTH, ids=["httpx", "httpx2"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    library, mounts = request.param
    mount = mounts.RecoverTransport(policy=POLICY, rules=[VERIFIED], verify=CONTEXT)
    with library.Client(transport=mount, timeout=5, trust_env=False) as client:
        yield client


def test_fifty_threads_on_one_client(client: Any, server: FaultServer) -> None:
    paths = [f"/{QUICK[n % len(QUICK)]}/verified/{n}" for n in range(200)]

    def book(path: str) -> Any:
        return client.post(f"{server.url}{path}", json={"ref": path})

    with ThreadPoolExecutor(50) as pool:
        ends = list(pool.map(book, paths))
    assert [outcome(end).facts["state"] for end in ends] == ["done"] * 200  # type: ignore[union-attr]
    assert all(server.book[path] == [path] for path in paths)
    posts = [each for each in server.seen if each.method == "POST"]
    assert len({(each.path, each.headers["idempotency-key"]) for each in posts}) == 200
    assert len({each.headers["idempotency-key"] for each in posts}) == 200


def test_fifty_threads_in_one_task_are_counted_exactly(client: Any, server: FaultServer) -> None:
    def work(number: int) -> None:
        client.get(f"{server.url}/fine/{number}")
        client.put(f"{server.url}/503/{number}", json={"ref": number})
        client.post(f"{server.url}/fine/{number}", json={"ref": number})

    with task("many", recovery_calls=50) as t, ThreadPoolExecutor(50) as pool:
        made = [pool.submit(copy_context().run, work, number) for number in range(50)]
        for each in made:
            each.result()
    report = t.report()
    assert (report.status, report.calls) == ("done", len(server.seen))
    assert len(server.seen) == 200  # each PUT was sent twice
    assert t.budget.used == 50
    kinds = [each["method"] for each in report.to_dict()["actions"]]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"GET": 50, "PUT": 50, "POST": 50}


def test_a_write_that_many_threads_send_again_is_sent_once(
    client: Any, server: FaultServer
) -> None:
    with pytest.raises(UnknownOutcome):
        client.post(f"{server.url}/cut_after/a", json={"ref": 1})

    def again(_: int) -> str:
        with pytest.raises(UnknownOutcome) as raised:
            client.post(f"{server.url}/cut_after/a", json={"ref": 1})
        return type(raised.value).__name__

    with ThreadPoolExecutor(50) as pool:
        assert set(pool.map(again, range(50))) == {"UnknownOutcome"}
    assert server.count("/cut_after/a") == 1


@pytest.mark.parametrize(("library", "mounts"), BOTH, ids=["httpx", "httpx2"])
def test_a_transport_works_on_after_it_was_closed(
    server: FaultServer, library: Any, mounts: Any
) -> None:
    mount = mounts.RecoverTransport(policy=POLICY, verify=CONTEXT)
    for name in "ab":
        with library.Client(transport=mount, timeout=5) as client:
            assert client.get(f"{server.url}/503/{name}").status_code == 200
    mount.close()
    with library.Client(transport=mount, timeout=5) as one:
        two = library.Client(transport=mount, timeout=5)  # they share it
        with pytest.raises(UnknownOutcome):
            one.post(f"{server.url}/cut_after/c", json={})
        with pytest.raises(UnknownOutcome, match="was not sent"):
            two.post(f"{server.url}/cut_after/c", json={})
    assert server.count("/cut_after/c") == 1


@pytest.mark.parametrize(("library", "mounts"), BOTH, ids=["httpx", "httpx2"])
def test_a_client_that_is_recovered_twice_is_recovered_once(
    server: FaultServer, library: Any, mounts: Any
) -> None:
    with library.Client(timeout=5, trust_env=False, verify=CONTEXT) as client:
        for _ in "ab":
            assert mounts.recover(client, policy=POLICY) is client
        with pytest.raises(ValueError, match="other settings"):
            mounts.recover(client, policy=replace(POLICY, attempts=5))
        assert not isinstance(client._transport.inner, mounts.RecoverTransport)
        client.get(f"{server.url}/503/a")
    assert server.count("/503/a") == 2


def test_a_client_that_is_closed_while_recovery_waits_gets_its_answer(
    server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = on_httpx.RecoverTransport(policy=POLICY, verify=CONTEXT)
    client = httpx.Client(transport=mount, timeout=5, trust_env=False)
    monkeypatch.setattr("httpx_recover._drive.clock.sleep", lambda seconds: client.close())
    response = client.get(f"{server.url}/503/a")
    assert response.status_code == 200  # the transport below opens a connection anew
    mount.close()
