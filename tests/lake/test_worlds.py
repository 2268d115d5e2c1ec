"""The journals alone tell what became of every message: the lake against simulated worlds (E2).

Each world has real gateways under faults, and applications that know the truth. All worlds go
through one reconciliation, their parties renamed so that no two worlds share one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from onceonly.lake import model
from onceonly.lake.verdicts import Policy, Verdict, verdict
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.message.word import changed
from onceonly.simulation import checkers
from onceonly.simulation.checkers.evidence import EvidenceClass
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record
    from onceonly.simulation.checkers.violation import Truth

pytestmark = pytest.mark.spark

SEEDS = range(100)
EVERYTHING_IS_OLD = 1 << 60
"""An instant of judgement at which every grace is over, whatever a wall clock did."""

SET_BACK = frozenset({"restored", "lost-numbers"})
"""Worlds in which a machine forgot what it had said: their alarms are right."""

VERDICTS = {
    # What an operator called not delivered may be acknowledged late.
    EvidenceClass.ACKNOWLEDGED_AND_DELIVERED: {
        *(Verdict.MATCHED, Verdict.MATCHED_LATE),
        Verdict.SETTLED_WRONGLY,
    },
    # An application may have read, and not begun, what its sender then took back (I44).
    EvidenceClass.IN_DOUBT_DELIVERED: {
        Verdict.FAILED_BUT_DELIVERED,
        Verdict.MATCHED_LATE,
        Verdict.TAKEN_BACK,
    },
    EvidenceClass.FAILED_NOT_DELIVERED: {Verdict.FAILED_NOT_DELIVERED, Verdict.TAKEN_BACK},
    EvidenceClass.SETTLED_RIGHTLY: {Verdict.SETTLED_RIGHTLY},
    EvidenceClass.SETTLED_WRONGLY: {Verdict.SETTLED_WRONGLY},
}
"""What the lake has to say of each class of the truth."""


ODD = frozenset({Event.COLLISION_DETECTED, Event.ORPHAN_ACK_RECEIVED, Event.SENT})
"""Rows by which a forger, or a degree that promises nothing, gets a message a class of its own."""


def renamed(record: Record, seed: int) -> Record:
    def name(party: str | None) -> str | None:
        return None if party is None else party.replace("urn:party:", f"urn:party:{seed}-")

    return changed(
        record,
        party=name(record.party) or "",
        from_party=name(record.from_party),
        to_party=name(record.to_party),
    )


def observe(seed: int) -> tuple[list[Truth], list[Record]] | None:
    """The truth and the journals of the world, unless a machine was set back in it."""
    plan = plan_of(seed)
    if SET_BACK & set(plan.tags):
        return None
    world = World(plan)
    try:
        world.run()
        truth = checkers.truth(world)
    finally:
        world.close()
    return truth, [renamed(row.record, seed) for row in world.history.rows]


def test_the_journals_alone_tell_what_became_of_every_message(
    frame: Callable[[Sequence[Record]], DataFrame],
):
    """E1 and E2: of every accepted message the lake finds the class that its applications saw."""
    expected: dict[tuple[str, str], set[Verdict]] = {}
    records: list[Record] = []
    for seed in SEEDS:
        observed = observe(seed)
        if observed is None:
            continue
        truth, journals = observed
        records += journals
        odd = {
            row.message_id
            for row in journals
            if row.event in ODD or row.semantics == DeliverySemantics.BEST_EFFORT
        }
        for one in truth:
            wanted = VERDICTS.get(EvidenceClass(one.kind))
            if wanted is not None and one.key.message_id not in odd:
                party = one.key.from_party.replace("urn:party:", f"urn:party:{seed}-")
                expected[party, one.key.message_id] = wanted
    rows = frame(records)
    judged = verdict(
        model.partial(rows), model.coverage(rows), as_of=EVERYTHING_IS_OLD, policy=Policy()
    )
    found = {
        (row["from_party"], row["message_id"]): row["verdict"]
        for row in judged.select("from_party", "message_id", "verdict").collect()
    }
    wrong = [
        (key, found.get(key), one) for key, one in expected.items() if found.get(key) not in one
    ]
    assert not wrong, wrong[:5]
    assert len({Verdict(found[key]) for key in expected}) >= 4, "worlds in which little happens"
