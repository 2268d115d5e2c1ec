"""What the gateway does with messages of the other MSH: store, acknowledge, hand over, once."""

import asyncio
from collections.abc import Callable

import pytest
from packages import ONE_ORDER, ORDER, Parcel, PayloadPart, stamp
from peer import UNAVAILABLE, Manners, Peer, bodies
from running_gateway import OUR_PARTY, RunningGateway, running

from onceonly.message.event import Event
from onceonly.message.identity import Pair
from onceonly.protocol.receiving import ReceivingPair
from onceonly.store.contract.entries import Role

pytestmark = pytest.mark.anyio

OTHER_ORDER = (PayloadPart("po-1@a.example.com", "application/xml", b"<Another/>"),)


async def took(gateway: RunningGateway, peer: Peer, message_id: str, number: int, **fields) -> None:
    """The message is sent, acknowledged and handed over."""
    count = len(gateway.inbox_ids())
    assert (await peer.send(message_id, number, **fields)).status == 204
    assert (await peer.hear("Acknowledgement")).ref == message_id
    await gateway.until(lambda: len(gateway.inbox_ids()) == count + 1)


async def set_last_number(gateway: RunningGateway, peer: Peer, number: int | None) -> None:
    """As if a message with this number had been the last one stored."""
    if number is not None:
        pair, state = Pair(peer.party, OUR_PARTY), ReceivingPair(sequence_number=number)
        await gateway.parts.group.transact(lambda txn: txn.put_receiving_pair(pair, state))


# --- One message ---------------------------------------------------------------------------------


@pytest.mark.statement("S0-02", "S0-11", "S0-92", "S1-23", "S3-01", "S3-05", "S4-02", ruling="R-02")
@pytest.mark.statement("S0-68")
async def test_a_message_is_stored_then_acknowledged_then_handed_over(gateway, peer):
    """S0-02, S0-11, R-02: in this order, each a row; the HTTP answer has no body (S0-68)."""
    reply = await peer.send("m-1@a.example.com", 1)
    assert (reply.status, reply.body) == (204, b"")
    await peer.hear("Acknowledgement")
    await gateway.until_handed_over("m-1@a.example.com")
    events = [row.event for row in gateway.rows(message_id="m-1@a.example.com")]
    assert events == [Event.STORED, Event.ACK_SENT, Event.HANDED_OVER]


@pytest.mark.statement(
    "S0-16",
    "S0-17",
    "S0-43",
    "S0-45",
    "S0-61",
    "S0-62",
    "S0-63",
    "S0-64",
    "S0-65",
    "S0-66",
    "S0-67",
    "S0-69",
)
async def test_an_acknowledgement_says_what_the_specification_says(gateway, peer):
    """S0-16, S0-17, S0-61 to S0-66, S0-69: a POST of its own with these values and no payload."""
    await peer.send("m-1@a.example.com", 1, conversation="c-9")
    ack = await peer.hear("Acknowledgement")
    assert ack.request_line == "POST /msh HTTP/1.1"
    said = {
        "Header/From/PartyId": gateway.uri,
        "Header/To/PartyId": peer.uri,
        "Header/TPAInfo/TPAId": "tpa-ab-1",
        "Header/TPAInfo/ConversationId": "c-9",
        "Header/TPAInfo/ServiceInterface": "",
        "Header/TPAInfo/Action": "",
        "Header/MessageData/RefToMessageId": "m-1@a.example.com",
        "Header/ReliableMessagingInfo/DeliverySemantics": "BestEffort",
        "RoutingHeader/SenderURI": gateway.uri,
        "RoutingHeader/ReceiverURI": peer.uri,
        "RoutingHeader/ErrorURI": gateway.uri,
    }
    assert {path: ack.text(path) for path in said} == said
    assert ack.find("RoutingHeader/SequenceNumber") is None
    assert ack.find("Manifest") is None
    assert ack.payloads == []
    assert ack.message_id != "m-1@a.example.com"


