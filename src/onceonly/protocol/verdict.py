"""How an outbound message ends without an acknowledgement, and who is told.

Knows when a failure is certain (severity Error): if no byte ever left us, or if the only copy was
refused. Everything else is a doubt (severity Warning, R-08). Must not know why the message ends;
`sending` decides that. Rulings R-07 to R-10, R-16, R-17, R-21; seed 001 §1.6.
"""

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import Now
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted
from onceonly.message.word import changed
from onceonly.protocol import schedule
from onceonly.protocol.effects import (
    GiveUp,
    Journal,
    NoticeKind,
    Notify,
    OpenIncident,
    Recover,
    Release,
    TellTrouble,
)
from onceonly.protocol.events import ErrorReceived, Outcomes, Parked
from onceonly.protocol.outbound import (
    Effects,
    Exposure,
    Outbound,
    OutboundStatus,
    Silence,
    Step,
    release,
)


def notifies(terms: DeliveryTerms) -> bool:
    """Whether the application is told of failures: not for BestEffort, and not for ExactlyOnce.

    For BestEffort see seed 000 §3.1.3: the sending party cannot detect non-delivery. For
    ExactlyOnce see R-17.
    """
    return terms.semantics not in (DeliverySemantics.BEST_EFFORT, DeliverySemantics.EXACTLY_ONCE)


def with_last(reason: str, outcomes: Outcomes) -> str:
    """The reason with the outcome of the last transmission, so that causes can be told apart."""
    return f"{reason}; last outcome: {outcomes[0].words}" if outcomes else reason


def give_up(state: Outbound, code: ErrorCode, reason: str, terms: DeliveryTerms) -> Step:
    """Ruling R-07: tell the application at once; the pair suspends, or goes on without it."""
    row = Journal(Event.EXHAUSTED, attempt=state.attempt, error_code=code, reason=reason)
    if not _suspends(terms):
        return _abandon(state, code, reason, row, terms)
    certain = state.exposure is Exposure.NEVER
    status = OutboundStatus.SENDING if certain else OutboundStatus.IN_DOUBT
    told = _notice(state, code, reason, terms)
    state = changed(state, status=status, error_code=code, due_ns=None, silence=Silence.HELD)
    return state, (row, *told, GiveUp(reason), *_recovery(state, reason, terms))


def _suspends(terms: DeliveryTerms) -> bool:
    return terms.on_exhausted is OnExhausted.SUSPEND and terms.semantics in (
        DeliverySemantics.ONCE_AND_ONLY_ONCE,
        DeliverySemantics.AT_LEAST_ONCE,
    )


def _abandon(
    state: Outbound, code: ErrorCode, reason: str, row: Journal, terms: DeliveryTerms
) -> Step:
    """The pair goes on without the message and takes its number back (R-10)."""
    certain = state.exposure is Exposure.NEVER
    state, effects = _settle(state, code, reason, row, terms, is_certain=certain)
    return state, (*effects, TellTrouble(reason), *_recovery(state, reason, terms))


def _settle(
    state: Outbound,
    code: ErrorCode,
    reason: str,
    row: Journal,
    terms: DeliveryTerms,
    *,
    is_certain: bool,
) -> Step:
    status = OutboundStatus.FAILED if is_certain else OutboundStatus.IN_DOUBT
    told = _notice(state, code, reason, terms)
    state = changed(
        state,
        status=status,
        error_code=code,
        silence=Silence.NONE,
        is_certain=is_certain,
        due_ns=None,
    )
    final = (Journal(Event.FAILED, error_code=code, reason=reason),) if is_certain else ()
    return state, (row, *told, *final, release(state, abandoned=True))


