"""Journal to lake: closed, immutable Parquet segments, named by party and sequence range.

What has been published is read from the names of the segments in the lake; nothing else records it,
so nothing can contradict it. A segment appears by a rename; publishing twice changes nothing.

A store that was restored from an old backup writes new rows under numbers that are published
already. If only later rows were published, these would be missing without a word; so publishing is
refused then (JournalForked).
"""

import os
import re
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from onceonly.gateway.drill import Failpoints
from onceonly.gateway.lake_files import Reader, create, make_folders
from onceonly.journal.segment import segment_name, to_parquet
from onceonly.message.errors import LocalError
from onceonly.store.contract.store import Snapshot

ROWS_PER_SEGMENT_MAX = 50_000
"""Limits the memory for one segment to about 100 MB."""

_SEGMENT = re.compile(r"segment-\d{20}-(\d{20})\.parquet")


def publish(
    snapshot: Snapshot,
    *,
    party: str,
    lake: str,
    failpoints: Failpoints,
    reader: Reader = Reader(),  # noqa: B008 - because a Reader is frozen
) -> int:
    """Publish every committed row that is in no segment yet; returns how many.

    `lake` is a path, which only `reader` may read, or an fsspec URL. Raises `OSError` if it cannot
    be written; then nothing is lost, and the next call goes on. Raises `LocalError` (JournalForked)
    if the last published row is not a row of this journal (I35).
    """
    filesystem, root = fsspec.core.url_to_fs(lake)
    directory = f"{root}/{segment_name(party, 1, 1)}".rpartition("/")[0]
    is_local = "file" in filesystem.protocol
    if is_local:
        make_folders(Path(directory), reader)
    else:
        filesystem.makedirs(directory, exist_ok=True)
    names = [path.rpartition("/")[2] for path in filesystem.ls(directory, detail=False)]
    last = max(filter(_SEGMENT.fullmatch, names), key=_last_seq, default=None)
    after = 0 if last is None else _last_seq(last)
    if last is not None:
        _check_end(snapshot, filesystem, f"{directory}/{last}", after)
    for leftover in filter(_is_leftover, names):
        filesystem.rm(f"{directory}/{leftover}")
    published = 0
    while records := snapshot.list_journal(after, ROWS_PER_SEGMENT_MAX):
        final = f"{root}/{segment_name(party, records[0].seq, records[-1].seq)}"
        temporary = f"{directory}/_{final.rpartition('/')[2]}.tmp"
        failpoints.reach("before-publish")
        opened = create(Path(temporary), reader) if is_local else filesystem.open(temporary, "wb")
        with opened as file:
            file.write(to_parquet(records))
            if is_local:
                # The name says "published" for ever, so the bytes must survive a crash.
                file.flush()
                os.fsync(file.fileno())
        filesystem.mv(temporary, final)
        failpoints.reach("after-publish")
        after = records[-1].seq
        published += len(records)
    return published


def _last_seq(name: str) -> int:
    found = _SEGMENT.fullmatch(name)
    assert found is not None, "only segments are asked"
    return int(found[1])


def _check_end(snapshot: Snapshot, filesystem: Any, segment: str, seq: int) -> None:
    """Raise `LocalError` (JournalForked) unless the segment ends in row `seq` of this journal."""
    ours = [record.chain_hash for record in snapshot.list_journal(seq - 1, 1)]
    if ours != [_last_hash(filesystem, segment)]:
        raise LocalError(
            "JournalForked",
            f"{segment} does not end in a row of this store: the store was restored from an old "
            "backup, or the lake is another store's; publish to another lake, and reconcile both",
        )


def _last_hash(filesystem: Any, segment: str) -> str | None:
    try:
        with filesystem.open(segment, "rb") as file:
            # Only in this thread: if a thread of Arrow still frees a Python object while the
            # interpreter ends, the whole process is aborted (SIGABRT).
            parquet = pq.ParquetFile(file, pre_buffer=False)
            hashes = parquet.read(columns=["chain_hash"], use_threads=False).column("chain_hash")
            return str(hashes[-1]) if len(hashes) else None
    except (pa.ArrowInvalid, KeyError):
        return None


def _is_leftover(name: str) -> bool:
    """Whether a crash left the file between its writing and its rename."""
    return name.startswith("_segment-") and name.endswith(".tmp")
