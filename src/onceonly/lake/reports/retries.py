"""Report 8: what first tries and retries are worth."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    ordinal,
    share,
    size,
)

DEFINITION: Final = Definition(
    "retries",
    8,
    "one row per pair and number of a transmission",
    "how many messages got that far, and how many were acknowledged before the next one was "
    "begun. An acknowledgement counts for the last transmission before it, though an earlier "
    "one may have caused it",
    (
        *PAIR_COLUMNS,
        ordinal("transmission", "1 for the first try; the count goes on after a resume"),
        count(
            "reached",
            "messages",
            "sent at least that often, and acknowledged, given up or sent again since",
        ),
        count("acknowledged", "messages", "acknowledged while it was the last transmission"),
        count(
            "needless",
            "messages",
            "of them whose receiver had an earlier copy already: it eliminated one",
        ),
        count("given_up", "messages", "that ended without an acknowledgement at that number"),
        count(
            "waiting",
            "messages",
            "for which it is the last one so far, and no end is known; not in reached",
        ),
        share("effectiveness_share", "acknowledged of reached"),
        size(
            "payload_bytes",
            "payload bytes that these transmissions carried, the waiting ones too",
        ),
    ),
)
