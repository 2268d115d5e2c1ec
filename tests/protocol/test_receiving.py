"""The receiver's decision: MessageId first, then expiry, then the four cases."""

import pytest

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import SEQUENCE_NUMBER_MAX, DeliverySemantics
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import receiving
from onceonly.protocol.effects import Acknowledge, HandOver, Journal, OpenIncident
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import (
    Arrival,
    Case,
    InboundStatus,
    Known,
    ReceivingPair,
    receive,
)

TERMS = DeliveryTerms(time_to_live_s=3600, persist_duration_s=7200, msh_time_accuracy_s=30)
NOW = Now(1_000_000 * US_PER_S, 0)


def arrival(
    number: int | None = 1,
    *,
    message_id: str = "m-1",
    digest: str = "aa",
    age_s: int = 0,
    semantics: DeliverySemantics = DeliverySemantics.ONCE_AND_ONLY_ONCE,
) -> Arrival:
    is_reliable = semantics is not DeliverySemantics.BEST_EFFORT
    return Arrival(message_id, digest, is_reliable, NOW.at - age_s * US_PER_S, number)


def after(number: int | None) -> ReceivingPair:
    return ReceivingPair(sequence_number=number)


def case_of(incoming: Arrival, pair: ReceivingPair, known: Known | None = None) -> Case:
    return receive(incoming, known, pair, NOW, TERMS).case


@pytest.mark.statement("S0-96", ruling="R-01")
@pytest.mark.statement("S0-97", ruling="R-01")
@pytest.mark.statement("S0-98", ruling="R-01")
@pytest.mark.statement("S0-99", ruling="R-01")
@pytest.mark.statement("S0-100", ruling="R-01")
@pytest.mark.parametrize(
    ("previous", "number", "case"),
    [
        (None, 1, Case.NEW),
        (None, 2, Case.OUT_OF_SEQUENCE),
        (5, 6, Case.NEW),
        (5, 7, Case.OUT_OF_SEQUENCE),
        (5, 5, Case.OUT_OF_SEQUENCE),
        (5, 3, Case.OUT_OF_SEQUENCE),
        (57, 1, Case.NEW),
        (1, 1, Case.NEW),
        (SEQUENCE_NUMBER_MAX, 1, Case.NEW),
        (SEQUENCE_NUMBER_MAX, 2, Case.OUT_OF_SEQUENCE),
        (SEQUENCE_NUMBER_MAX, SEQUENCE_NUMBER_MAX, Case.OUT_OF_SEQUENCE),
        (5, None, Case.OUT_OF_SEQUENCE),
    ],
)
def test_the_four_cases_for_an_unseen_message(previous, number, case):
    """S0-96 to S0-100 under R-01; I7 and I34."""
    assert case_of(arrival(number), after(previous)) is case


@pytest.mark.statement("S0-90", ruling="R-01")
@pytest.mark.statement("S0-97", ruling="R-01")
@pytest.mark.statement("S0-98", ruling="R-01")
@pytest.mark.parametrize("number", [1, 5, 6, 900])
def test_a_known_message_is_a_duplicate_whatever_its_number(number):
    """R-01: seed 000's case 3 alone would deliver a late copy of message 1 twice."""
    assert case_of(arrival(number), after(5), Known("aa")) is Case.DUPLICATE


@pytest.mark.statement("S0-92", ruling="R-02")
@pytest.mark.statement("S1-30", ruling="R-02")
def test_a_new_message_is_stored_then_acknowledged():
    """R-02: the hand-over comes after the acknowledgement's transmission."""
    reception = receive(arrival(6), None, after(5), NOW, TERMS)
    assert [type(effect) for effect in reception.effects] == [Journal, Acknowledge]
    assert reception.effects[0].event is Event.STORED
    assert reception.pair.sequence_number == 6


@pytest.mark.statement("S0-12")
@pytest.mark.statement("S0-91")
@pytest.mark.statement("S3-08")
@pytest.mark.statement("S4-11")
def test_a_duplicate_is_answered_and_changes_nothing():
    """S0-12, S0-91, I5."""
    reception = receive(arrival(5), Known("aa"), after(5), NOW, TERMS)
    assert reception.pair == after(5)
    assert [type(effect) for effect in reception.effects] == [Journal, Acknowledge]
    assert reception.effects[0].event is Event.DUPLICATE_ELIMINATED


@pytest.mark.statement("S1-26", ruling="R-01")
def test_a_collision_is_neither_acknowledged_nor_stored():
    """R-01, I8; nor is an Error sent, which would be about what is stored (R-46)."""
    reception = receive(arrival(6), Known("bb"), after(5), NOW, TERMS)
    assert reception.case is Case.COLLISION
    [row] = reception.effects
    assert isinstance(row, Journal)
    assert (row.event, row.error_code) == (Event.COLLISION_DETECTED, ErrorCode.SECURITY_FAILURE)


