"""Planted discrepancies of every class are all found, and none is invented (E1, E2)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import journals
import pytest
from journals import (
    MUCH_LATER,
    PLANTS,
    SECOND,
    Exchange,
    Ledger,
    Passage,
    digest_of,
    healthy,
    plant,
    two_parties,
)

from onceonly.journal.record import COLUMNS
from onceonly.lake import model, schemas
from onceonly.lake.reports import differences
from onceonly.lake.reports.reconciliation import counts, totals
from onceonly.lake.verdicts import (
    CLASSES,
    DIFFERENCES,
    Differs,
    Policy,
    Standing,
    Verdict,
    false_witnesses,
    verdict,
    witnesses,
)
from onceonly.message.event import Direction, Event
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol.events import Settlement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark


def judge(rows: DataFrame, as_of: int = MUCH_LATER) -> dict[str, str]:
    judged = verdict(
        model.partial(rows), model.coverage(rows), as_of=as_of, policy=Policy()
    ).select("message_id", "verdict")
    return {row["message_id"]: row["verdict"] for row in judged.collect()}


def records(exchange: Exchange) -> list[Record]:
    return exchange.sender.records + exchange.receiver.records


def test_schema_is_the_record():
    """The declared schema has the columns of `Record`, in their order."""
    assert tuple(schemas.JOURNAL.names) == COLUMNS


def test_every_class_has_a_plant():
    """A class without a planted example would be a claim without a proof."""
    assert set(PLANTS) | {Verdict.ONE_SIDED} == set(Verdict) == {row.verdict for row in CLASSES}


def test_every_plant_is_found_and_nothing_is_invented(frame: Frame):
    """Among hundreds of healthy messages exactly the planted ones get another verdict."""
    there, _ = healthy(seed=7, messages=60)
    planted = {**plant(there, PLANTS)}
    found = judge(frame(records(there)))
    healthy_ids = set(found) - set(planted)
    assert {found[message_id] for message_id in healthy_ids} == {Verdict.MATCHED}
    assert len(healthy_ids) == 120
    assert {message_id: found[message_id] for message_id in planted} == planted


@pytest.mark.parametrize("word", list(Settlement))
def test_a_word_is_compared_with_the_other_journal(frame: Frame, word: Settlement):
    """There, not there, withheld, acknowledged late, denied and settled anew, within the grace."""
    there, _ = two_parties()

    def doubt(message_id: str) -> None:
        there.submit(message_id)
        there.send(message_id, outcome="unknown")
        there.tell(message_id)

    there.failed_but_delivered("there")
    doubt("not there")
    there.failed_but_delivered("acknowledged late")
    doubt("denied")
    for message_id in ("there", "not there", "acknowledged late", "denied"):
        there.settle(message_id, word)
    there.out(Event.LATE_ACK_RECEIVED, "acknowledged late")
    there.tell("denied")
    doubt("denied and settled")
    there.settle("denied and settled", Settlement.DELIVERED)
    there.tell("denied and settled")
    there.settle("denied and settled", word)
    rows = frame(records(there))
    was_there = word is Settlement.DELIVERED
    right, wrong = Verdict.SETTLED_RIGHTLY, Verdict.SETTLED_WRONGLY
    assert judge(rows) == {
        "there": right if was_there else wrong,
        "not there": wrong if was_there else right,
        "acknowledged late": Verdict.MATCHED_LATE if was_there else wrong,
        "denied": Verdict.FAILED_NOT_DELIVERED,
        "denied and settled": wrong if was_there else right,
    }
    soon = judge(rows, as_of=there.now + SECOND)
    assert soon["not there"] == soon["denied and settled"] == Verdict.IN_FLIGHT


def test_a_word_that_one_journal_tells_is_compared_with_nothing(frame: Frame):
    """Without the partner's journal it stays a word."""
    there, _ = two_parties()
    there.settled_rightly("m")
    assert judge(frame(there.sender.records)) == {"m": Verdict.ONE_SIDED}


