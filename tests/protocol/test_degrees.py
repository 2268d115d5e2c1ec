"""AtMostOnce, BestEffort, ExactlyOnce, method Transport: what each waits for and whom it tells."""

import pytest
from driving import ACCEPTED, DUE, NEVER_LEFT, REFUSED, UNKNOWN, Run, at

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.message import AckRequested, DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms, OnExhausted
from onceonly.message.word import changed
from onceonly.protocol.effects import (
    Diverge,
    GiveUp,
    Notify,
    OpenIncident,
    Release,
    ResolveIncident,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    ErrorReceived,
    Held,
    Restarted,
    Resumed,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.sending import OutboundStatus, Silence

TIMES = {"timeout_s": 30, "retries": 3, "retry_interval_s": 60, "persist_duration_s": 3600}
AT_MOST_ONCE = DeliveryTerms(semantics=DeliverySemantics.AT_MOST_ONCE, **TIMES)
BEST_EFFORT = DeliveryTerms(semantics=DeliverySemantics.BEST_EFFORT, **TIMES)
EXACTLY_ONCE = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, **TIMES)
BY_TRANSPORT = DeliveryTerms(
    method=ReliableMessagingMethod.TRANSPORT, on_exhausted=OnExhausted.FAIL, **TIMES
)
REFUSAL = ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR)
COME_AGAIN = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 5)
OUT_OF_SEQUENCE = ErrorReceived(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR)
UNDELIVERED = ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING)


@pytest.mark.statement("S1-22")
@pytest.mark.parametrize("method", list(ReliableMessagingMethod))
@pytest.mark.parametrize("semantics", [*DeliverySemantics])
def test_the_acknowledgement_protocol_runs_for_reliable_messages_by_its_own_method(
    semantics, method
):
    """The 2x2 table of seed 001 §1.3, and the two degrees that are agreed locally."""
    terms = DeliveryTerms(semantics=semantics, method=method)
    runs = semantics is not DeliverySemantics.BEST_EFFORT and method == "ebXML"
    assert terms.is_acknowledged is runs
    assert terms.numbers_messages is runs


@pytest.mark.statement("S0-76", ruling="R-16")
def test_at_most_once_never_retries_and_reports_a_missing_acknowledgement_at_once():
    """Timeout is the whole patience, and the pair goes on whatever was agreed."""
    run = Run(AT_MOST_ONCE, number=1).sent().on(30, DUE)
    assert run.of(Transmit) == [Transmit(1)]
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert [notice.severity for notice in run.of(Notify)] == [Severity.WARNING]
    assert run.of(GiveUp) == []
    assert run.of(Release) == [Release(abandoned=True)]


@pytest.mark.statement("S0-76", ruling="R-16")
def test_at_most_once_reports_a_dead_network_without_waiting():
    """No second transmission would follow, so there is nothing to wait for."""
    run = Run(AT_MOST_ONCE).sent(NEVER_LEFT)
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Notify)[0].severity is Severity.ERROR
    assert run.of(Release) == [Release(abandoned=True, is_numbered=False)]


@pytest.mark.statement("S0-76", ruling="R-16")
def test_at_most_once_takes_a_transient_error_for_the_end():
    """Coming again would be a retry; but "not now" is a doubt, not a failure.

    A copy that the network repeats, or that a relay has of it, may be taken a moment later.
    """
    run = Run(AT_MOST_ONCE).sent().on(1, COME_AGAIN)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Notify)[0].severity is Severity.WARNING
    assert run.of(Notify)[0].error_code is ErrorCode.TRANSIENT_ERROR


UNACKNOWLEDGED = changed(AT_MOST_ONCE, acknowledges_on_request=True)


@pytest.mark.statement("S0-76", ruling="R-29")
@pytest.mark.parametrize("transmission", [ACCEPTED, UNKNOWN], ids=["accepted", "unknown"])
def test_at_most_once_that_asks_for_no_acknowledgement_is_sent(transmission):
    """There is nothing to wait for, and nothing that could be missing."""
    run = Run(UNACKNOWLEDGED).sent(transmission)
    assert run.state.status is OutboundStatus.SENT
    assert run.state.due_ns is None
    assert run.of(Notify) == []
    asking = changed(UNACKNOWLEDGED, ack_requested=AckRequested.UNSIGNED)
    assert Run(asking).sent(transmission).on(30, DUE).state.status is OutboundStatus.IN_DOUBT


