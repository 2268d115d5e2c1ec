"""Whose turn it is in our ordered conversations, inside one transaction (R-34).

`protocol/ordering` decides; this file reads a conversation once, writes it once, and says which
event of it a change of a message is. `turn` passes on what follows for messages and pairs.
"""

from collections.abc import Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.event import Direction
from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.message.instant import US_PER_S
from onceonly.message.message import Message, MessageOrder
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import ordering
from onceonly.protocol.effects import Journal
from onceonly.protocol.ordering import (
    LetGo,
    LetNext,
    MessageArrived,
    MessageEnded,
    MessageGoesOn,
    MessageReplaced,
    MessageWaits,
    MessageWithdrawn,
    OrderEvent,
    SendingOrder,
    TellBlocked,
    TellOpen,
)
from onceonly.protocol.outbound import Exposure, Outbound, OutboundStatus
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Draft
from onceonly.steps.work import OrderWork
from onceonly.store.contract.entries import Role
from onceonly.store.contract.store import Transaction

FREED_BATCH = 200
"""Most messages that one step lets go, so that a step stays short while a backlog is freed."""


def is_ordered(agreement: Agreement) -> bool:
    """Whether our messages under the agreement are numbered; what we carry for others is not."""
    return agreement.terms.is_ordered and not agreement.is_route


def conversation_of(message: Message) -> ConversationKey:
    """The conversation that the message belongs to."""
    return ConversationKey(message.pair, message.conversation_id)


def event_of(message_id: str, before: Outbound, after: Outbound) -> OrderEvent | None:
    """What the change of a message is to its conversation; None if it is nothing."""
    if after.status is before.status:
        return None
    if after.status in (OutboundStatus.QUEUED, OutboundStatus.SENDING):
        is_again = before.status is OutboundStatus.IN_DOUBT
        return MessageGoesOn(message_id) if is_again else None
    return _end_of(message_id, after)


def _end_of(message_id: str, after: Outbound) -> OrderEvent | None:
    """What the end of a message is to its conversation; None if the message is under way."""
    if after.status in (OutboundStatus.QUEUED, OutboundStatus.SENDING):
        return None
    if after.status in (OutboundStatus.ACKNOWLEDGED, OutboundStatus.SENT):
        return MessageArrived(message_id)  # Of one that was sent, nothing more is awaited.
    is_unsent = after.exposure is Exposure.NEVER
    if after.status is OutboundStatus.CANCELLED and is_unsent:
        return MessageWithdrawn(message_id)
    return MessageEnded(message_id)


def order_news(
    agreement: Agreement, message_id: str, before: Outbound, after: Outbound
) -> tuple[OrderWork, ...]:
    """The work for the conversation of a message of ours that changed.

    Also if its agreement has no order any more: it may have had the turn since before, and messages
    under another agreement may wait for it.
    """
    event = None if agreement.is_route else event_of(message_id, before, after)
    return () if event is None else (OrderWork(message_id, event),)


def free_unordered(txn: Transaction, ground: Ground) -> int:
    """Let go what awaits a conversation under an agreement that has no order any more.

    Called when the configuration may be another one, until it returns 0: at most `FREED_BATCH`
    messages go into the queues of their pairs in one step. Returns how many.
    """
    freed = 0
    for agreement_id in txn.list_agreements_awaiting_order():
        agreement = ground.house.agreements.find(agreement_id)
        if agreement is not None and not is_ordered(agreement):
            for message_id in txn.list_awaiting_order(agreement_id, FREED_BATCH - freed):
                txn.put_awaited_order(message_id, None)
                freed += 1
    return freed


def _numbers_last_s(terms: DeliveryTerms) -> int:
    """How long after a number was given the next one may follow it.

    A receiver remembers the conversation for PersistDuration after a message of it came, and the
    next message may come until its verdict.
    """
    waits_s = terms.verdict_after_s or 0
    return max(terms.persist_duration_s - min(waits_s, terms.time_to_live_s or waits_s), 0)


