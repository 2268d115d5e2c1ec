"""Rows of the SQLite store and the values they stand for: one function per direction.

Knows the order of columns in `sql/` and in the named queries; must not know
connections or transactions. Words become Enum members by look-ups in tables, since that is fast.
"""

import json
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from msgspec.structs import astuple

from onceonly.journal.record import Record
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair, PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Actor,
    DeliverySemantics,
    Message,
    MessageOrder,
    Payload,
    SchemaLocation,
    SignedReference,
    SyncReplyMode,
)
from onceonly.message.package import Package
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import Transit, TransitStatus
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus, Silence
from onceonly.store.contract.counters import Group, RareRow
from onceonly.store.contract.entries import (
    InboundEntry,
    InboxItem,
    InboxStanding,
    Incident,
    Notice,
    OutboundEntry,
    OutboundView,
    OwedNotice,
    PairView,
    Repetition,
    Role,
    TransitEntry,
)
from onceonly.store.contract.jobs import Job, JobRow, RowOutcome, StagedMessage

Row = Sequence[Any]
"""A row as SQLite gives it. The tables are STRICT, so each value has the type of its column."""

PARTIES_CACHED_MAX = 1_024
"""Lists of PartyIds that are kept decoded: a gateway has far fewer partners than messages."""

_PAYLOAD_FIELDS = 5
"""Fields of a payload's description in every profile; `ebms-2.0` may have more."""

PAYLOADS_MAX = 1 << 16
"""Payload parts per message that `place` can tell apart; the wire's own limit is far lower."""


class Way(StrEnum):
    """Which messages a payload belongs to."""

    OUT = "out"
    IN = "in"
    THROUGH = "through"
    """In transit through a relay."""


_OUTBOUND_STATUS = {word.value: word for word in OutboundStatus}
_EXPOSURE = {word.value: word for word in Exposure}
_SILENCE = {word.value: word for word in Silence}
_ERROR_CODE: dict[str | None, ErrorCode | None] = {None: None, **{w.value: w for w in ErrorCode}}
_INBOUND_STATUS = {word.value: word for word in InboundStatus}
_PROCESSING = {word.value: word for word in ProcessingState}
_PAIR_STATUS = {word.value: word for word in PairStatus}
_EVENT = {word.value: word for word in Event}
_DIRECTION: dict[str | None, Direction | None] = {None: None, **{w.value: w for w in Direction}}

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@lru_cache(PARTIES_CACHED_MAX)
def encode_parties(parties: tuple[PartyId, ...]) -> str:
    """PartyIds as JSON: `[[value, type], …]`."""
    return _to_json([[party.value, party.type] for party in parties])


@lru_cache(PARTIES_CACHED_MAX)
def decode_parties(text: str) -> tuple[PartyId, ...]:
    """The inverse of `encode_parties`."""
    return tuple(PartyId(value, kind) for value, kind in json.loads(text))


def encode_payloads(payloads: Sequence[Payload]) -> str:
    """Descriptions of payloads as JSON, in their order."""
    return _to_json([_payload_fields(payload) for payload in payloads])


def decode_payloads(text: str) -> tuple[Payload, ...]:
    """The inverse of `encode_payloads`."""
    return tuple(_payload(*fields) for fields in json.loads(text))


def _payload_fields(payload: Payload) -> list[Any]:
    fields: list[Any] = [
        payload.content_id,
        payload.content_type,
        payload.size_bytes,
        payload.digest,
        payload.name,
    ]
    if payload.reference_id or payload.role or payload.description or payload.schemas:
        schemas = [[one.location, one.version] for one in payload.schemas]
        fields += [payload.reference_id, payload.role, payload.description, schemas]
    return fields


def _payload(*fields: Any) -> Payload:
    if len(fields) == _PAYLOAD_FIELDS:
        return Payload(*fields)
    reference_id, role, description, schemas = fields[_PAYLOAD_FIELDS:]
    return changed(
        Payload(*fields[:_PAYLOAD_FIELDS]),
        reference_id=reference_id,
        role=role,
        description=description,
        schemas=tuple(SchemaLocation(*one) for one in schemas),
    )


def place(position: int, number: int) -> int:
    """Key of the body of payload `number` of the message at `position`."""
    assert 0 <= number < PAYLOADS_MAX, "more payloads than a message may have"
    return position << 16 | number


