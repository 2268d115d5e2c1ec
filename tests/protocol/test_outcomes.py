"""Causes do not look alike: the last outcome stands where a message ends or needs somebody."""

import pytest
from driving import ACCEPTED, DUE, NEVER_LEFT, Run, at

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics, ReliableMessagingMethod
from onceonly.message.terms import DeliveryTerms, RecoveryTerms
from onceonly.protocol.effects import (
    GiveUp,
    Journal,
    Notify,
    OpenIncident,
    TellTrouble,
)
from onceonly.protocol.events import (
    Admitted,
    DeadlineReached,
    ErrorReceived,
    Outcome,
    TimePassed,
    Transmission,
    Transmitted,
)

TERMS = DeliveryTerms(timeout_s=30, retries=1, retry_interval_s=60, time_to_live_s=3600)
TOO_LARGE = Transmission(
    Outcome.REFUSED, bytes_left=True, status_code=413, detail="413 Request Entity Too Large"
)
NOT_FOUND = Transmission(
    Outcome.REFUSED, bytes_left=True, status_code=404, detail="NotFound: there is nothing here"
)
MAILBOX = Transmission(Outcome.REFUSED, bytes_left=True, status_code=550, detail="no such mailbox")
BUSY = Transmission(Outcome.REFUSED, bytes_left=True, status_code=503, detail="Busy")
FULL = Transmission(Outcome.REFUSED, bytes_left=True, status_code=507, detail="StoreFull")
GATEWAY = Transmission(Outcome.UNKNOWN, bytes_left=True, status_code=502, detail="502 Bad Gateway")


@pytest.mark.parametrize(
    ("transmission", "words"),
    [
        (NEVER_LEFT, "refused, connection refused"),
        (TOO_LARGE, "refused, 413 Request Entity Too Large"),
        (NOT_FOUND, "refused, 404 NotFound: there is nothing here"),
        (GATEWAY, "unknown, 502 Bad Gateway"),
        (ACCEPTED, "accepted, 204"),
        (Transmission(Outcome.UNKNOWN, bytes_left=True), "unknown"),
    ],
)
def test_an_outcome_has_words_with_its_status(transmission, words):
    """The status once, and what was said."""
    assert transmission.words == words


def exhausted(transmission: Transmission, terms: DeliveryTerms = TERMS) -> Run:
    """Sent once and again, in vain."""
    run = Run(terms, number=1).sent(transmission).on(30, DUE, Transmitted(2, transmission))
    return run.on(90, DeadlineReached(at(90).monotonic_ns, (transmission, transmission)))


@pytest.mark.parametrize("transmission", [NEVER_LEFT, TOO_LARGE, NOT_FOUND, GATEWAY, ACCEPTED])
def test_whoever_is_told_of_the_end_is_told_the_last_outcome(transmission):
    """The row, the notice, the pair and through it the incident, in the same words."""
    run = exhausted(transmission)
    [row] = [one for one in run.of(Journal) if one.event is Event.EXHAUSTED]
    [notice], [given_up] = run.of(Notify), run.of(GiveUp)
    assert row.reason == notice.reason == given_up.reason
    assert row.reason.endswith(f"; last outcome: {transmission.words}")


def test_what_never_left_lacks_a_connection_and_no_acknowledgement():
    """Nobody can have acknowledged it."""
    [given_up] = exhausted(NEVER_LEFT).of(GiveUp)
    assert given_up.reason.startswith("no connection, up to the last retry")
    [given_up] = exhausted(GATEWAY).of(GiveUp)
    assert given_up.reason.startswith("no acknowledgement after the last retry")


def reasons(run: Run, event: Event) -> list[str]:
    return [row.reason for row in run.of(Journal) if row.event is event]


def test_every_other_end_says_it_too():
    """AtMostOnce, BestEffort, a network that took nothing, Pings, and the ends of time."""
    at_most_once = DeliveryTerms(semantics=DeliverySemantics.AT_MOST_ONCE)
    run = Run(at_most_once).sent(NEVER_LEFT)
    assert reasons(run, Event.EXHAUSTED) == [
        "the network took nothing of it; last outcome: refused, connection refused"
    ]
    run = Run(DeliveryTerms(semantics=DeliverySemantics.BEST_EFFORT)).sent(TOO_LARGE)
    assert reasons(run, Event.FAILED) == [
        "refused by the transport; last outcome: refused, 413 Request Entity Too Large"
    ]
    pinging = DeliveryTerms(retries=0, recovery=RecoveryTerms(ping_above_bytes=0))
    run = Run(pinging).on(0, Admitted(1, size_bytes=5))
    run.on(30, DeadlineReached(run.state.due_ns or 0, (NOT_FOUND,)))
    (reason,) = reasons(run, Event.EXHAUSTED)
    assert reason.startswith(
        "the partner did not say that it takes messages; last outcome: refused"
    )


