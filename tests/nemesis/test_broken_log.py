"""Every way out of the process with a log that cannot be written (ruling R-47)."""

import signal

import pytest
from nemesis_evidence import check_exchange, read_journal
from nemesis_faults import attached, traced
from nemesis_gateways import Exchange, Gateway, until
from nemesis_stderr import KINDS, under_broken_stderr
from test_stop import count_published, stop_s

from onceonly.client import Client
from onceonly.message.errors import OnceonlyError
from onceonly.message.event import Event

ENDS_S = 30.0
"""Far longer than any end takes; a process that is still there lives on."""

broken = pytest.mark.parametrize("kind", KINDS)


def begin(gateway: Gateway, kind: str) -> None:
    gateway.configure()
    gateway.launch_command(*under_broken_stderr(kind))
    gateway.await_ready()


@broken
@pytest.mark.statement(ruling="R-47")
def test_sigterm_drains_publishes_and_ends_well(exchange: Exchange, kind: str) -> None:
    """Exit 0 in time, the last row there and published, and what was accepted delivered."""
    begin(exchange.sender, kind)
    exchange.receiver.start()
    exchange.complete("before")
    assert exchange.sender.stop() < stop_s()
    rows = read_journal(exchange.sender)
    assert rows[-1].event is Event.STOPPED
    assert count_published(exchange.sender) == len(rows)
    exchange.sender.start()
    exchange.complete("after")
    check_exchange(exchange)


@broken
@pytest.mark.statement(ruling="R-47")
def test_sighup_ends_nothing(exchange: Exchange, kind: str) -> None:
    """Neither the signal nor the line about it; the gateway works on and stops in order."""
    begin(exchange.sender, kind)
    exchange.receiver.start()
    for _ in range(3):
        exchange.sender.send(signal.SIGHUP)
    exchange.complete("after-the-signal")
    exchange.sender.stop()
    exchange.sender.start()


@broken
@traced
@pytest.mark.statement(ruling="R-47")
def test_a_store_that_fails_stops_the_process(exchange: Exchange, kind: str) -> None:
    """The first fsync that fails is the last: gone with an exit of its own, not zero, at once."""
    sender = exchange.sender
    begin(sender, kind)
    with (
        Client(sender.site.api) as ours,
        attached(sender.pid, "fdatasync,fsync", "error=EIO"),
    ):
        with pytest.raises(OnceonlyError):
            exchange.submit(ours, "lost-with-the-disk")
        code = sender.wait_for_end(ENDS_S)
    assert code == 1
    until(lambda: not sender.is_running, "it is gone")
    sender.start()


def test_a_log_that_works_has_every_line_to_the_last(exchange: Exchange) -> None:
    """Nothing is lost on the way out, and nothing is said about losses."""
    exchange.start()
    exchange.complete("logged")
    exchange.sender.stop()
    said = exchange.sender.log.read_text()
    assert '"stopped"' in said
    assert "lost" not in said
    exchange.sender.start()
