"""What the SQLite store keeps in memory and puts off: never seen late, never kept wrongly."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from store_samples import (
    ACKNOWLEDGED,
    OTHER_PAIR,
    PACKAGE,
    PAIR,
    PARTY,
    SELLER,
    commit,
    message,
    receive,
    row,
    stored,
    submit,
)

from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import ReceivingPair
from onceonly.store.contract.conditions import StoreMisusedBefore
from onceonly.store.contract.counting import COUNTED
from onceonly.store.contract.store import Transaction
from onceonly.store.group import GroupCommit
from onceonly.store.sqlite.kept import CONTENT_BYTES_MAX, ENTRIES_MAX, WorkingSet
from onceonly.store.sqlite.later import APART, OF_PAIRS, PUT_OFF
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import SqliteStore

Step = Callable[[Transaction], Any]

KEY = message("r-1").key
ARRIVED = Pair(str(SELLER), PARTY)
USED = SendingPair(sequence_number=7)
NO_TEXT = "\udcff"
"""Half a character: no column of SQLite takes it."""

READS: dict[str, Step] = {
    "state": lambda txn: txn.find_outbound("m-1"),
    "view": lambda txn: txn.find_outbound_view("m-1"),
    "payloads": lambda txn: txn.list_payloads("m-1"),
    "sending pair": lambda txn: txn.get_sending_pair(PAIR),
    "receiving pair": lambda txn: txn.get_receiving_pair(ARRIVED),
    "no message without a key": lambda txn: txn.find_inbound_without_key(KEY),
    "no tombstone": lambda txn: txn.is_cancelled(KEY),
    "offset": lambda txn: txn.last_offset(),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "buyer.db"


@pytest.fixture
def asked() -> Iterator[list[str]]:
    """Every statement that SQLite was asked, of stores that are opened from now on."""
    found: list[str] = []

    def note(_: apsw.Cursor, statement: str, __: Any) -> bool:
        found.append(statement)
        return True

    def watch(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(watch)
    yield found
    apsw.connection_hooks.remove(watch)


@pytest.fixture
def store(path: Path, asked: list[str], open_in: Callable[[Path], SqliteStore]) -> SqliteStore:
    """With one value of every kind that is kept."""
    store = open_in(path)

    def fill(transaction: Transaction) -> None:
        submit(transaction, message("m-1"))
        receive(transaction, message("r-1"))
        transaction.put_sending_pair(PAIR, USED, at=1)
        transaction.put_receiving_pair(ARRIVED, ReceivingPair(sequence_number=3))
        transaction.append([row(Event.SUBMITTED, "m-1")])

    commit(store, fill)
    return store


def answers(store: SqliteStore) -> list[Any]:
    """What the reads of `READS` find in a transaction in which nothing is written."""
    transaction = store.begin()
    found = [read(transaction) for read in READS.values()]
    store.rollback()
    return found


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_a_step_before_wrote_needs_no_read(
    store: SqliteStore, asked: list[str], read: Step
) -> None:
    """In the same transaction or in one before it."""
    transaction = store.begin()
    asked.clear()
    read(transaction)
    assert asked == []
    store.rollback()


def test_a_restart_gives_the_same_answers(
    store: SqliteStore, path: Path, open_in: Callable[[Path], SqliteStore]
) -> None:
    """Nothing is in memory alone."""
    kept = answers(store)
    store.close()
    assert answers(open_in(path)) == kept


@pytest.mark.parametrize(
    "write",
    [
        lambda txn: txn.put_sending_pair(PAIR, SendingPair(sequence_number=8), at=2),
        lambda txn: txn.put_receiving_pair(ARRIVED, ReceivingPair(sequence_number=4)),
        lambda txn: txn.put_outbound("m-1", ACKNOWLEDGED, at=2),
        lambda txn: txn.put_package("m-1", PACKAGE),
        lambda txn: txn.forget_pair(PAIR),
        lambda txn: txn.hand_over(KEY, at=2),
        lambda txn: txn.cancel_inbound(KEY, at=2, keep_until_at=None),
        lambda txn: txn.append([row(Event.DRILL)]),
    ],
)
def test_a_rollback_drops_what_was_written(store: SqliteStore, write: Step) -> None:
    """Every answer is that of before, and what was kept is true."""
    before = answers(store)
    write(store.begin())
    store.rollback()
    assert answers(store) == before
    assert store.find_untrue() == []
    commit(store, write)
    assert store.find_untrue() == []


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE outbound SET attempt = 7",
        "UPDATE outbound_message SET digest = 'x'",
        "DELETE FROM outbound_message",
        "UPDATE sending_pair SET sequence_number = 9",
        "UPDATE receiving_pair SET sequence_number = 9",
        "UPDATE inbound SET parked = 'so'",
        "UPDATE store SET queued = 9",
        "UPDATE store SET last_offset = 9",
        "DELETE FROM journal",
        "INSERT INTO tombstone VALUES ('m', 'a', 'b', 1, NULL)",
    ],
)
def test_what_is_not_true_any_more_is_found(store: SqliteStore, path: Path, edit: str) -> None:
    """Somebody else's edit stands for a write that was not kept."""
    assert store.find_untrue() == []
    apsw.Connection(str(path)).execute(edit)
    assert len(store.find_untrue()) == 1