@pytest.mark.statement("S4-13", ruling="R-18")
@pytest.mark.statement("S4-12", ruling="R-18")
@pytest.mark.statement("S4-07", ruling="R-18")
def test_expiry_is_tested_after_duplication():
    """R-18: a known message past its TimeToLive is acknowledged, an unknown one refused."""
    old = arrival(6, age_s=3631)
    assert case_of(old, after(5), Known("aa")) is Case.DUPLICATE
    assert case_of(old, after(5)) is Case.EXPIRED
    assert case_of(arrival(6, age_s=3630), after(5)) is Case.NEW


@pytest.mark.statement(ruling="R-19")
@pytest.mark.parametrize("semantics", list(DeliverySemantics))
def test_a_message_from_the_future_is_refused_unless_it_is_known_or_kept_for_ever(semantics):
    """A day and the accuracy are granted; ids would else be kept until 2038, never shorter."""
    terms = changed(TERMS, semantics=semantics, time_to_live_s=None)
    last = changed(arrival(1), timestamp_at=NOW.at + (86_400 + 30) * US_PER_S)
    beyond = changed(last, timestamp_at=last.timestamp_at + 1)
    assert receive(last, None, ReceivingPair(), NOW, terms).case is Case.NEW
    assert receive(beyond, Known("aa"), after(1), NOW, terms).case is Case.DUPLICATE
    refused = receive(beyond, None, ReceivingPair(), NOW, terms)
    if semantics is DeliverySemantics.EXACTLY_ONCE:
        assert refused.case is Case.NEW
        return
    answer = refused.effects[-1]
    assert (refused.case, answer.code) == (Case.AHEAD, ErrorCode.INCONSISTENT)
    assert answer.severity is Severity.ERROR
    assert answer.description == (
        "Timestamp is in the future: 86430 s ahead of the clock here; expected is a new message"
        " with a Timestamp of now, at most 86430 s ahead"
    )


@pytest.mark.statement("S1-18", ruling="R-19")
def test_what_is_older_than_persist_duration_is_refused():
    """R-19: its id may have been forgotten."""
    terms = DeliveryTerms(persist_duration_s=7200)
    reception = receive(arrival(6, age_s=7231), None, after(5), NOW, terms)
    assert reception.case is Case.TOO_OLD
    assert reception.effects[-1].code is ErrorCode.TIME_TO_LIVE_EXPIRED
    assert receive(arrival(6, age_s=7230), None, after(5), NOW, terms).case is Case.NEW


@pytest.mark.statement("S0-39")
def test_best_effort_is_handed_over_without_an_acknowledgement():
    """S0-39."""
    incoming = arrival(None, semantics=DeliverySemantics.BEST_EFFORT)
    reception = receive(incoming, None, after(5), NOW, TERMS)
    assert reception.case is Case.NEW
    assert Acknowledge() not in reception.effects
    assert HandOver() in reception.effects
    assert reception.pair == after(5), "it has no number and moves none"
    repeat = receive(incoming, Known("aa"), after(5), NOW, TERMS)
    assert Acknowledge() not in repeat.effects


@pytest.mark.statement("S0-100")
def test_a_wrong_number_is_answered_and_the_state_stays():
    """S0-100, I7."""
    reception = receive(arrival(7), None, after(5), NOW, TERMS)
    answer = reception.effects[-1]
    assert (answer.code, answer.severity) == (ErrorCode.INVALID_SEQUENCE_NUMBER, Severity.ERROR)
    assert reception.pair.sequence_number == 5
    assert receive(arrival(6, message_id="m-2"), None, reception.pair, NOW, TERMS).case is Case.NEW


@pytest.mark.statement("S0-100", ruling="R-11")
def test_the_same_wrong_message_again_quarantines_the_pair():
    """R-11: a repeated gap is for the operator."""
    first = receive(arrival(7), None, after(5), NOW, TERMS)
    second = receive(arrival(7), None, first.pair, NOW, TERMS)
    assert second.pair.status is PairStatus.QUARANTINED
    assert "twice in a row, of m-1 again: SequenceNumber 7" in (second.pair.reason or "")


@pytest.mark.statement(ruling="R-11")
@pytest.mark.parametrize(
    ("number", "message_id", "reason"),
    [
        (7, "m-2", "twice in a row, of m-2, after m-1: SequenceNumber 7 does not follow"),
        (3, "m-2", "twice in a row, of m-2, after m-1: SequenceNumber 3 does not follow"),
        (None, "m-2", "twice in a row, of m-2, after m-1: no SequenceNumber came"),
    ],
)
def test_two_wrong_numbers_in_a_row_quarantine_the_pair(number, message_id, reason):
    """R-11: whatever their ids; a sender that went on after one final refusal never comes right."""
    first = receive(arrival(7, message_id="m-1"), None, after(5), NOW, TERMS)
    assert first.pair.status is PairStatus.OPEN
    second = receive(arrival(number, message_id=message_id), None, first.pair, NOW, TERMS)
    assert second.pair.status is PairStatus.QUARANTINED
    [incident] = [effect for effect in second.effects if isinstance(effect, OpenIncident)]
    assert incident.reason == second.pair.reason
    assert reason in incident.reason


