"""Calls about actions on many messages."""

from collections.abc import Sequence
from typing import Any

from msgspec import UNSET

from onceonly.api import bulk
from onceonly.api import bulk_operations as operations
from onceonly.api.bulk import BulkItemQuery, BulkPath, BulkQuery, PrepareBulk, StartBulk
from onceonly.api.decoding import decoded
from onceonly.api.inbox import InboxCriteria
from onceonly.api.messages import MessageCriteria
from onceonly.api.operation import Nothing
from onceonly.gateway.api.answers import Answer, Json, ascii_json
from onceonly.gateway.api.list_calls import inbox_filter, message_filter
from onceonly.gateway.api.reading import needed_reason, page_limit
from onceonly.gateway.api.served import Served
from onceonly.gateway.api.serving import Asked, serves
from onceonly.gateway.shapes import inbox_shape, instant, message_shape, text_of, word
from onceonly.message.errors import LocalError
from onceonly.store.contract.bulk import Bulk, BulkAction, BulkItem
from onceonly.store.contract.entries import InboxItem, OutboundView


class BulkCalls:
    """The routes under /v1/bulk, of the API that has them.

    Methods that are no coroutines read the store: the API runs them in threads.
    """

    _served: Served

    @serves(operations.PREPARE_BULK)
    async def prepare_bulk(
        self, asked: Asked[Nothing, Nothing, PrepareBulk]
    ) -> Answer[bulk.BulkDetail]:
        """Select the messages, and show how many and which."""
        body, action = asked.body, BulkAction(asked.body.do)
        of_inbox = action is BulkAction.REDELIVER
        where = body.inbox if of_inbox else body.where
        if where is UNSET or (body.where if of_inbox else body.inbox) is not UNSET:
            say, not_say = ("inbox", "where") if of_inbox else ("where", "inbox")
            text = f"{action} is said with {say!r}, which messages it is about, not {not_say!r}"
            raise LocalError("InvalidField", text, {"field": say})
        where = self._served.names.read(where, asked.caller)
        prepared = await self._served.bulks.prepare(
            action,
            needed_reason(body.reason),
            ascii_json(where).decode("ascii"),
            inbox_filter(where) if isinstance(where, InboxCriteria) else message_filter(where),
            is_refused_left_out=not (isinstance(where, bulk.WhereInInbox) and where.refused),
        )
        samples = await self._served.bulks.samples_of(prepared.number)
        return Json(self._bulk_detail(prepared, samples), status_code=201)

    @serves(operations.START_BULK)
    async def start_bulk(self, asked: Asked[BulkPath, Nothing, StartBulk]) -> Answer[bulk.Bulk]:
        """Begin to work on it, or go on."""
        number, count = asked.path.number, asked.body.count
        started = await self._served.bulks.start(number, count, actor=asked.actor)
        return Json(_bulk(started), status_code=202)

    @serves(operations.STOP_BULK)
    async def stop_bulk(self, asked: Asked[BulkPath, Nothing, Nothing]) -> Answer[bulk.Bulk]:
        """Do no more of it."""
        return Json(_bulk(await self._served.bulks.stop(asked.path.number)))

    @serves(operations.LIST_BULKS)
    def list_bulks(self, asked: Asked[Nothing, BulkQuery, Nothing]) -> Answer[bulk.BulkPage]:
        """What was prepared and is not forgotten."""
        query, limit = asked.query, page_limit(asked.query.limit)
        is_newest_first = query.order == "newest"
        found = self._served.bulks.list(query.after, limit, is_newest_first=is_newest_first)
        next_after = found[-1].number if len(found) == limit else None
        return Json(bulk.BulkPage(bulks=tuple(map(_bulk, found)), next_after=next_after))

    @serves(operations.GET_BULK)
    def get_bulk(self, asked: Asked[BulkPath, Nothing, Nothing]) -> Answer[bulk.BulkDetail]:
        """How far it is."""
        number = asked.path.number
        found = self._served.bulks.find(number)
        return Json(self._bulk_detail(found, self._served.bulks.samples(number)))

    def _bulk_detail(
        self, found: Bulk, samples: Sequence[OutboundView | InboxItem]
    ) -> bulk.BulkDetail:
        name_of = self._served.names.name_of
        sent = [one for one in samples if isinstance(one, OutboundView)]
        items = [one for one in samples if isinstance(one, InboxItem)]
        return bulk.BulkDetail(
            **_members(found),
            samples=tuple(message_shape(view, None, None, name_of) for view in sent),
            items_of_inbox=tuple(inbox_shape(item, name_of) for item in items),
        )

    @serves(operations.LIST_BULK_RESULTS)
    def list_bulk_results(
        self, asked: Asked[BulkPath, BulkItemQuery, Nothing]
    ) -> Answer[bulk.BulkItemPage]:
        """What became of each message."""
        limit = page_limit(asked.query.limit)
        found = self._served.bulks.results(asked.path.number, asked.query.after, limit)
        next_after = found[-1].item if len(found) == limit else None
        return Json(bulk.BulkItemPage(results=tuple(map(_item, found)), next_after=next_after))


def _members(found: Bulk) -> dict[str, Any]:
    of_inbox = found.action is BulkAction.REDELIVER
    return {
        "number": found.number,
        "do": word(found.action),
        "where": None if of_inbox else decoded(found.query, MessageCriteria),
        "inbox": decoded(found.query, bulk.WhereInInbox) if of_inbox else None,
        "reason": found.reason,
        "state": word(found.state),
        "items": found.items,
        "done": found.done,
        "skipped": found.skipped,
        "failed": found.failed,
        "left": found.items - found.done - found.skipped - found.failed,
        "prepared_at": text_of(found.prepared_at),
        "started_at": instant(found.started_at),
        "started_by": found.started_by,
        "finished_at": instant(found.finished_at),
    }


def _bulk(found: Bulk) -> bulk.Bulk:
    return bulk.Bulk(**_members(found))


def _item(found: BulkItem) -> bulk.BulkItem:
    return bulk.BulkItem(
        item=found.item,
        message_id=found.message_id,
        offset=found.offset,
        outcome=None if found.outcome is None else word(found.outcome),
        error=found.name,
        text=found.text,
        at=instant(found.at),
    )