def from_package(package: Package) -> tuple[str, str, bytes]:
    """(content type, lengths of the segments, the segments in one)."""
    lengths = _to_json([len(segment) for segment in package.segments])
    return package.content_type, lengths, b"".join(package.segments)


def to_package(row: Row) -> Package:
    """The inverse of `from_package`."""
    content_type, lengths, joined = row
    bounds = pairwise(accumulate(json.loads(lengths), initial=0))
    return Package(content_type, tuple(joined[start:end] for start, end in bounds))


def encode_turns(in_flight: tuple[str, ...]) -> str | None:
    """MessageIds in one column, separated by a space, which no identifier has."""
    return " ".join(in_flight) or None


def decode_turns(text: str | None) -> tuple[str, ...]:
    """The inverse of `encode_turns`."""
    return () if text is None else tuple(text.split(" "))


def _encode_acknowledgment(element: AcknowledgmentElement | None) -> str | None:
    if element is None:
        return None
    parties = [[party.value, party.type] for party in element.from_ids]
    fields: list[Any] = [element.timestamp_at, parties, element.is_signed]
    if element.ref_to_message_id:
        references = [
            [one.uri, one.digest_method, one.digest_value, one.text] for one in element.references
        ]
        fields += [element.actor.value, element.ref_to_message_id, references]
    return _to_json(fields)


def _decode_acknowledgment(text: str | None) -> AcknowledgmentElement | None:
    if text is None:
        return None
    timestamp_at, parties, is_signed, *rest = json.loads(text)
    element = AcknowledgmentElement(
        timestamp_at=timestamp_at,
        from_ids=tuple(PartyId(value, kind) for value, kind in parties),
        is_signed=is_signed,
    )
    if not rest:
        return element
    actor, about, references = rest
    return changed(
        element,
        actor=Actor(actor),
        ref_to_message_id=about,
        references=tuple(SignedReference(*one) for one in references),
    )


def _encode_cpa_header(message: Message) -> str | None:
    """What only a header of `ebms-2.0` says, as JSON; None if it says nothing of it."""
    order, next_ack = message.order, message.next_ack_requested
    said = (
        message.from_role,
        message.to_role,
        message.service_type,
        message.description or None,
        message.duplicate_elimination,
        message.ack_requested,
        None if next_ack is AckRequested.NONE else next_ack,
        _encode_acknowledgment(message.next_acknowledgment),
        None if order is None else [order.number, order.is_reset],
    )
    if said == _SAYS_NOTHING:
        return None
    return _to_json(
        {name: one for name, one in zip(_CPA_HEADER, said, strict=True) if one is not None}
    )


_CPA_HEADER = (
    "from_role",
    "to_role",
    "service_type",
    "description",
    "duplicate_elimination",
    "ack_requested",
    "next_ack_requested",
    "next_acknowledgment",
    "order",
)
_SAYS_NOTHING = (None,) * len(_CPA_HEADER)


def _with_cpa_header(message: Message, text: str | None) -> Message:
    """The inverse of `_encode_cpa_header`."""
    if text is None:
        return message
    said = json.loads(text)
    for name in ("ack_requested", "next_ack_requested"):
        if name in said:
            said[name] = AckRequested(said[name])
    if "next_acknowledgment" in said:
        said["next_acknowledgment"] = _decode_acknowledgment(said["next_acknowledgment"])
    if "order" in said:
        said["order"] = MessageOrder(*said["order"])
    return changed(message, **said)


def from_message(message: Message) -> tuple[Any, ...]:
    """The columns `from_ids` to `cpa_header`."""
    return (
        encode_parties(message.from_ids),
        encode_parties(message.to_ids),
        message.conversation_id,
        message.service,
        message.action,
        message.timestamp_at,
        message.semantics,
        message.ref_to_message_id,
        encode_payloads(message.payloads),
        message.time_to_live_at,
        message.sync_reply_mode,
        message.delivery_receipt_requested,
        _encode_acknowledgment(message.acknowledgment),
        _encode_cpa_header(message),
    )


