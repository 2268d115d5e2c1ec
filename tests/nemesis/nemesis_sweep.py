"""Sweeps: one message under a fault at the N-th system call of one process, for N = 1, 2, …

Knows what must hold after each strike, whoever was struck; must not know which calls are worth
it. One store lives through a whole sweep, so that it is recovered from every one of its crashes.
"""

import re
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from nemesis_chain import Chain
from nemesis_faults import attached
from nemesis_gateways import DEATH_S, Exchange, Gateway, read_inbox_ids, until

from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError

POINTS_MAX = 1_000
"""A sweep that still strikes here does not move."""

UNHARMED_ENOUGH = 2
"""Passes in a row that no call was left for: the last write may come behind the last look."""

SYNCS = ("fdatasync", "fsync")


class Fault(NamedTuple):
    """What is done to the call."""

    name: str
    inject: str


KILL = Fault("kill", "signal=KILL:when={}")
EIO = Fault("eio", "error=EIO:when={}")


LARGE_BYTES = 200_000
"""More than a row takes, so that it goes through the spool."""

SMALL_BYTES = 2_000


class Point(NamedTuple):
    """Which call is struck, and how. strace's regular expressions begin with a slash."""

    call: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.fault.name}-{self.call.strip('/^')}"

    def counted(self, times: int) -> dict[str, int]:
        """The figure of a sweep."""
        return {f"{self.fault.name}_at_a_call": times}

    @property
    def size_bytes(self) -> int:
        """A message that makes the call for its own sake."""
        return SMALL_BYTES if self.call in ("fdatasync", "pwrite64") else LARGE_BYTES


class Strike(NamedTuple):
    """What a trace says about the fault."""

    lines: tuple[str, ...]

    @property
    def is_any(self) -> bool:
        """Whether a call failed at all."""
        return any(map(_is_hit, self.lines))

    def is_at(self, store: Path) -> bool:
        """Whether a file of the store failed, or of its spool."""
        return any(_is_hit(line) and str(store) in line for line in self.lines)

    def synced_again(self, store: Path) -> list[str]:
        """Syncs that were begun after a failure at the store, by its thread or of its file.

        Until the process has ended, another thread may still sync another file.
        """
        return [
            line
            for number, hit in enumerate(self.lines)
            if _is_hit(hit) and str(store) in hit
            for line in self.lines[number + 1 :]
            if _SYNC.search(line) and (_thread(line) == _thread(hit) or _files(line) & _files(hit))
        ]


def read_strike(log: Path) -> Strike:
    """What was injected into a traced process."""
    return Strike(tuple(log.read_text(errors="replace").splitlines()) if log.exists() else ())


_SYNC = re.compile(rf"\b({'|'.join(SYNCS)})\(")


def _is_hit(line: str) -> bool:
    return line.endswith("(INJECTED)")


def _thread(line: str) -> str:
    return line.partition(" ")[0]


def _files(line: str) -> set[str]:
    """The paths of a traced call, a database's log being the database."""
    return {path.removesuffix("-wal") for path in re.findall(r'[<"](/[^>"]*)[>"]', line)}


def sweep(
    course: Exchange | Chain, role: str, point: Point, numbers: Iterable[int], *, log: Path
) -> int:
    """Strike `role` at the N-th call of one message, for each N; returns how often it was.

    After each strike it is started again and the message completes. The sweep ends with the
    numbers, or when no call is left to be struck.
    """
    victim, struck, unharmed = course.gateway(role), 0, 0
    for number in numbers:
        message_id = f"{role}-{point}-{number}"
        log.unlink(missing_ok=True)
        inject = point.fault.inject.format(number)
        with attached(victim.pid, point.call, inject, log, beside=SYNCS):
            run_into(course, victim, message_id, point.size_bytes)
        if is_struck(victim, point.fault, read_strike(log)):
            struck, unharmed = struck + 1, 0
        else:
            unharmed += 1
        if not victim.is_running:
            victim.start()
        course.complete(message_id, point.size_bytes)
        if unharmed == UNHARMED_ENOUGH:
            break
    assert number < POINTS_MAX - 1, "the sweep does not end"
    return struck


def run_into(course: Exchange | Chain, victim: Gateway, message_id: str, size_bytes: int) -> None:
    """Send one message, until the victim is dead or has noted everything about it."""
    with course.clients() as (ours, theirs):
        try:
            course.submit_if_up(ours, message_id, size_bytes)
        except LocalError:
            # Refused with a 500 while it stops; no other refusal has a reason here.
            assert victim.wait_for_end(DEATH_S) is not None, victim.log_end()
        until(
            lambda: not victim.is_running or is_noted(ours, theirs, message_id),
            f"{message_id} is complete or the {victim.site.name} is dead",
        )


def is_noted(ours: Client, theirs: Client, message_id: str) -> bool:
    """Whether both ends have committed the last thing about the message."""
    try:
        events = {row.event for row in ours.get(message_id).timeline}
        is_sent = {"AckReceived", "Transmitted"} <= events
        return is_sent and message_id in read_inbox_ids(theirs)
    except GatewayUnreachable:
        return False


def is_struck(victim: Gateway, fault: Fault, strike: Strike) -> bool:
    """Whether the fault met it, which must then have ended as it has to (R-22, I42).

    A failed call that was not for the store, as of a socket, may end in whatever way.
    """
    if fault is KILL:
        if victim.is_running:
            return False
        assert victim.wait_for_end(DEATH_S) == -signal.SIGKILL, victim.log_end()
        return True
    if strike.is_at(victim.site.store):
        assert victim.wait_for_end(DEATH_S) == 1, victim.log_end()
        again = strike.synced_again(victim.site.store)
        assert again == [], "a sync was tried again after a failure (R-22)"
    return strike.is_any
