"""The receiving side: from the first byte of a package to whoever takes what is in it.

What a peer sends wrong is answered with a named error where we know from an agreement whom to
answer, leaves one journal row, and stores nothing. What becomes of a business message of an
agreement is `arrivals`' to know.
"""

from collections.abc import AsyncIterator, Callable, Collection, Sequence

from onceonly.gateway.agreements import Admitted, Agreements, refuse_signed
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Agreement
from onceonly.gateway.payloads import keep
from onceonly.gateway.receiving.arrivals import Arrivals, Received
from onceonly.gateway.receiving.failure_notices import FailureNotices
from onceonly.gateway.receiving.handovers import HandOvers
from onceonly.gateway.receiving.replies import Replies
from onceonly.gateway.receiving.signals import Signals
from onceonly.gateway.receiving.validation import Validation
from onceonly.gateway.recovery.inquiries import Inquiries
from onceonly.gateway.refusals import Refusals
from onceonly.gateway.relaying.relay import Relay
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.dispatch import Dispatch
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.digest import content_digest
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import Pair
from onceonly.message.message import Message, Profile, SyncReplyMode
from onceonly.message.signals import Acknowledgment, Assurance, ErrorSignal, Inquiry, Report
from onceonly.protocol import receiving
from onceonly.protocol.effects import Journal
from onceonly.store.group import GroupCommit
from onceonly.store.spool import Sink, Spool
from onceonly.store.store import Role, Store, StoredPayload, StoreFull, Transaction
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.transport.transport import Request, TransferBroken
from onceonly.wire.envelope import About, Content, Decoder, Envelope, PartHead
from onceonly.wire.limits import Limits

TAKEN = TransportAnswer(204)

ANSWERING = frozenset({"http", "https"})
"""Transports whose answer can carry a package back (seed 001 §1.2.2)."""


