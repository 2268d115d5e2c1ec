"""Pickup folders: a document that is put there is sent once, and its result is beside it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from folder_parts import CutError, cut_at, left, pickup, put, results
from running_gateway import running

from onceonly.gateway.config import Ready
from onceonly.gateway.folders import claims
from onceonly.gateway.folders.watch import Trouble
from onceonly.message.event import Event
from onceonly.store.spool import INLINE_BYTES_MAX, Sink, Spool

pytestmark = pytest.mark.anyio


@pytest.fixture
async def alive(tmp_path, peer):
    async with running(tmp_path, peer) as gateway:
        yield gateway


@pytest.fixture
def box(tmp_path: Path) -> Path:
    return tmp_path / "box"


async def test_a_document_is_sent_and_moved_with_its_verdict(alive, peer, box):
    """Its name and bytes are the payload's; `sent` has it with the result, the folder nothing."""
    folder = await pickup(alive, box, peer)
    put(box, "x.xml", b"<Order/>")
    await folder.take()
    (pending,) = results(box, "sending")
    arrival = await peer.hear("Normal")
    assert pending["message_id"] == arrival.message_id
    assert (pending["file"], pending["state"] in ("queued", "sending")) == ("x.xml", True)
    assert arrival.payloads == [b"<Order/>"]
    await peer.acknowledge(arrival.message_id)
    await alive.until_state(arrival.message_id, "acknowledged")
    await folder.follow()
    (result,) = results(box, "sent")
    assert (result["message_id"], result["state"]) == (arrival.message_id, "acknowledged")
    assert result["settled_at"] is not None
    (document,) = (box / "sent").rglob("x.xml")
    assert document.read_bytes() == b"<Order/>"
    assert (left(box), list((box / "sending").iterdir())) == ([], [])
    assert (folder.done, folder.failed, folder.under_way) == (1, 0, 0)


@pytest.mark.parametrize("header", [{}, {"no": "word"}], ids=["acknowledged", "refused"])
async def test_a_document_is_counted_all_the_time(alive, peer, box, monkeypatch, header):
    """Whenever somebody asks, it is under way, done or failed, also while its result is written."""
    folder = await pickup(alive, box, peer)
    counts: list[int] = []
    run = folder.thread.run

    async def counted(*given: Any, **named: Any) -> Any:
        counts.append(folder.under_way + folder.done + folder.failed)
        return await run(*given, **named)

    monkeypatch.setattr(folder.thread, "run", counted)
    put(box, "x.xml", **header)
    await folder.take()
    if not header:
        arrival = await peer.hear("Normal")
        await peer.acknowledge(arrival.message_id)
        await alive.until_state(arrival.message_id, "acknowledged")
        await folder.follow()
    assert (folder.done, folder.failed, folder.under_way) == (int(not header), int(bool(header)), 0)
    assert counts[-1] == 1
    assert counts == sorted(counts)


async def test_a_message_that_fails_is_moved_to_failed(alive, peer, box):
    """With the code that its partner gave."""
    folder = await pickup(alive, box, peer)
    put(box, "x.xml")
    await folder.take()
    arrival = await peer.hear("Normal")
    await peer.refuse(arrival.message_id, "ValueNotRecognized")
    await alive.until_state(arrival.message_id, "failed")
    await folder.follow()
    (result,) = results(box, "failed")
    assert (result["state"], result["error"]) == ("failed", "ValueNotRecognized")
    assert folder.failed == 1


async def test_the_header_of_a_document_says_what_it_is(alive, peer, box):
    """Its members are those of a submission; what it leaves out, the configuration says."""
    folder = await pickup(alive, box, peer, conversation="all")
    put(box, "x.xml", service="Billing", message_id="mine@buyer.example", key="2026-1")
    await folder.take()
    arrival = await peer.hear("Normal")
    view = alive.store.snapshot().find_outbound_view("mine@buyer.example")
    assert arrival.message_id == "mine@buyer.example"
    assert view.message.service == "Billing"
    assert (view.message.action, view.message.conversation_id) == ("NewOrder", "all")
    assert alive.store.snapshot().find_message_id_by_key("2026-1") == "mine@buyer.example"