def test_a_bad_line_is_no_difference(frame: Frame):
    """Losses, doubles and crashes that the protocol mended leave a match."""
    there, _ = two_parties()
    fates = {f"{fate.__name__}@example": fate for fate, _ in journals.HEALTHY}
    for message_id, fate in fates.items():
        fate(there, message_id)
    assert judge(frame(records(there))) == dict.fromkeys(fates, Verdict.MATCHED)


def test_absence_proves_nothing_within_the_grace(frame: Frame):
    """What lacks evidence is in flight until the grace is over; what is there counts at once."""
    there, _ = two_parties()
    planted = plant(there, PLANTS)
    found = judge(frame(records(there)), as_of=there.now + SECOND)
    waiting = {
        Verdict.ACK_LOST,
        Verdict.SENT_NOT_RECEIVED,
        Verdict.RECEIVED_NOT_SENT,
        Verdict.ACKED_NOT_STORED,
        Verdict.NOT_DELIVERED_TO_APP,
        Verdict.FAILED_NOT_DELIVERED,
    }
    expected = {
        message_id: Verdict.IN_FLIGHT if word in waiting else word
        for message_id, word in planted.items()
    }
    # Two rows of one step may be published one after the other.
    unproven = {key for key, word in planted.items() if word is Verdict.ACKED_WITHOUT_EVIDENCE}
    expected |= dict.fromkeys(unproven, Verdict.MATCHED)
    assert found == expected


def test_without_the_other_journal_nothing_is_matched(frame: Frame):
    """A missing journal is no proof of loss: acknowledged and delivered alike are one-sided."""
    there, _ = healthy(seed=3, messages=5)
    found = judge(frame([row for row in there.sender.records if row.direction != "in"]))
    assert Counter(found.values()) == {Verdict.ONE_SIDED: 5}


def test_verdict_does_not_depend_on_cuts_or_order(frame: Frame):
    """Any cut into batches, folded in any order, gives the same lifecycles (E4)."""
    there, _ = healthy(seed=11, messages=12)
    plant(there, PLANTS)
    rows = records(there)
    whole = model.partial(frame(rows))
    parts = [rows[2::3], rows[0::3], rows[1::3]]
    folded = [model.partial(frame(part)) for part in parts]
    merged = model.merge(folded[0].unionByName(folded[1]).unionByName(folded[2]))
    assert sorted(map(repr, merged.collect())) == sorted(map(repr, whole.collect()))


def test_a_gateway_may_send_under_a_second_party_id(frame: Frame):
    """One journal tells the deeds of every PartyId of its owner."""
    there, _ = two_parties()
    there.matched("m@example")
    second = "urn:duns:999999999"
    rows = [changed(row, from_party=second) if row.from_party else row for row in records(there)]
    assert judge(frame(rows)) == {"m@example": Verdict.MATCHED}


def test_every_degree_of_reliability_is_judged_by_what_was_agreed(frame: Frame):
    """What was not promised is no loss, and what both sides know to have failed no doubt."""
    there, _ = two_parties()
    there.taken_back_unseen("cancelled before it came")
    there.sent_only("best effort, lost", semantics="BestEffort")
    there.sent_by_transport("method Transport")
    there.sent_only("method Transport, lost", reason="method Transport")
    there.refused_by_transport("method Transport, refused")
    there.failed_at_most_once("at most once, unanswered")
    there.withheld("withheld")
    there.matched_without_number("without numbers")
    assert judge(frame(records(there))) == {
        "cancelled before it came": Verdict.TAKEN_BACK,
        "best effort, lost": Verdict.BEST_EFFORT,
        "method Transport": Verdict.MATCHED,
        "method Transport, lost": Verdict.SENT_NOT_RECEIVED,
        "method Transport, refused": Verdict.FAILED_NOT_DELIVERED,
        "at most once, unanswered": Verdict.FAILED_NOT_DELIVERED,
        "withheld": Verdict.FAILED_NOT_DELIVERED,
        "without numbers": Verdict.MATCHED,
    }


