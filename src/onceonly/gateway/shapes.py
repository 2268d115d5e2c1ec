"""What the API shows of the store: values of the parts as declared types of `onceonly.api`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from msgspec import UNSET
from msgspec.structs import asdict

from onceonly.api import backups as api_backups
from onceonly.api import events, history, inbox, jobs, keys, messages, operating
from onceonly.api.refusals import Refusal
from onceonly.api.sent import SentPayload
from onceonly.gateway.application.inbox import WholeItem
from onceonly.gateway.application.pairs import InFlight, PairFacts
from onceonly.gateway.backups import MadeBackup
from onceonly.gateway.outgoing.questions import Availability
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import OUTCOMES, Event
from onceonly.message.instant import to_datetime
from onceonly.message.message import Message, Payload
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.outbound import UNDELIVERED
from onceonly.protocol.outlook import Outlook
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import OutboundStatus
from onceonly.steps.operating import WayOn
from onceonly.steps.places import RowAnswer
from onceonly.steps.rows import outcome_of
from onceonly.store.contract.entries import (
    InboxItem,
    Incident,
    Notice,
    OutboundView,
    PairView,
    Repetition,
    Role,
)
from onceonly.store.contract.jobs import STAGED, Job, JobRow
from onceonly.store.contract.keys import ApiKey

SAYS_CERTAIN = UNDELIVERED | {OutboundStatus.IN_DOUBT}
"""Statuses for which the shape also says whether non-delivery is certain."""


NameOf = Callable[[str], str | None]
"""What people call the partner with a PartyId; None for us, and for who has no name."""


def nameless(party: str) -> None:
    """Where what is made is not for people."""
    del party


def word(value: StrEnum) -> Any:
    """The word that the API has for it: a `Literal` of `onceonly.api.words`, as a test says."""
    return value.value


def text_of(at: int) -> str:
    """An instant as RFC 3339 text with microseconds."""
    return to_datetime(at).isoformat(timespec="microseconds").replace("+00:00", "Z")


def instant(at: int | None) -> str | None:
    """An instant as text, or None."""
    return None if at is None else text_of(at)


def message_shape(
    view: OutboundView,
    pair: PairView | None,
    recovery: Recovery | None,
    name_of: NameOf = nameless,
) -> messages.OutboundMessage:
    """An outbound message: what it is, where it stands, and what comes next.

    `pair` and `recovery` are null in lists.
    """
    state = view.state
    return messages.OutboundMessage(
        **_header_shape(view.message, name_of(str(view.message.to_ids[0]))),
        state=word(state.status),
        is_final=state.status.is_final,
        attempt=state.attempt,
        episode=state.episode,
        sequence_number=state.sequence_number,
        error_code=state.error_code,
        digest=view.digest,
        header_digest=view.header_digest,
        submitted_at=text_of(view.submitted_at),
        settled_at=instant(view.settled_at),
        expires_at=instant(state.expires_at),
        is_certain=state.is_certain if state.status in SAYS_CERTAIN else None,
        resend_of=view.resend_of,
        resent_as=view.resent_as,
        pair=None if pair is None else _condition_shape(pair),
        recovery=None if recovery is None else _recovery_shape(recovery),
        response=None if recovery is None else _response_shape(recovery),
    )


def _condition_shape(pair: PairView) -> messages.PairCondition:
    return messages.PairCondition(state=word(pair.status), reason=pair.reason)


def receipt_shape(message: messages.OutboundMessage, *, is_replayed: bool) -> messages.Receipt:
    """A message that was submitted."""
    return messages.Receipt(**asdict(message), replayed=is_replayed)


def _recovery_shape(recovery: Recovery) -> messages.Recovery:
    """What is asked about the message, and what its partner last said."""
    return messages.Recovery(
        phase=word(recovery.phase),
        asked=recovery.asked,
        wants_new_version=recovery.wants_new_version,
        replaced_by=recovery.replaced_by,
        status=recovery.status,
        processing=recovery.processing,
        reported_at=instant(recovery.reported_at),
    )


def _response_shape(recovery: Recovery) -> messages.Response:
    """How the business response to the message stands (level 5)."""
    return messages.Response(
        state=word(recovery.response), due_at=instant(recovery.response_due_at)
    )


def detail_shape(
    message: messages.OutboundMessage,
    records: Sequence[Record],
    payloads: Sequence[Payload],
    ahead: Outlook | None,
    way_on: WayOn | None,
    name_of: NameOf = nameless,
) -> messages.MessageDetail:
    """The message, and what the journal has of it: its acknowledgement, receipts, every row.

    `reason` belongs to the message's `error_code`, and is null if that is null.
    """
    why = None if message.error_code is None else _last(records, *_ENDINGS)
    outcomes = [record for record in records if record.event in OUTCOMES]
    receipts = [one for one in records if one.event == Event.RECEIPT_RECEIVED]
    return messages.MessageDetail(
        **asdict(message),
        reason=None if why is None else why.said,
        attempts_max=None if ahead is None else ahead.attempts_max,
        next_attempt_at=None if ahead is None else instant(ahead.next_attempt_at),
        gives_up_at=None if ahead is None else instant(ahead.gives_up_at),
        known=None if ahead is None else ahead.known,
        way_on=None if way_on is None else word(way_on),
        payloads=tuple(
            _sent_payload_shape(message.message_id, number, payload)
            for number, payload in enumerate(payloads)
        ),
        last_outcome=outcome_shape(outcomes[-1:]),
        acknowledgment=_last(records, Event.ACK_RECEIVED, Event.LATE_ACK_RECEIVED),
        report=_last(records, Event.REPORT_RECEIVED),
        receipts=tuple(text_of(record.at) for record in receipts),
        timeline=tuple(record_shape(record, name_of) for record in records),
    )


def _sent_payload_shape(message_id: str, number: int, payload: Payload) -> SentPayload:
    return SentPayload(
        n=number,
        name=payload.name,
        content_type=payload.content_type,
        size_bytes=payload.size_bytes,
        digest=payload.digest,
        href=f"/v1/messages/{quote(message_id, safe='')}/payloads/{number}",
    )


_ENDINGS = (Event.EXHAUSTED, Event.EXPIRED, Event.FAILED, Event.PARKED, Event.ERROR_RECEIVED)


def outcome_shape(rows: Iterable[Record]) -> messages.LastOutcome | None:
    """How the last of these transmissions ended, in words as well; null where there is none."""
    row = max(rows, key=lambda one: one.seq, default=None)
    if row is None:
        return None
    last = outcome_of(row)
    return messages.LastOutcome(
        at=text_of(row.at),
        endpoint=row.endpoint,
        attempt=row.attempt,
        outcome=word(last.outcome),
        status_code=row.status_code,
        words=last.words,
    )


def _last(records: Sequence[Record], *events: Event) -> messages.Said | None:
    """When the last of these came, and what it said."""
    for record in reversed(records):
        if record.event in events:
            return messages.Said(at=text_of(record.at), said=record.reason)
    return None


def _header_shape(message: Message, partner_name: str | None) -> dict[str, Any]:
    """The members of `messages.Sent`."""
    return {
        "message_id": message.message_id,
        "from_ids": tuple(map(str, message.from_ids)),
        "to_ids": tuple(map(str, message.to_ids)),
        "partner_name": partner_name,
        "agreement": message.agreement_id,
        "conversation": message.conversation_id,
        "service": message.service,
        "action": message.action,
        "ref": message.ref_to_message_id,
        "semantics": message.semantics,
        "timestamp": text_of(message.timestamp_at),
        "size_bytes": message.size_bytes,
        **_said(
            from_role=message.from_role,
            to_role=message.to_role,
            service_type=message.service_type,
            description=message.description,
        ),
    }


def _said(**members: Any) -> dict[str, Any]:
    """The members that have a value; others are left out of the answer."""
    return {name: value for name, value in members.items() if value}


def record_shape(record: Record, name_of: NameOf = nameless) -> history.JournalRow:
    """One journal row."""
    parties = (record.from_party, record.to_party)
    names = (name_of(party) for party in parties if party is not None)
    name = next((name for name in names if name is not None), None)
    known = {**asdict(record), "at": text_of(record.at)}
    return history.JournalRow(**known, partner_name=name)


def happened_shape(record: Record) -> events.HappenedEvent:
    """A journal row as an event."""
    return events.HappenedEvent(
        seq=record.seq,
        kind=events.KIND_OF[record.event],
        event=record.event,
        at=text_of(record.at),
        from_party=record.from_party,
        to_party=record.to_party,
        message_id=record.message_id,
        ref_to_message_id=record.ref_to_message_id,
        conversation_id=record.conversation_id,
        agreement_id=record.agreement_id,
        service=record.service,
        action=record.action,
        attempt=record.attempt,
        outcome=record.outcome,
        status_code=record.status_code,
        error_code=record.error_code,
        severity=record.severity,
        reason=record.reason,
    )


def job_shape(job: Job, counts: Mapping[str, int]) -> jobs.Job:
    """A job and its rows: accepted, rejected, replayed; and how what was accepted stands.

    `rows` is the sum of the first three, `accepted` that of all that follow.
    """
    standing = {str(word): counts.get(word, 0) for word in (STAGED, *OutboundStatus)}
    rejected, replayed = counts.get("rejected", 0), counts.get("replayed", 0)
    accepted = sum(standing.values())
    return jobs.Job(
        job=job.job_id,
        state="staging" if standing[STAGED] or job.releases == 0 else "released",
        opened_at=text_of(job.opened_at),
        staged_at=instant(job.staged_at),
        released_at=instant(job.released_at),
        rows=accepted + rejected + replayed,
        accepted=accepted,
        rejected=rejected,
        replayed=replayed,
        **standing,
    )


def release_shape(job: Job) -> jobs.ReleasedJob:
    """A job that was just released."""
    return jobs.ReleasedJob(
        job=job.job_id,
        opened_at=text_of(job.opened_at),
        staged_at=instant(job.staged_at),
        released_at=instant(job.released_at),
    )


def key_shape(key: ApiKey) -> keys.Key:
    """A key, without the secret."""
    return keys.Key(**_key_members(key))


def made_key_shape(key: ApiKey, secret: str) -> keys.MadeKey:
    """A key that was just made, with the secret."""
    return keys.MadeKey(**_key_members(key), key=secret)


def _key_members(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "scopes": key.scopes,
        "application": key.application,
        "agreements": key.agreement_ids,
        "made_at": text_of(key.made_at),
        "made_by": key.made_by,
        "revoked_at": instant(key.revoked_at),
        "last_used_at": instant(key.last_used_at),
        "certificate": key.certificate,
    }


def row_shape(answer: RowAnswer) -> jobs.RowAnswer:
    """What became of a row that was staged."""
    error = answer.error
    return jobs.RowAnswer(
        row=answer.row,
        message_id=answer.message_id,
        outcome=word(answer.outcome),
        error=UNSET if error is None else Refusal(name=error.name, text=str(error), **error.facts),
    )


def reject_shape(row: JobRow) -> jobs.RejectedRow:
    """A row that was rejected."""
    error = Refusal(name=row.error_code or "", text=row.reason or "")
    return jobs.RejectedRow(row=row.row, message_id=row.message_id, error=error)


def whole_inbox_shape(whole: WholeItem, name_of: NameOf = nameless) -> inbox.InboxItem:
    """An inbox item whose payloads have a `body`; null where it is too large for one."""
    shape = inbox_shape(whole.item, name_of)
    both = zip(shape.payloads, whole.bodies, strict=True)
    return changed(shape, payloads=tuple(changed(one, body=body) for one, body in both))


def inbox_shape(item: InboxItem, name_of: NameOf = nameless) -> inbox.InboxItem:
    """A received message in the inbox."""
    return inbox.InboxItem(
        **_header_shape(item.message, name_of(str(item.message.from_ids[0]))),
        offset=item.offset,
        digest=item.digest,
        header_digest=item.header_digest,
        processing=word(item.processing),
        received_at=text_of(item.received_at),
        handed_over_at=text_of(item.handed_over_at),
        **_repetition_shape(item.repeats),
        payloads=tuple(
            _payload_shape(item, number, payload)
            for number, payload in enumerate(item.message.payloads)
        ),
    )


def _repetition_shape(repeats: Repetition | None) -> dict[str, Any]:
    if repeats is None:
        return {}
    return {
        "handed_over_again": repeats.number,
        "first_offset": repeats.first_offset,
        "first_handed_over_at": text_of(repeats.first_handed_over_at),
    }


def _payload_shape(item: InboxItem, number: int, payload: Payload) -> inbox.Payload:
    return inbox.Payload(
        n=number,
        name=payload.name,
        content_type=payload.content_type,
        size_bytes=payload.size_bytes,
        digest=payload.digest,
        href=f"/v1/inbox/items/{item.offset}/payloads/{number}",
        **_said(
            reference_id=payload.reference_id,
            role=payload.role,
            description=payload.description,
            schemas=tuple(
                inbox.Schema(location=one.location, version=one.version) for one in payload.schemas
            ),
        ),
    )


def notice_shape(number: int, notice: Notice, partner: Agreement | None) -> operating.Notice:
    """One notice for the application; `partner` is the agreement of its message, if it has one."""
    return operating.Notice(
        number=number,
        message_id=notice.message_id,
        partner=None if partner is None else partner.their_party,
        partner_name=None if partner is None else partner.name,
        kind=word(NoticeKind(notice.kind)),
        severity=notice.severity,
        error_code=notice.error_code,
        reason=notice.reason,
        episode=notice.episode,
        at=text_of(notice.at),
    )


def partner_shape(
    pair: PairView,
    terms: DeliveryTerms | None,
    outcomes: Iterable[Record],
    name: str | None = None,
    facts: PairFacts = PairFacts(),  # noqa: B008 - because facts are frozen
) -> operating.PartnerPair:
    """One side of a pair, as operators see it; `terms` where we send.

    `outcomes` are those of the messages in flight, `name` is what people call the partner.
    """
    is_sender = pair.role is Role.SENDER
    return operating.PartnerPair(
        partner=pair.pair.to_party if is_sender else pair.pair.from_party,
        partner_name=name,
        role=word(pair.role),
        from_party=pair.pair.from_party,
        to_party=pair.pair.to_party,
        state=word(pair.status),
        reason=pair.reason,
        trouble=pair.trouble,
        sequence_number=pair.sequence_number,
        in_flight=tuple(pair.in_flight),
        window=None if terms is None else terms.window,
        queued=pair.queued,
        verdict_after_s=None if terms is None else terms.verdict_after_s,
        last_outcome=outcome_shape(outcomes),
        state_since_at=instant(facts.state_since_at),
        last_contact_at=instant(facts.last_contact_at),
        oldest_waiting_at=instant(facts.oldest_waiting_at),
        first_try_share=facts.first_try / facts.acknowledged if facts.acknowledged else None,
        first_try_of=facts.acknowledged,
        waiting=tuple(map(_waiting_shape, facts.in_flight)),
    )


def _waiting_shape(found: InFlight) -> operating.Waiting:
    return operating.Waiting(
        message_id=found.message_id,
        submitted_at=text_of(found.submitted_at),
        attempt=found.attempt,
        attempts_max=found.ahead.attempts_max,
        next_attempt_at=instant(found.ahead.next_attempt_at),
        gives_up_at=instant(found.ahead.gives_up_at),
    )


def ping_shape(agreement: Agreement, seen: Availability, at: int) -> operating.Ping:
    """What a Ping of a partner showed."""
    return operating.Ping(
        partner=agreement.their_party,
        partner_name=agreement.name,
        agreement=agreement.id,
        outcome=word(seen.outcome),
        available=seen.is_available,
        at=text_of(at),
    )


def incident_shape(
    incident: Incident, concerned: Mapping[str, int] | None, partner_name: str | None
) -> operating.Incident:
    """Something for an operator; of trouble with a partner, how many messages it concerns."""
    counts = {word(OutboundStatus(name)): count for name, count in (concerned or {}).items()}
    return operating.Incident(
        incident_id=incident.incident_id,
        role=word(incident.role),
        from_party=incident.pair.from_party,
        to_party=incident.pair.to_party,
        partner_name=partner_name,
        reason=incident.reason,
        message_id=incident.message_id,
        is_trouble=incident.is_trouble,
        messages=None if concerned is None else counts,
        opened_at=text_of(incident.opened_at),
        resolved_at=instant(incident.resolved_at),
    )


def backup_shape(backup: MadeBackup) -> api_backups.Backup:
    """A backup, and what is in it once it is whole."""
    found = backup.manifest
    manifest = None
    if found is not None:
        manifest = api_backups.BackupManifest(
            party=found.party,
            made_at=text_of(found.made_at),
            program=found.program,
            schema_version=found.schema_version,
            store_epoch=found.store_epoch,
            journal_seq=found.journal_seq,
            journal_hash=found.journal_hash,
            store_bytes=found.store_bytes,
            store_sha256=found.store_sha256,
            payload_files=found.payload_files,
            payload_bytes=found.payload_bytes,
        )
    return api_backups.Backup(
        name=backup.name,
        folder=str(backup.folder),
        state=backup.state,
        started_at=text_of(backup.started_at),
        pages_copied=backup.pages_copied,
        pages=backup.pages,
        reason=backup.reason,
        manifest=manifest,
    )
