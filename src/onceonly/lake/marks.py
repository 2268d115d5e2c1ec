"""What ever happened to a message, as the bits of one number.

A journal row's event is a word, and a lifecycle is some eighty questions about it. Comparing words
for each question costs more than all the rest of a reconciliation, so every row gets one bit for
its event first, and the questions become comparisons of numbers; and the bits of all rows of a
message, or-ed together, answer every question of the form "did it ever" at once. Bits fold like
everything else in `model`: in any order, and again when folded batches are merged.
"""

import re
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - because all of Spark's world calls it F

from onceonly.journal.record import METHOD_TRANSPORT
from onceonly.lake.expressions import is_true
from onceonly.message.event import Event
from onceonly.message.message import AckRequested, DeliverySemantics
from onceonly.protocol.effects import NoticeKind

SENDER_EVENTS: Final = (
    Event.SUBMITTED,
    Event.TRANSMITTING,
    Event.TRANSMITTED,
    Event.ACK_RECEIVED,
    Event.LATE_ACK_RECEIVED,
    Event.REPEATED_ACK_RECEIVED,
    Event.ERROR_RECEIVED,
    Event.EXHAUSTED,
    Event.EXPIRED,
    Event.FAILED,
    Event.CANCELLED,
    Event.SENT,
    Event.SETTLED,
    Event.REQUEUED,
    Event.NOTIFIED,
    Event.RESPONSE_RECEIVED,
    Event.RESPONSE_OVERDUE,
    Event.RECEIPT_RECEIVED,
)
"""Events that only a message's sender writes. An orphan acknowledgement is about no message."""

RECEIVER_EVENTS: Final = (
    Event.STORED,
    Event.DUPLICATE_ELIMINATED,
    Event.COLLISION_DETECTED,
    Event.REJECTED,
    Event.ACK_SENT,
    Event.ERROR_SENT,
    Event.HANDED_OVER,
    Event.HANDED_OVER_AGAIN,
    Event.WITHHELD,
    Event.CANCEL_CONFIRMED,
    Event.PROCESSING_CHANGED,
    Event.APPLICATION_REFUSED,
    Event.RECEIPT_SENT,
)
"""What only the receiver of a message writes."""

PASSING_EVENTS: Final = (
    Event.STORED,
    Event.ACK_SENT,
    Event.ARRIVED_IN_TRANSIT,
    Event.FORWARDED,
    Event.ACK_RELAYED,
)
"""What intermediaries write about a message that passes them (R-13)."""

KIND: Final = "kind"
"""The column that holds a row's bit; null where the row is not about a message."""

_PASSING_FROM: Final = 40
_OTHERS_FROM: Final = 50
_SIGN: Final = 63
"""The sign bit of a bigint, which is not used."""


def _bits(events: tuple[Event, ...], first: int) -> dict[Event, int]:
    return {event: 1 << (first + n) for n, event in enumerate(events)}


OF_ENDS: Final = _bits(
    (*SENDER_EVENTS, *RECEIVER_EVENTS, Event.ORPHAN_ACK_RECEIVED, Event.EVIDENCE_KEPT), 0
)
"""The bit of each event in the journals of sender and receiver."""
OF_PASSING: Final = _bits(PASSING_EVENTS, _PASSING_FROM)
"""The bit of each event in the journal of an intermediary."""
TOLD_OF_FAILURE, BEST_EFFORT, TRANSPORT_ONLY, PROMISED, ASKED_FOR_EVIDENCE, EVIDENCE = (
    1 << (_OTHERS_FROM + n) for n in range(6)
)
"""`PROMISED`: its sender submitted it under terms that promise something, whatever others say.
`ASKED_FOR_EVIDENCE`: it asked for a signed acknowledgement; `EVIDENCE`: it keeps one (R-31)."""

assert max(OF_ENDS.values()) < min(OF_PASSING.values()), "no bit has two meanings"
assert max(OF_PASSING.values()) < TOLD_OF_FAILURE < EVIDENCE < 1 << _SIGN

_OFTEN: Final = (
    Event.TRANSMITTING,
    Event.TRANSMITTED,
    Event.ACK_SENT,
    Event.STORED,
    Event.HANDED_OVER,
    Event.SUBMITTED,
    Event.ACK_RECEIVED,
)
"""Compared first, since most rows are one of these."""


def kind() -> Column:
    """The row's bit (column `KIND`)."""
    often = [event for event in _OFTEN if event in OF_ENDS]
    rest = [event for event in OF_ENDS if event not in often]
    ends = {event: OF_ENDS[event] for event in (*often, *rest)}
    return F.expr(f"IF(hop IS NULL, {_words(ends)}, {_words(OF_PASSING)})")


