"""What the gateway does with messages of an MSH of seed 001: keep, acknowledge, hand over, once."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from packages import ORDER, PayloadPart
from packages_2001 import SERVICES, element, routing_header, signed_element, stamp
from peer import NO_CONTENT, Peer, bodies
from peer_2001 import Peer2001
from running_gateway import RunningGateway, running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
QUESTIONS: list[bytes] = []
"""What the application was asked."""

OTHER_ORDER = (PayloadPart("po-1@a.example.com", "application/xml", b"<Another/>"),)
RM_2001: dict[str, Any] = {"profile": "rm-2001"}


@pytest.fixture
async def peer() -> AsyncIterator[Peer2001]:
    """The partner of agreement cpa-ab-1, listening."""
    partner = Peer2001()
    await partner.listen()
    yield partner
    await partner.close()


@pytest.fixture
async def gateway(tmp_path, peer) -> AsyncIterator[RunningGateway]:
    async with running(tmp_path, peer, terms=RM_2001) as alive:
        yield alive


@asynccontextmanager
async def under(tmp_path, peer: Peer, **terms: Any) -> AsyncIterator[RunningGateway]:
    async with running(tmp_path, peer, terms={**RM_2001, **terms}) as alive:
        yield alive


# --- One message ---------------------------------------------------------------------------------


@pytest.mark.statement("S1-22")
@pytest.mark.statement("S1-23", ruling="R-02")
@pytest.mark.statement("S1-27")
@pytest.mark.statement("S1-30")
async def test_a_message_is_stored_then_acknowledged_then_handed_over(gateway, peer):
    """R-02: in this order, each a row; without syncReplyMode the answer has no body."""
    reply = await peer.send_2001(M)
    assert (reply.status, reply.body) == (204, b"")
    assert (await peer.hear("Acknowledgment")).ref == M
    await gateway.until_handed_over(M)
    events = [row.event for row in gateway.rows(message_id=M)]
    assert events == [Event.STORED, Event.ACK_SENT, Event.HANDED_OVER]


@pytest.mark.statement("S1-24")
@pytest.mark.statement("S1-38")
@pytest.mark.statement("S1-39")
@pytest.mark.statement("S1-40")
@pytest.mark.statement("S1-14")
async def test_an_acknowledgement_says_what_the_specification_says(gateway, peer):
    """Of two RoutingHeaders the last one counts; no element, as none was asked for there."""
    earlier = routing_header("http://x.example/", "http://y.example/", ack_requested="Unsigned")
    await peer.send_2001(M, conversation="c-9", earlier=earlier)
    ack = await peer.hear("Acknowledgment")
    said = {
        "Header/From/PartyId": gateway.uri,
        "Header/To/PartyId": peer.uri,
        "Header/CPAId": "cpa-ab-1",
        "Header/ConversationId": "c-9",
        "Header/Service": f"{SERVICES}MessageAcknowledgment",
        "Header/Action": "Acknowledgment",
        "Header/MessageData/RefToMessageId": M,
        "RoutingHeaderList/RoutingHeader/SenderURI": gateway.uri,
        "RoutingHeaderList/RoutingHeader/ReceiverURI": peer.uri,
    }
    assert {path: ack.text(path) for path in said} == said
    assert ack.find("Acknowledgment") is None
    assert ack.payloads == []


@pytest.mark.statement("S1-36")
async def test_an_acknowledgment_element_is_there_when_it_is_asked_for(gateway, peer):
    """With a Timestamp, and the party that acknowledges in its From."""
    await peer.send_2001(M, ack_requested="Unsigned")
    ack = await peer.hear("Acknowledgment")
    assert ack.text("Acknowledgment/From/PartyId") == peer.gateway_party
    assert ack.text("Acknowledgment/Timestamp")


async def refused(gateway: RunningGateway, peer: Peer2001, code: str, **fields: Any) -> None:
    """The message is answered with this error and leaves nothing behind."""
    await peer.send_2001(M, **fields)
    error = await peer.hear("MessageError")
    assert (error.error_code, error.ref) == (code, M)
    gateway.assert_nothing_stored()


@pytest.mark.statement("S1-13")
async def test_a_signed_acknowledgment_is_not_supported_and_that_is_said(gateway, peer):
    """Rather than an unsigned one that its sender did not ask for."""
    await refused(gateway, peer, "NotSupported", ack_requested="Signed")


@pytest.mark.statement("S1-61")
async def test_an_acknowledgment_that_claims_a_signature_completes_nothing(gateway, peer):
    """Nobody here could check it; alone it is noted, on a response its sender is told."""
    message_id = await gateway.submit(b"<a/>", to=peer)
    await peer.hear()
    await peer.acknowledge_2001(message_id, particulars=signed_element())
    row = await gateway.until_row(Event.REJECTED)
    assert row.error_code == "NotSupported"
    fields = {"ref": message_id, "particulars": signed_element()}
    await refused(gateway, peer, "NotSupported", **fields)
    assert gateway.state_of(message_id) == "sending"
    assert gateway.rows(Event.ACK_RECEIVED) == []


@pytest.mark.statement("S0-47")
async def test_a_routing_header_is_no_older_than_its_message(gateway, peer):
    """By more than the clocks may differ."""
    await refused(gateway, peer, "Inconsistent", hop_timestamp=stamp(ago_s=60))
    await peer.send_2001(M, hop_timestamp=stamp(ago_s=20))
    await gateway.until_handed_over(M)


# --- Header or CPA -------------------------------------------------------------------------------


@pytest.mark.statement("S1-08")
async def test_what_the_header_leaves_open_is_as_agreed(gateway, peer):
    """Without deliverySemantics and method the CPA's hold."""
    await peer.send_2001(M, semantics=None, method=None)
    await peer.hear("Acknowledgment")
    (row,) = gateway.rows(Event.STORED)
    assert row.semantics == "OnceAndOnlyOnce"


