"""Lists of the store of simulations: every row that fits, in order.

Nothing here is bounded: there are few rows, and all of them are in memory.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from onceonly.journal.record import Record
from onceonly.protocol.receiving import InboundStatus
from onceonly.store.contract.entries import (
    COUNT_MAX,
    Count,
    Excerpt,
    InboxItem,
    Incident,
    MessageFilter,
    Notice,
    Page,
)
from onceonly.store.contract.jobs import Job
from onceonly.store.contract.listing import (
    InboxFilter,
    IncidentFilter,
    JobFilter,
    JournalFilter,
    ListFilter,
    Listing,
    NoticeFilter,
    OfAgreements,
)
from onceonly.store.memory.tables import OutboundRow, Tables

R = TypeVar("R")
T = TypeVar("T")


class MemoryLists:
    """Lists over tables."""

    _tables: Tables

    def list_messages(self, wanted: MessageFilter) -> Page:
        rows, next_after = _page(self._messages(wanted), wanted)
        return Page([row.view() for row in rows], next_after)

    def count_messages(self, wanted: MessageFilter) -> Count:
        return _count(self._messages(wanted), wanted)

    def search(self, wanted: ListFilter[T]) -> Listing[T]:
        return Listing(*_page(self._others(wanted), wanted))

    def count(self, wanted: ListFilter[T]) -> Count:
        return _count(self._others(wanted), wanted)

    def _others(self, wanted: ListFilter[Any]) -> Iterator[tuple[int, Any]]:
        """The rows that fit, each with its number."""
        match wanted:
            case InboxFilter():
                rows = self._tables.inbound.values()
                items = (row.item() for row in rows if row.status is InboundStatus.HANDED_OVER)
                return ((one.offset, one) for one in items if _fits_item(one, wanted))
            case JournalFilter():
                journal = self._tables.journal.items()
                return (one for one in journal if _fits_record(one[1], wanted))
            case NoticeFilter():
                notices = self._tables.notices.values()
                return ((one[0], one) for one in notices if self._fits_notice(one[1], wanted))
            case IncidentFilter():
                incidents = self._tables.incidents.items()
                return (one for one in incidents if self._fits_incident(one[1], wanted))
            case JobFilter():
                jobs = self._tables.jobs.values()
                return ((one.number, one) for one in jobs if _fits_job(one, wanted))
        raise AssertionError(f"no list is asked for by {wanted}")

    def _fits_notice(self, notice: Notice, wanted: NoticeFilter) -> bool:
        return (
            wanted.kind in (None, notice.kind)
            and wanted.error_code in (None, notice.error_code)
            and notice.message_id.startswith(wanted.id_prefix or "")
            and self._is_its_agreement(notice.message_id, wanted)
            and _is_in_time(notice.at, wanted)
        )

    def _fits_incident(self, incident: Incident, wanted: IncidentFilter) -> bool:
        message_id = incident.message_id
        return (
            wanted.role in (None, incident.role)
            and (wanted.partner is None or wanted.partner in incident.pair)
            and wanted.is_open in (None, incident.resolved_at is None)
            and _begins(message_id, wanted.id_prefix)
            and self._is_its_agreement(message_id, wanted)
            and _is_in_time(incident.opened_at, wanted)
        )

    def _is_its_agreement(self, message_id: str | None, wanted: OfAgreements[Any]) -> bool:
        """Whether the outbound message is of an agreement that is wanted."""
        if wanted.agreement_id is None and wanted.agreement_ids is None:
            return True
        row = self._tables.outbound.get(message_id or "")
        return row is not None and _is_of_agreement(row.message.agreement_id, wanted)

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
        and _has_ended(row.settled_at, wanted)
    )


def _has_ended(at: int | None, wanted: MessageFilter) -> bool:
    """Whether a message that ended then, or never, ended in the time that is wanted."""
    since_at, until_at = wanted.settled_since_at, wanted.settled_until_at
    if at is None:
        return since_at is None and until_at is None
    return (since_at is None or at >= since_at) and (until_at is None or at < until_at)


def _is_of_agreement(agreement_id: str | None, wanted: OfAgreements[Any]) -> bool:
    is_one = wanted.agreement_ids is None or agreement_id in wanted.agreement_ids
    return is_one and wanted.agreement_id in (None, agreement_id)


def _begins(message_id: str | None, prefix: str | None) -> bool:
    return prefix is None or (message_id is not None and message_id.startswith(prefix))


def _fits_item(item: InboxItem, wanted: InboxFilter) -> bool:
    message = item.message
    return (
        wanted.from_party in (None, message.pair.from_party)
        and _is_of_agreement(message.agreement_id, wanted)
        and wanted.service in (None, message.service)
        and wanted.action in (None, message.action)
        and wanted.conversation_id in (None, message.conversation_id)
        and wanted.processing in (None, item.processing)
        and message.message_id.startswith(wanted.id_prefix or "")
        and _is_in_time(item.received_at, wanted)
    )


def _fits_record(row: Record, wanted: JournalFilter) -> bool:
    return (
        wanted.partner in (None, row.from_party, row.to_party)
        and wanted.event in (None, row.event)
        and _is_of_agreement(row.agreement_id, wanted)
        and wanted.service in (None, row.service)
        and wanted.action in (None, row.action)
        and wanted.conversation_id in (None, row.conversation_id)
        and wanted.error_code in (None, row.error_code)
        and _begins(row.message_id, wanted.id_prefix)
        and _is_in_time(row.at, wanted)
    )


def _fits_job(job: Job, wanted: JobFilter) -> bool:
    return job.job_id.startswith(wanted.id_prefix or "") and _is_in_time(job.opened_at, wanted)


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
