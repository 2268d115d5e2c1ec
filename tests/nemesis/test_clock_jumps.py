"""Wall clocks that jump while messages are under way: by an hour, a year, into 2038 (T1, I40).

What a receiver may refuse for its age depends on clocks; that nothing is lost in silence, stored
after its acknowledgement or delivered twice does not. Waits are on the monotonic clock, so no jump
makes a retry come early.
"""

import signal
import time
from collections import Counter
from itertools import pairwise

import pytest
from nemesis_copies import copy_of
from nemesis_evidence import fetch_journal
from nemesis_gateways import RETRY_INTERVAL_S, Exchange, Gateway, read_inbox_ids, until

from onceonly.client import Client
from onceonly.message.event import Event

HOUR_S = 3_600
YEAR_S = 365 * 86_400
END_OF_32_BITS_AT_S = 2**31

JUMPS = {
    "hour-on": HOUR_S,
    "hour-back": -HOUR_S,
    "year-on": YEAR_S,
    "year-back": -YEAR_S,
    "2038": END_OF_32_BITS_AT_S - int(time.time()) + HOUR_S,
}

WHO = {"sender": ("sender",), "receiver": ("receiver",), "both": ("sender", "receiver")}


def jump(gateway: Gateway, offset_s: int) -> None:
    """From its next look on the clock is that far off."""
    written = gateway.site.directory / "offset.new"
    written.write_text(str(offset_s), encoding="ascii")
    written.replace(gateway.site.directory / "offset")


def let_jump(exchange: Exchange) -> None:
    """Both clocks can be moved."""
    for gateway in exchange.gateways:
        gateway.tables["drill"] = {"clock_rate": 20.0, "clock_offset_file": "offset"}
        jump(gateway, 0)


def is_settled(client: Client, message_id: str) -> bool:
    """Acknowledged, or its application was told why not."""
    is_told = any(one.message_id == message_id for one in client.notices(limit=1_000))
    return client.get(message_id).state == "acknowledged" or is_told


def check(ours: Client, theirs: Client, exchange: Exchange) -> Counter[str]:
    """Each message's end (I1, I3, I13, I15, I19, I21); returns how many came to which."""
    states = {message_id: ours.get(message_id).state for message_id in exchange.payloads}
    # A message is handed over after its acknowledgement: soon, and not at once.
    taken = {message_id for message_id, state in states.items() if state == "acknowledged"}
    until(lambda: taken <= set(read_inbox_ids(theirs)), "what is acknowledged is in the inbox")
    sent, received = fetch_journal(ours), fetch_journal(theirs)
    inbox = Counter(read_inbox_ids(theirs))
    for message_id, state in states.items():
        assert inbox[message_id] <= 1, f"{message_id} was handed over twice"
        if state == "acknowledged":
            assert inbox[message_id] == 1, f"{message_id} is acknowledged and lost"
        events = [row.event for row in received if row.message_id == message_id]
        if Event.ACK_SENT in events:
            assert events.index(Event.STORED) < events.index(Event.ACK_SENT)
        begun_ns = [
            row.monotonic_ns
            for row in sent
            if row.message_id == message_id and row.event is Event.TRANSMITTING
        ]
        for earlier_ns, later_ns in pairwise(begun_ns):
            assert later_ns - earlier_ns >= RETRY_INTERVAL_S * 1e9, "a jump hurried a retry"
    assert set(inbox) <= set(states)
    return Counter(states.values())


@pytest.mark.statement("S0-01", "S0-04", ruling="R-06")
@pytest.mark.parametrize(
    "who", ["receiver", "both", pytest.param("sender", marks=pytest.mark.full)]
)
@pytest.mark.parametrize("profile", ["rm-2000", pytest.param("rm-2001", marks=pytest.mark.full)])
def test_a_clock_that_jumps_in_flight_loses_nothing_and_doubles_nothing(
    exchange: Exchange, profile: str, who: str
) -> None:
    """There and back again, each time with a message under way: every end is known, and once."""
    exchange.agree(profile=profile)
    let_jump(exchange)
    exchange.start()
    victims = [exchange.gateway(role) for role in WHO[who]]
    with exchange.clients() as (ours, theirs):
        for name, offset_s in JUMPS.items():
            for where, seconds in (("there", offset_s), ("back", 0)):
                message_id = f"{name}-{where}"
                exchange.receiver.send(signal.SIGSTOP)
                exchange.submit(ours, message_id)
                until(lambda m=message_id: has_begun(ours, m), "it is under way")
                for victim in victims:
                    jump(victim, seconds)
                exchange.receiver.send(signal.SIGCONT)
                exchange.submit(ours, f"{message_id}-after")
                for one in (message_id, f"{message_id}-after"):
                    until(lambda m=one: is_settled(ours, m), f"the end of {one} is known")
        ends = check(ours, theirs, exchange)
    assert ends["acknowledged"] >= len(JUMPS), ends


def has_begun(client: Client, message_id: str) -> bool:
    """Whether a transmission of it has."""
    rows = client.journal_of(message_id)
    return any(row.event == Event.TRANSMITTING for row in rows)


@pytest.mark.statement("S1-18", ruling="R-19")
def test_what_was_forgotten_a_year_too_early_does_not_come_back(exchange: Exchange) -> None:
    """A purge under a clock that is a year ahead, then the right time again, and a late copy."""
    exchange.agree(profile="rm-2001")
    let_jump(exchange)
    exchange.receiver.tables["gateway"] = {"purge_interval": 1}
    for gateway in exchange.gateways:
        gateway.configure()
    exchange.start()
    with exchange.clients() as (ours, theirs):
        exchange.submit(ours, "old")
        exchange.await_complete(ours, theirs, "old")
        item = theirs.find_inbox_item("old")
        assert item is not None
        theirs.report(item, "complete")
        exchange.sender.kill()
        copy = copy_of(exchange.sender, "old")
        jump(exchange.receiver, YEAR_S)
        until(lambda: not read_inbox_ids(theirs), "it is forgotten")
        jump(exchange.receiver, 0)
        copy.post(exchange.receiver.site)
        until(
            lambda: any(row.event is Event.REJECTED for row in fetch_journal(theirs)),
            "the late copy is refused",
        )
        assert read_inbox_ids(theirs) == []
        exchange.sender.start()
        exchange.complete("new")
        assert read_inbox_ids(theirs) == ["new"]
