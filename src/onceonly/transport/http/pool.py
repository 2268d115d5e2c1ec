"""Connections kept alive between exchanges, bounded for each host and all together.

Each host has its own bound and its own queue of waiters, so a slow host, or retries to one partner,
never delay the others.
"""

import asyncio
import socket
import ssl
from collections import deque
from math import inf

from onceonly.message.word import Word
from onceonly.transport.http.exchange import ClientConnection
from onceonly.transport.http.limits import CONNECT_TRIES, HttpClientLimits
from onceonly.transport.http.watch import Watch
from onceonly.transport.tls_words import tls_words


class Host(Word):
    """Where connections go."""

    name: str
    port: int
    is_tls: bool


class NotConnectedError(Exception):
    """No connection is available; certainly no byte left. The text is short and stable."""


_Waiter = tuple["asyncio.Future[ClientConnection | None]", float]
"""Who waits, and until when by the clock of the loop."""


class _Lane:
    """The connections to one host. `slots` counts those being opened as well.

    A waiter gets a free connection, or None: a slot, in which it opens a connection of its own.
    All wait equally long, so the first one's time is up first.
    """

    def __init__(self) -> None:
        self.idle: list[ClientConnection] = []
        self.slots = 0
        self.waiters: deque[_Waiter] = deque()

    def grant(self, granted: ClientConnection | None) -> bool:
        """Give it to the longest waiter; False if nobody waits."""
        while self.waiters:
            waiter, _ = self.waiters.popleft()
            if not waiter.done():
                waiter.set_result(granted)
                return True
        return False

    def refuse(self, reason: str, *, until: float = inf) -> None:
        """Refuse all whose time is up at that time."""
        while self.waiters and self.waiters[0][1] <= until:
            waiter, _ = self.waiters.popleft()
            if not waiter.done():
                waiter.set_exception(NotConnectedError(reason))


