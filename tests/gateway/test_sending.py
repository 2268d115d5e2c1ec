"""What leaves the gateway for a submitted message, as the other MSH sees it."""

import hashlib
from itertools import pairwise

import pytest
from peer import Peer, bodies
from running_gateway import BRIEF, OUR_PARTY, RunningGateway, form, running

from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.message.instant import NS_PER_S
from onceonly.protocol.pairing import SendingPair

pytestmark = pytest.mark.anyio

ORDER = b"<Order/>"


async def exchange(gateway: RunningGateway, peer: Peer, *payloads: bytes) -> str:
    """Submit, acknowledge, and wait for the verdict."""
    message_id = await gateway.submit(*payloads, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(message_id)
    await gateway.until_state(message_id, "acknowledged")
    return message_id


@pytest.mark.parametrize(
    "payloads",
    [
        (),
        (b"",),
        (b"x" * 4096,),
        (b"\r\n--not-the-boundary\r\n\x00\xff\r\n",),
        (bytes(range(256)) * 1200,),
        (ORDER, b"", b"%PDF-1.7 \x89", b"y" * 70_000),
    ],
    ids=["none", "empty", "4 KB", "binary", "300 KB", "several"],
)
async def test_payloads_arrive_byte_for_byte(gateway, peer, payloads):
    """S0-01, I2: what the application handed over is what the partner gets."""
    await exchange(gateway, peer, *payloads)
    assert peer.arrivals[0].payloads == list(payloads)


@pytest.mark.statement(ruling="R-37")
async def test_what_nobody_said_is_the_same_in_every_submission(gateway, peer):
    """After a backup was put back the same document, submitted again, is the same message."""
    message_id = await gateway.submit(ORDER, to=peer)
    sent = await peer.hear("Normal")
    assert (await gateway.get(f"/v1/messages/{message_id}"))["conversation"] == message_id
    assert sent.document.findtext(".//{*}ConversationId") == message_id


@pytest.mark.statement("S0-43", "S0-44", "S0-45", "S0-48", "S0-67")
async def test_a_normal_message_says_what_the_specification_says(gateway, peer):
    """wire.md A2, S0-42 to S0-51: header, hop and package of a reliable message."""
    message_id = await gateway.submit(
        ORDER, to=peer, service="QuoteToCollect", action="New", conversation="c-7", ref="earlier-1"
    )
    sent = await peer.hear("Normal")
    assert sent.request_line == "POST /msh HTTP/1.1"
    assert sent.headers["content-type"].startswith(
        'multipart/related; type="application/vnd.eb+xml"; version="0.21"; boundary='
    )
    assert sent.document.attrib == {"Version": "0.21", "MessageType": "Normal"}
    assert sent.message_id == message_id
    said = {
        "Header/From/PartyId": OUR_PARTY,
        "Header/To/PartyId": peer.party,
        "Header/TPAInfo/TPAId": "tpa-ab-1",
        "Header/TPAInfo/ConversationId": "c-7",
        "Header/TPAInfo/ServiceInterface": "QuoteToCollect",
        "Header/TPAInfo/Action": "New",
        "Header/MessageData/RefToMessageId": "earlier-1",
        "Header/ReliableMessagingInfo/DeliverySemantics": "OnceAndOnlyOnce",
        "RoutingHeader/SenderURI": gateway.uri,
        "RoutingHeader/ReceiverURI": peer.uri,
        "RoutingHeader/ErrorURI": gateway.uri,
        "RoutingHeader/SequenceNumber": "000000001",
        "Manifest/DocumentReference/DocumentLabel": "order-1.xml",
    }
    assert {path: sent.text(path) for path in said} == said
    content_id = sent.text("Manifest/DocumentReference/DocumentId").removeprefix("cid:")
    assert sent.parts == [{"content-type": "application/xml", "content-id": f"<{content_id}>"}]


@pytest.mark.statement("S0-49", "S0-53")
async def test_numbers_grow_by_one_from_one(gateway, peer):
    """S0-49, S0-53: 000000001, 000000002, … in the order of submission."""
    ids = [await exchange(gateway, peer, ORDER) for _ in range(3)]
    assert [arrival.number for arrival in peer.arrivals] == ["000000001", "000000002", "000000003"]
    assert [arrival.message_id for arrival in peer.arrivals] == ids


@pytest.mark.statement("S0-54")
async def test_after_the_largest_number_comes_one(gateway, peer):
    """S0-54: 999999999, then 000000001."""
    pair, state = Pair(OUR_PARTY, peer.party), SendingPair(sequence_number=999_999_998)
    await gateway.parts.group.transact(lambda txn: txn.put_sending_pair(pair, state, at=0))
    for _ in range(2):
        await exchange(gateway, peer, ORDER)
    assert [arrival.number for arrival in peer.arrivals] == ["999999999", "000000001"]


@pytest.mark.statement("S0-07")
async def test_one_message_of_a_pair_is_in_flight(gateway, peer):
    """S0-07: of ten submitted at once only the first is sent before its acknowledgement."""
    ids = [await gateway.submit(ORDER, to=peer) for _ in range(10)]
    for message_id in ids:
        sent = await peer.hear("Normal")
        assert sent.message_id == message_id
        assert not peer.has_unheard()
        await gateway.until(
            lambda: gateway.rows(Event.TRANSMITTED, message_id=sent.message_id)  # noqa: B023 - because it is asked at once
        )
        await peer.acknowledge(message_id)
    await gateway.until_state(ids[-1], "acknowledged")
    assert [arrival.message_id for arrival in peer.arrivals] == ids


@pytest.mark.statement("S0-08", "S0-50")
async def test_a_stalled_partner_does_not_stall_another(tmp_path, peer, other_peer):
    """S0-08, S0-50: pairs wait for themselves alone and count for themselves."""
    async with running(tmp_path, peer, other_peer) as gateway:
        await gateway.submit(ORDER, to=peer)
        await peer.hear("Normal")
        for _ in range(3):
            await exchange(gateway, other_peer, ORDER)
        assert len(peer.arrivals) == 1
        assert [arrival.number[-1] for arrival in other_peer.arrivals] == ["1", "2", "3"]


@pytest.mark.statement(
    "S0-22", "S0-26", "S0-27", "S0-37", "S0-89", "S1-45", "S3-03", "S3-07", ruling="R-04"
)
async def test_resends_are_the_same_bytes_and_counted(tmp_path, peer):
    """S0-22, S0-26, S0-27, R-04: 1 + Retries transmissions, all of one content."""
    async with running(tmp_path, peer, terms={**BRIEF, "retries": 3}) as gateway:
        message_id = await gateway.submit(ORDER, b"z" * 300_000, to=peer)
        await gateway.until_row(Event.EXHAUSTED)
        sent = await peer.hear_several("Normal", 4)
        assert len(bodies(sent)) == 1
        assert not peer.has_unheard()
        attempts = [row.attempt for row in gateway.rows(Event.TRANSMITTING)]
        assert attempts == [1, 2, 3, 4]
        assert {row.message_id for row in gateway.rows(Event.TRANSMITTED)} == {message_id}


@pytest.mark.statement("S0-20", "S0-25", ruling="R-06")
async def test_waits_are_timeout_then_retry_interval(tmp_path, peer):
    """S0-20, S0-25, R-06: each from the end of the transmission, on the monotonic clock."""
    terms = {"timeout": 3, "retries": 2, "retry_interval": 5}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await gateway.submit(ORDER, to=peer)
        exhausted = await gateway.until_row(Event.EXHAUSTED)
        ended = [row.monotonic_ns for row in gateway.rows(Event.TRANSMITTED)]
        begun = [row.monotonic_ns for row in gateway.rows(Event.TRANSMITTING)]
        waits = [
            (start - end) / NS_PER_S
            for end, start in zip(ended, [*begun[1:], exhausted.monotonic_ns], strict=True)
        ]
        for waited, agreed in zip(waits, (3, 5, 5), strict=True):
            assert agreed <= waited


@pytest.mark.statement("S0-29")
async def test_an_acknowledgement_ends_the_resends(tmp_path, peer):
    """S0-29: acknowledged after the second transmission, there is no third."""
    async with running(tmp_path, peer, terms={**BRIEF, "retries": 1000}) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        await peer.hear_several("Normal", 2)
        await peer.acknowledge(message_id)
        await gateway.until_state(message_id, "acknowledged")
        sent = gateway.rows(Event.TRANSMITTING, message_id=message_id)
        following = await gateway.submit(ORDER, to=peer)
        await gateway.until(lambda: len(gateway.rows(Event.TRANSMITTED, message_id=following)) > 2)
        assert gateway.rows(Event.TRANSMITTING, message_id=message_id) == sent


@pytest.mark.statement("S0-13", "S0-68", ruling="R-05")
async def test_an_answer_with_a_body_is_no_acknowledgement(tmp_path, peer):
    """R-05, S0-68, I30: a 2xx, whatever it carries, moves no message to acknowledged."""
    peer.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nreceived")
    async with running(tmp_path, peer) as gateway:
        message_id = await gateway.submit(ORDER, to=peer)
        transmitted = await gateway.until_row(Event.TRANSMITTED)
        assert (transmitted.outcome, transmitted.status_code) == ("accepted", 200)
        assert gateway.state_of(message_id) == "sending"


async def test_the_submission_is_in_the_journal_with_its_digest(gateway, peer):
    """Journal: one Submitted row that both parties can compare by content."""
    await exchange(gateway, peer, ORDER)
    (row,) = gateway.rows(Event.SUBMITTED)
    assert row.digest == hashlib.sha256(ORDER).hexdigest()
    assert (row.size_bytes, row.direction, row.agreement_id) == (8, "out", "tpa-ab-1")
    sequence = [row.seq for row in gateway.rows()]
    assert all(after == before + 1 for before, after in pairwise(sequence))


async def test_payload_types_are_sent_as_given(gateway, peer):
    """wire.md A2: a payload part has its own Content-Type; it need not be XML."""
    message = {"to": peer.party, "service": "S", "action": "A"}
    fields = form(message, b"%PDF", kind="application/pdf; version=1.7")
    answer = await gateway.call("POST", "/v1/messages", files=fields)
    assert answer.status == 201
    sent = await peer.hear("Normal")
    assert sent.parts[0]["content-type"] == "application/pdf; version=1.7"
