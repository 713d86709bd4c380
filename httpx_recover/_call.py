"""The rules of recovery: everything known about one call, and a method for each thing that happens.

A happening takes plain facts and the time and returns the next step: `Send`, `Wait`, `Ask`, `Note`
or `Stop`. No client, clock, randomness or sleep is in here, so every state can be copied, stored
and enumerated. The rules, in the order in which the methods apply them:

1.  A repeat of an action whose outcome is unknown is not a first try. It goes on under rule 5, and
    without evidence it is refused unsent.
2.  What comes back is classified first. A success ends the call; what waiting cannot mend (bad
    input, credentials, quota) ends it too. A later refusal never overwrites an earlier unknown.
3.  What was provably not processed (never sent, refused, rate limited) is sent again after the
    server's own wait, else after the backoff. So is every read.
4.  A 404 or 410 in a named task is confirmed by one fresh read. After an unknown DELETE of ours it
    is what we wanted; after our own unknown attempt a 409 or 412 is a question to the verifier.
5.  A write of unknown outcome is noted, then resent only with evidence: a trusted key whose window
    outlasts the wait; a method or precondition that makes repeating harmless; an absence that two
    looks of the verifier agreed on. Each proof buys one resend. Otherwise it stays unknown.
6.  Nothing is sent, and nothing slept, that does not fit the three limits: attempts of the call,
    recovery calls of the task, and the task's deadline. A wait that does not end before the
    deadline is not begun.
7.  When recovery ends badly the caller gets how the last attempt ended; but while an earlier
    attempt is unknown and the last one was a refusal or never left, the earlier end.
"""

from __future__ import annotations

from math import inf

from httpx_recover._budget import Budget
from httpx_recover._evidence import Evidence
from httpx_recover._keys import outlasts
from httpx_recover._ledger import DONE, FAILED, OPEN, UNKNOWN, Action, Attempt
from httpx_recover._plan import Rights
from httpx_recover._policy import Policy
from httpx_recover._table import EARLY, ELSEWHERE, classify
from httpx_recover._words import Applied, Ask, FailureClass, Note, Send, Step, Stop, Verdict, Wait

_BY_ABSENCE = "absent by "
_BELOW = "by the client after GOAWAY"
LEAST = 1.0  # seconds of its own timeout without which no write is sent again

_SETTLED = frozenset({FailureClass.BAD_INPUT, FailureClass.AUTH, FailureClass.QUOTA})
_UNPROCESSED = frozenset({FailureClass.TRANSIENT, FailureClass.RATE_LIMIT})
_CLASH = frozenset({FailureClass.CONFLICT, FailureClass.IN_PROGRESS})
_REFUSED = _SETTLED | _CLASH | {FailureClass.NOT_FOUND}
_NO_ANSWER = EARLY | {408, *range(500, 600)}  # whatever class a rule gives them
_READS = frozenset({"GET", "HEAD"})
_CHANGES = frozenset({"PUT", "PATCH", "DELETE"})
_TAKEN = frozenset({FailureClass.ACCEPTED, FailureClass.PARTIAL})
_ANSWERED = _TAKEN | {FailureClass.OK}


