"""What an intermediary answers to a previous hop that asks about a message, or pings.

It speaks for itself only: it takes messages, it has sent this one on (`Forwarded`), or it knows
nothing of it. It never confirms a cancel, since a copy may be anywhere behind it (R-08). Seed 001
§1.3.4, seed 004 levels 2 and 3.
"""

from onceonly.gateway.authority import Caller
from onceonly.gateway.clock import Clock
from onceonly.gateway.receiving.signals import Signals
from onceonly.gateway.relaying.routes import Routes
from onceonly.gateway.relaying.upstream import Subject, Upstream, outcome_row
from onceonly.gateway.tasks import Tasks
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Inquiry, InquiryKind, MessageStatus, Report
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.receiving import InboundStatus
from onceonly.store.contract.store import Transaction
from onceonly.store.group import GroupCommit

FIRST_HOP = 2
"""`hop` of a message that was never here: that of the shortest way."""


class Whereabouts:
    """Answers inquiries of previous hops."""

    def __init__(
        self,
        *,
        routes: Routes,
        upstream: Upstream,
        signals: Signals,
        group: GroupCommit,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._routes = routes
        self._upstream = upstream
        self._signals = signals
        self._group = group
        self._clock = clock
        self._tasks = tasks

    async def take(self, inquiry: Inquiry, profile: Profile, caller: Caller) -> bool:
        """Answer an inquiry; False if it comes from no previous hop (R-20, R-44).

        The previous hop is answered under the URI that the route has for it: what it calls itself
        may be no URI at all. Raises `StoreFull`.
        """
        header = inquiry.header
        route = self._routes.find_from(header, profile, caller)
        if route is None:
            return False
        subject = Subject(
            route,
            MessageKey(*route.pair, header.ref_to_message_id),
            header.agreement_id or route.agreement_id or route.id,
            header.conversation_id,
            route.sender_uri,
            FIRST_HOP,
        )
        status, acknowledgment = await self._group.transact(
            lambda txn: self._look(txn, inquiry, subject)
        )
        self._tasks.start(self._answer(inquiry, subject, status, acknowledgment))
        return True

    def _look(
        self, txn: Transaction, inquiry: Inquiry, subject: Subject
    ) -> tuple[MessageStatus | None, Package | None]:
        """How the message stands here, and the acknowledgement to send again (S4-22)."""
        effect = Journal(Event.INQUIRY_RECEIVED, reason=inquiry.kind.value)
        row = self._upstream.row(subject, Direction.IN, effect, self._clock.now())
        txn.append((row if subject.key.message_id else changed(row, message_id=None),))
        if inquiry.kind is InquiryKind.PING:
            return None, None
        entry = txn.find_inbound(subject.key)
        if entry is not None and entry.status is InboundStatus.FORWARDED:
            return MessageStatus.FORWARDED, txn.get_response(subject.key)
        if txn.find_transit(subject.route.id, subject.key.message_id) is not None:
            return MessageStatus.FORWARDED, None
        return MessageStatus.NOT_RECOGNIZED, None

    async def _answer(
        self,
        inquiry: Inquiry,
        subject: Subject,
        status: MessageStatus | None,
        acknowledgment: Package | None,
    ) -> None:
        if acknowledgment is not None and inquiry.kind is InquiryKind.STATUS:
            ended = await self._upstream.post(subject, acknowledgment)
            await self._upstream.note(subject, outcome_row(Event.ACK_SENT, ended))
        ended = await self._upstream.post(subject, self._report(inquiry, subject, status))
        row = changed(outcome_row(Event.REPORT_SENT, ended), reason=inquiry.kind.value)
        await self._upstream.note(subject, row)

    def _report(self, inquiry: Inquiry, subject: Subject, status: MessageStatus | None) -> Package:
        now = self._clock.now()
        hop = self._upstream.hop(subject)
        is_known = inquiry.kind is InquiryKind.STATUS and status is MessageStatus.FORWARDED
        report = Report(
            header=self._signals.header(hop, inquiry.header.message_id, now),
            kind=inquiry.kind,
            about=inquiry.header.ref_to_message_id,
            is_accepted=is_known or inquiry.kind is InquiryKind.PING,
            status=status,
        )
        return self._signals.encode(report, hop, now)