@pytest.mark.statement("S0-01", "S1-28")
@pytest.mark.parametrize(
    "contents",
    [(), (b"",), (b"x" * 4096,), (bytes(range(256)) * 1200,), (ORDER, b"", b"y" * 70_000)],
    ids=["none", "empty", "4 KB", "300 KB", "several"],
)
async def test_the_application_gets_the_bytes_that_were_sent(gateway, peer, contents):
    """S0-01, I2: byte for byte, from memory and from the spool."""
    payloads = [PayloadPart(f"p{n}@a", "text/plain", body) for n, body in enumerate(contents)]
    await took(gateway, peer, "m-1@a.example.com", 1, payloads=payloads)
    (item,) = (await gateway.get("/v1/inbox"))["items"]
    got = [await gateway.api.get(payload["href"]) for payload in item["payloads"]]
    assert [response.content for response in got] == list(contents)


@pytest.mark.statement("S0-66")
async def test_an_acknowledgement_is_sent_once_per_copy_and_never_retried(gateway, peer):
    """S0-66, R-12: whatever answers it, it is not sent again; the message is handed over."""
    peer.answer(UNAVAILABLE)
    await took(gateway, peer, "m-1@a.example.com", 1)
    (sent,) = gateway.rows(Event.ACK_SENT)
    assert (sent.outcome, sent.status_code) == ("unknown", 503)
    await gateway.everything_said()
    assert len(peer.arrivals) == 1


async def test_a_partner_that_cannot_be_acknowledged_still_gets_served(gateway, peer):
    """R-12: the default is to hand over; the repeat will ask for the acknowledgement again."""
    peer.refuse_connections()
    assert (await peer.send("m-1@a.example.com", 1)).status == 204
    await gateway.until_handed_over("m-1@a.example.com")
    await peer.listen()
    await peer.send("m-1@a.example.com", 1)
    assert (await peer.hear("Acknowledgement")).ref == "m-1@a.example.com"


async def test_a_hand_over_never_overtakes_the_one_before_it(gateway, peer):
    """I16: the first acknowledgement's transmission hangs; what came later waits for its end."""
    peer.answer(Manners.SILENCE)
    ids = [f"m-{number}@a.example.com" for number in (1, 2, 3)]
    for number, message_id in enumerate(ids, 1):
        await peer.send(message_id, number)
        await peer.hear("Acknowledgement")
    # The third was stored after the second's transmission had ended, so it could be there now.
    assert gateway.inbox_ids() == []
    peer.refuse_connections()
    await gateway.until_handed_over(*ids)
    assert gateway.inbox_ids() == ids


async def test_what_waited_in_line_is_handed_over_by_one_commit(gateway, peer):
    """Else a pair's inbox would grow by one message per fsync, slower than messages are stored."""
    peer.answer(Manners.SILENCE)
    ids = [f"m-{number}@a.example.com" for number in range(1, 6)]
    for number, message_id in enumerate(ids, 1):
        await peer.send(message_id, number)
        await peer.hear("Acknowledgement")
    peer.refuse_connections()
    seen = {0}

    def is_whole() -> bool:
        seen.add(len(gateway.inbox_ids()))
        return len(ids) in seen

    await gateway.until(is_whole)
    assert seen == {0, len(ids)}


@pytest.mark.statement("S0-39", ruling="R-16")
async def test_best_effort_is_handed_over_and_not_acknowledged(gateway, peer):
    """S0-39: nothing is posted back."""
    await peer.send("m-1@a.example.com", None, semantics="BestEffort")
    await gateway.until_handed_over("m-1@a.example.com")
    await gateway.everything_said()
    assert peer.arrivals == []


