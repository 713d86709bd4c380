"""What a process remembers between calls."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from httpx_recover import Policy, Rule, UnknownOutcome, Verdict, outcome, resolve, task
from httpx_recover._ledger import DONE, OPEN, UNKNOWN, Action
from httpx_recover._memory import COUNTED, MEMORY, UNRESOLVED, Memory, is_open
from tests.conftest import FakeClock
from tests.task.script import Server


def unresolved(name: str = "a", who: str = "me") -> Action:
    action = Action("POST", f"https://h.example/{name}", safe=False)
    action.fingerprint, action.identity, action.state = name, who, UNKNOWN
    return action


# ------------------------------------------------------------------ the table


def test_an_unresolved_action_is_found_by_request_and_user() -> None:
    memory, action = Memory(), unresolved()
    assert not memory
    memory.keep(action, 0.0, 10.0)
    assert memory
    assert memory.find("a", "me", 9.9) is action
    assert memory.find("a", "you", 0.0) is None
    assert memory.find("b", "me", 0.0) is None


def test_it_is_remembered_for_its_seconds() -> None:
    memory = Memory()
    memory.keep(unresolved(), 0.0, 10.0)
    assert memory.find("a", "me", 10.0) is None
    assert not memory


def test_being_kept_again_never_shortens_the_time() -> None:
    memory, action = Memory(), unresolved()
    memory.keep(action, 0.0, 100.0)
    memory.keep(action, 1.0, 10.0)
    assert memory.find("a", "me", 50.0) is action
    memory.keep(action, 50.0, 100.0)
    assert memory.find("a", "me", 149.0) is action
    other = Memory()
    other.keep(unresolved(), 0.0, 5.0)
    assert other.find("a", "me", 6.0) is None


def test_equal_unknown_writes_are_held_side_by_side() -> None:
    memory, one, two = Memory(), unresolved(), unresolved()
    for action in (one, two):
        memory.keep(action, 0.0, 100.0)
    assert memory.find("a", "me", 1.0) is one
    assert memory.take(one)
    assert memory.find("a", "me", 1.0) is two  # nobody is at work on that one
    assert memory.take(two)
    assert memory.find("a", "me", 1.0) is one
    memory.forget(one)
    assert memory.find("a", "me", 1.0) is two


def test_a_resolved_action_is_not_found() -> None:
    memory, action = Memory(), unresolved()
    memory.keep(action, 0.0, 10.0)
    action.done("caller")
    assert memory.find("a", "me", 0.0) is None
    assert not memory


def test_256_are_kept_and_the_oldest_goes_first() -> None:
    memory = Memory()
    for number in range(UNRESOLVED):
        memory.keep(unresolved(str(number)), 0.0, 10.0)
    memory.keep(unresolved("0"), 0.0, 10.0)  # used again: not the oldest any more
    memory.keep(unresolved("new"), 0.0, 10.0)
    assert UNRESOLVED == 256
    assert memory.find("1", "me", 0.0) is None
    assert all(memory.find(name, "me", 0.0) for name in ("0", "2", "255", "new"))


def test_forgetting_takes_only_the_action_itself() -> None:
    memory, action = Memory(), unresolved()
    memory.keep(action, 0.0, 10.0)
    memory.forget(unresolved())
    memory.forget(Action("POST", "https://h.example/", safe=False))
    assert memory.find("a", "me", 0.0) is action
    memory.forget(action)
    assert not memory


@pytest.mark.parametrize("mark", ["lost_answer", "permit", "busy"])
def test_what_is_not_settled_is_open(mark: str) -> None:
    action = Action("POST", "https://h.example/", safe=False)
    assert action.state == OPEN
    assert not is_open(action)
    setattr(action, mark, True)
    assert is_open(action)


def test_one_call_at_a_time_works_on_an_action() -> None:
    memory, action = Memory(), unresolved()
    with ThreadPoolExecutor(8) as pool:
        took = list(pool.map(lambda _: memory.take(action), range(64)))
    assert took.count(True) == 1
    action.busy = False
    assert memory.take(action)


def test_an_action_that_ended_meanwhile_is_not_taken() -> None:
    memory, action = Memory(), unresolved()
    action.done("answer 201")
    assert not memory.take(action)
    assert not action.busy
    action.lost_answer = True
    assert memory.take(action)
    hop = Action("POST", "https://h.example/", safe=False)
    assert memory.take(hop)


# ------------------------------------------------------------------ counts


def test_equal_calls_are_counted_out_and_back() -> None:
    memory, one, two, look = Memory(), unresolved(), unresolved(), unresolved()
    memory.went_out(one)
    memory.went_out(two)
    assert memory.counts(look) == (0, 2)
    memory.came_back(one, done=True)
    assert memory.counts(look) == (1, 1)
    memory.came_back(two, done=False)
    assert memory.counts(look) == (1, 0)
    memory.came_back(unresolved("other"), done=False)
    assert memory.counts(unresolved("other")) == (0, 0)


def test_an_action_is_counted_once_and_never_against_itself() -> None:
    memory, action, equal = Memory(), unresolved(), unresolved()
    for _ in range(2):
        memory.went_out(action)
        memory.came_back(action, done=True)
    memory.account(action)
    assert memory.claim(action, copies=1, others=0)
    assert memory.counts(equal) == (1, 0)
    assert memory.counts(action) == (0, 0)
    assert not memory.claim(equal, copies=1, others=0)
    memory.add_copies(action, 2)
    assert memory.counts(equal) == (3, 0)


def test_each_copy_is_claimed_once() -> None:
    memory = Memory()
    assert memory.claim(unresolved(), copies=2, others=0)
    assert memory.claim(unresolved(), copies=2, others=0)
    assert not memory.claim(unresolved(), copies=2, others=0)
    assert not memory.claim(unresolved("u"), copies=1, others=1)
    assert memory.claim(unresolved("u"), copies=2, others=1)
    assert memory.counts(unresolved("u")) == (1, 0)


def test_counts_are_exact_under_threads() -> None:
    memory = Memory()
    start = threading.Barrier(4)

    def work(_: int) -> int:
        start.wait()
        won = 0
        for _ in range(500):
            action = unresolved("t")
            memory.went_out(action)
            won += memory.claim(unresolved("c"), copies=100, others=0)
            memory.came_back(action, done=True)
        return won

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(work, range(4))) == 100
    assert memory.counts(unresolved("t")) == (2000, 0)


def test_the_count_of_fingerprints_is_bounded() -> None:
    memory = Memory()
    for number in range(COUNTED + 1):
        memory.claim(unresolved(str(number)), copies=1, others=0)
    assert memory.counts(unresolved("0")) == (0, 0)
    assert memory.counts(unresolved("1")) == (1, 0)


def test_a_cleared_memory_is_a_new_one() -> None:
    memory = Memory()
    memory.keep(unresolved(), 0.0, 10.0)
    memory.went_out(unresolved("t"))
    memory.claim(unresolved("t"), copies=1, others=0)
    memory.clear()
    assert not memory
    assert memory.counts(unresolved("t")) == (0, 0)


# ------------------------------------------------------------------ through a mount


def test_a_repeat_is_refused_unsent_also_through_a_new_client(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with server.client() as client, pytest.raises(UnknownOutcome) as first:
        client.post("/a", json={"x": 1, "y": 2})
    assert isinstance(first.value, httpx.ReadTimeout)
    with server.client() as client, pytest.raises(UnknownOutcome) as again:
        client.post("/a", content=b'{"y":2, "x":1}', headers={"Content-Type": "application/json"})
    assert isinstance(again.value, httpx.TransportError)
    assert "This repeat was not sent" in str(again.value)
    assert len(server.seen) == 1
    assert outcome(again.value).action is outcome(first.value).action  # type: ignore[union-attr]


def test_after_the_deadline_of_the_policy_it_is_forgotten(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with server.client(policy=Policy(deadline=30)) as client:
        with pytest.raises(UnknownOutcome):
            client.post("/a")
        clock.at += 29
        with pytest.raises(UnknownOutcome):
            client.post("/a")
        clock.at += 31
        assert client.post("/a").status_code == 201


def test_two_tenants_do_not_share_an_action_outside_a_task(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with server.client() as client:
        with pytest.raises(UnknownOutcome):
            client.post("/a", headers={"Authorization": "Bearer one"})
        assert client.post("/a", headers={"Authorization": "Bearer two"}).is_success
        with pytest.raises(UnknownOutcome):
            client.post("/a", headers={"Authorization": "Bearer one"})
    assert len(server.seen) == 2


def test_other_headers_tell_users_apart_when_a_rule_names_them(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with server.client(Rule("POST /**", identity=("X-Tenant",))) as client:
        with pytest.raises(UnknownOutcome):
            client.post("/a", headers={"X-Tenant": "one"})
        assert client.post("/a", headers={"X-Tenant": "two"}).is_success


def test_inside_a_named_task_a_renewed_credential_is_the_same_user(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with task("t"), server.client() as client:
        with pytest.raises(UnknownOutcome):
            client.post("/a", headers={"Authorization": "Bearer old"})
        with pytest.raises(UnknownOutcome):
            client.post("/a", headers={"Authorization": "Bearer new"})
    assert len(server.seen) == 1


def test_a_trusted_key_joins_the_repeat_to_the_action(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, httpx.ReadTimeout, httpx.ReadTimeout, 201)
    with server.client(Rule("POST /**", dedupes=True)) as client:
        with pytest.raises(httpx.ReadTimeout) as lost:
            client.post("/a")
        answer = client.post("/a")
    assert answer.status_code == 201
    assert len(set(server.keys)) == 1
    assert server.keys[0]
    assert outcome(answer).action is outcome(lost.value).action  # type: ignore[union-attr]
    assert not MEMORY


def test_a_verifier_settles_the_repeat(clock: FakeClock) -> None:
    shown = [Verdict.UNCLEAR, Verdict.LANDED]
    server = Server(httpx.ReadTimeout)
    with server.client(Rule("POST /**", verify=lambda read, sent: shown.pop(0))) as client:
        with pytest.raises(UnknownOutcome):
            client.post("/a")
        with pytest.raises(httpx.TransportError) as again:
            client.post("/a")
    found = outcome(again.value)
    assert found is not None
    assert (found.applied, found.facts["state"], found.verified_by) == ("yes", DONE, "caller")
    assert len(server.seen) == 1
    assert not MEMORY


def test_two_threads_on_one_unknown_action_only_one_works_on_it(clock: FakeClock) -> None:
    inside, free = threading.Event(), threading.Event()

    def slow(request: httpx.Request) -> httpx.Response:
        inside.set()
        assert free.wait(10)
        return httpx.Response(201)

    server = Server(httpx.ReadTimeout, slow)
    ends: list[Any] = []
    with server.client(Rule("POST /**", dedupes=True, attempts=1)) as client:
        with pytest.raises(UnknownOutcome):
            client.post("/a")
        worker = threading.Thread(target=lambda: ends.append(client.post("/a")))
        worker.start()
        assert inside.wait(10)
        with pytest.raises(UnknownOutcome, match="This repeat was not sent"):
            client.post("/a")
        free.set()
        worker.join()
    assert ends[0].status_code == 201
    assert len(server.seen) == 2


def test_a_permitted_resend_in_flight_holds_back_another_one(clock: FakeClock) -> None:
    inside, free = threading.Event(), threading.Event()

    def slow(request: httpx.Request) -> httpx.Response:
        inside.set()
        assert free.wait(10)
        return httpx.Response(201)

    server = Server(httpx.ReadTimeout, slow)
    ends: list[Any] = []
    with server.client() as client:
        with pytest.raises(UnknownOutcome) as lost:
            client.post("/a")
        resolve(lost.value, Verdict.ABSENT)
        worker = threading.Thread(target=lambda: ends.append(client.post("/a")))
        worker.start()
        assert inside.wait(10)
        with pytest.raises(UnknownOutcome):
            client.post("/a")
        free.set()
        worker.join()
    assert ends[0].status_code == 201
    assert len(server.seen) == 2


def test_the_memory_takes_what_a_task_could_not_resolve(clock: FakeClock) -> None:
    server = Server(httpx.ReadTimeout, 201)
    with task("first"), server.client() as client, pytest.raises(UnknownOutcome):
        client.post("/a")
    with server.client() as client, pytest.raises(UnknownOutcome):
        client.post("/a")
    with task("second") as t, server.client() as client, pytest.raises(UnknownOutcome):
        client.post("/a")
    assert t.report().status == "unknown"
    clock.at += 121
    with server.client() as client:
        assert client.post("/a").is_success


def test_a_memory_of_the_past_is_empty_again() -> None:
    memory = Memory()
    old, fresh = Action("POST", "http://h/", safe=False), Action("POST", "http://h/", safe=False)
    for action, name, seconds in ((old, "old", 10.0), (fresh, "fresh", 100.0)):
        action.fingerprint, action.identity, action.state = name, "me", "unknown"
        memory.keep(action, 0.0, seconds)
    assert memory.find("another", "me", 50.0) is None
    assert memory.find("fresh", "me", 50.0) is fresh
    assert memory.find("another", "me", 200.0) is None
    assert not memory


def test_what_is_past_is_not_found_behind_what_is_not() -> None:
    memory = Memory()
    for name, seconds in (("long", 100.0), ("short", 10.0)):
        action = Action("POST", "http://h/", safe=False)
        action.fingerprint, action.identity, action.state = name, "me", "unknown"
        memory.keep(action, 0.0, seconds)
    assert memory.find("short", "me", 50.0) is None
    assert memory.find("long", "me", 50.0) is not None


def test_in_a_forked_process_nobody_holds_the_lock() -> None:
    memory = Memory()
    memory._lock.acquire()
    memory.after_fork()
    memory.clear()
    assert not memory
