"""One message through a relay: every copy passes, and nothing is said that was not heard."""

import itertools

import pytest

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import relaying
from onceonly.protocol.effects import AcknowledgeUpstream, AnswerUpstream, Forward, Journal
from onceonly.protocol.events import AckReceived, ErrorReceived, Outcome, Restarted, Transmission
from onceonly.protocol.relaying import Arrived, ForwardEnded, Transit, TransitStatus

TERMS = DeliveryTerms(retry_interval_s=45)
ACCEPTED = Transmission(Outcome.ACCEPTED, bytes_left=True, status_code=204)
UNREACHABLE = Transmission(Outcome.REFUSED, bytes_left=False, detail="connection refused")
TURNED_AWAY = Transmission(Outcome.REFUSED, bytes_left=True, status_code=507)
UNKNOWN = Transmission(Outcome.UNKNOWN, bytes_left=True)
REFUSAL = ErrorReceived(ErrorCode.INCONSISTENT, Severity.ERROR, None, "no")
BUSY = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 17, "later")
EVENTS = (Arrived(), ForwardEnded(1, ACCEPTED), AckReceived(), REFUSAL, Restarted())


class Run:
    """One message in transit driven by events; keeps all effects in order."""

    def __init__(self, state: Transit = Transit()) -> None:  # noqa: B008 - because it is frozen
        self.state = state
        self.effects: list[object] = []

    def on(self, *events: relaying.RelayingEvent) -> "Run":
        for event in events:
            self.state, effects = relaying.step(self.state, event, TERMS)
            self.effects += effects
        return self

    def of(self, kind: type) -> list:
        return [effect for effect in self.effects if isinstance(effect, kind)]

    def rows(self) -> list[Event]:
        return [effect.event for effect in self.of(Journal)]


@pytest.mark.statement("S3-23")
@pytest.mark.statement("S3-24")
def test_every_copy_goes_on_and_none_is_added():
    """Repeats pass through in every state: before and after an answer, good or bad."""
    run = Run().on(Arrived(), Arrived(), AckReceived(), Arrived(), REFUSAL, Arrived())
    assert run.of(Forward) == [Forward(1), Forward(2), Forward(3), Forward(4)]
    assert run.state.copies == 4


@pytest.mark.statement("S3-23")
@pytest.mark.parametrize("ended", [ACCEPTED, UNKNOWN, TURNED_AWAY, UNREACHABLE])
def test_nothing_is_sent_again_whatever_became_of_a_copy(ended):
    """A relay has no timer and no retries."""
    run = Run().on(Arrived(), ForwardEnded(1, ended))
    assert run.of(Forward) == [Forward(1)]


@pytest.mark.parametrize("status", TransitStatus)
def test_an_acknowledgement_of_the_hop_alone_changes_nothing(status):
    """We say upstream just that, and whoever waits for the To Party still waits (`ebms-2.0`)."""
    before = Transit(status, 1)
    run = Run(before).on(AckReceived(is_of_hop=True))
    assert run.state == before
    assert run.rows() == [Event.HOP_ACK_RECEIVED]
    assert run.of(AcknowledgeUpstream) == [AcknowledgeUpstream(is_of_hop=True)]


@pytest.mark.statement("S3-22")
@pytest.mark.statement("S0-82")
def test_upstream_hears_of_the_message_only_after_downstream_acknowledged():
    """Accepted by the next hop's transport is no acknowledgement (R-05)."""
    run = Run().on(Arrived(), ForwardEnded(1, ACCEPTED))
    assert not run.of(AcknowledgeUpstream)
    assert run.state.status is TransitStatus.FORWARDING
    run.on(AckReceived())
    assert run.effects[-1] == AcknowledgeUpstream()
    assert run.state.status is TransitStatus.ACKNOWLEDGED


def test_every_acknowledgement_of_every_copy_goes_upstream():
    """The one before may have been lost."""
    run = Run().on(Arrived(), AckReceived(), Arrived(), AckReceived())
    assert run.of(AcknowledgeUpstream) == [AcknowledgeUpstream()] * 2
    assert run.rows()[-1] is Event.REPEATED_ACK_RECEIVED


