"""Small worlds that have run, and ways to change what was seen in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from onceonly.journal.record import Record
from onceonly.message.event import Event
from onceonly.message.message import AckRequested
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms, Intermediary
from onceonly.message.word import changed
from onceonly.simulation.checkers import check
from onceonly.simulation.history import History, Row
from onceonly.simulation.network import Fate
from onceonly.simulation.plan import Action, Line, Machine, Plan
from onceonly.simulation.world import World

GAP = 10
"""Between two places in the order of a spread history: room for what is put in."""

NUMBERED = DeliveryTerms(timeout_s=2, retries=2, retry_interval_s=2)
WINDOWED = DeliveryTerms(
    timeout_s=2,
    retries=2,
    retry_interval_s=2,
    is_numbered=False,
    window=4,
    ack_requested=AckRequested.UNSIGNED,
)


def submits(*names: str) -> tuple[Action, ...]:
    """Messages from A to B, a second apart."""
    return tuple(
        Action(1000 * at, "submit", "A", {"to": "B", "id": name})
        for at, name in enumerate(names, 1)
    )


def plan(
    terms: DeliveryTerms = NUMBERED,
    *more: Action,
    fates: dict[str, Fate] | None = None,
    relay: Intermediary | None = None,
    **fields: Any,
) -> Plan:
    """A sends m0, m1 and m2 to B, over R where there is a relay; nothing else happens."""
    through = () if relay is None else (("R", relay),)
    profile = Profile.RM_2000 if terms.is_numbered else Profile.RM_2001
    names = "ABR" if through else "AB"
    return Plan(
        **{
            "seed": 0,
            "machines": tuple(map(Machine, names)),
            "lines": (Line("A", "B", profile, terms, through),),
            "actions": (*submits("m0", "m1", "m2"), *more),
            "fates": fates or {},
            "is_drawn": False,
            "heal_ms": 60_000,
            "end_ms": 1_200_000,
            "rest_ms": 200_000,
            **fields,
        }
    )


@contextmanager
def ran(of: Plan) -> Iterator[World]:
    """The world of the plan, after its end; its history is spread."""
    world = World(of)
    world.run()
    spread(world.history)
    try:
        yield world
    finally:
        world.close()


def found(world: World) -> set[str]:
    """The invariants that do not hold in it."""
    return {violation.invariant for violation in check(world)}


def spread(history: History) -> None:
    """Make room between any two places in the order."""
    for seen in (
        history.accepted,
        history.delivered,
        history.worked,
        history.rows,
        history.sent,
        history.arrived,
        history.replied,
        history.happenings,
        history.bugs,
    ):
        seen[:] = [changed(one, order=one.order * GAP) for one in seen]
    history.order *= GAP


def place(history: History, event: Event, name: str = "", nth: int = 0, *, node: str = "") -> int:
    """Where the nth such row is in the list of rows; `name` begins its MessageId.

    `node` is whose row it is, where that matters.
    """
    return [
        at
        for at, row in enumerate(history.rows)
        if row.record.event is event
        and (row.record.message_id or "").startswith(name)
        and node in ("", row.node)
    ][nth]


def drop(history: History, event: Event, name: str = "", nth: int = 0) -> None:
    """The row was never there."""
    del history.rows[place(history, event, name, nth)]


def alter(history: History, event: Event, name: str = "", nth: int = 0, **fields: Any) -> None:
    """The row says something else."""
    at = place(history, event, name, nth)
    row = history.rows[at]
    history.rows[at] = changed(row, record=changed(row.record, **fields))


def insert(history: History, like: int, *, after: int, **fields: Any) -> None:
    """A row like that one behind another one, at the same instant."""
    behind, model = history.rows[after], history.rows[like]
    record: Record = changed(model.record, **fields)
    row = Row(behind.order + 1, behind.at_ns, model.node, record)
    history.rows.insert(after + 1, row)


def exchange(history: History, one: int, other: int) -> None:
    """Two rows change places."""
    first, second = history.rows[one], history.rows[other]
    history.rows[one] = changed(second, order=first.order, at_ns=first.at_ns)
    history.rows[other] = changed(first, order=second.order, at_ns=second.at_ns)


def rewrite(history: History, link: str, old: bytes, new: bytes) -> None:
    """The package of that name had other bytes when it left."""
    for at, sent in enumerate(history.sent):
        if sent.packet.name == link:
            body = sent.packet.body.replace(old, new)
            assert body != sent.packet.body, "what is replaced is there"
            history.sent[at] = changed(sent, packet=changed(sent.packet, body=body))


def silence(history: History, link: str) -> None:
    """Nothing of that link was ever seen."""
    history.sent[:] = [one for one in history.sent if not one.packet.name.startswith(link)]
    unheard(history, link)


def unheard(history: History, link: str) -> None:
    """Nothing of that link arrived."""
    history.arrived[:] = [one for one in history.arrived if not one.packet.name.startswith(link)]
