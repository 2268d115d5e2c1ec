"""What goes beside and after a package of ebMS 2.0: SOAPAction, faults, statuses of HTTP."""

import asyncio

import pytest
from packages import Parcel
from peer_ebms2 import (
    ACK_REQUESTED,
    MSH,
    ORDERING,
    SYNC_REPLY,
    Heard,
    PeerEbms2,
    acknowledged_by,
    acknowledgment,
    answer_with,
    fault_answer,
    read,
    with_peer,
)
from running_gateway import BRIEF, RunningGateway
from two_parties import submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
BRIEFLY = {**BRIEF, "timeout": None}


@pytest.mark.statement("E2-113")
async def test_ir_15_every_post_of_ours_has_the_soap_action_in_quotes(tmp_path):
    """With a payload and without one, on messages and on signals."""
    async with with_peer(tmp_path) as (gateway, peer):
        await submit(gateway, peer.party, b"", **ORDERING)
        await submit(gateway, peer.party, b"<Order/>", **ORDERING)
        await peer.say_business(M)
        heard = [await peer.hear() for _ in range(3)]
        assert [one.headers["soapaction"] for one in heard] == ['"ebXML"'] * 3
        assert {one.kind for one in heard} == {"NewOrder", "Acknowledgment"}


@pytest.mark.statement("E2-113")
async def test_the_soap_action_is_as_agreed(tmp_path):
    """Service and action of the message, and of the signal."""
    async with with_peer(tmp_path, soap_action="{service}/{action}") as (gateway, peer):
        await submit(gateway, peer.party, **ORDERING)
        message = await peer.hear("NewOrder")
        assert message.headers["soapaction"] == '"urn:services:Ordering/NewOrder"'
        await peer.say_business(M)
        ack = await peer.hear("Acknowledgment")
        assert ack.headers["soapaction"] == f'"{MSH}/Acknowledgment"'


@pytest.mark.parametrize("value", [None, "", '""', "ebXML", '"urn:x/Y"'])
async def test_ir_15_any_soap_action_is_accepted(tmp_path, value):
    async with with_peer(tmp_path) as (gateway, peer):
        headers = () if value is None else (f"SOAPAction: {value}",)
        reply = await peer.post(peer.parcel(M), *headers)
        assert reply.status == 204
        await gateway.until_handed_over(M)


@pytest.mark.statement("E2-113")
async def test_an_acknowledgement_in_the_answer_has_the_soap_action_as_well(tmp_path):
    async with with_peer(tmp_path, sync_reply_mode="mshSignalsOnly") as (_, peer):
        reply = await peer.say_business(M, blocks=ACK_REQUESTED + SYNC_REPLY)
        assert (reply.status, reply.headers["soapaction"]) == (200, '"ebXML"')


# --- Faults in answers to us ---------------------------------------------------------------------


@pytest.mark.statement("E2-115")
@pytest.mark.parametrize("code", ["Client", "MustUnderstand", "VersionMismatch"])
async def test_a_fault_that_refuses_ends_the_message(tmp_path, code):
    """The only copy was refused; its text is told, and nothing is sent again."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        peer.answer(fault_answer(code, "unknown CPAId 'x'"))
        message_id = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_state(message_id, "failed")
        (row,) = gateway.rows(Event.FAULT_RECEIVED)
        assert (row.message_id, row.error_code) == (message_id, "Unknown")
        assert f"{code}: unknown CPAId 'x'" in (row.reason or "")
        assert len(peer.arrivals) == 1


@pytest.mark.statement("E2-115")
@pytest.mark.parametrize("answer", [fault_answer("Server", "later"), fault_answer("x:Odd", "?")])
async def test_a_fault_of_the_server_leaves_it_to_the_next_transmission(tmp_path, answer):
    """A code that SOAP does not have refuses nothing either."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        peer.answer(answer)
        message_id = await submit(gateway, peer.party, **ORDERING)
        first, again = await peer.hear_several("NewOrder", 2)
        assert first.body == again.body
        await peer.say_acknowledgment(message_id)
        await gateway.until_state(message_id, "acknowledged")
        (row,) = gateway.rows(Event.FAULT_RECEIVED)
        assert (row.message_id, row.error_code) == (message_id, None)
        (sent, *_) = gateway.rows(Event.TRANSMITTED)
        assert (sent.outcome, sent.status_code) == ("refused", 500)


