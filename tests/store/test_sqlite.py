"""What only the SQLite store promises: durable or refused, one process, words equal to Enums."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from store_samples import (
    ACKNOWLEDGED,
    NOW_AT,
    PARTY,
    QUEUED,
    SENDING,
    message,
    receive,
    row,
    stored,
    submit,
)

from onceonly.journal.record import COLUMNS, chained_columns, younger_than
from onceonly.message.errors import Severity
from onceonly.message.event import Direction, Event
from onceonly.message.message import AckRequested, DeliverySemantics, SyncReplyMode
from onceonly.message.signals import MessageStatus, ReportedProcessing
from onceonly.protocol.effects import NoticeKind
from onceonly.protocol.ordering import OrderStatus
from onceonly.protocol.pairing import PairStatus
from onceonly.protocol.receiving import InboundStatus, ProcessingState
from onceonly.protocol.recovering import RecoveryPhase, ResponseStatus
from onceonly.protocol.relaying import TransitStatus
from onceonly.protocol.sending import Exposure, OutboundStatus, Silence
from onceonly.store.contract.agreements import AgreementStep
from onceonly.store.contract.alerts import AlertLevel
from onceonly.store.contract.bulk import BulkState, ItemOutcome
from onceonly.store.contract.conditions import StoreFailed, StoreFull, StoreRefused
from onceonly.store.contract.counters import Span
from onceonly.store.contract.entries import Role
from onceonly.store.contract.evidence import EvidenceKind
from onceonly.store.contract.jobs import RowOutcome
from onceonly.store.contract.webhooks import DeliveryState
from onceonly.store.sqlite.mapping import Way
from onceonly.store.sqlite.migrate import get_version, read_migrations
from onceonly.store.sqlite.queries import SQL, SQL_FILES, parse_queries
from onceonly.store.sqlite.store import LogLimits, SqliteStore, check_version, open_sqlite
from query_plans import count_bindings

Open = Callable[[Path], SqliteStore]

AGREED_ONLY = {"AtLeastOnce", "mshSignalsOnly"}
"""Words of agreements that no header comes to, so that no message is stored with one."""

CHECKED_WORDS = {
    ("evidence", "kind"): EvidenceKind,
    ("counter", "span"): Span,
    ("outbound", "status"): OutboundStatus,
    ("sending_order", "status"): OrderStatus,
    ("outbound", "exposure"): Exposure,
    ("outbound", "silence"): Silence,
    ("outbound_message", "semantics"): DeliverySemantics,
    ("outbound_message", "sync_reply_mode"): SyncReplyMode,
    ("outbound_message", "delivery_receipt_requested"): AckRequested,
    ("sending_pair", "status"): PairStatus,
    ("receiving_pair", "status"): PairStatus,
    ("inbound", "status"): InboundStatus,
    ("inbound", "processing"): ProcessingState,
    ("inbound", "ack_requested"): AckRequested,
    ("inbound_message", "semantics"): DeliverySemantics,
    ("inbound_message", "sync_reply_mode"): SyncReplyMode,
    ("inbound_message", "delivery_receipt_requested"): AckRequested,
    ("recovery", "phase"): RecoveryPhase,
    ("recovery", "response"): ResponseStatus,
    ("recovery", "status"): MessageStatus,
    ("recovery", "processing"): ReportedProcessing,
    ("transit", "ack_requested"): AckRequested,
    ("transit", "status"): TransitStatus,
    ("spooled", "way"): Way,
    ("owed_notice", "semantics"): DeliverySemantics,
    ("owed_notice", "severity"): Severity,
    ("notice", "kind"): NoticeKind,
    ("notice", "severity"): Severity,
    ("incident", "role"): Role,
    ("journal", "direction"): Direction,
    ("job_row", "outcome"): RowOutcome,
    ("bulk", "state"): BulkState,
    ("bulk_item", "outcome"): ItemOutcome,
    ("delivery", "state"): DeliveryState,
    ("agreement_change", "change"): AgreementStep,
    ("alert", "level"): AlertLevel,
    ("alert_change", "level"): AlertLevel,
    ("alert_told", "level"): AlertLevel,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "buyer.db"


def raw(path: Path) -> apsw.Connection:
    """A stranger's connection to the file."""
    return apsw.Connection(str(path))


