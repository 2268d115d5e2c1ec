"""The register of a party's segments: what was found in each that is whole.

It is the lake's product `segments`: Parquet files that are never changed, each with looks at some
segments. The last look at a segment counts. By it a segment that comes again is recognised.

The name of a file says which row numbers are in its segments. So only the files are read that may
hold the segments that are asked for, or those beside them: what an ingest reads and keeps in memory
does not grow with the history. All files are read where a segment stops counting (`around`), where
a party's journal is in several lakes, and, three columns of them, where a folder is compared with
what was seen there (`unseen`): of each segment that keeps 16 bytes.
"""

import re
import secrets
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from onceonly.lake import manifest, storage
from onceonly.lake.ingest import segments
from onceonly.lake.ingest.segments import Look
from onceonly.lake.manifest import Manifest, Range, Shelf
from onceonly.lake.storage import Listed

PRODUCT: Final = "segments"
FILES_MAX: Final = 16
"""This many small files, one after the other, are merged into one."""
LOOKS_MAX: Final = 4_096
"""A file with so many looks is not small any more, and is never merged again."""
GONE: Final = "gone"
"""The fault of a segment that is to be forgotten."""

_NAME: Final = re.compile(r"/looks-(\d{20})-(\d{20})-(\d+)-[0-9a-f]{16}\.parquet$")
_STATE: Final = ["segment", "length", "modified_at", "fault"]


class RegisterFile(NamedTuple):
    """One file of the register, by what its name says."""

    name: str
    first: int
    """No segment in it begins before this row."""
    last: int
    """No segment in it ends after this row."""
    looks: int

    @property
    def is_small(self) -> bool:
        """Whether it is to be merged with others."""
        return self.looks < LOOKS_MAX

    def may_hold(self, numbers: Sequence[int]) -> bool:
        """Whether a segment in it may begin or end at one of these rows, which are in order."""
        at = bisect_left(numbers, self.first)
        return at < len(numbers) and numbers[at] <= self.last


def register_file(name: str) -> RegisterFile:
    """What a file's name says; a file of an older version may hold everything."""
    told = _NAME.search(name)
    if told is None:
        return RegisterFile(name, 0, segments.SEQ_MAX, 0)
    return RegisterFile(name, *map(int, told.groups()))


class Register:
    """The register of one party, as a manifest names it; what was read once is kept."""

    def __init__(self, shelf: Shelf, found: Manifest) -> None:
        self._shelf = shelf
        self._aside = {one.content for one in found.distrusted}
        self._read: dict[str, pa.Table] = {}
        self.files = [register_file(name) for name in found.products.get(PRODUCT, ())]

    def find(
        self,
        *,
        names: Collection[str] = (),
        firsts: Collection[int] = (),
        lasts: Collection[int] = (),
    ) -> dict[str, Look]:
        """The last looks at segments of these names, or that begin or end at these rows.

        None at what was set aside by hand, or is forgotten.
        """
        of_names = (one[0] for one in map(numbers_of, names) if one is not None)
        numbers = sorted({*firsts, *lasts, *of_names})
        if not numbers:
            return {}
        last: dict[str, Look] = {}
        for file in self.files:
            if file.may_hold(numbers):
                table = self._table(file.name)
                is_wanted = pc.or_(
                    pc.is_in(table["segment"], pa.array(names, pa.utf8())),
                    pc.or_(
                        pc.is_in(table["first_seq"], pa.array(firsts, pa.int64())),
                        pc.is_in(table["last_seq"], pa.array(lasts, pa.int64())),
                    ),
                )
                last |= _looks(table.filter(is_wanted))
        return self._counting(last)

    def everything(self) -> dict[str, Look]:
        """The last look at each segment; as many as there are."""
        last: dict[str, Look] = {}
        for file in self.files:
            last |= _looks(self._table(file.name))
        return self._counting(last)

    def ends(self) -> Iterator[int]:
        """The rows at which a segment ends, the greatest first."""
        files = sorted(self.files, key=lambda file: file.last, reverse=True)
        waiting: set[int] = set()
        # Of the next file, and 0 for the last one. A party with nothing taken in yet has no file.
        ends = [*(one.last for one in files), 0][1:]
        for file, below in zip(files, ends, strict=True):
            waiting |= set(self._table(file.name)["last_seq"].to_pylist())
            due = sorted((one for one in waiting if one > below), reverse=True)
            waiting.difference_update(due)
            yield from due

    def states(self) -> Iterator[pa.Table]:
        """Name, size and age of what was looked at: file by file, the last look last."""
        for file in self.files:
            yield _read(f"{self._shelf.root}/{file.name}", _STATE)

    def _counting(self, last: Mapping[str, Look]) -> dict[str, Look]:
        known = {name: one for name, one in last.items() if one.fault != GONE}
        if not self._aside:
            return known
        return {name: one for name, one in known.items() if one.mark not in self._aside}

    def _table(self, name: str) -> pa.Table:
        if name not in self._read:
            self._read[name] = _read(f"{self._shelf.root}/{name}")
        return self._read[name]


