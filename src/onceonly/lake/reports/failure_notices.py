"""Report 12: failures against the notices that their applications got."""

from typing import Final

from onceonly.lake.tables.definition import (
    PAIR_COLUMNS,
    Definition,
    count,
    day,
    duration,
)

DEFINITION: Final = Definition(
    "failure_notices",
    12,
    "one row per pair and day of the submission with failures or notices",
    "whether every failure was told, how sure it was, and how long it took. Whether the "
    "application took the notice is not in the journal",
    (
        day("day", "of the submission"),
        *PAIR_COLUMNS,
        count("failures", "messages", "exhausted, failed or expired, for which a verdict was owed"),
        count("told", "messages", "of which the application was told"),
        count(
            "missing",
            "messages",
            "failed or expired for good without a notice, which must be 0",
        ),
        count("notices_error", "notices", "that say that nothing was delivered"),
        count("notices_warning", "notices", "that say that it may have been"),
        count("notices_late", "notices", "that an acknowledgement came after all"),
        duration("p50_us", "from submission to the first notice, median"),
        duration("p95_us", "19 of 20"),
        duration("worst_us", "longest"),
    ),
)
