"""Level 2: ask whether messages are taken, then send at once, or not at all."""

import pytest
from driving import ACCEPTED, DUE, NEVER_LEFT, Run

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import InquiryKind
from onceonly.message.terms import DeliveryTerms, OnExhausted, RecoveryTerms
from onceonly.protocol.effects import (
    GiveUp,
    Inquire,
    Journal,
    Notify,
    OpenIncident,
    Release,
    ResolveIncident,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    Cancelled,
    DeadlineReached,
    ErrorReceived,
    Held,
    PongReceived,
    Restarted,
    Resumed,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.sending import Exposure, OutboundStatus, Silence
from onceonly.protocol.transmitting import needed_an_operator

PING = Inquire(InquiryKind.PING)
YES, NO = PongReceived(is_available=True), PongReceived(is_available=False)


def terms(above: int = 0, **more: object) -> DeliveryTerms:
    return DeliveryTerms(
        timeout_s=30,
        retries=2,
        retry_interval_s=60,
        time_to_live_s=3600,
        recovery=RecoveryTerms(ping_above_bytes=above),
        **more,
    )


def pinging(**more: object) -> Run:
    return Run(terms(**more), number=1).on(0, Admitted(1, size_bytes=500))


@pytest.mark.statement("S4-14")
def test_an_availability_inquiry_goes_before_the_message():
    """Nothing of the message has left while the answer is awaited."""
    run = pinging()
    assert run.of(Inquire) == [PING]
    assert run.of(Transmit) == []
    assert run.state.silence is Silence.PINGING
    assert run.state.exposure is Exposure.NEVER
    assert run.due_s == 30


@pytest.mark.statement("S4-14")
@pytest.mark.parametrize(("size_bytes", "pings"), [(500, 0), (501, 1)])
def test_small_messages_may_go_without_one(size_bytes, pings):
    """ping_above_bytes is the size that still goes without; an empty message is never larger."""
    run = Run(terms(500)).on(0, Admitted(None, size_bytes))
    assert len(run.of(Inquire)) == pings
    assert len(run.of(Transmit)) == 1 - pings


@pytest.mark.statement("S4-16")
def test_the_message_follows_at_once_after_a_good_answer():
    """And from then on it is like any other."""
    run = pinging().on(1, YES)
    assert run.of(Transmit) == [Transmit(1)]
    assert run.state.silence is Silence.NONE
    assert run.on(2, Transmitted(1, ACCEPTED)).due_s == 32
    run.on(32, DUE)
    assert run.of(Transmit)[-1] == Transmit(2), "resends are not preceded by a Ping"


@pytest.mark.statement("S4-16")
@pytest.mark.statement("S4-15")
def test_the_message_does_not_follow_a_bad_answer():
    """Asked again after RetryInterval, as often as there are retries; then it surely failed."""
    run = pinging(on_exhausted=OnExhausted.FAIL)
    for second in (1, 100, 200):
        run.on(second, NO)
        assert run.due_s == second + 60
        run.on(second + 60, DUE)
    assert run.of(Inquire) == [PING] * 3
    assert run.of(Transmit) == []
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Notify)[0].severity is Severity.ERROR
    assert run.of(Release) == [Release(abandoned=True)]
    assert [row.reason for row in run.of(Journal) if row.event is Event.PONG_RECEIVED] == [
        "takes no messages"
    ] * 3


@pytest.mark.statement("S4-16")
def test_the_message_does_not_follow_silence():
    """The first wait is Timeout, later ones RetryInterval, as for messages (R-06)."""
    run = pinging().on(30, DUE)
    assert run.due_s == 90
    run.on(90, DUE).on(150, DUE)
    assert run.of(Transmit) == []
    assert run.of(GiveUp) == [GiveUp("the partner did not say that it takes messages")]
    assert run.state.status is OutboundStatus.SENDING, "held for the operator, nothing left"


def test_a_resume_asks_anew():
    """With a full budget, and in doubt no less than before."""
    run = pinging().on(1, YES, Transmitted(1, ACCEPTED), Held()).on(9, Resumed(500))
    assert run.of(Inquire) == [PING, PING]
    assert run.state.pings == 1
    for second in (40, 100, 160):
        run.on(second, DUE)
    assert run.state.status is OutboundStatus.IN_DOUBT, "the copy of before the suspension"


def test_a_late_answer_is_noted_and_sends_nothing():
    """In any status, the queue's too."""
    run = pinging().on(1, YES).on(2, YES)
    assert run.of(Transmit) == [Transmit(1)]
    run.on(3, AckReceived()).on(4, NO)
    assert run.rows().count(Event.PONG_RECEIVED) == 3
    assert Run(terms()).on(0, YES).rows() == [Event.PONG_RECEIVED]


