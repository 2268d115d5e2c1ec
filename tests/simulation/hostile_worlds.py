"""Small worlds with a hostile partner: A and B are honest, and E has an agreement with A."""

from recorded import NUMBERED, submits

from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.simulation.history import History
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Line, Machine, Plan
from onceonly.simulation.world import World

M0 = "m0@A.example"
SLOW = {"B>A#1": Fate.LOST, "B>A#2": Fate.LOST}
"""So long is the first message under way."""


def world_of(
    *more: Action, terms: DeliveryTerms = NUMBERED, is_certified: bool = False, **fields: object
) -> Plan:
    """A sends m0 and m1 to B; E has an agreement with A, and nothing to send."""
    profile = Profile.RM_2000 if terms.is_numbered else Profile.RM_2001
    scheme = "https" if is_certified else "http"
    lines = tuple(
        Line("A", name, profile, terms, scheme=scheme, is_certified=is_certified) for name in "BE"
    )
    settings = {
        "seed": 0,
        "machines": tuple(map(Machine, "ABE")),
        "lines": lines,
        "actions": (*submits("m0", "m1"), *more),
        "fates": SLOW,
        "is_drawn": False,
        "heal_ms": 60_000,
        "end_ms": 1_200_000,
        "rest_ms": 90_000,
    }
    return Plan(**{**settings, **fields})  # type: ignore[arg-type] # because fields differ


def pose(at_ms: int, node: str, kind: str, **args: object) -> Action:
    """E speaks about m0."""
    said = {"by": "E", "kind": kind, "agreement": "A-B", "of": M0, **args}
    return Action(at_ms, "pose", node, said)


def beside_b(plan: Plan) -> Plan:
    """The same, with an agreement of E's with B as well."""
    own = changed(plan.lines[1], one="E", other="B")
    return changed(plan, lines=(*plan.lines, own))


def history_of(plan: Plan) -> History:
    """What happens in the world of the plan."""
    world = World(plan)
    history = world.run()
    world.close()
    return history
