"""Ordered conversations: what every store keeps of them, and when it forgets them (R-34)."""

from typing import Any

import pytest
from store_samples import (
    ACKNOWLEDGED,
    OTHER_PAIR,
    PAIR,
    QUEUED,
    commit,
    message,
    receive,
    submitted,
)

from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.protocol.ordering import NUMBERS, OrderStatus, ReceivingOrder, SendingOrder
from onceonly.store.contract.conditions import StoreMisused
from onceonly.store.contract.orders import Placed, ReceivingOrderView, SendingOrderView
from onceonly.store.contract.store import Store

HERE = ConversationKey(PAIR, "conversation-1")
ELSEWHERE = ConversationKey(PAIR, "conversation-2")
WITH_ANOTHER = ConversationKey(OTHER_PAIR, "conversation-1")
BUSY = SendingOrder(OrderStatus.BUSY, 8, "m-7", 7)
BLOCKED = SendingOrder(OrderStatus.BLOCKED, 1, "m-0", 0, began=True)
IDLE = SendingOrder(next_number=9)
GAP = ReceivingOrder(expected=3, epoch=2, held=1, gap_due_at=50)
AWAITED = 2 * NUMBERS + 3


def key(message_id: str) -> MessageKey:
    return MessageKey(*PAIR, message_id)


def arrive(store: Store, message_id: str, place: int, received_at: int = 10) -> None:
    """A message that is stored, and not handed over yet."""
    arrived = message(message_id)
    commit(
        store,
        lambda tx: receive(tx, arrived, response=None),
        lambda tx: tx.add_placed(HERE, Placed(place, arrived.key)),
    )


class TestSending:
    def test_a_conversation_that_was_never_seen_is_new(self, store: Store) -> None:
        assert store.snapshot().get_sending_order(HERE) == SendingOrder()
        assert store.snapshot().list_blocked_orders(10) == []

    @pytest.mark.parametrize("state", [BUSY, BLOCKED, IDLE])
    def test_the_state_of_each_conversation_is_kept(
        self, openings: Any, state: SendingOrder
    ) -> None:
        """Also over a restart, and neither for another one nor for another pair."""
        store = openings.open()
        commit(store, lambda tx: tx.put_sending_order(HERE, IDLE, keep_until_at=None))
        commit(store, lambda tx: tx.put_sending_order(HERE, state, keep_until_at=1))
        store.close()
        again = openings.open().snapshot()
        assert again.get_sending_order(HERE) == state
        for other in (ELSEWHERE, WITH_ANOTHER):
            assert again.get_sending_order(other) == SendingOrder()

    def test_a_message_that_awaits_its_conversation_is_not_the_next_of_its_pair(
        self, store: Store
    ) -> None:
        """Until it is let go; the longest-waiting one of a conversation comes first."""
        for name in ("m-1", "m-2", "m-3"):
            submitted(store, name, QUEUED)
        for name in ("m-1", "m-2"):
            commit(store, lambda tx, name=name: tx.put_awaited_order(name, "conversation-1"))
        snapshot = store.snapshot()
        assert snapshot.find_next_queued(PAIR).message_id == "m-3"
        assert snapshot.find_next_in_order(HERE) == "m-1"
        assert snapshot.list_agreements_awaiting_order() == ["tpa-1"]
        assert snapshot.list_awaiting_order("tpa-1", 10) == ["m-1", "m-2"]
        assert snapshot.list_awaiting_order("tpa-1", 1) == ["m-1"]
        assert snapshot.list_awaiting_order("tpa-2", 10) == []
        assert snapshot.find_next_in_order(ELSEWHERE) is None
        assert snapshot.find_next_in_order(WITH_ANOTHER) is None
        commit(store, lambda tx: tx.put_awaited_order("m-1", None))
        assert store.snapshot().find_next_queued(PAIR).message_id == "m-1"
        assert store.snapshot().find_next_in_order(HERE) == "m-2"

    def test_a_message_that_ended_awaits_nothing(self, store: Store) -> None:
        submitted(store, "m-1", QUEUED)
        commit(
            store,
            lambda tx: tx.put_awaited_order("m-1", "conversation-1"),
            lambda tx: tx.put_outbound("m-1", ACKNOWLEDGED, at=5),
        )
        assert store.snapshot().find_next_in_order(HERE) is None

    def test_blocked_conversations_are_listed_with_what_waits(self, store: Store) -> None:
        submitted(store, "m-1", QUEUED)
        commit(
            store,
            lambda tx: tx.put_awaited_order("m-1", "conversation-1"),
            lambda tx: tx.put_sending_order(ELSEWHERE, BLOCKED, keep_until_at=None),
            lambda tx: tx.put_sending_order(HERE, BLOCKED, keep_until_at=None),
            lambda tx: tx.put_sending_order(WITH_ANOTHER, BUSY, keep_until_at=None),
        )
        views = [SendingOrderView(HERE, BLOCKED, 1), SendingOrderView(ELSEWHERE, BLOCKED, 0)]
        assert store.snapshot().list_blocked_orders(10) == views
        assert store.snapshot().list_blocked_orders(1) == views[:1]

    def test_it_is_known_until_when_numbers_are_counted_on(self, store: Store) -> None:
        """Not of a conversation that nobody knows."""
        commit(store, lambda tx: tx.put_sending_order(HERE, IDLE, keep_until_at=7))
        assert store.snapshot().find_end_of_numbers(HERE) == 7
        assert store.snapshot().find_end_of_numbers(ELSEWHERE) is None


