"""What only agreements of `ebms-2.0` have: ordered conversations, signatures, and a shared CPAId.

Some worlds that were drawn get it in addition, each of the three on or off. Drawn from a stream of
its own, so that it changes no other world. Knows which terms go together, as the reader of a
configuration has it; must not know who judges the worlds.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.signals import PLAIN_ACK
from onceonly.message.signing import Signed
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.simulation.cast import line_id, party
from onceonly.simulation.chance import stream
from onceonly.simulation.forgery import UNSIGNED
from onceonly.simulation.generator.agreed import expiring, terms_of
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Line, Plan
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
    if not any(line.profile.has_order for line in plan.lines):
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


def _fitting(draft: _Draft) -> list[int]:
    """Where the lines of the profile stand."""
    return [at for at, line in enumerate(draft.lines) if line.profile.has_order]


# Several agreements under one CPAId.


def _share(draft: _Draft) -> None:
    """A second agreement of the same name, for another Action; some messages go under it."""
    chance, at = draft.chance, draft.chance.choice(_fitting(draft))
    first = draft.lines[at]
    if first.name:
        return
    cpa_id = f"cpa-{line_id(first)}"
    terms = terms_of(chance, first.profile, through=None, scheme=first.scheme)
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
    if draft.is_on("order-switched", 0.15):
        # Off, and perhaps on again, at one end: what is under way keeps its numbers.
        node, is_ordered = chance.choice(ends), False
        for _ in range(chance.choice((1, 2, 2, 3))):
            down_ms, agreement = chance.choice((10, 1_000)), line_id(line)
            draft.act(
                "reconfigure", node, agreement=agreement, down_ms=down_ms, is_ordered=is_ordered
            )
            is_ordered = not is_ordered


# Signatures.


def _sign(draft: _Draft) -> None:
    chance = draft.chance
    for at in _fitting(draft):
        line = draft.lines[at]
        if can_sign(line.one) and can_sign(line.other):
            draft.lines[at] = _signed(chance, line)
    if draft.is_on("tampered", _TAMPERED_PART):
        _tamper(draft)
    if draft.is_on("unsigned-words", _REPLAYED_PART):
        _speak_unsigned(draft)


def _signed(chance: Random, line: Line) -> Line:
    terms = line.terms
    if terms.ack_requested is not AckRequested.NONE and chance.random() < 0.8:
        terms = changed(terms, ack_requested=AckRequested.SIGNED)
    signs = chance.choice((Signed.MESSAGES, Signed.ALL, Signed.ALL))
    return changed(line, signs=signs, terms=terms)


def _tamper(draft: _Draft) -> None:
    """Somebody on the way changes packages; only where everything there is signed."""
    chance = draft.chance
    for one in {(line.one, line.other) for line in draft.lines}:
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
        one
        for one in draft.actions
        if one.kind == "submit" and one.args.get("agreement") in signed and "is_keyed" not in one.args
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
