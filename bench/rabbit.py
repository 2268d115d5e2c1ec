"""The peer: RabbitMQ's quorum queue, with publisher confirms and manual acknowledgements.

A message is done once its publisher has the confirm and its consumer has it; the next one of a
publisher goes after the confirm.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage

from bench.bodies import bodies
from bench.side import Cost, Task, main, receive, send
from bench.workload import messages_of

PREFETCH = 256
QUORUM = {"x-queue-type": "quorum"}


async def run(task: Task) -> None:
    messages = messages_of(task)
    cost = Cost(messages)
    async with connected(task["port"]) as channel:
        if task["side"] == "receiver":
            taken = await consume(channel, task["queue"])
            await receive(cost, lambda: taken.count >= messages)
            return
        documents, each = bodies(), task["per_pair"] // task["writers"]

        async def work() -> None:
            writers = range(task["writers"])
            await asyncio.gather(
                *(publish_all(channel, task["queue"], each, documents) for _ in writers)
            )

        await send(cost, work)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[AbstractChannel]:
    async with await aio_pika.connect(f"amqp://127.0.0.1:{port}/") as connection:
        yield await connection.channel(publisher_confirms=True)


class Taken:
    """How many messages a consumer has."""

    count = 0


async def consume(channel: AbstractChannel, name: str) -> Taken:
    """Take and acknowledge whatever comes into the queue, which is made here."""
    taken = Taken()
    await channel.set_qos(prefetch_count=PREFETCH)
    queue = await channel.declare_queue(name, durable=True, arguments=QUORUM)

    async def take(message: AbstractIncomingMessage) -> None:
        await message.ack()
        taken.count += 1

    await queue.consume(take)
    return taken


async def publish_all(
    channel: AbstractChannel, name: str, count: int, documents: Iterator[bytes]
) -> None:
    for _ in range(count):
        message = aio_pika.Message(next(documents), delivery_mode=2)
        confirm = await channel.default_exchange.publish(message, routing_key=name)
        assert confirm is not None


if __name__ == "__main__":
    main(run)
