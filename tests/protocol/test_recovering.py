"""Recovery after the sender gave up: bounded questions, and the rule for each answer."""

import itertools

import pytest
from driving import DUE, event_of

from onceonly.message.event import Event
from onceonly.message.instant import NS_PER_S, US_PER_S, Now
from onceonly.message.message import DeliverySemantics
from onceonly.message.signals import InquiryKind, MessageStatus, ReportedProcessing
from onceonly.message.terms import DeliveryTerms, RecoveryTerms, Remedy
from onceonly.message.word import changed
from onceonly.protocol import recovering
from onceonly.protocol.effects import (
    ConfirmCancel,
    ConfirmReceipt,
    Inquire,
    Journal,
    OpenIncident,
    Resend,
    SendNewVersion,
)
from onceonly.protocol.events import DeadlineReached, PongReceived, Restarted, Resumed
from onceonly.protocol.recovering import (
    Acknowledged,
    CancelAnswered,
    CancelWanted,
    GivenUp,
    Recovery,
    RecoveryPhase,
    ReportReceived,
    ResponseAnswered,
    ResponseReceived,
    ResponseStatus,
    ResponseTimePassed,
    StatusWanted,
    Withdrawn,
)

START = Now(1_000_000 * US_PER_S, 0)
GIVEN_UP = GivenUp("no acknowledgement after the last retry")
TOLD = GivenUp("reported as not delivered", is_told=True)
NOT_RECEIVED = ReportReceived(MessageStatus.NOT_RECOGNIZED, None, can_resend=True)
WORDS = ReportedProcessing


def received(processing: ReportedProcessing) -> ReportReceived:
    status = (
        MessageStatus.PROCESSED
        if processing is ReportedProcessing.COMPLETE
        else MessageStatus.RECEIVED
    )
    return ReportReceived(status, processing, can_resend=True)


def at(seconds: float) -> Now:
    return Now(START.at + int(seconds * US_PER_S), int(seconds * NS_PER_S))


class Run:
    """One recovery driven by events; keeps all effects in order."""

    def __init__(self, state: Recovery = Recovery(), **rules: object) -> None:  # noqa: B008 - because it is frozen
        self.terms = DeliveryTerms(
            retry_interval_s=60,
            recovery=RecoveryTerms(**{"inquires": True, "inquiries": 3, **rules}),  # type: ignore[arg-type]  # because tests name the rules
        )
        self.state = state
        self.effects: list[object] = []

    def on(self, *events: object, second: float = 0) -> "Run":
        for event in events:
            what = event_of(event, self.state.due_ns)
            self.state, effects = recovering.step(self.state, what, at(second), self.terms)  # type: ignore[arg-type]  # because the tests choose the events
            self.effects += effects
        return self

    def of(self, kind: type) -> list:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def asked(self) -> list[InquiryKind]:
        return [effect.kind for effect in self.of(Inquire)]

    def rows(self) -> list[tuple[Event, str | None]]:
        return [(effect.event, effect.reason) for effect in self.of(Journal)]

    def strictly(self) -> "Run":
        self.terms = changed(self.terms, strict_release=True)
        return self

    def overdue(self) -> "Run":
        self.state = Recovery(response=ResponseStatus.AWAITED, response_due_at=START.at)
        return self.on(ResponseTimePassed())


@pytest.mark.statement("S4-18")
def test_nothing_is_asked_before_the_sender_gave_up():
    """A report or a timer without a question of ours starts no remedy."""
    run = Run(when_not_received=Remedy.RESEND)
    run.on(NOT_RECEIVED, DUE, PongReceived(is_available=True), Restarted())
    assert run.asked() == []
    assert run.of(Resend) == []
    assert run.state.phase is RecoveryPhase.AT_REST


@pytest.mark.statement("S4-20")
def test_giving_up_leads_to_a_status_inquiry():
    """Level 3 (3): the receiver is asked how the message stands."""
    assert Run().on(GIVEN_UP).asked() == [InquiryKind.STATUS]


def test_without_level_3_giving_up_asks_nothing():
    """The seeds of 2000 and 2001 know no inquiry."""
    run = Run(inquires=False).on(GIVEN_UP)
    assert (run.asked(), run.state) == ([], Recovery())


