"""From the stored message to the application's inbox: the steps of a hand-over (R-02)."""

from collections import Counter
from collections.abc import Iterable, Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.errors import LocalError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import ConversationKey, MessageKey
from onceonly.message.message import AckRequested, Message
from onceonly.message.word import Word, changed
from onceonly.protocol import ordering, receiving
from onceonly.protocol.effects import Effect, HandOver, Journal, Withhold
from onceonly.protocol.events import Transmission
from onceonly.protocol.receiving import InboundStatus
from onceonly.steps import holding
from onceonly.steps.ground import Ground, House
from onceonly.steps.holding import Followed
from onceonly.steps.signals import Hop, hop_to
from onceonly.store.contract.entries import InboundEntry, Role
from onceonly.store.contract.store import Snapshot, Transaction


class Debt(Word):
    """A stored message that is still to be acknowledged and handed over."""

    key: MessageKey
    agreement: Agreement
    receipt: Hop | None = None
    """Where the delivery receipt goes that its sender asked for."""
    may_have_left: bool = False
    """The process stopped before it learned whether the acknowledgement left (R-12)."""


class Ready(Word):
    """A debt whose transmission of the acknowledgement ended, in whatever way."""

    debt: Debt
    transmission: Transmission
    is_asked_again: bool
    """Another copy needs an acknowledgement of its own, which has not been sent yet."""


def wants_receipt(message: Message) -> bool:
    """Whether the sender asked for a delivery receipt (seed 001 §2.1.1.1)."""
    return message.delivery_receipt_requested not in (None, AckRequested.NONE)


def debt_of(snapshot: Snapshot, house: House, key: MessageKey, agreement: Agreement) -> Debt:
    """The debt of a message that is known only from the store, with no copy at hand."""
    message = snapshot.find_inbound_message(key)
    if message is None or not wants_receipt(message):
        return Debt(key, agreement)
    return Debt(key, agreement, hop_to(house, agreement, message.conversation_id))


def hand_over(
    txn: Transaction,
    ground: Ground,
    ready: Sequence[Ready],
    in_line: Iterable[MessageKey] = (),
) -> list[tuple[Debt, Sequence[Effect]]]:
    """Note how the acknowledgements left, and hand the messages over (R-02, R-12).

    With what follows them in their ordered conversations (R-34). `in_line`: the message of each
    acknowledgement of the pair that is not done with, those of `ready` among them. A message that
    was ready before the one that it waits for is handed over with that one: nobody comes to it
    again.
    """
    done: list[tuple[Debt, Sequence[Effect]]] = []
    left = Counter(in_line)
    for one in ready:
        effects, conversation = _hand_over(txn, ground, one)
        done.append((one.debt, effects))
        left[one.debt.key] -= 1
        if conversation is not None:
            under_way = [key for key, count in left.items() if count > 0]
            following = holding.hand_over_following(txn, ground, conversation, under_way)
            done += debts_of(following)
    return done


def debts_of(following: Sequence[Followed]) -> list[tuple[Debt, Sequence[Effect]]]:
    """Messages that are handed over without a transmission of theirs, and what was done."""
    return [(Debt(one.key, one.agreement), one.effects) for one in following]


def _hand_over(
    txn: Transaction, ground: Ground, ready: Ready
) -> tuple[Sequence[Effect], ConversationKey | None]:
    debt = ready.debt
    entry = txn.find_inbound(debt.key)
    if entry is None or entry.parked is not None:
        return (), None  # Purged in between, as a repeat may be; or an operator has to look first.
    is_ordered = debt.agreement.terms.is_ordered and entry.status is InboundStatus.STORED
    _, effects = receiving.acknowledged(
        entry.status,
        ready.transmission,
        debt.agreement.terms,
        wants_receipt=debt.receipt is not None,
        may_have_left=debt.may_have_left,
        is_in_turn=not is_ordered or holding.is_in_turn(txn, debt.key),
    )
    conversation = None
    if HandOver() in effects and debt.agreement.profile.has_order:
        # Also where no order is agreed any more: its place must not be left for later messages.
        placed = holding.hand_over(txn, ground, debt.key)
        if placed is not None:
            conversation, place = placed
            effects = _with_number(effects, place)
    elif HandOver() in effects:
        txn.hand_over(debt.key, at=ground.now.at)
    # The acknowledgement of another copy may be on its way now; its outcome comes later.
    if Withhold() in effects and not ready.is_asked_again:
        txn.put_withheld(debt.key, is_withheld=True)
    _note(txn, ground, debt.key, debt.agreement, effects, entry.digests)
    return effects, conversation


def _with_number(effects: Sequence[Effect], place: int) -> tuple[Effect, ...]:
    number = place % ordering.NUMBERS
    return tuple(
        changed(one, order_number=number)
        if isinstance(one, Journal) and one.event is Event.HANDED_OVER
        else one
        for one in effects
    )


def expose(txn: Transaction, key: MessageKey) -> None:
    """Called before an acknowledgement is sent: from then on it may have left."""
    entry = txn.find_inbound(key)
    if entry is not None and entry.is_withheld:
        txn.put_withheld(key, is_withheld=False)


def take_up(txn: Transaction, ground: Ground, key: MessageKey, reason: str) -> InboundEntry:
    """An operator asks for it: a message that was parked or withheld goes on.

    Raises `LocalError` (NotFound, NotParked).
    """
    entry = txn.find_inbound(key)
    if entry is None:
        raise LocalError("NotFound", f"no message {key.message_id!r} is stored")
    if entry.status is not InboundStatus.STORED:
        raise LocalError("NotParked", f"the message is {entry.status}; nothing holds it up")
    if entry.parked is None and holding.is_held(txn, key):
        text = "it waits for an earlier message of its conversation: release or drop what is held"
        raise LocalError("NotParked", text)
    txn.put_parked(key, None)
    txn.resolve_parked(Role.RECEIVER, key.pair, key.message_id, at=ground.now.at)
    agreement = ground.house.agreement(entry.agreement_id)
    row = Journal(Event.TAKEN_UP, reason=reason)
    _note(txn, ground, key, agreement, (row,), entry.digests)
    return entry


def park(txn: Transaction, ground: Ground, key: MessageKey, reason: str) -> None:
    """A bug of ours met the message: it stays stored, and an operator is told (R-43).

    Its partner notices nothing: repeats are acknowledged as usual, and later messages of its pair
    go on.
    """
    entry = txn.find_inbound(key)
    if entry is None or entry.status is not InboundStatus.STORED:
        return
    txn.put_parked(key, reason)
    text = f"{reason} ({key.message_id})"
    txn.open_incident(Role.RECEIVER, key.pair, text, at=ground.now.at, message_id=key.message_id)
    agreement = ground.house.agreements.find(entry.agreement_id)
    if agreement is not None:
        row = Journal(Event.PARKED, reason=reason)
        _note(txn, ground, key, agreement, (row,), entry.digests)


def _note(
    txn: Transaction,
    ground: Ground,
    key: MessageKey,
    agreement: Agreement,
    effects: Iterable[Effect],
    digests: Digests | None,
) -> None:
    txn.append(
        ground.house.rows.about_message(
            key,
            agreement,
            Direction.IN,
            effect,
            ground.now,
            endpoint=agreement.send_to if effect.outcome else None,
            digests=digests,
        )
        for effect in effects
        if isinstance(effect, Journal)
    )
