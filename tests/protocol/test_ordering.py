"""The order of one conversation: whose turn it is, which number, and what is held (R-34)."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S
from onceonly.message.message import MESSAGE_ORDER_MAX, MessageOrder
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import ordering
from onceonly.protocol.effects import Journal
from onceonly.protocol.ordering import (
    NUMBERS,
    LetGo,
    LetNext,
    MessageArrived,
    MessageEnded,
    MessageGoesOn,
    MessageReplaced,
    MessageWaits,
    MessageWithdrawn,
    OrderCase,
    OrderEvent,
    OrderStatus,
    ReceivingOrder,
    ResetRequested,
    SendingOrder,
    TellBlocked,
    TellOpen,
)
from onceonly.protocol.outbound import IllegalStep

TERMS = DeliveryTerms(is_ordered=True, order_hold_max=3, order_gap_after_s=60)
AT = 1_000_000
RESET = ResetRequested("op", "begin again")


class Conversation:
    """The sending side, driven by events; keeps all effects in order."""

    def __init__(self, *events: object) -> None:
        self.state = SendingOrder()
        self.effects: list[object] = []
        self.on(*events)

    def on(self, *events: object) -> "Conversation":
        for event in events:
            self.state, effects = ordering.step(self.state, event)
            self.effects += effects
        return self

    def first_transmission(self) -> MessageOrder:
        order = ordering.number_for(self.state)
        self.state = ordering.numbered(self.state)
        return order

    def send(self, message_id: str) -> MessageOrder:
        self.on(MessageWaits(message_id))
        order = self.first_transmission()
        self.on(MessageArrived(message_id))
        return order

    def of(self, kind: type) -> list:
        return [effect for effect in self.effects if isinstance(effect, kind)]


def test_the_numbers_begin_with_a_reset_and_go_on_by_one():
    """§8: Reset 0, then Continue 1, 2 …."""
    conversation = Conversation()
    assert [conversation.send(name) for name in "abc"] == [
        MessageOrder(0, is_reset=True),
        MessageOrder(1),
        MessageOrder(2),
    ]


@pytest.mark.statement("E2-104")
def test_after_the_last_number_comes_zero_and_it_is_no_reset():
    """E2-104: the sender's side of the wrap."""
    conversation = Conversation()
    conversation.state = SendingOrder(next_number=MESSAGE_ORDER_MAX)
    assert conversation.send("last") == MessageOrder(MESSAGE_ORDER_MAX)
    assert conversation.send("first") == MessageOrder(0)
    assert conversation.send("second") == MessageOrder(1)


@pytest.mark.statement("E2-105")
def test_numbers_that_the_receiver_may_have_forgotten_begin_again():
    """But not that of a message which has one already: its bytes are kept."""
    waiting = SendingOrder(OrderStatus.BUSY, 7, "m-7")
    assert ordering.number_for(ordering.forgotten(waiting)) == MessageOrder(0, is_reset=True)
    numbered = SendingOrder(OrderStatus.BUSY, 8, "m-7", 7)
    assert ordering.forgotten(numbered) is numbered


def test_one_message_of_a_conversation_is_under_way():
    """E2-105: the others wait, and the turn goes on with the acknowledgement."""
    conversation = Conversation(MessageWaits("a"), MessageWaits("b"), MessageWaits("c"))
    assert conversation.effects == [LetGo("a")]
    conversation.on(MessageArrived("a"))
    assert conversation.effects == [LetGo("a"), LetNext()]
    conversation.on(MessageWaits("b"))
    assert conversation.state.in_turn == "b"


def test_a_resend_keeps_its_number():
    """Made again or asked again, the message in turn has the number that it got first."""
    conversation = Conversation(MessageWaits("a"))
    assert conversation.first_transmission() == conversation.first_transmission()
    assert conversation.state.next_number == 1


@pytest.mark.statement("E2-106")
def test_a_message_without_an_acknowledgement_blocks_its_conversation():
    """E2-106: nothing follows it, and an operator is told once."""
    conversation = Conversation(MessageWaits("a"))
    conversation.first_transmission()
    conversation.on(MessageEnded("a"), MessageWaits("b"), MessageEnded("a"))
    assert conversation.state.status is OrderStatus.BLOCKED
    assert conversation.of(TellBlocked) == [TellBlocked("a")]
    row = Journal(Event.CONVERSATION_BLOCKED, order_number=0)
    assert conversation.of(Journal) == [row]
    assert conversation.of(LetNext) == []


