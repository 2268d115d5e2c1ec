"""Who of a world is none of its gateways, and what they brought: forgers, the hostile, strangers.

Knows who came to which machine, and whether somebody proved to be who the package says. Must not
judge.
"""

from onceonly.simulation.cast import are_neighbours, path_of
from onceonly.simulation.history import History
from onceonly.simulation.imposture import impostor
from onceonly.simulation.knocking import STRANGER
from onceonly.simulation.network import FALSE_ANSWER, certificate
from onceonly.simulation.plan import Line, Plan

VISITS = frozenset({"forged", "posed", "knocked"})
"""Actions of those who are no gateway of the world."""


class Outside:
    """Everybody who is no gateway of one world."""

    def __init__(self, plan: Plan, history: History) -> None:
        self.hostile = frozenset(
            action.args["by"] for action in plan.actions if action.kind == "pose"
        )
        """Machines whose owners speak in other names, beside what their gateways say."""
        self.sources = frozenset({STRANGER, *map(impostor, self.hostile)})
        """Sources of packages that no row and no answer is owed."""
        self.falsified = frozenset(
            one.packet.name.removeprefix(FALSE_ANSWER)
            for one in history.arrived
            if one.packet.name.startswith(FALSE_ANSWER)
        )
        """Packages to which the answer was not that of the gateway that they were for."""
        self.visited = frozenset(one.node for one in history.happenings if one.what in VISITS)
        """Machines that anybody of them came to."""


def is_unproven(line: Line | None, target: str, shown: str | None) -> bool:
    """Whether the line's agreement demands a certificate at this machine, and this is another."""
    if line is None or not line.is_certified:
        return False
    return not any(
        shown == certificate(one) for one in path_of(line) if are_neighbours(line, target, one)
    )
