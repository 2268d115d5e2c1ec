"""Accept mode: a message becomes ours to deliver, and is acknowledged at once (R-13).

Towards the previous hop we behave as the To Party does: store, acknowledge, answer every repeat
with the first response, refuse what is too old. Towards the next hop we behave as the sender: the
message is an outbound one under the terms of its route, with its header as it came. If it cannot
be delivered, the From Party gets a DeliveryFailure notice. Seed 001 §1.3.4.2, invariant I37.
"""

from collections.abc import Sequence

from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.known import find_known, stamp_of
from onceonly.gateway.relaying.routes import Passage, Routes
from onceonly.gateway.relaying.upstream import Subject, Upstream, outcome_row
from onceonly.gateway.rows import SOME_HOP
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.room import Room
from onceonly.gateway.sending.work import Draft, Outcome
from onceonly.gateway.tasks import Tasks
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, PartyId
from onceonly.message.instant import Now
from onceonly.message.message import AcknowledgmentElement
from onceonly.message.package import Package
from onceonly.message.signals import Acknowledgment
from onceonly.message.word import Word, changed
from onceonly.protocol import receiving, schedule
from onceonly.protocol.effects import Acknowledge, Answer, Effect, Journal
from onceonly.protocol.receiving import Arrival, Case, InboundStatus, ReceivingPair
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.group import GroupCommit


class Verdict(Word):
    """What the step decided about an arrival, and what is to leave now that it is committed."""

    acknowledge: Package | None
    answers: Sequence[Answer]
    outcome: Outcome | None


