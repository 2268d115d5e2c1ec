"""Lists: whatever is asked for, a list is what a naive look at every row finds, in order.

Asked page by page of both stores, with a bound of few rows, while rows are added and change.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import CARRIER, NOW_AT, PARTY, SELLER, message

from onceonly.message.errors import ErrorCode
from onceonly.message.word import changed
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.store.contract.entries import COUNT_MAX, Count, MessageFilter, OutboundView
from onceonly.store.contract.store import Store
from onceonly.store.memory.store import MemoryStore
from onceonly.store.sqlite.listing import after_prefix, ranges_of
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

PARTNERS = {str(party): party for party in (SELLER, CARRIER)}
IDS = ("a", "ab", "ab\U0010ffff", "abc", "b")
AGREEMENTS = ("tpa-1", "tpa-2", "tpa-3")
FAR = 1 << 40

instants = st.integers(0, 40)
ends = st.integers(0, 51)


def maybe(values: Any) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(values)


statuses = st.sampled_from(OutboundStatus)
errors = maybe((ErrorCode.UNKNOWN, ErrorCode.DELIVERY_FAILURE))
facts = st.fixed_dictionaries(
    {
        "to": st.sampled_from(list(PARTNERS.values())),
        "agreement_id": st.sampled_from(AGREEMENTS),
        "conversation_id": st.sampled_from(["c-1", "c-2"]),
        "id": st.sampled_from(IDS),
        "status": statuses,
        "error_code": errors,
        "has_key": st.booleans(),
        "at": instants,
    }
)
filters = st.builds(
    MessageFilter,
    status=st.none() | statuses,
    to_party=maybe(list(PARTNERS)),
    agreement_id=maybe(AGREEMENTS),
    agreement_ids=st.none() | st.lists(st.sampled_from(AGREEMENTS), max_size=2).map(tuple),
    service=maybe(["Orders", "Invoices"]),
    action=maybe(["NewOrder", "Cancel"]),
    conversation_id=maybe(["c-1", "c-2"]),
    idempotency_key=maybe(["key-0", "key-1"]),
    error_code=errors,
    id_prefix=maybe(["", "a", "ab", "z", "\U0010ffff"]),
    since_at=st.none() | instants,
    until_at=st.none() | instants,
    settled_since_at=st.none() | ends,
    settled_until_at=st.none() | ends,
    is_newest_first=st.booleans(),
    limit=st.integers(1, 4),
    rows_max=st.sampled_from([1, 2, 3, 7, 20_000]),
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), statuses, errors),
        st.tuples(st.just("resend"), st.integers(0, 9), st.integers(0, 9)),
    ),
    max_size=4,
)


FACT: dict[str, Any] = {
    "to": CARRIER,
    "agreement_id": "tpa-1",
    "conversation_id": "c-1",
    "id": "a",
    "status": OutboundStatus.QUEUED,
    "error_code": None,
    "has_key": False,
    "at": 1,
}


class Books:
    """The same messages in both stores, and every row as it was written."""

    def __init__(self, sqlite: SqliteStore) -> None:
        self.memory = MemoryStore(party=PARTY, clock_at=lambda: NOW_AT)
        self.sqlite = sqlite
        self.ids: list[str] = []
        self.keys: dict[str, str | None] = {}

    @property
    def stores(self) -> tuple[Store, Store]:
        return self.memory, self.sqlite

    def write(self, step: Callable[[Any], None]) -> None:
        for store in self.stores:
            step(store.begin())
            store.commit()

    def add(self, fact: dict[str, Any]) -> None:
        number = len(self.ids)
        message_id = f"{fact['id']}-{number}"
        key = f"key-{number}" if fact["has_key"] else None
        names = ("to", "agreement_id", "conversation_id")
        sent = message(message_id, **{name: fact[name] for name in names})
        state = Outbound(fact["status"], error_code=fact["error_code"])
        self.write(
            lambda tx: tx.add_outbound(
                sent, state, (), digest="d" * 64, submitted_at=fact["at"], idempotency_key=key
            )
        )
        self.ids.append(message_id)
        self.keys[message_id] = key

    def change(self, what: str, number: int, *given: Any) -> None:
        if number >= len(self.ids):
            return
        message_id = self.ids[number]
        if what == "put":
            status, error_code = given
            state = Outbound(status, error_code=error_code)
            self.write(lambda tx: tx.put_outbound(message_id, state, at=50))
        elif number < given[0] < len(self.ids):
            other = self.ids[given[0]]
            self.write(lambda tx: tx.put_resent(message_id, other))
            self.keys[other] = self.keys[message_id]

    def naive(self, wanted: MessageFilter) -> list[OutboundView]:
        """Every message, one by one, and of them those that fit."""
        views = [self.memory.snapshot().find_outbound_view(one) for one in self.ids]
        fitting = [view for view in views if view is not None and self.fits(view, wanted)]
        return fitting[::-1] if wanted.is_newest_first else fitting

    def fits(self, view: OutboundView, wanted: MessageFilter) -> bool:
        sent = view.message
        found = {
            "status": view.state.status,
            "to_party": sent.pair.to_party,
            "agreement_id": sent.agreement_id,
            "service": sent.service,
            "action": sent.action,
            "conversation_id": sent.conversation_id,
            "idempotency_key": self.keys[sent.message_id],
            "error_code": view.state.error_code,
        }
        bounds = (wanted.since_at or 0, FAR if wanted.until_at is None else wanted.until_at)
        return (
            all(getattr(wanted, name) in (None, value) for name, value in found.items())
            and (wanted.agreement_ids is None or sent.agreement_id in wanted.agreement_ids)
            and sent.message_id.startswith(wanted.id_prefix or "")
            and bounds[0] <= view.submitted_at < bounds[1]
            and self.has_ended(view.settled_at, wanted.settled_since_at, wanted.settled_until_at)
        )

    def has_ended(self, at: int | None, since_at: int | None, until_at: int | None) -> bool:
        if since_at is None and until_at is None:
            return True
        return at is not None and (since_at or 0) <= at < (FAR if until_at is None else until_at)


def pages(store: Store, wanted: MessageFilter) -> Iterator[list[OutboundView]]:
    after: int | None = 0
    while after is not None:
        page = store.snapshot().list_messages(changed(wanted, after=after))
        assert len(page.messages) <= wanted.limit
        assert len(page.messages) == wanted.limit or page.is_cut or page.next_after is None
        yield list(page.messages)
        after = page.next_after


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """In memory, where there is such a place: nothing here is about durability."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture
def books(folder: Path) -> Iterator[Books]:
    with opened(folder) as found:
        yield found


