"""Segments that are damaged, edited or away: named and kept apart, and all others count."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import MUCH_LATER, made
from click.testing import CliRunner
from fingerprints import rows_in
from journals import BUYER, SELLER, Ledger, chained, healthy, publish, upgraded
from py4j.protocol import Py4JJavaError

from onceonly.cli.main import cli
from onceonly.journal.record import chain, younger_than
from onceonly.journal.segment import party_folder, to_records, to_table
from onceonly.lake import hash_chain, jobs, manifest, runner
from onceonly.lake.ingest import batch, register, segments
from onceonly.lake.ingest.intake import Intake
from onceonly.lake.ingest.stream import IngestRun
from onceonly.lake.jobs.case import open_case
from onceonly.lake.manifest import Manifest
from onceonly.lake.verdicts import Policy
from onceonly.message.errors import LocalError
from onceonly.message.word import changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from onceonly.lake.ingest.change import Change
    from onceonly.lake.ingest.register import KnownSegments, RegisterEntry
    from onceonly.lake.ingest.segments import Look
    from onceonly.lake.manifest import Distrusted

pytestmark = pytest.mark.spark


def in_three(lake: Path, ledger: Ledger) -> list[Path]:
    """The journal as segments of twenty rows and one of the rest."""
    last = len(ledger.records)
    return [
        publish(lake, ledger, first=low, last=high) for low, high in ((1, 20), (21, 40), (41, last))
    ]


def rewrite(path: Path, edit: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(edit(pq.read_table(path)), path, compression="zstd")


def with_value(table: pa.Table, name: str, row: int, value: object) -> pa.Table:
    values = table.column(name).to_pylist()
    values[row] = value
    field = table.schema.field(name)
    return table.set_column(table.schema.get_field_index(name), field, pa.array(values, field.type))


def rechained(table: pa.Table, row: int) -> pa.Table:
    """Edited by somebody who knows the chain: every hash from there on is computed anew."""
    records = to_records(table)
    records[row] = changed(records[row], size_bytes=1)
    for at in range(row, len(records)):
        previous = records[at - 1].chain_hash
        records[at] = changed(records[at], chain_hash=chain(previous, records[at]))
    return to_table(records)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def swap(path: Path) -> None:
    """The names of two segments exchanged."""
    other = path.with_name(sorted(one.name for one in path.parent.iterdir())[2])
    content = path.read_bytes()
    path.write_bytes(other.read_bytes())
    other.write_bytes(content)


HARMS: dict[str, tuple[Callable[[Path], object], set[int], str]] = {
    "edited": (lambda p: rewrite(p, lambda t: with_value(t, "at", 7, 5)), {1}, "edited: row 28"),
    "edited-first": (
        lambda p: rewrite(p, lambda t: with_value(t, "at", 0, 5)),
        {1},
        "edited: row 21 does not follow",
    ),
    "rechained": (lambda p: rewrite(p, lambda t: rechained(t, 9)), {2}, "row 41 does not follow"),
    "cut": (cut, {1}, "unreadable"),
    "emptied": (lambda p: p.write_bytes(b""), {1}, "unreadable"),
    "noise": (lambda p: p.write_bytes(b"PAR1" * 999), {1}, "unreadable"),
    "retyped": (
        lambda p: rewrite(p, lambda t: t.set_column(2, "at", t.column("at").cast(pa.float64()))),
        {1},
        "at is double",
    ),
    "short": (lambda p: rewrite(p, lambda t: t.slice(0, 12)), {1}, "cut short: its rows end at 32"),
    "misnamed": (lambda p: p.rename(p.with_name("segment-21-40.parquet")), {1}, "misnamed"),
    "swapped": (swap, {1, 2}, "misnumbered"),
}
"""Harm to the second of three segments: which of the three no longer count, and why."""
ROWS_OF = ({*range(1, 21)}, {*range(21, 41)})


@pytest.fixture(scope="module")
def harmed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, jobs.IngestSummary, list[str]]:
    """A source with a party for every harm, and one that has a folder of another's segments."""
    source, lake = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("lake")
    for name, (harm, _, _) in HARMS.items():
        ledger = healthy(seed=7, messages=8, names=(name, SELLER))[0].sender
        harm(in_three(source, ledger)[1])
    ledger = healthy(seed=7, messages=8, names=("stranger", SELLER))[0].sender
    publish(source, ledger).parent.rename(source / "journal" / "party=foreign")
    before = sorted((one.name, one.stat().st_mtime_ns) for one in source.rglob("*"))
    told: list[str] = []
    summary = jobs.ingest(str(source), into=str(lake), tell=told.append)
    assert sorted((one.name, one.stat().st_mtime_ns) for one in source.rglob("*")) == before
    return lake, summary, told


