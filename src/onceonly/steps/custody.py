"""Accept mode: we take over the delivery of a message, and acknowledge it at once (R-13).

Towards the previous hop we behave as the To Party does: store, acknowledge, answer every repeat
with the first response, refuse what is too old. Towards the next hop we behave as the sender: the
message is an outbound one under the terms of its route, with its header as it came. If it cannot
be delivered, the From Party gets a DeliveryFailure notice. Seed 001 §1.3.4.2, invariant I37.
"""

from collections.abc import Sequence

from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.message import AcknowledgmentElement
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol import receiving, schedule
from onceonly.protocol.effects import Acknowledge, Answer, Journal
from onceonly.protocol.receiving import Arrival, Case, InboundStatus, ReceivingPair
from onceonly.protocol.sending import Outbound
from onceonly.steps import sending
from onceonly.steps.ground import Ground
from onceonly.steps.known import find_known, stamp_of
from onceonly.steps.leaving import Draft, Leaving, Released
from onceonly.steps.routes import Passage
from onceonly.steps.submission import room_left
from onceonly.steps.upstream import (
    Subject,
    acknowledgment_of_hop,
    acknowledgment_upstream,
    row_with_header,
)
from onceonly.store.contract.store import Transaction


class Custody(Released):
    """What was decided about an arrival: what is said upstream, and what is sent as ours."""

    acknowledge: Package | None
    answers: Sequence[Answer]


def take(txn: Transaction, ground: Ground, passage: Passage, subject: Subject) -> Custody:
    """Decide and store. Reads first, then writes. Raises `RemoteError`."""
    key = passage.message.key
    entry = txn.find_inbound(key)
    reception = receiving.receive(
        _arrival_of(passage),
        find_known(txn, key, entry),
        ReceivingPair(forgotten_at=txn.get_receiving_pair(passage.message.pair).forgotten_at),
        ground.now,
        passage.route.terms,
        is_cancelled=txn.is_cancelled(key),
    )
    response: Package | None = None
    leaving: Leaving | None = None
    if reception.case is Case.NEW:
        response = _response(ground, subject)
        leaving = _store_both(txn, ground, passage, response)
    elif Acknowledge() in reception.effects:
        response = txn.get_response(key)
    txn.append(
        row_with_header(ground, subject, passage, effect)
        for effect in reception.effects
        if isinstance(effect, Journal)
    )
    answers = [effect for effect in reception.effects if isinstance(effect, Answer)]
    return Custody(response, answers, leaving=leaving)


def _response(ground: Ground, subject: Subject) -> Package:
    """Our own acknowledgement, which says who gives it (S1-50); of the hop, where that is asked."""
    if subject.route.profile.acknowledges_on_request:
        return acknowledgment_of_hop(ground, subject)
    element = AcknowledgmentElement(timestamp_at=ground.now.at, from_ids=ground.house.party)
    return acknowledgment_upstream(ground, subject, element=element)


def _store_both(txn: Transaction, ground: Ground, passage: Passage, response: Package) -> Leaving:
    """Store the message twice: as received, to recognise repeats, and as one to send."""
    message, terms, now = passage.message, passage.route.terms, ground.now
    if ground.house.routes.find(passage.route.id) is None:
        # Taken away by a reload while the payloads came in; whoever comes again finds what is left.
        raise RemoteError(
            ErrorCode.TRANSIENT_ERROR, f"route {passage.route.id!r} is configured no more"
        )
    if not room_left(txn, ground.house):
        waiting = txn.count_waiting()
        raise RemoteError(ErrorCode.TRANSIENT_ERROR, f"{waiting} messages wait for a verdict here")
    if txn.find_outbound(message.message_id) is not None:
        raise RemoteError(
            ErrorCode.SECURITY_FAILURE, "another message is on its way under this MessageId"
        )
    txn.add_inbound(
        message,
        passage.payloads,
        response,
        digest=passage.digests.payloads,
        header_digest=passage.digests.header,
        ack_requested=passage.previous.ack_requested,
        received_at=now.at,
        keep_until_at=schedule.forgettable_at(message.timestamp_at, now, terms),
        status=InboundStatus.FORWARDED,
    )
    ours = changed(message, agreement_id=passage.route.id)
    ends_at = (message.time_to_live_at, schedule.expires_at(message.timestamp_at, terms))
    state = Outbound(expires_at=min(filter(None, ends_at), default=None))
    txn.add_outbound(
        ours,
        state,
        passage.payloads,
        digest=passage.digests.payloads,
        header_digest=passage.digests.header,
        submitted_at=now.at,
        idempotency_key=None,
    )
    txn.put_package(message.message_id, passage.package)
    return sending.enqueue(txn, ground, Draft(ours, passage.payloads), state)


def _arrival_of(passage: Passage) -> Arrival:
    message = passage.message
    return Arrival(
        message.message_id,
        passage.digests.payloads,
        message.wants_ack or message.wants_next_ack,
        message.timestamp_at,
        passage.previous.sequence_number,
        time_to_live_at=message.time_to_live_at,
        method=passage.previous.reliable_messaging_method,
        header_digest=passage.digests.header,
        stamp=stamp_of(message, passage.previous.ack_requested),
        wants_elimination=message.is_eliminated,
    )
