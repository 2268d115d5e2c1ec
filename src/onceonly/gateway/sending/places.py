"""Rows of a job find their places: which number each has, and what it answers.

Tasks of a run may be tried again, in another order and with a newer run over what an older one
left. Knows what a row is told apart by; must not know when a job is released.

Under a named run numbers are in blocks, one per task, and each attempt of a task hands over its
rows in rising order. So a message that is found further up in the block was put there by an
earlier attempt, and moves; one that is found further down is a row of this attempt, and its
second one is a replay.
"""

from typing import NamedTuple

from onceonly.gateway.clock import Clock
from onceonly.gateway.rows import Rows
from onceonly.gateway.sending.submit import Submission, check_same
from onceonly.gateway.sending.work import Draft
from onceonly.message.errors import LocalError, RemoteError
from onceonly.message.identity import checked_identifier
from onceonly.store.jobs import Job, JobRow, RowOutcome, Run
from onceonly.store.store import Transaction

DISPLACED_FROM = 1 << 62
"""Number of the first row whose own number has another message: above all that callers give."""

BLOCK_BITS = 32
"""Numbers of one block: the rows of one task of a named run."""


class StagedRow(NamedTuple):
    """One row as it is handed over: what it asks for, or why it cannot be read."""

    asked: Submission | LocalError
    number: int | None = None
    """The caller's number for the row; None gives it the next, or its MessageId's own."""
    message_id: str | None = None
    """What the row calls itself, whether or not it can be a message."""


class RowAnswer(NamedTuple):
    """What became of one row."""

    row: int
    message_id: str | None
    outcome: RowOutcome
    error: LocalError | None = None


class Wanted(NamedTuple):
    """A row that can become a message."""

    submission: Submission
    draft: Draft
    digest: str
    fingerprint: str


