"""What is left behind of a connection to a broker must not act by itself."""

import asyncio
import gc
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from onceonly.transport.broker.address import Broker
from onceonly.transport.broker.link import LINK_ERRORS, AmqpAccess, AmqpLimits, connect


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