def _words(bits: dict[Event, int]) -> str:
    cases = " ".join(f"WHEN '{event.value}' THEN {bit}L" for event, bit in bits.items())
    return f"CASE event {cases} END"


def in_numbers(condition: str, *, passing: str) -> str:
    """A condition over the words of `event`, and of `passing`, as one over `KIND`."""
    for column, bits in (("event", OF_ENDS), (passing, OF_PASSING)):
        condition = _one_or_many(condition, column, bits)
    return condition


def _one_or_many(condition: str, column: str, bits: dict[Event, int]) -> str:
    def one(found: re.Match[str]) -> str:
        return f"{KIND} = {bits[Event(found[1])]}L"

    def many(found: re.Match[str]) -> str:
        words = re.findall(r"'(\w+)'", found[1])
        return f"({KIND} & {sum(bits[Event(word)] for word in words)}L) <> 0L"

    condition = re.sub(rf"\b{column} = '(\w+)'", one, condition)
    return re.sub(rf"\b{column} IN \(([^)]*)\)", many, condition)


PROOF_OF_RECEIPT: Final = "acknowledgment"
"""`reason` of an EvidenceKept row whose envelope proves that the To Party has the message."""

_IS_BEST_EFFORT: Final = f"coalesce(semantics, '') = '{DeliverySemantics.BEST_EFFORT.value}'"
_IS_TRANSPORT_ONLY: Final = f"coalesce(reason, '') LIKE '{METHOD_TRANSPORT}%'"

MARKS_OF_ROW: Final = (
    f"{KIND}"
    f" + IF({KIND} = {OF_ENDS[Event.NOTIFIED]}L"
    f" AND reason = '{NoticeKind.DELIVERY_FAILURE.value}', {TOLD_OF_FAILURE}L, 0L)"
    f" + IF({_IS_BEST_EFFORT}, {BEST_EFFORT}L, 0L)"
    f" + IF(({KIND} & {OF_ENDS[Event.SUBMITTED] | OF_ENDS[Event.STORED]}L) <> 0L"
    f" AND {_IS_TRANSPORT_ONLY}, {TRANSPORT_ONLY}L, 0L)"
    f" + IF({KIND} = {OF_ENDS[Event.SUBMITTED]}L"
    f" AND NOT {_IS_BEST_EFFORT} AND NOT {_IS_TRANSPORT_ONLY}, {PROMISED}L, 0L)"
    f" + IF({KIND} = {OF_ENDS[Event.SUBMITTED]}L"
    f" AND ack_requested = '{AckRequested.SIGNED.value}', {ASKED_FOR_EVIDENCE}L, 0L)"
    f" + IF({KIND} = {OF_ENDS[Event.EVIDENCE_KEPT]}L"
    f" AND reason = '{PROOF_OF_RECEIPT}', {EVIDENCE}L, 0L)"
)
"""All bits of one row, in Spark's SQL."""

OF_ROW: Final = "marks_of_row"
"""The column that holds all bits of a row: Spark writes out what `bit_or` folds three times."""


def ever(*events: Event) -> Column:
    """Whether the sender's or the receiver's journal has one of the events."""
    return _has(sum(OF_ENDS[event] for event in events))


def ever_passing(event: Event) -> Column:
    """Whether an intermediary's journal has the event."""
    return _has(OF_PASSING[event])


def was_told() -> Column:
    """Whether the application knows of a failure, or took the message back."""
    ends = (Event.FAILED, Event.EXPIRED, Event.CANCELLED)
    return _has(TOLD_OF_FAILURE | sum(OF_ENDS[event] for event in ends))


def asked_for_evidence() -> Column:
    """Whether the message asked for a signed acknowledgement."""
    return _has(ASKED_FOR_EVIDENCE)


def keeps_evidence() -> Column:
    """Whether the sender keeps a signed acknowledgement."""
    return _has(EVIDENCE)


def lacks_evidence() -> Column:
    """Whether a signed acknowledgement was asked for, and its sender keeps none."""
    return asked_for_evidence() & ~keeps_evidence()


def is_without_promise() -> Column:
    """Whether the gateways only promised to try: BestEffort, or method Transport.

    If the sender's rows are there, they decide: what the receiver's rows say does not count.
    """
    is_tried = _has(OF_ENDS[Event.SENT])
    return is_tried | (_has(BEST_EFFORT | TRANSPORT_ONLY) & ~_has(PROMISED))


def is_by_transport() -> Column:
    """Whether nobody acknowledges, since the transport is to be reliable (method Transport)."""
    return _has(TRANSPORT_ONLY) & ~_has(BEST_EFFORT | PROMISED)


def _has(bits: int) -> Column:
    return is_true(F.expr(f"(marks & {bits}L) <> 0L"))
