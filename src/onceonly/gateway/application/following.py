"""Tells those who follow it what happens: rows of the journal, each as soon as it is committed.

The journal is the only source, so that what is told is durable, and whoever comes back with the
last number that it has seen misses nothing. However many follow, one task reads the new rows, once,
in a thread, and at most `READS_PER_S` times a second; a commit costs one look at whether this task
waits. A follower has no queue: who is slow reads on by itself, from the journal, where it was.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Final, TypeVar

from onceonly.api.events import KIND_OF, EventKind, HappenedEvent
from onceonly.gateway.descriptors import shares
from onceonly.gateway.desk import Desk
from onceonly.gateway.shapes import happened_shape
from onceonly.gateway.tasks import Tasks
from onceonly.journal.record import Record
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreExhausted

ROWS_PER_READ: Final = 500
"""Rows of one read, which takes some 5 ms; the event loop does not wait for it."""

READS_PER_S: Final = 20
"""Reads of new rows: under load a follower hears of a row within 50 ms, otherwise at once."""

READS_KEPT: Final = 4
"""Last reads that stay in memory, for followers that are a little late."""

CATCHING_UP_MAX: Final = 2
"""Followers that read old rows at the same time, so that threads are left for other calls."""

FOLLOWERS_MAX: Final = 200
"""Streams at the same time; each holds a connection, and some 100 KB if its reader is slow. Never
more than half of the API's connections, so that other calls are answered."""

EXHAUSTED_PAUSE_S: Final = 1.0
"""Pause after a read for which no descriptor was free."""

_OF_PAIRS: Final = {Event.PAIR_SUSPENDED, Event.PAIR_QUARANTINED, Event.PAIR_RESUMED}


T = TypeVar("T")


class Wanted(Word):
    """What a follower wants to hear of."""

    kinds: frozenset[EventKind]
    partner: str | None = None
    agreement_ids: frozenset[str] | None = None
    """Only what happens under these agreements; None: whatever happens."""

    def has(self, row: Record) -> bool:
        """Whether the row is one of them."""
        is_own = self.agreement_ids is None or row.agreement_id in self.agreement_ids
        is_with = self.partner is None or self.partner in (row.from_party, row.to_party)
        return KIND_OF[row.event] in self.kinds and is_own and is_with


class Found(Word):
    """What a follower is told, and up to which seq it has heard of everything with that."""

    events: tuple[HappenedEvent, ...]
    last: int


_NOTHING: Final = Found((), 0)


class _Read(Word):
    """Rows of the journal above `after` up to `last`, and what followers want of them."""

    after: int
    last: int
    rows: Sequence[Record]
    found: dict[Wanted, Found]

    def of(self, wanted: Wanted) -> Found:
        """What is wanted of them; followers that want the same share it."""
        found = self.found.get(wanted)
        if found is None:
            events = tuple(happened_shape(row) for row in self.rows if wanted.has(row))
            found = self.found[wanted] = Found(events, self.last)
        return found


