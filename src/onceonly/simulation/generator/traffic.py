"""What applications and operators of a generated world want: messages, and words about them.

Nothing here is a fault of a machine or a network. Each class is on or off per world.
"""

from random import Random

from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.simulation.cast import line_id, party
from onceonly.simulation.generator.sketch import PlannedMessage, Sketch
from onceonly.simulation.plan import Habits, Line

REDELIVERED = 0.08
"""In so many worlds messages are handed over once more."""

LARGE_BYTES = 70_000
"""Past the 64 KiB up to which a payload is a row: it lies in the spool."""

_SIZES = (0, 60, 100, 100, 100, 100, 300, 2_000)
_PARTS = (0, 1, 1, 1, 1, 1, 1, 1, 2, 3)
_USUAL = (1, 1, 1, 1, 2, 2, 2, 3, 4)


def letters(sketch: Sketch) -> None:
    """Every message that is handed over, and in which rhythm."""
    chance = sketch.chance
    is_big = sketch.is_on("big", 0.003)
    count = chance.randrange(20, 50) if is_big else chance.choice(_USUAL)
    sketch.span_ms = chance.choice((200, 3_000, 10_000, 20_000))
    is_one_way = chance.random() < 0.4
    is_large, is_alike = sketch.is_on("large", 0.012), sketch.is_on("same-payload", 0.1)
    for number in range(count):
        line = chance.choice(sketch.lines)
        ends = (line.one, line.other)
        source, target = ends if is_one_way or chance.random() < 0.6 else ends[::-1]
        at_ms = 50 + chance.randrange(sketch.span_ms)
        letter = PlannedMessage(f"m{number}", source, target, line, at_ms)
        like = {"like": "m0"} if is_alike and chance.random() < 0.5 else {}
        size = LARGE_BYTES if is_large and number == 0 else chance.choice(_SIZES)
        parts = 1 if is_large and number == 0 else chance.choice(_PARTS)
        submit(sketch, letter, size=size, parts=parts, **like)
        sketch.letters.append(letter)
    if sketch.is_on("idle", 0.12):
        _after_a_pause(sketch)


def submit(sketch: Sketch, letter: PlannedMessage, **content: object) -> None:
    """The application of its source hands the message over."""
    sketch.act(
        letter.at_ms,
        "submit",
        letter.source,
        to=letter.target,
        id=letter.name,
        agreement=line_id(letter.line),
        **content,
    )


def _after_a_pause(sketch: Sketch) -> None:
    """One more message on a line that was long idle, whose counter may be forgotten by then."""
    at_ms = sketch.span_ms + sketch.chance.randrange(10_000, 40_000)
    follow(sketch, sketch.letters[0], at_ms, name="late")


def follow(sketch: Sketch, letter: PlannedMessage, at_ms: int, name: str = "") -> None:
    """One more message the way of another; the world lasts as long as that takes."""
    letter = changed(letter, name=name or f"m{len(sketch.letters)}", at_ms=at_ms)
    sketch.span_ms = max(sketch.span_ms, at_ms)
    sketch.letters.append(letter)
    submit(sketch, letter)


def repeats(sketch: Sketch) -> None:
    """The same MessageId once more: with the same content, or with another."""
    if sketch.is_on("resubmitted", 0.08):
        _again(sketch)
    if sketch.is_on("id-taken", 0.05):
        _again(sketch, like="something-else")


def _again(sketch: Sketch, **changes: object) -> None:
    first = sketch.chance.choice([one for one in sketch.actions if one.kind == "submit"])
    at_ms = first.at_ms + sketch.chance.choice((0, 1, 500, 5_000))
    sketch.actions.append(changed(first, at_ms=at_ms, args={**first.args, **changes}))


def habits(sketch: Sketch) -> None:
    """What the applications do with what they are given."""
    chance = sketch.chance
    answers = sketch.is_on("answers", 0.18)
    refuses = sketch.is_on("refuses", 0.06)
    for name in sketch.parties:
        own = Habits(
            read_ms=chance.choice((10, 100, 500, 500, 3_000)),
            thinks_ms=chance.choice((0, 0, 0, 3_000)),
            works_ms=chance.choice((10, 1_000, 8_000)),
            reports=chance.choice((0.0, 0.5, 1.0)),
            refuses=chance.choice((0.2, 1.0)) if refuses else 0.0,
            answers=chance.choice((0.5, 1.0)) if answers else 0.0,
        )
        sketch.set(name, habits=own)


