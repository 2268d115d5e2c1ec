"""Arrivals beyond the numbered, acknowledged message: degrees, methods, modes, tombstones."""

import pytest

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import (
    AckRequested,
    DeliverySemantics,
    ReliableMessagingMethod,
    SyncReplyMode,
)
from onceonly.message.signals import AckStatus
from onceonly.message.terms import DeliveryReceiptProvided, DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import receiving
from onceonly.protocol.effects import (
    Acknowledge,
    AcknowledgeAnew,
    Answer,
    HandOver,
    Journal,
    SendReceipt,
)
from onceonly.protocol.events import Outcome, Transmission
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import (
    Arrival,
    Case,
    InboundStatus,
    Known,
    ReceivingPair,
    Reception,
    Stamp,
)

NOW = Now(1_000_000 * US_PER_S, 0)
TERMS = DeliveryTerms(is_numbered=False, persist_duration_s=7200, msh_time_accuracy_s=30)
FRESH = ReceivingPair()
KNOWN = Known("aa")
UNANSWERED = Known("aa", has_response=False)
FLEETING = Known("aa", header_digest="h1", has_key=False)
STRICT = DeliveryTerms(is_numbered=False, strict_release=True)


def ago(seconds: int) -> int:
    return NOW.at - seconds * US_PER_S


def arrival(**facts: object) -> Arrival:
    usual = {
        "message_id": "m-1",
        "digest": "aa",
        "wants_ack": True,
        "timestamp_at": NOW.at,
        "sequence_number": None,
    }
    return Arrival(**{**usual, **facts})


def receive(
    incoming: Arrival,
    known: Known | None = None,
    terms: DeliveryTerms = TERMS,
    *,
    is_cancelled: bool = False,
) -> Reception:
    return receiving.receive(incoming, known, FRESH, NOW, terms, is_cancelled=is_cancelled)


def names(effects: tuple) -> list[str]:
    return [
        effect.event.value if isinstance(effect, Journal) else type(effect).__name__
        for effect in effects
    ]


@pytest.mark.statement("S1-27")
@pytest.mark.statement("S1-30")
def test_without_numbers_the_message_id_alone_decides():
    """Seed 001: the pair keeps nothing, and its condition is not asked."""
    closed = ReceivingPair(status=PairStatus.QUARANTINED, sequence_number=5)
    reception = receiving.receive(arrival(), None, closed, NOW, TERMS)
    assert reception.case is Case.NEW
    assert reception.pair == closed
    assert reception.is_remembered
    assert names(reception.effects) == ["Stored", "Acknowledge"]


@pytest.mark.statement("S0-40", ruling="R-16")
def test_best_effort_delivers_a_repeat_unless_duplicates_are_dropped():
    """Its MessageId is remembered only for that purpose."""
    incoming = arrival(wants_ack=False)
    repeat = receive(incoming, FLEETING)
    assert repeat.case is Case.NEW
    assert names(repeat.effects) == ["Stored", "HandOver", "HandedOver"]
    assert not repeat.is_remembered
    dropping = DeliveryTerms(is_numbered=False, drop_duplicates=True)
    assert receive(incoming, None, dropping).is_remembered
    dropped = receive(incoming, KNOWN, dropping)
    assert dropped.case is Case.DUPLICATE
    assert names(dropped.effects) == ["DuplicateEliminated"]


@pytest.mark.statement("S0-76", ruling="R-16")
def test_at_most_once_drops_duplicates_and_is_acknowledged():
    """On the wire it is OnceAndOnlyOnce."""
    terms = DeliveryTerms(is_numbered=False, semantics=DeliverySemantics.AT_MOST_ONCE)
    assert names(receive(arrival(), None, terms).effects) == ["Stored", "Acknowledge"]
    assert names(receive(arrival(), KNOWN, terms).effects) == ["DuplicateEliminated", "Acknowledge"]


ELIMINATED_ALONE = {"wants_ack": False, "wants_elimination": True}