def test_every_harmed_segment_is_named_and_all_others_count(
    spark: SparkSession, harmed: tuple[Path, jobs.IngestSummary, list[str]]
):
    """One party per harm: fault and segment are in the manifest and told, all other rows are in."""
    lake, summary, told = harmed
    for name, (_, gone, fault) in HARMS.items():
        found = summary.manifests[f"{lake}/party={name}"]
        assert len(found.quarantined) == len(gone), name
        assert all(
            fault in one.fault or "does not follow" in one.fault for one in found.quarantined
        )
        assert any(fault in one.fault for one in found.quarantined), found.quarantined
        rows = runner.folders(
            spark, "journal", manifest.Shelf(str(lake), f"party={name}").paths(found, "journal")
        )
        seqs = {row["seq"] for row in rows.select("seq").collect()}
        last = {*range(41, max(seqs) + 1)} if 2 not in gone else set()
        assert seqs == {*range(1, 21)} | (ROWS_OF[1] if 1 not in gone else set()) | last
        assert any(f"party={name}/" in line and fault in line for line in told)
    [foreign] = summary.manifests[f"{lake}/party=foreign"].quarantined
    right = "its folder would be party=stranger, for its rows are of 'stranger'"
    assert foreign.fault == f"foreign: {right}"
    assert not summary.is_trusted


def test_an_edit_is_found_on_both_sides_of_a_change_of_version(spark: SparkSession, tmp_path: Path):
    """A gateway was upgraded in the middle of its journal: every row has its own hash (E3)."""
    edits = {"whole": None, "before": 24, "after": 35, "filled-in": 24}
    for name, row in edits.items():
        ledger = upgraded(healthy(seed=7, messages=8, names=(name, SELLER))[0].sender, behind=30)
        first, second, _ = in_three(tmp_path, ledger)
        rewrite(first, lambda table: table.drop_columns(list(younger_than(1))))
        if row is not None:
            column = "header_digest" if name == "filled-in" else "reason"
            rewrite(second, lambda t, row=row, column=column: with_value(t, column, row - 21, "x"))
    summary = jobs.ingest(str(tmp_path), into=str(tmp_path / "lake"))
    found = {
        name: [one.fault for one in summary.manifests[f"{tmp_path}/lake/party={name}"].quarantined]
        for name in edits
    }
    assert found == {
        name: [] if row is None else [f"edited: row {row} does not give its hash"]
        for name, row in edits.items()
    }
    journal = runner.journal(spark, [str(tmp_path / "lake")])
    [whole] = hash_chain.by_party(journal.where("party = 'whole'")).collect()
    assert (whole["edited"], whole["missing"], whole["forks"]) == (0, 0, 0)


def test_the_sheet_names_what_is_kept_apart(
    spark: SparkSession, harmed: tuple[Path, jobs.IngestSummary, list[str]]
):
    """E3 is broken by every quarantined segment, with the party and the first bad row."""
    lake, _, _ = harmed
    whole = {one.party: one for one in runner.wholeness(spark, [str(lake)])}
    assert (whole["edited"].missing, whole["edited"].first_bad_seq) == (20, 21)
    assert (whole["rechained"].missing, whole["rechained"].first_bad_seq) == (0, 41)
    assert whole["cut"].quarantined == 1
    found = jobs.reconcile(str(lake))
    [line] = [line for line in found.invariants if line.name == "E3"]
    assert line.breaches == sum(one.breaches for one in whole.values())
    assert not found.holds


def test_a_party_all_of_whose_segments_are_kept_apart_has_a_row_of_quality(
    spark: SparkSession, harmed: tuple[Path, jobs.IngestSummary, list[str]]
):
    """It published, and none of it counts; the others' rows are as their manifests say."""
    lake, _, _ = harmed
    case = open_case(spark, [str(lake)], MUCH_LATER, Policy())
    quality = {row["party"]: row for row in made("journal_quality", case.evidence())}
    assert [
        quality["foreign"][name] for name in ("has_journal", "rows", "missing", "quarantined")
    ] == [False, 0, 0, 1]
    assert quality["foreign"]["first_at"] is None
    for one in case.wholeness:
        row = quality[one.party]
        assert {name: row[name] for name in one.as_row()} == one.as_row()
        assert row["has_journal"] is (one.rows > 0)


