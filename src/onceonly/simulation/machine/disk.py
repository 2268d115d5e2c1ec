"""A disk of bytes that forgets what nobody synced: faults D2 to D5, D7 and D8 in memory.

Knows files, names and which of them are durable; must not know SQLite, payloads, clocks or the
source of its chance. There are two views: what a living process sees (the page cache), and what is
on the disk. Until a file is synced, a power cut keeps, drops or tears each of its writes
independently, sector by sector, so a later write may survive although an earlier one is lost. A
name that was made, moved or removed is durable when its *directory* was synced, and not before
(D7): some file systems promise more, but we do not rely on it.

What it does not do: mix up the bytes of a sector (drives write 512 bytes or none), or change bytes
next to the written ones (`POWERSAFE_OVERWRITE`, which SQLite's own VFS assumes for every disk).
"""

import errno
import os
from collections.abc import Callable, Iterator
from enum import StrEnum
from posixpath import dirname
from random import Random

from onceonly.message.word import Word

SECTOR_BYTES = 512
"""What a drive writes whole or not at all."""

_REORDERED = 0.4
"""Of the cuts, those after which every write has a fate of its own; a quarter of the rest lose
all that was not synced, one half keep it up to some point (D2), a quarter keep all of it."""


class OperationKind(StrEnum):
    """What is done to the disk."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    RENAME = "rename"
    REMOVE = "remove"
    MAKE_DIRECTORY = "make directory"
    SYNC_DIRECTORY = "sync directory"


class DiskOperation(Word):
    """One operation that is about to happen; a reading is none."""

    kind: OperationKind
    path: str
    """Of the file, or of the directory that is synced."""
    offset: int = 0
    size_bytes: int = 0


class PowerLostError(OSError):
    """Whoever asks has died: the disk belongs to the next life."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the power is off")


class UnsyncedWrite(Word):
    """An unsynced write, or with `chunk` None a cut of the file at `offset`."""

    offset: int
    chunk: bytes | None


class SimulatedFile:
    """The bytes of one file, by whatever name.

    Both contents are shared with those who gave or got them until they change: otherwise a hundred
    thousand cuts would copy contents that nobody changes.
    """

    __slots__ = (
        "_durable",
        "_owns_content",
        "_owns_durable",
        "changes",
        "content",
        "number",
        "path",
        "written_ns",
    )

    def __init__(self, path: str, number: int, content: "bytes | bytearray" = b"") -> None:
        self.path = path
        self.number = number
        self.written_ns = number
        self.content = content
        """What a process reads."""
        self.changes: list[UnsyncedWrite] = []
        """Not synced yet, in their order."""
        self._durable = content
        self._owns_content = self._owns_durable = False

    def change(self, change: UnsyncedWrite) -> None:
        """Write or cut, for now."""
        if not self._owns_content:
            self.content = bytearray(self.content)
            self._owns_content = True
        self.changes.append(change)
        assert isinstance(self.content, bytearray), "it is our own"
        _change(self.content, change)

    def settle(self, changes: list[UnsyncedWrite]) -> None:
        """Make the changes durable."""
        if not self._owns_durable and changes:
            self._durable = bytearray(self._durable)
            self._owns_durable = True
        for change in changes:
            assert isinstance(self._durable, bytearray), "it is our own"
            _change(self._durable, change)

    def durable(self) -> "bytes | bytearray":
        """What is durable, for reading."""
        self._owns_durable = False
        return self._durable

    def flip(self, where: int, mask: int) -> None:
        """Turn bits of one byte over, on the platter and in the cache."""
        content, durable = bytearray(self.content), bytearray(self._durable)
        content[where] ^= mask
        durable[where : where + 1] = content[where : where + 1]
        self.content, self._durable = content, durable
        self._owns_content = self._owns_durable = True


Image = dict[str, bytes | bytearray | None]
"""What a disk holds when nothing is under way: bytes by path, None for a directory."""

_Entry = SimulatedFile | None
"""What has a name: a file, or (None) a directory that was made here."""


