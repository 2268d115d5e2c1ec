"""What an intermediary answers to a previous hop that asks about a message, or sends a Ping.

It speaks only for itself: it takes messages, it has sent this one on (`Forwarded`), or it knows
nothing about it. It never confirms a cancel, since a copy may already be at any later hop (R-08).
Seed 001 §1.3.4, seed 004 levels 2 and 3.
"""

from onceonly.message.event import Direction, Event
from onceonly.message.package import Package
from onceonly.message.signals import Inquiry, InquiryKind, MessageStatus, Report
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.receiving import InboundStatus
from onceonly.steps.ground import Ground
from onceonly.steps.signals import encoded, signal_header
from onceonly.steps.upstream import Subject, hop_upstream, row
from onceonly.store.contract.store import Transaction


def look(
    txn: Transaction, ground: Ground, inquiry: Inquiry, subject: Subject
) -> tuple[MessageStatus | None, Package | None]:
    """The status of the message here, and the acknowledgement to send again (S4-22)."""
    effect = Journal(Event.INQUIRY_RECEIVED, reason=inquiry.kind.value)
    asked = row(ground, subject, Direction.IN, effect)
    txn.append((asked if subject.key.message_id else changed(asked, message_id=None),))
    if inquiry.kind is InquiryKind.PING:
        return None, None
    entry = txn.find_inbound(subject.key)
    if entry is not None and entry.status is InboundStatus.FORWARDED:
        return MessageStatus.FORWARDED, txn.get_response(subject.key)
    if txn.find_transit(subject.route.id, subject.key.message_id) is not None:
        return MessageStatus.FORWARDED, None
    return MessageStatus.NOT_RECOGNIZED, None


def report(
    ground: Ground, inquiry: Inquiry, subject: Subject, status: MessageStatus | None
) -> Package:
    """What the previous hop is told, encoded."""
    hop = hop_upstream(ground.house, subject)
    is_known = inquiry.kind is InquiryKind.STATUS and status is MessageStatus.FORWARDED
    content = Report(
        header=signal_header(ground, hop, inquiry.header.message_id),
        kind=inquiry.kind,
        about=inquiry.header.ref_to_message_id,
        is_accepted=is_known or inquiry.kind is InquiryKind.PING,
        status=status,
    )
    return encoded(ground, content, hop)
