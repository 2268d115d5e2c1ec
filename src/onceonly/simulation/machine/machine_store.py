"""The store of one machine over all its processes, watched: what became durable, and when.

Keeps the store's contract by calling the real store, in memory or SQLite on the machine's simulated
disk; writes the rows of each commit into the history when the real commit has returned.
Payload files are on the same disk either way.
"""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Protocol

from onceonly.journal.record import Record
from onceonly.simulation.machine.clock import MachineClock
from onceonly.simulation.machine.disk import Disk, DiskOperation, OperationKind, PowerLostError
from onceonly.simulation.machine.files import DiskFiles
from onceonly.store.contract.conditions import StoreFailed
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.memory.store import MemoryStore
from onceonly.store.memory.tables import Tables
from onceonly.store.spool import Spool
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

DIRECTORY = Path("/machine")

_ROWS = 1 << 30
"""More journal rows than one commit has."""


class Engine(Protocol):
    """How rows outlive the processes of one machine."""

    def open(self, files: DiskFiles) -> Store:
        """What the next process finds. Raises `StoreRefused`."""
        ...

    def trouble(self, *, is_full: bool, is_broken: bool) -> None:
        """How the disk is at the commit that comes now."""
        ...

    def check(self) -> None:
        """After a commit: what the store answers from memory is what its disk says."""
        ...

    def end(self) -> None:
        """The process is gone, and its disk is the next one's."""
        ...

    def copied(self) -> object | None:
        """What is durable now, as a backup takes it; None where there is no such thing yet."""
        ...

    def put_back(self, backup: object) -> None:
        """Called while no process runs: the copy replaces everything."""
        ...


class MachineStore(Store):
    """The store of one machine; `is_full` and `is_broken` are the state of its disk."""

    def __init__(
        self,
        *,
        party: str,
        clock: MachineClock,
        engine: str,
        told: Callable[[Sequence[Record]], None],
    ) -> None:
        self.disk = Disk()
        self.disk.make_directory(str(DIRECTORY), life=self.disk.life)
        self.disk.sync_directory(str(DIRECTORY.parent), life=self.disk.life)
        self.disk.watcher = self._watch
        self._engine: Engine = (InMemory if engine == "memory" else OnDisk)(party, clock)
        self._told = told
        self._seen = 0
        self._store: Store | None = None
        self._files: DiskFiles | None = None
        self._backup: object | None = None
        self._backup_seen = 0
        self.is_full = False
        self.is_broken = False
        self.has_failed = False
        """An operation of the present process met the broken disk; it may hear of that later."""
        self.is_writing = False
        """A transaction is open: its steps run, or its commit is under way."""
        self.at_commit: Callable[[], None] = _nothing
        """Called before each commit; the process may die there."""
        self.quick: Callable[[], bool] = _never
        """Whether a commit is one on the loop; asked for each commit of a few steps."""
        self._operations_left = 0
        self._die: Callable[[], None] = _nothing

    def open(self) -> None:
        """Let a new process open the store. Raises `StoreRefused` as the real one does."""
        self.is_broken = self.has_failed = False
        files = DiskFiles(self.disk)
        self._store = self._engine.open(files)
        self._files = files
        self._tell()

    def open_spool(self) -> Spool:
        """The payload files, for the process that has the store open."""
        assert self._files is not None, "the store is open"
        return Spool(DIRECTORY / "spool", files=self._files)

    def prepare(self, write: Callable[[Transaction], None]) -> None:
        """Write rows that are older than the world, between two processes, even on a full disk."""
        was_full, self.is_full = self.is_full, False
        self.open()
        write(self.begin())
        self.commit()
        self.crash(None)
        self.is_full = was_full

    def back_up(self) -> None:
        """Keep what is durable now, in place of what was kept before (fault C7)."""
        self._backup = self._engine.copied()
        self._backup_seen = self._seen

    def restore(self) -> bool:
        """Put back what was kept, while no process runs; False where nothing was kept."""
        if self._backup is None:
            return False
        self._engine.put_back(self._backup)
        self._seen = self._backup_seen
        return True

    def crash(self, power: Random | None) -> None:
        """The process is gone; with a power cut, so is what was not synced, as chance has it."""
        if power is None:
            self.disk.kill()
        else:
            self.disk.cut(power)
        self._engine.end()
        self._store = None
        self.is_writing = False

    @property
    def epoch(self) -> int:
        return self._open.epoch

    @property
    def is_open(self) -> bool:
        """Whether a process has the store."""
        return self._store is not None

    @property
    def _open(self) -> Store:
        if self._store is None:
            raise StoreFailed("the process that had the store is gone")
        return self._store

    def begin(self) -> Transaction:
        transaction = self._open.begin()
        self.is_writing = True
        return transaction

    @property
    def is_quick(self) -> bool:
        return self.quick()

    def seal(self) -> None:
        self._open.seal()

    def commit(self) -> None:
        self.at_commit()
        store = self._open
        self.is_writing = False
        self.has_failed |= self.is_broken
        self._engine.trouble(is_full=self.is_full, is_broken=self.is_broken)
        store.commit()
        self._engine.check()
        self._tell()

    def rollback(self) -> None:
        self.is_writing = False
        self._open.rollback()

    def count_waiting(self) -> int:
        return self._open.count_waiting()

    def snapshot(self) -> Snapshot:
        return self._open.snapshot()

    def close(self) -> None:
        self._open.close()

    def _tell(self) -> None:
        rows = self._open.snapshot().list_journal(self._seen, _ROWS)
        if rows:
            self._seen = rows[-1].seq
            self._told(rows)

    def arm(self, operations: int, die: Callable[[], None]) -> None:
        """Call `die` instead of the disk's n-th operation from now (fault D1)."""
        self._operations_left = operations
        self._die = die

    def disarm(self) -> None:
        """Let every operation happen."""
        self._operations_left = 0

    def _watch(self, operation: DiskOperation) -> None:
        """The disk is about to do something: as it is, it may be full or broken."""
        if self._operations_left:
            self._operations_left -= 1
            if not self._operations_left:
                self._die()
                raise PowerLostError
        if self.is_broken and operation.kind is OperationKind.SYNC:
            self.has_failed = True
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.is_full and operation.kind is OperationKind.WRITE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _nothing() -> None:
    """Nobody is to die."""


