"""A fold adds what the journal says to counters, once, and keeps them for as long as it says."""

from pathlib import Path
from typing import Any

import pytest

from onceonly.journal.record import Record
from onceonly.message.agreement import Agreement
from onceonly.message.event import Event
from onceonly.message.identity import Pair, PartyId
from onceonly.message.instant import US_PER_S, Now
from onceonly.message.profile import Profile
from onceonly.message.terms import DeliveryTerms
from onceonly.steps.agreements import Agreements
from onceonly.steps.counting import count
from onceonly.steps.ground import Ground, House
from onceonly.steps.routes import Routes
from onceonly.steps.rows import Rows
from onceonly.store.contract.counters import ALL, HOUR_US, MINUTE_US, PairTimes, Span
from onceonly.store.contract.store import Store
from onceonly.store.sqlite.store import open_sqlite

US, THEM = PartyId("urn:duns:222222222"), PartyId("urn:duns:111111111")
URI = "http://us.example/msh"
AGREEMENT = Agreement(
    id="tpa-ab-1",
    profile=Profile.RM_2000,
    our_ids=(US,),
    their_ids=(THEM,),
    send_to=URI,
    error_to=None,
    receiver_uri=URI,
    terms=DeliveryTerms(),
)
HOUSE = House(
    party=(US,),
    uri=URI,
    uris=frozenset({URI}),
    domain="us.example",
    agreements=Agreements([AGREEMENT]),
    routes=Routes((), our_uris={URI}),
    rows=Rows(str(US)),
    queued_max=10,
)
DAY_US = 24 * HOUR_US
NOW_AT = 1_000 * DAY_US + 90 * US_PER_S
THERE = Pair(str(US), str(THEM))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = open_sqlite(tmp_path / "a.db", party=str(US), clock_at=lambda: NOW_AT)
    yield opened
    opened.close()


def told(store: Store, event: Event, at: int, **columns: Any) -> None:
    txn = store.begin()
    txn.append([Record(str(US), event, at, 17, **columns)])
    store.commit()


def counted(store: Store, after: int, up_to: int, now_at: int = NOW_AT) -> bool:
    tally = store.snapshot().tally_journal(after, up_to)
    txn = store.begin()
    done = count(txn, Ground(HOUSE, Now(now_at, 0), "chance"), tally)
    store.commit()
    return done


def submitted(store: Store, span: Span, at: int, name: str = ALL) -> int | None:
    found = store.snapshot().find_counts(span, span.begin_of(at), name)
    return None if found is None else found.submitted


def test_a_row_is_in_its_minute_its_hour_and_the_total(store: Store) -> None:
    """For all agreements, and for its own."""
    for _ in range(2):
        told(store, Event.SUBMITTED, NOW_AT, agreement_id="tpa-ab-1")
    told(store, Event.SUBMITTED, NOW_AT - MINUTE_US, agreement_id="tpa-ab-1")
    assert counted(store, 0, 2)
    assert counted(store, 2, 3)
    for name in (ALL, "tpa-ab-1"):
        assert submitted(store, Span.MINUTE, NOW_AT, name) == 2
        assert submitted(store, Span.MINUTE, NOW_AT - MINUTE_US, name) == 1
        assert submitted(store, Span.HOUR, NOW_AT, name) == 3
        assert submitted(store, Span.TOTAL, 0, name) == 3
    assert store.snapshot().counted_seq() == 3


def test_no_row_is_counted_twice(store: Store) -> None:
    """A tally that another one has overtaken changes nothing."""
    told(store, Event.SUBMITTED, NOW_AT)
    assert counted(store, 0, 1)
    assert not counted(store, 0, 1)
    assert submitted(store, Span.TOTAL, 0) == 1


def test_agreements_of_strangers_have_no_counters(store: Store) -> None:
    """A stranger could make as many as it likes."""
    told(store, Event.SECURITY_EVENT, NOW_AT, agreement_id="made-up")
    counted(store, 0, 1)
    assert [name for name, _ in store.snapshot().list_totals()] == [ALL]


def test_minutes_are_kept_for_a_day_and_hours_for_a_month(store: Store) -> None:
    """Whatever is counted late, or was counted before."""
    told(store, Event.SUBMITTED, NOW_AT)
    counted(store, 0, 1)
    told(store, Event.SUBMITTED, NOW_AT)
    assert counted(store, 1, 2, NOW_AT + DAY_US + 2 * MINUTE_US)
    assert submitted(store, Span.MINUTE, NOW_AT) is None
    assert submitted(store, Span.HOUR, NOW_AT) == 2
    told(store, Event.SUBMITTED, NOW_AT)
    assert counted(store, 2, 3, NOW_AT + 32 * DAY_US)
    assert submitted(store, Span.HOUR, NOW_AT) is None
    assert submitted(store, Span.TOTAL, 0) == 3


def test_what_is_known_of_a_pair_stays_until_it_is_known_better(store: Store) -> None:
    way = {"from_party": THERE.from_party, "to_party": THERE.to_party}
    told(store, Event.PAIR_SUSPENDED, 5, **way)
    told(store, Event.ACK_RECEIVED, 7, message_id="m-1", **way)
    counted(store, 0, 1)
    counted(store, 1, 2)
    assert store.snapshot().list_pair_times() == {THERE: PairTimes(7, 5)}
