"""What goes back in the answer of HTTP itself where two parties agreed on syncReplyMode."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from packages_2001 import ACKNOWLEDGMENT, element
from peer import NO_CONTENT, PATIENCE_S, Peer, Reply, bodies
from peer_2001 import Peer2001, answering, in_the_answer
from running_gateway import RunningGateway, running

from onceonly.message.event import Event
from onceonly.message.identity import MessageKey
from onceonly.steps.authority import Answered
from onceonly.transport.transport import Request

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
BOTH = "signalsAndResponse"


@pytest.fixture
async def peer() -> AsyncIterator[Peer2001]:
    """The partner of agreement cpa-ab-1, listening."""
    partner = Peer2001()
    await partner.listen()
    yield partner
    await partner.close()


@asynccontextmanager
async def agreed(tmp_path, peer: Peer, mode: str, **terms: Any) -> AsyncIterator[RunningGateway]:
    keys = {"profile": "rm-2001", "sync_reply_mode": mode, **terms}
    async with running(tmp_path, peer, terms=keys) as alive:
        yield alive


# --- We are asked --------------------------------------------------------------------------------


@pytest.mark.statement("S1-09")
async def test_an_acknowledgement_goes_back_in_the_answer(tmp_path, peer):
    """signalsOnly: no connection of our own; a repeat gets the same bytes."""
    async with agreed(tmp_path, peer, "signalsOnly") as gateway:
        replies = [await peer.send_2001(M, ack_requested="Unsigned") for _ in range(2)]
        acks = [in_the_answer(reply) for reply in replies]
        assert [(ack.kind, ack.ref) for ack in acks] == [("Acknowledgment", M)] * 2
        assert acks[0].find("Acknowledgment") is not None
        assert len(bodies(acks)) == 1
        await gateway.until_handed_over(M)
        await gateway.everything_said()
        assert peer.arrivals == []
        assert gateway.rows(Event.ACK_SENT)[0].outcome == "unknown"


@pytest.mark.statement("S1-09")
async def test_the_header_may_ask_for_an_answer_that_the_agreement_leaves_open(tmp_path, peer):
    """Header or CPA: an agreement that says nothing leaves it to the sender."""
    async with agreed(tmp_path, peer, "none"):
        reply = await peer.send_2001(M, sync_reply_mode="signalsOnly")
        assert in_the_answer(reply).kind == "Acknowledgment"
        assert (await peer.send_2001("m-2@a.example.com")).status == 204
        await peer.hear("Acknowledgment")


@pytest.mark.statement("S1-09")
async def test_a_mode_other_than_agreed_is_refused(tmp_path, peer):
    """Asking for nothing is always right; asking for something else is not."""
    async with agreed(tmp_path, peer, "signalsOnly") as gateway:
        assert (await peer.send_2001(M, sync_reply_mode="none")).status == 204
        assert (await peer.hear("Acknowledgment")).ref == M
        await peer.send_2001("m-2@a.example.com", sync_reply_mode="responseOnly")
        assert (await peer.hear("MessageError")).error_code == "Inconsistent"
        assert gateway.inbox_ids() == [M]


async def test_an_error_goes_back_in_the_answer(tmp_path, peer):
    """An error is a signal like another."""
    async with agreed(tmp_path, peer, "signalsOnly") as gateway:
        reply = await peer.send_2001(M, timestamp="2001-02-15T11:12:12Z")
        error = in_the_answer(reply)
        assert (error.kind, error.ref) == ("MessageError", M)
        assert error.error_code == "TimeToLiveExpired"
        await gateway.until_row(Event.ERROR_SENT)
        assert peer.arrivals == []


async def asked(gateway: RunningGateway, peer: Peer2001, **fields: Any) -> "asyncio.Task[Reply]":
    """A message whose sender waits for the business response in the answer."""
    task = asyncio.create_task(peer.send_2001(M, **fields))
    await gateway.until_handed_over(M)
    return task


@pytest.mark.statement("S1-37")
@pytest.mark.statement("S1-29")
@pytest.mark.parametrize("mode", [BOTH, "responseOnly"])
async def test_the_business_response_goes_back_in_the_answer(tmp_path, peer, mode):
    """The exchange stays open for the application; the acknowledgement rides on its response."""
    async with agreed(tmp_path, peer, mode) as gateway:
        waiting = await asked(gateway, peer, ack_requested="Unsigned")
        response_id = await gateway.submit(b"<Response/>", to=peer, ref=M)
        response = in_the_answer(await waiting)
        assert (response.message_id, response.ref) == (response_id, M)
        assert response.payloads == [b"<Response/>"]
        assert response.text("Acknowledgment/From/PartyId") == peer.gateway_party
        await peer.acknowledge_2001(response_id)
        await gateway.until_state(response_id, "acknowledged")
        assert peer.arrivals == []
        (rode,) = gateway.rows(Event.ACK_SENT, message_id=M)
        assert rode.reason == "on the business response"


@pytest.mark.statement("S1-14")
async def test_a_response_has_no_acknowledgment_element_that_nobody_asked_for(tmp_path, peer):
    """Its RefToMessageId says it as well."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        waiting = await asked(gateway, peer)
        await gateway.submit(b"<Response/>", to=peer, ref=M)
        assert in_the_answer(await waiting).find("Acknowledgment") is None


