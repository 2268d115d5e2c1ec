"""Calls about jobs: messages handed over in bulk, staged, and released together.

Reads the requests and shows the results; `steps.staging` has the rules.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec import UNSET
from starlette.requests import Request

from onceonly.api import jobs, operations
from onceonly.api.jobs import (
    AnyJobPath,
    JobMessagePath,
    JobPath,
    JobsQuery,
    NamedRunQuery,
    PageQuery,
    ReleaseQuery,
    StageOneQuery,
    StageQuery,
)
from onceonly.api.messages import Header
from onceonly.api.operation import Nothing
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.bounds import announced, read_on
from onceonly.gateway.api.declared import checked, fields_of, from_members
from onceonly.gateway.api.list_calls import job_filter, paged
from onceonly.gateway.api.ownership import owned
from onceonly.gateway.api.reading import page_limit, parsed, submission, too_large
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.application.jobs import StagedRow
from onceonly.gateway.application.submissions import Part, Submission
from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.store.contract.jobs import RowOutcome
from onceonly.store.spool import Sink

ROWS_MAX = 1_000
"""Most rows of one request: about 60 ms of staging, which is one step."""

BULK_BYTES_MAX = 32 << 20
"""Longest request in bytes; it is in memory as a whole, several times."""

_USUAL_TYPE = "application/octet-stream"


class JobCalls(ABC):
    """The routes under /v1/jobs.

    Methods that are no coroutines read the store: the API runs them in threads.
    """

    _served: Served

    @abstractmethod
    def _submission(
        self, request: Request, message_id: str | None
    ) -> AbstractAsyncContextManager[Submission]:
        """The submission that a request holds, with its payloads while it is open."""

    @serves(operations.PUT_JOB_MESSAGE)
    async def put_job_message(
        self, asked: Asked[JobMessagePath, StageOneQuery, Header]
    ) -> Answer[jobs.RowAnswer]:
        """Stage one message under the MessageId of the path."""
        path, query = asked.path, asked.query
        async with self._submission(asked.request, path.message_id) as submission:
            row = StagedRow(submission, query.row, path.message_id)
            [answer] = await self._served.jobs.stage(path.job, [row], query.run, query.attempt)
        if answer.error is not None:
            raise answer.error
        is_new = answer.outcome is RowOutcome.ACCEPTED
        return Json(shapes.row_shape(answer), status_code=201 if is_new else 200)

    @serves(operations.POST_JOB_MESSAGES)
    async def post_job_messages(
        self, asked: Asked[JobPath, StageQuery, jobs.StagedRow]
    ) -> Answer[jobs.StagedRows]:
        """Stage the rows of the body, one JSON object per line."""
        if announced(asked.request) is None:
            raise LocalError("LengthRequired", "a request of many rows says its Content-Length")
        refused = LocalError("PayloadTooLarge", f"a request has {BULK_BYTES_MAX} bytes at most")
        body = await read_on(asked.request, BULK_BYTES_MAX, refused).body()
        job, query = asked.path.job, asked.query
        sinks: list[Sink] = []
        try:
            own = asked.caller.agreement_ids
            rows = [self._staged_row(row, sinks, own) for row in _rows_of(body)]
            answers = await self._served.jobs.stage(job, rows, query.run, query.attempt)
        finally:
            for sink in sinks:
                sink.discard()
        return Json(jobs.StagedRows(job=job, rows=tuple(map(shapes.row_shape, answers))))

    def _staged_row(
        self, row: dict[str, Any], sinks: list[Sink], own: frozenset[str] | None
    ) -> StagedRow:
        number = row.get("row")
        if number is not None:
            checked(fields_of(jobs.StagedRow)["row"], number)
        named = row.get("message_id")
        named = named if isinstance(named, str) else None
        try:
            read = from_members(jobs.StagedRow, row)
            asked = submission(read, self._parts(read, sinks), read.message_id, None)
        except LocalError as error:
            return StagedRow(error, number, named)
        return StagedRow(changed(asked, own=own), number, named)

    def _parts(self, row: jobs.StagedRow, sinks: list[Sink]) -> list[Part]:
        listed: Sequence[jobs.RowPayload] = row.payloads or ()
        own = (row.payload, row.payload_base64, row.content_type, row.name)
        if row.payloads is None and any(one is not UNSET for one in own):
            listed = [row]
        elif row.payloads is not None and any(one is not UNSET for one in own):
            raise LocalError("InvalidField", "a row has one payload of its own, or payloads")
        parts: list[Part] = []
        room = self._served.payload_bytes_max
        for payload in listed:
            content = _content(payload)
            room -= len(content)
            if room < 0:
                raise too_large(self._served.payload_bytes_max)
            sink = self._served.spool.open_sink()
            sinks.append(sink)
            sink.write(content)
            parts.append(Part(sink, payload.content_type or _USUAL_TYPE, payload.name or ""))
        return parts

    @serves(operations.LIST_JOBS)
    def list_jobs(self, asked: Asked[Nothing, JobsQuery, Nothing]) -> Answer[jobs.JobPage]:
        """A page of jobs with their counts."""
        page = self._served.jobs.list_page(
            owned(paged(job_filter(asked.query), asked.query), asked.caller)
        )
        items = tuple(shapes.job_shape(job, counts) for job, counts in page.items)
        return Json(jobs.JobPage(jobs=items, next_after=page.next_after, is_cut=page.is_cut))

    @serves(operations.GET_JOB)
    def get_job(self, asked: Asked[AnyJobPath, Nothing, Nothing]) -> Answer[jobs.Job]:
        """One job and its counts."""
        job, counts = self._served.jobs.get(asked.path.job)
        return Json(shapes.job_shape(job, counts))

    @serves(operations.LIST_REJECTS)
    def list_rejects(self, asked: Asked[AnyJobPath, PageQuery, Nothing]) -> Answer[jobs.RejectPage]:
        """A page of the rows that were rejected, and why."""
        limit, after = page_limit(asked.query.limit), asked.query.after - 1
        rows = self._served.store.snapshot().list_rejects(asked.path.job, after, limit)
        next_after = rows[-1].row + 1 if len(rows) == limit else None
        rejects = tuple(map(shapes.reject_shape, rows))
        return Json(jobs.RejectPage(rejects=rejects, next_after=next_after))

    @serves(operations.RELEASE_JOB)
    async def release_job(
        self, asked: Asked[AnyJobPath, ReleaseQuery, Nothing]
    ) -> Answer[jobs.ReleasedJob]:
        """Send what is staged; answers without counts, which take their time."""
        query = asked.query
        job = await self._served.jobs.release(asked.path.job, query.run, query.staged)
        return Json(shapes.release_shape(job))

    @serves(operations.DROP_JOB)
    async def drop_job(self, asked: Asked[JobPath, NamedRunQuery, Nothing]) -> Answer[jobs.Dropped]:
        """Forget what is staged and not released."""
        job = asked.path.job
        return Json(
            jobs.Dropped(job=job, dropped=await self._served.jobs.drop(job, asked.query.run))
        )


def _rows_of(body: bytes) -> list[dict[str, Any]]:
    """The lines' objects. Raises `LocalError` (InvalidJson, TooManyRows)."""
    try:
        text = body.decode()
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) > ROWS_MAX:
            raise LocalError("TooManyRows", f"a request has {ROWS_MAX} rows at most")
        rows = [parsed(line) for line in lines]
    except (ValueError, RecursionError) as error:
        raise LocalError("InvalidJson", f"a line is no JSON: {error}") from error
    if not all(isinstance(row, dict) for row in rows):
        raise LocalError("InvalidJson", "every line is a JSON object")
    return rows


def _content(payload: jobs.RowPayload) -> bytes:
    text, content = payload.payload, payload.payload_base64
    if isinstance(text, str) and not isinstance(content, bytes):
        return text.encode()
    if not isinstance(content, bytes) or isinstance(text, str):
        raise LocalError("InvalidField", "a payload is a text, or base64 of its bytes")
    return content
