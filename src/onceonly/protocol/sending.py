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
                      -> failed                        behind a fence only: R-08
                      -> expired                       TimeToLive passed, no byte ever left
           -> cancelled                                taken back, no byte ever left

Seed 000 §2.1.4: wait Timeout, then up to Retries resends of the same bytes, RetryInterval apart.
When they are used up the application is told at once and the pair is suspended (R-07). The
message then is `in_doubt` if a byte left; otherwise it stays `sending`, silent, until the operator
resumes the pair, which starts it anew with a full budget. Where the agreement says
`on_exhausted = fail`, the pair goes on instead, with its numbers reset (R-10).

`failed` needs a fence, since a copy may still be under way: TimeToLive plus clock accuracy has
passed, or nothing left us, or the only copy that ever left was answered with a refusal.

A crash is no reset. On `Restarted` the message keeps its attempt number and is transmitted again
under it, since the crash may have come before the bytes left.

The table below is total: a pair (status, event) that it lacks is illegal and raises
`IllegalStep`, which is our own bug. The diagrams in the docs are drawn from it.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.event import Event
from onceonly.message.instant import Now
from onceonly.message.terms import DeliveryTerms, OnExhausted
from onceonly.protocol import schedule
from onceonly.protocol.effects import (
    Diverge,
    Effect,
    GiveUp,
    Journal,
    NoticeKind,
    Notify,
    Release,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    Cancelled,
    DeadlineReached,
    ErrorReceived,
    Held,
    Restarted,
    Resumed,
    SendingEvent,
    TimePassed,
    Transmitted,
)


class OutboundStatus(StrEnum):
    """Where an outbound message stands; all but the first three are final."""

    QUEUED = "queued"
    SENDING = "sending"
    IN_DOUBT = "in_doubt"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SENT = "sent"
    """The transport has it, which is all that was agreed: BestEffort, or method Transport."""

    @property
    def is_final(self) -> bool:
        """Whether nothing but news of a late acknowledgement can follow."""
        return self in FINAL


FINAL = frozenset(
    {
        OutboundStatus.ACKNOWLEDGED,
        OutboundStatus.FAILED,
        OutboundStatus.EXPIRED,
        OutboundStatus.CANCELLED,
        OutboundStatus.SENT,
    }
)


class Exposure(StrEnum):
    """Whether a byte of some copy may have left us."""

    NEVER = "never"
    OPEN = "open"
    """Only one transmission was begun; a byte of it may have left, unless its outcome denies it."""
    LEFT = "left"
    """Several were begun, or the peer has said something about the message."""


class Silence(StrEnum):
    """Why nothing is sent although no response is waited for."""

    NONE = "none"
    PAUSED = "paused"
    """The peer asked for a pause; the resend at its end is not counted (R-15)."""
    HELD = "held"
    """The pair is suspended; not a byte until it is resumed (I27)."""
    PINGING = "pinging"
    """The partner is asked first whether it takes messages (level 2)."""


class Outbound(NamedTuple):
    """The state of one outbound message. All of it is durable except `due_ns`."""

    status: OutboundStatus = OutboundStatus.QUEUED
    attempt: int = 0
    """Transmissions since the message was admitted or the pair resumed."""
    episode: int = 0
    """How often the message was started anew by a resume; notices are once per episode."""
    exposure: Exposure = Exposure.NEVER
    sequence_number: int | None = None
    expires_at: int | None = None
    transients: int = 0
    """Pauses asked for by TransientError since the last counted transmission."""
    silence: Silence = Silence.NONE
    pings: int = 0
    """Pings without a good answer since the message was admitted (level 2)."""
    error_code: ErrorCode | None = None
    """Why the message is not delivered, where it is not."""
    due_ns: int | None = None
    """Monotonic deadline; meaningless after a restart, which sends `Restarted` instead."""


class IllegalStep(AssertionError):  # noqa: N818 - because it names our bug, not an error to handle
    """An event that the state does not allow: a bug of ours, never of the peer's."""


Effects = tuple[Effect, ...]
Step = tuple[Outbound, Effects]


def step(state: Outbound, event: SendingEvent, now: Now, terms: DeliveryTerms) -> Step:
    """The next state and what is to be done. Pure.

    Raises `IllegalStep` for an event that the table lacks, `LocalError` (NotCancellable) for a
    `Cancelled` that comes too late.
    """
    transition = TABLE.get((state.status, type(event)))
    if transition is None:
        raise IllegalStep(f"{type(event).__name__} in {state.status}")
    return transition(state, event, now, terms)


def _admit(state: Outbound, event: Admitted, now: Now, terms: DeliveryTerms) -> Step:
    if schedule.is_past(state.expires_at, now):
        return _expire(state, abandoned=True)
    number = event.sequence_number
    state = state._replace(
        status=OutboundStatus.SENDING, attempt=1, exposure=Exposure.OPEN, sequence_number=number
    )
    return state, (Journal(Event.TRANSMITTING, attempt=1, sequence_number=number), Transmit(1))


