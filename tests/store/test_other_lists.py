"""Inbox, journal, notices, incidents and jobs: a list is what a look at every row finds.

By any criteria, in both orders, page by page with a bound of few rows, in both stores.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import CARRIER, NOTICE, NOW_AT, PARTY, SELLER, commit, message, receive, row

from onceonly.message.errors import ErrorCode
from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.receiving import ProcessingState
from onceonly.protocol.sending import Outbound
from onceonly.store.contract.entries import Count, Excerpt, Role
from onceonly.store.contract.listing import (
    InboxFilter,
    IncidentFilter,
    JobFilter,
    JournalFilter,
    ListFilter,
    NoticeFilter,
)
from onceonly.store.contract.store import Snapshot, Store, Transaction
from onceonly.store.memory.store import MemoryStore
from onceonly.store.sqlite.store import open_sqlite

PARTNERS = (SELLER, CARRIER)
IDS = ("a", "ab", "b")
AGREEMENTS = ("tpa-1", "tpa-2")
ALL = 10_000

instants = st.integers(0, 20)
ids = st.sampled_from(IDS)
chances = st.fixed_dictionaries(
    {
        "what": st.sampled_from(["sent", "received", "row", "notice", "incident", "job"]),
        "id": ids,
        "partner": st.sampled_from(PARTNERS),
        "agreement_id": st.sampled_from(AGREEMENTS),
        "conversation_id": st.sampled_from(["c-1", "c-2"]),
        "at": instants,
        "flag": st.booleans(),
    }
)


def maybe(*values: Any) -> st.SearchStrategy[Any]:
    return st.none() | st.sampled_from(values)


PAGING: dict[str, st.SearchStrategy[Any]] = {
    "is_newest_first": st.booleans(),
    "limit": st.integers(1, 3),
    "rows_max": st.sampled_from([1, 2, 5, 20_000]),
    "since_at": st.none() | instants,
    "until_at": st.none() | instants,
    "id_prefix": maybe("", "a", "ab", "z"),
}
OF_AGREEMENT = {
    "agreement_id": maybe(*AGREEMENTS),
    "agreement_ids": maybe((), ("tpa-1",), AGREEMENTS),
}
HEADERS = {
    "service": maybe("Orders", "x"),
    "action": maybe("NewOrder", "x"),
    "conversation_id": maybe("c-1", "c-2"),
}
party_names = maybe(PARTY, *map(str, PARTNERS))
questions: st.SearchStrategy[ListFilter[Any]] = st.one_of(
    st.builds(
        InboxFilter,
        **PAGING,
        **OF_AGREEMENT,
        **HEADERS,
        from_party=party_names,
        processing=maybe(*ProcessingState),
    ),
    st.builds(
        JournalFilter,
        **PAGING,
        **OF_AGREEMENT,
        **HEADERS,
        partner=party_names,
        event=maybe(Event.SUBMITTED, Event.STORED),
        error_code=maybe("Unknown"),
    ),
    st.builds(
        NoticeFilter,
        **PAGING,
        **OF_AGREEMENT,
        kind=maybe(*NoticeKind),
        error_code=maybe(ErrorCode.DELIVERY_FAILURE, ErrorCode.UNKNOWN),
    ),
    st.builds(
        IncidentFilter,
        **PAGING,
        **OF_AGREEMENT,
        role=maybe(*Role),
        partner=party_names,
        is_open=maybe(True, False),
    ),
    st.builds(JobFilter, **PAGING),
)


def fill(transaction: Transaction, facts: Sequence[dict[str, Any]]) -> None:
    """What a gateway might have written, in this order."""
    for number, one in enumerate(facts):
        message_id, at = f"{one['id']}-{number}", one["at"]
        names = {name: one[name] for name in ("agreement_id", "conversation_id")}
        sent = message(message_id, to=one["partner"], **names)
        pair = Pair(PARTY, str(one["partner"]))
        if one["what"] == "sent":
            transaction.add_outbound(
                sent, Outbound(), (), digest="d", submitted_at=at, idempotency_key=None
            )
        elif one["what"] == "received":
            transaction.add_inbound(sent, (), None, digest="e", received_at=at)
            offset = transaction.hand_over(sent.key, at=at)
            if one["flag"]:
                transaction.put_processing(offset, ProcessingState.COMPLETE)
            elif at % 3 == 0:
                transaction.cancel_inbound(sent.key, at=at, keep_until_at=None)
        elif one["what"] == "row":
            error_code = "Unknown" if one["flag"] else None
            about = {"message_id": message_id, "from_party": PARTY, "to_party": pair.to_party}
            about |= names | {"service": "Orders", "action": "NewOrder"}
            written = row(Event.SUBMITTED, **(about if at % 2 else {}), error_code=error_code)
            transaction.append([changed(written, at=at)])
        elif one["what"] == "notice":
            kind = NoticeKind.NOT_PROCESSED if one["flag"] else NoticeKind.DELIVERY_FAILURE
            its = f"{one['id']}-{number - 1}"
            transaction.add_notice(changed(NOTICE, message_id=its, kind=kind, at=at))
        elif one["what"] == "incident":
            its = f"{one['id']}-{number - 1}" if one["flag"] else None
            transaction.open_incident(Role.SENDER, pair, f"r-{number}", at=at, message_id=its)
            if at % 2:
                transaction.resolve_incidents(Role.SENDER, pair, at=at, with_parked=True)
        else:
            transaction.open_job(message_id, at=at)


Row = tuple[int, Any, dict[str, Any]]


def rows_of(snapshot: Snapshot, asked_by: type[ListFilter[Any]]) -> Iterator[Row]:
    """Every row of the list: its number, the value, and what can be asked of it."""
    if asked_by is InboxFilter:
        for item in snapshot.list_inbox(0, ALL):
            yield (
                item.offset,
                item,
                {
                    **header_facts(item.message),
                    "from_party": item.message.pair.from_party,
                    "processing": item.processing,
                    "at": item.received_at,
                },
            )
    elif asked_by is JournalFilter:
        for record in snapshot.list_journal(0, ALL):
            parties = (record.from_party, record.to_party)
            yield (
                record.seq,
                record,
                {
                    **header_facts(record),
                    "partner": parties,
                    "at": record.at,
                    "event": record.event,
                    "error_code": record.error_code,
                },
            )
    elif asked_by is NoticeFilter:
        for number, notice in snapshot.list_notices(0, ALL):
            facts = {name: getattr(notice, name) for name in ("kind", "error_code", "at")}
            yield number, (number, notice), facts | of_message(snapshot, notice.message_id)
    elif asked_by is IncidentFilter:
        for incident in snapshot.list_incidents(is_open=False):
            yield (
                incident.incident_id,
                incident,
                {
                    **of_message(snapshot, incident.message_id),
                    "role": incident.role,
                    "partner": tuple(incident.pair),
                    "is_open": incident.resolved_at is None,
                    "at": incident.opened_at,
                },
            )
    else:
        for job in snapshot.list_jobs(0, ALL):
            yield job.number, job, {"message_id": job.job_id, "at": job.opened_at}


def header_facts(source: Any) -> dict[str, Any]:
    names = ("message_id", "agreement_id", "service", "action", "conversation_id")
    return {name: getattr(source, name) for name in names}


def of_message(snapshot: Snapshot, message_id: str | None) -> dict[str, Any]:
    found = None if message_id is None else snapshot.find_outbound(message_id)
    return {
        "message_id": message_id,
        "agreement_id": None if found is None else found.agreement_id,
    }


def fits(facts: dict[str, Any], wanted: ListFilter[Any]) -> bool:
    shared = {*Excerpt.__struct_fields__, "id_prefix", "agreement_ids"}
    for name in wanted.__struct_fields__:
        value = getattr(wanted, name)
        if name in shared or value is None:
            continue
        found = facts[name]
        if value not in found if isinstance(found, tuple) else found != value:
            return False
    allowed = getattr(wanted, "agreement_ids", None)
    if allowed is not None and facts["agreement_id"] not in allowed:
        return False
    if wanted.id_prefix is not None:
        message_id = facts["message_id"]
        if message_id is None or not message_id.startswith(wanted.id_prefix):
            return False
    since_at, until_at = wanted.since_at, wanted.until_at
    is_late_enough = since_at is None or facts["at"] >= since_at
    return is_late_enough and (until_at is None or facts["at"] < until_at)


def joined(store: Store, wanted: ListFilter[Any]) -> list[Any]:
    """All pages, one after the other."""
    found: list[Any] = []
    after: int | None = 0
    while after is not None:
        page = store.snapshot().search(changed(wanted, after=after))
        assert len(page.items) <= wanted.limit
        assert len(page.items) == wanted.limit or page.is_cut or page.next_after is None
        found += page.items
        after = page.next_after
    return found


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """In memory, where there is such a place: nothing here is about durability."""
    shared = Path("/dev/shm")
    with TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        yield Path(name)


def memory_store(folder: Path) -> Any:
    del folder
    return MemoryStore(party=PARTY, clock_at=lambda: NOW_AT)


def sqlite_store(folder: Path) -> Any:
    return open_sqlite(folder / f"{uuid4()}.db", party=PARTY, clock_at=lambda: NOW_AT)


@pytest.mark.parametrize("make", [memory_store, sqlite_store])
@settings(max_examples=60, deadline=None)
@given(facts=st.lists(chances, max_size=14), asked=st.lists(questions, min_size=1, max_size=15))
def test_a_list_is_what_a_look_at_every_row_finds(
    folder: Path,
    make: Callable[[Path], Any],
    facts: list[dict[str, Any]],
    asked: list[ListFilter[Any]],
) -> None:
    """By any criteria, in both orders; the pages joined are the whole list, and counted."""
    with closing(make(folder)) as store:
        commit(store, lambda tx: fill(tx, facts))
        for wanted in asked:
            rows = sorted(rows_of(store.snapshot(), type(wanted)), key=lambda one: one[0])
            expected = [value for _, value, facts in rows if fits(facts, wanted)]
            in_order = expected[::-1] if wanted.is_newest_first else expected
            assert joined(store, wanted) == in_order
            count = store.snapshot().count(wanted)
            assert count.count == len(expected) or count.is_more
            assert count.count <= len(expected)
            whole = store.snapshot().count(changed(wanted, rows_max=ALL))
            assert whole == Count(len(expected), is_more=False)


@pytest.mark.parametrize("newest", [False, True])
def test_times_of_long_lists_are_found(folder: Path, newest: bool) -> None:
    """Of the inbox and of the journal only the stretch of that time is looked at."""
    with closing(sqlite_store(folder)) as store:
        transaction = store.begin()
        for number in range(3_000):
            sent = message(f"m-{number}")
            receive(transaction, sent)
            transaction.hand_over(sent.key, at=9)
        written = row(Event.STORED, "m-1")
        transaction.append([changed(written, at=at) for at in range(3_000)])
        store.commit()
        snapshot = store.snapshot()
        times = {"since_at": 1_500, "until_at": 1_600, "rows_max": 2_048, "limit": 200}
        page = snapshot.search(JournalFilter(**times, is_newest_first=newest))
        instants = list(range(1_500, 1_600))
        assert [one.at for one in page.items] == (instants[::-1] if newest else instants)
        assert not page.is_cut
        late = InboxFilter(since_at=3_000_001, is_newest_first=newest, rows_max=1_024)
        assert snapshot.search(late).next_after is None
        assert len(snapshot.search(changed(late, since_at=3_000_000)).items) == 100
