"""One business message that arrived and keeps to its agreement: stored, or refused, and answered.

The decision is `protocol/receiving`'s; this file reads what it needs, writes what it decided in
one transaction, and lets the answer leave after the commit: by a transmission of its own, or in
the answer of the transport where the agreement has syncReplyMode (seed 001 §1.2.2).
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from onceonly.gateway.agreements import Admitted
from onceonly.gateway.authority import Caller
from onceonly.gateway.clock import Clock
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.known import find_known, stamp_of
from onceonly.gateway.persistence import persist
from onceonly.gateway.receiving.handovers import Debt, HandOvers, wants_receipt
from onceonly.gateway.receiving.replies import IN_THE_ANSWER, Exchange, Replies
from onceonly.gateway.receiving.signals import Signals, error_sent, hop_back, whole
from onceonly.gateway.rows import Rows, at_what_waits
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.sending.work import Outcome as Sending
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.instant import NS_PER_S, Now
from onceonly.message.message import AckRequested, SyncReplyMode
from onceonly.message.package import Package
from onceonly.message.signals import AckStatus, Assurance
from onceonly.message.terms import ResponseChoice
from onceonly.message.word import Word, changed
from onceonly.protocol import receiving, schedule
from onceonly.protocol.effects import (
    Acknowledge,
    AcknowledgeAnew,
    Answer,
    Effect,
    HandOver,
    Journal,
    OpenIncident,
    SendReceipt,
)
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.outbound import Exposure
from onceonly.protocol.receiving import Arrival, Case, InboundStatus, Reception
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import InboundEntry, Role, StoredPayload
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.group import GroupCommit
from onceonly.transport.transport import Answer as TransportAnswer

TAKEN = TransportAnswer(204)

Stored = Package | str
"""What answers a repeat: our acknowledgement, or the MessageId of our business response."""


class Received(Word):
    """A message that keeps to its agreement, with its payloads at hand and kept."""

    admitted: Admitted
    payloads: Sequence[StoredPayload]
    digests: Digests
    assurance: Assurance
    """How far it was looked at before it is stored (seed 004 level 0)."""
    mode: SyncReplyMode
    """What its sender awaits in the answer of a transport that can carry it."""
    caller: Caller

    @property
    def debt(self) -> Debt:
        """What the hand-over has to know of it."""
        receipt = hop_back(self.admitted) if wants_receipt(self.admitted.message) else None
        return Debt(self.admitted.message.key, self.admitted.agreement, receipt)


class Verdict(Word):
    """What the store step decided, and what is to leave now that it is committed."""

    case: Case
    effects: Sequence[Effect]
    response: Stored | None = None
    exchange: Exchange | None = None
    """Kept open for the application's response."""
    sending: Sending | None = None
    """What the message did to the one that it answers."""