class ConnectionPool:
    """Hands out one connection per exchange."""

    def __init__(self, limits: HttpClientLimits, tls: ssl.SSLContext | None) -> None:
        self._limits = limits
        self._tls = tls
        self._outdated: set[ClientConnection] = set()
        """Opened under TLS settings that were replaced: they end with their exchange."""
        self._lanes: dict[Host, _Lane] = {}
        self._homes: dict[ClientConnection, Host] = {}
        self._slots = 0
        self._waiter_count = 0
        self._waiting: asyncio.TimerHandle | None = None
        """For whoever waits longest: a timer for each would cost more than the waiting."""
        self._is_closed = False
        self._watch = Watch(
            limits.idle_timeout_s,
            limits.write_timeout_s,
            limits.response_timeout_s,
            limits.total_s,
        )

    async def get_connection(
        self, host: Host, *, is_fresh: bool = False
    ) -> tuple[ClientConnection, bool]:
        """A connection for one exchange, and whether it has been used before.

        With `is_fresh` it has not: it takes the place of a kept one where there is one (R-38).
        Raises NotConnectedError.
        """
        while not self._is_closed:
            lane = self._lanes.get(host)
            if lane is None:
                lane = self._lanes[host] = _Lane()
            kept = self._take_kept(lane)
            if kept is None and self._has_room(lane):
                lane.slots += 1
                self._slots += 1
                return await self._open_in_slot(host), False
            if kept is None:
                kept = await self._wait(host, lane)
                if kept is None:
                    return await self._open_in_slot(host), False
                if not is_fresh and not kept.is_fit:
                    kept.close()
                    continue
            if not is_fresh:
                return kept, True
            if self._retire(kept):
                return await self._open_in_slot(host), False
            kept.close()
        raise NotConnectedError("transport closed")

    def _take_kept(self, lane: _Lane) -> ClientConnection | None:
        while lane.idle:
            connection = lane.idle.pop()
            if connection.is_fit:
                return connection
            connection.close()
        return None

    def _retire(self, connection: ClientConnection) -> bool:
        """Close it and keep its slot for the caller; False if it is lost, and the slot free."""
        if self._homes.pop(connection, None) is None:
            return False
        self._outdated.discard(connection)
        self._watch.discard(connection)
        connection.close()
        return True

    def drop_idle(self, host: Host) -> None:
        """One kept connection was dead; the others to this host may be dead too, so close them."""
        lane = self._lanes.get(host)
        for connection in lane.idle if lane else ():
            connection.close()

    def renew(self, tls: ssl.SSLContext | None) -> None:
        """Open connections under `tls` from now on; what is under way ends under what it had."""
        self._tls = tls
        under_tls = [one for one, host in self._homes.items() if host.is_tls]
        self._outdated.update(under_tls)
        for lane in self._lanes.values():
            for connection in tuple(lane.idle):
                if connection in self._outdated:
                    connection.close()

    def close(self) -> None:
        """Close everything; those who wait get NotConnectedError."""
        self._is_closed = True
        if self._waiting is not None:
            self._waiting.cancel()
        for connection in tuple(self._homes):
            connection.abort()
        for lane in self._lanes.values():
            lane.refuse("transport closed")

    async def _open_in_slot(self, host: Host) -> ClientConnection:
        """Open a connection in a slot that the caller holds; if that fails, free the slot."""
        is_open, tls = False, self._tls
        try:
            connection = await self._connect(host)
            is_open = connection.is_open and not self._is_closed
            if not is_open:
                connection.abort()
                raise NotConnectedError("connection closed at once")
            self._homes[connection] = host
            if host.is_tls and tls is not self._tls:
                self._outdated.add(connection)
            self._watch.add(connection)
            return connection
        finally:
            if not is_open:
                self._free_slot(host)

    async def _connect(self, host: Host) -> ClientConnection:
        tries_left = CONNECT_TRIES
        while True:
            tries_left -= 1
            try:
                async with asyncio.timeout(self._limits.connect_timeout_s):
                    return await self._connect_once(host)
            except TimeoutError:
                raise NotConnectedError("connect timeout") from None
            except ssl.SSLError as error:
                raise NotConnectedError(tls_words(error)) from None
            except socket.gaierror:
                raise NotConnectedError("name not resolved") from None
            except ConnectionRefusedError:
                if not tries_left:
                    raise NotConnectedError("connection refused") from None
            except OSError:
                if not tries_left:
                    raise NotConnectedError("no connection") from None
            await asyncio.sleep(self._limits.connect_pause_s)

    async def _connect_once(self, host: Host) -> ClientConnection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: ClientConnection(self._limits, became_free=self._became_free, lost=self._lost),
            host.name,
            host.port,
            ssl=(self._tls or True) if host.is_tls else None,
        )
        return connection

    def _has_room(self, lane: _Lane) -> bool:
        if lane.slots >= self._limits.connections_per_host_max:
            return False
        if self._slots < self._limits.connections_max:
            return True
        # All slots are taken: when an idle connection to another host closes, a waiter gets its
        # slot.
        for other in self._lanes.values():
            if other.idle:
                other.idle.pop(0).close()
                break
        return False

    async def _wait(self, host: Host, lane: _Lane) -> ClientConnection | None:
        if self._waiter_count >= self._limits.waiters_max:
            raise NotConnectedError("too many wait for a connection")
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[ClientConnection | None] = loop.create_future()
        until = loop.time() + self._limits.wait_s
        lane.waiters.append((waiter, until))
        if self._waiting is None:
            self._waiting = loop.call_at(until, self._end_waiting, loop)
        self._waiter_count += 1
        is_granted = False
        try:
            granted = await waiter
            is_granted = True
        finally:
            self._waiter_count -= 1
            if not is_granted:
                self._give_up_waiting(host, lane, waiter)
        return granted

    def _end_waiting(self, loop: asyncio.AbstractEventLoop) -> None:
        """Refuse those whose time is up, and look again when that of the next one is."""
        self._waiting = None
        now = loop.time()
        for lane in self._lanes.values():
            lane.refuse("no free connection", until=now)
        nexts = [lane.waiters[0][1] for lane in self._lanes.values() if lane.waiters]
        if nexts:
            self._waiting = loop.call_at(min(nexts), self._end_waiting, loop)

    def _give_up_waiting(
        self, host: Host, lane: _Lane, waiter: asyncio.Future[ClientConnection | None]
    ) -> None:
        for waiting in lane.waiters:
            if waiting[0] is waiter:
                lane.waiters.remove(waiting)
                break
        if waiter.cancelled() or not waiter.done() or waiter.exception() is not None:
            return
        # Granted at the moment of giving up: pass it on to the next waiter.
        granted = waiter.result()
        if granted is not None:
            self._became_free(granted)
        else:
            self._free_slot(host)

    def _became_free(self, connection: ClientConnection) -> None:
        if connection not in self._homes or connection in self._outdated:
            connection.close()
            return
        lane = self._lanes[self._homes[connection]]
        if not lane.grant(connection):
            lane.idle.append(connection)

    def _lost(self, connection: ClientConnection) -> None:
        host = self._homes.pop(connection, None)
        self._outdated.discard(connection)
        if host is None:
            return
        self._watch.discard(connection)
        lane = self._lanes[host]
        if connection in lane.idle:
            lane.idle.remove(connection)
        self._free_slot(host)

    def _free_slot(self, host: Host) -> None:
        lane = self._lanes[host]
        if lane.grant(None):
            return
        lane.slots -= 1
        self._slots -= 1
        if not lane.slots:
            del self._lanes[host]
        for other in self._lanes.values():
            if other.slots < self._limits.connections_per_host_max and other.grant(None):
                other.slots += 1
                self._slots += 1
                return
