"""Report 5: expected against acknowledged, in bins of the time of sending."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    share,
)

DEFINITION: Final = Definition(
    "promise",
    5,
    "one row per bin of the first transmission and pair",
    "of what was sent then, how much is acknowledged, handed over, eliminated or open by now",
    (
        instant("bin_at", "start of the bin"),
        *PAIR_COLUMNS,
        count("sent", "messages", "first sent in the bin, for which an acknowledgement was agreed"),
        count("acknowledged", "messages", "of them acknowledged, in time or late"),
        count("handed_over", "messages", "of them that reached the receiving application"),
        count(
            "two_sided",
            "messages",
            "of them with both journals in the lake: only these can be known to be handed over",
        ),
        count(
            "settled",
            "messages",
            "of them not acknowledged, and failed, expired or taken back for good",
        ),
        count("eliminated", "copies", "of them eliminated as duplicates"),
        count("unpromised", "messages", "first sent in the bin for which none was agreed"),
        share("completeness_share", "acknowledged of sent"),
    ),
)