@pytest.mark.statement("E2-115")
async def test_a_fault_with_an_agreed_code_is_retried(tmp_path):
    async with with_peer(tmp_path, **BRIEFLY, retriable_faults=["200"]) as (gateway, peer):
        peer.answer(fault_answer("Client", "busy", detail="<e:c xmlns:e='urn:e'>200</e:c>"))
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear_several("NewOrder", 2)
        await peer.say_acknowledgment(message_id)
        await gateway.until_state(message_id, "acknowledged")


async def test_two_faults_in_a_row_on_different_messages_are_an_incident(tmp_path):
    """A misrouted address and a proxy answer so, too."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        for is_second in (False, True):
            peer.answer(fault_answer("Client", "not here"))
            message_id = await submit(gateway, peer.party, **ORDERING)
            await gateway.until_state(message_id, "failed")
            await gateway.until(lambda told=is_second: bool(gateway.open_incidents()) is told)
        (incident,) = gateway.store.snapshot().list_incidents(is_open=True)
        assert "two messages in a row" in incident.reason


@pytest.mark.statement("E2-116")
@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        ("404 Not Found", "", b""),
        ("501 Not Implemented", "", b""),
        ("500 Internal Server Error", "Content-Type: text/html\r\n", b"<html/>"),
        ("500 Internal Server Error", "Content-Type: text/xml\r\n", b"<html/>"),
        ("400 Bad Request", "Content-Type: text/xml\r\n", b"no xml"),
    ],
    ids=["404", "501", "500 html", "500 xml", "400 xml"],
)
async def test_a_status_without_a_fault_never_ends_the_retries(tmp_path, status, headers, body):
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        answer = f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
        peer.answer(*[answer.encode() + body] * 2)
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear_several("NewOrder", 3)
        await peer.say_acknowledgment(message_id)
        await gateway.until_state(message_id, "acknowledged")
        assert gateway.rows(Event.FAULT_RECEIVED) == []


@pytest.mark.statement("E2-117")
@pytest.mark.parametrize(
    "asked",
    [
        b"Retry-After: 5000",
        b"Date: Sun, 06 Nov 1994 08:00:00 GMT\r\nRetry-After: Sun, 06 Nov 1994 09:23:20 GMT",
    ],
)
async def test_a_partner_is_left_alone_for_as_long_as_it_asks(tmp_path, asked):
    """Never for less than RetryInterval."""
    async with with_peer(tmp_path, **{**BRIEFLY, "retries": 5}) as (gateway, peer):
        peer.answer(b"HTTP/1.1 503 Busy\r\n" + asked + b"\r\nContent-Length: 0\r\n\r\n")
        message_id = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_row(Event.TRANSMITTED)
        await gateway.everything_said()
        due_ns = gateway.parts.desk.find_due_ns(message_id)
        assert due_ns is not None
        waits_s = (due_ns - gateway.parts.desk.clock.now().monotonic_ns) / 1e9
        assert 4_000 < waits_s <= 5_000


@pytest.mark.statement("E2-114")
@pytest.mark.parametrize("status", ["200 OK", "202 Accepted", "204 No Content"])
async def test_every_empty_success_is_one_outcome(tmp_path, status):
    async with with_peer(tmp_path) as (gateway, peer):
        length = "" if status.startswith("204") else "Content-Length: 0\r\n"
        peer.answer(f"HTTP/1.1 {status}\r\n{length}\r\n".encode())
        message_id = await submit(gateway, peer.party, **ORDERING)
        (row,) = await gateway.until(lambda: gateway.rows(Event.TRANSMITTED))
        assert row.outcome == "accepted"
        assert (await gateway.get(f"/v1/messages/{message_id}"))["state"] == "sending"


@pytest.mark.statement("E2-67")
async def test_ir_27_an_acknowledgement_that_nobody_asked_for_in_the_answer_is_read(tmp_path):
    """With another SOAPAction, and as text/xml without a charset."""
    async with with_peer(tmp_path) as (gateway, peer):

        def acknowledged(message: Heard) -> bytes:
            ref = message.message_id
            parcel = peer.signal("Acknowledgment", ref=ref, blocks=acknowledgment(ref))
            action = "SOAPAction: urn:x/Acknowledgment"
            return answer_with(parcel.body, "200 OK", action, kind="text/xml")

        peer.answer(acknowledged)
        message_id = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("E2-67")
async def test_a_body_that_is_no_package_beside_a_success_changes_nothing(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        peer.answer(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok")
        message_id = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_row(Event.TRANSMITTED)
        assert (await gateway.get(f"/v1/messages/{message_id}"))["state"] == "sending"
        await peer.say_acknowledgment(message_id)
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.parametrize("status", [200, 202, 204])
async def test_what_was_taken_is_answered_by_the_agreed_status(tmp_path, status):
    """Without a body; its acknowledgement comes by itself, also for a repeat."""
    async with with_peer(tmp_path, answer_status=status) as (_, peer):
        parcel = peer.parcel(M)
        for _ in range(2):
            reply = await peer.post(parcel)
            assert (reply.status, reply.body) == (status, b"")
            await peer.hear("Acknowledgment")


async def test_a_message_without_payload_has_a_frame_where_that_is_agreed(tmp_path):
    async with with_peer(tmp_path, plain_when_empty=False) as (gateway, peer):
        await submit(gateway, peer.party, b"", **ORDERING)
        message = await peer.hear("NewOrder")
        assert message.headers["content-type"].startswith('multipart/related; type="text/xml"')


async def test_names_may_have_blanks_inside(tmp_path):
    """CPAId and ConversationId alone; both come back in the acknowledgement."""
    async with with_peer(tmp_path, cpa_id="CPA of A and B") as (gateway, peer):
        conversation = ("<eb:ConversationId>conv-1<", "<eb:ConversationId>our talk of May<")
        usual = peer.parcel(M, agreement="CPA of A and B")
        body = usual.body.replace(*map(str.encode, conversation))
        await peer.post(Parcel(usual.content_type, body))
        ack = await peer.hear("Acknowledgment")
        assert ack.text("CPAId") == "CPA of A and B"
        assert ack.text("ConversationId") == "our talk of May"
        await gateway.until_handed_over(M)


# --- SyncReply -----------------------------------------------------------------------------------

RESPONDING = {"sync_reply_mode": "signalsAndResponse"}
AT_ONCE = {"blocks": ACK_REQUESTED + SYNC_REPLY}


async def respond(gateway: RunningGateway, peer: PeerEbms2, *payloads: bytes) -> str:
    """The application's response to M, once it has that."""
    await gateway.until_handed_over(M)
    return await submit(gateway, peer.party, *payloads, **ORDERING, ref=M)


