"""The transports of both colours, for whichever library a class is bound to.

A call that succeeds at once builds no record: its method gives the plan, its status ends it.
Only what a rule, a key, a trace or a failure makes necessary is made, and only then.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

from httpx_recover import _drive
from httpx_recover._httpx_async import AsyncPort
from httpx_recover._httpx_io import aread_body, read_body
from httpx_recover._httpx_port import MARK
from httpx_recover._httpx_sync import SyncPort
from httpx_recover._httpx_wire import is_small, origin_of, path_of, print_of
from httpx_recover._ledger import Outcome
from httpx_recover._memory import MEMORY
from httpx_recover._plan import Plan, Route, make_plan, make_routes
from httpx_recover._policy import Policy, Rule, check_colour
from httpx_recover._task import SCOPE, Scope, Success, Task, logger

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_warned_of_proxies: list[bool] = []


class Mount:
    """The settings of a mount, and which of them hold for a request."""

    lib: Any = None
    port: Any = None
    inner: Any

    def _set_up(self, inner: Any, real: Any, policy: Policy | None, rules: Any) -> None:
        if policy is not None and not isinstance(policy, Policy):
            raise ValueError(f"policy={policy!r}: must be a Policy")
        self.inner = inner
        self.real = type(inner) is real  # a subclass may do anything before it connects
        self.policy = policy or Policy()
        self.routes: tuple[Route, ...] = make_routes(rules)
        self.client_ref: Any = lambda: None
        self.memory_stream = self.lib.ByteStream
        self._plans: dict[Any, Plan] = {}
        self._matched: set[int] = set()
        for route in self.routes:
            self._check(route.rule.verify)

    def _check(self, verify: Any) -> None:
        """Refuse a verifier of the wrong colour."""

    @property
    def client(self) -> Any:
        """The client that this mount was put under by `recover`, while it lives."""
        return self.client_ref()

    def settings(self) -> tuple[Any, ...]:
        """What makes two mounts the same."""
        return self.policy, tuple(route.rule for route in self.routes)

    def find_plan(self, request: Any, scope: Scope | None) -> Plan | None:
        """Everything declared about the request; None when it has us switched off."""
        own = request.extensions.get("recover")
        if own is False:
            return None
        if own is not None and own is not True and not isinstance(own, Rule):
            raise ValueError(f"extensions['recover']={own!r}: must be a Rule or False")
        if scope is not None and scope.task is not None and self.routes:
            scope.task.mounts[id(self)] = self
        index = self._match(request)
        block = None if scope is None else scope.block
        policy = (
            self.policy if scope is None or scope.task is None else scope.task.policy(self.policy)
        )
        if block is None and not isinstance(own, Rule):
            if index < 0 and policy is self.policy:
                return self._plans.get(request.method) or self.plain_plan(request.method)
            return self._cached(request.method, index, policy)
        layers = [self.routes[index].said] if index >= 0 else []
        if block is not None:
            named = {"key": policy.key} if block.value is not None else {}
            layers = [named, *layers, block.said]  # a value that is named must be sent
        layers += [own.said()] if isinstance(own, Rule) else []
        plan = make_plan(request.method, policy, *layers)
        self._check(plan.verify)
        placeless = plan.key.name is None and not plan.rights.safe
        if block is not None and block.value is not None and placeless:
            raise ValueError(
                f"call(key='{block.value[:8]}...'): the policy or a rule says Key.none(), so there "
                f"is no place for it; give a Rule with key=Key.header(...)"
            )
        return plan

    def _match(self, request: Any) -> int:
        if not self.routes:
            return -1
        method, origin, path = request.method, origin_of(request.url), path_of(request.url)
        for index, route in enumerate(self.routes):
            if route.pattern.matches(method, origin, path):
                self._matched.add(index)
                return index
        return -1

    def _cached(self, method: str, index: int, policy: Policy) -> Plan:
        place = (method, index, policy)
        plan = self._plans.get(place)
        if plan is None:
            layers = [self.routes[index].said] if index >= 0 else []
            plan = self._plans[place] = make_plan(method, policy, *layers)
        return plan

    def plain_plan(self, method: str) -> Plan:
        """The plan of a method about which nothing was declared."""
        return self._plans.setdefault(method, make_plan(method, self.policy))

    def read_plan(self) -> Plan:
        """The plan of a recovery read, whatever rules say about the route it takes."""
        return self._cached("GET", -1, self.policy)

    def log_unmatched(self) -> None:
        """Say once which rules never matched: most often a typo in a pattern."""
        for index, route in enumerate(self.routes):
            if index not in self._matched:
                self._matched.add(index)
                logger.warning("the rule for %r has matched no request so far", route.rule.match)

    def late(self, request: Any, plan: Plan, scope: Scope | None) -> Any:
        """The port of a call whose first send is over and was not simply a success."""
        port = self.port(self, request, plan, scope)
        port.open_late()
        return port


def drop_key(request: Any) -> None:
    """A hop of a redirect that became a read takes no key of ours along."""
    value = request.extensions[MARK].key
    for name in [each for each, written in request.headers.items() if written.strip('"') == value]:
        del request.headers[name]


def succeeded(request: Any, response: Any, status: int, task: Task) -> None:
    """A read has succeeded at once in a named task."""
    success = Success(request.method, request.url, status)
    task.add(success)
    if task.troubled or task.parent is not None:
        task.mend(success, lambda: print_of(request))


class SyncMount(Mount):
    """A transport that recovers, for sync clients."""

    port = SyncPort

    def _check(self, verify: Any) -> None:
        check_colour(verify)

    def handle_request(self, request: Any) -> Any:
        """Send the request, and recover it when it fails half-way."""
        scope = SCOPE.get()
        extensions = request.extensions
        if self.routes or (scope is not None) or "recover" in extensions:
            plan = self.find_plan(request, scope)
            if plan is None:
                return self.inner.handle_request(request)
        else:
            plan = self._plans.get(request.method) or self.plain_plan(request.method)
        safe, task = plan.rights.safe, None if scope is None else scope.task
        heavy = not plan.light or type(request.stream) is not self.memory_stream
        if heavy or (not safe and (task is not None or MEMORY)):
            port = SyncPort(self, request, plan, scope)
            return _drive.run(port, port.open())
        if MARK in extensions:
            drop_key(request)
        torn = None
        try:
            response = self.inner.handle_request(request)
            if type(response.stream) is not self.memory_stream and is_small(
                response, request.method
            ):
                torn = read_body(response, self.lib)
        except Exception as exc:
            port = self.late(request, plan, scope)
            return _drive.run(port, port.failed(exc))
        except BaseException as exc:
            if not safe or task is not None:  # a read that nobody reports on may just go
                self.late(request, plan, scope).abandon(exc)
            raise
        status = response.status_code
        if torn is None and status < 400 and status not in plan.odd:
            response.extensions["recovery"] = Outcome(request, status, safe)
            if task is not None:
                succeeded(request, response, status, task)
            return response
        port = self.late(request, plan, scope)
        return _drive.run(port, port.received(response, torn))

    def close(self) -> None:
        """Close the transport below."""
        self.inner.close()

    def __enter__(self) -> Any:
        self.inner.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.inner.__exit__(*exc)


class AsyncMount(Mount):
    """A transport that recovers, for async clients."""

    port = AsyncPort

    async def handle_async_request(self, request: Any) -> Any:
        """Send the request, and recover it when it fails half-way."""
        scope = SCOPE.get()
        extensions = request.extensions
        if self.routes or (scope is not None) or "recover" in extensions:
            plan = self.find_plan(request, scope)
            if plan is None:
                return await self.inner.handle_async_request(request)
        else:
            plan = self._plans.get(request.method) or self.plain_plan(request.method)
        safe, task = plan.rights.safe, None if scope is None else scope.task
        heavy = not plan.light or type(request.stream) is not self.memory_stream
        if heavy or (not safe and (task is not None or MEMORY)):
            port = AsyncPort(self, request, plan, scope)
            return await _drive.arun(port, port.open())
        if MARK in extensions:
            drop_key(request)
        torn = None
        try:
            response = await self.inner.handle_async_request(request)
            if type(response.stream) is not self.memory_stream and is_small(
                response, request.method
            ):
                torn = await aread_body(response, self.lib)
        except Exception as exc:
            port = self.late(request, plan, scope)
            return await _drive.arun(port, port.failed(exc))
        except BaseException as exc:
            if not safe or task is not None:  # a read that nobody reports on may just go
                self.late(request, plan, scope).abandon(exc)
            raise
        status = response.status_code
        if torn is None and status < 400 and status not in plan.odd:
            response.extensions["recovery"] = Outcome(request, status, safe)
            if task is not None:
                succeeded(request, response, status, task)
            return response
        port = self.late(request, plan, scope)
        return await _drive.arun(port, port.received(response, torn))

    async def aclose(self) -> None:
        """Close the transport below."""
        await self.inner.aclose()

    async def __aenter__(self) -> Any:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.inner.__aexit__(*exc)


def choose_inner(transport: Any, base: Any, real: Any, kwargs: dict[str, Any]) -> Any:
    """The transport to mount on: the caller's, or the library's own with these arguments.

    Raises:
        ValueError: both were given, or the transport is of another kind.
    """
    if transport is None:
        warn_of_proxies()
        return real(**kwargs)
    if kwargs:
        raise ValueError(
            f"{', '.join(kwargs)}: arguments of {real.__name__} do not go with transport=; give "
            f"them to that transport"
        )
    if not isinstance(transport, base):
        raise ValueError(f"transport={transport!r}: must be a {base.__module__}.{base.__name__}")
    return transport


def warn_of_proxies() -> None:
    """A client with `transport=` ignores proxy variables: say so once."""
    named = [name for name in _PROXIES if os.environ.get(name) or os.environ.get(name.upper())]
    if named and not _warned_of_proxies:
        _warned_of_proxies.append(True)
        logger.warning(
            "%s is set, but a client with transport= does not use it: "
            "recover(Client(...)) keeps proxies",
            named[0].upper(),
        )


def recover_client(client: Any, mount: Any, policy: Policy | None, rules: Any) -> Any:
    """Put a mount over each transport of a client: its own, those of its proxies and mounts.

    Raises:
        ValueError: it was recovered before, with other settings.
    """
    below = client._transport
    held = below if isinstance(below, Mount) else None
    wanted = mount(below if held is None else held.inner, policy=policy, rules=rules)
    if held is not None:
        if held.settings() != wanted.settings():
            raise ValueError(
                "recover(): this client was recovered before with other settings; make a new "
                "client, or give all settings at once"
            )
        return client
    mounts = {
        pattern: below if below is None else mount(below, policy=policy, rules=rules)
        for pattern, below in client._mounts.items()
    }
    client._transport = wanted
    client._mounts = mounts
    for each in (wanted, *mounts.values()):
        if each is not None:
            each.client_ref = weakref.ref(client)
    return client
