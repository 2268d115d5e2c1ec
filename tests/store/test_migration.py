"""A store of the first schema opens under the newest one and keeps every fact it had."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import apsw
import pytest
from store_samples import NOW_AT, PARTY, row, submitted

from onceonly.journal.record import CHAIN_START, SCHEMA_VERSION, Record, chain, chained_columns
from onceonly.message.digest import Digests
from onceonly.message.errors import ErrorCode, Severity
from onceonly.message.event import Event
from onceonly.message.identity import MessageKey, Pair, PartyId
from onceonly.message.message import DeliverySemantics, Payload
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.pairing import PairStatus, SendingPair
from onceonly.protocol.receiving import InboundStatus, ProcessingState, ReceivingPair
from onceonly.protocol.recovering import Recovery
from onceonly.protocol.sending import Exposure, Outbound, OutboundStatus, Silence
from onceonly.store.contract.bulk import Bulk, BulkAction, BulkItem, BulkState
from onceonly.store.contract.conditions import StoreMisused, StoreRefused
from onceonly.store.contract.entries import InboxStanding, MessageFilter, Notice, Role
from onceonly.store.sqlite.migrate import (
    apply,
    get_version,
    migrate,
    read_migrations,
    whole_schema,
)
from onceonly.store.sqlite.queries import SQL_FILES
from onceonly.store.sqlite.store import SqliteStore

Open = Callable[[Path], SqliteStore]

SELLER = "email:seller@example.com"
CARRIER = "urn:duns:333333333"
PARTIES = ('[["urn:duns:111111111",null]]', '[["seller@example.com","email"]]')
BODY, BIG = b"<Order/>", "b" * 64
DIGEST = sha256(BODY).hexdigest()
PAYLOADS = (
    f'[["p1@buyer","application/xml",{len(BODY)},"{DIGEST}","Nº1.xml"],'
    f'["p2@buyer","image/tiff",100000,"{BIG}",""]]'
)
MESSAGE = (*PARTIES, "c-1", "Orders", "New", 7, "OnceAndOnlyOnce", "earlier", PAYLOADS)
STRACE = shutil.which("strace")

FIRST_ROWS = {
    "store": [(1, PARTY, 4, 11, 9)],
    "tally": [
        ("acknowledged", 1), ("sending", 1), ("queued", 1), ("stored", 1), ("handed_over", 1),
    ],
    "outbound": [
        (3, "m-1", PARTY, SELLER, "tpa", "acknowledged", 2, 1, "left", 5, 90, 1, "paused",
         "TransientError", None, 60),
        (5, "m-2", PARTY, SELLER, "tpa", "sending", 1, 0, "open", 6, None, 0, "none", None, 99,
         None),
        (8, "m-3", PARTY, SELLER, "tpa", "queued", 0, 0, "never", None, 95, 0, "held", None, None,
         None),
    ],
    "outbound_message": [(n, *MESSAGE, "d" * 64, 50) for n in (3, 5, 8)],
    "outbound_package": [(3, "text/xml", "[2,0,1]", b"abc")],
    "outbound_body": [(n << 16, BODY) for n in (3, 5, 8)],
    "idempotency": [("key-3", "m-3")],
    "sending_pair": [
        (PARTY, SELLER, "open", 6, "m-2", None),
        (PARTY, CARRIER, "suspended", None, None, "operator"),
    ],
    "receiving_pair": [(SELLER, PARTY, "quarantined", 4, "m-9", 1, "wrong number")],
    "inbound_key": [("r-1", SELLER, PARTY, 1), ("r-2", SELLER, PARTY, 2)],
    "inbound": [
        (1, "r-1", SELLER, PARTY, "tpa", "handed_over", "in-progress", "e" * 64, 30, 9, 31),
        (2, "r-2", SELLER, PARTY, "tpa", "stored", "not-started", "e" * 64, 32, None, None),
    ],
    "inbound_message": [
        (1, *MESSAGE, "text/xml", "[6]", b"<Ack/>"),
        (2, *MESSAGE, None, None, None),
    ],
    "inbound_body": [(1 << 16, BODY), (2 << 16, BODY)],
    "notice": [(1, "m-0", "DeliveryFailure", "Warning", "DeliveryFailure", "no answer", 0, 20)],
    "incident": [(1, "sender", PARTY, CARRIER, "exhausted", 21, None)],
}  # fmt: skip
"""A row of every kind in every table of the first schema but the journal."""


def journal_rows() -> list[Record]:
    """Rows of the first schema version, whose chain holds."""
    rows, before = [], CHAIN_START
    told = [row(Event.SUBMITTED, "m-1"), row(Event.SUBMITTED, "m-2")]
    told.append(row(Event.RECEIPT_RECEIVED, "m-1", from_party=PARTY))
    told.append(changed(row(Event.APPLICATION_REFUSED, "r-1"), from_party=SELLER))
    for seq, one in enumerate(told, 1):
        record = changed(one, seq=seq, store_epoch=4, schema_version=1)
        before = chain(before, record)
        rows.append(changed(record, chain_hash=before))
    return rows


def first_schema(path: Path) -> None:
    """A file as the first released program left it, with something in every table."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    connection.execute((SQL_FILES / "0001_first.sql").read_text(encoding="utf-8"))
    tables = [name for (name,) in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )]  # fmt: skip
    columns = (*chained_columns(1), "chain_hash")
    told = [tuple(getattr(record, name) for name in columns) for record in journal_rows()]
    rows = {**FIRST_ROWS, "journal": told}
    assert set(tables) == set(rows)
    for table, found in rows.items():
        for values in found:
            marks = ", ".join("?" * len(values))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
    connection.pragma("user_version", 1)
    connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    first_schema(tmp_path / "buyer.db")
    return tmp_path / "buyer.db"


