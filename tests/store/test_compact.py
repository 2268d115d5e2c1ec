"""The space of what was forgotten is given back, and nothing else goes with it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from store_samples import ACKNOWLEDGED, NOW_AT, PARTY, message, stored, submit

from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.contract.forgetting import COUNTED_LEAST, COUNTED_MAX, PreviewingSnapshot
from onceonly.store.sqlite.compact import COMING, compact
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

Open = Callable[[Path], SqliteStore]
MESSAGES, KEPT = 300, 10
BODY = b"x" * 20_000


def filled(path: Path) -> None:
    """A store of which most was forgotten."""
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    for number in range(MESSAGES):
        part = stored(BODY + str(number).encode(), 1)
        submit(store.begin(), message(f"m-{number}", part), part)
        store.commit()
    writer = apsw.Connection(str(path))
    writer.execute(
        "DELETE FROM outbound_body WHERE (place >> 16) IN "
        f"(SELECT position FROM outbound ORDER BY position LIMIT {MESSAGES - KEPT})"
    )
    writer.close()
    store.close()


def contents(path: Path) -> dict[str, list[object]]:
    """Every row of every table but the one that counts the openings."""
    connection = apsw.Connection(str(path))
    try:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in names.fetchall()
            if name != "store"
        }
    finally:
        connection.close()


def test_a_compacted_store_has_every_row_and_no_free_space(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    filled(path)
    before = contents(path)
    done = compact(path, party=PARTY, clock_at=lambda: NOW_AT)
    assert done.bytes_after == path.stat().st_size
    assert done.bytes_after < done.bytes_before / 5
    assert contents(path) == before
    assert not path.with_name(path.name + COMING).exists()
    assert path.stat().st_mode & 0o077 == 0
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    try:
        snapshot = store.snapshot()
        assert isinstance(snapshot, PreviewingSnapshot)
        assert snapshot.file_space().free_bytes == 0
    finally:
        store.close()


def test_a_store_that_is_open_is_not_compacted(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    filled(path)
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    try:
        with pytest.raises(StoreRefused):
            compact(path, party=PARTY, clock_at=lambda: NOW_AT)
    finally:
        store.close()


KILLED = """
import os, sys
from pathlib import Path
from onceonly.store.sqlite.compact import compact
at = int(sys.argv[2])
calls = 0
def count(event, arguments):
    global calls
    # Whatever changes the folder, and every sync by name.
    if event in ("os.rename", "os.remove", "open"):
        calls += 1
        if calls == at:
            os._exit(9)
sys.addaudithook(count)
compact(Path(sys.argv[1]), party=sys.argv[3], clock_at=lambda: 1_000_000)
print(calls)
"""


def test_a_kill_at_any_step_leaves_a_whole_store(tmp_path: Path) -> None:
    """Either the old file or the new one, with the same rows; what is left over is no hindrance."""
    path = tmp_path / "gateway.db"
    filled(path)
    before = contents(path)
    environment = {**os.environ}

    def run(at: int) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", KILLED, str(path), str(at), PARTY]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    total = int(run(0).stdout)
    ends = set()
    # The last ones: before them the program only loads its own files.
    for at in range(max(1, total - 11), total + 1):
        ends.add(run(at).returncode)
        assert contents(path) == before, at
    assert ends == {9}
    assert run(0).returncode == 0
    assert contents(path) == before


def test_a_count_ends_where_it_is_bounded(tmp_path: Path) -> None:
    """More are not counted, whatever there is."""
    path = tmp_path / "gateway.db"
    store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    try:
        writer = apsw.Connection(str(path))
        writer.execute(
            "WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up LIMIT 20001) "
            "INSERT INTO tombstone SELECT 'm-' || n, 'urn:x', 'urn:y', n, n FROM up"
        )
        writer.close()
        snapshot = store.snapshot()
        assert isinstance(snapshot, PreviewingSnapshot)
        [found] = snapshot.preview_purge(NOW_AT, {"tpa": NOW_AT})
        assert (found.kind, found.count, found.is_more) == ("tombstones", COUNTED_MAX, True)
        assert found.oldest_at == 1
        txn = store.begin()
        for number in range(COUNTED_LEAST + 1):
            submit(txn, message(f"m-{number}"), state=ACKNOWLEDGED)
            txn.put_outbound(f"m-{number}", ACKNOWLEDGED, at=NOW_AT - 1)
        store.commit()
        agreement_id = message("m-0").agreement_id
        _, other = snapshot.preview_purge(NOW_AT, {agreement_id: NOW_AT})
        assert (other.count, other.is_more) == (COUNTED_LEAST, True)
    finally:
        store.close()
