"""Report 17: which errors there were, the most frequent first."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    instant,
    share,
    text,
)

DEFINITION: Final = Definition(
    "error_pareto",
    17,
    "one row per phase, code, party, peer and transport",
    "where errors come from. One failure may show in several phases: a refused transmission, "
    "and later the verdict",
    (
        text("phase", "submit, transmit, answer, arrival, acknowledge or verdict"),
        text("code", "code on the wire, or the transport's: HTTP 503, refused, unknown"),
        text("party", "whose journal tells it"),
        text("peer", "the other party, where the row names it"),
        text("transport", "how it travelled, where the row tells"),
        count("occurrences", "rows", "with it"),
        count("messages", "messages", "that it happened to"),
        instant("first_at", "first time"),
        instant("last_at", "last time"),
        share("phase_share", "of the phase's occurrences"),
        share("cumulative_share", "of the phase's occurrences, with every more frequent one"),
    ),
)
