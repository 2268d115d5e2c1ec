"""Every name and fixed value of the wire forms, one constant each, with its evidence.

The text that `rm-2000` extends (MS v0.21c) could not be read again, so a part of these values is
reconstruction. The tag behind a value says how sure it is: `[S0 §…]` stands in seed 000, `[LIST]`
in the mail archive of the time, `[A n]` is an assumption that may be changed here and nowhere
else (`wire.md`, Part A2).
"""

from typing import Final

NAMESPACE: Final = "http://www.ebxml.org/namespaces/messageHeader"  # [A2]
ROOT: Final = "ebXMLHeader"  # [S0 §2.2.2] [LIST]
VERSION: Final = "0.21"  # [A1]
VERSION_MAJOR: Final = "0"  # [A1]; every draft before SOAP was 0.x

PACKAGE_TYPE: Final = "multipart/related"  # [LIST]
HEADER_TYPE: Final = "application/vnd.eb+xml"  # [LIST]
CONTENT_ID_SCHEME: Final = "cid:"  # [A7]

NORMAL: Final = "Normal"  # [S0 §2.5.1]
ACKNOWLEDGEMENT: Final = "Acknowledgement"  # [S0 §2.5.1]
ERROR: Final = "Error"  # [A4]

MESSAGE_TYPES: Final = {
    NORMAL: NORMAL,
    ACKNOWLEDGEMENT: ACKNOWLEDGEMENT,
    ERROR: ERROR,
    "ErrorMessage": ERROR,  # [A4] read, never written
    "Exception": ERROR,  # [A4] read, never written
}

# Children in their order. Both spellings of Timestamp share a place [S0 §2.3, A3 row 3].
ROOT_CHILDREN: Final = (
    ("Manifest",),  # [A7]
    ("Header",),  # [S0 §2.2.2]
    ("RoutingHeader",),  # [S0 §2.2.2]
    ("ErrorList",),  # [A8]
    ("ReliableMessagingInfo",),  # [S0 §2.2.1, A3 row 2] read here, written inside Header
)
MANIFEST_CHILDREN: Final = (("DocumentReference",),)  # [A7]
DOCUMENT_REFERENCE_CHILDREN: Final = (  # [A7]
    ("DocumentLabel",),
    ("DocumentId",),
    ("DocumentDescription",),
)
HEADER_CHILDREN: Final = (  # [S0 §2.2.2], TPAInfo [A5]
    ("From",),
    ("To",),
    ("TPAInfo",),
    ("MessageData",),
    ("ReliableMessagingInfo",),
)
PARTY_CHILDREN: Final = (("PartyId",),)  # [LIST]
TPA_INFO_CHILDREN: Final = (  # [A5]
    ("TPAId",),
    ("ConversationId",),
    ("ServiceInterface",),
    ("Action",),
)
MESSAGE_DATA_CHILDREN: Final = (  # [S0 §5.1]
    ("MessageId",),
    ("Timestamp", "TimeStamp"),
    ("RefToMessageId",),
)
RELIABLE_MESSAGING_INFO_CHILDREN: Final = (("DeliverySemantics",),)  # [S0 §2.2.1]
ROUTING_HEADER_CHILDREN: Final = (  # [S0 §2.2.2, §2.3]
    ("SenderURI",),
    ("ReceiverURI",),
    ("ErrorURI",),
    ("Timestamp", "TimeStamp"),
    ("SequenceNumber",),
)
ERROR_LIST_CHILDREN: Final = (("Error",),)  # [A8]
ERROR_CHILDREN: Final = (("Description",), ("MinRetrySecs",))  # [A8], MinRetrySecs [S0 §4.2]
