"""What goes wrong in a generated world: faults of machines, of the network, of clocks, and forgers.

Each class is on or off per world (swarm testing), so that every combination comes up; its tag is
its name in `Plan.tags`. Classes after which an invariant holds in another form only (a restored
backup, lost numbers, clocks that differ by more than was agreed) are rare.
"""

from collections.abc import Callable

from onceonly.gateway.drill import POINTS
from onceonly.message.message import AckRequested
from onceonly.message.terms import Intermediary, RecoveryTerms
from onceonly.message.word import changed
from onceonly.simulation.cast import line_id
from onceonly.simulation.forgery import KINDS
from onceonly.simulation.generator.sketch import Sketch
from onceonly.simulation.generator.traffic import is_numbered, shorter
from onceonly.simulation.network import FAULTS, Fate, Weather

_HOUR_MS, _YEAR_MS = 3_600_000, 365 * 86_400_000

NEVER_REACHED = frozenset(
    {
        *("before-publish", "after-publish"),
        *("before-bulk-item", "after-bulk-item"),
        *("before-claim", "after-claim", "after-take-in", "before-settle"),
        *("before-drop", "after-drop", "before-post", "after-post"),
    }
)
"""Points that no world comes by. Journals are not published in it: they are looked at where they
are. No operator acts on many messages at once, and there are neither folders nor webhooks: kills at
their points are made with real processes (`tests/nemesis`)."""

KILL_POINTS = tuple(point for point in POINTS if point not in NEVER_REACHED)

_BAD_WEATHER_MAX = 0.8
"""Of all packages: with more, hardly anything happens but waiting."""


def weather(sketch: Sketch) -> Weather:
    """What the network does to packages until the world heals."""
    chance, left = sketch.chance, _BAD_WEATHER_MAX
    fates: dict[Fate, float] = {}
    for fate in FAULTS:
        if sketch.is_on(f"net-{fate}", 0.11):
            part = min(left, chance.choice((0.05, 0.1, 0.2, 0.3, 0.5)))
            fates[fate], left = part, left - part
    if "slow-mail" in sketch.tags:
        fates[Fate.LATE] = max(fates.get(Fate.LATE, 0.0), 0.4)
    return Weather(fates, delay_ms=chance.choice((1, 20, 20, 200, 900)), late_ms=_late_ms(sketch))


def _late_ms(sketch: Sketch) -> int:
    usual: int = sketch.chance.choice((5_000, 30_000, 60_000))
    return 4 * _HOUR_MS if "slow-mail" in sketch.tags else usual


def strike(sketch: Sketch) -> None:
    """Let every class that is on have its faults."""
    for tag, (probability, happen) in CLASSES.items():
        if sketch.is_on(tag, probability):
            happen(sketch)
    # After the others, so that what is drawn here changes nothing else in a world.
    points = _owing_points(sketch)
    probability = 0.6 if "refuses" in sketch.tags else 0.3  # Hardly another world owes a notice.
    if points and sketch.is_on("kill-owing", probability):
        point, node = sketch.chance.choice(points)
        sketch.act(20, "arm", node, point=point, count=1, down_ms=_down_ms(sketch))


def _owing_points(sketch: Sketch) -> list[tuple[str, str]]:
    """Where a machine dies while it owes what only its store still knows of."""
    found: list[tuple[str, str]] = []
    for letter in sketch.letters:
        terms = letter.line.terms
        if terms.notifies_failures and "refuses" in sketch.tags:
            # More often after it: if both points are armed, the second one is hardly ever reached.
            found += [*_around("notice", letter.target), *2 * [("after-notice", letter.target)]]
        for relay, mode in letter.line.through:
            if mode is Intermediary.ACCEPT:
                found += [("after-commit", relay), *_around("transmit", relay)]
    return found


def _kill(sketch: Sketch) -> None:
    for _ in range(sketch.chance.choice((1, 1, 2, 4))):
        sketch.act(sketch.any_time(), "kill", sketch.any_machine(), down_ms=_down_ms(sketch))


def _down_ms(sketch: Sketch) -> int:
    down_ms: int = sketch.chance.choice((10, 300, 1_000, 8_000))
    return down_ms


def _kill_at_point(sketch: Sketch) -> None:
    chance = sketch.chance
    for _ in range(chance.choice((1, 1, 2, 3))):
        at_ms, down_ms = chance.choice((20, sketch.any_time())), _down_ms(sketch)
        rare = _rare_points(sketch)
        if rare and chance.random() < 0.6:
            point, node = chance.choice(rare)
            sketch.act(20, "arm", node, point=point, count=1, down_ms=down_ms)
        else:
            point, count = chance.choice(KILL_POINTS), chance.choice((1, 1, 2, 3))
            node = sketch.any_machine()
            sketch.act(at_ms, "arm", node, point=point, count=count, down_ms=down_ms)