class Disk:
    """Files and names. One thread at a time.

    `watcher` is told of every operation before it happens, and may raise an `OSError`, which is
    then the result of the operation. `space_bytes` is the free space (D4). `lies` is asked for
    every sync, with its kind and path, whether the sync only pretends to be done: a lying disk (D8,
    where the promise ends), or code that forgot the sync.
    """

    def __init__(self, image: Image | None = None) -> None:
        self.watcher: Callable[[DiskOperation], None] | None = None
        self.space_bytes: int | None = None
        self.lies: Callable[[OperationKind, str], bool] | None = None
        self.life = 0
        """Number of the process that has the disk; calls of a dead one raise `PowerLostError`."""
        self._load(image or {})

    def _load(self, image: Image) -> None:
        self._number = 0
        self._entries: dict[str, _Entry] = {}
        for path, content in image.items():
            self._number += 1
            self._entries[path] = (
                None if content is None else SimulatedFile(path, self._number, content)
            )
        self._durable_entries = dict(self._entries)
        self._moves: dict[str, list[dict[str, _Entry | Gone]]] = {}
        self.locked: set[str] = set()

    # What a process does.

    def open(self, path: str, *, life: int, is_new: bool = False) -> "FileHandle":
        """The file at `path`, created where it `is_new`.

        Raises `FileNotFoundError`, or `FileExistsError` for a name that is taken.
        """
        self._check(life)
        found = self._entries.get(path)
        if is_new:
            if path in self._entries:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            self._announce(OperationKind.CREATE, path)
            found = SimulatedFile(path, self._next_number())
            self._move({path: found})
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return FileHandle(self, found, life)

    def find(self, path: str) -> SimulatedFile | None:
        """The file that has the name, if one has."""
        return self._entries.get(path)

    def list_names(self, directory: str) -> Iterator[str]:
        """Names in `directory`, in the order in which they were made."""
        start = directory.rstrip("/") + "/"
        for path in list(self._entries):
            if path.startswith(start) and "/" not in path[len(start) :]:
                yield path[len(start) :]

    def make_directory(self, path: str, *, life: int) -> bool:
        """Make the directory; False where it is there already.

        A directory that was not made here existed before, and is never lost.
        """
        self._check(life)
        if path in self._entries or path == "/":
            return False
        self._announce(OperationKind.MAKE_DIRECTORY, path)
        self._move({path: None})
        return True

    def rename(self, old: str, new: str, *, life: int) -> None:
        """Give a file another name in the same directory, in place of whatever had it."""
        self._check(life)
        assert dirname(old) == dirname(new), "a rename into another directory is another thing"
        file = self._existing(old)
        self._announce(OperationKind.RENAME, new)
        file.path = new
        self._move({old: GONE, new: file})

    def remove(self, path: str, *, life: int) -> None:
        """Take the name away. Raises `FileNotFoundError`."""
        self._check(life)
        self._existing(path)
        self._announce(OperationKind.REMOVE, path)
        self._move({path: GONE})

    def sync_directory(self, directory: str, *, life: int) -> None:
        """Make durable which names `directory` has (D7)."""
        self._check(life)
        self._announce(OperationKind.SYNC_DIRECTORY, directory)
        if not self._is_a_lie(OperationKind.SYNC_DIRECTORY, directory):
            for move in self._moves.pop(directory, ()):
                _apply(move, self._durable_entries)

    # What happens to it.

    def kill(self) -> None:
        """The process dies; what it wrote stays in the cache of the living machine (D1)."""
        self.life += 1
        self.locked.clear()

    def cut(self, chance: Random) -> None:
        """The power goes, and comes back (D2)."""
        self._load(self.after_cut(chance))
        self.kill()

    def after_cut(self, chance: Random) -> Image:
        """What would be there if the power went now; nothing here changes."""
        mood = _Mood(chance)
        entries = dict(self._durable_entries)
        for moves in self._moves.values():
            for move in moves:
                if mood.keeps():
                    _apply(move, entries)
        return {
            path: None if entry is None else mood.survivors(entry)
            for path, entry in entries.items()
            if _is_reachable(path, self._entries, entries)
        }

    def used_bytes(self) -> int:
        """How long all files are together."""
        return sum(len(entry.content) for entry in self._entries.values() if entry is not None)

    def has_unsynced(self) -> bool:
        """Whether a cut could take anything."""
        return any(self._moves.values()) or any(
            entry is not None and entry.changes for entry in self._entries.values()
        )

    def image(self) -> Image:
        """What a process would read now."""
        return {
            path: None if entry is None else bytes(entry.content)
            for path, entry in self._entries.items()
        }

    def flip_bit(self, path: str, chance: Random) -> int:
        """Turn one bit of the file over, where it rests (D5); which byte it was in."""
        file = self._existing(path)
        where = chance.randrange(len(file.content))
        file.flip(where, 1 << chance.randrange(8))
        return where

    # What `FileHandle` asks for.

    def write(self, file: SimulatedFile, offset: int, chunk: bytes) -> None:
        """Put `chunk` at `offset`, past a hole of zeros if need be. Raises `OSError` ENOSPC."""
        end = offset + len(chunk)
        self._announce(OperationKind.WRITE, file.path, offset, len(chunk))
        if self.space_bytes is not None and end > len(file.content):
            self._find_space(end - len(file.content))
        self._number += 1
        file.written_ns = self._number
        file.change(UnsyncedWrite(offset, chunk))

    def truncate(self, file: SimulatedFile, size_bytes: int) -> None:
        """Cut the file at `size_bytes`."""
        self._announce(OperationKind.TRUNCATE, file.path, size_bytes)
        file.change(UnsyncedWrite(size_bytes, None))

    def sync(self, file: SimulatedFile) -> None:
        """Make the bytes durable, the name not.

        After an error the writes are neither durable nor tried again, whatever a second sync
        says: what Linux does, and why an fsync is never repeated (R-22).
        """
        changes, file.changes = file.changes, []
        try:
            self._announce(OperationKind.SYNC, file.path, len(file.content))
        except PowerLostError:
            file.changes = changes
            raise
        if self._is_a_lie(OperationKind.SYNC, file.path):
            file.changes = changes
        else:
            file.settle(changes)

    def _is_a_lie(self, kind: OperationKind, path: str) -> bool:
        return self.lies is not None and self.lies(kind, path)

    def _find_space(self, needed: int) -> None:
        assert self.space_bytes is not None
        if self.used_bytes() + needed > self.space_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _existing(self, path: str) -> SimulatedFile:
        file = self._entries.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return file

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _move(self, move: "dict[str, _Entry | Gone]") -> None:
        directory = dirname(next(iter(move)))
        self._moves.setdefault(directory, []).append(move)
        _apply(move, self._entries)

    def _announce(
        self, kind: OperationKind, path: str, offset: int = 0, size_bytes: int = 0
    ) -> None:
        if self.watcher is not None:
            self.watcher(DiskOperation(kind, path, offset, size_bytes))

    def _check(self, life: int) -> None:
        if life != self.life:
            raise PowerLostError


