"""Uploads of many parts under a small limit of descriptors: refused, and soon forgotten (R-43).

Every payload past what a row holds opens a file of the spool, so a stranger with some connections
holds more files open than the process may have. Whoever comes then is told to come again; the
store has its own, and when the uploads are over everything is as before.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import pytest
from packages import PayloadPart
from peer import PATIENCE_S, Peer
from running_gateway import write_configuration
from served_gateway import open_files, said, serving, until_ready, value_of

pytestmark = [pytest.mark.anyio, pytest.mark.process]

FILES_MAX = 96
"""Three times what an idle gateway has open."""

UPLOADS, PARTS = 24, 30
"""Seven times as many files as there may be."""

PART = b"x" * (66 << 10)
"""Just past what stays in memory."""

TRANSFERRED_S = 15.0
"""For a body of two megabytes on loopback, on a busy machine."""


@asynccontextmanager
async def connected(peer: Peer) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    host, _, port = peer.gateway_uri.split("/")[2].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def upload(peer: Peer, number: int, all_there: asyncio.Barrier) -> int:
    """All of a large message but its last bytes, the rest when all are there; the status, or 0.

    Whoever is not answered was not accepted, and may come again as well.
    """
    parts = [PayloadPart(f"p{n}@a.example.com", "a/b", PART) for n in range(PARTS)]
    request = peer.request(peer.normal(f"large-{number}@a.example.com", 1, payloads=parts))
    with suppress(ConnectionError, TimeoutError):
        async with asyncio.timeout(2 * TRANSFERRED_S), connected(peer) as (reader, writer):
            writer.write(request[:-20])
            with suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(TRANSFERRED_S):
                    await writer.drain()
            await all_there.wait()
            if not writer.is_closing():
                with suppress(ConnectionError):
                    writer.write(request[-20:])
                    await writer.drain()
            head = await reader.readline()
            return int(head.split()[1]) if head else 0
    return 0


async def assert_honest_message_passes(peer: Peer, configuration: Path, name: str) -> None:
    """It is taken, acknowledged, and in the inbox."""
    message_id = f"{name}@a.example.com"
    async with asyncio.timeout(PATIENCE_S):
        while (reply := await peer.send(message_id, 1)).status == 503:
            pass
    assert reply.status == 204, reply
    assert (await peer.hear("Acknowledgement")).ref == message_id
    async with httpx.AsyncClient(base_url=value_of(configuration, "api")) as api:
        found = (await api.get("/v1/inbox", params={"wait": "5"})).json()["items"]
    assert message_id in [item["message_id"] for item in found]


async def test_uploads_of_many_parts_take_no_descriptor_from_anybody(tmp_path):
    """The process lives, refuses with 503, and an honest message passes afterwards."""
    attacker, partner = Peer("urn:duns:111111111"), Peer("urn:duns:333333333", "tpa-cb-1")
    configuration = write_configuration(tmp_path, [attacker, partner])
    for peer in (attacker, partner):
        peer.gateway_uri = value_of(configuration, "listen")
        await peer.listen()
    try:
        with serving(configuration, files_max=FILES_MAX) as process:
            await until_ready(process, configuration)
            before = open_files(process)
            all_there = asyncio.Barrier(UPLOADS)
            statuses = await asyncio.gather(
                *(upload(attacker, number, all_there) for number in range(UPLOADS))
            )
            assert process.poll() is None, said(configuration)
            assert 503 in statuses, (statuses, said(configuration))
            assert set(statuses) <= {0, 204, 503}, statuses
            await assert_honest_message_passes(partner, configuration, "honest")
            assert process.poll() is None, said(configuration)
            assert open_files(process) < before + UPLOADS, "what was refused is closed"
    finally:
        for peer in (attacker, partner):
            await peer.close()
