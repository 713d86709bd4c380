"""A client that is used after a fork: each process has connections of its own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import httpx
import httpx2
import pytest

from httpx_recover import _fork, recover
from httpx_recover import httpx as on_httpx
from httpx_recover import httpx2 as on_httpx2
from tests.drivers import POLICY
from tests.httpbin import Httpbin

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def in_a_child(work: Callable[[], bool]) -> bool:
    """Does `work` say yes in a forked process? Its end does nothing of pytest's."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


@pytest.mark.parametrize(("library", "mounts"), [(httpx, on_httpx), (httpx2, on_httpx2)])
def test_parent_and_child_never_share_a_connection(
    httpbin: Httpbin, library: Any, mounts: Any
) -> None:
    def port(client: Any) -> int:
        response = client.get(f"{httpbin.url}/get")
        assert response.status_code == 200
        stream = response.extensions["network_stream"]
        return int(stream.get_extra_info("client_addr")[1])

    with mounts.recover(library.Client(trust_env=False), policy=POLICY) as client:
        before = port(client)
        assert in_a_child(lambda: port(client) != before)
        assert port(client) == before  # the parent goes on with its own, undisturbed
        assert in_a_child(lambda: client.post(f"{httpbin.url}/post", json={}).is_success)


def test_a_fork_while_another_thread_holds_the_pool(httpbin: Httpbin) -> None:
    with recover(httpx.Client(trust_env=False), policy=POLICY) as client:
        client.get(f"{httpbin.url}/get")
        pool = client._transport.inner._pool  # type: ignore[attr-defined]
        held, done = Event(), Event()

        def hold() -> None:
            with pool._optional_thread_lock:
                held.set()
                done.wait(20)

        thread = Thread(target=hold)
        thread.start()
        held.wait(5)
        try:
            assert in_a_child(lambda: client.get(f"{httpbin.url}/get").is_success)
        finally:
            done.set()
            thread.join()


def test_an_async_client_works_in_the_child(httpbin: Httpbin) -> None:
    client = recover(httpx.AsyncClient(trust_env=False), policy=POLICY)

    async def status() -> int:
        return (await client.get(f"{httpbin.url}/get")).status_code

    with asyncio.Runner() as runner:
        assert runner.run(status()) == 200
        assert in_a_child(lambda: asyncio.run(status()) == 200)
        assert runner.run(status()) == 200
        runner.run(client.aclose())


class Pool:
    """A pool with a connection that cannot be closed, and one that is closed by its event loop."""

    def __init__(self) -> None:
        self._connections: list[Any] = [self, object()]
        self._requests: list[Any] = [object()]

    def close(self) -> None:
        raise OSError("no")


def test_what_lies_below_other_transports_is_left_behind_too(httpbin: Httpbin) -> None:
    class Transport(httpx.BaseTransport):
        def __init__(self) -> None:
            self._pool = Pool()
            self.inner = httpx.HTTPTransport(trust_env=False)
            self.spare = httpx.MockTransport(lambda request: httpx.Response(200))  # has no pool

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return self.inner.handle_request(request)

    below = Transport()
    with httpx.Client(transport=on_httpx.RecoverTransport(below)) as client:
        client.get(f"{httpbin.url}/get")
        assert left(below) != []
        assert left(below.inner) != []
        _fork._after_fork()
        assert left(below) == []
        assert left(below.inner) == []
        assert client.get(f"{httpbin.url}/get").is_success
        below.inner.close()


def left(transport: Any) -> list[Any]:
    return [*transport._pool._connections, *transport._pool._requests]
