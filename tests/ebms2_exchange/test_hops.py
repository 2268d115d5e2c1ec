"""Messages of others pass a gateway in ebMS 2.0: three gateways, or two raw peers around one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chain import AGREEMENT, DESTINATION, ORIGIN, Chain, Node, Plan, running_chain
from cryptography.hazmat.primitives.serialization import Encoding
from packages import Parcel
from peer import Reply
from peer_ebms2 import (
    ACK_REQUESTED,
    NEXT_ACK_REQUESTED,
    NEXT_MSH,
    PLAIN_TYPE,
    SYNC_REPLY,
    TO_PARTY,
    Heard,
    PeerEbms2,
    acknowledgment,
    answer_with,
    fault_answer,
    read,
)
from running_gateway import NEVER_S
from signed_parties import SigningPeer, certificate_of, write_identity

from onceonly.message.event import Event
from onceonly.message.message import AckRequested
from onceonly.message.word import changed

pytestmark = pytest.mark.anyio

M = "m-0001@a.example.com"
PATIENT: dict[str, Any] = {"retries": 1, "retry_interval": NEVER_S}
"""Terms under which nothing is sent again."""
EAGER: dict[str, Any] = {"retries": 1000, "retry_interval": 15}
"""Terms under which a lost copy is made good in 0.3 s."""
ORDERING = {"service": "urn:services:Ordering", "action": "NewOrder"}
SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
EB = "http://www.oasis-open.org/committees/ebxml-msg/schema/msg-header-2_0.xsd"


def plan(**fields: Any) -> Plan:
    return Plan(**{"profile": "ebms-2.0", "terms": PATIENT, "header": ORDERING, **fields})


def identity(home: Path, name: str) -> tuple[str, dict[str, Any]]:
    """The key of an end; the certificate of the other lies beside it."""
    other = {"origin": "destination", "destination": "origin"}[name]
    pem = certificate_of(other).public_bytes(Encoding.PEM)
    (home / f"{other}.pem").write_bytes(pem)
    return write_identity(home, name)


SIGNED: dict[str, Any] = {
    "identities": identity,
    "terms": {**PATIENT, "sign": "all", "ack_requested": "Signed"},
    "origin": {"partner_certificates": ["destination.pem"]},
    "destination": {"partner_certificates": ["origin.pem"]},
}


async def order(chain: Chain, *payloads: bytes, **fields: Any) -> str:
    return await chain.submit(*payloads, **fields)


class Between(NamedTuple):
    """One intermediary, with an origin and a destination that the test plays on raw sockets."""

    origin: SigningPeer
    relay: Node
    destination: PeerEbms2

    async def passed(self, message_id: str = M, **fields: Any) -> Heard:
        """The origin sends a message; what comes out at the other end."""
        return await self.pass_on(self.origin.parcel(message_id, **fields), "NewOrder")

    async def pass_on(self, parcel: Parcel, kind: str) -> Heard:
        """The same for any package of the origin's."""
        reply = await self.origin.post(parcel)
        assert (reply.status, reply.headers.get("onceonly-error")) == (204, None)
        return await self.destination.hear(kind)

    async def say_back(self, action: str, **fields: Any) -> Reply:
        """The destination posts a signal for the origin."""
        return await self.destination.say_signal(action, **fields)


@asynccontextmanager
async def between(
    directory: Path,
    mode: str = "relay",
    changes: dict[str, Any] | None = None,
    **route_terms: Any,
) -> AsyncIterator[Between]:
    """`changes` are those of the route there, which a configuration file needs TLS for."""
    origin, destination = SigningPeer(ORIGIN, AGREEMENT), PeerEbms2(DESTINATION, AGREEMENT)
    origin.gateway_party, destination.gateway_party = DESTINATION, ORIGIN
    for peer in (origin, destination):
        await peer.listen()
    terms = {"hops_max": 4, **route_terms}
    try:
        async with running_chain(
            directory,
            plan(modes=[mode], route_terms=terms),
            origin=origin.uri,
            destination=destination.uri,
        ) as chain:
            [relay] = chain.nodes
            origin.gateway_uri = destination.gateway_uri = relay.uri
            assert isinstance(relay, Node)
            if changes is not None:
                await restart_with(relay, **changes)
            yield Between(origin, relay, destination)
    finally:
        for peer in (origin, destination):
            await peer.close()


