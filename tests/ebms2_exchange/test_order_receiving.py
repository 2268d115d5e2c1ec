"""What a gateway does with messages of an ordered conversation that a raw peer sends it (R-34)."""

from contextlib import asynccontextmanager
from typing import Any

import pytest
from peer_ebms2 import ACK_REQUESTED, BLOCK, with_peer

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio


def order(number: int, status: str = "Continue") -> str:
    """A MessageOrder beside an AckRequested."""
    if number == 0 and status == "Continue":
        status = "Reset"
    return said(number, status)


def said(number: int, status: str) -> str:
    """A MessageOrder as it is, beside an AckRequested."""
    return (
        f'<eb:MessageOrder {BLOCK}><eb:SequenceNumber eb:status="{status}">{number}'
        f"</eb:SequenceNumber></eb:MessageOrder>{ACK_REQUESTED}"
    )


def name(number: int) -> str:
    return f"m-{number}@a.example.com"


@asynccontextmanager
async def ordered(directory, **terms: Any):
    """A gateway under an agreement with an order, and its peer."""
    async with with_peer(directory, message_order="Guaranteed", **terms) as pair:
        yield pair


async def say(peer, number: int, message_id: str | None = None, status: str = "Continue") -> None:
    """Post the message with the number, and hear that it is acknowledged."""
    await peer.say_business(message_id or name(number), blocks=order(number, status))
    ack = await peer.hear("Acknowledgment")
    assert ack.ref == (message_id or name(number))


async def refused(peer, blocks: str, message_id: str = "wrong@a.example.com"):
    """Post a message that is refused; returns code and location of the error."""
    await peer.say_business(message_id, blocks=blocks)
    error = await peer.hear("MessageError")
    assert error.ref == message_id
    return tuple(error.attribute("Error", one) for one in ("errorCode", "location"))


AT_NUMBER = "//SOAP:Header/eb:MessageOrder/eb:SequenceNumber"
AT_ORDER = "//SOAP:Header/eb:MessageOrder"


@pytest.mark.statement("E2-93")
@pytest.mark.statement("E2-94")
async def test_what_comes_too_early_is_acknowledged_and_handed_over_in_order(tmp_path):
    """E2-93, E2-94: in one step with the message that was missing."""
    async with ordered(tmp_path) as (gateway, peer):
        await say(peer, 0)
        await gateway.until_handed_over(name(0))
        for number in (3, 2):
            await say(peer, number)
        assert gateway.inbox_ids() == [name(0)]
        await say(peer, 1)
        await gateway.until(lambda: len(gateway.inbox_ids()) == 4)
        assert gateway.inbox_ids() == [name(number) for number in range(4)]
        assert [row.order_number for row in gateway.rows(Event.HELD)] == [3, 2]
        assert [row.order_number for row in gateway.rows(Event.RELEASED)] == [2, 3]
        handed_over = gateway.rows(Event.HANDED_OVER)
        assert [row.order_number for row in handed_over] == [0, 1, 2, 3]


@pytest.mark.statement("E2-95")
@pytest.mark.statement("E2-96")
async def test_a_number_that_was_used_is_refused(tmp_path):
    """E2-95, E2-96: by a message that is held, or handed over; nothing is stored."""
    async with ordered(tmp_path) as (gateway, peer):
        await say(peer, 0)
        await say(peer, 2)
        for number in (0, 2):
            blocks = said(number, "Continue")
            assert await refused(peer, blocks) == ("Inconsistent", AT_NUMBER)
        assert len(gateway.rows(Event.STORED)) == 2
        assert len(gateway.rows(Event.REJECTED)) == 2


@pytest.mark.statement("E2-98")
@pytest.mark.statement("E2-99")
async def test_a_reset_begins_new_numbers_unless_something_is_missing(tmp_path):
    """E2-98, E2-99."""
    async with ordered(tmp_path) as (gateway, peer):
        await say(peer, 0)
        await say(peer, 1)
        await say(peer, 0, "again-0@a.example.com")
        await say(peer, 2, "again-2@a.example.com")
        assert await refused(peer, said(0, "Reset")) == ("Inconsistent", AT_NUMBER)
        await gateway.until(lambda: len(gateway.inbox_ids()) == 3)


