"""What troubled users of other products, each by its id in the specification's table (IR-…)."""

import asyncio

import pytest
from packages import Parcel
from peer import UNAVAILABLE, bodies
from peer_ebms2 import (
    ACK_REQUESTED,
    ELIMINATED,
    ORDERING,
    PLAIN_TYPE,
    PeerEbms2,
    acknowledgment,
    with_peer,
)
from running_gateway import BRIEF
from two_parties import submit

from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M, N = "m-0001@a.example.com", "m-0002@a.example.com"
BRIEFLY = {**BRIEF, "timeout": None}


async def test_ir_01_an_acknowledgement_with_elimination_is_taken(tmp_path):
    """We write none into ours."""
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_acknowledgment(message_id, eliminated=ELIMINATED)
        await gateway.until_state(message_id, "acknowledged")
        await peer.say_business(M)
        assert b"DuplicateElimination" not in (await peer.hear("Acknowledgment")).body


async def test_ir_02_a_repeat_gets_the_acknowledgement_that_was_not_taken(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        parcel = peer.parcel(M)
        peer.answer(UNAVAILABLE)
        await peer.post(parcel)
        first = await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)
        await peer.post(parcel)
        assert (await peer.hear("Acknowledgment")).body == first.body
        assert gateway.inbox_ids() == [M]


async def test_ir_03_a_repeat_of_what_was_refused_is_refused_alike(tmp_path):
    """And a repeat of what was taken never is."""
    async with with_peer(tmp_path) as (gateway, peer):
        refused = peer.parcel(M, eliminated="")
        told = []
        for _ in range(2):
            await peer.post(refused)
            error = await peer.hear("MessageError")
            told.append((error.attribute("Error", "errorCode"), error.text("Description")))
        assert told[0] == told[1]
        await peer.say_business(N)
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(N)
        await peer.say_business(N)
        await peer.hear("Acknowledgment")


async def test_ir_04_what_was_refused_leaves_no_trace_under_its_id(tmp_path):
    """The corrected copy is a new message."""
    async with with_peer(tmp_path) as (gateway, peer):
        await peer.say_business(M, blocks="")
        await peer.hear("MessageError")
        await peer.say_business(M)
        assert (await peer.hear("Acknowledgment")).ref == M
        await gateway.until_handed_over(M)
        assert gateway.rows(Event.DUPLICATE_ELIMINATED, Event.COLLISION_DETECTED) == []


