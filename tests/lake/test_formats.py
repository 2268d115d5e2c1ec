"""Tables in a format that needs jars, without them: refused by name (with them: tests/formats)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from journals import healthy, publish

from onceonly.lake import formats, jobs, runner, versions
from onceonly.lake.formats import TableFormat
from onceonly.message.errors import LocalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    with pytest.raises(LocalError, match=r"iceberg.*spark\.jars\.packages") as caught:
        jobs.reconcile(str(tmp_path), target=formats.target("iceberg", "lake.onceonly"))
    assert caught.value.name == "NoTableFormat"
    assert not (tmp_path / "tables").exists()


def test_plain_tables_need_nothing(spark: SparkSession, tmp_path: Path):
    """Parquet at the path, whatever was there before."""
    versions.require(spark, formats.Target())
    for count in (2, 3):
        assert (
            runner.write_table(spark.range(count), str(tmp_path / "t"), TableFormat.PLAIN) is None
        )
    assert spark.read.parquet(str(tmp_path / "t")).count() == 3
