"""Faults under a real gateway: by chance from a seed, or by strace at the N-th system call.

strace counts per thread, so a fault is either injected from the start (the opening, all on one
thread) or attached to a gateway that is ready (the exchange, whose commits are on one thread).
"""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

STRACE = shutil.which("strace") or "strace"
DETACH_S = 20.0


FULL_CYCLES = 200
"""From here on the form is full: every point of every sweep, not a sample."""


class Form(NamedTuple):
    """How much is wanted, and the seed of every chance."""

    cycles: int
    seed: int

    @property
    def is_full(self) -> bool:
        """Whether every point of a sweep is wanted."""
        return self.cycles >= FULL_CYCLES

    def share(self, tenths: int) -> "Form":
        """So much of the cycles, and the same chances: a kill loop's part of all kill loops."""
        return Form(max(1, self.cycles * tenths // 10), self.seed)

    def chance(self, *names: str) -> random.Random:
        """A chance of its own for whatever has these names."""
        return random.Random("/".join((str(self.seed), *names)))


def _can_trace() -> bool:
    """Whether this machine has strace and lets us attach to a process that we started."""
    if shutil.which("strace") is None:
        return False
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        try:
            with attached(child.pid, "fdatasync"):
                return True
        except pytest.skip.Exception:
            return False


def under_strace(call: str, fault: str, log: Path) -> tuple[str, ...]:
    """The prefix of a command that runs with `fault` injected into `call`.

    The tracer is a grandchild (-D), so that the process we start is the gateway itself.
    """
    inject = ("-e", f"inject={call}:{fault}")
    return (STRACE, "-D", "-f", "-qq", "-o", str(log), "-e", f"trace={call}", *inject)


@contextmanager
def attached(
    pid: int,
    call: str,
    fault: str | None = None,
    log: Path | None = None,
    *,
    beside: Sequence[str] = (),
) -> Iterator[None]:
    """Trace `call` of a running process, with `fault` injected; let go of it at the end.

    The calls `beside` it are traced only. The log has the paths of files.
    """
    calls = ",".join((call, *beside))
    command = [STRACE, "-f", "-y", "-p", str(pid), "-e", f"trace={calls}"]
    command += ["-o", str(log or os.devnull)]
    if fault is not None:
        command += ["-e", f"inject={call}:{fault}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tracer:
        assert tracer.stderr is not None
        line = tracer.stderr.readline()
        try:
            if "attached" not in line:
                pytest.skip(f"strace may not trace here: {line.strip()}")
            yield
        finally:
            tracer.terminate()
            try:
                tracer.wait(DETACH_S)
            except subprocess.TimeoutExpired:
                # It waits for a process that dies while it is being let go; the kernel lets go.
                tracer.kill()


def counted_calls(log: Path) -> int:
    """How many calls a trace holds."""
    lines = log.read_text(errors="replace").splitlines()
    return sum("(" in line and "resumed" not in line for line in lines)


traced = pytest.mark.skipif(
    not _can_trace(), reason="strace is missing or may not trace processes here"
)
"""For tests that need an injected fault."""
