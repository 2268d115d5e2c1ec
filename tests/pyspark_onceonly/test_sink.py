"""DataFrames out, through real gateways: what is sent, counted, rejected, dropped."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from nemesis_gateways import Exchange, until
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from sessions import document, orders

from onceonly.api.jobs import Job
from onceonly.client import Client
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.process]


def write(frame: DataFrame, options: dict[str, Any], **more: str) -> None:
    frame.write.format("onceonly").mode("append").options(**options, **more).save()


def bursting(frame: DataFrame, name: str) -> DataFrame:
    """The frame, whose row with this in its payload cannot be computed."""
    bursts = F.raise_error(F.lit("burst")).cast("string")
    is_its = F.col("payload").contains(name)
    return frame.withColumn("payload", F.when(is_its, bursts).otherwise(F.col("payload")))


def received(exchange: Exchange, prefix: str, count: int) -> dict[str, str]:
    """Documents of the inbox by MessageId, once so many with this prefix are there."""

    def found() -> dict[str, str] | None:
        with exchange.clients() as (_, theirs):
            items, after = {}, 0
            while page := theirs.inbox(after, 1000):
                after = page[-1].offset
                for item in page:
                    if item.message_id.startswith(prefix):
                        assert item.message_id not in items, "handed over twice"
                        items[item.message_id] = b"".join(theirs.payload(item, 0)).decode()
            return items if len(items) == count else None

    return until(found, f"{count} messages {prefix}-… are in the inbox")


def job(exchange: Exchange, name: str) -> Job:
    """The job, whose counts add up."""
    with exchange.clients() as (ours, _):
        shape = ours.job(name)
    standing = ("staged", "queued", "sending", "in_doubt", "acknowledged", "failed", "expired")
    ended = ("cancelled", "sent", "settled_delivered", "settled_not_delivered")
    accepted = sum(getattr(shape, word) for word in (*standing, *ended))
    assert shape.accepted == accepted
    assert shape.rows == accepted + shape.rejected + shape.replayed
    return shape


def test_every_row_is_a_message(spark: SparkSession, exchange: Exchange, out: Any) -> None:
    """Under its own id, in its order, with its document; the job counts it to the end."""
    write(orders(spark, "every", 100), out, job="every", content_type="application/xml")
    documents = received(exchange, "every", 100)
    assert documents == {name: document(name) for name in documents}
    assert list(documents) == sorted(documents)
    until(lambda: job(exchange, "every").acknowledged == 100, "all are acknowledged")


def test_what_comes_in_adds_up(
    spark: SparkSession, exchange: Exchange, out: Any, tmp_path: Path
) -> None:
    """Accepted, rejected, replayed; run again, nothing is sent and the job is as it was (25)."""
    frame = orders(spark, "adds", 60)
    frame = frame.unionByName(frame.where("id < 5"))
    frame = frame.withColumn("to", F.when(F.col("id") % 20 == 19, F.lit("urn:nobody")))
    frame = frame.withColumn("job", F.lit("of a print shop"))
    report, rejects = tmp_path / "report", tmp_path / "rejects"
    options = {**out, "job": "adds", "report": str(report), "rejects": str(rejects)}

    def counts() -> tuple[int, ...]:
        found = json.loads((report / "job=adds.json").read_text())
        return tuple(found[name] for name in ("rows", "accepted", "rejected", "replayed"))

    write(frame, options)
    assert counts() == (65, 57, 3, 5)
    received(exchange, "adds", 57)
    write(frame, options)
    assert counts() == (65, 0, 3, 62)
    shape = job(exchange, "adds")
    assert (shape.rows, shape.accepted, shape.rejected) == (65, 57, 3)
    assert len(received(exchange, "adds", 57)) == 57
    found = spark.read.parquet(str(rejects)).orderBy("id")
    rows = [
        (row["id"], row["onceonly_message_id"], row["onceonly_error"]) for row in found.collect()
    ]
    assert rows == [(n, f"adds-{n:06}", "UnknownPartner") for n in (19, 39, 59)]
    named = found.select("job", "onceonly_job").distinct().collect()
    assert [tuple(row) for row in named] == [("of a print shop", "adds")]


def test_more_rejects_than_are_allowed_send_nothing(
    spark: SparkSession, exchange: Exchange, out: Any, tmp_path: Path
) -> None:
    """What was staged is dropped, the reasons are in the error, and rows and report are kept."""
    frame = orders(spark, "many", 20)
    frame = frame.withColumn("to", F.when(F.col("id") < 3, F.lit("urn:nobody")))
    folders = {"report": str(tmp_path / "report"), "rejects": str(tmp_path / "rejects")}
    with pytest.raises(PySparkException) as raised:
        write(frame, out, job="many", max_rejects="2", **folders)
    for text in ("TooManyRejects", "3 of 20 rows of job many", "many-000000", "UnknownPartner"):
        assert text in str(raised.value)
    report = json.loads((tmp_path / "report" / "job=many.json").read_text())
    assert (report["rows"], report["rejected"], report["released_at"]) == (20, 3, None)
    assert spark.read.parquet(folders["rejects"]).count() == 3
    with pytest.raises(LocalError, match="no job 'many'"):
        job(exchange, "many")
    write(frame, out, job="many", max_rejects="3")
    assert len(received(exchange, "many", 17)) == 17


def test_a_batch_of_nothing_but_rejects_is_an_error(
    spark: SparkSession, exchange: Exchange, out: Any
) -> None:
    """A wrong partner in an option is seen where the batch was started, not in a log."""
    with pytest.raises(PySparkException, match="AllRejected"):
        write(orders(spark, "none", 5), {**out, "to": "urn:nobody"}, job="none")
    assert job(exchange, "none").rejected == 5


def test_a_second_job_with_the_same_rows_sends_nothing(
    spark: SparkSession, exchange: Exchange, out: Any
) -> None:
    """Its rows are replays: a business key is sent once, whoever sends it."""
    write(orders(spark, "second", 10), out, job="second-1")
    write(orders(spark, "second", 12), out, job="second-2")
    shape = job(exchange, "second-2")
    assert (shape.accepted, shape.replayed) == (2, 10)
    received(exchange, "second", 12)


def test_without_a_key_a_row_is_known_by_job_and_content(
    spark: SparkSession, exchange: Exchange, out: Any
) -> None:
    """The same job again sends nothing; another job is another message."""
    frame = orders(spark, "content", 4).drop("order_id")
    del out["message_id_column"]
    for name, accepted in (("content-1", 4), ("content-1", 4), ("content-2", 4)):
        write(frame, out, job=name)
        assert job(exchange, name).accepted == accepted
    with exchange.clients() as (ours, _):
        page = ours.jobs(0, 1000).jobs
    assert sum(one.accepted for one in page if one.job.startswith("content")) == 8


def test_a_job_that_fails_sends_nothing(spark: SparkSession, exchange: Exchange, out: Any) -> None:
    """What its tasks had staged is dropped, and the next run stages it again."""

    frame = orders(spark, "fails", 50, partitions=2)
    with pytest.raises(PySparkException, match="burst"):
        write(bursting(frame, "000049"), out, job="fails")
    with exchange.clients() as (ours, _):
        assert all(one.job != "fails" for one in ours.jobs(0, 1000).jobs)
        assert ours.list(limit=1000)
    write(frame, out, job="fails")
    received(exchange, "fails", 50)


def test_an_empty_frame_is_an_empty_job(
    spark: SparkSession, exchange: Exchange, out: Any, tmp_path: Path
) -> None:
    """Nothing is staged, nothing goes wrong, and the report says that nothing came."""
    write(orders(spark, "empty", 0), out, job="empty", report=str(tmp_path))
    report = json.loads((tmp_path / "job=empty.json").read_text())
    assert (report["rows"], report["accepted"]) == (0, 0)
    with exchange.clients() as (ours, _):
        assert all(one.job != "empty" for one in ours.jobs(0, 1000).jobs)


@pytest.mark.parametrize(
    ("mode", "change", "text"),
    [
        ("overwrite", {}, "cannot be overwritten"),
        ("append", {"api": None}, "option api is missing"),
        ("append", {"message_id_column": "nothing"}, "there is no column 'nothing'"),
        ("append", {"rows_per_request": "0"}, "a whole number from 1"),
        ("append", {"reject": "folder"}, "no option reject for batch writes"),
    ],
)
def test_what_cannot_be_written_is_refused(
    spark: SparkSession, out: Any, mode: str, change: dict[str, Any], text: str
) -> None:
    """Before a row is staged, and by name."""
    options = {name: value for name, value in {**out, **change}.items() if value is not None}
    with pytest.raises(PySparkException, match=text):
        orders(spark, "never", 1).write.format("onceonly").mode(mode).options(**options).save()


def test_a_join_with_two_columns_of_one_name_is_refused(spark: SparkSession, out: Any) -> None:
    """Spark hands such a frame on."""
    frame = orders(spark, "never", 1)
    twice = frame.crossJoin(frame.select("order_id"))
    options = {name: value for name, value in out.items() if name != "message_id_column"}
    with pytest.raises(PySparkException, match="several columns are named 'order_id'"):
        twice.write.format("onceonly").mode("append").options(**options).save()


class TestStreams:
    """`df.writeStream.format("onceonly")`."""

    def source(self, spark: SparkSession, folder: Path, prefix: str) -> DataFrame:
        """A stream of the files that lie in the folder, one per batch."""
        reading = spark.readStream.schema("id long, order_id string, payload string")
        return reading.option("maxFilesPerTrigger", "1").parquet(str(folder / prefix))

    def run(self, frame: DataFrame, options: dict[str, Any], folder: Path) -> Any:
        query = (
            frame.writeStream.format("onceonly")
            .options(**options, report=str(folder / "report"))
            .option("checkpointLocation", str(folder / "checkpoint"))
            .queryName("orders")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return query

    def test_each_batch_is_a_job_and_a_replayed_one_sends_nothing(
        self, spark: SparkSession, exchange: Exchange, out: Any, tmp_path: Path
    ) -> None:
        """As after a kill between the sink's commit and Spark's: Spark's is missing."""
        orders(spark, "stream", 40, partitions=2).write.parquet(str(tmp_path / "stream"))
        source = self.source(spark, tmp_path, "stream")
        query = self.run(source, out, tmp_path)
        received(exchange, "stream", 40)
        names = [f"{query.id}-{batch}" for batch in (0, 1)]
        before = [job(exchange, name) for name in names]
        assert [one.accepted for one in before] == [20, 20]

        (tmp_path / "checkpoint" / "commits" / "1").unlink()
        (tmp_path / "checkpoint" / "commits" / ".1.crc").unlink(missing_ok=True)
        assert self.run(source, out, tmp_path).id == query.id
        found = json.loads((tmp_path / "report" / f"job={names[1]}.json").read_text())
        assert (found["rows"], found["replayed"]) == (20, 20)
        after = [job(exchange, name) for name in names]
        assert [one.accepted for one in after] == [20, 20]
        assert len(received(exchange, "stream", 40)) == 40

    def test_a_batch_that_fails_is_dropped_and_comes_again(
        self, spark: SparkSession, exchange: Exchange, out: Any, tmp_path: Path
    ) -> None:
        """Nothing of it is sent before; the restarted query sends it."""
        orders(spark, "again", 10, partitions=1).write.parquet(str(tmp_path / "again"))
        source = self.source(spark, tmp_path, "again")
        options = {**out, "rows_per_request": "2"}
        with pytest.raises(PySparkException, match="burst"):
            self.run(bursting(source, "000009"), options, tmp_path)
        with Client(exchange.sender.site.api) as client:
            assert all(one.state != "staging" for one in client.jobs(0, 1000).jobs)
        self.run(source, out, tmp_path)
        received(exchange, "again", 10)

    def test_a_stream_names_its_own_jobs(
        self, spark: SparkSession, out: Any, tmp_path: Path
    ) -> None:
        """One name for all batches would make them one job."""
        (tmp_path / "named").mkdir()
        orders(spark, "named", 1).write.mode("append").parquet(str(tmp_path / "named"))
        with pytest.raises(PySparkException, match="option job is for batch writes"):
            self.run(self.source(spark, tmp_path, "named"), {**out, "job": "mine"}, tmp_path)
        shutil.rmtree(tmp_path / "checkpoint", ignore_errors=True)