class TestOpening:
    @pytest.mark.statement("S1-02", ruling="R-22")
    def test_commits_are_synchronous_in_a_write_ahead_log(self, path: Path, open_in: Open) -> None:
        """Both pragmas are in force, not just asked for (R-22)."""
        open_in(path)
        assert raw(path).pragma("journal_mode") == "wal"

    @pytest.mark.statement("S1-02", ruling="R-22")
    def test_a_database_that_cannot_be_durable_is_refused(
        self, tmp_path: Path, open_in: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In memory there is no write-ahead log; SQLite does not complain, we do (R-22)."""
        monkeypatch.chdir(tmp_path)
        with pytest.raises(StoreRefused, match="not durable"):
            open_in(Path(":memory:"))

    @pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.9.99"])
    def test_an_sqlite_that_corrupts_its_log_is_refused(self, version: str) -> None:
        """The distribution's library is older than the fix (R-22)."""
        with pytest.raises(StoreRefused, match=re.escape(version)):
            check_version(version)

    @pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0"])
    def test_a_repaired_sqlite_is_taken(self, version: str) -> None:
        """The first good version, and every later one."""
        check_version(version)

    def test_a_newer_schema_is_refused_with_both_numbers(self, path: Path, open_in: Open) -> None:
        """An old program must not guess what a newer one's rows mean."""
        open_in(path).close()
        known = len(read_migrations())
        raw(path).pragma("user_version", known + 1)
        with pytest.raises(StoreRefused, match=rf"version {known + 1}.* up to {known}"):
            open_in(path)

    def test_another_party_s_store_is_refused(self, path: Path, open_in: Open) -> None:
        """A journal is one party's evidence."""
        open_in(path).close()
        with pytest.raises(StoreRefused, match="belongs to"):
            open_sqlite(path, party="urn:duns:999999999", clock_at=lambda: NOW_AT)

    def test_a_file_that_is_no_database_is_refused(self, path: Path, open_in: Open) -> None:
        """Nothing is overwritten."""
        path.write_bytes(b"something else entirely, and long enough to be a header" * 100)
        with pytest.raises(StoreRefused, match="cannot be opened"):
            open_in(path)
        assert path.read_bytes().startswith(b"something else")

    def test_a_directory_that_is_missing_is_refused(self, tmp_path: Path, open_in: Open) -> None:
        """The store makes its file, not its directory."""
        with pytest.raises(StoreRefused):
            open_in(tmp_path / "missing" / "buyer.db")

    def test_a_refused_opening_lets_the_next_one_in(self, path: Path, open_in: Open) -> None:
        """A refusal holds no lock and begins no epoch."""
        open_in(path).close()
        with pytest.raises(StoreRefused):
            open_sqlite(path, party="urn:duns:999999999", clock_at=lambda: NOW_AT)
        assert open_in(path).epoch == 2

    def test_an_edited_journal_is_refused_with_its_place(self, path: Path, open_in: Open) -> None:
        """The chain of the last rows is verified at start (fault D5, E3)."""
        store = open_in(path)
        store.begin().append(row(Event.SUBMITTED, f"m-{number}") for number in range(5))
        store.commit()
        store.close()
        raw(path).execute("UPDATE journal SET message_id = 'm-9' WHERE seq = 3")
        with pytest.raises(StoreRefused, match="seq 3"):
            open_in(path)

    def test_a_removed_journal_row_is_refused(self, path: Path, open_in: Open) -> None:
        """A gap shows as well as an edit."""
        store = open_in(path)
        store.begin().append(row(Event.SUBMITTED) for _ in range(5))
        store.commit()
        store.close()
        raw(path).execute("DELETE FROM journal WHERE seq = 3")
        with pytest.raises(StoreRefused, match="seq 4"):
            open_in(path)

    def test_a_rotten_body_is_never_given_out(self, path: Path, open_in: Open) -> None:
        """A body that is not its digest's any more is a failure, not a document (I2, fault D5)."""
        store = open_in(path)
        part = stored(b"<Order/>")
        submit(store.begin(), message("m-1", part), part)
        store.commit()
        store.close()
        raw(path).execute("UPDATE outbound_body SET body = CAST('<0rder/>' AS BLOB)")
        with pytest.raises(StoreFailed, match="damaged"):
            open_in(path).snapshot().list_payloads("m-1")


class TestOneWriter:
    def test_a_second_process_is_refused_and_told_who_holds_the_lock(
        self, path: Path, open_in: Open
    ) -> None:
        """The lock is between processes, and names its holder (R-23, fault C5)."""
        open_in(path)
        program = (
            "import sys, pathlib\n"
            "from onceonly.store.sqlite.store import open_sqlite\n"
            f"open_sqlite(pathlib.Path(sys.argv[1]), party={PARTY!r}, clock_at=lambda: 0)\n"
        )
        second = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False
        )
        assert second.returncode != 0
        assert "StoreRefused" in second.stderr
        assert f"in use by process {os.getpid()}" in second.stderr

    def test_a_stale_epoch_cannot_write(self, path: Path, open_in: Open) -> None:
        """Who comes back after another opening writes nothing more (I43)."""
        store = open_in(path)
        stranger = raw(path)
        stranger.execute("UPDATE store SET epoch = epoch + 1")
        with pytest.raises(StoreFailed, match="epoch 2"):
            store.begin()
        with pytest.raises(StoreFailed):
            store.begin()

    def test_a_foreign_writer_is_a_failure(self, path: Path, open_in: Open) -> None:
        """A lock that someone else holds for good means that we are not the only writer."""
        store = open_in(path)
        stranger = raw(path)
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreFailed, match="another process"):
            store.begin()