@pytest.mark.statement("S0-81")
def test_an_unreachable_next_hop_becomes_a_transient_error_upstream():
    """Instead of an acknowledgement, with the retry interval as MinRetrySecs."""
    run = Run().on(Arrived(), ForwardEnded(1, UNREACHABLE))
    [answer] = run.of(AnswerUpstream)
    assert (answer.code, answer.severity) == (ErrorCode.TRANSIENT_ERROR, Severity.WARNING)
    assert answer.min_retry_s == 45
    assert run.state.status is TransitStatus.REFUSED


@pytest.mark.statement("S3-25")
@pytest.mark.parametrize("ended", [UNKNOWN, TURNED_AWAY])
def test_what_is_not_known_is_answered_with_silence(ended):
    """The origin's timer fires, which is sufficient (seed 003 §4)."""
    run = Run().on(Arrived(), ForwardEnded(1, ended))
    assert not run.of(AnswerUpstream)
    assert run.state.status is TransitStatus.FORWARDING


def test_an_unreachable_next_hop_does_not_undo_an_acknowledgement():
    """The destination holds the message; only this copy did not get through."""
    run = Run().on(Arrived(), AckReceived(), Arrived(), ForwardEnded(2, UNREACHABLE))
    assert len(run.of(AnswerUpstream)) == 1
    assert run.state.status is TransitStatus.ACKNOWLEDGED


def test_errors_pass_upstream_as_they_are():
    """A TransientError keeps its MinRetrySecs (seed 000 §4.2)."""
    run = Run().on(Arrived(), BUSY, Arrived(), REFUSAL, REFUSAL)
    assert run.of(AnswerUpstream) == [
        AnswerUpstream(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, "later", 17),
        AnswerUpstream(ErrorCode.INCONSISTENT, Severity.ERROR, "no", None),
        AnswerUpstream(ErrorCode.INCONSISTENT, Severity.ERROR, "no", None),
    ]
    assert run.state.status is TransitStatus.REFUSED


def test_an_acknowledgement_after_a_refusal_counts():
    """The refusal may have been about one copy, the acknowledgement about another."""
    run = Run().on(Arrived(), Arrived(), REFUSAL, AckReceived())
    assert run.of(AcknowledgeUpstream)
    assert run.state.status is TransitStatus.ACKNOWLEDGED


@pytest.mark.statement("S3-20")
def test_after_a_restart_what_was_not_answered_goes_on_under_its_number():
    """The crash may have come before the bytes left."""
    run = Run(Transit(TransitStatus.FORWARDING, 2)).on(Restarted())
    assert run.effects == [Forward(2)]


@pytest.mark.parametrize(
    "status", [TransitStatus.ACKNOWLEDGED, TransitStatus.REFUSED, TransitStatus.SENT]
)
def test_after_a_restart_what_was_answered_rests(status):
    """If the answer was lost, the origin sends again."""
    assert not Run(Transit(status, 1)).on(Restarted()).effects


def test_a_message_without_acknowledgement_is_only_sent_on():
    """BestEffort and method Transport: nothing is waited for, nothing repeated after a crash."""
    run = Run().on(Arrived(is_answered=False), ForwardEnded(1, UNREACHABLE), AckReceived())
    assert run.rows() == [Event.ARRIVED_IN_TRANSIT, Event.FORWARDED, Event.ACK_RECEIVED]
    assert run.of(Forward) == [Forward(1)]
    assert not run.of(AnswerUpstream)
    assert not run.of(AcknowledgeUpstream)
    assert run.state.status is TransitStatus.SENT
    assert run.on(BUSY).of(AnswerUpstream)


def test_the_row_of_a_copy_says_how_its_transmission_ended():
    """The journal shows what the transport said, and nothing where it said nothing."""
    run = Run().on(Arrived(), ForwardEnded(1, UNREACHABLE), Arrived(), ForwardEnded(2, ACCEPTED))
    rows = [row for row in run.of(Journal) if row.event is Event.FORWARDED]
    assert [(row.attempt, row.outcome, row.status_code, row.reason) for row in rows] == [
        (1, "refused", None, "connection refused"),
        (2, "accepted", 204, None),
    ]


@pytest.mark.parametrize(("status", "event"), list(itertools.product(TransitStatus, EVENTS)))
def test_the_table_is_total(status, event):
    """No event may find the relay without an answer to it."""
    state, _ = relaying.step(Transit(status, 1), event, TERMS)
    assert state.copies >= 1
