"""DataFrames out: tasks stage their rows in a job of the gateway, the commit releases it.

A task may be tried again, run twice at once, or die between any two calls: its rows have their
numbers and MessageIds from the DataFrame alone, so the gateway knows them again, and of attempts at
once it listens to the latest. Nothing is sent before every row of the job is staged; what an
aborted job staged is dropped.

All attempts of all tasks of one start share its `run`, so that the commit releases, and the abort
drops, what this start has staged, and nothing that another has.
"""

import json
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from onceonly.api.jobs import RowAnswer
from onceonly.api.refusals import Refusal
from onceonly.client import Client
from onceonly.message.errors import LocalError
from pyspark_onceonly import rejects
from pyspark_onceonly.options import GatewayAddress
from pyspark_onceonly.patience import PAUSE_S_MAX, patiently
from pyspark_onceonly.row_shape import RowShape

ROW_BITS = 32
"""A row's number in the job is its task's partition, then its place in it: 2^32 rows a task."""

LINE_BYTES_MAX = 32 << 20
"""What a gateway takes in one request, and so in one row: `BULK_BYTES_MAX` of its own."""

REQUEST_BYTES_MAX = LINE_BYTES_MAX // 2
"""Of rows that share a request: a larger one has a request of its own."""

OUTCOMES = ("accepted", "rejected", "replayed")

_LOG = logging.getLogger(__name__)


class SinkJob(NamedTuple):
    """What every task and the driver have of the job; picklable."""

    gateway: GatewayAddress
    run: str
    """One start of a batch, or of a stream; made on the driver."""
    shape: RowShape
    rows_per_request: int
    rejects: str | None
    report: str | None
    rejects_max: int | None = None
    """With more rejected rows than this nothing is sent."""


