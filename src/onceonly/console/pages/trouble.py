"""Trouble: incidents and waiting conversations for operators, and what applications are told."""

import asyncio

from onceonly.api import operations
from onceonly.api.conversation_operations import LIST_CONVERSATIONS
from onceonly.api.conversations import ConversationsQuery
from onceonly.api.operating import IncidentsQuery, NoticesQuery
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import ROWS, Shown, Visit


async def trouble(visit: Visit) -> Shown:
    """Incidents, the open ones or all, conversations that wait, and a page of notices."""
    is_all = visit.get("all") is not None
    which = IncidentsQuery(order="newest", is_all="yes" if is_all else None)
    query = NoticesQuery(order="newest", after=visit.number("after"), limit=ROWS)
    incidents, notices, waiting = await asyncio.gather(
        visit.calls.ask(operations.LIST_INCIDENTS, NOTHING, which),
        visit.calls.ask(operations.LIST_NOTICES, NOTHING, query),
        visit.calls.ask(LIST_CONVERSATIONS, NOTHING, ConversationsQuery(limit=ROWS)),
    )
    return Shown(
        template="trouble.html",
        title="Trouble",
        values={
            "incidents": incidents.incidents,
            "conversations": waiting.conversations,
            "notices": notices.notices,
            "next_after": notices.next_after,
            "is_all": is_all,
        },
        twin=twin_of(operations.LIST_INCIDENTS, NOTHING, which),
        command="onceonly partner incidents" + (" --all" if is_all else ""),
        is_live=not query.after,
    )