async def test_a_folder_is_one_message_of_several_payloads(alive, peer, box):
    """In the order of the names, each with the type of its ending."""
    folder = await pickup(alive, box, peer)
    (box / "order-1").mkdir()
    (box / "order-1" / "b.pdf").write_bytes(b"%PDF")
    (box / "order-1" / "a.xml").write_bytes(b"<Order/>")
    (box / "order-1.done").touch()
    await folder.take()
    arrival = await peer.hear("Normal")
    assert arrival.payloads == [b"<Order/>", b"%PDF"]
    (payloads,) = [alive.store.snapshot().list_payloads(arrival.message_id)]
    assert [(one.payload.name, one.payload.content_type) for one in payloads] == [
        ("a.xml", "application/xml"),
        ("b.pdf", "application/pdf"),
    ]


async def test_nothing_half_written_is_sent(alive, peer, box):
    """Without a marker, or under a temporary name, or in a folder with one: it stays."""
    folder = await pickup(alive, box, peer)
    (box / "x.xml").write_bytes(b"<Or")
    for name in (".y.xml", "y.xml.tmp", "y.xml.part"):
        put(box, name)
    (box / "order").mkdir()
    (box / "order" / "a.xml.part").touch()
    (box / "order.done").touch()
    before = left(box)
    await folder.take()
    assert left(box) == before
    assert alive.rows(Event.SUBMITTED) == []


async def test_a_file_that_is_renamed_in_needs_no_marker(alive, peer, box):
    """Where the configuration says so."""
    folder = await pickup(alive, box, peer, ready=Ready.RENAMED)
    (box / "x.xml.tmp").write_bytes(b"<Order/>")
    await folder.take()
    assert alive.rows(Event.SUBMITTED) == []
    (box / "x.xml.tmp").rename(box / "x.xml")
    await folder.take()
    assert (await peer.hear("Normal")).payloads == [b"<Order/>"]


async def test_a_file_that_still_changes_is_not_settled(alive, peer, box):
    """Two looks with a change in between, then one without: only the last finds it at rest."""
    folder = await pickup(alive, box, peer, ready=Ready.SETTLED, settle_s=0)
    (box / "x.xml").write_bytes(b"<Or")
    await folder.take()
    (box / "x.xml").write_bytes(b"<Order/>")
    await folder.take()
    assert alive.rows(Event.SUBMITTED) == []
    await folder.take()
    assert (await peer.hear("Normal")).payloads == [b"<Order/>"]


async def test_the_same_file_again_is_another_document(alive, peer, box):
    """Whoever puts the same bytes under the same name there again wants them sent again."""
    folder = await pickup(alive, box, peer)
    for _ in range(2):
        put(box, "x.xml", b"<Order/>")
        await folder.take()
    assert len({row.message_id for row in alive.rows(Event.SUBMITTED)}) == 2


async def test_two_documents_with_one_key_are_one_message(alive, peer, box):
    """The business key says that they are the same, and both get its verdict."""
    folder = await pickup(alive, box, peer)
    for name in ("x.xml", "x.xml"):
        put(box, name, key="2026-1")
        await folder.take()
    arrival = await peer.hear("Normal")
    await peer.acknowledge(arrival.message_id)
    await alive.until_state(arrival.message_id, "acknowledged")
    await folder.follow()
    assert [one["message_id"] for one in results(box, "sent")] == [arrival.message_id] * 2
    assert len(alive.rows(Event.SUBMITTED)) == 1


UNFIT: list[tuple[str, dict[str, Any], str]] = [
    ("x.xml", {"service": ""}, "InvalidField"),
    ("x.xml", {"colour": "red"}, "InvalidField"),
    ("x.xml", {"agreement": "another"}, "UnfitFile"),
    ("x.xml", {"to": "urn:duns:999999999"}, "UnfitFile"),
]


@pytest.mark.parametrize(("name", "header", "error"), UNFIT)
async def test_a_wrong_header_is_refused(alive, peer, box, name, header, error):
    """With the reason in the result; nothing is sent."""
    folder = await pickup(alive, box, peer)
    put(box, name, b"<Order/>", **header)
    await folder.take()
    (result,) = results(box, "failed")
    assert (result["state"], result["error"], result["message_id"]) == ("refused", error, None)
    assert alive.rows(Event.SUBMITTED) == []


def _is_link(box: Path, secret: Path) -> None:
    (box / "x.xml").symlink_to(secret)


def _is_folder_with_link(box: Path, secret: Path) -> None:
    (box / "x.xml").mkdir()
    (box / "x.xml" / "a").symlink_to(secret)


def _is_link_to_folder(box: Path, secret: Path) -> None:
    (box / "x.xml").symlink_to(secret.parent)


def _is_empty(box: Path, secret: Path) -> None:
    (box / "x.xml").touch()


def _is_empty_folder(box: Path, secret: Path) -> None:
    (box / "x.xml").mkdir()


