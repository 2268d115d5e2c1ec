"""Tables in a format that needs jars: refused by name without them, and else handed to Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journals import healthy, publish
from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

from onceonly.lake import formats, jobs, runner
from onceonly.lake.formats import TableFormat
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Row, SparkSession
    from pyspark.sql.types import StructType

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("table_format", "catalog", "why"),
    [("iceberg", None, "needs a catalog"), ("delta", "lake.onceonly", "no catalog")],
)
def test_what_does_not_fit_together_is_refused(table_format: str, catalog: str | None, why: str):
    """Before Spark is started."""
    with pytest.raises(LocalError, match=why):
        formats.target(table_format, catalog)


def test_a_format_without_its_jars_is_refused_by_name(spark: SparkSession, tmp_path: Path):
    """Before anything is computed or written."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path, there.sender)
    jobs.ingest(str(tmp_path))
    with pytest.raises(LocalError, match=r"iceberg.*--packages") as caught:
        jobs.reconcile(str(tmp_path), target=formats.target("iceberg", "lake.onceonly"))
    assert caught.value.name == "NoTableFormat"
    assert not (tmp_path / "tables").exists()


@pytest.fixture
def lookalike(spark: SparkSession) -> None:
    """Something called `delta`, which writes down what it is told; the session keeps it.

    It proves nothing about Delta: only that whatever has the name gets the rows and the options.
    """

    class Written(WriterCommitMessage):
        pass

    class Writer(DataSourceWriter):
        def __init__(self, options: dict[str, str], overwrite: bool) -> None:
            self.options = {**options, "is overwritten": str(overwrite)}

        def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
            rows = [row.asDict() for row in iterator]
            with Path(f"{self.options['path']}.rows").open("a") as file:
                file.writelines(f"{json.dumps([row, self.options])}\n" for row in rows)
            return Written()

    class Delta(DataSource):
        @classmethod
        def name(cls) -> str:
            return "delta"

        def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
            return Writer(dict(self.options), overwrite)

    spark.dataSource.register(Delta)


def test_what_spark_has_of_that_name_gets_the_table(
    spark: SparkSession, lookalike: None, tmp_path: Path
):
    """Every row, to replace what is at the path, columns and all."""
    place = str(tmp_path / "ledger")
    runner.require(spark, TableFormat.DELTA)
    runner.write_table(spark.range(3), place, TableFormat.DELTA)
    told = [json.loads(line) for line in Path(f"{place}.rows").read_text().splitlines()]
    assert sorted(row["id"] for row, _ in told) == [0, 1, 2]
    wanted = {"path": place, "overwriteschema": "true", "is overwritten": "True"}
    assert all(wanted.items() <= options.items() for _, options in told)


def test_plain_tables_need_nothing(spark: SparkSession, tmp_path: Path):
    """Parquet at the path, whatever was there before."""
    runner.require(spark, TableFormat.PLAIN)
    for count in (2, 3):
        runner.write_table(spark.range(count), str(tmp_path / "t"), TableFormat.PLAIN)
    assert spark.read.parquet(str(tmp_path / "t")).count() == 3
