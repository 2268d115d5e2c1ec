"""Jobs in the store of simulations: the contract's `JobSnapshot` and `JobTransaction`.

Knows the rows of jobs and what is staged in them; must not commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in jobs.py

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from onceonly.message.message import Message
from onceonly.message.word import changed
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.jobs import (
    JOBS_PER_PURGE,
    STAGED,
    Job,
    JobRow,
    JobTransaction,
    RowOutcome,
    Run,
    StagedMessage,
)
from onceonly.store.contract.rules import check_payloads
from onceonly.store.memory.tables import RowOfJob, Staged, Tables


class MemoryJobReading:
    """Reads of jobs over tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def find_job(self, job_id: str) -> Job | None:
        return self._tables.jobs.get(job_id)

    def list_jobs(self, after: int, limit: int) -> Sequence[Job]:
        return list(islice((job for job in self._jobs() if job.number > after), limit))

    def _jobs(self) -> list[Job]:
        return sorted(self._tables.jobs.values(), key=lambda job: job.number)

    def _rows(self, job_id: str) -> list[RowOfJob]:
        job = self.find_job(job_id)
        return [] if job is None else self._rows_of(job.number)

    def _rows_of(self, number: int) -> list[RowOfJob]:
        rows = sorted(self._tables.job_rows.items())
        return [found for (job, _), found in rows if job == number]

    def _find(self, job_id: str, row: int) -> RowOfJob | None:
        job = self.find_job(job_id)
        return None if job is None else self._tables.job_rows.get((job.number, row))

    def _runs(self, job_id: str) -> list[Run]:
        return [run for _, run in sorted(self._tables.runs.items()) if run.job_id == job_id]

    def find_run(self, job_id: str, name: str | None) -> Run | None:
        found = [run for run in self._runs(job_id) if run.name == name]
        return found[-1] if found else None

    def find_newest_run(self, job_id: str) -> Run | None:
        named = [run for run in self._runs(job_id) if run.name and run.dropped_at is None]
        return named[-1] if named else None

    def find_latest_release(self, job_id: str) -> Run | None:
        released = [run for run in self._runs(job_id) if run.name and run.released_at is not None]
        return released[-1] if released else None

    def get_run(self, number: int) -> Run:
        return self._tables.runs[number]

    def list_unreleased_runs(self, job_id: str) -> Sequence[Run]:
        return [run for run in self._runs(job_id) if run.released_at is None]

    def find_block(self, run: int, block: int) -> int | None:
        return self._tables.blocks.get((run, block))

    def find_job_row(self, job_id: str, row: int) -> JobRow | None:
        found = self._find(job_id, row)
        return None if found is None else found.row

    def find_accepted_row(self, job_id: str, message_id: str) -> JobRow | None:
        for row in (found.row for found in self._rows(job_id)):
            if row.outcome is RowOutcome.ACCEPTED and row.message_id == message_id:
                return row
        return None

    def last_job_row(self, job_id: str) -> int:
        return max((found.row.row for found in self._rows(job_id)), default=-1)

    def _counting(self, job_id: str) -> list[RowOfJob]:
        """The rows of the job that no later run has overtaken."""
        rows = self._rows(job_id)
        accepted = {
            found.row.message_id for found in rows if found.row.outcome is RowOutcome.ACCEPTED
        }
        latest = self.find_latest_release(job_id)

        def is_overtaken(row: JobRow) -> bool:
            if row.outcome is RowOutcome.ACCEPTED or latest is None or row.run >= latest.number:
                return False
            if self.get_run(row.run).name is None:
                return False
            is_rejected, is_of_the_job = (
                row.outcome is RowOutcome.REJECTED,
                row.message_id in accepted,
            )
            return is_rejected == is_of_the_job or (is_rejected and not row.fingerprint)

        return [found for found in rows if not is_overtaken(found.row)]

    def list_rejects(self, job_id: str, after: int, limit: int) -> Sequence[JobRow]:
        rows = (found.row for found in self._counting(job_id))
        wanted = (row for row in rows if row.outcome is RowOutcome.REJECTED and row.row > after)
        return list(islice(wanted, limit))

    def count_job(self, job_id: str) -> dict[str, int]:
        return dict(Counter(self._word(found) for found in self._counting(job_id)))

    def _is_released(self, found: RowOfJob) -> bool:
        return self._tables.runs[found.row.run].released_at is not None

    def _word(self, found: RowOfJob) -> str:
        row = found.row
        if row.outcome is not RowOutcome.ACCEPTED:
            return row.outcome
        if found.staged is not None:
            return "queued" if self._is_released(found) else STAGED
        assert row.message_id is not None, "an accepted row has a message"
        return found.ended or self._tables.outbound[row.message_id].state.status.value

    def list_released(self, limit: int) -> Sequence[StagedMessage]:
        return list(islice(self._released(), limit))

    def _released(self) -> Iterator[StagedMessage]:
        jobs = {job.number: job for job in self._jobs()}
        rows = [(found.row.run, row, job) for (job, row), found in self._tables.job_rows.items()]
        for _, row, job in sorted(rows):
            found = self._tables.job_rows[job, row]
            if found.staged is not None and self._is_released(found):
                yield found.of(jobs[job])

    def find_staged(self, job_id: str, row: int) -> StagedMessage | None:
        found = self._find(job_id, row)
        if found is None or found.staged is None:
            return None
        return found.of(self._tables.jobs[job_id])

    def list_staged_payloads(self, job_id: str, row: int) -> Sequence[StoredPayload]:
        found = self._find(job_id, row)
        return () if found is None or found.staged is None else found.staged.payloads


