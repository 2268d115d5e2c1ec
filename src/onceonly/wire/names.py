"""Every name and fixed value that the wire forms share, one constant each, with its evidence.

Names of one form only are in the `names` of its folder, with the same tags.

The texts that the profiles extend (MS v0.21c and v0.93) could not be read again, so some of these
values are reconstructed. The tag after a value says how sure it is: `[S0 §…]` and `[S1 §…]` are
written in seeds 000 and 001, `[LIST]` in the mail archive of the time; `[A n]` is an assumption of
`wire.md` (Part A), which may be changed here and nowhere else; `[ours]` is our own word for
something that the texts do not name.
"""

from typing import Final

from onceonly.message.signals import InquiryKind

NAMESPACE: Final = "http://www.ebxml.org/namespaces/messageHeader"  # [A2]
ROOT: Final = "ebXMLHeader"  # [S0 §2.2.2] [LIST]

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

SERVICE_STEM: Final = "http://www.ebxml.org/namespaces/messageService/"
"""[S1 §1.3.3.1]; a Service that begins with it is not that of a business message."""

# --- What we add to every form ------------------------------------------------------------------

EXTENSION: Final = "urn:onceonly:extension"  # [ours]; others skip it [A12]
ACK_STATUS: Final = "AckStatus"  # [ours], seed 004 level 0
REPORT: Final = "Report"  # [ours], seed 004 levels 2, 3 and 5