def test_an_answer_that_comes_after_the_expiry_sends_nothing():
    """No byte ever left: certain."""
    run = pinging().on(3601, YES)
    assert run.of(Transmit) == []
    assert run.state.status is OutboundStatus.EXPIRED
    assert pinging().on(3601, TimePassed()).state.silence is Silence.NONE


def test_a_restart_asks_again_and_counts_nothing():
    """The Ping may not have left before the crash."""
    run = pinging().on(5, Restarted())
    assert run.of(Inquire) == [PING, PING]
    assert run.state.pings == 1


def test_what_is_said_about_a_message_that_never_left_is_not_about_it():
    """An error is noted, an acknowledgement is an orphan."""
    refusal = ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR)
    run = pinging().on(1, refusal, AckReceived())
    assert run.state.silence is Silence.PINGING
    assert run.rows() == [Event.ERROR_RECEIVED, Event.ORPHAN_ACK_RECEIVED]


def test_a_transient_error_about_an_earlier_copy_does_not_end_the_question():
    """It waits for an answer already."""
    come_again = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 600)
    run = pinging().on(1, YES, Transmitted(1, ACCEPTED), Held(), Resumed(500), come_again)
    assert run.state.silence is Silence.PINGING
    assert run.due_s == 31


def test_what_has_not_left_can_be_taken_back():
    """While the partner is asked, nothing of the message is on its way."""
    assert pinging().on(1, Cancelled()).state.status is OutboundStatus.CANCELLED


@pytest.mark.statement("S4-17")
@pytest.mark.parametrize(
    "semantics", [DeliverySemantics.BEST_EFFORT, DeliverySemantics.AT_MOST_ONCE]
)
def test_without_retries_one_ping_is_all(semantics):
    """Level 2 on top of level 0."""
    run = pinging(semantics=semantics).on(30, DUE)
    assert run.of(Inquire) == [PING]
    assert run.state.status is OutboundStatus.FAILED
    assert len(run.of(Notify)) == (semantics is DeliverySemantics.AT_MOST_ONCE)


def test_exactly_once_asks_for_ever():
    """R-17 has no bound."""
    run = pinging(semantics=DeliverySemantics.EXACTLY_ONCE)
    for second in range(30, 4000, 60):
        run.on(second, DUE)
    assert run.state.silence is Silence.PINGING


ENDLESS = DeliverySemantics.EXACTLY_ONCE


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_that_may_not_be_sent_goes_to_the_operator_after_persist_duration():
    """30 s + 60 x 60 s are more than the 3600 s; the acknowledgement calms him."""
    run = pinging(semantics=ENDLESS, persist_duration_s=3600)
    for number in range(1, 61):
        run.on(number * 60, NO, DUE)
    assert run.of(OpenIncident) == []
    run.on(3660, DUE)
    assert len(run.of(OpenIncident)) == 1
    assert run.of(Inquire) == [PING] * 62
    run.on(3661, YES, Transmitted(1, ACCEPTED)).on(3662, AckReceived())
    assert run.of(ResolveIncident) == [ResolveIncident()]


@pytest.mark.statement("S3-14", ruling="R-17")
def test_the_waits_before_and_behind_the_good_answer_add_up():
    """The Ping that was answered is no wait: thirty in vain, then as many copies as it takes."""
    run = pinging(semantics=ENDLESS, persist_duration_s=3600)
    for number in range(1, 31):
        run.on(number * 60, DUE)
    run.on(1801, YES, Transmitted(1, ACCEPTED))
    for attempt in range(1, 31):
        run.on(1801 + attempt * 60, DUE, Transmitted(attempt + 1, ACCEPTED))
    assert run.of(OpenIncident) == []
    quick = run.state
    run.on(3700, DUE, Transmitted(32, ACCEPTED))
    assert len(run.of(OpenIncident)) == 1
    assert not needed_an_operator(quick, run.terms)
    assert needed_an_operator(run.state, run.terms)


def test_a_refused_connection_after_a_good_answer_is_like_any_other():
    """The partner went down in between."""
    run = pinging().on(1, YES, Transmitted(1, NEVER_LEFT))
    assert run.state.exposure is Exposure.NEVER
    assert run.due_s == 31


def test_a_deadline_that_comes_behind_the_good_answer_is_about_nothing():
    """I19: the timer of the Ping rings while the step that took the answer is being committed."""
    run = pinging()
    due_ns = run.state.due_ns
    run.on(29, YES).on(30, DeadlineReached(due_ns))
    assert run.of(Transmit) == [Transmit(1)]
    run.on(31, Transmitted(1, ACCEPTED), DeadlineReached(due_ns))
    assert run.of(Transmit) == [Transmit(1)]
    assert run.due_s == 61
