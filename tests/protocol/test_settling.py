"""A person ends a doubt by a word, and what the partner's word does to that (R-49)."""

import pytest
from driving import ACCEPTED, DUE, NEVER_LEFT, Run, at

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms, OnExhausted, RecoveryTerms
from onceonly.message.word import changed
from onceonly.protocol import pairing, recovering, sending
from onceonly.protocol.effects import (
    ConfirmCancel,
    Journal,
    NoticeKind,
    Notify,
    OpenIncident,
    Release,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    CancelConfirmed,
    Cancelled,
    DeadlineReached,
    ErrorReceived,
    Held,
    Settled,
    Settlement,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.outbound import sent_beside
from onceonly.protocol.outlook import known
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.recovering import Recovery, RecoveryPhase, ResponseStatus
from onceonly.protocol.sending import OutboundStatus, can_be_sent_again, has_way_on

SUSPENDING = DeliveryTerms(timeout_s=30, retries=0, time_to_live_s=3600)
GOING_ON = changed(SUSPENDING, is_numbered=False, on_exhausted=OnExhausted.FAIL)
YES, NO = (
    Settled(Settlement.DELIVERED, "they see it", "night shift"),
    Settled(Settlement.NOT_DELIVERED, "lost there"),
)
STATUS = {
    Settlement.DELIVERED: OutboundStatus.SETTLED_DELIVERED,
    Settlement.NOT_DELIVERED: OutboundStatus.SETTLED_NOT_DELIVERED,
}
DENIALS = [
    ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING),
    ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR, None, "no such service"),
]

both_words = pytest.mark.parametrize("word", [YES, NO], ids=["delivered", "not delivered"])


def in_doubt(terms: DeliveryTerms = GOING_ON) -> Run:
    number = 4 if terms.is_numbered else None
    return Run(terms, number=number).sent().on(30, DUE)


def settled(word: Settled, terms: DeliveryTerms = GOING_ON) -> Run:
    run = in_doubt(terms)
    run.effects.clear()
    return run.on(40, word)


@both_words
@pytest.mark.parametrize("terms", [GOING_ON, SUSPENDING], ids=["going on", "suspending"])
def test_a_word_ends_a_doubt_in_a_status_of_its_own(word, terms):
    """Final, with who said it and why in the journal, and nothing more to be sent."""
    run = settled(word, terms)
    assert run.state.status is STATUS[word.word]
    assert run.state.status.is_final
    assert run.state.due_ns is None
    assert run.of(Journal)[0] == Journal(
        Event.SETTLED, outcome=word.word.value, reason=word.reason, actor=word.actor
    )
    assert run.of(Transmit) == []
    assert not can_be_sent_again(run.state, at(41))


@pytest.mark.parametrize(
    ("word", "severity"), [(YES, Severity.WARNING), (NO, Severity.ERROR)], ids=["yes", "no"]
)
def test_the_application_is_told_whose_word_it_is(word, severity):
    """By one notice of a kind of its own, since it was told of the doubt before."""
    run = settled(word)
    (notice,) = run.of(Notify)
    assert (notice.kind, notice.severity) == (NoticeKind.SETTLED_BY_OPERATOR, severity)
    assert word.reason in notice.reason
    assert Event.NOTIFIED in run.rows()


def test_no_notice_goes_to_an_application_that_wants_none():
    """ExactlyOnce has none (R-17); a doubt there is a parked message."""
    terms = changed(GOING_ON, semantics=DeliverySemantics.EXACTLY_ONCE)
    state = changed(in_doubt().state, error_code=ErrorCode.UNKNOWN)
    _, effects = sending.step(state, YES, at(40), terms)
    assert not [one for one in effects if isinstance(one, Notify)]
    state, _ = sending.step(state, YES, at(40), terms)
    state, effects = sending.step(state, DENIALS[1], at(50), terms)
    assert state.status is OutboundStatus.IN_DOUBT
    assert [type(one) for one in effects] == [Journal, OpenIncident]


@pytest.mark.parametrize(
    ("run", "possible"),
    [
        (Run(GOING_ON), "cancelled"),
        (Run(GOING_ON).sent(), "wait"),
        (Run(GOING_ON).sent().on(1, AckReceived()), "nothing left"),
        (Run(GOING_ON).sent(NEVER_LEFT).on(30, DUE), "resend"),
        (Run(GOING_ON).on(3601, TimePassed()), "resend"),
        (Run(GOING_ON).on(1, Cancelled()), "resend"),
        (settled(YES), "anyway"),
        (settled(NO), "do not resend"),
    ],
    ids=lambda it: it.state.status.value if isinstance(it, Run) else "",
)
def test_only_a_doubt_is_settled_and_the_refusal_says_what_is_possible(run, possible):
    """Also not what was settled: a word is not corrected, the partner's word does that."""
    before = run.state
    with pytest.raises(LocalError, match=possible) as refused:
        run.on(50, YES)
    assert refused.value.name == "NotSettleable"
    assert run.state == before


def test_every_end_says_what_else_is_possible():
    """What is agreed to have no acknowledgement is never in doubt, either."""
    best_effort = changed(GOING_ON, semantics=DeliverySemantics.BEST_EFFORT)
    with pytest.raises(LocalError, match="no acknowledgement was agreed"):
        Run(best_effort).sent().on(1, YES)