def test_what_is_kept_apart_is_named_where_another_party_ends_the_ingest(
    spark: SparkSession, tmp_path: Path
):
    """The error is one party's; the other's segment is named all the same, and once."""
    there, _ = healthy(seed=9, messages=8)
    cut(publish(tmp_path, there.sender, last=20))
    publish(tmp_path, there.receiver, last=15)
    broken = tmp_path / "ingested" / party_folder(SELLER) / "manifest.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")
    result = CliRunner().invoke(cli, ["lake", "ingest", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.count("quarantined") == 1
    assert "is no manifest" in result.stderr


def test_a_mended_segment_is_taken_and_a_removed_one_forgotten(spark: SparkSession, tmp_path: Path):
    """Looked at again since it changed; the command names the rest, and ends with 11."""
    source = tmp_path / "source"
    ledger = healthy(seed=8, messages=8)[0].sender
    first, second, third = in_three(source, ledger)
    right = second.read_bytes()
    cut(second)
    (second.parent / "notes.txt").write_text("not a segment")
    (second.parent / "_segment.tmp").write_text("a publisher is at work")
    (second.parent / "_to=be.tmp").write_text("another one")
    (second.parent / "day=1").mkdir()
    (second.parent / "day=1" / second.name).write_bytes(right)
    result = CliRunner().invoke(cli, ["lake", "ingest", str(source)])
    assert result.exit_code == 11
    assert len([line for line in result.stderr.splitlines() if "quarantined" in line]) == 2
    assert f"/notes.txt of {source}: misnamed" in result.stderr
    assert "missing so far: rows 21 to 40" in result.stderr
    result = CliRunner().invoke(cli, ["lake", "reconcile", str(source), "--ledger-only"])
    assert result.exit_code == 11
    assert "the evidence is not whole (E3): mend that first" in result.stderr
    broken = [line for line in result.stderr.splitlines() if line.startswith("BROKEN")]
    assert broken[0].startswith("BROKEN E3: ")
    assert jobs.main(["ingest", "--lake", str(source)]) == 11
    assert jobs.main(["compact", "--lake", str(source)]) == 0

    second.write_bytes(right)
    (second.parent / "notes.txt").unlink()
    rewrite(first, lambda table: with_value(table, "at", 3, 5))
    result = CliRunner().invoke(cli, ["lake", "ingest", str(source)])
    assert result.exit_code == 11
    assert "changed after it was taken in: edited: row 4" in result.stderr
    [shelf] = manifest.shelves([str(source)])
    found = manifest.load(shelf)
    assert found.ranges == ((1, len(ledger.records)),)
    assert [Path(one.segment).name for one in found.quarantined] == [first.name]

    publish(source, ledger, first=1, last=20)
    assert CliRunner().invoke(cli, ["lake", "ingest", str(source)]).exit_code == 0
    assert manifest.load(shelf).rows == len(ledger.records)
    assert third.is_file()


def test_a_segment_that_followed_nobody_is_taken_back_when_its_neighbour_comes(
    spark: SparkSession, tmp_path: Path
):
    """The rows of another history counted until then, and none of them does after."""
    one, two = (healthy(seed=seed, messages=8)[0].sender for seed in (1, 2))
    publish(tmp_path, one, first=1, last=20)
    publish(tmp_path, two, first=41, last=60)
    jobs.ingest(str(tmp_path))
    publish(tmp_path, one, first=21, last=40)
    summary = jobs.ingest(str(tmp_path))
    [found] = summary.manifests.values()
    assert (found.rows, found.ranges) == (40, ((1, 40),))
    assert [entry.bad_seq for entry in found.quarantined] == [41]
    assert runner.journal(spark, [str(tmp_path)]).count() == 40


def test_rows_that_stay_do_not_come_from_files_that_changed(spark: SparkSession, tmp_path: Path):
    """All is taken anew for a contradiction: what was edited or removed since still counts."""
    one, two = (healthy(seed=seed, messages=8)[0].sender for seed in (1, 2))
    first = publish(tmp_path, one, first=1, last=10)
    second = publish(tmp_path, one, first=11, last=20)
    publish(tmp_path, two, first=41, last=60)
    jobs.ingest(str(tmp_path))
    rewrite(first, lambda table: with_value(table, "at", 3, 5))
    second.unlink()
    publish(tmp_path, one, first=21, last=40)
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert (found.rows, found.ranges, found.forks) == (40, ((1, 40),), 0)
    assert rows_in(spark, tmp_path) == set(one.records[:40])
    assert [entry.bad_seq for entry in found.quarantined] == [4, 41]


def test_rows_that_stay_are_told_from_those_under_their_numbers(
    spark: SparkSession, tmp_path: Path
):
    """A fork turns out to be another history: the rows behind it go, those beside it stay."""
    one, two = (healthy(seed=seed, messages=8)[0].sender for seed in (1, 2))
    publish(tmp_path, one, first=11, last=30)
    publish(tmp_path, two, first=21, last=30)
    assert jobs.ingest(str(tmp_path)).forks == 10
    publish(tmp_path, one, first=15, last=20)
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert (found.rows, found.forks, found.first_fork) == (20, 0, None)
    assert rows_in(spark, tmp_path) == set(one.records[10:30])


def test_rows_of_a_newer_version_that_cannot_be_told_apart_show_as_forks(
    spark: SparkSession, tmp_path: Path
):
    """Their hashes are over columns that the lake left out: the rows beside them stay, and show."""
    one, two = (healthy(seed=seed, messages=8)[0].sender for seed in (1, 2))
    newer = chained(one.records, more={"novelty": "x"})
    pq.write_table(newer.slice(20, 10), publish(tmp_path, one, first=21, last=30))
    publish(tmp_path, two, first=21, last=32)
    assert jobs.ingest(str(tmp_path)).forks == 10
    pq.write_table(newer.slice(10, 10), publish(tmp_path, one, first=11, last=20))
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert found.rows == len(runner.journal(spark, [str(tmp_path)]).collect())
    assert (found.rows, found.forks, found.first_fork) == (30, 10, 21)


def test_a_refused_segment_is_looked_at_again_before_it_counts(spark: SparkSession, tmp_path: Path):
    """The false one before it is mended, and it was edited meanwhile: its rows do not count."""
    one, two = (healthy(seed=seed, messages=8)[0].sender for seed in (1, 2))
    before = publish(tmp_path, two, first=1, last=20)
    behind = publish(tmp_path, one, first=21, last=40)
    assert len(jobs.ingest(str(tmp_path)).quarantined) == 1
    intake = Intake(manifest.shelves([str(tmp_path)])[0], str(before.parent))
    before.unlink()
    publish(tmp_path, one, first=1, last=20)
    rewrite(behind, lambda table: with_value(table, "at", 3, 5))
    batch.take(spark, intake, [before.name])
    found = manifest.load(intake.shelf)
    assert behind.name in [Path(entry.segment).name for entry in found.quarantined]
    assert not rows_in(spark, tmp_path) & set(one.records[20:])


def test_an_edited_first_row_shows_whichever_segment_comes_first(
    spark: SparkSession, tmp_path: Path
):
    """It kept its hash, and the row before it lies within an overlapping segment: a fork (E4)."""
    ledger = healthy(seed=10, messages=8)[0].sender
    lakes = [tmp_path / "honest-first", tmp_path / "edited-first"]
    for lake, order in zip(lakes, ((True, False), (False, True)), strict=True):
        for is_honest in order:
            if is_honest:
                publish(lake, ledger, first=1, last=15)
            else:
                path = publish(lake, ledger, first=11, last=20)
                rewrite(path, lambda table: with_value(table, "size_bytes", 0, 5))
            summary = jobs.ingest(str(lake))
        [found] = summary.manifests.values()
        assert (found.rows, found.forks, found.first_fork) == (21, 1, 11)
        assert not summary.is_trusted
    assert rows_in(spark, lakes[0]) == rows_in(spark, lakes[1])
    assert set(ledger.records[:20]) < rows_in(spark, lakes[0])
    [whole] = runner.wholeness(spark, [str(lake) for lake in lakes])
    assert (whole.rows, whole.forks, whole.first_bad_seq) == (21, 1, 11)


def test_a_segment_that_does_not_follow_what_another_lake_holds_is_named(
    spark: SparkSession, tmp_path: Path
):
    """Each lake is whole by itself; its first row was edited and kept its hash."""
    ledger = healthy(seed=10, messages=8)[0].sender
    lakes = [str(tmp_path / name) for name in ("first", "second", "edited")]
    publish(Path(lakes[0]), ledger, first=1, last=20)
    publish(Path(lakes[1]), ledger, first=21, last=40)
    path = publish(Path(lakes[2]), ledger, first=21, last=40)
    rewrite(path, lambda table: with_value(table, "size_bytes", 0, 5))
    assert jobs.ingest(lakes).is_trusted
    [whole] = runner.wholeness(spark, lakes[:2])
    assert whole.breaches == 0
    [torn] = runner.wholeness(spark, [lakes[0], lakes[2]])
    assert (torn.breaches, torn.quarantined, torn.first_bad_seq) == (1, 1, 21)
    assert f"{path}: edited: row 21 does not follow" in torn.examples[1]


def test_a_look_that_was_disturbed_is_taken_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Somebody kills the process that looks: that is said, and nothing of it is remembered."""
    ledger = healthy(seed=11, messages=8)[0].sender
    _, second, _ = in_three(tmp_path, ledger)
    honest, name = segments.look, second.name

    def killed(url: str, asked: Look) -> Look:
        if url.endswith(name):
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(url, asked)

    with monkeypatch.context() as patch:
        patch.setattr(segments, "look", killed)
        with pytest.raises(LocalError, match=f"{name} could not be looked at") as refused:
            jobs.ingest(str(tmp_path))
        assert refused.value.name == "Disturbed"
        assert jobs.main(["ingest", "--lake", str(tmp_path)]) == 1
    [shelf] = manifest.shelves([str(tmp_path)])
    found = manifest.load(shelf)
    assert (found.missing, found.quarantined) == ([(21, 40)], ())
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert (found.rows, found.missing) == (len(ledger.records), [])


def test_a_storage_that_is_away_while_rows_are_read_keeps_nothing_apart(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Spark cannot read a segment that was whole, and nobody can look why: both again, later."""
    ledger = healthy(seed=11, messages=8)[0].sender
    _, second, _ = in_three(tmp_path, ledger)
    right, at = second.read_bytes(), second.stat().st_mtime_ns
    away = tmp_path / "away"
    decide, write, honest, name = batch.decide, register.write, segments.look, second.name

    def put(content: bytes) -> None:
        second.write_bytes(content)
        os.utime(second, ns=(at, at))

    def go_then_decide(
        before: KnownSegments, found: list[Look], aside: Distrusted | None
    ) -> Change:
        if not away.exists():
            away.touch()
            put(bytes(len(right)))
        return decide(before, found, aside)

    def killed(url: str, asked: Look) -> Look:
        if away.exists() and url.endswith(name):
            os.kill(os.getpid(), signal.SIGKILL)
        return honest(url, asked)

    def come_back_then_write(before: KnownSegments, looks: list[Look]) -> RegisterEntry:
        put(right)
        return write(before, looks)

    def come_back(line: str) -> None:
        assert line.startswith("Disturbed: ")
        monkeypatch.undo()
        put(right)

    monkeypatch.setattr(batch, "decide", go_then_decide)
    monkeypatch.setattr(segments, "look", killed)
    monkeypatch.setattr(register, "write", come_back_then_write)
    intake = Intake(manifest.Shelf(str(tmp_path), party_folder(BUYER)), str(second.parent))
    IngestRun(spark, lambda: [intake], lambda *_: None, come_back).catch_up()
    found = manifest.load(intake.shelf)
    assert (found.rows, found.quarantined) == (len(ledger.records), ())


def test_a_segment_that_is_harmed_while_it_is_read_is_kept_apart(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It was whole when it was looked at; none of its rows count, all others do."""
    ledger = healthy(seed=11, messages=8)[0].sender
    _, second, _ = in_three(tmp_path, ledger)
    decide = batch.decide

    def harm_then_decide(
        before: KnownSegments, found: list[Look], aside: Distrusted | None
    ) -> Change:
        if second.stat().st_size > 5:
            second.write_bytes(b"noise")
        return decide(before, found, aside)

    monkeypatch.setattr(batch, "decide", harm_then_decide)
    [found] = jobs.ingest(str(tmp_path)).manifests.values()
    assert [one.fault[:10] for one in found.quarantined] == ["unreadable"]
    assert found.missing == [(21, 40)]
    assert runner.journal(spark, [str(tmp_path)]).count() == len(ledger.records) - 20


def test_a_stale_checksum_beside_a_segment_is_held_against_nobody(
    spark: SparkSession, tmp_path: Path
):
    """Hadoop's copies leave such files; whether a segment is whole its own hashes tell."""
    there, _ = healthy(seed=5, messages=4)
    path = publish(tmp_path, there.sender)
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0\0\0\2\0" + b"1234" * 40)
    done = jobs.ingest(str(tmp_path))
    assert done.is_trusted
    assert list(done.last_seq.values()) == [len(there.sender.records)]


def forge(ledger: Ledger, first: int) -> Ledger:
    """The same journal, whose rows from `first` on say something else; every hash fits."""
    forged = Ledger(ledger.party, ledger.records[: first - 1])
    for row in ledger.records[first - 1 :]:
        told = changed(row, reason="never happened")
        forged.records.append(changed(told, chain_hash=chain(forged.records[-1].chain_hash, told)))
    return forged


@pytest.mark.long
def test_a_forged_last_segment_that_came_first_is_settled_by_a_person(
    spark: SparkSession, tmp_path: Path
):
    """The true one is refused, and whatever follows it, until somebody says which is believed."""
    lake, ledger = tmp_path / "lake", healthy(seed=5, messages=12)[0].sender
    publish(lake, ledger, first=1, last=20)
    publish(lake, forge(ledger, 21), first=21, last=40)
    assert jobs.ingest(str(lake)).is_trusted
    publish(lake, ledger, first=21, last=40)
    publish(lake, ledger, first=41)
    refused = jobs.ingest(str(lake))
    assert [one.fault[:40] for one in refused.quarantined] == [
        "changed after it was taken in: it holds ",
        "edited: row 41 does not follow journal/p",
    ]
    name = refused.quarantined[0].segment
    asked = ["lake", "distrust", str(lake), name, "--reason"]
    assert CliRunner().invoke(cli, [*asked, " "]).exit_code == 2
    settled = CliRunner().invoke(cli, [*asked, "they signed the other one"])
    assert (settled.exit_code, settled.stderr) == (0, "")
    assert rows_in(spark, lake) == set(ledger.records)
    assert jobs.ingest(str(lake)).is_trusted
    page = jobs.report(str(lake), out=tmp_path / "report.html").read_text()
    assert "they signed the other one" in page
    publish(lake, forge(ledger, 21), first=21, last=40)
    again = jobs.ingest(str(lake))
    assert [one.segment for one in again.quarantined] == [name]
    assert rows_in(spark, lake) == set(ledger.records)
    once_more = CliRunner().invoke(cli, ["lake", "distrust", str(lake), "none", "--reason", "x"])
    assert (once_more.exit_code, "NotCounted" in once_more.stderr) == (2, True)


def test_a_job_that_is_cancelled_is_held_against_no_segment(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Ctrl-C ends every job that runs, and those that ask which file is to blame."""
    ledger = healthy(seed=11, messages=8)[0].sender
    path, _, _ = in_three(tmp_path, ledger)
    intake = Intake(manifest.Shelf(str(tmp_path), party_folder(BUYER)), str(path.parent))
    files = sorted(one.name for one in path.parent.iterdir())
    context = spark.sparkContext
    write, look_at = runner.write, batch.look_at

    def cancelled(frame: DataFrame, place: str) -> None:
        group = uuid.uuid4().hex
        context.setJobGroup(group, "a run that is stopped")
        context._jsc.sc().cancelJobGroupAndFutureJobs(group)
        write(frame, place)

    def look_in_peace(*asked: Any) -> list[Look]:
        context.setJobGroup("", "")
        return look_at(*asked)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "write", cancelled)
        patch.setattr(batch, "look_at", look_in_peace)
        with pytest.raises(Py4JJavaError, match="SPARK_JOB_CANCELLED"):
            batch.take(spark, intake, files)
    context.setJobGroup("", "")
    assert manifest.load(intake.shelf) == Manifest()
    batch.take(spark, intake, files)
    found = manifest.load(intake.shelf)
    assert (found.rows, found.quarantined) == (len(ledger.records), ())
