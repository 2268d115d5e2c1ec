"""What was sent, to be looked at: the payloads of an outbound message, and its header document."""

from typing import Literal

from onceonly.api.fields import Digest, Instant, Name, PathNumber
from onceonly.message.word import Word


class SentPayloadPath(Word, kw_only=True):
    """A payload of an outbound message."""

    message_id: Name
    n: PathNumber


class SentPayload(Word, kw_only=True):
    """One payload of an outbound message; `href` is where its bytes are."""

    n: int
    name: str
    content_type: str
    size_bytes: int
    digest: Digest
    href: str


class HeaderElement(Word, kw_only=True):
    """One element or attribute of a header document, in the order of the document.

    `path` is like `ebXMLHeader/Header/MessageData/MessageId`, with `/@name` at the end for an
    attribute; `value` is null where an element holds other elements alone.
    """

    path: str
    value: str | None


class SentHeader(Word, kw_only=True):
    """The header document of every transmission of a message, as it left: raw, and in its parts.

    `content_type` is that of the package around it.
    """

    message_id: str
    content_type: str
    raw: str
    elements: tuple[HeaderElement, ...]


class KeptProof(Word, kw_only=True):
    """One signed envelope that is kept as evidence; its payloads are in it by their digests."""

    kind: Literal["message", "acknowledgment", "refused"]
    """`refused` says that an acknowledgement came that is no evidence, and has no document."""
    from_party: str
    to_party: str
    content_type: str
    document: str
    """The envelope, byte for byte, in base64."""
    signer: Digest | None
    """SHA-256 of the certificate that signed it; null without a signature."""
    verified_at: Instant
    keep_until: Instant
    """It is kept until then, and for archive_duration after that."""


class MessageEvidence(Word, kw_only=True):
    """What proves a message, and that its To Party has it."""

    message_id: str
    envelopes: tuple[KeptProof, ...]
