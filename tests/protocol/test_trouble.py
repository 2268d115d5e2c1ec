"""Trouble with a partner is told once, in every profile, and is over when it is heard (R-40)."""

import pytest
from driving import ACCEPTED, DUE, NEVER_LEFT, REFUSED, Run

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms, OnExhausted, RecoveryTerms
from onceonly.message.word import changed
from onceonly.protocol import pairing, recovering, sending
from onceonly.protocol.effects import GiveUp, OpenIncident, ResolveTrouble, TellTrouble
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    CancelConfirmed,
    DeadlineReached,
    ErrorReceived,
    Held,
    PongReceived,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.pairing import (
    MessageGivenUp,
    PairStatus,
    PartnerHeard,
    ResumeRequested,
    SendingPair,
    SequenceDiverged,
    SuspendRequested,
    TroubleMet,
)
from onceonly.protocol.sending import OutboundStatus

pytestmark = pytest.mark.statement(ruling="R-40")

TIMES = {"timeout_s": 30, "retries": 1, "retry_interval_s": 60, "persist_duration_s": 3600}
GOES_ON = DeliveryTerms(on_exhausted=OnExhausted.FAIL, **TIMES)
SUSPENDS = DeliveryTerms(on_exhausted=OnExhausted.SUSPEND, **TIMES)
AT_MOST_ONCE = DeliveryTerms(semantics=DeliverySemantics.AT_MOST_ONCE, **TIMES)
BEST_EFFORT = DeliveryTerms(semantics=DeliverySemantics.BEST_EFFORT, **TIMES)
EXACTLY_ONCE = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, **TIMES)
BY_TRANSPORT = DeliveryTerms(
    method=ReliableMessagingMethod.TRANSPORT, on_exhausted=OnExhausted.FAIL, **TIMES
)


def causes(run: Run) -> list[str]:
    return [one.cause for one in run.of(TellTrouble)]


def driven(state: SendingPair, *events: object) -> tuple[SendingPair, list[object]]:
    effects: list[object] = []
    for event in events:
        state, more = pairing.step(state, event)
        effects += more
    return state, effects


class TestMessages:
    """What a message tells its pair of the partner."""

    def test_a_message_that_is_given_up_tells_it_whatever_happens_to_the_pair(self) -> None:
        """Where the pair suspends, that is the same incident (R-07)."""
        silence = "no acknowledgement after the last retry"
        run = Run(GOES_ON).sent().on(30, DUE).on(30, Transmitted(2, ACCEPTED)).on(90, DUE)
        assert causes(run) == [silence]
        run = Run(SUSPENDS).sent().on(30, DUE).on(30, Transmitted(2, ACCEPTED)).on(90, DUE)
        assert (causes(run), run.of(GiveUp)) == ([], [GiveUp(silence)])

    def test_at_most_once_tells_it_at_its_only_transmission(self) -> None:
        """A refused connection is the whole story of such a message."""
        assert causes(Run(AT_MOST_ONCE).sent(NEVER_LEFT)) == [
            "the network took nothing of it; last outcome: refused, connection refused"
        ]

    @pytest.mark.parametrize("refused", [NEVER_LEFT, REFUSED])
    def test_best_effort_tells_it_with_what_the_transport_said(self, refused) -> None:
        """Nobody is notified of such a message, but an operator can do something."""
        [cause] = causes(Run(BEST_EFFORT).sent(refused))
        assert cause.startswith("refused by the transport")
        assert refused.detail in cause

    def test_one_that_is_never_given_up_tells_it_when_others_would_be(self) -> None:
        """ExactlyOnce goes on; nothing was heard for longer than a verdict takes."""
        run = Run(EXACTLY_ONCE).sent().on(30, DUE).on(30, Transmitted(2, ACCEPTED))
        assert causes(run) == []
        run.on(90, DUE).on(90, Transmitted(3, ACCEPTED)).on(150, DUE)
        assert causes(run) == ["no answer after the last retry; it goes on"]
        assert run.state.status is OutboundStatus.SENDING

    def test_pings_without_an_end_tell_it_as_well(self) -> None:
        """Level 2 before ExactlyOnce: the message itself waits for a Pong."""
        recovery = RecoveryTerms(ping_above_bytes=0)
        terms = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, recovery=recovery, **TIMES)
        run = Run(terms).on(0, Admitted(None, 1)).on(30, DUE)
        assert causes(run) == []
        assert len(causes(run.on(90, DUE).on(150, DUE))) == 1

    def test_a_product_that_takes_nothing_is_told_once(self) -> None:
        """Method Transport offers for ever; after as many offers as retries it is trouble."""
        run = Run(BY_TRANSPORT).on(0, Admitted(None))
        for offer in range(4):
            run.on(offer * 60, Transmitted(1, NEVER_LEFT)).on(offer * 60 + 60, DUE)
        assert causes(run) == [
            "the transport does not take it; last outcome: refused, connection refused"
        ]

    def test_a_product_without_a_count_of_retries_is_not_counted(self) -> None:
        """Without retries in the agreement nothing says how long is too long."""
        terms = changed(BY_TRANSPORT, retries=None)
        run = Run(terms).sent(NEVER_LEFT).on(60, DUE).on(60, Transmitted(1, REFUSED))
        assert causes(run) == []

    def test_one_whose_time_passes_on_its_way_tells_it(self) -> None:
        """A TimeToLive that is shorter than the retries ends it before they do."""
        terms = changed(GOES_ON, time_to_live_s=10)
        assert causes(Run(terms).sent().on(11, TimePassed())) != []

    def test_what_an_operator_kept_back_says_nothing_about_the_partner(self) -> None:
        """Nor does what waited in the queue for too long."""
        terms = changed(GOES_ON, time_to_live_s=10)
        assert causes(Run(terms).sent().on(5, Held()).on(11, TimePassed())) == []
        assert causes(Run(terms).on(11, TimePassed())) == []


