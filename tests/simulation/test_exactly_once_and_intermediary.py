"""ExactlyOnce over an intermediary that accepts: the one world that has no end by itself (R-17).

The From Party cannot know that the hop forgets, and the hop cannot know that the sender never gives
up, so neither configuration can be refused. Generated worlds leave the pairing out.
"""

from __future__ import annotations

from onceonly.message.event import Event
from onceonly.message.message import AckRequested, DeliverySemantics
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.protocol.outbound import OutboundStatus
from onceonly.protocol.transmitting import OVERDUE
from onceonly.simulation import checkers
from onceonly.simulation.plan import Action, Line, Machine, Plan
from onceonly.simulation.world import World

_TERMS = DeliveryTerms(
    is_numbered=False,
    semantics=DeliverySemantics.EXACTLY_ONCE,
    window=16,
    timeout_s=1,
    retries=None,
    retry_interval_s=5,
    persist_duration_s=26,
    msh_time_accuracy_s=1,
    ack_requested=AckRequested.UNSIGNED,
)

_PLAN = Plan(
    seed=1,
    machines=(Machine("A"), Machine("B"), Machine("R")),
    lines=(Line("A", "B", Profile.RM_2001, _TERMS, through=(("R", Intermediary.ACCEPT),)),),
    actions=(
        Action(1_000, "cut", "A", {"to": "R", "ms": 60_000}),
        Action(2_000, "submit", "A", {"to": "B", "id": "old"}),
        Action(90_000, "submit", "A", {"to": "B", "id": "young"}),
    ),
    is_drawn=False,
    heal_ms=95_000,
    end_ms=300_000,
)


def test_what_an_intermediary_refuses_for_its_age_is_the_operators():
    """R-17: nothing is given up or said to have failed, an incident is open, and others go on."""
    world = World(_PLAN)
    try:
        world.run()
        snapshot = world.nodes["A"].snapshot()
        old, young = map(snapshot.find_outbound, ("old@A.example", "young@A.example"))
        assert old is not None
        assert young is not None
        assert old.state.status is OutboundStatus.SENDING
        assert young.state.status is OutboundStatus.ACKNOWLEDGED
        reasons = [one.reason for one in snapshot.list_incidents(is_open=True)]
        (overdue,) = [one for one in reasons if one.startswith(f"{OVERDUE}; last outcome: ")]
        assert overdue.endswith(" (old@A.example)")
        rows = [row.record for row in world.history.rows if row.record.event is Event.REJECTED]
        assert {row.message_id for row in rows} == {"old@A.example"}
        assert all("older than PersistDuration" in (row.reason or "") for row in rows)
        assert checkers.check(world) == []
    finally:
        world.close()
