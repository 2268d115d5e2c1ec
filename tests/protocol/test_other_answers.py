"""What only partners of ebMS 2.0 answer: the next MSH, a fault, no Ping, "come again later"."""

import pytest
from driving import DUE, Run, at

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.terms import DeliveryTerms, RecoveryTerms
from onceonly.message.word import changed
from onceonly.protocol.effects import Journal, Transmit
from onceonly.protocol.events import (
    AckReceived,
    Admitted,
    ErrorReceived,
    Held,
    Outcome,
    PongReceived,
    Transmission,
    Transmitted,
)
from onceonly.protocol.sending import OutboundStatus, hears_partner

TERMS = DeliveryTerms(timeout_s=60, retries=2, retry_interval_s=60, is_numbered=False)
OF_HOP = AckReceived(is_of_hop=True)
CANNOT = PongReceived(is_available=True, cannot_be_asked=True)


def test_the_next_msh_begins_a_new_wait():
    """The To Party is waited for as long as after a transmission."""
    run = Run(TERMS).sent().on(40, OF_HOP)
    assert run.state.due_ns == at(100).monotonic_ns
    assert run.state.status is OutboundStatus.SENDING
    assert run.on(100, DUE).of(Transmit)[-1] == Transmit(2)


@pytest.mark.parametrize("events", [(), (Held(),)], ids=["under transmission", "held"])
def test_where_nothing_is_waited_for_the_next_msh_begins_no_wait(events):
    run = Run(TERMS).on(0, Admitted(None), *events, OF_HOP)
    assert run.state.due_ns is None


def test_a_peer_that_asks_for_a_pause_is_left_alone():
    later = Transmission(Outcome.REFUSED, True, 503, "Busy", retry_after_s=500)
    run = Run(TERMS).on(0, Admitted(None), Transmitted(1, later))
    assert run.state.due_ns == at(500).monotonic_ns


def test_a_fault_that_refuses_is_a_refusal():
    """Its row says that it was a fault."""
    refused = Transmission(Outcome.REFUSED, True, 500, "SOAP Fault Client")
    fault = ErrorReceived(ErrorCode.UNKNOWN, Severity.ERROR, description="no", is_fault=True)
    run = Run(TERMS).on(0, Admitted(None), Transmitted(1, refused), fault)
    assert run.state.status is OutboundStatus.FAILED
    assert Event.FAULT_RECEIVED in run.rows()
    assert not hears_partner(fault, TERMS)


def test_a_partner_without_a_ping_gets_the_message():
    terms = changed(TERMS, recovery=RecoveryTerms(ping_above_bytes=0))
    run = Run(terms).on(0, Admitted(None, 1), CANNOT)
    assert run.of(Transmit) == [Transmit(1)]
    (row,) = [one for one in run.of(Journal) if one.event is Event.PONG_RECEIVED]
    assert "cannot be asked" in (row.reason or "")
    assert not hears_partner(CANNOT, terms)
