"""The sender's machine: Timeout, Retries, RetryInterval, doubt and certainty."""

import itertools
from typing import get_args

import pytest
from driving import DUE, event_of

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from onceonly.message.message import AckRequested
from onceonly.message.terms import DeliveryTerms, OnExhausted
from onceonly.message.word import changed
from onceonly.protocol import sending
from onceonly.protocol.effects import (
    Diverge,
    GiveUp,
    Journal,
    NoticeKind,
    Notify,
    Release,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    Cancelled,
    ErrorReceived,
    Held,
    Outcome,
    Requeued,
    Restarted,
    Resumed,
    SendingEvent,
    TimePassed,
    Transmission,
    Transmitted,
)
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus, Silence

TERMS = DeliveryTerms(timeout_s=30, retries=3, retry_interval_s=60, time_to_live_s=3600)
START = Now(1_000_000 * US_PER_S, 0)
ACCEPTED = Transmission(Outcome.ACCEPTED, bytes_left=True, status_code=204)
NEVER_LEFT = Transmission(Outcome.REFUSED, bytes_left=False, detail="connection refused")


def at(seconds: float) -> Now:
    """The moment `seconds` after the start, on both clocks."""
    return Now(START.at + int(seconds * US_PER_S), int(seconds * NS_PER_S))


class Run:
    """One message driven by events at chosen moments; keeps all effects in order."""

    def __init__(self, terms: DeliveryTerms = TERMS, expires_s: float | None = 3600) -> None:
        self.terms = terms
        expires_at = None if expires_s is None else at(expires_s).at
        self.state = Outbound(expires_at=expires_at)
        self.effects: list[object] = []

    def on(self, seconds: float, *events: object) -> "Run":
        for event in events:
            self.state, effects = sending.step(
                self.state, event_of(event, self.state.due_ns), at(seconds), self.terms
            )
            self.effects += effects
        return self

    def of(self, kind: type) -> list:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rows(self) -> list[Event]:
        return [effect.event for effect in self.of(Journal)]

    def sent(self, transmission: Transmission = ACCEPTED) -> "Run":
        """Admitted and transmitted once, at second 0."""
        return self.on(0, Admitted(1), Transmitted(1, transmission))

    def exhausted(self, transmission: Transmission = ACCEPTED) -> "Run":
        """All transmissions made and all waits over, at second 210."""
        self.sent(transmission)
        for attempt, second in ((2, 30), (3, 90), (4, 150)):
            self.on(second, DUE, Transmitted(attempt, transmission))
        return self.on(210, DUE)


@pytest.mark.statement("S0-20", ruling="R-06")
@pytest.mark.statement("S0-25", ruling="R-06")
@pytest.mark.statement("S0-74", ruling="R-06")
@pytest.mark.statement("S1-15", ruling="R-06")
@pytest.mark.statement("S1-17", ruling="R-06")
@pytest.mark.statement("S1-41", ruling="R-06")
@pytest.mark.statement("S1-42", ruling="R-06")
def test_the_first_wait_is_timeout_and_later_ones_are_retry_interval():
    """R-06: each wait runs from the end of the transmission."""
    run = Run().sent()
    assert run.state.due_ns == at(30).monotonic_ns
    run.on(30, DUE)
    assert run.state.due_ns is None, "nothing is due while bytes are leaving"
    run.on(35, Transmitted(2, ACCEPTED))
    assert run.state.due_ns == at(95).monotonic_ns


@pytest.mark.statement("S0-22")
@pytest.mark.statement("S0-23")
@pytest.mark.statement("S0-26")
@pytest.mark.statement("S1-16")
@pytest.mark.statement("S1-43")
@pytest.mark.statement("S3-07")
@pytest.mark.statement("S3-09")
def test_a_silent_receiver_gets_exactly_one_plus_retries_transmissions():
    """S0-22, S0-23: then the application is told, once."""
    run = Run().exhausted()
    assert [effect.attempt for effect in run.of(Transmit)] == [1, 2, 3, 4]
    assert len(run.of(Notify)) == 1
    assert run.of(GiveUp) == [GiveUp("no acknowledgement after the last retry")]


@pytest.mark.statement("S0-95")
def test_no_failure_is_reported_before_the_last_wait_is_over():
    """S0-95."""
    run = Run().sent().on(30, DUE, Transmitted(2, ACCEPTED))
    assert run.of(Notify) == []


