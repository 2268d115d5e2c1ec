"""The short way to read a header document: when it is, byte for byte, in our writer's layout.

Most documents that a gateway meets were written by another one of its kind. One regular
expression made from the writer's layout reads such a document ten times faster than a tree does;
everything else, and everything that is refused, goes the long way through `xml` and `reading`,
so that there is one place that says what is wrong. A property test holds both ways to the same
answer.

Must know nothing that `reading` does not: no value is legal here that is not legal there.
"""

import re
from datetime import datetime
from typing import Final

from onceonly.message.errors import RemoteError
from onceonly.message.identity import PartyId, checked_text, is_uri
from onceonly.message.instant import from_datetime
from onceonly.message.message import DeliverySemantics, Message, RoutingHeader
from onceonly.message.profile import Profile
from onceonly.message.signals import Acknowledgment, SignalHeader
from onceonly.wire import names
from onceonly.wire.document import Document
from onceonly.wire.limits import Limits
from onceonly.wire.mime import is_content_id
from onceonly.wire.rm2000 import names as own

ELEMENTS: Final = 32
"""More than a document of this layout has; limits below it are for the long way to enforce."""

# Text that stands for itself: no markup, no reference, nothing that XML or a line end changes.
_TEXT = "[^<>&\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff\\ufffe\\uffff]"
_WORD = "[^<>&\\s\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff\\ufffe\\uffff]"
# Hour 24 is for the long way, although newer versions of `fromisoformat` take it.
_TIME = r"[0-9]{8}T(?:[01][0-9]|2[0-3])[0-9]{4}\.[0-9]{3}Z"


def _layout(message_type: str, manifest: str, service: str, tail: str, number: str) -> str:
    """The pattern of a document; its literals are those of `writing`."""
    lines = [
        re.escape('<?xml version="1.0" encoding="UTF-8"?>'),
        re.escape(
            f'<{names.ROOT} xmlns="{names.NAMESPACE}"'
            f' {own.VERSION_ATTRIBUTE}="{own.VERSION}" MessageType="{message_type}">'
        ),
        f"{manifest}  <Header>",
        f"    <From><PartyId>(?P<from_id>{_WORD}+)</PartyId></From>",
        f"    <To><PartyId>(?P<to_id>{_WORD}+)</PartyId></To>",
        "    <TPAInfo>",
        f"      <TPAId>(?P<tpa>{_WORD}+)</TPAId>",
        f"      <ConversationId>(?P<conversation>{_WORD}+)</ConversationId>",
        service,
        "    </TPAInfo>",
        "    <MessageData>",
        f"      <MessageId>(?P<message_id>{_WORD}+)</MessageId>",
        f"      <Timestamp>(?P<timestamp>{_TIME})</Timestamp>",
        f"{tail}    </MessageData>",
        "    <ReliableMessagingInfo>",
        "      <DeliverySemantics>(?P<semantics>OnceAndOnlyOnce|BestEffort)</DeliverySemantics>",
        "    </ReliableMessagingInfo>",
        "  </Header>",
        "  <RoutingHeader>",
        f"    <SenderURI>(?P<sender>{_WORD}+)</SenderURI>",
        f"    <ReceiverURI>(?P<receiver>{_WORD}+)</ReceiverURI>",
        f"    <ErrorURI>(?P<error>{_WORD}+)</ErrorURI>",
        f"    <Timestamp>(?P<routed>{_TIME})</Timestamp>",
        f"{number}  </RoutingHeader>",
        f"</{names.ROOT}>\r\n",
    ]
    return "\r\n".join(lines)


