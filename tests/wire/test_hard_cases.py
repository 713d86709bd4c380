"""Ways in which a write was once sent twice, or an error of ours hid the real one."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import pytest

from httpx_recover import (
    AsyncRecoverTransport,
    Policy,
    RecoverTransport,
    Rule,
    UnknownOutcome,
    Verdict,
    call,
    outcome,
    resolve,
    task,
    verify,
)

POLICY = Policy(backoff=(0.01,), jitter=0, settle=0.02)
URL = "http://h.example/x"
Answer = Callable[[httpx.Request, int], httpx.Response]


class Wire:
    """A client over a mocked transport, and what was sent through it."""

    def __init__(
        self, answer: Answer, *rules: Rule, policy: Policy = POLICY, **client: Any
    ) -> None:
        self.sent: list[httpx.Request] = []
        self.keys: list[str | None] = []
        self.answer = answer
        mount = RecoverTransport(httpx.MockTransport(self._handle), policy=policy, rules=rules)
        self.client = httpx.Client(transport=mount, **client)

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        self.keys.append(request.headers.get("idempotency-key"))
        return self.answer(request, len(self.sent))


def lost(request: httpx.Request, n: int) -> httpx.Response:
    raise httpx.ReadTimeout("no answer")


def first_lost(request: httpx.Request, n: int) -> httpx.Response:
    if n == 1:
        raise httpx.ReadTimeout("no answer")
    return httpx.Response(201)


# ------------------------------------------------------------------ what is a hop


def test_a_hook_that_sets_the_url_makes_no_hop() -> None:
    def sign(request: httpx.Request) -> None:
        request.url = request.url.copy_set_param("api_key", "k")

    wire = Wire(lost, event_hooks={"request": [sign]})
    request = wire.client.build_request("POST", URL, json=1)
    with task("t"):
        for _ in range(3):
            with pytest.raises(UnknownOutcome):
                wire.client.send(request)
    assert len(wire.sent) == 1


def test_another_host_is_another_action() -> None:
    wire = Wire(first_lost)
    request = wire.client.build_request("POST", "http://a.example/charge", json=1)
    with task("t") as t:
        with pytest.raises(UnknownOutcome):
            wire.client.send(request)
        request.url = httpx.URL("http://b.example/charge")
        wire.client.send(request)
    assert t.report().status == "unknown"
    assert len(t.report().done) == 1
    assert wire.keys[0] != wire.keys[1]


def test_extensions_of_an_earlier_request_are_no_hop() -> None:
    wire = Wire(lambda request, n: httpx.Response(201))
    with task("t") as t:
        first = wire.client.post("http://h.example/1", json=1)
        wire.client.post("http://h.example/2", json=2, extensions=first.request.extensions)
    assert len(t.report().done) == 2
    assert wire.keys[0] != wire.keys[1]


# ------------------------------------------------------------------ keys


def test_another_key_of_the_callers_is_no_proof() -> None:
    wire = Wire(lost, Rule("POST /x", dedupes=True, attempts=1))
    for _ in range(2):
        with pytest.raises(UnknownOutcome) as raised:
            wire.client.post(URL, json=1, headers={"Idempotency-Key": str(uuid.uuid4())})
    assert len(wire.sent) == 1
    found = outcome(raised.value)
    assert found is not None
    assert found.key == wire.keys[0]


def test_equal_writes_that_are_both_unknown_keep_their_keys() -> None:
    together = threading.Barrier(2)

    def answer(request: httpx.Request, n: int) -> httpx.Response:
        if n > 2:
            return httpx.Response(201)
        together.wait(5)
        raise httpx.ReadTimeout("no answer")

    for named in (False, True):
        wire = Wire(answer, Rule(dedupes=True), policy=Policy(attempts=1))

        def once(wire: Wire) -> None:
            with pytest.raises(UnknownOutcome):
                wire.client.post(URL, json=1)

        if not named:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(once, [wire, wire]))
            for _ in range(2):
                assert wire.client.post(URL, json=1).status_code == 201
        else:
            from contextvars import copy_context

            with task("t"):
                threads = [
                    threading.Thread(target=copy_context().run, args=(once, wire)) for _ in "ab"
                ]
                for each in threads:
                    each.start()
                for each in threads:
                    each.join()
                for _ in range(2):
                    assert wire.client.post(URL, json=1).status_code == 201
        assert len(set(wire.keys)) == 2
        assert len(wire.sent) == 4


def test_an_auth_flow_keeps_the_key_of_the_block() -> None:
    challenge = {"www-authenticate": 'Digest realm="a", nonce="b", qop="auth"'}

    def answer(request: httpx.Request, n: int) -> httpx.Response:
        return httpx.Response(401, headers=challenge) if n == 1 else httpx.Response(201)

    wire = Wire(answer, auth=httpx.DigestAuth("u", "p"))
    with call(key="charge-7"):
        assert wire.client.post(URL, json=1).status_code == 201
        with pytest.raises(ValueError, match="a second action"):
            wire.client.post(URL, json=2)
    assert wire.keys == ["charge-7", "charge-7"]


def test_a_request_for_a_token_is_not_the_action_of_the_block() -> None:
    class ClientCredentials(httpx.Auth):
        def auth_flow(
            self, request: httpx.Request
        ) -> Generator[httpx.Request, httpx.Response, None]:
            grant = {"grant_type": "client_credentials"}
            yield httpx.Request("POST", "http://h.example/token", data=grant)
            yield request

    wire = Wire(lambda request, n: httpx.Response(200, json={}), auth=ClientCredentials())
    with call(key="charge-7890123"):
        wire.client.post(URL, json=1)
        with pytest.raises(ValueError, match=r"charge-7\.\.\.") as raised:
            wire.client.post(URL, json=2)
    assert "charge-7890123" not in str(raised.value)
    assert wire.keys[0] != "charge-7890123"
    assert wire.keys[1] == "charge-7890123"


def test_a_verifier_does_not_stand_in_the_block() -> None:
    def settle(read: Any, sent: Any) -> Verdict:
        wire.client.post("http://h.example/audit", json={})
        return Verdict.LANDED

    wire = Wire(first_lost)
    with call(key="charge-7", verify=settle), pytest.raises(httpx.ReadTimeout):
        wire.client.post(URL, json=1)
    assert [each.url.path for each in wire.sent] == ["/x", "/audit"]
    assert wire.keys[1] != "charge-7"


# ------------------------------------------------------------------ in part


def test_what_landed_in_part_is_never_sent_whole_again() -> None:
    part = Verdict.PARTIAL(["a"], ["b"])
    wire = Wire(lost, Rule("POST /x", verify=lambda read, sent: part))
    for around in (task("t"), call(label="x")):
        with around:
            for _ in range(2):
                with pytest.raises(
                    UnknownOutcome, match="done in part, 1 items are missing"
                ) as raised:
                    wire.client.post(URL + "?" + type(around).__name__, json=["a", "b"])
    assert len(wire.sent) == 2
    resolve(raised.value, Verdict.LANDED)
    with pytest.raises(UnknownOutcome):
        wire.client.post(URL + "?Block", json=["a", "b"])
    assert len(wire.sent) == 3


def test_all_items_landed_is_landed() -> None:
    whole = Verdict.PARTIAL(["a", "b"], [])
    wire = Wire(lost, Rule("POST /x", verify=lambda read, sent: whole))
    with task("t") as t, pytest.raises(httpx.ReadTimeout) as raised:
        wire.client.post(URL, json=["a", "b"])
    assert not isinstance(raised.value, UnknownOutcome)
    found = outcome(raised.value)
    assert found is not None
    assert found.applied == "yes"
    assert t.report().status == "done"


# ------------------------------------------------------------------ errors that must not hide


class Odd(httpx.TransportError):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Slotted(OSError):
    def __init__(self, *, port: int) -> None:
        super().__init__(port)


@pytest.mark.parametrize("failure", [Odd(7, "lost"), Slotted(port=7)])
def test_an_error_of_the_transports_own_gives_way(failure: Exception) -> None:
    def answer(request: httpx.Request, n: int) -> httpx.Response:
        raise failure

    with pytest.raises(UnknownOutcome) as raised:
        Wire(answer).client.post(URL, json=1)
    assert isinstance(raised.value, type(failure).__mro__[1])
    assert raised.value.__cause__ is failure
    assert outcome(raised.value) is not None


def test_a_mount_over_a_mount_raises_the_clients_error() -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("no answer")

    for rules in ([], [Rule("POST /x", verify=lambda read, sent: Verdict.LANDED)]):
        inner = RecoverTransport(httpx.MockTransport(fail), policy=POLICY)
        policy = replace(POLICY, allow_inner_retries=True)
        outer = RecoverTransport(inner, policy=policy, rules=rules)
        with httpx.Client(transport=outer) as client, pytest.raises(httpx.ReadTimeout) as raised:
            client.post(URL + f"?{len(rules)}", json=1)
        assert outcome(raised.value) is not None


def test_an_error_that_refuses_attributes_is_raised_as_it_is() -> None:
    class Closed(httpx.ReadTimeout):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "recovery":
                raise AttributeError(name)
            super().__setattr__(name, value)

    def answer(request: httpx.Request, n: int) -> httpx.Response:
        raise Closed("no answer")

    with pytest.raises(Closed):
        Wire(answer).client.get(URL)


def test_a_lost_answer_is_told_by_an_error_that_can_be_made() -> None:
    def answer(request: httpx.Request, n: int) -> httpx.Response:
        raise httpx.HTTPStatusError("x", request=request, response=httpx.Response(500))

    wire = Wire(answer, Rule("POST /x", verify=lambda read, sent: Verdict.LANDED))
    with pytest.raises(httpx.HTTPStatusError):
        wire.client.post(URL, json=1)
    with pytest.raises(httpx.TransportError, match="there is no answer to hand over"):
        wire.client.post(URL, json=1)
    assert len(wire.sent) == 1


@pytest.mark.parametrize("status", [503, 429])
def test_a_request_that_cannot_be_signed_again_keeps_its_failure(status: int) -> None:
    def sign(request: httpx.Request) -> None:
        raise RuntimeError("the vault is shut, s3cret")

    wire = Wire(lambda request, n: httpx.Response(status), Rule("* /x", prepare=sign))
    with task("t") as t:
        assert wire.client.put(URL).status_code == status
    assert len(wire.sent) == 1
    [entry] = t.report().unknown if status == 503 else t.report().failed
    assert "could not be prepared (RuntimeError)" in entry
    assert "s3cret" not in str(t.report())

    def unanswered(request: httpx.Request, n: int) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(httpx.ConnectError):
        Wire(unanswered, Rule("* /x", prepare=sign)).client.put(URL)

    async def main() -> int:
        below = httpx.MockTransport(lambda request: httpx.Response(status))
        mount = AsyncRecoverTransport(below, policy=POLICY, rules=[Rule("* /y", prepare=sign)])
        async with httpx.AsyncClient(transport=mount) as client:
            return (await client.put("http://h.example/y")).status_code

    assert asyncio.run(main()) == status


def test_a_write_that_never_left_has_failed() -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        return httpx.Response(200)

    async def main() -> Any:
        rule = Rule("POST /x", verify=verify.found("?r={json.r}", baseline=True))
        mount = AsyncRecoverTransport(httpx.MockTransport(hang), policy=POLICY, rules=[rule])
        async with httpx.AsyncClient(transport=mount) as client:
            with task("t") as t, pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await client.post(URL, json={"r": 1})
        return t.report()

    report = asyncio.run(main())
    assert report.status == "failed"
    assert "CancelledError after 0 sends stopped by cancelled" in report.failed[0]