def _is_nested(box: Path, secret: Path) -> None:
    (box / "x.xml" / "deep").mkdir(parents=True)


def _is_fifo(box: Path, secret: Path) -> None:
    os.mkfifo(box / "x.xml")


def _has_too_many(box: Path, secret: Path) -> None:
    (box / "x.xml").mkdir()
    for number in range(100):
        (box / "x.xml" / str(number)).write_bytes(b"x")


@pytest.mark.parametrize(
    "make",
    [
        _is_link,
        _is_folder_with_link,
        _is_link_to_folder,
        _is_empty,
        _is_empty_folder,
        _is_nested,
        _is_fifo,
        _has_too_many,
    ],
)
async def test_what_is_no_document_is_refused(alive, peer, box, tmp_path, make):
    """Links are not followed, and nothing else than files with bytes is read."""
    secret = tmp_path / "secrets" / "key.pem"
    secret.parent.mkdir()
    secret.write_bytes(b"secret")
    folder = await pickup(alive, box, peer)
    make(box, secret)
    (box / "x.xml.done").touch()
    await folder.take()
    (result,) = results(box, "failed")
    assert (result["state"], result["error"]) == ("refused", "UnfitFile")
    assert (left(box), secret.read_bytes()) == ([], b"secret")
    assert alive.rows(Event.SUBMITTED) == []


@pytest.mark.parametrize(
    "name",
    [
        b"\xff\xfe.xml",
        b"a\nb.xml",
        "Nº 1 ünïcode.xml".encode(),
        b"x" * 250,
        "ä".encode() * 120,
        b" x ",
        b"\\",
    ],
)
async def test_a_name_may_be_any_bytes(alive, peer, box, name):
    """A name that no header can hold is escaped; the file keeps its own."""
    folder = await pickup(alive, box, peer, ready=Ready.RENAMED)
    (box / os.fsdecode(name)).write_bytes(b"<Order/>")
    await folder.take()
    arrival = await peer.hear("Normal")
    assert arrival.payloads == [b"<Order/>"]
    (ours,) = (box / "sending").iterdir()
    assert (ours / os.fsdecode(name)).read_bytes() == b"<Order/>"


async def test_a_large_file_goes_through_the_spool(alive, peer, box):
    """Its bytes are never in memory as a whole."""
    folder = await pickup(alive, box, peer)
    content = os.urandom(INLINE_BYTES_MAX + 1)
    put(box, "x.bin", content)
    await folder.take()
    assert (await peer.hear("Normal")).payloads == [content]


async def test_a_file_that_is_too_large_is_refused(tmp_path, peer, box):
    """By the bound of every submission."""
    async with running(tmp_path, peer, gateway={"payload_bytes_max": 10}) as alive:
        folder = await pickup(alive, box, peer)
        put(box, "x.xml", b"12345678901")
        await folder.take()
        (result,) = results(box, "failed")
        assert "payload_bytes_max" in result["reason"]


class StoppingSpool(Spool):
    """The gateway is told to stop just when a document is about to be read."""

    stop: Callable[[], None]

    def open_sink(self) -> Sink:
        self.stop()
        return super().open_sink()


async def test_a_stop_does_not_wait_for_a_large_file(alive, peer, box, tmp_path):
    """It is left as it was claimed, and is sent after the next start."""
    spool = StoppingSpool(tmp_path / "spool")
    folder = await pickup(alive, box, peer, spool=spool)
    spool.stop = folder.stop
    put(box, "x.bin", os.urandom(INLINE_BYTES_MAX + 1))
    with pytest.raises(Trouble, match="stops"):
        await folder.take()
    assert (left(box), alive.rows(Event.SUBMITTED)) == ([], [])
    again = await pickup(alive, box, peer)
    await again.take()
    assert len((await peer.hear("Normal")).payloads) == 1


async def test_a_document_waits_while_the_queue_is_full(tmp_path, peer, box):
    """It stays claimed, and goes on when there is room; none after it overtakes it."""
    async with running(tmp_path, peer, gateway={"queued_max": 1}) as alive:
        folder = await pickup(alive, box, peer)
        for name in ("1.xml", "2.xml"):
            put(box, name, name.encode())
        assert not await folder.take()
        assert (folder.under_way, len(results(box, "sending"))) == (2, 1)
        assert "queued_max" in folder.trouble
        first = await peer.hear("Normal")
        await peer.acknowledge(first.message_id)
        await alive.until_state(first.message_id, "acknowledged")
        await folder.take()
        second = await peer.hear("Normal")
        assert second.payloads == [b"2.xml"]


