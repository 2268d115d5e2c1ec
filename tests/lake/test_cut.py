"""A judgement of the past is the same whatever came later: `--as-of T` counts rows up to T."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from journals import PLANTS, Exchange, Ledger, publish, two_parties

from onceonly.lake import jobs
from onceonly.lake.catalogue import NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LATE = "urn:duns:999999999"
"""A party that nobody has heard of before the instant of judgement."""


def story() -> tuple[list[Ledger], int]:
    """Every planted fate, twice; and an instant at which half of them are told."""
    there, back = two_parties()
    for name, fate in PLANTS.items():
        fate(there, f"early-{name.value}")
    # In the middle of a message: it is under way at that instant, and over later.
    there.submit("underway")
    there.send("underway")
    there.store("underway")
    until = there.now
    there.answer("underway")
    there.hand_over("underway")
    there.ack("underway")
    back.now = there.now
    for name, fate in PLANTS.items():
        fate(back, f"late-{name.value}")
    stranger = Exchange(Ledger(LATE), there.receiver, now=back.now)
    stranger.matched("of a stranger")
    return [there.sender, there.receiver, stranger.sender], until


def rows_until(ledger: Ledger, until: int) -> int:
    return sum(record.at <= until for record in ledger.records)


def tables(found: jobs.ReconcileSummary) -> dict[str, list[str]]:
    """The rows of every table, in an order of their own."""
    places = {**found.tables, "delivery_ledger": found.ledger}
    return {name: sorted(map(repr, _rows(place))) for name, place in places.items()}


def _rows(place: str) -> list[dict[str, Any]]:
    return pq.read_table(place).to_pylist()


def judged(lakes: Sequence[str], as_of: int | None, page: Path) -> dict[str, list[str]]:
    found = jobs.reconcile(lakes, as_of=as_of, tables=None, report_to=page)
    return {**tables(found), "page": page.read_text().splitlines()}


def test_a_judgement_of_the_past_does_not_change_when_more_comes(
    spark: SparkSession, tmp_path: Path
):
    """Every table, row for row, and the page: with a gap, and a party that is new, in the lake."""
    assert spark.version, "the jobs find this session"
    ledgers, until = story()
    lake = str(tmp_path / "lake")
    for ledger in ledgers:
        if count := rows_until(ledger, until):
            publish(tmp_path / "lake", ledger, last=4)
            publish(tmp_path / "lake", ledger, first=7, last=count)
    jobs.ingest(lake)
    before = judged([lake], until, tmp_path / "before.html")
    for ledger in ledgers:
        publish(tmp_path / "lake", ledger, first=rows_until(ledger, until) + 1)
    jobs.ingest(lake)
    after = judged([lake], until, tmp_path / "after.html")
    assert set(NAMES) <= set(before)
    assert [name for name in before if after[name] != before[name]] == []
    now = judged([lake], None, tmp_path / "now.html")
    assert now["messages"] != before["messages"], "without --as-of nothing is cut"
    missing = [row for row in before["journal_quality"] if "'missing': 2" in row]
    assert len(missing) == 2, "of each journal that was there two rows are missing"
