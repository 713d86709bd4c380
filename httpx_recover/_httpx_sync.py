"""The blocking half of the httpx port: sends, sleeps, and runs the verifier."""

from __future__ import annotations

from typing import Any

from httpx_recover import _drive
from httpx_recover._evidence import Phase
from httpx_recover._httpx_io import read_body, shelve
from httpx_recover._httpx_port import BasePort
from httpx_recover._httpx_view import HOPS, next_hop, read_request
from httpx_recover._httpx_wire import Cut, is_bound, is_small, tracer
from httpx_recover._task import outside_block
from httpx_recover._words import Ask, Note, Send, Step, Wait


class SyncPort(BasePort):
    """Carries out the steps of one call under a sync client."""

    def carry(self, step: Step) -> Step:
        """Do what `step` says and tell the call what came of it."""
        if type(step) is Send:
            return self.send(step)
        if type(step) is Note:
            return self.note(step)
        shelve(self._spare(), self.lib)
        if type(step) is Wait:
            _drive.clock.sleep(self.pause(step))
            return self.call.woke(_drive.clock.now())
        assert type(step) is Ask
        return self.judge_look(step, self.ask(step.question))

    def send(self, step: Send) -> Step:
        """Hand the request down once, and read a small body of the answer."""
        request = self.request
        if step.number > 1:
            shelve(self._spare(), self.lib)
            try:
                self.prepare()
            except Exception as exc:
                return self.unprepared(exc)
        self.went_out()
        own = request.extensions.get("trace")
        if self.plan.traced:
            self.phase = Phase()
            request.extensions["trace"] = tracer(self.phase, own)
        cut = Cut(request, step.timeout)
        try:
            response, torn = self.within(step.timeout)
        except Exception as exc:
            return self.failed(exc)
        finally:
            cut.restore()
            self.untrace(own)
        return self.received(response, torn)

    def within(self, left: float | None) -> tuple[Any, BaseException | None]:
        """One attempt with its body; its socket timeouts are cut already."""
        response = self.mount.inner.handle_request(self.request)
        return response, self.look(response)

    def look(self, response: Any) -> BaseException | None:
        """Read a small body now, so that a cut one is part of the attempt."""
        if self.whole or is_small(response, self.request.method):
            return read_body(response, self.lib)
        return None

    def ask(self, question: str) -> Any:
        """Run the verifier, or make the confirming read."""
        try:
            view = self.view()
            self.asked = question
            if question == "confirm":
                return self.confirmed(self.read(view.url))
            verify = self.plan.verify
            if hasattr(verify, "steps"):
                return self.walk(verify.steps(view))
            with outside_block():
                return verify(self.read, view)
        except Exception as exc:
            return self.verifier_raised(exc)

    def walk(self, steps: Any) -> Any:
        """Make the reads that a ready-made verifier wants, and return its verdict."""
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(self.read(wanted.url, params=wanted.params))
        except StopIteration as stop:
            return stop.value

    def read(self, url: Any, *, params: Any = None, headers: Any = None) -> Any:
        """A recovered GET, charged to the task; follows redirects within the origin."""
        request = read_request(self.request, self.action.key, url, params, headers)
        response = self.read_once(request)
        for _ in range(HOPS):
            hop = next_hop(request, response)
            if hop is None:
                break
            request = hop
            response = self.read_once(request)
        return response

    def read_once(self, request: Any) -> Any:
        """One GET of a read, itself recovered as a read."""
        self.spend(self.asked)
        self.saw(request)
        if is_bound(request):
            return self.show(request, self.signed_send(request))
        port = SyncPort(self.mount, request, self.mount.read_plan(), self.scope)
        step = port.open_read(self)
        try:
            response = _drive.run(port, step)
        finally:
            self.add_reads(self.asked, port.action)
        response.read()
        return self.show(request, response)

    def signed_send(self, request: Any) -> Any:
        """Through the client itself, which signs: these credentials are good for one request."""
        client, request = self.unsigned(request)
        return client.send(request)