def _note_outcome(state: Outbound, event: Transmitted, now: Now, terms: DeliveryTerms) -> Step:
    """Outcome of a transmission in a status that waits for no response any more."""
    exposure = _exposure_after(state, event)
    if exposure is not state.exposure:
        state = state._replace(exposure=exposure)
    return state, (_outcome_row(event, state),)


def _wait_for_response(state: Outbound, event: Transmitted, now: Now, terms: DeliveryTerms) -> Step:
    state, effects = _note_outcome(state, event, now, terms)
    # A pause asked for while the transmission was still ending, or a resume since, stands.
    if state.silence is Silence.NONE and event.attempt == state.attempt:
        state = state._replace(due_ns=schedule.response_due_ns(state.attempt, now, terms))
    return state, effects


def _outcome_row(event: Transmitted, state: Outbound) -> Journal:
    sent = event.transmission
    return Journal(
        Event.TRANSMITTED,
        attempt=event.attempt,
        sequence_number=state.sequence_number,
        outcome=sent.outcome.value,
        status_code=sent.status_code,
        reason=sent.detail or None,
    )


def _exposure_after(state: Outbound, event: Transmitted) -> Exposure:
    """Only the certainty that nothing left is news; "perhaps" is what an open exposure says."""
    if state.exposure is Exposure.OPEN and not event.transmission.bytes_left:
        return Exposure.NEVER
    return state.exposure


def _resend_or_give_up(
    state: Outbound, event: DeadlineReached, now: Now, terms: DeliveryTerms
) -> Step:
    if schedule.is_past(state.expires_at, now):
        return _pass_time(state, TimePassed(), now, terms)
    if state.silence is Silence.HELD:
        return state, ()
    if state.silence is Silence.PAUSED:
        return _transmit(state._replace(silence=Silence.NONE), state.attempt)
    if terms.retries is None or state.attempt <= terms.retries:
        return _transmit(state._replace(transients=0), state.attempt + 1)
    return _give_up(
        state, ErrorCode.DELIVERY_FAILURE, "no acknowledgement after the last retry", terms
    )


def _transmit(state: Outbound, attempt: int) -> Step:
    # An exposure that is still open belongs to a transmission that may have let bytes out.
    exposure = Exposure.OPEN if state.exposure is Exposure.NEVER else Exposure.LEFT
    state = state._replace(attempt=attempt, exposure=exposure, due_ns=None)
    row = Journal(Event.TRANSMITTING, attempt=attempt, sequence_number=state.sequence_number)
    return state, (row, Transmit(attempt))


def _give_up(state: Outbound, code: ErrorCode, reason: str, terms: DeliveryTerms) -> Step:
    """Ruling R-07: tell the application at once; the pair suspends, or goes on without it."""
    row = Journal(Event.EXHAUSTED, attempt=state.attempt, error_code=code, reason=reason)
    if terms.on_exhausted is OnExhausted.SUSPEND:
        status = (
            OutboundStatus.SENDING if state.exposure is Exposure.NEVER else OutboundStatus.IN_DOUBT
        )
        state = state._replace(status=status, error_code=code, due_ns=None, silence=Silence.HELD)
        return state, (row, *_notice(state, code, reason), GiveUp(reason))
    return _abandon(state, code, reason, row)


def _abandon(state: Outbound, code: ErrorCode, reason: str, row: Journal) -> Step:
    """The pair goes on without the message, whose number it takes back (R-10)."""
    certain = state.exposure is Exposure.NEVER
    status = OutboundStatus.FAILED if certain else OutboundStatus.IN_DOUBT
    state = state._replace(status=status, error_code=code, due_ns=None)
    final = (Journal(Event.FAILED, error_code=code, reason=reason),) if certain else ()
    return state, (row, *_notice(state, code, reason), *final, Release(abandoned=True))


def _notice(state: Outbound, code: ErrorCode, reason: str) -> tuple[Journal, Notify]:
    severity = Severity.ERROR if state.exposure is Exposure.NEVER else Severity.WARNING
    row = Journal(
        Event.NOTIFIED,
        error_code=code,
        severity=severity,
        reason=NoticeKind.DELIVERY_FAILURE,
    )
    return row, Notify(NoticeKind.DELIVERY_FAILURE, severity, code, reason, state.episode)


