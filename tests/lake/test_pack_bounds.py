"""A pack of a stranger: what may not be in it is named before anybody reads it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onceonly.lake import jobs
from onceonly.lake.ingest import segments
from onceonly.lake.packs import bounds, seal, summary
from onceonly.lake.packs.bounds import PackFault, misshapen, unreadable

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = {summary.FILE: 100, seal.DIGESTS: 100}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A folder that has the shape of a pack."""
    pack = tmp_path / "pack"
    for name in ("journal", "lifecycle", "verdicts"):
        (pack / name).mkdir(parents=True)
    (pack / summary.FILE).write_text("{}")
    write(pack, seq=pa.array([1, 2]), text=["a", "b"])
    return pack


def write(pack: Path, **columns: Any) -> Path:
    """A file of rows with these columns."""
    path = pack / "journal" / "part-0.parquet"
    how = {"compression": "zstd"} | columns.pop("how", {})
    pq.write_table(pa.table(columns), path, **how)
    return path


def faults(path: Path, *names: str) -> list[str]:
    return [one.what for one in unreadable([(path, names or ("seq", "text"))])]


def test_what_has_the_shape_of_a_pack_is_read(pack: Path):
    """Nothing is named."""
    assert misshapen(pack, DOCUMENTS) == []
    assert faults(pack / "journal" / "part-0.parquet") == []


def test_links_and_special_files_are_named(pack: Path):
    """A link to a file, to a folder, to nothing; a pipe, which a reader would wait for."""
    (pack / "journal" / "part-1.parquet").symlink_to("/etc/passwd")
    (pack / "verdicts" / "more").symlink_to(pack)
    (pack / seal.DIGESTS).symlink_to("nowhere")
    os.mkfifo(pack / "lifecycle" / "part-0.parquet")
    assert [place for place, _ in misshapen(pack, DOCUMENTS)] == [
        seal.DIGESTS,
        "journal/part-1.parquet",
        "lifecycle/part-0.parquet",
        "verdicts/more",
    ]


def test_a_pipe_for_a_summary_ends_at_once(pack: Path):
    """The whole verification, not just the look."""
    (pack / summary.FILE).unlink()
    os.mkfifo(pack / summary.FILE)
    found = jobs.verify(pack)
    assert [one.place for one in found.disagreements] == [summary.FILE]
    assert found.summary is None


def test_a_document_has_its_length(pack: Path):
    """A summary of gigabytes would be in memory as a whole."""
    (pack / summary.FILE).write_text("x" * 101)
    assert misshapen(pack, DOCUMENTS) == [PackFault(summary.FILE, "has 101 bytes, and 100 at most")]


def test_a_file_has_its_length(pack: Path):
    """A sparse one costs its maker nothing."""
    with (pack / "journal" / "part-1.parquet").open("wb") as file:
        file.truncate(bounds.FILE_BYTES_MAX + 1)
    [fault] = misshapen(pack, DOCUMENTS)
    assert fault.place == "journal/part-1.parquet"


def test_a_pack_has_so_many_files(pack: Path, monkeypatch: pytest.MonkeyPatch):
    """Folders in folders count, and are left at some depth."""
    monkeypatch.setattr(bounds, "ENTRIES_MAX", 20)
    deep = pack / "/".join("d" * 15)
    deep.mkdir(parents=True)
    assert misshapen(pack, DOCUMENTS) == []
    for number in range(20):
        (pack / f"{number}").touch()
    assert misshapen(pack, DOCUMENTS)[-1] == PackFault("files", "a pack has 20 files at most")


def test_pages_that_become_gigabytes_are_named(pack: Path, monkeypatch: pytest.MonkeyPatch):
    """Of the size that the file says they have, before one of them is opened."""
    monkeypatch.setattr(segments, "SEGMENT_BYTES_MAX", 1 << 20)
    path = write(pack, seq=[1] * 64, text=["x" * 32_768] * 64, how={"use_dictionary": False})
    assert path.stat().st_size < 10_000
    [fault] = faults(path)
    assert "bytes of pages" in fault


