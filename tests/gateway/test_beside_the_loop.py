"""Calls that read the store wait in threads: whoever lists much keeps nobody else waiting."""

import asyncio
import threading
from typing import Any

import pytest
from asking import report
from calling import received
from peer import PATIENCE_S
from running_gateway import running

from onceonly.api.operations import OPERATIONS, AnyOperation
from onceonly.gateway.api.application import READERS_MAX
from onceonly.message.event import Event

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
ASKED_WITHOUT_THE_STORE = {
    *("/healthz", "/readyz", "/openapi.json"),
    *("/v1/backups", "/v1/backups/{name}", "/v1/keys"),
    *("/v1/folders", "/v1/configuration", "/v1/certificates", "/v1/reports/file"),
}
LISTS = [
    operation
    for operation in OPERATIONS
    if operation.method == "get" and operation.path not in ASKED_WITHOUT_THE_STORE
]


class Gate:
    """Stands before the store's reads: they wait in their threads until it is opened."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self.waiting: asyncio.Queue[None] = asyncio.Queue()

    def open(self) -> None:
        self._opened.set()

    def pass_through(self) -> None:
        assert threading.get_ident() != self._loop_thread, "read on the event loop"
        self._loop.call_soon_threadsafe(self.waiting.put_nowait, None)
        assert self._opened.wait(PATIENCE_S), "nobody opened the gate"


@pytest.fixture
async def gated(tmp_path, peer, monkeypatch):
    """A gateway with a message in its inbox, and the gate before its store."""
    async with running(tmp_path, peer) as alive:
        await received(alive, peer, M, 1)
        await alive.submit(b"x", to=peer, message_id=M)
        await peer.hear("Normal")
        await alive.everything_said()
        gate = Gate()
        snapshot = alive.store.snapshot

        def gated_snapshot() -> Any:
            gate.pass_through()
            return snapshot()

        monkeypatch.setattr(alive.store, "snapshot", gated_snapshot)
        yield alive, gate
        monkeypatch.undo()


def path_of(operation: AnyOperation) -> str:
    path = operation.path.replace("{message_id}", M).replace("{job}", "job-1")
    path = path.replace("{agreement}", "tpa-ab-1")
    path = path.replace("{offset}", "1").replace("{n}", "0").replace("{number}", "1")
    return f"{path}?message_id={M}" if "/items" in path and "/1" not in path else path


@pytest.mark.parametrize("operation", LISTS, ids=lambda one: one.path)
async def test_health_is_told_while_a_call_reads(gated, operation):
    """The read ends only after /healthz was answered; on the loop, neither would ever end."""
    alive, gate = gated
    reading = asyncio.create_task(alive.api.get(path_of(operation)))
    async with asyncio.timeout(PATIENCE_S):
        await gate.waiting.get()
        assert (await alive.call("GET", "/healthz")).status == 200
        assert not reading.done()
        gate.open()
        assert (await reading).status_code in (200, 404)


async def test_only_so_many_read_at_once(gated):
    """Threads are left for what submissions need, however many list."""
    alive, gate = gated
    calls = [alive.api.get("/v1/messages") for _ in range(READERS_MAX + 3)]
    reading = asyncio.gather(*calls)
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(READERS_MAX):
            await gate.waiting.get()
        assert (await alive.call("GET", "/healthz")).status == 200
        assert gate.waiting.empty()
        gate.open()
        assert [answer.status_code for answer in await reading] == [200] * (READERS_MAX + 3)


class MovingSnapshot:
    """The store's reads, of which the first of a message is of the instant before a commit."""

    def __init__(self, snapshot: Any, before: Any) -> None:
        self._snapshot = snapshot
        self._before = [before]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    def find_outbound_view(self, message_id: str) -> Any:
        return self._before.pop() if self._before else self._snapshot.find_outbound_view(message_id)


async def test_a_message_is_shown_at_one_instant(gateway, peer, monkeypatch):
    """A commit may come between two reads: never the old state beside the new recovery."""
    message_id = await gateway.submit(b"x", to=peer)
    await peer.hear("Normal")
    await gateway.until_row(Event.TRANSMITTED)
    before = gateway.store.snapshot().find_outbound_view(message_id)
    await gateway.call("POST", f"/v1/messages/{message_id}/cancel")
    await report(peer, await peer.hear("CancelRequest"))
    await gateway.until_state(message_id, "cancelled")
    snapshot = gateway.store.snapshot
    monkeypatch.setattr(gateway.store, "snapshot", lambda: MovingSnapshot(snapshot(), before))
    shape = await gateway.get(f"/v1/messages/{message_id}")
    assert (shape["state"], shape["recovery"]["phase"]) == ("cancelled", "at-rest")
