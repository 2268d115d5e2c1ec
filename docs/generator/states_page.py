"""Reference: the state tables and their diagrams, found by running the machines."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from generator import machines
from generator.figures import Point, state_figure
from generator.machines import Row
from generator.words import attribute_docs, code, first_line, table
from onceonly.message.errors import ErrorCode
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.message import AckRequested, DeliverySemantics, MessageOrder, SyncReplyMode
from onceonly.message.terms import DeliveryTerms
from onceonly.message.word import changed
from onceonly.protocol import effects, keeping, ordering, receiving
from onceonly.protocol.effects import Answer, Journal
from onceonly.protocol.ordering import ReceivingOrder
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import (
    Arrival,
    Case,
    InboundStatus,
    Known,
    ProcessingState,
    ReceivingPair,
)
from onceonly.protocol.recovering import RecoveryPhase
from onceonly.protocol.relaying import TransitStatus
from onceonly.protocol.sending import FINAL, OutboundStatus

OUTBOUND_PLACES: dict[str, Point] = {
    OutboundStatus.SENT: Point(760, 20),
    OutboundStatus.EXPIRED: Point(400, 50),
    OutboundStatus.QUEUED: Point(70, 160),
    OutboundStatus.SENDING: Point(760, 160),
    OutboundStatus.CANCELLED: Point(370, 240),
    OutboundStatus.IN_DOUBT: Point(400, 480),
    OutboundStatus.FAILED: Point(760, 480),
    OutboundStatus.ACKNOWLEDGED: Point(400, 630),
    OutboundStatus.SETTLED_DELIVERED: Point(760, 600),
    OutboundStatus.SETTLED_NOT_DELIVERED: Point(760, 700),
}
AFTERWARDS_PLACES: dict[str, Point] = {
    OutboundStatus.SETTLED_NOT_DELIVERED: Point(100, 30),
    OutboundStatus.ACKNOWLEDGED: Point(430, 30),
    OutboundStatus.FAILED: Point(720, 50),
    OutboundStatus.IN_DOUBT: Point(860, 140),
    OutboundStatus.CANCELLED: Point(80, 230),
    OutboundStatus.SENT: Point(640, 230),
    OutboundStatus.SETTLED_DELIVERED: Point(450, 410),
}
PAIR_PLACES: dict[str, Point] = {
    PairStatus.OPEN: Point(70, 150),
    PairStatus.SUSPENDED: Point(470, 50),
    PairStatus.QUARANTINED: Point(470, 250),
}

RECOVERY_PLACES: dict[str, Point] = {
    RecoveryPhase.PINGING: Point(60, 330),
    RecoveryPhase.ASKING: Point(250, 40),
    RecoveryPhase.ASKING_AGAIN: Point(900, 40),
    RecoveryPhase.AT_REST: Point(790, 420),
    RecoveryPhase.CANCELLING: Point(250, 680),
}

TRANSIT_PLACES: dict[str, Point] = {
    TransitStatus.FORWARDING: Point(90, 170),
    TransitStatus.ACKNOWLEDGED: Point(620, 40),
    TransitStatus.REFUSED: Point(620, 300),
    TransitStatus.SENT: Point(90, 400),
}

INTRODUCTION = """# State tables

