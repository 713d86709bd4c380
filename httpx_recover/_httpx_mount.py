"""The transports of both colours, for whichever library a class is bound to.

A call that succeeds at once builds no record: its method gives the plan, its status ends it.
Only what a rule, a key, a trace or a failure makes necessary is made, and only then.
"""

from __future__ import annotations

import os
import weakref
from typing import Any

from httpx_recover import _drive, _httpx_wire
from httpx_recover._evidence import Phase
from httpx_recover._flow import Flow
from httpx_recover._fork import watch_forks
from httpx_recover._httpx_async import AsyncPort
from httpx_recover._httpx_io import aread_body, read_body
from httpx_recover._httpx_stream import body_class
from httpx_recover._httpx_sync import SyncPort
from httpx_recover._httpx_wire import atracer, is_small, tracer, untrace
from httpx_recover._layers import refuse_retries
from httpx_recover._lean import Lean
from httpx_recover._ledger import Outcome
from httpx_recover._memory import MEMORY
from httpx_recover._mount import Mount
from httpx_recover._plan import Plan
from httpx_recover._policy import Policy, check_colour
from httpx_recover._task import Scope, Success, here, logger
from httpx_recover._view import MARK

_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_warned_of_proxies: list[bool] = []


class HttpxMount(Mount):
    """What the mounts of both colours share."""

    wire = _httpx_wire
    port: Any
    trace: Any  # makes a trace callback
    inner: Any  # the transport that the request is handed down to

    def set_up(self, inner: Any, real: Any, policy: Policy | None, rules: Any) -> None:
        """Take the settings; `real` is the library's own transport."""
        self._set_up(policy, rules)
        if not self.policy.allow_inner_retries:
            refuse_retries(inner, "transport")
        self.inner = inner
        watch_forks(self)
        self.real = type(inner) is real  # a subclass may do anything before it connects
        self.memory_stream = self.lib.ByteStream

    def late(
        self, request: Any, plan: Plan, scope: Scope | None, *, instead: Success | None = None
    ) -> Any:
        """The port of a call whose first send is over and was not simply a success."""
        port = self.port(self, request, plan, scope)
        port.open_late(instead=instead)
        return port

    def prepare_write(self, request: Any, plan: Plan, own: Any) -> Lean:
        """Give a write its key and its trace."""
        if not plan.traced:
            return Lean(self, request, plan, None)
        phase = Phase()
        request.extensions["trace"] = self.trace(phase, own)
        return Lean(self, request, plan, phase)

    def is_streaming(self, response: Any) -> bool:
        """Is its body still to be read by the caller?"""
        return type(response.stream).__name__ not in ("ByteStream", "KeptStream")

    def follow(self, response: Any, make_port: Any, *, resumes: bool) -> None:
        """Note what becomes of a body that the caller reads."""
        flow = Flow(make_port, response, resumes=resumes)
        response.stream = body_class(self.lib)(response.stream, flow)


class SyncMount(HttpxMount):
    """A transport that recovers, for sync clients."""

    port = SyncPort
    trace = staticmethod(tracer)

    @property
    def stream_kind(self) -> Any:
        """What a body must be to be sent."""
        return self.lib.SyncByteStream

    def _check(self, verify: Any) -> None:
        check_colour(verify)

    def handle_request(self, request: Any) -> Any:
        """Send the request, and recover it when it fails half-way."""
        scope = here()
        extensions = request.extensions
        if self.routes or (scope is not None) or "recover" in extensions:
            plan = self.find_plan(request, scope)
            if plan is None:
                return self.inner.handle_request(request)
        else:
            plan = self._plans.get(request.method) or self.plain_plan(request.method)
        safe, task = plan.rights.safe, None if scope is None else scope.task
        heavy = type(request.stream) is not self.memory_stream
        if plan.lean and not (heavy or scope is not None or MEMORY or MARK in extensions):
            return self.send_write(request, plan)
        if heavy or not plan.light or (not safe and (task is not None or MEMORY)):
            port = SyncPort(self, request, plan, scope)
            return _drive.run(port, port.open())
        if MARK in extensions:
            self.wire.drop_key(request)
        response = torn = None
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
                self.late(request, plan, scope).abandon(exc, response)
            raise
        status = response.status_code
        if torn is None and status < 400 and status not in plan.odd:
            response.extensions["recovery"] = Outcome(request, status, safe)
            if task is not None or plan.resumes:
                self.hand_over(response, request, plan, scope)
            return response
        port = self.late(request, plan, scope)
        return _drive.run(port, port.received(response, torn))

    def send_write(self, request: Any, plan: Plan) -> Any:
        """Send a write that needs no record unless it fails; see `_lean`."""
        own = request.extensions.get("trace")
        sent = self.prepare_write(request, plan, own)
        response = torn = None
        try:
            try:
                response = self.inner.handle_request(request)
                if type(response.stream) is not self.memory_stream and is_small(
                    response, request.method
                ):
                    torn = read_body(response, self.lib)
            finally:
                untrace(request, plan, own)
        except Exception as exc:
            port = sent.port()
            return _drive.run(port, port.failed(exc))
        except BaseException as exc:
            sent.port().abandon(exc, response)
            raise
        if torn is None and sent.is_over(response.status_code):
            return sent.succeeded(response)
        port = sent.port()
        return _drive.run(port, port.received(response, torn))

    def close(self) -> None:
        """Close the transport below."""
        self.inner.close()

    def __enter__(self) -> Any:
        self.inner.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.inner.__exit__(*exc)


