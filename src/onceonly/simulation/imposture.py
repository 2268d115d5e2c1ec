"""What a hostile partner says: in another partner's name, or about another partner's messages.

He has an agreement and a certificate of his own, and at the worst he knows the MessageIds of
messages under way. Knows which signals there are and who could send them; must not know how they
are brought, or what a gateway does with them. Without certificates only names say who somebody is
(R-44): there he uses only his own name.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import Pair, PartyId
from onceonly.message.message import (
    MESSAGE_ORDER_MAX,
    SEQUENCE_NUMBER_MAX,
    AcknowledgmentElement,
    DeliverySemantics,
    Message,
    MessageOrder,
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
    ReportedProcessing,
    Signal,
    SignalHeader,
)
from onceonly.message.word import Word, changed
from onceonly.simulation.cast import SERVICE, name_on_wire, party, path_of, speaker, uri
from onceonly.simulation.oddity import oddly
from onceonly.simulation.packing import Forged, Framing, pack_message, pack_signal
from onceonly.simulation.plan import Line
from onceonly.store.contract.store import Snapshot

OWN, THEIRS, UNKNOWN = "own", "theirs", "unknown"
"""Whose agreement the package names."""

UNDER = (OWN, THEIRS, UNKNOWN)


def impostor(name: str) -> str:
    """Whose packages they are, on the network and in the histories: not those of his gateway."""
    return f"{name}*"


def unmasked(source: str) -> str:
    """The machine whose owner sent it; any other source is itself."""
    return source.removesuffix(impostor(""))


class Pose(Word):
    """Who speaks to whom, as whom, about which message."""

    by: str
    """The hostile partner's machine."""
    target: str
    line: Line
    """Whose message it is about."""
    own: Line
    """His own, on which he is the target's neighbour."""
    under: str
    is_partner: bool
    """He takes the name of the target's neighbour on `line`; else his own."""
    of: str
    """MessageId of the message."""
    snapshot: Snapshot
    at: int
    """Wall clock of the target."""
    number: int
    """No two packages are the same."""
    heard: Sequence[Forged]
    """What the target was sent by others, the oldest first."""
    said: Sequence[bytes]
    """What it sent, the oldest first."""

    @property
    def path(self) -> list[str]:
        """The machines that the message passes, its From Party's first."""
        path = path_of(self.line)
        return path if self.of.endswith(f"@{path[0]}.example") else path[::-1]

    @property
    def agreement_id(self) -> str:
        """As the package names it."""
        named = {OWN: name_on_wire(self.own), THEIRS: name_on_wire(self.line)}
        return named.get(self.under, f"nobody-{self.number}")

    @property
    def profile(self) -> Profile:
        """That of the agreement that is named."""
        return self.own.profile if self.under == OWN else self.line.profile

    def sender(self, step: int) -> str:
        """The machine whose name he takes: the target's neighbour, upstream or downstream."""
        if not self.is_partner:
            return self.by
        path = self.path
        return path[path.index(self.target) + step]

    def header(self, step: int, ref: str) -> SignalHeader:
        """From MSH to MSH, as the one whose name he takes would write it."""
        return SignalHeader(
            message_id=f"posed-{self.number}@{self.by}.example",
            from_ids=(speaker(self.sender(step), self.profile),),
            to_ids=(speaker(self.target, self.profile),),
            agreement_id=self.agreement_id,
            conversation_id=f"posed-{self.number}",
            timestamp_at=self.at,
            ref_to_message_id=ref,
        )

    def pack(self, signal: Signal, step: int) -> Forged:
        """The signal on its way."""
        return self._by_him(pack_signal(signal, self._framing(step)))

    def pack_message(self, message: Message, step: int, *, number: int = 1) -> Forged:
        """The message on its way, with a payload that nobody else has."""
        body = f"<Posed number='{self.number}'/>".encode()
        return self._by_him(
            pack_message(message, self._framing(step), body, sequence_number=number)
        )

    def _by_him(self, forged: Forged) -> Forged:
        return changed(forged, source=impostor(self.by))

    def _framing(self, step: int) -> Framing:
        return Framing(self.profile, uri(self.sender(step)), self.target, self.at, self.number)


Speak = Callable[[Pose], Forged | None]

BEFORE, BEHIND = -1, 1
"""Where the neighbour stands whose name he takes: the one that sends, or the one that answers."""


def speak(kind: str, pose: Pose) -> Forged | None:
    """The package of this kind; None where there is nothing to make it from."""
    return (SAID.get(kind) or ASKED.get(kind) or NUMBERED[kind])(pose)


# What is said about a message, to whoever sends it.


