"""Worlds with a hostile partner and with strangers, beside honest parties under small faults.

A and B exchange messages, perhaps over an intermediary; E has an agreement of its own with A, or
along the same intermediary, or is the intermediary of another line. In most of these worlds the
agreements demand certificates: there everything that E says in other names must count for nothing.
In the others only names say who somebody is, and E uses its own. The seed decides whether a world
is hostile; other worlds are not changed by it. Must not know who judges them.
"""

from dataclasses import dataclass
from random import Random

from onceonly.message.message import DeliverySemantics, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.terms import Intermediary
from onceonly.message.word import changed
from onceonly.simulation.cast import line_id, path_of
from onceonly.simulation.chance import stream
from onceonly.simulation.generator.agreed import terms_of
from onceonly.simulation.generator.profiles import GENERATED, ROUTED
from onceonly.simulation.generator.sketch import PlannedMessage, Sketch
from onceonly.simulation.generator.traffic import submit
from onceonly.simulation.imposture import (
    ASKED,
    ONLY_AS_ANOTHER,
    ONLY_AS_HIMSELF,
    OWN,
    SAID,
    UNDER,
)
from onceonly.simulation.knocking import KINDS
from onceonly.simulation.network import Fate, Weather
from onceonly.simulation.plan import Action, Habits, Line, Machine, Plan

PART = 0.06
"""Of all worlds."""

_END_MS = 2 * 3_600_000
"""From healing until everything must have its verdict, as in other worlds."""

_SLIPS = 0.12
"""Of these worlds: what is said to E meets a bug of ours, and no process ends of it (R-43)."""

_FLOOD, _MANY = 1_100, 70
"""More packages than strangers have rows for in an hour, or than a partner has posts for (R-45)."""


@dataclass
class _World:
    """A world while it is being set up."""

    sketch: Sketch
    honest: Line
    own: Line
    by: str
    """The hostile machine."""
    weather: Weather

    @property
    def chance(self) -> Random:
        """What everything is drawn from."""
        return self.sketch.chance


def plan_of(seed: int) -> Plan | None:
    """The world of the seed, if it is one of these."""
    return drawn(seed) if stream(seed, "hostility").random() < PART else None


def drawn(seed: int) -> Plan:
    """The hostile world of the seed, whether or not campaigns come by it."""
    chance = stream(seed, "hostile")
    shape = chance.choice(tuple(SHAPES))
    world = _world(chance, shape)
    sketch = world.sketch
    sketch.tags |= {"hostile", shape, *(line.profile.name for line in sketch.lines)}
    is_slippery = shape in _SLIPPERY and sketch.is_on("slip", _SLIPS)
    _traffic(world, is_alone=is_slippery)
    if is_slippery:
        _slip(world)
    else:
        _poses(world)
    _knocks(world)
    _trouble(world)
    heal_ms = sketch.span_ms + chance.choice((8_000, 20_000))
    actions = [one for one in sketch.actions if one.at_ms < heal_ms]
    return Plan(
        seed=seed,
        machines=tuple(Machine(name, **sketch.machine.get(name, {})) for name in sketch.everybody),
        lines=sketch.lines,
        weather=world.weather,
        actions=tuple(sorted(actions, key=_at)),
        heal_ms=heal_ms,
        end_ms=heal_ms + _END_MS,
        tags=tuple(sorted(sketch.tags)),
    )


def _at(action: Action) -> int:
    return action.at_ms


# Who is there: the honest line, E's own, and which machine is hostile.

Shape = tuple[tuple[str, ...], tuple[str, ...], str]
"""The way of the honest messages, that of E's own, and the hostile machine."""

SHAPES: dict[str, Shape] = {
    "hostile-partner": (("A", "B"), ("A", "E"), "E"),
    "hostile-caller": (("A", "B"), ("E", "A"), "E"),
    "hostile-previous-hop": (("A", "R1", "B"), ("E", "R1", "B"), "E"),
    "hostile-next-hop": (("A", "R1", "B"), ("A", "R1", "E"), "E"),
    "hostile-intermediary": (("A", "B"), ("A", "R1", "E"), "R1"),
}
"""By tag. Each is as likely as the others."""