@pytest.mark.statement("S1-56", ruling="R-08")
@pytest.mark.statement("S4-10")
def test_exhaustion_is_a_doubt_when_a_byte_may_have_left():
    """R-08: severity Warning, never a plain failure."""
    run = Run().exhausted()
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Notify)[0].severity is Severity.WARNING


@pytest.mark.statement("S1-56", ruling="R-08")
def test_exhaustion_is_certain_when_no_byte_ever_left():
    """R-08: severity Error; the message waits for the resume, it is no doubt."""
    run = Run().exhausted(NEVER_LEFT)
    assert run.state.status is OutboundStatus.SENDING
    assert run.state.silence is Silence.HELD
    assert run.of(Notify)[0].severity is Severity.ERROR


@pytest.mark.statement("S0-75", ruling="R-05")
def test_one_unknown_outcome_among_refusals_is_enough_for_doubt():
    """R-05: unknown is not failure, and no later certainty takes it back."""
    run = Run().sent(Transmission(Outcome.UNKNOWN, bytes_left=True))
    for attempt, second in ((2, 30), (3, 90), (4, 150)):
        run.on(second, DUE, Transmitted(attempt, NEVER_LEFT))
    assert run.on(210, DUE).state.status is OutboundStatus.IN_DOUBT


@pytest.mark.statement("S0-13", ruling="R-05")
def test_a_2xx_is_not_an_acknowledgement():
    """I30."""
    assert Run().sent(ACCEPTED).state.status is OutboundStatus.SENDING


@pytest.mark.statement("S0-29")
@pytest.mark.parametrize("second", [0, 20, 100])
def test_an_acknowledgement_completes_the_message_at_any_time(second):
    """S0-29: and gives the turn back."""
    run = Run().sent()
    if second > 30:
        run.on(30, DUE, Transmitted(2, ACCEPTED))
    run.on(second, AckReceived())
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert run.state.due_ns is None
    assert run.of(Release) == [Release(abandoned=False)]


def test_an_acknowledgement_may_overtake_the_outcome_of_its_transmission():
    """The peer's acknowledgement can be here before its answer to our POST."""
    run = Run().on(0, Admitted(1), AckReceived(), Transmitted(1, ACCEPTED))
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert run.state.due_ns is None
    assert run.rows() == [Event.TRANSMITTING, Event.ACK_RECEIVED, Event.TRANSMITTED]


@pytest.mark.statement("S0-93")
@pytest.mark.statement("S3-17")
def test_surplus_acknowledgements_change_nothing():
    """S0-93."""
    run = Run().sent().on(1, AckReceived())
    before = run.state
    run.on(2, AckReceived(), AckReceived())
    assert run.state == before
    assert run.rows().count(Event.ACK_RECEIVED) == 1


@pytest.mark.statement("S3-17", ruling="R-09")
def test_a_late_acknowledgement_is_news():
    """R-09, I23: recorded, the application told, the doubt resolved."""
    run = Run().exhausted().on(500, AckReceived())
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert Event.LATE_ACK_RECEIVED in run.rows()
    assert [effect.kind for effect in run.of(Notify)] == [
        NoticeKind.DELIVERY_FAILURE,
        NoticeKind.ACKNOWLEDGED_LATE,
    ]


@pytest.mark.statement("S3-17", ruling="R-09")
def test_a_late_acknowledgement_of_a_failed_message_leaves_it_failed():
    """R-09, I20: final states are final, the news goes out all the same."""
    run = Run().exhausted().on(3600 + 61, TimePassed())
    assert run.state.status is OutboundStatus.FAILED
    run.on(4000, AckReceived())
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Notify)[-1].kind is NoticeKind.ACKNOWLEDGED_LATE


@pytest.mark.statement("S0-32", ruling="R-07")
@pytest.mark.statement("S0-33", ruling="R-07")
def test_resume_starts_the_uncompleted_message_anew_with_a_full_budget():
    """S0-32, S0-33, I28: same number, attempts from one."""
    run = Run().exhausted().on(1000, Resumed())
    assert (run.state.status, run.state.attempt) == (OutboundStatus.SENDING, 1)
    assert run.state.sequence_number == 1
    assert run.of(Transmit)[-1] == Transmit(1)
    run.on(1000, Transmitted(1, ACCEPTED)).on(1030, DUE)
    assert run.of(Transmit)[-1] == Transmit(2)