class TestReceiving:
    def test_the_state_of_each_conversation_is_kept(self, openings: Any) -> None:
        """Also over a restart."""
        store = openings.open()
        assert store.snapshot().get_receiving_order(HERE) == ReceivingOrder()
        commit(store, lambda tx: tx.put_receiving_order(HERE, GAP, keep_until_at=1))
        store.close()
        again = openings.open().snapshot()
        assert again.get_receiving_order(HERE) == GAP
        assert again.get_receiving_order(ELSEWHERE) == ReceivingOrder()

    def test_messages_are_listed_by_their_places(self, openings: Any) -> None:
        """Not by their arrival; from a place on."""
        store = openings.open()
        for name, place in (("m-9", AWAITED + 9), ("m-2", AWAITED + 2), ("m-0", 4)):
            arrive(store, name, place)
        store.close()
        snapshot = openings.open().snapshot()
        waiting = [Placed(AWAITED + 2, key("m-2")), Placed(AWAITED + 9, key("m-9"))]
        assert snapshot.list_placed(HERE, AWAITED, 10) == waiting
        assert snapshot.list_placed(HERE, 0, 1) == [Placed(4, key("m-0"))]
        assert snapshot.list_placed(ELSEWHERE, 0, 10) == []
        assert snapshot.find_conversation(key("m-9")) == (HERE, AWAITED + 9)
        assert snapshot.find_conversation(key("other")) is None

    def test_no_two_messages_have_one_place(self, store: Store) -> None:
        arrive(store, "m-1", 7)
        with pytest.raises(StoreMisused):
            store.begin().add_placed(HERE, Placed(7, key("m-2")))
        store.rollback()

    def test_what_is_removed_or_taken_back_has_no_place(self, store: Store) -> None:
        for number, name in enumerate(("m-1", "m-2")):
            arrive(store, name, number)
        commit(
            store,
            lambda tx: tx.remove_placed(key("m-1")),
            lambda tx: tx.remove_placed(key("m-1")),
            lambda tx: tx.cancel_inbound(key("m-2"), at=5, keep_until_at=None),
        )
        assert store.snapshot().list_placed(HERE, 0, 10) == []

    def test_gaps_are_listed_with_what_waits_longest(self, store: Store) -> None:
        """What is in order and only not handed over yet does not wait after the gap."""
        arrive(store, "m-2", AWAITED - 1)
        arrive(store, "m-5", AWAITED + 2)
        commit(
            store,
            lambda tx: tx.put_receiving_order(HERE, GAP, keep_until_at=None),
            lambda tx: tx.put_receiving_order(ELSEWHERE, ReceivingOrder(4), keep_until_at=None),
        )
        assert store.snapshot().list_gaps(10) == [ReceivingOrderView(HERE, GAP, 3_000_000)]

    def test_gaps_are_due_at_their_time(self, store: Store) -> None:
        earlier = ReceivingOrder(1, held=1, gap_due_at=40)
        told = ReceivingOrder(1, held=1)
        commit(
            store,
            lambda tx: tx.put_receiving_order(HERE, GAP, keep_until_at=None),
            lambda tx: tx.put_receiving_order(ELSEWHERE, earlier, keep_until_at=None),
            lambda tx: tx.put_receiving_order(WITH_ANOTHER, told, keep_until_at=None),
        )
        assert store.snapshot().list_gaps_due(51, 10) == [ELSEWHERE, HERE]
        assert store.snapshot().list_gaps_due(50, 10) == [ELSEWHERE]
        assert store.snapshot().list_gaps_due(51, 1) == [ELSEWHERE]


class TestForgetting:
    def test_a_conversation_is_forgotten_when_its_last_message_may_be(self, store: Store) -> None:
        """And not while something waits in it, nor for ever before its time (R-19, attack S11)."""
        empty = ReceivingOrder(4)
        arrive(store, "m-1", 3)
        commit(
            store,
            lambda tx: tx.put_sending_order(HERE, IDLE, keep_until_at=10),
            lambda tx: tx.put_sending_order(ELSEWHERE, BLOCKED, keep_until_at=10),
            lambda tx: tx.put_sending_order(WITH_ANOTHER, IDLE, keep_until_at=20),
            lambda tx: tx.put_receiving_order(HERE, empty, keep_until_at=10),
            lambda tx: tx.put_receiving_order(ELSEWHERE, empty, keep_until_at=15),
            lambda tx: tx.put_receiving_order(ELSEWHERE, empty, keep_until_at=10),
            lambda tx: tx.put_receiving_order(WITH_ANOTHER, empty, keep_until_at=None),
            lambda tx: tx.put_receiving_order(WITH_ANOTHER, empty, keep_until_at=10),
        )
        assert commit(store, lambda tx: tx.purge_orders(15, 10)) == [1]
        snapshot = store.snapshot()
        assert snapshot.get_sending_order(HERE) == SendingOrder()
        assert snapshot.get_sending_order(ELSEWHERE) == BLOCKED
        commit(store, lambda tx: tx.remove_placed(key("m-1")))
        assert commit(store, lambda tx: tx.purge_orders(21, 2)) == [2]
        assert commit(store, lambda tx: tx.purge_orders(21, 2)) == [1]
        snapshot = store.snapshot()
        assert snapshot.get_receiving_order(HERE) == ReceivingOrder()
        assert snapshot.get_receiving_order(ELSEWHERE) == ReceivingOrder()
        assert snapshot.get_receiving_order(WITH_ANOTHER) == empty