@dataclass
class TaskCounts(WriterCommitMessage):
    """What became of the rows of one task."""

    job: str
    run: str
    partition: int
    rows: int
    accepted: int
    rejected: int
    replayed: int
    rejects_file: str | None


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("onceonly")`."""

    def __init__(self, sink: SinkJob) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCounts:
        """Stage the rows of one task."""
        return stage_task(self._sink, self._sink.shape.job, task_of(_context()), iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Every row is staged: release the job."""
        counts = _counts(messages)
        if any(task.rows for task in counts):
            commit_job(self._sink, counts)
            check_any_taken(counts)
        else:
            commit_nothing(self._sink, self._sink.shape.job)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Some task failed for good: drop what the others staged."""
        del messages
        drop_run(self._sink, self._sink.shape.job, self._sink.run)


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("onceonly")`: each batch is a job of its own."""

    def __init__(self, sink: SinkJob) -> None:
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskCounts:
        """Stage the rows of one task of the batch."""
        context = _context()
        query_id = context.getLocalProperty("sql.streaming.queryId")
        batch_id = context.getLocalProperty("streaming.sql.batchId")
        assert None not in (query_id, batch_id), "a batch of a stream has a query and a number"
        job = f"{self._sink.shape.job}{query_id}-{batch_id}"
        return stage_task(self._sink, job, task_of(context), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - because Spark passes it by name
        """Every row of the batch is staged: release its job. A replayed batch has the same."""
        del batchId
        commit_job(self._sink, _counts(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - because Spark passes it by name
        """The batch failed: drop what is staged of it; if it comes again it is staged again."""
        del batchId
        for job, run in {(counts.job, counts.run) for counts in _counts(messages)}:
            drop_run(self._sink, job, run)


def _counts(messages: Sequence[WriterCommitMessage | None]) -> list[TaskCounts]:
    return [message for message in messages if isinstance(message, TaskCounts)]


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "writers run in tasks"
    return context


class Task(NamedTuple):
    """One attempt of a task. Spark numbers those of all tasks in the order of their start."""

    partition: int
    attempt: int


def task_of(context: TaskContext) -> Task:
    """The attempt that this is."""
    return Task(context.partitionId(), context.taskAttemptId())


def stage_task(
    sink: SinkJob, job: str, task: Task, batches: Iterator[pa.RecordBatch]
) -> TaskCounts:
    """Stage the rows of one task, in requests of many.

    Any attempt of the task may do so, and one may stop anywhere. Of two at once the later one does;
    the other returns nothing, and fails (AttemptOver) once there is nobody else at work.
    """
    try:
        return _stage(sink, job, task, batches)
    except LocalError as error:
        if error.name == "AttemptOver":
            _stand_by(sink, job)
        raise


def _stand_by(sink: SinkJob, job: str) -> None:
    """Return when nobody has staged rows of the job for `patience_s`; Spark ends us before.

    A task that fails while its other attempt is at work uses up its tries: Spark may start a third
    one, which would overtake that, and so on until the job is given up.
    """
    patience_s = sink.gateway.patience_s
    staged_at, until = None, 0.0
    with sink.gateway.client() as client:
        while True:
            found = patiently(lambda: client.job(job), patience_s).staged_at
            if found != staged_at:
                staged_at, until = found, time.monotonic() + patience_s
            elif time.monotonic() > until:
                return
            time.sleep(min(PAUSE_S_MAX, patience_s / 10))


def _stage(sink: SinkJob, job: str, task: Task, batches: Iterator[pa.RecordBatch]) -> TaskCounts:
    partition = task.partition
    counts = TaskCounts(job, sink.run, partition, 0, 0, 0, 0, None)
    refused = rejects.RejectsFile(sink.rejects, job, partition)
    shape = sink.shape.of_job(job)
    with sink.gateway.client() as client:
        for batch in batches:
            for start in range(0, batch.num_rows, sink.rows_per_request):
                some = batch.slice(start, sink.rows_per_request)
                first = (partition << ROW_BITS) + counts.rows
                numbers = range(first, first + some.num_rows)
                lines = list(shape.lines(some, numbers))
                answers = _staged(sink, client, job, task, lines)
                _count(counts, answers)
                found = [one for one in enumerate(answers) if one[1].outcome == "rejected"]
                refused.add(some, found)
    refused.close()
    counts.rejects_file = refused.temporary
    return counts


def _staged(
    sink: SinkJob, client: Client, job: str, task: Task, lines: Sequence[bytes]
) -> list[RowAnswer]:
    """What became of each line. One that no request holds is rejected here, and never sent."""
    answers: list[RowAnswer] = []
    for body in _requests([line for line in lines if len(line) <= LINE_BYTES_MAX]):
        stage = partial(client.stage_lines, job, body, sink.run, task.attempt)
        answers += patiently(stage, sink.gateway.patience_s)
    sent = iter(answers)
    return [next(sent) if len(line) <= LINE_BYTES_MAX else _too_large(line) for line in lines]


def _too_large(line: bytes) -> RowAnswer:
    """The answer to a row as the gateway has it."""
    row = json.loads(line)
    named = row["message_id"] if isinstance(row["message_id"], str) else None
    text = f"the row has {len(line)} bytes, and a request {LINE_BYTES_MAX} at most"
    error = Refusal(name="PayloadTooLarge", text=text)
    return RowAnswer(row=row["row"], message_id=named, outcome="rejected", error=error)


def _requests(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The lines in as few requests as their bytes allow; one of none, which opens the job's run."""
    waiting: list[bytes] = []
    size_bytes = 0
    for line in lines:
        if waiting and size_bytes + len(line) > REQUEST_BYTES_MAX:
            yield b"\n".join(waiting)
            waiting, size_bytes = [], 0
        waiting.append(line)
        size_bytes += len(line)
    yield b"\n".join(waiting)


def _count(counts: TaskCounts, answers: Sequence[RowAnswer]) -> None:
    counts.rows += len(answers)
    for outcome in OUTCOMES:
        more = sum(answer.outcome == outcome for answer in answers)
        setattr(counts, outcome, getattr(counts, outcome) + more)