def _ack(pose: Pose) -> Forged:
    element = None
    if pose.profile is Profile.RM_2001:
        element = AcknowledgmentElement(timestamp_at=pose.at, from_ids=(_party(pose, BEHIND),))
    return pose.pack(Acknowledgment(pose.header(BEHIND, pose.of), element), BEHIND)


def _receipt(pose: Pose) -> Forged | None:
    if not pose.profile.has_receipts:
        return None  # Its words have none.
    element = AcknowledgmentElement(timestamp_at=pose.at, from_ids=(_party(pose, BEHIND),))
    header = pose.header(BEHIND, pose.of)
    return pose.pack(Acknowledgment(header, element, is_receipt=True), BEHIND)


def _party(pose: Pose, step: int) -> PartyId:
    """The party that would say it: the far one, also where an intermediary stands between."""
    if not pose.is_partner:
        return party(pose.by)
    return party(pose.path[-1] if step == BEHIND else pose.path[0])


def _error(code: ErrorCode, severity: Severity) -> Speak:
    def speak_of(pose: Pose) -> Forged:
        header = pose.header(BEHIND, pose.of)
        if code is ErrorCode.DELIVERY_FAILURE and pose.number % 2:
            # A notice names who found the problem, and that may be the party (seed 001 §1.6).
            header = changed(header, from_ids=(_party(pose, BEHIND),))
        pause_s = 3_600 if code is ErrorCode.TRANSIENT_ERROR else None
        entry = ErrorEntry(code=code, severity=severity, description="no", min_retry_s=pause_s)
        return pose.pack(ErrorSignal(header, (entry,)), BEHIND)

    return speak_of


def _report(kind: InquiryKind, **words: object) -> Speak:
    """The answer to the target's last question about the message, whether or not it asked one."""

    def speak_of(pose: Pose) -> Forged | None:
        if not _has(pose.profile, kind):
            return None
        asked = _ID.findall(b"".join(body for body in pose.said if kind.value.encode() in body))
        header = pose.header(BEHIND, asked[-1].decode() if asked else pose.of)
        about = "" if kind is InquiryKind.PING else pose.of
        report = Report(header=header, kind=kind, about=about, **words)  # type: ignore[arg-type] # because the words are those of the kind
        return pose.pack(report, BEHIND)

    return speak_of


_ID = re.compile(rb"<(?:eb:)?MessageId>([^<]*)<")


def _has(profile: Profile, kind: InquiryKind) -> bool:
    """Whether the profile has words for the question and its answer."""
    return profile.has_cancels or kind in (InquiryKind.PING, InquiryKind.STATUS)


def _response(pose: Pose) -> Forged:
    """A business response, which may carry an acknowledgement (seed 001 §1.3.3)."""
    response = changed(
        _business(pose, BEHIND), to_ids=(party(pose.path[0]),), ref_to_message_id=pose.of
    )
    return pose.pack_message(response, BEHIND)


# What is asked or brought in the name of whoever sends a message, to whoever receives it.


def _inquiry(kind: InquiryKind) -> Speak:
    def speak_of(pose: Pose) -> Forged | None:
        if not _has(pose.profile, kind):
            return None
        about = "" if kind is InquiryKind.PING else pose.of
        return pose.pack(Inquiry(pose.header(BEFORE, about), kind), BEFORE)

    return speak_of


def _message(pose: Pose) -> Forged:
    """One that nobody submitted, under the number that comes next."""
    return pose.pack_message(_business(pose, BEFORE), BEFORE, number=_number(pose, ahead=1))


def _forestall(pose: Pose) -> Forged:
    """Other content under the MessageId that is under way, before or after the true one."""
    message = changed(_business(pose, BEFORE), message_id=pose.of)
    return pose.pack_message(message, BEFORE, number=_number(pose, ahead=1))


def _wrong_number(pose: Pose) -> Forged | None:
    """One whose number does not come next: the second in a row closes the pair (R-11)."""
    if pose.profile is not Profile.RM_2000:
        return None
    return pose.pack_message(_business(pose, BEFORE), BEFORE, number=_number(pose, ahead=9))


def _replay(pose: Pose) -> Forged | None:
    """What the true neighbour sent, byte for byte; by whoever has it from somewhere."""
    if not (pose.heard and pose.is_partner):
        return None
    heard = pose.heard[pose.number % len(pose.heard)]
    return changed(heard, source=impostor(pose.by))


def _business(pose: Pose, step: int) -> Message:
    return Message(
        message_id=f"posed-{pose.number}@{pose.by}.example",
        from_ids=(_party(pose, step),),
        to_ids=(party(pose.path[-1]),),
        agreement_id=pose.agreement_id,
        conversation_id=f"posed-{pose.number}",
        service=SERVICE,
        action="NewOrder",
        timestamp_at=pose.at,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
    )


