"""Business messages that arrived and keep to their agreements: stored, then answered.

The step decides and stores (`steps.arrival`). This file sends the answer after its commit: by a
transmission of its own, or in the answer of the transport if the agreement has syncReplyMode (seed
001 §1.2.2).
"""

from collections.abc import Awaitable, Callable
from functools import partial

from onceonly.gateway.desk import Desk
from onceonly.gateway.incoming.errors import Errors
from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.incoming.package_answers import answer_with
from onceonly.gateway.outgoing.replies import IN_THE_ANSWER, Exchange
from onceonly.gateway.tasks import Tasks
from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import NS_PER_S
from onceonly.message.message import AckRequested
from onceonly.message.package import Package
from onceonly.message.signals import SignalAction
from onceonly.message.word import changed
from onceonly.protocol.effects import Answer, Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.receiving import Case, InboundStatus
from onceonly.steps import arrival
from onceonly.steps.arrival import ArrivalVerdict, Received, Stored, find_response, located
from onceonly.steps.deviations import deviations_of
from onceonly.steps.ground import Ground
from onceonly.steps.signals import error, error_sent, hop_back
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.store import Transaction
from onceonly.transport.transport import Answer as TransportAnswer


def taken_by(received: Received) -> TransportAnswer:
    """The answer of a transport that took the message, and says nothing more (`answer_status`)."""
    return TransportAnswer(received.admitted.agreement.cpa.answer_status)


