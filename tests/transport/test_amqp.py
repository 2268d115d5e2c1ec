"""The binding of method Transport: a real broker, killed where it hurts."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager

import aio_pika
import pytest
from http_peers import CONTENT_TYPE, PATIENCE_S, PiecedBody, WholeBody

from broker import running_broker
from onceonly.message.errors import LocalError
from onceonly.message.word import changed
from onceonly.transport.broker.address import (
    Broker,
    QueueAddress,
    publish_uri,
    read_publish_address,
    read_queue_address,
)
from onceonly.transport.broker.client import AmqpTransport
from onceonly.transport.broker.consumer import AmqpConsumer, consume_amqp
from onceonly.transport.broker.link import AmqpLimits
from onceonly.transport.transport import Answer, Outcome, Outgoing, TransferBroken

pytestmark = pytest.mark.anyio

HASTY = AmqpLimits(
    connect_pauses_s=(0.0,),
    reconnect_pauses_s=(0.05,),
    return_pause_s=0.0,
    confirm_timeout_s=PATIENCE_S,
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def queue(request):
    """A queue of this test's own."""
    return request.node.name.replace("[", "-").replace("]", "")


class Deliveries:
    """A receiver that answers by plan and remembers what came."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.came: asyncio.Queue[bytes] = asyncio.Queue()
        self.requests = []

    async def __call__(self, request, chunks) -> Answer:
        body = b"".join([chunk async for chunk in chunks])
        self.requests.append(request)
        self.came.put_nowait(body)
        return Answer(self.answers.pop(0) if self.answers else 204)

    async def next(self) -> bytes:
        async with asyncio.timeout(PATIENCE_S):
            return await self.came.get()


@asynccontextmanager
async def consuming(broker, queue, receive, limits=HASTY):
    consumer = consume_amqp(broker.uri(f"queue={queue}"), receive, limits=limits)
    async with asyncio.timeout(PATIENCE_S):
        await consumer.consuming.wait()
    try:
        yield consumer
    finally:
        await consumer.close(PATIENCE_S)


@asynccontextmanager
async def publishing(limits=HASTY):
    transport = AmqpTransport(limits=limits)
    try:
        yield transport
    finally:
        await transport.close()


def package(broker, queue, body=b"an order", message_id="m-1") -> Outgoing:
    return Outgoing(broker.uri(f"routing_key={queue}"), CONTENT_TYPE, WholeBody(body), message_id)


async def test_a_confirmed_package_comes_out_as_it_went_in(broker, queue):
    """Bytes, Content-Type and transport are those of the sender; accepted is the confirm."""
    receive = Deliveries()
    async with consuming(broker, queue, receive), publishing() as transport:
        sent = await transport.send(package(broker, queue))
        assert (sent.outcome, sent.bytes_left) == (Outcome.ACCEPTED, True)
        assert await receive.next() == b"an order"
    (request,) = receive.requests
    assert (request.content_type, request.transport) == (CONTENT_TYPE, "amqp")
    assert request.content_length == len(b"an order")


async def test_a_body_from_files_is_sent_whole(broker, queue):
    """A body in pieces is one message of the broker."""
    receive = Deliveries()
    async with consuming(broker, queue, receive), publishing() as transport:
        body = PiecedBody(b"one ", b"two")
        sent = await transport.send(changed(package(broker, queue), body=body))
        assert sent.outcome is Outcome.ACCEPTED
        assert await receive.next() == b"one two"


async def test_what_the_broker_confirmed_survives_its_crash(tmp_path, queue):
    """Kill the broker after the confirm and start it again: the package is there."""
    with running_broker(tmp_path) as broker:
        async with consuming(broker, queue, Deliveries()):
            pass  # Now the queue exists.
        async with publishing() as transport:
            sent = await transport.send(package(broker, queue))
            assert sent.outcome is Outcome.ACCEPTED
        broker.kill()
        broker.start()
        receive = Deliveries()
        async with consuming(broker, queue, receive):
            assert await receive.next() == b"an order"


async def test_what_no_queue_takes_is_refused(broker):
    """The broker returns a mandatory message without a queue; nothing is lost silently."""
    async with publishing() as transport:
        sent = await transport.send(package(broker, "no-such-queue"))
    assert (sent.outcome, sent.detail) == (Outcome.REFUSED, "no queue takes it")


async def test_an_exchange_that_is_not_there_is_refused_and_the_next_package_goes(broker, queue):
    """The broker closes the channel over it; the transport opens another."""
    async with consuming(broker, queue, Deliveries()), publishing() as transport:
        wrong = changed(
            package(broker, queue), endpoint=broker.uri(f"exchange=none&routing_key={queue}")
        )
        refused = await transport.send(wrong)
        assert (refused.outcome, refused.bytes_left) == (Outcome.REFUSED, False)
        sent = await transport.send(package(broker, queue))
        assert sent.outcome is Outcome.ACCEPTED


async def test_what_the_broker_refuses_is_refused(broker, queue):
    """A queue that is full by its own policy makes the broker say no (basic.nack)."""
    full = {"x-max-length": 1, "x-overflow": "reject-publish"}
    connection = await aio_pika.connect(port=broker.port)
    channel = await connection.channel()
    await channel.declare_queue(queue, arguments=full)
    async with publishing() as transport:
        sent = [await transport.send(package(broker, queue)) for _ in range(2)]
    await connection.close()
    assert [(one.outcome, one.bytes_left) for one in sent] == [
        (Outcome.ACCEPTED, True),
        (Outcome.REFUSED, True),
    ]


async def test_without_a_broker_nothing_left(broker, queue):
    """After its own attempts to connect the transport says for certain that no byte left."""
    async with publishing() as transport:
        endpoint = f"amqp://127.0.0.1:1/?routing_key={queue}"
        sent = await transport.send(changed(package(broker, queue), endpoint=endpoint))
    assert (sent.outcome, sent.bytes_left) == (Outcome.REFUSED, False)


async def test_a_package_past_the_limit_is_refused_before_it_leaves(broker, queue):
    """A broker would close the channel over it, and everything else with it."""
    async with publishing(AmqpLimits(body_bytes_max=3)) as transport:
        sent = await transport.send(package(broker, queue))
    assert (sent.outcome, sent.bytes_left) == (Outcome.REFUSED, False)


async def test_a_lost_confirm_leaves_the_outcome_unknown(broker, queue):
    """The package is in the queue, but the sender cannot know: unknown, never refused."""
    receive = Deliveries()
    async with (
        consuming(broker, queue, receive),
        publishing() as transport,
        deaf_line(broker.port) as line,
    ):
        endpoint = f"amqp://127.0.0.1:{line.port}/?routing_key={queue}"
        first = await transport.send(changed(package(broker, queue), endpoint=endpoint))
        assert first.outcome is Outcome.ACCEPTED
        assert await receive.next() == b"an order"
        line.is_deaf = True
        sending = asyncio.create_task(
            transport.send(changed(package(broker, queue, b"another"), endpoint=endpoint))
        )
        assert await receive.next() == b"another"
        line.cut()
        sent = await sending
        # A copy that went out behind it would come before this one.
        await transport.send(package(broker, queue, b"a third"))
        assert await receive.next() == b"a third"
    assert (sent.outcome, sent.bytes_left) == (Outcome.UNKNOWN, True)


class Line:
    """A relayed connection that can stop carrying what the broker says."""

    def __init__(self) -> None:
        self.is_deaf = False
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def carry(self, reader, writer, broker_port) -> None:
        from_broker, to_broker = await asyncio.open_connection("127.0.0.1", broker_port)
        self._writers += [writer, to_broker]
        await asyncio.gather(
            self._pump(reader, to_broker, is_ours=True),
            self._pump(from_broker, writer, is_ours=False),
            return_exceptions=True,
        )

    async def _pump(self, reader, writer, *, is_ours) -> None:
        while data := await reader.read(65_536):
            if is_ours or not self.is_deaf:
                writer.write(data)
                await writer.drain()

    def cut(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def deaf_line(broker_port):
    line = Line()
    server = await asyncio.start_server(
        lambda reader, writer: line.carry(reader, writer, broker_port), "127.0.0.1", 0
    )
    line.port = server.sockets[0].getsockname()[1]
    try:
        yield line
    finally:
        line.cut()
        server.close()


async def test_a_delivery_that_cannot_be_stored_now_comes_again(broker, queue):
    """A full store answers 507: the delivery goes back to the broker and comes again."""
    receive = Deliveries(507, 204)
    async with consuming(broker, queue, receive), publishing() as transport:
        await transport.send(package(broker, queue))
        assert await receive.next() == b"an order"
        assert await receive.next() == b"an order"


async def test_a_delivery_that_can_never_be_stored_is_rejected_once(broker, queue):
    """It is not delivered again; the next one comes."""
    receive = Deliveries(400, 204)
    async with consuming(broker, queue, receive), publishing() as transport:
        await transport.send(package(broker, queue, b"rubbish"))
        await transport.send(package(broker, queue, b"an order"))
        assert sorted([await receive.next(), await receive.next()]) == [b"an order", b"rubbish"]
    async with consuming(broker, queue, receive), publishing() as transport:
        await transport.send(package(broker, queue, b"the last"))
        assert await receive.next() == b"the last"


async def test_what_was_not_acknowledged_is_delivered_again(broker, queue):
    """A consumer that is cut between its commit and the broker's ack gets the delivery again."""
    came = asyncio.Event()

    async def never_returns(request, chunks) -> Answer:
        came.set()
        return await asyncio.get_running_loop().create_future()

    consumer = consume_amqp(broker.uri(f"queue={queue}"), never_returns, limits=HASTY)
    async with publishing() as transport:
        await asyncio.wait_for(consumer.consuming.wait(), PATIENCE_S)
        await transport.send(package(broker, queue))
        await asyncio.wait_for(came.wait(), PATIENCE_S)
    await consumer.close(0.01)
    receive = Deliveries()
    async with consuming(broker, queue, receive):
        assert await receive.next() == b"an order"


