"""The store of one machine over all its processes, watched: what became durable, and when.

Keeps the store's contract by handing everything on to the real one; tells the history of each
commit's rows once the real one has returned.
"""

from collections.abc import Callable, Sequence

from onceonly.journal.record import Record
from onceonly.simulation.clock import MachineClock
from onceonly.store.memory import MemoryStore
from onceonly.store.store import Snapshot, Store, Transaction

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

_ROWS = 1 << 30
"""More journal rows than one commit has."""


class MachineStore(Store):
    """The memory store of one machine; `is_full` and `is_broken` are the state of its disk."""

    def __init__(
        self, *, party: str, clock: MachineClock, told: Callable[[Sequence[Record]], None]
    ) -> None:
        self._party = party
        self._clock = clock
        self._told = told
        self._seen = 0
        self._store: MemoryStore | None = None
        self.is_full = False
        self.is_broken = False

    def open(self) -> None:
        """A new process opens the store."""
        if self._store is None:
            self._store = MemoryStore(party=self._party, clock_at=self._clock.at)
        else:
            self._store = self._store.reopen()
        self.is_broken = False
        self._tell()

    def prepare(self, write: Callable[[Transaction], None]) -> None:
        """Before the first process: something that was written long ago."""
        if self._store is None:
            self._store = MemoryStore(party=self._party, clock_at=self._clock.at)
            self._store.crash()
        store = self._store.reopen()
        write(store.begin())
        store.commit()
        store.crash()
        self._store = store

    def crash(self, *, is_power_cut: bool) -> None:
        """The process is gone, and with a power cut what was not synced."""
        del is_power_cut
        assert self._store is not None, "it was open"
        self._store.crash()

    @property
    def epoch(self) -> int:
        return self._open.epoch

    @property
    def _open(self) -> MemoryStore:
        assert self._store is not None, "it was opened"
        return self._store

    def begin(self) -> Transaction:
        return self._open.begin()

    def commit(self) -> None:
        self._open.is_full = self.is_full
        self._open.is_broken = self.is_broken
        self._open.commit()
        self._tell()

    def rollback(self) -> None:
        self._open.rollback()

    def snapshot(self) -> Snapshot:
        return self._open.snapshot()

    def close(self) -> None:
        self._open.close()

    def _tell(self) -> None:
        rows = self._open.snapshot().list_journal(self._seen, _ROWS)
        if rows:
            self._seen = rows[-1].seq
            self._told(rows)
