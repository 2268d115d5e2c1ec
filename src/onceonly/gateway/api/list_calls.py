"""Calls that list and count: the query as a question to the store, and what it found."""

from datetime import UTC, datetime, timedelta
from typing import Final, Protocol, TypeVar

from onceonly.api import counts, lists, messages, operations
from onceonly.api.fields import NUMBER_MAX
from onceonly.api.history import JournalCriteria
from onceonly.api.inbox import InboxCriteria, InboxQuery
from onceonly.api.jobs import JobCriteria
from onceonly.api.lists import Times
from onceonly.api.messages import MessageCriteria, MessagesQuery
from onceonly.api.operating import IncidentCriteria, NoticeCriteria
from onceonly.api.operation import Nothing
from onceonly.api.words import Order
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.ownership import owned, owned_rows
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.instant import from_datetime
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import Count, Excerpt, InboxItem, MessageFilter, Role
from onceonly.store.contract.listing import (
    InboxFilter,
    IncidentFilter,
    JobFilter,
    JournalFilter,
    Listing,
    NoticeFilter,
)

E = TypeVar("E", bound=Excerpt)

_EVERYTHING: Final = InboxQuery()


class Paging(Protocol):
    """A query for a page of a list."""

    @property
    def order(self) -> Order: ...  # noqa: D102 - because the types of `onceonly.api` say it

    @property
    def after(self) -> int: ...  # noqa: D102 - because the types of `onceonly.api` say it

    @property
    def limit(self) -> int: ...  # noqa: D102 - because the types of `onceonly.api` say it


class ListCalls:
    """The routes of lists and of their counts.

    Methods that are no coroutines read the store: the API runs them in threads.
    """

    _served: Served

    @serves(operations.LIST_MESSAGES)
    def list_messages(
        self, asked: Asked[Nothing, MessagesQuery, Nothing]
    ) -> Answer[messages.MessagePage]:
        """A page of outbound messages."""
        wanted = owned(paged(message_filter(asked.query), asked.query), asked.caller)
        page = self._served.store.snapshot().list_messages(wanted)
        name_of = self._served.names.name_of
        items = tuple(shapes.message_shape(view, None, None, name_of) for view in page.messages)
        shown = messages.MessagePage(messages=items, next_after=page.next_after, is_cut=page.is_cut)
        return Json(shown)

    @serves(counts.COUNT_MESSAGES)
    def count_messages(
        self, asked: Asked[Nothing, MessageCriteria, Nothing]
    ) -> Answer[lists.Count]:
        """How many outbound messages there are."""
        wanted = owned(message_filter(asked.query), asked.caller)
        # A count that has to stop has then looked at the latest, which more likely ended since.
        wanted = changed(wanted, is_newest_first=wanted.settled_since_at is not None)
        return _counted(self._served.store.snapshot().count_messages(wanted))

    @serves(counts.COUNT_INBOX)
    def count_inbox(self, asked: Asked[Nothing, InboxCriteria, Nothing]) -> Answer[lists.Count]:
        """How many received messages there are."""
        return _counted(
            self._served.store.snapshot().count(owned(inbox_filter(asked.query), asked.caller))
        )

    @serves(counts.COUNT_JOURNAL)
    def count_journal(self, asked: Asked[Nothing, JournalCriteria, Nothing]) -> Answer[lists.Count]:
        """How many journal rows there are."""
        return _counted(
            self._served.store.snapshot().count(
                owned_rows(journal_filter(asked.query), self._served.agreements, asked.caller)
            )
        )

    @serves(counts.COUNT_NOTICES)
    def count_notices(self, asked: Asked[Nothing, NoticeCriteria, Nothing]) -> Answer[lists.Count]:
        """How many notices there are."""
        return _counted(
            self._served.store.snapshot().count(owned(notice_filter(asked.query), asked.caller))
        )

    @serves(counts.COUNT_INCIDENTS)
    def count_incidents(
        self, asked: Asked[Nothing, IncidentCriteria, Nothing]
    ) -> Answer[lists.Count]:
        """How many incidents there are."""
        return _counted(
            self._served.store.snapshot().count(owned(incident_filter(asked.query), asked.caller))
        )

    @serves(counts.COUNT_JOBS)
    def count_jobs(self, asked: Asked[Nothing, JobCriteria, Nothing]) -> Answer[lists.Count]:
        """How many jobs there are."""
        wanted = owned(job_filter(asked.query), asked.caller)
        return _counted(self._served.store.snapshot().count(wanted))