_REFERENCE = f"      <RefToMessageId>(?P<reference>{_WORD}+)</RefToMessageId>\r\n"
_MANIFEST = (
    "(?:  <Manifest>\r\n    <DocumentReference>\r\n"
    f"(?:      <DocumentLabel>(?P<label>{_TEXT}+)</DocumentLabel>\r\n)?"
    f"      <DocumentId>{names.CONTENT_ID_SCHEME}(?P<content_id>{_WORD}+)</DocumentId>\r\n"
    "    </DocumentReference>\r\n  </Manifest>\r\n)?"
)
_SERVICE = (
    f"      <ServiceInterface>(?P<service>{_TEXT}+)</ServiceInterface>\r\n"
    f"      <Action>(?P<action>{_TEXT}+)</Action>"
)
_NO_SERVICE = "      <ServiceInterface/>\r\n      <Action/>"
_NUMBER = "(?:    <SequenceNumber>(?P<number>[0-9]{9})</SequenceNumber>\r\n)?"

_NORMAL = re.compile(_layout(names.NORMAL, _MANIFEST, _SERVICE, f"(?:{_REFERENCE})?", _NUMBER))
_ACKNOWLEDGEMENT = re.compile(_layout(names.ACKNOWLEDGEMENT, "", _NO_SERVICE, _REFERENCE, ""))


def find(header: bytes, charset: str | None, limits: Limits) -> Document | None:
    """What `reading.read` would make of the document, or None where the long way has to tell."""
    if charset != "utf-8" or min(limits.elements_max, limits.depth_max) < ELEMENTS:
        return None
    try:
        text = header.decode()
        found = _NORMAL.fullmatch(text)
        if found is not None:
            return _normal(found)
        found = _ACKNOWLEDGEMENT.fullmatch(text)
        return None if found is None else _acknowledgement(found)
    except (RemoteError, ValueError):
        return None


def _normal(found: re.Match[str]) -> Document | None:
    (
        label,
        content_id,
        from_id,
        to_id,
        tpa,
        conversation,
        service,
        action,
        message_id,
        timestamp,
        reference,
        semantics,
        sender,
        receiver,
        error,
        routed,
        number,
    ) = found.groups()
    is_reliable = semantics == "OnceAndOnlyOnce"
    if is_reliable and number is None:
        return None
    if content_id is not None and not is_content_id(content_id):
        return None
    message = Message(
        message_id=message_id,
        from_ids=(PartyId(from_id),),
        to_ids=(PartyId(to_id),),
        agreement_id=tpa,
        conversation_id=conversation,
        service=service,
        action=action,
        timestamp_at=_instant(timestamp),
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE
        if is_reliable
        else DeliverySemantics.BEST_EFFORT,
        ref_to_message_id=reference,
    )
    labels = {} if content_id is None else {content_id: checked_text(label or "", "DocumentLabel")}
    hop = _hop(sender, receiver, error, routed, number)
    return Document(message, (hop,), labels, Profile.RM_2000)


def _acknowledgement(found: re.Match[str]) -> Document:
    from_id, to_id, tpa, conversation, message_id, timestamp, reference = found.groups()[:7]
    sender, receiver, error, routed = found.groups()[8:]
    header = SignalHeader(
        message_id=message_id,
        from_ids=(PartyId(from_id),),
        to_ids=(PartyId(to_id),),
        agreement_id=tpa,
        conversation_id=conversation,
        timestamp_at=_instant(timestamp),
        ref_to_message_id=reference,
    )
    hop = _hop(sender, receiver, error, routed, None)
    return Document(Acknowledgment(header), (hop,), {}, Profile.RM_2000)


def _hop(sender: str, receiver: str, error: str, routed: str, number: str | None) -> RoutingHeader:
    if not (is_uri(sender) and is_uri(receiver) and is_uri(error)) or number == "000000000":
        raise ValueError("for the long way to name")
    return RoutingHeader(
        sender_uri=sender,
        receiver_uri=receiver,
        error_uri=error,
        timestamp_at=_instant(routed),
        sequence_number=None if number is None else int(number),
    )


def _instant(text: str) -> int:
    return from_datetime(datetime.fromisoformat(text))