def test_a_reliable_transport_is_judged_where_both_journals_are_there(frame: Frame):
    """R-48: what it took and the receiver lacks is lost; what it doubled, altered or made is seen.

    With one journal its sender's last word is that it was sent, and there is nothing to judge.
    """
    there, _ = two_parties()
    method = {"reason": "method Transport"}
    there.sent_by_transport("delivered")
    there.sent_only("purged from the broker", **method)
    there.sent_by_transport("twice")
    there.hand_over("twice")
    there.sent_only("altered", **method)
    there.store("altered", **method, digest=journals.digest_of("other"))
    there.hand_over("altered", digest=journals.digest_of("other"))
    there.sent_only("not handed over", **method)
    there.store("not handed over", **method)
    there.store("made up", **method)
    there.hand_over("made up")
    there.submit("confirm lost", **method)
    there.send("confirm lost", outcome="unknown")
    there.store("confirm lost", **method)
    there.hand_over("confirm lost")
    there.submit("given up, and there", **method)
    there.send("given up, and there", outcome="unknown")
    there.store("given up, and there", **method)
    there.hand_over("given up, and there")
    there.tell("given up, and there")
    assert judge(frame(records(there))) == {
        "delivered": Verdict.MATCHED,
        "purged from the broker": Verdict.SENT_NOT_RECEIVED,
        "twice": Verdict.DELIVERED_TWICE,
        "altered": Verdict.CONTENT_MISMATCH,
        "not handed over": Verdict.NOT_DELIVERED_TO_APP,
        "made up": Verdict.RECEIVED_NOT_SENT,
        "confirm lost": Verdict.ACK_LOST,
        "given up, and there": Verdict.FAILED_BUT_DELIVERED,
    }
    sent = [row for row in there.sender.records if row.message_id == "purged from the broker"]
    assert judge(frame(sent)) == {"purged from the broker": Verdict.BEST_EFFORT}
    received = [row for row in there.receiver.records if row.message_id == "delivered"]
    assert judge(frame(received)) == {"delivered": Verdict.BEST_EFFORT}


def test_within_the_grace_a_transport_has_its_time(frame: Frame):
    """A broker keeps what the receiver has not fetched yet."""
    there, _ = two_parties()
    there.matched("so that both journals are there")
    there.sent_only("m@example", reason="method Transport")
    found = judge(frame(records(there)), as_of=there.now + SECOND)
    assert found["m@example"] == Verdict.IN_FLIGHT


def test_exactly_at_the_grace_is_in_time(frame: Frame):
    """In every class that waits, and in every line of the sheet."""
    there, _ = two_parties()
    there.matched("m@example")
    there.acked_not_stored("not stored")
    acked_at = there.now
    rows = frame(records(there))
    grace_us = Policy().grace_us
    assert judge(rows, as_of=acked_at + grace_us)["not stored"] == Verdict.IN_FLIGHT
    assert judge(rows, as_of=acked_at + grace_us + 1)["not stored"] == Verdict.ACKED_NOT_STORED


def test_an_acknowledgement_that_names_nothing_is_in_a_class(frame: Frame):
    """Each is a finding of its own, by its row."""
    there, _ = two_parties()
    for _ in range(2):
        there.orphan_ack("m@example")
        nameless = changed(there.sender.records[-1], message_id=None)
        there.sender.records[-1] = nameless
    found = judge(frame(records(there)))
    assert found == dict.fromkeys(
        ("no MessageId, row 2", "no MessageId, row 3"), Verdict.ORPHAN_ACK
    )


def test_a_refused_signal_is_no_message(frame: Frame):
    """Nothing is owed for it, nor one-sided: its row stands at the message that it is about."""
    there, _ = two_parties()
    there.refused("message")
    reason = "Acknowledgment was refused: Timestamp"
    there.into(Event.REJECTED, "waits", reason=reason)
    ours = changed(there.receiver.records[-1], direction=Direction.OUT)
    strangers = changed(ours, direction=Direction.IN, from_party=None, to_party=None)
    there.receiver.records[-1:] = [ours, strangers]
    assert judge(frame(records(there))) == {"message": Verdict.REFUSED}


