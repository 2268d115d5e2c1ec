"""The journal, its latest rows first; and the audit: who asked for which action, and why."""

from onceonly.api import operations
from onceonly.api.fields import NUMBER_MAX
from onceonly.api.history import AuditQuery, JournalQuery
from onceonly.api.key_operations import LIST_AUDIT
from onceonly.console import words
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import ROWS, Shown, Visit, command


def query_of(*, after: int, limit: int) -> JournalQuery:
    """Every row, the latest first."""
    return JournalQuery(order="newest", after=after, limit=limit)


async def journal(visit: Visit) -> Shown:
    """A page of rows."""
    query = query_of(after=visit.number("after"), limit=ROWS)
    page = await visit.calls.ask(operations.LIST_JOURNAL, NOTHING, query)
    return Shown(
        template="journal.html",
        title="Journal",
        values={
            "rows": page.records,
            "told": words.EVENTS,
            "older": page.next_after,
            "is_latest": not query.after,
        },
        twin=twin_of(operations.LIST_JOURNAL, NOTHING, query),
        command=command("onceonly", "journal", "list", "--newest"),
        is_live=not query.after,
    )


async def audit(visit: Visit) -> Shown:
    """A page of actions, with who asked for them."""
    query = AuditQuery(before=visit.number("before", NUMBER_MAX), limit=ROWS)
    page = await visit.calls.ask(LIST_AUDIT, NOTHING, query)
    return Shown(
        template="journal.html",
        title="Audit",
        values={
            "rows": page.records,
            "told": words.EVENTS,
            "older": page.next_before,
            "is_latest": query.before == NUMBER_MAX,
        },
        twin=twin_of(LIST_AUDIT, NOTHING, query),
        is_live=query.before == NUMBER_MAX,
    )
