"""How a gateway sends the messages of ordered conversations to a raw peer (R-34)."""

import re
from contextlib import asynccontextmanager
from typing import Any

import pytest
from peer import UNAVAILABLE
from peer_ebms2 import BLOCK, with_peer
from running_gateway import BRIEF
from two_parties import submit

from onceonly.gateway.config import Configuration, read_configuration
from onceonly.message.event import Event
from onceonly.steps import conversations

pytestmark = pytest.mark.anyio

ORDERING = {"service": "urn:services:Ordering"}
BRIEFLY = {**BRIEF, "timeout": None}


@asynccontextmanager
async def ordered(directory, **terms: Any):
    """A gateway under an agreement with an order, and its peer."""
    async with with_peer(directory, message_order="Guaranteed", **terms) as pair:
        yield pair


def order_of(heard) -> tuple[str, int]:
    """Status and number of a message as they are on the wire."""
    pattern = rb'<eb:SequenceNumber eb:status="(\w+)">(\d+)</eb:SequenceNumber>'
    status, number = re.search(pattern, heard.body).groups()
    return status.decode(), int(number)


async def send(gateway, peer, conversation: str = "c-1") -> str:
    return await submit(gateway, peer.party, conversation=conversation, **ORDERING)


async def take(gateway, peer):
    """Hear the next message and acknowledge it."""
    heard = await peer.hear("NewOrder")
    await peer.say_acknowledgment(heard.message_id)
    await gateway.until_state(heard.message_id, "acknowledged")
    return heard


@pytest.mark.statement("E2-105")
async def test_one_message_of_a_conversation_is_under_way(tmp_path):
    """E2-105: the next leaves after the acknowledgement; conversations do not wait."""
    async with ordered(tmp_path) as (gateway, peer):
        sent = [await send(gateway, peer) for _ in range(3)]
        other = await send(gateway, peer, "c-2")
        first, foreign = [await peer.hear("NewOrder") for _ in range(2)]
        assert (first.message_id, foreign.message_id) == (sent[0], other)
        assert order_of(foreign) == ("Reset", 0)
        assert [gateway.state_of(one) for one in sent[1:]] == ["queued", "queued"]
        await peer.say_acknowledgment(sent[0])
        orders = [order_of(first)]
        orders += [order_of(await take(gateway, peer)) for _ in sent[1:]]
        assert orders == [("Reset", 0), ("Continue", 1), ("Continue", 2)]
        assert not peer.has_unheard()
        numbers = {row.message_id: row.order_number for row in gateway.rows(Event.TRANSMITTING)}
        assert [numbers[one] for one in sent] == [0, 1, 2]


async def test_the_queue_of_a_conversation_survives_a_restart(tmp_path):
    """With the numbers that come next."""
    async with ordered(tmp_path) as (gateway, peer):
        sent = [await send(gateway, peer) for _ in range(2)]
        await take(gateway, peer)
        assert (await peer.hear("NewOrder")).message_id == sent[1]
        later = await send(gateway, peer)
        await gateway.stop(0.0)
        await gateway.start()
        again = await take(gateway, peer)
        assert (again.message_id, order_of(again)) == (sent[1], ("Continue", 1))
        third = await take(gateway, peer)
        assert (third.message_id, order_of(third)) == (later, ("Continue", 2))


async def blocked(gateway, peer) -> tuple[str, str]:
    """A conversation whose first message is in doubt; both MessageIds of it."""
    peer.answer(UNAVAILABLE)
    first, second = [await send(gateway, peer) for _ in range(2)]
    await peer.hear_several("NewOrder", 3)
    await gateway.until_state(first, "in_doubt")
    return first, second


@pytest.mark.statement("E2-106")
async def test_a_message_in_doubt_blocks_its_conversation_and_no_other(tmp_path):
    """E2-106: later ones stay queued, and an incident says which message it is."""
    async with ordered(tmp_path, **BRIEFLY) as (gateway, peer):
        first, second = await blocked(gateway, peer)
        assert gateway.state_of(second) == "queued"
        incidents = gateway.parts.store.snapshot().list_incidents(is_open=True)
        assert any(f"conversation c-1 is blocked by {first}" in one.reason for one in incidents)
        assert gateway.rows(Event.CONVERSATION_BLOCKED)[0].conversation_id == "c-1"
        peer.answer(None)
        await send(gateway, peer, "c-2")
        assert order_of(await take(gateway, peer)) == ("Reset", 0)
        assert not peer.has_unheard()


@pytest.mark.statement("E2-106")
async def test_the_operators_resend_has_the_same_bytes_and_opens_the_conversation(tmp_path):
    """E2-106: the same number, and then the next."""
    async with ordered(tmp_path, **BRIEFLY) as (gateway, peer):
        first, second = await blocked(gateway, peer)
        peer.answer(None)
        await gateway.call("POST", f"/v1/messages/{first}/resend", json={"reason": "it is up"})
        again = await take(gateway, peer)
        assert (again.message_id, order_of(again)) == (first, ("Reset", 0))
        following = await take(gateway, peer)
        assert (following.message_id, order_of(following)) == (second, ("Continue", 1))
        incidents = gateway.parts.store.snapshot().list_incidents(is_open=True)
        assert [one for one in incidents if "blocked" in one.reason] == []