def test_a_large_content_is_not_kept(store: SqliteStore, asked: list[str]) -> None:
    """It would fill the memory, and costs little to read beside what sending it costs."""
    part = stored(b"x" * (CONTENT_BYTES_MAX + 1))
    commit(store, lambda txn: submit(txn, message("m-2", part), part))
    transaction = store.begin()
    asked.clear()
    assert transaction.list_payloads("m-2") == [part]
    assert asked
    store.rollback()


def test_a_full_set_keeps_what_it_has() -> None:
    """The oldest is what is needed first; a value that is there may change."""
    kept = WorkingSet()
    pairs = [Pair(PARTY, str(number)) for number in range(ENTRIES_MAX + 1)]
    for number, pair in enumerate(pairs):
        kept.sending_pairs.said[pair] = SendingPair(sequence_number=number)
    assert kept.sending_pairs.find(pairs[-1]) is not None
    kept.settle()
    assert kept.sending_pairs.find(pairs[-1]) is None
    kept.sending_pairs.said[pairs[0]] = USED
    kept.settle()
    assert kept.sending_pairs.find(pairs[0]) == USED
    assert len(kept.sending_pairs.settled) == ENTRIES_MAX


def test_statements_of_the_short_way_see_no_table_that_waits() -> None:
    """Otherwise they would miss what was put off; pairs are kept, and not asked for."""
    waiting = {re.findall(r"INTO (\w+)", SQL[query])[0] for query in PUT_OFF}
    assert len(waiting) == len(PUT_OFF)
    for query in APART:
        assert not waiting.intersection(re.findall(r"\w+", SQL[query])), query
    assert {f"get_{table}" for table in waiting if table.endswith("_pair")} == OF_PAIRS


def test_what_was_put_off_counts_once(store: SqliteStore) -> None:
    """`write_count` shows whether a step has written, whoever writes down what others put off."""
    transaction = store.begin()
    before = transaction.write_count
    transaction.put_sending_pair(PAIR, USED, at=2)
    after = transaction.write_count
    assert after > before
    assert [view.in_flight for view in transaction.list_pairs()] == [(), ()]
    assert transaction.write_count == after
    store.rollback()


def test_a_pair_is_written_once_however_often_it_changed(
    store: SqliteStore, asked: list[str]
) -> None:
    """The last state counts."""
    transaction = store.begin()
    for number in (8, 9, 10):
        transaction.put_sending_pair(PAIR, SendingPair(sequence_number=number), at=number)
    asked.clear()
    store.commit()
    assert len([one for one in asked if "sending_pair" in one]) == 1
    assert store.snapshot().get_sending_pair(PAIR) == SendingPair(sequence_number=10)


@pytest.mark.parametrize("thread", [True, False])
def test_a_step_that_puts_off_what_no_table_takes_fails_alone(
    store: SqliteStore, *, thread: bool
) -> None:
    """However many steps share its batch, before it and after it."""

    def misuse(transaction: Transaction) -> None:
        transaction.put_sending_pair(OTHER_PAIR, SendingPair(reason=NO_TEXT), at=1)

    def step_of(number: int) -> Step:
        return lambda txn: submit(txn, message(f"n-{number}"))

    async def main() -> list[Any]:
        group = GroupCommit(store, on_failure=lambda _: None, thread=thread)
        steps = [step_of(number) for number in range(20)]
        steps[7] = steps[13] = misuse
        found = await asyncio.gather(*map(group.transact, steps), return_exceptions=True)
        await group.drain()
        return found

    found = asyncio.run(main())
    bugs = [number for number, one in enumerate(found) if isinstance(one, StoreMisusedBefore)]
    assert bugs == [7, 13]
    are_stored = [store.snapshot().find_outbound(f"n-{number}") for number in range(20)]
    assert [number for number, one in enumerate(are_stored) if one is None] == bugs
    assert store.find_untrue() == []


def test_a_read_after_such_a_write_does_not_hide_it(store: SqliteStore) -> None:
    """Whoever reads learns of it, and so does the commit: nothing of the batch is stored."""
    transaction = store.begin()
    transaction.put_sending_pair(PAIR, SendingPair(reason=NO_TEXT), at=1)
    for _ in range(2):
        with pytest.raises(StoreMisusedBefore):
            transaction.list_pairs()
    with pytest.raises(StoreMisusedBefore):
        store.commit()
    assert store.snapshot().get_sending_pair(PAIR) == USED


def test_a_row_that_no_table_takes_is_refused_before_the_commit(store: SqliteStore) -> None:
    """A bug that SQLite sees, and not Python."""
    transaction = store.begin()
    transaction.put_receiving_pair(ARRIVED, ReceivingPair(status="torn"))
    with pytest.raises(StoreMisusedBefore):
        store.seal()
    store.rollback()


def test_every_counted_word_has_its_column(store: SqliteStore, path: Path) -> None:
    """In the order in which the statements have them."""
    counted = re.findall(r"(\w+) = \1 \+ \?", SQL["put_counts"])
    assert counted == list(COUNTED)
    cursor = apsw.Connection(str(path)).execute(SQL["count_by_status"])
    assert [name for name, *_ in cursor.description] == list(COUNTED)