class Call:
    """The record of one call of the program."""

    __slots__ = (
        "absences",
        "action",
        "asking",
        "bound",
        "budget",
        "charged",
        "keyed",
        "last",
        "looks",
        "named",
        "next",
        "policy",
        "read_timeout",
        "rebuilt",
        "replayable",
        "rights",
        "sends",
        "settle_at",
        "shown",
        "unresolved",
    )

    def __init__(
        self,
        action: Action,
        rights: Rights,
        policy: Policy,
        budget: Budget,
        *,
        keyed: bool = False,
        replayable: bool = True,
        bound: bool = False,
        named: bool = False,
        charged: bool = False,
        read_timeout: float | None = None,
        shown: str = "caller",
    ) -> None:
        self.action = action
        self.rights = rights
        self.policy = policy
        self.budget = budget
        self.keyed = keyed  # a trusted key is on the request
        self.replayable = replayable  # the body can be sent again
        self.bound = bound  # its credentials are good for one request, and nobody signs again
        self.named = named  # in a named task
        self.charged = charged  # a recovery read: its first send is a recovery call too
        self.read_timeout = read_timeout
        self.shown = shown  # how the report names the verifying read
        self.sends = 0
        self.unresolved = False  # an attempt of ours may have been applied
        self.rebuilt = False  # a resend followed a believed absence
        self.looks = self.absences = 0  # since the last unknown end, and those that saw nothing
        self.settle_at = 0.0
        self.asking = ""
        self.next = ""  # what follows the wait
        self.last: Attempt | None = None

    # ------------------------------------------------------------------ beginning

    def begin(self, now: float) -> Step:
        """The program has asked for the call."""
        action = self.action
        if action.state == UNKNOWN or action.lost_answer or action.permit or action.items:
            return self._rejoin(now)
        self.unresolved = self.action.lost_end is not None  # a hop of a redirect inherits it
        if self.rights.baseline and self.rights.verifies:
            return self._ask("baseline")
        return self._send(now, "first try")

    def _rejoin(self, now: float) -> Step:
        """Rule 1: the same request again, while nobody knows what became of it."""
        action = self.action
        if action.permit:
            action.permit, action.state = False, OPEN
            return self._send(now, "absent, seen by the caller")
        self.unresolved = True
        if action.items is not None:  # done in part: the whole is never sent again
            return self._give_up("no_evidence", give="refused")
        self.rebuilt = any(each.evidence.startswith(_BY_ABSENCE) for each in action.trail)
        if self.keyed and self._leased(now):
            return self._send(now, "trusted key")
        if self._repeatable():
            return self._send(now, "idempotent")
        if self.rights.verifies:
            self._plan_settle(now)
            return self._look(now)
        return self._give_up("no_evidence", give="refused")

    def _send(self, now: float, evidence: str, kind: str = "send") -> Send:
        resend = self.sends > 0 or self.charged
        self.sends += 1
        trail = self.action.trail
        attempt = Attempt(kind, len(trail) + 1, now, evidence)
        trail.append(attempt)
        self.last = attempt
        if self.action.first_sent is None:
            self.action.first_sent = now
        left = self.budget.ends(self.policy.deadline) - now
        return Send(self.sends, left if resend and left < inf else None)

    def resent_below(self, times: int) -> None:
        """The client has sent by itself again, each time after proof that it was not processed.

        Those are sends of the action, and none of our attempts.
        """
        last = self.last
        assert last is not None, "a send of nobody's"
        if last.ended is not None:  # counted already: the call goes on, or its caller has gone
            return
        for _ in range(times):
            self._close(last.started, FailureClass.TRANSIENT, Applied.NO, "GOAWAY", "refused")
            # It began when the first did, as far as anybody knows: a doubt lasts as long.
            trail = self.action.trail
            last = self.last = Attempt(last.kind, len(trail) + 1, last.started, _BELOW)
            trail.append(last)

    # ------------------------------------------------------------------ what comes back

    def answered(
        self, now: float, status: int, wait: float | None = None, *, cut: bool = False
    ) -> Step:
        """A response: its status, the server's own wait, and was its body cut."""
        failure, applied = self._class_of(status, wait)
        last = self._close(now, failure, applied, str(status), "answered")
        last.status, last.wait = status, wait
        if cut and self.rights.safe and failure in _ANSWERED:
            failure = last.failure = FailureClass.TRANSIENT  # half an answer is none
            last.phase = "body cut"
        elif cut and failure is FailureClass.OK and status < 300:  # a redirect is no end
            last.phase = "body cut"
            return self._answer_lost(now, status)
        return self._judged(now, failure, applied, wait)

    def _class_of(self, status: int, wait: float | None) -> tuple[FailureClass, Applied]:
        rights = self.rights
        if status in rights.expect:
            return FailureClass.OK, Applied.YES
        means = 500 if status in EARLY else status
        failure, applied = classify(means, safe=rights.safe, retry_after=bool(wait))
        named = rights.classes.get(status)
        if named is None or named is failure:
            return failure, applied
        if named in (FailureClass.OK, FailureClass.ALREADY_DONE):
            return named, Applied.YES
        # A rule names the class; whether the server acted stays what the status proves.
        return named, Applied.UNKNOWN if applied is Applied.YES else applied

    def lost(self, now: float, evidence: Evidence) -> Step:
        """An exception instead of a response."""
        self._close(now, evidence.failure, evidence.applied, evidence.cause, evidence.phase)
        if not evidence.recoverable:
            return self._not_ours(now, evidence)
        if self._confirming():
            return self._unconfirmed()
        if evidence.failure is FailureClass.TRANSIENT and evidence.applied is Applied.NO:
            return self._unprocessed(now, evidence.failure, None, evidence.phase.replace("_", " "))
        return self._judged(now, evidence.failure, evidence.applied, None)

    def _close(
        self, now: float, failure: FailureClass, applied: Applied, cause: str, phase: str
    ) -> Attempt:
        last = self.last
        assert last is not None, "an end without a send"
        assert last.ended is None, "one send ended twice"
        last.ended, last.failure, last.applied = now, failure, applied
        last.cause, last.phase = cause, phase
        return last

    def _judged(
        self, now: float, failure: FailureClass, applied: Applied, wait: float | None
    ) -> Step:
        """Rule 2: what the class alone decides."""
        if failure is FailureClass.OK:
            return self._succeeded(now)
        self.action.wait = wait or None
        if failure in _SETTLED:
            return self._doubted(now, "final")
        if failure is FailureClass.NOT_FOUND:
            return self._missing(now)
        if self._confirming() and failure not in _TAKEN:
            return self._unconfirmed()
        if self.rights.safe:
            if failure in _UNPROCESSED or failure is FailureClass.IN_PROGRESS:
                return self._unprocessed(now, failure, wait, "safe")
            return self._read_ended(failure)
        if failure in _UNPROCESSED and applied is Applied.NO:
            return self._unprocessed(now, failure, wait, "not processed")
        if failure is FailureClass.RATE_LIMIT:  # a rule's class for a status that proves nothing
            return self._write_lost(now, wait)
        return self._write_judged(now, failure, wait)

    def _write_judged(self, now: float, failure: FailureClass, wait: float | None) -> Step:
        if failure is FailureClass.ALREADY_DONE:
            return self._already(now)
        if failure is FailureClass.IN_PROGRESS and self.keyed:
            return self._resend(now, wait, "key") or self._ask_or_stop(now)
        if failure in (FailureClass.CONFLICT, FailureClass.IN_PROGRESS):
            return self._conflict(now, wait)
        if failure in _TAKEN:
            return self._taken(now)
        return self._write_lost(now, wait)

    # ------------------------------------------------------------------ ends that are good

    def _succeeded(self, now: float) -> Step:
        assert self.last is not None
        status = self.last.cause or ""
        if self.last.status in ELSEWHERE and not self.rights.safe:
            if not (self.unresolved or self.action.lost_answer):  # else it stays what it was
                self.action.ended(UNKNOWN, FailureClass.OK, Applied.UNKNOWN, status, None)
            return Stop("response")
        self.action.cause = status
        self._resolved()
        self.action.done(f"answer {status}")
        if self.rights.safe:
            return Stop("response")
        if self._must_count(now):
            return self._ask("count")
        if self.rights.confirm and self._may_ask(now):
            return self._ask("assure")
        return Stop("response")

    def _already(self, now: float) -> Step:
        self.action.cause = self.last.cause if self.last else None
        self.action.done(f"answer {self.action.cause}", FailureClass.ALREADY_DONE)
        self._resolved()
        return Stop("response")

    def _resolved(self) -> None:
        self.unresolved = self.action.lost_answer = False
        self.action.lost_end = None

    def _read_ended(self, failure: FailureClass) -> Step:
        """A read answered by a 202, 207 or 208 has its answer; by anything else it failed."""
        if failure not in _TAKEN:
            return self._give_up("final")
        step = self._succeeded(0.0)
        self.action.failure = failure
        return step

    def _answer_lost(self, now: float, status: int) -> Step:
        """A 2xx whose body was cut: applied. Only a trusted key may ask for the answer again."""
        self._landed_unseen(status)
        again = self._resend(now, None, "key") if self.keyed else None
        if again is None and self._must_count(now):
            return self._ask("count")
        return again or Stop("error")

    def _landed_unseen(self, status: int) -> None:
        """It is done, and its caller never got the answer: a repeat must not send it again."""
        self.action.done(f"answer {status}")
        self.action.cause = str(status)
        self._unheard()

    def _unheard(self) -> None:
        self.action.note, self.action.lost_answer = "the body of the answer was lost", True
        self.unresolved = False

    def _must_count(self, now: float) -> bool:
        """A resend followed an absence: has the first one landed after all?"""
        return self.rebuilt and self.rights.counts and self._may_ask(now)

    def torn(self, now: float, stop: str, *, resumable: bool = False) -> Step:
        """The body of an answer that was handed over is cut while its caller reads it.

        `resumable` says that the rest of it can be asked for, which is a resend of the read.
        """
        action, last = self.action, self.last
        assert last is not None, "an answer without a send"
        if action.state != DONE or last.status is None:
            return Stop("error")  # nothing was claimed of it
        last.phase = "body cut"
        if not self.rights.safe:
            if last.status < 300:
                self._landed_unseen(last.status)
            return Stop("error")
        last.failure, last.applied = FailureClass.TRANSIENT, Applied.NO
        if resumable:
            action.state = OPEN
            return self._unprocessed(now, FailureClass.TRANSIENT, None, "the rest of it")
        return self._give_up(stop)

    # ------------------------------------------------------------------ rule 3: unprocessed

    def _unprocessed(
        self, now: float, failure: FailureClass, wait: float | None, evidence: str
    ) -> Step:
        self.budget.start(now)
        self.action.wait = wait or None
        return self._resend(now, wait, evidence) or self._doubted(now, self.next, wait)

    def _doubted(self, now: float, stop: str, wait: float | None = None) -> Step:
        """No more sends. While an earlier one is unknown, a verifier has the last word."""
        if self.unresolved and self.rights.verifies and self._may_ask(now):
            self._plan_settle(now)
            return self._look(now, wait)
        return self._give_up(stop)

    def _resend(self, now: float, wait: float | None, evidence: str) -> Wait | None:
        """Wait and send again; None, with the reason in `next`, when a limit forbids it."""
        self.budget.start(now)
        self.next = self._forbidden(now, evidence)
        if self.next:
            return None
        pause = wait or self.policy.pause(self.sends)
        at = now + pause
        left = self.budget.ends(self.policy.deadline) - at
        spare = left - self._least()
        if left <= 0:
            self.next = "wait_too_long" if wait else "deadline"
        elif spare < 0:
            self.next = "deadline"
        elif self._on_key(evidence) and not self._leased(at):
            self.next = "no_evidence"
        if self.next:
            return None
        self.next = f"send {evidence}"
        if self._on_key(evidence):
            spare = min(spare, self._lease() - at)
        return Wait(pause, min(self.policy.jitter, spare))

    def _least(self) -> float:
        """Without so much time left nothing is sent again."""
        return 0.0 if self.rights.safe else min(self.read_timeout or inf, LEAST)

    def _forbidden(self, now: float, evidence: str) -> str:
        if self.sends >= self.rights.attempts:
            return "attempts"
        if not self.replayable and self.sends:
            return "body"
        if self.bound and self.sends and evidence != "not sent":
            return "no_evidence"
        if self.budget.used >= self.policy.recovery_calls:
            return "recovery_calls"
        return "deadline" if now >= self.budget.ends(self.policy.deadline) else ""

    def _on_key(self, evidence: str) -> bool:
        """Is the key what makes this resend harmless? That the last attempt did nothing does not
        make up for an earlier one that is unknown."""
        return evidence == "key" or (self.unresolved and self.keyed and not self._repeatable())

    def _leased(self, at: float) -> bool:
        return outlasts(self.action.first_sent, self.rights.window, at)

    def _lease(self) -> float:
        """When the key is forgotten."""
        first, window = self.action.first_sent, self.rights.window
        return inf if first is None or window is None else first + window

    def woke(self, now: float) -> Step:
        """The wait is over."""
        if self.next == "look":
            return self._look_now(now)
        evidence = self.next.partition(" ")[2]
        if now >= self.budget.ends(self.policy.deadline) or self._too_late(now):
            return self._doubted(now, "deadline")
        if self._on_key(evidence) and not self._leased(now):
            return self._doubted(now, "no_evidence")
        if not self.budget.spend(self.policy.recovery_calls):
            return self._give_up("recovery_calls")
        return self._send(now, "trusted key" if evidence == "key" else evidence)

    # ------------------------------------------------------------------ rule 4: 404, 409, 412

    def _missing(self, now: float) -> Step:
        action = self.action
        if self.unresolved and action.method == "DELETE":
            assert self.last is not None
            action.cause, action.note = self.last.cause, "gone now but not proven to be ours"
            action.done(f"answer {self.last.cause}", FailureClass.ALREADY_DONE)
            self._resolved()
            return Stop("response")
        if self.unresolved or not self._may_confirm(now):
            return self._doubted(now, "final")
        if action.method in _CHANGES:
            return self._ask("confirm")
        if not self.budget.spend(self.policy.recovery_calls):
            return self._give_up("final")
        self.asking = "confirm"
        return self._send(now, "fresh read", "confirm")

    def _confirming(self) -> bool:
        return self.last is not None and self.last.kind == "confirm"

    def _unconfirmed(self) -> Step:
        """The confirming read failed itself: the 404 is still the real failure."""
        first = self.action.trail[-2]
        self.action.ended(FAILED, FailureClass.NOT_FOUND, Applied.NO, first.cause or "", "final")
        self.action.note = "a fresh read could not tell"
        return Stop("earlier")

    def _may_confirm(self, now: float) -> bool:
        return (
            self.named
            and not self.charged
            and self.policy.confirm_missing
            and self._confirmable()
            and self.replayable
            and not self.bound
            and self.asking != "confirm"
            and self._may_ask(now)
            and self.budget.may_confirm()
        )

    def _confirmable(self) -> bool:
        """A GET that was declared a write is not sent again just to see."""
        method = self.action.method
        return method in _CHANGES or (method in _READS and self.rights.safe)

    def _conflict(self, now: float, wait: float | None) -> Step:
        """Did an earlier attempt win, or somebody else? The status cannot tell, a read may."""
        assert self.last is not None
        refused = self.last.applied is Applied.NO  # 412 and 423 say that this one did nothing
        if not self.unresolved and refused and not self.rights.verifies:
            return self._give_up("final")
        if self.unresolved and not refused:  # it may be at work still: absence is proven later
            self.action.lost_end = (self.last.started, now)
        if self.keyed and not refused and not self._asked_again():
            again = self._resend(now, wait, "key")
            if again:
                return again
        return self._ask_or_stop(now)

    def _asked_again(self) -> bool:
        """Has a 409 been answered by a resend under the key already?"""
        sent = [each for each in self.action.trail if each.kind == "send"]
        return sum(each.failure is FailureClass.CONFLICT for each in sent) > 1

    def _ask_or_stop(self, now: float) -> Step:
        if self.rights.verifies and self._may_ask(now):
            self.budget.start(now)
            self._plan_settle(now)
            return self._look_now(now)
        return self._give_up(self.next if self.next == "wait_too_long" else "final")

    def _taken(self, now: float) -> Step:
        """202, 207, 208: the server has it, and only a read can tell what came of it."""
        if self.rights.verifies and self._may_ask(now):
            return self._ask("settle")
        return self._give_up(None)

    # ------------------------------------------------------------------ rule 5: unknown

    def _write_lost(self, now: float, wait: float | None) -> Step:
        assert self.last is not None
        action = self.action
        self.budget.start(now)
        self.unresolved, self.looks, self.absences = True, 0, 0
        action.lost_end = (self.last.started, now)
        action.wait = wait or None
        if not action.lost_answer:  # what is known to have landed stays known
            failure = self.last.failure or FailureClass.UNKNOWN_OUTCOME
            cause = self.last.cause or ""
            action.ended(UNKNOWN, failure, Applied.UNKNOWN, cause, "no_evidence")
        return Note("unknown")

    def noted(self, now: float) -> Step:
        """The unknown outcome is written down; now look for evidence."""
        wait = self.action.wait
        again = None
        self.next = "no_evidence"
        if self.keyed:
            again = self._resend(now, wait, "key")
        if again is None and self._repeatable():
            again = self._resend(now, wait, "idempotent")
        if again is not None:
            return again
        stop = self.next
        if self.rights.verifies:
            self._plan_settle(now)
            return self._look(now, wait)
        return self._give_up(stop)

    def _repeatable(self) -> bool:
        return self.rights.idempotent or self.rights.conditional

    def _plan_settle(self, now: float) -> None:
        started, ended = self.action.lost_end or (now, now)
        settle = self.policy.pause(2) if self.rights.settle is None else self.rights.settle
        at = ended + max(settle, ended - started)
        if at >= self.budget.ends(self.policy.deadline):
            at = ended + settle
        self.settle_at = at

    def _look(self, now: float, wait: float | None = None) -> Step:
        """Wait, then let the verifier look. A repeat of an older action looks at once."""
        self.budget.start(now)
        ended = self.action.lost_end[1] if self.action.lost_end else now
        pause = wait or max(self.policy.pause(max(self.sends, 1)) - (now - ended), 0.0)
        return self._look_after(now, pause, "wait_too_long" if wait else "deadline")

    def _look_after(self, now: float, pause: float, late: str) -> Step:
        ends = self.budget.ends(self.policy.deadline)
        if now + pause >= ends:
            return self._give_up(late)
        if self.budget.used >= self.policy.recovery_calls:
            return self._give_up("recovery_calls")
        if pause <= 0:
            return self._look_now(now)
        self.next = "look"
        return Wait(pause, min(self.policy.jitter, ends - now - pause))

    def _look_now(self, now: float) -> Step:
        if now >= self.budget.ends(self.policy.deadline):
            return self._give_up("deadline")
        if self.budget.used >= self.policy.recovery_calls:
            return self._give_up("recovery_calls")
        self.looks += 1
        return self._ask("verify")

    def _may_ask(self, now: float) -> bool:
        return (
            (self.rights.attempts > 1 or self.rights.verifies)
            and self.budget.used < self.policy.recovery_calls
            and now < self.budget.ends(self.policy.deadline)
        )

    def _ask(self, question: str) -> Ask:
        self.asking = question
        return Ask(question)

    # ------------------------------------------------------------------ what a read shows

    def told(self, now: float, verdict: Verdict, stop: str | None = None) -> Step:
        """The read that was asked for has shown this; `stop` is the limit that cut it short."""
        asked = self.asking
        if asked == "baseline":
            self.action.baseline = verdict.count
            return self._send(now, "first try")
        if asked in ("count", "assure"):
            return self._checked(verdict)
        if asked == "confirm":
            return self._confirmed(verdict)
        if verdict == Verdict.LANDED and self.rights.baseline and self.action.baseline is None:
            verdict = Verdict("UNCLEAR", why="the copies of before could not be counted")
        if verdict == Verdict.LANDED:
            return self._landed(now)
        if verdict.name == "PARTIAL":
            return self._in_part(now, verdict)
        if asked == "settle":
            return self._give_up(None)
        if stop:
            return self._give_up(stop)
        if verdict == Verdict.ABSENT or verdict.again:
            return self._absent(now, verdict)
        self._remark(verdict.why)
        return self._give_up("unclear")

    def _landed(self, now: float) -> Step:
        clash = self.last is not None and self.last.failure in _CLASH
        self.action.done(self.shown, FailureClass.ALREADY_DONE if clash else FailureClass.OK)
        self._resolved()
        if self._must_count(now):
            return self._ask("count")
        return self._hand_over()

    def _hand_over(self) -> Stop:
        """What the caller gets of a write that is done: its own answer, else what a read saw."""
        last = self.last
        if last is None or last.failure not in _ANSWERED:
            return Stop("read")
        return Stop("error" if last.phase == "body cut" else "response")

    def _in_part(self, now: float, verdict: Verdict) -> Step:
        action = self.action
        if not verdict.missing:
            return self._landed(now)
        self._give_up("unclear")
        action.items = (verdict.landed, verdict.missing)
        action.failure, action.sign, action.state = FailureClass.PARTIAL, self.shown, FAILED
        return Stop("response" if self.last and self.last.status else "unknown")

    def _absent(self, now: float, verdict: Verdict) -> Step:
        """Absent once is not absent: a late first copy can still land."""
        if not self.unresolved:
            return self._give_up("final")  # a 409 of others: one read, and it stays a question
        self.absences += not verdict.again
        if self.looks < 2 or (self.absences < 2 and not verdict.again):
            return self._look_after(now, max(self.settle_at - now, 0.0), "deadline")
        if verdict.again or self.rights.settle is None or self.action.lost_answer:
            self._remark(verdict.why)
            return self._give_up("unclear" if verdict.again else "no_evidence")
        return self._believed(now)

    def _believed(self, now: float) -> Step:
        """Absence is proven as far as reads can: it buys one resend."""
        action, last = self.action, self.last
        refused = last is not None and last.failure in _REFUSED
        stop = "final" if refused else self._no_more(now)
        if stop and last is None:
            return self._give_up(stop)
        self._resolved()
        if stop:
            action.absent_by = self.shown.removeprefix("read ")
            return self._give_up(stop)
        self.rebuilt = True
        return self._send(now, _BY_ABSENCE + self.shown)

    def _no_more(self, now: float) -> str:
        stop = self._forbidden(now, "absence")
        if not stop and self._too_late(now):
            return "deadline"
        if not stop and not self.budget.spend(self.policy.recovery_calls):
            return "recovery_calls"
        return stop

    def _too_late(self, now: float) -> bool:
        return self.budget.ends(self.policy.deadline) - now < self._least()

    def _checked(self, verdict: Verdict) -> Step:
        """The look after a success: a duplicate is never done, and an absence is a doubt."""
        action = self.action
        if self.asking == "count" and verdict.count is not None and verdict.count > 1:
            action.ended(UNKNOWN, FailureClass.CONFLICT, Applied.YES, action.cause or "", "final")
            action.note = f"{verdict.count} copies landed"
        elif self.rights.confirm and verdict == Verdict.LANDED:
            action.done(self.shown)
        elif self.asking == "assure" or (self.rights.confirm and action.sign != self.shown):
            doubt, cause = FailureClass.UNKNOWN_OUTCOME, action.cause or ""
            action.ended(UNKNOWN, doubt, Applied.UNKNOWN, cause, "unclear")
            action.note = "the answer said done, a read did not show it"
        return self._hand_over()

    def _confirmed(self, verdict: Verdict) -> Step:
        agreed = "a fresh read agreed" if verdict == Verdict.ABSENT else "a fresh read disagreed"
        self._remark(agreed if verdict != Verdict.UNCLEAR else "a fresh read could not tell")
        return self._give_up("final")

    def _remark(self, note: str) -> None:
        if note:
            self.action.note = note

    # ------------------------------------------------------------------ ends that are bad

    def _not_ours(self, now: float, evidence: Evidence) -> Step:
        """No transport failure at all, such as a bug below: never repeated, but remembered."""
        if not self.rights.safe and evidence.applied is not Applied.NO:
            self.unresolved = True
            self.action.lost_end = (self.last.started if self.last else now, now)
        self._give_up("final")
        return Stop("error")

    def _give_up(self, stop: str | None, give: str | None = None) -> Step:
        """Rule 7: write the end down and say what the caller receives."""
        action, last = self.action, self.last
        if action.lost_answer:
            return Stop("earlier" if last else "refused")
        if last is None:
            if action.items is None:
                action.state, action.stop, action.absent_by = UNKNOWN, stop, None
            return Stop(give or "refused")
        failure = last.failure or FailureClass.UNKNOWN_OUTCOME
        ended = "unknown" if last.status is None else "response"
        if not self.unresolved:
            known = last.applied or Applied.UNKNOWN
            if self.rights.safe or action.absent_by is not None:
                known = Applied.NO
            state = UNKNOWN if known is Applied.UNKNOWN else FAILED
            if state == UNKNOWN and last.status is not None and last.status in _NO_ANSWER:
                action.lost_end = (last.started, last.ended or last.started)
            action.ended(state, failure, known, last.cause or "", stop)
            return Stop("error" if last.status is None else "response")
        if last.applied is Applied.UNKNOWN and failure not in _CLASH:
            action.ended(UNKNOWN, failure, Applied.UNKNOWN, last.cause or "", stop)
            return Stop(ended)
        action.state, action.stop, action.applied = UNKNOWN, stop, Applied.UNKNOWN
        action.note = f"the last send ended with {last.cause}"
        return Stop("earlier")

    def abandoned(self, now: float, cause: str, *, sent: bool, status: int | None = None) -> None:
        """The caller has gone: cancelled, interrupted, or an error of the loop itself.

        `status` is that of an answer whose body was still on its way.
        """
        last = self.last
        if last is not None and last.ended is None:
            if status is not None and not self.rights.safe:
                return self._left_with(now, status, last)
            self._left_open(now, cause, last, sent=sent)
        if self.action.state == OPEN and last is None:  # gone before the first send
            self.action.ended(FAILED, FailureClass.TRANSIENT, Applied.NO, cause, "cancelled")
        elif self.action.state != DONE:
            self._give_up("cancelled")
        elif not self.rights.safe:  # a last look was still to come before it was handed over
            self._unheard()
        return None

    def _left_open(self, now: float, cause: str, last: Attempt, *, sent: bool) -> None:
        applied = Applied.UNKNOWN if sent and not self.rights.safe else Applied.NO
        write = FailureClass.UNKNOWN_OUTCOME
        failure = FailureClass.TRANSIENT if applied is Applied.NO else write
        self._close(now, failure, applied, cause, "sent" if sent else "not_sent")
        if applied is Applied.UNKNOWN:
            self.unresolved = True
            self.action.lost_end = (last.started, now)

    def _left_with(self, now: float, status: int, last: Attempt) -> None:
        """A write was answered, and its caller left before the body had come."""
        failure, applied = self._class_of(status, None)
        if failure is FailureClass.OK and status >= 300:
            applied = Applied.UNKNOWN  # it is asked for elsewhere
        self._close(now, failure, applied, str(status), "body cut")
        last.status = status
        if failure is FailureClass.OK and applied is Applied.YES:
            self._landed_unseen(status)
        elif self.action.state != DONE:
            if status in _NO_ANSWER:
                self.unresolved, self.action.lost_end = True, (last.started, now)
            self._give_up("cancelled")