def to_message(message_id: str, agreement_id: str, columns: Row) -> Message:
    """The message whose columns `from_ids` to `cpa_header` are `columns`."""
    from_ids, to_ids, conversation, service, action, timestamp_at, semantics, ref = columns[:8]
    payloads, time_to_live_at, reply_mode, receipt, acknowledgment, cpa_header = columns[8:]
    message = Message(
        message_id=message_id,
        from_ids=decode_parties(from_ids),
        to_ids=decode_parties(to_ids),
        agreement_id=agreement_id,
        conversation_id=conversation,
        service=service,
        action=action,
        timestamp_at=timestamp_at,
        semantics=DeliverySemantics(semantics),
        ref_to_message_id=ref,
        payloads=decode_payloads(payloads),
        time_to_live_at=time_to_live_at,
        sync_reply_mode=reply_mode and SyncReplyMode(reply_mode),
        delivery_receipt_requested=receipt and AckRequested(receipt),
        acknowledgment=_decode_acknowledgment(acknowledgment),
    )
    return _with_cpa_header(message, cpa_header)


def to_outbound(columns: Row) -> Outbound:
    """The state whose columns `status` to `due_ns` are `columns`."""
    status, attempt, episode, exposure, number, expires_at, transients = columns[:7]
    silence, pings, code, has_arrived, is_certain, due_ns = columns[7:]
    return Outbound(
        _OUTBOUND_STATUS[status],
        attempt,
        episode,
        _EXPOSURE[exposure],
        number,
        expires_at,
        transients,
        _SILENCE[silence],
        pings,
        _ERROR_CODE[code],
        bool(has_arrived),
        bool(is_certain),
        due_ns,
    )


def to_outbound_entry(row: Row) -> OutboundEntry:
    """`position, message_id, from_party, to_party, agreement_id`, then the state."""
    return OutboundEntry(row[1], Pair(row[2], row[3]), row[4], to_outbound(row[5:18]))


def to_outbound_view(row: Row) -> OutboundView:
    """An entry's columns, then `settled_at`, the message, and `digest` to `resent_as`."""
    settled_at, (digest, submitted_at, header_digest, resend_of, resent_as) = row[18], row[33:]
    return OutboundView(
        to_message(row[1], row[4], row[19:33]),
        to_outbound(row[5:18]),
        submitted_at,
        settled_at,
        digest,
        header_digest,
        resend_of,
        resent_as,
    )


def to_sending_pair(row: Row) -> SendingPair:
    """`status, sequence_number, in_flight, reason, trouble`."""
    status, number, in_flight, reason, trouble = row
    return SendingPair(_PAIR_STATUS[status], number, decode_turns(in_flight), reason, trouble)


def to_receiving_pair(row: Row) -> ReceivingPair:
    """`status, sequence_number`, and the other fields of the pair in their order."""
    status, number, refused, takes_any, reason, forgotten_at = row
    return ReceivingPair(
        _PAIR_STATUS[status], number, refused, bool(takes_any), reason, forgotten_at
    )


def to_inbound_entry(row: Row) -> InboundEntry:
    """`position, message_id, from_party, to_party, agreement_id, status, processing, …`."""
    _, message_id, from_party, to_party, agreement_id, status, processing = row[:7]
    digest, received_at, is_withheld, parked, header_digest, ack_requested = row[7:]
    return InboundEntry(
        MessageKey(from_party, to_party, message_id),
        agreement_id,
        _INBOUND_STATUS[status],
        _PROCESSING[processing],
        digest,
        received_at,
        bool(is_withheld),
        parked,
        header_digest,
        ack_requested and AckRequested(ack_requested),
    )


def to_inbox_item(row: Row) -> InboxItem:
    """`inbox_offset, …, header_digest`, which hand-over it repeats, then the message."""
    offset, message_id, agreement_id, received_at, handed_over_at, processing = row[:6]
    message = to_message(message_id, agreement_id, row[11:])
    return InboxItem(
        offset,
        message,
        received_at,
        handed_over_at,
        _PROCESSING[processing],
        row[6],
        row[7],
        None if row[8] is None else Repetition(*row[8:11]),
    )


def to_inbox_standing(row: Row) -> InboxStanding:
    """`status, processing, is_refused`."""
    status, processing, is_refused = row
    return InboxStanding(_INBOUND_STATUS[status], _PROCESSING[processing], bool(is_refused))


