"""What follows a verdict: recovery, the same message again, cancels, and reports from others."""

import pytest
from driving import ACCEPTED, DUE, NEVER_LEFT, Run, at

from onceonly.message.errors import ErrorCode, LocalError, Severity
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted, RecoveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import (
    AdmitNext,
    Journal,
    NoticeKind,
    Notify,
    OpenIncident,
    Recover,
    Release,
    Transmit,
)
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    CancelConfirmed,
    Cancelled,
    ErrorReceived,
    Requeued,
    Resumed,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.outbound import NOT_DELIVERED, sent_beside
from onceonly.protocol.sending import (
    Exposure,
    Outbound,
    OutboundStatus,
    can_be_sent_again,
    was_refused,
)

GOING_ON = DeliveryTerms(
    timeout_s=30,
    retries=0,
    time_to_live_s=3600,
    is_numbered=False,
    on_exhausted=OnExhausted.FAIL,
    recovery=RecoveryTerms(inquires=True),
)
SUSPENDING = DeliveryTerms(
    timeout_s=30, retries=0, time_to_live_s=3600, recovery=RecoveryTerms(inquires=True)
)
OVER_AN_OWNER = changed(GOING_ON, intermediary=Intermediary.ACCEPT, may_be_copied=True)
"""An accepting intermediary stands between the parties."""
BY_MAIL = changed(GOING_ON, may_be_copied=True)
BY_RELAY = changed(BY_MAIL, intermediary=Intermediary.RELAY)
SURELY_NOT = ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.ERROR, None, "next hop is dead")
PERHAPS_NOT = ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING)
RECEIPT = AckReceived("delivery receipt", is_from_to_party=True)


def in_doubt(terms: DeliveryTerms = GOING_ON, number: int | None = None) -> Run:
    return Run(terms, number=number).sent().on(30, DUE)


@pytest.mark.statement("S4-18", ruling="R-21")
@pytest.mark.parametrize("terms", [GOING_ON, SUSPENDING], ids=["going on", "suspending"])
def test_recovery_starts_when_the_sender_gives_up_in_doubt(terms):
    """Not before, and whether the pair goes on or not."""
    run = Run(terms).sent()
    assert run.of(Recover) == []
    run.on(30, DUE)
    assert run.of(Recover) == [Recover("no acknowledgement after the last retry")]


@pytest.mark.statement("S4-18", ruling="R-21")
def test_every_doubt_is_recovered():
    """Expiry, a refusal after a resend, an intermediary's warning."""
    expired = Run(GOING_ON).sent().on(3601, TimePassed())
    refused = Run(GOING_ON).sent().on(1, PERHAPS_NOT)
    reported = Run(OVER_AN_OWNER).sent().on(1, AckReceived()).on(9, PERHAPS_NOT)
    for run in (expired, refused, reported):
        assert run.state.status is OutboundStatus.IN_DOUBT
        assert len(run.of(Recover)) == 1


@pytest.mark.statement("S4-18", ruling="R-21")
def test_a_recovery_knows_a_word_of_the_partner_from_its_silence():
    """A refusal and a report after the acknowledgement are words; time and silence are none."""
    silent = in_doubt()
    expired = Run(GOING_ON).sent().on(3601, TimePassed())
    refused = in_doubt().on(40, Requeued("not received"), Admitted(None)).on(41, SURELY_NOT)
    reported = Run(OVER_AN_OWNER).sent().on(1, AckReceived()).on(9, PERHAPS_NOT)
    told = [run.of(Recover)[-1].is_told for run in (silent, expired, refused, reported)]
    assert told == [False, False, True, True]


@pytest.mark.parametrize("code", list(ErrorCode))
def test_only_what_the_same_bytes_cannot_get_over_is_a_refusal_for_good(code):
    """Silence, a busy peer and a number may be other next time; a refusal is not."""
    state = changed(in_doubt().state, error_code=code)
    passing = {
        ErrorCode.DELIVERY_FAILURE,
        ErrorCode.TRANSIENT_ERROR,
        ErrorCode.INVALID_SEQUENCE_NUMBER,
    }
    assert was_refused(state, at(1)) == (code not in passing)
    assert not was_refused(changed(state, error_code=None), at(1))


def test_an_age_is_a_refusal_for_good_until_the_message_is_really_that_old():
    """Two clocks disagree, and neither a minute nor another Timestamp helps (R-21)."""
    state = changed(in_doubt().state, error_code=ErrorCode.TIME_TO_LIVE_EXPIRED)
    expired = changed(state, expires_at=at(5).at)
    assert was_refused(expired, at(5))
    assert not was_refused(expired, at(6))


