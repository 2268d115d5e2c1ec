"""Messages of which the receiver keeps no key (BestEffort): what it may say about them (R-16)."""

import pytest
from asking import ask, report_of

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize("first", ["BestEffort", "OnceAndOnlyOnce"])
async def test_one_id_under_two_degrees_is_delivered_once(gateway, peer, first):
    """In either order the second is another message under a known MessageId: an alarm."""
    numbers = {"BestEffort": None, "OnceAndOnlyOnce": 1}
    for degree in sorted(numbers, key=lambda degree: degree != first):
        await peer.send(M, numbers[degree], semantics=degree)
        await gateway.until_handed_over(M)
    await gateway.everything_said()
    assert peer.heard("Error") == [], "it would be about the message that was delivered (R-46)"
    assert gateway.inbox_ids() == [M]
    assert len(gateway.rows(Event.COLLISION_DETECTED)) == 1


@pytest.mark.statement(ruling="R-37")
async def test_best_effort_messages_of_one_id_are_both_delivered(gateway, peer):
    """They are never compared, be the second a repeat or not."""
    await peer.send(M, None, semantics="BestEffort")
    await gateway.until_handed_over(M)
    await peer.send(M, None, semantics="BestEffort", conversation="conv-2")
    await gateway.everything_said()
    assert gateway.inbox_ids() == [M, M]
    assert gateway.rows(Event.COLLISION_DETECTED) == []


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
