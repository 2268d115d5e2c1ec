"""Which parts of a lake count: one small file per party names the folders.

A folder exists for readers only once the manifest names it. So a batch that was half written when
its job died was never there. A change of the manifest is one small file more in its log, which is
whole or not there; a reader takes the last snapshot and the entries after it. After every
`ENTRIES_MAX` entries the next snapshot takes the place of the one before.
The manifest also says what is *not* there: row numbers that are missing, segments that are kept
apart, rows that stand in the journal twice with different content. Knows names and numbers, no
Spark.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple
from uuid import uuid4

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import lease, manifest_log, storage
from onceonly.lake.storage import lake_url
from onceonly.message.errors import LocalError

__all__ = [
    "INGESTED_FOLDER",
    "LOG_FOLDER",
    "MANIFEST_VERSION",
    "Distrusted",
    "Manifest",
    "Quarantined",
    "Range",
    "Retired",
    "Shelf",
    "append",
    "batch_name",
    "batches_in",
    "change",
    "count",
    "fresh_name",
    "is_to_take_over",
    "joined",
    "journal_bytes",
    "lake_url",
    "load",
    "load_or_renew",
    "old_manifest",
    "publish",
    "shelves",
    "snapshot",
]

INGESTED_FOLDER: Final = "ingested"
MANIFEST_VERSION: Final = 3
TAKEN_OVER_VERSION: Final = 2
"""The version before, of lakes that `lake take-over` takes over."""
ENTRIES_MAX: Final = 32
"""After so many entries of its log a manifest is written whole once more."""
LOG_FOLDER: Final = "log"
_MANIFEST: Final = "manifest.json"
_ENTRY: Final = "entry"

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
    lineage: str = ""
    """A fresh name for every beginning: the first batch, and one that wrote all rows again since
    some of before do not count any more. Batches are numbered within one."""
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


def require_opened(url: str) -> None:
    """Raises `LocalError` (NoLake) where no file system is known for the path or URL."""
    try:
        storage.opened(url)
    except (ValueError, ImportError) as error:
        raise LocalError("NoLake", f"{url} cannot be opened: {error}") from error


def require_lake(lake: str) -> None:
    """Raises `LocalError` (NoLake) where the directory does not exist, or nobody can open it.

    A missing mount must not look like a lake in which nothing is.
    """
    require_opened(lake)
    if not storage.is_folder(lake):
        raise LocalError("NoLake", f"there is no lake directory {lake}")


def shelves(lakes: Sequence[str], *, within: str = INGESTED_FOLDER) -> list[Shelf]:
    """Every party in the lake directories, in a fixed order.

    `within` is `journal` for those that have published, `ingested` for those already ingested.
    Raises `LocalError` (NoLake) where a directory does not exist.
    """
    found = []
    for lake in dict.fromkeys(map(lake_url, lakes)):
        require_lake(lake)
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
        return sum(one.length for one in storage.each_listed(shelf.journal))
    except OSError:
        return 0


def _rows(shelf: Shelf) -> int:
    try:
        return load_or_renew(shelf).rows
    except (OSError, LocalError):
        return 0


class _Found(NamedTuple):
    """A party's manifest, and where its log stands."""

    manifest: Manifest
    state: Mapping[str, Any]
    """The manifest as JSON has it."""
    entry: int
    """Number of the last entry that is in it; 0 where there was none."""
    snapshot: int | None
    """Number of the last entry that is in the snapshot; None where that is to be replaced."""


def load(shelf: Shelf) -> Manifest:
    """The party's manifest; an empty one where nothing was ever published.

    Raises `LocalError`: OlderLake, NewerLake, BadManifest.
    """
    return _found(shelf).manifest


def _found(shelf: Shelf) -> _Found:
    place = f"{shelf.root}/{_MANIFEST}"
    content = storage.read_bytes(place)
    while True:
        found = _after(shelf, content)
        # Entries that a snapshot has are removed some time: a slow reader begins again with it.
        newest = storage.read_bytes(place)
        if newest == content or newest is None or _number(newest, place) <= found.entry:
            return found
        content = newest


def _after(shelf: Shelf, content: bytes | None) -> _Found:
    """What a snapshot says, and the entries after it."""
    name = f"{shelf.root}/{_MANIFEST}"
    state: Mapping[str, Any] = _EMPTY
    snapshot = 0
    try:
        if content is not None:
            whole = _snapshot(content)
            _require_ours(whole, name)
            state = {key: value for key, value in whole.items() if key != _ENTRY}
            snapshot = whole.get(_ENTRY, 0)
        entry = snapshot
        while (told := storage.read_bytes(_of_log(shelf, entry + 1))) is not None:
            name = _of_log(shelf, entry + 1)
            change = json.loads(told)
            _require_ours(change, name)
            state = manifest_log.applied(state, change["change"])
            entry += 1
        return _Found(_parsed(state), state, entry, snapshot)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LocalError("BadManifest", f"{name} is no manifest: {error!r}") from error


def _number(content: bytes, name: str) -> int:
    try:
        return int(_snapshot(content).get(_ENTRY, 0))
    except (ValueError, AttributeError) as error:
        raise LocalError("BadManifest", f"{name} is no manifest: {error!r}") from error


