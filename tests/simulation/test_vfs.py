"""Real SQLite, and the product's store and spool, on the simulated disk."""

import errno
from pathlib import Path
from random import Random

import apsw
import pytest

from onceonly.message.event import Event
from onceonly.simulation.chance import stream
from onceonly.simulation.machine.disk import Disk, DiskOperation, Image, OperationKind
from onceonly.simulation.machine.files import DiskFiles
from onceonly.simulation.machine.vfs import (
    UNIX_CHARACTERISTICS,
    UNIX_SECTOR_BYTES,
    DiskVfs,
)
from onceonly.simulation.power.cut_store import PARTY, SPOOL, STORE, CutStore, look_at_rows
from onceonly.simulation.power.store_steps import Steps, answers, journal_row
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreRefused
from onceonly.store.files import make_parents
from onceonly.store.memory.store import MemoryStore
from onceonly.store.spool import Spool

LARGE = Random(1).randbytes(200_000)


def commit_row(store: CutStore, reason: str = "") -> None:
    """Commit one journal row."""
    store.begin().append([journal_row(Event.STARTED, None, reason=reason)])
    store.commit()


def test_the_simulated_disk_is_to_sqlite_what_a_unix_disk_is(tmp_path: Path) -> None:
    """What SQLite's own VFS says of sectors and safe writing is what ours says."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE
    file = apsw.VFSFile("unix", str(tmp_path / "a.db"), [flags, 0])
    assert file.xSectorSize() == UNIX_SECTOR_BYTES
    assert file.xDeviceCharacteristics() == UNIX_CHARACTERISTICS
    file.xClose()


def test_the_store_gives_the_answers_that_the_memory_store_gives() -> None:
    """The same steps, the same answers, from a reader beside the writer."""
    files = DiskFiles(Disk())
    store, memory = CutStore(files), MemoryStore(party=PARTY, clock_at=lambda: 0)
    steps = Steps(stream(0, "steps"), spooled_bytes=100_000)
    for _ in range(60):
        step = steps.next()
        for one in (store, memory):
            step.write(one.begin())
            one.commit()
    assert answers(store.snapshot(), steps.names) == answers(memory.snapshot(), steps.names)
    store.close()
    files.close_vfs()


def test_a_reader_beside_the_writer_sees_what_is_committed_and_no_more() -> None:
    """The log's shared memory works as in production: two connections, one index."""
    files = DiskFiles(Disk())
    store = CutStore(files)
    reader = store.snapshot()
    commit_row(store)
    store.begin().append([journal_row(Event.STOPPED, None)])
    assert [record.event for record in reader.list_journal(0, 9)] == [Event.STARTED]
    store.commit()
    assert len(reader.list_journal(0, 9)) == 2
    store.close()
    files.close_vfs()


def test_one_process_at_a_time_and_a_lock_that_dies_with_it() -> None:
    """The second is refused while the first lives, and not after its death (R-23)."""
    disk = Disk()
    first = DiskFiles(disk)
    store = CutStore(first)
    commit_row(store)
    with pytest.raises(StoreRefused, match="in use"):
        CutStore(first)
    disk.kill()
    store.crash()
    first.close_vfs()
    second = DiskFiles(disk)
    store = CutStore(second)
    assert store.epoch == 2
    assert len(store.snapshot().list_journal(0, 9)) == 1
    store.close()
    second.close_vfs()


def test_a_dead_process_writes_nothing_more() -> None:
    """What it had open is of no use to it."""
    disk = Disk()
    files = DiskFiles(disk)
    store = CutStore(files)
    store.begin().append([journal_row(Event.STARTED, None)])
    disk.kill()
    before = disk.image()
    with pytest.raises(StoreFailed):
        store.commit()
    store.crash()
    files.close_vfs()
    assert disk.image() == before


def test_a_failed_sync_stops_the_store() -> None:
    """EIO at the sync of a commit is StoreFailed, now and ever after (R-22, I42)."""
    disk = Disk()
    files = DiskFiles(disk)
    store = CutStore(files)

    def fail(operation: DiskOperation) -> None:
        if operation.kind is OperationKind.SYNC:
            raise OSError(errno.EIO, "an I/O error")

    disk.watcher = fail
    for _ in range(2):
        with pytest.raises(StoreFailed):
            commit_row(store)
    disk.watcher = None
    store.crash()
    files.close_vfs()


