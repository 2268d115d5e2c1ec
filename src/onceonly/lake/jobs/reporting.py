"""`report`: one static HTML page."""

from pathlib import Path

from onceonly.lake.jobs.case import judge, open_case
from onceonly.lake.jobs.finding import find
from onceonly.lake.jobs.session import Lakes, directories, start
from onceonly.lake.reports import page
from onceonly.lake.reports.findings import Findings
from onceonly.lake.verdicts import Policy


def report(
    lake: Lakes,
    *,
    master: str | None = None,
    out: Path,
    as_of: int | None = None,
    policy: Policy = Policy(),  # noqa: B008 - because a Policy is frozen
) -> Path:
    """Write the HTML report on the lakes to `out` and return its path."""
    spark = start(lake, master)
    case = open_case(spark, directories(lake), as_of, policy)
    write_report(find(case, judge(case)), out)
    case.judged.unpersist()
    return out


def write_report(found: Findings, out: Path) -> None:
    """Render the page to `out`."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page.render(found), encoding="utf-8")