def test_an_intermediary_is_neither_half(frame: Frame):
    """Its rows say how a message passed; it stores, acknowledges and fails nothing for the ends."""
    there, _ = two_parties()
    passage = Passage(there, Ledger("urn:duns:333333333"))
    passage.relayed("relayed")
    passage.delivered("in care, delivered")
    passage.taken_into_care("in care, under way")
    passage.undeliverable("in care, undeliverable")
    rows = frame(records(there) + passage.between.records)
    expected = {
        "relayed": Verdict.MATCHED,
        "in care, delivered": Verdict.MATCHED,
        "in care, under way": Verdict.IN_FLIGHT,
        "in care, undeliverable": Verdict.FAILED_NOT_DELIVERED,
    }
    assert judge(rows, as_of=there.now + 3_600 * SECOND) == expected
    too_long = {**expected, "in care, under way": Verdict.SENT_NOT_RECEIVED}
    assert judge(rows) == too_long, "an intermediary's word is good for a while"


def test_an_intermediary_s_journal_stands_for_nobody_else_s(frame: Frame):
    """With one end's journal missing, the intermediary's does not make the evidence two-sided."""
    there, _ = two_parties()
    passage = Passage(there, Ledger("urn:duns:333333333"))
    passage.relayed("m@example")
    found = judge(frame(there.sender.records + passage.between.records))
    assert found == {"m@example": Verdict.ONE_SIDED}


def test_one_journal_that_tells_both_halves_is_one_witness(frame: Frame):
    """A sender can write down what its partner never did; nothing is matched by that."""
    there, _ = two_parties()
    there.matched("m@example")
    made_up = [changed(row, party=journals.BUYER) for row in there.receiver.records]
    assert judge(frame(there.sender.records + made_up)) == {"m@example": Verdict.ONE_SIDED}


def test_a_journal_that_speaks_for_a_party_with_its_own_is_named(frame: Frame):
    """What one journal tells of another's deeds is counted, whichever of the two is right."""
    there, _ = two_parties()
    there.matched("m@example")
    there.acked_not_stored("n@example")
    made_up = [changed(row, party=journals.BUYER) for row in there.receiver.records]
    honest = model.coverage(frame(records(there)))
    assert false_witnesses(honest).collect() == []
    told = false_witnesses(model.coverage(frame(records(there) + made_up))).collect()
    assert [tuple(row) for row in told] == [(journals.SELLER, journals.BUYER, 3)]


def test_no_end_excuses_itself_by_a_word_of_the_other_unnamed(frame: Frame):
    """Sent ends every promise, and a cancel needs both: whoever says the other's part is named."""
    there, _ = two_parties()
    there.delivered_twice("m@example")
    there.into(Event.SENT, "m@example", direction=Direction.OUT, outcome="accepted")
    there.not_delivered_to_app("n@example")
    there.into(Event.CANCEL_CONFIRMED, "n@example")
    there.into(Event.CANCELLED, "n@example", direction=Direction.OUT, reason="confirmed")
    there.acked_not_stored("o@example")
    there.out(Event.CANCEL_CONFIRMED, "o@example", direction=Direction.IN)
    told = false_witnesses(model.coverage(frame(records(there)))).collect()
    assert {tuple(row) for row in told} == {
        (journals.BUYER, journals.SELLER, 2),
        (journals.SELLER, journals.BUYER, 1),
    }


def test_a_stranger_who_is_refused_makes_nobody_a_witness(frame: Frame):
    """Anybody may send a message that names a third party as its receiver."""
    there, _ = two_parties()
    there.refused("m@example")
    rows = [changed(row, to_party="urn:duns:999999999") for row in there.receiver.records]
    known = {row["holder"] for row in witnesses(model.coverage(frame(rows))).collect()}
    assert "urn:duns:999999999" not in known


def test_a_receiver_cannot_call_itself_an_intermediary(frame: Frame):
    """Custody excuses an end that has not stored; no end has custody of its own message."""
    there, _ = two_parties()
    there.acked_not_stored("m@example")
    passage = Passage(there, Ledger(journals.SELLER))
    passage.note(Event.STORED, "m@example", Direction.IN)
    found = judge(frame(records(there) + passage.between.records))
    assert found == {"m@example": Verdict.ACKED_NOT_STORED}


