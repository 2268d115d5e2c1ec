"""Report 11: where the SequenceNumbers of a pair do not simply go on."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    instant,
    ordinal,
    text,
)

DEFINITION: Final = Definition(
    "sequence_gaps",
    11,
    "one row per number that does not follow the one before it, in either party's journal",
    "missing ranges, resets, wraps, and what arrived out of order; numbers alone never make a"
    " duplicate",
    (
        text("party", "whose journal tells it"),
        text("side", "sending or receiving"),
        *PAIR_COLUMNS,
        text(
            "kind",
            "gap, reset, wrap, back, same, refused or announced (the sender says that it "
            "begins anew)",
        ),
        ordinal("previous_number", "the number before it"),
        ordinal("sequence_number", "the number that came"),
        count("missing", "numbers", "between the two, of a gap"),
        instant("at", "when"),
        text("message_id", "the message that brought it"),
        text("reason", "what stands beside it, in words"),
        ordinal("seq", "number of its row in that journal"),
    ),
)
