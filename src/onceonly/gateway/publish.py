"""Journal to lake: closed, immutable Parquet segments, named by party and sequence range.

What has been published is read from the lake itself (the names say it), so that there is nothing
to disagree with it. A segment appears by rename; publishing twice changes nothing.
"""

import os
import re

import fsspec

from onceonly.gateway.drill import Failpoints
from onceonly.journal.segment import segment_name, to_parquet
from onceonly.store.store import Snapshot

ROWS_PER_SEGMENT_MAX = 50_000
"""Bounds the memory of one segment to some 100 MB."""

_SEGMENT = re.compile(r"segment-\d{20}-(\d{20})\.parquet")


def publish(snapshot: Snapshot, *, party: str, lake: str, failpoints: Failpoints) -> int:
    """Publish every committed row that is in no segment yet; returns how many.

    `lake` is a path or an fsspec URL. Raises `OSError` when it cannot be written; nothing is lost
    then, the next call goes on.
    """
    filesystem, root = fsspec.core.url_to_fs(lake)
    directory = f"{root}/{segment_name(party, 1, 1)}".rpartition("/")[0]
    filesystem.makedirs(directory, exist_ok=True)
    names = [path.rpartition("/")[2] for path in filesystem.ls(directory, detail=False)]
    after = _last_published(names)
    for leftover in filter(_is_leftover, names):
        filesystem.rm(f"{directory}/{leftover}")
    published = 0
    while records := snapshot.list_journal(after, ROWS_PER_SEGMENT_MAX):
        final = f"{root}/{segment_name(party, records[0].seq, records[-1].seq)}"
        temporary = f"{directory}/_{final.rpartition('/')[2]}.tmp"
        failpoints.reach("before-publish")
        with filesystem.open(temporary, "wb") as file:
            file.write(to_parquet(records))
            if "file" in filesystem.protocol:
                # The name says "published" for good, so the bytes must be there after a crash.
                file.flush()
                os.fsync(file.fileno())
        filesystem.mv(temporary, final)
        failpoints.reach("after-publish")
        after = records[-1].seq
        published += len(records)
    return published


def _last_published(names: list[str]) -> int:
    segments = filter(None, map(_SEGMENT.fullmatch, names))
    return max((int(segment[1]) for segment in segments), default=0)


def _is_leftover(name: str) -> bool:
    """Whether a crash left the file between its writing and its rename."""
    return name.startswith("_segment-") and name.endswith(".tmp")
