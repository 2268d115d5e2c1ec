"""Work that nobody asks for: after a start, and when a time has passed."""

from collections.abc import Sequence

from onceonly.message.word import Word
from onceonly.protocol import recovering
from onceonly.protocol.events import Parked, Restarted, TimePassed
from onceonly.protocol.sending import Exposure
from onceonly.steps import sending
from onceonly.steps.ground import Ground
from onceonly.steps.leaving import Leaving
from onceonly.steps.work import MessageWork, NextWork, RecoveryWork, Work
from onceonly.store.contract.store import Snapshot, Transaction

OVERDUE_BATCH = 200
"""Most messages in one step of a sweep, so that a step stays short while a backlog expires."""


class UnderWay(Word):
    """What is under way at one instant, by MessageId."""

    messages: frozenset[str]
    recoveries: frozenset[str]


def under_way(snapshot: Snapshot) -> UnderWay:
    """What a stop or a crash left in flight or unanswered; asked before the first package."""
    return UnderWay(
        frozenset(entry.message_id for entry in snapshot.list_in_flight()),
        frozenset(snapshot.list_recovering()),
    )


def left_under_way(snapshot: Snapshot, left: UnderWay) -> list[Work]:
    """What of `left` is still under way, and the queues of pairs.

    What this process has begun itself goes on by itself: an acknowledgement that comes while it
    starts lets the next message go.
    """
    flying = (entry.message_id for entry in snapshot.list_in_flight())
    return [
        *(MessageWork(one, Restarted()) for one in flying if one in left.messages),
        *queues(snapshot),
        *(
            RecoveryWork(one, Restarted())
            for one in snapshot.list_recovering()
            if one in left.recoveries
        ),
    ]


def queues(snapshot: Snapshot) -> list[Work]:
    """The queues of pairs in which messages wait."""
    return [NextWork(pair) for pair in snapshot.list_waiting_pairs()]


def overdue(snapshot: Snapshot, at: int, limit: int = OVERDUE_BATCH) -> list[Work]:
    """Messages whose time has passed (R-08)."""
    entries = snapshot.list_overdue(at, limit)
    return [MessageWork(entry.message_id, TimePassed()) for entry in entries]


def unanswered(snapshot: Snapshot, at: int, limit: int = OVERDUE_BATCH) -> list[Work]:
    """Messages whose response is overdue (level 5)."""
    due = snapshot.list_responses_due(at, limit)
    return [RecoveryWork(name, _response_time_passed(snapshot, name)) for name in due]


def _response_time_passed(snapshot: Snapshot, message_id: str) -> recovering.ResponseTimePassed:
    entry = snapshot.find_outbound(message_id)
    assert entry is not None, f"{message_id} waits for a response and is not stored"
    return recovering.ResponseTimePassed(has_left=entry.state.exposure is not Exposure.NEVER)


def subject_of(snapshot: Snapshot, work: Work) -> str | None:
    """The message that the work is about; for a queue, its first message."""
    if isinstance(work, NextWork):
        head = snapshot.find_next_queued(work.pair)
        return None if head is None else head.message_id
    return work.message_id if isinstance(work, MessageWork) else None


def park(message_id: str, reason: str, *, bytes_left: bool) -> MessageWork:
    """The work that parks a message which met a bug on its way out (R-43)."""
    return MessageWork(message_id, Parked(reason, bytes_left))


def tell(txn: Transaction, ground: Ground, work: MessageWork | RecoveryWork) -> Leaving:
    """Tell the machine of a message what happened; nothing if it is forgotten by now (R-19)."""
    entry = txn.find_outbound(work.message_id)
    known: Sequence[Work] = () if entry is None else (work,)
    return sending.run(txn, ground, known, entry=entry)
