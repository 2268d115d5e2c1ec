"""Jobs in the store of simulations: the contract's `JobSnapshot` and `JobTransaction`.

Knows the rows of jobs and what is staged in them; must not settle or forget a transaction.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in jobs.py

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from onceonly.message.message import Message
from onceonly.store.jobs import STAGED, Job, JobRow, RowOutcome, StagedMessage
from onceonly.store.memory_tables import RowOfJob, Staged, Tables
from onceonly.store.store import StoredPayload


class MemoryJobReading:
    """Reads of jobs over tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def find_job(self, job_id: str) -> Job | None:
        return self._tables.jobs.get(job_id)

    def list_jobs(self, after: int, limit: int) -> Sequence[Job]:
        return list(islice((job for job in self._jobs() if job.number > after), limit))

    def _jobs(self) -> list[Job]:
        return sorted(self._tables.jobs.values())

    def _rows(self, job: Job | None) -> list[RowOfJob]:
        rows = sorted(self._tables.job_rows.items())
        return [found for (number, _), found in rows if job is not None and number == job.number]

    def _find(self, job_id: str, row: int) -> RowOfJob | None:
        job = self.find_job(job_id)
        return None if job is None else self._tables.job_rows.get((job.number, row))

    def find_job_row(self, job_id: str, row: int) -> JobRow | None:
        found = self._find(job_id, row)
        return None if found is None else found.row

    def find_accepted_row(self, job_id: str, message_id: str) -> JobRow | None:
        for row, _, _ in self._rows(self.find_job(job_id)):
            if row.outcome is RowOutcome.ACCEPTED and row.message_id == message_id:
                return row
        return None

    def last_job_row(self, job_id: str) -> int:
        return max((found.row.row for found in self._rows(self.find_job(job_id))), default=-1)

    def list_rejects(self, job_id: str, after: int, limit: int) -> Sequence[JobRow]:
        rows = (found.row for found in self._rows(self.find_job(job_id)))
        wanted = (row for row in rows if row.outcome is RowOutcome.REJECTED and row.row > after)
        return list(islice(wanted, limit))

    def count_job(self, job_id: str) -> dict[str, int]:
        job = self.find_job(job_id)
        return dict(Counter(self._word(job, found) for found in self._rows(job) if job))

    def _word(self, job: Job, found: RowOfJob) -> str:
        row, staged, ended = found
        if row.outcome is not RowOutcome.ACCEPTED:
            return row.outcome
        if staged is not None:
            return "queued" if row.round <= job.releases else STAGED
        assert row.message_id is not None, "an accepted row has a message"
        return ended or self._tables.outbound[row.message_id].state.status.value

    def list_released(self, limit: int) -> Sequence[StagedMessage]:
        return list(islice(self._released(), limit))

    def _released(self) -> Iterator[StagedMessage]:
        for job in self._jobs():
            for found in sorted(self._rows(job), key=lambda one: (one.row.round, one.row.row)):
                if found.staged is not None and found.row.round <= job.releases:
                    yield found.of(job)

    def find_staged(self, job_id: str, row: int) -> StagedMessage | None:
        found = self._find(job_id, row)
        if found is None or found.staged is None:
            return None
        return found.of(self._tables.jobs[job_id])

    def list_staged_payloads(self, job_id: str, row: int) -> Sequence[StoredPayload]:
        found = self._find(job_id, row)
        return () if found is None or found.staged is None else found.staged.payloads


class MemoryJobWriting(MemoryJobReading):
    """Writes of jobs over pending tables."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._write_count = 0

    def open_job(self, job_id: str, *, at: int) -> Job:
        job = self._tables.jobs.get(job_id)
        if job is None:
            number = self._tables.numbers.get("job", 0) + 1
            self._tables.numbers["job"] = number
            job = Job(number, job_id, at, at, 0, None)
        return self._put_job(job._replace(staged_at=max(job.staged_at, at)))

    def _put_job(self, job: Job) -> Job:
        self._tables.jobs[job.job_id] = job
        self._write_count += 1
        return job

    def put_job_row(self, job_id: str, row: JobRow) -> None:
        self._put_row(job_id, RowOfJob(row))

    def _put_row(self, job_id: str, found: RowOfJob) -> None:
        self._tables.job_rows[self._tables.jobs[job_id].number, found.row.row] = found
        self._write_count += 1

    def add_staged(
        self,
        job_id: str,
        row: JobRow,
        message: Message,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
    ) -> None:
        assert len(payloads) == len(message.payloads), "one stored payload for each described one"
        self._put_row(job_id, RowOfJob(row, Staged(message, tuple(payloads), digest)))

    def release_job(self, job_id: str, *, at: int) -> None:
        job = self._tables.jobs[job_id]
        if any(found.row.round > job.releases for found in self._rows(job)):
            self._put_job(job._replace(releases=job.releases + 1, released_at=at))

    def remove_staged(self, job_id: str, row: int) -> None:
        found = self._find(job_id, row)
        assert found is not None, f"no row {row} of {job_id}"
        assert found.staged is not None, f"nothing is staged in row {row} of {job_id}"
        self._put_row(job_id, found._replace(staged=None))

    def drop_unreleased(self, job_id: str, limit: int) -> int:
        job = self.find_job(job_id)
        if job is None:
            return 0
        dropped = self._drop_unreleased(job, limit)
        self._forget_empty(job)
        return dropped

    def _drop_unreleased(self, job: Job, limit: int) -> int:
        waiting = [found.row for found in self._rows(job) if found.row.round > job.releases]
        return self._forget_rows(job, waiting[:limit])

    def _forget_rows(self, job: Job, rows: Sequence[JobRow]) -> int:
        for row in rows:
            del self._tables.job_rows[job.number, row.row]
            self._write_count += 1
        return len(rows)

    def _forget_empty(self, job: Job) -> int:
        if self._rows(job):
            return 0
        del self._tables.jobs[job.job_id]
        self._write_count += 1
        return 1

    def purge_jobs(self, before_at: int, limit: int) -> int:
        purged = 0
        for job in self._jobs():
            if job.staged_at >= before_at or (job.released_at or 0) >= before_at:
                continue
            purged += self._drop_unreleased(job, limit - purged)
            if purged < limit and not self._is_standing(job):
                rows = [found.row for found in self._rows(job)]
                purged += self._forget_rows(job, rows[: limit - purged])
                purged += self._forget_empty(job)
            if purged >= limit:
                break
        return purged

    def _is_standing(self, job: Job) -> bool:
        return any(
            row.outcome is RowOutcome.ACCEPTED and ended is None
            for row, _, ended in self._rows(job)
        )

    def _note_end(self, message_id: str, status: str) -> None:
        """The message is forgotten; the rows that it came from remember how it ended."""
        for key, found in list(self._tables.job_rows.items()):
            row, staged, ended = found
            is_its = row.message_id == message_id and row.outcome is RowOutcome.ACCEPTED
            if is_its and staged is None and ended is None:
                self._tables.job_rows[key] = found._replace(ended=status)
