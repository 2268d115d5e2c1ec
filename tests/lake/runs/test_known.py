"""A page reads, and a run keeps, what a run before wrote, where it is what would be computed."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from cases import BETWEEN, TERMS, evidence, kept, records
from fingerprints import fingerprint
from journals import (
    MUCH_LATER,
    PLANTS,
    SECOND,
    Exchange,
    Ledger,
    Passage,
    plant,
    publish,
    two_parties,
)

from onceonly.lake import catalogue, jobs, runs
from onceonly.lake.catalogue import HOUR_US
from onceonly.lake.jobs.case import open_case
from onceonly.lake.jobs.known import known
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.verdicts import Policy
from onceonly.message.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.journal.record import Record

pytestmark = pytest.mark.spark


def exchange() -> Exchange:
    there, _ = two_parties()
    plant(there, PLANTS)
    there.of_pair(Event.PAIR_SUSPENDED, reason="maintenance")
    return there


@pytest.mark.long
def test_tables_that_are_read_again_are_the_same_at_every_instant(
    frame: Callable[[Sequence[Record]], DataFrame],
):
    """By whatever terms, too. Those that something else decides are marked, and no others are."""
    there = exchange()
    passage = Passage(there, Ledger(BETWEEN))
    passage.undeliverable("undeliverable@example")
    every = records(there) + passage.between.records
    now = kept(evidence(frame(every)))._replace(as_of=there.now)
    later = now._replace(
        as_of=MUCH_LATER,
        terms={"tpa-1": TERMS},
        target=SlaTarget(within_us=1, share=0.5),
        wholeness=now.wholeness.limit(0),
    )
    differing = {
        table.name
        for table in catalogue.TABLES
        if fingerprint(table.make(now)) != fingerprint(table.make(later))
    }
    assert differing == {table.name for table in catalogue.TABLES if table.by_instant}


def ingested(place: Path) -> Path:
    """A lake of both journals."""
    lake, there = place / "lake", exchange()
    publish(lake, there.sender)
    publish(lake, there.receiver)
    jobs.ingest(str(lake))
    return lake


def read_again(
    spark: SparkSession,
    lake: Path,
    as_of: int | None,
    policy: Policy | None = None,
    evidence: str | None = None,
    *,
    is_alone: bool = False,
) -> set[str]:
    """The tables and partials that a run gives to a judgement at that instant."""
    former = None if evidence is None else jobs.run(str(lake), evidence)
    case = open_case(spark, [str(lake)], as_of, policy or Policy(), former)
    there = known(case, [str(lake)], is_alone=is_alone)
    return there.tables.keys() | there.partials.keys()


@pytest.mark.long
def test_a_page_of_another_instant_is_the_same_with_and_without_a_run(
    spark: SparkSession, tmp_path: Path
):
    """All tables but those that the instant decides are read, where there are any."""
    lake = ingested(tmp_path)
    jobs.reconcile(str(lake), as_of=MUCH_LATER, tables=None)
    as_of = MUCH_LATER + 30 * HOUR_US
    every = {one.name for one in catalogue.TABLES if not one.by_instant}
    assert read_again(spark, lake, as_of) == every | {
        part.name for one in catalogue.TABLES for part in one.partials
    }
    given = jobs.report(str(lake), out=tmp_path / "given.html", as_of=as_of)
    shutil.rmtree(lake / "runs")
    assert read_again(spark, lake, as_of) == set()
    computed = jobs.report(str(lake), out=tmp_path / "computed.html", as_of=as_of)
    assert given.read_text("utf-8") == computed.read_text("utf-8")


@pytest.mark.long
def test_a_run_with_nothing_new_keeps_the_tables_that_are_the_same(
    spark: SparkSession, tmp_path: Path
):
    """At another instant too; it writes those that this decides, and those that are gone."""
    lake = ingested(tmp_path)
    tables = ("hops", "availability", "volume", "turnaround", "in_doubt")
    first = jobs.reconcile(str(lake), as_of=MUCH_LATER, tables=tables)
    as_of = MUCH_LATER + 30 * HOUR_US
    again = jobs.reconcile(str(lake), as_of=as_of, tables=tables)
    same = {name for name in tables if again.tables[name] == first.tables[name]}
    assert same == {"hops", "availability", "volume"}
    runs.sweep(str(lake), keep_s=0)

    def contents(run: str | None) -> dict[str, object]:
        return {name: fingerprint(jobs.table(spark, str(lake), name, run)) for name in tables}

    kept = contents(again.run)
    shutil.rmtree(lake / "tables" / "volume")
    mended = jobs.reconcile(str(lake), as_of=as_of, tables=tables)
    assert mended.tables["hops"] == first.tables["hops"]
    assert contents(mended.run) == kept
    shutil.rmtree(lake / "runs")
    assert contents(jobs.reconcile(str(lake), as_of=as_of, tables=tables).run) == kept
    jobs.reconcile(str(lake), as_of=as_of, tables=("hops",), policy=Policy(grace_us=1))
    assert read_again(spark, lake, as_of) == set(), "another run may remove them meanwhile"
    assert "hops" in read_again(spark, lake, as_of, is_alone=True)


@pytest.mark.long
def test_the_evidence_of_a_run_to_which_nothing_came_is_not_folded_again(
    spark: SparkSession, tmp_path: Path
):
    """Its tables are read then. Once a row has come, only what the run had counts."""
    lake, there = tmp_path / "lake", exchange()
    publish(lake, there.sender, last=len(there.sender.records) - 1)
    publish(lake, there.receiver)
    jobs.ingest(str(lake))
    run = jobs.reconcile(str(lake), as_of=MUCH_LATER, tables=("hops",)).run
    assert read_again(spark, lake, None, evidence=run) == {"delivery_ledger", "hops"}
    publish(lake, there.sender, first=len(there.sender.records))
    jobs.ingest(str(lake))
    assert read_again(spark, lake, None, evidence=run) == set()


@pytest.mark.long
def test_nothing_is_read_of_a_run_that_is_not_the_same(spark: SparkSession, tmp_path: Path):
    """Other verdicts, rules, code, lakes or rows, a damaged file; and no table that is gone."""
    lake, there = tmp_path / "lake", exchange()
    publish(lake, there.sender, last=len(there.sender.records) - 1)
    publish(lake, there.receiver)
    jobs.ingest(str(lake))
    early, tables = there.now + SECOND, ("hops", "availability")
    of_run = {"delivery_ledger", *tables, "runs_of_stretches"}

    def run() -> str | None:
        done = jobs.reconcile(str(lake), as_of=early, tables=tables)
        assert read_again(spark, lake, early) == of_run
        return done.run

    file = lake / "runs" / f"{run()}.json"
    written = json.loads(file.read_bytes())
    others = ({"made_by": ""}, {"lakes": [*written["lakes"], "file:/elsewhere"]}, {"tables": []})
    for other in others:
        file.write_text(json.dumps(written | other))
        assert read_again(spark, lake, early) == set()
    file.write_text("no JSON")
    assert read_again(spark, lake, early) == set()
    file.write_text(json.dumps(written))
    shutil.rmtree(lake / "tables" / "hops")
    assert read_again(spark, lake, early) == of_run - {"hops"}
    publish(lake, there.sender, first=len(there.sender.records))
    jobs.ingest(str(lake))
    assert read_again(spark, lake, early) == set()
    run()
    assert read_again(spark, lake, early, Policy(grace_us=1)) == set()
    assert read_again(spark, lake, early) == of_run
    assert read_again(spark, lake, MUCH_LATER) == set()


def test_a_judgement_of_the_past_without_a_message_is_not_taken_for_today_s(
    spark: SparkSession, tmp_path: Path
):
    """Of a gateway that has only been asked for a sign of life, once before and once after."""
    lake = str(tmp_path)
    there, _ = two_parties()
    there.of_pair(Event.PING_SENT, outcome="accepted")
    past = there.now
    there.of_pair(Event.PING_SENT, outcome="accepted")
    publish(tmp_path, there.sender)
    jobs.ingest(lake)
    counts = []
    for as_of in (past, None):
        jobs.reconcile(lake, as_of=as_of, tables=["status_probes"])
        counts.append(jobs.table(spark, lake, "status_probes").count())
    assert counts == [1, 2]
