"""A gateway that accepts: it stores, acknowledges, and owns the delivery from there on (R-13)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import packages_2001
import pytest
from asking import report_of
from chain import AGREEMENT, DESTINATION, EAGER, ORIGIN, THERE, Node, Plan, running_chain
from packages import ORDER, PayloadPart
from peer import Arrival
from peer_2001 import Peer2001

from onceonly.message.event import Event
from onceonly.protocol.receiving import InboundStatus

pytestmark = pytest.mark.anyio

MESSAGE = "m-1@a.example.com"
PARTIES = {"from_party": ORIGIN, "to_party": DESTINATION}
UNSIGNED: dict[str, Any] = {"ack_requested": "Unsigned"}
ASKING = {**EAGER, **UNSIGNED}
"""Terms of an origin that asks for Acknowledgment elements, which intermediaries take to heart."""

ONE_TRY: dict[str, Any] = {"timeout": 1, "retries": 0, "retry_interval": 1}
"""Terms of a route that gives up at once."""


class Between(NamedTuple):
    """One intermediary, with an origin and a destination that the test plays on raw sockets."""

    origin: Peer2001
    relay: Node
    destination: Peer2001

    async def send(self, message_id: str = MESSAGE, **fields: Any) -> None:
        """The origin posts a message that asks for an Acknowledgment element."""
        reply = await self.origin.send_2001(message_id, **{**PARTIES, **UNSIGNED, **fields})
        assert (reply.status, reply.headers.get("onceonly-error")) == (204, None)


@asynccontextmanager
async def between(
    directory: Path,
    route_terms: dict[str, Any] | None = None,
    mode: str = "accept",
    gateway: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
) -> AsyncIterator[Between]:
    origin, destination = Peer2001(ORIGIN, AGREEMENT), Peer2001(DESTINATION, AGREEMENT)
    plan = Plan(
        profile="rm-2001",
        modes=(mode,),
        route_terms=route_terms or {},
        gateway=gateway or {},
        own=own or {},
    )
    for peer in (origin, destination):
        await peer.listen()
    try:
        async with running_chain(
            directory, plan, origin=origin.uri, destination=destination.uri
        ) as chain:
            [relay] = chain.nodes
            origin.gateway_uri = destination.gateway_uri = relay.uri
            yield Between(origin, relay, destination)
    finally:
        for peer in (origin, destination):
            await peer.close()


@pytest.fixture
async def ends(tmp_path: Path) -> AsyncIterator[Between]:
    async with between(tmp_path, {"timeout": 1_000_000}) as found:
        yield found


def acknowledging_party(ack: Arrival) -> str | None:
    """PartyId in the From of the Acknowledgment element."""
    return ack.document.findtext("{*}Acknowledgment/{*}From/{*}PartyId")


# --- Towards the previous hop --------------------------------------------------------------------


@pytest.mark.statement("S1-50")
@pytest.mark.statement("S1-40")
async def test_what_is_accepted_is_stored_and_acknowledged_at_once(ends):
    """The destination has said nothing; the Acknowledgment says that it is ours."""
    earlier = packages_2001.routing_header("http://far.example/msh", "http://near.example/msh")
    await ends.send(earlier=earlier)
    ack = await ends.origin.hear("Acknowledgment")
    assert acknowledging_party(ack) == ends.relay.configuration.party[0].value
    assert (ack.text("Header/From/PartyId"), ack.ref) == (ends.relay.uri, MESSAGE)
    assert ack.text("Header/To/PartyId") == ends.origin.uri
    [row] = ends.relay.of(MESSAGE, Event.STORED)
    assert row.hop == 3


async def test_it_goes_on_under_the_terms_of_the_route(tmp_path):
    """Header and payload as they came, one more hop, and our own resends until it is taken."""
    async with between(tmp_path, {**EAGER, **UNSIGNED}) as ends:
        await ends.send()
        first, second = await ends.destination.hear(), await ends.destination.hear()
        assert first.body == second.body
        assert first.payloads == [ORDER]
        hops = first.document.findall("{*}RoutingHeaderList/{*}RoutingHeader")
        assert [hop.findtext("{*}SenderURI") for hop in hops] == [ends.origin.uri, ends.relay.uri]
        assert hops[1].attrib["ackRequested"] == "Unsigned"
        await ends.destination.acknowledge_2001(MESSAGE)
        await ends.relay.until_state(MESSAGE, "acknowledged")


async def test_a_repeat_gets_the_first_response_and_goes_nowhere(ends):
    """Towards the sender an accepting intermediary is a To Party (R-03, I37)."""
    await ends.send()
    first = await ends.origin.hear("Acknowledgment")
    await ends.send()
    assert (await ends.origin.hear("Acknowledgment")).body == first.body
    await ends.relay.everything_said()
    assert len(ends.destination.arrivals) == 1
    assert ends.relay.rows(Event.DUPLICATE_ELIMINATED)


@pytest.mark.statement(ruling="R-37")
async def test_a_repeat_differs_in_what_it_says_anew_alone(ends):
    """What both copies ask for is the same, whoever has to give it; the Timestamp is not."""
    await ends.send(receipt="Unsigned")
    await ends.origin.hear("Acknowledgment")
    await ends.send(receipt="Unsigned", timestamp=packages_2001.stamp(ago_s=60))
    await ends.origin.hear("Acknowledgment")
    [repeat] = ends.relay.rows(Event.DUPLICATE_ELIMINATED)
    assert repeat.reason == "other than in the first copy: Timestamp"


async def test_other_content_under_a_known_id_is_an_alarm(ends):
    """A collision, as at a To Party (R-01)."""
    await ends.send()
    await ends.origin.hear("Acknowledgment")
    await ends.send(payloads=[PayloadPart("po-1@a.example.com", "application/xml", b"<Other/>")])
    await ends.relay.until_row(Event.COLLISION_DETECTED)
    await ends.relay.everything_said()
    assert not ends.origin.has_unheard(), "an Error would be about what is ours to deliver (R-46)"


@pytest.mark.statement(ruling="R-46")
async def test_a_copy_that_may_not_pass_is_answered_as_the_one_that_did(ends):
    """It speaks for itself only: here it has been somewhere else before."""
    await ends.send()
    first = await ends.origin.hear("Acknowledgment")
    loop = packages_2001.routing_header(ends.relay.uri, "http://far.example/msh")
    await ends.send(earlier=loop)
    assert (await ends.origin.hear("Acknowledgment")).body == first.body
    assert len(ends.relay.rows(Event.REJECTED)) == 1


@pytest.mark.statement(ruling="R-37")
async def test_another_header_under_a_known_id_is_an_alarm(ends):
    """Nothing of it goes on; what goes on is proven by the header that came."""
    await ends.send()
    await ends.origin.hear("Acknowledgment")
    await ends.send(action="CancelOrder")
    alarm = await ends.relay.until_row(Event.COLLISION_DETECTED)
    assert alarm.reason.startswith("a message with other header is stored here")
    await ends.relay.everything_said()
    assert not ends.origin.has_unheard()
    assert len(ends.destination.arrivals) == 1


async def test_what_came_too_late_is_refused(ends):
    """Past its TimeToLive (R-18)."""
    await ends.send(
        timestamp=packages_2001.stamp(ago_s=7200), time_to_live=packages_2001.stamp(ago_s=3600)
    )
    assert (await ends.origin.hear()).error_code == "TimeToLiveExpired"
    assert not ends.destination.arrivals


async def test_a_repeat_is_acknowledged_while_the_disk_is_full(ends):
    """It needs no write (fault D4); a new message does, and is met with silence (S3-26)."""
    await ends.send()
    first = await ends.origin.hear("Acknowledgment")
    await ends.relay.everything_said()
    ends.relay.store.is_full = True
    for message_id in (MESSAGE, "m-2@a.example.com"):
        parcel = ends.origin.business(message_id, **PARTIES, **UNSIGNED)
        assert (await ends.origin.post(parcel)).status == 507
    assert (await ends.origin.hear("Acknowledgment")).body == first.body
    ends.relay.store.is_full = False
    await ends.relay.everything_said()
    assert not ends.origin.has_unheard()


async def test_a_full_queue_asks_the_previous_hop_to_come_again(tmp_path):
    """Refused before anything is stored (R-27)."""
    async with between(tmp_path, {"timeout": 1_000_000}, gateway={"queued_max": 1}) as ends:
        await ends.send()
        await ends.origin.hear("Acknowledgment")
        reply = await ends.origin.send_2001("m-2@a.example.com", **PARTIES, **UNSIGNED)
        assert reply.headers["onceonly-error"] == "TransientError"
        assert (await ends.origin.hear()).error_code == "TransientError"
        await ends.send()
        assert (await ends.origin.hear()).kind == "Acknowledgment", "a repeat needs no room (I4)"


@pytest.mark.statement(ruling="R-27")
async def test_what_is_carried_for_others_and_what_is_ours_fill_one_queue(tmp_path):
    """Two counts that did not know each other let both together exceed `queued_max`."""
    friend = Peer2001("urn:duns:333333333", "own")
    await friend.listen()
    ours = {"id": "own", "profile": "rm-2001", "with": [friend.party], "send_to": friend.uri}
    queue = {"queued_max": 2}
    async with between(tmp_path, {"timeout": 1_000_000}, gateway=queue, own=ours) as ends:
        friend.gateway_uri = ends.relay.uri
        await ends.relay.submit(ORDER, to=friend)
        await ends.send()
        await ends.origin.hear("Acknowledgment")
        full = await ends.relay.submitted(ORDER, to=friend)
        assert (full.status, full.json["error"]["name"]) == (503, "QueueFull")
        reply = await ends.origin.send_2001("m-2@a.example.com", **PARTIES, **UNSIGNED)
        assert reply.headers["onceonly-error"] == "TransientError"
        await ends.destination.acknowledge_2001(MESSAGE)
        await ends.relay.until_state(MESSAGE, "acknowledged")
        assert (await ends.relay.submitted(ORDER, to=friend)).status == 201
    await friend.close()


async def test_a_route_that_is_needed_blocks_a_reload_and_the_difference_names_it(ends):
    """What would be refused is said before, by the same names."""
    relay = ends.relay
    ends.destination.refuse_connections()
    await ends.send()
    await ends.origin.hear("Acknowledgment")
    path = relay.configuration.path
    path.write_text(path.read_text("utf-8").replace(f'id = "{THERE}"', 'id = "elsewhere"'), "utf-8")
    found = await relay.get("/v1/agreement-difference")
    assert (found["is_refused"], found["blocked"], found["problem"]) == (True, [THERE], None)
    answer = await relay.call("POST", "/v1/reload")
    assert answer.status == 409
    assert THERE in answer.json["error"]["text"]


async def test_an_operator_does_not_take_back_what_is_carried_for_others(ends):
    """I37: its From Party would never hear of it."""
    ends.destination.refuse_connections()
    await ends.send()
    await ends.origin.hear("Acknowledgment")
    await ends.relay.until_row(Event.TRANSMITTED)
    answer = await ends.relay.call("POST", f"/v1/messages/{MESSAGE}/cancel")
    assert (answer.status, ends.relay.state_of(MESSAGE)) == (409, "sending")
    assert ORIGIN in str(answer.json)


# --- When it is ours, and when not ---------------------------------------------------------------


@pytest.mark.statement("S1-48")
@pytest.mark.statement("S1-49")
@pytest.mark.parametrize("wanted", [None, "None"])
async def test_without_intermediate_acknowledgements_it_only_forwards(ends, wanted):
    """ackRequested None: the final party's acknowledgement is the only one."""
    await ends.send(ack_requested=wanted)
    await ends.destination.hear()
    await ends.relay.everything_said()
    assert not ends.origin.arrivals
    await ends.destination.acknowledge_2001(MESSAGE)
    await ends.origin.hear("Acknowledgment")
    await ends.relay.everything_said()
    assert len(ends.origin.arrivals) == 1


