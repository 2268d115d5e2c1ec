"""Reports that are read best as tables, as data: what they are called, and what their rows tell."""

from typing import Final, NamedTuple

from onceonly.lake.page.card import Card
from onceonly.lake.page.findings import Findings
from onceonly.lake.page.listing import PAIR, listing
from onceonly.lake.reports import (
    budgets,
    bulk_jobs,
    job_rejects,
    open_budgets,
    operator_effects,
    purges,
    retention,
    sequence_gaps,
)
from onceonly.lake.tables.definition import Definition


class PlainTable(NamedTuple):
    """One report as a table on the page."""

    definition: Definition
    title: str
    tells: str
    nothing: str
    columns: tuple[str, ...]


SEQUENCES: Final = PlainTable(
    sequence_gaps.DEFINITION,
    "Sequence numbers",
    "Where the numbers of a pair do not simply go on. Numbers alone never make a duplicate, nor a "
    "loss.",
    "the numbers of every pair simply go on.",
    (
        *("kind", PAIR, "side", "previous_number", "sequence_number", "missing", "at"),
        *("message_id", "reason"),
    ),
)
BUDGETS: Final = PlainTable(
    budgets.DEFINITION,
    "Time budgets",
    "The longest time to a verdict against TimeToLive and PersistDuration. Margins below 0 come "
    "first: a retry outlives its message. The journal has no terms; they are given to the report.",
    "nothing was submitted.",
    (
        *("is_at_risk", "agreement_id", PAIR, "messages", "open", "longest_verdict_us"),
        *("worst_case_us", "time_to_live_us", "persist_duration_us", "margin_us"),
    ),
)
OPEN: Final = PlainTable(
    open_budgets.DEFINITION,
    "Messages without a verdict",
    "The oldest first, with the latest instant at which the terms allow the verdict.",
    "every submitted message has its verdict.",
    (
        *("age_us", PAIR, "message_id", "submitted_at", "transmissions", "verdict_due_at"),
        *("is_overdue", "expires_at", "margin_us"),
    ),
)
JOBS: Final = PlainTable(
    bulk_jobs.DEFINITION,
    "Bulk jobs",
    "Rows in are accepted or rejected, and what was accepted adds up to what became of it. Rows "
    "that were known already leave no row in the journal; the job's own report counts them. First "
    "the jobs that do not add up or had rows refused, then the latest.",
    "no bulk job sent anything.",
    (
        *("job", "party", "told", "accepted", "rejected", "acknowledged", "sent", "failed"),
        *(
            "taken_back",
            "settled",
            "in_doubt",
            "under_way",
            "adds_up",
            "is_settled",
            "first_at",
            "last_at",
        ),
    ),
)
REJECTS: Final = PlainTable(
    job_rejects.DEFINITION,
    "Rows that jobs had refused",
    "What to mend before the job runs again.",
    "no row of a job was refused.",
    ("job", "party", "error_code", "reason", "rejected", "messages", "example"),
)
OPERATORS: Final = PlainTable(
    operator_effects.DEFINITION,
    "What people did, and what became of it",
    "Suspensions, resumes, resends and cancels, with the class of the messages that they were "
    "about.",
    "nobody intervened.",
    (
        *("action", "party", "actor", "reason", "verdict", "actions", "messages"),
        *("first_at", "last_at"),
    ),
)
RETENTION: Final = PlainTable(
    retention.DEFINITION,
    "What is kept",
    "Messages and payload bytes by state and age. Purgeable is known only where the terms are "
    "given to the report.",
    "nothing is kept.",
    ("party", "role", "state", "age_bucket", "messages", "payload_bytes", "purgeable"),
)
PURGES: Final = PlainTable(
    purges.DEFINITION,
    "What was forgotten",
    "How many rows and files the gateways forgot by their terms.",
    "nothing was purged.",
    ("day", "party", "what", "forgotten", "steps"),
)


def card(plain: PlainTable, found: Findings) -> Card:
    """The table, or that there is nothing."""
    extract = found.of(plain.definition)
    shown = listing(plain.definition, extract, plain.columns, caption=plain.title)
    return Card(
        plain.definition.name.replace("_", "-"),
        plain.title,
        plain.tells,
        (shown,) if extract.rows else (),
        plain.nothing,
        (plain.definition,),
        is_wide=True,
        is_long=True,
    )
