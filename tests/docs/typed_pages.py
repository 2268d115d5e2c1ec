"""The commands of a page, typed into a shell, and what they answer."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from recipes import examples_of, replaced

START_S = 60.0
DONE = "@@done@@"
MESSAGE_ID = re.compile(r"[0-9a-f]{44}@127\.0\.0\.1")
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
JOB_NEWS = re.compile(r"\[\d+\]")
"""What the shell says about a job of its own accord."""
SERVES = re.compile(r"onceonly serve -c (\S+)")


class Shell:
    """One shell for the whole tutorial, with its jobs."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            ["/bin/bash", "--norc"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.type("set -m")
        self.type(f'onceonly() {{ "{sys.executable}" -m onceonly "$@"; }}')

    def type(self, command: str) -> list[str]:
        """The lines that the command prints; `$?` stays what it made it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command}\n__code=$?; echo {DONE}; (exit $__code)\n")
        self._process.stdin.flush()
        printed = iter(lambda: self._process.stdout.readline().rstrip("\n"), DONE)
        return [line for line in printed if not JOB_NEWS.match(line)]

    def close(self) -> None:
        # A job is a group of its own: the function, and the program in it.
        self.type("for job in $(jobs -p); do kill -9 -- -$job; done")
        self._process.communicate("exit\n", timeout=START_S)


def steps(page: str) -> Iterator[tuple[str, list[str] | None]]:
    """Every command, and what the page says that it prints; None where it shows nothing."""
    for block in examples_of(page, "sh", "console"):
        lines = block.splitlines()
        is_session = lines[0].startswith("$ ")
        while lines:
            command = lines.pop(0).removeprefix("$ ")
            shown: list[str] = []
            while is_session and lines and not lines[0].startswith("$ "):
                shown.append(lines.pop(0))
            yield command, shown if is_session else None


def until_ready(api: str) -> None:
    """Ask until it is; nobody tells when a process listens."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        try:
            if httpx.get(f"{api}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            continue
    raise AssertionError(api)


def plain(line: str) -> str:
    """Without what is another one each time, and without empty columns at its end."""
    return INSTANT.sub("INSTANT", line).rstrip("\t")


def type_page(
    shell: Shell,
    page: str,
    *,
    changes: Mapping[str, str],
    apis: Mapping[str, str],
    elsewhere: tuple[str, ...],
) -> dict[str, str]:
    """Type every command; each prints what the page shows. Returns MessageIds by those of the page.

    `changes`: what is other here in commands and in what they print. `apis`: the API's address by
    the file of a gateway. `elsewhere`: how commands begin that others run.
    """
    ids: dict[str, str] = {}
    for command, shown in steps(page):
        if command.startswith(elsewhere):
            continue
        printed = shell.type(replaced(command, ids))
        started = SERVES.match(command)
        if started is not None:
            until_ready(apis[started[1]])
        if shown is None or started is not None:
            continue
        for line, said in zip(shown, printed, strict=False):
            ids.update(zip(MESSAGE_ID.findall(line), MESSAGE_ID.findall(said), strict=False))
        told = [replaced(line, {**changes, **ids}) for line in shown]
        assert [plain(line) for line in printed] == [plain(line) for line in told], command
    return ids