def assert_everything_is_kept(store: SqliteStore) -> None:
    """Every fact of `FIRST_ROWS`, asked for in today's words."""
    snapshot = store.snapshot()
    views = snapshot.list_messages(MessageFilter()).messages
    assert [(view.message.message_id, view.state, view.settled_at) for view in views] == [
        (
            "m-1",
            Outbound(
                OutboundStatus.ACKNOWLEDGED,
                2,
                1,
                Exposure.LEFT,
                5,
                90,
                1,
                Silence.PAUSED,
                0,
                ErrorCode.TRANSIENT_ERROR,
                has_arrived=True,
            ),
            60,
        ),
        ("m-2", Outbound(OutboundStatus.SENDING, 1, 0, Exposure.OPEN, 6), None),
        ("m-3", Outbound(expires_at=95, silence=Silence.HELD), None),
    ]
    sent = views[0].message
    assert (sent.from_ids, sent.to_ids) == (
        (PartyId(PARTY),),
        (PartyId("seller@example.com", "email"),),
    )
    assert (sent.conversation_id, sent.service, sent.action) == ("c-1", "Orders", "New")
    assert (sent.timestamp_at, sent.semantics) == (7, DeliverySemantics.ONCE_AND_ONLY_ONCE)
    assert sent.ref_to_message_id == "earlier"
    assert (sent.time_to_live_at, sent.sync_reply_mode, sent.acknowledgment) == (None, None, None)
    assert sent.payloads == (
        Payload("p1@buyer", "application/xml", len(BODY), DIGEST, "Nº1.xml"),
        Payload("p2@buyer", "image/tiff", 100_000, BIG),
    )
    assert [part.body for part in snapshot.list_payloads("m-1")] == [BODY, None]
    assert snapshot.get_package("m-1") == Package("text/xml", (b"ab", b"", b"c"))
    assert snapshot.find_message_id_by_key("key-3") == "m-3"
    assert snapshot.get_sending_pair(Pair(PARTY, SELLER)) == SendingPair(
        sequence_number=6, in_flight=("m-2",)
    )
    assert snapshot.get_sending_pair(Pair(PARTY, CARRIER)) == SendingPair(
        PairStatus.SUSPENDED, None, (), "operator"
    )
    assert snapshot.get_receiving_pair(Pair(SELLER, PARTY)) == ReceivingPair(
        PairStatus.QUARANTINED, 4, "m-9", takes_any_number=True, reason="wrong number"
    )
    assert [entry.message_id for entry in snapshot.list_in_flight()] == ["m-2"]
    assert snapshot.find_next_queued(Pair(PARTY, SELLER)).message_id == "m-3"
    first = MessageKey(SELLER, PARTY, "r-1")
    entry = snapshot.find_inbound(first)
    assert (entry.status, entry.processing) == (
        InboundStatus.HANDED_OVER,
        ProcessingState.IN_PROGRESS,
    )
    assert snapshot.get_response(first) == Package("text/xml", (b"<Ack/>",))
    [owed] = snapshot.list_stored()
    assert (owed.key.message_id, owed.is_withheld) == ("r-2", False)
    [item] = snapshot.list_inbox(0, 10)
    assert (item.offset, item.received_at, item.handed_over_at) == (9, 30, 31)
    assert [part.body for part in snapshot.list_inbox_payloads(9)] == [BODY, None]
    failure = NoticeKind.DELIVERY_FAILURE
    assert [one for _, one in snapshot.list_notices(0, 10)] == [
        Notice("m-0", failure, Severity.WARNING, ErrorCode.DELIVERY_FAILURE, "no answer", 0, 20)
    ]
    [incident] = snapshot.list_incidents(is_open=True)
    assert (incident.role, incident.opened_at) == (Role.SENDER, 21)
    assert snapshot.list_journal(0, 10) == journal_rows()
    counts = snapshot.count_by_status()
    assert {word: count for word, count in counts.items() if count} == dict(FIRST_ROWS["tally"])


