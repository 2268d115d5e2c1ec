"""Two gateways exchange unsigned messages in ebMS 2.0, over HTTP."""

import pytest
from two_parties import two_parties

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

EBMS = {"profile": "ebms-2.0", "timeout": None}
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}


async def test_a_message_is_delivered_and_acknowledged(tmp_path):
    async with two_parties(tmp_path, **EBMS) as parties:
        message_id = await parties.submit(b"<Order/>", b"<Annex/>", **ORDERING)
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        rows = parties.buyer.rows(Event.ACK_RECEIVED) + parties.seller.rows(Event.HANDED_OVER)
        assert [(row.message_id, row.profile) for row in rows] == [(message_id, "ebms-2.0")] * 2


async def test_a_message_without_payload_is_delivered(tmp_path):
    """It is a plain text/xml body."""
    async with two_parties(tmp_path, **EBMS) as parties:
        message_id = await parties.submit(b"", **ORDERING)
        await parties.delivered(message_id)


async def test_the_acknowledgement_comes_in_the_answer(tmp_path):
    async with two_parties(tmp_path, **EBMS, sync_reply_mode="mshSignalsOnly") as parties:
        message_id = await parties.submit(**ORDERING)
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)


@pytest.mark.parametrize(
    ("semantics", "state"),
    [("AtMostOnce", "sent"), ("BestEffort", "sent"), ("ExactlyOnce", "acknowledged")],
)
async def test_each_degree_ends_as_its_flags_say(tmp_path, semantics, state):
    terms = {"delivery_semantics": semantics, "retries": None}
    async with two_parties(tmp_path, **EBMS, **terms) as parties:
        message_id = await parties.submit(**ORDERING)
        await parties.buyer.until_state(message_id, state)
        await parties.seller.until_handed_over(message_id)
        is_acknowledged = state == "acknowledged"
        assert bool(parties.seller.rows(Event.ACK_SENT)) is is_acknowledged
