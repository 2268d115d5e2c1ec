"""The folders of a gateway: who may work in one, and what operators are told."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from folder_parts import put, results
from running_gateway import RunningGateway, write_configuration

from onceonly.gateway.checkup import warnings_of
from onceonly.gateway.clock import Clock
from onceonly.gateway.config import Drop, Pickup, read_configuration
from onceonly.gateway.folders import claims, dropping
from onceonly.gateway.folders.own_thread import OwnThread
from onceonly.gateway.folders.watch import LOCK, Watch
from onceonly.gateway.open_files import find_open
from onceonly.store.lock import StoreLock

pytestmark = pytest.mark.anyio


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "box").mkdir()
    return tmp_path / "box"


def configured(directory: Path, peer, box: Path):
    peer_configuration = read_configuration(write_configuration(directory, [peer]))
    peer.gateway_uri = peer_configuration.uri
    orders = Pickup("orders", box, peer.agreement, service="Ordering", action="New")
    invoices = Drop("invoices", directory / "not-there")
    return replace(peer_configuration, pickups=(orders,), drops=(invoices,))


async def test_a_gateway_works_in_its_folders(tmp_path, peer, box):
    """From its start; a folder that is not there is shown as trouble, and the others go on."""
    put(box, "x.xml")
    alive = RunningGateway(configured(tmp_path, peer, box))
    await alive.start()
    try:
        arrival = await peer.hear("Normal")
        assert arrival.payloads == [b"<Order/>"]
        answer = await alive.get("/v1/folders")
        orders, invoices = answer["folders"]
        assert (orders["id"], orders["kind"], orders["trouble"]) == ("orders", "pickup", None)
        assert (invoices["id"], invoices["kind"]) == ("invoices", "drop")
        alive.parts.outside.stop()
        await alive.everything_said()
        assert "not-there" in (await alive.get("/v1/folders"))["folders"][1]["trouble"]
    finally:
        await alive.stop(0.0)
    assert len(results(box, "sending")) == 1


async def first_trouble(box: Path) -> str:
    """Why nobody can work in the folder."""
    watch = Watch(folder_id="other", path=box, clock=Clock())
    found: list[str] = []

    async def never() -> None:
        raise AssertionError("it works in a folder that is not its own")

    def stop(trouble: str | None) -> None:
        found.append(trouble or "")
        watch.stop()

    watch.note = stop  # type: ignore[method-assign]  # because the first trouble ends the wait
    await watch.keep_working(never)
    return found[0]


async def test_a_folder_belongs_to_one_gateway(box):
    """Who finds it locked waits, and says so; nothing is written into the lock."""
    lock = StoreLock(box / LOCK)
    before = (box / LOCK).read_bytes()
    assert "another gateway works in it" in await first_trouble(box)
    assert (box / LOCK).read_bytes() == before
    lock.release()


async def test_a_lock_that_is_a_link_is_not_followed(tmp_path, box):
    """It could lead to a file that is none of the folder's."""
    (tmp_path / "store.db").write_bytes(b"rows")
    (box / LOCK).symlink_to(tmp_path / "store.db")
    assert str(box / LOCK) in await first_trouble(box)
    assert (tmp_path / "store.db").read_bytes() == b"rows"


async def test_a_check_warns_of_folders_that_cannot_be_used(tmp_path, peer, box):
    """Before the gateway starts."""
    warned = [one for one in warnings_of(configured(tmp_path, peer, box)) if "folder" in one]
    (warning,) = warned
    assert warning.startswith("folder invoices: ")


def _modes(box: Path) -> dict[str, str]:
    return {one.name: f"{one.stat().st_mode & 0o777:o}" for one in box.rglob("*")}


@pytest.mark.parametrize(("mask", "folder", "file"), [(0, "750", "640"), (0o077, "700", "600")])
def test_what_is_made_in_folders_is_closed_to_others(box, mask, folder, file):
    """The group may read it, unless the umask is stricter."""
    before = os.umask(mask)
    try:
        dropping.drop(box, "1-x", {"1-a.xml": (b"<Order/>",)}, lambda _: None)
        claims.prepare(box)
    finally:
        os.umask(before)
    folders = dict.fromkeys((".onceonly", "1-x", "sending", "sent", "failed"), folder)
    assert _modes(box) == {**folders, "1-a.xml": file, "1-x.written": file}


async def test_folders_that_are_open_to_others_are_named(tmp_path, peer, box):
    """A drop that they can read, and a pickup that they can write."""
    configuration = configured(tmp_path, peer, box)
    paths = [one.path for one in (*configuration.pickups, *configuration.drops)]
    for path in paths:
        path.mkdir(exist_ok=True)
    for mode, expected in ((0o750, []), (0o777, paths)):
        for path in paths:
            path.chmod(mode)
        found = {one.path for one in find_open(configuration)}
        assert found & set(map(str, paths)) == set(map(str, expected))
    for path in paths:
        path.chmod(0o755)
    found = {one.path for one in find_open(configuration)}
    assert found & set(map(str, paths)) == {str(one.path) for one in configuration.drops}


async def test_a_folder_has_a_thread_of_its_own(box):
    """Where all threads of the event loop are taken, the work in a folder goes on."""
    hang = threading.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    taken = loop.run_in_executor(None, hang.wait)
    watch = Watch(folder_id="orders", path=box, clock=Clock())
    worked: list[Path] = []

    async def work() -> None:
        worked.append(watch.path)
        watch.stop()

    try:
        async with asyncio.timeout(10):
            await watch.keep_working(work)
    finally:
        hang.set()
        watch.thread.close()
    assert worked == [box]
    assert await taken


async def test_calls_of_a_thread_run_one_after_another():
    """Their values and exceptions come back; one that was given up before its turn never runs."""
    thread = OwnThread("folder orders")
    hang = threading.Event()
    done: list[int] = []
    first = asyncio.ensure_future(thread.run(hang.wait))
    second = asyncio.ensure_future(thread.run(done.append, 2))
    third = asyncio.ensure_future(thread.run(int, "x"))
    await asyncio.wait((first, second), timeout=0)
    second.cancel()
    await asyncio.wait((second,))
    hang.set()
    with pytest.raises(ValueError, match="invalid literal"):
        await third
    thread.close()
    assert (await first, done) == (True, [])


HANGING = """
import asyncio, threading
from onceonly.gateway.folders.own_thread import OwnThread

async def main():
    hung = asyncio.ensure_future(OwnThread("folder orders").run(threading.Event().wait))
    await asyncio.wait((hung,), timeout=0)
    hung.cancel()

asyncio.run(main())
"""


def test_a_process_ends_while_a_folder_hangs():
    """As after a stop: nothing can end a call on a share whose server is away."""
    subprocess.run([sys.executable, "-c", HANGING], check=True, timeout=30)