def test_every_fact_of_the_first_schema_is_kept(path: Path, open_in: Open) -> None:
    """Nothing is lost, renumbered or reworded, and the file itself is sound."""
    store = open_in(path)
    assert store.epoch == 5
    assert_everything_is_kept(store)
    store.close()
    connection = apsw.Connection(str(path))
    assert get_version(connection) == len(read_migrations())
    assert connection.pragma("integrity_check") == "ok"


@pytest.fixture
def path_12(path: Path) -> Path:
    """The same store as the twelfth schema had it, with what came after the first."""
    connection = apsw.Connection(str(path))
    for step in read_migrations()[1:12]:
        connection.execute(step.statements)
    connection.execute("""
        INSERT INTO inbound
          SELECT 3, message_id, from_party, to_party, agreement_id, status, processing, digest, 33,
              10, 34, 0, NULL, is_refused, is_withheld, parked, header_digest, ack_requested
            FROM inbound WHERE position = 1;
        INSERT INTO inbound_message SELECT 3, from_ids, to_ids, conversation_id, service, action,
              timestamp_at, semantics, ref_to_message_id, payloads, NULL, NULL, NULL, NULL, NULL,
              NULL, NULL
            FROM inbound_message WHERE position = 1;
        INSERT INTO tombstone VALUES ('r-9', 'urn:them', 'urn:us', 40, NULL);
        UPDATE tally SET messages = 2 WHERE status = 'handed_over';
        UPDATE store SET last_offset = 10;
    """)
    connection.pragma("user_version", 12)
    connection.close()
    return path


def test_keys_and_counts_of_the_twelfth_schema_are_kept(path_12: Path, open_in: Open) -> None:
    """Duplicates are known by their key, those without one have none, and every count goes on."""
    store = open_in(path_12)
    assert store.find_untrue() == []
    key, unknown = MessageKey(SELLER, PARTY, "r-1"), MessageKey(SELLER, PARTY, "r-3")
    snapshot = store.snapshot()
    with_key, without = snapshot.find_inbound(key), snapshot.find_inbound_without_key(key)
    assert with_key is not None
    assert without is not None
    assert (with_key.received_at, without.received_at) == (30, 33)
    assert snapshot.list_inbox_offsets("r-1", 10) == [9, 10]
    assert snapshot.find_inbound(unknown) is None
    counts = snapshot.count_by_status()
    told = {**dict(FIRST_ROWS["tally"]), "handed_over": 2}
    assert {word: count for word, count in counts.items() if count} == told
    transaction = store.begin()
    assert transaction.is_cancelled(MessageKey("urn:them", "urn:us", "r-9"))
    assert transaction.find_inbound_without_key(key) == without
    assert transaction.count_waiting() == 2
    assert transaction.hand_over(MessageKey(SELLER, PARTY, "r-2"), at=NOW_AT) == 11
    ids = {"from_ids": (PartyId("seller@example.com", "email"),), "to_ids": (PartyId(PARTY),)}
    again = changed(snapshot.find_inbound_message(key), **ids)
    with pytest.raises(StoreMisused):
        transaction.add_inbound(again, (), None, digest="e" * 64, received_at=50)
    store.rollback()
    assert store.find_untrue() == []


STRETCHES = "SELECT list, number, earliest_at, latest_at FROM stretch"