def test_certainty_needs_no_recovery():
    """Nothing left, so there is nothing to find out."""
    run = Run(GOING_ON).sent(NEVER_LEFT).on(30, DUE)
    assert run.state.status is OutboundStatus.FAILED
    assert run.of(Recover) == []


@pytest.mark.statement("S4-24")
def test_the_same_message_can_wait_for_its_turn_again():
    """A new episode with a full budget, and every copy that left still counts."""
    run = in_doubt().on(100, Requeued("not received"))
    assert run.state.status is OutboundStatus.QUEUED
    assert run.of(AdmitNext) == [AdmitNext()]
    assert run.rows()[-1] is Event.REQUEUED
    run.on(101, Admitted(None), Transmitted(1, NEVER_LEFT))
    assert run.of(Transmit)[-1] == Transmit(1)
    assert run.state.exposure is Exposure.LEFT
    run.on(131, DUE)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert [notice.episode for notice in run.of(Notify)] == [0, 1]


@pytest.mark.statement("S4-24")
def test_a_message_is_not_sent_again_past_its_expiry():
    """Receivers refuse it; only a new version helps."""
    with pytest.raises(LocalError, match="its time has passed"):
        in_doubt().on(3601, Requeued("operator"))


@pytest.mark.parametrize(
    ("terms", "number"), [(SUSPENDING, None), (GOING_ON, 7)], ids=["has its turn", "numbered"]
)
def test_what_kept_its_turn_or_lost_its_number_is_not_queued_again(terms, number):
    """The one goes on by a resume; the number of the other is used by another message."""
    run = in_doubt(terms, number)
    assert not can_be_sent_again(run.state, at(40))
    with pytest.raises(LocalError) as raised:
        run.on(40, Requeued("operator"))
    assert raised.value.name == "NotResendable"


def test_what_waits_again_is_still_known_to_the_partner():
    """Its acknowledgement, its refusal, its last outcome and its cancel may come any time."""
    waiting = in_doubt().on(100, Requeued("operator"))
    again = ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR)
    waiting.on(101, Transmitted(1, ACCEPTED), again, DUE)
    assert waiting.state.status is OutboundStatus.QUEUED
    with pytest.raises(LocalError, match="may have left"):
        waiting.on(102, Cancelled())
    assert waiting.on(103, AckReceived()).state.status is OutboundStatus.ACKNOWLEDGED
    assert waiting.of(Release) == [Release(abandoned=True, is_numbered=False)], "of its first turn"
    cancelled = in_doubt().on(100, Requeued("operator")).on(101, CancelConfirmed())
    assert cancelled.state.status is OutboundStatus.CANCELLED


@pytest.mark.parametrize("event", [TimePassed(), Admitted(None)], ids=["waiting", "admitted"])
def test_what_waits_again_past_its_expiry_is_in_doubt_and_not_expired(event):
    """A copy left in its first turn."""
    run = in_doubt().on(100, Requeued("operator")).on(3601, event)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert len(run.of(Notify)) == 2


@pytest.mark.statement("S4-26", ruling="R-08")
@pytest.mark.parametrize("is_given_up", [False, True])
def test_a_confirmed_cancel_is_final_and_gives_the_turn_back(is_given_up):
    """The tombstone is the fence: no copy can be taken any more."""
    run = in_doubt(SUSPENDING, 7) if is_given_up else Run(SUSPENDING, number=7).sent()
    run.on(40, CancelConfirmed())
    assert run.state.status is OutboundStatus.CANCELLED
    assert run.of(Release) == [Release(abandoned=True)]
    assert run.rows()[-1] is Event.CANCELLED
    run.on(41, AckReceived())
    assert run.of(Notify)[-1].kind is NoticeKind.ACKNOWLEDGED_LATE


@pytest.mark.statement("S4-32")
def test_a_message_can_be_cancelled_after_its_acknowledgement():
    """Level 5: held by the receiver, and never to be processed."""
    run = Run(GOING_ON).sent().on(1, AckReceived()).on(99, CancelConfirmed())
    assert run.state.status is OutboundStatus.CANCELLED
    assert len(run.of(Release)) == 1


def test_a_cancel_that_is_confirmed_after_the_end_changes_nothing():
    """What failed for good stays so."""
    failed = Run(GOING_ON).sent(NEVER_LEFT).on(30, DUE)
    before = failed.state
    assert failed.on(99, CancelConfirmed()).state == before


@pytest.mark.statement("S1-51")
@pytest.mark.statement("S1-56")
def test_an_intermediary_that_could_not_even_transmit_means_failure():
    """Severity Error, about a message that it had acknowledged."""
    run = Run(OVER_AN_OWNER).sent().on(1, AckReceived()).on(9, SURELY_NOT)
    assert run.state.status is OutboundStatus.FAILED
    [notice] = run.of(Notify)
    assert (notice.severity, notice.error_code) == (Severity.ERROR, ErrorCode.DELIVERY_FAILURE)
    assert "next hop is dead" in notice.reason
    assert run.on(60, AckReceived()).of(Notify)[-1].kind is NoticeKind.ACKNOWLEDGED_LATE