def _never() -> bool:
    return False


class InMemory:
    """The memory store: whole commits or none, and trouble on demand."""

    def __init__(self, party: str, clock: MachineClock) -> None:
        self._party = party
        self._clock = clock
        self._store: MemoryStore | None = None

    def open(self, files: DiskFiles) -> MemoryStore:
        """Open or create the store."""
        del files
        if self._store is None:
            self._store = MemoryStore(party=self._party, clock_at=self._clock.at)
        else:
            self._store = self._store.reopen()
        return self._store

    def trouble(self, *, is_full: bool, is_broken: bool) -> None:
        """Hand the disk's state on to a store that has no disk."""
        assert self._store is not None, "a commit comes after open"
        self._store.is_full, self._store.is_broken = is_full, is_broken

    def end(self) -> None:
        """Forget the open transaction and free the lock."""
        if self._store is not None:
            self._store.crash()

    def check(self) -> None:
        """Nothing: it has its tables, and nothing beside them."""

    def copied(self) -> Tables | None:
        """Every table."""
        return None if self._store is None else self._store.copied()

    def put_back(self, backup: object) -> None:
        """Under an epoch that nobody has had, as the tool that restores sees to (I35)."""
        assert self._store is not None, "it was copied"
        assert isinstance(backup, Tables), "it was copied here"
        self._store.put_back(backup)


class OnDisk:
    """The product's store, SQLite, on the machine's disk, which has the trouble itself."""

    def __init__(self, party: str, clock: MachineClock) -> None:
        self._party = party
        self._clock = clock
        self._store: SqliteStore | None = None
        self._files: DiskFiles | None = None

    def open(self, files: DiskFiles) -> SqliteStore:
        """Open or create the database file."""
        self._files = files
        self._store = open_sqlite(
            DIRECTORY / "msh.db", party=self._party, clock_at=self._clock.at, files=files
        )
        return self._store

    def trouble(self, *, is_full: bool, is_broken: bool) -> None:
        """Nothing: the disk's watcher sees to it."""

    def end(self) -> None:
        """Let SQLite go."""
        if self._store is not None:
            self._store.crash()
            self._store = None
        if self._files is not None:
            self._files.close_vfs()
            self._files = None

    def check(self) -> None:
        """What the store knows without asking SQLite is what SQLite would answer."""
        assert self._store is not None, "a commit comes after open"
        assert not (untrue := self._store.find_untrue()), untrue

    def copied(self) -> None:
        """Nothing: worlds with backups have the memory store."""
        return

    def put_back(self, backup: object) -> None:
        """Nothing was copied."""
