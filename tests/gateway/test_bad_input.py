"""Wrong, hostile and broken input: a named error, one row, nothing stored, nothing acknowledged."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from packages import ONE_ORDER, Parcel, PayloadPart
from peer import Peer
from running_gateway import running

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


class Wrong(NamedTuple):
    """One way to be wrong, and what the partner is told."""

    name: str
    make: Callable[[Peer], Parcel]
    status: int
    """Of the HTTP answer: 204 where an Error message follows."""
    code: str
    """In the journal, in the answer's header, and in the Error message if there is one."""


def edited(*changes: tuple[str, str]) -> Callable[[Peer], Parcel]:
    """A message in whose header document each first text is replaced by the second."""

    def edit(document: str) -> str:
        for old, new in changes:
            assert old in document, old
            document = document.replace(old, new, 1)
        return document

    return lambda peer: peer.normal(M, 1, edit=edit)


def without(element: str) -> Callable[[Peer], Parcel]:
    """A message that lacks the element and all that is in it."""

    def edit(document: str) -> str:
        start, end = document.index(f"<{element}>"), document.index(f"</{element}>")
        return document[:start] + document[end + len(element) + 3 :]

    return lambda peer: peer.normal(M, 1, edit=edit)


def repacked(*changes: tuple[bytes, bytes]) -> Callable[[Peer], Parcel]:
    """A message in whose package bytes each first run is replaced by the second."""

    def make(peer: Peer) -> Parcel:
        content_type, body = peer.normal(M, 1)
        for old, new in changes:
            assert old in body, old
            body = body.replace(old, new, 1)
        return Parcel(content_type, body)

    return make


def truncated(peer: Peer) -> Parcel:
    """Cut inside the payload, with a Content-Length that fits what is left."""
    content_type, body = peer.normal(M, 1)
    return Parcel(content_type, body[: body.index(b"PO-4711")])


def retyped(old: str, new: str) -> Callable[[Peer], Parcel]:
    """A package whose own Content-Type is changed."""

    def make(peer: Peer) -> Parcel:
        content_type, body = peer.normal(M, 1)
        assert old in content_type
        return Parcel(content_type.replace(old, new), body)

    return make


DOCTYPE = "<!DOCTYPE ebXMLHeader>\n<ebXMLHeader"
FIRST = "<MessageId>m-1@a.example.com</MessageId>"
UTF8 = b'charset="utf-8"'

