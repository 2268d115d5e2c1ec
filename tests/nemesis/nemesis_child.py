"""Gateway processes: by the command that an operator types, or forked from a warm one.

A gateway needs a second of CPU to import itself; hundreds of kills should not pay for that. The
forked ones run the same command line in a process of their own, whose parent has imported it.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Protocol

WARM = ["pytest", "onceonly.cli", "onceonly.gateway.supervise", "uvloop", "pyarrow.parquet"]
"""Imported once. pytest among them, since a forked process imports our main module again."""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(WARM)


class Running(Protocol):
    """A process that we started."""

    pid: int

    def wait(self, timeout_s: float) -> int | None:
        """Its exit code, negative for a signal; None if it still runs after so long."""
        ...


class Command:
    """A process from a command line."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def wait(self, timeout_s: float) -> int | None:
        """See `Running`."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None


class Fork:
    """A gateway forked from the warm process."""

    def __init__(self, file: Path, log: Path) -> None:
        self._process = _FORKS.Process(target=serve, args=(str(file), str(log)))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def wait(self, timeout_s: float) -> int | None:
        """See `Running`."""
        self._process.join(timeout_s)
        return self._process.exitcode


def serve(file: str, log: str) -> None:
    """Be `onceonly serve -c FILE`, saying everything to `log`."""
    from onceonly.cli import main  # noqa: PLC0415 - because only the fork wants it

    os.setsid()
    output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    signal.set_wakeup_fd(-1)
    sys.argv = ["onceonly", "serve", "-c", file]
    main()
