"""Inquiries of previous hops, answered after the commit (`steps.whereabouts`)."""

from onceonly.gateway.office import Office
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.tasks import Tasks
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.package import Package
from onceonly.message.profile import Profile
from onceonly.message.signals import Inquiry, InquiryKind, MessageStatus, SignalAction
from onceonly.message.word import changed
from onceonly.steps import whereabouts
from onceonly.steps.authority import Caller
from onceonly.steps.signals import outcome_row
from onceonly.steps.upstream import Subject

FIRST_HOP = 2
"""`hop` for a message that was never here: as on the shortest way."""


class Whereabouts:
    """Answers inquiries of previous hops."""

    def __init__(self, *, office: Office, upstream: Upstream, tasks: Tasks) -> None:
        self._office = office
        self._upstream = upstream
        self._tasks = tasks

    async def take(self, inquiry: Inquiry, profile: Profile, caller: Caller) -> bool:
        """Answer an inquiry; False if it comes from no previous hop (R-20, R-44).

        The answer uses the URI that the route has for the previous hop, since the name in its
        inquiry need not be a URI. Raises `StoreFull`.
        """
        header = inquiry.header
        route = self._office.house.routes.find_from(header, profile, caller)
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
        status, acknowledgment = await self._office.transact(
            lambda txn, ground: whereabouts.look(txn, ground, inquiry, subject)
        )
        self._tasks.start(self._answer(inquiry, subject, status, acknowledgment))
        return True

    async def _answer(
        self,
        inquiry: Inquiry,
        subject: Subject,
        status: MessageStatus | None,
        acknowledgment: Package | None,
    ) -> None:
        if acknowledgment is not None and inquiry.kind is InquiryKind.STATUS:
            await self._upstream.send(subject, acknowledgment, Event.ACK_SENT)
        package = whereabouts.report(self._office.ground(), inquiry, subject, status)
        ended = await self._upstream.post(subject, package, SignalAction.STATUS_RESPONSE)
        sent = changed(outcome_row(Event.REPORT_SENT, ended), reason=inquiry.kind.value)
        await self._upstream.note(subject, sent)
