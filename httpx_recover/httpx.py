"""The mounts for httpx: `RecoverTransport`, `AsyncRecoverTransport` and `recover`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from httpx_recover._httpx_mount import AsyncMount, SyncMount, choose_inner, recover_client
from httpx_recover._policy import Policy, Rule

try:
    import httpx
except ImportError as missing:
    raise ImportError(
        'httpx is not installed: pip install "httpx-recover[httpx]"', name="httpx"
    ) from missing

AnyClient = TypeVar("AnyClient", httpx.Client, httpx.AsyncClient)


class RecoverTransport(SyncMount, httpx.BaseTransport):
    """A transport for `httpx.Client(transport=...)` that recovers what fails half-way.

    Args:
        transport: the transport below; default a new `httpx.HTTPTransport`.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.
        kwargs: arguments of `httpx.HTTPTransport`, when no transport is given.

    Raises:
        ValueError: a setting cannot be meant; the text names it.
    """

    lib = httpx

    def __init__(
        self,
        transport: httpx.BaseTransport | None = None,
        *,
        policy: Policy | None = None,
        rules: Iterable[Rule] = (),
        **kwargs: Any,
    ) -> None:
        inner = choose_inner(transport, httpx.BaseTransport, httpx.HTTPTransport, kwargs)
        self.set_up(inner, httpx.HTTPTransport, policy, rules)


class AsyncRecoverTransport(AsyncMount, httpx.AsyncBaseTransport):
    """The same for `httpx.AsyncClient(transport=...)`, under asyncio and trio."""

    lib = httpx

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport | None = None,
        *,
        policy: Policy | None = None,
        rules: Iterable[Rule] = (),
        **kwargs: Any,
    ) -> None:
        inner = choose_inner(transport, httpx.AsyncBaseTransport, httpx.AsyncHTTPTransport, kwargs)
        self.set_up(inner, httpx.AsyncHTTPTransport, policy, rules)


def recover(
    client: AnyClient, *, policy: Policy | None = None, rules: Iterable[Rule] = ()
) -> AnyClient:
    """Wrap a client in place, its proxies and mounts included, and return it.

    Args:
        client: an `httpx.Client` or `httpx.AsyncClient`.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.

    Raises:
        ValueError: it is no client, or was recovered before with other settings.
    """
    if isinstance(client, httpx.Client):
        recover_client(client, RecoverTransport, policy, rules)
    elif isinstance(client, httpx.AsyncClient):
        recover_client(client, AsyncRecoverTransport, policy, rules)
    else:
        raise ValueError(f"client={client!r}: must be an httpx.Client or an httpx.AsyncClient")
    return client
