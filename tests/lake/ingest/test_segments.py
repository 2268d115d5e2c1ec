"""One look at one segment says whether its rows may count, and if not, why (E3)."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.spec import AbstractFileSystem
from journals import BUYER, chained, healthy, upgraded
from pyspark import cloudpickle

from onceonly.journal.record import CHAIN_START, SCHEMA_VERSION, chain, younger_than
from onceonly.journal.segment import to_records, to_table
from onceonly.lake.ingest import (
    batch,  # noqa: F401 - because it says what is sent by value
    segments,
)
from onceonly.lake.ingest.segments import Look, look
from onceonly.message.word import changed

if TYPE_CHECKING:
    from collections.abc import Callable

LEDGER = healthy(seed=3, messages=12)[0].sender
ROWS = LEDGER.records
TABLE = to_table(ROWS)
NAME = f"segment-{1:020d}-{len(ROWS):020d}.parquet"


def looked_at(folder: Path, table: pa.Table, name: str = NAME, **options: object) -> Look:
    path = folder / name
    pq.write_table(table, path, **options)
    return look(str(path), Look(name))


def with_column(name: str, values: pa.Array) -> pa.Table:
    return TABLE.set_column(TABLE.schema.get_field_index(name), name, values)


def with_value(name: str, row: int, value: object) -> pa.Table:
    values = TABLE.column(name).to_pylist()
    values[row] = value
    return with_column(name, pa.array(values, TABLE.schema.field(name).type))


OF_A_WORKER = """
import pickle, sys
sys.modules["onceonly"] = None
look_at_all, asked = pickle.load(sys.stdin.buffer)
[found] = [row for one in look_at_all([asked]) for row in one.to_pylist()]
print(found["party"], found["first_seq"], found["last_seq"], found["fault"])
"""
"""A Python in which this package cannot be imported, wherever it is installed."""


def test_a_worker_without_this_package_can_look(tmp_path: Path):
    """Executors of a cluster have Arrow, and get what they run by value: all of it."""
    path = tmp_path / NAME
    pq.write_table(TABLE, path)
    looks = segments.to_table([Look(NAME)])
    [asked] = looks.append_column("url", pa.array([str(path)])).to_batches()
    said = subprocess.run(
        [sys.executable, "-c", OF_A_WORKER],
        input=cloudpickle.dumps((segments.look_at_all, asked)),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert said.stdout.decode().split() == [BUYER, "1", str(len(ROWS)), "None"], said.stderr


def test_a_whole_segment_is_told_by_its_ends(tmp_path: Path):
    """Party, numbers, version and both ends of the chain; no fault."""
    found = looked_at(tmp_path, TABLE)
    assert found.fault is None
    assert (found.party, found.first_seq, found.last_seq) == (BUYER, 1, len(ROWS))
    assert (found.head_hash, found.tail_hash) == (ROWS[0].chain_hash, ROWS[-1].chain_hash)
    told = (found.schema_version, found.unknown_columns, found.is_plain)
    assert told == (SCHEMA_VERSION, "", True)
    assert Look(NAME, tail_hash=CHAIN_START).is_followed_by(found)


def test_a_segment_in_the_middle_is_followed_by_the_next(tmp_path: Path):
    """Its last hash is that of the row before the next segment, and of no other."""
    first, second, third = (
        looked_at(
            tmp_path, TABLE.slice(start, 20), f"segment-{start + 1:020d}-{start + 20:020d}.parquet"
        )
        for start in (0, 20, 40)
    )
    assert first.is_followed_by(second)
    assert second.is_followed_by(third)
    assert not first.is_followed_by(third)


def test_a_chain_goes_on_from_step_to_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """However few rows are read at once, the look is the same."""
    whole = looked_at(tmp_path, TABLE)
    monkeypatch.setattr(segments, "ROWS_AT_ONCE", 7)
    assert looked_at(tmp_path, TABLE) == whole


def renamed(old: str, new: str) -> pa.Table:
    return TABLE.rename_columns([new if name == old else name for name in TABLE.schema.names])


EDITS: dict[str, tuple[Callable[[], pa.Table], str, int | None]] = {
    "edited": (lambda: with_value("size_bytes", 9, 77), "edited: row 10 does not", 10),
    "edited in its first row": (lambda: with_value("at", 0, 1), "edited: row 1 does not", 1),
    "emptied": (lambda: with_value("message_id", 30, None), "edited: row 31 does not", 31),
    "with a hash of nothing": (lambda: with_value("chain_hash", 5, ""), "edited: row 6", 6),
    "cut short": (lambda: TABLE.slice(0, 40), "cut short: its rows end at 40", 41),
    "of too many rows": (
        lambda: pa.concat_tables([TABLE, TABLE.slice(len(ROWS) - 1)]),
        "misnumbered",
        len(ROWS) + 1,
    ),
    "beheaded": (lambda: TABLE.slice(1), "misnumbered: row 2 stands where 1", 1),
    "shuffled": (lambda: TABLE.take([1, 0, *range(2, len(ROWS))]), "misnumbered", 1),
    "with a row left out": (
        lambda: pa.concat_tables([TABLE.slice(0, 6), TABLE.slice(7)]),
        "misnumbered: row 8 stands where 7",
        7,
    ),
    "with an instant that no clock tells": (
        lambda: with_value("at", 4, (1 << 63) - 1),
        "at is 9223372036854775807, and no row has that",
        5,
    ),
    "with an instant before all clocks": (lambda: with_value("at", 4, -1), "at is -1", 5),
    "with more bytes than there are": (
        lambda: with_value("size_bytes", 9, 1 << 62),
        "size_bytes is",
        10,
    ),
    "with the last attempt of all": (lambda: with_value("attempt", 9, 1 << 60), "attempt is", 10),
    "empty": (lambda: TABLE.slice(0, 0), "cut short", 1),
    "of two parties": (lambda: with_value("party", 3, "urn:other"), "mixed", 4),
    "without a hash": (lambda: with_value("chain_hash", 8, None), "lacks its chain_hash", 9),
    "without a column": (lambda: TABLE.drop_columns(["event"]), "it lacks event", None),
    "with text for a number": (
        lambda: with_column("size_bytes", TABLE.column("size_bytes").cast(pa.utf8())),
        "size_bytes is string and not int64",
        None,
    ),
    "with fractions for instants": (
        lambda: with_column("at", TABLE.column("at").cast(pa.float64())),
        "at is double and not int64",
        None,
    ),
    "with dates in a new column": (
        lambda: TABLE.append_column("day", pa.nulls(len(ROWS), pa.date32())),
        "day is date32[day], which no chain",
        None,
    ),
    "with the names of two columns exchanged": (
        lambda: TABLE.rename_columns(
            [
                {"from_party": "to_party", "to_party": "from_party"}.get(n, n)
                for n in TABLE.schema.names
            ]
        ),
        "not in their order",
        None,
    ),
    "with a column renamed": (lambda: renamed("to_party", "to"), "has to and lacks to_party", None),
    "with one column in capitals": (
        lambda: renamed("reason", "Reason"),
        "has Reason and lacks",
        None,
    ),
    "with a column twice": (
        lambda: TABLE.append_column("EVENT", TABLE.column("event")),
        "two of its columns have one name",
        None,
    ),
    "with a field that no row has": (
        lambda: with_value("reason", 11, "x" * (2 << 20)),
        "reason is longer than",
        12,
    ),
}


def test_a_party_without_a_name_is_another_party_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its rows fill the first step, and those of the folder's party all that come after."""
    monkeypatch.setattr(segments, "ROWS_AT_ONCE", 16)
    names = pa.array([""] * 16 + [ROWS[0].party] * (len(ROWS) - 16))
    rows, previous = [], CHAIN_START
    for row in to_records(with_column("party", names)):
        previous = chain(previous, row)
        rows.append(changed(row, chain_hash=previous))
    found = looked_at(tmp_path, to_table(rows))
    assert ("mixed" in (found.fault or ""), found.bad_seq) == (True, 17)


