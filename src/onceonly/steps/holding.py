"""Received messages of an ordered conversation: held, released, handed over in order (R-34).

`protocol/ordering` decides. A message has a row with its place until it is handed over, so that
nothing is remembered outside of the store: what may be handed over is read from the rows, whatever
step a crash cut.
"""

from collections.abc import Collection, Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.errors import LocalError, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.message.message import Message
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.protocol import ordering, schedule
from onceonly.protocol.effects import Effect, HandOver, Journal
from onceonly.protocol.ordering import ReceivingOrder, Taking
from onceonly.protocol.receiving import InboundStatus
from onceonly.steps.ground import Ground
from onceonly.store.contract.entries import InboundEntry, OwedNotice, Role
from onceonly.store.contract.orders import Placed
from onceonly.store.contract.store import Snapshot, Transaction

HELD_READ_MAX = 10_000
"""As many as an agreement may let wait in a conversation."""

FOLLOWING_MAX = 64
"""Most messages handed over in one step because an earlier one was, as of one pair."""

GAPS_BATCH = 100
"""Most gaps told to operators in one step."""


class Followed(Word):
    """A message that was handed over because an earlier one of its conversation was."""

    key: MessageKey
    agreement: Agreement
    effects: Sequence[Effect]


def conversation_of(message: Message) -> ConversationKey:
    """The conversation that the message belongs to."""
    return ConversationKey(message.pair, message.conversation_id)


def take(txn: Transaction, ground: Ground, message: Message, terms: DeliveryTerms) -> Taking | None:
    """What the number of a new message means; None if it has none that counts. Writes nothing."""
    if message.order is None or not terms.is_ordered:
        return None
    conversation = conversation_of(message)
    state = txn.get_receiving_order(conversation)
    held = [one.place for one in _held(txn, conversation, state)] if state.held else []
    return ordering.take(message.order, state, held, ground.now.at, terms)


def keep(
    txn: Transaction,
    ground: Ground,
    message: Message,
    taking: Taking,
    *,
    keep_until_at: int | None,
) -> None:
    """Write the place of a message that was just stored, and what it means to those held."""
    conversation = conversation_of(message)
    before = txn.get_receiving_order(conversation)
    txn.add_placed(conversation, Placed(taking.place, message.key))
    _put(txn, ground, conversation, before, taking.state, keep_until_at)
    if taking.released:
        assert message.order is not None, "only what has a number releases something"
        row = Journal(Event.RELEASED, reason=f"number {message.order.number} came")
        released = txn.list_placed(conversation, taking.released[0], len(taking.released))
        _note(txn, ground, released, row)


def _put(
    txn: Transaction,
    ground: Ground,
    conversation: ConversationKey,
    before: ReceivingOrder,
    after: ReceivingOrder,
    keep_until_at: int | None,
) -> None:
    if before.held and before.place != after.place:
        reason = ordering.gap_incident(conversation.conversation_id, before)
        txn.resolve_reason(Role.RECEIVER, conversation.pair, reason, at=ground.now.at)
    txn.put_receiving_order(conversation, after, keep_until_at=keep_until_at)


def is_in_turn(snapshot: Snapshot, key: MessageKey) -> bool:
    """Whether nothing of its conversation has to be handed over before it.

    True also for a message without an order.
    """
    found = snapshot.find_conversation(key)
    if found is None:
        return True
    conversation, place = found
    if place >= snapshot.get_receiving_order(conversation).place:
        return False
    (first,) = snapshot.list_placed(conversation, 0, 1)
    return first.place == place


def is_held(snapshot: Snapshot, key: MessageKey) -> bool:
    """Whether an earlier message of its conversation is missing."""
    found = snapshot.find_conversation(key)
    return found is not None and found[1] >= snapshot.get_receiving_order(found[0]).place


def hand_over(
    txn: Transaction, ground: Ground, key: MessageKey
) -> tuple[ConversationKey, int] | None:
    """Put the message into the inbox; returns its conversation and place if that has an order."""
    found = txn.find_conversation(key)
    txn.hand_over(key, at=ground.now.at)
    if found is not None:
        txn.remove_placed(key)
    return found


def hand_over_following(
    txn: Transaction,
    ground: Ground,
    conversation: ConversationKey,
    under_way: Collection[MessageKey],
) -> list[Followed]:
    """Hand over what follows in the conversation now, in order.

    `under_way`: messages whose acknowledgement is being sent; each is handed over after that, and
    what follows it with it (R-02). So nothing overtakes a message that is parked or withheld.
    """
    expected = txn.get_receiving_order(conversation).place
    done: list[Followed] = []
    for placed in txn.list_placed(conversation, 0, FOLLOWING_MAX):
        entry = txn.find_inbound(placed.key)
        is_ready = placed.place < expected and placed.key not in under_way
        if not is_ready or entry is None or not _goes_on(entry):
            break
        hand_over(txn, ground, placed.key)
        agreement = ground.house.agreement(entry.agreement_id)
        row = Journal(Event.HANDED_OVER, order_number=placed.place % ordering.NUMBERS)
        _append(txn, ground, placed.key, agreement, row, entry)
        done.append(Followed(placed.key, agreement, (HandOver(), row)))
    return done


def _goes_on(entry: InboundEntry) -> bool:
    is_stored = entry.status is InboundStatus.STORED
    return is_stored and entry.parked is None and not entry.is_withheld


