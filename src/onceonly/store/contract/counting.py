"""The words under which every store counts messages."""

from typing import Final

from onceonly.protocol.receiving import InboundStatus
from onceonly.protocol.sending import FINAL, OutboundStatus

COUNTED_AS: Final = {
    InboundStatus.STORED: "stored",
    InboundStatus.HANDED_OVER: "handed_over",
    InboundStatus.FORWARDED: "forwarded",
    InboundStatus.CANCELLED: "cancelled_by_sender",
}
"""The words of inbound messages; `cancelled` is a word of outbound messages."""

WAITING: Final = tuple(status for status in OutboundStatus if status not in FINAL)
"""Statuses of outbound messages that wait for a verdict (R-27)."""

COUNTED: Final = (*(word.value for word in OutboundStatus), *COUNTED_AS.values())
"""Every word of `Snapshot.count_by_status`."""
