"""Names of files: which are whole documents, and how a name is written elsewhere.

Pure: knows no disk.
"""

import re
from collections.abc import Collection, Iterator
from mimetypes import types_map
from typing import Final

from onceonly.gateway.config import Ready

MARKER: Final = ".done"
"""`x.xml.done` says that `x.xml` is whole."""

HEADER: Final = ".header.json"
"""`x.xml.header.json` is the header of `x.xml`."""

RESULT: Final = ".result.json"
"""`x.xml.result.json` says what became of `x.xml`."""

SENDING: Final = "sending"
SENT: Final = "sent"
FAILED: Final = "failed"

_OURS: Final = frozenset({SENDING, SENT, FAILED})
_UNFINISHED: Final = (".tmp", ".part", ".filepart", ".crdownload", ".swp", "~")
_TYPES: Final = {
    ending: types_map[ending] for ending in (".json", ".txt", ".csv", ".pdf") if ending in types_map
} | {".xml": "application/xml"}

NAME_BYTES_MAX: Final = 255
"""Longest name of a file on every usual file system."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SAFE_LENGTH_MAX: Final = 100


def is_temporary(name: str) -> bool:
    """Whether such a name means that the file is still being written."""
    return name.startswith(".") or name.lower().endswith(_UNFINISHED)


def documents(names: Collection[str], ready: Ready) -> Iterator[str]:
    """The names of documents among all names of a folder, in order.

    With markers only those that have one. A header or marker is no document, nor is a name that
    means that the file is still being written.
    """
    for name in sorted(names):
        if name in _OURS or is_temporary(name) or name.endswith((MARKER, HEADER)):
            continue
        if ready is not Ready.MARKER or name + MARKER in names:
            yield name


def result_name(name: str) -> str:
    """The name of the result file beside the document."""
    length = len((name + RESULT).encode("utf-8", "surrogateescape"))
    return name + RESULT if length <= NAME_BYTES_MAX else RESULT[1:]


def written(name: str) -> str:
    """The name as text that everybody can read: bytes that are no UTF-8 are escaped."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def payload_name(name: str) -> str:
    """The name of a payload: what a header cannot hold is replaced by `_`."""
    text = "".join(sign if sign.isprintable() else "_" for sign in written(name))
    return text.strip()[:NAME_BYTES_MAX]


def content_type(name: str) -> str:
    """The Content-Type that the ending of the name stands for."""
    _, dot, ending = name.rpartition(".")
    return _TYPES.get(f"{dot}{ending}".lower(), "application/octet-stream")


def safe_name(name: str, number: int) -> str:
    """A name for payload `number` that a partner cannot choose: in no other folder, and unique."""
    shown = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])[-_SAFE_LENGTH_MAX:]
    return f"{number}-{shown.lstrip('.') or 'payload'}"
