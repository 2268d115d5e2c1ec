"""Drop folders: every received message that fits becomes files once, and is reported then."""

import json
import os
from pathlib import Path

import pytest
from folder_parts import CutError, cut_at, drop, left
from packages import PayloadPart
from running_gateway import running

from onceonly.gateway.config import Drop, Report
from onceonly.gateway.folders import dropping
from onceonly.gateway.folders.drop import name_of
from onceonly.gateway.folders.folders import owner_of
from onceonly.gateway.folders.watch import Trouble
from onceonly.protocol.receiving import ProcessingState
from onceonly.store.spool import INLINE_BYTES_MAX

pytestmark = pytest.mark.anyio

M = "m-1@a.example.com"


@pytest.fixture
async def alive(tmp_path, peer):
    async with running(tmp_path, peer) as gateway:
        yield gateway


@pytest.fixture
def box(tmp_path: Path) -> Path:
    return tmp_path / "box"


async def receive(alive, peer, message_id=M, number=1, content=b"<Order/>"):
    """A message of the partner is in the inbox; its item."""
    await peer.send(message_id, number, payloads=[PayloadPart("p@a", "text/xml", content)])
    await alive.until(lambda: message_id in alive.inbox_ids())
    return alive.store.snapshot().list_inbox(0, 100)[-1]


def processing(alive, offset=1) -> ProcessingState:
    return alive.store.snapshot().find_inbox_item(offset).processing


async def test_a_message_becomes_a_folder_and_is_complete(alive, peer, box):
    """Its payload under a name of ours, and its header with the names of the files."""
    item = await receive(alive, peer)
    folder = await drop(alive, box)
    assert await folder.look()
    assert left(box) == [name_of(item)]
    there = box / name_of(item)
    header = json.loads((there / "header.json").read_text("utf-8"))
    (payload,) = header["payloads"]
    assert (header["message_id"], header["from"], header["offset"]) == (M, [peer.party], 1)
    assert (there / payload["file"]).read_bytes() == b"<Order/>"
    assert sorted(one.name for one in there.iterdir()) == sorted(["header.json", payload["file"]])
    assert processing(alive) is ProcessingState.COMPLETE
    assert list((box / ".onceonly").iterdir()) == []
    assert (folder.done, await folder.look()) == (1, False)


async def test_the_application_may_report_the_end_itself(alive, peer, box):
    """The folder says in-progress, and does not write the message again after a restart."""
    item = await receive(alive, peer)
    for _ in range(2):
        folder = await drop(alive, box, report=Report.IN_PROGRESS)
        await folder.look()
    assert (left(box), folder.done) == ([name_of(item)], 0)
    assert processing(alive) is ProcessingState.IN_PROGRESS
    answer = await alive.call(
        "POST", "/v1/inbox/items/1/processing", json={"processing": "complete"}
    )
    assert answer.status == 200
    await drop(alive, box, report=Report.IN_PROGRESS)
    assert list((box / ".onceonly").iterdir()) == []


async def test_what_is_handed_over_again_is_written_again(alive, peer, box):
    """In a folder of its own, whose header says what it repeats; also after a restart once."""
    item = await receive(alive, peer)
    await (await drop(alive, box)).look()
    answer = await alive.call("POST", "/v1/inbox/items/1/redeliver", json={"reason": "lost"})
    assert answer.status == 201
    new = alive.store.snapshot().find_inbox_item(2)
    for count in (1, 0):
        folder = await drop(alive, box)
        await folder.look()
        assert folder.done == count
    assert left(box) == [name_of(item), name_of(new)]
    header = json.loads((box / name_of(new) / "header.json").read_text("utf-8"))
    assert (header["offset"], header["handed_over_again"], header["first_offset"]) == (2, 1, 1)
    assert header["first_handed_over_at"] == answer.json["first_handed_over_at"]
    assert processing(alive, 2) is ProcessingState.COMPLETE


