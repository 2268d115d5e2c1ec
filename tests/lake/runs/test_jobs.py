"""From published segments to verdicts, through crashes and repetitions."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from journals import BUYER, BUYER_TOML, MUCH_LATER, PLANTS, SECOND, SELLER, healthy, plant, publish

from onceonly.cli.main import cli
from onceonly.lake import jobs, manifest, runner, storage
from onceonly.lake.page import words
from onceonly.lake.verdicts import DIFFERENCES, Verdict
from onceonly.message.errors import LocalError
from onceonly.message.event import Event

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PATH_BYTES_MAX = 4_096
"""Of Linux."""


class World:
    """Two gateways' lakes and what is planted in their journals."""

    def __init__(self, root: Path) -> None:
        self.there, _ = healthy(seed=42, messages=30)
        self.planted = plant(self.there, PLANTS)
        self.buyer, self.seller = root / "buyer", root / "seller"
        self.lakes = [str(self.buyer), str(self.seller)]

    def publish(self, *, first: int = 1, last: int | None = None) -> None:
        for lake, ledger in ((self.buyer, self.there.sender), (self.seller, self.there.receiver)):
            publish(lake, ledger, first=first, last=last)

    @property
    def expected(self) -> dict[str, int]:
        counts = {verdict.value: 0 for verdict in Verdict}
        counts[Verdict.MATCHED] = 60
        for verdict in self.planted.values():
            counts[verdict] += 1
        return counts


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> World:
    """Half of both journals ingested, then the rest, as a gateway that runs on."""
    world = World(tmp_path_factory.mktemp("lakes"))
    world.publish(last=100)
    jobs.ingest(world.lakes)
    world.publish(first=101)
    jobs.ingest(world.lakes)
    return world


@pytest.mark.long
def test_every_plant_is_found_from_segments(world: World, tmp_path: Path):
    """Segments to verdicts: all planted differences, no other, in the summary and the ledger."""
    found = jobs.reconcile(
        world.lakes, as_of=MUCH_LATER, out=str(tmp_path / "ledger"), report_to=tmp_path / "r.html"
    )
    assert found.verdicts == world.expected
    assert found.differences == len(DIFFERENCES)
    assert not found.holds
    ledger = pq.read_table(found.ledger).to_pylist()
    judged = {row["message_id"]: row["verdict"] for row in ledger}
    assert {key: judged[key] for key in world.planted} == world.planted
    assert len(ledger) == sum(world.expected.values())
    page = (tmp_path / "r.html").read_text()
    assert all(f"planted-{verdict.lower()}@example" in page for verdict in DIFFERENCES)


@pytest.mark.long
def test_the_report_knows_what_was_agreed_where_somebody_says_so(world: World, tmp_path: Path):
    """Budgets are of the agreement's terms, the scorecard of the target that is given."""
    config, page = tmp_path / "buyer.toml", tmp_path / "page.html"
    config.write_text(BUYER_TOML)
    asked = ["lake", "report", *world.lakes, "--as-of", str(MUCH_LATER), "--out", str(page)]
    assert CliRunner().invoke(cli, asked).exit_code == 0
    untold = page.read_text()
    result = CliRunner().invoke(cli, [*asked, "--terms", str(config), "--sla-within", "0.5"])
    assert (result.exit_code, result.stdout) == (0, f"{page}\n"), result.output
    told = page.read_text()
    for span in (words.span(1_800 * SECOND), words.span(15 * SECOND)):
        assert (f">{span}<" in told, f">{span}<" in untold) == (True, False)