async def test_the_first_party_id_names_the_partner_whatever_it_calls_itself(tmp_path, peer):
    """R-01: an alias never makes a MessageId look new; under it comes another header (R-37)."""
    alias = "urn:gln:4000000000001"
    async with running(tmp_path, peer, terms={"with": [peer.party, alias]}) as gateway:
        await peer.send("m-1@a.example.com", 1, from_party=alias)
        await peer.hear("Acknowledgement")
        await peer.send("m-1@a.example.com", 1, from_party=alias)
        await peer.hear("Acknowledgement")
        reply = await peer.send("m-1@a.example.com", 1)
        assert reply.headers["onceonly-error"] == "SecurityFailure"
        assert gateway.inbox_ids() == ["m-1@a.example.com"]
        assert [row.from_party for row in gateway.rows(Event.STORED)] == [peer.party]
        assert len(gateway.rows(Event.DUPLICATE_ELIMINATED)) == 1
        assert len(gateway.rows(Event.COLLISION_DETECTED)) == 1


# --- The same again ------------------------------------------------------------------------------


@pytest.mark.statement("S0-01", "S0-12", "S0-91", "S1-47", "S3-08", ruling="R-01")
@pytest.mark.statement("S1-31", "S1-32", ruling="R-03")
async def test_every_copy_is_answered_with_the_same_bytes_and_delivered_once(gateway, peer):
    """S0-12, R-03: four copies, four acknowledgements of one content, one hand-over."""
    for _ in range(4):
        assert (await peer.send("m-1@a.example.com", 1)).status == 204
    acks = await peer.hear_several("Acknowledgement", 4)
    assert len(bodies(acks)) == 1
    await gateway.everything_said()
    assert gateway.inbox_ids() == ["m-1@a.example.com"]
    assert len(gateway.rows(Event.STORED)) == 1
    assert len(gateway.rows(Event.HANDED_OVER)) == 1
    assert len(gateway.rows(Event.DUPLICATE_ELIMINATED)) == 3


@pytest.mark.statement("S0-01", ruling="R-01")
async def test_copies_that_arrive_together_are_one_message(gateway, peer):
    """R-01: ten copies on ten connections at once are stored and handed over once."""
    parcel = peer.normal("m-1@a.example.com", 1)
    replies = await asyncio.gather(*(peer.post(parcel) for _ in range(10)))
    assert {reply.status for reply in replies} == {204}
    assert len(bodies(await peer.hear_several("Acknowledgement", 10))) == 1
    await gateway.everything_said()
    assert gateway.inbox_ids() == ["m-1@a.example.com"]


@pytest.mark.statement("S0-90", "S0-99", "S0-101", ruling="R-01")
async def test_a_late_copy_of_message_one_after_a_reset_is_a_duplicate(gateway, peer):
    """R-01: the MessageId decides; by seed 000's case (3) alone it would be delivered twice."""
    await took(gateway, peer, "m-1@a.example.com", 1)
    await took(gateway, peer, "m-2@a.example.com", 2)
    await took(gateway, peer, "m-3@a.example.com", 1)
    await peer.send("m-1@a.example.com", 1)
    assert (await peer.hear("Acknowledgement")).ref == "m-1@a.example.com"
    await took(gateway, peer, "m-4@a.example.com", 2)
    assert gateway.inbox_ids() == [f"m-{n}@a.example.com" for n in (1, 2, 3, 4)]


@pytest.mark.statement("S1-26", ruling="R-01")
async def test_other_content_under_a_known_id_is_an_alarm(gateway, peer):
    """R-01: collision: a row, no acknowledgement, the first content stays.

    An Error would be about the message that is stored (R-46); the answer of HTTP is about the copy.
    """
    await took(gateway, peer, "m-1@a.example.com", 1)
    reply = await peer.send("m-1@a.example.com", 2, payloads=OTHER_ORDER)
    assert (reply.status, reply.headers["onceonly-error"]) == (204, "SecurityFailure")
    assert len(gateway.rows(Event.COLLISION_DETECTED)) == 1
    (item,) = (await gateway.get("/v1/inbox"))["items"]
    content = (await gateway.api.get(item["payloads"][0]["href"])).content
    assert content == ONE_ORDER[0].content
    await gateway.everything_said()
    assert len(peer.heard("Acknowledgement")) == 1
    assert peer.heard("Error") == []


