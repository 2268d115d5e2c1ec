"""A business message and what travels with it.

A `Message` is what the From-Party handed over; once prepared, none of it changes (seed 000
§5.1 (4)). Payload bytes are never in it, only their description: a payload may be 100 MiB.
"""

from dataclasses import dataclass
from enum import StrEnum

from onceonly.message.identity import (
    MessageKey,
    Pair,
    PartyId,
    checked_identifier,
    checked_text,
)

SEQUENCE_NUMBER_MAX = 999_999_999
"""Largest SequenceNumber; the next one is 1 (seed 000 §2.2.2 b)."""


class DeliverySemantics(StrEnum):
    """Degree of reliability. Only the first two are ever on the wire of `rm-2000`."""

    ONCE_AND_ONLY_ONCE = "OnceAndOnlyOnce"
    BEST_EFFORT = "BestEffort"
    AT_MOST_ONCE = "AtMostOnce"
    EXACTLY_ONCE = "ExactlyOnce"


class Profile(StrEnum):
    """A wire form plus the rules of its text (`rulings.md`)."""

    RM_2000 = "rm-2000"


@dataclass(frozen=True, slots=True)
class Payload:
    """One payload part, described: what it is called, what it is, how long, which bytes.

    `digest` is the lower-case hexadecimal SHA-256 of the bytes; `content_id` is without angle
    brackets and unique in the message. `name` labels the document and is never used as a path.
    """

    content_id: str
    content_type: str
    size_bytes: int
    digest: str
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingHeader:
    """One hop: the two MSHs, where errors go, and the SequenceNumber (seed 000 §2.2.2)."""

    sender_uri: str
    receiver_uri: str
    error_uri: str
    timestamp_at: int
    sequence_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A Normal message: the Header of seed 000 §2.2, without the hop.

    `from_ids` and `to_ids` hold every PartyId of the party, the first one naming it.
    Identifiers are checked on construction; raises `RemoteError`.
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

    def __post_init__(self) -> None:
        checked_identifier(self.message_id, "MessageId")
        checked_identifier(self.agreement_id, "TPAId")
        checked_identifier(self.conversation_id, "ConversationId")
        checked_text(self.service, "ServiceInterface")
        checked_text(self.action, "Action")
        if self.ref_to_message_id is not None:
            checked_identifier(self.ref_to_message_id, "RefToMessageId")

    @property
    def pair(self) -> Pair:
        """The Sender-Receiver pair that the message travels on."""
        return Pair(str(self.from_ids[0]), str(self.to_ids[0]))

    @property
    def key(self) -> MessageKey:
        """The duplicate key (ruling R-01)."""
        return MessageKey(str(self.from_ids[0]), str(self.to_ids[0]), self.message_id)

    @property
    def size_bytes(self) -> int:
        """Sum of the payload sizes."""
        return sum(payload.size_bytes for payload in self.payloads)
