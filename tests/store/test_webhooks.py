"""What a store keeps of webhooks: places in the journal, and how every delivery stands."""

from pathlib import Path

import pytest
from store_samples import NOW_AT, PARTY

from onceonly.message.word import changed
from onceonly.store.contract.webhooks import (
    DeliveryState,
    WebhookDelivery,
    WebhookSnapshot,
    WebhookTransaction,
)
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

SENT = WebhookDelivery("erp", 7, DeliveryState.PENDING, 1, NOW_AT, NOW_AT + 1, 503, "it is down")


@pytest.fixture
def store(tmp_path: Path):
    found = open_sqlite(tmp_path / "buyer.db", party=PARTY, clock_at=lambda: NOW_AT)
    yield found
    found.close()


def put(store: SqliteStore, *deliveries: WebhookDelivery) -> None:
    transaction = store.begin()
    for one in deliveries:
        transaction.put_delivery(one)
    store.seal()
    store.commit()


def test_the_store_offers_it(store: SqliteStore) -> None:
    """Both its reads and its writes keep the contract."""
    assert isinstance(store.snapshot(), WebhookSnapshot)
    assert isinstance(store.begin(), WebhookTransaction)
    store.rollback()


def test_a_place_is_kept_and_replaced(store: SqliteStore) -> None:
    """Unknown until it is put; each webhook has its own."""
    assert store.snapshot().find_webhook_seq("erp") is None
    for seq in (5, 9):
        store.begin().put_webhook_seq("erp", seq)
        store.seal()
        store.commit()
    assert store.snapshot().find_webhook_seq("erp") == 9
    assert store.snapshot().find_webhook_seq("crm") is None


def test_a_place_that_was_rolled_back_is_not_kept(store: SqliteStore) -> None:
    """It moves with its transaction."""
    store.begin().put_webhook_seq("erp", 5)
    store.rollback()
    assert store.snapshot().find_webhook_seq("erp") is None


def test_a_delivery_is_kept_and_replaced(store: SqliteStore) -> None:
    """Every value of it."""
    done = changed(SENT, state=DeliveryState.DELIVERED, attempts=2, status_code=204, reason=None)
    for one in (SENT, done):
        put(store, one)
        assert store.snapshot().find_delivery("erp", 7) == one
    assert store.snapshot().find_delivery("erp", 8) is None
    assert store.snapshot().find_delivery("crm", 7) is None


def test_deliveries_are_listed_in_the_order_of_events(store: SqliteStore) -> None:
    """Those above a number, all or in one state, of one webhook."""
    states = (DeliveryState.DEAD, DeliveryState.REPLAY, DeliveryState.DEAD)
    put(store, *(changed(SENT, seq=9 - n, state=state) for n, state in enumerate(states)))
    put(store, changed(SENT, webhook="crm"))
    found = store.snapshot()
    assert [one.seq for one in found.list_deliveries("erp", 0, 10)] == [7, 8, 9]
    assert [one.seq for one in found.list_deliveries("erp", 7, 1)] == [8]
    dead = found.list_deliveries("erp", 0, 10, DeliveryState.DEAD)
    assert [one.seq for one in dead] == [7, 9]


def test_delivered_events_are_forgotten_except_the_last(store: SqliteStore) -> None:
    """What is dead, or still to come, stays."""
    states = [DeliveryState.DEAD, *[DeliveryState.DELIVERED] * 4, DeliveryState.PENDING]
    put(store, *(changed(SENT, seq=seq, state=state) for seq, state in enumerate(states, 1)))
    for keep, limit, left in (
        (4, 9, [1, 2, 3, 4, 5, 6]),
        (2, 1, [1, 3, 4, 5, 6]),
        (2, 9, [1, 4, 5, 6]),
    ):
        before = len(seqs(store))
        assert write(store).forget_delivered("erp", keep, limit) == before - len(left)
        finish(store)
        assert seqs(store) == left


def test_dead_events_are_forgotten_after_their_time(store: SqliteStore) -> None:
    """Those of the oldest few that were last tried before it; all others stay."""
    tried = [NOW_AT, NOW_AT + 9, NOW_AT, NOW_AT]
    dead = [
        changed(SENT, seq=seq, state=DeliveryState.DEAD, last_at=at)
        for seq, at in enumerate(tried, 1)
    ]
    put(store, *dead, changed(SENT, seq=5, last_at=NOW_AT))
    for limit, left in ((2, [2, 3, 4, 5]), (2, [2, 4, 5]), (9, [2, 5])):
        assert write(store).forget_dead("erp", NOW_AT + 1, limit) == 1
        finish(store)
        assert seqs(store) == left


def test_a_webhook_is_forgotten_a_few_rows_at_a_time(store: SqliteStore) -> None:
    """Whatever their state; its place and other webhooks stay."""
    states = enumerate(DeliveryState, 1)
    put(store, *(changed(SENT, seq=seq, state=state) for seq, state in states))
    put(store, changed(SENT, webhook="crm"))
    write(store).put_webhook_seq("erp", 4)
    finish(store)
    for count, left in ((3, [4]), (1, []), (0, [])):
        assert write(store).forget_deliveries("erp", 3) == count
        finish(store)
        assert seqs(store) == left
    assert store.snapshot().list_webhooks() == ["erp"]
    assert seqs(store, "crm") == [7]


def write(store: SqliteStore) -> WebhookTransaction:
    transaction = store.begin()
    assert isinstance(transaction, WebhookTransaction)
    return transaction


def finish(store: SqliteStore) -> None:
    store.seal()
    store.commit()


def seqs(store: SqliteStore, webhook: str = "erp") -> list[int]:
    return [one.seq for one in store.snapshot().list_deliveries(webhook, 0, 10)]
