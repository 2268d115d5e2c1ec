"""What the current run of a lake wrote and is still true, for a page that is made after it.

Most tables do not depend on the instant of the judgement, as long as no verdict has changed and no
row has come: they are read, and the others are computed.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from onceonly.lake import catalogue, code, runner, runs, storage
from onceonly.lake.formats import TableFormat
from onceonly.lake.jobs import keeping
from onceonly.lake.jobs.case import JudgedCase
from onceonly.lake.jobs.findings import ReadTable
from onceonly.lake.jobs.reading import LEDGER
from onceonly.lake.runs import LakeRun, Mark, Written
from onceonly.message.errors import LocalError


def known(case: JudgedCase, lakes: Sequence[str]) -> tuple[JudgedCase, ReadTable]:
    """The case with the partials of the first lake's current run, and what reads its tables.

    None of them where that run was made of other rows or lives, or by other rules or other code.
    """
    run = _run(case, lakes)
    if run is None:
        return case, lambda _: None
    spark = case.journal.sparkSession
    there = {name: one for name, one in run.partials.items() if _is_there(run, one)}
    partials = {name: runner.declared(spark, one, _paths(run, one)) for name, one in there.items()}

    def read(name: str) -> DataFrame | None:
        written = run.tables.get(name)
        if catalogue.find(name).by_instant or written is None or not _is_there(run, written):
            return None
        return runner.declared(spark, written, _paths(run, written))

    return case._replace(partials=partials), read


def _run(case: JudgedCase, lakes: Sequence[str]) -> LakeRun | None:
    home = storage.lake_url(lakes[0])
    try:
        run = runs.current(home)
    except LocalError:
        # There is none, or nobody can read it: then all is computed.
        return None
    is_same = (
        run.made_by == code.mark_of_all()
        and run.lakes == tuple(map(storage.lake_url, lakes))
        and run.policy == case.policy._asdict()
        and _placed(run.marks) == _placed(case.marks)
    )
    ledger = run.tables.get(LEDGER)
    if not is_same or ledger is None:
        return None
    # The folder of a day has the same lives with the same verdicts for ever, and its name is in
    # what the day's part of the ledger was made of.
    days = keeping.days_of(catalogue.find(LEDGER), case.evidence(), home)
    return run if days is not None and days.made_of == ledger.days else None


def _placed(marks: Sequence[Mark]) -> list[Mark]:
    return [one._replace(lake=storage.lake_url(one.lake)) for one in marks]


def _is_there(run: LakeRun, written: Written) -> bool:
    is_plain = written.table_format is TableFormat.PLAIN
    return is_plain and all(map(storage.is_folder, _paths(run, written)))


def _paths(run: LakeRun, written: Written) -> list[str]:
    return [f"{run.lake}/{folder}" for folder in written.folders]
