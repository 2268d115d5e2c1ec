"""The power goes, at every operation of the disk: nothing that was acknowledged may be lost.

Knows what must be there after a cut (faults D2 and D7, invariants I14 and I41, ruling R-22):
every commit that returned, whole and exact; of a commit that did not return all or nothing; every
payload that a row names. The store is the product's, with its schema, its migrations and its
pragmas, on real SQLite over a simulated disk. Must not know how a disk forgets (`disk`).

There are two ways to find out what must be there. The memory store makes the same steps, and after
opening the cut disk the product must give the same answers. And every page that a reader saw after
a commit must be back, bit for bit, after SQLite's own recovery: this quick check is made after
every cut. Some of the cuts, and every one whose pages belong to no known state, are checked
closely: `integrity_check`, opening by the product, all answers, the chain of the journal, one more
commit; and in half of them the power fails again while the product opens.

`Settings` other than the product's are set without its knowledge, since it refuses them. They show
that the check finds what it was made for.
"""

import errno
import os
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from functools import cache, partial
from itertools import count

import apsw

from onceonly.message.word import Word, changed
from onceonly.simulation.chance import stream
from onceonly.simulation.machine.disk import Disk, DiskOperation, Image, OperationKind
from onceonly.simulation.machine.files import DiskFiles
from onceonly.simulation.power.cut_judge import CommittedState, Cut, CutTally, Judge
from onceonly.simulation.power.cut_store import (
    HOUSE,
    NOW_AT,
    SPOOL,
    STORE,
    CutStore,
    Pages,
    look_at_pages,
    look_at_rows,
    pages_of,
    to_pages,
)
from onceonly.simulation.power.store_steps import PARTY, Steps, answers
from onceonly.store.contract.conditions import StoreFailed, StoreFull
from onceonly.store.memory.store import MemoryStore
from onceonly.store.spool import INLINE_BYTES_MAX, Spool
from onceonly.store.sqlite.migrate import read_migrations

CUTS = 100_000
"""What one campaign should have."""

COMMITS_OF_A_LIFE = 25
"""Enough for several checkpoints, purges and restarts of one store."""

_STEPS_MAX = 4
"""Steps of one commit."""
_RESTARTS = 0.06
_VARIANTS = 3
"""Cuts at one operation, where something was not synced; one where all was."""
_CLOSE_LOOKS = 0.02
_SECOND_CUTS = 0.5
_OPENING_OPERATIONS = 60
"""Operations of an opening after a crash, about; the second cut is before one of them."""
_FULL_DISKS = 0.1
_ROOM_BYTES_MAX = 30_000
"""Of a full disk: some commits find enough, and their checkpoints do not."""
_FAILED_SYNCS = 0.1
_SYNCS_OF_A_COMMIT = 3
"""The log's, and where a checkpoint follows, one more of the log and the database's."""
_SPOOLED_BYTES = INLINE_BYTES_MAX + 20_000
_CHUNK_BYTES = 8_000


class Settings(StrEnum):
    """How the store treats its disk: the product's way, and ways that look like it."""

    PRODUCTION = "production"
    EXTRA = "journal_mode=DELETE, synchronous=EXTRA"
    """Safe as well, and slower: shows that the check does not find what is not there."""
    NORMAL = "synchronous=NORMAL"
    OFF = "synchronous=OFF"
    DELETE = "journal_mode=DELETE, synchronous=FULL"
    """Whether a transaction is over is the absence of a name that nobody synced (D7)."""
    MEMORY = "journal_mode=MEMORY, synchronous=FULL"
    EARLY = "acknowledged before the commit"
    CHECKPOINT = "checkpoint without a sync of the database"
    SPOOL_BYTES = "payload renamed before it is synced"
    SPOOL_NAME = "directory of the spool never synced"
    LYING_DISK = "a disk that lies about every sync"
    """Not an error of ours: where the promise ends (D8)."""

    @property
    def is_safe(self) -> bool:
        """Whether nothing may be lost."""
        return self in (Settings.PRODUCTION, Settings.EXTRA)


_PRAGMAS: dict[Settings, dict[str, str | int]] = {
    Settings.EXTRA: {"journal_mode": "delete", "synchronous": 3},
    Settings.NORMAL: {"synchronous": 1},
    Settings.OFF: {"synchronous": 0},
    Settings.DELETE: {"journal_mode": "delete"},
    Settings.MEMORY: {"journal_mode": "memory"},
}
_LIES: dict[Settings, Callable[[OperationKind, str], bool]] = {
    Settings.CHECKPOINT: lambda kind, path: kind is OperationKind.SYNC and path == str(STORE),
    Settings.SPOOL_BYTES: lambda kind, path: (
        kind is OperationKind.SYNC and path.startswith(str(SPOOL))
    ),
    Settings.SPOOL_NAME: lambda _, path: path == str(SPOOL),
    Settings.LYING_DISK: lambda *_: True,
}


