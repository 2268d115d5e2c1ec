"""Questions of partners: found out who asks about what, answered after the commit.

Ping, StatusRequest, CancelRequest and ResponseRequest are of seed 004 (levels 2, 3 and 5). An
inquiry is the only signal that is ever answered (R-20), and only to an address of an agreement
(R-26). What a partner is told about a stored message is decided in `protocol/keeping.py`.
"""

import asyncio

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.authority import Caller, is_entitled
from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.persistence import persist
from onceonly.gateway.receiving.handovers import HandOvers
from onceonly.gateway.receiving.signals import Hop, Signals
from onceonly.gateway.recovery.questions import is_from_partner
from onceonly.gateway.recovery.reports import Reports
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.relaying.whereabouts import Whereabouts
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import Now
from onceonly.message.package import Package
from onceonly.message.profile import Profile
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
from onceonly.protocol.events import Transmission
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import InboundEntry
from onceonly.store.contract.store import Transaction
from onceonly.store.group import GroupCommit
from onceonly.transport.transport import Answer as TransportAnswer

TAKEN = TransportAnswer(204)


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
        """The message that is asked about, if it is the asker's."""
        about = self.inquiry.header.ref_to_message_id
        return MessageKey(self.agreement.their_party, self.agreement.our_party, about)


class Inquiries:
    """Answers partners' inquiries and takes their reports."""

    def __init__(  # noqa: PLR0913 - because an answer may need any part of both sides
        self,
        *,
        group: GroupCommit,
        agreements: Agreements,
        dispatch: Dispatch,
        reports: Reports,
        hand_overs: HandOvers,
        whereabouts: Whereabouts,
        signals: Signals,
        rows: Rows,
        clock: Clock,
        failpoints: Failpoints,
        tasks: Tasks,
        refusals: Refusals,
        our_uri: str,
    ) -> None:
        self._group = group
        self._agreements = agreements
        self._dispatch = dispatch
        self._reports = reports
        self._hand_overs = hand_overs
        self._whereabouts = whereabouts
        self._signals = signals
        self._rows = rows
        self._clock = clock
        self._failpoints = failpoints
        self._tasks = tasks
        self._refusals = refusals
        self._our_uri = our_uri
        self.is_draining = False
        """An operator wants no more messages: partners that ask first are told so (S4-15)."""

    async def take(
        self, content: Inquiry | Report, profile: Profile, caller: Caller, *, ration: str
    ) -> TransportAnswer:
        """Take a question or an answer that arrived; what it causes leaves after the commit.

        The row of one that fits nothing takes from `ration`, an agreement's or the strangers'.
        Identity is the caller's under the agreement, and so are addresses (R-20, R-26, R-44).
        Raises `StoreFull`, save for a Ping, whose answer says so.
        """
        if isinstance(content, Report):
            if not await self._reports.take(content, profile, caller):
                await self._note_orphan(content, ration)
            return TAKEN
        agreement = self._find_agreement(content, profile, caller)
        if agreement is None:
            if not await self._whereabouts.take(content, profile, caller):
                await self._refuse(content, ration)
            return TAKEN
        asked = Asked(content, agreement)
        if content.kind is InquiryKind.PING:
            return await self._take_ping(asked)
        reply = await self._group.transact(lambda txn: self._answer(txn, asked))
        self._tasks.start(self._send(asked, reply))
        return TAKEN

    def _find_agreement(
        self, inquiry: Inquiry, profile: Profile, caller: Caller
    ) -> Agreement | None:
        """The agreement whose partner asks: its names fit, and its caller shows what it demands.

        Where none is named, the only one that is the asker's.
        """
        header = inquiry.header
        possible = [
            one
            for one in self._agreements
            if header.agreement_id in ("", one.id)
            and one.profile is profile
            and is_from_partner(header, one)
            and is_entitled(caller, one)
        ]
        return possible[0] if len(possible) == 1 else None

    def asked_about(self, inquiry_id: str) -> str | None:
        """The message that an open inquiry of ours is about, or goes before."""
        return self._reports.asked_about(inquiry_id)

    async def _note_orphan(self, report: Report, ration: str) -> None:
        """Counted and dropped (R-20)."""
        reason = f"the answer to a {report.kind} fits no inquiry of ours and its peer"
        row = self._rows.about_gateway(Event.REPORT_RECEIVED, self._clock.now(), reason)
        row = changed(
            row,
            direction=Direction.OUT,
            message_id=report.about or None,
            agreement_id=report.header.agreement_id or None,
        )
        await self._refusals.write(row, agreement_id=ration)

    async def _refuse(self, inquiry: Inquiry, ration: str) -> None:
        """Somebody who is not the agreement's partner is told nothing, not even that (R-44)."""
        asker = ", ".join(map(str, inquiry.header.from_ids[:2]))
        reason = f"{inquiry.kind} from {asker}, which is not the agreement's partner"
        row = self._rows.about_gateway(Event.SECURITY_EVENT, self._clock.now(), reason)
        row = changed(
            row,
            direction=Direction.IN,
            message_id=inquiry.header.ref_to_message_id or None,
            agreement_id=inquiry.header.agreement_id or None,
        )
        await self._refusals.write(row, agreement_id=ration)

    async def _take_ping(self, asked: Asked) -> TransportAnswer:
        """Available while messages are taken: not while draining, nor on a full disk (S4-15)."""
        row = self._row(asked, Journal(Event.INQUIRY_RECEIVED, reason=InquiryKind.PING.value))
        try:
            await self._group.transact(lambda txn: txn.append((row,)))
            has_room = True
        except StoreFull:
            has_room = False
        is_available = has_room and not self.is_draining and not self._dispatch.is_draining
        self._tasks.start(self._send(asked, Reply(is_accepted=is_available)))
        return TAKEN

    def _answer(self, txn: Transaction, asked: Asked) -> Reply:
        """Decide in one transaction; a cancel is a tombstone before anybody is told (R-08)."""
        now = self._clock.now()
        entry = txn.find_inbound(asked.key)
        rows = [Journal(Event.INQUIRY_RECEIVED, reason=asked.inquiry.kind.value)]
        if asked.inquiry.kind is InquiryKind.CANCEL:
            reply = self._cancel(txn, asked, entry, now, rows)
        elif asked.inquiry.kind is InquiryKind.RESPONSE:
            reply = self._find_response(txn, asked, entry)
        else:
            reply = self._status(txn, asked, entry)
        txn.append([self._row(asked, row) for row in rows])
        return reply

    def _agreement(self, asked: Asked, entry: InboundEntry | None) -> Agreement:
        """The agreement that the message came under, or else the asker's."""
        found = None if entry is None else self._agreements.find(entry.agreement_id)
        return found or asked.agreement

    def _status(self, txn: Transaction, asked: Asked, entry: InboundEntry | None) -> Reply:
        terms = self._agreement(asked, entry).terms
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
        self,
        txn: Transaction,
        asked: Asked,
        entry: InboundEntry | None,
        now: Now,
        rows: list[Journal],
    ) -> Reply:
        terms = self._agreement(asked, entry).terms
        status, processing = _state_of(txn, asked.key, entry)
        is_passed_on_for_good = entry is None and status is not None
        if entry is None and txn.is_cancelled(asked.key):
            status = InboundStatus.CANCELLED
        answer = keeping.cancel(status, processing, terms)
        # By its sender's clock the message was made before its cancel, whatever ours says.
        made_at = asked.inquiry.header.timestamp_at
        is_ahead = schedule.is_ahead(made_at, now, terms)  # The tombstone would be kept as long.
        if is_passed_on_for_good or is_ahead or not answer.is_accepted:
            told = self._status(txn, asked, entry)
            return changed(told, is_accepted=False, acknowledgment=None)
        if answer.rows:
            keep_until_at = schedule.forgettable_at(made_at, now, terms)
            txn.cancel_inbound(asked.key, at=now.at, keep_until_at=keep_until_at)
            rows.extend(answer.rows)
        return Reply()

    def _find_response(self, txn: Transaction, asked: Asked, entry: InboundEntry | None) -> Reply:
        told = self._status(txn, asked, entry)
        is_most_recent = self._agreement(asked, entry).terms.response_choice is (
            ResponseChoice.MOST_RECENT
        )
        response_id = txn.find_response(
            asked.key.message_id, asked.key.from_party, is_most_recent=is_most_recent
        )
        return changed(
            told, is_accepted=response_id is not None, acknowledgment=None, response_id=response_id
        )

    async def _send(self, asked: Asked, reply: Reply) -> None:
        """The acknowledgement, the report, the response; each once, each with its row."""
        endpoint = asked.agreement.send_to
        self._failpoints.reach("before-report")
        if reply.acknowledgment is not None:
            await self._acknowledge(asked, reply.acknowledgment)
        sent = await self._signals.post(endpoint, self._report(asked, reply, self._clock.now()))
        self._failpoints.reach("after-report")
        await self._note(asked, _sent(Event.REPORT_SENT, sent, asked.inquiry.kind.value))
        if reply.response_id is not None:
            again = await self._dispatch.send_again(reply.response_id)
            if again is not None:
                reason = f"the response again: {reply.response_id}"
                await self._note(asked, _sent(Event.REPORT_SENT, again, reason))

    async def _acknowledge(self, asked: Asked, acknowledgment: Package) -> None:
        """Send the stored response again; a message that waited for that is handed over (R-12)."""
        is_sent = asyncio.get_running_loop().create_future()

        async def send() -> Transmission:
            try:
                return await self._signals.post(asked.agreement.send_to, acknowledgment)
            finally:
                is_sent.set_result(None)

        self._hand_overs.acknowledge(self._hand_overs.debt_of(asked.key, asked.agreement), send)
        await is_sent

    def _report(self, asked: Asked, reply: Reply, now: Now) -> Package:
        asking, agreement = asked.inquiry.header, asked.agreement
        hop = Hop(
            self._our_uri,
            agreement.receiver_uri,
            agreement.profile,
            agreement.id,
            asking.conversation_id,
        )
        report = Report(
            header=self._signals.header(hop, asking.message_id, now),
            kind=asked.inquiry.kind,
            about=asking.ref_to_message_id,
            is_accepted=reply.is_accepted,
            status=reply.status,
            processing=reply.processing,
            received_at=reply.received_at,
        )
        return self._signals.encode(report, hop, now)

    async def _note(self, asked: Asked, effect: Journal) -> None:
        row = self._row(asked, effect, asked.agreement.send_to)
        await persist(self._group, lambda txn: txn.append((row,)))

    def _row(self, asked: Asked, effect: Journal, endpoint: str | None = None) -> Record:
        now = self._clock.now()
        row = self._rows.about_message(
            asked.key, asked.agreement, Direction.IN, effect, now, endpoint=endpoint
        )
        return row if asked.key.message_id else changed(row, message_id=None)


def _state_of(
    txn: Transaction, key: MessageKey, entry: InboundEntry | None
) -> tuple[InboundStatus | None, ProcessingState]:
    """How the message stands; a BestEffort one has no key, but the inbox may have it (R-16)."""
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


def _sent(event: Event, transmission: Transmission, reason: str) -> Journal:
    return Journal(
        event,
        outcome=transmission.outcome.value,
        status_code=transmission.status_code,
        reason=reason,
    )