@pytest.mark.statement("E2-64")
@pytest.mark.parametrize("payloads", [(b"",), (b"<Response/>",)], ids=["alone", "with a payload"])
async def test_the_response_comes_in_the_answer_with_the_acknowledgement_in_it(tmp_path, payloads):
    async with with_peer(tmp_path, **RESPONDING) as (gateway, peer):
        asked = asyncio.create_task(peer.say_business(M, **AT_ONCE))
        response_id = await respond(gateway, peer, *payloads)
        reply = await asked
        answer = read(reply.body)
        assert (reply.status, reply.headers["soapaction"]) == (200, '"ebXML"')
        assert (answer.message_id, answer.ref) == (response_id, M)
        assert acknowledged_by(answer) == M
        assert not peer.has_unheard()


@pytest.mark.statement("E2-64")
async def test_s9_after_the_wait_the_acknowledgement_alone_is_the_answer(tmp_path):
    """The wait is bounded; a response that comes later is sent by itself."""
    terms = {**RESPONDING, "retry_interval": 20}
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        reply = await peer.say_business(M, **AT_ONCE)
        answer = read(reply.body)
        assert (reply.status, answer.kind, acknowledged_by(answer)) == (200, "Acknowledgment", M)
        assert gateway.inbox_ids() == [M]
        response_id = await respond(gateway, peer)
        assert (await peer.hear("NewOrder")).message_id == response_id


