"""The store that ships: one SQLite file, through APSW.

Knows how a database is opened so that a commit is durable (ruling R-22), how one process keeps
others out (R-23), and when the log is folded back into the file. What the rows mean stands in
`rows`, `reading` and `writing`. Must not know messages, decisions or event loops.

Why the pragmas: WAL with synchronous=FULL is one fsync per commit, and the one fsync covers every
message of the batch. Both are set and *read back*, since SQLite answers a wish that it cannot
fulfil (a network disk, a database in memory) with another mode and no error.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store.py

import threading
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
from onceonly.store.contract.rules import check_owner
from onceonly.store.contract.store import Store
from onceonly.store.failures import from_commit, from_sqlite, from_system
from onceonly.store.files import OPERATING_SYSTEM, FileSystem
from onceonly.store.sqlite.migrate import migrate
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.reading import SqliteSnapshot
from onceonly.store.sqlite.writing import SqliteTransaction

SQLITE_VERSION_MIN = (3, 51, 3)
"""Before it, a checkpoint that met a reset could corrupt the log (R-22)."""

SYNCHRONOUS_FULL = 2

STATEMENTS_CACHED = 256
"""Executions after which an unused statement is parsed again, which a batch hardly feels; every
execution looks through as many slots, so more of them would cost more than they save."""

BUSY_TIMEOUT_MS = 1_000
"""How long a backup or an operator's shell may hold a lock before we call it a writer."""

WRITER_CACHE_KIB = 64 * 1_024
"""Page cache of the writer: the inner pages of every index of ten million messages fit."""

READER_CACHE_KIB = 16 * 1_024
"""Page cache of each reader, of which there may be as many as threads. The file is not mapped into
memory: a page that the disk cannot give would end the process by SIGBUS, and nobody would read why.
"""
COMMIT_QUICK_NS = 2_000_000
"""A commit shorter than this may keep the event loop waiting: it is what twenty steps take. A good
disk needs a tenth of it, and a busy machine with a good disk the half."""

FOLD_MARGIN_PAGES = 512
"""More than a few steps write: so near to the fold of the log, the next commit may include it."""

JOURNAL_CHECKED_ROWS = 1_000
"""Rows at the journal's end whose chain is verified at start: what a torn disk would hit first,
in some 20 ms. The whole chain is verified by whoever reads the journal."""


_Reason = StoreFull | StoreFailed | StoreMisused


class LogLimits(Word):
    """Bounds of the write-ahead log, in pages of 4 KiB (fault D9)."""

    checkpoint_pages: int = 4_096
    """Fold the log back at 16 MiB: often enough to keep it in the page cache, seldom enough that
    a page written by many messages is copied once."""
    pages_max: int = 65_536
    """At 256 MiB, which only a reader that never ends can cause, refuse work until it ends."""


LOG_LIMITS = LogLimits()