async def test_a_large_payload_comes_from_the_spool(alive, peer, box):
    """Byte for byte."""
    content = os.urandom(INLINE_BYTES_MAX + 1)
    item = await receive(alive, peer, content=content)
    await (await drop(alive, box)).look()
    (file,) = [one for one in (box / name_of(item)).iterdir() if one.name != "header.json"]
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "keys", [{"agreements": ("other",)}, {"services": ("other",)}, {"actions": ("other",)}]
)
async def test_a_message_that_does_not_fit_stays(alive, peer, box, keys):
    """Nothing is written or reported of it."""
    await receive(alive, peer)
    await (await drop(alive, box, **keys)).look()
    assert (left(box), processing(alive)) == ([], ProcessingState.NOT_STARTED)


async def test_the_first_folder_that_fits_has_a_message(alive, peer, box):
    """So no message is in two of them."""
    item = await receive(alive, peer)
    drops = [
        Drop("a", box, services=("other",)),
        Drop("b", box, services=(item.message.service,)),
        Drop("c", box),
    ]
    assert [owner_of(drops, one)(item) for one in drops] == [False, True, False]


async def test_a_cancelled_or_refused_message_is_not_written(alive, peer, box):
    """Between the look and the work on it."""
    item = await receive(alive, peer)
    folder = await drop(alive, box)
    await alive.parts.inbox.refuse(None, "not ours", item.offset)
    await folder.look()
    assert left(box) == []


async def test_a_folder_that_cannot_be_written_is_an_incident(alive, peer, box):
    """It is open until the message is written; nothing is lost."""
    item = await receive(alive, peer)
    folder = await drop(alive, box)
    (box / ".onceonly").rmdir() if (box / ".onceonly").exists() else None
    (box / ".onceonly").write_bytes(b"")
    with pytest.raises(Trouble):
        await folder.look()
    (incident,) = alive.store.snapshot().list_incidents(is_open=True)
    assert "drop folder 'invoices'" in incident.reason
    (box / ".onceonly").unlink()
    folder = await drop(alive, box)
    await folder.look()
    assert left(box) == [name_of(item)]
    assert alive.store.snapshot().list_incidents(is_open=True) == []


FILES = {"1-a.xml": (b"<Or", b"der/>"), "header.json": (b"{}",)}


def nowhere(point: str) -> None:
    """No kill."""


@pytest.mark.parametrize("point", ["before-drop", "after-drop"])
def test_a_cut_writes_a_message_once(tmp_path, point):
    """Before or after the rename; also if somebody has taken the files away meanwhile."""
    with pytest.raises(CutError):
        dropping.drop(tmp_path, "1-x", FILES, cut_at(point))
    has_appeared = (tmp_path / "1-x").exists()
    assert has_appeared == (point == "after-drop")
    if has_appeared:
        (tmp_path / "1-x").rename(tmp_path.parent / f"taken-{tmp_path.name}")
    assert dropping.drop(tmp_path, "1-x", FILES, nowhere) is not has_appeared
    assert (tmp_path / "1-x").exists() is not has_appeared


def test_what_was_begun_is_written_again(tmp_path):
    """A half-written folder without a mark is dropped."""
    (tmp_path / ".onceonly" / "1-x").mkdir(parents=True)
    (tmp_path / ".onceonly" / "1-x" / "1-a.xml").write_bytes(b"<O")
    (tmp_path / ".onceonly" / "1-x" / "junk").write_bytes(b"")
    assert dropping.drop(tmp_path, "1-x", FILES, nowhere)
    assert sorted(one.name for one in (tmp_path / "1-x").iterdir()) == sorted(FILES)
    assert (tmp_path / "1-x" / "1-a.xml").read_bytes() == b"<Order/>"
    assert dropping.list_marked(tmp_path) == ["1-x"]
    dropping.forget(tmp_path, "1-x")
    assert dropping.list_marked(tmp_path) == []
    assert not dropping.drop(tmp_path, "1-x", FILES, nowhere)