@pytest.mark.statement("S0-76", ruling="R-29")
def test_at_most_once_that_asks_for_no_acknowledgement_reports_a_dead_network():
    """Nothing left, so that the failure is certain."""
    run = Run(UNACKNOWLEDGED).sent(NEVER_LEFT)
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Notify)[0].severity is Severity.ERROR


@pytest.mark.statement("S0-77", ruling="R-16")
@pytest.mark.parametrize(
    "transmission",
    [ACCEPTED, UNKNOWN, changed(UNKNOWN, status_code=504, detail="504 Gateway Time-out")],
    ids=["accepted", "unknown", "a proxy's word"],
)
def test_best_effort_is_sent_when_its_transmission_ends(transmission):
    """Final, and nothing more is waited for."""
    run = Run(BEST_EFFORT).sent(transmission)
    assert run.state.status is OutboundStatus.SENT
    assert run.state.due_ns is None
    assert run.of(Release) == [Release(abandoned=True, is_numbered=False)]
    assert run.rows() == [Event.TRANSMITTING, Event.TRANSMITTED, Event.SENT]


@pytest.mark.statement("S0-77", ruling="R-16")
@pytest.mark.parametrize("transmission", [REFUSED, NEVER_LEFT], ids=["refused", "unreachable"])
def test_best_effort_that_was_surely_refused_fails_quietly(transmission):
    """No event for the application: its sending party cannot detect non-delivery."""
    run = Run(BEST_EFFORT).sent(transmission)
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Notify) == []
    run.on(5, AckReceived())
    assert run.of(Notify) == []
    assert run.rows()[-1] is Event.LATE_ACK_RECEIVED


def test_best_effort_whose_second_copy_is_refused_was_sent():
    """After a crash two copies may have left; only the second one was refused."""
    run = Run(BEST_EFFORT).on(0, Admitted(None), Restarted(), Transmitted(1, REFUSED))
    assert run.state.status is OutboundStatus.SENT


@pytest.mark.statement("S0-77")
def test_best_effort_hears_of_errors_in_the_journal_only():
    """Before and after the end of its transmission."""
    run = Run(BEST_EFFORT).on(0, Admitted(None), REFUSAL, COME_AGAIN)
    run.on(1, DUE, Transmitted(1, ACCEPTED)).on(2, REFUSAL, UNDELIVERED)
    assert run.state.status is OutboundStatus.SENT
    assert run.of(Notify) == []
    assert run.rows().count(Event.ERROR_RECEIVED) == 4


@pytest.mark.statement("S0-77")
def test_best_effort_expires_quietly():
    """Its time passed before its turn came."""
    run = Run(BEST_EFFORT).on(3601, TimePassed())
    assert run.state.status is OutboundStatus.EXPIRED
    assert run.of(Notify) == []


@pytest.mark.statement("S1-29")
def test_a_business_response_to_what_was_only_sent_shows_that_it_arrived():
    """Whether its transmission has ended or not: a race must not decide."""
    response = AckReceived("by the business response")
    late = Run(BEST_EFFORT).sent().on(5, response)
    early = Run(BEST_EFFORT).on(0, Admitted(None), response, Transmitted(1, ACCEPTED))
    for run in (late, early):
        assert run.state.status is OutboundStatus.ACKNOWLEDGED
        assert Event.ACK_RECEIVED in run.rows()
        assert run.of(Notify) == []


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_is_sent_for_ever_and_nobody_is_told_of_a_failure():
    """More transmissions than the agreement's retries, past every duration."""
    run = Run(EXACTLY_ONCE).sent()
    assert run.state.expires_at is None
    for attempt in range(2, 200):
        run.on(attempt * 60, DUE, Transmitted(attempt, NEVER_LEFT), TimePassed())
    assert len(run.of(Transmit)) == 199
    assert run.of(Notify) == []
    assert run.state.status is OutboundStatus.SENDING


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_calls_the_operator_after_persist_duration_and_calms_him_at_the_end():
    """30 s + 60 x 60 s are more than the 3600 s; the incident is one while it is open."""
    run = Run(EXACTLY_ONCE).sent()
    for attempt in range(2, 62):
        run.on(attempt * 60, DUE, Transmitted(attempt, ACCEPTED))
    assert run.of(OpenIncident) == []
    run.on(9000, DUE, Transmitted(62, ACCEPTED))
    assert len(run.of(OpenIncident)) == 1
    assert run.on(9001, AckReceived()).of(ResolveIncident) == [ResolveIncident()]
    quick = Run(EXACTLY_ONCE).sent().on(1, AckReceived())
    assert quick.of(ResolveIncident) == []


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_outlives_refusals_and_transient_errors():
    """A refusal may be mended by the partner's operator; then the next copy is taken."""
    terms = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, transient_retries=0)
    run = Run(terms).sent().on(1, REFUSAL, UNDELIVERED, COME_AGAIN)
    assert run.state.status is OutboundStatus.SENDING
    assert run.state.silence is Silence.PAUSED
    run.on(6, DUE)
    assert run.of(Transmit)[-1] == Transmit(1)
    assert run.of(Notify) == []


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_that_is_put_off_for_ever_goes_to_the_operator():
    """Behind as many pauses as end a message of another degree; the acknowledgement calms him."""
    terms = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, transient_retries=2)
    run = Run(terms).sent()
    for _ in range(2):
        run.on(run.due_s, COME_AGAIN, DUE, Transmitted(1, ACCEPTED))
    assert run.of(OpenIncident) == []
    run.on(run.due_s, COME_AGAIN)
    assert run.of(OpenIncident) == [OpenIncident("the peer kept answering TransientError")]
    run.on(run.due_s, DUE, Transmitted(1, ACCEPTED))
    run.on(run.due_s, DUE, Transmitted(2, ACCEPTED))
    assert run.on(9001, AckReceived()).of(ResolveIncident) == [ResolveIncident()]


