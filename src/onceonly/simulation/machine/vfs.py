"""Real SQLite on a simulated disk: an APSW VFS over `Disk`.

Knows what SQLite asks of a file system, and answers as its own VFS for Unix does where a power
cut could tell the difference: the first sync of a new log or journal also syncs its directory,
a deletion syncs it where SQLite asks for that, sectors are 4096 bytes and written safely beside
others. Must not know what is in the files.

What APSW cannot give from Python is the shared memory of a write-ahead log. So a main database
has, beside its simulated bytes, an empty file of the real system under SQLite's VFS `unix-excl`,
which keeps locks and the index of the log in the memory of this process and nowhere else. All
connections see one another as they do in production, with production's pragmas; what differs is
that a second *process* would not, and there is none. The index holds nothing durable: a power
cut takes it in both worlds, and it is built again from the log.
"""

# ruff: noqa: ARG002, D102, N802 - because SQLite calls these methods, and gives them their names

import errno
import os
from functools import cache
from posixpath import dirname
from tempfile import TemporaryDirectory
from typing import Any

import apsw

from onceonly.simulation.machine.disk import Disk, FileHandle, SimulatedFile

UNIX_SECTOR_BYTES = 4_096
UNIX_CHARACTERISTICS = apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE | apsw.SQLITE_IOCAP_SUBPAGE_READ
"""Both as SQLite's own VFS reports them on Linux (compared by a test)."""

_SYNCED_WITH_DIRECTORY = (
    apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
)
_NOW_MS = 212_500_000_000_000
"""An instant of the Julian calendar in milliseconds; nothing of ours asks SQLite for the time."""


class DiskVfs(apsw.VFS):
    """The VFS of one life on a disk, registered under `name` until `close`."""

    def __init__(self, disk: Disk, name: str, *, life: int) -> None:
        self.name = name
        self._disk = disk
        self._life = life
        self._lock_files: dict[str, str] = {}
        self._open = 0
        super().__init__(name, "unix-excl")

    def close(self) -> None:
        """Unregister; every connection must be closed before."""
        assert self._open == 0, "a database is still open"
        self.unregister()
        _lock_files(os.getpid()).free.extend(self._lock_files.values())

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> Any:
        wanted = flags[0]
        flags[1] = wanted
        if name is None:
            return _OtherBytes(FileHandle(Disk(), SimulatedFile("", 0), 0))
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        try:
            file = self._opened(path, wanted)
        except OSError as error:
            raise _as_sqlite(error, apsw.SQLITE_CANTOPEN) from error
        if wanted & apsw.SQLITE_OPEN_MAIN_DB:
            self._open += 1
            return _MainBytes(file, self, self._lock_file(path), wanted)
        is_new = bool(wanted & _SYNCED_WITH_DIRECTORY) and bool(wanted & apsw.SQLITE_OPEN_CREATE)
        return _OtherBytes(file, self._disk, self._life if is_new else None)

    def _opened(self, path: str, wanted: int) -> FileHandle:
        is_new = bool(wanted & apsw.SQLITE_OPEN_CREATE) and self._disk.find(path) is None
        return self._disk.open(path, life=self._life, is_new=is_new)

    def closed(self) -> None:
        """A main database was closed."""
        self._open -= 1

    def _lock_file(self, path: str) -> str:
        if path not in self._lock_files:
            self._lock_files[path] = _lock_files(os.getpid()).take()
        return self._lock_files[path]

    def xAccess(self, pathname: str, flags: int) -> bool:
        # As on Unix, a file without a byte does not exist.
        file = self._disk.find(pathname)
        return file is not None and (flags != apsw.SQLITE_ACCESS_EXISTS or bool(file.content))

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001 - because SQLite calls
        try:
            self._disk.remove(filename, life=self._life)
            if syncdir:
                self._disk.sync_directory(dirname(filename), life=self._life)
        except FileNotFoundError as error:
            raise _extended(apsw.SQLITE_IOERR_DELETE_NOENT) from error
        except OSError as error:
            raise _as_sqlite(error, apsw.SQLITE_IOERR_DELETE) from error

    def xFullPathname(self, name: str) -> str:
        return name

    def xSleep(self, microseconds: int) -> int:
        return microseconds

    def xCurrentTimeInt64(self) -> int:
        return _NOW_MS


class _Bytes:
    """The simulated bytes of a file that SQLite has open."""

    _file: FileHandle
    _bytes: SimulatedFile

    def xRead(self, amount: int, offset: int) -> bytes:
        return bytes(self._bytes.content[offset : offset + amount])

    def xWrite(self, data: Any, offset: int) -> None:
        try:
            self._file.write(offset, bytes(data))
        except OSError as error:
            raise _as_sqlite(error, apsw.SQLITE_IOERR_WRITE) from error

    def xTruncate(self, newsize: int) -> None:
        try:
            self._file.truncate(newsize)
        except OSError as error:
            raise _as_sqlite(error, apsw.SQLITE_IOERR_TRUNCATE) from error

    def xSync(self, flags: int) -> None:
        try:
            self._file.sync()
        except OSError as error:
            raise _as_sqlite(error, apsw.SQLITE_IOERR_FSYNC) from error

    def xFileSize(self) -> int:
        return len(self._bytes.content)

    def xSectorSize(self) -> int:
        return UNIX_SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:
        return UNIX_CHARACTERISTICS


class _MainBytes(_Bytes, apsw.VFSFile):
    """A main database, with the locks and the shared memory of `lock_file`."""

    def __init__(self, file: FileHandle, vfs: DiskVfs, lock_file: str, wanted: int) -> None:
        self._file = file
        self._vfs = vfs
        self._bytes = file.file
        super().__init__("unix-excl", lock_file, [wanted, 0])

    def xClose(self) -> None:
        super().xClose()
        self._vfs.closed()


class _OtherBytes(_Bytes):
    """A log, a journal or a temporary file, which nobody locks."""

    def __init__(
        self, file: FileHandle, disk: Disk | None = None, directory_life: int | None = None
    ) -> None:
        self._file = file
        self._bytes = file.file
        self._disk = disk
        self._directory_life = directory_life
        """Until the first sync, which has to sync the directory as well."""

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        if self._disk is None or self._directory_life is None:
            return
        try:
            self._disk.sync_directory(dirname(self._file.file.path), life=self._directory_life)
        except OSError as error:
            raise _as_sqlite(error, apsw.SQLITE_IOERR_DIR_FSYNC) from error
        self._directory_life = None

    def xFileControl(self, op: int, pointer: int) -> bool:
        return False

    def xLock(self, level: int) -> None:
        """Nothing to do."""

    def xUnlock(self, level: int) -> None:
        """Nothing to do."""

    def xCheckReservedLock(self) -> bool:
        return False

    def xClose(self) -> None:
        """The bytes stay with the disk."""


def _extended(code: int) -> apsw.Error:
    error = apsw.exception_for(code)
    assert isinstance(error, apsw.Error)
    return error


def _as_sqlite(error: OSError, code: int) -> apsw.Error:
    return _extended(apsw.SQLITE_FULL if error.errno == errno.ENOSPC else code)


class _LockFiles:
    """Empty files that nobody else has open, used again and again."""

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="onceonly-simulation-")
        self._made = 0
        self.free: list[str] = []

    def take(self) -> str:
        if self.free:
            return self.free.pop()
        self._made += 1
        return os.path.join(self._directory.name, str(self._made))  # noqa: PTH118 - because hot


@cache
def _lock_files(process_id: int) -> _LockFiles:  # noqa: ARG001 - because it is the cache's key
    # By process, since one that forks would otherwise share its files with its child.
    return _LockFiles()
