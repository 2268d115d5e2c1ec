"""Write tables of the catalogue, each to a place of its own, and publish all of them at once."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.lake import activity, catalogue, code, runner, runs, storage
from onceonly.lake.catalogue import CatalogueEntry, Evidence
from onceonly.lake.formats import TableFormat, Target
from onceonly.lake.gold import placing, refreshing
from onceonly.lake.gold.days import BY_DAY
from onceonly.lake.jobs.case import JudgedCase
from onceonly.lake.page.findings import Judged
from onceonly.lake.runs import LakeRun, Written

AT_ONCE: Final = 2
"""Tables that are written at the same time: one is planned while the other's rows are made."""


def write_tables(
    evidence: Evidence, names: Sequence[str], lake: str, target: Target
) -> list[Written]:
    """Write these tables, of a run that is not published yet, and say where they are.

    The files of days that the run before has too, made of the same lives, are linked. Raises
    `LocalError` (UnknownTable) before anything is written.
    """
    tables = [catalogue.find(name) for name in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        # What went wrong in one is raised here.
        return list(pool.map(lambda table: _write(table, evidence, lake, target), tables))


def _write(table: CatalogueEntry, evidence: Evidence, lake: str, target: Target) -> Written:
    spark, wanted = evidence.journal.sparkSession, target.table_format
    with activity.step(spark, table.name):
        frame = table.make(evidence)
        columns = tuple(frame.dtypes)
        if wanted is TableFormat.PLAIN:
            folder = runs.fresh_folder(table.name)
            if by_day := _by_day(table, evidence, lake):
                days = _write_by_day(table, by_day, lake, folder)
                if not storage.listed(f"{lake}/{folder}"):
                    # A file tells its columns to readers who have no other source for them.
                    runner.write_table(frame.limit(0), f"{lake}/{folder}", wanted)
                return Written(table.name, wanted, columns, (folder,), days=days)
            runner.write_table(frame, f"{lake}/{folder}", wanted)
            return Written(table.name, wanted, columns, (folder,))
        place = target.place(runs.delta_folder(table.name), table.name)
        where = place if wanted is TableFormat.ICEBERG else f"{lake}/{place}"
        version = runner.write_table(frame, where, wanted)
        return Written(table.name, wanted, columns, place=place, version=version)


_TABLES_NEED: Final = (
    *(f"tables/{one.name}" for one in catalogue.TABLES if one.of_lives or one.of_rows),
    *("tables/definition", "expressions", "marks", "schemas"),
)
"""Modules that the rows of tables by day are made by: other code makes all of them again."""


class _ByDay(NamedTuple):
    """A table whose rows are of one day each."""

    made_of: Mapping[str, str]
    """What the rows of each day are made of: with an equal text they are the same."""
    of_days: Callable[[list[str]], DataFrame]
    """The rows of these days, with the day of each."""


def _by_day(table: CatalogueEntry, evidence: Evidence, lake: str) -> _ByDay | None:
    """How the table is made by day; None where it is not."""
    kept = evidence.kept
    if kept is None:
        return None
    journal, made_by = evidence.journal, code.mark(*_TABLES_NEED)
    if (of_lives := table.of_lives) is not None:

        def of_their_lives(days: list[str]) -> DataFrame:
            lives = refreshing.lives(journal.sparkSession, [kept.lives[day] for day in days])
            is_theirs = placing.is_within([kept.rows[day] for day in days])
            return of_lives(lives, journal.where(is_theirs))

        places = {day: place.removeprefix(lake) for day, place in kept.lives.items()}
        return _ByDay({day: f"{made_by} {one}" for day, one in places.items()}, of_their_lives)
    if (of_rows := table.of_rows) is not None:

        def of_their_rows(days: list[str]) -> DataFrame:
            return of_rows(refreshing.rows(journal, kept, {day: kept.rows[day] for day in days}))

        marks = {day: f"{made_by} {one.mark}" for day, one in kept.rows.items()}
        return _ByDay(marks, of_their_rows)
    return None


def _write_by_day(table: CatalogueEntry, by_day: _ByDay, lake: str, folder: str) -> dict[str, str]:
    """Write the days that are made of others than in the run before, and link the rest."""
    made_of = dict(by_day.made_of)
    before = _before(table, lake)
    same = [day for day in made_of if before and before.days.get(day) == made_of[day]]
    place = f"{lake}/{folder}"
    fresh = sorted(made_of.keys() - set(same))
    if fresh:
        frame = by_day.of_days(fresh)
        runner.write_by(frame.hint("rebalance", F.col(BY_DAY)), place, BY_DAY)
        storage.lay_flat(place)
    if before and same:
        storage.link_files(f"{lake}/{before.folders[0]}", place, same)
    return made_of


def _before(table: CatalogueEntry, lake: str) -> Written | None:
    """The table of the run before, where its files are there and are of a day each."""
    last = runs.current_id(lake)
    found = None if last is None else runs.load(lake, last).tables.get(table.name)
    if found is None or not found.days:
        return None
    return found if storage.is_folder(f"{lake}/{found.folders[0]}") else None


def publish(
    case: JudgedCase, judged: Judged, lakes: Sequence[str], tables: list[Written]
) -> LakeRun:
    """Let these tables be the lake's from now on; then remove what no reader holds any more.

    The caller holds `lease.tabling` of the first lake.
    """
    urls = tuple(map(storage.lake_url, lakes))
    run = LakeRun(
        lake=urls[0],
        id=runs.fresh_id(),
        as_of=case.as_of,
        policy=case.policy._asdict(),
        lakes=urls,
        marks=tuple(case.marks),
        until=case.until,
        wholeness=tuple(case.wholeness),
        verdicts=judged.verdicts,
        differences=judged.differences,
        broken=tuple(line.name for line in judged.broken),
        tables={one.name: one for one in tables},
        published_at=time.time_ns() // 1_000,
    )
    storage.keep(f"{run.lake}/{folder}" for one in tables for folder in one.folders)
    runs.publish(run)
    runs.sweep(run.lake)
    return run