class Staging:
    """Rows of one run of a job in one step. Nothing here raises once something is written."""

    def __init__(self, txn: Transaction, job: Job, run: Run, rows: Rows, clock: Clock) -> None:
        self._txn = txn
        self._job = job
        self._run = run
        self._rows = rows
        self._clock = clock
        self._runs = {run.number: run}

    @property
    def _is_named(self) -> bool:
        return self._run.name is not None

    def take(self, row: StagedRow, wanted: Wanted | LocalError) -> RowAnswer:
        """The outcome of the row, which is the one it had where it was here before."""
        if isinstance(wanted, LocalError):
            return self._refuse(row, wanted)
        message_id = wanted.draft.message.message_id
        known = self._txn.find_accepted_row(self._job.job_id, message_id)
        if known is None:
            return self._take_unknown(row, wanted)
        if self._is_released(known) or not self._gives_way(known, row):
            return self._take_known(row, known, wanted)
        return self._take_over(row, known, wanted)

    def _take_known(self, row: StagedRow, known: JobRow, wanted: Wanted) -> RowAnswer:
        if known.fingerprint != wanted.fingerprint:
            return self._taken(row, known)
        if self._is_released(known):
            return self._answer(known, RowOutcome.REPLAYED)
        if row.number in (None, known.row):
            return self._answer(known, RowOutcome.ACCEPTED)
        if self._is_moving(known.row, row.number):
            return self._adopt(row, known)
        return self._put(row, wanted, RowOutcome.REPLAYED)

    def _run_of(self, row: JobRow) -> Run:
        run = self._runs.get(row.run)
        if run is None:
            run = self._runs[row.run] = self._txn.get_run(row.run)
        return run

    def _is_released(self, row: JobRow) -> bool:
        return self._run_of(row).released_at is not None

    def _gives_way(self, known: JobRow, row: StagedRow) -> bool:
        """Whether what waits there is of a run that is over, or of this row when it was another."""
        if known.run == self._run.number:
            return self._is_named and known.row == row.number
        return self._is_named or not self._run_of(known).is_open

    def _take_over(self, row: StagedRow, known: JobRow, wanted: Wanted) -> RowAnswer:
        if known.fingerprint == wanted.fingerprint:
            return self._adopt(row, known)
        self._txn.forget_staged_row(self._job.job_id, known.row)
        return self._take_unknown(row, wanted)

    def _is_moving(self, before: int, number: int | None) -> bool:
        if not self._is_named or number is None:
            return False
        is_above = before > number and before >> BLOCK_BITS == number >> BLOCK_BITS
        return is_above or before >= DISPLACED_FROM

    def _adopt(self, row: StagedRow, known: JobRow) -> RowAnswer:
        is_there = row.number in (None, known.row)
        number = known.row if is_there else self._place(row)
        if (number, self._run.number) != (known.row, known.run):
            moved = known._replace(row=number, run=self._run.number)
            self._txn.move_staged(self._job.job_id, known.row, to=moved.row, run=moved.run)
            known = moved
        return self._answer(known, RowOutcome.ACCEPTED)

    def _answer(self, row: JobRow, outcome: RowOutcome) -> RowAnswer:
        return RowAnswer(row.row, row.message_id, outcome)

    def _find(self, number: int | None) -> JobRow | None:
        return None if number is None else self._txn.find_job_row(self._job.job_id, number)

    def _next(self, least: int = 0) -> int:
        return max(self._txn.last_job_row(self._job.job_id) + 1, least)

    def _place(self, row: StagedRow) -> int:
        """The number that the row gets. What has it makes way, or has been there first."""
        if row.number is None:
            return self._next()
        before = self._find(row.number)
        if before is None or before.outcome is RowOutcome.REJECTED:
            return row.number
        displaced = self._next(DISPLACED_FROM)
        if not self._is_named or self._is_released(before):
            return displaced
        if before.outcome is RowOutcome.ACCEPTED:
            self._txn.move_staged(self._job.job_id, before.row, to=displaced, run=before.run)
        return row.number

    def _take_unknown(self, row: StagedRow, wanted: Wanted) -> RowAnswer:
        message = wanted.draft.message
        earlier = self._txn.find_outbound_view(message.message_id)
        if earlier is None:
            return self._put(row, wanted, RowOutcome.ACCEPTED)
        try:
            check_same(earlier, message, wanted.digest, wanted.submission)
        except LocalError as error:
            return self._refuse(row, error)
        return self._put(row, wanted, RowOutcome.REPLAYED)

    def _taken(self, row: StagedRow, known: JobRow) -> RowAnswer:
        text = f"another message is staged as {known.message_id!r}"
        return self._refuse(row, LocalError("MessageIdTaken", text))

    def _put(self, row: StagedRow, wanted: Wanted, outcome: RowOutcome) -> RowAnswer:
        message, payloads = wanted.draft
        kept = JobRow(
            row.number or 0, self._run.number, outcome, message.message_id, wanted.fingerprint
        )
        before = self._find(row.number)
        if before is not None and before._replace(run=kept.run) == kept:
            return self._stay(before)
        kept = kept._replace(row=self._place(row))
        if outcome is RowOutcome.ACCEPTED:
            self._txn.add_staged(self._job.job_id, kept, message, payloads, digest=wanted.digest)
        else:
            self._txn.put_job_row(self._job.job_id, kept)
        return self._answer(kept, outcome)

    def _stay(self, row: JobRow) -> RowAnswer:
        """A replayed or rejected row is as it was; it goes with the run that staged it last."""
        if row.run != self._run.number and not self._is_released(row):
            self._txn.put_job_row(self._job.job_id, row._replace(run=self._run.number))
        return self._answer(row, row.outcome)

    def _refuse(self, row: StagedRow, error: LocalError) -> RowAnswer:
        before = self._find(row.number)
        if before is not None and (before.error_code, before.reason) == (error.name, str(error)):
            return self._stay(before)._replace(error=error)
        message_id = row.message_id if is_identifier(row.message_id) else None
        number, outcome = self._place(row), RowOutcome.REJECTED
        self.reject(JobRow(number, self._run.number, outcome, message_id, ""), error)
        return RowAnswer(number, message_id, outcome, error)

    def reject(self, row: JobRow, error: LocalError) -> None:
        """Keep that the row is refused, and say so in the journal."""
        reason = str(error)
        refused = row._replace(outcome=RowOutcome.REJECTED, error_code=error.name, reason=reason)
        self._txn.put_job_row(self._job.job_id, refused)
        now, actor = self._clock.now(), actor_of(self._job)
        self._txn.append((self._rows.refused_submission(row.message_id, error, actor, now),))


def actor_of(job: Job) -> str:
    """As whom the job's rows are in the journal."""
    return f"job:{job.job_id}"


def is_identifier(value: str | None) -> bool:
    """Whether the value can be an id."""
    try:
        return value is not None and bool(checked_identifier(value, "job"))
    except RemoteError:
        return False
