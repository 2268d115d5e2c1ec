"""Publishing: every committed row is in a segment once, whatever a crash left in the folder."""

from threading import get_ident

import pyarrow.parquet as pq
import pytest
from fsspec.implementations.local import LocalFileOpener

from onceonly.gateway.drill import Failpoints
from onceonly.gateway.publish import publish
from onceonly.journal.record import Record
from onceonly.journal.segment import segment_name
from onceonly.message.errors import LocalError
from onceonly.message.event import Event
from onceonly.store.memory.store import MemoryStore

PARTY = "urn:duns:111111111"


@pytest.fixture
def store():
    """A journal of five rows."""
    store = MemoryStore(party=PARTY, clock_at=lambda: 0)
    add_rows(store, 5)
    return store


def add_rows(store, count):
    store.begin().append([Record(PARTY, Event.DRILL, at, 0) for at in range(count)])
    store.commit()


def published(store, lake):
    return publish(store.snapshot(), party=PARTY, lake=str(lake), failpoints=Failpoints())


def rows_in(lake):
    return [
        seq
        for segment in sorted(lake.glob("journal/*/segment-*.parquet"))
        for seq in pq.ParquetFile(segment).read(columns=["seq"]).column("seq").to_pylist()
    ]


def test_each_row_is_published_once(store, tmp_path):
    """The names say what is there; a second call adds only what is new."""
    assert published(store, tmp_path) == 5
    assert published(store, tmp_path) == 0
    add_rows(store, 2)
    assert published(store, tmp_path) == 2
    assert rows_in(tmp_path) == [1, 2, 3, 4, 5, 6, 7]


def test_a_file_that_was_never_renamed_is_no_segment(store, tmp_path):
    """Killed between the writing and the rename: its rows are published, it goes away."""
    final = tmp_path / segment_name(PARTY, 1, 900)
    final.parent.mkdir(parents=True)
    leftover = final.with_name(f"_{final.name}.tmp")
    leftover.write_bytes(b"half a segment")
    assert published(store, tmp_path) == 5
    assert rows_in(tmp_path) == [1, 2, 3, 4, 5]
    assert not leftover.exists()


def test_files_of_other_people_are_left_alone(store, tmp_path):
    """Only what publishing itself leaves behind is swept."""
    folder = (tmp_path / segment_name(PARTY, 1, 1)).parent
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("ours")
    (folder / f"x{'segment-' + '0' * 20}-{'9' * 20}.parquet").write_text("a near miss")
    assert published(store, tmp_path) == 5
    assert (folder / "notes.txt").exists()


@pytest.mark.parametrize("rows_since", [0, 1, 2, 9])
def test_a_store_from_an_old_backup_publishes_nothing_and_says_so(store, tmp_path, rows_since):
    """Its new rows would lie under numbers that are published already (I35)."""
    add_rows(store, 2)
    assert published(store, tmp_path) == 7
    restored = MemoryStore(party=PARTY, clock_at=lambda: 0)
    add_rows(restored, 5)
    for at in range(rows_since):
        restored.begin().append([Record(PARTY, Event.STARTED, 100 + at, 0)])
        restored.commit()
    with pytest.raises(LocalError, match="old backup") as refused:
        published(restored, tmp_path)
    assert refused.value.name == "JournalForked"
    assert rows_in(tmp_path) == [1, 2, 3, 4, 5, 6, 7]
    assert published(restored, tmp_path / "new") == 5 + rows_since


def test_a_segment_that_is_none_is_not_published_behind(store, tmp_path):
    """A file of that name with other bytes is named, and nothing follows it."""
    assert published(store, tmp_path) == 5
    (tmp_path / segment_name(PARTY, 1, 5)).write_bytes(b"no Parquet")
    add_rows(store, 2)
    with pytest.raises(LocalError, match="does not end in a row of this store"):
        published(store, tmp_path)


def test_a_segment_is_read_in_the_thread_that_asks(store, tmp_path, monkeypatch):
    """No thread of another library holds the file, which would abort a process that ends."""
    readers = set()

    def noted(name, original):
        def call(self, *arguments):
            readers.add((name, get_ident()))
            return original(self, *arguments)

        return call

    monkeypatch.setattr(LocalFileOpener, "read", noted("read", LocalFileOpener.read))
    monkeypatch.setattr(LocalFileOpener, "seek", noted("seek", LocalFileOpener.seek))
    assert published(store, tmp_path) == 5
    readers.clear()
    assert published(store, tmp_path) == 0
    assert readers == {("read", get_ident()), ("seek", get_ident())}
