"""One message on its way through an intermediary in `relay` mode (ruling R-13).

The theory
----------
What the origin wants to know is whether the *last* MSH holds the message. A relay keeps that
meaning by adding nothing of its own: it says upstream only what it heard from downstream, and it
does so for each copy.

* An acknowledgement goes upstream only after the next hop's came, so at the origin it means
  "stored at the destination", whatever the number of hops (seed 000 §4.1.3, seed 003 §4, I36).
* Every copy goes on, whatever happened to the copies before it. A relay that answered or dropped
  a repeat by its own judgement would have to be right about what the destination knows; only the
  destination can be (seed 003 §4). It resends nothing either: the origin's timer is the only one,
  and there is no second one to disagree with it.
* When the next hop certainly has nothing, because it could not be reached at all, the previous hop
  is asked to try again later: TransientError with MinRetrySecs (seed 000 §4.1.3, §4.2). When it is
  not known what the next hop has, the relay says nothing (seed 003 §4): an error would be a guess,
  and the origin's timer fires anyway.
* An error from downstream goes upstream as it is, a TransientError with its MinRetrySecs.
* In `ebms-2.0` a message may also ask the next MSH for an acknowledgement of the hop alone. It is
  answered after the next hop gave its own, and changes nothing here: who waits for the To Party
  still waits (`ebms2.md` §10).

    forwarding -> acknowledged      the next hop acknowledged: so do we
               -> refused           it refused, or could not be reached, and upstream was told
    sent                            no acknowledgement is to come: BestEffort, method Transport

A copy that comes again leads from `refused` back to `forwarding`; one that comes after the
acknowledgement goes on too, and the destination's repeated acknowledgement goes back.

A message is stored before the transport is answered (seed 003 §3), so a crash loses none: on
`Restarted`, what is still `forwarding` goes on once more under its copy number, since the crash may
have come before the bytes left. Nothing else must be done after a crash. For the origin, an
acknowledgement or an error that was lost with the process is the same as one that was lost on the
wire: it sends again, the copy goes on, and the answer comes back a second time.

A bug of ours that meets a copy on its way out parks the message: what was `forwarding` is then
`refused`, so that no restart takes it up, the previous hop is asked to come again, and an operator
is told (R-43).

The table is total: every event is legal in every state.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import (
    AcknowledgeUpstream,
    AnswerUpstream,
    Effect,
    Forward,
    Journal,
    OpenIncident,
)
from onceonly.protocol.events import AckReceived, ErrorReceived, Outcome, Restarted, Transmission


class TransitStatus(StrEnum):
    """The status of a message that passes through us."""

    FORWARDING = "forwarding"
    """No acknowledgement from the next hop yet."""
    ACKNOWLEDGED = "acknowledged"
    """The next hop acknowledged; further copies are sent on nevertheless."""
    REFUSED = "refused"
    """The next hop refused it or could not be reached, and the previous one was told."""
    SENT = "sent"
    """A copy was sent on, and no acknowledgement is expected (BestEffort, method Transport)."""


class Transit(Word):
    """The durable state of one message in transit."""

    status: TransitStatus = TransitStatus.FORWARDING
    copies: int = 0
    """Copies that arrived and were sent on; a relay neither drops nor adds copies (seed 003 §4)."""


class Arrived(Word):
    """A copy arrived from the previous hop; it is stored in the transaction of the step."""

    is_answered: bool = True
    """An acknowledgement is expected: OnceAndOnlyOnce, method ebXML."""


class ForwardEnded(Word):
    """The transmission of this copy to the next hop ended."""

    copy: int
    transmission: Transmission


class ForwardParked(Word):
    """A bug of ours met this copy on its way to the next hop (R-43)."""

    copy: int
    reason: str


class TakenUp(Word):
    """An operator takes up the parked message: it is sent on again."""

    reason: str


RelayingEvent = (
    Arrived | ForwardEnded | ForwardParked | TakenUp | AckReceived | ErrorReceived | Restarted
)
Step = tuple[Transit, tuple[Effect, ...]]


def step(state: Transit, event: RelayingEvent, terms: DeliveryTerms) -> Step:
    """The next state of the message in transit and what is to be done. Pure.

    Only `retry_interval_s` of the terms is used: it is the MinRetrySecs of our TransientErrors.
    """
    return TABLE[state.status, type(event)](state, event, terms)


def _send_on(state: Transit, event: Arrived, terms: DeliveryTerms) -> Step:
    status = TransitStatus.FORWARDING if event.is_answered else TransitStatus.SENT
    state = Transit(status, state.copies + 1)
    return state, (Journal(Event.ARRIVED_IN_TRANSIT, attempt=state.copies), Forward(state.copies))


def _send_on_again(state: Transit, event: Arrived, terms: DeliveryTerms) -> Step:
    """A copy after the acknowledgement: it is sent on, but not again after a crash."""
    after, effects = _send_on(state, event, terms)
    return changed(after, status=state.status), effects


def _note_forward(state: Transit, event: ForwardEnded, terms: DeliveryTerms) -> Step:
    return state, (_forwarded(event),)


def _end_forward(state: Transit, event: ForwardEnded, terms: DeliveryTerms) -> Step:
    """Ask the previous hop to try again if it is certain that the next hop has nothing."""
    transmission = event.transmission
    if transmission.outcome is not Outcome.REFUSED or transmission.bytes_left:
        return state, (_forwarded(event),)
    if state.status is TransitStatus.FORWARDING:
        state = changed(state, status=TransitStatus.REFUSED)
    answer = AnswerUpstream(
        ErrorCode.TRANSIENT_ERROR,
        Severity.WARNING,
        "the next hop cannot be reached",
        terms.retry_interval_s,
    )
    return state, (_forwarded(event), answer)


def _park(state: Transit, event: ForwardParked, terms: DeliveryTerms) -> Step:
    """Ask the previous hop to try again, and an operator to look; no restart sends it on."""
    if state.status is TransitStatus.FORWARDING:
        state = changed(state, status=TransitStatus.REFUSED)
    answer = AnswerUpstream(
        ErrorCode.TRANSIENT_ERROR,
        Severity.WARNING,
        "the intermediary cannot send it on now; its operator knows",
        terms.retry_interval_s,
    )
    return state, (*_parked(event), answer)


def _park_silently(state: Transit, event: ForwardParked, terms: DeliveryTerms) -> Step:
    """The previous hop expects no answer about it."""
    return state, _parked(event)


def _parked(event: ForwardParked) -> tuple[Effect, ...]:
    row = Journal(Event.PARKED, attempt=event.copy, reason=event.reason)
    return row, OpenIncident(event.reason, is_parked=True)


def _take_up(state: Transit, event: TakenUp, terms: DeliveryTerms) -> Step:
    if state.status is TransitStatus.REFUSED:
        state = changed(state, status=TransitStatus.FORWARDING)
    return state, (Journal(Event.TAKEN_UP, reason=event.reason), Forward(state.copies))


def _forwarded(event: ForwardEnded) -> Journal:
    return Journal(
        Event.FORWARDED,
        attempt=event.copy,
        outcome=event.transmission.outcome.value,
        status_code=event.transmission.status_code,
        reason=event.transmission.detail or None,
    )


def _acknowledge(state: Transit, event: AckReceived, terms: DeliveryTerms) -> Step:
    if event.is_of_hop:
        return state, _of_hop(event)
    state = changed(state, status=TransitStatus.ACKNOWLEDGED)
    return state, (Journal(Event.ACK_RECEIVED, reason=event.detail), AcknowledgeUpstream())


def _acknowledge_again(state: Transit, event: AckReceived, terms: DeliveryTerms) -> Step:
    if event.is_of_hop:
        return state, _of_hop(event)
    row = Journal(Event.REPEATED_ACK_RECEIVED, reason=event.detail)
    return state, (row, AcknowledgeUpstream())


def _note_acknowledgment(state: Transit, event: AckReceived, terms: DeliveryTerms) -> Step:
    """The previous hop asked for no acknowledgement, or for one of the hop alone."""
    if event.is_of_hop:
        return state, _of_hop(event)
    return state, (Journal(Event.ACK_RECEIVED, reason=event.detail),)


def _of_hop(event: AckReceived) -> tuple[Effect, ...]:
    row = Journal(Event.HOP_ACK_RECEIVED, reason=event.detail)
    return row, AcknowledgeUpstream(is_of_hop=True)


def _pass_error(state: Transit, event: ErrorReceived, terms: DeliveryTerms) -> Step:
    answer = AnswerUpstream(event.code, event.severity, event.description, event.min_retry_s)
    return state, (_error_row(event), answer)


def _refuse(state: Transit, event: ErrorReceived, terms: DeliveryTerms) -> Step:
    return _pass_error(changed(state, status=TransitStatus.REFUSED), event, terms)


def _error_row(event: ErrorReceived) -> Journal:
    return Journal(
        Event.ERROR_RECEIVED,
        error_code=event.code,
        severity=event.severity,
        reason=event.description or None,
    )


def _send_on_after_restart(state: Transit, event: Restarted, terms: DeliveryTerms) -> Step:
    return state, (Forward(state.copies),)


def _rest(state: Transit, event: Restarted, terms: DeliveryTerms) -> Step:
    return state, ()


_FORWARDING, _ACKNOWLEDGED = TransitStatus.FORWARDING, TransitStatus.ACKNOWLEDGED
_REFUSED, _SENT = TransitStatus.REFUSED, TransitStatus.SENT

TABLE: dict[tuple[TransitStatus, type], Callable[[Transit, Any, DeliveryTerms], Step]] = {
    (_FORWARDING, Arrived): _send_on,
    (_FORWARDING, ForwardEnded): _end_forward,
    (_FORWARDING, AckReceived): _acknowledge,
    (_FORWARDING, ErrorReceived): _refuse,
    (_FORWARDING, Restarted): _send_on_after_restart,
    (_ACKNOWLEDGED, Arrived): _send_on_again,
    (_ACKNOWLEDGED, ForwardEnded): _end_forward,
    (_ACKNOWLEDGED, AckReceived): _acknowledge_again,
    (_ACKNOWLEDGED, ErrorReceived): _pass_error,
    (_ACKNOWLEDGED, Restarted): _rest,
    (_REFUSED, Arrived): _send_on,
    (_REFUSED, ForwardEnded): _end_forward,
    (_REFUSED, AckReceived): _acknowledge,
    (_REFUSED, ErrorReceived): _pass_error,
    (_REFUSED, Restarted): _rest,
    (_SENT, Arrived): _send_on,
    (_SENT, ForwardEnded): _note_forward,
    (_SENT, AckReceived): _note_acknowledgment,
    (_SENT, ErrorReceived): _pass_error,
    (_SENT, Restarted): _rest,
    (_SENT, ForwardParked): _park_silently,
    **{(s, ForwardParked): _park for s in (_FORWARDING, _ACKNOWLEDGED, _REFUSED)},
    **{(status, TakenUp): _take_up for status in TransitStatus},
}