WRONGS = [
    # What the agreement does not say.
    Wrong(
        "unknown agreement", lambda p: p.normal(M, 1, agreement="tpa-x"), 204, "ValueNotRecognized"
    ),
    Wrong(
        "unknown sender",
        lambda p: p.normal(M, 1, from_party="urn:duns:9"),
        400,
        "ValueNotRecognized",
    ),
    Wrong(
        "wrong receiver", lambda p: p.normal(M, 1, to_party="urn:duns:9"), 204, "ValueNotRecognized"
    ),
    Wrong(
        "foreign ReceiverURI",
        lambda p: p.normal(M, 1, receiver_uri=p.uri),
        204,
        "ValueNotRecognized",
    ),
    # Values.
    Wrong(
        "PartyId of the sender without form",
        lambda p: p.normal(M, 1, from_party="Smith"),
        400,
        "Inconsistent",
    ),
    Wrong(
        "PartyId of the receiver without form",
        lambda p: p.normal(M, 1, to_party="Smith"),
        204,
        "Inconsistent",
    ),
    Wrong("unknown MessageType", edited(('"Normal"', '"Abnormal"')), 400, "ValueNotRecognized"),
    Wrong("unknown Version", edited(('"0.21"', '"9.0"')), 204, "NotSupported"),
    Wrong(
        "unknown semantics", lambda p: p.normal(M, 1, semantics="Twice"), 204, "ValueNotRecognized"
    ),
    Wrong(
        "semantics in lower case",
        lambda p: p.normal(M, 1, semantics="onceandonlyonce"),
        204,
        "ValueNotRecognized",
    ),
    Wrong("MessageId with a space", lambda p: p.normal("m 1", 1), 400, "ValueNotRecognized"),
    Wrong("MessageId too long", lambda p: p.normal("m" * 256, 1), 400, "ValueNotRecognized"),
    Wrong("SequenceNumber 0", lambda p: p.normal(M, "0"), 204, "ValueNotRecognized"),
    Wrong(
        "SequenceNumber of ten digits",
        lambda p: p.normal(M, "1000000000"),
        204,
        "ValueNotRecognized",
    ),
    Wrong("SequenceNumber 1e3", lambda p: p.normal(M, "1e3"), 204, "ValueNotRecognized"),
    Wrong("SequenceNumber in other digits", lambda p: p.normal(M, "٣"), 204, "ValueNotRecognized"),
    Wrong("no SequenceNumber", lambda p: p.normal(M, None), 204, "OtherXml"),
    Wrong(
        "timestamp that is none",
        lambda p: p.normal(M, 1, timestamp="yesterday"),
        204,
        "ValueNotRecognized",
    ),
    # The document.
    Wrong("unreadable XML", edited(("</ebXMLHeader>", "")), 400, "OtherXml"),
    Wrong("DOCTYPE", edited(("<ebXMLHeader", DOCTYPE)), 400, "OtherXml"),
    Wrong("comment without end", edited((">m-1@", ">m-<!-- ->1@")), 400, "OtherXml"),
    Wrong("processing instruction", edited(("<Header>", "<?x y?><Header>")), 400, "OtherXml"),
    Wrong("two MessageIds", edited((FIRST, FIRST * 2)), 400, "OtherXml"),
    Wrong("no RoutingHeader", without("RoutingHeader"), 204, "OtherXml"),
    Wrong("no SenderURI", without("SenderURI"), 204, "OtherXml"),
    Wrong("no ReliableMessagingInfo", without("ReliableMessagingInfo"), 204, "OtherXml"),
    Wrong(
        "foreign namespace",
        edited(("http://www.ebxml.org/", "http://www.example.org/")),
        400,
        "OtherXml",
    ),
    # The package.
    Wrong("truncated", truncated, 204, "MimeProblem"),
    Wrong(
        "no boundary in the body",
        repacked((b"--ebxml-part-wrapper", b"--other")),
        400,
        "MimeProblem",
    ),
    Wrong("no boundary parameter", retyped("boundary=", "bound="), 400, "MimeProblem"),
    Wrong("no package at all", retyped("multipart/related", "text/plain"), 415, "NotSupported"),
    Wrong("start names no part", retyped("hdr-0001", "hdr-0002"), 400, "MimeProblem"),
    Wrong("document of another part", repacked((b"cid:po-1", b"cid:po-2")), 204, "MimeProblem"),
    Wrong("document elsewhere", repacked((b"cid:po-1", b"http://po-1")), 204, "MimeProblem"),
    Wrong("charset utf-7", repacked((UTF8, b'charset="utf-7"')), 415, "NotSupported"),
    Wrong(
        "compressed part",
        repacked((b"Content-ID: <po", b"Content-Transfer-Encoding: gzip\r\nContent-ID: <po")),
        204,
        "MimeProblem",
    ),
]


@pytest.mark.statement("S0-34", "S0-35", "S0-43", "S0-45", "S0-48", "S0-51", ruling="R-25")
@pytest.mark.parametrize("wrong", WRONGS, ids=[wrong.name for wrong in WRONGS])
async def test_bad_input_is_named_journalled_once_and_not_kept(gateway, peer, wrong):
    """R-25, R-26: the partner is told where an agreement says whom to tell; nothing is stored."""
    reply = await peer.post(wrong.make(peer))
    assert (reply.status, reply.body) == (wrong.status, b"")
    assert reply.headers["onceonly-error"] == wrong.code
    await gateway.everything_said()
    (row,) = gateway.rows(Event.REJECTED)
    assert row.error_code == wrong.code
    assert row.reason
    gateway.assert_nothing_stored()
    assert peer.heard("Acknowledgement") == []
    told = [error.error_code for error in peer.heard("Error")]
    assert told == ([wrong.code] if wrong.status == 204 else [])
    await peer.send(M, 1)
    await gateway.until_handed_over(M)


@pytest.mark.parametrize("size", [1001, 1 << 20], ids=["just above", "far above"])
async def test_a_message_above_the_agreed_size_is_refused(tmp_path, peer, size):
    """R-25: MessageTooLarge as soon as it shows; one row, nothing stored."""
    async with running(tmp_path, peer, gateway={"payload_bytes_max": 1000}) as gateway:
        payload = PayloadPart("po-1@a", "text/plain", b"x" * size)
        await peer.send(M, 1, payloads=(payload,))
        await gateway.everything_said()
        assert (await peer.hear("Error")).error_code == "MessageTooLarge"
        (row,) = gateway.rows(Event.REJECTED)
        assert row.error_code == "MessageTooLarge"
        gateway.assert_nothing_stored()
        await peer.send(M, 1, payloads=(payload._replace(content=b"x" * 1000),))
        assert (await peer.hear("Acknowledgement")).ref == M


