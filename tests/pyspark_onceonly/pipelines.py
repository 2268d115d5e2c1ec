"""Pipelines in processes of their own, so that they can be killed: `python pipelines.py NAME JSON`.

Each is a function of this file with the JSON's fields as arguments. A pipeline's process leads a
group of its own: whoever kills the group kills driver, workers and all.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

sys.path.insert(0, str(Path(__file__).parent))

from sessions import orders, session

from pyspark_onceonly.sink import StreamWriter
from pyspark_onceonly.source import DefaultSource

SMALL_BATCHES = {"spark.sql.execution.arrow.maxRecordsPerBatch": "20"}


POLL_S = 0.05


def write(frame: DataFrame, options: dict[str, str]) -> None:
    frame.write.format("onceonly").mode("append").options(**options).save()


def batch(*, prefix: str, count: int, options: dict[str, str], flag: str) -> None:
    """Write `count` orders in small requests; the latter half waits for as long as there is `flag`.

    Two of the four tasks run first, so half of the rows are staged while the others wait.
    """

    def waits(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        while context.partitionId() >= 2 and Path(flag).exists():
            threading.Event().wait(POLL_S)
        yield from batches

    spark = session("local[2]", **SMALL_BATCHES)
    frame = orders(spark, prefix, count, partitions=4)
    write(frame.mapInArrow(waits, frame.schema), options)


def retried(*, prefix: str, count: int, options: dict[str, str]) -> None:
    """Every first attempt of a task breaks once it has handed on its first rows."""

    def breaks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        for number, rows in enumerate(batches):
            if number == 2 and context.attemptNumber() == 0:
                raise RuntimeError("the first attempt breaks")
            yield rows

    spark = session("local[2,3]", **SMALL_BATCHES)
    frame = orders(spark, prefix, count, partitions=4)
    write(frame.mapInArrow(breaks, frame.schema), options)


class DyingWriter(StreamWriter):
    """Dies with the whole pipeline behind its own commit and before Spark's, while it may."""

    def __init__(self, sink: Any, flag: str, driver: int) -> None:
        super().__init__(sink)
        self._flag = flag
        self._driver = driver

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - because Spark passes it by name
        super().commit(messages, batchId)
        flag = Path(self._flag)
        if flag.exists():
            flag.unlink()
            os.killpg(self._driver, signal.SIGKILL)
            # Spark's Python workers are a group of their own.
            os.killpg(os.getpgrp(), signal.SIGKILL)


class DyingSource(DefaultSource):
    """The data source with that writer."""

    @classmethod
    def name(cls) -> str:
        return "dying"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - because Spark calls it so
        driver = self._options.whole("driver", 0, 1)
        return DyingWriter(self._sink(schema, ""), self._options.get("flag", ""), driver)


def streamed(*, folder: str, options: dict[str, str]) -> None:
    """Send a folder's files as a stream, one per batch."""
    spark = session("local[2]")
    spark.dataSource.register(DyingSource)
    reading = spark.readStream.schema("id long, order_id string, payload string")
    query = (
        reading.option("maxFilesPerTrigger", "1")
        .parquet(f"{folder}/source")
        .writeStream.format("dying")
        .options(**options, flag=f"{folder}/flag", driver=os.getpgrp())
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def consumed(*, folder: str, options: dict[str, str]) -> None:
    """Take what is in an inbox into a table, a few rows at a time."""
    spark = session("local[2]")
    query = (
        spark.readStream.format("onceonly")
        .options(**options)
        .load()
        .writeStream.format("parquet")
        .option("path", f"{folder}/table")
        .option("checkpointLocation", f"{folder}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    globals()[sys.argv[1]](**json.loads(sys.argv[2]))