@pytest.mark.statement(ruling="R-46")
@pytest.mark.parametrize("damage", ["cut", "another party", "no number"])
async def test_a_damaged_copy_of_what_is_stored_is_answered_as_the_first_one(gateway, peer, damage):
    """Mail doubles a message and spoils the second copy; an Error would end what was taken."""
    await took(gateway, peer, "m-1@a.example.com", 1)
    first = peer.heard("Acknowledgement")[0].body
    damages: dict[str, Callable[[Parcel], Parcel]] = {
        "cut": lambda whole: whole._replace(body=whole.body[:-40]),
        "another party": lambda whole: whole._replace(
            body=whole.body.replace(OUR_PARTY.encode(), b"urn:duns:999999999")
        ),
        "no number": lambda whole: whole._replace(
            body=whole.body.replace(b"<SequenceNumber>000000001<", b"<SequenceNumber>x<")
        ),
    }
    parcel = damages[damage](peer.normal("m-1@a.example.com", 1))
    assert (await peer.post(parcel)).status == 204
    assert (await peer.hear("Acknowledgement")).body == first
    await gateway.everything_said()
    assert peer.heard("Error") == []
    (row,) = gateway.rows(Event.REJECTED)
    assert row.message_id == "m-1@a.example.com"


ANOTHER_HEADER = {
    "another action": {"edit": lambda text: text.replace("NewPurchaseOrder", "CancelOrder")},
    "another service": {"edit": lambda text: text.replace("QuoteToCollect", "Returns")},
    "another conversation": {"conversation": "conv-2"},
    "a reference": {
        "edit": lambda text: text.replace(
            "</MessageData>", "<RefToMessageId>m-0</RefToMessageId></MessageData>"
        )
    },
    "another type": {"payloads": [PayloadPart("po-1@a.example.com", "text/plain", ORDER)]},
}


@pytest.mark.statement(ruling="R-37")
@pytest.mark.parametrize("change", ANOTHER_HEADER.values(), ids=ANOTHER_HEADER)
async def test_another_header_under_a_known_id_is_an_alarm(gateway, peer, change):
    """R-37: the same payloads under other words are another message."""
    await took(gateway, peer, "m-1@a.example.com", 1)
    reply = await peer.send("m-1@a.example.com", 2, **change)
    assert reply.headers["onceonly-error"] == "SecurityFailure"
    [stored] = gateway.rows(Event.STORED)
    [alarm] = gateway.rows(Event.COLLISION_DETECTED)
    assert alarm.digest == stored.digest
    assert alarm.header_digest != stored.header_digest
    await gateway.everything_said()
    assert gateway.inbox_ids() == ["m-1@a.example.com"]
    assert len(peer.heard("Acknowledgement")) == 1


@pytest.mark.statement(ruling="R-37")
async def test_two_messages_without_payload_are_told_apart(gateway, peer):
    """R-37: there is nothing but the header that could differ."""
    await peer.send("m-1@a.example.com", 1, payloads=())
    await peer.hear("Acknowledgement")
    cancel = ANOTHER_HEADER["another action"]
    reply = await peer.send("m-1@a.example.com", 1, payloads=(), **cancel)
    assert reply.headers["onceonly-error"] == "SecurityFailure"
    assert gateway.inbox_ids() == ["m-1@a.example.com"]


