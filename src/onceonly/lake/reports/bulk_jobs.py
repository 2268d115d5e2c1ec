"""Report 25: what became of the rows of each bulk job."""

from typing import Final

from onceonly.lake.tables.definition import (
    Definition,
    count,
    flag,
    instant,
    size,
    text,
)

DEFINITION: Final = Definition(
    "bulk_jobs",
    25,
    "one row per party and job that submitted messages or had rows refused",
    "rows told add up: accepted and rejected; accepted again to what became of them. A row "
    "whose MessageId was known already is replayed and leaves no row in the journal, so "
    "replays are counted by the job's own report",
    (
        text("party", "whose gateway"),
        text("job", "the job's name"),
        instant("first_at", "first row taken or refused"),
        instant("last_at", "last one"),
        count("told", "rows", "that the journal tells: accepted and rejected"),
        count("accepted", "rows", "that became messages"),
        count(
            "rejected",
            "rows",
            "that the gateway refused; those that were accepted later are not among them",
        ),
        count("acknowledged", "messages", "acknowledged, in time or late"),
        count("sent", "messages", "sent, where nobody acknowledges"),
        count("failed", "messages", "failed or expired for good"),
        count("taken_back", "messages", "cancelled"),
        count("in_doubt", "messages", "given up without knowing"),
        count("under_way", "messages", "queued or being sent"),
        flag("adds_up", "accepted is the sum of what became of them"),
        flag("is_settled", "nothing is under way or in doubt"),
        size("payload_bytes", "size of the payloads accepted"),
    ),
)
