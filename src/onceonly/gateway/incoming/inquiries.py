"""Inquiries of partners: find out who asks about which message, and answer after the commit.

Ping, StatusRequest, CancelRequest and ResponseRequest are of seed 004 (levels 2, 3 and 5). An
inquiry is the only signal that is ever answered (R-20), and only to an address of an agreement
(R-26). What a partner is told about a stored message is decided in `protocol/keeping.py`.
"""

import asyncio
from typing import Final

from onceonly.gateway.desk import Desk
from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.incoming.package_answers import answer_with
from onceonly.gateway.incoming.reports import Reports
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER
from onceonly.gateway.ration import Rations
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.relaying.whereabouts import Whereabouts
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction, Event
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import ErrorSignal, Inquiry, InquiryKind, Report, SignalAction
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.events import Transmission
from onceonly.steps.answers import Asked, Reply, answer, report, row_of
from onceonly.steps.authority import Caller, is_entitled
from onceonly.steps.signals import outcome_row
from onceonly.steps.transmission import signal_endpoint_of
from onceonly.steps.verdicts import is_from_partner
from onceonly.store.contract.conditions import StoreFull
from onceonly.transport.transport import Answer as TransportAnswer

TAKEN = TransportAnswer(204)
PER_HOUR: Final = 3_600
"""Inquiries of one partner that are answered in an hour.

Each costs rows and a post, so that a flood of them would fill the disk (attack S7). It is enough
for a partner that asks about each of its messages in doubt.
"""


