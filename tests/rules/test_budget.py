"""What a task may spend."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from math import inf

from httpx_recover._budget import CONFIRMS, Budget


def test_the_clock_starts_once() -> None:
    budget = Budget()
    assert budget.ends(120) == inf
    budget.start(5.0)
    budget.start(9.0)
    assert budget.ends(120) == 125.0


def test_threads_spend_exactly_the_limit() -> None:
    budget, ready = Budget(threading.Lock()), threading.Barrier(50)

    def spend(_: int) -> list[bool]:
        ready.wait(10)
        return [budget.spend(70) or budget.may_confirm() for _ in range(10)]

    with ThreadPoolExecutor(50) as pool:
        taken = list(pool.map(spend, range(50)))
    assert sum(map(sum, taken)) == 70 + CONFIRMS
    assert (budget.used, budget.confirms) == (70, CONFIRMS)


def test_the_lock_is_held_while_a_call_is_taken() -> None:
    lock = threading.Lock()
    budget = Budget(lock)
    with ThreadPoolExecutor(2) as pool:
        with lock:
            waiting = [pool.submit(budget.spend, 1), pool.submit(budget.may_confirm)]
            assert not any(each.done() for each in waiting)
            assert (budget.used, budget.confirms) == (0, 0)
        assert [each.result(10) for each in waiting] == [True, True]
    assert (budget.used, budget.confirms) == (1, 1)


def test_the_limit_comes_with_the_question() -> None:
    budget = Budget()
    assert not budget.spend(0)
    assert [budget.spend(1), budget.spend(1), budget.spend(2), budget.spend(2)] == [
        *(True, False, True, False)
    ]
    assert budget.used == 2


def test_a_few_of_them_may_confirm() -> None:
    budget = Budget()
    assert [budget.may_confirm() for _ in range(CONFIRMS + 2)] == [True] * 3 + [False] * 2


def test_a_budget_travels_without_its_lock() -> None:
    budget = Budget(threading.Lock())
    budget.spend(3)
    budget.start(1.0)
    copy = pickle.loads(pickle.dumps(budget))
    assert (copy.used, copy.confirms, copy.first_failure) == (1, 0, 1.0)
    assert copy.ends(120) == 121.0
    assert [copy.spend(3), copy.spend(3), copy.spend(3)] == [True, True, False]
    assert copy.may_confirm()
    assert budget.used == 1
