"""The receiving side: from the first byte of a package to the part that takes its content.

A wrong package is answered with a named error, if an agreement says whom to answer; it causes one
journal row, and nothing of it is stored. `arrivals` takes the business messages of agreements.
"""

from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

from onceonly.gateway.bugs import Bugs
from onceonly.gateway.desk import Desk
from onceonly.gateway.incoming.arrivals import Arrivals
from onceonly.gateway.incoming.doorstep import DOORSTEP_PIECE_BYTES, Doorstep, Place
from onceonly.gateway.incoming.errors import Errors, awaits_error, find_fault_answer, status_of
from onceonly.gateway.incoming.excess import limits_of, refuse_announced_excess, refuse_excess
from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.incoming.inquiries import Inquiries
from onceonly.gateway.incoming.repeated_mails import REPEATED_MAIL, RepeatedMail, RepeatedMails
from onceonly.gateway.incoming.signatures import Signatures, references_for, what_happened
from onceonly.gateway.incoming.validation import Validation
from onceonly.gateway.payloads import keep
from onceonly.gateway.ration import Rations
from onceonly.gateway.refusals import STRANGERS, Refusals
from onceonly.gateway.relaying.relay import Relay
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement, Route
from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode, FaultCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.message import SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    Assurance,
    ErrorSignal,
    Inquiry,
    Report,
    Signal,
    SoapFault,
)
from onceonly.message.word import changed
from onceonly.protocol.events import Outcome
from onceonly.steps.admission import admit
from onceonly.steps.agreements import AdmittedMessage, refuse_dropped, refuse_signed
from onceonly.steps.arrival import Received
from onceonly.steps.authority import (
    Answered,
    Caller,
    NotEntitled,
    is_entitled,
    readings_by,
)
from onceonly.steps.faults import words_of
from onceonly.steps.mails import was_brought_before
from onceonly.steps.rows import at_what_waits
from onceonly.steps.signing import Heard, SignatureRefused, Unproven, attest
from onceonly.steps.verdicts import (
    ORPHAN,
    find_acknowledged,
    find_spoken_of,
    is_acknowledged_by_another,
    is_ours,
    take_acknowledgment,
    take_errors,
)
from onceonly.store.contract.conditions import StoreExhausted, StoreFull
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.spool import Sink, Spool
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.transport.transport import Request, TransferBroken
from onceonly.wire import names
from onceonly.wire.envelope import About, Decoder, Document, Envelope, PartHead
from onceonly.wire.header_digest import digests_of

TAKEN = TransportAnswer(204)


