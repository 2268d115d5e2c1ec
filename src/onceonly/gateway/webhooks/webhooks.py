"""All webhooks of one gateway: started after it is ready, stopped when it drains, and shown."""

from collections.abc import Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

from onceonly.api import webhooks as shapes
from onceonly.api.events import KIND_OF
from onceonly.gateway.bugs import Bugs
from onceonly.gateway.change import Change
from onceonly.gateway.config import Webhook
from onceonly.gateway.desk import Desk
from onceonly.gateway.office import Step
from onceonly.gateway.shapes import instant, text_of, word
from onceonly.gateway.tasks import Tasks
from onceonly.gateway.webhooks.webhook import ROWS_PER_READ, Told, deliveries_of, told_of
from onceonly.message.errors import LocalError
from onceonly.steps.webhooks import ask_replay, forget_old, forget_removed
from onceonly.store.contract.store import Snapshot
from onceonly.store.contract.webhooks import DeliveryState, WebhookDelivery, WebhookSnapshot

PLACE = "telling a webhook"

AFTER_BUG_S = 60.0
"""Pause after a bug: what meets it once probably meets it again."""


class Webhooks:
    """The webhooks, each with a task of its own."""

    def __init__(self, told: Sequence[Told], *, desk: Desk, tasks: Tasks, bugs: Bugs) -> None:
        self._told = {one.wanted.id: one for one in told}
        self._leaving: dict[str, Told] = {}
        """Those that a reload took away, while the attempt that was under way goes on."""
        self._is_working = False
        self._desk = desk
        self._tasks = tasks
        self._bugs = bugs

    def start(self) -> None:
        """Begin to tell what happens."""
        self._is_working = True
        for told in self._told.values():
            self._tasks.start(self._work(told), place=PLACE)

    def stop(self) -> None:
        """Begin no further attempt."""
        self._is_working = False
        for told in self._told.values():
            told.stop()

    def prepare(self, wanted: Sequence[Webhook]) -> Change:
        """Make others of these ready; may wait for the disk.

        One that changed goes on from its place when the attempt of the former one has ended, so no
        event is left out, and none is told twice for it. Raises `OSError` for certificates that
        cannot be used.
        """
        former = self._told
        if wanted and not isinstance(self._desk.snapshot(), WebhookSnapshot):
            raise OSError("this store cannot remember what webhooks were told")
        told = {
            one.id: former[one.id]
            if one.id in former and former[one.id].is_as(one)
            else told_of(one, self._desk)
            for one in wanted
        }
        owed = {name: one.count_owed() for name, one in former.items() if name not in told}
        return Change(
            partial(self._take, told),
            tuple(f"[[webhook]] {name} was not told {_events(n)}" for name, n in owed.items() if n),
        )

    def _take(self, told: Mapping[str, Told]) -> None:
        former, self._told = self._told, dict(told)
        for name, one in former.items():
            if told.get(name) is not one:
                one.stop()
                if self._is_working:
                    self._leaving[name] = one
        for name, one in told.items():
            if former.get(name) is not one and self._is_working:
                self._tasks.start(self._work(one, self._leaving.get(name)), place=PLACE)

    async def _work(self, told: Told, former: Told | None = None) -> None:
        """Tell it until its stop; not before the end of the one whose place it takes."""
        try:
            if former is not None:
                await former.ended.wait()
            while not told.is_stopped():
                await self._bugs.contain(PLACE, told.work(), partial(_rest, told))
        finally:
            await told.close()
            told.ended.set()
            if self._leaving.get(told.wanted.id) is told:
                del self._leaving[told.wanted.id]

    async def forget_over(self) -> int:
        """Forget deliveries that nobody asks about any more; returns how many. Raises `StoreFull`.

        Each step is a short one, so that messages go on beside it.
        """
        snapshot = self._desk.snapshot()
        if not isinstance(snapshot, WebhookSnapshot):
            return 0
        forgotten = 0
        for webhook in snapshot.list_webhooks():
            if webhook in self._told:
                forgotten += await self._repeat(partial(forget_old, webhook=webhook))
            elif snapshot.list_deliveries(webhook, 0, 1):
                forgotten += await self._repeat(partial(forget_removed, webhook=webhook))
        return forgotten

    async def _repeat(self, step: Step[int]) -> int:
        forgotten = 0
        while count := await self._desk.transact(step):
            forgotten += count
        return forgotten

    def list_shapes(self) -> shapes.WebhookList:
        """How every webhook stands; reads the store."""
        snapshot = self._desk.snapshot()
        found = tuple(_shape(told, snapshot) for told in self._told.values())
        return shapes.WebhookList(webhooks=found)

    def list_deliveries(
        self, webhook: str, after: int, limit: int, state: DeliveryState | None
    ) -> shapes.DeliveryPage:
        """A page of deliveries; reads the store. Raises `LocalError` (NotFound)."""
        snapshot = self._desk.snapshot()
        self._get(webhook)
        known = deliveries_of(snapshot)
        found = known.list_deliveries(webhook, after, limit + 1, state)
        return shapes.DeliveryPage(
            deliveries=tuple(map(delivery_shape, found[:limit])),
            next_after=found[limit - 1].seq if len(found) > limit else None,
        )

    async def replay(self, webhook: str, seq: int) -> shapes.Delivery:
        """Tell the event once more, now; one whose turn it is is tried at once.

        Raises `LocalError` (NotFound) and `StoreFull`.
        """
        told = self._get(webhook)
        found = deliveries_of(self._desk.snapshot()).find_delivery(webhook, seq)
        record = next(iter(self._desk.snapshot().list_journal(seq - 1, 1)), None)
        if record is None or KIND_OF[record.event] not in told.wanted.kinds:
            raise LocalError("NotFound", f"webhook {webhook!r} has no event {seq}")
        if found is None or found.state is not DeliveryState.PENDING:
            found = await self._desk.transact(partial(ask_replay, webhook=webhook, seq=seq))
        told.hurry()
        return delivery_shape(found)

    def _get(self, webhook: str) -> Told:
        found = self._told.get(webhook)
        if found is None:
            raise LocalError("NotFound", f"no webhook {webhook!r} in the configuration")
        return found


