"""Seed 000, two parties over real sockets: what only a whole exchange can show.

Most statements of this seed are shown further in; see docs/reference/conformance.md.
"""

import re

import pytest
from peer import bodies
from running_gateway import BRIEF
from two_parties import BUYER, SELLER, house, submit, two_parties, with_peers, write

from onceonly.gateway.chance import Chance
from onceonly.message.event import Event
from onceonly.message.message import DeliverySemantics
from onceonly.steps.ground import new_message_id

pytestmark = pytest.mark.anyio


def events(gateway, message_id, *among):
    return [row.event for row in gateway.rows(*among, message_id=message_id)]


@pytest.mark.statement("S0-01", "S0-02", "S0-09", "S0-11", "S0-13", "S0-92", "S0-96")
async def test_an_exchange_is_stored_acknowledged_and_delivered_in_this_order(tmp_path):
    """R-02 on both sides, with the payload byte for byte in between."""
    async with two_parties(tmp_path) as parties:
        message_id = await parties.submit(b"<Order/>", bytes(range(256)) * 2000)
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        stored = events(parties.seller, message_id)
        assert stored == [Event.STORED, Event.ACK_SENT, Event.HANDED_OVER]
        sent = events(parties.buyer, message_id)
        assert (sent[0], sent[1]) == (Event.SUBMITTED, Event.TRANSMITTING)
        assert sent.count(Event.ACK_RECEIVED) == 1
        (item,) = (await parties.seller.get("/v1/inbox"))["items"]
        got = [await parties.seller.api.get(payload["href"]) for payload in item["payloads"]]
        assert [one.content for one in got] == [b"<Order/>", bytes(range(256)) * 2000]


@pytest.mark.statement("S0-06")
@pytest.mark.parametrize("profile", ["rm-2000", "rm-2001"])
async def test_reliable_messaging_needs_no_key_and_has_no_switch(tmp_path, profile):
    """With nothing but the required keys a message is reliable, in every profile."""
    keys = {"id": "a", "with": [BUYER], "send_to": "http://buyer.example/msh"}
    gateway = write(
        tmp_path,
        "seller",
        house(SELLER, "seller", 8401),
        ("[[agreement]]", {**keys, "profile": profile}),
    )
    (only,) = gateway.configuration.agreements
    assert only.terms.semantics is DeliverySemantics.ONCE_AND_ONLY_ONCE
    assert only.terms.retries == 3


@pytest.mark.statement("S0-04", "S0-09", "S0-12", "S0-91")
async def test_either_side_may_be_cut_down_between_any_two_steps(tmp_path):
    """Submitted to nobody, restarted, received, restarted on both sides: delivered once."""
    async with two_parties(tmp_path, retries=1000, timeout=5, retry_interval=5) as parties:
        await parties.seller.stop(0.0)
        message_id = await parties.submit()
        await parties.buyer.until_row(Event.TRANSMITTED)
        await parties.buyer.restart()
        await parties.seller.start()
        await parties.seller.until_row(Event.STORED)
        await parties.seller.restart()
        await parties.buyer.restart()
        await parties.delivered(message_id)
        await parties.seller.until_handed_over(message_id)
        assert len(parties.seller.rows(Event.STORED, Event.HANDED_OVER)) == 2


@pytest.mark.statement("S0-05", "S0-07", "S0-49", "S0-53")
async def test_many_messages_arrive_once_each_and_in_their_order(tmp_path):
    """Ten submitted at once are numbered 1 to 10, one after the other, without any router."""
    async with two_parties(tmp_path) as parties:
        ids = [await parties.submit() for _ in range(10)]
        await parties.delivered(ids[-1])
        await parties.seller.until_handed_over(*ids)
        stored = parties.seller.rows(Event.STORED)
        assert [row.sequence_number for row in stored] == list(range(1, 11))
        order = events(parties.buyer, None, Event.TRANSMITTING, Event.ACK_RECEIVED)
        assert order == [Event.TRANSMITTING, Event.ACK_RECEIVED] * 10


TIMESTAMP = re.compile(r"\d{8}T\d{6}\.\d{3}Z")


@pytest.mark.statement("S0-43", "S0-47")
async def test_every_routing_header_says_when_it_was_made(tmp_path):
    """In the form of MessageData's timestamp and not before it: message, ack and error."""
    async with with_peers(tmp_path, {}) as (gateway, peer):
        await submit(gateway, peer.party)
        await peer.hear("Normal")
        await peer.send("m-1@a.example.com", 1)
        await peer.hear("Acknowledgement")
        await peer.send("m-9@a.example.com", 9)
        await peer.hear("Error")
        for arrival in peer.arrivals:
            made = arrival.text("RoutingHeader/Timestamp")
            assert TIMESTAMP.fullmatch(made), arrival.kind
            assert made >= arrival.text("Header/MessageData/Timestamp"), arrival.kind


@pytest.mark.statement("S0-87")
async def test_message_ids_are_worldwide_unique(tmp_path):
    """A hundred thousand of two gateways under one name, as after a restart; and on the wire."""
    drawn = (one.draw() for one in (Chance(), Chance()) for _ in range(50_000))
    ids = {new_message_id(0, digits, "seller.example") for digits in drawn}
    assert len(ids) == 100_000
    async with two_parties(tmp_path) as parties:
        first = await parties.submit()
        await parties.buyer.restart()
        second = await parties.submit()
        assert first != second
        await parties.seller.until_handed_over(first, second)


