"""What both sides must show when everything is over: the inbox, and the journals of both.

The checks know nothing of the faults.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from nemesis_gateways import Exchange, Gateway, Payload, read_inbox

from onceonly.api.history import JournalRow
from onceonly.client import Client
from onceonly.journal.record import CHAIN_START, COLUMNS, Record, chain
from onceonly.message.event import Event
from onceonly.store.sqlite.store import open_sqlite

ROWS_MAX = 1_000_000


class Evidence(NamedTuple):
    """What the journals counted."""

    resends: int
    duplicates: int


def check_inbox(client: Client, payloads: Mapping[str, Payload], *, in_order: bool = True) -> None:
    """Every message exactly once, byte for byte, nothing else (I1, I2), in its order (I16)."""
    found = read_inbox(client)
    offsets = [offset for offset, _, _ in found]
    assert offsets == sorted(set(offsets))
    assert Counter(one for _, one, _ in found) == Counter(list(payloads)), "lost or twice"
    for _, message_id, digest in found:
        assert digest == payloads[message_id].digest, f"{message_id} is altered"
    if in_order:
        assert [one for _, one, _ in found] == list(payloads), "handed over out of order (I16)"


def check_exchange(exchange: Exchange) -> Evidence:
    """Check inbox and journals of two running gateways whose messages are all complete."""
    with exchange.clients() as (ours, theirs):
        for message_id in exchange.payloads:
            state = ours.get(message_id).state
            assert state == "acknowledged", f"{message_id} is {state}"
        check_inbox(theirs, exchange.payloads)
        assert not ours.notices()
        return check_journals(fetch_journal(ours), fetch_journal(theirs), exchange.payloads)


def fetch_journal(client: Client) -> list[Record]:
    """The whole journal of a running gateway, from its API."""
    rows: list[Record] = []
    while page := client.journal(after=rows[-1].seq if rows else 0):
        rows += map(_to_record, page)
    check_chain(rows)
    return rows


def _to_record(row: JournalRow) -> Record:
    since_1970 = datetime.fromisoformat(row.at) - datetime(1970, 1, 1, tzinfo=UTC)
    at = since_1970 // timedelta(microseconds=1)
    return Record(**{**{name: getattr(row, name) for name in COLUMNS}, "at": at})


def read_journal(gateway: Gateway) -> list[Record]:
    """The whole journal of a gateway that does not run, from its store."""
    site = gateway.site
    with closing(open_sqlite(site.store, party=site.party, clock_at=lambda: 0)) as store:
        rows = list(store.snapshot().list_journal(0, ROWS_MAX))
    check_chain(rows)
    return rows


def check_chain(rows: list[Record]) -> None:
    """No gap, no edited row, no row of an epoch that was over (E3, I43)."""
    before = CHAIN_START
    for number, row in enumerate(rows, start=1):
        assert row.seq == number, "a gap in the journal"
        assert row.chain_hash == chain(before, row), f"the chain breaks at {row.seq}"
        before = row.chain_hash
    epochs = [row.store_epoch for row in rows]
    assert epochs == sorted(epochs)


def check_journals(
    sent: list[Record],
    received: list[Record],
    payloads: Iterable[str],
    *,
    is_acknowledged: bool = True,
    is_ordered: bool = False,
) -> Evidence:
    """The halves of every message fit: stored once, then acknowledged, handed over once.

    Not `is_acknowledged`: a product underneath confirms, and no acknowledgement exists (S1-12).
    `is_ordered`: a message may be handed over together with an earlier one of its conversation, and
    a kill before the end of its own transmission leaves no row of that.
    """
    ours, theirs = _by_message(sent), _by_message(received)
    expected = set(payloads)
    submitted = {one for one, rows in ours.items() if Event.SUBMITTED in _events(rows)}
    stored = {one for one, rows in theirs.items() if Event.STORED in _events(rows)}
    assert submitted == expected == stored
    for message_id in expected:
        _check_message(message_id, ours[message_id], theirs[message_id])
        _check_acknowledgement(
            message_id,
            ours[message_id],
            theirs[message_id],
            times=int(is_acknowledged),
            may_lack_row=is_ordered,
        )
    counts = Counter(row.event for row in received)
    transmissions = sum(row.event is Event.TRANSMITTING for one in expected for row in ours[one])
    return Evidence(transmissions - len(expected), counts[Event.DUPLICATE_ELIMINATED])


def _check_message(message_id: str, ours: list[Record], theirs: list[Record]) -> None:
    sender, receiver = Counter(_events(ours)), Counter(_events(theirs))
    for event, counts in (
        (Event.SUBMITTED, sender),
        (Event.STORED, receiver),
        (Event.HANDED_OVER, receiver),
    ):
        assert counts[event] == 1, f"{message_id}: {counts[event]} times {event}"
    order = list(_events(theirs))
    stored = order.index(Event.STORED)
    assert stored < order.index(Event.HANDED_OVER), f"{message_id} was handed over before stored"
    order = list(_events(ours))
    assert order.index(Event.SUBMITTED) < order.index(Event.TRANSMITTING)
    [submitted] = [row.digest for row in ours if row.event is Event.SUBMITTED]
    assert {row.digest for row in theirs if row.event is Event.STORED} == {submitted}


def _check_acknowledgement(
    message_id: str,
    ours: list[Record],
    theirs: list[Record],
    *,
    times: int,
    may_lack_row: bool,
) -> None:
    received = list(_events(ours)).count(Event.ACK_RECEIVED)
    assert received == times, f"{message_id} was acknowledged {received} times"
    order = list(_events(theirs))
    is_said = Event.ACK_SENT in order
    assert is_said == bool(times) or may_lack_row, f"{message_id} has no row of its answer"
    if times and is_said:
        stored, acknowledged = order.index(Event.STORED), order.index(Event.ACK_SENT)
        assert stored < acknowledged, f"{message_id} was acknowledged before stored"


def _events(rows: list[Record]) -> list[Event]:
    return [row.event for row in rows]


def _by_message(rows: list[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {}
    for row in rows:
        if row.message_id is not None:
            found.setdefault(row.message_id, []).append(row)
    return found
