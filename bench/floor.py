"""The floor: the same bytes over bare HTTP, one group-committed log write per side.

Nothing of onceonly is in here: fixed request bytes, the least parsing that finds where a body
ends, one append-only file and one fdatasync per batch of waiters. What a reliable gateway costs
is what it takes beyond this.

One message is, as in the profile `rm-2000`: POST of the package; the receiver logs it and answers
204; POST of the acknowledgement back; the sender logs it and answers 204; the next message of the
pair begins.
"""

import asyncio
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path

from bench.side import Cost, Task, main, receive, send
from bench.workload import messages_of

PACKAGE_BYTES = 6000
"""A 4 KB body in its rm-2000 package, as measured on the gateway's own encoding."""
ACK_BYTES = 1500

LENGTH = re.compile(rb"Content-Length: (\d+)")
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"


def request_bytes(body: bytes) -> bytes:
    head = f"POST /msh HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


_running: set[asyncio.Task[None]] = set()


def _start(work: Coroutine[None, None, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    _running.add(task)
    task.add_done_callback(_running.discard)


class GroupLog:
    """Appends and syncs: everything that waits shares one fdatasync, run beside the loop."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._is_running = False

    def append(self, line: bytes) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._waiting.append((line, done))
        if not self._is_running:
            self._is_running = True
            loop.call_soon(lambda: _start(self._run()))
        return done

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            os.write(self._file, b"".join(line for line, _ in batch))
            await loop.run_in_executor(None, os.fdatasync, self._file)
            for _, done in batch:
                done.set_result(None)
        self._is_running = False


class Server(asyncio.Protocol):
    """Answers 204 to every whole request once `take` says so."""

    def __init__(self, take: Callable[[bytes], Awaitable[None]]) -> None:
        self._take = take
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = int(LENGTH.search(self._buffer, 0, end)[1])
            whole = end + 4 + length
            if len(self._buffer) < whole:
                return
            body = bytes(self._buffer[end + 4 : whole])
            del self._buffer[:whole]
            _start(self._answer(body))

    async def _answer(self, body: bytes) -> None:
        await self._take(body)
        self._transport.write(NO_CONTENT)


class Connection(asyncio.Protocol):
    """One request at a time on one connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._answered: asyncio.Future[None] | None = None

    def data_received(self, data: bytes) -> None:
        assert data.startswith(b"HTTP/1.1 204")
        self._answered.set_result(None)

    async def post(self, request: bytes) -> None:
        self._answered = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        await self._answered


class Pool:
    """Idle connections to one peer."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: deque[Connection] = deque()

    async def post(self, request: bytes) -> None:
        if self._idle:
            connection = self._idle.pop()
        else:
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(Connection, "127.0.0.1", self._port)
        await connection.post(request)
        self._idle.append(connection)


async def receive_for(port: int, their_port: int, ack: bytes, log: GroupLog) -> asyncio.Server:
    """The floor's receiver: log, answer, post the acknowledgement (first 16 bytes: the number)."""
    pool = Pool(their_port)
    loop = asyncio.get_running_loop()

    async def take(body: bytes) -> None:
        await log.append(body)
        _start(pool.post(request_bytes(body[:16] + ack[16:])))

    return await loop.create_server(lambda: Server(take), "127.0.0.1", port)


async def send_all(
    port: int, their_port: int, package: bytes, pairs: int, per_pair: int, log: GroupLog
) -> None:
    """The floor's sender: `pairs` times stop-and-wait, each message logged once acknowledged."""
    pool = Pool(their_port)
    loop = asyncio.get_running_loop()
    waiting: dict[bytes, asyncio.Future[None]] = {}

    async def take(body: bytes) -> None:
        await log.append(body[:64])
        waiting.pop(body[:16]).set_result(None)

    server = await loop.create_server(lambda: Server(take), "127.0.0.1", port)

    async def run_pair(pair: int) -> None:
        for number in range(per_pair):
            mark = b"%08d%08d" % (pair, number)
            acknowledged = waiting[mark] = loop.create_future()
            posted = loop.create_task(pool.post(request_bytes(mark + package[16:])))
            await acknowledged
            await posted

    await asyncio.gather(*(run_pair(pair) for pair in range(pairs)))
    server.close()


async def run(task: Task) -> None:
    """A side of the floor, as a process of a measurement."""
    cost = Cost(messages_of(task))
    log = GroupLog(Path(task["directory"]) / f"{task['side']}.log")
    if task["side"] == "receiver":
        await receive_for(task["port"], task["their_port"], b"a" * ACK_BYTES, log)
        await receive(cost)
        return
    lanes, per_lane = task["pairs"] * task["writers"], task["per_pair"] // task["writers"]
    package = b"p" * PACKAGE_BYTES

    async def work() -> None:
        await send_all(task["port"], task["their_port"], package, lanes, per_lane, log)

    await send(cost, work)


if __name__ == "__main__":
    main(run)
