"""The judge of ordered conversations sees each violation that is planted in a journal (R-34)."""

import pytest

from onceonly.journal.record import Record
from onceonly.message.event import Direction, Event
from onceonly.simulation.checkers import order
from onceonly.simulation.history import Row

A, B = "urn:duns:111111111", "urn:duns:222222222"


def rows(*said: tuple[Event, str, int | None] | tuple[Event, str, int | None, str]) -> list[Row]:
    """Rows of one journal: event, MessageId, number, and who asked for it."""
    found = []
    for at, (event, message_id, number, *actor) in enumerate(said):
        record = Record(
            B,
            event,
            at,
            at,
            Direction.IN,
            from_party=A,
            to_party=B,
            message_id=message_id,
            conversation_id="c",
            order_number=number,
            actor=actor[0] if actor else None,
        )
        found.append(Row(at, at, "B", record))
    return found


def stored(*numbers: int) -> tuple[tuple[Event, str, int | None], ...]:
    return tuple((Event.STORED, f"m{number}", number) for number in numbers)


def handed(*numbers: int) -> tuple[tuple[Event, str, int | None], ...]:
    return tuple((Event.HANDED_OVER, f"m{number}", number) for number in numbers)


def invariants(found) -> list[str]:
    return [one.invariant for one in found]


@pytest.mark.parametrize(
    ("numbers", "seen"),
    [
        ((0, 1, 2), []),
        ((0, 1, 0, 1), []),
        ((0, 2), ["O2"]),
        ((1,), ["O2"]),
        ((0, 1, 1), ["O1"]),
        ((0, 1, 2, 1), ["O1"]),
        ((), []),
    ],
)
def test_numbers_are_handed_over_one_by_one(numbers, seen):
    """O1 and O2; 0 begins them again."""
    journal = rows(*stored(*numbers), *handed(*numbers))
    assert invariants(order.handed_over(journal)) == seen


def test_what_an_operator_released_may_jump_a_gap():
    """O2: but only with his name, and only that message."""
    begun = (*stored(0, 2, 4), *handed(0))
    released = (Event.RELEASED, "m2", 2, "ops")
    assert invariants(order.handed_over(rows(*begun, released, *handed(2)))) == []
    assert invariants(order.handed_over(rows(*begun, released, *handed(2, 4)))) == ["O2"]
    by_itself = (Event.RELEASED, "m2", 2)
    assert invariants(order.handed_over(rows(*begun, by_itself, *handed(2)))) == ["O2"]


def test_messages_without_an_order_are_not_judged():
    """Their rows have no number."""
    journal = rows((Event.STORED, "m", None), (Event.HANDED_OVER, "m", None))
    assert invariants(order.handed_over(journal)) == []


HELD = (Event.HELD, "m2", 2)


@pytest.mark.parametrize(
    ("more", "waiting", "seen"),
    [
        ([(Event.HANDED_OVER, "m2", 2)], (), []),
        ([(Event.DROPPED, "m2", 2, "ops")], (), []),
        ([(Event.DROPPED, "m2", 2)], (), ["O3"]),
        ([], ("m2",), []),
        ([], (), ["O3"]),
        ([(Event.HANDED_OVER, "other", 1)], (), ["O3"]),
    ],
)
def test_what_was_held_is_handed_over_or_dropped_by_somebody(more, waiting, seen):
    """O3: or it still waits."""
    journal = rows((Event.STORED, "m2", 2), HELD, *more)
    assert invariants(order.held(journal, waiting)) == seen


SENT = [(Event.SUBMITTED, one, None) for one in ("a", "b")]
FIRST, SECOND = (Event.TRANSMITTING, "a", 0), (Event.TRANSMITTING, "b", 1)


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ([FIRST, (Event.ACK_RECEIVED, "a", None), SECOND], []),
        ([FIRST, FIRST, (Event.LATE_ACK_RECEIVED, "a", None), SECOND], []),
        ([FIRST, (Event.CONVERSATION_RESET, "a", None, "ops"), SECOND], []),
        ([FIRST, SECOND], ["O4"]),
        ([FIRST, (Event.EXHAUSTED, "a", None), SECOND], ["O4"]),
        ([FIRST, (Event.ACK_RECEIVED, "b", None), SECOND], ["O4"]),
    ],
)
def test_one_message_of_a_conversation_is_unacknowledged(more, seen):
    """O4: until its acknowledgement, or an operator's word."""
    assert invariants(order.sent(rows(*SENT, *more))) == seen


GIVEN_UP = [*SENT, FIRST, (Event.FAILED, "a", None)]
RESET = (Event.CONVERSATION_RESET, "a", None, "ops")


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ([RESET], {"a"}),
        ([RESET, SECOND, (Event.ACK_RECEIVED, "b", None), RESET], {"a"}),
        ([(Event.LATE_ACK_RECEIVED, "a", None), RESET], set()),
        ([], set()),
    ],
)
def test_what_an_operator_left_behind_had_left_without_an_answer(more, left):
    """And new numbers began: without them nothing is left behind."""
    assert order.left_behind(rows(*GIVEN_UP, *more)) == left


@pytest.mark.parametrize(
    ("events", "left", "seen"),
    [
        ([*stored(0, 2), (Event.HELD, "m2", 2)], set(), ["R-34"]),
        ([*stored(0), (Event.STORED, "a", 0), (Event.HELD, "m0", 2)], {"a"}, []),
        ([(Event.STORED, "a", 0), *stored(2), (Event.HELD, "m2", 2)], {"a"}, ["R-34"]),
        ([*stored(0), (Event.STORED, "a", 0), (Event.HELD, "m0", 2)], {"b"}, ["R-34"]),
    ],
)
def test_a_receiver_waits_for_a_number_of_ours_behind_a_late_copy_alone(events, left, seen):
    """R-34: a copy of numbers that an operator had ended came after the new ones."""
    assert invariants(order.without_gaps(rows(*events), left)) == seen
