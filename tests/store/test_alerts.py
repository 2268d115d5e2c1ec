"""What a store keeps of alerts: what is wrong, what was, what is muted, and who was told."""

from pathlib import Path

import pytest
from store_samples import NOW_AT, PARTY

from onceonly.message.word import changed
from onceonly.store.contract.alerts import (
    Alert,
    AlertChange,
    AlertLevel,
    AlertMute,
    AlertSnapshot,
    AlertTold,
    AlertTransaction,
)
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

SILENT = Alert("silence", "urn:x:2", AlertLevel.WARNING, NOW_AT, "since ever", "heard", "yours")
BEGAN = AlertChange(0, "silence", "urn:x:2", AlertLevel.WARNING, NOW_AT, "since ever")
MUTE = AlertMute("silence", NOW_AT + 1, "they move house", "kim")
TOLD = AlertTold("ops", "silence", "urn:x:2", AlertLevel.WARNING, NOW_AT)


@pytest.fixture
def store(tmp_path: Path):
    found = open_sqlite(tmp_path / "buyer.db", party=PARTY, clock_at=lambda: NOW_AT)
    yield found
    found.close()


def commit(store: SqliteStore) -> None:
    store.seal()
    store.commit()


def test_the_store_offers_it(store: SqliteStore) -> None:
    """Both its reads and its writes keep the contract."""
    assert isinstance(store.snapshot(), AlertSnapshot)
    assert isinstance(store.begin(), AlertTransaction)
    store.rollback()


def test_what_is_put_is_found_until_it_is_dropped(store: SqliteStore) -> None:
    """An alert, a mute and who was told: each replaces what was there of the same key."""
    transaction = store.begin()
    transaction.put_alert(SILENT)
    transaction.put_alert(changed(SILENT, level=AlertLevel.CRITICAL))
    transaction.put_mute(MUTE)
    transaction.put_told(TOLD)
    commit(store)
    (alert,) = store.snapshot().list_alerts()
    assert alert == changed(SILENT, level=AlertLevel.CRITICAL)
    assert [*store.snapshot().list_mutes()] == [MUTE]
    assert [*store.snapshot().list_told()] == [TOLD]
    transaction = store.begin()
    transaction.drop_alert(*SILENT.key)
    transaction.drop_mute("silence")
    transaction.drop_told("ops", *TOLD.key)
    commit(store)
    after = store.snapshot()
    assert not [*after.list_alerts(), *after.list_mutes(), *after.list_told()]


def test_the_last_changes_are_kept(store: SqliteStore) -> None:
    """The latest first, under numbers that grow; more than are to be kept are forgotten."""
    for at in range(5):
        store.begin().add_alert_change(changed(BEGAN, at=at, level=None), keep=3)
        commit(store)
    found = store.snapshot().list_alert_changes(1 << 62, 100)
    assert [(one.number, one.at, one.level) for one in found] == [
        (5, 4, None),
        (4, 3, None),
        (3, 2, None),
    ]
    assert [one.number for one in store.snapshot().list_alert_changes(4, 100)] == [3]
