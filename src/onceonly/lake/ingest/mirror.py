"""Segments from where Spark cannot read into the lake, unchanged, through fsspec.

For a source at a URL whose scheme Spark's Hadoop does not know (`sftp://…`, `memory://…`, and
whatever else fsspec has a driver for). The source is only ever read. A copy appears by rename; what
was copied is known by size and by what the source says of its age, so that a segment that changed
is fetched again.
"""

import json
from hashlib import sha256
from typing import Any, Final

import fsspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from onceonly.journal.segment import JOURNAL_FOLDER
from onceonly.lake import storage
from onceonly.message.errors import LocalError

FOLDER: Final = "mirrored"
_LEDGER: Final = "mirror.json"
_AGES: Final = ("mtime", "LastModified", "last_modified", "updated", "modified", "created", "ETag")
"""What drivers of fsspec call the age or the version of a file."""


def is_needed(spark: SparkSession, source: str) -> bool:
    """Whether Spark has no file system for the URL."""
    if "://" not in source:
        return False
    context: Any = spark.sparkContext
    hadoop = context._jvm.org.apache.hadoop.fs.FileSystem  # noqa: SLF001 - because Spark has no public way to ask
    try:
        hadoop.getFileSystemClass(source.partition("://")[0], context._jsc.hadoopConfiguration())  # noqa: SLF001 - because Spark has no public way to ask
    except Py4JJavaError:
        return True
    return False


def fetch(source: str, lake: str) -> str:
    """Copy what is new or changed; returns the directory in the lake that mirrors the source.

    Raises `LocalError` (NoSource) where the source cannot be opened or is not there.
    """
    try:
        files, root = fsspec.core.url_to_fs(source)
        files.invalidate_cache()
        parties = files.ls(f"{root}/{JOURNAL_FOLDER}", detail=False)
    except (ImportError, ValueError, OSError) as error:
        raise LocalError("NoSource", f"{source} cannot be read: {error}") from error
    mirror = f"{lake}/{FOLDER}/{sha256(source.encode()).hexdigest()[:12]}"
    ledger_file = f"{mirror}/{_LEDGER}"
    copied: dict[str, list[str]] = json.loads(storage.read_bytes(ledger_file) or b"{}")
    before = dict(copied)
    for party in parties:
        for entry in files.ls(party, detail=True):
            _fetch_one(files, entry, mirror, copied)
    if copied != before:
        storage.replace_bytes(ledger_file, json.dumps(copied, indent=1).encode())
    return mirror


def _fetch_one(
    files: Any, entry: dict[str, Any], mirror: str, copied: dict[str, list[str]]
) -> None:
    party, _, name = entry["name"].rstrip("/").rpartition("/")
    folder = party.rpartition("/")[2]
    if entry["type"] != "file" or name.startswith((".", "_")) or not folder.startswith("party="):
        return
    place = f"{JOURNAL_FOLDER}/{folder}/{name}"
    state = [str(entry["size"]), *(str(entry[age]) for age in _AGES if age in entry)]
    if copied.get(place) != state:
        storage.replace_bytes(f"{mirror}/{place}", files.cat_file(entry["name"]))
        copied[place] = state
