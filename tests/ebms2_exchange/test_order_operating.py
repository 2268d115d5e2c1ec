"""What an operator sees of ordered conversations, and does about them (R-34)."""

import pytest
from peer import UNAVAILABLE
from peer_ebms2 import with_peer
from running_gateway import BRIEF
from test_order_receiving import name, order, refused, said, say
from test_order_sending import order_of, restarted_with, send, take, with_word

from onceonly.message.event import Event
from onceonly.protocol.receiving import InboundStatus

pytestmark = pytest.mark.anyio

BRIEFLY = {**BRIEF, "timeout": None, "message_order": "Guaranteed"}
WHY = {"reason": "they sent it by fax"}


def path(peer, verb: str = "", conversation: str = "conv-1") -> str:
    steps = f"/v1/partners/{peer.party}/conversations/{conversation}"
    return f"{steps}/{verb}" if verb else steps


async def listed(gateway) -> list[dict]:
    return (await gateway.get("/v1/conversations"))["conversations"]


async def asked(gateway, peer, verb: str, conversation: str = "conv-1", **body: str):
    """Ask for the verb; the MessageIds that it answers, or the name of its refusal."""
    where = path(peer, verb, conversation)
    answer = await gateway.call("POST", where, json={**WHY, **body})
    return answer.json.get("message_ids") or answer.json["error"]["name"]


async def test_a_gap_is_listed_and_shown(tmp_path):
    """With what waits for it, from the first on."""
    async with with_peer(tmp_path, message_order="Guaranteed") as (gateway, peer):
        assert await listed(gateway) == []
        for number in (0, 3, 2):
            await say(peer, number)
        await gateway.until_handed_over(name(0))
        [found] = await listed(gateway)
        assert (found["state"], found["number"], found["waiting"]) == ("gap", 1, 2)
        assert (found["partner"], found["conversation"]) == (peer.party, "conv-1")
        assert found["since"] is not None
        shown = await gateway.get(path(peer))
        assert [(one["number"], one["message_id"]) for one in shown["held"]] == [
            (2, name(2)),
            (3, name(3)),
        ]
        missing = await gateway.call("GET", path(peer, "", "other"))
        assert missing.json["error"]["name"] == "NotFound"


async def test_an_operator_releases_what_waits_after_a_gap(tmp_path):
    """Up to the next one, in order; what was missing is refused afterwards."""
    async with with_peer(tmp_path, message_order="Guaranteed") as (gateway, peer):
        for number in (0, 3, 2, 7):
            await say(peer, number)
        await gateway.until_handed_over(name(0))
        assert await asked(gateway, peer, "release") == [name(2), name(3)]
        assert gateway.inbox_ids() == [name(0), name(2), name(3)]
        rows = gateway.rows(Event.RELEASED)
        assert [(row.order_number, row.reason) for row in rows] == [
            (2, WHY["reason"]),
            (3, WHY["reason"]),
        ]
        assert all(row.actor for row in rows)
        [found] = await listed(gateway)
        assert (found["number"], found["waiting"]) == (4, 1)
        assert (await refused(peer, said(1, "Continue"), name(1)))[0] == "Inconsistent"
        assert await asked(gateway, peer, "release") == [name(7)]
        assert await asked(gateway, peer, "release") == "NotHeld"


async def test_an_operator_drops_what_is_held_and_its_sender_is_told(tmp_path):
    """Each as DeliveryFailure, Warning; a repeat is not acknowledged any more."""
    named = {"id": "ours", "cpa_id": "cpa-ab-1"}
    async with with_peer(tmp_path, message_order="Guaranteed", **named) as (gateway, peer):
        for number in (0, 2):
            await say(peer, number)
        await gateway.until_handed_over(name(0))
        assert await asked(gateway, peer, "drop") == [name(2)]
        told = await peer.hear("MessageError")
        assert told.attribute("Error", "errorCode") == "DeliveryFailure"
        assert told.attribute("Error", "severity") == "Warning"
        assert told.text("CPAId") == "cpa-ab-1"
        assert name(2).encode() in told.body
        [row] = gateway.rows(Event.DROPPED)
        assert (row.order_number, row.reason) == (2, WHY["reason"])
        assert await listed(gateway) == []
        code, _ = await refused(peer, order(2), name(2))
        assert code == "DeliveryFailure"
        entries = gateway.parts.store.snapshot().list_stored()
        assert [one.status for one in entries if one.status is InboundStatus.STORED] == []
        await say(peer, 1)
        await gateway.until_handed_over(name(0), name(1))


async def test_a_gap_becomes_an_incident_and_ends_with_it(tmp_path):
    """After the time that was agreed."""
    terms = {"message_order": "Guaranteed", "order_gap_after": "PT1S"}
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        await say(peer, 1)

        def open_gaps() -> list[str]:
            found = gateway.parts.store.snapshot().list_incidents(is_open=True)
            return [one.reason for one in found if "gap in conversation conv-1" in one.reason]

        async def swept() -> bool:
            await gateway.parts.desk.sweep()
            return bool(open_gaps())

        while not await swept():
            await gateway.get("/v1/conversations")
        assert "waits for number 0" in open_gaps()[0]
        await say(peer, 0)
        await gateway.until(lambda: not open_gaps())


