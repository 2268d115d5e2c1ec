"""What a partner that asks is told about a message that it sent us, or about its response.

Ping, StatusRequest, CancelRequest and ResponseRequest are of seed 004 (levels 2, 3 and 5). What is
told is decided in `protocol/keeping.py`.
"""

from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.package import Package
from onceonly.message.signals import (
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    ReportedProcessing,
)
from onceonly.message.terms import ResponseChoice
from onceonly.message.word import Word, changed
from onceonly.protocol import keeping, schedule
from onceonly.protocol.effects import Journal
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.steps.ground import Ground, House
from onceonly.steps.signals import encoded, hop_to, signal_header
from onceonly.store.contract.entries import InboundEntry
from onceonly.store.contract.store import Transaction


class Reply(Word):
    """What a partner is told, and what goes with it."""

    is_accepted: bool = True
    status: MessageStatus | None = None
    processing: ReportedProcessing | None = None
    received_at: int | None = None
    acknowledgment: Package | None = None
    """The stored response, sent again before the report (S4-22)."""
    response_id: str | None = None
    """Our business response, sent again after the report (level 5)."""


class Asked(Word):
    """An inquiry whose asker is the partner of an agreement."""

    inquiry: Inquiry
    agreement: Agreement

    @property
    def key(self) -> MessageKey:
        """Key of the message that is asked about, if the asker sent it."""
        about = self.inquiry.header.ref_to_message_id
        return MessageKey(self.agreement.their_party, self.agreement.our_party, about)


def answer(txn: Transaction, ground: Ground, asked: Asked) -> Reply:
    """Decide in one transaction; the tombstone of a cancel is stored before the answer (R-08)."""
    entry = txn.find_inbound(asked.key)
    rows = [Journal(Event.INQUIRY_RECEIVED, reason=asked.inquiry.kind.value)]
    if not asked.agreement.cpa.answers_inquiries:
        # Whatever the id: who is told nothing shall not learn which messages are there (E2-89).
        reply = Reply(is_accepted=False, status=MessageStatus.UNAUTHORIZED)
    elif asked.inquiry.kind is InquiryKind.CANCEL:
        reply = _cancel(txn, ground, asked, entry, rows)
    elif asked.inquiry.kind is InquiryKind.RESPONSE:
        reply = _find_response(txn, ground.house, asked, entry)
    else:
        reply = _status(txn, ground.house, asked, entry)
    txn.append([row_of(ground, asked, row) for row in rows])
    return reply


def _agreement(house: House, asked: Asked, entry: InboundEntry | None) -> Agreement:
    """The agreement under which the message came, or else that of the asker."""
    found = None if entry is None else house.agreements.find(entry.agreement_id)
    return found or asked.agreement


def _status(txn: Transaction, house: House, asked: Asked, entry: InboundEntry | None) -> Reply:
    terms = _agreement(house, asked, entry).terms
    status, processing = _state_of(txn, asked.key, entry)
    told = keeping.answer_status(status, processing, terms, asker_is_partner=True)
    return Reply(
        is_accepted=told.status is not MessageStatus.NOT_RECOGNIZED,
        status=told.status,
        processing=told.processing,
        received_at=entry.received_at if entry is not None and told.acknowledges else None,
        acknowledgment=_response_of(txn, asked.key) if told.acknowledges else None,
    )


def _cancel(
    txn: Transaction,
    ground: Ground,
    asked: Asked,
    entry: InboundEntry | None,
    rows: list[Journal],
) -> Reply:
    house, now = ground.house, ground.now
    terms = _agreement(house, asked, entry).terms
    status, processing = _state_of(txn, asked.key, entry)
    is_passed_on_for_good = entry is None and status is not None
    if entry is None and txn.is_cancelled(asked.key):
        status = InboundStatus.CANCELLED
    answer = keeping.cancel(status, processing, terms)
    # By the clock of its sender the message is older than the cancel, whatever our clock says.
    made_at = asked.inquiry.header.timestamp_at
    is_ahead = schedule.is_ahead(made_at, now, terms)  # The tombstone would be kept until then.
    if is_passed_on_for_good or is_ahead or not answer.is_accepted:
        told = _status(txn, house, asked, entry)
        return changed(told, is_accepted=False, acknowledgment=None)
    if answer.rows:
        keep_until_at = schedule.forgettable_at(made_at, now, terms)
        txn.cancel_inbound(asked.key, at=now.at, keep_until_at=keep_until_at)
        rows.extend(answer.rows)
    return Reply()


def _find_response(
    txn: Transaction, house: House, asked: Asked, entry: InboundEntry | None
) -> Reply:
    told = _status(txn, house, asked, entry)
    is_most_recent = _agreement(house, asked, entry).terms.response_choice is (
        ResponseChoice.MOST_RECENT
    )
    response_id = txn.find_response(
        asked.key.message_id, asked.key.from_party, is_most_recent=is_most_recent
    )
    return changed(
        told, is_accepted=response_id is not None, acknowledgment=None, response_id=response_id
    )


def report(ground: Ground, asked: Asked, reply: Reply) -> Package:
    """What is told, encoded."""
    asking = asked.inquiry.header
    hop = hop_to(ground.house, asked.agreement, asking.conversation_id)
    content = Report(
        header=signal_header(ground, hop, asking.message_id),
        kind=asked.inquiry.kind,
        about=asking.ref_to_message_id,
        is_accepted=reply.is_accepted,
        status=reply.status,
        processing=reply.processing if asked.agreement.has_cancels else None,
        received_at=reply.received_at,
    )
    return encoded(ground, content, hop)


def row_of(ground: Ground, asked: Asked, effect: Journal, endpoint: str | None = None) -> Record:
    """A row about the message that is asked about, or about none if the inquiry names none."""
    row = ground.house.rows.about_message(
        asked.key, asked.agreement, Direction.IN, effect, ground.now, endpoint=endpoint
    )
    return row if asked.key.message_id else changed(row, message_id=None)


def _state_of(
    txn: Transaction, key: MessageKey, entry: InboundEntry | None
) -> tuple[InboundStatus | None, ProcessingState]:
    """The state of the message; a BestEffort one has no key, but may be in the inbox (R-16)."""
    entry = entry or txn.find_inbound_without_key(key)
    if entry is not None:
        return entry.status, entry.processing
    return None, ProcessingState.NOT_STARTED


def _response_of(txn: Transaction, key: MessageKey) -> Package | None:
    """The stored response; there is none where no acknowledgement was asked for."""
    try:
        return txn.get_response(key)
    except KeyError:
        return None
