"""Two processes on one store: refused by the lock, and fenced where the lock is gone (C5, R-23)."""

import shutil
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from nemesis_evidence import check_exchange, fetch_journal
from nemesis_gateways import Exchange, Gateway

from onceonly.client import Client
from onceonly.message.errors import LocalError
from onceonly.store.sqlite.store import open_sqlite

END_S = 60.0
"""Longest way of a process to its end, on a machine that is busy with other things."""


def ends_with(gateway: Gateway, code: int, *, saying: str) -> None:
    """Start it by its command: it ends by itself, and says why in one line."""
    before = len(gateway.log.read_text()) if gateway.log.exists() else 0
    gateway.launch_command()
    try:
        assert gateway.wait_for_end(END_S) == code, gateway.log_end()
    finally:
        gateway.destroy()
    said = gateway.log.read_text()[before:]
    assert saying in said
    assert "Traceback" not in said


def test_a_second_process_on_one_store_refuses_to_start(exchange: Exchange) -> None:
    """It says who has the store, exits with an error, and harms nobody."""
    gateway = exchange.sender
    exchange.start()
    ends_with(Gateway(gateway.site, gateway.partner), 1, saying=f"in use by process {gateway.pid}")
    exchange.complete("in-spite-of-it")
    check_exchange(exchange)


def test_a_copy_of_the_directory_on_the_same_port_refuses_to_start(
    exchange: Exchange, tmp_path: Path
) -> None:
    """Nothing holds the copied store, so its address must: it exits, and the partner hears nothing
    of it."""
    gateway = exchange.sender
    exchange.start()
    exchange.complete("before")
    with Client(gateway.site.api) as client:
        rows = len(fetch_journal(client))
    home = tmp_path / "copy"
    shutil.copytree(gateway.site.directory, home)
    (home / gateway.log.name).unlink()
    site = replace(gateway.site, directory=home, store=home / gateway.site.store.name)
    copy = Gateway(site, gateway.partner)
    copy.configure()
    ends_with(copy, 1, saying="address already in use")
    exchange.complete("after")
    with Client(gateway.site.api) as client:
        epochs = {row.store_epoch for row in fetch_journal(client)[rows:]}
    assert len(epochs) == 1
    check_exchange(exchange)


def usurp(gateway: Gateway) -> None:
    """What another process does that the lock does not stop: its file was removed."""
    site = gateway.site
    site.store.with_name(f"{site.store.name}.lock").unlink()
    with closing(open_sqlite(site.store, party=site.party, clock_at=lambda: 0)):
        pass


@pytest.mark.statement("S0-02", ruling="R-23")
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_process_that_slept_while_another_took_its_store_commits_nothing(
    exchange: Exchange, role: str
) -> None:
    """Its first commit is refused by the epoch: it exits, and had acknowledged nothing (C4)."""
    victim = exchange.gateway(role)
    exchange.start()
    exchange.complete("before")
    victim.send(signal.SIGSTOP)
    usurp(victim)
    victim.send(signal.SIGCONT)
    with exchange.clients() as (ours, _):
        try:
            is_taken = exchange.submit_if_up(ours, "fenced")
        except LocalError:
            is_taken = False
        assert victim.wait_for_end(END_S) == 1, victim.log_end()
        assert is_taken == (role == "receiver")
        if role == "receiver":
            assert ours.get("fenced").state == "sending", "acknowledged by a stale process"
    assert "opened again under epoch" in victim.log.read_text()
    victim.start()
    exchange.complete("fenced")
    check_exchange(exchange)
