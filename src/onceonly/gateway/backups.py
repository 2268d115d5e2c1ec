"""Backups of the store that this gateway has open, made while messages go on.

Knows when the next piece of a copy may be made: between two transactions, on the store's own
connection, so that what is written meanwhile is in the copy and no log has to be held back for it.
Must not know what is in a store. One backup at a time; what became of the last ones is known until
the process ends, and the whole ones are folders.
"""

import asyncio
import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from onceonly.api.backups import BackupState
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Configuration
from onceonly.gateway.config.report_folder import spool_of
from onceonly.gateway.office import Office
from onceonly.gateway.tasks import Tasks
from onceonly.message.errors import LocalError, OnceonlyError
from onceonly.message.instant import US_PER_S
from onceonly.message.word import Word, changed
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.contract.copying import Copy
from onceonly.store.sqlite import backup
from onceonly.store.sqlite.backup import BackupFacts

RESTARTS_MAX: Final = 100
"""A rollback of a batch that had written begins a copy again from its first page."""

KNOWN_MAX: Final = 100
"""Backups of this process of which is known what became of them."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""A name is one folder below the folder of backups, and never another place."""

log = structlog.get_logger("onceonly")


class MadeBackup(Word):
    """One backup that this process makes or made."""

    name: str
    folder: Path
    state: BackupState
    started_at: int
    pages_copied: int = 0
    pages: int = 0
    """In all; 0 until the copy of the store has begun."""
    reason: str | None = None
    """Why it failed."""
    manifest: BackupFacts | None = None


class Backups:
    """Makes backups below one folder.

    `begin_copy` is None for a store that is no file.
    """

    def __init__(
        self,
        *,
        office: Office,
        tasks: Tasks,
        begin_copy: Callable[[Path], Copy] | None,
        spool: Path,
        folder: Path,
    ) -> None:
        self._office = office
        self._clock: Clock = office.clock
        self._tasks = tasks
        self._begin_copy = begin_copy
        self._spool = spool
        self._folder = folder
        self._known: dict[str, MadeBackup] = {}

    def start(self, name: str | None = None) -> MadeBackup:
        """Begin a backup; its name is the time unless the caller gives one.

        Raises `LocalError`: InvalidField, BackupRunning, BackupExists, NotOffered.
        """
        if self._begin_copy is None:
            raise LocalError("NotOffered", "this gateway's store is no file")
        at = self._clock.at()
        name = name or name_at(at)
        check_name(name)
        running = next((one for one in self._known.values() if one.state == "running"), None)
        if running is not None:
            raise LocalError("BackupRunning", f"backup {running.name!r} is being made")
        folder = self._folder / name
        if folder.exists():
            raise LocalError("BackupExists", f"{folder} exists; a backup is never written over")
        self._known.pop(name, None)
        while len(self._known) >= KNOWN_MAX:
            del self._known[next(iter(self._known))]
        begun = self._known[name] = MadeBackup(name, folder, "running", at)
        self._tasks.start(self._make(begun, self._begin_copy), place="making a backup")
        return begun

    def find(self, name: str) -> MadeBackup:
        """What is known of the backup. Raises `LocalError` (NotFound)."""
        found = self._known.get(name)
        if found is None:
            raise LocalError("NotFound", f"no backup {name!r} was begun since the start")
        return found

    def list_known(self) -> list[MadeBackup]:
        """The backups that were begun since the start, the latest first."""
        return list(reversed(self._known.values()))

    async def _make(self, begun: MadeBackup, begin_copy: Callable[[Path], Copy]) -> None:
        stop = threading.Event()
        try:
            manifest = await self._copy_and_seal(begun, begin_copy, partial(_go_on, stop))
        except asyncio.CancelledError:
            stop.set()  # The threads end by it, and the process need not wait for them.
            raise
        except (OnceonlyError, OSError) as error:
            await asyncio.to_thread(backup.drop, begun.folder)
            self._known[begun.name] = changed(
                self._known[begun.name], state="failed", reason=str(error)
            )
            log.warning("backup failed", folder=str(begun.folder), error=str(error))
        else:
            self._known[begun.name] = changed(
                self._known[begun.name], state="done", manifest=manifest
            )
            log.info("backed up", folder=str(begun.folder), bytes=manifest.store_bytes)

    async def _copy_and_seal(
        self, begun: MadeBackup, begin_copy: Callable[[Path], Copy], go_on: Callable[[], None]
    ) -> BackupFacts:
        folder, spool, made_at = begun.folder, self._spool, begun.started_at
        target = await asyncio.to_thread(backup.begin, folder, spool, go_on)
        run = await self._office.aside(lambda: begin_copy(target))

        def step() -> bool:
            nonlocal made_at
            # Before the step: what is committed after it, in the same turn of the loop, is not in.
            made_at = self._clock.at()
            return run.step()

        try:
            restarts, before = 0, 0
            while not await self._office.aside(step):
                copied, pages = run.progress
                restarts += copied < before
                before = copied
                if restarts > RESTARTS_MAX:
                    raise StoreRefused(
                        f"the store rolled back {restarts} transactions while it was copied, and "
                        "each of them begins the copy again; try once what goes wrong is mended"
                    )
                self._known[begun.name] = changed(
                    self._known[begun.name], pages_copied=copied, pages=pages
                )
        finally:
            await self._office.aside(run.end)
        seal = partial(backup.seal, made_at=made_at, go_on=go_on)
        return await asyncio.to_thread(seal, folder, spool)


def _go_on(stop: threading.Event) -> None:
    if stop.is_set():
        raise StoreRefused("the gateway stops, and leaves its backup unfinished")


def take_closed(configuration: Configuration, name: str | None = None) -> MadeBackup:
    """Back up the store of a gateway that does not run.

    Raises `LocalError` (InvalidField, BackupExists), `StoreRefused` where the gateway runs, there
    is no store or it is damaged, and `OSError`.
    """
    clock = Clock()
    at = clock.at()
    name = name or name_at(at)
    check_name(name)
    folder = configuration.backups / name
    if folder.exists():
        raise LocalError("BackupExists", f"{folder} exists; a backup is never written over")
    store = configuration.store
    manifest = backup.take(store, spool_of(store), folder, made_at=clock.at)
    return MadeBackup(name, folder, "done", at, manifest=manifest)


def check_name(name: str) -> None:
    """Raise `LocalError` (InvalidField) where the name is not one folder's."""
    if not NAME.fullmatch(name):
        raise LocalError(
            "InvalidField",
            f"{name!r} is no name of a backup; expected are up to 100 letters, digits, '_' and "
            "'-', beginning with a letter or digit",
        )


def name_at(at: int) -> str:
    """The name of a backup that is begun at that instant, microseconds UTC."""
    return datetime.fromtimestamp(at // US_PER_S, UTC).strftime("%Y%m%dT%H%M%SZ")
