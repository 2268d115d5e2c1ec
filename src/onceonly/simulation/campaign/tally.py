"""Which faults struck in a world, and what the machine that they struck was about.

A fault has the name that the network or the history gives it; its *phase* is what the machine had
last made durable. The matrix of both shows whether a campaign tried every fault in every phase.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import merge
from operator import attrgetter

from onceonly.message.event import Event
from onceonly.simulation.history import Happening, History, PackageSent, Row
from onceonly.simulation.network import Fate

BOOTING = "booting"
"""A process runs and has not yet taken up what it found."""

_BY_PHASE: dict[str, tuple[Event, ...]] = {
    "idle": (Event.STARTED, Event.STOPPED, Event.DRILL),
    "submitting": (Event.SUBMITTED, Event.REQUEUED, Event.RESENT),
    "transmitting": (Event.TRANSMITTING, Event.TRANSMITTED),
    "acknowledged": (
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.REPEATED_ACK_RECEIVED,
        Event.HOP_ACK_RECEIVED,
        Event.ORPHAN_ACK_RECEIVED,
        Event.EVIDENCE_KEPT,
        Event.SENT,
    ),
    "failing": (
        Event.ERROR_RECEIVED,
        Event.FAULT_RECEIVED,
        Event.EXHAUSTED,
        Event.EXPIRED,
        Event.FAILED,
        Event.CANCELLED,
        Event.SETTLED,
        Event.NOTIFIED,
        Event.CONVERSATION_BLOCKED,
    ),
    "suspended": (Event.PAIR_SUSPENDED, Event.PAIR_QUARANTINED),
    "resuming": (Event.PAIR_RESUMED, Event.SEQUENCE_RESET, Event.CONVERSATION_RESET),
    "recovering": (
        Event.PING_SENT,
        Event.PONG_RECEIVED,
        Event.INQUIRY_SENT,
        Event.REPORT_RECEIVED,
        Event.RESPONSE_RECEIVED,
        Event.RESPONSE_OVERDUE,
        Event.RECEIPT_RECEIVED,
    ),
    "reporting": (
        Event.INQUIRY_RECEIVED,
        Event.REPORT_SENT,
        Event.CANCEL_CONFIRMED,
    ),
    "storing": (Event.STORED, Event.HELD),
    "repeating": (Event.DUPLICATE_ELIMINATED, Event.COLLISION_DETECTED),
    "refusing": (
        Event.REJECTED,
        Event.INTERNAL_ERROR,
        Event.PARKED,
        Event.ASKED,
        Event.RECONFIGURED,
        Event.TAKEN_UP,
        Event.ERROR_SENT,
        Event.FAULT_SENT,
        Event.WITHHELD,
        Event.DROPPED,
        Event.APPLICATION_REFUSED,
        Event.HANDED_OVER_AGAIN,
        Event.SECURITY_EVENT,
        Event.SIGNATURE_REFUSED,
    ),
    "acknowledging": (Event.ACK_SENT, Event.RECEIPT_SENT),
    "handing over": (Event.HANDED_OVER, Event.PROCESSING_CHANGED, Event.RELEASED),
    "relaying": (
        Event.ARRIVED_IN_TRANSIT,
        Event.FORWARDED,
        Event.ACK_RELAYED,
        Event.ERROR_RELAYED,
        Event.FAILURE_NOTICE_SENT,
    ),
    "purging": (Event.PURGED,),
}

PHASE_OF: dict[str, str] = {event: phase for phase, events in _BY_PHASE.items() for event in events}
"""The phase that each journal row begins."""

PHASES = (BOOTING, *_BY_PHASE)

NO_FAULTS = frozenset({"started", "ready", "healed", "thawed", "over"})
"""Happenings that do no harm."""


def strikes(history: History) -> Counter[str]:
    """How often each fault struck in each phase, as `fault x phase`."""
    return Counter(f"{fault} x {phase}" for fault, phase in _strikes(history))


def by_fault(matrix: Iterable[tuple[str, int]]) -> Counter[str]:
    """The matrix without its phases."""
    faults: Counter[str] = Counter()
    for cell, count in matrix:
        faults[cell.partition(" x ")[0]] += count
    return faults


def _strikes(history: History) -> Iterator[tuple[str, str]]:
    phases: dict[str, str] = {}
    seen: Iterable[Row | Happening | PackageSent] = merge(
        history.rows, history.happenings, history.sent, key=attrgetter("order")
    )
    for one in seen:
        if isinstance(one, Row):
            phases[one.node] = PHASE_OF[one.record.event]
        elif isinstance(one, PackageSent):
            if one.fate is not Fate.DELIVERED:
                yield one.fate, phases.get(one.packet.source, BOOTING)
        else:
            yield from _happened(one, phases)


def _happened(seen: Happening, phases: dict[str, str]) -> Iterator[tuple[str, str]]:
    if seen.what not in NO_FAULTS:
        yield seen.what, phases.get(seen.node, BOOTING)
    elif seen.what == "started":
        phases[seen.node] = BOOTING
