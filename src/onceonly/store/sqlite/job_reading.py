"""Questions about jobs to the SQLite store: the contract's `JobSnapshot`.

Knows which named query answers which question; must not write.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in jobs.py

from collections.abc import Sequence

from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.jobs import Job, JobRow, Run, StagedMessage
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.asking import SqliteQuestions


class SqliteJobReading(SqliteQuestions):
    """Reads of jobs over one connection."""

    def find_job(self, job_id: str) -> Job | None:
        row = self._get("find_job", job_id)
        return None if row is None else Job(*row)

    def list_jobs(self, after: int, limit: int) -> Sequence[Job]:
        return [Job(*row) for row in self._list("list_jobs", after, limit)]

    def find_run(self, job_id: str, name: str | None) -> Run | None:
        found = self._get("find_run", job_id, name)
        return None if found is None else Run(*found)

    def find_newest_run(self, job_id: str) -> Run | None:
        found = self._get("find_newest_run", job_id)
        return None if found is None else Run(*found)

    def find_latest_release(self, job_id: str) -> Run | None:
        found = self._get("find_latest_release", job_id)
        return None if found is None else Run(*found)

    def get_run(self, number: int) -> Run:
        return Run(*self._get("get_run", number))

    def list_unreleased_runs(self, job_id: str) -> Sequence[Run]:
        return [Run(*row) for row in self._list("list_unreleased_runs", job_id)]

    def find_block(self, run: int, block: int) -> int | None:
        found: int | None = self._get("find_block", run, block)
        return found

    def find_job_row(self, job_id: str, row: int) -> JobRow | None:
        found = self._get("find_job_row", job_id, row)
        return None if found is None else mapping.to_job_row(found)

    def find_accepted_row(self, job_id: str, message_id: str) -> JobRow | None:
        found = self._get("find_accepted_row", job_id, message_id)
        return None if found is None else mapping.to_job_row(found)

    def last_job_row(self, job_id: str) -> int:
        found: int | None = self._get("last_job_row", job_id)
        return -1 if found is None else found

    def list_rejects(self, job_id: str, after: int, limit: int) -> Sequence[JobRow]:
        return [mapping.to_job_row(row) for row in self._list("list_rejects", job_id, after, limit)]

    def count_job(self, job_id: str) -> dict[str, int]:
        return dict(self._list("count_job", job_id))

    def list_released(self, limit: int) -> Sequence[StagedMessage]:
        found: list[StagedMessage] = []
        for (number,) in self._list("list_released_runs"):
            released = self._list("list_released_of", number, limit - len(found))
            found += map(mapping.to_staged, released)
            if len(found) == limit:
                break
        return found

    def find_staged(self, job_id: str, row: int) -> StagedMessage | None:
        found = self._get("find_staged", job_id, row)
        return None if found is None else mapping.to_staged(found)

    def list_staged_payloads(self, job_id: str, row: int) -> Sequence[StoredPayload]:
        found = self._get("list_staged_payloads", job_id, row)
        return self._payloads(found, "list_staged_bodies")
