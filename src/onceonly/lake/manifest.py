"""Which parts of a lake count: one small file per party names the folders.

A folder exists for readers only once the manifest names it; the manifest is replaced by a
temporary file and a rename. So a batch that was half written when its job died was never there.
The manifest also says what is *not* there: row numbers that are missing, segments that are kept
apart, rows that stand in the journal twice with different content. Knows names and numbers, no
Spark.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple
from uuid import uuid4

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import lease, storage
from onceonly.lake.storage import lake_url
from onceonly.message.errors import LocalError

__all__ = [
    "INGESTED_FOLDER",
    "MANIFEST_VERSION",
    "Distrusted",
    "Manifest",
    "Quarantined",
    "Range",
    "Retired",
    "Shelf",
    "batch_name",
    "batches_in",
    "change",
    "count",
    "fresh_name",
    "joined",
    "journal_bytes",
    "lake_url",
    "load",
    "load_or_renew",
    "publish",
    "shelves",
]

INGESTED_FOLDER: Final = "ingested"
MANIFEST_VERSION: Final = 2
_MANIFEST: Final = "manifest.json"

Range = tuple[int, int]
"""First and last row number, both in it."""


class Quarantined(NamedTuple):
    """A segment none of whose rows count, or one that changed after its rows were taken in."""

    segment: str
    """Relative to the lake, or a URL or path where it lies outside."""
    length: int
    modified_at: int
    """Milliseconds UTC; with `length`, what it was like when it was looked at."""
    fault: str
    bad_seq: int | None
    """The first row that cannot be right, where one can be named."""


class Distrusted(NamedTuple):
    """A content of a segment that somebody set aside by hand: it never counts again."""

    segment: str
    content: str
    """`Look.mark` of the content that counted; another content under that name is not affected."""
    reason: str
    at: int
    """Microseconds UTC."""


class Retired(NamedTuple):
    """A folder that the manifest no longer names, for readers that still do."""

    folder: str
    retired_at: int
    """Microseconds UTC."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The published folders of one party."""

    batches: int = 0
    """How often rows were taken in."""
    since: int = 0
    """The batch that wrote all rows again, since some of before do not count any more."""
    rows: int = 0
    """Rows that are in, each once."""
    ranges: tuple[Range, ...] = ()
    """Row numbers that are in: in order, and apart."""
    first_fork: int | None = None
    """The first row number that stands in the journal twice, with different content."""
    products: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Folders that hold each product; compaction replaces many by one."""
    folds: str = ""
    """Mark of the folds by which the lives were folded."""
    unknown_columns: Mapping[str, int] = field(default_factory=dict)
    """Columns of newer journals that this version left out, and in how many rows."""
    quarantined: tuple[Quarantined, ...] = ()
    """Segments that wait for somebody to publish them again."""
    distrusted: tuple[Distrusted, ...] = ()
    retired: tuple[Retired, ...] = ()

    @property
    def last_seq(self) -> int:
        """The last row number that is in; 0 where none is."""
        return self.ranges[-1][1] if self.ranges else 0

    @property
    def missing(self) -> list[Range]:
        """Row numbers that are not in, although a later one is."""
        starts = [low for low, _ in self.ranges]
        ends = [0, *(high for _, high in self.ranges)]
        return [
            (end + 1, start - 1)
            for end, start in zip(ends, starts, strict=False)
            if start > end + 1
        ]

    @property
    def forks(self) -> int:
        """Rows with a number that another row has too."""
        return self.rows - self.numbers

    @property
    def first_bad_seq(self) -> int | None:
        """The first row number that is missing, doubled, or known to be wrong."""
        bad = [low for low, _ in self.missing]
        bad += [one.bad_seq for one in self.quarantined if one.bad_seq is not None]
        bad += [] if self.first_fork is None else [self.first_fork]
        return min(bad, default=None)

    @property
    def numbers(self) -> int:
        """How many row numbers are in."""
        return count(self.ranges)

    def with_folders(
        self, product: str, instead_of: Sequence[str], name: str, now: int
    ) -> "Manifest":
        """The manifest with one more folder of `product`; the folders that it replaces retire."""
        replaced = frozenset(instead_of)
        kept = [one for one in self.products.get(product, ()) if one not in replaced]
        gone = tuple(Retired(one, now) for one in instead_of)
        products = {**self.products, product: (*kept, name)}
        return replace(self, products=products, retired=(*self.retired, *gone))

    def without_rows(self, products: Sequence[str], now: int) -> "Manifest":
        """The manifest with none of the rows that it had; their folders retire."""
        gone = [name for product in products for name in self.products.get(product, ())]
        kept = {name: folders for name, folders in self.products.items() if name not in products}
        return replace(
            self,
            rows=0,
            ranges=(),
            first_fork=None,
            unknown_columns={},
            products=kept,
            retired=(*self.retired, *(Retired(one, now) for one in gone)),
        )

    def without_retired(self, before: int) -> "Manifest":
        """The manifest without folders that retired before an instant, in microseconds UTC."""
        return replace(self, retired=tuple(one for one in self.retired if one.retired_at >= before))

    @property
    def in_use(self) -> frozenset[str]:
        """Folders that readers find, or may still hold."""
        named = (name for names in self.products.values() for name in names)
        return frozenset([*named, *(one.folder for one in self.retired)])


def fresh_name() -> str:
    """A folder's name that was never used, so that leftovers of a dead job do no harm."""
    return uuid4().hex[:16]


def batch_name(first: int, last: int | None = None) -> str:
    """A fresh name of a folder with the rows of these batches."""
    return f"batch-{first:08}-{first if last is None else last:08}-{fresh_name()}"