@pytest.fixture
def path_before_lists(path: Path) -> Path:
    """A store of the schema before lists could be asked by time, with two thousand rows of each."""
    connection = apsw.Connection(str(path))
    steps = read_migrations()
    [lists] = [step.number for step in steps if step.name.endswith("_lists.sql")]
    for step in steps[1 : lists - 1]:
        connection.execute(step.statements)
    connection.execute(f"""
        CREATE TEMP TABLE up AS WITH RECURSIVE it (n) AS (SELECT 9 UNION ALL SELECT n + 1 FROM it
          LIMIT 2040) SELECT n FROM it;
        INSERT INTO outbound (position, message_id, from_party, to_party, agreement_id, status,
            attempt, episode, exposure, transients, silence, pings)
          SELECT n, 'x-' || n, 'urn:us', 'urn:them', 'tpa', 'failed', 1, 0, 'left', 0,
              'none', 0 FROM up;
        INSERT INTO outbound_message (position, from_ids, to_ids, conversation_id, service, action,
            timestamp_at, semantics, payloads, digest, submitted_at)
          SELECT n, '[["urn:us",null]]', '[["urn:them",null]]', 'c', 's', 'a', n,
              'BestEffort', '[]', 'd', n FROM up;
        INSERT INTO inbound (message_id, from_party, to_party, agreement_id, status, processing,
            digest, received_at, inbox_offset, handed_over_at, has_key)
          SELECT 'y-' || n, 'urn:them', 'urn:us', 'tpa', 'handed_over', 'complete', 'd', n, n + 1,
              n, 1 FROM up;
        UPDATE store SET last_offset = 2049;
        PRAGMA user_version = {lists - 1};
    """)
    connection.close()
    return path


def test_times_of_an_older_store_are_found(path_before_lists: Path, open_in: Open) -> None:
    """What was stored before is listed by its time, and the next stretch ends where it would."""
    store = open_in(path_before_lists)
    rows = list(apsw.Connection(str(path_before_lists)).execute(STRETCHES))
    assert rows == [
        ("inbox", 0, 9, 1_023),
        ("inbox", 1, 1_024, 2_047),
        ("outbound", 0, 9, 1_024),
        ("outbound", 1, 1_025, 2_048),
    ]
    page = store.snapshot().list_messages(MessageFilter(since_at=1_020, until_at=1_030))
    assert [view.submitted_at for view in page.messages] == list(range(1_020, 1_030))


def test_a_migrated_store_has_the_schema_of_a_new_one(
    path: Path, tmp_path: Path, open_in: Open
) -> None:
    """Old and new files differ in nothing that a statement could meet."""
    open_in(path).close()
    open_in(tmp_path / "new.db").close()
    schemas = [
        set(apsw.Connection(str(file)).execute("SELECT type, name, sql FROM sqlite_schema"))
        for file in (path, tmp_path / "new.db")
    ]
    assert schemas[0] == schemas[1]


def test_the_schema_as_it_is_written_is_the_sum_of_the_steps(tmp_path: Path) -> None:
    """To the letter, and with the rows that steps put into a new store."""
    assert (SQL_FILES / "schema.sql").read_text("utf-8") == whole_schema()
    at_once, by_steps = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    migrate(at_once)
    apply(by_steps, read_migrations())
    assert get_version(at_once) == get_version(by_steps) == len(read_migrations())
    listed = "SELECT name, sql FROM sqlite_schema"
    assert set(at_once.execute(listed)) == set(by_steps.execute(listed))
    for (table,) in at_once.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"):
        rows = [list(one.execute(f"SELECT * FROM {table}")) for one in (at_once, by_steps)]
        # A step that copies a table with AUTOINCREMENT leaves the number to go on from, here 0.
        assert rows[0] == rows[1] or table == "sqlite_sequence", table


def test_a_migrated_store_goes_on_where_it_was(path: Path, open_in: Open) -> None:
    """Places, offsets and the journal's chain go on; spooled files are known to be needed."""
    store = open_in(path)
    assert store.snapshot().is_spooled(BIG)
    assert not store.snapshot().is_spooled(DIGEST)
    assert store.snapshot().get_recovery("m-1") == Recovery()
    submitted(store, "m-4")
    [behind] = store.snapshot().list_messages(MessageFilter(after=8)).messages
    assert behind.message.message_id == "m-4"
    second = MessageKey(SELLER, PARTY, "r-2")
    transaction = store.begin()
    assert transaction.hand_over(second, at=NOW_AT) == 10
    assert transaction.purge_outbound("tpa", 61, 10) == 1
    store.commit()
    [kept] = [part for part in store.snapshot().list_payloads("m-2") if part.body is None]
    assert kept.payload.digest == BIG
    assert store.snapshot().is_spooled(BIG)


