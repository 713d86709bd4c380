"""The mounts for requests: `RecoverAdapter` and `recover`."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any, TypeVar

try:
    import requests
except ImportError as missing:
    raise ImportError(
        'requests is not installed: pip install "httpx-recover[requests]"', name="requests"
    ) from missing

from requests.adapters import (
    DEFAULT_POOLBLOCK,
    DEFAULT_POOLSIZE,
    DEFAULT_RETRIES,
    BaseAdapter,
    HTTPAdapter,
)
from urllib3.util import Retry

from httpx_recover._layers import refuse_retries
from httpx_recover._policy import Policy, Rule
from httpx_recover._requests_mount import RequestsMount
from httpx_recover._requests_phase import watch, watch_proxies

AnySession = TypeVar("AnySession", bound=requests.Session)


class RecoverAdapter(RequestsMount, HTTPAdapter):
    """An adapter for `session.mount("https://", ...)` that recovers what fails half-way.

    Args:
        pool_connections, pool_maxsize, pool_block: as of `requests.adapters.HTTPAdapter`.
        max_retries: switched off, and logged once: urllib3 sends again without evidence.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.

    Raises:
        ValueError: a setting cannot be meant; the text names it.
    """

    __attrs__: list[str] = [*HTTPAdapter.__attrs__, "policy", "rules"]  # noqa: RUF012 # as there

    def __init__(
        self,
        pool_connections: int = DEFAULT_POOLSIZE,
        pool_maxsize: int = DEFAULT_POOLSIZE,
        max_retries: int | Retry = DEFAULT_RETRIES,
        pool_block: bool = DEFAULT_POOLBLOCK,
        *,
        policy: Policy | None = None,
        rules: Iterable[Rule] = (),
    ) -> None:
        HTTPAdapter.__init__(self, pool_connections, pool_maxsize, max_retries, pool_block)
        self.set_up(policy, rules)

    def __setstate__(self, state: dict[str, Any]) -> None:
        HTTPAdapter.__setstate__(self, state)
        self.set_up(state["policy"], state["rules"])

    @property
    def adapter(self) -> Any:
        """The adapter whose pools are used."""
        return self

    @property
    def plain(self) -> bool:
        """Does it nothing of its own, as a subclass may?"""
        return type(self) is RecoverAdapter

    def proxy_manager_for(self, proxy: str, **proxy_kwargs: Any) -> Any:
        """The pool manager for a proxy, as of `HTTPAdapter`, with watched connections."""
        manager = HTTPAdapter.proxy_manager_for(self, proxy, **proxy_kwargs)
        watch(manager)
        return manager

    def hand_down(self, request: Any, **sending: Any) -> Any:
        """Send once, as requests does."""
        return HTTPAdapter.send(self, request, **sending)


class OverAdapter(RequestsMount, BaseAdapter):
    """Recovers what another adapter sends; in all else it is that adapter."""

    def __init__(self, inner: Any, *, policy: Policy | None, rules: Iterable[Rule]) -> None:
        if not getattr(policy, "allow_inner_retries", False):
            refuse_retries(inner, "adapter")
        vars(self)["inner"] = inner
        vars(self)["has_own_timeout"] = type(inner).send is not HTTPAdapter.send
        if hasattr(inner, "proxy_manager_for"):
            watch_proxies(inner)
        self.set_up(policy, rules)

    def __reduce__(self) -> tuple[Any, ...]:
        return _over, (self.inner, self.policy, self.rules)

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self) and hasattr(self.inner, name):
            setattr(self.inner, name, value)
        else:
            object.__setattr__(self, name, value)

    @property  # type: ignore[misc] # isinstance asks the adapter below too
    def __class__(self) -> Any:
        return type(self.inner)

    @property
    def adapter(self) -> Any:
        """The adapter whose pools are used."""
        return self.inner

    @property
    def plain(self) -> bool:
        """Does the adapter below nothing of its own?"""
        return type(self.inner) is HTTPAdapter

    def hand_down(self, request: Any, **sending: Any) -> Any:
        """Send once, through the adapter below."""
        return self.inner.send(request, **sending)

    def close(self) -> None:
        """Close the adapter below."""
        self.inner.close()


def _over(inner: Any, policy: Policy, rules: Iterable[Rule]) -> OverAdapter:
    return OverAdapter(inner, policy=policy, rules=rules)


def recover(
    session: AnySession, *, policy: Policy | None = None, rules: Iterable[Rule] = ()
) -> AnySession:
    """Wrap a session in place, all its mounted adapters included, and return it.

    Args:
        session: a `requests.Session`.
        policy: the limits; default `Policy()`.
        rules: what is known about routes; the first that matches holds.

    Raises:
        ValueError: it is no session, or was recovered before with other settings.
    """
    if not isinstance(session, requests.Session):
        raise ValueError(f"client={session!r}: must be a requests.Session")
    rules = (rules,) if isinstance(rules, Rule) else tuple(rules)
    wanted = OverAdapter(HTTPAdapter(), policy=policy, rules=rules)  # checks the settings
    held = [each for each in session.adapters.values() if isinstance(each, RequestsMount)]
    if any(each.settings() != wanted.settings() for each in held):
        raise ValueError(
            "recover(): this session was recovered before with other settings; make a new "
            "session, or give all settings at once"
        )
    over: dict[int, Any] = {id(each): each for each in held}
    for prefix, adapter in session.adapters.items():
        if id(adapter) not in over:
            over[id(adapter)] = OverAdapter(adapter, policy=policy, rules=rules)
        session.adapters[prefix] = over[id(adapter)]
    for mounted in over.values():
        mounted.client_ref = weakref.ref(session)
    return session
