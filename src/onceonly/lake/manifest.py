"""What of a lake is published: one small file per party names the batches that count.

A batch is written into a folder of its own and exists for readers only once the manifest names
it; the manifest is replaced by a temporary file and a rename. So a batch that was half written
when the job died was never there, and writing it again replaces it. Knows files and names, no
Spark. Lake directories may be local paths or URLs that `pyarrow.fs` understands.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.message.errors import LocalError

INGESTED_FOLDER: Final = "ingested"
MANIFEST_VERSION: Final = 1
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The published batches of one party."""

    generation: int = 0
    """How often ingesting began from nothing; part of every batch's name."""
    home: str = ""
    """Lake directory in which it began: a query's offsets are full paths, good only there."""
    batches: tuple[str, ...] = ()
    """Every batch that was ever published, in order; a batch named here is never done again."""
    ranges: tuple[tuple[int, int], ...] = ()
    """First and last row number of each."""
    products: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Folders that hold each product; compaction replaces many by one."""
    has_repeats: bool = False
    """Whether the journal batches hold some row twice; the folded ones never do."""

    def with_batch(self, name: str, first: int, last: int, products: Sequence[str]) -> "Manifest":
        """The manifest with one more batch."""
        grown = {
            product: (*self.products.get(product, ()), f"{product}/{name}") for product in products
        }
        return replace(
            self,
            batches=(*self.batches, name),
            ranges=(*self.ranges, (first, last)),
            products={**self.products, **grown},
        )

    def overlaps(self, first: int, last: int) -> bool:
        """Whether a published batch may hold rows with numbers from `first` to `last`."""
        return any(low <= last and first <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Shelf:
    """One party's place in a lake directory."""

    lake: str
    folder: str
    """`party=<quoted>`, as the journal's folder is called."""

    @property
    def journal(self) -> str:
        """Where the gateway publishes segments."""
        return f"{self.lake}/{JOURNAL_FOLDER}/{self.folder}"

    @property
    def root(self) -> str:
        """Where everything that is made of them is."""
        return f"{self.lake}/{INGESTED_FOLDER}/{self.folder}"

    def checkpoint(self, generation: int) -> str:
        """Where the ingesting query keeps its offsets."""
        return f"{self.root}/checkpoint-{generation}"

    def paths(self, manifest: Manifest, product: str) -> list[str]:
        """Folders to read for `product`."""
        return [f"{self.root}/{name}" for name in manifest.products.get(product, ())]


def lake_url(directory: str) -> str:
    """The lake directory as Spark and `pyarrow.fs` both take it: absolute, without a last slash."""
    if "://" in directory:
        return directory.rstrip("/")
    return str(Path(directory).absolute())


def shelves(lakes: Sequence[str], *, within: str = INGESTED_FOLDER) -> list[Shelf]:
    """Every party in the lake directories, in a fixed order.

    `within` is `journal` for those that have published, `ingested` for those already ingested.
    Raises `LocalError` (NoLake) where a directory does not exist.
    """
    found = []
    for lake in map(lake_url, lakes):
        files, root = _files(lake)
        if files.get_file_info(root).type != fs.FileType.Directory:
            raise LocalError("NoLake", f"there is no lake directory {lake}")
        wanted = fs.FileSelector(f"{root}/{within}", allow_not_found=True)
        found += [
            Shelf(lake, entry.base_name)
            for entry in files.get_file_info(wanted)
            if entry.type == fs.FileType.Directory and entry.base_name.startswith("party=")
        ]
    return sorted(found, key=lambda shelf: (shelf.lake, shelf.folder))


def journal_bytes(lakes: Sequence[str]) -> int:
    """Size of all published segments. Raises `LocalError` (NoLake)."""
    total = 0
    for shelf in shelves(lakes, within=JOURNAL_FOLDER):
        files, root = _files(shelf.journal)
        found = files.get_file_info(fs.FileSelector(root))
        total += sum(entry.size or 0 for entry in found if entry.type == fs.FileType.File)
    return total


def load(shelf: Shelf) -> Manifest:
    """The party's manifest; an empty one where nothing was ever published."""
    files, root = _files(shelf.root)
    name = f"{root}/{_MANIFEST}"
    if files.get_file_info(name).type != fs.FileType.File:
        return Manifest()
    with files.open_input_file(name) as source:
        return _parsed(json.loads(source.readall()), name)


def begin(shelf: Shelf) -> Manifest:
    """The party's manifest, ready for its ingesting query.

    Where the query's offsets are lost, or the lake was moved from where they point to, a new
    generation reads everything again; what is published already is known by its hashes.
    """
    known = load(shelf)
    goes_on = known.home == shelf.lake and _has_folder(shelf.checkpoint(known.generation))
    if not goes_on:
        known = replace(known, generation=known.generation + 1, home=shelf.lake)
        publish(shelf, known)
    return known


def publish(shelf: Shelf, manifest: Manifest) -> None:
    """Replace the party's manifest: from here on readers see these batches."""
    files, root = _files(shelf.root)
    files.create_dir(root)
    # The name begins with a dot, which every reader of folders takes for hidden.
    temporary = f"{root}/.{_MANIFEST}"
    with files.open_output_stream(temporary) as sink:
        sink.write(json.dumps(_written(manifest), indent=1).encode())
    files.move(temporary, f"{root}/{_MANIFEST}")


def _has_folder(path: str) -> bool:
    files, root = _files(path)
    return bool(files.get_file_info(root).type == fs.FileType.Directory)


def _files(path: str) -> tuple[Any, str]:
    if "://" in path:
        files, root = fs.FileSystem.from_uri(path)
        return files, root
    return fs.LocalFileSystem(), path


def _written(manifest: Manifest) -> dict[str, Any]:
    return {
        "version": MANIFEST_VERSION,
        "generation": manifest.generation,
        "home": manifest.home,
        "batches": manifest.batches,
        "ranges": manifest.ranges,
        "products": dict(manifest.products),
        "has_repeats": manifest.has_repeats,
    }


def _parsed(read: dict[str, Any], name: str) -> Manifest:
    if read["version"] != MANIFEST_VERSION:
        raise LocalError("NewerLake", f"{name} has version {read['version']}, which is not ours")
    return Manifest(
        generation=read["generation"],
        home=read["home"],
        batches=tuple(read["batches"]),
        ranges=tuple((low, high) for low, high in read["ranges"]),
        products={product: tuple(names) for product, names in read["products"].items()},
        has_repeats=read["has_repeats"],
    )
