"""Which seeds have been run by which code: so that a campaign goes on where the last one stopped.

One small Parquet file per finished range, in a folder that may be a URL that `pyarrow.fs`
understands. Code is identified by the digest of what a result depends on (`code`), so that a commit
that changes only documentation does not start again at seed 0. Knows no worlds and no Spark.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
from msgspec.structs import asdict
from pyarrow import fs
from pyarrow import parquet as pq

from onceonly.lake.manifest import lake_url
from onceonly.message.word import Word

_FOLDER = "ledger"
_TEMPORARY = "."
"""Names that begin with a dot are hidden from every reader of folders."""


class LedgerEntry(Word):
    """One range of seeds that was run to its end, from `lo` up to and without `hi`."""

    code: str
    commit: str
    profile: str
    lo: int
    hi: int
    violations: int
    """Seeds with a violation."""
    seeds: int
    seconds: float
    """From the beginning of the range to its end, on one core."""


_SCHEMA = pa.schema(
    [
        pa.field(
            name, {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}[kind.__name__]
        )
        for name, kind in LedgerEntry.__annotations__.items()
    ]
)


class Ledger:
    """The ranges that were finished, in one folder."""

    def __init__(self, directory: str) -> None:
        self.url = lake_url(directory)
        self._files, self._root = _opened(f"{self.url}/{_FOLDER}")

    def append(self, entries: Iterable[LedgerEntry]) -> None:
        """Write finished ranges down; the same range again replaces its file."""
        self._files.create_dir(self._root)
        for entry in entries:
            name = f"{entry.profile}-{entry.code[:16]}-{entry.lo:012}-{entry.hi:012}.parquet"
            temporary = f"{self._root}/{_TEMPORARY}{name}"
            table = pa.Table.from_pylist([asdict(entry)], schema=_SCHEMA)
            with self._files.open_output_stream(temporary) as sink:
                pq.write_table(table, sink)
            self._files.move(temporary, f"{self._root}/{name}")

    def entries(self) -> list[LedgerEntry]:
        """Every finished range of any code, in the order of names."""
        wanted = fs.FileSelector(self._root, allow_not_found=True)
        found = sorted(
            file.path
            for file in self._files.get_file_info(wanted)
            if file.base_name.endswith(".parquet") and not file.base_name.startswith(_TEMPORARY)
        )
        rows: list[dict[str, Any]] = []
        for path in found:
            with self._files.open_input_file(path) as source:
                rows += pq.read_table(source, schema=_SCHEMA).to_pylist()
        return [LedgerEntry(**row) for row in rows]

    def done(self, code: str, profile: str) -> list[LedgerEntry]:
        """The ranges that this code has finished, by their beginning."""
        own = [entry for entry in self.entries() if (entry.code, entry.profile) == (code, profile)]
        return sorted(own, key=lambda entry: (entry.lo, entry.hi))

    def missing(self, code: str, profile: str, lo: int, hi: int) -> list[tuple[int, int]]:
        """What of the seeds from `lo` to `hi` this code has not run."""
        return gaps([(entry.lo, entry.hi) for entry in self.done(code, profile)], lo, hi)


def gaps(done: Sequence[tuple[int, int]], lo: int, hi: int) -> list[tuple[int, int]]:
    """What of `lo` to `hi` no range of `done` covers."""
    found: list[tuple[int, int]] = []
    at = lo
    for begin, end in sorted(done):
        if begin >= hi:
            break
        if begin > at:
            found.append((at, begin))
        at = max(at, end)
    if at < hi:
        found.append((at, hi))
    return found


def pieces(ranges: Iterable[tuple[int, int]], size: int) -> Iterator[tuple[int, int]]:
    """The ranges cut into pieces of at most `size` seeds, at multiples of it."""
    for lo, hi in ranges:
        first = (lo // size + 1) * size
        yield from pairwise([lo, *range(first, hi, size), hi])


def _opened(path: str) -> tuple[Any, str]:
    if "://" in path:
        found, root = fs.FileSystem.from_uri(path)
        return found, root
    return fs.LocalFileSystem(), path
