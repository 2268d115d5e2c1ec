"""What is left behind of a connection to a broker must not act by itself."""

import asyncio
import gc
import logging
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from onceonly.transport.broker.address import Broker, read_queue_address
from onceonly.transport.broker.consumer import AmqpConsumer
from onceonly.transport.broker.link import LINK_ERRORS, AmqpAccess, AmqpLimits, connect
from onceonly.transport.transport import Answer, Request

PATIENCE_S = 10.0


@contextmanager
def collecting_by_hand() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def leave_a_connection_behind() -> None:
    """One that could not be made, in a cycle, as tracebacks make them."""
    try:
        await connect(Broker("127.0.0.1", 1, "/", is_tls=False), AmqpAccess(), AmqpLimits())
    except LINK_ERRORS as error:
        cycle: list[object] = [error]
        cycle.append(cycle)


def test_a_connection_that_failed_is_collected_in_any_thread(caplog):
    """Whichever thread collects it: no coroutine is made there, and no loop touched."""
    # A record of the log holds the error, its frames, and with them the connection.
    caplog.set_level(logging.CRITICAL, logger="aiormq")

    async def fail_and_collect() -> None:
        await leave_a_connection_behind()
        await asyncio.to_thread(gc.collect)

    with collecting_by_hand(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(fail_and_collect())
    assert [str(warning.message) for warning in said] == []


def test_a_consumer_closes_though_its_cancellation_is_swallowed():
    """A library may answer a cancellation with an error of its own, after which all goes on."""

    async def close_in_a_pause() -> None:
        begun = asyncio.Event()

        async def pause(_: float) -> None:
            is_first = not begun.is_set()
            begun.set()
            with suppress(*[asyncio.CancelledError] if is_first else []):
                await asyncio.Event().wait()

        address = read_queue_address("amqp://127.0.0.1:1/?queue=orders")
        consumer = AmqpConsumer(address, receive_nothing, pause=pause)
        await begun.wait()
        async with asyncio.timeout(PATIENCE_S):
            await consumer.close()

    asyncio.run(close_in_a_pause())


async def receive_nothing(request: Request, pieces: AsyncIterator[bytes]) -> Answer:
    raise AssertionError(request, pieces)
