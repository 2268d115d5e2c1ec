"""The store that ships: one SQLite file, through APSW.

Knows how a database is opened so that a commit is durable (ruling R-22), how one process keeps
others out (R-23), and when a checkpoint moves the log into the file. What the rows mean is in
`mapping`, `reading` and `writing`. Must not know messages, decisions or event loops.

Why the pragmas: WAL with synchronous=FULL takes one fsync per commit, which covers every message of
the batch. Both are set and *read back*, since SQLite reports no error if it cannot set a mode (on a
network disk, or for a database in memory), but uses another one.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path

import apsw

from onceonly.journal.record import CHAIN_START, chain
from onceonly.message.errors import OnceonlyError
from onceonly.message.word import Word
from onceonly.store.contract.conditions import (
    StoreFailed,
    StoreFull,
    StoreMisused,
    StoreRefused,
)
from onceonly.store.contract.counting import WAITING
from onceonly.store.contract.rules import check_owner
from onceonly.store.contract.store import Store
from onceonly.store.contract.waits import Waits
from onceonly.store.failures import from_commit, from_sqlite, from_system
from onceonly.store.files import OPERATING_SYSTEM, FileSystem
from onceonly.store.sqlite.copy_run import CopyRun
from onceonly.store.sqlite.kept import Carried, WorkingSet
from onceonly.store.sqlite.migrate import migrate
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.readers import Readers
from onceonly.store.sqlite.reading import SqliteSnapshot
from onceonly.store.sqlite.truth import differences
from onceonly.store.sqlite.writing import SqliteTransaction

SQLITE_VERSION_MIN = (3, 51, 3)
"""In older versions a checkpoint at the same time as a reset could corrupt the log (R-22)."""

SYNCHRONOUS_FULL = 2

RESTORING = ".restoring"
"""End of the names of what a restore has not put in its place yet. While the file with this name
lies beside a store, no gateway opens or makes that store."""

STATEMENTS_CACHED = 256
"""Prepared statements that are kept. A statement that is not among them is parsed again, which
costs a batch little; every execution looks through all slots, so more of them would cost more than
they save."""

BUSY_TIMEOUT_MS = 1_000
"""How long a backup or an operator's shell may hold a lock before we take it for a writer."""

WRITER_CACHE_KIB = 64 * 1_024
"""Page cache of the writer: the inner pages of every index of ten million messages fit."""

READER_CACHE_KIB = 16 * 1_024
"""Page cache of each reader; there may be one for each thread. The file is not mapped into memory:
a page that cannot be read would end the process by SIGBUS, without a reason in the log. """
COMMIT_QUICK_NS = 2_000_000
"""A commit shorter than this may run on the event loop: it is the time that twenty steps take. A
good disk needs a tenth of it, and a good disk in a busy machine half of it."""

FOLD_MARGIN_PAGES = 512
"""More pages than a few steps write: if fewer are left, the next commit may include a
checkpoint."""

JOURNAL_CHECKED_ROWS = 1_000
"""Rows at the end of the journal whose chain is verified at start, which takes some 20 ms: a
damaged disk would most likely show there. Readers of the journal verify the whole chain."""


_Reason = StoreFull | StoreFailed | StoreMisused


class LogLimits(Word):
    """Bounds of the write-ahead log, in pages of 4 KiB (fault D9)."""

    checkpoint_pages: int = 4_096
    """Checkpoint at 16 MiB: often enough that the log stays in the page cache, and seldom enough
    that a page that many messages change is copied once."""
    pages_max: int = 65_536
    """At 256 MiB refuse work. Only a reader that does not end can cause this; work goes on when it
    ends."""


LOG_LIMITS = LogLimits()


