"""The store's contract for jobs: messages that are handed over in bulk and not sent yet.

A *job* is a named group of rows. Each row ends in exactly one outcome, kept here for as long as
the job is, so what a job counts adds up whatever is repeated: rows are accepted, rejected or
replayed, and an accepted row is staged or stands as its outbound message does.

What is staged is durable and nothing more: it is no outbound message yet, so it waits for no
turn, never expires and blocks nobody. A release is one write; `list_released` asks the state
what it owes, and each row moves into `outbound` in a step of its caller's.

Every row is of a *run*: one start of whoever hands the job over. Runs are released and dropped,
so that what one start left behind is neither sent nor taken from another.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from onceonly.message.word import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onceonly.message.message import Message
    from onceonly.store.contract.entries import StoredPayload


class RowOutcome(StrEnum):
    """What became of one row of a job."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    REPLAYED = "replayed"
    """Its message was known before: nothing was added."""


STAGED = "staged"
"""How an accepted row counts that no release has reached; `queued` once one has."""


class Job(Word):
    """A group of rows, as the store keeps it. `number` is given by the store and never reused."""

    number: int
    job_id: str
    opened_at: int
    staged_at: int
    """When something was last staged."""
    releases: int
    released_at: int | None
    """When it was last released."""


class Run(Word):
    """One start of whoever hands over a job. `number` is given by the store, in rising order."""

    number: int
    job_id: str
    name: str | None
    """What its caller calls it; None for callers that name none."""
    opened_at: int
    staged: int
    """Messages staged in it that wait for its release, or did when it came."""
    released_at: int | None
    dropped_at: int | None

    @property
    def is_open(self) -> bool:
        """Whether it may stage more."""
        return self.released_at is None and self.dropped_at is None


class JobRow(Word):
    """One row of a job. `row` is the caller's number for it, and the order of its release."""

    row: int
    run: int
    """Number of the run that staged it last: it is released with that."""
    outcome: RowOutcome
    message_id: str | None
    fingerprint: str
    """What was handed over, in one digest: the same row again has the same."""
    error_code: str | None = None
    """Name of the refusal, of a rejected row."""
    reason: str | None = None


class StagedMessage(Word):
    """A message that waits for its release, or is released and waits to be queued."""

    job: Job
    row: JobRow
    message: Message
    digest: str


class JobPurge(Word):
    """What a step of a purge did."""

    forgotten: int
    """Rows, and jobs without any."""
    after: int | None
    """Behind which job to go on; None at the end."""


JOBS_PER_PURGE = 100
"""Jobs that one step of a purge looks at: some 2 ms."""


class JobSnapshot(Protocol):
    """What can be asked about jobs."""

    def find_job(self, job_id: str) -> Job | None:
        """The job of this name."""
        ...

    def list_jobs(self, after: int, limit: int) -> Sequence[Job]:
        """Jobs with a number above `after`, in the order in which they were opened."""
        ...

    def find_run(self, job_id: str, name: str | None) -> Run | None:
        """The last run of this name; of those that have none, for None."""
        ...

    def find_newest_run(self, job_id: str) -> Run | None:
        """The last run of the job that has a name and is not dropped."""
        ...

    def find_latest_release(self, job_id: str) -> Run | None:
        """The last run of the job that has a name and is released.

        Whoever names runs hands the whole job over in each, so what an earlier run had rejected,
        or replayed without a row of the job that was accepted, is *overtaken* by it: the row is
        kept and does not count. What was accepted and then rejected behind its release (it has a
        fingerprint) is overtaken only where the job has its message once more: no caller was told.
        """
        ...

    def get_run(self, number: int) -> Run:
        """The run of this number, which there is."""
        ...

    def list_unreleased_runs(self, job_id: str) -> Sequence[Run]:
        """Runs that no release has reached, dropped ones among them, in order."""
        ...

    def find_block(self, run: int, block: int) -> int | None:
        """The attempt that the block of the run's rows is of."""
        ...

    def find_job_row(self, job_id: str, row: int) -> JobRow | None:
        """The row of this number."""
        ...

    def find_accepted_row(self, job_id: str, message_id: str) -> JobRow | None:
        """The row of the job that was accepted with this MessageId."""
        ...

    def last_job_row(self, job_id: str) -> int:
        """The greatest row number of the job; -1 where it has none."""
        ...

    def list_rejects(self, job_id: str, after: int, limit: int) -> Sequence[JobRow]:
        """Rejected rows with a number above `after`, in order, without what is overtaken."""
        ...

    def count_job(self, job_id: str) -> dict[str, int]:
        """Rows by word: `rejected`, `replayed`, `staged`, and the status of accepted messages.

        The sum is the number of rows that are not overtaken. A message that was purged counts as
        it ended. Reads every row of the job, so it is for threads that keep nobody waiting.
        """
        ...

    def list_released(self, limit: int) -> Sequence[StagedMessage]:
        """Staged messages of released runs, runs and rows in order: what is owed."""
        ...

    def find_staged(self, job_id: str, row: int) -> StagedMessage | None:
        """What is staged in this row."""
        ...

    def list_staged_payloads(self, job_id: str, row: int) -> Sequence[StoredPayload]:
        """Payloads of a staged message, in their order; none where nothing is staged."""
        ...


