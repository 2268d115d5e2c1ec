"""Stores put back to an old state, and sequence tables that were lost (C6, C7, I35).

A gateway that was started from an old copy has forgotten what it promised. It is found by the
partner's numbers and never guessed right: the pair closes on an incident, and the journals of
both sides name the messages that it is about. After the operators' word the exchange goes on, and
whatever comes again is still known by its MessageId.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pyarrow.parquet as pq
import pytest
from nemesis_copies import copy_of
from nemesis_evidence import fetch_journal
from nemesis_gateways import (
    Exchange,
    Gateway,
    await_acknowledged,
    is_acknowledged,
    read_inbox_ids,
    until,
)

from onceonly.client import Client
from onceonly.message.errors import LocalError
from onceonly.message.event import Event

KEPT = ("kept-0", "kept-1", "kept-2")
LATER = ("later-0", "later-1", "later-2")

GRACE_US = 3_600 * 1_000_000
"""So much later is judged: no evidence is under way any more."""

SPARK_S = 300.0


def files_of(gateway: Gateway) -> list[Path]:
    """The store: database, log, spool."""
    return list(gateway.site.directory.glob("gateway.db*"))


def back_up(gateway: Gateway) -> Path:
    """Stopped, in whatever way, copied, and started again."""
    gateway.kill()
    copies = gateway.site.directory / "backup"
    copies.mkdir()
    for file in files_of(gateway):
        (shutil.copytree if file.is_dir() else shutil.copy2)(file, copies / file.name)
    gateway.start()
    return copies


def put_back(gateway: Gateway, copies: Path) -> None:
    """Whatever the store has become is replaced by its old self; it is not started."""
    gateway.kill()
    for file in files_of(gateway):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    for file in copies.iterdir():
        target = gateway.site.directory / file.name
        (shutil.copytree if file.is_dir() else shutil.copy2)(file, target)


def state_of_pair(client: Client, role: str) -> str:
    """Of the only pair that this side has in this role."""
    [state] = [one.state for one in client.partners() if one.role == role]
    return str(state)


def complete_all(exchange: Exchange, message_ids: tuple[str, ...]) -> None:
    for message_id in message_ids:
        exchange.complete(message_id)


def await_quarantine(ours: Client) -> None:
    """The sender's pair is closed, and an operator is called."""
    until(lambda: state_of_pair(ours, "sender") == "quarantined", "the pair is quarantined")
    [incident] = ours.incidents()
    assert incident.role == "sender"


def resume_until(exchange: Exchange, message_id: str) -> None:
    """Both operators say, as often as they are asked, that the exchange may go on."""

    def resumed() -> bool:
        with exchange.clients() as (ours, theirs):
            for client, partner in ((theirs, exchange.sender), (ours, exchange.receiver)):
                if client.incidents():
                    client.resume(partner.site.party)
            return is_acknowledged(ours, message_id)

    until(resumed, f"{message_id} is acknowledged after the operators' word")


def check_inbox_once(client: Client) -> None:
    """Nothing twice."""
    found = read_inbox_ids(client)
    assert len(found) == len(set(found)), f"twice: {found}"


def named(client: Client, event: Event) -> set[str]:
    """Messages that the journal says it of."""
    return {str(row.message_id) for row in fetch_journal(client) if row.event is event}


@pytest.mark.statement("S0-100", ruling="R-11")
def test_a_receiver_from_an_old_backup_is_found_and_its_lost_messages_are_named(
    exchange: Exchange,
) -> None:
    """What it acknowledged and forgot is what the sender's journal has and its own has not."""
    exchange.start()
    complete_all(exchange, KEPT)
    copies = back_up(exchange.receiver)
    complete_all(exchange, LATER)
    put_back(exchange.receiver, copies)
    exchange.receiver.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "next")
        await_quarantine(ours)
        assert read_inbox_ids(theirs) == list(KEPT)
        lost = named(ours, Event.ACK_RECEIVED) - named(theirs, Event.STORED)
        assert lost == set(LATER)
        resume_until(exchange, "next")
        exchange.complete("after")
        assert read_inbox_ids(theirs) == [*KEPT, "next", "after"]


