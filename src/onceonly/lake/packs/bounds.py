"""What a pack may be before anything in it is read: a stranger made it (attack P16).

The bounds of its rows are those of segments (`ingest.segments`), by the same code and in a process
of their own: pages that become gigabytes, texts and numbers that no row has, files that end the
process which reads them. Beside them: only plain files, by plain names, so many and so large.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from onceonly.lake.ingest import segments
from onceonly.lake.ingest.segments import FaultError

ENTRIES_MAX: Final = 10_000
"""Files and folders of a pack; Spark writes some thousand at most."""
DEPTH_MAX: Final = 8
"""Folders in folders that are looked into; a pack has none."""
FILE_BYTES_MAX: Final = segments.SEGMENT_BYTES_MAX
"""Of one file on the disk: its pages may not have more when they are uncompressed."""
FILE_ROWS_MAX: Final = 1 << 24
"""A row of a journal has a hash of 64 characters of its own, so more do not fit into the pages."""
PACK_ROWS_MAX: Final = 1 << 30
"""Of all files together: what a day of a thousand messages a second comes to."""
ROW_FILE: Final = re.compile(r"part-[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
"""As Spark calls what it writes. Other names may be patterns, or hidden, or no text at all."""

_TEXTS: Final = (pa.utf8(), pa.large_utf8())
_TYPES: Final = (*_TEXTS, pa.int64(), pa.bool_())


class PackFault(NamedTuple):
    """Something that a pack may not have."""

    place: str
    what: str


def misshapen(pack: Path, documents: Mapping[str, int]) -> list[PackFault]:
    """Reasons why a pack cannot be read: links, special files, too many or too large files.

    `documents` are its files that hold no rows, and how long each may be. Nothing is opened.
    """
    found: list[PackFault] = []
    for count, (name, status) in enumerate(_entries(pack), 1):
        if count > ENTRIES_MAX:
            return [*found, PackFault("files", f"a pack has {ENTRIES_MAX} files at most")]
        what = _why_not(status, documents.get(name, FILE_BYTES_MAX))
        if what is not None:
            found.append(PackFault(name, what))
    return sorted(found)


def _entries(folder: Path, above: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """By path in the pack; links are not followed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            yield f"{above}{entry.name}", status
            if stat.S_ISDIR(status.st_mode) and above.count("/") < DEPTH_MAX:
                yield from _entries(Path(entry.path), f"{above}{entry.name}/")


def _why_not(status: os.stat_result, bytes_max: int) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "is a link, and nothing that a pack has"
    if stat.S_ISDIR(status.st_mode):
        return None
    if not stat.S_ISREG(status.st_mode):
        return "is no file: what reads it may never end"
    if status.st_size > bytes_max:
        return f"has {status.st_size} bytes, and {bytes_max} at most"
    return None


def unreadable(files: Sequence[tuple[Path, Sequence[str]]]) -> list[PackFault]:
    """What is wrong with files of rows, each with the columns that it must have.

    They are read to the end, in a process of their own.
    """
    found: list[PackFault] = []
    rows = done = 0
    while done < len(files):
        said, fault = segments.apart(_looked, files[done:])
        for path, (what, count) in zip(_places(files[done:]), said, strict=False):
            rows += count
            found += [PackFault(path, one) for one in what]
        done += len(said)
        if done < len(files):
            found.append(PackFault(_places(files[done : done + 1])[0], fault))
            done += 1
    if rows > PACK_ROWS_MAX:
        found.append(PackFault("rows", f"a pack has {PACK_ROWS_MAX} rows at most"))
    return found


def _places(files: Sequence[tuple[Path, Sequence[str]]]) -> list[str]:
    return [path.parent.name for path, _ in files]


def _looked(asked: tuple[Path, Sequence[str]]) -> tuple[list[str], int]:
    """What is wrong with one file, and its rows."""
    path, names = asked
    try:
        return _read(path, names)
    except FaultError as fault:
        return [f"{path.name}: {fault}"], 0
    except (OSError, ValueError, pa.ArrowException) as error:
        return [f"cannot be read: {path.name}: {error}"[: segments.FAULT_CHARS_MAX]], 0


def _read(path: Path, names: Sequence[str]) -> tuple[list[str], int]:
    parquet = pq.ParquetFile(path, pre_buffer=False)
    schema = parquet.schema_arrow
    gone = sorted(set(names).difference(schema.names))
    if gone:
        return [f"{path.name} lacks the column {one}" for one in gone], 0
    for field in schema:
        # A dictionary of anything else would be written out before it is measured.
        if field.name in names and field.type not in _TYPES:
            raise FaultError(f"{field.name} is {field.type}, which no column of a pack is")
    segments.check_size(parquet)
    if parquet.metadata.num_rows > FILE_ROWS_MAX:
        raise FaultError(f"{parquet.metadata.num_rows} rows are more than fit into its pages")
    texts = [field.name for field in schema if field.type in _TEXTS]
    parquet = pq.ParquetFile(path, pre_buffer=False, read_dictionary=texts)
    at = 1
    for batch in parquet.iter_batches(
        segments.ROWS_AT_ONCE, columns=list(names), use_threads=False
    ):
        segments.check_lengths(batch, at)
        segments.check_bounds(batch, at)
        at += batch.num_rows
    return [], at - 1
