"""Folders of a gateway that runs, worked in step by step, and what is in them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from peer import Peer
from running_gateway import RunningGateway

from onceonly.gateway.config import Drop, Pickup
from onceonly.gateway.folders.drop import DropFolder, fits
from onceonly.gateway.folders.pickup import PickupFolder
from onceonly.store.spool import Spool

BEGUN: list[PickupFolder | DropFolder] = []
"""Folders that no gateway works in, so nobody else ends their threads."""


def close_all() -> None:
    """End the threads of all folders that have begun here."""
    while BEGUN:
        BEGUN.pop().thread.close()


def make(path: Path) -> None:
    """The folder, which the gateway never makes itself."""
    path.mkdir(exist_ok=True)


class CutError(Exception):
    """The kill at a point."""


def cut_at(point: str) -> Callable[[str], None]:
    """Dies at the point, as a process would."""

    def reach(reached: str) -> None:
        if reached == point:
            raise CutError

    return reach


async def pickup(
    alive: RunningGateway, path: Path, peer: Peer, *, spool: Spool | None = None, **keys: Any
) -> PickupFolder:
    """A pickup folder that has begun; nothing is looked for until the test says so."""
    make(path)
    words = {"service": "Ordering", "action": "NewOrder", **keys}
    folder = PickupFolder(
        Pickup("orders", path, peer.agreement, **words),
        desk=alive.parts.desk,
        submissions=alive.parts.submissions,
        spool=spool or alive.parts.spool,
        bytes_max=alive.configuration.payload_bytes_max,
    )
    BEGUN.append(folder)
    await folder.begin()
    return folder


async def drop(alive: RunningGateway, path: Path, **keys: Any) -> DropFolder:
    """A drop folder that has begun."""
    make(path)
    wanted = Drop("invoices", path, **keys)
    folder = DropFolder(
        wanted,
        desk=alive.parts.desk,
        spool=alive.parts.spool,
        is_ours=lambda item: fits(item, wanted),
    )
    BEGUN.append(folder)
    await folder.begin()
    return folder


def put(folder: Path, name: str, content: bytes = b"<Order/>", **header: Any) -> None:
    """A document with its marker, and with a header if it has members."""
    (folder / name).write_bytes(content)
    if header:
        (folder / f"{name}.header.json").write_text(json.dumps(header), "utf-8")
    (folder / f"{name}.done").touch()


def results(folder: Path, where: str) -> list[dict[str, Any]]:
    """The result files below `sending`, `sent` or `failed`, in the order of the claims."""
    found = sorted((folder / where).rglob("*result.json"), key=lambda one: one.parent.name)
    return [json.loads(one.read_text("utf-8")) for one in found]


def left(folder: Path) -> list[str]:
    """What is in the folder itself, without what is ours."""
    ours = {"sending", "sent", "failed", ".onceonly", ".onceonly.lock"}
    return sorted(one.name for one in folder.iterdir() if one.name not in ours)