async def test_what_the_header_leaves_open_is_as_the_route_says(ends):
    """deliverySemantics may be left to the CPA (S1-08); ours is OnceAndOnlyOnce."""
    await ends.send(semantics=None)
    await ends.origin.hear("Acknowledgment")
    assert b"deliverySemantics" not in (await ends.destination.hear()).body


async def test_an_id_that_is_taken_by_another_message_is_refused(tmp_path):
    """Two origins, one MessageId: the second one is an alarm, and nothing of it is stored."""
    async with between(tmp_path, {"timeout": 1_000_000}) as ends:
        await ends.send()
        await ends.origin.hear("Acknowledgment")
        fields = {"from_party": DESTINATION, "to_party": ORIGIN, **UNSIGNED}
        reply = await ends.destination.send_2001(MESSAGE, **fields)
        assert reply.headers["onceonly-error"] == "SecurityFailure"


async def test_a_signed_acknowledgement_of_ours_is_refused_by_name(ends):
    """Not offered here."""
    reply = await ends.origin.send_2001(MESSAGE, **PARTIES, ack_requested="Signed")
    assert reply.headers["onceonly-error"] == "NotSupported"
    assert (await ends.origin.hear()).error_code == "NotSupported"


async def test_a_sync_reply_does_not_pass(ends):
    """The next hop begins after the answer of this one (S0-78)."""
    reply = await ends.origin.send_2001(MESSAGE, **PARTIES, sync_reply_mode="responseOnly")
    assert reply.headers["onceonly-error"] == "NotSupported"