def numbers_of(segment: str) -> Range | None:
    """The first and last row that a segment's name tells; None where it is not called so."""
    told = segments.NAME.fullmatch(segment.rpartition("/")[2])
    return None if told is None else (int(told[1]), int(told[2]))


def _read(url: str, columns: Sequence[str] | None = None) -> pa.Table:
    content = storage.read_bytes(url)
    assert content is not None, "a file that a manifest names is there"
    # In this thread and no other: a thread of Arrow's that still holds a Python object when the
    # interpreter ends takes the whole process down with it (SIGABRT).
    parquet = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
    return parquet.read(columns, use_threads=False)


def _looks(table: pa.Table) -> dict[str, Look]:
    return {row["segment"]: Look(**row) for row in table.to_pylist()}


class KnownSegments(NamedTuple):
    """What a lake holds of one party, as far as it was asked for."""

    shelf: Shelf
    manifest: Manifest
    looks: Mapping[str, Look]
    """By the name of the segment."""

    def holds(self, later: Manifest) -> bool:
        """Whether no other ingest has published since: each writes a file of its own."""
        return later.products.get(PRODUCT) == self.manifest.products.get(PRODUCT)


def known(shelf: Shelf) -> KnownSegments:
    """What the lake holds of a party now, before anybody has asked for a segment of it.

    Raises `LocalError`: OlderLake, NewerLake, BadManifest.
    """
    return KnownSegments(shelf, manifest.load_or_renew(shelf), {})


def looks(shelf: Shelf, found: Manifest) -> dict[str, Look]:
    """The last look at each segment that a manifest knows of, by name; as many as there are.

    None at what was set aside by hand.
    """
    return Register(shelf, found).everything()


def named(held: KnownSegments, names: Collection[str]) -> dict[str, Look]:
    """The looks at these segments, those that are there."""
    found = Register(held.shelf, held.manifest).find(names=names)
    return {name: one for name, one in found.items() if name in names}


def unseen(held: KnownSegments, prefix: str, listed: Iterable[Listed]) -> list[Listed]:
    """The files that are not as they were when they were last looked at, by name.

    `prefix` is what the names of their segments begin with. `listed` may be of any length: it is
    asked for once, and not kept.
    """
    seen = _seen(held)
    found: list[Listed] = []
    for some in _in_parts(listed):
        marks = _marks(
            [prefix + one.name for one in some],
            [one.length for one in some],
            [one.modified_at for one in some],
        )[1]
        found += [some[at] for at in np.flatnonzero(~np.isin(marks, seen, kind="sort"))]
    if not found:
        return []
    return sorted(unlike(held, prefix, found))


def unlike(held: KnownSegments, prefix: str, files: Sequence[Listed]) -> list[Listed]:
    """`unseen` for files that are few."""
    names = {prefix + one.name for one in files}
    states = {name: (one.length, one.modified_at) for name, one in named(held, names).items()}
    states |= {one.segment: (one.length, one.modified_at) for one in held.manifest.quarantined}
    return [one for one in files if states.get(prefix + one.name) != (one.length, one.modified_at)]


_LISTED_AT_ONCE: Final = 1 << 16
_KEY: Final = secrets.token_hex(8)
"""So that nobody can name a file that is taken for another one."""


def _in_parts(listed: Iterable[Listed]) -> Iterator[list[Listed]]:
    files = iter(listed)
    while some := list(islice(files, _LISTED_AT_ONCE)):
        yield some


