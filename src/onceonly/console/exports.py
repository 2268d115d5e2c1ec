"""A list as a file: what was found, page by page from the API, and so in bounded memory."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final, get_args

from onceonly import export
from onceonly.api import inbox_operations, operations
from onceonly.console.calls import NOTHING
from onceonly.console.page import Visit
from onceonly.console.pages import inbox, journal, messages
from onceonly.export import ExportedList, Form, exporter
from onceonly.message.word import Word

EXPORT_MAX: Final = 1_000_000
"""Most rows of one file; the command has no such limit."""
EXPORT_PAGE: Final = 1_000

Rows = tuple[Sequence[Any], int | None]
"""A page, and where the next one begins."""


async def _messages(visit: Visit, after: int) -> Rows:
    query = messages.query_of(messages.line_of(visit), after=after, limit=EXPORT_PAGE)
    page = await visit.calls.ask(operations.LIST_MESSAGES, NOTHING, query)
    return page.messages, page.next_after


async def _inbox(visit: Visit, after: int) -> Rows:
    query = inbox.query_of(visit, after=after, limit=EXPORT_PAGE)
    page = await visit.calls.ask(inbox_operations.LIST_INBOX, NOTHING, query)
    return page.items, page.next_after


async def _journal(visit: Visit, after: int) -> Rows:
    query = journal.query_of(after=after, limit=EXPORT_PAGE)
    page = await visit.calls.ask(operations.LIST_JOURNAL, NOTHING, query)
    return page.records, page.next_after


class _List(Word, kw_only=True):
    listed: ExportedList
    fetch: Callable[[Visit, int], Awaitable[Rows]]


_LISTS: Final = {
    found.listed.name: found
    for found in (
        _List(listed=export.MESSAGES, fetch=_messages),
        _List(listed=export.INBOX, fetch=_inbox),
        _List(listed=export.JOURNAL, fetch=_journal),
    )
}


class Export(Word, kw_only=True):
    """A file that was asked for: its name and its kind, and its bytes as they come."""

    name: str
    media: str
    pieces: AsyncIterator[bytes]


async def exported(visit: Visit) -> Export | None:
    """The file of the list and the form that the address names; None where it names none.

    Its first page is read before this returns. Raises `LineError` and `ApiRefused`.
    """
    found, form = _LISTS.get(visit.get("list") or "messages"), visit.get("form")
    if found is None or form not in get_args(Form):
        return None
    kind: Any = form
    first = await found.fetch(visit, 0)
    return Export(
        name=f"{found.listed.name}.{form}",
        media=export.MEDIA[kind],
        pieces=_written(visit, found, kind, first),
    )


async def _written(visit: Visit, found: _List, form: Form, page: Rows) -> AsyncIterator[bytes]:
    written = exporter(form, found.listed.row_type)
    yield written.begin()
    count = 0
    while True:
        rows, after = page
        count += len(rows)
        # Encoding a page takes some milliseconds, in which the gateway goes on.
        if piece := await asyncio.to_thread(written.rows, rows):
            yield piece
        if after is None or count >= EXPORT_MAX:
            break
        page = await found.fetch(visit, after)
    yield await asyncio.to_thread(written.end)
