"""All judges over one world."""

from collections.abc import Callable, Iterable

from onceonly.simulation.checkers import (
    acknowledging,
    answering,
    asking,
    authority,
    debts,
    evidence,
    forgetting,
    liveness,
    operating,
    ration,
    receiver,
    relay,
    responding,
    sender,
    sequence,
    standing,
    submissions,
    time_and_store,
    trouble,
)
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.violation import Truth, Violation
from onceonly.simulation.world import World

JUDGES: tuple[Callable[[WorldCase], Iterable[Violation]], ...] = (
    sender.judge,
    submissions.judge,
    sequence.judge,
    receiver.judge,
    acknowledging.judge,
    relay.judge,
    debts.judge,
    asking.judge,
    responding.judge,
    answering.judge,
    operating.judge,
    time_and_store.judge,
    forgetting.judge,
    liveness.judge,
    evidence.judge,
    authority.judge,
    standing.judge,
    ration.judge,
    trouble.judge,
)
"""Every judge, each of its own part of the invariants."""


def check(world: World) -> list[Violation]:
    """Every violation in a world that has run, in the order in which they show.

    Call it before the world is closed. Pure: the same world, the same list.
    """
    found = [Violation("bug", f"{bug.node}: {bug.text}", bug.order) for bug in world.history.bugs]
    case = WorldCase(world)
    for judge in JUDGES:
        found.extend(judge(case))
    return sorted(found, key=lambda violation: violation.order)


def truth(world: World) -> list[Truth]:
    """What really became of every accepted message, in the order of acceptance."""
    return evidence.truth(WorldCase(world))