class Inquiries:
    """Answers partners' inquiries and takes their reports."""

    def __init__(
        self,
        *,
        desk: Desk,
        hand_overs: HandOvers,
        whereabouts: Whereabouts,
        tasks: Tasks,
        refusals: Refusals,
    ) -> None:
        self._desk = desk
        self._reports = Reports(desk)
        self._hand_overs = hand_overs
        self._whereabouts = whereabouts
        self._tasks = tasks
        self._refusals = refusals
        self._asked = Rations(per_hour=PER_HOUR, clock=desk.clock)
        self.is_draining = False
        """If True, an operator wants no more messages: partners that ask are told so (S4-15)."""

    def limit(self, per_hour: int) -> None:
        """Answer so many inquiries of each partner in an hour from now on."""
        self._asked.limit(per_hour)

    async def take(
        self, content: Inquiry | Report, profile: Profile, caller: Caller, *, ration: str
    ) -> TransportAnswer:
        """Take an inquiry or a report that arrived; the answer is sent after the commit.

        If it fits nothing, its row counts against `ration`: that of an agreement, or of strangers.
        The agreement decides who the caller is and to which address we answer (R-20, R-26, R-44).
        Raises `StoreFull`, except for a Ping, whose answer says that the disk is full.
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
        if not self._asked.spend(agreement.their_party):
            return await self._put_off(content, agreement)
        asked = Asked(content, agreement)
        if content.kind is InquiryKind.PING:
            reply = await self._take_ping(asked)
        else:
            reply = await self._desk.transact(lambda txn, ground: answer(txn, ground, asked))
        if content.header.wants_sync_reply and caller.awaits_an_answer:
            return await self._answer(asked, reply)
        self._tasks.start(self._send(asked, reply))
        return TAKEN

    async def _answer(self, asked: Asked, reply: Reply) -> TransportAnswer:
        """Report in the answer, as the asker wants it (SyncReply); the rest is sent by itself."""
        package = report(self._desk.ground(), asked, reply)
        sent = outcome_row(Event.REPORT_SENT, IN_THE_ANSWER, asked.inquiry.kind.value)
        await self._note(asked, sent)
        if reply.acknowledgment is not None:
            self._tasks.start(self._acknowledge(asked, reply.acknowledgment))
        return answer_with(asked.agreement, _action_of(asked), package)

    def _find_agreement(
        self, inquiry: Inquiry, profile: Profile, caller: Caller
    ) -> Agreement | None:
        """The agreement whose partner asks: the names fit, and the caller shows what is required.

        If the inquiry names no agreement, the only one that the asker has. Agreements that share a
        name are with one partner, and are answered alike: not, if one of them says so.
        """
        header = inquiry.header
        possible = [
            one
            for one in self._desk.house.agreements
            if header.agreement_id in ("", one.name_on_wire)
            and one.profile is profile
            and is_from_partner(header, one)
            and is_entitled(caller, one)
        ]
        if len({one.name_on_wire for one in possible}) != 1:
            return None
        return min(possible, key=lambda one: one.cpa.answers_inquiries)

    async def take_refusal(self, signal: ErrorSignal, profile: Profile, caller: Caller) -> bool:
        """Take an error about an inquiry of ours; False if it fits none."""
        return await self._reports.take_refusal(signal, profile, caller)

    def asked_about(self, inquiry_id: str) -> str | None:
        """The message that an open inquiry of ours is about, or that waits for its answer."""
        return self._reports.asked_about(inquiry_id)

    async def _note_orphan(self, report: Report, ration: str) -> None:
        """Counted and dropped (R-20)."""
        reason = f"the answer to a {report.kind} fits no inquiry of ours and its peer"
        row = self._desk.about_gateway(Event.REPORT_RECEIVED, reason)
        row = changed(
            row,
            direction=Direction.OUT,
            message_id=report.about or None,
            agreement_id=report.header.agreement_id or None,
        )
        await self._refusals.write(row, agreement_id=ration)

    async def _refuse(self, inquiry: Inquiry, ration: str) -> None:
        """An asker who is not the partner of the agreement gets no answer at all (R-44)."""
        asker = ", ".join(map(str, inquiry.header.from_ids[:2]))
        reason = f"{inquiry.kind} from {asker}, which is not the agreement's partner"
        row = self._desk.about_gateway(Event.SECURITY_EVENT, reason)
        row = changed(
            row,
            direction=Direction.IN,
            message_id=inquiry.header.ref_to_message_id or None,
            agreement_id=inquiry.header.agreement_id or None,
        )
        await self._refusals.write(row, agreement_id=ration)

    async def _put_off(self, inquiry: Inquiry, agreement: Agreement) -> TransportAnswer:
        """Nothing is looked up, kept or sent; the transport says that it may be asked later."""
        row = self._desk.about_gateway(
            Event.SECURITY_EVENT, f"{inquiry.kind} not answered: {_TOO_OFTEN}"
        )
        row = changed(row, direction=Direction.IN, agreement_id=agreement.name_on_wire)
        await self._refusals.write(row, agreement_id=agreement.id)
        return TransportAnswer(503, "Busy", reason=_TOO_OFTEN)

    async def _take_ping(self, asked: Asked) -> Reply:
        """Available as long as messages are taken: not when draining or on a full disk (S4-15)."""
        received = Journal(Event.INQUIRY_RECEIVED, reason=InquiryKind.PING.value)
        try:
            await self._desk.transact(
                lambda txn, ground: txn.append((row_of(ground, asked, received),))
            )
            has_room = True
        except StoreFull:
            has_room = False
        is_available = has_room and not self.is_draining and not self._desk.is_draining
        return Reply(is_accepted=is_available)

    async def _send(self, asked: Asked, reply: Reply) -> None:
        """Send the acknowledgement, the report and the response; each once, each with a row."""
        self._desk.failpoints.reach("before-report")
        if reply.acknowledgment is not None:
            await self._acknowledge(asked, reply.acknowledgment)
        package = report(self._desk.ground(), asked, reply)
        sent = await self._desk.post(asked.agreement, _action_of(asked), package)
        self._desk.failpoints.reach("after-report")
        await self._note(asked, outcome_row(Event.REPORT_SENT, sent, asked.inquiry.kind.value))
        if reply.response_id is not None:
            again = await self._desk.send_copy(reply.response_id)
            if again is not None:
                reason = f"the response again: {reply.response_id}"
                await self._note(asked, outcome_row(Event.REPORT_SENT, again, reason))

    async def _acknowledge(self, asked: Asked, acknowledgment: Package) -> None:
        """Send the stored response again; a withheld message is then handed over (R-12)."""
        is_sent = asyncio.Event()

        async def send() -> Transmission:
            try:
                return await self._desk.post(
                    asked.agreement, SignalAction.ACKNOWLEDGMENT, acknowledgment
                )
            finally:
                is_sent.set()

        self._hand_overs.acknowledge(self._hand_overs.debt_of(asked.key, asked.agreement), send)
        await is_sent.wait()

    async def _note(self, asked: Asked, effect: Journal) -> None:
        endpoint = signal_endpoint_of(asked.agreement)
        await self._desk.write(row_of(self._desk.ground(), asked, effect, endpoint))


_TOO_OFTEN: Final = (
    "this partner asked more often in an hour than is answered; expected is the same question later"
)


def _action_of(asked: Asked) -> SignalAction:
    is_ping = asked.inquiry.kind is InquiryKind.PING
    return SignalAction.PONG if is_ping else SignalAction.STATUS_RESPONSE
