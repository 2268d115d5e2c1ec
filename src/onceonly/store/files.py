"""The few operations of a file system that `spool` and `sqlite` need.

Knows the calls of the operating system and in which of them a name or a byte becomes durable;
must not know payloads, rows or why. It is one value, so that a simulated disk can stand in for
the real one. Every call may raise `OSError`; `failures` turns it into an error of the contract.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp
from typing import Protocol

from onceonly.message.word import Word
from onceonly.store.lock import StoreLock

CHUNK_BYTES = 256 * 1024
"""Bytes per read: what one payload in transit costs in memory."""


class FileStatus(Word):
    """Identifies the file that has a name now."""

    number: int
    """Inode of the file, which the file system may use again for another one."""
    written_ns: int
    """When the file was written; together with `number` this identifies it."""


class Lock(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Free the lock."""
        ...


class FileSystem(Protocol):
    """What the store asks of a disk. A file is open under a number, its descriptor."""

    @property
    def vfs(self) -> str | None:
        """Name of the SQLite VFS that reads and writes there; None is SQLite's own choice."""
        ...

    def lock(self, path: Path) -> Lock:
        """Take the lock file at `path`. Raises `StoreRefused` if another process has it."""
        ...

    def sync_entry(self, path: Path) -> None:
        """Make the name of `path` durable: without its name the bytes are lost (fault D7)."""
        ...

    def make_directory(self, path: Path) -> bool:
        """Make the directory, readable by us only; False if it exists already."""
        ...

    def make_private(self, path: Path) -> None:
        """Make an empty file, readable by us only; does nothing if it exists already.

        SQLite creates its database with the mode that the umask gives, and the files beside it with
        the mode of the database; it takes an empty file for a new database. A disk with one user
        need not do anything here.
        """
        ...

    def create_temporary(self, directory: Path, prefix: str) -> tuple[int, Path]:
        """A new open file in `directory` with a name that nobody else has."""
        ...

    def write(self, file: int, chunk: bytes | memoryview) -> int:
        """Append to the file. Returns how many bytes were taken."""
        ...

    def sync(self, file: int) -> None:
        """Make the bytes of the file durable (fsync)."""
        ...

    def close(self, file: int) -> None:
        """Close the descriptor."""
        ...

    def write_again(self, path: Path) -> None:
        """Write every byte of the file to its place again and sync it; does nothing without a file.

        After a failed sync the page cache may show bytes that no later sync will write.
        """
        ...

    def rename(self, old: Path, new: Path) -> None:
        """Give the file its new name in one step; it replaces a file that had that name."""
        ...

    def remove(self, path: Path, *, missing_ok: bool = False) -> None:
        """Take the name away."""
        ...

    def list_names(self, directory: Path) -> Iterator[str]:
        """Names in the directory, one by one; files may be added and removed meanwhile."""
        ...

    def find_status(self, path: Path) -> FileStatus | None:
        """The file with this name, or None."""
        ...

    def read(self, path: Path) -> Iterator[bytes]:
        """The bytes of the file in chunks of at most `CHUNK_BYTES`."""
        ...


class OperatingSystem:
    """The file system of the machine."""

    # ruff: noqa: D102 - because the methods are documented where they are promised, in FileSystem

    vfs: str | None = None

    def lock(self, path: Path) -> Lock:
        return StoreLock(path)

    def sync_entry(self, path: Path) -> None:
        descriptor = os.open(path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def make_directory(self, path: Path) -> bool:
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            return False
        return True

    def make_private(self, path: Path) -> None:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def create_temporary(self, directory: Path, prefix: str) -> tuple[int, Path]:
        file, name = mkstemp(prefix=prefix, dir=directory)
        return file, Path(name)

    def write(self, file: int, chunk: bytes | memoryview) -> int:
        return os.write(file, chunk)

    def sync(self, file: int) -> None:
        os.fsync(file)

    def close(self, file: int) -> None:
        os.close(file)

    def write_again(self, path: Path) -> None:
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return
        try:
            offset = 0
            while chunk := os.pread(file, CHUNK_BYTES, offset):
                offset += os.pwrite(file, chunk, offset)
            os.fsync(file)
        finally:
            os.close(file)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def remove(self, path: Path, *, missing_ok: bool = False) -> None:
        path.unlink(missing_ok=missing_ok)

    def list_names(self, directory: Path) -> Iterator[str]:
        with os.scandir(directory) as entries:
            for entry in entries:
                yield entry.name

    def find_status(self, path: Path) -> FileStatus | None:
        try:
            status = path.stat()
        except FileNotFoundError:
            return None
        return FileStatus(status.st_ino, status.st_mtime_ns)

    def read(self, path: Path) -> Iterator[bytes]:
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


OPERATING_SYSTEM = OperatingSystem()


def make_parents(path: Path, *, files: FileSystem = OPERATING_SYSTEM) -> None:
    """Make the directories above `path` that are missing, each with a durable name (fault D7).

    A store is lost if a power cut takes its directory away, however well its files were synced.
    Only we can read the directories, like the files that will be in them.
    """
    for directory in reversed(path.parents):
        if files.make_directory(directory):
            files.sync_entry(directory)