async def test_ir_05_an_acknowledgement_is_for_the_message_that_it_names(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        first, second = [await submit(gateway, peer.party, **ORDERING) for _ in range(2)]
        await peer.hear_several("NewOrder", 2)
        await peer.say_acknowledgment(second)
        await gateway.until_state(second, "acknowledged")
        assert gateway.state_of(first) == "sending"


@pytest.mark.statement("E2-80")
async def test_ir_05_an_acknowledgement_after_the_wait_is_a_late_one(tmp_path):
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        late = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_state(late, "in_doubt")
        await peer.say_acknowledgment(late)
        await gateway.until_state(late, "acknowledged")
        assert [row.message_id for row in gateway.rows(Event.LATE_ACK_RECEIVED)] == [late]


async def test_ir_06_a_silent_partner_gets_retries_and_one_copies_and_one_failure(tmp_path):
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await gateway.until_state(message_id, "in_doubt")
        assert len(peer.heard("NewOrder")) == BRIEF["retries"] + 1
        assert len(gateway.notices()) == 1


async def test_ir_10_signals_must_be_understood_and_ir_11_errors_have_a_language(tmp_path):
    async with with_peer(tmp_path) as (_, peer):
        await peer.say_business(M)
        ack = await peer.hear("Acknowledgment")
        assert b'<eb:Acknowledgment eb:version="2.0" SOAP:mustUnderstand="1"' in ack.body
        await peer.say_business(N, blocks="")
        error = await peer.hear("MessageError")
        assert b'<eb:ErrorList eb:version="2.0" SOAP:mustUnderstand="1"' in error.body
        assert b"<eb:Description xml:lang=" in error.body


async def test_ir_12_content_ids_are_unique_at_any_speed(tmp_path):
    async with with_peer(tmp_path) as (gateway, peer):
        send = (submit(gateway, peer.party, b"<a/>", b"<b/>", **ORDERING) for _ in range(5))
        await asyncio.gather(*send)
        heard = [(await peer.hear("NewOrder")).body for _ in range(5)]
        ids = [
            line for body in heard for line in body.split(b"\r\n") if line[:11] == b"Content-ID:"
        ]
        assert len(ids) == len(set(ids)) == 15


def framed(peer: PeerEbms2, frame: str, *, root: str = "text/xml", href: str = "p@a") -> bytes:
    """A package with one payload; `frame` has the document and the payload in its places."""
    manifest = (
        '<eb:Manifest eb:version="2.0"><eb:Reference xmlns:xlink="http://www.w3.org/1999/xlink"'
        f' xlink:type="simple" xlink:href="cid:{href}"/></eb:Manifest>'
    )
    document = peer.parcel(M, body=manifest).body.decode()
    return frame.format(document=document, root=root).encode()


USUAL = (
    "--{b}\r\nContent-Type: {{root}}\r\nContent-ID: <r@a>\r\n\r\n{{document}}\r\n"
    "--{b}\r\nContent-Type: {kind}\r\n{id}\r\n\r\n<Order/>\r\n--{b}--"
)


@pytest.mark.parametrize(
    ("boundary", "content_type", "edits", "href"),
    [
        ("b", 'boundary="b"', {"id": "Content-ID: <p%a>"}, "p%25a"),
        ("b", 'boundary="b"', {"id": "Content-ID: <p@a>"}, "p%40a"),
        ("b", 'boundary="b"', {"id": "content-id: p@a"}, "p@a"),
        ("b", 'boundary="b"', {"kind": "x-odd/none of your business"}, "p@a"),
        ("=_a.b=c" + "d" * 62, "boundary==_a.b=c" + "d" * 62, {}, "p@a"),
        ("b", 'boundary="b"', {"before": "\r\n", "after": ""}, "p@a"),
        ("b", 'boundary="b"', {"before": "a preamble\r\n"}, "p@a"),
    ],
    ids=["IR-13 %25", "IR-13 %40", "IR-14", "IR-18", "IR-19", "IR-17 blank", "IR-17 preamble"],
)
async def test_packages_of_other_products_are_read(tmp_path, boundary, content_type, edits, href):
    """IR-16 as well: the root part has no charset, and is read as UTF-8."""
    values = {"b": boundary, "kind": "application/xml", "id": "Content-ID: <p@a>", **edits}
    frame = values.get("before", "") + USUAL.format(**values) + values.get("after", "\r\n")
    async with with_peer(tmp_path) as (gateway, peer):
        body = framed(peer, frame, href=href)
        kind = f'multipart/related; type="text/xml"; {content_type}; start="<r@a>"'
        reply = await peer.post(Parcel(kind, body))
        assert reply.status == 204
        await peer.hear("Acknowledgment")
        await gateway.until_handed_over(M)


async def test_ir_23_ids_are_never_mixed_up(tmp_path):
    """In copies, and in what is about them."""
    async with with_peer(tmp_path, **BRIEFLY) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING, conversation="our-talk")
        copies = await peer.hear_several("NewOrder", 2)
        assert len(bodies(copies)) == 1
        said = copies[0].text
        assert (copies[0].message_id, said("ConversationId")) == (message_id, "our-talk")
        assert copies[0].ref == ""
        await peer.say_business(M)
        await gateway.everything_said()
        (ack,) = peer.heard("Acknowledgment")
        assert ack.ref == M
        assert (ack.text("ConversationId"), ack.message_id == M) == ("conv-1", False)


@pytest.mark.parametrize("timestamp", ["2001-01-01T00:00:00Z", "2001-01-01T00:00:00+02:00"])
async def test_ir_25_an_old_timestamp_of_an_acknowledgement_counts(tmp_path, timestamp):
    async with with_peer(tmp_path) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        await peer.say_acknowledgment(message_id, timestamp=timestamp)
        await gateway.until_state(message_id, "acknowledged")