@pytest.mark.statement("S1-08")
@pytest.mark.parametrize(
    "fields",
    [{"semantics": "BestEffort"}, {"method": "Transport"}],
    ids=["semantics", "method"],
)
async def test_what_the_header_says_must_not_contradict_what_was_agreed(gateway, peer, fields):
    """One of the two would be wrong, and nobody could say which."""
    await refused(gateway, peer, "Inconsistent", **fields)


async def test_a_message_of_the_other_profile_is_refused_by_name(gateway, peer):
    """What was agreed is one text, not a mixture; and its sender hears so in the one he speaks."""
    await peer.send(M, 1)
    error = await peer.hear("Error")
    assert error.error_code == "Inconsistent"
    assert "rm-2000" in error.text("ErrorList/Error/Description")
    gateway.assert_nothing_stored()


async def test_a_signal_of_the_other_profile_completes_nothing(gateway, peer):
    """It is counted and dropped like every signal that fits nothing (R-20)."""
    message_id = await gateway.submit(b"<a/>", to=peer)
    await peer.hear()
    await peer.acknowledge(message_id)
    await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)
    await peer.acknowledge(message_id, agreement="nobodys")
    await gateway.until(lambda: len(gateway.rows(Event.ORPHAN_ACK_RECEIVED)) == 2)
    assert gateway.state_of(message_id) == "sending"


# --- Time ----------------------------------------------------------------------------------------


@pytest.mark.statement("S1-10")
@pytest.mark.statement("S4-07")
@pytest.mark.statement("S4-12")
async def test_an_unknown_message_past_its_time_to_live_is_refused(gateway, peer):
    """It is never processed, and its sender is told why."""
    await refused(gateway, peer, "TimeToLiveExpired", time_to_live=stamp(ago_s=3600))