@pytest.mark.statement("S4-19")
def test_an_availability_inquiry_may_go_before_the_status_inquiry():
    """Level 3 (2) is a setting; the status is asked only after a good answer."""
    run = Run(pings_before_inquiry=True).on(GIVEN_UP)
    assert run.asked() == [InquiryKind.PING]
    run.on(PongReceived(is_available=False), second=10)
    assert run.asked() == [InquiryKind.PING]
    assert run.state.due_ns == at(70).monotonic_ns
    run.on(DUE, second=70).on(PongReceived(is_available=True), second=71)
    assert run.asked() == [InquiryKind.PING, InquiryKind.PING, InquiryKind.STATUS]
    assert run.state.asked == 1


@pytest.mark.parametrize("pings", [False, True])
def test_questions_are_bounded_and_an_incident_ends_them(pings):
    """`inquiries` questions, RetryInterval apart; then the operator is told."""
    run = Run(pings_before_inquiry=pings).on(GIVEN_UP)
    for second in (60, 120, 180):
        assert run.state.due_ns == at(second).monotonic_ns
        run.on(DUE, second=second)
    assert len(run.asked()) == 3
    assert len(run.of(OpenIncident)) == 1
    assert (run.state.phase, run.state.due_ns) == (RecoveryPhase.AT_REST, None)


def test_a_cancel_of_exactly_once_is_asked_until_it_is_answered():
    """R-17: a lost confirmation would leave a message that every copy of is refused, for ever."""
    run = Run(inquires=False)
    run.terms = changed(run.terms, semantics=DeliverySemantics.EXACTLY_ONCE, retries=None)
    run.on(CancelWanted(is_for_new_version=False))
    for second in range(60, 600, 60):
        run.on(DUE, second=second)
    assert len(run.asked()) == 10
    assert run.of(OpenIncident)
    run.on(CancelAnswered(is_accepted=True), second=600)
    assert run.of(ConfirmCancel)
    assert run.state.phase is RecoveryPhase.AT_REST


def test_a_restart_asks_the_present_question_again_uncounted():
    """A restart is no reset, and no question more."""
    run = Run().on(GIVEN_UP, DUE, Restarted())
    assert (len(run.asked()), run.state.asked) == (3, 2)


@pytest.mark.statement("S4-22")
@pytest.mark.parametrize("processing", list(WORDS))
def test_received_confirms_the_message_and_ends_the_questions(processing):
    """Level 3 (3b): four processing states, and all of them say that it is there."""
    run = Run().on(GIVEN_UP, received(processing))
    assert run.of(ConfirmReceipt) == [ConfirmReceipt()]
    assert run.state.phase is RecoveryPhase.AT_REST
    assert (run.state.processing, run.state.reported_at) == (processing, START.at)


def test_under_strict_release_what_may_be_withheld_is_asked_about_again():
    """R-12: the partner has it, and hands it over only once its acknowledgement may have left."""
    run = Run(inquiries=2).strictly().on(GIVEN_UP, received(WORDS.NOT_KNOWN), DUE)
    assert run.asked() == [InquiryKind.STATUS] * 2
    run.on(received(WORDS.NOT_STARTED), DUE)
    assert (run.of(ConfirmReceipt), len(run.of(OpenIncident))) == ([], 1)
    assert run.state.phase is RecoveryPhase.AT_REST


@pytest.mark.parametrize("processing", [WORDS.IN_PROGRESS, WORDS.COMPLETE])
def test_under_strict_release_work_that_has_begun_shows_that_nothing_is_withheld(processing):
    """R-12: only what was handed over is worked on."""
    run = Run().strictly().on(GIVEN_UP, received(processing))
    assert run.of(ConfirmReceipt) == [ConfirmReceipt()]


def test_under_strict_release_a_late_response_is_still_asked_for():
    """Level 5 goes on as it does elsewhere; only the doubt about the message stays."""
    run = Run(when_not_started=Remedy.CANCEL).strictly().overdue().on(received(WORDS.NOT_STARTED))
    assert run.asked() == [InquiryKind.STATUS, InquiryKind.CANCEL]
    assert run.of(ConfirmReceipt) == []


@pytest.mark.statement("S4-24")
def test_by_rule_a_message_that_did_not_arrive_is_sent_again():
    """Level 3 (3a): the original again."""
    run = Run(when_not_received=Remedy.RESEND).on(GIVEN_UP, NOT_RECEIVED)
    assert run.of(Resend) == [Resend()]
    assert run.state.phase is RecoveryPhase.AT_REST


def test_what_cannot_be_sent_again_goes_to_the_operator():
    """Acknowledged once, or expired: its id must not be used again."""
    run = Run(when_not_received=Remedy.RESEND)
    run.on(GIVEN_UP, changed(NOT_RECEIVED, can_resend=False))
    assert (run.of(Resend), len(run.of(OpenIncident))) == ([], 1)