def test_a_journal_goes_on_in_the_newest_version(path: Path, open_in: Open) -> None:
    """Rows of both versions stand in one chain, and an edit on either side of the change shows."""
    store = open_in(path)
    said = row(Event.SUBMITTED, "m-4", header_digest="1" * 64, ack_requested="Unsigned")
    transaction = store.begin()
    transaction.append([said, row(Event.SUBMITTED, "m-5")])
    store.commit()
    rows = store.snapshot().list_journal(0, 10)
    assert [one.schema_version for one in rows] == [1, 1, 1, 1, SCHEMA_VERSION, SCHEMA_VERSION]
    assert rows[4].header_digest == "1" * 64
    store.close()
    open_in(path).close()
    for edit in ("reason = 'so'", "header_digest = 'x'"):
        for seq in (2, 4, 5, 6):
            edited = path.with_name(f"{seq}.db")
            shutil.copy(path, edited)
            apsw.Connection(str(edited)).execute(f"UPDATE journal SET {edit} WHERE seq = {seq}")
            with pytest.raises(StoreRefused, match=f"damaged at seq {seq}"):
                open_in(edited)


@pytest.mark.statement(ruling="R-37")
def test_messages_of_the_first_schema_are_known_by_their_payloads(
    path: Path, open_in: Open
) -> None:
    """Nobody knows any more how their headers were spelled."""
    snapshot = open_in(path).snapshot()
    entry = snapshot.find_inbound(MessageKey(SELLER, PARTY, "r-1"))
    assert entry is not None
    assert entry.header_digest is None
    assert entry.has_content(Digests("e" * 64, "1" * 64))
    assert not entry.has_content(Digests("f" * 64, "1" * 64))
    [item] = snapshot.list_inbox(0, 10)
    [view, *_] = snapshot.list_messages(MessageFilter()).messages
    assert (item.header_digest, view.header_digest) == (None, None)


def test_a_refusal_of_the_first_schema_stands(path: Path, open_in: Open) -> None:
    """It was in the journal alone; what is refused is done with, and is no work any more."""
    snapshot = open_in(path).snapshot()
    standing = snapshot.find_inbox_standing(9)
    assert standing == InboxStanding(
        InboundStatus.HANDED_OVER, ProcessingState.IN_PROGRESS, is_refused=True
    )
    assert snapshot.list_unfinished(0, 9, ProcessingState.COMPLETE, 10) == []


def test_a_key_of_the_first_schema_goes_with_its_message(path: Path, open_in: Open) -> None:
    """The Idempotency-Key was found for its message, so a purge forgets both."""
    store = open_in(path)
    transaction = store.begin()
    cancelled = Outbound(OutboundStatus.CANCELLED)
    transaction.put_outbound("m-3", cancelled, at=70)
    assert transaction.purge_outbound("tpa", 99, 10) == 2
    store.commit()
    assert store.snapshot().find_message_id_by_key("key-3") is None


def test_pairs_of_the_first_schema_are_not_taken_for_idle(path: Path, open_in: Open) -> None:
    """When they were used is unknown, so it counts as the latest instant that the file knows."""
    store = open_in(path)
    transaction = store.begin()
    for name in ("m-2", "m-3"):
        transaction.put_outbound(name, Outbound(OutboundStatus.CANCELLED), at=55)
    store.commit()
    store.close()
    apsw.Connection(str(path)).execute("UPDATE sending_pair SET in_flight = NULL")
    snapshot = open_in(path).snapshot()
    assert list(snapshot.list_idle_pairs(60)) == []
    assert list(snapshot.list_idle_pairs(61)) == [Pair(PARTY, SELLER)]


@pytest.mark.skipif(STRACE is None, reason="strace is missing")
@pytest.mark.parametrize("number", [1, 2, 4, 7, 11, 16, 22, 29, 37, 46])
def test_a_kill_during_the_migration_leaves_the_old_store_or_the_new_one(
    path: Path, open_in: Open, number: int
) -> None:
    """The migration is one transaction: killed at any write or sync, the next start does it."""
    program = (
        "import sys, pathlib\n"
        "from onceonly.store.sqlite.store import open_sqlite\n"
        f"open_sqlite(pathlib.Path(sys.argv[1]), party={PARTY!r}, clock_at=lambda: 0).close()\n"
    )
    inject = f"inject=pwrite64,fsync,fdatasync:signal=KILL:when={number}"
    traced = [STRACE or "", "-f", "-o", "/dev/null", "-e", inject]
    child = subprocess.run(
        [*traced, sys.executable, "-c", program, str(path)], capture_output=True, check=False
    )
    if b"ptrace" in child.stderr:
        pytest.skip("strace may not trace here")
    assert_everything_is_kept(open_in(path))