@pytest.mark.statement("E2-97")
@pytest.mark.statement("E2-100")
@pytest.mark.statement("E2-101")
@pytest.mark.parametrize("status", ["Reset", "Continue"])
async def test_a_conversation_begins_with_zero_whatever_it_says(tmp_path, status):
    """E2-97, E2-100, E2-101: and what came before its beginning waits for it."""
    async with ordered(tmp_path) as (gateway, peer):
        await say(peer, 1)
        assert gateway.inbox_ids() == []
        await peer.say_business(name(0), blocks=said(0, status))
        await peer.hear("Acknowledgment")
        await gateway.until(lambda: gateway.inbox_ids() == [name(0), name(1)])


@pytest.mark.statement("E2-102")
async def test_a_reset_with_another_number_is_refused(tmp_path):
    """E2-102."""
    async with ordered(tmp_path) as (gateway, peer):
        assert (await refused(peer, said(5, "Reset")))[0] == "Inconsistent"
        assert gateway.rows(Event.STORED) == []


@pytest.mark.statement("E2-103")
async def test_no_more_is_held_than_was_agreed(tmp_path):
    """E2-103, attack S10: not stored, not acknowledged, and the sender knows it."""
    async with ordered(tmp_path, order_hold_max=2) as (gateway, peer):
        for number in (99_999_999, 7):
            await say(peer, number)
        assert await refused(peer, order(8), name(8)) == ("DeliveryFailure", AT_NUMBER)
        assert len(gateway.rows(Event.STORED)) == 2
        await say(peer, 0)
        await gateway.until_handed_over(name(0))


@pytest.mark.statement("E2-108")
async def test_an_order_without_what_it_needs_is_inconsistent(tmp_path):
    """E2-108: without AckRequested, without DuplicateElimination, or with SyncReply."""
    sync = (
        '<eb:SyncReply eb:version="2.0" SOAP:mustUnderstand="1"'
        ' SOAP:actor="http://schemas.xmlsoap.org/soap/actor/next"/>'
    )
    async with ordered(tmp_path) as (gateway, peer):
        alone = said(0, "Reset").removesuffix(ACK_REQUESTED)
        assert await refused(peer, alone) == ("Inconsistent", AT_ORDER)
        reply = await peer.say_business(name(0), blocks=said(0, "Reset") + sync)
        assert b'errorCode="Inconsistent"' in (reply.body or (await peer.hear("MessageError")).body)
        await peer.say_business(name(0), blocks=said(0, "Reset"), eliminated="")
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "Inconsistent"
        assert gateway.rows(Event.STORED) == []


async def test_an_order_that_was_not_agreed_is_not_supported(tmp_path):
    """§6."""
    async with with_peer(tmp_path) as (_, peer):
        assert await refused(peer, said(0, "Reset")) == ("NotSupported", AT_ORDER)


async def test_a_message_without_the_agreed_order_is_inconsistent(tmp_path):
    """§6."""
    async with ordered(tmp_path) as (_, peer):
        assert await refused(peer, ACK_REQUESTED) == ("Inconsistent", AT_ORDER)


async def test_conversations_do_not_wait_for_each_other(tmp_path):
    """What is missing in one is not missing in another; nor do messages of one hide in another."""
    async with ordered(tmp_path) as (gateway, peer):
        await say(peer, 1)
        parcel = peer.parcel("other@a.example.com", blocks=order(0))
        other = parcel.body.replace(b">conv-1<", b">conv-2<")
        await peer.post(parcel._replace(body=other))
        await gateway.until(lambda: gateway.inbox_ids() == ["other@a.example.com"])


@pytest.mark.statement("E2-107")
async def test_held_messages_survive_a_restart(tmp_path):
    """E2-107: they are not acknowledged again unasked, and are handed over once, in order."""
    async with ordered(tmp_path) as (gateway, peer):
        await say(peer, 0)
        for number in (2, 1):
            if number == 1:
                await gateway.stop(0.0)
                await gateway.start()
                assert gateway.inbox_ids() == [name(0)]
            await say(peer, number)
        await gateway.until(lambda: len(gateway.inbox_ids()) == 3)
        assert gateway.inbox_ids() == [name(number) for number in range(3)]
        assert not peer.has_unheard()


async def test_a_repeat_of_a_held_message_is_acknowledged_and_stays_held(tmp_path):
    """The same acknowledgement, byte for byte (R-03)."""
    async with ordered(tmp_path) as (gateway, peer):
        parcel = peer.parcel(name(1), blocks=order(1))
        await peer.post(parcel)
        first = await peer.hear("Acknowledgment")
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).body == first.body
        assert gateway.inbox_ids() == []
        assert len(gateway.rows(Event.STORED)) == 1