def _in_order(number: int, *, is_reset: bool = False) -> Speak:
    """A message of an ordered conversation of his own, whatever came before it (R-34)."""

    def speak_of(pose: Pose) -> Forged | None:
        if not pose.own.terms.is_ordered:
            return None
        message = changed(
            _business(pose, BEFORE),
            to_ids=(party(pose.target),),
            conversation_id=CONVERSATION,
            order=MessageOrder(number, is_reset),
        )
        return pose.pack_message(message, BEFORE)

    return speak_of


CONVERSATION = "posed"
"""That of his messages which have an order."""


def _number(pose: Pose, *, ahead: int) -> int:
    pair = Pair(*(str(party(name)) for name in (pose.path[0], pose.path[-1])))
    known = pose.snapshot.get_receiving_pair(pair).sequence_number or 0
    return (known + ahead - 1) % SEQUENCE_NUMBER_MAX + 1


# Oddities under his own name: what he may say, in words that nobody expects.


def _odd_message(pose: Pose) -> Forged:
    mine = changed(_business(pose, BEFORE), to_ids=(party(pose.target),))
    forged = pose.pack_message(mine, BEFORE, number=1 + pose.number % 3)
    return oddly(forged, f"{pose.by}/{pose.number}")


def _odd_word(pose: Pose) -> Forged:
    """Any of the other kinds."""
    kinds = [one for one in SAID if one != "response"]
    forged = SAID[kinds[pose.number % len(kinds)]](pose) or _ack(pose)
    return oddly(forged, f"{pose.by}/{pose.number}")


def _odd_question(pose: Pose) -> Forged:
    kinds = [kind for kind in InquiryKind if _has(pose.profile, kind)]
    kind = kinds[pose.number % len(kinds)]
    forged = pose.pack(Inquiry(pose.header(BEFORE, pose.of), kind), BEFORE)
    return oddly(forged, f"{pose.by}/{pose.number}")


SAID: Mapping[str, Speak] = MappingProxyType(
    {
        "ack": _ack,
        "receipt": _receipt,
        "response": _response,
        "pong": _report(InquiryKind.PING),
        "report-received": _report(InquiryKind.STATUS, status=MessageStatus.RECEIVED),
        "report-processed": _report(
            InquiryKind.STATUS,
            status=MessageStatus.PROCESSED,
            processing=ReportedProcessing.COMPLETE,
        ),
        "report-unknown": _report(
            InquiryKind.STATUS, is_accepted=False, status=MessageStatus.NOT_RECOGNIZED
        ),
        "cancel-confirmed": _report(InquiryKind.CANCEL),
        "cancel-refused": _report(
            InquiryKind.CANCEL, is_accepted=False, status=MessageStatus.PROCESSED
        ),
        "response-notice": _report(InquiryKind.RESPONSE),
        **{f"error-{code.value}": _error(code, Severity.ERROR) for code in ErrorCode},
        "warning-DeliveryFailure": _error(ErrorCode.DELIVERY_FAILURE, Severity.WARNING),
        "warning-TransientError": _error(ErrorCode.TRANSIENT_ERROR, Severity.WARNING),
    }
)
"""By kind, to whoever sends the message; an intermediary among them."""

ASKED: Mapping[str, Speak] = MappingProxyType(
    {
        "ping": _inquiry(InquiryKind.PING),
        "status": _inquiry(InquiryKind.STATUS),
        "cancel": _inquiry(InquiryKind.CANCEL),
        "response-request": _inquiry(InquiryKind.RESPONSE),
        "message": _message,
        "forestall": _forestall,
        "wrong-number": _wrong_number,
        "replay": _replay,
        "odd-message": _odd_message,
        "odd-word": _odd_word,
        "odd-question": _odd_question,
    }
)
"""By kind, to whoever receives the message."""

NUMBERED: Mapping[str, Speak] = MappingProxyType(
    {
        **{f"order-{number}": _in_order(number) for number in range(6)},
        "order-reset": _in_order(0, is_reset=True),
        "order-reset-odd": _in_order(2, is_reset=True),
        "order-last": _in_order(MESSAGE_ORDER_MAX),
    }
)
"""By kind, to whoever receives messages of his own in an order that he does not keep."""

ONLY_AS_HIMSELF = frozenset({"odd-message", "odd-word", "odd-question"})
"""What he says under his own name and agreement: oddities are no lies."""

ONLY_AS_ANOTHER = frozenset({"message", "forestall", "wrong-number", "replay"})
"""What is honest traffic under his own name, or nothing at all."""
