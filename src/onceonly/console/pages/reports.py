"""Reports that the lake's programs wrote, and how far the journal is published for them."""

from onceonly.api.report_operations import LIST_REPORTS
from onceonly.api.reports import ReportQuery
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import Shown, Visit


async def reports(visit: Visit) -> Shown:
    """The latest ones, with what they say in numbers."""
    found = await visit.calls.ask(LIST_REPORTS, NOTHING, NOTHING)
    return Shown(
        template="reports.html",
        title="Reports",
        values={
            "found": found,
            "journal": found.journal,
            "unpublished": found.journal.last_seq - (found.journal.published_seq or 0),
        },
        twin=twin_of(LIST_REPORTS, NOTHING, NOTHING),
        command="onceonly report list",
    )


def query_of(visit: Visit) -> ReportQuery:
    """Which file is asked for."""
    return ReportQuery(path=visit.get("path") or "?")
