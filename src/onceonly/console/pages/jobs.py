"""Jobs: what became of the rows of bulk submissions."""

from onceonly.api import operations
from onceonly.api.jobs import AnyJobPath, JobsQuery, PageQuery
from onceonly.console import deeds, words
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import ROWS, Shown, Visit, command
from onceonly.console.pages.overview import parts_of


async def jobs(visit: Visit) -> Shown:
    """A page of jobs, the latest first."""
    query = JobsQuery(order="newest", after=visit.number("after"), limit=ROWS)
    page = await visit.calls.ask(operations.LIST_JOBS, NOTHING, query)
    return Shown(
        template="jobs.html",
        title="Jobs",
        values={"page": page},
        twin=twin_of(operations.LIST_JOBS, NOTHING, query),
        command="onceonly job list --newest",
        is_live=True,
    )


async def job(visit: Visit) -> Shown:
    """One job, its counts and its rejected rows."""
    path = AnyJobPath(job=visit.get("job") or "?")
    found = await visit.calls.ask(operations.GET_JOB, path, NOTHING)
    query = PageQuery(after=visit.number("after"), limit=ROWS)
    rejects = await visit.calls.ask(operations.LIST_REJECTS, path, query)
    counts = {state: getattr(found, state) for state in words.MESSAGE_STATES}
    return Shown(
        template="job.html",
        title=f"Job {found.job}",
        values={
            "job": found,
            "rejects": rejects,
            "parts": parts_of(counts),
            "deeds": (deeds.RELEASE, deeds.DROP) if found.staged else (),
        },
        twin=twin_of(operations.GET_JOB, path, NOTHING),
        command=command("onceonly", "job", "show", found.job),
        is_live=True,
    )
