"""The store of simulations: everything in memory, with crashes and full disks on demand.

Keeps the same contract as `sqlite` and passes the same suite; must not know files or time beyond
the clock that it is given. Committed rows are in tables. The open transaction changes copies of
them, so a snapshot never sees it, and a rollback only drops the copies.
"""

from collections.abc import Callable
from random import Random

from onceonly.message.word import changed
from onceonly.protocol.sending import OutboundStatus
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreRefused
from onceonly.store.contract.counting import WAITING
from onceonly.store.contract.rules import check_owner
from onceonly.store.contract.store import Store
from onceonly.store.contract.waits import Waits
from onceonly.store.memory.reading import MemorySnapshot
from onceonly.store.memory.tables import PendingTables, Tables
from onceonly.store.memory.writing import MemoryTransaction

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

_BROKEN = "the disk is broken"


class _Disk:
    """What outlives a process: the rows, the party that owns them, and the lock."""

    def __init__(self, party: str) -> None:
        self.party = party
        self.tables = Tables()
        self.epoch = 0
        self.is_locked = False


class MemoryStore(Store):
    """A store for simulations and tests; `crash` and `reopen` imitate the death of the process.

    `is_full` and `is_broken` may be set at any time. With the first the next commit meets a full
    disk. With the second the next commit or rollback meets an I/O error, and from then on every
    `begin` fails. Raises `StoreRefused` if the disk is locked or belongs to another party.
    """

    def __init__(
        self, *, party: str, clock_at: Callable[[], int], disk: _Disk | None = None
    ) -> None:
        self._disk = _Disk(party) if disk is None else disk
        if self._disk.is_locked:
            raise StoreRefused("the store is in use by another process")
        check_owner(self._disk.party, party)
        self._disk.is_locked = True
        self._disk.epoch += 1
        self._epoch = self._disk.epoch
        self._clock_at = clock_at
        self._opened_at = clock_at()
        self._pending: PendingTables | None = None
        self._waits = Waits()
        self._is_closed = False
        self._is_failed = False
        self.is_full = False
        self.is_broken = False
        _forget_deadlines(self._disk.tables)

    @property
    def epoch(self) -> int:
        return self._epoch

    def begin(self) -> MemoryTransaction:
        assert self._pending is None, "one write transaction at a time"
        if self._is_failed:
            raise StoreFailed(_BROKEN)
        if self._is_closed or self._disk.epoch != self._epoch:
            raise StoreFailed("the store was closed, or opened again under another epoch")
        self._pending = self._disk.tables.pending()
        return MemoryTransaction(self._pending, self._epoch, self._waits)

    def commit(self) -> None:
        assert self._pending is not None, "commit without begin"
        pending, self._pending = self._pending, None
        if self.is_broken:
            self._is_failed = True
            raise StoreFailed(_BROKEN)
        if self.is_full:
            self._waits.drop()
            raise StoreFull("the disk is full")
        pending.settle()
        self._waits.settle()

    def rollback(self) -> None:
        pending, self._pending = self._pending, None
        self._waits.drop()
        if pending is not None and self.is_broken:
            self._is_failed = True
            raise StoreFailed(_BROKEN)

    def count_waiting(self) -> int:
        counts = self.snapshot().count_by_status()
        return sum(counts[status] for status in WAITING)

    def snapshot(self) -> MemorySnapshot:
        return MemorySnapshot(self._disk.tables)

    def close(self) -> None:
        self.crash()

    def crash(self, *, during_commit: Random | None = None) -> None:
        """The process dies: the open transaction is forgotten and the lock is free.

        With `during_commit` it dies inside the commit: by chance the whole transaction is durable
        or none of it, and no caller was told.
        """
        if self._pending is not None and during_commit is not None and during_commit.random() < 0.5:
            self._pending.settle()
        self._pending = None
        if not self._is_closed:
            self._disk.is_locked = False
        self._is_closed = True

    def reopen(self) -> "MemoryStore":
        """The store as the next process opens it. Raises `StoreRefused` while this one lives."""
        return MemoryStore(party=self._disk.party, clock_at=self._clock_at, disk=self._disk)

    def copied(self) -> Tables:
        """The committed rows as they are now, for a backup."""
        return self._disk.tables.copied()

    def put_back(self, tables: Tables) -> None:
        """Restore these rows after a crash. The epoch goes on: the next one is later (C7)."""
        assert self._is_closed, "no process runs"
        self._disk.tables = tables.copied()


def _forget_deadlines(tables: Tables) -> None:
    # They were measured on the monotonic clock of a process that has ended.
    for message_id, row in tables.outbound.items():
        if row.state.due_ns is not None and row.state.status is OutboundStatus.SENDING:
            tables.outbound[message_id] = changed(row, state=changed(row.state, due_ns=None))
