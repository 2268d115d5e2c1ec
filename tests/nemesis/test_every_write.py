"""A gateway that dies or fails at the N-th write or fsync, for every N (faults D1, C2, D3).

The sweeps end by themselves: N grows until the exchange, or the opening, passes unharmed. One
store lives through a whole sweep, so that it is recovered from every one of its crashes. The short
form sweeps every fdatasync and samples the writes by the seed.
"""

import random
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from nemesis_evidence import check_exchange
from nemesis_faults import Form, attached, counted_calls, traced, under_strace
from nemesis_gateways import Exchange, Gateway, read_inbox_ids, until

from onceonly.client import Client, GatewayUnreachable
from onceonly.message.errors import LocalError

pytestmark = traced

SAMPLED = 2
"""Write points per sweep in the short form."""

KILL = "signal=KILL:when={}"
DEATH_S = 20.0
LARGE_BYTES = 200_000
"""More than a row takes, so that it goes through the spool."""

POINTS_MAX = 1_000
"""A sweep that is still killed here does not move."""


def numbers(total: int, chance: random.Random, form: Form) -> Iterable[int]:
    """Which N to try: all, until one passes unharmed, or a few up to `total`."""
    if form.is_full:
        return range(1, POINTS_MAX)
    return sorted(chance.sample(range(1, total + 1), min(SAMPLED, total)))


def count_calls(exchange: Exchange, role: str, call: str, log: Path) -> int:
    """How many times `role` makes the call in one undisturbed exchange."""
    with attached(exchange.gateway(role).pid, call, log=log):
        exchange.complete(f"count-{role}-{call}")
    return counted_calls(log)


def survives(exchange: Exchange, victim: Gateway, message_id: str) -> bool:
    """Send one message; whether the victim lived to note everything about it."""
    with exchange.clients() as (ours, theirs):
        exchange.submit_if_up(ours, message_id)
        until(
            lambda: not victim.is_running or is_noted(ours, theirs, message_id),
            f"{message_id} is complete or the {victim.site.name} is dead",
        )
    return victim.is_running


def is_noted(ours: Client, theirs: Client, message_id: str) -> bool:
    """Whether both sides have committed the last thing about the message."""
    try:
        events = {row["event"] for row in ours.get(message_id)["timeline"]}
        is_sent = {"AckReceived", "Transmitted"} <= events
        return is_sent and message_id in read_inbox_ids(theirs)
    except GatewayUnreachable:
        return False


def sweep(exchange: Exchange, role: str, call: str, points: Iterable[int]) -> int:
    """Kill `role` at the N-th `call` of an exchange for each N; returns how often it died."""
    victim, died = exchange.gateway(role), 0
    for number in points:
        message_id = f"{role}-{call}-{number}"
        with attached(victim.pid, call, KILL.format(number)):
            survived = survives(exchange, victim, message_id)
        if survived:
            return died
        died += 1
        assert victim.wait_for_end(DEATH_S) == -signal.SIGKILL, victim.log_end()
        victim.start()
        exchange.complete(message_id)
    assert number < POINTS_MAX - 1, "the sweep does not end"
    return died


@pytest.mark.statement("S0-01", "S0-02", "S0-04", "S3-04", ruling="R-02")
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_kill_at_any_sync_of_an_exchange_is_survived(
    lasting: Exchange, role: str, say: Callable[[str], None]
) -> None:
    """Killed at the N-th fdatasync of an exchange, for every N: complete after a restart."""
    died = sweep(lasting, role, "fdatasync", range(1, POINTS_MAX))
    assert died >= 2, "an exchange commits at least twice on either side"
    check_exchange(lasting)
    say(f"nemesis: {role} killed at each of the {died} fdatasync of an exchange; nothing lost")


