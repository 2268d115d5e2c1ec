"""Every name and fixed value of the wire forms, one constant each, with its evidence.

The texts that the profiles extend (MS v0.21c and v0.93) could not be read again, so a part of
these values is reconstruction. The tag behind a value says how sure it is: `[S0 §…]` and `[S1 §…]`
stand in seeds 000 and 001, `[LIST]` in the mail archive of the time, `[A n]` is an assumption of
`wire.md` (Part A) that may be changed here and nowhere else, `[ours]` is our own word for what the
texts leave without one.
"""

from typing import Final

from onceonly.message.signals import InquiryKind

NAMESPACE: Final = "http://www.ebxml.org/namespaces/messageHeader"  # [A2]
ROOT: Final = "ebXMLHeader"  # [S0 §2.2.2] [LIST]
VERSION_2000: Final = "0.21"  # [A1]
VERSION_2001: Final = "0.93"  # [A13]
VERSION_ATTRIBUTE_2000: Final = "Version"  # [A3]
VERSION_ATTRIBUTE_2001: Final = "version"  # [A13]

PACKAGE_TYPE: Final = "multipart/related"  # [LIST]
HEADER_TYPE: Final = "application/vnd.eb+xml"  # [LIST]
CONTENT_ID_SCHEME: Final = "cid:"  # [A7]

# --- What a message is --------------------------------------------------------------------------

NORMAL: Final = "Normal"  # [S0 §2.5.1]
ACKNOWLEDGEMENT: Final = "Acknowledgement"  # [S0 §2.5.1]
ERROR: Final = "Error"  # [A4]
RECEIPT: Final = "DeliveryReceipt"  # [S1 §2.1.1.2]; rm-2001 alone has it
PING: Final = "Ping"  # [ours], the word of ebMS 2.0

REQUESTS: Final = {  # [ours]: the first two are words of ebMS 2.0
    InquiryKind.PING: PING,
    InquiryKind.STATUS: "StatusRequest",
    InquiryKind.CANCEL: "CancelRequest",
    InquiryKind.RESPONSE: "ResponseRequest",
}
REPORTS: Final = {  # [ours]: the first two are words of ebMS 2.0
    InquiryKind.PING: "Pong",
    InquiryKind.STATUS: "StatusResponse",
    InquiryKind.CANCEL: "CancelResponse",
    InquiryKind.RESPONSE: "ResponseNotice",
}
REQUEST_KINDS: Final = {word: kind for kind, word in REQUESTS.items()}
REPORT_KINDS: Final = {word: kind for kind, word in REPORTS.items()}

MESSAGE_TYPES: Final = {
    NORMAL: NORMAL,
    ACKNOWLEDGEMENT: ACKNOWLEDGEMENT,
    ERROR: ERROR,
    "ErrorMessage": ERROR,  # [A4] read, never written
    "Exception": ERROR,  # [A4] read, never written
    **{word: word for word in (*REQUEST_KINDS, *REPORT_KINDS)},
}
"""The values of MessageType in `rm-2000`, and what each means."""

SERVICE_STEM: Final = "http://www.ebxml.org/namespaces/messageService/"
"""[S1 §1.3.3.1]; what it begins is no business message."""

ACKNOWLEDGMENT_ACTION: Final = (  # [S1 §1.3.3.1 10-11]
    f"{SERVICE_STEM}MessageAcknowledgment",
    "Acknowledgment",
)
ERROR_ACTION: Final = (f"{SERVICE_STEM}MessageError", "MessageError")  # [A13]
RECEIPT_ACTION: Final = (f"{SERVICE_STEM}MessageDeliveryReceipt", RECEIPT)  # [ours]
INQUIRY_SERVICES: Final = {  # [ours]; seed 001 §1.1.1 names a Message Status Request
    InquiryKind.PING: f"{SERVICE_STEM}MessageAvailability",
    InquiryKind.STATUS: f"{SERVICE_STEM}MessageStatus",
    InquiryKind.CANCEL: f"{SERVICE_STEM}MessageCancellation",
    InquiryKind.RESPONSE: f"{SERVICE_STEM}MessageResponse",
}

ACTIONS: Final = {
    ACKNOWLEDGMENT_ACTION: ACKNOWLEDGEMENT,
    (ACKNOWLEDGMENT_ACTION[0], ACKNOWLEDGEMENT): ACKNOWLEDGEMENT,  # [Part C row 2] read only
    ERROR_ACTION: ERROR,
    RECEIPT_ACTION: RECEIPT,
    **{(INQUIRY_SERVICES[kind], word): word for kind, word in REQUESTS.items()},
    **{(INQUIRY_SERVICES[kind], word): word for kind, word in REPORTS.items()},
}
"""Service and Action of `rm-2001` under `SERVICE_STEM`, and what each pair means."""

# --- The header document of rm-2000 -------------------------------------------------------------

