"""Gold, brought up to date by whatever came, has the lives that all rows give at once (E4)."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fingerprints import fingerprint
from journals import DAWN, HEALTHY, MUCH_LATER, PLANTS, SECOND, plant, publish, two_parties

from onceonly.lake import invariants, jobs, manifest, model, runner, storage, verdicts
from onceonly.lake.gold import days, placing, refreshing
from onceonly.lake.gold.days import BY_DAY
from onceonly.lake.jobs import ingestion
from onceonly.lake.jobs.case import open_case
from onceonly.lake.reports import reconciliation
from onceonly.lake.verdicts import Policy
from onceonly.message.event import Event

if TYPE_CHECKING:
    from journals import Exchange
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

DAY = 86_400 * SECOND
DAYS = 3
POLICY = Policy()


def exchanges(seed: int) -> tuple[Exchange, Exchange]:
    """Both directions over some days, with every fate on each; some messages last over midnight."""
    chance = random.Random(seed)
    there, back = two_parties()
    fates, weights = zip(*HEALTHY, strict=True)
    for number in range(DAYS):
        there.now = back.now = DAWN + number * DAY
        for message in range(6):
            for exchange, way in ((there, "order"), (back, "response")):
                [fate] = chance.choices(fates, weights)
                fate(exchange, f"{way}-{number}-{message}@example")
        for name, fate in PLANTS.items():
            plant(there, {name: lambda one, told, fate=fate, n=number: fate(one, f"{n}-{told}")})
        there.submit(f"late-{number}@example")
        there.send(f"late-{number}@example")
        there.now += DAY
        there.out(Event.ACK_RECEIVED, f"late-{number}@example")
    return there, back


def at_once(
    spark: SparkSession, lakes: list[str], as_of: int, policy: Policy = POLICY
) -> DataFrame:
    """The lives of all rows, folded and judged together."""
    held = runner.holdings(spark, lakes)
    coverage = model.merge_coverage(held.read("coverage"))
    lives = model.partial(held.read("journal"))
    judged = verdicts.verdict(lives, coverage, as_of=as_of, policy=policy)
    return model.with_terms(judged, model.terms(held.read("journal")))


def is_equal(
    spark: SparkSession,
    lakes: list[str],
    as_of: int,
    policy: Policy = POLICY,
    *,
    has_sheet: bool = False,
) -> bool:
    """Whether the lives are the same, and what is counted of them for totals.

    With `has_sheet` that for the sheet as well, which takes as long again.
    """
    case = open_case(spark, lakes, as_of, policy)
    whole = at_once(spark, lakes, as_of, policy).persist()
    pairs = [
        (case.judged, whole),
        (reconciliation.added(case.counts()), reconciliation.counts(whole)),
    ]
    if has_sheet:
        tried = invariants.breaches(whole, as_of=as_of, policy=policy)
        pairs += [(invariants.sheet(case.tallies()), invariants.sheet(invariants.tallies(tried)))]
    found = [
        fingerprint(kept.select(*sorted(kept.columns)))
        == fingerprint(expected.select(*sorted(kept.columns)))
        for kept, expected in pairs
    ]
    whole.unpersist()
    assert all(found) or not any(found), f"lives, totals, sheet: {found}"
    return found[0]


@pytest.mark.long
def test_gold_is_what_all_rows_give_whatever_came_when(spark: SparkSession, tmp_path: Path):
    """Cuts in any order, a party that comes late, compaction, judgements at several instants."""
    there, back = exchanges(3)
    lake, chance = str(tmp_path), random.Random(4)
    rows = len(there.sender.records)
    bounds = [0, *sorted(chance.sample(range(1, rows), 4)), rows]
    parts = list(pairwise(bounds))
    chance.shuffle(parts)
    last = max(row.at for row in (*there.sender.records, *there.receiver.records))
    instants = [last, last + 60 * SECOND, MUCH_LATER, last + 400 * SECOND]
    for number, (low, high) in enumerate(parts):
        publish(tmp_path, there.sender, first=low + 1, last=high)
        if number == 1:
            publish(tmp_path, there.receiver, last=60)
        if number == 3:
            jobs.compact(lake)
            publish(tmp_path, back.sender, first=61)
        jobs.ingest(lake)
        assert is_equal(spark, [lake], instants[number % len(instants)])
    # Nothing is new but the time, which goes on and then back: what has turned has not yet.
    for as_of in (MUCH_LATER, instants[1]):
        assert is_equal(spark, [lake], as_of, has_sheet=True)


@pytest.mark.long
def test_only_days_that_rows_or_time_have_changed_are_written(spark: SparkSession, tmp_path: Path):
    """A row of one message: its day. The same instant: none. An hour: what was still to turn."""
    there, _ = exchanges(5)
    lake, as_of = str(tmp_path), DAWN + 10 * DAY
    publish(tmp_path, there.receiver)
    rows = len(there.sender.records)
    publish(tmp_path, there.sender, last=rows - 1)
    jobs.ingest(lake)

    def folders(as_of: int) -> dict[str, str]:
        open_case(spark, [lake], as_of, POLICY)
        return {name: day.folder for name, day in days.load(days.place([lake])).days.items()}

    first = folders(as_of)
    assert len(first) >= DAYS
    assert folders(as_of) == first == folders(as_of + 40 * DAY)
    publish(tmp_path, there.sender, first=rows)
    jobs.ingest(lake)
    last = folders(as_of)
    # The last row acknowledges, on the day after, a message of the third day.
    [touched] = [name for name in first if last[name] != first[name]]
    assert touched == str(date.fromordinal(date(2025, 10, 9).toordinal() + DAYS - 1))
    assert is_equal(spark, [lake], as_of)


@pytest.mark.long
def test_other_rules_do_not_take_the_place_of_those_before(spark: SparkSession, tmp_path: Path):
    """A page with other rules than the schedule's: neither makes the other judge all days again.

    Days for which rows came are judged again by both.
    """
    there, _ = exchanges(12)
    lake, as_of, rows = str(tmp_path), DAWN + 10 * DAY, len(there.sender.records)
    publish(tmp_path, there.receiver)
    publish(tmp_path, there.sender, last=rows - 1)
    jobs.ingest(lake)

    def folders(policy: Policy) -> dict[str, str]:
        kept = open_case(spark, [lake], as_of, policy).kept
        assert kept is not None
        assert all(map(storage.is_folder, [*kept.lives.values(), *kept.sums.values()]))
        return dict(kept.lives)

    first = {policy: folders(policy) for policy in (POLICY, Policy(grace_us=3 * DAY))}
    ours, theirs = first.values()
    assert set(ours.values()).isdisjoint(theirs.values())
    assert {policy: folders(policy) for policy in first} == first
    publish(tmp_path, there.sender, first=rows)
    jobs.ingest(lake)
    for policy, before in first.items():
        now = folders(policy)
        assert [name for name in before if now[name] != before[name]] == [max(before)]
        assert is_equal(spark, [lake], as_of, policy, has_sheet=True)


@pytest.mark.long
def test_rows_that_do_not_count_any_more_leave_gold(spark: SparkSession, tmp_path: Path):
    """What a person set aside, and a lake that was ingested again from its beginning."""
    there, _ = exchanges(6)
    lake = str(tmp_path)
    publish(tmp_path, there.sender, last=40)
    gone = publish(tmp_path, there.sender, first=41, last=80)
    publish(tmp_path, there.receiver)
    jobs.ingest(lake)
    assert is_equal(spark, [lake], MUCH_LATER)
    segment = str(gone.relative_to(tmp_path))
    gone.unlink()
    jobs.distrust(lake, segment, reason="it was never published")
    assert is_equal(spark, [lake], MUCH_LATER, has_sheet=True)
    assert open_case(spark, [lake], MUCH_LATER, POLICY).judged.count() > 0


@pytest.mark.long
def test_another_party_s_journal_makes_its_days_judged_again(spark: SparkSession, tmp_path: Path):
    """Whose journals are there decides what the absence of a row proves; others' days are left."""
    there, _ = exchanges(7)
    lake, other = str(tmp_path), two_parties(("urn:other:1", "urn:other:2"))[0]
    other.now = DAWN + 9 * DAY
    other.submit("other@example")
    other.send("other@example")
    for ledger in (there.sender, other.sender, other.receiver):
        publish(tmp_path, ledger)
    jobs.ingest(lake)
    assert is_equal(spark, [lake], MUCH_LATER)
    first = days.load(days.place([lake])).days
    publish(tmp_path, there.receiver, last=1)
    jobs.ingest(lake)
    assert is_equal(spark, [lake], MUCH_LATER, has_sheet=True)
    last = days.load(days.place([lake])).days
    assert [name for name in first if last[name] == first[name]] == ["2025-10-18"]
    kept = open_case(spark, [lake], MUCH_LATER, POLICY).judged
    assert kept.where("is_two_sided").count() > 1


