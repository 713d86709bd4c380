"""What holds for requests alone: threads, forks, pickles, and adapters of all kinds."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.util import Retry

from httpx_recover import (
    Rule,
    UnknownOutcome,
    call,
    outcome,
    task,
    verify,
)
from httpx_recover import recover as recover_any
from httpx_recover.requests import RecoverAdapter, recover
from tests.drivers import POLICY
from tests.faulty import FAULTS, FaultServer

SLOW_OR_LOST = ("conflict", "timeout", "late", "half")
ROOT = Path(__file__).parent.parent.parent
VERIFIED = Rule("POST /*/verified/*", verify=verify.found("?ref={json.ref}"))


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        yield recover(session, policy=POLICY, rules=[VERIFIED])


# ---------------------------------------------------------------------- threads


def test_fifty_threads_on_one_session(session: requests.Session, server: FaultServer) -> None:
    faults = [fault for fault in FAULTS if fault not in SLOW_OR_LOST]
    paths = [f"/{faults[n % len(faults)]}/verified/{n}" for n in range(200)]

    def book(path: str) -> Any:
        return session.post(f"{server.url}{path}", json={"ref": path}, timeout=5)

    with ThreadPoolExecutor(50) as pool:
        ends = list(pool.map(book, paths))
    assert [outcome(end).facts["state"] for end in ends] == ["done"] * 200  # type: ignore[union-attr]
    assert all(server.book[path] == [path] for path in paths)
    posts = [each for each in server.seen if each.method == "POST"]
    assert len({(each.path, each.headers["idempotency-key"]) for each in posts}) == 200
    assert len({each.headers["idempotency-key"] for each in posts}) == 200


def test_a_write_that_many_threads_send_again_is_sent_once(
    session: requests.Session, server: FaultServer
) -> None:
    with pytest.raises(UnknownOutcome):
        session.post(f"{server.url}/cut_after/a", json={"ref": 1})

    def again(_: int) -> Any:
        with pytest.raises(requests.RequestException) as raised:
            session.post(f"{server.url}/cut_after/a", json={"ref": 1})
        return raised.value

    with ThreadPoolExecutor(50) as pool:
        ends = list(pool.map(again, range(50)))
    assert {type(end).__name__ for end in ends} == {"UnknownOutcome"}
    assert server.count("/cut_after/a") == 1


# ---------------------------------------------------------------------- forks


FORKED = """
import json, os, sys, threading
import requests
from httpx_recover.requests import {maker}
from tests.faulty import FaultServer, respond

class Echo(FaultServer):
    def _answer(self, connection, seen):
        return respond(connection, 200, seen.path)

def ask(session, url, who):
    wrong = 0
    for number in range(60):
        path = f"/{{who}}/{{number}}"
        try:
            wrong += session.get(url + path, timeout=5).json() != path
        except requests.RequestException:
            wrong += 1
    return wrong

server = Echo()
session = {made}
assert session.get(server.url + "/first").json() == "/first"
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.write(write, str(ask(session, server.url, "child")).encode())
    os._exit(0)
