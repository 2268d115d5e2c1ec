"""What both kinds of folders are to their gateway: work that goes on until the gateway stops.

A folder that cannot be used, for any reason of the file system, is no reason for the gateway to
stop: it is noted, shown to operators, and tried again.
"""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import structlog

from onceonly.gateway.clock import Clock
from onceonly.gateway.folders.own_thread import OwnThread
from onceonly.store.contract.conditions import StoreFull

LOCK: Final = ".onceonly.lock"

RETRY_S: Final = 5.0
"""Seconds until a folder is tried again that could not be used."""

log: Any = structlog.get_logger("onceonly")


class Trouble(Exception):  # noqa: N818 - because it is a condition that ends
    """The folder cannot be used now; the text says why."""


class Watch:
    """One folder: works in it while its lock is held, and knows how it goes."""

    def __init__(self, *, folder_id: str, path: Path, clock: Clock) -> None:
        self.id = folder_id
        self.path = path
        self.done = 0
        self.failed = 0
        self.waiting = 0
        self.last_at: int | None = None
        self.trouble: str | None = None
        self.thread = OwnThread(f"folder {folder_id}")
        """For every call that may wait for the folder's disk."""
        self._clock = clock
        self.ended = asyncio.Event()
        """Set once nothing is done in the folder any more."""
        self._stop = asyncio.Event()

    def is_stopped(self) -> bool:
        """Whether nothing more may be begun."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Begin nothing more; what is under way ends."""
        self._stop.set()

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return

    async def keep_working(self, work: Callable[[], Awaitable[None]]) -> None:
        """Hold the folder's lock and do `work`, again after each trouble, until the stop."""
        while not self.is_stopped():
            try:
                await self._hold(work)
            except (Trouble, StoreFull, OSError) as error:
                self.note(str(error))
            await self.pause(RETRY_S)

    async def _hold(self, work: Callable[[], Awaitable[None]]) -> None:
        lock = await self.thread.run(_lock, self.path / LOCK)
        try:
            await work()
        finally:
            os.close(lock)

    def note(self, trouble: str | None) -> None:
        """Remember why nothing is done, or that all is well; each change has a line in the log."""
        if trouble == self.trouble:
            return
        self.trouble = trouble
        if trouble is None:
            log.info("folder works again", folder=self.id)
        else:
            log.warning("folder cannot be used", folder=self.id, error=trouble)

    def count(self, *, is_done: bool) -> None:
        """Count a document or message that is finished."""
        self.done += is_done
        self.failed += not is_done
        self.last_at = self._clock.at()


def _lock(path: Path) -> int:
    """The descriptor of the lock, held until it is closed, or until the process ends.

    The folder itself is never made: a path that is not mounted must not become another. Nothing is
    written into the file, and a link is not followed: others may have put it there. Raises
    `Trouble` if somebody has the lock, and `OSError`.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(path, flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        # Another gateway, or this one twice: a document would be claimed by both.
        raise Trouble(f"another gateway works in it and holds {path}") from error
    return file