@pytest.mark.statement("E2-106")
def test_the_same_message_again_has_the_same_number_and_opens_the_conversation():
    """E2-106: the operator's resend."""
    conversation = Conversation(MessageWaits("a"))
    conversation.first_transmission()
    conversation.on(MessageEnded("a"), MessageGoesOn("a"))
    assert conversation.of(TellOpen) == [TellOpen("a")]
    assert conversation.first_transmission() == MessageOrder(0, is_reset=True)
    conversation.on(MessageArrived("a"))
    assert conversation.send("b") == MessageOrder(1)


@pytest.mark.statement("E2-106")
def test_a_reset_makes_the_next_message_begin_the_numbers():
    """E2-106: what blocked the conversation is over."""
    conversation = Conversation()
    for name in "ab":
        conversation.send(name)
    conversation.on(MessageWaits("c"))
    conversation.first_transmission()
    conversation.on(MessageEnded("c"), RESET)
    assert conversation.effects[-2:] == [TellOpen("c"), LetNext()]
    assert conversation.send("d") == MessageOrder(0, is_reset=True)


def test_a_reset_of_an_idle_conversation_has_nobody_to_open():
    """Nothing blocks it; its next message begins the numbers nevertheless."""
    conversation = Conversation()
    conversation.send("a")
    conversation.on(RESET)
    assert conversation.of(TellOpen) == []
    assert conversation.send("b") == MessageOrder(0, is_reset=True)


def test_a_late_acknowledgement_opens_the_conversation():
    """The partner has the message, so that the next one may follow."""
    conversation = Conversation(MessageWaits("a"))
    conversation.first_transmission()
    conversation.on(MessageEnded("a"), MessageArrived("a"))
    assert conversation.state == SendingOrder(next_number=1)
    assert conversation.effects[-2:] == [TellOpen("a"), LetNext()]


@pytest.mark.parametrize("is_blocked", [False, True])
def test_what_was_taken_back_before_it_left_gives_its_number_back(is_blocked):
    """No receiver can have seen the number."""
    conversation = Conversation()
    conversation.send("a")
    conversation.on(MessageWaits("b"))
    conversation.first_transmission()
    if is_blocked:
        conversation.on(MessageEnded("b"))
    conversation.on(MessageWithdrawn("b"))
    assert conversation.send("c") == MessageOrder(1)


def test_what_was_taken_back_without_a_number_leaves_none():
    """It waited in the queue of its pair."""
    conversation = Conversation(MessageWaits("a"), MessageWithdrawn("a"))
    assert conversation.state == SendingOrder()


@pytest.mark.parametrize(
    ("is_certain", "order"), [(True, MessageOrder(0, is_reset=True)), (False, MessageOrder(1))]
)
def test_a_new_message_takes_the_place_of_the_one_that_failed(is_certain, order):
    """Its number too, if that certainly never arrived."""
    conversation = Conversation(MessageWaits("a"))
    conversation.first_transmission()
    conversation.on(MessageEnded("a"), MessageReplaced("a", "a2", is_certain))
    assert conversation.of(LetGo) == [LetGo("a"), LetGo("a2")]
    assert conversation.first_transmission() == order


def test_a_new_message_for_one_that_blocks_nothing_waits_like_any_other():
    """It ended before a reset, say."""
    conversation = Conversation(MessageReplaced("old", "new", is_certain=True))
    assert conversation.effects == [LetGo("new")]
    conversation.on(MessageReplaced("older", "newer", is_certain=True))
    assert conversation.state.in_turn == "new"


@pytest.mark.parametrize("is_blocked", [False, True])
@pytest.mark.parametrize(
    "event",
    [
        MessageArrived("old"),
        MessageWithdrawn("old"),
        MessageEnded("old"),
        MessageGoesOn("old"),
        MessageReplaced("old", "new", is_certain=True),
    ],
)
def test_news_of_a_message_that_has_not_the_turn_changes_nothing(event, is_blocked):
    """Such as one that ended before a reset, or before the order was agreed."""
    conversation = Conversation(MessageWaits("a"))
    if is_blocked:
        conversation.on(MessageEnded("a"))
    before = conversation.state
    effects = len(conversation.effects)
    conversation.on(event)
    assert (conversation.state, len(conversation.effects)) == (before, effects)


