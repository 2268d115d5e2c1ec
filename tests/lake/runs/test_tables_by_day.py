"""Tables cost what changed: days of the run before are linked, and the rows are the same."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cases import BETWEEN
from fingerprints import fingerprint
from journals import DAWN, MUCH_LATER, Ledger, Passage, publish, two_parties
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F
from test_gold import DAY, exchanges

from onceonly.lake import catalogue, jobs, runner, storage, stretches
from onceonly.lake.gold import days as gold
from onceonly.lake.gold import placing, refreshing
from onceonly.lake.jobs import keeping
from onceonly.lake.jobs.case import open_case
from onceonly.lake.jobs.findings import rows_on_differences
from onceonly.lake.reports import differences
from onceonly.lake.verdicts import Policy
from onceonly.message.event import Direction, Event

if TYPE_CHECKING:
    from journals import Exchange
    from pyspark.sql import SparkSession

BY_DAY = [one.name for one in catalogue.TABLES if one.of_lives or one.of_rows]
SUMMED_UP = [one.name for one in catalogue.TABLES if one.partials]
PARTS_BY_DAY = [
    *BY_DAY,
    *(part.name for one in catalogue.TABLES for part in one.partials if not part.of_stretches),
]


def files(lake: str, table: str) -> dict[str, int]:
    """Day and number of each file of a day on the disk, in the current table."""
    run = jobs.run(lake)
    [folder] = run.tables.get(table, run.partials.get(table)).folders
    found = Path(lake, folder).glob("2*.parquet")
    return {f"{one.name[:10]} {one.stat().st_ino}": one.stat().st_nlink for one in found}


def unlike(spark: SparkSession, lake: str, as_of: int | None = MUCH_LATER) -> list[str]:
    """The tables of the run that are not what all rows give at once."""
    evidence = open_case(spark, [lake], as_of, Policy()).evidence()
    assert evidence.kept is not None
    assert not evidence.partials
    evidence, found = evidence._replace(as_of=jobs.run(lake).as_of), []
    for name in jobs.run(lake).tables:
        kept, whole = jobs.table(spark, lake, name), catalogue.find(name).make(evidence)
        if kept.columns != whole.columns or fingerprint(kept) != fingerprint(whole):
            found.append(name)
    return found


def tell_odd_things(there: Exchange, passage: Passage) -> None:
    """Rows that no life is made of, of many days, in the journals of sender and intermediary."""
    for day in range(3):
        there.now = DAWN + day * DAY
        there.of_pair(Event.PAIR_SUSPENDED, reason="a test")
        there.out(Event.TRANSMITTING, f"crossing-{day}@example", attempt=1)
        for event in (Event.TRANSMITTING, Event.ACK_SENT, Event.STORED):
            there.of_pair(event, attempt=1)
            passage.between.write(event, there.now, direction=Direction.OUT, hop=0)
        there.of_pair(Event.PING_SENT, outcome="accepted")
        there.out(Event.ERROR_SENT, f"unknown-{day}@example", outcome="accepted", from_party=None)
        there.sender.write(Event.ORPHAN_ACK_RECEIVED, there.now, direction=Direction.OUT)
        there.out(Event.REJECTED, f"own-refusal-{day}@example")
        there.out(Event.STORED, f"tale-{day}@example", hop=0)
        passage.delivered(f"in-care-{day}@example")
        # What is left of a message of a day before, which its ends told nothing of.
        for event in (Event.TRANSMITTING, Event.TRANSMITTED, Event.DUPLICATE_ELIMINATED):
            passage.note(event, "passing-for-days@example", Direction.OUT, hop=0, attempt=1)
        there.now += 2 * DAY
        there.out(Event.TRANSMITTED, f"crossing-{day}@example", attempt=1, outcome="unknown")
    for at in (0, DAWN + 50 * 365 * DAY):
        there.sender.write(Event.PONG_RECEIVED, at, direction=Direction.OUT)


def test_tables_are_written_one_by_one_where_many_messages_are_astray(tmp_path: Path):
    """Each sends them to every task: two of them are more than a small heap has room for."""
    kept = gold.KeptDays({}, {}, {}, [], [str(tmp_path)], {}, 0)
    entries = tmp_path / "part-0.parquet"
    entries.write_bytes(bytes(1 << 20))
    assert keeping.at_once(kept) == keeping.at_once(None) == 2
    entries.write_bytes(bytes(5 << 20))
    assert keeping.at_once(kept) == 1


@pytest.mark.long
@pytest.mark.spark
def test_tables_of_parts_are_what_all_rows_give_whatever_came_when(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Cuts in any order, odd rows among them; a day's rows are those of its messages.

    A journal has some twenty stretches, whose last rows may come after those of the next.
    """
    monkeypatch.setattr(stretches, "ROWS_AT_ONCE", 37)
    there, _ = exchanges(8)
    passage = Passage(there, Ledger(BETWEEN))
    tell_odd_things(there, passage)
    lake, chance = str(tmp_path), random.Random(9)
    ledgers = (there.sender, there.receiver, passage.between)
    parts = []
    for ledger in ledgers:
        rows = len(ledger.records)
        bounds = [0, *sorted(chance.sample(range(1, rows), 2)), rows]
        parts += [(ledger, *part) for part in pairwise(bounds)]
    chance.shuffle(parts)
    for number, (ledger, low, high) in enumerate(parts, 1):
        publish(tmp_path, ledger, first=low + 1, last=high)
        if number in (5, 9):
            jobs.ingest(lake)
            # Now, since rows that are later than an instant do not count there.
            jobs.reconcile(lake, tables=(*BY_DAY, *SUMMED_UP))
            assert unlike(spark, lake, as_of=None) == []
    for name in (*BY_DAY, *SUMMED_UP):
        assert jobs.table(spark, lake, name).count() > 0, name
    # The page looks at the time of a few messages alone, and sees the same rows.
    case = open_case(spark, [lake], None, Policy())
    differing = differences.table(case.judged)
    shown = rows_on_differences(differing, case.journal, case.kept)
    assert shown
    assert shown == rows_on_differences(differing, case.journal, None)