class TestLog:
    def test_the_log_is_folded_back_as_it_grows(self, path: Path) -> None:
        """Without readers the log never gets much longer than one checkpoint's pages."""
        limits = LogLimits(checkpoint_pages=50, pages_max=1_000)
        store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT, limits=limits)
        log = path.with_name(path.name + "-wal")
        longest = 0
        for number in range(200):
            part = stored(b"x" * 10_000)
            submit(store.begin(), message(f"m-{number}", part), part, state=QUEUED)
            store.commit()
            longest = max(longest, log.stat().st_size)
        assert longest < 3 * limits.checkpoint_pages * 4_096
        store.close()

    def test_a_reader_that_never_ends_cannot_grow_the_log_for_ever(self, path: Path) -> None:
        """At the limit work is refused until the reader ends; nothing is lost (fault D9, R-27)."""
        limits = LogLimits(checkpoint_pages=50, pages_max=200)
        store = open_sqlite(path, party=PARTY, clock_at=lambda: NOW_AT, limits=limits)
        reader = raw(path)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM outbound").fetchall()

        def fill(first: int) -> int:
            for number in range(first, first + 1_000):
                part = stored(b"x" * 10_000)
                submit(store.begin(), message(f"m-{number}", part), part, state=QUEUED)
                store.commit()
            return first + 1_000

        with pytest.raises(StoreFull, match="reader"):
            fill(0)
        log = path.with_name(path.name + "-wal")
        assert log.stat().st_size < 3 * limits.pages_max * 4_096
        reader.execute("COMMIT")
        submit(store.begin(), message("after"))
        store.commit()
        assert store.snapshot().find_outbound("after") is not None
        store.close()