def test_each_episode_has_a_notice_of_its_own():
    """I22: exactly once per message and episode."""
    run = Run().exhausted().on(1000, Resumed(), Transmitted(1, ACCEPTED))
    for attempt, second in ((2, 1030), (3, 1090), (4, 1150)):
        run.on(second, DUE, Transmitted(attempt, ACCEPTED))
    run.on(1210, DUE)
    assert [notice.episode for notice in run.of(Notify)] == [0, 1]


@pytest.mark.statement("S0-30", ruling="R-07")
@pytest.mark.statement("S0-55", ruling="R-10")
def test_on_exhausted_fail_lets_the_pair_go_on():
    """R-07, R-10: the number is abandoned."""
    terms = DeliveryTerms(retries=0, timeout_s=30, on_exhausted=OnExhausted.FAIL)
    run = Run(terms, expires_s=None).sent().on(30, DUE)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Release) == [Release(abandoned=True)]
    certain = Run(terms, expires_s=None).sent(NEVER_LEFT).on(30, DUE)
    assert certain.state.status is OutboundStatus.FAILED
    assert Event.FAILED in certain.rows()


@pytest.mark.statement("S0-83", ruling="R-15")
@pytest.mark.statement("S0-85", ruling="R-15")
@pytest.mark.statement("S0-86", ruling="R-15")
def test_a_transient_error_pauses_for_min_retry_and_is_not_counted():
    """S0-83, S0-85, S0-86, R-15."""
    run = Run().sent()
    for _ in range(10):
        run.on(5, ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 60))
        assert run.state.due_ns == at(65).monotonic_ns
        run.on(65, DUE)
        assert run.of(Transmit)[-1] == Transmit(1)
        run.on(65, Transmitted(1, ACCEPTED))
    assert run.state.status is OutboundStatus.SENDING


@pytest.mark.statement("S0-84", ruling="R-15")
def test_without_min_retry_secs_the_pause_is_retry_interval():
    """S0-84."""
    run = Run().sent().on(5, ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING))
    assert run.state.due_ns == at(65).monotonic_ns


@pytest.mark.statement("S0-28")
def test_an_outcome_that_comes_after_the_pause_was_asked_for_does_not_shorten_it():
    """S0-28: the transient recovery runs, not the Timeout recovery."""
    error = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 600)
    run = Run().on(0, Admitted(1)).on(1, error).on(2, Transmitted(1, ACCEPTED))
    assert run.state.due_ns == at(601).monotonic_ns


@pytest.mark.statement("S0-86", ruling="R-15")
def test_transient_errors_are_capped():
    """R-15: not for ever."""
    terms = DeliveryTerms(transient_retries=1, timeout_s=30)
    error = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 1)
    run = Run(terms).sent().on(1, error).on(2, DUE, Transmitted(1, ACCEPTED), error)
    assert run.of(GiveUp) == [GiveUp("the peer kept answering TransientError")]


@pytest.mark.statement("S0-86", ruling="R-15")
@pytest.mark.parametrize("retries", [3, None])
def test_the_cap_is_on_pauses_in_a_row(retries):
    """A peer that was silent in between has not kept answering, however many retries there are."""
    terms = DeliveryTerms(transient_retries=1, timeout_s=30, retries=retries, retry_interval_s=60)
    error = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 1)
    run = Run(terms).sent().on(1, error).on(2, DUE, Transmitted(1, ACCEPTED))
    run.on(32, DUE, Transmitted(2, ACCEPTED), error)
    assert run.state.silence is Silence.PAUSED
    assert not run.of(GiveUp)


def test_a_pause_that_is_asked_for_twice_is_one():
    """The network may bring the answer again, or a peer one to an earlier copy."""
    terms = DeliveryTerms(transient_retries=1, timeout_s=30)
    error = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 10)
    run = Run(terms).sent().on(1, error, error).on(3, error)
    assert run.state.due_ns == at(13).monotonic_ns
    run.on(13, DUE, Transmitted(1, ACCEPTED))
    assert not run.of(GiveUp)
    run.on(14, error)
    assert run.of(GiveUp) == [GiveUp("the peer kept answering TransientError")]


def test_who_was_told_that_nothing_left_is_not_told_of_a_refusal_in_the_same_episode():
    """A response may leave on request alone while its pair is suspended (R-21, I22)."""
    run = Run(DeliveryTerms(retries=0)).sent(NEVER_LEFT).on(60, DUE)
    run.state = changed(run.state, exposure=Exposure.LEFT)
    run.on(61, ErrorReceived(ErrorCode.TIME_TO_LIVE_EXPIRED, Severity.ERROR))
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert len(run.of(Notify)) == run.rows().count(Event.NOTIFIED) == 1


