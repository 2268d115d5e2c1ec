"""A drop folder: every message of the inbox that fits is written to it once, in inbox order.

Work on a message is reported before its files appear, so that its sender cannot take it back any
more, and its end after they are durable. How files appear is in `dropping`.
"""

import asyncio
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Final

from onceonly.api.folders import DroppedHeader, DroppedPayload
from onceonly.gateway.api.answers import ascii_json
from onceonly.gateway.config import Drop, Report
from onceonly.gateway.desk import Desk
from onceonly.gateway.folders import dropping
from onceonly.gateway.folders.names import safe_name
from onceonly.gateway.folders.watch import Trouble, Watch
from onceonly.gateway.shapes import inbox_shape
from onceonly.message.errors import LocalError
from onceonly.protocol.receiving import ProcessingState
from onceonly.steps.processing import report
from onceonly.store.contract.entries import InboxItem, Role, StoredPayload
from onceonly.store.spool import Spool

LOOK_S: Final = 1.0
"""Pause between two looks into the inbox."""

ITEMS_PER_LOOK: Final = 100


class DropFolder(Watch):
    """One drop folder; `is_ours` says which items go to it."""

    def __init__(
        self, wanted: Drop, *, desk: Desk, spool: Spool, is_ours: Callable[[InboxItem], bool]
    ) -> None:
        super().__init__(folder_id=wanted.id, path=wanted.path, clock=desk.clock)
        self.wanted = wanted
        self._desk = desk
        self._spool = spool
        self._is_ours = is_ours
        self._target = (
            ProcessingState.COMPLETE
            if wanted.report is Report.COMPLETE
            else ProcessingState.IN_PROGRESS
        )
        self._after = 0
        """Items up to this offset were looked at."""
        self._opened: set[str] = set()
        """MessageIds of items with an open incident of ours."""

    @property
    def under_way(self) -> int:
        """Messages that are being written: this folder takes one at a time, and waits for it."""
        return 0

    async def work(self) -> None:
        """Write what comes until the gateway stops; raises nothing of the file system."""
        await self.keep_working(self._watch)

    async def _watch(self) -> None:
        await self.begin()
        while not self.is_stopped():
            has_more = await self.look()
            self.note(None)
            if not has_more:
                await self.pause(LOOK_S)

    async def begin(self) -> None:
        """Look at the whole inbox again, after a start or trouble."""
        self._opened = {
            one.message_id
            for one in self._desk.snapshot().list_incidents(is_open=True)
            if one.message_id is not None and one.reason.startswith(self._reason(""))
        }
        self._after = 0
        await self._forget_finished()

    async def look(self) -> bool:
        """Write the next items that are not complete; False if there were none.

        Raises `Trouble` if one cannot be written.
        """
        items = await asyncio.to_thread(self._list, self._after)
        ours = [item for item in items if self._is_ours(item)]
        self.waiting = len(ours)
        for item in ours:
            if self.is_stopped():
                return False
            await self._take(item)
            self._after = item.offset
            self.waiting -= 1
        if items:
            self._after = items[-1].offset
        return bool(items)

    def _list(self, after: int) -> list[InboxItem]:
        snapshot = self._desk.snapshot()
        up_to, complete = snapshot.last_offset(), ProcessingState.COMPLETE
        return list(snapshot.list_unfinished(after, up_to, complete, ITEMS_PER_LOOK))

    async def _take(self, item: InboxItem) -> None:
        """Write the files and report it; nothing where the item was taken back or refused."""
        name = name_of(item)
        if not await self._report(item, ProcessingState.IN_PROGRESS):
            return
        try:
            is_new = await self.thread.run(self._write, item, name)
        except OSError as error:
            await self._open_incident(item, str(error))
            raise Trouble(str(error)) from error
        if self._target is ProcessingState.COMPLETE:
            await self._report(item, ProcessingState.COMPLETE)
            await self.thread.run(dropping.forget, self.path, name)
        await self._resolve_incident(item)
        if is_new:
            self.count(is_done=True)

    async def _report(self, item: InboxItem, processing: ProcessingState) -> bool:
        try:
            await self._desk.transact(lambda txn, ground: report(txn, ground, item, processing))
        except LocalError as error:
            # It was taken back or refused, its end is reported, or its agreement is not configured.
            return error.name == "ProcessingWentBack" and processing is self._target
        return True

    def _write(self, item: InboxItem, name: str) -> bool:
        payloads = self._desk.snapshot().list_inbox_payloads(item.offset)
        files = [safe_name(one.payload.name, number) for number, one in enumerate(payloads, 1)]
        bodies: dict[str, Iterable[bytes]] = {
            file: self._chunks(one) for file, one in zip(files, payloads, strict=True)
        }
        header = ascii_json(_header(item, files)) + b"\n"
        bodies["header.json"] = (header,)
        return dropping.drop(self.path, name, bodies, self._desk.failpoints.reach)

    def _chunks(self, stored: StoredPayload) -> Iterable[bytes]:
        if stored.body is not None:
            return (stored.body,)
        return self._until_stop(self._spool.open_reader(stored.payload.digest))

    def _until_stop(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        """The bytes of a large payload; the stop of the gateway does not wait for all of them."""
        for chunk in chunks:
            if self.is_stopped():
                raise Trouble("the gateway stops")
            yield chunk

    async def _forget_finished(self) -> None:
        """Remove the marks of messages that were reported as complete."""
        for name in await self.thread.run(dropping.list_marked, self.path):
            number = name.partition("-")[0]
            if not number.isdigit():
                continue
            standing = self._desk.snapshot().find_inbox_standing(int(number))
            if standing is not None and standing.processing is ProcessingState.COMPLETE:
                await self.thread.run(dropping.forget, self.path, name)

    def _reason(self, text: str) -> str:
        return f"the drop folder {self.id!r} cannot be written: {text}"

    async def _open_incident(self, item: InboxItem, text: str) -> None:
        pair, message_id, reason = item.message.pair, item.message.message_id, self._reason(text)
        self._opened.add(message_id)
        await self._desk.transact(
            lambda txn, ground: txn.open_incident(
                Role.RECEIVER, pair, reason, at=ground.now.at, message_id=message_id
            )
        )

    async def _resolve_incident(self, item: InboxItem) -> None:
        pair, message_id = item.message.pair, item.message.message_id
        if message_id not in self._opened:
            return
        await self._desk.transact(
            lambda txn, ground: txn.resolve_parked(
                Role.RECEIVER, pair, message_id, at=ground.now.at
            )
        )
        self._opened.discard(message_id)


def fits(item: InboxItem, drop: Drop) -> bool:
    """Whether the message is one of those that go to the folder."""
    message = item.message
    return (
        (drop.agreements is None or message.agreement_id in drop.agreements)
        and (drop.services is None or message.service in drop.services)
        and (drop.actions is None or message.action in drop.actions)
    )


def name_of(item: InboxItem) -> str:
    """The name of the item's folder: it sorts by offset, and no other message ever has it.

    An offset alone would not do: a store that was restored gives its offsets again.
    """
    pair, message_id = item.message.pair, item.message.message_id
    parts = (pair.from_party, pair.to_party, message_id, item.digest)
    digest = sha256("\n".join(parts).encode()).hexdigest()
    return f"{item.offset:012d}-{digest[:16]}"


def _header(item: InboxItem, files: list[str]) -> DroppedHeader:
    shape = inbox_shape(item)
    sent = {name: getattr(shape, name) for name in DroppedHeader.__struct_fields__}
    sent["payloads"] = tuple(
        DroppedPayload(
            file=file,
            name=one.name,
            content_type=one.content_type,
            size_bytes=one.size_bytes,
            digest=one.digest,
        )
        for file, one in zip(files, shape.payloads, strict=True)
    )
    return DroppedHeader(**sent)
