"""Names and fixed values of `rm-2001` only, with the tags of `wire.names`."""

from typing import Final

from onceonly.message.signals import InquiryKind
from onceonly.wire import names

VERSION: Final = "0.93"  # [A13]
VERSION_ATTRIBUTE: Final = "version"  # [A13]

ACKNOWLEDGMENT_ACTION: Final = (  # [S1 §1.3.3.1 10-11]
    f"{names.SERVICE_STEM}MessageAcknowledgment",
    "Acknowledgment",
)
ERROR_ACTION: Final = (f"{names.SERVICE_STEM}MessageError", "MessageError")  # [A13]
RECEIPT_ACTION: Final = (f"{names.SERVICE_STEM}MessageDeliveryReceipt", names.RECEIPT)  # [ours]
INQUIRY_SERVICES: Final = {  # [ours]; seed 001 §1.1.1 names a Message Status Request
    InquiryKind.PING: f"{names.SERVICE_STEM}MessageAvailability",
    InquiryKind.STATUS: f"{names.SERVICE_STEM}MessageStatus",
    InquiryKind.CANCEL: f"{names.SERVICE_STEM}MessageCancellation",
    InquiryKind.RESPONSE: f"{names.SERVICE_STEM}MessageResponse",
}

ACTIONS: Final = {
    ACKNOWLEDGMENT_ACTION: names.ACKNOWLEDGEMENT,
    # [Part C row 2] The other spelling is read only.
    (ACKNOWLEDGMENT_ACTION[0], names.ACKNOWLEDGEMENT): names.ACKNOWLEDGEMENT,
    ERROR_ACTION: names.ERROR,
    RECEIPT_ACTION: names.RECEIPT,
    **{(INQUIRY_SERVICES[kind], word): word for kind, word in names.REQUESTS.items()},
    **{(INQUIRY_SERVICES[kind], word): word for kind, word in names.REPORTS.items()},
}
"""Service and Action of `rm-2001` under `SERVICE_STEM`, and what each pair means."""

XLINK: Final = "http://www.w3.org/1999/xlink"  # [A13]
HREF: Final = f"{{{XLINK}}}href"  # [A13]
TITLE: Final = f"{{{XLINK}}}title"  # [ours]: XLink's own attribute for a label that people read

CHILDREN: Final = {
    names.ROOT: (
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