@pytest.mark.statement("S4-24", ruling="R-21")
def test_what_the_partner_reports_again_is_not_sent_again_by_rule():
    """A tombstone refuses each copy and is not recognized: the rule has one turn, then a person."""
    run = Run(when_not_received=Remedy.RESEND).on(TOLD, NOT_RECEIVED, Resumed())
    assert run.of(Resend) == [Resend()]
    run.on(TOLD, NOT_RECEIVED)
    assert run.of(Resend) == [Resend()]
    assert len(run.of(OpenIncident)) == 1
    assert run.asked() == [InquiryKind.STATUS] * 2
    assert run.state.phase is RecoveryPhase.AT_REST


@pytest.mark.statement("S4-24", ruling="R-21")
def test_what_meets_silence_again_is_sent_again_by_rule():
    """Each copy may have been lost, and nobody said that the next one will not be taken."""
    run = Run(when_not_received=Remedy.RESEND).on(GIVEN_UP, NOT_RECEIVED, Resumed())
    run.on(GIVEN_UP, NOT_RECEIVED)
    assert run.of(Resend) == [Resend()] * 2
    assert run.of(OpenIncident) == []


@pytest.mark.statement("S4-26", ruling="R-21")
def test_what_the_partner_reports_again_is_asked_about_where_the_rule_sends_nothing():
    """Nothing chases the question; a cancel whose confirmation was lost is asked for again."""
    run = Run(when_not_received=Remedy.CANCEL, inquiries=1).on(TOLD, NOT_RECEIVED, DUE)
    run.on(TOLD, NOT_RECEIVED)
    assert run.asked() == [InquiryKind.STATUS, InquiryKind.CANCEL] * 2


@pytest.mark.statement("S4-25", ruling="R-21")
def test_a_new_version_waits_for_the_confirmed_cancel():
    """ "Not received" is binding only together with a cancel."""
    run = Run(when_not_received=Remedy.NEW_VERSION).on(GIVEN_UP, NOT_RECEIVED)
    assert run.asked() == [InquiryKind.STATUS, InquiryKind.CANCEL]
    assert run.of(SendNewVersion) == []
    run.on(CancelAnswered(is_accepted=True))
    assert run.effects[-2:] == [ConfirmCancel(), SendNewVersion()]
    assert run.state.wants_new_version is False


def test_what_was_refused_for_good_gets_no_new_version_by_rule():
    """It would be refused, too, and the next one after it, without an end; an operator may."""
    run = Run(when_not_received=Remedy.NEW_VERSION)
    run.on(GIVEN_UP, changed(NOT_RECEIVED, was_refused=True))
    assert run.asked() == [InquiryKind.STATUS]
    assert len(run.of(OpenIncident)) == 1
    assert run.state.phase is RecoveryPhase.AT_REST
    run.on(CancelWanted(is_for_new_version=True), CancelAnswered(is_accepted=True))
    assert run.of(SendNewVersion) == [SendNewVersion()]


def test_what_was_refused_for_good_is_cancelled_by_rule_all_the_same():
    """A cancel ends the doubt that an earlier copy left, and nothing comes after it."""
    run = Run(when_not_received=Remedy.CANCEL)
    run.on(GIVEN_UP, changed(NOT_RECEIVED, was_refused=True))
    assert run.asked() == [InquiryKind.STATUS, InquiryKind.CANCEL]


def test_a_confirmation_that_comes_after_the_last_question_still_binds():
    """The tombstone is durable, so the new version goes out all the same."""
    run = Run(when_not_received=Remedy.NEW_VERSION, inquiries=1).on(GIVEN_UP, NOT_RECEIVED)
    run.on(DUE)
    assert run.state.phase is RecoveryPhase.AT_REST
    run.on(CancelAnswered(is_accepted=True))
    assert run.effects[-2:] == [ConfirmCancel(), SendNewVersion()]


@pytest.mark.statement("S4-26")
def test_by_rule_a_message_that_did_not_arrive_is_cancelled():
    """Level 3: cancelled for good once the receiver confirms it."""
    run = Run(when_not_received=Remedy.CANCEL).on(GIVEN_UP, NOT_RECEIVED)
    assert run.asked()[-1] is InquiryKind.CANCEL
    run.on(CancelAnswered(is_accepted=True))
    assert run.effects[-1] == ConfirmCancel()