def test_a_dictionary_that_becomes_gigabytes_is_named(pack: Path):
    """A text of a megabyte, ten thousand times: 16 GB out of some kilobytes."""
    text = pa.array(["x" * (1 << 20)] * 300)
    path = write(pack, seq=range(300), text=text.dictionary_encode(), how={"store_schema": False})
    assert path.stat().st_size < 100_000
    [fault] = faults(path)
    assert "larger than any row" in fault
    path = write(pack, seq=[1], text=["x" * (segments.FIELD_BYTES_MAX + 1)])
    assert "text is longer than" in faults(path)[0]


def test_rows_without_end_are_named(pack: Path, monkeypatch: pytest.MonkeyPatch):
    """A thousand million equal rows take a few bytes."""
    monkeypatch.setattr(bounds, "FILE_ROWS_MAX", 100)
    path = write(pack, seq=[1] * 101, text=["x"] * 101)
    assert "101 rows are more" in faults(path)[0]
    monkeypatch.setattr(bounds, "FILE_ROWS_MAX", 1_000)
    monkeypatch.setattr(bounds, "PACK_ROWS_MAX", 100)
    assert faults(path) == ["a pack has 100 rows at most"]


def test_numbers_that_no_row_has_are_named(pack: Path):
    """What is added to them would not fit into 64 bits."""
    assert "seq is 9223372036854775807" in faults(write(pack, seq=[(1 << 63) - 1], text=["x"]))[0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"x" * 10]),
        pa.array([["x"]]),
        pa.array([{"a": 1}]),
        pa.array([1.5]),
        pa.array([1], pa.timestamp("us")),
    ],
)
def test_a_column_of_another_kind_is_named(pack: Path, column: pa.Array):
    """It could not be measured before it is written out."""
    assert "which no column of a pack is" in faults(write(pack, seq=[1], text=column))[0]


def test_what_ends_its_reader_is_named_and_the_others_are_read(
    pack: Path, monkeypatch: pytest.MonkeyPatch
):
    """Arrow ends its process on some files: it is not ours that ends."""
    good, bad = write(pack, seq=[1], text=["x"]), pack / "journal" / "part-1.parquet"
    pq.write_table(pa.table({"seq": [1, 2, 3], "text": ["x"] * 3}), bad)

    def end(parquet: pq.ParquetFile) -> None:
        if parquet.metadata.num_rows == 3:
            os.abort()
        raise segments.FaultError("read")

    monkeypatch.setattr(segments, "check_size", end)
    names = ("seq", "text")
    assert [one.what for one in unreadable([(good, names), (bad, names), (good, names)])] == [
        "part-0.parquet: read",
        "unreadable: it ends the process that reads it",
        "part-0.parquet: read",
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 100 + b"PAR1", b"x" * 5_000])
def test_what_is_no_table_is_named(pack: Path, content: bytes):
    """Whatever is wrong with it."""
    path = pack / "journal" / "part-0.parquet"
    path.write_bytes(content)
    assert "cannot be read: part-0.parquet" in faults(path)[0]


@pytest.mark.parametrize(
    "name",
    [
        "../part-0.parquet",
        "part-*.parquet",
        "part-{a,b}",
        "part-\udcff",
        "day=1",
        ".part-0",
        "part-",
    ],
)
def test_only_plain_names_are_those_of_rows(name: str):
    """No pattern, no hidden file, no column in a folder's name, no bytes that are no text."""
    assert bounds.ROW_FILE.fullmatch(name) is None


def test_a_comment_of_nobody_is_refused(tmp_path: Path):
    """It would stand in no pack; nothing is begun."""
    signing, out = jobs.Signing(comment="third quarter"), tmp_path / "pack"
    with pytest.raises(ValueError, match="say by whom"):
        jobs.pack(str(tmp_path), jobs.PackScope("urn:a", "urn:b"), out=out, signing=signing)
    assert not out.exists()
