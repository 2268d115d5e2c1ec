"""How many messages may wait for a verdict: one count for whoever takes messages in (R-27).

Applications and previous hops fill the same queues, and so does a recovery that sends a new
version; a count in each place would let all of them together exceed `queued_max`. What is counted
is an upper bound, since every row that is added counts and no verdict does; it is made exact when
it gets near.
"""

from onceonly.protocol.sending import FINAL, OutboundStatus
from onceonly.store.contract.store import Snapshot, Transaction

WAITING = tuple(status for status in OutboundStatus if status not in FINAL)
"""Statuses of messages that wait for a verdict."""


class Room:
    """Knows whether another message may wait."""

    def __init__(self, snapshot: Snapshot, queued_max: int) -> None:
        self._queued_max = queued_max
        self.waiting = _count(snapshot)
        """At most so many messages wait."""

    def left(self, txn: Transaction) -> int:
        """How many messages the step may add; what others added in its transaction counts."""
        if self.waiting >= self._queued_max:
            self.waiting = _count(txn)
        return max(0, self._queued_max - self.waiting)

    def seems_left(self, snapshot: Snapshot) -> bool:
        """The same before a step, which must ask again: nothing is kept for what must be refused.

        The count stays, since a snapshot does not see what the open transaction has added.
        """
        return self.waiting < self._queued_max or _count(snapshot) < self._queued_max

    def take(self) -> None:
        """A step adds a message. If the step is rolled back, one too many counts for a while."""
        self.waiting += 1


def _count(snapshot: Snapshot) -> int:
    counts = snapshot.count_by_status()
    return sum(counts.get(status, 0) for status in WAITING)
