"""The inbox: what came, its payloads, and how far the application is."""

from typing import Any

from onceonly.api import operations
from onceonly.api.history import JournalQuery
from onceonly.api.inbox import InboxQuery, OffsetPath, OffsetPayloadPath
from onceonly.console import choices
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.page import ROWS, Shown, Visit, command
from onceonly.console.timeline import steps_of
from onceonly.console.words import PROCESSING_STATES


async def inbox(visit: Visit) -> Shown:
    """A page of received messages, the latest first; all, or those in one processing state."""
    wanted = visit.get("processing")
    processing: Any = wanted if wanted in PROCESSING_STATES else None
    after = visit.number("after")
    query = InboxQuery(order="newest", processing=processing, after=after, limit=ROWS)
    page = await visit.calls.ask(operations.LIST_INBOX, NOTHING, query)
    return Shown(
        template="inbox.html",
        title="Inbox",
        values={
            "items": page.items,
            "older": page.next_after,
            "is_latest": not query.after,
            "processing": processing,
            "chips": tuple(PROCESSING_STATES),
        },
        twin=twin_of(operations.LIST_INBOX, NOTHING, query),
        command="onceonly inbox list --newest",
        is_live=not query.after,
    )


async def item(visit: Visit) -> Shown:
    """One received message."""
    path = OffsetPath(offset=visit.number("offset"))
    found = await visit.calls.ask(operations.BY_OFFSET.get, path, NOTHING)
    about = JournalQuery(message_id=found.message_id)
    rows = await visit.calls.ask(operations.LIST_JOURNAL, NOTHING, about)
    steps, left_out = steps_of(rows.records)
    return Shown(
        template="item.html",
        title=f"Received {found.message_id}",
        values={
            "item": found,
            "steps": steps,
            "left_out": left_out,
            "ahead": (),
            "deeds": choices.of_item(found),
        },
        twin=twin_of(operations.BY_OFFSET.get, path, NOTHING),
        command=command("onceonly", "message", "trace", found.message_id),
    )


def payload_path(visit: Visit) -> OffsetPayloadPath:
    """Which payload a download is about."""
    return OffsetPayloadPath(offset=visit.number("offset"), n=visit.number("n"))
