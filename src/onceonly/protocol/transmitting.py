"""When a message is sent: at once or after a Ping, again after a wait, and when not any more.

Knows every wait of the sender's machine and what each degree of reliability does at its end.
Must not know what peers say about a message; that is in `sending`, whose essay has the theory.
Seed 000 §2.1.4, seed 001 §1.2.4, seed 004 levels 1 and 2.
"""

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.instant import Now
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.signals import InquiryKind
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import schedule, verdict
from onceonly.protocol.effects import Inquire, Journal, OpenIncident, TellTrouble, Transmit
from onceonly.protocol.events import (
    CANNOT_BE_ASKED,
    DeadlineReached,
    Outcome,
    Outcomes,
    PongReceived,
    Transmission,
    Transmitted,
)
from onceonly.protocol.outbound import (
    Effects,
    Exposure,
    Outbound,
    OutboundStatus,
    Silence,
    Step,
    release,
)


def begin(state: Outbound, size_bytes: int, now: Now, terms: DeliveryTerms) -> Step:
    """Ping first, if that is agreed for a message of this size (level 2); otherwise send it."""
    above = terms.recovery.ping_above_bytes
    if above is not None and size_bytes > above:
        return ping(changed(state, attempt=0, pings=0), now, terms)
    return transmit(state, 1)


def ping(state: Outbound, now: Now, terms: DeliveryTerms) -> Step:
    """Ask whether the partner takes messages; no answer in time counts as no."""
    pings = state.pings + 1
    due_ns = schedule.response_due_ns(pings, now, terms)
    state = changed(state, silence=Silence.PINGING, pings=pings, due_ns=due_ns)
    return state, (Inquire(InquiryKind.PING),)


def take_pong(state: Outbound, event: PongReceived, now: Now, terms: DeliveryTerms) -> Step:
    """Level 2: send the message at once after a yes, and nothing after a no."""
    state, row = note_pong(state, event, now, terms)
    if state.silence is not Silence.PINGING:
        return state, row
    if not event.is_available:
        return changed(state, due_ns=schedule.pause_ends_ns(None, now, terms)), row
    state, effects = _transmit_unless_expired(state, now, terms)
    return state, (*row, *effects)


def _transmit_unless_expired(state: Outbound, now: Now, terms: DeliveryTerms) -> Step:
    if schedule.is_past(state.expires_at, now):
        return verdict.expire_on_its_way(state, terms)
    return transmit(state, 1)


def note_pong(state: Outbound, event: PongReceived, now: Now, terms: DeliveryTerms) -> Step:
    """An answer to a Ping that is no longer awaited."""
    reason = "takes messages" if event.is_available else "takes no messages"
    if event.cannot_be_asked:
        reason = CANNOT_BE_ASKED
    return state, (Journal(Event.PONG_RECEIVED, reason=reason),)


def transmit(state: Outbound, attempt: int) -> Step:
    """Send the stored bytes as transmission number `attempt`."""
    # If the exposure is still open, bytes of the earlier transmission may have left.
    exposure = Exposure.OPEN if state.exposure is Exposure.NEVER else Exposure.LEFT
    state = changed(state, attempt=attempt, exposure=exposure, silence=Silence.NONE, due_ns=None)
    row = Journal(Event.TRANSMITTING, attempt=attempt, sequence_number=state.sequence_number)
    return state, (row, Transmit(attempt))


def note_outcome(state: Outbound, event: Transmitted, now: Now, terms: DeliveryTerms) -> Step:
    """The outcome of a transmission after the message stopped waiting for a response."""
    exposure = _exposure_after(state, event)
    if exposure is not state.exposure:
        state = changed(state, exposure=exposure)
    return state, (_outcome_row(event, state),)


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
    """The exposure only changes if it is certain that nothing left: open means "perhaps"."""
    if state.exposure is Exposure.OPEN and not event.transmission.bytes_left:
        return Exposure.NEVER
    return state.exposure


def take_outcome(state: Outbound, event: Transmitted, now: Now, terms: DeliveryTerms) -> Step:
    """A transmission ended: set the next deadline, or end the message."""
    state, row = note_outcome(state, event, now, terms)
    state, effects = _after_transmission(state, event, now, terms)
    return state, (*row, *_alarm_of_refusals(event), *effects)


SEVERAL = 3
"""After so many equal refusals in a row an operator is told; the retries go on."""