@pytest.mark.statement("S1-60")
async def test_the_clocks_may_differ_as_agreed(gateway, peer):
    """Late by 20 s is in time under mshTimeAccuracy 00:30, by 40 s is not."""
    await refused(gateway, peer, "TimeToLiveExpired", time_to_live=stamp(ago_s=40))
    await peer.send_2001("m-2@a.example.com", time_to_live=stamp(ago_s=20))
    await gateway.until_handed_over("m-2@a.example.com")


@pytest.mark.statement("S4-13", ruling="R-18")
async def test_a_known_message_past_its_time_to_live_is_acknowledged(tmp_path, peer):
    """Expiry is tested after duplication."""
    offset = tmp_path / "offset"
    drill = {"clock_offset_file": str(offset)}
    async with running(tmp_path, peer, terms=RM_2001, drill=drill) as gateway:
        parcel = peer.business(M, time_to_live=stamp(ago_s=-60))
        await peer.post(parcel)
        first = await peer.hear("Acknowledgment")
        offset.write_text("3600", "ascii")
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).body == first.body
        await peer.send_2001("m-2@a.example.com", time_to_live=stamp(ago_s=-60))
        assert (await peer.hear("MessageError")).error_code == "TimeToLiveExpired"
        assert gateway.inbox_ids() == [M]


async def test_an_exactly_once_message_is_never_too_old(tmp_path, peer):
    """R-17: nothing is forgotten, so nothing has to be refused for its age."""
    terms = {"delivery_semantics": "ExactlyOnce", "persist_duration": "P1D", "retries": None}
    async with under(tmp_path, peer, **terms) as gateway:
        await peer.send_2001(M, timestamp=stamp(ago_s=10 * 86_400))
        await gateway.until_handed_over(M)


# --- Repeats -------------------------------------------------------------------------------------


@pytest.mark.statement("S1-26", ruling="R-01")
@pytest.mark.statement("S1-31", ruling="R-03")
@pytest.mark.statement("S1-32", ruling="R-03")
@pytest.mark.statement("S1-47")
@pytest.mark.statement("S1-45")
async def test_a_repeat_gets_the_stored_response_and_is_not_handed_over(gateway, peer):
    """The same bytes each time; the application sees the message once."""
    for _ in range(3):
        await peer.send_2001(M)
    acks = await peer.hear_several("Acknowledgment", 3)
    assert len(bodies(acks)) == 1
    assert len(gateway.rows(Event.DUPLICATE_ELIMINATED)) == 2
    await gateway.until_handed_over(M)


@pytest.mark.statement("S1-26", ruling="R-01")
async def test_a_known_message_id_with_other_content_is_an_alarm(gateway, peer):
    """Not delivered, not acknowledged, logged; no Error, which would be about the first (R-46)."""
    await peer.send_2001(M)
    await peer.hear("Acknowledgment")
    reply = await peer.send_2001(M, payloads=OTHER_ORDER)
    assert reply.headers["onceonly-error"] == "SecurityFailure"
    await gateway.everything_said()
    assert not peer.has_unheard()
    assert len(gateway.rows(Event.COLLISION_DETECTED)) == 1
    assert gateway.inbox_ids() == [M]


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize(
    "change", [{"action": "CancelOrder"}, {"service": "urn:x:other"}, {"ref": "m-0@b.example.com"}]
)
async def test_another_header_under_a_known_message_id_is_an_alarm(gateway, peer, change):
    """The payloads are the same, and the From Party said something else."""
    await peer.send_2001(M)
    await peer.hear("Acknowledgment")
    reply = await peer.send_2001(M, **change)
    assert reply.headers["onceonly-error"] == "SecurityFailure"
    assert len(gateway.rows(Event.COLLISION_DETECTED)) == 1
    assert gateway.inbox_ids() == [M]