@pytest.mark.statement("S0-01", "S0-02", "S0-04", "S3-04", ruling="R-02")
@pytest.mark.parametrize("call", ["pwrite64", "write"])
@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_kill_at_any_write_of_an_exchange_is_survived(
    lasting: Exchange,
    role: str,
    call: str,
    form: Form,
    tmp_path: Path,
    say: Callable[[str], None],
) -> None:
    """Killed at the N-th write to the store, a socket or the log: complete after a restart."""
    total = count_calls(lasting, role, call, tmp_path / "trace")
    died = sweep(lasting, role, call, numbers(total, form.chance(role, call), form))
    assert died > 0, f"an exchange makes {total} calls of {call}"
    check_exchange(lasting)
    say(f"nemesis: {role} killed at {died} of {total} {call} of an exchange; nothing lost")


OPENINGS = [("sender", "fdatasync"), ("receiver", "pwrite64")]
"""In the short form; the opening is the same code on both sides."""


def opens(exchange: Exchange, victim: Gateway, call: str, number: int, log: Path) -> bool:
    """Whether the victim gets ready although it is to be killed at the N-th `call`."""
    victim.launch_command(*under_strace(call, KILL.format(number), log))
    return victim.wait_until_ready_or_dead() is None


@pytest.mark.parametrize(("role", "call"), OPENINGS)
def test_a_kill_during_the_recovery_is_survived(
    lasting: Exchange, role: str, call: str, form: Form, tmp_path: Path
) -> None:
    """Killed, then killed at the N-th write of its recovery: the next start goes on (C2)."""
    victim, chance = lasting.gateway(role), form.chance("recovery", role, call)
    for number in range(1, POINTS_MAX) if form.is_full else [chance.randrange(1, 4)]:
        message_id = f"recovery-{role}-{call}-{number}"
        with lasting.clients() as (ours, _):
            lasting.submit_if_up(ours, message_id)
        victim.kill()
        is_over = opens(lasting, victim, call, number, tmp_path / "trace")
        if is_over:
            victim.kill()  # The fault still lies in wait for its other threads.
        victim.start()
        lasting.complete(message_id)
        if is_over:
            break
    check_exchange(lasting)


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64"])
def test_a_kill_during_the_very_first_opening_is_survived(
    exchange: Exchange, call: str, form: Form, tmp_path: Path
) -> None:
    """A store that died at the N-th write of its creation is created by the next start."""
    gateway, chance = exchange.sender, form.chance("first", call)
    for number in range(1, POINTS_MAX) if form.is_full else [chance.randrange(1, 9)]:
        for file in gateway.site.directory.glob("gateway.db*"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        is_over = opens(exchange, gateway, call, number, tmp_path / "trace")
        if not is_over:
            gateway.start()
        gateway.kill()
        if is_over:
            break


@pytest.mark.parametrize(("role", "number"), [("sender", 1), ("receiver", 1), ("receiver", 2)])
def test_a_failed_sync_stops_the_gateway(lasting: Exchange, role: str, number: int) -> None:
    """EIO from the N-th fdatasync: it stops with an error, and a restart goes on (D3, R-22)."""
    victim, message_id = lasting.gateway(role), f"eio-{role}-{number}"
    with attached(victim.pid, "fdatasync", f"error=EIO:when={number}"):
        assert not survives(lasting, victim, message_id)
    assert victim.wait_for_end(DEATH_S) == 1, victim.log_end()
    if (role, number) == ("receiver", 1):
        with lasting.clients() as (ours, _):
            assert ours.get(message_id)["state"] == "sending", "acknowledged without being stored"
    victim.start()
    lasting.complete(message_id)
    check_exchange(lasting)


@pytest.mark.parametrize("role", ["sender", "receiver"])
def test_a_failed_sync_of_a_large_payload_stops_the_gateway(lasting: Exchange, role: str) -> None:
    """EIO from the fsync of a spooled payload is no smaller matter (D3, R-22)."""
    victim, message_id = lasting.gateway(role), f"eio-spool-{role}"
    with lasting.clients() as (ours, _), attached(victim.pid, "fsync", "error=EIO:when=1"):
        try:
            lasting.submit(ours, message_id, LARGE_BYTES)
        except (GatewayUnreachable, LocalError):
            assert role == "sender"
        assert victim.wait_for_end(DEATH_S) == 1, victim.log_end()
    victim.start()
    lasting.complete(message_id)
    check_exchange(lasting)