def _alarm_of_refusals(event: Transmitted) -> Effects:
    """Tell an operator once: such a refusal will meet every retry (a wrong path, a size)."""
    sent, before = event.transmission, event.before
    is_first = len(before) < SEVERAL or not _are_alike((sent, *before[:SEVERAL]))
    if not is_first or not _are_refused_alike((sent, *before[: SEVERAL - 1])):
        return ()
    return (TellTrouble(f"{SEVERAL} times in a row: {sent.words}"),)


def _are_refused_alike(outcomes: Outcomes) -> bool:
    return len(outcomes) == SEVERAL and outcomes[0].is_lasting and _are_alike(outcomes)


def _are_alike(outcomes: Outcomes) -> bool:
    return len({(one.outcome, one.status_code) for one in outcomes}) == 1


def _after_transmission(
    state: Outbound, event: Transmitted, now: Now, terms: DeliveryTerms
) -> Step:
    sent = event.transmission
    if terms.semantics is DeliverySemantics.BEST_EFFORT:
        return _end_best_effort(state, event)
    if not terms.is_acknowledged and _was_all(sent, terms):
        return _sent(state, event)
    # A pause that was asked for before the transmission ended stays, and so does a resume.
    if state.silence is not Silence.NONE or event.attempt != state.attempt:
        return state, ()
    if terms.method is ReliableMessagingMethod.TRANSPORT:
        return _offer_again(state, sent, now, terms)
    if _fails_at_once(sent, terms):
        reason = verdict.with_last("the network took nothing of it", (sent,))
        return verdict.give_up(state, ErrorCode.DELIVERY_FAILURE, reason, terms)
    due_ns = schedule.response_due_ns(state.attempt, now, terms)
    return changed(state, due_ns=schedule.put_off_ns(due_ns, sent.retry_after_s, now)), ()


def wait_anew(state: Outbound, now: Now, terms: DeliveryTerms) -> Outbound:
    """The next MSH has the message: a wait for the To Party's acknowledgement begins now."""
    if state.due_ns is None or state.silence is not Silence.NONE:
        return state
    return changed(state, due_ns=schedule.response_due_ns(state.attempt, now, terms))


def _was_all(sent: Transmission, terms: DeliveryTerms) -> bool:
    """Whether nothing more is to come of a message that nobody acknowledges."""
    if terms.method is ReliableMessagingMethod.TRANSPORT:
        return sent.outcome is Outcome.ACCEPTED
    return not _fails_at_once(sent, terms)


def _fails_at_once(sent: Transmission, terms: DeliveryTerms) -> bool:
    """Seed 003 §1 (S3-10), and AtMostOnce, which has no second transmission."""
    if sent.outcome is not Outcome.REFUSED or sent.bytes_left:
        return False
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return False
    return terms.fails_on_network_error or terms.semantics is DeliverySemantics.AT_MOST_ONCE


def _offer_again(state: Outbound, sent: Transmission, now: Now, terms: DeliveryTerms) -> Step:
    """Offer the same transmission to the transport product again after a pause, without end.

    After as many offers as other messages have transmissions an operator is told (R-40).
    """
    due_ns = schedule.pause_ends_ns(None, now, terms)
    offers = state.transients + 1
    state = changed(state, silence=Silence.PAUSED, transients=offers, due_ns=due_ns)
    if not _is_verdict_time(offers, terms):
        return state, ()
    return state, (TellTrouble(verdict.with_last("the transport does not take it", (sent,))),)


def _end_best_effort(state: Outbound, event: Transmitted) -> Step:
    """There is only one transmission. A failure is shown in the status, without a notice."""
    refused = event.transmission.outcome is Outcome.REFUSED
    if not refused or state.exposure is Exposure.LEFT:
        return _sent(state, event)
    code = ErrorCode.DELIVERY_FAILURE
    state = changed(
        state,
        status=OutboundStatus.FAILED,
        error_code=code,
        silence=Silence.NONE,
        is_certain=True,
        due_ns=None,
    )
    reason = verdict.with_last("refused by the transport", (event.transmission,))
    row = Journal(Event.FAILED, error_code=code, reason=reason)
    return state, (row, release(state, abandoned=True), TellTrouble(reason))


def _sent(state: Outbound, event: Transmitted) -> Step:
    state = changed(state, status=OutboundStatus.SENT, silence=Silence.NONE, due_ns=None)
    row = Journal(Event.SENT, attempt=event.attempt, outcome=event.transmission.outcome.value)
    return state, (row, release(state, abandoned=True))


