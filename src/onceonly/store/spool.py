"""Payloads too large for a row: content-addressed files, written once.

Knows a directory of files named by the SHA-256 of their bytes; must not know messages. A 100 MiB
payload is never in memory as a whole. A file is *kept* (synced, renamed to its name, the directory
synced) before the commit of the transaction that mentions its digest, so a committed row always
finds its file (faults D1, D4, D7). A file that a crash left incomplete has a temporary name and is
removed at the next start. A kept file that no row mentions is harmless: the same content would
replace it.

A file may be removed once no row mentions it and no transaction is about to. The caller names it by
digest *and* file status; if the same content is kept again, the new file has another status and is
not removed.
"""

import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreExhausted, StoreFailed
from onceonly.store.failures import from_sync, from_system
from onceonly.store.files import OPERATING_SYSTEM, FileStatus, FileSystem

INLINE_BYTES_MAX = 64 * 1024
"""Largest body that lives in a row. Up to here a row is cheaper than a file of its own (40 times
at 4 KB); far above it a file is cheaper (5 times at 10 MB)."""

FILES_OPEN_MAX = 4096
"""Payloads that may be written to the spool at once; the gateway sets fewer if the system lets it
open fewer files."""

_TEMPORARY = "incoming-"
_DIGEST_LENGTH = 64


class KeptFile(Word):
    """A payload's file as it was seen. If the content is kept again, that is another file."""

    digest: str
    status: FileStatus


