"""Attempts of one task side by side, as under speculation, against a real gateway; no Spark.

Spark never puts a speculative attempt on the host of the first, so one machine cannot show it.
"""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nemesis_gateways import Exchange, until
from pyspark.sql.types import StringType, StructType

from onceonly.api.jobs import Job
from onceonly.client import Client
from onceonly.gateway.api.job_calls import BULK_BYTES_MAX, ROWS_MAX
from onceonly.message.errors import LocalError
from pyspark_onceonly.options import ROWS_PER_REQUEST_MAX, Options
from pyspark_onceonly.row_shape import shape_of
from pyspark_onceonly.sink import (
    LINE_BYTES_MAX,
    SinkJob,
    Task,
    commit_job,
    commit_nothing,
    drop_run,
    stage_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.process

COUNT = 60
SCHEMA = StructType().add("order_id", StringType()).add("payload", StringType())
MEETING_S = 60.0


def sink_of(exchange: Exchange, job: str, run: str = "run-1", **more: str) -> SinkJob:
    options = Options(
        {
            "api": exchange.sender.site.api,
            "to": exchange.receiver.site.party,
            "service": "Ordering",
            "action": "NewOrder",
            "message_id_column": "order_id",
            **more,
        }
    )
    shape = shape_of(options, SCHEMA, job)
    files = options.find("rejects"), options.find("report")
    return SinkJob(options.gateway(), run, shape, 5, *files)


def batches(job: str, partition: int, *, bad: int = -1) -> Iterator[pa.RecordBatch]:
    for start in range(0, COUNT, 20):
        names = [f"{job}-{partition}-{n}" for n in range(start, start + 20)]
        ids = ["two words" if start + n == bad else name for n, name in enumerate(names)]
        yield pa.RecordBatch.from_pydict({"order_id": ids, "payload": names})


def counted(exchange: Exchange, job: str) -> Job:
    with Client(exchange.sender.site.api) as client:
        return client.job(job)


@pytest.mark.parametrize("is_turned", [False, True], ids=["in one order", "in other orders"])
def test_of_two_attempts_at_once_the_later_is_the_task(exchange: Exchange, is_turned: bool) -> None:
    """The first is overtaken in the middle and waits, until nobody else is at work; twins count."""
    job = f"twice-{is_turned}"
    sink = sink_of(exchange, job, patience_s="1")
    begun, overtaken = threading.Event(), threading.Event()
    rows = [*chain(*(batch.to_pylist() for batch in batches(job, 0)))]
    rows += rows[:7]

    def first() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist(rows[:30])
        begun.set()
        assert overtaken.wait(MEETING_S)
        yield pa.RecordBatch.from_pylist(rows[30:])

    def second() -> Iterator[pa.RecordBatch]:
        assert begun.wait(MEETING_S)
        order = rows[::-1] if is_turned else rows
        yield pa.RecordBatch.from_pylist(order[:20])
        overtaken.set()
        yield pa.RecordBatch.from_pylist(order[20:])

    with ThreadPoolExecutor(2) as pool:
        loser = pool.submit(stage_task, sink, job, Task(0, 1), first())
        winner = pool.submit(stage_task, sink, job, Task(0, 2), second()).result()
        with pytest.raises(LocalError, match="has begun after 1"):
            loser.result()
    assert (winner.rows, winner.accepted, winner.replayed) == (COUNT + 7, COUNT, 7)
    commit_job(sink, [winner])
    until(lambda: counted(exchange, job).acknowledged == COUNT, "all are acknowledged")
    shape = counted(exchange, job)
    assert (shape.rows, shape.accepted, shape.replayed) == (COUNT + 7, COUNT, 7)


def test_an_attempt_that_comes_late_changes_nothing(exchange: Exchange) -> None:
    """It is refused, once its run is released; rows of the next run are replays."""
    sink = sink_of(exchange, "late")
    commit_job(sink, [stage_task(sink, "late", Task(0, 0), batches("late", 0))])
    with pytest.raises(LocalError, match="released already"):
        stage_task(sink, "late", Task(0, 0), batches("late", 0))
    late = stage_task(sink._replace(run="run-2"), "late", Task(0, 0), batches("late", 0))
    assert (late.accepted, late.replayed) == (0, COUNT)
    shape = counted(exchange, "late")
    assert (shape.rows, shape.accepted, shape.staged) == (COUNT, COUNT, 0)


def test_rejects_of_an_attempt_that_lost_are_forgotten(exchange: Exchange, tmp_path: Path) -> None:
    """One file per task, that of the attempt whose message reached the commit."""
    sink = sink_of(exchange, "refused", rejects=str(tmp_path), report=str(tmp_path))
    stage_task(sink, "refused", Task(0, 0), batches("refused", 0, bad=7))
    tasks = [
        stage_task(sink, "refused", Task(part, 0), batches("refused", part, bad=7))
        for part in (0, 1)
    ]
    for _ in range(2):  # A commit that is made again finds its work done.
        commit_job(sink, tasks)
        names = sorted(path.name for path in (tmp_path / "onceonly_job=refused").iterdir())
        assert names == ["part-00000.parquet", "part-00001.parquet"]
    shape = counted(exchange, "refused")
    assert (shape.rows, shape.rejected) == (2 * COUNT, 2)


def test_a_driver_that_aborts_late_takes_nothing_from_the_next(exchange: Exchange) -> None:
    """A second start of the job sends every row, and its stragglers are refused."""
    dead, sink = sink_of(exchange, "again"), sink_of(exchange, "again", "run-2")
    stage_task(dead, "again", Task(0, 0), batches("again", 0))
    first = stage_task(sink, "again", Task(0, 0), batches("again", 0))
    drop_run(dead, "again", dead.run)
    second = stage_task(sink, "again", Task(1, 0), batches("again", 1))
    with pytest.raises(LocalError, match="dropped already"):
        stage_task(dead, "again", Task(1, 0), batches("again", 1))
    commit_job(sink, [first, second])
    until(lambda: counted(exchange, "again").acknowledged == 2 * COUNT, "all are acknowledged")


def test_a_commit_whose_rows_were_dropped_fails(exchange: Exchange, tmp_path: Path) -> None:
    """Somebody drops the job during the run: nothing is reported accepted that is not sent."""
    sink = sink_of(exchange, "operator", rejects=str(tmp_path), report=str(tmp_path))
    task = stage_task(sink, "operator", Task(0, 0), batches("operator", 0, bad=7))
    with Client(exchange.sender.site.api) as client:
        assert client.drop("operator") == COUNT
        client.stage("operator", [])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(LocalError, match="dropped already"):
        commit_job(sink, [task])
    assert sorted(tmp_path.rglob("*")) == before


def test_rejected_rows_are_in_the_driver_s_log(
    exchange: Exchange, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where nobody asked for a folder of them, or for a report."""
    sink = sink_of(exchange, "heard")
    commit_job(sink, [stage_task(sink, "heard", Task(0, 0), batches("heard", 0, bad=7))])
    assert [record.getMessage() for record in caplog.records if "heard" in record.getMessage()] == [
        f"1 of {COUNT} rows of job heard were rejected; why: onceonly job show heard --rejects"
    ]


def test_a_job_without_rows_is_reported(exchange: Exchange, tmp_path: Path) -> None:
    """A report of nothing takes the place of an earlier one, and rejects of it are forgotten."""
    sink = sink_of(exchange, "nothing", rejects=str(tmp_path), report=str(tmp_path))
    commit_job(sink, [stage_task(sink, "nothing", Task(0, 0), batches("nothing", 0, bad=7))])
    assert list((tmp_path / "onceonly_job=nothing").iterdir())
    commit_nothing(sink, "nothing")
    report = json.loads((tmp_path / "job=nothing.json").read_text())
    assert [report[name] for name in ("rows", "accepted", "rejected", "replayed")] == [0] * 4
    assert not list((tmp_path / "onceonly_job=nothing").iterdir())


def test_a_job_that_is_dropped_is_gone(exchange: Exchange) -> None:
    """Whoever drops it again is told nothing else."""
    sink = sink_of(exchange, "dropped")
    stage_task(sink, "dropped", Task(0, 0), batches("dropped", 0))
    for _ in range(2):
        drop_run(sink, "dropped", sink.run)
    with Client(exchange.sender.site.api) as client:
        assert all(job.job != "dropped" for job in client.jobs(0, 1000).jobs)


@pytest.mark.parametrize("column", ["order_id", "payload"])
def test_a_text_that_is_no_utf_8_is_a_rejected_row(
    exchange: Exchange, tmp_path: Path, column: str
) -> None:
    """As a cast from binary makes it: its neighbours are staged, and it is kept as it was."""
    job = f"utf-8-{column}"
    names = [f"{job}-{n}" for n in range(3)]
    broken = pa.array([names[0].encode(), b"\xff", names[2].encode()]).view(pa.utf8())
    batch = pa.RecordBatch.from_pydict({"order_id": names, "payload": names, column: broken})
    sink = sink_of(exchange, job, rejects=str(tmp_path))
    counts = stage_task(sink, job, Task(0, 0), iter([batch]))
    assert (counts.accepted, counts.rejected) == (2, 1)
    folder = tmp_path / f"onceonly_job={job}"
    kept = pq.read_table(folder / str(counts.rejects_file), partitioning=None)
    assert kept[column].cast(pa.binary()).to_pylist() == [b"\xff"]
    with exchange.clients() as (ours, _):
        [rejected] = ours.rejects(job)
        ours.drop(job)
    assert (rejected.row, rejected.error.name) == (1, "InvalidField")


def test_the_limits_are_those_of_the_gateway() -> None:
    """Its constants are out of reach of a client of its API."""
    assert (LINE_BYTES_MAX, ROWS_PER_REQUEST_MAX) == (BULK_BYTES_MAX, ROWS_MAX)


def with_payload(job: str, *sizes: int) -> pa.RecordBatch:
    """Rows whose payloads have so many bytes."""
    ids = [f"{job}-{n}" for n in range(len(sizes))]
    return pa.RecordBatch.from_pydict({"order_id": ids, "payload": ["x" * size for size in sizes]})


def test_a_row_that_no_request_holds_is_rejected_alone(exchange: Exchange, tmp_path: Path) -> None:
    """Its neighbours are sent, the counts add up, and it is kept with its sizes."""
    job = "too-large"
    sink = sink_of(exchange, job, rejects=str(tmp_path), report=str(tmp_path))
    largest = LINE_BYTES_MAX - len(next(sink.shape.lines(with_payload(job, 0), [0])))
    sizes = (largest + 1, 1, largest, 1, largest + 1)
    counts = stage_task(sink, job, Task(0, 0), iter([with_payload(job, *sizes)]))
    assert (counts.rows, counts.accepted, counts.rejected, counts.replayed) == (5, 3, 2, 0)
    commit_job(sink, [counts])
    until(lambda: counted(exchange, job).acknowledged == 3, "the others are acknowledged")
    kept = pq.read_table(tmp_path / f"onceonly_job={job}", partitioning=None).to_pylist()
    found = [(row["order_id"], row["onceonly_row"], row["onceonly_message_id"]) for row in kept]
    assert found == [(f"{job}-{n}", n, f"{job}-{n}") for n in (0, 4)]
    for row in kept:
        assert len(row["payload"]) == largest + 1
        assert row["onceonly_error"] == "PayloadTooLarge"
        assert f"{LINE_BYTES_MAX + 1} bytes" in row["onceonly_reason"]
        assert f"{LINE_BYTES_MAX} at most" in row["onceonly_reason"]


def test_a_job_of_nothing_but_rows_that_no_request_holds_ends(
    exchange: Exchange, tmp_path: Path
) -> None:
    """There is nothing to release, and every row is accounted for."""
    job = "all-too-large"
    sink = sink_of(exchange, job, report=str(tmp_path))
    batch = with_payload(job, LINE_BYTES_MAX)
    commit_job(sink, [stage_task(sink, job, Task(0, 0), iter([batch]))])
    report = json.loads((tmp_path / f"job={job}.json").read_text())
    assert [report[name] for name in ("rows", "accepted", "rejected", "replayed")] == [1, 0, 1, 0]
