"""The generator of worlds: a plan out of a seed, and nothing else.

Draws who takes part and under which terms; `traffic` has what they want of one another, `mishaps`
what goes wrong; some worlds are `scenes`, some `staged`, some `hostile`. Must not know how any of
it is carried out. Worlds are small, so that very many can be run: three messages and a few faults
in half a minute of virtual time, and now and then a big one. `Plan.tags` names every class that is
on, so that combinations can be counted.
"""

from random import Random

from onceonly.gateway.purge import UNMENTIONED_S
from onceonly.message.message import SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.terms import Intermediary
from onceonly.message.word import changed
from onceonly.simulation.chance import stream
from onceonly.simulation.generator import ebms2, hostile, mishaps, staged, traffic
from onceonly.simulation.generator.agreed import expiring, patient, terms_of
from onceonly.simulation.generator.profiles import DIRECT, GENERATED, ROUTED
from onceonly.simulation.generator.scenes import Scene, scene_of
from onceonly.simulation.generator.sketch import Sketch
from onceonly.simulation.generator.words_given import with_words
from onceonly.simulation.plan import Action, Line, Machine, Plan

_PARTIES = ("A", "B", "C", "D", "E")
_RELAYS = ("R1", "R2", "R3")

HEAL_MS = 15_000
"""From the last message handed over until the world heals."""

END_MS = 2 * 3_600_000
"""From then on until everything must have its verdict; a world at rest ends long before."""


def plan_of(seed: int) -> Plan:
    """The world of the seed. Pure: the same seed, the same plan, in any process."""
    plan = ebms2.plan_of(seed) or staged.plan_of(seed) or hostile.plan_of(seed)
    return plan or ebms2.agreed(certified(with_words(_drawn(seed))))