@pytest.mark.statement("S0-100", ruling="R-11")
def test_a_sender_from_an_old_backup_is_found_and_repeats_nothing(exchange: Exchange) -> None:
    """What it had under way is a repeat; what it forgot is named, and is a repeat, too, when its
    application hands it over again."""
    exchange.start()
    complete_all(exchange, KEPT)
    exchange.receiver.kill()
    with exchange.clients() as (ours, _):
        exchange.submit(ours, "under-way")
    copies = back_up(exchange.sender)
    exchange.receiver.start()
    complete_all(exchange, ("under-way", *LATER))
    put_back(exchange.sender, copies)
    exchange.sender.start()
    with exchange.clients() as (ours, theirs):
        await_acknowledged(ours, "under-way")
        exchange.submit(ours, "next")
        await_quarantine(ours)
        assert named(theirs, Event.STORED) - named(ours, Event.SUBMITTED) == set(LATER)
        resume_until(exchange, "next")
        complete_all(exchange, LATER)
        assert read_inbox_ids(theirs) == [*KEPT, "under-way", *LATER, "next"]


@pytest.mark.statement("S0-100", ruling="R-11")
def test_both_from_backups_of_different_days_are_found(exchange: Exchange) -> None:
    """The sender's is older; neither guesses which of the two is right."""
    exchange.start()
    complete_all(exchange, KEPT)
    older = back_up(exchange.sender)
    complete_all(exchange, LATER)
    newer = back_up(exchange.receiver)
    exchange.complete("lost-by-both")
    put_back(exchange.sender, older)
    put_back(exchange.receiver, newer)
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "next")
        await_quarantine(ours)
        assert named(theirs, Event.STORED) - named(ours, Event.SUBMITTED) == set(LATER)
        resume_until(exchange, "next")
        exchange.complete("lost-by-both")
        assert read_inbox_ids(theirs) == [*KEPT, *LATER, "next", "lost-by-both"]


@pytest.mark.statement("S0-100", ruling="R-11")
@pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
def test_a_backup_behind_the_published_journal_is_found_by_the_lake(
    exchange: Exchange, profile: str
) -> None:
    """Where no number tells, as with both sides of one day or in `rm-2001`: the lake has rows that
    the store lacks, so publishing names it and stops, instead of leaving rows out."""
    exchange.agree(profile=profile)
    exchange.start()
    complete_all(exchange, KEPT)
    backups = [(gateway, back_up(gateway)) for gateway in exchange.gateways]
    complete_all(exchange, LATER)
    with exchange.clients() as clients:
        for client in clients:
            assert client.publish() > 0
    for gateway, copies in backups:
        put_back(gateway, copies)
    exchange.start()
    exchange.complete("next")
    with exchange.clients() as clients:
        for client in clients:
            with pytest.raises(LocalError, match="old backup") as refused:
                client.publish()
            assert refused.value.name == "JournalForked"


def forget(gateway: Gateway, table: str) -> None:
    """The store of a gateway that is dead loses what it knew about pairs."""
    with closing(apsw.Connection(str(gateway.site.store))) as connection:
        connection.execute(f"DELETE FROM {table}")
        assert connection.changes() > 0


