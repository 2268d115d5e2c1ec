"""What an intermediary says to the previous hop about a message that came from there.

Such a signal is addressed hop by hop, from our URI to the SenderURI that brought the message. So an
origin sees the same whether or not somebody stands between it and the destination (seed 001
§1.3.4).
"""

from onceonly.journal.record import Record
from onceonly.message.agreement import Route
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction
from onceonly.message.identity import MessageKey, PartyId
from onceonly.message.message import AcknowledgmentElement, Actor, DeliverySemantics
from onceonly.message.package import Package
from onceonly.message.signals import PLAIN_ACK, Acknowledgment, AckStatus, ErrorSignal
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Answer, AnswerUpstream, Journal
from onceonly.steps.ground import Ground, House
from onceonly.steps.routes import Passage, as_agreement
from onceonly.steps.signals import Hop, encoded, entry_of, signal_header


class Subject(Word):
    """A message of a route, with everything that a signal upstream about it needs."""

    route: Route
    key: MessageKey
    agreement_id: str
    """TPAId or CPAId of the message."""
    conversation_id: str
    upstream_uri: str
    """SenderURI of the hop that brought it."""
    hop: int
    """Number of the RoutingHeader that we add to it."""


def hop_upstream(house: House, subject: Subject) -> Hop:
    """Where a signal to the previous hop goes."""
    return Hop(
        house.uri,
        subject.upstream_uri,
        subject.route.profile,
        subject.agreement_id,
        subject.conversation_id,
        # Without RoutingHeaders the parties are named: we by our URI, as whoever found it out.
        (PartyId(house.uri),),
        subject.route.from_ids,
    )


def acknowledgment_of_hop(ground: Ground, subject: Subject) -> Package:
    """Our acknowledgement of one hop, encoded (`ebms-2.0`, actor nextMSH).

    Its header names the parties of the message, swapped, as that of the To Party does: the CPA of
    the previous hop knows no others. The element says who acknowledges.
    """
    hop = changed(hop_upstream(ground.house, subject), our_ids=subject.route.to_ids)
    header = signal_header(ground, hop, subject.key.message_id)
    element = element_of_hop(ground, subject.key.message_id)
    return encoded(ground, Acknowledgment(header, next_element=element), hop)


def element_of_hop(ground: Ground, message_id: str) -> AcknowledgmentElement:
    """The same as a block for a document that passes."""
    return AcknowledgmentElement(
        timestamp_at=ground.now.at,
        from_ids=ground.house.party,
        actor=Actor.NEXT_MSH,
        ref_to_message_id=message_id,
    )


def acknowledgment_upstream(
    ground: Ground,
    subject: Subject,
    *,
    element: AcknowledgmentElement | None,
    status: AckStatus = PLAIN_ACK,
    is_receipt: bool = False,
) -> Package:
    """The acknowledgement of the message, encoded."""
    hop = hop_upstream(ground.house, subject)
    header = signal_header(ground, hop, subject.key.message_id)
    return encoded(ground, Acknowledgment(header, element, status, is_receipt), hop)


def error_upstream(
    ground: Ground,
    subject: Subject,
    answer: Answer | AnswerUpstream,
    semantics: DeliverySemantics,
) -> Package:
    """The error about the message, encoded."""
    hop = hop_upstream(ground.house, subject)
    header = signal_header(ground, hop, subject.key.message_id)
    if answer.code is ErrorCode.DELIVERY_FAILURE and hop.profile.has_failure_notices:
        # A notice names who found the problem and whose message it was (seed 001 §1.6).
        header = changed(
            header, from_ids=(PartyId(ground.house.uri),), to_ids=subject.route.from_ids
        )
    return encoded(ground, ErrorSignal(header, (entry_of(answer),), semantics), hop)


def row(ground: Ground, subject: Subject, direction: Direction, effect: Journal) -> Record:
    """A row about the message; `hop` says that an intermediary wrote it."""
    route = subject.route
    endpoint = route.back_to if direction is Direction.IN else route.send_to
    return changed(
        ground.house.rows.about_message(
            subject.key,
            changed(as_agreement(route), id=subject.agreement_id),
            direction,
            effect,
            ground.now,
            endpoint=endpoint if effect.outcome else None,
        ),
        hop=subject.hop,
        conversation_id=subject.conversation_id,
    )


def row_with_header(ground: Ground, subject: Subject, passage: Passage, effect: Journal) -> Record:
    """A row about an arrival, with everything of the header that evidence needs."""
    record = ground.house.rows.with_header(
        passage.message,
        changed(as_agreement(subject.route), id=subject.agreement_id),
        Direction.IN,
        effect,
        ground.now,
        digests=passage.digests,
        ack_requested=passage.previous.ack_requested,
    )
    return changed(record, hop=subject.hop, attempt=effect.attempt)