def _rare_points(sketch: Sketch) -> list[tuple[str, str]]:
    """Points that few worlds come by, and where this one does."""
    found: list[tuple[str, str]] = []
    for letter in sketch.letters:
        terms, ends = letter.line.terms, (letter.source, letter.target)
        if terms.delivery_receipt_requested is not AckRequested.NONE:
            found += _around("receipt", letter.target)
        if terms.notifies_failures and "refuses" in sketch.tags:
            found += _around("notice", letter.target)
        for relay, mode in letter.line.through:
            if mode is Intermediary.ACCEPT:
                found += _around("notice", relay)
        if sketch.tags & _ASKING or terms.recovery != RecoveryTerms():
            found += _around("report", letter.target) + _around("inquire", letter.source)
        if "purge" in sketch.tags:
            found += [pair for node in ends for pair in _around("purge", node)]
    return found


def _around(what: str, node: str) -> list[tuple[str, str]]:
    return [(f"before-{what}", node), (f"after-{what}", node)]


_ASKING = frozenset({"inquire", "ping", "cancel", "new-version"})


def _kill_starting(sketch: Sketch) -> None:
    chance = sketch.chance
    down_ms, after_us = chance.choice((10, 1_000)), chance.randrange(5_000)
    node = sketch.any_machine()
    sketch.act(sketch.any_time(), "kill_starting", node, down_ms=down_ms, after_us=after_us)


def _power_cut(sketch: Sketch) -> None:
    for _ in range(sketch.chance.choice((1, 1, 2))):
        sketch.act(sketch.any_time(), "power_cut", sketch.any_machine(), down_ms=_down_ms(sketch))


def _freeze(sketch: Sketch) -> None:
    ms = sketch.chance.choice((50, 2_000, 15_000, 60_000))
    sketch.act(sketch.any_time(), "freeze", sketch.any_machine(), ms=ms)


def _jump_hour(sketch: Sketch) -> None:
    _jump(sketch, _HOUR_MS)


def _jump_year(sketch: Sketch) -> None:
    _jump(sketch, _YEAR_MS)


def _jump(sketch: Sketch, offset_ms: int) -> None:
    """Of one machine of the world: two that jump alike would be as if time had passed."""
    chance = sketch.chance
    node, at_ms = sketch.parties[0], sketch.any_time()
    offset_ms *= chance.choice((1, -1))
    sketch.act(at_ms, "jump", node, offset_ms=offset_ms)
    if chance.random() < 0.5:
        later_ms = at_ms + chance.randrange(1, 20_000)
        sketch.act(later_ms, "jump", node, offset_ms=-offset_ms)


def _offset(sketch: Sketch) -> None:
    """Clocks that differ by no more than every agreement allows."""
    half_s = min(line.terms.msh_time_accuracy_s for line in sketch.lines) // 2
    for name in sketch.everybody:
        sketch.set(name, offset_s=sketch.chance.choice((-half_s, 0, half_s)))


def _offset_beyond(sketch: Sketch) -> None:
    """One clock that differs by more than was agreed."""
    beyond_s = max(line.terms.msh_time_accuracy_s for line in sketch.lines) + 1
    offset_s = sketch.chance.choice((-1, 1)) * sketch.chance.choice((beyond_s, 90, 4_000))
    sketch.set(sketch.any_machine(), offset_s=offset_s)


def _drift(sketch: Sketch) -> None:
    for name in sketch.everybody:
        sketch.set(name, drift_ppm=sketch.chance.choice((-200, 0, 200)))


def _full_disk(sketch: Sketch) -> None:
    ms = sketch.chance.choice((500, 3_000, 15_000))
    sketch.act(sketch.any_time(), "fill", sketch.any_machine(), ms=ms)


def _broken_disk(sketch: Sketch) -> None:
    sketch.act(sketch.any_time(), "break", sketch.any_machine(), down_ms=_down_ms(sketch))


def _slow_disk(sketch: Sketch) -> None:
    sketch.set(sketch.any_machine(), thread_ms=sketch.chance.choice((200.0, 4_000.0)))


def _partition_one_way(sketch: Sketch) -> None:
    one, other = _neighbours(sketch)
    ms = sketch.chance.choice((500, 5_000, 25_000))
    sketch.act(sketch.any_time(), "cut", one, to=other, ms=ms)


def _partition(sketch: Sketch) -> None:
    one, other = _neighbours(sketch)
    at_ms, ms = sketch.any_time(), sketch.chance.choice((500, 5_000, 25_000))
    sketch.act(at_ms, "cut", one, to=other, ms=ms)
    sketch.act(at_ms, "cut", other, to=one, ms=ms)


