"""The store's contract for evidence: signed envelopes as they were sent and as they came (§9.7).

Rows of one message are kept on their own: the evidence outlives the message that it is about.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from onceonly.message.word import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onceonly.message.identity import MessageKey


class EvidenceKind(StrEnum):
    """What an envelope proves about a message."""

    MESSAGE = "message"
    """The message itself, signed by its From Party."""
    ACKNOWLEDGMENT = "acknowledgment"
    """The To Party acknowledged it, signed, with the digests of the message."""
    REFUSED = "refused"
    """An acknowledgement that is no such proof; the first of them."""


class KeptEnvelope(Word, kw_only=True):
    """One envelope. Instants are in microseconds UTC."""

    from_party: str
    to_party: str
    message_id: str
    """The message that it is about."""
    kind: EvidenceKind
    content_type: str
    document: bytes
    """The envelope, byte for byte; payloads are in it by their digests."""
    signer: str | None
    """Fingerprint of the certificate that signed it; None for a message without a signature, and
    for an acknowledgement that was refused."""
    verified_at: int
    """When it was made or verified here."""
    keep_until_at: int


class EvidenceSnapshot(Protocol):
    """Reads of evidence."""

    def list_evidence(self, message_id: str) -> Sequence[KeptEnvelope]:
        """What is kept about messages with this id, by their parties and its kind."""
        ...

    def has_evidence(self, key: MessageKey, kind: EvidenceKind) -> bool:
        """Whether some of this kind is kept about the message."""
        ...


class EvidenceTransaction(EvidenceSnapshot, Protocol):
    """Writes of evidence."""

    def add_evidence(self, evidence: KeptEnvelope) -> None:
        """Keep it; of each kind the first about a message stays."""
        ...

    def purge_evidence(self, before_at: int, limit: int) -> int:
        """Forget what was to be kept until before that instant; returns how many rows."""
        ...
