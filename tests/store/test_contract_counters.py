"""The store's contract on counters over time: what the journal says, in few rows."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import BUYER, CARRIER, OTHER_PAIR, PAIR, SELLER, commit, row

from onceonly.api.counters import ExceptionName, Happened
from onceonly.message.event import Direction, Event
from onceonly.message.identity import Pair
from onceonly.store.contract import counters
from onceonly.store.contract.counters import (
    ALL,
    CHANGED,
    CLASSES,
    HEARD,
    LATENCY_BOUNDS_S,
    LISTED,
    MINUTE_US,
    EventCounts,
    ListedFilter,
    PairTimes,
    Span,
    quantile_s,
)
from onceonly.store.contract.store import Store, Transaction
from onceonly.store.sqlite.queries import SQL

SECOND = 1_000_000
LATER = 3 * MINUTE_US
OUT = {"from_party": PAIR.from_party, "to_party": PAIR.to_party, "agreement_id": "tpa"}
BACK = {"from_party": PAIR.to_party, "to_party": PAIR.from_party, "direction": Direction.IN}


def told(store: Store, *rows: Any) -> None:
    """Commit journal rows."""
    commit(store, lambda tx: tx.append(rows))


def a_day(store: Store) -> None:
    """A message out, one in that comes twice, and what strangers do."""
    told(
        store,
        row(Event.SUBMITTED, "m-1", at=SECOND, **OUT),
        row(Event.TRANSMITTED, "m-1", at=2 * SECOND, attempt=1, **OUT),
        row(Event.ACK_RECEIVED, "m-1", at=4 * SECOND, attempt=1, **OUT),
        row(Event.SUBMITTED, "m-2", at=SECOND, **OUT),
        row(Event.NOTIFIED, "m-2", at=LATER, severity="Warning", reason="DeliveryFailure", **OUT),
        row(Event.NOTIFIED, "m-3", at=LATER, severity="Error", reason="DeliveryFailure", **OUT),
        row(Event.ACK_RECEIVED, "m-2", at=LATER + SECOND, attempt=4, **OUT),
        row(Event.PAIR_SUSPENDED, at=LATER, **OUT),
        row(Event.STORED, "r-1", at=5 * SECOND, **BACK),
        row(Event.ACK_SENT, "r-1", at=6 * SECOND, outcome="accepted", **BACK),
        row(Event.DUPLICATE_ELIMINATED, "r-1", at=65 * SECOND, **BACK),
        row(Event.ACK_SENT, "r-1", at=66 * SECOND, outcome="refused", **BACK),
        row(Event.REJECTED, at=LATER, direction=Direction.IN),
        row(Event.REJECTED, "j-1", at=LATER, actor="job"),
        row(Event.SECURITY_EVENT, at=LATER, direction=None),
        row(Event.ACK_RECEIVED, "x-1", at=7 * SECOND, attempt=1, **OUT),
    )


def latencies(*seconds: float) -> tuple[int, ...]:
    found = [0] * CLASSES
    for second in seconds:
        found[sum(bound < second for bound in LATENCY_BOUNDS_S)] += 1
    return tuple(found)


class TestTally:
    """What rows of the journal say, grouped by minute and agreement."""

    def test_it_counts_what_happened(self, store: Store) -> None:
        a_day(store)
        found = store.snapshot().tally_journal(0, 16)
        assert (found.after, found.up_to) == (0, 16)
        assert dict(found.counts) == {
            (0, "tpa"): EventCounts(
                submitted=2,
                transmitted=1,
                acknowledged=2,
                first_try=2,
                latencies=latencies(3),
                latency_us=3 * SECOND,
            ),
            (LATER, "tpa"): EventCounts(
                in_doubt=1,
                acknowledged=1,
                latencies=latencies(180),
                latency_us=LATER,
            ),
            (0, None): EventCounts(received=1),
            (MINUTE_US, None): EventCounts(duplicates=1),
            (LATER, None): EventCounts(refused=1, security=1),
        }

    def test_it_finds_what_is_rare_and_who_was_heard(self, store: Store) -> None:
        a_day(store)
        found = store.snapshot().tally_journal(0, 16)
        assert [(one.seq, one.event) for one in found.listed] == [
            (11, Event.DUPLICATE_ELIMINATED),
            (13, Event.REJECTED),
            (14, Event.REJECTED),
            (15, Event.SECURITY_EVENT),
        ]
        assert (found.listed[0].from_party, found.listed[0].at) == (PAIR.to_party, 65 * SECOND)
        assert dict(found.pairs) == {
            PAIR: PairTimes(LATER + SECOND, LATER),
            Pair(PAIR.to_party, PAIR.from_party): PairTimes(65 * SECOND, None),
        }

    def test_only_rows_of_the_range_count(self, store: Store) -> None:
        """But the submission of an acknowledged message may be long ago."""
        a_day(store)
        snapshot = store.snapshot()
        assert dict(snapshot.tally_journal(6, 7).counts) == {
            (LATER, "tpa"): EventCounts(acknowledged=1, latencies=latencies(180), latency_us=LATER)
        }
        assert not snapshot.tally_journal(16, 16).counts

    def test_parts_add_up_to_the_whole(self, store: Store) -> None:
        """Wherever it is cut."""
        a_day(store)
        snapshot = store.snapshot()
        whole = snapshot.tally_journal(0, 16)
        for cut in range(17):
            both = snapshot.tally_journal(0, cut).plus(snapshot.tally_journal(cut, 16))
            assert both.counts == whole.counts
            assert both.listed == whole.listed
            assert both.pairs.keys() == whole.pairs.keys()
            assert (both.after, both.up_to) == (0, 16)

    def test_a_clock_that_was_set_back_makes_no_negative_latency(self, store: Store) -> None:
        told(
            store,
            row(Event.SUBMITTED, "m-1", at=9 * SECOND, **OUT),
            row(Event.ACK_RECEIVED, "m-1", at=8 * SECOND, attempt=2, **OUT),
        )
        [counts] = store.snapshot().tally_journal(1, 2).counts.values()
        assert (counts.latencies, counts.latency_us) == (latencies(0), 0)


class TestCounters:
    """Rows that a fold replaces, by span, begin and agreement."""

    def test_a_counter_is_found_and_replaced(self, store: Store) -> None:
        def put(tx: Transaction) -> None:
            tx.put_counts(Span.HOUR, 0, ALL, EventCounts(submitted=1))
            assert tx.find_counts(Span.HOUR, 0, ALL) == EventCounts(submitted=1)
            tx.put_counts(Span.HOUR, 0, ALL, EventCounts(submitted=2, latencies=latencies(1)))
            tx.put_counted_seq(17)

        assert store.snapshot().counted_seq() == 0
        commit(store, put)
        snapshot = store.snapshot()
        assert snapshot.find_counts(Span.HOUR, 0, ALL) == EventCounts(
            submitted=2, latencies=latencies(1)
        )
        assert snapshot.find_counts(Span.MINUTE, 0, ALL) is None
        assert snapshot.counted_seq() == 17

    def test_a_range_is_listed_in_order(self, store: Store) -> None:
        def put(tx: Transaction) -> None:
            for begins_at, agreement in [(300, ALL), (100, ALL), (200, ALL), (100, "tpa")]:
                tx.put_counts(Span.MINUTE, begins_at, agreement, EventCounts(sent=begins_at))

        commit(store, put)
        found = store.snapshot().list_counts(Span.MINUTE, ALL, 100, 300)
        assert [(at, counts.sent) for at, counts in found] == [(100, 100), (200, 200)]

    def test_spans_are_forgotten_and_totals_stay(self, store: Store) -> None:
        def put(tx: Transaction) -> None:
            tx.put_counts(Span.MINUTE, 100, ALL, EventCounts(sent=1))
            tx.put_counts(Span.MINUTE, 200, "tpa", EventCounts(sent=2))
            tx.put_counts(Span.HOUR, 0, ALL, EventCounts(sent=3))
            tx.put_counts(Span.TOTAL, 0, ALL, EventCounts(sent=4))
            tx.put_counts(Span.TOTAL, 0, "tpa", EventCounts(sent=5))
            tx.forget_counts(Span.MINUTE, 200)

        commit(store, put)
        snapshot = store.snapshot()
        assert snapshot.find_counts(Span.MINUTE, 100, ALL) is None
        assert snapshot.find_counts(Span.MINUTE, 200, "tpa") is not None
        assert snapshot.find_counts(Span.HOUR, 0, ALL) is not None
        assert [(name, counts.sent) for name, counts in snapshot.list_totals()] == [
            (ALL, 4),
            ("tpa", 5),
        ]

    def test_times_of_pairs_are_replaced(self, store: Store) -> None:
        def put(tx: Transaction) -> None:
            tx.put_pair_times(PAIR, PairTimes(1, 2))
            tx.put_pair_times(OTHER_PAIR, PairTimes(None, 3))
            tx.put_pair_times(PAIR, PairTimes(4, 2))

        commit(store, put)
        found = store.snapshot().list_pair_times()
        assert found == {PAIR: PairTimes(4, 2), OTHER_PAIR: PairTimes(None, 3)}


class TestListed:
    """Rare rows of the journal, which are found without reading the others."""

    @pytest.fixture
    def filled(self, store: Store) -> Store:
        """Repeats from two partners, every second one."""
        parties = (str(SELLER), str(CARRIER))
        rows = [
            row(
                Event.DUPLICATE_ELIMINATED,
                f"r-{n}",
                at=n * SECOND,
                from_party=parties[n % 2],
                to_party=str(BUYER),
            )
            for n in range(1, 9)
        ]
        told(store, *rows, row(Event.SECURITY_EVENT, at=SECOND))
        found = store.snapshot().tally_journal(0, 9)
        commit(store, lambda tx: tx.add_listed(found.listed))
        return store

    def listed(self, store: Store, **wanted: Any) -> list[int]:
        page = store.snapshot().list_listed(ListedFilter(Event.DUPLICATE_ELIMINATED, **wanted))
        return [one.seq for one in page.records]

    def test_the_newest_come_first(self, filled: Store) -> None:
        assert self.listed(filled) == [8, 7, 6, 5, 4, 3, 2, 1]
        assert self.listed(filled, partner=str(SELLER)) == [8, 6, 4, 2]
        assert self.listed(filled, partner=str(BUYER), limit=2) == [8, 7]
        assert self.listed(filled, since_at=3 * SECOND, until_at=5 * SECOND) == [4, 3]
        assert self.listed(filled, before=3) == [2, 1]

    def test_pages_go_on_where_they_end(self, filled: Store) -> None:
        wanted = ListedFilter(Event.DUPLICATE_ELIMINATED, limit=8)
        page = filled.snapshot().list_listed(wanted)
        assert page.next_before == 1
        last = filled.snapshot().list_listed(
            ListedFilter(Event.DUPLICATE_ELIMINATED, before=1, limit=8)
        )
        assert (list(last.records), last.next_before) == ([], None)
        short = filled.snapshot().list_listed(ListedFilter(Event.SECURITY_EVENT))
        assert (len(short.records), short.next_before) == (1, None)

    def test_a_page_looks_at_a_limited_number_of_rows(
        self, filled: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where nothing fits it is empty, and says where to go on."""
        for name in ("sqlite.counter_reading", "memory.counters"):
            monkeypatch.setattr(f"onceonly.store.{name}.LOOKED_AT_MAX", 3)
        wanted = ListedFilter(Event.DUPLICATE_ELIMINATED, partner="nobody")
        page = filled.snapshot().list_listed(wanted)
        assert (list(page.records), page.next_before) == ([], 6)
        wanted = ListedFilter(Event.DUPLICATE_ELIMINATED, before=3, partner="nobody")
        assert filled.snapshot().list_listed(wanted).next_before is None

    def test_the_first_row_of_an_event_is_found(self, store: Store) -> None:
        a_day(store)
        snapshot = store.snapshot()
        first = snapshot.find_first_of("r-1", Event.ACK_SENT, 0)
        second = snapshot.find_first_of("r-1", Event.ACK_SENT, 10)
        assert (first and first.seq, second and second.seq) == (10, 12)
        assert snapshot.find_first_of("r-1", Event.ACK_SENT, 12) is None