def test_copies_on_the_way_are_counted(frame: Frame):
    """Arrivals, copies sent on, acknowledgements passed on and messages taken into care."""
    there, _ = two_parties()
    passage = Passage(there, Ledger("urn:duns:333333333"))
    passage.relayed("relayed@example")
    passage.delivered("kept@example")
    lives = {
        life["message_id"]: life
        for life in model.partial(frame(records(there) + passage.between.records)).collect()
    }
    passing = ("copies_passing", "copies_forwarded", "acks_relayed", "custodies", "acks_in_custody")
    assert [lives["relayed@example"][name] for name in passing] == [1, 1, 1, 0, 0]
    assert [lives["kept@example"][name] for name in passing] == [0, 0, 0, 1, 1]
    assert lives["kept@example"]["stores"] == 1


def test_the_senders_word_decides_what_was_promised(frame: Frame):
    """What a receiver calls a copy excuses no second hand-over; alone it is all there is."""
    there, _ = two_parties()
    there.matched("m@example")
    there.store("m@example", semantics="BestEffort")
    there.hand_over("m@example")
    assert judge(frame(records(there))) == {"m@example": Verdict.DELIVERED_TWICE}
    assert judge(frame(there.receiver.records)) == {"m@example": Verdict.BEST_EFFORT}


def test_a_hand_over_that_was_asked_for_is_no_second_delivery(frame: Frame):
    """One for each time that somebody asked; one more is still an alarm."""
    there, _ = two_parties()
    for name, asked, handed in (("asked", 1, 1), ("twice", 2, 2), ("more", 1, 2), ("lost", 1, 0)):
        there.matched(name)
        for attempt in range(2, 2 + asked):
            there.into(Event.HANDED_OVER_AGAIN, name, attempt=attempt, actor="Ann", reason="lost")
        for attempt in range(2, 2 + handed):
            there.hand_over(name, attempt=attempt)
    assert judge(frame(records(there))) == {
        "asked": Verdict.MATCHED,
        "twice": Verdict.MATCHED,
        "more": Verdict.DELIVERED_TWICE,
        "lost": Verdict.MATCHED,
    }


@pytest.mark.statement(ruling="R-37")
def test_a_mismatch_says_what_differs(frame: Frame):
    """Another header is another content, be the payloads the same or not."""
    there, _ = two_parties()
    there.matched("same@example")
    there.content_mismatch("payloads@example")
    there.header_mismatch("header@example")
    there.submit("both@example")
    there.send("both@example")
    there.store("both@example", digest=digest_of("x"), header_digest=digest_of("x"))
    rows = frame(records(there))
    judged = verdict(model.partial(rows), model.coverage(rows), as_of=MUCH_LATER, policy=Policy())
    found = {row["message_id"]: (row["verdict"], row["differs"]) for row in judged.collect()}
    assert found == {
        "same@example": (Verdict.MATCHED, None),
        "payloads@example": (Verdict.CONTENT_MISMATCH, Differs.PAYLOADS),
        "header@example": (Verdict.CONTENT_MISMATCH, Differs.HEADER),
        "both@example": (Verdict.CONTENT_MISMATCH, Differs.BOTH),
    }
    table = {row["message_id"]: row["differs"] for row in differences.table(judged).collect()}
    assert table == {name: differs for name, (_, differs) in found.items() if differs}


@pytest.mark.statement(ruling="R-37")
def test_a_header_that_a_side_does_not_tell_is_counted(frame: Frame):
    """Its payloads match, and nobody can say that its Service and Action are the same."""
    there, _ = two_parties()
    there.matched("proven@example")
    there.store("unsaid@example", header_digest=None)
    there.submit("unsaid@example")
    there.submit("unsent@example", header_digest=None)
    rows = frame(records(there))
    judged = verdict(model.partial(rows), model.coverage(rows), as_of=MUCH_LATER, policy=Policy())
    told = totals(counts(judged)).collect()
    assert sum(row["header_unproven"] for row in told) == 1


