"""What an arrival of an ordered conversation is, and when it is handed over (R-34)."""

import pytest

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import MessageOrder
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import ordering, receiving
from onceonly.protocol.effects import Acknowledge, Answer, HandOver, Journal
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.ordering import ReceivingOrder
from onceonly.protocol.receiving import Arrival, Case, InboundStatus, ReceivingPair

NOW = Now(1_000_000 * US_PER_S, 0)
TERMS = DeliveryTerms(is_numbered=False, is_ordered=True, order_hold_max=1, order_gap_after_s=60)
ACCEPTED = Transmission(Outcome.ACCEPTED, bytes_left=True, status_code=204)


def arrived(number: int, expected: int = 0, *held: int) -> receiving.Reception:
    """A new message with the number, in a conversation that expects another."""
    arrival = Arrival("m-1", "aa", True, NOW.at, None)
    reception = receiving.receive(arrival, None, ReceivingPair(), NOW, TERMS)
    state = ReceivingOrder(expected, held=len(held))
    taking = ordering.take(MessageOrder(number), state, held, NOW.at, TERMS)
    return receiving.in_its_order(reception, number, taking)


def rows(reception: receiving.Reception) -> list[tuple[Event, int | None, str | None]]:
    return [
        (one.event, one.order_number, one.reason)
        for one in reception.effects
        if isinstance(one, Journal)
    ]


@pytest.mark.statement("E2-93")
def test_a_message_in_order_is_as_any_new_one():
    """Stored with its number, and acknowledged."""
    reception = arrived(4, 4)
    assert (reception.case, reception.case.is_new) == (Case.NEW, True)
    assert rows(reception) == [(Event.STORED, 4, None)]
    assert Acknowledge() in reception.effects


@pytest.mark.statement("E2-94")
def test_a_message_that_is_held_is_stored_and_acknowledged():
    """And not handed over."""
    reception = arrived(6, 4)
    assert (reception.case, reception.case.is_new) == (Case.HELD, True)
    assert rows(reception) == [(Event.STORED, 6, None), (Event.HELD, 6, "waits for number 4")]
    assert Acknowledge() in reception.effects
    assert HandOver() not in reception.effects


@pytest.mark.parametrize(
    ("number", "held", "case", "code"),
    [
        (2, (), Case.ORDER_BROKEN, ErrorCode.INCONSISTENT),
        (7, (6,), Case.HOLD_FULL, ErrorCode.DELIVERY_FAILURE),
    ],
)
def test_what_is_against_the_order_is_refused_and_not_stored(number, held, case, code):
    """With an error, and a row that has the number; nothing is acknowledged."""
    reception = arrived(number, 4, *held)
    assert (reception.case, reception.case.is_new) == (case, False)
    [(event, said, reason)] = rows(reception)
    assert (event, said) == (Event.REJECTED, number)
    assert reception.effects[1:] == (Answer(code, Severity.ERROR, reason),)


@pytest.mark.parametrize("is_in_turn", [False, True])
def test_a_message_is_handed_over_in_its_turn(is_in_turn):
    """Before that only the end of its acknowledgement is noted."""
    status, effects = receiving.acknowledged(
        InboundStatus.STORED, ACCEPTED, TERMS, is_in_turn=is_in_turn
    )
    assert (HandOver() in effects) is is_in_turn
    assert (status is InboundStatus.HANDED_OVER) is is_in_turn
    assert effects[0].event is Event.ACK_SENT
