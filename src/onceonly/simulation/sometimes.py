"""States that a campaign must reach at least once: what it never reaches, it does not test.

Knows only what an observer sees, as the checkers do. A name that a whole campaign never reached
means that the generator of worlds has gone blind, not that the gateway is wrong.
"""

from onceonly.message.event import Event
from onceonly.simulation.world import World

SOMETIMES: dict[str, str] = {
    "late-ack": "An acknowledgement came after the application had been told of a failure.",
}
"""Name of each state, and what it is in one sentence."""


def reached(world: World) -> frozenset[str]:
    """Which of these states the world was in, by its history and its stores."""
    events = {row.record.event for row in world.history.rows}
    return frozenset({"late-ack"} if Event.LATE_ACK_RECEIVED in events else ())