@pytest.mark.statement(ruling="R-37")
async def test_a_copy_that_is_stamped_anew_is_a_repeat(gateway, peer):
    """R-37: it is acknowledged like the first, and its row says what differs, and has it."""
    await took(gateway, peer, "m-1@a.example.com", 1)
    await peer.send("m-1@a.example.com", 1, timestamp=stamp(ago_s=60))
    await peer.hear("Acknowledgement")
    [stored] = gateway.rows(Event.STORED)
    [repeat] = gateway.rows(Event.DUPLICATE_ELIMINATED)
    assert repeat.header_digest == stored.header_digest
    assert repeat.reason == "other than in the first copy: Timestamp"
    assert repeat.message_timestamp_at < stored.message_timestamp_at


@pytest.mark.statement("S4-13", ruling="R-18")
async def test_an_expired_copy_of_a_known_message_is_acknowledged(tmp_path, peer):
    """R-18: expiry is tested after duplication."""
    terms = {"time_to_live": "P25D"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await took(gateway, peer, "m-1@a.example.com", 1)
        await peer.send("m-1@a.example.com", 1, timestamp=stamp(ago_s=26 * 86_400))
        assert (await peer.hear("Acknowledgement")).ref == "m-1@a.example.com"
        assert gateway.rows(Event.REJECTED) == []


# --- SequenceNumber ------------------------------------------------------------------------------


@pytest.mark.statement("S0-54", "S0-55", "S0-96", "S0-98", "S0-99", "S0-101", ruling="R-01")
@pytest.mark.parametrize(
    ("previous", "number"),
    [(None, 1), (5, 6), (57, 1), (999_999_999, 1), (1, 1), (1, 2)],
)
async def test_the_next_number_and_a_reset_are_taken(gateway, peer, previous, number):
    """S0-54, S0-55, cases 1 and 3: previous + 1, wrapped or not, and 1 at any time."""
    await set_last_number(gateway, peer, previous)
    await took(gateway, peer, "m-9@a.example.com", number)


@pytest.mark.statement("S0-100", ruling="R-11")
@pytest.mark.parametrize(
    ("previous", "number"),
    [(None, 2), (5, 7), (5, 3), (5, 5), (999_999_999, 2), (1, 999_999_999)],
)
async def test_any_other_number_is_refused_with_an_error(gateway, peer, previous, number):
    """R-11, cases 2 and 4: InvalidSequenceNumber to the partner, one row, nothing stored."""
    await set_last_number(gateway, peer, previous)
    assert (await peer.send("m-9@a.example.com", number)).status == 204
    error = await peer.hear("Error")
    assert (error.error_code, error.ref) == ("InvalidSequenceNumber", "m-9@a.example.com")
    gateway.assert_nothing_stored()
    (row,) = gateway.rows(Event.REJECTED)
    assert (row.error_code, row.message_id) == ("InvalidSequenceNumber", "m-9@a.example.com")
    assert gateway.open_incidents() == []
    await took(gateway, peer, "m-10@a.example.com", (previous or 0) % 999_999_999 + 1)


@pytest.mark.statement("S0-52", "S0-59")
@pytest.mark.parametrize("digits", ["1", "01", "000000001", "\n  000000001\n  "])
async def test_a_number_is_read_with_zeros_and_white_space(gateway, peer, digits):
    """S0-52, S0-59: 000000001 is 1."""

    def edit(document: str) -> str:
        return document.replace("<SequenceNumber>000000001<", f"<SequenceNumber>{digits}<")

    await took(gateway, peer, "m-1@a.example.com", 1, edit=edit)


@pytest.mark.statement(ruling="R-11")
@pytest.mark.parametrize("second", [5, 6], ids=["the same message", "another"])
async def test_a_repeated_gap_quarantines_the_pair_until_it_is_resumed(tmp_path, peer, second):
    """R-11: the second time an operator has to look; the resume takes whichever number comes.

    Whatever the two ids: a sender that goes on after one refusal is never right again.
    """
    async with running(tmp_path, peer, terms={"retry_interval": 77}) as gateway:
        await took(gateway, peer, "m-1@a.example.com", 1)
        for number in (5, second):
            await peer.send(f"m-{number}@a.example.com", number)
            assert (await peer.hear("Error")).error_code == "InvalidSequenceNumber"
        assert gateway.pair_state(Role.RECEIVER, peer) == "quarantined"
        assert gateway.open_incidents() == [Role.RECEIVER]
        partners = (await gateway.call("GET", "/v1/partners")).json["partners"]
        [told] = [one for one in partners if one["role"] == "receiver"]
        assert told["state"] == "quarantined"
        assert f"m-{second}@a.example.com" in told["reason"]

        await peer.send("m-2@a.example.com", 2)
        error = await peer.hear("Error")
        assert (error.error_code, error.min_retry) == ("TransientError", "77")
        await peer.send("m-1@a.example.com", 1)
        assert (await peer.hear("Acknowledgement")).ref == "m-1@a.example.com"
        assert gateway.inbox_ids() == ["m-1@a.example.com"]

        await gateway.resume(peer)
        assert gateway.open_incidents() == []
        await took(gateway, peer, "m-5@a.example.com", 5)
        await took(gateway, peer, "m-6@a.example.com", 6)


@pytest.mark.statement("S0-08", ruling="R-11")
async def test_a_quarantine_of_one_pair_touches_no_other(tmp_path, peer, other_peer):
    """S0-08, R-11: the other partner goes on."""
    async with running(tmp_path, peer, other_peer) as gateway:
        for _ in range(2):
            await peer.send("m-5@a.example.com", 5)
            await peer.hear("Error")
        await took(gateway, other_peer, "m-1@c.example.com", 1)


# --- Time ----------------------------------------------------------------------------------------


@pytest.mark.statement("S4-07", "S4-12", ruling="R-18")
@pytest.mark.parametrize(
    ("terms", "ago_s", "text"),
    [
        ({"timeout": 60, "retry_interval": 60, "time_to_live": "PT1H"}, 2 * 3600, "TimeToLive"),
        (
            {"timeout": 60, "retry_interval": 60, "persist_duration": "P1D"},
            90_000,
            "PersistDuration",
        ),
    ],
    ids=["expired", "too old"],
)
async def test_what_comes_too_late_for_the_first_time_is_refused(
    tmp_path, peer, terms, ago_s, text
):
    """R-18, R-19: TimeToLiveExpired; nothing stored, so that ids may be forgotten safely."""
    short = {"timeout": 60, "retry_interval": 60}
    async with running(tmp_path, peer, terms={**short, **terms}) as gateway:
        await peer.send("m-1@a.example.com", 1, timestamp=stamp(ago_s=ago_s))
        assert (await peer.hear("Error")).error_code == "TimeToLiveExpired"
        gateway.assert_nothing_stored()
        (row,) = gateway.rows(Event.REJECTED)
        assert text in (row.reason or "")


@pytest.mark.statement(ruling="R-19")
async def test_a_message_from_the_future_is_refused(tmp_path, peer):
    """Its id would be kept until then, and never shorter; a repeat of a stored one is no matter."""
    terms = {"timestamp_ahead_max": "PT1H", "msh_time_accuracy": "00:30"}
    async with running(tmp_path, peer, terms=terms) as gateway:
        await took(gateway, peer, "m-1@a.example.com", 1, timestamp=stamp(ago_s=-3600))
        await peer.send("m-2@a.example.com", 2, timestamp=stamp(ago_s=-3700))
        error = await peer.hear("Error")
        assert (error.error_code, error.ref) == ("Inconsistent", "m-2@a.example.com")
        (row,) = gateway.rows(Event.REJECTED)
        assert (row.reason or "").startswith("Timestamp is in the future: ")
        assert gateway.inbox_ids() == ["m-1@a.example.com"]


@pytest.mark.statement("S1-60", ruling="R-18")
async def test_clock_accuracy_is_granted(tmp_path, peer):
    """R-18: a message past its TimeToLive by less than msh_time_accuracy is taken."""
    terms = {
        "timeout": 60,
        "retry_interval": 60,
        "time_to_live": "PT1H",
        "msh_time_accuracy": "30:00",
    }
    async with running(tmp_path, peer, terms=terms) as gateway:
        await took(gateway, peer, "m-1@a.example.com", 1, timestamp=stamp(ago_s=4000))


# --- Where errors go -----------------------------------------------------------------------------


@pytest.mark.statement("S0-46", ruling="R-26")
async def test_an_error_goes_to_the_agreed_second_address_when_the_message_names_it(
    tmp_path, peer, other_peer
):
    """S0-46, R-26: ErrorURI is honoured when it is the agreement's `error_to`."""
    async with running(tmp_path, peer, terms={"error_to": other_peer.uri}) as gateway:
        await peer.send("m-5@a.example.com", 5, error_uri=other_peer.uri)
        assert (await other_peer.hear("Error")).ref == "m-5@a.example.com"
        await gateway.everything_said()
        assert peer.arrivals == []
        assert gateway.rows(Event.SECURITY_EVENT) == []


@pytest.mark.statement("S0-46", ruling="R-26")
async def test_a_foreign_error_address_is_not_honoured(gateway, peer, other_peer):
    """R-26, H30: the error goes to send_to, and the attempt is a security event."""
    await peer.send("m-5@a.example.com", 5, error_uri=other_peer.uri)
    assert (await peer.hear("Error")).ref == "m-5@a.example.com"
    await gateway.everything_said()
    assert other_peer.posts_seen == 0
    (row,) = gateway.rows(Event.SECURITY_EVENT)
    assert other_peer.uri in (row.reason or "")


async def test_a_foreign_sender_address_gets_nothing(gateway, peer, other_peer):
    """R-26, H30: the acknowledgement goes where the agreement says, never where a message says."""
    await peer.send("m-1@a.example.com", 1, sender_uri=other_peer.uri, error_uri=peer.uri)
    ack = await peer.hear("Acknowledgement")
    assert ack.text("Header/To/PartyId") == other_peer.uri  # S0-62: copied, not obeyed
    await gateway.everything_said()
    assert other_peer.posts_seen == 0


@pytest.mark.statement("S0-43", "S0-69", ruling="R-20")
async def test_an_error_is_posted_once_with_the_header_of_a_signal(gateway, peer):
    """S0-43, R-20: an Error names the message, has no payload, and is not retried."""
    peer.answer(UNAVAILABLE)
    await peer.send("m-5@a.example.com", 5)
    error = await peer.hear("Error")
    assert error.text("Header/ReliableMessagingInfo/DeliverySemantics") == "BestEffort"
    assert error.find("Manifest") is None
    assert error.payloads == []
    sent = await gateway.until_row(Event.ERROR_SENT)
    assert (sent.outcome, sent.status_code, sent.error_code) == (
        "unknown",
        503,
        "InvalidSequenceNumber",
    )
    await gateway.everything_said()
    assert len(peer.arrivals) == 1


# --- A full disk ---------------------------------------------------------------------------------


@pytest.mark.statement("S0-02", "S3-26", ruling="R-28")
async def test_a_full_disk_acknowledges_nothing_new(gateway, peer):
    """R-28, D4: 507 to the new one, nothing stored; a known one is still acknowledged."""
    await took(gateway, peer, "m-1@a.example.com", 1)
    gateway.store.is_full = True
    assert (await peer.send("m-2@a.example.com", 2)).status == 507
    assert (await peer.send("m-1@a.example.com", 1)).status == 507
    assert (await peer.hear("Acknowledgement")).ref == "m-1@a.example.com"
    gateway.store.is_full = False
    assert gateway.inbox_ids() == ["m-1@a.example.com"]
    await took(gateway, peer, "m-2@a.example.com", 2)
