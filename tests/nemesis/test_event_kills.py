"""Whoever follows the events of a gateway that is killed again and again misses none of them."""

import threading

from nemesis_evidence import fetch_journal
from nemesis_gateways import SETTLE_S, Exchange

from onceonly.api.events import KIND_OF, EventKind
from onceonly.client import Client
from onceonly.message.event import Event

ALL: tuple[EventKind, ...] = tuple(dict.fromkeys(KIND_OF.values()))
KILLS = 3
LAST = "last"


def follow(api: str, seen: list[int]) -> None:
    """Keep the number of every event until the last message is acknowledged."""
    with Client(api) as client:
        for event in client.follow(0, ALL):
            seen.append(event.seq)
            if event.event is Event.ACK_RECEIVED and event.message_id == LAST:
                return


def test_a_follower_outlives_every_death(exchange: Exchange) -> None:
    """Each row once and in order, whatever was on its way to the follower when it died."""
    exchange.start()
    seen: list[int] = []
    reading = threading.Thread(target=follow, args=(exchange.sender.site.api, seen), daemon=True)
    reading.start()
    for number in range(KILLS):
        exchange.complete(f"before-{number}")
        exchange.sender.kill()
        exchange.sender.start()
    exchange.complete(LAST)
    reading.join(SETTLE_S)
    assert not reading.is_alive()
    with Client(exchange.sender.site.api) as client:
        rows = [row.seq for row in fetch_journal(client)]
    assert seen == rows[: len(seen)]
    assert len(seen) >= len(rows) - 5, "only what came after the last acknowledgement is left out"
    exchange.stop()