class FileHandle:
    """A file that one life of the process has open; writes raise `PowerLostError` after its end."""

    __slots__ = ("_disk", "_life", "file")

    def __init__(self, disk: Disk, file: SimulatedFile, life: int) -> None:
        self._disk = disk
        self._life = life
        self.file = file

    def read(self, offset: int, size_bytes: int) -> bytes:
        """At most `size_bytes` from `offset`; fewer at the end."""
        return bytes(self.file.content[offset : offset + size_bytes])

    def write(self, offset: int, chunk: bytes) -> None:
        """Put `chunk` at `offset`."""
        if self._life != self._disk.life:
            raise PowerLostError
        self._disk.write(self.file, offset, chunk)

    def truncate(self, size_bytes: int) -> None:
        """Cut the file at `size_bytes`."""
        if self._life != self._disk.life:
            raise PowerLostError
        self._disk.truncate(self.file, size_bytes)

    def sync(self) -> None:
        """Make the bytes durable."""
        if self._life != self._disk.life:
            raise PowerLostError
        self._disk.sync(self.file)

    def size_bytes(self) -> int:
        """How long the file is."""
        return len(self.file.content)


class Gone:
    """No file has the name any more."""


GONE = Gone()


class _Mood:
    """How one cut treats what was not synced."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._is_scattered = chance.random() < _REORDERED
        luck = chance.random()
        self._share_kept = 0.0 if luck < 0.25 else 1.0 if luck > 0.75 else chance.random()

    def keeps(self) -> bool:
        """Whether a name that was made, moved or removed stays so."""
        return self._chance.random() < self._share_kept

    def survivors(self, file: SimulatedFile) -> bytes | bytearray:
        """What is left of the file."""
        if not file.changes:
            return file.durable()
        content = bytearray(file.durable())
        if self._is_scattered:
            for change in file.changes:
                self._change_perhaps(content, change)
        else:
            # In order up to some point, and the write at this point is torn.
            kept = round(self._share_kept * len(file.changes))
            for change in file.changes[:kept]:
                _change(content, change)
            if 0 < kept < len(file.changes):
                self._tear(content, file.changes[kept])
        return content

    def _change_perhaps(self, content: bytearray, change: UnsyncedWrite) -> None:
        fate = self._chance.random()
        if fate < 0.4:
            _change(content, change)
        elif fate < 0.6:
            self._tear(content, change)

    def _tear(self, content: bytearray, change: UnsyncedWrite) -> None:
        offset, chunk = change.offset, change.chunk
        if chunk is None:
            return
        end = offset + len(chunk)
        if self._chance.random() < 0.5 and len(content) < end:
            # The new length is on the disk before the bytes are.
            content.extend(bytes(end - len(content)))
        start = offset
        while start < end:
            stop = min(end, start - start % SECTOR_BYTES + SECTOR_BYTES)
            if self._chance.random() < 0.5:
                _change(content, UnsyncedWrite(start, chunk[start - offset : stop - offset]))
            start = stop


def _change(content: bytearray, change: UnsyncedWrite) -> None:
    offset, chunk = change.offset, change.chunk
    if chunk is None:
        del content[offset:]
        return
    if offset > len(content):
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(chunk)] = chunk


def _apply(move: dict[str, _Entry | Gone], entries: dict[str, _Entry]) -> None:
    for path, entry in move.items():
        if isinstance(entry, Gone):
            entries.pop(path, None)
        else:
            entries[path] = entry


def _is_reachable(path: str, made: dict[str, _Entry], entries: dict[str, _Entry]) -> bool:
    # With a directory goes what is in it.
    directory = dirname(path)
    return directory not in made or directory in entries