class Arrivals:
    """Stores messages that arrive, and answers for them."""

    def __init__(  # noqa: PLR0913 - because this is where an arrival meets everything it concerns
        self,
        *,
        store: Store,
        group: GroupCommit,
        dispatch: Dispatch,
        replies: Replies,
        hand_overs: HandOvers,
        signals: Signals,
        rows: Rows,
        clock: Clock,
        failpoints: Failpoints,
        tasks: Tasks,
    ) -> None:
        self._store = store
        self._group = group
        self._dispatch = dispatch
        self._replies = replies
        self._hand_overs = hand_overs
        self._signals = signals
        self._rows = rows
        self._clock = clock
        self._failpoints = failpoints
        self._tasks = tasks

    async def take(self, received: Received) -> TransportAnswer:
        """Store the message or refuse it, let what is owed leave, and answer its transport.

        Raises `StoreFull`; then nothing is stored.
        """
        key, terms = received.admitted.message.key, received.admitted.terms
        if terms.numbers_messages and terms.ack_status.is_passed_on:
            await self._hand_overs.wait_for_earlier(key.pair)
        open_before = self._replies.find(key)
        try:
            verdict = await self._group.transact(lambda txn: self._store_step(txn, received))
        except StoreFull:
            exchange = self._replies.find(key)
            if exchange is not None and exchange is not open_before:
                self._replies.close_exchange(exchange)
            # A repeat of what is stored can be acknowledged without a write (fault D4).
            await self._acknowledge_known(received)
            raise
        self._failpoints.reach("after-commit")
        if verdict.sending is not None:
            self._dispatch.release(verdict.sending)
        if verdict.case is Case.NEW:
            self._hand_overs.handed_over(received.debt, verdict.effects)
        return await self._answer(received, verdict)

    async def _answer(self, received: Received, verdict: Verdict) -> TransportAnswer:
        for effect in verdict.effects:
            if isinstance(effect, Answer):
                return await self._refuse(received, effect)
        if verdict.exchange is not None:
            return await self._await_response(received, verdict.exchange)
        if verdict.response is not None:
            return await self._respond(received, verdict.response)
        if verdict.case is Case.COLLISION:
            return changed(TAKEN, error=ErrorCode.SECURITY_FAILURE.value)
        return TAKEN

    def _store_step(self, txn: Transaction, received: Received) -> Verdict:
        """Decide and store in one transaction. Reads first, then writes."""
        now = self._clock.now()
        admitted = received.admitted
        message, terms = admitted.message, admitted.terms
        key = message.key
        entry = txn.find_inbound(key)
        before = txn.get_receiving_pair(message.pair)
        stored = None if entry is None else _find_response(txn, admitted.agreement, key)
        known = find_known(txn, key, entry, has_response=stored is not None)
        reception = receiving.receive(
            self._arrival(received, entry),
            known,
            before,
            now,
            terms,
            is_cancelled=txn.is_cancelled(key),
        )
        verdict = Verdict(reception.case, reception.effects)
        if reception.case is Case.NEW:
            verdict = self._keep(txn, received, reception, now)
        elif AcknowledgeAnew() in reception.effects:
            response = self._acknowledgment(received, now, entry)
            txn.put_response(key, response)
            verdict = changed(verdict, response=response)
        elif Acknowledge() in reception.effects:
            verdict = changed(verdict, response=stored)
        if reception.pair != before:
            txn.put_receiving_pair(message.pair, reception.pair)
        self._carry_out(txn, received, reception, now)
        self._failpoints.reach("before-commit")
        return verdict

    def _arrival(self, received: Received, entry: InboundEntry | None) -> Arrival:
        message, hop = received.admitted.message, received.admitted.hop
        mode = received.mode
        if entry is not None and self._replies.find(message.key) is None:
            mode = SyncReplyMode.NONE  # Nobody works on the first copy's response any more.
        return Arrival(
            message.message_id,
            received.digests.payloads,
            message.semantics,
            message.timestamp_at,
            hop.sequence_number,
            message.time_to_live_at,
            received.admitted.terms.method,
            mode,
            message.delivery_receipt_requested,
            received.digests.header,
            stamp_of(message, hop.ack_requested),
        )

    def _keep(
        self, txn: Transaction, received: Received, reception: Reception, now: Now
    ) -> Verdict:
        message, terms = received.admitted.message, received.admitted.terms
        response = None
        if Acknowledge() in reception.effects:
            response = self._acknowledgment(received, now, None)
        txn.add_inbound(
            message,
            received.payloads,
            response,
            digest=received.digests.payloads,
            header_digest=received.digests.header,
            ack_requested=received.admitted.hop.ack_requested,
            received_at=now.at,
            keep_until_at=schedule.forgettable_at(message.timestamp_at, now, terms),
            has_key=reception.is_remembered,
        )
        return Verdict(
            reception.case,
            reception.effects,
            response,
            self._open_exchange(received),
            self._dispatch.on_response(txn, message, now, received.caller),
        )

    def _acknowledgment(self, received: Received, now: Now, entry: InboundEntry | None) -> Package:
        """What it says is true when it leaves: a message that is passed on was handed over."""
        agreed = received.admitted.terms.ack_status
        is_there = entry is None or entry.status is InboundStatus.HANDED_OVER
        status = AckStatus(
            _least(agreed.assurance, received.assurance), agreed.is_passed_on and is_there
        )
        return self._signals.acknowledgment(received.admitted, now, status=status)

    def _open_exchange(self, received: Received) -> Exchange | None:
        """The acknowledgement rides on the response, where it goes back in the answer (S1-37)."""
        admitted = received.admitted
        if not received.mode.has_response or not admitted.terms.is_acknowledged:
            return None
        wants_element = admitted.terms.ack_requested is not AckRequested.NONE
        return self._replies.open(admitted.message.key, wants_element=wants_element)

    def _carry_out(
        self, txn: Transaction, received: Received, reception: Reception, now: Now
    ) -> None:
        records: list[Record] = []
        message = received.admitted.message
        for effect in reception.effects:
            match effect:
                case Journal():
                    row = self._row(received, effect, now)
                    records += (row, *_at_what_it_answers(txn, row))
                case HandOver():
                    if reception.is_remembered:
                        txn.hand_over(message.key, at=now.at)
                case OpenIncident(reason):
                    txn.open_incident(Role.RECEIVER, message.pair, reason, at=now.at)
                case Acknowledge() | AcknowledgeAnew() | Answer() | SendReceipt():
                    pass  # These leave the house, after the commit.
                case _:
                    raise AssertionError(f"{effect} is no effect of an arrival")
        txn.append(records)

    def _row(self, received: Received, effect: Journal, now: Now) -> Record:
        admitted = received.admitted
        return self._rows.with_header(
            admitted.message,
            admitted.agreement,
            Direction.IN,
            effect,
            now,
            digests=received.digests,
            ack_requested=admitted.hop.ack_requested,
        )

    def repeat_response(self, agreement: Agreement, key: MessageKey) -> bool:
        """Answer a copy that is damaged, but says which message it is of, as any other (R-46).

        False where none is stored under its MessageId. What was taken back has its tombstone.
        """
        snapshot = self._store.snapshot()
        entry = snapshot.find_inbound(key)
        if entry is None or entry.status is InboundStatus.CANCELLED:
            return False
        response = _find_response(snapshot, agreement, key)
        if response is not None:
            send = partial(self._send, agreement, key, response)
            self._hand_overs.acknowledge(self._hand_overs.debt_of(key, agreement), send)
        return True

    async def _acknowledge_known(self, received: Received) -> None:
        snapshot = self._store.snapshot()
        entry = snapshot.find_inbound(received.admitted.message.key)
        if entry is None or not entry.has_content(received.digests):
            return
        response = _find_response(snapshot, received.admitted.agreement, entry.key)
        if response is None or entry.status is InboundStatus.CANCELLED:
            return
        send = self._sender_of(received, response)
        if entry.status is InboundStatus.STORED:
            # It was withheld, and nobody asks again: it goes to the inbox with the space.
            self._hand_overs.acknowledge(received.debt, send)
        else:
            await send()

    async def _respond(self, received: Received, response: Stored) -> TransportAnswer:
        """Let the stored response leave, in the answer or by itself, and hand over behind it."""
        if isinstance(response, Package) and received.mode in _WITH_SIGNALS:
            await self._hand_overs.acknowledge_in_answer(received.debt)
            return _answer_with(response)
        self._hand_overs.acknowledge(received.debt, self._sender_of(received, response))
        return TAKEN

    def _sender_of(
        self, received: Received, response: Stored
    ) -> Callable[[], Awaitable[Transmission]]:
        admitted = received.admitted
        return partial(self._send, admitted.agreement, admitted.message.key, response)

    async def _send(self, agreement: Agreement, key: MessageKey, response: Stored) -> Transmission:
        if isinstance(response, Package):
            return await self._signals.post(agreement.send_to, response)
        transmission = await self._dispatch.send_again(response)
        if transmission is not None:
            detail = f"by the business response {response}"
            return changed(transmission, detail=transmission.detail or detail)
        # Its time was over since its step: what answers the next repeat answers this one, too.
        left = _find_response(self._store.snapshot(), agreement, key)
        if left is None or left == response:
            return Transmission(Outcome.REFUSED, bytes_left=False)
        return await self._send(agreement, key, left)

    async def _refuse(self, received: Received, answer: Answer) -> TransportAnswer:
        admitted = received.admitted
        if received.mode not in _WITH_SIGNALS:
            self._tasks.start(self._signals.send_error(admitted, answer))
            return changed(TAKEN, error=answer.code.value, reason=answer.description)
        now = self._clock.now()
        package = self._signals.error(admitted, answer, now)
        sent = error_sent(answer, IN_THE_ANSWER)
        await self._note(received, sent)
        return changed(_answer_with(package), error=answer.code.value, reason=answer.description)

    async def _await_response(self, received: Received, exchange: Exchange) -> TransportAnswer:
        """Hold the exchange open for the application; then the acknowledgement goes alone."""
        terms = received.admitted.terms
        due_ns = self._clock.now().monotonic_ns + terms.timeout_s * NS_PER_S
        answer = await self._replies.wait(exchange, self._clock.real_wait_s(due_ns))
        if answer is None:
            await self._acknowledge_anew(received)
            return TAKEN
        rode = Journal(
            Event.ACK_SENT, outcome=Outcome.UNKNOWN.value, reason="on the business response"
        )
        await self._note(received, rode)
        return answer

    async def _acknowledge_anew(self, received: Received) -> None:
        """No response in time: from here on the acknowledgement answers every repeat."""

        def step(txn: Transaction) -> Package | None:
            agreement, key = received.admitted.agreement, received.admitted.message.key
            entry = txn.find_inbound(key)
            if entry is None or _is_on_its_way(txn, _find_response(txn, agreement, key)):
                return None
            response = self._acknowledgment(received, self._clock.now(), entry)
            txn.put_response(entry.key, response)
            return response

        response = await persist(self._group, step)
        if response is not None:
            send = partial(self._signals.post, received.admitted.agreement.send_to, response)
            self._hand_overs.acknowledge(received.debt, send)

    async def _note(self, received: Received, effect: Journal) -> None:
        key, agreement = received.admitted.message.key, received.admitted.agreement
        row = self._rows.about_message(
            key, agreement, Direction.IN, effect, self._clock.now(), digests=received.digests
        )
        await persist(self._group, lambda txn: txn.append((row,)))


