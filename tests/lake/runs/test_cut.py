"""A judgement of the past is the same whatever came later: `--as-of T` counts rows up to T."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from journals import PLANTS, Exchange, Ledger, publish, two_parties

from onceonly.journal.segment import segment_name
from onceonly.lake import jobs
from onceonly.lake.catalogue import NAMES
from onceonly.message.errors import LocalError

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


@pytest.mark.long
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
    now = tables(jobs.reconcile(lake, tables=["messages"]))
    assert now["messages"] != before["messages"], "without --as-of nothing is cut"
    missing = [row for row in before["journal_quality"] if "'missing': 2" in row]
    assert len(missing) == 2, "of each journal that was there two rows are missing"


SOME = ("messages", "journal_quality", "once_only", "differences", "promise", "volume")


@pytest.mark.long
def test_the_evidence_of_a_run_is_judged_again_whatever_came_later(
    spark: SparkSession, tmp_path: Path
):
    """A journal that fills a gap, a party, later rows, a compaction; then rows are gone."""
    assert spark.version, "the jobs find this session"
    ledgers, until = story()
    root, lake = tmp_path / "lake", str(tmp_path / "lake")
    first, second = ledgers[:2]
    for ledger in (first, second):
        publish(root, ledger, last=4)
        jobs.ingest(lake)
        publish(root, ledger, first=7, last=rows_until(ledger, until))
    jobs.ingest(lake)
    policy = jobs.Policy(grace_us=1_000_000)
    former = jobs.reconcile(lake, policy=policy, tables=SOME, report_to=tmp_path / "former.html")
    before = tables(former)
    publish(root, first, first=5, last=6)
    for ledger in ledgers:
        publish(root, ledger, first=rows_until(ledger, until) + 1)
    jobs.ingest(lake)
    jobs.compact(lake, keep_s=0)
    again = jobs.reconcile(
        lake, evidence=former.run, tables=SOME, report_to=tmp_path / "again.html"
    )
    assert [name for name in before if tables(again)[name] != before[name]] == []
    assert (tmp_path / "again.html").read_text() == (tmp_path / "former.html").read_text()
    # A run on evidence of a run has the same evidence.
    third = jobs.reconcile(lake, evidence=again.run, tables=SOME)
    assert tables(third) == before
    assert tables(jobs.reconcile(lake, tables=SOME)) != before
    jobs.distrust(lake, segment_name(second.party, 1, 4), reason="the test takes rows away")
    with pytest.raises(LocalError, match=r"had .* rows of party=") as refused:
        jobs.reconcile(lake, evidence=former.run, tables=SOME)
    assert refused.value.name == "EvidenceGone"


def test_the_evidence_of_a_run_that_nobody_knows_is_refused(tmp_path: Path):
    """Before Spark starts."""
    (tmp_path / "ingested").mkdir()
    with pytest.raises(LocalError) as refused:
        jobs.reconcile(str(tmp_path), evidence="20260101-000000-00000000")
    assert refused.value.name == "NoRun"
