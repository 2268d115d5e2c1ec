"""Jobs in the write transaction of the SQLite store: the contract's `JobTransaction`.

Knows in which tables what is staged goes; must not begin, commit or roll back.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in jobs.py

from collections.abc import Sequence
from typing import Any

import apsw

from onceonly.message.message import Message
from onceonly.store import rows
from onceonly.store.failures import from_sqlite
from onceonly.store.job_reading import SqliteJobReading
from onceonly.store.jobs import Job, JobRow
from onceonly.store.queries import SQL
from onceonly.store.spool import INLINE_BYTES_MAX
from onceonly.store.store import StoredPayload

_FORGET_STAGED = ("forget_staged", "forget_staged_bodies", "forget_staged_spooled")


class SqliteJobWriting(SqliteJobReading):
    """Writes of jobs, on the one writer connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._connection = connection
        self._job_numbers: dict[str, int] = {}

    def _write(self, query: str, *bindings: Any) -> None:
        try:
            self._cursor.execute(SQL[query], bindings)
        except apsw.Error as error:
            raise from_sqlite(error) from error

    def open_job(self, job_id: str, *, at: int) -> Job:
        # Not as one upsert, which would use a number up each time.
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

    def put_job_row(self, job_id: str, row: JobRow) -> None:
        self._write("put_job_row", self._number_of(job_id), *row)

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
        self._write("put_job_row", number, *row)
        names = (number, row.round, row.row, message.message_id, message.agreement_id)
        self._write("add_staged", *names, *rows.from_message(message), digest)
        position = self._connection.last_insert_rowid()
        assert len(payloads) == len(message.payloads), "one stored payload for each described one"
        for part, (payload, body) in enumerate(payloads):
            place = rows.place(position, part)
            if body is None:
                self._write("add_staged_spooled", place, payload.digest)
            else:
                assert len(body) <= INLINE_BYTES_MAX, "a body of this size belongs into the spool"
                self._write("add_staged_body", place, body)

    def release_job(self, job_id: str, *, at: int) -> None:
        self._write("release_job", at, job_id)

    def remove_staged(self, job_id: str, row: int) -> None:
        found = self._get("list_staged_payloads", job_id, row)
        assert found is not None, f"nothing is staged in row {row} of {job_id}"
        self._forget_staged(found[0])

    def _forget_staged(self, position: int) -> None:
        for query in _FORGET_STAGED:
            self._write(query, position)

    def drop_unreleased(self, job_id: str, limit: int) -> int:
        job = self.find_job(job_id)
        if job is None:
            return 0
        dropped = self._drop_unreleased(job.number, limit)
        self._forget_empty(job.number)
        return dropped

    def _drop_unreleased(self, number: int, limit: int) -> int:
        found = self._list("list_unreleased", number, limit)
        for _, row, position in found:
            if position is not None:
                self._forget_staged(position)
            self._write("forget_job_row", number, row)
        return len(found)

    def _forget_empty(self, number: int) -> None:
        self._write("forget_job", number)
        self._job_numbers.clear()

    def purge_jobs(self, before_at: int, limit: int) -> int:
        purged = 0
        for (number,) in self._list("list_old_jobs", before_at):
            purged += self._drop_unreleased(number, limit - purged)
            if purged < limit and self._get("is_standing", number) is None:
                purged += self._forget_rows(number, limit - purged)
            if purged >= limit:
                break
        return purged

    def _forget_rows(self, number: int, limit: int) -> int:
        found = self._list("list_job_rows", number, limit)
        for (row,) in found:
            self._write("forget_job_row", number, row)
        before = self._connection.total_changes()
        self._forget_empty(number)
        return len(found) + self._connection.total_changes() - before
