"""Packages that nobody of the world sent: forged, foreign, damaged and replayed ones.

Knows how to make them out of what went over the network before (faults A5, N4; attacks on
identity); `packing` writes them. Must not know what a gateway makes of them. A signature is
nothing that these profiles have, so whoever can name the right party and a message that is under
way can say anything where no agreement asks for certificates; what is forged here is what a gateway
can see through. What a partner says in the name of another one is made in `imposture`.
"""

import re
from collections.abc import Callable, Sequence

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import MessageKey, Pair, PartyId
from onceonly.message.message import (
    SEQUENCE_NUMBER_MAX,
    AcknowledgmentElement,
    AckRequested,
    DeliverySemantics,
    Message,
)
from onceonly.message.profile import Profile
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
from onceonly.simulation.packing import FORGER, Forged, Framing, pack_message, pack_signal
from onceonly.simulation.plan import Line
from onceonly.store.contract.store import Snapshot

_STRANGER = PartyId(f"http://{FORGER}.example/msh")
_FAR = 7
"""How far a forged SequenceNumber is from the next one."""


class ForgerView(Word):
    """What a forger knows who stands before one machine."""

    target: str
    line: Line
    snapshot: Snapshot
    at: int
    """Wall clock of the target."""
    number: int
    """How many packages were forged before: no two are the same."""
    of: str
    """MessageId of a message of the line, in the direction that suits."""
    heard: Sequence[Forged]
    """What the target was sent before, the oldest first."""
    said: Sequence[bytes] = ()
    """What it sent, the oldest first."""

    @property
    def path(self) -> list[str]:
        """The machines of the line, the target first."""
        path = path_of(self.line)
        return path if path[0] == self.target else path[::-1]


def forge(kind: str, scene: ForgerView) -> Forged | None:
    """The package of this kind; None where the scene has nothing to make it from."""
    return (KINDS.get(kind) or UNSIGNED[kind])(scene)


def _ack_unknown(scene: ForgerView) -> Forged:
    return _signal(scene, Acknowledgment(_header(scene, f"unknown-{scene.number}@{FORGER}")))


def _ack_from_stranger(scene: ForgerView) -> Forged:
    header = changed(_header(scene, scene.of), from_ids=(_STRANGER,))
    return _signal(scene, Acknowledgment(header))


def _error_from_stranger(scene: ForgerView) -> Forged:
    header = changed(_header(scene, scene.of), from_ids=(_STRANGER,))
    entry = ErrorEntry(code=ErrorCode.DELIVERY_FAILURE, severity=Severity.ERROR, description="no")
    return _signal(scene, ErrorSignal(header, (entry,)))


def _ack_other_profile(scene: ForgerView) -> Forged:
    """In the name of the true neighbour, but in words that the agreement does not have."""
    return _signal(_in_other_words(scene), Acknowledgment(_header(scene, scene.of)))


def _error_other_profile(scene: ForgerView) -> Forged:
    entry = ErrorEntry(code=ErrorCode.DELIVERY_FAILURE, severity=Severity.ERROR, description="no")
    return _signal(_in_other_words(scene), ErrorSignal(_header(scene, scene.of), (entry,)))


def _in_other_words(scene: ForgerView) -> ForgerView:
    is_2000 = scene.line.profile is Profile.RM_2000
    other = Profile.RM_2001 if is_2000 else Profile.RM_2000
    return changed(scene, line=changed(scene.line, profile=other))


def _cancel_from_stranger(scene: ForgerView) -> Forged | None:
    if not scene.line.profile.has_cancels:
        return None
    header = changed(_header(scene, scene.of), from_ids=(_STRANGER,))
    return _signal(scene, Inquiry(header, InquiryKind.CANCEL), sender=_STRANGER.value)


def _report_from_stranger(scene: ForgerView) -> Forged | None:
    """Somebody else says that the partner has what it was asked about."""
    return _report(scene, _STRANGER, about=scene.of)


def _report_about_another(scene: ForgerView) -> Forged | None:
    """The partner's name, and another message than it was asked about."""
    neighbour = speaker(scene.path[1], scene.line.profile)
    return _report(scene, neighbour, about=f"another-{scene.number}@{FORGER}")


def _report(scene: ForgerView, sender: PartyId, *, about: str) -> Forged | None:
    """An answer to the target's last question about a message."""
    asked = [_ID.search(body) for body in scene.said if _STATUS_REQUEST in body]
    if not asked or asked[-1] is None:
        return None
    header = changed(_header(scene, asked[-1].group(1).decode()), from_ids=(sender,))
    report = Report(
        header=header,
        kind=InquiryKind.STATUS,
        about=about,
        is_accepted=True,
        status=MessageStatus.RECEIVED,
    )
    return _signal(scene, report, sender=sender.value)


_ID = re.compile(rb"<(?:eb:)?MessageId>([^<]*)<")
_STATUS_REQUEST = InquiryKind.STATUS.value.encode()


def _collision(scene: ForgerView) -> Forged | None:
    """A message that the target has stored, with other content."""
    pair = _pair_in(scene)
    stored = scene.snapshot.find_inbound_message(MessageKey(*pair, scene.of))
    if stored is None:
        return None
    stored = changed(stored, payloads=(), agreement_id=name_on_wire(scene.line))
    return _message(scene, stored, b"<Forged/>", number=1)