class PowerReport(Word):
    """What came of one campaign. Equal seeds have equal reports."""

    settings: Settings
    seed: int
    lives: int
    """Stores that were made, worked with, restarted and cut."""
    commits: int
    cuts: int
    refused: int
    """Commits that found the disk full (D4),"""
    failed_syncs: int
    """and those whose sync failed, after which the store is opened again (D3)."""
    close_looks: int
    """Cuts after which the product opened the store and was asked everything."""
    second_cuts: int
    """Of these, cuts in the middle of this opening."""
    harms: dict[str, int]
    """Cuts by what they did that they must not."""
    operations: dict[str, int]
    """Cuts by the operation that they came before."""
    first_harm: str
    """Where the first harm was, or nothing."""
    trace: str
    """SHA-256 over every cut and what was found."""

    @property
    def is_safe(self) -> bool:
        """Whether no cut did any harm."""
        return not self.harms


def run(
    *,
    cuts: int = CUTS,
    seed: int = 0,
    settings: Settings = Settings.PRODUCTION,
    commits_of_a_life: int = COMMITS_OF_A_LIFE,
    on_progress: Callable[[int], None] | None = None,
) -> PowerReport:
    """Cut the power at least `cuts` times, and to the end of the last store's life.

    `on_progress` is told how often it was cut, after each life.
    """
    tally = CutTally()
    while tally.cuts < cuts:
        _Life(seed, settings, tally).live(commits_of_a_life)
        tally.lives += 1
        if on_progress is not None:
            on_progress(tally.cuts)
    return PowerReport(
        settings,
        seed,
        tally.lives,
        tally.commits,
        tally.cuts,
        tally.refused,
        tally.failed_syncs,
        tally.close_looks,
        tally.second_cuts,
        dict(sorted(tally.harms.items())),
        dict(sorted(tally.operations.items())),
        tally.first_harm,
        tally.trace.hexdigest(),
    )


class _Beginning(Word):
    """What is on the disk when a life begins, and how often it was opened."""

    image: Image
    openings: int


