"""A disk that breaks under a store that is open: the contract has a name for every error (R-22).

All of it is real: files that are gone, damaged or in the way, and limits of the kernel.
"""

import errno
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest
from store_samples import NOW_AT, PARTY, QUEUED, message, stored, submit

from onceonly.store.contract.conditions import StoreFailed, StoreRefused
from onceonly.store.files import OperatingSystem
from onceonly.store.spool import INLINE_BYTES_MAX, Sink, Spool
from onceonly.store.sqlite.store import LogLimits, SqliteStore, open_sqlite

Open = Callable[[Path], SqliteStore]

LARGE = b"x" * (INLINE_BYTES_MAX + 1)
PAGE_BYTES = 4_096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "buyer.db"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@contextmanager
def files_no_larger_than(size_bytes: int) -> Iterator[None]:
    """No file of this process may grow past `size_bytes`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def put_in_its_place(directory: Path) -> None:
    """Somebody moves the directory away, and puts a file of that name where it was."""
    directory.rename(directory.with_name("elsewhere"))
    directory.write_bytes(b"")


def written(spool: Spool) -> Sink:
    """A closed sink with a large payload in its temporary file."""
    sink = spool.open_sink()
    sink.write(LARGE)
    sink.close()
    return sink


def test_a_lock_that_does_not_say_who_holds_it_is_not_taken(path: Path, open_in: Open) -> None:
    """Its file takes no byte: the store is refused, and free again when there is space."""
    with files_no_larger_than(0), pytest.raises(StoreRefused, match="cannot write the lock file"):
        open_in(path)
    assert open_in(path).epoch == 1


class NamesNeverDurable(OperatingSystem):
    """The machine's disk, but for its directories: their sync fails."""

    def sync_entry(self, path: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(path.parent))


def test_a_store_whose_name_is_not_durable_is_refused(path: Path, open_in: Open) -> None:
    """Nothing may be promised from a file that the next power cut takes (fault D7)."""
    with pytest.raises(StoreRefused, match="the directory of the store"):
        open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT, files=NamesNeverDurable())
    assert open_in(path).snapshot().list_in_flight() == []


def test_a_damaged_page_is_a_failure_and_not_an_answer(path: Path, open_in: Open) -> None:
    """Neither one row nor a list is made of it (fault D5)."""
    store = open_in(path)
    submit(store.begin(), message("m-1"), state=QUEUED)
    store.commit()
    store.close()
    store = open_in(path)
    with path.open("r+b") as file:
        file.seek(PAGE_BYTES)
        file.write(b"\xff" * (path.stat().st_size - PAGE_BYTES))
    with pytest.raises(StoreFailed):
        store.snapshot().find_outbound("m-1")
    with pytest.raises(StoreFailed):
        store.snapshot().list_in_flight()


def test_a_store_whose_file_is_gone_is_not_an_empty_one(path: Path, open_in: Open) -> None:
    """A new reader finds nothing to open, and says so."""
    store = open_in(path)
    path.unlink()
    with pytest.raises(StoreFailed):
        store.snapshot()


def test_a_log_that_cannot_be_folded_back_stops_the_store(path: Path) -> None:
    """A write to the database fails at the limit of the log: nothing more is written (R-22)."""
    limits = LogLimits(checkpoint_pages=1, pages_max=1)
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT, limits=limits)
    reader = apsw.Connection(str(path))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM journal").fetchall()
    part = stored(b"x" * 20_000)
    submit(store.begin(), message("m-1", part), part)
    store.commit()
    reader.execute("COMMIT")
    log = path.with_name(path.name + "-wal")
    before = log.read_bytes()
    with files_no_larger_than(path.stat().st_size), pytest.raises(StoreFailed):
        store.begin()
    with pytest.raises(StoreFailed):
        store.begin()
    store.close()
    assert log.read_bytes() == before
    again = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    assert again.snapshot().find_outbound("m-1") is not None
    again.close()


def test_a_payload_has_nowhere_to_go_without_its_directory(directory: Path) -> None:
    """The first byte past the limit of a row finds that out."""
    spool = Spool(directory)
    directory.rmdir()
    with pytest.raises(StoreFailed):
        written(spool)


def test_a_payload_is_not_kept_where_its_name_is_taken(directory: Path) -> None:
    """A folder has the name of the digest: a failure, and no half-kept file is left."""
    spool = Spool(directory)
    sink = written(spool)
    _, digest = sink.close()
    spool.path(digest).mkdir()
    with pytest.raises(StoreFailed):
        sink.keep()
    assert [entry.name for entry in directory.iterdir()] == [digest]


def test_a_payload_that_cannot_be_forgotten_is_a_failure(directory: Path) -> None:
    """The spool is no directory any more, and whoever discards a payload is told."""
    sink = written(Spool(directory))
    put_in_its_place(directory)
    with pytest.raises(StoreFailed):
        sink.discard()


def test_a_kept_file_that_cannot_be_removed_is_a_failure(directory: Path) -> None:
    """It is not taken for one that is gone already."""
    spool = Spool(directory)
    written(spool).keep()
    [file] = spool.list_kept()
    put_in_its_place(directory)
    with pytest.raises(StoreFailed):
        spool.remove(file)