def _drawn(seed: int) -> Plan:
    named = scene_of(seed)
    scene = None if named is None else named[1]
    sketch = _sketch(stream(seed, "workload"), scene)
    if named is not None:
        sketch.tags.add(named[0])
    sketch.lines = _lines(sketch, scene)
    if scene is None:
        sketch.lines = _slow_mail(sketch, sketch.lines)
    traffic.letters(sketch)
    traffic.repeats(sketch)
    traffic.habits(sketch)
    traffic.operators(sketch)
    if scene is not None:
        scene.happen(sketch)
    weather = mishaps.weather(sketch)
    heal_ms = sketch.span_ms + sketch.chance.choice((HEAL_MS // 3, HEAL_MS, 2 * HEAL_MS))
    heal_ms, rest_ms = _purges(sketch, heal_ms)
    mishaps.strike(sketch)
    # By chance of its own, so that the worlds that have none of it stay as they were.
    traffic.redeliveries(sketch, stream(seed, "redeliveries"))
    if scene is not None:
        weather = scene.weather(weather)
        rest_ms = max(rest_ms, heal_ms + scene.rest_ms)
    return Plan(
        seed=seed,
        machines=tuple(Machine(name, **sketch.machine.get(name, {})) for name in sketch.everybody),
        lines=sketch.lines,
        weather=weather,
        fates=sketch.fates,
        actions=tuple(sorted(_until(sketch.actions, heal_ms, rest_ms), key=lambda one: one.at_ms)),
        heal_ms=heal_ms,
        rest_ms=rest_ms,
        end_ms=heal_ms + _longest_ms(sketch),
        store=_store(sketch),
        tags=tuple(sorted(sketch.tags)),
    )


def certified(plan: Plan) -> Plan:
    """The same world over TLS, where its seed says so; on most lines callers prove who they are.

    Drawn from a stream of its own, so that it changes no other world. Mail proves no identity.
    """
    chance = stream(plan.seed, "certificates")
    is_by_http = any(line.scheme == "http" for line in plan.lines)
    if chance.random() >= CERTIFIED or not is_by_http:
        return plan
    lines = tuple(
        changed(
            line, scheme="https", is_certified=not line.resend_scheme and chance.random() < _PROVES
        )
        if line.scheme == "http"
        else line
        for line in plan.lines
    )
    return changed(plan, lines=lines, tags=tuple(sorted({*plan.tags, "certificates"})))


CERTIFIED = 0.12
"""Of the drawn worlds: their lines are by https."""

_PROVES = 0.8
"""Of these lines: the agreement names the caller's certificate."""


def _sketch(chance: Random, scene: Scene | None) -> Sketch:
    if scene is not None:
        return Sketch(chance, _PARTIES[:2], _RELAYS[:1] if scene.has_relay else ())
    parties = chance.choices((2, 3, 4, 5), (85, 10, 3, 2))[0]
    relays = chance.choices((0, 1, 2, 3), (82, 13, 4, 1))[0]
    return Sketch(chance, _PARTIES[:parties], _RELAYS[:relays])


def _lines(sketch: Sketch, scene: Scene | None) -> tuple[Line, ...]:
    """Each party has a line to one before it; some have more, and relays stand in some."""
    chance = sketch.chance
    if scene is not None:
        return (_line_of(sketch, scene),)
    ends = [
        (chance.choice(sketch.parties[:at]), sketch.parties[at])
        for at in range(1, len(sketch.parties))
    ]
    profiles = {pair: chance.choice(DIRECT) for pair in ends}
    if sketch.relays:
        profiles[ends[0]] = chance.choice(GENERATED)
    lines = [_line(sketch, pair, profiles[pair], is_first=pair == ends[0]) for pair in ends]
    if chance.random() < 0.06:
        pair = chance.choice(ends)
        more = _line(sketch, pair, profiles[pair], is_first=False)
        lines.append(changed(more, name="-2"))
        sketch.tags.add("two-agreements")
    sketch.tags |= {line.profile.name for line in lines}
    return tuple(lines)


def _line_of(sketch: Sketch, scene: Scene) -> Line:
    """The one line of a scene."""
    chance, ends = sketch.chance, (sketch.parties[0], sketch.parties[1])
    profile, semantics = chance.choice(scene.profiles), chance.choice(scene.semantics)
    if scene.has_relay and not profile.has_routing_headers:
        profile = chance.choice(ROUTED)
    sketch.tags.add(profile.name)
    scheme = "smtp" if sketch.is_on("mail", 0.12) else "http"
    mode = Intermediary.RELAY if scene.has_relay else None
    drawn = terms_of(chance, profile, through=mode, scheme=scheme, semantics=semantics)
    through = tuple((relay, Intermediary.RELAY) for relay in sketch.relays)
    terms = expiring(scene.agree(chance, drawn))
    return Line(*ends, profile, terms, through, scheme)


def _line(sketch: Sketch, ends: tuple[str, str], profile: Profile, *, is_first: bool) -> Line:
    chance = sketch.chance
    scheme = "smtp" if sketch.is_on("mail", 0.12) else "http"
    resend_scheme = "smtp" if scheme == "http" and sketch.is_on("resent-by-mail", 0.03) else ""
    relays = sketch.relays if is_first else chance.choice(((), (), sketch.relays))
    mode = None
    if relays:
        mode = Intermediary.RELAY
        if profile is Profile.RM_2001:
            mode = chance.choice((Intermediary.RELAY, Intermediary.ACCEPT))
        sketch.tags.add(mode.value)
    terms = terms_of(chance, profile, through=mode, scheme=scheme)
    if resend_scheme and profile.acknowledges_on_request:
        # A resend is the same bytes, and what asks for a SyncReply is refused by mail.
        terms = changed(terms, sync_reply_mode=SyncReplyMode.NONE)
    through = tuple((relay, mode) for relay in relays if mode is not None)
    return Line(*ends, profile, terms, through, scheme, resend_scheme)


def _slow_mail(sketch: Sketch, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Mail that takes hours, between parties who give each other the time."""
    if "mail" not in sketch.tags or not sketch.is_on("slow-mail", 0.05):
        return lines
    return tuple(
        changed(line, terms=patient(line.terms)) if line.scheme == "smtp" else line
        for line in lines
    )


def _purges(sketch: Sketch, heal_ms: int) -> tuple[int, int]:
    """How often machines forget what is over; when the world heals, and goes on until, for that."""
    chance = sketch.chance
    if "slow-mail" in sketch.tags:
        return heal_ms, 0
    for name in sketch.everybody:
        is_eager = chance.random() < 0.2
        interval_s = chance.choice((10, 30, 60)) if is_eager else 3600
        forget_s = chance.choice((3, 15)) if is_eager and chance.random() < 0.3 else None
        if "idle-forgotten" in sketch.tags:
            interval_s, forget_s = 2, 3
        sketch.set(name, purge_interval_s=interval_s, forget_pair_after_s=forget_s)
    if "large" in sketch.tags and sketch.is_on("cleared", 0.7):
        return _until_files_go(sketch)
    if not sketch.is_on("purge", 0.08):
        return heal_ms, 0
    for name in sketch.everybody:
        sketch.set(name, purge_interval_s=chance.choice((2, 5, 20)))
    if chance.random() < 0.06:
        # By chance alone so few die there that some campaigns would see too few.
        point = chance.choice(("before-purge", "after-purge"))
        sketch.act(20, "arm", chance.choice(sketch.everybody), point=point, count=1, down_ms=1_000)
    rest_ms = heal_ms + (_kept_s(sketch) + 30) * 1000
    for _ in range(chance.choice((1, 3))):
        mishaps.replay(sketch, chance.randrange(heal_ms, rest_ms))
    # Half of these worlds heal late, so that what is forgotten is forgotten among faults.
    return chance.choice((heal_ms, rest_ms - 5_000)), rest_ms


def _kept_s(sketch: Sketch) -> int:
    return max(
        line.terms.persist_duration_s + 2 * line.terms.msh_time_accuracy_s for line in sketch.lines
    )


def _until_files_go(sketch: Sketch) -> tuple[int, int]:
    """A file of the spool goes an hour after the first look that found no row with its name."""
    for name in sketch.everybody:
        sketch.set(name, purge_interval_s=900)
    if sketch.chance.random() < 0.8:
        # Other worlds hardly ever get there, and these are long.
        node = sketch.chance.choice(sketch.everybody)
        sketch.act(20, "arm", node, point="after-clear", count=1, down_ms=1_000)
    heal_ms = (_kept_s(sketch) + UNMENTIONED_S + 2 * 900) * 1000
    return heal_ms, heal_ms + 1_000


def _until(actions: list[Action], heal_ms: int, rest_ms: int) -> list[Action]:
    """No new faults after the world has healed, except replays of old packages."""
    return [
        one
        for one in actions
        if one.at_ms < heal_ms or (one.args.get("kind") == "replay" and one.at_ms < rest_ms)
    ]


def _longest_ms(sketch: Sketch) -> int:
    return END_MS + 8 * 3_600_000 if "slow-mail" in sketch.tags else END_MS


def _store(sketch: Sketch) -> str:
    is_plain = not sketch.tags & {"restored", "big"}
    return "sqlite" if is_plain and sketch.is_on("sqlite", 0.01) else "memory"
