"""What operators see of ordered conversations, and do about them (R-34)."""

from collections.abc import Iterator
from functools import partial

from onceonly.api import conversations as shapes
from onceonly.gateway.desk import Desk
from onceonly.gateway.incoming.handovers import HandOvers
from onceonly.gateway.shapes import instant
from onceonly.message.errors import LocalError
from onceonly.message.identity import ConversationKey, Pair
from onceonly.protocol.ordering import NUMBERS, OrderStatus, ReceivingOrder, SendingOrder
from onceonly.steps import holding, operating
from onceonly.store.contract.orders import ReceivingOrderView, SendingOrderView
from onceonly.store.contract.store import Snapshot

HELD_MAX = 1_000
"""Most messages shown of one conversation."""


class Conversations:
    """The operator's side of ordered conversations."""

    def __init__(self, *, desk: Desk, hand_overs: HandOvers) -> None:
        self._desk = desk
        self._hand_overs = hand_overs

    def list_waiting(self, limit: int) -> tuple[shapes.WaitingConversation, ...]:
        """Those that a message of ours blocks, then those in which something is missing."""
        snapshot = self._desk.snapshot()
        return (
            *map(self._sending_shape, snapshot.list_blocked_orders(limit)),
            *map(self._receiving_shape, snapshot.list_gaps(limit)),
        )

    def show(self, partner: str, conversation_id: str) -> shapes.ShownConversation:
        """Both directions, and what is not handed over. Raises `LocalError` (NotFound)."""
        snapshot = self._desk.snapshot()
        directions: list[shapes.WaitingConversation] = []
        held: list[shapes.HeldMessage] = []
        for pair in self._pairs_with(partner):
            there = ConversationKey(pair, conversation_id)
            sending = snapshot.get_sending_order(there)
            if sending != SendingOrder():
                directions.append(self._sending_shape(SendingOrderView(there, sending, 0)))
            back = _back(there)
            directions += self._receiving(snapshot, back)
            held += [
                shapes.HeldMessage(message_id=one.key.message_id, number=one.place % NUMBERS)
                for one in snapshot.list_placed(back, 0, HELD_MAX)
            ]
        if not directions:
            text = f"no ordered conversation {conversation_id!r} with {partner!r} is known"
            raise LocalError("NotFound", text)
        return shapes.ShownConversation(directions=tuple(directions), held=tuple(held))

    def _receiving(
        self, snapshot: Snapshot, conversation: ConversationKey
    ) -> Iterator[shapes.WaitingConversation]:
        state = snapshot.get_receiving_order(conversation)
        if state != ReceivingOrder():
            yield self._receiving_shape(ReceivingOrderView(conversation, state, None))

    async def reset(
        self,
        partner: str,
        conversation_id: str,
        *,
        anyway: str | None,
        actor: str,
        reason: str,
    ) -> tuple[str, ...]:
        """Go on without the message that blocks the conversation; returns its MessageId.

        Raises `LocalError` (NotFound, NotBlocked, InDoubt) and `StoreFull`.
        """
        conversation = self._blocked(partner, conversation_id)
        blocks = self._desk.snapshot().get_sending_order(conversation).in_turn
        await self._desk.run(
            partial(
                operating.reset_order,
                conversation=conversation,
                anyway=anyway,
                actor=actor,
                reason=reason,
            )
        )
        return () if blocks is None else (blocks,)

    async def release(
        self, partner: str, conversation_id: str, *, actor: str, reason: str
    ) -> tuple[str, ...]:
        """Hand over what waits after the gap; returns the MessageIds.

        Raises `LocalError` (NotFound, NotHeld) and `StoreFull`.
        """
        conversation = self._held(partner, conversation_id)
        return await self._hand_overs.release(conversation, actor=actor, reason=reason)

    async def drop(
        self, partner: str, conversation_id: str, *, actor: str, reason: str
    ) -> tuple[str, ...]:
        """Give up what waits after the gap; returns the MessageIds.

        Raises `LocalError` (NotFound, NotHeld) and `StoreFull`.
        """
        conversation = self._held(partner, conversation_id)
        owed = await self._desk.transact(
            partial(holding.drop, conversation=conversation, actor=actor, reason=reason)
        )
        for notice in owed:
            self._desk.failure_notices.release(notice)
        return tuple(notice.key.message_id for notice in owed)

    def _blocked(self, partner: str, conversation_id: str) -> ConversationKey:
        """The conversation with the partner that is blocked, or any with it."""
        found = [ConversationKey(pair, conversation_id) for pair in self._pairs_with(partner)]
        states = {one: self._desk.snapshot().get_sending_order(one) for one in found}
        blocked = [one for one in found if states[one].status is OrderStatus.BLOCKED]
        return (blocked or found)[0]

    def _held(self, partner: str, conversation_id: str) -> ConversationKey:
        pairs = self._pairs_with(partner)
        found = [_back(ConversationKey(pair, conversation_id)) for pair in pairs]
        snapshot = self._desk.snapshot()
        return next((one for one in found if snapshot.get_receiving_order(one).held), found[0])

    def _pairs_with(self, partner: str) -> list[Pair]:
        """The pairs on which we send to the partner. Raises `LocalError` (NotFound)."""
        pairs = {
            Pair(one.our_party, one.their_party)
            for one in self._desk.house.agreements
            if partner in map(str, one.their_ids)
        }
        if not pairs:
            raise LocalError("NotFound", f"no agreement is with {partner!r}")
        return sorted(pairs)

    def _sending_shape(self, view: SendingOrderView) -> shapes.WaitingConversation:
        state, pair = view.state, view.conversation.pair
        return shapes.WaitingConversation(
            conversation=view.conversation.conversation_id,
            partner=pair.to_party,
            partner_name=self._desk.house.agreements.name_of(pair.to_party),
            from_party=pair.from_party,
            to_party=pair.to_party,
            state="blocked" if state.status is OrderStatus.BLOCKED else "open",
            message_id=state.in_turn,
            number=state.next_number if state.in_turn is None else state.number,
            waiting=view.waiting,
            since=None,
        )

    def _receiving_shape(self, view: ReceivingOrderView) -> shapes.WaitingConversation:
        state, pair = view.state, view.conversation.pair
        return shapes.WaitingConversation(
            conversation=view.conversation.conversation_id,
            partner=pair.from_party,
            partner_name=self._desk.house.agreements.name_of(pair.from_party),
            from_party=pair.from_party,
            to_party=pair.to_party,
            state="gap" if state.held else "open",
            message_id=None,
            number=state.expected,
            waiting=state.held,
            since=instant(view.oldest_at),
        )


def _back(conversation: ConversationKey) -> ConversationKey:
    pair = conversation.pair
    return ConversationKey(Pair(pair.to_party, pair.from_party), conversation.conversation_id)