@pytest.mark.parametrize("point", ["before-claim", "after-claim"])
async def test_a_claim_that_was_cut_goes_on(alive, peer, box, point):
    """Under the MessageId of its note, with its header, once."""
    await pickup(alive, box, peer)
    put(box, "x.xml", b"<Order/>", service="Billing")

    with pytest.raises(CutError):
        claims.claim(box, "x.xml", "note-1@buyer.example", 0, cut_at(point))
    folder = await pickup(alive, box, peer)
    await folder.take()
    arrival = await peer.hear("Normal")
    assert arrival.message_id == "note-1@buyer.example"
    view = alive.store.snapshot().find_outbound_view(arrival.message_id)
    assert (view.message.service, left(box)) == ("Billing", [])


async def test_a_claim_without_a_note_has_claimed_nothing(alive, peer, box):
    """It is dropped, and the document is claimed anew."""
    await pickup(alive, box, peer)
    (box / "sending" / "begun").mkdir()
    (box / "sending" / "begun" / ".claim.json.tmp").touch()
    put(box, "x.xml")
    folder = await pickup(alive, box, peer)
    assert list((box / "sending").iterdir()) == []
    await folder.take()
    assert len(alive.rows(Event.SUBMITTED)) == 1


async def test_a_restart_follows_what_it_finds(alive, peer, box):
    """A verdict that came meanwhile is written; nothing is submitted again."""
    folder = await pickup(alive, box, peer)
    put(box, "x.xml")
    put(box, "y.xml", key="2026-1")
    await folder.take()
    for _ in range(2):
        arrival = await peer.hear("Normal")
        await peer.acknowledge(arrival.message_id)
        await alive.until_state(arrival.message_id, "acknowledged")
    await pickup(alive, box, peer)
    assert [one["state"] for one in results(box, "sent")] == ["acknowledged"] * 2
    assert len(alive.rows(Event.SUBMITTED)) == 2


async def test_a_result_that_was_never_written_is_found_by_the_note(alive, peer, box):
    """The kill between the commit and the result file: the message is known by its id."""
    folder = await pickup(alive, box, peer)
    put(box, "x.xml")
    await folder.take()
    for one in (box / "sending").rglob("*.result.json"):
        one.unlink()
    again = await pickup(alive, box, peer)
    assert again.under_way == 1
    assert len(results(box, "sending")) == 1
    assert len(alive.rows(Event.SUBMITTED)) == 1


async def test_a_forgotten_message_is_not_sent_again(alive, peer, box):
    """Where the result names a message that was purged meanwhile."""
    folder = await pickup(alive, box, peer)
    put(box, "x.xml")
    await folder.take()
    (one,) = (box / "sending").rglob("*.result.json")
    one.write_text(json.dumps({**json.loads(one.read_text()), "message_id": "gone@a.example"}))
    await pickup(alive, box, peer)
    assert [one["state"] for one in results(box, "failed")] == ["forgotten"]
    assert len(alive.rows(Event.SUBMITTED)) == 1


async def test_a_folder_for_what_is_ours_must_be_one(alive, peer, box, tmp_path):
    """A link in its place could lead anywhere."""
    box.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (box / "sent").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotADirectoryError):
        await pickup(alive, box, peer)


def _forged(box: Path, note: bytes) -> None:
    """What whoever may write in the folder can put in the place of ours."""
    (box / "sending").rename(box / "s2")
    (box / "sending" / "a").mkdir(parents=True)
    (box / "sending" / "a" / ".claim.json").write_bytes(note)


FORGED = [b"/etc/hostname", b"../../secret", b"..", b".", b"", b"a\0b"]


@pytest.mark.parametrize("name", FORGED)
async def test_a_forged_claim_sends_no_file(alive, peer, box, tmp_path, name):
    """A name that leads elsewhere is named and not touched, and stops no other document."""
    (tmp_path / "secret").write_bytes(b"secret")
    await pickup(alive, box, peer)
    note = {"name": name.hex(), "message_id": "x@y", "claimed_at": 0}
    _forged(box, json.dumps(note).encode())
    put(box, "x.xml", b"<Order/>")
    folder = await pickup(alive, box, peer)
    assert folder.under_way == 0
    await folder.take()
    assert (await peer.hear("Normal")).payloads == [b"<Order/>"]
    assert str(box / "sending" / "a") in folder.left_alone()
    assert (box / "sending" / "a" / ".claim.json").exists()


