"""A gateway that relays: every copy goes on, and only what the next hop said goes back (R-13)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chain import (
    AGREEMENT,
    DESTINATION,
    EAGER,
    ORIGIN,
    THERE,
    Node,
    Plan,
    running_chain,
)
from packages import ORDER, Parcel, PayloadPart, stamp
from peer import UNAVAILABLE, Arrival, Manners, Peer

from onceonly.gateway.config import Limits
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

MESSAGE = "m-1@a.example.com"
PAUSE_S = 45
"""`retry_interval` of the route: the MinRetrySecs of its TransientErrors."""


class Between(NamedTuple):
    """One relay, with an origin and a destination that the test plays on raw sockets."""

    origin: Peer
    relay: Node
    destination: Peer

    async def relayed(self, message_id: str = MESSAGE, **fields: Any) -> Arrival:
        """The origin sends a message; what comes out at the other end."""
        reply = await self.origin.send(message_id, 1, **{**PARTIES, **fields})
        assert (reply.status, reply.headers.get("onceonly-error")) == (204, None)
        return await self.destination.hear("Normal")


PARTIES = {"from_party": ORIGIN, "to_party": DESTINATION}


@asynccontextmanager
async def between(
    directory: Path,
    route_terms: dict[str, Any] | None = None,
    gateway: dict[str, Any] | None = None,
) -> AsyncIterator[Between]:
    origin, destination = Peer(ORIGIN, AGREEMENT), Peer(DESTINATION, AGREEMENT)
    plan = Plan(
        route_terms={"retry_interval": PAUSE_S, **(route_terms or {})}, gateway=gateway or {}
    )
    for peer in (origin, destination):
        await peer.listen()
    try:
        async with running_chain(
            directory, plan, origin=origin.uri, destination=destination.uri
        ) as chain:
            [relay] = chain.nodes
            origin.gateway_uri = destination.gateway_uri = relay.uri
            assert isinstance(relay, Node)
            yield Between(origin, relay, destination)
    finally:
        for peer in (origin, destination):
            await peer.close()


@pytest.fixture
async def ends(tmp_path: Path) -> AsyncIterator[Between]:
    async with between(tmp_path) as found:
        yield found


def header_of(body: bytes) -> bytes:
    """The bytes of the Header element."""
    return body[body.index(b"<Header>") : body.index(b"</Header>")]


# --- What goes on --------------------------------------------------------------------------------


@pytest.mark.statement("S0-79")
@pytest.mark.statement("S0-80")
@pytest.mark.statement("S0-89")
async def test_a_message_goes_on_with_one_more_routing_header_and_nothing_else_changed(ends):
    """Header and payload are the origin's to the last byte; the new hop is between the MSHs."""
    sent = ends.origin.normal(MESSAGE, 1, **PARTIES)
    arrival = await ends.relayed()
    assert header_of(arrival.body).split(b"<Timestamp>")[0] in sent.body
    assert arrival.payloads == [ORDER]
    hops = arrival.document.findall("{*}RoutingHeader")
    assert [
        (hop.findtext("{*}SenderURI"), hop.findtext("{*}ReceiverURI"), hop.findtext("{*}ErrorURI"))
        for hop in hops
    ] == [
        (ends.origin.uri, ends.relay.uri, ends.origin.uri),
        (ends.relay.uri, ends.destination.uri, ends.relay.uri),
    ]
    assert hops[1].findtext("{*}SequenceNumber") == hops[0].findtext("{*}SequenceNumber")


@pytest.mark.statement("S0-78")
async def test_the_next_hop_begins_after_the_previous_one_ended(ends):
    """The origin's exchange is answered before the next hop has said anything."""
    ends.destination.answer(Manners.SILENCE)
    await ends.relayed()
    assert not ends.relay.rows(Event.FORWARDED)


@pytest.mark.statement("S3-23")
@pytest.mark.statement("S3-24")
async def test_a_repeat_passes_and_nothing_is_repeated_by_the_relay(ends):
    """Two copies in, two copies out, with the same Header and payload."""
    first, second = await ends.relayed(), await ends.relayed()
    assert second.payloads == first.payloads
    await ends.relay.everything_said()
    assert len(ends.destination.arrivals) == 2
    assert [row.attempt for row in ends.relay.rows(Event.FORWARDED)] == [1, 2]


async def test_a_large_payload_goes_through_the_spool(ends):
    """No payload of a message in transit is held in memory."""
    large = PayloadPart("po-1@a.example.com", "application/octet-stream", bytes(300_000))
    arrival = await ends.relayed(payloads=[large])
    assert arrival.payloads == [large.content]


