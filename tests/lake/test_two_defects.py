"""A message with two things wrong with it breaks both lines of the sheet, whatever its class is."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from journals import DAWN, MUCH_LATER, SECOND, Exchange, Ledger, digest_of

from onceonly.lake import invariants, model
from onceonly.lake.verdicts import Policy, verdict
from onceonly.message.errors import Severity
from onceonly.message.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from onceonly.journal.record import Record

    Frame = Callable[[Sequence[Record]], DataFrame]

pytestmark = pytest.mark.spark
POLICY = Policy(retries=3)
SENDER, RECEIVER = "sender", "receiver"


class Deed(NamedTuple):
    """A row to be written, a while after the one before."""

    side: str
    event: Event
    columns: dict[str, Any]
    message_id: str = "m"
    after_ms: int = 5


def ours(event: Event, **columns: Any) -> Deed:
    return Deed(SENDER, event, columns)


def theirs(event: Event, **columns: Any) -> Deed:
    return Deed(RECEIVER, event, columns)


class Story:
    """A message that is delivered as it should be, until something is changed about it."""

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        header, digest = exchange.header("m"), digest_of("m")
        self.deeds = [
            ours(Event.SUBMITTED, **header),
            ours(Event.TRANSMITTING, attempt=1, sequence_number=2),
            ours(Event.TRANSMITTED, attempt=1, outcome="accepted"),
            theirs(Event.STORED, **header, sequence_number=2),
            theirs(Event.ACK_SENT, outcome="accepted"),
            theirs(Event.HANDED_OVER, digest=digest),
            ours(Event.ACK_RECEIVED),
        ]

    def place(self, event: Event) -> int:
        """Where the event is; where it would be, if another defect took it away."""
        found = [at for at, deed in enumerate(self.deeds) if deed[1:4:2] == (event, "m")]
        return found[0] if found else len(self.deeds)

    def drop(self, event: Event) -> None:
        self.deeds = [deed for deed in self.deeds if deed[1:4:2] != (event, "m")]

    def before(self, event: Event, *deeds: Deed) -> None:
        at = self.place(event)
        self.deeds[at:at] = deeds

    def behind(self, *deeds: Deed) -> None:
        self.deeds += deeds

    def other(self, name: str, side: str, event: Event, **columns: Any) -> Deed:
        """A row about a message before this one."""
        if event in (Event.SUBMITTED, Event.STORED):
            columns = {**self.exchange.header(name), **columns}
        return Deed(side, event, columns, name)

    def write(self) -> list[Record]:
        x = self.exchange
        for deed in self.deeds:
            write = x.out if deed.side == SENDER else x.into
            write(deed.event, deed.message_id, deed.after_ms, **deed.columns)
        return x.sender.records + x.receiver.records


def delivered_twice(s: Story) -> None:
    s.behind(theirs(Event.HANDED_OVER, digest=digest_of("m")))


def altered(s: Story) -> None:
    s.deeds = [
        deed._replace(columns={**deed.columns, "digest": digest_of("altered")})
        if deed.side == RECEIVER and "digest" in deed.columns
        else deed
        for deed in s.deeds
    ]


def invented(s: Story) -> None:
    s.drop(Event.SUBMITTED)


def acknowledged_too_soon(s: Story) -> None:
    s.before(Event.STORED, theirs(Event.ACK_SENT, outcome="accepted"))


def never_acknowledged(s: Story) -> None:
    s.drop(Event.ACK_SENT)


def called_a_duplicate(s: Story) -> None:
    s.before(Event.STORED, theirs(Event.DUPLICATE_ELIMINATED))


def collided(s: Story) -> None:
    s.behind(theirs(Event.COLLISION_DETECTED, digest=digest_of("other")))


def never_stored(s: Story) -> None:
    s.drop(Event.STORED)


def sent_too_soon(s: Story) -> None:
    s.before(Event.SUBMITTED, ours(Event.TRANSMITTING, attempt=1, sequence_number=2))


def sent_out_of_turn(s: Story) -> None:
    s.deeds[:0] = [
        s.other("slow", SENDER, Event.SUBMITTED),
        s.other("slow", SENDER, Event.TRANSMITTING, attempt=1, sequence_number=1),
    ]
    s.behind(s.other("slow", SENDER, Event.ACK_RECEIVED))


def handed_over_out_of_order(s: Story) -> None:
    s.deeds[:0] = [
        s.other("first", SENDER, Event.SUBMITTED),
        s.other("first", SENDER, Event.TRANSMITTING, attempt=1, sequence_number=1),
        s.other("first", RECEIVER, Event.STORED, sequence_number=1),
        s.other("first", RECEIVER, Event.ACK_SENT, outcome="accepted"),
        s.other("first", SENDER, Event.ACK_RECEIVED),
    ]
    s.behind(s.other("first", RECEIVER, Event.HANDED_OVER, digest=digest_of("first")))


def sent_too_often(s: Story) -> None:
    s.before(Event.STORED, ours(Event.TRANSMITTING, attempt=9, sequence_number=2))


def acknowledged_and_failed(s: Story) -> None:
    s.behind(ours(Event.FAILED))


def silent(s: Story) -> None:
    s.drop(Event.ACK_RECEIVED)


def failed_untold(s: Story) -> None:
    s.drop(Event.NOTIFIED)
    s.behind(ours(Event.FAILED))


def late_and_untold(s: Story) -> None:
    s.behind(ours(Event.LATE_ACK_RECEIVED))


def surely_undelivered(s: Story) -> None:
    s.behind(ours(Event.NOTIFIED, severity=Severity.ERROR, reason="DeliveryFailure"))


def stored_after_the_end(s: Story) -> None:
    s.before(Event.STORED, ours(Event.FAILED), ours(Event.ERROR_RECEIVED)._replace(after_ms=60_000))


def worked_on_after_a_cancel(s: Story) -> None:
    s.behind(theirs(Event.CANCEL_CONFIRMED), theirs(Event.PROCESSING_CHANGED))


def never_handed_over(s: Story) -> None:
    s.drop(Event.HANDED_OVER)


DEFECTS: dict[Callable[[Story], None], str] = {
    delivered_twice: "I1",
    altered: "I2",
    invented: "I2",
    acknowledged_too_soon: "I3",
    never_acknowledged: "I4",
    called_a_duplicate: "R-02",
    collided: "I8",
    never_stored: "I13",
    sent_too_soon: "I14",
    sent_out_of_turn: "I15",
    handed_over_out_of_order: "I16",
    sent_too_often: "I18",
    acknowledged_and_failed: "I20",
    silent: "I21",
    failed_untold: "I22",
    late_and_untold: "I23",
    surely_undelivered: "I24",
    stored_after_the_end: "I26",
    worked_on_after_a_cancel: "R-08",
    never_handed_over: "L2",
}
"""In no order that matters: either may be done to the message first."""

_NO_END = {
    *(never_stored, acknowledged_and_failed, failed_untold, late_and_untold, surely_undelivered),
    stored_after_the_end,
}
_IMPOSSIBLE = {
    # What was never stored is stored at no wrong time, nor owed an acknowledgement or a hand-over.
    never_stored: {
        *(never_acknowledged, never_handed_over, invented),
        *(surely_undelivered, stored_after_the_end),
    },
    silent: _NO_END,
    invented: {acknowledged_and_failed, silent},
    never_handed_over: {delivered_twice},
    never_acknowledged: {acknowledged_too_soon, worked_on_after_a_cancel},
    failed_untold: {surely_undelivered},
    acknowledged_and_failed: {stored_after_the_end},
    # Order is promised among messages that were delivered as agreed.
    handed_over_out_of_order: {*_NO_END, silent, invented, never_handed_over},
}
"""Of which the one is the absence of what the other is made of."""


def is_possible(one: Any, other: Any) -> bool:
    return other not in _IMPOSSIBLE.get(one, ()) and one not in _IMPOSSIBLE.get(other, ())


def test_every_line_of_the_sheet_has_a_defect():
    """A line that is left out here would be a line that no second defect was tried on."""
    assert set(DEFECTS.values()) == {line.name for line in invariants.INVARIANTS}


def test_of_every_two_defects_both_are_on_the_sheet(frame: Frame):
    """Each pair of defects between a pair of parties of its own."""
    pairs = [two for two in combinations(DEFECTS, 2) if is_possible(*two)]
    rows: list[Record] = []
    for number, (one, other) in enumerate(pairs):
        story = Story(Exchange(Ledger(f"from:{number:03d}"), Ledger(f"to:{number:03d}")))
        for ledger in (story.exchange.sender, story.exchange.receiver):
            ledger.write(Event.STARTED, DAWN)
        one(story)
        other(story)
        rows += story.write()
    journal = frame(rows)
    as_of = MUCH_LATER + 60 * SECOND
    judged = verdict(model.partial(journal), model.coverage(journal), as_of=as_of, policy=POLICY)
    found: dict[int, set[str]] = {number: set() for number in range(len(pairs))}
    for row in invariants.breaches(judged, as_of=as_of, policy=POLICY).collect():
        if row["message_id"] == "m":
            number = int(row["from_party"].removeprefix("from:"))
            found[number].update(invariants.names(row["broken"]))
    lost = [
        (one.__name__, other.__name__, {DEFECTS[one], DEFECTS[other]} - found[number])
        for number, (one, other) in enumerate(pairs)
        if not {DEFECTS[one], DEFECTS[other]} <= found[number]
    ]
    assert lost == []
    assert len(pairs) == 163
