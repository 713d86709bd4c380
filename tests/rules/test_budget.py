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
    budget = Budget(threading.Lock())
    with ThreadPoolExecutor(50) as pool:
        spent = list(pool.map(lambda _: budget.spend(10), range(500)))
    assert sum(spent) == 10
    assert budget.used == 10


def test_a_few_of_them_may_confirm() -> None:
    budget = Budget()
    assert [budget.may_confirm() for _ in range(CONFIRMS + 2)] == [True] * 3 + [False] * 2


def test_a_budget_travels_without_its_lock() -> None:
    budget = Budget(threading.Lock())
    budget.spend(3)
    budget.start(1.0)
    copy = pickle.loads(pickle.dumps(budget))
    assert (copy.used, copy.confirms, copy.first_failure) == (1, 0, 1.0)
    assert copy.spend(3)
