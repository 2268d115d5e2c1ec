"""The order of the messages of one conversation (`ebms-2.0`, MessageOrder), on both sides.

The theory
----------
What is promised: application messages of one ConversationId from one party are handed over in the
order of their numbers, or not at all (R-34). A number is nothing but an order: which copies are one
message is decided by the MessageId before anybody asks for a number (R-01).

**The sender** has one message of a conversation under way at a time. So no message is ever
acknowledged before an earlier one, and no receiver is left with a gap of ours; conversations do not
wait for one another. The conversation gives the turn to one message, which then waits in the queue
of its pair like any other. A number is given at the first transmission: first Reset 0, then 1, 2 …,
and after 99,999,999 comes 0 again.

    idle         nothing of the conversation is under way
    busy         one message has the turn; the others stay queued
    blocked      that message ended without an acknowledgement: the partner may have it or not, so
                 that nothing may follow it. Whatever shows that it arrived opens the conversation;
                 else an operator sends the message again, or begins new numbers (Reset). A message
                 that was taken back before a byte left blocks nothing, and gives its number back

A receiver does not remember a conversation for ever. Where it may have forgotten it by the time
when the next message comes, that message begins new numbers; all before it had their
acknowledgements.

A Reset says that what came before is over. It is refused while a message is under way. A message in
doubt would have to be settled first, since a later copy of it would carry a number of the numbers
that are over; `steps` sees to that.

**The receiver** keeps which number it expects. Numbers are counted through: the *place* of a
message is its number plus 100,000,000 for each time that the numbers began again, by a Reset or
after 99,999,999. So places only grow, and "in order" means "by place". What arrives, after the test
for repeats and age:

    the expected number            open: stored, acknowledged, handed over; and held messages that
                                   now follow are released with it, in order
    a later number                 held: stored and acknowledged, not handed over. The
                                   acknowledgement says "I have it", not "the application has it"
    a number that is held          refused, Inconsistent: two messages with one number
    an earlier number              refused, Inconsistent: the number was used
    0 Reset, first of all          as the expected 0
    0 Reset, nothing held          the numbers begin again
    0 Reset, over a gap            refused, Inconsistent: the Reset would jump it
    0 Continue, first of all       taken as a beginning, since some senders never say Reset
    a later number, first of all   held: the conversation may have begun elsewhere
    any other number, Reset        refused, Inconsistent
    more than may be held          refused, DeliveryFailure: not stored and not acknowledged, so
                                   that the sender knows that it still has the only copy
    0 Continue after 99,999,999    the expected number

Nobody jumps a gap but an operator: he releases what waits after it, or drops what is held, and the
sender is told of each message that is dropped. An incident opens once a gap has been there for a
time that was agreed; nothing else ever happens by itself.

Must not know where conversations are stored, nor how a message gets into an inbox.
"""

from collections.abc import Callable, Sequence
from enum import Enum, StrEnum
from typing import Any, Final

from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S
from onceonly.message.message import MESSAGE_ORDER_MAX, MessageOrder
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import Word, changed
from onceonly.protocol.effects import Journal
from onceonly.protocol.outbound import IllegalStep

NUMBERS: Final = MESSAGE_ORDER_MAX + 1
"""How many numbers there are before 0 comes again."""

# --- The sender ---------------------------------------------------------------------------------


class OrderStatus(StrEnum):
    """Condition of the sending side of a conversation."""

    IDLE = "idle"
    BUSY = "busy"
    BLOCKED = "blocked"


class SendingOrder(Word):
    """The durable state of the sending side of a conversation."""

    status: OrderStatus = OrderStatus.IDLE
    next_number: int | None = None
    """The number of the next message; None: it begins the numbers, with Reset 0."""
    in_turn: str | None = None
    """The message that has the turn; where the conversation is blocked, the one that blocks it."""
    number: int | None = None
    """The number of that message; None until its first transmission."""
    began: bool = False
    """That number is a Reset."""


class MessageWaits(Word):
    """A message of the conversation waits for its turn."""

    message_id: str


class MessageArrived(Word):
    """The partner has the message."""

    message_id: str


class MessageWithdrawn(Word):
    """The message was taken back, and no byte of it had left."""

    message_id: str


class MessageEnded(Word):
    """The message is not acknowledged, and nothing of it is sent any more for now."""

    message_id: str


