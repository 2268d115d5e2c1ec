"""The sending side of a pair: one at a time, numbers, suspension."""

import itertools
from typing import get_args

import pytest

from onceonly.message.event import Event
from onceonly.message.message import SEQUENCE_NUMBER_MAX
from onceonly.protocol import pairing
from onceonly.protocol.effects import (
    Admit,
    AdmitNext,
    Hold,
    Journal,
    OpenIncident,
    ResolveIncident,
    Restart,
)
from onceonly.protocol.pairing import (
    MessageGivenUp,
    MessageQueued,
    MessageSettled,
    PairStatus,
    ResumeRequested,
    SendingPair,
    SequenceDiverged,
    SuspendRequested,
)
from onceonly.protocol.sending import IllegalStep


class Run:
    """One pair driven by events; keeps all effects in order."""

    def __init__(self, state: SendingPair = SendingPair()) -> None:  # noqa: B008 - because it is frozen
        self.state = state
        self.effects: list[object] = []

    def on(self, *events: object) -> "Run":
        for event in events:
            self.state, effects = pairing.step(self.state, event)
            self.effects += effects
        return self

    def of(self, kind: type) -> list:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rows(self) -> list[Event]:
        return [effect.event for effect in self.of(Journal)]


@pytest.mark.statement("S0-53")
def test_the_first_number_is_one():
    """S0-53."""
    assert Run().on(MessageQueued("a")).of(Admit) == [Admit("a", 1)]


@pytest.mark.statement("S0-07")
@pytest.mark.statement("S0-49")
def test_one_message_is_completed_before_the_next_begins():
    """S0-07, I15."""
    run = Run().on(MessageQueued("a"), MessageQueued("b"))
    assert run.of(Admit) == [Admit("a", 1)]
    run.on(MessageSettled("a", abandoned=False))
    assert run.of(AdmitNext) == [AdmitNext()]
    assert run.on(MessageQueued("b")).of(Admit)[-1] == Admit("b", 2)


@pytest.mark.statement("S0-54")
def test_after_the_largest_number_comes_one():
    """S0-54."""
    run = Run(SendingPair(sequence_number=SEQUENCE_NUMBER_MAX)).on(MessageQueued("a"))
    assert run.of(Admit) == [Admit("a", 1)]


@pytest.mark.statement("S0-55", ruling="R-10")
def test_the_number_of_an_abandoned_message_is_reset_with_a_row():
    """R-10, I33: journalled before use."""
    run = Run(SendingPair(sequence_number=7)).on(MessageQueued("a"))
    run.on(MessageSettled("a", abandoned=True))
    assert run.rows() == [Event.SEQUENCE_RESET]
    assert run.on(MessageQueued("b")).of(Admit)[-1] == Admit("b", 1)


def test_a_message_without_the_turn_gives_nothing_back():
    """A late verdict on an abandoned message must not free the turn of another."""
    run = Run().on(MessageQueued("a"))
    before = run.state
    assert run.on(MessageSettled("old", abandoned=False)).state == before


@pytest.mark.statement("S0-30", ruling="R-07")
@pytest.mark.statement("S0-31", ruling="R-07")
def test_exhaustion_suspends_and_tells_the_operator():
    """S0-30, S0-31, R-07: later messages wait."""
    run = Run().on(MessageQueued("a"), MessageGivenUp("a", "silence"), MessageQueued("b"))
    assert run.state.status is PairStatus.SUSPENDED
    assert run.of(OpenIncident) == [OpenIncident("silence", is_trouble=True)]
    assert run.of(Admit) == [Admit("a", 1)]


@pytest.mark.statement("S0-33", ruling="R-07")
def test_resume_starts_with_the_uncompleted_message():
    """S0-33."""
    run = Run().on(MessageQueued("a"), MessageGivenUp("a", "silence"), ResumeRequested())
    assert run.state.status is PairStatus.OPEN
    assert run.of(Restart) == [Restart("a")]
    assert run.of(ResolveIncident) == [ResolveIncident()]


def test_a_late_acknowledgement_ends_the_suspension_that_its_message_caused():
    """I23."""
    run = Run().on(MessageQueued("a"), MessageGivenUp("a", "silence"))
    run.on(MessageSettled("a", abandoned=False))
    assert run.state.status is PairStatus.OPEN
    assert run.of(AdmitNext) == [AdmitNext()]


def test_a_suspension_by_an_operator_outlives_the_message():
    """Only the operator ends it; the message in flight falls silent."""
    run = Run().on(MessageQueued("a"), SuspendRequested("maintenance"))
    assert run.of(Hold) == [Hold("a")]
    run.on(MessageSettled("a", abandoned=False))
    assert run.state.status is PairStatus.SUSPENDED
    assert run.of(AdmitNext) == []
    assert run.on(ResumeRequested()).of(AdmitNext) == [AdmitNext()]