class JobTransaction(JobSnapshot, Protocol):
    """What can be written about jobs.

    What is forgotten, and in which order, is decided here; a store says how (the last methods).
    """

    def open_job(self, job_id: str, *, at: int) -> Job:
        """The job, made where there is none; `at` becomes its `staged_at`."""
        ...

    def open_run(self, job_id: str, name: str | None, *, at: int) -> Run:
        """A new run of the job."""
        ...

    def put_block(self, run: int, block: int, attempt: int) -> None:
        """The block of the run's rows is this attempt's from now on."""
        ...

    def put_job_row(self, job_id: str, row: JobRow) -> None:
        """Add or replace the row of this number; not one whose message is staged."""
        ...

    def add_staged(
        self,
        job_id: str,
        row: JobRow,
        message: Message,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
    ) -> None:
        """Add or replace the row, and stage its message."""
        ...

    def move_staged(self, job_id: str, row: int, *, to: int) -> None:
        """Give the row in which something is staged another number.

        A row that has the number goes; nothing may be staged in it.
        """
        ...

    def forget_row(self, job_id: str, row: int) -> None:
        """Forget the row, which there is, and what is staged in it."""
        ...

    def release_run(self, number: int, *, at: int) -> None:
        """Release the rows of an open run; the job counts a release if there are any."""
        ...

    def drop_run(self, number: int, *, at: int) -> None:
        """Nothing of the run is ever released; `forget_dropped` forgets its rows."""
        ...

    def remove_staged(self, job_id: str, row: int) -> None:
        """Forget what was staged in the row, which stays: it moved on, or turned otherwise."""
        ...

    def forget_dropped(self, job_id: str, limit: int) -> int:
        """Forget at most `limit` rows of dropped runs; how many.

        The job goes with its last row, if it was never released.
        """
        job = self.find_job(job_id)
        if job is None:
            return 0
        runs = [run for run in self.list_unreleased_runs(job_id) if run.dropped_at is not None]
        forgotten = self._forget_rows_of(job.number, runs, limit)
        self._forget_empty(job.number, job_id)
        return forgotten

    def purge_jobs(self, before_at: int, limit: int, after: int = 0) -> JobPurge:
        """Forget at most `limit` rows of jobs that were last staged to or released before then.

        Rows that no release has reached; and whole jobs none of whose messages is staged, or
        stored still. Looks at some jobs numbered above `after`, in their order. Dropped runs are
        remembered as long as their jobs, and until they were dropped before then.
        """
        if after == 0:
            self._forget_dropped_runs(before_at, limit)
        jobs = self._list_by_age(after, before_at)
        forgotten = 0
        for number, job_id, is_old in jobs:
            if is_old:
                forgotten += self._purge_job(number, job_id, limit - forgotten)
            if forgotten >= limit:
                return JobPurge(forgotten, number - 1)
        return JobPurge(forgotten, number if len(jobs) == JOBS_PER_PURGE else None)

    def _purge_job(self, number: int, job_id: str, limit: int) -> int:
        forgotten = self._forget_rows_of(number, self.list_unreleased_runs(job_id), limit)
        if forgotten == limit or self._is_standing(number):
            return forgotten
        forgotten += self._forget_rows(number, limit - forgotten)
        return forgotten + self._forget_empty(number, job_id)

    def _list_by_age(self, after: int, before_at: int) -> Sequence[tuple[int, str, bool]]:
        """The next `JOBS_PER_PURGE` jobs: number, job_id, and whether the job is old enough."""
        ...

    def _is_standing(self, number: int) -> bool:
        """Whether a message of the job is staged, or still stored."""
        ...

    def _forget_rows_of(self, number: int, runs: Sequence[Run], limit: int) -> int:
        """Forget at most `limit` rows of these runs, in order; how many."""
        ...

    def _forget_rows(self, number: int, limit: int) -> int:
        """Forget at most `limit` rows of a job of which nothing is staged; how many."""
        ...

    def _forget_empty(self, number: int, job_id: str) -> int:
        """Forget the job and its runs if it has no row: 1, or 0 if it has some."""
        ...

    def _forget_dropped_runs(self, before_at: int, limit: int) -> None:
        """Forget at most `limit` runs dropped before then whose job is forgotten."""
        ...