def park(state: Outbound, event: Parked, terms: DeliveryTerms) -> Step:
    """R-43: a bug of ours met the message. Certain if no byte ever left; the pair goes on (R-10).

    No rule asks about it or sends it again: an operator looks at it and takes it up.
    """
    if state.exposure is Exposure.OPEN and not event.bytes_left:
        state = changed(state, exposure=Exposure.NEVER)
    if state.sequence_number is None:
        state = changed(state, sequence_number=event.sequence_number)
    reason = f"{PARKED}{event.reason}"
    row = Journal(
        Event.PARKED, attempt=state.attempt, error_code=ErrorCode.UNKNOWN, reason=event.reason
    )
    is_certain = state.exposure is Exposure.NEVER
    state, effects = _settle(state, ErrorCode.UNKNOWN, reason, row, terms, is_certain=is_certain)
    return state, (*effects, OpenIncident(event.reason, is_parked=True))


PARKED = "parked: "
"""Beginning of the reason of a parked message."""


def was_parked(state: Outbound) -> bool:
    """Whether the message was parked before any byte left, so that it may be sent as a new one."""
    return (
        state.status is OutboundStatus.FAILED
        and state.exposure is Exposure.NEVER
        and state.error_code is ErrorCode.UNKNOWN
    )


def _recovery(
    state: Outbound, reason: str, terms: DeliveryTerms, *, is_told: bool = False
) -> Effects:
    """Only after giving up, and only if the outcome is in doubt (seed 004 level 3)."""
    asks = terms.recovery.inquires and state.status is OutboundStatus.IN_DOUBT
    return (Recover(reason, is_told),) if asks else ()


def _notice(
    state: Outbound,
    code: ErrorCode,
    reason: str,
    terms: DeliveryTerms,
    severity: Severity | None = None,
) -> Effects:
    """Notice about the end of the message, once in an episode: `error_code` shows it (I22)."""
    if not notifies(terms) or state.error_code is not None:
        return ()
    if severity is None:
        severity = Severity.ERROR if state.exposure is Exposure.NEVER else Severity.WARNING
    kind = NoticeKind.DELIVERY_FAILURE
    row = Journal(Event.NOTIFIED, error_code=code, severity=severity, reason=kind)
    return row, Notify(kind, severity, code, reason, state.episode)


def refused(state: Outbound, event: ErrorReceived, row: Journal, terms: DeliveryTerms) -> Step:
    """The peer refused the message. Certain only if the refused copy is the only one that exists.

    If copies may be made on the way, another one may be stored (R-46); only an intermediary that
    accepted the message knows that it had just one.
    """
    is_only_copy = _is_only_copy(state, terms) or (
        state.exposure is not Exposure.LEFT and _is_the_owner_s_word(event, terms)
    )
    state = changed(state, exposure=Exposure.LEFT)
    reason = _why(event)
    state, effects = _settle(state, event.code, reason, row, terms, is_certain=is_only_copy)
    return state, (*effects, *_recovery(state, reason, terms, is_told=True))


def _is_only_copy(state: Outbound, terms: DeliveryTerms) -> bool:
    return state.exposure is not Exposure.LEFT and not terms.may_be_copied


def _is_the_owner_s_word(event: ErrorReceived, terms: DeliveryTerms) -> bool:
    """Whether an intermediary that may have accepted the message says "not delivered" (R-41)."""
    is_failure = event.code is ErrorCode.DELIVERY_FAILURE
    return is_failure and terms.intermediary is Intermediary.ACCEPT


def diverged(state: Outbound, code: ErrorCode, reason: str, terms: DeliveryTerms) -> Step:
    """The peer's numbers and ours disagree; the pair closes, the message keeps its turn (R-11).

    No question is asked: an operator looks and decides.
    """
    state = changed(state, exposure=Exposure.LEFT, silence=Silence.HELD, due_ns=None)
    if not notifies(terms):
        return state, ()
    told = _notice(state, code, reason, terms)
    return changed(state, status=OutboundStatus.IN_DOUBT, error_code=code), told


