"""What is known of each pair beside its state: since when, last contact, what waits and how long.

Only reads: the counters and times that the journal was folded into, the queues, and the deadlines
of this process. A restart forgets the deadlines alone, and gives new ones at once.
"""

from collections.abc import Iterator
from typing import Final

from onceonly.gateway.desk import Desk
from onceonly.message.identity import Pair
from onceonly.message.word import Word
from onceonly.protocol.outlook import Outlook, outlook
from onceonly.store.contract.counters import HOUR_US, EventCounts, Span
from onceonly.store.contract.entries import PairView, Role
from onceonly.store.contract.store import Snapshot

FIRST_TRY_US: Final = 24 * HOUR_US
"""How far back the share of first tries looks, and to the begin of that hour."""


class InFlight(Word):
    """A message with a turn, and what lies ahead of it."""

    message_id: str
    attempt: int
    submitted_at: int
    ahead: Outlook


class PairFacts(Word):
    """What is known of one pair."""

    state_since_at: int | None = None
    """When its state last changed; None if it never did."""
    last_contact_at: int | None = None
    """When the partner was last heard, in either direction."""
    oldest_waiting_at: int | None = None
    """When the oldest message was submitted that waits for its turn or its acknowledgement."""
    acknowledged: int = 0
    """Messages acknowledged in the last 24 hours, and of these after one transmission:"""
    first_try: int = 0
    in_flight: tuple[InFlight, ...] = ()


class Pairs:
    """Knows the facts of every pair, as of one look."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._snapshot: Snapshot = desk.snapshot()
        self._times = self._snapshot.list_pair_times()
        self._agreements: dict[Pair, list[str]] = {}
        for one in desk.house.agreements:
            pair = Pair(one.our_party, one.their_party)
            self._agreements.setdefault(pair, []).append(one.id)

    def facts(self, view: PairView) -> PairFacts:
        """The facts of one pair."""
        times, back = self._times.get(view.pair), self._times.get(Pair(*reversed(view.pair)))
        heard = [one.heard_at for one in (times, back) if one is not None and one.heard_at]
        since_at = None if times is None else times.changed_at
        last_at = max(heard, default=None)
        if view.role is Role.RECEIVER:
            return PairFacts(since_at, last_at)
        counts = self._recent(view.pair)
        in_flight = tuple(self._in_flight(view))
        waiting = [one.submitted_at for one in in_flight]
        queued = self._snapshot.find_next_queued(view.pair) if view.queued else None
        if queued is not None:
            waiting.extend(self._submitted(queued.message_id))
        return PairFacts(
            since_at,
            last_at,
            min(waiting, default=None),
            counts.acknowledged,
            counts.first_try,
            in_flight,
        )

    def _in_flight(self, view: PairView) -> Iterator[InFlight]:
        for message_id in view.in_flight:
            found = self._snapshot.find_outbound_view(message_id)
            if found is None:
                continue
            agreement = self._desk.house.agreement(found.message.agreement_id)
            due_ns = self._desk.find_due_ns(message_id)
            ahead = outlook(found.state, due_ns, agreement.terms, self._desk.clock.wall_at)
            yield InFlight(message_id, found.state.attempt, found.submitted_at, ahead)

    def _submitted(self, message_id: str) -> Iterator[int]:
        found = self._snapshot.find_outbound_view(message_id)
        if found is not None:
            yield found.submitted_at

    def _recent(self, pair: Pair) -> EventCounts:
        now_at, counts = self._desk.clock.at(), EventCounts()
        from_at = Span.HOUR.begin_of(now_at - FIRST_TRY_US)
        for agreement_id in self._agreements.get(pair, ()):
            for _, more in self._snapshot.list_counts(Span.HOUR, agreement_id, from_at, now_at + 1):
                counts = counts.plus(more)
        return counts