@pytest.mark.long
def test_gold_of_another_version_is_made_again(spark: SparkSession, tmp_path: Path):
    """Folds that changed, a file that nobody can read, and one that is gone."""
    there, _ = exchanges(8)
    lake = str(tmp_path)
    publish(tmp_path, there.sender)
    jobs.ingest(lake)
    assert is_equal(spark, [lake], MUCH_LATER)
    where = days.place([lake])
    good = days.load(where)
    days.publish(where, replace(good, folds="older"))
    assert is_equal(spark, [lake], MUCH_LATER)
    assert days.load(where).folds == refreshing.FOLDS_MARK
    for content in ("{", '{"version": 99}'):
        Path(where, "gold.json").write_text(content)
        assert not days.load(where).days
    assert is_equal(spark, [lake], MUCH_LATER)


def test_a_lake_that_nobody_may_write_into_is_judged(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An auditor has a copy to read, and root may write anywhere, so the system says it here."""
    there, _ = exchanges(9)
    publish(tmp_path, there.sender)
    jobs.ingest(str(tmp_path))

    def refuse(self: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert is_equal(spark, [str(tmp_path)], MUCH_LATER)
    assert not Path(days.place([str(tmp_path)])).exists()


@pytest.mark.long
def test_lakes_that_share_a_journal_are_judged_without_gold(spark: SparkSession, tmp_path: Path):
    """A row that is in both counts once."""
    there, _ = exchanges(10)
    lakes = [str(tmp_path / "one"), str(tmp_path / "two")]
    for lake in lakes:
        publish(Path(lake), there.sender)
        jobs.ingest(lake)
    assert is_equal(spark, lakes, MUCH_LATER)
    assert is_equal(spark, lakes[:1], MUCH_LATER)
    [shelf] = manifest.shelves(lakes[:1])
    assert set(days.load(days.place(lakes[:1])).included) == {shelf.folder}


@pytest.mark.long
def test_an_ingest_of_much_leaves_nothing_to_fold(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A back-fill is folded when it comes; what comes day by day is left to the run."""
    there, _ = exchanges(11)
    lake = str(tmp_path)
    publish(tmp_path, there.sender, last=100)
    jobs.ingest(lake)
    assert not days.load(days.place([lake])).days
    monkeypatch.setattr(ingestion, "ROWS_TO_FOLD", 150)
    publish(tmp_path, there.sender, first=101)
    jobs.ingest(lake)
    [included] = days.load(days.place([lake])).included.values()
    assert (included.rows, included.batch) == (len(there.sender.records), 2)
    held = runner.holdings(spark, [lake])
    assert refreshing.pending([lake], held) == (0, POLICY)
    assert is_equal(spark, [lake], MUCH_LATER)


def test_keys_with_one_hash_are_kept_under_one_day(spark: SparkSession):
    """Whoever chooses his MessageIds can make two with one hash; neither may hide the other."""
    of = "key_hash bigint, first_at bigint"
    index = spark.createDataFrame([(2, date(2025, 1, 1))], placing.INDEX)
    new = [(1, DAWN), (1, DAWN + DAY), (2, DAWN), (3, DAWN + DAY)]
    found = placing.placed(spark.createDataFrame(new, of), index, date(2025, 12, 1))
    assert {row["key_hash"]: (str(row[BY_DAY]), row["is_new"]) for row in found.collect()} == {
        1: ("2025-10-09", True),
        2: ("2025-01-01", False),
        3: ("2025-10-10", True),
    }
    kept = [(1, date(2025, 10, 9)), (1, date(2025, 10, 10)), (2, date(2025, 1, 1))]
    [torn] = placing.torn(spark.createDataFrame(kept, placing.INDEX)).collect()
    assert tuple(torn) == (1, date(2025, 10, 9))


@pytest.mark.parametrize(
    ("at", "day"),
    [(0, "2000-01-01"), (DAWN, "2025-10-09"), (2**52, "2025-12-02")],
)
def test_a_clock_that_is_wrong_makes_no_folder_of_its_own(spark: SparkSession, at: int, day: str):
    """Every day before this century is one, and every day after tomorrow."""
    rows = spark.createDataFrame([(at,)], "first_at bigint")
    [found] = rows.select(placing.day_of(rows["first_at"], date(2025, 12, 1))).collect()
    assert str(found[0]) == day


def test_a_message_that_was_asked_about_before_it_came_counts_once(
    spark: SparkSession, tmp_path: Path
):
    """The index has it when the first life of all comes, and must not have it twice."""
    lake, name = str(tmp_path), "asked-about@example"
    there, _ = two_parties()
    there.into(Event.INQUIRY_RECEIVED, name)
    there.into(Event.REPORT_SENT, name)
    steps = (lambda: None, lambda: there.store(name), lambda: there.hand_over(name))
    done = 0
    for step in steps:
        step()
        rows = len(there.receiver.records)
        publish(tmp_path, there.receiver, first=done + 1, last=rows)
        done = rows
        jobs.ingest(lake)
        case = open_case(spark, [lake], MUCH_LATER, POLICY)
    [life] = case.judged.collect()
    assert life["hand_overs"] == 1
    assert is_equal(spark, [lake], MUCH_LATER)


def test_a_journal_that_was_set_back_and_went_on_is_folded_again(
    spark: SparkSession, tmp_path: Path
):
    """As where what was ingested is restored: its next batches have the numbers of others."""
    lake, backup = str(tmp_path / "lake"), tmp_path / "backup"
    there, _ = exchanges(4)
    rows = len(there.sender.records)
    publish(tmp_path / "lake", there.receiver)
    publish(tmp_path / "lake", there.sender, last=rows - 20)
    jobs.ingest(lake)
    shutil.copytree(tmp_path / "lake" / "ingested", backup)
    publish(tmp_path / "lake", there.sender, first=rows - 19, last=rows - 12)
    jobs.ingest(lake)
    open_case(spark, [lake], MUCH_LATER, POLICY)
    shutil.rmtree(tmp_path / "lake" / "ingested")
    shutil.copytree(backup, tmp_path / "lake" / "ingested")
    for first, last in ((rows - 11, rows - 6), (rows - 5, rows)):
        publish(tmp_path / "lake", there.sender, first=first, last=last)
        jobs.ingest(lake)
    assert is_equal(spark, [lake], MUCH_LATER)
