"""Scenes: small worlds in which things come together that seldom meet by themselves.

One line between two parties, with the terms, the weather and the actions that the situation needs;
every class of `mishaps` is on or off in addition, as in any other world. Some of the worlds are
scenes, and all scenes are equally frequent. Must not know who judges them.
"""

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

from onceonly.message.message import SEQUENCE_NUMBER_MAX, DeliverySemantics
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, OnExhausted, RecoveryTerms
from onceonly.message.word import Word, changed
from onceonly.simulation.cast import ROUTE_RETRIES, line_id, party
from onceonly.simulation.chance import stream
from onceonly.simulation.generator.profiles import GENERATED
from onceonly.simulation.generator.sketch import PlannedMessage, Sketch
from onceonly.simulation.generator.traffic import follow
from onceonly.simulation.network import Fate, Weather

PART = 0.25
"""Of all worlds."""

Agree = Callable[[Random, DeliveryTerms], DeliveryTerms]

_ONCE = (DeliverySemantics.ONCE_AND_ONLY_ONCE,)
_SENT_ONCE = (DeliverySemantics.AT_MOST_ONCE, DeliverySemantics.BEST_EFFORT)


class Scene(Word):
    """What a scene sets; what it leaves is drawn as in any world."""

    happen: Callable[[Sketch], None]
    agree: Agree
    profiles: tuple[Profile, ...] = GENERATED
    semantics: tuple[DeliverySemantics, ...] = _ONCE
    has_relay: bool = False
    fates: Mapping[Fate, float] | None = None
    """The weather; None: as in any world."""
    delay_ms: int = 20
    late_ms: int = 5_000
    rest_ms: int = 0
    """The world goes on so much longer after it has healed."""

    def weather(self, drawn: Weather) -> Weather:
        """That of the scene, or the one that was drawn."""
        if self.fates is None:
            return drawn
        return Weather(self.fates, delay_ms=self.delay_ms, late_ms=self.late_ms)


def scene_of(seed: int) -> tuple[str, Scene] | None:
    """The scene of the world, in a draw of its own: the other worlds know nothing of it."""
    chance = stream(seed, "scene")
    return chance.choice(tuple(SCENES.items())) if chance.random() < PART else None


def _first(sketch: Sketch) -> PlannedMessage:
    return min(sketch.letters, key=lambda one: one.at_ms)


def _soon_after(sketch: Sketch, letter: PlannedMessage, within_ms: int) -> int:
    return letter.at_ms + sketch.chance.randrange(within_ms)


def _forge(sketch: Sketch, letter: PlannedMessage, node: str, kind: str, within_ms: int) -> None:
    at_ms, agreement = _soon_after(sketch, letter, within_ms), line_id(letter.line)
    copies = sketch.chance.choice((1, 2))
    sketch.act(
        at_ms, "forge", node, kind=kind, agreement=agreement, of=letter.message_id, copies=copies
    )


def _nothing(sketch: Sketch) -> None:
    """Terms and weather are enough."""


# Terms that are over soon. Whatever was drawn for recovery and does not fit any more is left out.


def _quick(terms: DeliveryTerms, retries: int | None, **changes: object) -> DeliveryTerms:
    quick: dict[str, object] = {
        "timeout_s": 1,
        "retry_interval_s": 1,
        "retries": retries,
        "time_to_live_s": None,
        "persist_duration_s": 90,
        "fails_on_network_error": False,
        "recovery": RecoveryTerms(),
    }
    return changed(terms, **{**quick, **changes})  # type: ignore[arg-type]  # because fields differ