@pytest.mark.long
@pytest.mark.spark
def test_only_parts_with_other_rows_are_made(spark: SparkSession, tmp_path: Path):
    """The last row is of one message: the files of all other days are those of the run before.

    So they are if a run in between wrote the ledger alone.
    """
    there, _ = exchanges(5)
    written = (*BY_DAY, *SUMMED_UP)
    lake = str(tmp_path)
    publish(tmp_path, there.receiver)
    publish(tmp_path, there.sender, last=len(there.sender.records) - 1)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=written)
    first = {name: files(lake, name) for name in PARTS_BY_DAY}
    jobs.reconcile(lake, as_of=MUCH_LATER)
    publish(tmp_path, there.sender, first=len(there.sender.records))
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=written)
    last = {name: files(lake, name) for name in PARTS_BY_DAY}
    for name in PARTS_BY_DAY:
        assert {one[:10] for one in last[name].keys() - first[name].keys()} <= {"2025-10-11"}, name
        assert {one[:10] for one in last[name]} == {one[:10] for one in first[name]}, name
    assert unlike(spark, lake) == []
    # Nothing is written where nothing is new; the tables of the run before may go.
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=written)
    jobs.compact(lake, keep_s=0)
    assert all(files(lake, name).keys() == last[name].keys() for name in PARTS_BY_DAY)
    assert unlike(spark, lake) == []


@pytest.mark.long
@pytest.mark.spark
def test_stretches_with_the_same_rows_are_taken_from_the_run_before(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What the run before has of them is changed here, and shows in the next one's table."""
    monkeypatch.setattr(stretches, "ROWS_AT_ONCE", 50)
    there, _ = exchanges(3)
    lake, rows = str(tmp_path), len(there.sender.records)
    publish(tmp_path, there.receiver)
    publish(tmp_path, there.sender, last=rows - 1)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=["journal_quality"])
    partial = jobs.run(lake).partials[catalogue.QUALITY.name]
    place = str(tmp_path / partial.folders[0])
    told = spark.read.parquet(place).withColumn("drills", F.lit(1).cast("bigint"))
    spark.createDataFrame(told.collect(), told.schema).write.mode("overwrite").parquet(place)
    publish(tmp_path, there.sender, first=rows)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=["journal_quality"])
    found = jobs.table(spark, lake, "journal_quality").select("party", "drills").collect()
    drills = {row["party"]: row["drills"] for row in found}
    # All of the receiver's stretches, and of the sender's all but the one with the last row.
    assert drills == {
        there.receiver.party: -(-(len(there.receiver.records) + 1) // 50),
        there.sender.party: (rows - 1) // 50 + 1 - 1,
    }


@pytest.mark.spark
def test_rows_that_no_life_is_made_of_reach_their_day(spark: SparkSession, tmp_path: Path):
    """An intermediary's, of a message that it took into care days before."""
    there, _ = two_parties()
    passage, lake = Passage(there, Ledger(BETWEEN)), str(tmp_path)
    passage.taken_into_care("waits@example")
    before = len(passage.between.records)
    wanted = ("hops", "hop_waterfall")
    publish(tmp_path, there.sender)
    publish(tmp_path, passage.between)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=wanted)
    there.now += 3 * DAY
    passage.note(Event.TRANSMITTED, "waits@example", Direction.OUT, hop=0, outcome="accepted")
    passage.note(Event.ACK_RECEIVED, "waits@example", Direction.OUT, hop=0)
    publish(tmp_path, passage.between, first=before + 1)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=wanted)
    assert unlike(spark, lake) == []