@pytest.mark.statement(ruling="R-29")
def test_elimination_alone_is_remembered_and_never_acknowledged():
    """AtMostOnce in the words of a header that has two: its repeat is dropped in silence."""
    reception = receive(arrival(**ELIMINATED_ALONE))
    assert reception.case is Case.NEW
    assert reception.is_remembered
    assert names(reception.effects) == ["Stored", "HandOver", "HandedOver"]
    repeat = receive(arrival(**ELIMINATED_ALONE), UNANSWERED)
    assert repeat.case is Case.DUPLICATE
    assert names(repeat.effects) == ["DuplicateEliminated"]


@pytest.mark.statement(ruling="R-29")
def test_what_is_acknowledged_is_eliminated_whether_its_header_says_so_or_not():
    """A repeat that asks for an acknowledgement of a first copy that did not gets its own."""
    reception = receive(arrival(wants_ack=True, wants_elimination=False))
    assert reception.is_remembered
    repeat = receive(arrival(wants_ack=True, wants_elimination=False), UNANSWERED)
    assert repeat.case is Case.DUPLICATE
    assert names(repeat.effects) == ["DuplicateEliminated", "AcknowledgeAnew"]


@pytest.mark.statement(ruling="R-29")
def test_elimination_alone_never_waits_for_the_application_to_acknowledge():
    """A repeat of it is a duplicate, not one whose response is in work."""
    terms = DeliveryTerms(is_numbered=False, sync_reply_mode=SyncReplyMode.SIGNALS_AND_RESPONSE)
    assert receive(arrival(**ELIMINATED_ALONE), UNANSWERED, terms).case is Case.DUPLICATE
    assert receive(arrival(), UNANSWERED, terms).case is Case.IN_WORK


@pytest.mark.statement("S0-10")
def test_the_word_in_the_message_makes_it_reliable_whatever_was_agreed():
    """OnceAndOnlyOnce under a BestEffort agreement is acknowledged."""
    terms = DeliveryTerms(is_numbered=False, semantics=DeliverySemantics.BEST_EFFORT)
    assert Acknowledge() in receive(arrival(), None, terms).effects


@pytest.mark.statement("S1-12")
@pytest.mark.parametrize("named_by", ["message", "agreement"])
def test_what_a_reliable_transport_brings_is_never_acknowledged(named_by):
    """Stored, handed over, and its repeats eliminated."""
    by_transport = ReliableMessagingMethod.TRANSPORT
    terms = (
        TERMS if named_by == "message" else DeliveryTerms(is_numbered=False, method=by_transport)
    )
    incoming = arrival(method=by_transport if named_by == "message" else None)
    assert names(receive(incoming, None, terms).effects) == ["Stored", "HandOver", "HandedOver"]
    assert names(receive(incoming, KNOWN, terms).effects) == ["DuplicateEliminated"]


@pytest.mark.statement("S1-11")
def test_the_header_names_the_method_before_the_agreement_does():
    """ebXML in the header under a Transport agreement: acknowledged."""
    terms = DeliveryTerms(is_numbered=False, method=ReliableMessagingMethod.TRANSPORT)
    incoming = arrival(method=ReliableMessagingMethod.EBXML)
    assert Acknowledge() in receive(incoming, None, terms).effects


@pytest.mark.statement("S1-10", ruling="R-18")
@pytest.mark.statement("S1-60")
@pytest.mark.parametrize(("late_s", "case"), [(20, Case.NEW), (40, Case.EXPIRED)])
def test_the_time_to_live_of_the_message_itself_counts(late_s, case):
    """With the agreed accuracy of the clocks: 30 s."""
    assert receive(arrival(time_to_live_at=ago(late_s))).case is case
    assert receive(arrival(time_to_live_at=ago(late_s)), KNOWN).case is Case.DUPLICATE


@pytest.mark.statement("S1-10", ruling="R-18")
def test_the_earlier_of_the_two_ends_counts():
    """The message's own, and the agreement's."""
    terms = DeliveryTerms(is_numbered=False, time_to_live_s=60)
    generous = arrival(timestamp_at=ago(100), time_to_live_at=NOW.at + US_PER_S)
    reception = receive(generous, None, terms)
    assert reception.case is Case.EXPIRED
    assert reception.effects[-1].code is ErrorCode.TIME_TO_LIVE_EXPIRED