@pytest.mark.statement("S1-34")
async def test_a_repeat_is_ignored_while_the_first_copy_is_in_work(tmp_path, peer):
    """No answer to it; the one who waited first gets the response."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        waiting = await asked(gateway, peer)
        assert (await peer.send_2001(M)).status == 204
        await gateway.until_row(Event.DUPLICATE_ELIMINATED)
        assert peer.arrivals == []
        await gateway.submit(b"<Response/>", to=peer, ref=M)
        assert in_the_answer(await waiting).ref == M


@pytest.mark.statement("S1-32")
async def test_a_repeat_after_the_response_gets_the_response_again(tmp_path, peer):
    """It was the first response there was (R-03), so it is the answer, byte for byte."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        waiting = await asked(gateway, peer)
        response_id = await gateway.submit(b"<Response/>", to=peer, ref=M)
        first = in_the_answer(await waiting)
        await peer.acknowledge_2001(response_id)
        await gateway.until_state(response_id, "acknowledged")
        await peer.send_2001(M)
        assert (await peer.hear("NewOrder")).body == first.body


@pytest.mark.statement("S1-30")
async def test_without_a_response_in_time_the_acknowledgement_goes_alone(tmp_path, peer):
    """After Timeout the exchange ends empty; the response will go by itself like any other."""
    async with agreed(tmp_path, peer, BOTH, timeout=1) as gateway:
        waiting = await asked(gateway, peer)
        reply = await waiting
        assert (reply.status, reply.body) == (204, b"")
        ack = await peer.hear("Acknowledgment")
        response_id = await gateway.submit(b"<Response/>", to=peer, ref=M)
        assert (await peer.hear("NewOrder")).message_id == response_id
        await peer.acknowledge_2001(response_id)
        await gateway.until_state(response_id, "acknowledged")
        again = in_the_answer(await peer.send_2001(M))
        assert again.body == ack.body


@pytest.mark.statement("S1-30")
async def test_a_response_that_is_held_back_does_not_hold_the_acknowledgement(tmp_path, peer):
    """It waits for the answer to a Ping; who sent the request is not to wait with it."""
    terms = {"timeout": 1, "ping_before_send_above": 0}
    async with agreed(tmp_path, peer, BOTH, **terms) as gateway:
        waiting = await asked(gateway, peer)
        await gateway.submit(b"<Response/>", to=peer, ref=M)
        assert (await peer.hear()).kind == "Ping"
        assert (await waiting).status == 204
        # The Ping is repeated after the same second in which the exchange ends.
        while (heard := await peer.hear()).kind == "Ping":
            pass
        assert (heard.kind, heard.ref) == ("Acknowledgment", M)


@pytest.mark.statement("S1-37", ruling="R-28")
async def test_a_response_that_found_no_space_keeps_no_place_in_the_answer(tmp_path, peer):
    """What is submitted under its id then, and answers nothing, goes by itself."""
    response_id = "r-1@a.example.com"
    async with agreed(tmp_path, peer, BOTH, timeout=2) as gateway:
        waiting = await asked(gateway, peer)
        gateway.store.is_full = True
        refused = await gateway.submitted(b"<a/>", to=peer, message_id=response_id, ref=M)
        assert refused.status == 507
        gateway.store.is_full = False
        await gateway.submit(b"<b/>", to=peer, message_id=response_id)
        assert (await peer.hear("NewOrder")).message_id == response_id
        assert (await waiting).status == 204


@pytest.mark.statement("S1-35")
async def test_a_repeat_that_finds_no_response_gets_an_acknowledgement_of_its_own(tmp_path, peer):
    """The crash took the exchange with it; from now on that acknowledgement is the answer."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        waiting = await asked(gateway, peer)
        await gateway.restart()
        await asyncio.gather(waiting, return_exceptions=True)
        await gateway.everything_said()
        assert peer.arrivals == []
        acks = [in_the_answer(await peer.send_2001(M)) for _ in range(2)]
        assert {ack.ref for ack in acks} == {M}
        assert len(bodies(acks)) == 1
        assert gateway.inbox_ids() == [M]


async def test_a_response_too_long_for_an_answer_goes_by_itself(tmp_path, peer):
    """What both sides would have to hold in memory is bounded."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        waiting = await asked(gateway, peer)
        response_id = await gateway.submit(bytes(2 << 20), to=peer, ref=M)
        assert (await waiting).status == 204
        response = await peer.hear()
        assert (response.message_id, response.ref) == (response_id, M)