def reach_deadline(state: Outbound, event: DeadlineReached, now: Now, terms: DeliveryTerms) -> Step:
    """Send again, ask again, or give up; nothing if the wait was over before."""
    if event.due_ns != state.due_ns:
        return state, ()
    if schedule.is_past(state.expires_at, now):
        return verdict.expire_on_its_way(state, terms, event.before)
    if state.silence is Silence.PAUSED:
        return transmit(state, state.attempt)
    if state.silence is Silence.PINGING:
        return _ping_again_or_give_up(state, event, now, terms)
    return _resend_or_give_up(state, event, terms)


def _ping_again_or_give_up(
    state: Outbound, event: DeadlineReached, now: Now, terms: DeliveryTerms
) -> Step:
    retries = _retries(terms)
    if retries is None or state.pings <= retries:
        alarm = (*_alarm(state, event, terms), *_trouble(state.pings, event, terms))
        state, effects = ping(state, now, terms)
        return state, (*alarm, *effects)
    reason = verdict.with_last("the partner did not say that it takes messages", event.before)
    return verdict.give_up(state, ErrorCode.DELIVERY_FAILURE, reason, terms)


def _resend_or_give_up(state: Outbound, event: DeadlineReached, terms: DeliveryTerms) -> Step:
    retries = _retries(terms)
    if retries is None or state.attempt <= retries:
        alarm = (*_alarm(state, event, terms), *_trouble(state.attempt, event, terms))
        # ExactlyOnce never ends, so its pauses add up: they show that it has an incident.
        is_endless = terms.semantics is DeliverySemantics.EXACTLY_ONCE
        state = state if is_endless else changed(state, transients=0)
        state, effects = transmit(state, state.attempt + 1)
        return state, (*alarm, *effects)
    is_certain = state.exposure is Exposure.NEVER
    missing = "no connection, up to the last retry" if is_certain else NO_ACKNOWLEDGEMENT
    reason = verdict.with_last(missing, event.before)
    return verdict.give_up(state, ErrorCode.DELIVERY_FAILURE, reason, terms)


NO_ACKNOWLEDGEMENT = "no acknowledgement after the last retry"


def _trouble(waits: int, event: DeadlineReached, terms: DeliveryTerms) -> Effects:
    """Others would be given up now; this message goes on, and an operator is told once (R-40)."""
    if not _is_verdict_time(waits, terms):
        return ()
    reason = "no answer after the last retry; it goes on"
    return (TellTrouble(verdict.with_last(reason, event.before)),)


def _is_verdict_time(waits: int, terms: DeliveryTerms) -> bool:
    """Whether these are all the waits that the agreement allows, if it limits them."""
    return terms.retries is not None and waits == terms.retries + 1


def _retries(terms: DeliveryTerms) -> int | None:
    """Most retries without an answer; None: as many as fit into the time of the message."""
    if terms.semantics is DeliverySemantics.EXACTLY_ONCE:
        return None
    if terms.semantics in (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT):
        return 0
    return terms.retries


OVERDUE = "an ExactlyOnce message is not acknowledged after all of PersistDuration"
"""Reason of the incident that R-17 asks for; the last outcome is added to it."""


def _alarm(state: Outbound, event: DeadlineReached, terms: DeliveryTerms) -> Effects:
    """Tell an operator once, at the wait that makes the message overdue: later outcomes differ."""
    waits = _waits(state)
    if not _is_overdue(waits, terms) or (waits > 1 and _is_overdue(waits - 1, terms)):
        return ()
    return (OpenIncident(verdict.with_last(OVERDUE, event.before)),)


def needed_an_operator(state: Outbound, terms: DeliveryTerms) -> bool:
    """Whether the waits until now have opened an incident for an ExactlyOnce message (R-17)."""
    if terms.semantics is not DeliverySemantics.EXACTLY_ONCE:
        return False
    waits = _waits(state) - 1
    return state.transients > terms.transient_retries or (waits > 0 and _is_overdue(waits, terms))


def _waits(state: Outbound) -> int:
    """Waits for Pongs and acknowledgements, including the present one.

    The Ping before the first transmission was answered, so it does not count.
    """
    is_followed = state.pings > 0 and state.attempt > 0
    return state.pings + state.attempt - is_followed


def _is_overdue(waits: int, terms: DeliveryTerms) -> bool:
    """Counted in waits, which are durable: the instant of submission is not part of the state."""
    return (
        terms.semantics is DeliverySemantics.EXACTLY_ONCE
        and schedule.waits_so_far_s(waits, terms) >= terms.persist_duration_s
    )