@pytest.mark.statement(ruling="R-37")
async def test_what_is_asked_for_anew_makes_no_other_message(gateway, peer):
    """The row of the repeat says in what it differs; both have what they asked for."""
    ahead = stamp(ago_s=-3600)
    await peer.send_2001(M, ack_requested="None")
    await peer.hear("Acknowledgment")
    await peer.send_2001(M, ack_requested="Unsigned", time_to_live=ahead)
    await peer.hear("Acknowledgment")
    [stored] = gateway.rows(Event.STORED)
    [repeat] = gateway.rows(Event.DUPLICATE_ELIMINATED)
    assert (stored.ack_requested, stored.time_to_live_at) == ("None", None)
    assert repeat.ack_requested == "Unsigned"
    assert repeat.time_to_live_at is not None
    assert repeat.reason is not None
    assert "TimeToLive, ackRequested" in repeat.reason


async def respond(gateway: RunningGateway, peer: Peer2001, *refs: str) -> list[str]:
    """The application answers the message; the partner acknowledges each answer."""
    ids = []
    for ref in refs:
        ids.append(await gateway.submit(b"<Response/>", to=peer, ref=ref))
        heard = await peer.hear("NewOrder")
        await peer.acknowledge_2001(heard.message_id)
        await gateway.until_state(heard.message_id, "acknowledged")
    return ids


@pytest.mark.statement("S1-33", ruling="R-03")
async def test_the_first_response_answers_every_repeat(gateway, peer):
    """The acknowledgement came before the business response, so it stays the answer."""
    await peer.send_2001(M)
    first = await peer.hear("Acknowledgment")
    await respond(gateway, peer, M)
    await peer.send_2001(M)
    assert (await peer.hear()).body == first.body


@pytest.mark.statement("S1-33", ruling="R-03")
@pytest.mark.statement("S1-31")
async def test_the_most_recent_response_answers_where_that_is_agreed(tmp_path, peer):
    """Of two business responses the second one, byte for byte."""
    async with under(tmp_path, peer, response_choice="most-recent") as gateway:
        await peer.send_2001(M)
        await peer.hear("Acknowledgment")
        _, second = await respond(gateway, peer, M, M)
        (sent,) = [one for one in peer.arrivals if one.message_id == second]
        await peer.send_2001(M)
        assert (await peer.hear()).body == sent.body
        await gateway.everything_said()


async def test_a_response_that_never_left_answers_only_with_the_space_to_note_that(tmp_path, peer):
    """I24: on a full disk nobody could tell later that it may have left; then nothing leaves."""
    async with under(tmp_path, peer, response_choice="most-recent") as gateway:
        await peer.send_2001(M)
        await peer.hear("Acknowledgment")
        peer.refuse_connections()
        response = await gateway.submit(b"<Response/>", to=peer, ref=M)
        await gateway.until_row(Event.TRANSMITTED)
        await peer.listen()
        gateway.store.is_full = True
        assert (await peer.send_2001(M)).status == 507
        assert not peer.has_unheard()
        gateway.store.is_full = False
        await peer.send_2001(M)
        assert (await peer.hear("NewOrder")).message_id == response


# --- What a message says about one of ours -------------------------------------------------------


@pytest.mark.statement("S1-29")
async def test_a_business_response_completes_the_request(gateway, peer):
    """Without any acknowledgement; it is acknowledged and handed over itself."""
    message_id = await gateway.submit(b"<a/>", to=peer)
    await peer.hear("NewOrder")
    await peer.send_2001(M, ref=message_id)
    await gateway.until_state(message_id, "acknowledged")
    assert (await peer.hear("Acknowledgment")).ref == M
    await gateway.until_handed_over(M)


@pytest.mark.statement("S1-29")
@pytest.mark.statement("S1-37")
async def test_an_acknowledgement_may_ride_on_the_business_response(gateway, peer):
    """Seed 001 §1.3.3.1: one message completes both."""
    message_id = await gateway.submit(b"<a/>", to=peer)
    await peer.hear("NewOrder")
    await peer.send_2001(M, ref=message_id, particulars=element(peer.party))
    await gateway.until_state(message_id, "acknowledged")
    await gateway.until_handed_over(M)