def undelivered(state: Outbound, event: ErrorReceived, row: Journal, terms: DeliveryTerms) -> Step:
    """Somebody who accepted the message says now that it was not delivered (seed 001 §1.6).

    Severity Error: this is certain; Warning: it was sent on, and no acknowledgement came.
    """
    certain = event.severity is Severity.ERROR and (
        _is_the_owner_s_word(event, terms) or _is_only_copy(state, terms)
    )
    reason = _why(event)
    # A new episode, since the application may have got a notice before the acknowledgement.
    state = changed(state, episode=state.episode + 1, exposure=Exposure.LEFT, error_code=None)
    severity = Severity.ERROR if certain else Severity.WARNING
    told = _notice(state, event.code, reason, terms, severity)
    status = OutboundStatus.FAILED if certain else OutboundStatus.IN_DOUBT
    state = changed(state, status=status, error_code=event.code, is_certain=certain)
    final = (Journal(Event.FAILED, error_code=event.code, reason=reason),) if certain else ()
    return state, (row, *told, *final, *_recovery(state, reason, terms, is_told=True))


def not_processed(
    state: Outbound, event: ErrorReceived, row: Journal, terms: DeliveryTerms
) -> Step:
    """The To Party has the message but could not process it; the application is told (R-39)."""
    if not notifies(terms) or state.error_code is not None:
        return state, (row,)
    kind, severity = NoticeKind.NOT_PROCESSED, Severity.WARNING
    reason = "not processed by the partner"
    reason = f"{reason}: {event.description}" if event.description else reason
    told = Journal(Event.NOTIFIED, error_code=event.code, severity=severity, reason=kind)
    notice = Notify(kind, severity, event.code, reason, state.episode)
    return changed(state, error_code=event.code), (row, told, notice)


def _why(event: ErrorReceived) -> str:
    failed = event.code is ErrorCode.DELIVERY_FAILURE
    reason = "reported as not delivered" if failed else f"refused by the peer: {event.code}"
    return f"{reason}: {event.description}" if event.description else reason


def expire(
    state: Outbound,
    terms: DeliveryTerms,
    turn: tuple[Release, ...],
    before: Outcomes = (),
) -> Step:
    """TimeToLive or PersistDuration passed; `turn` gives the turn back if the message has one.

    Final if no byte ever left. Otherwise it is presumed undelivered until the fence (R-08).
    """
    code, which = schedule.expiry(terms)
    if state.exposure is Exposure.NEVER:
        reason = with_last(f"{which} passed before the message could be sent", before)
        told = _notice(state, code, reason, terms)
        state = changed(
            state,
            status=OutboundStatus.EXPIRED,
            error_code=code,
            silence=Silence.NONE,
            is_certain=True,
            due_ns=None,
        )
        row = Journal(Event.EXPIRED, error_code=code, reason=reason)
        return state, (*told, row, *turn)
    reason = with_last(f"{which} passed without an acknowledgement", before)
    told = _notice(state, code, reason, terms)
    state = changed(
        state, status=OutboundStatus.IN_DOUBT, error_code=code, silence=Silence.NONE, due_ns=None
    )
    row = Journal(Event.EXHAUSTED, attempt=state.attempt, error_code=code, reason=reason)
    return state, (row, *told, *turn, *_recovery(state, reason, terms))


def expire_on_its_way(state: Outbound, terms: DeliveryTerms, before: Outcomes = ()) -> Step:
    """`expire` for a message that has a turn: no answer came in all its time (R-40).

    A message that an operator holds back says nothing about the partner.
    """
    was_held = state.silence is Silence.HELD
    state, effects = expire(state, terms, (release(state, abandoned=True),), before)
    _, which = schedule.expiry(terms)
    reason = with_last(f"{which} passed without an acknowledgement", before)
    trouble = () if was_held else (TellTrouble(reason),)
    return state, (*effects, *trouble)


def pass_fence(state: Outbound, now: Now, terms: DeliveryTerms, before: Outcomes) -> Step:
    """A message in doubt has failed for good once no receiver can still take a copy (R-08).

    A receiver may have taken a copy before that, so the end is not certain (R-41).
    """
    if not schedule.is_past_fence(state.expires_at, now, terms):
        return state, ()
    _, which = schedule.expiry(terms)
    reason = f"{which} and twice the clock accuracy passed without an acknowledgement"
    reason = with_last(reason, before)
    state = changed(state, status=OutboundStatus.FAILED, silence=Silence.NONE)
    row = Journal(Event.FAILED, error_code=state.error_code, reason=reason)
    return state, (row, release(state, abandoned=True))
