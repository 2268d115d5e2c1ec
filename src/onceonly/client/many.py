"""Calls of the client about many messages: actions in bulk, what happens, folders and webhooks.

Knows what is asked and what is answered; must not know how a call gets to the gateway.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import httpx

from onceonly.api.bulk import (
    Bulk,
    BulkDetail,
    BulkItem,
    BulkItemQuery,
    BulkPage,
    BulkPath,
    BulkQuery,
    PrepareBulk,
    StartBulk,
    Where,
    WhereInInbox,
)
from onceonly.api.bulk_operations import (
    GET_BULK,
    LIST_BULK_RESULTS,
    LIST_BULKS,
    PREPARE_BULK,
    START_BULK,
    STOP_BULK,
)
from onceonly.api.decoding import decoded
from onceonly.api.event_operations import LIST_EVENTS
from onceonly.api.events import EventKind, EventPage, EventsQuery, HappenedEvent
from onceonly.api.folder_operations import LIST_FOLDERS
from onceonly.api.folders import Folder
from onceonly.api.operation import EVENTS, A, B, Nothing, Operation, P, Q
from onceonly.api.webhook_operations import LIST_DELIVERIES, LIST_WEBHOOKS, REPLAY_DELIVERY
from onceonly.api.webhooks import (
    DeliveriesQuery,
    Delivery,
    DeliveryPage,
    DeliveryPath,
    DeliveryState,
    Webhook,
    WebhookPath,
)
from onceonly.api.words import BulkAction, Order
from onceonly.message.errors import LocalError, OnceonlyError
from onceonly.message.word import Word

PAUSE_S: Final = 0.2
PAUSE_S_MAX: Final = 5.0
"""Pause before a stream that broke is asked for again; twice as long after each failure."""

_NOTHING: Final = Nothing()


class BulkMethods(ABC):
    """Actions on many messages."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def prepare_bulk(self, do: BulkAction, reason: str, where: Where | WhereInInbox) -> BulkDetail:
        """Select messages for an action on all of them; nothing is done before `start_bulk`.

        `redeliver` is about messages of the inbox, every other action about sent ones. The answer
        has `items`, how many they are, and the first of them, in `samples` or `items_of_inbox`.
        Raises `LocalError` (TooManyItems) for more than 100,000.
        """
        if isinstance(where, WhereInInbox):
            body = PrepareBulk(do=do, inbox=where, reason=reason)
        else:
            body = PrepareBulk(do=do, where=where, reason=reason)
        return self._ask(PREPARE_BULK, _NOTHING, _NOTHING, body)

    def start_bulk(self, number: int, count: int) -> Bulk:
        """Begin to work on it; `count` is the `items` that the caller has seen."""
        path, body = BulkPath(number=number), StartBulk(count=count)
        return self._ask(START_BULK, path, _NOTHING, body)

    def stop_bulk(self, number: int) -> Bulk:
        """Do no more of it; `start_bulk` goes on."""
        return self._ask(STOP_BULK, BulkPath(number=number), _NOTHING)

    def bulk(self, number: int) -> BulkDetail:
        """How far it is."""
        return self._ask(GET_BULK, BulkPath(number=number), _NOTHING)

    def bulks(self, after: int = 0, limit: int = 100, *, order: Order = "oldest") -> BulkPage:
        """Actions on many messages; `after` is the `next_after` of the page before."""
        query = BulkQuery(after=after, limit=limit, order=order)
        return self._ask(LIST_BULKS, _NOTHING, query)

    def all_bulks(self, *, order: Order = "oldest") -> Iterator[Bulk]:
        """Every action on many messages."""
        after: int | None = 0
        while after is not None:
            page = self.bulks(after, order=order)
            yield from page.bulks
            after = page.next_after

    def bulk_results(self, number: int) -> Iterator[BulkItem]:
        """What became of each message, in their order."""
        path = BulkPath(number=number)
        after: int | None = 0
        while after is not None:
            query = BulkItemQuery(after=after, limit=1000)
            page = self._ask(LIST_BULK_RESULTS, path, query)
            yield from page.results
            after = page.next_after