@contextmanager
def opened(folder: Path) -> Iterator[Books]:
    path = folder / f"{uuid4()}.db"
    sqlite = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT)
    try:
        yield Books(sqlite)
    finally:
        sqlite.close()


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(facts, max_size=9),
    changed_before=changes,
    asked=st.lists(filters, min_size=1, max_size=12),
)
def test_a_list_is_what_a_look_at_every_row_finds(
    folder: Path,
    rows: list[dict[str, Any]],
    changed_before: list[tuple[Any, ...]],
    asked: list[MessageFilter],
) -> None:
    """By any criteria, in both orders; the pages joined are the whole list, and counted."""
    with opened(folder) as books:
        for fact in rows:
            books.add(fact)
        for change in changed_before:
            books.change(*change)
        for wanted in asked:
            expected = books.naive(wanted)
            for store in books.stores:
                assert [view for page in pages(store, wanted) for view in page] == expected
                count = store.snapshot().count_messages(wanted)
                assert count.count == len(expected) or count.is_more
                assert count.count <= len(expected)
            whole = changed(wanted, rows_max=20_000)
            found = books.sqlite.snapshot().count_messages(whole)
            assert found == Count(len(expected), is_more=False)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(facts, min_size=3, max_size=9),
    meanwhile=st.lists(st.tuples(facts, changes), min_size=4, max_size=4),
    wanted=filters,
)
def test_nothing_is_shown_twice_or_passed_over_while_messages_come_and_change(
    folder: Path,
    rows: list[dict[str, Any]],
    meanwhile: list[tuple[dict[str, Any], list[tuple[Any, ...]]]],
    wanted: MessageFilter,
) -> None:
    """What fits from the first page to the last is shown once, and nothing that never fitted."""
    with opened(folder) as books:
        for fact in rows:
            books.add(fact)
        always = {view.message.message_id for view in books.naive(wanted)}
        ever, shown = set(always), []
        after, turns = 0, iter(meanwhile)
        while after is not None:
            page = books.sqlite.snapshot().list_messages(changed(wanted, after=after))
            shown += [view.message.message_id for view in page.messages]
            after = page.next_after
            for fact, changed_now in itertools.islice(turns, 1):
                books.add(fact)
                for change in changed_now:
                    books.change(*change)
                    fitting = {view.message.message_id for view in books.naive(wanted)}
                    always &= fitting
                    ever |= fitting
                ever |= {view.message.message_id for view in books.naive(wanted)}
        assert len(shown) == len(set(shown))
        assert always <= set(shown) <= ever
        in_order = sorted(shown, key=books.ids.index, reverse=wanted.is_newest_first)
        assert shown == in_order


