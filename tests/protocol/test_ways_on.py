"""Which ends are certain, so that the content may go out as a new message (R-41)."""

import pytest
from driving import DUE, NEVER_LEFT, REFUSED, Run

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import DeliveryTerms, Intermediary, OnExhausted
from onceonly.message.word import changed
from onceonly.protocol import sending
from onceonly.protocol.events import (
    AckReceived,
    CancelConfirmed,
    Cancelled,
    ErrorReceived,
    Parked,
    TimePassed,
    Transmitted,
)
from onceonly.protocol.sending import OutboundStatus

pytestmark = pytest.mark.statement(ruling="R-41")

TIMES = {"timeout_s": 30, "retries": 1, "retry_interval_s": 60, "persist_duration_s": 3600}
TERMS = DeliveryTerms(on_exhausted=OnExhausted.FAIL, time_to_live_s=600, **TIMES)
ACCEPTED_BETWEEN = changed(TERMS, intermediary=Intermediary.ACCEPT)
BEST_EFFORT = DeliveryTerms(semantics=DeliverySemantics.BEST_EFFORT, **TIMES)
NO = ErrorReceived(ErrorCode.INCONSISTENT, Severity.ERROR)
NOT_DELIVERED = ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.ERROR)
MAYBE_NOT = ErrorReceived(ErrorCode.DELIVERY_FAILURE, Severity.WARNING)

FENCED_S = 5_000


def never_left() -> Run:
    return Run(TERMS).sent(NEVER_LEFT).on(30, DUE).on(30, Transmitted(2, NEVER_LEFT)).on(90, DUE)


def refused_after_two() -> Run:
    return Run(TERMS).sent().on(30, DUE).on(31, NO)


@pytest.mark.parametrize(
    ("run", "status", "is_certain"),
    [
        (never_left, OutboundStatus.FAILED, True),
        (lambda: Run(TERMS).sent().on(1, NO), OutboundStatus.FAILED, True),
        (refused_after_two, OutboundStatus.IN_DOUBT, False),
        (
            lambda: Run(ACCEPTED_BETWEEN).sent().on(1, AckReceived()).on(2, NOT_DELIVERED),
            OutboundStatus.FAILED,
            True,
        ),
        (
            lambda: Run(ACCEPTED_BETWEEN).sent().on(1, AckReceived()).on(2, MAYBE_NOT),
            OutboundStatus.IN_DOUBT,
            False,
        ),
        (lambda: Run(TERMS).on(601, TimePassed()), OutboundStatus.EXPIRED, True),
        (lambda: Run(TERMS).sent().on(601, TimePassed()), OutboundStatus.IN_DOUBT, False),
        (
            lambda: Run(TERMS).sent().on(601, TimePassed()).on(FENCED_S, TimePassed()),
            OutboundStatus.FAILED,
            False,
        ),
        (
            lambda: refused_after_two().on(FENCED_S, TimePassed()),
            OutboundStatus.FAILED,
            False,
        ),
        (lambda: Run(BEST_EFFORT).sent(NEVER_LEFT), OutboundStatus.FAILED, True),
        (lambda: Run(BEST_EFFORT).sent(REFUSED), OutboundStatus.FAILED, True),
        (lambda: Run(TERMS).on(0, Parked("a bug", bytes_left=False)), OutboundStatus.FAILED, True),
        (
            lambda: Run(TERMS).sent().on(0, Parked("a bug", bytes_left=True)),
            OutboundStatus.IN_DOUBT,
            False,
        ),
        (lambda: Run(TERMS).on(0, Cancelled()), OutboundStatus.CANCELLED, False),
        (
            lambda: Run(TERMS).sent().on(1, CancelConfirmed()),
            OutboundStatus.CANCELLED,
            False,
        ),
        (lambda: Run(TERMS).sent().on(1, AckReceived()), OutboundStatus.ACKNOWLEDGED, False),
    ],
)
def test_only_a_certain_end_has_a_way_on(run, status, is_certain) -> None:
    """The fence shows that no copy is taken any more, not that none was; a cancel was wanted."""
    state = run().state
    assert state.status is status
    assert state.is_certain is is_certain
    assert sending.has_way_on(state) is is_certain


def test_an_acknowledgement_after_all_ends_the_certainty() -> None:
    """Another copy may have been taken, whatever was refused before: nothing may double then."""
    run = Run(TERMS).sent().on(1, NO).on(2, AckReceived())
    assert run.state.status is OutboundStatus.FAILED
    assert not sending.has_way_on(run.state)


def test_an_acknowledgement_of_what_never_left_proves_nothing() -> None:
    """Whoever sends it cannot keep the content from its receiver."""
    assert sending.has_way_on(never_left().on(100, AckReceived()).state)