class EventMethods(ABC):
    """What happens."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    @abstractmethod
    def _stream(self, path: str, query: Word, media: str) -> AbstractContextManager[httpx.Response]:
        """An answer that is read as it comes."""

    def events(
        self,
        after: int | None = None,
        kinds: Iterable[EventKind] | None = None,
        partner: str | None = None,
        *,
        wait_s: float = 0.0,
        limit: int = 100,
    ) -> EventPage:
        """What happened above a seq of the journal, or without one from now on.

        Waits up to `wait_s` seconds, 60 at most, for something. The next call asks after
        `next_after`. Raises `LocalError` (JournalBehind) if the journal does not reach to `after`.
        """
        query = _events_query(after, kinds, partner, wait=wait_s, limit=limit)
        return self._ask(LIST_EVENTS, _NOTHING, query)

    def follow(
        self,
        after: int | None = None,
        kinds: Iterable[EventKind] | None = None,
        partner: str | None = None,
    ) -> Iterator[HappenedEvent]:
        """Every event above a seq of the journal, or from now on, without an end and without a gap.

        While the gateway cannot be reached, or has too much to do, it tries again, without an end:
        a restart is no end. Raises `LocalError` for any other refusal, such as JournalBehind.
        """
        pause_s = PAUSE_S
        while True:
            try:
                # The end is asked for first, so that a break before the first event loses nothing.
                if after is None:
                    after = self.events(kinds=kinds, partner=partner).next_after
                query = _events_query(after, kinds, partner)
                for seq, event in self._streamed(query):
                    after, pause_s = seq, PAUSE_S
                    if event is not None:
                        yield event
            except LocalError as error:
                if error.name != "Busy":
                    raise
            except OnceonlyError:
                pass  # The gateway cannot be reached, or went away.
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)

    def _streamed(self, query: EventsQuery) -> Iterator[tuple[int, HappenedEvent | None]]:
        """The events of one stream until it breaks, each with the seq after which to go on."""
        with self._stream(LIST_EVENTS.path, query, EVENTS) as response:
            if response.headers.get("content-type", "").partition(";")[0] != EVENTS:
                raise LocalError("UnexpectedAnswer", "this is no stream of a gateway's events")
            seq, event = 0, None
            for line in response.iter_lines():
                name, _, value = line.partition(": ")
                if name == "id":
                    seq = int(value)
                elif name == "data":
                    event = decoded(value, HappenedEvent)
                elif not line:
                    yield seq, event
                    event = None


def _events_query(
    after: int | None, kinds: Iterable[EventKind] | None, partner: str | None, **more: Any
) -> EventsQuery:
    named = None if kinds is None else ",".join(kinds)
    return EventsQuery(after=after, kinds=named, partner=partner, **more)


class FolderMethods(ABC):
    """How what leaves and comes beside the API stands: by folders, and by webhooks."""

    @abstractmethod
    def _ask(self, operation: Operation[P, Q, B, A], path: P, query: Q, body: B | None = None) -> A:
        """The answer to a call whose body, if it has one, is JSON."""

    def folders(self) -> Sequence[Folder]:
        """Folders that files are sent from and messages are written to, and how they stand."""
        return self._ask(LIST_FOLDERS, _NOTHING, _NOTHING).folders

    def webhooks(self) -> Sequence[Webhook]:
        """Webhooks, and up to which event each was told."""
        return self._ask(LIST_WEBHOOKS, _NOTHING, _NOTHING).webhooks

    def deliveries(
        self,
        webhook: str,
        *,
        state: DeliveryState | None = None,
        after: int = 0,
        limit: int = 100,
    ) -> DeliveryPage:
        """What a webhook was told, in the order of events."""
        query = DeliveriesQuery(state=state, after=after, limit=limit)
        return self._ask(LIST_DELIVERIES, WebhookPath(webhook=webhook), query)

    def replay_delivery(self, webhook: str, seq: int) -> Delivery:
        """Tell a webhook an event once more, under the same id."""
        path = DeliveryPath(webhook=webhook, seq=seq)
        return self._ask(REPLAY_DELIVERY, path, _NOTHING)
