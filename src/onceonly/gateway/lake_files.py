"""Folders and files of a lake on this machine: read by one group, and by nobody else.

Spark often runs under another account than the gateway. A journal is confidential between two
parties, so neither the umask nor the defaults of a library may decide who reads it. Knows
permissions; must not know segments. Other storages have their own permissions.
"""

import grp
import os
from pathlib import Path
from typing import BinaryIO, Final

from onceonly.message.word import Word

FOLDER_MODE: Final = 0o750
FILE_MODE: Final = 0o640


class Reader(Word):
    """The group that may read, besides us; None: the group of the process, or of the folder."""

    group_id: int | None = None


def reader_of(group: str | None) -> Reader:
    """The group of this name. Raises `OSError` if there is none, or if we are not in it."""
    if group is None:
        return Reader()
    try:
        group_id = grp.getgrnam(group).gr_gid
    except KeyError as error:
        raise OSError(f"lake_group: there is no group {group!r} on this machine") from error
    if os.geteuid() != 0 and group_id not in (os.getegid(), *os.getgroups()):
        raise OSError(f"lake_group: this account is not in the group {group!r}")
    return Reader(group_id)


def make_folders(folder: Path, reader: Reader) -> None:
    """Make the folder and the missing ones above it; existing folders stay as they are."""
    for one in (*reversed(folder.parents), folder):
        try:
            # Closed until its group is set, so that others can never read it in between.
            one.mkdir(mode=0o700)
        except FileExistsError:
            continue
        if reader.group_id is not None:
            os.chown(one, -1, reader.group_id)
        one.chmod(FOLDER_MODE)
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is no folder")


def create(path: Path, reader: Reader) -> BinaryIO:
    """A new file to write; raises `FileExistsError` if it is there already."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    file = os.fdopen(descriptor, "wb")
    try:
        if reader.group_id is not None:
            os.fchown(descriptor, -1, reader.group_id)
        os.fchmod(descriptor, FILE_MODE)
    except OSError:
        file.close()
        raise
    return file
