"""A look at a store from outside: it sees what opening would meet, and changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from store_samples import commit, row

from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.sqlite.look import FoundStore, look_at
from onceonly.store.sqlite.migrate import read_migrations
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

PARTY = "urn:duns:1"
FITS = FoundStore(is_there=True, version=len(read_migrations()))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


def opened(path: Path) -> SqliteStore:
    return open_sqlite(path, party=PARTY, clock_at=lambda: 0)


def contents(path: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in path.parent.iterdir()}


def filled(path: Path) -> SqliteStore:
    store = opened(path)
    commit(store, lambda tx: tx.append([row(Event.SUBMITTED, f"m-{n}") for n in range(9)]))
    return store


def test_a_store_that_is_not_there_is_not_made(path: Path) -> None:
    """Nor its folders."""
    assert look_at(path, PARTY) == FoundStore(is_there=False)
    assert look_at(path.parent / "deep" / "er" / "gateway.db", PARTY) == FoundStore(is_there=False)
    assert contents(path) == {}


def test_a_store_at_rest_is_left_byte_for_byte(path: Path) -> None:
    """But for the index of its log, which every reader makes anew; alone, not even that is made."""
    filled(path).close()
    before = contents(path)
    assert look_at(path, PARTY) == FITS
    after = contents(path)
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} <= {"gateway.db-shm"}
    for name in ("gateway.db-wal", "gateway.db-shm"):
        path.with_name(name).unlink()
    alone = contents(path)
    assert look_at(path, PARTY) == FITS
    assert contents(path) == alone


def test_a_store_that_is_open_is_read_beside_its_process(path: Path) -> None:
    """Also what is in its log alone; its process goes on."""
    store = filled(path)
    assert look_at(path, PARTY) == FoundStore(
        is_there=True, is_in_use=True, version=len(read_migrations())
    )
    commit(store, lambda tx: tx.append([row(Event.SUBMITTED, "m-10")]))
    store.close()


def test_a_store_whose_process_died_can_be_opened_after_the_look(path: Path) -> None:
    """What its log has is seen, and is there afterwards."""
    filled(path).crash()
    assert path.with_name("gateway.db-wal").stat().st_size
    look_at(path, PARTY)
    path.with_name("gateway.db.lock").unlink()
    with closing(opened(path)) as store:
        assert len(store.snapshot().list_journal(0, 100)) == 9


def test_an_edited_journal_is_seen(path: Path) -> None:
    """Opening would refuse it too."""
    filled(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE journal SET message_id = 'm-x' WHERE seq = 8")
        connection.commit()
    with pytest.raises(StoreRefused, match="damaged"):
        look_at(path, PARTY)


def test_an_older_store_is_one_that_will_be_migrated(path: Path) -> None:
    """It has had the first step alone."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(read_migrations()[0].statements)
        connection.execute("PRAGMA user_version = 1")
    assert look_at(path, PARTY) == FoundStore(is_there=True, is_older=True, version=1)


def test_an_empty_file_is_a_new_store(path: Path) -> None:
    """As a start that died at once leaves it."""
    path.touch()
    assert look_at(path, PARTY) == FoundStore(is_there=True, is_older=True)