@pytest.mark.statement("S0-100", ruling="R-01")
def test_a_sender_that_lost_its_numbers_starts_again_and_nothing_is_doubled(
    exchange: Exchange,
) -> None:
    """Number 1 is taken from a sender at any time (case 3); nothing old comes with it (I34)."""
    exchange.start()
    complete_all(exchange, KEPT)
    exchange.sender.kill()
    copy = copy_of(exchange.sender, KEPT[0])
    forget(exchange.sender, "sending_pair")
    exchange.sender.start()
    exchange.complete("next")
    copy.post(exchange.receiver.site)
    exchange.complete("after")
    with exchange.clients() as (ours, theirs):
        numbers = [
            row.sequence_number for row in fetch_journal(theirs) if row.event is Event.STORED
        ]
        assert numbers == [1, 2, 3, 1, 2]
        assert read_inbox_ids(theirs) == [*KEPT, "next", "after"]
        assert ours.incidents() == theirs.incidents() == ()


@pytest.mark.statement("S0-100", ruling="R-11")
def test_a_receiver_that_lost_its_numbers_asks_its_operator_and_doubles_nothing(
    exchange: Exchange,
) -> None:
    """Whatever is not 1 is case 4; a repeat is still a repeat by its MessageId."""
    exchange.start()
    complete_all(exchange, KEPT)
    exchange.receiver.kill()
    exchange.sender.kill()
    copy = copy_of(exchange.sender, KEPT[0])
    forget(exchange.receiver, "receiving_pair")
    exchange.start()
    with exchange.clients() as (ours, theirs):
        copy.post(exchange.receiver.site)
        until(lambda: named(theirs, Event.DUPLICATE_ELIMINATED), "the repeat is known")
        exchange.submit(ours, "next")
        await_quarantine(ours)
        assert read_inbox_ids(theirs) == list(KEPT)
        resume_until(exchange, "next")
        exchange.complete("after")
        assert read_inbox_ids(theirs) == [*KEPT, "next", "after"]


def reconcile(exchange: Exchange) -> dict[str, str]:
    """The verdict on each message that is no agreement, by `onceonly lake`."""
    lakes = [str(gateway.site.lake) for gateway in exchange.gateways]
    lake = [sys.executable, "-m", "onceonly", "lake"]
    subprocess.run([*lake, "ingest", *lakes], check=True, capture_output=True, timeout=SPARK_S)
    as_of = time.time_ns() // 1_000 + GRACE_US
    command = [*lake, "reconcile", *lakes, "--as-of", str(as_of), "--output", "json"]
    done = subprocess.run(command, check=False, capture_output=True, timeout=SPARK_S)
    assert done.returncode == 11, done.stderr.decode()
    ledger = pq.read_table(json.loads(done.stdout)["ledger"], partitioning=None)
    rows = ledger.select(["message_id", "verdict"]).to_pylist()
    return {row["message_id"]: row["verdict"] for row in rows if row["verdict"] != "MATCHED"}


def restore_receiver(exchange: Exchange) -> Callable[[], None]:
    copies = back_up(exchange.receiver)
    return lambda: put_back(exchange.receiver, copies)


def restore_sender(exchange: Exchange) -> Callable[[], None]:
    copies = back_up(exchange.sender)
    return lambda: put_back(exchange.sender, copies)


@pytest.mark.full
@pytest.mark.spark
@pytest.mark.parametrize(
    ("restore", "verdict"),
    [(restore_receiver, "ACKED_NOT_STORED"), (restore_sender, "RECEIVED_NOT_SENT")],
)
def test_reconciling_the_journals_lists_what_an_old_backup_lost(
    exchange: Exchange, restore: Callable[[Exchange], Callable[[], None]], verdict: str
) -> None:
    """By Spark, from what both publish afterwards: exactly the messages affected."""
    exchange.start()
    complete_all(exchange, KEPT)
    restore_now = restore(exchange)
    for published in exchange.sender.site.lake, exchange.receiver.site.lake:
        shutil.rmtree(published, ignore_errors=True)  # The evidence of that day is not at hand.
    complete_all(exchange, LATER)
    restore_now()
    exchange.start()
    with exchange.clients() as clients:
        for client in clients:
            client.publish()
    assert reconcile(exchange) == dict.fromkeys(LATER, verdict)
