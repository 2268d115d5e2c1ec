"""Lists of the SQLite store: which criteria each has, and where a question to it starts.

Knows the tables and their indexes; `listing` walks them. Must not write.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py
# ruff: noqa: S608 - because only texts of this file are put together; values are bound

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from onceonly.message.word import Word
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import Count, Excerpt, MessageFilter, Page
from onceonly.store.contract.jobs import Job
from onceonly.store.contract.listing import (
    InboxFilter,
    IncidentFilter,
    JobFilter,
    JournalFilter,
    ListFilter,
    Listing,
    NoticeFilter,
)
from onceonly.store.sqlite import mapping
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.listing import (
    Range,
    Search,
    Walk,
    after_prefix,
    count_rows,
    in_order,
    list_rows,
    range_of,
    ranges_of,
)
from onceonly.store.sqlite.queries import SQL

T = TypeVar("T")

INSTANT_MAX: Final = (1 << 63) - 1

_DELIVERED = (OutboundStatus.ACKNOWLEDGED, OutboundStatus.SENT)
_UNDER_WAY = (OutboundStatus.QUEUED, OutboundStatus.SENDING)
"""Messages in these statuses, or in `_DELIVERED`, are not in the index `outbound_undelivered`."""

_OF_AGREEMENTS = "agreement_id IN (SELECT value FROM json_each(:agreement_ids))"

_OF_MESSAGES: Final = {
    "status": "status = :status",
    "to_party": "to_party = :to_party",
    "agreement_id": "agreement_id = :agreement_id",
    "agreement_ids": _OF_AGREEMENTS,
    "service": "service = :service",
    "action": "action = :action",
    "conversation_id": "conversation_id = :conversation_id",
    "idempotency_key": "idempotency_key = :idempotency_key",
    "error_code": "error_code = :error_code",
    "id_prefix": "message_id >= :id_prefix AND message_id < :id_end",
    "since_at": "submitted_at >= :since_at",
    "until_at": "submitted_at < :until_at",
    "settled_since_at": "settled_at >= :settled_since_at",
    "settled_until_at": "settled_at < :settled_until_at",
}
"""What a row of a list meets that is asked for by this criterion."""


def _columns(query: str) -> str:
    """What the named query selects."""
    columns, _, _ = SQL[query].removeprefix("SELECT").partition("FROM")
    return columns.strip()


_VIEW: Final = _columns("find_outbound_view")


class OtherList(Word, kw_only=True):
    """How a list is read whose rows are only ever walked in their order, or gathered."""

    number: str
    columns: str
    walk: Walk
    criteria: Mapping[str, str]
    to_value: Callable[[Any], Any]
    gather_by_id: str | None = None
    """The query that finds numbers by a prefix."""
    is_covered: bool = True
    """Whether that query has the numbers from its index, without reading a row for each."""
    always: tuple[str, ...] = ()
    """What every row of the list meets, and not every row of the walk."""
    stretches: str | None = None
    """Name of its stretches, where it has some."""


_OF_HEADERS: Final = {
    "agreement_id": _OF_MESSAGES["agreement_id"],
    "agreement_ids": _OF_AGREEMENTS,
    "service": _OF_MESSAGES["service"],
    "action": _OF_MESSAGES["action"],
    "conversation_id": _OF_MESSAGES["conversation_id"],
    "id_prefix": _OF_MESSAGES["id_prefix"],
}


def _in_time(column: str) -> dict[str, str]:
    return {"since_at": f"{column} >= :since_at", "until_at": f"{column} < :until_at"}


def _of_its_message(table: str) -> dict[str, str]:
    """The agreement of the outbound message that a row names."""
    names = {name: _OF_MESSAGES[name] for name in ("agreement_id", "agreement_ids")}
    return {
        name: f"EXISTS (SELECT 1 FROM outbound AS its WHERE its.message_id = {table}.message_id"
        f" AND its.{condition})"
        for name, condition in names.items()
    }


_PARTNER: Final = "(from_party = :partner OR to_party = :partner)"

_LISTS: Final[dict[type[ListFilter[Any]], OtherList]] = {
    InboxFilter: OtherList(
        number="inbox_offset",
        columns=_columns("find_inbox_item"),
        walk=Walk(
            first="inbound INDEXED BY inbound_inbox",
            joined=" CROSS JOIN inbound_message USING (position)",
            conditions=("inbox_offset IS NOT NULL",),
        ),
        criteria={
            **_OF_HEADERS,
            "from_party": "from_party = :from_party",
            "processing": "processing = :processing",
            **_in_time("received_at"),
        },
        to_value=mapping.to_inbox_item,
        gather_by_id="gather_inbox_by_id",
        is_covered=False,
        always=("status = 'handed_over'",),
        stretches="inbox",
    ),
    JournalFilter: OtherList(
        number="seq",
        columns=_columns("list_journal"),
        walk=Walk(first="journal NOT INDEXED"),
        criteria={
            **_OF_HEADERS,
            "partner": _PARTNER,
            "event": "event = :event",
            "error_code": "error_code = :error_code",
            **_in_time("at"),
        },
        to_value=mapping.to_record,
        gather_by_id="gather_journal_by_id",
        stretches="journal",
    ),
    NoticeFilter: OtherList(
        number="number",
        columns=_columns("list_notices"),
        walk=Walk(first="notice NOT INDEXED"),
        criteria={
            **_of_its_message("notice"),
            "id_prefix": _OF_MESSAGES["id_prefix"],
            "kind": "kind = :kind",
            "error_code": "error_code = :error_code",
            **_in_time("at"),
        },
        to_value=mapping.to_notice,
        gather_by_id="gather_notices_by_id",
    ),
    IncidentFilter: OtherList(
        number="incident_id",
        columns=_columns("list_incidents"),
        walk=Walk(first="incident NOT INDEXED"),
        criteria={
            **_of_its_message("incident"),
            "id_prefix": _OF_MESSAGES["id_prefix"],
            "role": "role = :role",
            "partner": _PARTNER,
            "is_open": "(resolved_at IS NULL) = :is_open",
            **_in_time("opened_at"),
        },
        to_value=mapping.to_incident,
    ),
    JobFilter: OtherList(
        number="number",
        columns=_columns("list_jobs"),
        walk=Walk(first="job NOT INDEXED"),
        criteria={
            "id_prefix": "job_id >= :id_prefix AND job_id < :id_end",
            **_in_time("opened_at"),
        },
        to_value=lambda row: Job(*row),
        gather_by_id="gather_jobs_by_id",
    ),
}


class SqliteLists(SqliteQuestions):
    """Lists over one connection."""

    def list_messages(self, wanted: MessageFilter) -> Page:
        found = list_rows(self._ask, self._of_messages(wanted))
        views = [mapping.to_outbound_view(row[1:]) for row in found.rows]
        return Page(views, found.next_after, found.is_cut)

    def count_messages(self, wanted: MessageFilter) -> Count:
        return count_rows(self._ask, self._of_messages(wanted))

    def _of_messages(self, wanted: MessageFilter) -> Search:
        ranges = self._ranges("outbound", wanted)
        gathered = self._gather_messages(wanted)
        walk, met = _WHOLE if gathered is not None else _walk_of_messages(wanted)
        criteria = _asked(wanted, _OF_MESSAGES)
        return Search(
            number="position",
            columns=_VIEW,
            walk=walk,
            residual=tuple(_OF_MESSAGES[name] for name in criteria if name not in met),
            bindings=_bindings(criteria),
            wanted=wanted,
            ranges=ranges,
            gathered=None if gathered is None else in_order(gathered, ranges, wanted),
        )

    def search(self, wanted: ListFilter[T]) -> Listing[T]:
        to_value = _LISTS[type(wanted)].to_value
        found = list_rows(self._ask, self._of_other(wanted))
        return Listing([to_value(row[1:]) for row in found.rows], found.next_after, found.is_cut)

    def count(self, wanted: ListFilter[T]) -> Count:
        return count_rows(self._ask, self._of_other(wanted))

    def _of_other(self, wanted: ListFilter[Any]) -> Search:
        this = _LISTS[type(wanted)]
        ranges = self._ranges(this.stretches, wanted)
        gathered = self._gather_others(this, wanted)
        criteria = _asked(wanted, this.criteria)
        return Search(
            number=this.number,
            columns=this.columns,
            walk=this.walk,
            residual=(*this.always, *(this.criteria[name] for name in criteria)),
            bindings=_bindings(criteria),
            wanted=wanted,
            ranges=ranges,
            gathered=None if gathered is None else in_order(gathered, ranges, wanted),
        )

    def _gather_others(self, this: OtherList, wanted: ListFilter[Any]) -> Sequence[int] | None:
        most = (wanted.rows_max if this.is_covered else wanted.rows_max // 4) + 1
        if isinstance(wanted, IncidentFilter) and wanted.is_open:
            found = self._list("gather_open_incidents", most)
        elif this.gather_by_id is not None and wanted.id_prefix is not None:
            bounds = wanted.id_prefix, after_prefix(wanted.id_prefix)
            found = self._list(this.gather_by_id, *bounds, most)
        else:
            return None
        return None if len(found) == most else [row[0] for row in found if row[0] is not None]

    def _gather_messages(self, wanted: MessageFilter) -> Sequence[int] | None:
        """Positions of all messages that can fit, if an index says that they are few."""
        most = wanted.rows_max + 1
        if wanted.idempotency_key is not None:
            return _numbers(self._list("gather_by_key", wanted.idempotency_key, most))
        if wanted.conversation_id is not None:
            return None
        if wanted.id_prefix is not None:
            bounds = wanted.id_prefix, after_prefix(wanted.id_prefix)
            found = self._list("gather_by_id", *bounds, most)
            if len(found) < most:
                return _numbers(found)
        if wanted.settled_since_at is not None or wanted.settled_until_at is not None:
            return self._gather_ended(wanted)
        if wanted.error_code is not None or wanted.status not in (None, *_DELIVERED):
            return None
        return self._gather_agreements(wanted)

    def _gather_ended(self, wanted: MessageFilter) -> Sequence[int] | None:
        """Positions of what ended in the time that is asked for, if they are few."""
        times = _bounds(wanted.settled_since_at, wanted.settled_until_at)
        names, most = _agreements_of(wanted), wanted.rows_max + 1
        if names is None:
            names = _texts(self._list("list_ended_agreements"))
        found = self._list("gather_ended", json.dumps(names), *times, most)
        return None if len(found) == most else _numbers(found)

    def _gather_agreements(self, wanted: MessageFilter) -> Sequence[int] | None:
        names, most = _agreements_of(wanted), wanted.rows_max + 1
        if names is None:
            return None
        settled = self._list("gather_settled", json.dumps(names), most)
        if len(settled) == most:
            return None
        waiting = self._list("gather_waiting", most - len(settled))
        if len(settled) + len(waiting) == most:
            return None
        wanted_names = set(names)
        return [
            *_numbers(settled),
            *(position for position, name in waiting if name in wanted_names),
        ]

    def _ranges(self, name: str | None, wanted: Excerpt) -> Sequence[Range]:
        """Where rows of the time that is asked for can be."""
        within = range_of(wanted)
        if name is None or (wanted.since_at is None and wanted.until_at is None):
            return [within]
        since_at, until_at = _bounds(wanted.since_at, wanted.until_at)
        # The last one first: a stretch that ends in between is then read as one that has not ended.
        last = self._get("last_stretch", name)
        stretches = _numbers(self._list("list_stretches", name, since_at, until_at))
        known = [number for number in stretches if last is not None and number <= last]
        return ranges_of(known, last, within)


_WALKED: Final = " CROSS JOIN outbound_message USING (position)"
_WHOLE: Final = Walk(first="outbound NOT INDEXED", joined=_WALKED), frozenset[str]()
_UNUSUAL: Final = ("status <> 'acknowledged'", "status <> 'sent'")


def _walk_of_messages(wanted: MessageFilter) -> tuple[Walk, frozenset[str]]:
    """Along the index that leaves the fewest rows to look at, and what all of them meet.

    There are at most `queued_max` messages under way, to all partners together.
    """
    status = wanted.status
    if wanted.conversation_id is not None:
        first = "outbound_message INDEXED BY outbound_by_conversation"
        joined = " CROSS JOIN outbound USING (position)"
        return _walk(first, "conversation_id", joined=joined)
    if wanted.error_code is not None:
        return _walk("outbound INDEXED BY outbound_by_error", "error_code")
    if status is not None and status not in _DELIVERED:
        return _walk_of_undelivered(wanted)
    if wanted.to_party is not None:
        return _walk("outbound INDEXED BY outbound_by_partner", "to_party")
    if status is not None:
        also = ("(status = 'acknowledged' OR status = 'sent')",)
        return _walk("outbound INDEXED BY outbound_delivered", "status", also=also)
    return _WHOLE


def _walk_of_undelivered(wanted: MessageFilter) -> tuple[Walk, frozenset[str]]:
    if wanted.to_party is None or wanted.status in _UNDER_WAY:
        return _walk("outbound INDEXED BY outbound_by_status", "status", also=_UNUSUAL)
    ended = (*_UNUSUAL, "status <> 'queued'", "status <> 'sending'")
    return _walk("outbound INDEXED BY outbound_undelivered", "to_party", "status", also=ended)


def _walk(
    first: str, *met: str, also: tuple[str, ...] = (), joined: str = _WALKED
) -> tuple[Walk, frozenset[str]]:
    conditions = (*(_OF_MESSAGES[name] for name in met), *also)
    return Walk(first=first, joined=joined, conditions=conditions), frozenset(met)


def _asked(wanted: Excerpt, criteria: Mapping[str, str]) -> dict[str, Any]:
    """The criteria that are given, with their values."""
    values = ((name, getattr(wanted, name)) for name in criteria)
    return {name: value for name, value in values if value is not None}


def _bindings(criteria: Mapping[str, Any]) -> dict[str, Any]:
    bindings = dict(criteria)
    if "id_prefix" in bindings:
        bindings["id_end"] = after_prefix(bindings["id_prefix"])
    if "agreement_ids" in bindings:
        bindings["agreement_ids"] = json.dumps(bindings["agreement_ids"])
    return bindings


def _agreements_of(wanted: MessageFilter) -> Sequence[str] | None:
    """The agreements that are asked for; None means any."""
    return wanted.agreement_ids if wanted.agreement_id is None else (wanted.agreement_id,)


def _bounds(since_at: int | None, until_at: int | None) -> tuple[int, int]:
    """A range of time with both ends."""
    first = -INSTANT_MAX if since_at is None else since_at
    return first, INSTANT_MAX if until_at is None else until_at


def _numbers(rows: Sequence[Any]) -> list[int]:
    return [number for (number,) in rows]


def _texts(rows: Sequence[Any]) -> list[str]:
    return [text for (text,) in rows]