class MessageGoesOn(Word):
    """The message that ended without an acknowledgement is sent again, the same bytes."""

    message_id: str


class MessageReplaced(Word):
    """A new message has the content of one that ended; `is_certain`: that never arrived."""

    message_id: str
    by: str
    is_certain: bool


class ResetRequested(Word):
    """An operator begins new numbers; the caller has checked that no doubt is left."""

    actor: str
    reason: str


OrderEvent = (
    MessageWaits
    | MessageArrived
    | MessageWithdrawn
    | MessageEnded
    | MessageGoesOn
    | MessageReplaced
    | ResetRequested
)


class LetGo(Word):
    """The message has the turn of its conversation: let it into the queue of its pair."""

    message_id: str


class LetNext(Word):
    """The turn is free: look for the longest-waiting message of the conversation."""


class TellBlocked(Word):
    """Tell the operator that this message blocks the conversation."""

    message_id: str


class TellOpen(Word):
    """Tell the operator that this message no longer blocks the conversation."""

    message_id: str


OrderEffect = LetGo | LetNext | TellBlocked | TellOpen | Journal
OrderStep = tuple[SendingOrder, tuple[OrderEffect, ...]]


def step(state: SendingOrder, event: OrderEvent) -> OrderStep:
    """The next state of the conversation and what is to be done. Pure.

    Raises `IllegalStep` for an event that the table lacks: a Reset while a message is under way,
    which the caller refuses.
    """
    transition = TABLE.get((state.status, type(event)))
    if transition is None:
        raise IllegalStep(f"{type(event).__name__} in {state.status}")
    return transition(state, event)


def number_for(state: SendingOrder) -> MessageOrder:
    """The number that the message in turn gets at its first transmission, or has got."""
    assert state.in_turn is not None, "only a message in turn gets a number"
    if state.number is not None:
        return MessageOrder(state.number, state.began)
    if state.next_number is None:
        return MessageOrder(0, is_reset=True)
    return MessageOrder(state.next_number)


def numbered(state: SendingOrder) -> SendingOrder:
    """The state after the first transmission of the message in turn was made ready."""
    if state.number is not None:
        return state
    order = number_for(state)
    following = (order.number + 1) % NUMBERS
    return changed(state, number=order.number, began=order.is_reset, next_number=following)


def forgotten(state: SendingOrder) -> SendingOrder:
    """The state in which the next number begins new ones: its receiver may know nothing of it."""
    return state if state.number is not None else changed(state, next_number=None)


def _give_turn(state: SendingOrder, event: MessageWaits) -> OrderStep:
    return _with_turn(state, event.message_id), (LetGo(event.message_id),)


def _with_turn(state: SendingOrder, message_id: str) -> SendingOrder:
    return changed(state, status=OrderStatus.BUSY, in_turn=message_id, number=None, began=False)


def _stay(state: SendingOrder, event: OrderEvent) -> OrderStep:  # noqa: ARG001 - because every transition takes an event
    """News that changes nothing, such as that of a message that has not the turn."""
    return state, ()


def _free(state: SendingOrder) -> SendingOrder:
    return changed(state, status=OrderStatus.IDLE, in_turn=None, number=None, began=False)


def _without_number(state: SendingOrder) -> SendingOrder:
    """The number of a message that certainly never arrived is the next one again."""
    if state.number is None:
        return state
    return changed(
        state, next_number=None if state.began else state.number, number=None, began=False
    )


def _go_on(state: SendingOrder, event: MessageArrived) -> OrderStep:
    if event.message_id != state.in_turn:
        return state, ()
    return _free(state), (LetNext(),)


def _skip(state: SendingOrder, event: MessageWithdrawn) -> OrderStep:
    if event.message_id != state.in_turn:
        return state, ()
    return _free(_without_number(state)), (LetNext(),)


def _block(state: SendingOrder, event: MessageEnded) -> OrderStep:
    if event.message_id != state.in_turn:
        return state, ()
    row = Journal(Event.CONVERSATION_BLOCKED, order_number=state.number)
    return changed(state, status=OrderStatus.BLOCKED), (row, TellBlocked(event.message_id))


