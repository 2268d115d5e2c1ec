"""The inbox: what came, its payloads, and how far the application is."""

from typing import Any, Final

from onceonly.api import inbox_operations, operations
from onceonly.api.history import JournalQuery
from onceonly.api.inbox import InboxQuery, OffsetPath, OffsetPayloadPath
from onceonly.console import choices
from onceonly.console.calls import NOTHING, twin_of
from onceonly.console.columns import ListColumn, chosen
from onceonly.console.page import ROWS, Shown, Visit, command
from onceonly.console.proofs import proofs_of, words_of
from onceonly.console.timeline import steps_of
from onceonly.console.words import PROCESSING_STATES

COLUMNS: Final = (
    ListColumn(name="offset", label="offset", style="n broad"),
    ListColumn(name="processing", label="processing"),
    ListColumn(name="message", label="message", is_always=True, style="name"),
    ListColumn(name="from", label="from", style="name broad"),
    ListColumn(name="agreement", label="agreement", is_usual=False, style="name"),
    ListColumn(name="service", label="service, action", style="text broad"),
    ListColumn(name="conversation", label="conversation", is_usual=False, style="name"),
    ListColumn(name="answers", label="answers", is_usual=False, style="name"),
    ListColumn(name="received", label="received", style="when"),
    ListColumn(name="handed-over", label="handed over", is_usual=False, style="when"),
    ListColumn(name="payloads", label="payloads", style="n broad"),
    ListColumn(name="size", label="size", style="n broad"),
)


def query_of(visit: Visit, *, after: int, limit: int) -> InboxQuery:
    """What the address asks of the API, the latest first: all, or what is so far processed."""
    wanted = visit.get("processing")
    processing: Any = wanted if wanted in PROCESSING_STATES else None
    return InboxQuery(order="newest", processing=processing, after=after, limit=limit)


async def inbox(visit: Visit) -> Shown:
    """A page of received messages; all, or those in one processing state."""
    query = query_of(visit, after=visit.number("after"), limit=ROWS)
    page = await visit.calls.ask(inbox_operations.LIST_INBOX, NOTHING, query)
    processing = () if query.processing is None else ("--processing", query.processing)
    return Shown(
        template="inbox.html",
        title="Inbox",
        values={
            "items": page.items,
            "older": page.next_after,
            "is_cut": page.is_cut,
            "is_latest": not query.after,
            "processing": query.processing,
            "columns": chosen(visit, COLUMNS),
            "chips": tuple(PROCESSING_STATES),
        },
        twin=twin_of(inbox_operations.LIST_INBOX, NOTHING, query),
        command=command("onceonly", "inbox", "list", "--newest", *processing),
        is_live=not query.after,
    )


async def item(visit: Visit) -> Shown:
    """One received message."""
    path = OffsetPath(offset=visit.number("offset"))
    found = await visit.calls.ask(inbox_operations.BY_OFFSET.get, path, NOTHING)
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
            "proofs": await proofs_of(visit, found.message_id, rows.records),
            "proof_words": words_of,
            "deeds": choices.of_item(found),
        },
        twin=twin_of(inbox_operations.BY_OFFSET.get, path, NOTHING),
        command=command("onceonly", "message", "trace", found.message_id),
    )


def payload_path(visit: Visit) -> OffsetPayloadPath:
    """Which payload a download is about."""
    return OffsetPayloadPath(offset=visit.number("offset"), n=visit.number("n"))
