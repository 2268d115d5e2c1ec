"""What a bug of ours met is set aside: its pair goes on, and nobody repeats it (R-43)."""

import pytest

from onceonly.message.event import Event
from onceonly.message.instant import Now, to_datetime
from onceonly.message.terms import DeliveryTerms
from onceonly.protocol import relaying, sending
from onceonly.protocol.effects import AnswerUpstream, Forward, Journal, OpenIncident, Release
from onceonly.protocol.events import Parked
from onceonly.protocol.outbound import Exposure, Outbound, OutboundStatus
from onceonly.protocol.relaying import ForwardParked, TakenUp, Transit, TransitStatus

pytestmark = pytest.mark.statement(ruling="R-43")

NOW = Now(at=1, monotonic_ns=1)
TERMS = DeliveryTerms()


def events(effects):
    return [one.event for one in effects if isinstance(one, Journal)]


@pytest.mark.parametrize(
    ("exposure", "left", "status"),
    [
        (Exposure.NEVER, True, OutboundStatus.FAILED),
        (Exposure.OPEN, False, OutboundStatus.FAILED),
        (Exposure.OPEN, True, OutboundStatus.IN_DOUBT),
        (Exposure.LEFT, False, OutboundStatus.IN_DOUBT),
    ],
)
def test_it_has_failed_only_where_no_byte_can_have_left(exposure, left, status):
    """The pair gets its turn back, an operator an incident of this one message."""
    state = Outbound(OutboundStatus.SENDING, attempt=1, exposure=exposure, sequence_number=4)
    after, effects = sending.step(state, Parked("a bug", left), NOW, TERMS)
    assert after.status is status
    assert sending.was_parked(after) is (status is OutboundStatus.FAILED)
    assert Event.PARKED in events(effects)
    assert Release(abandoned=True, is_numbered=True) in effects
    assert OpenIncident("a bug", is_parked=True) in effects


def test_a_queued_message_gives_back_the_number_that_it_had_not_taken():
    """Its pair had given it one, and goes on without it (R-10)."""
    parked = Parked("a bug", bytes_left=False, sequence_number=7)
    after, effects = sending.step(Outbound(), parked, NOW, TERMS)
    assert after.status is OutboundStatus.FAILED
    assert Release(abandoned=True, is_numbered=True) in effects


def test_what_is_settled_stays_as_it_is():
    """A bug behind the end of a message changes nothing."""
    state = Outbound(OutboundStatus.ACKNOWLEDGED)
    assert sending.step(state, Parked("a bug", bytes_left=True), NOW, TERMS) == (state, ())


@pytest.mark.parametrize("status", list(TransitStatus))
def test_a_parked_copy_is_taken_up_by_no_restart(status):
    """The previous hop is asked to come again, where it waits for a word."""
    after, effects = relaying.step(Transit(status, 1), ForwardParked(0, "a bug"), TERMS)
    assert after.status is not TransitStatus.FORWARDING
    assert Event.PARKED in events(effects)
    asked = any(isinstance(one, AnswerUpstream) for one in effects)
    assert asked is (status is not TransitStatus.SENT)


@pytest.mark.parametrize("status", list(TransitStatus))
def test_an_operator_sends_it_on_once_more(status):
    """The stored copy, whatever became of it."""
    after, effects = relaying.step(Transit(status, 2), TakenUp("mended"), TERMS)
    assert Forward(2) in effects
    refused = status is TransitStatus.REFUSED
    assert after.status is (TransitStatus.FORWARDING if refused else status)


@pytest.mark.parametrize(("at", "year"), [(1 << 62, 9999), (-(1 << 62), 1)])
def test_an_instant_outside_of_the_calendar_can_be_shown(at, year):
    """A time to live of the year 9999 and what is added to it once hid a whole list."""
    assert to_datetime(at).year == year