def test_an_operator_can_make_any_suspension_his_own():
    """Then a late acknowledgement does not open the pair."""
    run = Run().on(MessageQueued("a"), MessageGivenUp("a", "silence"), SuspendRequested("stay"))
    assert run.on(MessageSettled("a", abandoned=False)).state.status is PairStatus.SUSPENDED


def test_a_message_that_fails_while_the_pair_is_closed_leaves_it_closed():
    """TimeToLive passed during the suspension; the operator still has to look."""
    run = Run().on(MessageQueued("a"), MessageGivenUp("a", "silence"))
    run.on(MessageSettled("a", abandoned=True))
    assert run.state.status is PairStatus.SUSPENDED
    assert run.on(ResumeRequested()).of(AdmitNext) == [AdmitNext()]


@pytest.mark.statement("S0-100", ruling="R-11")
def test_divergence_quarantines():
    """R-11: also from a suspension, since the error was under way."""
    run = Run().on(MessageQueued("a"), SequenceDiverged("a", "after 5 came 7"))
    assert run.state.status is PairStatus.QUARANTINED
    run.on(SequenceDiverged("a", "again"), MessageGivenUp("a", "late"))
    assert len(run.of(OpenIncident)) == 1
    closed = Run().on(SuspendRequested("x"), SequenceDiverged("a", "y"))
    assert closed.state.status is PairStatus.QUARANTINED


def test_resuming_an_open_pair_changes_nothing():
    """Operators click twice."""
    run = Run().on(MessageQueued("a"))
    before = run.state
    assert run.on(ResumeRequested()).state == before


def test_an_operator_suspends_an_idle_pair():
    """Nothing is in flight, so nothing has to fall silent."""
    run = Run().on(SuspendRequested("maintenance"), SuspendRequested("again"))
    assert run.of(Hold) == []
    assert run.on(MessageSettled("old", abandoned=False)).state.status is PairStatus.SUSPENDED


def test_without_numbers_a_window_of_messages_is_in_flight():
    """Seed 001 knows no order: each turn that is left is given at once, without a number."""
    run = Run().on(*(MessageQueued(one, 2, is_numbered=False) for one in "abc"))
    assert run.of(Admit) == [Admit("a", None), Admit("b", None)]
    assert run.of(AdmitNext) == [AdmitNext()], "after a, one more turn is left"
    run.on(MessageSettled("a", abandoned=True, is_numbered=False))
    assert run.state.in_flight == ("b",)
    assert run.rows() == [], "nothing to reset"


def test_a_message_that_has_a_turn_gets_no_second_one():
    """Asking twice for the longest-waiting message is harmless."""
    run = Run().on(MessageQueued("a", 2, is_numbered=False), MessageQueued("a", 2))
    assert run.state.in_flight == ("a",)


def test_a_message_without_a_number_leaves_no_gap():
    """BestEffort beside numbered messages: the sequence of the pair goes on."""
    run = Run().on(MessageQueued("a"), MessageSettled("a", abandoned=False))
    run.on(MessageQueued("best", is_numbered=False))
    run.on(MessageSettled("best", abandoned=True, is_numbered=False), MessageQueued("b"))
    assert run.of(Admit)[-1] == Admit("b", 2)


@pytest.mark.statement("S0-30", ruling="R-07")
def test_suspension_silences_everybody_else_in_the_window():
    """I27; a resume starts all of them anew."""
    run = Run().on(*(MessageQueued(one, 3, is_numbered=False) for one in "abc"))
    run.on(MessageGivenUp("b", "silence"))
    assert run.of(Hold) == [Hold("a"), Hold("c")]
    run.on(ResumeRequested())
    assert run.of(Restart) == [Restart("a"), Restart("b"), Restart("c")]


def test_a_late_acknowledgement_of_one_starts_the_others_anew():
    """I23: the partner is alive, so the whole window is sent again."""
    run = Run().on(*(MessageQueued(one, 2, is_numbered=False) for one in "ab"))
    run.on(MessageGivenUp("a", "silence"))
    run.on(MessageSettled("b", abandoned=False, is_numbered=False))
    assert run.of(Restart) == [Restart("a")]
    assert run.state.status is PairStatus.OPEN


def test_an_event_outside_the_table_is_our_bug():
    """It stops us instead of guessing."""
    with pytest.raises(IllegalStep, match="str in open"):
        Run().on("nonsense")


EVENTS = get_args(pairing.PairEvent)


@pytest.mark.parametrize("cell", list(itertools.product(PairStatus, EVENTS)), ids=str)
def test_the_table_is_full(cell):
    """Rule 3."""
    assert cell in pairing.TABLE
