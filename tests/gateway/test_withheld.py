"""Messages withheld until an acknowledgement may have left (seed 003 §1, R-12)."""

from typing import Any

import pytest
from peer import Manners, Peer
from running_gateway import RunningGateway, running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

FIRST, SECOND = "m-0001@a.example.com", "m-0002@a.example.com"
STRICT: dict[str, Any] = {"strict_release": True}


async def withheld(gateway: RunningGateway, peer: Peer) -> None:
    """The first message, whose acknowledgement found nobody."""
    peer.refuse_connections()
    await peer.send(FIRST, 1)
    await gateway.until_row(Event.WITHHELD)
    await peer.listen()


async def test_a_later_message_does_not_overtake_it(tmp_path, peer):
    """I16: its sender gave it up and began anew; it comes first all the same, acknowledged."""
    async with running(tmp_path, peer, terms=STRICT) as gateway:
        await withheld(gateway, peer)
        await peer.send(SECOND, 1)
        acknowledged = {(await peer.hear("Acknowledgement")).ref for _ in range(2)}
        assert acknowledged == {FIRST, SECOND}
        await gateway.until_handed_over(FIRST, SECOND)


async def test_a_later_message_goes_on_where_the_first_cannot_be_acknowledged(tmp_path, peer):
    """L7: nobody is blocked; both wait for an acknowledgement that leaves, in their order."""
    async with running(tmp_path, peer, terms=STRICT) as gateway:
        peer.refuse_connections()
        for message_id in (FIRST, SECOND):
            await peer.send(message_id, 1)
        await gateway.until_row(Event.WITHHELD, 2)
        await peer.listen()
        await peer.send(SECOND, 1)
        await gateway.until_handed_over(FIRST, SECOND)


async def test_a_repeat_of_what_was_handed_over_acknowledges_nothing_else(tmp_path, peer):
    """Its acknowledgement is long in leaving; the next message, stored meanwhile, has its own."""
    async with running(tmp_path, peer, terms=STRICT) as gateway:
        await peer.send(FIRST, 1)
        await gateway.until_handed_over(FIRST)
        peer.answer(Manners.SILENCE)
        await peer.send(FIRST, 1)
        await peer.hear_several("Acknowledgement", 2)
        await peer.send(SECOND, 2)
        await peer.hear("Acknowledgement")
        peer.cut()
        await gateway.until_handed_over(FIRST, SECOND)
        assert [one.ref for one in peer.heard("Acknowledgement")].count(SECOND) == 1


async def test_one_is_acknowledged_only_with_the_space_to_keep_that_it_is(tmp_path, peer):
    """L2, R-28: once its sender may know, no stop in between may leave it withheld."""
    async with running(tmp_path, peer, terms=STRICT) as gateway:
        await withheld(gateway, peer)
        gateway.store.is_full = True
        assert (await peer.send(FIRST, 1)).status == 507
        assert not peer.has_unheard()
        gateway.store.is_full = False
        assert (await peer.hear("Acknowledgement")).ref == FIRST
        await gateway.until_handed_over(FIRST)


@pytest.mark.parametrize("was_withheld", [False, True], ids=["the first", "a later one"])
async def test_a_stop_while_its_acknowledgement_leaves_ends_the_withholding(
    tmp_path, peer, was_withheld
):
    """L2: its sender may have the acknowledgement; the next one's fate says nothing about that."""
    async with running(tmp_path, peer, terms=STRICT) as gateway:
        if was_withheld:
            await withheld(gateway, peer)
        peer.answer(Manners.SILENCE)
        await peer.send(FIRST, 1)
        assert (await peer.hear("Acknowledgement")).ref == FIRST
        peer.refuse_connections()
        await gateway.restart()
        await gateway.until_handed_over(FIRST)


async def test_what_certainly_was_not_acknowledged_stays_withheld_over_restarts(tmp_path, peer):
    """R-12: every attempt ended before the stop, and none of them left."""
    async with running(tmp_path, peer, terms=STRICT) as gateway:
        peer.refuse_connections()
        await peer.send(FIRST, 1)
        for lives in (1, 2, 3):
            await gateway.until_row(Event.WITHHELD, lives)
            await gateway.restart()
        await gateway.until_row(Event.WITHHELD, 4)
        assert gateway.inbox_ids() == []