@pytest.mark.statement("S1-49")
@pytest.mark.parametrize("by_name", [True, False])
async def test_a_relay_passes_the_final_party_s_acknowledgment_through(tmp_path, by_name):
    """Its From and Timestamp stand in what the origin gets; a From left out is the To Party."""
    async with between(tmp_path, mode="relay") as ends:
        await ends.send()
        await ends.destination.hear()
        element = packages_2001.element("urn:duns:777" if by_name else None)
        await ends.destination.acknowledge_2001(MESSAGE, particulars=element)
        ack = await ends.origin.hear("Acknowledgment")
        assert acknowledging_party(ack) == ("urn:duns:777" if by_name else DESTINATION)
        stamp = element.partition("<Timestamp>")[2].partition("</Timestamp>")[0]
        assert ack.document.findtext("{*}Acknowledgment/{*}Timestamp") == stamp


RECEIPT = (f"{packages_2001.SERVICES}MessageDeliveryReceipt", "DeliveryReceipt")


@pytest.mark.parametrize("mode", ["relay", "accept"])
async def test_a_delivery_receipt_goes_back_to_the_origin(tmp_path, mode):
    """It is the To Party's word about its application, whoever carried the message."""
    async with between(tmp_path, {"timeout": 1_000_000}, mode=mode) as ends:
        await ends.send(receipt="Unsigned")
        await ends.destination.hear()
        if mode == "accept":
            await ends.origin.hear("Acknowledgment")
        element = packages_2001.element(DESTINATION)
        receipt = ends.destination.signal_2001(MESSAGE, RECEIPT, particulars=element)
        await ends.destination.post(receipt)
        arrival = await ends.origin.hear(RECEIPT[1])
        assert (arrival.ref, acknowledging_party(arrival)) == (MESSAGE, DESTINATION)
        await ends.relay.until_row(Event.RECEIPT_SENT)