async def test_a_repeat_of_what_is_in_work_gets_what_the_first_copy_gets(tmp_path):
    async with with_peer(tmp_path, **RESPONDING) as (gateway, peer):
        parcel = peer.parcel(M, **AT_ONCE)
        first = asyncio.create_task(peer.post(parcel))
        await gateway.until_handed_over(M)
        second = asyncio.create_task(peer.post(parcel))
        await gateway.until_row(Event.DUPLICATE_ELIMINATED)
        await respond(gateway, peer)
        assert (await first).body == (await second).body
        again = await peer.post(parcel)
        assert (again.status, again.body) == (200, (await first).body)
        assert gateway.inbox_ids() == [M]


async def test_a_repeat_of_what_was_acknowledged_alone_gets_that_again(tmp_path):
    """In the answer, byte for byte."""
    async with with_peer(tmp_path, sync_reply_mode="mshSignalsOnly") as (_, peer):
        parcel = peer.parcel(M, **AT_ONCE)
        first, again = await peer.post(parcel), await peer.post(parcel)
        assert (first.status, again.status) == (200, 200)
        assert first.body == again.body
        assert not peer.has_unheard()


async def test_a_response_in_the_answer_needs_no_acknowledgement(tmp_path):
    """As in the exchange of Norway's partners: nothing asked for but the response."""
    terms = {**RESPONDING, "delivery_semantics": "BestEffort", "retries": None}
    async with with_peer(tmp_path, **terms) as (gateway, peer):
        asked = asyncio.create_task(peer.say_business(M, eliminated="", blocks=SYNC_REPLY))
        response_id = await respond(gateway, peer)
        answer = read((await asked).body)
        assert answer.message_id == response_id
        assert b"Acknowledgment" not in answer.body


@pytest.mark.statement("E2-63")
async def test_an_error_is_the_answer_where_an_answer_is_awaited(tmp_path):
    """Status 200, and nothing is posted."""
    async with with_peer(tmp_path, sync_reply_mode="mshSignalsOnly") as (gateway, peer):
        reply = await peer.say_business(M, **AT_ONCE, eliminated="")
        error = read(reply.body)
        assert (reply.status, error.kind, error.ref) == (200, "MessageError", M)
        assert error.attribute("Error", "errorCode") == "Inconsistent"
        assert gateway.inbox_ids() == []
        assert not peer.has_unheard()


@pytest.mark.statement("E2-26")
async def test_ir_30_an_unknown_cpa_is_named_to_who_waits_for_the_answer(tmp_path):
    """Whoever that is, and in the answer alone."""
    async with with_peer(tmp_path) as (gateway, peer):
        for party in (peer.party, "urn:duns:999999999"):
            reply = await peer.say_business(M, agreement="cpa-x", from_party=party, **AT_ONCE)
            error = read(reply.body)
            assert (reply.status, error.kind, error.ref) == (200, "MessageError", M)
            assert error.attribute("Error", "errorCode") == "ValueNotRecognized"
            assert "'cpa-x'" in error.text("Description")
            assert (error.parties("To"), error.text("CPAId")) == ([party], "cpa-x")
        assert gateway.inbox_ids() == []
        assert not peer.has_unheard()


@pytest.mark.statement("E2-26")
async def test_ir_30_an_unknown_cpa_is_named_in_a_fault_where_nobody_waits(tmp_path):
    """An address is known under a CPAId alone, even if the party has another one."""
    async with with_peer(tmp_path) as (gateway, peer):
        reply = await peer.say_business(M, agreement="cpa-x")
        code, text = read(reply.body).fault
        assert (reply.status, code, "'cpa-x'" in text) == (500, "SOAP:Client", True)
        (row,) = gateway.rows(Event.FAULT_SENT)
        assert (row.message_id, row.status_code) == (M, 500)
        assert gateway.inbox_ids() == []
        assert not peer.has_unheard()