# --- We ask --------------------------------------------------------------------------------------


async def test_our_header_says_what_we_await(tmp_path, peer):
    """S1-09: and TimeToLive, where one is agreed."""
    async with agreed(tmp_path, peer, "signalsOnly", time_to_live="P29D") as gateway:
        await gateway.submit(b"<a/>", to=peer)
        sent = await peer.hear("NewOrder")
        quality = sent.find("Header/QualityOfServiceInfo")
        assert quality is not None
        assert quality.attrib["syncReplyMode"] == "signalsOnly"
        assert sent.text("Header/MessageData/TimeToLive") > sent.text(
            "Header/MessageData/Timestamp"
        )


async def test_an_acknowledgement_in_the_answer_completes_the_message(tmp_path, peer):
    """It is a package like any other, only that it came back where it was awaited."""
    async with agreed(tmp_path, peer, "signalsOnly") as gateway:
        message_id = "q-1@b.example.com"
        peer.answer(answering(peer.signal_2001(message_id, ACKNOWLEDGMENT)))
        await gateway.submit(b"<a/>", to=peer, message_id=message_id)
        await gateway.until_state(message_id, "acknowledged")
        assert peer.posts_seen == 1


@pytest.mark.statement("S1-29")
async def test_a_business_response_in_the_answer_completes_and_is_kept(tmp_path, peer):
    """It is stored and acknowledged by a POST, since nothing can go back to an answer."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        message_id = "q-1@b.example.com"
        response = peer.business(M, ref=message_id, particulars=element(peer.party))
        peer.answer(answering(response), NO_CONTENT)
        await gateway.submit(b"<a/>", to=peer, message_id=message_id)
        await gateway.until_state(message_id, "acknowledged")
        await peer.hear("NewOrder")
        assert (await peer.hear("Acknowledgment")).ref == M
        await gateway.until_handed_over(M)


@pytest.mark.statement("S3-26", ruling="R-28")
async def test_a_response_in_the_answer_that_finds_no_space_is_not_taken(tmp_path, peer):
    """Nothing of it is stored and the message stays unacknowledged; its repeat is taken."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        message_id = "q-1@b.example.com"
        await gateway.submit(b"<a/>", to=peer, message_id=message_id)
        await peer.hear("NewOrder")
        response = peer.business(M, ref=message_id, particulars=element(peer.party))

        receive = gateway.parts.receiver.receive_reply
        exchange = Answered(message_id, peer.agreement)

        async def come_back() -> int:
            async def body() -> AsyncIterator[bytes]:
                yield response.body

            request = Request(response.content_type, len(response.body), peer.uri, "http")
            return (await receive(request, body(), exchange)).status_code

        gateway.store.is_full = True
        assert await come_back() == 507
        gateway.assert_nothing_stored()
        assert gateway.state_of(message_id) == "sending"
        gateway.store.is_full = False
        assert await come_back() == 204
        await gateway.until_state(message_id, "acknowledged")
        await gateway.until_handed_over(M)


async def test_rubbish_in_the_answer_does_no_harm(tmp_path, peer):
    """The message is with the partner's transport; its acknowledgement may still come."""
    async with agreed(tmp_path, peer, "signalsOnly") as gateway:
        peer.answer(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\nyes")
        message_id = await gateway.submit(b"<a/>", to=peer)
        await gateway.until_row(Event.REJECTED)
        await peer.acknowledge_2001(message_id)
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("S0-68")
async def test_a_body_in_the_answer_of_rm_2000_is_ignored(tmp_path):
    """Even a fitting acknowledgement: what HTTP says is never about the message."""
    peer = Peer("urn:duns:111111111")
    await peer.listen()
    async with running(tmp_path, peer) as gateway:
        message_id = "q-1@b.example.com"
        peer.answer(answering(peer.signal("Acknowledgement", message_id)))
        await gateway.submit(b"<a/>", to=peer, message_id=message_id)
        await gateway.until_row(Event.TRANSMITTED)
        await gateway.everything_said()
        assert gateway.state_of(message_id) == "sending"
    await peer.close()


async def test_waiting_exchanges_end_with_their_connections_when_the_gateway_stops(tmp_path, peer):
    """A stop does not wait for applications; the partner will ask again."""
    async with agreed(tmp_path, peer, BOTH) as gateway:
        waiting = await asked(gateway, peer)
        async with asyncio.timeout(PATIENCE_S):
            await gateway.restart()
        assert gateway.parts.store.snapshot().find_inbound(
            MessageKey(peer.party, peer.gateway_party, M)
        )
        await asyncio.gather(waiting, return_exceptions=True)
