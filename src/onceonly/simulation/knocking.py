"""What a stranger brings: somebody with no agreement, or who does not show what one demands.

Well-formed packages with odd values, bytes that are no package, and very many of both. Knows which;
must not know what a gateway does with them. The stranger names an agreement that nobody has; or one
that demands a certificate, with the names of its parties, but shows none; or the parties of one
that demands nothing, in a package that no gateway can read.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import PartyId
from onceonly.message.message import DeliverySemantics, Message
from onceonly.message.signals import (
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    MessageStatus,
    Report,
    Signal,
    SignalHeader,
)
from onceonly.message.word import Word, changed
from onceonly.simulation.cast import SERVICE, name_on_wire, party, path_of, speaker, uri
from onceonly.simulation.oddity import malformed, oddly
from onceonly.simulation.packing import Forged, Framing, pack_message, pack_signal
from onceonly.simulation.plan import Line

STRANGER = "stranger"
"""Whose packages they are, on the network and in the histories."""


class Knock(Word):
    """Where he stands, and which of his packages it is."""

    target: str
    line: Line
    """Whose parties he has heard of."""
    is_named: bool
    """He names the agreement of the line; else one that nobody has."""
    of: str
    """MessageId of a message that is under way."""
    at: int
    number: int
    copy: int

    @property
    def name(self) -> str:
        """What chance is drawn from."""
        return f"{self.target}/{self.number}/{self.copy}"

    @property
    def message_id(self) -> str:
        """Another one for every package."""
        return f"knock-{self.number}-{self.copy}@{STRANGER}.example"

    @property
    def neighbour(self) -> str:
        """In whose name he speaks, where the line demands a proof of that; else his own."""
        path = path_of(self.line)
        at = path.index(self.target)
        is_posing = self.is_named and self.line.is_certified
        return path[at + 1 if at == 0 else at - 1] if is_posing else STRANGER

    @property
    def agreement_id(self) -> str:
        """As the package names it."""
        return name_on_wire(self.line) if self.is_named else f"unheard-of-{self.number}"

    @property
    def framing(self) -> Framing:
        """The way that his package says it takes."""
        number = self.number * 10_000 + self.copy
        sender_uri = uri(self.neighbour)
        return Framing(self.line.profile, sender_uri, self.target, self.at, number)

    def header(self) -> SignalHeader:
        """Of a signal about the message."""
        return SignalHeader(
            message_id=self.message_id,
            from_ids=(speaker(self.neighbour, self.line.profile),),
            to_ids=(speaker(self.target, self.line.profile),),
            agreement_id=self.agreement_id,
            conversation_id=f"knock-{self.number}",
            timestamp_at=self.at,
            ref_to_message_id=self.of,
        )


def knock(kind: str, door: Knock) -> Forged:
    """The package of this kind."""
    return changed(KINDS[kind](door), source=STRANGER)


def _message(door: Knock, *, sender: PartyId | None = None) -> Message:
    return Message(
        message_id=door.message_id,
        from_ids=(sender or party(door.neighbour),),
        to_ids=(party(door.target),),
        agreement_id=door.agreement_id,
        conversation_id=f"knock-{door.number}",
        service=SERVICE,
        action="NewOrder",
        timestamp_at=door.at,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
    )


def _packed(door: Knock) -> Forged:
    return pack_message(_message(door), door.framing, b"<Knock/>", sequence_number=1)


def _signal(door: Knock) -> Forged:
    has_cancels = door.line.profile.has_cancels
    kinds = [
        kind
        for kind in InquiryKind
        if has_cancels or kind in (InquiryKind.PING, InquiryKind.STATUS)
    ]
    signals: tuple[Signal, ...] = (
        Acknowledgment(door.header()),
        ErrorSignal(
            door.header(),
            (
                ErrorEntry(
                    code=ErrorCode.DELIVERY_FAILURE, severity=Severity.ERROR, description="!"
                ),
            ),
        ),
        *(Inquiry(door.header(), kind) for kind in kinds),
        Report(
            header=door.header(),
            kind=InquiryKind.STATUS,
            about=door.of,
            status=MessageStatus.PROCESSED,
        ),
        *(
            Report(header=door.header(), kind=kind, about=door.of)
            for kind in kinds
            if kind is InquiryKind.CANCEL
        ),
    )
    signal = signals[(door.number + door.copy) % len(signals)]
    return pack_signal(signal, door.framing)


def _odd_message(door: Knock) -> Forged:
    return oddly(_packed(door), door.name)


def _odd_signal(door: Knock) -> Forged:
    return oddly(_signal(door), door.name)


def _malformed(door: Knock) -> Forged:
    packed = _packed(door) if door.copy % 2 else _signal(door)
    return malformed(packed, door.name)


def _reflected(door: Knock) -> Forged:
    """In a party's name, and for another address: whoever is named there would get the error.

    Where headers name no address he speaks in his own name: nothing else would be wrong with it.
    """
    if not door.line.profile.has_routing_headers:
        return _packed(door)
    path = path_of(door.line)
    at = path.index(door.target)
    partner = path[-1] if at == 0 else path[0]
    neighbour = path[at + 1 if at == 0 else at - 1]
    framing = changed(
        door.framing, sender_uri=uri(neighbour), receiver_uri="http://elsewhere.example/msh"
    )
    message = _message(door, sender=party(partner))
    return pack_message(message, framing, b"<Knock/>", sequence_number=1)


KINDS: Mapping[str, Callable[[Knock], Forged]] = MappingProxyType(
    {
        "message": _packed,
        "signal": _signal,
        "odd-message": _odd_message,
        "odd-signal": _odd_signal,
        "malformed": _malformed,
        "reflected": _reflected,
    }
)
"""By kind."""
