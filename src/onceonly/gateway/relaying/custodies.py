"""Accept mode outside of steps: messages taken over are acknowledged and sent as ours (R-13).

The step that takes a message over is `steps.custody`.
"""

from onceonly.gateway.desk import Desk
from onceonly.gateway.relaying.upstream import Upstream
from onceonly.gateway.tasks import Tasks
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.message.message import AckRequested
from onceonly.message.package import Package
from onceonly.message.signals import Acknowledgment
from onceonly.message.word import changed
from onceonly.protocol.receiving import InboundStatus
from onceonly.steps import custody
from onceonly.steps.routes import Passage
from onceonly.steps.rows import SOME_HOP
from onceonly.steps.signals import outcome_row
from onceonly.steps.upstream import Subject, acknowledgment_upstream
from onceonly.store.contract.conditions import StoreFull


class Custodies:
    """Takes messages over and hands them to the sending side."""

    def __init__(self, *, desk: Desk, upstream: Upstream, tasks: Tasks) -> None:
        self._desk = desk
        self._upstream = upstream
        self._tasks = tasks

    async def take(self, passage: Passage, subject: Subject) -> None:
        """Store the message and acknowledge it. Raises `RemoteError` or `StoreFull`."""
        try:
            taken = await self._desk.transact(
                lambda txn, ground: custody.take(txn, ground, passage, subject), point="commit"
            )
        except StoreFull:
            # A repeat of what is stored can be acknowledged without a write (fault D4).
            await self._acknowledge_known(passage, subject)
            raise
        if taken.acknowledge is not None:
            self._tasks.start(self._acknowledge(subject, taken.acknowledge))
            asked = passage.message.ack_requested
            if taken.leaving is None and asked not in (None, AckRequested.NONE):
                self._tasks.start(self._ask_again(subject))
        for answer in taken.answers:
            self._tasks.start(self._upstream.send_error(subject, answer, Event.ERROR_SENT))

    async def _ask_again(self, subject: Subject) -> None:
        """Send a repeat on: the origin waits for the To Party, whose word may have been lost.

        We pass that word on once and do not keep it, so the To Party alone can give it again; it
        eliminates the copy (`ebms-2.0`).
        """
        sent = await self._desk.send_copy(subject.key.message_id)
        if sent is not None:
            await self._upstream.note(subject, outcome_row(Event.FORWARDED, sent))

    def pass_receipt(self, signal: Acknowledgment) -> None:
        """Send a delivery receipt on to the previous hop, if the message was taken over."""
        snapshot = self._desk.snapshot()
        entry = snapshot.find_outbound(signal.header.ref_to_message_id)
        route = None if entry is None else self._desk.house.routes.find(entry.agreement_id)
        if entry is None or route is None:
            return
        key = MessageKey(*entry.pair, entry.message_id)
        known = snapshot.find_inbound(key)
        if known is not None:
            subject = Subject(
                route,
                key,
                known.agreement_id,
                signal.header.conversation_id,
                route.sender_uri,
                SOME_HOP,
            )
            self._tasks.start(self._relay_receipt(subject, signal))

    async def _relay_receipt(self, subject: Subject, signal: Acknowledgment) -> None:
        """Send the final party's receipt to the previous hop, addressed for that hop."""
        element = signal.element
        if element is not None and not element.from_ids:
            element = changed(element, from_ids=subject.route.to_ids)
        package = acknowledgment_upstream(
            self._desk.ground(), subject, element=element, status=signal.status, is_receipt=True
        )
        await self._upstream.send(subject, package, Event.RECEIPT_SENT)

    def repeat_response(self, subject: Subject) -> bool:
        """Answer a copy that may not pass; False if we never took over its message (R-46)."""
        snapshot = self._desk.snapshot()
        entry = snapshot.find_inbound(subject.key)
        if entry is None or entry.status is InboundStatus.CANCELLED:
            return False
        self._tasks.start(self._acknowledge(subject, snapshot.get_response(entry.key)))
        return True

    async def _acknowledge_known(self, passage: Passage, subject: Subject) -> None:
        snapshot = self._desk.snapshot()
        entry = snapshot.find_inbound(passage.message.key)
        if entry is not None and entry.has_content(passage.digests):
            await self._upstream.post(subject, snapshot.get_response(entry.key))

    async def _acknowledge(self, subject: Subject, response: Package) -> None:
        self._desk.failpoints.reach("before-acknowledge")
        ended = await self._upstream.post(subject, response)
        self._desk.failpoints.reach("after-acknowledge")
        await self._upstream.note(subject, outcome_row(Event.ACK_SENT, ended))
