"""`onceonly conversation …`: what waits, and what is refused where nothing does."""

import json

import pytest

from onceonly.cli.exits import Exit
from onceonly.message.identity import ConversationKey, Pair
from onceonly.protocol.ordering import OrderStatus, ReceivingOrder, SendingOrder

pytestmark = [pytest.mark.anyio, pytest.mark.statement(ruling="R-34")]

WHY = ("--reason", "INC-42")


@pytest.fixture
async def waiting(gateway, peer) -> str:
    """A conversation of ours that is blocked, and one of the partner with a gap."""
    party = str(gateway.configuration.party[0])
    there = ConversationKey(Pair(party, peer.party), "ours")
    back = ConversationKey(Pair(peer.party, party), "theirs")
    blocked = SendingOrder(OrderStatus.BLOCKED, 8, "m-7", 7)
    gap = ReceivingOrder(expected=3, held=2)

    def put(txn, ground) -> None:
        del ground
        txn.put_sending_order(there, blocked, keep_until_at=None)
        txn.put_receiving_order(back, gap, keep_until_at=None)

    await gateway.parts.desk.transact(put)
    return peer.party


async def test_what_waits_is_listed_and_shown(run, waiting):
    """Ours first; the message that blocks it, and the number that is missing."""
    listed = await run("conversation", "list", "-o", "json")
    assert listed.exit_code == Exit.OK, listed.stderr
    ours, theirs = json.loads(listed.stdout)
    assert (ours["conversation"], ours["state"], ours["message_id"]) == ("ours", "blocked", "m-7")
    assert (theirs["state"], theirs["number"], theirs["waiting"]) == ("gap", 3, 2)
    shown = await run("conversation", "show", waiting, "theirs")
    assert "gap" in shown.stdout
    assert (await run("conversation", "show", waiting, "other")).exit_code == Exit.NOT_FOUND
    assert (await run("conversation", "show", "urn:x:1", "ours")).exit_code == Exit.NOT_FOUND


@pytest.mark.parametrize("verb", ["reset", "release", "drop"])
async def test_what_waits_for_nothing_is_refused(run, waiting, verb):
    """With the reason, and as not possible."""
    result = await run("conversation", verb, waiting, "other", *WHY)
    assert result.exit_code == Exit.NOT_POSSIBLE
    assert "other" in result.stderr
