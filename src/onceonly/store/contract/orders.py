"""The store's contract for ordered conversations (`ebms-2.0`, MessageOrder).

Rows are only for conversations whose order is agreed. A message that waits keeps its own row where
every message has it; what is here says for what it waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.message.word import Word
from onceonly.protocol.ordering import ReceivingOrder, SendingOrder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onceonly.message.identity import Pair
    from onceonly.store.contract.entries import OutboundEntry


class Placed(Word):
    """A received message that is not handed over yet, and its place in its conversation."""

    place: int
    key: MessageKey


class SendingOrderView(Word):
    """The sending side of a conversation as operators see it."""

    conversation: ConversationKey
    state: SendingOrder
    waiting: int
    """Messages that wait for their turn."""


class ReceivingOrderView(Word):
    """The receiving side of a conversation as operators see it."""

    conversation: ConversationKey
    state: ReceivingOrder
    oldest_at: int | None
    """When the first of the messages came that wait after a gap; None if none waits."""


class OrderSnapshot(Protocol):
    """Reads of ordered conversations."""

    def get_sending_order(self, conversation: ConversationKey) -> SendingOrder:
        """The sending side; a new one if nothing of it was ever ordered, or it was forgotten."""
        ...

    def find_end_of_numbers(self, conversation: ConversationKey) -> int | None:
        """Until when we count on; None: nothing is known of the conversation, or it has no end."""
        ...

    def get_receiving_order(self, conversation: ConversationKey) -> ReceivingOrder:
        """The receiving side; a new one if nothing of it ever came, or it was forgotten."""
        ...

    def find_next_queued(self, pair: Pair) -> OutboundEntry | None:
        """The longest-waiting queued message of the pair; none that awaits its conversation."""
        ...

    def find_next_in_order(self, conversation: ConversationKey) -> str | None:
        """MessageId of the message that has waited longest for the turn of its conversation."""
        ...

    def list_agreements_awaiting_order(self) -> Sequence[str]:
        """Each agreement under which a queued message awaits its conversation, by name."""
        ...

    def list_awaiting_order(self, agreement_id: str, limit: int) -> Sequence[str]:
        """MessageIds of queued messages of the agreement that await their conversations.

        By pair and ConversationId, and in a conversation the longest-waiting first.
        """
        ...

    def find_conversation(self, key: MessageKey) -> tuple[ConversationKey, int] | None:
        """The conversation and the place of a received message that is not handed over yet."""
        ...

    def list_placed(
        self, conversation: ConversationKey, from_place: int, limit: int
    ) -> Sequence[Placed]:
        """Received messages of the conversation that are not handed over yet, by their places."""
        ...

    def list_blocked_orders(self, limit: int) -> Sequence[SendingOrderView]:
        """Conversations of ours that a message blocks, by pair and ConversationId."""
        ...

    def list_gaps(self, limit: int) -> Sequence[ReceivingOrderView]:
        """Conversations in which messages wait after a gap, by pair and ConversationId."""
        ...

    def list_gaps_due(self, now_at: int, limit: int) -> Sequence[ConversationKey]:
        """Conversations with a gap that should have been told to an operator before `now_at`."""
        ...


class OrderTransaction(OrderSnapshot, Protocol):
    """Writes of ordered conversations."""

    def put_sending_order(
        self, conversation: ConversationKey, state: SendingOrder, *, keep_until_at: int | None
    ) -> None:
        """Replace the sending side; None keeps it for ever, also when it is idle."""
        ...

    def put_receiving_order(
        self, conversation: ConversationKey, state: ReceivingOrder, *, keep_until_at: int | None
    ) -> None:
        """Replace the receiving side.

        It is kept until the latest instant that was ever said; None keeps it for ever.
        """
        ...

    def put_awaited_order(self, message_id: str, conversation_id: str | None) -> None:
        """A queued message waits for its conversation; None: it is in the queue of its pair.

        Until then `find_next_queued` does not find it.
        """
        ...

    def add_placed(self, conversation: ConversationKey, placed: Placed) -> None:
        """Note the place of a message that was just stored. The place must be free."""
        ...

    def remove_placed(self, key: MessageKey) -> None:
        """The message is handed over. A cancelled one loses its place by itself."""
        ...

    def purge_orders(self, now_at: int, limit: int) -> int:
        """Forget at most `limit` conversations past `keep_until_at` in which nothing waits.

        Each side counts as one. Returns how many.
        """
        ...