def _wrong_number(scene: ForgerView) -> Forged | None:
    """An unseen message whose number surely does not come next."""
    state = scene.snapshot.get_receiving_pair(_pair_in(scene))
    if scene.line.profile is not Profile.RM_2000 or state.takes_any_number:
        return None
    number = (state.sequence_number or 0) % (SEQUENCE_NUMBER_MAX - _FAR) + _FAR
    return _message(scene, _business(scene, party(scene.path[-1])), b"<Forged/>", number=number)


def _from_stranger(scene: ForgerView) -> Forged:
    return _message(scene, _business(scene, _STRANGER), b"<Forged/>", number=1)


def _damaged(scene: ForgerView) -> Forged | None:
    """The last package again, which breaks off in the header document."""
    if not scene.heard:
        return None
    last = scene.heard[-1]
    return changed(last, body=last.body[: last.body.find(b"</") + 2])


def _ack_unsigned(scene: ForgerView) -> Forged | None:
    """What its partner would say, but nobody has signed it."""
    if scene.line.terms.ack_requested is not AckRequested.SIGNED:
        return None
    element = AcknowledgmentElement(timestamp_at=scene.at, from_ids=(party(scene.path[1]),))
    return _signal(scene, Acknowledgment(_header(scene, scene.of), element))


def _ack_of_another(scene: ForgerView) -> Forged | None:
    """A signed acknowledgement of another message, with the name of this one in it."""
    acks = [one for one in scene.heard if _ACKNOWLEDGES in one.body and _SIGNATURE in one.body]
    if not acks:
        return None
    ack = acks[scene.number % len(acks)]
    body = _REF.sub(b"\\g<1>" + scene.of.encode() + b"<", ack.body)
    return None if body == ack.body else changed(ack, body=body, source=FORGER)


_ACKNOWLEDGES, _SIGNATURE = b"<eb:Acknowledgment ", b"<ds:Signature "
_REF = re.compile(rb"(<eb:RefToMessageId>)[^<]*<")


def _message_unsigned(scene: ForgerView) -> Forged:
    """A message of the partner that it never sent, and that nobody has signed."""
    return _message(scene, _business(scene, party(scene.path[-1])), b"<Forged/>", number=1)


def _garbage(scene: ForgerView) -> Forged:
    del scene
    return Forged("application/octet-stream", b"\x00\xff" * 32)


def _replay(scene: ForgerView) -> Forged | None:
    """Something that was sent long ago, byte for byte."""
    return scene.heard[scene.number % len(scene.heard)] if scene.heard else None


KINDS: dict[str, Callable[[ForgerView], Forged | None]] = {
    "ack-unknown": _ack_unknown,
    "ack-from-stranger": _ack_from_stranger,
    "error-from-stranger": _error_from_stranger,
    "ack-other-profile": _ack_other_profile,
    "error-other-profile": _error_other_profile,
    "cancel-from-stranger": _cancel_from_stranger,
    "report-from-stranger": _report_from_stranger,
    "report-about-another": _report_about_another,
    "collision": _collision,
    "wrong-number": _wrong_number,
    "from-stranger": _from_stranger,
    "damaged": _damaged,
    "garbage": _garbage,
    "replay": _replay,
}

UNSIGNED: dict[str, Callable[[ForgerView], Forged | None]] = {
    "ack-unsigned": _ack_unsigned,
    "ack-of-another": _ack_of_another,
    "message-unsigned": _message_unsigned,
}
"""What a gateway can see through only where signatures were agreed."""


def _pair_in(scene: ForgerView) -> Pair:
    """The pair of the line that comes in at the target."""
    return Pair(str(party(scene.path[-1])), str(party(scene.target)))


def _header(scene: ForgerView, ref: str) -> SignalHeader:
    """As the true neighbour writes it."""
    return SignalHeader(
        message_id=f"forged-{scene.number}@{FORGER}",
        from_ids=(speaker(scene.path[1], scene.line.profile),),
        to_ids=(speaker(scene.target, scene.line.profile),),
        agreement_id=name_on_wire(scene.line),
        conversation_id=f"forged-{scene.number}",
        timestamp_at=scene.at,
        ref_to_message_id=ref,
    )


def _business(scene: ForgerView, sender: PartyId) -> Message:
    return Message(
        message_id=f"forged-of-{scene.of}",
        from_ids=(sender,),
        to_ids=(party(scene.target),),
        agreement_id=name_on_wire(scene.line),
        conversation_id=f"forged-{scene.number}",
        service=SERVICE,
        action=scene.line.action,
        timestamp_at=scene.at,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
    )


def _signal(scene: ForgerView, signal: Signal, *, sender: str | None = None) -> Forged:
    return pack_signal(signal, _framing(scene, sender))


def _message(scene: ForgerView, message: Message, body: bytes, *, number: int) -> Forged:
    return pack_message(message, _framing(scene), body, sequence_number=number)


def _framing(scene: ForgerView, sender: str | None = None) -> Framing:
    sender_uri = sender or uri(scene.path[1])
    return Framing(scene.line.profile, sender_uri, scene.target, scene.at, scene.number)