# --- What goes back ------------------------------------------------------------------------------


@pytest.mark.statement("S3-22")
@pytest.mark.statement("S0-82")
async def test_the_origin_hears_nothing_before_the_destination_acknowledged(ends):
    """Only the destination's acknowledgement makes one for the origin, in the words of its hop."""
    await ends.relayed()
    await ends.relay.everything_said()
    assert not ends.origin.has_unheard()
    await ends.destination.acknowledge(MESSAGE)
    ack = await ends.origin.hear("Acknowledgement")
    assert ack.ref == MESSAGE
    assert ack.text("Header/From/PartyId") == ends.relay.uri
    assert ack.text("Header/To/PartyId") == ends.origin.uri
    assert ack.text("Header/TPAInfo/TPAId") == AGREEMENT
    rows = [row.event for row in ends.relay.of(MESSAGE)]
    assert rows.index(Event.ACK_RECEIVED) > rows.index(Event.ARRIVED_IN_TRANSIT)


async def test_each_acknowledgement_goes_back(ends):
    """The one before may have been lost on its way."""
    await ends.relayed()
    for _ in range(2):
        await ends.destination.acknowledge(MESSAGE)
        assert (await ends.origin.hear("Acknowledgement")).ref == MESSAGE


@pytest.mark.statement("S0-81")
async def test_an_unreachable_next_hop_becomes_a_transient_error(ends):
    """Instead of an acknowledgement; when it is back, the copy that comes again goes through."""
    ends.destination.refuse_connections()
    await ends.origin.send(MESSAGE, 1, **PARTIES)
    error = await ends.origin.hear("Error")
    assert (error.error_code, error.min_retry) == ("TransientError", str(PAUSE_S))
    assert error.ref == MESSAGE
    await ends.destination.listen()
    await ends.relayed()
    await ends.destination.acknowledge(MESSAGE)
    await ends.origin.hear("Acknowledgement")


@pytest.mark.statement("S3-25")
@pytest.mark.parametrize("manners", [Manners.HANG_UP, Manners.HALF, UNAVAILABLE])
async def test_what_is_not_known_is_answered_with_silence(ends, manners):
    """No failure notice and no error: the origin's own timer is enough."""
    ends.destination.answer(manners)
    await ends.relayed()
    await ends.relay.until_row(Event.FORWARDED)
    await ends.relay.everything_said()
    assert not ends.origin.arrivals


async def test_an_error_of_the_destination_goes_back_as_it_is(ends):
    """Code, severity and MinRetrySecs."""
    await ends.relayed()
    await ends.destination.refuse(MESSAGE, "TransientError", "Warning", 17)
    error = await ends.origin.hear("Error")
    assert (error.error_code, error.min_retry, error.ref) == ("TransientError", "17", MESSAGE)
    await ends.destination.refuse(MESSAGE, "Inconsistent")
    assert (await ends.origin.hear("Error")).error_code == "Inconsistent"


async def test_a_signal_from_elsewhere_goes_nowhere(ends):
    """RefToMessageId alone is not enough: it must come from the next hop (R-20)."""
    await ends.relayed()
    await ends.destination.acknowledge(MESSAGE, sender_uri="http://stranger.example/msh")
    await ends.relay.until_row(Event.ORPHAN_ACK_RECEIVED)
    assert not ends.origin.arrivals
    await ends.destination.acknowledge("another@a.example.com")
    await ends.relay.until_row(Event.ORPHAN_ACK_RECEIVED, 2)
    assert not ends.origin.arrivals


@pytest.mark.statement(ruling="R-45")
async def test_strangers_take_no_row_from_a_neighbour(ends):
    """What strangers do may have no row any more; what the next hop says has its own."""
    for _ in range(Limits().refusal_rows_per_hour + 1):
        ends.relay.parts.refusals.note("192.0.2.1:4711", "http", "BareLineFeed")
    await ends.relay.everything_said()
    await ends.destination.acknowledge("another@a.example.com")
    await ends.relay.until_row(Event.ORPHAN_ACK_RECEIVED)


@pytest.mark.statement("S3-26")
async def test_a_full_disk_means_silence(ends):
    """What could not be stored is not sent on, and nobody is told but the transport."""
    ends.relay.store.is_full = True
    reply = await ends.origin.send(MESSAGE, 1, **PARTIES)
    assert reply.status == 507
    ends.relay.store.is_full = False
    await ends.relay.everything_said()
    assert not ends.destination.arrivals
    assert not ends.origin.arrivals
    await ends.relayed()


# --- What may not pass ---------------------------------------------------------------------------


