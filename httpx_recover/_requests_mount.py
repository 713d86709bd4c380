"""What makes an adapter of requests recover: around its sending, whichever adapter it is.

A call that succeeds at once builds no record, as under httpx.
"""

from __future__ import annotations

import os
from typing import Any

import requests.exceptions
from urllib3.response import HTTPResponse
from urllib3.util import Retry

from httpx_recover import _drive, _requests_wire
from httpx_recover._evidence import Phase
from httpx_recover._flow import Flow
from httpx_recover._lean import Lean
from httpx_recover._ledger import Outcome
from httpx_recover._memory import MEMORY
from httpx_recover._mount import Mount
from httpx_recover._plan import Plan
from httpx_recover._policy import Policy, Rule, check_colour
from httpx_recover._port import NoRead
from httpx_recover._requests_io import KeptRaw, read_body
from httpx_recover._requests_phase import begin, end, watch
from httpx_recover._requests_port import RequestsPort
from httpx_recover._requests_stream import splice, watch_content
from httpx_recover._requests_wire import Hooks, Sending, in_memory
from httpx_recover._table import EARLY
from httpx_recover._task import Scope, Success, here, logger
from httpx_recover._view import MARK


class RequestsMount(Mount):
    """Sends requests through an adapter, and recovers them."""

    lib = requests.exceptions
    wire = _requests_wire
    port = RequestsPort
    hand_down: Any  # the sending that is recovered
    adapter: Any  # whose pools it uses
    plain: Any  # does it nothing of its own
    real = False  # silence before a pool was asked is no proof: anything may be in its place
    has_own_timeout = False  # an adapter with a `send` of its own may set one

    def set_up(self, policy: Policy | None, rules: Any) -> None:
        """Take the settings."""
        self.rules = (rules,) if isinstance(rules, Rule) else tuple(rules)
        self._set_up(policy, self.rules)
        self.pid = os.getpid()
        self.switch_off()

    def _check(self, verify: Any) -> None:
        check_colour(verify)

    def send(
        self,
        request: Any,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Any = None,
    ) -> Any:
        """Send the request, and recover it when it fails half-way."""
        sending = Sending(stream, timeout, verify, cert, proxies)
        scope = here()
        known = request.hooks.extensions if type(request.hooks) is Hooks else {}
        if self.routes or scope is not None or known:
            plan = self.find_plan(request, scope)
            if plan is None:
                return self.below(request, sending, Phase())
        else:
            plan = self._plans.get(request.method) or self.plain_plan(request.method)
        safe, task = plan.rights.safe, None if scope is None else scope.task
        heavy = not in_memory(request.body)
        lean = plan.lean and not (heavy or scope is not None or MEMORY)
        if lean and self.wire.mark_of(request, plan.key.name) is None:
            return self.send_write(request, plan, sending)
        if heavy or not plan.light or (not safe and (task is not None or MEMORY)):
            port = RequestsPort(self, request, plan, scope, sending)
            return _drive.run(port, port.open())
        if MARK in known:
            self.wire.drop_key(request)
        return self.send_light(request, plan, scope, sending)

    def send_light(self, request: Any, plan: Plan, scope: Scope | None, sending: Sending) -> Any:
        """Send what needs no record unless it fails."""
        safe, task = plan.rights.safe, None if scope is None else scope.task
        phase, response, torn = Phase(), None, None
        try:
            response = self.below(request, sending, phase)
            if not sending.stream:
                torn = read_body(response)
        except Exception as exc:
            port = self.late(request, plan, scope, sending, phase)
            return _drive.run(port, port.failed(exc))
        except BaseException as exc:
            if not safe or task is not None:  # a read that nobody reports on may just go
                self.late(request, plan, scope, sending, phase).abandon(exc, response)
            raise
        status = response.status_code
        if torn is None and status < 400 and status not in plan.odd:
            self.wire.attach(response, Outcome(request, status, safe))
            if task is not None or plan.resumes:
                self.hand_over(response, request, plan, scope, sending, phase)
            return response
        port = self.late(request, plan, scope, sending, phase)
        return _drive.run(port, port.received(response, torn))

    def send_write(self, request: Any, plan: Plan, sending: Sending) -> Any:
        """Send a write that needs no record unless it fails; see `_lean`."""
        phase = Phase()
        sent = Lean(self, request, plan, phase, sending)
        response = torn = None
        try:
            response = self.below(request, sending, phase)
            if not sending.stream:
                torn = read_body(response)
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

    def late(
        self,
        request: Any,
        plan: Plan,
        scope: Scope | None,
        sending: Sending,
        phase: Phase,
        *,
        instead: Success | None = None,
    ) -> RequestsPort:
        """The port of a call whose first send is over and was not simply a success."""
        port = RequestsPort(self, request, plan, scope, sending)
        port.phase = phase
        port.open_late(instead=instead)
        return port

    def is_streaming(self, response: Any) -> bool:
        """Is its body still to be read by the caller?"""
        return not response._content_consumed and not isinstance(response.raw, KeptRaw)

    def follow(self, response: Any, make_port: Any, *, resumes: bool) -> None:
        """Note what becomes of a body that the caller reads."""
        flow = Flow(make_port, response, resumes=resumes)
        known = flow.version is not None and flow.version.length is not None
        if known and isinstance(response.raw, HTTPResponse):
            splice(response, flow)
        watch_content(response, flow)

    def below(self, request: Any, sending: Sending, phase: Phase) -> Any:
        """Hand the request down once; `phase` notes how far it gets."""
        self.make_ready()
        before = begin(phase)
        try:
            response = self.hand_down(
                request,
                stream=sending.stream,
                timeout=sending.timeout,
                verify=sending.verify,
                cert=sending.cert,
                proxies=sending.proxies,
            )
        finally:
            end(before)
        if response.status_code in EARLY:
            response.close()  # its real answer may still come, and is for nobody else
        response.connection = self  # an auth hook that sends again comes to us
        return response

    def mount_for(self, url: str) -> RequestsMount:
        """The mount that takes a read to another origin: this one may add what is for its own."""
        session = self.client
        other = self if session is None else session.get_adapter(url)
        if isinstance(other, RequestsMount) and (other is not self or self.plain):
            return other
        raise NoRead("no adapter of ours is known for the origin of the read")

    def make_ready(self) -> None:
        """See to it that the adapter is in our hands, whatever was done to it meanwhile."""
        if self.pid != os.getpid():
            self.forget_connections()
        self.switch_off()
        for manager in self.managers():
            watch(manager)

    def managers(self) -> list[Any]:
        """What the adapter takes its pools from, as far as it has such a thing."""
        adapter = self.adapter
        own = getattr(adapter, "poolmanager", None)
        proxies = getattr(adapter, "proxy_manager", None)
        return ([] if own is None else [own]) + ([*proxies.values()] if proxies else [])

    def forget_connections(self) -> None:
        """In a forked process the sockets are the parent's: answers would get mixed up."""
        for manager in self.managers():
            manager.clear()
        self.pid = os.getpid()

    def switch_off(self) -> None:
        """Take urllib3's own retries away: it cannot tell what may be sent again."""
        adapter = self.adapter
        retries = getattr(adapter, "max_retries", None)
        if retries is None or type(retries) is Never or self.policy.allow_inner_retries:
            return
        adapter.max_retries = Never(0, read=False)
        if any(getattr(retries, name, None) for name in _COUNTS):
            logger.warning(
                "max_retries=%r of an adapter is switched off: it sends writes again without "
                "evidence; Policy(attempts=...) says how often to try",
                retries,
            )


_COUNTS = ("total", "connect", "read", "redirect", "status", "other")


class Never(Retry):
    """Retries nothing, whatever is done to its numbers."""

    def increment(self, *args: Any, **kwargs: Any) -> Any:
        return Retry(0, read=False).increment(*args, **kwargs)  # raises, as without retries

    def is_retry(self, *args: Any, **kwargs: Any) -> bool:
        return False