@pytest.mark.statement("S1-62")
@pytest.mark.statement("S1-61")
@pytest.mark.parametrize("has_from", [True, False], ids=["with From", "without"])
async def test_who_acknowledges_is_in_the_element_or_in_the_header(gateway, peer, has_from):
    """Seed 001 §3.1.2: both forms complete the message."""
    message_id = await gateway.submit(b"<a/>", to=peer)
    await peer.hear("NewOrder")
    particulars = element(peer.party if has_from else None)
    await peer.acknowledge_2001(message_id, particulars=particulars)
    await gateway.until_state(message_id, "acknowledged")


@pytest.mark.statement("S1-62")
async def test_an_acknowledgement_from_somebody_else_completes_nothing(gateway, peer):
    """The Header's From must be the partner's MSH or the partner, with or without the element."""
    message_id = await gateway.submit(b"<a/>", to=peer)
    await peer.hear("NewOrder")
    await peer.acknowledge_2001(
        message_id, from_party="http://x.example/msh", particulars=element(peer.party)
    )
    await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)
    assert gateway.state_of(message_id) == "sending"


@pytest.mark.statement("S1-29")
async def test_a_response_of_another_party_completes_nothing(tmp_path, peer):
    """Who answers must be whom it was sent to (R-20)."""
    other = Peer2001("urn:duns:333333333", "cpa-cb-1")
    await other.listen()
    async with running(tmp_path, peer, other, terms=RM_2001) as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        await peer.hear("NewOrder")
        await other.send_2001(M, ref=message_id)
        await gateway.until_handed_over(M)
        assert gateway.state_of(message_id) == "sending"
    await other.close()


# --- BestEffort ----------------------------------------------------------------------------------


@pytest.mark.statement("S0-39", ruling="R-16")
@pytest.mark.statement("S0-40", ruling="R-16")
@pytest.mark.statement("S1-22")
async def test_best_effort_is_not_acknowledged_and_may_be_delivered_twice(tmp_path, peer):
    """Nobody remembers it; nothing goes back."""
    async with under(tmp_path, peer, delivery_semantics="BestEffort", retries=0) as gateway:
        for _ in range(2):
            await peer.send_2001(M, semantics="BestEffort")
        await gateway.until_handed_over(M, M)
        await gateway.everything_said()
        assert peer.arrivals == []
        answer = await gateway.call(
            "POST", "/v1/inbox/items/2/processing", json={"processing": "complete"}
        )
        assert answer.status == 200, answer


@pytest.mark.statement("S0-40", ruling="R-16")
async def test_best_effort_is_delivered_once_where_duplicates_are_dropped(tmp_path, peer):
    """The switch of R-16."""
    terms: dict[str, Any] = {"delivery_semantics": "BestEffort", "drop_duplicates": True}
    async with under(tmp_path, peer, **terms, retries=0) as gateway:
        for _ in range(2):
            await peer.send_2001(M, semantics="BestEffort")
        await gateway.until_row(Event.DUPLICATE_ELIMINATED)
        await gateway.until_handed_over(M)


# --- Withholding ---------------------------------------------------------------------------------


@pytest.mark.statement("S3-06", ruling="R-12")
async def test_what_cannot_be_acknowledged_is_withheld_under_strict_release(tmp_path, peer):
    """Until an acknowledgement leaves, for the next copy; nothing stored is deleted."""
    async with under(tmp_path, peer, strict_release=True) as gateway:
        peer.refuse_connections()
        await peer.send_2001(M)
        await gateway.until_row(Event.WITHHELD)
        assert gateway.inbox_ids() == []
        await peer.listen()
        await peer.send_2001(M)
        assert (await peer.hear("Acknowledgment")).ref == M
        await gateway.until_handed_over(M)


