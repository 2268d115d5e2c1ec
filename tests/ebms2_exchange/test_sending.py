"""How a gateway sends in ebMS 2.0, and what it takes for an answer."""

import pytest
from peer import UNAVAILABLE
from peer_ebms2 import (
    ACK_REQUESTED,
    BLOCK,
    MSH,
    TO_PARTY,
    Heard,
    acknowledgment,
    answer_with,
    stamp,
    with_peer,
)
from running_gateway import BRIEF
from two_parties import SELLER, submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

ORDERING = {"service": "urn:services:Ordering"}
BRIEFLY = {**BRIEF, "timeout": None}
M = "m-0001@a.example.com"


@pytest.mark.statement("E2-75")
@pytest.mark.statement("E2-76")
@pytest.mark.statement("E2-78")
async def test_a_resend_is_the_same_package_until_the_budget_is_used_up(tmp_path):
    """Retries + 1 transmissions, of which one that was refused is one."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        peer.answer(UNAVAILABLE)
        message_id = await submit(gateway, peer.party, **ORDERING)
        copies = await peer.hear_several("NewOrder", 3)
        await gateway.until_state(message_id, "in_doubt")
        assert len({copy.body for copy in copies}) == 1
        assert not peer.has_unheard()


@pytest.mark.statement("E2-79")
async def test_a_message_is_acknowledged_by_the_party_that_has_it(tmp_path):
    """Found by RefToMessageId; a stranger's word about it changes nothing."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_acknowledgment(message_id, from_party="urn:duns:999999999")
        await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)
        assert (await gateway.get(f"/v1/messages/{message_id}"))["state"] == "sending"
        reply = await peer.say_acknowledgment(message_id)
        assert (reply.status, reply.body) == (204, b"")
        await gateway.until_state(message_id, "acknowledged")


async def test_the_next_msh_does_not_acknowledge_for_the_party(tmp_path):
    """R-32: what is for one hop only ends no message that asked the To Party."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        next_msh = TO_PARTY.replace("toPartyMSH", "nextMSH")
        element = (
            f'<eb:Acknowledgment {BLOCK} SOAP:actor="{next_msh}"><eb:Timestamp>{stamp()}'
            f"</eb:Timestamp><eb:RefToMessageId>{message_id}</eb:RefToMessageId></eb:Acknowledgment>"
        )
        await peer.say_signal("Acknowledgment", ref=message_id, blocks=element)
        (row,) = await gateway.until(lambda: gateway.rows(Event.ORPHAN_ACK_RECEIVED))
        assert "the next MSH" in row.reason
        assert (await gateway.get(f"/v1/messages/{message_id}"))["state"] == "sending"


@pytest.mark.statement("E2-81")
async def test_an_acknowledgement_rides_on_a_business_message(tmp_path):
    """It acknowledges, and the message itself is delivered; without it nothing is implied."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_business("m-0000@a.example.com", ref=message_id)
        await gateway.until_handed_over("m-0000@a.example.com")
        assert (await gateway.get(f"/v1/messages/{message_id}"))["state"] == "sending"
        element = (
            f'<eb:AckRequested {BLOCK} SOAP:actor="{TO_PARTY}" eb:signed="false"/>'
            f'<eb:Acknowledgment {BLOCK} SOAP:actor="{TO_PARTY}"><eb:Timestamp>{stamp()}'
            f"</eb:Timestamp><eb:RefToMessageId>{message_id}</eb:RefToMessageId></eb:Acknowledgment>"
        )
        await peer.say_business(M, ref=message_id, blocks=element)
        await gateway.until_state(message_id, "acknowledged")
        await gateway.until_handed_over("m-0000@a.example.com", M)