@pytest.mark.statement("S3-14", ruling="R-17")
@pytest.mark.parametrize("is_from_to_party", [False, True])
def test_exactly_once_that_is_reported_as_undelivered_goes_to_the_operator(is_from_to_party):
    """Somebody had acknowledged it, perhaps its To Party itself: pathological, and no notice."""
    taken = AckReceived(is_from_to_party=is_from_to_party)
    run = Run(EXACTLY_ONCE).sent().on(1, taken).on(9, UNDELIVERED)
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert len(run.of(OpenIncident)) == 1
    assert run.of(Notify) == []


@pytest.mark.statement("S0-100", ruling="R-11")
def test_exactly_once_out_of_sequence_waits_for_the_operator():
    """The pair is quarantined; the message is no doubt, it will be sent again."""
    run = Run(EXACTLY_ONCE, number=7).sent().on(1, OUT_OF_SEQUENCE)
    assert len(run.of(Diverge)) == 1
    assert run.state.status is OutboundStatus.SENDING
    assert run.of(Notify) == []
    assert run.on(9, Resumed()).of(Transmit)[-1] == Transmit(1)


def test_without_numbers_a_wrong_number_is_a_refusal_like_any_other():
    """There is no sequence that could be quarantined."""
    run = Run(DeliveryTerms(**TIMES)).sent().on(1, OUT_OF_SEQUENCE)
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Diverge) == []


@pytest.mark.statement("S1-12")
def test_a_reliable_transport_that_took_the_message_has_the_last_word():
    """Sent is final; no acknowledgement is waited for."""
    run = Run(BY_TRANSPORT).sent()
    assert run.state.status is OutboundStatus.SENT
    assert run.state.due_ns is None
    assert run.of(Release) == [Release(abandoned=True, is_numbered=False)]


@pytest.mark.statement("S1-12")
@pytest.mark.parametrize("transmission", [UNKNOWN, REFUSED, NEVER_LEFT])
def test_until_a_reliable_transport_takes_it_the_same_transmission_is_offered_again(transmission):
    """The binding's redelivery is no retry: not counted, RetryInterval apart."""
    run = Run(BY_TRANSPORT).sent(transmission)
    for second in range(60, 1800, 60):
        assert run.due_s == second
        run.on(second, DUE, Transmitted(1, transmission))
    assert {effect.attempt for effect in run.of(Transmit)} == {1}
    assert run.on(1800, DUE, Transmitted(1, ACCEPTED)).of(Notify) == []
    assert run.state.status is OutboundStatus.SENT


@pytest.mark.statement("S1-20")
def test_what_a_reliable_transport_never_took_is_reported_when_its_time_has_passed():
    """Certain where no byte left it, presumed where one may have."""
    certain = Run(BY_TRANSPORT).sent(NEVER_LEFT).on(3601, DUE)
    assert certain.state.status is OutboundStatus.EXPIRED
    presumed = Run(BY_TRANSPORT).sent(UNKNOWN).on(3601, DUE)
    assert presumed.state.status is OutboundStatus.IN_DOUBT
    for run in (certain, presumed):
        assert run.of(Notify)[0].error_code is ErrorCode.DELIVERY_FAILURE


def test_a_deadline_that_a_transmission_overtook_sends_nothing_where_nothing_is_waited_for():
    """BestEffort and method Transport wait in pauses only."""
    run = Run(BY_TRANSPORT).on(0, Admitted(None), DUE)
    assert run.of(Transmit) == [Transmit(1)]
    assert run.state.status is OutboundStatus.SENDING