class SqliteStore(Store):
    """The contract's `Store`, made by `open_sqlite`.

    Writing is for one thread at a time, where `commit` may run in another one than `begin`.
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
        self._log_pages = 0
        self._pages_folded = 0
        self._commit_ns = 2 * COMMIT_QUICK_NS
        self._is_closed = False
        self._failure: StoreFailed | None = None
        self._transaction: SqliteTransaction | None = None
        self._of_thread = threading.local()
        self._readers: list[apsw.Connection] = []
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
            self._journal_seq, self._chain_hash = verified_journal_end(self._writer)
            self._sync_entry()
            undo.pop_all()

    def _make_private(self, path: Path) -> None:
        """Before SQLite makes it as the umask has it: no moment in which it is others' to read."""
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
        # Without the stability guarantee, SQLite plans a statement anew for every binding that
        # might make a partial index usable: 30 to 100 µs each time.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return connection

    def _write_log_again(self) -> None:
        """Make what the log shows durable, before anything builds on it.

        A sync that failed in the process before may have left a commit in the page cache and
        nowhere else, and no later sync writes it. Folded back like this, the log is lost to a
        power cut in the middle of it, and with it the other half of the database.
        """
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            self._files.write_again(self._path.with_name(f"{self._path.name}-wal"))
        except OSError as error:
            raise from_system(error, "the log of the store") from error
        finally:
            self._writer.execute("ROLLBACK")

    def _sync_entry(self) -> None:
        """Make the file's name durable: its bytes are worth nothing without it (fault D7)."""
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
            journal_seq=self._journal_seq,
            chain_hash=self._chain_hash,
        )
        return self._transaction

    def _begin_alone(self) -> None:
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            epoch = self._writer.execute(SQL["get_epoch"]).get
        except apsw.Error as error:
            raise self._noted(from_sqlite(error)) from error
        if epoch != self._epoch:
            self._writer.execute("ROLLBACK")
            raise self._noted(
                StoreFailed(f"opened again under epoch {epoch}, while ours is {self._epoch}")
            )

    def commit(self) -> None:
        transaction = self._transaction
        assert transaction is not None, "commit without begin"
        began_ns = time.perf_counter_ns()
        try:
            transaction.flush()
            self._writer.execute("COMMIT")
        except (apsw.Error, StoreFull, StoreFailed, StoreMisused) as error:
            reason = from_commit(error) if isinstance(error, apsw.Error) else error
            self._noted(reason)
            self.rollback()
            raise reason from error
        self._journal_seq, self._chain_hash = transaction.journal_seq, transaction.chain_hash
        self._transaction = None
        # The mean of some eight commits: one that was held up by chance is soon forgotten.
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
        try:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
        except apsw.Error as error:
            raise self._noted(from_sqlite(error)) from error

    def snapshot(self) -> SqliteSnapshot:
        """Reads of committed rows; it belongs to the thread that asked for it."""
        snapshot: SqliteSnapshot | None = getattr(self._of_thread, "snapshot", None)
        if snapshot is None:
            try:
                reader = self._connect(apsw.SQLITE_OPEN_READONLY)
                reader.pragma("cache_size", -READER_CACHE_KIB)
            except apsw.Error as error:
                # Without a descriptor it cannot be opened for now, without a file never again.
                is_there = self._path.exists()
                raise (from_sqlite if is_there else from_commit)(error) from error
            self._readers.append(reader)
            snapshot = self._of_thread.snapshot = SqliteSnapshot(reader)
        return snapshot

    def close(self) -> None:
        """Roll back what is open and let the next process in.

        The log is folded back, unless the store failed: then nothing more is written.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            self.rollback()
            for reader in self._readers:
                reader.close()
            if self._failure is None:
                self._checkpoint()
            self._writer.close()
        finally:
            self._lock.release()

    def crash(self) -> None:
        """Let go of everything as a process does that dies; for disks that died with it.

        Nothing is written, and what the disk says about it does not matter.
        """
        self._is_closed = True
        for connection in (*self._readers, self._writer):
            with suppress(apsw.Error):
                connection.close(force=True)

    def _noted(self, reason: _Reason) -> _Reason:
        # A failure is for good: what the disk says after it is worth nothing.
        if isinstance(reason, StoreFailed):
            self._failure = reason
        return reason

    def _pages_written(self) -> int:
        # Asked for, not told by a hook: a hook in Python would want the interpreter's lock in the
        # middle of a COMMIT that runs in a thread to be without it.
        written, _ = self._writer.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)
        return written

    def _pages_in_log(self) -> int:
        return self._pages_written() - self._pages_folded

    def _checkpoint(self) -> None:
        # SQLite's own automatic checkpoint ignores a failed fsync, so we do it ourselves.
        self._pages_folded = self._pages_written()
        try:
            self._log_pages, _ = self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (apsw.FullError, apsw.NoMemError, apsw.CantOpenError):
            # What is in the log is durable there. It stays, and the next commits, which need
            # space themselves, tell the callers.
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
        """Fold the whole log back and begin it anew.

        At start this also writes into the database again what a checkpoint whose sync failed may
        have left in the page cache and nowhere else.
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
    return SqliteStore(path, party=party, clock_at=clock_at, limits=limits, files=files)


def check_version(version: str) -> None:
    """Raise `StoreRefused` for an SQLite older than `SQLITE_VERSION_MIN`."""
    if tuple(map(int, version.split("."))) < SQLITE_VERSION_MIN:
        least = ".".join(map(str, SQLITE_VERSION_MIN))
        raise StoreRefused(f"SQLite {version} can corrupt its log; at least {least} is needed")


def _make_durable(writer: apsw.Connection) -> None:
    # Closing after a failure must not fold the log back: that would be the second fsync of R-22.
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
    """Migrate, check whose store it is, and count this opening: one transaction."""
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


def verified_journal_end(writer: apsw.Connection) -> tuple[int, str]:
    """`seq` and `chain_hash` of the last journal row; its neighbours' chain holds."""
    snapshot = SqliteSnapshot(writer)
    seq, chain_hash = writer.execute(SQL["get_journal_end"]).get or (0, CHAIN_START)
    last = snapshot.list_journal(max(0, seq - JOURNAL_CHECKED_ROWS), JOURNAL_CHECKED_ROWS)
    for before, record in pairwise(last):
        if record.seq != before.seq + 1 or chain(before.chain_hash, record) != record.chain_hash:
            raise StoreRefused(f"the journal is damaged at seq {record.seq}")
    return seq, chain_hash