class Arrivals:
    """Stores messages that arrive, and answers for them."""

    def __init__(
        self,
        *,
        desk: Desk,
        hand_overs: HandOvers,
        errors: Errors,
        tasks: Tasks,
    ) -> None:
        self._desk = desk
        self._replies = desk.replies
        self._hand_overs = hand_overs
        self._errors = errors
        self._tasks = tasks

    async def take(self, received: Received) -> TransportAnswer:
        """Store the message or refuse it, send its acknowledgement, and answer its transport.

        Raises `StoreFull`; then nothing is stored.
        """
        key, terms = received.key, received.admitted.terms
        if terms.numbers_messages and terms.ack_status.is_passed_on:
            await self._hand_overs.wait_for_earlier(key.pair)
        open_before = self._replies.find(key)
        try:
            verdict = await self._desk.transact(partial(self._store, received), point="commit")
        except StoreFull:
            opened = self._replies.find(key)
            if opened is not None and opened is not open_before:
                self._replies.close_exchange(opened)
            # A repeat of what is stored can be acknowledged without a write (fault D4).
            await self._acknowledge_known(received)
            raise
        if verdict.case.is_new:
            for one in deviations_of(received):
                self._desk.deviations.note(one)
            self._hand_overs.handed_over(received.debt, verdict.effects)
        return await self._answer(received, verdict)

    def _store(self, received: Received, txn: Transaction, ground: Ground) -> ArrivalVerdict:
        """Run the step; it opens the exchange, so that a copy in the same batch finds it open."""
        is_awaited = self._replies.find(received.key) is not None
        verdict = arrival.store(txn, ground, received, is_awaited=is_awaited)
        if verdict.awaits_response:
            wants_element = received.admitted.terms.ack_requested is not AckRequested.NONE
            self._replies.open(received.key, wants_element=wants_element)
        return verdict

    async def _answer(self, received: Received, verdict: ArrivalVerdict) -> TransportAnswer:
        for effect in verdict.effects:
            if isinstance(effect, Answer):
                return await self._refuse(received, located(effect, verdict.case))
        if verdict.awaits_response:
            return await self._await_response(received, self._replies.find(received.key))
        if verdict.case is Case.IN_WORK and received.is_answered_at_once:
            return await self._join(received, self._replies.find(received.key))
        if verdict.response is not None:
            return await self._respond(received, verdict.response)
        if verdict.case is Case.COLLISION:
            return changed(taken_by(received), error=ErrorCode.SECURITY_FAILURE.value)
        return taken_by(received)

    def repeat_response(self, agreement: Agreement, key: MessageKey) -> bool:
        """Answer a damaged copy that names its message as any other copy (R-46).

        False if no message is stored under its MessageId, or only a tombstone; and if that message
        came under an agreement that requires signatures, since the copy has none (R-30). It need
        not be the agreement that the copy seems to belong to: a CPA may have several.
        """
        snapshot = self._desk.snapshot()
        entry = snapshot.find_inbound(key)
        if entry is None or entry.status is InboundStatus.CANCELLED:
            return False
        stored_under = self._desk.house.agreements.find(entry.agreement_id)
        if stored_under is not None and not stored_under.signing.is_believed_unsigned:
            return False
        response = find_response(snapshot, agreement, key)
        if response is not None:
            send = partial(self._send, agreement, key, response)
            self._hand_overs.acknowledge(self._hand_overs.debt_of(key, agreement), send)
        return True

    async def _acknowledge_known(self, received: Received) -> None:
        snapshot = self._desk.snapshot()
        entry = snapshot.find_inbound(received.key)
        if entry is None or not entry.has_content(received.digests):
            return
        response = find_response(snapshot, received.admitted.agreement, entry.key)
        if response is None or entry.status is InboundStatus.CANCELLED:
            return
        send = self._sender_of(received, response)
        if entry.status is InboundStatus.STORED:
            # It was withheld, and nobody asks again: it is handed over when there is space.
            self._hand_overs.acknowledge(received.debt, send)
        else:
            await send()

    async def _respond(self, received: Received, response: Stored) -> TransportAnswer:
        """Send the stored response, in the answer or by itself, and hand over after it."""
        if isinstance(response, str) and received.is_answered_at_once:
            repeated = await self._read_response(received, response)
            if repeated is not None:
                return repeated
        if isinstance(response, Package) and received.mode.has_signals:
            await self._hand_overs.acknowledge_in_answer(received.debt)
            return answer_with(received.admitted.agreement, SignalAction.ACKNOWLEDGMENT, response)
        self._hand_overs.acknowledge(received.debt, self._sender_of(received, response))
        return taken_by(received)

    async def _read_response(self, received: Received, message_id: str) -> TransportAnswer | None:
        """Our business response once more, as the answer; None if it is too long, or over."""
        answer = await self._desk.answer_with_copy(message_id)
        if answer is not None:
            await self._note_answered(received)
        return answer

    def _sender_of(
        self, received: Received, response: Stored
    ) -> Callable[[], Awaitable[Transmission]]:
        return partial(self._send, received.admitted.agreement, received.key, response)

    async def _send(self, agreement: Agreement, key: MessageKey, response: Stored) -> Transmission:
        if isinstance(response, Package):
            return await self._desk.post(agreement, SignalAction.ACKNOWLEDGMENT, response)
        transmission = await self._desk.send_copy(response)
        if transmission is not None:
            detail = f"by the business response {response}"
            return changed(transmission, detail=transmission.detail or detail)
        # Its time ended after the step: answer with what the next repeat would be answered with.
        left = find_response(self._desk.snapshot(), agreement, key)
        if left is None or left == response:
            return Transmission(Outcome.REFUSED, bytes_left=False)
        return await self._send(agreement, key, left)

    async def _refuse(self, received: Received, answer: Answer) -> TransportAnswer:
        admitted = received.admitted
        code, reason = answer.code.value, answer.description
        if not received.mode.has_signals:
            self._tasks.start(self._errors.send_error(admitted, answer))
            return changed(taken_by(received), error=code, reason=reason)
        ground = self._desk.ground()
        package = error(ground, hop_back(admitted), received.key.message_id, answer)
        await self._note(received, error_sent(answer, IN_THE_ANSWER))
        told = answer_with(admitted.agreement, SignalAction.ERROR, package)
        return changed(told, error=code, reason=reason)

    async def _await_response(
        self, received: Received, exchange: Exchange | None
    ) -> TransportAnswer:
        """Hold the exchange open for the application; after that time only acknowledge.

        `exchange` is None if it was closed in between, as at a stop.
        """
        clock, terms, answer = self._desk.clock, received.admitted.terms, None
        if exchange is not None:
            due_ns = clock.now().monotonic_ns + terms.timeout_s * NS_PER_S
            answer = await self._replies.wait(exchange, clock.real_wait_s(due_ns))
        if answer is None:
            return await self._answer_without_response(received)
        await self._note_answered(received)
        return answer

    async def _join(self, received: Received, exchange: Exchange | None) -> TransportAnswer:
        """A repeat of what is in work: it gets what its first copy gets (§6.5.5)."""
        clock, answer = self._desk.clock, None
        if exchange is not None:
            due_ns = clock.now().monotonic_ns + received.admitted.terms.timeout_s * NS_PER_S
            answer = await self._replies.join(exchange, clock.real_wait_s(due_ns))
        return answer or await self._answer_without_response(received)

    async def _answer_without_response(self, received: Received) -> TransportAnswer:
        """The application did not answer in time: acknowledge alone, in the answer if that may be.

        A response that was submitted meanwhile answers as it answers every repeat.
        """
        if not received.admitted.message.wants_ack:
            return taken_by(received)
        if not (received.is_answered_at_once and received.mode.has_signals):
            await self._acknowledge_anew(received)
            return taken_by(received)
        await self._desk.persist(
            lambda txn, ground: arrival.acknowledge_anew(txn, ground, received)
        )
        agreement = received.admitted.agreement
        response = find_response(self._desk.snapshot(), agreement, received.key)
        return taken_by(received) if response is None else await self._respond(received, response)

    async def _note_answered(self, received: Received) -> None:
        if received.admitted.message.wants_ack:
            rode = Journal(
                Event.ACK_SENT, outcome=Outcome.UNKNOWN.value, reason="on the business response"
            )
            await self._note(received, rode)

    async def _acknowledge_anew(self, received: Received) -> None:
        response = await self._desk.persist(
            lambda txn, ground: arrival.acknowledge_anew(txn, ground, received)
        )
        if response is not None:
            agreement = received.admitted.agreement
            send = partial(self._desk.post, agreement, SignalAction.ACKNOWLEDGMENT, response)
            self._hand_overs.acknowledge(received.debt, send)

    async def _note(self, received: Received, effect: Journal) -> None:
        key, agreement, digests = received.key, received.admitted.agreement, received.digests
        await self._desk.note(key, agreement, Direction.IN, effect, digests=digests)
