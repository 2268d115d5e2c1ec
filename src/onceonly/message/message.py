"""A business message and what travels with it.

A `Message` is what the From-Party handed over; once prepared, none of it changes (seed 000
§5.1 (4)). Payload bytes are never in it, only their description: a payload may be 100 MiB.
"""

import re
from enum import StrEnum
from typing import Final

from onceonly.message.identity import (
    MessageKey,
    Pair,
    PartyId,
    checked_identifier,
    checked_name,
    checked_text,
    pair_of,
)
from onceonly.message.word import Word

# What nearly all messages have, one per line: four identifiers and two texts of visible ASCII.
_PLAIN: Final = re.compile(
    r"(?:(?!\.\.?\n)[!-~]{1,255}+\n){4}"
    r"(?:[!-~](?:[ -~]{0,253}[!-~])?)?\n(?:[!-~](?:[ -~]{0,253}[!-~])?)?"
)

SEQUENCE_NUMBER_MAX = 999_999_999
"""Largest SequenceNumber; the next one is 1 (seed 000 §2.2.2 b)."""

MESSAGE_ORDER_MAX: Final = 99_999_999
"""Largest SequenceNumber of a MessageOrder; the next one is 0."""


class DeliverySemantics(StrEnum):
    """Degree of reliability. Headers have words for the first two alone (R-16, R-17, R-29)."""

    ONCE_AND_ONLY_ONCE = "OnceAndOnlyOnce"
    BEST_EFFORT = "BestEffort"
    AT_MOST_ONCE = "AtMostOnce"
    EXACTLY_ONCE = "ExactlyOnce"
    AT_LEAST_ONCE = "AtLeastOnce"
    """Acknowledged, and no header asks that repeats are suppressed."""

    @property
    def on_wire(self) -> "DeliverySemantics":
        """The word for this degree on the wire: whether an acknowledgement is wanted."""
        if self is DeliverySemantics.BEST_EFFORT:
            return self
        return DeliverySemantics.ONCE_AND_ONLY_ONCE


# A header that asks for elimination alone is AtMostOnce; ExactlyOnce is never in a header.
_ACKNOWLEDGED: Final = frozenset(
    {DeliverySemantics.ONCE_AND_ONLY_ONCE, DeliverySemantics.EXACTLY_ONCE}
)


class ReliableMessagingMethod(StrEnum):
    """What makes the delivery reliable (seed 001 §1.2.4)."""

    EBXML = "ebXML"
    """The acknowledgement protocol of these specifications."""
    TRANSPORT = "Transport"
    """A reliable transport product, by a binding; there are no ebXML acknowledgements."""


class AckRequested(StrEnum):
    """Whether an Acknowledgment element, or a delivery receipt, is asked for (seed 001 §1.2.5)."""

    NONE = "None"
    UNSIGNED = "Unsigned"
    SIGNED = "Signed"


class SyncReplyMode(StrEnum):
    """What comes back in the answer of the transport, for instance of HTTP (seed 001 §1.2.2)."""

    NONE = "none"
    SIGNALS_ONLY = "signalsOnly"
    RESPONSE_ONLY = "responseOnly"
    SIGNALS_AND_RESPONSE = "signalsAndResponse"
    MSH_SIGNALS_ONLY = "mshSignalsOnly"
    """Acknowledgements and errors of the MSH (CPA 2.0); business signals are business messages."""

    @property
    def has_response(self) -> bool:
        """Whether the business response is expected in the answer."""
        return self in (SyncReplyMode.RESPONSE_ONLY, SyncReplyMode.SIGNALS_AND_RESPONSE)

    @property
    def has_signals(self) -> bool:
        """Whether acknowledgements and errors are expected in the answer."""
        return self not in (SyncReplyMode.NONE, SyncReplyMode.RESPONSE_ONLY)


class SchemaLocation(Word):
    """Where a schema of a payload is said to be (`ebms-2.0`, Schema). It is never fetched."""

    location: str
    version: str = ""


class Payload(Word):
    """The description of one payload part: its name, its type, its length and its digest.

    `digest` is the lower-case hexadecimal SHA-256 of the bytes; `content_id` is without angle
    brackets and unique in the message. `name` labels the document and is never used as a path.
    The fields after it are those of a Reference in `ebms-2.0`; they have no effect.
    """

    content_id: str
    content_type: str
    size_bytes: int
    digest: str
    name: str = ""
    reference_id: str = ""
    role: str = ""
    description: str = ""
    schemas: tuple[SchemaLocation, ...] = ()


class RoutingHeader(Word, kw_only=True):
    """One hop: the two MSHs and what this hop is asked to do (seeds 000 §2.2.2, 001 §1.2).

    `rm-2000` has `error_uri` and `sequence_number`; `rm-2001` has the last two, which are None
    where the header leaves them to the CPA.
    """

    sender_uri: str
    receiver_uri: str
    error_uri: str | None
    timestamp_at: int
    sequence_number: int | None = None
    reliable_messaging_method: ReliableMessagingMethod | None = None
    ack_requested: AckRequested | None = None


class Actor(StrEnum):
    """Which MSH a header block is for (`ebms-2.0`, SOAP:actor)."""

    TO_PARTY_MSH = "urn:oasis:names:tc:ebxml-msg:actor:toPartyMSH"
    NEXT_MSH = "urn:oasis:names:tc:ebxml-msg:actor:nextMSH"
    """The next one on the way; what it says is not under the signature of the From Party."""


