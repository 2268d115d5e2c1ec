"""Calls about what happens: long polls, and streams of server-sent events.

Knows how an event is written into a stream; must not know where events come from. What a stream
costs is bounded: nothing is kept for it but a number, and a caller that reads nothing is cut.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

from onceonly.api import events, messages
from onceonly.api.event_operations import LIST_EVENTS
from onceonly.api.events import USUAL_KINDS, EventKind, EventsQuery, LastEventHead
from onceonly.api.fields import WAIT_S_MAX
from onceonly.api.messages import MessagePath, WaitQuery, is_over
from onceonly.api.operation import EVENTS, Nothing
from onceonly.api.operations import GET_MESSAGE
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Json, ascii_json
from onceonly.gateway.api.declared import from_texts
from onceonly.gateway.api.endpoint import ABORT
from onceonly.gateway.api.ownership import names_owned
from onceonly.gateway.api.reading import page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.application.following import Found, Wanted
from onceonly.gateway.caller import Caller
from onceonly.store.contract.store import Snapshot

HEARTBEAT_S: Final = 15.0
"""A stream is never silent for longer, so that both sides, and what is between, know it alive."""

WRITE_S_MAX: Final = 30.0
"""How long a reader may take none of what is written; then it is cut, and may come back."""

RETRY_MS: Final = 1_000
"""How soon a browser comes back after a break."""

ROWS_PER_POLL_MAX: Final = 20_000
"""Rows of the journal that one poll looks through for one that is wanted."""

LINES_KEPT: Final = 2_000
"""Written events that are kept for the next streams that want them: some 1 MB."""

_LAST_EVENT: Final = "last-event-id"


class EventCalls(ABC):
    """The route /v1/events, and the wait for what becomes of one message, of the API."""

    _served: Served
    _readers: asyncio.Semaphore

    @property
    @abstractmethod
    def _snapshot(self) -> Snapshot:
        """Committed rows, for the thread that asks."""

    @abstractmethod
    def _store_id(self) -> str | None:
        """Which store numbers the rows."""

    @abstractmethod
    def _message(self, message_id: str) -> messages.OutboundMessage:
        """The message at one instant. Raises `LocalError` (NotFound)."""

    @serves(LIST_EVENTS)
    async def list_events(
        self, asked: Asked[Nothing, EventsQuery, Nothing]
    ) -> Answer[events.EventPage]:
        """What happened above a seq, as a page or as a stream."""
        query, last_seen = asked.query, _last_event_of(asked.request)
        own = names_owned(self._served.agreements, asked.caller)
        wanted = Wanted(_kinds_of(query.kinds), query.partner, own)
        after = query.after if last_seen is None else last_seen
        if asked.request.method == "GET" and EVENTS in asked.request.headers.get("accept", ""):
            with ExitStack() as stack:
                stack.enter_context(self._served.following.follower())
                at = await self._served.following.begin(after)
                return _Stream(self._written(wanted, at, asked.caller), stack.pop_all())
        with self._served.following.follower():
            at = await self._served.following.begin(after)
            found = await self._poll(wanted, at, min(query.wait, WAIT_S_MAX))
        page = _cut(found, page_limit(query.limit))
        store_id = await asyncio.to_thread(self._store_id)
        return Json(events.EventPage(events=page.events, next_after=page.last, store_id=store_id))

    @serves(GET_MESSAGE)
    async def get_message(
        self, asked: Asked[MessagePath, WaitQuery, Nothing]
    ) -> Answer[messages.MessageDetail]:
        """State and timeline of one outbound message, when there is a verdict if asked to wait."""
        message_id, wait_s = asked.path.message_id, min(asked.query.wait, WAIT_S_MAX)

        async def look() -> messages.MessageDetail:
            async with self._readers:
                return await asyncio.to_thread(self._detail, message_id, asked.caller)

        if not wait_s:
            return Json(await look())
        return Json(await self._served.following.until(message_id, look, is_over, wait_s))

    def _detail(self, message_id: str, caller: Caller) -> messages.MessageDetail:
        message = self._message(message_id)
        # A message of another application, received from its partner, may have the same MessageId.
        rows = self._snapshot.list_journal_of(message.message_id)
        own = names_owned(self._served.agreements, caller)
        records = [row for row in rows if own is None or row.agreement_id in own]
        payloads = self._served.sent.describe(message.message_id)
        ahead = self._served.sent.outlook(message.message_id)
        way_on = self._served.sent.way_on(message.message_id)
        name_of = self._served.names.name_of
        return shapes.detail_shape(message, records, payloads, ahead, way_on, name_of)

    async def _poll(self, wanted: Wanted, after: int, wait_s: float) -> Found:
        loop = asyncio.get_running_loop()
        until, at = loop.time() + wait_s, after
        while True:
            left_s = max(0.0, until - loop.time())
            found = await self._served.following.next(wanted, at, left_s)
            if found is None:
                return Found((), at)
            is_over = found.last == at and not left_s
            at = found.last
            if found.events or is_over or at - after >= ROWS_PER_POLL_MAX:
                return found

    async def _written(self, wanted: Wanted, after: int, caller: Caller) -> AsyncIterator[bytes]:
        """The stream's text, until the gateway stops or the caller's key or certificate ends.

        Every heartbeat has the number from which a reader may go on.
        """
        loop, at = asyncio.get_running_loop(), after
        yield b"retry: %d\nid: %d\n\n" % (RETRY_MS, at)
        spoken_at = loop.time()
        while True:
            left_s = max(0.0, spoken_at + HEARTBEAT_S - loop.time())
            found = await self._served.following.next(wanted, at, left_s)
            if found is None or not self._served.keys.are_open_to(caller):
                return
            at = found.last
            if found.events:
                yield b"".join(map(_line, found.events))
            elif loop.time() < spoken_at + HEARTBEAT_S:
                continue
            else:
                yield b": still here\nid: %d\n\n" % at
            spoken_at = loop.time()


@lru_cache(maxsize=LINES_KEPT)
def _line(event: events.HappenedEvent) -> bytes:
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (
        event.seq,
        event.kind.encode(),
        ascii_json(event),
    )


def _cut(found: Found, limit: int) -> Found:
    if len(found.events) <= limit:
        return found
    return Found(found.events[:limit], found.events[limit - 1].seq)


def _kinds_of(text: str | None) -> frozenset[EventKind]:
    if text is None:
        return frozenset(USUAL_KINDS)
    return frozenset(text.split(","))  # type: ignore[arg-type]  # because the declared pattern has checked them


def _last_event_of(request: Request) -> int | None:
    """The Last-Event-ID of the head. Raises `LocalError` (InvalidField)."""
    given = [("Last-Event-ID", one) for one in request.headers.getlist(_LAST_EVENT)]
    return from_texts(LastEventHead, given).last_event_id


class _Stream(StreamingResponse):
    """A stream of events, whose reader is cut when it reads nothing; ends what follows for it."""

    def __init__(self, text: AsyncIterator[bytes], follower: ExitStack) -> None:
        self._follower = follower
        # no-transform: what is between would otherwise collect events in order to compress them.
        headers = {"cache-control": "no-store, no-transform", "x-accel-buffering": "no"}
        super().__init__(text, headers=headers, media_type=EVENTS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Called by Starlette: writes the stream until one side ends it."""

        async def send_in_time(message: Any) -> None:
            try:
                async with asyncio.timeout(WRITE_S_MAX):
                    await send(message)
            except TimeoutError:
                # The server notes that the caller is gone, and by that the stream ends.
                scope[ABORT]()

        with self._follower:
            await super().__call__(scope, receive, send_in_time)
