"""Seed 001, two parties over real sockets: what only a whole exchange can show.

Most statements of this seed are shown further in; see docs/reference/conformance.md.
"""

import pytest
from running_gateway import BRIEF
from two_parties import submit, two_parties, with_peers

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

NEW = {"profile": "rm-2001"}


@pytest.mark.statement("S1-22", "S1-23", "S1-24", "S1-30")
async def test_an_exchange_in_the_second_profile_is_acknowledged_and_delivered_once(tmp_path):
    """Many at once, each stored, acknowledged by its own MessageId, and handed over once."""
    async with two_parties(tmp_path, **NEW) as parties:
        ids = [await parties.submit() for _ in range(10)]
        for message_id in ids:
            await parties.delivered(message_id)
        await parties.seller.until(lambda: len(parties.seller.inbox_ids()) >= len(ids))
        assert sorted(parties.seller.inbox_ids()) == sorted(ids)
        acknowledged = parties.buyer.rows(Event.ACK_RECEIVED)
        assert sorted(row.message_id for row in acknowledged) == sorted(ids)


ASKS = {
    **NEW,
    "ack_requested": "Unsigned",
    "delivery_receipt_requested": "Unsigned",
    "delivery_receipt_provided": "Unsigned",
    "time_to_live": "P300D",
    "persist_duration": "P300D",
}


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize(
    ("terms", "asked"),
    [({}, (None, None)), (ASKS, ("Unsigned", "Unsigned"))],
    ids=["rm-2000", "rm-2001"],
)
async def test_both_journals_tell_of_one_header(tmp_path, terms, asked):
    """The same digests, times and requests, from what was meant to be written and what was read."""
    async with two_parties(tmp_path, **terms) as parties:
        message_id = await parties.submit(b"<Order/>", b"second")
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        [submitted] = parties.buyer.rows(Event.SUBMITTED)
        [stored] = parties.seller.rows(Event.STORED)
        [handed_over] = parties.seller.rows(Event.HANDED_OVER)
        digests = stored.digest, stored.header_digest
        assert digests == (submitted.digest, submitted.header_digest)
        assert digests == (handed_over.digest, handed_over.header_digest)
        times = stored.message_timestamp_at, stored.time_to_live_at
        assert times == (submitted.message_timestamp_at, submitted.time_to_live_at)
        for row in (submitted, stored):
            assert (row.ack_requested, row.receipt_requested) == asked
        shown = await parties.buyer.get(f"/v1/messages/{message_id}")
        [item] = (await parties.seller.get("/v1/inbox"))["items"]
        assert shown["header_digest"] == item["header_digest"] == stored.header_digest


@pytest.mark.statement("S1-25")
async def test_the_sender_makes_saves_sends_and_waits(tmp_path):
    """Stored before it leaves, with the URIs of both MSHs; then nothing until the wait is over."""
    terms = {**NEW, **BRIEF, "retries": 1}
    async with with_peers(tmp_path, terms) as (gateway, peer):
        message_id = await submit(gateway, peer.party)
        sent = await peer.hear("NewOrder")
        assert gateway.state_of(message_id) == "sending"
        assert sent.text("RoutingHeaderList/RoutingHeader/SenderURI") == gateway.uri
        assert sent.text("RoutingHeaderList/RoutingHeader/ReceiverURI") == peer.uri
        await peer.hear("NewOrder")
        rows = [row.event for row in gateway.rows(message_id=message_id)]
        assert rows[:4] == [
            Event.SUBMITTED,
            Event.TRANSMITTING,
            Event.TRANSMITTED,
            Event.TRANSMITTING,
        ]