async def restart_with(node: Node, **changes: Any) -> None:
    """Another configuration of the first route of an intermediary."""
    await node.stop(0.0)
    there, *others = node.configuration.routes
    node.configuration = replace(node.configuration, routes=(changed(there, **changes), *others))
    await node.start()


@pytest.fixture
async def ends(tmp_path: Path) -> AsyncIterator[Between]:
    async with between(tmp_path) as found:
        yield found


def actors(heard: Heard, name: str) -> list[str | None]:
    """Whom the blocks of this name are for."""
    return [one.get(f"{{{SOAP}}}actor") for one in heard.document.iter(f"{{{EB}}}{name}")]


# --- Three gateways ------------------------------------------------------------------------------


async def test_a_message_and_its_acknowledgement_pass_a_relay(tmp_path):
    async with running_chain(tmp_path, plan()) as chain:
        message_id = await order(chain, b"<Order/>", b"<Annex/>")
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)
        [relay] = chain.relays
        await relay.until_row(Event.ACK_RELAYED)
        events = [row.event for row in relay.rows(message_id=message_id)]
        assert events == [
            Event.ARRIVED_IN_TRANSIT,
            Event.FORWARDED,
            Event.ACK_RECEIVED,
            Event.ACK_RELAYED,
        ]


@pytest.mark.statement("E2-110")
@pytest.mark.parametrize("modes", [("relay",), ("relay", "relay")], ids=["one", "two"])
async def test_a_signed_message_verifies_after_its_relays(tmp_path, modes):
    """The destination believes it, and the origin has the destination's signed word."""
    async with running_chain(tmp_path, plan(modes=modes, **SIGNED)) as chain:
        message_id = await order(chain, b"<Order/>", b"a" * 300_000)
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)
        assert chain.origin.rows(Event.EVIDENCE_KEPT)
        assert chain.destination.rows(Event.EVIDENCE_KEPT)


@pytest.mark.parametrize("modes", [("relay",), ("accept",), ("relay", "accept", "relay")])
async def test_both_acknowledgements_come_back_where_both_are_asked(tmp_path, modes):
    """The next MSH's moves the timer, and the To Party's ends the wait."""
    ends = {**PATIENT, "ack_actor": "both"}
    async with running_chain(tmp_path, plan(modes=modes, terms=ends)) as chain:
        message_id = await order(chain)
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)
        if "accept" in modes:
            await chain.origin.until_row(Event.HOP_ACK_RECEIVED)
        assert chain.origin.state_of(message_id) == "acknowledged"


@pytest.mark.parametrize("modes", [("relay", "relay"), ("accept", "accept")])
async def test_the_next_msh_alone_is_asked_over_hops(tmp_path, modes):
    ends = {**PATIENT, "ack_actor": "nextMSH"}
    async with running_chain(tmp_path, plan(modes=modes, terms=ends)) as chain:
        message_id = await order(chain)
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)


@pytest.mark.parametrize("mode", ["relay", "accept"])
async def test_a_kill_of_the_intermediary_loses_and_doubles_nothing(tmp_path, mode):
    ends = {**EAGER, "ack_actor": "both"}
    async with running_chain(tmp_path, plan(modes=[mode], terms=ends, route_terms=EAGER)) as chain:
        await chain.survive(victim=1)


async def test_a_ping_passes_and_its_answer_too(tmp_path):
    """They go from party to party, as every signal does here."""
    async with running_chain(tmp_path, plan()) as chain:
        answer = await chain.origin.call("POST", f"/v1/partners/{DESTINATION}/ping")
        assert answer.status in (200, 202), answer
        await chain.origin.until_row(Event.PONG_RECEIVED)


@pytest.mark.parametrize("mode", ["mshSignalsOnly", "signalsAndResponse"])
async def test_a_sync_reply_comes_back_over_a_hop(tmp_path, mode):
    """The relay holds the connection of the origin as long as it waits itself."""
    ends = {**PATIENT, "sync_reply_mode": mode}
    async with running_chain(tmp_path, plan(modes=["relay", "relay"], terms=ends)) as chain:
        message_id = await order(chain)
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)
        for relay in chain.relays:
            row = await relay.until_row(Event.ACK_RELAYED)
            assert row.reason == "in the transport's answer"


# --- What a relay leaves as it is ----------------------------------------------------------------

