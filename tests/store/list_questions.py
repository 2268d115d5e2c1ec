"""Every combination of criteria of a list, and the statements that a store answers it by."""

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

import apsw

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import Excerpt, MessageFilter, Role
from onceonly.store.contract.listing import (
    InboxFilter,
    IncidentFilter,
    JobFilter,
    JournalFilter,
    ListFilter,
    NoticeFilter,
)
from onceonly.store.sqlite.reading import SqliteSnapshot

PAGING = {"after", "limit", "rows_max", "is_newest_first"}
"""What every list is asked for; the rest are criteria."""

TIMES: dict[str, tuple[Any, ...]] = {"since_at": (None, 1), "until_at": (None, 3_000_000)}

OF_MESSAGES: dict[str, tuple[Any, ...]] = {
    "status": (None, *OutboundStatus),
    "to_party": (None, "urn:duns:333333333"),
    "agreement_id": (None, "tpa-1"),
    "agreement_ids": (None, ("tpa-1", "tpa-2")),
    "service": (None, "Orders"),
    "action": (None, "NewOrder"),
    "conversation_id": (None, "conversation-1"),
    "idempotency_key": (None, "key-1"),
    "error_code": (None, ErrorCode.UNKNOWN),
    "id_prefix": (None, "m"),
    **TIMES,
    "settled_since_at": (None, 1),
    "settled_until_at": (None, 3_000_000),
}

_AGREEMENTS = {name: OF_MESSAGES[name] for name in ("agreement_id", "agreement_ids")}
_HEADERS = {name: OF_MESSAGES[name] for name in ("service", "action", "conversation_id")}
_PREFIX: dict[str, tuple[Any, ...]] = {"id_prefix": (None, "m")}

OTHERS: dict[type[ListFilter[Any]], dict[str, tuple[Any, ...]]] = {
    InboxFilter: {
        **_AGREEMENTS,
        **_HEADERS,
        **_PREFIX,
        **TIMES,
        "from_party": (None, "urn:duns:111111111"),
        "processing": (None, ProcessingState.NOT_STARTED),
    },
    JournalFilter: {
        **_AGREEMENTS,
        **_HEADERS,
        **_PREFIX,
        **TIMES,
        "partner": (None, "urn:duns:333333333"),
        "event": (None, Event.SUBMITTED),
        "error_code": (None, "Unknown"),
    },
    NoticeFilter: {
        **_AGREEMENTS,
        **_PREFIX,
        **TIMES,
        "kind": (None, NoticeKind.DELIVERY_FAILURE),
        "error_code": (None, ErrorCode.DELIVERY_FAILURE),
    },
    IncidentFilter: {
        **_AGREEMENTS,
        **_PREFIX,
        **TIMES,
        "role": (None, Role.SENDER),
        "partner": (None, "urn:duns:333333333"),
        "is_open": (None, True, False),
    },
    JobFilter: {**_PREFIX, **TIMES},
}

LISTS: dict[type[Excerpt], dict[str, tuple[Any, ...]]] = {MessageFilter: OF_MESSAGES, **OTHERS}
"""What each list can be asked for, with every value that is read in its own way."""

Question = Callable[[SqliteSnapshot], object]
Statement = tuple[str, Any]


def listed(wanted: MessageFilter) -> Question:
    """The question for a page of messages."""
    return lambda snapshot: snapshot.list_messages(wanted)


def counted(wanted: MessageFilter) -> Question:
    """The question for their number."""
    return lambda snapshot: snapshot.count_messages(wanted)


def combinations(criteria: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each criterion."""
    for values in product(*criteria.values()):
        yield dict(zip(criteria, values, strict=True))


def statements(connection: apsw.Connection, questions: Iterable[Question]) -> dict[str, Any]:
    """The statements by which the store answers, each with its bindings."""
    asked: dict[str, Any] = {}

    def note(cursor: apsw.Cursor, statement: str, bindings: Any) -> bool:
        del cursor
        asked[statement] = bindings
        return True

    snapshot = SqliteSnapshot(connection)
    connection.exec_trace = note
    for question in questions:
        question(snapshot)
    connection.exec_trace = None
    return asked