def failing(kind: OperationKind) -> Disk:
    """A disk with a store that has a log; it now fails whenever this is done."""
    disk = Disk()
    files = DiskFiles(disk)
    store = CutStore(files)
    commit_row(store)
    store.crash()
    files.close_vfs()

    def fail(operation: DiskOperation) -> None:
        if operation.kind is kind:
            raise OSError(errno.EIO, "an I/O error")

    disk.watcher = fail
    return disk


@pytest.mark.parametrize(
    ("kind", "statement", "code"),
    [
        (OperationKind.CREATE, "ATTACH '/house/other.db' AS other", apsw.SQLITE_CANTOPEN),
        (OperationKind.TRUNCATE, "PRAGMA wal_checkpoint(TRUNCATE)", apsw.SQLITE_IOERR_TRUNCATE),
        (OperationKind.REMOVE, "PRAGMA journal_mode=DELETE", apsw.SQLITE_IOERR_DELETE),
    ],
)
def test_what_the_disk_cannot_do_sqlite_hears_by_its_name(
    kind: OperationKind, statement: str, code: int
) -> None:
    """As its own VFS would say it."""
    disk = failing(kind)
    files = DiskFiles(disk)
    connection = apsw.Connection(str(STORE), vfs=files.vfs)
    with pytest.raises(apsw.Error) as refusal:
        list(connection.execute(statement))
    disk.watcher = None
    connection.close()
    files.close_vfs()
    assert refusal.value.extendedresult == code


def test_a_directory_that_cannot_be_synced_stops_the_first_commit() -> None:
    """The name of a new log is not durable, so neither is what is in it."""
    disk = failing(OperationKind.SYNC_DIRECTORY)
    disk.remove(f"{STORE}-wal", life=disk.life)
    files = DiskFiles(disk)
    connection = apsw.Connection(str(STORE), vfs=files.vfs)
    connection.pragma("synchronous", "full")
    with pytest.raises(apsw.Error) as refusal:
        connection.execute("CREATE TABLE other (x)")
    disk.watcher = None
    connection.close()
    files.close_vfs()
    assert refusal.value.extendedresult == apsw.SQLITE_IOERR_DIR_FSYNC


def test_a_store_whose_name_cannot_be_made_durable_is_refused() -> None:
    """The last sync of an opening is that of the directory: without it, all before is worth
    nothing (fault D7)."""
    disk, operations = Disk(), list[DiskOperation]()
    disk.watcher = operations.append
    files = DiskFiles(disk)
    CutStore(files).crash()
    files.close_vfs()
    operations_left = len(operations)
    assert operations[-1].kind is OperationKind.SYNC_DIRECTORY

    def fail_at_the_last(_: DiskOperation) -> None:
        nonlocal operations_left
        operations_left -= 1
        if operations_left == 0:
            raise OSError(errno.EIO, "an I/O error")

    disk = Disk()
    disk.watcher = fail_at_the_last
    files = DiskFiles(disk)
    with pytest.raises(StoreRefused, match="the directory of the store"):
        CutStore(files)
    files.close_vfs()


def test_what_is_not_there_cannot_be_deleted_and_sqlite_hears_why() -> None:
    """It tells a file that somebody else has deleted from a disk that fails."""
    disk = Disk()
    vfs = DiskVfs(disk, "disk of one test", life=disk.life)
    with pytest.raises(apsw.IOError) as refusal:
        vfs.xDelete("/house/nothing", syncdir=True)
    vfs.close()
    assert refusal.value.extendedresult == apsw.SQLITE_IOERR_DELETE_NOENT


def test_a_failed_sync_and_a_power_cut_at_the_next_start_leave_a_sound_store() -> None:
    """What the cache alone shows of the log is durable before it is folded back (R-22, D3, D2)."""
    disk = Disk()
    files = DiskFiles(disk)
    store = CutStore(files)
    commit_row(store, "first")

    def fail(operation: DiskOperation) -> None:
        if operation.kind is OperationKind.SYNC:
            raise OSError(errno.EIO, "an I/O error")

    disk.watcher = fail
    with pytest.raises(StoreFailed):
        commit_row(store, "x" * 30_000)
    disk.kill()
    store.crash()
    files.close_vfs()
    images: list[Image] = []
    chance = Random(0)
    disk.watcher = lambda _: images.extend(disk.after_cut(chance) for _ in range(4))
    files = DiskFiles(disk)
    CutStore(files).close()
    disk.watcher = None
    files.close_vfs()
    for image in images:
        assert look_at_rows(image, []).harm is None


