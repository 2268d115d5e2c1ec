"""Deaths in the middle of an action in bulk: each message is acted on once, and none twice.

The sender dies before and after the commit of an item, again and again; each start goes on by
itself. The second action sends content again: the receiver must have each document once more.
"""

from collections import Counter

import pytest
from nemesis_evidence import check_chain, fetch_journal, read_journal
from nemesis_gateways import Exchange, until
from nemesis_points import BULK

from onceonly.api.bulk import Bulk, Where
from onceonly.client import Client
from onceonly.message.event import Event

MESSAGES = 30
WHY = "a drill"


def die_through(exchange: Exchange, number: int, items: int) -> Bulk:
    """Start it, and die at every point in turn until it is done."""
    sender = exchange.sender
    for place, point in enumerate((*BULK, *BULK)):
        if place == 0:
            sender.kill()
        sender.configure(f"{point}:{3 + place}")
        sender.launch()
        if place == 0:
            with Client(sender.site.api) as client:
                until(client.is_ready, "the sender is ready")
                client.start_bulk(number, items)
        sender.await_death()
    sender.configure()
    sender.start()
    with Client(sender.site.api) as client:
        until(lambda: client.bulk(number).state == "done", "the rest is done")
        return client.bulk(number)


@pytest.mark.statement(ruling="R-41")
def test_deaths_in_a_bulk_action_repeat_nothing(exchange: Exchange) -> None:
    """Cancelled once each; then sent again once each, on an operator's word."""
    exchange.start()
    exchange.receiver.kill()
    with Client(exchange.sender.site.api) as ours:
        for number in range(MESSAGES):
            exchange.submit(ours, f"m-{number}", 300)
        prepared = ours.prepare_bulk("cancel", WHY, Where(state="queued"))
    assert prepared.items == MESSAGES - 1
    cancelled = die_through(exchange, prepared.number, prepared.items)
    assert (cancelled.done, cancelled.skipped) == (prepared.items, 0)
    exchange.receiver.start()
    with Client(exchange.sender.site.api) as ours:
        prepared = ours.prepare_bulk("resend-anyway", WHY, Where(state="cancelled"))
    resent = die_through(exchange, prepared.number, prepared.items)
    assert (resent.done, resent.skipped) == (MESSAGES - 1, 0)
    with exchange.clients() as (ours, theirs):
        rows = fetch_journal(ours)
        until(lambda: len(theirs.inbox(limit=1000)) == MESSAGES, "each came once")
        came = Counter(item.payloads[0].digest for item in theirs.inbox(limit=1000))
    for event in (Event.CANCELLED, Event.RESENT):
        acted = Counter(row.message_id for row in rows if row.event is event)
        assert acted == {f"m-{number}": 1 for number in range(1, MESSAGES)}, event
    assert set(came.values()) == {1}
    exchange.stop()
    check_chain(read_journal(exchange.sender))