def _acknowledge(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    told = state.error_code is not None
    state = _acknowledged(state)
    if told:
        return state, (*_late_news(state), Release(abandoned=False))
    return state, (Journal(Event.ACK_RECEIVED, attempt=state.attempt), Release(abandoned=False))


def _acknowledge_late(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    state = _acknowledged(state)
    return state, (*_late_news(state), Release(abandoned=False))


def _acknowledged(state: Outbound) -> Outbound:
    return state._replace(
        status=OutboundStatus.ACKNOWLEDGED,
        exposure=Exposure.LEFT,
        silence=Silence.NONE,
        error_code=None,
        due_ns=None,
    )


def _late_news(state: Outbound) -> Effects:
    return (
        Journal(Event.LATE_ACK_RECEIVED, attempt=state.attempt),
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
    """A final status stays final; the application is told all the same (R-09)."""
    return state, _late_news(state)


def _ignore_repeated_ack(
    state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms
) -> Step:
    return state, (Journal(Event.REPEATED_ACK_RECEIVED),)


def _drop_orphan_ack(state: Outbound, event: AckReceived, now: Now, terms: DeliveryTerms) -> Step:
    reason = "acknowledged before it was ever sent"
    return state, (Journal(Event.ORPHAN_ACK_RECEIVED, reason=reason),)


def _take_error(state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms) -> Step:
    row = _error_row(event)
    if event.code is ErrorCode.TRANSIENT_ERROR:
        return _pause(state, event, now, terms)
    if event.code is ErrorCode.INVALID_SEQUENCE_NUMBER:
        reason = event.description or "the peer expected another SequenceNumber"
        state = state._replace(
            status=OutboundStatus.IN_DOUBT,
            exposure=Exposure.LEFT,
            error_code=event.code,
            silence=Silence.NONE,
            due_ns=None,
        )
        return state, (row, *_notice(state, event.code, reason), Diverge(reason))
    if event.severity is Severity.WARNING:
        return state, (row,)
    return _refused(state, event, row)


def _pause(state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms) -> Step:
    """Seed 000 §4.2 and R-15: be silent, then resend; not counted, but not for ever."""
    row = _error_row(event)
    if state.transients >= terms.transient_retries:
        reason = "the peer kept answering TransientError"
        state = state._replace(exposure=Exposure.LEFT)
        state, effects = _give_up(state, ErrorCode.TRANSIENT_ERROR, reason, terms)
        return state, (row, *effects)
    if state.silence is Silence.HELD:
        return state._replace(exposure=Exposure.LEFT), (row,)
    state = state._replace(
        exposure=Exposure.LEFT,
        transients=state.transients + 1,
        silence=Silence.PAUSED,
        due_ns=schedule.pause_ends_ns(event.min_retry_s, now, terms),
    )
    return state, (row,)


def _refused(state: Outbound, event: ErrorReceived, row: Journal) -> Step:
    """The peer will not have it. Certain only if the refused copy is the only one that left."""
    is_only_copy = state.attempt == 1 and state.episode == 0 and state.transients == 0
    status = OutboundStatus.FAILED if is_only_copy else OutboundStatus.IN_DOUBT
    reason = f"refused by the peer: {event.code}"
    if event.description:
        reason += f": {event.description}"
    state = state._replace(
        status=status,
        exposure=Exposure.LEFT,
        error_code=event.code,
        silence=Silence.NONE,
        due_ns=None,
    )
    final = (Journal(Event.FAILED, error_code=event.code, reason=reason),) if is_only_copy else ()
    return state, (row, *_notice(state, event.code, reason), *final, Release(abandoned=True))


def _error_row(event: ErrorReceived) -> Journal:
    return Journal(
        Event.ERROR_RECEIVED,
        error_code=event.code,
        severity=event.severity,
        reason=event.description or None,
    )


def _note_error(state: Outbound, event: ErrorReceived, now: Now, terms: DeliveryTerms) -> Step:
    return state, (_error_row(event),)


def _pass_time(state: Outbound, event: TimePassed, now: Now, terms: DeliveryTerms) -> Step:
    """TimeToLive while the message is on its way (R-08)."""
    if not schedule.is_past(state.expires_at, now):
        return state, ()
    if state.exposure is Exposure.NEVER:
        return _expire(state, abandoned=True)
    reason = "TimeToLive passed without an acknowledgement"
    code = ErrorCode.TIME_TO_LIVE_EXPIRED
    told = state.error_code is not None
    state = state._replace(
        status=OutboundStatus.IN_DOUBT, error_code=code, silence=Silence.NONE, due_ns=None
    )
    notice = () if told else _notice(state, code, reason)
    row = Journal(Event.EXHAUSTED, attempt=state.attempt, error_code=code, reason=reason)
    return state, (row, *notice, Release(abandoned=True))


def _pass_time_queued(state: Outbound, event: TimePassed, now: Now, terms: DeliveryTerms) -> Step:
    if not schedule.is_past(state.expires_at, now):
        return state, ()
    return _expire(state, abandoned=False)


def _expire(state: Outbound, *, abandoned: bool) -> Step:
    code = ErrorCode.TIME_TO_LIVE_EXPIRED
    reason = "TimeToLive passed before the message could be sent"
    state = state._replace(status=OutboundStatus.EXPIRED, error_code=code, due_ns=None)
    release = (Release(abandoned=True),) if abandoned else ()
    return state, (
        *_notice(state, code, reason),
        Journal(Event.EXPIRED, error_code=code, reason=reason),
        *release,
    )


def _pass_fence(state: Outbound, event: TimePassed, now: Now, terms: DeliveryTerms) -> Step:
    if not schedule.is_past_fence(state.expires_at, now, terms):
        return state, ()
    reason = "TimeToLive and clock accuracy passed without an acknowledgement"
    state = state._replace(status=OutboundStatus.FAILED)
    return state, (
        Journal(Event.FAILED, error_code=state.error_code, reason=reason),
        Release(abandoned=True),
    )


def _hold(state: Outbound, event: Held, now: Now, terms: DeliveryTerms) -> Step:
    return state._replace(due_ns=None, silence=Silence.HELD), ()


def _resume(state: Outbound, event: Resumed, now: Now, terms: DeliveryTerms) -> Step:
    """Seed 000 §2.1.4.3: the counter is zero again, and the uncompleted message goes first."""
    state = state._replace(
        status=OutboundStatus.SENDING,
        episode=state.episode + 1,
        error_code=None,
        transients=0,
        silence=Silence.NONE,
    )
    return _transmit(state, 1)


def _restart(state: Outbound, event: Restarted, now: Now, terms: DeliveryTerms) -> Step:
    return _transmit(state._replace(silence=Silence.NONE), state.attempt)


def _cancel(state: Outbound, event: Cancelled, now: Now, terms: DeliveryTerms) -> Step:
    if state.exposure is not Exposure.NEVER:
        raise LocalError(
            "NotCancellable", "a copy may have left; only the receiver can confirm a cancel now"
        )
    on_its_way = state.status is OutboundStatus.SENDING
    state = state._replace(status=OutboundStatus.CANCELLED, due_ns=None)
    release = (Release(abandoned=True),) if on_its_way else ()
    return state, (Journal(Event.CANCELLED), *release)


def _refuse_cancel(state: Outbound, event: Cancelled, now: Now, terms: DeliveryTerms) -> Step:
    raise LocalError("NotCancellable", f"the message is {state.status} already")


def _stay(state: Outbound, event: SendingEvent, now: Now, terms: DeliveryTerms) -> Step:
    """A timer, sweep or hold that lost a race against a verdict."""
    return state, ()


# Each transition takes its own event type; the key of the row is what guarantees it.
Transition = Callable[[Outbound, Any, Now, DeliveryTerms], Step]

_Q, _S, _D = OutboundStatus.QUEUED, OutboundStatus.SENDING, OutboundStatus.IN_DOUBT
_A, _F, _E, _C = (
    OutboundStatus.ACKNOWLEDGED,
    OutboundStatus.FAILED,
    OutboundStatus.EXPIRED,
    OutboundStatus.CANCELLED,
)

TABLE: dict[tuple[OutboundStatus, type[SendingEvent]], Transition] = {
    (_Q, Admitted): _admit,
    (_Q, AckReceived): _drop_orphan_ack,
    (_Q, ErrorReceived): _note_error,
    (_Q, TimePassed): _pass_time_queued,
    (_Q, Cancelled): _cancel,
    (_S, Transmitted): _wait_for_response,
    (_S, DeadlineReached): _resend_or_give_up,
    (_S, AckReceived): _acknowledge,
    (_S, ErrorReceived): _take_error,
    (_S, TimePassed): _pass_time,
    (_S, Held): _hold,
    (_S, Resumed): _resume,
    (_S, Restarted): _restart,
    (_S, Cancelled): _cancel,
    (_D, Transmitted): _note_outcome,
    (_D, DeadlineReached): _stay,
    (_D, AckReceived): _acknowledge_late,
    (_D, ErrorReceived): _note_error,
    (_D, TimePassed): _pass_fence,
    (_D, Held): _stay,
    (_D, Resumed): _resume,
    (_D, Cancelled): _refuse_cancel,
    (_A, AckReceived): _ignore_repeated_ack,
    (_F, AckReceived): _note_late_ack,
    (_E, AckReceived): _note_late_ack,
    (_C, AckReceived): _note_late_ack,
    **{
        (status, late): _note_outcome if late is Transmitted else _note_error
        for status in (_A, _F, _E, _C)
        for late in (Transmitted, ErrorReceived)
    },
    **{
        (status, stale): _stay
        for status in (_A, _F, _E, _C)
        for stale in (DeadlineReached, TimePassed, Held)
    },
    **{(status, Cancelled): _refuse_cancel for status in (_A, _F, _E, _C)},
}
"""Every legal (status, event). What is missing is illegal, and the tests say why for each."""
