"""What keeps an arrival from being new is looked at in the order that `LOOKED_AT` has."""

import pytest

from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import AckRequested
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import (
    LOOKED_AT,
    Arrival,
    Case,
    Known,
    ReceivingPair,
    receive,
)

TERMS = DeliveryTerms(persist_duration_s=7200)
NOW = Now(1_000_000 * US_PER_S, 0)
LATER = NOW.at + 100 * 86_400 * US_PER_S

WRONG_IN_EVERYTHING = Arrival(
    "m-1",
    "aa",
    True,
    LATER,
    17,
    time_to_live_at=NOW.at - 86_400 * US_PER_S,
    delivery_receipt_requested=AckRequested.SIGNED,
)
CLOSED = ReceivingPair(PairStatus.QUARANTINED, sequence_number=5, forgotten_at=LATER)


@pytest.mark.parametrize("at", range(len(LOOKED_AT)))
def test_the_first_that_is_wrong_decides(at):
    """Everything from there on is wrong, too, and all before it is right."""
    arrival, pair, known = WRONG_IN_EVERYTHING, CLOSED, None
    case = LOOKED_AT[at]
    if case is Case.COLLISION:
        known = Known("bb")
    elif case is Case.DUPLICATE:
        known = Known("aa")
    right = LOOKED_AT[:at]
    if Case.AHEAD in right:
        arrival = changed(arrival, timestamp_at=NOW.at)
    if Case.TOO_OLD in right:
        pair = changed(pair, forgotten_at=None)
    if Case.EXPIRED in right:
        arrival = changed(arrival, time_to_live_at=None)
    if Case.NOT_SUPPORTED in right:
        arrival = changed(arrival, delivery_receipt_requested=None)
    if Case.QUARANTINED in right:
        pair = changed(pair, status=PairStatus.OPEN)
    is_cancelled = LOOKED_AT.index(Case.CANCELLED) >= at
    found = receive(arrival, known, pair, NOW, TERMS, is_cancelled=is_cancelled)
    assert found.case is case


def test_every_case_is_looked_at_or_is_one_of_those():
    """A case that is added has to get its place; one in work is a duplicate.

    The order of a conversation is asked about what would be new, by another module.
    """
    of_order = {Case.HELD, Case.ORDER_BROKEN, Case.HOLD_FULL}
    assert set(Case) - set(LOOKED_AT) == {Case.NEW, Case.IN_WORK} | of_order
