"""Operators who settle doubts by their word, which may be right or wrong (R-49).

Drawn from a stream of its own, so that it changes no other world. A person who asks by telephone is
outside of the world: the word is drawn, and so contradicts the partner's journal about as often as
it agrees with it.
"""

from onceonly.message.word import changed
from onceonly.protocol.events import Settlement
from onceonly.simulation.chance import stream
from onceonly.simulation.plan import Action, Plan

PART = 0.15
"""Of the drawn worlds."""
ASKING_PART = 0.5
"""Of those with an agreement that asks about doubts: there a word may come between questions."""


def with_words(plan: Plan) -> Plan:
    """The same world, where its seed says so with operators who end doubts before it heals."""
    chance = stream(plan.seed, "words given")
    sources = sorted({one.node for one in plan.actions if one.kind == "submit"})
    asks = any(line.terms.recovery.inquires for line in plan.lines)
    if chance.random() >= (ASKING_PART if asks else PART) or not sources:
        return plan
    relays = sorted({relay for line in plan.lines for relay, _ in line.through})
    words = []
    for _ in range(chance.choice((1, 2, 4, 8))):
        node = chance.choice([*sources, *sources, *relays])
        at_ms = chance.randrange(plan.heal_ms // 4, plan.heal_ms)
        word = chance.choice(tuple(Settlement)).value
        words.append(Action(at_ms, "settle", node, {"word": word}))
    actions = tuple(sorted([*plan.actions, *words], key=lambda one: one.at_ms))
    return changed(plan, actions=actions, tags=tuple(sorted({*plan.tags, "settled"})))