def delivery_shape(delivery: WebhookDelivery) -> shapes.Delivery:
    """How one event stands with one webhook."""
    return shapes.Delivery(
        webhook=delivery.webhook,
        seq=delivery.seq,
        state=word(delivery.state),
        attempts=delivery.attempts,
        first_at=text_of(delivery.first_at),
        last_at=instant(delivery.last_at),
        status_code=delivery.status_code,
        reason=delivery.reason,
    )


def _events(count: int) -> str:
    more = " or more" if count == ROWS_PER_READ else ""
    return f"{count}{more} event{'' if count == 1 else 's'} that happened"


async def _rest(told: Told, bug: Exception) -> None:
    told.trouble = f"a bug of onceonly: {type(bug).__name__}"
    await told.pause(AFTER_BUG_S)


def shown_url(url: str) -> str:
    """The URL without what may be a secret: chat services have a token in its path.

    Scheme, host and the first step of the path are shown, and `/…` for what comes after it.
    """
    parts = urlsplit(url)
    _, _, path = parts.path.partition("/")
    first, _, more = path.partition("/")
    host = parts.netloc.rpartition("@")[2]
    shown = f"/{first}" if first else ""
    return f"{parts.scheme}://{host}{shown}{'/…' if more else ''}"


def _shape(told: Told, snapshot: Snapshot) -> shapes.Webhook:
    known, wanted = deliveries_of(snapshot), told.wanted
    # Rows without an event for it move the place in memory alone.
    seq = told.seq or known.find_webhook_seq(wanted.id)
    return shapes.Webhook(
        id=wanted.id,
        url=shown_url(wanted.url),
        kinds=wanted.kinds,
        seq=seq,
        behind=0 if seq is None else max(0, snapshot.last_seq() - seq),
        attempts=told.attempts,
        has_dead=bool(known.list_deliveries(wanted.id, 0, 1, DeliveryState.DEAD)),
        trouble=told.trouble,
    )
