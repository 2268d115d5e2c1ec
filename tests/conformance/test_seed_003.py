"""Seed 003, two parties over real sockets: what only a whole exchange can show.

Most statements of this seed are shown further in; see docs/reference/conformance.md.
"""

import pytest
from running_gateway import BRIEF
from two_parties import submit, two_parties, with_peers

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

PROFILES = pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])


@pytest.mark.statement("S3-13")
async def test_what_failed_may_go_again_under_another_id(tmp_path):
    """The same content, a new MessageId: another message, and the receiver takes it."""
    async with with_peers(tmp_path, {**BRIEF, "on_exhausted": "fail"}) as (gateway, peer):
        failed = await submit(gateway, peer.party)
        await gateway.until_row(Event.EXHAUSTED)
        again = await submit(gateway, peer.party)
        assert again != failed
        while (await peer.hear("Normal")).message_id != again:
            pass
        await peer.acknowledge(again)
        await gateway.until_state(again, "acknowledged")
    (tmp_path / "both").mkdir()
    async with two_parties(tmp_path / "both") as parties:
        ids = [await parties.submit(b"<Order/>") for _ in range(2)]
        await parties.seller.until_handed_over(*ids)


@PROFILES
@pytest.mark.statement("S3-02", "S3-03", "S3-19")
async def test_a_stored_message_outlives_its_receiver_and_the_sender_can_ask(tmp_path, profile):
    """Cut down when it is stored, started again: handed over; the sender's API says how it is."""
    async with two_parties(tmp_path, profile=profile) as parties:
        message_id = await parties.submit()
        await parties.seller.until_row(Event.STORED)
        await parties.seller.restart()
        await parties.seller.until_handed_over(message_id)
        await parties.delivered(message_id)
        shape = await parties.buyer.get(f"/v1/messages/{message_id}")
        assert (shape["state"], shape["is_final"]) == ("acknowledged", True)
