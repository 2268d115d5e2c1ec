"""Spark tries again, dies, and is run again; gateways die under it: each row is one message."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nemesis_gateways import Exchange, build_exchange, insist, until
from sessions import document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onceonly.api.inbox import InboxItem
    from onceonly.api.jobs import Job
    from onceonly.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.process]

PATIENCE_S = 540.0
COUNT = 400


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two gateways of this file's own, since they are killed."""
    pair = build_exchange(tmp_path_factory.mktemp("kills"))
    for gateway in pair.gateways:
        gateway.configure()
    pair.start()
    yield pair
    pair.destroy()


class Pipeline:
    """A pipeline in a process group of its own."""

    def __init__(self, name: str, log: Path, **arguments: Any) -> None:
        self._log = log
        script = str(Path(__file__).parent / "pipelines.py")
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, script, name, json.dumps(arguments)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )

    def wait(self) -> int:
        return self._process.wait(PATIENCE_S)

    def succeed(self) -> None:
        assert self.wait() == 0, self._log.read_text(errors="replace")[-3000:]

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """All of it, as a power cut does."""
        os.killpg(self._process.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL


def options(exchange: Exchange, **more: str) -> dict[str, str]:
    return {
        "api": exchange.sender.site.api,
        "to": exchange.receiver.site.party,
        "service": "Ordering",
        "action": "NewOrder",
        "message_id_column": "order_id",
        "rows_per_request": "10",
        **more,
    }


def counts(exchange: Exchange, job: str) -> Job | None:
    """The job as its gateway knows it; None where it does not."""

    def found() -> Job | None:
        with exchange.clients() as (ours, _):
            return next((one for one in ours.jobs(0, 1000).jobs if one.job == job), None)

    shape = insist(found)
    if shape is not None:
        assert shape.rows == shape.accepted + shape.rejected + shape.replayed
    return shape


def half_is_staged(exchange: Exchange, job: str, pipeline: Pipeline) -> bool:
    assert not pipeline.has_ended, "it was over before it could be killed"
    shape = counts(exchange, job)
    return shape is not None and shape.staged == COUNT // 2


def _inbox(client: Client) -> Iterator[InboxItem]:
    page = insist(lambda: client.inbox(0, 1000))
    while page:
        yield from page
        last = page[-1].offset
        page = insist(partial(client.inbox, last, 1000))


def received(exchange: Exchange, prefix: str) -> dict[str, str]:
    """Documents by MessageId, once all are acknowledged; none is there twice."""
    with exchange.clients() as (_, theirs):

        def read() -> dict[str, Any]:
            items: dict[str, Any] = {}
            for item in _inbox(theirs):
                if item.message_id.startswith(f"{prefix}-"):
                    assert item.message_id not in items, "handed over twice"
                    items[item.message_id] = item
            return items

        items = until(
            lambda: found if len(found := read()) >= COUNT else None, "all arrived", PATIENCE_S
        )
        return {name: b"".join(theirs.payload(item, 0)).decode() for name, item in items.items()}


def assert_all_arrived(exchange: Exchange, prefix: str) -> None:
    """Each row once, and its document unaltered."""
    expected = [f"{prefix}-{n:06}" for n in range(COUNT)]
    found = received(exchange, prefix)
    assert sorted(found) == expected
    assert found == {name: document(name) for name in found}


@pytest.mark.long
def test_attempts_of_a_task_are_one(exchange: Exchange, tmp_path: Path) -> None:
    """Tried again behind its first rows: every count is what one attempt would have made it."""
    name = "retried"
    out = options(exchange, job=name, report=str(tmp_path))
    Pipeline(name, tmp_path / "log", prefix=name, count=COUNT, options=out).succeed()
    report = json.loads((tmp_path / f"job={name}.json").read_text())
    assert (report["rows"], report["accepted"], report["replayed"]) == (COUNT, COUNT, 0)
    assert_all_arrived(exchange, name)
    shape = counts(exchange, name)
    assert shape is not None
    assert (shape.rows, shape.accepted) == (COUNT, COUNT)


@pytest.mark.long
def test_a_driver_that_dies_before_the_release_has_sent_nothing(
    exchange: Exchange, tmp_path: Path
) -> None:
    """What it staged waits, over a kill of the gateway as well; the job run again sends it once."""
    flag = tmp_path / "flag"
    flag.touch()
    out = options(exchange, job="driver")
    arguments = {"prefix": "driver", "count": COUNT, "options": out, "flag": str(flag)}
    first = Pipeline("batch", tmp_path / "log", **arguments)
    until(lambda: half_is_staged(exchange, "driver", first), "half is staged", PATIENCE_S)
    first.kill()
    flag.unlink()
    exchange.sender.restart()
    shape = counts(exchange, "driver")
    assert shape is not None
    assert shape.staged == shape.rows == COUNT // 2
    Pipeline("batch", tmp_path / "log", **arguments).succeed()
    assert_all_arrived(exchange, "driver")
    shape = counts(exchange, "driver")
    assert shape is not None
    assert (shape.rows, shape.accepted) == (COUNT, COUNT)


@pytest.mark.long
def test_a_gateway_that_dies_while_rows_are_staged_and_sent_loses_none(
    exchange: Exchange, tmp_path: Path
) -> None:
    """Killed while tasks stage, and again once the job is released: tasks are patient."""
    out, flag = options(exchange, job="gateway"), tmp_path / "flag"
    flag.touch()
    arguments = {"prefix": "gateway", "count": COUNT, "options": out, "flag": str(flag)}
    pipeline = Pipeline("batch", tmp_path / "log", **arguments)
    until(lambda: half_is_staged(exchange, "gateway", pipeline), "half is staged", PATIENCE_S)
    exchange.sender.kill()
    flag.unlink()  # The other half finds nobody, and asks again.
    exchange.sender.start()
    pipeline.succeed()
    for gateway in exchange.gateways:
        gateway.restart()
    assert_all_arrived(exchange, "gateway")
    shape = counts(exchange, "gateway")
    assert shape is not None
    assert (shape.rows, shape.accepted) == (COUNT, COUNT)


@pytest.mark.long
def test_a_stream_killed_between_the_two_commits_sends_its_batch_once(
    exchange: Exchange, tmp_path: Path
) -> None:
    """The sink has committed and Spark has not: the batch comes again, as the same job."""
    (tmp_path / "source").mkdir()
    for part, start in enumerate(range(0, COUNT, COUNT // 2)):
        names = [f"between-{n:06}" for n in range(start, start + COUNT // 2)]
        columns = {
            "id": list(range(start, start + COUNT // 2)),
            "order_id": names,
            "payload": [document(name) for name in names],
        }
        pq.write_table(pa.table(columns), tmp_path / "source" / f"part-{part}.parquet")
    (tmp_path / "flag").touch()
    arguments = {"folder": str(tmp_path), "options": options(exchange)}
    assert Pipeline("streamed", tmp_path / "log", **arguments).wait() == -signal.SIGKILL
    assert not (tmp_path / "flag").exists()
    commits = tmp_path / "checkpoint" / "commits"
    assert not (commits.exists() and any(one.name == "0" for one in commits.iterdir()))
    Pipeline("streamed", tmp_path / "log", **arguments).succeed()
    assert_all_arrived(exchange, "between")
    query_id = json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
    for batch in (0, 1):
        shape = counts(exchange, f"{query_id}-{batch}")
        assert shape is not None
        assert (shape.rows, shape.accepted) == (COUNT // 2, COUNT // 2)


@pytest.mark.long
def test_a_consumer_that_dies_reads_each_row_once(exchange: Exchange, tmp_path: Path) -> None:
    """Killed in the middle of its batches, and run again: the table has every message once."""
    with exchange.clients() as (ours, theirs):
        start = theirs.last_offset()
        rows = [
            {
                "row": n,
                "message_id": f"consumer-{n:06}",
                "to": exchange.receiver.site.party,
                "service": "Ordering",
                "action": "NewOrder",
                "payload": document(f"consumer-{n:06}"),
            }
            for n in range(COUNT)
        ]
        ours.stage("consumer", rows)
        ours.release("consumer")
        until(lambda: theirs.last_offset() >= start + COUNT, "all arrived")
    out = {
        "api": exchange.receiver.site.api,
        "after": str(start),
        "rows_per_batch": "40",
        "payload": "text",
    }
    commits = tmp_path / "checkpoint" / "commits"
    first = Pipeline("consumed", tmp_path / "log", folder=str(tmp_path), options=out)
    until(
        lambda: first.has_ended or (commits.exists() and len(list(commits.glob("[0-9]*"))) >= 2),
        "two batches are committed",
        PATIENCE_S,
    )
    first.kill()
    exchange.receiver.restart()
    Pipeline("consumed", tmp_path / "log", folder=str(tmp_path), options=out).succeed()
    table = pq.read_table(sorted(_committed_files(tmp_path / "table")))
    found = dict(
        zip(*(table.column(n).to_pylist() for n in ("message_id", "payload")), strict=True)
    )
    assert table.num_rows == len(found) == COUNT
    assert found == {name: document(name) for name in found}
    with exchange.clients() as (_, theirs):
        items = theirs.inbox(start, 1000)
        assert {item.processing for item in items} == {"complete"}


def _committed_files(table: Path) -> set[Path]:
    """The files that the file sink's own log names."""
    found: set[Path] = set()
    for log in (table / "_spark_metadata").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:
            found.add(table / Path(json.loads(line)["path"]).name)
    return found
