"""A header document in words: each element and attribute, its value, and where it is specified.

Knows what the names mean, and nothing of what may stand where: that is the profiles' codecs'. The
sections are those of the specification's texts (`seed 000`, `seed 001`, `seed 004`), and of their
assumptions where a text is lost. Tests hold the names against those of the codecs.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from onceonly.message.profile import Profile
from onceonly.message.word import Word
from onceonly.wire import names
from onceonly.wire.xml import WHITE_SPACE, Element

VALUE_LENGTH_MAX: Final = 300
"""Most characters of a value that are shown: an identifier has 255 at most."""

_ENVELOPE: Final = "assumed: the envelope's text is lost"
_ARCHIVE: Final = "the mail archive of the time"
_OURS: Final = "ours: the texts leave it without a word"


class ElementInWords(Word):
    """One element or attribute."""

    path: str
    """`Header/From/PartyId`, and `RoutingHeader/@ackRequested` for an attribute."""
    value: str | None
    """None where it holds other elements alone."""
    words: str
    section: str


Meaning = tuple[str, str]
"""Words and section."""

_PARTY: Final = {
    "From": ("who hands the business message over; in a signal the MSH that speaks", _ARCHIVE),
    "To": ("whom it is for; in a signal the MSH that is spoken to", _ARCHIVE),
    "PartyId": ("a name of that party", _ARCHIVE),
    "PartyId/@type": ("what kind of name it is", _ARCHIVE),
}

_EXTENSION: Final = {
    "AckStatus": (
        "how far the message was looked at before it was acknowledged",
        "seed 004 level 0",
    ),
    "Report": ("the answer to an inquiry, or what is asked", "seed 004 levels 2, 3 and 5"),
}

RM_2000: Final[Mapping[str, Meaning]] = {
    **_PARTY,
    "ebXMLHeader": ("the header document", "seed 000 §2.2.2"),
    "ebXMLHeader/@Version": ("version of the header", _ENVELOPE),
    "ebXMLHeader/@MessageType": (
        "what the message is: Normal is business, all else a signal",
        "seed 000 §2.5.1",
    ),
    "Manifest": ("names every payload part", _ENVELOPE),
    "DocumentReference": ("one payload part", _ENVELOPE),
    "DocumentLabel": ("what people call the document", _ENVELOPE),
    "DocumentId": ("cid: and the Content-ID of its part", _ENVELOPE),
    "DocumentDescription": ("about the document, for people", _ENVELOPE),
    "Header": ("what stays the same from the From party to the To party", "seed 000 §2.2.2"),
    "TPAInfo": ("what was agreed, and what the message is for", _ENVELOPE),
    "TPAId": ("id of the agreement", _ENVELOPE),
    "ConversationId": ("the exchange of documents that it belongs to", _ENVELOPE),
    "ServiceInterface": ("the service at the To party", _ENVELOPE),
    "Action": ("what that service is to do", _ENVELOPE),
    "MessageData": ("what identifies the message", "seed 000 §5.1"),
    "MessageId": ("its identity: a second message with it is a repeat", "seed 000 §5.1"),
    "Timestamp": ("when the message, or this hop of it, was made", "seed 000 §2.4"),
    "RefToMessageId": ("the message that it is about, or answers", "seed 000 §5.1"),
    "ReliableMessagingInfo": ("how reliable its delivery is to be", "seed 000 §2.2.1"),
    "DeliverySemantics": (
        "OnceAndOnlyOnce wants an acknowledgement, BestEffort none",
        "seed 000 §2.2.1",
    ),
    "RoutingHeader": ("one hop; the last one is the hop that brought it", "seed 000 §2.2.2"),
    "SenderURI": ("the MSH that sent it on this hop", "seed 000 §2.2.2"),
    "ReceiverURI": ("the MSH that it was sent to", "seed 000 §2.2.2"),
    "ErrorURI": ("where errors about it go, if the agreement has that address", "seed 000 §2.2.2"),
    "SequenceNumber": (
        "its place among the reliable messages between the two parties",
        "seed 000 §2.2.2, §5.2",
    ),
    "ErrorList": ("what was wrong with the message that it is about", _ENVELOPE),
    "Error": ("one error", _ENVELOPE),
    "Error/@ErrorCode": ("what was wrong, in one word", _ENVELOPE),
    "Error/@Severity": ("Error is final, Warning is not", _ENVELOPE),
    "Description": ("about the error, for people", _ENVELOPE),
    "MinRetrySecs": ("seconds to wait before the next try", "seed 000 §4.2"),
}

RM_2001: Final[Mapping[str, Meaning]] = {
    **_PARTY,
    "ebXMLHeader": ("the header document", "seed 001 §1.2"),
    "ebXMLHeader/@version": ("version of the header", _ENVELOPE),
    "Manifest": ("names every payload part", _ENVELOPE),
    "Reference": ("one payload part", _ENVELOPE),
    "Reference/@href": ("cid: and the Content-ID of its part", _ENVELOPE),
    "Reference/@title": ("what people call the document", _OURS),
    "Reference/@type": ("always simple, as XLink has it", _ENVELOPE),
    "Header": ("what stays the same from the From party to the To party", "seed 001 §1.3.3.1"),
    "CPAId": ("id of the agreement", "seed 001 §1.3.3.1"),
    "ConversationId": ("the exchange of documents that it belongs to", "seed 001 §1.3.3.1"),
    "Service": ("the service at the To party; signals have one of their own", "seed 001 §1.3.3.1"),
    "Action": ("what that service is to do", "seed 001 §1.3.3.1"),
    "MessageData": ("what identifies the message", "seed 001 §1.3"),
    "MessageId": ("its identity: a second message with it is a repeat", "seed 001 §1.3"),
    "Timestamp": ("when the message, this hop or this element was made", "seed 001 §1.3"),
    "RefToMessageId": ("the message that it is about, or answers", "seed 001 §1.3"),
    "TimeToLive": ("after this instant an unknown copy is refused", "seed 001 §1.2.3"),
    "QualityOfServiceInfo": (
        "how it is to be delivered; what is left out is as agreed",
        "seed 001 §1.6",
    ),
    "QualityOfServiceInfo/@deliverySemantics": (
        "OnceAndOnlyOnce wants an acknowledgement, BestEffort none",
        "seed 001 §1.2.1",
    ),
    "QualityOfServiceInfo/@deliveryReceiptRequested": (
        "which receipt of the To party is asked for",
        "seed 001 §2.1.1",
    ),
    "QualityOfServiceInfo/@syncReplyMode": (
        "what is awaited in the answer of the transport",
        "seed 001 §1.2.2",
    ),
    "RoutingHeaderList": ("the hops in their order", _ENVELOPE),
    "RoutingHeader": ("one hop; the last one is the hop that brought it", "seed 001 §1.3.2"),
    "RoutingHeader/@reliableMessagingMethod": (
        "ebXML acknowledges; Transport leaves it to the transport",
        "seed 001 §1.2.4",
    ),
    "RoutingHeader/@ackRequested": (
        "whether this hop is asked for an Acknowledgment element",
        "seed 001 §1.2.5",
    ),
    "SenderURI": ("the MSH that sent it on this hop", "seed 001 §1.3.2"),
    "ReceiverURI": ("the MSH that it was sent to", "seed 001 §1.3.2"),
    "ErrorURI": ("where errors about it go, if the agreement has that address", _ENVELOPE),
    "Acknowledgment": ("acknowledges the message in RefToMessageId", "seed 001 §3.1"),
    "Acknowledgment/@signed": (
        "whether a signature is claimed; here none is offered",
        "seed 001 §3.1",
    ),
    "Acknowledgment/@type": ("has no place here: receipts have a Service", "seed 001 §3.1.3"),
    "ErrorList": ("what was wrong with the message that it is about", "seed 001 §1.6"),
    "ErrorList/@highestSeverity": ("the greatest severity in the list", _ENVELOPE),
    "Error": ("one error", _ENVELOPE),
    "Error/@errorCode": ("what was wrong, in one word", _ENVELOPE),
    "Error/@severity": ("Error is final, Warning is not", _ENVELOPE),
    "Description": ("about the error, for people", _ENVELOPE),
    "MinRetrySecs": ("seconds to wait before the next try", "seed 000 §4.2"),
}

MEANINGS: Final[Mapping[Profile, Mapping[str, Meaning]]] = {
    Profile.RM_2000: RM_2000,
    Profile.RM_2001: RM_2001,
}

_SPELLINGS: Final = {"TimeStamp": "Timestamp"}
_UNKNOWN: Final = ("not a name of this profile: it is skipped", "the rule for extensions")
_UNKNOWN_ATTRIBUTE: Final = ("not an attribute of this profile: it is skipped", _UNKNOWN[1])
_OF_XML: Final = "{http://www.w3.org/XML/1998/namespace}"


def in_words(root: Element, profile: Profile) -> Iterator[ElementInWords]:
    """Every element and attribute of the document, in its order.

    `root` has passed `wire.xml.parse`, so that it is neither deep nor long.
    """
    yield from _walk(root, "", MEANINGS.get(profile, {}))


def _walk(
    element: Element, above: str, meanings: Mapping[str, Meaning]
) -> Iterator[ElementInWords]:
    namespace, _, local = element.tag.removeprefix("{").rpartition("}")
    path = f"{above}/{local}" if above else local
    known = {names.NAMESPACE: meanings, names.EXTENSION: _EXTENSION}.get(namespace, {})
    words, section = known.get(_SPELLINGS.get(local, local), _UNKNOWN)
    text = (element.text or "").strip(WHITE_SPACE)
    yield ElementInWords(path, _cut(text) if text or not len(element) else None, words, section)
    for name, value in element.attrib.items():
        of = name.rpartition("}")[2]
        meaning = known.get(f"{local}/@{of}", _UNKNOWN_ATTRIBUTE)
        if namespace == names.EXTENSION:
            meaning = (words, section)
        elif name.startswith(_OF_XML):
            meaning = ("the language of the text", "XML 1.0")
        yield ElementInWords(f"{path}/@{of}", _cut(value.strip(WHITE_SPACE)), *meaning)
    for child in element:
        yield from _walk(child, path, meanings)


def _cut(value: str) -> str:
    return value if len(value) <= VALUE_LENGTH_MAX else f"{value[:VALUE_LENGTH_MAX]}..."