async def test_a_broker_that_is_silent_holds_up_no_close(broker, queue):
    """A process that was stopped keeps its connections, and answers nothing on them."""
    limits = changed(HASTY, close_timeout_s=0.05)
    receive = Deliveries()
    consumer = consume_amqp(broker.uri(f"queue={queue}"), receive, limits=limits)
    async with publishing(limits) as transport:
        await asyncio.wait_for(consumer.consuming.wait(), PATIENCE_S)
        await transport.send(package(broker, queue))
        await receive.next()
        os.killpg(broker.session, signal.SIGSTOP)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await consumer.close(0.0)
                await transport.close()
        finally:
            os.killpg(broker.session, signal.SIGCONT)


async def test_a_delivery_whose_connection_was_lost_is_left_to_the_next_one(broker, queue):
    """It cannot be acknowledged any more, comes again, and the consumer goes on."""
    came: asyncio.Queue[bytes] = asyncio.Queue()
    is_cut, came_again = asyncio.Event(), asyncio.Event()

    async with deaf_line(broker.port) as line:

        async def receive(request, chunks) -> Answer:
            came.put_nowait(b"".join([chunk async for chunk in chunks]))
            if is_cut.is_set():
                came_again.set()
            else:
                is_cut.set()
                line.cut()
                await came_again.wait()
                await consumer.consuming.wait()
            return Answer(204)

        uri = f"amqp://127.0.0.1:{line.port}/?queue={queue}"
        consumer = consume_amqp(uri, receive, limits=HASTY)
        async with publishing() as transport, asyncio.timeout(PATIENCE_S):
            await consumer.consuming.wait()
            await transport.send(package(broker, queue))
            await came_again.wait()
            await transport.send(package(broker, queue, b"another"))
            assert [await came.get() for _ in range(3)] == [b"an order", b"an order", b"another"]
            await consumer.consuming.wait()
        await consumer.close(PATIENCE_S)