class AsyncMount(HttpxMount):
    """A transport that recovers, for async clients."""

    port = AsyncPort
    trace = staticmethod(atracer)

    @property
    def stream_kind(self) -> Any:
        """What a body must be to be sent."""
        return self.lib.AsyncByteStream

    async def handle_async_request(self, request: Any) -> Any:
        """Send the request, and recover it when it fails half-way."""
        scope = here()
        extensions = request.extensions
        if self.routes or (scope is not None) or "recover" in extensions:
            plan = self.find_plan(request, scope)
            if plan is None:
                return await self.inner.handle_async_request(request)
        else:
            plan = self._plans.get(request.method) or self.plain_plan(request.method)
        safe, task = plan.rights.safe, None if scope is None else scope.task
        heavy = type(request.stream) is not self.memory_stream
        if plan.lean and not (heavy or scope is not None or MEMORY or MARK in extensions):
            return await self.send_write(request, plan)
        if heavy or not plan.light or (not safe and (task is not None or MEMORY)):
            port = AsyncPort(self, request, plan, scope)
            return await _drive.arun(port, port.open())
        if MARK in extensions:
            self.wire.drop_key(request)
        response = torn = None
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
                self.late(request, plan, scope).abandon(exc, response)
            raise
        status = response.status_code
        if torn is None and status < 400 and status not in plan.odd:
            response.extensions["recovery"] = Outcome(request, status, safe)
            if task is not None or plan.resumes:
                self.hand_over(response, request, plan, scope)
            return response
        port = self.late(request, plan, scope)
        return await _drive.arun(port, port.received(response, torn))

    async def send_write(self, request: Any, plan: Plan) -> Any:
        """Send a write that needs no record unless it fails; see `_lean`."""
        own = request.extensions.get("trace")
        sent = self.prepare_write(request, plan, own)
        response = torn = None
        try:
            try:
                response = await self.inner.handle_async_request(request)
                if type(response.stream) is not self.memory_stream and is_small(
                    response, request.method
                ):
                    torn = await aread_body(response, self.lib)
            finally:
                untrace(request, plan, own)
        except Exception as exc:
            port = sent.port()
            return await _drive.arun(port, port.failed(exc))
        except BaseException as exc:
            sent.port().abandon(exc, response)
            raise
        if torn is None and sent.is_over(response.status_code):
            return sent.succeeded(response)
        port = sent.port()
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

    Also of a client that was made with a mount of ours, whose proxies would go past it.

    Raises:
        ValueError: it was recovered before, with other settings.
    """
    below = client._transport
    held = below if isinstance(below, HttpxMount) else None
    wanted = mount(below if held is None else held.inner, policy=policy, rules=rules)
    if held is not None and held.settings() != wanted.settings():
        raise ValueError(
            "recover(): this client was recovered before with other settings; make a new "
            "client, or give all settings at once"
        )
    mounts = {
        pattern: below
        if below is None or isinstance(below, HttpxMount)
        else mount(below, policy=policy, rules=rules)
        for pattern, below in client._mounts.items()
    }
    client._transport = wanted if held is None else held
    client._mounts = mounts
    for each in (client._transport, *mounts.values()):
        if each is not None:
            each.client_ref = weakref.ref(client)
    return client