class _OpenFiles:
    """Counts payloads with an open file: uploads must not use up the descriptors of the store."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._lock = threading.Lock()
        """A file is opened on the event loop, and closed in the thread that keeps it."""

    def take(self) -> None:
        """Call before a file is opened. Raises `StoreExhausted` if too many are open."""
        with self._lock:
            if self._count >= self._most:
                raise StoreExhausted(f"{self._count} payloads are on their way into the spool")
            self._count += 1

    def give_back(self) -> None:
        """Call after the file was closed, or could not be opened."""
        with self._lock:
            self._count -= 1


class Sink:
    """Takes the bytes of one payload as they arrive. Use: `write`…, `close`, `keep` or `discard`.

    Every method may raise `StoreFull` without space, `StoreExhausted` without a descriptor, and
    `StoreFailed` on any other error of the file system. One thread at a time.
    """

    def __init__(
        self,
        directory: Path,
        renaming: threading.Lock,
        files: FileSystem,
        open_files: _OpenFiles,
    ) -> None:
        self._directory = directory
        self._files = files
        self._open_files = open_files
        self._renaming = renaming
        self._digest = sha256()
        self._size_bytes = 0
        self._held: list[bytes] = []
        self._file: int | None = None
        self._temporary: Path | None = None
        self._hexdigest: str | None = None

    def write(self, chunk: bytes) -> None:
        """Add `chunk` to the payload."""
        assert self._hexdigest is None, "written to after close"
        self._digest.update(chunk)
        self._size_bytes += len(chunk)
        if self._temporary is None:
            # A copy, since the wire passes views of its receive buffer, which it uses again.
            self._held.append(bytes(chunk))
            if self._size_bytes > INLINE_BYTES_MAX:
                self._spill()
        else:
            self._write_out(chunk)

    def _spill(self) -> None:
        self._open_files.take()
        try:
            self._file, self._temporary = self._files.create_temporary(self._directory, _TEMPORARY)
        except OSError as error:
            self._open_files.give_back()
            raise from_system(error, "the spool") from error
        held = b"".join(self._held)
        self._held.clear()
        self._write_out(held)

    def _write_out(self, chunk: bytes) -> None:
        assert self._file is not None, "written to after discard"
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[self._files.write(self._file, rest) :]
        except OSError as error:
            self.discard()
            raise from_system(error, "the spool") from error

    def close(self) -> tuple[int, str]:
        """(size in bytes, lower-case hexadecimal SHA-256). A second call returns the same."""
        if self._hexdigest is None:
            self._hexdigest = self._digest.hexdigest()
        return self._size_bytes, self._hexdigest

    def body(self) -> bytes | None:
        """The bytes if they are few enough for a row; None if they are in the spool."""
        if self._size_bytes > INLINE_BYTES_MAX:
            return None
        return b"".join(self._held)

    def keep(self) -> None:
        """Make the file durable under its final name; after `close`, before the commit.

        Blocks on the disk, so a caller with an event loop runs it in a thread. Does nothing for
        inline bytes and when called again.
        """
        _, hexdigest = self.close()
        if self._file is None or self._temporary is None:
            return
        try:
            # Never repeated: after a failed fsync the pages are lost, even if a second one
            # succeeds.
            self._files.sync(self._file)
            with self._renaming:
                self._files.rename(self._temporary, self._directory / hexdigest)
            file, self._file = self._file, None
            self._close(file)
            self._files.sync_entry(self._directory / hexdigest)
        except OSError as error:
            self.discard()
            raise from_sync(error, "the spool") from error
        self._temporary = None

    def discard(self) -> None:
        """Remove the payload, unless it was kept; may be called at any time."""
        self._held.clear()
        file, temporary = self._file, self._temporary
        self._file = self._temporary = None
        try:
            if file is not None:
                self._close(file)
            if temporary is not None:
                self._files.remove(temporary, missing_ok=True)
        except OSError as error:
            raise from_system(error, "the spool") from error

    def _close(self, file: int) -> None:
        try:
            self._files.close(file)
        finally:
            self._open_files.give_back()


class Spool:
    """A directory of large payloads. Opening makes it, and removes what a crash left incomplete.

    Raises `StoreFull` or `StoreFailed` if the directory cannot be made or read.
    """

    def __init__(
        self,
        directory: Path,
        *,
        files: FileSystem = OPERATING_SYSTEM,
        files_open_max: int = FILES_OPEN_MAX,
    ) -> None:
        self._directory = directory
        self._files = files
        self._open_files = _OpenFiles(files_open_max)
        self._renaming = threading.Lock()
        """So that `remove` removes the file that it looked at, not one that replaced it."""
        try:
            files.make_directory(directory)
            # Also if it exists already: the process that made it may have died before this.
            files.sync_entry(directory)
            for name in list(files.list_names(directory)):
                if name.startswith(_TEMPORARY):
                    files.remove(directory / name)
        except OSError as error:
            raise from_system(error, "the spool") from error

    def open_sink(self) -> Sink:
        """A new sink; it has no file until it holds more than `INLINE_BYTES_MAX`."""
        return Sink(self._directory, self._renaming, self._files, self._open_files)

    def path(self, digest: str) -> Path:
        """Where the payload with this SHA-256 is, if it was kept."""
        assert len(digest) == _DIGEST_LENGTH, "not a SHA-256 in hexadecimal"
        assert digest.isalnum(), "a digest is never a path"
        return self._directory / digest

    def list_kept(self) -> Iterator[KeptFile]:
        """Every kept file, one by one; files may be added and removed meanwhile.

        Raises `StoreFull` or `StoreFailed` if the directory cannot be read.
        """
        try:
            for name in self._files.list_names(self._directory):
                if len(name) == _DIGEST_LENGTH and name.isalnum():
                    found = self._find(name)
                    if found is not None:
                        yield found
        except OSError as error:
            raise from_system(error, "the spool") from error

    def remove(self, file: KeptFile) -> bool:
        """Remove the file, unless its content was kept again.

        Returns whether it was removed. The caller knows that no row mentions it, and that a new row
        would keep the content again. A removal need not survive a crash. Raises `StoreFull` or
        `StoreFailed` if the file system fails.
        """
        try:
            with self._renaming:
                is_the_same = self._find(file.digest) == file
                if is_the_same:
                    self._files.remove(self.path(file.digest))
        except OSError as error:
            raise from_system(error, "the spool") from error
        return is_the_same

    def _find(self, digest: str) -> KeptFile | None:
        status = self._files.find_status(self.path(digest))
        return None if status is None else KeptFile(digest, status)

    def open_reader(self, digest: str) -> Iterator[bytes]:
        """The payload's bytes in chunks of at most `CHUNK_BYTES`.

        Raises `StoreFailed` if the file is missing or its bytes do not match the digest. The error
        comes before the last chunk, so an altered payload is never read to its end (D5).
        """
        running = sha256()
        last: bytes | None = None
        try:
            for chunk in self._files.read(self.path(digest)):
                if last is not None:
                    yield last
                running.update(chunk)
                last = chunk
        except OSError as error:
            raise from_system(error, f"spooled payload {digest}") from error
        if running.hexdigest() != digest:
            raise StoreFailed(f"spooled payload {digest} is damaged: its SHA-256 is another")
        if last is not None:
            yield last
