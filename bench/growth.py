"""`make bench-growth`: what a gateway costs whose store is full, beside one whose store is empty.

Two stores are made: one with few messages and ids, one with many (by default a million messages
each way, and ten million known ids). Of each are measured, in processor time: a start of `serve`
until it is ready, the look-up of a duplicate and of an id that nobody knows, the steps of a
message on both sides, lists and counts by every two criteria, beside which `/healthz` is asked as
well (`bench.lists`), and the console's pages (`bench.pages`). Both stores take turns, and the least
of the rounds counts: what else the machine does can only add to it. The second store is filled by
SQL and not by a gateway, which would take hours; what is in it is what one would leave. Writes
`build/bench-growth.json`.
"""

import argparse
import gc
import json
import os
import random
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import apsw
from msgspec.structs import astuple

from bench import pages
from bench.lists import asked_at_once, timed
from onceonly.demo.gateways import free_ports
from onceonly.gateway.chance import Chance
from onceonly.journal.record import CHAIN_START, Record, chain
from onceonly.message.event import Direction, Event
from onceonly.message.identity import MessageKey, PartyId
from onceonly.message.message import DeliverySemantics, Message, Payload
from onceonly.message.package import Package
from onceonly.message.word import changed
from onceonly.protocol.pairing import SendingPair
from onceonly.protocol.receiving import ReceivingPair
from onceonly.protocol.sending import Outbound, OutboundStatus
from onceonly.steps.ground import new_message_id
from onceonly.store.contract.entries import StoredPayload
from onceonly.store.contract.store import Transaction
from onceonly.store.sqlite.queries import SQL
from onceonly.store.sqlite.store import JOURNAL_CHECKED_ROWS, SqliteStore, open_sqlite

NewId = Callable[[], str]

OURS = "urn:duns:111111111"
PARTNERS = [f"urn:duns:{222_000_000 + number}" for number in range(200)]
BODY = b"<Order/>" * 500
BATCH = 50
"""Messages of one transaction, as many pairs at once have."""

SAMPLE = 4_000
"""Look-ups and messages of a measurement."""
AN_ID = "lower(hex(randomblob(16))) || '@buyer.example'"

FILL = f"""
CREATE TEMP TABLE partner (number INTEGER PRIMARY KEY, party TEXT);
INSERT INTO partner SELECT key, value FROM json_each(:partners);

CREATE TEMP VIEW count_up AS
  WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up LIMIT 100000000)
  SELECT n FROM up;

INSERT INTO outbound (position, message_id, from_party, to_party, agreement_id, status, attempt,
    episode, exposure, sequence_number, transients, silence, pings, error_code, settled_at)
  SELECT n, {AN_ID}, '{OURS}', party, 'tpa-' || number,
      iif(n % 100 = 0, 'failed', 'acknowledged'), 1, 0, 'left', n, 0, 'none', 0,
      iif(n % 100 = 0, 'DeliveryFailure', NULL), n
    FROM (SELECT n FROM count_up LIMIT :messages) CROSS JOIN partner ON number = n % 200;
INSERT INTO outbound_message (position, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, payloads, digest, submitted_at, header_digest)
  SELECT position, '[["{OURS}",null]]', '[["' || to_party || '",null]]', 'c-' || position,
      'Ordering', 'NewOrder', position, 'OnceAndOnlyOnce', '[]', '{"d" * 64}', position,
      '{"1" * 64}'
    FROM outbound;
INSERT INTO outbound_package
  SELECT position, 'multipart/related', '[300]', randomblob(300) FROM outbound;

INSERT INTO inbound (position, message_id, from_party, to_party, agreement_id, status, processing,
    digest, received_at, inbox_offset, handed_over_at, has_key, header_digest)
  SELECT n, {AN_ID}, party, '{OURS}', 'tpa-' || number, 'handed_over', 'complete', '{"e" * 64}', n,
      n, n, 1, '{"2" * 64}'
    FROM (SELECT n FROM count_up LIMIT :known) CROSS JOIN partner ON number = n % 200;
INSERT INTO inbound_message (position, from_ids, to_ids, conversation_id, service, action,
    timestamp_at, semantics, payloads, response_content_type, response_lengths, response_segments)
  SELECT position, '[["' || from_party || '",null]]', '[["{OURS}",null]]', 'c-' || position,
      'Ordering', 'NewOrder', position, 'OnceAndOnlyOnce', '[]', 'text/xml', '[200]',
      randomblob(200)
    FROM inbound WHERE position <= :messages;
UPDATE store SET last_offset = :known, handed_over = :known,
  acknowledged = (SELECT count(*) FROM outbound WHERE status = 'acknowledged'),
  failed = (SELECT count(*) FROM outbound WHERE status = 'failed');

DROP INDEX journal_by_message;
INSERT INTO journal (party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    schema_version, seq, store_epoch, chain_hash)
  SELECT '{OURS}', 'Submitted', position, 0, 'out', from_party, to_party, message_id, 2, position,
      1, '{"0" * 64}'
    FROM outbound;
INSERT INTO journal (party, event, at, monotonic_ns, direction, from_party, to_party, message_id,
    schema_version, seq, store_epoch, chain_hash)
  SELECT '{OURS}', 'Stored', position, 0, 'in', from_party, to_party, message_id, 2,
      :messages + position, 1, '{"0" * 64}'
    FROM inbound WHERE position <= :messages;
CREATE INDEX journal_by_message ON journal (message_id) WHERE message_id IS NOT NULL;

INSERT INTO stretch
  SELECT 'outbound', position - 1 >> 10, min(submitted_at), max(submitted_at)
    FROM outbound_message WHERE position <= :messages >> 10 << 10 GROUP BY 2
  UNION ALL
  SELECT 'inbox', inbox_offset - 1 >> 10, min(received_at), max(received_at)
    FROM inbound WHERE inbox_offset IS NOT NULL AND inbox_offset <= :known >> 10 << 10 GROUP BY 2
  UNION ALL
  SELECT 'journal', seq - 1 >> 10, min(at), max(at)
    FROM journal WHERE seq <= 2 * :messages >> 10 << 10 GROUP BY 2;
"""
"""What is remembered of a message is all there; of an id that is known for long, its two rows."""