@both_words
def test_the_turn_and_the_number_are_given_back_and_the_pair_stays_closed(word):
    """Restarting at 1 is right whether the partner has the message or not (R-10)."""
    run = settled(word, SUSPENDING)
    assert run.of(Release) == [Release(abandoned=True, is_numbered=True)]
    pair = SendingPair(PairStatus.SUSPENDED, 4, ("m",), "no acknowledgement")
    pair, effects = pairing.step(pair, pairing.MessageSettled("m", abandoned=True))
    assert (pair.status, pair.in_flight, pair.sequence_number) == (PairStatus.SUSPENDED, (), None)
    assert [one.event for one in effects] == [Event.SEQUENCE_RESET]


@both_words
def test_a_late_acknowledgement_is_a_fact_and_counts(word):
    """The application is told (R-09); against a "not delivered" an operator is told as well."""
    run = settled(word).on(50, AckReceived())
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert Event.LATE_ACK_RECEIVED in run.rows()
    assert run.of(Notify)[-1].kind is NoticeKind.ACKNOWLEDGED_LATE
    against = [one.reason for one in run.of(OpenIncident)]
    assert (against == []) == (word is YES)
    assert all("had called not delivered" in reason for reason in against)


@pytest.mark.parametrize("denial", DENIALS, ids=lambda it: it.code.value)
def test_a_denial_opens_the_doubt_again(denial):
    """It was called delivered and the partner says otherwise: told anew, and an incident."""
    run = settled(YES).on(50, denial)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.state.error_code is denial.code
    assert not run.state.is_certain
    assert run.of(Notify)[-1].kind is NoticeKind.DELIVERY_FAILURE
    assert run.of(Notify)[-1].episode == 1
    assert denial.description in run.of(OpenIncident)[0].reason
    assert run.on(60, NO).state.status is OutboundStatus.SETTLED_NOT_DELIVERED
    assert run.on(3661, TimePassed()).state.status is OutboundStatus.SETTLED_NOT_DELIVERED


@pytest.mark.parametrize(
    ("word", "error"),
    [
        (NO, DENIALS[0]),
        (NO, DENIALS[1]),
        (YES, ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.ERROR, 5)),
        (YES, ErrorReceived(ErrorCode.UNKNOWN, Severity.WARNING)),
    ],
)
def test_an_error_that_denies_nothing_is_only_noted(word, error):
    """As after every end."""
    run = settled(word)
    before = run.state
    run.effects.clear()
    assert run.on(50, error).state == before
    assert run.rows() == [Event.ERROR_RECEIVED]


@both_words
def test_the_receiver_s_tombstone_is_a_fact_too(word):
    """It has no turn to give back; against a "delivered" an operator is told."""
    run = settled(word)
    run.effects.clear()
    run.on(50, CancelConfirmed())
    assert run.state.status is OutboundStatus.CANCELLED
    assert run.of(Release) == []
    assert len(run.of(OpenIncident)) == (word is YES)


@both_words
def test_whatever_comes_late_changes_nothing(word):
    """The end of a transmission, a deadline, the fence, a hold."""
    run = settled(word)
    before = run.state
    late = (DeadlineReached(1), TimePassed(), Held(), Transmitted(1, ACCEPTED))
    assert run.on(9999, *late).state == before


def test_only_not_delivered_lets_the_content_go_out_again():
    """As a new message, under its business key (R-41); after "delivered" it takes another word."""
    yes, no = settled(YES).state, settled(NO).state
    assert (has_way_on(yes), has_way_on(no)) == (False, True)
    assert (sent_beside(yes) is None, sent_beside(no) is None) == (False, True)
    assert "operator says" in known(yes)
    assert "operator says" in known(no)


@pytest.mark.parametrize("phase", list(RecoveryPhase))
@both_words
def test_a_word_ends_every_question_and_the_wish_for_a_new_version(word, phase):
    """A cancel that is confirmed later is noted, and sends nothing (R-21)."""
    terms = changed(GOING_ON, recovery=RecoveryTerms(inquires=True))
    state = Recovery(
        phase=phase, asked=1, wants_new_version=True, response=ResponseStatus.AWAITED, due_ns=9
    )
    state, effects = recovering.step(state, word, at(1), terms)
    assert effects == ()
    assert (state.phase, state.due_ns) == (RecoveryPhase.AT_REST, None)
    still_awaited = ResponseStatus.AWAITED if word is YES else ResponseStatus.NOT_EXPECTED
    assert state.response is still_awaited
    _, effects = recovering.step(state, recovering.CancelAnswered(is_accepted=True), at(2), terms)
    assert [type(one) for one in effects] == [Journal, ConfirmCancel]


def test_a_turn_in_the_queue_is_no_doubt():
    """A message that waits again is settled by its acknowledgement, not by a word."""
    queued = Run(GOING_ON)
    assert queued.state.status is OutboundStatus.QUEUED
    with pytest.raises(LocalError):
        queued.on(0, NO)
    assert queued.on(0, Admitted(None)).of(Transmit)