@pytest.mark.parametrize("announced", [4_000_000, 10**12])
async def test_an_announced_excess_is_refused_unread(tmp_path, peer, announced):
    """H12, R-25: 413 by the announced length alone, and a row about it."""
    async with running(tmp_path, peer, gateway={"payload_bytes_max": 1000}) as gateway:
        content_type, _ = peer.normal(M, 1)
        length = f"Length: {announced}".encode()
        head = peer.request(Parcel(content_type, b"")).replace(b"Length: 0", length)
        reply = await peer.say(head)
        assert (reply.status, reply.headers["onceonly-error"]) == (413, "MessageTooLarge")
        (row,) = gateway.rows(Event.REJECTED)
        assert row.error_code == "MessageTooLarge"
        gateway.assert_nothing_stored()


async def test_a_body_of_unknown_length_is_counted(tmp_path, peer):
    """H12, H13: chunked, it ends at the same limit."""
    async with running(tmp_path, peer, gateway={"payload_bytes_max": 1000}) as gateway:
        payload = PayloadPart("po-1@a", "text/plain", b"x" * (3 << 20))
        content_type, body = peer.normal(M, 1, payloads=(payload,))
        head = peer.request(Parcel(content_type, b""))
        head = head.replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
        await peer.say(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        assert (await peer.hear("Error")).error_code == "MessageTooLarge"
        gateway.assert_nothing_stored()
        assert len(gateway.rows(Event.REJECTED)) == 1


@pytest.mark.parametrize(
    ("header", "status"),
    [("Content-Encoding: gzip", 415), ("Transfer-Encoding: chunked", 400)],
)
async def test_transport_tricks_are_refused(gateway, peer, header, status):
    """H1, H21: a compressed body, and a body of two lengths."""
    assert (await peer.post(peer.normal(M, 1), header)).status == status
    gateway.assert_nothing_stored()


@pytest.mark.statement("S0-67")
@pytest.mark.parametrize("method", ["GET", "PUT", "TRACE"])
async def test_only_post_is_taken(gateway, peer, method):
    """S0-67, H20: other methods are no messages."""
    request = peer.request(peer.normal(M, 1)).replace(b"POST", method.encode(), 1)
    assert (await peer.say(request)).status == 405
    gateway.assert_nothing_stored()


async def test_a_name_from_the_wire_is_inert(gateway, peer):
    """X16, P11: what looks like a path, a query or markup is stored and shown as it is."""
    nasty = "';DROP--<b>/../../etc/passwd{{7*7}}${jndi:x}"
    await peer.send(nasty, 1)
    assert (await peer.hear("Acknowledgement")).ref == nasty
    await gateway.until_handed_over(nasty)
    (item,) = (await gateway.get("/v1/inbox"))["items"]
    assert item["message_id"] == nasty
    (payload,) = item["payloads"]
    assert payload["name"] == "../../etc/passwd"
    assert (await gateway.api.get(payload["href"])).content == ONE_ORDER[0].content


@pytest.mark.statement("S0-02", ruling="R-02")
@pytest.mark.parametrize("twelfth", range(12))
async def test_a_reset_in_the_middle_stores_nothing_and_spoils_nothing(gateway, peer, twelfth):
    """I4, R-02: an arrival that failed half-way was never seen; the whole copy is taken."""
    payloads = (PayloadPart("po-1@a", "text/plain", b"x" * 200_000),)
    parcel = peer.normal(M, 1, payloads=payloads)
    request = peer.request(parcel)
    head = len(request) - len(parcel.body)
    cut_at = head + 1 + (len(parcel.body) - 2) * twelfth // 11
    await peer.say_and_reset(request[:cut_at])
    await gateway.until_row(Event.REJECTED)
    gateway.assert_nothing_stored()
    assert peer.arrivals == []
    assert (await peer.post(parcel)).status == 204
    assert (await peer.hear("Acknowledgement")).ref == M
    await gateway.until_handed_over(M)
    assert gateway.rows(Event.DUPLICATE_ELIMINATED) == []


async def test_a_close_at_the_last_byte_but_one_stores_nothing(gateway, peer):
    """I4: a Content-Length that is not kept is no message, however whole it looks."""
    request = peer.request(peer.normal(M, 1))
    await peer.say_and_reset(request[:-1])
    await gateway.until_row(Event.REJECTED)
    gateway.assert_nothing_stored()