async def test_a_consumer_outlives_its_broker(tmp_path, queue):
    """It connects again when the broker is back, and takes what was left in the queue."""
    with running_broker(tmp_path) as broker:
        receive = Deliveries()
        async with consuming(broker, queue, receive), publishing() as transport:
            await transport.send(package(broker, queue))
            assert await receive.next() == b"an order"
            await asyncio.to_thread(broker.kill)
            await asyncio.to_thread(broker.start)
            sent = await transport.send(package(broker, queue, b"after the crash"))
            while sent.outcome is not Outcome.ACCEPTED:
                sent = await transport.send(package(broker, queue, b"after the crash"))
            body = await receive.next()
            while body != b"after the crash":
                body = await receive.next()


async def test_a_delivery_past_the_limit_breaks_its_transfer(broker, queue):
    """The receiver gets TransferBroken in place of a body that it did not agree to hold."""
    broken = asyncio.Event()

    async def receive(request, chunks) -> Answer:
        with pytest.raises(TransferBroken):
            async for _ in chunks:
                pass
        broken.set()
        return Answer(400, "TransferBroken")

    limits = AmqpLimits(body_bytes_max=3, reconnect_pauses_s=(0.05,))
    async with consuming(broker, queue, receive, limits), publishing() as transport:
        await transport.send(package(broker, queue))
        await asyncio.wait_for(broken.wait(), PATIENCE_S)


