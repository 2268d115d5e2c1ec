"""One outbound message, from the application's hand to a verdict.

The theory
----------
A sender can never know that a message was *not* delivered: when no answer comes, either the
message or its acknowledgement was lost, and no further message can settle which (the two-army
problem). So this machine keeps apart what other gateways mix:

* *transport outcome* (`Transmitted`): accepted, refused, unknown. It moves timers, never the
  verdict; an HTTP 200 is not an acknowledgement (R-05, I30).
* *exposure*: whether a byte of some copy may have left. It decides what a failure means: if
  nothing ever left, the failure is certain (severity Error); otherwise it is a doubt (R-08).
* *verdict*: acknowledged, or something that says exactly how much is known.

    queued -> sending -> acknowledged                  the peer's MSH holds the message
                      -> in_doubt  (-> acknowledged)   told as Warning; a late ack is news (R-09)
                      -> failed                        only after a fence: R-08
                      -> expired                       its time passed, no byte ever left
                      -> sent                          the transport has it; nobody says more
           -> cancelled                                taken back: no byte ever left, or the
                                                       receiver holds a tombstone
                      -> settled_…                     a person's word ended the doubt: `settling`

Seed 000 §2.1.4: wait Timeout, then up to Retries resends of the same bytes, RetryInterval apart.
When they are used up the application is told at once and the pair is suspended (R-07). The
message then is `in_doubt` if a byte left; otherwise it stays `sending`, silent, until the operator
resumes the pair, which starts it again with all its retries. If the agreement says
`on_exhausted = fail`, the pair goes on instead, with its numbers reset (R-10). Nothing is sent
again past TimeToLive or PersistDuration; then the message is presumed undelivered (seed 001
§1.2.9, seed 004 level 1).

`failed` needs a fence, since a copy may still be under way: TimeToLive (or PersistDuration) plus
twice the clock accuracy has passed, or nothing left us, or the only copy that ever left was
answered with a refusal and nothing on its way makes copies (R-46), or somebody who had accepted the
message says that it was certainly not delivered.

The degrees of reliability differ in what they wait for and whom they tell:

* *AtMostOnce* is sent once. A missing acknowledgement is reported when Timeout is over, a refused
  connection or a TransientError at once, and the pair goes on (R-16, seed 000 §3.1.2).
* *BestEffort* is `sent` when its transmission ends, or `failed` if that was certainly refused.
  Nobody is told in either case, since the sending party cannot detect non-delivery (seed 000
  §3.1.3).
* *ExactlyOnce* is sent again for ever, whatever is answered. No notice goes to the application;
  once the waits, those for Pongs too, add up to PersistDuration, an operator gets an incident
  (R-17, seed 003 §1).
* *Method Transport* leaves the guarantee to a reliable product underneath: `sent` when that has
  taken the message; until then it is offered again, as the same transmission (seed 001 §1.2.4).

Level 2 of seed 004 comes before a message: a Ping, and the message at once after a good answer.
After no answer, or a bad one, there is another Ping, as often as there are retries; a message that
is then given up never left. Levels 3 to 5 come after a message: whenever the sender gives up in
doubt it says so (`Recover`), and `recovering` may have the message `Requeued`, or its cancel
confirmed.

Only a word of the partner can still change a final status, even if a person's word made it. What
was `acknowledged` becomes `failed` or `in_doubt` when an intermediary that had accepted it reports
a delivery failure (seed 001 §1.3.4.2), if the agreement says that there is one; `sent` becomes one
of them by any refusal; and both become `cancelled` when the receiver confirms a cancel: the
tombstone is a fact, whatever was known before. If the To Party itself acknowledged, by its own
acknowledgement, receipt or response (`has_arrived`), it has the message: that its application could
not process it is told once, and changes no state (R-39). `failed`, `expired` and `cancelled` stay.

A bug of ours that meets a message on its way out ends no process: the message is `Parked`, failed
if no byte of it left and in doubt otherwise, its pair goes on, and only an operator takes it up
again (R-43).

A crash is no reset. On `Restarted` the message keeps its attempt number and is transmitted again
under it, since the crash may have come before the bytes left.

The table below is total: a pair (status, event) that it lacks is illegal and raises `IllegalStep`,
which is our own bug. The diagrams in the docs are drawn from it. When a message is sent is decided
in `transmitting`, how it ends without an acknowledgement in `verdict`, the words of the state in
`outbound`.
"""

