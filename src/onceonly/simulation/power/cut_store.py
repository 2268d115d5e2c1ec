"""A store after a power cut, opened again: what is in it, and whether it is whole.

Knows how the product opens a store and how SQLite looks at its own pages; must not know when the
cut was or what should be there, which is `power_cuts`'. Every look is at an image of its own, so
that looking changes nothing.
"""

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

import apsw

from onceonly.message.event import Event
from onceonly.message.word import Word
from onceonly.simulation.machine.disk import Disk, Image
from onceonly.simulation.machine.files import DiskFiles
from onceonly.simulation.power.store_steps import PARTY, ChainBrokenError, answers, journal_row
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreRefused
from onceonly.store.spool import Spool
from onceonly.store.sqlite.store import LogLimits, SqliteStore

HOUSE = "/house"
STORE = Path(HOUSE) / "store.db"
SPOOL = Path(HOUSE) / "store.db-spool"

SHORT_LOG = LogLimits(checkpoint_pages=40, pages_max=10_000)
"""So that checkpoints come after some commits, and not after thousands."""

NOW_AT = 1_700_000_000_000_000


class Harm(StrEnum):
    """What a cut may do that it must not."""

    LOST = "lost"
    """A commit that returned is not there; the store is as it was earlier."""
    ALTERED = "altered"
    """The store is whole to SQLite, but it never was like this."""
    DAMAGED = "damaged"
    """SQLite or the journal's chain finds the damage."""
    UNOPENABLE = "unopenable"
    """The product refuses the store."""
    PAYLOAD_LOST = "payload lost"
    """A row names a payload that the spool does not have, or not like this."""


class Inspection(Word):
    """A digest of what is there, or what is wrong."""

    digest: str = ""
    harm: Harm | None = None
    why: str = ""


class CutStore(SqliteStore):
    """The product's store, which a simulation may make unsafe."""

    def __init__(self, files: DiskFiles) -> None:
        super().__init__(STORE, party=PARTY, clock_at=lambda: NOW_AT, limits=SHORT_LOG, files=files)

    def tamper(self, pragma: str, value: str | int) -> None:
        """Set a pragma without the store's knowledge, which would refuse it."""
        self._writer.pragma(pragma, value)


def pages_of(vfs: str) -> bytes:
    """Every page of the database as a reader sees it now, after SQLite's own recovery.

    Raises `apsw.Error`.
    """
    connection = apsw.Connection(str(STORE), vfs=vfs)
    # Otherwise the last connection would checkpoint the log at closing: a third of the time.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        return connection.serialize("main")
    finally:
        connection.close()


class Pages(Word):
    """Every page of a state, and their digest."""

    content: bytes
    digest: str


def look_at_pages(image: Image, likely: deque[Pages]) -> Inspection:
    """Digest of the recovered pages: the quick look, through SQLite alone.

    SQLite recovers the log and folds it back, so that the file is the state. Pages equal to those
    of a known state are that state, to the last bit. `likely` are the states seen last: comparing
    is quicker than a digest.
    """
    disk = Disk(image)
    disk.lies = _always
    files = DiskFiles(disk)
    try:
        _recover(files.vfs)
    except apsw.Error as error:
        return Inspection(harm=Harm.DAMAGED, why=f"{type(error).__name__}: {error}")
    finally:
        files.close_vfs()
    file = disk.find(str(STORE))
    content = b"" if file is None else file.content
    for pages in likely:
        if content == pages.content:
            return Inspection(pages.digest)
    likely.append(to_pages(bytes(content)))
    return Inspection(likely[-1].digest)


def _always(*_: object) -> bool:
    # This disk is looked at once and thrown away: a sync would be useless.
    return True


def _recover(vfs: str) -> None:
    connection = apsw.Connection(str(STORE), vfs=vfs)
    try:
        # The cheapest question that makes SQLite read the log, or roll a hot journal back.
        connection.pragma("schema_version")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        connection.close()


def to_pages(content: bytes) -> Pages:
    """The pages with their digest."""
    return Pages(content, sha256(content).hexdigest())


def look_at_rows(
    image: Image, names: list[str], while_opening: Callable[[Disk], None] | None = None
) -> Inspection:
    """Digest of all answers: SQLite checks every page, then the product opens it and goes on.

    `while_opening` gets the disk before the product has it, to watch it until the store is open.
    """
    disk = Disk(image)
    files = DiskFiles(disk)
    try:
        wrong = _integrity(files.vfs)
        if wrong != "ok":
            return Inspection(harm=Harm.DAMAGED, why=wrong)
        if while_opening is not None:
            while_opening(disk)
        return _open_and_ask(disk, files, names)
    except (apsw.Error, ChainBrokenError, StoreFailed, StoreFull) as error:
        return Inspection(harm=Harm.DAMAGED, why=f"{type(error).__name__}: {error}")
    except (ValueError, TypeError, LookupError) as error:
        # SQLite found the pages sound, and the product cannot read what a row says.
        return Inspection(harm=Harm.ALTERED, why=f"{type(error).__name__}: {error}")
    finally:
        files.close_vfs()


def _integrity(vfs: str) -> str:
    connection = apsw.Connection(str(STORE), vfs=vfs)
    try:
        return str(connection.pragma("integrity_check"))
    finally:
        connection.close()


def _open_and_ask(disk: Disk, files: DiskFiles, names: list[str]) -> Inspection:
    try:
        store = CutStore(files)
    except StoreRefused as error:
        return Inspection(harm=Harm.UNOPENABLE, why=str(error))
    disk.watcher = None
    try:
        Spool(SPOOL, files=files)
        found = answers(store.snapshot(), names)
        store.begin().append([journal_row(Event.STARTED, None)])
        store.commit()
        return Inspection(found)
    finally:
        try:
            store.close()
        finally:
            store.crash()


def lacks_a_payload(image: Image, payloads: dict[str, bytes]) -> bool:
    """Whether one of the payloads, by its digest, is not in the spool as it was kept."""
    return any(image.get(str(SPOOL / digest)) != body for digest, body in payloads.items())
