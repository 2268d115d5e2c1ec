"""What a store keeps of actions in bulk: it survives the process, and numbers are never reused."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onceonly.message.word import changed
from onceonly.store.contract.bulk import (
    BulkAction,
    BulkItem,
    BulkSnapshot,
    BulkState,
    Chosen,
    ItemOutcome,
)
from onceonly.store.sqlite.store import SqliteStore

Open = Callable[[Path], SqliteStore]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


@pytest.fixture
def store(path: Path, open_in: Open) -> Iterator[SqliteStore]:
    opened = open_in(path)
    yield opened
    opened.close()


def add(store: SqliteStore, *message_ids: str) -> int:
    txn = store.begin()
    bulk = txn.add_bulk(BulkAction.CANCEL, "why", "{}", at=7)
    txn.add_bulk_items(bulk.number, 1, [Chosen(message_id) for message_id in message_ids])
    started = {"state": BulkState.RUNNING, "started_at": 8, "started_by": "Ann (operators)"}
    txn.put_bulk(changed(bulk, items=len(message_ids), **started))
    store.commit()
    return bulk.number


def test_the_store_keeps_them(store: SqliteStore) -> None:
    """The optional contract."""
    assert isinstance(store.snapshot(), BulkSnapshot)
    assert isinstance(store.begin(), BulkSnapshot)


def test_what_was_written_is_found(path: Path, store: SqliteStore, open_in: Open) -> None:
    """Also by the next process."""
    number = add(store, "m-1", "m-2")
    bulk = store.snapshot().find_bulk(number)
    done = BulkItem(1, "m-1", ItemOutcome.SKIPPED, "NotFound", "no such message", 9)
    store.begin().put_bulk_item(number, done)
    store.commit()
    store.close()
    again = open_in(path)
    snapshot = again.snapshot()
    assert snapshot.find_bulk(number) == bulk
    assert bulk is not None
    assert bulk.started_by == "Ann (operators)"
    assert (bulk.items, bulk.state, bulk.started_at) == (2, BulkState.RUNNING, 8)
    assert snapshot.list_bulk_items(number, 0, 10) == [done, BulkItem(2, "m-2")]
    assert snapshot.list_bulk_items(number, 1, 10) == [BulkItem(2, "m-2")]
    assert snapshot.list_open_items(number, 10) == [BulkItem(2, "m-2")]
    assert snapshot.find_bulk_item(number, 1) == done
    assert snapshot.find_bulk_item(number, 3) is None
    again.close()


def test_what_runs_is_found(store: SqliteStore) -> None:
    """In the order of their numbers, and nothing else."""
    first, second, third = (add(store, "m") for _ in range(3))
    txn = store.begin()
    found = txn.find_bulk(second)
    assert found is not None
    txn.put_bulk(changed(found, state=BulkState.DONE, finished_at=9))
    store.commit()
    running = store.snapshot().list_running_bulks()
    assert [one.number for one in running] == [first, third]
    assert [one.number for one in store.snapshot().list_bulks(first, 1)] == [second]


def test_the_newest_come_first_if_asked(store: SqliteStore) -> None:
    """From the last one on, or from below a number."""
    first, second, third = (add(store, "m") for _ in range(3))
    snapshot = store.snapshot()
    newest = snapshot.list_bulks(0, 2, is_newest_first=True)
    assert [one.number for one in newest] == [third, second]
    older = snapshot.list_bulks(second, 2, is_newest_first=True)
    assert [one.number for one in older] == [first]


def test_forgetting_goes_in_steps_and_gives_no_number_again(store: SqliteStore) -> None:
    """An operator may have noted the number."""
    number = add(store, "m-1", "m-2", "m-3")
    counts = []
    for _ in range(3):
        counts.append(store.begin().forget_bulk(number, 2))
        store.commit()
    assert counts == [2, 2, 0]
    assert store.snapshot().find_bulk(number) is None
    assert add(store, "m-1") == number + 1


def test_an_item_of_the_inbox_is_kept_with_its_offset(store: SqliteStore) -> None:
    """Several items may have one MessageId."""
    txn = store.begin()
    bulk = txn.add_bulk(BulkAction.REDELIVER, "why", "{}", at=7)
    txn.add_bulk_items(bulk.number, 1, [Chosen("m-1", 5), Chosen("m-1", 9)])
    store.commit()
    found = store.snapshot().list_open_items(bulk.number, 9)
    assert [(one.message_id, one.offset) for one in found] == [("m-1", 5), ("m-1", 9)]
