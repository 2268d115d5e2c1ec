"""The JSON of the application API: one shape per noun, instants as RFC 3339 text in UTC."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec.structs import asdict

from onceonly.gateway.application.inbox import WholeItem
from onceonly.gateway.outgoing.questions import Availability
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import OUTCOMES, Event
from onceonly.message.instant import to_datetime
from onceonly.message.message import Message, Payload
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.outbound import NOT_DELIVERED
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import OutboundStatus
from onceonly.steps.rows import outcome_of
from onceonly.store.contract.entries import InboxItem, Incident, Notice, OutboundView, PairView
from onceonly.store.contract.jobs import STAGED, Job, JobRow

UNDELIVERED = NOT_DELIVERED | {OutboundStatus.IN_DOUBT}
"""Statuses for which the shape also says whether non-delivery is certain."""


def instant(at: int | None) -> str | None:
    """An instant as RFC 3339 text with microseconds, or None."""
    if at is None:
        return None
    return to_datetime(at).isoformat(timespec="microseconds").replace("+00:00", "Z")


def error_shape(
    name: str, text: str, facts: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The shape of every refusal; some have facts for programs besides the text."""
    return {"error": {"name": name, "text": text, **facts}}


def message_shape(
    view: OutboundView, pair: PairView | None, recovery: Recovery | None
) -> dict[str, Any]:
    """An outbound message: what it is, its state, and what comes next.

    `pair` and `recovery` are null in lists.
    """
    state = view.state
    return {
        **_header_shape(view.message),
        "state": state.status.value,
        "is_final": state.status.is_final,
        "attempt": state.attempt,
        "episode": state.episode,
        "sequence_number": state.sequence_number,
        "error_code": state.error_code,
        "digest": view.digest,
        "header_digest": view.header_digest,
        "submitted_at": instant(view.submitted_at),
        "settled_at": instant(view.settled_at),
        "expires_at": instant(state.expires_at),
        "is_certain": state.is_certain if state.status in UNDELIVERED else None,
        "resend_of": view.resend_of,
        "resent_as": view.resent_as,
        "pair": None if pair is None else {"state": pair.status.value, "reason": pair.reason},
        "recovery": None if recovery is None else _recovery_shape(recovery),
        "response": None if recovery is None else _response_shape(recovery),
    }


def _recovery_shape(recovery: Recovery) -> dict[str, Any]:
    """What is asked about the message, and what its partner last said."""
    return {
        "phase": recovery.phase.value,
        "asked": recovery.asked,
        "wants_new_version": recovery.wants_new_version,
        "replaced_by": recovery.replaced_by,
        "status": recovery.status,
        "processing": recovery.processing,
        "reported_at": instant(recovery.reported_at),
    }


def _response_shape(recovery: Recovery) -> dict[str, Any]:
    """The status of the business response to the message (level 5)."""
    return {"state": recovery.response.value, "due_at": instant(recovery.response_due_at)}


def history_shape(records: Sequence[Record], error_code: str | None) -> dict[str, Any]:
    """What the journal has about an outbound message: acknowledgement, receipts, every row.

    `reason` belongs to the message's `error_code`, and is null if that is null.
    """
    why = None if error_code is None else _last(records, *_ENDINGS)
    outcomes = [record for record in records if record.event in OUTCOMES]
    return {
        "reason": None if why is None else why["said"],
        "last_outcome": outcome_shape(outcomes[-1:]),
        "acknowledgment": _last(records, Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED),
        "report": _last(records, Event.REPORT_RECEIVED),
        "receipts": [
            instant(record.at) for record in records if record.event == Event.RECEIPT_RECEIVED
        ],
        "timeline": [record_shape(record) for record in records],
    }


_ENDINGS = (Event.EXHAUSTED, Event.EXPIRED, Event.FAILED, Event.PARKED, Event.ERROR_RECEIVED)


def outcome_shape(rows: Iterable[Record]) -> dict[str, Any] | None:
    """How the last of these transmissions ended, also in words; None if there is none."""
    row = max(rows, key=lambda one: one.seq, default=None)
    if row is None:
        return None
    return {
        "at": instant(row.at),
        "endpoint": row.endpoint,
        "attempt": row.attempt,
        "outcome": row.outcome,
        "status_code": row.status_code,
        "words": outcome_of(row).words,
    }


def _last(records: Sequence[Record], *events: Event) -> dict[str, Any] | None:
    """When the last of these came, and what it said."""
    for record in reversed(records):
        if record.event in events:
            return {"at": instant(record.at), "said": record.reason}
    return None


def _header_shape(message: Message) -> dict[str, Any]:
    return {
        "message_id": message.message_id,
        "from": [str(party) for party in message.from_ids],
        "to": [str(party) for party in message.to_ids],
        "agreement": message.agreement_id,
        "conversation": message.conversation_id,
        "service": message.service,
        "action": message.action,
        "ref": message.ref_to_message_id,
        "semantics": message.semantics.value,
        "timestamp": instant(message.timestamp_at),
        "size_bytes": message.size_bytes,
    }