class SignedReference(Word):
    """What a signature says of one thing that it covers (`ebms-2.0`, ds:Reference).

    `text` is the whole element as it is copied into an acknowledgement: one canonical form in which
    every prefix is bound. Evidence compares the other fields only.
    """

    uri: str
    digest_method: str
    digest_value: str
    """In base64 without white space."""
    text: str = ""


class AcknowledgmentElement(Word, kw_only=True):
    """The Acknowledgment element of seed 001 §3: in a signal of its own, or in a response.

    Without `from_ids` the party in the From of the Header acknowledges (§3.1.2). The last three
    fields are of `ebms-2.0`, where `is_signed` is not said by the element.
    """

    timestamp_at: int
    from_ids: tuple[PartyId, ...] = ()
    is_signed: bool = False
    actor: Actor = Actor.TO_PARTY_MSH
    ref_to_message_id: str = ""
    """Empty where the header alone names the message that is acknowledged."""
    references: tuple[SignedReference, ...] = ()


class MessageOrder(Word):
    """The place of a message in its conversation (`ebms-2.0`, MessageOrder)."""

    number: int
    """0 to `MESSAGE_ORDER_MAX`."""
    is_reset: bool = False
    """The numbers start again with this one, which is 0."""


class Message(Word, kw_only=True):
    """A business message: the Header of seed 000 §2.2 or seed 001, without the hop.

    The fields from `time_to_live_at` on are of `rm-2001`; each is None where the header leaves
    it to the CPA. Those from `from_role` on are of `ebms-2.0`. `from_ids` and `to_ids` hold every
    PartyId of the party, the first one naming it. Identifiers are checked on construction; raises
    `RemoteError`.
    """

    message_id: str
    from_ids: tuple[PartyId, ...]
    to_ids: tuple[PartyId, ...]
    agreement_id: str
    conversation_id: str
    service: str
    action: str
    timestamp_at: int
    semantics: DeliverySemantics
    ref_to_message_id: str | None = None
    payloads: tuple[Payload, ...] = ()
    time_to_live_at: int | None = None
    """After this instant an unknown copy is refused (TimeToLive, seed 001 §1.2.3)."""
    sync_reply_mode: SyncReplyMode | None = None
    delivery_receipt_requested: AckRequested | None = None
    acknowledgment: AcknowledgmentElement | None = None
    """The acknowledgement of the message in `ref_to_message_id`, if this message carries it."""
    leaves_semantics: bool = False
    """The header names no deliverySemantics, so those of the CPA apply (seed 001 §1.2.1);
    `semantics` is a placeholder until the agreement is found."""
    from_role: str | None = None
    to_role: str | None = None
    service_type: str | None = None
    duplicate_elimination: bool | None = None
    """The header asks that repeats be suppressed; None: as the semantics have it."""
    ack_requested: AckRequested | None = None
    """Which acknowledgement of the To Party is asked for; None: as the semantics have it."""
    next_ack_requested: AckRequested = AckRequested.NONE
    """Which acknowledgement of the next MSH is asked for."""
    next_acknowledgment: AcknowledgmentElement | None = None
    """An acknowledgement for the next MSH that this message carries."""
    order: MessageOrder | None = None
    description: str = ""

    def __post_init__(self) -> None:
        reference = self.ref_to_message_id
        if reference is None:
            reference = self.message_id
        # All at once first: whoever makes a message of another one makes a dozen of them.
        lines = (
            f"{self.message_id}\n{self.agreement_id}\n{self.conversation_id}\n{reference}\n"
            f"{self.service}\n{self.action}"
        )
        if _PLAIN.fullmatch(lines) is None:
            self._check_each()

    def _check_each(self) -> None:
        checked_identifier(self.message_id, "MessageId")
        checked_name(self.agreement_id, "TPAId")
        checked_name(self.conversation_id, "ConversationId")
        checked_text(self.service, "ServiceInterface")
        checked_text(self.action, "Action")
        if self.ref_to_message_id is not None:
            checked_identifier(self.ref_to_message_id, "RefToMessageId")

    @property
    def pair(self) -> Pair:
        """The Sender-Receiver pair that the message travels on."""
        return pair_of(self.from_ids[0], self.to_ids[0])

    @property
    def key(self) -> MessageKey:
        """The duplicate key (ruling R-01)."""
        pair = pair_of(self.from_ids[0], self.to_ids[0])
        return tuple.__new__(MessageKey, (*pair, self.message_id))

    @property
    def answered_id(self) -> str | None:
        """The MessageId that it answers: its RefToMessageId, else that of its Acknowledgment.

        Only in `ebms-2.0` an Acknowledgment names a message by itself (`ebms2.md` §7).
        """
        element = self.acknowledgment
        named = "" if element is None else element.ref_to_message_id
        return self.ref_to_message_id or named or None

    @property
    def wants_ack(self) -> bool:
        """Whether its header asks that the To Party acknowledges it (R-29)."""
        return self.semantics in _ACKNOWLEDGED

    @property
    def wants_next_ack(self) -> bool:
        """Whether its header asks that the next MSH acknowledges it (`ebms-2.0`)."""
        return self.next_ack_requested is not AckRequested.NONE

    @property
    def is_eliminated(self) -> bool:
        """Whether its header asks that repeats are suppressed, or acknowledged (R-29)."""
        return self.semantics is not DeliverySemantics.BEST_EFFORT

    @property
    def size_bytes(self) -> int:
        """Sum of the payload sizes."""
        return sum([payload.size_bytes for payload in self.payloads])
