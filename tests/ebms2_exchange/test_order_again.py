"""What an order needs over a long time: forgotten conversations, and what nobody can take back."""

from functools import partial

import pytest
from peer import UNAVAILABLE
from peer_ebms2 import with_peer
from test_order_sending import BRIEFLY, order_of, ordered, send, take

from onceonly.message.errors import LocalError
from onceonly.message.instant import US_PER_S
from onceonly.message.word import changed
from onceonly.steps import operating
from onceonly.steps.ground import Ground

pytestmark = pytest.mark.anyio

YEARS_US = 10 * 365 * 86_400 * US_PER_S


def much_later(ground: Ground) -> Ground:
    """The same house, when everything that was agreed is over."""
    return changed(ground, now=changed(ground.now, at=ground.now.at + YEARS_US))


async def test_a_conversation_that_its_receiver_may_have_forgotten_begins_new_numbers(tmp_path):
    """Else it would hold what comes next, and wait for a number that nobody sends (R-34)."""
    lasting = {"persist_duration": "PT8S", "retries": 1, "retry_interval": 4}
    async with ordered(tmp_path, **lasting) as (gateway, peer):
        await send(gateway, peer)
        assert order_of(await take(gateway, peer)) == ("Reset", 0)
        await send(gateway, peer)
        assert order_of(await take(gateway, peer)) == ("Reset", 0)


async def test_what_can_neither_be_sent_nor_cancelled_waits_for_a_word(tmp_path):
    """Its time is over, a copy may have left, and nobody can be asked to cancel it (R-43, R-49)."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        peer.answer(UNAVAILABLE)
        message_id = await send(gateway, peer)
        await gateway.until_state(message_id, "in_doubt")
        desk = gateway.parts.desk
        take_up = partial(operating.take_up, desk.snapshot(), message_id=message_id, reason="seen")
        assert take_up(ground=desk.ground())
        with pytest.raises(LocalError, match="settle it by their word") as refused:
            take_up(ground=much_later(desk.ground()))
        assert refused.value.name == "NotResendable"