def message_filter(query: MessageCriteria) -> MessageFilter:
    """Which outbound messages are meant, in the store's words; a page of the usual size."""
    since_at, until_at = times_of(query)
    return MessageFilter(
        status=None if query.state is None else OutboundStatus(query.state),
        to_party=query.to,
        agreement_id=query.agreement,
        service=query.service,
        action=query.action,
        conversation_id=query.conversation,
        idempotency_key=query.key,
        error_code=None if query.error is None else ErrorCode(query.error),
        id_prefix=query.id_prefix,
        since_at=since_at,
        until_at=until_at,
        settled_since_at=_instant(query.settled_since),
        settled_until_at=_instant(query.settled_until),
    )


def inbox_filter(query: InboxCriteria) -> InboxFilter:
    """Which received messages are meant, in the store's words."""
    since_at, until_at = times_of(query)
    return InboxFilter(
        from_party=query.sender,
        agreement_id=query.agreement,
        service=query.service,
        action=query.action,
        conversation_id=query.conversation,
        processing=None if query.processing is None else ProcessingState(query.processing),
        id_prefix=query.id_prefix,
        since_at=since_at,
        until_at=until_at,
    )


def is_searched(query: InboxQuery) -> bool:
    """Whether anything is asked of the inbox besides what comes after an offset."""
    names = (*InboxCriteria.__struct_fields__, "order")
    return any(getattr(query, name) != getattr(_EVERYTHING, name) for name in names)


def inbox_page_filter(query: InboxQuery) -> InboxFilter:
    """One page of received messages, which begins within `up_to`."""
    wanted = paged(inbox_filter(query), query)
    if wanted.is_newest_first and (not wanted.after or wanted.after > query.up_to):
        return changed(wanted, after=min(query.up_to + 1, NUMBER_MAX))
    return wanted


def up_to(query: InboxQuery, page: Listing[InboxItem]) -> Listing[InboxItem]:
    """The page without what comes after `up_to`, where it ends the list."""
    last = page.items[-1].offset if page.items else 0
    is_within = query.order == "newest" or max(last, page.next_after or 0) < query.up_to
    if is_within:
        return page
    return Listing([item for item in page.items if item.offset <= query.up_to], None)


def journal_filter(query: JournalCriteria) -> JournalFilter:
    """Which journal rows are meant, in the store's words."""
    since_at, until_at = times_of(query)
    return JournalFilter(
        partner=query.partner,
        event=None if query.event is None else Event(query.event),
        agreement_id=query.agreement,
        service=query.service,
        action=query.action,
        conversation_id=query.conversation,
        error_code=query.error,
        id_prefix=query.id_prefix,
        since_at=since_at,
        until_at=until_at,
    )


def notice_filter(query: NoticeCriteria) -> NoticeFilter:
    """Which notices are meant, in the store's words."""
    since_at, until_at = times_of(query)
    return NoticeFilter(
        kind=None if query.kind is None else NoticeKind(query.kind),
        error_code=None if query.error is None else ErrorCode(query.error),
        agreement_id=query.agreement,
        id_prefix=query.id_prefix,
        since_at=since_at,
        until_at=until_at,
    )


def incident_filter(query: IncidentCriteria) -> IncidentFilter:
    """Which incidents are meant, in the store's words."""
    since_at, until_at = times_of(query)
    return IncidentFilter(
        role=None if query.role is None else Role(query.role),
        partner=query.partner,
        is_open=True if query.is_all is None else None,
        agreement_id=query.agreement,
        id_prefix=query.id_prefix,
        since_at=since_at,
        until_at=until_at,
    )


def job_filter(query: JobCriteria) -> JobFilter:
    """Which jobs are meant, in the store's words."""
    since_at, until_at = times_of(query)
    return JobFilter(id_prefix=query.id_prefix, since_at=since_at, until_at=until_at)


def paged(wanted: E, query: Paging) -> E:
    """The same question, for one page of it."""
    limit, is_newest_first = page_limit(query.limit), query.order == "newest"
    return changed(wanted, is_newest_first=is_newest_first, after=query.after, limit=limit)


def times_of(query: Times) -> tuple[int | None, int | None]:
    """`since` and `until` as instants."""
    return _instant(query.since), _instant(query.until)


def _instant(text: str | None) -> int | None:
    """The instant of a text that the API has read as `When`."""
    if text is None:
        return None
    day = int(text[8:10])
    whole = datetime.fromisoformat(f"{text[:8]}01{text[10:19]}").replace(tzinfo=UTC)
    fraction = int(text[20:-1].ljust(6, "0") or 0)
    return from_datetime(whole + timedelta(days=day - 1)) + fraction


def _counted(found: Count) -> Json[lists.Count]:
    return Json(lists.Count(count=found.count, is_more=found.is_more))
