"""One live process per store: the lock file (ruling R-23, fault C5).

Knows `flock`; must not know what is in the store. The kernel frees the lock when its holder dies,
so a crash leaves nothing to clean up and the file is never removed.
"""

import fcntl
import os
from pathlib import Path

from onceonly.store.contract.conditions import StoreRefused

_HOLDER_BYTES_MAX = 64
"""More than any process id and a newline take."""


class StoreLock:
    """The lock on one store, held from construction to `release`.

    Raises `StoreRefused` if another process holds it; the error names that process.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreRefused(f"cannot open the lock file {path}: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(self._file, _HOLDER_BYTES_MAX).decode("ascii", "replace").strip()
            os.close(self._file)
            raise StoreRefused(
                f"the store is in use by process {holder or 'unknown'}, which holds {path}"
            ) from error
        self._write_holder(path)

    def _write_holder(self, path: Path) -> None:
        try:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            self.release()
            raise StoreRefused(f"cannot write the lock file {path}: {error.strerror}") from error

    def release(self) -> None:
        """Free the lock."""
        os.close(self._file)
