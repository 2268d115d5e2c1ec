"""Report 2, the in-doubt register: every message whose fate its sender does not know."""

from typing import Final

from onceonly.lake.tables.definition import (
    KEY_COLUMNS,
    Definition,
    count,
    duration,
    instant,
    size,
    text,
)

DEFINITION: Final = Definition(
    "in_doubt",
    2,
    "one row per outbound message that was sent, that nobody acknowledged or refused, and "
    "whose sender has given up waiting",
    "what is open, for how long, what evidence there is, and the one thing to do about it",
    (
        *KEY_COLUMNS,
        text("agreement_id", "TPAId or CPAId"),
        instant("submitted_at", "accepted from the application"),
        instant("first_sent_at", "first transmission began"),
        instant("last_sent_at", "last transmission began"),
        instant("in_doubt_since_at", "the retries were used up, or the application was told"),
        duration("age_us", "since then, at the instant of judgement"),
        text("age_bucket", "that, in classes"),
        count("transmissions", "transmissions", "that began"),
        count("sends_refused", "transmissions", "of which the transport says that they failed"),
        size("sent_bytes", "size of the payloads"),
        text("last_answer", "what the partner last said about it; null where nothing"),
        instant("last_answer_at", "when"),
        text("partner_evidence", "stored, not stored, or no journal of the partner in the lake"),
        text("verdict", "the message's class"),
        text("suggested_action", "what to do next; resending the same message is always safe"),
    ),
)