@lru_cache(maxsize=8)
def _snapshot(content: bytes) -> Mapping[str, Any]:
    """An ingest reads the same snapshot several times, and the next one mostly does too."""
    state: Mapping[str, Any] = json.loads(content)
    return state


def _of_log(shelf: Shelf, entry: int) -> str:
    return f"{shelf.root}/{LOG_FOLDER}/{entry:020}.json"


def load_or_renew(shelf: Shelf) -> Manifest:
    """The party's manifest for an ingest; a new one in place of one in which nothing was checked.

    Raises `LocalError` like `load`, OlderLake only where `lake take-over` can take the lake over.
    """
    return _found_or_renewed(shelf).manifest


def _found_or_renewed(shelf: Shelf) -> _Found:
    try:
        return _found(shelf)
    except LocalError as error:
        if error.name != "OlderLake" or is_to_take_over(shelf):
            raise
        return _Found(Manifest(), _EMPTY, 0, None)


def is_to_take_over(shelf: Shelf) -> bool:
    """Whether the party's manifest is of the version that `lake take-over` takes over."""
    return old_manifest(shelf) is not None


def old_manifest(shelf: Shelf) -> Manifest | None:
    """A manifest of the version before, which names the folders of before; None if it is none."""
    content = storage.read_bytes(f"{shelf.root}/{_MANIFEST}")
    try:
        state = json.loads(content or b"{}")
        return _parsed(state) if state.get("version") == TAKEN_OVER_VERSION else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def change(shelf: Shelf, how: Callable[[Manifest], Manifest]) -> Manifest:
    """Make the result of `how` the party's manifest; from now on readers see that.

    Where another one was quicker, `how` is asked once more, for what that one has left.
    """
    with lease.changing(shelf.root):
        while True:
            before = _found_or_renewed(shelf)
            after = how(before.manifest)
            if after == before.manifest:
                return after
            if before.snapshot is None:
                publish(shelf, after)
                return after
            state = _written(after)
            if not append(shelf, before.entry + 1, manifest_log.difference(before.state, state)):
                continue
            if before.entry + 1 - before.snapshot >= ENTRIES_MAX:
                snapshot(shelf, before.entry + 1, state)
            return after


def append(shelf: Shelf, entry: int, told: Mapping[str, Any]) -> bool:
    """Write the next entry of the log, whole or not at all; False if another one has."""
    content = {"version": MANIFEST_VERSION, "change": told}
    name = _of_log(shelf, entry)
    if not storage.create_bytes(name, json.dumps(content, separators=(",", ":")).encode()):
        return False
    if storage.local_path(shelf.root) is not None:
        return True
    # No lock keeps two apart here. Somebody may have gone so far meanwhile that the entry of that
    # number was removed again: then this one stands before the snapshot, and nobody reads it.
    place = f"{shelf.root}/{_MANIFEST}"
    newest = storage.read_bytes(place)
    return newest is None or _number(newest, place) < entry


def snapshot(shelf: Shelf, entry: int, state: Mapping[str, Any]) -> None:
    """Replace the snapshot by one with all entries up to this one, and remove some long since in.

    Those of the last two snapshots stay, for whoever began to read before this one was there.
    """
    content = json.dumps({**state, _ENTRY: entry}, separators=(",", ":")).encode()
    storage.replace_bytes(f"{shelf.root}/{_MANIFEST}", content)
    until = entry - 2 * ENTRIES_MAX
    for old in range(max(1, until - ENTRIES_MAX), until + 1):
        storage.remove(_of_log(shelf, old))


def publish(shelf: Shelf, manifest: Manifest) -> None:
    """Replace the party's manifest, whatever it says."""
    names = [one.name.partition(".")[0] for one in storage.listed(f"{shelf.root}/{LOG_FOLDER}")]
    last = max((int(name) for name in names if name.isdecimal()), default=0)
    snapshot(shelf, last, _written(manifest))


def _written(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": MANIFEST_VERSION,
        "batches": manifest.batches,
        "lineage": manifest.lineage,
        "rows": manifest.rows,
        "ranges": [list(one) for one in manifest.ranges],
        "first_fork": manifest.first_fork,
        "products": {name: list(folders) for name, folders in manifest.products.items()},
        "folds": manifest.folds,
        "unknown_columns": dict(manifest.unknown_columns),
        "quarantined": [one._asdict() for one in manifest.quarantined],
        "distrusted": [one._asdict() for one in manifest.distrusted],
        "retired": [one._asdict() for one in manifest.retired],
    }


def _require_ours(read: Mapping[str, Any], name: str) -> None:
    version = read["version"]
    if version > MANIFEST_VERSION:
        raise LocalError("NewerLake", f"{name} has version {version}, which is not ours")
    if version == TAKEN_OVER_VERSION:
        place = name.partition(f"/{INGESTED_FOLDER}/")[0]
        text = "its rows are kept in the layout of before: run onceonly lake take-over"
        raise LocalError("OlderLake", f"{name} has version {version}, {text} {place}")
    if version < MANIFEST_VERSION:
        text = "in which no segment was looked at: ingest once more"
        raise LocalError("OlderLake", f"{name} has version {version}, {text}")


def _parsed(read: Mapping[str, Any]) -> Manifest:
    return Manifest(
        batches=read["batches"],
        lineage=read.get("lineage", ""),
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


_EMPTY: Final[Mapping[str, Any]] = _written(Manifest())
