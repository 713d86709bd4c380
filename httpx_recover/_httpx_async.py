"""The async half of the httpx port: sends, sleeps, and runs the verifier."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from httpx_recover import _drive
from httpx_recover._credentials import is_bound
from httpx_recover._evidence import Phase
from httpx_recover._httpx_io import aread_body, ashelve
from httpx_recover._httpx_port import HttpxPort
from httpx_recover._httpx_wire import Cut, atracer, is_small, put_back, too_late, untrace
from httpx_recover._policy import is_async
from httpx_recover._task import outside_block
from httpx_recover._view import HOPS
from httpx_recover._words import Ask, Note, Send, Step, Stop, Wait

_EARLIER = Stop("earlier")


class AsyncPort(HttpxPort):
    """Carries out the steps of one call under an async client."""

    async def carry(self, step: Step) -> Step:
        """Do what `step` says and tell the call what came of it."""
        if type(step) is Send:
            return await self.send(step)
        if type(step) is Note:
            return self.note(step)
        await self.shelve()
        if type(step) is Wait:
            await _drive.clock.asleep(self.pause(step))
            return self.call.woke(_drive.clock.now())
        assert type(step) is Ask
        return self.judge_look(step, await self.ask(step.question))

    async def send(self, step: Send) -> Step:
        """Hand the request down once, and read a small body of the answer."""
        if step.number > 1:
            await self.shelve()
            try:
                self.prepare()
            except Exception as exc:
                return self.unprepared(exc)
        self.went_out()
        try:
            response, torn = await self.attempt(step.timeout)
        except Exception as exc:
            return self.failed(exc)
        seen = self.received(response, torn)
        if seen == _EARLIER:  # then nobody gets this one, which would hold its connection
            await self.shelve()
        return seen

    async def attempt(self, left: float | None) -> tuple[Any, BaseException | None]:
        """Hand the request down once, traced, and read a small body of the answer."""
        extensions = self.request.extensions
        own = extensions.get("trace")
        if self.plan.traced:
            self.phase = Phase()
            extensions["trace"] = atracer(self.phase, own)
        cut = Cut(self.request, left)
        try:
            return await self.within(left)
        finally:
            cut.restore()
            untrace(self.request, self.plan, own)

    async def within(self, left: float | None) -> tuple[Any, BaseException | None]:
        """One attempt with its body; a resend is bounded as a whole by what the deadline leaves."""
        if left is None:
            self.response = await self.mount.inner.handle_async_request(self.request)
            return self.response, await self.look(self.response)
        import anyio

        with anyio.move_on_after(left):
            self.response = await self.mount.inner.handle_async_request(self.request)
            return self.response, await self.look(self.response)
        late = too_late(self.lib)
        if self.response is None:
            raise late
        put_back(self.response, self.lib, b"", late)  # its stream was closed when it was left
        return self.response, late

    async def look(self, response: Any) -> BaseException | None:
        """Read a small body now, so that a cut one is part of the attempt."""
        if self.whole or is_small(response, self.request.method):
            return await aread_body(response, self.lib, self.ends)
        return None

    async def ask(self, question: str) -> Any:
        """Run the verifier, or make the confirming read."""
        try:
            view = self.view()
            self.asked = question
            if question == "confirm":
                return self.confirmed(await self.read(view.url))
            verify = self.plan.verify
            if hasattr(verify, "steps"):
                return await self.walk(verify.steps(view))
            with outside_block():
                return await self.consult(verify, view)
        except Exception as exc:
            return self.verifier_raised(exc)
        except BaseException:
            await self.drop()
            raise

    async def consult(self, verify: Any, view: Any) -> Any:
        """Run a caller's verifier. A plain function may block, so it gets a thread of its own."""
        if is_async(verify):
            return await verify(self.read, view)
        import anyio.from_thread
        import anyio.to_thread

        def read(url: Any, *, params: Any = None, headers: Any = None) -> Any:
            return anyio.from_thread.run(partial(self.read, url, params=params, headers=headers))

        verdict = await anyio.to_thread.run_sync(verify, read, view)
        return await verdict if inspect.isawaitable(verdict) else verdict

    async def walk(self, steps: Any) -> Any:
        """Make the reads that a ready-made verifier wants, and return its verdict."""
        try:
            wanted = next(steps)
            while True:
                wanted = steps.send(await self.read(wanted.url, params=wanted.params))
        except StopIteration as stop:
            return stop.value

    async def read(self, url: Any, *, params: Any = None, headers: Any = None) -> Any:
        """A recovered GET, charged to the task; follows redirects within the origin."""
        request = self.wire.read_request(self.request, self.action.key, url, params, headers)
        response = await self.read_once(request)
        for _ in range(HOPS):
            hop = self.wire.next_hop(request, response)
            if hop is None:
                break
            request = hop
            response = await self.read_once(request)
        return response

    async def read_once(self, request: Any) -> Any:
        """One GET of a read, itself recovered as a read."""
        self.spend(self.asked)
        self.saw(request)
        if is_bound(partial(self.wire.header, request)):
            response = await self.signed_send(request)
            return self.show(request, self.signed_alike(response))
        port = self.child(request)
        step = port.open_read(self)
        try:
            response = await _drive.arun(port, step)
        finally:
            self.add_reads(self.asked, port.action)
        await self.load(response)
        return self.show(request, response)

    async def shelve(self) -> None:
        """Close the failed response that must not hold its connection while we wait or ask."""
        await ashelve(self._spare(), self.lib, self.recovery_ends)

    async def drop(self) -> None:
        """Close an answer that its caller, who has gone, will not get."""
        if self.response is not None:
            await self.response.stream.aclose()

    async def load(self, response: Any) -> None:
        """Read a whole body."""
        await response.aread()

    def child(self, request: Any) -> AsyncPort:
        """The port of a recovery read."""
        self.hurry(request)
        return AsyncPort(self.mount, request, self.mount.read_plan(), self.scope)

    async def signed_send(self, request: Any) -> Any:
        """Through the client itself, which signs: these credentials are good for one request."""
        return await self.unsigned(request).send(request, follow_redirects=False)