class _Life:
    """One store, from its beginning to its end, with cuts everywhere."""

    def __init__(self, seed: int, settings: Settings, tally: CutTally) -> None:
        name = f"life {tally.lives}"
        beginning = _BEGINNINGS[tally.lives % len(_BEGINNINGS)]()
        self._settings = settings
        self._tally = tally
        self._work = stream(seed, f"{name}/work")
        self._chance = stream(seed, f"{name}/cuts")
        self._steps = Steps(stream(seed, f"{name}/steps"), spooled_bytes=_SPOOLED_BYTES)
        self._memory = MemoryStore(party=PARTY, clock_at=lambda: NOW_AT)
        for _ in range(beginning.openings):
            self._reopen_memory()
        self._payloads: dict[str, bytes] = {}
        self._operations = 0
        self._is_under_way = self._is_acknowledged = False
        self._sync_that_fails: int | None = None
        """How many syncs go well before one fails, if one is to."""
        self._likely: deque[Pages] = deque(maxlen=3)
        pages = look_at_pages(beginning.image, self._likely).digest
        self._judge = Judge(tally, CommittedState(pages, self._rows(), {}), self._steps.names)
        self._disk = Disk(beginning.image)
        self._disk.lies = _LIES.get(settings)
        self._disk.watcher = partial(self._cut, name)

    def live(self, commits: int) -> None:
        """Work, restart, end."""
        self._open()
        for _ in range(commits):
            self._commit()
            if self._work.random() < _RESTARTS:
                self._restart()
        self._close()

    def _open(self) -> None:
        self._start()
        self._learn()
        self._spool = Spool(SPOOL, files=self._files)

    def _start(self) -> None:
        self._is_under_way = True
        self._files = DiskFiles(self._disk)
        self._store = CutStore(self._files)
        for pragma, value in _PRAGMAS.get(self._settings, {}).items():
            self._store.tamper(pragma, value)

    def _restart(self) -> None:
        if self._work.random() < 0.5:
            self._close()
        else:
            self._die()
        self._reopen_memory()
        self._open()

    def _die(self) -> None:
        self._disk.kill()
        self._store.crash()
        self._files.close_vfs()

    def _reopen_memory(self) -> None:
        self._memory.crash()
        self._memory = self._memory.reopen()

    def _close(self) -> None:
        self._store.close()
        self._files.close_vfs()

    def _commit(self) -> None:
        steps = [self._steps.next() for _ in range(self._work.randint(1, _STEPS_MAX))]
        kept = [self._keep(step.spooled) for step in steps if step.spooled is not None]
        self._payloads = self._payloads | dict(kept)
        self._is_under_way = True
        ours, theirs = self._store.begin(), self._memory.begin()
        for step in steps:
            step.write(ours)
            step.write(theirs)
        self._is_acknowledged = self._settings is Settings.EARLY
        if self._settings is Settings.PRODUCTION:
            self._meet_trouble()
        try:
            self._store.commit()
        except StoreFull:
            self._take_back()
        except StoreFailed:
            self._come_back(answers(theirs, self._steps.names))
        else:
            self._memory.commit()
            self._tally.commits += 1
            self._learn()
        self._disk.space_bytes = self._sync_that_fails = None

    def _meet_trouble(self) -> None:
        luck = self._work.random()
        if luck < _FULL_DISKS:
            room = self._work.randrange(_ROOM_BYTES_MAX)
            self._disk.space_bytes = self._disk.used_bytes() + room
        elif luck < _FULL_DISKS + _FAILED_SYNCS:
            self._sync_that_fails = self._work.randrange(_SYNCS_OF_A_COMMIT)

    def _take_back(self) -> None:
        """The disk was full (R-28): nothing of the commit is stored, and the next may be."""
        self._tally.refused += 1
        self._memory.rollback()
        self._judge.forgo()
        self._is_under_way = False

    def _come_back(self, coming: str) -> None:
        """A sync failed (R-22): stop, and let the next process find the commit or not.

        What it finds may be in the cache of the machine alone, and must be durable, one way or
        the other, when the store is open.
        """
        self._tally.failed_syncs += 1
        self._sync_that_fails = None
        self._die()
        self._start()
        self._judge.expect(coming)
        if answers(self._store.snapshot(), self._steps.names) == coming:
            self._memory.commit()
        self._reopen_memory()
        self._learn()
        self._spool = Spool(SPOOL, files=self._files)

    def _keep(self, body: bytes) -> tuple[str, bytes]:
        sink = self._spool.open_sink()
        for start in range(0, len(body), _CHUNK_BYTES):
            sink.write(body[start : start + _CHUNK_BYTES])
        _, digest = sink.close()
        sink.keep()
        return digest, body

    def _learn(self) -> None:
        pages = to_pages(pages_of(self._files.vfs))
        self._likely.append(pages)
        self._judge.learn(CommittedState(pages.digest, self._rows(), self._payloads))
        self._is_under_way = self._is_acknowledged = False

    def _rows(self) -> str:
        return answers(self._memory.snapshot(), self._steps.names)

    def _cut(self, name: str, operation: DiskOperation) -> None:
        self._operations += 1
        self._look_everywhere(name, operation)
        if operation.kind is OperationKind.SYNC and self._sync_that_fails is not None:
            self._sync_that_fails -= 1
            if self._sync_that_fails < 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _look_everywhere(self, name: str, operation: DiskOperation) -> None:
        label = f"{operation.kind} {_file(operation.path)}"
        for variant in range(_VARIANTS if self._disk.has_unsynced() else 1):
            where = f"{name}:{self._operations}.{variant} before {label}"
            self._tally.cuts += 1
            self._tally.operations[label] += 1
            self._look(where, self._disk.after_cut(self._chance))

    def _look(self, where: str, image: Image) -> None:
        case = Cut(where, image, self._is_under_way, self._is_acknowledged)
        self._judge.hear(case, look_at_pages(image, self._likely), is_rows=False)
        if self._chance.random() >= _CLOSE_LOOKS:
            return
        second: list[Image] = []
        watch = None
        if self._chance.random() < _SECOND_CUTS:
            watch = partial(self._cut_once, self._chance.randrange(_OPENING_OPERATIONS), second)
        self._tally.close_looks += 1
        found = look_at_rows(image, self._steps.names, watch)
        self._judge.hear(case, found, is_rows=True)
        for again in second:
            self._tally.cuts += 1
            self._tally.second_cuts += 1
            self._tally.close_looks += 1
            once_more = changed(case, where=f"{where}, again while opening", image=again)
            found = look_at_rows(again, self._steps.names)
            self._judge.hear(once_more, found, is_rows=True)

    def _cut_once(self, at: int, cut: list[Image], disk: Disk) -> None:
        numbers = count()

        def watch(_: DiskOperation) -> None:
            if next(numbers) == at:
                cut.append(disk.after_cut(self._chance))

        disk.watcher = watch


def _file(path: str) -> str:
    """A name for the kind of file."""
    if path.startswith(str(SPOOL)):
        return "spool"
    return path.removeprefix(str(STORE)).lstrip("-") or "database" if path != HOUSE else "directory"


@cache
def _from_nothing() -> _Beginning:
    """No file at all: creation and every migration are among what is cut."""
    return _Beginning({}, 0)


@cache
def _from_an_empty_store() -> _Beginning:
    """A store that was opened once, closed and synced."""
    disk = Disk()
    files = DiskFiles(disk)
    CutStore(files).close()
    files.close_vfs()
    return _Beginning(disk.image(), 1)


@cache
def _from_the_first_schema() -> _Beginning:
    """What the first version left: the migrations after it are among what is cut."""
    disk = Disk()
    files = DiskFiles(disk)
    connection = apsw.Connection(str(STORE), vfs=files.vfs)
    connection.pragma("journal_mode", "wal")
    first = read_migrations()[0]
    connection.execute(f"BEGIN; {first.statements}; PRAGMA user_version = {first.number}; COMMIT")
    connection.close()
    files.close_vfs()
    return _Beginning(disk.image(), 0)


_BEGINNINGS = (
    _from_an_empty_store,
    _from_nothing,
    _from_an_empty_store,
    _from_the_first_schema,
)
