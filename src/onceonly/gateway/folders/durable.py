"""Files that others watch: written under a hidden name, made durable, and renamed in one step.

Every function blocks on the disk, so a caller with an event loop runs it in a thread. All of them
raise `OSError`.
"""

import os
import stat
from collections.abc import Iterable
from errno import ENOTDIR
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o750
FILE_MODE: Final = 0o640
"""Most rights of what we make: documents are for the group, and for nobody else. A stricter umask
is respected."""

_HIDDEN: Final = ".result.tmp"
"""Short, since the name of a document may be as long as a name can be."""


def sync_folder(folder: Path) -> None:
    """Make the names in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make the folder, unless it exists, with a durable name; its parent must be there."""
    try:
        folder.mkdir(FOLDER_MODE)
    except FileExistsError:
        return
    sync_folder(folder.parent)


def check_folder(folder: Path) -> None:
    """Raise `NotADirectoryError` for a symbolic link in its place: it could lead anywhere."""
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR), str(folder))


def write_new(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a durable file; the caller syncs the folder. An unfinished one is written over."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(path, flags, FILE_MODE)
    try:
        for chunk in chunks:
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        os.close(file)


def replace(path: Path, content: bytes) -> None:
    """Give the file this content in one step, durably: a reader sees the old or the new one."""
    hidden = path.with_name(_HIDDEN)
    write_new(hidden, (content,))
    hidden.rename(path)
    sync_folder(path.parent)


def move(old: Path, new: Path) -> None:
    """Rename a file or folder within one file system, durably in both places."""
    old.rename(new)
    sync_folder(new.parent)
    sync_folder(old.parent)