def _open(state: SendingOrder, event: MessageArrived | MessageWithdrawn) -> OrderStep:
    """The message that blocks the conversation arrived after all, or certainly never will."""
    if event.message_id != state.in_turn:
        return state, ()
    if isinstance(event, MessageWithdrawn):
        state = _without_number(state)
    return _free(state), (TellOpen(event.message_id), LetNext())


def _try_again(state: SendingOrder, event: MessageGoesOn) -> OrderStep:
    if event.message_id != state.in_turn:
        return state, ()
    return changed(state, status=OrderStatus.BUSY), (TellOpen(event.message_id),)


def _replace(state: SendingOrder, event: MessageReplaced) -> OrderStep:
    """The new message takes the place of the old one, before all that wait."""
    if event.message_id != state.in_turn:
        return state, ()
    before = state.in_turn
    if event.is_certain:
        state = _without_number(state)
    return _with_turn(state, event.by), (TellOpen(before), LetGo(event.by))


def _wait_again(state: SendingOrder, event: MessageReplaced) -> OrderStep:
    """A message that had not the turn is replaced: the new one waits like any other."""
    return _give_turn(state, MessageWaits(event.by))


def _reset(state: SendingOrder, event: ResetRequested) -> OrderStep:
    """What blocks the conversation is over; the next message says Reset."""
    told = () if state.in_turn is None else (TellOpen(state.in_turn),)
    row = Journal(Event.CONVERSATION_RESET, reason=event.reason, actor=event.actor)
    return changed(_free(state), next_number=None), (row, *told, LetNext())


# Each transition takes its own type of event; the key of its row guarantees that type.
Transition = Callable[[SendingOrder, Any], OrderStep]

_ROWS: dict[OrderStatus, dict[type[OrderEvent], Transition]] = {
    OrderStatus.IDLE: {
        MessageWaits: _give_turn,
        MessageArrived: _stay,
        MessageWithdrawn: _stay,
        MessageEnded: _stay,
        MessageGoesOn: _stay,
        MessageReplaced: _wait_again,
        ResetRequested: _reset,
    },
    OrderStatus.BUSY: {
        MessageWaits: _stay,
        MessageArrived: _go_on,
        MessageWithdrawn: _skip,
        MessageEnded: _block,
        MessageGoesOn: _stay,
        MessageReplaced: _stay,
    },
    OrderStatus.BLOCKED: {
        MessageWaits: _stay,
        MessageArrived: _open,
        MessageWithdrawn: _open,
        MessageEnded: _stay,
        MessageGoesOn: _try_again,
        MessageReplaced: _replace,
        ResetRequested: _reset,
    },
}

TABLE: dict[tuple[OrderStatus, type[OrderEvent]], Transition] = {
    (status, event): transition
    for status, rows in _ROWS.items()
    for event, transition in rows.items()
}
"""Every legal (status, event): all of them but a Reset while a message is under way."""

# --- The receiver -------------------------------------------------------------------------------


class ReceivingOrder(Word):
    """The durable state of the receiving side of a conversation."""

    expected: int = 0
    """The number that is handed over next."""
    epoch: int = 0
    """How often the numbers began again."""
    held: int = 0
    """Messages that wait after a gap."""
    gap_due_at: int | None = None
    """When the gap becomes an incident; None: there is no gap, or an operator was told."""

    @property
    def place(self) -> int:
        """The place that is expected."""
        return self.epoch * NUMBERS + self.expected


class OrderCase(Enum):
    """What the number of a message that was never stored means. The value is for people."""

    IN_ORDER = "in order"
    HELD = "held until earlier messages of its conversation came"
    BROKEN = "its number does not fit the order of its conversation"
    FULL = "too many messages of its conversation wait for earlier ones"


class Taking(Word):
    """The verdict on the number of an arrival, and the conversation after it."""

    case: OrderCase
    state: ReceivingOrder
    place: int = 0
    released: tuple[int, ...] = ()
    """The places of held messages that follow it now, in their order."""
    reason: str | None = None
    """What its sender is told, or the journal, about a number that is not plainly in order."""