class Conversations:
    """The working memory of one run: each conversation is read once and written once."""

    def __init__(self, txn: Transaction, ground: Ground) -> None:
        self._txn = txn
        self._ground = ground
        self._states: dict[ConversationKey, SendingOrder] = {}
        self._changed: dict[ConversationKey, Agreement] = {}
        self._numbered: set[ConversationKey] = set()
        self.is_changed = False
        """Whether there is something to write."""

    def _state(self, conversation: ConversationKey) -> SendingOrder:
        """The conversation as this run sees it."""
        found = self._states.get(conversation)
        return self._txn.get_sending_order(conversation) if found is None else found

    def tell(
        self, message_id: str, draft: Draft | None, event: OrderEvent, agreement: Agreement
    ) -> Sequence[str]:
        """Tell the conversation of the message; returns whoever may wait for a turn of its pair.

        A new message waits for its conversation first, where its pair does not see it.
        """
        conversation = self._find(message_id, draft)
        waits = event.by if isinstance(event, MessageReplaced) else message_id
        if isinstance(event, MessageWaits | MessageReplaced):
            self._txn.put_awaited_order(waits, conversation.conversation_id)
            gone = self._catch_up(conversation, agreement)
            return [*gone, *self._step(conversation, event, agreement)]
        return self._step(conversation, event, agreement)

    def _catch_up(self, conversation: ConversationKey, agreement: Agreement) -> Sequence[str]:
        """Tell the conversation how the message in turn ended, if that was not told.

        While no order was agreed with the partner, nobody told it. Only whoever comes to wait asks,
        so that messages without an order need no look at conversations.
        """
        in_turn = self._state(conversation).in_turn
        if in_turn is None:
            return ()
        entry = self._txn.find_outbound(in_turn)
        # What is forgotten by now had ended, and its PersistDuration is over.
        end = MessageArrived(in_turn) if entry is None else _end_of(in_turn, entry.state)
        return () if end is None else self._step(conversation, end, agreement)

    def has_turn(self, message_id: str) -> bool:
        """Whether it is the turn of the message in its conversation."""
        return self._state(self._find(message_id, None)).in_turn == message_id

    def numbered(self, message_id: str, draft: Draft | None, row: Journal) -> Journal:
        """The row about a transmission, with the number of the message if it has the turn."""
        state = self._state(self._find(message_id, draft))
        return changed(row, order_number=state.number) if state.in_turn == message_id else row

    def _find(self, message_id: str, draft: Draft | None) -> ConversationKey:
        if draft is not None and draft.message.message_id == message_id:
            return conversation_of(draft.message)
        view = self._txn.find_outbound_view(message_id)
        assert view is not None, f"{message_id} is not stored"
        return conversation_of(view.message)

    def number_of(self, message: Message) -> MessageOrder | None:
        """The number that the message has, or gets now, if it is its turn."""
        conversation = conversation_of(message)
        state = self._state(conversation)
        if state.in_turn != message.message_id:
            return None
        return ordering.number_for(self._in_time(conversation, state))

    def _in_time(self, conversation: ConversationKey, state: SendingOrder) -> SendingOrder:
        """The conversation, which begins new numbers where its receiver may have forgotten them.

        Nothing of it is under way or in doubt, so that a Reset jumps nothing.
        """
        end_at = self._txn.find_end_of_numbers(conversation)
        is_over = end_at is not None and end_at < self._ground.now.at
        return ordering.forgotten(state) if is_over else state

    def give_number(self, message: Message, agreement: Agreement) -> None:
        """The package of the message is made: its number is used."""
        conversation = conversation_of(message)
        state = ordering.numbered(self._in_time(conversation, self._state(conversation)))
        self._put(conversation, state, agreement)
        self._numbered.add(conversation)

    def _step(
        self, conversation: ConversationKey, event: OrderEvent, agreement: Agreement
    ) -> Sequence[str]:
        """Run the machine; returns the messages that may go into the queue of their pair."""
        state, effects = ordering.step(self._state(conversation), event)
        self._put(conversation, state, agreement)
        gone: list[str] = []
        for effect in effects:
            match effect:
                case LetGo(message_id):
                    self._txn.put_awaited_order(message_id, None)
                    gone.append(message_id)
                case LetNext():
                    waiting = self._txn.find_next_in_order(conversation)
                    if waiting is not None:
                        gone += self._step(conversation, MessageWaits(waiting), agreement)
                case TellBlocked(message_id):
                    reason = ordering.blocked_incident(conversation.conversation_id, message_id)
                    at = self._ground.now.at
                    self._txn.open_incident(Role.SENDER, conversation.pair, reason, at=at)
                case TellOpen(message_id):
                    reason = ordering.blocked_incident(conversation.conversation_id, message_id)
                    at = self._ground.now.at
                    self._txn.resolve_reason(Role.SENDER, conversation.pair, reason, at=at)
                case Journal():
                    self._note(conversation, state.in_turn or "", agreement, effect)
        return gone

    def _note(
        self, conversation: ConversationKey, message_id: str, agreement: Agreement, effect: Journal
    ) -> None:
        rows, now = self._ground.house.rows, self._ground.now
        if message_id:
            key = MessageKey(*conversation.pair, message_id)
            row = rows.about_message(key, agreement, Direction.OUT, effect, now)
        else:
            row = rows.about_pair(conversation.pair, None, Direction.OUT, effect, now)
        row = rows.of_conversation(row, conversation)
        self._txn.append((row,))

    def _put(
        self, conversation: ConversationKey, state: SendingOrder, agreement: Agreement
    ) -> None:
        if state != self._state(conversation):
            self._states[conversation] = state
            self._changed[conversation] = agreement
            self.is_changed = True

    def write(self) -> None:
        """Write what changed since the last call."""
        for conversation, agreement in self._changed.items():
            end_at = None
            if conversation not in self._numbered:
                end_at = self._txn.find_end_of_numbers(conversation)
            if end_at is None:
                end_at = self._ground.now.at + _numbers_last_s(agreement.terms) * US_PER_S
            state = self._states[conversation]
            self._txn.put_sending_order(conversation, state, keep_until_at=end_at)
        self._changed.clear()
        self._numbered.clear()
        self.is_changed = False
