"""Deaths in the middle of an action in bulk: each message is acted on once, and none twice.

The gateway dies before and after the commit of an item, again and again; each start goes on by
itself. One action sends content again: the receiver must have each document once more. Another one
hands over again what came: each message is in the inbox once more, and has its row.
"""

import hashlib
from collections import Counter

import pytest
from nemesis_evidence import check_chain, fetch_journal, read_journal
from nemesis_gateways import Exchange, Gateway, until
from nemesis_points import BULK

from onceonly.api.bulk import Bulk, Where, WhereInInbox
from onceonly.client import Client
from onceonly.message.event import Event

MESSAGES = 30
WHY = "a drill"


def die_through(victim: Gateway, number: int, items: int) -> Bulk:
    """Start it, and die at every point in turn until it is done."""
    for place, point in enumerate((*BULK, *BULK)):
        if place == 0:
            victim.kill()
        victim.configure(f"{point}:{3 + place}")
        victim.launch()
        if place == 0:
            with Client(victim.site.api) as client:
                until(client.is_ready, "the gateway is ready")
                client.start_bulk(number, items)
        victim.await_death()
    victim.configure()
    victim.start()
    with Client(victim.site.api) as client:
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
    cancelled = die_through(exchange.sender, prepared.number, prepared.items)
    assert (cancelled.done, cancelled.skipped) == (prepared.items, 0)
    exchange.receiver.start()
    with Client(exchange.sender.site.api) as ours:
        prepared = ours.prepare_bulk("resend-anyway", WHY, Where(state="cancelled"))
    resent = die_through(exchange.sender, prepared.number, prepared.items)
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


@pytest.mark.statement(ruling="R-02")
def test_deaths_while_messages_are_handed_over_again(exchange: Exchange) -> None:
    """Each is in the inbox once more, and nothing of it was sent."""
    names = [f"m-{number}" for number in range(MESSAGES)]
    exchange.start()
    with exchange.clients() as (ours, theirs):
        for name in names:
            exchange.submit(ours, name, 300 if name != "m-7" else 200_000)
        for name in names:
            exchange.await_complete(ours, theirs, name)
        acked = Counter(row.event for row in fetch_journal(theirs))[Event.ACK_SENT]
        prepared = theirs.prepare_bulk("redeliver", WHY, WhereInInbox())
    assert prepared.items == MESSAGES
    ended = die_through(exchange.receiver, prepared.number, prepared.items)
    assert (ended.done, ended.skipped, ended.failed) == (MESSAGES, 0, 0)
    with exchange.clients() as (ours, theirs):
        items = theirs.inbox(limit=1000)
        rows = fetch_journal(theirs)
        told = {one.message_id: one.text for one in theirs.bulk_results(prepared.number)}
        [large] = [one for one in items if one.message_id == "m-7" and one.handed_over_again]
        content = b"".join(theirs.payload(large, 0))
    assert hashlib.sha256(content).hexdigest() == large.payloads[0].digest
    again = {one.message_id: one.offset for one in items if one.handed_over_again}
    assert len(items) == 2 * MESSAGES
    assert told == {name: f"at offset {again[name]}" for name in names}
    handed = Counter((row.event, row.attempt, row.message_id) for row in rows)
    for name in names:
        assert handed[Event.HANDED_OVER, None, name] == 1
        assert handed[Event.HANDED_OVER_AGAIN, 2, name] == 1
        assert handed[Event.HANDED_OVER, 2, name] == 1
    assert Counter(row.event for row in rows)[Event.ACK_SENT] == acked
    exchange.stop()
    check_chain(read_journal(exchange.receiver))
