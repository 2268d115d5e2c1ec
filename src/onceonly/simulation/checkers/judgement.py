"""All judges over one world."""

from collections.abc import Callable, Iterable

from onceonly.simulation.checkers import (
    acknowledgements,
    answers,
    authority,
    copies,
    debts,
    evidence,
    inquiries,
    liveness,
    operators,
    order,
    processes,
    ration,
    receiver,
    relay,
    responses,
    retention,
    sender,
    sequence,
    signatures,
    submissions,
    time_and_store,
    trouble,
)
from onceonly.simulation.checkers.case import WorldCase
from onceonly.simulation.checkers.violation import Truth, Violation
from onceonly.simulation.world import World

JUDGES: tuple[Callable[[WorldCase], Iterable[Violation]], ...] = (
    sender.judge,
    copies.judge,
    submissions.judge,
    sequence.judge,
    order.judge,
    signatures.judge,
    receiver.judge,
    acknowledgements.judge,
    relay.judge,
    debts.judge,
    inquiries.judge,
    responses.judge,
    answers.judge,
    operators.judge,
    time_and_store.judge,
    retention.judge,
    liveness.judge,
    evidence.judge,
    authority.judge,
    processes.judge,
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
