"""One more profile is one folder: no file of the house knows of the one beside this test.

It has a form and rules of its own, and messages in it are delivered and acknowledged like all
others, straight and through an intermediary.
"""

import pytest
from chain import Plan, running_chain
from toy import CODEC
from two_parties import AGREEMENT, BUYER, SELLER, agreement, house, submit, two_parties, write

from onceonly.gateway.config import ConfigurationError, read_configuration
from onceonly.message.event import Event
from onceonly.wire import registry
from ports import free_port

pytestmark = pytest.mark.anyio


async def test_a_message_is_delivered_and_acknowledged_in_it(tmp_path):
    async with two_parties(tmp_path, profile="toy") as parties:
        message_id = await parties.submit(b"<Order/>", b"<Annex/>")
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        rows = parties.buyer.rows(Event.ACK_RECEIVED) + parties.seller.rows(Event.HANDED_OVER)
        assert [(row.message_id, row.profile) for row in rows] == [(message_id, "toy")] * 2


async def test_it_goes_through_an_intermediary_which_adds_a_stage(tmp_path):
    async with running_chain(tmp_path, Plan(profile="toy")) as chain:
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)


async def test_who_speaks_it_where_another_was_agreed_is_told_so_in_it(tmp_path):
    there, here = free_port(), free_port()
    uris = [f"http://127.0.0.1:{port}/msh" for port in (there, here)]
    buyer = write(
        tmp_path,
        "buyer",
        house(BUYER, "buyer", there),
        agreement(AGREEMENT, SELLER, uris[1], profile="toy"),
    )
    seller = write(
        tmp_path,
        "seller",
        house(SELLER, "seller", here),
        agreement(AGREEMENT, BUYER, uris[0], profile="rm-2001"),
    )
    for gateway in (buyer, seller):
        await gateway.start()
    try:
        message_id = await submit(buyer, SELLER)
        await buyer.until_state(message_id, "failed")
        (row,) = buyer.rows(Event.ERROR_RECEIVED)
        assert "a message of profile toy" in row.reason
    finally:
        for gateway in (buyer, seller):
            await gateway.stop(0.0)


async def test_it_is_known_by_its_registration_alone(tmp_path):
    async with two_parties(tmp_path, profile="toy"):
        pass
    registry.withdraw(CODEC)
    try:
        with pytest.raises(ConfigurationError, match="'toy' is none of them"):
            read_configuration(tmp_path / "buyer.toml")
    finally:
        registry.register(CODEC)
