"""A side of a pair of real gateways, as a process of a measurement.

The gateways are the product's own parts, joined and started as `onceonly serve` does it, without
the API: the workload submits in the process, as an embedding application would.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.bodies import bodies
from bench.counts import Counts
from bench.side import Cost, Task, main, receive, send, until
from bench.workload import messages_of
from onceonly.gateway.application.submissions import Part, Submission
from onceonly.gateway.config import read_configuration
from onceonly.gateway.interpreter import serve_only
from onceonly.gateway.life import Life
from onceonly.gateway.transports import Listeners
from onceonly.gateway.wiring import Gateway, clock_of, join, open_store

END_S = 1.0


async def run(task: Task) -> None:
    messages = messages_of(task)
    cost = Cost(messages, Counts() if task.get("is_counted") else None)
    async with running_gateway(Path(task["config"])) as gateway:
        serve_only()
        if task["side"] == "receiver":
            await receive(cost, lambda: has_all(gateway, messages))
            return
        documents = bodies()
        parties = [agreement.their_party for agreement in gateway.configuration.agreements]
        writers = parties * task["writers"]
        each = task["per_pair"] // task["writers"]

        async def work() -> None:
            await asyncio.gather(*(submit_all(gateway, to, each, documents) for to in writers))
            await until(lambda: are_acknowledged(gateway, messages))

        await send(cost, work)


@asynccontextmanager
async def running_gateway(path: Path) -> AsyncIterator[Gateway]:
    """The gateway of a configuration file, in this process."""
    configuration = read_configuration(path)
    store = open_store(configuration, clock_of(configuration))
    gateway = join(configuration, store, fail)
    listeners = Listeners()

    async def listen() -> None:
        await listeners.open(
            configuration,
            gateway.receiver.receive,
            gateway.automatic_mail.drop,
            gateway.refusals.note,
        )

    try:
        await Life(gateway).start(listen)
        yield gateway
    finally:
        gateway.desk.drain()
        await listeners.close(0)
        await gateway.tasks.end(END_S)
        await gateway.desk.close()
        await gateway.group.drain()
        store.close()


def are_acknowledged(gateway: Gateway, messages: int) -> bool:
    """Whether so many messages are, and the commit of the last one has returned."""
    found = gateway.store.snapshot().count_by_status().get("acknowledged")
    return found == messages and gateway.group.is_at_rest


def has_all(gateway: Gateway, messages: int) -> bool:
    """Whether so many messages are in the inbox, and the commit of the last one has returned."""
    is_there = gateway.store.snapshot().last_offset() >= messages
    return is_there and gateway.group.is_at_rest


def fail(error: BaseException) -> None:
    raise SystemExit(f"the gateway failed: {error!r}")


async def submit_all(gateway: Gateway, to: str, count: int, documents: Iterator[bytes]) -> None:
    for _ in range(count):
        sink = gateway.spool.open_sink()
        sink.write(next(documents))
        part = Part(sink, "application/xml", "order.xml")
        await gateway.submissions.submit(
            Submission(to, "urn:services:Ordering", "NewOrder", (part,))
        )


async def exchange_all(
    sides: dict[str, Gateway], to: str, count: int, documents: Iterator[bytes], counts: Counts
) -> None:
    """Message after message, each when nothing of the one before is left to do on either side."""
    for _ in range(count):
        await submit_all(sides["sender"], to, 1, documents)
        await counts.rest(*sides.values())


if __name__ == "__main__":
    main(run)