CHANCE = Chance()


def our_id() -> str:
    """A MessageId as the gateway makes them."""
    return new_message_id(time.time_ns() // 1000, CHANCE.draw(), "buyer.example")


def opened(path: Path) -> SqliteStore:
    return open_sqlite(path, party=OURS, clock_at=lambda: time.time_ns() // 1000)


def make_store(path: Path, messages: int, known: int) -> None:
    made = path.with_suffix(".making")
    opened(made).close()
    connection = apsw.Connection(str(made))
    connection.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -2000000")
    connection.execute("BEGIN")
    values = {"partners": json.dumps(PARTNERS), "messages": messages, "known": known}
    for statement in FILL.split(";\n"):
        connection.execute(statement, values)
    end_journal(connection, 2 * messages)
    connection.execute("COMMIT")
    connection.close()
    made.rename(path)


def end_journal(connection: apsw.Connection, seq: int) -> None:
    """The rows that a start verifies are a chain; those before them never were one."""
    before = CHAIN_START
    for number in range(seq + 1, seq + JOURNAL_CHECKED_ROWS + 2):
        record = changed(row(Event.STARTED, None), seq=number, store_epoch=1)
        before = chain(before, record)
        connection.execute(SQL["append"], astuple(changed(record, chain_hash=before)))


def row(event: Event, message_id: str | None, direction: Direction | None = None) -> Record:
    return Record(OURS, event, 1, 1, direction, OURS, PARTNERS[0], message_id)


def processor_us(work: Callable[[], int]) -> float:
    """Microseconds of this process for each of the things that `work` says it did."""
    gc.collect()
    gc.disable()
    began = time.process_time_ns()
    count = work()
    took = (time.process_time_ns() - began) / 1000 / count
    gc.enable()
    return took


def look_ups(store: SqliteStore, keys: list[MessageKey]) -> Callable[[], int]:
    def work() -> int:
        snapshot = store.snapshot()
        for key in keys:
            snapshot.find_inbound(key)
        return len(keys)

    return work


def known_keys(path: Path, sample: int) -> list[MessageKey]:
    """Keys of messages from all times, in no order."""
    connection = apsw.Connection(str(path))
    last = connection.execute("SELECT max(position) FROM inbound").get
    chance = random.Random()
    found = [
        connection.execute(
            "SELECT message_id, from_party, to_party FROM inbound WHERE position = ?",
            (chance.randint(1, last),),
        ).get
        for _ in range(sample)
    ]
    connection.close()
    return [MessageKey(*pair, name) for name, *pair in found]


def new_keys(new_id: NewId, sample: int) -> list[MessageKey]:
    return [MessageKey(PARTNERS[n % 200], OURS, new_id()) for n in range(sample)]


def foreign_id() -> str:
    """As products give them that draw all of an id."""
    return f"{secrets.token_hex(16)}@buyer.example"


PAYLOAD = StoredPayload(Payload("part1@buyer", "application/xml", len(BODY), "d" * 64), BODY)
PACKAGE = Package('multipart/related; boundary="b"', (b"x" * 300, b"--b--"))


def message_of(sender: str, receiver: str, message_id: str) -> Message:
    return Message(
        message_id=message_id,
        from_ids=(PartyId(sender),),
        to_ids=(PartyId(receiver),),
        agreement_id="tpa-1",
        conversation_id=secrets.token_hex(8),
        service="Ordering",
        action="NewOrder",
        timestamp_at=1,
        semantics=DeliverySemantics.ONCE_AND_ONLY_ONCE,
        payloads=(PAYLOAD.payload,),
    )


def submit(txn: Transaction, message: Message) -> None:
    txn.append((row(Event.SUBMITTED, message.message_id, Direction.OUT),))
    txn.add_outbound(
        message,
        Outbound(),
        (PAYLOAD,),
        digest="d" * 64,
        header_digest="1" * 64,
        submitted_at=1,
        idempotency_key=None,
    )
    txn.put_sending_pair(message.pair, SendingPair(in_flight=(message.message_id,)), at=1)
    txn.put_package(message.message_id, PACKAGE)
    txn.put_outbound(message.message_id, Outbound(OutboundStatus.SENDING, attempt=1), at=1)


def settle(txn: Transaction, message: Message) -> None:
    assert txn.find_outbound(message.message_id) is not None
    txn.append((row(Event.ACK_RECEIVED, message.message_id, Direction.IN),))
    txn.put_outbound(message.message_id, Outbound(OutboundStatus.ACKNOWLEDGED, attempt=1), at=2)
    txn.put_sending_pair(message.pair, SendingPair(), at=2)
    txn.find_next_queued(message.pair)


def receive(txn: Transaction, message: Message) -> None:
    assert txn.find_inbound(message.key) is None
    assert txn.find_inbound_without_key(message.key) is None
    assert not txn.is_cancelled(message.key)
    txn.get_receiving_pair(message.pair)
    txn.add_inbound(
        message, (PAYLOAD,), PACKAGE, digest="d" * 64, header_digest="1" * 64, received_at=1
    )
    txn.put_receiving_pair(message.pair, ReceivingPair(sequence_number=1))
    txn.append((row(Event.STORED, message.message_id, Direction.IN),))


def hand_over(txn: Transaction, message: Message) -> None:
    txn.hand_over(message.key, at=2)
    txn.append((row(Event.HANDED_OVER, message.message_id, Direction.IN),))


def steps_of_messages(store: SqliteStore, new_id: NewId, sample: int) -> Callable[[], int]:
    """Both sides of messages, in batches, with their commits and what the log is folded back by."""
    sent = [message_of(OURS, PARTNERS[n % 200], our_id()) for n in range(sample)]
    received = [message_of(PARTNERS[n % 200], OURS, new_id()) for n in range(sample)]

    def work() -> int:
        for start in range(0, sample, BATCH):
            for messages, steps in ((sent, (submit, settle)), (received, (receive, hand_over))):
                for step in steps:
                    transaction = store.begin()
                    for message in messages[start : start + BATCH]:
                        step(transaction, message)
                    store.commit()
        return sample

    return work


def start_s(store: Path) -> float:
    """Processor seconds of `serve` until it is ready."""
    with serving(store) as (process, _):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def health_beside_lists(store: Path, seconds: float) -> dict[str, Any]:
    """How `/healthz` answers while lists and counts are asked for."""
    with serving(store) as (_, api):
        return asked_at_once(api, seconds)


def pages_over(store: Path, messages: int) -> dict[str, Any]:
    """The console's pages; what they show is made here, after everything else was measured."""
    pages.make_trouble(store, ours=OURS, partners=PARTNERS, messages=messages)
    with serving(store) as (_, api):
        return pages.pages_of(api)


@contextmanager
def serving(store: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A gateway over the store, once it is ready, and the address of its API."""
    config = store.with_suffix(".toml")
    msh, port = free_ports(2)
    api = f"http://127.0.0.1:{port}"
    lines = [
        "[gateway]",
        f'party = ["{OURS}"]',
        f'listen = "http://127.0.0.1:{msh}/msh"',
        f'api = "{api}"',
        f'store = "{store.name}"',
        *(
            f'[[agreement]]\nid = "tpa-{n}"\nwith = ["{partner}"]\nsend_to = "http://127.0.0.1:9/m"'
            for n, partner in enumerate(PARTNERS)
        ),
    ]
    config.write_text("\n".join(lines))
    command = [sys.executable, "-m", "onceonly", "serve", "-c", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stderr:
                if json.loads(line)["event"] == "ready":
                    break
            yield process, api
        finally:
            process.kill()


Prepare = Callable[[SqliteStore, Path, int], Callable[[], int]]

CASES: dict[str, Prepare] = {
    "known_us": lambda store, path, sample: look_ups(store, known_keys(path, sample)),
    "unknown_us": lambda store, _, sample: look_ups(store, new_keys(our_id, sample)),
    "unknown_foreign_us": lambda store, _, sample: look_ups(store, new_keys(foreign_id, sample)),
    "message_us": lambda store, _, sample: steps_of_messages(store, our_id, sample),
    "message_foreign_us": lambda store, _, sample: steps_of_messages(store, foreign_id, sample),
}
"""What is done over both stores in turn. Ids are as gateways of ours give them, or foreign ones."""


def measure(
    paths: dict[str, Path], rounds: int, messages: int, sample: int
) -> dict[str, dict[str, Any]]:
    report: dict[str, dict[str, Any]] = {
        name: {"start_s": median(start_s(path) for _ in range(rounds))}
        for name, path in paths.items()
    }
    stores = {name: opened(path) for name, path in paths.items()}
    for case, prepare in CASES.items():
        took: dict[str, list[float]] = {name: [] for name in paths}
        for _ in range(rounds):
            for name, path in paths.items():
                took[name].append(processor_us(prepare(stores[name], path, sample)))
        for name, figures in report.items():
            figures[case] = round(min(took[name]), 1)
    for name, figures in report.items():
        figures["lists_ms"] = timed(stores[name], messages if name == "many" else 0)
        stores[name].close()
        figures["beside_lists"] = health_beside_lists(paths[name], 2.0 * rounds)
        figures["pages"] = pages_over(paths[name], messages if name == "many" else 0)
    return report


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--messages", type=int, default=1_000_000)
    arguments.add_argument("--known", type=int, default=10_000_000, help="at least the messages")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument(
        "--sample", type=int, default=SAMPLE, help="messages and look-ups of a measurement"
    )
    arguments.add_argument("--keep", action="store_true", help="leave the stores where they are")
    given = arguments.parse_args()
    folder = Path("build/bench-growth")
    folder.mkdir(parents=True, exist_ok=True)
    few, many = folder / f"few-{os.getpid()}.db", folder / f"{given.messages}-{given.known}.db"
    make_store(few, 0, min(10_000, given.known))
    if not many.exists():
        make_store(many, given.messages, given.known)
    report = measure({"few": few, "many": many}, given.rounds, given.messages, given.sample)
    target = Path("build/bench-growth.json")
    target.write_text(json.dumps(report, indent=2) + "\n")
    show(report)
    print(f"written to {target}")
    if not given.keep:
        shutil.rmtree(folder)


def show(report: dict[str, dict[str, Any]]) -> None:
    few, many = report["few"], report["many"]
    for case in ("start_s", *CASES):
        print(f"{case:18} {few[case]:>8} {many[case]:>8}  x {many[case] / few[case]:.2f}")
    slowest = sorted(many["lists_ms"].items(), key=lambda one: -one[1])[:5]
    print(f"{len(many['lists_ms'])} questions; /healthz beside lists: {many['beside_lists']}")
    pages.show(many["pages"])
    print("slowest lists (ms):", ", ".join(f"{name}: {took}" for name, took in slowest))


if __name__ == "__main__":
    main()
