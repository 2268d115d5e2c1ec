"""`report`: one static HTML page."""

from functools import partial
from pathlib import Path
from types import MappingProxyType

from onceonly.lake import runs
from onceonly.lake.jobs import prerequisites
from onceonly.lake.jobs.case import judge, open_case, rules_of
from onceonly.lake.jobs.findings import find
from onceonly.lake.jobs.known import known
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.lake.page.chapters import render
from onceonly.lake.page.findings import Findings
from onceonly.lake.reports.budgets import Terms
from onceonly.lake.reports.sla import SlaTarget
from onceonly.lake.verdicts import Policy


def report(  # noqa: PLR0913 - because each is one choice of its caller's
    lake: Lakes,
    *,
    master: str | None = None,
    out: Path,
    as_of: int | None = None,
    policy: Policy | None = None,
    evidence: str | None = None,
    terms: Terms = MappingProxyType({}),
    sla: SlaTarget = SlaTarget(),  # noqa: B008 - because a SlaTarget is frozen
) -> Path:
    """Write the HTML report on the lakes to `out` and return its path.

    `terms` is what was agreed, by agreement id, and `sla` what was promised beside it: without the
    terms the page cannot tell whether a budget was kept. `as_of`, `policy` and `evidence` are as
    for `reconcile`. Where the current run had the same rows and verdicts, those of its tables are
    read that the instant does not decide.

    Raises, before Spark starts, `LocalError` (NoLake, NothingIngested, NotMicroseconds, NoRun,
    NoJava) and `OSError` for an `out` that cannot be written; then `LocalError` (EvidenceGone).
    """
    lakes = directories(lake)
    prerequisites.require_instant(as_of)
    former = None if evidence is None else runs.load(lakes[0], evidence)
    prerequisites.require_ingested(lakes)
    prerequisites.require_file(out)
    spark = start(lake, master)
    case = open_case(spark, lakes, as_of, rules_of(policy, former), former)
    case = case._replace(terms=terms, sla=sla)
    there = known(case, lakes, is_alone=False)
    case = case._replace(partials=there.frames(spark))
    write_report(find(case, judge(case), partial(there.table, spark)), out)
    case.judged.unpersist()
    return out


def write_report(found: Findings, out: Path) -> None:
    """Render the page to `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render(found), encoding="utf-8")
