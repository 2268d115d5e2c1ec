"""Messages of which the receiver keeps no key (BestEffort): what it may say about them (R-16)."""

import pytest
from asking import ask, report_of

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"


@pytest.mark.statement("S4-26", ruling="R-16")
async def test_a_cancel_of_what_is_in_the_inbox_is_refused(gateway, peer):
    """I44: "never processed" would be untrue; a status inquiry finds it as well."""
    await peer.send(M, None, semantics="BestEffort")
    await gateway.until_handed_over(M)
    await ask(peer, "CancelRequest", M)
    answer = report_of(await peer.hear("CancelResponse"))
    assert (answer["accepted"], answer["status"]) == ("false", "Received")
    assert gateway.rows(Event.CANCEL_CONFIRMED) == []
    await ask(peer, "StatusRequest", M)
    assert report_of(await peer.hear("StatusResponse"))["status"] == "Received"
    assert gateway.inbox_ids() == [M]
