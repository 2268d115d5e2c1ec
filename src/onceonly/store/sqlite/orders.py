"""Ordered conversations in the SQLite store: the contract's `OrderSnapshot`.

Knows the columns of conversations; must not know what a number means.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in orders.py

from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from onceonly.message.identity import ConversationKey, MessageKey, Pair
from onceonly.protocol.ordering import OrderStatus, ReceivingOrder, SendingOrder
from onceonly.store.contract.orders import Placed, ReceivingOrderView, SendingOrderView
from onceonly.store.sqlite.asking import SqliteQuestions
from onceonly.store.sqlite.later import SqliteLater


def _to_sending_order(columns: Sequence[Any]) -> SendingOrder:
    status, next_number, in_turn, number, began = columns
    return SendingOrder(OrderStatus(status), next_number, in_turn, number, bool(began))


def _name(conversation: ConversationKey) -> tuple[str, str, str]:
    return *conversation.pair, conversation.conversation_id


def _to_conversation(columns: Sequence[str]) -> ConversationKey:
    from_party, to_party, conversation_id = columns
    return ConversationKey(Pair(from_party, to_party), conversation_id)


class SqliteOrderReading(SqliteQuestions):
    """Reads of conversations over one connection."""

    def get_sending_order(self, conversation: ConversationKey) -> SendingOrder:
        row = self._get("get_sending_order", *_name(conversation))
        return SendingOrder() if row is None else _to_sending_order(row)

    def find_end_of_numbers(self, conversation: ConversationKey) -> int | None:
        found: int | None = self._get("find_end_of_numbers", *_name(conversation))
        return found

    def get_receiving_order(self, conversation: ConversationKey) -> ReceivingOrder:
        row = self._get("get_receiving_order", *_name(conversation))
        return ReceivingOrder() if row is None else ReceivingOrder(*row)

    def find_next_in_order(self, conversation: ConversationKey) -> str | None:
        found: str | None = self._get("find_next_in_order", *_name(conversation))
        return found

    def list_agreements_awaiting_order(self) -> Sequence[str]:
        return [name for (name,) in self._list("list_agreements_awaiting_order")]

    def list_awaiting_order(self, agreement_id: str, limit: int) -> Sequence[str]:
        return [name for (name,) in self._list("list_awaiting_order", agreement_id, limit)]

    def find_conversation(self, key: MessageKey) -> tuple[ConversationKey, int] | None:
        row = self._get("find_conversation", key.message_id, *key.pair)
        return None if row is None else (ConversationKey(key.pair, row[0]), row[1])

    def list_placed(
        self, conversation: ConversationKey, from_place: int, limit: int
    ) -> Sequence[Placed]:
        rows = self._list("list_placed", *_name(conversation), from_place, limit)
        return [Placed(place, MessageKey(*conversation.pair, name)) for place, name in rows]

    def list_blocked_orders(self, limit: int) -> Sequence[SendingOrderView]:
        return [
            SendingOrderView(_to_conversation(row[:3]), _to_sending_order(row[3:8]), row[8])
            for row in self._list("list_blocked_orders", limit)
        ]

    def list_gaps(self, limit: int) -> Sequence[ReceivingOrderView]:
        return [
            ReceivingOrderView(_to_conversation(row[:3]), ReceivingOrder(*row[3:7]), row[7])
            for row in self._list("list_gaps", limit)
        ]

    def list_gaps_due(self, now_at: int, limit: int) -> Sequence[ConversationKey]:
        return [_to_conversation(row) for row in self._list("list_gaps_due", now_at, limit)]


class SqliteOrderWriting(SqliteLater, SqliteOrderReading):
    """Writes of conversations, on the one writer connection.

    Those that change the row of a message too are in `writing`, which counts messages.
    """

    def put_sending_order(
        self, conversation: ConversationKey, state: SendingOrder, *, keep_until_at: int | None
    ) -> None:
        self._write("put_sending_order", *_name(conversation), *astuple(state), keep_until_at)

    def put_receiving_order(
        self, conversation: ConversationKey, state: ReceivingOrder, *, keep_until_at: int | None
    ) -> None:
        self._write("put_receiving_order", *_name(conversation), *astuple(state), keep_until_at)

    def add_placed(self, conversation: ConversationKey, placed: Placed) -> None:
        self._write("add_placed", *_name(conversation), placed.place, placed.key.message_id)

    def remove_placed(self, key: MessageKey) -> None:
        self._write("remove_placed", key.message_id, *key.pair)

    def purge_orders(self, now_at: int, limit: int) -> int:
        sending = self._list("list_finished_sending_orders", now_at, limit)
        for name in sending:
            self._write("forget_sending_order", *name)
        receiving = self._list("list_finished_receiving_orders", now_at, limit - len(sending))
        for name in receiving:
            self._write("forget_receiving_order", *name)
        return len(sending) + len(receiving)