@pytest.mark.parametrize(
    "as_of", [MUCH_LATER // SECOND, MUCH_LATER // 1_000, MUCH_LATER * 1_000], ids=["s", "ms", "ns"]
)
def test_an_instant_in_other_units_is_refused(world: World, as_of: int):
    """It would be judged in 1970, when nothing was there yet; or in a future of endless bins."""
    with pytest.raises(LocalError) as refused:
        jobs.reconcile(world.lakes, as_of=as_of)
    assert refused.value.name == "NotMicroseconds"


def test_the_script_judges_by_the_rules_that_are_given(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """As late as journals may come nothing is absent; what is no span of time is refused."""
    at = ["--lake", world.lakes[0], "--lake", world.lakes[1], "--as-of", str(MUCH_LATER)]
    ledger = ["--out", str(tmp_path / "ledger"), "--table", "delivery_ledger"]
    assert jobs.main(["reconcile", *at, *ledger, "--grace", "50000"]) == 11
    found = json.loads(capsys.readouterr().out)["verdicts"]
    assert world.expected[Verdict.SENT_NOT_RECEIVED] > found[Verdict.SENT_NOT_RECEIVED] == 0
    for span in ("-1", "nan", "inf", "1e308", "soon"):
        with pytest.raises(SystemExit) as refused:
            jobs.main(["reconcile", *at, "--verdict-within", span])
        assert refused.value.code == 2


@pytest.mark.parametrize(
    "words",
    [
        "ingest --as-of 1770000000000000",
        "compact --out ledger",
        "report --table messages",
        "reconcile --into elsewhere",
        "reconcile --database audit",
    ],
)
def test_the_script_takes_no_option_that_it_would_not_heed(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Of another job, or of views that nobody asked for; nothing is begun."""
    with pytest.raises(SystemExit) as refused:
        jobs.main([*words.split(), "--lake", str(tmp_path)])
    said = capsys.readouterr().err
    assert (refused.value.code, words.split()[1] in said) == (2, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_partner_s_fast_clock_does_not_hurry_the_judge(spark: SparkSession, tmp_path: Path):
    """By default it is now; only a drill, whose clock is known to run ahead, moves it."""
    fast, _ = healthy(seed=1, messages=1)
    tomorrow = time.time_ns() // 1_000 + 86_400 * SECOND
    fast.receiver.write(Event.STARTED, tomorrow)
    for ledger in (fast.sender, fast.receiver):
        publish(tmp_path, ledger)
    jobs.ingest(str(tmp_path))
    assert jobs.reconcile(str(tmp_path), tables=()).judged.as_of < tomorrow
    fast.receiver.write(Event.DRILL, tomorrow)
    publish(tmp_path, fast.receiver, first=len(fast.receiver.records))
    jobs.ingest(str(tmp_path))
    assert jobs.reconcile(str(tmp_path), tables=()).judged.as_of == tomorrow


def test_ingesting_again_changes_nothing(world: World):
    """No new segment, no new batch; a segment is taken in once."""
    before = [manifest.load(shelf) for shelf in manifest.shelves(world.lakes)]
    summary = jobs.ingest(world.lakes)
    assert [manifest.load(shelf) for shelf in manifest.shelves(world.lakes)] == before
    assert set(summary.batches.values()) == {2}
    assert set(summary.last_seq.values()) == {
        len(world.there.sender.records),
        len(world.there.receiver.records),
    }


def test_a_job_that_died_before_its_manifest_is_done_again(world: World, tmp_path: Path):
    """Batch written, manifest not: the batch was never there, and comes back whole."""
    lake = tmp_path / "lake"
    publish(lake, world.there.sender, last=100)
    jobs.ingest(str(lake))
    [shelf] = manifest.shelves([str(lake)])
    first_only = manifest.load(shelf)
    publish(lake, world.there.sender, first=101)
    jobs.ingest(str(lake))
    manifest.publish(shelf, first_only)
    jobs.ingest(str(lake))
    again = manifest.load(shelf)
    assert again.ranges == ((1, len(world.there.sender.records)),)
    assert again.rows == len(world.there.sender.records)
    assert again.batches == 2


def test_a_moved_lake_counts_no_row_twice(world: World, tmp_path: Path):
    """Every row is known by its segment or its chain hash, and no verdict changes."""
    lakes = [
        str(shutil.copytree(lake, tmp_path / lake.name)) for lake in (world.buyer, world.seller)
    ]
    publish(tmp_path / "buyer", world.there.sender, first=50, last=150)
    jobs.ingest(lakes)
    assert {manifest.load(shelf).batches for shelf in manifest.shelves(lakes)} == {2}
    jobs.compact(lakes)
    found = jobs.reconcile(lakes, as_of=MUCH_LATER)
    assert found.verdicts == world.expected
    assert {line.name: line.breaches for line in found.invariants}["E3"] == 0


def test_a_lake_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path):
    """A wrong path is a usage error, not an empty success."""
    with pytest.raises(LocalError, match="no lake directory"):
        jobs.ingest(str(tmp_path / "nowhere"))


def test_a_lake_that_is_not_there_is_named_by_the_command_and_the_script(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """One line on stderr and exit code 2, whichever way the job is started."""
    nowhere = str(tmp_path / "nowhere")
    result = CliRunner().invoke(cli, ["lake", "ingest", nowhere])
    assert (result.exit_code, "no lake directory" in result.stderr) == (2, True)
    assert jobs.main(["ingest", "--lake", nowhere]) == 2
    assert "no lake directory" in capsys.readouterr().err


def test_an_empty_lake_is_an_empty_report(spark: SparkSession, tmp_path: Path):
    """Before the first segment there is nothing to judge, and nothing fails."""
    jobs.ingest(str(tmp_path))
    found = jobs.reconcile(str(tmp_path), report_to=tmp_path / "report.html")
    assert sum(found.verdicts.values()) == 0
    assert "An empty lake" in (tmp_path / "report.html").read_text()


def test_a_manifest_of_a_newer_version_is_refused(tmp_path: Path):
    """An older program does not guess what a newer one meant."""
    shelf = manifest.Shelf(str(tmp_path), "party=p")
    manifest.publish(shelf, manifest.Manifest())
    path = tmp_path / "ingested" / "party=p" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(LocalError, match="version 99"):
        manifest.load(shelf)


def test_a_larger_journal_is_judged_in_more_partitions():
    """Never in fewer than there are processors, so that none of them waits; nor without an end."""
    asked = [runner.partitions(size) for size in (0, 1 << 28, 1 << 32, 1 << 40)]
    assert asked == sorted(asked)
    assert asked[0] >= 2
    assert asked[2] == 128
    assert asked[3] == 1_000


def test_a_journal_that_cannot_be_read_is_of_no_known_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It only tunes a session; who takes the journal in is the one to name what is wrong there."""
    lake = tmp_path / Path(*["x" * 200] * ((PATH_BYTES_MAX - 300 - len(str(tmp_path))) // 201))
    folder = lake / "journal" / f"party={'p' * 240}"
    folder.mkdir(parents=True)
    # Only from within its folder can a file be written whose path nobody can open.
    monkeypatch.chdir(folder)
    Path("0" * 250).write_bytes(b"rows")
    [shelf] = manifest.shelves([str(lake)], within="journal")
    with pytest.raises(OSError, match="File name too long"):
        storage.listed(shelf.journal)
    assert manifest.journal_bytes([str(lake)]) == 0


def test_party_folders_are_read_back(world: World):
    """A PartyId with colons is found again under its quoted folder."""
    folders = {shelf.folder for shelf in manifest.shelves(world.lakes)}
    assert folders == {f"party={party.replace(':', '%3A')}" for party in (BUYER, SELLER)}