@pytest.mark.parametrize(("exposure", "is_certain"), [("never", True), ("open", False)])
def test_of_an_old_failure_only_what_never_left_is_certain(
    path: Path, open_in: Open, exposure: str, is_certain: bool
) -> None:
    """Whether the refused copy was the only one is not known any more (R-41)."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE outbound SET status = 'failed', exposure = ?", (exposure,))
    connection.close()
    entry = open_in(path).snapshot().find_outbound("m-1")
    assert entry is not None
    assert entry.state.is_certain is is_certain


def test_the_incident_of_an_old_suspension_is_that_of_the_trouble(
    path: Path, open_in: Open
) -> None:
    """What closed the pair then is what a resume ends now (R-40)."""
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE sending_pair SET reason = 'exhausted' WHERE status = 'suspended'")
    connection.close()
    snapshot = open_in(path).snapshot()
    [incident] = snapshot.list_incidents(is_open=True)
    assert (incident.is_trouble, incident.opened_at) == (True, 21)
    assert snapshot.get_sending_pair(Pair(PARTY, CARRIER)).trouble == "exhausted"


def test_the_words_that_end_a_doubt_cost_nothing_that_was_there(path: Path, open_in: Open) -> None:
    """The twentieth step builds tables anew: their indexes and their last numbers stay (R-49)."""
    connection = apsw.Connection(str(path))
    indexes = (
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index'"
        " AND tbl_name IN ('outbound', 'notice', 'bulk')"
        " AND name <> 'outbound_queued' ORDER BY name"  # which the 25th step makes anew
    )
    for step in read_migrations()[1:19]:
        connection.execute(step.statements)
    connection.execute("""
        INSERT INTO bulk (number, action, reason, query, state, prepared_at)
          VALUES (7, 'ask', 'why', '{}', 'done', 1);
        DELETE FROM bulk;
        DELETE FROM outbound WHERE message_id = 'm-3';
        PRAGMA user_version = 19;
    """)
    before = list(connection.execute(indexes))
    connection.close()
    store = open_in(path)
    assert list(apsw.Connection(str(path)).execute(indexes)) == before
    numbers = apsw.Connection(str(path)).execute("SELECT name, seq FROM sqlite_sequence").get
    assert numbers == [("outbound", 8), ("bulk", 7)]
    assert store.snapshot().find_outbound("m-1") is not None


def test_actions_in_bulk_and_the_inbox_of_an_older_store_are_kept(
    path: Path, open_in: Open
) -> None:
    """The words of actions lose their check, and nothing else; no item repeats another."""
    connection = apsw.Connection(str(path))
    steps = read_migrations()
    [again] = [step.number for step in steps if step.name.endswith("_handed_over_again.sql")]
    for step in steps[1 : again - 1]:
        connection.execute(step.statements)
    connection.execute(f"""
        INSERT INTO bulk (number, action, reason, query, state, prepared_at, items)
          VALUES (4, 'resend', 'why', '{{}}', 'running', 7, 2), (9, 'ask', '', '', 'done', 8, 0);
        INSERT INTO bulk_item (bulk, item, message_id, outcome, at)
          VALUES (4, 1, 'm-1', 'done', 9), (4, 2, 'm-2', NULL, NULL);
        DELETE FROM bulk WHERE number = 9;
        PRAGMA user_version = {again - 1};
    """)
    connection.close()
    store = open_in(path)
    snapshot = store.snapshot()
    kept = Bulk(4, BulkAction.RESEND, "why", "{}", BulkState.RUNNING, 7, items=2)
    assert list(snapshot.list_running_bulks()) == [kept]
    assert snapshot.list_open_items(4, 9) == [BulkItem(2, "m-2")]
    assert store.begin().add_bulk(BulkAction.REDELIVER, "why", "{}", at=9).number == 10
    store.commit()
    assert {item.repeats for item in snapshot.list_inbox(0, 99)} <= {None}
    store.close()
