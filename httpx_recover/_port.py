"""The port of one call: what a step means for a request and its response.

`BasePort` is everything without a colour and without a client library: opening the record, telling
the call what was seen, and handing the caller its end. Where the libraries differ it asks `wire`,
the module that knows one of them. The ports of the libraries add the operations that wait.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, NamedTuple

from httpx_recover import _drive
from httpx_recover._bodies import content_of
from httpx_recover._budget import Budget
from httpx_recover._call import Call
from httpx_recover._credentials import (
    asks_for_token,
    holder,
    identity_of,
    is_bound,
    precondition,
)
from httpx_recover._errors import UnknownOutcome, as_client_error
from httpx_recover._evidence import Evidence, Phase, judge
from httpx_recover._ledger import DONE, FAILED, OPEN, UNKNOWN, Action, Attempt, Outcome
from httpx_recover._memory import MEMORY
from httpx_recover._plan import Plan
from httpx_recover._targets import target
from httpx_recover._task import NOWHERE, Block, Scope, Task, logger
from httpx_recover._view import REDIRECTS, CallView
from httpx_recover._waits import server_wait
from httpx_recover._words import Applied, Ask, FailureClass, Note, Step, Stop, Verdict, Wait


class Mark(NamedTuple):
    """What is remembered on a request that was sent as a write."""

    key: str | None  # the key that we attached, None for the caller's own
    action: Action
    next: str | None = None  # where its answer asks for it to be sent

    def leads_to(self, place: str) -> bool:
        """Is a request to `place` the hop that a redirect asks for? Then it is the same action.

        Only while that redirect is the last that was heard of it: the request that was redirected
        keeps its mark, and may be sent again when the hop has long ended.
        """
        trail = self.action.trail
        return bool(trail) and trail[-1].status in REDIRECTS and self.next == place


class Spent(Exception):
    """A recovery read may not be made: a limit is reached."""

    def __init__(self, stop: str) -> None:
        super().__init__(f"no recovery read: {stop} reached")
        self.stop = stop


class NoRead(Exception):
    """A recovery read cannot be made here; the text says why."""


UNSIGNED = "the credentials are good for one request and cannot sign a read"


class BasePort:
    """One call of the program, its request, and what came back so far."""

    wire: Any  # the module that knows this client library's requests and responses
    own_read_timeout: Any  # in seconds, or None
    renew: Any  # give the request the body that a function makes
    beside: Any  # a port for another request of the same call

    def __init__(self, mount: Any, request: Any, plan: Plan, scope: Scope | None) -> None:
        self.mount = mount
        self.lib = mount.lib
        self.request = request
        self.plan = plan
        self.scope = scope
        self.task, self.block = scope or NOWHERE

    # What is not so from the start is seldom so at all: a success never writes these.
    action: Action
    call: Call
    rewind: Callable[[], None] | None = None
    response: Any = None
    error: BaseException | None = None
    kept: tuple[Any, BaseException | None] | None = None  # an end that still counts
    phase: Phase | None = None
    shown: Any = None  # the response of the last verifying read
    last_read: str | None = None
    spent: str | None = None
    remark: str | None = None
    asked = ""
    whole = False  # read every body whole: a verifier wants to look into it
    other_key = False  # the caller's key on a repeat is not the action's
    out = False  # counted as on its way, for equal calls that verify
    follows = True  # note what becomes of a body that the caller reads
    guest = False  # not ours to settle: another call is at work on the action

    # ------------------------------------------------------------------ opening

    def open(self) -> Step:
        """Make the record, and ask it for the first step."""
        request, plan = self.request, self.plan
        self.rewind = self.wire.rewinder(request)
        self.action = self._find_action()
        if self.rewind is None and plan.body is not None:
            self._take_body(plan.body)
        if not plan.rights.safe:
            self._attach_key()
        if self.task is not None and self.task.adopt(self.action):
            self._name(self.task)
        self.call = self._make_call(plan)
        if not self.action.trail:
            self.action.busy = True
        elif not MEMORY.take(self.action):
            self.guest = True
            return Stop("refused")
        return self.call.begin(_drive.clock.now())

    def _take_body(self, factory: Any) -> None:
        """A body that can be read once is made anew, before each send but the first."""
        again = self.mark is not None and self.mark.action is factory.action
        if not again and factory.action not in (None, self.action):
            raise ValueError(
                "call(body=...): a second action in the block, whose body can be read only once; "
                "the function is for one, so give each its own block"
            )
        factory.action = self.action
        self.rewind = partial(self.renew, factory.make)
        if again:  # an auth flow or a redirect sends what was read already
            self.rewind()

    def open_late(self, sent: Any = None, instead: Any = None) -> None:
        """Make the record after the first send: there is something to decide.

        `sent` is what is known of a write that was sent with a key or a trace; see `_lean`.
        `instead` is the success that the task has been told of already.
        """
        plan, begun = self.plan, _drive.clock.now()
        self.action = Action(self.request.method, self.request.url, safe=plan.rights.safe)
        self.rewind = self.wire.rewinder(self.request)
        if sent is not None:
            begun, self.action.key = sent.begun, sent.key
            self.wire.set_mark(self.request, plan.key.name, Mark(sent.ours, self.action))
        if self.task is not None:
            if instead is None:
                self.task.add(self.action)
            else:
                self.task.exchange(instead, self.action)
            self._name(self.task)
        self.call = self._make_call(plan)
        self.action.busy = True
        self.call.begin(begun)

    def open_read(self, parent: BasePort) -> Step:
        """Make the record of a recovery read: it lives on what its parent has left."""
        self.guest = self.whole = True
        self.rewind = self.wire.rewinder(self.request)
        self.action = Action("GET", self.request.url, safe=True)
        main = parent.call
        charged = parent.asked != "baseline"
        self.call = Call(self.action, self.plan.rights, main.policy, main.budget, charged=charged)
        return self.call.begin(_drive.clock.now())

    def _make_call(self, plan: Plan) -> Call:
        policy = self.mount.policy if self.task is None else self.task.policy(self.mount.policy)
        rights = plan.rights
        if rights.conditional and not precondition(self.header):
            rights = rights._replace(conditional=False)
        keyed = rights.dedupes and self.action.key is not None and not self.other_key
        return Call(
            self.action,
            rights,
            policy,
            Budget() if self.task is None else self.task.budget,
            keyed=keyed and not (self.action.trail and self._is_blind()),
            replayable=self.rewind is not None,
            named=self.task is not None,
        )

    def _is_blind(self) -> bool:
        """A body of which nothing but the length is known: a key is for one body."""
        return content_of(self.wire.body_of(self.request), self.rewind) is None

    def _look_up(self) -> None:
        """Facts that only a failure asks for."""
        call = self.call
        call.bound = self.plan.prepare is None and is_bound(self.header)
        call.read_timeout = None if call.rights.safe else self.own_read_timeout()

    def _name(self, task: Task) -> None:
        action = self.action
        action.task = task.name
        if self.block is not None:
            action.label = self.block.label
        if action.label is None and task.parent is not None:
            action.label = task.as_label

    def _find_action(self) -> Action:
        """The unresolved action that this request repeats, or a new one."""
        request, plan = self.request, self.plan
        mark = self.mark
        if mark is not None and not plan.rights.safe and mark.leads_to(self.place):
            mark.action.state = OPEN
            return mark.action
        new = Action(request.method, request.url, safe=plan.rights.safe)
        if plan.rights.safe:
            return new
        armed = MEMORY or (self.task is not None and self.task.has_unknown())
        if armed or plan.rights.verifies or (self.block is not None and self.block.value):
            self._identify(new)
        if not armed:
            return new
        assert new.fingerprint is not None and new.identity is not None
        found = self.task.find(new.fingerprint) if self.task is not None else None
        found = found or MEMORY.find(new.fingerprint, new.identity, _drive.clock.now())
        return new if found is None else found

    def header(self, name: str) -> str | None:
        """The value of a header of the request."""
        value: str | None = self.wire.header(self.request, name)
        return value

    @property
    def mark(self) -> Mark | None:
        """What is remembered of the request from an earlier send, or from the one it hops from."""
        mark: Mark | None = self.wire.mark_of(self.request, self.plan.key.name)
        return mark

    @property
    def place(self) -> str:
        """The request's URL without fragment."""
        place: str = self.wire.place_of(self.request.url)
        return place

    def _identify(self, action: Action) -> None:
        if action.fingerprint is None:
            action.fingerprint = self.wire.print_of(self.request, self.rewind)
            action.identity = identity_of(self.header, self.plan.identity)

    def _attach_key(self) -> None:
        """One key for one action: the caller's own, the block's, the earlier one, or a new one."""
        key, action, mark = self.plan.key, self.action, self.mark
        ours = None
        if key.name is not None:
            written = self.header(key.name)
            value = None if written is None else key.value(written)
            if value is not None and (mark is None or mark.key != value):
                self._take_key(value)
            else:
                if value is not None and mark is not None and self._repeats(mark.action):
                    action.key = action.key or value
                ours = action.key = action.key or self._block_key() or str(uuid.uuid4())
                if value != ours:
                    self.wire.write_key(self.request, key.name, key.written(ours))
        self.wire.set_mark(self.request, key.name, Mark(ours, action))

    def _repeats(self, earlier: Action) -> bool:
        """Is this what was sent before, and does nobody know what became of it?

        Then its key holds also when the action itself has been forgotten.
        """
        if earlier.state != UNKNOWN or earlier.fingerprint is None:
            return False
        self._identify(self.action)
        return self.action.fingerprint == earlier.fingerprint

    def _take_key(self, value: str) -> None:
        """The caller's own key. Another one on a repeat is another order to the server."""
        self.other_key = self.action.key is not None and self.action.key != value
        if not self.other_key:
            self.action.key = value

    def _block_key(self) -> str | None:
        block: Block | None = self.block
        if block is None or block.value is None or self._asks_for_token():
            return None
        mark = self.mark
        again = mark is not None and mark.action.failure is FailureClass.AUTH
        if again and block.used == self.action.fingerprint:
            return block.value  # the same request, signed anew by an auth flow
        if block.used is not None:
            raise ValueError(
                f"call(key='{block.value[:8]}...'): a second action in the block; a key is for "
                f"one, so give each its own block"
            )
        block.used = self.action.fingerprint
        return block.value

    def _asks_for_token(self) -> bool:
        return asks_for_token(self.header, self.wire.body_of(self.request))

    # ------------------------------------------------------------------ what was seen

    def went_out(self) -> None:
        """The request is about to be handed down."""
        if self.plan.rights.verifies and not self.out:
            self._identify(self.action)
            self.out = True
            MEMORY.went_out(self.action)

    def came_back(self, step: Step) -> Step:
        """The request has ended; equal calls may have to know."""
        if self.out:
            self.out = False
            MEMORY.came_back(self.action, done=self.action.state == DONE)
        return step

    def received(self, response: Any, cut: BaseException | None = None) -> Step:
        """Tell the call of a response; its headers matter only from 400 up."""
        self.response, self.error = response, cut
        self._count_sends()
        now, wait = _drive.clock.now(), None
        status = response.status_code
        if 300 <= status < 400 and not self.plan.rights.safe:
            self._expect_hop(response)
        elif status >= 400 or status in self.plan.odd:
            self._look_up()
            wall = _drive.clock.wall()
            wait = server_wait(response.headers.get, wall)
            self.action.retry_at = wall + wait if wait else None
        return self.came_back(self.call.answered(now, status, wait, cut=cut is not None))

    def _expect_hop(self, response: Any) -> None:
        """The client may follow: the hop is the same action, known by what the program sent."""
        self._identify(self.action)
        mark, place = self.mark, self.wire.location_of(self.request, response)
        if mark is not None and place is not None:
            mark = mark._replace(next=self.wire.place_of(place))
            self.wire.set_mark(self.request, self.plan.key.name, mark)

    def unprepared(self, exc: Exception) -> Step:
        """The request cannot be made ready for a resend: what it had ended with counts."""
        self.phase = Phase()
        evidence = Evidence(
            FailureClass.TRANSIENT, Applied.NO, "not_sent", type(exc).__name__, recoverable=False
        )
        self.call.lost(_drive.clock.now(), evidence)
        self.action.trail.pop()  # it was not handed down
        self.action.note = f"a resend could not be prepared ({type(exc).__name__})"
        return Stop("earlier")

    def failed(self, exc: Exception) -> Step:
        """Tell the call of an exception."""
        self.response, self.error = None, exc
        self._look_up()
        self._count_sends()
        found = judge(exc, self.phase, safe=self.plan.rights.safe, real=self.mount.real)
        return self.came_back(self.call.lost(_drive.clock.now(), found))

    def _count_sends(self) -> None:
        """The client below may have sent more than once in one attempt."""
        phase = self.phase
        if phase is not None and phase.returned:
            self.call.resent_below(phase.resent)

    def note(self, step: Note) -> Step:
        """The outcome is unknown: from here on a repeat meets this action."""
        self.kept = (self.response, self.error)
        self._arm()
        return self.call.noted(_drive.clock.now())

    def pause(self, step: Wait) -> float:
        """How long to sleep for a `Wait`."""
        return step.seconds + _drive.clock.chance() * step.spread

    @property
    def recovery_ends(self) -> float:
        """The time of `_drive.clock` at which recovery has to be over."""
        return self.call.budget.ends(self.call.policy.deadline)

    @property
    def ends(self) -> float:
        """The same for the attempt at hand. A first try is never cut."""
        call = self.call
        return self.recovery_ends if call.sends > 1 or call.charged else inf

    def _spare(self) -> Any:
        """The failed response that must not hold its connection while we wait or ask."""
        done = self.action.state == DONE and not self.action.lost_answer
        return None if done else self.response

    def prepare(self) -> None:
        """Before a resend: keep the end of the last one, wind the body back, sign again."""
        if self.kept is None and (self.response is not None or self.error is not None):
            self.kept = (self.response, self.error)
        self.response = self.error = None
        assert self.rewind is not None, "a body that can be read once is not sent again"
        self.rewind()
        if self.plan.prepare is not None:
            self.plan.prepare(self.request)

    # ------------------------------------------------------------------ verifying

    def judge_look(self, step: Ask, verdict: Any) -> Step:
        """Tell the call what a verifier saw, once copies of equal actions are set apart."""
        call, action = self.call, self.action
        if not isinstance(verdict, Verdict):
            verdict = Verdict("UNCLEAR", why="the verifier gave no Verdict")
        call.shown = self._sign()
        question = step.question
        if question == "baseline":
            verdict = self._counted_before(verdict)
        elif question == "count":
            verdict = self._counted_after(verdict)
        elif verdict == Verdict.LANDED and question == "verify" and verdict.count is not None:
            others = action.baseline or 0
            if not MEMORY.claim(action, verdict.count, others):
                verdict = Verdict("UNCLEAR", again=True, why="an equal action took the copy")
        if self.remark is not None:
            verdict = Verdict("UNCLEAR", why=self.remark)
        return call.told(_drive.clock.now(), verdict, self.spent)

    def _counted_before(self, verdict: Verdict) -> Verdict:
        if verdict.count is None:
            return verdict
        known, out = MEMORY.counts(self.action)
        self.action.unsure = out
        return Verdict(verdict.name, count=verdict.count - known - out)

    def _counted_after(self, verdict: Verdict) -> Verdict:
        if verdict.count is None:
            return verdict
        known, out = MEMORY.counts(self.action)
        ours = verdict.count - (self.action.baseline or 0) - self.action.unsure - known - out
        MEMORY.add_copies(self.action, ours - 1)
        return Verdict(verdict.name, count=ours)

    def _sign(self) -> str:
        shown = getattr(self.plan.verify, "shown", None)
        if shown is not None:
            return f"read {shown(str(self.request.url))}"
        return "caller" if self.last_read is None else f"read {self.last_read}"

    def view(self) -> CallView:
        """What the verifier sees."""
        self._identify(self.action)
        self.remark = self.spent = None
        return CallView(self.request, self.action, self.wire)

    def spend(self, question: str) -> None:
        """Pay for a recovery read, or raise `Spent`. A count before the first send is free."""
        if question == "baseline":
            return
        call = self.call
        if _drive.clock.now() >= call.budget.ends(call.policy.deadline):
            self.spent = "deadline"
        elif not call.budget.spend(call.policy.recovery_calls):
            self.spent = "recovery_calls"
        if self.spent:
            raise Spent(self.spent)

    def add_reads(self, question: str, read: Action) -> None:
        """Put the sends of a recovery read into the action's trail."""
        for attempt in read.trail:
            attempt.kind = question
            attempt.number = len(self.action.trail) + 1
            self.action.trail.append(attempt)
        if read.stop in ("deadline", "recovery_calls"):
            self.spent = read.stop

    def saw(self, request: Any) -> None:
        """The report names the last read by its path."""
        self.last_read = f"GET {target(str(request.url))}"

    def show(self, request: Any, response: Any) -> Any:
        """Keep a fresh copy of what was read, which may stand in for the lost answer."""
        response.request = request
        self.shown = self.wire.fresh_copy(response, self.lib)
        return response

    def signing_client(self, request: Any) -> Any:
        """The recovered client, which signs a read itself; the read goes into the trail."""
        client = self.mount.client
        if client is None:
            raise NoRead(UNSIGNED)
        number, now = len(self.action.trail) + 1, _drive.clock.now()
        name = f"GET {target(str(request.url))}"
        attempt = Attempt(self.asked, number, now, "signed by the client", name)
        self.action.trail.append(attempt)
        return client

    def signed_alike(self, response: Any) -> Any:
        """The read, if it was signed for whom the call was: another sees other things."""
        signed = self.wire.header(response.request, "authorization")
        if holder(signed) != holder(self.header("authorization")):
            raise NoRead(UNSIGNED)
        return response

    def verifier_raised(self, exc: Exception) -> Verdict:
        """A verifier that fails has seen nothing; its error is named in the report."""
        if isinstance(exc, NoRead):
            self.remark = str(exc)
        elif not isinstance(exc, Spent):
            self.remark = f"the verifier raised {type(exc).__name__}"
        return Verdict.UNCLEAR

    def confirmed(self, response: Any) -> Verdict:
        """What a plain GET says about a 404."""
        if response.status_code in (404, 410):
            return Verdict.ABSENT
        return Verdict.LANDED if response.status_code < 300 else Verdict.UNCLEAR

    # ------------------------------------------------------------------ the end

    def finish(self, step: Stop) -> Any:
        """Hand the caller what recovery ended with, or raise it."""
        if not self.guest:
            self.settle()
        give = step.give
        if give == "earlier":
            self.response, self.error = self.kept or (self.response, self.error)
            give = "response" if self.response is not None else "unknown"
            if self.action.state != UNKNOWN:
                give = "response" if self.error is None else "error"
        if give == "read":
            return self._give_read()
        if give == "response":
            return self._marked(self.response)
        if give == "error":
            assert self.error is not None
            raise self.blamed(self.error)
        raise self._unknown(refused=give == "refused") from self.error

    def abandon(self, exc: BaseException, response: Any = None) -> None:
        """The caller has gone: write down what is known, of an unread response its status."""
        self.response = self.response if response is None else response
        phase, call = self.phase, self.call
        self._count_sends()
        sent = phase is None or phase.sent or not (phase.connected or self.mount.real)
        status = None if self.response is None else self.response.status_code
        call.abandoned(_drive.clock.now(), _kind(exc), sent=sent, status=status)
        self.came_back(Stop("error"))
        if not self.guest:
            self.settle()

    def torn(self, stop: str, *, resumable: bool) -> Step:
        """The body of the answer is cut while the caller reads it; see `_flow`."""
        action = self.action
        self._look_up()
        before = action.state, action.lost_answer
        step = self.call.torn(_drive.clock.now(), stop, resumable=resumable)
        if type(step) is Stop and (action.state, action.lost_answer) != before:
            self.settle()
        return step

    @property
    def told(self) -> Outcome:
        """How it ended, for whoever asks."""
        return Outcome(self.action)

    def part(self, headers: dict[str, str]) -> Any:
        """The port of a request for the rest of an answer; None when there can be none."""
        request = self.wire.with_headers(self.request, headers)
        if request is None:
            return None
        part = self.beside(request)
        part.action, part.call, part.rewind = self.action, self.call, self.wire.rewinder(request)
        part.follows = False
        return part

    def cut_error(self, text: str) -> BaseException:
        """The client's own error for a body that is not whole."""
        error: BaseException = self.wire.cut_error(self.lib, text, self.request)
        return error

    def settle(self) -> None:
        """The ledger's last word on this call, so far."""
        action, task = self.action, self.task
        action.busy = False
        if action.safe:
            self._log()
            if task is not None:
                self._mend_or_remember(task)
            return
        lost = action.state == UNKNOWN and action.lost_end is not None
        if lost or action.lost_answer or action.items is not None:
            self._arm()
        elif action.fingerprint is not None:
            MEMORY.forget(action)
            if task is not None:
                task.forget(action)
        if task is not None:
            self._mend_or_remember(task)
        self._log()

    def _mend_or_remember(self, task: Task) -> None:
        """A success takes the place of an earlier failure of the same request."""
        if self.action.state == FAILED:
            self._identify(self.action)
            task.remember_failure(self.action)
        elif self.action.state == DONE:
            task.mend(self.action, self._print)

    def _print(self) -> str:
        self._identify(self.action)
        assert self.action.fingerprint is not None
        return self.action.fingerprint

    def _arm(self) -> None:
        self._identify(self.action)
        now, deadline = _drive.clock.now(), self.call.policy.deadline
        if self.task is None:
            MEMORY.keep(self.action, now, deadline)
        else:
            self.task.arm(self.action)

    def _log(self) -> None:
        # A redirect is no bad end: whoever follows it says how it went.
        if self.task is None and self.action.state != DONE and self.action.failure != "ok":
            logger.warning("%s", Outcome(self.action))

    def _marked(self, response: Any) -> Any:
        self.wire.attach(response, self.told)
        if self.error is not None:  # which cut its body, and is raised when the body is read
            self.blamed(self.error)
        elif self._is_followed() and self.mount.is_streaming(response):
            self.mount.follow(response, lambda: self, resumes=self.plan.resumes)
        return response

    def _is_followed(self) -> bool:
        """Does it matter what becomes of a body that the caller reads?"""
        plan = self.plan
        return self.follows and (self.task is not None or plan.resumes or not plan.rights.safe)

    def blamed(self, error: BaseException) -> BaseException:
        with suppress(AttributeError, TypeError):  # an exception may refuse new attributes
            error.recovery = Outcome(self.action)  # type: ignore[attr-defined] # for outcome()
        return error

    def _give_read(self) -> Any:
        """The verifying read's response stands in for the lost answer, if it is one."""
        shown = self.shown
        handed = getattr(self.plan.verify, "hands_over", ())
        if shown is not None and (shown.status_code < 300 or shown.status_code in handed):
            return self._marked(shown)
        if self.response is not None:
            return self._marked(self.response)
        if self.error is not None:
            raise self.blamed(self.error)
        raise self.blamed(self._lost_error("it is done, but there is no answer to hand over"))

    def _lost_error(self, text: str) -> BaseException:
        common = self.wire.common_error(self.lib)
        base = getattr(self.lib, self.action.cause or "", None)
        if not (isinstance(base, type) and issubclass(base, common)):
            base = common
        error: BaseException = base(f"{self.action.name}: {text}", request=self.request)
        return error

    def _unknown(self, *, refused: bool) -> BaseException:
        action, error = self.action, self.error
        common = self.wire.common_error(self.lib)
        base = common if refused or error is None else type(error)
        known = f"it may or may not have been done ({action.cause})"
        if action.lost_answer:
            known = "it was done, but its answer was lost"
        elif action.items is not None:
            known = f"it was done in part, {len(action.items[1])} items are missing"
        did = "This repeat was not sent" if refused else f"Sent {_times(action.sends)}"
        advice = "Read the state first: sending it again can do it twice."
        text = f"{action.name}: {known}. {did}. {advice}"
        facts = {
            "outcome": Outcome(action),
            "method": action.method,
            "url": self.wire.bare(self.request.url),
        }
        raised = as_client_error(UnknownOutcome, base, text, **facts)
        self.wire.attach_request(raised, self.request)
        if action.note:
            raised.add_note(action.note)
        return raised


def _kind(exc: BaseException) -> str:
    """The name of what ended a call; trio hands on a cancellation in a group."""
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return type(exc).__name__


def _times(sends: int) -> str:
    return "once" if sends == 1 else f"{sends} times"