@pytest.mark.parametrize("note", [b"", b"{}", b'{"name":"zz","message_id":"x@y","claimed_at":0}'])
async def test_a_note_that_is_not_ours_is_left_alone(alive, peer, box, note):
    """It is named as trouble of the folder."""
    await pickup(alive, box, peer)
    _forged(box, note)
    assert "not as we made it" in (await pickup(alive, box, peer)).left_alone()


async def test_a_note_that_is_a_link_is_left_alone(alive, peer, box):
    """Another file must not say what we claimed."""
    folder = await pickup(alive, box, peer, ready=Ready.RENAMED)
    (box / "x.xml").write_bytes(b"<Order/>")
    await folder.take()
    (ours,) = (box / "sending").iterdir()
    (ours / ".claim.json").rename(box / "elsewhere")
    (ours / ".claim.json").symlink_to(box / "elsewhere")
    assert ours.name in (await pickup(alive, box, peer)).left_alone()


async def test_what_another_user_made_is_not_ours(alive, peer, box, monkeypatch):
    """Whoever may write in the folder could have put it in the place of ours."""
    await pickup(alive, box, peer)
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with pytest.raises(PermissionError, match="another user"):
        await pickup(alive, box, peer)


async def test_a_claim_that_was_exchanged_is_not_read(alive, peer, box, tmp_path):
    """A link in the place of the claim's folder, put there before the document is read."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key.pem").write_bytes(b"secret")
    await pickup(alive, box, peer)
    put(box, "key.pem")
    claim = claims.claim(box, "key.pem", "note-1@buyer.example", 0, lambda _: None)
    (box / "sending").rename(box / "s2")
    (box / "sending").mkdir()
    claim.folder.symlink_to(tmp_path / "secrets")
    taken: list[bytes] = []
    with pytest.raises(OSError, match=r"symbolic|directory"):
        claims.read(claim, claim.document, taken.append)
    assert taken == []


def _refusing(monkeypatch: pytest.MonkeyPatch, call: str, path: Path) -> None:
    """The system refuses a call on this path, as it does to all but the superuser."""
    usual = getattr(Path, call)

    def refused(self: Path, *args: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return usual(self, *args)

    monkeypatch.setattr(Path, call, refused)


async def test_a_document_that_cannot_be_moved_stops_no_other(alive, peer, box, monkeypatch):
    """It stays with its header and marker, is named, and is taken once its rights are others."""
    folder = await pickup(alive, box, peer)
    (box / "a").mkdir()
    (box / "a" / "1.xml").write_bytes(b"<A/>")
    (box / "a.header.json").write_text('{"service": "Billing"}', "utf-8")
    (box / "a.done").touch()
    put(box, "b.xml", b"<B/>")
    with monkeypatch.context() as patch:
        _refusing(patch, "rename", box / "a")
        for _ in range(2):
            await folder.take()
            assert left(box) == ["a", "a.done", "a.header.json"]
            assert "'a': Permission denied" in folder.left_alone()
        assert (await peer.hear("Normal")).payloads == [b"<B/>"]
        assert len(list((box / "sending").iterdir())) == 1
    (box / "a").chmod(0o750)
    await folder.take()
    assert (left(box), folder.left_alone()) == ([], None)
    assert len(alive.rows(Event.SUBMITTED)) == 2


async def test_a_claim_that_was_cut_may_turn_out_immovable(alive, peer, box, monkeypatch):
    """The start goes on; the document is where it was."""
    await pickup(alive, box, peer)
    put(box, "x.xml")
    with pytest.raises(CutError):
        claims.claim(box, "x.xml", "note-1@buyer.example", 0, cut_at("before-claim"))
    _refusing(monkeypatch, "rename", box / "x.xml")
    folder = await pickup(alive, box, peer)
    assert (left(box), folder.under_way) == (["x.xml", "x.xml.done"], 0)


async def test_a_folder_that_must_not_be_listed_is_refused(alive, peer, box, monkeypatch):
    """The others go on."""
    folder = await pickup(alive, box, peer)
    (box / "a").mkdir()
    (box / "a.done").touch()
    put(box, "b.xml", b"<B/>")
    usual = Path.iterdir

    def iterdir(self: Path) -> Any:
        if self.name == "a":
            raise PermissionError(13, "Permission denied", str(self))
        return usual(self)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    await folder.take()
    monkeypatch.undo()
    (result,) = results(box, "failed")
    assert (result["error"], "must not be read" in result["reason"]) == ("UnfitFile", True)
    assert (await peer.hear("Normal")).payloads == [b"<B/>"]
