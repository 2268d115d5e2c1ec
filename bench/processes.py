"""Processes that a measurement starts, and what the system says that processes took."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
END_S = 60


class Contender:
    """A started process of a measurement."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"bench.{task['kind']}", json.dumps(task)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"a contender died with {self._process.wait()}")
        return json.loads(line)

    def go(self) -> None:
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def end(self) -> None:
        with self._process:
            code = self._process.wait(timeout=END_S)
        if code:
            raise SystemExit(f"a contender ended with {code}")


def cpu_s_of(session: int) -> float:
    """Processor time of all processes of a session, those included that they have waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text("utf-8", "replace")
        except OSError:
            continue  # It ended while we looked.
        fields = text.rpartition(")")[2].split()
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / TICKS_PER_S