async def test_a_receipt_that_passed_outweighs_a_doubt_of_the_next_hop(ends):
    """What the To Party has its application have, no notice of ours puts in doubt upstream."""
    await ends.send(receipt="Unsigned")
    await ends.origin.hear("Acknowledgment")
    await ends.destination.acknowledge_2001(MESSAGE)
    await ends.relay.until_state(MESSAGE, "acknowledged")
    element = packages_2001.element(DESTINATION)
    await ends.destination.post(ends.destination.signal_2001(MESSAGE, RECEIPT, particulars=element))
    await ends.origin.hear(RECEIPT[1])
    await ends.relay.restart()
    await ends.destination.refuse_2001(MESSAGE, "DeliveryFailure", "Warning")
    await ends.relay.until_row(Event.ERROR_RECEIVED)
    await ends.relay.everything_said()
    assert ends.relay.state_of(MESSAGE) == "acknowledged"
    assert not ends.origin.has_unheard()
    await ends.destination.refuse_2001(MESSAGE, "DeliveryFailure", "Error")
    assert (await ends.origin.hear()).error_code == "DeliveryFailure"


async def test_best_effort_passes_and_nothing_is_kept_waiting(ends):
    """There is nothing to acknowledge, to repeat or to be told of."""
    await ends.send(semantics="BestEffort")
    await ends.destination.hear()
    await ends.relay.restart()
    await ends.relay.everything_said()
    assert len(ends.destination.arrivals) == 1
    assert not ends.origin.arrivals


@pytest.mark.parametrize("mode", ["relay", "accept"])
async def test_a_response_that_passes_shows_its_request_to_have_arrived(tmp_path, mode):
    """Whichever way the request was carried (seed 001 §1.3.3 (8b)): nothing is sent again."""
    async with between(tmp_path, {"timeout": 1_000_000}, mode=mode) as ends:
        await ends.send()
        await ends.destination.hear()
        answer = {"from_party": DESTINATION, "to_party": ORIGIN, "ref": MESSAGE}
        await ends.destination.send_2001("r-1@c.example.com", **answer, **UNSIGNED)
        row = await ends.relay.until_row(Event.ACK_RECEIVED)
        assert (row.message_id, row.reason) == (
            MESSAGE,
            "on the business response r-1@c.example.com",
        )
        await ends.relay.restart()
        await ends.relay.everything_said()
        assert [one.message_id for one in ends.destination.arrivals].count(MESSAGE) == 1