def commit_job(sink: SinkJob, tasks: Sequence[TaskCounts]) -> None:
    """Release the job, name its rejects, write its report; again, all of it changes nothing.

    Every row that came in is accepted, rejected or replayed, and what was accepted is there still,
    or this raises before anything is released. Whoever may not release touches no file either.

    Raises `LocalError` (TooManyRejects) where more rows are rejected than is allowed. Then nothing
    is released, and the rejects and the report are there to say why.
    """
    if not any(task.rows for task in tasks):
        return
    [(job, run)] = {(task.job, task.run) for task in tasks}
    total = {name: sum(getattr(task, name) for task in tasks) for name in ("rows", *OUTCOMES)}
    assert total["rows"] == sum(total[name] for name in OUTCOMES), "every row has one outcome"
    is_too_many = sink.rejects_max is not None and total["rejected"] > sink.rejects_max
    if not is_too_many:
        with sink.gateway.client() as client:
            staged = total["accepted"]
            patiently(lambda: client.release(job, run, staged), sink.gateway.patience_s)
    _keep_rejects(sink, job, tasks)
    _report(sink, job, total, is_released=not is_too_many)
    if is_too_many:
        text = f"and max_rejects is {sink.rejects_max}, so nothing was sent"
        raise LocalError("TooManyRejects", f"{_rejected_of(tasks)}, {text}: {_reasons(sink, job)}")
    if total["rejected"]:
        # They stop nothing, so without a word whoever asked for neither folder would not know.
        _LOG.warning("%s; why: onceonly job show %s --rejects", _rejected_of(tasks), job)


def check_any_taken(tasks: Sequence[TaskCounts]) -> None:
    """Raises `LocalError` (AllRejected): a batch of rows that are all wrong is a wrong batch.

    Of a stream that is no error, since a batch may be one row, and would come again for ever.
    """
    if any(task.rows for task in tasks) and not any(
        task.accepted + task.replayed for task in tasks
    ):
        job = tasks[0].job
        text = f"so nothing was sent; why: onceonly job show {job} --rejects"
        raise LocalError("AllRejected", f"{_rejected_of(tasks)}, {text}")


def _rejected_of(tasks: Sequence[TaskCounts]) -> str:
    rejected, rows = sum(task.rejected for task in tasks), sum(task.rows for task in tasks)
    return f"{rejected} of {rows} rows of job {tasks[0].job} were rejected"


REASONS_SHOWN = 3
"""Reasons in an error's text, which may be all that is left of the rows once they are dropped."""


def _reasons(sink: SinkJob, job: str) -> str:
    def ask() -> list[str]:
        with sink.gateway.client() as client:
            some = islice(client.rejects(job), REASONS_SHOWN)
            return [f"{row.message_id}: {row.error.name}: {row.error.text}" for row in some]

    return "; ".join(patiently(ask, sink.gateway.patience_s)) or "they are larger than a request"


def commit_nothing(sink: SinkJob, job: str) -> None:
    """No row came in: there is nothing to release, and the report says so."""
    _keep_rejects(sink, job, ())
    _report(sink, job, dict.fromkeys(("rows", *OUTCOMES), 0))


def _keep_rejects(sink: SinkJob, job: str, tasks: Sequence[TaskCounts]) -> None:
    if sink.rejects is not None:
        files = {task.partition: task.rejects_file for task in tasks}
        rejects.keep(sink.rejects, job, files)


def _report(sink: SinkJob, job: str, total: dict[str, int], *, is_released: bool = True) -> None:
    if sink.report is not None:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        report = {"job": job, **total, "released_at": now if is_released else None}
        rejects.write_report(sink.report, job, json.dumps(report).encode() + b"\n")


def drop_run(sink: SinkJob, job: str, run: str) -> None:
    """Forget what this run has staged of the job; it may not stage any more."""
    with sink.gateway.client() as client:
        patiently(lambda: client.drop(job, run), sink.gateway.patience_s)
