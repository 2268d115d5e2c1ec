"""The store's contract for jobs: messages that are handed over in bulk and not sent yet.

A *job* is a named group of rows. Each row ends in exactly one outcome, kept here for as long as
the job is, so its counts stay correct if calls are repeated: rows are accepted, rejected or
replayed. An accepted row is staged, or has the status of its outbound message.

What is staged is durable and nothing more: it is no outbound message yet, so it waits for no turn,
never expires and blocks nobody. A release is one write. After it `list_released` finds the rows
that must still be moved; the caller moves each of them into `outbound` in a step.

Every row belongs to a *run*: one start of the program that hands the job over. Runs are released or
dropped as a whole, so what an unfinished start left is not sent, and no start loses the rows of
another one.
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
    """Its message was there already: nothing was added."""


STAGED = "staged"
"""How an accepted row counts before its release; after it the row counts as `queued`."""


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
    """One start of the program that hands over a job. The store gives `number`, in rising order."""

    number: int
    job_id: str
    name: str | None
    """The name that its caller gave it, or None."""
    opened_at: int
    staged: int
    """Messages of it that are staged: those that waited for the release, once it is released."""
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
    """Number of the run that staged it last; the row is released with that run."""
    outcome: RowOutcome
    message_id: str | None
    fingerprint: str
    """Digest of what was handed over; the same row handed over again has the same one."""
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
    """Number of the last job that is done with: go on after it. None at the end."""


JOBS_PER_PURGE = 100
"""Jobs that one step of a purge looks at, which takes some 2 ms."""


class JobSnapshot(Protocol):
    """What can be asked about jobs."""

    def find_job(self, job_id: str) -> Job | None:
        """The job of this name."""
        ...

    def list_jobs(self, after: int, limit: int) -> Sequence[Job]:
        """Jobs with a number above `after`, in the order in which they were opened."""
        ...

    def find_run(self, job_id: str, name: str | None) -> Run | None:
        """The last run with this name; for None, the last run without a name."""
        ...

    def find_newest_run(self, job_id: str) -> Run | None:
        """The last run of the job that has a name and is not dropped."""
        ...

    def find_latest_release(self, job_id: str) -> Run | None:
        """The last run of the job that has a name and is released.

        A caller that names its runs hands over the whole job in each of them. So this run
        *overtakes* some rows of earlier runs; they are kept, but do not count. These are rejected
        rows, and replayed rows whose message was not accepted in any row of the job. A row that was
        accepted, and rejected after its release (it has a fingerprint), is overtaken only if
        another row of the job has its message, since no caller was told of that rejection.
        """
        ...

    def get_run(self, number: int) -> Run:
        """The run of this number, which must exist."""
        ...

    def list_unreleased_runs(self, job_id: str) -> Sequence[Run]:
        """Runs that are not released, including dropped ones, in order."""
        ...

    def find_block(self, run: int, block: int) -> int | None:
        """The attempt that last wrote this block of the run's rows."""
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
        """Rejected rows with a number above `after`, in order; overtaken rows are left out."""
        ...

    def count_job(self, job_id: str) -> dict[str, int]:
        """Rows by word: `rejected`, `replayed`, `staged`, and the status of accepted messages.

        The sum is the number of rows that are not overtaken. A purged message counts under the
        status in which it ended. Reads every row of the job, so call it only in a thread for which
        nobody waits.
        """
        ...

    def list_released(self, limit: int) -> Sequence[StagedMessage]:
        """Staged messages of released runs, by run and row: what must still be queued."""
        ...

    def find_staged(self, job_id: str, row: int) -> StagedMessage | None:
        """What is staged in this row."""
        ...

    def list_staged_payloads(self, job_id: str, row: int) -> Sequence[StoredPayload]:
        """Payloads of a staged message, in their order; empty if nothing is staged."""
        ...


class JobTransaction(JobSnapshot, Protocol):
    """What can be written about jobs.

    What is forgotten, and in which order, is decided here; a store says how (the last methods).
    """

    def open_job(self, job_id: str, *, at: int) -> Job:
        """The job, which is made if it does not exist; `at` becomes its `staged_at`."""
        ...

    def open_run(self, job_id: str, name: str | None, *, at: int) -> Run:
        """A new run of the job."""
        ...

    def put_block(self, run: int, block: int, attempt: int) -> None:
        """From now on this attempt writes the block of the run's rows."""
        ...

    def put_job_row(self, job_id: str, row: JobRow) -> None:
        """Add or replace the row of this number; nothing may be staged in it."""
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
        """Forget the row, which must exist, and what is staged in it."""
        ...

    def release_run(self, number: int, *, at: int) -> None:
        """Release the rows of an open run; if it has any, the job counts one release more."""
        ...

    def drop_run(self, number: int, *, at: int) -> None:
        """Drop the run: it is never released, and `forget_dropped` forgets its rows."""
        ...

    def remove_staged(self, job_id: str, row: int) -> None:
        """Forget what was staged in the row, but keep the row: it was queued or rejected."""
        ...

    def forget_dropped(self, job_id: str, limit: int) -> int:
        """Forget at most `limit` rows of dropped runs. Returns how many.

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
        """Forget at most `limit` rows of jobs that were last staged or released before `before_at`.

        These are the rows of runs that were not released, and all rows of jobs of which no message
        is staged or stored. Looks at the next `JOBS_PER_PURGE` jobs with a number above `after`.
        Dropped runs are forgotten once their job is, if they were dropped before `before_at`.
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
        """Forget at most `limit` rows of these runs, in order. Returns how many."""
        ...

    def _forget_rows(self, number: int, limit: int) -> int:
        """Forget at most `limit` rows of a job of which nothing is staged. Returns how many."""
        ...

    def _forget_empty(self, number: int, job_id: str) -> int:
        """Forget the job and its runs if it has no rows. Returns how many jobs: 1 or 0."""
        ...

    def _forget_dropped_runs(self, before_at: int, limit: int) -> None:
        """Forget at most `limit` runs dropped before then whose job is forgotten."""
        ...
