"""The judges of a world: each invariant broken in a recorded history is found, by its name.

A history is recorded from real gateways in a small world, and then something is changed in it that
only a gateway with a bug would have left behind.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
from recorded import (
    NUMBERED,
    WINDOWED,
    alter,
    drop,
    exchange,
    found,
    insert,
    place,
    plan,
    ran,
    rewrite,
    silence,
    unheard,
)

from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Direction, Event
from onceonly.message.message import DeliverySemantics
from onceonly.message.terms import Intermediary, OnExhausted
from onceonly.message.word import changed
from onceonly.simulation.checkers import check, truth
from onceonly.simulation.generator.workload import plan_of
from onceonly.simulation.history import Happening, History
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Habits, Machine, Plan
from onceonly.simulation.world import World

LOST = {"A>B#1": Fate.LOST}
TWICE = {"A>B#1": Fate.TWICE}
REWRITTEN = {"A>B#1": Fate.REWRITTEN}
ALL_REWRITTEN = {f"A>B#{number}": Fate.REWRITTEN for number in range(1, 4)}
UNANSWERED = {f"B>A#{number}": Fate.LOST for number in range(1, 4)}
"""Every acknowledgement of the first message is lost until its retries are used up."""


class Break(NamedTuple):
    """What is done to the history of which world, and which invariant breaks."""

    invariant: str
    of: Plan
    edit: Callable[[History], None]


def _insert_like(model: tuple[Event, str], after: tuple[Event, str], **fields: object) -> Callable:
    def edit(history: History) -> None:
        insert(history, place(history, *model), after=place(history, *after), **fields)

    return edit


def _deliver_again(history: History) -> None:
    history.delivered.append(changed(history.delivered[0], order=history.order))


def _deliver_other_content(history: History) -> None:
    history.delivered[0] = changed(history.delivered[0], content=(b"other",))


def _deliver_invented(history: History) -> None:
    first = history.delivered[0]
    key = first.key._replace(message_id="nobody@A.example")
    history.delivered.append(changed(first, key=key))


def _suspend(history: History, *, resumed: bool) -> None:
    """Between the two transmissions of the first message."""
    pair = {"message_id": None, "attempt": None, "agreement_id": None}
    model = place(history, Event.TRANSMITTING, "m0")
    at = place(history, Event.TRANSMITTED, "m0")
    insert(history, model, after=at, event=Event.PAIR_SUSPENDED, **pair)
    if resumed:
        insert(history, model, after=at + 1, event=Event.PAIR_RESUMED, **pair)


def _break_disk(history: History) -> None:
    started = next(one for one in history.happenings if one.what == "ready" and one.node == "A")
    after = started.order + 1
    history.happenings.append(Happening(after, 0, "A", "broken"))
    history.happenings.sort(key=lambda one: one.order)


def _late_hand_over(history: History) -> None:
    model = place(history, Event.HANDED_OVER, "m0")
    insert(history, model, after=place(history, Event.HANDED_OVER, "m1"))
    del history.rows[model]


def _fail_on_the_way(history: History) -> None:
    rows = [row.record.event if row.node == "R" else None for row in history.rows]
    at = rows.index(Event.TRANSMITTING)
    insert(history, at, after=at, event=Event.FAILED)


def _swap_submits(history: History) -> None:
    first, second = (place(history, Event.SUBMITTED, name) for name in ("m0", "m1"))
    exchange(history, first, second)


def _quarantine(history: History) -> None:
    model = place(history, Event.STORED, "m0")
    pair = {"message_id": None, "agreement_id": None, "sequence_number": None}
    insert(history, model, after=model, event=Event.PAIR_QUARANTINED, **pair)


def _purge(history: History) -> None:
    model = place(history, Event.STARTED)
    at = place(history, Event.HANDED_OVER, "m0")
    insert(history, model, after=at, event=Event.PURGED, reason="1 received")


def _withheld_hand_over(history: History) -> None:
    alter(history, Event.ACK_SENT, "m0", outcome="refused", status_code=None)


def _refuse_after_a_resume(history: History) -> None:
    model = place(history, Event.STORED, "m1")
    resumed = {"event": Event.PAIR_RESUMED, "message_id": None, "sequence_number": None}
    wrong = {"event": Event.REJECTED, "error_code": ErrorCode.INVALID_SEQUENCE_NUMBER}
    at = place(history, Event.HANDED_OVER, "m0")
    insert(history, model, after=at, **wrong)
    insert(history, model + 1, after=at, **resumed)


def _mistake_for_a_collision(history: History) -> None:
    at = place(history, Event.DUPLICATE_ELIMINATED)
    row = history.rows[at]
    record = changed(row.record, event=Event.COLLISION_DETECTED, digest="of something else")
    history.rows[at] = changed(row, record=record)


def _tell_alike(history: History) -> None:
    """The receiver says the header that was written, and another came."""
    submitted = history.rows[place(history, Event.SUBMITTED, "m0")].record
    alter(history, Event.STORED, "m0", header_digest=submitted.header_digest)


def _accept_under_another_id(history: History) -> None:
    first = history.accepted[0]
    key = first.key._replace(message_id="m0-again@A.example")
    history.accepted.append(changed(first, key=key, order=history.order))


def _accept_other_content(history: History) -> None:
    first = history.accepted[0]
    history.accepted.append(changed(first, content=(b"other",), order=history.order))


def _leave_withheld(history: History) -> None:
    """The second try of the first acknowledgement was never made, nor what came of it."""
    drop(history, Event.HANDED_OVER, "m0")
    drop(history, Event.ACK_SENT, "m0", nth=-1)


STRICT = changed(NUMBERED, strict_release=True, on_exhausted=OnExhausted.FAIL)
NO_ACK_OF_M0 = {f"B>A#{number}": Fate.REFUSED for number in range(1, 4)}
BEST_EFFORT = changed(
    NUMBERED,
    semantics=DeliverySemantics.BEST_EFFORT,
    retries=0,
    on_exhausted=OnExhausted.FAIL,
)
A_MOMENT = (Event.TRANSMITTED, "m0")
SIGNED_BY_NOBODY = "0" * 32 + "@A.example"
ENDLESS = changed(NUMBERED, semantics=DeliverySemantics.EXACTLY_ONCE, retries=None)
GIVES_UP = changed(NUMBERED, on_exhausted=OnExhausted.FAIL)
REPORTS = plan(NUMBERED, machines=(Machine("A"), Machine("B", habits=Habits(reports=1.0))))

REDELIVERED = plan(
    NUMBERED,
    Action(20_000, "operate", "B", {"what": "redeliver", "message_id": "m0@A.example"}),
    heal_ms=30_000,
)
"""An operator at B had the first message handed over once more."""

SET_BACK_BEFORE = (Action(100, "back_up", "A"), Action(300, "restore", "A"))
"""The copy is put back before anything is submitted: nothing is excused behind it."""

ACK_OF_M0 = "B>A#1"
OTHER_ACK = (b"<MessageId>", b"<MessageId>x")

BREAKS = (
    Break("I1", plan(), _deliver_again),
    Break("I1", plan(), _insert_like((Event.HANDED_OVER, "m0"), (Event.HANDED_OVER, "m0"))),
    Break("I1", REDELIVERED, _deliver_again),
    Break("I1", REDELIVERED, partial(drop, event=Event.HANDED_OVER_AGAIN, name="m0")),
    Break(
        "I1",
        REDELIVERED,
        _insert_like((Event.HANDED_OVER_AGAIN, "m0"), (Event.HANDED_OVER, "m2")),
    ),
    Break(
        "I1",
        plan(),
        _insert_like((Event.HANDED_OVER, "m0"), (Event.HANDED_OVER, "m0"), attempt=2),
    ),
    Break("I12", REDELIVERED, partial(drop, event=Event.HANDED_OVER, name="m0", nth=1)),
    Break("E1", REDELIVERED, partial(drop, event=Event.HANDED_OVER, name="m0", nth=1)),
    Break("L2", REDELIVERED, lambda history: history.delivered.pop()),
    Break("R-21", REDELIVERED, partial(drop, event=Event.HANDED_OVER_AGAIN, name="m0")),
    Break("I2", plan(), _deliver_other_content),
    Break("I2", plan(), _deliver_invented),
    Break("I3", plan(), partial(drop, event=Event.STORED, name="m0")),
    Break(
        "I36", plan(relay=Intermediary.ACCEPT, terms=WINDOWED), partial(drop, event=Event.STORED)
    ),
    Break("I4", plan(), partial(silence, link=ACK_OF_M0)),
    Break("I5", plan(fates=TWICE), lambda history: rewrite(history, "B>A#2", *OTHER_ACK)),
    Break("I5", plan(fates=TWICE), partial(drop, event=Event.DUPLICATE_ELIMINATED, name="m0")),
    Break(
        "I6",
        plan(),
        lambda history: rewrite(history, ACK_OF_M0, b"BestEffort", b"OnceAndOnlyOnce"),
    ),
    Break("I7", plan(), partial(alter, event=Event.STORED, name="m1", sequence_number=7)),
    Break("I7", plan(), _insert_like((Event.STORED, "m0"), (Event.HANDED_OVER, "m0"))),
    Break(
        "I8",
        plan(fates=TWICE),
        partial(alter, event=Event.DUPLICATE_ELIMINATED, digest="of something else"),
    ),
    Break(
        "I8",
        plan(fates=TWICE),
        partial(alter, event=Event.DUPLICATE_ELIMINATED, header_digest="of something else"),
    ),
    Break("I2", plan(), partial(alter, event=Event.STORED, name="m0", header_digest="of another")),
    Break("I2", plan(fates=REWRITTEN), _tell_alike),
    Break("I2", plan(NUMBERED, *SET_BACK_BEFORE, fates=ALL_REWRITTEN), _tell_alike),
    Break(
        "I9",
        plan(changed(NUMBERED, time_to_live_s=600)),
        partial(alter, event=Event.STORED, name="m0", at=1 << 60),
    ),
    Break("I10", plan(), partial(alter, event=Event.STORED, name="m0", at=1 << 60)),
    Break("I10", plan(), _purge),
    Break("I11", plan(STRICT), _withheld_hand_over),
    Break("I12", plan(), partial(drop, event=Event.HANDED_OVER, name="m0")),
    Break("I13", plan(), partial(drop, event=Event.STORED, name="m0")),
    Break("I14", plan(), partial(drop, event=Event.TRANSMITTING, name="m0")),
    Break("I14", plan(), partial(drop, event=Event.SUBMITTED, name="m0")),
    Break("I15", plan(), _insert_like((Event.TRANSMITTING, "m1"), (Event.TRANSMITTING, "m0"))),
    Break("I16", plan(), _late_hand_over),
    Break("I16", plan(), _swap_submits),
    Break("I17", plan(fates=LOST), lambda history: rewrite(history, "A>B#2", b"NewOrder", b"Old")),
    Break("I18", plan(), partial(alter, event=Event.TRANSMITTING, name="m0", attempt=4)),
    Break(
        "I18",
        plan(fates=LOST),
        partial(alter, event=Event.TRANSMITTING, name="m0", nth=1, attempt=1),
    ),
    Break("I18", plan(GIVES_UP, fates=UNANSWERED), partial(silence, link="A>B#3")),
    Break(
        "I19",
        plan(fates=LOST),
        partial(alter, event=Event.TRANSMITTING, name="m0", nth=1, monotonic_ns=0),
    ),
    Break(
        "I20",
        plan(),
        _insert_like((Event.ACK_RECEIVED, "m0"), (Event.ACK_RECEIVED, "m0"), event=Event.FAILED),
    ),
    Break(
        "I21",
        plan(GIVES_UP, fates=UNANSWERED),
        partial(alter, event=Event.EXHAUSTED, reason="TimeToLive passed without anything"),
    ),
    Break("I22", plan(fates=UNANSWERED), partial(drop, event=Event.NOTIFIED, name="m0")),
    Break(
        "I23",
        plan(GIVES_UP, fates=UNANSWERED),
        _insert_like((Event.ACK_RECEIVED, "m1"), (Event.NOTIFIED, "m0"), message_id="m0@A.example"),
    ),
    Break(
        "I24",
        plan(fates=UNANSWERED),
        partial(alter, event=Event.NOTIFIED, name="m0", severity=Severity.ERROR),
    ),
    Break(
        "I26",
        plan(),
        _insert_like((Event.TRANSMITTING, "m0"), (Event.TRANSMITTING, "m0"), event=Event.CANCELLED),
    ),
    Break("I27", plan(fates=LOST), partial(_suspend, resumed=False)),
    Break("I28", plan(fates=LOST), partial(_suspend, resumed=True)),
    Break("I30", plan(), partial(unheard, link="B>A")),
    Break("I31", plan(), _insert_like((Event.SUBMITTED, "m0"), (Event.SUBMITTED, "m1"))),
    Break(
        "I31",
        plan(),
        partial(alter, event=Event.SUBMITTED, name="m1", reason="new version of m0@A.example"),
    ),
    Break("I32", plan(), partial(alter, event=Event.TRANSMITTING, name="m1", sequence_number=5)),
    Break(
        "I33",
        plan(),
        _insert_like(
            (Event.TRANSMITTING, "m0"),
            (Event.ACK_RECEIVED, "m0"),
            event=Event.SEQUENCE_RESET,
            message_id=None,
        ),
    ),
    Break("I35", plan(), _quarantine),
    Break("I36", plan(relay=Intermediary.RELAY), partial(unheard, link="B>R#1")),
    Break("I36", plan(relay=Intermediary.RELAY), partial(silence, link="R>B#3")),
    Break(
        "I37",
        plan(relay=Intermediary.ACCEPT, terms=WINDOWED),
        _fail_on_the_way,
    ),
    Break(
        "I38",
        plan(relay=Intermediary.RELAY),
        lambda history: rewrite(history, "R>B#1", b"NewOrder", b"OldOrder"),
    ),
    Break("I41", plan(), partial(drop, event=Event.TRANSMITTED, name="m0")),
    Break("I42", plan(), _break_disk),
    Break("I43", plan(), partial(alter, event=Event.TRANSMITTED, name="m0", store_epoch=0)),
    Break("I44", REPORTS, partial(alter, event=Event.PROCESSING_CHANGED, reason="complete")),
    Break(
        "I44",
        plan(),
        _insert_like((Event.STORED, "m0"), (Event.STORED, "m0"), event=Event.CANCEL_CONFIRMED),
    ),
    Break(
        "R-17",
        plan(ENDLESS),
        _insert_like((Event.TRANSMITTING, "m0"), (Event.TRANSMITTING, "m0"), event=Event.EXHAUSTED),
    ),
    Break(
        "R-18",
        plan(),
        _insert_like(
            (Event.STORED, "m0"),
            (Event.HANDED_OVER, "m0"),
            event=Event.REJECTED,
            error_code=ErrorCode.TIME_TO_LIVE_EXPIRED,
        ),
    ),
    Break(
        "R-16",
        plan(BEST_EFFORT),
        _insert_like(
            (Event.STORED, "m0"), (Event.HANDED_OVER, "m0"), event=Event.DUPLICATE_ELIMINATED
        ),
    ),
    Break(
        "I8",
        plan(fates=TWICE),
        _mistake_for_a_collision,
    ),
    Break(
        "I11",
        plan(STRICT),
        _insert_like((Event.ACK_SENT, "m0"), (Event.ACK_SENT, "m0"), event=Event.WITHHELD),
    ),
    Break("I11", plan(), partial(drop, event=Event.HANDED_OVER, name="m0")),
    Break("I16", plan(STRICT, fates=NO_ACK_OF_M0), _leave_withheld),
    Break("R-11", plan(), _quarantine),
    Break("R-11", plan(), _refuse_after_a_resume),
    Break(
        "R-15",
        plan(fates=LOST),
        _insert_like(
            A_MOMENT, A_MOMENT, event=Event.ERROR_RECEIVED, error_code=ErrorCode.TRANSIENT_ERROR
        ),
    ),
    Break("I29", plan(fates=LOST), _insert_like(A_MOMENT, A_MOMENT, event=Event.ERROR_RECEIVED)),
    Break(
        "I23",
        plan(),
        _insert_like(A_MOMENT, (Event.ACK_RECEIVED, "m0"), event=Event.LATE_ACK_RECEIVED),
    ),
    Break(
        "I2",
        plan(),
        lambda history: rewrite(
            history, "A>B#1", b"<Timestamp>", b"<RefToMessageId>m9</RefToMessageId><Timestamp>"
        ),
    ),
    Break("I8", plan(), _accept_other_content),
    Break("I8", plan(NUMBERED, *SET_BACK_BEFORE), _accept_other_content),
    Break("I31", plan(), _accept_under_another_id),
    Break(
        "I31",
        plan(NUMBERED, *SET_BACK_BEFORE),
        _insert_like((Event.SUBMITTED, "m0"), (Event.SUBMITTED, "m0")),
    ),
    Break(
        "I31",
        plan(),
        _insert_like((Event.SUBMITTED, "m0"), (Event.SUBMITTED, "m0"), message_id=SIGNED_BY_NOBODY),
    ),
    Break("L2", plan(), lambda history: history.delivered.pop(0)),
    Break("E1", plan(), lambda history: history.delivered.pop(0)),
)


@pytest.mark.parametrize(
    "broken", BREAKS, ids=lambda broken: f"{broken.invariant}-{BREAKS.index(broken)}"
)
def test_what_was_broken_is_found_and_the_world_was_sound_before(broken: Break):
    """The world as it was keeps every invariant; the change breaks the one that it is about."""
    with ran(broken.of) as world:
        assert check(world) == []
        broken.edit(world.history)
        assert broken.invariant in found(world)


def test_an_exception_of_ours_is_a_violation():
    """What nothing explains is a bug, whatever else holds."""
    with ran(plan()) as world:
        world.history.find_bug(0, "A", "KeyError")
        assert found(world) == {"bug"}


def test_a_world_that_never_rests_is_a_livelock():
    """L5: more calls than any world needs."""
    with ran(plan(events_max=50)) as world:
        assert "L5" in found(world)


@pytest.mark.parametrize("seed", range(30))
def test_generated_worlds_break_nothing(seed: int):
    """The product keeps every invariant in worlds of every kind."""
    world = World(plan_of(seed))
    world.run()
    violations = check(world)
    world.close()
    assert violations == []


def test_a_check_changes_nothing():
    """The same world gives the same list again."""
    with ran(plan(fates=TWICE)) as world:
        _deliver_again(world.history)
        assert check(world) == check(world) != []


def test_the_truth_is_told_of_every_accepted_message():
    """By what the applications know: how often it was read, and the last verdict."""
    with ran(plan(GIVES_UP, fates=UNANSWERED)) as world:
        told = {one.key.message_id.partition("@")[0]: one for one in truth(world)}
    assert {name: one.delivered_count for name, one in told.items()} == dict.fromkeys(told, 1)
    assert told["m0"].kind == "in doubt, delivered"
    assert told["m0"].verdict == "InDoubt"
    assert {told["m1"].kind, told["m2"].kind} == {"acknowledged and delivered"}


def test_the_truth_knows_what_was_never_delivered():
    """A message that expires before a byte leaves failed for certain."""
    terms = changed(NUMBERED, time_to_live_s=5, msh_time_accuracy_s=1)
    nobody = {f"A>B#{number}": Fate.REFUSED for number in range(1, 9)}
    with ran(plan(terms, fates=nobody)) as world:
        kinds = {one.kind for one in truth(world)}
    assert "failed, not delivered" in kinds


def test_directions_of_a_pair_are_kept_apart():
    """Rows of both ends of a pair are sorted by who sends."""
    back = Action(1500, "submit", "B", {"to": "A", "id": "n0"})
    with ran(plan(NUMBERED, back)) as world:
        assert check(world) == []
        directions = {row.record.direction for row in world.history.rows} - {None}
    assert directions == {Direction.IN, Direction.OUT}
