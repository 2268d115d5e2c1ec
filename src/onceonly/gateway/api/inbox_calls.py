"""Calls about received messages: the inbox by offset, and what the application says of an item."""

import asyncio
from abc import ABC, abstractmethod
from typing import Any

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from onceonly.api import inbox
from onceonly.api.fields import WAIT_S_MAX
from onceonly.api.inbox import InboxQuery, Processing, ProcessingRange, Redeliver
from onceonly.api.inbox_operations import ITEM_CALLS, LIST_INBOX, REPORT_RANGE
from onceonly.api.messages import Reason
from onceonly.api.operation import ARROW, Nothing
from onceonly.gateway import shapes
from onceonly.gateway.api.answers import Answer, Bytes, Json
from onceonly.gateway.api.arrow import inbox_stream
from onceonly.gateway.api.gate import Gate
from onceonly.gateway.api.list_calls import inbox_page_filter, is_searched, up_to
from onceonly.gateway.api.ownership import owned
from onceonly.gateway.api.reading import needed_reason, page_limit
from onceonly.gateway.api.sent_calls import payload_answer
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, item_of, serves
from onceonly.gateway.application.inbox import without_bytes
from onceonly.protocol.receiving import ProcessingState
from onceonly.store.contract.entries import InboxItem
from onceonly.store.contract.listing import Listing


class InboxCalls(ABC):
    """The routes under /v1/inbox, of the API that has them."""

    _served: Served
    _gate: Gate
    _readers: asyncio.Semaphore

    @abstractmethod
    def _store_id(self) -> str | None:
        """Which store numbers the rows."""

    @serves(LIST_INBOX)
    async def list_inbox(
        self, asked: Asked[Nothing, InboxQuery, Nothing]
    ) -> Answer[inbox.InboxPage]:
        """Received messages above an offset, with their payloads where that is asked for."""
        query = asked.query
        if wants_payloads(asked):
            self._gate.check_scope(asked.caller, "payloads", asked.request)
        wait_s = min(query.wait, WAIT_S_MAX)
        if is_searched(query) or asked.caller.agreement_ids is not None:
            wanted = owned(inbox_page_filter(query), asked.caller)
            found = await self._served.inbox.search(wanted, wait_s, self._readers)
        else:
            limit = max(1, min(page_limit(query.limit), query.up_to - query.after))
            items = await self._served.inbox.read(query.after, limit, wait_s)
            found = Listing(items, items[-1].offset if len(items) == limit else None)
        found = up_to(query, found)
        async with self._readers:
            return await asyncio.to_thread(self._inbox_page, asked, found)

    def _inbox_page(
        self, asked: Asked[Nothing, InboxQuery, Nothing], page: Listing[InboxItem]
    ) -> Answer[inbox.InboxPage]:
        items = page.items
        if wants_arrow(asked.request):
            return Bytes(self._arrow_page(page, whole=wants_payloads(asked)), media_type=ARROW)
        if wants_payloads(asked):
            found = self._served.inbox.with_payloads(items)
            shown = tuple(
                shapes.whole_inbox_shape(one, self._served.names.name_of) for one in found
            )
        else:
            shown = tuple(shapes.inbox_shape(one, self._served.names.name_of) for one in items)
        last_offset, store_id = self._served.inbox.last_offset(), self._store_id()
        shown_page = inbox.InboxPage(
            items=shown,
            last_offset=last_offset,
            store_id=store_id,
            next_after=page.next_after,
            is_cut=page.is_cut,
            purged=self._purged(asked),
        )
        return Json(shown_page)

    def _purged(self, asked: Asked[Nothing, InboxQuery, Nothing]) -> int | UnsetType:
        if asked.query.purged == "none" or asked.caller.agreement_ids is not None:
            return UNSET
        return self._served.inbox.count_purged(asked.query.after, asked.query.up_to)

    def _arrow_page(self, page: Listing[InboxItem], *, whole: bool) -> bytes:
        if not whole:
            return inbox_stream(map(without_bytes, page.items), page.next_after)
        found = self._served.inbox.with_payloads(page.items)
        is_cut = len(found) < len(page.items)
        return inbox_stream(found, found[-1].item.offset if is_cut else page.next_after)

    @serves(REPORT_RANGE)
    async def post_processing_range(
        self, asked: Asked[Nothing, Nothing, ProcessingRange]
    ) -> Answer[inbox.Moved]:
        """The application's processing state of everything up to an offset."""
        body = asked.body
        processing = ProcessingState(body.processing)
        own = asked.caller.agreement_ids
        moved = await self._served.inbox.report_range(body.after, body.up_to, processing, own)
        return Json(inbox.Moved(moved=moved))

    @serves(*(calls.get for calls in ITEM_CALLS))
    def get_inbox_item(self, asked: Asked[Any, Any, Nothing]) -> Answer[inbox.InboxItem]:
        """One received message, by its offset or by a MessageId of one message."""
        item = self._served.inbox.get(*item_of(asked), asked.caller.agreement_ids)
        return Json(shapes.inbox_shape(item, self._served.names.name_of))

    @serves(*(calls.payload for calls in ITEM_CALLS))
    def get_payload(self, asked: Asked[Any, Any, Nothing]) -> Answer[bytes]:
        """The bytes of one payload."""
        message_id, offset = item_of(asked)
        own = asked.caller.agreement_ids
        stored = self._served.inbox.payload(message_id, asked.path.n, offset, own)
        return payload_answer(stored, self._served.spool)

    @serves(*(calls.report for calls in ITEM_CALLS))
    async def post_processing(self, asked: Asked[Any, Any, Processing]) -> Answer[inbox.InboxItem]:
        """The application's processing state."""
        processing = ProcessingState(asked.body.processing)
        message_id, offset = item_of(asked)
        item = await self._served.inbox.report(
            message_id, processing, offset, asked.caller.agreement_ids
        )
        return Json(shapes.inbox_shape(item, self._served.names.name_of))

    @serves(*(calls.refuse for calls in ITEM_CALLS))
    async def refuse_message(self, asked: Asked[Any, Any, Reason]) -> Answer[inbox.InboxItem]:
        """The application will not process a message."""
        reason = asked.body.reason or "refused by the application"
        message_id, offset = item_of(asked)
        item = await self._served.inbox.refuse(
            message_id, reason, offset, asked.caller.agreement_ids
        )
        return Json(shapes.inbox_shape(item, self._served.names.name_of))

    @serves(*(calls.redeliver for calls in ITEM_CALLS))
    async def redeliver(self, asked: Asked[Any, Any, Redeliver]) -> Answer[inbox.InboxItem]:
        """The application has lost a message, and is to get it once more."""
        reason = needed_reason(asked.body.reason)
        item = await self._served.inbox.hand_over_again(
            *item_of(asked),
            asked.caller.agreement_ids,
            actor=asked.actor,
            reason=reason,
            after=asked.body.after,
        )
        return Json(shapes.inbox_shape(item, self._served.names.name_of), status_code=201)


def wants_payloads(asked: Asked[Nothing, InboxQuery, Nothing]) -> bool:
    """Whether the bytes of payloads are asked for: in JSON by name, in Arrow if nothing is said."""
    said = asked.query.payloads
    return wants_arrow(asked.request) if said is UNSET else said == "inline"


def wants_arrow(request: Request) -> bool:
    """Whether the caller asks for an Arrow stream instead of JSON."""
    return ARROW in request.headers.get("accept", "")
