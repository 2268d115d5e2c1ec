"""Acknowledgements and errors: messages of the MSHs themselves, never answered (R-20).

Their From and To are the MSHs' URIs, taken from the RoutingHeader of the message that they are
about (seed 000 §2.2.2), so they are plain PartyIds here like any other.
"""

from dataclasses import dataclass

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.identity import PartyId, checked_identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalHeader:
    """What both signals carry in their Header."""

    message_id: str
    from_ids: tuple[PartyId, ...]
    to_ids: tuple[PartyId, ...]
    agreement_id: str
    conversation_id: str
    timestamp_at: int
    ref_to_message_id: str
    """MessageId of the message that the signal is about."""

    def __post_init__(self) -> None:
        checked_identifier(self.message_id, "MessageId")
        checked_identifier(self.agreement_id, "TPAId")
        checked_identifier(self.conversation_id, "ConversationId")
        checked_identifier(self.ref_to_message_id, "RefToMessageId")


@dataclass(frozen=True, slots=True)
class Acknowledgment:
    """The receiving MSH holds the message in persistent storage (seed 000 §2.1.3 (4))."""

    header: SignalHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEntry:
    """One Error of an ErrorList. `min_retry_s` goes with TransientError only (seed 000 §4.2)."""

    code: ErrorCode
    severity: Severity
    description: str = ""
    min_retry_s: int | None = None
    code_text: str = ""
    """The code as it stood on the wire, where it is none of ours (`code` is then Unknown)."""


@dataclass(frozen=True, slots=True)
class ErrorSignal:
    """The receiving MSH refused the message; nothing of it was stored."""

    header: SignalHeader
    errors: tuple[ErrorEntry, ...]
