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
from onceonly.message.word import Word
from onceonly.store.contract.conditions import StoreRefused
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
"""By so much the epoch grows where nobody knows how often the store was opened since the backup."""

_DIGEST_LENGTH = 64


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


def begin(folder: Path, spool: Path) -> Path:
    """Make the partial folder, with the payloads that are there now; returns where the store goes.

    Raises `StoreRefused` if there is a backup of that name already, and `OSError`.
    """
    if folder.exists():
        raise StoreRefused(f"{folder} exists already; a backup is never written over")
    partial = partial_of(folder)
    if folder.parent.exists():
        for left in folder.parent.glob(f"*{PARTIAL}"):  # by a crash; no two are made at once
            shutil.rmtree(left, ignore_errors=True)
    (partial / PAYLOADS_FOLDER).mkdir(parents=True, mode=0o700)
    partial.chmod(0o700)
    # Before the store, too: what it mentions at the end and a purge takes away then is there.
    _share_payloads(spool, partial / PAYLOADS_FOLDER)
    return partial / STORE_FILE


def seal(folder: Path, spool: Path, *, made_at: int) -> BackupFacts:
    """Make the backup whole: the payloads that came meanwhile, checks, checksums, its name.

    Raises `StoreRefused` if something is missing or damaged, and `OSError`.
    """
    partial = partial_of(folder)
    _share_payloads(spool, partial / PAYLOADS_FOLDER)
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
        store_sha256=_sha256_of(store),
        payload_files=len(kept),
        payload_bytes=sum(file.stat().st_size for file in kept),
    )
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    (partial / MANIFEST_FILE).write_bytes(text + b"\n")
    for file in (store, *kept, partial / MANIFEST_FILE, partial / PAYLOADS_FOLDER, partial):
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
        with _opened(path) as source:
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


def restore(
    folder: Path,
    path: Path,
    spool: Path,
    *,
    party: str,
    known_epoch: int = 0,
    aside: Path | None = None,
) -> Restored:
    """Put the backup in the place of the store at `path`, whose gateway does not run.

    `known_epoch` is the latest that somebody else knows of, such as the lake. A store that is there
    is moved to `aside`, and without `aside` it stays and the restore is refused. What a crash
    leaves is seen by the next start, which refuses until a restore has ended. Raises `StoreRefused`
    and `OSError`.
    """
    manifest = verify(folder, party=party)
    lock = StoreLock(path.with_name(path.name + ".lock"))
    try:
        if aside is None and (path.exists() or spool.exists()):
            raise StoreRefused(f"there is a store at {path}; it is only replaced if you say so")
        epoch = _epoch_after(manifest, path, known_epoch)
        coming, coming_payloads = (one.with_name(one.name + RESTORING) for one in (path, spool))
        shutil.rmtree(coming_payloads, ignore_errors=True)
        _remove_with_log(coming)
        _copy(folder / STORE_FILE, coming)
        _sync(path.parent)
        _set_epoch(coming, epoch)
        coming_payloads.mkdir(mode=0o700)
        for file in (folder / PAYLOADS_FOLDER).iterdir():
            _copy(file, coming_payloads / file.name)
        _sync(coming_payloads)
        replaced = _move_aside(path, spool, aside)
        coming_payloads.rename(spool)
        coming.rename(path)
        _sync(path.parent)
        return Restored(manifest, epoch, replaced)
    finally:
        lock.release()


def _epoch_after(manifest: BackupFacts, path: Path, known_epoch: int) -> int:
    known = known_epoch
    if path.exists():
        with suppress(StoreRefused, apsw.Error), _opened(path) as connection:
            _, found = connection.execute(SQL["get_store"]).get
            known = max(known, int(found))
    # An opening at least was not counted there: the one that wrote the last thing that we know of.
    return max(manifest.store_epoch + EPOCHS_SKIPPED, known + 1)


def _set_epoch(store: Path, epoch: int) -> None:
    with _opened(store) as connection:
        connection.execute("UPDATE store SET epoch = ?", (epoch,))
    _sync(store)


def _move_aside(path: Path, spool: Path, aside: Path | None) -> Path | None:
    if aside is None:
        return None
    aside.mkdir(mode=0o700)
    # The store first: without it nobody misses its payloads.
    log = (path.with_name(path.name + end) for end in ("", "-wal", "-shm"))
    for one in (*log, spool):
        if one.exists():
            one.rename(aside / one.name)
    _sync(aside)
    return aside


def _read_manifest(folder: Path) -> BackupFacts:
    file = folder / MANIFEST_FILE
    try:
        manifest = msgspec.json.decode(file.read_bytes(), type=BackupFacts)
    except FileNotFoundError as error:
        raise StoreRefused(f"{folder} is no whole backup: it has no {MANIFEST_FILE}") from error
    except (OSError, msgspec.DecodeError) as error:
        raise StoreRefused(f"{file} cannot be read: {error}") from error
    if manifest.format != FORMAT:
        raise StoreRefused(f"{file} has format {manifest.format}; this program reads {FORMAT}")
    return manifest


def _share_payloads(spool: Path, target: Path) -> None:
    """By hard links where the file system has them; what is there already stays."""
    if not spool.exists():
        return
    for name in os.listdir(spool):  # noqa: PTH208 - because a spool of a million names is no list of paths
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
        row = connection.execute(SQL["get_store"]).get if get_version(connection) else None
        if row is None:
            raise StoreRefused(f"{store} is no store of onceonly that was ever opened")
        return str(row[0]), int(row[1]), *verified_journal_end(connection)
    except apsw.Error as error:
        raise _refused(store, error) from error


def _check_whole(store: Path, connection: apsw.Connection) -> None:
    try:
        found = connection.execute("PRAGMA quick_check(1)").get
    except apsw.Error as error:
        raise _refused(store, error) from error
    if found != "ok":
        raise StoreRefused(f"{store} is damaged: {found}")


@contextmanager
def _opened(path: Path, *, is_read_only: bool = False) -> Iterator[apsw.Connection]:
    """A connection to a database that nobody else writes."""
    name = f"file:{quote(str(path))}?mode={'ro&immutable=1' if is_read_only else 'rw'}"
    flags = apsw.SQLITE_OPEN_READONLY if is_read_only else apsw.SQLITE_OPEN_READWRITE
    try:
        connection = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI)
    except apsw.Error as error:
        raise _refused(path, error) from error
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


def _remove_with_log(store: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        store.with_name(store.name + end).unlink(missing_ok=True)


def _sha256_of(file: Path) -> str:
    running = sha256()
    with file.open("rb") as reading:
        while chunk := reading.read(CHUNK_BYTES):
            running.update(chunk)
    return running.hexdigest()


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