def _neighbours(sketch: Sketch) -> tuple[str, str]:
    letter = sketch.chance.choice(sketch.letters)
    path = [letter.source, *(relay for relay, _ in letter.line.through), letter.target]
    at = sketch.chance.randrange(len(path) - 1)
    ends = (path[at], path[at + 1])
    return ends if sketch.chance.random() < 0.5 else ends[::-1]


def _away(sketch: Sketch) -> None:
    node, ms = sketch.chance.choice(sketch.letters).target, sketch.chance.choice((3_000, 60_000))
    sketch.act(sketch.any_time(), "stay_away", node, ms=ms)


def _new_terms(sketch: Sketch) -> None:
    letter = sketch.chance.choice(sketch.letters)
    sketch.act(
        sketch.any_time(),
        "reconfigure",
        letter.source,
        agreement=line_id(letter.line),
        down_ms=_down_ms(sketch),
        **shorter(sketch, letter.line.terms),
    )


def _restored(sketch: Sketch) -> None:
    letter = sketch.chance.choice(sketch.letters)
    node = sketch.chance.choice((letter.source, letter.target))
    at_ms = sketch.any_time()
    sketch.act(at_ms, "back_up", node)
    later_ms = at_ms + sketch.chance.randrange(100, 15_000)
    sketch.act(later_ms, "restore", node, down_ms=_down_ms(sketch))


def _numbers_lost(sketch: Sketch) -> None:
    letter = sketch.chance.choice(sketch.letters)
    node = sketch.chance.choice((letter.source, letter.target))
    sketch.act(sketch.any_time(), "forget_numbers", node, down_ms=_down_ms(sketch))


def _forged(sketch: Sketch) -> None:
    chance = sketch.chance
    for _ in range(chance.choice((1, 2, 4))):
        letter, kind = chance.choice(sketch.letters), chance.choice(tuple(KINDS))
        at_ms = letter.at_ms + chance.randrange(chance.choice((50, 2_000, 15_000)))
        _forge(sketch, at_ms, kind)


def _flood(sketch: Sketch) -> None:
    kind = sketch.chance.choice(("ack-unknown", "ack-from-stranger"))
    _forge(sketch, sketch.any_time(), kind, copies=20)


def _forge(sketch: Sketch, at_ms: int, kind: str, *, copies: int = 1) -> None:
    """What is said of a message goes to its sender, the message itself to its receiver."""
    letter = sketch.chance.choice(sketch.letters)
    is_said = kind.startswith(("ack", "error", "report"))
    node = letter.source if is_said else letter.target
    if kind == "wrong-number":
        copies = sketch.chance.choice((1, 2))
    sketch.act(
        at_ms,
        "forge",
        node,
        kind=kind,
        agreement=line_id(letter.line),
        of=letter.message_id,
        copies=copies,
    )


def replay(sketch: Sketch, at_ms: int) -> None:
    """Somebody brings a package once more that was taken long ago."""
    _forge(sketch, at_ms, "replay")


def _wrap(sketch: Sketch) -> None:
    number = 999_999_999 - sketch.chance.randrange(3)
    sketch.lines = tuple(
        changed(line, begin_number=number) if is_numbered(line) else line for line in sketch.lines
    )


def _small_queue(sketch: Sketch) -> None:
    sketch.set(sketch.any_machine(), queued_max=sketch.chance.choice((1, 2, 3)))


CLASSES: dict[str, tuple[float, Callable[[Sketch], None]]] = {
    "kill": (0.2, _kill),
    "kill-at-point": (0.25, _kill_at_point),
    "kill-starting": (0.08, _kill_starting),
    "power-cut": (0.08, _power_cut),
    "freeze": (0.07, _freeze),
    "jump-hour": (0.04, _jump_hour),
    "jump-year": (0.04, _jump_year),
    "offset": (0.1, _offset),
    "offset-beyond": (0.02, _offset_beyond),
    "drift": (0.1, _drift),
    "full-disk": (0.08, _full_disk),
    "broken-disk": (0.08, _broken_disk),
    "slow-disk": (0.04, _slow_disk),
    "partition-one-way": (0.1, _partition_one_way),
    "partition": (0.08, _partition),
    "away": (0.06, _away),
    "new-terms": (0.05, _new_terms),
    "restored": (0.012, _restored),
    "numbers-lost": (0.012, _numbers_lost),
    "forged": (0.08, _forged),
    "flood": (0.02, _flood),
    "wrap": (0.12, _wrap),
    "small-queue": (0.03, _small_queue),
}
"""By tag: how often the class is on, and what it does."""
