"""Write tables of the catalogue, each to a place of its own, and publish all of them at once."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

from onceonly.lake import activity, catalogue, code, runner, runs, storage
from onceonly.lake.catalogue import CatalogueEntry, Evidence
from onceonly.lake.formats import TableFormat, Target
from onceonly.lake.jobs import keeping
from onceonly.lake.jobs.case import JudgedCase
from onceonly.lake.page.findings import Judged
from onceonly.lake.runs import LakeRun, Written


def write_tables(
    evidence: Evidence,
    names: Sequence[str],
    lake: str,
    target: Target,
    same: Mapping[str, Written] = MappingProxyType({}),
) -> list[Written]:
    """Write these tables, of a run that is not published yet, and say where they are.

    Those that are the `same` as a run before wrote them stay where they are, if they have the
    format that is asked for; and the files of days that a run before has too, made of the same
    lives or rows, are linked. Raises `LocalError` (UnknownTable) before anything is written.
    """
    tables, known = [catalogue.find(name) for name in names], runs.standing(lake)

    def write(table: CatalogueEntry) -> Written:
        found = same.get(table.name)
        if found is not None and found.table_format is target.table_format:
            return found
        return _write(table, evidence, lake, target, known)

    with ThreadPoolExecutor(keeping.at_once(evidence.kept)) as pool:
        # What went wrong in one is raised here.
        return list(pool.map(write, tables))


def _write(
    table: CatalogueEntry,
    evidence: Evidence,
    lake: str,
    target: Target,
    known: Sequence[LakeRun],
) -> Written:
    spark, wanted = evidence.journal.sparkSession, target.table_format
    with activity.step(spark, table.name):
        frame = table.make(evidence)
        columns = tuple(frame.dtypes)
        if wanted is TableFormat.PLAIN:
            folder = runs.fresh_folder(table.name)
            written = Written(table.name, wanted, columns, (folder,))
            if days := keeping.days_of(table, evidence, lake):
                return keeping.write_days(written, days, frame, lake, known)
            runner.write_table(frame, f"{lake}/{folder}", wanted)
            return written
        place = target.place(runs.delta_folder(table.name), table.name)
        where = place if wanted is TableFormat.ICEBERG else f"{lake}/{place}"
        version = runner.write_table(frame, where, wanted)
        return Written(table.name, wanted, columns, place=place, version=version)


def publish(
    case: JudgedCase,
    judged: Judged,
    lakes: Sequence[str],
    tables: list[Written],
    partials: list[Written],
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
        partials={one.name: one for one in partials},
        made_by=code.mark_of_all(),
        published_at=time.time_ns() // 1_000,
    )
    storage.keep(f"{run.lake}/{folder}" for one in (*tables, *partials) for folder in one.folders)
    runs.publish(run)
    runs.sweep(run.lake)
    return run
