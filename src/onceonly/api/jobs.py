"""Jobs over the API: messages that are staged in bulk, and released together."""

from msgspec import UNSET, UnsetType

from onceonly.api.fields import Identifier, Instant, JobName, Limit, Name, Number, RowNumber
from onceonly.api.lists import Times
from onceonly.api.refusals import Refusal
from onceonly.api.words import JobState, Order, RowOutcome
from onceonly.message.word import Word


class JobPath(Word, kw_only=True):
    """The job that a call is about."""

    job: JobName


class AnyJobPath(Word, kw_only=True):
    """The job that is looked up."""

    job: Name


class JobMessagePath(JobPath, kw_only=True):
    """A message that is staged in it."""

    message_id: Identifier


class RunQuery(Word, kw_only=True, omit_defaults=True):
    """One start of the caller; without it, everything that is staged."""

    run: str | None = None


class NamedRunQuery(Word, kw_only=True, omit_defaults=True):
    """One start of the caller, which may be the first that is heard of it."""

    run: Identifier | None = None


class StageQuery(NamedRunQuery, kw_only=True, omit_defaults=True):
    """Whose rows these are."""

    attempt: Number | None = None
    """Of a task that may be tried again; later ones are greater."""


class StageOneQuery(StageQuery, kw_only=True, omit_defaults=True):
    """Whose row this is, and its number."""

    row: RowNumber | None = None


class ReleaseQuery(RunQuery, kw_only=True, omit_defaults=True):
    """What is released."""

    staged: Number | None = None
    """Accepted rows of the run; refused if there are fewer."""


class PageQuery(Word, kw_only=True, omit_defaults=True):
    """Which page."""

    after: Number = 0
    limit: Limit = 100


class JobCriteria(Times, kw_only=True, omit_defaults=True):
    """Which jobs; `since` and `until` are about `opened_at`."""

    id_prefix: str | None = None
    """How the name begins."""


class JobsQuery(JobCriteria, kw_only=True, omit_defaults=True):
    """Which jobs to list, and which page."""

    order: Order = "oldest"
    after: Number = 0
    limit: Limit = 100


class RowPayload(Word, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A payload of a row: a text, or base64 of its bytes."""

    payload: str | UnsetType | None = UNSET
    payload_base64: bytes | UnsetType | None = UNSET
    content_type: str | UnsetType | None = UNSET
    name: str | UnsetType | None = UNSET


class StagedRow(RowPayload, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a request of many rows: a message, with its one payload or `payloads`."""

    row: RowNumber | None = None
    """The row's number; makes a repeat the same row."""
    message_id: Identifier
    to: str
    service: str
    action: str
    agreement: str | None = None
    conversation: str | None = None
    ref: str | None = None
    payloads: tuple[RowPayload, ...] | None = None


class RowAnswer(Word, kw_only=True):
    """What became of one row; `error`, where it was rejected."""

    row: int
    message_id: str | None
    outcome: RowOutcome
    error: Refusal | UnsetType = UNSET


class StagedRows(Word, kw_only=True):
    """What became of the rows of a request, in its order."""

    job: str
    rows: tuple[RowAnswer, ...]


class ReleasedJob(Word, kw_only=True):
    """A job that was just released; its counts take their time."""

    job: str
    opened_at: Instant
    staged_at: Instant | None
    released_at: Instant | None


class Job(Word, kw_only=True):
    """A job and its rows: accepted, rejected, replayed; and how what was accepted stands.

    `rows` is the sum of the first three, `accepted` that of all that follow.
    """

    job: str
    state: JobState
    opened_at: Instant
    staged_at: Instant | None
    released_at: Instant | None
    rows: int
    accepted: int
    rejected: int
    replayed: int
    staged: int
    queued: int
    sending: int
    in_doubt: int
    acknowledged: int
    failed: int
    expired: int
    cancelled: int
    sent: int
    settled_delivered: int
    settled_not_delivered: int


class JobPage(Word, kw_only=True):
    """A page of jobs; `next_after` is null on the last."""

    jobs: tuple[Job, ...]
    next_after: int | None
    is_cut: bool = False
    """The page ends because 20,000 jobs were looked at: ask for less, or go on."""


class RejectedRow(Word, kw_only=True):
    """A row of a job that was rejected, and why."""

    row: int
    message_id: str | None
    error: Refusal


class RejectPage(Word, kw_only=True):
    """A page of rejected rows; `next_after` is null on the last."""

    rejects: tuple[RejectedRow, ...]
    next_after: int | None


class Dropped(Word, kw_only=True):
    """How many rows a drop forgot."""

    job: str
    dropped: int