def _seen(held: KnownSegments) -> Any:
    """A number for each segment in the state in which it was last looked at, in order."""
    parts = [
        _marks(*(table[name].to_pylist() for name in _STATE[:3]))
        for table in map(_without_gone, Register(held.shelf, held.manifest).states())
    ]
    apart = held.manifest.quarantined
    parts.append(
        _marks(
            [one.segment for one in apart],
            [one.length for one in apart],
            [one.modified_at for one in apart],
        )
    )
    names, marks = (np.concatenate([part[at] for part in parts])[::-1] for at in (0, 1))
    # Of the looks at one segment the last one is the first now. Contents that were set aside are
    # looked up by name.
    _, last = np.unique(names, return_index=True)
    aside = _marks([one.segment for one in held.manifest.distrusted], [], [])[0]
    return np.unique(marks[last][~np.isin(names[last], aside)])


def _without_gone(states: pa.Table) -> pa.Table:
    """The states, that of a forgotten segment as no file has it."""
    is_gone = pc.fill_null(pc.equal(states["fault"], GONE), fill_value=False)
    lengths = pc.if_else(is_gone, pa.scalar(-1, pa.int64()), states["length"])
    return states.set_column(states.column_names.index("length"), "length", lengths)


def _marks(names: list[str], lengths: list[int], ages: list[int]) -> tuple[Any, Any]:
    """Numbers of 64 bits for names, and for names with their states."""
    of_names = pd.util.hash_array(np.array(names, object), hash_key=_KEY)
    if not lengths:
        return of_names, of_names[:0]
    of_lengths, of_ages = (
        pd.util.hash_array(np.array(one, np.int64), hash_key=_KEY) for one in (lengths, ages)
    )
    return of_names, of_names ^ (of_lengths * np.uint64(3)) ^ (of_ages * np.uint64(5))


class RegisterEntry(NamedTuple):
    """A file of looks that no manifest names yet."""

    file: str
    instead_of: tuple[str, ...]
    """The files that it replaces."""


def write(held: KnownSegments, looks: Iterable[Look]) -> RegisterEntry:
    """Write new looks; together with those of the last files if these are small and many.

    Only what stands last is merged, so that the order of the files stays that of the looks.
    """
    new = {one.segment: _numbered(one) for one in looks}
    small: list[RegisterFile] = []
    for name in reversed(held.manifest.products.get(PRODUCT, ())):
        file = register_file(name)
        if not file.is_small:
            break
        small.insert(0, file)
    merged = small if len(small) >= FILES_MAX else []
    tables = [_read(f"{held.shelf.root}/{file.name}") for file in merged]
    table = _last_of([*tables, segments.to_table(list(new.values()))])
    return RegisterEntry(_written(held.shelf, table), tuple(file.name for file in merged))


def written(shelf: Shelf, looks: Iterable[Look]) -> str:
    """Write looks as a file of the register; its name, for a manifest to name it."""
    return _written(shelf, segments.to_table([_numbered(one) for one in looks]))


def _numbered(one: Look) -> Look:
    """A look that is found by its row numbers, also where it says that the segment is gone."""
    first, last = numbers_of(one.segment) or (one.first_seq, one.last_seq)
    return one._replace(first_seq=first, last_seq=last)


def _last_of(tables: Sequence[pa.Table]) -> pa.Table:
    """The last look at each segment, in order of row numbers."""
    table = pa.concat_tables(tables)
    place = {name: at for at, name in enumerate(table["segment"].to_pylist())}
    return table.take(pa.array(sorted(place.values()), pa.int64())).sort_by(
        [("first_seq", "ascending"), ("segment", "ascending")]
    )


def _written(shelf: Shelf, table: pa.Table) -> str:
    numbers = pc.min(table["first_seq"]).as_py() or 0, pc.max(table["last_seq"]).as_py() or 0
    low, high = numbers
    name = f"looks-{low:020}-{high:020}-{table.num_rows}-{manifest.fresh_name()}.parquet"
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    storage.replace_bytes(f"{shelf.root}/{PRODUCT}/{name}", sink.getvalue().to_pybytes())
    return f"{PRODUCT}/{name}"
