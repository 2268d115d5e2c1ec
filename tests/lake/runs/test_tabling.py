"""Tables on disk: each in a folder of its own, and those of a run published together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from journals import MUCH_LATER, publish, two_parties

from onceonly.lake import catalogue, jobs
from onceonly.message.errors import LocalError
from onceonly.message.terms import DeliveryTerms

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> str:
    """A lake with both journals of three messages, ingested."""
    del spark
    there, _ = two_parties()
    there.matched("m@example")
    there.failed_but_delivered("n@example")
    there.queued("o@example")
    publish(tmp_path, there.sender)
    publish(tmp_path, there.receiver)
    jobs.ingest(str(tmp_path))
    return str(tmp_path)


def test_tables_that_are_named_are_written(lake: str, spark: SparkSession):
    """Into a folder of its own each; what another run wrote stays as it was."""
    found = jobs.reconcile(
        lake,
        as_of=MUCH_LATER,
        tables=("in_doubt", "budgets"),
        terms={"tpa-1": DeliveryTerms(timeout_s=5, retries=1, retry_interval_s=7)},
    )
    assert set(found.tables) == {"in_doubt", "budgets"}
    in_doubt = spark.read.parquet(found.tables["in_doubt"])
    assert in_doubt.columns == list(catalogue.find("in_doubt").definition.names)
    assert [row["message_id"] for row in in_doubt.collect()] == ["n@example"]
    [budget] = spark.read.parquet(found.tables["budgets"]).collect()
    assert budget["worst_case_us"] == 12_000_000
    again = jobs.reconcile(lake, as_of=MUCH_LATER, tables=("budgets",))
    [budget] = spark.read.parquet(again.tables["budgets"]).collect()
    assert budget["worst_case_us"] is None
    assert spark.read.parquet(found.tables["in_doubt"]).count() == 1


def test_a_name_that_no_table_has_is_refused(lake: str):
    """With the names that there are, before anything is written beside the ledger."""
    with pytest.raises(LocalError, match="in_doubt_ages") as refused:
        jobs.reconcile(lake, as_of=MUCH_LATER, tables=("doubt",))
    assert refused.value.name == "UnknownTable"
