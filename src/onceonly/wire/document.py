"""What reading a package and its header document gives, whichever profile they are of."""

from typing import Protocol

from onceonly.message.identity import PartyId
from onceonly.message.message import (
    AcknowledgmentElement,
    AckRequested,
    Message,
    RoutingHeader,
    SchemaLocation,
    SyncReplyMode,
)
from onceonly.message.profile import Profile
from onceonly.message.signals import (
    Acknowledgment,
    ErrorEntry,
    ErrorSignal,
    Inquiry,
    InquiryKind,
    Signal,
    SoapFault,
)
from onceonly.message.word import Word, field
from onceonly.wire import names
from onceonly.wire.signature import Signature, UnreadableSignature, Way
from onceonly.wire.xml import Element

Content = Message | Signal
"""What a package is: a business message or one of the signals."""


class Reference(Word):
    """What a Manifest of `ebms-2.0` says of a payload, beside its label."""

    reference_id: str = ""
    role: str = ""
    description: str = ""
    schemas: tuple[SchemaLocation, ...] = ()


class Document(Word):
    """A header document that was read; its payloads are only named yet."""

    content: Content
    routing: tuple[RoutingHeader, ...]
    """Empty in a profile whose hops leave nothing in the document."""
    labels: dict[str, str]
    """Label by content id, one entry for every document that the Manifest names."""
    profile: Profile
    references: dict[str, Reference] = field(default_factory=dict)
    """More about a document, by content id, where the Manifest says more."""
    warnings: tuple[ErrorEntry, ...] = ()
    """Errors of severity Warning that came with a message or an acknowledgement (`ebms-2.0`)."""
    signature: Signature | UnreadableSignature | None = None
    """What it says, without trust."""


class PayloadSink(Protocol):
    """Where the bytes of one payload go."""

    def write(self, data: bytes, /) -> None:
        """Take the next bytes, never none."""
        ...

    def close(self) -> tuple[int, str]:
        """Called once, after the last byte: their number and hexadecimal SHA-256."""
        ...


class HopChange(Word, kw_only=True):
    """What an intermediary changes among the blocks that are for the next MSH (`ebms-2.0`)."""

    takes_ack_requested: bool = False
    """Take out the request for an acknowledgement of the next MSH."""
    takes_acknowledgment: bool = False
    """Take out the acknowledgement of the next MSH."""
    ack_requested: AckRequested = AckRequested.NONE
    """Which acknowledgement of the next MSH we ask for instead."""
    acknowledgment: AcknowledgmentElement | None = None
    """Our own acknowledgement, which names its message."""


class Wrapping(Word):
    """The bytes of a package around its header document and its payloads, as they came.

    Such a package is `before + document + segments[0] + payload 0 + segments[1] + …`.
    """

    content_type: str
    before: bytes
    segments: tuple[bytes, ...]
    """One more than there are payloads. Parts that the Manifest does not name are in them."""
    content_ids: tuple[str, ...]
    """Of the payloads, as their parts came."""


class Envelope(Word):
    """A whole package that was received."""

    content: Content
    routing: tuple[RoutingHeader, ...]
    """In the order of the document; the last one is the current hop."""
    profile: Profile
    header: bytes
    """The header document as received, its transfer encoding undone."""
    sinks: tuple[PayloadSink, ...]
    """Parallel to the payloads of the content."""
    warnings: tuple[ErrorEntry, ...] = ()
    """As in `Document`."""
    dropped_parts: int = 0
    """Parts that the Manifest does not name (`Codec.drops_unnamed_parts`)."""
    signature: Signature | UnreadableSignature | None = None
    """As in `Document`."""
    part_digests: dict[str, dict[Way, bytes]] = field(default_factory=dict)
    """Of each part that the signature names, by Content-ID and way, its digests."""
    root: Element | None = None
    """The document as a tree, if it has a signature, which is verified with it."""
    wrapping: Wrapping | None = None
    """Kept where `Decoder` was asked for it, if nothing in the package had a transfer encoding."""


class About(Word):
    """What is known about a refused package, so that its sender can be told in its own profile.

    Each field has the value from the document if that was readable and valid, else None (or empty).
    `message_type` is Normal for a business message and another word for every signal.
    """

    message_type: str | None = None
    agreement_id: str | None = None
    from_ids: tuple[PartyId, ...] = ()
    message_id: str | None = None
    conversation_id: str | None = None
    sender_uri: str | None = None
    receiver_uri: str | None = None
    error_uri: str | None = None
    profile: Profile | None = None
    ref_to_message_id: str | None = None
    """The message that it answers; for a signal, the message that it is about."""
    wants_sync_reply: bool = False
    """Its sender waits for the answer in that of the transport (`ebms-2.0`, SyncReply)."""
    fault: SoapFault | None = None
    """What it says instead of a message: a SOAP Fault, which nobody asked for here (`ebms-2.0`)."""

    @property
    def may_be_answered(self) -> bool:
        """Whether an error tells its sender: no signal is answered (R-20).

        But a standard MSH knows no questions of ours, and says NotSupported to each Action that it
        does not know; so do we where they were not agreed.
        """
        is_ours = self.profile is not None and self.profile.has_cpa
        return self.message_type == names.NORMAL or (
            is_ours and self.message_type in _QUESTIONS_OF_OURS
        )


_QUESTIONS_OF_OURS = (names.REQUESTS[InquiryKind.CANCEL], names.REQUESTS[InquiryKind.RESPONSE])


def about(document: Document) -> About:
    """What is known of the sender of a document that could be read."""
    content = document.content
    hop = document.routing[-1] if document.routing else None
    header = content if isinstance(content, Message) else content.header
    return About(
        message_type_of(content),
        header.agreement_id,
        header.from_ids,
        header.message_id,
        header.conversation_id,
        None if hop is None else hop.sender_uri,
        None if hop is None else hop.receiver_uri,
        None if hop is None else hop.error_uri,
        document.profile,
        header.ref_to_message_id,
        _wants_sync_reply(content, document.profile),
    )


def _wants_sync_reply(content: Content, profile: Profile) -> bool:
    if not isinstance(content, Message):
        return content.header.wants_sync_reply
    # Where a header says what it wants in the answer, errors have an address of their own.
    is_asked = content.sync_reply_mode not in (None, SyncReplyMode.NONE)
    return is_asked and not profile.header_names_semantics


def message_type_of(content: Content) -> str:
    """The one word for what `content` is: MessageType in `rm-2000`."""
    match content:
        case Message():
            return names.NORMAL
        case Acknowledgment():
            return names.RECEIPT if content.is_receipt else names.ACKNOWLEDGEMENT
        case ErrorSignal():
            return names.ERROR
        case Inquiry():
            return names.REQUESTS[content.kind]
    return names.REPORTS[content.kind]
