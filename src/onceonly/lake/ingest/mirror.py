"""Copies segments into the lake, unchanged, from places that Spark cannot read, by fsspec.

For a source at a URL whose scheme Spark's Hadoop does not know (`sftp://…`, `memory://…`, and
whatever else fsspec has a driver for). The source is only ever read. A copy appears by rename; what
was copied is known by size and by what the source says of its age, so that a segment that changed
is fetched again. A copy that is quarantined goes when the source withdraws it; every other stays.

A file or a folder that cannot be read keeps no other out: it is named, and the next visit tries it
again. A connection that is lost ends the visit, and what came before counts.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final, NamedTuple

import fsspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import manifest, storage
from onceonly.lake.ingest import segments
from onceonly.lake.ingest.batch import DISTURBED
from onceonly.lake.manifest import Shelf
from onceonly.message.errors import LocalError

FOLDER: Final = "mirrored"
BYTES_AT_ONCE: Final = 1 << 20
"""Most bytes of a file in memory: a partner's files may have any size."""
NAME_BYTES_MAX: Final = 255
"""Of one file or folder on every usual disk; object stores and memory have longer names."""
MISSED_NAMED: Final = 20
"""So many files that could not be copied are named, others are counted: it may be all of them."""
_LEDGER: Final = ".copied.json"
"""In the folder of each party, where its dot hides it. So a visit writes of the parties of which
something came, and not of all."""
_LEDGER_OF_ALL: Final = "mirror.json"
"""What versions before had instead: one for the whole source."""
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


class Fetched(NamedTuple):
    """What a visit to a source came to."""

    place: str
    """The directory in the lake that mirrors the source."""
    missed: Sequence[LocalError]
    """Why something is not in it (Disturbed, NoSource); the next visit tries it again."""