@pytest.mark.parametrize("is_lenient", [False, True])
async def test_ir_26_party_ids_of_another_type_count_where_that_is_agreed(tmp_path, is_lenient):
    async with with_peer(tmp_path, lenient_signal_parties=is_lenient) as (gateway, peer):
        message_id = await submit(gateway, peer.party, **ORDERING)
        await peer.hear("NewOrder")
        parcel = peer.signal("Acknowledgment", ref=message_id, blocks=acknowledgment(message_id))
        old = f"<eb:From><eb:PartyId>{peer.party}".encode()
        new = f'<eb:From><eb:PartyId eb:type="fixed">{peer.party}'.encode()
        assert old in parcel.body
        await peer.post(Parcel(PLAIN_TYPE, parcel.body.replace(old, new)))
        if is_lenient:
            await gateway.until_state(message_id, "acknowledged")
        else:
            await gateway.until_row(Event.ORPHAN_ACK_RECEIVED)


@pytest.mark.statement("E2-59")
async def test_ir_29_signals_go_to_the_address_of_signals(tmp_path):
    """Acknowledgements and answers there, errors to that of errors; none to that of messages."""
    signals, errors = PeerEbms2(), PeerEbms2()
    await signals.listen()
    await errors.listen()
    terms = {"signals_to": signals.uri, "error_to": errors.uri}
    try:
        async with with_peer(tmp_path, **terms) as (_, peer):
            await peer.say_business(M)
            assert (await signals.hear("Acknowledgment")).ref == M
            await peer.say_signal("Ping")
            await signals.hear("Pong")
            await peer.say_business(N, blocks="")
            assert (await errors.hear("MessageError")).ref == N
            assert not peer.has_unheard()
    finally:
        await signals.close()
        await errors.close()


@pytest.mark.statement("E2-59")
async def test_errors_go_to_the_address_of_signals_where_they_have_none(tmp_path):
    signals = PeerEbms2()
    await signals.listen()
    try:
        async with with_peer(tmp_path, signals_to=signals.uri) as (_, peer):
            await peer.say_business(M, blocks="")
            assert (await signals.hear("MessageError")).ref == M
            assert not peer.has_unheard()
    finally:
        await signals.close()


@pytest.mark.parametrize("is_strict", [False, True])
async def test_parts_that_no_manifest_names_are_dropped_or_refused(tmp_path, is_strict):
    """As agreed (P7)."""
    frame = USUAL.format(b="b", kind="text/plain", id="Content-ID: <p@a>")
    more = "\r\n--b\r\nContent-Type: text/plain\r\nContent-ID: <q@a>\r\n\r\nmore\r\n--b--\r\n"
    async with with_peer(tmp_path, strict_parts=is_strict) as (gateway, peer):
        body = framed(peer, frame.removesuffix("\r\n--b--") + more)
        await peer.post(
            Parcel('multipart/related; type="text/xml"; boundary="b"; start="<r@a>"', body)
        )
        if is_strict:
            error = await peer.hear("MessageError")
            assert error.attribute("Error", "errorCode") == "MimeProblem"
            assert gateway.inbox_ids() == []
        else:
            await peer.hear("Acknowledgment")
            await gateway.until_handed_over(M)


@pytest.mark.parametrize("has_roles", [False, True])
async def test_roles_are_on_signals_where_that_is_agreed(tmp_path, has_roles):
    terms = {"role": "Seller", "partner_role": "Buyer", "roles_on_signals": has_roles}
    async with with_peer(tmp_path, **terms) as (_, peer):
        await peer.say_signal("Ping")
        pong = await peer.hear("Pong")
        assert (b"<eb:Role>Seller</eb:Role>" in pong.body) is has_roles


async def test_ir_31_two_copies_at_the_same_moment_are_one_message(tmp_path):
    """Both are acknowledged."""
    async with with_peer(tmp_path) as (gateway, peer):
        parcel = peer.parcel(M, blocks=ACK_REQUESTED)
        replies = await asyncio.gather(*(peer.post(parcel) for _ in range(2)))
        assert [reply.status for reply in replies] == [204, 204]
        acks = await peer.hear_several("Acknowledgment", 2)
        assert len(bodies(acks)) == 1
        await gateway.until_handed_over(M)
