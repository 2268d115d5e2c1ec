"""What follows from what two parties agreed."""

import pytest

from onceonly.message.message import AckRequested, DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms

HOUR_S = 3600
BY_PRODUCT = ReliableMessagingMethod.TRANSPORT
BEST_EFFORT = DeliverySemantics.BEST_EFFORT
EXACTLY_ONCE = DeliverySemantics.EXACTLY_ONCE


def test_no_acknowledgement_is_expected_where_none_is_agreed():
    """Neither of BestEffort nor of a reliable product underneath (seed 001 §1.3)."""
    assert DeliveryTerms().is_acknowledged
    assert not DeliveryTerms(semantics=BEST_EFFORT).is_acknowledged
    assert not DeliveryTerms(method=BY_PRODUCT).is_acknowledged


@pytest.mark.parametrize(
    ("semantics", "asked", "word"),
    [
        (DeliverySemantics.ONCE_AND_ONLY_ONCE, "Unsigned", DeliverySemantics.ONCE_AND_ONLY_ONCE),
        (DeliverySemantics.AT_MOST_ONCE, "Signed", DeliverySemantics.ONCE_AND_ONLY_ONCE),
        (DeliverySemantics.AT_MOST_ONCE, "None", DeliverySemantics.AT_MOST_ONCE),
        (DeliverySemantics.AT_LEAST_ONCE, "Unsigned", DeliverySemantics.ONCE_AND_ONLY_ONCE),
        (BEST_EFFORT, "None", BEST_EFFORT),
        (EXACTLY_ONCE, "Unsigned", DeliverySemantics.ONCE_AND_ONLY_ONCE),
    ],
)
def test_a_header_with_two_flags_asks_for_what_was_agreed(semantics, asked, word):
    """R-29: whether an acknowledgement comes is a wish of its own, which AtMostOnce can miss."""
    terms = DeliveryTerms(
        semantics=semantics, ack_requested=AckRequested(asked), acknowledges_on_request=True
    )
    assert terms.header_semantics is word
    assert terms.is_acknowledged is (asked != "None")
    older = DeliveryTerms(semantics=semantics, ack_requested=AckRequested(asked))
    assert older.header_semantics is semantics.on_wire


@pytest.mark.parametrize(
    ("semantics", "asks"),
    [
        (DeliverySemantics.ONCE_AND_ONLY_ONCE, True),
        (DeliverySemantics.AT_MOST_ONCE, True),
        (DeliverySemantics.AT_LEAST_ONCE, False),
        (DeliverySemantics.BEST_EFFORT, False),
    ],
)
def test_headers_ask_for_elimination_where_nothing_may_come_twice(semantics, asks):
    assert DeliveryTerms(semantics=semantics).eliminates_duplicates is asks


def test_only_acknowledged_messages_of_the_older_profile_have_numbers():
    """Seed 000 §2.2.2: the SequenceNumber belongs to reliable messages."""
    assert DeliveryTerms().numbers_messages
    assert not DeliveryTerms(is_numbered=False).numbers_messages
    assert not DeliveryTerms(semantics=BEST_EFFORT).numbers_messages


def test_what_may_not_come_twice_leaves_once():
    """R-38: AtMostOnce and BestEffort; all else has a duplicate eliminated at its end."""
    once = {word for word in DeliverySemantics if DeliveryTerms(semantics=word).leaves_once}
    assert once == {DeliverySemantics.AT_MOST_ONCE, BEST_EFFORT}


@pytest.mark.parametrize(
    ("terms", "expected_s"),
    [
        (DeliveryTerms(timeout_s=30, retries=3, retry_interval_s=60), 210),
        (DeliveryTerms(timeout_s=30, retries=0, retry_interval_s=60), 30),
        (DeliveryTerms(semantics=BEST_EFFORT), 0),
        (DeliveryTerms(semantics=EXACTLY_ONCE, retries=None), None),
        (DeliveryTerms(retries=None, time_to_live_s=HOUR_S), HOUR_S),
        (DeliveryTerms(retries=None, persist_duration_s=2 * HOUR_S), 2 * HOUR_S),
        (DeliveryTerms(method=BY_PRODUCT, time_to_live_s=HOUR_S, retries=3), HOUR_S),
        (DeliveryTerms(method=BY_PRODUCT, semantics=EXACTLY_ONCE), None),
        (DeliveryTerms(method=BY_PRODUCT, semantics=BEST_EFFORT, time_to_live_s=HOUR_S), HOUR_S),
    ],
)
def test_the_wait_for_a_verdict_follows_from_the_terms(terms, expected_s):
    """R-06, R-17: Timeout and the retries, or until it expires, or not at all, or without end."""
    assert terms.verdict_after_s == expected_s
