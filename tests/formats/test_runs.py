"""Runs of `reconcile` with their tables in Delta and Iceberg: each run keeps its own versions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from onceonly.lake import formats, jobs
from onceonly.lake.formats import TableFormat

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "lake"))

pytestmark = [
    pytest.mark.spark,
    # PySpark 4.1 leaves the closing of its sockets to the collector of garbage.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

AS_OF = 1_900_000_000_000_000


@pytest.mark.parametrize(
    ("table_format", "catalog"),
    [(TableFormat.DELTA, None), (TableFormat.ICEBERG, "lake.onceonly")],
)
def test_an_older_run_still_has_its_tables(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat, catalog: str | None
):
    """Although a newer one has written the same tables, with more rows."""
    from journals import healthy, publish  # noqa: PLC0415 - because of the path above

    lake, target = str(tmp_path), formats.target(table_format, catalog)
    there, _ = healthy(seed=1, messages=10)
    few = len(there.sender.records) // 2
    publish(tmp_path, there.sender, last=few)
    runs = []
    for first in (None, few + 1):
        if first is not None:
            publish(tmp_path, there.sender, first=first)
            publish(tmp_path, there.receiver)
        jobs.ingest(lake)
        runs.append(jobs.reconcile(lake, tables=["messages"], as_of=AS_OF, target=target))
    older, newer = (jobs.table(spark, lake, "messages", run.run).count() for run in runs)
    assert 0 < older < newer
    assert jobs.table(spark, lake, "messages").count() == newer