TWO_PARTS = (
    b"a preamble\r\n--=_partner \r\nX-Odd: 1\r\ncontent-type: text/xml\r\n"
    b"Content-ID: <root@a.example.com>\r\n\r\n%s\r\n"
    b"--=_partner\r\nContent-Id: <p1@a.example.com>\r\nContent-Type: text/plain; x=y\r\n\r\n%s"
    b"\r\n--=_partner\r\nContent-ID: <unnamed@a.example.com>\r\nContent-Type: a/b\r\n\r\nunnamed"
    b"\r\n--=_partner--\r\nan epilogue"
)
MANIFEST = (
    '<eb:Manifest eb:version="2.0"><eb:Reference xmlns:xlink="http://www.w3.org/1999/xlink"'
    ' xlink:type="simple" xlink:href="cid:p1@a.example.com"/></eb:Manifest>'
)


@pytest.mark.statement("E2-110")
async def test_a_package_passes_byte_for_byte(ends):
    """Preamble, epilogue, heads, a part that the Manifest does not name: all as it came."""
    document = ends.origin.parcel(M, body=MANIFEST).body
    payload = b"\r\n--=_partner_not\r\n" + b"p" * 200_000
    content_type = 'multipart/related; boundary="=_partner"; type=text/xml; odd="1"'
    parcel = Parcel(content_type, TWO_PARTS % (document, payload))
    heard = await ends.pass_on(parcel, "NewOrder")
    assert heard.body == parcel.body
    assert heard.headers["content-type"] == content_type
    assert heard.headers["soapaction"] == '"ebXML"'


@pytest.mark.statement("E2-110")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
async def test_a_document_alone_passes_byte_for_byte(ends, newline):
    """Comments, line ends and the request of the next MSH with it."""
    parcel = ends.origin.parcel(M, blocks=f"<!-- a -->{ACK_REQUESTED}\n{NEXT_ACK_REQUESTED} ")
    body = parcel.body.replace(b"\n", newline.encode())
    assert (await ends.pass_on(Parcel(PLAIN_TYPE, body), "NewOrder")).body == body


@pytest.mark.statement("E2-110")
async def test_of_an_acknowledgement_only_the_block_of_the_hop_is_another(ends):
    """That of the next MSH is for us; ours stands in its place, and no byte beside it changed."""
    both = f" {acknowledgment(M)} \n\t {acknowledgment(M, NEXT_MSH)} "
    await ends.passed(blocks=ACK_REQUESTED + NEXT_ACK_REQUESTED)
    ack = ends.destination.signal("Acknowledgment", ref=M, blocks=both)
    await ends.destination.post(ack)
    heard = await ends.origin.hear("Acknowledgment")
    theirs = acknowledgment(M, NEXT_MSH).encode()
    start = ack.body.index(both.encode()) + both.encode().index(b"\n\t ") + 3
    assert heard.body[:start] == ack.body[:start]
    rest = ack.body[ack.body.index(b"/eb:Acknowledgment> </SOAP:Header>") :]
    assert heard.body.endswith(rest)
    assert theirs not in heard.body
    assert sorted(map(str, actors(heard, "Acknowledgment"))) == sorted([TO_PARTY, NEXT_MSH])


@pytest.mark.statement("E2-110")
async def test_what_was_not_asked_for_is_taken_out_without_the_blanks_beside_it(ends):
    """The previous hop asked us for nothing, and hears nothing of our hop."""
    both = f"\n {acknowledgment(M, NEXT_MSH)}\n {acknowledgment(M)}\n"
    await ends.passed()
    ack = ends.destination.signal("Acknowledgment", ref=M, blocks=both)
    await ends.destination.post(ack)
    heard = await ends.origin.hear("Acknowledgment")
    start, end = (
        ack.body.index(part) for part in (b"<eb:Acknowledgment", b"\n <eb:Acknowledgment")
    )
    end = ack.body.index(b"</eb:Acknowledgment>") + len(b"</eb:Acknowledgment>")
    assert heard.body == ack.body[:start] + ack.body[end:]


@pytest.mark.statement("E2-110")
async def test_a_signature_without_the_filter_lets_nothing_be_changed(ends):
    """As it is it passes; where a block of the hop would have to go, it is not passed."""
    signed = ends.origin.signed(M, b"<Order/>", next_ack_requested=AckRequested.UNSIGNED)
    heard = await ends.pass_on(unfiltered(signed), "NewOrder")
    assert heard.body == unfiltered(signed).body
    carrying = ends.origin.signed(
        "m-2@a.example.com",
        ref_to_message_id="m-0@c.example.com",
        next_acknowledgment=ends.origin.acknowledgment("m-0@c.example.com").element,
    )
    other = unfiltered(of_next_msh(carrying))
    assert (await ends.origin.post(other)).headers["onceonly-error"] == "NotSupported"
    error = await ends.origin.hear("MessageError")
    assert error.attribute("Error", "errorCode") == "NotSupported"
    assert not ends.destination.has_unheard()