# --- When it cannot be delivered -----------------------------------------------------------------


@pytest.mark.statement("S1-51")
@pytest.mark.statement("S1-56")
@pytest.mark.parametrize(("is_up", "severity"), [(False, "Error"), (True, "Warning")])
async def test_the_from_party_is_told_what_could_not_be_delivered(tmp_path, is_up, severity):
    """Error: it could not even be transmitted. Warning: transmitted, and never acknowledged."""
    async with between(tmp_path, ONE_TRY) as ends:
        if not is_up:
            ends.destination.refuse_connections()
        await ends.send(conversation="c-9")
        await ends.origin.hear("Acknowledgment")
        notice = await ends.origin.hear()
        assert (notice.error_code, notice.ref) == ("DeliveryFailure", MESSAGE)
        assert notice.document.find("{*}ErrorList/{*}Error").attrib["severity"] == severity
        said = {
            "Header/From/PartyId": ends.relay.uri,
            "Header/To/PartyId": ORIGIN,
            "Header/CPAId": AGREEMENT,
            "Header/ConversationId": "c-9",
        }
        assert {path: notice.text(path) for path in said} == said
        quality = notice.document.find("{*}Header/{*}QualityOfServiceInfo")
        assert quality.attrib["deliverySemantics"] == "OnceAndOnlyOnce"
        assert not ends.relay.notices()


async def test_a_notice_that_is_owed_survives_a_restart(tmp_path):
    """It was written with the verdict, and goes out when the origin is there again."""
    async with between(tmp_path, ONE_TRY) as ends:
        ends.destination.refuse_connections()
        await ends.send()
        await ends.origin.hear("Acknowledgment")
        ends.origin.refuse_connections()
        await ends.relay.until_row(Event.FAILURE_NOTICE_SENT)
        await ends.relay.stop(0.0)
        await ends.origin.listen()
        await ends.relay.start()
        assert (await ends.origin.hear()).error_code == "DeliveryFailure"
        await ends.relay.until(lambda: not ends.relay.store.snapshot().list_owed_notices())


async def test_notices_can_be_switched_off(tmp_path):
    """`notify_failures = false`: the origin's own clock is all it has."""
    async with between(tmp_path, {**ONE_TRY, "notify_failures": False}) as ends:
        ends.destination.refuse_connections()
        await ends.send()
        await ends.origin.hear("Acknowledgment")
        await ends.relay.until_state(MESSAGE, "failed")
        await ends.relay.everything_said()
        assert not ends.origin.has_unheard()


@pytest.mark.statement("S1-51")
async def test_a_notice_travels_up_a_chain_of_intermediaries(tmp_path):
    """Each one tells the hop before it, under its own name, until the application knows."""
    destination = "http://127.0.0.1:9/msh"
    modes = ("accept", "relay", "accept")
    # Long enough for the acknowledgements of the hops before, also on a busy machine.
    route_terms = {**UNSIGNED, **ONE_TRY, "timeout": 100}
    plan = Plan(profile="rm-2001", modes=modes, terms=ASKING, route_terms=route_terms)
    async with running_chain(tmp_path, plan, destination=destination) as chain:
        message_id = await chain.submit()
        await chain.until(chain.origin.notices)
        assert chain.origin.notices() == [("DeliveryFailure", "Error", "DeliveryFailure")]
        assert chain.origin.state_of(message_id) == "failed"


# --- Chains --------------------------------------------------------------------------------------

MIXED = [
    ("accept", "accept", "accept"),
    ("relay", "accept", "relay"),
    ("accept", "relay", "accept"),
    ("relay", "relay", "accept"),
]
ROUTE_TERMS = {**EAGER, **UNSIGNED}


