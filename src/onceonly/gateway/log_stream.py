"""Where log lines go: to a descriptor, by a thread of their own (ruling R-47).

A log that cannot be written costs its lines and nothing else. Its reader may have died, its disk
may be full, or nobody may read what fills a pipe: no write fails here and none is waited for. What
could not be written is counted, and told once it can be.
"""

import io
import json
import os
import select
import threading
from collections import deque

BYTES_MAX = 1 << 20
"""Waiting to be written; what comes on top is lost. Some 4,000 lines, so that a reader may be away
for a moment."""


class LogStream(io.TextIOBase):
    """A text stream that never raises and never waits; what it has not written at the end is lost.

    There is one in a process, whose thread ends with it.
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
        """Whether people read along."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """For whoever writes past us."""
        return self._descriptor

    def write(self, text: str) -> int:
        """Take the text, to be written by and by."""
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
        """Nothing: see `settle`."""

    def close(self) -> None:
        """Nothing: the descriptor is not ours."""

    def settle(self, within_s: float) -> None:
        """Return once everything was tried to be written, or after so many seconds."""
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
                # Others made it so, who have the same pipe.
                select.select((), (self._descriptor,), ())
            except OSError:
                return False
        return True


def _loss(count: int) -> bytes:
    line = {"event": "log lines were lost", "count": count, "level": "warning"}
    return f"{json.dumps(line)}\n".encode()
