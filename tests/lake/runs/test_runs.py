"""Sets of tables: readers find those of one run, whole, and what it judged by is written down."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from onceonly.lake import lease, runs
from onceonly.lake.formats import TableFormat
from onceonly.lake.runs import KEEP_RUNS, LakeRun, Mark, Written
from onceonly.lake.wholeness import Wholeness
from onceonly.message.errors import LocalError

HOUR_US = 3_600_000_000
NOW = 1_770_000_000_000_000
WHOLE = Wholeness("party=p", 11, 1, 0, 1, 4, (12, "ab"), ("a fault",), ("a reason",))


def written(lake: Path, name: str, under: str) -> Written:
    """A table or partial with one file."""
    folder = runs.fresh_folder(name, under)
    (lake / folder).mkdir(parents=True)
    (lake / folder / "part-0.parquet").write_text("rows")
    return Written(name, TableFormat.PLAIN, (("n", "bigint"),), (folder,), days={"0-4 p": "m"})


def made(lake: Path, *names: str, published_at: int = NOW) -> LakeRun:
    """A run that wrote these tables and a partial, a file in each."""
    tables = {name: written(lake, name, runs.TABLES_FOLDER) for name in names}
    return LakeRun(
        lake=str(lake),
        id=runs.fresh_id(),
        as_of=NOW,
        policy={"grace_us": 5, "retries": None},
        lakes=(str(lake), "s3://bucket/theirs"),
        marks=(Mark(str(lake), "party=p", 3, 11, ((1, 4), (6, 12)), 1, 4, (12, "ab")),),
        until=NOW - 1,
        wholeness=(WHOLE,),
        verdicts={"MATCHED": 4},
        differences=2,
        broken=("I3",),
        tables=tables,
        partials={"p": written(lake, "p", runs.PARTIALS_FOLDER)},
        published_at=published_at,
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
    dead_partial = tmp_path / runs.fresh_folder("p", runs.PARTIALS_FOLDER)
    strange = tmp_path / "tables" / "hops" / "notes"
    for folder in (dead, dead_partial, strange):
        folder.mkdir()
    runs.sweep(str(tmp_path), keep_s=10**10)
    assert old.paths("hops") == [f"{tmp_path}/{old.tables['hops'].folders[0]}"]
    assert not dead.exists()
    assert not dead_partial.exists()
    kept, gone = (tmp_path / run.partials["p"].folders[0] for run in (now, old))
    assert gone.exists()
    runs.sweep(str(tmp_path), keep_s=0)
    assert strange.exists()
    assert now.paths("hops")
    assert (kept.exists(), gone.exists()) == (True, False)
    with pytest.raises(LocalError, match="were removed after a newer run"):
        runs.load(str(tmp_path), old.id).paths("hops")
    assert [one.id for one in runs.listed(str(tmp_path))] == [now.id, old.id]


def test_runs_whose_tables_are_gone_are_not_read(tmp_path: Path):
    """Of a hundred old ones, only those that were replaced within a day."""
    day_us = int(runs.KEEP_S * 1_000_000)
    now = time.time_ns() // 1_000
    ages = (0, day_us // 2, 2 * day_us, 3 * day_us)
    every = [made(tmp_path, published_at=now - age) for age in ages]
    for number, run in enumerate(every):
        named = replace(run, id=f"2026010{9 - number}-000000-00000000")
        every[number] = named
        runs.publish(named)
    (tmp_path / "runs" / f"{every[-1].id}.json").write_text("nobody reads it")
    assert runs.standing(str(tmp_path)) == every[:3]


def test_manifests_of_old_runs_do_not_grow_without_an_end(tmp_path: Path):
    """The latest of them stay, and say what their days were made of while tables may be there."""
    made_runs = [made(tmp_path, published_at=NOW + number) for number in range(KEEP_RUNS + 3)]
    for run in made_runs:
        runs.publish(run)
    runs.sweep(str(tmp_path), keep_s=0)
    left = runs.listed(str(tmp_path))
    assert [run.id for run in left] == [run.id for run in made_runs[:2:-1]]
    days = [[dict(one.days) for one in run.partials.values()] for run in left]
    assert (days[0], days[1:]) == ([{"0-4 p": "m"}], [[{}]] * (KEEP_RUNS - 1))


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