def unfiltered(parcel: Parcel) -> Parcel:
    """The same with a signature that claims to cover all of the envelope."""
    start = parcel.body.index(b'<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath')
    end = parcel.body.index(b"</ds:Transform>", start) + len(b"</ds:Transform>")
    return Parcel(parcel.content_type, parcel.body[:start] + parcel.body[end:])


def of_next_msh(parcel: Parcel) -> Parcel:
    """The Acknowledgment in it is for the next MSH."""
    at = parcel.body.index(b"<eb:Acknowledgment")
    body = parcel.body[:at] + parcel.body[at:].replace(TO_PARTY.encode(), NEXT_MSH.encode(), 1)
    return Parcel(parcel.content_type, body)


# --- Relay mode ----------------------------------------------------------------------------------


@pytest.mark.statement("E2-112")
async def test_a_relay_eliminates_no_duplicates(ends):
    """Two copies in, two copies out, with the same bytes; and each acknowledgement goes back."""
    parcel = ends.origin.parcel(M)
    copies = [await ends.pass_on(parcel, "NewOrder") for _ in range(2)]
    assert [copy.body for copy in copies] == [parcel.body] * 2
    for _ in range(2):
        await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M))
        assert actors(await ends.origin.hear("Acknowledgment"), "Acknowledgment") == [TO_PARTY]
    assert await ends.passed() is not None


@pytest.mark.statement("E2-112")
async def test_a_repeat_reaches_the_destination_which_alone_eliminates_it(tmp_path):
    """Over three gateways: both copies pass, one is handed over, both are acknowledged."""
    async with running_chain(tmp_path, plan()) as chain:
        message_id = await order(chain)
        await chain.until_acknowledged(message_id)
        package = chain.origin.store.snapshot().get_package(message_id)
        again = PeerEbms2(ORIGIN)
        again.gateway_uri = chain.relays[0].uri
        await again.post(Parcel(package.content_type, b"<Order/>".join(package.segments)))
        await again.close()
        await chain.destination.until_row(Event.DUPLICATE_ELIMINATED)
        await chain.origin.until_row(Event.REPEATED_ACK_RECEIVED)
        assert len(chain.relays[0].rows(Event.ARRIVED_IN_TRANSIT)) == 2
        assert chain.delivered() == [message_id]


async def test_the_hop_is_acknowledged_after_the_next_hop_acknowledged_its_own(ends):
    await ends.passed(blocks=NEXT_ACK_REQUESTED)
    assert not ends.origin.has_unheard()
    await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M, NEXT_MSH))
    ack = await ends.origin.hear("Acknowledgment")
    assert (actors(ack, "Acknowledgment"), ack.ref) == ([NEXT_MSH], M)
    assert (ack.parties("From"), ack.parties("To")) == ([DESTINATION], [ORIGIN])
    element = ack.document.find(f".//{{{EB}}}Acknowledgment/{{{EB}}}From/{{{EB}}}PartyId")
    assert element is not None
    assert element.text == str(ends.relay.configuration.party[0])


async def test_an_error_travels_like_a_message(ends):
    await ends.passed()
    errors = (
        '<eb:ErrorList eb:version="2.0" SOAP:mustUnderstand="1" eb:highestSeverity="Error">'
        '<eb:Error eb:errorCode="Inconsistent" eb:severity="Error"/></eb:ErrorList>'
    )
    error = ends.destination.signal("MessageError", ref=M, blocks=errors)
    await ends.destination.post(error)
    assert (await ends.origin.hear("MessageError")).body == error.body
    row = await ends.relay.until_row(Event.ERROR_RELAYED)
    assert (row.message_id, row.error_code) == (M, "Inconsistent")


async def test_a_business_response_acknowledges_on_its_way(ends):
    await ends.passed()
    response = ends.destination.parcel(
        "r-1@c.example.com", ref=M, blocks=acknowledgment(M) + ACK_REQUESTED
    )
    await ends.destination.post(response)
    assert (await ends.origin.hear("NewOrder")).body == response.body
    row = await ends.relay.until_row(Event.ACK_RECEIVED)
    assert row.message_id == M


