"""What a run of a lake wrote that a later judgement would write again.

Most tables do not depend on the instant of the judgement: as long as no verdict has changed and no
row has come they are the same ones, for a page as for the next run.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from onceonly.lake import catalogue, code, runner, runs, storage
from onceonly.lake.formats import TableFormat
from onceonly.lake.jobs import keeping
from onceonly.lake.jobs.case import JudgedCase
from onceonly.lake.jobs.reading import LEDGER
from onceonly.lake.runs import LakeRun, Mark, Written
from onceonly.message.errors import LocalError


class KnownTables(NamedTuple):
    """Plain tables and partials of a run that are what a case would give, by name."""

    lake: str
    """Where that run is."""
    tables: Mapping[str, Written] = MappingProxyType({})
    partials: Mapping[str, Written] = MappingProxyType({})

    def table(self, spark: SparkSession, name: str) -> DataFrame | None:
        """The table of that name; None where it is none of these."""
        found = self.tables.get(name)
        return None if found is None else self._read(spark, found)

    def frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        """The partials."""
        return {name: self._read(spark, one) for name, one in self.partials.items()}

    def _read(self, spark: SparkSession, written: Written) -> DataFrame:
        return runner.declared(spark, written, _paths(self.lake, written))


def known(case: JudgedCase, lakes: Sequence[str], *, is_alone: bool = True) -> KnownTables:
    """What the latest run of the first lake has that was made of the same, by the same.

    That is of the same rows, of lives with the same verdicts, by the same rules and the same code.
    Nothing where there is no such run, or nobody can read it. Where `is_alone` says that the caller
    holds `lease.tabling`, runs count whose tables the next one may remove; else the current one.
    """
    home = storage.lake_url(lakes[0])
    ledger = keeping.days_of(catalogue.find(LEDGER), case.evidence(), home)
    if ledger is None:
        return KnownTables(home)
    try:
        standing = runs.standing(home) if is_alone else [runs.current(home)]
    except LocalError:
        return KnownTables(home)
    for run in standing:
        # The folder of a day has the same lives with the same verdicts for ever, and its name is
        # in what the day's part of the ledger was made of.
        told = run.tables.get(LEDGER)
        # Without a day it may also be one of a judgement of the past, which keeps nothing by day.
        if told and told.days and told.days == ledger.made_of and _is_same(run, case, lakes):
            return KnownTables(home, _there(run, run.tables), _there(run, run.partials))
    return KnownTables(home)


def _is_same(run: LakeRun, case: JudgedCase, lakes: Sequence[str]) -> bool:
    return (
        run.made_by == code.mark_of_all()
        and run.lakes == tuple(map(storage.lake_url, lakes))
        and run.policy == case.policy._asdict()
        and _placed(run.marks) == _placed(case.marks)
    )


def _placed(marks: Sequence[Mark]) -> list[Mark]:
    return sorted(one._replace(lake=storage.lake_url(one.lake)) for one in marks if one.rows)


def _there(run: LakeRun, every: Mapping[str, Written]) -> dict[str, Written]:
    """Those that the instant does not decide, whose files are there."""
    by_instant = {table.name for table in catalogue.TABLES if table.by_instant}
    return {
        name: one
        for name, one in every.items()
        if name not in by_instant
        and one.table_format is TableFormat.PLAIN
        and all(map(storage.is_folder, _paths(run.lake, one)))
    }


def _paths(lake: str, written: Written) -> list[str]:
    return [f"{lake}/{folder}" for folder in written.folders]
