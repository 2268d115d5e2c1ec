"""Lists of the store of simulations: every row that fits, in order.

Nothing here is bounded: there are few rows, and all of them are in memory.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from onceonly.store.contract.entries import COUNT_MAX, Count, Excerpt, MessageFilter, Page
from onceonly.store.memory.tables import OutboundRow, Tables

R = TypeVar("R")


class MemoryLists:
    """Lists over tables."""

    _tables: Tables

    def list_messages(self, wanted: MessageFilter) -> Page:
        rows, next_after = _page(self._messages(wanted), wanted)
        return Page([row.view() for row in rows], next_after)

    def count_messages(self, wanted: MessageFilter) -> Count:
        return _count(self._messages(wanted), wanted)

    def _messages(self, wanted: MessageFilter) -> list[tuple[int, OutboundRow]]:
        rows = self._tables.outbound.values()
        return [(row.position, row) for row in rows if _fits(row, wanted)]


def _fits(row: OutboundRow, wanted: MessageFilter) -> bool:
    message = row.message
    return (
        wanted.status in (None, row.state.status)
        and wanted.to_party in (None, message.pair.to_party)
        and wanted.agreement_id in (None, message.agreement_id)
        and (wanted.agreement_ids is None or message.agreement_id in wanted.agreement_ids)
        and wanted.service in (None, message.service)
        and wanted.action in (None, message.action)
        and wanted.conversation_id in (None, message.conversation_id)
        and wanted.idempotency_key in (None, row.idempotency_key)
        and wanted.error_code in (None, row.state.error_code)
        and message.message_id.startswith(wanted.id_prefix or "")
        and _is_in_time(row.submitted_at, wanted)
    )


def _is_in_time(at: int, wanted: Excerpt) -> bool:
    is_late_enough = wanted.since_at is None or at >= wanted.since_at
    return is_late_enough and (wanted.until_at is None or at < wanted.until_at)


def _in_order(fitting: Iterable[tuple[int, R]], wanted: Excerpt) -> list[tuple[int, R]]:
    """Those after the cursor."""
    if wanted.is_newest_first:
        older = (one for one in fitting if not wanted.after or one[0] < wanted.after)
        return sorted(older, key=lambda one: -one[0])
    return sorted((one for one in fitting if one[0] > wanted.after), key=lambda one: one[0])


def _page(fitting: Iterable[tuple[int, R]], wanted: Excerpt) -> tuple[list[R], int | None]:
    found = list(islice(_in_order(fitting, wanted), wanted.limit + 1))
    shown = found[: wanted.limit]
    next_after = shown[-1][0] if len(found) > wanted.limit else None
    return [row for _, row in shown], next_after


def _count(fitting: Iterable[tuple[int, R]], wanted: Excerpt) -> Count:
    count = len(_in_order(fitting, wanted))
    return Count(min(count, COUNT_MAX), is_more=count > COUNT_MAX)