async def test_an_unreachable_next_hop_is_not_told_of(ends):
    """There is no error that asks for a pause; the origin's timer sends again."""
    ends.destination.refuse_connections()
    await ends.origin.post(ends.origin.parcel(M))
    row = await ends.relay.until_row(Event.FORWARDED)
    assert row.outcome == "refused"
    await ends.destination.listen()
    await ends.passed()
    assert not ends.origin.has_unheard()


# --- Accept mode ---------------------------------------------------------------------------------


async def test_an_accepting_intermediary_answers_at_once_and_owns_the_delivery(tmp_path):
    """A repeat is answered again and not delivered again, and a lost copy is sent again."""
    async with between(tmp_path, "accept", **EAGER) as ends:
        parcel = ends.origin.parcel(M, blocks=NEXT_ACK_REQUESTED + ACK_REQUESTED)
        ends.destination.refuse_connections()
        await ends.origin.post(parcel)
        first = await ends.origin.hear("Acknowledgment")
        assert actors(first, "Acknowledgment") == [NEXT_MSH]
        await ends.origin.post(parcel)
        assert (await ends.origin.hear("Acknowledgment")).body == first.body
        await ends.destination.listen()
        heard = await ends.destination.hear("NewOrder")
        assert heard.body == parcel.body
        await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M, NEXT_MSH))
        await ends.relay.until_state(M, "acknowledged")
        # The To Party's word is for the origin.
        await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M))
        last = await ends.origin.hear("Acknowledgment")
        assert actors(last, "Acknowledgment") == [TO_PARTY]


async def test_a_repeat_asks_the_to_party_again_after_the_delivery(tmp_path):
    """Its acknowledgement passed here once and may be lost; it alone can give it again."""
    async with between(tmp_path, "accept", **PATIENT) as ends:
        heard = await ends.passed(blocks=NEXT_ACK_REQUESTED + ACK_REQUESTED)
        await ends.origin.hear("Acknowledgment")
        await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M, NEXT_MSH))
        await ends.relay.until_state(M, "acknowledged")
        await ends.origin.post(Parcel(PLAIN_TYPE, heard.body))
        assert (await ends.destination.hear("NewOrder")).body == heard.body
        assert actors(await ends.origin.hear("Acknowledgment"), "Acknowledgment") == [NEXT_MSH]


async def test_the_to_party_acknowledges_what_an_intermediary_owns(tmp_path):
    async with between(tmp_path, "accept", **EAGER) as ends:
        await ends.passed(blocks=NEXT_ACK_REQUESTED + ACK_REQUESTED)
        await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M))
        await ends.relay.until_state(M, "acknowledged")


async def test_what_asks_for_no_acknowledgement_of_the_hop_is_relayed_by_an_accepting_route(
    tmp_path,
):
    async with between(tmp_path, "accept", **PATIENT) as ends:
        await ends.passed()
        await ends.passed()
        assert len(ends.relay.rows(Event.ARRIVED_IN_TRANSIT)) == 2
        assert not ends.origin.has_unheard()


async def test_where_the_route_asks_for_nothing_the_request_of_the_hop_is_taken_out(tmp_path):
    async with between(tmp_path, "accept", **{**EAGER, "ack_requested": "None"}) as ends:
        parcel = ends.origin.parcel(M, blocks=f"{ACK_REQUESTED}  {NEXT_ACK_REQUESTED}  ")
        heard = await ends.pass_on(parcel, "NewOrder")
        assert heard.body == parcel.body.replace(NEXT_ACK_REQUESTED.encode(), b"")


@pytest.mark.statement("E2-86")
@pytest.mark.parametrize(("has_left", "severity"), [(False, "Error"), (True, "Warning")])
async def test_what_cannot_be_delivered_is_told_the_from_party(tmp_path, has_left, severity):
    """Error where nothing ever left, Warning otherwise; From whoever found it out."""
    brief = {"retries": 2, "retry_interval": 2}
    async with between(tmp_path, "accept", **brief) as ends:
        if not has_left:
            ends.destination.refuse_connections()
        await ends.origin.post(ends.origin.parcel(M, blocks=NEXT_ACK_REQUESTED + ACK_REQUESTED))
        assert (await ends.origin.hear("Acknowledgment")).ref == M
        notice = await ends.origin.hear("MessageError")
        assert notice.attribute("Error", "errorCode") == "DeliveryFailure"
        assert notice.attribute("Error", "severity") == severity
        assert notice.attribute("ErrorList", "highestSeverity") == severity
        assert (notice.parties("From"), notice.parties("To")) == ([ends.relay.uri], [ORIGIN])
        assert notice.ref == M


