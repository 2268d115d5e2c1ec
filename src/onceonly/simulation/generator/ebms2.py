"""What only agreements of `ebms-2.0` have: ordered conversations, signatures, and a shared CPAId.

Some worlds that were drawn get it in addition, each of the three on or off. Drawn from a stream of
its own, so that it changes no other world. Knows which terms go together, as the reader of a
configuration has it; must not know who judges the worlds.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.profile import Profile
from onceonly.message.signals import PLAIN_ACK
from onceonly.message.signing import Signed
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.simulation.cast import line_id, party
from onceonly.simulation.chance import stream
from onceonly.simulation.forgery import UNSIGNED
from onceonly.simulation.generator.agreed import expiring, terms_of
from onceonly.simulation.generator.sketch import PlannedMessage, Sketch
from onceonly.simulation.generator.traffic import submit
from onceonly.simulation.imposture import CONVERSATION, NUMBERED
from onceonly.simulation.network import Fate, Weather
from onceonly.simulation.plan import Action, Line, Machine, Plan
from onceonly.simulation.signing_keys import can_sign

ORDERED, SIGNED, SHARED = 0.3, 0.22, 0.15
"""Of the drawn worlds that have an agreement of the profile."""

TAMPERED = (Fate.ALTERED, Fate.ALTERED, Fate.STRIPPED, Fate.SWAPPED)
"""What happens to packages whose receiver can see it by the signature alone."""

_TAMPERED_PART = 0.7
"""Of the worlds in which everything is signed."""

_REPLAYED_PART = 0.5
"""Of the signed worlds: somebody from outside speaks without a signature, or with an old one."""


@dataclass
class _Draft:
    """A drawn world while it gets what the profile has."""

    plan: Plan
    chance: Random
    lines: list[Line]
    actions: list[Action]
    tags: set[str]
    fates: dict[str, Fate] = field(default_factory=dict)

    def is_on(self, tag: str, probability: float) -> bool:
        """Decide whether it is on in this world, and note it."""
        is_on = self.chance.random() < probability
        if is_on:
            self.tags.add(tag)
        return is_on

    def any_time(self) -> int:
        """Some time before the world heals, more often early."""
        heal_ms = self.plan.heal_ms
        return self.chance.randrange(self.chance.choice((heal_ms, heal_ms // 3 or 1)))

    def act(self, kind: str, node: str, **args: Any) -> None:
        """Let something be done at some time."""
        self.actions.append(Action(self.any_time(), kind, node, args))


def agreed(plan: Plan) -> Plan:
    """The same world, where its seed says so with more of what its agreements could have."""
    if not any(map(is_fitting, plan.lines)):
        return plan
    chance = stream(plan.seed, "ebms-2.0")
    draft = _Draft(plan, chance, [*plan.lines], [*plan.actions], set(plan.tags))
    if draft.is_on("shared-cpa-id", SHARED):
        _share(draft)
    if draft.is_on("ordered", ORDERED):
        _put_in_order(draft)
    if draft.is_on("signed", SIGNED):
        _sign(draft)
    actions = [one for one in draft.actions if one.at_ms < plan.heal_ms or one in plan.actions]
    return changed(
        plan,
        lines=tuple(draft.lines),
        actions=tuple(sorted(actions, key=lambda one: one.at_ms)),
        fates={**plan.fates, **draft.fates},
        tags=tuple(sorted(draft.tags)),
    )


def is_fitting(line: Line) -> bool:
    """Whether what only the profile has is agreed on it, with nobody between the parties."""
    return line.profile.has_order and not line.through


def _fitting(draft: _Draft) -> list[int]:
    """Where the lines of the profile stand."""
    return [at for at, line in enumerate(draft.lines) if is_fitting(line)]


# Several agreements under one CPAId.


def _share(draft: _Draft) -> None:
    """A second agreement of the same name, for another Action; some messages go under it."""
    chance, at = draft.chance, draft.chance.choice(_fitting(draft))
    first = draft.lines[at]
    if first.name:
        return
    cpa_id = f"cpa-{line_id(first)}"
    terms = terms_of(chance, first.profile, through=None, scheme=first.scheme)
    if first.resend_scheme:
        # A resend is the same bytes, and what asks for a SyncReply is refused by mail.
        terms = changed(terms, sync_reply_mode=SyncReplyMode.NONE)
    draft.lines[at] = changed(first, cpa_id=cpa_id)
    second = changed(draft.lines[at], name="-more", action="ChangeOrder", terms=terms)
    draft.lines.append(second)
    names = {line_id(first): line_id(second)}
    moved = {
        (one.node, one.args["id"])
        for one in draft.actions
        if one.kind == "submit" and one.args.get("agreement") in names and chance.random() < 0.5
    }
    draft.actions = [
        changed(one, args={**one.args, "agreement": names[one.args["agreement"]]})
        if one.kind == "submit"
        and (one.node, one.args["id"]) in moved
        and one.args.get("agreement") in names
        else one
        for one in draft.actions
    ]


# Ordered conversations.


def _put_in_order(draft: _Draft) -> None:
    chance = draft.chance
    for at in _fitting(draft):
        if chance.random() < 0.8:
            line = draft.lines[at]
            draft.lines[at] = line = changed(line, terms=in_order(chance, line.terms))
            names = [f"c{number}" for number in range(chance.choice((1, 1, 2, 3)))]
            _converse(draft, line, names)
            _attend(draft, line, names)


def in_order(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    """The terms with MessageOrder, which needs acknowledgements and no answer at once."""
    semantics = terms.semantics
    if not (terms.is_acknowledged and terms.eliminates_duplicates and not terms.leaves_once):
        semantics = DeliverySemantics.ONCE_AND_ONLY_ONCE
    is_silent = terms.ack_requested is AckRequested.NONE
    return expiring(
        changed(
            terms,
            semantics=semantics,
            ack_requested=AckRequested.UNSIGNED if is_silent else terms.ack_requested,
            sync_reply_mode=SyncReplyMode.NONE,
            strict_release=False,
            ack_status=PLAIN_ACK,
            is_ordered=True,
            order_hold_max=chance.choice((1, 2, 3, 100)),
            order_gap_after_s=chance.choice((1, 5, 20)),
        )
    )


def _converse(draft: _Draft, line: Line, names: list[str]) -> None:
    """Its messages belong to a few conversations; the same message always to the same one."""
    of: dict[tuple[str, str], str] = {}
    for at, one in enumerate(draft.actions):
        if one.kind == "submit" and one.args.get("agreement") == line_id(line):
            name = of.setdefault((one.node, one.args["id"]), draft.chance.choice(names))
            draft.actions[at] = changed(one, args={**one.args, "conversation": name})


def _attend(draft: _Draft, line: Line, names: list[str]) -> None:
    """What operators do about conversations, whether or not they wait."""
    chance, ends = draft.chance, (line.one, line.other)
    if draft.is_on("conversations-attended", 0.35):
        for _ in range(chance.choice((1, 2, 4))):
            node, partner = ends if chance.random() < 0.5 else ends[::-1]
            what, name = chance.choice(("reset", "reset", "release", "drop")), chance.choice(names)
            draft.act("order", node, what=what, partner=str(party(partner)), conversation=name)
    is_endless = line.terms.semantics is DeliverySemantics.EXACTLY_ONCE
    if not is_endless and draft.is_on("order-switched", 0.15):
        # Off and on again, at one end, since for ever the parties must agree.
        node, is_ordered = chance.choice(ends), False
        terms, none = line.terms, DeliveryTerms()
        for _ in range(chance.choice((2, 2, 4))):
            agreed = terms if is_ordered else none
            draft.act(
                "reconfigure",
                node,
                agreement=line_id(line),
                down_ms=chance.choice((10, 1_000)),
                is_ordered=is_ordered,
                order_hold_max=agreed.order_hold_max,
                order_gap_after_s=agreed.order_gap_after_s,
            )
            is_ordered = not is_ordered


# Signatures.


def _sign(draft: _Draft) -> None:
    chance = draft.chance
    # One for each name: a Ping says no Action, so it has to be signed as the strictest wants it.
    signs: dict[str, Signed] = {}
    for at in _fitting(draft):
        line = draft.lines[at]
        if can_sign(line.one) and can_sign(line.other):
            of_name = signs.setdefault(line.cpa_id or line_id(line), chance.choice(_SIGNED))
            draft.lines[at] = _signed(chance, line, of_name)
    if draft.is_on("tampered", _TAMPERED_PART):
        _tamper(draft)
    if draft.is_on("unsigned-words", _REPLAYED_PART):
        _speak_unsigned(draft)


_SIGNED = (Signed.MESSAGES, Signed.ALL, Signed.ALL)


def _signed(chance: Random, line: Line, signs: Signed) -> Line:
    terms = line.terms
    if terms.ack_requested is not AckRequested.NONE and chance.random() < 0.8:
        terms = changed(terms, ack_requested=AckRequested.SIGNED)
    return changed(line, signs=signs, terms=terms)


def _tamper(draft: _Draft) -> None:
    """Somebody on the way changes packages; only where everything there is signed."""
    chance = draft.chance
    for one in dict.fromkeys((line.one, line.other) for line in draft.lines):
        beside = [line for line in draft.lines if {line.one, line.other} == {*one}]
        if all(line.signs is Signed.ALL for line in beside):
            for source, target in (one, one[::-1]):
                for number in range(1, 9):
                    if chance.random() < 0.3:
                        draft.fates[f"{source}>{target}#{number}"] = chance.choice(TAMPERED)


def _speak_unsigned(draft: _Draft) -> None:
    chance = draft.chance
    signed = {line_id(line): line for line in draft.lines if line.signs is not Signed.NONE}
    letters = [
        one for one in draft.actions if one.kind == "submit" and one.args.get("agreement") in signed
    ]
    for _ in range(chance.choice((1, 2, 4))):
        if not letters:
            return
        letter, kind = chance.choice(letters), chance.choice(tuple(UNSIGNED))
        line = signed[letter.args["agreement"]]
        node = letter.node if kind.startswith("ack") else letter.args["to"]
        at_ms = letter.at_ms + chance.randrange(chance.choice((50, 2_000, 15_000)))
        of = f"{letter.args['id']}@{letter.node}.example"
        args = {"kind": kind, "agreement": line_id(line), "of": of}
        draft.actions.append(Action(at_ms, "forge", node, args))


# A partner that keeps no order, and what its receiver holds of it.

DISORDERLY = 0.03
"""Of all worlds: those of `disorderly`, which have a stream of their own."""

_END_MS = 2 * 3_600_000
"""From healing until everything must have its verdict, as in other worlds."""


def plan_of(seed: int) -> Plan | None:
    """The world of the seed, if it is one of these."""
    chance = stream(seed, "disorder")
    return _disorderly(seed, chance) if chance.random() < DISORDERLY else None


def _disorderly(seed: int, chance: Random) -> Plan:
    """E's messages overtake each other, and A holds them; operators let them go, and A dies.

    Our own senders leave no gap. So E is hostile here, and what it sends is not what its gateway
    stored.
    """
    sketch = Sketch(chance, ("A", "B", "E"), ())
    honest = Line("A", "B", Profile.EBMS_2_0, _numbered_terms(chance))
    own = Line("E", "A", Profile.EBMS_2_0, _numbered_terms(chance))
    sketch.lines = (honest, own)
    sketch.tags |= {"disorderly", "ordered", Profile.EBMS_2_0.name}
    letter = PlannedMessage("m0", "A", "B", honest, 50)
    submit(sketch, letter, conversation="c0")
    sketch.letters.append(letter)
    sketch.span_ms = chance.choice((1_000, 8_000))
    _say_numbers(sketch)
    _attend_to(sketch)
    _die(sketch)
    heal_ms = sketch.span_ms + chance.choice((5_000, 20_000))
    if sketch.is_on("purge", 0.3):
        sketch.set("A", purge_interval_s=chance.choice((1, 3)))
    actions = [one for one in sketch.actions if one.at_ms < heal_ms]
    return Plan(
        seed=seed,
        machines=tuple(Machine(name, **sketch.machine.get(name, {})) for name in sketch.everybody),
        lines=sketch.lines,
        weather=Weather({}, delay_ms=chance.choice((1, 20, 200))),
        actions=tuple(sorted(actions, key=lambda one: one.at_ms)),
        heal_ms=heal_ms,
        end_ms=heal_ms + _END_MS,
        tags=tuple(sorted(sketch.tags)),
    )


def _numbered_terms(chance: Random) -> DeliveryTerms:
    once = DeliverySemantics.ONCE_AND_ONLY_ONCE
    return in_order(
        chance, terms_of(chance, Profile.EBMS_2_0, through=None, scheme="http", semantics=once)
    )


def _say_numbers(sketch: Sketch) -> None:
    chance = sketch.chance
    numbers = [f"order-{number}" for number in range(chance.choice((3, 4, 6)))]
    if chance.random() < 0.5:
        numbers[0] = "order-reset"
    more = chance.choices(tuple(NUMBERED), k=chance.choice((0, 1, 3)))
    said = [*numbers, *more]
    if chance.random() < 0.3:
        said.remove(chance.choice(numbers))
    chance.shuffle(said)
    for kind in said:
        at_ms, copies = chance.randrange(sketch.span_ms), chance.choice((1, 1, 2))
        of = {"agreement": "A-B", "of": "m0@A.example", "kind": kind}
        sketch.act(at_ms, "pose", "A", by="E", copies=copies, **of)


def _attend_to(sketch: Sketch) -> None:
    chance = sketch.chance
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        at_ms, what = chance.randrange(2 * sketch.span_ms), chance.choice(("release", "drop"))
        said = {"partner": str(party("E")), "conversation": CONVERSATION}
        sketch.act(at_ms, "order", "A", what=what, **said)


def _die(sketch: Sketch) -> None:
    chance = sketch.chance
    if sketch.is_on("kill", 0.4):
        at_ms, down_ms = chance.randrange(sketch.span_ms), chance.choice((10, 300))
        sketch.act(at_ms, "kill", "A", down_ms=down_ms)
    if sketch.is_on("kill-at-point", 0.5):
        point, count = chance.choice(_POINTS), chance.choice((1, 2, 3))
        sketch.act(20, "arm", "A", point=point, count=count, down_ms=chance.choice((10, 300)))
    if sketch.is_on("power-cut", 0.15):
        sketch.act(chance.randrange(sketch.span_ms), "power_cut", "A", down_ms=300)
    if sketch.is_on("away", 0.2):
        sketch.act(0, "stay_away", "A", ms=3_000)


_POINTS = (
    *("before-commit", "after-commit", "before-acknowledge", "after-acknowledge"),
    *("before-hand-over", "after-hand-over", "before-notice", "after-notice"),
)