mine = ask(session, server.url, "parent")
os.waitpid(child, 0)
print(mine + int(os.read(read, 100)))
os._exit(0)
"""


@pytest.mark.parametrize(
    ("maker", "made", "mixed"),
    [
        ("recover", "recover(requests.Session())", False),
        ("RecoverAdapter", "requests.Session(); session.mount('http://', RecoverAdapter())", False),
        ("recover", "requests.Session()", True),  # the test can fail
    ],
)
def test_a_forked_session_opens_connections_of_its_own(maker: str, made: str, mixed: bool) -> None:
    script = FORKED.format(maker=maker, made=made)
    for _ in range(8 if mixed else 1):  # two processes at one socket may get by with luck
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=50,
            check=True,
        )
        if int(ran.stdout) > 0:
            break
    assert (int(ran.stdout) > 0) is mixed, ran


def test_after_a_fork_the_parents_connections_are_not_used(
    session: requests.Session, server: FaultServer
) -> None:
    for _ in "ab":
        session.get(f"{server.url}/fine/a")
    assert len(server.connections) == 1
    session.get_adapter(server.url).pid = -1  # type: ignore[attr-defined] # as in a child
    for _ in "ab":
        session.get(f"{server.url}/fine/a")
    assert len(server.connections) == 2


# ---------------------------------------------------------------------- pickles


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize("own", [True, False])
def test_a_pickled_session_has_its_settings_and_recovers(
    server: FaultServer, copied: Callable[[Any], Any], own: bool
) -> None:
    with requests.Session() as session:
        if own:
            session.mount("http://", RecoverAdapter(7, 8, policy=POLICY, rules=[VERIFIED]))
        else:
            session.mount("http://", HTTPAdapter(7, 8))
            recover(session, policy=POLICY, rules=[VERIFIED])
        session.get(f"{server.url}/fine/a")
        with copied(session) as again:
            adapter = again.get_adapter(server.url)
            assert (adapter.policy, adapter.rules) == (POLICY, (VERIFIED,))
            assert (adapter._pool_connections, adapter._pool_maxsize) == (7, 8)
            made = again.post(f"{server.url}/cut_after/verified/a", json={"ref": "a"})
            assert made.ok
    assert server.count("/cut_after/verified/a", "POST") == 1
    assert server.book["/cut_after/verified/a"] == ["a"]


def test_what_we_remember_of_a_request_stays_in_its_process(
    session: requests.Session, server: FaultServer
) -> None:
    response = session.post(f"{server.url}/fine/a", json={})
    assert b"httpx_recover" not in pickle.dumps((response, response.request))
    again = pickle.loads(pickle.dumps(response.request))
    assert type(again.hooks) is dict
    assert again.hooks == response.request.hooks == {"response": []}


def test_our_errors_pickle_without_headers(server: FaultServer) -> None:
    with recover(requests.Session(), policy=POLICY) as session:
        session.headers["Authorization"] = "Bearer hidden"
        with pytest.raises(UnknownOutcome) as raised:
            session.post(f"{server.url}/cut_after/a?token=hidden", json={"a": "hidden"})
    error = raised.value
    assert error.request.method == "POST"  # type: ignore[attr-defined]
    data = pickle.dumps(error)
    assert b"hidden" not in data
    again = pickle.loads(data)
    assert isinstance(again, requests.ConnectionError)
    assert isinstance(again, UnknownOutcome)
    assert again.request is None
    assert (again.method, again.url) == ("POST", f"{server.url}/cut_after/a")
    assert outcome(again).applied == "unknown"  # type: ignore[union-attr]


# ---------------------------------------------------------------------- adapters


class Patient(HTTPAdapter):
    """An adapter with a timeout of its own."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        super().__init__()

    def send(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(kwargs["timeout"])
        kwargs["timeout"] = kwargs["timeout"] or 3
        return super().send(*args, **kwargs)


def test_the_timeout_of_an_adapter_is_left_to_it(server: FaultServer) -> None:
    with requests.Session() as session:
        adapter = Patient()
        session.mount("http://", adapter)
        recover(session, policy=POLICY)
        session.get(f"{server.url}/503/a")
        assert adapter.seen == [None, None]
        session.get(f"{server.url}/503/b", timeout=(2, 1000))
        assert adapter.seen[2] == (2, 1000)
        assert adapter.seen[3][0] == 2
        assert 100 < adapter.seen[3][1] < 120


def test_two_prefixes_of_one_adapter_stay_one(server: FaultServer) -> None:
    with requests.Session() as session:
        shared = HTTPAdapter()
        session.mount("http://", shared)
        session.mount(server.url, shared)
        assert recover(session) is recover_any(session)
        assert session.adapters["http://"] is session.adapters[server.url]
        assert session.adapters["http://"] is not session.adapters["https://"]


def test_recovering_again_with_other_settings_is_refused() -> None:
    with requests.Session() as session:
        recover(session, rules=VERIFIED)
        recover(session, rules=[VERIFIED])
        with pytest.raises(ValueError, match="recovered before with other settings"):
            recover(session)
    with pytest.raises(ValueError, match=r"must be a requests.Session"):
        recover(requests)  # type: ignore[type-var]
    with pytest.raises(ValueError, match="policy="):
        RecoverAdapter(policy=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rules: 3 is not a Rule"):
        RecoverAdapter(rules=[3])  # type: ignore[list-item]


class Memory(BaseAdapter):
    """Answers by itself; has no pools and no connections."""

    def __init__(self, *answers: Any) -> None:
        super().__init__()
        self.answers = [*answers]
        self.sent: list[requests.PreparedRequest] = []

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        self.sent.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        response = requests.Response()
        response.status_code, response.url = answer, str(request.url)
        response._content, response._content_consumed = b"{}", True  # type: ignore[attr-defined]
        return response

    def close(self) -> None:
        """Nothing is open."""


def over(memory: Memory, **settings: Any) -> requests.Session:
    session = requests.Session()
    session.mount("http://", memory)
    return recover(session, policy=POLICY, **settings)


def test_an_adapter_without_connections_proves_nothing_by_its_silence() -> None:
    memory = Memory(requests.ConnectionError("reset"))
    with over(memory) as session, pytest.raises(UnknownOutcome):
        session.post("http://h.example/", json={})
    assert len(memory.sent) == 1


def test_what_an_adapter_says_by_type_is_believed() -> None:
    memory = Memory(requests.ConnectTimeout(), 201)
    with over(memory) as session:
        assert session.post("http://h.example/", json={}).status_code == 201
    assert len(memory.sent) == 2


def test_retries_of_urllib3_are_switched_off_and_logged_once(
    server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    with requests.Session() as session:
        below = HTTPAdapter(max_retries=Retry(total=3))
        session.mount("http://", below)
        recover(session, policy=POLICY)
        adapter = session.get_adapter(server.url)
        assert adapter.max_retries.total == below.max_retries.total == 0  # type: ignore[attr-defined]
        adapter.max_retries = Retry(total=5)  # type: ignore[attr-defined]
        session.get(f"{server.url}/fine/a")
        assert below.max_retries.total == 0
    assert RecoverAdapter(max_retries=2).max_retries.total == 0
    logged = [each.getMessage() for each in caplog.records if "max_retries" in each.getMessage()]
    assert [("total=3" in each, "total=5" in each, "total=2" in each) for each in logged] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]


def test_a_task_and_a_block_hold_for_a_session(
    session: requests.Session, server: FaultServer
) -> None:
    with task("t") as t, call(key="charge-7", dedupes=True, label="seven"):
        answer = session.post(f"{server.url}/cut_after/a", json={"ref": 1})
    assert answer.request.headers["Idempotency-Key"] == "charge-7"
    assert "(seven) verified by answer 201 after 2 sends" in str(t.report())
    assert [each.headers["idempotency-key"] for each in server.seen] == ["charge-7"] * 2


def test_a_successful_read_costs_no_record_in_a_task(
    session: requests.Session, server: FaultServer
) -> None:
    with task("t") as t:
        answer = session.get(f"{server.url}/fine/a")
        assert type(answer.request.hooks) is dict
    assert outcome(answer).verified_by == "answer 200"  # type: ignore[union-attr]
    assert t.report().status == "done"


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_ctrl_c_leaves_a_write_unknown(method: str) -> None:
    with over(Memory(KeyboardInterrupt())) as session, task("t") as t:
        with pytest.raises(KeyboardInterrupt):
            session.request(method, "http://h.example/")
    assert t.report().status == "unknown"


def test_ctrl_c_in_a_read_is_told_where_there_is_a_report() -> None:
    with over(Memory(KeyboardInterrupt(), KeyboardInterrupt())) as session:
        with pytest.raises(KeyboardInterrupt):
            session.get("http://h.example/")
        with task("t") as t, pytest.raises(KeyboardInterrupt):
            session.get("http://h.example/")
    assert "KeyboardInterrupt" in str(t.report())