@pytest.mark.parametrize("edit", EDITS)
def test_what_is_wrong_with_a_segment_is_said(tmp_path: Path, edit: str):
    """No row counts, and fault and first bad row are named."""
    make, fault, bad_seq = EDITS[edit]
    found = looked_at(tmp_path, make())
    assert fault in (found.fault or "whole")
    assert found.bad_seq == bad_seq


def test_no_name_of_a_column_passes_for_a_disturbance(tmp_path: Path):
    """Whoever wrote the file would have it looked at for ever, and never named."""
    names = ["disturbed: nothing", *(name for name in TABLE.schema.names if name != "reason")]
    for table in (
        TABLE.append_column("disturbed: nothing", pa.nulls(len(ROWS), pa.float64())),
        TABLE.rename_columns(names),
    ):
        found = looked_at(tmp_path, table)
        assert (found.fault is not None, found.is_disturbed) == (True, False)


def test_a_file_that_is_no_parquet_is_unreadable(tmp_path: Path):
    """Noise, a cut file, a flipped bit, nothing: a fault each, never an exception."""
    path = tmp_path / NAME
    pq.write_table(TABLE, path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for content in (b"", b"PAR1", whole[: len(whole) // 2], whole[:-9], bytes(flipped)):
        path.write_bytes(content)
        found = look(str(path), Look(NAME))
        assert (found.fault is not None, found.is_disturbed) == (True, False)


@pytest.mark.parametrize(
    "name",
    [
        "segment-1-58.parquet",
        f"segment-{58:020d}-{1:020d}.parquet",
        f"segment-{0:020d}-{5:020d}.parquet",
        f"segment-{(1 << 63) - 58:020d}-{(1 << 63) - 1:020d}.parquet",
        f"{NAME}.bak",
        "notes.txt",
    ],
)
def test_a_file_with_another_name_is_misnamed(tmp_path: Path, name: str):
    """What is not called as a segment is named, not passed over."""
    assert (looked_at(tmp_path, TABLE, name).fault or "").startswith("misnamed")


def test_a_segment_under_the_numbers_of_another_is_misnumbered(tmp_path: Path):
    """A whole segment with the name of the one behind it."""
    count = len(ROWS)
    name = f"segment-{count + 1:020d}-{2 * count:020d}.parquet"
    found = looked_at(tmp_path, TABLE, name)
    assert (found.bad_seq, "misnumbered" in (found.fault or "")) == (count + 1, True)


def test_a_segment_of_more_rows_than_its_name_says_is_misnumbered(tmp_path: Path):
    """The chain of all its rows is right; those behind the last number would count twice."""
    found = looked_at(tmp_path, TABLE, f"segment-{1:020d}-{40:020d}.parquet")
    assert (found.fault, found.bad_seq) == (
        "misnumbered: row 41 stands after the last of its name",
        41,
    )


def test_a_newer_version_is_verified_by_its_own_columns(tmp_path: Path):
    """A column that this version does not know is under the hash, and counted, and no fault."""
    found = looked_at(tmp_path, chained(ROWS, more={"tenant": "north"}))
    assert (found.fault, found.unknown_columns, found.is_plain) == (None, "tenant", False)
    assert found.schema_version == SCHEMA_VERSION + 1


def test_an_older_version_is_verified_by_its_own_columns(tmp_path: Path):
    """A column that did not exist yet is not under the hash."""
    found = looked_at(tmp_path, chained(ROWS, less=("hop", "actor")))
    assert (found.fault, found.unknown_columns, found.is_plain) == (None, "", False)


CHANGED = upgraded(LEDGER, behind=20).records


def of_changed(tmp_path: Path, first: int, last: int, *less: str, **edits: object) -> Look:
    """A look at rows of a journal that changes its version behind row 20; row 15, 25 are edited."""
    rows = [changed(row, **edits) if row.seq in (15, 25) else row for row in CHANGED]
    table = to_table(rows[first - 1 : last]).drop_columns(list(less))
    return looked_at(tmp_path, table, f"segment-{first:020d}-{last:020d}.parquet")


def test_a_journal_that_changes_its_version_is_verified_on_both_sides(tmp_path: Path):
    """Rows of both versions in one segment have the hashes of their own columns."""
    across = of_changed(tmp_path, 1, len(CHANGED))
    assert (across.fault, across.is_plain, across.schema_version) == (None, True, SCHEMA_VERSION)
    older = of_changed(tmp_path, 1, 20, *younger_than(1))
    newer = of_changed(tmp_path, 21, len(CHANGED))
    assert [(one.fault, one.is_plain) for one in (older, newer)] == [(None, True)] * 2
    assert older.is_followed_by(newer)


@pytest.mark.parametrize(
    ("first", "last", "edit", "bad"),
    [
        (11, 20, {"size_bytes": 7}, 15),
        (21, 30, {"size_bytes": 7}, 25),
        (16, 30, {"size_bytes": 7}, 25),
        (1, 24, {"size_bytes": 7}, 15),
        (1, 24, {"header_digest": "x"}, 15),
        (16, 30, {"header_digest": "x"}, 25),
        (16, 30, {"schema_version": 1}, 25),
        (1, 24, {"schema_version": SCHEMA_VERSION}, 15),
    ],
)
def test_an_edit_shows_on_both_sides_of_a_change_of_version(
    tmp_path: Path, first: int, last: int, edit: dict[str, object], bad: int
):
    """Nor can a row be called one of another version, or a younger column be filled in."""
    found = of_changed(tmp_path, first, last, **edit)
    assert (found.fault, found.bad_seq) == (f"edited: row {bad} does not give its hash", bad)


def test_other_writers_are_read(tmp_path: Path):
    """Long strings, other codecs and pages, row groups of any size: the rows are the same."""
    large = TABLE.cast(
        pa.schema(
            [(f.name, pa.large_utf8() if f.type == pa.utf8() else f.type) for f in TABLE.schema]
        )
    )
    for table, options in (
        (large, {}),
        (TABLE, {"compression": "gzip", "row_group_size": 10}),
        (TABLE, {"use_dictionary": False, "data_page_version": "2.0"}),
    ):
        assert looked_at(tmp_path, table, **options).tail_hash == ROWS[-1].chain_hash


def test_a_small_file_may_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A dictionary that says a long text in every row is measured before it is written out."""
    monkeypatch.setattr(segments, "BYTES_AT_ONCE", 1 << 20)
    text = pa.array(["y" * 100_000] * len(ROWS))
    assert "far larger" in (looked_at(tmp_path, with_column("reason", text)).fault or "")
    monkeypatch.setattr(segments, "SEGMENT_BYTES_MAX", 1_000)
    assert "bytes of pages" in (looked_at(tmp_path, TABLE).fault or "")


def test_a_codec_that_spark_lacks_is_named(tmp_path: Path):
    """Before Spark fails on it, batch after batch."""
    assert "BROTLI" in (looked_at(tmp_path, TABLE, compression="brotli").fault or "")


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_no_harm_to_a_byte_passes_or_stops_the_ingest(tmp_path: Path):
    """Bits flipped and files cut by chance: a fault each, or the same rows; and no end of us.

    Some of them end the process that looks, inside Arrow.
    """
    chance = random.Random(5)
    path = tmp_path / NAME
    pq.write_table(TABLE, path, compression="zstd")
    whole = look(str(path), Look(NAME))
    content = path.read_bytes()
    asked = []
    for number in range(300):
        harmed = bytearray(content)
        for _ in range(chance.choice((1, 1, 3))):
            harmed[chance.randrange(len(harmed))] ^= 1 << chance.randrange(8)
        place = tmp_path / str(number) / NAME
        place.parent.mkdir()
        place.write_bytes(harmed[: chance.randrange(len(harmed))] if number % 10 == 0 else harmed)
        asked.append((str(place), Look(NAME)))
    found = segments.look_apart(asked)
    assert len(found) == len(asked)
    assert sum(one.fault is not None for one in found) > 200
    assert all(one.fault is not None or one == whole for one in found)


class Storage(AbstractFileSystem):
    """A storage with one file, which goes away after so many reads."""

    protocol = "failing"
    cachable = False
    content = b""
    reads_left = 0

    def info(self, path: str, **_: object) -> dict[str, object]:
        return {"name": path, "size": len(self.content), "type": "file"}

    def _open(self, _path: str, *_: object, **__: object) -> io.BytesIO:
        if not self.reads_left:
            raise OSError("the storage does not answer")
        return Page(self.content)


class Page(io.BytesIO):
    """The file of such a storage."""

    def read(self, size: int | None = -1) -> bytes:
        Storage.reads_left -= 1
        if Storage.reads_left <= 0:
            # As Arrow's own drivers do, without a number that says what it was.
            raise OSError("the storage does not answer")
        return super().read(size)


@pytest.mark.parametrize("reads", range(5))
def test_a_storage_that_fails_says_nothing_of_a_segment(
    monkeypatch: pytest.MonkeyPatch, reads: int
):
    """When it is opened, at its foot, or in the middle: disturbed, with no row to blame."""
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink)
    fsspec.register_implementation("failing", Storage, clobber=True)
    monkeypatch.setattr(Storage, "content", sink.getvalue().to_pybytes())
    monkeypatch.setattr(Storage, "reads_left", reads)
    found = look(f"failing://lake/{NAME}", Look(NAME))
    assert (found.is_disturbed, found.bad_seq) == (True, None)
    assert "the storage does not answer" in (found.fault or "")
    monkeypatch.setattr(Storage, "reads_left", 1_000)
    assert look(f"failing://lake/{NAME}", Look(NAME)).fault is None


def test_a_segment_that_nobody_finds_is_disturbed(tmp_path: Path):
    """A mount that one machine lacks, or a driver: another look may find it."""
    for url in (str(tmp_path / NAME), f"unheard-of://lake/{NAME}", f"lakefs://x/{NAME}"):
        assert look(url, Look(NAME)).is_disturbed


def looked_at_apart(folder: Path, harm: Callable[[], object]) -> list[Look]:
    """Two segments, of which the first does some harm to the process that looks at it."""
    looks = [Look(f"{number}/{NAME}") for number in range(2)]
    for one in looks:
        (folder / one.segment).parent.mkdir()
        pq.write_table(TABLE, folder / one.segment)
    honest = segments.look

    def harmed(url: str, asked: Look) -> Look:
        if asked == looks[0]:
            harm()
        return honest(url, asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "look", harmed)
        return segments.look_apart([(str(folder / one.segment), one) for one in looks])


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("kind", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGBUS", "SIGABRT", "SIGXCPU"])
def test_who_ended_the_process_that_looks_is_told_apart(tmp_path: Path, kind: str):
    """What was killed from outside is looked at again; a file that ends its reader is at fault."""
    ended, other = looked_at_apart(tmp_path, lambda: os.kill(os.getpid(), signal.Signals[kind]))
    assert ended.is_disturbed is (kind in ("SIGKILL", "SIGTERM"))
    assert ended.fault is not None
    assert other.fault is None


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_segment_that_never_ends_its_reader_is_at_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The limit of its time looks like no kill from outside."""
    monkeypatch.setattr(segments, "CPU_S_MAX", 1)

    def work_on() -> None:
        while True:
            pass

    ended, _ = looked_at_apart(tmp_path, work_on)
    assert ended.fault == "unreadable: it ends the process that reads it"


LIMITED = """
import resource, sys
from onceonly.lake.ingest.segments import Look, look_apart
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]), int(sys.argv[2])))
[found] = look_apart([(sys.argv[3], Look("asked"))])
print(found.is_disturbed, found.fault)
"""


@pytest.mark.parametrize(
    ("limit", "most", "is_disturbed"), [("RLIMIT_CPU", 300, False), ("RLIMIT_NOFILE", 5, True)]
)
def test_the_limits_of_a_machine_are_held_against_no_segment(
    tmp_path: Path, limit: str, most: int, is_disturbed: bool
):
    """Less time than ours is time enough; where no reader can begin, nothing was found."""
    pq.write_table(TABLE, tmp_path / NAME)
    asked = [sys.executable, "-c", LIMITED, limit, str(most), str(tmp_path / NAME)]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if is_disturbed:
        assert said.startswith("True disturbed: no process could be made ready")
    else:
        assert said == "False None\n"