@pytest.mark.statement("S1-50")
@pytest.mark.parametrize("modes", MIXED, ids="-".join)
async def test_a_chain_of_accepting_intermediaries_delivers_once(tmp_path, modes):
    """Four hops, in accept mode and mixed: the message is at C, once, and every hop is settled."""
    plan = Plan(profile="rm-2001", modes=modes, terms=ASKING, route_terms=ROUTE_TERMS)
    async with running_chain(tmp_path, plan) as chain:
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        await chain.until_delivered(message_id)
        for node, mode in zip(chain.relays, modes, strict=True):
            if mode == "accept":
                await chain.until(lambda node=node: node.state_of(message_id) == "acknowledged")
                entry = node.store.snapshot().find_inbound(
                    node.store.snapshot().find_outbound_view(message_id).message.key
                )
                assert entry.status is InboundStatus.FORWARDED
            else:
                assert node.store.snapshot().find_transit(THERE, message_id) is not None


async def test_an_accepted_message_waits_for_its_next_hop(tmp_path):
    """The origin was acknowledged while the destination was down; the rest is not its trouble."""
    plan = Plan(profile="rm-2001", modes=("accept",), terms=ASKING, route_terms=ROUTE_TERMS)
    async with running_chain(tmp_path, plan) as chain:
        await chain.destination.stop(0.0)
        message_id = await chain.submit()
        await chain.until_acknowledged(message_id)
        await chain.destination.start()
        await chain.until_delivered(message_id)


@pytest.mark.statement("S3-20")
@pytest.mark.parametrize("modes", MIXED[:3], ids="-".join)
@pytest.mark.parametrize("victim", range(5))
async def test_any_node_may_be_cut_down_at_any_time(tmp_path, modes, victim):
    """Every node in turn is stopped without grace, again and again: each message arrives once."""
    plan = Plan(profile="rm-2001", modes=modes, terms=ASKING, route_terms=ROUTE_TERMS)
    async with running_chain(tmp_path, plan) as chain:
        await chain.survive(victim)


# --- When it is asked ----------------------------------------------------------------------------

INQUIRIES = {
    "Ping": "MessageAvailability",
    "StatusRequest": "MessageStatus",
    "CancelRequest": "MessageCancellation",
    "ResponseRequest": "MessageResponse",
}


async def ask(peer: Peer2001, kind: str, about: str | None, **fields: Any) -> None:
    """Post an inquiry about a message."""
    words = f"{packages_2001.SERVICES}{INQUIRIES[kind]}", kind
    assert (await peer.post(peer.signal_2001(about, words, **fields))).status == 204


@pytest.mark.parametrize("mode", ["relay", "accept"])
async def test_an_intermediary_says_that_it_sent_the_message_on(tmp_path, mode):
    """`Forwarded`, in the words of ebMS; what it accepted, it acknowledges again (S4-22)."""
    async with between(tmp_path, {"timeout": 1_000_000}, mode=mode) as ends:
        await ends.send()
        await ends.destination.hear()
        if mode == "accept":
            await ends.origin.hear("Acknowledgment")
        await ask(ends.origin, "StatusRequest", MESSAGE)
        if mode == "accept":
            await ends.origin.hear("Acknowledgment")
        assert report_of(await ends.origin.hear())["status"] == "Forwarded"


@pytest.mark.parametrize("kind", ["StatusRequest", "CancelRequest", "ResponseRequest"])
async def test_an_intermediary_promises_nothing_about_what_it_does_not_know(ends, kind):
    """A copy may be anywhere; only the destination can take a message back (R-08)."""
    await ask(ends.origin, kind, "never-seen@a.example.com")
    said = report_of(await ends.origin.hear())
    assert (said["status"], said["accepted"]) == ("NotRecognized", "false")


async def test_an_intermediary_never_confirms_a_cancel(ends):
    """The message may be at its destination."""
    await ends.send()
    await ends.origin.hear("Acknowledgment")
    await ask(ends.origin, "CancelRequest", MESSAGE)
    said = report_of(await ends.origin.hear())
    assert (said["status"], said["accepted"]) == ("Forwarded", "false")


async def test_an_intermediary_answers_a_ping_of_its_previous_hop_only(ends):
    """It takes messages from there (level 2); from anybody else it is a security event."""
    await ask(ends.origin, "Ping", None)
    assert report_of(await ends.origin.hear())["accepted"] == "true"
    await ask(ends.origin, "Ping", None, from_party="http://stranger.example/msh")
    await ends.relay.until_row(Event.SECURITY_EVENT)
    await ends.relay.everything_said()
    assert not ends.origin.has_unheard()
