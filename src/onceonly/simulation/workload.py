"""The generator of worlds: a plan out of a seed, and nothing else.

Knows what parties may agree and what may be done to them; must not know how any of it is carried
out. Swarm testing: each class of fault is on or off per seed, and `Plan.tags` names those that
are on, so that combinations can be counted.
"""

from onceonly.message.message import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.simulation.chance import stream
from onceonly.simulation.network import Fate, Weather
from onceonly.simulation.plan import Action, Line, Machine, Plan


def plan_of(seed: int) -> Plan:
    """The world of the seed. Pure: the same seed, the same plan, in any process."""
    chance = stream(seed, "workload")
    terms = DeliveryTerms(timeout_s=5, retries=3, retry_interval_s=5, persist_duration_s=120)
    submits = tuple(
        Action(chance.randrange(500, 5000), "submit", "A", {"to": "B", "id": f"m{number}"})
        for number in range(3)
    )
    return Plan(
        seed=seed,
        machines=(Machine("A"), Machine("B")),
        lines=(Line("A", "B", Profile.RM_2000, terms),),
        weather=Weather({Fate.LOST: chance.uniform(0, 0.3), Fate.TWICE: chance.uniform(0, 0.3)}),
        actions=submits,
        heal_ms=30_000,
        end_ms=1_200_000,
        tags=("rm-2000", "loss", "duplicates"),
    )