@pytest.mark.statement("E2-106")
async def test_an_operator_resets_a_blocked_conversation(tmp_path):
    """E2-106: a doubt is settled first, or named; then the next message says Reset."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        await send(gateway, peer)
        await take(gateway, peer)
        peer.answer(UNAVAILABLE)
        doubtful, following = [await send(gateway, peer) for _ in range(2)]
        copies = await peer.hear_several("NewOrder", 3)
        assert order_of(copies[0]) == ("Continue", 1)
        await gateway.until_state(doubtful, "in_doubt")
        [found] = await listed(gateway)
        assert (found["state"], found["message_id"], found["waiting"]) == ("blocked", doubtful, 1)
        assert await asked(gateway, peer, "reset", "c-1") == "InDoubt"
        peer.answer(None)
        assert await asked(gateway, peer, "reset", "c-1", anyway=doubtful) == [doubtful]
        assert gateway.state_of(doubtful) == "settled_not_delivered"
        again = await take(gateway, peer)
        assert (again.message_id, order_of(again)) == (following, ("Reset", 0))
        assert await asked(gateway, peer, "reset", "c-1") == "NotBlocked"
        [row] = gateway.rows(Event.CONVERSATION_RESET)
        assert (row.conversation_id, row.reason) == ("c-1", WHY["reason"])


async def test_a_settled_doubt_needs_no_name(tmp_path):
    """And a conversation with a message under way is not reset."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        peer.answer(UNAVAILABLE)
        doubtful = await send(gateway, peer)
        assert await asked(gateway, peer, "reset", "c-1") == "NotBlocked"
        await gateway.until_state(doubtful, "in_doubt")
        said_so = {"as": "delivered", "reason": "they see it"}
        answer = await gateway.call("POST", f"/v1/messages/{doubtful}/settle", json=said_so)
        assert answer.status == 200, answer
        assert await asked(gateway, peer, "reset", "c-1") == [doubtful]


async def blocked_through_a_purge(gateway, peer) -> str:
    """A message blocks conversation c-1, was settled, and a purge has left it there."""
    peer.answer(UNAVAILABLE)
    blocks = await send(gateway, peer)
    await gateway.until_state(blocks, "in_doubt")
    said_so = {"as": "delivered", "reason": "they see it"}
    await gateway.call("POST", f"/v1/messages/{blocks}/settle", json=said_so)
    transaction = gateway.store.begin()
    assert transaction.purge_outbound("cpa-ab-1", 1 << 60, 10) == 0
    gateway.store.commit()
    peer.answer(None)
    while peer.has_unheard():
        await peer.hear()
    return blocks


@pytest.mark.statement("E2-106")
@pytest.mark.parametrize("waits", [True, False])
async def test_a_purge_leaves_the_message_that_blocks_until_the_reset(tmp_path, waits):
    """Only an operator resets: a new message waits, and the incident names what it waits for."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        blocks = await blocked_through_a_purge(gateway, peer)
        if waits:
            following = await send(gateway, peer)
            assert gateway.state_of(following) == "queued"
        assert [one["state"] for one in await listed(gateway)] == ["blocked"]
        assert await asked(gateway, peer, "reset", "c-1") == [blocks]
        if not waits:
            following = await send(gateway, peer)
        again = await take(gateway, peer)
        assert (again.message_id, order_of(again)) == (following, ("Reset", 0))
        assert await listed(gateway) == []
        [row] = gateway.rows(Event.CONVERSATION_RESET)
        assert (row.conversation_id, row.reason) == ("c-1", WHY["reason"])
        assert not gateway.store.snapshot().list_incidents(is_open=True)


@pytest.mark.parametrize("is_live", [True, False], ids=["reload", "start"])
async def test_what_is_held_is_handed_over_when_its_order_is_agreed_no_more(tmp_path, is_live):
    """In its order; also where a crash came between the reload and this, as at a start."""
    async with with_peer(tmp_path, message_order="Guaranteed") as (gateway, peer):
        for number in (0, 3, 2, 7):
            await say(peer, number)
        await gateway.until_handed_over(name(0))
        if is_live:
            with_word(gateway, "NotGuaranteed")
            assert (await gateway.call("POST", "/v1/reload")).status == 200
        else:
            await restarted_with(gateway, "NotGuaranteed")
        await gateway.until(lambda: len(gateway.inbox_ids()) == 4)
        assert gateway.inbox_ids() == [name(0), name(2), name(3), name(7)]
        assert await listed(gateway) == []
        rows = gateway.rows(Event.RELEASED)
        assert {row.reason for row in rows} == {"no order is agreed any more"}
        await restarted_with(gateway, "Guaranteed")
        await say(peer, 8)
        await gateway.until(lambda: len(gateway.inbox_ids()) == 5)
