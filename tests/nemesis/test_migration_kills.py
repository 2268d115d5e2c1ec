"""A gateway that dies while it brings a store of the first release to the newest schema (C8, C2).

The store is that of a real exchange, put back into the first schema with everything that it had
a place for: messages in flight, queued, stored and not handed over. The process that opens it is
killed at every sync and write; then it is opened for good, and every message arrives once.
"""

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from nemesis_evidence import check_exchange
from nemesis_faults import Form, traced, under_strace
from nemesis_gateways import Exchange, Gateway

from onceonly.journal.record import CHAIN_START, Record, chain, chained_columns
from onceonly.store.contract.counting import COUNTED
from onceonly.store.sqlite.migrate import get_version, read_migrations

pytestmark = traced

KILL = "signal=KILL:when={}"
POINTS_MAX = 1_000
"""A sweep that is still killed here does not move."""

LARGE_BYTES = 100_000

IN_OTHER_FORM = {
    "tally": " UNION ALL ".join(
        f"SELECT '{status}', {status} FROM newest.store WHERE {status} > 0" for status in COUNTED
    ),
    "inbound_key": "SELECT message_id, from_party, to_party, position FROM newest.inbound"
    " WHERE has_key = 1",
}
"""Tables that the newest schema has no more, and what it has instead of their rows."""


def unfinished(exchange: Exchange) -> None:
    """Some messages complete; of the others one is stored and in flight, two are queued."""
    exchange.start()
    exchange.complete("small")
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "large", LARGE_BYTES)
        exchange.await_complete(ours, theirs, "large")
        exchange.receiver.restart("before-hand-over:1")
        for message_id in ("stored", "queued", "queued-behind"):
            exchange.submit(ours, message_id)
        exchange.receiver.await_death()
    exchange.sender.kill()


def put_back(path: Path) -> None:
    """Make of the store what the first release had left."""
    newest = path.with_name("newest.db")
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("VACUUM INTO ?", (str(newest),))
    for file in path.parent.glob(f"{path.name}*"):
        if file.is_file() and not file.name.endswith("lock"):
            file.unlink()
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.execute(read_migrations()[0].statements)
        connection.execute("ATTACH ? AS newest", (str(newest),))
        for table in _tables(connection):
            if table in IN_OTHER_FORM:
                connection.execute(f"INSERT INTO main.{table} {IN_OTHER_FORM[table]}")
                continue
            columns = ", ".join(
                name for _, name, *_ in connection.execute(f"PRAGMA main.table_info({table})")
            )
            connection.execute(
                f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM newest.{table}"
            )
        _chain_anew(connection)
        connection.pragma("user_version", 1)
    newest.unlink()


def _chain_anew(connection: apsw.Connection) -> None:
    """The journal as the first release wrote it: rows of the first version, and their hashes."""
    names = [name for name in chained_columns(1) if name != "schema_version"]
    previous = CHAIN_START
    rows = connection.execute(
        f"SELECT {', '.join(names)} FROM main.journal ORDER BY seq"
    ).fetchall()
    for values in rows:
        record = Record(**dict(zip(names, values, strict=True)), schema_version=1)
        previous = chain(previous, record)
        connection.execute(
            "UPDATE main.journal SET schema_version = 1, chain_hash = ? WHERE seq = ?",
            (previous, record.seq),
        )


def _tables(connection: apsw.Connection) -> list[str]:
    query = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    return [name for (name,) in connection.execute(query)]


def version_of(path: Path) -> int:
    with closing(apsw.Connection(str(path))) as connection:
        return get_version(connection)


def opens(gateway: Gateway, call: str, number: int, log: Path) -> bool:
    """Whether it gets ready although it is to be killed at the N-th `call`."""
    gateway.launch_command(*under_strace(call, KILL.format(number), log))
    is_ready = gateway.wait_until_ready_or_dead() is None
    if is_ready:
        gateway.kill()  # The fault still lies in wait for its other threads.
    return is_ready


@pytest.mark.statement("S1-04")
@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_a_kill_during_the_migration_loses_nothing(
    exchange: Exchange, call: str, form: Form, tmp_path: Path
) -> None:
    """Both stores, at each point: the next opening does it all, and the exchange goes on."""
    unfinished(exchange)
    chance = form.chance("migration", call)
    for gateway in exchange.gateways:
        put_back(gateway.site.store)
        assert version_of(gateway.site.store) == 1
        points = range(1, POINTS_MAX) if form.is_full else [chance.randrange(1, 4)]
        for number in points:
            if opens(gateway, call, number, tmp_path / "trace"):
                break
    exchange.start()
    for message_id in exchange.payloads:
        exchange.complete(message_id)
    check_exchange(exchange)
    for gateway in exchange.gateways:
        gateway.kill()
        assert version_of(gateway.site.store) == len(read_migrations())