def test_every_pair_of_status_and_event_is_in_the_table_but_one():
    """A Reset while a message is under way is refused before it comes here."""
    every = set(itertools.product(OrderStatus, get_args(OrderEvent)))
    assert every - set(ordering.TABLE) == {(OrderStatus.BUSY, ResetRequested)}
    with pytest.raises(IllegalStep):
        Conversation(MessageWaits("a"), RESET)


class Receiver:
    """The receiving side with its held messages; `handed_over` has the places in that order."""

    def __init__(self, state: ReceivingOrder = ReceivingOrder()) -> None:  # noqa: B008 - because it is frozen
        self.state = state
        self.held: list[int] = []
        self.handed_over: list[int] = []

    def take(self, number: int, *, is_reset: bool = False) -> ordering.Taking:
        order = MessageOrder(number, is_reset)
        taking = ordering.take(order, self.state, self.held, AT, TERMS)
        self.state = taking.state
        if taking.case is OrderCase.HELD:
            self.held = sorted([*self.held, taking.place])
        if taking.case is OrderCase.IN_ORDER:
            self.hand_over(taking.place, *taking.released)
        return taking

    def hand_over(self, *places: int) -> None:
        self.handed_over += places
        self.held = [place for place in self.held if place not in places]

    def case(self, number: int, *, is_reset: bool = False) -> OrderCase:
        return self.take(number, is_reset=is_reset).case


@pytest.mark.statement("E2-93")
def test_the_expected_number_is_handed_over_and_releases_what_follows():
    """E2-93: in one step, in order; what does not follow stays held."""
    receiver = Receiver()
    receiver.take(0, is_reset=True)
    for number in (3, 2, 5):
        assert receiver.case(number) is OrderCase.HELD
    taking = receiver.take(1)
    assert (taking.case, taking.released) == (OrderCase.IN_ORDER, (2, 3))
    assert receiver.handed_over == [0, 1, 2, 3]
    assert receiver.state == ReceivingOrder(4, 0, 1, AT + 60 * US_PER_S)


@pytest.mark.statement("E2-94")
def test_a_later_number_is_held():
    """E2-94: and the gap has its time from the first of them on."""
    receiver = Receiver()
    receiver.take(0, is_reset=True)
    assert receiver.take(2).reason == "waits for number 1"
    assert receiver.state == ReceivingOrder(1, 0, 1, AT + 60 * US_PER_S)
    order = MessageOrder(3)
    later = ordering.take(order, receiver.state, receiver.held, AT + 5, TERMS)
    assert later.state.gap_due_at == AT + 60 * US_PER_S


@pytest.mark.statement("E2-95")
def test_a_number_that_is_held_already_is_refused():
    """E2-95: two messages have one number."""
    receiver = Receiver()
    receiver.take(0, is_reset=True)
    receiver.take(2)
    taking = receiver.take(2)
    assert taking.case is OrderCase.BROKEN
    assert "SequenceNumber 2 was used" in taking.reason


@pytest.mark.statement("E2-96")
@pytest.mark.parametrize("number", [0, 1])
def test_an_earlier_number_of_an_unknown_message_is_refused(number):
    """E2-96."""
    receiver = Receiver()
    receiver.take(0, is_reset=True)
    receiver.take(1)
    taking = receiver.take(number)
    assert taking.case is OrderCase.BROKEN
    assert "expected is 2" in taking.reason


@pytest.mark.statement("E2-97")
def test_a_reset_begins_a_conversation():
    """E2-97: also where later numbers came before it."""
    receiver = Receiver()
    receiver.take(1)
    taking = receiver.take(0, is_reset=True)
    assert (taking.case, taking.released, taking.reason) == (OrderCase.IN_ORDER, (1,), None)


@pytest.mark.statement("E2-98")
def test_a_reset_where_nothing_is_missing_begins_new_numbers():
    """E2-98: a new epoch, in which 1 is expected."""
    receiver = Receiver()
    for number in range(3):
        receiver.take(number, is_reset=not number)
    assert receiver.case(0, is_reset=True) is OrderCase.IN_ORDER
    assert receiver.state == ReceivingOrder(1, 1)
    assert receiver.handed_over == [0, 1, 2, NUMBERS]


@pytest.mark.statement("E2-99")
def test_a_reset_over_a_gap_is_refused():
    """E2-99: it would jump what is missing."""
    receiver = Receiver()
    receiver.take(0, is_reset=True)
    receiver.take(2)
    taking = receiver.take(0, is_reset=True)
    assert (taking.case, taking.state) == (OrderCase.BROKEN, receiver.state)
    assert "jump number 1" in taking.reason