class Receiver:
    """Takes in every package that comes to this gateway."""

    def __init__(  # noqa: PLR0913 - because this is where the receiving side's parts meet
        self,
        *,
        store: Store,
        group: GroupCommit,
        spool: Spool,
        agreements: Agreements,
        dispatch: Dispatch,
        arrivals: Arrivals,
        hand_overs: HandOvers,
        failure_notices: FailureNotices,
        replies: Replies,
        validation: Validation,
        inquiries: Inquiries,
        relay: Relay,
        signals: Signals,
        refusals: Refusals,
        clock: Clock,
        rows: Rows,
        our_party: str,
        our_uris: Collection[str],
        payload_bytes_max: int,
        tasks: Tasks,
    ) -> None:
        self._store = store
        self._group = group
        self._spool = spool
        self._agreements = agreements
        self._dispatch = dispatch
        self._arrivals = arrivals
        self._hand_overs = hand_overs
        self._failure_notices = failure_notices
        self._replies = replies
        self._validation = validation
        self._inquiries = inquiries
        self._relay = relay
        self._signals = signals
        self._refusals = refusals
        self._clock = clock
        self._rows = rows
        self._our_party = our_party
        self._our_uris = our_uris
        self._payload_bytes_max = payload_bytes_max
        self._limits = Limits(package_bytes_max=payload_bytes_max + HEADERS_BYTES)
        self._tasks = tasks

    async def start(self) -> None:
        """Take up what a stop or a crash left owed to partners and to the application."""
        await self._hand_overs.start()
        await self._failure_notices.start()

    async def receive(self, request: Request, chunks: AsyncIterator[bytes]) -> TransportAnswer:
        """The transport's `Receive`: take one package in and answer its transport."""
        can_answer = request.transport in ANSWERING
        try:
            return await self._receive(request, chunks, can_answer=can_answer)
        except StoreFull:
            return TransportAnswer(507, "StoreFull")

    async def receive_reply(
        self, request: Request, chunks: AsyncIterator[bytes]
    ) -> TransportAnswer:
        """The same for a package that came back in an answer, which cannot be answered itself."""
        try:
            return await self._receive(request, chunks, can_answer=False, is_call=False)
        except StoreFull:
            return TransportAnswer(507, "StoreFull")

    async def _receive(
        self,
        request: Request,
        chunks: AsyncIterator[bytes],
        *,
        can_answer: bool,
        is_call: bool = True,
    ) -> TransportAnswer:
        sinks: list[Sink] = []
        decoder: Decoder | None = None
        try:
            self._refuse_announced_excess(request)
            decoder = Decoder(request.content_type, self._sink_opener(sinks), self._limits)
            async for chunk in chunks:
                decoder.feed(chunk)
            envelope = decoder.finish()
            if is_call and not self._is_of_its_channel(envelope.content, request):
                return await self._refuse_channel(decoder.about, request)
            return await self._take(envelope, sinks, can_answer=can_answer)
        except RemoteError as error:
            return await self._reject(error, decoder.about if decoder else None, request)
        except TransferBroken as broken:
            reason = f"the transfer broke off: {broken}"
            row = self._rows.about_gateway(Event.REJECTED, self._clock.now(), reason)
            await self._refusals.write(row._replace(endpoint=request.peer))
            return TransportAnswer(400, "TransferBroken")
        finally:
            for sink in sinks:
                sink.discard()

    def _refuse_announced_excess(self, request: Request) -> None:
        """Unread (attack H12); a body of unknown length is counted while it comes in."""
        most = self._limits.package_bytes_max
        if request.content_length is not None and request.content_length > most:
            raise RemoteError(ErrorCode.MESSAGE_TOO_LARGE, f"a package has {most} bytes at most")

    def _is_of_its_channel(self, content: Content, request: Request) -> bool:
        """Whether who called is who may, under the agreement that the package names (R-26, H27)."""
        header = content if isinstance(content, Message) else content.header
        agreement = self._agreements.find(header.agreement_id)
        wanted = None if agreement is None else agreement.caller_certificate
        return wanted is None or wanted == request.certificate

    async def _refuse_channel(self, about: About | None, request: Request) -> TransportAnswer:
        """Nobody is told by a message: the partner that is named there did not send this one."""
        reason = "names an agreement whose partner shows another certificate"
        row = self._rows.about_gateway(Event.SECURITY_EVENT, self._clock.now(), reason)
        row = row._replace(
            direction=Direction.IN,
            endpoint=request.peer,
            transport=request.transport,
            error_code=ErrorCode.SECURITY_FAILURE.value,
            agreement_id=None if about is None else about.agreement_id,
        )
        await self._refusals.write(row)
        return TransportAnswer(403, ErrorCode.SECURITY_FAILURE.value)

    def _sink_opener(self, sinks: list[Sink]) -> Callable[[PartHead], Sink]:
        def open_sink(_: PartHead) -> Sink:
            sink = self._spool.open_sink()
            sinks.append(sink)
            return sink

        return open_sink

    async def _take(
        self, envelope: Envelope, sinks: Sequence[Sink], *, can_answer: bool
    ) -> TransportAnswer:
        content = envelope.content
        if isinstance(content, Acknowledgment | ErrorSignal):
            return await self._take_signal(content, envelope.profile)
        if isinstance(content, Inquiry | Report):
            return await self._inquiries.take(content, envelope.routing)
        route = self._relay.find_route(content)
        if route is not None:
            return await self._relay.take_message(route, envelope, sinks)
        admitted = self._agreements.admit(
            content, envelope.routing, profile=envelope.profile, our_uris=self._our_uris
        )
        return await self._arrivals.take(await self._keep(admitted, sinks, can_answer=can_answer))

    async def _take_signal(
        self, signal: Acknowledgment | ErrorSignal, profile: Profile
    ) -> TransportAnswer:
        agreement = self._agreements.find(signal.header.agreement_id)
        if agreement is not None and agreement.profile is not profile:
            return await self._drop_orphan(signal, "is of another profile than its agreement")
        if isinstance(signal, Acknowledgment):
            refuse_signed(signal.element)
            fits = await self._dispatch.on_acknowledgment(signal, profile)
            if fits and signal.is_receipt:
                self._relay.pass_receipt(signal)
        else:
            fits = await self._dispatch.on_error(signal, profile)
        if fits or await self._relay.take_signal(signal):
            return TAKEN
        return await self._drop_orphan(signal, "fits no message of ours and its peer")

    async def _keep(
        self, admitted: Admitted, sinks: Sequence[Sink], *, can_answer: bool
    ) -> Received:
        """The message with its payloads where a crash leaves them, and how far it was looked at.

        Raises `RemoteError`.
        """
        message = admitted.message
        if message.size_bytes > self._payload_bytes_max:
            raise RemoteError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"the payloads have more than {self._payload_bytes_max} bytes",
            )
        payloads = await keep(message.payloads, sinks)
        return Received(
            admitted,
            payloads,
            content_digest(message.payloads),
            await self._look_at(admitted, payloads),
            self._mode_of(admitted, can_answer=can_answer),
        )

    async def _look_at(self, admitted: Admitted, payloads: Sequence[StoredPayload]) -> Assurance:
        """Seed 004 level 0. What is known was valid when it came; its repeat is acknowledged."""
        validator = admitted.agreement.validator
        if validator is None:
            return Assurance.STRUCTURE
        if self._store.snapshot().find_inbound(admitted.message.key) is not None:
            return Assurance.STRUCTURE
        return await self._validation.assure(validator, payloads)

    def _mode_of(self, admitted: Admitted, *, can_answer: bool) -> SyncReplyMode:
        """What can go back in the answer: nothing where nobody could carry or await it."""
        mode = admitted.terms.sync_reply_mode
        if not can_answer or (mode.has_response and not self._replies.has_room):
            return SyncReplyMode.NONE
        return mode

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

    async def _drop_orphan(
        self, signal: Acknowledgment | ErrorSignal, reason: str
    ) -> TransportAnswer:
        """Counted and dropped, never answered (R-20)."""
        event = (
            Event.ORPHAN_ACK_RECEIVED
            if isinstance(signal, Acknowledgment)
            else Event.ERROR_RECEIVED
        )
        row = self._rows.about_gateway(event, self._clock.now(), reason)._replace(
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
            await self._refusals.write(row)
            return TransportAnswer(_status_of(error.code), error.code.value)
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


def _status_of(code: ErrorCode) -> int:
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        return 413
    return 415 if code is ErrorCode.NOT_SUPPORTED else 400