CHILDREN_2000: Final = {
    # Children in their order. Both spellings of Timestamp share a place [S0 §2.3, A3 row 3].
    ROOT: (
        ("Manifest",),  # [A7]
        ("Header",),  # [S0 §2.2.2]
        ("RoutingHeader",),  # [S0 §2.2.2]
        ("ErrorList",),  # [A8]
        ("ReliableMessagingInfo",),  # [S0 §2.2.1, A3 row 2] read here, written inside Header
    ),
    "Manifest": (("DocumentReference",),),  # [A7]
    "DocumentReference": (  # [A7]
        ("DocumentLabel",),
        ("DocumentId",),
        ("DocumentDescription",),
    ),
    "Header": (  # [S0 §2.2.2], TPAInfo [A5]
        ("From",),
        ("To",),
        ("TPAInfo",),
        ("MessageData",),
        ("ReliableMessagingInfo",),
    ),
    "From or To": (("PartyId",),),  # [LIST]
    "TPAInfo": (  # [A5]
        ("TPAId",),
        ("ConversationId",),
        ("ServiceInterface",),
        ("Action",),
    ),
    "MessageData": (  # [S0 §5.1]
        ("MessageId",),
        ("Timestamp", "TimeStamp"),
        ("RefToMessageId",),
    ),
    "ReliableMessagingInfo": (("DeliverySemantics",),),  # [S0 §2.2.1]
    "RoutingHeader": (  # [S0 §2.2.2, §2.3]
        ("SenderURI",),
        ("ReceiverURI",),
        ("ErrorURI",),
        ("Timestamp", "TimeStamp"),
        ("SequenceNumber",),
    ),
    "ErrorList": (("Error",),),  # [A8]
    "Error": (("Description",), ("MinRetrySecs",)),  # [A8], MinRetrySecs [S0 §4.2]
}

# --- The header document of rm-2001 -------------------------------------------------------------

XLINK: Final = "http://www.w3.org/1999/xlink"  # [A13]
HREF: Final = f"{{{XLINK}}}href"  # [A13]
TITLE: Final = f"{{{XLINK}}}title"  # [ours]: XLink's own attribute for a label that people read

CHILDREN_2001: Final = {
    ROOT: (
        ("Manifest",),  # [A7]
        ("Header",),
        ("RoutingHeaderList",),  # [A13]
        ("Acknowledgment",),  # [S1 §3.1]
        ("ErrorList",),  # [A13]
    ),
    "Manifest": (("Reference",),),  # [A13]
    "Reference": (),
    "Header": (  # [S1 §1.3.3.1], their order [A13]
        ("From",),
        ("To",),
        ("CPAId",),
        ("ConversationId",),
        ("Service",),
        ("Action",),
        ("MessageData",),
        ("QualityOfServiceInfo",),  # [S1 §1.6]
    ),
    "From or To": (("PartyId",),),  # [LIST]
    "MessageData": (  # [S1 §1.3]
        ("MessageId",),
        ("Timestamp",),
        ("RefToMessageId",),
        ("TimeToLive",),  # [S1 §1.2.3], its place as in ebMS 2.0 [ours]
    ),
    "QualityOfServiceInfo": (),
    "RoutingHeaderList": (("RoutingHeader",),),  # [A13]
    "RoutingHeader": (  # [S1 §1.3.2]
        ("SenderURI",),
        ("ReceiverURI",),
        ("ErrorURI",),  # [A5: names through the versions], optional
        ("Timestamp",),
    ),
    "Acknowledgment": (("Timestamp",), ("From",)),  # [S1 §3.1]
    "ErrorList": (("Error",),),  # [S1 §1.6]
    "Error": (("Description",), ("MinRetrySecs",)),  # [A13], MinRetrySecs [S0 §4.2]
}
# Attributes of QualityOfServiceInfo. Seed 001 says of the last two only that they may be in the
# header (§1.2.2, §2.1.1.1); ebMS 1.0 has the receipt here, so both are put side by side.
DELIVERY_SEMANTICS: Final = "deliverySemantics"  # [S1 §1.6]
DELIVERY_RECEIPT_REQUESTED: Final = "deliveryReceiptRequested"  # [ours]
SYNC_REPLY_MODE: Final = "syncReplyMode"  # [ours]
# Attributes of RoutingHeader.
RELIABLE_MESSAGING_METHOD: Final = "reliableMessagingMethod"  # [A13]
ACK_REQUESTED: Final = "ackRequested"  # [S1 §1.3.3.1]

# --- What we add to both ------------------------------------------------------------------------

EXTENSION: Final = "urn:onceonly:extension"  # [ours]; others skip it [A12]
ACK_STATUS: Final = "AckStatus"  # [ours], seed 004 level 0
REPORT: Final = "Report"  # [ours], seed 004 levels 2, 3 and 5