def _world(chance: Random, shape: str) -> _World:
    honest_way, own_way, by = SHAPES[shape]
    relays = tuple(name for name in ("R1",) if name in (*honest_way, *own_way))
    sketch = Sketch(chance, ("A", "B", "E"), relays)
    is_certified = chance.random() < 0.75
    if is_certified:
        sketch.tags.add("certificates")
    offered = ROUTED if relays else GENERATED
    profile = chance.choice(offered)
    others = profile if chance.random() < 0.8 else chance.choice(offered)
    honest = _line(sketch, honest_way, profile, is_certified=is_certified)
    own = _line(sketch, own_way, others, is_certified=is_certified and chance.random() < 0.5)
    if is_certified:
        honest, own = (changed(line, scheme="https") for line in (honest, own))
    sketch.lines = (honest, own)
    return _World(sketch, honest, own, by, _weather(sketch))


def _line(sketch: Sketch, way: tuple[str, ...], profile: Profile, *, is_certified: bool) -> Line:
    chance = sketch.chance
    mode = None
    if len(way) > 2:
        mode = Intermediary.RELAY
        if profile is Profile.RM_2001:
            mode = chance.choice((Intermediary.RELAY, Intermediary.ACCEPT))
        sketch.tags.add(mode.value)
    semantics = DeliverySemantics.ONCE_AND_ONLY_ONCE if chance.random() < 0.85 else None
    terms = terms_of(chance, profile, through=mode, scheme="http", semantics=semantics)
    if mode is None and not profile.is_numbered and chance.random() < 0.4:
        # So that a package may come in the answer to what is sent to E.
        terms = changed(terms, sync_reply_mode=SyncReplyMode.SIGNALS_ONLY)
    through = tuple((name, mode) for name in way[1:-1] if mode is not None)
    return Line(way[0], way[-1], profile, terms, through, is_certified=is_certified)


def _weather(sketch: Sketch) -> Weather:
    chance = sketch.chance
    fates: dict[Fate, float] = {}
    if chance.random() < 0.5:
        fate = chance.choice((Fate.LOST, Fate.ANSWER_LOST, Fate.BUSY, Fate.REFUSED, Fate.TWICE))
        sketch.tags.add(f"net-{fate}")
        fates = {fate: chance.choice((0.1, 0.3, 0.6))}
    return Weather(fates, delay_ms=chance.choice((1, 20, 200, 900)), late_ms=8_000)


def _traffic(world: _World, *, is_alone: bool) -> None:
    """What is honest; `is_alone`: nothing of E's, whose words then are lies alone."""
    sketch, chance = world.sketch, world.chance
    sketch.span_ms = chance.choice((200, 3_000, 8_000))
    for number in range(chance.choice((1, 2, 2, 3, 4))):
        _letter(world, f"m{number}", world.honest)
    if not is_alone and chance.random() < 0.6:
        for number in range(chance.choice((1, 2, 3))):
            _letter(world, f"e{number}", world.own)
    answers = chance.choice((0.0, 0.0, 1.0))
    for name in sketch.parties:
        reports = chance.choice((0.0, 1.0))
        sketch.set(name, habits=Habits(read_ms=100, reports=reports, answers=answers))


def _letter(world: _World, name: str, line: Line) -> None:
    chance = world.chance
    ends = (line.one, line.other)
    source, target = ends if chance.random() < 0.6 else ends[::-1]
    letter = PlannedMessage(name, source, target, line, 50 + chance.randrange(world.sketch.span_ms))
    submit(world.sketch, letter)
    world.sketch.letters.append(letter)


# What is said.


def _poses(world: _World) -> None:
    chance = world.chance
    for _ in range(chance.choice((2, 4, 8, 14))):
        # Only about honest messages: what he says about his own does not matter.
        letters = [one for one in world.sketch.letters if one.line is world.honest]
        letter = chance.choice(letters)
        table = chance.choice((SAID, ASKED))
        kind = chance.choice(tuple(table))
        node = _target(world, letter, is_said=table is SAID)
        if node is not None:
            _pose(world, letter, kind, node)