@pytest.mark.statement("S3-06", ruling="R-12")
async def test_what_was_withheld_is_acknowledged_after_a_restart(tmp_path, peer):
    """What is owed is a question to the state."""
    async with under(tmp_path, peer, strict_release=True) as gateway:
        peer.refuse_connections()
        await peer.send_2001(M)
        await gateway.until_row(Event.WITHHELD)
        await peer.listen()
        await gateway.restart()
        assert (await peer.hear("Acknowledgment")).ref == M
        await gateway.until_handed_over(M)


# --- Delivery receipts ---------------------------------------------------------------------------


@pytest.mark.statement("S1-57")
@pytest.mark.statement("S1-58")
@pytest.mark.parametrize("provided", ["None", "Unsigned"])
@pytest.mark.parametrize("requested", [None, "None", "Unsigned", "Signed"])
async def test_a_receipt_that_is_not_provided_is_not_supported(tmp_path, peer, provided, requested):
    """Compatible requests get one, others the error (the signed half cannot be configured)."""
    async with under(tmp_path, peer, delivery_receipt_provided=provided) as gateway:
        await peer.send_2001(M, receipt=requested)
        heard = await peer.hear()
        if requested in (None, "None") or requested == provided:
            assert heard.kind == "Acknowledgment"
            await gateway.until_handed_over(M)
        else:
            assert (heard.kind, heard.error_code) == ("MessageError", "NotSupported")
            assert heard.document.find(".//*[@severity='Error']") is not None
            gateway.assert_nothing_stored()


async def test_a_receipt_follows_the_hand_over(tmp_path, peer):
    """Seed 001 §2.1.1.2: the application has the message; its row says how that went out."""
    async with under(tmp_path, peer, delivery_receipt_provided="Unsigned") as gateway:
        await peer.send_2001(M, receipt="Unsigned")
        await peer.hear("Acknowledgment")
        receipt = await peer.hear()
        assert receipt.text("Header/Service") == f"{SERVICES}MessageDeliveryReceipt"
        assert receipt.ref == M
        await gateway.until_row(Event.RECEIPT_SENT)
        events = [row.event for row in gateway.rows(message_id=M)]
        assert events[-2:] == [Event.HANDED_OVER, Event.RECEIPT_SENT]


@pytest.mark.statement("S1-04")
@pytest.mark.parametrize("how", ["a restart", "a question"])
async def test_a_receipt_is_owed_by_whoever_hands_over_at_last(tmp_path, peer, how):
    """What was stored in an earlier life, or is released by a status inquiry, is no exception."""
    terms = {"strict_release": True, "delivery_receipt_provided": "Unsigned"}
    async with under(tmp_path, peer, **terms) as gateway:
        peer.refuse_connections()
        await peer.send_2001(M, receipt="Unsigned")
        await gateway.until_row(Event.WITHHELD)
        await peer.listen()
        if how == "a restart":
            await gateway.restart()
        else:
            words = (f"{SERVICES}MessageStatus", "StatusRequest")
            await peer.post(peer.signal_2001(M, words))
        await gateway.until_row(Event.RECEIPT_SENT)
        [receipt] = peer.heard("DeliveryReceipt")
        assert (receipt.ref, receipt.text("Header/ConversationId")) == (M, "conv-1")
        assert receipt.text("Header/To/PartyId") == peer.uri


async def test_a_receipt_that_arrives_is_noted(tmp_path, peer):
    """It says more than the acknowledgement did, and changes no verdict."""
    async with under(tmp_path, peer, delivery_receipt_requested="Unsigned") as gateway:
        message_id = await gateway.submit(b"<a/>", to=peer)
        sent = await peer.hear("NewOrder")
        quality = sent.find("Header/QualityOfServiceInfo")
        assert quality is not None
        assert quality.attrib["deliveryReceiptRequested"] == "Unsigned"
        await peer.acknowledge_2001(message_id)
        await gateway.until_state(message_id, "acknowledged")
        words = (f"{SERVICES}MessageDeliveryReceipt", "DeliveryReceipt")
        await peer.post(peer.signal_2001(message_id, words, particulars=element(peer.party)))
        await gateway.until_row(Event.RECEIPT_RECEIVED)
        assert gateway.rows(Event.REPEATED_ACK_RECEIVED) == []


