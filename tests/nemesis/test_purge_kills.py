"""Deaths in the middle of a purge: what is forgotten cannot come back (R-19, S1-18).

The wall clocks of both gateways jump past PersistDuration by a drill's file, with every message
settled and confirmed. Each side then dies in its purge, again and again, until all is forgotten.
"""

from collections import Counter
from pathlib import Path

import httpx
import pytest
from nemesis_copies import copy_of
from nemesis_evidence import check_chain, fetch_journal, read_journal
from nemesis_gateways import Exchange, Gateway, read_inbox_ids, until
from nemesis_points import PURGE

from onceonly.client import Client
from onceonly.message.event import Event

MESSAGES = 6
LARGE_BYTES = 100_000
"""A payload of the spool, so that there is a file to be cleared."""

DAYS_LATER_S = 40 * 86_400
"""Past the thirty days of PersistDuration."""


def forgetful(exchange: Exchange) -> None:
    """A purge every second, and waits of the protocol that last for real."""
    for gateway in exchange.gateways:
        gateway.tables["gateway"] = {"purge_interval": 1}
        gateway.tables["drill"] = {"clock_rate": 1000.0, "clock_offset_file": "offset"}
        gateway.agree(profile="rm-2001", timeout=10_000, retries=10, retry_interval=10_000)


def jump(gateway: Gateway) -> None:
    """From its next look at the clock on, it is forty days later."""
    (gateway.site.directory / "offset").write_text(str(DAYS_LATER_S), encoding="ascii")


def spooled(gateway: Gateway) -> list[Path]:
    """Files of large payloads."""
    return list(gateway.site.store.with_name(f"{gateway.site.store.name}-spool").iterdir())


def die_in_the_purge(exchange: Exchange) -> None:
    """Both, at each point in turn; files are cleared an hour of their clocks later."""
    for gateway in exchange.gateways:
        jump(gateway)
    for point in PURGE:
        for gateway in exchange.gateways:
            gateway.configure(f"{point}:1")
            gateway.launch()
        for gateway in exchange.gateways:
            gateway.await_death()
    exchange.start()


def count_events(client: Client) -> Counter[Event]:
    return Counter(row.event for row in fetch_journal(client))


@pytest.mark.statement("S1-18", "S1-19", ruling="R-19")
def test_deaths_in_a_purge_forget_no_more_and_bring_nothing_back(exchange: Exchange) -> None:
    """All of it is forgotten in the end, and a late copy is refused for its age."""
    forgetful(exchange)
    exchange.start()
    with exchange.clients() as (ours, theirs):
        for number in range(MESSAGES):
            exchange.submit(ours, f"old-{number}", LARGE_BYTES if number == 0 else 300)
        for message_id in exchange.payloads:
            exchange.await_complete(ours, theirs, message_id)
        # Not the large one, whose file has to go; it may well have come in last.
        items = {item.message_id: item for item in theirs.inbox()}
        kept = items.pop("old-1")
        for item in items.values():
            theirs.report(item, "complete")
    for gateway in exchange.gateways:
        gateway.kill()
    copy = copy_of(exchange.sender, "old-2")
    die_in_the_purge(exchange)
    with exchange.clients() as (ours, theirs):
        until(lambda: not ours.list().messages, "the sender has forgotten")
        # What the application has not confirmed is never forgotten (seed 001 §1.1.1).
        until(lambda: read_inbox_ids(theirs) == [kept.message_id], "the receiver, too")
        for gateway in exchange.gateways:
            until(lambda gateway=gateway: not spooled(gateway), "no file is left")
        assert copy.post(exchange.receiver.site) == httpx.codes.NO_CONTENT
        until(lambda: count_events(theirs)[Event.REJECTED], "the late copy is refused")
        assert read_inbox_ids(theirs) == [kept.message_id]
        assert count_events(theirs)[Event.STORED] == MESSAGES
        exchange.payloads.clear()
        exchange.complete("new")
        assert read_inbox_ids(theirs) == [kept.message_id, "new"]
    exchange.stop()
    for gateway in exchange.gateways:
        check_chain(read_journal(gateway))
