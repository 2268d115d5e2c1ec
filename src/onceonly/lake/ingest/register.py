"""The register of a party's segments: what was found in each that is whole.

It is the lake's product `segments`, one small Parquet file per batch; the last look at a segment
counts. By it a segment that comes again is recognised, whoever lost the number of its batch.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from onceonly.lake import manifest, storage
from onceonly.lake.ingest import segments
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Manifest, Shelf
from onceonly.lake.storage import Listed

PRODUCT: Final = "segments"
FILES_MAX: Final = 64
"""This many small files are merged into one."""
GONE: Final = "gone"
"""The fault of a segment that is to be forgotten."""


class KnownSegments(NamedTuple):
    """What a lake holds of one party."""

    shelf: Shelf
    manifest: Manifest
    looks: Mapping[str, Look]
    """By the name of the segment."""

    def seen(self, prefix: str) -> set[Listed]:
        """Files whose names begin with `prefix`, as they were when they were last looked at."""
        states = {one.segment: (one.length, one.modified_at) for one in self.looks.values()}
        states |= {one.segment: (one.length, one.modified_at) for one in self.manifest.quarantined}
        return {
            Listed(name.removeprefix(prefix), *state)
            for name, state in states.items()
            if name.startswith(prefix)
        }

    def holds(self, later: Manifest) -> bool:
        """Whether no other ingest has published since: each writes a file of its own."""
        return later.products.get(PRODUCT) == self.manifest.products.get(PRODUCT)


def read(shelf: Shelf) -> KnownSegments:
    """What the lake holds of a party now."""
    found = manifest.load_or_renew(shelf)
    return KnownSegments(shelf, found, looks(shelf, found))


def looks(shelf: Shelf, found: Manifest) -> dict[str, Look]:
    """The last look at each segment that a manifest knows of, by the segment's name.

    None at what was set aside by hand.
    """
    last: dict[str, Look] = {}
    for path in shelf.paths(found, PRODUCT):
        content = storage.read_bytes(path)
        assert content is not None, "a file that a manifest names is there"
        # In this thread and no other: a thread of Arrow's that still holds a Python object when the
        # interpreter ends takes the whole process down with it (SIGABRT).
        parquet = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        rows = parquet.read(use_threads=False).to_pylist()
        last |= {row["segment"]: Look(**row) for row in rows}
    aside = {one.content for one in found.distrusted}
    known = {name: one for name, one in last.items() if one.fault != GONE}
    return {name: one for name, one in known.items() if not aside or one.mark not in aside}


class RegisterEntry(NamedTuple):
    """A file of looks that no manifest names yet."""

    file: str
    instead_of: tuple[str, ...]
    """The files that it replaces."""


def write(known: KnownSegments, looks: Iterable[Look]) -> RegisterEntry:
    """Write new looks; together with all old ones if those are in too many files."""
    files = known.manifest.products.get(PRODUCT, ())
    new = {one.segment: one for one in looks}
    if len(files) < FILES_MAX:
        files = ()
    else:
        new = {**known.looks, **new}
    name = f"{PRODUCT}/{manifest.fresh_name()}.parquet"
    sink = pa.BufferOutputStream()
    pq.write_table(segments.to_table(list(new.values())), sink, compression="zstd")
    storage.replace_bytes(f"{known.shelf.root}/{name}", sink.getvalue().to_pybytes())
    return RegisterEntry(name, files)