def release(
    txn: Transaction,
    ground: Ground,
    conversation: ConversationKey,
    under_way: Collection[MessageKey],
    *,
    actor: str | None,
    reason: str,
) -> list[Followed]:
    """Jump the gap on an operator's word, and hand over what waits right after it.

    Raises `LocalError` (NotHeld).
    """
    state = txn.get_receiving_order(conversation)
    held = _held(txn, conversation, state)
    _check_held(conversation, held)
    terms = _terms_of(txn, ground, held[0].key)
    taking = ordering.release([one.place for one in held], ground.now.at, terms)
    assert taking is not None, "something is held"
    _put(txn, ground, conversation, state, taking.state, 0)
    row = Journal(Event.RELEASED, actor=actor, reason=reason)
    _note(txn, ground, held[: len(taking.released)], row)
    return hand_over_following(txn, ground, conversation, under_way)


def free_unordered(
    txn: Transaction, ground: Ground, under_way: Collection[MessageKey]
) -> list[Followed]:
    """Hand over what waits after a gap under an agreement that has no order any more.

    Called when the configuration may be another one, until it returns nothing; one gap in a step.
    """
    for view in txn.list_gaps(HELD_READ_MAX):
        (first, *_) = _held(txn, view.conversation, view.state)
        entry = txn.find_inbound(first.key)
        agreement = None if entry is None else ground.house.agreements.find(entry.agreement_id)
        if agreement is None or agreement.terms.is_ordered:
            continue
        done = release(txn, ground, view.conversation, under_way, actor=None, reason=_UNORDERED)
        while more := hand_over_following(txn, ground, view.conversation, under_way):
            done += more
        return done
    return []


_UNORDERED = "no order is agreed any more"


def drop(
    txn: Transaction, ground: Ground, conversation: ConversationKey, *, actor: str, reason: str
) -> list[OwedNotice]:
    """Give up what is held, on an operator's word; returns what its sender is told.

    Raises `LocalError` (NotHeld).
    """
    state = txn.get_receiving_order(conversation)
    held = _held(txn, conversation, state)
    _check_held(conversation, held)
    text = ordering.gap_incident(conversation.conversation_id, state)
    txn.resolve_reason(Role.RECEIVER, conversation.pair, text, at=ground.now.at)
    txn.put_receiving_order(conversation, ordering.drop(state), keep_until_at=0)
    _note(txn, ground, held, Journal(Event.DROPPED, actor=actor, reason=reason))
    return [_drop(txn, ground, placed.key, state) for placed in held]


def _forgettable_at(ground: Ground, message: Message) -> int | None:
    terms = ground.house.agreement(message.agreement_id).terms
    return schedule.forgettable_at(message.timestamp_at, ground.now, terms)


def _drop(txn: Transaction, ground: Ground, key: MessageKey, state: ReceivingOrder) -> OwedNotice:
    message = txn.find_inbound_message(key)
    assert message is not None, f"{key} is held"
    # With a tombstone, since a repeat must not be acknowledged: nobody will hand it over.
    txn.cancel_inbound(key, at=ground.now.at, keep_until_at=_forgettable_at(ground, message))
    notice = OwedNotice(
        key,
        message.agreement_id,
        message.conversation_id,
        message.semantics,
        Severity.WARNING,
        f"it was acknowledged, and waited for number {state.expected} of its conversation, which"
        " did not come; an operator here gave it up, so that it is not handed over",
    )
    txn.put_owed_notice(notice)
    return notice


def tell_gaps(txn: Transaction, ground: Ground) -> None:
    """Open an incident for each gap whose time has come."""
    now_at = ground.now.at
    for conversation in txn.list_gaps_due(now_at, GAPS_BATCH):
        state = txn.get_receiving_order(conversation)
        reason = ordering.gap_incident(conversation.conversation_id, state)
        txn.open_incident(Role.RECEIVER, conversation.pair, reason, at=now_at)
        told = changed(state, gap_due_at=None)
        txn.put_receiving_order(conversation, told, keep_until_at=0)


def _held(snapshot: Snapshot, conversation: ConversationKey, state: ReceivingOrder) -> list[Placed]:
    return [*snapshot.list_placed(conversation, state.place, HELD_READ_MAX)]


def _check_held(conversation: ConversationKey, held: Sequence[Placed]) -> None:
    if not held:
        text = f"no message of conversation {conversation.conversation_id!r} waits for an earlier"
        raise LocalError("NotHeld", text)


def _terms_of(txn: Transaction, ground: Ground, key: MessageKey) -> DeliveryTerms:
    entry = txn.find_inbound(key)
    assert entry is not None, f"{key} has a place"
    return ground.house.agreement(entry.agreement_id).terms


def _note(txn: Transaction, ground: Ground, of: Sequence[Placed], row: Journal) -> None:
    for placed in of:
        entry = txn.find_inbound(placed.key)
        assert entry is not None, f"{placed.key} has a place"
        agreement = ground.house.agreement(entry.agreement_id)
        numbered = changed(row, order_number=placed.place % ordering.NUMBERS)
        _append(txn, ground, placed.key, agreement, numbered, entry)


def _append(
    txn: Transaction,
    ground: Ground,
    key: MessageKey,
    agreement: Agreement,
    row: Journal,
    entry: InboundEntry,
) -> None:
    rows = ground.house.rows
    txn.append(
        (rows.about_message(key, agreement, Direction.IN, row, ground.now, digests=entry.digests),)
    )
