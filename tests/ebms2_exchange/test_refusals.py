"""What the partner hears when an application refuses what was acknowledged (§7)."""

import pytest
from peer_ebms2 import with_peer
from two_parties import two_parties

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

EBMS = {"profile": "ebms-2.0", "timeout": None}
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
M = "m-0001@a.example.com"
NO = {"reason": "no such article"}


async def test_a_refusal_is_an_error_message_with_the_words_of_the_application(tmp_path):
    """From party to party; once, whatever is refused again."""
    async with with_peer(tmp_path, reports_refusals=True) as (gateway, peer):
        await peer.say_business(M)
        await gateway.until_handed_over(M)
        await peer.hear("Acknowledgment")
        for _ in range(2):
            assert (await gateway.call("POST", f"/v1/inbox/{M}/refuse", json=NO)).status == 200
        error = await peer.hear("MessageError")
        assert (error.ref, error.parties("To")) == (M, [peer.party])
        assert error.attribute("Error", "errorCode") == "Unknown"
        assert error.attribute("Error", "severity") == "Error"
        assert error.text("Description") == "no such article"
        await gateway.until_row(Event.FAILURE_NOTICE_SENT)
        await gateway.everything_said()
        assert not peer.has_unheard()


async def test_without_the_key_the_partner_is_told_nothing(tmp_path):
    """It has its acknowledgement; what the application thinks of it was not agreed to be told."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M)
        await gateway.until_handed_over(M)
        await peer.hear("Acknowledgment")
        assert (await gateway.call("POST", f"/v1/inbox/{M}/refuse", json=NO)).status == 200
        await gateway.everything_said()
        assert not peer.has_unheard()
        assert gateway.store.snapshot().list_owed_notices() == []


async def test_a_refusal_that_was_owed_at_a_stop_is_told_after_it(tmp_path):
    """It is durable from the step in which the application said no."""
    async with with_peer(tmp_path, reports_refusals=True) as (gateway, peer):
        await peer.say_business(M)
        await gateway.until_handed_over(M)
        await peer.hear("Acknowledgment")
        peer.refuse_connections()
        await gateway.call("POST", f"/v1/inbox/{M}/refuse", json=NO)
        await gateway.until_row(Event.FAILURE_NOTICE_SENT)
        await peer.listen()
        await gateway.restart()
        error = await peer.hear("MessageError")
        assert (error.ref, error.attribute("Error", "errorCode")) == (M, "Unknown")


async def test_the_sending_application_hears_that_its_message_was_not_processed(tmp_path):
    """The message stays acknowledged: the To Party has it (R-39)."""
    async with two_parties(tmp_path, **EBMS, reports_refusals=True) as parties:
        message_id = await parties.submit(**ORDERING)
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        path = f"/v1/inbox/{message_id}/refuse"
        assert (await parties.seller.call("POST", path, json=NO)).status == 200
        row = await parties.buyer.until_row(Event.NOTIFIED)
        assert (row.message_id, row.reason) == (message_id, "NotProcessed")
        await parties.buyer.until_state(message_id, "acknowledged")