@pytest.mark.spark
def test_a_table_that_was_half_removed_is_not_taken_over(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A compaction fails in the middle of a folder; the next run has every row all the same."""
    there, _ = exchanges(2)
    lake, remove = str(tmp_path), storage.remove
    for ledger in (there.sender, there.receiver):
        publish(tmp_path, ledger)
    jobs.ingest(lake)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=["messages"])
    jobs.reconcile(lake, as_of=MUCH_LATER)

    def half(url: str) -> None:
        if "tables/messages/" in url:
            min(Path(url).glob("2*.parquet")).unlink()
            raise OSError("the disk is gone")
        remove(url)

    monkeypatch.setattr(storage, "remove", half)
    with pytest.raises(OSError, match="the disk is gone"):
        jobs.compact(lake, keep_s=0)
    monkeypatch.setattr(storage, "remove", remove)
    jobs.reconcile(lake, as_of=MUCH_LATER, tables=["messages"])
    assert unlike(spark, lake) == []
    jobs.compact(lake, keep_s=0)
    assert len(list((tmp_path / "tables" / "messages").iterdir())) == 1


@pytest.mark.spark
@pytest.mark.parametrize("has_message", [True, False])
def test_a_table_by_day_without_rows_tells_its_columns(
    spark: SparkSession, tmp_path: Path, has_message: bool
):
    """Whoever reads its folder has no other source for them, and a view has none either.

    So it is with a journal that has a day and no life, as of a gateway that has just begun.
    """
    there, _ = two_parties()
    if has_message:
        there.submit("m@example")
    else:
        there.of_pair(Event.PAIR_SUSPENDED, reason="a test")
    publish(tmp_path, there.sender)
    jobs.ingest(str(tmp_path))
    jobs.reconcile(str(tmp_path), as_of=MUCH_LATER, tables=(*BY_DAY, *SUMMED_UP))
    for name in BY_DAY:
        [folder] = jobs.run(str(tmp_path)).tables[name].folders
        columns = spark.read.parquet(str(tmp_path / folder)).columns
        assert columns == list(catalogue.find(name).definition.names)


@pytest.mark.long
@pytest.mark.spark
def test_a_row_is_of_the_day_of_its_message(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As the index tells it, whether those astray are sent to every task or are too many for it.

    Some have rows of a later day than the one they are kept under, some of an earlier one.
    """
    there, _ = exchanges(5)
    tell_odd_things(there, Passage(there, Ledger(BETWEEN)))
    there.submit("overnight@example")
    there.now += DAY
    there.arrive("overnight@example")
    there.ack("overnight@example")
    half = len(there.sender.records) // 2
    for ledger, first, last in (
        (there.receiver, 1, None),
        (there.sender, 1, half),
        (there.sender, half + 1, None),
    ):
        publish(tmp_path, ledger, first=first, last=last)
        jobs.ingest(str(tmp_path))
        case = open_case(spark, [str(tmp_path)], None, Policy())
    kept = case.kept
    assert kept is not None
    index = runner.folders_of(spark, placing.INDEX, kept.index_folders)
    astray = runner.folders_of(spark, placing.INDEX, kept.astray_folders).distinct()
    assert 0 < astray.count() < index.count() / 2
    told = case.journal.withColumn(placing.HASH, placing.row_hash())
    told = told.join(index, placing.HASH, "left").drop(placing.HASH)
    own = placing.day_of_row(F.col("at"))
    wanted = fingerprint(told.withColumn(gold.BY_DAY, F.coalesce(gold.BY_DAY, own)))
    assert fingerprint(refreshing.rows(case.journal, kept, kept.rows)) == wanted
    monkeypatch.setattr(refreshing, "ASTRAY_EVERYWHERE_BYTES", 0)
    assert fingerprint(refreshing.rows(case.journal, kept, kept.rows)) == wanted


def test_files_are_moved_up_and_linked_by_their_beginnings(tmp_path: Path):
    """What is hidden stays behind; a linked file survives the folder that it came from."""
    for day in ("2025-10-09", "2025-10-10"):
        folder = tmp_path / "old" / f"day={day}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_text(day)
        (folder / ".part-0.parquet.crc").write_text("checked")
    storage.lay_flat(str(tmp_path / "old"))
    names = sorted(one.name for one in (tmp_path / "old").iterdir())
    assert names == ["2025-10-09-part-0.parquet", "2025-10-10-part-0.parquet"]
    storage.link_files(str(tmp_path / "old"), str(tmp_path / "new"), ["2025-10-10"])
    storage.remove(str(tmp_path / "old"))
    [linked] = (tmp_path / "new").iterdir()
    assert (linked.name, linked.read_text()) == ("2025-10-10-part-0.parquet", "2025-10-10")