def test_a_digest_that_is_not_told_differs_from_none(frame: Frame):
    """A journal of an older version has no digests: nothing was altered by that."""
    there, _ = two_parties()
    there.matched("m@example")
    older = [changed(row, digest=None, header_digest=None) for row in there.receiver.records]
    rows = frame(there.sender.records + older)
    assert judge(rows) == {"m@example": Verdict.MATCHED}
    judged = verdict(model.partial(rows), model.coverage(rows), as_of=MUCH_LATER, policy=Policy())
    assert [row["unproven"] for row in totals(counts(judged)).collect()] == [1]
    told = frame(records(there))
    judged = verdict(model.partial(told), model.coverage(told), as_of=MUCH_LATER, policy=Policy())
    assert [row["unproven"] for row in totals(counts(judged)).collect()] == [0]


def test_what_was_taken_up_again_is_no_agreed_failure(frame: Frame):
    """An operator resumed the pair, or a rule queued it anew: it is open until its next end."""
    there, _ = two_parties()
    for message_id in ("resumed", "queued again", "given up again", "cancelled"):
        there.submit(message_id)
        there.send(message_id, outcome="unknown")
        there.tell(message_id)
    there.send("resumed", outcome="unknown")
    there.out(Event.REQUEUED, "queued again")
    there.out(Event.REQUEUED, "given up again")
    there.send("given up again", outcome="unknown")
    there.tell("given up again")
    there.out(Event.REQUEUED, "cancelled")
    there.out(Event.CANCELLED, "cancelled")
    assert judge(frame(records(there))) == {
        "resumed": Verdict.SENT_NOT_RECEIVED,
        "queued again": Verdict.SENT_NOT_RECEIVED,
        "given up again": Verdict.FAILED_NOT_DELIVERED,
        "cancelled": Verdict.FAILED_NOT_DELIVERED,
    }


def test_differences_are_alarms_and_doubts():
    """The exit code for differences depends on these classes and no others."""
    calm = {row.verdict for row in CLASSES if row.standing not in (Standing.ALARM, Standing.DOUBT)}
    assert set(DIFFERENCES) == set(Verdict) - calm
    assert Verdict.MATCHED in calm
    assert Verdict.IN_FLIGHT in calm


def test_nobody_who_keeps_to_an_agreement_is_blamed():
    """Of several agreements the most patient one sets the policy; others may have more retries."""
    quick = DeliveryTerms(retries=2, msh_time_accuracy_s=5)
    patient = DeliveryTerms(retries=7, retry_interval_s=86_400, msh_time_accuracy_s=600)
    policy = Policy().under([quick, patient])
    assert policy.retries is None
    assert policy.verdict_within_us == (30 + 7 * 86_400) * SECOND
    assert policy.clock_accuracy_us == 600 * SECOND
    assert Policy().under([quick]).clock_accuracy_us == Policy().clock_accuracy_us
    assert Policy().under([quick]).verdict_within_us == Policy().verdict_within_us
    assert Policy().under([]) == Policy()


def test_what_was_to_be_proven_is_proven_by_the_sender_alone(frame: Frame):
    """A signed acknowledgement that was asked for is kept, or its absence is an alarm (R-31).

    What the receiver keeps proves who sent the message, and not that it arrived.
    """
    there, _ = two_parties()
    for name in ("kept", "not kept", "not kept yet"):
        there.acked_without_evidence(name)
    there.out(Event.EVIDENCE_KEPT, "kept", reason="acknowledgment", signer="ab" * 32)
    for name in ("kept", "not kept"):
        there.out(Event.EVIDENCE_KEPT, name, reason="message", signer="ab" * 32)
    found = judge(frame(records(there)))
    assert found == {
        "kept": Verdict.MATCHED,
        "not kept": Verdict.ACKED_WITHOUT_EVIDENCE,
        "not kept yet": Verdict.ACKED_WITHOUT_EVIDENCE,
    }
