"""Actions in bulk: selects messages, and works through the selections that were started.

Knows the order and the pace: a few items in each turn, so that messages go on beside it. What is
done with an item, and what becomes of it, is decided in its own step (`steps.bulk`); a restart goes
on with the items that have no outcome.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeVar, cast

from onceonly.gateway.bugs import Bugs, words_for
from onceonly.gateway.desk import Desk
from onceonly.gateway.growth import Growth
from onceonly.gateway.tasks import Tasks
from onceonly.message.errors import LocalError
from onceonly.message.instant import US_PER_S
from onceonly.message.word import changed
from onceonly.steps import bulk as steps
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Leaving
from onceonly.steps.processing import first_offset, was_refused
from onceonly.store.contract.bulk import (
    Bulk,
    BulkAction,
    BulkItem,
    BulkSnapshot,
    BulkState,
    BulkTransaction,
    Chosen,
)
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.entries import InboxItem, MessageFilter, OutboundView
from onceonly.store.contract.listing import InboxFilter
from onceonly.store.contract.store import Transaction

T = TypeVar("T")

Wanted = MessageFilter | InboxFilter
"""What a selection is of: messages that are sent, or items of the inbox."""

PAGE: Final = 500
"""Messages that are selected in one step: about 5 ms in which no other step runs."""

ITEMS_PER_TURN: Final = 16
"""Items whose steps are asked for at once; they share a commit with each other and with messages,
and a message that is submitted meanwhile waits for no more of them than that."""

PATIENCE_S: Final = 0.005
"""How long a turn may wait for the commit of others."""

PAUSE_S: Final = 1.0
"""Pause where items have to wait: for room in the queue, or on the disk."""

SAMPLES: Final = 5

PREPARED_S: Final = 86_400
"""How long what is prepared can be started: after a day the world is another."""


class Bulks:
    """The bulk actions of one gateway; `resume` once, at its start."""

    def __init__(
        self,
        *,
        desk: Desk,
        tasks: Tasks,
        bugs: Bugs,
        growth: Growth,
        forget_after_s: Callable[[], int],
    ) -> None:
        """`forget_after_s` is asked again each time: a reload may change it."""
        self._desk = desk
        self._growth = growth
        self._tasks = tasks
        self._bugs = bugs
        self._forget_after_s = forget_after_s
        self._is_working = False
        self._is_cut = False
        """Working ended by an error, perhaps for want of a descriptor; `sweep` begins again."""

    @property
    def _snapshot(self) -> BulkSnapshot:
        snapshot = self._desk.snapshot()
        assert isinstance(snapshot, BulkSnapshot), "a gateway's store keeps them"
        return snapshot

    def resume(self) -> None:
        """Go on with what a stop or a crash left; a store that keeps none has nothing to do."""
        snapshot = self._desk.snapshot()
        if isinstance(snapshot, BulkSnapshot) and snapshot.list_running_bulks():
            self._work_on()

    def sweep(self) -> None:
        """Go on where an error has ended the work; called every second."""
        if self._is_cut:
            self._work_on()

    async def forget_over(self) -> int:
        """Forget what ended long ago, or was prepared and not started; returns how many rows."""
        snapshot = self._desk.snapshot()
        if not isinstance(snapshot, BulkSnapshot):
            return 0
        at, forgotten = self._desk.clock.at(), 0
        prepared_at = at - PREPARED_S * US_PER_S
        finished_at = at - self._forget_after_s() * US_PER_S
        after = 0
        while found := self._snapshot.list_bulks(after, PAGE):
            after = found[-1].number
            for bulk in found:
                if _is_over(bulk, prepared_at, finished_at):
                    forgotten += await self.forget(bulk.number)
        return forgotten

    async def prepare(
        self,
        action: BulkAction,
        reason: str,
        query: str,
        wanted: Wanted,
        *,
        is_refused_left_out: bool = True,
    ) -> Bulk:
        """Select every message that fits `wanted` now; nothing is done with them yet.

        Of the inbox each message once, by the newest of its items that fit, in the order in which
        the messages came; what the application refused only with `is_refused_left_out` False.

        Raises `LocalError` (TooManyItems) and `StoreFull`, after which the selection is forgotten.
        """
        bulk = await self._run(partial(steps.select, action=action, reason=reason, query=query))
        number, last_offset = bulk.number, self._desk.snapshot().last_offset()
        try:
            if isinstance(wanted, InboxFilter):
                items = await self._select_items(
                    wanted, last_offset, is_refused_left_out=is_refused_left_out
                )
                for begin in range(0, len(items), PAGE):
                    await self._note(number, items[begin : begin + PAGE])
            else:
                await self._select_messages(number, wanted)
            return await self._run(partial(steps.seal, number=number))
        except (LocalError, StoreFull):
            await self.forget(number)
            raise

    async def _note(self, number: int, chosen: Sequence[Chosen]) -> None:
        await self._run(partial(steps.note_selected, number=number, chosen=chosen))

    async def _select_messages(self, number: int, wanted: MessageFilter) -> None:
        def select(page: MessageFilter) -> tuple[list[Chosen], int | None]:
            # The snapshot is taken here because it belongs to the thread that takes it.
            found = self._desk.snapshot().list_messages(page)
            return [Chosen(one.message.message_id) for one in found.messages], found.next_after

        after: int | None = wanted.after
        while after is not None:
            page = changed(wanted, after=after, limit=PAGE)
            chosen, after = await asyncio.to_thread(select, page)
            if chosen:
                await self._note(number, chosen)

    async def _select_items(
        self, wanted: InboxFilter, last_offset: int, *, is_refused_left_out: bool
    ) -> Sequence[Chosen]:
        """The newest item that fits of each message; one more than may be noted, at most."""

        def select(page: InboxFilter) -> tuple[Sequence[InboxItem], int | None]:
            # The snapshot is taken here because it belongs to the thread that takes it.
            snapshot = self._desk.snapshot()
            found = snapshot.search(page)
            left = (
                one
                for one in found.items
                if not (is_refused_left_out and was_refused(snapshot, one))
            )
            return list(left), found.next_after

        newest: dict[int, Chosen] = {}
        after: int | None = wanted.after
        while after is not None and len(newest) <= steps.ITEMS_MAX:
            page = changed(wanted, after=after, limit=PAGE)
            items, after = await asyncio.to_thread(select, page)
            for one in items:
                if one.offset <= last_offset:
                    newest[first_offset(one)] = Chosen(one.message.message_id, one.offset)
            # What is put there meanwhile, by an action of this kind that runs, has no end.
            if after is not None and after >= last_offset:
                break
        return [newest[first] for first in sorted(newest)][: steps.ITEMS_MAX + 1]

    async def start(self, number: int, count: int, *, actor: str) -> Bulk:
        """Begin to work on it, in the name of `actor`.

        Raises `LocalError` (NotFound, NotStartable, CountDiffers).
        """
        bulk = await self._run(partial(steps.start, number=number, count=count, actor=actor))
        self._work_on()
        return bulk

    async def stop(self, number: int) -> Bulk:
        """Do no more of it. Raises `LocalError` (NotFound, NotStartable)."""
        return await self._run(partial(steps.stop, number=number))

    def find(self, number: int) -> Bulk:
        """How it stands. Raises `LocalError` (NotFound)."""
        bulk = self._snapshot.find_bulk(number)
        if bulk is None:
            raise LocalError("NotFound", f"no bulk action {number}")
        return bulk

    def samples(self, number: int) -> Sequence[OutboundView | InboxItem]:
        """The first messages of it, as they are now."""
        items = self._snapshot.list_bulk_items(number, 0, SAMPLES)
        snapshot = self._desk.snapshot()
        found = (
            snapshot.find_outbound_view(one.message_id)
            if one.offset is None
            else snapshot.find_inbox_item(one.offset)
            for one in items
        )
        return [view for view in found if view is not None]

    async def samples_of(self, number: int) -> Sequence[OutboundView | InboxItem]:
        """`samples`, read in a thread."""
        return await asyncio.to_thread(self.samples, number)

    def list(self, after: int, limit: int, *, is_newest_first: bool = False) -> Sequence[Bulk]:
        """Bulk actions that come after a number, 0 for all, in order."""
        return self._snapshot.list_bulks(after, limit, is_newest_first=is_newest_first)

    def results(self, number: int, after: int, limit: int) -> Sequence[BulkItem]:
        """What became of its messages. Raises `LocalError` (NotFound)."""
        self.find(number)
        return self._snapshot.list_bulk_items(number, after, limit)

    async def forget(self, number: int) -> int:
        """Forget it, in small steps; returns how many rows."""
        forgotten = 0
        while count := await self._run(
            lambda txn, _: txn.forget_bulk(number, PAGE), patience_s=PATIENCE_S
        ):
            forgotten += count
        return forgotten

    async def _run(
        self, step: Callable[[BulkTransaction, Ground], T], *, patience_s: float = 0.0
    ) -> T:
        def run(txn: Transaction, ground: Ground) -> T:
            return step(cast("BulkTransaction", txn), ground)

        return await self._desk.transact(run, patience_s=patience_s)

    def _work_on(self) -> None:
        if not self._is_working:
            self._is_working = True
            self._tasks.start(self._work(), place="acting in bulk")

    async def _work(self) -> None:
        """Work through what is started, the oldest first, until nothing is."""
        self._is_cut = True
        try:
            while running := self._snapshot.list_running_bulks():
                if self._desk.is_draining:
                    break
                number = running[0].number
                items = self._snapshot.list_open_items(number, ITEMS_PER_TURN)
                if not items:
                    await self._persist(partial(steps.finish, number=number))
                    continue
                acted = await asyncio.gather(*(self._act(number, one.item) for one in items))
                if running[0].action is BulkAction.REDELIVER:
                    self._growth.announce()
                if not all(acted):
                    await asyncio.sleep(PAUSE_S)
            self._is_cut = False
        finally:
            self._is_working = False

    async def _act(self, number: int, item: int) -> bool:
        """Do one item; False if it has to wait."""

        def act(txn: BulkTransaction, ground: Ground) -> Leaving | None:
            leaving = steps.act(txn, ground, number, item)
            self._desk.failpoints.reach("before-bulk-item")
            return leaving

        async def run() -> bool:
            try:
                await self._run(act, patience_s=PATIENCE_S)
            except LocalError as refusal:
                if refusal.name in steps.PASSING:
                    return False
                raise
            self._desk.failpoints.reach("after-bulk-item")
            return True

        async def give_up(bug: Exception) -> bool:
            await self._persist(
                partial(steps.give_up, number=number, item=item, bug=words_for(bug))
            )
            return True

        try:
            return await self._bugs.contain("acting in bulk", run(), give_up)
        except StoreFull:
            return False

    async def _persist(self, step: Callable[[BulkTransaction, Ground], Any]) -> None:
        await self._desk.persist(lambda txn, ground: step(cast("BulkTransaction", txn), ground))


def _is_over(bulk: Bulk, prepared_before_at: int, finished_before_at: int) -> bool:
    if bulk.finished_at is not None:
        return bulk.finished_at < finished_before_at
    was_started = bulk.state is BulkState.RUNNING
    return not was_started and bulk.prepared_at < prepared_before_at
