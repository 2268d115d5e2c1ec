"""The receiving side: from the first byte of a package to the application's inbox.

Three durable steps in this order (R-02): store, acknowledge, hand over. What a peer sends wrong
is answered with a named error where we know from an agreement whom to answer, leaves one journal
row, and stores nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

from onceonly.gateway.agreements import Agreements
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Agreement
from onceonly.gateway.dispatch import Dispatch
from onceonly.gateway.drill import Failpoints
from onceonly.gateway.growth import Growth
from onceonly.gateway.inquiries import Inquiries
from onceonly.gateway.persistence import persist
from onceonly.gateway.relay import Relay
from onceonly.gateway.rows import Rows
from onceonly.gateway.signals import Signals
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.digest import content_digest
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, Pair
from onceonly.message.instant import Now
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.package import Package
from onceonly.message.signals import Acknowledgment, ErrorSignal, Inquiry, Report
from onceonly.protocol import receiving
from onceonly.protocol.effects import (
    Acknowledge,
    Answer,
    Effect,
    HandOver,
    Journal,
    OpenIncident,
)
from onceonly.protocol.events import Transmission
from onceonly.protocol.receiving import Arrival, Case, Known
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Sink, Spool
from onceonly.store.store import (
    Role,
    Store,
    StoredPayload,
    StoreFull,
    Transaction,
)
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.transport.transport import Request, TransferBroken
from onceonly.wire.envelope import About, Decoder, Envelope, PartHead
from onceonly.wire.limits import Limits

TAKEN = TransportAnswer(204)


class Received(NamedTuple):
    """A Normal message that keeps to its agreement, with its payloads at hand."""

    message: Message
    agreement: Agreement
    hop: RoutingHeader
    payloads: Sequence[StoredPayload]
    digest: str


class Verdict(NamedTuple):
    """What the store step decided, and what is to leave now that it is committed."""

    acknowledge: Package | None
    answers: Sequence[Answer]
    is_new: bool


class Receiver:
    """Runs the receiving side of every pair of this gateway."""

    def __init__(  # noqa: PLR0913 - because this is where the receiving side's parts meet
        self,
        *,
        store: Store,
        group: GroupCommit,
        spool: Spool,
        agreements: Agreements,
        dispatch: Dispatch,
        inquiries: Inquiries,
        relay: Relay,
        signals: Signals,
        clock: Clock,
        rows: Rows,
        our_party: str,
        our_uri: str,
        payload_bytes_max: int,
        failpoints: Failpoints,
        tasks: Tasks,
        growth: Growth,
    ) -> None:
        self._store = store
        self._group = group
        self._spool = spool
        self._agreements = agreements
        self._dispatch = dispatch
        self._inquiries = inquiries
        self._relay = relay
        self._signals = signals
        self._clock = clock
        self._rows = rows
        self._our_party = our_party
        self._our_uri = our_uri
        self._payload_bytes_max = payload_bytes_max
        self._limits = Limits(package_bytes_max=payload_bytes_max + HEADERS_BYTES)
        self._failpoints = failpoints
        self._tasks = tasks
        self._growth = growth
        self._last_hand_over: dict[Pair, asyncio.Future[None]] = {}
        """Per pair, what the next hand-over waits for."""

    async def start(self) -> None:
        """Take up what a stop or a crash left stored: acknowledge it again, hand it over."""
        snapshot = self._store.snapshot()
        for entry in snapshot.list_stored():
            response = snapshot.get_response(entry.key)
            self._start_acknowledging(entry.key, entry.agreement_id, response)

    async def receive(self, request: Request, chunks: AsyncIterator[bytes]) -> TransportAnswer:
        """The transport's `Receive`: take one package in and answer its transport."""
        try:
            return await self._receive(request, chunks)
        except StoreFull:
            return TransportAnswer(507, "StoreFull")

    async def _receive(self, request: Request, chunks: AsyncIterator[bytes]) -> TransportAnswer:
        sinks: list[Sink] = []
        decoder: Decoder | None = None
        try:
            self._refuse_announced_excess(request)
            decoder = Decoder(request.content_type, self._sink_opener(sinks), self._limits)
            async for chunk in chunks:
                decoder.feed(chunk)
            envelope = decoder.finish()
            return await self._take(envelope, sinks)
        except RemoteError as error:
            return await self._reject(error, decoder.about if decoder else None, request)
        except TransferBroken:
            reason = "the transfer broke off"
            row = self._rows.about_gateway(Event.REJECTED, self._clock.now(), reason)
            return await self._reject_row(
                row._replace(endpoint=request.peer), 400, "TransferBroken"
            )
        finally:
            for sink in sinks:
                sink.discard()

    def _refuse_announced_excess(self, request: Request) -> None:
        """Unread (attack H12); a body of unknown length is counted while it comes in."""
        most = self._limits.package_bytes_max
        if request.content_length is not None and request.content_length > most:
            raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, f"a package has {most} bytes at most")

    def _sink_opener(self, sinks: list[Sink]) -> Callable[[PartHead], Sink]:
        def open_sink(_: PartHead) -> Sink:
            sink = self._spool.open_sink()
            sinks.append(sink)
            return sink

        return open_sink

    async def _take(self, envelope: Envelope, sinks: Sequence[Sink]) -> TransportAnswer:
        content = envelope.content
        if isinstance(content, Acknowledgment | ErrorSignal):
            return await self._take_signal(content)
        if isinstance(content, Inquiry | Report):
            return await self._inquiries.take(content, envelope.routing)
        route = self._relay.find_route(content)
        if route is not None:
            return await self._relay.take_message(route, envelope, sinks)
        return await self._take_message(content, envelope.routing, sinks)

    async def _take_signal(self, signal: Acknowledgment | ErrorSignal) -> TransportAnswer:
        if isinstance(signal, Acknowledgment):
            fits = await self._dispatch.on_acknowledgment(signal)
        else:
            fits = await self._dispatch.on_error(signal)
        if fits or await self._relay.take_signal(signal):
            return TAKEN
        return await self._drop_orphan(signal)

    async def _take_message(
        self, message: Message, routing: Sequence[RoutingHeader], sinks: Sequence[Sink]
    ) -> TransportAnswer:
        agreement, message = self._agreements.admit(message, routing, self._our_uri)
        if message.size_bytes > self._payload_bytes_max:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"the payloads have more than {self._payload_bytes_max} bytes",
            )
        bodies = [sink.body() for sink in sinks]
        if None in bodies:
            await asyncio.to_thread(_keep_all, sinks)
        payloads = [
            StoredPayload(payload, body)
            for payload, body in zip(message.payloads, bodies, strict=True)
        ]
        digest = content_digest(message.payloads)
        received = Received(message, agreement, routing[-1], payloads, digest)
        try:
            verdict = await self._group.transact(lambda txn: self._store_step(txn, received))
        except StoreFull:
            # A repeat of what is stored can be acknowledged without a write (fault D4).
            await self._acknowledge_known(received)
            raise
        self._failpoints.reach("after-commit")
        if verdict.acknowledge is not None:
            self._start_acknowledging(message.key, agreement.id, verdict.acknowledge)
        for answer in verdict.answers:
            self._tasks.start(self._signals.send_error(received.hop, agreement, message, answer))
        if verdict.is_new and verdict.acknowledge is None:
            self._growth.announce()
        return TAKEN

    def _store_step(self, txn: Transaction, received: Received) -> Verdict:
        """Decide and store in one transaction. Reads first, then writes."""
        now = self._clock.now()
        message = received.message
        key, pair = message.key, message.pair
        entry = txn.find_inbound(key)
        before = txn.get_receiving_pair(pair)
        arrival = Arrival(
            message.message_id,
            received.digest,
            message.semantics,
            message.timestamp_at,
            received.hop.sequence_number,
        )
        known = None if entry is None else Known(entry.digest)
        reception = receiving.receive(arrival, known, before, now, received.agreement.terms)
        response: Package | None = None
        if reception.case is Case.NEW:
            response = self._response_to(received, reception.effects, now)
            txn.add_inbound(
                message, received.payloads, response, digest=received.digest, received_at=now.at
            )
        elif reception.case is Case.DUPLICATE and Acknowledge() in reception.effects:
            response = txn.get_response(key)
        if reception.pair != before:
            txn.put_receiving_pair(pair, reception.pair)
        self._carry_out(txn, received, reception.effects, now)
        answers = [effect for effect in reception.effects if isinstance(effect, Answer)]
        self._failpoints.reach("before-commit")
        return Verdict(response, answers, reception.case is Case.NEW)

    def _response_to(
        self, received: Received, effects: Sequence[Effect], now: Now
    ) -> Package | None:
        if Acknowledge() not in effects:
            return None
        return self._signals.acknowledgment(received.message, received.hop, received.agreement, now)

    def _carry_out(
        self, txn: Transaction, received: Received, effects: Sequence[Effect], now: Now
    ) -> None:
        records: list[Record] = []
        for effect in effects:
            match effect:
                case Journal():
                    records.append(self._row(received, effect, now))
                case HandOver():
                    txn.hand_over(received.message.key, at=now.at)
                case OpenIncident(reason):
                    txn.open_incident(Role.RECEIVER, received.message.pair, reason, at=now.at)
                case Acknowledge() | Answer():
                    pass  # These leave the house, after the commit.
                case _:
                    raise AssertionError(f"{effect} is no effect of an arrival")
        txn.append(records)

    def _row(self, received: Received, effect: Journal, now: Now) -> Record:
        return self._rows.with_header(
            received.message, received.agreement, Direction.IN, effect, now, received.digest
        )

    async def _acknowledge_known(self, received: Received) -> None:
        snapshot = self._store.snapshot()
        entry = snapshot.find_inbound(received.message.key)
        if entry is not None and entry.digest == received.digest:
            response = snapshot.get_response(entry.key)
            await self._signals.post(received.agreement.send_to, response)

    def _start_acknowledging(self, key: MessageKey, agreement_id: str, response: Package) -> None:
        """Acknowledge and hand over beside the caller, in the order of these calls per pair (I16).

        A partner that has our acknowledgement sends its next message, even while we still wait
        for the end of that transmission; the next must not overtake it on the way to the inbox.
        """
        pair = Pair(key.from_party, key.to_party)
        before = self._last_hand_over.get(pair)
        ours: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last_hand_over[pair] = ours

        async def acknowledge_in_turn() -> None:
            try:
                transmission = await self._acknowledge(agreement_id, response)
                if before is not None:
                    await asyncio.wait((before,))
                await self._hand_over(key, agreement_id, transmission)
            finally:
                ours.set_result(None)
                if self._last_hand_over[pair] is ours:
                    del self._last_hand_over[pair]

        self._tasks.start(acknowledge_in_turn())

    async def _acknowledge(self, agreement_id: str, response: Package) -> Transmission:
        """Transmit the stored response, once."""
        self._failpoints.reach("before-acknowledge")
        transmission = await self._signals.post(self._agreement(agreement_id).send_to, response)
        self._failpoints.reach("after-acknowledge")
        return transmission

    def _agreement(self, agreement_id: str) -> Agreement:
        agreement = self._agreements.find(agreement_id)
        assert agreement is not None, f"a stored message names agreement {agreement_id!r}"
        return agreement

    async def _hand_over(
        self, key: MessageKey, agreement_id: str, transmission: Transmission
    ) -> None:
        """After the acknowledgement: note its outcome and hand the message over (R-02, R-12)."""
        agreement = self._agreement(agreement_id)

        def step(txn: Transaction) -> None:
            now = self._clock.now()
            entry = txn.find_inbound(key)
            assert entry is not None, f"{key} was stored"
            _, effects = receiving.acknowledged(entry.status, transmission, agreement.terms)
            if HandOver() in effects:
                txn.hand_over(key, at=now.at)
            txn.append(
                self._rows.about_message(
                    key,
                    agreement,
                    Direction.IN,
                    effect,
                    now,
                    endpoint=agreement.send_to if effect.outcome else None,
                    digest=entry.digest,
                )
                for effect in effects
                if isinstance(effect, Journal)
            )

        self._failpoints.reach("before-hand-over")
        await persist(self._group, step)
        self._failpoints.reach("after-hand-over")
        self._growth.announce()

    async def resume(self, pair: Pair) -> None:
        """Resume a quarantined receiving pair on an operator's word (R-11)."""

        def step(txn: Transaction) -> None:
            now = self._clock.now()
            before = txn.get_receiving_pair(pair)
            after, effects = receiving.resume(before)
            if after == before:
                return
            txn.put_receiving_pair(pair, after)
            txn.resolve_incidents(Role.RECEIVER, pair, at=now.at)
            txn.append(
                self._rows.about_pair(pair, None, Direction.IN, effect, now)
                for effect in effects
                if isinstance(effect, Journal)
            )

        await self._group.transact(step)

    async def _drop_orphan(self, signal: Acknowledgment | ErrorSignal) -> TransportAnswer:
        """Counted and dropped, never answered (R-20)."""
        event = (
            Event.ORPHAN_ACK_RECEIVED
            if isinstance(signal, Acknowledgment)
            else Event.ERROR_RECEIVED
        )
        row = self._rows.about_gateway(
            event, self._clock.now(), "fits no message of ours and its peer"
        )._replace(
            direction=Direction.OUT,
            message_id=signal.header.ref_to_message_id,
            agreement_id=signal.header.agreement_id,
        )
        return await self._reject_row(row, TAKEN.status_code, None)

    async def _reject(
        self, error: RemoteError, about: About | None, request: Request
    ) -> TransportAnswer:
        """One row, nothing stored; an error to the partner where an agreement names one."""
        row = self._rows.about_gateway(Event.REJECTED, self._clock.now(), error.description)
        row = row._replace(
            direction=Direction.IN,
            endpoint=request.peer,
            error_code=error.code.value,
            severity=error.severity.value,
        )
        if about is not None:
            row = row._replace(
                message_id=about.message_id,
                from_party=None if not about.from_ids else str(about.from_ids[0]),
                to_party=self._our_party,
                agreement_id=about.agreement_id,
                conversation_id=about.conversation_id,
            )
        agreement = None if about is None else self._whom_to_answer(about)
        if agreement is None or about is None:
            return await self._reject_row(row, _status_of(error.code), error.code.value)
        self._tasks.start(self._signals.send_rejection(about, agreement, error))
        return await self._reject_row(row, TAKEN.status_code, error.code.value)

    def _whom_to_answer(self, about: About) -> Agreement | None:
        """An agreement with the sender; a signal is never answered (R-20, R-26)."""
        if about.message_type != "Normal" or about.message_id is None or not about.from_ids:
            return None
        named = {str(party) for party in about.from_ids}
        agreement = self._agreements.find(about.agreement_id or "")
        if agreement is not None and named & set(map(str, agreement.their_ids)):
            return agreement
        return next(filter(None, map(self._agreements.find_with, sorted(named))), None)

    async def _reject_row(
        self, row: Record, status_code: int, error: str | None
    ) -> TransportAnswer:
        await self._group.transact(lambda txn: txn.append((row,)))
        return TransportAnswer(status_code, error)


HEADERS_BYTES = 2 << 20
"""Room beside the payloads for the header document and the part headers."""


def _keep_all(sinks: Sequence[Sink]) -> None:
    for sink in sinks:
        sink.keep()


def _status_of(code: ErrorCode) -> int:
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        return 413
    return 415 if code is ErrorCode.NOT_SUPPORTED else 400