class MemoryChanges:
    """How every write changes a pending table."""

    _tables: Tables
    _write_count = 0

    def _put(self, table: dict[Any, Any], key: Any, row: Any) -> None:
        table[key] = row
        self._write_count += 1

    def _remove(self, table: dict[Any, Any], key: Any) -> None:
        del table[key]
        self._write_count += 1

    def _next(self, name: str) -> int:
        number = self._tables.numbers[name] = self._tables.numbers.get(name, 0) + 1
        return number


class MemoryJobWriting(MemoryChanges, MemoryJobReading, JobTransaction):
    """Writes of jobs over pending tables."""

    def open_job(self, job_id: str, *, at: int) -> Job:
        job = self._tables.jobs.get(job_id)
        if job is None:
            job = Job(self._next("job"), job_id, at, at, 0, None)
        return self._put_job(changed(job, staged_at=max(job.staged_at, at)))

    def _put_job(self, job: Job) -> Job:
        self._put(self._tables.jobs, job.job_id, job)
        return job

    def open_run(self, job_id: str, name: str | None, *, at: int) -> Run:
        return self._put_run(Run(self._next("run"), job_id, name, at, 0, None, None))

    def _put_run(self, run: Run) -> Run:
        self._put(self._tables.runs, run.number, run)
        return run

    def _count_staged(self, number: int, change: int) -> None:
        run = self._tables.runs[number]
        self._put_run(changed(run, staged=run.staged + change))

    def put_block(self, run: int, block: int, attempt: int) -> None:
        self._put(self._tables.blocks, (run, block), attempt)

    def put_job_row(self, job_id: str, row: JobRow) -> None:
        self._put_row(job_id, RowOfJob(row))

    def _put_row(self, job_id: str, found: RowOfJob) -> None:
        key = (self._tables.jobs[job_id].number, found.row.row)
        self._put(self._tables.job_rows, key, found)

    def add_staged(
        self,
        job_id: str,
        row: JobRow,
        message: Message,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
    ) -> None:
        check_payloads(message.payloads, payloads)
        self._put_row(job_id, RowOfJob(row, Staged(message, tuple(payloads), digest)))
        self._count_staged(row.run, 1)

    def move_staged(self, job_id: str, row: int, *, to: int) -> None:
        found = self._staged(job_id, row)
        del self._tables.job_rows[self._tables.jobs[job_id].number, row]
        self._put_row(job_id, changed(found, row=changed(found.row, row=to)))

    def _staged(self, job_id: str, row: int) -> RowOfJob:
        found = self._find(job_id, row)
        assert found is not None, f"no row {row} of {job_id}"
        assert found.staged is not None, f"nothing is staged in row {row} of {job_id}"
        return found

    def forget_row(self, job_id: str, row: int) -> None:
        found = self._find(job_id, row)
        assert found is not None, f"no row {row} of {job_id}"
        self._forget(self._tables.jobs[job_id].number, [found.row])

    def release_run(self, number: int, *, at: int) -> None:
        run = self._put_run(changed(self._tables.runs[number], released_at=at))
        job = self._tables.jobs.get(run.job_id)
        if job is not None and any(found.row.run == number for found in self._rows_of(job.number)):
            self._put_job(changed(job, releases=job.releases + 1, released_at=at))

    def drop_run(self, number: int, *, at: int) -> None:
        self._put_run(changed(self._tables.runs[number], dropped_at=at))

    def remove_staged(self, job_id: str, row: int) -> None:
        self._put_row(job_id, changed(self._staged(job_id, row), staged=None))

    def _forget_rows_of(self, number: int, runs: Sequence[Run], limit: int) -> int:
        numbers = {run.number for run in runs}
        rows = [found.row for found in self._rows_of(number) if found.row.run in numbers]
        in_order = sorted(rows, key=lambda row: (row.run, row.row))
        return self._forget(number, in_order[:limit])

    def _forget_rows(self, number: int, limit: int) -> int:
        return self._forget(number, [found.row for found in self._rows_of(number)[:limit]])

    def _forget(self, number: int, rows: Sequence[JobRow]) -> int:
        for row in rows:
            key = (number, row.row)
            if self._tables.job_rows[key].staged is not None:
                self._count_staged(row.run, -1)
            self._remove(self._tables.job_rows, key)
        return len(rows)

    def _forget_empty(self, number: int, job_id: str) -> int:
        if self._rows_of(number):
            return 0
        self._remove(self._tables.jobs, job_id)
        for run in self._runs(job_id):
            if run.dropped_at is None:
                self._forget_run(run.number)
        return 1

    def _list_by_age(self, after: int, before_at: int) -> Sequence[tuple[int, str, bool]]:
        return [
            (job.number, job.job_id, max(job.staged_at, job.released_at or 0) < before_at)
            for job in self.list_jobs(after, JOBS_PER_PURGE)
        ]

    def _forget_dropped_runs(self, before_at: int, limit: int) -> None:
        old = [
            run.number
            for run in sorted(self._tables.runs.values(), key=lambda run: run.dropped_at or 0)
            if run.dropped_at is not None and run.dropped_at < before_at
            if run.job_id not in self._tables.jobs
        ]
        for number in old[:limit]:
            self._forget_run(number)

    def _forget_run(self, number: int) -> None:
        self._remove(self._tables.runs, number)
        for key in [key for key in self._tables.blocks if key[0] == number]:
            del self._tables.blocks[key]

    def _is_standing(self, number: int) -> bool:
        return any(
            found.row.outcome is RowOutcome.ACCEPTED and found.ended is None
            for found in self._rows_of(number)
        )

    def _note_end(self, message_id: str, status: str) -> None:
        """Keep how a message that is purged ended, in the job rows that it came from."""
        for key, found in list(self._tables.job_rows.items()):
            row = found.row
            is_its = row.message_id == message_id and row.outcome is RowOutcome.ACCEPTED
            if is_its and found.staged is None and found.ended is None:
                self._tables.job_rows[key] = changed(found, ended=status)