def _as_drawn(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    del chance
    return terms


def _short_lived(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    retries = 0 if terms.semantics in _SENT_ONCE else chance.choice((0, 1, 2))
    lives_s, accuracy_s = 1 + ROUTE_RETRIES, chance.choice((0, 1))
    return _quick(terms, retries, time_to_live_s=lives_s, msh_time_accuracy_s=accuracy_s)


def _sent_once(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    del chance
    return _quick(terms, 0, drop_duplicates=False)


def _numbered(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    return _quick(terms, chance.choice((1, 3)), on_exhausted=OnExhausted.SUSPEND)


def _strict(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    retries, status = chance.choice((0, 1)), changed(terms.ack_status, is_passed_on=False)
    return _quick(
        terms, retries, strict_release=True, ack_status=status, on_exhausted=OnExhausted.FAIL
    )


def _patient(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    """One transmission, whose answer may take as long as the worst weather."""
    return _quick(terms, chance.choice((1, 3)), timeout_s=10, retry_interval_s=10)


def _impatient(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    return _quick(terms, chance.choice((0, 0, 1)), on_exhausted=OnExhausted.SUSPEND)


def _pausing(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    retries = None if terms.semantics is DeliverySemantics.EXACTLY_ONCE else 3
    return _quick(terms, retries, transient_retries=chance.choice((0, 1, 2, 3)))


def _reporting(chance: Random, terms: DeliveryTerms) -> DeliveryTerms:
    return changed(terms, reports_processing=chance.random() < 0.7)


# What happens.


def _numbers_disagree(sketch: Sketch) -> None:
    """A receiver is offered a number that is wrong, or knows no numbers any more."""
    chance, first = sketch.chance, _first(sketch)
    for _ in range(chance.choice((1, 2))):
        follow(sketch, first, first.at_ms + chance.randrange(2_000, 9_000))
    if chance.random() < 0.5:
        _forge(sketch, first, first.target, "wrong-number", 4_000)
    else:
        lost_ms = first.at_ms + chance.randrange(1_000, 5_000)
        sketch.act(lost_ms, "forget_numbers", first.target, down_ms=10)
    if chance.random() < 0.6:
        later_ms = first.at_ms + chance.randrange(5_000, 12_000)
        for node, partner in ((first.target, first.source), (first.source, first.target)):
            name = str(party(partner))
            sketch.act(later_ms, "operate", node, what="resume", partner=name)


def _collide(sketch: Sketch) -> None:
    """Its receiver refuses other content under the name of an acknowledged message."""
    letter = _first(sketch)
    _forge(sketch, letter, letter.target, "collision", 8_000)


def _speak_falsely(sketch: Sketch) -> None:
    """Words about a message that is under way, of a stranger or in another profile."""
    letter = _first(sketch)
    kinds = ("ack-other-profile", "error-other-profile", "error-from-stranger")
    _forge(sketch, letter, letter.source, sketch.chance.choice(kinds), 4_000)


def _refuse_what_comes_back(sketch: Sketch) -> None:
    """No acknowledgement leaves until the first message is given up, and then the next does."""
    chance, first = sketch.chance, _first(sketch)
    for number in range(1, 1 + chance.choice((1, 2, 3))):
        fate = chance.choice((Fate.REFUSED, Fate.REFUSED, Fate.LOST))
        sketch.fates[f"{first.target}>{first.source}#{number}"] = fate
    for _ in range(chance.choice((1, 2))):
        follow(sketch, first, first.at_ms + chance.randrange(1, 9_000))


def _fill_behind_the_commit(sketch: Sketch) -> None:
    """Stored and acknowledged, and then there is no room for the hand-over."""
    letter, ms = _first(sketch), sketch.chance.choice((3_000, 15_000))
    sketch.act(_soon_after(sketch, letter, 800), "fill", letter.target, ms=ms)


def _set_back_applications(sketch: Sketch) -> None:
    """Programs that were restored from a copy report what they had reported before."""
    for name in sketch.parties:
        habits = sketch.machine[name]["habits"]
        sketch.set(name, habits=changed(habits, reports=1.0, falls_back=1.0))


def _forget_the_idle(sketch: Sketch) -> None:
    """A pair is idle until its counter is dropped, and then it is needed again."""
    last = max(sketch.letters, key=lambda one: one.at_ms)
    follow(sketch, last, last.at_ms + sketch.chance.randrange(8_000, 25_000))


def _wrap_soon(sketch: Sketch) -> None:
    """The next message but one has number 1, and copies of the first are still under way."""
    [line] = sketch.lines
    sketch.lines = (changed(line, begin_number=SEQUENCE_NUMBER_MAX - 1),)
    first = _first(sketch)
    for _ in range(sketch.chance.choice((1, 2))):
        follow(sketch, first, first.at_ms + sketch.chance.randrange(1, 3_000))


def _close_by_hand(sketch: Sketch) -> None:
    """Operators close the pair, too, while a word of the partner is under way."""
    first = _first(sketch)
    if sketch.chance.random() < 0.6:
        partner, at_ms = str(party(first.target)), _soon_after(sketch, first, 6_000)
        sketch.act(
            at_ms, "operate", first.source, what="suspend", partner=partner, reason="to be seen"
        )


def _let_nobody_be_behind_the_relay(sketch: Sketch) -> None:
    first = _first(sketch)
    down_ms = sketch.chance.choice((5_000, 20_000))
    sketch.act(max(first.at_ms - 10, 0), "kill", first.target, down_ms=down_ms)


def _name_by_key(sketch: Sketch) -> None:
    """Submissions that leave the MessageId to the gateway, and answers that are lost."""
    chance = sketch.chance
    names = [(one.node, one.args["id"]) for one in sketch.actions if one.kind == "submit"]
    # The same name once with a key and once as a MessageId are two submissions: not to be drawn.
    keyed = {name for name in dict.fromkeys(names) if chance.random() < 0.8}
    for at, action in enumerate(sketch.actions):
        if action.kind == "submit" and (action.node, action.args["id"]) in keyed:
            sketch.actions[at] = changed(action, args={**action.args, "is_keyed": True})
    first = _first(sketch)
    if chance.random() < 0.7:
        point, count = chance.choice(("before-commit", "after-commit")), chance.choice((1, 1, 2))
        sketch.act(20, "arm", first.source, point=point, count=count, down_ms=10)


SCENES: Mapping[str, Scene] = MappingProxyType(
    {
        "out-of-time": Scene(
            _nothing,
            _short_lived,
            semantics=(*_ONCE, *_ONCE, DeliverySemantics.AT_MOST_ONCE),
            fates={Fate.AGAIN_LATER: 0.4, Fate.LATE: 0.3, Fate.LOST: 0.1},
            late_ms=30_000,
            rest_ms=40_000,
        ),
        "sent-once-twice": Scene(
            _nothing,
            _sent_once,
            semantics=_SENT_ONCE,
            fates={Fate.TWICE: 0.5, Fate.AGAIN_LATER: 0.3},
            rest_ms=10_000,
        ),
        "numbers-disagree": Scene(_numbers_disagree, _numbered, (Profile.RM_2000,), fates={}),
        "collided": Scene(_collide, _patient, fates={}),
        "false-words": Scene(_speak_falsely, _as_drawn, fates={Fate.LOST: 0.5, Fate.REFUSED: 0.2}),
        "deaf-and-strict": Scene(_refuse_what_comes_back, _strict, (Profile.RM_2000,), fates={}),
        "full-behind-the-commit": Scene(
            _fill_behind_the_commit, _patient, fates={}, delay_ms=200, rest_ms=20_000
        ),
        "application-restored": Scene(_set_back_applications, _reporting),
        "idle-forgotten": Scene(
            _forget_the_idle, _as_drawn, (Profile.RM_2000,), fates={Fate.ANSWER_LOST: 0.1}
        ),
        "over-a-wrap": Scene(
            _wrap_soon, _numbered, (Profile.RM_2000,), fates={Fate.AGAIN_LATER: 0.5}, rest_ms=10_000
        ),
        "late-word": Scene(_close_by_hand, _impatient, fates={Fate.LATE: 0.1}, delay_ms=2_000),
        "nobody-behind-the-relay": Scene(
            _let_nobody_be_behind_the_relay,
            _pausing,
            semantics=(*_ONCE, *_ONCE, DeliverySemantics.EXACTLY_ONCE),
            has_relay=True,
            fates={},
        ),
        "keyed": Scene(_name_by_key, _as_drawn),
    }
)
"""By name, which is its tag."""
