"""The machine's own file system, where the simulated one shows nothing."""

import errno
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.files import CHUNK_BYTES, OPERATING_SYSTEM, OperatingSystem, make_parents
from onceonly.store.spool import INLINE_BYTES_MAX, Spool
from onceonly.store.sqlite.store import open_sqlite


@pytest.fixture(params=[0o000, 0o022], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_a_file_written_again_is_the_same_file(tmp_path: Path) -> None:
    """The same bytes in the same place, also where they are more than one chunk."""
    path = tmp_path / "log"
    content = bytes(range(256)) * (CHUNK_BYTES // 256) + b"the end"
    path.write_bytes(content)
    number = path.stat().st_ino
    OPERATING_SYSTEM.write_again(path)
    assert path.read_bytes() == content
    assert path.stat().st_ino == number


def test_the_page_about_a_full_disk_makes_a_store_smaller(tmp_path: Path) -> None:
    """With the command that it shows; what is in the store stays, and it can be opened."""
    path = tmp_path / "gateway.db"
    open_sqlite(path, party="urn:x:1", clock_at=lambda: 0).close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE gone AS SELECT zeroblob(1000000) AS bytes")
        connection.execute("DROP TABLE gone")
    before = path.stat().st_size
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "full-disk.md").read_text("utf-8")
    [line] = [line for line in page.splitlines() if "-m apsw" in line]
    command = shlex.split(line.replace("/var/lib/onceonly/gateway.db", str(path)))
    subprocess.run([sys.executable, *command[1:]], check=True)
    assert path.stat().st_size < before - 900_000
    store = open_sqlite(path, party="urn:x:1", clock_at=lambda: 0)
    assert store.epoch == 2
    store.close()


def test_no_file_is_written_again_where_there_is_none(tmp_path: Path) -> None:
    """A store that was never written has no log."""
    OPERATING_SYSTEM.write_again(tmp_path / "log")
    assert not list(tmp_path.iterdir())


def test_missing_directories_are_made_and_others_left(tmp_path: Path) -> None:
    """Above the path, and not the path itself; again, it changes nothing."""
    path = tmp_path / "a" / "b" / "store.db"
    for _ in range(2):
        make_parents(path)
    assert path.parent.is_dir()
    assert not path.exists()


@pytest.mark.usefixtures("_umask")
def test_everything_of_a_store_is_for_our_eyes_only(tmp_path: Path) -> None:
    """Folders above it, the database and what SQLite puts beside it, lock, spool and payloads."""
    path = tmp_path / "a" / "b" / "store.db"
    make_parents(path)
    store = open_sqlite(path, party="urn:duns:1", clock_at=lambda: 0)
    sink = Spool(path.with_name("spool")).open_sink()
    sink.write(b"x" * (INLINE_BYTES_MAX + 1))
    sink.keep()
    found = {one: stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "a").rglob("*")}
    store.close()
    assert {"store.db", "store.db-wal", "store.db-shm", "store.db.lock"} <= {
        one.name for one in found
    }
    assert {mode for one, mode in found.items() if one.is_file()} == {0o600}
    assert {mode for one, mode in found.items() if one.is_dir()} == {0o700}
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_private_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    """With its bytes and its mode."""
    path = tmp_path / "store.db"
    path.write_bytes(b"there")
    path.chmod(0o640)
    OPERATING_SYSTEM.make_private(path)
    assert path.read_bytes() == b"there"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


class NoRoom(OperatingSystem):
    """A disk on which no file can be made any more."""

    def make_private(self, path: Path) -> None:
        raise OSError(errno.ENOSPC, "no space left", str(path))


def test_a_store_that_cannot_be_made_private_is_not_opened(tmp_path: Path) -> None:
    """Refused by name, and its lock is free again."""
    path = tmp_path / "store.db"
    with pytest.raises(StoreRefused, match="no space"):
        open_sqlite(path, party="urn:duns:1", clock_at=lambda: 0, files=NoRoom())
    assert not path.exists()
    open_sqlite(path, party="urn:duns:1", clock_at=lambda: 0).close()
