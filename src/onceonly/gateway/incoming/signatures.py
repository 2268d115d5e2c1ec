"""Signatures of what comes in: by the terms of which agreement, and what becomes of a wrong one."""

from onceonly.gateway.desk import Desk
from onceonly.gateway.refusals import STRANGERS, Refusals
from onceonly.message.agreement import Agreement
from onceonly.message.errors import ErrorCode, RemoteError
from onceonly.message.event import Direction, Event
from onceonly.message.message import AckRequested, Message, SignedReference
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal, Signal, readings_of
from onceonly.message.word import changed
from onceonly.steps.agreements import AdmittedMessage, Agreements
from onceonly.steps.authority import Caller
from onceonly.steps.deviations import deviations_of_signature
from onceonly.steps.rows import at_what_waits
from onceonly.steps.signing import (
    Attested,
    Heard,
    SignatureRefused,
    Unproven,
    attest,
    requires,
)
from onceonly.steps.verdicts import find_spoken_of, is_from_partner, is_ours
from onceonly.transport.transport import Answer as TransportAnswer
from onceonly.wire.envelope import Envelope
from onceonly.wire.evidence import references_over


class Signatures:
    """Verifies what signals have."""

    def __init__(self, desk: Desk, refusals: Refusals) -> None:
        self._desk = desk
        self._refusals = refusals

    def hear(self, envelope: Envelope, caller: Caller) -> Heard:
        """What the signature of a signal says of it, by the agreement that it speaks under."""
        assert not isinstance(envelope.content, Message), "a message has its agreement already"
        if not envelope.profile.has_signatures:
            return None
        agreement = self._agreement_of(envelope.content, caller)
        if agreement is None:
            return None
        try:
            heard = attest(envelope, agreement.signing)
        except SignatureRefused as error:
            return Unproven(error.detail)
        for one in deviations_of_signature(heard, agreement):
            self._desk.deviations.note(one)
        return heard

    def _agreement_of(self, signal: Signal, caller: Caller) -> Agreement | None:
        """That of the message which it is about; else the one that it names."""
        snapshot, agreements = self._desk.snapshot(), self._desk.house.agreements
        if caller.answered is not None:
            return agreements.find(caller.answered.agreement_id)
        if isinstance(signal, Acknowledgment | ErrorSignal):
            for reading in readings_of(signal):
                entry = snapshot.find_outbound(reading.header.ref_to_message_id)
                if entry is not None:
                    return agreements.find(entry.agreement_id)
        return find_strictest(agreements, signal)

    def is_about_a_message_of_others(
        self, signal: ErrorSignal, profile: Profile, caller: Caller
    ) -> bool:
        """Whether it names a message of ours about which its caller may not speak (R-44)."""
        snapshot, house = self._desk.snapshot(), self._desk.house
        headers = [reading.header for reading in readings_of(signal)]
        return any(is_ours(snapshot, house, one.ref_to_message_id) for one in headers) and not any(
            find_spoken_of(snapshot, house, one, profile, caller) for one in headers
        )

    async def drop(self, signal: Signal, heard: Unproven, caller: Caller) -> TransportAnswer:
        """Note a signal that is not signed as agreed; it is believed in nothing, and not answered.

        Its row is about the message of ours that an error speaks of, and otherwise about none.
        """
        agreement = self._agreement_of(signal, caller)
        # What an inquiry or a report names is a message of the partner's, or a question: without
        # a signature it writes nothing at a message of ours that has the same id.
        about = signal.header.ref_to_message_id if isinstance(signal, ErrorSignal) else ""
        entry = self._desk.snapshot().find_outbound(about) if about else None
        row = changed(
            self._desk.about_gateway(Event.SIGNATURE_REFUSED, heard.why),
            direction=Direction.IN,
            endpoint=caller.address,
            transport=caller.transport,
            error_code=ErrorCode.SECURITY_FAILURE.value,
            agreement_id=None if agreement is None else agreement.name_on_wire,
        )
        if entry is not None:
            row = at_what_waits(row, entry.message_id, entry.pair, "a signal")
        await self._refusals.write(
            row, agreement_id=STRANGERS if agreement is None else agreement.id
        )
        return TransportAnswer(204)


def find_strictest(agreements: Agreements, signal: Signal) -> Agreement | None:
    """Of the agreements that the signal may speak under, one that asks for most."""
    named = agreements.named(signal.header.agreement_id)
    fitting = [one for one in named if is_from_partner(signal.header, one)] or named
    return max(fitting, key=lambda one: requires(one.signing, signal), default=None)


def references_for(
    envelope: Envelope, admitted: AdmittedMessage, attested: Attested | None
) -> tuple[SignedReference, ...]:
    """What a signed acknowledgement of a message holds; nothing where none is asked for (§9.7)."""
    content = envelope.content
    if admitted.terms.ack_requested is not AckRequested.SIGNED or not isinstance(content, Message):
        return ()
    if attested is not None:
        return attested.references
    return references_over(envelope.header, content.payloads, envelope.profile)


def what_happened(error: RemoteError) -> tuple[Event, str]:
    """The event of a refusal, and its reason for us: more than its sender is told."""
    if isinstance(error, SignatureRefused):
        return Event.SIGNATURE_REFUSED, error.detail
    return Event.REJECTED, error.description
