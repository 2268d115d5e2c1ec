"""What a gateway does while it runs, when something is in the way."""

import asyncio
from dataclasses import replace

import pytest
from running_gateway import RunningGateway, running
from structlog.testing import capture_logs

from onceonly.gateway.life import Life
from onceonly.message.event import Event
from onceonly.store.contract.conditions import StoreFailed

pytestmark = pytest.mark.anyio


async def one_round(gateway: RunningGateway) -> list[str]:
    """Sweep, publish and purge once; what the log had to say."""
    configuration = replace(gateway.configuration, publish_interval_s=0, purge_interval_s=0)
    life = Life(replace(gateway.parts, configuration=configuration), sweep_s=0.001)
    stop = asyncio.Event()
    # A round that has begun is a whole one, so told to stop at once it does just one.
    asyncio.get_running_loop().call_soon(stop.set)
    with capture_logs() as said:
        await life.live(stop)
        await gateway.everything_said()
    return [line["event"] for line in said]


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
