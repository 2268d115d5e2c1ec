"""The tables of a run, for whoever reads them with Spark: all of one run, and whole."""

from typing import Final

from pyspark.sql import DataFrame, SparkSession

from onceonly.lake import runner
from onceonly.lake import runs as sets
from onceonly.lake.runs import LakeRun
from onceonly.lake.schemas import KEY
from onceonly.lake.tables import delivery_ledger

VERDICTS: Final = "verdicts"
"""The narrow table of verdicts: columns of the delivery ledger."""
VERDICT_COLUMNS: Final = (*KEY, *delivery_ledger.VERDICT)
LEDGER: Final = delivery_ledger.DEFINITION.name


def run(lake: str, run_id: str | None = None) -> LakeRun:
    """The run whose tables count now, or the one of that id.

    Raises `LocalError`: NoRun where there is none; NoLake, NewerLake, BadManifest.
    """
    return sets.find(lake, run_id)


def runs(lake: str) -> list[LakeRun]:
    """Every run that the lake knows, the latest first; the tables of old ones may be gone.

    Raises `LocalError`: NoLake, NewerLake, BadManifest.
    """
    return sets.listed(lake)


def tables(lake: str, run: str | None = None) -> list[str]:
    """Names of the tables that can be read of that run, by default of the current one.

    Raises as `jobs.run`.
    """
    return names(sets.find(lake, run))


def names(found: LakeRun) -> list[str]:
    """Names of the tables that can be read of a run: what it wrote, and `verdicts`."""
    narrow = [VERDICTS] if LEDGER in found.tables and VERDICTS not in found.tables else []
    return sorted([*found.tables, *narrow])


def table(spark: SparkSession, lake: str, name: str, run: str | None = None) -> DataFrame:
    """A table of the current set, or of the run of that id.

    Who reads several tables that have to fit each other names the same run for each of them:
    `jobs.run(lake).id`. Raises `LocalError` (NoTable) where that run did not write it, or its
    folders were removed since; and as `jobs.run`.
    """
    found = sets.find(lake, run)
    if name == VERDICTS and name not in found.tables:
        return runner.table(spark, found, LEDGER).select(*VERDICT_COLUMNS)
    return runner.table(spark, found, name)