@pytest.mark.statement("S4-26")
@pytest.mark.parametrize("status", [MessageStatus.RECEIVED, None])
def test_a_refused_cancel_leaves_the_message_alive(status):
    """After the start of the work it is refused; that it is there is a receipt."""
    run = Run().on(CancelWanted())
    run.on(CancelAnswered(is_accepted=False, status=status, processing=WORDS.IN_PROGRESS))
    assert run.of(ConfirmCancel) == []
    assert len(run.of(ConfirmReceipt)) == (status is not None)
    assert run.state.phase is RecoveryPhase.AT_REST
    assert "cancel refused" in str(run.rows()[-1][1])


@pytest.mark.statement("S4-27")
def test_by_rule_nothing_is_done_but_wait():
    """The default: the sender's own fence or a late acknowledgement decides."""
    run = Run().on(GIVEN_UP, NOT_RECEIVED)
    assert run.asked() == [InquiryKind.STATUS]
    assert run.state.phase is RecoveryPhase.AT_REST
    assert run.state.status is MessageStatus.NOT_RECOGNIZED


def test_a_partner_that_refuses_to_say_goes_to_the_operator():
    """UnAuthorized is an answer, and asking on would get the same one."""
    run = Run().on(GIVEN_UP, ReportReceived(MessageStatus.UNAUTHORIZED, None, can_resend=True))
    assert len(run.of(OpenIncident)) == 1
    assert run.state.phase is RecoveryPhase.AT_REST


@pytest.mark.parametrize("status", [MessageStatus.FORWARDED, None])
def test_an_answer_that_decides_nothing_is_followed_by_the_next_question(status):
    """An intermediary's Forwarded is no receipt of the receiver's."""
    run = Run().on(GIVEN_UP, ReportReceived(status, None, can_resend=True))
    assert run.of(ConfirmReceipt) == []
    assert run.state.phase is RecoveryPhase.ASKING
    assert run.on(DUE).asked() == [InquiryKind.STATUS] * 2


@pytest.mark.parametrize("ending", [Acknowledged(), Resumed(), Withdrawn()])
@pytest.mark.parametrize("pings", [False, True])
def test_a_message_that_is_acknowledged_or_sent_again_is_asked_about_no_more(ending, pings):
    """Whatever made the question needless ends it."""
    run = Run(pings_before_inquiry=pings).on(GIVEN_UP, ending)
    assert run.state == Recovery()


def test_a_cancel_under_way_outlives_an_acknowledgement():
    """The application wants it gone, delivered or not."""
    run = Run().on(CancelWanted(), Acknowledged())
    assert run.state.phase is RecoveryPhase.CANCELLING


def test_a_second_wish_to_cancel_asks_nothing_more_but_may_want_the_new_version():
    """One question is under way; the wish of whoever wants the new version is kept."""
    run = Run().on(CancelWanted(), CancelWanted(is_for_new_version=True), CancelWanted())
    assert run.asked() == [InquiryKind.CANCEL]
    run.on(CancelAnswered(is_accepted=True))
    assert run.of(SendNewVersion) == [SendNewVersion()]


@pytest.mark.parametrize("before", [(), (GIVEN_UP,), (CancelWanted(),)])
def test_an_operator_may_ask_at_any_time_and_the_phase_stays(before):
    """`message status --remote`: the answer is noted, the phase stays."""
    run = Run(when_not_received=Remedy.RESEND).on(*before)
    phase = run.state.phase
    run.on(StatusWanted())
    assert run.asked()[-1] is InquiryKind.STATUS
    assert run.state.phase is phase


def test_an_answer_to_an_operator_is_noted_and_no_more():
    """The rule is not asked."""
    run = Run(when_not_received=Remedy.RESEND).on(StatusWanted(), NOT_RECEIVED)
    assert run.of(Resend) == []
    assert run.state.status is MessageStatus.NOT_RECOGNIZED
    assert run.rows() == [(Event.REPORT_RECEIVED, "NotRecognized")]
    run.on(ReportReceived(None, None, can_resend=True))
    assert run.state.status is MessageStatus.NOT_RECOGNIZED


@pytest.mark.parametrize("question", [StatusWanted(), CancelWanted()])
@pytest.mark.parametrize("status", [MessageStatus.RECEIVED, MessageStatus.PROCESSED])
def test_an_answer_that_the_partner_has_it_counts_whoever_asked(question, status):
    """It is as good as an acknowledgement; a question of a rule that it ends goes on by itself."""
    answer = ReportReceived(status, ReportedProcessing.NOT_KNOWN, can_resend=True)
    run = Run().on(question, answer)
    assert run.of(ConfirmReceipt) == [ConfirmReceipt()]
    is_at_work = status is MessageStatus.PROCESSED
    strictly = Run().strictly().on(question, answer)
    assert strictly.of(ConfirmReceipt) == [ConfirmReceipt()] * is_at_work


