"""What reading a package and its header document gives, whichever profile they are of."""

from typing import Protocol

from onceonly.message.identity import PartyId
from onceonly.message.message import Message, RoutingHeader
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, ErrorSignal, Inquiry, Signal
from onceonly.message.word import Word
from onceonly.wire import names

Content = Message | Signal
"""What a package is: a business message or one of the signals."""


class Document(Word):
    """An `ebXMLHeader` that was read; its payloads are only named yet."""

    content: Content
    routing: tuple[RoutingHeader, ...]
    labels: dict[str, str]
    """Label by content id, one entry for every document that the Manifest names."""
    profile: Profile


class PayloadSink(Protocol):
    """Where the bytes of one payload go."""

    def write(self, data: bytes, /) -> None:
        """Take the next bytes, never none."""
        ...

    def close(self) -> tuple[int, str]:
        """Called once, after the last byte: their number and hexadecimal SHA-256."""
        ...


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


def about(document: Document) -> About:
    """What is known of the sender of a document that could be read."""
    content, hop = document.content, document.routing[-1]
    header = content if isinstance(content, Message) else content.header
    return About(
        message_type_of(content),
        header.agreement_id,
        header.from_ids,
        header.message_id,
        header.conversation_id,
        hop.sender_uri,
        hop.receiver_uri,
        hop.error_uri,
        document.profile,
        header.ref_to_message_id,
    )


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