class Receiver:
    """Receives every package that comes to this gateway."""

    def __init__(  # noqa: PLR0913 - because it hands on whatever can come
        self,
        *,
        desk: Desk,
        spool: Spool,
        arrivals: Arrivals,
        hand_overs: HandOvers,
        validation: Validation,
        inquiries: Inquiries,
        relay: Relay,
        errors: Errors,
        refusals: Refusals,
        error_posts: Rations,
        doorstep: Doorstep,
        bugs: Bugs,
        payload_bytes_max: int,
        tasks: Tasks,
    ) -> None:
        self._desk = desk
        self._spool = spool
        self._arrivals = arrivals
        self._hand_overs = hand_overs
        self._validation = validation
        self._inquiries = inquiries
        self._relay = relay
        self._errors = errors
        self._refusals = refusals
        self._error_posts = error_posts
        self._doorstep = doorstep
        self._bugs = bugs
        self._payload_bytes_max = payload_bytes_max
        self._limits = limits_of(payload_bytes_max)
        self._tasks = tasks
        self._signatures = Signatures(desk, refusals)
        self._mails = RepeatedMails(desk, refusals)

    async def start(self) -> None:
        """Send and hand over what a stop or a crash left owed to partners and the application."""
        await self._hand_overs.start()
        await self._desk.failure_notices.start()

    def receive(
        self, request: Request, chunks: AsyncIterator[bytes]
    ) -> Coroutine[Any, Any, TransportAnswer]:
        """The transport's `Receive`: take one package in and answer its transport."""
        caller = Caller(
            request.transport,
            request.peer,
            request.certificate,
            soap_action=request.soap_action,
            mail_id=request.mail_id,
            hops=request.hops,
        )
        if request.transport != "smtp":
            return self._receive_contained(request, chunks, caller)
        return self._mails.receive(
            request, chunks, lambda body: self._receive_contained(request, body, caller)
        )

    def receive_reply(
        self, request: Request, chunks: AsyncIterator[bytes], answered: Answered
    ) -> Coroutine[Any, Any, TransportAnswer]:
        """Like `receive`, for a package from an answer, which cannot be answered itself."""
        caller = Caller(request.transport, request.peer, answered=answered)
        return self._receive_contained(request, chunks, caller)

    async def _receive_contained(
        self,
        request: Request,
        chunks: AsyncIterator[bytes],
        caller: Caller,
    ) -> TransportAnswer:
        try:
            return await self._bugs.contain(
                "receiving a package",
                self._receive(request, chunks, caller),
                _internal_error,
            )
        except StoreExhausted as error:
            row = self._desk.about_gateway(Event.REJECTED, str(error))
            await self._refusals.write(changed(row, endpoint=request.peer))
            return TransportAnswer(503, "Busy", reason=_COME_AGAIN)
        except StoreFull:
            return TransportAnswer(507, "StoreFull", reason=_NO_ROOM)

    async def _receive(
        self,
        request: Request,
        chunks: AsyncIterator[bytes],
        caller: Caller,
    ) -> TransportAnswer:
        sinks: list[Sink] = []
        decoder: Decoder | None = None
        admitted: AdmittedMessage | Route | None = None

        def note_admitted(document: Document) -> None:
            nonlocal admitted
            admitted = admit(self._desk.house, document, caller)

        def open_sink(_: PartHead) -> Sink:
            sinks.append(self._spool.open_sink())
            return sinks[-1]

        try:
            refuse_announced_excess(request, self._limits)
            decoder = Decoder(
                request.content_type,
                open_sink,
                self._limits,
                admit=note_admitted,
                transfer_encoding=request.transfer_encoding,
                keeps_wrapping=self._desk.house.routes.pass_as_it_came,
            )
            with self._doorstep.enter(caller.address) as place:
                async for chunk in chunks:
                    _feed(decoder, chunk, place)
                envelope = decoder.finish()
            return await self._take(envelope, _in_order(sinks, envelope), admitted, caller)
        except NotEntitled as error:
            about = decoder.about if decoder else None
            return await self._refuse_caller(error, about, request, caller)
        except RemoteError as error:
            return await self._reject(error, decoder.about if decoder else None, request, caller)
        except RepeatedMail:
            return REPEATED_MAIL
        except TransferBroken as broken:
            reason = f"the transfer broke off: {broken}"
            row = self._desk.about_gateway(Event.REJECTED, reason)
            await self._refusals.write(changed(row, endpoint=request.peer))
            return TransportAnswer(400, "TransferBroken", reason=_HALF)
        finally:
            for sink in sinks:
                sink.discard()

    def _names_nothing(self, signal: Signal, caller: Caller) -> bool:
        """Whether the signal names an agreement that is not configured here.

        A signal without a name has the agreement of the message that it is about.
        """
        named = signal.header.agreement_id
        is_known = not named or self._desk.house.agreements.named(named)
        return not is_known and self._relay.find_beside(caller, named) is None

    async def _refuse_caller(
        self, error: NotEntitled, about: About | None, request: Request, caller: Caller
    ) -> TransportAnswer:
        """Refuse on the connection only: the partner that is named did not send the package."""
        row = self._desk.about_gateway(Event.SECURITY_EVENT, str(error))
        row = changed(
            row,
            direction=Direction.IN,
            endpoint=request.peer,
            transport=request.transport,
            error_code=ErrorCode.SECURITY_FAILURE.value,
            message_id=None if about is None else about.message_id,
            agreement_id=None if about is None else about.agreement_id,
        )
        for one in self._told(row, about, caller):
            await self._refusals.write(one)
        return TransportAnswer(403, ErrorCode.SECURITY_FAILURE.value, reason=_SHOWS_NOTHING)

    async def _take(
        self,
        envelope: Envelope,
        sinks: Sequence[Sink],
        admitted: AdmittedMessage | Route | None,
        caller: Caller,
    ) -> TransportAnswer:
        content = envelope.content
        if isinstance(admitted, Route):
            return await self._relay.take(admitted, envelope, sinks, caller)
        if isinstance(content, Acknowledgment | ErrorSignal):
            return await self._take_signal(content, envelope, caller)
        if isinstance(content, Inquiry | Report):
            heard = self._signatures.hear(envelope, caller)
            if isinstance(heard, Unproven):
                return await self._signatures.drop(content, heard, caller)
            ration = self._ration_of(content.header.agreement_id, caller)
            return await self._inquiries.take(content, envelope.profile, caller, ration=ration)
        assert admitted is not None, "a message is admitted or refused"
        refuse_dropped(admitted.agreement, envelope.dropped_parts)
        # Before anything of it is kept, or looked up.
        attested = attest(envelope, admitted.agreement.signing)
        message = changed(admitted.message, payloads=content.payloads)
        admitted = changed(admitted, message=message)
        digests = digests_of(content, envelope.profile)
        snapshot, at = self._desk.snapshot(), self._desk.clock.now().at
        if was_brought_before(snapshot, admitted, digests, caller.mail_id, at):
            return REPEATED_MAIL
        received = await self._keep(admitted, digests, sinks, caller)
        references = references_for(envelope, admitted, attested)
        return await self._arrivals.take(
            changed(received, attested=attested, references=references)
        )

    async def _take_signal(
        self, signal: Acknowledgment | ErrorSignal, envelope: Envelope, caller: Caller
    ) -> TransportAnswer:
        profile = envelope.profile
        if self._names_nothing(signal, caller):
            return await self._drop_orphan(signal, "names an agreement that is not known", caller)
        if isinstance(signal, Acknowledgment):
            refuse_signed(signal.element, profile)
        heard = self._signatures.hear(envelope, caller)
        if isinstance(heard, Unproven) and isinstance(signal, ErrorSignal):
            if self._signatures.is_about_a_message_of_others(signal, profile, caller):
                return await self._drop_orphan(signal, ORPHAN, caller)
            return await self._signatures.drop(signal, heard, caller)
        for reading in readings_by(caller, signal):
            if await self._fits(reading, profile, caller, heard):
                return TAKEN
        named = self._desk.house.agreements.named(signal.header.agreement_id)
        if named and all(one.profile is not profile for one in named):
            return await self._drop_orphan(
                signal, "is of another profile than its agreement", caller
            )
        return await self._drop_orphan(signal, self._why_unfit(signal, profile, caller), caller)

    def _why_unfit(
        self, signal: Acknowledgment | ErrorSignal, profile: Profile, caller: Caller
    ) -> str:
        if not isinstance(signal, Acknowledgment) or signal.is_receipt:
            return ORPHAN
        if signal.element is None:
            is_of_hop = signal.next_element is not None
            return _OF_THE_HOP if is_of_hop else ORPHAN
        for reading in readings_by(caller, signal):
            assert isinstance(reading, Acknowledgment), "readings of one differ in their header"
            snapshot = self._desk.snapshot()
            if is_acknowledged_by_another(snapshot, self._desk.house, reading, profile, caller):
                whose = ", ".join(map(str, signal.element.from_ids))
                return (
                    f"acknowledged by {whose}, who is not the partner; where an intermediary "
                    'accepts for the partner, the agreement has to say intermediary = "accept"'
                )
        return ORPHAN

    async def _fits(
        self,
        signal: Acknowledgment | ErrorSignal,
        profile: Profile,
        caller: Caller,
        heard: Heard,
    ) -> bool:
        """Pass the signal to the message that it is about; False if that is not ours."""
        if isinstance(signal, Acknowledgment):
            fits = await self._take_acknowledgment(signal, profile, caller, heard)
            if fits and signal.is_receipt:
                self._relay.pass_receipt(signal)
        else:
            fits = await self._take_error(signal, profile, caller)
            fits = fits or await self._inquiries.take_refusal(signal, profile, caller)
        return fits or await self._relay.take_signal(signal, profile, caller)

    async def _take_acknowledgment(
        self, signal: Acknowledgment, profile: Profile, caller: Caller, heard: Heard
    ) -> bool:
        # What fits nothing of ours begins no transaction; most fit a message that waits for it.
        if not self._desk.waits_for_word(signal.header.ref_to_message_id):
            snapshot = self._desk.snapshot()
            if find_acknowledged(snapshot, self._desk.house, signal, profile, caller) is None:
                return False
        leaving = await self._desk.transact(
            lambda txn, ground: take_acknowledgment(txn, ground, signal, profile, caller, heard),
            point="verdict",
        )
        return leaving is not None

    async def _take_error(self, signal: ErrorSignal, profile: Profile, caller: Caller) -> bool:
        snapshot = self._desk.snapshot()
        if find_spoken_of(snapshot, self._desk.house, signal.header, profile, caller) is None:
            return False
        leaving = await self._desk.transact(
            lambda txn, ground: take_errors(txn, ground, signal, profile, caller), point="verdict"
        )
        return leaving is not None

    async def _keep(
        self, admitted: AdmittedMessage, digests: Digests, sinks: Sequence[Sink], caller: Caller
    ) -> Received:
        """Keep the payloads so that a crash does not lose them, and check the message.

        Raises `RemoteError`.
        """
        message = admitted.message
        refuse_excess(message, self._payload_bytes_max)
        payloads = await keep(message.payloads, sinks)
        return Received(
            admitted,
            payloads,
            digests,
            await self._look_at(admitted, payloads),
            self._mode_of(admitted, caller),
            caller,
        )

    async def _look_at(
        self, admitted: AdmittedMessage, payloads: Sequence[StoredPayload]
    ) -> Assurance:
        """Check as agreed (seed 004 level 0). A repeat is not checked again, only acknowledged."""
        validator = admitted.agreement.validator
        if validator is None:
            return Assurance.STRUCTURE
        if self._desk.snapshot().find_inbound(admitted.message.key) is not None:
            return Assurance.STRUCTURE
        return await self._validation.assure(validator, payloads)

    def _mode_of(self, admitted: AdmittedMessage, caller: Caller) -> SyncReplyMode:
        """What can be sent in the answer; nothing without one, or if too many wait already."""
        mode = admitted.terms.sync_reply_mode
        if not caller.awaits_an_answer or (mode.has_response and not self._desk.replies.has_room):
            return SyncReplyMode.NONE
        return mode

    async def _drop_orphan(
        self, signal: Acknowledgment | ErrorSignal, reason: str, caller: Caller
    ) -> TransportAnswer:
        """Counted and dropped, never answered (R-20)."""
        event = (
            Event.ORPHAN_ACK_RECEIVED
            if isinstance(signal, Acknowledgment)
            else Event.ERROR_RECEIVED
        )
        row = changed(
            self._desk.about_gateway(event, reason),
            direction=Direction.OUT,
            message_id=signal.header.ref_to_message_id,
            agreement_id=signal.header.agreement_id or None,
        )
        whose = self._ration_of(signal.header.agreement_id, caller)
        await self._refusals.write(row, agreement_id=whose)
        snapshot = self._desk.snapshot()
        if is_ours(snapshot, self._desk.house, signal.header.ref_to_message_id):
            # It is about a message of ours, but its caller may not speak about it.
            alarm = changed(
                row,
                event=Event.SECURITY_EVENT,
                error_code=ErrorCode.SECURITY_FAILURE.value,
                reason=f"about a message of ours: {reason}",
                endpoint=caller.address,
            )
            await self._refusals.write(alarm, agreement_id=whose)
        return TAKEN

    def _ration_of(self, named: str, caller: Caller) -> str:
        """The ration for the row of a signal that fits nothing: a route's neighbour has its own.

        All other callers share the ration of strangers (R-45). But if a route for any agreement
        requires nothing of its callers, every caller counts as its neighbour and uses its ration.
        """
        found = self._desk.house.agreements.named(named)
        if found:
            return found[0].id
        route = self._relay.find_beside(caller, named) if named else None
        return STRANGERS if route is None else route.id

    async def _reject(
        self, error: RemoteError, about: About | None, request: Request, caller: Caller
    ) -> TransportAnswer:
        """Write one row and store nothing; send an error to the partner if an agreement names one.

        But not if the caller does not show what that agreement requires, and not more often than
        [limits] say (R-45).
        """
        if about is not None and about.fault is not None:
            return await self._take_fault(about.fault, error, request)
        row = changed(
            self._desk.about_gateway(*what_happened(error)),
            direction=Direction.IN,
            endpoint=request.peer,
            error_code=error.code.value,
            severity=error.severity.value,
        )
        if about is not None:
            row = changed(
                row,
                message_id=about.message_id,
                from_party=None if not about.from_ids else str(about.from_ids[0]),
                to_party=str(self._desk.house.party[0]),
                agreement_id=about.agreement_id,
                conversation_id=about.conversation_id,
            )
        agreement = None if about is None else self._whom_to_answer(about, caller)
        ration = STRANGERS if agreement is None else agreement.id
        for one in self._told(row, about, caller):
            await self._refusals.write(one, agreement_id=ration)
        if agreement is not None and about is not None:
            assert about.message_id is not None, "only what has a MessageId is answered"
            key = MessageKey(agreement.their_party, agreement.our_party, about.message_id)
            is_believed = agreement.signing.is_believed_unsigned
            is_believed = is_believed and not isinstance(error, SignatureRefused)
            # What asks for more than we understand is no damaged copy of what we understood.
            is_believed = is_believed and error.fault is not FaultCode.MUST_UNDERSTAND
            if is_believed and self._arrivals.repeat_response(agreement, key):
                return TAKEN  # A damaged copy speaks for itself only.
        fault = find_fault_answer(error, about, caller, has_address=agreement is not None)
        if fault is not None:
            row = changed(row, event=Event.FAULT_SENT, outcome=Outcome.UNKNOWN.value)
            row = changed(row, status_code=fault.status_code)
            await self._refusals.write(row, agreement_id=ration)
            return fault
        return await self._tell(error, about, agreement, caller)

    async def _take_fault(
        self, fault: SoapFault, error: RemoteError, request: Request
    ) -> TransportAnswer:
        """Note a fault that came by itself: it names no message, and is never answered (R-36)."""
        said = f"by itself, so that it is about no known message: {words_of(fault)}"
        row = self._desk.about_gateway(Event.FAULT_RECEIVED, said)
        row = changed(row, endpoint=request.peer, transport=request.transport)
        await self._refusals.write(changed(row, direction=Direction.OUT))
        return changed(TAKEN, error=error.code.value, reason=error.description)

    async def _tell(
        self,
        error: RemoteError,
        about: About | None,
        agreement: Agreement | None,
        caller: Caller,
    ) -> TransportAnswer:
        """Tell the refusal by a message, or by a status if nobody is known who could be told."""
        if about is not None and awaits_error(about, caller, has_address=agreement is not None):
            return await self._errors.answer_rejection(about, agreement, error)
        if about is None or agreement is None or not self._error_posts.spend(agreement.their_party):
            return TransportAnswer(
                status_of(error.code), error.code.value, reason=error.description
            )
        self._tasks.start(
            self._errors.send_rejection(about, agreement, error), place="posting an error"
        )
        return changed(TAKEN, error=error.code.value, reason=error.description)

    def _told(self, row: Record, about: About | None, caller: Caller) -> list[Record]:
        """The rows about a refused package: one of its own, and one for the message that waits.

        A signal has no row of its own, only the one for the message that it is about (R-20).
        """
        is_signal = about is not None and about.message_type not in (None, names.NORMAL)
        waiting = None if about is None else about.ref_to_message_id
        if is_signal and waiting is not None:
            waiting = self._inquiries.asked_about(waiting) or waiting
        elif caller.answered is not None:
            waiting = caller.answered.message_id
        entry = None if waiting is None else self._desk.snapshot().find_outbound(waiting)
        own = changed(row, from_party=None, to_party=None) if is_signal else row
        if waiting is None or (entry is None and not is_signal):
            return [own]
        at_it = at_what_waits(own, waiting, None if entry is None else entry.pair, _name_of(about))
        return [at_it] if is_signal or own.message_id is None else [own, at_it]

    def _whom_to_answer(self, about: About, caller: Caller) -> Agreement | None:
        """An agreement with the sender, if it may be the caller. No signal is answered (R-20)."""
        has_cpa = about.profile is not None and about.profile.has_cpa
        is_named = bool(about.from_ids) or has_cpa
        if not about.may_be_answered or about.message_id is None or not is_named:
            return None
        named = {str(party) for party in about.from_ids}
        known = self._desk.house.agreements
        called_so = known.named(about.agreement_id or "")
        fitting = (one for one in called_so if named & set(map(str, one.their_ids)))
        agreement = next(fitting, None)
        if agreement is None and has_cpa:
            # A CPAId alone says whose address it is; other names may have another agreement.
            agreement = next(iter(called_so), None)
        elif agreement is None:
            agreement = next(filter(None, map(known.find_with, sorted(named))), None)
        if agreement is None or not is_entitled(caller, agreement):
            return None
        return agreement