def test_an_answer_behind_its_time_counts():
    """Asked as often as agreed, and the incident is open: the answer still ends the doubt."""
    run = Run(inquiries=1).on(GIVEN_UP, DUE)
    assert run.state.phase is RecoveryPhase.AT_REST
    run.on(ReportReceived(MessageStatus.RECEIVED, None, can_resend=False))
    assert run.of(ConfirmReceipt) == [ConfirmReceipt()]


@pytest.mark.statement("S4-30")
def test_the_time_of_the_response_is_set_with_the_message():
    """Level 5 (1): response_within after the Timestamp; none where none is agreed."""
    terms = DeliveryTerms(recovery=RecoveryTerms(response_within_s=3600))
    expected = recovering.expecting_response(START.at, terms)
    assert expected is not None
    assert expected.response is ResponseStatus.AWAITED
    assert expected.response_due_at == at(3600).at
    assert recovering.expecting_response(START.at, DeliveryTerms()) is None


def test_nothing_is_asked_about_what_never_left():
    """The partner has not even heard of it; once it has, it gets all the time agreed."""
    run = Run(response_within_s=60)
    run.state = Recovery(response=ResponseStatus.AWAITED, response_due_at=START.at)
    run.on(ResponseTimePassed(has_left=False))
    assert run.effects == []
    assert run.state == Recovery(response=ResponseStatus.AWAITED, response_due_at=at(60).at)
    assert run.on(ResponseTimePassed()).asked() == [InquiryKind.STATUS]
    unlimited = Run()
    unlimited.state = Recovery(response=ResponseStatus.AWAITED, response_due_at=START.at)
    unlimited.on(ResponseTimePassed(has_left=False))
    assert unlimited.state.response_due_at is None, "the agreement has no such time any more"


@pytest.mark.statement("S4-31")
@pytest.mark.parametrize("pings", [False, True])
def test_a_late_response_leads_to_an_inquiry(pings):
    """Level 5 (2a): the processing is asked about."""
    run = Run(pings_before_inquiry=pings).overdue()
    assert run.state.response is ResponseStatus.OVERDUE
    assert run.rows() == [(Event.RESPONSE_OVERDUE, None)]
    assert run.asked() == [InquiryKind.PING if pings else InquiryKind.STATUS]


def test_a_response_is_late_only_once_and_only_where_it_is_awaited():
    """A sweep that comes twice asks once."""
    run = Run().overdue()
    run.on(ResponseTimePassed())
    assert len(run.asked()) == 1
    assert Run().on(ResponseTimePassed()).effects == []


@pytest.mark.statement("S4-32")
@pytest.mark.parametrize(
    ("processing", "rules", "asked"),
    [
        (WORDS.NOT_STARTED, {"when_not_started": Remedy.CANCEL}, InquiryKind.CANCEL),
        (WORDS.NOT_STARTED, {"when_not_started": Remedy.WAIT}, None),
        (WORDS.IN_PROGRESS, {"when_not_started": Remedy.CANCEL}, None),
        (WORDS.NOT_KNOWN, {"when_not_started": Remedy.CANCEL}, None),
        (WORDS.COMPLETE, {"when_complete": Remedy.ASK_AGAIN}, InquiryKind.RESPONSE),
        (WORDS.COMPLETE, {"when_complete": Remedy.WAIT}, None),
    ],
)
def test_level_5_cancels_waits_or_asks_for_the_response_again(processing, rules, asked):
    """Level 5 (2b): three branches."""
    run = Run(**rules).overdue().on(received(processing))
    assert run.asked()[1:] == ([] if asked is None else [asked])
    assert (run.state.phase is RecoveryPhase.AT_REST) is (asked is None)


@pytest.mark.statement("S4-31")
def test_a_late_response_of_a_message_never_received_follows_the_other_rule():
    """It was never received, even though it might have been sent reliably."""
    run = Run(when_not_received=Remedy.NEW_VERSION).overdue()
    run.on(changed(NOT_RECEIVED, can_resend=False), CancelAnswered(is_accepted=True))
    assert run.of(SendNewVersion) == [SendNewVersion()]
    assert run.state.response is ResponseStatus.NOT_EXPECTED


