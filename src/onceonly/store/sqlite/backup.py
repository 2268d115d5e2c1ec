"""A backup: the store and its large payloads in one folder that says what it is, and the way back.

Knows files, checksums, and in which order they become durable; must not know messages or the event
loop. A backup has its name only once it is whole: until then its folder ends in `.partial`. Payload
files never change, so on the same file system a backup shares their bytes (hard links).

A restored store has forgotten what was promised since the backup (C6). Its epoch is later than
every one that it can have had, so no row of it can be taken for a row of the life that is lost
(I35).
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw
import msgspec

from onceonly import __version__
from onceonly.api.decoding import decoded
from onceonly.message.instant import US_PER_S
from onceonly.message.word import Word
from onceonly.store.contract.conditions import (
    StoreFailed,
    StoreFull,
    StoreMisused,
    StoreRefused,
)
from onceonly.store.contract.rules import check_owner
from onceonly.store.failures import from_sqlite
from onceonly.store.files import CHUNK_BYTES
from onceonly.store.lock import StoreLock
from onceonly.store.sqlite.copy_run import CopyRun
from onceonly.store.sqlite.migrate import get_version
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import RESTORING, verified_journal_end

STORE_FILE: Final = "store.db"
PAYLOADS_FOLDER: Final = "payloads"
MANIFEST_FILE: Final = "backup.json"
PARTIAL: Final = ".partial"
"""End of the name of a backup that is not whole yet, or never was."""

FORMAT: Final = 1
EPOCHS_SKIPPED: Final = 1_000
"""By so much at least the epoch grows, and by one for each second since the backup: no store is
opened as often, and no two restores of one backup get the same epoch."""

OLDEST_SCHEMA: Final = 9
"""A store of an older schema has to be opened once by this program before it can be backed up."""

_DIGEST_LENGTH = 64
_LOGS: Final = ("-wal", "-shm", "-journal")

GoOn = Callable[[], None]


def _always() -> None:
    """Nobody wants a backup to end before its end."""


class BackupFacts(Word):
    """What is in the folder of a backup."""

    format: int
    program: str
    """Version of the program that made it."""
    party: str
    """Owner of the store."""
    made_at: int
    """Microseconds UTC at the end: what was committed until then is in it."""
    schema_version: int
    store_epoch: int
    journal_seq: int
    """The last row of the journal that is in it."""
    journal_hash: str
    """`chain_hash` of that row."""
    store_bytes: int
    store_sha256: str
    payload_files: int
    payload_bytes: int


class Restored(Word):
    """What a restore did."""

    manifest: BackupFacts
    store_epoch: int
    """Under which the store was put back; a start counts one more."""
    replaced: Path | None
    """Where the store that was there before is now."""


def begin(folder: Path, spool: Path, go_on: GoOn = _always) -> Path:
    """Make the partial folder, with the payloads that are there now; returns where the store goes.

    `go_on` is called now and then, and may raise to end it. Raises `StoreRefused` if there is a
    backup of that name already, and `OSError`.
    """
    if folder.exists():
        raise StoreRefused(f"{folder} exists already; a backup is never written over")
    partial = partial_of(folder)
    shutil.rmtree(partial, ignore_errors=True)  # what a crash left of one of this name
    (partial / PAYLOADS_FOLDER).mkdir(parents=True, mode=0o700)
    partial.chmod(0o700)
    # Before the store, too: what it mentions at the end and a purge takes away then is there.
    _share_payloads(spool, partial / PAYLOADS_FOLDER, go_on)
    return partial / STORE_FILE


def seal(folder: Path, spool: Path, *, made_at: int, go_on: GoOn = _always) -> BackupFacts:
    """Make the backup whole: the payloads that came meanwhile, checks, checksums, its name.

    Raises `StoreRefused` if something is missing or damaged, and `OSError`.
    """
    partial = partial_of(folder)
    _share_payloads(spool, partial / PAYLOADS_FOLDER, go_on)
    store = partial / STORE_FILE
    with _opened(store) as connection:
        party, epoch, seq, chain_hash = _facts_of(store, connection)
        version = get_version(connection)
        missing = next(_missing(connection, partial / PAYLOADS_FOLDER), None)
    if missing is not None:
        raise StoreRefused(f"payload {missing} is mentioned in the store and not in {spool}")
    kept = list((partial / PAYLOADS_FOLDER).iterdir())
    manifest = BackupFacts(
        format=FORMAT,
        program=__version__,
        party=party,
        made_at=made_at,
        schema_version=version,
        store_epoch=epoch,
        journal_seq=seq,
        journal_hash=chain_hash,
        store_bytes=store.stat().st_size,
        store_sha256=_sha256_of(store, go_on),
        payload_files=len(kept),
        payload_bytes=sum(file.stat().st_size for file in kept),
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (partial / MANIFEST_FILE).write_bytes(text + b"\n")
    for file in (store, *kept, partial / MANIFEST_FILE, partial / PAYLOADS_FOLDER, partial):
        go_on()
        _sync(file)
    partial.rename(folder)
    _sync(folder.parent)
    return manifest


def drop(folder: Path) -> None:
    """Remove what is there of a backup that will not be whole."""
    shutil.rmtree(partial_of(folder), ignore_errors=True)


def partial_of(folder: Path) -> Path:
    """The folder of a backup that is being made."""
    return folder.with_name(folder.name + PARTIAL)


def take(path: Path, spool: Path, folder: Path, *, made_at: Callable[[], int]) -> BackupFacts:
    """Back up the store at `path`, which no gateway has open, into the new `folder`.

    Raises `StoreRefused` if a gateway has it open, there is none, or it is damaged; and `OSError`.
    """
    if not path.exists():
        raise StoreRefused(f"there is no store at {path}")
    lock = StoreLock(path.with_name(path.name + ".lock"))
    try:
        target = begin(folder, spool)
        with _opened(path, folds=False) as source:
            run = CopyRun(source, target)
            try:
                while not run.step(-1):
                    pass
            finally:
                run.end()
        return seal(folder, spool, made_at=made_at())
    except BaseException:
        drop(folder)
        raise
    finally:
        lock.release()


def verify(folder: Path, *, party: str) -> BackupFacts:
    """What the backup says it is, after every byte of it was read and found to be that.

    Raises `StoreRefused` with what is wrong, above all if it is not of `party`.
    """
    manifest = _read_manifest(folder)
    check_owner(manifest.party, party)
    store = folder / STORE_FILE
    try:
        if store.stat().st_size != manifest.store_bytes or _sha256_of(store) != (
            manifest.store_sha256
        ):
            raise StoreRefused(f"{store} is not the file that was backed up: its SHA-256 differs")
        kept = list((folder / PAYLOADS_FOLDER).iterdir())
        damaged = next((file for file in kept if _sha256_of(file) != file.name), None)
    except OSError as error:
        raise StoreRefused(f"{folder} cannot be read: {error}") from error
    if damaged is not None:
        raise StoreRefused(f"{damaged} is damaged: its SHA-256 is not its name")
    with _opened(store, is_read_only=True) as connection:
        _check_whole(store, connection)
        facts = _facts_of(store, connection)
        missing = next(_missing(connection, folder / PAYLOADS_FOLDER), None)
    if missing is not None:
        raise StoreRefused(f"payload {missing} is mentioned in {store} and is not in the backup")
    said = manifest.party, manifest.store_epoch, manifest.journal_seq, manifest.journal_hash
    if facts != said:
        raise StoreRefused(f"{folder / MANIFEST_FILE} says {said}, and {store} has {facts}")
    return manifest


def restore(  # noqa: PLR0913 - because these are the facts of one restore
    folder: Path,
    path: Path,
    spool: Path,
    *,
    party: str,
    now_at: int,
    known_epoch: int = 0,
    aside: Path | None = None,
) -> Restored:
    """Put the backup in the place of the store at `path`, whose gateway does not run.

    `now_at` is in microseconds UTC; `known_epoch` is the latest that somebody else knows of, such
    as the lake. A store that is there, or what is left of one, is moved to `aside`; without `aside`
    it stays, and the restore is refused. What a crash leaves is seen by the next start, which
    refuses until a restore has ended. Raises `StoreRefused` and `OSError`.
    """
    manifest = verify(folder, party=party)
    lock = StoreLock(path.with_name(path.name + ".lock"))
    try:
        if aside is None and any(one.exists() for one in _of_store(path, spool)):
            raise StoreRefused(
                f"there is a store at {path}, or what is left of one; it is only replaced if you "
                "say so"
            )
        epoch = _epoch_after(manifest, path, known_epoch, now_at)
        coming, coming_payloads = (one.with_name(one.name + RESTORING) for one in (path, spool))
        shutil.rmtree(coming_payloads, ignore_errors=True)
        # The file of a restore that was cut off stays until there is a store: it is the mark that
        # keeps a start from making an empty one.
        _remove_log(coming)
        _copy(folder / STORE_FILE, coming)
        _sync(path.parent)
        _set_epoch(coming, epoch)
        coming_payloads.mkdir(mode=0o700)
        for file in (folder / PAYLOADS_FOLDER).iterdir():
            _copy(file, coming_payloads / file.name)
        _sync(coming_payloads)
        replaced = _move_aside(path, spool, aside)
        # In this order also on a disk that does not keep it (D7): while the store has not its name,
        # its mark says so.
        _sync(path.parent)
        coming_payloads.rename(spool)
        _sync(path.parent)
        coming.rename(path)
        _sync(path.parent)
        return Restored(manifest, epoch, replaced)
    finally:
        lock.release()


def _of_store(path: Path, spool: Path) -> list[Path]:
    """Every name that a store has; a log alone would be taken for the log of what comes."""
    return [path, *(path.with_name(path.name + end) for end in _LOGS), spool]


def _epoch_after(manifest: BackupFacts, path: Path, known_epoch: int, now_at: int) -> int:
    known = known_epoch
    if path.exists():
        with suppress(StoreRefused, apsw.Error), _opened(path, folds=False) as connection:
            _, found = connection.execute(SQL["get_store"]).get
            known = max(known, int(found))
    # An opening at least was not counted there: the one that wrote the last thing that we know of.
    since_s = max(0, now_at - manifest.made_at) // US_PER_S
    return max(manifest.store_epoch + EPOCHS_SKIPPED + since_s, known + 1)


def _set_epoch(store: Path, epoch: int) -> None:
    with _opened(store) as connection:
        connection.execute("UPDATE store SET epoch = ?", (epoch,))
        if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'bulk'").get is not None:
            # What it did after the backup nobody here knows: a person has to say that it goes on.
            connection.execute("UPDATE bulk SET state = 'stopped' WHERE state = 'running'")
    _sync(store)


def _move_aside(path: Path, spool: Path, aside: Path | None) -> Path | None:
    if aside is None:
        return None
    aside.mkdir(mode=0o700)
    # The store first: without it nobody misses its payloads.
    for one in _of_store(path, spool):
        if one.exists():
            one.rename(aside / one.name)
    _sync(aside)
    return aside


def _read_manifest(folder: Path) -> BackupFacts:
    file = folder / MANIFEST_FILE
    try:
        manifest = decoded(file.read_bytes(), BackupFacts)
    except FileNotFoundError as error:
        raise StoreRefused(f"{folder} is no whole backup: it has no {MANIFEST_FILE}") from error
    except (OSError, msgspec.DecodeError) as error:
        raise StoreRefused(f"{file} cannot be read: {error}") from error
    if manifest.format != FORMAT:
        raise StoreRefused(f"{file} has format {manifest.format}; this program reads {FORMAT}")
    return manifest


def _share_payloads(spool: Path, target: Path, go_on: GoOn) -> None:
    """By hard links where the file system has them; what is there already stays."""
    if not spool.exists():
        return
    for name in os.listdir(spool):  # noqa: PTH208 - because a spool of a million names is no list of paths
        go_on()
        if len(name) != _DIGEST_LENGTH or (target / name).exists():
            continue
        with suppress(FileNotFoundError):  # A purge took it away; the end looks what is missing.
            try:
                os.link(spool / name, target / name)
            except FileNotFoundError:
                raise
            except OSError:
                _copy(spool / name, target / name)


def _missing(connection: apsw.Connection, payloads: Path) -> Iterator[str]:
    for (digest,) in connection.execute(SQL["list_spooled_digests"]):
        if not (payloads / digest).exists():
            yield str(digest)


def _facts_of(store: Path, connection: apsw.Connection) -> tuple[str, int, int, str]:
    """Owner, epoch, and the end of the journal, whose last rows are verified."""
    try:
        version = get_version(connection)
        row = connection.execute(SQL["get_store"]).get if version else None
        if row is None:
            raise StoreRefused(f"{store} is no store of onceonly that was ever opened")
        if version < OLDEST_SCHEMA:
            raise StoreRefused(
                f"{store} has schema version {version}; back it up by the program that wrote it, "
                f"or let this one open it once: it reads backups from version {OLDEST_SCHEMA} on"
            )
        return str(row[0]), int(row[1]), *verified_journal_end(connection)
    except apsw.Error as error:
        raise _refused(store, error) from error
    except (StoreFull, StoreFailed, StoreMisused) as error:
        raise StoreRefused(f"{store} cannot be read: {error}") from error


def _check_whole(store: Path, connection: apsw.Connection) -> None:
    try:
        found = connection.execute("PRAGMA quick_check(1)").get
    except apsw.Error as error:
        raise _refused(store, error) from error
    if found != "ok":
        raise StoreRefused(f"{store} is damaged: {found}")


@contextmanager
def _opened(
    path: Path, *, is_read_only: bool = False, folds: bool = True
) -> Iterator[apsw.Connection]:
    """A connection to a database that nobody else writes.

    Where it does not fold, the log stays as it is: that of a store that failed may be in the page
    cache only, and must not be moved into the database (R-22).
    """
    name = f"file:{quote(str(path))}?mode={'ro&immutable=1' if is_read_only else 'rw'}"
    flags = apsw.SQLITE_OPEN_READONLY if is_read_only else apsw.SQLITE_OPEN_READWRITE
    try:
        connection = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI)
    except apsw.Error as error:
        raise _refused(path, error) from error
    if not folds:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    try:
        yield connection
    finally:
        connection.close()


def _refused(path: Path, error: apsw.Error) -> StoreRefused:
    return StoreRefused(f"{path}: {from_sqlite(error)}")


def _copy(source: Path, target: Path) -> None:
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as writing, source.open("rb") as reading:
        shutil.copyfileobj(reading, writing, CHUNK_BYTES)
        writing.flush()
        os.fsync(writing.fileno())


def _remove_log(store: Path) -> None:
    for end in _LOGS:
        store.with_name(store.name + end).unlink(missing_ok=True)


def _sha256_of(file: Path, go_on: GoOn = _always) -> str:
    running = sha256()
    with file.open("rb") as reading:
        while chunk := reading.read(CHUNK_BYTES):
            go_on()
            running.update(chunk)
    return running.hexdigest()


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
