"""Writes log lines to a descriptor, in a thread of its own (ruling R-47).

If the log cannot be written, only its lines are lost. Its reader may have died, its disk may be
full, or nobody may read a full pipe: no write fails here, and none is waited for. Lost lines are
counted, and their number is written as soon as the log can be written again.
"""

import io
import json
import os
import select
import threading
from collections import deque
from pathlib import Path

BYTES_MAX = 1 << 20
"""Most bytes that wait to be written; more is lost. About 4,000 lines, so that a reader may pause
for a moment."""


FILE_MODE = 0o640
"""Of a log file that we make; lines name partners and messages, and never have a payload."""


class LogStream(io.TextIOBase):
    """A text stream that never raises and never waits; lines unwritten at the end are lost.

    A process has one, whose thread ends with the process.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._size_bytes = 0
        self._lost = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def writable(self) -> bool:
        """Always."""
        return True

    def isatty(self) -> bool:
        """Whether the descriptor is a terminal."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """The descriptor, for code that writes to it directly."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Take the text; the thread writes it later."""
        data = text.encode("utf-8", "backslashreplace")
        with self._changed:
            if self._size_bytes + len(data) > BYTES_MAX:
                self._lost += 1
            else:
                self._waiting.append(data)
                self._size_bytes += len(data)
                self._changed.notify_all()
        return len(text)

    def flush(self) -> None:
        """Does nothing: see `settle`."""

    def close(self) -> None:
        """Does nothing: the descriptor is not ours."""

    def settle(self, within_s: float) -> None:
        """Return when there was an attempt to write every line, or after `within_s` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: not self._size_bytes, within_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                data = self._waiting.popleft()
            is_written = self._write_whole(data)
            with self._changed:
                self._size_bytes -= len(data)
                self._changed.notify_all()
                self._lost += not is_written
                lost = self._lost if is_written else 0
            if lost and self._write_whole(_loss(lost)):
                with self._changed:
                    self._lost -= lost

    def _write_whole(self, data: bytes) -> bool:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:
                # Another process that has the same pipe made it non-blocking.
                select.select((), (self._descriptor,), ())
            except OSError:
                return False
        return True


class LogFile:
    """The file of a `LogStream`, which can be opened again while lines are written to it.

    A rotated file has its descriptor until then. Raises `OSError` if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = self._open()
        """Stays the same for the life of the process."""

    def _open(self) -> int:
        # Without O_NONBLOCK a pipe that nobody reads would keep whoever opens it, here the loop.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self._path, flags, FILE_MODE)
        os.set_blocking(descriptor, True)
        return descriptor

    def reopen(self) -> None:
        """Write to the file that has the name now, or make it.

        Raises `OSError` if that cannot be done; then lines go where they went.
        """
        fresh = self._open()
        try:
            # In one step: a line is written to one file or the other, and to one only.
            os.dup2(fresh, self.descriptor, inheritable=False)
        finally:
            os.close(fresh)


def _loss(count: int) -> bytes:
    line = {"event": "log lines were lost", "count": count, "level": "warning"}
    return f"{json.dumps(line)}\n".encode()
