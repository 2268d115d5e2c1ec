"""Calls about jobs: messages handed over in bulk, staged, and released together.

Reads the requests and shows the results; `steps.staging` has the rules.
"""

from abc import ABC, abstractmethod
from base64 import b64decode
from binascii import Error as NotBase64
from contextlib import AbstractAsyncContextManager
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Json, shown
from onceonly.gateway.api.bounds import announced, read_on
from onceonly.gateway.api.reading import limit_of, parsed, submission_of, too_large, whole
from onceonly.gateway.application.jobs import Jobs, StagedRow
from onceonly.gateway.application.submissions import Part, Submission
from onceonly.message.errors import LocalError
from onceonly.steps.places import NUMBER_BITS, RowAnswer
from onceonly.store.contract.jobs import RowOutcome
from onceonly.store.contract.store import Store
from onceonly.store.spool import Sink, Spool

ROWS_MAX = 1_000
"""Most rows of one request: about 60 ms of staging, which is one step."""

BULK_BYTES_MAX = 32 << 20
"""Longest request in bytes; it is in memory as a whole, several times."""

_PAYLOAD_FIELDS = ("payload", "payload_base64", "content_type", "name")
_USUAL_TYPE = "application/octet-stream"


class JobCalls(ABC):
    """The routes under /v1/jobs.

    Methods that are no coroutines read the store: the API runs them in threads.
    """

    _store: Store
    _spool: Spool
    _jobs: Jobs
    _payload_bytes_max: int

    @abstractmethod
    def _submission(
        self, request: Request, message_id: str | None
    ) -> AbstractAsyncContextManager[Submission]:
        """The submission that a request holds, with its payloads while it is open."""

    async def put_job_message(self, request: Request) -> Response:
        """Stage one message under the MessageId of the path."""
        message_id = request.path_params["message_id"]
        number = _checked_row(whole(request, "row", -1))
        async with self._submission(request, message_id) as submission:
            row = StagedRow(submission, None if number < 0 else number, message_id)
            job, run, attempt = request.path_params["job"], _run_of(request), _attempt_of(request)
            [answer] = await self._jobs.stage(job, [row], run, attempt)
        if answer.error is not None:
            raise answer.error
        is_new = answer.outcome is RowOutcome.ACCEPTED
        return Json(_row_shape(answer), status_code=201 if is_new else 200)

    async def post_job_messages(self, request: Request) -> Response:
        """Stage the rows of the body, one JSON object per line."""
        if announced(request) is None:
            raise LocalError("LengthRequired", "a request of many rows says its Content-Length")
        refused = LocalError("PayloadTooLarge", f"a request has {BULK_BYTES_MAX} bytes at most")
        body = await read_on(request, BULK_BYTES_MAX, refused).body()
        sinks: list[Sink] = []
        try:
            rows = [self._staged_row(row, sinks) for row in _rows_of(body)]
            job, run, attempt = request.path_params["job"], _run_of(request), _attempt_of(request)
            answers = await self._jobs.stage(job, rows, run, attempt)
        finally:
            for sink in sinks:
                sink.discard()
        return Json({"job": job, "rows": [_row_shape(one) for one in answers]})

    def _staged_row(self, row: dict[str, Any], sinks: list[Sink]) -> StagedRow:
        number = row.pop("row", None)
        if not (number is None or (type(number) is int and number >= 0)):
            raise LocalError("InvalidField", f"row {shown(number)} is no whole number")
        _checked_row(number or 0)
        named = row.get("message_id")
        named = named if isinstance(named, str) else None
        try:
            return StagedRow(self._submission_of(row, sinks), number, named)
        except LocalError as error:
            return StagedRow(error, number, named)

    def _submission_of(self, row: dict[str, Any], sinks: list[Sink]) -> Submission:
        listed = row.pop("payloads", None)
        if listed is None:
            own = {name: row.pop(name) for name in _PAYLOAD_FIELDS if name in row}
            listed = [own] if own else []
        if not isinstance(listed, list):
            raise LocalError("InvalidField", "payloads is no list")
        parts: list[Part] = []
        room = self._payload_bytes_max
        for payload in listed:
            part, room = self._part(payload, sinks, room)
            parts.append(part)
        if row.get("key") is not None:
            raise LocalError("InvalidField", "a row of a job is known by its message_id")
        if not row.get("message_id"):
            raise LocalError("InvalidField", "message_id is missing")
        return submission_of(row, parts, None, None)

    def _part(self, payload: Any, sinks: list[Sink], room: int) -> tuple[Part, int]:
        """The payload in a sink, and how many bytes are left for the next ones."""
        if not isinstance(payload, dict) or payload.keys() - set(_PAYLOAD_FIELDS):
            legal = ", ".join(_PAYLOAD_FIELDS)
            raise LocalError("InvalidField", f"a payload is an object of {legal}")
        content = _content(payload)
        if len(content) > room:
            raise too_large(self._payload_bytes_max)
        sink = self._spool.open_sink()
        sinks.append(sink)
        sink.write(content)
        kind, name = (_text(payload.get(field)) for field in ("content_type", "name"))
        return Part(sink, kind or _USUAL_TYPE, name), room - len(content)

    def list_jobs(self, request: Request) -> Response:
        """A page of jobs with their counts."""
        after, limit = whole(request, "after", 0), limit_of(request)
        found = self._jobs.list_page(after, limit)
        items = [shapes.job_shape(job, counts) for job, counts in found]
        next_after = found[-1][0].number if len(found) == limit else None
        return Json({"jobs": items, "next_after": next_after})

    def get_job(self, request: Request) -> Response:
        """One job and its counts."""
        job, counts = self._jobs.get(request.path_params["job"])
        return Json(shapes.job_shape(job, counts))

    def list_rejects(self, request: Request) -> Response:
        """A page of the rows that were rejected, and why."""
        limit, job_id = limit_of(request), request.path_params["job"]
        after = whole(request, "after", 0) - 1
        rows = self._store.snapshot().list_rejects(job_id, after, limit)
        next_after = rows[-1].row + 1 if len(rows) == limit else None
        shape = {"rejects": [shapes.reject_shape(row) for row in rows], "next_after": next_after}
        return Json(shape)

    async def release_job(self, request: Request) -> Response:
        """Send what is staged; the answer has no counts, since counting takes time."""
        staged = whole(request, "staged", -1)
        expected = None if staged < 0 else staged
        job = await self._jobs.release(request.path_params["job"], _run_of(request), expected)
        return Json(shapes.release_shape(job))

    async def drop_job(self, request: Request) -> Response:
        """Forget what is staged and not released."""
        job_id = request.path_params["job"]
        return Json({"job": job_id, "dropped": await self._jobs.drop(job_id, _run_of(request))})


def _checked_row(number: int) -> int:
    if number >> NUMBER_BITS > 0:
        raise LocalError("InvalidField", f"row {number!r} is not below 2^{NUMBER_BITS}")
    return number


def _run_of(request: Request) -> str | None:
    return request.query_params.get("run")


def _attempt_of(request: Request) -> int | None:
    return whole(request, "attempt", 0) if "attempt" in request.query_params else None


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


def _content(payload: dict[str, Any]) -> bytes:
    text, encoded = payload.get("payload"), payload.get("payload_base64")
    if isinstance(text, str) and encoded is None:
        return text.encode()
    if not isinstance(encoded, str) or text is not None:
        raise LocalError("InvalidField", "a payload is a text, or base64 of its bytes")
    try:
        return b64decode(encoded, validate=True)
    except (NotBase64, ValueError) as error:
        raise LocalError("InvalidField", f"payload_base64 is no base64: {error}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str | None):
        raise LocalError("InvalidField", "content_type and name of a payload are texts")
    return value or ""


def _row_shape(answer: RowAnswer) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "row": answer.row,
        "message_id": answer.message_id,
        "outcome": answer.outcome.value,
    }
    if answer.error is not None:
        shape |= shapes.error_shape(answer.error.name, str(answer.error))
    return shape
