"""The programs of `examples/`, run as a user runs them, between two real gateways."""

from __future__ import annotations

import runpy
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from onceonly.demo import documents

if TYPE_CHECKING:
    from nemesis_gateways import Exchange

pytestmark = [pytest.mark.spark, pytest.mark.process]

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNT = 5
LINES = range(20, 41)
"""Long enough to do something whole, short enough to be read at once."""


def run(name: str, *words: object, code: int = 0) -> list[list[str]]:
    """The words of each line that the example prints, run as a program that ends with `code`."""
    command = [sys.executable, EXAMPLES / name, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def outgoing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with orders in UBL."""
    folder = tmp_path_factory.mktemp("outgoing")
    for number in range(COUNT):
        order = documents.order(7, number)
        (folder / order.name).write_bytes(order.source)
    return folder


@pytest.fixture(scope="module")
def sent(exchange: Exchange, outgoing: Path) -> dict[str, str]:
    """MessageId by file, after `send_folder.py` has sent them."""
    told = run("send_folder.py", exchange.sender.site.api, exchange.receiver.site.party, outgoing)
    assert [state for _, _, state in told] == ["acknowledged"] * COUNT
    return {name: message_id for name, message_id, _ in told}


def test_a_folder_is_sent_once_however_often_it_is_sent(
    exchange: Exchange, outgoing: Path, sent: dict[str, str]
) -> None:
    """The second run names the same messages, and the partner has no more of them."""
    api, partner = exchange.sender.site.api, exchange.receiver.site.party
    again = run("send_folder.py", api, partner, outgoing)
    assert {name: message_id for name, message_id, _ in again} == sent
    with exchange.clients() as (_, theirs):
        assert {item.message_id for item in theirs.inbox()} == set(sent.values())


def test_a_document_that_is_not_acknowledged_is_seen_in_the_exit_code(
    exchange: Exchange, tmp_path: Path
) -> None:
    """A partner of whom nobody knows is refused, and the program fails."""
    (tmp_path / "order.xml").write_text("<Order/>")
    run("send_folder.py", exchange.sender.site.api, "urn:duns:999999999", tmp_path, code=1)


def test_the_inbox_is_taken_into_a_database_once(
    exchange: Exchange, outgoing: Path, sent: dict[str, str], tmp_path: Path
) -> None:
    """Byte for byte, complete for the partner, and nothing twice in a second run."""
    database = tmp_path / "orders.db"
    taken = run("take_inbox.py", exchange.receiver.site.api, database)
    assert [message_id for _, message_id in taken] == list(sent.values())
    assert run("take_inbox.py", exchange.receiver.site.api, database) == []
    connection = sqlite3.connect(database)
    rows = connection.execute("SELECT message_id, document FROM received").fetchall()
    connection.close()
    assert rows == [(sent[name], (outgoing / name).read_bytes()) for name in sent]
    with exchange.clients() as (_, theirs):
        assert {item.processing for item in theirs.inbox()} == {"complete"}


@pytest.mark.long
def test_the_inbox_becomes_a_table_once(
    spark: SparkSession,
    exchange: Exchange,
    sent: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each order is a row with its number, its buyer and its sum; a second run adds none."""
    table, checkpoint = str(tmp_path / "orders"), str(tmp_path / "checkpoint")
    program = EXAMPLES / "inbox_to_table.py"
    assert spark is SparkSession.getActiveSession()  # as spark-submit gives one to a program
    words = [str(program), exchange.receiver.site.api, table, checkpoint]
    monkeypatch.setattr(sys, "argv", words)
    for _ in range(2):
        runpy.run_path(str(program), run_name="__main__")
    rows = sorted(pq.read_table(table).to_pylist(), key=lambda row: row["offset"])
    deals = [documents.purchase(7, number) for number in range(COUNT)]
    assert [row["message_id"] for row in rows] == list(sent.values())
    assert [row["order_id"] for row in rows] == [f"PO-{number:06d}" for number in range(COUNT)]
    assert {row["buyer"] for row in rows} == {documents.BUYER.name}
    assert [row["payable"] for row in rows] == [Decimal(deal.net + deal.tax) for deal in deals]
    assert [row["issued"] for row in rows] == [deal.issued.date() for deal in deals]


def test_what_a_crash_left_unsaid_is_said_by_the_next_run(
    exchange: Exchange, outgoing: Path, tmp_path: Path
) -> None:
    """It died after its commit: the message is not taken again, and is complete for the partner."""
    database = tmp_path / "orders.db"
    run("take_inbox.py", exchange.receiver.site.api, database)
    (tmp_path / "late.xml").write_bytes((outgoing / "order-000000.xml").read_bytes())
    run("send_folder.py", exchange.sender.site.api, exchange.receiver.site.party, tmp_path)
    with exchange.clients() as (_, theirs), sqlite3.connect(database) as orders:
        last = theirs.inbox()[-1].offset
        orders.execute("INSERT INTO received (inbox_offset, payload) VALUES (?, 0)", (last,))
    orders.close()
    assert run("take_inbox.py", exchange.receiver.site.api, database) == []
    with exchange.clients() as (_, theirs):
        assert {item.processing for item in theirs.inbox()} == {"complete"}


@pytest.mark.parametrize("program", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_an_example_can_be_read_at_once(program: Path) -> None:
    """One screen."""
    assert len(program.read_text("utf-8").splitlines()) in LINES