def _find_response(snapshot: Snapshot, agreement: Agreement, key: MessageKey) -> Stored | None:
    """What answers a repeat (seed 001 §1.3.3 (9)): the first response to it, or the latest."""
    try:
        acknowledgment = snapshot.get_response(key)
    except KeyError:
        acknowledgment = None
    is_most_recent = agreement.terms.response_choice is ResponseChoice.MOST_RECENT
    if not agreement.profile.response_acknowledges or (
        acknowledgment is not None and not is_most_recent
    ):
        return acknowledgment
    response = snapshot.find_response(key.message_id, key.from_party, is_most_recent=is_most_recent)
    return response or acknowledgment


def _is_on_its_way(txn: Snapshot, response: Stored | None) -> bool:
    """Whether something answers already; a business response may be held back, or never leave."""
    if not isinstance(response, str):
        return response is not None
    entry = txn.find_outbound(response)
    return entry is not None and entry.state.exposure is not Exposure.NEVER


def _at_what_it_answers(txn: Transaction, row: Record) -> tuple[Record, ...]:
    """Our message that waits for the response which is refused has a row of it, too."""
    if row.event is not Event.REJECTED or row.ref_to_message_id is None:
        return ()
    entry = txn.find_outbound(row.ref_to_message_id)
    if entry is None:
        return ()
    return (at_what_waits(row, entry.message_id, entry.pair, f"the response {row.message_id}"),)


def _answer_with(package: Package) -> TransportAnswer:
    return TransportAnswer(200, None, package.content_type, whole(package))


_WITH_SIGNALS = (SyncReplyMode.SIGNALS_ONLY, SyncReplyMode.SIGNALS_AND_RESPONSE)
_ASSURANCES = tuple(Assurance)


def _least(agreed: Assurance, reached: Assurance) -> Assurance:
    return min(agreed, reached, key=_ASSURANCES.index)