def with_earlier_hops(ends: Between, *hops: tuple[str, str]) -> Parcel:
    """A message that came by these hops before it came to us."""
    template = (
        "  <RoutingHeader>\n    <SenderURI>{}</SenderURI>\n    <ReceiverURI>{}</ReceiverURI>\n"
        "    <ErrorURI>{}</ErrorURI>\n    <Timestamp>{}</Timestamp>\n  </RoutingHeader>\n"
    )

    def put_in(document: str) -> str:
        stamp = document.partition("<Timestamp>")[2].partition("</Timestamp>")[0]
        earlier = "".join(template.format(a, b, a, stamp) for a, b in hops)
        return document.replace("  <RoutingHeader>\n", f"{earlier}  <RoutingHeader>\n", 1)

    return ends.origin.normal(MESSAGE, 1, **PARTIES, edit=put_in)


async def assert_refused(ends: Between, parcel: Parcel, code: str, reason: str) -> None:
    """A named error to the previous hop, a row, and nothing stored or sent on."""
    reply = await ends.origin.post(parcel)
    assert reply.headers["onceonly-error"] == code
    error = await ends.origin.hear("Error")
    assert (error.error_code, error.ref) == (code, MESSAGE)
    [row] = ends.relay.rows(Event.REJECTED)
    assert row.reason is not None
    assert reason in row.reason
    await ends.relay.everything_said()
    assert not ends.destination.arrivals
    assert ends.relay.store.snapshot().find_transit(THERE, MESSAGE) is None


@pytest.mark.parametrize("place", ["sender", "receiver"])
async def test_a_loop_is_caught(ends, place):
    """Our URI among the earlier hops (I38)."""
    here, there = ends.relay.uri, "http://far.example/msh"
    hop = (here, there) if place == "sender" else (there, here)
    await assert_refused(ends, with_earlier_hops(ends, hop), "Inconsistent", "a loop")


@pytest.mark.statement(ruling="R-17")
async def test_a_message_from_the_future_is_for_its_destination_to_judge(ends):
    """Which may never refuse one for its time; the relay keeps its entry by its own clock."""
    await ends.relayed(timestamp=stamp(ago_s=-2 * 86_400))
    await ends.relay.everything_said()
    assert ends.relay.store.snapshot().find_transit(THERE, MESSAGE) is not None
    assert not ends.relay.rows(Event.REJECTED)


@pytest.mark.parametrize(("hops_max", "passes"), [(3, True), (2, False)])
async def test_a_message_with_too_many_hops_is_caught(tmp_path, hops_max, passes):
    """`hops_max` counts the RoutingHeaders of what goes on (I38)."""
    async with between(tmp_path, {"hops_max": hops_max}) as ends:
        parcel = with_earlier_hops(ends, ("http://far.example/msh", "http://near.example/msh"))
        if passes:
            await ends.origin.post(parcel)
            await ends.destination.hear("Normal")
        else:
            await assert_refused(ends, parcel, "Inconsistent", "2 at most")


@pytest.mark.parametrize("place", ["sender_uri", "receiver_uri"])
async def test_a_foreign_address_is_refused(ends, place):
    """ReceiverURI must be ours, SenderURI that of the route's previous hop."""
    elsewhere = {place: "http://stranger.example/msh"}
    parcel = ends.origin.normal(MESSAGE, 1, **PARTIES, **elsewhere)
    name = "SenderURI" if place == "sender_uri" else "ReceiverURI"
    await assert_refused(ends, parcel, "ValueNotRecognized", name)


async def test_a_message_that_is_too_large_for_us_does_not_pass(tmp_path):
    """`payload_bytes_max` of the intermediary counts for what passes as well."""
    async with between(tmp_path, gateway={"payload_bytes_max": 10}) as ends:
        parcel = ends.origin.normal(MESSAGE, 1, **PARTIES)
        await assert_refused(ends, parcel, "MessageTooLarge", "10 bytes")


async def test_a_route_that_is_gone_leaves_its_messages_to_the_origin(tmp_path):
    """A relay owes nothing: what was on its way is forgotten with its route."""
    async with between(tmp_path) as ends:
        ends.destination.answer(Manners.HANG_UP)
        await ends.relayed()
        await ends.relay.until_row(Event.FORWARDED)
        await ends.relay.stop(0.0)
        ends.relay.configuration = replace(ends.relay.configuration, routes=())
        await ends.relay.start()
        await ends.relay.everything_said()
        assert len(ends.destination.arrivals) == 1