def test_a_message_by_a_reliable_transport_that_was_held_stays_silent():
    """The pair was suspended while the transport tried."""
    run = Run(BY_TRANSPORT).on(0, Admitted(None)).on(1, Held(), Transmitted(1, UNKNOWN))
    assert run.state.due_ns is None


@pytest.mark.statement("S1-52")
def test_a_refusal_of_what_a_reliable_transport_delivered_is_told():
    """The only copy was refused by the receiving MSH: certain."""
    run = Run(BY_TRANSPORT).sent().on(5, REFUSAL)
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Notify)[0].severity is Severity.ERROR
    warned = Run(BY_TRANSPORT).sent().on(5, ErrorReceived(ErrorCode.UNKNOWN, Severity.WARNING))
    assert warned.state.status is OutboundStatus.SENT
    twice = Run(BY_TRANSPORT).on(0, Admitted(None), Restarted(), Transmitted(1, ACCEPTED))
    assert twice.on(5, REFUSAL).state.status is OutboundStatus.IN_DOUBT


@pytest.mark.statement("S3-10")
@pytest.mark.parametrize(
    ("on_exhausted", "status"),
    [(OnExhausted.SUSPEND, OutboundStatus.SENDING), (OnExhausted.FAIL, OutboundStatus.FAILED)],
)
def test_a_network_failure_ends_it_at_once_where_that_is_agreed(on_exhausted, status):
    """Seed 003 §1, with what R-07 makes of the pair; nothing left, so it is certain."""
    terms = DeliveryTerms(fails_on_network_error=True, on_exhausted=on_exhausted, **TIMES)
    run = Run(terms, number=1).sent(NEVER_LEFT)
    assert run.state.status is status
    assert run.of(Notify)[0].severity is Severity.ERROR
    later = Run(terms, number=1).sent().on(30, DUE, Transmitted(2, NEVER_LEFT))
    assert later.state.status is OutboundStatus.IN_DOUBT
    patient = Run(terms, number=1).sent(REFUSED)
    assert patient.due_s == 30, "a refusal that was answered is no network failure"


def test_exactly_once_does_not_give_up_on_a_network_failure():
    """R-17 is the stronger word."""
    terms = DeliveryTerms(
        semantics=DeliverySemantics.EXACTLY_ONCE, fails_on_network_error=True, timeout_s=30
    )
    assert Run(terms).sent(NEVER_LEFT).due_s == 30


@pytest.mark.statement("S4-09")
def test_without_a_number_of_retries_only_time_ends_the_resends():
    """Level 1: until the acknowledgement, or "expires at"."""
    terms = DeliveryTerms(retries=None, time_to_live_s=900, timeout_s=30, retry_interval_s=60)
    run = Run(terms).sent()
    for attempt, second in enumerate(range(30, 900, 60), start=2):
        run.on(second, DUE, Transmitted(attempt, ACCEPTED))
    assert len(run.of(Transmit)) == 16
    run.on(930, DUE)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Notify)[0].error_code is ErrorCode.TIME_TO_LIVE_EXPIRED


@pytest.mark.statement("S1-19")
@pytest.mark.statement("S1-20")
def test_no_resend_after_persist_duration_and_the_failure_is_reported():
    """PersistDuration shorter than the retry plan: the receiver would refuse another copy."""
    terms = DeliveryTerms(retries=3, timeout_s=30, retry_interval_s=60, persist_duration_s=60)
    run = Run(terms).sent().on(30, DUE, Transmitted(2, ACCEPTED))
    run.on(90, DUE)
    assert len(run.of(Transmit)) == 2
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Notify)[0].error_code is ErrorCode.DELIVERY_FAILURE
    run.on(121, TimePassed())
    assert run.state.status is OutboundStatus.FAILED, "PersistDuration and twice 30 s"


def test_the_earlier_of_the_two_durations_ends_the_message():
    """And gives the code by which it is reported."""
    both = DeliveryTerms(time_to_live_s=7200, **TIMES)
    assert Run(both).state.expires_at == at(3600).at
    run = Run(both).on(3601, TimePassed())
    assert run.of(Notify)[0].error_code is ErrorCode.DELIVERY_FAILURE


@pytest.mark.parametrize("semantics", [*DeliverySemantics])
def test_what_is_never_sent_again_leaves_once(semantics):
    """The transport must not repeat it either (R-38)."""
    once = (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT)
    assert DeliveryTerms(semantics=semantics).leaves_once is (semantics in once)
