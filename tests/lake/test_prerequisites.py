"""A typo in what a reconciliation is asked for costs a line, and no evidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from journals import healthy, publish

from onceonly.cli.main import cli
from onceonly.lake import formats, jobs
from onceonly.lake.jobs import ownership, prerequisites
from onceonly.message.errors import LocalError


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake with a journal, and the folder of an ingest that has found nothing yet."""
    there, _ = healthy(seed=1, messages=2)
    publish(tmp_path / "lake", there.sender)
    (tmp_path / "lake" / "ingested").mkdir()
    return tmp_path / "lake"


@pytest.mark.parametrize(
    "out",
    [".", "..", "journal", "gold", "partials/p", "ingested", "ingested/party=x/journal/b", "f"],
)
def test_a_ledger_replaces_nothing_but_a_table(lake: Path, out: str):
    """A lake, what holds one or is of one, a file: all stay as they are."""
    (lake / "f").write_text("a file")
    before = sorted(lake.parent.rglob("*"))
    with pytest.raises(LocalError) as refused:
        jobs.reconcile(str(lake), out=str(lake / out))
    assert refused.value.name == "NotEmpty"
    assert sorted(lake.parent.rglob("*")) == before


def test_a_ledger_replaces_a_table_or_nothing(lake: Path):
    """A folder that is new, empty, or what Spark left there the last time, Delta's log too."""
    table = lake / "tables" / "ledger"
    for names in ((), ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS", "._SUCCESS.crc")):
        for name in names:
            (table / name).write_text("")
        prerequisites.require_place_of_a_table(str(table), [str(lake)])
        (table / "_delta_log").mkdir(parents=True, exist_ok=True)
    (table / ".git").mkdir()
    with pytest.raises(LocalError, match=r"holds \.git"):
        prerequisites.require_place_of_a_table(str(table), [str(lake)])


def test_plain_parquet_replaces_no_delta_table(lake: Path):
    """Where its history would go with its log."""
    log = lake / "elsewhere" / "_delta_log"
    log.mkdir(parents=True)
    with pytest.raises(LocalError, match="is a Delta table: --table-format delta") as refused:
        jobs.reconcile(str(lake), out=str(log.parent))
    assert refused.value.name == "NotEmpty"
    assert log.exists()


@pytest.mark.parametrize(
    ("strange", "table_format"),
    [
        ("tables/delivery_ledger/_delta_log", "plain"),
        ("tables/in_doubt/_delta_log", "delta"),
        ("tables/in_doubt/metadata", "plain"),
        ("tables/hops/2026-11", "plain"),
        ("delta/hops/part-0.parquet", "delta"),
    ],
)
def test_no_table_is_written_beside_what_others_wrote(lake: Path, strange: str, table_format: str):
    """Delta's log, Iceberg's metadata, folders of anybody: refused by name, before Spark starts."""
    (lake / strange).mkdir(parents=True)
    target = formats.target(table_format, None)
    with pytest.raises(LocalError, match=str((lake / strange).parent)) as refused:
        jobs.reconcile(str(lake), tables=None, target=target)
    assert refused.value.name == "NotEmpty"
    assert (lake / strange).is_dir()
    assert not (lake / "runs").exists()


def test_a_table_of_a_former_version_is_no_stranger(lake: Path):
    """What Spark left in `tables/<name>` is replaced; so is what runs left there."""
    place = lake / "tables" / "hops"
    for name in ("part-0.zstd.parquet", ".part-0.zstd.parquet.crc", "_SUCCESS", "0123456789abcdef"):
        (place / name).mkdir(parents=True)
    ownership.require_own_places(str(lake), ["hops"], formats.target("plain", None))


@pytest.mark.parametrize(
    "out",
    ["tables", "tables/hops", "tables/delivery_ledger/0123456789abcdef", "delta/hops", "link"],
)
def test_a_ledger_of_its_own_replaces_no_table_of_a_run(lake: Path, out: str):
    """Those are published together, and one of them would be another run's."""
    (lake / "tables" / "hops").mkdir(parents=True)
    (lake / "link").symlink_to(lake / "tables" / "hops")
    with pytest.raises(LocalError, match=r" is of (the runs of )?a lake") as refused:
        jobs.reconcile(str(lake), out=str(lake / out))
    assert refused.value.name == "NotEmpty"


def test_what_does_not_fit_together_is_refused_before_anything_runs(lake: Path):
    """An unknown table, a folder beside a catalog, named tables beside none."""
    with pytest.raises(LocalError, match="no table 'typo'"):
        jobs.reconcile(str(lake), tables=("in_doubt", "typo"))
    with pytest.raises(LocalError, match="catalog"):
        jobs.reconcile(str(lake), out="x", target=formats.target("iceberg", "lake.onceonly"))
    asked = ["lake", "reconcile", str(lake), "--ledger-only", "--table", "in_doubt"]
    assert CliRunner().invoke(cli, asked).exit_code == 2
    assert not (lake / "tables").exists()


@pytest.mark.parametrize("job", ["reconcile", "report", "advise"])
def test_a_lake_that_was_never_ingested_into_is_no_success(lake: Path, job: str):
    """A forgotten ingest or a mount that is not there: a line, and exit code 2."""
    (lake / "ingested").rmdir()
    result = CliRunner().invoke(cli, ["lake", job, str(lake)])
    assert result.exit_code == 2
    assert "NothingIngested: nothing was ever ingested into" in result.stderr


def test_segments_that_are_not_ingested_yet_are_mentioned(lake: Path):
    """How many, and where; a folder without any is not."""
    [line] = prerequisites.not_ingested([str(lake)])
    assert line.startswith("not ingested yet: 1 segments in ")
    next((lake / "journal").rglob("*.parquet")).unlink()
    assert prerequisites.not_ingested([str(lake)]) == []
