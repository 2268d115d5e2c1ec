"""The store's contract on messages that are in the inbox more than once, as somebody asked for."""

from typing import Any

from store_samples import BODY, commit, handed_over, message, receive, spooled, stored

from onceonly.message.word import changed
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.store.contract.entries import Repetition
from onceonly.store.contract.store import Store

COMPLETE = ProcessingState.COMPLETE


def again(store: Store, offset: int, at: int = 20) -> int:
    [new] = commit(store, lambda tx: tx.hand_over_again(offset, at=at))
    return int(new)


def test_a_repetition_is_the_same_message_at_a_new_offset(store: Store) -> None:
    """Header, payloads and digests are those of the first; it is not started."""
    parts = (stored(BODY), spooled(10**8, "f" * 64), stored(b"x", 3))
    arrived = message("m-1", *parts)
    commit(store, lambda tx: receive(tx, arrived, *parts))
    [first] = commit(store, lambda tx: tx.hand_over(arrived.key, at=9))
    commit(store, lambda tx: tx.put_processing(first, COMPLETE), lambda tx: tx.put_refused(first))
    new = again(store, first)
    snapshot = store.snapshot()
    one, other = snapshot.find_inbox_item(first), snapshot.find_inbox_item(new)
    assert one is not None
    assert new == snapshot.last_offset() == first + 1
    assert other == changed(
        one,
        offset=new,
        handed_over_at=20,
        processing=ProcessingState.NOT_STARTED,
        repeats=Repetition(1, first, 9),
    )
    assert list(snapshot.list_inbox_payloads(new)) == list(parts)
    assert list(snapshot.list_inbox(first, 9)) == [other]
    standing = snapshot.find_inbox_standing(new)
    assert standing is not None
    assert not standing.is_refused
    assert snapshot.count_by_status()["handed_over"] == 2


def test_repetitions_are_counted(store: Store) -> None:
    """Whether the first or a later hand-over is named; each remembers the first one."""
    first = handed_over(store, "m-1")
    other = handed_over(store, "m-2")
    offsets = [again(store, first), again(store, first)]
    offsets += [again(store, offsets[0]), again(store, other)]
    items = [store.snapshot().find_inbox_item(offset) for offset in offsets]
    assert [item and item.repeats for item in items] == [
        Repetition(1, first, 9),
        Repetition(2, first, 9),
        Repetition(3, first, 9),
        Repetition(1, other, 9),
    ]


def test_a_repetition_is_no_duplicate_of_anything(store: Store) -> None:
    """What takes a key finds the message that came, and its state, as before (R-01, I44)."""
    first = handed_over(store, "m-1")
    key = message("m-1").key
    commit(store, lambda tx: tx.put_processing(first, COMPLETE))
    new = again(store, first)
    snapshot = store.snapshot()
    entry = snapshot.find_inbound(key)
    assert entry is not None
    assert (entry.status, entry.processing) == (InboundStatus.HANDED_OVER, COMPLETE)
    assert snapshot.find_inbound_without_key(key) is None
    assert commit(store, lambda tx: tx.hand_over(key, at=99)) == [first]
    assert list(snapshot.list_inbox(0, 9))[-1].offset == new


def test_a_message_id_names_the_newest_item_of_its_message(store: Store) -> None:
    """Repetitions of one message are no other message; those of another one are."""
    first = handed_over(store, "m-1")
    assert store.snapshot().find_newest_offset(first) is None
    offsets = [again(store, first), again(store, first)]
    assert list(store.snapshot().list_inbox_offsets("m-1", 9)) == offsets[1:]
    commit(store, lambda tx: receive(tx, message("m-1"), has_key=False))
    other = store.snapshot().last_offset()
    offsets.append(again(store, offsets[0]))
    snapshot = store.snapshot()
    assert list(snapshot.list_inbox_offsets("m-1", 9)) == [other, offsets[2]]
    assert [snapshot.find_newest_offset(one) for one in (first, *offsets)] == [offsets[2]] * 4
    assert snapshot.find_newest_offset(other) is None
    assert snapshot.find_newest_offset(99) is None


def test_one_without_a_key_is_found_as_it_came(store: Store) -> None:
    """A partner that asks about a BestEffort message hears of that one (R-16)."""
    mine = message("m-1")
    commit(store, lambda tx: receive(tx, mine, has_key=False))
    [first] = store.snapshot().list_inbox_offsets("m-1", 9)
    commit(store, lambda tx: tx.put_processing(first, COMPLETE))
    again(store, first)
    found = store.snapshot().find_inbound_without_key(mine.key)
    assert found is not None
    assert found.processing is COMPLETE
    assert commit(store, lambda tx: tx.hand_over(mine.key, at=99)) == [first]


def test_each_is_purged_for_itself(store: Store) -> None:
    """The first one's end takes nothing from a repetition that is still to be worked on."""
    parts = (stored(BODY), spooled(10**8, "f" * 64))
    arrived = message("m-1", *parts)
    commit(store, lambda tx: receive(tx, arrived, *parts, keep_until_at=5))
    [first] = commit(store, lambda tx: tx.hand_over(arrived.key, at=9))
    commit(store, lambda tx: tx.put_processing(first, COMPLETE))
    new = again(store, first)
    assert commit(store, lambda tx: tx.purge_inbound(6, 10)) == [1]
    assert store.snapshot().find_inbox_item(first) is None
    assert list(store.snapshot().list_inbox_payloads(new)) == list(parts)
    assert store.snapshot().is_spooled("f" * 64)
    commit(store, lambda tx: tx.put_processing(new, COMPLETE))
    assert commit(store, lambda tx: tx.purge_inbound(6, 10)) == [1]
    assert not store.snapshot().is_spooled("f" * 64)
    assert list(store.snapshot().list_inbox(0, 9)) == []


def test_a_repetition_survives_a_restart(openings: Any) -> None:
    """And no offset is given twice."""
    store = openings.open()
    first = handed_over(store, "m-1")
    new = again(store, first)
    store.close()
    store = openings.open()
    item = store.snapshot().find_inbox_item(new)
    assert item.repeats == Repetition(1, first, 9)
    assert store.snapshot().find_inbound_without_key(message("m-1").key) is None
    assert handed_over(store, "m-2") == new + 1
