"""What intermediaries tell: passages, where time goes, and what is none of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cases import BETWEEN, evidence, kept, made, part, records
from journals import (
    BUYER,
    SELLER,
    Ledger,
    Passage,
    two_parties,
)

from onceonly.message.event import Direction, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark

MS = 1_000


def passed(frame: Frame) -> Any:
    there, _ = two_parties()
    passage = Passage(there, Ledger(BETWEEN))
    passage.relayed("relayed")
    passage.relayed("relayed too")
    passage.delivered("in care")
    passage.undeliverable("undeliverable")
    there.submit("lost behind the hop")
    there.send("lost behind the hop")
    passage.note(Event.ARRIVED_IN_TRANSIT, "lost behind the hop", Direction.IN)
    there.matched("direct")
    return kept(evidence(frame(records(there) + passage.between.records)))


def test_a_passage_is_timed_by_one_clock_at_a_time(frame: Frame):
    """Stages at the ends and at each hop; the legs, there and back, are the turnaround."""
    case = passed(frame)
    hops = {row["message_id"]: row for row in made("hops", case)}
    assert part(hops["relayed"], "mode", "copies_in", "copies_out", "copies_accepted") == (
        "relay",
        1,
        1,
        1,
    )
    assert part(hops["in care"], "mode", "is_given_up", "hop") == ("accept", False, 2)
    assert hops["undeliverable"]["is_given_up"] is True
    assert "direct" not in hops
    stages = {part(row, "stage", "place"): row for row in made("hop_waterfall", case)}
    counts = {key: part(row, "entered", "left", "lost") for key, row in stages.items()}
    assert counts == {
        ("queue", BUYER): (5, 5, 0),
        # The acknowledgements of the two in care are the intermediary's own.
        ("turnaround", BUYER): (5, 4, 1),
        ("hold", BETWEEN): (5, 2, 3),
        ("ack hold", BETWEEN): (4, 4, 0),
        ("receive", SELLER): (3, 3, 0),
        ("hand over", SELLER): (3, 3, 0),
        # What an intermediary took into its care has no legs; one never went on.
        ("leg", BETWEEN): (3, 3, 0),
        ("leg", SELLER): (2, 2, 0),
    }
    # Relayed: 60 ms in all, for 25 of which the intermediary waited itself.
    assert stages["hold", BETWEEN]["p50_us"] == 5 * MS
    assert stages["leg", BETWEEN]["p50_us"] == 35 * MS
    assert stages["leg", SELLER]["p50_us"] == 25 * MS


def test_a_stage_that_cannot_be_measured_is_not_lost(frame: Frame):
    """Answers that come behind the message's next step; and what nobody was to acknowledge."""
    there, _ = two_parties()
    passage = Passage(there, Ledger(BETWEEN))
    there.submit("relayed")
    there.send("relayed")
    passage.note(Event.ARRIVED_IN_TRANSIT, "relayed", Direction.IN)
    there.store("relayed")
    passage.note(Event.FORWARDED, "relayed", Direction.OUT, outcome="accepted")
    passage.note(Event.ACK_RECEIVED, "relayed", Direction.OUT)
    there.answer("relayed")
    there.hand_over("relayed")
    there.ack("relayed")
    passage.note(Event.ACK_RELAYED, "relayed", Direction.IN, outcome="accepted")
    there.sent_only("tried", semantics="BestEffort")
    passage.note(Event.ARRIVED_IN_TRANSIT, "tried", Direction.IN)
    passage.note(Event.FORWARDED, "tried", Direction.OUT, outcome="accepted")
    there.store("tried", semantics="BestEffort")
    there.hand_over("tried")
    rows = made("hop_waterfall", evidence(frame(records(there) + passage.between.records)))
    assert {row["lost"] for row in rows} == {0}
    times = {part(row, "stage", "place"): row["mean_us"] for row in rows}
    # From its first transmission on, the sender waited 55 ms; the intermediary, 15.
    assert times["leg", BETWEEN] + times["leg", SELLER] == times["turnaround", BUYER] == 55 * MS
    assert times["leg", SELLER] == 15 * MS
    entered = {row["stage"]: row["entered"] for row in rows}
    assert (entered["turnaround"], entered["ack hold"], entered["hand over"]) == (1, 1, 2)


def test_a_late_acknowledgement_owes_an_intermediary_nothing(frame: Frame):
    """It has no application that could be told."""
    there, _ = two_parties()
    passage = Passage(there, Ledger(BETWEEN))
    passage.taken_into_care("m@example")
    passage.note(Event.EXHAUSTED, "m@example", Direction.OUT, hop=0)
    passage.note(Event.LATE_ACK_RECEIVED, "m@example", Direction.OUT, hop=0)
    case = evidence(frame(records(there) + passage.between.records))
    assert made("late_acks", case) == []
