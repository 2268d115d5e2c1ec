"""What `docs/how-to/query-the-tables.md` shows is what a data engineer can type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from journals import MUCH_LATER, publish, two_parties
from pyspark.sql import SparkSession

from onceonly.lake import jobs
from recipes import examples_of, put

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark

PAGE = "how-to/query-the-tables.md"


def test_the_page_s_python_and_sql_run(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Every block, in order, as cells of a notebook in a session of its own."""
    there, _ = two_parties()
    there.matched("m@example")
    there.failed_but_delivered("n@example")
    publish(tmp_path, there.sender)
    publish(tmp_path, there.receiver)
    jobs.ingest(str(tmp_path))
    jobs.reconcile(str(tmp_path), as_of=MUCH_LATER, tables=("in_doubt",))
    cells: dict[str, Any] = {}
    try:
        for block in examples_of(PAGE, "python"):
            exec(put(block, {"/mnt/lake": str(tmp_path)}), cells)
        printed = capsys.readouterr().out
        assert "MATCHED" in printed
        assert "n@example" in printed
        days, tries, run = (spark.sql(query) for query in examples_of(PAGE, "sql"))
        assert [row["messages"] for row in days.collect()] == [1, 1]
        assert tries.columns == ["message_id", "submitted_at", "took", "transmissions"]
        assert [row["run"] for row in run.collect()] == [jobs.run(str(tmp_path)).id]
    finally:
        spark.sql("DROP DATABASE IF EXISTS onceonly CASCADE")
