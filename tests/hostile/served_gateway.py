"""A gateway as the process that it is in earnest."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

START_S = 60.0
"""A start takes about a second on a quiet machine."""


@contextmanager
def serving(
    configuration: Path, *, files_max: int | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """The process, which may have only so many files open; killed at the end."""
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(configuration)]
    if files_max is not None:
        few = ["/bin/sh", "-c", 'ulimit -n "$0" && exec "$@"', str(files_max)]
        command = [*few, *command]
    with (configuration.parent / "gateway.log").open("ab") as log:
        process = subprocess.Popen(command, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def value_of(configuration: Path, key: str) -> str:
    """The first value of the key in the file."""
    lines = configuration.read_text("utf-8").splitlines()
    return next(line for line in lines if line.startswith(f"{key} =")).split('"')[1]


def said(configuration: Path) -> str:
    """The end of its log."""
    return (configuration.parent / "gateway.log").read_text("utf-8", "replace")[-4000:]


async def until_ready(process: subprocess.Popen[bytes], configuration: Path) -> None:
    """Ask until it is; nobody tells when a process listens."""
    until = time.monotonic() + START_S
    async with httpx.AsyncClient(base_url=value_of(configuration, "api")) as api:
        while time.monotonic() < until:
            assert process.poll() is None, said(configuration)
            with suppress(httpx.TransportError):
                if (await api.get("/readyz")).status_code == 200:
                    return
    raise AssertionError(said(configuration))


def open_files(process: subprocess.Popen[bytes]) -> int:
    """How many descriptors it has now."""
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
