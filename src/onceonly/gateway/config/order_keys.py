"""The keys of `[[agreement]]` about the order of conversations, for a profile that has one."""

from onceonly.gateway.config import values as read
from onceonly.gateway.config.key import DURATION, Key, table_of

GUARANTEED, NOT_GUARANTEED = "Guaranteed", "NotGuaranteed"
"""The words of a CPA for its messageOrderSemantics (ebMS 2.0 §9)."""

ORDER_HOLD_MAX = 10_000
"""Most messages that may wait in one conversation: as many places are read at an arrival."""

ORDER_KEYS = table_of(
    Key(
        "message_order",
        read.one_of((GUARANTEED, NOT_GUARANTEED)),
        f"{GUARANTEED}, {NOT_GUARANTEED}",
        "Whether the messages of a conversation are handed over in the order in which they were "
        "sent, or not at all (R-34); a profile with MessageOrder only.",
        default=NOT_GUARANTEED,
        default_text=f'`"{NOT_GUARANTEED}"`',
        section="ebMS 2.0 §9",
    ),
    Key(
        "order_hold_max",
        read.whole(1, ORDER_HOLD_MAX),
        f"a count, 1 to {ORDER_HOLD_MAX}",
        "Most messages of a conversation that wait for an earlier one; the next is refused.",
        default=100,
        default_text="`100`",
        unit="messages",
        section="ebMS 2.0 §9.1.1",
    ),
    Key(
        "order_gap_after",
        read.duration_s,
        DURATION,
        "How long an earlier message may be missing before an incident says so.",
        default_text="the longest time from a first transmission to a verdict",
        unit="s",
        section="ours",
    ),
)
