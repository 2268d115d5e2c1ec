"""Who reads a machine's inbox, and works on what is in it: the receiving application.

Knows a program that keeps its own place in the inbox, reports how far it is, refuses, answers, and
may be away or slow (fault A2). Where the agreement says that processing is reported, it asks
before it starts, so that a message taken back is never worked on (seed 004 level 3).
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from onceonly.gateway.wiring import Gateway
from onceonly.protocol.receiving import ProcessingState
from onceonly.simulation.cast import name_of
from onceonly.simulation.chance import draw
from onceonly.simulation.history import Delivered, Worked
from onceonly.simulation.machine.node import Node
from onceonly.simulation.plan import Habits
from onceonly.simulation.timeline import NS_PER_MS
from onceonly.store.contract.entries import InboxItem, StoredPayload

PAGE = 100
_EVERY = 1 << 30


class Clerk:
    """Reads and works for one machine; `call` and `submit` are those of its application."""

    def __init__(
        self,
        node: Node,
        habits: Habits,
        *,
        call: Callable[..., None],
        submit: Callable[..., None],
    ) -> None:
        self._node = node
        self._habits = habits
        self._call = call
        self._submit = submit
        self._read_to = 0
        self._is_called = False
        self._away_until_ns = 0
        self._marked = 0
        self._at_work = 0
        self._answered: dict[str, int] = {}
        """By MessageId, where in the inbox the item was that has been answered."""

    @property
    def is_at_rest(self) -> bool:
        """Whether everything was read, and what was begun is done."""
        return not self._is_called and self._at_work == 0

    def stay_away(self, until_ns: int) -> None:
        """Read nothing until then (fault A2)."""
        self._away_until_ns = max(self._away_until_ns, until_ns)

    def mark(self) -> None:
        """The store is copied: how far its inbox goes."""
        items = self._node.snapshot().list_inbox(0, _EVERY)
        self._marked = max((item.offset for item in items), default=0)

    def set_back(self) -> None:
        """The copy is put back: what comes after its last offset is new once more (fault C7)."""
        self._read_to = min(self._read_to, self._marked)

    def look_soon(self) -> None:
        """Something may be new in the inbox."""
        if not self._is_called:
            self._is_called = True
            self._wait(self._habits.read_ms, self._read)

    def _wait(self, ms: int, then: Callable[[], None]) -> None:
        self._node.timeline.call_in(ms * NS_PER_MS, then)

    def _read(self) -> None:
        node = self._node
        self._is_called = False
        if not node.is_ready or node.timeline.now_ns < self._away_until_ns:
            self.look_soon()
            return
        items = node.snapshot().list_inbox(self._read_to, PAGE)
        for item in items:
            self._take(item)
            self._read_to = item.offset
        if len(items) == PAGE:
            self.look_soon()

    def _take(self, item: InboxItem) -> None:
        node = self._node
        payloads = node.snapshot().list_inbox_payloads(item.offset)
        content = tuple(map(self._bytes_of, payloads))
        at_ns, message_id = node.timeline.now_ns, item.message.message_id
        order = node.history.next(at_ns, node.name, "delivered", message_id)
        node.history.delivered.append(
            Delivered(order, at_ns, node.name, item.offset, item.message.key, content)
        )
        self._at_work += 1
        if self._habits.thinks_ms:
            self._wait(self._habits.thinks_ms, partial(self._consider, item))
        else:
            self._consider(item)

    def _bytes_of(self, stored: StoredPayload) -> bytes:
        if stored.body is not None:
            return stored.body
        process = self._node.process
        assert process is not None, "only who runs is read from"
        return b"".join(process.gateway.spool.open_reader(stored.payload.digest))

    def _consider(self, item: InboxItem) -> None:
        """Refuse it, ask before the work begins, or begin."""
        if self._likes("refuses", item, self._habits.refuses):
            self._say(item, "refuse", "out of stock", self._end)
        elif self._asks_first(item) or self._likes("reports", item, self._habits.reports):
            self._say(item, "report", ProcessingState.IN_PROGRESS, partial(self._begin, item))
        else:
            self._begin(item, None)
            self._at_work -= 1

    def _asks_first(self, item: InboxItem) -> bool:
        return any(
            agreement.terms.reports_processing
            for agreement in self._node.configuration.agreements
            if agreement.id == item.message.agreement_id
        )

    def _likes(self, what: str, item: InboxItem, probability: float) -> bool:
        """Decided per message, so that a repeated reading finds the same mind."""
        node = self._node
        return draw(node.seed, what, node.name, item.message.message_id) < probability

    def _say(
        self, item: InboxItem, what: str, word: Any, then: Callable[[BaseException | None], None]
    ) -> None:
        async def call(gateway: Gateway) -> None:
            await getattr(gateway.inbox, what)(item.message.message_id, word, item.offset)

        self._call(call, is_repeated=True, ended=then)

    def _begin(self, item: InboxItem, error: BaseException | None) -> None:
        if error is not None:  # It was taken back, or is gone: no work.
            self._end(error)
            return
        node, at_ns = self._node, self._node.timeline.now_ns
        order = node.history.next(at_ns, node.name, "worked", item.message.message_id)
        node.history.worked.append(Worked(order, at_ns, node.name, item.offset, item.message.key))
        self._answer(item)
        if self._asks_first(item) or self._likes("reports", item, self._habits.reports):
            told = partial(self._complete, item)
            done = partial(self._say, item, "report", ProcessingState.COMPLETE, told)
            self._wait(self._habits.works_ms, done)

    def _complete(self, item: InboxItem, error: BaseException | None) -> None:
        """One that was restored from a copy says once more what it had said before."""
        if error is None and self._likes("falls back", item, self._habits.falls_back):
            self._say(item, "report", ProcessingState.IN_PROGRESS, self._end)
        else:
            self._end(error)

    def _answer(self, item: InboxItem) -> None:
        message = item.message
        if message.ref_to_message_id is not None:
            return  # An answer is not answered.
        if item.repeats is not None:
            return  # What its program lost is its own books, and not that it had answered.
        if self._likes("answers", item, self._habits.answers):
            name = f"re-{message.message_id.partition('@')[0]}"
            if self._answered.setdefault(message.message_id, item.offset) != item.offset:
                # BestEffort brought it twice: the second answer is another one.
                name = f"{name}-{item.offset}"
            self._submit(
                to=name_of(str(message.from_ids[0])),
                id=name,
                ref=message.message_id,
                agreement=message.agreement_id,
            )

    def _end(self, error: BaseException | None) -> None:
        del error
        self._at_work -= 1
