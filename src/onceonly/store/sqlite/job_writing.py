"""Jobs in the write transaction of the SQLite store: the contract's `JobTransaction`.

Knows into which tables staged messages go; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in jobs.py

from collections.abc import Sequence

import apsw
from msgspec.structs import astuple

from onceonly.message.message import Message
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.jobs import JOBS_PER_PURGE, Job, JobRow, JobTransaction, Run
from onceonly.store.contract.rules import check_payloads
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.job_reading import SqliteJobReading
from onceonly.store.sqlite.later import SqliteLater

_FORGET_STAGED = ("forget_staged", "forget_staged_bodies", "forget_staged_spooled")


class SqliteJobWriting(SqliteLater, SqliteJobReading, JobTransaction):
    """Writes of jobs, on the one writer connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._job_numbers: dict[str, int] = {}

    def open_job(self, job_id: str, *, at: int) -> Job:
        # Not one upsert, which would use up a number in each call.
        self._write("open_job" if self.find_job(job_id) is None else "touch_job", job_id, at)
        job = self.find_job(job_id)
        assert job is not None, "just written"
        return job

    def _number_of(self, job_id: str) -> int:
        number = self._job_numbers.get(job_id)
        if number is None:
            job = self.find_job(job_id)
            assert job is not None, f"no job {job_id}"
            number = self._job_numbers[job_id] = job.number
        return number

    def open_run(self, job_id: str, name: str | None, *, at: int) -> Run:
        self._write("open_run", job_id, name, at)
        return self.get_run(self._connection.last_insert_rowid())

    def put_block(self, run: int, block: int, attempt: int) -> None:
        self._write("put_block", run, block, attempt)

    def put_job_row(self, job_id: str, row: JobRow) -> None:
        self._write("put_job_row", self._number_of(job_id), *astuple(row))

    def add_staged(
        self,
        job_id: str,
        row: JobRow,
        message: Message,
        payloads: Sequence[StoredPayload],
        *,
        digest: str,
    ) -> None:
        number = self._number_of(job_id)
        self._write("put_job_row", number, *astuple(row))
        names = (number, row.run, row.row, message.message_id, message.agreement_id)
        self._write("add_staged", *names, *mapping.from_message(message), digest)
        position = self._connection.last_insert_rowid()
        self._write("count_staged", row.run, 1)
        check_payloads(message.payloads, payloads)
        for part, one in enumerate(payloads):
            place, body = mapping.place(position, part), one.body
            if body is None:
                self._write("add_staged_spooled", place, one.payload.digest)
            else:
                self._write("add_staged_body", place, body)

    def move_staged(self, job_id: str, row: int, *, to: int) -> None:
        position = self._staged(job_id, row)
        self._write("move_job_row", self._number_of(job_id), row, to)
        self._write("move_staged", position, to)

    def _position(self, job_id: str, row: int) -> int | None:
        found = self._get("list_staged_payloads", job_id, row)
        return None if found is None else int(found[0])

    def _staged(self, job_id: str, row: int) -> int:
        position = self._position(job_id, row)
        assert position is not None, f"nothing is staged in row {row} of {job_id}"
        return position

    def forget_row(self, job_id: str, row: int) -> None:
        kept, position = self.find_job_row(job_id, row), self._position(job_id, row)
        assert kept is not None, f"no row {row} of {job_id}"
        self._forget_row(self._number_of(job_id), kept.run, row, position)

    def _forget_row(self, number: int, run: int, row: int, position: int | None) -> None:
        if position is not None:
            self._forget_staged(position)
            self._write("count_staged", run, -1)
        self._write("forget_job_row", number, row)

    def release_run(self, number: int, *, at: int) -> None:
        self._write("release_run", number, at)
        if self._get("is_filled", number) is not None:
            self._write("release_job", at, self.get_run(number).job_id)

    def drop_run(self, number: int, *, at: int) -> None:
        self._write("drop_run", number, at)

    def remove_staged(self, job_id: str, row: int) -> None:
        self._forget_staged(self._staged(job_id, row))

    def _forget_staged(self, position: int) -> None:
        for query in _FORGET_STAGED:
            self._write(query, position)

    def _forget_rows_of(self, number: int, runs: Sequence[Run], limit: int) -> int:
        count = 0
        for run in runs:
            found = self._list("list_rows_of_run", run.number, limit - count)
            for row, position in found:
                self._forget_row(number, run.number, row, position)
            count += len(found)
        return count

    def _forget_empty(self, number: int, job_id: str) -> int:
        self._write("forget_job", number)
        if self._connection.changes() == 0:
            return 0
        self._job_numbers.clear()
        self._write("forget_runs", job_id)
        self._write("forget_blocks")
        return 1

    def _forget_dropped_runs(self, before_at: int, limit: int) -> None:
        self._write("forget_dropped_runs", before_at, limit)
        self._write("forget_blocks")

    def _list_by_age(self, after: int, before_at: int) -> Sequence[tuple[int, str, bool]]:
        return self._list("list_jobs_by_age", after, JOBS_PER_PURGE, before_at)

    def _is_standing(self, number: int) -> bool:
        return self._get("is_standing", number) is not None

    def _forget_rows(self, number: int, limit: int) -> int:
        found = self._list("list_job_rows", number, limit)
        for (row,) in found:
            self._write("forget_job_row", number, row)
        return len(found)
