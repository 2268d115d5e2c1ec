"""Report 25: why rows of bulk jobs were refused."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    text,
)

DEFINITION: Final = Definition(
    "job_rejects",
    25,
    "one row per party, job, code and reason",
    "what to mend in the rows before the job runs again",
    (
        text("party", "whose gateway"),
        text("job", "the job's name"),
        text("error_code", "code"),
        text("reason", "in words"),
        count("rejected", "refusals", "with it; a row that was tried twice counts twice"),
        count("messages", "rows", "by their MessageId"),
        text("example", "the least MessageId"),
    ),
)
