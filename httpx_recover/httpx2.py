"""The mounts for httpx2: `RecoverTransport`, `AsyncRecoverTransport` and `recover`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from httpx_recover._httpx_mount import AsyncMount, SyncMount, choose_inner, recover_client
from httpx_recover._policy import Policy, Rule

try:
    import httpx2
except ImportError as missing:
    raise ImportError(
        'httpx2 is not installed: pip install "httpx-recover[httpx2]"', name="httpx2"
    ) from missing

AnyClient = TypeVar("AnyClient", httpx2.Client, httpx2.AsyncClient)


class RecoverTransport(SyncMount, httpx2.BaseTransport):
    """A transport for `httpx2.Client(transport=...)` that recovers what fails half-way.

    Args:
        transport: the transport below; default a new `httpx2.HTTPTransport`.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.
        kwargs: arguments of `httpx2.HTTPTransport`, when no transport is given.

    Raises:
        ValueError: a setting cannot be meant; the text names it.
    """

    lib = httpx2

    def __init__(
        self,
        transport: httpx2.BaseTransport | None = None,
        *,
        policy: Policy | None = None,
        rules: Iterable[Rule] = (),
        **kwargs: Any,
    ) -> None:
        inner = choose_inner(transport, httpx2.BaseTransport, httpx2.HTTPTransport, kwargs)
        self.set_up(inner, httpx2.HTTPTransport, policy, rules)


class AsyncRecoverTransport(AsyncMount, httpx2.AsyncBaseTransport):
    """The same for `httpx2.AsyncClient(transport=...)`, under asyncio and trio."""

    lib = httpx2

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None = None,
        *,
        policy: Policy | None = None,
        rules: Iterable[Rule] = (),
        **kwargs: Any,
    ) -> None:
        inner = choose_inner(
            transport, httpx2.AsyncBaseTransport, httpx2.AsyncHTTPTransport, kwargs
        )
        self.set_up(inner, httpx2.AsyncHTTPTransport, policy, rules)


def recover(
    client: AnyClient, *, policy: Policy | None = None, rules: Iterable[Rule] = ()
) -> AnyClient:
    """Wrap a client in place, its proxies and mounts included, and return it.

    Args:
        client: an `httpx2.Client` or `httpx2.AsyncClient`.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.

    Raises:
        ValueError: it is no client, or was recovered before with other settings.
    """
    if isinstance(client, httpx2.Client):
        recover_client(client, RecoverTransport, policy, rules)
    elif isinstance(client, httpx2.AsyncClient):
        recover_client(client, AsyncRecoverTransport, policy, rules)
    else:
        raise ValueError(f"client={client!r}: must be an httpx2.Client or an httpx2.AsyncClient")
    return client
