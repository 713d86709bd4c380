"""The blocking half of a port: sends, sleeps, and runs the verifier, under any sync client."""

from __future__ import annotations

from functools import partial
from typing import Any

from httpx_recover import _drive
from httpx_recover._credentials import is_bound
from httpx_recover._port import BasePort
from httpx_recover._task import outside_block
from httpx_recover._view import HOPS
from httpx_recover._words import Ask, Note, Send, Step, Stop, Wait

_EARLIER = Stop("earlier")


class BlockingPort(BasePort):
    """Carries out the steps of one call under a sync client."""

    attempt: Any  # hand the request down once: the response, and the error that cut its body
    shelve: Any  # close a failed response before waiting
    drop: Any  # close an answer that its caller will not get
    load: Any  # read a whole body
    child: Any  # the port of a recovery read
    signed_send: Any  # a read through the client itself, which signs it

    def carry(self, step: Step) -> Step:
        """Do what `step` says and tell the call what came of it."""
        if type(step) is Send:
            return self.send(step)
        if type(step) is Note:
            return self.note(step)
        self.shelve()
        if type(step) is Wait:
            _drive.clock.sleep(self.pause(step))
            return self.call.woke(_drive.clock.now())
        assert type(step) is Ask
        return self.judge_look(step, self.ask(step.question))

    def send(self, step: Send) -> Step:
        """Hand the request down once, and read a small body of the answer."""
        if step.number > 1:
            self.shelve()
            try:
                self.prepare()
            except Exception as exc:
                return self.unprepared(exc)
        self.went_out()
        try:
            response, torn = self.attempt(step.timeout)
        except Exception as exc:
            return self.failed(exc)
        seen = self.received(response, torn)
        if seen == _EARLIER:  # then nobody gets this one, which would hold its connection
            self.shelve()
        return seen

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
        except BaseException:
            self.drop()
            raise

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
        request = self.wire.read_request(self.request, self.action.key, url, params, headers)
        response = self.read_once(request)
        for _ in range(HOPS):
            hop = self.wire.next_hop(request, response)
            if hop is None:
                break
            request = hop
            response = self.read_once(request)
        return response

    def read_once(self, request: Any) -> Any:
        """One GET of a read, itself recovered as a read."""
        self.spend(self.asked)
        self.saw(request)
        if is_bound(partial(self.wire.header, request)):
            response = self.signed_send(request)
            return self.show(request, self.signed_alike(response))
        port = self.child(request)
        step = port.open_read(self)
        try:
            response = _drive.run(port, step)
        finally:
            self.add_reads(self.asked, port.action)
        self.load(response)
        return self.show(request, response)