@pytest.mark.parametrize("news", [Acknowledged(), Resumed()])
def test_a_late_response_is_asked_about_although_the_message_is_acknowledged(news):
    """An acknowledgement says nothing of the work."""
    assert Run().overdue().on(news).state.phase is RecoveryPhase.ASKING


def test_a_response_that_is_late_while_a_cancel_is_under_way_is_only_noted():
    """One question at a time."""
    run = Run(Recovery(response=ResponseStatus.AWAITED, response_due_at=START.at))
    run.on(CancelWanted(), ResponseTimePassed(), ResponseTimePassed())
    assert run.asked() == [InquiryKind.CANCEL]
    assert run.rows() == [(Event.RESPONSE_OVERDUE, None)]


@pytest.mark.statement("S4-27")
def test_the_response_ends_the_questions():
    """It answers all of them."""
    run = Run().overdue().on(ResponseReceived())
    assert run.state == Recovery(response=ResponseStatus.RECEIVED)
    assert run.rows()[-1] == (Event.RESPONSE_RECEIVED, None)
    assert run.on(ResponseReceived()).state == Recovery(response=ResponseStatus.RECEIVED)


def test_the_response_does_not_end_a_cancel():
    """Its confirmation would bind, so it must not be missed."""
    run = Run(when_not_started=Remedy.CANCEL).overdue().on(received(WORDS.NOT_STARTED))
    run.on(ResponseReceived())
    assert run.state.phase is RecoveryPhase.CANCELLING


def test_a_response_nobody_expected_is_no_news():
    """Without level 5 nothing waits for it."""
    assert Run().on(ResponseReceived()).effects == []


@pytest.mark.statement("S4-32")
@pytest.mark.parametrize("is_accepted", [True, False])
def test_the_answer_to_the_request_for_the_response_ends_it(is_accepted):
    """It follows, or the operator learns that there is none."""
    run = Run().overdue().on(received(WORDS.COMPLETE), ResponseAnswered(is_accepted))
    assert run.state.phase is RecoveryPhase.AT_REST
    assert run.state.response is ResponseStatus.OVERDUE
    assert len(run.of(OpenIncident)) == (not is_accepted)


@pytest.mark.parametrize("has_come", [True, False])
def test_a_late_copy_of_the_request_is_denied_and_an_operator_knows(has_come):
    """The response that was to follow has ended meanwhile; unless it is here, that is news."""
    run = Run().overdue().on(received(WORDS.COMPLETE), ResponseAnswered(is_accepted=True))
    if has_come:
        run.on(ResponseReceived())
    run.on(ResponseAnswered(is_accepted=False))
    assert run.state.phase is RecoveryPhase.AT_REST
    assert len(run.of(OpenIncident)) == (not has_come)


def test_an_answer_that_nobody_asked_for_is_noted():
    """It changes the time of the last report, nothing else."""
    run = Run().on(ResponseAnswered(is_accepted=True))
    assert run.state == Recovery(reported_at=START.at)


def test_every_phase_takes_every_event():
    """The table is full: no arrival, timer or operator can meet a gap."""
    events = {event for _, event in recovering.TABLE}
    assert set(recovering.TABLE) == set(itertools.product(RecoveryPhase, events))
    assert events == set(recovering.RecoveryEvent.__args__)


def test_a_deadline_of_a_question_that_was_answered_asks_nothing():
    """The Ping's timer rings behind its answer; the status inquiry has a time of its own."""
    run = Run(pings_before_inquiry=True, inquiries=1).on(GIVEN_UP)
    due_ns = run.state.due_ns
    run.on(PongReceived(is_available=True), second=59)
    run.on(DeadlineReached(due_ns), second=60)
    assert run.asked() == [InquiryKind.PING, InquiryKind.STATUS]
    assert run.state.phase is RecoveryPhase.ASKING
    assert run.of(OpenIncident) == []


@pytest.mark.parametrize("remedy", [Remedy.RESEND, Remedy.NEW_VERSION, Remedy.CANCEL])
def test_not_recognized_says_nothing_once_the_partner_may_have_forgotten(remedy):
    """Level 5 long after PersistDuration: a new version would be processed a second time."""
    run = Run(when_not_received=remedy).overdue()
    run.on(changed(NOT_RECEIVED, may_be_forgotten=True))
    assert run.asked() == [InquiryKind.STATUS]
    assert run.state.phase is RecoveryPhase.AT_REST
    assert len(run.of(OpenIncident)) == 1
