"""Backups that a running gateway makes of its own store, over the API and by command."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from calling import refused
from packages import ORDER
from peer import Peer
from running_gateway import OUR_PARTY, RunningGateway, running, serving_api

from onceonly.cli.exits import Exit
from onceonly.gateway.config.report_folder import spool_of
from onceonly.message.event import Event
from onceonly.store.sqlite import backup
from onceonly.store.sqlite.store import open_sqlite

pytestmark = pytest.mark.anyio

BIG = bytes(range(256)) * 1200
POLL_S = 0.01


def backups_in(directory: Path) -> Path:
    return directory / "gateway.db-backups"


async def made(gateway: RunningGateway, name: str) -> dict[str, object]:
    """What became of the backup."""
    while True:
        found = await gateway.get(f"/v1/backups/{name}")
        if found["state"] != "running":
            return dict(found)
        await asyncio.sleep(POLL_S)  # the API tells of progress and of nothing else


async def test_messages_go_on_while_a_backup_is_made_and_are_in_it(
    tmp_path: Path, peer: Peer
) -> None:
    """Everything that was accepted before the end of the copy; payload files, too."""
    async with running(tmp_path, peer) as gateway:
        before = await gateway.submit(BIG, to=peer)
        answer = await gateway.call("POST", "/v1/backups", json={"name": "monday"})
        assert answer.status == 202
        during = [await gateway.submit(ORDER, to=peer) for _ in range(20)]
        found = await made(gateway, "monday")
        assert found["state"] == "done", found
        assert (await gateway.get("/v1/backups"))["backups"] == [found]
        journal = gateway.parts.store.snapshot().list_journal(0, 10_000)
    place = tmp_path / "elsewhere" / "gateway.db"
    place.parent.mkdir()
    folder = Path(str(found["folder"]))
    backup.restore(folder, place, spool_of(place), party=OUR_PARTY, now_at=0)
    store = open_sqlite(place, party=OUR_PARTY, clock_at=lambda: 0)
    try:
        rows = store.snapshot().list_journal(0, 10_000)
        assert rows == journal[: len(rows)]
        accepted = {row.message_id for row in rows if row.event is Event.SUBMITTED}
        assert before in accepted
        [part] = store.snapshot().list_payloads(before)
        assert (spool_of(place) / part.payload.digest).read_bytes() == BIG
        assert accepted <= {before, *during}
    finally:
        store.close()


async def test_a_name_is_used_once_and_names_no_other_place(
    tmp_path: Path, gateway: RunningGateway
) -> None:
    await gateway.call("POST", "/v1/backups", json={"name": "monday"})
    await made(gateway, "monday")
    again = await gateway.call("POST", "/v1/backups", json={"name": "monday"})
    assert refused(again) == (409, "BackupExists")
    for name in ("../monday", "a/b", ".", "x.partial", ""):
        odd = await gateway.call("POST", "/v1/backups", json={"name": name})
        assert refused(odd) == (400, "InvalidField"), name
    assert refused(await gateway.call("GET", "/v1/backups/tuesday")) == (404, "NotFound")
    assert [one.name for one in backups_in(tmp_path).iterdir()] == ["monday"]


async def test_one_backup_is_made_at_a_time(gateway: RunningGateway) -> None:
    first = await gateway.call("POST", "/v1/backups", json={"name": "first"})
    second = await gateway.call("POST", "/v1/backups", json={"name": "second"})
    assert first.status == 202
    assert refused(second) == (409, "BackupRunning")


async def test_a_backup_that_cannot_be_written_says_so_and_messages_go_on(
    tmp_path: Path, gateway: RunningGateway, peer: Peer
) -> None:
    backups_in(tmp_path).write_text("a file stands where the folder should be")
    await gateway.call("POST", "/v1/backups", json={"name": "monday"})
    found = await made(gateway, "monday")
    assert found["state"] == "failed"
    assert "backups" in str(found["reason"])
    assert await gateway.submit(ORDER, to=peer)


def onceonly(*arguments: str, expect: Exit = Exit.OK) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "onceonly", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout + done.stderr


async def test_the_commands_back_up_and_restore_with_and_without_a_gateway(
    tmp_path: Path, peer: Peer
) -> None:
    """A store that was replaced is kept; what the lake knows beyond the backup is said."""
    config = str(tmp_path / "gateway.toml")
    async with running(tmp_path, peer) as gateway:
        await gateway.submit(ORDER, to=peer)
        async with serving_api(gateway):
            said = await asyncio.to_thread(onceonly, "backup", "running", "-c", config)
            assert str(backups_in(tmp_path) / "running") in said
        refusal = await asyncio.to_thread(
            onceonly,
            *(
                "restore",
                str(backups_in(tmp_path) / "running"),
                "-c",
                config,
                "--replace",
            ),
            expect=Exit.UNEXPECTED,
        )
        assert "in use by process" in refusal
        await gateway.submit(ORDER, to=peer)
        assert (await gateway.call("POST", "/v1/lake/publish")).status == 200
    restored_without_a_gateway(tmp_path, config)


def restored_without_a_gateway(directory: Path, config: str) -> None:
    said = onceonly("backup", "stopped", "-c", config)
    assert "no gateway answers" in said
    folder = str(backups_in(directory) / "running")
    assert "whole" in onceonly("restore", folder, "-c", config, "--check")
    refusal = onceonly("restore", folder, "-c", config, expect=Exit.UNEXPECTED)
    assert "only replaced if you say so" in refusal
    said = onceonly("restore", folder, "-c", config, "--replace")
    assert "set `lake` to a new folder" in said
    [aside] = directory.glob("gateway.db.replaced-*")
    assert (aside / "gateway.db").exists()
    said = onceonly("restore", str(backups_in(directory) / "stopped"), "-c", config, "--replace")
    assert "warning" not in said
