"""Sets of tables: readers find those of one run, whole, and what it judged by is written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onceonly.lake import lease, runs
from onceonly.lake.formats import TableFormat
from onceonly.lake.runs import KEEP_RUNS, LakeRun, Mark, Written
from onceonly.message.errors import LocalError

HOUR_US = 3_600_000_000
NOW = 1_770_000_000_000_000


def made(lake: Path, *names: str, published_at: int = NOW) -> LakeRun:
    """A run that wrote these tables, a file in each."""
    tables = {}
    for name in names:
        folder = runs.fresh_folder(name)
        (lake / folder).mkdir(parents=True)
        (lake / folder / "part-0.parquet").write_text("rows")
        tables[name] = Written(name, TableFormat.PLAIN, (("n", "bigint"),), (folder,))
    return LakeRun(
        str(lake),
        runs.fresh_id(),
        NOW,
        {"grace_us": 5, "retries": None},
        (str(lake), "s3://bucket/theirs"),
        (Mark(str(lake), "party=p", 3, 11, ((1, 4), (6, 12)), 1, 4, (12, "ab")),),
        {"MATCHED": 4},
        2,
        ("I3",),
        tables,
        published_at,
    )


def test_what_is_published_is_read_back(tmp_path: Path):
    """Every field; the mark of the evidence, the policy, tables of each format."""
    run = made(tmp_path, "hops")
    run.tables["d"] = Written(
        "d", TableFormat.DELTA, (("n", "bigint"),), place="delta/d", version=7
    )  # type: ignore[index]  # because it is a dict here
    with pytest.raises(LocalError, match="no run of reconcile has published") as refused:
        runs.current(str(tmp_path))
    assert refused.value.name == "NoRun"
    runs.publish(run)
    assert runs.current(str(tmp_path)) == runs.load(str(tmp_path), run.id) == run
    assert runs.listed(str(tmp_path)) == [run]


def test_the_last_set_that_was_published_counts(tmp_path: Path):
    """A run holds what it wrote and nothing else; the one before is there by its id."""
    first = made(tmp_path, "hops", "acks")
    second = made(tmp_path, "hops", published_at=NOW + HOUR_US)
    runs.publish(first)
    runs.publish(second)
    assert runs.current(str(tmp_path)).paths("hops") == second.paths("hops")
    assert runs.load(str(tmp_path), first.id).paths("hops") == first.paths("hops")
    with pytest.raises(LocalError, match=f"did not write acks.* {first.id}") as refused:
        runs.current(str(tmp_path)).table("acks")
    assert refused.value.name == "NoTable"


def test_a_manifest_that_nobody_named_does_not_count(tmp_path: Path):
    """A run that was killed between its own manifest and the name of the current one."""
    first, second = made(tmp_path, "hops"), made(tmp_path, "hops", published_at=NOW + 1)
    runs.publish(second)
    runs.publish(first)
    assert runs.current(str(tmp_path)).id == first.id


@pytest.mark.parametrize("run_id", ["../x", "current", "20260101-000000-00000000", ""])
def test_an_id_of_no_run_is_refused_by_name(tmp_path: Path, run_id: str):
    """Nor does it lead anywhere else in the file system."""
    runs.publish(made(tmp_path, "hops"))
    with pytest.raises(LocalError) as refused:
        runs.load(str(tmp_path), run_id)
    assert refused.value.name == "NoRun"


def test_a_run_of_a_newer_version_is_refused(tmp_path: Path):
    """And what is no manifest at all."""
    run = made(tmp_path, "hops")
    runs.publish(run)
    path = tmp_path / "runs" / f"{run.id}.json"
    for content, name in (
        (json.loads(path.read_text()) | {"version": 9}, "NewerLake"),
        ([], "BadManifest"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(LocalError) as refused:
            runs.current(str(tmp_path))
        assert refused.value.name == name


def test_tables_stay_for_readers_and_then_go(tmp_path: Path):
    """The current set, and sets that were replaced a short time ago; manifests stay longer."""
    old = made(tmp_path, "hops", published_at=NOW)
    now = made(tmp_path, "hops", "acks", published_at=NOW + HOUR_US)
    runs.publish(old)
    runs.publish(now)
    dead = tmp_path / runs.fresh_folder("hops")
    strange = tmp_path / "tables" / "hops" / "notes"
    for folder in (dead, strange):
        folder.mkdir()
    runs.sweep(str(tmp_path), keep_s=10**10)
    assert (old.paths("hops"), dead.exists()) == (
        [f"{tmp_path}/{old.tables['hops'].folders[0]}"],
        False,
    )
    runs.sweep(str(tmp_path), keep_s=0)
    assert strange.exists()
    assert now.paths("hops")
    with pytest.raises(LocalError, match="were removed after a newer run"):
        runs.load(str(tmp_path), old.id).paths("hops")
    assert [one.id for one in runs.listed(str(tmp_path))] == [now.id, old.id]


def test_manifests_of_old_runs_do_not_grow_without_an_end(tmp_path: Path):
    """The latest of them stay."""
    made_runs = [made(tmp_path, published_at=NOW + number) for number in range(KEEP_RUNS + 3)]
    for run in made_runs:
        runs.publish(run)
    runs.sweep(str(tmp_path), keep_s=0)
    assert runs.listed(str(tmp_path)) == made_runs[:2:-1]


def test_a_later_run_may_name_folders_of_an_earlier_one(tmp_path: Path):
    """They stay as long as any set names them."""
    old = made(tmp_path, "hops", published_at=NOW)
    now = made(tmp_path, "hops", published_at=NOW + 1)
    both = now.tables["hops"]._replace(
        folders=(*old.tables["hops"].folders, *now.tables["hops"].folders)
    )
    now.tables["hops"] = both  # type: ignore[index]  # because it is a dict here
    runs.publish(old)
    runs.publish(now)
    runs.sweep(str(tmp_path), keep_s=0)
    assert len(runs.current(str(tmp_path)).paths("hops")) == 2


def test_one_run_at_a_time_writes_tables(tmp_path: Path):
    """The second one is told so; an ingest meanwhile is not kept out."""
    with lease.tabling(str(tmp_path)), lease.ingesting(str(tmp_path)):
        second = lease.tabling(str(tmp_path))
        with pytest.raises(LocalError, match="another run writes the tables") as refused, second:
            pass
        assert refused.value.name == "LakeBusy"
    with lease.tabling(str(tmp_path)):
        pass
