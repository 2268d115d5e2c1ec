"""The bench of the lake measures real journals and real work; no figure is tested here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from onceonly.lake import hash_chain, runner

ROOT = Path(__file__).parents[2]
WANTED = 40_000

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def bench() -> Any:
    """The bench is no part of the package; it lies beside it."""
    with pytest.MonkeyPatch.context() as patch:
        # Its processes of their own look for it there, too.
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setattr(sys, "path", [str(ROOT), *sys.path])
        import bench.lake.run  # noqa: PLC0415 - because its place is not on the path before

        yield bench.lake


@pytest.fixture(scope="module")
def spark() -> Any:
    return runner.session("local[2]", "onceonly tests", journal_bytes=0)


@pytest.fixture(scope="module")
def lake(bench: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    plan = bench.journals.Plan(WANTED, days=2)
    return bench.journals.ready(tmp_path_factory.mktemp("lake"), plan)


def test_as_many_events_as_wanted(lake: Any):
    """The number of events is a promise about messages, kept within a few in a hundred."""
    assert lake.events == pytest.approx(WANTED, rel=0.05)
    assert lake.next_events == pytest.approx(WANTED / 2, rel=0.1)


def test_a_generated_journal_is_whole(bench: Any, spark: Any, lake: Any):
    """Hash chains and row numbers run through all parties' journals and on into the next day."""
    first = bench.journals.frame(spark, lake.path)
    rows = first.union(bench.journals.frame(spark, lake.next_path))
    whole = hash_chain.by_party(rows).collect()
    assert [row["rows"] > 0 for row in whole] == [True] * 3
    assert {(row["missing"], row["edited"], row["forks"]) for row in whole} == {(0, 0, 0)}


def test_a_lake_is_made_once(bench: Any, lake: Any):
    """The same plan finds the lake that is there."""
    again = bench.journals.ready(lake.folder.parent, bench.journals.Plan(WANTED, days=2))
    assert again == lake


def test_all_contestants_find_the_same(bench: Any, spark: Any, lake: Any):
    """DuckDB and polars, by rules written down apart from the product's, agree on every class."""
    measured = bench.run.measure(spark, lake, days=2, rounds=1, cores=2)
    told = bench.run.summary(lake, measured, 0)
    assert set(told["ratios"]) == {"groupby_count", "shuffle", "duckdb", "polars"}
    assert len(told["verdicts"]) > 3
    assert "| reconcile_s |" in bench.run.table([told])