@pytest.mark.statement("E2-86")
@pytest.mark.parametrize("modes", [("accept",), ("accept", "accept"), ("relay", "accept")])
async def test_the_origin_hears_that_an_accepted_message_was_not_delivered(tmp_path, modes):
    brief = {"retries": 2, "retry_interval": 2}
    ends = {**PATIENT, "ack_actor": "nextMSH"}
    async with running_chain(tmp_path, plan(modes=modes, terms=ends, route_terms=brief)) as chain:
        await chain.destination.stop(0.0)
        message_id = await order(chain)
        await chain.until(lambda: chain.origin.state_of(message_id) in ("failed", "in_doubt"))


# --- SyncReply -----------------------------------------------------------------------------------


async def test_a_held_connection_gets_what_the_next_hop_answered(ends):
    ack = ends.destination.signal("Acknowledgment", ref=M, blocks=acknowledgment(M))
    ends.destination.answer(answer_with(ack.body))
    reply = await ends.origin.say_business(M, blocks=ACK_REQUESTED + SYNC_REPLY)
    assert (reply.status, reply.body) == (200, ack.body)
    assert [row.message_id for row in ends.relay.rows(Event.ACK_RECEIVED)] == [M]
    assert not ends.origin.has_unheard()


async def test_a_held_connection_gets_the_response_with_its_payload(ends):
    response = ends.origin.package(ends.origin.message("r-1@c.example.com"))
    document = (
        read(response.body)
        .body.replace(DESTINATION.encode(), b"urn:duns:1")
        .replace(ORIGIN.encode(), DESTINATION.encode())
    )
    document = document.replace(b"urn:duns:1<", ORIGIN.encode() + b"<").replace(
        b"</eb:Timestamp>", f"</eb:Timestamp><eb:RefToMessageId>{M}</eb:RefToMessageId>".encode(), 1
    )
    ends.destination.answer(answer_with(document))
    reply = await ends.origin.say_business(M, blocks=ACK_REQUESTED + SYNC_REPLY)
    assert (reply.status, reply.body) == (200, document)


async def test_a_held_connection_gets_the_fault_of_the_next_hop(ends):
    ends.destination.answer(fault_answer("Client", "not like this"))
    reply = await ends.origin.say_business(M, blocks=ACK_REQUESTED + SYNC_REPLY)
    assert reply.status == 500
    assert b"not like this" in reply.body


@pytest.mark.parametrize("is_there", [True, False], ids=["empty", "unreachable"])
async def test_a_held_connection_ends_where_nothing_came_back(ends, is_there):
    if not is_there:
        ends.destination.refuse_connections()
    reply = await ends.origin.say_business(M, blocks=ACK_REQUESTED + SYNC_REPLY)
    assert reply.status == (204 if is_there else 504)


async def test_an_acknowledgement_in_an_answer_goes_back_where_nobody_waits(ends):
    """Some products answer in the connection whatever was asked."""
    ack = ends.destination.signal("Acknowledgment", ref=M, blocks=acknowledgment(M))
    ends.destination.answer(answer_with(ack.body))
    await ends.origin.post(ends.origin.parcel(M))
    assert (await ends.origin.hear("Acknowledgment")).body == ack.body


# --- Attacks -------------------------------------------------------------------------------------


async def test_a_relay_does_nothing_for_a_stranger(tmp_path):
    """Whoever does not show the certificate of the route is answered 403, and nothing passes."""
    async with between(tmp_path, changes={"caller_certificate": ("ab" * 32,)}) as ends:
        for parcel in (
            ends.origin.parcel(M),
            ends.origin.signal("Acknowledgment", ref="x@y", blocks=acknowledgment("x@y")),
            ends.origin.signal("Ping"),
        ):
            assert (await ends.origin.post(parcel)).status == 403
        other = PeerEbms2("urn:duns:666666666", AGREEMENT)
        other.gateway_uri, other.gateway_party = ends.relay.uri, DESTINATION
        assert (await other.say_business(M)).status == 500  # Of no route and no agreement.
        await other.close()
        await ends.relay.everything_said()
        assert not ends.destination.has_unheard()
        assert not ends.relay.rows(Event.ARRIVED_IN_TRANSIT)


