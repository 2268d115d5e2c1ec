"""Ordered conversations in the store of simulations: `OrderSnapshot` and `OrderTransaction`.

Knows the rows of conversations; must not know what a number means.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in orders.py

from collections.abc import Sequence

from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.message.word import changed
from onceonly.protocol.ordering import OrderStatus, ReceivingOrder, SendingOrder
from onceonly.protocol.outbound import OutboundStatus
from onceonly.store.contract.conditions import StoreMisused
from onceonly.store.contract.orders import Placed, ReceivingOrderView, SendingOrderView
from onceonly.store.contract.rules import later_of
from onceonly.store.memory.api_keys import MemoryKeyReading, MemoryKeyWriting
from onceonly.store.memory.tables import InboundRow, OutboundRow


def _name(conversation: ConversationKey) -> tuple[str, str, str]:
    return *conversation.pair, conversation.conversation_id


class MemoryOrderReading(MemoryKeyReading):
    """Reads of conversations over tables."""

    def get_sending_order(self, conversation: ConversationKey) -> SendingOrder:
        row = self._tables.sending_orders.get(conversation)
        return SendingOrder() if row is None else row[0]

    def find_end_of_numbers(self, conversation: ConversationKey) -> int | None:
        row = self._tables.sending_orders.get(conversation)
        return None if row is None else row[1]

    def get_receiving_order(self, conversation: ConversationKey) -> ReceivingOrder:
        row = self._tables.receiving_orders.get(conversation)
        return ReceivingOrder() if row is None else row[0]

    def find_next_in_order(self, conversation: ConversationKey) -> str | None:
        waiting = self._list_awaiting(conversation)
        return waiting[0].message.message_id if waiting else None

    def _list_awaiting(self, conversation: ConversationKey) -> list[OutboundRow]:
        return [
            row
            for row in self._tables.outbound.values()
            if row.state.status is OutboundStatus.QUEUED
            and row.message.pair == conversation.pair
            and row.awaits_in == conversation.conversation_id
        ]

    def _list_all_awaiting(self) -> list[OutboundRow]:
        return [
            row
            for row in self._tables.outbound.values()
            if row.state.status is OutboundStatus.QUEUED and row.awaits_in is not None
        ]

    def list_agreements_awaiting_order(self) -> Sequence[str]:
        return sorted({row.message.agreement_id for row in self._list_all_awaiting()})

    def list_awaiting_order(self, agreement_id: str, limit: int) -> Sequence[str]:
        found = [
            row for row in self._list_all_awaiting() if row.message.agreement_id == agreement_id
        ]
        found.sort(key=lambda row: (*row.message.pair, row.awaits_in))
        return [row.message.message_id for row in found[:limit]]

    def find_conversation(self, key: MessageKey) -> tuple[ConversationKey, int] | None:
        for (conversation, place), placed in self._tables.places.items():
            if placed == key:
                return conversation, place
        return None

    def list_placed(
        self, conversation: ConversationKey, from_place: int, limit: int
    ) -> Sequence[Placed]:
        found = [
            Placed(place, key)
            for (other, place), key in self._tables.places.items()
            if other == conversation and place >= from_place
        ]
        return sorted(found, key=lambda one: one.place)[:limit]

    def list_blocked_orders(self, limit: int) -> Sequence[SendingOrderView]:
        found = [
            SendingOrderView(conversation, state, len(self._list_awaiting(conversation)))
            for conversation, (state, _) in self._tables.sending_orders.items()
            if state.status is OrderStatus.BLOCKED
        ]
        return sorted(found, key=lambda view: _name(view.conversation))[:limit]

    def list_gaps(self, limit: int) -> Sequence[ReceivingOrderView]:
        found = [
            ReceivingOrderView(conversation, state, self._oldest_at(conversation, state))
            for conversation, (state, _) in self._tables.receiving_orders.items()
            if state.held
        ]
        return sorted(found, key=lambda view: _name(view.conversation))[:limit]

    def _oldest_at(self, conversation: ConversationKey, state: ReceivingOrder) -> int | None:
        rows = (
            self._row_of(placed.key)
            for placed in self.list_placed(conversation, state.place, len(self._tables.places))
        )
        return min((row.received_at for row in rows), default=None)

    def _row_of(self, key: MessageKey) -> InboundRow:
        return self._tables.inbound[self._tables.known[key]]

    def list_gaps_due(self, now_at: int, limit: int) -> Sequence[ConversationKey]:
        due = [
            (state.gap_due_at, _name(conversation), conversation)
            for conversation, (state, _) in self._tables.receiving_orders.items()
            if state.gap_due_at is not None and state.gap_due_at < now_at
        ]
        return [conversation for *_, conversation in sorted(due, key=lambda one: one[:2])][:limit]


class MemoryOrderWriting(MemoryKeyWriting, MemoryOrderReading):
    """Writes of conversations over pending tables."""

    def put_sending_order(
        self, conversation: ConversationKey, state: SendingOrder, *, keep_until_at: int | None
    ) -> None:
        self._put(self._tables.sending_orders, conversation, (state, keep_until_at))

    def put_receiving_order(
        self, conversation: ConversationKey, state: ReceivingOrder, *, keep_until_at: int | None
    ) -> None:
        _, before = self._tables.receiving_orders.get(conversation, (None, keep_until_at))
        row = (state, later_of(before, keep_until_at))
        self._put(self._tables.receiving_orders, conversation, row)

    def put_awaited_order(self, message_id: str, conversation_id: str | None) -> None:
        row = changed(self._tables.outbound[message_id], awaits_in=conversation_id)
        self._put(self._tables.outbound, message_id, row)

    def add_placed(self, conversation: ConversationKey, placed: Placed) -> None:
        name = (conversation, placed.place)
        if name in self._tables.places:
            raise StoreMisused(f"there is a message at {name!r} already")
        self._put(self._tables.places, name, placed.key)

    def remove_placed(self, key: MessageKey) -> None:
        found = self.find_conversation(key)
        if found is not None:
            self._remove(self._tables.places, found)

    def purge_orders(self, now_at: int, limit: int) -> int:
        busy = {conversation for conversation, _ in self._tables.places}
        sending = [
            name
            for name, (state, until_at) in self._tables.sending_orders.items()
            if state.status is OrderStatus.IDLE and until_at is not None and until_at < now_at
        ][:limit]
        for name in sending:
            self._remove(self._tables.sending_orders, name)
        receiving = [
            name
            for name, (_, until_at) in self._tables.receiving_orders.items()
            if until_at is not None and until_at < now_at and name not in busy
        ][: limit - len(sending)]
        for name in receiving:
            self._remove(self._tables.receiving_orders, name)
        return len(sending) + len(receiving)
