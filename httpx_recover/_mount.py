"""The settings of a mount, and which of them hold for a request."""

from __future__ import annotations

from typing import Any

from httpx_recover import _drive
from httpx_recover._plan import Plan, Route, make_plan, make_routes
from httpx_recover._policy import Policy, Rule
from httpx_recover._task import Scope, Success, Task, logger

_PLANS = 256  # kept; made again when needed


class Mount:
    """The settings of a mount, and which of them hold for a request."""

    lib: Any  # the client library
    wire: Any  # the module that knows its requests and responses
    recovers = True  # another mount over this one would multiply the attempts

    def _set_up(self, policy: Policy | None, rules: Any) -> None:
        if policy is not None and not isinstance(policy, Policy):
            raise ValueError(f"policy={policy!r}: must be a Policy")
        self.policy = policy or Policy()
        self.routes: tuple[Route, ...] = make_routes(rules)
        self.client_ref: Any = lambda: None
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
        own = self.wire.said_on(request)
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
        url = request.url
        method, origin, path = request.method, self.wire.origin_of(url), self.wire.path_of(url)
        for index, route in enumerate(self.routes):
            if route.pattern.matches(method, origin, path):
                self._matched.add(index)
                return index
        return -1

    def _cached(self, method: str, index: int, policy: Policy) -> Plan:
        place = (method, index, policy)
        plan = self._plans.get(place)
        if plan is None:
            if len(self._plans) >= _PLANS:  # tasks may each have a deadline of their own
                self._plans.clear()
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

    is_streaming: Any  # is a response's body still to be read by its caller
    late: Any  # the port of a call whose first send is over
    follow: Any  # note what becomes of a body that the caller reads

    def hand_over(
        self, response: Any, request: Any, plan: Plan, scope: Scope | None, *sending: Any
    ) -> None:
        """A call that succeeded at once, in a named task or with a body that may be resumed."""
        task = None if scope is None else scope.task
        status = response.status_code
        success = None if task is None else self.succeeded(request, status, task)
        if not self.is_streaming(response):
            return

        def make_port() -> Any:
            port = self.late(request, plan, scope, *sending, instead=success)
            port.call.answered(_drive.clock.now(), status)
            return port

        self.follow(response, make_port, resumes=plan.resumes)

    def succeeded(self, request: Any, status: int, task: Task) -> Success:
        """A read has succeeded at once in a named task."""
        success = Success(request.method, request.url, status)
        task.add(success)
        if task.troubled or task.parent is not None:
            task.mend(success, lambda: self.wire.print_of(request))
        return success
