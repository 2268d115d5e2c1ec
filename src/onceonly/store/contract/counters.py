"""The store's contract for counters over time: what the journal says, folded into few rows.

The journal has a row for everything that happens, so nothing is counted on a message's way. A
*fold* reads the rows that are not counted yet (`tally_journal`), adds what they say to a few
counters, and notes in the same transaction how far the journal is counted: a crash loses nothing,
and no row is counted twice.

Counters are kept by the minute, by the hour and for ever; each of them for one agreement or for all
together (`ALL`, where rows count that no agreement of ours has). The fold also finds rows that are
rare and that people ask for (`LISTED`), and when each partner was last heard.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec.structs import astuple

from onceonly.journal.record import Record
from onceonly.message.event import Direction, Event
from onceonly.message.identity import Pair
from onceonly.message.instant import US_PER_S
from onceonly.message.word import Word

ALL: Final = ""
"""In the place of an agreement's id: every row, whatever its agreement."""

LATENCY_BOUNDS_S: Final = (
    *(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
    *(300.0, 1_800.0, 3_600.0, 21_600.0, 86_400.0),
)
"""Upper bounds of the classes of a latency; what is longer is in one class more."""

CLASSES: Final = len(LATENCY_BOUNDS_S) + 1

MINUTE_US: Final = 60 * US_PER_S
HOUR_US: Final = 3_600 * US_PER_S


class Span(StrEnum):
    """How long a counter counts."""

    MINUTE = "minute"
    HOUR = "hour"
    TOTAL = "total"
    """Since the first row of the journal; it begins at 0."""

    def begin_of(self, at: int) -> int:
        """When the span that has this instant begins."""
        width_us = {Span.MINUTE: MINUTE_US, Span.HOUR: HOUR_US, Span.TOTAL: at + 1}[self]
        return at - at % width_us


class EventCounts(Word, kw_only=True, omit_defaults=True):
    """How often what happened. The names stay: rows with them are in stores."""

    submitted: int = 0
    transmitted: int = 0
    """Transmissions that ended, first ones and repeats."""
    acknowledged: int = 0
    first_try: int = 0
    """Of the acknowledged ones: after one transmission."""
    sent: int = 0
    """Taken by the transport, where no acknowledgement was agreed."""
    in_doubt: int = 0
    failed: int = 0
    expired: int = 0
    cancelled: int = 0
    late: int = 0
    """Acknowledged after the application was told of a failure."""
    received: int = 0
    handed_over: int = 0
    duplicates: int = 0
    collisions: int = 0
    refused: int = 0
    errors: int = 0
    """Errors about messages of ours."""
    security: int = 0
    bugs: int = 0
    latencies: tuple[int, ...] = ()
    """Acknowledged ones by class of the time from their submission; empty for none."""
    latency_us: int = 0
    """The sum of these times."""

    def plus(self, other: "EventCounts") -> "EventCounts":
        """Both together."""
        mine, theirs = astuple(self), astuple(other)
        both: list[Any] = [_sum(one, two) for one, two in zip(mine, theirs, strict=True)]
        return EventCounts(**dict(zip(EventCounts.__struct_fields__, both, strict=True)))


def _sum(one: int | tuple[int, ...], two: int | tuple[int, ...]) -> int | tuple[int, ...]:
    if isinstance(one, int) and isinstance(two, int):
        return one + two
    assert isinstance(one, tuple), "the same member of both"
    assert isinstance(two, tuple), "the same member of both"
    return tuple(map(sum, zip(one, two, strict=True))) if one and two else one or two


_BY_EVENT: Final = {
    Event.SUBMITTED: "submitted",
    Event.TRANSMITTED: "transmitted",
    Event.ACK_RECEIVED: "acknowledged",
    Event.LATE_ACK_RECEIVED: "late",
    Event.SENT: "sent",
    Event.FAILED: "failed",
    Event.EXPIRED: "expired",
    Event.CANCELLED: "cancelled",
    Event.STORED: "received",
    Event.HANDED_OVER: "handed_over",
    Event.DUPLICATE_ELIMINATED: "duplicates",
    Event.COLLISION_DETECTED: "collisions",
    Event.ERROR_RECEIVED: "errors",
    Event.SECURITY_EVENT: "security",
    Event.SIGNATURE_REFUSED: "security",
    Event.PARKED: "bugs",
    Event.INTERNAL_ERROR: "bugs",
}

DOUBT: Final = "DeliveryFailure"
"""`reason` of a Notified row whose severity Warning says that the message is in doubt."""

LISTED: Final = (
    Event.DUPLICATE_ELIMINATED,
    Event.COLLISION_DETECTED,
    Event.REJECTED,
    Event.SECURITY_EVENT,
    Event.ERROR_RECEIVED,
    Event.ORPHAN_ACK_RECEIVED,
    Event.LATE_ACK_RECEIVED,
    Event.WITHHELD,
    Event.APPLICATION_REFUSED,
    Event.PARKED,
    Event.INTERNAL_ERROR,
    Event.SIGNATURE_REFUSED,
)
"""Events that are rare and asked for; their rows are found without reading the others."""

HEARD: Final = frozenset(
    {
        Event.ACK_RECEIVED,
        Event.LATE_ACK_RECEIVED,
        Event.REPEATED_ACK_RECEIVED,
        Event.ERROR_RECEIVED,
        Event.PONG_RECEIVED,
        Event.REPORT_RECEIVED,
        Event.RESPONSE_RECEIVED,
        Event.RECEIPT_RECEIVED,
        Event.STORED,
        Event.DUPLICATE_ELIMINATED,
        Event.COLLISION_DETECTED,
    }
)
"""Events by which a partner was heard, on the pair of their row."""

CHANGED: Final = frozenset({Event.PAIR_SUSPENDED, Event.PAIR_RESUMED, Event.PAIR_QUARANTINED})
"""Events that change the state of a pair."""


LOOKED_AT_MAX: Final = 20_000
"""Most listed rows that one page looks at."""

END: Final = (1 << 63) - 1
"""Above every instant and every seq."""


class Group(Word):
    """Rows of one minute and agreement that count alike, and how many they are."""

    minute_at: int
    agreement_id: str | None
    event: Event
    direction: Direction | None
    is_doubt: bool
    count: int


class Latency(Word):
    """An acknowledgement: when, and how long after the submission."""

    at: int
    agreement_id: str | None
    attempt: int | None
    latency_us: int | None
    """None where the journal does not have the submission any more."""


class RareRow(Word):
    """A row of the journal that people ask for."""

    seq: int
    event: Event
    at: int
    from_party: str | None
    to_party: str | None


class PairTimes(Word):
    """When the partner was last heard on a pair, and since when the pair has its state."""

    heard_at: int | None = None
    changed_at: int | None = None

    def then(self, later: "PairTimes") -> "PairTimes":
        """What is known after later rows, even if the wall clock was set back meanwhile."""
        return PairTimes(
            self.heard_at if later.heard_at is None else later.heard_at,
            self.changed_at if later.changed_at is None else later.changed_at,
        )


class JournalSums(Word):
    """What the rows above `after` up to `up_to` say."""

    after: int
    up_to: int
    counts: Mapping[tuple[int, str | None], EventCounts]
    """By minute and agreement."""
    listed: Sequence[RareRow]
    pairs: Mapping[Pair, PairTimes]

    def plus(self, later: "JournalSums") -> "JournalSums":
        """Both together, where the other one is of the rows that follow."""
        assert self.up_to == later.after, "no row is left out, and none counts twice"
        counts, pairs = dict(self.counts), dict(self.pairs)
        for key, more in later.counts.items():
            counts[key] = counts[key].plus(more) if key in counts else more
        for pair, times in later.pairs.items():
            pairs[pair] = pairs[pair].then(times) if pair in pairs else times
        return JournalSums(self.after, later.up_to, counts, [*self.listed, *later.listed], pairs)


class ListedFilter(Word):
    """Which listed rows, the newest first; None means any."""

    event: Event
    partner: str | None = None
    """From or To of the row."""
    since_at: int = 0
    until_at: int = END
    before: int = END
    """Only rows with a lower `seq`."""
    limit: int = 100


class ListedPage(Word):
    """Rows of the journal, the newest first."""

    records: Sequence[Record]
    next_before: int | None
    """`before` of the next page, which may have no row either: `LOOKED_AT_MAX` were looked at. None
    on the last page."""


class CounterSnapshot(Protocol):
    """What can be asked about counters."""

    def counted_seq(self) -> int:
        """Up to which row the journal is counted."""
        ...

    def tally_journal(self, after: int, up_to: int) -> JournalSums:
        """What the rows above `after` up to `up_to` say; not more than some 10,000 at once."""
        ...

    def find_counts(self, span: Span, begins_at: int, agreement_id: str) -> EventCounts | None:
        """The counter of this agreement, or of `ALL`."""
        ...

    def list_counts(
        self, span: Span, agreement_id: str, from_at: int, to_at: int
    ) -> Sequence[tuple[int, EventCounts]]:
        """(begin, counts) of the spans that begin from `from_at` on and before `to_at`.

        In order, without those in which nothing happened.
        """
        ...

    def list_totals(self) -> Sequence[tuple[str, EventCounts]]:
        """(agreement or `ALL`, counts) since the first row."""
        ...

    def list_pair_times(self) -> Mapping[Pair, PairTimes]:
        """Of every pair on which something happened."""
        ...

    def list_listed(self, wanted: ListedFilter) -> ListedPage:
        """The listed rows with this event that fit; looks at `LOOKED_AT_MAX` of them at most."""
        ...

    def find_first_of(self, message_id: str, event: Event, after: int) -> Record | None:
        """The first row about the message above `after` with this event."""
        ...


class CounterTransaction(CounterSnapshot, Protocol):
    """How a fold writes."""

    def put_counts(
        self, span: Span, begins_at: int, agreement_id: str, counts: EventCounts
    ) -> None:
        """Replace a counter."""
        ...

    def forget_counts(self, span: Span, before_at: int) -> None:
        """Forget the counters of spans that began before then."""
        ...

    def put_pair_times(self, pair: Pair, times: PairTimes) -> None:
        """Replace what is known of a pair."""
        ...

    def add_listed(self, rows: Sequence[RareRow]) -> None:
        """Remember rows that people ask for."""
        ...

    def put_counted_seq(self, seq: int) -> None:
        """The journal is counted up to this row."""
        ...


def tally(
    after: int,
    up_to: int,
    *,
    groups: Iterable[Group],
    latencies: Iterable[Latency],
    listed: Sequence[RareRow],
    pairs: Mapping[Pair, PairTimes],
) -> JournalSums:
    """The answers of a store's tables together."""
    counts: dict[tuple[int, str | None], EventCounts] = {}

    def add(minute_at: int, agreement_id: str | None, more: EventCounts) -> None:
        key = minute_at, agreement_id
        counts[key] = counts[key].plus(more) if key in counts else more

    for group in groups:
        name = _name_of(group)
        if name is not None:
            more: dict[str, Any] = {name: group.count}
            add(group.minute_at, group.agreement_id, EventCounts(**more))
    for (minute_at, agreement_id), found in _of_latencies(latencies).items():
        add(minute_at, agreement_id, found)
    return JournalSums(after, up_to, counts, listed, pairs)


def _name_of(group: Group) -> str | None:
    if group.event is Event.NOTIFIED:
        return "in_doubt" if group.is_doubt else None
    if group.event is Event.REJECTED:
        return None if group.direction is Direction.OUT else "refused"
    return _BY_EVENT.get(group.event)


def _of_latencies(latencies: Iterable[Latency]) -> dict[tuple[int, str | None], EventCounts]:
    classes: dict[tuple[int, str | None], list[int]] = {}
    sums: dict[tuple[int, str | None], list[int]] = {}
    for one in latencies:
        key = Span.MINUTE.begin_of(one.at), one.agreement_id
        found, both = classes.setdefault(key, [0] * CLASSES), sums.setdefault(key, [0, 0])
        both[0] += one.attempt == 1
        if one.latency_us is not None:
            # The wall clock may have been set back meanwhile.
            latency_us = max(0, one.latency_us)
            both[1] += latency_us
            found[bisect_left(LATENCY_BOUNDS_S, latency_us / US_PER_S)] += 1
    return {
        key: EventCounts(
            first_try=sums[key][0],
            latency_us=sums[key][1],
            latencies=tuple(found) if any(found) else (),
        )
        for key, found in classes.items()
    }


def quantile_s(latencies: Sequence[int], share: float) -> float | None:
    """The latency that this share of them does not exceed, in seconds, by interpolation.

    None where there are none. What is above the last bound counts as that bound.
    """
    count = sum(latencies)
    if count == 0:
        return None
    rank, below, low_s = share * count, 0, 0.0
    for bound_s, found in zip(LATENCY_BOUNDS_S, latencies, strict=False):
        if found and below + found >= rank:
            return low_s + (bound_s - low_s) * (rank - below) / found
        below, low_s = below + found, bound_s
    return low_s
