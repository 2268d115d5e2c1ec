"""From the stored message to the application's inbox: the steps of a hand-over (R-02)."""

from collections.abc import Iterable, Sequence

from onceonly.message.agreement import Agreement
from onceonly.message.digest import Digests
from onceonly.message.errors import LocalError
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey
from onceonly.message.message import AckRequested, Message
from onceonly.message.word import Word
from onceonly.protocol import receiving
from onceonly.protocol.effects import Effect, HandOver, Journal, Withhold
from onceonly.protocol.events import Transmission
from onceonly.protocol.receiving import InboundStatus
from onceonly.steps.ground import Ground, House
from onceonly.steps.signals import Hop, hop_to
from onceonly.store.contract.entries import InboundEntry, Role
from onceonly.store.contract.store import Snapshot, Transaction


class Debt(Word):
    """A stored message whose partner and whose application have to hear of it."""

    key: MessageKey
    agreement: Agreement
    receipt: Hop | None = None
    """The way of the delivery receipt that its sender asked for."""
    may_have_left: bool = False
    """An earlier life did not learn how its acknowledgement left (R-12)."""


class Ready(Word):
    """A debt whose acknowledgement has left, or has not and never will."""

    debt: Debt
    transmission: Transmission
    is_asked_again: bool
    """Another copy asks for an acknowledgement of its own, which is still to leave."""


def wants_receipt(message: Message) -> bool:
    """Whether the sender asked for a delivery receipt (seed 001 §2.1.1.1)."""
    return message.delivery_receipt_requested not in (None, AckRequested.NONE)


def debt_of(snapshot: Snapshot, house: House, key: MessageKey, agreement: Agreement) -> Debt:
    """What is owed for a message of which no copy is at hand, only what the store knows."""
    message = snapshot.find_inbound_message(key)
    if message is None or not wants_receipt(message):
        return Debt(key, agreement)
    return Debt(key, agreement, hop_to(house, agreement, message.conversation_id))


def hand_over(
    txn: Transaction, ground: Ground, ready: Sequence[Ready]
) -> list[tuple[Debt, Sequence[Effect]]]:
    """Note how the acknowledgements left, and hand the messages over (R-02, R-12)."""
    return [(one.debt, _hand_over(txn, ground, one)) for one in ready]


def _hand_over(txn: Transaction, ground: Ground, ready: Ready) -> Sequence[Effect]:
    debt = ready.debt
    entry = txn.find_inbound(debt.key)
    if entry is None or entry.parked is not None:
        return ()  # Purged meanwhile, as a repeat may be; or an operator has to look first.
    _, effects = receiving.acknowledged(
        entry.status,
        ready.transmission,
        debt.agreement.terms,
        wants_receipt=debt.receipt is not None,
        may_have_left=debt.may_have_left,
    )
    if HandOver() in effects:
        txn.hand_over(debt.key, at=ground.now.at)
    # What another copy asked for may be leaving in this moment; how that ends comes later.
    if Withhold() in effects and not ready.is_asked_again:
        txn.put_withheld(debt.key, is_withheld=True)
    _note(txn, ground, debt.key, debt.agreement, effects, entry.digests)
    return effects


def expose(txn: Transaction, key: MessageKey) -> None:
    """Before an acknowledgement leaves: from here on nobody can be certain that none did."""
    entry = txn.find_inbound(key)
    if entry is not None and entry.is_withheld:
        txn.put_withheld(key, is_withheld=False)


def take_up(txn: Transaction, ground: Ground, key: MessageKey, reason: str) -> InboundEntry:
    """On an operator's word: what was parked or withheld goes on.

    Raises `LocalError` (NotFound, NotParked).
    """
    entry = txn.find_inbound(key)
    if entry is None:
        raise LocalError("NotFound", f"no message {key.message_id!r} is stored")
    if entry.status is not InboundStatus.STORED:
        raise LocalError("NotParked", f"the message is {entry.status}; nothing holds it up")
    txn.put_parked(key, None)
    txn.resolve_parked(Role.RECEIVER, key.pair, key.message_id, at=ground.now.at)
    agreement = ground.house.agreement(entry.agreement_id)
    row = Journal(Event.TAKEN_UP, reason=reason)
    _note(txn, ground, key, agreement, (row,), entry.digests)
    return entry


def park(txn: Transaction, ground: Ground, key: MessageKey, reason: str) -> None:
    """A bug of ours met it: it stays stored, its partner hears nothing else, an operator does.

    Repeats of it are acknowledged as ever; what is behind it in its pair goes on (R-43).
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