@pytest.mark.parametrize(
    ("event", "hears"),
    [
        (AckReceived(), True),
        (CancelConfirmed(), True),
        (PongReceived(is_available=True), True),
        (PongReceived(is_available=False), False),
        (ErrorReceived(ErrorCode.INCONSISTENT, Severity.ERROR), True),
        (ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING), False),
        (ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING), False),
        (ErrorReceived(ErrorCode.UNKNOWN, Severity.ERROR, is_fault=True), False),
        (Transmitted(1, ACCEPTED), False),
        (DeadlineReached(1), False),
    ],
)
def test_the_partners_own_word_ends_the_trouble(event, hears) -> None:
    """Not "not now", not a hop's word for it, and not what a proxy answers."""
    assert sending.hears_partner(event, GOES_ON) is hears


@pytest.mark.parametrize("terms", [BEST_EFFORT, AT_MOST_ONCE, BY_TRANSPORT])
def test_that_it_was_taken_is_enough_only_where_nobody_says_more(terms) -> None:
    """AtMostOnce is acknowledged, so that a status code says nothing about its receiver (R-05)."""
    is_all = terms is not AT_MOST_ONCE
    assert sending.hears_partner(Transmitted(1, ACCEPTED), terms) is is_all
    assert not sending.hears_partner(Transmitted(1, REFUSED), terms)


@pytest.mark.parametrize(
    ("event", "hears"),
    [
        (recovering.ReportReceived(None, None, can_resend=False), True),
        (recovering.CancelAnswered(is_accepted=False), True),
        (recovering.ResponseAnswered(is_accepted=False), True),
        (recovering.ResponseReceived(), True),
        (PongReceived(is_available=True), True),
        (PongReceived(is_available=False), False),
        (recovering.GivenUp("silence"), False),
    ],
)
def test_an_answer_to_a_question_ends_the_trouble(event, hears) -> None:
    """Whatever it says: somebody is there."""
    assert recovering.hears_partner(event) is hears


class TestPairs:
    """One incident for each partner and episode."""

    def test_it_opens_once_and_keeps_the_last_cause(self) -> None:
        """Hundreds of messages that are given up are one incident."""
        met = (TroubleMet("silence"), TroubleMet("silence"), TroubleMet("refused"))
        state, effects = driven(SendingPair(), *met)
        assert effects == [
            OpenIncident("silence", is_trouble=True),
            OpenIncident("refused", is_trouble=True),
        ]
        assert (state.status, state.trouble) == (PairStatus.OPEN, "refused")

    def test_it_is_over_when_the_partner_is_heard_and_may_begin_anew(self) -> None:
        """What needs an operator for another reason stays open."""
        state, effects = driven(SendingPair(trouble="silence"), PartnerHeard(), PartnerHeard())
        assert effects == [ResolveTrouble()]
        assert state.trouble is None
        assert driven(state, TroubleMet("silence"))[1] != []

    def test_a_pair_that_closes_by_it_has_the_same_incident(self) -> None:
        """R-07's incident is this one; until the pair is open again nothing else ends it."""
        state, effects = driven(
            SendingPair(in_flight=("a",), trouble="silence"),
            MessageGivenUp("a", "no answer"),
            PartnerHeard(),
            TroubleMet("refused"),
        )
        assert OpenIncident("no answer", is_trouble=True) in effects
        assert ResolveTrouble() not in effects
        assert state.trouble == state.reason == "no answer"
        assert driven(state, ResumeRequested())[0] == SendingPair(in_flight=("a",))

    def test_a_quarantine_is_another_matter(self) -> None:
        """The partner answers, and the numbers disagree (R-11)."""
        state, effects = driven(SendingPair(in_flight=("a",)), SequenceDiverged("a", "gap"))
        assert OpenIncident("gap") in effects
        assert state.trouble is None

    def test_an_operators_suspension_keeps_no_trouble_open(self) -> None:
        """What was under way may still be answered while the pair is closed."""
        state = SendingPair(trouble="silence")
        state, effects = driven(state, SuspendRequested("a visit"), PartnerHeard())
        assert ResolveTrouble() in effects
        assert state.status is PairStatus.SUSPENDED

    def test_an_operator_who_resumes_an_open_pair_has_seen_it(self) -> None:
        """What comes next is an episode of its own."""
        state, effects = driven(SendingPair(trouble="silence"), ResumeRequested())
        assert (state, effects) == (SendingPair(), [ResolveTrouble()])


def test_it_never_changes_a_verdict() -> None:
    """A pair in trouble gives turns as before."""
    queued = pairing.MessageQueued("a", 1, is_numbered=True)
    well, told = driven(SendingPair(), queued)
    troubled, told_too = driven(SendingPair(trouble="silence"), queued)
    assert told == told_too
    assert troubled == changed(well, trouble="silence")
