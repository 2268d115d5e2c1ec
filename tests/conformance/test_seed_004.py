"""Seed 004, two parties over real sockets: what only a whole exchange can show.

Most statements of this seed are shown further in; see docs/reference/conformance.md.
"""

import pytest
from peer import bodies
from two_parties import submit, two_parties, with_peers

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

PROFILES = pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
LIVES = {"time_to_live": "P1D", "retries": None, "retry_interval": 2, "timeout": 1}


@PROFILES
@pytest.mark.statement("S4-01")
@pytest.mark.parametrize(
    ("semantics", "count"), [("OnceAndOnlyOnce", 1), ("AtMostOnce", 1), ("BestEffort", 0)]
)
async def test_an_acknowledgement_comes_where_it_is_asked_for(tmp_path, profile, semantics, count):
    """Level 0: every degree but BestEffort asks for it."""
    terms = {"profile": profile, "level": 0, "retries": None, "retry_interval": 60}
    async with two_parties(tmp_path, delivery_semantics=semantics, **terms) as parties:
        message_id = await parties.submit()
        await parties.seller.until_handed_over(message_id)
        await parties.seller.everything_said()
        assert len(parties.seller.rows(Event.ACK_SENT)) == count
        await parties.buyer.until_state(message_id, "acknowledged" if count else "sent")


@pytest.mark.statement("S4-06")
async def test_every_message_says_when_it_expires(tmp_path):
    """Level 1 in rm-2001: TimeToLive is in the header, after the message's own time."""
    async with with_peers(tmp_path, {**LIVES, "profile": "rm-2001", "level": 1}) as (gateway, peer):
        message_id = await submit(gateway, peer.party)
        sent = await peer.hear("NewOrder")
        expires = sent.text("Header/MessageData/TimeToLive")
        assert expires > sent.text("Header/MessageData/Timestamp")
        shape = await gateway.get(f"/v1/messages/{message_id}")
        assert shape["expires_at"] is not None


@PROFILES
@pytest.mark.statement("S4-08", "S4-09")
async def test_the_message_is_sent_again_until_it_is_acknowledged(tmp_path, profile):
    """Level 1: more resends than the default count, the same bytes, and none afterwards."""
    async with with_peers(tmp_path, {**LIVES, "profile": profile, "level": 1}) as (gateway, peer):
        message_id = await submit(gateway, peer.party)
        sent = [await peer.hear() for _ in range(6)]
        assert {arrival.message_id for arrival in sent} == {message_id}
        assert len(bodies(sent)) == 1
        await (peer.acknowledge if profile == "rm-2000" else peer.acknowledge_2001)(message_id)
        await gateway.until_state(message_id, "acknowledged")
        transmitted = len(gateway.rows(Event.TRANSMITTING))
        await submit(gateway, peer.party)
        await gateway.until(
            lambda: len(gateway.rows(Event.TRANSMITTED)) >= transmitted + 3,
        )
        assert len(gateway.rows(Event.TRANSMITTING, message_id=message_id)) == transmitted


@PROFILES
@pytest.mark.statement("S4-29")
async def test_an_expected_response_is_no_matter_of_the_messaging_layer(tmp_path, profile):
    """Level 5: the acknowledgement completes the message; the response is awaited above it."""
    terms = {**LIVES, "profile": profile, "level": 5, "response_within": "PT10H"}
    async with two_parties(tmp_path, **terms) as parties:
        message_id = await parties.submit()
        await parties.delivered(message_id)
        shape = await parties.buyer.get(f"/v1/messages/{message_id}")
        assert (shape["state"], shape["is_final"]) == ("acknowledged", True)
        assert shape["response"]["state"] == "awaited"