@pytest.mark.statement(ruling="R-11")
def test_an_accepted_message_starts_the_count_anew():
    """R-11: refused, taken, refused is no repetition; a repeat in between changes nothing."""
    refused = receive(arrival(7, message_id="m-7"), None, after(5), NOW, TERMS).pair
    assert receive(arrival(5), Known("aa"), refused, NOW, TERMS).pair == refused
    taken = receive(arrival(6, message_id="m-6"), None, refused, NOW, TERMS).pair
    again = receive(arrival(8, message_id="m-8"), None, taken, NOW, TERMS).pair
    assert again.status is PairStatus.OPEN


def test_a_quarantined_pair_asks_the_sender_to_come_again():
    """Waiting costs the sender no retry; repeats are still acknowledged."""
    closed = ReceivingPair(status=PairStatus.QUARANTINED, sequence_number=5)
    reception = receive(arrival(6), None, closed, NOW, TERMS)
    assert reception.effects[-1].code is ErrorCode.TRANSIENT_ERROR
    assert reception.effects[-1].min_retry_s == TERMS.retry_interval_s
    assert case_of(arrival(5), closed, Known("aa")) is Case.DUPLICATE


@pytest.mark.statement("S0-100", ruling="R-11")
def test_resuming_takes_whichever_number_comes_next():
    """R-11: the operator decided; from then on numbers count again."""
    closed = ReceivingPair(status=PairStatus.QUARANTINED, sequence_number=5)
    opened, effects = receiving.resume(closed)
    assert effects
    reception = receive(arrival(41), None, opened, NOW, TERMS)
    assert reception.case is Case.NEW
    assert case_of(arrival(43, message_id="m-2"), reception.pair) is Case.OUT_OF_SEQUENCE


def test_resuming_an_open_pair_changes_nothing():
    """Operators click twice."""
    assert receiving.resume(after(5)) == (after(5), ())


@pytest.mark.statement("S3-06", ruling="R-12")
@pytest.mark.parametrize("outcome", list(Outcome))
def test_the_message_is_handed_over_whatever_became_of_the_acknowledgement(outcome):
    """R-12's default: nothing stored is ever held back by a lost acknowledgement."""
    transmission = Transmission(outcome, bytes_left=True, detail="x")
    status, effects = receiving.acknowledged(InboundStatus.STORED, transmission, TERMS)
    assert status is InboundStatus.HANDED_OVER
    assert [effect.event for effect in effects if isinstance(effect, Journal)] == [
        Event.ACK_SENT,
        Event.HANDED_OVER,
    ]


@pytest.mark.statement("S1-47")
def test_a_second_acknowledgement_hands_nothing_over():
    """I1."""
    transmission = Transmission(Outcome.ACCEPTED, bytes_left=True)
    _, effects = receiving.acknowledged(InboundStatus.HANDED_OVER, transmission, TERMS)
    assert HandOver() not in effects


@pytest.mark.statement("S1-18", ruling="R-19")
def test_what_may_have_been_forgotten_is_too_old_whatever_was_agreed_since():
    """PersistDuration was raised after a purge: a copy of a forgotten message stays out."""
    incoming = arrival()
    pair = ReceivingPair(forgotten_at=incoming.timestamp_at)
    assert case_of(incoming, pair) is Case.TOO_OLD
    newer = changed(incoming, timestamp_at=incoming.timestamp_at + 1)
    reception = receive(newer, None, pair, NOW, TERMS)
    assert reception.case is Case.NEW
    assert reception.pair.forgotten_at == pair.forgotten_at


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_is_not_refused_for_what_other_agreements_forgot():
    """Its own ids are never forgotten, so an unseen one is new, however old."""
    terms = DeliveryTerms(semantics=DeliverySemantics.EXACTLY_ONCE, retries=None)
    pair = ReceivingPair(forgotten_at=NOW.at)
    assert receive(arrival(), None, pair, NOW, terms).case is Case.NEW


def test_a_remark_stands_in_the_row_about_storing_alone():
    """Beside what that row says already; nothing else of the verdict changes."""
    pair = after(None)
    rows = (Journal(Event.STORED, reason="first"), Journal(Event.REJECTED, reason="other"))
    reception = receiving.Reception(Case.NEW, pair, (*rows, Acknowledge()))
    remarked = receiving.remarked(reception, "unverified")
    stored = changed(rows[0], reason="first; unverified")
    assert remarked == receiving.Reception(Case.NEW, pair, (stored, rows[1], Acknowledge()))