def take(  # noqa: PLR0911 - because it is the table of the essay, a line per case
    order: MessageOrder,
    state: ReceivingOrder,
    held: Sequence[int],
    at: int,
    terms: DeliveryTerms,
) -> Taking:
    """What the arrival is, and what follows. Pure.

    `held` has the places of the messages that wait after a gap, in their order. The caller has
    made sure that the message is no repeat.
    """
    number = order.number
    if order.is_reset and number:
        return _broken(state, f"SequenceNumber is {number} with status Reset; expected is 0 there")
    if order.is_reset and state.expected and held:
        return _broken(state, _over_a_gap(state, len(held)))
    if order.is_reset and state.expected:
        state = changed(state, epoch=state.epoch + 1, expected=0)
    place = _place_of(number, state, terms)
    if place < state.place:
        return _broken(state, _used(number, state))
    if place == state.place:
        is_unsaid = not state.place and not order.is_reset
        reason = "the conversation began without a Reset" if is_unsaid else None
        return _advanced(place, held, at, terms, reason)
    if place in held:
        return _broken(
            state,
            f"SequenceNumber {number} was used by a message that waits here for"
            f" number {state.expected}; expected is a number of its own",
        )
    if len(held) >= terms.order_hold_max:
        return Taking(OrderCase.FULL, state, reason=_full(number, state, len(held)))
    due_at = state.gap_due_at if held else gap_due_at(at, terms)
    after = changed(state, held=len(held) + 1, gap_due_at=due_at)
    return Taking(OrderCase.HELD, after, place, reason=f"waits for number {state.expected}")


def _place_of(number: int, state: ReceivingOrder, terms: DeliveryTerms) -> int:
    """After 99,999,999 comes 0: a number so near to the end is before it, not long ago."""
    place = state.epoch * NUMBERS + number
    is_around = place + NUMBERS - state.place <= terms.order_hold_max
    return place + NUMBERS if number < state.expected and is_around else place


def _advanced(
    place: int,
    held: Sequence[int],
    at: int,
    terms: DeliveryTerms,
    reason: str | None = None,
) -> Taking:
    """The message at `place` is the next one, and those that are held right after it follow."""
    released: list[int] = []
    for other in held:
        if other != place + len(released) + 1:
            break
        released.append(other)
    epoch, expected = divmod(place + len(released) + 1, NUMBERS)
    left = len(held) - len(released)
    due_at = gap_due_at(at, terms) if left else None
    after = ReceivingOrder(expected, epoch, left, due_at)
    return Taking(OrderCase.IN_ORDER, after, place, tuple(released), reason)


def release(held: Sequence[int], at: int, terms: DeliveryTerms) -> Taking | None:
    """An operator jumps the gap, up to the next one; None if nothing waits after it."""
    if not held:
        return None
    first, *others = held
    taking = _advanced(first, others, at, terms)
    return changed(taking, released=(first, *taking.released))


def drop(state: ReceivingOrder) -> ReceivingOrder:
    """An operator drops what is held; the number that is missing is expected as before."""
    return changed(state, held=0, gap_due_at=None)


def gap_due_at(at: int, terms: DeliveryTerms) -> int:
    """When a gap that was seen at `at` becomes an incident."""
    return at + terms.order_gap_after_s * US_PER_S


def _broken(state: ReceivingOrder, reason: str) -> Taking:
    return Taking(OrderCase.BROKEN, state, reason=reason)


def _over_a_gap(state: ReceivingOrder, held: int) -> str:
    return (
        f"a Reset would jump number {state.expected}, for which {held} later messages of the"
        " conversation wait; expected is that number first"
    )


def _used(number: int, state: ReceivingOrder) -> str:
    return (
        f"SequenceNumber {number} was used in this conversation before, by another message;"
        f" expected is {state.expected}"
    )


def _full(number: int, state: ReceivingOrder, held: int) -> str:
    return (
        f"SequenceNumber {number} would have to wait for {state.expected}, and {held} messages of"
        " the conversation wait already, which is all that are held; expected is number"
        f" {state.expected} first. This message was not stored"
    )


def gap_incident(conversation_id: str, state: ReceivingOrder) -> str:
    """What an operator reads about a gap; the same words for the same gap."""
    return (
        f"gap in conversation {conversation_id}: waits for number {state.expected}; ask the partner"
        " for it, or release what waits after it, or drop that"
    )


def blocked_incident(conversation_id: str, message_id: str) -> str:
    """What an operator reads about a conversation of ours that is blocked."""
    return (
        f"conversation {conversation_id} is blocked by {message_id}, which was not acknowledged:"
        " resend that message, or reset the conversation"
    )
