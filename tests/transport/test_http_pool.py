"""The pool's accounts: whatever is granted in the moment of giving up goes to the next one."""

import asyncio

import pytest
from http_peers import PATIENCE_S, Inbox, WholeBody, endpoint, post

from onceonly.transport.http.limits import HttpClientLimits
from onceonly.transport.http.pool import ConnectionPool, Host, NotConnectedError

pytestmark = pytest.mark.anyio

LIMITS = HttpClientLimits(connections_per_host_max=1)
BODY = WholeBody(b"a message")
HEAD = post(BODY.content).removesuffix(BODY.content)


async def turn() -> None:
    await asyncio.sleep(0)


async def test_a_connection_granted_to_a_cancelled_waiter_is_not_lost():
    """The waiter is cancelled after the grant and before it wakes up."""
    async with endpoint(Inbox()) as server:
        pool = ConnectionPool(LIMITS, None)
        host = Host("127.0.0.1", server.port, is_tls=False)
        connection, _ = await pool.get_connection(host)
        waiting = asyncio.create_task(pool.get_connection(host))
        await turn()
        await connection.exchange(HEAD, BODY)
        waiting.cancel()
        async with asyncio.timeout(PATIENCE_S):
            again, is_used = await pool.get_connection(host)
        assert (again, is_used) == (connection, True)
        assert waiting.cancelled()
        pool.close()


async def test_a_slot_granted_to_a_cancelled_waiter_is_not_lost():
    """The connection died, its slot went to a waiter, and the waiter went away too."""
    async with endpoint(Inbox()) as server:
        pool = ConnectionPool(LIMITS, None)
        host = Host("127.0.0.1", server.port, is_tls=False)
        for turns in range(6):
            connection, _ = await pool.get_connection(host)
            waiting = asyncio.create_task(pool.get_connection(host))
            await turn()
            connection.abort()
            for _ in range(turns):
                await turn()
            waiting.cancel()
            async with asyncio.timeout(PATIENCE_S):
                await asyncio.wait([waiting])
                if not waiting.cancelled():
                    waiting.result()[0].abort()
                fresh, is_used = await pool.get_connection(host)
            assert not is_used
            fresh.abort()
        pool.close()


async def test_a_closed_pool_has_no_connections():
    """Not for those who come later either."""
    pool = ConnectionPool(LIMITS, None)
    pool.close()
    with pytest.raises(NotConnectedError, match="transport closed"):
        await pool.get_connection(Host("127.0.0.1", 1, is_tls=False))


async def test_a_connection_that_ended_at_once_frees_its_slot():
    """A peer that accepts and hangs up does not use the pool up."""
    limits = HttpClientLimits(connections_per_host_max=1, wait_s=0.2)
    async with endpoint(Inbox()) as server:
        pool = ConnectionPool(limits, None)
        host = Host("127.0.0.1", server.port, is_tls=False)
        for _ in range(5):
            connection, _ = await pool.get_connection(host)
            connection.close()
        pool.close()
