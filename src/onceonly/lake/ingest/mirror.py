"""Copies segments into the lake, unchanged, from places that Spark cannot read, by fsspec.

For a source at a URL whose scheme Spark's Hadoop does not know (`sftp://…`, `memory://…`, and
whatever else fsspec has a driver for). The source is only ever read. A copy appears by rename; what
was copied is known by size and by what the source says of its age, so that a segment that changed
is fetched again. A copy that is quarantined goes when the source withdraws it; every other stays.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import fsspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import manifest, storage
from onceonly.lake.ingest import segments
from onceonly.lake.manifest import Shelf
from onceonly.message.errors import LocalError

FOLDER: Final = "mirrored"
BYTES_AT_ONCE: Final = 1 << 20
"""Most bytes of a file in memory: a partner's files may have any size."""
_LEDGER: Final = "mirror.json"
_AGES: Final = ("mtime", "LastModified", "last_modified", "updated", "modified", "created", "ETag")
"""What drivers of fsspec call the age or the version of a file."""


def require_list(source: str) -> None:
    """Raises `LocalError` (NoSource) for HTTP, of which nobody has a list of a folder.

    Hadoop has a file system of it all the same.
    """
    if source.startswith(("http://", "https://")):
        raise LocalError("NoSource", f"{source} cannot be read: HTTP lists no folders")


def is_needed(spark: SparkSession, source: str) -> bool:
    """Whether Spark has no file system for the URL. Raises what `require_list` does."""
    if "://" not in source:
        return False
    require_list(source)
    context: Any = spark.sparkContext
    hadoop = context._jvm.org.apache.hadoop.fs.FileSystem  # noqa: SLF001 - because Spark has no public way to ask
    try:
        hadoop.getFileSystemClass(source.partition("://")[0], context._jsc.hadoopConfiguration())  # noqa: SLF001 - because Spark has no public way to ask
    except Py4JJavaError:
        return True
    return False


def fetch(source: str, lake: str) -> str:
    """Copy what is new or changed; returns the directory in the lake that mirrors the source.

    Raises `LocalError` (NoSource) where the source cannot be opened or read, or is not there, and
    `OSError` where the lake cannot be written.
    """
    with _reading(source):
        files, root = fsspec.core.url_to_fs(source)
    place = f"{FOLDER}/{sha256(source.encode()).hexdigest()[:12]}"
    try:
        _fetch_all(source, files, root, lake, place)
    except LocalError:
        # The next try is to have a connection of its own.
        type(files).clear_instance_cache()
        raise
    return f"{lake}/{place}"


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Errors in here belong to the source, and not to the lake that is written."""
    try:
        yield
    except _errors() as error:
        raise LocalError("NoSource", f"{source} cannot be read: {error}") from error


def _errors() -> tuple[type[Exception], ...]:
    """What fsspec and its drivers raise; that of SSH has its own for a lost connection."""
    ssh = sys.modules.get("paramiko")
    return ImportError, ValueError, OSError, EOFError, *(() if ssh is None else (ssh.SSHException,))


def _fetch_all(source: str, files: Any, root: str, lake: str, place: str) -> None:
    mirror = f"{lake}/{place}"
    ledger_file = f"{mirror}/{_LEDGER}"
    copied: dict[str, list[str]] = json.loads(storage.read_bytes(ledger_file) or b"{}")
    before = dict(copied)
    files.invalidate_cache()
    present = set()
    try:
        for entry in _entries(source, files, root):
            present.add(_fetch_one(source, files, entry, mirror, copied))
        for gone in _withdrawn(lake, place, [one for one in copied if one not in present]):
            storage.remove(f"{mirror}/{gone}")
            del copied[gone]
    finally:
        # What came before the connection was lost need not come again.
        if copied != before:
            storage.replace_bytes(ledger_file, json.dumps(copied, indent=1).encode())


def _entries(source: str, files: Any, root: str) -> Iterator[dict[str, Any]]:
    """What is in the folders of parties, and of whatever else there is."""
    with _reading(source):
        for party in files.ls(f"{root}/{JOURNAL_FOLDER}", detail=False):
            yield from files.ls(party, detail=True)


def _fetch_one(
    source: str, files: Any, entry: dict[str, Any], mirror: str, copied: dict[str, list[str]]
) -> str | None:
    """Where the file is in the mirror, if it is one that is wanted."""
    party, _, name = entry["name"].rstrip("/").rpartition("/")
    folder = party.rpartition("/")[2]
    if entry["type"] != "file" or name.startswith((".", "_")) or not folder.startswith("party="):
        return None
    place = f"{JOURNAL_FOLDER}/{folder}/{name}"
    state = [str(entry["size"]), *(str(entry[age]) for age in _AGES if age in entry)]
    if copied.get(place) != state:
        storage.replace(f"{mirror}/{place}", _chunks(source, files, entry))
        copied[place] = state
    return place


def _chunks(source: str, files: Any, entry: dict[str, Any]) -> Iterator[bytes]:
    """The file, and of one that is larger than any segment nothing: so it is quarantined."""
    left = segments.SEGMENT_BYTES_MAX
    if (entry["size"] or 0) > left:
        return
    with _reading(source), files.open(entry["name"], "rb") as file:
        while left > 0 and (chunk := file.read(min(left, BYTES_AT_ONCE))):
            left -= len(chunk)
            yield bytes(chunk)


def _withdrawn(lake: str, mirror: str, gone: Iterable[str]) -> list[str]:
    """The copies whose originals are gone and of which no row counts."""
    found = []
    for place in gone:
        shelf = Shelf(lake, place.split("/")[1])
        refused = {one.segment for one in manifest.load_or_renew(shelf).quarantined}
        if f"{mirror}/{place}" in refused:
            found.append(place)
    return found