@pytest.mark.statement("S0-100", ruling="R-11")
def test_an_invalid_sequence_number_quarantines_the_pair():
    """R-11: never guess; the application hears of it as a doubt."""
    error = ErrorReceived(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR, None, "after 5 came 7")
    run = Run().sent().on(1, error)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Diverge) == [Diverge("after 5 came 7")]


@pytest.mark.statement("S3-12", ruling="R-08")
def test_the_refusal_of_the_only_copy_is_final():
    """R-08: every copy that left was answered."""
    run = Run().sent().on(1, ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR))
    assert run.state.status is OutboundStatus.FAILED
    assert run.state.error_code is ErrorCode.VALUE_NOT_RECOGNIZED
    assert run.of(Release) == [Release(abandoned=True)]


@pytest.mark.statement("S3-12", ruling="R-08")
def test_a_refusal_after_a_resend_is_a_doubt():
    """R-08: an earlier copy may have been stored."""
    run = Run().sent().on(30, DUE, Transmitted(2, ACCEPTED))
    run.on(31, ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR))
    assert run.state.status is OutboundStatus.IN_DOUBT


def test_a_warning_is_recorded_and_changes_nothing():
    """Severity Warning lets processing go on."""
    run = Run().sent()
    before = run.state
    run.on(1, ErrorReceived(ErrorCode.UNKNOWN, Severity.WARNING))
    assert run.state == before
    assert Event.ERROR_RECEIVED in run.rows()


def test_time_to_live_before_the_first_byte_is_expiry():
    """I24: certain, severity Error."""
    run = Run().on(3601, TimePassed())
    assert run.state.status is OutboundStatus.EXPIRED
    assert run.of(Notify)[0].severity is Severity.ERROR
    assert run.of(Release) == [], "a queued message has no turn to give back"


def test_an_expired_message_that_gets_its_turn_gives_it_back():
    """Nothing of it is sent."""
    run = Run().on(3601, Admitted(1))
    assert run.state.status is OutboundStatus.EXPIRED
    assert run.of(Transmit) == []
    assert run.of(Release) == [Release(abandoned=True)]


@pytest.mark.statement("S4-10", ruling="R-08")
@pytest.mark.statement("S3-12", ruling="R-08")
def test_time_to_live_after_a_byte_left_is_a_doubt_until_the_fence():
    """R-08, I26: the receiver grants the accuracy, and its clock may be behind by it."""
    run = Run().sent().on(3601, TimePassed())
    assert run.state.status is OutboundStatus.IN_DOUBT
    run.on(3660, TimePassed())
    assert run.state.status is OutboundStatus.IN_DOUBT
    run.on(3661, TimePassed())
    assert run.state.status is OutboundStatus.FAILED
    assert len(run.of(Notify)) == 1


ON_REQUEST = changed(
    TERMS, is_numbered=False, acknowledges_on_request=True, ack_requested=AckRequested.UNSIGNED
)
"""As in `ebms-2.0`, whose first wait is a RetryInterval, too."""


@pytest.mark.statement("S4-09")
@pytest.mark.statement("E2-77")
@pytest.mark.parametrize("terms", [TERMS, changed(ON_REQUEST, timeout_s=60)])
def test_no_resend_after_time_to_live(terms):
    """The deadline finds the time over."""
    run = Run(terms).sent().on(3601, DUE)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert len(run.of(Transmit)) == 1


def test_time_that_has_not_passed_changes_nothing():
    """The sweep may ask too early."""
    for run in (Run(), Run().sent(), Run().exhausted()):
        before = run.state
        assert run.on(211, TimePassed()).state == before


@pytest.mark.statement("S1-04")
def test_a_restart_is_no_reset():
    """I18: the attempt keeps its number; the open exposure counts as left."""
    run = Run().sent().on(30, DUE, Restarted())
    assert run.of(Transmit)[-1] == Transmit(2)
    fresh = Run().on(0, Admitted(1), Restarted())
    assert fresh.state.exposure is Exposure.LEFT
    assert fresh.of(Transmit)[-1] == Transmit(1)


