"""Method Transport between two gateways: a real RabbitMQ keeps what it confirmed (S1-11, S1-12)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import aio_pika
import pytest
from peer import PATIENCE_S
from running_gateway import CLOCK_RATE, RunningGateway, form

from broker import Broker, running_broker
from onceonly.gateway.config import read_configuration
from onceonly.message.event import Event
from ports import free_port

pytestmark = pytest.mark.anyio

BUYER, SELLER = "urn:duns:111111111", "urn:duns:222222222"
QUEUES = {BUYER: "buyer", SELLER: "seller"}
ORDER = b"<Order number='1'/>"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


def configuration(directory, party, broker, *, names_itself: bool = True) -> RunningGateway:
    """A gateway whose only way to its partner is the broker."""
    partner = BUYER if party == SELLER else SELLER
    name = directory.name.replace("/", "-")
    tables = {
        "[gateway]": {
            "party": [party],
            "listen": f"http://127.0.0.1:{free_port()}/msh",
            "api": f"http://127.0.0.1:{free_port()}",
            "store": f"{QUEUES[party]}.db",
        },
        "[amqp]": {"listen": broker.uri(f"queue={name}-{QUEUES[party]}")},
        "[[agreement]]": {
            "id": "cpa-ab-1",
            "profile": "rm-2001",
            "with": [partner],
            "send_to": broker.uri(f"routing_key={name}-{QUEUES[partner]}"),
            "reliable_messaging_method": "Transport",
            "retry_interval": 5,
        },
        "[drill]": {"clock_rate": CLOCK_RATE},
    }
    if names_itself:
        tables["[gateway]"]["uri"] = broker.uri(f"routing_key={name}-{QUEUES[party]}")
    path = directory / f"{QUEUES[party]}.toml"
    path.write_text(
        "\n".join(
            "\n".join([heading, *(f"{key} = {json.dumps(value)}" for key, value in keys.items())])
            for heading, keys in tables.items()
        ),
        "utf-8",
    )
    return RunningGateway(read_configuration(path))


class Partners(NamedTuple):
    """Two gateways and the broker between them."""

    buyer: RunningGateway
    seller: RunningGateway
    broker: Broker

    async def submit(self) -> str:
        message = {"to": SELLER, "service": "Ordering", "action": "NewOrder"}
        answer = await self.buyer.call("POST", "/v1/messages", files=form(message, ORDER))
        assert answer.status == 201, answer
        return answer.json["message_id"]


@asynccontextmanager
async def partners(directory, broker, *, names_itself: bool = True) -> AsyncIterator[Partners]:
    both = Partners(
        configuration(directory, BUYER, broker, names_itself=names_itself),
        configuration(directory, SELLER, broker, names_itself=names_itself),
        broker,
    )
    async with await aio_pika.connect(port=broker.port) as connection:
        channel = await connection.channel()
        for one in (both.buyer, both.seller):
            queue = one.configuration.amqp.listen.rpartition("=")[2]
            await channel.declare_queue(queue, durable=True)
    await both.seller.start()
    await both.buyer.start()
    try:
        yield both
    finally:
        await both.buyer.stop(0.0)
        await both.seller.stop(0.0)


@pytest.mark.statement("S1-12")
@pytest.mark.statement("S1-22")
async def test_the_broker_confirms_and_no_acknowledgement_of_ours_is_sent(tmp_path, broker):
    """Sent is final at the sender, the document is handed over once, and no signal travels."""
    async with partners(tmp_path, broker) as both:
        message_id = await both.submit()
        await both.seller.until_handed_over(message_id)
        await both.buyer.until_state(message_id, "sent")
        await both.buyer.everything_said()
        await both.seller.everything_said()
        assert both.buyer.rows(Event.ACK_RECEIVED, Event.ORPHAN_ACK_RECEIVED) == []
        assert both.seller.rows(Event.ACK_SENT) == []
        (row,) = both.buyer.rows(Event.TRANSMITTED)
        assert (row.transport, row.outcome) == ("amqp", "accepted")


async def test_a_queue_needs_no_other_name(tmp_path, broker):
    """Its own address is ours (S0-45): a message refused for its ReceiverURI would be lost, since
    the sender is done with the broker's confirm."""
    async with partners(tmp_path, broker, names_itself=False) as both:
        message_id = await both.submit()
        await both.seller.until_handed_over(message_id)


async def test_every_message_of_many_arrives_once(tmp_path, broker):
    """A window of messages at a time, each handed over exactly once."""
    async with partners(tmp_path, broker) as both:
        sent = {await both.submit() for _ in range(40)}
        await both.seller.until(lambda: len(both.seller.inbox_ids()) >= len(sent))
        assert sorted(both.seller.inbox_ids()) == sorted(sent)


@pytest.mark.statement("S1-12")
async def test_without_a_broker_the_message_waits_and_is_not_counted_as_retried(tmp_path):
    """The binding publishes the stored bytes again, the same attempt, until the confirm."""
    with running_broker(tmp_path) as broker:
        async with partners(tmp_path, broker) as both:
            first = await both.submit()
            await both.seller.until_handed_over(first)
            await asyncio.to_thread(broker.kill)
            second = await both.submit()
            await both.buyer.until(
                lambda: any(
                    row.outcome != "accepted"
                    for row in both.buyer.rows(Event.TRANSMITTED, message_id=second)
                )
            )
            assert both.buyer.notices() == []
            await asyncio.to_thread(broker.start)
            await both.seller.until_handed_over(first, second)
            await both.buyer.until_state(second, "sent")
            attempts = {row.attempt for row in both.buyer.rows(message_id=second) if row.attempt}
            assert attempts == {1}


@pytest.mark.statement("S1-26", ruling="R-01")
async def test_a_delivery_that_comes_twice_is_handed_over_once(tmp_path, broker):
    """As when the receiver dies after its commit and before the broker hears of it."""
    async with partners(tmp_path, broker) as both:
        message_id = await both.submit()
        await both.seller.until_handed_over(message_id)
        package = both.buyer.store.snapshot().get_package(message_id)
        body = ORDER.join(package.segments)
        again = aio_pika.Message(body, headers={"Content-Type": package.content_type})
        await publish(both, again)
        await both.seller.until_row(Event.DUPLICATE_ELIMINATED)
        assert both.seller.inbox_ids() == [message_id]


async def test_a_full_store_gives_the_delivery_back_to_the_broker(tmp_path, broker):
    """R-28: nothing is stored, nothing lost; it comes again when there is space."""
    async with partners(tmp_path, broker) as both:
        both.seller.store.is_full = True
        message_id = await both.submit()
        async with asyncio.timeout(PATIENCE_S):
            while both.seller.store.refusals == 0:
                await both.seller.store.next_commit()
        both.seller.store.is_full = False
        await both.seller.until_handed_over(message_id)


async def test_a_package_that_is_none_is_rejected_with_a_row(tmp_path, broker):
    """It does not come again, and the next message passes."""
    async with partners(tmp_path, broker) as both:
        await publish(both, aio_pika.Message(b"rubbish", content_type="text/plain"))
        row = await both.seller.until_row(Event.REJECTED)
        assert row.error_code == "NotSupported"
        message_id = await both.submit()
        await both.seller.until_handed_over(message_id)
        assert len(both.seller.rows(Event.REJECTED)) == 1


async def publish(both, message) -> None:
    """Put a message into the seller's queue, past any gateway."""
    async with await aio_pika.connect(port=both.broker.port) as connection:
        channel = await connection.channel()
        queue = both.seller.configuration.amqp.listen.rpartition("=")[2]
        await channel.default_exchange.publish(message, queue)