class SqliteStore(Store):
    """The contract's `Store`, made by `open_sqlite`.

    Only one thread at a time may write, but `commit` may run in another thread than `begin`.
    """

    def __init__(
        self,
        path: Path,
        *,
        party: str,
        clock_at: Callable[[], int],
        limits: LogLimits,
        files: FileSystem,
    ) -> None:
        self._path = path
        self._files = files
        self._limits = limits
        self._version = -1
        self._log_pages = 0
        self._pages_folded = 0
        self._commit_ns = 2 * COMMIT_QUICK_NS
        self._carried = Carried()
        self._is_closed = False
        self._failure: StoreFailed | None = None
        self._transaction: SqliteTransaction | None = None
        self._waits = Waits()
        self._kept = WorkingSet()
        self._readers = Readers(self._connect_reader)
        try:
            self._open(path, party, clock_at())
        except apsw.Error as error:
            raise StoreRefused(f"{path} cannot be opened: {from_sqlite(error)}") from error
        except OnceonlyError as error:
            raise StoreRefused(f"{path} cannot be opened: {error}") from error

    def _open(self, path: Path, party: str, now_at: int) -> None:
        with ExitStack() as undo:
            self._lock = self._files.lock(path.with_name(path.name + ".lock"))
            undo.callback(self._lock.release)
            self._make_private(path)
            self._writer = self._connect(apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            undo.callback(self._writer.close)
            _make_durable(self._writer)
            self._write_log_again()
            self._epoch = _begin_epoch(self._writer, party, now_at)
            self._settle_log()
            self._carried = _found(self._writer)
            self._sync_entry()
            undo.pop_all()

    def _make_private(self, path: Path) -> None:
        """Make the file private before SQLite creates it by the umask: others can never read it."""
        try:
            self._files.make_private(path)
        except OSError as error:
            raise from_system(error, "the store") from error

    def _connect(self, flags: int) -> apsw.Connection:
        connection = apsw.Connection(
            str(self._path),
            flags=flags,
            vfs=self._files.vfs,
            statementcachesize=STATEMENTS_CACHED,
        )
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Without the query planner stability guarantee, SQLite plans a statement again for every
        # binding that might make a partial index usable, which takes 30 to 100 µs each time.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return connection

    def _connect_reader(self) -> apsw.Connection:
        try:
            reader = self._connect(apsw.SQLITE_OPEN_READONLY)
            reader.pragma("cache_size", -READER_CACHE_KIB)
        except apsw.Error as error:
            # Without a free descriptor it cannot be opened now; without the file it never can
            # again.
            is_there = self._path.exists()
            raise (from_sqlite if is_there else from_commit)(error) from error
        return reader

    def _write_log_again(self) -> None:
        """Make what the log shows durable, before anything builds on it.

        If a sync failed in the previous process, a commit may be in the page cache only, and no
        later sync writes it. If such a log were moved into the database, a power cut in the middle
        of that could lose the log and leave the database half written.
        """
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            self._files.write_again(self._path.with_name(f"{self._path.name}-wal"))
        except OSError as error:
            raise from_system(error, "the log of the store") from error
        finally:
            self._writer.execute("ROLLBACK")

    def _sync_entry(self) -> None:
        """Make the name of the file durable: without its name its bytes are lost (fault D7)."""
        try:
            self._files.sync_entry(self._path)
        except OSError as error:
            raise from_system(error, "the directory of the store") from error

    @property
    def epoch(self) -> int:
        return self._epoch

    def begin(self) -> SqliteTransaction:
        assert self._transaction is None, "one write transaction at a time"
        if self._failure is not None:
            raise self._failure
        if self._log_pages > self._limits.pages_max:
            self._shorten_log()
        self._begin_alone()
        self._transaction = SqliteTransaction(
            self._writer,
            epoch=self._epoch,
            carried=self._carried,
            waits=self._waits,
            kept=self._kept,
        )
        return self._transaction

    def _begin_alone(self) -> None:
        epoch = self._epoch
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            # If nobody else wrote since our last commit, nobody opened the store again.
            if self._writer.data_version() != self._version:
                epoch = self._writer.execute(SQL["get_epoch"]).get
                self._kept.forget()
        except apsw.Error as error:
            raise self._noted(from_sqlite(error)) from error
        if epoch != self._epoch:
            self._writer.execute("ROLLBACK")
            raise self._noted(
                StoreFailed(f"opened again under epoch {epoch}, while ours is {self._epoch}")
            )

    def seal(self) -> None:
        assert self._transaction is not None, "seal without begin"
        try:
            self._transaction.flush()
        except (StoreFull, StoreFailed, StoreMisused) as reason:
            raise self._noted(reason) from reason.__cause__

    def commit(self) -> None:
        transaction = self._transaction
        assert transaction is not None, "commit without begin"
        began_ns = time.perf_counter_ns()
        try:
            if not transaction.is_sealed:
                transaction.flush()
            self._writer.execute("COMMIT")
        except (apsw.Error, StoreFull, StoreFailed, StoreMisused) as error:
            reason = from_commit(error) if isinstance(error, apsw.Error) else error
            self._noted(reason)
            self.rollback()
            raise reason from error
        self._carried = transaction.carried()
        self._version = self._writer.data_version()
        self._waits.settle()
        self._kept.settle()
        self._transaction = None
        # A moving average of some eight commits: a single slow commit soon has no weight.
        took_ns = time.perf_counter_ns() - began_ns
        self._commit_ns += (took_ns - self._commit_ns) // 8
        if self._pages_in_log() >= self._limits.checkpoint_pages:
            self._checkpoint()

    @property
    def is_quick(self) -> bool:
        return (
            self._commit_ns < COMMIT_QUICK_NS
            and self._pages_in_log() < self._limits.checkpoint_pages - FOLD_MARGIN_PAGES
        )

    def rollback(self) -> None:
        self._transaction = None
        self._waits.drop()
        self._kept.drop()
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        except apsw.Error as error:
            raise self._noted(from_sqlite(error)) from error

    def count_waiting(self) -> int:
        return self._carried.waiting

    def begin_copy(self, path: Path) -> CopyRun:
        """A copy of the store into a new file, made in steps between transactions (`backup`)."""
        return CopyRun(self._writer, path)

    def snapshot(self) -> SqliteSnapshot:
        """Reads of committed rows; only the calling thread may use it."""
        return self._readers.of_thread()

    def close(self) -> None:
        """Roll back what is open, checkpoint the log, and free the lock.

        If the store has failed, nothing more is written.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.rollback()
            self._readers.close()
            if self._failure is None:
                self._checkpoint()
            self._writer.close()
        finally:
            self._lock.release()

    def find_untrue(self) -> list[str]:
        """What the working set has that the tables have not; between transactions, for tests."""
        assert self._transaction is None, "a transaction is open"
        return differences(self._writer, self._kept, self._carried)

    def crash(self) -> None:
        """Close everything as the death of the process would; for simulated disks.

        Nothing is written, and errors of the disk are ignored.
        """
        self._is_closed = True
        self._readers.close()
        with suppress(apsw.Error):
            self._writer.close(force=True)

    def _noted(self, reason: _Reason) -> _Reason:
        # A failure is final: after it no answer of the disk can be trusted.
        if isinstance(reason, StoreFailed):
            self._failure = reason
        return reason

    def _pages_written(self) -> int:
        # Not by a hook: a hook in Python would need the interpreter's lock in the middle of a
        # COMMIT, which runs in a thread so that it needs none.
        written, _ = self._writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)
        return written

    def _pages_in_log(self) -> int:
        return self._pages_written() - self._pages_folded

    def _checkpoint(self) -> None:
        # SQLite's automatic checkpoint ignores a failed fsync, so we make the checkpoints
        # ourselves.
        self._pages_folded = self._pages_written()
        try:
            self._log_pages, _ = self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (apsw.FullError, apsw.NoMemError, apsw.CantOpenError):
            # What is in the log is durable there and stays. If the space is still missing, the next
            # commits report it to their callers.
            self._log_pages += self._limits.checkpoint_pages
        except apsw.Error as error:
            raise self._noted(from_sqlite(error)) from error

    def _shorten_log(self) -> None:
        self._writer.set_busy_timeout(0)
        try:
            self._settle_log()
        except apsw.BusyError as error:
            raise StoreFull("the log is at its limit and a reader holds it") from error
        except apsw.Error as error:
            raise self._noted(from_sqlite(error)) from error
        finally:
            self._writer.set_busy_timeout(BUSY_TIMEOUT_MS)

    def _settle_log(self) -> None:
        """Checkpoint the whole log and begin it again.

        At start this also writes the pages again that a checkpoint with a failed sync may have left
        in the page cache only.
        """
        self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self._pages_folded = self._pages_written()
        self._log_pages = 0


def open_sqlite(
    path: Path,
    *,
    party: str,
    clock_at: Callable[[], int],
    limits: LogLimits = LOG_LIMITS,
    files: FileSystem = OPERATING_SYSTEM,
) -> SqliteStore:
    """Open or create the store of `party` at `path` under a new epoch.

    `clock_at` gives the wall clock in microseconds UTC. The directory must exist. Large payloads
    are not in it: see `spool`. `files` is the disk, where it is not the machine's.

    Raises `StoreRefused` where another process holds the store, it belongs to another party, it
    is newer than this program or damaged, or a commit here would not be durable (R-22, R-23).
    """
    check_version(apsw.sqlite_lib_version())
    check_restored(path)
    return SqliteStore(path, party=party, clock_at=clock_at, limits=limits, files=files)


def check_restored(path: Path) -> None:
    """Raise `StoreRefused` if a restore of the store began and did not end."""
    coming = path.with_name(path.name + RESTORING)
    if coming.exists():
        way_on = f"; to go on with the store as it is, remove {coming}" if path.exists() else ""
        raise StoreRefused(
            f"a restore into {path} was cut off: run it again, with --replace{way_on}"
        )


def check_version(version: str) -> None:
    """Raise `StoreRefused` for an SQLite older than `SQLITE_VERSION_MIN`."""
    if tuple(map(int, version.split("."))) < SQLITE_VERSION_MIN:
        least = ".".join(map(str, SQLITE_VERSION_MIN))
        raise StoreRefused(f"SQLite {version} can corrupt its log; at least {least} is needed")


def _make_durable(writer: apsw.Connection) -> None:
    # Closing after a failure must not checkpoint the log: that would be the second fsync of R-22.
    writer.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    writer.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    writer.pragma("cell_size_check", 1)
    writer.pragma("cache_size", -WRITER_CACHE_KIB)
    _set(writer, "journal_mode", "wal")
    _set(writer, "synchronous", SYNCHRONOUS_FULL)
    _set(writer, "wal_autocheckpoint", 0)


def _set(writer: apsw.Connection, pragma: str, wanted: str | int) -> None:
    writer.pragma(pragma, wanted)
    found = writer.pragma(pragma)
    if found != wanted:
        raise StoreRefused(f"{pragma} is {found!r} here and cannot be {wanted!r}: not durable")


def _begin_epoch(writer: apsw.Connection, party: str, now_at: int) -> int:
    """Migrate, check who owns the store, and count this opening, in one transaction."""
    writer.execute("BEGIN IMMEDIATE")
    migrate(writer)
    row = writer.execute(SQL["get_store"]).get
    if row is None:
        writer.execute(SQL["create_store"], (party,))
        row = (party, 0)
    owner, epoch = row
    check_owner(owner, party)
    writer.execute(SQL["begin_epoch"], (epoch + 1, now_at))
    writer.execute(SQL["forget_deadlines"])
    writer.execute("COMMIT")
    return int(epoch) + 1


def _found(writer: apsw.Connection) -> Carried:
    """What the first transaction begins with."""
    seq, chain_hash = verified_journal_end(writer)
    counts = SqliteSnapshot(writer).count_by_status()
    waiting = sum(counts[word] for word in WAITING)
    last_offset, has_unkeyed, has_tombstones = writer.execute(SQL["get_carried"]).get
    return Carried(seq, chain_hash, waiting, last_offset, bool(has_unkeyed), bool(has_tombstones))


def verified_journal_end(writer: apsw.Connection) -> tuple[int, str]:
    """`seq` and `chain_hash` of the last journal row.

    Raises `StoreRefused` if the chain of the last `JOURNAL_CHECKED_ROWS` rows is broken.
    """
    snapshot = SqliteSnapshot(writer)
    seq, chain_hash = writer.execute(SQL["get_journal_end"]).get or (0, CHAIN_START)
    last = snapshot.list_journal(max(0, seq - JOURNAL_CHECKED_ROWS), JOURNAL_CHECKED_ROWS)
    for before, record in pairwise(last):
        if record.seq != before.seq + 1 or chain(before.chain_hash, record) != record.chain_hash:
            raise StoreRefused(f"the journal is damaged at seq {record.seq}")
    return seq, chain_hash
