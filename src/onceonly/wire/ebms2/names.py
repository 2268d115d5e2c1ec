"""Names and fixed values of `ebms-2.0` only.

All of them are those of the OASIS schema `msg-header-2_0.xsd` (version 2.0c), or of the standard's
text where a comment names a section (`wire.md` Part B).
"""

from typing import Final

from onceonly.message.errors import ErrorCode
from onceonly.wire import names

NAMESPACE: Final = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"
XLINK: Final = "http://www.w3.org/1999/xlink"
SIGNATURE_NAMESPACE: Final = "http://www.w3.org/2000/09/xmldsig#"
SCHEMA_LOCATION: Final = (  # recommended, and never read
    "http://schemas.xmlsoap.org/soap/envelope/"
    " http://www.oasis-open.org/committees/ebxml-msg/schema/envelope.xsd"
    f" {NAMESPACE} {NAMESPACE}"
)
HEADER_TYPE: Final = "text/xml"  # §2.1.2
VERSION: Final = "2.0"

SERVICE: Final = "urn:oasis:names:tc:ebxml-msg:service"  # §3.1.4
"""The Service of signals; no business message has it."""
CODE_CONTEXT: Final = "urn:oasis:names:tc:ebxml-msg:service:errors"  # §4.2.3.2.2

ACKNOWLEDGMENT_ACTION: Final = "Acknowledgment"  # §6.3.2
ERROR_ACTION: Final = "MessageError"  # §4.2.4.3
ACTIONS: Final = {
    ACKNOWLEDGMENT_ACTION: names.ACKNOWLEDGEMENT,
    ERROR_ACTION: names.ERROR,
    **{action: action for action in names.REQUESTS.values()},  # §8, §7
    **{action: action for action in names.REPORTS.values()},
}
"""The Actions of `SERVICE`, and what each means. Two questions and their answers are ours: another
MSH answers them with NotSupported, as it does each Action that it does not know."""

CODES: Final = {  # §4.2.3.4
    code.value: code
    for code in (
        ErrorCode.VALUE_NOT_RECOGNIZED,
        ErrorCode.NOT_SUPPORTED,
        ErrorCode.INCONSISTENT,
        ErrorCode.OTHER_XML,
        ErrorCode.DELIVERY_FAILURE,
        ErrorCode.TIME_TO_LIVE_EXPIRED,
        ErrorCode.SECURITY_FAILURE,
        ErrorCode.MIME_PROBLEM,
        ErrorCode.UNKNOWN,
    )
}
"""The codes that the standard has. Others of ours are told as Unknown."""

HEADER_BLOCKS: Final = (
    "MessageHeader",
    "MessageOrder",
    "AckRequested",
    "SyncReply",
    "Acknowledgment",
    "ErrorList",
)
"""The blocks of the Header, in the order in which we write them."""
HOP_BLOCKS: Final = frozenset({"AckRequested", "SyncReply", "Acknowledgment"})
"""The blocks that may be for the next MSH, outside of the signature (R-32)."""
BODY_ELEMENTS: Final = ("Manifest", "StatusRequest", "StatusResponse")

CHILDREN: Final = {
    "MessageHeader": (
        ("From",),
        ("To",),
        ("CPAId",),
        ("ConversationId",),
        ("Service",),
        ("Action",),
        ("MessageData",),
        ("DuplicateElimination",),
        ("Description",),
    ),
    "From or To": (("PartyId",), ("Role",)),
    "MessageData": (("MessageId",), ("Timestamp",), ("RefToMessageId",), ("TimeToLive",)),
    "MessageOrder": (("SequenceNumber",),),
    "AckRequested": (),
    "SyncReply": (),
    "Acknowledgment": (("Timestamp",), ("RefToMessageId",), ("From",)),
    "ErrorList": (("Error",),),
    "Error": (("Description",),),
    "Manifest": (("Reference",),),
    "Reference": (("Schema",), ("Description",)),
    "Schema": (),
    "StatusRequest": (("RefToMessageId",),),
    "StatusResponse": (("RefToMessageId",), ("Timestamp",)),
}


def own(name: str) -> str:
    """The tag of an element, or the key of an attribute, of the standard's namespace."""
    return f"{{{NAMESPACE}}}{name}"


HREF: Final = f"{{{XLINK}}}href"
ROLE: Final = f"{{{XLINK}}}role"
TITLE: Final = f"{{{XLINK}}}title"
"""[ours]: XLink's attribute for a label that people read; others ignore it."""