@pytest.mark.statement("S3-14", ruling="R-17")
def test_exactly_once_is_never_refused_for_its_age():
    """Its ids are never forgotten, so a late copy is no danger."""
    terms = DeliveryTerms(is_numbered=False, semantics=DeliverySemantics.EXACTLY_ONCE)
    old = arrival(timestamp_at=ago(10**5 * 86_400), time_to_live_at=ago(86_400))
    assert receive(old, None, terms).case is Case.NEW


@pytest.mark.statement("S4-26", ruling="R-08")
@pytest.mark.parametrize("known", [None, KNOWN], ids=["never stored", "stored"])
def test_a_tombstone_refuses_every_copy(known):
    """Not stored, not acknowledged: answered DeliveryFailure."""
    reception = receive(arrival(), known, is_cancelled=True)
    assert reception.case is Case.CANCELLED
    assert names(reception.effects) == ["Rejected", "Answer"]
    answer = reception.effects[-1]
    assert isinstance(answer, Answer)
    assert (answer.code, answer.severity) == (ErrorCode.DELIVERY_FAILURE, Severity.ERROR)
    assert "took this message back" in answer.description


@pytest.mark.statement("S1-26", ruling="R-01")
def test_a_collision_is_an_alarm_even_behind_a_tombstone():
    """Other content under a known MessageId."""
    assert receive(arrival(digest="bb"), KNOWN, is_cancelled=True).case is Case.COLLISION


KEPT = Known("aa", header_digest="h1")
BEST_EFFORT = {"wants_ack": False, "header_digest": "h2"}


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize(
    ("incoming", "differing"),
    [
        (arrival(header_digest="h2"), "header"),
        (arrival(digest="bb", header_digest="h1"), "payloads"),
        (arrival(digest="bb", header_digest="h2"), "payloads and header"),
    ],
)
def test_another_header_is_another_content(incoming, differing):
    """All that the From Party said counts, and the alarm says which part is another."""
    reception = receive(incoming, KEPT)
    assert reception.case is Case.COLLISION
    assert names(reception.effects) == ["CollisionDetected"]
    said = f"a message with other {differing} is stored here under this MessageId"
    assert said in reception.effects[0].reason


@pytest.mark.statement(ruling="R-37")
def test_what_was_stored_without_a_header_digest_is_known_by_its_payloads():
    """A store of before keeps its promise for what it has."""
    assert receive(arrival(header_digest="h2"), KNOWN).case is Case.DUPLICATE
    assert receive(arrival(digest="bb", header_digest="h2"), KNOWN).case is Case.COLLISION


@pytest.mark.statement(ruling="R-37")
def test_one_id_under_two_degrees_is_a_collision_in_either_order():
    """The degree is a part of what the From Party said; delivering both would deliver it twice."""
    assert receive(arrival(**BEST_EFFORT), KEPT).case is Case.COLLISION
    assert receive(arrival(header_digest="h2"), FLEETING).case is Case.COLLISION


@pytest.mark.statement(ruling="R-37")
def test_best_effort_messages_of_one_id_are_never_compared():
    """They may be repeats or not: each is delivered."""
    other = arrival(**{**BEST_EFFORT, "digest": "bb"})
    assert receive(other, FLEETING).case is Case.NEW


@pytest.mark.statement(ruling="R-37")
def test_what_differs_from_nothing_that_is_known_is_new():
    """A BestEffort message without key makes no repeat of a reliable one that says the same."""
    assert receive(arrival(header_digest="h1"), FLEETING).case is Case.NEW


