"""All checkers over one world."""

from collections.abc import Callable, Iterable

from onceonly.simulation.checkers import receiver, relay, sender, sequence, time_and_store
from onceonly.simulation.checkers.case import Case
from onceonly.simulation.checkers.violation import Truth, Violation
from onceonly.simulation.world import World

JUDGES: tuple[Callable[[Case], Iterable[Violation]], ...] = (
    sender.judge,
    sequence.judge,
    receiver.judge,
    relay.judge,
    time_and_store.judge,
)
"""Every judge, each of its own part of the invariants."""


def check(world: World) -> list[Violation]:
    """Every violation in a world that has run, in the order in which they show."""
    found = [Violation("bug", f"{bug.node}: {bug.text}", bug.order) for bug in world.history.bugs]
    if world.is_livelocked:
        found.append(Violation("L5", "the world would not come to rest", world.history.order))
    case = Case(world)
    for judge in JUDGES:
        found.extend(judge(case))
    return sorted(found, key=lambda violation: violation.order)


def truth(world: World) -> list[Truth]:
    """What really became of every message, in the order of acceptance."""
    del world
    return []