async def test_a_reception_that_fails_is_not_lost_in_a_task(broker, queue):
    """The loop's exception handler gets the error, so that the gateway can stop."""
    failures: asyncio.Queue[dict] = asyncio.Queue()
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: failures.put_nowait(context)
    )

    async def receive(request, chunks) -> Answer:
        raise ZeroDivisionError

    consumer = AmqpConsumer(read_queue_address(broker.uri(f"queue={queue}")), receive, limits=HASTY)
    async with publishing() as transport:
        await asyncio.wait_for(consumer.consuming.wait(), PATIENCE_S)
        await transport.send(package(broker, queue))
        context = await asyncio.wait_for(failures.get(), PATIENCE_S)
    asyncio.get_running_loop().set_exception_handler(None)
    await consumer.close(0.0)
    assert isinstance(context["exception"], ZeroDivisionError)


@pytest.mark.parametrize(
    "uri",
    [
        "http://broker/?routing_key=k",
        "amqp:///?routing_key=k",
        "amqp://broker:0/?routing_key=k",
        "amqp://broker:x/?routing_key=k",
        "amqp://user:secret@broker/?routing_key=k",
        "amqp://broker/?routing_key=k#f",
        "amqp://broker/?routing_key=k&routing_key=l",
        "amqp://broker/?routing_key=k&mandatory=no",
        "amqp://broker/?exchange=e",
        "amqp://broker/?",
    ],
)
def test_an_address_that_is_none_is_refused_by_name(uri):
    """Credentials above all: an endpoint stands in the journal."""
    with pytest.raises(LocalError) as refused:
        read_publish_address(uri)
    assert refused.value.name == "UnusableEndpoint"


def test_an_address_names_broker_vhost_and_key():
    """Ports have AMQP's defaults; a vhost is percent-encoded."""
    address = read_publish_address("amqps://broker/trade%2Fa?exchange=e&routing_key=k")
    assert address.broker == Broker("broker", 5671, "trade/a", True)
    assert (address.exchange, address.routing_key) == ("e", "k")
    assert read_queue_address("amqp://broker?queue=q") == QueueAddress(
        Broker("broker", 5672, "/", False), "q"
    )
    with pytest.raises(LocalError):
        read_queue_address("amqp://broker/?queue=")


def test_a_queue_is_an_endpoint_by_the_default_exchange():
    """What a partner without an exchange of its own writes to reach it."""
    uri = publish_uri("amqp://broker:5672/trade%2Fa?queue=seller")
    assert uri == "amqp://broker:5672/trade%2Fa?routing_key=seller"
    assert read_publish_address(uri).broker == Broker("broker", 5672, "trade/a", False)
    with pytest.raises(LocalError):
        publish_uri("amqp://broker/?routing_key=seller")