@pytest.mark.statement(ruling="R-37")
def test_a_repeat_that_is_stamped_anew_is_a_repeat_and_says_so():
    """Some products write a Timestamp for each transmission; the row has what differs."""
    stamp = Stamp(NOW.at, None, None, None)
    first = arrival(header_digest="h1", stamp=stamp)
    known = changed(KEPT, stamp=stamp)
    same = receive(first, known)
    assert names(same.effects) == ["DuplicateEliminated", "Acknowledge"]
    assert same.effects[0].reason is None
    anew = changed(
        first, stamp=changed(stamp, timestamp_at=ago(5), ack_requested=AckRequested.UNSIGNED)
    )
    repeat = receive(anew, known)
    assert names(repeat.effects) == ["DuplicateEliminated", "Acknowledge"]
    assert repeat.effects[0].reason == "other than in the first copy: Timestamp, ackRequested"
    in_work = receive(
        changed(anew, sync_reply_mode=SyncReplyMode.RESPONSE_ONLY),
        changed(known, has_response=False),
    )
    assert in_work.effects[0].reason == (
        "duplicate whose business response is in work;"
        " other than in the first copy: Timestamp, ackRequested"
    )


@pytest.mark.statement("S1-35")
def test_a_duplicate_whose_response_is_missing_gets_a_fresh_acknowledgement():
    """The row was lost; the message is still ours."""
    reception = receive(arrival(), UNANSWERED)
    assert names(reception.effects) == ["DuplicateEliminated", "AcknowledgeAnew"]
    assert AcknowledgeAnew() in reception.effects


@pytest.mark.statement("S1-34")
@pytest.mark.parametrize("mode", [mode for mode in SyncReplyMode if mode.has_response])
def test_a_duplicate_is_ignored_while_its_synchronous_response_is_in_work(mode):
    """The first copy's answer is still to come."""
    reception = receive(arrival(sync_reply_mode=mode), UNANSWERED)
    assert reception.case is Case.IN_WORK
    assert names(reception.effects) == ["DuplicateEliminated"]


@pytest.mark.statement("S1-32", ruling="R-03")
def test_a_duplicate_whose_synchronous_response_is_stored_gets_it_again():
    """The response is what answers every duplicate."""
    incoming = arrival(sync_reply_mode=SyncReplyMode.RESPONSE_ONLY)
    reception = receive(incoming, KNOWN)
    assert names(reception.effects) == ["DuplicateEliminated", "Acknowledge"]


@pytest.mark.statement("S1-37")
@pytest.mark.parametrize("named_by", ["message", "agreement"])
def test_a_synchronous_response_needs_the_application_first(named_by):
    """Handed over at once; the acknowledgement rides on the response (S1-09: either names it)."""
    mode = SyncReplyMode.SIGNALS_AND_RESPONSE
    terms = (
        TERMS if named_by == "message" else DeliveryTerms(is_numbered=False, sync_reply_mode=mode)
    )
    incoming = arrival(sync_reply_mode=mode if named_by == "message" else None)
    assert names(receive(incoming, None, terms).effects) == ["Stored", "HandOver", "HandedOver"]


def test_synchronous_signals_alone_change_nothing_in_the_order():
    """signalsOnly: store, acknowledge, hand over."""
    incoming = arrival(sync_reply_mode=SyncReplyMode.SIGNALS_ONLY)
    assert names(receive(incoming).effects) == ["Stored", "Acknowledge"]


@pytest.mark.statement("S4-05")
def test_an_acknowledgement_that_says_passed_on_comes_after_the_hand_over():
    """Level 0 c: true when it is said."""
    terms = DeliveryTerms(is_numbered=False, ack_status=AckStatus(is_passed_on=True))
    reception = receive(arrival(), None, terms)
    assert names(reception.effects) == ["Stored", "HandOver", "HandedOver", "Acknowledge"]


RECEIPTS = {
    AckRequested.NONE: set(DeliveryReceiptProvided),
    AckRequested.UNSIGNED: {DeliveryReceiptProvided.UNSIGNED, DeliveryReceiptProvided.BOTH},
    AckRequested.SIGNED: {DeliveryReceiptProvided.SIGNED, DeliveryReceiptProvided.BOTH},
}