CLOCKS = {
    "goes on": lambda number: number,
    "is set back once": lambda number: number if number < 3_000 else number - 2_500,
    "jumps ahead and comes back": lambda number: number + (10**6 if 1_500 < number < 1_600 else 0),
    "is wrong every other hour": lambda number: number + 5_000 * (number // 700 % 2),
    "stands still": lambda number: 1_000,
}


TIMES = ((1_000, 1_100), (2_900, None), (None, 600), (10**6, None), (4_400, 4_401))


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_range_of_time_is_found_whatever_the_clock_did(books: Books, clock: str) -> None:
    """Also where later messages have earlier instants: no message of the range is passed over."""
    sent = message("m", to=CARRIER)
    transaction = books.sqlite.begin()
    instants = [CLOCKS[clock](number) for number in range(4_500)]
    for number, at in enumerate(instants):
        transaction.add_outbound(
            changed(sent, message_id=f"m-{number}"),
            Outbound(),
            (),
            digest="d" * 64,
            submitted_at=at,
            idempotency_key=None,
        )
    books.sqlite.commit()
    for since_at, until_at in TIMES:
        expected = [
            f"m-{number}"
            for number, at in enumerate(instants)
            if (since_at or 0) <= at < (FAR if until_at is None else until_at)
        ]
        times = MessageFilter(since_at=since_at, until_at=until_at, limit=700, rows_max=900)
        for newest in (False, True):
            wanted = changed(times, is_newest_first=newest)
            views = [view for page in pages(books.sqlite, wanted) for view in page]
            found = [view.message.message_id for view in views]
            assert found == (expected[::-1] if newest else expected)


def test_a_range_of_time_is_read_alone(books: Books) -> None:
    """Of many messages only the stretch of that time is looked at, and the one without an end."""
    transaction = books.sqlite.begin()
    for number in range(5_000):
        transaction.add_outbound(
            message(f"m-{number}"),
            Outbound(),
            (),
            digest="d" * 64,
            submitted_at=number,
            idempotency_key=None,
        )
    books.sqlite.commit()
    wanted = MessageFilter(since_at=2_500, until_at=2_600, rows_max=2_048)
    page = books.sqlite.snapshot().list_messages(wanted)
    assert len(page.messages) == 100
    assert (page.next_after, page.is_cut) == (None, False)


def test_a_page_that_looks_at_too_many_rows_says_where_to_go_on(books: Books) -> None:
    """It ends after the bound, perhaps with nothing on it, and is no last page."""
    for number in range(8):
        books.add(FACT | {"agreement_id": "tpa-1" if number == 7 else "tpa-2"})
    snapshot = books.sqlite.snapshot()
    wanted = MessageFilter(service="Orders", action="Cancel", rows_max=5)
    page = snapshot.list_messages(wanted)
    assert (list(page.messages), page.next_after, page.is_cut) == ([], 5, True)
    assert snapshot.count_messages(wanted) == Count(0, is_more=True)
    page = snapshot.list_messages(changed(wanted, after=5))
    assert (list(page.messages), page.next_after, page.is_cut) == ([], None, False)


def test_a_count_stops(books: Books) -> None:
    """At ten thousand, and says that there are more."""
    transaction = books.sqlite.begin()
    for number in range(COUNT_MAX + 1):
        transaction.add_outbound(
            message(f"m-{number}"),
            Outbound(),
            (),
            digest="d" * 64,
            submitted_at=number,
            idempotency_key=None,
        )
    books.sqlite.commit()
    snapshot = books.sqlite.snapshot()
    assert snapshot.count_messages(MessageFilter()) == Count(COUNT_MAX, is_more=True)
    last = MessageFilter(is_newest_first=True, after=COUNT_MAX + 1)
    assert snapshot.count_messages(last) == Count(COUNT_MAX, is_more=False)


@pytest.mark.parametrize(
    ("prefix", "after"),
    [("a", "b"), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000"), ("", "\U0010ffff" * 1_000)],
)
def test_the_end_of_a_prefix_is_the_next_text_without_it(prefix: str, after: str) -> None:
    """In the order in which SQLite compares texts."""
    assert after_prefix(prefix) == after


def test_what_is_not_known_of_a_time_is_read() -> None:
    """The numbers after the last stretch, and neighbours as one range."""
    assert ranges_of([], None, (0, 100)) == [(0, 100)]
    assert ranges_of([0, 1], 4, (0, 9_999)) == [(0, 2_049), (5_120, 9_999)]
    assert ranges_of([4], 4, (5_000, 9_999)) == [(5_000, 9_999)]
    assert ranges_of([2], 4, (0, 5_000)) == [(2_048, 3_073)]
    assert len(ranges_of(range(0, 100, 2), 100, (0, FAR))) == 16