The tables and diagrams of this page are not written by hand. They are what the state machines did
when they were run from their first state with every event in every kind of circumstance, until no
new state appeared. An event that a table lacks is illegal in that state: a bug of onceonly. Its
step is rolled back, and the message is [parked](../how-to/incidents.md#parked-a-bug-of-onceonly).

*Writes* names the [journal events](journal.md) of the step, *wants* the effects that the shell
carries out. What is sent (`Transmit`, `Acknowledge`, `Answer`) is released only after the step is
committed. What the states mean is told in [States](../explanation/states.md).
"""

OUTBOUND = """## Outbound message

Run with agreements of every degree of reliability and both methods, with and without numbers and
Pings. Final states have the heavier border.
"""

AFTERWARDS = """ A message that somebody accepted can still be reported as undelivered, or be
cancelled by its receiver:
"""

RECOVERY = """## Recovery

The second machine of a message that was given up, or whose response is late (seed 004, levels 3 to
5). Run with every remedy.
"""

TRANSIT = """## Message in transit

At an intermediary in `relay` mode (ruling R-13). Every copy that arrives is sent on; the previous
hop is told only what the next hop said.
"""

EFFECTS = """## Effects

What a step wants done.

"""


def page() -> str:
    """The whole page."""
    makers = (_outbound, _pair, _recovery, _transit, _arrivals, _inbound, _effects)
    return "\n".join([INTRODUCTION, *(make() for make in makers)])


def _outbound() -> str:
    rows = machines.sending_rows()
    edges = machines.edges(rows)
    until = {pair: names for pair, names in edges.items() if pair[0] not in FINAL}
    afterwards = {pair: names for pair, names in edges.items() if pair[0] in FINAL}
    sections = [
        f"### Outbound message: `{status.value}`\n\n{_is_final(status)}"
        + _table(row for row in rows if row.status == status.value)
        for status in OutboundStatus
    ]
    return "\n".join(
        [
            OUTBOUND,
            state_figure(OUTBOUND_PLACES, until, FINAL),
            AFTERWARDS,
            state_figure(AFTERWARDS_PLACES, afterwards, FINAL),
            "",
            *sections,
        ]
    )


def _is_final(status: OutboundStatus) -> str:
    if not status.is_final:
        return ""
    return "Final: only a word of the partner can change it.\n\n"


def _pair() -> str:
    rows = machines.pair_rows()
    drawn = state_figure(PAIR_PLACES, machines.edges(rows), ())
    sections = [
        f"### Sending pair: `{status.value}`\n\n"
        + _table(row for row in rows if row.status == status.value)
        for status in PairStatus
    ]
    fields = table(
        ("Field", "Meaning"),
        ((f"`{name}`", text) for name, text in attribute_docs(SendingPair).items()),
    )
    return "\n".join(["## Sending pair\n", drawn, "", *sections, "What a pair keeps:\n", fields])


def _recovery() -> str:
    rows = machines.recovery_rows()
    return _with_essays(RECOVERY, "Recovery", RecoveryPhase, RECOVERY_PLACES, rows)


def _transit() -> str:
    rows = machines.transit_rows()
    return _with_essays(TRANSIT, "In transit", TransitStatus, TRANSIT_PLACES, rows)


def _with_essays(
    introduction: str,
    heading: str,
    states: type[RecoveryPhase | TransitStatus],
    places: Mapping[str, Point],
    rows: list[Row],
) -> str:
    """A machine of whose states each says for itself what it is."""
    docs = attribute_docs(states)
    sections = [
        f"### {heading}: `{state.value}`\n\n{docs.get(state.name, '')}\n\n"
        + _table(row for row in rows if row.status == state.value)
        for state in states
    ]
    drawn = state_figure(places, machines.edges(rows), ())
    return "\n".join([introduction, drawn, "", *sections])


def _table(rows: Iterable[Row]) -> str:
    return table(
        ("Event", "What happened", "Becomes", "Writes", "Wants"),
        (
            (
                f"`{row.event.__name__}`",
                first_line(row.event),
                _becomes(row),
                code(sorted(row.seen.rows)),
                code(sorted(row.seen.effects)),
            )
            for row in rows
        ),
    )


def _becomes(row: Row) -> str:
    targets = [f"`{word}`" if word != row.status else "stays" for word in row.seen.becomes]
    refusals = [f"refused: `{name}`" for name in sorted(row.seen.refusals)]
    return ", ".join([*sorted(targets), *refusals])


_NOW = Now(at=10**9 * US_PER_S, monotonic_ns=0)
_TERMS = DeliveryTerms(time_to_live_s=1_000, persist_duration_s=100_000)


def _arrival(number: int = 6, *, age_s: int = 0) -> Arrival:
    at = _NOW.at - age_s * US_PER_S
    return Arrival("m", "digest", DeliverySemantics.ONCE_AND_ONLY_ONCE, at, number)


_OPEN = ReceivingPair(sequence_number=5)
_EXAMPLES: dict[Case, tuple[Arrival, Known | None, ReceivingPair]] = {
    Case.NEW: (_arrival(), None, _OPEN),
    Case.DUPLICATE: (_arrival(), Known("digest"), _OPEN),
    Case.COLLISION: (_arrival(), Known("another digest"), _OPEN),
    Case.IN_WORK: (
        changed(_arrival(), sync_reply_mode=SyncReplyMode.RESPONSE_ONLY),
        Known("digest", has_response=False),
        _OPEN,
    ),
    Case.CANCELLED: (_arrival(), None, _OPEN),
    Case.NOT_SUPPORTED: (
        changed(_arrival(), delivery_receipt_requested=AckRequested.SIGNED),
        None,
        _OPEN,
    ),
    Case.TOO_OLD: (_arrival(age_s=200_000), None, _OPEN),
    Case.AHEAD: (_arrival(age_s=-200_000), None, _OPEN),
    Case.EXPIRED: (_arrival(age_s=2_000), None, _OPEN),
    Case.QUARANTINED: (_arrival(), None, changed(_OPEN, status=PairStatus.QUARANTINED)),
    Case.OUT_OF_SEQUENCE: (_arrival(9), None, _OPEN),
    **dict.fromkeys((Case.HELD, Case.ORDER_BROKEN, Case.HOLD_FULL), (_arrival(), None, _OPEN)),
}
_IN_ORDER: dict[Case, tuple[int, Sequence[int]]] = {
    Case.HELD: (5, ()),
    Case.ORDER_BROKEN: (1, ()),
    Case.HOLD_FULL: (9, (5, 6)),
}
"""Of an ordered conversation that expects number 3: the number that comes, and those held."""


def _arrivals() -> str:
    text = """## Arrival

What a receiver makes of a OnceAndOnlyOnce message that arrives. The MessageId decides first, then
the age, then what the message asks for, then the SequenceNumber where there is one, and in an
ordered conversation its MessageOrder.

"""
    return text + table(
        ("Case", "What it is", "Stored", "Writes", "Answer"), (_case_row(case) for case in Case)
    )


def _case_row(case: Case) -> tuple[str, str, str, str, str]:
    arrival, known, pair = _EXAMPLES[case]
    reception = receiving.receive(
        arrival, known, pair, _NOW, _TERMS, is_cancelled=case is Case.CANCELLED
    )
    if case in _IN_ORDER:
        number, held = _IN_ORDER[case]
        state, agreed = ReceivingOrder(3, held=len(held)), changed(_TERMS, order_hold_max=2)
        taking = ordering.take(MessageOrder(number), state, held, _NOW.at, agreed)
        reception = receiving.in_its_order(reception, number, taking)
    assert reception.case is case, f"the example of {case} is one of {reception.case}"
    events = [effect.event.value for effect in reception.effects if isinstance(effect, Journal)]
    answers = [_answer(effect) for effect in reception.effects if not isinstance(effect, Journal)]
    is_stored = "yes" if case.is_new else "no"
    return f"`{case.name}`", case.value, is_stored, code(events), ", ".join(answers)


def _answer(effect: effects.Effect) -> str:
    if isinstance(effect, Answer):
        return f"error `{ErrorCode(effect.code).value}` ({effect.severity.value})"
    return f"`{type(effect).__name__}`"


_TRANSFERS = (
    (InboundStatus.STORED, InboundStatus.HANDED_OVER),
    (InboundStatus.STORED, InboundStatus.CANCELLED),
    (InboundStatus.HANDED_OVER, InboundStatus.CANCELLED),
)


def _inbound() -> str:
    text = """## Inbound message

Two axes: how far the gateway has come, and what the application says about its own work. The
second moves forward only.

"""
    axes = (
        ("transfer", InboundStatus, lambda a, b: (a, b) in _TRANSFERS),
        ("processing", ProcessingState, lambda a, b: a is not b and keeping.may_follow(a, b)),
    )
    return text + table(("Axis", "State", "May become"), _axis_rows(axes))


def _axis_rows(
    axes: Iterable[tuple[str, type[InboundStatus | ProcessingState], Callable[..., bool]]],
) -> Iterable[tuple[str, str, str]]:
    for axis, states, may_become in axes:
        for state in states:
            later = [one.value for one in states if may_become(state, one)]
            yield axis, f"`{state.value}`", code(later) or "final"


def _effects() -> str:
    kinds = effects.Effect.__args__
    return EFFECTS + table(
        ("Effect", "Meaning"), ((f"`{kind.__name__}`", first_line(kind)) for kind in kinds)
    )