def test_a_full_disk_refuses_and_takes_again() -> None:
    """ENOSPC is StoreFull, and with space again the store works again (R-28, D4)."""
    disk = Disk()
    files = DiskFiles(disk)
    store = CutStore(files)
    disk.space_bytes = 0
    with pytest.raises(StoreFull):
        commit_row(store, "x" * 10_000)
    disk.space_bytes = None
    commit_row(store)
    assert len(store.snapshot().list_journal(0, 9)) == 1
    store.close()
    files.close_vfs()


def test_a_damaged_database_is_refused_or_its_damage_is_told() -> None:
    """A bit that turned over in the first page, which every opening reads (D5)."""
    disk = Disk()
    files = DiskFiles(disk)
    CutStore(files).close()
    file = disk.find(str(STORE))
    assert file is not None
    file.flip(100, 0xFF)
    with pytest.raises(StoreRefused):
        CutStore(files)
    files.close_vfs()


def test_a_large_sort_uses_temporary_files_that_no_disk_keeps() -> None:
    """SQLite's own temporary files are bytes of nobody."""
    disk = Disk()
    files = DiskFiles(disk)
    connection = apsw.Connection(str(STORE), vfs=files.vfs)
    connection.execute("PRAGMA temp_store=1; PRAGMA cache_size=2; CREATE TABLE t (x)")
    connection.execute("CREATE TEMP TABLE u (x)")
    for table in ("t", "u"):
        rows = ((Random(number).randbytes(500),) for number in range(300))
        connection.executemany(f"INSERT INTO {table} VALUES (?)", rows)
    found = connection.execute("SELECT x FROM t ORDER BY x DESC").fetchall()
    assert found == sorted(found, reverse=True)
    connection.close()
    files.close_vfs()
    assert list(disk.image()) == [str(STORE)]


def test_a_store_survives_in_directories_that_were_made_for_it() -> None:
    """Every directory above it is durable, or its own syncs were for nothing (D7)."""
    disk = Disk()
    files = DiskFiles(disk)
    make_parents(STORE, files=files)
    assert STORE.parent != Path("/")
    store = CutStore(files)
    commit_row(store)
    for seed in range(50):
        left = DiskFiles(Disk(disk.after_cut(Random(seed))))
        found = CutStore(left)
        assert len(found.snapshot().list_journal(0, 9)) == 1
        found.close()
        left.close_vfs()
    store.close()
    files.close_vfs()


def test_a_kept_payload_survives_every_cut() -> None:
    """Synced, renamed, and the name synced: whole under its digest, whatever the chance."""
    disk = Disk()
    files = DiskFiles(disk)
    spool = Spool(SPOOL, files=files)
    sink = spool.open_sink()
    sink.write(LARGE)
    _, digest = sink.close()
    sink.keep()
    half = spool.open_sink()
    half.write(LARGE)
    for seed in range(50):
        left = DiskFiles(Disk(disk.after_cut(Random(seed))))
        again = Spool(SPOOL, files=left)
        assert b"".join(again.open_reader(digest)) == LARGE
        assert [file.digest for file in again.list_kept()] == [digest]
        left.close_vfs()
    half.discard()
    [kept] = spool.list_kept()
    assert spool.remove(kept)
    assert list(spool.list_kept()) == []
    files.close_vfs()


def test_a_payload_survives_in_a_spool_that_a_dead_process_made() -> None:
    """Killed between making the directory and syncing its name: the next process syncs it."""
    disk = Disk()
    first = DiskFiles(disk)
    first.make_directory(SPOOL)
    disk.kill()
    first.close_vfs()
    files = DiskFiles(disk)
    sink = Spool(SPOOL, files=files).open_sink()
    sink.write(LARGE)
    _, digest = sink.close()
    sink.keep()
    for seed in range(50):
        assert disk.after_cut(Random(seed)).get(str(SPOOL / digest)) == LARGE
    files.close_vfs()