@pytest.mark.parametrize("what", ["message", "signal"])
async def test_a_loop_ends(tmp_path, what):
    """Two intermediaries, each of which takes the other for the next hop."""
    async with running_chain(tmp_path, plan(modes=["relay", "relay"])) as chain:
        one, other = chain.relays
        origin = PeerEbms2(ORIGIN, AGREEMENT)
        await origin.listen()
        origin.gateway_uri, origin.gateway_party = one.uri, DESTINATION
        assert isinstance(other, Node)
        await restart_with(other, send_to=one.uri)
        parcel = (
            origin.parcel(M)
            if what == "message"
            else origin.signal("Acknowledgment", ref="r@c", blocks=acknowledgment("r@c"))
        )
        await origin.post(parcel)
        await chain.until(lambda: one.rows(Event.REJECTED) or other.rows(Event.REJECTED))
        await chain.everything_said()
        [row] = [*one.rows(Event.REJECTED), *other.rows(Event.REJECTED)]
        assert "hops" in (row.reason or "")
        await origin.close()


@pytest.mark.parametrize(
    "block",
    [
        '<eb:ErrorList {0} eb:highestSeverity="Error"/>',
        "<eb:MessageOrder {0}><eb:SequenceNumber>1</eb:SequenceNumber></eb:MessageOrder>",
        "<eb:MessageHeader {0}/>",
    ],
    ids=["ErrorList", "MessageOrder", "MessageHeader"],
)
async def test_s1_what_only_the_to_party_may_be_told_does_not_pass_for_a_hop(ends, block):
    """A block of the hop that speaks for the From Party is refused, here already."""
    actor = f'eb:version="2.0" SOAP:mustUnderstand="1" SOAP:actor="{NEXT_MSH}"'
    reply = await ends.origin.say_business(M, blocks=ACK_REQUESTED + block.format(actor))
    assert reply.status == 500
    assert b"Client" in reply.body
    assert not ends.relay.rows(Event.ARRIVED_IN_TRANSIT)
    assert not ends.destination.has_unheard()


async def test_s3_an_acknowledgement_of_the_hop_ends_nothing_end_to_end(ends):
    """Injected for a victim's message that asked the To Party alone: nothing goes upstream."""
    await ends.passed()
    await ends.say_back("Acknowledgment", ref=M, blocks=acknowledgment(M, NEXT_MSH))
    await ends.relay.until_row(Event.HOP_ACK_RECEIVED)
    await ends.relay.everything_said()
    assert not ends.origin.has_unheard()
    assert not ends.relay.rows(Event.ACK_RECEIVED)


async def test_s3_the_previous_hop_cannot_speak_for_the_next_one(tmp_path):
    """An origin's caller acknowledges its own message in the name of the destination."""
    async with between(tmp_path, changes={"next_hop_certificate": ("cd" * 32,)}) as ends:
        await ends.passed(blocks=ACK_REQUESTED + NEXT_ACK_REQUESTED)
        forged = ends.destination.signal(
            "Acknowledgment", ref=M, blocks=acknowledgment(M, NEXT_MSH)
        )
        await ends.origin.post(forged)
        await ends.relay.everything_said()
        assert not ends.relay.rows(Event.HOP_ACK_RECEIVED, Event.ACK_RECEIVED)
        assert not ends.origin.has_unheard()


async def test_s4_an_acknowledgement_of_a_hop_that_must_be_signed_is_not_promised(ends):
    signed = NEXT_ACK_REQUESTED.replace('eb:signed="false"', 'eb:signed="true"')
    reply = await ends.origin.say_business(M, blocks=ACK_REQUESTED + signed)
    assert reply.headers["onceonly-error"] == "NotSupported"
    error = await ends.origin.hear("MessageError")
    assert error.attribute("Error", "errorCode") == "NotSupported"
    assert error.parties("To") == [ORIGIN]
    assert not ends.destination.has_unheard()


async def test_an_acknowledgement_about_nothing_passes_and_changes_nothing(ends):
    """We need not know the message: it may have gone another way, or be forgotten."""
    ack = ends.destination.signal("Acknowledgment", ref="x@y", blocks=acknowledgment("x@y"))
    await ends.destination.post(ack)
    assert (await ends.origin.hear("Acknowledgment")).body == ack.body
