"""Pings and StatusRequests of ebMS 2.0, asked of us and by us."""

import pytest
from peer_ebms2 import (
    ACK_REQUESTED,
    EB,
    MSH,
    NEXT_ACK_REQUESTED,
    ORDERING,
    SYNC_REPLY,
    answer_with,
    fault_answer,
    read,
    with_peer,
)
from signed_parties import with_signing_peer
from two_parties import submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M, Q = "m-0001@a.example.com", "q-1@a.example.com"
NEVER_STORED = "m-9999@a.example.com"


def status_request(about: str) -> str:
    return (
        f'<eb:StatusRequest eb:version="2.0"><eb:RefToMessageId>{about}</eb:RefToMessageId>'
        "</eb:StatusRequest>"
    )


@pytest.mark.statement("E2-90")
async def test_a_pong_is_the_answer_where_that_is_awaited(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        reply = await peer.say_signal("Ping", message_id=Q, blocks=SYNC_REPLY)
        pong = read(reply.body)
        assert (reply.status, pong.kind, pong.ref) == (200, "Pong", Q)
        (row,) = gateway.rows(Event.REPORT_SENT)
        assert row.outcome == "unknown"
        assert not peer.has_unheard()


async def test_an_answer_to_a_question_asks_for_nothing(tmp_path):
    """Neither of them has AckRequested, which would never end."""
    async with with_peer(tmp_path) as (_, peer):
        await peer.say_signal("Ping", message_id=Q)
        pong = await peer.hear("Pong")
        await peer.say_signal("StatusRequest", message_id=Q, body=status_request(M))
        response = await peer.hear("StatusResponse")
        assert b"AckRequested" not in pong.body + response.body
        assert (response.text("ConversationId"), response.text("Service")) == ("conv-1", MSH)


@pytest.mark.statement("E2-88")
async def test_a_status_has_the_time_of_receipt_where_it_was_received(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        told = {}
        for about in (M, NEVER_STORED):
            body = status_request(about)
            reply = await peer.say_signal("StatusRequest", blocks=SYNC_REPLY, body=body)
            element = read(reply.body).document.find(f".//{{{EB}}}StatusResponse")
            assert element is not None
            assert b"urn:onceonly" not in reply.body, "no words of ours without extensions"
            has_time = element.find(f"{{{EB}}}Timestamp") is not None
            told[about] = (element.get(f"{{{EB}}}messageStatus"), has_time)
        assert told == {M: ("Received", True), NEVER_STORED: ("NotRecognized", False)}


@pytest.mark.statement("E2-89")
async def test_s5_a_request_about_a_message_of_another_is_one_about_an_unknown_one(tmp_path):
    """Also about a message that we sent: it is asked under the asker's own key."""
    async with with_peer(tmp_path) as (gateway, peer):
        ours = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_signal("StatusRequest", body=status_request(ours), blocks=SYNC_REPLY)
        reply = await peer.say_signal("StatusRequest", body=status_request(ours), blocks=SYNC_REPLY)
        status = read(reply.body).attribute("StatusResponse", "messageStatus")
        assert status == "NotRecognized"


async def test_s7_a_stranger_that_asks_gets_no_answer(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        for action, body in (("Ping", ""), ("StatusRequest", status_request(M))):
            reply = await peer.say_signal(
                action, from_party="urn:duns:999999999", body=body, blocks=SYNC_REPLY
            )
            assert (reply.status, reply.body) == (204, b"")
        assert len(gateway.rows(Event.SECURITY_EVENT)) == 2
        assert not peer.has_unheard()


@pytest.mark.statement("E2-91")
@pytest.mark.parametrize(
    ("action", "body", "kind"),
    [("Ping", "", "Pong"), ("StatusRequest", status_request(M), "StatusResponse")],
)
async def test_a_question_is_answered_and_never_acknowledged(tmp_path, action, body, kind):
    """AckRequested on it is not obeyed: one signal would ask for another without an end."""
    async with with_peer(tmp_path, ack_actor="both") as (gateway, peer):
        blocks = ACK_REQUESTED + NEXT_ACK_REQUESTED
        await peer.say_signal(action, message_id=Q, body=body, blocks=blocks)
        assert (await peer.hear(kind)).ref == Q
        reply = await peer.say_signal(action, body=body, blocks=blocks + SYNC_REPLY)
        assert read(reply.body).kind == kind
        assert b"eb:Acknowledgment" not in reply.body
        await gateway.everything_said()
        assert not peer.has_unheard()
        assert not gateway.rows(Event.ACK_SENT)


@pytest.mark.statement("E2-91")
@pytest.mark.parametrize("blocks", ["", SYNC_REPLY], ids=["by itself", "in the answer"])
@pytest.mark.parametrize("action", ["Ping", "StatusRequest"])
async def test_a_question_that_had_to_be_signed_is_not_answered_unsigned(tmp_path, action, blocks):
    """Nothing comes back, neither a report nor an error, and one row says why."""
    async with with_signing_peer(tmp_path, require_signature="all") as (gateway, peer):
        body = status_request(M) if action == "StatusRequest" else ""
        reply = await peer.say_signal(action, message_id=Q, body=body, blocks=blocks)
        assert (reply.status, reply.body) == (204, b"")
        await gateway.until_row(Event.SIGNATURE_REFUSED)
        await gateway.everything_said()
        assert not peer.has_unheard()
        assert not gateway.rows(Event.REPORT_SENT)


@pytest.mark.statement("E2-91")
async def test_a_question_need_not_be_signed_where_messages_alone_must_be(tmp_path):
    async with with_signing_peer(tmp_path, require_signature="messages") as (_, peer):
        await peer.say_signal("Ping", message_id=Q)
        assert (await peer.hear("Pong")).ref == Q


def not_supported(ref: str) -> str:
    return (
        '<eb:ErrorList eb:version="2.0" SOAP:mustUnderstand="1" eb:highestSeverity="Error">'
        '<eb:Error eb:errorCode="NotSupported" eb:severity="Error">'
        '<eb:Description xml:lang="en">no Ping here</eb:Description></eb:Error></eb:ErrorList>'
    )


@pytest.mark.statement("E2-92")
@pytest.mark.parametrize("how", ["fault", "error", "error in the answer"])
async def test_ir_28_a_partner_that_cannot_be_asked_gets_the_message(tmp_path, how):
    """NotSupported, or a fault: it runs, and says nothing of whether it takes messages."""
    async with with_peer(tmp_path, ping_before_send_above=0) as (gateway, peer):
        if how == "fault":
            peer.answer(fault_answer("MustUnderstand", "Ping"))
        elif how == "error in the answer":
            peer.answer(
                lambda ping: answer_with(
                    peer.signal("MessageError", ref=ping.message_id, blocks=not_supported("")).body
                )
            )
        message_id = await submit(gateway, peer.party, **ORDERING)
        ping = await peer.hear("Ping")
        if how == "error":
            await peer.say_signal("MessageError", ref=ping.message_id, blocks=not_supported(""))
        assert (await peer.hear("NewOrder")).message_id == message_id
        (row,) = gateway.rows(Event.PONG_RECEIVED)
        assert "cannot be asked" in (row.reason or "")


@pytest.mark.statement("E2-92")
async def test_an_operator_is_told_that_a_partner_cannot_be_asked(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        peer.answer(fault_answer("MustUnderstand", "Ping"))
        answer = await gateway.call("POST", f"/v1/partners/{peer.party}/ping?wait=20")
        [found] = answer.json["pings"]
        assert found["available"] is None


async def test_a_pong_in_the_answer_is_read(tmp_path):
    """Some products answer there although nobody asked for it."""
    async with with_peer(tmp_path) as (gateway, peer):
        peer.answer(lambda ping: answer_with(peer.signal("Pong", ref=ping.message_id).body))
        answer = await gateway.call("POST", f"/v1/partners/{peer.party}/ping?wait=20")
        [found] = answer.json["pings"]
        assert found["available"] is True


@pytest.mark.statement("E2-89")
async def test_where_answers_are_switched_off_every_status_is_unauthorized(tmp_path):
    """Whatever the id, also of a message that is there; a Ping is answered all the same."""
    async with with_peer(tmp_path, answers_inquiries=False) as (gateway, peer):
        await peer.say_business(M)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        for about in (M, NEVER_STORED):
            body = status_request(about)
            reply = await peer.say_signal("StatusRequest", blocks=SYNC_REPLY, body=body)
            assert read(reply.body).attribute("StatusResponse", "messageStatus") == "UnAuthorized"
            assert b"Timestamp>" not in reply.body.partition(b"<SOAP:Body>")[2]
        await peer.say_signal("Ping")
        await peer.hear("Pong")
        assert not peer.has_unheard()