def to_pair_view(row: Row) -> PairView:
    """`role, from_party, to_party, status, reason, sequence_number, in_flight, queued, trouble`."""
    role, from_party, to_party, status, reason, number, in_flight, queued, trouble = row
    return PairView(
        Role(role),
        Pair(from_party, to_party),
        _PAIR_STATUS[status],
        reason,
        number,
        decode_turns(in_flight),
        queued,
        trouble,
    )


def from_recovery(recovery: Recovery) -> tuple[Any, ...]:
    """The columns `phase` to `reported_at`: all but the deadline."""
    return astuple(recovery)[:-1]


def to_recovery(row: Row) -> Recovery:
    """`phase` to `reported_at`."""
    phase, asked, inquiry_id, wants_new, replaced_by, response, due_at = row[:7]
    status, processing, reported_at = row[7:]
    return Recovery(
        RecoveryPhase(phase),
        asked,
        inquiry_id,
        bool(wants_new),
        replaced_by,
        ResponseStatus(response),
        due_at,
        status and MessageStatus(status),
        processing and ReportedProcessing(processing),
        reported_at,
    )


def from_transit(entry: TransitEntry) -> tuple[Any, ...]:
    """The columns `upstream_uri` to `copies`."""
    return (*astuple(entry)[2:-1], *astuple(entry.state))


def to_transit_entry(row: Row) -> TransitEntry:
    """`message_id, route_id, from_party, to_party, upstream_uri, …, status, copies`."""
    message_id, route_id, from_party, to_party, upstream_uri, agreement_id = row[:6]
    conversation_id, ack_requested, digest, hop, status, copies = row[6:]
    return TransitEntry(
        MessageKey(from_party, to_party, message_id),
        route_id,
        upstream_uri,
        agreement_id,
        conversation_id,
        ack_requested and AckRequested(ack_requested),
        digest,
        hop,
        Transit(TransitStatus(status), copies),
    )


def to_owed_notice(row: Row) -> OwedNotice:
    """`message_id, from_party, to_party`, then the notice's fields in their order."""
    message_id, from_party, to_party, agreement_id, conversation_id, semantics, severity = row[:7]
    key = MessageKey(from_party, to_party, message_id)
    semantics, severity = DeliverySemantics(semantics), Severity(severity)
    return OwedNotice(key, agreement_id, conversation_id, semantics, severity, *row[7:])


def to_notice(row: Row) -> tuple[int, Notice]:
    """`number`, then the notice's fields in their order."""
    number, message_id, kind, severity, code, *rest = row
    notice = Notice(message_id, NoticeKind(kind), Severity(severity), ErrorCode(code), *rest)
    return number, notice


def to_incident(row: Row) -> Incident:
    """`incident_id, role, from_party, to_party, reason, opened_at, …, is_trouble`."""
    incident_id, role, from_party, to_party, *rest, is_trouble = row
    incident = Incident(incident_id, Role(role), Pair(from_party, to_party), *rest)
    return changed(incident, is_trouble=bool(is_trouble))


def to_group(row: Row) -> Group:
    """`minute_at, agreement_id, event, direction, is_doubt, count`."""
    minute_at, agreement_id, event, direction, is_doubt, count = row
    way = _DIRECTION[direction]
    return Group(minute_at, agreement_id, _EVENT[event], way, bool(is_doubt), count)


def to_listed(row: Row) -> RareRow:
    """The columns of a listed row."""
    seq, event, *rest = row
    return RareRow(seq, _EVENT[event], *rest)


def to_job_row(row: Row) -> JobRow:
    """`row, run, outcome, message_id, fingerprint, error_code, reason`."""
    number, run, outcome, *rest = row
    return JobRow(number, run, RowOutcome(outcome), *rest)


def to_staged(row: Row) -> StagedMessage:
    """The columns of a job, of its row, of the message, and `digest`."""
    job_row = to_job_row(row[6:13])
    message = to_message(row[13], row[14], row[15:29])
    return StagedMessage(Job(*row[:6]), job_row, message, row[29])


def to_record(row: Row) -> Record:
    """A journal row; its columns are those of `Record`."""
    party, event, at, monotonic_ns, direction, *rest = row
    return Record(party, _EVENT[event], at, monotonic_ns, _DIRECTION[direction], *rest)