@pytest.mark.statement("S0-35", "S0-88")
@pytest.mark.parametrize(
    ("agreed", "written"),
    [
        ("OnceAndOnlyOnce", "OnceAndOnlyOnce"),
        ("AtMostOnce", "OnceAndOnlyOnce"),
        ("ExactlyOnce", "OnceAndOnlyOnce"),
        ("BestEffort", "BestEffort"),
    ],
)
async def test_the_message_asks_for_reliability_where_that_was_agreed(tmp_path, agreed, written):
    """Degrees that want an acknowledgement are OnceAndOnlyOnce on the wire, the other is not."""
    terms = {"delivery_semantics": agreed, "retries": None, "retry_interval": 60}
    async with with_peers(tmp_path, terms) as (gateway, peer):
        await submit(gateway, peer.party)
        arrival = await peer.hear("Normal")
        assert arrival.text("Header/ReliableMessagingInfo/DeliverySemantics") == written
        is_numbered = arrival.find("RoutingHeader/SequenceNumber") is not None
        assert is_numbered == (written == "OnceAndOnlyOnce")


@pytest.mark.statement("S0-10")
async def test_the_message_alone_asks_for_reliable_handling(tmp_path):
    """Under an agreement of BestEffort a OnceAndOnlyOnce message is acknowledged all the same."""
    terms = {"delivery_semantics": "BestEffort", "retries": None}
    async with with_peers(tmp_path, terms) as (gateway, peer):
        for _ in range(2):
            await peer.send("m-1@a.example.com", 1)
        assert len(bodies(await peer.hear_several("Acknowledgement", 2))) == 1
        await gateway.until_handed_over("m-1@a.example.com")


@pytest.mark.statement("S0-18", "S0-94", "S3-15")
async def test_each_message_keeps_the_terms_of_its_own_partner(tmp_path):
    """Two in flight at once: one given up after three tries, the other still in its first wait."""
    async with with_peers(tmp_path, BRIEF, {}) as (gateway, hasty, patient):
        quick = await submit(gateway, hasty.party)
        slow = await submit(gateway, patient.party)
        await gateway.until_row(Event.EXHAUSTED)
        assert len(gateway.rows(Event.TRANSMITTING, message_id=quick)) == 3
        assert len(gateway.rows(Event.TRANSMITTING, message_id=slow)) == 1
        assert gateway.state_of(slow) == "sending"


@pytest.mark.statement("S0-39", "S0-40", "S0-77", ruling="R-16")
@pytest.mark.parametrize(("drops", "count"), [(False, 3), (True, 1)])
async def test_best_effort_is_delivered_as_often_as_it_comes_unless_agreed(tmp_path, drops, count):
    """Three copies: three deliveries, or one under `drop_duplicates`; never an acknowledgement."""
    async with with_peers(tmp_path, {"drop_duplicates": drops}) as (gateway, peer):
        for _ in range(3):
            reply = await peer.send("m-1@a.example.com", None, semantics="BestEffort")
            assert (reply.status, reply.body) == (204, b"")
        await gateway.until(lambda: len(gateway.inbox_ids()) >= count)
        await gateway.everything_said()
        assert gateway.inbox_ids() == ["m-1@a.example.com"] * count
        assert peer.arrivals == []


@pytest.mark.statement("S0-76", ruling="R-16")
async def test_at_most_once_is_tried_once_and_its_failure_is_told(tmp_path):
    """Nobody answers: one transmission, a notice at once, and the next message goes its way."""
    terms = {"delivery_semantics": "AtMostOnce", "timeout": 1, "retries": 0}
    async with with_peers(tmp_path, terms) as (gateway, peer):
        lost = await submit(gateway, peer.party)
        await peer.hear("Normal")
        await gateway.until(gateway.notices)
        following = await submit(gateway, peer.party)
        assert (await peer.hear("Normal")).message_id == following
        await peer.acknowledge(following)
        await gateway.until_state(following, "acknowledged")
        assert len(gateway.rows(Event.TRANSMITTING, message_id=lost)) == 1


@pytest.mark.statement("S0-77", ruling="R-16")
async def test_best_effort_ends_when_it_is_sent(tmp_path):
    """No acknowledgement is waited for, nothing is sent again, and no failure is noticed."""
    async with two_parties(tmp_path, delivery_semantics="BestEffort", retries=None) as parties:
        message_id = await parties.submit()
        await parties.buyer.until_state(message_id, "sent")
        await parties.seller.until_handed_over(message_id)
        assert parties.seller.rows(Event.ACK_SENT) == []
        assert parties.buyer.notices() == []


@pytest.mark.statement("S0-03", "S0-37", "S0-38", "S3-03", "S3-11")
async def test_a_receiver_that_never_answers_is_reported_by_the_msh_alone(tmp_path):
    """The application submits once; the resends and the report are the gateway's own affair."""
    async with with_peers(tmp_path, BRIEF) as (gateway, peer):
        message_id = await submit(gateway, peer.party)
        await gateway.until_row(Event.EXHAUSTED)
        assert len(peer.heard("Normal")) == 3
        notices = (await gateway.get("/v1/notices"))["notices"]
        assert [notice["message_id"] for notice in notices] == [message_id]
        await gateway.restart()
        again = (await gateway.get("/v1/notices"))["notices"]
        assert again == notices
