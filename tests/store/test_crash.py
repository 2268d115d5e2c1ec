"""Processes that die and disks that fill up or break: nothing acknowledged is ever lost.

Faults D1, D3 and D4 on the real SQLite, the real file system and real processes.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from store_samples import message, row, stored, submit

from onceonly.journal.record import CHAIN_START, chain
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreFull
from onceonly.store.contract.store import Snapshot
from onceonly.store.sqlite.store import SqliteStore

Open = Callable[[Path], SqliteStore]

CHILD = [sys.executable, str(Path(__file__).parent / "crash_child.py")]
STRACE = shutil.which("strace")
MANY = 100_000
TIMEOUT_S = 60


def can_trace() -> bool:
    """Whether this machine lets us trace a child."""
    if STRACE is None:
        return False
    tried = subprocess.run([STRACE, "-o", "/dev/null", "true"], capture_output=True, check=False)
    return tried.returncode == 0


traced = pytest.mark.skipif(not can_trace(), reason="strace is missing or may not trace here")


def assert_whole(store: SqliteStore, acknowledged: list[str]) -> None:
    """Every acknowledged message is there with all its halves; the rest is there whole or not."""
    snapshot = store.snapshot()
    for message_id in acknowledged:
        assert snapshot.find_outbound(message_id) is not None, f"{message_id} is lost"
    submitted = {
        record.message_id for record in records(snapshot) if record.event is Event.SUBMITTED
    }
    handed_over = {item.message.message_id for item in snapshot.list_inbox(0, MANY)}
    listed = {entry.message_id for entry in snapshot.list_in_flight()}
    counts = snapshot.count_by_status()
    assert submitted == handed_over
    assert listed <= submitted
    assert counts["sending"] == counts["handed_over"] == len(submitted)
    for message_id in submitted:
        assert message_id is not None
        [part] = snapshot.list_payloads(message_id)
        assert part.body is not None


def records(snapshot: Snapshot) -> list:
    """The journal, whose chain holds from its first row (E3)."""
    found = list(snapshot.list_journal(0, MANY))
    before = CHAIN_START
    for number, record in enumerate(found, start=1):
        assert record.seq == number
        assert record.chain_hash == chain(before, record)
        before = record.chain_hash
    return found


def check_integrity(path: Path) -> None:
    """SQLite itself finds nothing wrong."""
    assert apsw.Connection(str(path)).pragma("integrity_check") == "ok"


@pytest.mark.statement("S0-04", "S1-01", "S1-04", "S3-02", ruling="R-22")
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path, open_in: Open) -> None:
    """kill -9 at arbitrary moments, several times on one store (fault D1, I14)."""
    path = tmp_path / "buyer.db"
    acknowledged: list[str] = []
    for life, lines in enumerate((1, 40, 7, 150)):
        command = [*CHILD, str(path), str(life * MANY), str(MANY)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            acknowledged += [child.stdout.readline().strip() for _ in range(lines)]
            child.kill()
            acknowledged += child.stdout.read().split()
    store = open_in(path)
    assert store.epoch == 5
    assert_whole(store, acknowledged)
    store.close()
    check_integrity(path)


@pytest.mark.statement("S0-04", "S1-01", ruling="R-22")
@traced
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])
def test_a_kill_at_any_write_or_sync_loses_nothing(
    tmp_path: Path, open_in: Open, number: int
) -> None:
    """Killed at the n-th write or sync, in the opening, a commit or a checkpoint (fault D1)."""
    path = tmp_path / "buyer.db"
    inject = f"inject=pwrite64,fsync,fdatasync:signal=KILL:when={number}"
    child = subprocess.run(
        [STRACE, "-f", "-o", "/dev/null", "-e", inject, *CHILD, str(path), "0", "40"],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert child.returncode != 0
    assert_whole(open_in(path), child.stdout.split())


@pytest.mark.statement("S1-02", ruling="R-22")
@traced
@pytest.mark.parametrize("number", [1, 3, 4, 5, 9, 20])
def test_a_failed_sync_stops_the_store_and_is_never_repeated(
    tmp_path: Path, open_in: Open, number: int
) -> None:
    """After EIO from fsync: StoreFailed, and not one more sync, not even to close (R-22, I42)."""
    path, log = tmp_path / "buyer.db", tmp_path / "trace"
    open_in(path).close()
    inject = f"inject=fsync,fdatasync:error=EIO:when={number}"
    child = subprocess.run(
        [STRACE, "-f", "-o", str(log), "-e", inject, *CHILD, str(path), "0", "200"],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    syncs = [line for line in log.read_text().splitlines() if "sync(" in line]
    assert child.returncode in (3, 4), child.stderr
    assert "INJECTED" in syncs[-1]
    assert_whole(open_in(path), child.stdout.split())


@pytest.mark.statement("S1-02", ruling="R-22")
@traced
def test_a_name_that_cannot_be_made_durable_refuses_the_opening(
    tmp_path: Path, open_in: Open
) -> None:
    """EIO from the fsync of the directory: what is in a file without a name is worth nothing (D7).

    SQLite calls fdatasync throughout, so the only fsync is ours.
    """
    path = tmp_path / "buyer.db"
    open_in(path).close()
    inject = "inject=fsync:error=EIO:when=1"
    child = subprocess.run(
        [STRACE, "-f", "-o", "/dev/null", "-e", inject, *CHILD, str(path), "0", "10"],
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert (child.returncode, child.stdout) == (4, ""), child.stderr
    open_in(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 4 MiB."""
    directory = tmp_path / "small"
    directory.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(directory)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a tmpfs is not permitted here")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def commit_until_full(store: SqliteStore, first: int) -> list[str]:
    """Commit until the disk is full; returns what was acknowledged."""
    acknowledged: list[str] = []
    for number in range(first, first + 10_000):
        part = stored(b"x" * 20_000)
        try:
            transaction = store.begin()
            submit(transaction, message(f"m-{number}", part), part)
            transaction.append([row(Event.SUBMITTED, f"m-{number}")])
            store.commit()
        except StoreFull:
            store.rollback()
            return acknowledged
        acknowledged.append(f"m-{number}")
    pytest.fail("a disk of 4 MiB took 200 MB")


def test_a_full_disk_refuses_and_recovers(small_disk: Path, open_in: Open) -> None:
    """StoreFull, nothing half-stored, reads go on; with space again it works again (R-28, D4)."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"\0" * 1_000_000)
    store = open_in(small_disk / "buyer.db")
    acknowledged = commit_until_full(store, 0)
    assert len(acknowledged) > 10
    for attempt in range(3):
        assert commit_until_full(store, 10_000 * (attempt + 1)) == []
    snapshot = store.snapshot()
    assert all(snapshot.find_outbound(message_id) is not None for message_id in acknowledged)
    assert [record.message_id for record in records(snapshot)] == acknowledged
    ballast.unlink()
    acknowledged += commit_until_full(store, 50_000)
    assert acknowledged[-1].startswith("m-5")
    assert [record.message_id for record in records(snapshot)] == acknowledged
    store.close()
    check_integrity(small_disk / "buyer.db")