def _in_order(sinks: Sequence[Sink], envelope: Envelope) -> Sequence[Sink]:
    """The sinks as the payloads are, which need not be as their parts came."""
    if tuple(sinks) == envelope.sinks:
        return sinks
    place = {id(sink): number for number, sink in enumerate(envelope.sinks)}
    return sorted(sinks, key=lambda sink: place[id(sink)])


def _name_of(about: About | None) -> str:
    """What was refused, as it is called in the row for the message that waits for it."""
    if about is None or about.message_type is None:
        return "an answer"
    kind = "the response" if about.message_type == names.NORMAL else about.message_type
    return f"{kind} {about.message_id or 'without a MessageId'}"


async def _internal_error(bug: Exception) -> TransportAnswer:
    del bug
    return TransportAnswer(500, "InternalError")


def _feed(decoder: Decoder, chunk: bytes, place: Place) -> None:
    """Read a piece; in small pieces until the caller is admitted."""
    at = 0
    while not decoder.is_admitted and at < len(chunk):
        piece = chunk[at : at + DOORSTEP_PIECE_BYTES]
        place.take(len(piece))
        decoder.feed(piece)
        at += len(piece)
    if decoder.is_admitted:
        place.leave()
        if at < len(chunk):
            decoder.feed(chunk[at:] if at else chunk)


_OF_THE_HOP = (
    "acknowledged by the next MSH for its hop; expected is the acknowledgement of the To Party"
)
_COME_AGAIN = "too much is open here; expected is the same once more, later"
_NO_ROOM = "there is no room here, and nothing was stored; expected is the same once more, later"
_HALF = "the body ended before its end; expected is the whole of it, once more"
_SHOWS_NOTHING = (
    "the caller shows no right to speak so; expected is the certificate and the entrance that were"
    " agreed, and in an answer nothing but what it answers"
)