async def test_after_a_restart_an_unanswered_message_goes_on_again(ends):
    """As it was stored: the same bytes, under the same copy number."""
    first = await ends.relayed()
    await ends.relay.everything_said()
    await ends.relay.restart()
    second = await ends.destination.hear("Normal")
    assert second.body == first.body
    await ends.destination.acknowledge(MESSAGE)
    await ends.origin.hear("Acknowledgement")
    await ends.relay.everything_said()
    await ends.relay.restart()
    await ends.relay.everything_said()
    assert not ends.destination.has_unheard()


async def test_a_message_for_somebody_unknown_finds_no_route(ends):
    """It is not ours and passes nowhere."""
    fields = {**PARTIES, "to_party": "urn:duns:999999999"}
    reply = await ends.origin.send(MESSAGE, 1, **fields)
    assert (reply.status, reply.headers["onceonly-error"]) == (400, "ValueNotRecognized")
    assert not ends.destination.arrivals


@pytest.mark.parametrize("profiles", [("rm-2000", "rm-2001"), ("rm-2001", "rm-2000")])
async def test_profiles_are_not_mixed_along_a_chain(tmp_path, profiles):
    """A message of the one profile does not pass a route of the other."""
    sent_as, carried_as = profiles
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    destination = Peer(DESTINATION, AGREEMENT)
    await destination.listen()
    async with running_chain(here, Plan(profile=carried_as), destination=destination.uri) as chain:
        [relay] = chain.relays
        plan = Plan(profile=sent_as, modes=())
        async with running_chain(there, plan, destination=relay.uri) as sender:
            message_id = await sender.submit()
            row = await relay.until_row(Event.REJECTED)
            assert (row.error_code, row.message_id) == ("Inconsistent", message_id)
            await relay.everything_said()
    await destination.close()
    assert not destination.arrivals


# --- Chains --------------------------------------------------------------------------------------


@pytest.mark.statement("S3-21")
@pytest.mark.statement("S0-78")
@pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
async def test_a_chain_of_four_hops_delivers_and_acknowledges_end_to_end(tmp_path, profile):
    """A - R1 - R2 - R3 - C: stored at C before A hears of it, with a trail of hops behind it."""
    async with running_chain(tmp_path, Plan(profile=profile, modes=("relay",) * 3)) as chain:
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)
        await chain.everything_said()
        hops = [node.of(message_id, Event.FORWARDED)[0].hop for node in chain.relays]
        assert hops == [2, 3, 4]
        for node in chain.relays:
            events = [row.event for row in node.of(message_id)]
            assert events.index(Event.ACK_RECEIVED) < events.index(Event.ACK_RELAYED)


@pytest.mark.statement("S0-05")
async def test_without_a_relay_nothing_of_all_this_is_needed(tmp_path):
    """Direct links work with no route configured."""
    async with running_chain(tmp_path, Plan(modes=())) as chain:
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)


@pytest.mark.statement("S3-21")
async def test_a_destination_that_cannot_store_is_never_acknowledged(tmp_path):
    """Two hops with the final store blocked: no acknowledgement at the origin, until it is free."""
    async with running_chain(tmp_path, Plan(modes=("relay", "relay"), terms=EAGER)) as chain:
        chain.destination.store.is_full = True
        message_id = await chain.submit()
        await chain.until(lambda: chain.destination.store.refusals > 2)
        assert not chain.is_acknowledged(message_id)
        assert not any(node.rows(Event.ACK_RECEIVED) for node in chain.relays)
        chain.destination.store.is_full = False
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)


@pytest.mark.statement("S0-81")
async def test_a_chain_waits_for_a_hop_that_is_down(tmp_path):
    """TransientError upstream, then delivery, once the hop is back; nothing is used up (R-15)."""
    terms = {"timeout": 15, "retries": 2, "retry_interval": 15}
    plan = Plan(modes=("relay",) * 3, terms=terms, route_terms={"retry_interval": 5})
    async with running_chain(tmp_path, plan) as chain:
        await chain.nodes[3].stop(0.0)
        message_id = await chain.submit()
        await chain.until(lambda: len(chain.origin.rows(Event.ERROR_RECEIVED)) >= 4)
        await chain.nodes[3].start()
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)


@pytest.mark.statement("S3-20")
@pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
@pytest.mark.parametrize("victim", range(5))
async def test_any_node_may_be_cut_down_at_any_time(tmp_path, profile, victim):
    """Every node in turn is stopped without grace, again and again: each message arrives once."""
    plan = Plan(profile=profile, modes=("relay",) * 3, terms=EAGER)
    async with running_chain(tmp_path, plan) as chain:
        await chain.survive(victim)
