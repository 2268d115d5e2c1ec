"""Report 22: what purges have taken."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    day,
    text,
)

DEFINITION: Final = Definition(
    "purges",
    22,
    "one row per party, day and kind of what was forgotten",
    "how many rows the gateway forgot; which ones is not in the journal",
    (
        text("party", "whose store"),
        day("day", "of the purge"),
        text(
            "what",
            "in the gateway's words: received, sent under an agreement, files of the spool",
        ),
        count("forgotten", "rows or files", "in all"),
        count("steps", "transactions", "in which"),
    ),
)
