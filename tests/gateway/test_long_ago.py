"""Messages so old that their receiver may have processed and forgotten them (R-19, R-21)."""

from pathlib import Path

import pytest
from running_gateway import running

pytestmark = pytest.mark.anyio

TWO_MONTHS_S = 5_184_000


async def test_what_the_partner_may_have_forgotten_is_not_taken_back(tmp_path: Path, peer):
    """It would confirm a cancel of what it does not know, though it was processed long ago."""
    drill = {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, drill=drill) as gateway:
        message_id = await gateway.submit(b"<Order/>", to=peer)
        await peer.hear("Normal")
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        (tmp_path / "offset").write_text(str(TWO_MONTHS_S), encoding="ascii")
        answer = await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
        assert (answer.status, answer.json["error"]["name"]) == (409, "NotCancellable")
        assert gateway.state_of(message_id) == "acknowledged"
        assert not peer.has_unheard()