async def test_a_late_acknowledgement_opens_the_conversation(tmp_path):
    """The partner had the message."""
    async with ordered(tmp_path, **BRIEFLY) as (gateway, peer):
        first, second = await blocked(gateway, peer)
        peer.answer(None)
        await peer.say_acknowledgment(first)
        following = await take(gateway, peer)
        assert (following.message_id, order_of(following)) == (second, ("Continue", 1))


async def test_a_refused_message_blocks_and_its_content_takes_its_number(tmp_path):
    """It certainly was not stored, so that no receiver saw the number."""
    async with ordered(tmp_path) as (gateway, peer):
        first, second = [await send(gateway, peer) for _ in range(2)]
        await peer.hear("NewOrder")
        error = (
            f'<eb:ErrorList {BLOCK} eb:highestSeverity="Error"><eb:Error eb:errorCode='
            '"Inconsistent" eb:severity="Error"/></eb:ErrorList>'
        )
        await gateway.until_row(Event.TRANSMITTED)
        await peer.say_signal("MessageError", ref=first, blocks=error)
        await gateway.until_state(first, "failed")
        assert gateway.state_of(second) == "queued"
        await gateway.call("POST", f"/v1/messages/{first}/resend", json={"reason": "mended"})
        again = await take(gateway, peer)
        assert again.message_id not in (first, second)
        assert order_of(again) == ("Reset", 0)
        following = await take(gateway, peer)
        assert (following.message_id, order_of(following)) == (second, ("Continue", 1))


async def test_a_message_that_is_taken_back_lets_the_next_go(tmp_path):
    """While it waits for its conversation, and no byte of it has left."""
    async with ordered(tmp_path) as (gateway, peer):
        first, second, third = [await send(gateway, peer) for _ in range(3)]
        await gateway.call("POST", f"/v1/messages/{second}/cancel")
        assert gateway.state_of(second) == "cancelled"
        assert (await take(gateway, peer)).message_id == first
        following = await take(gateway, peer)
        assert (following.message_id, order_of(following)) == (third, ("Continue", 1))


def with_word(gateway, word: str) -> Configuration:
    """The configuration with another word for the order."""
    path = gateway.configuration.path
    other = {"Guaranteed": "NotGuaranteed", "NotGuaranteed": "Guaranteed"}[word]
    text = path.read_text("utf-8").replace(f'= "{other}"', f'= "{word}"')
    path.write_text(text, "utf-8")
    return read_configuration(path)


async def restarted_with(gateway, word: str) -> None:
    """Restart it under that configuration."""
    found = with_word(gateway, word)
    await gateway.stop(0.0)
    gateway.configuration = found
    await gateway.start()


async def test_what_waits_goes_on_when_the_order_is_agreed_no_more(tmp_path):
    """After the next start, and without numbers; nothing is stuck."""
    async with ordered(tmp_path) as (gateway, peer):
        first, second = [await send(gateway, peer) for _ in range(2)]
        await peer.hear("NewOrder")
        await restarted_with(gateway, "NotGuaranteed")
        heard = {(await peer.hear("NewOrder")).message_id for _ in range(2)}
        assert heard == {first, second}


async def test_what_was_queued_before_the_order_was_agreed_gets_a_number(tmp_path):
    """It waited for a turn of its pair."""
    terms = {"message_order": "NotGuaranteed", "window": 1}
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        first, second = [await send(gateway, peer) for _ in range(2)]
        await peer.hear("NewOrder")
        await restarted_with(gateway, "Guaranteed")
        assert (await peer.hear("NewOrder")).message_id == first
        await peer.say_acknowledgment(first)
        following = await take(gateway, peer)
        assert (following.message_id, order_of(following)) == (second, ("Reset", 0))


@pytest.mark.parametrize("is_acknowledged", [True, False])
async def test_a_turn_that_ended_while_no_order_was_agreed_is_free(tmp_path, is_acknowledged):
    """The conversation learns it from whoever comes to wait next; what ended in doubt blocks it."""
    async with ordered(tmp_path, **BRIEFLY) as (gateway, peer):
        peer.answer(UNAVAILABLE)
        first = await send(gateway, peer)
        await peer.hear("NewOrder")
        await restarted_with(gateway, "NotGuaranteed")
        await gateway.until_state(first, "in_doubt")
        if is_acknowledged:
            await peer.say_acknowledgment(first)
            await gateway.until_state(first, "acknowledged")
        await restarted_with(gateway, "Guaranteed")
        peer.answer(None)
        while peer.has_unheard():
            await peer.hear()
        second = await send(gateway, peer)
        if is_acknowledged:
            following = await take(gateway, peer)
            assert (following.message_id, order_of(following)) == (second, ("Continue", 1))
        else:
            row = await gateway.until_row(Event.CONVERSATION_BLOCKED)
            assert (row.message_id, gateway.state_of(second)) == (first, "queued")


async def test_what_waits_goes_on_after_a_reload_that_takes_the_order_away(tmp_path, monkeypatch):
    """In more than one batch, and nobody has to acknowledge the first for it."""
    monkeypatch.setattr(conversations, "FREED_BATCH", 2)
    async with ordered(tmp_path) as (gateway, peer):
        sent = [await send(gateway, peer) for _ in range(6)]
        assert (await peer.hear("NewOrder")).message_id == sent[0]
        with_word(gateway, "NotGuaranteed")
        assert (await gateway.call("POST", "/v1/reload")).status == 200
        heard = [(await peer.hear("NewOrder")).message_id for _ in sent[1:]]
        assert sorted(heard) == sorted(sent[1:])