def test_the_statements_name_the_events_of_the_contract() -> None:
    """One definition: the lists in SQL are held equal to those of the contract."""
    for name, events in (("tally_listed", set(LISTED)), ("tally_pairs", HEARD | CHANGED)):
        assert {event for event in Event if f"'{event}'" in SQL[name]} == events, name
    assert set(get_args(ExceptionName)) == set(LISTED)
    assert f"'{counters.DOUBT}'" in SQL["tally_events"]


def test_the_api_shows_every_counter() -> None:
    """And what is made of the latencies."""
    made = {"latency_mean_s", "latency_p50_s", "latency_p95_s", "latency_p99_s"}
    assert set(Happened.__struct_fields__) - made == set(EventCounts.__struct_fields__) - {
        "latency_us"
    }


@given(st.lists(st.floats(0, 200_000), max_size=50), st.lists(st.floats(0, 200_000), max_size=50))
def test_counts_add_up(one: list[float], two: list[float]) -> None:
    """In whatever order they are added."""
    mine = EventCounts(sent=len(one), latencies=latencies(*one) if one else ())
    theirs = EventCounts(sent=len(two), latencies=latencies(*two) if two else ())
    both = mine.plus(theirs)
    assert both == theirs.plus(mine)
    assert both.sent == sum(both.latencies)


@given(st.lists(st.floats(0.001, 80_000), min_size=1, max_size=100), st.sampled_from((0.5, 0.95)))
def test_a_quantile_is_in_the_class_of_the_latency_that_it_names(
    seconds: list[float], share: float
) -> None:
    """The interpolation stays in the class."""
    found = quantile_s(latencies(*seconds), share)
    rank = max(1, -int(-share * len(seconds) // 1))
    exact = sorted(seconds)[rank - 1]
    bounds = (0.0, *LATENCY_BOUNDS_S)
    place = sum(bound < exact for bound in bounds)
    assert found is not None
    assert bounds[place - 1] <= found <= bounds[place] + 1e-9
    assert quantile_s((), share) is None
    assert quantile_s(latencies(10**6), share) == LATENCY_BOUNDS_S[-1]