# --- How far an acknowledgement vouches (seed 004 level 0) ---------------------------------------


def status_of(ack: Any) -> dict[str, str]:
    found = ack.document.find("{urn:onceonly:extension}AckStatus")
    return {} if found is None else dict(found.attrib)


@pytest.mark.statement("S4-02")
@pytest.mark.statement("S4-03")
async def test_an_acknowledgement_can_say_that_the_structure_is_valid(tmp_path, peer):
    """It was read whole before it was stored; the hand-over comes later."""
    async with under(tmp_path, peer, ack_status="structure") as gateway:
        await peer.send_2001(M)
        ack = await peer.hear("Acknowledgment")
        assert status_of(ack) == {"assurance": "structure", "passedOn": "false"}
        await gateway.until_handed_over(M)


@pytest.mark.statement("S4-05")
async def test_an_acknowledgement_that_says_passed_on_follows_the_hand_over(tmp_path, peer):
    """The last two steps change places, so that it is true when it leaves."""
    async with under(tmp_path, peer, passed_on=True) as gateway:
        await peer.send_2001(M)
        assert status_of(await peer.hear("Acknowledgment"))["passedOn"] == "true"
        await gateway.until_row(Event.ACK_SENT)
        events = [row.event for row in gateway.rows(message_id=M)]
        assert events == [Event.STORED, Event.HANDED_OVER, Event.ACK_SENT]


@asynccontextmanager
async def validated(tmp_path, peer: Peer, answer: bytes | None) -> AsyncIterator[RunningGateway]:
    """A gateway whose application looks at the content and gives this answer; None: nobody there.

    The validator is one more socket of the test; what it is asked is no package.
    """

    async def serve(reader, writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        QUESTIONS.append(await reader.readexactly(length))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if answer is None:
        server.close()
    terms = {"ack_status": "content", "validator": f"http://127.0.0.1:{port}/validate"}
    async with under(tmp_path, peer, **terms) as gateway:
        yield gateway
    server.close()


@pytest.mark.statement("S4-04")
async def test_content_that_the_application_calls_valid_is_acknowledged_so(tmp_path, peer):
    """It is asked once, with the bytes of the payload; a repeat is not looked at again."""
    QUESTIONS.clear()
    async with validated(tmp_path, peer, NO_CONTENT) as gateway:
        for _ in range(2):
            await peer.send_2001(M)
            assert status_of(await peer.hear("Acknowledgment"))["assurance"] == "content"
        assert gateway.inbox_ids() == [M]
    assert [ORDER] == QUESTIONS


@pytest.mark.statement("S4-04")
async def test_content_that_the_application_calls_invalid_is_refused_by_name(tmp_path, peer):
    """Nothing is stored, and the partner hears what the application said."""
    answer = b"HTTP/1.1 422 No\r\nOnceonly-Error: UnknownArticle\r\nContent-Length: 0\r\n\r\n"
    async with validated(tmp_path, peer, answer) as gateway:
        await peer.send_2001(M)
        error = await peer.hear("MessageError")
        assert error.error_code == "ValueNotRecognized"
        assert "UnknownArticle" in error.text("ErrorList/Error/Description")
        gateway.assert_nothing_stored()


@pytest.mark.statement("S4-04")
@pytest.mark.parametrize(
    "answer",
    [None, b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"],
    ids=["unreachable", "unable"],
)
async def test_without_an_application_to_ask_an_acknowledgement_says_less(tmp_path, peer, answer):
    """The message is stored all the same; only the content is vouched for by nobody."""
    async with validated(tmp_path, peer, answer) as gateway:
        await peer.send_2001(M)
        assert status_of(await peer.hear("Acknowledgment"))["assurance"] == "structure"
        await gateway.until_handed_over(M)
