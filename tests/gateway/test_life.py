"""What a gateway does at its start, in which order, and while it runs with something in the way."""

import asyncio

import pytest
from peer import Manners
from running_gateway import BRIEF, RunningGateway, running, write_configuration
from structlog.testing import capture_logs

from onceonly.gateway.config import read_configuration
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreFailed

pytestmark = pytest.mark.anyio


class Watched(RunningGateway):
    """A gateway that notes what it had done by the time it listens."""

    async def listen(self) -> None:
        await self.everything_said()
        self.done_before = [row.event for row in self.rows()]
        self.was_ready = self.parts.operations.is_ready
        await super().listen()


@pytest.fixture
async def watched(tmp_path, peer):
    gateway = Watched(read_configuration(write_configuration(tmp_path, [peer])))
    peer.gateway_uri = gateway.uri
    await gateway.start()
    yield gateway
    await gateway.stop(0.0)


async def one_round(gateway: RunningGateway) -> list[str]:
    """Sweep, publish and purge once; what the log had to say."""
    with capture_logs() as said:
        await gateway.live_a_round(publish_interval_s=0, purge_interval_s=0)
    return [line["event"] for line in said]


async def test_a_start_is_the_first_thing_in_the_journal(gateway):
    """And that its times and faults are not real is the second."""
    assert [row.event for row in gateway.rows()] == [Event.STARTED, Event.DRILL]


async def test_a_start_gives_what_is_owed_listens_and_only_then_sends(watched, peer):
    """What was stored goes to the application before the first package, what waits out after it."""
    peer.answer(Manners.SILENCE)
    await peer.send("m-1@a.example.com", 1)
    await peer.hear("Acknowledgement")
    await watched.submit(b"<Order/>", to=peer)
    await peer.hear("Normal")
    assert watched.inbox_ids() == []
    await watched.restart()
    assert watched.done_before.count(Event.STARTED) == 2
    assert watched.done_before.count(Event.HANDED_OVER) == 1
    assert watched.done_before.count(Event.TRANSMITTING) == 1
    assert not watched.was_ready
    assert (await watched.call("GET", "/readyz")).status == 200
    await watched.until_row(Event.TRANSMITTING, 2)


async def test_what_is_overdue_ends_before_a_gateway_is_ready(tmp_path, peer):
    """Its time passed while the gateway was stopped; nothing of its pair moves by itself."""
    terms = {**BRIEF, "retries": 0, "time_to_live": "PT10M"}
    drill = {"clock_offset_file": "offset"}
    async with running(tmp_path, peer, terms=terms, drill=drill) as gateway:
        await gateway.submit(b"<Order/>", to=peer)
        await gateway.until_row(Event.PAIR_SUSPENDED)
        waiting = await gateway.submit(b"<Order/>", to=peer)
        (tmp_path / "offset").write_text("900")
        await gateway.restart()
        assert gateway.state_of(waiting) == "expired"


async def test_a_full_store_delays_what_is_due(tmp_path, peer):
    """The sweep and the purge say so and go on once there is space (R-28)."""
    terms = {"timeout": 60, "retries": 0, "time_to_live": "PT1M"}
    drill = {"clock_rate": 0.01, "clock_offset_file": "offset"}
    async with running(tmp_path, peer, terms=terms, drill=drill) as gateway:
        peer.refuse_connections()
        message_id = await gateway.submit(b"<Order/>", to=peer)
        await gateway.until_row(Event.TRANSMITTED)
        (tmp_path / "offset").write_text("90")
        gateway.store.is_full = True
        said = await one_round(gateway)
        assert "store full" in said
        assert "store full; the purge goes on later" in said
        assert gateway.state_of(message_id) == "sending"
        gateway.store.is_full = False
        assert "store full" not in await one_round(gateway)
        assert gateway.state_of(message_id) == "expired"


async def test_a_lake_that_cannot_be_written_gets_its_rows_later(tmp_path, peer):
    """The journal keeps them; nothing else waits for the lake."""
    in_the_way = tmp_path / "lake"
    in_the_way.write_text("a file where the lake should be")
    async with running(tmp_path, peer) as gateway:
        await gateway.submit(b"<Order/>", to=peer)
        assert "publish failed; the journal keeps the rows" in await one_round(gateway)
        in_the_way.unlink()
        assert "published" in await one_round(gateway)
        assert list(in_the_way.rglob("segment-*.parquet"))


@pytest.mark.statement(ruling="R-47")
async def test_a_gateway_whose_store_failed_is_neither_ready_nor_healthy(tmp_path, peer):
    """Whatever keeps its process for a moment, nobody is told that it works."""
    told: list[object] = []
    loop = asyncio.get_running_loop()
    async with running(tmp_path, peer) as gateway:
        assert (await gateway.call("GET", "/readyz")).status == 200
        loop.set_exception_handler(lambda _, context: told.append(context["exception"]))
        gateway.store.is_broken = True
        assert (await gateway.submitted(b"<Order/>", to=peer)).status == 500
        assert (await gateway.call("GET", "/readyz")).status == 503
        healthy = await gateway.call("GET", "/healthz")
        assert (healthy.status, healthy.json["error"]["name"]) == (500, "StoreFailed")
    loop.set_exception_handler(None)
    assert {type(error) for error in told} == {StoreFailed}
