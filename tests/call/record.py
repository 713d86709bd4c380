"""A call without a client: the test plays the server, the reads and the clock."""

from __future__ import annotations

from typing import Any, NamedTuple

from httpx_recover import Applied, FailureClass, Policy, Rule, Verdict
from httpx_recover._budget import Budget
from httpx_recover._call import Call
from httpx_recover._evidence import Evidence
from httpx_recover._ledger import Action
from httpx_recover._plan import make_plan
from httpx_recover._words import Ask, Note, Send, Stop, Wait

NOT_SENT = Evidence(FailureClass.TRANSIENT, Applied.NO, "not_sent", "ConnectError")
REFUSED = Evidence(FailureClass.TRANSIENT, Applied.NO, "refused", "RemoteProtocolError")
LOST = Evidence(FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN, "sent", "ReadTimeout")
READ_LOST = Evidence(FailureClass.TRANSIENT, Applied.UNKNOWN, "sent", "ReadTimeout")
BAD = Evidence(FailureClass.BAD_INPUT, Applied.NO, "not_sent", "LocalProtocolError")
BUG = Evidence(FailureClass.UNKNOWN_OUTCOME, Applied.UNKNOWN, "unknown", "RuntimeError", False)
UNSENT_BUG = Evidence(FailureClass.TRANSIENT, Applied.NO, "not_sent", "RuntimeError", False)


def found(read: Any, call: Any) -> Verdict:
    """A verifier that is never run: the test tells what it saw."""
    return Verdict.UNCLEAR


class Counting:
    """A verifier that can count."""

    counts = True
    baseline = False

    def steps(self, call: Any) -> Any:
        """Never run."""


class Based(Counting):
    """A verifier that counts before the first send as well."""

    baseline = True


class End(NamedTuple):
    """What the ledger says of an action at its end."""

    state: str
    failure: str
    applied: str
    sends: int
    stop: str | None = None
    sign: str | None = None
    note: str | None = None
    absent_by: str | None = None


class Play:
    """One call; `step` is what it wants next, `now` the time."""

    def __init__(
        self,
        method: str = "POST",
        rule: Rule | None = None,
        *,
        policy: Policy | None = None,
        action: Action | None = None,
        budget: Budget | None = None,
        now: float = 100.0,
        **facts: Any,
    ) -> None:
        policy = policy or Policy()
        plan = make_plan(method, policy, rule.said() if rule else {})
        facts.setdefault("keyed", plan.rights.dedupes)
        facts.setdefault("shown", "read GET h.example/x")
        self.action = action or Action(method, "http://h.example/x", safe=plan.rights.safe)
        self.now = now
        self.call = Call(self.action, plan.rights, policy, budget or Budget(), **facts)
        self.steps: list[Any] = []
        self.told: list[str] = []
        self.step: Any = None
        self._take(self.call.begin(self.now))

    def _take(self, step: Any) -> Play:
        self.step = step
        self.steps.append(step)
        self.told.append(self._word(step))
        return self

    def _word(self, step: Any) -> str:
        match step:
            case Send():
                assert self.call.last is not None
                return "send" if self.call.last.kind == "send" else self.call.last.kind
            case Wait(seconds):
                return f"wait {round(seconds, 3):g}"
            case Ask(question):
                return f"ask {question}"
            case Note():
                return "note"
        return f"give {step.give}"

    @property
    def story(self) -> str:
        """Every step so far, in words."""
        return ", ".join(self.told)

    @property
    def end(self) -> End:
        """The ledger's words on the action."""
        each = self.action
        return End(
            each.state,
            str(each.failure),
            str(each.applied),
            each.sends,
            each.stop,
            each.sign,
            each.note,
            each.absent_by,
        )

    def answer(self, status: int, wait: float | None = None, *, took: float = 0.1) -> Play:
        assert type(self.step) is Send, self.step
        self.now += took
        return self._take(self.call.answered(self.now, status, wait)).note()

    def cut(self, status: int = 201) -> Play:
        assert type(self.step) is Send, self.step
        return self._take(self.call.answered(self.now, status, cut=True)).note()

    def lose(self, evidence: Evidence = LOST, *, took: float = 0.1) -> Play:
        assert type(self.step) is Send, self.step
        self.now += took
        return self._take(self.call.lost(self.now, evidence)).note()

    def note(self) -> Play:
        return self._take(self.call.noted(self.now)) if type(self.step) is Note else self

    def sleep(self, seconds: float | None = None, *, luck: float = 1.0) -> Play:
        """Sleep as told; `luck` is the part of the spread that chance adds."""
        assert type(self.step) is Wait, self.step
        if seconds is not None:
            assert round(self.step.seconds, 6) == seconds
        self.now += self.step.seconds + self.step.spread * luck
        return self._take(self.call.woke(self.now))

    def tell(self, verdict: Verdict, stop: str | None = None, question: str = "verify") -> Play:
        assert self.step == Ask(question), self.step
        return self._take(self.call.told(self.now, verdict, stop))

    def look(self, verdict: Verdict) -> Play:
        """Tell the verifier's next look, after the wait for it if there is one."""
        if type(self.step) is Wait:
            self.sleep(luck=0.0)
        return self.tell(verdict)

    def cancel(self, *, sent: bool = True, status: int | None = None) -> Play:
        """The caller goes away, perhaps while the body of an answer is on its way."""
        self.call.abandoned(self.now, "CancelledError", sent=sent, status=status)
        return self

    def ends(self, give: str, state: str, stop: str | None = None) -> Action:
        """The call has stopped like this."""
        assert self.step == Stop(give), self.step
        assert (self.action.state, self.action.stop) == (state, stop)
        return self.action


def again(play: Play, method: str | None = None, rule: Rule | None = None, **facts: Any) -> Play:
    """The program asks once more for what `play` left behind."""
    facts.setdefault("now", play.now)
    return Play(method or play.action.method, rule, action=play.action, **facts)


VERIFYING = Rule(verify=found)
READ = "read GET h.example/x"
PLACE = "GET h.example/x"
