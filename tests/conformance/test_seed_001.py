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
