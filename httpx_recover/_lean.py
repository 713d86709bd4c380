"""A write that is made ready with a key and a trace, and needs no record unless it fails.

Most writes succeed at once. What failing later would need, the key and how far the request got, is
all that is prepared; the record is made from it when there is something to decide.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any

from httpx_recover import _drive
from httpx_recover._evidence import Phase
from httpx_recover._ledger import Action, Outcome
from httpx_recover._plan import Plan
from httpx_recover._port import Mark

_ENDED = Action("", "", safe=False)  # of a write that succeeded nothing needs to be known
_ENDED.done("")


class Lean:
    """One such write."""

    __slots__ = ("begun", "key", "mount", "ours", "phase", "plan", "request", "sending")

    def __init__(self, mount: Any, request: Any, plan: Plan, phase: Phase | None, *sending: Any):
        self.mount = mount
        self.request = request
        self.plan = plan
        self.phase = phase
        self.sending = sending  # what else the library's port is made with
        self.key: str | None = None
        self.ours: str | None = None
        name = plan.key.name
        if name is not None:
            self.take_key(name)
        self.begun = _drive.clock.now()

    def take_key(self, name: str) -> None:
        """The caller's own key, or a new one."""
        wire, request, key = self.mount.wire, self.request, self.plan.key
        written = wire.header(request, name)
        if written is not None:
            self.key = key.value(written)
            return
        self.key = self.ours = str(uuid.uuid4())
        wire.write_key(request, name, key.written(self.ours))
        wire.set_mark(request, name, Mark(self.ours, _ENDED))

    def is_over(self, status: int) -> bool:
        """Is there nothing to decide after a whole answer with this status?"""
        once = self.phase is None or self.phase.sends < 2  # httpcore may have sent it again
        return status < 400 and status not in self.plan.odd and once

    def succeeded(self, response: Any) -> Any:
        """Hand over what came, and note what becomes of a body that the caller reads."""
        status = response.status_code
        self.mount.wire.attach(response, Outcome(self.request, status, False, self.key))
        if self.mount.is_streaming(response):
            self.mount.follow(response, partial(self.answered, status), resumes=False)
        return response

    def answered(self, status: int) -> Any:
        """The port of a write whose answer was handed over."""
        port = self.port()
        port.call.answered(_drive.clock.now(), status)
        return port

    def port(self) -> Any:
        """The port of the call, whose first send is over."""
        port = self.mount.port(self.mount, self.request, self.plan, None, *self.sending)
        port.phase = self.phase
        port.open_late(self)
        return port
