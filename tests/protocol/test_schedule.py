"""Every wait and every end of a message, on both sides."""

import pytest
from driving import START, at

from onceonly.message.errors import ErrorCode
from onceonly.message.instant import US_PER_S
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import schedule


@pytest.mark.statement("S1-19")
@pytest.mark.parametrize(
    ("time_to_live_s", "persist_duration_s", "ends_s", "code"),
    [
        (None, 3600, 3600, ErrorCode.DELIVERY_FAILURE),
        (60, 3600, 60, ErrorCode.TIME_TO_LIVE_EXPIRED),
        (3600, 60, 60, ErrorCode.DELIVERY_FAILURE),
        (60, 60, 60, ErrorCode.TIME_TO_LIVE_EXPIRED),
    ],
)
def test_the_sender_stops_at_the_earlier_of_two_ends(
    time_to_live_s, persist_duration_s, ends_s, code
):
    """Receivers refuse what is older than either."""
    terms = DeliveryTerms(time_to_live_s=time_to_live_s, persist_duration_s=persist_duration_s)
    assert schedule.expires_at(START.at, terms) == at(ends_s).at
    assert schedule.expiry(terms)[0] is code


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_has_no_end():
    """Neither to be sent, nor to be remembered."""
    terms = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, time_to_live_s=60)
    assert schedule.expires_at(START.at, terms) is None
    assert schedule.forgettable_at(START.at, START, terms) is None


@pytest.mark.statement("S1-18", ruling="R-19")
@pytest.mark.parametrize("age_s", [-10, 0, 3000])
def test_an_id_is_forgotten_only_when_every_copy_would_be_refused_for_its_age(age_s):
    """Counted from the receipt, or from a Timestamp that is ahead of our clock."""
    terms = DeliveryTerms(persist_duration_s=3600, msh_time_accuracy_s=30)
    sent_at = START.at - age_s * US_PER_S
    forgettable_at = schedule.forgettable_at(sent_at, START, terms)
    assert forgettable_at >= START.at + 3600 * US_PER_S
    refused_from = changed(START, at=forgettable_at - 30 * US_PER_S + 1)
    assert schedule.is_refused_for_age(sent_at + 3600 * US_PER_S, refused_from, terms)


@pytest.mark.statement("S3-18")
def test_the_waits_add_up_to_the_time_of_the_verdict():
    """Timeout + Retries x RetryInterval, each from the end of a transmission (R-06)."""
    terms = DeliveryTerms(timeout_s=30, retries=3, retry_interval_s=60)
    waits = [schedule.response_due_ns(n, at(0), terms) // 10**9 for n in (1, 2, 3, 4)]
    assert waits == [30, 60, 60, 60]
    assert sum(waits) == terms.verdict_after_s == schedule.waits_so_far_s(4, terms)


@pytest.mark.parametrize(
    ("terms", "verdict_after_s"),
    [
        (DeliveryTerms(semantics=DeliverySemantics.BEST_EFFORT), 0),
        (DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, retries=None), None),
        (DeliveryTerms(retries=None, persist_duration_s=50), 50),
        (DeliveryTerms(retries=None, persist_duration_s=50, time_to_live_s=40), 40),
        (DeliveryTerms(method=ReliableMessagingMethod.TRANSPORT, time_to_live_s=2), 2),
    ],
)
def test_where_nobody_acknowledges_no_acknowledgement_is_waited_for(terms, verdict_after_s):
    """A product underneath is tried until the message expires (S1-12)."""
    assert terms.verdict_after_s == verdict_after_s


@pytest.mark.statement("S0-84", ruling="R-15")
def test_a_pause_is_what_the_peer_asked_for_or_else_retry_interval():
    """Zero seconds is what it asked for, too."""
    terms = DeliveryTerms(retry_interval_s=60)
    assert schedule.pause_ends_ns(0, at(5), terms) == at(5).monotonic_ns
    assert schedule.pause_ends_ns(None, at(5), terms) == at(65).monotonic_ns


@pytest.mark.statement("S3-12", ruling="R-08")
@pytest.mark.parametrize("behind_s", [-30, 0, 30])
def test_behind_the_fence_no_receiver_whose_clock_fits_takes_a_copy(behind_s):
    """I26: at the first instant past it, even a clock that is behind by the accuracy refuses."""
    terms = DeliveryTerms(time_to_live_s=3600, msh_time_accuracy_s=30)
    expiry_at = schedule.expires_at(START.at, terms)
    assert expiry_at is not None
    first_past = changed(at(3600 + 60), at=expiry_at + 60 * US_PER_S + 1)
    assert schedule.is_past_fence(expiry_at, first_past, terms)
    receiver = changed(first_past, at=first_past.at - behind_s * US_PER_S)
    assert schedule.is_refused_for_age(expiry_at, receiver, terms)


def test_a_receiver_may_have_forgotten_after_persist_duration():
    """And the accuracy, since clocks may be set; ExactlyOnce is never forgotten (R-17)."""
    terms = DeliveryTerms(persist_duration_s=100, msh_time_accuracy_s=10)
    assert not schedule.may_be_forgotten(START.at, at(110), terms)
    assert schedule.may_be_forgotten(START.at, at(111), terms)
    for_ever = changed(terms, semantics=DeliverySemantics.EXACTLY_ONCE)
    assert not schedule.may_be_forgotten(START.at, at(10_000), for_ever)


@pytest.mark.parametrize(("asked_s", "waits_s"), [(None, 60), (5, 60), (60, 60), (500, 500)])
def test_a_peer_that_wants_to_be_left_alone_is_waited_for(asked_s, waits_s):
    """Never for less than the wait that was agreed."""
    due_ns = START.monotonic_ns + 60 * 10**9
    put_off_ns = schedule.put_off_ns(due_ns, asked_s, START)
    assert (put_off_ns - START.monotonic_ns) // 10**9 == waits_s
