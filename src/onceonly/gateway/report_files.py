"""Files below one folder into which other programs write, read so that nothing leads out of it.

Every step goes from an open folder to a name in it, and a link is never followed: neither `..` nor
a link to a secret opens anything but what lies in the folder. Knows names, bounds and descriptors;
must not know what is in a file.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from onceonly.message.word import Word

DEPTH_MAX: Final = 4
"""Most names of a path: a pack has its rows in folders, and may lie in a folder of a month."""
ENTRIES_MAX: Final = 5_000
"""Most names that one look reads, so that it ends in a moment whatever was put there."""

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting, since a pipe would wait for its other end for ever.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FoundFile(Word, kw_only=True):
    """One regular file."""

    names: tuple[str, ...]
    size_bytes: int
    written_ns: int
    """When it was last written, in nanoseconds since 1970."""

    @property
    def path(self) -> str:
        """Its names, with / between them."""
        return "/".join(self.names)


class Look(Word, kw_only=True):
    """The files that were found; `is_cut` where there was more than is looked at."""

    files: tuple[FoundFile, ...]
    is_cut: bool


class _Left:
    """How many names may still be read."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self.is_cut = False

    def take(self) -> bool:
        self.is_cut = self.is_cut or self.entries == 0
        self.entries = max(0, self.entries - 1)
        return not self.is_cut


def look(folder: Path) -> Look:
    """The regular files below it; hidden ones and links are passed over. Raises `OSError`."""
    left = _Left(ENTRIES_MAX)
    # The folder itself may be a link: the configuration names it.
    top = os.open(folder, _FOLDER & ~os.O_NOFOLLOW)
    try:
        files = tuple(_files(top, (), left))
    finally:
        os.close(top)
    return Look(files=files, is_cut=left.is_cut)


def _files(folder: int, above: tuple[str, ...], left: _Left) -> Iterator[FoundFile]:
    for name in sorted(_names(folder, left)):
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue
        names = (*above, name)
        if stat.S_ISREG(found.st_mode):
            yield FoundFile(names=names, size_bytes=found.st_size, written_ns=found.st_mtime_ns)
        elif stat.S_ISDIR(found.st_mode) and len(names) < DEPTH_MAX:
            yield from _files_of(folder, names, left)


def _files_of(folder: int, names: tuple[str, ...], left: _Left) -> Iterator[FoundFile]:
    try:
        inner = os.open(names[-1], _FOLDER, dir_fd=folder)
    except OSError:
        return  # It is gone, or closed to us: the others are shown.
    try:
        yield from _files(inner, names, left)
    finally:
        os.close(inner)


def _names(folder: int, left: _Left) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not left.take():
                return
            if is_name(entry.name):
                yield entry.name


def is_name(name: str) -> bool:
    """Whether a file of this name is shown: it is visible, and no way to somewhere else."""
    return name.isprintable() and bool(name) and name[0] != "." and "/" not in name


@contextmanager
def opened(folder: Path, path: str) -> Iterator[int]:
    """A descriptor of the regular file at a path below the folder.

    Raises `FileNotFoundError` for everything that is no such file, whatever it is.
    """
    names = path.split("/")
    if len(names) > DEPTH_MAX or not all(map(is_name, names)):
        raise FileNotFoundError(path)
    place = _opened(folder, names)
    try:
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise FileNotFoundError(path)
        yield place
    finally:
        os.close(place)


def _opened(folder: Path, names: list[str]) -> int:
    try:
        place = os.open(folder, _FOLDER & ~os.O_NOFOLLOW)
        for n, name in enumerate(names):
            flags = _FILE if n == len(names) - 1 else _FOLDER
            above = place
            try:
                place = os.open(name, flags, dir_fd=above)
            finally:
                os.close(above)
    except OSError as error:
        # A link, a folder in the place of a file, one that is closed to us: for callers the same.
        raise FileNotFoundError("/".join(names)) from error
    return place