@pytest.mark.parametrize("is_timer", [True, False])
def test_a_time_that_passes_says_what_it_passed_in(is_timer):
    """On a timer or in a sweep, and once more behind the fence."""
    run = Run(TERMS, number=1).sent(GATEWAY)
    due_ns = run.state.due_ns or 0
    run.on(3601, DeadlineReached(due_ns, (GATEWAY,)) if is_timer else TimePassed((GATEWAY,)))
    run.on(4000, TimePassed((GATEWAY,)))
    last = "; last outcome: unknown, 502 Bad Gateway"
    assert reasons(run, Event.EXHAUSTED) == [f"TimeToLive passed without an acknowledgement{last}"]
    assert reasons(run, Event.FAILED) == [
        f"TimeToLive and twice the clock accuracy passed without an acknowledgement{last}"
    ]


def test_a_message_that_is_offered_to_a_product_in_vain_says_so_when_it_expires():
    """Method Transport: nothing of it ever left."""
    terms = DeliveryTerms(method=ReliableMessagingMethod.TRANSPORT, time_to_live_s=3600)
    run = Run(terms).sent(NEVER_LEFT).on(3601, TimePassed((NEVER_LEFT,)))
    (reason,) = reasons(run, Event.EXPIRED)
    assert reason.startswith("TimeToLive passed before the message could be sent; last outcome: ")


def test_what_waits_in_the_queue_has_no_outcome_to_tell():
    """It was never sent."""
    run = Run(TERMS).on(3601, TimePassed())
    assert reasons(run, Event.EXPIRED) == ["TimeToLive passed before the message could be sent"]


def refused_in_a_row(*transmissions: Transmission, terms: DeliveryTerms) -> Run:
    """Each the next attempt's outcome, with those before it as the gateway tells them."""
    run = Run(terms, number=1).on(0, Admitted(1))
    for number, transmission in enumerate(transmissions, 1):
        if number > 1:
            run.on(number * 100, DUE)
        before = transmissions[: number - 1][::-1]
        run.on(number * 100, Transmitted(number, transmission, before))
    return run


ENDLESS = DeliveryTerms(timeout_s=1, retries=99, retry_interval_s=1, time_to_live_s=9_999_999)


@pytest.mark.parametrize("refusal", [TOO_LARGE, NOT_FOUND, MAILBOX])
def test_the_third_equal_refusal_in_a_row_is_an_incident_at_once_and_once(refusal):
    """R-40: whoever says so three times says it to every retry; the retries go on."""
    run = refused_in_a_row(refusal, refusal, terms=ENDLESS)
    assert run.of(TellTrouble) == []
    run = refused_in_a_row(*[refusal] * 7, terms=ENDLESS)
    assert run.of(TellTrouble) == [TellTrouble(f"3 times in a row: {refusal.words}")]
    assert run.state.attempt == 7


@pytest.mark.parametrize(
    "transmissions",
    [
        (BUSY,) * 5,
        (FULL,) * 5,
        (GATEWAY,) * 5,
        (NEVER_LEFT,) * 5,
        (NOT_FOUND, NOT_FOUND, TOO_LARGE, NOT_FOUND, NOT_FOUND),
    ],
)
def test_what_may_pass_or_changes_is_no_incident_of_its_own(transmissions):
    """Busy, full, unknown, unreachable: those have their retries, and their end."""
    assert refused_in_a_row(*transmissions, terms=ENDLESS).of(TellTrouble) == []


def test_another_series_of_refusals_is_another_cause():
    """A path that was mended, and then the size: the incident has the last one."""
    run = refused_in_a_row(*[NOT_FOUND] * 4, *[TOO_LARGE] * 3, terms=ENDLESS)
    assert [one.cause for one in run.of(TellTrouble)] == [
        f"3 times in a row: {NOT_FOUND.words}",
        f"3 times in a row: {TOO_LARGE.words}",
    ]


def test_what_a_partner_said_when_it_put_us_off_is_told():
    """Its own words, where it has some."""
    terms = DeliveryTerms(transient_retries=0)
    error = ErrorReceived(ErrorCode.TRANSIENT_ERROR, Severity.WARNING, 1, "StoreFull: no room")
    run = Run(terms).sent().on(1, error)
    assert run.of(GiveUp) == [GiveUp("the peer kept answering TransientError: StoreFull: no room")]


def test_an_exactly_once_message_alarms_once_with_the_outcome_of_then():
    """R-17: later outcomes have other words, and would open other incidents."""
    terms = DeliveryTerms(
        semantics=DeliverySemantics.EXACTLY_ONCE,
        timeout_s=1,
        retry_interval_s=1,
        persist_duration_s=3,
    )
    run = Run(terms).sent(NEVER_LEFT)
    for attempt in range(2, 8):
        last = NEVER_LEFT if attempt < 5 else GATEWAY
        due_ns = run.state.due_ns or 0
        run.on(attempt, DeadlineReached(due_ns, (last,)), Transmitted(attempt, last))
    assert run.of(OpenIncident) == [
        OpenIncident(
            "an ExactlyOnce message is not acknowledged after all of PersistDuration;"
            " last outcome: refused, connection refused"
        )
    ]