class Custody:
    """Takes messages over and hands them to the sending side."""

    def __init__(  # noqa: PLR0913 - because this is where the parts of accept mode meet
        self,
        *,
        routes: Routes,
        store: Store,
        group: GroupCommit,
        dispatch: Dispatch,
        upstream: Upstream,
        clock: Clock,
        failpoints: Failpoints,
        tasks: Tasks,
        our_ids: tuple[PartyId, ...],
        room: Room,
    ) -> None:
        self._routes = routes
        self._store = store
        self._group = group
        self._dispatch = dispatch
        self._upstream = upstream
        self._clock = clock
        self._failpoints = failpoints
        self._tasks = tasks
        self._our_ids = our_ids
        self._room = room

    async def take(self, passage: Passage, subject: Subject) -> None:
        """Store the message and acknowledge it. Raises `RemoteError` or `StoreFull`."""
        try:
            verdict = await self._group.transact(lambda txn: self._arrive(txn, passage, subject))
        except StoreFull:
            # A repeat of what is stored can be acknowledged without a write (fault D4).
            await self._acknowledge_known(passage, subject)
            raise
        self._failpoints.reach("after-commit")
        if verdict.acknowledge is not None:
            self._tasks.start(self._acknowledge(subject, verdict.acknowledge))
        for answer in verdict.answers:
            self._tasks.start(self._upstream.send_error(subject, answer, Event.ERROR_SENT))
        if verdict.outcome is not None:
            self._dispatch.release(verdict.outcome)

    def pass_receipt(self, signal: Acknowledgment) -> None:
        """Send a delivery receipt on to the previous hop, if the message was taken over."""
        snapshot = self._store.snapshot()
        entry = snapshot.find_outbound(signal.header.ref_to_message_id)
        route = None if entry is None else self._routes.find(entry.agreement_id)
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
        """The final party's receipt, in the words of the hop there."""
        element = signal.element
        if element is not None and not element.from_ids:
            element = changed(element, from_ids=subject.route.to_ids)
        package = self._upstream.acknowledgment(
            subject, self._clock.now(), element=element, status=signal.status, is_receipt=True
        )
        ended = await self._upstream.post(subject, package)
        await self._upstream.note(subject, outcome_row(Event.RECEIPT_SENT, ended))

    def _arrive(self, txn: Transaction, passage: Passage, subject: Subject) -> Verdict:
        """Decide and store in one transaction. Reads first, then writes."""
        now = self._clock.now()
        key = passage.message.key
        entry = txn.find_inbound(key)
        reception = receiving.receive(
            _arrival_of(passage),
            find_known(txn, key, entry),
            ReceivingPair(forgotten_at=txn.get_receiving_pair(passage.message.pair).forgotten_at),
            now,
            passage.route.terms,
            is_cancelled=txn.is_cancelled(key),
        )
        response: Package | None = None
        outcome: Outcome | None = None
        if reception.case is Case.NEW:
            response = self._response(subject, now)
            outcome = self._store_both(txn, passage, response, now)
        elif Acknowledge() in reception.effects:
            response = txn.get_response(key)
        self._note(txn, passage, subject, reception.effects, now)
        answers = [effect for effect in reception.effects if isinstance(effect, Answer)]
        self._failpoints.reach("before-commit")
        return Verdict(response, answers, outcome)

    def _response(self, subject: Subject, now: Now) -> Package:
        """Our own acknowledgement, which says who gives it (S1-50)."""
        element = AcknowledgmentElement(timestamp_at=now.at, from_ids=self._our_ids)
        return self._upstream.acknowledgment(subject, now, element=element)

    def _store_both(
        self, txn: Transaction, passage: Passage, response: Package, now: Now
    ) -> Outcome:
        """The message as one received, to know repeats by, and as one to send."""
        message, terms = passage.message, passage.route.terms
        if not self._room.left(txn):
            raise RemoteError(
                ErrorCode.TRANSIENT_ERROR, f"{self._room.waiting} messages wait for a verdict here"
            )
        if txn.find_outbound(message.message_id) is not None:
            raise RemoteError(
                ErrorCode.SECURITY_FAILURE, "another message is on its way under this MessageId"
            )
        txn.add_inbound(
            message,
            passage.payloads,
            response,
            digest=passage.digests.payloads,
            header_digest=passage.digests.header,
            ack_requested=passage.previous.ack_requested,
            received_at=now.at,
            keep_until_at=schedule.forgettable_at(message.timestamp_at, now, terms),
            status=InboundStatus.FORWARDED,
        )
        ours = changed(message, agreement_id=passage.route.id)
        ends_at = (message.time_to_live_at, schedule.expires_at(message.timestamp_at, terms))
        state = Outbound(expires_at=min(filter(None, ends_at), default=None))
        txn.add_outbound(
            ours,
            state,
            passage.payloads,
            digest=passage.digests.payloads,
            header_digest=passage.digests.header,
            submitted_at=now.at,
            idempotency_key=None,
        )
        txn.put_package(message.message_id, passage.package)
        return self._dispatch.enqueue(txn, Draft(ours, passage.payloads), state, now)

    def _note(
        self,
        txn: Transaction,
        passage: Passage,
        subject: Subject,
        effects: Sequence[Effect],
        now: Now,
    ) -> None:
        txn.append(
            self._upstream.row_with_header(subject, passage, effect, now)
            for effect in effects
            if isinstance(effect, Journal)
        )

    def repeat_response(self, subject: Subject) -> bool:
        """Answer a copy that may not pass as one of what we took over, if it is that (R-46)."""
        snapshot = self._store.snapshot()
        entry = snapshot.find_inbound(subject.key)
        if entry is None or entry.status is InboundStatus.CANCELLED:
            return False
        self._tasks.start(self._acknowledge(subject, snapshot.get_response(entry.key)))
        return True

    async def _acknowledge_known(self, passage: Passage, subject: Subject) -> None:
        snapshot = self._store.snapshot()
        entry = snapshot.find_inbound(passage.message.key)
        if entry is not None and entry.has_content(passage.digests):
            await self._upstream.post(subject, snapshot.get_response(entry.key))

    async def _acknowledge(self, subject: Subject, response: Package) -> None:
        self._failpoints.reach("before-acknowledge")
        ended = await self._upstream.post(subject, response)
        self._failpoints.reach("after-acknowledge")
        await self._upstream.note(subject, outcome_row(Event.ACK_SENT, ended))


def _arrival_of(passage: Passage) -> Arrival:
    message = passage.message
    return Arrival(
        message.message_id,
        passage.digests.payloads,
        message.semantics,
        message.timestamp_at,
        passage.previous.sequence_number,
        time_to_live_at=message.time_to_live_at,
        method=passage.previous.reliable_messaging_method,
        header_digest=passage.digests.header,
        stamp=stamp_of(message, passage.previous.ack_requested),
    )