@pytest.mark.statement("S1-56")
def test_an_intermediary_without_an_acknowledgement_means_doubt():
    """Severity Warning; the final receiver's own acknowledgement may still come."""
    run = Run(OVER_AN_OWNER).sent().on(1, AckReceived()).on(9, PERHAPS_NOT)
    assert run.state.status is OutboundStatus.IN_DOUBT
    assert run.of(Notify)[0].severity is Severity.WARNING
    assert run.on(60, AckReceived()).state.status is OutboundStatus.ACKNOWLEDGED


@pytest.mark.parametrize(
    "before",
    [(RECEIPT,), (AckReceived(), RECEIPT), (AckReceived(), PERHAPS_NOT, RECEIPT, AckReceived())],
    ids=["alone", "behind an acknowledgement", "behind a doubt"],
)
def test_no_doubt_overtakes_what_the_to_party_said(before):
    """Its receipt says that the application has it; what an intermediary lacks is another's word.

    A notice that is posted twice is the usual way: who posts it cannot know that it was heard.
    """
    run = Run(OVER_AN_OWNER).sent().on(1, *before)
    state, told = run.state, run.of(Notify)
    assert (state.status, state.has_arrived) == (OutboundStatus.ACKNOWLEDGED, True)
    run.on(9, PERHAPS_NOT, TimePassed()).on(99_999, TimePassed())
    assert (run.state, run.of(Notify)) == (state, told)
    assert run.rows()[-1] is Event.ERROR_RECEIVED


@pytest.mark.statement(ruling="R-39")
@pytest.mark.parametrize("word", [SURELY_NOT, PERHAPS_NOT], ids=["Error", "Warning"])
@pytest.mark.parametrize("terms", [GOING_ON, SUSPENDING, BY_MAIL, BY_RELAY])
def test_what_nobody_else_can_have_acknowledged_stays_acknowledged(terms, word):
    """That its partner could not process it is news, told once, and no other state."""
    run = Run(terms).sent().on(1, AckReceived())
    status, exposure = run.state.status, run.state.exposure
    run.on(9, word).on(10, word).on(99_999, TimePassed())
    assert (run.state.status, run.state.exposure) == (status, exposure)
    assert run.state.error_code is ErrorCode.DELIVERY_FAILURE
    [notice] = run.of(Notify)
    assert (notice.kind, notice.severity) == (NoticeKind.NOT_PROCESSED, Severity.WARNING)
    assert notice.reason.startswith("not processed by the partner")
    assert run.rows()[-3:] == [Event.ERROR_RECEIVED, Event.NOTIFIED, Event.ERROR_RECEIVED]
    assert run.of(Recover) == []


@pytest.mark.parametrize("is_agreed", [True, False])
def test_a_refusal_of_the_application_is_news_where_such_reports_were_agreed(is_agreed):
    """An error of any code, after the acknowledgement; the message stays acknowledged (§7)."""
    word = ErrorReceived(ErrorCode.UNKNOWN, Severity.ERROR, description="no such article")
    warning = changed(word, severity=Severity.WARNING)
    terms = changed(GOING_ON, reports_refusals=is_agreed)
    run = Run(terms).sent().on(1, AckReceived()).on(9, warning, word, word)
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    said = [(notice.kind, notice.reason) for notice in run.of(Notify)]
    told = (NoticeKind.NOT_PROCESSED, "not processed by the partner: no such article")
    assert said == ([told] if is_agreed else [])


@pytest.mark.statement(ruling="R-39")
def test_what_the_to_party_itself_took_no_owner_can_have_lost():
    """An application may refuse what it was handed; it was handed it all the same."""
    run = Run(OVER_AN_OWNER).sent().on(1, AckReceived(), RECEIPT).on(9, SURELY_NOT)
    assert run.state.status is OutboundStatus.ACKNOWLEDGED
    assert [notice.kind for notice in run.of(Notify)] == [NoticeKind.NOT_PROCESSED]


def test_nobody_is_told_of_what_an_exactly_once_message_met_but_an_operator():
    """R-17 has no notices."""
    terms = changed(GOING_ON, semantics=DeliverySemantics.EXACTLY_ONCE)
    run = Run(terms).sent().on(1, AckReceived()).on(9, SURELY_NOT)
    assert (run.of(Notify), len(run.of(OpenIncident))) == ([], 1)


