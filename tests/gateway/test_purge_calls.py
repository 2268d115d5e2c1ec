"""A purge with a preview, by call and by command, and the space that is given back."""

import asyncio
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packages import ORDER
from peer import Peer
from running_gateway import RunningGateway, running, serving_api

from onceonly.cli.exits import Exit
from onceonly.message.event import Event
from recipes import examples_of

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"
POLL_S = 0.01
DAY_S = 86_400


def keeping(folder: Path, peer: Peer) -> Any:
    """A gateway whose wall clock can be put forward."""
    return running(folder, peer, drill={"clock_offset_file": "offset"})


async def filled(gateway: RunningGateway, peer: Peer, folder: Path) -> None:
    """One message received and one sent, both over, and days later."""
    await peer.send(M, 1)
    await peer.hear("Acknowledgement")
    await gateway.until(lambda: M in gateway.inbox_ids())
    await gateway.call("POST", f"/v1/inbox/{M}/processing", json={"processing": "complete"})
    sent = await gateway.submit(ORDER, to=peer)
    await peer.hear("Normal")
    await peer.acknowledge(sent)
    await gateway.until_state(sent, "acknowledged")
    await gateway.everything_said()
    (folder / "offset").write_text(str(31 * DAY_S))


async def test_the_preview_counts_what_the_purge_then_forgets(tmp_path: Path, peer: Peer) -> None:
    """By kind, with the oldest and the bytes; and it changes nothing."""
    async with keeping(tmp_path, peer) as gateway:
        assert (await gateway.get("/v1/purge"))["forgettable"] == []
        await filled(gateway, peer, tmp_path)
        seen = await gateway.get("/v1/purge")
        kinds = {one["kind"]: one for one in seen["forgettable"]}
        assert set(kinds) == {"received", "sent under tpa-ab-1"}
        assert kinds["sent under tpa-ab-1"]["bytes"] == len(ORDER)
        assert all(one["count"] == 1 and not one["is_more"] for one in kinds.values())
        assert all(one["oldest_at"] for one in kinds.values())
        assert (seen["is_running"], seen["last"]) == (False, None)
        assert gateway.rows(Event.PURGED) == []
        answer = await gateway.call("POST", "/v1/purge")
        assert (answer.status, answer.json) == (202, {"is_new": True})
        await gateway.until_row(Event.PURGED, 2)
        await gateway.everything_said()
        seen = await gateway.get("/v1/purge")
        assert seen["forgettable"] == []
        assert (seen["last"]["inbound"], seen["last"]["outbound"]) == (1, 1)


async def test_the_commands_of_the_page(tmp_path: Path, peer: Peer) -> None:
    """Those of `docs/how-to/retention.md`, in order; compacting is refused while it runs."""
    preview, now, compact = "".join(examples_of("how-to/retention.md", "sh")).splitlines()
    async with keeping(tmp_path, peer) as gateway:
        await filled(gateway, peer, tmp_path)
        async with serving_api(gateway):
            seen = await asyncio.to_thread(onceonly, tmp_path, preview)
            done = await asyncio.to_thread(onceonly, tmp_path, now)
            refused = await asyncio.to_thread(onceonly, tmp_path, compact)
    assert "over    1 received, since 20" in seen.stdout
    assert done.stdout.startswith("forgot  1 received, 1 sent"), done
    assert "over    nothing" in done.stdout
    assert refused.returncode == Exit.UNEXPECTED
    compacted = await asyncio.to_thread(onceonly, tmp_path, compact)
    assert compacted.returncode == Exit.OK, compacted
    assert compacted.stdout.startswith("store   ")


async def test_a_purge_that_cannot_end_is_not_waited_for(tmp_path: Path, peer: Peer) -> None:
    """On a full disk nothing is forgotten, and the command says so."""
    _, now, _ = "".join(examples_of("how-to/retention.md", "sh")).splitlines()
    async with keeping(tmp_path, peer) as gateway, serving_api(gateway):
        gateway.store.is_full = True
        done = await asyncio.to_thread(onceonly, tmp_path, now)
        gateway.store.is_full = False
    assert done.returncode == Exit.UNEXPECTED
    assert "did not come to its end" in done.stderr


def onceonly(folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """What the command of the page prints."""
    program, *words = shlex.split(command)
    assert program == "onceonly"
    return subprocess.run(
        [sys.executable, "-m", "onceonly", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
