"""Gateways that do not come up, do not go down, or publish too late, end the demonstration."""

import asyncio
import signal
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from onceonly.demo import gateways, proof
from onceonly.demo.gateways import DemoFailed, GatewayProcess, Site, configuration
from onceonly.demo.layout import prepare
from onceonly.demo.options import DemoOptions
from onceonly.message.profile import Profile

pytestmark = pytest.mark.process

SHORT_S = 0.2
"""No Python starts a gateway in this time, and no stopped process ends in it."""


@pytest.fixture
def site(tmp_path) -> Site:
    """The buyer, with a configuration that its gateway takes."""
    _, buyer, seller = prepare(DemoOptions(out=tmp_path / "demo"))
    text = configuration(
        buyer,
        announced_port=buyer.msh_port,
        theirs=seller,
        send_to_port=seller.msh_port,
        profile=Profile.RM_2000,
        is_signed=False,
    )
    buyer.configuration.write_text(text, encoding="utf-8")
    return buyer


@asynccontextmanager
async def started(site: Site) -> AsyncIterator[GatewayProcess]:
    process = GatewayProcess(site)
    try:
        await process.start()
        yield process
    finally:
        await process.destroy()


@asynccontextmanager
async def resetting_server() -> AsyncIterator[int]:
    """Resets every connection as soon as it was asked something; its port."""

    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    server = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def test_a_gateway_that_does_not_get_ready_is_named_with_its_log(site, monkeypatch):
    """Who answers at its address in its place, and resets, is not taken for it."""
    monkeypatch.setattr(gateways, "READY_S", SHORT_S)

    async def check() -> None:
        async with resetting_server() as port:
            with pytest.raises(DemoFailed, match="buyer's gateway is not ready"):
                async with started(replace(site, api_port=port)):
                    pytest.fail("somebody else was taken for the gateway")

    asyncio.run(check())


def test_a_gateway_that_does_not_stop_is_named_and_killed(site, monkeypatch):
    """It hangs when it is told to drain; nothing of it is left behind."""

    async def check() -> None:
        async with started(site) as process:
            monkeypatch.setattr(gateways, "STOP_S", SHORT_S)
            process._signal(signal.SIGSTOP)
            with pytest.raises(DemoFailed, match="did not stop"):
                await process.stop()

    asyncio.run(check())


def test_a_journal_that_is_not_published_in_time_ends_the_demonstration(site, monkeypatch):
    """A verdict over half a journal would be worth nothing."""
    monkeypatch.setattr(proof, "PUBLISH_S", SHORT_S)
    with pytest.raises(DemoFailed, match="not published within"):
        proof.publish([site])
