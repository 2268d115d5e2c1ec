"""A simulated disk as the store asks for one: `store.files.FileSystem` over `Disk`.

Knows which calls of the store become which operations of the disk, for one life of the process;
must not know payloads, rows or chance. The store's code is the product's, to the last line.
"""

# ruff: noqa: D102 - because the methods are documented where they are promised, in store/files.py

import errno
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from onceonly.simulation.machine.disk import Disk, FileHandle
from onceonly.simulation.machine.vfs import DiskVfs
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.files import CHUNK_BYTES, FileStatus

_VFS_NUMBERS = count(1)


class DiskFiles:
    """What one process has of the disk, from its start to `close`.

    After `Disk.kill` or `Disk.cut` its every call raises `OSError`; the next process makes its
    own. `close` comes after the last connection was closed.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._life = disk.life
        self._open: dict[int, FileHandle] = {}
        self._numbers = count(1)
        self._vfs: DiskVfs | None = None

    @property
    def vfs(self) -> str:
        if self._vfs is None:
            name = f"onceonly-disk-{next(_VFS_NUMBERS)}"
            self._vfs = DiskVfs(self._disk, name, life=self._life)
        return self._vfs.name

    def close_vfs(self) -> None:
        """Let SQLite forget the disk; every connection must be closed before."""
        if self._vfs is not None:
            self._vfs.close()
            self._vfs = None

    def lock(self, path: Path) -> "DiskLock":
        if str(path) in self._disk.locked:
            raise StoreRefused(f"the store is in use by another process, which holds {path}")
        return DiskLock(self._disk, str(path), self._life)

    def sync_entry(self, path: Path) -> None:
        self._disk.sync_directory(str(path.parent), life=self._life)

    def make_directory(self, path: Path) -> bool:
        return self._disk.make_directory(str(path), life=self._life)

    def make_private(self, path: Path) -> None:
        """There is one user, and SQLite makes the file."""

    def create_temporary(self, directory: Path, prefix: str) -> tuple[int, Path]:
        number = next(self._numbers)
        path = directory / f"{prefix}{self._life}-{number}"
        self._open[number] = self._disk.open(str(path), life=self._life, is_new=True)
        return number, path

    def write(self, file: int, chunk: bytes | memoryview) -> int:
        opened = self._open[file]
        opened.write(opened.size_bytes(), bytes(chunk))
        return len(chunk)

    def sync(self, file: int) -> None:
        self._open[file].sync()

    def close(self, file: int) -> None:
        del self._open[file]

    def write_again(self, path: Path) -> None:
        file = self._disk.find(str(path))
        if file is None:
            return
        opened = self._disk.open(str(path), life=self._life)
        for start in range(0, len(file.content), CHUNK_BYTES):
            opened.write(start, opened.read(start, CHUNK_BYTES))
        opened.sync()

    def rename(self, old: Path, new: Path) -> None:
        self._disk.rename(str(old), str(new), life=self._life)

    def remove(self, path: Path, *, missing_ok: bool = False) -> None:
        if missing_ok and self._disk.find(str(path)) is None:
            return
        self._disk.remove(str(path), life=self._life)

    def list_names(self, directory: Path) -> Iterator[str]:
        return self._disk.list_names(str(directory))

    def find_status(self, path: Path) -> FileStatus | None:
        file = self._disk.find(str(path))
        return None if file is None else FileStatus(file.number, file.written_ns)

    def read(self, path: Path) -> Iterator[bytes]:
        file = self._disk.find(str(path))
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        for start in range(0, len(file.content), CHUNK_BYTES):
            yield bytes(file.content[start : start + CHUNK_BYTES])


class DiskLock:
    """A lock file that is held; it goes with its process."""

    def __init__(self, disk: Disk, path: str, life: int) -> None:
        self._disk = disk
        self._path = path
        self._life = life
        disk.locked.add(path)

    def release(self) -> None:
        """Let the next process in."""
        if self._life == self._disk.life:
            self._disk.locked.discard(self._path)