class TestSchema:
    def schema(self, path: Path, open_in: Open) -> dict[str, str]:
        open_in(path).close()
        return dict(raw(path).execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL"))

    def test_checked_words_are_the_enums(self, path: Path, open_in: Open) -> None:
        """One fact, one definition: every CHECK on a word lists exactly the Enum (rule 7)."""
        found: dict[tuple[str, str], set[str]] = {}
        for table, sql in self.schema(path, open_in).items():
            for column, word in re.findall(r"(\w+) = '([^']+)'", sql.split("CHECK ((")[0]):
                if sql.startswith("CREATE TABLE"):
                    found.setdefault((table, column), set()).add(word)
        expected = {key: {word.value for word in enum} for key, enum in CHECKED_WORDS.items()}
        assert found == {key: words - AGREED_ONLY for key, words in expected.items()}

    def test_no_check_builds_a_tree(self, path: Path, open_in: Open) -> None:
        """No statement of the hot path opens an ephemeral table: each costs more than its row."""
        open_in(path).close()
        connection = raw(path)
        for name in SQL:
            if name.startswith(("add_", "put_", "append", "hand_over", "find_outbound")):
                plan = connection.execute(
                    "EXPLAIN " + SQL[name], (None,) * count_bindings(SQL[name])
                )
                assert "OpenEphemeral" not in [step[1] for step in plan], name

    def test_journal_columns_are_those_of_a_record(self, path: Path, open_in: Open) -> None:
        """The table has the columns of `Record`; those of later versions stand at its end."""
        open_in(path).close()
        columns = [column[1] for column in raw(path).execute("PRAGMA table_info(journal)")]
        assert tuple(columns) == (*chained_columns(1), "chain_hash", *younger_than(1))
        assert sorted(columns) == sorted(COLUMNS)

    def test_migrations_are_numbered_without_gaps(self, path: Path, open_in: Open) -> None:
        """The schema is the sum of the migrations, and the database says how many it had."""
        names = sorted(entry.name for entry in SQL_FILES.iterdir() if entry.name[0].isdigit())
        assert [migration.name for migration in read_migrations()] == names
        assert [migration.number for migration in read_migrations()] == [
            number + 1 for number in range(len(names))
        ]
        open_in(path).close()
        assert get_version(raw(path)) == len(names)

    def test_opening_again_changes_no_schema(self, path: Path, open_in: Open) -> None:
        """Each migration is applied once."""
        before = self.schema(path, open_in)
        assert self.schema(path, open_in) == before


class TestQueries:
    def test_every_query_is_used_and_every_use_is_a_query(self) -> None:
        """No dead statement, no misspelt name."""
        sources = Path(str(SQL_FILES)).parent.glob("*.py")
        text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
        unused = [name for name in SQL if f'"{name}"' not in text]
        assert unused == []

    def test_a_name_that_comes_twice_is_refused(self) -> None:
        """The second statement would silently replace the first."""
        with pytest.raises(ValueError, match="two queries"):
            parse_queries("-- name: a\nSELECT 1\n-- name: a\nSELECT 2\n")

    def test_the_tally_is_what_counting_would_say(self, path: Path, open_in: Open) -> None:
        """Counts kept per transaction equal the rows, over commits and rollbacks."""
        store = open_in(path)
        for number in range(30):
            transaction = store.begin()
            submit(transaction, message(f"m-{number}"), state=QUEUED if number % 3 else SENDING)
            receive(transaction, message(f"m-{number}"))
            if number > 2:
                transaction.put_outbound(f"m-{number - 2}", ACKNOWLEDGED, at=9)
                transaction.put_outbound(f"m-{number - 2}", ACKNOWLEDGED, at=9)
                transaction.hand_over(message(f"m-{number // 2}").key, at=9)
            if number % 4 == 3:
                store.rollback()
                transaction = store.begin()
                submit(transaction, message(f"m-{number}"))
                receive(transaction, message(f"m-{number}"))
            store.commit()
            receive(store.begin(), message(f"again-{number}"))
            store.commit()
        counted = dict(
            raw(path).execute(
                "SELECT status, count(*) FROM outbound GROUP BY 1 UNION ALL "
                "SELECT status, count(*) FROM inbound GROUP BY 1"
            )
        )
        counts = store.snapshot().count_by_status()
        assert {word: count for word, count in counts.items() if count} == counted


def test_a_rollback_behind_the_close_fails_by_the_name_of_the_contract(tmp_path: Path):
    """Whoever ends a batch of a store that was cut off meets no error of a library."""
    store = open_sqlite(tmp_path / "closed.db", party=PARTY, clock_at=lambda: NOW_AT)
    store.close()
    with pytest.raises(StoreFailed):
        store.rollback()


def test_a_store_closes_while_a_thread_reads(tmp_path: Path):
    """Nobody can end a thread: its query is interrupted, and it hears that the store is closed."""
    store = open_sqlite(tmp_path / "read.db", party=PARTY, clock_at=lambda: NOW_AT)
    began = threading.Event()

    def read_for_hours() -> None:
        snapshot = store.snapshot()
        began.set()
        snapshot._ask(ENDLESS, {})

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read_for_hours)
        began.wait()
        store.close()
        assert isinstance(reading.exception(), StoreFailed)
        later = threads.submit(lambda: store.snapshot().last_seq())
        assert isinstance(later.exception(), StoreFailed)
    with pytest.raises(StoreFailed, match="closed"):
        store.snapshot()
    open_sqlite(tmp_path / "read.db", party=PARTY, clock_at=lambda: NOW_AT).close()


ENDLESS = """WITH RECURSIVE numbers(number) AS (
    SELECT 1 UNION ALL SELECT number + 1 FROM numbers
) SELECT number FROM numbers WHERE number < 0"""