@pytest.mark.statement("S1-57")
@pytest.mark.statement("S1-58")
@pytest.mark.parametrize("provided", list(DeliveryReceiptProvided))
@pytest.mark.parametrize("requested", list(AckRequested))
def test_a_receipt_that_is_not_provided_is_not_supported(requested, provided):
    """The 3x4 table; nothing is stored."""
    terms = DeliveryTerms(is_numbered=False, delivery_receipt_provided=provided)
    reception = receive(arrival(delivery_receipt_requested=requested), None, terms)
    assert receiving.receipt_is_provided(requested, provided) == (provided in RECEIPTS[requested])
    if provided in RECEIPTS[requested]:
        assert reception.case is Case.NEW
        return
    assert reception.case is Case.NOT_SUPPORTED
    answer = reception.effects[-1]
    assert (answer.code, answer.severity) == (ErrorCode.NOT_SUPPORTED, Severity.ERROR)


def test_a_receipt_is_sent_when_the_application_has_the_message():
    """At the hand-over, whichever step that is in."""
    terms = DeliveryTerms(
        is_numbered=False,
        delivery_receipt_provided=DeliveryReceiptProvided.UNSIGNED,
        method=ReliableMessagingMethod.TRANSPORT,
    )
    incoming = arrival(delivery_receipt_requested=AckRequested.UNSIGNED)
    assert SendReceipt() in receive(incoming, None, terms).effects
    left = Transmission(Outcome.ACCEPTED, bytes_left=True)
    status, effects = receiving.acknowledged(InboundStatus.STORED, left, TERMS, wants_receipt=True)
    assert status is InboundStatus.HANDED_OVER
    assert names(effects) == ["AckSent", "HandOver", "HandedOver", "SendReceipt"]


@pytest.mark.statement("S3-06", ruling="R-12")
def test_strict_release_withholds_while_the_acknowledgement_certainly_did_not_leave():
    """Kept, not deleted: a later copy's acknowledgement releases it."""
    never_left = Transmission(Outcome.REFUSED, bytes_left=False)
    status, effects = receiving.acknowledged(InboundStatus.STORED, never_left, STRICT)
    assert status is InboundStatus.STORED
    assert names(effects) == ["AckSent", "Withhold", "Withheld"]
    assert Acknowledge() in receive(arrival(), KNOWN, STRICT).effects
    left = Transmission(Outcome.ACCEPTED, bytes_left=True)
    status, effects = receiving.acknowledged(status, left, STRICT)
    assert status is InboundStatus.HANDED_OVER
    assert HandOver() in effects


@pytest.mark.statement("S3-06", ruling="R-12")
@pytest.mark.parametrize(
    "transmission",
    [
        Transmission(Outcome.UNKNOWN, bytes_left=True),
        Transmission(Outcome.REFUSED, bytes_left=True, status_code=503),
        Transmission(Outcome.UNKNOWN, bytes_left=False),
    ],
    ids=str,
)
def test_strict_release_hands_over_what_may_have_been_acknowledged(transmission):
    """Withholding that would lose an acknowledged message."""
    status, _ = receiving.acknowledged(InboundStatus.STORED, transmission, STRICT)
    assert status is InboundStatus.HANDED_OVER


@pytest.mark.statement("S3-06", ruling="R-12")
def test_strict_release_hands_over_what_an_earlier_life_may_have_acknowledged():
    """That this one certainly did not leave says nothing about the one before it."""
    never_left = Transmission(Outcome.REFUSED, bytes_left=False)
    status, effects = receiving.acknowledged(
        InboundStatus.STORED, never_left, STRICT, may_have_left=True
    )
    assert status is InboundStatus.HANDED_OVER
    assert names(effects) == ["AckSent", "HandOver", "HandedOver"]


@pytest.mark.parametrize("status", [InboundStatus.CANCELLED, InboundStatus.FORWARDED])
def test_what_was_taken_back_or_goes_on_never_reaches_the_inbox(status):
    """Its acknowledgement was under way."""
    left = Transmission(Outcome.ACCEPTED, bytes_left=True)
    after, effects = receiving.acknowledged(status, left, TERMS)
    assert after is status
    assert names(effects) == [Event.ACK_SENT.value]
