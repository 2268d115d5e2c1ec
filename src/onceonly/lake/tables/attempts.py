"""Every transmission of anything: the raw material of retry, availability and error reports."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    duration,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "attempts",
    None,
    "one row per transmission: of a message, an acknowledgement, an error, an inquiry, a "
    "report, a receipt, a notice, or an intermediary's copy",
    "what the transport knew about it; accepted is not acknowledged. Of messages the "
    "beginning is known too, and one that a crash cut off has no end",
    (
        text("party", "who transmitted"),
        *KEY_COLUMNS,
        text("what", "message, acknowledgement, error, inquiry, report, receipt, notice or copy"),
        text("peer", "the other end: the partner, or of an intermediary's the next address"),
        ordinal("attempt", "number of the transmission; begins again at 1 after a resume"),
        instant("began_at", "its first byte may have left; null where only the end is journalled"),
        instant("ended_at", "it ended; null where a crash cut it off, or it is still under way"),
        duration("took_us", "from beginning to end, by the clock that never jumps"),
        text("outcome", "accepted, refused or unknown; null where it has no end"),
        ordinal("status_code", "HTTP status or SMTP reply, where there was one"),
        text("transport", "how it travelled"),
        text("endpoint", "where it was posted"),
        text("agreement_id", "TPAId or CPAId"),
        ordinal("hop", "which hop transmitted, where an intermediary did"),
        text("reason", "what the transport said, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)