class Following:
    """Tells events of one gateway, from its start until `close`; all use is on its event loop."""

    def __init__(self, *, desk: Desk, tasks: Tasks) -> None:
        self._desk = desk
        self._tasks = tasks
        self._followers_max = min(FOLLOWERS_MAX, shares().api // 2)
        self._followers = 0
        self._watchers: dict[str, set[asyncio.Future[None]]] = {}
        """By the message whose next row they wait for."""
        self._waiting: dict[Wanted, asyncio.Future[Found | None]] = {}
        """Followers that have heard of all up to `_end`; those that want the same share a wait."""
        self._waiters: Counter[Wanted] = Counter()
        self._reads: deque[_Read] = deque(maxlen=READS_KEPT)
        self._end = 0
        """Up to here everybody who waits has been told; 0 while nobody reads."""
        self._is_reading = False
        self._is_closed = False
        self._nudge: asyncio.Future[None] | None = None
        self._catching_up = asyncio.Semaphore(CATCHING_UP_MAX)

    @contextmanager
    def follower(self) -> Iterator[None]:
        """Be one of those who follow; within it `next` tells. Raises `LocalError` (Busy)."""
        if self._is_closed or self._followers >= self._followers_max:
            text = f"the gateway stops, or {self._followers_max} follow what happens already"
            raise LocalError("Busy", text)
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1
            self._rest_if_alone()

    @property
    def followers(self) -> int:
        """How many follow now."""
        return self._followers

    async def begin(self, after: int | None) -> int:
        """The seq after which to tell: `after`, or the journal's end.

        Raises `LocalError` (JournalBehind) if the journal does not reach so far: it is another one,
        or was restored.
        """
        last = await asyncio.to_thread(lambda: self._desk.snapshot().last_seq())
        if after is None:
            return last
        if after > last:
            text = f"the journal ends at seq {last}: its store is another, or was restored"
            raise LocalError("JournalBehind", text)
        return after

    async def next(self, wanted: Wanted, after: int, within_s: float) -> Found | None:
        """The next of what is wanted above `after`; waits at most `within_s` seconds for one.

        It may have no events: then either the time is over, or many rows have been looked through
        without one. The caller goes on after its `last`. None if the gateway stops.
        """
        if self._is_closed:
            return None
        self._read_on()
        found = self._recent(wanted, after)
        if found is not None:
            return found
        if after < self._end or self._end == 0:
            async with self._catching_up:
                read = await asyncio.to_thread(self._read, after, (wanted,))
            if read.rows:
                return read.of(wanted)
        return await self._wait(wanted, after, within_s)

    def _recent(self, wanted: Wanted, after: int) -> Found | None:
        """What the last reads have above `after`; None if they do not have it all, or nothing."""
        if not self._reads or not self._reads[0].after <= after < self._end:
            return None
        found = [one.of(wanted) for one in self._reads if one.last > after]
        return _above(after, Found(tuple(chain.from_iterable(f.events for f in found)), self._end))

    async def _wait(self, wanted: Wanted, after: int, within_s: float) -> Found | None:
        if self._is_closed:
            return None
        if after < self._end:
            return Found((), after)  # It was read in between, and the next call has it.
        waiting = self._waiting.get(wanted)
        if waiting is None:
            waiting = self._waiting[wanted] = asyncio.get_running_loop().create_future()
        self._waiters[wanted] += 1
        try:
            done, _ = await asyncio.wait((waiting,), timeout=within_s)
        finally:
            self._waiters[wanted] -= 1
            if not self._waiters[wanted]:
                # Nobody wants it any more; rows would be tested for it for as long as others wait.
                del self._waiters[wanted]
                self._waiting.pop(wanted, None)
        if not done:
            return Found((), max(after, self._end))
        found = waiting.result()
        return None if found is None else _above(after, found)

    async def until(
        self,
        message_id: str,
        look: Callable[[], Awaitable[T]],
        is_over: Callable[[T], bool],
        within_s: float,
    ) -> T:
        """What `look` finds when `is_over` says so, or `within_s` seconds are over.

        It looks again after each row about the message or about any pair.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + within_s
        while True:
            moved = loop.create_future()
            self._watchers.setdefault(message_id, set()).add(moved)
            try:
                self._read_on()
                found = await look()
                left_s = until - loop.time()
                if is_over(found) or left_s <= 0 or self._is_closed:
                    return found
                await asyncio.wait((moved,), timeout=left_s)
            finally:
                self._forget(message_id, moved)

    def _forget(self, message_id: str, moved: "asyncio.Future[None]") -> None:
        watchers = self._watchers[message_id]
        watchers.discard(moved)
        if not watchers:
            del self._watchers[message_id]
            self._rest_if_alone()

    def close(self) -> None:
        """Tell everybody that the gateway stops, at once: their streams end."""
        self._is_closed = True
        self._let_go(None)
        self._wake_reader()

    def _let_go(self, found: Found | None) -> None:
        """Whoever waits goes on, and asks again unless the gateway stops."""
        for waiting in self._waiting.values():
            _resolve(waiting, found)
        self._waiting.clear()
        self._tell_watchers(tuple(self._watchers))

    def _tell_watchers(self, message_ids: Iterable[str]) -> None:
        for message_id in message_ids:
            for moved in self._watchers[message_id]:
                _resolve(moved, None)

    def _rest_if_alone(self) -> None:
        if not self._has_listeners:
            self._wake_reader()

    @property
    def _has_listeners(self) -> bool:
        return bool(self._followers or self._watchers)

    def _wake_reader(self) -> None:
        if self._nudge is not None:
            _resolve(self._nudge, None)

    def _read_on(self) -> None:
        """Begin to read new rows, unless somebody does."""
        if not self._is_reading and not self._is_closed:
            self._is_reading = True
            self._tasks.start(self._read_new(), place="following the journal")

    async def _read_new(self) -> None:
        """Read what is committed, as long as anybody listens."""
        try:
            self._end = await self.begin(None)
            self._let_go(_NOTHING)  # What came before the end was found is for them to read.
            while self._has_listeners and not self._is_closed:
                await self._read_once()
        finally:
            # Also after a bug: who waits asks again, and by that somebody reads again.
            self._is_reading = False
            self._end = 0
            self._reads.clear()
            self._let_go(None if self._is_closed else _NOTHING)

    async def _read_once(self) -> None:
        loop = asyncio.get_running_loop()
        self._nudge = loop.create_future()
        committed, begun_at = self._desk.next_commit(), loop.time()
        try:
            read = await asyncio.to_thread(self._read, self._end, tuple(self._waiting))
        except StoreExhausted:
            await asyncio.wait((self._nudge,), timeout=EXHAUSTED_PAUSE_S)
            return
        if read.rows:
            self._tell(read)
        else:
            ends = (committed, self._nudge)
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        pause_s = begun_at + 1 / READS_PER_S - loop.time()
        if pause_s > 0:
            await asyncio.wait((self._nudge,), timeout=pause_s)

    def _read(self, after: int, wanted: Iterable[Wanted]) -> _Read:
        # The snapshot is taken here because it belongs to the thread that takes it.
        rows = self._desk.snapshot().list_journal(after, ROWS_PER_READ)
        read = _Read(after, rows[-1].seq if rows else after, rows, {})
        for one in wanted:
            read.of(one)
        return read

    def _tell(self, read: _Read) -> None:
        self._reads.append(read)
        self._end = read.last
        for wanted in tuple(self._waiting):
            found = read.of(wanted)
            if found.events:
                _resolve(self._waiting.pop(wanted), found)
        if self._watchers:
            is_about_all = any(row.event in _OF_PAIRS for row in read.rows)
            told = {row.message_id for row in read.rows if row.message_id in self._watchers}
            self._tell_watchers(self._watchers if is_about_all else filter(None, told))


def _above(after: int, found: Found) -> Found:
    events = found.events
    if events and events[0].seq <= after:
        events = tuple(event for event in events if event.seq > after)
    return Found(events, max(after, found.last))


def _resolve(future: "asyncio.Future[Any]", result: Any) -> None:
    if not future.done():
        future.set_result(result)