def operators(sketch: Sketch) -> None:
    """What operators and applications ask for while messages are under way."""
    if sketch.is_on("inquire", 0.08):
        _about_a_letter(sketch, "inquire")
    if sketch.is_on("cancel", 0.1):
        _about_a_letter(sketch, "cancel")
    if sketch.is_on("new-version", 0.06):
        _about_a_letter(sketch, "cancel", is_for_new_version=True)
    if sketch.is_on("resend", 0.08):
        _about_a_letter(sketch, "resend")
        _send_what_never_left(sketch)
    if sketch.is_on("ping", 0.08):
        letter = sketch.chance.choice(sketch.letters)
        partner = str(party(letter.target))
        _operate(sketch, sketch.any_time(), letter.source, "ping", partner=partner, wait_s=5.0)
    if sketch.is_on("suspend", 0.06):
        _suspend(sketch)
    if sketch.is_on("drain", 0.06):
        _drain(sketch)


def redeliveries(sketch: Sketch, chance: Random) -> None:
    """Operators whose application has lost what it had, perhaps more than once (I1, L2)."""
    if chance.random() >= REDELIVERED:
        return
    sketch.tags.add("redeliver")
    for _ in range(chance.choice((1, 1, 2, 4))):
        letter = chance.choice(sketch.letters)
        at_ms = letter.at_ms + chance.randrange(chance.choice((300, 3_000, 30_000)))
        for later_ms in (0, 10)[: chance.choice((1, 1, 2))]:
            at = at_ms + later_ms
            _operate(sketch, at, letter.target, "redeliver", message_id=letter.message_id)


def _operate(sketch: Sketch, at_ms: int, node: str, what: str, **args: object) -> None:
    sketch.act(at_ms, "operate", node, what=what, **args)


def _about_a_letter(sketch: Sketch, what: str, **args: object) -> None:
    chance = sketch.chance
    for _ in range(chance.choice((1, 1, 2))):
        letter = chance.choice(sketch.letters)
        at_ms = letter.at_ms + chance.randrange(chance.choice((20, 300, 3_000, 30_000)))
        _operate(sketch, at_ms, letter.source, what, message_id=letter.message_id, **args)


def _send_what_never_left(sketch: Sketch) -> None:
    letter, at_ms = sketch.chance.choice(sketch.letters), sketch.any_time()
    partner = str(party(letter.target))
    _operate(sketch, at_ms, letter.source, "resend_unsent", partner=partner)


def _suspend(sketch: Sketch) -> None:
    letter, at_ms = sketch.chance.choice(sketch.letters), sketch.any_time()
    partner = str(party(letter.target))
    _operate(sketch, at_ms, letter.source, "suspend", partner=partner, reason="to be seen")
    if sketch.chance.random() < 0.5:
        later_ms = at_ms + sketch.chance.randrange(1, 20_000)
        _operate(sketch, later_ms, letter.source, "resume", partner=partner)


def _drain(sketch: Sketch) -> None:
    node, at_ms = sketch.chance.choice(sketch.letters).target, sketch.any_time()
    later_ms = at_ms + sketch.chance.randrange(1, 15_000)
    _operate(sketch, at_ms, node, "set_draining", is_draining=True)
    _operate(sketch, later_ms, node, "set_draining", is_draining=False)


def shorter(sketch: Sketch, terms: DeliveryTerms) -> dict[str, int]:
    """Other terms that fit as well as these: less of some of them."""
    chance = sketch.chance
    changes = {"timeout_s": max(1, terms.timeout_s // 2)}
    if chance.random() < 0.5:
        changes["retry_interval_s"] = max(1, terms.retry_interval_s // 2)
    if terms.acknowledges_on_request:  # Its first wait is a RetryInterval, too.
        changes["timeout_s"] = changes.get("retry_interval_s", terms.retry_interval_s)
    if terms.retries is not None and chance.random() < 0.5:
        changes["retries"] = chance.randrange(terms.retries + 1)
    return changes


def is_numbered(line: Line) -> bool:
    """Whether what goes along the line has SequenceNumbers."""
    return line.profile is Profile.RM_2000