def fetch(source: str, lake: str) -> Fetched:
    """Copy what is new or changed.

    Raises `LocalError` (NoSource) where the source cannot be opened or listed, or is not there, and
    `OSError` where the lake cannot be written.
    """
    with _reading(source):
        files, root = fsspec.core.url_to_fs(source)
    visit = _Visit(source, files, lake)
    try:
        visit.fetch_all(root)
    finally:
        if not visit.is_whole:
            # The next try is to have a connection of its own.
            type(files).clear_instance_cache()
    return Fetched(visit.mirror, visit.told())


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Errors in here belong to the source, and not to the lake that is written."""
    try:
        yield
    except Exception as error:
        raise LocalError("NoSource", f"{what} cannot be read: {error}") from error


def _is_of_connection(error: BaseException | None) -> bool:
    """Whether the source would not give the next file either."""
    ftp = sys.modules.get("ftplib")
    if ftp is not None and isinstance(error, ftp.error_perm):
        return False
    return isinstance(error, (ConnectionError, TimeoutError)) or not isinstance(
        error, (OSError, ValueError)
    )


class _Visit:
    """One visit to a source, with an open connection; `missed` is what it could not copy."""

    def __init__(self, source: str, files: Any, lake: str) -> None:
        self._source = source
        self._files = files
        self._lake = lake
        self._place = f"{FOLDER}/{sha256(source.encode()).hexdigest()[:12]}"
        self.mirror = f"{lake}/{self._place}"
        self.missed: list[LocalError] = []
        self.is_whole = False
        """Whether it came to its end and missed nothing."""
        self._more = 0
        """Files that were missed and are not named."""

    def fetch_all(self, root: str) -> None:
        """Copy what is new or changed, and remove what was bad and is withdrawn."""
        self._files.invalidate_cache()
        with _reading(self._source):
            there = self._files.ls(f"{root}/{JOURNAL_FOLDER}", detail=True)
        # Not only directories: drivers of SSH and FTP tell of a link as what it is.
        parties = {_name(one): str(one["name"]) for one in there if one["type"] != "file"}
        self._divide_ledger()
        known = storage.folders(f"{self.mirror}/{JOURNAL_FOLDER}")
        try:
            for party in sorted({*parties, *known}):
                if party.startswith("party=") and self._can_keep(JOURNAL_FOLDER, party):
                    self._fetch_party(f"{JOURNAL_FOLDER}/{party}", parties.get(party))
        except LocalError as lost:
            self.missed.append(lost)
        self.is_whole = not self.missed

    def told(self) -> list[LocalError]:
        """Why something was missed, in as many lines as anybody reads."""
        if not self._more:
            return self.missed
        text = f"{self._more} more files of {self._source} cannot be copied"
        return [*self.missed, LocalError(DISTURBED, text)]

    def _divide_ledger(self) -> None:
        """Make of the ledger of a version before one for each party; nothing comes twice."""
        old = f"{self.mirror}/{_LEDGER_OF_ALL}"
        content = storage.read_bytes(old)
        if content is None:
            return
        divided: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
        for place, state in json.loads(content).items():
            folder, _, name = place.rpartition("/")
            divided[folder][name] = state
        for folder, copied in divided.items():
            self._write_ledger(folder, copied)
        # Last: a visit that is killed before it does the same again.
        storage.remove(old)

    def _write_ledger(self, folder: str, copied: dict[str, list[str]]) -> None:
        content = json.dumps(copied, separators=(",", ":")).encode()
        storage.replace_bytes(f"{self.mirror}/{folder}/{_LEDGER}", content)

    def _fetch_party(self, folder: str, where: str | None) -> None:
        """The files of one party's folder, of which the source may have none any more.

        Raises `LocalError` (NoSource) where the connection is lost.
        """
        ledger = storage.read_bytes(f"{self.mirror}/{folder}/{_LEDGER}")
        copied: dict[str, list[str]] = json.loads(ledger or b"{}")
        before = dict(copied)
        try:
            listed = [] if where is None else self._listed(folder, where)
            for entry in listed or ():
                self._fetch_one(folder, entry, copied)
            if listed is not None:
                for gone in self._withdrawn(folder, copied.keys() - set(map(_name, listed))):
                    storage.remove(f"{self.mirror}/{folder}/{gone}")
                    del copied[gone]
        finally:
            # What came before the connection was lost need not come again.
            if copied != before:
                self._write_ledger(folder, copied)

    def _listed(self, folder: str, where: str) -> list[dict[str, Any]] | None:
        """The files in a folder of the source that are wanted; None where it cannot be listed."""
        try:
            with _reading(f"{self._source}/{folder}"):
                found = self._files.ls(where, detail=True)
        except LocalError as error:
            self._miss(error)
            return None
        # Some drivers list an empty object with the folder's own name in the folder.
        return [
            one
            for one in found
            if one["type"] == "file"
            and storage.is_listed(_name(one))
            and one["name"].rstrip("/") != where.rstrip("/")
        ]

    def _fetch_one(self, folder: str, entry: dict[str, Any], copied: dict[str, list[str]]) -> None:
        name = _name(entry)
        state = [str(entry["size"]), *(str(entry[age]) for age in _AGES if age in entry)]
        if copied.get(name) == state or not self._can_keep(folder, name):
            return
        try:
            content = self._chunks(f"{folder}/{name}", entry)
            storage.replace(f"{self.mirror}/{folder}/{name}", content)
        except LocalError as error:
            self._miss(error)
        else:
            copied[name] = state

    def _chunks(self, place: str, entry: dict[str, Any]) -> Iterator[bytes]:
        """The file, and of one that is larger than any segment nothing: so it is quarantined."""
        left = segments.SEGMENT_BYTES_MAX
        if (entry["size"] or 0) > left:
            return
        with _reading(f"{self._source}/{place}"), self._files.open(entry["name"], "rb") as file:
            while left > 0 and (chunk := file.read(min(left, BYTES_AT_ONCE))):
                left -= len(chunk)
                yield bytes(chunk)

    def _can_keep(self, folder: str, name: str) -> bool:
        """Whether the lake can have a file or folder of this name; if not, it is missed."""
        text = name.encode(errors="backslashreplace")
        if len(text) <= NAME_BYTES_MAX and text.decode() == name and "\0" not in name:
            return True
        what = f"{self._source}/{folder}/{text.decode()}"
        self._miss(LocalError(DISTURBED, f"{what} cannot be copied: no disk has such a name"))
        return False

    def _miss(self, error: LocalError) -> None:
        """Note why one file is missed. Raises the error where it is the connection that is lost."""
        if error.name != DISTURBED and _is_of_connection(error.__cause__):
            raise error
        if len(self.missed) < MISSED_NAMED:
            self.missed.append(LocalError(DISTURBED, str(error)))
        else:
            self._more += 1

    def _withdrawn(self, folder: str, gone: Collection[str]) -> list[str]:
        """The copies whose originals are gone and of which no row counts."""
        if not gone:
            return []
        try:
            known = manifest.load_or_renew(Shelf(self._lake, folder.rpartition("/")[2]))
        except LocalError:
            # Whoever takes in this party says so; it keeps no other out here.
            return []
        refused = {one.segment for one in known.quarantined}
        return [name for name in gone if f"{self._place}/{folder}/{name}" in refused]


def _name(entry: dict[str, Any]) -> str:
    return str(entry["name"]).rstrip("/").rpartition("/")[2]
