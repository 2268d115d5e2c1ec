"""Whether an acknowledgement fits the message that it acknowledges (`ebms2.md` §9.7)."""

from onceonly.explain.reading import Read
from onceonly.message.errors import RemoteError
from onceonly.message.message import AcknowledgmentElement, Message, SignedReference
from onceonly.message.printable import printable
from onceonly.message.signals import Acknowledgment
from onceonly.message.word import Word
from onceonly.wire.document import Content
from onceonly.wire.evidence import references_of
from onceonly.wire.signature import is_evidence


class Comparison(Word):
    """What comes of laying an acknowledgement beside a message."""

    fits: bool
    words: str


def find_element(content: Content) -> AcknowledgmentElement | None:
    """The Acknowledgment of the To Party in a package, alone or beside a business message."""
    if isinstance(content, Message):
        return content.acknowledgment
    return content.element if isinstance(content, Acknowledgment) else None


def compare(read: Read, of: Read) -> Comparison:
    """Lay the acknowledgement in `read` beside the message in `of`."""
    if read.document is None or (element := find_element(read.document.content)) is None:
        return Comparison(fits=False, words="it has no Acknowledgment that could be of the other")
    message = None if of.document is None else of.document.content
    if of.document is None or not isinstance(message, Message):
        return Comparison(fits=False, words="the package beside it is no business message")
    content = read.document.content
    header = content if isinstance(content, Message) else content.header
    about = element.ref_to_message_id or header.ref_to_message_id or ""
    if about != message.message_id:
        words = f"it acknowledges {printable(about)}, and beside it is {message.message_id}"
        return Comparison(fits=False, words=words)
    try:
        wanted = _references(of)
    except RemoteError as error:
        words = f"what the message beside it signs cannot be read: {error.description}"
        return Comparison(fits=False, words=words)
    if is_evidence(wanted, element.references):
        words = f"its References are those of the message {about}: it is about just what was sent"
        return Comparison(fits=True, words=words)
    differences = sorted(_said(wanted) ^ _said(element.references))
    listed = "; ".join(printable(one) for one in differences)
    return Comparison(
        fits=False,
        words=(
            f"its References are not those of the message {about};"
            f" in one of them and not in the other: {listed}"
        ),
    )


def _references(of: Read) -> tuple[SignedReference, ...]:
    assert of.document is not None, "its header was read"
    content = of.document.content if of.envelope is None else of.envelope.content
    assert isinstance(content, Message), "it was looked at"
    header = of.parts.root if of.envelope is None else of.envelope.header
    return references_of(header, content.payloads, of.document.profile)


def _said(references: tuple[SignedReference, ...]) -> set[str]:
    return {
        f"{one.uri or 'the envelope'} {one.digest_value} ({one.digest_method.rpartition('#')[2]})"
        for one in references
    }
