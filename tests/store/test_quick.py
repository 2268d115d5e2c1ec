"""Whether the store takes its disk for quick: what its own commits took of late says so."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from store_samples import message, submit

from onceonly.store.sqlite import store as sqlite
from onceonly.store.sqlite.store import (
    COMMIT_QUICK_NS,
    FOLD_MARGIN_PAGES,
    LogLimits,
    SqliteStore,
    open_sqlite,
)

PARTY = "urn:duns:111111111"
LIMITS = LogLimits(checkpoint_pages=2 * FOLD_MARGIN_PAGES)
ENOUGH = 40
"""Commits after which a slow one is forgotten."""


class Disk:
    """How long each commit takes, by the clock that the store reads before and after it."""

    def __init__(self) -> None:
        self.commit_ns = COMMIT_QUICK_NS // 5
        self._now_ns = 0

    def perf_counter_ns(self) -> int:
        self._now_ns += self.commit_ns
        return self._now_ns


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(sqlite, "time", SimpleNamespace(perf_counter_ns=disk.perf_counter_ns))
    return disk


@pytest.fixture
def store(tmp_path: Path, disk: Disk) -> Iterator[SqliteStore]:
    store = open_sqlite(tmp_path / "gateway.db", party=PARTY, clock_at=lambda: 0, limits=LIMITS)
    yield store
    store.close()


def commit(store: SqliteStore, count: int = 1) -> None:
    for _ in range(count):
        store.begin()
        store.commit()


def test_a_disk_is_quick_when_its_commits_were(store: SqliteStore):
    """What was never seen is not believed."""
    assert not store.is_quick
    commit(store, ENOUGH)
    assert store.is_quick


def test_one_slow_commit_counts_for_a_while(store: SqliteStore, disk: Disk):
    """The loop waits for a disk that has become slow once, and not again until it is quick."""
    commit(store, ENOUGH)
    disk.commit_ns = 20 * COMMIT_QUICK_NS
    commit(store)
    disk.commit_ns = COMMIT_QUICK_NS // 5
    commit(store)
    assert not store.is_quick
    commit(store, ENOUGH)
    assert store.is_quick


def test_a_commit_that_may_fold_the_log_is_not_quick(store: SqliteStore):
    """It syncs the database as well; what comes after the fold is quick again."""
    commit(store, ENOUGH)
    answers = [store.is_quick]
    while answers[-2:] != [False, True]:
        submit(store.begin(), message(f"m-{len(answers)}"))
        answers.append(store.is_quick)
        store.commit()
        assert len(answers) < LIMITS.checkpoint_pages, "each writes several pages"
    assert answers[0]
