"""After the sender gave up: ask, then do what the rule says (seed 004 levels 3 to 5, R-21).

The theory
----------
No number of resends settles whether a message arrived. A question can: the receiver
either has a record of the message or has none, and it knows how far its application is. So
when the sender has given up, or when the business response is late, the message gets a second
machine in addition to its first one (`sending`). It asks, and then acts by rule:

    [pinging] -> asking -> received       the message is acknowledged, as by the acknowledgement
                                          that the receiver sends again with its answer (level 3)
                        -> not received   by `when_not_received`: resend, new version, cancel, wait
                        -> received, response late (level 5)
                                          not started: by `when_not_started` cancel or wait
                                          in progress, not known: wait
                                          complete: by `when_complete` ask for the response again

"Not received" says nothing about a copy that is still under way, so it is only reliable together
with a cancel (R-21): the receiver sets a durable tombstone, and only its confirmation makes a new
version safe. A resend needs no cancel, since the MessageId decides (R-01).

Every question is asked a limited number of times, RetryInterval apart. After the last one the
machine is at rest again, and an incident tells the operator; nothing that was known is lost, and a
late answer is still taken. An operator may ask at any time (`StatusWanted`); what the partner says
is then noted and shown, and no rule acts on it. If the partner says that it has the message, that
always counts, like an acknowledgement. A person's word (`Settled`) ends every question.

The table below is total: every phase takes every event. The shell finds the inquiry that an answer
belongs to (R-20), and makes the ids `inquiry_id` and `replaced_by`.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import InquiryKind, MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms, Remedy
from onceonly.message.word import Word, changed
from onceonly.protocol import schedule
from onceonly.protocol.effects import (
    ConfirmCancel,
    ConfirmReceipt,
    Effect,
    Inquire,
    Journal,
    OpenIncident,
    Resend,
    SendNewVersion,
)
from onceonly.protocol.events import (
    DeadlineReached,
    PongReceived,
    Restarted,
    Resumed,
    Settled,
    Settlement,
)


class RecoveryPhase(StrEnum):
    """What the recovery of a message waits for."""

    AT_REST = "at-rest"
    PINGING = "pinging"
    """An availability inquiry that is sent before the status inquiry."""
    ASKING = "asking"
    """A status inquiry."""
    CANCELLING = "cancelling"
    """A cancel request; it is binding once it is confirmed."""
    ASKING_AGAIN = "asking-again"
    """A request for the business response again."""


class ResponseStatus(StrEnum):
    """The status of the business response to the message (level 5)."""

    NOT_EXPECTED = "not-expected"
    AWAITED = "awaited"
    OVERDUE = "overdue"
    RECEIVED = "received"


class Recovery(Word):
    """The recovery of one outbound message. All of it is durable except `due_ns`."""

    phase: RecoveryPhase = RecoveryPhase.AT_REST
    asked: int = 0
    """How many inquiries were sent in the present phase."""
    inquiry_id: str | None = None
    """MessageId of the last inquiry; a report must refer to it."""
    wants_new_version: bool = False
    """After a confirmed cancel a new version is sent."""
    replaced_by: str | None = None
    """MessageId of the new version."""
    response: ResponseStatus = ResponseStatus.NOT_EXPECTED
    response_due_at: int | None = None
    status: MessageStatus | None = None
    """What the partner last said about the message, and of its processing."""
    processing: ReportedProcessing | None = None
    reported_at: int | None = None
    due_ns: int | None = None
    """Monotonic deadline of the present phase; meaningless after a restart."""


class GivenUp(Word):
    """The sender gave up; before that there is nothing to recover (level 3 (1))."""

    reason: str
    is_told: bool = False
    """It gave up because of an answer of the partner, not because of silence."""


class ReportReceived(Word):
    """The partner said what it knows of the message."""

    status: MessageStatus | None
    processing: ReportedProcessing | None
    can_resend: bool
    """The message was given up, has not expired, and was not refused for good."""
    may_be_forgotten: bool = False
    """The message is so old that "not recognized" may mean: processed and forgotten."""
    was_refused: bool = False
    """Its receiver refused it for good, and would refuse its content under another id too."""


class CancelAnswered(Word):
    """The partner confirmed the cancel durably, or refused it and said how far its work is."""

    is_accepted: bool
    status: MessageStatus | None = None
    processing: ReportedProcessing | None = None


class ResponseAnswered(Word):
    """The partner sends its business response again, or has none."""

    is_accepted: bool


class Acknowledged(Word):
    """The message is acknowledged after all."""


class ResponseReceived(Word):
    """The business response to the message is stored."""


class ResponseTimePassed(Word):
    """The business response should have been here by now (level 5 (2))."""

    has_left: bool = True
    """A copy of the message may have left; otherwise the partner has nothing to answer yet."""


class Withdrawn(Word):
    """The message will never be processed: it was cancelled, or it ended before it left."""


class StatusWanted(Word):
    """An operator or the application asks for the status of the message."""


class CancelWanted(Word):
    """An operator or the application takes the message back from the receiver."""

    is_for_new_version: bool = False


RecoveryEvent = (
    GivenUp
    | PongReceived
    | ReportReceived
    | CancelAnswered
    | ResponseAnswered
    | DeadlineReached
    | Acknowledged
    | Resumed
    | ResponseReceived
    | ResponseTimePassed
    | Withdrawn
    | Restarted
    | StatusWanted
    | CancelWanted
    | Settled
)
Step = tuple[Recovery, tuple[Effect, ...]]

KIND_OF = {
    RecoveryPhase.PINGING: InquiryKind.PING,
    RecoveryPhase.ASKING: InquiryKind.STATUS,
    RecoveryPhase.CANCELLING: InquiryKind.CANCEL,
    RecoveryPhase.ASKING_AGAIN: InquiryKind.RESPONSE,
}
"""What is asked in each phase; at rest nothing is asked."""

RECEIVED = frozenset({MessageStatus.RECEIVED, MessageStatus.PROCESSED})
"""Answers that mean that the receiver's own MSH has the message. "Forwarded", the answer of an
intermediary, does not mean that."""


def expecting_response(timestamp_at: int, terms: DeliveryTerms) -> Recovery | None:
    """The recovery of a fresh message whose response is expected (level 5 (1)), or None."""
    within_s = terms.recovery.response_within_s
    if within_s is None:
        return None
    due_at = timestamp_at + within_s * US_PER_S
    return Recovery(response=ResponseStatus.AWAITED, response_due_at=due_at)


def step(state: Recovery, event: RecoveryEvent, now: Now, terms: DeliveryTerms) -> Step:
    """The next state and what is to be done. Pure; every phase takes every event."""
    return TABLE[state.phase, type(event)](state, event, now, terms)


def hears_partner(event: RecoveryEvent) -> bool:
    """Whether the event shows the partner at work, which ends the trouble with it (R-40)."""
    if isinstance(event, PongReceived):
        return event.is_available
    return isinstance(event, ReportReceived | CancelAnswered | ResponseAnswered | ResponseReceived)


def _begin(state: Recovery, event: GivenUp, now: Now, terms: DeliveryTerms) -> Step:
    if not terms.recovery.inquires:
        return state, ()
    if event.is_told and _resend_had_its_turn(state, terms):
        # A receiver with a tombstone answers a resend with "not delivered", and a question with
        # "not recognized": questions and resends would follow each other without end. So the answer
        # is only noted. A receiver that has the message acknowledges it again.
        reason = f"not received, and not sent again by rule: {event.reason}"
        return state, (OpenIncident(reason), Inquire(InquiryKind.STATUS))
    return _ask_first(state, now, terms)


def _resend_had_its_turn(state: Recovery, terms: DeliveryTerms) -> bool:
    """Whether the rule was applied already: the partner was asked before, and had no record."""
    is_unknown = state.status is MessageStatus.NOT_RECOGNIZED
    return is_unknown and terms.recovery.when_not_received is Remedy.RESEND


def _ask_first(state: Recovery, now: Now, terms: DeliveryTerms) -> Step:
    pings = terms.recovery.pings_before_inquiry
    return _ask(state, RecoveryPhase.PINGING if pings else RecoveryPhase.ASKING, now, terms)


def _ask(state: Recovery, phase: RecoveryPhase, now: Now, terms: DeliveryTerms) -> Step:
    asked = state.asked + 1 if phase is state.phase else 1
    due_ns = schedule.pause_ends_ns(None, now, terms)
    return changed(state, phase=phase, asked=asked, due_ns=due_ns), (Inquire(KIND_OF[phase]),)


def _rest(state: Recovery) -> Recovery:
    return changed(
        state, phase=RecoveryPhase.AT_REST, asked=0, wants_new_version=False, due_ns=None
    )


def _ask_on_or_stop(
    state: Recovery, event: DeadlineReached, now: Now, terms: DeliveryTerms
) -> Step:
    if event.due_ns != state.due_ns:
        return state, ()
    if state.asked < terms.recovery.inquiries:
        return _ask(state, state.phase, now, terms)
    kind, asked = KIND_OF[state.phase], state.asked
    incident = OpenIncident(f"no useful answer to {kind}, asked {asked} times")
    if _has_no_other_end(state, terms):
        state, effects = _ask(changed(state, asked=asked - 1), state.phase, now, terms)
        return state, (incident, *effects)
    # A late confirmation is binding too, and then the new version is still wanted.
    wants_new_version = state.wants_new_version
    return changed(_rest(state), wants_new_version=wants_new_version), (incident,)


def _has_no_other_end(state: Recovery, terms: DeliveryTerms) -> bool:
    """A cancel of ExactlyOnce: its tombstone may be set, and then nothing else ends the resends.

    The message never expires and no refusal ends it (R-17), so the question has no limit either.
    """
    is_endless = terms.semantics is DeliverySemantics.EXACTLY_ONCE
    return is_endless and state.phase is RecoveryPhase.CANCELLING


def _ask_anew(state: Recovery, event: Restarted, now: Now, terms: DeliveryTerms) -> Step:
    """A restart is no reset: the question is asked again, but not counted again."""
    return _ask(changed(state, asked=state.asked - 1), state.phase, now, terms)


def _take_pong(state: Recovery, event: PongReceived, now: Now, terms: DeliveryTerms) -> Step:
    row = Journal(Event.PONG_RECEIVED, reason="available" if event.is_available else "unavailable")
    if not event.is_available:
        return changed(state, due_ns=schedule.pause_ends_ns(None, now, terms)), (row,)
    state, effects = _ask(state, RecoveryPhase.ASKING, now, terms)
    return state, (row, *effects)


def _note_report(state: Recovery, event: ReportReceived, now: Now, terms: DeliveryTerms) -> Step:
    """An operator asked, or the answer is late: that the partner has the message counts anyway."""
    state, rows = _noted(state, event, now)
    return state, (*rows, *_confirmed(event, terms))


def _noted(state: Recovery, event: ReportReceived | CancelAnswered, now: Now) -> Step:
    said = ", ".join(word for word in (event.status, event.processing) if word is not None)
    if isinstance(event, CancelAnswered):
        verdict = "cancel confirmed" if event.is_accepted else "cancel refused"
        said = f"{verdict}: {said}" if said else verdict
    state = changed(
        state,
        status=event.status or state.status,
        processing=event.processing or state.processing,
        reported_at=now.at,
    )
    return state, (Journal(Event.REPORT_RECEIVED, reason=said or "nothing"),)


def _take_report(state: Recovery, event: ReportReceived, now: Now, terms: DeliveryTerms) -> Step:
    state, rows = _noted(state, event, now)
    if event.status in RECEIVED:
        is_doubtful = _may_be_withheld(event, terms)
        if is_doubtful and state.response is not ResponseStatus.OVERDUE:
            return state, rows
        state, effects = _go_on_with_response(state, event, now, terms)
        return state, (*rows, *_confirmed(event, terms), *effects)
    if event.status is MessageStatus.NOT_RECOGNIZED:
        state, effects = _remedy(state, event, now, terms)
    elif event.status is MessageStatus.UNAUTHORIZED:
        reason = "the partner refuses to say how the message stands"
        state, effects = _rest(state), (OpenIncident(reason),)
    else:
        # Forwarded, or nothing known. The next hop is not asked; the machine waits.
        effects = ()
    return state, (*rows, *effects)


def _confirmed(event: ReportReceived, terms: DeliveryTerms) -> tuple[Effect, ...]:
    is_known = event.status in RECEIVED and not _may_be_withheld(event, terms)
    return (ConfirmReceipt(),) if is_known else ()


_AT_WORK = frozenset({ReportedProcessing.IN_PROGRESS, ReportedProcessing.COMPLETE})


def _may_be_withheld(event: ReportReceived, terms: DeliveryTerms) -> bool:
    """Whether the partner may have the message and not hand it over (R-12).

    Before it answers, it sends its acknowledgement again and then releases the message. Only that
    acknowledgement ends the doubt; if it is lost, the next question brings another one.
    """
    is_at_work = event.status is MessageStatus.PROCESSED or event.processing in _AT_WORK
    return terms.strict_release and not is_at_work


def _remedy(state: Recovery, event: ReportReceived, now: Now, terms: DeliveryTerms) -> Step:
    remedy = terms.recovery.when_not_received
    if event.may_be_forgotten and remedy is not Remedy.WAIT:
        # A tombstone cannot undo finished work, and a new version would be processed a second time.
        reason = "not recognized, but so old that the partner may have processed and forgotten it"
        return _rest(state), (OpenIncident(reason),)
    if event.was_refused and remedy is Remedy.NEW_VERSION:
        # New versions would be refused without end, each under a new id.
        reason = "refused by its receiver, which would refuse a new version, too"
        return _rest(state), (OpenIncident(reason),)
    if remedy in (Remedy.NEW_VERSION, Remedy.CANCEL):
        state = changed(state, wants_new_version=remedy is Remedy.NEW_VERSION)
        return _ask(state, RecoveryPhase.CANCELLING, now, terms)
    state = _rest(state)
    if remedy is not Remedy.RESEND:
        return state, ()
    if not event.can_resend:
        # Acknowledged before, so that the partner may have forgotten the id; or refused; or
        # expired.
        return state, (OpenIncident("not received, and it cannot be sent again"),)
    return state, (Resend(),)


def _go_on_with_response(
    state: Recovery, event: ReportReceived, now: Now, terms: DeliveryTerms
) -> Step:
    """Level 5 (2b); without a late response there is nothing left to do."""
    if state.response is not ResponseStatus.OVERDUE:
        return _rest(state), ()
    rules = terms.recovery
    done = event.processing is ReportedProcessing.COMPLETE
    if done and rules.when_complete is Remedy.ASK_AGAIN:
        return _ask(state, RecoveryPhase.ASKING_AGAIN, now, terms)
    not_started = event.processing is ReportedProcessing.NOT_STARTED
    if not_started and rules.when_not_started is Remedy.CANCEL:
        return _ask(state, RecoveryPhase.CANCELLING, now, terms)
    return _rest(state), ()


def _want_cancel(state: Recovery, event: CancelWanted, now: Now, terms: DeliveryTerms) -> Step:
    state = changed(state, wants_new_version=event.is_for_new_version)
    return _ask(state, RecoveryPhase.CANCELLING, now, terms)


def _want_cancel_again(
    state: Recovery, event: CancelWanted, now: Now, terms: DeliveryTerms
) -> Step:
    """A new version is now wanted; the cancel request is under way already."""
    wants = state.wants_new_version or event.is_for_new_version
    return changed(state, wants_new_version=wants), ()


def _take_cancel_answer(
    state: Recovery, event: CancelAnswered, now: Now, terms: DeliveryTerms
) -> Step:
    """A confirmation is binding, however late; a refusal shows that the partner has the message."""
    state, rows = _noted(state, event, now)
    if event.is_accepted:
        more = (SendNewVersion(),) if state.wants_new_version else ()
        return _withdrawn(state), (*rows, ConfirmCancel(), *more)
    receipt = (ConfirmReceipt(),) if event.status in RECEIVED else ()
    return _rest(state), (*rows, *receipt)


def _withdrawn(state: Recovery) -> Recovery:
    return changed(_rest(state), response=ResponseStatus.NOT_EXPECTED, response_due_at=None)


def _withdraw(state: Recovery, event: Withdrawn, now: Now, terms: DeliveryTerms) -> Step:
    return _withdrawn(state), ()


def _end_by_word(state: Recovery, event: Settled, now: Now, terms: DeliveryTerms) -> Step:
    """Nothing is asked any more; what was delivered may still be answered (R-49)."""
    is_delivered = event.word is Settlement.DELIVERED
    return _rest(state) if is_delivered else _withdrawn(state), ()


def _note_response_answer(
    state: Recovery, event: ResponseAnswered, now: Now, terms: DeliveryTerms
) -> Step:
    """That there is none is news to an operator as long as it is awaited, whatever was said before.

    A copy of the question that came late may be answered otherwise than the question was: the
    response that was to follow has ended meanwhile.
    """
    reason = "the response follows" if event.is_accepted else "there is no response to send again"
    is_missing = not event.is_accepted and state.response is ResponseStatus.OVERDUE
    trouble = (OpenIncident("processed, but without a response"),) if is_missing else ()
    rows = (Journal(Event.REPORT_RECEIVED, reason=reason),)
    return changed(state, reported_at=now.at), (*rows, *trouble)


def _take_response_answer(
    state: Recovery, event: ResponseAnswered, now: Now, terms: DeliveryTerms
) -> Step:
    state, effects = _note_response_answer(state, event, now, terms)
    return _rest(state), effects


def _take_response(
    state: Recovery, event: ResponseReceived, now: Now, terms: DeliveryTerms
) -> Step:
    """It answers every open question except a cancel, which is binding when it is confirmed."""
    if state.response not in (ResponseStatus.AWAITED, ResponseStatus.OVERDUE):
        return state, ()
    if state.phase is not RecoveryPhase.CANCELLING:
        state = _rest(state)
    state = changed(state, response=ResponseStatus.RECEIVED, response_due_at=None)
    return state, (Journal(Event.RESPONSE_RECEIVED),)


def _note_overdue(
    state: Recovery, event: ResponseTimePassed, now: Now, terms: DeliveryTerms
) -> Step:
    if state.response is not ResponseStatus.AWAITED:
        return state, ()
    if not event.has_left:
        # Its pair is closed, or it has no turn yet: the partner still gets all the time agreed.
        anew = expecting_response(now.at, terms)
        return changed(state, response_due_at=None if anew is None else anew.response_due_at), ()
    state = changed(state, response=ResponseStatus.OVERDUE)
    return state, (Journal(Event.RESPONSE_OVERDUE),)


def _ask_about_response(
    state: Recovery, event: ResponseTimePassed, now: Now, terms: DeliveryTerms
) -> Step:
    state, rows = _note_overdue(state, event, now, terms)
    if not rows:
        return state, ()
    state, effects = _ask_first(state, now, terms)
    return state, (*rows, *effects)


def _stop_asking(
    state: Recovery, event: Acknowledged | Resumed, now: Now, terms: DeliveryTerms
) -> Step:
    """The message needs no inquiry any more, but its late response may need one."""
    if state.response is ResponseStatus.OVERDUE:
        return state, ()
    return _rest(state), ()


def _ask_for_operator(state: Recovery, event: StatusWanted, now: Now, terms: DeliveryTerms) -> Step:
    return state, (Inquire(InquiryKind.STATUS),)


def _stay(state: Recovery, event: RecoveryEvent, now: Now, terms: DeliveryTerms) -> Step:
    """An answer to no question of this phase, or a timer that came too late."""
    return state, ()


# Each transition takes its own type of event; the key of its row guarantees that type.
Transition = Callable[[Recovery, Any, Now, DeliveryTerms], Step]

_AT_REST: dict[type[RecoveryEvent], Transition] = {
    GivenUp: _begin,
    PongReceived: _stay,
    ReportReceived: _note_report,
    CancelAnswered: _take_cancel_answer,
    ResponseAnswered: _note_response_answer,
    DeadlineReached: _stay,
    Acknowledged: _stay,
    Resumed: _stay,
    ResponseReceived: _take_response,
    ResponseTimePassed: _ask_about_response,
    Withdrawn: _withdraw,
    Restarted: _stay,
    StatusWanted: _ask_for_operator,
    CancelWanted: _want_cancel,
    Settled: _end_by_word,
}
_BUSY: dict[type[RecoveryEvent], Transition] = {
    **_AT_REST,
    GivenUp: _stay,
    DeadlineReached: _ask_on_or_stop,
    ResponseTimePassed: _note_overdue,
    Restarted: _ask_anew,
}
_ROWS_OF: dict[RecoveryPhase, dict[type[RecoveryEvent], Transition]] = {
    RecoveryPhase.AT_REST: _AT_REST,
    RecoveryPhase.PINGING: {
        **_BUSY,
        PongReceived: _take_pong,
        Acknowledged: _stop_asking,
        Resumed: _stop_asking,
    },
    RecoveryPhase.ASKING: {
        **_BUSY,
        ReportReceived: _take_report,
        Acknowledged: _stop_asking,
        Resumed: _stop_asking,
    },
    RecoveryPhase.CANCELLING: {**_BUSY, CancelWanted: _want_cancel_again},
    RecoveryPhase.ASKING_AGAIN: {**_BUSY, ResponseAnswered: _take_response_answer},
}

TABLE: dict[tuple[RecoveryPhase, type[RecoveryEvent]], Transition] = {
    (phase, event): transition
    for phase, rows in _ROWS_OF.items()
    for event, transition in rows.items()
}
"""Every (phase, event) has a row."""
