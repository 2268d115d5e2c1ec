"""Calls that list and count: the query as a question to the store, and what it found."""

from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from onceonly.api import lists, messages, operations
from onceonly.api.lists import Times
from onceonly.api.messages import MessageCriteria, MessagesQuery
from onceonly.api.operation import Nothing
from onceonly.api.words import Order
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.serving import Asked, serves
from onceonly.message.errors import ErrorCode
from onceonly.message.instant import from_datetime
from onceonly.message.word import changed
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.entries import Count, Excerpt, MessageFilter
from onceonly.store.contract.store import Store

E = TypeVar("E", bound=Excerpt)


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

    _store: Store

    @serves(operations.LIST_MESSAGES)
    def list_messages(
        self, asked: Asked[Nothing, MessagesQuery, Nothing]
    ) -> Answer[messages.MessagePage]:
        """A page of outbound messages."""
        wanted = paged(message_filter(asked.query), asked.query)
        page = self._store.snapshot().list_messages(wanted)
        items = tuple(shapes.message_shape(view, None, None) for view in page.messages)
        shown = messages.MessagePage(messages=items, next_after=page.next_after, is_cut=page.is_cut)
        return Json(shown)

    @serves(operations.COUNT_MESSAGES)
    def count_messages(
        self, asked: Asked[Nothing, MessageCriteria, Nothing]
    ) -> Answer[lists.Count]:
        """How many outbound messages there are."""
        return _counted(self._store.snapshot().count_messages(message_filter(asked.query)))


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
    )


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