def record_shape(record: Record) -> dict[str, Any]:
    """One journal row; instants as text, nulls left out."""
    shape = {name: value for name, value in asdict(record).items() if value is not None}
    shape["at"] = instant(record.at)
    return shape


def job_shape(job: Job, counts: Mapping[str, int]) -> dict[str, Any]:
    """A job and its rows: accepted, rejected, replayed; and the states of the accepted ones.

    `rows` is the sum of the first three, `accepted` that of all that follow.
    """
    standing = {word: counts.get(word, 0) for word in (STAGED, *OutboundStatus)}
    rejected, replayed = counts.get("rejected", 0), counts.get("replayed", 0)
    accepted = sum(standing.values())
    return {
        "job": job.job_id,
        "state": "staging" if standing[STAGED] or job.releases == 0 else "released",
        "opened_at": instant(job.opened_at),
        "staged_at": instant(job.staged_at),
        "released_at": instant(job.released_at),
        "rows": accepted + rejected + replayed,
        "accepted": accepted,
        "rejected": rejected,
        "replayed": replayed,
        **standing,
    }


def release_shape(job: Job) -> dict[str, Any]:
    """A job that was just released."""
    return {
        "job": job.job_id,
        "opened_at": instant(job.opened_at),
        "staged_at": instant(job.staged_at),
        "released_at": instant(job.released_at),
    }


def reject_shape(row: JobRow) -> dict[str, Any]:
    """A row that was rejected."""
    return {
        "row": row.row,
        "message_id": row.message_id,
        **error_shape(row.error_code or "", row.reason or ""),
    }


def whole_inbox_shape(whole: WholeItem) -> dict[str, Any]:
    """An inbox item whose payloads have a `body` in base64; null if it is too large for that."""
    shape = inbox_shape(whole.item)
    for payload, body in zip(shape["payloads"], whole.bodies, strict=True):
        payload["body"] = None if body is None else b64encode(body).decode()
    return shape


def inbox_shape(item: InboxItem) -> dict[str, Any]:
    """A received message in the inbox."""
    return {
        **_header_shape(item.message),
        "offset": item.offset,
        "digest": item.digest,
        "header_digest": item.header_digest,
        "processing": item.processing.value,
        "received_at": instant(item.received_at),
        "handed_over_at": instant(item.handed_over_at),
        "payloads": [
            _payload_shape(item, number, payload)
            for number, payload in enumerate(item.message.payloads)
        ],
    }


def _payload_shape(item: InboxItem, number: int, payload: Payload) -> dict[str, Any]:
    return {
        "n": number,
        "name": payload.name,
        "content_type": payload.content_type,
        "size_bytes": payload.size_bytes,
        "digest": payload.digest,
        "href": f"/v1/inbox/items/{item.offset}/payloads/{number}",
    }


def notice_shape(number: int, notice: Notice) -> dict[str, Any]:
    """One notice for the application."""
    return {
        "number": number,
        "message_id": notice.message_id,
        "kind": NoticeKind(notice.kind).value,
        "severity": notice.severity.value,
        "error_code": notice.error_code.value,
        "reason": notice.reason,
        "episode": notice.episode,
        "at": instant(notice.at),
    }


def partner_shape(
    pair: PairView, terms: DeliveryTerms | None, outcomes: Iterable[Record]
) -> dict[str, Any]:
    """One side of a pair, as operators see it; `terms` only for the sending side.

    `outcomes` are those of the messages in flight.
    """
    is_sender = pair.role.value == "sender"
    return {
        "partner": pair.pair.to_party if is_sender else pair.pair.from_party,
        "role": pair.role.value,
        "from": pair.pair.from_party,
        "to": pair.pair.to_party,
        "state": pair.status.value,
        "reason": pair.reason,
        "trouble": pair.trouble,
        "sequence_number": pair.sequence_number,
        "in_flight": list(pair.in_flight),
        "window": None if terms is None else terms.window,
        "queued": pair.queued,
        "verdict_after_s": None if terms is None else terms.verdict_after_s,
        "last_outcome": outcome_shape(outcomes),
    }


def ping_shape(agreement: Agreement, seen: Availability, at: int) -> dict[str, Any]:
    """The result of a Ping to a partner."""
    return {
        "partner": agreement.their_party,
        "agreement": agreement.id,
        "outcome": seen.outcome.value,
        "available": seen.is_available,
        "at": instant(at),
    }


def incident_shape(
    incident: Incident, concerned: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """An incident; for trouble with a partner also how many messages it concerns."""
    return {
        "incident_id": incident.incident_id,
        "role": incident.role.value,
        "from": incident.pair.from_party,
        "to": incident.pair.to_party,
        "reason": incident.reason,
        "message_id": incident.message_id,
        "is_trouble": incident.is_trouble,
        "messages": None if concerned is None else dict(concerned),
        "opened_at": instant(incident.opened_at),
        "resolved_at": instant(incident.resolved_at),
    }
