"""Report 6, acknowledgement turnaround: how long a pair waits for its acknowledgements."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Column,
    Definition,
    count,
    duration,
    share,
)

DEFINITION: Final = Definition(
    "turnaround",
    6,
    "one row per pair that sent messages for which acknowledgements were agreed",
    "quantiles of the time to the acknowledgement, from the first and from the last "
    "transmission, by the sender's own wall clock",
    (
        *PAIR_COLUMNS,
        count("messages", "messages", "sent"),
        count("acknowledged", "messages", "of them acknowledged, in time or late"),
        count(
            "untimed",
            "messages",
            "acknowledged before they were sent: the clock was set back; in no quantile",
        ),
        duration("p50_us", "median from the first transmission"),
        duration("p90_us", "9 of 10 from the first transmission"),
        duration("p95_us", "19 of 20 from the first transmission"),
        duration("p99_us", "99 of 100 from the first transmission"),
        duration("worst_us", "longest from the first transmission"),
        duration("last_p50_us", "median from the last transmission before the judgement"),
        duration("last_p95_us", "19 of 20 from the last transmission"),
        duration("timeout_us", "limit that the next column is about; null where none is known"),
        share(
            "over_timeout_share",
            "of what was sent, not acknowledged within that limit; what is younger counts"
            " for nothing",
        ),
        Column(
            "curve_us",
            "array<bigint>",
            "µs",
            "percentiles 0 to 100 from the first transmission",
        ),
    ),
)
