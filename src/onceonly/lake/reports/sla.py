"""Report 7, the scorecard: how many messages kept the target of their agreement."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    day,
    duration,
    flag,
    share,
    text,
)

DEFINITION: Final = Definition(
    "sla",
    7,
    "one row per pair, agreement and month of the submission",
    "met and missed, against a target that is given to the report: the journal knows neither "
    "targets nor penalties",
    (
        day("month", "first day of the month"),
        *PAIR_COLUMNS,
        text("agreement_id", "TPAId or CPAId"),
        count(
            "messages",
            "messages",
            "submitted in the month, for which an acknowledgement was agreed",
        ),
        duration("target_us", "longest time from submission to acknowledgement"),
        share("target_share", "how many have to keep it"),
        count("met", "messages", "acknowledged within the target"),
        count(
            "missed",
            "messages",
            "acknowledged later, failed, or still open although the target is over",
        ),
        count("pending", "messages", "open, with time left"),
        count("excused", "messages", "taken back by the sender, which counts for nothing"),
        share("met_share", "met of met and missed"),
        flag("is_kept", "met_share reaches target_share; null where nothing is decided yet"),
        duration("mean_us", "from submission to acknowledgement, mean"),
        duration("p95_us", "19 of 20"),
        duration("worst_us", "longest"),
    ),
)
