"""Both stores behind one way of opening them, so that every test of the contract runs on each."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onceonly.store.contract.store import Store
from onceonly.store.memory.store import MemoryStore
from onceonly.store.sqlite.store import SqliteStore, open_sqlite

# Under --import-mode=importlib a test's neighbours are not importable by themselves.
sys.path.insert(0, str(Path(__file__).parent))

from store_samples import NOW_AT, PARTY


class Openings:
    """Opens one store again and again, as the processes of one gateway would."""

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory
        self._opened: list[MemoryStore | SqliteStore] = []

    def open(self) -> Store:
        """The next process opens the store; the one before must have let go."""
        if self._directory is not None:
            store: MemoryStore | SqliteStore = open_sqlite(
                self._directory / "buyer.db", party=PARTY, clock_at=lambda: NOW_AT
            )
        elif self._opened:
            last = self._opened[-1]
            assert isinstance(last, MemoryStore)
            store = last.reopen()
        else:
            store = MemoryStore(party=PARTY, clock_at=lambda: NOW_AT)
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close whatever is open still."""
        for store in self._opened:
            store.close()


@pytest.fixture(params=["memory", "sqlite"])
def openings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Openings]:
    found = Openings(tmp_path if request.param == "sqlite" else None)
    yield found
    found.close()


@pytest.fixture
def store(openings: Openings) -> Store:
    return openings.open()


@pytest.fixture
def open_in() -> Iterator[Callable[[Path], SqliteStore]]:
    """Opens SQLite stores that are closed after the test."""
    opened: list[SqliteStore] = []

    def open_one(path: Path) -> SqliteStore:
        opened.append(open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()