@pytest.mark.statement(ruling="R-46")
@pytest.mark.parametrize("code", [ErrorCode.SECURITY_FAILURE, ErrorCode.DELIVERY_FAILURE])
@pytest.mark.parametrize(
    ("terms", "is_certain"),
    [(GOING_ON, True), (BY_MAIL, False), (BY_RELAY, False), (OVER_AN_OWNER, None)],
    ids=["HTTP", "mail", "relay", "accept"],
)
def test_a_refusal_is_the_end_only_where_nothing_makes_copies(terms, is_certain, code):
    """One transmission left; mail may have doubled it, and the first copy may be stored.

    Who accepted it on the way knows that it had but one; that he refuses it says nothing.
    """
    run = Run(terms).sent().on(1, ErrorReceived(code, Severity.ERROR))
    if is_certain is None:
        is_certain = code is ErrorCode.DELIVERY_FAILURE
    status = OutboundStatus.FAILED if is_certain else OutboundStatus.IN_DOUBT
    assert (run.state.status, len(run.of(Notify))) == (status, 1)
    assert len(run.of(Recover)) == (not is_certain)


@pytest.mark.statement(ruling="R-46")
def test_what_a_broker_has_taken_is_not_surely_gone_by_a_refusal():
    """Method Transport: `sent`, and refused by its reader; another copy may be in its queue."""
    terms = DeliveryTerms(method=ReliableMessagingMethod.TRANSPORT, may_be_copied=True)
    run = Run(terms).sent().on(9, SURELY_NOT)
    assert run.state.status is OutboundStatus.IN_DOUBT


def test_the_to_party_s_word_behind_an_acknowledgement_is_no_repeat_of_it():
    """It has a row of its own; an acknowledgement that comes after it takes nothing back."""
    run = Run(GOING_ON).sent().on(1, AckReceived(), RECEIPT, RECEIPT)
    assert Event.REPEATED_ACK_RECEIVED not in run.rows()
    run.on(2, AckReceived())
    assert run.rows()[-1] is Event.REPEATED_ACK_RECEIVED
    assert run.state.has_arrived


def test_a_receipt_settles_what_waits_again():
    """It is of a copy of the first turn; one of what never left is nobody's."""
    waiting = in_doubt().on(100, Requeued("operator"), RECEIPT)
    assert waiting.state.status is OutboundStatus.ACKNOWLEDGED
    assert waiting.state.has_arrived
    unsent = Run(GOING_ON).on(0, RECEIPT)
    assert unsent.state.status is OutboundStatus.QUEUED
    assert not unsent.state.has_arrived


def test_a_second_failure_of_a_message_is_told_like_the_first():
    """Given up, acknowledged late, reported as undelivered: three notices, none lost."""
    run = in_doubt().on(60, AckReceived()).on(99, SURELY_NOT)
    keys = [(notice.kind, notice.episode) for notice in run.of(Notify)]
    assert len(set(keys)) == len(keys) == 3


def test_other_errors_about_an_acknowledged_message_are_noted_only():
    """A refusal of a late copy is no news."""
    run = Run(GOING_ON).sent().on(1, AckReceived())
    before = run.state
    run.on(9, ErrorReceived(ErrorCode.VALUE_NOT_RECOGNIZED, Severity.ERROR))
    assert run.state == before


@pytest.mark.statement("S1-51")
def test_a_delivery_failure_before_any_acknowledgement_ends_the_waiting():
    """Error about the only copy is certain, a Warning is a doubt."""
    assert Run(GOING_ON).sent().on(1, SURELY_NOT).state.status is OutboundStatus.FAILED
    assert Run(GOING_ON).sent().on(1, PERHAPS_NOT).state.status is OutboundStatus.IN_DOUBT


@pytest.mark.statement("S1-37")
def test_how_an_acknowledgement_came_is_in_the_journal():
    """Alone, or riding on the business response."""
    run = Run(GOING_ON).sent().on(1, AckReceived("on the business response"))
    [row] = [row for row in run.of(Journal) if row.event is Event.ACK_RECEIVED]
    assert row.reason == "on the business response"


def test_a_resume_of_what_was_given_up_starts_its_recovery_anew_at_the_next_end():
    """Once per episode."""
    run = in_doubt(SUSPENDING, 1).on(60, Resumed(), Transmitted(1, ACCEPTED))
    assert len(run.on(90, DUE).of(Recover)) == 2


@pytest.mark.parametrize("status", list(OutboundStatus))
def test_a_copy_that_leaves_beside_the_machine_is_remembered_or_does_not_leave(status):
    """What is said to be undelivered stays so (I26); what may follow is no "never left" (I24)."""
    after = sent_beside(Outbound(status))
    if status in NOT_DELIVERED:
        assert after is None
    elif status in (OutboundStatus.ACKNOWLEDGED, OutboundStatus.SENT):
        assert after == Outbound(status)
    else:
        assert after == Outbound(status, exposure=Exposure.LEFT)
