"""Acknowledgements of the next MSH: asked of us, and asked by us."""

import pytest
from peer_ebms2 import (
    ACK_REQUESTED,
    EB,
    ELIMINATED,
    NEXT_ACK_REQUESTED,
    NEXT_MSH,
    ORDERING,
    SOAP,
    TO_PARTY,
    Heard,
    acknowledgment,
    with_peer,
)
from two_parties import submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"


def actors(heard: Heard, name: str) -> list[str | None]:
    """Whom the blocks of this name are for."""
    return [one.get(f"{{{SOAP}}}actor") for one in heard.document.iter(f"{{{EB}}}{name}")]


@pytest.mark.statement("E2-109")
@pytest.mark.parametrize(
    ("asked", "acknowledged"),
    [
        (ACK_REQUESTED + NEXT_ACK_REQUESTED, [TO_PARTY, NEXT_MSH]),
        (ACK_REQUESTED, [TO_PARTY]),
    ],
    ids=["both", "the To Party"],
)
async def test_ir_07_who_is_asked_acknowledges(tmp_path, asked, acknowledged):
    """We are the MSH of the To Party, and the next one as well: once for each."""
    async with with_peer(tmp_path, ack_actor="both") as (gateway, peer):
        parcel = peer.parcel(M, blocks=asked)
        await peer.post(parcel)
        ack = await peer.hear("Acknowledgment")
        assert actors(ack, "Acknowledgment") == acknowledged
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).body == ack.body
        assert gateway.inbox_ids() == [M]


@pytest.mark.statement("E2-109")
async def test_the_next_msh_alone_is_asked(tmp_path):
    """Rows 3 and 7 of the combinations: the hop acknowledges, and the To Party does not."""
    async with with_peer(tmp_path, ack_actor="nextMSH") as (gateway, peer):
        await peer.say_business(M, blocks=NEXT_ACK_REQUESTED)
        ack = await peer.hear("Acknowledgment")
        assert (actors(ack, "Acknowledgment"), ack.ref) == ([NEXT_MSH], M)
        await gateway.until_handed_over(M)


@pytest.mark.statement("E2-109")
async def test_ir_07_where_it_is_not_agreed_the_next_msh_is_not_supported(tmp_path):
    """Told by an error, not by a fault, and not by silence."""
    async with with_peer(tmp_path) as (gateway, peer):
        reply = await peer.say_business(M, blocks=ACK_REQUESTED + NEXT_ACK_REQUESTED)
        assert reply.status == 204
        error = await peer.hear("MessageError")
        assert error.attribute("Error", "errorCode") == "NotSupported"
        assert "AckRequested" in (error.attribute("Error", "location") or "")
        assert gateway.inbox_ids() == []


@pytest.mark.parametrize(
    ("actor", "asked"),
    [("toPartyMSH", [TO_PARTY]), ("nextMSH", [NEXT_MSH]), ("both", [TO_PARTY, NEXT_MSH])],
)
async def test_whom_we_ask_is_as_agreed(tmp_path, actor, asked):
    async with with_peer(tmp_path, ack_actor=actor) as (gateway, peer):
        await submit(gateway, peer.party, **ORDERING)
        assert actors(await peer.hear("NewOrder"), "AckRequested") == asked


@pytest.mark.statement("E2-111")
async def test_the_next_msh_ends_no_message_that_asked_the_to_party(tmp_path):
    """It is noted, and the wait goes on until the To Party acknowledges."""
    async with with_peer(tmp_path, ack_actor="both") as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await gateway.until_row(Event.TRANSMITTED)
        await peer.say_acknowledgment(message_id, blocks=acknowledgment(message_id, NEXT_MSH))
        row = await gateway.until_row(Event.HOP_ACK_RECEIVED)
        assert row.message_id == message_id
        assert gateway.state_of(message_id) == "sending"
        assert gateway.parts.desk.find_due_ns(message_id) is not None
        await peer.say_acknowledgment(message_id)
        await gateway.until_state(message_id, "acknowledged")
        await peer.say_acknowledgment(message_id, blocks=acknowledgment(message_id, NEXT_MSH))
        await gateway.until_row(Event.HOP_ACK_RECEIVED, 2)
        assert gateway.state_of(message_id) == "acknowledged"


@pytest.mark.statement("E2-111")
async def test_the_next_msh_acknowledges_where_it_alone_was_asked(tmp_path):
    async with with_peer(tmp_path, ack_actor="nextMSH") as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_acknowledgment(message_id, blocks=acknowledgment(message_id, NEXT_MSH))
        await gateway.until_state(message_id, "acknowledged")


ROWS = {
    1: ("OnceAndOnlyOnce", "both"),
    2: ("OnceAndOnlyOnce", "toPartyMSH"),
    3: ("OnceAndOnlyOnce", "nextMSH"),
    4: ("AtMostOnce", "toPartyMSH"),
    5: ("AtLeastOnce", "both"),
    6: ("AtLeastOnce", "toPartyMSH"),
    7: ("AtLeastOnce", "nextMSH"),
    8: ("BestEffort", "toPartyMSH"),
}
"""The combinations of the standard (§6.6), by their numbers."""


@pytest.mark.statement("E2-83")
@pytest.mark.parametrize("number", ROWS)
async def test_each_combination_behaves_as_its_name_says(tmp_path, number):
    """Sent as it is asked of us: who acknowledges, and whether a repeat is delivered."""
    semantics, actor = ROWS[number]
    is_eliminated = number <= 4
    asked = [] if number in (4, 8) else [TO_PARTY] if number in (2, 6) else [NEXT_MSH]
    asked = [TO_PARTY, NEXT_MSH] if number in (1, 5) else asked
    blocks = {TO_PARTY: ACK_REQUESTED, NEXT_MSH: NEXT_ACK_REQUESTED}
    terms = {"delivery_semantics": semantics, "ack_actor": actor}
    if not asked:
        terms["retries"] = None
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        await submit(gateway, peer.party, **ORDERING)
        ours = await peer.hear("NewOrder")
        assert actors(ours, "AckRequested") == asked
        assert (b"DuplicateElimination" in ours.body) is is_eliminated
        parcel = peer.parcel(
            M,
            eliminated=ELIMINATED if is_eliminated else "",
            blocks="".join(blocks[one] for one in asked),
        )
        await peer.post(parcel)
        await peer.post(parcel)
        if asked:
            acks = await peer.hear_several("Acknowledgment", 2)
            assert [actors(ack, "Acknowledgment") for ack in acks] == [asked] * 2
        delivered = [M, M] if number == 8 else [M]
        await gateway.until(lambda: gateway.inbox_ids() == delivered)
        assert not peer.has_unheard()
