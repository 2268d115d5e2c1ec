"""Messages, packages and journal rows for the tests of the stores."""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import DeliverySemantics, Message, Payload
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.store.contract.entries import Notice, StoredPayload
from onceonly.store.contract.store import Store, Transaction

PARTY = "urn:duns:111111111"
NOW_AT = 1_700_000_000_000_000
BUYER = PartyId(PARTY)
SELLER = PartyId("seller@example.com", "email")
CARRIER = PartyId("urn:duns:333333333")
PAIR = Pair(str(BUYER), str(SELLER))
OTHER_PAIR = Pair(str(BUYER), str(CARRIER))
BODY = b"<Order/>"
PACKAGE = Package('multipart/related; boundary="b"', (b"--b\r\n<head/>", b"\r\n--b--", b""))
RESPONSE = Package("text/xml", (b"<Ack/>",))
SENDING = Outbound(OutboundStatus.SENDING, attempt=1, sequence_number=1)
QUEUED = Outbound()
ACKNOWLEDGED = Outbound(OutboundStatus.ACKNOWLEDGED, attempt=1, sequence_number=1)
NOTICE = Notice(
    "m-1",
    NoticeKind.DELIVERY_FAILURE,
    Severity.WARNING,
    ErrorCode.DELIVERY_FAILURE,
    "no acknowledgement",
    0,
    5,
)


def stored(body: bytes, number: int = 1) -> StoredPayload:
    """An inline payload part."""
    digest = sha256(body).hexdigest()
    name = f"Bestellung Nº{number}.xml"
    return StoredPayload(
        Payload(f"part{number}@buyer", "application/xml", len(body), digest, name), body
    )


def spooled(size_bytes: int, digest: str) -> StoredPayload:
    """A payload part whose bytes are in the spool."""
    return StoredPayload(Payload("big@buyer", "image/tiff", size_bytes, digest), None)


def message(
    message_id: str,
    *payloads: StoredPayload,
    to: PartyId = SELLER,
    conversation_id: str = "conversation-1",
    agreement_id: str = "tpa-1",
    ref_to_message_id: str | None = None,
    **fields: Any,
) -> Message:
    """A message of the buyer."""
    return Message(
        message_id=message_id,
        from_ids=(BUYER, PartyId("buyer", "name")),
        to_ids=(to,),
        agreement_id=agreement_id,
        conversation_id=conversation_id,
        service="Orders",
        action="NewOrder",
        timestamp_at=1_000_000,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
        ref_to_message_id=ref_to_message_id,
        payloads=tuple(part.payload for part in payloads),
        **fields,
    )


def submit(
    transaction: Transaction,
    sent: Message,
    *payloads: StoredPayload,
    state: Outbound = SENDING,
    idempotency_key: str | None = None,
) -> None:
    """Store a submission, and the turn where it has it."""
    transaction.add_outbound(
        sent,
        state,
        payloads,
        digest="d" * 64,
        header_digest="1" * 64,
        submitted_at=2_000_000,
        idempotency_key=idempotency_key,
    )
    if state.status is OutboundStatus.SENDING:
        transaction.put_sending_pair(
            sent.pair, SendingPair(sequence_number=1, in_flight=(sent.message_id,)), at=2_000_000
        )


def receive(
    transaction: Transaction,
    received: Message,
    *payloads: StoredPayload,
    response: Package | None = RESPONSE,
    **facts: Any,
) -> None:
    """Store an arrival."""
    facts = {"header_digest": "2" * 64, **facts}
    transaction.add_inbound(
        received, payloads, response, digest="e" * 64, received_at=3_000_000, **facts
    )


def row(event: Event, message_id: str | None = None, **columns: object) -> Record:
    """A journal row as a step writes it."""
    record = Record(str(BUYER), event, 4_000_000, 17, Direction.OUT, message_id=message_id)
    return changed(record, **columns)


def commit(store: Store, *steps: Callable[[Transaction], Any]) -> list[Any]:
    """Run the steps in one transaction and commit it."""
    transaction = store.begin()
    results = [step(transaction) for step in steps]
    store.commit()
    return results


def submitted(store: Store, message_id: str, state: Outbound = SENDING, **fields: Any) -> None:
    """Commit a submission without payloads."""
    commit(store, lambda tx: submit(tx, message(message_id, **fields), state=state))


def handed_over(store: Store, message_id: str) -> int:
    """Commit an arrival and its hand-over; returns the offset."""
    arrived = message(message_id, stored(BODY))
    commit(store, lambda tx: receive(tx, arrived, stored(BODY)))
    [offset] = commit(store, lambda tx: tx.hand_over(arrived.key, at=9))
    assert isinstance(offset, int)
    return offset