@pytest.mark.statement("E2-100")
def test_a_conversation_may_begin_without_a_reset():
    """E2-100: the journal says so."""
    receiver = Receiver()
    taking = receiver.take(0)
    assert (taking.case, taking.reason) == (
        OrderCase.IN_ORDER,
        "the conversation began without a Reset",
    )


@pytest.mark.statement("E2-101")
def test_a_later_number_of_an_unknown_conversation_is_held():
    """E2-101: it may have begun elsewhere."""
    assert Receiver().case(7) is OrderCase.HELD


@pytest.mark.statement("E2-102")
def test_a_reset_with_another_number_is_refused():
    """E2-102: in every state."""
    for receiver in (Receiver(), Receiver(ReceivingOrder(5))):
        assert receiver.case(5, is_reset=True) is OrderCase.BROKEN


@pytest.mark.statement("E2-103")
def test_no_more_is_held_than_was_agreed():
    """E2-103: and the number that is missing is taken nevertheless."""
    receiver = Receiver()
    receiver.take(0, is_reset=True)
    for number in (2, 3, 4):
        receiver.take(number)
    before = receiver.state
    taking = receiver.take(5)
    assert (taking.case, taking.state) == (OrderCase.FULL, before)
    assert "was not stored" in taking.reason
    assert receiver.take(1).released == (2, 3, 4)


@pytest.mark.statement("E2-104")
def test_the_receiver_expects_zero_after_the_last_number():
    """E2-104: with Continue, and a later one that overtakes it is held."""
    receiver = Receiver(ReceivingOrder(MESSAGE_ORDER_MAX))
    assert receiver.case(1) is OrderCase.HELD
    receiver.take(MESSAGE_ORDER_MAX)
    assert receiver.state.expected == 0
    assert receiver.take(0).released == (NUMBERS + 1,)
    assert receiver.handed_over == [MESSAGE_ORDER_MAX, NUMBERS, NUMBERS + 1]


def test_an_operator_jumps_one_gap():
    """What waits after the next one stays held, and has its own time."""
    taking = ordering.release([3, 4, 7], AT, TERMS)
    assert taking.released == (3, 4)
    assert taking.state == ReceivingOrder(5, 0, 1, AT + 60 * US_PER_S)
    assert ordering.release([], AT, TERMS) is None


def test_an_operator_drops_what_is_held():
    """The number that is missing is expected as before."""
    assert ordering.drop(ReceivingOrder(1, 2, 3, AT)) == ReceivingOrder(1, 2)


def test_incidents_say_what_to_do():
    """The same words for the same trouble, so that it can be found and closed."""
    assert "waits for number 4" in ordering.gap_incident("c", ReceivingOrder(4))
    assert "blocked by m" in ordering.blocked_incident("c", "m")


@given(st.permutations(range(8)))
def test_in_whatever_order_numbers_come_they_are_handed_over_in_theirs(numbers):
    """O1 and O2: without a gap, and each once, if the hold is large enough."""
    terms = DeliveryTerms(order_hold_max=8)
    state, held, handed_over = ReceivingOrder(), [], []
    for number in numbers:
        taking = ordering.take(MessageOrder(number), state, sorted(held), AT, terms)
        state = taking.state
        if taking.case is OrderCase.HELD:
            held.append(taking.place)
        else:
            handed_over += (taking.place, *taking.released)
            held = [place for place in held if place not in taking.released]
        assert handed_over == list(range(len(handed_over)))
        assert state.held == len(held)
    assert handed_over == list(range(8))


_ENDS = st.sampled_from(["arrived", "late", "again", "withdrawn", "reset"])


@given(st.lists(_ENDS, max_size=12))
def test_whatever_ends_a_message_no_receiver_is_left_with_a_gap(ends):
    """Everything that the sender numbers is in order for a receiver that stored what it says."""
    conversation, receiver = Conversation(), Receiver()
    for index, end in enumerate(ends):
        name = str(index)
        conversation.on(MessageWaits(name))
        order = conversation.first_transmission()
        if end in ("late", "again", "reset"):
            conversation.on(MessageEnded(name))
        if end == "again":
            conversation.on(MessageGoesOn(name))
        if end == "withdrawn":
            conversation.on(MessageWithdrawn(name))
        elif end == "reset":
            conversation.on(RESET)
        else:
            assert receiver.case(order.number, is_reset=order.is_reset) is OrderCase.IN_ORDER
            conversation.on(MessageArrived(name))
    assert receiver.held == []