_BATCHES: Final = re.compile(r"/batch-(\d{8,})-(\d{8,})-[0-9a-f]{16}$")


def batches_in(folder: str) -> Range | None:
    """The first and the last batch of which a folder has rows; None where its name is older."""
    named = _BATCHES.search(folder)
    return None if named is None else (int(named[1]), int(named[2]))


def count(ranges: Iterable[Range]) -> int:
    """How many numbers stand in these ranges, which must be apart."""
    return sum(high - low + 1 for low, high in ranges)


def joined(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """The same numbers in order and apart."""
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One party's place in a lake directory."""

    lake: str
    folder: str
    """`party=<quoted>`, as the journal's folder is called."""

    @property
    def journal(self) -> str:
        """Where the gateway publishes segments, if it does so into this lake."""
        return f"{self.lake}/{JOURNAL_FOLDER}/{self.folder}"

    @property
    def root(self) -> str:
        """Where everything that is made of segments is."""
        return f"{self.lake}/{INGESTED_FOLDER}/{self.folder}"

    def paths(self, manifest: Manifest, product: str) -> list[str]:
        """Folders to read for `product`."""
        return [f"{self.root}/{name}" for name in manifest.products.get(product, ())]


def shelves(lakes: Sequence[str], *, within: str = INGESTED_FOLDER) -> list[Shelf]:
    """Every party in the lake directories, in a fixed order.

    `within` is `journal` for those that have published, `ingested` for those already ingested.
    Raises `LocalError` (NoLake) where a directory does not exist.
    """
    found = []
    for lake in dict.fromkeys(map(lake_url, lakes)):
        if not storage.is_folder(lake):
            raise LocalError("NoLake", f"there is no lake directory {lake}")
        names = storage.folders(f"{lake}/{within}")
        found += [Shelf(lake, name) for name in names if name.startswith("party=")]
    return sorted(found, key=lambda shelf: (shelf.lake, shelf.folder))


ROW_BYTES: Final = 80
"""Of a segment, for each of its rows; measured on two million."""


def journal_bytes(lakes: Sequence[str]) -> int:
    """Size of all journals that are published in the lakes, or were taken in from elsewhere.

    About what cannot be read it says nothing, nor that it cannot: whoever takes it in or judges by
    it does. Raises `LocalError` (NoLake).
    """
    found = shelves(lakes, within=JOURNAL_FOLDER)
    return max(sum(map(_published_bytes, found)), ROW_BYTES * sum(map(_rows, shelves(lakes))))


def _published_bytes(shelf: Shelf) -> int:
    try:
        return sum(one.length for one in storage.listed(shelf.journal))
    except OSError:
        return 0


def _rows(shelf: Shelf) -> int:
    try:
        return load_or_renew(shelf).rows
    except (OSError, LocalError):
        return 0


def load(shelf: Shelf) -> Manifest:
    """The party's manifest; an empty one where nothing was ever published.

    Raises `LocalError`: OlderLake, NewerLake, BadManifest.
    """
    name = f"{shelf.root}/{_MANIFEST}"
    content = storage.read_bytes(name)
    if content is None:
        return Manifest()
    try:
        return _parsed(json.loads(content), name)
    except (ValueError, KeyError, TypeError) as error:
        raise LocalError("BadManifest", f"{name} is no manifest: {error!r}") from error


def load_or_renew(shelf: Shelf) -> Manifest:
    """The party's manifest for an ingest; a new one in place of one of an older version."""
    try:
        return load(shelf)
    except LocalError as error:
        if error.name != "OlderLake":
            raise
        return Manifest()


def change(shelf: Shelf, how: Callable[[Manifest], Manifest]) -> Manifest:
    """Replace the party's manifest by the result of `how`; from now on readers see that."""
    with lease.changing(shelf.root):
        before = load_or_renew(shelf)
        after = how(before)
        if after != before:
            publish(shelf, after)
    return after


def publish(shelf: Shelf, manifest: Manifest) -> None:
    """Replace the party's manifest, whatever it says."""
    content = json.dumps(_written(manifest), indent=1).encode()
    storage.replace_bytes(f"{shelf.root}/{_MANIFEST}", content)


def _written(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": MANIFEST_VERSION,
        "batches": manifest.batches,
        "since": manifest.since,
        "rows": manifest.rows,
        "ranges": manifest.ranges,
        "first_fork": manifest.first_fork,
        "products": dict(manifest.products),
        "folds": manifest.folds,
        "unknown_columns": dict(manifest.unknown_columns),
        "quarantined": [one._asdict() for one in manifest.quarantined],
        "distrusted": [one._asdict() for one in manifest.distrusted],
        "retired": [one._asdict() for one in manifest.retired],
    }


def _parsed(read: dict[str, Any], name: str) -> Manifest:
    version = read["version"]
    if version < MANIFEST_VERSION:
        raise LocalError(
            "OlderLake",
            f"{name} has version {version}, in which no segment was looked at: ingest once more",
        )
    if version > MANIFEST_VERSION:
        raise LocalError("NewerLake", f"{name} has version {version}, which is not ours")
    return Manifest(
        batches=read["batches"],
        since=read.get("since", 0),
        rows=read["rows"],
        ranges=tuple((low, high) for low, high in read["ranges"]),
        first_fork=read["first_fork"],
        products={product: tuple(names) for product, names in read["products"].items()},
        folds=read["folds"],
        unknown_columns=read["unknown_columns"],
        quarantined=tuple(Quarantined(**one) for one in read["quarantined"]),
        distrusted=tuple(Distrusted(**one) for one in read.get("distrusted", ())),
        retired=tuple(Retired(**one) for one in read["retired"]),
    )