def test_a_held_message_is_silent():
    """I27: not at its deadline, not at the end of a pause, not because of a late outcome."""
    run = Run().sent().on(1, Held())
    assert run.state.due_ns is None
    run.on(2, ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 5))
    run.on(3, Transmitted(1, ACCEPTED), DUE)
    assert run.state.due_ns is None
    assert len(run.of(Transmit)) == 1
    assert run.on(9, Resumed()).of(Transmit)[-1] == Transmit(1)


def test_cancel_takes_back_only_what_never_left():
    """R-08: later only the receiver could confirm it."""
    assert Run().on(0, Cancelled()).state.status is OutboundStatus.CANCELLED
    held = Run().exhausted(NEVER_LEFT).on(300, Cancelled())
    assert held.state.status is OutboundStatus.CANCELLED
    assert held.of(Release) == [Release(abandoned=True)]
    with pytest.raises(LocalError, match="may have left"):
        Run().sent().on(1, Cancelled())
    with pytest.raises(LocalError, match="already"):
        Run().sent().on(1, AckReceived(), Cancelled())


def test_an_acknowledgement_before_the_first_byte_is_an_orphan():
    """It cannot be ours: a restored backup, or a forgery."""
    run = Run().on(0, AckReceived())
    assert run.state.status is OutboundStatus.QUEUED
    assert run.rows() == [Event.ORPHAN_ACK_RECEIVED]


def test_a_certain_failure_that_is_acknowledged_after_all_is_reported_as_late():
    """A transport that said "no byte left" was wrong; the application must hear it."""
    run = Run().exhausted(NEVER_LEFT).on(300, AckReceived())
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert run.of(Notify)[-1].kind is NoticeKind.ACKNOWLEDGED_LATE


def test_what_loses_a_race_against_a_verdict_changes_nothing():
    """Timers, sweeps and holds may come just too late; a verdict is one thing to ask for."""
    run = Run().sent().on(1, AckReceived())
    before = run.state
    run.on(40, DUE, TimePassed(), Held())
    assert run.state == before
    assert run.state.status.is_final


def test_a_message_whose_first_byte_never_left_expires_at_its_deadline():
    """Refused connections all the way, then TimeToLive: certain, not a doubt."""
    run = Run().sent(NEVER_LEFT).on(3601, DUE)
    assert run.state.status is OutboundStatus.EXPIRED


def test_what_was_told_of_is_not_told_of_again_when_it_expires():
    """I22: one notice in an episode, also where it turns final while the pair is closed."""
    run = Run().exhausted(NEVER_LEFT).on(3601, TimePassed())
    assert run.state.status is OutboundStatus.EXPIRED
    assert len(run.of(Notify)) == 1


def test_a_refusal_tells_the_application_why():
    """The peer's own words go into the notice."""
    refused = ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR, None, "no such TPAId")
    assert "no such TPAId" in Run().sent().on(1, refused).of(Notify)[0].reason


ILLEGAL = {
    (OutboundStatus.QUEUED, Held): "only a message with the turn is held",
    (OutboundStatus.QUEUED, Resumed): "only a message with the turn is resumed",
    (OutboundStatus.QUEUED, Restarted): "only a message with the turn is restarted",
    (OutboundStatus.SENDING, Admitted): "it has the turn",
    (OutboundStatus.IN_DOUBT, Admitted): "it had the turn",
    (OutboundStatus.IN_DOUBT, Restarted): "its pair is closed or went on",
    **{
        (status, Requeued): "only what was given up in doubt is queued again"
        for status in OutboundStatus
        if status is not OutboundStatus.IN_DOUBT
    },
    **{
        (status, event): "final"
        for status in sending.FINAL
        for event in (Admitted, Resumed, Restarted)
    },
}
"""What cannot happen, and why; everything else is in the table."""

EVENTS = get_args(SendingEvent)


def test_every_status_and_event_is_legal_or_known_to_be_illegal():
    """Rule 3: the table is total."""
    for cell in itertools.product(OutboundStatus, EVENTS):
        assert (cell in sending.TABLE) != (cell in ILLEGAL), cell


def test_an_illegal_event_is_our_bug():
    """It stops us instead of guessing."""
    with pytest.raises(sending.IllegalStep, match="Held in queued"):
        Run().on(0, Held())


def test_errors_about_settled_messages_are_recorded_only():
    """A refusal of a late copy is no news."""
    run = Run().exhausted()
    before = run.state
    run.on(300, ErrorReceived(ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR))
    assert run.state == before