from collections.abc import Callable
from typing import Any

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.event import Event
from onceonly.message.instant import Now
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import changed
from onceonly.protocol import schedule, settling, transmitting, verdict
from onceonly.protocol.effects import (
    AdmitNext,
    Diverge,
    Journal,
    NoticeKind,
    Notify,
    OpenIncident,
    Release,
    ResolveIncident,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    CancelConfirmed,
    Cancelled,
    DeadlineReached,
    ErrorReceived,
    Held,
    Outcome,
    Parked,
    PongReceived,
    Requeued,
    Restarted,
    Resumed,
    SendingEvent,
    Settled,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.outbound import (
    FINAL,
    Effects,
    Exposure,
    IllegalStep,
    Outbound,
    OutboundStatus,
    Silence,
    Step,
    release,
)

__all__ = [
    "FINAL",
    "TABLE",
    "Exposure",
    "IllegalStep",
    "Outbound",
    "OutboundStatus",
    "Silence",
    "can_be_sent_again",
    "has_way_on",
    "hears_partner",
    "step",
    "was_parked",
    "was_refused",
]

was_parked = verdict.was_parked

_MAY_BE_TAKEN = frozenset(
    {
        ErrorCode.DELIVERY_FAILURE,
        ErrorCode.TRANSIENT_ERROR,
        ErrorCode.INVALID_SEQUENCE_NUMBER,
    }
)
"""Reasons for giving up after which another copy or number may be accepted."""


def step(state: Outbound, event: SendingEvent, now: Now, terms: DeliveryTerms) -> Step:
    """The next state and what is to be done. Pure.

    Raises `IllegalStep` for an event that the table lacks, `LocalError` (NotCancellable) for a
    `Cancelled` that comes too late, `LocalError` (NotResendable) for a `Requeued` in doubt if
    `can_be_sent_again` is False, and `LocalError` (NotSettleable) for a `Settled` without a doubt.
    """
    transition = TABLE.get((state.status, type(event)))
    if transition is None:
        raise IllegalStep(f"{type(event).__name__} in {state.status}")
    return transition(state, event, now, terms)


def can_be_sent_again(state: Outbound, now: Now) -> bool:
    """Whether the message may be `Requeued`: it was given up, and has neither expired nor a number.

    A message that kept its turn goes on when its pair is resumed; the number of an abandoned
    message cannot be used again.
    """
    return (
        state.status is OutboundStatus.IN_DOUBT
        and state.silence is not Silence.HELD
        and state.sequence_number is None
        and not schedule.is_past(state.expires_at, now)
    )


def has_way_on(state: Outbound) -> bool:
    """Whether its content may be sent as a new message without another word (R-41).

    It certainly was not delivered; or a person has given his word for that (R-49).
    """
    if state.status is OutboundStatus.SETTLED_NOT_DELIVERED:
        return True
    return state.is_certain and state.status in (OutboundStatus.FAILED, OutboundStatus.EXPIRED)


def hears_partner(event: SendingEvent, terms: DeliveryTerms) -> bool:
    """Whether the event shows that the partner works, which ends the trouble with it (R-40).

    "Not now" does not show it, nor does an intermediary that could not pass the message on, nor a
    SOAP Fault, which may be a proxy's. If only the transport answers, its taking it counts.
    """
    match event:
        case AckReceived() | CancelConfirmed():
            return True
        case PongReceived():
            return event.is_available and not event.cannot_be_asked
        case ErrorReceived():
            put_off = (ErrorCode.TRANSIENT_ERROR, ErrorCode.DELIVERY_FAILURE)
            return event.code not in put_off and not event.is_fault
        case Transmitted():
            return not terms.is_acknowledged and event.transmission.outcome is Outcome.ACCEPTED
        case _:
            return False


def was_refused(state: Outbound, now: Now) -> bool:
    """Whether the partner refuses the message for good: it would refuse the same bytes again.

    If it calls the message too old before our time for it is over, the two clocks differ; then
    neither a later resend nor another Timestamp helps.
    """
    if state.error_code is ErrorCode.TIME_TO_LIVE_EXPIRED:
        return not schedule.is_past(state.expires_at, now)
    return state.error_code is not None and state.error_code not in _MAY_BE_TAKEN


def _admit(state: Outbound, event: Admitted, now: Now, terms: DeliveryTerms) -> Step:
    """The turn has come. A message that was queued again is its stored package (R-04)."""
    number = event.sequence_number
    if schedule.is_past(state.expires_at, now):
        turn = Release(abandoned=True, is_numbered=number is not None)
        return verdict.expire(state, terms, (turn,))
    state = changed(state, status=OutboundStatus.SENDING, sequence_number=number)
    return transmitting.begin(state, event.size_bytes, now, terms)


def _acknowledge(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    if state.silence is Silence.PINGING and state.exposure is Exposure.NEVER:
        return _drop_orphan_ack(state, event, now, terms)
    if event.is_of_hop:
        return transmitting.wait_anew(state, now, terms), ()
    was_told, calm = state.error_code is not None, _calm(state, terms)
    state = _acknowledged(state, event)
    row = (_ack_row(state, event),)
    news = _late_news(state, event, terms) if was_told else row
    return state, (*news, release(state, abandoned=False), *calm)


def _acknowledge_late(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    calm = _calm(state, terms)
    state = _acknowledged(state, event)
    return state, (*_late_news(state, event, terms), release(state, abandoned=False), *calm)


def _acknowledge_settled(
    state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms
) -> Step:
    """A fact at last: it counts, whatever a person said before (R-49)."""
    against = settling.against_word(state)
    state = _acknowledged(state, event)
    return state, (*_late_news(state, event, terms), *against)


def _calm(state: Outbound, terms: DeliveryTerms) -> Effects:
    """Resolve the incident that the message opened itself."""
    return (ResolveIncident(),) if transmitting.needed_an_operator(state, terms) else ()


def _acknowledge_without_a_turn(
    state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms
) -> Step:
    """The message was sent without asking for an acknowledgement, or is queued again."""
    if state.exposure is Exposure.NEVER:
        return _drop_orphan_ack(state, event, now, terms)
    state = _acknowledged(state, event)
    return state, (_ack_row(state, event),)


def _acknowledged(state: Outbound, event: AckReceived) -> Outbound:
    return changed(
        state,
        status=OutboundStatus.ACKNOWLEDGED,
        exposure=Exposure.LEFT,
        silence=Silence.NONE,
        error_code=None,
        has_arrived=event.is_from_to_party,
        due_ns=None,
    )


def _ack_row(state: Outbound, event: AckReceived) -> Journal:
    return Journal(Event.ACK_RECEIVED, attempt=state.attempt, reason=event.detail)


def _late_news(state: Outbound, event: AckReceived, terms: DeliveryTerms) -> Effects:
    row = Journal(Event.LATE_ACK_RECEIVED, attempt=state.attempt, reason=event.detail)
    if not verdict.notifies(terms):
        return (row,)
    return (
        row,
        Journal(Event.NOTIFIED, severity=Severity.WARNING, reason=NoticeKind.ACKNOWLEDGED_LATE),
        Notify(
            NoticeKind.ACKNOWLEDGED_LATE,
            Severity.WARNING,
            ErrorCode.DELIVERY_FAILURE,
            "the acknowledgement came after the failure notice",
            state.episode,
        ),
    )


def _note_late_ack(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    """A final status stays; the application is told of the acknowledgement nevertheless (R-09).

    If a copy had left, the end is not certain any more (R-41).
    """
    nothing_left = state.exposure is Exposure.NEVER
    state = changed(state, is_certain=state.is_certain and nothing_left)
    return state, _late_news(state, event, terms)


def _take_repeated_ack(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    """An answer of the To Party itself does not repeat an intermediary's: it has its own row."""
    if event.is_from_to_party:
        return changed(state, has_arrived=True), ()
    return state, (Journal(Event.REPEATED_ACK_RECEIVED, reason=event.detail),)


def _drop_orphan_ack(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    reason = "acknowledged before it was ever sent"
    return state, (Journal(Event.ORPHAN_ACK_RECEIVED, reason=reason),)


def _take_error(  # noqa: PLR0911 - because it is the table of what a peer can say, a line each
    state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms
) -> Step:
    row = _error_row(event)
    nothing_left = state.silence is Silence.PINGING and state.exposure is Exposure.NEVER
    if nothing_left or terms.semantics is DeliverySemantics.BEST_EFFORT:
        return state, (row,)
    if event.code is ErrorCode.TRANSIENT_ERROR:
        return _take_transient_error(state, event, now, terms)
    if event.code is ErrorCode.INVALID_SEQUENCE_NUMBER and state.sequence_number is not None:
        reason = event.description or "the peer expected another SequenceNumber"
        state, told = verdict.diverged(state, event.code, reason, terms)
        return state, (row, *told, Diverge(reason))
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return state, (row,)
    if event.severity is Severity.ERROR:
        return verdict.refused(state, event, row, terms)
    if event.code is ErrorCode.DELIVERY_FAILURE:
        return verdict.refused(changed(state, exposure=Exposure.LEFT), event, row, terms)
    return state, (row,)


PUT_OFF = "the peer kept answering TransientError"
"""Why a message is given up, or, if it never is (R-17), why an operator is told."""


def _take_transient_error(
    state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms
) -> Step:
    """Seed 000 §4.2 and R-15: pause, then resend; it does not count, but it has a limit."""
    row = _error_row(event)
    # This is not a final refusal: a copy that the network repeats, or that a relay has, may be
    # accepted a moment later.
    state = changed(state, exposure=Exposure.LEFT)
    if terms.semantics is DeliverySemantics.AT_MOST_ONCE:
        return verdict.refused(state, event, row, terms)
    if state.silence in (Silence.HELD, Silence.PINGING):
        return state, (row,)
    # Nothing was sent since the pause began: it is the same answer again, or one to an earlier
    # copy.
    transients = state.transients + (state.silence is not Silence.PAUSED)
    is_enough = transients > terms.transient_retries
    reason = f"{PUT_OFF}: {event.description}" if event.description else PUT_OFF
    if is_enough and terms.semantics is not DeliverySemantics.EXACTLY_ONCE:
        state, effects = verdict.give_up(state, ErrorCode.TRANSIENT_ERROR, reason, terms)
        return state, (row, *effects)
    is_news = transients == terms.transient_retries + 1 and transients != state.transients
    state = changed(
        state,
        transients=transients,
        silence=Silence.PAUSED,
        due_ns=schedule.pause_ends_ns(event.min_retry_s, now, terms),
    )
    return state, (row, OpenIncident(reason)) if is_news else (row,)


def _take_error_after_all(
    state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms
) -> Step:
    """An error about an accepted message: it counts if it says that it was not delivered.

    No state changes after the To Party's own acknowledgement, whatever its application says (R-39).
    """
    row = _error_row(event)
    is_acknowledged = state.status is OutboundStatus.ACKNOWLEDGED
    is_failure = event.code is ErrorCode.DELIVERY_FAILURE
    is_error = event.severity is Severity.ERROR
    is_refusal = is_error and (terms.reports_refusals or not is_acknowledged)
    if terms.semantics is DeliverySemantics.BEST_EFFORT or not (is_failure or is_refusal):
        return state, (row,)
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return state, (row, OpenIncident(f"an ExactlyOnce message met {event.code}"))
    is_between = terms.intermediary is Intermediary.ACCEPT
    if state.has_arrived and is_between and event.severity is Severity.WARNING:
        return state, (row,)
    if is_acknowledged and (state.has_arrived or not is_between):
        return verdict.not_processed(state, event, row, terms)
    return verdict.undelivered(state, event, row, terms)


def _error_row(event: ErrorReceived) -> Journal:
    return Journal(
        Event.FAULT_RECEIVED if event.is_fault else Event.ERROR_RECEIVED,
        error_code=event.code,
        severity=event.severity,
        reason=event.description or None,
    )


def _take_error_after_word(
    state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms
) -> Step:
    return settling.doubt_again(state, event, _error_row(event), terms)


def _note_error(state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms) -> Step:
    return state, (_error_row(event),)


def _pass_time(state: Outbound, event: TimePassed, now: Now, terms: DeliveryTerms) -> Step:
    """The time of the message passed while it is under way (R-08)."""
    return (
        verdict.expire_on_its_way(state, terms, event.before)
        if schedule.is_past(state.expires_at, now)
        else (state, ())
    )


def _pass_time_queued(state: Outbound, event: TimePassed, now: Now, terms: DeliveryTerms) -> Step:
    if not schedule.is_past(state.expires_at, now):
        return state, ()
    return verdict.expire(state, terms, (), event.before)


def _pass_fence(state: Outbound, event: TimePassed, now: Now, terms: DeliveryTerms) -> Step:
    return verdict.pass_fence(state, now, terms, event.before)


def _hold(state: Outbound, event: Held, now: Now, terms: DeliveryTerms) -> Step:
    return changed(state, due_ns=None, silence=Silence.HELD), ()


def _park(state: Outbound, event: Parked, now: Now, terms: DeliveryTerms) -> Step:
    return verdict.park(state, event, terms)


def _resume(state: Outbound, event: Resumed, now: Now, terms: DeliveryTerms) -> Step:
    """Seed 000 §2.1.4.3: the counter is zero again, and the uncompleted message is sent first."""
    state = changed(
        state,
        status=OutboundStatus.SENDING,
        episode=state.episode + 1,
        error_code=None,
        transients=0,
        silence=Silence.NONE,
    )
    return transmitting.begin(state, event.size_bytes, now, terms)


def _requeue(state: Outbound, event: Requeued, now: Now, terms: DeliveryTerms) -> Step:
    """Level 3 (3a): the same message again under the same MessageId, in its turn (S4-24)."""
    if not can_be_sent_again(state, now):
        raise LocalError("NotResendable", "its pair has to be resumed, or its time has passed")
    state = changed(
        state,
        status=OutboundStatus.QUEUED,
        attempt=0,
        episode=state.episode + 1,
        error_code=None,
        transients=0,
        pings=0,
    )
    return state, (Journal(Event.REQUEUED, reason=event.reason), AdmitNext())


def _restart(state: Outbound, event: Restarted, now: Now, terms: DeliveryTerms) -> Step:
    if state.silence is Silence.PINGING:
        return transmitting.ping(changed(state, pings=state.pings - 1), now, terms)
    return transmitting.transmit(state, state.attempt)


def _cancel(state: Outbound, event: Cancelled, now: Now, terms: DeliveryTerms) -> Step:
    if state.exposure is not Exposure.NEVER:
        raise LocalError(
            "NotCancellable", "a copy may have left; only the receiver can confirm a cancel now"
        )
    return _cancelled(state, None)


def _confirm_cancel(
    state: Outbound, event: CancelConfirmed, now: Now, terms: DeliveryTerms
) -> Step:
    return _cancelled(state, "the receiver confirmed that it never processes it")


def _cancelled(state: Outbound, reason: str | None) -> Step:
    may_have_a_turn = state.status in (OutboundStatus.SENDING, OutboundStatus.IN_DOUBT)
    turn = (release(state, abandoned=True),) if may_have_a_turn else ()
    was_said = state.status is OutboundStatus.SETTLED_DELIVERED
    told = (OpenIncident(settling.CANCELLED_AGAINST_WORD),) if was_said else ()
    state = changed(state, status=OutboundStatus.CANCELLED, silence=Silence.NONE, due_ns=None)
    return state, (Journal(Event.CANCELLED, reason=reason), *turn, *told)


def _refuse_cancel(state: Outbound, event: Cancelled, now: Now, terms: DeliveryTerms) -> Step:
    raise LocalError("NotCancellable", f"the message is {state.status} already")


def _settle(state: Outbound, event: Settled, now: Now, terms: DeliveryTerms) -> Step:
    return settling.settle(state, event, terms)


def _refuse_word(state: Outbound, event: Settled, now: Now, terms: DeliveryTerms) -> Step:
    raise LocalError("NotSettleable", settling.what_else(state))


def _stay(state: Outbound, event: SendingEvent, now: Now, terms: DeliveryTerms) -> Step:
    """A timer, sweep, hold or late confirmation that came after a verdict."""
    return state, ()


# Each transition takes its own type of event; the key of its row guarantees that type.
Transition = Callable[[Outbound, Any, Now, DeliveryTerms], Step]

_Q, _S, _D = OutboundStatus.QUEUED, OutboundStatus.SENDING, OutboundStatus.IN_DOUBT
_A, _F, _E, _C, _T, _Y, _N = (
    OutboundStatus.ACKNOWLEDGED,
    OutboundStatus.FAILED,
    OutboundStatus.EXPIRED,
    OutboundStatus.CANCELLED,
    OutboundStatus.SENT,
    OutboundStatus.SETTLED_DELIVERED,
    OutboundStatus.SETTLED_NOT_DELIVERED,
)

_STALE: tuple[type[SendingEvent], ...] = (DeadlineReached, TimePassed, Held, Parked)
"""Events that may come after the end of a message, and change nothing."""

TABLE: dict[tuple[OutboundStatus, type[SendingEvent]], Transition] = {
    (_Q, Admitted): _admit,
    (_Q, Transmitted): transmitting.note_outcome,
    (_Q, DeadlineReached): _stay,
    (_Q, AckReceived): _acknowledge_without_a_turn,
    (_Q, ErrorReceived): _note_error,
    (_Q, PongReceived): transmitting.note_pong,
    (_Q, TimePassed): _pass_time_queued,
    (_Q, Cancelled): _cancel,
    (_Q, CancelConfirmed): _confirm_cancel,
    (_Q, Parked): _park,
    (_S, Transmitted): transmitting.take_outcome,
    (_S, DeadlineReached): transmitting.reach_deadline,
    (_S, AckReceived): _acknowledge,
    (_S, ErrorReceived): _take_error,
    (_S, PongReceived): transmitting.take_pong,
    (_S, TimePassed): _pass_time,
    (_S, Held): _hold,
    (_S, Resumed): _resume,
    (_S, Restarted): _restart,
    (_S, Cancelled): _cancel,
    (_S, CancelConfirmed): _confirm_cancel,
    (_S, Parked): _park,
    (_D, Transmitted): transmitting.note_outcome,
    (_D, DeadlineReached): _stay,
    (_D, AckReceived): _acknowledge_late,
    (_D, ErrorReceived): _note_error,
    (_D, PongReceived): transmitting.note_pong,
    (_D, TimePassed): _pass_fence,
    (_D, Held): _stay,
    (_D, Parked): _stay,
    (_D, Resumed): _resume,
    (_D, Cancelled): _refuse_cancel,
    (_D, CancelConfirmed): _confirm_cancel,
    (_D, Requeued): _requeue,
    (_D, Settled): _settle,
    (_A, AckReceived): _take_repeated_ack,
    (_T, AckReceived): _acknowledge_without_a_turn,
    **{(status, AckReceived): _note_late_ack for status in (_F, _E, _C)},
    **{(status, ErrorReceived): _take_error_after_all for status in (_A, _T)},
    **{(status, AckReceived): _acknowledge_settled for status in (_Y, _N)},
    (_Y, ErrorReceived): _take_error_after_word,
    **{(status, ErrorReceived): _note_error for status in (_F, _E, _C, _N)},
    **{(status, CancelConfirmed): _confirm_cancel for status in (_A, _T, _Y, _N)},
    **{(status, CancelConfirmed): _stay for status in (_F, _E, _C)},
    **{(status, Transmitted): transmitting.note_outcome for status in FINAL},
    **{(status, PongReceived): transmitting.note_pong for status in FINAL},
    **{(status, Cancelled): _refuse_cancel for status in FINAL},
    **{(status, Settled): _refuse_word for status in (_Q, _S, *FINAL)},
    **{(status, stale): _stay for status in FINAL for stale in _STALE},
}
"""Every legal (status, event). What is missing is illegal, and the tests say why for each."""
