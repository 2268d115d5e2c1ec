"""Stopping in order, and a process that slept (C3, C4)."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from threading import Event as Flag

import pyarrow.parquet as pq
from nemesis_evidence import check_exchange, fetch_journal, read_journal
from nemesis_figures import Say
from nemesis_gateways import CLOCK_RATE, RETRY_INTERVAL_S, Exchange, Gateway, until

from onceonly.client import Client, GatewayUnreachable
from onceonly.message.event import Event

STOP_S = 5.0
"""The promise, of a machine that has a core for it."""

ASLEEP_S = 3.0
"""Real seconds: sixty of the agreement's, fifteen retry intervals."""

PACE_S = 0.01
"""Between submissions, and after a call that found no gateway."""


@contextmanager
def steady_load(exchange: Exchange, stop: Flag) -> Iterator[None]:
    """Submissions one after the other, and a reader that waits at the inbox."""

    def submit() -> None:
        with Client(exchange.sender.site.api) as client:
            number = 0
            while not stop.is_set():
                number += exchange.submit_if_up(client, f"load-{number}")
                stop.wait(PACE_S)

    def read() -> None:
        with Client(exchange.receiver.site.api) as client:
            after = 0
            while not stop.is_set():
                try:
                    for item in client.inbox(after=after, wait_s=30):
                        after = item.offset
                except GatewayUnreachable:
                    stop.wait(PACE_S)

    with ThreadPoolExecutor(2) as executor:
        running = [executor.submit(submit), executor.submit(read)]
        try:
            yield
        finally:
            stop.set()
            if not exchange.receiver.is_running:  # the reader may wait at it
                exchange.receiver.start()
            exchange.complete("last")
    for one in running:
        one.result()


def stop_s() -> float:
    """The promise here and now: a process gets no more than its share of busy cores."""
    busy, _, _ = os.getloadavg()
    return STOP_S * max(1.0, busy / (os.cpu_count() or 1))


def count_published(gateway: Gateway) -> int:
    """Rows in the published segments."""
    return sum(pq.read_metadata(file).num_rows for file in gateway.site.lake.rglob("*.parquet"))


def test_sigterm_under_load_stops_in_time_and_a_restart_goes_on(
    exchange: Exchange, say: Say
) -> None:
    """Exit 0 within five seconds, the journal published to its last row; nothing lost (C3)."""
    stop, took_s = Flag(), []
    exchange.start()
    with steady_load(exchange, stop):
        for gateway in exchange.gateways:
            seen = len(exchange.payloads)
            until(lambda seen=seen: len(exchange.payloads) > seen + 20, "the load is on")
            took_s.append(gateway.stop())
            rows = read_journal(gateway)
            assert rows[-1].event is Event.STOPPED
            assert count_published(gateway) == len(rows)
            gateway.start()
    with exchange.clients() as (ours, theirs):
        for message_id in exchange.payloads:
            exchange.await_complete(ours, theirs, message_id)
    check_exchange(exchange)
    say(
        f"nemesis: SIGTERM under load took {took_s[0]:.1f} s (sender), {took_s[1]:.1f} s (receiver)"
    )
    assert max(took_s) < stop_s()


def test_a_process_that_slept_does_not_burst_into_retries(exchange: Exchange) -> None:
    """SIGSTOP, then SIGCONT: one retry is due, not all that would have been (C4, I19)."""
    sender = exchange.sender
    sender.start()
    with Client(sender.site.api) as ours:
        exchange.submit(ours, "nobody-there")
        until(lambda: count_transmissions(ours) >= 2, "it retries")
        sender.send(signal.SIGSTOP)
        Flag().wait(ASLEEP_S)  # the fault itself, not a synchronisation
        sender.send(signal.SIGCONT)
        until_awake = count_transmissions(ours)
        until(lambda: count_transmissions(ours) >= until_awake + 3, "it goes on")
        begun_ns = [
            row.monotonic_ns for row in fetch_journal(ours) if row.event is Event.TRANSMITTING
        ]
    spaces_s = [(later - sooner) / 1e9 for sooner, later in pairwise(begun_ns)]
    assert min(spaces_s) >= RETRY_INTERVAL_S
    assert max(spaces_s) >= ASLEEP_S * CLOCK_RATE * 0.9
    exchange.receiver.start()
    exchange.complete("nobody-there")
    check_exchange(exchange)


def count_transmissions(client: Client) -> int:
    """How many transmissions the sender has begun."""
    return sum(row.event == Event.TRANSMITTING for row in client.journal())


def test_a_stop_while_the_partner_is_silent_is_in_time(exchange: Exchange) -> None:
    """A transmission that hangs does not hold the process; a restart sends again (C3)."""
    exchange.start()
    exchange.receiver.send(signal.SIGSTOP)
    with exchange.clients() as (ours, _):
        exchange.submit(ours, "hanging")
    assert exchange.sender.stop() < stop_s()
    exchange.receiver.send(signal.SIGCONT)
    exchange.sender.start()
    exchange.complete("hanging")
    check_exchange(exchange)
