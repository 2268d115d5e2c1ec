"""Names and fixed values of `rm-2000` only, with the tags of `wire.names`."""

from typing import Final

from onceonly.wire import names

VERSION: Final = "0.21"  # [A1]
VERSION_ATTRIBUTE: Final = "Version"  # [A3]

MESSAGE_TYPES: Final = {
    names.NORMAL: names.NORMAL,
    names.ACKNOWLEDGEMENT: names.ACKNOWLEDGEMENT,
    names.ERROR: names.ERROR,
    "ErrorMessage": names.ERROR,  # [A4] read, never written
    "Exception": names.ERROR,  # [A4] read, never written
    **{word: word for word in (*names.REQUEST_KINDS, *names.REPORT_KINDS)},
}
"""The values of MessageType in `rm-2000`, and what each means."""

CHILDREN: Final = {
    # Children in their order. Both spellings of Timestamp share a place [S0 §2.3, A3 row 3].
    names.ROOT: (
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