def _target(world: _World, letter: PlannedMessage, *, is_said: bool) -> str | None:
    """A neighbour of the hostile machine on the way of the message that would listen to this."""
    path = path_of(letter.line)
    path = path if letter.source == path[0] else path[::-1]
    own = path_of(world.own)
    beside = {one for at, one in enumerate(own) if world.by in own[max(0, at - 1) : at + 2]}
    fitting = [one for one in (path[:-1] if is_said else path[1:]) if one in beside - {world.by}]
    return world.chance.choice(fitting) if fitting else None


def _pose(world: _World, letter: PlannedMessage, kind: str, node: str) -> None:
    chance = world.chance
    is_partner = world.honest.is_certified and kind not in ONLY_AS_HIMSELF
    if kind not in ONLY_AS_ANOTHER:
        is_partner = is_partner and chance.random() < 0.75
    elif not is_partner:
        return
    under = OWN if kind in ONLY_AS_HIMSELF else chance.choice((OWN, *UNDER))
    if kind == "response" and not is_partner:
        under = OWN
    said: dict[str, object] = {"under": under, "is_partner": is_partner}
    if chance.random() < 0.25:
        said["has_certificate"] = False
    elif kind in SAID and chance.random() < 0.25:
        said["is_answer"] = True
    at_ms = letter.at_ms + chance.randrange(chance.choice((30, 500, 4_000, 15_000)))
    copies = chance.choice((1, 1, 2, 3))
    world.sketch.act(
        at_ms,
        "pose",
        node,
        by=world.by,
        kind=kind,
        agreement=line_id(letter.line),
        of=letter.message_id,
        copies=copies,
        **said,
    )


_SLIPPERY = frozenset({"hostile-partner", "hostile-caller"})
"""Where E is the neighbour of a party: what is said to it is about nothing of anybody else's."""


def _slip(world: _World) -> None:
    """E asks under its own name, and every answer to it meets a bug.

    No message is in it: what happens to a message that meets a bug is judged elsewhere.
    """
    chance, sketch = world.chance, world.sketch
    ms = chance.choice((1_000, 60_000))
    letter = sketch.letters[0]
    first_ms = letter.at_ms + chance.randrange(3_000)
    sketch.act(max(first_ms - 10, 0), "slip", "A", to=world.by, ms=ms)
    for number in range(chance.choice((1, 2, 5))):
        kind = chance.choice(("ping", "status", "response-request"))
        sketch.act(
            first_ms + number * chance.choice((0, 10, 700)),
            "pose",
            "A",
            by=world.by,
            kind=kind,
            agreement=line_id(letter.line),
            of=letter.message_id,
        )


def _knocks(world: _World) -> None:
    chance, sketch = world.chance, world.sketch
    flood = sketch.is_on("flood", 0.1)
    for number in range(chance.choice((0, 1, 2, 4))):
        letter = chance.choice(sketch.letters)
        kind = chance.choice(tuple(KINDS))
        copies = chance.choice((1, 3, 10))
        if flood and number == 0:
            copies = _MANY if kind == "reflected" else _FLOOD
        is_named = kind == "reflected" or chance.random() < 0.6
        node = chance.choice(path_of(letter.line))
        sketch.act(
            letter.at_ms + chance.randrange(8_000),
            "knock",
            node,
            kind=kind,
            agreement=line_id(letter.line),
            of=letter.message_id,
            is_named=is_named,
            copies=copies,
        )


def _trouble(world: _World) -> None:
    """Sometimes a machine dies in the midst of it, or E's is out of reach."""
    chance, sketch = world.chance, world.sketch
    if sketch.is_on("kill", 0.2):
        down_ms = chance.choice((300, 5_000))
        sketch.act(sketch.any_time(), "kill", sketch.any_machine(), down_ms=down_ms)
    if sketch.is_on("partition", 0.25):
        # What is under way for longer can be spoken about for longer.
        ms = chance.choice((2_000, 10_000))
        path = path_of(world.honest)
        sketch.act(sketch.any_time(), "cut", path[-1], to=path[-2], ms=ms)
