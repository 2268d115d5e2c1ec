"""Backups: whole or refused, and a way back that a crash cannot make worse (C6, I35)."""

import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from store_samples import NOW_AT, PARTY, message, spooled, stored, submit

from onceonly.message.instant import US_PER_S
from onceonly.message.word import changed
from onceonly.store.contract.bulk import BulkAction, BulkState
from onceonly.store.contract.conditions import StoreRefused
from onceonly.store.contract.store import Store
from onceonly.store.spool import INLINE_BYTES_MAX, Spool
from onceonly.store.sqlite import backup
from onceonly.store.sqlite.backup import EPOCHS_SKIPPED, PAYLOADS_FOLDER, STORE_FILE
from onceonly.store.sqlite.migrate import read_migrations
from onceonly.store.sqlite.store import RESTORING, SqliteStore, open_sqlite

Open = Callable[[Path], SqliteStore]
BIG = bytes(range(256)) * (INLINE_BYTES_MAX // 256 + 1)
KILLS = 12


def put(store: Store, message_id: str, *payloads: bytes) -> None:
    """A submission of its own transaction."""
    parts = [stored(body, number) for number, body in enumerate(payloads, 1)]
    submit(store.begin(), message(message_id, *parts), *parts)
    store.commit()


def put_big(store: Store, spool: Spool, message_id: str) -> str:
    """A submission whose payload is a file; returns its digest."""
    sink = spool.open_sink()
    sink.write(BIG + message_id.encode())
    size, digest = sink.close()
    sink.keep()
    part = spooled(size, digest)
    submit(store.begin(), message(message_id, part), part)
    store.commit()
    return digest


def back_up(store: SqliteStore, spool: Path, folder: Path, between: Callable[[int], None]) -> None:
    """One page at a time; `between` is called after each."""
    run = store.begin_copy(backup.begin(folder, spool))
    steps = 0
    while not run.step(1):
        steps += 1
        between(steps)
    run.end()
    backup.seal(folder, spool, made_at=NOW_AT)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the store of the gateway is."""
    return tmp_path / "buyer.db"


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "buyer.db-spool"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups" / "monday"


@pytest.fixture
def made(place: Path, spool: Path, folder: Path, open_in: Open) -> Path:
    """A backup of two messages, one of which has a large payload."""
    store = open_in(place)
    put(store, "m-1", b"<Order/>")
    put_big(store, Spool(spool), "m-2")
    store.close()
    backup.take(place, spool, folder, made_at=lambda: NOW_AT)
    return folder


def restored(folder: Path, place: Path, spool: Path, **how: object) -> backup.Restored:
    return backup.restore(folder, place, spool, **{"party": PARTY, "now_at": NOW_AT, **how})  # type: ignore[arg-type]  # because each test gives some


def test_a_copy_has_what_was_committed_until_its_end(
    place: Path, spool: Path, folder: Path, open_in: Open, tmp_path: Path
) -> None:
    """Written between the steps of the copy, to pages that were copied and to new ones."""
    store, files = open_in(place), Spool(spool)
    for number in range(20):
        put(store, f"before-{number}", b"<Order/>" * 100)
    written: list[str] = []

    def write(steps: int) -> None:
        if steps % 3 == 0 and len(written) < 30:
            put(store, f"during-{steps}", b"<Order/>" * 50)
            put_big(store, files, f"big-{steps}")
            written.extend((f"during-{steps}", f"big-{steps}"))

    back_up(store, spool, folder, write)
    assert len(written) >= 20, "there was time to write"
    backup.verify(folder, party=PARTY)
    elsewhere = tmp_path / "elsewhere.db"
    restored(folder, elsewhere, tmp_path / "elsewhere.db-spool")
    copy = open_in(elsewhere).snapshot()
    for name in (*written, *(f"before-{number}" for number in range(20))):
        assert copy.find_outbound(name) is not None, name
    assert copy.list_journal(0, 10_000) == store.snapshot().list_journal(0, 10_000)


def test_a_restored_store_is_the_one_that_was_backed_up(
    made: Path, place: Path, spool: Path, open_in: Open
) -> None:
    aside = place.with_name("aside")
    later = open_in(place)
    put(later, "m-3", b"<Order/>")
    later.close()
    found = restored(made, place, spool, aside=aside)
    assert found.replaced == aside
    store = open_in(place)
    names = [name for name in ("m-1", "m-2", "m-3") if store.snapshot().find_outbound(name)]
    assert names == ["m-1", "m-2"]
    [part] = store.snapshot().list_payloads("m-2")
    assert b"".join(Spool(spool).open_reader(part.payload.digest)) == BIG + b"m-2"
    assert open_in(aside / place.name).snapshot().find_outbound("m-3") is not None


def test_an_action_on_many_messages_does_not_go_on_by_itself(
    place: Path, spool: Path, folder: Path, open_in: Open
) -> None:
    """What was sent again after the backup would be sent again once more, as new messages."""
    store = open_in(place)
    put(store, "m-1", b"<Order/>")
    txn = store.begin()
    bulk = txn.add_bulk(BulkAction.RESEND_ANYWAY, "lost", "{}", at=NOW_AT)
    txn.put_bulk(changed(bulk, state=BulkState.RUNNING, started_at=NOW_AT))
    store.commit()
    store.close()
    backup.take(place, spool, folder, made_at=lambda: NOW_AT)
    restored(folder, place, spool, aside=place.with_name("aside"))
    found = open_in(place).snapshot().find_bulk(bulk.number)
    assert found is not None
    assert found.state is BulkState.STOPPED


def test_the_epoch_is_later_than_any_before(
    made: Path, place: Path, spool: Path, open_in: Open, tmp_path: Path
) -> None:
    """Known from the store that is replaced, from the lake, or from neither (I35)."""
    first = backup.verify(made, party=PARTY).store_epoch
    found = restored(made, tmp_path / "new.db", tmp_path / "new.db-spool")
    assert found.store_epoch == first + EPOCHS_SKIPPED
    assert open_in(tmp_path / "new.db").epoch == found.store_epoch + 1
    lake = first + 2 * EPOCHS_SKIPPED
    found = restored(made, place, spool, aside=tmp_path / "a", known_epoch=lake)
    assert found.store_epoch == lake + 1
    found = restored(made, place, spool, aside=tmp_path / "b")
    assert found.store_epoch == lake + 2
    later = NOW_AT + 86_400 * US_PER_S
    found = restored(made, tmp_path / "c.db", tmp_path / "c.db-spool", now_at=later)
    assert found.store_epoch == first + EPOCHS_SKIPPED + 86_400


def test_a_store_is_replaced_only_on_demand(made: Path, place: Path, spool: Path) -> None:
    with pytest.raises(StoreRefused, match="only replaced if you say so"):
        restored(made, place, spool)


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_the_log_of_a_lost_store_is_not_taken_for_that_of_the_restored_one(
    made: Path, place: Path, spool: Path, tmp_path: Path, open_in: Open, end: str
) -> None:
    """SQLite would apply it at the first opening, and undo the restore."""
    for one in (place, spool):
        one.rename(tmp_path / f"lost-{one.name}")
    place.with_name(place.name + end).write_bytes(b"what a dead process left")
    with pytest.raises(StoreRefused, match="what is left of one"):
        restored(made, place, spool)
    restored(made, place, spool, aside=tmp_path / "aside")
    assert open_in(place).snapshot().find_outbound("m-2") is not None


def test_the_log_of_a_store_that_failed_is_not_folded(
    place: Path, spool: Path, folder: Path, open_in: Open, tmp_path: Path
) -> None:
    """It may be in the page cache only, and must not get into the database by a backup (R-22)."""
    store = open_in(place)
    put(store, "m-1", b"<Order/>")
    store.crash()
    log = place.with_name(f"{place.name}-wal")
    store._lock.release()
    before = log.read_bytes(), place.read_bytes()
    backup.take(place, spool, folder, made_at=lambda: NOW_AT)
    assert (log.read_bytes(), place.read_bytes()) == before
    restored(folder, place, spool, aside=tmp_path / "aside")
    assert (tmp_path / "aside" / log.name).read_bytes() == before[0]


@pytest.mark.parametrize("version", [2, 8])
def test_a_store_of_an_old_schema_is_refused_by_name(
    place: Path, spool: Path, folder: Path, version: int
) -> None:
    with contextlib.closing(apsw.Connection(str(place))) as connection:
        for step in read_migrations()[:version]:
            connection.execute(step.statements)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.execute("INSERT INTO store VALUES (1, ?, 1, 0, 0)", (PARTY,))
    with pytest.raises(StoreRefused, match=f"schema version {version}"):
        backup.take(place, spool, folder, made_at=lambda: NOW_AT)


def test_neither_way_touches_a_store_that_is_open(
    made: Path, place: Path, spool: Path, open_in: Open, tmp_path: Path
) -> None:
    open_in(place)
    with pytest.raises(StoreRefused, match="in use by process"):
        restored(made, place, spool, aside=tmp_path / "aside")
    with pytest.raises(StoreRefused, match="in use by process"):
        backup.take(place, spool, tmp_path / "second", made_at=lambda: NOW_AT)
    assert not list(tmp_path.glob(f"*{backup.PARTIAL}"))


def test_a_backup_is_never_written_over(made: Path, place: Path, spool: Path) -> None:
    with pytest.raises(StoreRefused, match="exists already"):
        backup.take(place, spool, made, made_at=lambda: NOW_AT)
    backup.verify(made, party=PARTY)


class Stopped(Exception):  # noqa: N818 - because it names what happened, and nothing failed
    """A gateway that stops tells its backup so."""


def stopping_after(calls: int) -> Callable[[], None]:
    left = iter(range(calls))

    def go_on() -> None:
        if next(left, None) is None:
            raise Stopped

    return go_on


def test_a_backup_ends_where_it_is_told_to(
    place: Path, spool: Path, folder: Path, open_in: Open
) -> None:
    """A gateway that stops waits for no large spool and no checksum of a large store."""
    store = open_in(place)
    for number in range(3):
        put_big(store, Spool(spool), f"m-{number}")
    with pytest.raises(Stopped):
        backup.begin(folder, spool, stopping_after(1))
    assert len(list((backup.partial_of(folder) / PAYLOADS_FOLDER).iterdir())) == 1
    run = store.begin_copy(backup.begin(folder, spool))
    while not run.step():
        pass
    run.end()
    with pytest.raises(Stopped):
        backup.seal(folder, spool, made_at=NOW_AT, go_on=stopping_after(4))
    assert not folder.exists()
    backup.seal(folder, spool, made_at=NOW_AT)
    backup.verify(folder, party=PARTY)


def test_a_payload_that_is_missing_is_no_backup(
    place: Path, spool: Path, folder: Path, open_in: Open
) -> None:
    store = open_in(place)
    digest = put_big(store, Spool(spool), "m-1")
    store.close()
    (spool / digest).unlink()
    with pytest.raises(StoreRefused, match=f"payload {digest} is mentioned"):
        backup.take(place, spool, folder, made_at=lambda: NOW_AT)
    assert not folder.exists()
    assert not backup.partial_of(folder).exists()


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    # A new file, since a backup may share its bytes with the spool.
    file.unlink()
    file.write_bytes(bytes(data))


def _payload(folder: Path) -> Path:
    [file] = (folder / PAYLOADS_FOLDER).iterdir()
    return file


HARMS: dict[str, tuple[Callable[[Path], None], str]] = {
    "store changed": (lambda made: _flip(made / STORE_FILE), "SHA-256 differs"),
    "store cut": (lambda made: os.truncate(made / STORE_FILE, 8192), "SHA-256 differs"),
    "payload changed": (lambda made: _flip(_payload(made)), "is damaged"),
    "payload gone": (lambda made: _payload(made).unlink(), "is not in the backup"),
    "not whole": (lambda made: (made / "backup.json").unlink(), "is no whole backup"),
    "no words": (lambda made: (made / "backup.json").write_text("{"), "cannot be read"),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_backup_is_refused_by_name(
    made: Path, place: Path, spool: Path, tmp_path: Path, open_in: Open, harm: str
) -> None:
    """And what is there stays."""
    do, words = HARMS[harm]
    do(made)
    with pytest.raises(StoreRefused, match=words):
        backup.verify(made, party=PARTY)
    with pytest.raises(StoreRefused, match=words):
        restored(made, place, spool, aside=tmp_path / "aside")
    assert open_in(place).snapshot().find_outbound("m-2") is not None


def test_another_partys_backup_is_refused(made: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="belongs to"):
        backup.restore(
            made, tmp_path / "x.db", tmp_path / "x.db-spool", party="urn:duns:9", now_at=0
        )


def test_no_gateway_starts_over_a_restore_that_was_cut_off(
    made: Path, place: Path, spool: Path, open_in: Open, tmp_path: Path
) -> None:
    """A new, empty store in its place would promise what the old one had promised already."""
    place.unlink()
    place.with_name(place.name + RESTORING).write_bytes(b"half")
    with pytest.raises(StoreRefused, match="was cut off"):
        open_in(place)
    restored(made, place, spool, aside=tmp_path / "aside")
    assert open_in(place).snapshot().find_outbound("m-1") is not None


def test_a_restore_that_is_cut_off_twice_leaves_its_mark(
    made: Path, place: Path, tmp_path: Path
) -> None:
    """Ended in the instant before the second one opens its file: no empty store may be made."""
    place.unlink()
    coming = place.with_name(place.name + RESTORING)
    coming.write_bytes(b"half")
    ends_there = f"""
import os, sys
sys.addaudithook(lambda event, args: event == "open" and args[0] == {str(coming)!r} and os._exit(9))
"""
    command = [sys.executable, "-c", ends_there + CHILD, str(made), str(place), str(tmp_path / "a")]
    ended = subprocess.run([*command, PARTY], check=False, stdout=subprocess.DEVNULL)
    assert ended.returncode == 9
    with pytest.raises(StoreRefused, match="was cut off"):
        open_sqlite(place, party=PARTY, clock_at=lambda: NOW_AT)


CHILD = """
import sys
from pathlib import Path
from onceonly.store.sqlite import backup
made, place, aside = map(Path, sys.argv[1:4])
print("restoring", flush=True)
spool = place.with_name(place.name + "-spool")
backup.restore(made, place, spool, party=sys.argv[4], now_at=0, aside=aside)
"""


def restore_and_kill(made: Path, place: Path, aside: Path, after_s: float) -> None:
    command = [sys.executable, "-c", CHILD, str(made), str(place), str(aside), PARTY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=after_s)
        child.kill()


def whose(place: Path, spool: Path) -> str:
    """Which store a start finds there, or that it refuses."""
    try:
        store = open_sqlite(place, party=PARTY, clock_at=lambda: NOW_AT)
    except StoreRefused as refused:
        return "cut off" if "was cut off" in str(refused) else str(refused)
    with contextlib.closing(store):
        [part] = store.snapshot().list_payloads("m-2")
        assert b"".join(Spool(spool).open_reader(part.payload.digest)) == BIG + b"m-2"
        assert store.snapshot().find_outbound("m-1") is not None
        return "old" if store.snapshot().find_outbound("m-3") else "new"


def test_a_restore_that_is_killed_leaves_the_old_store_the_new_one_or_a_refusal(
    made: Path, place: Path, spool: Path, tmp_path: Path, open_in: Open
) -> None:
    """Killed at random instants; then it is run again, and ends well."""
    later = open_in(place)
    put(later, "m-3", b"<Order/>")
    later.close()
    chance, seen = random.Random(7), set()
    for kill in range(KILLS):
        restore_and_kill(made, place, tmp_path / f"aside-{kill}", chance.uniform(0, 0.04))
        seen.add(whose(place, spool))
    assert seen <= {"old", "new", "cut off"}
    restored(made, place, spool, aside=tmp_path / "last")
    assert whose(place, spool) == "new"