@pytest.mark.statement("E2-79")
@pytest.mark.statement("E2-81")
async def test_an_acknowledgement_that_rides_may_name_its_message_alone(tmp_path):
    """Its own RefToMessageId counts first; the MessageHeader beside it answers nothing."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_business(M, blocks=ACK_REQUESTED + acknowledgment(message_id))
        await gateway.until_state(message_id, "acknowledged")
        await gateway.until_handed_over(M)


@pytest.mark.statement("E2-79")
async def test_an_acknowledgement_in_the_answer_may_ride_and_name_its_message_alone(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):

        def response(message: Heard) -> bytes:
            blocks = ACK_REQUESTED + acknowledgment(message.message_id)
            return answer_with(peer.parcel(M, blocks=blocks).body)

        peer.answer(response)
        message_id = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_state(message_id, "acknowledged")
        await gateway.until_handed_over(M)


# --- Ping and StatusRequest ----------------------------------------------------------------------


@pytest.mark.statement("E2-90")
async def test_a_ping_is_answered_by_a_pong(tmp_path):
    async with with_peer(tmp_path) as (_, peer):
        reply = await peer.say_signal("Ping", message_id="q-1@a.example.com")
        assert (reply.status, reply.body) == (204, b"")
        pong = await peer.hear("Pong")
        assert (pong.ref, pong.parties("From"), pong.parties("To")) == (
            "q-1@a.example.com",
            [SELLER],
            [peer.party],
        )


async def test_an_operators_ping_is_answered(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):

        async def answer_ping() -> None:
            ping = await peer.hear("Ping")
            assert (ping.text("Service"), ping.parties("To")) == (MSH, [peer.party])
            await peer.say_signal("Pong", ref=ping.message_id)

        gateway.parts.tasks.start(answer_ping())
        answer = await gateway.call("POST", f"/v1/partners/{peer.party}/ping?wait=20")
        [found] = answer.json["pings"]
        assert (found["available"], found["outcome"]) == (True, "accepted")


def status_request(about: str) -> str:
    return (
        f'<eb:StatusRequest eb:version="2.0"><eb:RefToMessageId>{about}</eb:RefToMessageId>'
        "</eb:StatusRequest>"
    )


@pytest.mark.statement("E2-87")
async def test_a_status_request_is_answered(tmp_path):
    """The header refers to the request, the element to the message."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_signal(
            "StatusRequest", message_id="q-1@a.example.com", body=status_request(M)
        )
        unknown = await peer.hear("StatusResponse")
        assert unknown.attribute("StatusResponse", "messageStatus") == "NotRecognized"
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        await peer.say_signal(
            "StatusRequest", message_id="q-2@a.example.com", body=status_request(M)
        )
        heard = [await peer.hear() for _ in range(2)]
        (told,) = (one for one in heard if one.kind == "StatusResponse")
        assert told.ref == "q-2@a.example.com"
        assert told.attribute("StatusResponse", "messageStatus") in ("Received", "Processed")
        assert f"<eb:RefToMessageId>{M}</eb:RefToMessageId>".encode() in told.body


async def test_the_status_of_a_message_is_asked_for(tmp_path):
    """What the partner says is taken, and a partner that has it has acknowledged it."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await gateway.until_row(Event.TRANSMITTED)
        await gateway.call("POST", f"/v1/messages/{message_id}/status-request")
        asked = await peer.hear("StatusRequest")
        body = (
            '<eb:StatusResponse eb:version="2.0" eb:messageStatus="NotRecognized">'
            f"<eb:RefToMessageId>{message_id}</eb:RefToMessageId></eb:StatusResponse>"
        )
        await peer.say_signal("StatusResponse", ref=asked.message_id, body=body)
        found = await gateway.get(f"/v1/messages/{message_id}")
        assert found["report"]["said"] == "NotRecognized"


async def test_a_message_that_has_left_cannot_be_taken_back(tmp_path):
    """The profile has no question for it, so an operator is told that nobody can be asked."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        answer = await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
        assert (answer.status, answer.json["error"]["name"]) == (409, "NotCancellable")
        assert "nobody can be asked" in answer.json["error"]["text"]
        assert not peer.has_unheard()
