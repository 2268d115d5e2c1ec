"""Ports that tests listen on."""

import subprocess
import sys
from pathlib import Path

import ports

ASKING = "from ports import free_port; print(*(free_port() for _ in range(300)))"


def test_no_port_is_promised_to_two_processes() -> None:
    """The lanes of the tests run at once: what both find free, only one can listen on."""
    ours = {ports.free_port() for _ in range(300)}
    command = [sys.executable, "-c", ASKING]
    folder = Path(ports.__file__).parent
    asked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    theirs = set(map(int, asked.stdout.split()))
    assert len(theirs) > 200
    assert ours.isdisjoint(theirs)
